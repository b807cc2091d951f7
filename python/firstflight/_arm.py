"""Arms: named sender configurations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import final

from . import _engine
from ._engine import Refused
from ._options import Value, inside, with_options
from ._startup import Startup, hooks_of

Own = tuple[str, str, Callable[[], object], set[str]]


def _cut(text: str, mark: str) -> tuple[str, str | None]:
    """Splits `text` at the first `mark` outside parentheses."""
    depth = 0
    for at, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
        elif letter == mark and depth == 0:
            return text[:at], text[at + 1 :]
    return text, None


@final
class Arm:
    """A startup, a congestion avoidance, a recovery and options of the sender. It prints as the text that the command line accepts.

    >>> import firstflight as ff
    >>> print(ff.Arm("rapid", jump=False))
    rapid(jump=off)
    >>> print(ff.Arm("hystart++").avoiding("reno", beta="0.7").recovering("immediate").sending(iw=30))
    hystart++/reno(beta=0.7)/immediate@(iw=30)
    >>> ff.Arm("rapid(jump=off)") == ff.Arm("rapid-nojump")
    True

    `startup` is any arm as text, or a subclass of `Startup` (or an instance of a subclass, which every trial copies). Unnamed parts default
    to CUBIC and PRR; `firstflight.arms()` lists everything.
    """

    __slots__ = ("_avoidance", "_full", "_own", "_recovery", "_sender", "_startup")

    _startup: str
    _avoidance: str | None
    _recovery: str | None
    _sender: str | None
    _own: tuple[Callable[[], Startup], set[str]] | None
    _full: str

    def __init__(self, startup: str | type[Startup] | Startup, /, **options: Value) -> None:
        self._own = None
        if isinstance(startup, str):
            parts, sender = _cut(startup.strip(), "@")
            first, rest = _cut(parts, "/")
            avoidance, recovery = (None, None) if rest is None else _cut(rest, "/")
            self._startup, self._avoidance, self._recovery = with_options(first, options), avoidance, recovery
            self._sender = None if sender is None else sender.removeprefix("(").removesuffix(")")
        else:
            kind = startup if isinstance(startup, type) else type(startup)
            if not issubclass(kind, Startup):
                raise TypeError(f"an arm is a text or a subclass of firstflight.Startup, not {startup!r}")
            if options:
                raise Refused(f"arm {kind.__name__}: options of a startup of your own belong to its object; allowed: Arm({kind.__name__}(...))")
            make: Callable[[], Startup] = startup if isinstance(startup, type) else lambda: copy.deepcopy(startup)
            self._own = (make, hooks_of(kind))
            self._startup, self._avoidance, self._recovery, self._sender = kind.name or kind.__name__, None, None, None
        self._check()

    def _check(self) -> None:
        if self._own is None:
            self._full = _engine.arm_full(str(self))
        else:
            stand_in = "slowstart"
            self._full = self._startup + _engine.arm_full(stand_in + self._rest()).removeprefix(stand_in)

    def _with(self, avoidance: str | None = None, recovery: str | None = None, sender: str | None = None) -> Arm:
        arm = copy.copy(self)
        if avoidance is not None:
            arm._avoidance = avoidance
        if recovery is not None:
            arm._recovery = recovery
        if sender is not None:
            arm._sender = sender
        arm._check()
        return arm

    def avoiding(self, name: str, **options: Value) -> Arm:
        """Returns the same arm with this congestion avoidance."""
        return self._with(avoidance=with_options(name, options))

    def recovering(self, name: str, **options: Value) -> Arm:
        """Returns the same arm with this recovery."""
        # A recovery stands behind an avoidance: the one that the arm has anyway.
        avoidance = self._avoidance or _cut(_cut(self._full, "/")[1] or "cubic", "/")[0]
        return self._with(avoidance=avoidance, recovery=with_options(name, options))

    def sending(self, **options: Value) -> Arm:
        """Returns the same arm with these options of the sender (`iw`, `pace`, `burst`, ...) added."""
        return self._with(sender=",".join(filter(None, [self._sender, inside(options)])))

    def _rest(self) -> str:
        rest = "".join(f"/{part}" for part in (self._avoidance, self._recovery) if part is not None)
        return rest + (f"@({self._sender})" if self._sender else "")

    @property
    def full(self) -> str:
        """All parts, and every option that differs from its default."""
        return self._full

    @property
    def is_own(self) -> bool:
        """Whether the startup is written in Python."""
        return self._own is not None

    def _for_engine(self) -> str | Own:
        if self._own is None:
            return str(self)
        make, hooks = self._own
        return (self._startup, self._rest(), make, hooks)

    def __str__(self) -> str:
        return self._startup + self._rest()

    def __repr__(self) -> str:
        return f"Arm({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arm) and (self._full, self._own) == (other._full, other._own)

    def __hash__(self) -> int:
        return hash(self._full)


ArmLike = str | Arm | type[Startup] | Startup
"""Values that are accepted as an arm."""


def arm_of(given: ArmLike) -> Arm:
    """Converts a value to an `Arm`."""
    return given if isinstance(given, Arm) else Arm(given)


def arms_of(given: ArmLike | Sequence[ArmLike]) -> list[str | Own]:
    """Arms for the engine. Text separates them with commas, as on the command line, and keeps the name as typed."""
    if isinstance(given, str):
        return list(_engine.split_arms(given))
    if isinstance(given, (Arm, Startup, type)):
        return [arm_of(given)._for_engine()]
    return [arm if isinstance(arm, str) else arm_of(arm)._for_engine() for arm in given]


def as_list(given: ArmLike | Sequence[ArmLike]) -> str:
    """Arms as the command accepts them, separated by commas; text is passed unchanged."""
    return given if isinstance(given, str) else ",".join(as_text(given))


def as_text(given: ArmLike | Sequence[ArmLike]) -> list[str]:
    """Arms as text, for machines without the user's Python code; refuses arms that are written in Python."""
    texts = []
    for arm in arms_of(given):
        if not isinstance(arm, str):
            raise Refused(f"arm `{arm[0]}`: a startup of your own runs on this machine only; allowed: arms of `firstflight arms`")
        texts.append(arm)
    return texts
