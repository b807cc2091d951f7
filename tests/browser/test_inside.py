"""A report with the simulator inside: FIRSTFLIGHT_REPORT names one that a program with an engine has written, FIRSTFLIGHT_SERVE that program."""

import json
import os
import pathlib
import subprocess
import time

import pytest

missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip

TABLE = """
    return Object.fromEntries([...document.querySelectorAll("#table-box [data-row] [data-column]")].map((cell) =>
        [`${cell.closest("[data-row]").dataset.row} ${cell.dataset.column}`, [cell.querySelector(".value, .word").textContent, cell.querySelector(".printed")?.textContent ?? null]]))"""
SLIDE = """
    const slider = document.getElementById(`slider-${arguments[0]}`);
    slider.value = arguments[1];
    slider.dispatchEvent(new Event("input", { bubbles: true }))"""


@pytest.fixture(scope="session")
def report():
    path = pathlib.Path(os.environ.get("FIRSTFLIGHT_REPORT") or missing("FIRSTFLIGHT_REPORT does not name a report to open"))
    if 'id="engine"' not in path.read_text():
        missing("the report has no simulator inside: make web builds it before make browser writes the report")
    return path.resolve()


def until(browser, text):
    deadline = time.monotonic() + 60
    while not (value := browser.execute_script(text)):
        assert time.monotonic() < deadline, f"never: {text}"
        time.sleep(0.05)
    return value


COMPUTED = "return !document.getElementById('computed').hidden && document.getElementById('computed').textContent"
PROBLEM = "return !document.getElementById('inside-problem').hidden && document.getElementById('inside-problem').textContent"
DRAWN = "return document.querySelector('#window .line.window').getAttribute('d')"


def test_a_slider_computes_anew_and_the_printed_numbers_stay_beside(browser, report, open_page):
    open_page(report)
    printed, drawn = browser.execute_script(TABLE), browser.execute_script(DRAWN)
    lead = browser.execute_script("return document.querySelector('main').innerText.split('What if')[0]")
    assert not browser.execute_script(COMPUTED)
    browser.execute_script(SLIDE, "queue", 700)
    assert "queue=" in until(browser, COMPUTED)
    now = browser.execute_script(TABLE)
    assert now.keys() == printed.keys()
    changed = [key for key, (value, before) in now.items() if before is not None]
    assert changed and all(now[key] == [now[key][0], f"printed {printed[key][0]}"] for key in changed)
    assert all(now[key][0] == printed[key][0] for key in now.keys() - set(changed))
    assert browser.execute_script(DRAWN) != drawn
    assert browser.execute_script("return document.querySelector('main').innerText.split('What if')[0]") == lead
    # Sorting draws the table anew.
    browser.execute_script("document.querySelector('#table-box th button').click()")
    assert browser.execute_script(TABLE) == now
    browser.execute_script("document.getElementById('as-printed').click()")
    assert browser.execute_script(TABLE) == printed and browser.execute_script(DRAWN) == drawn
    assert not browser.execute_script(COMPUTED)


def test_what_the_page_computes_is_what_the_program_computes(browser, report, open_page):
    program = os.environ.get("FIRSTFLIGHT_SERVE") or missing("FIRSTFLIGHT_SERVE does not name the program")
    open_page(report)
    browser.execute_script(SLIDE, "rate", 400)
    until(browser, COMPUTED)
    command = browser.execute_script("return document.getElementById('command').textContent")
    shown = browser.execute_script("return [...document.querySelectorAll('#table-box [data-row]')].map((row) => [row.dataset.row, row.querySelector('[data-column=packets_sent], [data-column=ttlb_ms]').textContent])")
    done = subprocess.run(f"{command.replace('firstflight', program, 1)} --json -", shell=True, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["results"]
    assert [arm for arm, _ in shown] == [row["arm"] for row in rows]
    for (_, text), row in zip(shown, rows):
        value = float("".join(c for c in text.split("printed")[0] if c.isdigit() or c == "."))
        # A decimal below a second, whole milliseconds above.
        assert abs(value - row["ttlb_ms"]) <= (0.06 if row["ttlb_ms"] < 1000 else 0.51), (text, row["ttlb_ms"])


def test_a_simulator_of_another_version_computes_nothing(browser, report, open_page, tmp_path):
    text = report.read_text()
    before, data = text.split('id="data">', 1)
    printed, after = data.split("</script>", 1)
    read = json.loads(printed)
    read["table"]["rows"][0]["values"][0] += 1
    (tmp_path / "other.html").write_text(f'{before}id="data">{json.dumps(read)}</script>{after}')
    open_page(tmp_path / "other.html")
    browser.execute_script(SLIDE, "rate", 400)
    assert "different version" in until(browser, PROBLEM)
    assert not browser.execute_script(COMPUTED)


def test_what_cannot_be_computed_is_one_sentence(browser, report, open_page):
    open_page(report)
    browser.execute_script("document.getElementById('slider-bytes').max = 4000")
    browser.execute_script(SLIDE, "bytes", 4000)
    said = until(browser, PROBLEM)
    assert said.startswith("--bytes") and "\n" not in said, said
    browser.execute_script("document.getElementById('slider-bytes').max = 1000")
    browser.execute_script(SLIDE, "bytes", 300)
    until(browser, COMPUTED)
    assert not browser.execute_script(PROBLEM)


SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture
def replay(browser, open_page):
    path = pathlib.Path(os.environ.get("FIRSTFLIGHT_REPLAY") or missing("FIRSTFLIGHT_REPLAY does not name a page to open"))
    if 'id="engine"' not in path.read_text():
        missing("the page of the replay has no simulator inside")
    open_page(path.resolve())
    return browser


COMPUTED_ROWS = """
    return [...document.querySelectorAll("[data-computed]")].map((row) => [row.dataset.computed, ...[...row.querySelectorAll("td .value")].slice(0, 5).map((cell) => Number(cell.textContent))])"""


def test_the_page_of_a_replay_replays_a_file_with_other_algorithms(replay):
    program = os.environ.get("FIRSTFLIGHT_SERVE") or missing("FIRSTFLIGHT_SERVE does not name the program")
    file = SAMPLES / "plain.pcap.gz"
    arms = "slowstart,hystart,hystart++(cap=2)"
    replay.execute_script("document.getElementById('inside-arms').value = arguments[0]", arms)
    replay.find_element("id", "inside-file").send_keys(str(file))
    until(replay, "return !document.getElementById('computed').hidden")
    done = subprocess.run([program, "replay", str(file), "--arms", arms, "--json", "-"], capture_output=True, text=True, check=True)
    verdicts = json.loads(done.stdout)["verdicts"]
    assert replay.execute_script(COMPUTED_ROWS) == [[row["arm"], *[row[key] for key in ("connections", "early", "right", "late", "silent")]] for row in verdicts]
    assert "plain.pcap.gz" in replay.execute_script("return document.getElementById('computed').textContent")
    replay.execute_script("const arms = document.getElementById('inside-arms'); arms.value = 'warp'; arms.dispatchEvent(new Event('change'))")
    said = until(replay, "const text = document.getElementById('inside-problem').textContent; return text && !text.includes('…') && text")
    assert "unknown arm or startup `warp`" in said and "\n" not in said, said


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits(browser, report, open_page, width):
    open_page(report)
    browser.show(width, "light")
    browser.execute_script(SLIDE, "rate", 400)
    until(browser, COMPUTED)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
