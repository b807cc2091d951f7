"""Recorded connections: their replay, and the startup to deploy on their paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import final

from . import _engine
from ._answer import Reported
from ._arm import ArmLike, as_list
from ._engine import Refused
from ._options import Number
from ._progress import progress as progress_bar
from ._request import request
from ._table import Table
from ._text import grid, html

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One file or several: qlog, pcap, pcapng, CSV, each plain, gzip or zstd."""

_IDENTIFY = "slowstart,hystart,hystart++,hystart++-draft03,search,best,limited,rapid,jumpstart,plumb,bbr,kernel:bbr"


def _names(files: Files) -> list[str]:
    names = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(file) for file in files]
    if not names:
        raise Refused("files: none; allowed: one or more captures, qlogs or tables")
    return names


def replay(
    files: Files,
    arms: ArmLike | Sequence[ArmLike] = "slowstart,hystart,hystart++,search,best,best-published,rapid-nojump",
    *,
    paced: bool | None = None,
    iw: int | None = None,
    identify: bool | ArmLike | Sequence[ArmLike] = False,
) -> Replay:
    """Replays recorded ACKs and shows when each algorithm would have exited slow start, compared with the path's capacity.

    `paced` states whether the sender paced, and `iw` is its initial window in packets; if omitted, both are inferred from the first flight.
    If a file is partly unreadable, the rest is used and `warnings` reports it. `identify` determines which startup the recorded senders
    used, among these startups or, if it is true, among the usual ones; the result has `identified`.
    """
    asked = _IDENTIFY if identify is True else None if identify is False else as_list(identify)
    return Replay(_engine.replay(_names(files), as_list(arms), paced, iw, asked))


@final
class Replay(Reported[_engine.Replayed]):
    """Result of `replay`. pandas, Polars and others read it as its `rows`."""

    _call = "replay"

    @cached_property
    def rows(self) -> Table:
        """One row per connection and startup: the columns of `firstflight replay --format csv`."""
        return Table(self._inner.rows())

    @cached_property
    def verdicts(self) -> Table:
        """One row per startup: the number of connections on which it would have exited early, right, late or not at all."""
        return Table(self._inner.verdicts())

    @cached_property
    def identified(self) -> Table:
        """One row per connection: the startup that its sender used, null if unknown; empty without `identify`."""
        return Table(self._inner.identified())

    @property
    def warnings(self) -> list[str]:
        """Problems with files."""
        return self._inner.warnings

    @cached_property
    def captures(self) -> Table:
        """One row per captured connection: where it was captured, how completely, and whether its numbers are reliable."""
        return Table(self._inner.captures())

    @property
    def notes(self) -> list[str]:
        """Parts of files that were left out, and problems with captured connections."""
        return self._inner.notes

    @property
    def _table(self) -> Table:
        return self.rows

    def __repr__(self) -> str:
        return repr(self.verdicts)

    def _repr_html_(self) -> str:
        return self.verdicts._repr_html_()


def advise(
    files: Files,
    *,
    baseline: ArmLike | None = None,
    arms: ArmLike | Sequence[ArmLike] | None = None,
    flows: Number | None = None,
    transport: str | None = None,
    seed: Number = 1,
    iw: Number | None = None,
    limit: Number = "600s",
    accept: str | None = None,
    max_loss_cost: Number | None = None,
    max_queue: Number | None = None,
    max_slower: Number | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Recommends a startup for the paths of your captures, with its gain, its cost and the assumptions behind them.

    The options are those of `firstflight advise`; `accept="doubtful"` includes connections with doubtful captures. Ctrl-C ends the call
    between two connections.
    """
    keywords = {**locals(), "arms": None if arms is None else as_list(arms), "baseline": None if baseline is None else as_list(baseline)}
    options, _ = request(keywords, "files", "threads", "progress")
    with progress_bar(progress, 0, "connections") as bar:
        return Advice(_engine.advise(_names(files), options, threads, bar))


@final
class Advice(Reported[_engine.Advice]):
    """Result of `advise`. It prints the command's lines; `data` has `advice`, `assumed`, `replay` and `ab`."""

    _call = "advise"

    @property
    def finding(self) -> str:
        """The arm to deploy, in a sentence, or the reason why none is recommended."""
        return self._inner.finding

    @property
    def lines(self) -> dict[str, str]:
        """The lines of the command: the paths, their state today, the arm, its gain and cost, and the assumptions."""
        return dict(self._inner.lines)

    @cached_property
    def paths(self) -> Table:
        """The observed paths, one row per connection."""
        return Table(self._inner.paths())

    @cached_property
    def results(self) -> Table:
        """The A/B test on these paths: one row per part of the connections and arm."""
        return Table(self._inner.results())

    @property
    def _table(self) -> Table:
        return self.results

    def __repr__(self) -> str:
        return f"{self.finding}\n" + grid(["about", "answer"], [[about, text] for about, text in self.lines.items()], left=2)

    def _repr_html_(self) -> str:
        return html(["about", "answer"], [[about, text] for about, text in self.lines.items()], self.finding)
