"""Prepares the input of Sphinx: `sources.py CHECKOUT PROGRAM FOLDER`.

Copies docs/ into FOLDER, turns links that leave it into links to the repository, and writes the
reference out of what PROGRAM says of itself. Every link of every page of the repository is checked
on the way: one that leads nowhere ends this with a line for each and exit code 1.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = "https://github.com/firstflight/firstflight/blob/main"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")


def prose(text):
    """The lines of a page, and whether each is outside of a code block."""
    inside = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield line, not inside and not fence
        inside ^= fence


def anchors(page):
    """The anchors of a page: headings as the forge names them, and explicit anchors."""
    found = set()
    for line, outside in prose(page.read_text()):
        if not outside:
            continue
        found.update(re.findall(r'<a id="([^"]+)"', line))
        if heading := re.match(r"#+ (.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            found.add(re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-"))
    return found


def wrong_links(checkout, pages, generated):
    """A line for each broken link of a page in this checkout."""
    for page in pages:
        for number, (line, outside) in enumerate(prose(page.read_text()), 1):
            for _, link, _ in LINK.findall(re.sub(r"`[^`]*`", "", line)) if outside else ():
                here, there = page.parent, link.removeprefix(REPOSITORY + "/")
                if there != link:
                    here = checkout
                elif re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = there.partition("#")
                target = (here / name).resolve() if name else page
                if target in generated:
                    continue
                if not target.exists():
                    yield f"{page.relative_to(checkout)}:{number}: no {link}"
                elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                    yield f"{page.relative_to(checkout)}:{number}: no heading for {link}"


def outward(text, page, checkout):
    """The page with links out of docs/ as links to the repository."""
    docs = checkout / "docs"

    def link(found):
        before, there, after = found.groups()
        name, _, anchor = there.partition("#")
        if not name or re.match(r"[a-z]+:", there):
            return found[0]
        target = Path(os.path.normpath(page.parent / name))
        if target.is_relative_to(docs) and (not target.exists() or target.is_file()):
            return found[0]
        address = f"{REPOSITORY}/{target.relative_to(checkout)}"
        return f"{before}{address}{'#' + anchor if anchor else ''}{after}"

    # An anchor of the forge is a target for Sphinx.
    text = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)
    lines = [LINK.sub(link, line) if outside else line for line, outside in prose(text)]
    return "\n".join(lines) + "\n"


def contents(page, unlisted):
    """Navigation from the lists of links of a page, a part for each heading above them, then UNLISTED."""
    parts = {}
    heading = ""
    for line, outside in prose(page):
        if outside and (found := re.match(r"## (.*)", line)):
            heading = found[1]
        elif outside and (found := re.match(r"\* \[([^\]]*)\]\(([^)]*)\.md\)", line)):
            parts.setdefault(heading, []).append(f"{found[1]} <{found[2]}>")
    if unlisted:
        parts["Details"] = unlisted
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"
        for heading, pages in parts.items()
    ).replace(":caption: \n", "")


def unlisted(docs, pages):
    """Pages of docs/ that no index lists: tables and details that other pages link to."""
    listed = {
        index.parent / f"{name}.md"
        for index in pages
        if index.name == "index.md"
        for name in re.findall(r"^\* \[[^\]]*\]\(([^)]*)\.md\)", index.read_text(), re.MULTILINE)
    }
    rest = [page for page in pages if page not in listed and page.name != "index.md"]
    return [str(page.relative_to(docs).with_suffix("")) for page in rest]


class Program:
    """The program that the reference documents."""

    def __init__(self, name):
        self.name = name

    def says(self, *arguments):
        """The program's output, 100 columns wide."""
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
        command = [self.name, *arguments]
        said = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return said.stdout

    def commands(self, *parents):
        """The subcommands of these commands, without `help`."""
        text = self.says(*parents, "--help")
        # The program's own stand in groups before the options.
        text = text.partition("\nCommands:\n")[2].partition("\n\n")[0] if parents else text.partition("\nOptions:\n")[0]
        names = re.findall(r"^  (\w[\w-]*)", text, re.MULTILINE)
        return [(*parents, name) for name in names if name != "help"]


def commands(program):
    """Every command with its help."""
    page = "# Commands\n\nWhat `--help` says, of every command.\n"
    waiting = [()]
    while waiting:
        command, *waiting = waiting
        level = "###" if len(command) > 1 else "##"
        name = " ".join(("firstflight", *command))
        page += f"\n{level} {name}\n\n```text\n{program.says(*command, '--help').rstrip()}\n```\n"
        waiting = program.commands(*command) + waiting
    return page


def path_keys(checkout):
    """The keys of a path, from the first page of the crate's documentation."""
    source = (checkout / "crates/firstflight-path/src/lib.rs").read_text()
    lines = [line[3:].strip() for line in source.splitlines() if line.startswith("//!")]
    text = "\n".join(lines[lines.index("# Writing a path") + 1 :])
    text = re.sub(r"\[(`[^`]+`)\]", r"\1", text)
    return re.sub(r"^#+ ", "### ", text, flags=re.MULTILINE)


# The page that explains a part of an arm.
EXPLAINED = {
    "slowstart": "slow-start",
    "limited": "slow-start",
    "hystart": "hystart",
    "hystart++": "hystart-plus-plus",
    "search": "search",
    "best": "best",
    "best-published": "best",
    "rapid": "rapid-start",
    "suss": "suss",
    "bbr": "bbr",
    "bbr3": "bbr",
    "careful": "careful",
    "chirping": "chirping",
    "jumpstart": "jump-start",
    "plumb": "plumb",
    "oracle": "slow-start",
    "cubic": "cubic-and-reno",
    "cuback": "cuback",
    "abba": "abba",
    "dctcp": "prague",
    "prague": "prague",
    "reno": "cubic-and-reno",
    "prr": "prr",
    "immediate": "prr",
    "sack": "prr",
    "halving": "prr",
    "sender": "early-retransmit-and-rack",
}


def table(heads, rows):
    """A table in Markdown."""
    cells = [
        ["" if cell is None else str(cell).replace("|", "\\|") for cell in row] for row in rows
    ]
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def arms(program):
    """The parts of arms: a section for each part, with its options as a table."""
    page = (
        "# Arms\n\n"
        "An arm is `startup(options)/avoidance(options)/recovery(options)@(sender options)`; every\n"
        "part but the startup may be left out, and is `cubic` and `prr` then.\n"
    )
    kinds = {}
    for row in json.loads(program.says("arms", "--format", "json")):
        kinds.setdefault(row["kind"], {}).setdefault(row["name"] or row["kind"], []).append(row)
    for kind, parts in kinds.items():
        page += f"\n## {kind.capitalize()}\n"
        whole = [rows[0] for rows in parts.values() if not rows[0]["option"]]
        if len(whole) == len(parts) and all(row["arm"] != row["name"] for row in whole):
            rows = [[f"`{row['name']}`", f"`{row['arm']}`", row["summary"]] for row in whole]
            page += "\n" + table(["name", "arm", "description"], rows)
            continue
        for name, rows in parts.items():
            if not rows[0]["option"]:
                head, *rows = rows
                page += f"\n### {name}\n\n{head['summary']} ({head['source']})."
                if name in EXPLAINED:
                    page += f" [Explained](../explain/{EXPLAINED[name]}.md)."
                page += "\n"
            options = [[f"`{row['option']}=`", row["values"], row["summary"]] for row in rows]
            page += "\n" + table(["option", "values", "description"], options) if options else ""
    return page


def populations(program):
    """Every population and the sources of its values."""
    page = (
        "# Populations\n\n"
        "Where each value comes from: S stated by the source, C read in public code, D derived by\n"
        "us, U not confirmed, A our assumption. [How to write one](../ab-tests.md#populations).\n"
    )
    rows = json.loads(program.says("populations", "--format", "json"))
    for name in dict.fromkeys(row["population"] for row in rows):
        own = [row for row in rows if row["population"] == name]
        page += f"\n## {name}\n\n{own[0]['about']} (version {own[0]['version']}).\n\n"
        cells = [[row["status"], row["value"], row["reference"]] for row in own]
        page += table(["", "value", "from"], cells)
    return page


def reference(program, checkout):
    """The pages of the reference by name."""
    built_in = json.loads(program.says("paths", "--format", "json"))
    rows = [
        [f"`{row['name']}`", f"`{row['path']}`", row["about"], row["source"]] for row in built_in
    ]
    return {
        "commands": commands(program),
        "arms": arms(program),
        "paths": f"# Paths\n\n## Keys\n\n{path_keys(checkout)}\n\n## Built-in paths\n\n"
        + table(["name", "path", "description", "source"], rows),
        "populations": populations(program),
    }


def main(checkout, program, folder):
    checkout = Path(checkout).resolve()
    docs, folder = checkout / "docs", Path(folder)
    pages = sorted(docs.rglob("*.md"))
    others = [*checkout.glob("*.md"), *checkout.glob("*/README.md")]
    others += checkout.glob("crates/*/README.md")
    written = reference(Program(program), checkout)
    generated = {docs / "reference" / f"{name}.md" for name in written}
    if wrong := list(wrong_links(checkout, [*pages, *others], generated)):
        sys.exit("\n".join(["links that lead nowhere:", *wrong]))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(docs, folder)
    for page in pages:
        copy = folder / page.relative_to(docs)
        text = outward(page.read_text(), page, checkout)
        if page.name == "index.md":
            text += contents(text, unlisted(docs, pages) if page.parent == docs else [])
        copy.write_text(text)
    (folder / "reference").mkdir(exist_ok=True)
    for name, text in written.items():
        (folder / "reference" / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
