"""The pages of `ab`, `advise`, `diff`, `replay` and `reproduce` in a real browser.

FIRSTFLIGHT_AB and so on name them; `make browser` makes all and runs this.
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

KINDS = ["ab", "advice", "diff", "replay", "reproduction"]
PAGES = {kind: f"FIRSTFLIGHT_{kind.upper()}" for kind in KINDS}


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        self.path = path
        self.data = json.loads(self.script("return document.getElementById('data').textContent"))

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.all(selector)
        assert len(found) == 1, f"{len(found)} elements match {selector}"
        return found[0]

    def colour(self, selector, part="backgroundColor"):
        text = self.script("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, part)
        return [float(number) for number in text[text.index("(") + 1 : -1].split(",")[:3]]


def opened(kind, browser, open_page):
    path = os.environ.get(PAGES[kind])
    if not path:
        missing(f"{PAGES[kind]} does not name a page to open")
    path = pathlib.Path(path).resolve(strict=True)
    open_page(path)
    return Page(browser, path)


@pytest.fixture(params=sorted(PAGES))
def page(request, browser, open_page):
    return opened(request.param, browser, open_page)


@pytest.fixture
def reproduction(browser, open_page):
    return opened("reproduction", browser, open_page)


@pytest.fixture
def ab(browser, open_page):
    return opened("ab", browser, open_page)


@pytest.fixture
def replay(browser, open_page):
    return opened("replay", browser, open_page)


@pytest.fixture
def diff(browser, open_page):
    return opened("diff", browser, open_page)


def test_the_page_is_drawn_to_its_end_and_asks_the_network_for_nothing(page):
    assert page.script("return document.documentElement.dataset.ready") == "", "the script ran to its end"
    requests = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    outside = [url for url in asked if not url.startswith("data:") and url != page.path.as_uri()]
    assert page.path.as_uri() in asked, "the log of requests does not even hold the page: the test sees nothing"
    assert not outside, f"the page asks for {outside}"


def test_no_line_has_a_corner_that_is_no_number(page):
    bad = page.script("return [...document.querySelectorAll('.plot svg *')].filter((e) => /NaN|undefined|Infinity/.test(e.outerHTML)).map((e) => e.outerHTML.slice(0, 120))")
    assert not bad, f"drawn without a number: {bad[:3]}"
    empty = page.script("return [...document.querySelectorAll('.plot svg')].filter((e) => !e.querySelector('.mark, .line, .samples')).length")
    assert empty == 0, f"{empty} charts are empty"


def test_every_chart_has_a_name_that_says_its_values(page):
    for image in page.all(".plot svg[role=img]"):
        name = image.accessible_name
        assert any(character.isdigit() for character in name), f"a chart says no value: {name!r}"


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_nothing_sticks_out_sideways(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.browser.refresh()
    for summary in page.all("details.table > summary"):
        page.script("arguments[0].click()", summary)
    assert page.script("return document.documentElement.scrollWidth") <= width
    wide = page.script("return [...document.querySelectorAll('.plot svg')].map((s) => s.getBoundingClientRect().right)")
    assert max(wide) <= width, f"a chart ends at {max(wide)} of {width}"


def test_a_reader_has_nothing_to_complain_about(page):
    for summary in page.all("details.table > summary, details.columns > summary"):
        page.script("arguments[0].click()", summary)
    found = complaints_everywhere(page.browser)
    assert not found, "\n".join(found)


def test_dark_follows_the_system_and_the_button_overrides_it(page):
    assert min(page.colour("body")) > 200, "light page"
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    assert max(page.colour("body")) < 60, "the system turned dark"
    page.one("#theme").click()
    assert min(page.colour("body")) > 200, "the button turned the page light again"


def test_headings_skip_no_level_and_controls_have_names(page):
    levels = [int(heading.tag_name[1]) for heading in page.all("h1, h2, h3")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:])), f"a level of headings is skipped: {levels}"
    for button in page.all("button"):
        assert button.accessible_name, f"a control has no name: {button.get_attribute('outerHTML')[:80]}"


def test_the_page_opens_with_its_finding(page):
    if page.data.get("advice"):
        finding = page.one("h1")
        assert finding.text == " ".join(page.data["advice"]["finding"].split())
    else:
        finding = page.one("#finding")
        assert finding.text == " ".join(page.data["finding"].split())
    assert finding.text.endswith("."), "it is a sentence"
    tops = page.script("return [...document.querySelectorAll('main h2, main table, main .plot')].map((e) => e.getBoundingClientRect().top)")
    assert finding.rect["y"] < min(top for top in tops if top), "nothing stands above it"


def test_every_chart_and_the_data_can_be_saved(page):
    charts = page.all("main figure")
    assert charts
    for chart in charts:
        kinds = [button.text for button in chart.find_elements(By.CSS_SELECTOR, "button.save")]
        assert kinds == ["SVG", "PNG"], f"a chart is saved as {kinds}"
    assert page.one("#save-data").is_displayed()


def test_every_exit_of_a_replay_is_marked_and_read(replay):
    data = replay.data
    marks = replay.all("#exits .plot .mark")
    exits = [one for row in data["connections"] for one in row["startups"] if one["bdp_ratio"] is not None]
    assert len(marks) >= len(exits) > 0
    line = data["lines"][0]
    row = data["connections"][line["connection"]]
    course = replay.all(".course")[0]
    seen = [one for one in row["startups"] if one["time_ms"] is not None and one["time_ms"] <= line["to_ms"]]
    plots = course.find_elements(By.CSS_SELECTOR, ".plot")
    for plot in plots:
        assert len(plot.find_elements(By.CSS_SELECTOR, ".mark")) == len(seen)
    replay.script("arguments[0].scrollIntoView({block: 'center'})", plots[0])
    ActionChains(replay.browser).move_to_element(plots[0]).perform()
    assert "In flight" in replay.one("#reading").text
    assert len(course.find_elements(By.CSS_SELECTOR, ".crosshair")) == len(plots), "the line runs through all charts"


def test_inner_signals_are_drawn_when_they_are_asked_for(replay):
    details = replay.all(".course details")[0]
    assert not details.find_elements(By.CSS_SELECTOR, "figure")
    details.find_element(By.CSS_SELECTOR, "summary").click()
    figures = details.find_elements(By.CSS_SELECTOR, "figure")
    assert figures and all(figure.find_elements(By.CSS_SELECTOR, "path.line[d^=M]") for figure in figures)


def test_a_diff_shows_every_change_with_its_direction(diff):
    changes = diff.data["diff"]["changes"]
    assert changes
    rows = "section[aria-labelledby=changes] table.rows tbody"
    assert len(diff.all(f"{rows} tr")) == len(changes)
    senses = [cell.get_property("textContent").split(" ")[0] for cell in diff.all(f"{rows} td:last-child")]
    told = ["" if one["sense"] == "other" else one["sense"] for one in changes]
    assert [sense for sense in senses if sense != "in"] == [sense for sense in told if sense]
    assert diff.all(f"{rows} .remark"), "several seeds give intervals"


def test_every_picture_and_series_of_the_reproductions_is_drawn(reproduction):
    for chapter in reproduction.data["chapters"]:
        figures = reproduction.all(f"[id='figures-{chapter['name']}'] figure")
        assert len(figures) == len(chapter["figures"]), f"pictures of {chapter['name']}"
        for figure, spec in zip(figures, chapter["figures"]):
            assert spec["name"] in figure.text
            for series in spec["series"]:
                assert series["name"] in figure.text, f"{series['name']} stands in the legend of {spec['name']}"
            for band in spec["bands"]:
                assert band["name"] in figure.text, f"{band['name']} is named in {spec['name']}"


def test_the_pointer_reads_the_values_of_a_curve(reproduction):
    chapters = [(chapter["name"], index, figure) for chapter in reproduction.data["chapters"] for index, figure in enumerate(chapter["figures"])]
    name, index, spec = next(one for one in chapters if one[2]["shape"] == "step")
    plot = reproduction.all(f"[id='figures-{name}'] figure")[index].find_element(By.CSS_SELECTOR, ".plot")
    reproduction.script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(reproduction.browser).move_to_element(plot).perform()
    read = reproduction.one("#reading").text
    shown = [series["name"] for series in spec["series"] if not series["published"]]
    assert all(one in read for one in shown), f"the reading has {read!r}, the picture {shown}"


def test_every_number_of_the_reproductions_has_a_row(reproduction):
    rows = {cell.get_attribute("textContent").split("#")[0] for cell in reproduction.all("table.rows td.name:first-child")}
    for chapter in reproduction.data["chapters"]:
        for figure in chapter["figures"]:
            assert set(figure["rows"]) <= rows, f"{figure['name']} belongs to rows that are not there: {figure['rows']}"


def test_the_first_words_of_an_ab_page_say_what_to_deploy(ab):
    decision = ab.data["analysis"]["decision"]
    told = [decision["sentence"], *decision["notes"]]
    assert told[0], "the sample is large enough to say something"
    box = ab.one("#recommendation").text
    for line in told:
        assert " ".join(line.split()) in " ".join(box.split()), f"{line!r} is not on the page"
