"""A folder, a pattern or a list of files is one table."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.errors import InputError
from pluralis.publishing.pipeline import publish
from pluralis.table.sources import open_table, read_table
from support.cli_runner import caller
from support.sample_tables import KEY, PATIENTS, PATIENTS_YAML, patients_policy


@pytest.fixture(params=["parquet", "csv"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The patients in three files, one of them with its columns in another order, beside what Spark leaves there."""
    place = tmp_path / "patients"
    place.mkdir()
    ends = [0, 3, 4, 7]
    for i, (first, last) in enumerate(pairwise(ends)):
        part = PATIENTS[first:last]
        part = part.select(sorted(part.columns)) if i == 1 else part
        path = place / f"part-{i}.{request.param}"
        part.write_parquet(path) if request.param == "parquet" else part.write_csv(path)
    (place / "_SUCCESS").write_bytes(b"")
    (place / ".part-0.crc").write_bytes(b"\0")
    return place


def test_a_folder_a_pattern_and_a_list_are_one_table(folder):
    parts = sorted(folder.glob("part-*"))
    whole = read_table(folder)
    assert whole.columns == PATIENTS.columns
    assert whole.cast(pl.String).rows() == PATIENTS.cast(pl.String).rows()
    for source in (str(folder / "part-*"), parts, parts[::-1], [str(parts[0]), str(folder / "part-[12]*")]):
        assert read_table(source).rows() == whole.rows()
    assert read_table(folder, only=["age"]).columns == ["age"]


def test_published_bytes_are_those_of_one_file(folder):
    alone, several = (publish(table, patients_policy(), key=KEY, attacks=False) for table in (PATIENTS, folder))
    assert several.tables.packed == alone.tables.packed


def test_a_name_with_brackets_is_a_name_where_there_is_such_a_file(tmp_path):
    for name, age in (("a[1].csv", 30), ("a1.csv", 40)):
        (tmp_path / name).write_text(f"age\n{age}\n", encoding="utf-8")
    assert read_table(tmp_path / "a[1].csv")["age"].to_list() == ["30"]
    (tmp_path / "a[1].csv").unlink()
    assert read_table(tmp_path / "a[1].csv")["age"].to_list() == ["40"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.csv": "age\n30\n", "b.csv": "sex\nf\n"}, "a.csv has the column 'age' and b.csv has not"),
        ({"a.csv": "age\n30\n", "b.csv": "age,sex\n30,f\n"}, "b.csv has the column 'sex' and a.csv has not"),
        ({"a.csv": "age\n30\n", "b.xlsx": "PK"}, "b.xlsx has an unknown ending"),
        ({"a.csv": "age\n30\n", "b/c.csv": "age\n30\n"}, "holds the folder b"),
        ({"manifest.json": "{}", "a.csv": "age\n30\n"}, "is a release"),
        ({"_SUCCESS": ""}, "is a folder without a table"),
        ({"a.csv": "age\n30\n", "b.csv": ""}, "b.csv is empty"),
    ],
)
def test_folders_that_are_no_table_are_refused(tmp_path, files, words):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_table(tmp_path)
    assert words in str(refused.value)


def test_parquet_files_of_other_types_or_beside_text_are_refused(tmp_path):
    pl.DataFrame({"age": [30]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"age": ["30"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"'age' is Int64 in a.parquet and String in b.parquet"):
        read_table(tmp_path)
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "c.csv").write_text("age\n30\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"c.csv is text and others are Parquet"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="No file fits"):
        read_table(str(tmp_path / "d*.csv"))


def test_a_file_that_changes_or_lies_is_told_by_its_name(tmp_path):
    for name in "ab":
        pl.DataFrame({"age": [30, 40], "sex": ["f", "m"]}).write_parquet(tmp_path / f"{name}.parquet")
    table = open_table(tmp_path)
    assert table.height == 4
    pl.DataFrame({"age": [30], "sex": ["f"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet changed"):
        table["age"]


@given(ends=st.lists(st.integers(0, 30), max_size=4))
def test_how_rows_are_divided_among_files_changes_nothing(ends, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    table = pl.DataFrame({"age": range(30), "sex": ["f", "m", None] * 10})
    places = [0, *sorted(ends), 30]
    for i, (first, last) in enumerate(pairwise(places)):
        table[first:last].write_parquet(folder / f"{i}.parquet")
    assert read_table(folder).equals(table)


def test_the_command_line_takes_what_a_shell_makes_of_a_pattern(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "policy.yaml").write_text(PATIENTS_YAML, encoding="utf-8")
    words = ["publish", *map(str, sorted(folder.glob("part-*"))), "--policy", str(tmp_path / "policy.yaml")]
    code, out, err = caller(capsys, monkeypatch)(*words, "--out", str(tmp_path / "release"))
    assert code == 0, err
    assert "Published 7 rows" in out
