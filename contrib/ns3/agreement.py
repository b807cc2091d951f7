"""Runs arms in ns-3 and in the simulator and prints what came of them: agreement.py DOWNLOAD FIRSTFLIGHT. See agreement.sh."""

import json
import subprocess
import sys

# Mbit/s, RTT and queue in ms: Rapid Start's path, one with five times its BDP, a slow one, a short queue, a satellite.
PATHS = [(100, 30, 30), (100, 140, 140), (20, 50, 50), (50, 100, 25), (150, 600, 600)]
ARMS = ["slowstart", "hystart++", "search", "rapid@(pace=on)", "plumb@(pace=on)"]
TOLERANCE = 0.10


def simulate(program: str, rate: int, rtt: int, queue: int) -> list[dict]:
    words = ["--transport", "tcp", "--detection", "sack6675", "--bytes", "10MB", "--arms", ",".join(ARMS), "--json", "-"]
    path = f"rate={rate}Mbit,rtt={rtt}ms,queue={queue}ms"
    done = subprocess.run([program, "compare", "--path", path, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)["results"]


def in_ns3(program: str, arm: str, rate: int, rtt: int, queue: int) -> dict[str, str]:
    options = {"arm": arm, "rate": rate, "rtt": rtt, "queue": queue}
    done = subprocess.run([program, *(f"--{name}={value}" for name, value in options.items())], capture_output=True, text=True, check=True)
    return dict(word.split("=", 1) for word in done.stdout.split())


def main() -> int:
    download, firstflight = sys.argv[1:]
    row = "| {:<15} | {:>9} | {:>9} | {:>7} | {:>6} | {:>6} | {:>13} | {:>13} | {}"
    outside = 0
    for rate, rtt, queue in PATHS:
        print(f"\n{rate} Mbit/s, {rtt} ms, queue {queue} ms, 10 MB")
        print(row.format("arm", "ns-3, ms", "sim, ms", "apart", "loss, %", "sim", "exit, ms", "sim", ""))
        for arm, ours in zip(ARMS, simulate(firstflight, rate, rtt, queue), strict=True):
            theirs = in_ns3(download, arm, rate, rtt, queue)
            time, expected = float(theirs["ms"]), ours["ttlb_ms"]
            exit_at, exit_expected = float(theirs["exit_ms"]), ours["exit"]["time_ms"] if ours["exit"] else None
            apart = time / expected - 1
            notes = []
            if theirs["misfed"] != "-":
                notes.append(f"impossible report: {theirs['misfed']}")
            far = abs(apart) > TOLERANCE
            if (theirs["exit"] == "-") != (exit_expected is None):
                far = True
            elif exit_expected is not None and abs(exit_at / exit_expected - 1) > TOLERANCE:
                far = True
            if far:
                notes.append("ns-3's timer expired" if theirs["timeouts"] != "0" else "OUT OF TOLERANCE")
            outside += any(note.isupper() or note.startswith("impossible") for note in notes)
            print(
                row.format(
                    arm,
                    f"{time:.1f}",
                    f"{expected:.1f}",
                    f"{apart:+.1%}",
                    f"{float(theirs['loss_percent']):.2f}",
                    f"{100 * ours['loss_ratio']:.2f}",
                    "-" if theirs["exit"] == "-" else f"{theirs['exit']} {exit_at:.0f}",
                    "-" if exit_expected is None else f"{ours['exit']['reason']} {exit_expected:.0f}",
                    "; ".join(notes),
                ).rstrip()
            )
    print(f"\n{outside} of {len(PATHS) * len(ARMS)} rows are out of tolerance")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
