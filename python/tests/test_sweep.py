"""A sweep is the command's, to the byte."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import polars as pl
import pytest
from conftest import command

import firstflight as ff


@pytest.fixture(scope="module")
def swept() -> ff.Sweep:
    return ff.sweep({"rtt": "20ms..80ms:3", "queue": ["0.5bdp", "2bdp"]}, arms="slowstart,rapid", bytes="300kB", repeat=2)


def test_it_is_the_json_of_the_command(swept: ff.Sweep, binary: str) -> None:
    words = ["--sweep", "rtt=20ms..80ms:3", "--sweep", "queue=0.5bdp,2bdp", "--arms", "slowstart,rapid", "--bytes", "300kB"]
    assert swept.to_json() == command(binary, "compare", *words, "--repeat", "2", "--json", "-")


def test_rows_are_those_of_the_json(swept: ff.Sweep) -> None:
    results = json.loads(swept.to_json())["results"]
    assert len(swept.rows) == len(results) == 12
    for row, result in zip(swept.rows, results, strict=True):
        assert (row["rtt"], row["queue"], row["arm"]) == (result["rtt"], result["queue"], result["arm"])
        time = result["ttlb_ms"]
        assert (row["ttlb_ms"], row["ttlb_ms_low"], row["ttlb_ms_high"]) == (time["value"], time["low"], time["high"])
    assert pl.DataFrame(swept).shape == (12, len(swept.rows.column_names))
    frame = pd.DataFrame(swept.rows)
    assert frame.pivot_table(index="rtt_ms", columns="arm", values="ttlb_ms").shape == (3, 2)


def test_points_are_comparisons(swept: ff.Sweep) -> None:
    alone = ff.compare("rapid-slide,rtt=40ms,queue=2bdp", "slowstart", bytes="300kB")
    row = next(row for row in swept.rows if (row["rtt"], row["queue"], row["arm"]) == ("40ms", "2bdp", "slowstart"))
    assert row["path"] == alone.rows[0]["path"]
    assert row["ttlb_ms_low"] <= alone.rows[0]["ttlb_ms"] <= row["ttlb_ms_high"]


def test_it_shows_and_draws_who_is_best(swept: ff.Sweep, tmp_path: Path) -> None:
    assert {row["measure"] for row in swept.best} == {"ttlb_ms", "loss_ratio"} and len(swept.best) == 12
    text = repr(swept)
    assert "rtt / queue" in text and swept.finding in text and "Completion time:" in swept.finding
    assert swept._repr_html_().startswith("<table>")
    swept.report(tmp_path / "sweep.html")
    assert '"points_through":6' in (tmp_path / "sweep.html").read_text()
    ax = swept.plot_map(measure="loss_ratio")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5bdp", "2bdp"]
    with pytest.raises(ff.Refused, match="measure `rtt`"):
        swept.plot_map(measure="rtt")
    plt.close("all")


def test_one_key_gives_a_line_for_each_arm() -> None:
    swept = ff.sweep({"bytes": [100_000, "1MB"]}, arms=["slowstart", ff.Arm("rapid")])
    assert [row["object_bytes"] for row in swept.rows] == [100_000, 100_000, 1_000_000, 1_000_000]
    assert "arm / bytes" in repr(swept)
    legend = swept.plot_map().get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == swept.arms
    plt.close("all")


def test_what_is_wrong_is_said_as_the_command_says_it() -> None:
    for over, what in [({"rtt": "300ms..10ms"}, "descending order"), ({"rtx": "1ms"}, "unknown key"), ({}, "0 keys; allowed: one or two")]:
        with pytest.raises(ff.Refused, match=what):
            ff.sweep(over)
