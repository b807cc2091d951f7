#!/usr/bin/env python3
"""How smoothly the playground follows a slider, and whether a thousand moves leave memory behind. Measures, judges nothing.

    target/venv/bin/python tests/web/frames.py PROGRAM ENGINE [MOVES]
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

os.environ["SE_OFFLINE"] = "true"
# Three arms, 10 MB, 100 Mbit/s; a move for every frame, as a hand would, back and forth.
PAGE = "#path=rate=100Mbit,rtt=30ms,queue=1bdp&bytes=10MB&arms=slowstart,hystart%2B%2B,rapid"
DRAG = """
    const [moves, done] = arguments;
    const slider = document.getElementById("slider-queue");
    const frames = [];
    const views = Number(document.documentElement.dataset.views);
    let last = performance.now();
    let n = 0;
    const begin = last;
    function frame(now) {
        frames.push(now - last);
        last = now;
        if (n++ === moves) return done({ frames: frames.slice(1), views: Number(document.documentElement.dataset.views) - views, ms: now - begin });
        slider.value = 500 + 300 * Math.sin(n / 40);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        requestAnimationFrame(frame);
    }
    requestAnimationFrame(frame);
"""


def main(program, engine, moves=1000):
    server = subprocess.Popen([program, "ui", "--no-open", "--engine", engine], stdout=subprocess.PIPE, text=True)
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    profile = tempfile.TemporaryDirectory()
    for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000", f"--user-data-dir={profile.name}"]:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")))
    try:
        browser.set_script_timeout(600)
        browser.get(re.search(r"http://\S+/", server.stdout.readline())[0] + PAGE)
        while browser.execute_script("return document.documentElement.dataset.ready === undefined"):
            time.sleep(0.1)

        def metrics():
            browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            return {one["name"]: one["value"] for one in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}

        def heap(found):
            return f"{found['JSHeapUsedSize'] / 1e6:.1f} MB of heap, {found['Nodes']:.0f} nodes"

        # Time of the page's thread alone: what other programs take on a busy machine is not its.
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        paint = browser.execute_script("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        browser.execute_async_script(DRAG, 50)
        before = metrics()
        told = browser.execute_async_script(DRAG, int(moves))
        after = metrics()
        time.sleep(3)
        frames = sorted(told["frames"])
        part = lambda share: frames[int(share * (len(frames) - 1))]  # noqa: E731
        print(f"first paint {paint:.0f} ms; {len(frames)} frames with a move each: median {statistics.median(frames):.1f} ms, "
              f"p95 {part(0.95):.1f} ms, p99 {part(0.99):.1f} ms, longest {frames[-1]:.1f} ms; {told['views'] / told['ms'] * 1e3:.0f} results shown a second")
        busy = (after["TaskDuration"] - before["TaskDuration"]) * 1e3
        print(f"the page's own thread: {busy / len(frames):.1f} ms a frame, {busy / max(1, told['views']):.1f} ms a result")
        print(f"before: {heap(before)}; after: {heap(metrics())}")
    finally:
        browser.quit()
        server.terminate()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
