"""Runs let others live: other threads go on, progress is told, Ctrl-C ends them."""

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
