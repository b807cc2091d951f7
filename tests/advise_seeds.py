#!/usr/bin/env python3
"""Asks `advise` for the same captures at many seeds: one answer, or none.

    tests/advise_seeds.py PROGRAM [--full]

The captures are the samples and, as root on Linux, uploads of the running kernel that are recorded here through `firstflight link`. Answers
that name an arm must all name the same one for the same reason; an answer that leaves it open (not settled, no recommendation) may stand
beside them. Uploads whose application sends a piece at a time must fail the check of the model. Without `--full` three seeds of 300
connections; with it, as `make night` has it, 20 seeds of 300 and of 1000 and 5 of 3000.
"""
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATHS = [(48, 21, 1_200_000), (62, 28, 1_500_000), (35, 33, 1_000_000), (80, 19, 1_600_000), (27, 41, 1_100_000), (55, 25, 1_300_000)]
OPEN = ("not_settled", "none")
# An application that writes 60 kB and rests: its window is never full, and no startup explains its time.
PIECES = """
import socket, sys, time
sender = socket.create_connection(("10.77.0.2", 5001))
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
for _ in range(int(sys.argv[1]) // 60_000):
    sender.sendall(bytes(60_000))
    time.sleep(0.15)
sender.shutdown(socket.SHUT_WR)
sender.recv(1)
"""


def recorded(program, folder, name, sender):
    """Uploads of the running kernel, one on each path."""
    transfer = os.path.join(ROOT, "samples", "transfer.py")
    files = []
    for number, (rate, rtt, size) in enumerate(PATHS):
        file = os.path.join(folder, f"{name}-{number}.pcap")
        script = 'python3 "$0" capture "$1" & sleep 0.5; "${@:2}"; sleep 0.2; kill $!; wait $! || true'
        path = f"rate={rate}Mbit,rtt={rtt}ms,queue=1bdp"
        subprocess.run(
            [program, "link", "--quiet", "--upload", "--path", path, "--server", f"python3 {transfer} receive", "--"]
            + ["bash", "-c", script, transfer, file, *sender(transfer, size)],
            stdin=subprocess.DEVNULL,
            check=True,
        )
        files.append(file)
    return files


def answer(program, files, seed, flows):
    command = [program, "advise", *files, "--seed", str(seed), "--flows", str(flows), "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    program, full = os.path.abspath(sys.argv[1]), "--full" in sys.argv[2:]
    grid = [(300, 20), (1000, 20), (3000, 5)] if full else [(300, 3)]
    samples = os.path.join(ROOT, "samples")
    captures = {
        "lossy-mobile": sorted(glob.glob(f"{samples}/lossy-mobile/*.sqlog.gz")),
        "satellite": [f"{samples}/satellite.pcap.gz"],
        "plain": [f"{samples}/plain.pcap.gz"],
    }
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        if sys.platform == "linux" and os.geteuid() == 0:
            captures["fresh"] = recorded(program, folder, "fresh", lambda transfer, size: ["python3", transfer, "send", str(size), "cubic"])
            pieces = recorded(program, folder, "pieces", lambda _, size: ["python3", "-c", PIECES, str(size)])
            for extra in [], ["--baseline", "hystart"]:
                found = answer(program, [*pieces, *extra], 1, 300)["ab"]["decision"]
                print(f"an application that rests{' '.join(['', *extra])}: {found['sentence']}")
                failed |= found["rule"] != "none"
        else:
            print("no fresh captures: they take root and Linux")
        for name, files in captures.items():
            named = collections.Counter()
            for flows, seeds in grid:
                answers = collections.Counter()
                for seed in range(1, seeds + 1):
                    decision = answer(program, files, seed, flows)["ab"]["decision"]
                    key = (decision["rule"], decision["deploy"] or decision["arm"] or "-")
                    answers[key] += 1
                    if decision["rule"] not in OPEN:
                        named[key] += 1
                told = ", ".join(f"{rule} {arm} {count} times" for (rule, arm), count in answers.most_common())
                print(f"{name}, {flows} connections, {seeds} seeds: {told}", flush=True)
            if len(named) > 1:
                failed = True
                print(f"{name}: {len(named)} answers")
    sys.exit(failed)


if __name__ == "__main__":
    main()
