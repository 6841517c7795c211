"""Releases as DuckDB databases: sums over the view are the counts that the estimators give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pluralis.cli.main import app
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import OutputError, QueryError
from pluralis.estimate.sql import ask, columns_in
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from support.sample_tables import policy_of

QUERIES = [
    ("age BETWEEN 30 AND 50", ["age"]),
    ("age > 40 AND gender = 'F' AND diagnosis = '{}'", ["age", "gender", "diagnosis"]),
    ("age <= 40 OR diagnosis = '{}'", ["age", "diagnosis"]),
    ("insurer = 'Medicare' AND NOT diagnosis = '{}'", ["insurer", "diagnosis"]),
    ("race = 'White' AND insurer <> 'Medicare'", ["race", "insurer"]),
]


def released(method: str, **how: Any) -> Publication:
    people = hospital_discharges(rows=800)
    gaps = np.arange(people.height) % 23 == 0
    people = people.with_columns(pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("race")).alias("race"))
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number"},
        "gender": {"role": "quasi"},
        "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "race": {"role": "quasi"},
        "diagnosis": {"role": "sensitive", "l": 2},
        "insurer": {"role": "sensitive", "l": 2},
    }
    if method in ("anatomy", "tp"):
        del attributes["insurer"]
    if method == "randomized-addition":  # of several sensitive attributes it promises no more
        how["options"] = {"claim": "set-size"}
    rules = policy_of(
        attributes, others="drop", method=method, suppress=0.5, k=3 if method in ("kaca", "sloms") else None, **how
    )
    return publish(people, rules, key=Key.test())


@pytest.fixture(
    scope="module", params=["bsgi", "mondrian", "tp", "anatomy", "msb", "decomposition", "sloms", "randomized-addition"]
)
def release(request: pytest.FixtureRequest) -> Publication:
    return released(request.param)


@pytest.mark.parametrize(("condition", "columns"), QUERIES)
def test_sums_over_the_view_are_the_counts(release: Publication, condition: str, columns: list[str]) -> None:
    known = release.manifest.parameters.l
    if not {"diagnosis", "insurer"} & set(columns) <= set(known):
        condition, columns = "zipcode = '11201' OR age > 30", ["zipcode", "age"]
    condition = condition.format(_common(release))
    if release.kind == "decomposed" and {"age", "gender", "race"} & set(columns) and "insurer" in columns:
        with pytest.raises(QueryError, match="known of the whole table"):
            release.to_duckdb(*columns)
        return
    with release.to_duckdb(*columns) as database:
        ((total,),) = database.execute("SELECT sum(count) FROM expected").fetchall()
        ((summed,),) = database.execute(f"SELECT coalesce(sum(count), 0) FROM expected WHERE {condition}").fetchall()
    assert total == pytest.approx(release.manifest.rows)
    assert summed == pytest.approx(release.count(condition).value, abs=1e-6)


def _common(release: Publication) -> str:
    return str(hospital_discharges(rows=800)["diagnosis"].mode().sort()[0])


def test_the_published_tables_are_there_too() -> None:
    release = released("anatomy")
    with release.to_duckdb() as database:
        ((rows,),) = database.execute("SELECT count(*) FROM quasi").fetchall()
        ((total,),) = database.execute("SELECT sum(count) FROM sensitive").fetchall()
        assert database.execute("SELECT count FROM expected").fetchall() == [(rows,)]
    assert rows == total == release.manifest.rows


def test_a_database_file(tmp_path: Path) -> None:
    release = released("anatomy")
    release.to_duckdb("gender", "diagnosis", database=tmp_path / "release.duckdb").close()
    assert (tmp_path / "release.duckdb").exists()
    with pytest.raises(OutputError, match="exists"):
        release.to_duckdb(database=tmp_path / "release.duckdb")


def test_columns_of_a_query() -> None:
    release = released("anatomy")
    assert columns_in('SELECT AGE, "zipcode" FROM expected WHERE x.gender = 1', release) == ["age", "gender", "zipcode"]


def test_what_is_refused(tmp_path: Path) -> None:
    release = released("anatomy")
    with pytest.raises(QueryError, match="Did you mean 'gender'"):
        release.to_duckdb("gendre")
    with pytest.raises(QueryError, match="twice"):
        release.to_duckdb("age", "age")
    for query in ("SELECT nothing FROM expected", "SELEC", f"SELECT * FROM read_csv('{tmp_path}/x.csv')"):
        with pytest.raises(QueryError, match="DuckDB refuses"):
            ask(release, query)


def test_the_command(tmp_path: Path) -> None:
    released("anatomy").save(tmp_path / "release", allow_test=True)
    query = "SELECT gender, sum(count) AS people FROM expected GROUP BY gender ORDER BY gender"
    shown = CliRunner().invoke(app, ["query", str(tmp_path / "release"), query, "--sql"])
    assert shown.exit_code == 0
    assert "F " in shown.output
    assert "people" in shown.output
    outcome = CliRunner().invoke(app, ["query", str(tmp_path / "release"), query, "--sql", "--json"])
    assert sum(row["people"] for row in json.loads(outcome.output)["rows"]) == pytest.approx(800)


@pytest.mark.parametrize("name", ["n", "share", "rows", "value", "attribute", "code", 'a"b', "t0", "r"])
@pytest.mark.parametrize("method", ["anatomy", "bsgi", "randomized-addition"])
def test_an_attribute_may_be_called_like_a_column_of_the_view(method: str, name: str) -> None:
    people = hospital_discharges(rows=400).rename({"insurer": name, "gender": f"{name} 2"})
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number"},
        f"{name} 2": {"role": "quasi"},
        name: {"role": "sensitive", "l": 2},
    }
    people = people.filter(pl.col(name).count().over(name) >= 30)  # randomized-addition refuses values that are rare
    release = publish(people, policy_of(attributes, others="drop", method=method, suppress=0.5), key=Key.test())
    quoted = '"' + name.replace('"', '""') + '"'
    value = str(people[name].mode().sort()[0])
    with release.to_duckdb(name, f"{name} 2") as database:
        ((summed,),) = database.execute(f"SELECT sum(count) FROM expected WHERE {quoted} = '{value}'").fetchall()
    assert summed == pytest.approx(release.count(f"{quoted} = '{value}'").value, abs=1e-6)


def test_names_that_the_view_has_of_its_own_are_refused() -> None:
    people = hospital_discharges(rows=200).rename({"gender": "count"})
    attributes = {"count": {"role": "quasi"}, "diagnosis": {"role": "sensitive", "l": 2}}
    release = publish(people, policy_of(attributes, others="drop", method="anatomy", suppress=0.5), key=Key.test())
    with pytest.raises(QueryError, match="of its own"):
        release.to_duckdb("count")
    assert release.count("\"count\" = 'F'").value == (people["count"] == "F").sum()


def test_numbers_that_are_not_whole_in_intervals_are_refused() -> None:
    people = hospital_discharges(rows=200).with_columns(pl.col("age") / 3)
    attributes = {"age": {"role": "quasi", "type": "number"}, "diagnosis": {"role": "sensitive", "l": 2}}
    policy = policy_of(attributes, others="drop", method="bsgi", suppress=0.5)
    release = publish(people, policy, key=Key.test())
    with pytest.raises(QueryError, match="not whole"):
        release.to_duckdb("age")


def test_a_set_does_not_speak_against_the_counts_of_the_whole_table() -> None:
    """Sums of what groups may hold are not how often it occurs; the view gives the counts, or says that it cannot."""
    release = released("decomposition")
    primary = release.manifest.parameters.primary
    (other,) = {"diagnosis", "insurer"} - {primary}
    with release.to_duckdb(other) as database:
        for value, summed in database.execute(f"SELECT {other}, sum(count) FROM expected GROUP BY ALL").fetchall():
            counted = release.count(f"{other} = '{value.replace(chr(39), 2 * chr(39))}'")
            assert counted.basis == "exact"
            assert summed == pytest.approx(counted.value)
    with pytest.raises(QueryError, match="Ask without SQL"):
        release.to_duckdb("age", other)
    with release.to_duckdb("age", primary) as database:
        ((summed,),) = database.execute("SELECT sum(count) FROM expected WHERE age > 40").fetchall()
    assert summed == pytest.approx(release.count("age > 40").value)
