"""Keyword arguments as a request, which the engine parses like the options of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._arm import Own, arms_of, as_list
from ._engine import Refused
from ._options import number, size

Pairs = list[tuple[str, str]]
"""Options and their values, as text."""


def request(keywords: Mapping[str, Any], *without: str) -> tuple[Pairs, dict[str, list[str | Own]]]:
    """Options as text, and separately the arms given as objects. `None` leaves an option at its default; keywords in `without` are not options."""
    pairs: Pairs = []
    objects: dict[str, list[str | Own]] = {}
    for name, given in keywords.items():
        if given is None or name in without:
            continue
        if name in ("arms", "baseline") and not isinstance(given, str):
            objects[name] = arms_of(given)
        elif name in ("arms", "baseline", "cross"):
            pairs.append((name, as_list(given)))
        else:
            pairs.append((name, _text(name, given)))
    if len(objects.get("baseline", [""])) != 1:
        raise Refused(f"baseline {keywords['baseline']}: {len(objects['baseline'])} arms; allowed: one")
    return pairs, objects


def _text(name: str, given: Any) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if name == "bytes":
        return size(given)
    return os.fspath(given) if isinstance(given, os.PathLike) else number(given)
