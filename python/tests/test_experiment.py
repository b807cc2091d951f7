"""Experiments in files give the answers of the command, to the byte."""

from pathlib import Path

import pytest
from conftest import command

import firstflight as ff


def test_every_path_meets_every_size(binary: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "Two by two"\npath = ["rapid-slide", "geo"]\nbytes = ["200kB", "1MB"]\narms = ["slowstart", "rapid"]\nrepeat = 2\n')
    done = ff.run(file)
    assert done.title == "Two by two" and len(done) == 4
    assert all(isinstance(part, ff.Comparison) and len(part.rows) == 4 for part in done)
    assert done.to_json() == command(binary, "run", str(file), "--json", "-")
    assert "Two by two" in str(done) and "slowstart" in repr(done)


def test_a_population_makes_it_a_test(binary: str, tmp_path: Path) -> None:
    file = tmp_path / "test.toml"
    file.write_text('population = "geo"\nflows = 200\narms = "rapid"\n')
    done = ff.run(file)
    assert len(done) == 1 and isinstance(done[0], ff.AbResult)
    assert done.to_json() == command(binary, "run", str(file), "--json", "-")


def test_a_wrong_key_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('arms = "slowstart"\npaht = "geo"\n')
    with pytest.raises(ff.Refused, match=r"wrong\.toml:2: paht: unknown key.*path"):
        ff.run(file)
