"""Comparisons are those of the command, and come as tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import command

import firstflight as ff


@pytest.fixture(scope="module")
def geo() -> ff.Comparison:
    return ff.compare("geo", arms=["slowstart", "hystart++", "rapid", "oracle"], bytes="30MB", repeat=2)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"path": "geo", "arms": "rapid,best", "bytes": "3MB"}, ["--path", "geo", "--arms", "rapid,best", "--bytes", "3MB"]),
    (
        {"path": ff.Path("leo", loss="0.5%"), "arms": [ff.Arm("rapid", jump=False), "search"], "repeat": 5, "seed": 7, "iw": 20},
        ["--path", "leo,loss=0.5%", "--arms", "rapid(jump=off),search", "--repeat", "5", "--seed", "7", "--iw", "20"],
    ),
    (
        {"transport": "tcp", "detection": "sack3517", "bytes": 1_000_000, "limit": 100},
        ["--transport", "tcp", "--detection", "sack3517", "--bytes", "1MB", "--limit", "100"],
    ),
    (
        {"arms": "rapid", "bytes": "1MB", "flows": 2, "apart": "100ms", "cross": [ff.Arm("slowstart")], "jitter": "0ms"},
        ["--arms", "rapid", "--bytes", "1MB", "--flows", "2", "--apart", "100ms", "--cross", "slowstart", "--jitter", "0ms"],
    ),
    ({"app": "web:3:50ms", "bytes": "200kB", "arms": "slowstart"}, ["--app", "web:3:50ms", "--bytes", "200kB", "--arms", "slowstart"]),
]


def test_several_flows_have_a_row_each_and_share_a_trial() -> None:
    shared = ff.compare(arms="slowstart,rapid", bytes="1MB", flows=2, cross="hystart", repeat=2)
    trials = json.loads(shared.to_json())["results"]
    flows = [(trial["arm"], flow) for trial in trials for flow in trial["flows"]]
    rows = shared.rows.to_dicts()
    assert len(rows) == len(flows) == 2 * 2 * 3
    for row, (arm, flow) in zip(rows, flows, strict=True):
        assert row["trial_arm"] == arm and row["arm"] == flow["arm"] and row["role"] == flow["role"]
        assert row["share_mbps"] == flow["share_mbps"] and row["exit_reason"] == (flow["exit"] or {}).get("reason")
    assert shared.trials.column("jain") == [trial["jain"] for trial in trials]
    assert "all flows" in str(shared) and shared.experiment["flows"] == 2
    with pytest.raises(ff.Refused, match="shows one flow alone"):
        _ = shared.trace


@pytest.mark.parametrize(("given", "words"), CASES, ids=[" ".join(words) or "defaults" for _, words in CASES])
def test_a_comparison_is_the_command_s_to_the_byte(binary: str, given: dict[str, Any], words: list[str]) -> None:
    assert ff.compare(**given).to_json() == command(binary, "compare", *words, "--json", "-")


def test_rows_are_the_results_of_the_json(geo: ff.Comparison) -> None:
    results = json.loads(geo.to_json())["results"]
    rows = geo.rows.to_dicts()
    assert len(rows) == len(results) == 8
    for row, result in zip(rows, results, strict=True):
        for name, value in row.items():
            if name.startswith("exit_"):
                expected = (result["exit"] or {}).get(name.removeprefix("exit_"))
            elif name.startswith("drops_"):
                expected = result["drops"][name.removeprefix("drops_")]
            elif name.startswith("queue_ms_"):
                expected = result["queue_ms"][name.removeprefix("queue_ms_")]
            elif name.startswith("limited_") and name != "limited_by":
                expected = result["limited"][name.removeprefix("limited_")]
            else:
                expected = result[name]
            assert value == expected, f"{name} of {row['arm']}: {value}, JSON has {expected}"


def test_every_field_of_the_json_is_a_column() -> None:
    """And no column is anything else: two schemas of the same rows do not drift apart."""
    result = ff.compare(arms="slowstart", bytes="5MB")
    (row,) = json.loads(result.to_json())["results"]
    nested = {"exit", "limited", "queue_ms", "drops"}
    expected = {key for key in row if key not in nested | {"episodes"}}
    expected |= {f"{outer}_{inner}" for outer in nested for inner in row[outer]}
    assert set(result.rows.column_names) == expected
    assert set(result.episodes.column_names) == set(row["episodes"][0]) | {"arm", "seed"}


def test_a_limit_has_a_unit_and_leaves_what_was_delivered() -> None:
    row = ff.compare(arms="slowstart", bytes="1GB", limit="500ms").rows.to_dicts()[0]
    assert row["ttlb_ms"] is None and row["delivered_bytes"] > 0
    assert abs(row["goodput_mbps"] - row["delivered_bytes"] * 8e-3 / 500) < 1e-9


def test_completion_is_the_receiver_s_and_the_sender_learns_of_it_later(geo: ff.Comparison) -> None:
    for row in geo.rows.to_dicts():
        ttlb, acked = row["ttlb_ms"], row["acked_ms"]
        assert acked - ttlb == pytest.approx(300, abs=1), f"{row['arm']}: {ttlb} and {acked} ms are not half a round trip of 600 ms apart"


def test_episodes_are_those_of_the_json() -> None:
    result = ff.compare(arms="slowstart,rapid", bytes="5MB")
    told = [episode for row in json.loads(result.to_json())["results"] for episode in row["episodes"]]
    assert len(result.episodes) == len(told) > 0
    assert result.episodes.column("lost_bytes") == [episode["lost_bytes"] for episode in told]


def test_a_trace_ends_where_the_rows_say(geo: ff.Comparison) -> None:
    trace = geo.trace
    for row in geo.rows.to_dicts():
        if row["seed"] == 1:
            times = [time for arm, time in zip(trace.column("arm"), trace.column("time_ms"), strict=True) if arm == row["arm"]]
            assert times == sorted(times) and times[-1] >= row["ttlb_ms"]
    assert "hspp_css_rounds" in trace.column_names, "inner signals are columns"


def test_threads_change_nothing() -> None:
    one, two = (ff.compare("leo", repeat=4, bytes="2MB", threads=threads).to_json() for threads in (1, 2))
    assert one == two


def test_printed_it_is_the_table_of_the_command(geo: ff.Comparison) -> None:
    text = str(geo)
    assert "rate=150Mbit,rtt=600ms" in text and "queueing delay p99" in text and "medians of 2 trials" in text
    assert all(arm in text for arm in geo.arms)
    page = geo._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 5 and "<script" not in page


def test_a_report_is_written_whole_or_not_at_all(geo: ff.Comparison, tmp_path: Path) -> None:
    geo.report(tmp_path / "geo.html")
    assert (tmp_path / "geo.html").read_text().rstrip().endswith("</html>")
    assert [file.name for file in tmp_path.iterdir()] == ["geo.html"]
    with pytest.raises(ff.Refused, match="does not exist"):
        geo.report(tmp_path / "no" / "geo.html")


def test_warnings_are_told() -> None:
    result = ff.compare(arms="slowstart,slowstart/cubic", bytes="20kB")
    assert len(result.warnings) == 1 and "behaved identically" in result.warnings[0] and result.warnings[0] in str(result)
    assert not ff.compare("geo", arms="slowstart", limit=2).complete
