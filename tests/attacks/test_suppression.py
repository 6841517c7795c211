"""What being suppressed, or without a group in a slice, says: by hand, planted, and hole S1."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.attacks.base import Options, Result
from pluralis.attacks.suppression import ATTACK
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Claim
from pluralis.release.release import Release
from support.planted_releases import DISEASES, KINDS, QUASI, Published, by_hand, claim, people_in_groups
from support.sample_tables import policy_of

OPTIONS = Options()


def results_of(release: Release, original: pl.DataFrame, attribute: str) -> list[Result]:
    assert ATTACK.applies(release)
    return [r for r in ATTACK.run(release, original, OPTIONS) if r.attribute == attribute]


def suppressed(release: Release, rows: int) -> Release:
    manifest = release.manifest.model_copy(update={"suppressed": rows})
    return Release(manifest, release.tables)


def planted(kind: str, seed: int) -> tuple[Published, str, int]:
    """Some people are not published, who all have the commonest value, and no row covers them."""
    rng = np.random.default_rng(seed)
    people, group_of = people_in_groups(rng, 3, 8)
    value, many = str(rng.choice(DISEASES)), int(rng.integers(1, 6))
    common = people.filter(pl.col("disease") == value)
    more = pl.concat([people, common, common]).with_columns(pl.col("age").cast(pl.Int64))
    groups = np.concatenate([group_of, *[group_of[(people["disease"] == value).to_numpy()]] * 2])
    release = suppressed(by_hand(kind, more, groups), many)
    gone = more.head(many).with_columns((pl.col("age") + 1_000).alias("age"), pl.lit(value).alias("disease"))
    return Published(release, pl.concat([more, gone])), value, many


@pytest.mark.parametrize("kind", KINDS)
def test_planted_left_out_people_are_found(kind: str) -> None:
    for seed in range(18):
        one, _, many = planted(kind, seed)
        (result,) = results_of(one.release, one.original, "disease")
        assert (result.targets, result.success, result.worst) == (many, 1.0, 1.0)
        assert result.promised is None
        assert not result.breach
        assert result.prior < 1


def test_by_hand() -> None:
    """Of three who are left out two have flu, which is the commonest: 2/3 right. Who is missing is not counted."""
    people = pl.DataFrame(
        {"age": [1, 2, 3, 4], "zip": ["z0"] * 4, "disease": ["flu", "flu", "hiv", "gout"], "job": list("abcd")}
    )
    release = suppressed(by_hand("bucketized", people, [0, 0, 0, 0]), 4)
    gone = pl.DataFrame(
        {"age": [7, 8, 9, 9], "zip": ["z0"] * 4, "disease": ["flu", "flu", "ague", None], "job": list("abcd")}
    )
    (result,) = results_of(release, pl.concat([people, gone]), "disease")
    assert (result.targets, result.success, result.worst) == (3, pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert result.note == "67% of them share a value, which 50% of the published rows have"


def test_s1_rows_without_a_group(tmp_path: Any) -> None:
    """The paper marks what it cannot place; guessing the commonest value is right for all of them."""
    skewed = pl.DataFrame({"age": range(12), "job": list("aaaaaaaabcde"), "pay": list("wxyzwxyzwxyz")})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    how: dict[str, Any] = {"method": "sloms", "suppress": 0.8, "options": {"slices": [["job"], ["pay"]]}}
    paper = publish(skewed, policy_of(attributes, variant="paper", **how), key=Key.test(), attacks=False)
    (result,) = [r for r in results_of(paper, skewed, "job") if r.breach]
    assert (result.success, result.worst, result.promised) == (1.0, 1.0, 0.5)
    default = publish(skewed, policy_of(attributes, **how), key=Key.test(), attacks=False)
    assert not any(r.breach for r in ATTACK.run(default, skewed, OPTIONS))


@pytest.mark.parametrize("seed", range(20))
def test_planted_marks_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    people, group_of = people_in_groups(rng, 3, 8)
    group = int(rng.integers(1, 9))
    release = without_group(people, group_of, [claim("disease", 3, *QUASI)], group)
    people = people.with_columns(
        pl.when(pl.Series(group_of + 1) == group).then(pl.lit("flu")).otherwise("disease").alias("disease")
    )
    assert any(r.breach for r in results_of(release, people, "disease"))


def without_group(people: pl.DataFrame, group_of: np.ndarray, claims: list[Claim], group: int) -> Release:
    """A sliced release in which the rows of a group have none."""
    release = by_hand("sliced", people, group_of, claims)
    quasi, values = release.tables["quasi"], release.tables["slice_1"]
    bare = quasi.with_columns(pl.when(pl.col("group_1") != group).then("group_1").alias("group_1"))
    return Release(release.manifest, {"quasi": bare, "slice_1": values.filter(pl.col("group") != group)})


def test_clean_marks_raise_no_alarm() -> None:
    """A group without a number, of people who are all different: no value is theirs more often than 1/l."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        l = int(rng.integers(2, 5))
        people, group_of = people_in_groups(rng, l, 8)
        release = without_group(people, group_of, [claim("disease", l, *QUASI)], int(rng.integers(1, 9)))
        results = results_of(release, people, "disease")
        assert [r for r in results if r.promised is not None and r.targets]
        assert not [r for r in results if r.breach], seed


@pytest.mark.parametrize("kind", KINDS)
def test_people_left_out_at_random_are_guessed_like_everybody(kind: str) -> None:
    """One of each disease is left out: guessing the commonest is right for one of them, and no alarm."""
    for seed in range(34):
        rng = np.random.default_rng(seed)
        people, group_of = people_in_groups(rng, 3, 8)
        gone = people.head(len(DISEASES)).with_columns(
            pl.col("age") + 1_000, pl.Series("disease", rng.permutation(DISEASES))
        )
        release = suppressed(by_hand(kind, people, group_of), gone.height)
        (result,) = results_of(release, pl.concat([people, gone]), "disease")
        assert (result.targets, result.success) == (gone.height, pytest.approx(1 / len(DISEASES)))
        assert result.success <= result.prior + 1e-9
        assert not result.above_chance
        assert not result.breach


# values that are bounded one by one -------------------------------------------------------------------------------


def of_few_ill(bound: str, gone: list[str]) -> Published:
    """Four published people of whom one is ill, and suppressed ones whom no row covers."""
    people = pl.DataFrame(
        {"age": [1, 2, 3, 4], "zip": ["z0"] * 4, "disease": ["yes", "no", "no", "no"], "job": ["a"] * 4}
    )
    claims = [Claim(rule="", model="at-most", adversary=QUASI, attribute="disease", value="yes", at_most=bound)]
    release = suppressed(by_hand("bucketized", people, [0, 0, 0, 0], claims), len(gone))
    more = pl.DataFrame(
        {"age": range(10, 10 + len(gone)), "zip": ["z0"] * len(gone), "disease": gone, "job": ["a"] * len(gone)}
    )
    return Published(release, pl.concat([people, more]))


def test_absence_tells_a_bounded_value() -> None:
    """All of 50 who are missing are ill, where 1/4 is allowed; the commonest published value is nobody's."""
    one = of_few_ill("1/4", ["yes"] * 50)
    commonest, bounded = results_of(one.release, one.original, "disease")
    assert (commonest.value, commonest.success, commonest.promised) == (None, 0.0, None)
    assert (bounded.value, bounded.targets, bounded.success, bounded.promised) == ("yes", 50, 1.0, 0.25)
    assert bounded.prior == pytest.approx(51 / 54)
    assert bounded.worst == pytest.approx(50 / (50 + 4.5**2))
    assert bounded.breach
    assert bounded.question == "disease = yes, knowing age, zip, of people whom no row covers"


@pytest.mark.parametrize(("gone", "breach"), [(["yes"], False), (["yes"] + ["no"] * 3, False), (["yes"] * 8, True)])
def test_of_a_few_who_are_missing_nothing_is_beyond_doubt(gone: list[str], breach: bool) -> None:
    one = of_few_ill("1/4", gone)
    _, bounded = results_of(one.release, one.original, "disease")
    assert (bounded.breach, bounded.success) == (breach, gone.count("yes") / len(gone))


# rows that were dropped because a value is missing ---------------------------------------------------------------


def dropped(method: str, rows: int, missing: int, suppress: float = 0.0, **more: Any) -> Published:
    """A table in which everybody is unique, and the first have no disease; where rows are left out, flu is common."""
    diseases = ["flu", "hiv", "gout", "ague"] if not suppress else ["flu", "flu", "flu", "flu", "hiv", "gout"]
    values = [None] * missing + [diseases[i % len(diseases)] for i in range(rows - missing)]
    table = pl.DataFrame({"age": range(rows), "disease": values})
    sensitive = {"role": "sensitive", "l": 2, "if_missing": "drop"}
    policy = policy_of(
        {"age": {"role": "quasi", "type": "number"}, "disease": sensitive}, method=method, suppress=suppress, **more
    )
    return Published(publish(table, policy, key=Key(bytes(32)), attacks=True), table)


def sentence(release: Release) -> str:
    (sentence,) = [one for one in release.manifest.breaks if one.startswith("suppressed rows: ")]
    return sentence


@pytest.mark.parametrize("method", ["anatomy", "bsgi", "decomposition", "mondrian", "msb", "randomized-addition"])
def test_absence_tells_that_a_value_is_missing(method: str) -> None:
    release, table = dropped(method, 60, 8)
    assert release.manifest.suppressed == 8
    assert sentence(release).endswith(
        "was suppressed, and has no disease: rows in which it is missing were dropped, and no others"
    )
    results = [one for one in ATTACK.run(release.decoded(), table, OPTIONS) if one.attribute is None]
    if method in ("bsgi", "mondrian"):  # of labels only those beyond all of them are missed
        assert all(one.success == 1.0 for one in results)
        return
    (result,) = results
    assert (result.targets, result.success, result.prior) == (8, 1.0, pytest.approx(8 / 60))
    assert result.note == "100% of them have no disease, of everybody 13%"
    assert result.above_chance
    assert not result.breach
    assert any(one.startswith("suppression: people whom no row covers rightly taken to have no disease")
               for one in release.manifest.breaks)  # fmt: skip


def test_of_many_people_the_release_says_how_many() -> None:
    release, _ = dropped("anatomy", 12_000, 1_200)
    assert "suppression: 100 % of people whom no row covers rightly taken to have no disease; prior 10 %" in (
        release.manifest.breaks
    )


def test_rows_that_are_left_out_for_another_reason_keep_their_sentence() -> None:
    release, table = dropped("anatomy", 60, 0, suppress=0.6)
    assert release.manifest.suppressed > 0
    assert sentence(release).endswith(
        "was suppressed, and what is suppressed are mostly the commonest values of disease"
    )
    assert not [one for one in ATTACK.run(release.decoded(), table, OPTIONS) if one.attribute is None]


def test_rows_that_are_left_out_for_both_reasons() -> None:
    release, table = dropped("anatomy", 60, 5, suppress=0.6)
    gone = release.manifest.suppressed
    assert gone > 5
    assert sentence(release).endswith(
        "and either has no disease or is one of the others, whose values of disease are mostly the commonest"
    )
    values, missing = ATTACK.run(release.decoded(), table, OPTIONS)
    assert (missing.targets, missing.success) == (gone, pytest.approx(5 / gone))
    assert values.targets == gone - 5


def test_several_sensitive_values_may_be_missing() -> None:
    table = pl.DataFrame(
        {"age": range(40), "disease": [None, *list("abcabcabcabcabcabcabcabcabcabcabcabcabc")],
         "job": [*list("xyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz"), None]}
    )  # fmt: skip
    sensitive = {"role": "sensitive", "l": 2, "if_missing": "drop"}
    rules = policy_of(
        {"age": {"role": "quasi", "type": "number"}, "disease": sensitive, "job": sensitive}, method="msb"
    )
    release = publish(table, rules, key=Key(bytes(32)), attacks=False)
    assert "and has no disease or no job: rows" in sentence(release)
    results = [one for one in ATTACK.run(release.decoded(), table, OPTIONS) if one.attribute is None]
    assert [(one.question.partition(",")[0], one.targets, one.success) for one in results] == [
        ("no disease", 2, 0.5), ("no job", 2, 0.5),
    ]  # fmt: skip


def test_a_missing_value_that_is_a_value_is_not_dropped() -> None:
    table = pl.DataFrame({"age": range(12), "disease": [None, "flu", "hiv"] * 4})
    sensitive = {"role": "sensitive", "l": 2, "if_missing": {"as": "unknown"}}
    rules = policy_of({"age": {"role": "quasi", "type": "number"}, "disease": sensitive}, method="anatomy")
    release = publish(table, rules, key=Key(bytes(32)), attacks=False)
    assert release.manifest.suppressed == 0
    assert not [one for one in release.manifest.breaks if one.startswith("suppressed rows")]
