"""Tables of docs/plumb-results.md out of trials: `plumb.py PAGE FILE.tsv...`.

FILE.tsv is what an example of firstflight-lab prints. A comment `<!-- table: NAME of FILE.tsv -->`
of the page is followed by a table, which is written anew. Of `kinds`: `kinds`, a line per kind of
path, `crowds`, and `front`, a line per arm. Of `try_an_idea`: `mixed`, a line per arm over the
trials of `mixed`, `population`, a line per arm of each population, `pairs`, an arm with something
more against the same arm without, and `stacks`, a line per arm of a stack against the simulator. Of
`beside_cubic`: `beside`, a line per arm, and `seats`, a line per number of flows and per link. Of
`worst_paths`: `worst`, a line per path.
Intervals are the 2.5 and 97.5 % quantiles of 1000 bootstrap samples of what was drawn, paths (with
all their object sizes) or connections, with a fixed seed.
"""

import csv
import random
import re
import sys
from collections import defaultdict
from math import exp, log
from pathlib import Path
from statistics import fmean, median, stdev

TABLE = re.compile(r"(<!-- table: (\w+) of ([\w.-]+) -->\n)(?:\n?\|[^\n]*)*\n*")
TIME, LOSS, QUEUE = range(3)
# Cells of `mixed` with a CUBIC flow on the path.
BUSY = set()


def read(file):
    """Arms in order, and cell -> arm -> (ms, share lost, queueing delay p99 in ms)."""
    cells, arms = defaultdict(lambda: defaultdict(list)), {}
    with open(file, newline="") as trials:
        for row in csv.DictReader(trials, delimiter="\t"):
            by_trial = row["kind"].startswith(("population", "mixed"))
            cell = row["place"], row["trial" if by_trial else "bytes"]
            if row["kind"] == "mixed+cubic":
                BUSY.add(cell)
            names = "ttlb_ms", "loss", "queue_p99_ms"
            cells[cell][row["arm"]].append(tuple(float(row[name]) for name in names))
            arms[row["arm"]] = None
    medians = {
        cell: {arm: tuple(map(median, zip(*of_arm, strict=True))) for arm, of_arm in by_arm.items()}
        for cell, by_arm in cells.items()
    }
    return list(arms), medians


def mean_of_ratios(ratios):
    return exp(fmean(map(log, ratios)))


def drawn(cells):
    """Groups cells by random draw: a random path is drawn once for all its object sizes."""
    together = defaultdict(list)
    for (place, size), cell in cells:
        together[place if "=" in place else (place, size)].append(cell)
    return list(together.values())


def each(groups, value):
    """A value of each cell, in the same groups."""
    return [[value(cell) for cell in group] for group in groups]


def interval(values, of):
    """The measure over all values with its interval; values drawn together form one list."""
    groups = [value if isinstance(value, list) else [value] for value in values]
    chance = random.Random(1)

    def measure(some):
        return of([value for group in some for value in group])

    samples = sorted(measure(chance.choices(groups, k=len(groups))) for _ in range(1000))
    return measure(groups), samples[24], samples[974]


def ratio(values):
    return "{:.3f} [{:.3f}, {:.3f}]".format(*interval(values, mean_of_ratios))


def percent(flags):
    return 100 * fmean(flags)


def share(flags):
    return "{:.1f} [{:.1f}, {:.1f}]".format(*interval(flags, percent))


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def head(*names):
    return line(*names) + "|" + "---|" + "---:|" * (len(names) - 1) + "\n"


def of_population(file):
    """A line per population and arm."""
    arms, cells = read(file)
    yield head(
        "population, arm",
        "p50, ms",
        "p99, ms",
        "over slow start's (geometric mean)",
        "loss, %",
        "queueing delay p99, ms",
        "over 5 % slower than slow start, %",
    )
    for place in dict.fromkeys(place for place, _ in cells):
        flows = [c for (where, _), c in cells.items() if where == place]
        for arm in arms:
            times = sorted(c[arm][TIME] for c in flows)
            ratios = [c[arm][TIME] / c["slowstart"][TIME] for c in flows]
            yield line(
                f"{place}, `{arm}`",
                f"{median(times):.0f}",
                f"{times[len(times) * 99 // 100]:.0f}",
                ratio(ratios),
                f"{100 * fmean(c[arm][LOSS] for c in flows):.2f}",
                f"{fmean(c[arm][QUEUE] for c in flows):.1f}",
                share([x > 1.05 for x in ratios]),
            )


def times(groups, new, old):
    return each(groups, lambda c: c[new][TIME] / c[old][TIME])


def slower(groups, new, old):
    return each(times(groups, new, old), lambda x: x > 1.05)


def points(groups, new, old):
    found = interval(each(groups, lambda c: 100 * (c[new][LOSS] - c[old][LOSS])), fmean)
    return "{:+.2f} [{:+.2f}, {:+.2f}]".format(*found)


def of_pairs(file):
    """An arm with something more against the same arm without: a line per population or kind of
    path, and arm."""
    arms, cells = read(file)
    yield head(
        "where, arm",
        "time over the arm's without it",
        "loss, difference in points",
        "over 5 % slower than without it, %",
        "over 5 % slower than slow start: without it, %",
        "with it, %",
        "slowest against it",
    )
    slow = next(arm for arm in arms if arm.startswith("slowstart"))
    # `plumb(clock=on)@(..)` is `plumb@(..)` with something more, and so is `plumb, saved x 2`.
    pairs = [
        (old, new)
        for new in arms
        for old in arms
        if new != old and old in (new.split(", saved")[0], new.replace("(clock=on)", ""))
    ]
    places = defaultdict(list)
    for cell in cells.items():
        place = cell[0][0]
        places["random paths" if "=" in place else place].append(cell)
        # The clock tells forward and return path apart.
        for kind, mark in ("LTE's ACKs", "return=lte"), ("jitter", "jitter"):
            if mark in place and any("clock=on" in arm for arm in arms):
                places[f"random paths, {kind}"].append(cell)
    for place, flows in places.items():
        groups = drawn(flows)
        for old, new in pairs:
            ratios = times(groups, new, old)
            yield line(
                f"{place}, `{new}`",
                ratio(ratios),
                points(groups, new, old),
                share(slower(groups, new, old)),
                *(share(slower(groups, arm, slow)) for arm in (old, new)),
                f"{max(map(max, ratios)):.2f}",
            )


def rows_of(file):
    with open(file, newline="") as trials:
        return list(csv.DictReader(trials, delimiter="\t"))


def seated(rows):
    """(path, incumbents, newcomers, seed) -> arm -> row."""
    trials = defaultdict(dict)
    for row in rows:
        cell = row["path"], row["incumbents"], row["newcomers"], row["seed"]
        trials[cell][row["arm"]] = row
    return trials


def shares(trials, arm, column):
    """A column of an arm over that of slow start in the same trials."""
    return [float(t[arm][column]) / float(t["slowstart"][column]) for t in trials]


def of_beside(file):
    """A line per arm of the newcomers, against slow start's in the same trials."""
    rows = rows_of(file)
    yield head(
        "newcomers",
        "their time over slow start's",
        "their loss, %",
        "incumbents' bytes in 3 s over those beside slow starts",
        "in 15 s",
    )
    trials = seated(rows)
    for arm in dict.fromkeys(row["arm"] for row in rows):

        def against(column, arm=arm):
            return ratio(shares(trials.values(), arm, column))

        yield line(
            f"`{arm}`",
            against("ttlb_ms"),
            f"{100 * fmean(float(t[arm]['loss']) for t in trials.values()):.2f}",
            against("incumbents_3s"),
            against("incumbents_15s"),
        )


def of_seats(file):
    """A line per number of flows and per link: what incumbents deliver in 3 s, and newcomers' time."""
    rows = rows_of(file)
    trials = seated(rows)
    arms = [arm for arm in dict.fromkeys(row["arm"] for row in rows) if arm in ("rapid", "plumb", "plumb(verify=on)")]
    yield head(
        "seats",
        *(f"`{arm}`: incumbents' bytes in 3 s over those beside slow starts" for arm in arms),
        *(f"`{arm}`: newcomers' time over slow start's" for arm in arms),
    )
    seats = defaultdict(list)
    for (path, incumbents, newcomers, _), trial in trials.items():
        rate, _, queue = path.split(",")
        depth = int(queue.removeprefix("queue=").removesuffix("ms")) / 40
        seats[f"{incumbents} CUBIC, {newcomers} newcomers"].append(trial)
        seats[f"{rate.removeprefix('rate=').removesuffix('Mbit')} Mbit/s, queue of {depth:g} BDP"].append(trial)
    for seat, some in sorted(seats.items(), key=lambda seat: "BDP" in seat[0]):
        columns = (ratio(shares(some, arm, column)) for column in ("incumbents_3s", "ttlb_ms") for arm in arms)
        yield line(seat, *columns)


def of_stacks(file):
    """A line per startup: a stack's times and losses against the simulator's on the same paths."""
    rows = [row for row in rows_of(file) if row["kind"] != "kind"]
    stack = next(row["kind"] for row in rows if row["kind"] != "sim")
    found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        startup = row["arm"].split("/")[0].split("@")[0]
        found[row["place"], row["bytes"]][row["kind"], startup].append((float(row["ttlb_ms"]), float(row["loss"])))
    cells = [
        {key: tuple(map(median, zip(*trials, strict=True))) for key, trials in cell.items()} for cell in found.values()
    ]
    yield head(
        "startup",
        "time over the simulator's",
        "median distance, %",
        "within 3 %, % of paths",
        "within 10 %",
        "fastest, slowest",
        "time over slow start's, simulator",
        "stack",
        "loss, %, simulator",
        "stack",
    )
    for startup in dict.fromkeys(startup for _, startup in cells[0]):

        def over(other, kind=stack, startup=startup):
            return [cell[kind, startup][0] / cell[other][0] for cell in cells]

        ratios = over(("sim", startup))
        apart = [abs(x - 1) for x in ratios]
        lost = (fmean(100 * cell[kind, startup][1] for cell in cells) for kind in ("sim", stack))
        yield line(
            f"`{startup}`",
            ratio(ratios),
            f"{100 * median(apart):.1f}",
            *(f"{percent(x <= limit for x in apart):.0f}" for limit in (0.03, 0.1)),
            f"{min(ratios):.2f}, {max(ratios):.2f}",
            *(ratio(over((kind, "slowstart"), kind)) for kind in ("sim", stack)),
            *(f"{x:.1f}" for x in lost),
        )


def of_worst(file):
    """A line per path: time (loss in %) of each arm, and Plumb's over the faster of the others."""
    rows = rows_of(file)
    paths = defaultdict(dict)
    for row in rows:
        paths[row["path"]][row["arm"]] = row
    arms = "slowstart", "rapid", "plumb"
    yield head("path", *(f"`{arm}`" for arm in arms), "`plumb` over the faster")
    for path, of_arm in paths.items():
        times = (f"{float(of_arm[a]['ttlb_ms']):.0f} ({100 * float(of_arm[a]['loss']):.1f})" for a in arms)
        yield line(f"`{path}`", *times, f"{float(of_arm['plumb']['over_faster']):.2f}")


def of_mixed(file):
    """A line per arm: ratios to slow start's time, with intervals of the normal distribution."""
    arms, cells = read(file)
    yield head(
        "arm",
        "time over slow start's, geometric mean",
        "quantiles 5, 50, 95, 99 %",
        "over 5 % slower, %",
        "loss, %",
        "on the paths with CUBIC: time over slow start's",
    )

    def mean(values):
        values = list(values)
        half = 1.96 * stdev(values) / len(values) ** 0.5
        return fmean(values), fmean(values) - half, fmean(values) + half

    for arm in arms:
        logs = {cell: log(c[arm][TIME] / c["slowstart"][TIME]) for cell, c in cells.items()}
        ordered = sorted(logs.values())
        at = (exp(ordered[int(q * len(ordered))]) for q in (0.05, 0.5, 0.95, 0.99))
        busy = [x for cell, x in logs.items() if cell in BUSY]
        yield line(
            f"`{arm}`",
            "{:.3f} [{:.3f}, {:.3f}]".format(*map(exp, mean(logs.values()))),
            ", ".join(f"{x:.2f}" for x in at),
            "{:.1f} [{:.1f}, {:.1f}]".format(*mean(100 * (x > log(1.05)) for x in ordered)),
            "{:.2f} [{:.2f}, {:.2f}]".format(*mean(100 * c[arm][LOSS] for c in cells.values())),
            "{:.3f} [{:.3f}, {:.3f}]".format(*map(exp, mean(busy))),
        )


def cells_of(rows):
    """Kind -> path -> size -> arm -> row."""
    kinds = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for row in rows:
        kinds[row["kind"]][row["place"]][row["bytes"]][row["arm"]] = row
    return kinds


def of_kinds(file):
    """A line per kind of path: each arm but `verify` against slow start."""
    rows = rows_of(file)
    arms = [arm for arm in dict.fromkeys(row["arm"] for row in rows) if arm != "slowstart" and "verify" not in arm]
    kinds = {kind: paths for kind, paths in cells_of(rows).items() if "crowd" not in kind}
    yield head(
        "kind",
        "slow start's loss, %",
        *(f"`{arm}`: time over slow start's" for arm in arms),
        *(f"`{arm}`: loss, %" for arm in arms),
        *(f"`{arm}`: over 5 % and 20 % slower, %" for arm in arms),
    )
    every = {(kind, path): cells for kind, paths in kinds.items() for path, cells in paths.items()}
    for kind, paths in [*kinds.items(), ("all kinds", every)]:
        groups = [list(sizes.values()) for sizes in paths.values()]
        flat = [cell for group in groups for cell in group]

        def over(arm, groups=groups):
            return each(groups, lambda c: float(c[arm]["ttlb_ms"]) / float(c["slowstart"]["ttlb_ms"]))

        def lost(arm, flat=flat):
            return f"{100 * fmean(float(c[arm]['loss']) for c in flat):.2f}"

        def slow(arm, over=over):
            ratios = [x for group in over(arm) for x in group]
            return " and ".join(f"{percent(x > limit for x in ratios):.1f}" for limit in (1.05, 1.2))

        yield line(kind, lost("slowstart"), *(ratio(over(arm)) for arm in arms), *map(lost, arms), *map(slow, arms))


def of_crowds(file):
    """A line per crowd and arm, against slow start's crowd on the same link."""
    rows = rows_of(file)
    yield head(
        "crowd, arm",
        "mean time over slow start's",
        "time of the slowest hundredth over slow start's",
        "loss, %",
        "loss over slow start's",
        "largest loss of one connection, %",
    )
    for kind, paths in cells_of(rows).items():
        if "crowd" not in kind:
            continue
        links = [crowd for sizes in paths.values() for crowd in sizes.values()]
        for arm in links[0]:

            def against(column, arm=arm, links=links):
                return ratio([float(c[arm][column]) / float(c["slowstart"][column]) for c in links])

            lost, least = (fmean(float(c[a]["loss"]) for c in links) for a in (arm, "slowstart"))
            worst = fmean(float(c[arm]["worst_loss"]) for c in links)
            yield line(
                f"{kind.removeprefix('crowd of ')}, `{arm}`",
                against("ttlb_ms"),
                against("p99_ms"),
                f"{100 * lost:.1f}",
                f"{lost / least:.2f}",
                f"{100 * worst:.0f}",
            )


def of_front(file):
    """A line per arm over all kinds of path, with its loss where that differs most, and in crowds."""
    rows = rows_of(file)
    yield head(
        "arm",
        "time over slow start's",
        "loss, difference in points",
        "behind policers",
        "over 5 % slower, %",
        "loss over slow start's, 100 x 100 kB",
        "20 x 1 MB",
        "20 x 1 MB, time of the slowest hundredth",
    )
    kinds = cells_of(rows)
    alone = [paths for kind, paths in kinds.items() if "crowd" not in kind]
    groups = [list(sizes.values()) for paths in alone for sizes in paths.values()]
    policers = [list(sizes.values()) for sizes in kinds["policer"].values()]
    crowds = [[c for sizes in kinds[f"crowd of {name}"].values() for c in sizes.values()] for name in ("100 x 100 kB", "20 x 1 MB")]
    for arm in groups[0][0]:

        def over(cell, column="ttlb_ms", arm=arm):
            return float(cell[arm][column]) / float(cell["slowstart"][column])

        def more(cell, arm=arm):
            return 100 * (float(cell[arm]["loss"]) - float(cell["slowstart"]["loss"]))

        def lost(cells, arm=arm):
            both = (fmean(float(c[a]["loss"]) for c in cells) for a in (arm, "slowstart"))
            return "{:.2f}".format(next(both) / next(both))

        yield line(
            f"`{arm}`",
            ratio(each(groups, over)),
            "{:+.2f}".format(fmean(more(c) for group in groups for c in group)),
            "{:+.1f}".format(fmean(more(c) for group in policers for c in group)),
            f"{percent(over(c) > 1.05 for group in groups for c in group):.1f}",
            *map(lost, crowds),
            f"{mean_of_ratios([over(c, 'p99_ms') for c in crowds[1]]):.2f}",
        )


TABLES = {
    "kinds": of_kinds,
    "front": of_front,
    "crowds": of_crowds,
    "mixed": of_mixed,
    "population": of_population,
    "pairs": of_pairs,
    "beside": of_beside,
    "seats": of_seats,
    "stacks": of_stacks,
    "worst": of_worst,
}


def main(page, *files):
    files = {Path(file).name: file for file in files}

    def table(found):
        begin, name, file = found.groups()
        if file not in files:
            return found[0]
        return begin + "\n" + "".join(TABLES[name](files[file])) + "\n"

    Path(page).write_text(TABLE.sub(table, Path(page).read_text()).rstrip() + "\n")


main(*sys.argv[1:])
