"""Writes the table of docs/explain/suss.md: `suss.py PROGRAM PAGE`.

Five startups on the ten paths of docs/startups.md, one trial each, from `compare --json -`. An arm is
on the front if no other arm has both less time and less loss.
"""

import sys
from pathlib import Path

from startups import BYTES, PATHS, compare

ARMS = ["slowstart", "hystart++", "suss", "rapid", "plumb"]
BEGIN, END = "<!-- table: docs/regenerate.sh suss -->\n", "<!-- end of table -->\n"


def front(points):
    """Whether each of these (time, loss) is on the front."""

    def beats(a, b):
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    return [not any(beats(other, point) for other in points) for point in points]


def table(program):
    """The table in Markdown, and a line with the number of fronts that each arm is on."""
    lines = [f"| path, {BYTES} | {' | '.join(f'`{arm}`' for arm in ARMS)} |"]
    lines.append("|" + "---|" * (len(ARMS) + 1))
    on_front = [0] * len(ARMS)
    for path in PATHS:
        results = compare(program, "sim", path, ARMS)["results"]
        points = [(round(one["ttlb_ms"]), round(100 * one["loss_ratio"], 2)) for one in results]
        cells = []
        for place, (best, (ms, loss)) in enumerate(zip(front(points), points, strict=True)):
            on_front[place] += best
            cells.append(f"**{ms} ms, {loss:.2f} %**" if best else f"{ms} ms, {loss:.2f} %")
        lines.append(f"| `{path}` | {' | '.join(cells)} |")
    lines.append(f"| on the front | {' | '.join(f'{n} of {len(PATHS)}' for n in on_front)} |")
    return "\n".join(lines) + "\n"


def main():
    """Replaces the table of the page."""
    program, page = sys.argv[1], Path(sys.argv[2])
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + "\n" + table(program) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
