"""Published results, reproduced."""

from __future__ import annotations

from typing import final

from . import _engine
from ._answer import Answer
from ._progress import progress as progress_bar
from ._table import Table
from ._text import grid, html

_HEADER = ["document", "row", "", "measured", "ours", "accepted", "verdict"]


@final
class Reproduction(Answer):
    """Result of `reproduce`: `rows` as a table, `data` as the command's JSON."""

    def __init__(self, text: str, rows: _engine.Batches) -> None:
        self._text = text
        self.rows = Table(rows)
        """One row per measured claim."""

    def to_json(self) -> str:
        """The same bytes as `firstflight reproduce --json -`."""
        return self._text

    @property
    def sound(self) -> bool:
        """Whether every claim that must hold by algebra holds."""
        return "fails" not in self.rows.column("verdict")

    def _cells(self) -> list[list[str]]:
        rows = []
        for row in self.rows.to_dicts():
            case = f" ({row['case']})" if row["case"] else ""
            measured = f"{row['measure']}{case}" if row["measure"] else row["note"]
            rows.append([row["document"], row["key"], row["gates"], measured, row["ours"], row["accepted"], row["says"]])
        return rows

    @property
    def _table(self) -> Table:
        return self.rows

    def __repr__(self) -> str:
        return grid(_HEADER, self._cells(), left=len(_HEADER))

    def _repr_html_(self) -> str:
        return html(_HEADER, self._cells(), "published results compared with ours")


def reproduce(*names: str, quick: bool = False, threads: int | None = None, progress: bool | None = None) -> Reproduction:
    """Measures every claim of the named documents, or of all documents (`firstflight.documents()` lists them).

    `quick` uses fewer seeds and connections; all documents then take under three minutes on two cores.
    """
    with progress_bar(progress, _engine.reproduce_steps(names), "measurements") as bar:

        def tell(what: str) -> None:
            if bar is not None:
                bar(1)

        text, rows = _engine.reproduce(names, quick, threads, tell)
    return Reproduction(text, rows)
