"""The worlds of a sensitive table published attribute by attribute, or not at all: by hand, and all of them."""

from __future__ import annotations

from random import Random

import pytest

from oracles.worlds_of_decomposed import Mode, Tiny, seen_of
from pluralis.auditing import transport
from pluralis.auditing.decomposed_worlds import Candidates, worlds_of
from support.tiny_decomposed import answers, drawn, questions, require_weakest


def tiny_of(rows: list[str], groups: str, sets: dict[int, list[str]]) -> Tiny:
    values_of = {number: tuple(frozenset(one) for one in each) for number, each in sets.items()}
    return Tiny(tuple(tuple(row) for row in rows), tuple(map(int, groups)), values_of)


# Groups 5 and 2 have equal sets; five u and one v.
LIKE = tiny_of(["au", "bu", "au", "bu", "cu", "dv"], "552222", {5: ["ab", "uv"], 2: ["abcd", "uv"]})


def test_of_like_groups_the_largest_has_the_largest_share() -> None:
    """At least three of the four in group 2 hold u, for there is only one v."""
    (result,) = answers(LIKE, "marginals", [(1, (), 2)])
    assert result == Candidates(False, 2, 0.75, "group 2", None)


def test_fewest_candidates_are_told_of_the_first_of_like_groups() -> None:
    (result,) = answers(LIKE, "marginals", [(1, (), 3)])
    assert (result.holds, result.measured, result.witness) == (False, 2, "group 2")
    worlds = worlds_of(LIKE.tables("marginals"), "s0", LIKE.names)
    assert sorted(worlds.members("s1")["group"].to_list()) == [2, 5]
    assert worlds.combination(frozenset({"s0"}), 0) == []


def test_of_the_primary_each_value_is_held_once_in_the_largest_place() -> None:
    (result,) = answers(LIKE, "marginals", [(0, (), 2)])
    assert result == Candidates(True, 2, 0.5, "group 5", None)
    same = tiny_of(["au", "bu", "av", "bv"], "3311", {3: ["ab", "uv"], 1: ["ab", "uv"]})
    (result,) = answers(same, "none", [(0, (), 2)])
    assert result == Candidates(True, 2, 0.5, "group 1", None)


def test_sets_alone_prove_nothing_of_two_values_and_all_of_one() -> None:
    (two,) = answers(LIKE, "none", [(1, (), 2)])
    assert two == Candidates(True, 2, 0.0, "group 2", None)
    single = tiny_of(["au", "bu", "cv", "dw"], "1122", {1: ["ab", "u"], 2: ["cd", "vw"]})
    (one,) = answers(single, "none", [(1, (), 2)])
    assert one == Candidates(False, 1, 1.0, "group 1", None)


def test_a_value_that_no_world_gives_is_no_candidate() -> None:
    """All v are needed where nothing else may stand."""
    rows = tiny_of(["au", "bv", "cv", "dv"], "1122", {1: ["ab", "uv"], 2: ["cd", "v"]})
    (result,) = answers(rows, "marginals", [(1, (), 2)])
    assert result == Candidates(False, 1, 1.0, "group 2", None)
    rows = tiny_of(["au", "bu", "cv", "dv"], "1122", {1: ["ab", "uv"], 2: ["cd", "v"]})
    (result,) = answers(rows, "marginals", [(1, (), 2)])
    assert result == Candidates(False, 1, 1.0, "group 1", None)


@pytest.mark.parametrize(("rows", "name"), [(["au", "bu", "cu", "dv"], "s1"), (["au", "bu", "av", "dv"], "s0")])
def test_counts_and_sets_that_contradict_each_other_are_not_judged(rows: list[str], name: str) -> None:
    wrong = tiny_of(rows, "1122", {1: ["ab", "u"], 2: ["cd", "v"]})
    (result,) = answers(wrong, "marginals", [(1, (), 2)])
    assert result == Candidates(False, 0, 1.0, "", f"the sets of {name!r} and its counts contradict each other")


def test_a_share_that_is_only_bounded_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "STEPS", 0)
    (result,) = answers(LIKE, "marginals", [(1, (), 2)])
    assert result.note == "the share is an upper bound: there was too much to look at"
    assert result.share >= 0.75
    (primary,) = answers(LIKE, "marginals", [(0, (), 2)])
    assert primary.note is None


def test_each_attribute_is_judged_once_and_stays_the_same() -> None:
    worlds = worlds_of(LIKE.tables("marginals"), "s0", LIKE.names)
    (first,) = worlds.places(frozenset(), "s1")
    (again,) = worlds.places(frozenset({"s0"}), "s1")
    assert first.equals(again)
    assert first.columns == ["class", "group", "known", "candidates", "part", "among"]


@pytest.mark.parametrize("mode", ["marginals", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_the_weakest_place_is_that_of_all_worlds(seed: int, mode: Mode) -> None:
    random = Random(seed)
    for _ in range(15):
        tiny = drawn(random)
        asked = questions(tiny, known=False)
        for (protected, _, l), result in zip(asked, answers(tiny, mode, asked), strict=True):
            require_weakest(result, seen_of(tiny, mode, protected), (), l)


def test_what_is_known_of_another_attribute_changes_nothing() -> None:
    random = Random(9)
    for _ in range(5):
        tiny = drawn(random)
        asked = questions(tiny, known=True)
        results = dict(zip(asked, answers(tiny, "marginals", asked), strict=True))
        assert all(one == results[protected, (), l] for (protected, _, l), one in results.items())
