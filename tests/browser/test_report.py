"""The report of `firstflight compare` in a real browser.

FIRSTFLIGHT_REPORT names the page; make one first, for instance with
`firstflight compare --repeat 5 --report /tmp/report.html`.
`make browser` makes one, finds a browser and runs this.
"""

import json
import os
import pathlib

import pytest

missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
pytest.importorskip("selenium", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from look import complaints_everywhere  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHARTS = ["window", "delivered", "queue", "phases"]


@pytest.fixture(scope="session")
def report():
    path = os.environ.get("FIRSTFLIGHT_REPORT")
    if not path:
        missing("FIRSTFLIGHT_REPORT does not name a report to open")
    return pathlib.Path(path).resolve(strict=True)


@pytest.fixture
def page(browser, report, open_page):
    open_page(report)
    return Page(browser, report)


class Page:
    """The page as these tests speak of it."""

    def __init__(self, browser, path):
        self.browser = browser
        self.path = path
        self.data = json.loads(self.script("return document.getElementById('data').textContent"))
        self.arms = [series["arm"] for series in self.data["series"]]

    def of(self, attribute, arm):
        """The element that carries this arm's name in an attribute, whatever characters the name has."""
        found = [element for element in self.all(f"[{attribute}]") if element.get_attribute(attribute) == arm]
        assert len(found) == 1, f"{len(found)} elements have {attribute}={arm!r}"
        return found[0]

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.all(selector)
        assert len(found) == 1, f"{len(found)} elements match {selector}"
        return found[0]

    def state(self):
        return self.script("return {...document.getElementById('charts').dataset}")

    def span(self):
        state = self.state()
        return float(state["from"]), float(state["to"])

    def drawn(self, chart):
        return set(self.script("return [...document.querySelectorAll(`#${arguments[0]} [data-arm]`)].map((g) => g.dataset.arm)", chart))

    def plot(self, chart):
        plot = self.one(f"[data-chart={chart}]")
        self.script("arguments[0].scrollIntoView({block: 'center'})", plot)
        return plot

    def drag(self, chart, start, end):
        """From one part of the width to another, both counted from the middle, -0.5 to 0.5."""
        plot = self.plot(chart)
        width = plot.size["width"]
        mouse = ActionChains(self.browser, duration=50).move_to_element_with_offset(plot, round(width * start), 0)
        mouse.click_and_hold().move_by_offset(round(width * (end - start)), 3).release().perform()

    def colour(self, selector, part="backgroundColor"):
        text = self.script("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, part)
        return [float(number) for number in text[text.index("(") + 1 : -1].split(",")[:3]]


def test_the_page_asks_the_network_for_nothing(page):
    page.drag("window", -0.2, 0.2)
    asked = []
    for entry in page.browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    outside = [url for url in asked if not url.startswith("data:") and url != page.path.as_uri()]
    assert page.path.as_uri() in asked, "the log of requests does not even hold the page: the test sees nothing"
    assert not outside, f"the page asks for {outside}"


def test_a_reader_has_nothing_to_complain_about(page):
    page.script("document.querySelector('#columns > summary').click()")
    found = complaints_everywhere(page.browser)
    assert not found, "\n".join(found)


def test_every_arm_is_in_every_chart_at_first(page):
    for chart in CHARTS:
        assert page.drawn(chart) == set(page.arms), f"the arms of the {chart} chart"
    for path in page.all("#charts path"):
        assert "NaN" not in (path.get_attribute("d") or ""), "a line has a corner that is not a number"


def test_a_toggle_takes_its_arm_out_of_all_charts_and_puts_it_back(page):
    arm = page.arms[0]
    button = page.of("data-toggle", arm)
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for chart in CHARTS:
        assert page.drawn(chart) == set(page.arms) - {arm}, f"{arm} is switched off in the {chart} chart"
    assert json.loads(page.state()["shown"]) == page.arms[1:]
    button.send_keys(Keys.SPACE)  # from the keyboard, too
    for chart in CHARTS:
        assert page.drawn(chart) == set(page.arms), f"{arm} is back in the {chart} chart"


def test_charts_without_any_arm_still_draw(page):
    for button in page.all("[data-toggle]"):
        button.click()
    assert page.state()["shown"] == "[]"
    page.drag("queue", -0.1, 0.1)


def test_the_lines_of_the_window_chart_can_be_chosen(page):
    for layer, selector in [("inflight", ".inflight"), ("ssthresh", ".ssthresh"), ("losses", ".loss")]:
        box = page.one(f"[data-layer={layer}]")
        for _ in range(2):
            box.click()
            drawn = bool(page.all(f"#window {selector}"))
            possible = layer != "losses" or any(series["losses"] for series in page.data["series"])
            assert drawn == (box.is_selected() and possible), f"{layer} is {'on' if box.is_selected() else 'off'}"


def test_a_drag_zooms_all_charts_and_a_double_click_or_the_button_resets(page):
    whole = page.span()
    reset = page.one("#reset")
    assert not reset.is_enabled(), "nothing to reset yet"
    for back in (lambda: reset.click(), lambda: ActionChains(page.browser).double_click(page.plot("queue")).perform()):
        page.drag("delivered", -0.25, 0.1)
        start, end = page.span()
        length = whole[1] - whole[0]
        assert 0.25 < (end - start) / length < 0.5, f"a third of {whole} was dragged over, and {start} to {end} is shown"
        assert reset.is_enabled()
        ticks = [page.script("return [...document.querySelectorAll(`#${arguments[0]} .tick[text-anchor=middle]`)].map((t) => t.textContent)", chart) for chart in CHARTS]
        assert all(labels == ticks[0] for labels in ticks), f"the time axes differ: {ticks}"
        back()
        assert page.span() == whole


def test_the_pointer_reads_the_values_of_the_shown_arms(page):
    hidden = page.arms[-1]
    page.of("data-toggle", hidden).click()
    plot = page.plot("window")
    ActionChains(page.browser).move_to_element_with_offset(plot, -100, 0).perform()
    shown = [row.get_attribute("data-reading") for row in page.all("#reading [data-reading]")]
    assert shown == page.arms[:-1], "the reading lists the shown arms"
    assert len(page.all("#charts .crosshair")) == len(CHARTS), "the line stands in every chart"
    t = float(page.state()["reading"])
    points = page.data["series"][0]["points"]
    cwnd = [value for time, value in zip(points["t_ms"], points["cwnd"]) if time <= t][-1]
    text = page.of("data-reading", page.arms[0]).find_element(By.CSS_SELECTOR, "td").text
    number, unit = text.replace("\u202f", " ").rsplit(" ", 1)
    read = float(number.replace(" ", "")) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    assert read == pytest.approx(cwnd, rel=0.006), f"the window at {t} ms is {cwnd}, and the page reads {text}"
    ActionChains(page.browser).move_to_element(page.one("h1")).perform()
    assert not page.one("#reading").is_displayed(), "the reading goes when the pointer leaves"


def test_the_keyboard_reads_zooms_and_resets(page):
    whole = page.span()
    plot = page.plot("window")
    plot.send_keys(Keys.ARROW_RIGHT)
    first = float(page.state()["reading"])
    plot.send_keys(Keys.ARROW_RIGHT)
    assert float(page.state()["reading"]) > first
    plot.send_keys("+")
    assert page.span()[1] - page.span()[0] == pytest.approx((whole[1] - whole[0]) / 2)
    plot.send_keys(Keys.ESCAPE)
    assert page.span() == whole


def test_dark_follows_the_system_and_the_button_overrides_it(page):
    assert min(page.colour("body")) > 200, "light page"
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    assert max(page.colour("body")) < 60, "the system turned dark"
    line = page.colour("#window .window", "stroke")
    button = page.one("#theme")
    button.click()
    assert min(page.colour("body")) > 200, "the button turned the page light again"
    assert page.colour("#window .window", "stroke") != line, "lines have another shade on a light page"
    button.click()
    assert max(page.colour("body")) < 60


def test_the_table_marks_the_best_and_shows_every_value(page):
    table = page.data["table"]
    rows = page.all("#table-box tbody tr")
    assert [row.get_attribute("data-row") for row in rows] == [row["arm"] for row in table["rows"]]
    for row, element in zip(table["rows"], rows):
        cells = element.find_elements(By.CSS_SELECTOR, "td")
        assert len(cells) == len(table["columns"])
        marked = [cell.get_attribute("data-column") for cell in cells if cell.get_attribute("data-best") is not None]
        assert marked == [c["key"] for c in table["columns"] if c["key"] in row["best"]], f"the marks of {row['arm']}"
        for cell in cells:
            assert ("★" in cell.text) == (cell.get_attribute("data-best") is not None)
            assert cell.text.strip(), "an empty cell says nothing"
        spreads = [s for s in row["spread"] if s and s["low"] != s["high"]]
        assert len(element.find_elements(By.CSS_SELECTOR, ".spread")) == len(spreads)


def test_a_click_on_a_column_sorts_and_its_explanation_is_at_hand(page):
    columns = page.data["table"]["columns"]
    index = next(i for i, column in enumerate(columns) if column["better"] == "low")
    page.all("#table-box th button")[index].click()
    tip = page.one("#tip")
    assert tip.is_displayed() and tip.text == columns[index]["explanation"]
    order = [row.get_attribute("data-row") for row in page.all("#table-box tbody tr")]
    values = {row["arm"]: row["values"][index] for row in page.data["table"]["rows"]}
    numbers = [value for value in values.values() if value is not None]
    assert [values[arm] for arm in order][: len(numbers)] == sorted(numbers), "a column that is better low starts with its lowest"


def test_the_words_are_there(page):
    body = page.one("body").text
    for text in [page.data["title"], page.data["command"], page.data["path"]["text"], page.data["version"]]:
        assert " ".join(text.split()) in " ".join(body.split()), f"{text!r} is nowhere on the page"
    for note in page.data["notes"]:
        assert note["text"] in body
    for row in page.data["table"]["rows"]:
        assert row["arm_full"] in body
    for series in page.data["series"]:
        card = page.of("data-arm-card", series["arm"])
        listed = len(card.find_elements(By.CSS_SELECTOR, ".episodes tbody tr"))
        assert listed == len(series["episodes"])
        if series["exit"]:
            assert series["exit"]["reason"] in card.text


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_nothing_sticks_out_sideways(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.browser.refresh()
    assert page.script("return document.documentElement.scrollWidth") <= width
    wide = page.script("return [...document.querySelectorAll('.plot svg')].map((s) => s.getBoundingClientRect().right)")
    assert max(wide) <= width, f"a chart ends at {max(wide)} of {width}"


def test_charts_and_controls_have_names(page):
    for chart in CHARTS:
        image = page.one(f"#{chart} svg[role=img]")
        assert image.accessible_name, f"the {chart} chart has no name"
        said = page.script("return document.getElementById(arguments[0]).textContent", image.get_attribute("aria-describedby"))
        assert all(arm in said for arm in page.arms), f"the description of the {chart} chart leaves arms out: {said}"
    for button in page.all("button, input"):
        assert button.accessible_name, f"a control has no name: {button.get_attribute('outerHTML')[:80]}"
    levels = [int(heading.tag_name[1]) for heading in page.all("h1, h2, h3")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:])), f"a level of headings is skipped: {levels}"


def test_it_prints_light_without_controls(page):
    page.one("#theme").click()
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert min(page.colour("body")) > 240, "paper is white"
        for selector in ("#theme", "#bar", "#copy"):
            assert not page.one(selector).is_displayed(), f"{selector} is of no use on paper"
        assert page.one("#print-legend").is_displayed()
        pdf = page.browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
        assert len(pdf["data"]) > 10_000
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_finding_stands_above_the_table(page):
    finding = page.one("#finding")
    assert finding.text == " ".join(page.data["finding"].split())
    assert finding.location["y"] < page.one("#table-box").location["y"]


def test_the_deficit_is_zero_for_nobody_and_grows_while_the_path_is_idle(page):
    # At the time of the exit everybody has delivered less than the ideal sender.
    page.script("document.querySelector('[data-chart=delivered]').focus()")
    heading = page.one("#delivered h3").text
    assert heading == ("Behind the ideal" if page.data["ideal"] else "Delivered bytes")
    paths = page.script("return [...document.querySelectorAll('#delivered [data-arm] path')].map((p) => p.getAttribute('d'))")
    assert len(paths) == len(page.arms) and all(path and "NaN" not in path for path in paths)


def test_every_chart_and_the_data_can_be_saved(page):
    page.script(
        "window.saved = [];"
        "const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(['blob', text])); return make(blob); };"
        "HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href.slice(0, 40)]); };"
    )
    for kind in ["SVG", "PNG"]:
        buttons = [button for button in page.all("button.save") if button.text == kind]
        assert len(buttons) == len(CHARTS)
        page.script("arguments[0].click()", buttons[0])
    page.script("document.getElementById('save-data').click()")
    # A PNG is made by the browser in its own time, and a blob says its text later, too.
    saved = page.browser.execute_async_script(
        "const done = arguments[0];"
        "const there = () => saved.some(([name]) => name.endsWith('.png')) && saved.filter(([name]) => name === 'blob').length >= 2 && saved.some(([name]) => name === 'firstflight.json');"
        "(function look() { there() ? setTimeout(() => done(saved), 200) : setTimeout(look, 50); })()"
    )
    names = [name for name, _ in saved]
    svg = next(text for name, text in saved if name == "blob" and text.startswith("<svg"))
    assert "var(--" not in svg and 'xmlns="http://www.w3.org/2000/svg"' in svg and " stroke=\"rgb(" in svg
    assert any(json.loads(text)["command"] == page.data["command"] for name, text in saved if name == "blob" and text.startswith("{"))
    assert any(name.endswith(".png") and href.startswith("data:image/png") for name, href in saved)
    assert any(name.endswith(".svg") for name in names) and "firstflight.json" in names
