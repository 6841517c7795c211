"""Claims about decomposed releases: the weakest place, the share of groups that are d-SA-l-diverse, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import polars as pl
import pytest

from oracles.worlds_of_decomposed import MODES, Tiny, seen
from pluralis.auditing.decomposed_worlds import (
    Candidates,
    d_sa_diverse,
    d_sa_share,
    judge,
    judge_claim,
    linked_d_sa_diverse,
    worlds_of,
)
from support.tiny_decomposed import drawn

PLACES = pl.DataFrame(
    [(0, 4, 0, 3, 1, 4), (1, 2, 1, 2, 0, 1), (2, 6, 2, 5, 2, 5), (2, 6, 0, 5, 4, 10)],
    schema=["class", "group", "known", "candidates", "part", "among"],
    orient="row",
)


class Given:
    """Worlds that are what a test says."""

    def __init__(self, *places: pl.DataFrame) -> None:
        self.all = places
        self.asked: list[tuple[frozenset[str], str]] = []

    def places(self, known: frozenset[str], protected: str) -> Iterator[pl.DataFrame]:
        self.asked.append((known, protected))
        yield from self.all

    def members(self, _: str) -> pl.DataFrame:
        return pl.DataFrame({"class": [0, 1, 2, 2], "group": [4, 2, 6, 7]})

    def combination(self, _: frozenset[str], code: int) -> list[str]:
        return [f"k = {code}"]

    def note(self, protected: str) -> str | None:
        return f"of {protected}"


@pytest.mark.parametrize("pieces", [1, 2, 4])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_weakest_place_is_found_in_whatever_pieces_places_come(pieces: int, backwards: bool) -> None:
    rows = PLACES.reverse() if backwards else PLACES
    worlds = Given(*(rows.slice(i * (4 // pieces), 4 // pieces) for i in range(pieces)))
    # two candidates in group 2; 2 of 5 is provable in group 6, with 0 known and with 2
    assert judge_claim(worlds, frozenset("k"), "s", 3) == Candidates(False, 2, 0.4, "group 2, k = 1", "of s")
    assert judge_claim(worlds, frozenset("k"), "s", 2) == Candidates(True, 2, 0.4, "group 2, k = 1", "of s")
    no_few = Given(*(part.with_columns(candidates=pl.lit(9)) for part in worlds.all))
    result = judge_claim(no_few, frozenset("k"), "s", 3)
    assert (result.holds, result.measured, result.share) == (False, 9, 0.4)
    assert result.witness.startswith("group 6, k = ")


def test_the_protected_attribute_is_not_known_and_of_equals_the_first_group_is_named() -> None:
    worlds = Given(PLACES)
    judge_claim(worlds, frozenset({"k", "s"}), "s", 2)
    assert worlds.asked == [(frozenset({"k"}), "s")]
    level = Given(PLACES.with_columns(candidates=pl.lit(2), part=pl.lit(1), among=pl.lit(1)))
    assert judge_claim(level, frozenset(), "s", 3).witness == "group 2, k = 1"
    assert judge_claim(level, frozenset(), "s", 2).witness == "group 2, k = 1"


def test_a_share_of_exactly_one_in_l_is_enough() -> None:
    worlds = Given(PLACES.with_columns(part=pl.lit(1), among=pl.lit(2), candidates=pl.lit(2)))
    assert judge_claim(worlds, frozenset(), "s", 2).holds


@pytest.mark.parametrize("apart", [False, True])
def test_the_largest_share_counts_and_not_the_largest_number(apart: bool) -> None:
    """One of two is more than four of ten, three of nine and nothing of one."""
    rows = PLACES.with_columns(part=pl.Series([4, 0, 1, 3]), among=pl.Series([10, 1, 2, 9]), candidates=pl.lit(9))
    result = judge_claim(Given(*rows.iter_slices(1 if apart else 4)), frozenset(), "s", 3)
    assert (result.holds, result.share, result.witness) == (False, 0.5, "group 6, k = 2")


def test_nothing_that_is_provable_is_a_share_of_nothing() -> None:
    worlds = Given(PLACES.with_columns(part=pl.lit(0)))
    assert judge_claim(worlds, frozenset(), "s", 2) == Candidates(True, 2, 0.0, "group 2, k = 1", "of s")


# the share of groups ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("l", "share"), [(2, 1.0), (3, 3 / 4), (4, 2 / 4), (5, 2 / 4), (6, 0.0)])
def test_a_group_fails_once_however_many_places_of_it_do(l: int, share: float) -> None:
    worlds = Given(PLACES)
    assert d_sa_share(worlds, 4, {"s": l, "t": 2}) == share
    assert worlds.asked == [(frozenset({"t"}), "s"), (frozenset({"s"}), "t")]


@pytest.mark.parametrize("mode", MODES)
def test_groups_of_all_worlds_that_leave_l_candidates(mode: str) -> None:
    random = Random(4)
    for _ in range(8):
        tiny = drawn(random, rows=4, attributes=2)
        if len(tiny.names) < 2:
            continue
        failing = set()
        for protected, known in ((0, (1,)), (1, (0,))):
            places = seen(tiny, mode, known, protected)  # type: ignore[arg-type]
            failing |= {group for (group, _), place in places.items() if len(place.candidates) < 2}
        share = d_sa_diverse(tiny.tables(mode), "s0", tiny.names, {"s0": 2, "s1": 2})  # type: ignore[arg-type]
        assert share == pytest.approx(1 - len(failing) / len(tiny.sets))


RIGHT = Tiny((("a", "u"), ("b", "v")), (1, 1), {1: (frozenset("ab"), frozenset("uv"))})
WRONG = Tiny((("a", "u"), ("b", "v")), (1, 1), {1: (frozenset("ab"), frozenset("u"))})


def test_tables_that_contradict_each_other_hold_nothing() -> None:
    claims = [(frozenset[str](), "s1", 2), (frozenset({"s0"}), "s1", 2)]
    for result in judge(WRONG.tables("joint"), "s0", ["s0", "s1"], claims):
        assert (result.holds, result.measured, result.share) == (False, 0, 1.0)
        assert result.note is not None
    assert d_sa_diverse(WRONG.tables("joint"), "s0", ["s0", "s1"], {"s0": 2, "s1": 2}) == 0.0
    assert len(judge(RIGHT.tables("joint"), "s0", ["s0", "s1"], claims)) == 2


def test_case_is_kept_where_it_is_said_to_matter() -> None:
    tiny = Tiny((("a", "u"), ("b", "U")), (1, 1), {1: (frozenset("ab"), frozenset("uU"))})
    for keep, candidates in (([], 1), (["s1"], 2)):
        (result,) = judge(tiny.tables("none"), "s0", tiny.names, [(frozenset(), "s1", 2)], keep)
        assert result.measured == candidates


def test_worlds_are_those_of_what_is_published() -> None:
    names = {mode: type(worlds_of(RIGHT.tables(mode), "s0", RIGHT.names)).__name__ for mode in MODES}
    assert names == {"joint": "JointWorlds", "marginals": "ProductWorlds", "none": "ProductWorlds"}


@pytest.mark.parametrize(
    ("groups", "a", "b", "l", "share"),
    [
        ("111111", "112233", "122331", {"a": 2, "b": 2}, 1.0),
        ("1111", "1122", "1212", {"a": 2, "b": 2}, 1.0),
        ("1111", "1122", "1212", {"a": 2, "b": 3}, 0.0),
        ("11112222", "11221122", "12121112", {"a": 2, "b": 2}, 0.5),
        ("22221111", "11221122", "12121112", {"a": 2, "b": 2}, 0.5),
        ("1122", "1212", "1111", {"a": 2, "b": 2}, 0.0),
        ("1122", "1212", "1111", {"a": 2, "b": 1}, 1.0),
        ("112", "121", "111", {"a": 2, "b": 1}, 0.5),
        ("5511", "1212", "1111", {"a": 3, "b": 1}, 0.0),
    ],
)
def test_of_linked_rows_each_combination_stands_beside_l_values(
    groups: str, a: str, b: str, l: dict[str, int], share: float
) -> None:
    rows = pl.DataFrame({"group": list(map(int, groups)), "a": list(map(int, a)), "b": list(map(int, b))})
    assert linked_d_sa_diverse(rows, ["a", "b"], l) == share
