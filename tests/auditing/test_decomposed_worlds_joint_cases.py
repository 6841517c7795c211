"""The worlds of a jointly published sensitive table: a few by hand, many against all worlds one by one."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest

from oracles.worlds_of_decomposed import Tiny, seen
from pluralis.auditing import decomposed_worlds_joint
from pluralis.auditing.decomposed_worlds import Candidates, judge, worlds_of
from support.tiny_decomposed import answers, drawn, questions, require_weakest


def tiny_of(rows: list[str], groups: str, sets: dict[int, list[str]]) -> Tiny:
    """`rows` are values of a person, a letter for each attribute; `sets` those of each group."""
    values_of = {number: tuple(frozenset(one) for one in each) for number, each in sets.items()}
    return Tiny(tuple(tuple(row) for row in rows), tuple(map(int, groups)), values_of)


# Two groups of two. b stands in both; whoever has b in group 2 has v or w, and in group 1 v alone.
TWO = tiny_of(["au", "bv", "bw", "cv"], "1122", {1: ["ab", "uv"], 2: ["bc", "vw"]})


def judged(tiny: Tiny, known: str, protected: str, l: int = 2) -> Candidates:
    names = frozenset(known.split())
    return judge(tiny.tables("joint"), "s0", tiny.names, [(names, protected, l)])[0]


def test_a_value_that_one_row_alone_can_have_is_proved() -> None:
    """Group 1 holds a and b; a is with u, b can only be with v there."""
    assert judged(TWO, "", "s1") == Candidates(True, 2, 0.5, "group 1", None)
    assert judged(TWO, "s0", "s1") == Candidates(False, 1, 1.0, "group 1, s0 = a", None)
    assert judged(TWO, "s1", "s0") == Candidates(False, 1, 1.0, "group 1, s1 = u", None)


def test_the_known_attribute_of_the_protected_one_is_left_aside() -> None:
    assert judged(TWO, "s1", "s1") == judged(TWO, "", "s1")


def test_sets_and_table_that_contradict_each_other_are_not_judged() -> None:
    """w stands beside b only, and no group with b holds w."""
    wrong = tiny_of(["au", "bv", "bw", "cv"], "1122", {1: ["ab", "uv"], 2: ["bc", "v"]})
    result = judged(wrong, "", "s1")
    assert (result.holds, result.measured, result.share) == (False, 0, 1.0)
    assert result.note == "the sets of the groups and the sensitive table contradict each other"


def test_a_primary_value_stands_in_as_many_rows_as_groups_hold_it() -> None:
    wrong = tiny_of(["au", "au", "bw", "cv"], "1122", {1: ["ab", "uv"], 2: ["bc", "uvw"]})
    result = judged(wrong, "", "s1")
    assert (result.witness, result.note) == ("s0 = a", "s0 = a stands in 2 sensitive rows, and 1 groups hold it")
    nobody = tiny_of(["au", "bv", "bw", "bv"], "1122", {1: ["ab", "uv"], 2: ["bc", "vw"]})
    assert judged(nobody, "", "s1").note == "s0 = b stands in 3 sensitive rows, and 2 groups hold it"
    other = tiny_of(["au", "bv", "bw", "dv"], "1122", {1: ["ab", "uv"], 2: ["bc", "vw"]})
    assert judged(other, "", "s1").note == "s0 = c stands in 0 sensitive rows, and 1 groups hold it"
    spare = tiny_of(["au", "bv", "cw", "cv"], "1122", {1: ["ab", "uv"], 2: ["bc", "vw"]})
    assert judged(spare, "", "s1").note == "s0 = b stands in 1 sensitive rows, and 2 groups hold it"


def pairs_of(tiny: Tiny) -> int:
    """The largest join that building the worlds needs, found by what is refused."""
    return next(most for most in range(100) if _fits(tiny, most))


def _fits(tiny: Tiny, most: int) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposed_worlds_joint, "EDGES", most)
        return judged(tiny, "", "s1").note is None


def test_so_many_pairs_are_looked_at_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds of groups with two values each are four pairs; of rows, u and w have one and v two, in both groups."""
    assert pairs_of(TWO) == 6
    monkeypatch.setattr(decomposed_worlds_joint, "EDGES", 3)
    assert judged(TWO, "", "s1").note == (
        "not judged in full: 4 pairs of a sensitive row and like groups, of 3 allowed"
    )


@pytest.mark.parametrize(("most", "note"), [(5, "not judged in full: 6 values in places, of 5 allowed"), (6, None)])
def test_so_many_values_in_places_are_counted_and_no_more(
    most: int, note: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """a and c have one value each, b has two in either group."""
    monkeypatch.setattr(decomposed_worlds_joint, "PLACES", most)
    free = tiny_of(["au", "bv", "bw", "cv"], "1122", {1: ["ab", "uvw"], 2: ["bc", "vw"]})
    assert judged(free, "s0", "s1").note == note


def test_every_class_of_like_groups_names_its_groups() -> None:
    alike = tiny_of(["au", "bv", "au", "bv"], "3311", {3: ["ab", "uv"], 1: ["ab", "uv"]})
    worlds = worlds_of(alike.tables("joint"), "s0", alike.names)
    assert sorted(worlds.members("s1")["group"].to_list()) == [1, 3]
    assert worlds.members("s1")["class"].n_unique() == 1
    (places,) = worlds.places(frozenset({"s0"}), "s1")
    assert places.select("group", "candidates", "part", "among").rows() == [(1, 1, 1, 1), (1, 1, 1, 1)]
    assert worlds.combination(frozenset({"s0"}), 1) == ["s0 = b"]
    assert worlds.combination(frozenset({"s0", "s1"}), 0) == ["s0 = a", "s1 = u"]
    assert worlds.note("s1") is None


def test_places_count_who_surely_holds_a_value_and_who_may_hold_another() -> None:
    """Group 1: a is surely u, b surely v. Group 2: b is v or w and c is v or w: nobody surely."""
    free = tiny_of(["au", "bv", "bw", "cv", "cw", "dv"], "112233", {1: ["ab", "uv"], 2: ["bc", "vw"], 3: ["cd", "vw"]})
    worlds = worlds_of(free.tables("joint"), "s0", free.names)
    frame = pl.concat(worlds.places(frozenset(), "s1")).sort("group", "part", "among")
    shares = {group: set() for group in (1, 2, 3)}
    for group, part, among, candidates in frame.select("group", "part", "among", "candidates").rows():
        assert candidates == 2
        shares[group].add(part / among)
    expected = seen(free, "joint", (), 1)
    assert {group: max(parts) for group, parts in shares.items()} == {
        group: float(place.share) for (group, _), place in expected.items()
    }


@pytest.mark.parametrize("piece", [1, 4_000_000])
@pytest.mark.parametrize("seed", range(2))
def test_the_weakest_place_is_that_of_all_worlds(seed: int, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposed_worlds_joint, "PIECE", piece)
    random = Random(seed)
    for _ in range(8):
        tiny = drawn(random, rows=5)
        asked = questions(tiny, known=True)
        for (protected, known, l), result in zip(asked, answers(tiny, "joint", asked), strict=True):
            require_weakest(result, seen(tiny, "joint", known, protected), known, l)
