"""A tuning is that of the command, to the byte."""

from pathlib import Path

import pytest
from conftest import command

import firstflight as ff

WORDS = ["--budget", "60", "--flows", "100", "--holdout", "400"]


@pytest.fixture(scope="module")
def tuned() -> ff.Tuned:
    return ff.tune("slowstart@(iw=10..20)", "cdn", budget=60, flows=100, holdout=400)


def test_a_tuning_is_the_command_s_to_the_byte(binary: str, tuned: ff.Tuned) -> None:
    assert tuned.to_json() == command(binary, "tune", "slowstart@(iw=10..20)", *WORDS, "--json", "-")


def test_a_profile_has_the_default_and_the_tuned_value(tuned: ff.Tuned) -> None:
    values = tuned.profile.column("value")
    parameter = tuned.parameters[0]
    assert parameter["default"] in values and parameter["tuned"] in values, values
    assert parameter["name"] in str(tuned) and tuned.sentence in str(tuned)


def test_a_report_names_the_call(tuned: ff.Tuned, tmp_path: Path) -> None:
    tuned.report(tmp_path / "tune.html")
    assert "firstflight.tune(" in (tmp_path / "tune.html").read_text()


def test_a_wrong_range_is_refused() -> None:
    with pytest.raises(ff.Refused, match="allowed: 2 to 64"):
        ff.tune("hystart++(divisor=0..5)")
