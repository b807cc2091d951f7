"""Populations: distributions over paths and object sizes."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

from . import _engine
from ._engine import Refused
from ._options import Value, with_options
from ._table import Table

if TYPE_CHECKING:
    from ._arm import Own
    from ._request import Pairs


@runtime_checkable
class _PandasLike(Protocol):
    def to_csv(self, *, index: bool) -> Any: ...


@runtime_checkable
class _PolarsLike(Protocol):
    def write_csv(self) -> str: ...


Frame = Mapping[str, Sequence[object]] | _PandasLike | _PolarsLike


def _csv_of(frame: Frame) -> str:
    if isinstance(frame, _PandasLike):
        return str(frame.to_csv(index=False))
    if isinstance(frame, _PolarsLike):
        return frame.write_csv()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(frame)
    writer.writerows(zip(*frame.values(), strict=True))
    return out.getvalue()


@final
class Population:
    """A population: a built-in name, or a TOML or CSV file, with optional knobs. It prints as the text that the command line accepts.

    >>> import firstflight as ff
    >>> print(ff.Population("cdn", q=0.8))
    cdn(q=0.8)
    >>> ff.Population("geo").draw(3).column("rtt_us")[0] > 600_000
    True

    The knobs are `q` (factor on buffers), `k` (random loss), `rho` (correlation of round trip and rate), and a group's name with its new
    weight. `Population.measured` builds a population from a data frame of measured paths. Populations can be pickled, including their
    files.
    """

    __slots__ = ("_inner", "_text")

    def __init__(self, base: str | os.PathLike[str], /, **knobs: Value) -> None:
        self._text = with_options(os.fspath(base), knobs)
        self._inner = _engine.Population.parse(self._text)

    @classmethod
    def _of(cls, inner: _engine.Population, text: str) -> Population:
        population = object.__new__(cls)
        population._text, population._inner = text, inner
        return population

    @classmethod
    def measured(cls, frame: Frame, name: str = "measured") -> Population:
        """Builds a population from measured paths: a data frame of pandas or Polars, or a mapping of columns. `rtt_ms` and `rate_mbps` are
        required; `rate_up_mbps`, `buffer_ms`, `buffer_bdp`, `loss_pct`, `group`, `weight`, `size_bytes` are optional. A connection takes a
        whole row, which preserves correlations; missing values come from the population `fixed-2025`.
        """
        return cls._of(_engine.Population.from_csv(f"{name}.csv", _csv_of(frame)), name)

    @property
    def name(self) -> str:
        """Name of the population."""
        return self._inner.name

    @property
    def about(self) -> str:
        """Description of the population."""
        return self._inner.about

    @property
    def groups(self) -> dict[str, float]:
        """Groups and their shares."""
        return dict(self._inner.groups)

    @property
    def sources(self) -> list[tuple[str, str, str]]:
        """Sources of the values: value, status (S stated, C read in code, D derived, U unconfirmed, A assumed), reference."""
        return self._inner.sources

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt numbers that depend on this population."""
        return self._inner.warnings

    @property
    def initial_window(self) -> int | None:
        """Initial window in packets for arms that do not set one, if the population states it."""
        return self._inner.initial_window

    def to_toml(self) -> str:
        """The population as a TOML file with all values filled in, to copy and change."""
        return self._inner.to_toml()

    def draw(self, count: int, *, seed: int = 1, first: int = 0) -> Table:
        """Path and object of `count` connections, starting at number `first`."""
        for what, given in (("count", count), ("seed", seed), ("first", first)):
            if not 0 <= given < 2**64:
                raise Refused(f"{what} {given}: is out of range; allowed: 0 to {2**64 - 1}")
        return Table(self._inner.draw(seed, first, count))

    def describe(self, *, seed: int = 1, draws: int = 100_000) -> Table:
        """Quantiles of all values, by group."""
        return Table(self._inner.describe(seed, draws))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Population({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Population) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _from_parts, (self._text, self.to_toml(), self._inner.files)


def _from_parts(text: str, toml: str, files: dict[str, str]) -> Population:
    return Population._of(_engine.Population.from_parts(toml, files), text)


def population_of(given: str | os.PathLike[str] | Population) -> Population:
    """Converts a value to a `Population`."""
    return given if isinstance(given, Population) else Population(given)


def engine_test(population: Population, options: Pairs, objects: Mapping[str, list[str | Own]]) -> _engine.Test:
    """An A/B test of the engine; `population` replaces the one in the options."""
    return _engine.Test(population._inner, options, objects.get("baseline", [None])[0], objects.get("arms"))
