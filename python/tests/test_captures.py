"""Captures give the answers of the command, to the byte."""

from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, command

import firstflight as ff

PLAIN = ROOT / "samples" / "plain.pcap.gz"
SATELLITE = ROOT / "samples" / "satellite.pcap.gz"


@pytest.fixture(scope="module")
def replayed() -> ff.Replay:
    return ff.replay(PLAIN, "slowstart,hystart++")


def test_a_replay_is_that_of_the_command(replayed: ff.Replay, binary: str) -> None:
    words = ["replay", str(PLAIN), "--arms", "slowstart,hystart++"]
    assert replayed.to_json() == command(binary, *words, "--json", "-")
    header, *lines = command(binary, *words, "--format", "csv").splitlines()
    assert replayed.rows.column_names == header.split(",") and len(replayed.rows) == len(lines)


def test_verdicts_count_the_rows(replayed: ff.Replay) -> None:
    frame = pd.DataFrame(replayed.rows)
    for row in replayed.verdicts:
        own = frame[frame["arm"] == row["arm"]]
        assert len(own) == row["connections"] == 6
        assert (own["verdict"] == "early").sum() == row["early"]
    assert "hystart++" in repr(replayed) and not replayed.warnings


def test_senders_are_identified_as_the_command_does(binary: str) -> None:
    replayed = ff.replay(PLAIN, "slowstart", identify=True)
    assert replayed.to_json() == command(binary, "replay", str(PLAIN), "--arms", "slowstart", "--identify", "--json", "-")
    assert len(replayed.identified) == 6 and all(row["why"] for row in replayed.identified)
    some = ff.replay(PLAIN, "slowstart", identify=["slowstart", ff.Arm("bbr")])
    assert {one["startup"] for row in some.data["connections"] for one in row["identified"]["candidates"]} == {"slowstart", "bbr"}


def test_a_replay_has_a_report(replayed: ff.Replay, tmp_path: Path) -> None:
    replayed.report(tmp_path / "replay.html")
    assert "firstflight.replay(...)" in (tmp_path / "replay.html").read_text()


def test_advice_is_that_of_the_command(binary: str, tmp_path: Path) -> None:
    advice = ff.advise([SATELLITE], arms=["hystart", ff.Arm("rapid")], flows=300)
    expected = command(binary, "advise", str(SATELLITE), "--arms", "hystart,rapid", "--flows", "300", "--json", "-")
    assert advice.to_json() == expected
    assert advice.finding in repr(advice) and "Check" in advice.lines
    assert len(advice.paths) == 5 and advice.paths[0]["rtt_ms"] > 0
    assert {row["arm"] for row in advice.results} == {"slowstart", "hystart", "rapid"}
    advice.report(tmp_path / "advice.html")
    assert advice.data["advice"]["finding"] == advice.finding


def test_what_is_wrong_is_said_as_the_command_says_it(tmp_path: Path) -> None:
    with pytest.raises(ff.Refused, match="cannot be read"):
        ff.replay(tmp_path / "nothing.pcap")
    with pytest.raises(ff.Refused, match="flows 0: is zero"):
        ff.advise(PLAIN, flows=0)
    with pytest.raises(ff.Refused, match="unknown arm or startup"):
        ff.replay(PLAIN, "rapdi")
