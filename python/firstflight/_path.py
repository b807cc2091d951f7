"""Paths: the network between sender and receiver."""

from __future__ import annotations

import os
from typing import final

from . import _engine
from ._options import Value, value


@final
class Path:
    """A path: a built-in name, text or a TOML file, with optional keys. It prints as the text that the command line accepts.

    >>> import firstflight as ff
    >>> path = ff.Path(rate="100Mbit", rtt="30ms", queue="1bdp", loss="0.1%")
    >>> print(path)
    rate=100Mbit,rtt=30ms,queue=1bdp,loss=0.1%
    >>> path.bdp_bytes
    375000
    >>> print(ff.Path("geo", queue="0.25bdp"))
    geo,queue=0.25bdp

    The keys are those of `firstflight_path`; a key that is a Python keyword takes a trailing underscore (`return_="lte"`), and a key
    without a value is `True` (`once=True`). `firstflight.paths()` lists the built-in paths.
    """

    __slots__ = ("_facts", "_text")

    def __init__(self, base: str | os.PathLike[str] | None = None, /, **keys: Value) -> None:
        items = [] if base is None else [os.fspath(base)]
        for name, given in keys.items():
            key = name.rstrip("_")
            items.append(key if given is True else f"{key}={value(given)}")
        self._text = ",".join(items)
        self._facts = _engine.path_facts(self._text)

    @property
    def full(self) -> str:
        """The canonical text: every key that differs from its default. Parsing it gives an equal path."""
        return self._facts[0]

    @property
    def name(self) -> str | None:
        """The path's name, if it has one."""
        return self._facts[1] or None

    @property
    def source(self) -> str | None:
        """The source of the path's numbers, if stated."""
        return self._facts[2] or None

    @property
    def rate_mbps(self) -> float:
        """The rate that a long transfer can reach, Mbit/s."""
        return self._facts[3] / 1e6

    @property
    def rtt_ms(self) -> float:
        """The idle round trip, ms."""
        return self._facts[4] / 1e6

    @property
    def queue_bytes(self) -> int | None:
        """Capacity of the queue at the bottleneck, bytes; `None` if unlimited."""
        return self._facts[5]

    @property
    def bdp_bytes(self) -> int:
        """Rate times idle round trip, bytes."""
        return self._facts[6]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Path({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.full == other.full

    def __hash__(self) -> int:
        return hash(self.full)
