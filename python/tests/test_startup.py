"""Startups written in Python run beside ours, and mean the same."""

import traceback
from typing import Any

import pytest

import firstflight as ff


class SlowStart(ff.Startup):
    """Slow start, spelt out."""

    def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
        if cx.limited:
            window.open(cx.cap(acked))
        return None

    def pacing_gain(self) -> float:
        return 2.0

    def reached(self) -> str:
        return "threshold"


class Limited(ff.Startup):
    """RFC 3742 with K rounded down, as `limited(int=on)` has it."""

    max_ssthresh = 100

    def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
        limit = self.max_ssthresh * cx.mss
        if not cx.limited:
            return None
        if window.cwnd <= limit:
            window.open(cx.cap(acked))
            return None
        k = max(1, 2 * window.cwnd // limit)
        window.open(cx.cap(acked) // k)
        return None


class Oracle(ff.Startup):
    """Leaves at a window that it was told."""

    def __init__(self, exit: int = 500_000) -> None:
        self.exit = exit

    def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
        return ff.Aim(self.exit)

    def reached(self) -> str:
        return "oracle"


def rows(result: ff.Comparison) -> list[list[dict[str, Any]]]:
    """The rows by arm, without what names it."""
    every = result.rows.to_dicts()
    nameless = [{key: value for key, value in row.items() if key not in ("arm", "arm_full")} for row in every]
    count = len(every) // len(result.arms)
    return [nameless[index : index + count] for index in range(0, len(every), count)]


GROUNDS: list[dict[str, Any]] = [
    {},
    {"path": "geo", "bytes": "30MB"},
    {"path": "leo,loss=1%", "repeat": 5},
    {"transport": "tcp", "path": "gvisor", "repeat": 3},
    {"transport": "tcp", "detection": "reno", "path": "rate=20Mbit,rtt=80ms,queue=0.2bdp,loss=0.2%"},
]


@pytest.mark.parametrize("ground", GROUNDS, ids=str)
@pytest.mark.parametrize(("ours", "theirs"), [("slowstart", SlowStart), ("limited(int=on)", Limited)])
def test_the_same_algorithm_in_python_does_the_same(ground: dict[str, Any], ours: str, theirs: type[ff.Startup]) -> None:
    result = ff.compare(arms=[ours, theirs], **ground)
    rust, python = rows(result)
    assert rust == python, "every number of every trial"
    assert result.trace.column_names[:4] == ["arm", "time_ms", "event", "phase"]


@pytest.mark.parametrize("rest", ["/reno", "/cubic/immediate", "/reno(beta=0.7)/sack@(iw=30,pace=off)"])
def test_it_goes_with_every_avoidance_recovery_and_sender(rest: str) -> None:
    arm = ff.Arm(SlowStart)
    built = {
        "/reno": arm.avoiding("reno"),
        "/cubic/immediate": arm.recovering("immediate"),
        "/reno(beta=0.7)/sack@(iw=30,pace=off)": arm.avoiding("reno", beta=0.7).recovering("sack").sending(iw=30, pace=False),
    }[rest]
    assert str(built) == f"SlowStart{rest}" and built.is_own
    rust, python = rows(ff.compare(arms=[f"slowstart{rest}", built]))
    assert rust == python


def test_an_arm_of_one_s_own_says_what_it_is() -> None:
    result = ff.compare(arms=[ff.Arm(SlowStart).avoiding("reno")], bytes="20kB")
    assert result.rows.column("arm") == ["SlowStart/reno"]
    assert result.rows.column("arm_full") == ["SlowStart/reno/prr"] == [ff.Arm(SlowStart).avoiding("reno").full]


def test_every_trial_copies_an_object() -> None:
    early, late = ff.compare(arms=[Oracle(100_000), Oracle(400_000)]).rows.to_dicts()
    assert (early["exit_reason"], late["exit_reason"]) == ("oracle", "oracle")
    assert early["exit_cwnd_after"] < late["exit_cwnd_after"], "each object has its own exit"


class Counting(ff.Startup):
    """Has state that a second trial would notice."""

    def __init__(self) -> None:
        self.samples = 0

    def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
        self.samples += 1
        return ff.Leave("delay", estimate=self.samples) if self.samples == 20 else None


def test_every_trial_starts_afresh() -> None:
    result = ff.compare(arms=[Counting, Counting()], repeat=3)
    assert result.rows.column("exit_reason") == ["delay"] * 6
    assert result.rows.column("exit_estimate") == [20] * 6


def test_a_verdict_is_obeyed() -> None:
    class Verdicts(ff.Startup):
        def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            if window.cwnd < 100_000:
                return None
            return ff.Leave("flattened", cwnd=60_000.5, ssthresh=60_000, estimate=7)

    row = ff.compare(arms=Verdicts).rows.to_dicts()[0]
    assert (row["exit_reason"], row["exit_cwnd_after"], row["exit_estimate"]) == ("flattened", 60_000, 7)

    class Holding(ff.Startup):
        def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            return ff.Hold(50_000)

    trace = ff.compare(arms=Holding, bytes="200kB").trace
    assert max(trace.column("cwnd")) <= 50_000 + 3000, "growth by one ACK after the window was held"


def test_hooks_come_in_order_and_know_their_connection() -> None:
    log: list[str] = []

    class Logging(ff.Startup):
        def start(self, now: int, nxt: int) -> None:
            log.append("start")

        def on_rtt(self, now: int, rtt: int, cx: ff.Context) -> None:
            assert cx.mss == 1472 and cx.iw == 10 * 1472 and cx.transport == "quic" and cx.paced and cx.minimum_window == 2 * 1472
            log.append("rtt")

        def before_send(self, ready: ff.Ready, window: ff.Window, cx: ff.Context) -> None:
            assert ready.backlog > 0 or ready.inflight >= 0
            log.append("send")

        def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            assert ack.rtt is None or ack.rtt >= 29_000_000
            assert ack.delivered >= ack.acked and ack.sent >= ack.delivered
            log.append("sample")
            return None

        def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            assert acked == ack.acked and window.ssthresh is None
            log.append("grow")
            return super().grow(ack, acked, window, cx)

        def phase(self) -> str:
            return "css"

        def signals(self) -> dict[str, float]:
            return {"hooks_so_far": len(log)}

    result = ff.compare(arms=Logging, bytes="100kB", threads=1)
    assert log[:2] == ["start", "rtt"], "the handshake gives the first sample"
    first = log.index("sample")
    assert log[first - 1 : first + 2] == ["rtt", "sample", "grow"]
    trace = result.trace
    assert "css" in trace.column("phase") and any(trace.column("hooks_so_far"))


def test_a_congestion_is_told_and_a_false_alarm_is_taken_back() -> None:
    told: list[str] = []

    class Watching(ff.Startup):
        def on_congestion(self, signal: str, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> None:
            told.append(signal)

        def save(self) -> object:
            told.append("save")
            return {"kept": 42}

        def restore(self, saved: object) -> None:
            assert saved == {"kept": 42}
            told.append("restore")

    ff.compare(arms=Watching, bytes="5MB")
    assert "save" in told and "loss" in told
    told.clear()
    row = ff.compare("rate=20Mbit,rtt=40ms,reorder=5%:30ms", Watching, bytes="5MB").rows.to_dicts()[0]
    assert row["spurious_losses"] > 0 and "restore" in told


class Broken(ff.Startup):
    """Fails on the way."""

    def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
        raise ZeroDivisionError(f"after {window.cwnd} bytes")


def test_what_a_hook_raises_comes_out_where_the_run_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError, match="after 14720 bytes") as raised:
        ff.compare(arms=["slowstart", Broken], repeat=50)
    assert any(frame.name == "grow" for frame in traceback.extract_tb(raised.value.__traceback__)), "with the line that raised it"
    with pytest.raises(ZeroDivisionError):
        ff.ab(flows=1000, arms=Broken)


def test_what_makes_no_startup_raises_too() -> None:
    class Unmakeable(SlowStart):
        def __init__(self) -> None:
            raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        ff.compare(arms=Unmakeable)


def test_a_class_without_a_hook_or_with_a_misspelt_one_is_refused() -> None:
    class Idle(ff.Startup):
        def _helper(self) -> None:
            pass

    with pytest.raises(ff.Refused, match=r"arm Idle: overrides no hook .* allowed: one or more of start, on_rtt"):
        ff.compare(arms=Idle)

    class Typo(SlowStart):
        def grwo(self) -> None:
            pass

    with pytest.raises(ff.Refused, match=r"arm Typo: `grwo` is not a hook of Startup \(did you mean `grow`\?\)"):
        ff.Arm(Typo)

    class Unknown(SlowStart):
        def on_ack(self) -> None:
            pass

    with pytest.raises(ff.Refused, match="`on_ack` is not a hook of Startup; allowed: start, on_rtt"):
        ff.ab(arms=Unknown, flows=100)

    class Helped(Typo):
        grwo = None  # type: ignore[assignment]

        def half(self) -> None:
            pass

    assert ff.Arm(Helped).is_own, "a method that resembles no hook is the author's own"


def test_answers_that_mean_nothing_are_refused() -> None:
    class Wordy(ff.Startup):
        def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            return "leave"  # type: ignore[return-value]

    with pytest.raises(TypeError, match="answers None, Aim, Hold or Leave"):
        ff.compare(arms=Wordy)

    class Misspelt(ff.Startup):
        def sample(self, ack: ff.Ack, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            return ff.Leave("dealy")

    with pytest.raises(ff.Refused, match="did you mean `delay`"):
        ff.compare(arms=Misspelt)

    class Negative(ff.Startup):
        def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            window.cwnd = -1.0
            return None

    with pytest.raises(ff.Refused, match="0 and more"):
        ff.compare(arms=Negative)


def test_no_window_is_too_wild() -> None:
    class Wild(ff.Startup):
        def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> ff.Verdict:
            window.cwnd = 2**63 if ack.una % 2 else 0
            return None

    assert ff.compare(arms=Wild, bytes="1MB", limit=60).rows.column("packets_sent")[0] > 0


def test_it_runs_in_an_ab_test_too() -> None:
    result = ff.ab("fixed-2025", [SlowStart, "rapid"], flows=100)
    mine = next(row for row in result.part("all") if row["arm"] == "SlowStart")
    assert mine["same_pct"] == 100.0, "it does on every connection what slow start does"
    assert result.experiment["arms_full"][1] == "SlowStart/cubic/prr"
    with pytest.raises(ff.Refused, match="are the same"):
        ff.ab("fixed-2025", [SlowStart, SlowStart], flows=100)
