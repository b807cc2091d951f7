"""Experiments from TOML files, as `firstflight run` runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, final

from . import _engine
from ._ab import AbResult, ab
from ._compare import Comparison, compare


def run(file: str | os.PathLike[str], *, threads: int | None = None, progress: bool | None = None) -> Experiment:
    """Runs an experiment in a TOML file: a comparison for every path with every size, or an A/B test if the file names a population.

    The keys are the options of `compare` or of `ab`; an invalid key is refused with its file and line (`Refused`). File names are relative
    to the experiment's folder. Ctrl-C ends the call.
    """
    written = _engine.Experiment(os.fspath(file))
    results: list[Comparison | AbResult] = []
    for part in written.parts():
        options: dict[str, Any] = dict(part)
        if written.is_test:
            results.append(ab(**options, threads=threads, progress=progress))
        else:
            results.append(compare(**options, threads=threads, progress=progress))
    return Experiment(written, results)


@final
class Experiment(Sequence[Comparison | AbResult]):
    """Result of `run`: a sequence of comparisons, in the order of the file, or of one A/B test."""

    def __init__(self, written: _engine.Experiment, results: Sequence[Comparison | AbResult]) -> None:
        self._written = written
        self._results = tuple(results)

    @property
    def title(self) -> str | None:
        """The title in the file."""
        return self._written.title

    def to_json(self) -> str:
        """The same bytes as `firstflight run --json -`."""
        texts = [result.to_json() for result in self._results]
        return texts[0] if self._written.is_test else self._written.to_json(texts)

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __iter__(self) -> Iterator[Comparison | AbResult]:
        return iter(self._results)

    def __str__(self) -> str:
        heading = "" if self.title is None else f"{self.title}\n\n"
        return heading + "\n\n".join(str(result) for result in self._results)

    def __repr__(self) -> str:
        return str(self)
