"""Startups written in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._engine import Ack, Context, Ready, Window


@dataclass(frozen=True, slots=True)
class Leave:
    """Startup ends here.

    `reason` is one of the reasons of an exit: `delay`, `train`, `flattened`, `estimate`, `threshold`, ... `ssthresh` is the threshold to
    set, bytes; `None` is the window. `cwnd` is the window to set if it changes. `estimate` is the number that decided, for the record.
    """

    reason: str = "estimate"
    ssthresh: float | None = None
    cwnd: float | None = None
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class Aim:
    """Carry on towards this threshold, bytes."""

    ssthresh: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Set the window, bytes, and stay in startup."""

    cwnd: float


Verdict = Leave | Aim | Hold | None


class Startup:
    """A startup of your own: subclass it, override what differs from slow start, and name the class among the arms.

    >>> import firstflight as ff
    >>> class Gentle(ff.Startup):
    ...     def grow(self, ack, acked, window, cx):
    ...         if cx.limited:
    ...             window.open(acked / 2)
    >>> result = ff.compare("rapid-slide", arms=["slowstart", Gentle], bytes="1MB")
    >>> slow, gentle = result.rows.column("ttlb_ms")
    >>> gentle > slow
    True

    Every trial makes a fresh object with no arguments. The hooks are those of the Rust trait of the same name, in the same order within
    one acknowledgement: `on_rtt`, `sample`, (losses), `grow`. Times are whole nanoseconds, amounts bytes; `cwnd < ssthresh` means
    startup goes on. An exception in a hook ends the comparison and is raised there. Loss is answered by the arm's recovery: a startup
    written in Python brings none of its own.
    """

    name: ClassVar[str | None] = None
    """What the arm is called; the class's name if `None`."""

    def start(self, now: int, nxt: int) -> None:
        """The connection starts; `nxt` is its first packet or sequence number."""

    def on_rtt(self, now: int, rtt: int, cx: Context) -> None:
        """Every valid RTT sample, whatever the phase."""

    def before_send(self, ready: Ready, window: Window, cx: Context) -> None:
        """Before the first packet of a burst, whatever the phase: a first window may be enlarged here."""

    def sample(self, ack: Ack, window: Window, cx: Context) -> Verdict:
        """Below the threshold and outside recovery, before losses of this ACK are looked at. `window` is a copy."""
        return None

    def grow(self, ack: Ack, acked: int, window: Window, cx: Context) -> Verdict:
        """Below the threshold and outside recovery, after losses: slow start. `acked` is what may count, `cx.limited` whether it may."""
        if cx.limited:
            window.open(cx.cap(acked))
        return None

    def beside_avoidance(self, ack: Ack, acked: int, window: Window, cx: Context) -> float | None:
        """At or above the threshold: the window below which avoidance may not fall on this ACK. `window` is a copy."""
        return None

    def reached(self) -> str:
        """The window reached its threshold: the reason to record."""
        return "threshold"

    def on_congestion(self, signal: str, ack: Ack, window: Window, cx: Context) -> None:
        """The first reaction to `loss` or `ecn` of every episode. `window` is a copy: the arm's avoidance and recovery decide."""

    def on_timeout(self, timeout: str, now: int, nxt: int) -> None:
        """A timeout: `rto`, `rto_again` or `persistent_congestion`."""

    def on_idle(self, now: int, nxt: int) -> None:
        """Sending resumes after a pause longer than the timeout."""

    def save(self) -> object:
        """What `restore` needs if the loss that is about to be answered turns out to be a false alarm."""
        return None

    def restore(self, saved: object) -> None:
        """The loss was a false alarm."""

    def pacing_gain(self) -> float:
        """Pacing rate over window per round trip, below the threshold."""
        return 2.0

    def phase(self) -> str:
        """What it is doing, for traces: `startup`, `jump`, `rapid`, `css`, `lss`, `drain`."""
        return "startup"

    def rounds(self) -> int | None:
        """Rounds it has counted, if it counts any."""
        return None

    def signals(self) -> dict[str, float]:
        """Its inner signals, for traces: times in ns, amounts in bytes."""
        return {}


HOOKS = [name for name, hook in vars(Startup).items() if callable(hook) and not name.startswith("_")]


def hooks_of(startup: type[Startup]) -> set[str]:
    """The hooks that a class overrides: the others cost nothing."""
    return {hook for hook in HOOKS if getattr(startup, hook) is not getattr(Startup, hook)}
