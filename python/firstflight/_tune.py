"""Tuning: the parameters of an arm that suit a population."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, final

from . import _engine
from ._answer import Reported
from ._arm import Arm
from ._options import Number
from ._population import Population, population_of
from ._progress import progress as progress_bar
from ._request import request
from ._table import Table
from ._text import grid, html


def tune(
    arm: str | Arm,
    # Options, written by `WRITE_DOCS=1 cargo test -p firstflight-lab --features request the_keyword_arguments_of_python`.
    population: str | os.PathLike[str] | Population = "cdn",
    *,
    objective: str = "time",
    budget: Number = 400,
    flows: Number = 2000,
    holdout: Number = 20000,
    transport: str = "quic",
    detection: str | None = None,
    seed: Number = 1,
    iw: Number | None = None,
    limit: Number = "600s",
    max_loss_cost: Number | None = None,
    max_queue: Number | None = None,
    max_slower: Number | None = None,
    # End of options.
    threads: int | None = None,
    progress: bool | None = None,
) -> Tuned:
    """Finds the parameters of an arm that suit a population, and judges them on connections that the search did not use.

    The options and the results are those of `firstflight tune`, to the last digit. In `arm`, an option has a range in place of a value:
    `*` is the whole range, `a..b` a part of it. If no option has a range, all options of the arm's parts are tuned.

    >>> import firstflight as ff
    >>> tuned = ff.tune("slowstart@(iw=10..20)", "cdn", budget=60, flows=100, holdout=400)
    >>> tuned.parameters[0]["name"], tuned.default
    ('iw', 'slowstart')
    """
    options, _ = request(locals(), "arm", "population", "threads", "progress")
    given = population_of(population)
    plan = _engine.TunePlan(str(arm), given._inner, str(given), options)
    with progress_bar(progress, plan.trials, "trials") as bar:
        return Tuned(plan.run(threads, bar))


@final
class Tuned(Reported[_engine.Tuned]):
    """Result of `tune`. pandas, Polars and others read it as its `profile`."""

    _call = "tune"

    @cached_property
    def profile(self) -> Table:
        """One row per parameter and value, the other parameters as tuned: gain, time and loss against the default arm."""
        return Table(self._inner.profile())

    @property
    def sentence(self) -> str:
        """The answer."""
        return str(self.data["sentence"])

    @property
    def default(self) -> str:
        """The default arm."""
        return str(self.data["default"])

    @property
    def tuned(self) -> str:
        """The tuned arm; the default if nothing is better."""
        return str(self.data["tuned"])

    @property
    def gain(self) -> dict[str, Any]:
        """Gain over the default, percent: `training`, `validation`, and `holdout` with its interval."""
        gain: dict[str, Any] = self.data["gain"]
        return gain

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """The parameters: default and tuned value, whether it is flat, its profile."""
        return list(self.data["parameters"])

    @property
    def decision(self) -> dict[str, Any] | None:
        """The judgement on the hold-out under every assumption; `None` if no candidate was better in training."""
        decision: dict[str, Any] | None = self.data["decision"]
        return decision

    @property
    def _table(self) -> Table:
        return self.profile

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["parameter", "default", "tuned", "put back\n%"]
        rows = []
        for row in self.parameters:
            back = row["put_back"]
            cell = f"{back['value']:.1f}" if back else "flat" if row["flat"] else "-"
            rows.append([row["name"], row["default"], row["tuned"], cell])
        return header, rows

    def __str__(self) -> str:
        header, rows = self._cells()
        return f"{self.sentence}\n{grid(header, rows)}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header, rows = self._cells()
        return html(header, rows, self.sentence)
