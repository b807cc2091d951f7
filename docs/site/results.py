"""Makes docs/results.md and its pictures of docs/results.csv: `results.py PROGRAM DOCS [--write]`.

No number is typed: what PROGRAM measured stands in the CSV (`firstflight reproduce --all --csv`),
titles of the documents come from `firstflight reproduce --list`. With --write the page and its
pictures are written; without, one that is not what would be written is an error.
"""

import csv
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import svg

NAMES = {
    "hystart++": "HyStart++",
    "rapid-start": "Rapid Start",
    "best": "BEST",
    "gvisor": "gVisor",
    "prr": "PRR",
    "early-retransmit": "Early Retransmit",
    "neqo": "neqo",
    "cuback": "Cuback",
    "abba": "ABBA",
    "browser": "Firefox",
    "careful": "Careful Resume",
    "leo": "Low orbits and receive windows",
    "suss": "SUSS",
    "chirping": "Paced Chirping",
    "scone": "SCONE",
    "rwnd": "Flow control and faster startups",
    "idle-trap": "CUBIC's idle time",
}
# Words that state size, and colours that everybody tells apart beside them.
VERDICTS = {
    "confirmed": ("confirmed in size", "#00876c"),
    "size_open": ("size open", "#0062b3"),
    "exact": ("exact, as the algebra demands", "#00876c"),
    "within_bound": ("within the accepted bounds, no size published", "#00876c"),
    "same_direction": ("same direction, no size published", "#0062b3"),
    "smaller": ("same direction, smaller", "#d35400"),
    "larger": ("same direction, larger", "#6a1468"),
    "not_seen": ("not seen", "#848e9e"),
    "opposite": ("opposite", "#b0352c"),
    "fails": ("against the algebra", "#b0352c"),
    "reported": ("measured, nothing published", "#848e9e"),
    "quoted_only": ("not comparable, quoted only", "#848e9e"),
    "not_reproducible": ("not reproducible from what is published", "#848e9e"),
    "not_run": ("not run", "#848e9e"),
}
WIDTH, LINE, LEFT, RIGHT, MOST = 900, 44, 412, 590, 2.0

HEAD = """<!-- Written by docs/site/results.py from results.csv; do not edit. -->
# Published results compared with ours

One sentence and one picture per reproduced publication. The first testable row of a claim decides its verdict; the picture has a line per
claim.

| verdict | meaning |
|---|---|
| confirmed in size | the whole interval lies within two thirds to one and a half times the published effect, or in the published range, and in the band accepted beforehand |
| size open | the interval crosses an end of that band |
| same direction, smaller or larger | significant, of another size, given as a factor of the published effect |
| within the accepted bounds | as required, but no size was published |
| not seen | the 95 % interval includes no effect, or a stated condition does not hold |
| opposite | significant in the other direction |
| exact | follows from the algebra and must hold |

Intervals are paired bootstrap over seeds or connections; [`samples.toml`](../crates/firstflight-papers/papers/samples.toml) states how many
each measurement takes. All {rows} rows, with intervals, accepted bands, assumptions and remarks, are in [results.csv](results.csv) and in
the page that this command writes:

<!-- notest: reproduce --all: takes minutes; `make browser` runs its quick form -->
```sh
firstflight reproduce --all --report published.html
```

[`crates/firstflight-papers/papers`](../crates/firstflight-papers/papers) lists the publications claim by claim, with our assumptions.
"""


def number(row, name):
    return float(row[name]) if row[name] else None


def claims(rows):
    """The row for each claim: the first row that is compared with a published value, otherwise the first row."""
    found = {}
    for row in rows:
        claim = row["row"].partition("#")[0]
        if claim not in found or (found[claim]["gates"] == "-" != row["gates"]):
            found[claim] = row
    return found


def factors(row):
    """The measured effect over the published one with its interval, or None."""
    ratio, published = number(row, "ratio"), number(row, "published")
    if ratio is None or published is None:
        return None
    # No effect is 0 of a change or a level and 1 of a ratio.
    measured, zero = number(row, "measured"), None
    for neutral in (0, 1):
        found = published != neutral and (measured - neutral) / (published - neutral)
        if found is not False and abs(found - ratio) <= 1e-9 * max(1, abs(ratio)):
            zero = neutral
            break
    if zero is None:
        return ratio, ratio, ratio
    ends = [number(row, end) for end in ("low", "high")]
    ends = [ratio if end is None else (end - zero) / (published - zero) for end in ends]
    return ratio, min(ends), max(ends)


def sentence(answers):
    """The verdicts on the claims of a document."""
    parts = []
    for verdict, (words, _) in VERDICTS.items():
        rows = [row for row in answers.values() if row["verdict"] == verdict]
        if not rows:
            continue
        sizes = [f"{factors(row)[0]:.2f}" for row in rows if factors(row)]
        told = verdict in ("smaller", "larger") and len(sizes) == len(rows)
        parts.append(f"{len(rows)} {words}" + (f" ({', '.join(sizes)} times)" if told else ""))
    count = len(answers)
    return f"Of {count} claim{'s' if count > 1 else ''}: {'; '.join(parts)}."


def shortened(text, length):
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def x(factor):
    """The position of a factor; values beyond the axis are drawn at its end."""
    return LEFT + max(-0.5, min(factor, MOST)) / MOST * (RIGHT - LEFT - 12)


def line(claim, row, y):
    """The published value, the factor if there is one, and the verdict."""
    words, colour = VERDICTS[row["verdict"]]
    for index, part in enumerate(textwrap.wrap(shortened(f"{claim}  {row['claim']}", 118), 62)[:2]):
        yield svg.text(8, y + 14 * index, part, colour=svg.INK)
    if found := factors(row):
        ratio, low, high = found
        yield svg.stroke(f"M{x(low):.1f} {y + 3}H{x(high):.1f}", colour, 2)
        if ratio > MOST:
            yield f'<path d="M{RIGHT - 14} {y - 2}l10 5l-10 5z" fill="{colour}"/>'
        else:
            yield svg.dot(x(ratio), y + 3, colour)
        if row["verdict"] in ("smaller", "larger"):
            words += f", {ratio:.2f} times"
    yield svg.dot(RIGHT + 13, y - 4, colour)
    yield svg.text(RIGHT + 24, y, words, colour=colour, bold=True)
    yield svg.text(RIGHT + 24, y + 14, shortened(row["ours"] or row["measure"], 46))


def picture(answers):
    """A line for each claim."""
    height = 40 + LINE * len(answers)
    shapes = [svg.text(8, 16, "published"), svg.text(RIGHT + 8, 16, "measured")]
    for factor, label, anchor in ((0, "0", "start"), (1, "1 times", "middle"), (2, "2", "end")):
        shapes.append(svg.text(x(factor), 16, label, anchor))
        shapes.append(svg.stroke(f"M{x(factor)} 24V{height - 10}"))
    for index, (claim, row) in enumerate(answers.items()):
        shapes += line(claim, row, 46 + LINE * index)
    return svg.picture(WIDTH, height, shapes)


def main(program, docs, *options):
    docs = Path(docs)
    with (docs / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    command = [program, "reproduce", "--list", "--json", "-"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    titles = {source["name"]: source["document"] for source in json.loads(listed)["sources"]}
    page, files = HEAD.format(rows=len(rows)), {}
    for name in dict.fromkeys(row["document"] for row in rows):
        answers = claims(row for row in rows if row["document"] == name)
        said = f"{sentence(answers)}"
        page += f"\n## {NAMES[name]}\n\n{titles[name]}. {said}\n"
        if any(row["measured"] for row in answers.values()):
            link = f"pictures/results-{name.replace('+', 'p')}.svg"
            files[docs / link] = picture(answers)
            page += f"\n![Each claim of {NAMES[name]} with its verdict]({link})\n"
    files[docs / "results.md"] = page
    stale = [
        str(file) for file, text in files.items() if not file.exists() or file.read_text() != text
    ]
    if "--write" in options:
        for file, text in files.items():
            file.write_text(text)
    elif stale:
        sys.exit(f"not what results.csv says (docs/regenerate.sh shown): {', '.join(stale)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
