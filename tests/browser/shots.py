"""Pictures of everything that people see, and complaints about it by program.

    shots.py PROGRAM ENGINE SITE FOLDER [--only WORDS]

PROGRAM is a built `firstflight`, ENGINE the playground's engine, SITE the built documentation. Each
kind of page, at 390 and 1280 px, light and dark, is a PNG in FOLDER; so are, as text, the tables of
every command at 80 and 120 columns. `make shots` has built all of it, and says where it looked: ends
with code 1 if `look.js` has a complaint, the console is not silent, a line is too long or a number cut.
"""

import argparse
import base64
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("SE_OFFLINE", "true")
from conftest import chromium  # noqa: E402
from look import WIDTHS, complaints  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Above this a picture has more than one can look at, and Chromium more than it can draw.
TALLEST = 9000

NUMBER = re.compile(r"\d+(?:\.\d+)?")

# Pages have the same part a hundred times: some of them tell.
UNFOLD = "[...document.querySelectorAll('main details:not([open]) > summary')].slice(0, 20).forEach((one) => one.click())"

# Every kind of report, small enough for a build that is slow.
REPORTS = {
    "compare": "compare --report PAGE",
    "compare-repeat": "compare --repeat 5 --bytes 1MB --arms slowstart,rapid,hystart++ --path rate=20Mbit,rtt=80ms,queue=2bdp,loss=0.1% --report PAGE",
    "compare-one": "compare --arms slowstart --bytes 100kB --report PAGE",
    "compare-long-names": "compare --bytes 1MB --arms 'rapid(k=11/18),hystart++(css=off)/reno/immediate@(iw=30),search(guard=on)/cuback(alpha=1)' --report PAGE",
    "compare-all": "compare --arms all --bytes 1MB --report PAGE",
    "compare-tcp": "compare --transport tcp --path gvisor --arms slowstart,hystart,best --bytes 2MB --report PAGE",
    "compare-quic": "compare --on quic --arms slowstart,noq:cubic --bytes 1MB --report PAGE",
    "sweep-one": "compare --bytes 200kB --arms slowstart,hystart++,rapid --sweep rtt=10ms..300ms --report PAGE",
    "sweep-two": "compare --bytes 200kB --arms slowstart,hystart++,rapid --sweep rtt=10ms..300ms --sweep queue=0.25..4bdp --report PAGE",
    "ab": "ab --population geo --flows 600 --baseline hystart --arms slowstart,hystart++,rapid --report PAGE",
    "ab-cdn": "ab --population cdn --flows 200 --baseline slowstart --arms hystart++ --report PAGE",
    "reproduce": "reproduce best gvisor --quick --report PAGE",
    "advise": "advise samples/satellite.pcap.gz --flows 300 --report PAGE",
    "advise-qlog": "advise samples/lossy-mobile/*.gz --flows 200 --report PAGE",
    "replay": "replay samples/satellite.pcap.gz --report PAGE",
    "replay-identify": "replay samples/plain.pcap.gz --identify --report PAGE",
    "diff": "diff BEFORE AFTER --report PAGE",
    "evaluate": "evaluate rapid --quick --criteria 7.11,5.1.5 --report PAGE",
    "evaluate-cell": "evaluate rapid --cell 5.1.5/over:4bdp,codel,40ms --seed 2 --report PAGE",
    "trial": "trial analyse samples/connections.csv.gz --size bytes --cluster client --report PAGE",
    "trial-full": "trial analyse samples/connections.csv.gz --size bytes --time ttlb_ms --cluster client --rtt rtt_ms"
    " --ratio retransmitted/segments,timeouts/connections --shares slowstart=70%,rapid=30% --report PAGE",
}
# Every command that answers with a table and ends by itself.
TABLES = {
    # `advise` writes its page anyhow.
    **{name: line if line.startswith("advise") else line.replace(" --report PAGE", "") for name, line in REPORTS.items()},
    "compare-flows": "compare --flows 4 --apart 100ms --cross slowstart --arms slowstart,rapid",
    "run": "run experiments/best-satellite.toml",
    "arms": "arms",
    "paths": "paths",
    "populations": "populations",
    "populations-describe": "populations describe cdn",
    "reproduce-list": "reproduce --list",
    "evaluate-list": "evaluate --list --criteria 7",
    "conform": "conform 'slowstart/cubic(beta=0.6)/immediate' --against slowstart/cubic/immediate --bytes 1MB",
    "kernel-list": "kernel list",
    "help": "--help",
    **{f"help-{name}": f"{name} --help" for name in "compare advise ab replay reproduce evaluate serve trial ui fetch link".split()},
}


class Looker:
    def __init__(self, program, folder, only):
        self.program, self.folder, self.only = program, folder, only
        self.said, self.looked = [], 0
        self.pages = folder / "pages"
        self.pages.mkdir(parents=True, exist_ok=True)

    def wanted(self, name):
        return not self.only or any(name.startswith(word) for word in self.only)

    def complain(self, name, lines):
        for line in lines:
            self.said.append(f"{name}: {line}")
            print(f"  {name}: {line}", flush=True)

    # ---- Terminal -------------------------------------------------------------------------------

    def run(self, line, width=None):
        words = shlex.split(line)
        words = [found for word in words for found in (sorted(map(str, ROOT.glob(word))) if "*" in word else [word])]
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        environment |= {"NO_COLOR": "1"} | ({"COLUMNS": str(width)} if width else {})
        return subprocess.run([self.program, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)

    def tables(self, before, after):
        for name, line in TABLES.items():
            if not self.wanted(f"terminal-{name}"):
                continue
            line = line.replace("BEFORE", str(before)).replace("AFTER", str(after)).replace("PAGE", str(self.pages / f"{name}.html"))
            whole = self.run(line)
            if whole.returncode:
                self.complain(name, [f"`{line}` ends with {whole.returncode}: {whole.stderr.strip()}"])
                continue
            # A number that is not among those of the widest table has been cut, or broken in two.
            numbers = set(NUMBER.findall(whole.stdout))
            for width in (80, 120):
                text = self.run(line, width).stdout
                (self.folder / f"terminal-{name}-{width}.txt").write_text(f"$ firstflight {line}\n{text}")
                self.looked += 1
                long = [one for one in text.splitlines() if len(one) > width]
                # An address or a command that somebody copies is not to be broken.
                long = [one for one in long if " " in one.strip()]
                self.complain(f"terminal-{name}-{width}", [f"{len(one)} columns: {one}" for one in long])
                # What has been left out is counted.
                counted = re.sub(r"\[\d+\s+other\s+set-ups", "", text)
                lines = [one for one in counted.splitlines() if not re.match(r"\d+ (more )?columns? ", one)]
                cut = sorted(set(NUMBER.findall("\n".join(lines))) - numbers)
                self.complain(f"terminal-{name}-{width}", [f"a number is cut: {', '.join(cut)}"] if cut else [])

    # ---- Pages ----------------------------------------------------------------------------------

    def reports(self, before, after):
        for name, line in REPORTS.items():
            if not self.wanted(name):
                continue
            page = self.pages / f"{name}.html"
            done = self.run(line.replace("PAGE", str(page)).replace("BEFORE", str(before)).replace("AFTER", str(after)))
            if done.returncode:
                self.complain(name, [f"`{line}` ends with {done.returncode}: {done.stderr.strip()}"])
            else:
                yield name, page.as_uri(), "return document.documentElement.dataset.ready !== undefined"

    def page(self, browser, name, address, ready=None, act=None):
        """Pictures of a page in every width and theme, then what there is to complain about, with everything unfolded."""
        for width in WIDTHS:
            for theme in ("light", "dark"):
                shot = f"{name}-{width}-{theme}"
                browser.show(width, theme)
                browser.get("about:blank")
                browser.complaints()
                browser.get(address)
                if ready:
                    until(browser, ready)
                if act:
                    act(browser)
                self.looked += 1
                lines = complaints(browser, width)
                self.picture(browser, shot, width)
                browser.execute_script(UNFOLD)
                time.sleep(0.1)
                lines += [line for line in complaints(browser, width) if line not in lines]
                self.complain(shot, lines + [f"the console says {line}" for line in browser.complaints()])

    def picture(self, browser, name, width):
        height = browser.execute_script("return Math.max(document.documentElement.scrollHeight, innerHeight)")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST), "scale": 1}
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        (self.folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def until(browser, script, seconds=120):
    deadline = time.monotonic() + seconds
    while not browser.execute_script(script):
        if time.monotonic() > deadline:
            raise SystemExit(f"never: {script}")
        time.sleep(0.05)


def click(selector):
    return lambda browser: browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def tour(browser):
    browser.execute_script("document.querySelectorAll('#tour button')[1].click()")
    until(browser, "return document.getElementById('grid').dataset.done")


def game(browser):
    browser.execute_script("document.getElementById('game-speed').value = '2'; document.getElementById('game-start').click()")
    until(browser, "return !document.getElementById('game-over').hidden")


def replayed(browser):
    browser.find_element("id", "capture").send_keys(str(ROOT / "samples/plain.pcap.gz"))
    until(browser, "return document.querySelector('#replay-box tbody tr') !== null")


def playground(look, browser, engine):
    views = {
        "": ("", None),
        "-tour": ("", tour),
        "-problem": ("#arms=warp", None),
        "-options": ("#path=geo&bytes=5MB&arms=slowstart,search,rapid&arm=1", click("#options > summary")),
        "-game": ("#path=rapid-slide&bytes=1MB&arms=slowstart&game=11", game),
        "-replay": ("#path=rapid-slide&bytes=1MB&arms=slowstart", replayed),
    }
    views = {name: view for name, view in views.items() if look.wanted(f"playground{name}")}
    if not views:
        return
    server = subprocess.Popen([look.program, "ui", "--no-open", "--engine", engine], stdout=subprocess.PIPE, text=True)
    try:
        site = re.search(r"http://\S+/", server.stdout.readline())[0]
        for name, (address, act) in views.items():
            look.page(browser, f"playground{name}", site + address, "return document.documentElement.dataset.ready !== undefined", act)
    finally:
        server.terminate()
        server.wait()


def start_page(look):
    """The start page of `serve`, in a browser that knows the server's key and speaks QUIC to it."""
    if not look.wanted("serve"):
        return
    server = subprocess.Popen(
        [look.program, "serve", "--arm", "rapid", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    try:
        port = pin = None
        for line in server.stderr:
            if found := re.match(r"serving https://[\d.]+:(\d+)/", line):
                port = found[1]
            elif found := re.match(r"public key (\S+)", line):
                pin = found[1]
            elif line.startswith("memory limit"):
                break
        with tempfile.TemporaryDirectory() as profile:
            browser = chromium(profile, quic=(port, pin))
            try:
                look.page(browser, "serve", f"https://localhost:{port}/")
            finally:
                browser.quit()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("program", "engine", "site", "folder"):
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--only", nargs="+", help="only names that begin so")
    asked = arguments.parse_args()
    look = Looker(asked.program.resolve(), asked.folder.resolve(), asked.only)
    before, after = look.pages / "before.json", look.pages / "after.json"
    look.run(f"compare --repeat 3 --bytes 1MB --json {before}")
    look.run(f"compare --repeat 3 --bytes 1MB --iw 30 --json {after}")
    look.tables(before, after)
    with tempfile.TemporaryDirectory() as profile:
        browser = chromium(profile)
        try:
            for name, address, ready in look.reports(before, after):
                look.page(browser, name, address, ready)
            playground(look, browser, asked.engine.resolve())
            for page in sorted(asked.site.resolve().rglob("*.html")):
                name = "site-" + "-".join(page.relative_to(asked.site.resolve()).with_suffix("").parts)
                if "_" not in name and look.wanted(name):
                    look.page(browser, name, page.as_uri())
        finally:
            browser.quit()
    start_page(look)
    print(f"shots: {look.looked} views in {look.folder}, {len(look.said)} complaints")
    return 1 if look.said or not look.looked else 0


if __name__ == "__main__":
    sys.exit(main())
