"""Attributes whose values stand in order: published as intervals of it, audited from disk, asked in ranges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import attack
from pluralis.auditing import audit
from pluralis.errors import InputError, PolicyError, QueryError
from pluralis.estimate import count, crosstab
from pluralis.estimate.analyst_release import read_release
from pluralis.estimate.conditions import All, Check
from pluralis.estimate.sql import ask
from pluralis.metrics import measure
from pluralis.metrics.loss import label_losses
from pluralis.metrics.workloads import answers, answers_of, expression
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.release.manifest import ColumnInfo
from support.sample_tables import KEY, policy_of

BANDS = [f"[{age}-{age + 10})" for age in range(0, 100, 10)]
PAINS = ["none", "mild", "moderate", "severe"]


def _encounters(rows: int = 400) -> tuple[pl.DataFrame, np.ndarray]:
    """Encounters with age bands, pains and charges, and the ages behind the bands."""
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 100, rows)
    table = pl.DataFrame(
        {
            "age": [BANDS[age // 10] for age in ages],
            "sex": rng.choice(["f", "m"], rows),
            "charge": rng.integers(0, 1000, rows),
            "pain": rng.choice(PAINS, rows, p=[0.3, 0.3, 0.25, 0.15]),
            "diagnosis": rng.choice(list("abcdefgh"), rows),
        }
    )
    return table, ages


TABLE, AGES = _encounters()
AGE = {"role": "quasi", "order": BANDS}
CHARGE = {"role": "quasi", "type": "number", "breaks": [200, 400, 600]}
SENSITIVE: dict[str, dict[str, Any]] = {
    "diagnosis": {"role": "sensitive", "l": 3},
    "age": {"role": "sensitive", "l": 3, "order": BANDS},
    "charge": {"role": "sensitive", "l": 3, "type": "number", "bins": {"quantiles": 5}},
    "pain": {"role": "sensitive", "l": 2, "order": PAINS},
}
QUASI_METHODS = ("bsgi", "mondrian", "incognito", "kaca", "anatomy", "tp", "gd")
SENSITIVE_METHODS = ("bsgi", "anatomy", "decomposition", "randomized-addition", "msb", "uad")
RELEASES = [
    *((method, ("diagnosis",)) for method in QUASI_METHODS),
    *((method, (name,)) for method in SENSITIVE_METHODS for name in ("age", "charge", "pain")),
    ("sloms", ("diagnosis", "pain")),
    ("sloms", ("age", "charge")),
]


def released(method: str, sensitive: tuple[str, ...], folder: Path, **more: Any) -> Any:
    attributes = {"age": AGE, "sex": {"role": "quasi"}, "charge": CHARGE} | {
        name: SENSITIVE[name] for name in sensitive
    }
    release = publish(TABLE, policy_of(attributes, others="drop", method=method, suppress=0.2, **more), key=KEY)
    release.save(folder)
    return release


@pytest.fixture(scope="module", params=RELEASES, ids=lambda pair: f"{pair[0]} {'+'.join(pair[1])}")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ordered") / "release"
    released(*request.param, path)
    return path


def test_the_folder_holds_with_the_raw_original(folder: Path) -> None:
    assert audit(folder, TABLE).holds
    assert measure(folder, TABLE).ncp <= 1


def test_the_manifest_says_the_order(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    columns = [column for table in manifest["tables"] for column in table["columns"]]
    columns += manifest["parameters"].get("domains", {}).values()
    for column in columns:
        name = column.get("attribute", column["name"])
        if name in ("age", "charge", "pain") and column["role"] in ("quasi", "sensitive"):
            assert column["ordered"] is True
    ages = [column["domain"] for column in columns if column.get("attribute") == "age"]
    assert all(domain == [band for band in BANDS if band in domain] for domain in ages)
    breaks = manifest["parameters"]["recodings"]["charge"]["breaks"]
    assert breaks == [200, 400, 600] if any(c["name"] == "charge" and c["role"] == "quasi" for c in columns) else breaks


RANGES = [
    ("age >= 60", AGES >= 60),
    ("age < 30", AGES < 30),
    ("age >= 20 AND age < 50", (AGES >= 20) & (AGES < 50)),
    ("NOT age >= '[60-70)'", AGES < 60),
    ("age BETWEEN '[10-20)' AND '[30-40)'", (AGES >= 10) & (AGES < 40)),
    ("age IN ('[0-10)', '[90-100)')", (AGES < 10) | (AGES >= 90)),
    ("age != '[0-10)'", AGES >= 10),
]


@pytest.mark.parametrize(("query", "truth"), RANGES, ids=[query for query, _ in RANGES])
def test_ranges_lie_within_their_certain_bounds(folder: Path, query: str, truth: np.ndarray) -> None:
    release = read_release(folder)
    estimate = count(release, query)
    suppressed = release.manifest.suppressed
    assert estimate.least - 1e-9 <= truth.sum() <= estimate.most + suppressed + 1e-9
    assert abs(estimate.value - truth.sum()) <= 0.35 * truth.sum() + suppressed + 40


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "kaca", "anatomy", "decomposition", "gd"])
def test_bands_that_are_cut_are_spread(method: str, tmp_path: Path) -> None:
    released(method, ("pain",), tmp_path / "release")
    release = read_release(tmp_path / "release")
    whole, part = count(release, "age >= 60 AND age < 80"), count(release, "age BETWEEN 60 AND 79")
    assert part.value == pytest.approx(whole.value)  # whole numbers, where all ends are
    assert part.least <= (truth := ((AGES >= 60) & (AGES < 80)).sum()) <= part.most + release.manifest.suppressed
    assert part.least <= whole.least <= truth + 1e-9
    half = count(release, "age >= 65 AND age < 70").value
    assert half == pytest.approx(count(release, "age = '[60-70)'").value / 2)


def test_words_in_order_are_compared_by_their_place(tmp_path: Path) -> None:
    released("anatomy", ("pain",), tmp_path / "release")
    release = read_release(tmp_path / "release")
    counts = {pain: (TABLE["pain"] == pain).sum() for pain in PAINS}
    for query, pains in (
        ("pain >= 'moderate'", PAINS[2:]),
        ("pain > 'MILD'", PAINS[2:]),
        ("pain < 'mild'", PAINS[:1]),
        ("pain <= 'mild'", PAINS[:2]),
        ("pain < 'none'", []),
        ("pain BETWEEN 'mild' AND 'moderate'", PAINS[1:3]),
    ):
        assert count(release, query).value == pytest.approx(sum(counts[pain] for pain in pains)), query
    assert crosstab(release, "pain")["pain"].to_list() == PAINS


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pain > 3", "an order that are no bands of numbers. Compare it with one of them in single quotes: 'none'"),
        ("pain > 'agony'", "'pain' has no value 'agony'"),
        ("pain BETWEEN 'severe' AND 'mild'", "the wrong way round"),
        ("charge > 700", "published as '>=600', and no finer: charge > 700 would divide it. Compare with 600 instead"),
        ("charge = 100", "published as '<200', and no finer"),
        ("charge BETWEEN 100 AND 300", "published as '<200'"),
        ("age BETWEEN 10 AND '[30-40)'", "give two numbers, or two values"),
        ("sex > 'f'", "holds text, which has no order"),
    ],
)
def test_what_cannot_be_asked_is_said(query: str, message: str, tmp_path: Path) -> None:
    released("anatomy", ("pain",), tmp_path / "release")
    with pytest.raises(QueryError) as refusal:
        count(read_release(tmp_path / "release"), query)
    assert message in str(refusal.value)


def test_whole_bins_can_be_asked_by_number(tmp_path: Path) -> None:
    release = released("anatomy", ("pain",), tmp_path / "release")
    charge = TABLE["charge"]
    for query, truth in (
        ("charge < 200", (charge < 200).sum()),
        ("charge >= 600", (charge >= 600).sum()),
        ("charge >= 200 AND charge < 600", ((charge >= 200) & (charge < 600)).sum()),
    ):
        estimate = count(release, query)
        assert (estimate.value, estimate.least, estimate.most) == (truth, truth, truth)


@pytest.mark.parametrize("method", ["bsgi", "anatomy"])
def test_the_view_spreads_ordered_labels(method: str, tmp_path: Path) -> None:
    release = released(method, ("diagnosis",), tmp_path / "release")
    rows = ask(release, "SELECT age, sum(count) FROM expected GROUP BY age").rows()
    assert {band for band, _ in rows} == set(BANDS)
    for band, expected in rows:
        assert count(release, f"age = '{band}'").value == pytest.approx(expected)


def test_attacks_know_the_ends_of_ordered_intervals(tmp_path: Path) -> None:
    release = released("mondrian", ("diagnosis",), tmp_path / "release")
    cells, people = attack(release, TABLE, only=["downcoding"])
    assert cells.targets > 0
    assert cells.success > 0.1  # both ends of every interval are somebody's
    assert people.success > people.prior


def test_skewness_is_measured_along_the_order(tmp_path: Path) -> None:
    results = attack(released("anatomy", ("pain",), tmp_path / "release"), TABLE, only=["skewness"])
    assert "earth mover's" in str(next(result for result in results if result.attribute == "pain").note)


def test_the_order_of_rows_and_the_format_change_nothing(tmp_path: Path) -> None:
    release = released("bsgi", ("pain",), tmp_path / "release")
    policy = policy_of({"age": AGE, "sex": {"role": "quasi"}, "charge": CHARGE, "pain": SENSITIVE["pain"]},
                       others="drop", suppress=0.2)  # fmt: skip
    again = publish(TABLE.sample(fraction=1, shuffle=True, seed=3), policy, key=KEY)
    assert again.manifest.parameters == release.manifest.parameters
    assert again.tables["microdata"].equals(release.tables["microdata"])
    again.save(tmp_path / "csv", format="csv")
    assert audit(tmp_path / "csv", TABLE).holds


def test_missing_values_are_a_category_of_their_own(tmp_path: Path) -> None:
    table = TABLE.with_columns(
        age=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("age"),
        charge=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("charge"),
    )
    for method in ("bsgi", "mondrian", "incognito", "anatomy"):
        attributes = {"age": AGE, "charge": CHARGE, "diagnosis": SENSITIVE["diagnosis"]}
        release = publish(table, policy_of(attributes, others="drop", method=method, suppress=0.2), key=KEY)
        release.save(tmp_path / method)
        assert audit(tmp_path / method, table).holds
        published = 400 - release.manifest.suppressed
        assert count(release, "age IS NULL OR NOT age IS NULL").value == pytest.approx(published)
        known = count(release, "age >= 0 AND age < 100")
        assert known.least <= table["age"].is_not_null().sum() <= known.most + release.manifest.suppressed


def test_no_end_of_the_data_is_told() -> None:
    release = publish(TABLE, policy_of({"charge": CHARGE, "diagnosis": SENSITIVE["diagnosis"]}, others="drop"), key=KEY)
    text = release.manifest.to_json() + "".join(release.tables["microdata"]["charge"].unique())
    assert str(TABLE["charge"].max()) not in text
    assert {"<200", ">=600"} <= set(release.manifest.tables[0].columns[0].domain or ())


def test_decimals_in_bins_share_no_end(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"sex": rng.choice(["f", "m"], 200), "dose": rng.integers(0, 40, 200) / 8})
    policy = policy_of({"sex": {"role": "quasi"}, "dose": {"role": "sensitive", "l": 3, "type": "number", "bin": 0.5}})
    release = publish(table, policy, key=KEY)
    release.save(tmp_path / "release")
    assert set(release.tables["microdata"]["dose"]) == {f"[{low / 2:g}, {(low + 1) / 2:g})" for low in range(10)}
    assert audit(tmp_path / "release", table).holds
    assert count(release, "dose >= 2 AND dose < 3").value == ((table["dose"] >= 2) & (table["dose"] < 3)).sum()


def test_workloads_know_the_order(tmp_path: Path) -> None:
    release = released("anatomy", ("pain",), tmp_path / "release")
    queries = [Check("pain", ">=", ("moderate",)), Check("age", "<", ("[30-40)",)), Check("charge", "IN", ("<200",))]
    assert answers(release, TABLE, queries).mean_error == pytest.approx(0)
    assert answers_of(release, TABLE, queries=20, dimensions=2)["pain"].queries == 20
    nobody = All((Check("pain", "<", ("none",)), Check("age", "<", ("[30-40)",))))
    assert TABLE.select(expression(Check("pain", "IN", ())).sum()).item() == 0
    with pytest.raises(InputError, match="No row of the original passes"):
        answers(release, TABLE, [nobody])
    with pytest.raises(InputError, match="charge < 400: the original's 'charge' is known in bands"):
        answers(release, TABLE, [Check("charge", "<", (400,))])


def test_loss_of_ordered_labels_is_in_places() -> None:
    column = ColumnInfo(name="pain", role="quasi", type="text", ordered=True, domain=tuple(PAINS))
    labels = pl.Series(["none", "none \u2026 mild", "mild \u2026 severe", "*", None])
    assert label_losses(labels, column, pl.Series(PAINS)).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1, 0])


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"order": BANDS[:-1]}, r"'age' holds '\[90-100\)', which its `order` does not list"),
        ({"order": BANDS[2:]}, r"'\[0-10\)', '\[10-20\)', which"),
        ({"order": ["x", "y"]}, r"and 2 more, which"),
        ({"order": [*BANDS, "Other", "other"]}, "'other' is listed twice, in two spellings"),
    ],
)
def test_an_order_lists_every_value(attribute: dict[str, Any], message: str) -> None:
    policy = policy_of({"age": {"role": "quasi", **attribute}, "diagnosis": SENSITIVE["diagnosis"]}, others="drop")
    with pytest.raises((InputError, PolicyError), match=message):
        publish(TABLE, policy, key=KEY)


def test_protected_bands_do_not_overlap() -> None:
    table = pl.DataFrame({"sex": ["f", "m"] * 4, "age": ["0-9", "5-14", "15+", "20+"] * 2})
    policy = policy_of(
        {"sex": {"role": "quasi"}, "age": {"role": "sensitive", "l": 2, "order": ["0-9", "5-14", "15+", "20+"]}}
    )
    with pytest.raises(InputError, match="'0-9' and '5-14', which overlap"):
        publish(table, policy, key=KEY)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"role": "quasi", "order": ["a", "b"], "type": "number"}, "numbers have an order of their own"),
        ({"role": "quasi", "order": ["a", "a"]}, "'a' is listed twice"),
        ({"role": "quasi", "order": ["a", " "]}, "lists a blank"),
        ({"role": "quasi", "order": ["a"]}, "at least 2 items"),
        ({"role": "quasi", "order": ["a", "b"], "hierarchy": {"mask": "right"}}, "along order or along a hierarchy"),
        ({"role": "identifier", "order": ["a", "b"]}, "order belongs to what is published"),
        ({"role": "quasi", "breaks": [1, 2]}, "breaks divides numbers. Add type: number"),
        ({"role": "quasi", "type": "number", "breaks": [2, 1]}, "1 stands after 2"),
        ({"role": "quasi", "type": "number", "breaks": [1, 1]}, "1 stands after 1"),
        ({"role": "quasi", "type": "number", "breaks": []}, "at least 1 item"),
        ({"role": "quasi", "type": "number", "breaks": ["a"]}, "write numbers, such as"),
        ({"role": "quasi", "type": "number", "breaks": [1], "bins": {"quantiles": 3}}, "breaks says already"),
        ({"role": "quasi", "type": "number", "bins": {"quantiles": 1}}, "greater than or equal to 2"),
        ({"role": "quasi", "type": "number", "bins": {"quantile": 4}}, "unknown key 'quantile'"),
        ({"role": "quasi", "type": "number", "bins": 4}, "bins"),
        ({"role": "sensitive", "l": 2, "type": "number", "bin": 5, "breaks": [1]}, "breaks says already"),
        ({"role": "quasi", "type": "number", "breaks": [1], "top": 9}, "top: the first and the last bin have no other"),
        ({"role": "quasi", "type": "number", "bins": {"quantiles": 3}, "bottom": 9}, "bottom: the first and the last"),
        ({"role": "quasi", "type": "number", "breaks": [1], "rare": {"below": 3}}, "rare is for text. For numbers use"),
        ({"role": "quasi", "order": ["a", "b"], "rare": {"below": 3}}, "what is joined has no place in an order"),
        ({"role": "quasi", "type": "number", "breaks": [1], "hierarchy": {"file": "x.csv"}}, "along breaks or along a"),
    ],
)  # fmt: skip
def test_keys_that_contradict_themselves(attribute: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy_of({"x": attribute, "s": {"role": "sensitive", "l": 2}})


def test_equal_numbers_make_no_bins() -> None:
    table = pl.DataFrame({"x": [7, 7, 7, 7], "s": list("abab")})
    policy = policy_of(
        {"x": {"role": "quasi", "type": "number", "bins": {"quantiles": 2}}, "s": {"role": "sensitive", "l": 2}}
    )
    with pytest.raises(PolicyError, match="its numbers are all the same"):
        publish(table, policy, key=KEY)


Recoded = tuple[pl.DataFrame, Publication, Path]  # a table, its release, and the folder of that


@pytest.fixture(scope="module")
def recoded(tmp_path_factory: pytest.TempPathFactory) -> Recoded:
    """A table with orders and every other recoding, its release, and the folder where that was saved."""
    rows, folder = 600, tmp_path_factory.mktemp("recoded")
    table = pl.DataFrame(
        {
            "age": ["unknown" if i % 50 == 0 else BANDS[i % 10] for i in range(rows)],
            "charge": [-1 if i % 60 == 0 else i * 7 % 1000 for i in range(rows)],
            "weight": [40 + i * 11 % 80 for i in range(rows)],
            "size": [150 + i % 4 for i in range(rows)],
            "town": [f"Hamlet{i}" if i % 40 == 0 else "abcd"[i % 4] for i in range(rows)],
            "diagnosis": [f"Rarissima{i}" if i % 30 == 0 else "uvwxyz"[i % 6] for i in range(rows)],
            "pain": ["?" if i % 75 == 0 else PAINS[i * 3 % 4] for i in range(rows)],
        }
    )
    (folder / "sizes.csv").write_text("150;small;*\n151;small;*\n152;tall;*\n153.0;tall;*\n")
    policy = policy_of(
        {
            "age": {**AGE, "missing": ["unknown"]},
            "charge": {**CHARGE, "missing": ["-1"]},
            "weight": {"role": "quasi", "type": "number", "top": 100, "bottom": 50},
            "size": {"role": "quasi", "type": "number", "hierarchy": {"file": "sizes.csv"}},
            "town": {"role": "quasi", "rare": {"below": 12, "as": "elsewhere"}},
            "diagnosis": {"role": "sensitive", "l": 3, "rare": {"below": 20}},
            "pain": {"role": "sensitive", "l": 2, "order": [*PAINS, "not said"], "missing": ["?"],
                     "if_missing": {"as": "not said"}},
        },
        others="drop", method="msb",
    )  # fmt: skip
    release = publish(table, Policy.parse(policy.to_yaml(), folder=folder), key=KEY)
    release.save(folder / "release")
    return table, release, folder / "release"


def test_orders_stand_beside_all_other_recodings(recoded: Recoded) -> None:
    """Raw originals are read as the table was."""
    table, release, folder = recoded
    assert audit(folder, table).holds
    assert measure(folder, table).rows == table.height
    scores = [
        [
            result.success for result in attack(read, table) if result.attack != "minimality"
        ]  # it needs the hierarchy file
        for read in (folder, release)
    ]
    assert len(scores[0]) > 5
    assert scores[0] == pytest.approx(scores[1])
    said = (folder / "manifest.json").read_text()
    assert "Hamlet" not in said
    assert "Rarissima" not in said
    assert sorted(json.loads(said)["parameters"]["recodings"]) == [
        "age", "charge", "diagnosis", "pain", "size", "town", "weight",
    ]  # fmt: skip


def test_each_attribute_is_asked_as_it_was_published(recoded: Recoded) -> None:
    table, release, _ = recoded
    counted = {
        "age >= 60": table["age"].is_in(BANDS[6:]),
        "age IS NULL": table["age"] == "unknown",
        "charge < 400": (table["charge"] < 400) & (table["charge"] >= 0),
        "charge IS NULL": table["charge"] == -1,
        "weight >= 100": table["weight"] >= 100,
        "size BETWEEN 151 AND 152": table["size"].is_between(151, 152),
        "town = 'elsewhere'": table["town"].str.starts_with("Hamlet"),
        "diagnosis = 'other'": table["diagnosis"].str.starts_with("Rarissima"),
        f"pain > '{PAINS[1]}'": table["pain"].is_in([*PAINS[2:], "?"]),
    }
    for question, rows_of in counted.items():
        assert release.count(question).value == rows_of.sum(), question


@pytest.mark.parametrize(
    ("question", "refusal"),
    [
        ("weight > 105", "Ask 'weight' >= 100"),
        ("charge > 700", "no finer"),
        ("town > 'a'", "has no order"),
        ("size > 'tall'", "has no order"),
    ],
)
def test_what_a_recoded_attribute_cannot_be_asked(question: str, refusal: str, recoded: Recoded) -> None:
    with pytest.raises(QueryError, match=refusal):
        recoded[1].count(question)
