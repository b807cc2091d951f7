"""Recorded connections: replayed to startups, and what to deploy on paths like theirs."""

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
    """Replays recorded ACKs: when would each algorithm have exited slow start, and how far from what the path carried?

    `paced` says whether the sender paced, `iw` its initial window in packets; left out, both are read off the first flight. Of files that
    are partly unreadable the rest counts, and `warnings` says so. `identify` asks which startup the recorded senders had, of these or, if
    it is true, of the usual ones: `identified` of the result.
    """
    asked = _IDENTIFY if identify is True else None if identify is False else as_list(identify)
    return Replay(_engine.replay(_names(files), as_list(arms), paced, iw, asked))


@final
class Replay(Reported[_engine.Replayed]):
    """What came out of `replay`. pandas, Polars and others take it as its `rows`."""

    _call = "replay"

    @cached_property
    def rows(self) -> Table:
        """One row per connection and startup: the columns of `firstflight replay --format csv`."""
        return Table(self._inner.rows())

    @cached_property
    def verdicts(self) -> Table:
        """One row per startup: on how many connections it would have left early, right, late or not at all."""
        return Table(self._inner.verdicts())

    @cached_property
    def identified(self) -> Table:
        """One row per connection: the startup its sender had, null if unknown; empty if `identify` was not asked."""
        return Table(self._inner.identified())

    @property
    def warnings(self) -> list[str]:
        """What was wrong with files."""
        return self._inner.warnings

    @cached_property
    def captures(self) -> Table:
        """One row per captured connection: where it was captured, how well, and whether its numbers may be believed."""
        return Table(self._inner.captures())

    @property
    def notes(self) -> list[str]:
        """What was left out of files, and what is wrong with captures of connections."""
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
    """Which startup to deploy on the paths of your captures, what it gains and costs, and what that hangs on.

    The options are those of `firstflight advise`; `accept="doubtful"` takes connections whose capture leaves a doubt. Ctrl-C ends it between two connections.
    """
    keywords = {**locals(), "arms": None if arms is None else as_list(arms), "baseline": None if baseline is None else as_list(baseline)}
    options, _ = request(keywords, "files", "threads", "progress")
    with progress_bar(progress, 0, "connections") as bar:
        return Advice(_engine.advise(_names(files), options, threads, bar))


@final
class Advice(Reported[_engine.Advice]):
    """What came out of `advise`. Printed it is the lines of the command; `data` has `advice`, `assumed`, `replay` and `ab`."""

    _call = "advise"

    @property
    def finding(self) -> str:
        """Which arm to deploy, in a sentence, or why none is recommended."""
        return self._inner.finding

    @property
    def lines(self) -> dict[str, str]:
        """What the paths are like, what happens on them today, which arm, what it gains and costs, what the answer hangs on."""
        return dict(self._inner.lines)

    @cached_property
    def paths(self) -> Table:
        """The paths that were found, one row per connection."""
        return Table(self._inner.paths())

    @cached_property
    def results(self) -> Table:
        """The A/B test on them: one row per part of the connections and arm."""
        return Table(self._inner.results())

    @property
    def _table(self) -> Table:
        return self.results

    def __repr__(self) -> str:
        return f"{self.finding}\n" + grid(["about", "answer"], [[about, text] for about, text in self.lines.items()], left=2)

    def _repr_html_(self) -> str:
        return html(["about", "answer"], [[about, text] for about, text in self.lines.items()], self.finding)
