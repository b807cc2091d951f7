"""A/B tests are those of the command, to the byte."""

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from conftest import command

import firstflight as ff

FLOWS = 300


@pytest.fixture(scope="module")
def result() -> ff.AbResult:
    return ff.ab("cdn", "jumpstart,rapid", flows=FLOWS, keep_rows=True)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"population": ff.Population("fixed-2025", rho=0.1), "seed": 3}, ["--population", "fixed-2025(rho=0.1)", "--seed", "3"]),
    (
        {"baseline": ff.Arm("hystart++"), "arms": [ff.Arm("rapid", jump=False), "best"], "iw": 20, "limit": 100},
        ["--baseline", "hystart++", "--arms", "rapid(jump=off),best", "--iw", "20", "--limit", "100"],
    ),
    ({"transport": "tcp", "arms": "hystart"}, ["--transport", "tcp", "--arms", "hystart"]),
]


@pytest.mark.parametrize(("given", "words"), CASES, ids=[" ".join(words) or "defaults" for _, words in CASES])
def test_a_test_is_the_command_s_to_the_byte(binary: str, given: dict[str, Any], words: list[str]) -> None:
    assert ff.ab(**given, flows=200).to_json() == command(binary, "ab", "--flows", "200", *words, "--json", "-")


def test_rows_are_those_of_the_command(binary: str, result: ff.AbResult, tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    command(binary, "ab", "--flows", str(FLOWS), "--arms", "jumpstart,rapid", "--out", str(file))
    theirs = pyarrow.csv.read_csv(file)
    assert result.rows is not None and len(result.rows) == theirs.num_rows == 3 * FLOWS
    assert result.rows.column_names == theirs.column_names
    for name in ("path_index", "ttlb_ms", "lost_packets", "exit_cwnd", "random_loss"):
        assert result.rows.column(name) == theirs[name].to_pylist(), name
    for name in ("arm", "group"):
        assert result.rows.column(name) == theirs[name].to_pylist(), name


def test_results_are_the_entries_of_the_json(result: ff.AbResult) -> None:
    entries = json.loads(result.to_json())["results"]
    rows = result.results.to_dicts()
    assert [(row["part"], row["name"], row["arm"]) for row in rows] == [(entry["part"], entry["name"], entry["arm"]) for entry in entries]
    for row, entry in zip(rows, entries, strict=True):
        assert row["ttlb_ms_mean"] == entry["ttlb_ms"]["mean"] and row["loss_pct_p99"] == entry["loss_pct"]["p99"]["value"]
        versus = entry["versus_baseline"]
        assert row["reduction_pct_low"] == (versus and versus["reduction_pct"]["mean"]["low"])
        assert row["significant"] == (versus and versus["significant"])


def test_percentiles_are_curves(result: ff.AbResult) -> None:
    rows = [row for row in result.percentiles.to_dicts() if row["arm"] == "rapid"]
    assert [row["percentile"] for row in rows] == [float(p) for p in range(1, 100)]
    assert [row["ttlb_ms"] for row in rows] == sorted(row["ttlb_ms"] for row in rows)


def test_words_come_along(result: ff.AbResult) -> None:
    assert result.complete and result.flows == FLOWS and result.arms == ["slowstart", "jumpstart", "rapid"]
    text = str(result)
    assert all(line in text for line in [result.decision["sentence"], *result.advice, *result.warnings])
    assert result._repr_html_().startswith("<table>")


def test_threads_change_nothing() -> None:
    one, two = (ff.ab(flows=200, threads=threads).to_json() for threads in (1, 2))
    assert one == two


def test_finished_blocks_are_not_run_again(tmp_path: Path) -> None:
    first = ff.ab(flows=200, resume=tmp_path / "kept")
    kept = sorted((tmp_path / "kept").iterdir())
    assert len(kept) == 4, "200 connections are four blocks of 64"
    kept[1].unlink()
    assert ff.ab(flows=200, resume=tmp_path / "kept").to_json() == first.to_json()
    with pytest.raises(ff.Refused, match="belongs to another test"):
        ff.ab(flows=201, resume=tmp_path / "kept")
    # Rows of blocks that are not run again would be missing without a word.
    with pytest.raises(ff.Refused, match="keep_rows: does not go with resume"):
        ff.ab(flows=200, resume=tmp_path / "kept", keep_rows=True)


def test_a_folder_may_be_named_with_a_slash_at_its_end(tmp_path: Path) -> None:
    ff.ab(flows=100, resume=f"{tmp_path}/kept/")
    assert len(list((tmp_path / "kept").iterdir())) == 2, "100 connections are two blocks of 64"


def test_what_nobody_measured_is_told(result: ff.AbResult) -> None:
    assert result.decision == json.loads(result.to_json())["decision"]
    assert result.decision["assumptions"] == ["buffers", "random loss"] and len(result.decision["worlds"]) == 5
    assert [row["arm"] for row in result.decision["arms"]] == result.arms[1:]
    measured = {"rtt_ms": [20.0, 40.0], "rate_mbps": [100.0, 50.0], "buffer_ms": [30.0, 60.0]}
    assert ff.ab(ff.Population.measured(measured), flows=FLOWS).decision["assumptions"] == [], "buffers that were measured depend on nothing"


def test_the_command_reads_what_was_saved(binary: str, result: ff.AbResult, tmp_path: Path) -> None:
    result.save(tmp_path / "all.ffab")
    assert command(binary, "ab", "merge", str(tmp_path / "all.ffab"), "--json", "-") == result.to_json()
    result.report(tmp_path / "ab.html")
    assert (tmp_path / "ab.html").read_text().rstrip().endswith("</html>")
