"""Runs let others live: other threads go on, progress is told, Ctrl-C ends them."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

import firstflight as ff
from firstflight import _engine
from firstflight._population import engine_test


def test_other_threads_go_on_while_it_simulates() -> None:
    counted, going = 0, True

    def count() -> None:
        nonlocal counted
        while going:
            counted += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    before = counted
    ff.ab(flows=400)
    during = counted - before
    going = False
    other.join()
    # With the lock held it would get one turn before and one after.
    assert during > 100, f"the other thread counted to {during} while the test ran"


def test_progress_adds_up() -> None:
    told: list[int] = []
    test = engine_test(ff.Population("cdn"), [("arms", "rapid"), ("flows", "300")], {})
    test.run(None, None, told.append)
    assert sum(told) == 300
    ff.compare(repeat=3, progress=True, bytes="20kB")


def test_what_progress_raises_ends_the_run() -> None:
    def enough(done: int) -> None:
        raise RuntimeError("enough")

    test = engine_test(ff.Population("cdn"), [("arms", "rapid"), ("flows", "1000000")], {})
    with pytest.raises(RuntimeError, match="enough"):
        test.run(None, None, enough)


def test_what_takes_the_rows_may_fail() -> None:
    def full(rows: _engine.Batches) -> None:
        raise OSError("disk full")

    test = engine_test(ff.Population("cdn"), [("arms", "rapid"), ("flows", "1000000")], {})
    with pytest.raises(OSError, match="disk full"):
        test.run(None, None, None, full)


class Slow(ff.Startup):
    """Takes its time."""

    def on_rtt(self, now: int, rtt: int, cx: ff.Context) -> None:
        time.sleep(0.001)


LONG: list[Callable[[], object]] = [
    lambda: ff.ab(flows=100_000_000),
    lambda: ff.compare(repeat=100_000),
    lambda: ff.compare(arms=Slow, repeat=1000),
    lambda: ff.reproduce("early-retransmit"),
    lambda: ff.Population("cdn").draw(100_000_000),
]


@pytest.mark.parametrize("run", LONG, ids=["ab", "compare", "own startup", "reproduce", "draw"])
def test_ctrl_c_ends_it(run: Callable[[], object]) -> None:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    timer.join()
    # And the next run is as ever.
    assert ff.compare(arms="slowstart", bytes="20kB").complete


def test_several_at_a_time_do_not_disturb_each_other() -> None:
    alone = ff.ab(flows=100).to_json()
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(ff.ab(flows=100).to_json())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 3


def test_a_reproduction_is_the_command_s_list() -> None:
    documents = set(ff.documents().column("document"))
    assert "hystart++" in documents
    result = ff.reproduce("best", quick=True)
    assert result.sound and set(result.rows.column("document")) == {"best"}
    assert {row["id"] for row in result.data["sources"][0]["rows"]} == set(result.rows.column("id"))
    assert "best" in repr(result) and result._repr_html_().startswith("<table>")


class Endless(ff.Startup):
    """Never comes back."""

    def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> None:
        while True:
            pass


class NeverMade(Endless):
    """Is never there."""

    def __init__(self) -> None:
        while True:
            pass


@pytest.mark.parametrize("startup", [Endless, NeverMade])
def test_ctrl_c_ends_a_hook_that_does_not(startup: type[ff.Startup]) -> None:
    test_ctrl_c_ends_it(lambda: ff.compare(arms=startup, bytes="100kB"))


def test_a_hook_is_ended_by_what_ended_the_run() -> None:
    def enough(done: int) -> None:
        raise RuntimeError("enough")

    class Later(ff.Startup):
        made = 0

        def __init__(self) -> None:
            Later.made += 1

        def grow(self, ack: ff.Ack, acked: int, window: ff.Window, cx: ff.Context) -> None:
            while Later.made > 2:
                pass

    plan = _engine.Plan([("bytes", "100kB"), ("repeat", "50")], [ff.Arm(Later)._for_engine()])
    with pytest.raises(RuntimeError, match="enough"):
        plan.run(1, enough)


def _runs() -> list[Callable[[], object]]:
    return [
        lambda: ff.compare(bytes="20kB", repeat=2),
        lambda: ff.compare(arms=Slow, bytes="20kB"),
        lambda: ff.sweep(over={"rtt": ["10ms", "20ms"]}, bytes="20kB"),
        lambda: ff.ab(flows=20),
        lambda: ff.Population("cdn").draw(10),
        lambda: ff.Population("cdn").describe(draws=100),
        lambda: ff.reproduce("early-retransmit", quick=True),
        lambda: ff.evaluate("rapid", effort="quick", criteria=["7.11"]),
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("number", range(len(_runs())))
def test_everything_runs_in_a_child_after_a_fork(number: int) -> None:
    # The parent has threads by now, which the child has not.
    ff.compare(bytes="20kB", repeat=4)
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            _runs()[number]()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ff.compare(bytes="20kB").complete, "and the parent goes on"


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_pool_of_forked_processes_gives_the_same() -> None:
    here = _measured(1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map_async(_measured, [1] * 6).get(120) == [here] * 6


def _measured(seed: int) -> str:
    return ff.compare(bytes="50kB", repeat=2, seed=seed).to_json()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no list of threads here")
def test_nothing_runs_on_threads_that_a_fork_would_lose() -> None:
    def threads() -> dict[str, str]:
        found = {}
        for task in os.listdir("/proc/self/task"):
            # A thread may end while the list is read.
            with contextlib.suppress(FileNotFoundError), open(f"/proc/self/task/{task}/comm", encoding="utf-8") as comm:
                found[task] = comm.read().strip()
        return found

    before = threads()
    for run in _runs():
        run()
    after = threads()
    assert any(name.startswith("firstflight") for name in after.values())
    # Those of the process-wide pool would be called like the interpreter.
    others = {name for task, name in after.items() if task not in before and not name.startswith("firstflight")}
    assert not others, others


def test_a_bug_of_ours_is_an_exception() -> None:
    assert issubclass(ff.InternalError, Exception) and ff.InternalError.__module__ == "firstflight"
    with pytest.raises(Exception, match="a place"):
        raise ff.InternalError("a place")
