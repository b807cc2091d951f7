"""Runs arms in another stack and in the simulator and prints what came of them.

agreement.py ns-3 FIRSTFLIGHT DOWNLOAD                                 see ns3/agreement.sh
agreement.py picoquic FIRSTFLIGHT picoquic/download PICOQUIC [ACKS]    ACKS: the receiver acknowledges each time so many packets arrived
agreement.py quicly FIRSTFLIGHT quicly/download QUICLY

Exit status 1 if a completion time or, in ns-3, an exit is more than 10 % apart, unless the stack's retransmission timer expired.
"""

import json
import subprocess
import sys

# Mbit/s, RTT and queue in ms: Rapid Start's path, one with five times its BDP, a slow one, a short queue, a satellite.
PATHS = [(100, 30, 30), (100, 140, 140), (20, 50, 50), (50, 100, 25), (150, 600, 600)]
# In the QUIC stacks with a deeper queue: behind 25 ms, a recovery ends where another loss is a matter of one packet (picoquic/README.md).
QUIC_PATHS = [(100, 30, 30), (100, 140, 140), (20, 50, 50), (50, 100, 100), (150, 600, 600)]
TOLERANCE = 0.10


def simulate(program: str, tcp: bool, arms: list[str], rate: int, rtt: int, queue: int) -> list[dict]:
    words = ["--transport", "tcp", "--detection", "sack6675"] if tcp else ["--transport", "quic"]
    words += ["--bytes", "10MB", "--arms", ",".join(arms), "--json", "-"]
    path = f"rate={rate}Mbit,rtt={rtt}ms,queue={queue}ms"
    done = subprocess.run([program, "compare", "--path", path, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)["results"]


def in_stack(stack: str, command: list[str], arm: str, rate: int, rtt: int, queue: int) -> dict[str, str]:
    program, *checkout = command
    if stack == "ns-3":
        options = {"arm": arm, "rate": rate, "rtt": rtt, "queue": queue}
        words = [program, *(f"--{name}={value}" for name, value in options.items())]
    else:
        words = [program, checkout[0], arm, str(rate), str(rtt), str(queue), "10000000", *checkout[1:]]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(word.split("=", 1) for word in done.stdout.split())


def main() -> int:
    stack, firstflight, *command = sys.argv[1:]
    tcp = stack == "ns-3"
    arms = ["slowstart", "hystart++", "search", *(["rapid@(pace=on)", "plumb@(pace=on)"] if tcp else ["limited", "rapid"])]
    row = "| {:<15} | {:>12} | {:>9} | {:>7} | {:>6} | {:>6} | {:>13} | {:>13} | {}"
    outside = 0
    paths = PATHS if tcp else QUIC_PATHS
    for rate, rtt, queue in paths:
        print(f"\n{rate} Mbit/s, {rtt} ms, queue {queue} ms, 10 MB")
        print(row.format("arm", f"{stack}, ms", "sim, ms", "apart", "loss, %", "sim", "exit, ms", "sim", ""))
        for arm, ours in zip(arms, simulate(firstflight, tcp, arms, rate, rtt, queue), strict=True):
            theirs = in_stack(stack, command, arm, rate, rtt, queue)
            time, expected = float(theirs["ms"]), ours["ttlb_ms"]
            exit_at, exit_expected = float(theirs["exit_ms"]), ours["exit"]["time_ms"] if ours["exit"] else None
            apart = time / expected - 1
            notes = []
            if theirs["misfed"] != "-":
                notes.append(f"impossible report: {theirs['misfed']}")
            far = abs(apart) > TOLERANCE
            if tcp and (theirs["exit"] == "-") != (exit_expected is None):
                far = True
            elif tcp and exit_expected is not None and abs(exit_at / exit_expected - 1) > TOLERANCE:
                far = True
            if far:
                notes.append(f"{stack}'s timer expired" if theirs["timeouts"] != "0" else "OUT OF TOLERANCE")
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
    print(f"\n{outside} of {len(paths) * len(arms)} rows are out of tolerance")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
