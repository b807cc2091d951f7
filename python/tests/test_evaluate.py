"""What RFC 9743 asks, of arms and of startups written in Python."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import command
from test_startup import Broken, SlowStart

import firstflight as ff


def test_an_evaluation_is_the_bytes_of_the_command(binary: str, tmp_path: Path) -> None:
    result = ff.evaluate("hystart++", criteria=["7.11"], effort="quick", seed=3)
    words = ["hystart++", "--criteria", "7.11", "--quick", "--seed", "3"]
    assert result.to_json() == command(binary, "evaluate", *words, "--json", "-")
    assert result.criteria.column("section") == ["7.11"]
    assert result.criteria.column("rules") == [len(result.rules)]
    assert set(result.rules.column("verdict")) <= {"pass", "concern", "undecided", "report"}
    result.annex(tmp_path / "annex.md")
    assert "{{!RFC9743}}" in (tmp_path / "annex.md").read_text()
    result.annex(tmp_path / "annex.xml")
    annex = ElementTree.parse(tmp_path / "annex.xml").getroot()
    assert annex.findtext("name") == "Evaluation of hystart++"
    assert [section.get("anchor") for section in annex.iter("section")] == ["evaluation", "evaluation-7.11", "evaluation-scope"]
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "firstflight.evaluate(...)" in page
    assert '"x_mbps"' in page, "the cell that decided, over time"


def test_a_startup_in_python_has_the_seat_of_ours() -> None:
    # The default baseline is slow start, and who is held against itself draws seeds of its own.
    both = [ff.evaluate(arm, baseline="rapid", criteria=["7.11"], effort="quick") for arm in (SlowStart, "slowstart")]
    own, ours = both
    assert own.troubles == []
    assert own.data["algorithm"] == "SlowStart"
    assert own.rules.to_dicts() == ours.rules.to_dicts()


def test_what_it_raises_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        ff.evaluate(Broken, criteria=["7.11"], effort="quick")


def test_a_declaration_is_held_against_it(tmp_path: Path) -> None:
    file = tmp_path / "declared.toml"
    file.write_text("initial_window = 3\n")
    wrong = ff.evaluate("slowstart", criteria=["7.11"], effort="quick", declare=file)
    assert any("initial" in trouble for trouble in wrong.troubles), wrong.troubles
    file.write_text("initial_widow = 3\n")
    with pytest.raises(ff.Refused, match="initial_widow"):
        ff.evaluate("slowstart", criteria=["7.11"], effort="quick", declare=file)


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(ff.Refused, match="allowed: quick, standard, full"):
        ff.evaluate("rapid", effort="slow")  # type: ignore[arg-type]
    with pytest.raises(ff.Refused, match="no criterion"):
        ff.evaluate("rapid", criteria=["6.5"])


def test_its_json_is_an_object_with_all_criteria() -> None:
    result = ff.evaluate("rapid", criteria=["7.11"], effort="quick")
    assert json.loads(result.to_json())["criteria"][0]["section"] == "7.11"
    assert "rapid" in result.summary
