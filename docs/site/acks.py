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
HEAD = """# Startups with few ACKs

Each cell is one transfer of {bytes} with CUBIC and PRR: completion time, packet loss, exit reason and window at the exit
in BDP. `docs/regenerate.sh acks` regenerates this page.

* Receiver: `ack=25` on a path acknowledges every 25 packets, or after 25 ms; `ack=4/rtt` acknowledges four times per
  idle round trip.
* Sender: `@(acks=8)` makes a QUIC sender request eight ACKs per round trip (ACK_FREQUENCY,
  draft-ietf-quic-ack-frequency-14): one per eighth of its window, but at the latest after an eighth of its minimum RTT.
  This replaces the receiver's own policy.

Results:

* Slow start, SEARCH and Rapid Start take 2 to 7 % longer with four ACKs per round trip and 27 to 66 % longer with one.
* Algorithms that sample the RTT within a round trip fail first. HyStart's train test needs an ACK every few packets:
  with `ack=25` only its delay test works, and with four ACKs per round trip neither test does. HyStart++ needs 8
  samples per round (RFC 9406): on the first path it exits at 3.6 BDP with `ack=25` instead of 2.5, and with four ACKs
  per round trip it behaves like slow start.
* `bbr` needs ACKs for its rate: with one per round trip it sees no growth and exits at a few percent of the BDP. With
  the draft's allowance for aggregated ACKs (`bbr(aggregation=on)`), it continues, but loses as much as slow start.
* `plumb` exits at 0.99 of the BDP without loss if every second packet is acknowledged. With fewer ACKs it loses
  packets; with four per round trip it overshoots like slow start.
* Requests help, even with fewer ACKs than `ack=2` causes: 16 per round trip restore the exits of HyStart++ and HyStart
  on the first path, 8 recover two thirds of `bbr`'s lost time, and 8 restore `plumb`'s exit. Four, as the BBR draft
  suggests, are too few for all of these algorithms.
"""


def compare(program, path, receiver, arms):
    """The results of one comparison, and the number of ACKs that the first arm's sender received."""
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
        print(f"## `{path}`\n\nThe receiver acknowledges by its own policy:\n")
        columns = [compare(program, path, receiver, STARTUPS) for receiver in RECEIVERS]
        table([f"`ack={receiver}`" for receiver in RECEIVERS], columns)
        print(f"The sender requests ACKs from a receiver with `ack={POOR}`:\n")
        asked = [
            compare(program, path, POOR, [f"{name}@(acks={n})" for name in STARTUPS]) for n in ASKS
        ]
        table([f"`@(acks={n})`" for n in ASKS], asked)


if __name__ == "__main__":
    main()
