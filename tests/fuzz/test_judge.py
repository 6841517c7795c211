"""The slow judge: it leaves true releases in peace, and finds what was planted. One that cannot proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.draft import Draft, to_json
from fuzz.folders import Folders
from fuzz.judge import judge
from fuzz.seeds import SEEDS
from fuzz.worlds import TooMany, highest_posterior, worlds

Plant = Callable[[Draft], None]
SPELLINGS: list[object] = ["flu", "FLU", "flu ", "Flu", "ﬂu", "ＦＬＵ", "fl\u200bu", "flU"]


def cell(table: int, row: int, column: str, value: object) -> Plant:
    def plant(draft: Draft) -> None:
        sheet = draft.sheets[table]
        sheet.rows[row][sheet.names.index(column)] = value

    return plant


def column_of(table: int, column: str, values: list[object]) -> Plant:
    def plant(draft: Draft) -> None:
        sheet = draft.sheets[table]
        for row, value in zip(sheet.rows, values, strict=True):
            row[sheet.names.index(column)] = value

    return plant


def by_attribute(table: int, attribute: str, values: list[object]) -> Plant:
    """The values of one attribute, where a table has `attribute` and `value`."""

    def plant(draft: Draft) -> None:
        sheet = draft.sheets[table]
        rows = [row for row in sheet.rows if row[sheet.names.index("attribute")] == attribute]
        for row, value in zip(rows, values, strict=False):
            row[sheet.names.index("value")] = value

    return plant


def adversary(name: str) -> Plant:
    def plant(draft: Draft) -> None:
        draft.manifest["claims"][-1]["adversary"].append(name)

    return plant


def parameter(name: str, value: object) -> Plant:
    return lambda draft: draft.manifest["parameters"].update({name: value})


def in_order(name: str, domain: list[str]) -> Plant:
    def plant(draft: Draft) -> None:
        for sheet in draft.sheets:
            for column in draft.columns(sheet):
                column.update({"domain": domain} if column["name"] == name else {})

    return plant


def other_l(draft: Draft) -> None:
    for claim in draft.manifest["claims"]:
        claim.update({"l": 3} if "l" in claim else {"k": 9})
    draft.manifest["parameters"]["l"] = dict.fromkeys(draft.manifest["parameters"]["l"], 3)


def other_bound(model: str, **fields: object) -> Plant:
    def plant(draft: Draft) -> None:
        for claim in draft.manifest["claims"]:
            claim.update(fields if claim["model"] == model else {})

    return plant


def without_claims(draft: Draft) -> None:
    draft.manifest["claims"] = draft.manifest["claims"][:1]


def plain_sensitive(draft: Draft) -> None:
    """A plain column with the name of the sensitive one, and that one under another name."""
    sheet = draft.sheets[0]
    for old, new in (("disease", "real"), ("ward", "disease")):
        sheet.names[sheet.names.index(old)] = new
        described = next(column for column in draft.columns(sheet) if column["name"] == old)
        described["name"] = new


def overlapping_bins(draft: Draft) -> None:
    sheet = draft.sheets[0]
    place = sheet.names.index("bill")
    for number, row in enumerate(sheet.rows):
        row[place] = f"[0, {20 + number}]"


def key_twice(draft: Draft) -> None:
    draft.spelled = to_json(draft.manifest).replace(b"{", b'{"rows": 1,', 1)


def more_files(draft: Draft) -> None:
    draft.raw["secret.txt"] = b"Ann has hiv"


PLANTED: list[tuple[str, Plant, str]] = [
    ("generalized", column_of(0, "disease", ["flu"] * 8), "claim: frequency"),
    ("generalized", column_of(0, "disease", SPELLINGS), "claim: frequency"),
    ("generalized", other_l, "claim: frequency"),
    ("generalized", plain_sensitive, "uncovered: a protected attribute stands openly"),
    ("generalized", adversary("weather"), "name: an adversary"),
    ("generalized", adversary("аge"), "name: an adversary"),
    ("generalized", adversary("age "), "name: an adversary"),
    ("generalized", key_twice, "form: a key"),
    ("generalized", more_files, "form: a file"),
    ("generalized", parameter("note", "Ann has hiv"), "form: parameters"),
    ("generalized", parameter("linked", 0), "form: linked"),
    ("generalized-k", overlapping_bins, "claim: frequency"),
    ("generalized-k", other_l, "claim: a group below k"),
    ("generalized-csv", column_of(0, "disease", ["flu"] * 8), "claim: frequency"),
    ("generalized-bounds", other_bound("at-most", at_most="1/100"), "claim: at-most does not hold in a group"),
    ("generalized-bounds", other_bound("at-most", value="HIF"), "claim: a bound of a value that nobody has"),
    ("bucketized-bounds", other_bound("gain", gain=1.01), "claim: gain does not hold in a group"),
    ("generalized-bounds", other_bound("ordered-closeness", t=0.01), "claim: ordered-closeness does not hold"),
    ("generalized-ordered", other_bound("ordered-closeness", t=0.01), "claim: ordered-closeness does not hold"),
    ("generalized-ordered", in_order("stage", ["65+", "18-64", "<18"]), "order: bands"),
    ("bucketized-ordered", in_order("stage", ["18-64", "<18", "65+"]), "order: bands"),
    ("generalized-bounds", parameter("l", {"age": 1}), "form: l bounds nothing"),
    ("bucketized-bounds", other_bound("at-most", at_most="1/9"), "claim: at-most does not hold in a group"),
    ("bucketized", cell(1, 0, "count", 2), "claim: counts"),
    ("bucketized", without_claims, "uncovered: a protected attribute without a claim"),
    ("bucketized-unlinked", by_attribute(1, "bill", ["5", "5.0", "5.00", "5.000"]), "claim: frequency"),
    ("bucketized-csv", cell(0, 0, "group", "2"), "claim: counts"),
    ("decomposed-joint", by_attribute(1, "drug", ["a"] * 9), "claim: "),
    ("decomposed-marginals", by_attribute(1, "drug", ["a", "A", "a ", "ａ"]), "claim: "),
    ("decomposed-none", by_attribute(1, "bill", ["5", "5.0", "5.00", "5.000"]), "claim: "),
    ("sliced", column_of(1, "disease", ["flu"] * 8), "claim: frequency"),
    ("sliced", cell(0, 0, "group_1", None), "claim: a row without a group"),
    ("candidates", cell(0, 0, "disease", ["flu", "flu"]), "claim: a set"),
    ("candidates-csv", cell(0, 0, "disease", "{flu, FLU}"), "claim: a set"),
    ("multi", column_of(1, "disease", ["flu"] * 5), "claim: a posterior over all tables"),
    ("multi-generalized", column_of(0, "disease", ["flu"] * 5), "claim: a posterior over all tables"),
    ("multi-single", other_l, "claim: a posterior over all tables"),
]  # fmt: skip


@pytest.mark.parametrize("seed", [seed.name for seed in SEEDS])
def test_a_release_as_it_was_published_is_left_in_peace(folders: Folders, seed: str) -> None:
    judgment = judge(folders.place / seed, folders.known_parameters)
    assert judgment.broken == ()
    assert judgment.undecided == ()


@pytest.mark.parametrize(("seed", "plant", "why"), PLANTED)
def test_what_is_planted_is_found(folders: Folders, tmp_path: Path, seed: str, plant: Plant, why: str) -> None:
    draft = Draft.from_files(folders.files[seed])
    plant(draft)
    draft.write(tmp_path / "release")
    judgment = judge(tmp_path / "release", folders.known_parameters)
    assert any(broken.startswith(why) for broken in judgment.broken), judgment


def test_worlds_of_two_tables_that_share_a_group() -> None:
    # ages 1, 2 in one group with flu and hiv, 3 alone with gout: two worlds
    ages = [{"age": 1, "group": 1}, {"age": 2, "group": 1}, {"age": 3, "group": 2}]
    ills = [{"group": 1, "ill": "flu"}, {"group": 1, "ill": "hiv"}, {"group": 2, "ill": "gout"}]
    assert len(list(worlds([ages, ills]))) == 2
    assert highest_posterior(worlds([ages[:2], ills[:2]]), ["age"], "ill") == (0.5, 2)
    assert highest_posterior(worlds([ages, ills]), ["age"], "ill") == (1.0, 2)


def test_equal_rows_are_not_told_apart() -> None:
    assert len(list(worlds([[{"a": 1}] * 3, [{"b": 1}, {"b": 1}, {"b": 2}]]))) == 3


def test_too_many_worlds_are_not_looked_at() -> None:
    with pytest.raises(TooMany):
        list(worlds([[{"a": i} for i in range(9)], [{"b": i} for i in range(9)]], most=100))


def test_a_distance_is_that_of_the_published_order(folders: Folders, tmp_path: Path) -> None:
    """Of 2, 1, 3, the middle one is 1: a group of it alone is nearer to all than one of an end."""
    broken = []
    for i, order in enumerate((["2", "1", "3"], ["1", "2", "3"])):
        draft = Draft.from_files(folders.files["generalized-ordered"])
        column_of(0, "grade", ["1", "1", "2", "3", "2", "3", "2", "3"])(draft)
        column_of(0, "group", [1, 1, 2, 2, 2, 2, 2, 2])(draft)
        in_order("grade", order)(draft)
        other_bound("ordered-closeness", t=0.4)(draft)
        draft.write(tmp_path / str(i))
        judged = judge(tmp_path / str(i), folders.known_parameters).broken
        broken.append([why for why in judged if "ordered-closeness" in why])
    assert broken == [[], ["claim: ordered-closeness does not hold in a group"]]
