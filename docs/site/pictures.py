"""Draws the pictures of the documentation: `pictures.py PROGRAM DOCS [--write | --reports | --reports --write]`.

A page says what a picture shows in a comment above it,

    <!-- picture: COLUMN, COLUMN; FROM-TO ms -->
    ![what is to be seen](../pictures/NAME.svg)

and shows the command that leaves the trace, `firstflight compare ... --trace NAME.csv`. The command
runs, and the columns of the trace are drawn one above the other, a line for each arm. With --write
pictures are written; without, one that is not what would be written is an error.

With --reports it is about REPORTS, the screenshots of reports. Their bytes depend on the browser, so
pictures/reports.sha256 has the hash of the page that each one shows; another hash is an error.
"""

import csv
import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import svg

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
    "bbr": 3,
    "careful": 2,
    "plumb": 3,
}
NAMES = {
    "cwnd": "congestion window, kB",
    "inflight": "bytes in flight, kB",
    "queue_bytes": "bytes in the queue, kB",
    "lost_bytes": "bytes lost so far, kB",
    "delivered_bytes": "bytes delivered, kB",
    "pacing_mbps": "pacing rate, Mbit/s",
}
# Picture: its command, the option that the check makes quicker, width, height, and pixels from the top of the page.
REPORTS = {
    "report.png": ("compare --plain-report", None, 1180, 1800, 0),
    "window.png": ("compare --arms slowstart,hystart++,rapid --plain-report", None, 1180, 450, 985),
    "geo.png": (
        "ab --population geo --flows 100000 --baseline hystart --arms slowstart,hystart++,search,best,rapid-nojump,rapid",
        ("--flows 100000", "--flows 1000"),
        1200,
        1110,
        0,
    ),
}
WIDTH, PANEL, LEFT, TOP, GAP = 720, 170, 56, 34, 34


def series(file, columns, begin, end):
    """Points of each arm: arm -> column -> [(ms, value)], thinned to the resolution of a picture."""
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


def height(point):
    return point[1]


def kept(points):
    return sorted({points[0], min(points, key=height), max(points, key=height), points[-1]})


def colours(arms):
    """The colour of each arm: its startup's colour, unless another arm has it."""
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
    """About four round numbers in this range."""
    step = 1
    while (top - bottom) / step > 5:
        step *= 2.5 if str(step).startswith("2") else 2
        step = int(step)
    return range(-(-bottom // step) * step, int(top) + 1, step)


def panel(lines, name, colour, begin, end, bottom):
    """Draws one column of the trace: its name, both axes, and a line for each arm."""
    top = max(value for points in lines.values() for _, value in points) or 1

    def x(time):
        return LEFT + (time - begin) / (end - begin) * (WIDTH - LEFT - 10)

    def y(value):
        return bottom - value / (1.05 * top) * (PANEL - 18)

    yield svg.text(LEFT, bottom - PANEL + 10, NAMES[name])
    for tick in ticks(top):
        yield svg.stroke(f"M{LEFT} {y(tick):.1f}H{WIDTH - 10}")
        yield svg.text(LEFT - 6, y(tick) + 4, str(tick), "end")
    for tick in ticks(end, begin):
        yield svg.text(x(tick), bottom + 15, str(tick), "middle")
    for arm, points in lines.items():
        path = "L".join(f"{x(time):.1f} {y(value):.1f}" for time, value in points)
        yield svg.stroke(f"M{path}", colour[arm], 1.6)


def draw(arms, columns, begin, end):
    """The picture as SVG."""
    full = TOP + len(columns) * (PANEL + GAP)
    colour = colours(list(arms))
    shapes = []
    place = LEFT
    for arm in arms:
        shapes.append(svg.stroke(f"M{place} 14h20", colour[arm], 3))
        shapes.append(svg.text(place + 26, 18, arm, colour=svg.INK))
        place += 46 + 7 * len(arm)
    for index, name in enumerate(columns):
        bottom = TOP + index * (PANEL + GAP) + PANEL
        lines = {arm: of_arm[name] for arm, of_arm in arms.items()}
        shapes += panel(lines, name, colour, begin, end, bottom)
    shapes.append(svg.text(WIDTH - 10, full - 4, "ms", "end"))
    return svg.picture(WIDTH, full, shapes)


def picture(program, page, name, columns, begin, end):
    command = re.search(rf"^firstflight (compare .*--trace {re.escape(name)}\.csv)", page, re.M)
    if not command:
        sys.exit(f"no command of the page leaves {name}.csv")
    with tempfile.TemporaryDirectory() as folder:
        arguments = shlex.split(command[1], comments=True)
        subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return draw(series(f"{folder}/{name}.csv", columns, begin, end), columns, begin, end)


def report(program, command, folder):
    """The report of a command, written in a separate folder so that its bytes do not depend on the folder."""
    subprocess.run([program, *shlex.split(command), "--report", "page.html"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Path(folder) / "page.html"


def screenshot(page, file, width, height, top):
    """A screenshot of a page in Chromium, starting `top` pixels below its top."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("pictures: no chromium")
    frame = page.parent / "frame.html"
    style = f"border:0;width:{width}px;height:4000px;margin-top:-{top}px"
    frame.write_text(f'<!doctype html><body style="margin:0;overflow:hidden"><iframe src="{page.name}" style="{style}"></iframe>')
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files", "--virtual-time-budget=5000"]
    profile = f"--user-data-dir={page.parent}/profile"
    size = f"--window-size={width},{height}"
    subprocess.run([browser, *flags, profile, size, f"--screenshot={file}", f"file://{frame}"], check=True, capture_output=True)


def reports(program, docs, write):
    """Takes screenshots of reports and records their content, or lists the screenshots that are out of date."""
    noted = Path(docs) / "pictures/reports.sha256"
    known = dict(reversed(line.split()) for line in noted.read_text().splitlines()) if noted.exists() else {}
    now = {}
    for name, (command, quicker, width, height, top) in REPORTS.items():
        with tempfile.TemporaryDirectory() as folder:
            quick = command.replace(*quicker) if quicker else command
            now[name] = hashlib.sha256(report(program, quick, folder).read_bytes()).hexdigest()
            if write and now[name] != known.get(name):
                page = report(program, command, folder)
                screenshot(page, (Path(docs) / "pictures" / name).resolve(), width, height, top)
                print(f"pictures: {name}")
    if write:
        noted.write_text("".join(f"{digest}  {name}\n" for name, digest in now.items()))
    elif now != known:
        changed = [name for name in now if now[name] != known.get(name)]
        sys.exit(f"older than the report that they show (docs/regenerate.sh pictures): {', '.join(changed)}")


def main(program, docs, *options):
    if "--reports" in options:
        return reports(str(Path(program).resolve()), docs, "--write" in options)
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
