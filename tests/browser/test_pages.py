"""The folder that is hosted, FIRSTFLIGHT_PAGES, as a browser sees it from a web server: `make pages` runs this."""

import functools
import http.server
import os
import threading
import time
from pathlib import Path

import pytest

missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
pytest.importorskip("selenium", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
from look import complaints_everywhere  # noqa: E402

FOLDER = Path(os.environ.get("FIRSTFLIGHT_PAGES") or "/nowhere")
REPORTS = sorted(page.stem for page in FOLDER.glob("gallery/*.html") if page.stem != "index")


class Server(http.server.SimpleHTTPRequestHandler):
    """A plain host: the paths that were asked for are kept, and nothing is printed."""

    asked: list[str] = []

    def log_request(self, code="-", size="-"):
        self.asked.append(f"{code} {self.path}")

    def log_error(self, format, *arguments):
        pass


@pytest.fixture(scope="session")
def host():
    if not FOLDER.is_dir():
        missing("FIRSTFLIGHT_PAGES does not name a folder: make pages writes one")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=FOLDER))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # As on a forge's pages, the folder may not be at the root: links have to be relative.
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def open_at(browser, host):
    """Opens a path of the host. Afterwards the console has stayed silent and every file was there."""

    def go(path):
        browser.show(theme="light")
        browser.complaints()
        Server.asked.clear()
        browser.get(host + path)
        return browser

    yield go
    errors = browser.complaints()
    assert not errors, f"the console says {errors}"
    lost = [line for line in Server.asked if not line.startswith(("200", "304"))]
    assert not lost, f"the host has no {lost}"


def test_the_documentation_is_the_front_page(open_at):
    browser = open_at("")
    assert "firstflight" in browser.title, browser.title


def test_the_gallery_links_to_a_report_of_every_kind(open_at):
    browser = open_at("gallery/index.html")
    linked = browser.execute_script("return [...document.querySelectorAll('dt a')].map((link) => link.getAttribute('href'))")
    assert sorted(linked) == [f"{name}.html" for name in REPORTS], "the gallery and its folder differ"
    assert len(REPORTS) >= 11, f"there are only {REPORTS}"
    found = complaints_everywhere(browser)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_shows_its_finding_and_asks_for_nothing_else(open_at, name):
    browser = open_at(f"gallery/{name}.html")
    heading = browser.execute_script("return document.querySelector('h1').textContent.trim()")
    assert heading, f"{name}.html has no heading"
    asked = [line for line in Server.asked if "favicon" not in line]
    assert asked == [f"200 /gallery/{name}.html"], f"{name}.html asks for {asked}"


def test_the_playground_simulates_from_a_folder_of_any_host(open_at):
    if not (FOLDER / "playground").is_dir():
        missing("the pages have no playground: make web builds its engine")
    browser = open_at("playground/index.html")
    deadline = time.monotonic() + 60
    while not browser.execute_script("return document.documentElement.dataset.ready !== undefined"):
        assert time.monotonic() < deadline, "the playground is not ready after a minute"
        time.sleep(0.05)
    rows = browser.execute_script("return document.querySelectorAll('#table-box tbody tr').length")
    assert rows >= 3, f"the table has {rows} rows"
