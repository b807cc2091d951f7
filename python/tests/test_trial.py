"""Field tests give the answers of the command, to the byte."""

from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, command

import firstflight as ff

SAMPLE = ROOT / "samples" / "connections.csv.gz"


def test_an_answer_is_that_of_the_command(binary: str, tmp_path: Path) -> None:
    answer = ff.trial_analyse(SAMPLE, size="bytes", cluster="client", rtt="rtt_ms", stop_if="retransmitted > 9x", ratio="retransmitted/segments")
    words = [
        "trial",
        "analyse",
        str(SAMPLE),
        "--size",
        "bytes",
        "--cluster",
        "client",
        "--rtt",
        "rtt_ms",
        "--ratio",
        "retransmitted/segments",
        "--stop-if",
        "retransmitted > 9x",
    ]
    assert answer.to_json() == command(binary, *words, "--json", "-")
    header, line = command(binary, *words, "--format", "csv").splitlines()
    frame = pd.DataFrame(answer.results)
    assert set(frame.columns) < set(header.split(",")) and len(frame) == 1
    assert line.startswith("rapid,slowstart,") and frame["reduction_pct"][0] > 20
    assert answer.finding in repr(answer) and answer.finding.startswith("rapid: ")
    assert {row["part"] for row in answer.parts} == {"size", "rtt"}
    answer.report(tmp_path / "trial.html")
    assert answer.finding in (tmp_path / "trial.html").read_text()


def test_what_is_wrong_is_said_as_the_command_says_it() -> None:
    with pytest.raises(ff.Refused, match="did you mean `client`"):
        ff.trial_analyse(SAMPLE, size="bytes", cluster="cleint")
    with pytest.raises(ff.Refused, match="hope 0: allowed"):
        ff.trial_analyse(SAMPLE, hope=0)
