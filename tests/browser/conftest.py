"""One headless browser for all pages.

Chromium and its driver are looked up on the PATH, or named by CHROMIUM and CHROMEDRIVER. With CI=true nothing may be missing.
`make browser` does all of it.
"""

import os
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
from selenium.webdriver.chrome.service import Service  # noqa: E402

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1280,1000",
]


def program(variable, *names):
    return os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    chromium = program("CHROMIUM", "chromium", "chromium-browser", "google-chrome")
    driver = program("CHROMEDRIVER", "chromedriver")
    if not chromium or not driver:
        missing("chromium and chromedriver are needed to look at a report, and at least one is missing")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver))
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser):
    """Opens a page, light and at the window's own size, and looks afterwards whether the console stayed silent."""
    def go(path):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(path.as_uri())

    yield go
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert not errors, f"the console says {errors}"
