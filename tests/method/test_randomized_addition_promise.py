"""What randomized addition promises, and where it must not: rows of a person, several attributes, rare values."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oracles.randomized_addition import joint_posterior
from pluralis.assembling.columns import stated
from pluralis.auditing import audit
from pluralis.auditing.verdict import Verdict
from pluralis.comparison.comparing import compare
from pluralis.errors import Infeasible, InputError
from pluralis.grouping.addition import Design, posteriors
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.publishing.republishing import key_for
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from pluralis.release.manifest import Manifest
from pluralis.release.reading import parse_manifest
from pluralis.release.release import Release
from support.sample_tables import KEY, policy_of

SET_SIZE = {"options": {"claim": "set-size"}}


def visits(people: int, rows: int, *, one_value: bool = False, seed: int = 1) -> pl.DataFrame:
    """So many rows of everybody, each row with one of six values that are equally common."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(people * rows) % 6
    if one_value:
        values = np.repeat(rng.permutation(people) % 6, rows)
    number = np.repeat(np.arange(people), rows)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in number],
            "number": number,
            "visit": np.tile(np.arange(rows), people),
            "disease": [f"v{i}" for i in values],
        }
    )


def policy(
    l: int = 2, *, person: str | None = "who", sensitive: tuple[str, ...] = ("disease",), **publish: Any
) -> Policy:
    attributes: dict[str, Any] = {
        "number": {"role": "quasi", "type": "number"},
        "visit": {"role": "quasi", "type": "number"},
        **{name: {"role": "sensitive", "l": l} for name in sensitive},
    }
    return policy_of(attributes, others="drop", person=person, **{"method": "randomized-addition", **publish})


def design_of(release: Release, name: str = "disease") -> Design:
    return Design.from_dict(release.manifest.parameters.addition[name].to_dict(), release.manifest.parameters.l[name])


# several rows of one person ---------------------------------------------------------------------------------------


def guessed_right(table: pl.DataFrame, release: Release) -> float:
    """How often the best guess of a row is right, to whoever sees all rows of its person."""
    design = design_of(release)
    shown = release.tables["microdata"].sort("number", "visit")
    true = table.sort("number", "visit")["disease"].to_list()
    sets = [tuple(members) for members in design.codes(shown["disease"]).tolist()]
    rows = table.filter(pl.col("number") == 0).height
    posteriors: dict[tuple[tuple[int, ...], ...], list[dict[int, Fraction]]] = {}
    right = 0.0
    for first in range(0, len(sets), rows):
        own_sets = tuple(sets[first : first + rows])
        if own_sets not in posteriors:
            posteriors[own_sets] = joint_posterior(design, own_sets)
        for value, likely in zip(true[first : first + rows], posteriors[own_sets], strict=True):
            best = [v for v, share in likely.items() if share == max(likely.values())]
            right += (value in {design.values[v] for v in best}) / len(best)
    return right / len(sets)


@pytest.mark.parametrize(("l", "leak"), [(2, 0.63), (3, 0.42)])
def test_rows_of_a_person_with_several_values_are_refused(l: int, leak: float) -> None:
    """600 people of four rows: two sets that differ prove two values. What is drawn leaks, so 1/l is not claimed."""
    table = visits(600, 4)
    releases = [publish(table, policy(l, **SET_SIZE), key=Key(bytes([i] * 32)), attacks=False) for i in range(5)]
    right = [guessed_right(table, release) for release in releases]
    assert np.mean(right) == pytest.approx(leak, abs=0.02)
    assert min(right) > 1 / l + 0.05
    release = releases[0]
    assert any(
        "several rows of one person: whoever finds several learns more" in sentence
        for sentence in release.manifest.breaks
    )
    several = table.group_by("who").agg(pl.col("disease").n_unique()).filter(pl.col("disease") > 1).height
    with pytest.raises(
        Infeasible, match=f"{several} people have rows with different values of 'disease'.*anatomy or bsgi"
    ):
        publish(table, policy(l), key=KEY)


@pytest.mark.parametrize("l", [2, 3])
def test_rows_of_a_person_with_one_value_tell_no_more_than_one_row(l: int) -> None:
    table = visits(600, 4, one_value=True)
    release = publish(table, policy(l), key=KEY)
    assert guessed_right(table, release) == pytest.approx(1 / l, abs=0.05)
    rows = release.tables["microdata"].group_by("number").agg(pl.col("disease").n_unique())
    assert rows["disease"].to_list() == [1] * 600


@pytest.mark.parametrize("i", range(6))
@pytest.mark.parametrize("l", [2, 3])
def test_all_worlds_of_tiny_tables(l: int, i: int) -> None:
    """Theorem 2: of people with one value, all rows together leave each member of their set 1/l, exactly.

    The worlds are those in which a person has one value, for that is what the publisher saw to.
    """
    rows = 2 + i % 3
    table = visits(60, rows, one_value=True, seed=i)
    release = publish(table, policy(l), key=Key(bytes([i] * 32)), attacks=False)
    design = design_of(release)
    assert design.counts is not None
    listed = {tuple(s): int(w) for s, w in zip(design.sets.tolist(), design.weights.tolist(), strict=True)}
    for sets in release.tables["microdata"].group_by("number").agg("disease").head(12)["disease"]:
        (members,) = {tuple(row) for row in design.codes(sets.rename("disease")).tolist()}
        weights = {}
        for world in product(members, repeat=rows):
            if len(set(world)) > 1:
                continue
            prior, draw = (
                Fraction(int(design.counts[world[0]])),
                Fraction(listed[members], int(design.counts[world[0]])),
            )
            weights[world[0]] = prior * draw  # one draw for all rows
        assert {weight / sum(weights.values()) for weight in weights.values()} == {Fraction(1, l)}


def test_one_person_with_two_values_is_enough() -> None:
    table = visits(600, 2, one_value=True)
    other = (pl.col("who") == "p7") & (pl.col("visit") == 1)
    table = table.with_columns(
        pl.when(other)
        .then(pl.lit("v0") if table["disease"][14] != "v0" else pl.lit("v1"))
        .otherwise("disease")
        .alias("disease")
    )
    with pytest.raises(Infeasible, match="1 people have rows with different values"):
        publish(table, policy(), key=KEY)
    with pytest.raises(Infeasible, match="1 people have rows with different values"):
        publish(table, policy(variant="paper"), key=KEY)
    assert audit(publish(table.filter(~other), policy(), key=KEY)).holds
    assert audit(publish(table, policy(person=None), key=KEY)).holds  # and `breaks` says what that means
    breaks = publish(table, policy(person=None), key=KEY).manifest.breaks
    assert any(item.startswith("several rows: those of one person have sets of their own") for item in breaks)


# several sensitive attributes ---------------------------------------------------------------------------------------


def correlated(rows: int = 3_000) -> pl.DataFrame:
    """Each disease has two drugs of its own."""
    rng = np.random.default_rng(3)
    disease = rng.permutation(rows) % 6
    drug = 2 * disease + rng.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "number": np.arange(rows), "visit": rng.integers(0, 3, rows),
            "disease": [f"v{i}" for i in disease], "drug": [f"d{i:02}" for i in drug],
        }
    )  # fmt: skip


@pytest.mark.parametrize("variant", ["hardened", "paper"])
def test_several_secrets_are_refused(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is drawn; and it is said what to do."""
    both = policy(person=None, sensitive=("disease", "drug"), variant=variant)
    module = import_module("pluralis.method.randomized_addition")
    monkeypatch.setattr(module, "require_eligible", None)
    with pytest.raises(Infeasible, match=r"show how these attributes go together.*msb or sloms.*claim: set-size"):
        publish(correlated(), both, key=KEY)


def test_several_secrets_that_promise_no_more_than_sizes() -> None:
    both = policy(person=None, sensitive=("disease", "drug"), **SET_SIZE)
    release = publish(correlated(), both, key=KEY)
    assert audit(release).holds
    assert {claim.model for claim in release.manifest.claims} == {"set-size"}
    assert any(
        "show how their values go together, and that picks the true ones" in sentence
        for sentence in release.manifest.breaks
    )


def test_the_audit_believes_no_promise_of_several_secrets() -> None:
    """A folder that claims 1/l for two attributes, whoever made it."""
    release = publish(correlated(), policy(person=None, sensitive=("disease", "drug"), **SET_SIZE), key=KEY)
    claims = []
    for claim in release.manifest.claims:
        name, bound = claim.attribute, design_of(release, claim.attribute or "").bound
        claims.append(stated(claim.adversary, "candidates", model="posterior", attribute=name, l=2))
        claims.append(stated(claim.adversary, "candidates", model="posterior-shares", attribute=name, l=2, bound=bound))
    verdict = audit(Release(release.manifest.model_copy(update={"claims": tuple(claims)}), dict(release.tables)))
    assert len(verdict.failures) == 4
    assert all("not judged" in (finding.note or "") and finding.measured is None for finding in verdict.failures)


def test_a_comparison_goes_on_without_it() -> None:
    """`compare` and `auto` take its refusal for an answer, and find other methods."""
    asked = policy(person=None, sensitive=("disease", "drug"), method="auto", suppress=0.5)
    comparison = compare(correlated(600), asked, methods=["msb", "randomized-addition"], workers=0)
    trials = {trial.method: trial for trial in comparison.trials}
    assert "go together" in (trials["randomized-addition"].refused or "")
    assert trials["msb"].measured is not None


# the true shares --------------------------------------------------------------------------------------------------


def people(*counts: int) -> pl.DataFrame:
    values = [f"v{i}" for i, count in enumerate(counts) for _ in range(count)]
    return pl.DataFrame({"number": range(len(values)), "visit": [i % 3 for i in range(len(values))], "disease": values})


def test_both_promises_are_stated_and_measured(tmp_path: Path) -> None:
    table = people(*[30] * 8)
    release = publish(table, policy(person=None), key=KEY)
    verdict = release.save(tmp_path / "release")
    weights, shares = parse_manifest((tmp_path / "release" / "manifest.json").read_bytes()).claims
    assert weights.rule == "P(disease | number, visit) ≤ 1/2 by the published weights"
    assert shares.rule == f"P(disease | number, visit) ≤ {shares.bound:.4g} by the true shares of values"
    assert weights.measured == 0.5
    assert 0.53 < (shares.measured or 0) <= (shares.bound or 0) < 0.59
    assert (shares.bound or 0) - (shares.measured or 0) < 1e-4
    assert verdict.holds
    assert any(f"{shares.bound:.4g} by the true shares" in note and "set l: 3" in note for note in release.notes)


@pytest.mark.parametrize(("count", "worst"), [(30, 0.55), (100, 0.525)])
def test_what_the_true_shares_tell_is_within_the_bound(count: int, worst: float) -> None:
    """Some key comes near to what is stated as the most for such weights."""
    table, most = people(*[count] * 12), 0.0
    for i in range(20):
        release = publish(table, policy(person=None), key=Key(bytes([i] * 32)), attacks=False)
        design, bound = design_of(release), release.manifest.claims[1].bound or 0.0
        known = float(posteriors(design.sets, np.full(12, count), design.weight).max())
        assert known <= bound <= 1.25 / 2
        most = max(most, known)
    assert most == pytest.approx(worst, abs=0.01)


def test_rare_values_are_refused_by_name() -> None:
    """Two rows each: somebody who knows that guesses with up to 80 %."""
    with pytest.raises(Infeasible, match=r"'v0', 'v1'.* are too rare.*not 50.0%.*Join rare values"):
        publish(people(*[2] * 8), policy(person=None), key=KEY)
    with pytest.raises(Infeasible, match=r"'v3' is too rare.*set l: 2,"):
        publish(people(40, 40, 40, 2, 40), policy(3, person=None), key=KEY)
    release = publish(people(*[2] * 8), policy(person=None, **SET_SIZE), key=KEY)
    assert audit(release).holds
    assert not any("true shares" in note for note in release.notes)


@pytest.mark.parametrize("l", [2, 3, 4])
def test_one_l_more_keeps_1_l_to_whoever_knows_the_shares(l: int) -> None:
    """What the note advises."""
    for i in range(10):
        release = publish(people(*[20 + i] * 9), policy(l + 1, person=None), key=Key(bytes([i] * 32)), attacks=False)
        assert (release.manifest.claims[1].bound or 1) <= 1 / l


def judged(release: Publication, change: Any) -> Verdict:
    data = json.loads(release.manifest.to_json())
    change(data)
    return audit(Release(Manifest.model_validate(data), dict(release.tables)))


def set_bound(data: dict[str, Any], bound: float) -> None:
    data["claims"][1]["bound"] = bound
    data["claims"][1]["rule"] = f"P(disease | number, visit) ≤ {bound:.4g} by the true shares of values"


def test_the_audit_works_the_bound_out_by_itself() -> None:
    release = publish(people(*[30] * 8), policy(person=None), key=KEY)
    bound = release.manifest.claims[1].bound or 0.0
    assert judged(release, lambda data: None).holds
    assert judged(release, lambda data: set_bound(data, 0.7)).holds  # less is promised than could be
    for wrong in (bound - 2e-4, 0.5, 0.0, -1.0, 1.5):
        assert not judged(release, lambda data, wrong=wrong: set_bound(data, wrong)).holds
    assert not judged(release, lambda data: data["claims"].pop(1)).holds  # 1/l without what is true by the shares
    assert not judged(release, lambda data: data["claims"][1].pop("bound")).holds
    assert not judged(release, lambda data: data["claims"][0].update(bound=0.5)).holds
    assert not judged(release, lambda data: data["claims"][1].update(adversary=["number"])).holds


def test_weights_that_are_too_fine_for_the_bound_are_refused() -> None:
    """The same sets, stated with other weights: the bound no longer follows from them."""
    release = publish(people(*[300] * 5), policy(person=None), key=KEY)
    few = [max(1, w // 20) for w in release.manifest.parameters.addition["disease"].weights]
    assert not judged(release, lambda data: data["parameters"]["addition"]["disease"].update(weights=few)).holds


# published again --------------------------------------------------------------------------------------------------


def test_drift_is_measured_against_what_drew_the_sets() -> None:
    """Counts move away from the weights step by step: refused as soon as the stated bound is exceeded, not before."""
    first = publish(people(*[60] * 6), policy(person=None), key=KEY, attacks=False)
    design, bound = design_of(first), first.manifest.claims[1].bound or 0.0
    outcomes = []
    for more in range(0, 30, 3):
        counts = [60 + more, *[60] * 5]
        known = float(posteriors(design.sets, np.array(counts), design.weight).max())
        try:
            again = publish(people(*counts), policy(person=None), key=first.key, attacks=False)
        except Infeasible as error:
            assert "more evenly spread" in str(error)  # noqa: PT017
            outcomes.append((known, False))
            continue
        assert again.manifest.claims[1].bound == bound
        assert audit(again).holds
        outcomes.append((known, True))
    assert all(published == (known <= bound) for known, published in outcomes)
    assert {published for _, published in outcomes} == {True, False}


def test_the_key_holds_no_counts_and_an_older_one_is_read(tmp_path: Path) -> None:
    table = people(50, 60, 70, 80, 90)
    publish(table, policy(person=None), key=KEY).save(tmp_path / "release")
    file = tmp_path / "release.private" / "key"
    hidden, designs, made = file.read_text().splitlines()
    stored = json.loads(designs)
    assert "counts" not in stored["disease"]
    assert not {50, 60, 70, 80, 90} <= set(stored["disease"]["weights"])
    stored["disease"]["counts"] = [50, 60, 70, 80, 90]  # as an earlier version wrote it
    file.write_text(f"{hidden}\n{json.dumps(stored)}\n{made}\n")
    before = (tmp_path / "release" / "microdata.parquet").read_bytes()
    publish(table, policy(person=None), key=key_for(tmp_path / "release")).save(tmp_path / "release", replace=True)
    assert (tmp_path / "release" / "microdata.parquet").read_bytes() == before


# spellings and bins -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bin", [1, 5, 0.5, 3])
@pytest.mark.parametrize("shift", [0, -40, -0.25])
def test_numbers_in_bins(tmp_path: Path, bin: float, shift: float) -> None:
    """Bins as wide as one number are numbers, in their order, which is not that of text."""
    numbers = [shift + i % 24 for i in range(24 * 40)]
    table = pl.DataFrame({"number": range(len(numbers)), "visit": [0] * len(numbers), "dose": numbers})
    attributes = {
        "number": {"role": "quasi", "type": "number"},
        "dose": {"role": "sensitive", "type": "number", "l": 2, "bin": bin},
    }
    rules = policy_of(attributes, others="drop", method="randomized-addition")
    release = publish(table, rules, key=KEY, attacks=False)
    for format in ("csv", "parquet"):
        assert release.save(tmp_path / format, format=format).holds
        assert audit(tmp_path / format, original=table).holds


def renamed(names: list[str], *, case: bool = False) -> Verdict:
    """The audit of a release whose values, v0 to v4, were given other names, in their order."""
    release = publish(people(*[60] * 5), policy(person=None), key=KEY)
    old = [f"v{i}" for i in range(5)]
    data = json.loads(release.manifest.to_json())
    data["parameters"]["addition"]["disease"]["values"] = names
    data["parameters"] |= {"case": ["disease"]} if case else {}
    for column in data["tables"][0]["columns"]:
        if column["name"] == "disease":
            column["domain"] = names
    rows = (
        release.tables["microdata"]
        .explode("disease")
        .with_columns(pl.col("disease").cast(pl.String).replace_strict(old, names))
    )
    rows = rows.group_by("number", "visit", maintain_order=True).agg("disease")
    return audit(Release(Manifest.model_validate(data), {"microdata": rows}))


@pytest.mark.parametrize(
    "names",
    [
        ["5", "5.0", "5.00", "6", "7"],
        ["+5", "5", "6", "7", "8"],
        ["5", "6", "7", "8", "٥"],
        ["FLU", "Flu", "cold", "flu", "gout"],
        ["cold", "flu", "flu ", "gout", "hiv"],
        ["cold", "flu", "gout", "hiv", "ｆｌｕ"],
        ["[0, 10]", "[5, 15]", "[20, 30]", "[31, 40]", "[41, 50]"],
        ["[0, 10]", "[0, 10.0]", "[20, 30]", "[31, 40]", "[41, 50]"],
        ["[0, 10]", "[0,10]", "[20, 30]", "[31, 40]", "[41, 50]"],
        ["[0, 10]", "[5, 6]", "[7, 8]", "cold", "flu"],
        ["3", "[0, 10]", "[11, 12]", "[13, 14]", "[15, 16]"],
        ["[10, 0]", "[15, 5]", "a", "b", "c"],
        ["[20, 30]", "[0, 10]", "[31, 40]", "[41, 50]", "[51, 60]"],
        ["b", "a", "c", "d", "e"],
        ["10", "9", "11", "12", "13"],
    ],
    ids=lambda names: " ".join(names)[:24],
)
def test_values_that_are_one_or_out_of_order_are_refused(names: list[str]) -> None:
    assert not renamed(names).holds


@pytest.mark.parametrize(
    ("names", "case"),
    [
        (["[0, 5]", "[5, 10]", "[10, 15]", "[15, 20]", "[20, 25]"], False),
        (["-2", "-1", "0", "1", "10"], False),
        (["1", "10", "11", "2", "3"], False),
        (["FLU", "Flu", "cold", "flu", "gout"], True),
        (["a1", "a2", "b", "c", "d"], False),
    ],
    ids=lambda names: " ".join(names)[:24] if isinstance(names, list) else None,
)
def test_values_that_differ_are_read(names: list[str], case: bool) -> None:
    verdict = renamed(names, case=case)
    assert verdict.holds, [str(finding) for finding in verdict.failures]


def test_the_publisher_hears_of_numbers_spelled_twice_before_anything_is_drawn() -> None:
    table = people(*[60] * 5).with_columns(pl.col("disease").replace(["v0", "v1"], ["5", "5.0"]))
    with pytest.raises(InputError, match=r"'5' and '5.0', which read alike, are one number.*set type: number"):
        publish(table, policy(person=None), key=KEY)


def test_shuffled_sets_are_found_where_rows_were_left_out() -> None:
    """Rows that were left out excuse as many values that no set holds, and not one more."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"age": np.arange(600), "disease": [f"d{i % 6}" for i in rng.permutation(600)]})
    table = table.with_columns(pl.when(pl.col("age") < 3).then(None).otherwise("disease").alias("disease"))
    secret = {"role": "sensitive", "l": 2, "if_missing": "drop"}
    policy = policy_of({"age": {"role": "quasi", "type": "number"}, "disease": secret}, method="randomized-addition")
    release = publish(table, policy, key=Key.test(), attacks=False)
    assert release.manifest.suppressed == 3
    assert audit(release, original=table, allow_test=True).holds
    rows = release.tables["microdata"]
    shuffled = rows.with_columns(rows["disease"].gather(rng.permutation(rows.height)).alias("disease"))
    forged = type(release)(**{**vars(release), "tables": {"microdata": shuffled}})
    assert audit(forged, allow_test=True).holds
    assert not audit(forged, original=table, allow_test=True).holds
