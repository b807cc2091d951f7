#!/usr/bin/env python3
"""What `watch` and `trial start` cost a web server, against neither: paired by round, over loopback, where packets are cheapest. Root; Linux with
control groups of version 2; nginx.

    sudo unshare --net experiments/trials/cost.py --rounds 9

Each round downloads `--gigabytes` in one connection and `--connections` of 1 kB, once under each command, in an order that alternates. Printed per
gigabyte and per 10 000 connections: processor time of the server, of the programs in the kernel (its own account, kernel.bpf_stats_enabled, which
adds some 60 ns to each run that it measures: `--each-run-ns` takes them off), and of the command besides its start.
"""

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from trial import FIRSTFLIGHT, NGINX, mount_of_groups

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
# The trial gives every connection what it would have anyway, or this would measure that.
USUAL = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
COMMANDS = {
    "nothing": None,
    "watch 1/10": ["watch", "--sample", "1/10", "--arms", "hystart++,search"],
    "trial": ["trial", "start", "--arms", f"kernel:{USUAL}#a,kernel:{USUAL}#b", "--unit", "connection"],
}


def processor_ms(pid):
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e6


def programs(pid):
    """Nanoseconds and runs of all programs that this process holds."""
    total = {}
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
        if "run_time_ns" in fields:
            total[fields["prog_tag"]] = (int(fields["run_time_ns"]), int(fields["run_cnt"]))
    return [sum(column) for column in zip(*total.values())] if total else [0, 0]


def measure(name, options, group, server, folder):
    command = None
    if COMMANDS[name]:
        where = ["--out", str(folder / f"out{time.monotonic_ns()}")]
        line = [FIRSTFLIGHT, *COMMANDS[name], "--cgroup", str(group), *where]
        command = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        command.stderr.readline()
        time.sleep(0.3)
    told = {}
    for part, (url, per) in {
        "GB": ("big", options.gigabytes),
        "10 000 connections": (f"small?[1-{options.connections}]", options.connections / 10_000),
    }.items():
        before = [processor_ms(server), processor_ms(command.pid) if command else 0, *(programs(command.pid) if command else [0, 0])]
        subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:8080/{url}"], check=True)
        after = [processor_ms(server), processor_ms(command.pid) if command else 0, *(programs(command.pid) if command else [0, 0])]
        served, own, in_kernel, runs = (b - a for a, b in zip(before, after))
        told[part] = {"server": served / per, "command": own / per, "programs": (in_kernel - runs * options.each_run_ns) / 1e6 / per, "runs": runs / per}
    if command:
        command.send_signal(signal.SIGINT)
        command.communicate()
    return told


def show(results):
    for part in next(iter(results.values()))[0]:
        plain = [told[part]["server"] for told in results["nothing"]]
        print(f"per {part}: the server takes {statistics.median(plain):.1f} ms ({min(plain):.1f} to {max(plain):.1f})")
        for name, rounds in results.items():
            if name == "nothing":
                continue
            median = {key: statistics.median(told[part][key] for told in rounds) for key in rounds[0][part]}
            differences = [told[part]["server"] - base for told, base in zip(rounds, plain)]
            error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else float("nan")
            print(
                f"  {name:11} programs {median['programs']:6.2f} ms = {100 * median['programs'] / statistics.median(plain):4.1f} % of the server's"
                f" ({median['runs']:.0f} runs of {1e6 * median['programs'] / max(median['runs'], 1):.0f} ns); command {median['command']:6.1f} ms;"
                f" the server itself, paired: {statistics.mean(differences):+.1f} +- {error:.1f} ms"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--each-run-ns", type=float, default=0, help="what the kernel's account adds to each run: that of an empty program")
    parser.add_argument("--nginx", default="nginx")
    options = parser.parse_args()
    # Ended from outside it leaves nothing behind, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    if not shutil.which(options.nginx):
        sys.exit("nginx is not there: apt-get install nginx-light")
    group = mount_of_groups() / f"firstflight-cost-{os.getpid()}"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firstflight-cost-"))
    folder.chmod(0o755)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with (folder / "big").open("wb") as big:
        big.truncate(int(options.gigabytes * 1e9))
    (folder / "small").write_bytes(bytes(1000))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, address="127.0.0.1"))
    group.mkdir()
    before, server = STATS.read_text(), None
    results = {name: [] for name in COMMANDS}
    try:
        STATS.write_text("1")
        serve = f"echo $$ > {group}/cgroup.procs; exec {options.nginx} -c {folder}/nginx.conf -p {folder}"
        server = subprocess.Popen(["sh", "-c", serve])
        time.sleep(1)
        for number in range(options.rounds + 1):
            for name in list(COMMANDS)[:: 1 if number % 2 else -1]:
                told = measure(name, options, group, server.pid, folder)
                # The first round warms up.
                if number:
                    results[name].append(told)
    finally:
        STATS.write_text(before)
        if server:
            server.terminate()
            server.wait()
        time.sleep(0.2)
        group.rmdir()
        shutil.rmtree(folder)
    show(results)


if __name__ == "__main__":
    main()
