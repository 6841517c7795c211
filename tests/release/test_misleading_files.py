"""Tables whose types, marks or figures are not what a release has are refused, or judged by what they hold."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from pluralis.auditing import audit
from pluralis.errors import ReleaseError
from pluralis.estimate.analyst_release import read_release
from pluralis.publishing.pipeline import publish
from pluralis.table.sources import open_table
from support.forged_folders import forged
from support.sample_tables import KEY, policy_of

ROWS = pl.DataFrame(
    {"age": [20, 30, 40, 50, 60, 70, 80, 90], "stay": [1, 2, 3, 4, 5, 6, 7, 8], "visits": [0, 1, 0, 1, 0, 1, 0, 1]}
)
SECRET = {"role": "sensitive", "type": "number", "l": 2}
POLICY = policy_of({"age": {"role": "quasi", "type": "number"}, "stay": SECRET, "visits": SECRET})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    publish(ROWS, POLICY, key=KEY).save(tmp_path / "release", allow_test=True)
    return tmp_path / "release"


def replaced(folder: Path, data: bytes) -> Path:
    """The folder with other bytes for its table, and a manifest that agrees."""
    return forged(folder, tables={"microdata.parquet": data})


def one_value(folder: Path) -> pl.DataFrame:
    """One group, in order of `stay`, with 1 in six of its eight rows; 1/2 is promised."""
    rows = pl.read_parquet(folder / "microdata.parquet")
    return rows.with_columns(
        age=pl.lit("*"),
        group=pl.lit(1, pl.Int64),
        stay=pl.Series([1, 2, 3, 4, 5, 6, 7, 8]),
        visits=pl.Series([1, 1, 0, 1, 1, 0, 1, 1]),
    )


@pytest.mark.parametrize("marked", [False, True])
def test_what_parquet_says_of_its_order_is_not_believed(saved: Path, tmp_path: Path, marked: bool) -> None:
    rows = one_value(saved)
    buffer = io.BytesIO()
    order = [pq.SortingColumn(rows.columns.index("visits"))]
    pq.write_table(rows.to_arrow(), buffer, sorting_columns=order if marked else None, store_schema=False)
    assert pl.read_parquet(io.BytesIO(buffer.getvalue()))["visits"].is_sorted() == marked  # Polars believes it
    folder = replaced(saved, buffer.getvalue())
    verdict = audit(folder, allow_test=True)
    assert [(finding.claim, finding.measured) for finding in verdict.failures] == [
        ("tables, hashes and manifest agree", 1.0) if marked else ("P(visits | age) ≤ 1/2", 0.75)
    ]
    if marked:
        with pytest.raises(ReleaseError, match="beside its cells"):
            read_release(folder)
    else:
        assert not read_release(folder).tables["microdata"]["visits"].is_sorted()
    path = tmp_path / "input.parquet"
    path.write_bytes(buffer.getvalue())
    assert sorted(open_table(path)["visits"].unique()) == [0, 1]


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt64, pl.Float32])
def test_numbers_of_other_widths_are_refused(saved: Path, kind: type[pl.DataType]) -> None:
    rows = pl.read_parquet(saved / "microdata.parquet").with_columns(pl.col("visits").cast(kind))
    buffer = io.BytesIO()
    rows.write_parquet(buffer)
    folder = replaced(saved, buffer.getvalue())
    verdict = audit(folder, allow_test=True)
    assert "'visits' holds" in str(verdict.failures[0])
    with pytest.raises(ReleaseError, match="'visits' holds"):
        read_release(folder)


def test_a_release_without_rows_is_refused(saved: Path) -> None:
    buffer = io.BytesIO()
    pl.read_parquet(saved / "microdata.parquet").clear().write_parquet(buffer)
    folder = forged(saved, lambda m: m.update(rows=0), {"microdata.parquet": buffer.getvalue()})
    assert "this one has none" in str(audit(folder, allow_test=True).failures[0])
