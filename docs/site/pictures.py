"""Draws the pictures of the pages from traces: `pictures.py PROGRAM DOCS [--write]`.

A page says what a picture shows in a comment above it,

    <!-- picture: COLUMN, COLUMN; FROM-TO ms -->
    ![what is to be seen](../pictures/NAME.svg)

and shows the command that leaves the trace, `firstflight compare ... --trace NAME.csv`. The command
runs, and the columns of the trace are drawn one above the other, a line for each arm. With --write
pictures are written; without, one that is not what would be written is an error.
"""

import csv
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = re.compile(
    r"<!-- picture: ([\w, ]+); (\d+)-(\d+) ms -->\s*!\[[^\]]*\]\(([^)]*/([\w+-]+)\.svg)\)"
)
# Colours of the reports, in their order (crates/firstflight-lab/src/report), and a startup's own.
COLOURS = ["#0062b3", "#d35400", "#00876c", "#6a1468", "#54380a", "#848e9e"]
OWN = {
    "slowstart": 0,
    "hystart": 1,
    "hystart++": 2,
    "rapid": 4,
    "oracle": 5,
    "best": 3,
    "search": 5,
    "jumpstart": 1,
}
NAMES = {
    "cwnd": "congestion window, kB",
    "inflight": "bytes in flight, kB",
    "queue_bytes": "bytes in the queue, kB",
    "lost_bytes": "bytes lost so far, kB",
    "delivered_bytes": "bytes delivered, kB",
    "pacing_mbps": "pacing rate, Mbit/s",
}
WIDTH, PANEL, LEFT, TOP, GAP = 720, 170, 56, 34, 34


def series(file, columns, begin, end):
    """Points of each arm: arm -> column -> [(ms, value)], thinned to what a picture can show."""
    arms, step = {}, (end - begin) / 240
    names, lost = {}, {}
    with open(file, newline="") as trace:
        for row in csv.DictReader(trace):
            if row["arm"]:
                names[row["connection"]] = row["arm"]
            time = float(row["time_ms"])
            # The trace has what each event lost; a picture shows the sum.
            if row["lost_bytes"]:
                sum_of_arm = lost.get(row["connection"], 0) + int(row["lost_bytes"])
                lost[row["connection"]] = row["lost_bytes"] = sum_of_arm
            if not row["cwnd"] or not begin <= time <= end:
                continue
            lines = arms.setdefault(names[row["connection"]], {name: {} for name in columns})
            for name in columns:
                if row[name]:
                    scale = 1 if name.endswith("mbps") else 1000
                    bins = lines[name].setdefault(int((time - begin) / step), [])
                    bins.append((time, float(row[name]) / scale))
    # The first, the extremes and the last of a bin keep every peak.
    return {
        arm: {name: [p for bin in bins.values() for p in kept(bin)] for name, bins in lines.items()}
        for arm, lines in arms.items()
    }


def kept(points):
    value = lambda point: point[1]
    return sorted({points[0], min(points, key=value), max(points, key=value), points[-1]})


def colours(arms):
    """The colour of each arm: its startup's, unless another has it."""
    taken = {}
    for arm in arms:
        own = OWN.get(re.split(r"[(/@]", arm)[0])
        if own is not None and own not in taken.values():
            taken[arm] = own
    for arm in arms:
        if arm not in taken:
            taken[arm] = next(c for c in range(len(COLOURS)) if c not in taken.values())
    return {arm: COLOURS[taken[arm]] for arm in arms}


def ticks(top, bottom=0):
    """About four round numbers between these."""
    step = 1
    while (top - bottom) / step > 5:
        step *= 2.5 if str(step).startswith("2") else 2
        step = int(step)
    return range(-(-bottom // step) * step, int(top) + 1, step)


def draw(arms, columns, begin, end):
    """The picture as SVG."""
    height = TOP + len(columns) * (PANEL + GAP)
    colour = colours(list(arms))
    x = lambda time: LEFT + (time - begin) / (end - begin) * (WIDTH - LEFT - 10)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    place = LEFT
    for arm in arms:
        out.append(f'<path d="M{place} 14h20" stroke="{colour[arm]}" stroke-width="3"/>')
        out.append(f'<text x="{place + 26}" y="18" fill="#1a1f27">{arm}</text>')
        place += 46 + 7 * len(arm)
    for index, name in enumerate(columns):
        bottom = TOP + index * (PANEL + GAP) + PANEL
        top = max(value for lines in arms.values() for _, value in lines[name]) or 1
        y = lambda value: bottom - value / (1.05 * top) * (PANEL - 18)
        out.append(f'<text x="{LEFT}" y="{bottom - PANEL + 10}" fill="#5a6372">{NAMES[name]}</text>')
        for tick in ticks(top):
            out.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - 10}" stroke="#dcdfe4"/>')
            out.append(
                f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#5a6372">{tick}</text>'
            )
        for tick in ticks(end, begin):
            out.append(
                f'<text x="{x(tick):.1f}" y="{bottom + 15}" text-anchor="middle" fill="#5a6372">{tick}</text>'
            )
        for arm, lines in arms.items():
            points = " ".join(f"{x(time):.1f},{y(value):.1f}" for time, value in lines[name])
            out.append(
                f'<polyline points="{points}" fill="none" stroke="{colour[arm]}" stroke-width="1.6"/>'
            )
    out.append(f'<text x="{WIDTH - 10}" y="{height - 4}" text-anchor="end" fill="#5a6372">ms</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def picture(program, page, name, columns, begin, end):
    command = re.search(rf"^firstflight (compare .*--trace {re.escape(name)}\.csv)", page, re.M)
    if not command:
        sys.exit(f"no command of the page leaves {name}.csv")
    with tempfile.TemporaryDirectory() as folder:
        arguments = shlex.split(command[1], comments=True)
        subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return draw(series(f"{folder}/{name}.csv", columns, begin, end), columns, begin, end)


def main(program, docs, *options):
    stale = []
    for page in sorted(Path(docs).rglob("*.md")):
        text = page.read_text()
        for columns, begin, end, link, name in PICTURE.findall(text):
            file = page.parent / link
            names = [column.strip() for column in columns.split(",")]
            drawn = picture(str(Path(program).resolve()), text, name, names, int(begin), int(end))
            if "--write" in options:
                file.write_text(drawn)
            elif not file.exists() or file.read_text() != drawn:
                stale.append(str(file))
    if stale:
        sys.exit(f"older than the program (docs/regenerate.sh shown): {', '.join(stale)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
