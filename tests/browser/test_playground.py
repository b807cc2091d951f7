"""The playground in a real browser: `firstflight ui` with the engine that FIRSTFLIGHT_ENGINE_FILE names.

FIRSTFLIGHT_SERVE names the program. `make browser` has both and runs this.
"""

import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import urllib.request

import pytest

missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
pytest.importorskip("selenium", reason="selenium is not installed: pip install -r tests/browser/requirements.txt")
from look import complaints  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "web"))
from plans import native, plan  # noqa: E402

PLAYED = json.loads((HERE.parents[1] / "crates/firstflight-web/tests/it/played.json").read_text())
TOUR = json.loads((HERE.parents[1] / "crates/firstflight-web/page/tour.json").read_text())
# Enough to meet every kind of arm and path; tests/web/run.sh does more of them without a browser.
PLANS = int(os.environ.get("BROWSER_PLANS", "15"))
ASK = """
    const [request, done] = arguments;
    window.asked ??= import("/engine.js").then(({ Engine }) => Engine.load(fetch("/engine.wasm")));
    window.asked.then((engine) => done(engine.call(request)));
"""


@pytest.fixture(scope="session")
def program():
    return os.environ.get("FIRSTFLIGHT_SERVE") or missing("FIRSTFLIGHT_SERVE does not name the program")


@pytest.fixture(scope="session")
def site(program):
    engine = os.environ.get("FIRSTFLIGHT_ENGINE_FILE")
    if not engine:
        missing("FIRSTFLIGHT_ENGINE_FILE does not name an engine: make web builds one")
    server = subprocess.Popen([program, "ui", "--no-open", "--engine", engine], stdout=subprocess.PIPE, text=True)
    yield re.search(r"http://\S+/", server.stdout.readline())[0]
    server.terminate()
    server.wait()


class Page:
    def __init__(self, browser, site):
        self.browser = browser
        self.site = site

    def open(self, address=""):
        self.browser.get("about:blank")
        self.browser.get(self.site + address)
        self.until("return document.documentElement.dataset.ready !== undefined")
        return self

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def until(self, text, *arguments):
        deadline = time.monotonic() + 60
        while not (value := self.script(text, *arguments)):
            assert time.monotonic() < deadline, f"never: {text}"
            time.sleep(0.05)
        return value

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0]).textContent", selector)

    def after(self, act):
        """Does something and waits until the charts show what came of it."""
        before = self.script("return Number(document.documentElement.dataset.views ?? 0)")
        act()
        self.until("return Number(document.documentElement.dataset.views) > arguments[0]", before)

    def slide(self, key, position):
        self.after(lambda: self.script(
            "const s = document.getElementById(`slider-${arguments[0]}`); s.value = arguments[1]; s.dispatchEvent(new Event('input', {bubbles: true}))", key, position))

    def ask(self, request):
        return self.browser.execute_async_script(ASK, json.dumps(request))


@pytest.fixture
def page(browser, site):
    browser.show()
    browser.set_script_timeout(120)
    browser.complaints()
    yield Page(browser, site)
    errors = browser.complaints()
    assert not errors, f"the console says {errors}"


def words(command):
    first, *rest = shlex.split(command)
    assert first == "firstflight"
    return rest


def test_the_same_plan_gives_the_same_bytes_in_the_browser(page, program):
    page.open()
    facts = json.loads(page.ask({"do": "facts"})["text"])
    for number in range(PLANS):
        made = plan(facts, number)
        assert page.ask({"do": "compare", "plan": made}) == native(program, made), f"plan {number}: {made}"


def test_a_slider_changes_path_charts_table_and_command(page, program):
    page.open()
    before = page.text("#table-box")
    page.slide("rate", 300)
    command = page.text("#command")
    assert "rate=" in command and page.text("#table-box") != before
    done = subprocess.run([program, *words(command), "--json", "-"], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["results"]
    shown = page.script("return [...document.querySelectorAll('#table-box [data-row]')].map((row) => [row.dataset.row, row.querySelector('[data-column=ttlb_ms]').textContent])")
    assert [arm for arm, _ in shown] == [row["arm"] for row in rows]
    for (_, text), row in zip(shown, rows):
        number = float(re.sub(r"[^\d.]", "", text))
        assert abs(number - row["ttlb_ms"]) <= 0.06 * max(1, row["ttlb_ms"] / 1000), (text, row["ttlb_ms"])


def test_the_address_shows_the_same_again(page):
    page.open()
    page.slide("rtt", 700)
    page.slide("loss", 100)
    page.until("return location.hash.includes('loss')")
    address, command, table = page.script("return location.hash"), page.text("#command"), page.text("#table-box")
    page.open(address)
    assert page.text("#command") == command
    assert page.text("#table-box") == table


@pytest.mark.parametrize("address, sentence", [
    ("#arms=warp", "Unknown arm or startup `warp`"),
    ("#path=rate=-3", "rate=-3"),
    ("#zzz=1", "--zzz: unknown option"),
    ("#%00%ff&&&=&arms=", ""),
    ("#bytes=many", "--bytes many: is not a number"),
    ("#bytes=900GB&path=rate=900Gbit,rtt=1ms,queue=1bdp", ""),
    ("#" + "x" * 7000, "longer than"),
])
def test_nonsense_is_answered_with_a_sentence_and_nothing_freezes(page, address, sentence):
    page.browser.get("about:blank")
    page.browser.get(page.site + address)
    page.until("return document.documentElement.dataset.ready !== undefined && !document.getElementById('problem').hidden")
    said = page.text("#problem")
    assert sentence.lower() in said.lower() and "\n" not in said, said
    page.after(lambda: page.script("location.hash = '#path=rapid-slide&bytes=1MB&arms=slowstart'"))
    assert page.script("return document.getElementById('problem').hidden")


def test_what_happened_has_a_rule_and_can_be_walked_through(page):
    page.open("#path=rapid-slide&bytes=10MB&arms=slowstart,hystart%2B%2B&arm=1")
    said = page.text("#events")
    assert re.search(r"minimum RTT of this round 37\.4 ms ≥ 30\.0 \+ 4\.0: conservative slow start", said), said
    assert "RFC 9406 4.2" in said
    place = lambda: int(re.search(r"(\d+) of", page.text("#step-at"))[1])  # noqa: E731
    page.script("document.querySelector('#events button').click()")
    page.until("return document.getElementById('step-at').textContent !== ''")
    first = place()
    assert "css" in page.text("#step")
    for button, by in (("on", 1), ("back", 0)):
        page.script("document.getElementById(arguments[0]).click()", button)
        page.until("return document.getElementById('step-at').textContent.includes(`${arguments[0]} of`)", first + by)
        assert place() == first + by


@pytest.mark.parametrize("stop", TOUR, ids=[stop["title"] for stop in TOUR])
def test_the_tour_says_what_is_seen(page, program, stop):
    rows = json.loads(native(program, stop["plan"] | {"repeat": "1"})["text"])["results"]
    for shows in stop["shows"]:
        value = rows[shows["arm"]]
        for key in shows["field"].split("."):
            value = value[int(key) if key.isdigit() else key]
        number = shows["text"].split()[0]
        decimals = len(number.partition(".")[2])
        assert f"{value * shows['times']:.{decimals}f}" == number, (shows, value)
        assert shows["text"] in stop["says"]
    page.open()
    button = next(one for one in page.browser.find_elements(By.CSS_SELECTOR, "#tour button") if one.text == stop["title"])
    page.after(button.click)
    assert page.text("#tour p") == stop["says"] and button.get_attribute("aria-pressed") == "true"
    assert stop["plan"]["arms"] in page.text("#command")
    # The finding states the measure that the story is about, and the arms differ in it.
    finding = page.text("#finding")
    label, values = finding.split(": ", 1)
    if "measure" in stop:
        assert label == stop["measure"]["label"]
        numbers = re.findall(r"\d+\.\d", values)
        assert len(numbers) == len(rows) and len(set(numbers)) > 1, finding
    else:
        assert "is fastest" in label, finding
    page.slide("loss", 100)
    assert page.text("#tour p") == "" and page.script("return document.querySelectorAll('#tour [aria-pressed=true]').length") == 0


def test_rate_and_round_trip_keep_the_queue_in_bdps_and_a_covered_line_is_wider(page):
    page.open("#path=rapid-slide&bytes=3MB&arms=slowstart,hystart%2B%2B,plumb")
    assert page.text("#queue-shown") == "1 BDP" and "queue=" not in page.text("#command")
    for key in ("rtt", "rate"):
        page.slide(key, 900)
        assert page.text("#queue-shown") == "1 BDP" and "queue=1bdp" in page.text("#command"), key
    # Neither leaves slow start here, so that one line lies on the other.
    classes = page.script("return [...document.querySelectorAll('#window .line.window')].map((line) => line.getAttribute('class'))")
    assert classes == ["line window under-1", "line window", "line window"], classes


def test_a_save_button_names_its_chart(page):
    page.open()
    names = [button.accessible_name for button in page.browser.find_elements(By.CSS_SELECTOR, "figure .save")]
    assert names[:2] == ["Save as SVG: cwnd and bytes in flight", "Save as PNG: cwnd and bytes in flight"], names


def test_the_heat_map_has_every_path_and_a_cell_leads_there(page):
    page.open("#path=rapid-slide&bytes=1MB&arms=slowstart,rapid")
    page.until("return document.getElementById('grid').dataset.done")
    cells = page.script("return [...document.querySelectorAll('#grid td')].map((cell) => cell.textContent)")
    assert len(cells) == 72 and all(float(cell) >= 1 for cell in cells), cells
    page.after(lambda: page.script("document.querySelector('#grid [data-cell=\"4bdp 320ms\"] button').click()"))
    assert "rtt=320ms" in page.text("#command") and "queue=4bdp" in page.text("#command")


def given(page, path):
    page.browser.find_element(By.ID, "capture").send_keys(str(path))
    return page.until("const text = document.getElementById('replay-state').textContent; return text.includes('…') ? null : text")


def test_a_capture_is_replayed_and_a_broken_one_says_so(page, tmp_path):
    page.open()
    samples = HERE.parents[1] / "samples"
    assert "with enough ACKs" in given(page, samples / "plain.pcap.gz")
    rows = page.script("return [...document.querySelectorAll('#replay-box tbody tr')].map((row) => row.textContent)")
    assert any(row.startswith("hystart++") for row in rows), rows
    whole = gzip.decompress((samples / "plain.pcap.gz").read_bytes())
    (tmp_path / "cut.pcap").write_bytes(whole[: len(whole) * 2 // 3 + 7])
    assert given(page, tmp_path / "cut.pcap").startswith("Partial: cut.pcap")
    (tmp_path / "noise.pcap").write_bytes(bytes(range(256)) * 40)
    assert "unknown format" in given(page, tmp_path / "noise.pcap")
    with open(tmp_path / "large.pcap", "wb") as file:
        file.truncate(10**9)
    assert "1 GB" in given(page, tmp_path / "large.pcap").replace("\u202f", " ")
    page.slide("rate", 400)


def test_a_recorded_game_has_the_same_score_as_without_a_browser(page):
    page.open()
    seen = page.ask({"do": "play", "round": PLAYED["round"], "windows": PLAYED["windows"], "until_ms": 10000, "points": 400})
    assert json.loads(seen["text"])["over"]["scores"][0] == PLAYED["score"]


def test_the_game_is_played_with_the_keyboard_and_scored_beside_every_arm(page):
    page.open("#path=rapid-slide&bytes=1MB&arms=slowstart&game=11")
    facts = json.loads(page.ask({"do": "facts"})["text"])
    page.script("document.getElementById('game-speed').value = '2'; document.getElementById('game-start').click()")
    window = page.browser.switch_to.active_element
    assert window.get_attribute("id") == "game-window"
    for key in (Keys.ARROW_UP, Keys.ARROW_UP, Keys.PAGE_UP, Keys.ARROW_DOWN):
        window.send_keys(key)
        time.sleep(0.2)
    page.until("return !document.getElementById('game-over').hidden")
    played = json.loads(page.script("return document.getElementById('game-over').dataset.played"))
    assert played["round"] == 11 and len(played["windows"]) >= 4, played
    over = json.loads(page.ask({"do": "play", **played, "until_ms": 10000, "points": 400})["text"])["over"]
    scores = {score["arm"]: score["points"] for score in over["scores"]}
    shown = dict(page.script("return [...document.querySelectorAll('#game-scores [data-score]')].map((row) => [row.dataset.score, Number(row.querySelector('td').textContent)])"))
    assert shown == scores and "you" in shown
    assert {row["name"] for row in facts["startups"]} <= set(shown)
    assert f"{scores['you']} points" in page.text("#game-finding") and over["path"] in page.text("#game-path")


def drop(page, name, text):
    """Drops a file of that name, or with no name something that is no file."""
    page.script("""
        const [name, text] = arguments;
        const dataTransfer = new DataTransfer();
        if (name) dataTransfer.items.add(new File([text], name));
        else dataTransfer.setData("text/plain", text);
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));""", name, text)


def test_what_is_dropped_and_is_no_recording_says_so_and_nothing_freezes(page):
    page.open()
    drop(page, None, "a line of text")
    assert page.text("#replay-state") == ""
    drop(page, "letter.txt", "Dear reader,")
    said = page.until("const text = document.getElementById('replay-state').textContent; return text.includes('…') ? null : text")
    assert "letter.txt" in said and "\n" not in said, said
    page.slide("rate", 400)
    assert page.script("return document.getElementById('problem').hidden")


def test_an_arm_that_was_switched_off_stays_so_while_a_slider_moves(page):
    page.open("#path=rapid-slide&bytes=1MB&arms=slowstart,rapid")
    shown = "return JSON.parse(document.getElementById('charts').dataset.shown)"
    toggle = "document.querySelector('[data-toggle=slowstart]').click()"
    page.slide("rate", 400)
    page.script(toggle)
    assert page.script(shown) == ["rapid"]
    page.slide("rate", 420)
    assert page.script(shown) == ["rapid"]
    assert page.script("return document.querySelector('[data-toggle=slowstart]').getAttribute('aria-pressed')") == "false"
    page.script(toggle)
    assert page.script(shown) == ["slowstart", "rapid"]


def test_once_a_slider_rests_everything_is_drawn(page):
    page.open()
    whole = page.script("return document.querySelector('#window .line.window').getAttribute('d').length")
    for position in (400, 410, 420):
        page.slide("queue", position)
    page.until("return !document.getElementById('charts').classList.contains('moving')")
    page.until("return document.querySelector('#window .line.window').getAttribute('d').length > arguments[0] / 2", whole)


def test_a_link_within_the_page_asks_for_nothing_else(page):
    page.open("#path=rapid-slide&bytes=1MB&arms=slowstart,rapid")
    before = page.text("#command")
    page.script("document.querySelector('.to-game').click()")
    page.slide("rate", 400)
    assert page.script("return document.getElementById('problem').hidden")
    assert "rapid-slide" in before and "rate=" in page.text("#command")


def test_it_can_be_used_with_the_keyboard(page):
    page.open()
    page.script("document.getElementById('slider-queue').focus()")
    page.after(lambda: page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT))
    assert "queue=" in page.text("#command")
    named = page.script("""
        return [...document.querySelectorAll("input, select, button")].filter((one) =>
            !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label"))).map((one) => one.outerHTML)""")
    assert not named, f"without a name: {named}"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_can_be_read(page, width, theme):
    if theme not in page.browser.themes:
        pytest.skip(f"this browser cannot be asked for {theme} colours")
    page.browser.show(width, theme)
    page.open()
    assert page.script("return document.documentElement.scrollWidth <= innerWidth")
    found = complaints(page.browser, width)
    assert not found, "\n".join(found)


def test_nothing_is_asked_of_anybody_else(page):
    page.open()
    addresses = page.script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert all(address.startswith(page.site) for address in addresses), addresses
    with urllib.request.urlopen(page.site) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert f'content="{policy}"' in answer.read().decode(), "the page and its server say different policies"
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy and "'wasm-unsafe-eval'" in policy
