"""Plain columns are attacked: a planted one that gives a secret away is named before anything is visible."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import Result
from pluralis.attacks.base import Options
from pluralis.attacks.plain import ATTACK, NOTHING_TOLD, VALUES, plain_columns
from pluralis.attacks.told_in_cells import told_in_cells
from pluralis.auditing import audit
from pluralis.profiling.checking import check_policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.report.risk import with_results
from support.cli_runner import caller
from support.sample_tables import policy_of

DISEASES = ["angina", "cold", "flu", "gout", "hiv", "ulcer"]
METHODS = ["anatomy", "bsgi", "decomposition", "mondrian", "msb", "randomized-addition"]
EXACT = ["anatomy", "decomposition", "msb", "randomized-addition"]
ATTRIBUTES = {
    "age": {"role": "quasi", "type": "number"},
    "sex": {"role": "quasi"},
    "disease": {"role": "sensitive", "l": 3},
    "ward": {"role": "plain"},
}


def people(seed: int, rows: int = 2_000) -> pl.DataFrame:
    """A ward that has nothing to do with anything."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "disease": rng.choice(DISEASES, rows, p=[0.15, 0.15, 0.25, 0.2, 0.05, 0.2]),
            "ward": rng.choice(["A", "B", "*, {C"], rows),
        }
    )


def planted(seed: int, rows: int = 2_000) -> pl.DataFrame:
    """The same, and whoever has hiv lies in the ward D, and nobody else does."""
    ward = pl.when(pl.col("disease") == "hiv").then(pl.lit("D")).otherwise("ward").alias("ward")
    return people(seed, rows).with_columns(ward)


def attacked(table: pl.DataFrame, method: str) -> tuple[Result, Result]:
    """What is learned of the ward, and from it."""
    release = publish(table, policy_of(ATTRIBUTES, method=method), key=Key.test(), attacks=False)
    learned_of, learned_from = ATTACK.run(release, table, Options())
    assert (learned_of.attribute, learned_from.attribute) == ("ward", "disease")
    return learned_of, learned_from


@pytest.mark.parametrize("method", METHODS)
def test_a_ward_that_gives_a_disease_away_is_named(method: str) -> None:
    for seed in range(2):
        table = planted(seed)
        sick = int((table["disease"] == "hiv").sum())
        _, result = attacked(table, method)
        assert result.witness == "ward = D"
        assert (result.targets, result.success) == (sick, 1.0)
        assert result.share == pytest.approx(sick / table.height)
        assert "where ward tells of it" in result.question


def test_the_verdict_is_not_all_clear_where_a_plain_column_gives_most_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = re.compile(
        r"ward, a plain column, gives disease away: guessed right for \d+ % of the \d+ % of people of whom it tells, "
        r"prior \d+ %"
    )
    monkeypatch.chdir(tmp_path)
    pluralis = caller(capsys, monkeypatch)
    for name, table, told in (("clear", people(1), False), ("told", people(1), True)):
        if told:
            table = table.with_columns(ward=pl.when(pl.col("age") % 9 == 0).then(pl.lit("none")).otherwise("disease"))
        table.write_parquet("table.parquet")
        Path("policy.yaml").write_text(policy_of(ATTRIBUTES, method="anatomy").to_yaml())
        ran = pluralis("publish", "table.parquet", "--policy", "policy.yaml", "--out", name, "--attack")
        seen = [ran.out, pluralis("audit", name).out, Path(name, "README.md").read_text(),
                Path(f"{name}.private", "report.html").read_text(), str(audit(name))]  # fmt: skip
        assert [bool(sentence.search(" ".join(text.split()))) for text in seen] == [told] * 5
        for text in (seen[0], seen[1]):
            assert ("Every claim holds, but ward" in text) is told
        assert (">✓</span>Every claim holds</h1>" in seen[3]) is not told
        assert (">!</span>Every claim holds, but ward" in seen[3]) is told
        page = Path(f"{name}.private", "report.html").read_text()
        breach = replace(Result("x", "", 9, False, 1.0, 1.0, 1.0, 0.3, attribute="disease"), promised=0.3, worst=1.0)
        assert "Every claim holds" not in with_results(page, [breach], audit(name).lists)


@pytest.mark.parametrize("method", METHODS)
def test_a_flag_that_tells_in_some_cells_only_is_named_too(method: str) -> None:
    """Of people of 70 and more the flag is set for those who have gout and no others; of younger ones it is drawn."""
    for seed in range(2):
        table = people(seed)
        drawn = pl.Series(np.random.default_rng(seed + 100).random(table.height) < 0.2)
        sick = pl.when(pl.col("age") >= 70).then(pl.col("disease") == "gout").otherwise(drawn)
        _, result = attacked(table.with_columns(ward=pl.when(sick).then(pl.lit("yes")).otherwise(pl.lit("no"))), method)
        assert result.witness == "ward = yes"
        assert result.success > result.prior + 0.1
        assert result.above_chance


def in_one_zip_code(rows: int, *, tells: bool = True) -> pl.DataFrame:
    """A flag that is set for those of one zip code of thirty who have gout and no others; elsewhere it is drawn."""
    rng = np.random.default_rng(3)
    zips, drawn = rng.integers(0, 30, rows), rng.random(rows) < 0.1
    diseases = rng.choice(DISEASES, rows)
    flag = np.where((zips == 7) & tells, diseases == "gout", drawn)
    return pl.DataFrame({
        "age": rng.integers(18, 90, rows), "zipcode": [f"z{one:02}" for one in zips], "disease": diseases,
        "ward": np.where(flag, "yes", "no"),
    })  # fmt: skip


@pytest.mark.parametrize("rows", [3_000, 20_000])
def test_a_flag_that_is_certain_in_one_zip_code_of_thirty_is_named(rows: int) -> None:
    """Among all people of whom it is set those of the zip code are few, and no doubt is left among themselves."""
    attributes = {name: keys for name, keys in ATTRIBUTES.items() if name != "sex"}
    policy = policy_of({**attributes, "zipcode": {"role": "quasi"}}, method="anatomy")
    notes = publish(in_one_zip_code(rows), policy, key=Key.test(), attacks=True).notes
    said = [note for note in notes if "ward, a plain column, tells of disease where zipcode = z07: of " in note]
    assert len(said) == 1
    assert re.search(r"rows there with ward = yes, 100 % have gout; \d\d % without it", said[0])
    check = check_policy(in_one_zip_code(rows), policy)
    assert any(said[0] in problem.message for problem in check.problems if problem.group == "misleading")
    assert check.feasible


def test_a_flag_that_tells_nowhere_is_not_named() -> None:
    table = in_one_zip_code(3_000, tells=False)
    assert not list(told_in_cells(table, ["ward"], ["zipcode", "age"], ["disease"]))


@pytest.mark.parametrize("method", EXACT)
def test_a_ward_that_tells_nothing_raises_no_alarm(method: str) -> None:
    for seed in range(3):
        _, result = attacked(people(seed), method)
        assert (result.share, result.note, result.witness) == (None, NOTHING_TOLD, None)


@pytest.mark.parametrize("method", ["anatomy", "bsgi"])
def test_it_is_in_the_release_before_anything_is_visible(method: str, tmp_path: Path) -> None:
    publication = publish(planted(0), policy_of(ATTRIBUTES, method=method), key=Key.test(), attacks=True)
    assert not any(tmp_path.iterdir())
    sentence = "people's disease is guessed right by whoever sees or knows ward"
    assert any(sentence in item for item in publication.manifest.breaks)
    assert any("ward, a plain column, tells of disease: where ward = D, 100.0%" in note for note in publication.notes)
    assert any(item.startswith("worst measured guess: ") for item in publication.manifest.breaks)
    publication.save(tmp_path / "release", allow_test=True)
    assert sentence in (tmp_path / "release" / "README.md").read_text()


def test_numbers_are_not_published_of_few_people() -> None:
    few = publish(planted(0, 600), policy_of(ATTRIBUTES, method="anatomy"), key=Key.test(), attacks=True)
    about = [item for item in few.manifest.breaks if item.startswith(("plain:", "worst"))]
    assert len(about) == 3
    assert not any("%" in item for item in about)


def test_certain_by_hand() -> None:
    """Two groups of two; of one all lie in A, of the other one in A and one in B: two of four are certain."""
    table = pl.DataFrame(
        {
            "age": [20, 21, 60, 61],
            "disease": ["flu", "gout", "flu", "gout"],
            "ward": ["A", "A", "A", "B"],
        }
    )
    attributes = {name: one for name, one in ATTRIBUTES.items() if name != "sex"} | {
        "disease": {"role": "sensitive", "l": 2}
    }
    release = publish(table, policy_of(attributes, method="bsgi"), key=Key.test(), attacks=False)
    result, _ = ATTACK.run(release, table, Options())
    assert set(release.tables["microdata"]["age"]) == {"[20, 21]", "[60, 61]"}
    assert (result.certain, result.worst, result.prior) == (0.5, 1.0, 0.75)
    assert result.success == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)


def test_beside_exact_quasi_identifiers_it_is_certain_of_everybody() -> None:
    table = people(3, 300).with_columns(age=pl.int_range(300))
    result, _ = attacked(table, "anatomy")
    assert (result.certain, result.success) == (1.0, 1.0)


def test_a_column_that_has_one_value_tells_nothing() -> None:
    table = people(4, 300).with_columns(ward=pl.lit("A"))
    learned_of, _ = attacked(table, "anatomy")
    assert (learned_of.certain, learned_of.prior, learned_of.above_chance) == (0.0, 1.0, False)


def test_a_number_of_many_values_is_told_apart_in_parts() -> None:
    """Of 2,000 different numbers those from 1,880 on are of people who have hiv."""
    rng = np.random.default_rng(5)
    table = people(5).with_columns(ward=pl.Series(rng.permutation(2_000)))
    sick = pl.when(pl.col("ward") >= 1_880).then(pl.lit("hiv")).otherwise(pl.col("disease").replace("hiv", "flu"))
    table = table.with_columns(disease=sick)
    attributes = ATTRIBUTES | {"ward": {"role": "plain", "type": "number"}}
    release = publish(table, policy_of(attributes, method="anatomy"), key=Key.test(), attacks=False)
    assert table["ward"].n_unique() > VALUES
    _, result = ATTACK.run(release, table, Options())
    assert (result.targets, result.success, result.share) == (120, 1.0, 0.06)
    assert result.witness is not None
    assert result.witness.startswith("ward = 1")


def test_an_adversary_who_knows_it_is_promised_to() -> None:
    table = people(6, 600)
    policy = policy_of(ATTRIBUTES, adversaries=[["age", "sex", "ward"]], method="bsgi")
    release = publish(table, policy, key=Key.test(), attacks=False)
    _, result = ATTACK.run(release, table, Options())
    assert result.promised == pytest.approx(1 / 3)
    assert not result.breach


def test_tables_of_rules_have_no_plain_columns() -> None:
    release = publish(people(7, 300), policy_of(ATTRIBUTES, method="gd"), key=Key.test(), attacks=False)
    assert plain_columns(release) == []
    assert not ATTACK.applies(release)
