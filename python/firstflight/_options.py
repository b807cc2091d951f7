"""Options as on the command line: Python values become the same text."""

import os
from collections.abc import Callable, Mapping
from fractions import Fraction

from ._engine import Refused

Value = str | int | float | Fraction
Number = float | str
"""A whole number (a float such as `1e6` is accepted), or text."""


def value(given: Value) -> str:
    """`True` is `on`, `False` is `off`, a fraction is `11/18`."""
    if given is True:
        return "on"
    if given is False:
        return "off"
    return str(given)


def inside(options: Mapping[str, Value]) -> str:
    """The text inside the parentheses. A trailing underscore distinguishes a name from a Python keyword."""
    return ",".join(f"{name.rstrip('_')}={value(given)}" for name, given in options.items())


def with_options(text: str, options: Mapping[str, Value]) -> str:
    """A part with these options added."""
    if not options:
        return text
    text = text.strip()
    if text.endswith(")"):
        return f"{text[:-1]},{inside(options)})"
    return f"{text}({inside(options)})"


def number(given: Number) -> str:
    """A number as text; the engine checks it as for the command line. `1e6` is `1000000`."""
    return str(int(given) if isinstance(given, float) and given.is_integer() else given)


def size(given: Number) -> str:
    """A size: `10MB`, or a number of bytes."""
    return given if isinstance(given, str) else f"{number(given)}B"


def folder_of(file: str | os.PathLike[str]) -> str:
    """The folder that a file will be written into; it must exist before anything runs."""
    folder = os.path.dirname(os.fspath(file)) or "."
    if not os.path.isdir(folder):
        raise Refused(f"output folder {folder} does not exist")
    return folder


def write_report(file: str | os.PathLike[str], page: Callable[[str], str], call: str) -> None:
    """Writes the report of a result, which names the call that produced it; refuses a missing folder before it generates the report."""
    folder_of(file)
    write_whole(file, page(f"firstflight.{call}(...)"))


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes under another name and renames, so that nobody ever sees a partial result."""
    name = os.fspath(file)
    folder_of(name)
    partial = os.path.join(os.path.dirname(name), f".{os.path.basename(name)}.{os.getpid()}.part")
    try:
        with open(partial, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        os.replace(partial, name)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
