"""Startups written in Python."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import ClassVar

from ._engine import Ack, Context, Ready, Refused, Window


@dataclass(frozen=True, slots=True)
class Leave:
    """Verdict that ends startup.

    `reason` is an exit reason: `delay`, `train`, `flattened`, `estimate`, `threshold`, ... `ssthresh` is the threshold to set, in bytes;
    `None` means the current window. `cwnd` is the window to set, in bytes, if it changes. `estimate` is the value that triggered the exit;
    it is only recorded.
    """

    reason: str = "estimate"
    ssthresh: float | None = None
    cwnd: float | None = None
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class Aim:
    """Verdict that continues startup up to this threshold, bytes."""

    ssthresh: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Verdict that sets the window, bytes, and stays in startup."""

    cwnd: float


Verdict = Leave | Aim | Hold | None


class Startup:
    """Your own startup: subclass it, override the hooks that differ from slow start, and pass the class as an arm.

    >>> import firstflight as ff
    >>> class Gentle(ff.Startup):
    ...     def sample(self, ack, window, cx):
    ...         if ack.rtt is not None and ack.rtt > 1.25 * ack.min_rtt:
    ...             return ff.Leave("delay", estimate=ack.rtt)
    >>> result = ff.compare("rapid-slide", arms=["slowstart", Gentle])
    >>> slow, gentle = result.rows.column("loss_ratio")
    >>> gentle < slow / 10
    True

    Every trial creates a new object without arguments. The hooks are those of the Rust trait of the same name, in the same order within one
    acknowledgement: `on_rtt`, `sample`, (losses), `grow`. Times are whole nanoseconds, sizes bytes; startup lasts while `cwnd < ssthresh`.
    `compare` propagates any exception of a hook. The arm's recovery handles losses; a startup in Python cannot bring its own recovery.
    """

    name: ClassVar[str | None] = None
    """Name of the arm; the class's name if `None`."""

    def start(self, now: int, nxt: int) -> None:
        """The connection starts; `nxt` is its first packet or sequence number."""

    def on_rtt(self, now: int, rtt: int, cx: Context) -> None:
        """Called for every valid RTT sample, in any phase."""

    def before_send(self, ready: Ready, window: Window, cx: Context) -> None:
        """Called before the first packet of a burst, in any phase. It may enlarge the first window."""

    def sample(self, ack: Ack, window: Window, cx: Context) -> Verdict:
        """Called below the threshold and outside recovery, before the losses of this ACK. `window` is a copy."""
        return None

    def grow(self, ack: Ack, acked: int, window: Window, cx: Context) -> Verdict:
        """Called below the threshold and outside recovery, after the losses: grows the window. `acked` bytes may count if `cx.limited`."""
        if cx.limited:
            window.open(cx.cap(acked))
        return None

    def beside_avoidance(self, ack: Ack, acked: int, window: Window, cx: Context) -> float | None:
        """Called at or above the threshold: a lower bound for avoidance's window on this ACK. `window` is a copy."""
        return None

    def reached(self) -> str:
        """Exit reason to record when the window reaches its threshold."""
        return "threshold"

    def on_congestion(self, signal: str, ack: Ack, window: Window, cx: Context) -> None:
        """Called at the first `loss` or `ecn` of every episode. `window` is a copy, because avoidance and recovery of the arm set the window."""

    def on_timeout(self, timeout: str, now: int, nxt: int) -> None:
        """Called on a timeout: `rto`, `rto_again` or `persistent_congestion`."""

    def on_idle(self, now: int, nxt: int) -> None:
        """Called when sending resumes after a pause longer than the timeout."""

    def save(self) -> object:
        """Returns the state that `restore` needs if the loss turns out to be spurious."""
        return None

    def restore(self, saved: object) -> None:
        """Called when the loss was spurious."""

    def pacing_gain(self) -> float:
        """Pacing rate over window per round trip, below the threshold."""
        return 2.0

    def phase(self) -> str:
        """Phase, for traces: `startup`, `jump`, `rapid`, `css`, `lss`, `drain`."""
        return "startup"

    def rounds(self) -> int | None:
        """Rounds counted, if it counts any."""
        return None

    def signals(self) -> dict[str, float]:
        """Internal signals, for traces: times in ns, sizes in bytes."""
        return {}


HOOKS = [name for name, hook in vars(Startup).items() if callable(hook) and not name.startswith("_")]


def hooks_of(startup: type[Startup]) -> set[str]:
    """The hooks that a class overrides; other hooks cost nothing. Refuses a class that overrides no hook, and a method that looks like a
    misspelt hook."""
    names = {name for kind in startup.__mro__ if issubclass(kind, Startup) and kind is not Startup for name in vars(kind)}
    for name in sorted(names):
        if name.startswith("_") or name in HOOKS or not callable(getattr(startup, name)):
            continue
        near = difflib.get_close_matches(name, HOOKS, 1, 0.75)
        if near or name.startswith("on_"):
            guess = f" (did you mean `{near[0]}`?)" if near else f"; allowed: {', '.join(HOOKS)}"
            raise Refused(f"arm {startup.__name__}: `{name}` is not a hook of Startup{guess}; helper methods start with an underscore")
    hooks = {hook for hook in HOOKS if getattr(startup, hook) is not getattr(Startup, hook)}
    if not hooks:
        raise Refused(f"arm {startup.__name__}: overrides no hook of Startup and would be slow start; allowed: one or more of {', '.join(HOOKS)}")
    return hooks
