"""Tables are handed over as they lie."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import firstflight as ff


@pytest.fixture(scope="module")
def trace() -> ff.Table:
    return ff.compare(arms="slowstart,rapid", bytes="2MB").trace


def address(column: object) -> int:
    """Where the values of a column of pyarrow lie."""
    where: int = column.chunk(0).buffers()[1].address  # type: ignore[attr-defined]
    return where


def test_nobody_copies(trace: ff.Table) -> None:
    ours = pa.table(trace)
    for name in ("time_ms", "cwnd", "inflight", "delivered_bytes"):
        where = address(ours[name])
        assert where == address(pa.table(trace)[name]), f"pyarrow got a copy of {name}"
        assert where == address(pa.chunked_array([pl.DataFrame(trace)[name].to_arrow()])), f"Polars made a copy of {name}"
        series = pd.Series(ours[name].to_pandas(zero_copy_only=True))
        assert where == series.to_numpy().__array_interface__["data"][0], f"pandas made a copy of {name}"


def test_pandas_polars_duckdb_and_pyarrow_see_the_same(trace: ff.Table) -> None:
    largest = max(trace.column("cwnd"))
    assert pd.DataFrame.from_arrow(trace)["cwnd"].max() == largest  # type: ignore[attr-defined]
    assert trace.to_pandas()["cwnd"].max() == largest
    assert trace.to_polars()["cwnd"].max() == largest
    assert trace.to_arrow()["cwnd"].to_pandas().max() == largest
    assert duckdb.sql("SELECT max(cwnd) FROM trace").fetchall() == [(largest,)]
    assert len(trace) == len(pl.DataFrame(trace)) == len(trace.column("arm"))


def test_a_result_is_itself_a_table() -> None:
    result = ff.compare(arms="slowstart", bytes="20kB")
    assert pl.DataFrame(result).shape == (1, 52)
    assert pa.schema(result.rows).names == result.rows.column_names


def test_what_does_not_apply_is_null() -> None:
    row = ff.compare("geo", arms="slowstart", bytes="20kB").rows.to_dicts()[0]
    assert row["exit_reason"] is None and row["exit_time_ms"] is None and row["ttlb_ms"] is not None


def test_a_table_outlives_what_made_it() -> None:
    frame = pl.DataFrame(ff.compare(arms="slowstart", bytes="2MB").trace)
    assert frame["cwnd"].sum() > 0


def test_a_table_shows_its_head(trace: ff.Table) -> None:
    text = repr(trace)
    assert f"{len(trace)} rows, the first 20 shown" in text and "more columns" in text
    assert max(map(len, text.splitlines()[:-1])) <= 160, "it fits on a screen"
    assert trace._repr_html_().count("<tr>") == 21
    assert "0 rows" in repr(ff.compare(arms="slowstart", bytes="20kB").episodes)


def test_a_table_is_a_sequence_of_rows() -> None:
    rows = ff.compare(arms="slowstart,rapid", bytes="20kB", repeat=2).rows
    all = list(rows)
    assert len(all) == len(rows) == 4 and all == rows.to_dicts()
    assert rows[0] == all[0] and rows[-1] == all[3] and rows[1:3] == all[1:3]
    assert rows["arm"] == rows.column("arm")
    with pytest.raises(IndexError):
        rows[4]
    with pytest.raises(ff.Refused, match=r"no column `arms`.*did you mean `arm`"):
        rows["arms"]
    frame = pd.DataFrame(rows)
    assert list(frame.columns) == rows.column_names and frame["ttlb_ms"].tolist() == rows["ttlb_ms"]
