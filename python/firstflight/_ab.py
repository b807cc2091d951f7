"""A/B tests: every arm on the same random paths with the same objects, for thousands or millions of connections."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

from . import _engine
from ._answer import Reported
from ._arm import ArmLike
from ._engine import Refused
from ._options import Number, folder_of, write_whole
from ._population import Population, engine_test, population_of
from ._progress import progress as progress_bar
from ._request import request
from ._table import Table
from ._text import grid, html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Part = Literal["all", "group", "size", "bdp", "buffer", "group_size"]


def ab(
    # Options, written by `WRITE_DOCS=1 cargo test -p firstflight-lab --features request the_keyword_arguments_of_python`.
    population: str | os.PathLike[str] | Population = "cdn",
    arms: ArmLike | Sequence[ArmLike] = "jumpstart,rapid-nojump,rapid,plumb",
    *,
    flows: Number = 20000,
    baseline: ArmLike = "slowstart",
    transport: str = "quic",
    detection: str | None = None,
    seed: Number = 1,
    iw: Number | None = None,
    limit: Number = "600s",
    max_loss_cost: Number | None = None,
    max_queue: Number | None = None,
    max_slower: Number | None = None,
    # End of options.
    keep_rows: bool = False,
    resume: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> AbResult:
    """Tests arms against a baseline on a population of paths and predicts what would change for its connections.

    The options and the results are those of `firstflight ab`, to the last digit.

    >>> import firstflight as ff
    >>> result = ff.ab("cdn", "rapid-nojump", flows=100)
    >>> result.flows, result.complete
    (100, True)

    `keep_rows` keeps a row per connection and arm in `rows` (about 250 bytes each). `resume` is a folder for finished blocks, which are not
    run again. Ctrl-C ends the test; with `resume` at most one block is lost.
    """
    options, objects = request(locals(), "population", "keep_rows", "resume", "threads", "progress")
    test = engine_test(population_of(population), options, objects)
    folder = None if resume is None else os.fspath(resume)
    if keep_rows and folder is not None:
        raise Refused("keep_rows: does not go with resume: finished blocks have no rows left")
    if folder is not None and not os.path.isdir(folder):
        # Its name may end with a slash.
        folder_of(folder.rstrip("/"))
        os.mkdir(folder)
    kept: list[_engine.Batches] = []
    with progress_bar(progress, test.flows, "connections") as bar:
        shard = test.run(None, threads, bar, kept.append if keep_rows else None, folder)
    return AbResult(shard, Table(_engine.Batches.concat(kept)) if kept else None)


@final
class AbResult(Reported[_engine.Shard]):
    """Result of `ab`. pandas, Polars and others read it as its `results`."""

    _call = "ab"

    def __init__(self, shard: _engine.Shard, rows: Table | None = None) -> None:
        super().__init__(shard)
        self.rows = rows
        """One row per connection and arm, if they were kept."""
        self.cpu_s: float | None = None
        """CPU time of the workers of a cluster, without the shards that a checkpoint supplied."""

    @cached_property
    def results(self) -> Table:
        """One row per part of the connections (all, group, size, BDP, buffer) and arm, with the measures of `docs/ab-metrics.md`."""
        return Table(self._inner.results())

    @cached_property
    def percentiles(self) -> Table:
        """One row per percentile and arm, over all connections."""
        return Table(self._inner.percentiles())

    @property
    def experiment(self) -> dict[str, Any]:
        """The test with all defaults filled in."""
        experiment: dict[str, Any] = self.data["experiment"]
        return experiment

    @property
    def arms(self) -> list[str]:
        """Names of the arms, the baseline first."""
        arms: list[str] = self.experiment["arms"]
        return arms

    @property
    def flows(self) -> int:
        """Number of connections."""
        return self._inner.flows

    @property
    def complete(self) -> bool:
        """Whether the result includes all connections of the test."""
        return bool(self.data["complete"])

    @property
    def decision(self) -> dict[str, Any]:
        """The arm to deploy, its cost, and its effects under every assumption; `sentence` states the decision."""
        decision: dict[str, Any] = self.data["decision"]
        return decision

    @property
    def advice(self) -> list[str]:
        """The Pareto-optimal arms, a sentence per group."""
        return list(self.data["advice"])

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt a number."""
        return list(self.data["warnings"])

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the sums to a file that `firstflight ab merge` reads."""
        write_whole(file, self._inner.to_bytes())

    def part(self, part: Part = "all") -> list[dict[str, Any]]:
        """The rows of `results` of one kind of part."""
        return [row for row in self.results.to_dicts() if row["part"] == part]

    def plot_ttlb_reduction(self, *, by: Part | Literal["percentile"] = "group", ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Reduction of the completion time against the baseline, by part or percentile. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.reduction(self, by=by, ax=ax, title=title)

    def plot_pareto(self, *, ax: Axes | None = None, title: str | None = "auto") -> Axes:
        """Completion time and loss of each arm over all connections. `title=None` omits the title. Needs matplotlib."""
        from . import plots

        return plots.pareto(self, ax=ax, title=title)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["arm", "completion\np50 ms", "completion\np95 ms", "completion\np99 ms", "completion\nmean ms", "shorter by\nmean %", "95 %"]
        header += ["pair p50\nratio", "pair p95\nratio", "loss\nmean %", "loss p99\n%", "retransmitted\n%", "queueing delay\np99 ms", ""]
        rows = []
        for row in self.part("all"):
            versus = row["reduction_pct"] is not None
            cells = [row["arm"], *(f"{row[f'ttlb_ms_{p}']:.0f}" for p in ("p50", "p95", "p99"))]
            cells += [f"{row['ttlb_ms_mean']:.1f}", f"{row['reduction_pct']:.1f}" if versus else "-"]
            cells.append(f"{row['reduction_pct_low']:.1f}..{row['reduction_pct_high']:.1f}" if versus else "-")
            cells += [f"{row['paired_p50']:.3f}" if versus else "-", f"{row['paired_p95']:.3f}" if versus else "-"]
            cells += [f"{row['loss_pct_mean']:.2f}", f"{row['loss_pct_p99']:.1f}", f"{row['retransmitted_pct']:.2f}"]
            rows.append([*cells, f"{row['queue_p99_ms']:.1f}", "·" if row["front"] else ""])
        return header, rows

    def _answer(self) -> list[str]:
        return [self.decision["sentence"], *self.decision["notes"]]

    def _title(self) -> str:
        what = self.experiment
        state = "" if self.complete else f", incomplete: {self.flows} of {what['flows']}"
        return (
            f"{what['population']}: {self.flows} connections{state}; baseline {what['arms'][0]}, "
            f"initial window {what['iw']} packets, seed {what['seed']}"
        )

    @property
    def _table(self) -> Table:
        return self.results

    def __str__(self) -> str:
        header, rows = self._cells()
        answer = "\n".join(self._answer())
        words = "\n".join(f"  {line}" for line in self.advice)
        notes = "".join(f"\nnote: {warning}" for warning in self.warnings)
        return f"{answer}\n{self._title()}\n{grid(header, rows)}\n· Pareto-optimal: no other arm is better in time or loss without being worse in the other\n{words}{notes}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header, rows = self._cells()
        words = "".join(f"<li>{line}</li>" for line in [*self._answer(), *self.advice])
        notes = "".join(f"<li>note: {warning}</li>" for warning in self.warnings)
        return html(header, rows, self._title()) + f"<ul>{words}{notes}</ul>"
