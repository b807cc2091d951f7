"""Writes docs/startups.md: `startups.py PROGRAM > docs/startups.md`.

Six startups on ten built-in paths, in the simulator and on real QUIC stacks, from `compare --json -`.
Careful Resume is given what a connection on the same path would have saved: its BDP and its RTT.
"""

import json
import math
import subprocess
import sys

PATHS = [
    "rapid-slide",
    "geo",
    "5g",
    "4g",
    "gvisor",
    "pantheon6/india",
    "pantheon-lab/shallow-33",
    "pantheon-lab/policer-60-20",
    "quicly15/lte",
    "quicly15/home-wifi",
]
ARMS = ["slowstart", "hystart++", "search", "rapid", "bbr"]
BYTES = "5MB"
HEAD = """# Startups on ten paths

One trial of {bytes} with seed 1 for each startup on each path, all with CUBIC and PRR. Cells show completion time, packets
lost, the exit reason and the window at the exit over the BDP. One trial shows a mechanism; [A/B tests](ab-tests.md)
give averages. `careful` has saved the path's BDP and RTT, rounded up, so it jumps to half of the BDP.
`docs/regenerate.sh startups` regenerates this page.

Where the queue holds a BDP, `bbr` loses almost nothing and takes about a round trip longer than slow start. (The table
shows its window before the drain, which halves it.) With a smaller queue, and behind a policer, `bbr` exits on loss and
loses about as much as the others. `rapid` and `careful` are the fastest nearly everywhere, but lose at least as much as
slow start. `hystart++` loses less than slow start in the same time if it detects the queue early enough; where the loss
comes first, `search` equals slow start. The simulator and noq agree on the order. Their times agree within a few
percent, except behind the policer and for HyStart++ on the satellite.

[Each startup has a page](explain/index.md) with a picture of its window over time.
"""


def compare(program, testbed, path, arms):
    """The result of one comparison."""
    command = [program, "compare", "--on", testbed, "--path", path, "--bytes", BYTES]
    command += ["--arms", ",".join(arms), "--json", "-"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def careful(experiment):
    """The values that a connection that filled this path would have saved."""
    packets = math.ceil(experiment["bdp_bytes"] / experiment["packet_bytes"])
    return f"careful(saved={max(packets, 1)},rtt={math.ceil(experiment['rtt_ms'])})"


def cell(result):
    """Time, loss and exit of one trial."""
    end = result["exit"]
    window = end and end["bdp_ratio"]
    ended = "-" if end is None else end["reason"].replace("_", " ")
    ended += "" if window is None else f" {window:.2f}"
    time = "-" if result["ttlb_ms"] is None else f"{result['ttlb_ms']:.0f}"
    return f"{time} ms, {100 * result['loss_ratio']:.2f} %, {ended}"


def main():
    """Prints the page."""
    program = sys.argv[1]
    print(HEAD.format(bytes=BYTES))
    for testbed, title in [("sim", "The simulator"), ("quic", "noq over an emulated path")]:
        print(f"## {title}\n\n| path | {' | '.join([*ARMS, 'careful'])} |")
        print("|" + "---|" * (len(ARMS) + 2))
        for path in PATHS:
            first = compare(program, "sim", path, ["oracle"])
            arms = [*ARMS, careful(first["experiment"])]
            cells = [cell(result) for result in compare(program, testbed, path, arms)["results"]]
            print(f"| `{path}` | {' | '.join(cells)} |")
        print()


if __name__ == "__main__":
    main()
