"""Base classes of results: JSON, a report page, and an Arrow table."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ._options import write_report
from ._table import Table


class Engine(Protocol):
    """A result as the engine returns it."""

    def to_json(self) -> str: ...

    def report(self, command: str) -> str: ...


E = TypeVar("E", bound=Engine)


class Answer(ABC):
    """A result that can be written as JSON."""

    @abstractmethod
    def to_json(self) -> str:
        """The same bytes as `--json -` of the command."""

    @property
    @abstractmethod
    def _table(self) -> Table:
        """The table that pandas, Polars and others read."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON as Python objects."""
        data: dict[str, Any] = json.loads(self.to_json())
        return data

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Reported(Answer, Generic[E]):
    """A result with a report page, which names the call that produced it."""

    _call: ClassVar[str]

    def __init__(self, inner: E) -> None:
        self._inner = inner

    def to_json(self) -> str:
        """The same bytes as `--json -` of the command."""
        return self._inner.to_json()

    def report(self, file: str | os.PathLike[str]) -> None:
        """Writes the report, one self-contained HTML page."""
        write_report(file, self._inner.report, self._call)
