"""Whose secrets a group holds: releases of a few rows, right and wrong, and small ones against every way to deal."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.auditing import belonging as module
from pluralis.auditing.belonging import CLAIM, GroupValues, belonging, group_values, group_values_of_sets
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import ColumnInfo, TableInfo
from support.manifests import columns, info, manifest

EXACT = columns(age="quasi number exact", ward="plain", group="group")
LABELS = columns(age="quasi number", sex="quasi", ward="plain", group="group")
COUNTED = columns(group="group", ill="sensitive", count="count")
PAY = {"pay": {"name": "pay", "role": "sensitive", "type": "number"}}
SAID = manifest("bucketized", {"quasi": EXACT, "sensitive": COUNTED}, rows=4, l={"ill": 2, "pay": 2}, domains=PAY)
PEOPLE = pl.DataFrame(
    {"age": [1, 2, 3, 4], "sex": list("fmfm"), "ward": list("nnss"), "ill": list("abab"), "pay": [5, 7, 5, 7]}
)
ROWS = pl.DataFrame({"age": [1, 2, 3, 4], "ward": list("nnss"), "group": [1, 1, 2, 2]})


def counts(**groups: str) -> pl.DataFrame:
    """`g1="aab"` is two a and one b in group 1."""
    rows = [(int(g[1:]), value, n) for g, values in groups.items() for value, n in sorted(Counter(values).items())]
    return pl.DataFrame(rows, schema=["group", "ill", "count"], orient="row")


def grouped(frame: pl.DataFrame, *attributes: str, group: str = "group") -> GroupValues:
    return GroupValues(group, attributes or ("ill",), frame)


def judged(
    *published: GroupValues,
    rows: pl.DataFrame = ROWS,
    described: list[ColumnInfo] = EXACT,
    people: pl.DataFrame = PEOPLE,
) -> Finding:
    return belonging(info("quasi", described), rows, published, SAID, people)


# exact values -----------------------------------------------------------------------------------------------------


def test_groups_that_hold_the_secrets_of_their_people_hold() -> None:
    finding = judged(grouped(counts(g1="ab", g2="ab")))
    assert finding == Finding(CLAIM, True, 0.0, 0.0, note="exactly")


@pytest.mark.parametrize(
    ("groups", "witness"),
    [
        ({"g1": "aa", "g2": "bb"}, "group 1"),
        ({"g1": "ab", "g2": "aa"}, "group 2"),
        ({"g1": "ab", "g2": "ac"}, "group 2"),
    ],
)
def test_secrets_in_the_wrong_group_are_found(groups: dict[str, str], witness: str) -> None:
    finding = judged(grouped(counts(**groups)))
    assert (finding.holds, finding.binding, finding.measured, finding.promised) == (False, True, 1.0, 0.0)
    assert finding.witness == witness


def test_rows_of_equal_values_may_be_either_persons_and_each_person_is_used_once() -> None:
    people = PEOPLE.with_columns(age=pl.Series([1, 1, 1, 1]), ward=pl.lit("n"))
    rows = ROWS.with_columns(age=pl.Series([1, 1, 1, 1]), ward=pl.lit("n"))
    for groups, holds in (({"g1": "ab", "g2": "ab"}, True), ({"g1": "aa", "g2": "bb"}, True),
                          ({"g1": "aa", "g2": "ab"}, False)):  # fmt: skip
        assert judged(grouped(counts(**groups)), rows=rows, people=people).holds == holds


def test_where_rows_were_left_out_any_of_the_same_values_may_have_been() -> None:
    people = pl.concat([PEOPLE, PEOPLE.with_columns(ill=pl.Series(list("cccc")))])
    assert judged(grouped(counts(g1="ac", g2="cb")), people=people).holds
    assert not judged(grouped(counts(g1="cc", g2="ca")), people=people.with_columns(age=pl.col("age") + 1)).holds


def test_everybody_with_values_that_all_are_published_is_used() -> None:
    """Two people of 1: both rows are theirs, though somebody of 2 was left out."""
    people = pl.DataFrame({"age": [1, 1, 2], "ward": list("nnn"), "ill": list("abb")})
    rows = pl.DataFrame({"age": [1, 1], "ward": list("nn"), "group": [1, 2]})
    assert judged(grouped(counts(g1="a", g2="b")), rows=rows, people=people).holds
    assert not judged(grouped(counts(g1="b", g2="b")), rows=rows, people=people).holds


def test_plain_values_tell_people_apart_too() -> None:
    assert not judged(grouped(counts(g1="ab", g2="ab")), rows=ROWS.with_columns(ward=pl.Series(list("nsns")))).holds


def test_people_without_a_secret_are_in_no_release() -> None:
    people = PEOPLE.with_columns(ill=pl.Series(["a", None, "a", "b"]))
    rows, all_rows = ROWS.filter(pl.col("age") != 2), ROWS
    assert judged(grouped(counts(g1="a", g2="ab")), rows=rows, people=people).holds
    assert not judged(grouped(counts(g1="ab", g2="ab")), rows=all_rows, people=people).holds


def test_spellings_of_a_value_in_the_same_group_are_one_entry() -> None:
    frame = pl.DataFrame({"group": [1, 1, 2, 2], "ill": ["A", "b ", "a", "B"], "count": [1, 1, 1, 1]})
    assert judged(grouped(frame)).holds
    twice = pl.DataFrame({"group": [1, 1, 2], "ill": ["a", "A", "b"], "count": [1, 1, 2]})
    people = PEOPLE.with_columns(ill=pl.Series(list("aabb")))
    assert judged(grouped(twice), people=people).holds


def test_several_attributes_side_by_side_are_of_the_same_person() -> None:
    frame = pl.DataFrame({"group": [1, 1, 2, 2], "ill": list("abab"), "pay": [5, 7, 5, 7], "count": [1, 1, 1, 1]})
    assert judged(grouped(frame, "ill", "pay")).holds
    crossed = frame.with_columns(pay=pl.Series([7, 5, 5, 7]))
    assert not judged(grouped(crossed, "ill", "pay")).holds
    apart = [grouped(crossed.select("group", name, "count"), name) for name in ("ill", "pay")]
    assert judged(*apart).holds


def test_numbers_that_are_published_as_text_are_compared_as_text() -> None:
    frame = pl.DataFrame({"group": [1, 1, 2, 2], "pay": ["5", "7", "5", "7"], "count": [1, 1, 1, 1]})
    assert judged(grouped(frame, "pay")).holds
    assert not judged(grouped(frame.with_columns(pay=pl.lit("5")), "pay")).holds


def test_the_same_person_must_do_for_all_slices() -> None:
    """Each slice alone can be dealt: people of equal age; ill a goes with pay 5 in the original."""
    people = PEOPLE.with_columns(age=pl.lit(1), ward=pl.lit("n")).head(2)
    rows = pl.DataFrame({"age": [1, 1], "ward": ["n", "n"], "group_1": [1, 2], "group_2": [1, 2]})
    ill = grouped(pl.DataFrame({"group": [1, 2], "ill": ["a", "b"], "count": [1, 1]}), group="group_1")
    pay = pl.DataFrame({"group": [1, 2], "pay": [5, 7], "count": [1, 1]})
    described = columns(age="quasi number exact", ward="plain", group_1="group", group_2="group")
    right = judged(ill, grouped(pay, "pay", group="group_2"), rows=rows, described=described, people=people)
    assert right.holds
    turned = grouped(pay.with_columns(pay=pl.Series([7, 5])), "pay", group="group_2")
    wrong = judged(ill, turned, rows=rows, described=described, people=people)
    assert (wrong.holds, wrong.witness) == (False, "group 1 1, group 2 1")
    last = grouped(pay.with_columns(pay=pl.Series([7, 9])), "pay", group="group_2")
    none = judged(ill, last, rows=rows, described=described, people=people)
    assert (none.holds, none.witness) == (False, "group 1 1, group 2 1")


def test_an_entry_that_nobody_fills_is_named_by_its_group() -> None:
    """Two people of equal values, either of whom may be in either group; group 7 says b of nobody."""
    people = pl.DataFrame({"age": [1, 1], "ward": ["n", "n"], "ill": ["a", "a"]})
    rows = pl.DataFrame({"age": [1, 1], "ward": ["n", "n"], "group": [3, 7]})
    frame = pl.DataFrame({"group": [3, 7, 7], "ill": ["a", "a", "b"], "count": [1, 1, 1]})
    finding = judged(grouped(frame), rows=rows, people=people)
    assert (finding.holds, finding.witness) == (False, "group 7")
    slices = columns(age="quasi number exact", ward="plain", group_2="group")
    finding = judged(
        grouped(frame, group="group_2"), rows=rows.rename({"group": "group_2"}), described=slices, people=people
    )
    assert (finding.holds, finding.witness) == (False, "group 2 7")


# sets -------------------------------------------------------------------------------------------------------------


def test_a_set_must_hold_the_value_of_each_row_however_often() -> None:
    sets = pl.DataFrame({"group": [1, 1, 2], "ill": ["a", "b", "a"]})
    assert not judged(grouped(sets)).holds
    people = PEOPLE.with_columns(ill=pl.Series(list("aaaa")))
    assert judged(grouped(sets), people=people).holds
    mixed = [grouped(sets), grouped(counts(g1="aa", g2="aa"))]
    assert judged(*mixed, people=people).holds
    assert judged(*reversed(mixed), people=people).holds


def test_sets_of_a_decomposed_release_count_the_primary_once_each() -> None:
    rows = [(1, "ill", "a"), (1, "ill", "b"), (2, "ill", "a"), (1, "job", "x"), (1, "job", "y"), (2, "job", "x")]
    values = pl.DataFrame(rows, schema=["group", "attribute", "value"], orient="row")
    ill, job = group_values_of_sets(values, "ill", {1: 2, 2: 1})
    assert (ill.attributes, ill.rows.columns, ill.rows["count"].to_list()) == (
        ("ill",),
        ["group", "ill", "count"],
        [1] * 3,
    )
    assert (job.attributes, job.rows.columns) == (("job",), ["group", "job"])
    for sizes in ({1: 2, 2: 2}, {1: 2}):
        assert "count" not in group_values_of_sets(values, "ill", sizes)[0].rows.columns


def test_a_table_of_groups_tells_of_all_its_attributes_or_of_each_alone() -> None:
    frame = pl.DataFrame({"group": [1], "value": ["a"], "job": ["x"], "count": [1]})
    named = ColumnInfo(name="value", role="sensitive", type="text", attribute="ill")
    described = [*columns(group="group"), named, *columns(job="sensitive", count="count")]
    (one,) = group_values("group_2", info("slice_2", described), frame)
    assert (one.group, one.attributes, one.rows.columns) == (
        "group_2",
        ("ill", "job"),
        ["group", "ill", "job", "count"],
    )
    rows = [(1, "job", "x", 2), (1, "ill", "a", 1), (1, "ill", "b", 1)]
    listed = pl.DataFrame(rows, schema=["group", "attribute", "value", "count"], orient="row")
    described = columns(group="group", attribute="attribute", value="value", count="count")
    job, ill = group_values("group", info("sensitive", described), listed)
    assert (job.attributes, job.rows.rows()) == (("job",), [(1, "x", 2)])
    assert (ill.attributes, ill.rows.rows()) == (("ill",), [(1, "a", 1), (1, "b", 1)])


# labels -----------------------------------------------------------------------------------------------------------

LABELED = pl.DataFrame(
    {
        "age": ["[1, 2]", "[1, 2]", "[3, 4]", "*"],
        "sex": ["{f, m}", "m", "f", "*"],
        "ward": list("nnss"),
        "group": [1, 1, 2, 2],
    }
)


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"age": ["[1, 2]", "1", "[3, 4]", "*"]}, False),
        ({"sex": ["f", "f", "f", "*"]}, False),
        ({"ward": list("nsns")}, False),
        ({"age": ["[1, 2]", "2", "[0, 3]", "4"]}, True),
        ({"age": ["[1, 2]", "2", "[0, 2]", "4"]}, False),
        ({"sex": ["{f, x}", "{m, x}", "{a, f, x}", "m"]}, True),
        ({"sex": ["{f, x}", "{m, x}", "{a, g, x}", "m"]}, False),
    ],
)
def test_labels_are_given_people_whom_they_cover(change: dict[str, list[str]], holds: bool) -> None:
    rows = LABELED.with_columns(pl.Series(n, v) for n, v in change.items())
    assert judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS).holds == holds


@pytest.mark.parametrize(
    ("label", "holds"),
    [("{f, m}", False), ("{f, g}", True), ("{f, g, m}", True), ("*", True), ("z", False), ("a", False)],
)
def test_a_set_covers_its_members_and_nobody_between_or_beyond(label: str, holds: bool) -> None:
    people = PEOPLE.with_columns(sex=pl.Series(["f", "g", "m", "m"]))
    rows = LABELED.with_columns(age=pl.Series(["1", "2", "3", "4"]), sex=pl.Series(["f", label, "m", "m"]))
    assert judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS, people=people).holds == holds


def test_a_label_beyond_all_values_covers_nobody() -> None:
    rows = LABELED.with_columns(age=pl.lit("99"))
    assert not judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS).holds


def test_a_value_that_is_missing_on_both_sides_is_the_same() -> None:
    missing = pl.Series("ward", ["n", None, "s", None])
    people, rows = PEOPLE.with_columns(missing), ROWS.with_columns(missing)
    assert judged(grouped(counts(g1="ab", g2="ab")), rows=rows, people=people).holds
    assert not judged(grouped(counts(g1="ab", g2="ab")), rows=rows).holds


@pytest.mark.parametrize(("sex", "holds"), [("fmfm", True), ("mmfm", False), ("mffm", True)])
def test_exact_values_beside_labels_are_those_of_the_people(sex: str, holds: bool) -> None:
    mixed = columns(age="quasi number", sex="quasi exact", ward="plain", group="group")
    rows = LABELED.with_columns(sex=pl.Series(list(sex)), age=pl.Series(["[1, 2]", "[1, 2]", "3", "4"]))
    assert judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=mixed).holds == holds


def random_release(
    rng: np.random.Generator, *, exact: bool
) -> tuple[TableInfo, pl.DataFrame, GroupValues, pl.DataFrame]:
    """Up to six people of few values, labels around them or nearly so, secrets in groups or nearly so."""
    many = int(rng.integers(2, 7))
    people = pl.DataFrame({"age": rng.integers(0, 4, many), "sex": rng.choice(list("abcd"), many),
                           "ill": rng.choice(list("xy"), many)})  # fmt: skip
    kept = people.head(int(rng.integers(max(1, many - 1), many + 1)))
    group = rng.integers(1, 3, kept.height)
    if exact:
        rows = kept.select("age", "sex").with_columns(group=group)
        described = columns(age="quasi number exact", sex="quasi exact", group="group")
    else:
        low, high = rng.integers(0, 2, kept.height), rng.integers(0, 2, kept.height)
        ages = [f"[{a - x}, {a + y}]" if x + y else str(a) for a, x, y in zip(kept["age"], low, high, strict=True)]
        sexes = []
        for sex in kept["sex"]:
            members = sorted({str(sex), *rng.choice(list("abcd"), int(rng.integers(0, 3)))})
            sexes.append(str(rng.choice(["*", members[0]])) if len(members) == 1 else "{" + ", ".join(members) + "}")
        rows = pl.DataFrame({"age": ages, "sex": sexes, "group": group})
        described = columns(age="quasi number", sex="quasi", group="group")
    members = rng.permutation(kept["ill"].to_numpy()) if rng.random() < 0.6 else kept["ill"].to_numpy()
    frame = pl.DataFrame({"group": group, "ill": members}).group_by("group", "ill", maintain_order=True).len("count")
    return (
        info("quasi", described),
        rows,
        GroupValues("group", ("ill",), frame),
        people.sample(fraction=1, shuffle=True, seed=1),
    )


def covers(label: Any, value: Any) -> bool:
    text = str(label)
    if text.startswith("["):
        low, high = text[1:-1].split(", ")
        return int(low) <= value <= int(high)
    return text == "*" or str(value) in (text[1:-1].split(", ") if text.startswith("{") else [text])


def by_search(rows: pl.DataFrame, published: GroupValues, people: pl.DataFrame) -> bool:
    """Whether some people in some order fit all rows and fill all counts."""
    shown, every = rows.rows(named=True), people.rows(named=True)
    wanted = {(group, ill): count for group, ill, count in published.rows.rows()}
    fits = [[all(covers(row[n], who[n]) for n in ("age", "sex")) for who in every] for row in shown]
    for chosen in permutations(range(len(every)), len(shown)):
        if all(fits[i][who] for i, who in enumerate(chosen)):
            got = Counter((row["group"], every[who]["ill"]) for row, who in zip(shown, chosen, strict=True))
            if got == wanted:
                return True
    return False


@pytest.mark.parametrize("step", [1, 4_000_000])
@pytest.mark.parametrize("exact", [True, False])
def test_what_trying_all_people_in_all_rows_finds_is_found(
    exact: bool, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP", step)
    rng = np.random.default_rng(3)
    ends = []
    for _ in range(60):
        described, rows, published, people = random_release(rng, exact=exact)
        described_by = manifest("bucketized", {"quasi": described.columns}, rows=rows.height, l={"ill": 2})
        finding = belonging(described, rows, [published], described_by, people)
        assert finding.holds == by_search(rows, published, people), (rows, published.rows, people)
        ends.append(finding.holds)
    assert 10 < sum(ends) < 55


# what is not checked ----------------------------------------------------------------------------------------------


def test_rows_without_a_group_and_releases_without_secrets_are_not_checked() -> None:
    for finding in (
        judged(),
        judged(grouped(counts(g1="ab")), rows=ROWS.with_columns(group=pl.Series([1, 1, None, 2]))),
    ):
        assert (finding.holds, finding.binding, finding.note) == (False, False, "not checked: some rows have no group")


@pytest.mark.parametrize(("pairs", "checked"), [(3, False), (4, True)])
def test_so_many_pairs_are_looked_at_and_no_more(pairs: int, checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS", pairs)
    rows = LABELED.with_columns(age=pl.Series(["1", "2", "3", "4"]), sex=pl.Series(list("fmfm")))
    for finding in (judged(grouped(counts(g1="ab", g2="ab"))),
                  judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS)):  # fmt: skip
        assert finding.holds == finding.binding == checked
        assert finding.note == ("exactly" if checked else "not checked: too many rows look alike")


@pytest.mark.parametrize(("pairs", "checked"), [(3, False), (4, True)])
def test_each_of_several_cells_that_look_alike_is_a_pair_with_each_of_several_kinds(
    pairs: int, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people who differ in their secrets alone, in two groups of one row each."""
    monkeypatch.setattr(module, "PAIRS", pairs)
    people = PEOPLE.head(2).with_columns(age=pl.lit(1), sex=pl.lit("f"))
    rows = LABELED.head(2).with_columns(age=pl.lit("[0, 2]"), sex=pl.lit("f"), group=pl.Series([1, 2]))
    for described, shown in ((LABELS, rows), (EXACT, rows.drop("sex").with_columns(age=pl.lit(1)))):
        finding = judged(grouped(counts(g1="a", g2="b")), rows=shown, described=described, people=people)
        assert finding.holds == finding.binding == checked


@pytest.mark.parametrize(("covers_", "checked"), [(0, False), (3, False), (4, True)])
def test_so_many_labels_and_values_are_compared_and_no_more(
    covers_: int, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COVERS", covers_)
    rows = LABELED.with_columns(age=pl.Series(["1", "2", "3", "4"]), sex=pl.lit("*"))
    assert judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS).binding == checked


def test_sets_of_more_values_than_can_be_looked_at_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = LABELED.with_columns(age=pl.Series(["1", "2", "3", "4"]), sex=pl.Series(["{f, m}"] * 3 + ["m"]))
    others = PEOPLE.with_columns(age=pl.col("age") + 90, sex=pl.lit("g"))
    for most, checked in ((5, False), (6, True)):
        monkeypatch.setattr(module, "COVERS", most)
        people = pl.concat([PEOPLE, others])
        finding = judged(grouped(counts(g1="ab", g2="ab")), rows=rows, described=LABELS, people=people)
        assert finding.holds == finding.binding == checked


def test_pairs_that_are_too_many_to_decide_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pluralis.auditing.assignment.VARIABLES", 1)
    people = PEOPLE.with_columns(age=pl.lit(1), ward=pl.lit("n"), pay=pl.Series([5, 5, 7, 7]))
    rows = ROWS.with_columns(age=pl.lit(1), ward=pl.lit("n"))
    pay = pl.DataFrame({"group": [1, 1, 2, 2], "pay": [5, 7, 5, 7], "count": [1, 1, 1, 1]})
    finding = judged(grouped(counts(g1="ab", g2="ab")), grouped(pay, "pay"), rows=rows, people=people)
    assert finding.holds
    assert finding.note == "not exactly: 8 pairs of rows and groups were too many to decide"
