"""Comparisons: every arm on the same path, the same object and the same seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from . import _engine
from ._answer import Reported
from ._arm import ArmLike
from ._options import Number
from ._path import Path
from ._progress import progress as progress_bar
from ._request import request
from ._table import Table
from ._text import grid, html

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
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
    flows: Number | None = None,
    apart: Number | None = None,
    jitter: Number = "1ms",
    cross: ArmLike | Sequence[ArmLike] | None = None,
    app: str | None = None,
    # End of options.
    threads: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compares arms on one path: completion time, overshoot, loss and delay.

    Options, defaults and error messages (`Refused`) are those of `firstflight compare`.

    >>> import firstflight as ff
    >>> ff.compare("rapid-slide", "slowstart,rapid", bytes="10 bananas")
    Traceback (most recent call last):
    firstflight.Refused: bytes 10 bananas: unknown unit; allowed: 1B to 1024GiB, with the unit B, kB, MB, GB, KiB, MiB or GiB

    `path` is a name, a text, a TOML file or a `Path`; `arms` a text or a list of texts, `Arm`s and `Startup`s. On a random path, 20 to 400
    trials run until the intervals are narrow; `repeat` sets a fixed number instead. Further trials use the next seeds and up to half a
    millisecond more round trip. `resume="same"`, or another path, runs a connection before each connection of `careful` and `plumb`, which
    use its saved state. With `flows`, `apart`, `cross` and `app`, several flows share the path, and `rows` has a row per flow. The result
    does not depend on `threads`. `progress` shows a bar for runs over a second; `None` shows it on terminals and in notebooks if tqdm is
    installed. Ctrl-C ends the call between trials.

    >>> shared = ff.compare("rapid-slide", "slowstart", bytes="2MB", flows=2, cross="rapid", repeat=1)
    >>> shared.rows.column("role"), shared.trials.column("arm")
    (['cross', 'arm', 'arm'], ['slowstart'])
    """
    options, objects = request(locals(), "threads", "progress")
    plan = _engine.Plan(options, objects.get("arms"))
    with progress_bar(progress, plan.trials, "trials") as bar:
        return Comparison(plan.run(threads, bar))


@final
class Comparison(Reported[_engine.Comparison]):
    """Result of `compare`. It prints the command's table; pandas, Polars and others read it as its `rows`."""

    _call = "compare"

    @cached_property
    def rows(self) -> Table:
        """One row per trial: arms in order, and seeds in order within each arm. With several flows, one row per flow, cross traffic first."""
        return Table(self._inner.rows())

    @cached_property
    def trials(self) -> Table:
        """One row per trial: with several flows, the values that they share; otherwise the same as `rows`."""
        return Table(self._inner.trials())

    @cached_property
    def summary(self) -> Table:
        """One row per arm over all its trials: times, the ratio to the first arm with its interval, and the mark of the best."""
        return Table(self._inner.summary())

    @property
    def finding(self) -> str:
        """The finding, in one or two sentences."""
        return self._inner.finding

    @cached_property
    def episodes(self) -> Table:
        """One row per recovery episode."""
        return Table(self._inner.episodes())

    @cached_property
    def trace(self) -> Table:
        """Every event of each arm's first trial with the algorithms' internal signals. The trials run again for this, with the same result."""
        return Table(self._inner.trace())

    @property
    def arms(self) -> list[str]:
        """The arms, in the order of the table."""
        return self._inner.arms

    @property
    def experiment(self) -> dict[str, Any]:
        """The comparison with all defaults filled in."""
        experiment: dict[str, Any] = json.loads(self._inner.experiment())
        return experiment

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt a number."""
        return self._inner.warnings

    @property
    def complete(self) -> bool:
        """Whether every trial finished within the limit."""
        return self._inner.complete

    def plot_window(self, *, arms: Sequence[str] | None = None, ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Congestion window of each arm's first trial over time, with the path's limits. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.window(self, arms=arms, ax=ax, title=title)

    def plot_ttlb_reduction(self, *, baseline: str | None = None, ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Reduction of the completion time against `baseline` (the first arm), paired by seed. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.reduction_of_comparison(self, baseline=baseline, ax=ax, title=title)

    def plot_pareto(self, *, ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Completion time and loss of each arm. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.pareto_of_comparison(self, ax=ax, title=title)

    def _title(self) -> str:
        what = self.experiment
        name = f"{what['path_name']}: " if what["path_name"] not in (None, what["path"]) else ""
        repeats = f", medians of {what['repeat']} trials" if what["repeat"] > 1 else ""
        finding = f"{self.finding}\n" if self.finding else ""
        return f"{finding}{name}{what['path']}\n{what['bytes'] / 1e6:g} MB; initial window {what['iw']} packets, seed {what['seed']}{repeats}"

    @property
    def _table(self) -> Table:
        return self.rows

    def __str__(self) -> str:
        columns, rows = self._inner.shown()
        header = ["arm", *(f"{label}\n{unit}" if unit not in ("", "bytes") else label for label, unit, _ in columns)]
        cells = [[arm, *(text + ("*" if best else " ") for text, best in row)] for arm, row in rows]
        notes = "".join(f"\nnote: {warning}" for warning in self.warnings)
        near = ", ≈ not distinguishable from the best" if self.experiment["repeat"] > 1 else ""
        return f"{self._title()}\n{grid(header, cells)}\n* best in its column{near}{notes}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        columns, rows = self._inner.shown()
        header = ["arm", *(f"{label}\n{unit}" if unit not in ("", "bytes") else label for label, unit, _ in columns)]
        cells = [[arm, *(text for text, _ in row)] for arm, row in rows]
        bold = {(number, index + 1) for number, (_, row) in enumerate(rows) for index, (_, best) in enumerate(row) if best}
        notes = "".join(f"<br>note: {warning}" for warning in self.warnings)
        return html(header, cells, self._title().replace("\n", "<br>") + notes, frozenset(bold))
