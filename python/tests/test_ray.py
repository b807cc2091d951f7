"""On a cluster it is the same test, whatever happens to its workers."""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import command

import firstflight as ff

ray = pytest.importorskip("ray", reason="Ray is not installed")
from firstflight import ray as ffray  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

FLOWS = 4_000
SHARDS = 16


@functools.cache
def client_port() -> int:
    """A free port for clients of the cluster."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    """Two workers, each a node of its own with one core."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": client_port()}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def alone() -> ff.AbResult:
    """The same test in one piece."""
    return ff.ab("cdn", "rapid", flows=FLOWS, keep_rows=True)


def test_sixteen_shards_on_two_workers_are_one_run(alone: ff.AbResult, tmp_path: Path) -> None:
    result = ffray.ab("cdn", "rapid", flows=FLOWS, shards=SHARDS, checkpoint=tmp_path / "kept")
    assert result.to_json() == alone.to_json(), "the same bytes"
    assert len(list((tmp_path / "kept").iterdir())) == SHARDS


def test_the_command_is_the_same_run(binary: str, alone: ff.AbResult, tmp_path: Path) -> None:
    assert command(binary, "ab", "--flows", str(FLOWS), "--arms", "rapid", "--json", "-") == alone.to_json()
    ffray.ab("cdn", "rapid", flows=FLOWS, shards=3, checkpoint=tmp_path / "kept")
    assert command(binary, "ab", "merge", str(tmp_path / "kept"), "--json", "-") == alone.to_json(), "its shards are the command's"


def workers() -> list[int]:
    """Processes that run a shard, descendants of this one."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            running = folder.name.isdigit() and b"ray::_run_shard" in (folder / "cmdline").read_bytes()
            if running and "firstflight-test" in (folder / "environ").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def killed_one(within: threading.Event) -> list[int]:
    """Kills the first worker that is seen at work, unless everything is over before."""
    while not within.is_set():
        for process in workers():
            os.kill(process, signal.SIGKILL)
            return [process]
        time.sleep(0.01)
    return []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_worker_that_dies_changes_nothing(alone: ff.AbResult, tmp_path: Path) -> None:
    over, victims = threading.Event(), list[int]()
    # Workers inherit the environment of their driver's job, which is how ours are told from anybody else's.
    killer = threading.Thread(target=lambda: victims.extend(killed_one(over)))
    killer.start()
    result = ffray.ab("cdn", "rapid", flows=FLOWS, shards=4, out=tmp_path / "rows")
    over.set()
    killer.join()
    assert len(victims) == 1, "one worker was killed while it ran a shard"
    assert result.to_json() == alone.to_json(), "and nothing else changed"
    assert alone.rows is not None and rows_of(tmp_path / "rows") == len(alone.rows), "no row is lost or there twice"


def rows_of(folder: Path) -> int:
    import pyarrow.dataset

    rows: int = pyarrow.dataset.dataset(folder, partitioning="hive").count_rows()
    return rows


def test_rows_are_a_dataset_by_arm_and_group(alone: ff.AbResult, tmp_path: Path) -> None:
    import polars as pl

    out = tmp_path / "rows"
    ffray.ab("cdn", "rapid", flows=FLOWS, shards=4, out=out)
    assert {folder.name for folder in out.iterdir()} == {"_experiment.json", "arm=slowstart", "arm=rapid"}
    assert json.loads((out / "_experiment.json").read_text())["arms"] == ["slowstart", "rapid"]
    order = ["path_index", "arm"]
    theirs = pl.scan_parquet(out / "**/*.parquet", hive_partitioning=True).collect().sort(order)
    ours = pl.DataFrame(alone.rows).sort(order)
    for name in ours.columns:
        left, right = (frame[name].cast(pl.String) if frame[name].dtype == pl.Categorical else frame[name] for frame in (ours, theirs))
        assert left.to_list() == right.to_list(), name
    with pytest.raises(ff.Refused, match="rows of another test"):
        ffray.ab("cdn", "rapid", flows=FLOWS + 1, out=out)


def test_a_restarted_driver_goes_on(alone: ff.AbResult, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept", tmp_path / "rows"
    ffray.ab("cdn", "rapid", flows=FLOWS, shards=8, checkpoint=kept, out=out)
    # As if the driver had died: some shards never came back, one of them after its rows were written, another before.
    shards = sorted(kept.iterdir())
    for lost in (shards[1], shards[2], shards[6]):
        lost.unlink()
    for file in out.glob(f"*/*/{shards[2].stem}.parquet"):
        file.unlink()
    before = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    result = ffray.ab("cdn", "rapid", flows=FLOWS, shards=5, checkpoint=kept, out=out)
    assert result.to_json() == alone.to_json()
    assert all(file.stat().st_mtime_ns == time for file, time in before.items()), "what was there was not run again"
    assert alone.rows is not None and rows_of(out) == len(alone.rows), "no row is lost or there twice"
    with pytest.raises(ff.Refused, match="belongs to another test"):
        ffray.ab("cdn", "rapid", flows=FLOWS + 1, checkpoint=kept)


def test_measured_paths_travel_to_workers() -> None:
    population = ff.Population.measured({"rtt_ms": [20, 40, 90], "rate_mbps": [100, 50, 8]})
    assert ffray.ab(population, "rapid", flows=200, shards=3).to_json() == ff.ab(population, "rapid", flows=200).to_json()


def test_a_startup_of_one_s_own_stays_at_home() -> None:
    class Mine(ff.Startup):
        def on_rtt(self, now: int, rtt: int, cx: ff.Context) -> None:
            """Adds nothing."""

    with pytest.raises(ff.Refused, match="runs on this machine only"):
        ffray.ab("cdn", Mine, flows=100)
    with pytest.raises(ff.Refused, match="shards 0"):
        ffray.ab("cdn", flows=100, shards=0)


def test_the_command_runs_on_the_cluster(binary: str, cluster: str, alone: ff.AbResult, tmp_path: Path) -> None:
    words = ["ab", "--engine", "ray", "--address", cluster, "--shards", "4", "--flows", str(FLOWS), "--arms", "rapid"]
    environment = {**os.environ, "FIRSTFLIGHT_PYTHON": sys.executable}
    kept = ["--resume", str(tmp_path / "kept"), "--out", str(tmp_path / "rows"), "--json", "-"]
    done = subprocess.run([binary, *words, *kept], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == alone.to_json(), f"its output is that of one run; it said {done.stderr}"
    assert alone.rows is not None and rows_of(tmp_path / "rows") == len(alone.rows)


def test_a_client_from_outside_gets_the_same(binary: str, alone: ff.AbResult) -> None:
    words = ["ab", "--engine", "ray", "--address", f"ray://127.0.0.1:{client_port()}", "--flows", str(FLOWS), "--arms", "rapid"]
    environment = {**os.environ, "FIRSTFLIGHT_PYTHON": sys.executable}
    for _ in range(3):
        done = subprocess.run([binary, *words, "--json", "-"], env=environment, capture_output=True, text=True, check=False)
        # Ray starts a server for each client and gives it 30 s, which a machine under load may not have; that is no fault of the run.
        if "Initialization failure from server" not in done.stderr:
            break
    assert done.returncode == 0 and done.stdout == alone.to_json(), f"its output is that of one run; it said {done.stderr}"


def refusal(binary: str, *words: str, **environment: str) -> str:
    given = {**os.environ, **environment}
    done = subprocess.run([binary, "ab", "--flows", "100", *words], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, f"one line and exit code 2, not {done.returncode}: {done.stderr}"
    return done.stderr


def test_the_command_refuses_in_one_line(binary: str, cluster: str, tmp_path: Path) -> None:
    assert "goes with `--engine ray`" in refusal(binary, "--shards", "4")
    assert "the cluster decides" in refusal(binary, "--engine", "ray", "--threads", "2")
    assert "names another Python" in refusal(binary, "--engine", "ray", FIRSTFLIGHT_PYTHON="/no/such/python")
    (tmp_path / "some.txt").write_text("something else")
    words = ["--engine", "ray", "--address", cluster, "--out", str(tmp_path)]
    assert "holds files that are no rows" in refusal(binary, *words, FIRSTFLIGHT_PYTHON=sys.executable)
