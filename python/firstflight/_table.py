"""Results as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final, overload

from . import _engine
from ._text import figure, grid, html

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 20
_SCREEN = 150
_WIDEST = 60


@final
class Table:
    """Columns in Arrow's memory layout. Libraries that support Arrow's PyCapsule interface read it without copying: `pyarrow.table(t)`,
    `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, `duckdb.from_arrow(t)` or `FROM t` in its SQL.

    >>> import firstflight as ff
    >>> table = ff.paths()
    >>> table.column_names
    ['name', 'path', 'about', 'source']
    >>> table.column("name")[1], table[1]["name"], [row["name"] for row in table][1]
    ('geo', 'geo', 'geo')
    """

    __slots__ = ("_batches",)

    def __init__(self, batches: _engine.Batches) -> None:
        self._batches = batches

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._batches.column_names

    def column(self, name: str) -> list[Any]:
        """The values of a column; `None` for values that do not apply."""
        return self._batches.column(name)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows as dictionaries, which `pandas.DataFrame(t)` also accepts."""
        names = self.column_names
        for row in zip(*map(self.column, names), strict=True):
            yield dict(zip(names, row, strict=True))

    @overload
    def __getitem__(self, which: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, which: str) -> list[Any]: ...
    def __getitem__(self, which: int | slice | str) -> dict[str, Any] | list[Any]:
        """A row by number, rows by slice, or a column by name."""
        if isinstance(which, str):
            return self.column(which)
        columns = {name: self.column(name) for name in self.column_names}
        if isinstance(which, slice):
            numbers = range(len(self))[which]
            return [{name: values[number] for name, values in columns.items()} for number in numbers]
        return {name: values[which] for name, values in columns.items()}

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return list(self)

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table; pyarrow must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas data frame; pandas and pyarrow must be installed."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """As a Polars data frame; Polars must be installed."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._batches.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._batches.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._batches)

    def _head(self) -> tuple[list[str], list[list[str]], str]:
        names = self.column_names
        columns = [self.column(name)[:_SHOWN] for name in names]
        rows = [[figure(value) for value in row] for row in zip(*columns, strict=True)]
        more = f"{len(self)} rows" if len(self) <= _SHOWN else f"{len(self)} rows, the first {_SHOWN} shown"
        return names, rows, more

    def __repr__(self) -> str:
        names, rows, more = self._head()
        lengths = [max(len(row[index]) for row in [names, *rows]) for index in range(len(names))]
        # What does not fit on a screen makes no table: the columns that do, and how many are left out. The grid has three spaces between
        # columns and one at either end.
        fit, total = 0, -1
        while fit < len(names) and total + min(lengths[fit], _WIDEST) + 3 <= _SCREEN:
            total += min(lengths[fit], _WIDEST) + 3
            fit += 1
        fit = max(fit, 1)
        cells = [[cell if len(cell) <= _WIDEST else cell[: _WIDEST - 3] + "..." for cell in row[:fit]] for row in rows]
        if fit < len(names):
            more += f"; {len(names) - fit} more columns: {', '.join(names[fit:])}"
        return f"{grid(names[:fit], cells)}\n{more}"

    def _repr_html_(self) -> str:
        names, rows, more = self._head()
        return html(names, rows, more)
