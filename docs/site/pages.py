"""Puts everything that is hosted into one folder, for any web server, and checks it without a network.

    pages.py PROGRAM SITE ENGINE FOLDER

SITE is the built documentation, and becomes the root of FOLDER; ENGINE is the playground's simulator (`make web`), and
`playground/` is left out where the file is missing; `gallery/` has one report of every kind. Links that lead nowhere,
things loaded from another server, pages of our own without a content security policy, and pages larger than LARGEST end
this with a line for each and exit code 1.
"""

import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# Kind of report, the question it answers, its command. The commands take seconds, even in a build without optimisation.
GALLERY = [
    ("compare", "Which arm is fastest on one path, and at what cost?", "compare"),
    ("repeat", "The same on a path with random loss, with intervals", "compare --repeat 20 --bytes 1MB --arms slowstart,hystart++,rapid,plumb --path rate=20Mbit,rtt=80ms,queue=2bdp,loss=0.1%"),
    ("sweep", "Which arm is best at which round trip and queue?", "compare --bytes 1MB --arms slowstart,hystart++,rapid,plumb --sweep rtt=10ms..300ms --sweep queue=0.25..4bdp"),
    ("ab", "Which arm wins on a population of paths?", "ab --population cdn --flows 1000 --baseline slowstart --arms hystart++,rapid,plumb"),
    ("diff", "What changes with a larger initial window?", "diff BEFORE AFTER"),
    ("advise", "Which startup fits the paths in my captures?", "advise samples/satellite.pcap.gz --flows 300"),
    ("replay", "When would each startup have left, on recorded ACKs?", "replay samples/satellite.pcap.gz"),
    ("identify", "Which startup did this sender run?", "replay samples/plain.pcap.gz --identify"),
    ("trial", "What did a field test on live connections show?", "trial analyse samples/connections.csv.gz --size bytes --cluster client"),
    ("evaluate", "Does an algorithm meet the criteria of RFC 9743?", "evaluate rapid --quick --criteria 7.11,5.1.5"),
    ("reproduce", "Which published results can be reproduced?", "reproduce best gvisor --quick"),
]  # fmt: skip
# Bytes; a report with the simulator inside has 1.6 MB.
LARGEST = 4_000_000
PLAYGROUND = ' · <a href="../playground/index.html">Playground</a>'
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 46rem; padding: 0 1rem; overflow-wrap: anywhere; color: #1a1a1a; background: #fff }
a { color: #0062b3 } dt { margin-top: 1.2rem; font-weight: 600 } dd { margin: 0 } code { color: #555 }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #131416 } a { color: #6cb2ff } code { color: #aaa } }
"""


def gallery(program: Path, folder: Path, playground: bool) -> None:
    """Writes one report of every kind, and a page with links to them."""
    folder.mkdir()
    with tempfile.TemporaryDirectory() as work:
        results = {}
        for name, window in (("BEFORE", "10"), ("AFTER", "30")):
            results[name] = f"{name.lower()}.json"
            run(program, ["compare", "--iw", window, "--json", results[name]], work)
        for name, _, command in GALLERY:
            words = [results.get(word, word) for word in shlex.split(command)]
            # A report names its files as the command does: results without their folder.
            at = work if any(word in results for word in shlex.split(command)) else None
            run(program, [*words, "--report", str(folder / f"{name}.html")], at)
    entries = []
    for name, question, command in GALLERY:
        finding = re.search(r"<h1[^>]*>(.*?)</h1>", (folder / f"{name}.html").read_text(), re.DOTALL)
        said = re.sub(r"<[^>]+>", "", finding[1]).strip() if finding else ""
        entries.append(
            f'<dt><a href="{name}.html">{html.escape(question)}</a></dt>'
            f"<dd>{said}</dd><dd><code>firstflight {html.escape(command)} --report {name}.html</code></dd>"
        )
    (folder / "index.html").write_text(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>firstflight reports</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n'
        "<h1>One report of every kind</h1>\n"
        "<p>Each page is self-contained: it loads nothing, and can be sent by mail. The command below a link writes it.</p>\n"
        f"<dl>\n{chr(10).join(entries)}\n</dl>\n"
        f'<p><a href="../index.html">Documentation</a>{PLAYGROUND if playground else ""}</p>\n'
        "</main>\n</body>\n</html>\n"
    )


def run(program: Path, words: list[str], folder: str | None = None) -> None:
    done = subprocess.run(
        [program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    # 1 is a result that falls short: the report is there.
    if done.returncode not in (0, 1):
        sys.exit(f"pages: firstflight {shlex.join(words)}: {done.stderr}")


class Page(HTMLParser):
    """The links, loads, anchors and policy of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        has = {key: value or "" for key, value in attributes}
        self.anchors |= {has[key] for key in ("id", "name") if key in has}
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        elif tag == "link" and has.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.loads.append(has["href"])
        elif "src" in has:
            self.loads.append(has["src"])
        if tag == "meta" and has.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = has["content"]


def complaints(folder: Path) -> list[str]:
    """A line for everything that is wrong with the folder."""
    wrong = []
    pages = {page: Page(page.read_text()) for page in sorted(folder.rglob("*.html"))}
    for page, parts in pages.items():
        name = page.relative_to(folder)
        for link in parts.links + parts.loads:
            if re.match(r"(https?:|mailto:|data:|javascript:)", link):
                if link in parts.loads and not link.startswith("data:"):
                    wrong.append(f"{name}: loads {link}")
                continue
            path, _, anchor = unquote(link).partition("#")
            there = (page.parent / path.partition("?")[0]).resolve() if path else page
            there = there / "index.html" if there.is_dir() else there
            if not there.is_relative_to(folder) or not there.exists():
                wrong.append(f"{name}: no {link}")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                wrong.append(f"{name}: no anchor for {link}")
        if name.parts[0] in ("gallery", "playground") and "default-src 'none'" not in parts.policy:
            wrong.append(f"{name}: no content security policy that begins with default-src 'none'")
        if page.stat().st_size > LARGEST:
            wrong.append(f"{name}: {page.stat().st_size} bytes, more than {LARGEST}")
    return wrong


def main() -> None:
    program, site, engine, folder = (Path(os.path.abspath(word)) for word in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site, folder)
    gallery(program, folder / "gallery", engine.exists())
    if engine.exists():
        run(program, ["ui", "--engine", str(engine), "--write", f"{folder}/playground/"])
    else:
        print("pages: without the playground, make web builds its engine")
        if os.environ.get("CI") == "true":
            sys.exit(1)
    wrong = complaints(folder)
    for line in wrong:
        print(f"pages: {line}")
    files = [file for file in folder.rglob("*") if file.is_file()]
    total = sum(file.stat().st_size for file in files)
    reports = [file.stat().st_size for file in (folder / "gallery").glob("*.html") if file.stem != "index"]
    print(
        f"pages: {len(files)} files, {total / 1e6:.1f} MB in {folder}; {len(GALLERY)} reports of {min(reports) / 1e3:.0f} kB to"
        f" {max(reports) / 1e6:.1f} MB; {len(wrong)} complaints"
    )
    sys.exit(bool(wrong))


main()
