#!/usr/bin/env python3
"""What very many new connections do to `watch` and `trial start`: 5000 a second for a minute over loopback, each of 1 kB. Root; Linux with
control groups of version 2. The clients are an example of firstflight-linux:

    cargo build --release -p firstflight-linux --example connections
    sudo experiments/trials/load.py --load target/release/examples/connections --rate 5000 --seconds 60

Prints a line of JSON for each command: connections reached and recorded, records dropped, memory of the command every ten seconds, processor
time of everybody. With `nothing` it measures the machine without either.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from trial import FIRSTFLIGHT, mount_of_groups

TICK = os.sysconf("SC_CLK_TCK")
PORT = 7000


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def processor_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // TICK


def idle_ms():
    """Of all cores together."""
    return int(pathlib.Path("/proc/stat").read_text().split()[4]) * 1000 // TICK


def command_line(kind, group, out):
    if kind == "watch":
        return ["watch", "--cgroup", str(group), "--sample", "1", "--arms", "slowstart,hystart++", "--out", str(out / "rows.jsonl"), "--json", str(out / "answer.json")]
    return ["trial", "start", "--cgroup", str(group), "--arms", "kernel:cubic,kernel:reno", "--unit", "connection", "--out", str(out / "trial")]


def dropped(kind, out):
    if kind == "watch":
        told = json.loads((out / "answer.json").read_text())
        return {"recorded": told["closed"], "dropped": told["records_dropped"], "incomplete": told["incomplete"]}
    told = json.loads((out / "trial" / "trial.json").read_text())
    return {"recorded": sum(arm["rows"] for arm in told["arms"]), "drawn": sum(arm["drawn"] for arm in told["arms"]), "dropped": told["dropped"]}


def measure(kind, options, group):
    with tempfile.TemporaryDirectory(prefix="firstflight-load-") as out:
        measure_in(pathlib.Path(out), kind, options, group)


def measure_in(out, kind, options, group):
    serve = f"echo $$ > {group}/cgroup.procs && exec {options.load} serve 0.0.0.0:{PORT} {options.bytes}"
    server = subprocess.Popen(["sh", "-c", serve], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    command, memory = None, []
    try:
        if kind != "nothing":
            command = subprocess.Popen([FIRSTFLIGHT, *command_line(kind, group, out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            command.stderr.readline()
        idle, before = idle_ms(), time.monotonic()
        load = subprocess.Popen([options.load, "load", str(PORT), str(options.rate), str(options.seconds)], stdout=subprocess.PIPE, text=True)
        while load.poll() is None:
            if command and len(memory) * 10 <= time.monotonic() - before:
                memory.append(resident_kb(command.pid))
            time.sleep(0.2)
        told = json.loads(load.stdout.read())
        told = {"command": kind, **told, "cores_idle_pct": round(100 * (idle_ms() - idle) / 1000 / (time.monotonic() - before) / os.cpu_count(), 1)}
        told["server_ms"] = processor_ms(server.pid)
        if command:
            time.sleep(1)
            memory.append(resident_kb(command.pid))
            told["command_ms"] = processor_ms(command.pid)
            command.send_signal(signal.SIGINT)
            command.communicate()
            told |= {"memory_kb": memory, **dropped(kind, out)}
        print(json.dumps(told), flush=True)
    finally:
        for process in [command, server]:
            if process and process.poll() is None:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--load", required=True, help="the example `connections`, compiled")
    parser.add_argument("--rate", type=int, default=5000, help="new connections a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--bytes", type=int, default=1000)
    parser.add_argument("--commands", default="nothing,watch,trial")
    options = parser.parse_args()
    group = mount_of_groups() / f"firstflight-load-{os.getpid()}"
    group.mkdir()
    try:
        for kind in options.commands.split(","):
            measure(kind, options, group)
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)


if __name__ == "__main__":
    main()
