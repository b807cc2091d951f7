#!/usr/bin/env python3
"""What the layers over the engine cost: one A/B test by the command, by the Python package and by Ray on this machine, in turn.

    make python && cargo build --release -p firstflight-cli
    python3 benches/layers.py [--flows 200000] [--rounds 5] [--ray 16] [--python target/python-venv/bin/python] [--binary target/release/firstflight]

Shown are medians over the rounds, and the median of the ratios to the command within a round: wall time, and processor time where all
processes are children of ours (workers of Ray are not). Starting is in it: interpreter, package, cluster; how long a cluster takes to
start and end without work stands apart. Every answer has to equal the command's, byte for byte. The package has to be an optimised one:
`CI=true make python`, or `pip install ./python`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys
import firstflight as ff
shards, flows, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if shards:
    import firstflight.ray
    result = firstflight.ray.ab("cdn", flows=flows, shards=shards)
else:
    result = ff.ab("cdn", flows=flows)
with open(out, "w", encoding="utf-8") as file:
    file.write(result.to_json())
"""
EMPTY = """
import ray
import firstflight.ray
ray.init(log_to_driver=False, logging_level="warning", include_dashboard=False)
ray.shutdown()
"""


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and processor time of a command and its children, seconds."""
    began = time.monotonic()
    # From a folder without our sources, which Python would find before the installed package.
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir())
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"layers: {' '.join(command[:2])} ended with {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--flows", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--ray", type=int, default=16, help="shards on Ray; 0: without Ray")
    options.add_argument("--python", default="target/python-venv/bin/python")
    options.add_argument("--binary", default="target/release/firstflight")
    asked = options.parse_args()
    # Not resolved: a virtual environment is known by the link to its interpreter.
    python, binary = os.path.abspath(asked.python), os.path.abspath(asked.binary)
    with tempfile.TemporaryDirectory() as folder:

        def out(name: str) -> str:
            return str(Path(folder) / f"{name}.json")

        layers = {
            "command": [binary, "ab", "--population", "cdn", "--flows", str(asked.flows), "--json", out("command")],
            "python": [python, "-c", SCRIPT, "0", str(asked.flows), out("python")],
        }
        if asked.ray:
            layers["ray"] = [python, "-c", SCRIPT, str(asked.ray), str(asked.flows), out("ray")]
            layers["ray, nothing to do"] = [python, "-c", EMPTY]
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in layers}
        # The first round warms up.
        for round_ in range(asked.rounds + 1):
            for name, command in layers.items():
                took = timed(command)
                if round_:
                    times[name].append(took)
            for name in layers.keys() & {"python", "ray"}:
                if Path(out(name)).read_bytes() != Path(out("command")).read_bytes():
                    sys.exit(f"layers: the answer of {name} is another")
        load = os.getloadavg()[0]
        print(f"{asked.flows} connections, {asked.rounds} rounds, {asked.ray} shards on Ray, {os.cpu_count()} cores, load {load:.1f}")
        print(f"{'':<20}{'wall s':>9}{'to command':>12}{'(extremes)':>20}{'CPU s':>9}{'to command':>12}")
        for name, all_ in times.items():
            walls, cpus = zip(*all_, strict=True)
            ratios = [[mine[i] / base[i] * 100 - 100 for mine, base in zip(all_, times["command"], strict=True)] for i in (0, 1)]
            wall = f"{name:<20}{statistics.median(walls):>9.2f}"
            if name.endswith("do"):
                print(wall)
                continue
            extremes = f"({min(ratios[0]):+.1f} to {max(ratios[0]):+.1f})"
            cpu = f"{statistics.median(cpus):>9.2f}{statistics.median(ratios[1]):>+11.1f}%" if name != "ray" else ""
            print(f"{wall}{statistics.median(ratios[0]):>+11.1f}%{extremes:>20}{cpu}")


if __name__ == "__main__":
    main()
