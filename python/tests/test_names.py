"""Arms, paths and populations written in Python are those of the command line."""

import copy
import pickle
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

import firstflight as ff

ARMS = [
    (ff.Arm("rapid"), "rapid"),
    (ff.Arm("rapid", jump=False), "rapid(jump=off)"),
    (ff.Arm("rapid", jump=False, k=Fraction(11, 18)), "rapid(jump=off,k=11/18)"),
    (ff.Arm("rapid(jump=off)", k="11/18"), "rapid(jump=off,k=11/18)"),
    (ff.Arm("slowstart").avoiding("reno"), "slowstart/reno"),
    (ff.Arm("slowstart").avoiding("reno", beta=0.7).recovering("immediate"), "slowstart/reno(beta=0.7)/immediate"),
    (ff.Arm("hystart++").recovering("sack", fill="any"), "hystart++/cubic/sack(fill=any)"),
    (ff.Arm("hystart").recovering("immediate"), "hystart/cubic(floor20=on)/immediate"),
    (ff.Arm("slowstart").sending(iw=30, pace=True), "slowstart@(iw=30,pace=on)"),
    (ff.Arm("slowstart@(iw=30)").sending(burst=4), "slowstart@(iw=30,burst=4)"),
    (ff.Arm("limited", int_=True), "limited(int=on)"),
]


@pytest.mark.parametrize(("arm", "text"), ARMS, ids=[text for _, text in ARMS])
def test_an_arm_prints_as_the_text_that_reads_as_the_same_arm(arm: ff.Arm, text: str) -> None:
    assert str(arm) == text
    again = ff.Arm(str(arm))
    assert again == arm and hash(again) == hash(arm), f"{arm} reads as {again.full}"
    assert ff.Arm(arm.full) == arm, f"{arm.full} is {text} in full"


def test_what_is_not_named_stays_as_the_startup_has_it() -> None:
    # The kernel's CUBIC floor goes with HyStart unless an avoidance is named; naming a recovery names no avoidance.
    assert "floor20=on" in ff.Arm("hystart").recovering("immediate").full
    assert "floor20=on" not in ff.Arm("hystart").avoiding("cubic").full


def test_every_listed_arm_is_an_arm() -> None:
    for row in ff.arms().to_dicts():
        if row["kind"] in ("startup", "short name"):
            assert ff.Arm(ff.Arm(row["name"]).full) == ff.Arm(row["name"]), row["name"]


PATHS = [
    (ff.Path("geo"), "geo"),
    (ff.Path("geo", queue="0.25bdp"), "geo,queue=0.25bdp"),
    (ff.Path(rate="20Mbit", rtt="80ms", queue="1bdp", loss="0.1%"), "rate=20Mbit,rtt=80ms,queue=1bdp,loss=0.1%"),
    (ff.Path(rate="20Mbit", rtt="80ms", return_="lte"), "rate=20Mbit,rtt=80ms,return=lte"),
    (ff.Path("rate=20Mbit,rtt=80ms", codel=True), "rate=20Mbit,rtt=80ms,codel"),
]


@pytest.mark.parametrize(("path", "text"), PATHS, ids=[text for _, text in PATHS])
def test_a_path_prints_as_the_text_that_reads_as_the_same_path(path: ff.Path, text: str) -> None:
    assert str(path) == text
    assert ff.Path(str(path)) == path and ff.Path(path.full) == path


def test_every_listed_path_is_a_path() -> None:
    for row in ff.paths().to_dicts():
        assert ff.Path(row["name"]) == ff.Path(row["path"]), row["name"]


def test_a_path_knows_what_follows_from_it() -> None:
    path = ff.Path("geo")
    assert (path.rate_mbps, path.rtt_ms, path.bdp_bytes, path.queue_bytes) == (150.0, 600.0, 11_250_000, 11_250_000)
    assert path.name == "geo" and path.source is not None


def test_a_population_prints_with_its_knobs() -> None:
    population = ff.Population("cdn-global-2019", mobile=0.8)
    assert str(population) == "cdn-global-2019(mobile=0.8)"
    assert population.groups == pytest.approx({"fixed": 0.2, "mobile": 0.8})
    assert ff.Population(str(population)) == population


MEASURED: dict[str, list[object]] = {
    "rtt_ms": [20.0, 40.0, 90.0],
    "rate_mbps": [100, 50, 8],
    "buffer_ms": [30, 60, 200],
    "group": ["fibre", "fibre", "dsl"],
}


def test_measured_paths_come_from_any_kind_of_frame() -> None:
    populations = [ff.Population.measured(frame) for frame in (MEASURED, pd.DataFrame(MEASURED), pl.DataFrame(MEASURED))]
    draws = [population.draw(50).to_dicts() for population in populations]
    assert draws[0] == draws[1] == draws[2], "the same paths from a mapping, pandas and Polars"
    assert {row["rtt_us"] for row in draws[0]} == {20_000, 40_000, 90_000}, "a connection takes a whole row"


@pytest.mark.parametrize("population", [ff.Population("cdn", q=0.8), ff.Population.measured(MEASURED)], ids=str)
def test_a_population_travels_with_its_files(population: ff.Population) -> None:
    again = pickle.loads(pickle.dumps(population))
    assert again == population and str(again) == str(population)
    assert again.draw(100, seed=7).to_dicts() == population.draw(100, seed=7).to_dicts()
    assert copy.copy(population) == population


def test_a_population_file_travels_to_a_machine_without_the_file(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "paths.csv").write_text("rtt_ms,rate_mbps\n20,100\n40,50\n")
    toml = ff.Population.measured(MEASURED).to_toml().replace('file = "measured.csv"', 'file = "paths.csv"')
    toml = "\n".join(line.replace(', group = "fibre"', "").replace(', group = "dsl"', "") for line in toml.splitlines())
    (folder / "mine.toml").write_text(toml)
    population = ff.Population(folder / "mine.toml")
    sent = pickle.dumps(population)
    (folder / "paths.csv").unlink()
    assert pickle.loads(sent).draw(10).to_dicts() == population.draw(10).to_dicts()


def test_draws_are_numbered() -> None:
    population = ff.Population("fixed-2025")
    assert population.draw(5, first=10).to_dicts() == population.draw(15).to_dicts()[10:]
    first = population.draw(1).to_dicts()[0]
    assert (first["rtt_us"], first["rate_kbps"]) == (22_048, 117_229), "the vector of the specification"


def test_a_population_describes_itself() -> None:
    rows = ff.Population("fixed-2025").describe(draws=20_000).to_dicts()
    median = next(row["p50"] for row in rows if row["quantity"] == "rtt_ms" and row["group"] == "all")
    assert median == pytest.approx(15.0, rel=0.05), "the median of the file is 15 ms"
