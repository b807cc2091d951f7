"""One headless browser for all pages.

Chromium and its driver, or with BROWSER=firefox Firefox and geckodriver, are looked up on the PATH, or named by CHROMIUM, CHROMEDRIVER,
FIREFOX and GECKODRIVER. With CI=true nothing may be missing. `make browser` does all of it.
"""

import os
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.firefox.service import Service as FirefoxService  # noqa: E402

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


class Chromium(webdriver.Chrome):
    themes = ("light", "dark")

    def show(self, width=None, theme=None):
        """At the window's own size, or at this width; in the system's colours, or in these."""
        if width is None:
            self.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        else:
            self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}] if theme else []})

    def complaints(self):
        """What the console has said since the last time."""
        return [entry["message"] for entry in self.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


class Firefox(webdriver.Firefox):
    # It has no command for the system's colours.
    themes = ("light",)

    def __init__(self, **options):
        super().__init__(**options)
        self.heard = []
        self.script.add_javascript_error_handler(lambda entry: self.heard.append(entry.text))
        self.script.add_console_message_handler(lambda entry: entry.level in ("error", "warn") and self.heard.append(entry.text))

    def show(self, width=None, theme=None):
        self.browsing_context.set_viewport(context=self.current_window_handle, viewport={"width": width or 1280, "height": 900})

    def complaints(self):
        heard, self.heard = self.heard, []
        return heard


def chromium(folder, quic=None):
    """With this folder for what it keeps; `quic` is the port and public key of a server on this machine that it may speak QUIC to."""
    binary = program("CHROMIUM", "chromium", "chromium-browser", "google-chrome")
    driver = program("CHROMEDRIVER", "chromedriver")
    if not binary or not driver:
        missing("chromium and chromedriver are needed to look at a page, and at least one is missing")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    flags = [*FLAGS, f"--user-data-dir={folder}"]
    if quic:
        port, key = quic
        # Of options that are given twice the last one counts.
        flags.remove("--disable-quic")
        flags += ["--enable-quic", f"--origin-to-force-quic-on=localhost:{port}", f"--ignore-certificate-errors-spki-list={key}"]
        flags.append("--host-resolver-rules=MAP localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chromium(options=options, service=Service(driver))


def firefox():
    binary = program("FIREFOX", "firefox", "firefox-esr")
    driver = program("GECKODRIVER", "geckodriver")
    if not binary or not driver:
        missing("firefox and geckodriver are needed, and at least one is missing")
    options = webdriver.FirefoxOptions()
    options.binary_location = binary
    options.add_argument("-headless")
    options.enable_bidi = True
    return Firefox(options=options, service=FirefoxService(driver))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    driver = firefox() if os.environ.get("BROWSER") == "firefox" else chromium(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser):
    """Opens a page, light and at the window's own size, and looks afterwards whether the console stayed silent."""
    def go(path):
        browser.show(theme="light")
        browser.complaints()
        if isinstance(browser, Chromium):
            browser.get_log("performance")
        browser.get(path.as_uri())

    yield go
    errors = browser.complaints()
    assert not errors, f"the console says {errors}"
