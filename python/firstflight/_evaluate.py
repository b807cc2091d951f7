"""The evaluation that RFC 9743 asks of a new algorithm, compared with a baseline in the same scenarios."""

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
    """Runs what RFC 9743 (BCP 133) asks of a congestion control algorithm, in the simulator: an arm, or a startup of your own.

    `criteria` are sections of the RFC (`"5.1"` is all below it); none are all. `effort` is how many seeds: 5, 20 or 100. `declare` is a file in which the
    author says what the algorithm does, `exclude` sections that are not for it, `battery` a folder in place of the built-in one.

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
    with progress_bar(progress, plan.steps, "thousand packets") as bar:
        return Evaluation(plan.run(threads, bar))


@final
class Evaluation(Reported[_engine.EvaluationReport]):
    """What came out of `evaluate`. pandas, Polars and others take it as its `criteria`."""

    _call = "evaluate"

    @property
    def summary(self) -> str:
        """What it comes to, in a sentence."""
        return self._inner.summary

    @property
    def troubles(self) -> list[str]:
        """What the algorithm did that it must not do, and why the answer is not the whole, if it is not."""
        return self._inner.troubles()

    @cached_property
    def criteria(self) -> Table:
        """One row per criterion: its verdict, and what decided."""
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
