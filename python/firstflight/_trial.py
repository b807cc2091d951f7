"""Field tests: analysis of arms that were assigned at random to live connections."""

from __future__ import annotations

from functools import cached_property
from typing import final

from . import _engine
from ._answer import Reported
from ._captures import Files, _names
from ._options import Number
from ._request import request
from ._table import Table


def trial_analyse(
    files: Files,
    *,
    arm: str | None = None,
    size: str | None = None,
    time: str | None = None,
    cluster: str | None = None,
    baseline: str | None = None,
    rtt: str | None = None,
    epoch: str | None = None,
    start: str | None = None,
    before: str | None = None,
    earlier: str | None = None,
    complete: str | None = None,
    slot: str | None = None,
    since: str | None = None,
    settle: Number = 0,
    by: str | None = None,
    ratio: str | None = None,
    shares: str | None = None,
    stop_if: str | None = None,
    hope: Number = 5,
    rehearse: Number = 0,
    seed: Number = 1,
) -> TrialAnswer:
    """Computes the effect of each arm on completion times from tables of connections with a column for the arm: CSV, JSON lines, Parquet.

    The options are those of `firstflight trial analyse`; most name a column.
    """
    pairs, _ = request(dict(locals()), "files")
    options = [(name.replace("_", "-"), value) for name, value in pairs]
    return TrialAnswer(_engine.trial_analyse(_names(files), options))


@final
class TrialAnswer(Reported[_engine.TrialAnswer]):
    """Result of `trial_analyse`. pandas, Polars and others read it as its `results`."""

    _call = "trial_analyse"

    @property
    def finding(self) -> str:
        """The finding, in a sentence."""
        return self._inner.finding

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result."""
        return self._inner.warnings

    @cached_property
    def results(self) -> Table:
        """Each arm compared with the baseline, with the columns of `firstflight trial analyse --format csv`."""
        return Table(self._inner.results())

    @cached_property
    def parts(self) -> Table:
        """Effects by size, by round trip and by the columns of `by`."""
        return Table(self._inner.parts())

    @property
    def _table(self) -> Table:
        return self.results

    def __repr__(self) -> str:
        return f"{self.finding}\n{self.results!r}"

    def _repr_html_(self) -> str:
        return self.results._repr_html_()
