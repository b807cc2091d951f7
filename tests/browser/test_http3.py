"""A browser as client of `firstflight serve`: headless Chromium downloads objects over HTTP/3.

FIRSTFLIGHT_SERVE names the program, built with `--features quic`. Chromium and its driver are looked up as in test_report.py; with CI=true
nothing may be missing. `make browser` does all of it.
"""

import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
from selenium.webdriver.chrome.service import Service  # noqa: E402

# Fetches one object with the page's own origin, and says over which protocol it came.
DOWNLOAD = """
const [path, options, done] = arguments;
(async () => {
    const answer = await fetch(path, options);
    const bytes = await answer.arrayBuffer();
    const hash = await crypto.subtle.digest('SHA-256', bytes);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const entry = performance.getEntriesByName(new URL(path, location).href).at(-1);
    done({
        status: answer.status,
        length: bytes.byteLength,
        hash: [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
        protocol: entry && entry.nextHopProtocol,
        arm: answer.headers.get('firstflight-arm'),
        range: answer.headers.get('content-range'),
    });
})().catch((error) => done({error: String(error)}));
"""


def pattern(offset, length):
    """What stands in every object from `offset` on: SplitMix64 over the number of each eight bytes."""
    mask = (1 << 64) - 1
    words = []
    for number in range(offset // 8, (offset + length + 7) // 8):
        z = (number + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        words.append(struct.pack("<Q", z ^ (z >> 31)))
    return b"".join(words)[offset % 8 :][:length]


def program(variable, *names):
    return os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def server():
    serve = os.environ.get("FIRSTFLIGHT_SERVE")
    if not serve:
        missing("FIRSTFLIGHT_SERVE does not name a program built with --features quic")
    # Chromium may take ::1 for localhost; its QUIC then has to be there, too.
    command = [serve, "serve", "--arm", "rapid", "--listen", "127.0.0.1:0", "--allow-arm"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    port = pin = None
    for line in process.stderr:
        if found := re.match(r"serving https://[\d.]+:(\d+)/", line):
            port = int(found[1])
        elif found := re.match(r"public key (\S+)", line):
            pin = found[1]
        elif line.startswith("memory limit"):
            break
    assert port and pin, "the server said where it is and who"
    yield port, pin
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=40) == 0, "the server ends well"


@pytest.fixture(scope="module")
def page(server, tmp_path_factory):
    """The start page of the server, open in a browser that speaks nothing but QUIC to it."""
    port, pin = server
    chromium = program("CHROMIUM", "chromium", "chromium-browser", "google-chrome")
    driver = program("CHROMEDRIVER", "chromedriver")
    if not chromium or not driver:
        missing("chromium and chromedriver are needed to be a client, and at least one is missing")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-quic",
        f"--origin-to-force-quic-on=localhost:{port}",
        f"--ignore-certificate-errors-spki-list={pin}",
        "--host-resolver-rules=MAP localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ]:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(60)
    browser.get(f"https://localhost:{port}/")
    yield browser
    browser.quit()


def download(page, path, **options):
    answer = page.execute_async_script(DOWNLOAD, path, options)
    assert "error" not in answer, answer["error"]
    return answer


def test_the_start_page_came_over_http_3(page):
    assert "firstflight" in page.title
    protocol = page.execute_script("return performance.getEntriesByType('navigation')[0].nextHopProtocol")
    assert protocol == "h3", f"the page came over {protocol}"


def test_an_object_arrives_whole_over_http_3(page):
    answer = download(page, "/bytes/2MB")
    assert (answer["status"], answer["length"], answer["protocol"]) == (200, 2_000_000, "h3")
    assert answer["hash"] == hashlib.sha256(pattern(0, 2_000_000)).hexdigest(), "a byte is not what it should be"
    assert answer["arm"].startswith("rapid"), f"the server sends with {answer['arm']}"


def test_a_part_arrives_as_the_part_that_was_asked_for(page):
    answer = download(page, "/bytes/1MB", headers={"range": "bytes=500001-600000"})
    assert (answer["status"], answer["length"], answer["range"]) == (206, 100_000, "bytes 500001-600000/1000000")
    assert answer["hash"] == hashlib.sha256(pattern(500_001, 100_000)).hexdigest()


def test_several_objects_at_a_time_do_not_mix(page):
    script = "const done = arguments[0]; Promise.all([1, 2, 3, 4, 5, 6].map((n) => fetch(`/bytes/${n}00kB`).then((a) => a.arrayBuffer())).map((p) => p.then(async (b) => [b.byteLength, [...new Uint8Array(await crypto.subtle.digest('SHA-256', b))]]))).then(done, (e) => done(String(e)))"
    answers = page.execute_async_script(script)
    for number, (length, digest) in enumerate(answers, 1):
        assert length == number * 100_000
        assert bytes(digest) == hashlib.sha256(pattern(0, length)).digest(), f"object {number}"


def test_what_is_not_there_has_its_status(page):
    for path, status in [("/bytes/nonsense", 400), ("/no-such-file", 404)]:
        answer = download(page, path)
        assert (answer["status"], answer["length"]) == (status, 0), path


def test_the_documented_line_opens_the_start_page(server, tmp_path):
    """The line of docs/serve.md as it stands there, with this server's port and key, and with what it takes to look at it without a screen."""
    port, pin = server
    chromium = program("CHROMIUM", "chromium", "chromium-browser", "google-chrome")
    if not chromium:
        missing("chromium is needed to be a client")
    page = Path(__file__).parents[2] / "docs/serve.md"
    (line,) = [line for line in page.read_text().splitlines() if line.startswith("chromium ")]
    line = line.replace("4433", str(port)).replace("/tmp/firstflight-profile", str(tmp_path / "profile"))
    shim = tmp_path / "chromium"
    flags = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --dump-dom"
    shim.write_text(f'#!/bin/sh\nexec "{chromium}" {flags} "$@"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PIN": pin, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    seen = subprocess.run(["bash", "-euc", line], env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert "firstflight" in seen.stdout, f"{line}\n{seen.stdout[:500]}\n{seen.stderr[-1000:]}"
