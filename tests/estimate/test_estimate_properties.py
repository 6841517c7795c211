"""Estimates are what the literal reading of a release gives, and what is certain is true, whatever is asked."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.counting import counted, is_true
from pluralis.errors import Infeasible, PolicyError, QueryError
from pluralis.estimate import count, crosstab, distribution, estimator_of, table
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.estimate.conditions import All, Check, col
from pluralis.estimate.label_distribution import codes_and_column
from pluralis.estimate.result import interval
from pluralis.estimate.truth_table import truth_table_of
from pluralis.publishing.pipeline import publish
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.table.labels import binned, is_binned
from support.effort import tries
from support.random_conditions import random_condition
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

QUASI: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "number"},
    "score": {"role": "quasi", "type": "number"},
    "color": {"role": "quasi"},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "weight": {"role": "quasi", "type": "number", "hierarchy": {"intervals": [3, 6]}},
    "ward": {"role": "plain"},
}
SENSITIVE: dict[str, dict[str, Any]] = {
    "disease": {"role": "sensitive", "l": 2},
    "job": {"role": "sensitive", "l": 2},
    "pay": {"role": "sensitive", "l": 2, "type": "number", "bin": 5},
    "children": {"role": "sensitive", "l": 2, "type": "number"},
}
KNOWN = [
    ["age", "zip"],
    ["age", "disease"],
    ["zip", "job"],
]  # whoever knows a sensitive value: values are then unlinked
SETTINGS: dict[str, tuple[int, dict[str, Any]]] = {
    "bsgi": (2, {"method": "bsgi"}),
    "bsgi, unlinked": (3, {"method": "bsgi", "adversaries": KNOWN}),
    "mondrian": (2, {"method": "mondrian"}),
    "mondrian, unlinked": (2, {"method": "mondrian", "adversaries": KNOWN}),
    "incognito": (1, {"method": "incognito"}),
    "kaca": (2, {"method": "kaca", "k": 3}),
    "anatomy": (1, {"method": "anatomy"}),
    "msb": (3, {"method": "msb"}),
    "msb, unlinked": (3, {"method": "msb", "adversaries": KNOWN}),
    "decomposition": (3, {"method": "decomposition"}),
    "decomposition, marginals": (3, {"method": "decomposition", "options": {"sensitive_table": "marginals"}}),
    "decomposition, none": (2, {"method": "decomposition", "options": {"sensitive_table": "none"}}),
    "decomposition, joint": (
        3,
        {"method": "decomposition", "variant": "paper", "options": {"sensitive_table": "joint"}},
    ),
    "sloms": (3, {"method": "sloms", "k": 2}),
    "sloms, unlinked": (3, {"method": "sloms", "k": 2, "adversaries": KNOWN, "options": {"slices": 2}}),
    "sloms, rows without a group": (3, {"method": "sloms", "k": 2, "variant": "paper", "options": {"slices": 2}}),
    "sloms, paper": (4, {"method": "sloms", "k": 2, "variant": "paper", "options": {"slices": 2}}),
}

HOLES = "sloms, rows without a group"


def people(rng: random.Random, rows: int, sensitive: int) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """A table of some rows, values missing here and there, sensitive values dealt so that no value is too common."""
    gaps = rng.choice([0.0, 0.2])

    def drawn(values: list[Any]) -> list[Any]:
        return [None if rng.random() < gaps else rng.choice(values) for _ in range(rows)]

    def dealt(values: list[Any]) -> list[Any]:
        cards = [values[i % len(values)] for i in range(rows)]
        return rng.sample(cards, rows)

    columns: dict[str, pl.Series] = {
        "age": pl.Series(drawn([20, 21, 22, 25, 28]), dtype=pl.Int64),
        "score": pl.Series(drawn([-0.5, 0.25, 1.5, 2.0, 7.75]), dtype=pl.Float64),
        "color": pl.Series(drawn(["red", "*", "{a}", 'b, "c"', "null"]), dtype=pl.String),
        "zip": pl.Series(drawn(["10075", "10076", "10100", "204", "21"]), dtype=pl.String),
        "weight": pl.Series(drawn([51, 53, 54, 58, 62]), dtype=pl.Int64),
        "ward": pl.Series(drawn(["a", "b"]), dtype=pl.String),
        "disease": pl.Series(dealt(["flu", "hiv", "gout", "asthma"])),
        "job": pl.Series(dealt(["cook", "nurse", "clerk"])),
        "pay": pl.Series(dealt([1, 7, 17, 4, 12] if rng.random() < 0.5 else [1.5, 7.0, 17.25, 4.0])),
        "children": pl.Series(dealt([0, 1, 2, 3])),
    }
    kept = [*rng.sample(list(QUASI), rng.randint(2, len(QUASI))), *rng.sample(list(SENSITIVE), sensitive)]
    if not set(kept) & {"age", "zip"}:
        kept.append("age")
    roles = {name: {**QUASI, **SENSITIVE}[name] for name in kept}
    return pl.DataFrame({name: columns[name] for name in kept}), roles


def published(setting: str, rng: random.Random, rows: int) -> tuple[Release, list[dict[str, Any]]]:
    """A release, and the rows of its original as they are asked about."""
    sensitive, more = SETTINGS[setting]
    frame, roles = people(rng, rows, sensitive)
    more = dict(more)
    if "adversaries" in more:
        known = [[name for name in names if name in roles] for names in more["adversaries"]]
        more["adversaries"] = [names for names in known if names]
        assume(any(set(names) & set(SENSITIVE) for names in known))
    try:
        release = publish(frame, policy_of(roles, **more), key=KEY)
    except (Infeasible, PolicyError):  # incognito refuses a value *
        assume(False)
    assert release.manifest.suppressed == 0
    shown = without_groups(release, rng) if setting == HOLES else release
    return shown, truths(release, frame)


def without_groups(release: Release, rng: random.Random) -> Release:
    """The same release with some groups of a slice taken out, their rows kept."""
    name = rng.choice([name for name in release.tables if name.startswith("slice_")])
    column = f"group_{name.removeprefix('slice_')}"
    groups = release.tables[name]["group"].unique().sort().to_list()
    assume(len(groups) > 1)
    out = rng.sample(groups, rng.randint(1, len(groups) - 1))
    quasi = release.tables["quasi"]
    holes = pl.when(pl.col(column).is_in(out)).then(None).otherwise(pl.col(column)).alias(column)
    entries = release.tables[name].filter(~pl.col("group").is_in(out))
    return AnalystRelease(release.manifest, {**release.tables, "quasi": quasi.with_columns(holes), name: entries})


def truths(release: Release, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of an original; a number that is published in bins as (bin, number)."""
    infos = attributes_of(release)
    columns: dict[str, list[Any]] = {name: frame[name].to_list() for name in infos}
    for name, info in infos.items():
        if info.role == "sensitive" and is_binned(info.domain):
            labels = binned(frame[name], [str(label) for label in info.domain or ()]).to_list()
            columns[name] = list(zip(labels, columns[name], strict=True))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("setting", SETTINGS)
@settings(max_examples=tries(40))
@given(seed=st.integers(0, 2**32), rows=st.integers(6, 14))
def test_estimates_are_what_the_tables_say(setting: str, seed: int, rows: int) -> None:
    rng = random.Random(seed)
    release, true_rows = published(setting, rng, rows)
    for _ in range(6):
        asked = random_condition(release, rng)
        if len(asked.attributes) > 4:
            continue
        sums = estimator_of(release).sums(asked)
        case = f"{setting}: {asked}"
        naive = counted(release, asked)
        assert sums[0] == pytest.approx(naive.expected, abs=1e-9), case
        assert sums[1] == pytest.approx(naive.variance, abs=1e-9), case
        simple = isinstance(asked, All) and all(isinstance(part, Check) for part in asked.parts)
        if simple or len(asked.attributes) <= 2:  # of others the bounds need not be the narrowest
            assert sums[2] >= naive.least, case
            assert sums[3] <= naive.most, case
        assert sums[3] > 0 or naive.expected == 0, case
        true = sum(is_true(asked, row) for row in true_rows)
        assert sums[2] <= true <= sums[3], case
        shown = release.count(asked)
        clipped = min(max(naive.expected, sums[2]), sums[3])
        assert shown.value == pytest.approx(clipped, abs=1e-9), case
        assert shown.low <= shown.value + 1e-9, case
        assert shown.high >= shown.value - 1e-9, case
        assert (shown.basis == "exact") == (shown.least == shown.most), case
        if shown.basis == "exact":
            assert shown.value == shown.low == shown.high == true
        else:
            expected = interval(clipped, naive.variance, 0.95, "uniform-within-group", sums[2], sums[3])
            assert (shown.low, shown.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
@settings(max_examples=tries(10))
@given(seed=st.integers(0, 2**32))
def test_what_is_published_as_it_is_is_counted_exactly(setting: str, seed: int) -> None:
    rng = random.Random(seed)
    release, true_rows = published(setting, rng, 12)
    assert release.count() == interval(12, 0.0, 0.95, "exact", 12, 12)
    infos = attributes_of(release)
    linked = release.kind == "generalized" and release.manifest.parameters.linked
    exact = {
        name
        for name, info in infos.items()
        if info.exact or info.role == "plain" or (linked and not is_binned(info.domain) and info.role == "sensitive")
    }
    for _ in range(20):
        asked = random_condition(release, rng)
        if set(asked.attributes) <= exact:
            estimate = release.count(asked)
            assert estimate.basis == "exact"
            assert estimate.value == sum(is_true(asked, row) for row in true_rows)


@pytest.mark.parametrize("setting", ["anatomy", "msb", "msb, unlinked", "decomposition, marginals", "sloms"])
@settings(max_examples=tries(10))
@given(seed=st.integers(0, 2**32))
def test_a_sensitive_attribute_alone_is_counted_exactly(setting: str, seed: int) -> None:
    """The counts of values are published; only what goes with what is hidden."""
    release, true_rows = published(setting, random.Random(seed), 12)
    for name, info in attributes_of(release).items():
        if info.role == "sensitive" and info.type == "text":
            for value in info.domain or ():
                asked = Check(name, "=", (value,))
                estimate = release.count(asked)
                assert estimate.basis == "exact"
                assert estimate.value == sum(is_true(asked, row) for row in true_rows)


def test_labels_stand_for_values_of_the_domain() -> None:
    """A tree from a file has leaves that no row has; an interval of fixed width may reach beyond all numbers."""
    lines = (("apple", "fruit", "*"), ("pear", "fruit", "*"), ("plum", "fruit", "*"), ("leek", "vegetable", "*"))
    info = ColumnInfo(name="x", role="quasi", type="text", domain=("apple", "leek", "pear", None), hierarchy=lines)
    asked = truth_table_of(col("x") == "apple", {"x": info})
    codes, column = codes_and_column(pl.Series(["fruit", "*", "vegetable", None]), info)
    probability = column.distribution(asked.axes[0]).probability[asked.axes[0].class_of[1]][codes]
    assert probability.tolist() == pytest.approx([1 / 2, 1 / 4, 0, 0])
    info = ColumnInfo(name="x", role="quasi", type="number", domain=(12, 25))
    asked = truth_table_of(col("x") <= 14, {"x": info})
    codes, column = codes_and_column(pl.Series(["[10, 14]", "[10, 19]", "*", None]), info)
    distribution = column.distribution(asked.axes[0])
    inside = asked.axes[0].class_of[0]
    assert distribution.probability[inside][codes].tolist() == pytest.approx([1, 3 / 8, 3 / 14, 0])
    assert distribution.possible[1 - inside][codes].tolist() == [0, 1, 1, 1]


def test_whole_numbers_are_not_rounded() -> None:
    large = 2**53 + 1  # as a float it is another number
    frame = PATIENTS.with_columns(pl.col("age") + large)
    for method in ("anatomy", "bsgi"):
        release = publish(frame, patients_policy(method=method), key=KEY)
        estimate = release.count(col("age") == large + 50)
        assert estimate.least <= 2 <= estimate.most
        assert release.count(col("age") == large + 49).value < 2
    assert release.count(col("age") <= large + 50).value == 7


@pytest.fixture(scope="module")
def patients() -> Release:
    return publish(PATIENTS, patients_policy(method="anatomy"), key=KEY)


def test_a_conjunction_has_the_hypergeometric_variance(patients: Release) -> None:
    rows, values = patients.tables["quasi"], patients.tables["sensitive"]
    expected = variance = 0.0
    least = most = 0
    for group in rows["group"].unique():
        n = rows.filter(pl.col("group") == group).height
        a = rows.filter((pl.col("group") == group) & (pl.col("age") >= 30)).height
        c = values.filter((pl.col("group") == group) & (pl.col("disease") == "Obesity"))["count"].sum()
        expected += a * c / n
        variance += a * c * (n - a) * (n - c) / (n * n * (n - 1))
        least, most = least + max(0, a + c - n), most + min(a, c)
    sums = estimator_of(patients).sums((col("age") >= 30) & (col("disease") == "Obesity"))
    assert sums == pytest.approx((expected, variance, least, most))


def test_tables_add_up(patients: Release) -> None:
    both = crosstab(patients, "gender", "disease")
    assert both.columns == ["gender", "disease", "value", "low", "high", "basis"]
    assert both.select("gender", "disease").rows() == list(product(["F", "M"], ["Cancer", "Flu", "Obesity"]))
    assert both["value"].sum() == pytest.approx(7)
    assert both.equals(table(patients, "COUNT BY gender, disease"))
    ages = distribution(patients, "age", "gender = 'F'")
    assert ages["age"].to_list() == list(range(20, 51))
    assert ages["share"].sum() == pytest.approx(1)
    assert ages.filter(pl.col("age") == 50).row(0, named=True) == {
        "age": 50, "value": 1.0, "low": 1.0, "high": 1.0, "share": 0.25,
    }  # fmt: skip
    assert table(patients, "COUNT WHERE age > 30")["value"].to_list() == [3.0]


def test_a_missing_value_is_a_line_of_its_own() -> None:
    frame = PATIENTS.with_columns(pl.when(pl.col("age") == 50).then(None).otherwise(pl.col("age")).alias("age"))
    for method in ("anatomy", "bsgi"):
        release = publish(frame, patients_policy(method=method), key=KEY)
        counts = distribution(release, "age")
        if method == "anatomy":
            assert counts.row(-1) == (None, 2.0, 2.0, 2.0, 2 / 7)
        assert counts["value"].sum() == pytest.approx(7)


def test_what_cannot_be_counted_is_said(patients: Release) -> None:
    with pytest.raises(QueryError, match="one number"):
        count(patients, "COUNT BY gender")
    with pytest.raises(QueryError, match="0 and 1"):
        count(patients, confidence=95)
    clash = publish(PATIENTS.rename({"age": "low"}), policy_of({"low": {"role": "quasi", "type": "number"},
        "disease": {"role": "sensitive", "l": 2}}, others="drop", method="anatomy"), key=KEY)  # fmt: skip
    with pytest.raises(QueryError, match="of its own"):
        crosstab(clash, "low")
    with pytest.raises(QueryError, match="Name the attributes"):
        crosstab(patients)
    wide = PATIENTS.with_columns(pl.col("age") * 10_000)
    with pytest.raises(QueryError, match="more than 10,000 numbers"):
        distribution(publish(wide, patients_policy(method="anatomy"), key=KEY), "age")
    halves = PATIENTS.with_columns(pl.col("age") / 3)
    with pytest.raises(QueryError, match="not whole"):
        distribution(publish(halves, patients_policy(method="anatomy"), key=KEY), "age")
    many = PATIENTS.with_columns(pl.col("age") * 100)
    with pytest.raises(QueryError, match=r"combinations \(age 3,001, postcode 3, disease 3\)"):
        crosstab(publish(many, patients_policy(method="anatomy"), key=KEY), "age", "postcode", "disease")
