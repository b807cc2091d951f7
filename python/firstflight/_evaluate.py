"""Evaluation of a new algorithm as RFC 9743 asks, compared with a baseline in the same scenarios."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, final

from . import _engine
from ._answer import Reported
from ._arm import ArmLike, arm_of
from ._options import write_whole
from ._progress import progress as progress_bar
from ._table import Table

Effort = Literal["quick", "standard", "full"]


def evaluate(
    algorithm: ArmLike,
    *,
    baseline: ArmLike = "slowstart/cubic/prr",
    criteria: Sequence[str] = (),
    effort: Effort = "standard",
    seed: int = 1,
    declare: str | os.PathLike[str] | None = None,
    exclude: Sequence[str] = (),
    battery: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Evaluates a congestion control algorithm (an arm, or your own startup) in the simulator as RFC 9743 (BCP 133) asks.

    `criteria` are sections of the RFC (`"5.1"` includes its subsections); an empty list means all. `effort` sets the number of seeds: 5, 20
    or 100. `declare` is a file with the author's declarations about the algorithm, `exclude` lists sections that do not apply, and
    `battery` is a folder that replaces the built-in battery.

    >>> import firstflight as ff
    >>> ff.evaluate("hystart++", criteria=["7.11"], effort="quick").criteria.column("section")
    ['7.11']
    """
    declared = None
    if declare is not None:
        with open(declare, encoding="utf-8") as file:
            declared = (os.fspath(declare), file.read())
    first, second = (arm if isinstance(arm, str) else arm_of(arm)._for_engine() for arm in (algorithm, baseline))
    folder = None if battery is None else os.fspath(battery)
    plan = _engine.EvaluationPlan(first, second, list(criteria), effort, seed, declared, list(exclude), folder)
    with progress_bar(progress, plan.steps, "kpackets") as bar:
        return Evaluation(plan.run(threads, bar))


@final
class Evaluation(Reported[_engine.EvaluationReport]):
    """Result of `evaluate`. pandas, Polars and others read it as its `criteria`."""

    _call = "evaluate"

    @property
    def summary(self) -> str:
        """The finding, in a sentence."""
        return self._inner.summary

    @property
    def troubles(self) -> list[str]:
        """Forbidden behaviour of the algorithm, and the reason why the result is incomplete, if it is."""
        return self._inner.troubles()

    @cached_property
    def criteria(self) -> Table:
        """One row per criterion: its verdict and the rule that decided it."""
        return Table(self._inner.criteria())

    @cached_property
    def rules(self) -> Table:
        """One row per rule and cell: value, baseline, difference with its 95 % interval, margin, verdict."""
        return Table(self._inner.rules())

    def annex(self, file: str | os.PathLike[str]) -> None:
        """Writes an annex for an Internet-Draft: Markdown for kramdown-rfc, or the vocabulary of
        xml2rfc if the file ends with `.xml`."""
        is_xml = os.fspath(file).lower().endswith(".xml")
        write_whole(file, self._inner.annex(is_xml))

    @property
    def _table(self) -> Table:
        return self.criteria

    def __repr__(self) -> str:
        return f"{self.summary}\n{self.criteria!r}"

    def _repr_html_(self) -> str:
        return self.criteria._repr_html_()
