"""Sweeps: one comparison at every value of one or two keys of a path, or of the object size."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from . import _engine
from ._answer import Reported
from ._arm import ArmLike
from ._options import Number, Value, size, value
from ._path import Path
from ._progress import progress as progress_bar
from ._request import request
from ._table import Table
from ._text import grid, html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = str | Sequence[Value]
"""A range or a list as text (`"10ms..300ms:7"`, `"10ms,50ms"`), or a list of values."""


def _axis(key: str, values: Values) -> str:
    """A key and its values as `--sweep` accepts them; a trailing underscore distinguishes a key from a Python keyword."""
    key = key.rstrip("_")
    if isinstance(values, str):
        return f"{key}={values}"
    texts = [size(one) if key == "bytes" and isinstance(one, int) else value(one) for one in values]
    return f"{key}={','.join(texts)}"


def sweep(
    over: Mapping[str, Values],
    # Options, written by `WRITE_DOCS=1 cargo test -p firstflight-lab --features request the_keyword_arguments_of_python`.
    path: str | os.PathLike[str] | Path = "rapid-slide",
    arms: ArmLike | Sequence[ArmLike] = "slowstart,hystart,hystart++,rapid,plumb,oracle",
    *,
    on: str = "sim",
    real: bool = False,
    transport: str = "quic",
    detection: str | None = None,
    bytes: Number = "3MB",
    resume: str | None = None,
    seed: Number = 1,
    repeat: Number | None = None,
    iw: Number = 10,
    limit: Number = "600s",
    # End of options.
    threads: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Compares arms at every value of one or two keys: which arm is best at each point, and by how much.

    The options are those of `compare`. `over` has the syntax of `firstflight compare --sweep`: keys of a path, or `bytes`, with a range
    (geometric, five values unless it states a count) or a list. The rest of the path does not change, and every point uses the same seeds.

    >>> import firstflight as ff
    >>> swept = ff.sweep({"rtt": "20ms..80ms:3", "queue": ["0.5bdp", "2bdp"]}, arms="slowstart,rapid", bytes="300kB")
    >>> len(swept.rows), swept.rows[0]["rtt"], swept.rows[0]["rtt_ms"]
    (12, '20ms', 20.0)
    >>> swept.axes["rtt"]
    ['20ms', '40ms', '80ms']
    """
    options, objects = request(locals(), "over", "threads", "progress")
    plan = _engine.SweepPlan([_axis(key, values) for key, values in over.items()], options, objects.get("arms"))
    with progress_bar(progress, plan.trials, "trials") as bar:
        return Sweep(plan.run(threads, bar))


@final
class Sweep(Reported[_engine.Sweep]):
    """Result of `sweep`. pandas, Polars and others read it as its `rows`."""

    _call = "sweep"

    @cached_property
    def rows(self) -> Table:
        """One row per point and arm: the swept values, the path, and the measures with their median, minimum (`_low`) and maximum (`_high`)
        over the trials."""
        return Table(self._inner.rows())

    @cached_property
    def best(self) -> Table:
        """The best arms at each point by `measure` (`ttlb_ms`, `loss_ratio`): tied `arms` separated by commas, and their `margin` over the
        best of the others; null if all arms are the same."""
        return Table(self._inner.best())

    @property
    def axes(self) -> dict[str, list[str]]:
        """The swept keys with their values."""
        return dict(self._inner.axes())

    @property
    def arms(self) -> list[str]:
        """The arms, in the requested order."""
        return self._inner.arms

    @property
    def finding(self) -> str:
        """The finding, a sentence for each measure."""
        return self._inner.finding

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt a number, with the number of points that they affect."""
        return self._inner.warnings

    @property
    def complete(self) -> bool:
        """Whether every trial finished within the limit."""
        return self._inner.complete

    def plot_map(self, *, measure: str = "ttlb_ms", ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Best arm at each point of two keys, or values of each arm over one key. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.sweep_map(self, measure=measure, ax=ax, title=title)

    def _grid(self) -> tuple[list[str], list[list[str]]]:
        """Of two keys the best arm and its margin in time; of one the completion times."""
        keys = list(self.axes.items())
        across, values = keys[-1]
        if len(keys) == 1:
            times = {(row["arm"], row[across]): row["ttlb_ms"] for row in self.rows}
            cells = [[times.get((arm, value)) for value in values] for arm in self.arms]
            rows = [[arm, *("-" if time is None else f"{time:.1f}" for time in row)] for arm, row in zip(self.arms, cells, strict=True)]
            return [f"completion time, ms\narm / {across}", *values], rows
        down, lines = keys[0]
        best = {(row[down], row[across]): row for row in self.best if row["measure"] == "ttlb_ms"}

        def cell(row: dict[str, Any] | None) -> str:
            if row is None:
                return "-"
            return "all the same" if row["margin"] is None else f"{row['arms'].replace(',', ', ')} {row['margin']:.1f} %"

        shown = [[line, *(cell(best.get((line, value))) for value in values)] for line in lines]
        return [f"completion time: best arm\n{down} / {across}", *values], shown

    @property
    def _table(self) -> Table:
        return self.rows

    def __repr__(self) -> str:
        header, rows = self._grid()
        notes = "".join(f"\nnote: {warning}" for warning in self.warnings)
        return f"{grid(header, rows)}\n{self.finding}{notes}"

    def _repr_html_(self) -> str:
        header, rows = self._grid()
        notes = "".join(f"<br>note: {warning}" for warning in self.warnings)
        return html(header, rows, self.finding + notes)
