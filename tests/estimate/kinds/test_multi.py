"""Counting in releases of several subtables: what an analyst asks in Python, in SQL and on the command line."""

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
from pluralis.errors import InputError, QueryError, ReleaseError
from pluralis.estimate import count, crosstab, distribution, estimator_of, table
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.estimate.conditions import All, Check, Condition
from pluralis.estimate.kinds.multi import Multi
from pluralis.estimate.sql import ask
from pluralis.metrics import measure
from pluralis.metrics.workloads import answers, answers_of, expression, workload
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Manifest
from pluralis.release.subtables import subtables
from support.sample_tables import KEY, policy_of

RULES = [
    "age, gender -> diagnosis : l=2",
    "zipcode -> procedure : l=2",
    "age, race, admission -> insurer : l=2",
    "hospital, race -> zipcode : l=2",
]
QUERIES = [
    "age BETWEEN 30 AND 50",
    "age > 40 AND gender = 'F' AND insurer = 'Medicare'",
    "diagnosis = '{}' AND insurer = 'Medicare' AND race = 'White'",
    "diagnosis = '{}' OR insurer = 'Medicare'",
    "NOT (diagnosis = '{}' AND insurer IN ('HMO', 'Medicare')) AND race IS NOT NULL",
    "(age < 40 OR procedure = 'none') AND (hospital = 'H01' OR insurer <> 'HMO')",
    "race IS NULL AND diagnosis = '{}'",
]
WAYS = {
    "uad": {},
    "gd": {},
    "single-attribute": {},
    "gd, bsgi": {"anonymizer": "bsgi"},
    "uad, tp": {"anonymizer": "tp"},
}


def people(rows: int = 600) -> pl.DataFrame:
    frame = hospital_discharges(rows=rows).drop("patient", "county", "charges")
    gaps = pl.Series(np.arange(rows) % 23 == 0)
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col("race")).alias("race"))


def released(way: str, rows: int = 600, rules: list[str] = RULES, **attributes: Any) -> Publication:
    described = {"age": {"type": "number"}, **attributes}
    method = way.partition(",")[0]
    policy = policy_of(described, rules=rules, method=method, options=WAYS[way], suppress=0.5)
    return publish(people(rows), policy, key=KEY)


@pytest.fixture(scope="module", params=WAYS)
def release(request: pytest.FixtureRequest) -> Publication:
    return released(request.param)


def common() -> str:
    return str(people()["diagnosis"].mode().sort()[0])


@pytest.mark.parametrize("query", QUERIES)
def test_the_view_of_expected_counts_adds_up(release: Publication, query: str) -> None:
    condition = query.format(common())
    columns = [name for name in attributes_of(release) if name in condition]
    with release.to_duckdb(*columns) as database:
        ((total,),) = database.execute("SELECT sum(count) FROM expected").fetchall()
        ((summed,),) = database.execute(f"SELECT coalesce(sum(count), 0) FROM expected WHERE {condition}").fetchall()
    counted = release.count(condition)
    assert total == pytest.approx(release.manifest.rows)
    assert min(max(summed, counted.least), counted.most) == pytest.approx(counted.value, abs=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_certain_holds_of_the_original(way: str) -> None:
    release, original = released(way), people()
    for query in workload(_values(original), None, queries=60, dimensions=3, part=0.4):
        true = original.select(expression(query).sum()).item()
        estimate = release.count(query)
        assert estimate.least <= estimate.low <= estimate.value <= estimate.high <= estimate.most
        assert estimate.least <= true <= estimate.most
        assert estimate.basis != "exact" or estimate.value == true


def _values(frame: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].drop_nulls().unique().sort().to_list() for name in frame.columns}


def test_one_table_answers_by_itself() -> None:
    release = released("gd")
    estimator = estimator_of(release)
    assert isinstance(estimator, Multi)
    part = next(part for part in subtables(release) if part.protects)
    (sensitive,), known = part.protects, next(name for name in part.attributes if name not in part.protects)
    asked = All((_some(known), _some(sensitive)))
    alone = count(part.release, asked)
    assert alone == release.count(asked)
    assert alone.basis in ("uniform-within-group", "exact")
    assert release.count(_some(sensitive)).basis == release.count(_some(known)).basis == "exact"


def _some(name: str) -> Condition:
    return Check(name, "IN", tuple(_values(people())[name][::2]))


def test_tables_of_counts_add_up(release: Publication) -> None:
    both = crosstab(release, "insurer", "race")
    assert both["value"].sum() == pytest.approx(release.manifest.rows, abs=1e-6)
    assert both.equals(table(release, "COUNT BY insurer, race"))
    shares = distribution(release, "insurer", "gender = 'F'")
    assert shares["share"].sum() == pytest.approx(1)
    one = both.row(0, named=True)
    assert one["value"] == release.count(f"insurer = '{one['insurer']}' AND race = '{one['race']}'").value
    assert set(both["basis"]) <= {"exact", "uniform-within-group", "independent-across-tables"}


def test_protected_attributes_are_sensitive() -> None:
    release = released("uad")
    roles = {name: info.role for name, info in attributes_of(release).items()}
    assert {name for name, role in roles.items() if role == "sensitive"} == set(release.manifest.parameters.l)
    assert roles["age"] == "quasi"


def test_bins_are_asked_by_number() -> None:
    """A protected number that some tables show openly is still in bins, and a bin that is cut is shared out evenly."""
    frame = people().with_columns(cost=hospital_discharges(rows=600)["charges"])
    rules = ["age, gender -> cost : l=2", "hospital, race -> zipcode : l=2", "cost -> insurer : l=2"]
    attributes: dict[str, Any] = {"age": {"type": "number"}, "cost": {"type": "number", "bin": 10_000}}
    release = publish(frame, policy_of(attributes, rules=rules, others="drop", method="gd", suppress=0.5), key=KEY)
    everybody = release.manifest.rows
    below, above = release.count("cost < 15000"), release.count("cost >= 15000")
    assert below.value + above.value == pytest.approx(everybody)
    assert below.least < below.value < below.most
    across = release.count("cost < 15000 AND zipcode <> '11201' AND insurer = 'HMO' AND hospital = 'H01'")
    assert across.least <= across.value <= across.most
    answered = answers_of(release, frame, queries=5) if release.manifest.suppressed == 0 else {}
    assert set(answered) <= {"cost", "zipcode", "insurer"}


def test_a_condition_that_is_always_or_never_true(release: Publication) -> None:
    assert release.count("race IS NULL OR race IS NOT NULL").value == release.manifest.rows
    assert release.count("insurer = 'HMO' AND insurer = 'Medicare' AND age > 30").value == 0
    assert release.count().basis == "exact"
    spare = release.count("age < 40 AND (insurer = 'HMO' OR NOT insurer = 'HMO')")
    assert spare == release.count("age < 40")


def test_random_queries_without_a_sensitive_attribute() -> None:
    original, release = people(), released("uad")
    asked = workload(_values(original), None, queries=20, dimensions=4, part=0.6)
    assert all(len(query.attributes) == 4 for query in asked)
    assert workload(_values(original), None, queries=1, dimensions=9, part=1.0)[0].attributes
    result = answers(release, original, asked)
    assert result.queries == 20
    assert set(result.bases) <= {"exact", "uniform-within-group", "independent-across-tables"}
    with pytest.raises(InputError, match="1 to 9 attributes here, not 10"):
        workload(_values(original), None, dimensions=10)
    assert set(answers_of(release, original, queries=5)) == set(release.manifest.parameters.l)


def test_what_is_lost() -> None:
    original = people()
    gd, uad, alone = (released(way).loss for way in ("gd", "uad", "single-attribute"))
    assert gd.kl is not None
    assert uad.kl is not None
    assert alone.kl is not None
    assert 0 < min(gd.kl, uad.kl) <= max(gd.kl, uad.kl) < alone.kl
    assert (alone.groups, alone.average_group, alone.group_sizes) == (0, 0.0, {})
    assert gd.groups == sum(
        part.release.tables["quasi"]["group"].n_unique() for part in subtables(released("gd")) if part.protects
    )
    assert set(gd.ncp_by_attribute.values()) == {0.0}
    labels = released("gd, bsgi").loss
    assert labels.kl is None
    assert labels.ncp > 0
    assert labels.distortion is not None
    assert "insurer" in {shown.attribute for shown in labels.distributions}
    other = original.with_columns(pl.col("insurer").reverse())
    with pytest.raises(ReleaseError, match="not its original"):
        measure(released("single-attribute"), original.with_columns(insurer=pl.lit("HMO")))
    assert measure(released("single-attribute"), other).kl is not None  # its tables say nothing else of the insurer


def test_the_commands(tmp_path: Path) -> None:
    folder, data = tmp_path / "release", tmp_path / "people.csv"
    released("uad").save(folder)
    people().write_csv(data)
    run = CliRunner().invoke
    shown = run(app, ["query", str(folder), "age < 40 AND insurer = 'HMO' AND diagnosis <> 'sepsis'"])
    assert shown.exit_code == 0
    assert "independent-across-tables: values of different tables" in shown.output.replace("\n", " ")
    outcome = run(app, ["query", str(folder), "COUNT BY insurer, gender", "--json"])
    assert outcome.exit_code == 0
    rows = run(app, ["query", str(folder), "SELECT insurer, sum(count) AS people FROM expected GROUP BY ALL", "--sql"])
    assert rows.exit_code == 0
    assert "HMO" in rows.output
    lost = run(app, ["measure", str(folder), "--original", str(data), "--queries", "5", "--json"])
    assert lost.exit_code == 0, lost.output
    assert set(json.loads(lost.output)["queries"]) == {"diagnosis", "insurer", "procedure", "zipcode"}
    assert run(app, ["measure", str(folder), "--original", str(data)]).exit_code == 0


def test_the_report_says_which_tables_there_are(tmp_path: Path) -> None:
    released("gd").save(tmp_path / "split")
    page = (tmp_path / "split.private" / "report.html").read_text(encoding="utf-8")
    assert "What stands together" in page
    assert "guarded by t" in page
    released("single-attribute").save(tmp_path / "alone")
    page = (tmp_path / "alone.private" / "report.html").read_text(encoding="utf-8")
    assert "600 rows in 9 tables. No row was suppressed." in page
    assert "cannot be reached from" in page
    assert "Group sizes" not in page


def test_what_is_refused() -> None:
    release = released("single-attribute")
    with pytest.raises(QueryError, match="Did you mean 'insurer'"):
        count(release, "insurr = 'HMO'")
    with pytest.raises(QueryError, match=r"combinations are .* more than 5,000,000"):
        release.to_duckdb("age", "zipcode", "hospital", "procedure", "diagnosis")
    with pytest.raises(QueryError, match="DuckDB refuses"):
        ask(release, "SELECT nothing FROM expected")
    with pytest.raises(QueryError, match="candidates"):
        distribution(release, "insurer", how="likelihood")


def test_a_damaged_release_is_refused() -> None:
    release = released("gd")

    def changed(tables: dict[str, pl.DataFrame], **names: str) -> AnalystRelease:
        infos = [t.model_copy(update={"name": names.get(t.name, t.name)}) for t in release.manifest.tables]
        manifest: Manifest = release.manifest.model_copy(update={"tables": tuple(infos)})
        return AnalystRelease(
            manifest, {names.get(name, name): rows for name, rows in {**release.tables, **tables}.items()}
        )

    first = next(name for name in release.tables if name.endswith("_quasi"))
    rows = release.tables[first]
    with pytest.raises(ReleaseError, match="600 rows, and 599 are published"):
        changed({first: rows.head(599)}).count()
    with pytest.raises(ReleaseError, match="no table of a release"):
        changed({}, **{first: "quasi"}).count()
    with pytest.raises(ReleaseError, match="is neither one table nor"):
        changed({}, **{first: "t77_quasi"}).count()
    with pytest.raises(ReleaseError, match="do not tell of the same people"):
        changed({first: rows.with_columns(gender=pl.lit("F"))}).count(
            f"insurer = 'HMO' AND diagnosis = '{common()}' AND procedure = 'none' AND zipcode = '11201'"
        )
