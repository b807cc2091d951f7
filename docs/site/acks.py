"""Writes docs/acks.md: `acks.py PROGRAM > docs/acks.md`.

Every startup behind receivers that acknowledge more and more seldom, in the simulator, from `compare --json -`.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from startups import cell

PATHS = ["rapid-slide", "rate=50Mbit,rtt=100ms,queue=1bdp"]
RECEIVERS = ["2", "10", "25", "4/rtt", "1/rtt"]
STARTUPS = ["slowstart", "hystart", "hystart++", "search", "best", "rapid", "bbr"]
STARTUPS += ["bbr(aggregation=on)", "plumb"]
ASKS = [4, 8, 16, 32]
POOR = "25"
BYTES = "10MB"
HEAD = """# What each startup needs of the ACK rate

One transfer of {bytes} per cell, CUBIC and PRR behind every startup: completion time, packets lost, why startup ended with
which window over the BDP. The paths have nothing random, so there is no interval; one trial shows a mechanism and no average.
Made by `docs/regenerate.sh acks`.

* The receiver: `ack=25` on a path acknowledges every 25 packets, or after 25 ms; `ack=4/rtt` four times per idle round trip,
  however many packets come.
* The sender: `@(acks=8)` has a QUIC sender ask for eight ACKs per round trip (ACK_FREQUENCY, draft-ietf-quic-ack-frequency-14):
  one per eighth of its window, at the latest after an eighth of its smallest RTT. It asks with its first packet, and again when the
  window has changed. What the receiver did by itself no longer matters then.

What it shows:

* Slow start, SEARCH and Rapid Start need 2 to 7 % more time with four ACKs per round trip, 27 to 66 % more with one: the wait for ACKs,
  round after round.
* What looks at RTTs within a round trip loses its eyes first. HyStart's train needs an ACK per few packets: at `ack=25` only its
  delay test is left, at four ACKs per round trip nothing. HyStart++ wants 8 samples in a round (RFC 9406): at `ack=25` it leaves with 3.6 BDP
  for 2.5 on the first path, with four ACKs it is slow start.
* `bbr` needs ACKs for its rate: with one per round trip it sees no growth and leaves at a few per cent of the BDP. What the draft has
  against that, room for aggregated ACKs, is off by default here; `bbr(aggregation=on)` goes on, at slow start's loss.
* `plumb` exits at 0.99 of the BDP without loss where every second packet is acknowledged; behind fewer ACKs it loses, and with four per round
  trip it overshoots as slow start does.
* Asking mends it with fewer ACKs than `ack=2` sends: 16 per round trip give HyStart++ and HyStart their exit on the first path, 8 give
  `bbr` about two thirds of the lost time back, 8 give `plumb` its exit. Four, the number that the BBR draft asks for, are too few for all of these.
"""


def compare(program, path, receiver, arms):
    """The results of one comparison, and how many ACKs the first arm's sender got."""
    command = [program, "compare", "--path", f"{path},ack={receiver}", "--bytes", BYTES]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--arms", ",".join(arms), "--json", "-", "--trace", folder]
        done = subprocess.run(command, capture_output=True, check=True)
        with min(pathlib.Path(folder).iterdir()).open() as trace:
            acks = sum(row["event"] == "ack" for row in csv.DictReader(trace))
    return acks, json.loads(done.stdout)["results"]


def table(heads, columns):
    """Rows are startups, columns results."""
    print(f"| startup | {' | '.join(heads)} |")
    print("|" + "---|" * (len(heads) + 1))
    for row, startup in enumerate(STARTUPS):
        print(f"| `{startup}` | {' | '.join(cell(results[row]) for _, results in columns)} |")
    print(f"| ACKs, `{STARTUPS[0]}` | {' | '.join(str(acks) for acks, _ in columns)} |\n")


def main():
    """Prints the page."""
    program = sys.argv[1]
    print(HEAD.format(bytes=BYTES))
    for path in PATHS:
        print(f"## `{path}`\n\nWhat the receiver does by itself:\n")
        columns = [compare(program, path, receiver, STARTUPS) for receiver in RECEIVERS]
        table([f"`ack={receiver}`" for receiver in RECEIVERS], columns)
        print(f"What a sender gets that asks a receiver with `ack={POOR}`:\n")
        asked = [
            compare(program, path, POOR, [f"{name}@(acks={n})" for name in STARTUPS]) for n in ASKS
        ]
        table([f"`@(acks={n})`" for n in ASKS], asked)


if __name__ == "__main__":
    main()
