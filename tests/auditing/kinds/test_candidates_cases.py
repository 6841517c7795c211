"""Judging releases whose secrets are sets: by hand for three values in sets of two."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.auditing.drawn_sets import DrawnSets
from pluralis.auditing.kinds import candidates
from pluralis.auditing.kinds.candidates import SEVERAL, best_guess, compare, judge, problems
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, ColumnInfo, Manifest
from support.manifests import columns, manifest

UNIFORM = {"design": "uniform", "values": ["a", "b", "c"]}
EVEN = {"design": "calibrated", "values": ["a", "b", "c"], "weights": [30, 30, 30]}
BY_WEIGHTS = Claim(rule="w", model="posterior", adversary=("age",), attribute="ill", l=2)
BY_SHARES = Claim(rule="s", model="posterior-shares", adversary=("age",), attribute="ill", l=2, bound=0.55)
BY_SIZE = Claim(rule="n", model="set-size", adversary=("age",), attribute="ill", l=2)


def column(name: str = "ill", **more: Any) -> ColumnInfo:
    about: dict[str, Any] = {"type": "text", "domain": ("a", "b", "c"), **more}
    return ColumnInfo(name=name, role="sensitive", sets=True, **about)


QUASI = columns(age="quasi number exact", sex="quasi exact")


def manifest_of(*claims: Claim, rows: int = 4, drawn: Any = UNIFORM, suppressed: int = 0, **more: Any) -> Manifest:
    described = more.pop("described", [*QUASI, column()])
    parameters: dict[str, Any] = {"l": {"ill": 2}, "addition": {} if drawn is None else {"ill": drawn}, **more}
    about: Any = {"rows": rows, "suppressed": suppressed, "claims": claims}
    return manifest("candidates", {"microdata": described}, **about, **parameters)


def sets_of(*counts: int) -> list[list[str]]:
    """So many {a, b}, {a, c} and {b, c}."""
    return [
        pair for pair, count in zip((["a", "b"], ["a", "c"], ["b", "c"]), counts, strict=True) for _ in range(count)
    ]


def rows_of(sets: list[list[Any]], **more: Any) -> pl.DataFrame:
    plain = {"age": [1] * len(sets), "sex": ["f"] * len(sets), **more}
    return pl.DataFrame(plain).with_columns(pl.Series("ill", sets))


FOUR = rows_of([["a", "b"], ["a", "c"], ["b", "c"], ["b", "c"]])


# well formed ------------------------------------------------------------------------------------------------------


def problems_of(rows: pl.DataFrame = FOUR, *claims: Claim, **more: Any) -> list[str]:
    return list(problems(manifest_of(*claims, **{"rows": rows.height, **more}), {"microdata": rows}))


def test_sets_as_they_should_be_have_no_problem() -> None:
    assert problems_of() == []
    assert problems_of(FOUR, BY_WEIGHTS, BY_SHARES, BY_SIZE) == []
    assert problems_of(drawn=EVEN) == []
    inner = pl.List(pl.Enum(["a", "b", "c"]))
    assert problems_of(FOUR.with_columns(pl.col("ill").cast(inner))) == []


def test_other_tables_and_other_numbers_of_rows_are_named() -> None:
    assert list(problems(manifest_of(), {"other": FOUR})) == [
        "a candidates release has the table microdata, not other."
    ]
    assert list(problems(manifest_of(), {})) == ["a candidates release has the table microdata, not none."]
    assert list(problems(manifest_of(rows=5), {"microdata": FOUR})) == ["the manifest says 5 rows, microdata has 4."]


@pytest.mark.parametrize(
    ("sets", "said_"),
    [
        ([["a"], ["a", "b"]], "microdata: 'ill' holds sets that are not 2 values of its domain."),
        ([["a", "z"]], "microdata: 'ill' holds sets that are not 2 values of its domain."),
        ([["b", "a"]], "microdata: 'ill' holds sets that are not in domain order, or hold a value twice."),
    ],
)
def test_sets_that_are_none_are_named(sets: list[list[str]], said_: str) -> None:
    assert problems_of(rows_of(sets)) == [said_]


def test_sets_that_cannot_have_been_drawn_are_found() -> None:
    """a fills half of the weights, so it stands in every set."""
    drawn = EVEN | {"weights": [20, 10, 10]}
    assert problems_of(rows_of([["a", "b"], ["a", "c"]]), drawn=drawn) == []
    assert problems_of(rows_of([["a", "b"], ["b", "c"]]), drawn=drawn) == [
        "microdata: there are sets that cannot have been drawn as the manifest says."
    ]


def test_a_dictionary_holds_no_value_that_no_set_holds() -> None:
    inner = pl.List(pl.Enum(["a", "b", "c"]))
    rows = rows_of([["a", "b"], ["a", "b"]]).with_columns(pl.col("ill").cast(inner))
    assert problems_of(rows) == ["microdata: 'ill' has a dictionary of values that no set holds."]


@pytest.mark.parametrize(
    ("drawn", "said_"),
    [
        (None, "microdata: 'ill': it is not said how sets were drawn"),
        (UNIFORM | {"values": ["a", "c", "b"]}, "microdata: the values of 'ill' in the manifest are not in order."),
        (UNIFORM | {"values": ["A", "a", "b"]}, "microdata: 'A' and 'a' of 'ill' are one value"),
        (
            UNIFORM | {"values": ["[5, 9]", "[0, 4]", "[10, 14]"]},
            "microdata: the values of 'ill' in the manifest are not",
        ),
        (UNIFORM | {"values": ["[0, 4]", "[10, 14]", "x"]}, "microdata: 'ill' holds sets that are not 2 values"),
    ],
)
def test_designs_that_are_none_are_named(drawn: Any, said_: str) -> None:
    (problem,) = problems_of(drawn=drawn)
    assert problem.startswith(said_)


def test_bins_are_in_the_order_of_numbers_and_case_may_matter() -> None:
    bins = ["[0, 4]", "[5, 9]", "[10, 14]"]
    assert problems_of(rows_of([[bins[0], bins[2]], [bins[1], bins[2]]]), drawn=UNIFORM | {"values": bins}) == []
    upper = UNIFORM | {"values": ["A", "a", "b"]}
    assert problems_of(rows_of([["A", "a"]]), drawn=upper, case=["ill"]) == []
    assert problems_of(rows_of([[1, 2], [1, 3]]), drawn=UNIFORM | {"values": [1, 2, 3]}) == []
    (problem,) = problems_of(rows_of([[1, 2]]), drawn=UNIFORM | {"values": [2, 1, 3]})
    assert problem == "microdata: the values of 'ill' in the manifest are not in order."


def test_every_claim_by_the_weights_has_one_by_the_shares_beside_it() -> None:
    (problem,) = problems_of(FOUR, BY_WEIGHTS)
    assert problem == "the claim 'w' does not say how likely a value is by the true shares."
    other = BY_SHARES.model_copy(update={"adversary": ("sex",)})
    assert len(problems_of(FOUR, BY_WEIGHTS, other)) == 1
    assert problems_of(FOUR, BY_SIZE) == []


def test_rows_come_in_order_of_what_is_shown_and_then_of_their_sets() -> None:
    out = ["microdata: rows are not in canonical order, so their order may tell something."]
    assert problems_of(FOUR.reverse()) == out
    assert problems_of(FOUR.with_columns(age=pl.Series([1, 1, 2, 1]))) == out
    many = {"design": "uniform", "values": [f"v{i:02}" for i in range(70)]}
    wide = [[f"v{i:02}" for i in range(first, first + 11)] for first in (0, 1)]  # 70^11 is more than 63 bits hold
    for sets, problems_ in ((wide, []), (wide[::-1], out)):
        rows = rows_of(sets)
        assert list(problems(manifest_of(rows=2, drawn=many, l={"ill": 11}), {"microdata": rows})) == problems_


# how likely a member is -------------------------------------------------------------------------------------------


def codes(*counts: int) -> np.ndarray:
    return DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 1.0).codes(pl.Series("ill", sets_of(*counts)))


def test_errors_of_shares_are_those_of_drawing() -> None:
    """400 rows, a and b half each and c nobody's: variances (1 - s) (l - 1) / (m - l) over rows."""
    design = DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 1.0)
    sets = codes(200, 100, 100)
    assert design.share_errors(sets) == pytest.approx([sqrt(0.5 / 400), sqrt(0.5 / 400), sqrt(1 / 400)])
    shared = DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 4.0)
    assert shared.share_errors(sets) == pytest.approx(2 * design.share_errors(sets))
    # of a single row: a and b are all there is, c is nothing
    assert design.share_errors(codes(1, 0, 0)) == pytest.approx([0.0, 0.0, 1.0])
    # more rows than there are hold c: its share is below 0, and counts as none
    assert design.share_errors(codes(300, 50, 50))[2] == pytest.approx(sqrt(1 / 400))


@pytest.mark.parametrize(("effect", "least"), [(1.0, 0.34090 / (0.34090 + 0.225)), (4.0, 0.18180 / (0.18180 + 0.45))])
def test_the_best_guess_is_the_one_that_is_likely_beyond_doubt(effect: float, least: float) -> None:
    """In {a, c} it is a, at least as likely as 4.5 errors allow; by the shares themselves certainly."""
    guess = best_guess(codes(200, 100, 100), DrawnSets(pl.Series(["a", "b", "c"]), 2, None, effect))
    assert guess.least == pytest.approx(least, rel=1e-3)
    assert (guess.members, guess.share) == ((0, 2), pytest.approx(1.0))
    assert guess.average == pytest.approx(0.75)


def test_where_so_few_rows_are_published_that_nothing_is_beyond_doubt_the_likeliest_member_counts() -> None:
    """{a, b} twice, {a, c} and {b, c}: c has no share at all, so whoever has {a, c} has a, as far as can be seen."""
    few = best_guess(codes(2, 1, 1), DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 1.0))
    assert (few.share, few.least, few.members) == (pytest.approx(1.0), 0.0, (0, 2))
    stated = best_guess(codes(2, 1, 1), DrawnSets(pl.Series(["a", "b", "c"]), 2, np.array([30, 30, 30]), 1.0))
    assert (stated.share, stated.least) == (pytest.approx(0.5), 0.0)


def test_a_calibrated_guess_weighs_shares_with_the_design() -> None:
    """All sets of the design are looked at, each as often as it is drawn."""
    design = DrawnSets(pl.Series(["a", "b", "c"]), 2, np.array([30, 30, 30]), 1.0)
    even = best_guess(codes(1000, 1000, 1000), design)
    assert (even.share, even.average) == (pytest.approx(0.5), pytest.approx(0.5))
    assert even.least < 0.5
    uneven = best_guess(codes(200, 100, 100), design)
    assert (uneven.members, uneven.share) == ((0, 2), pytest.approx(1.0))
    assert uneven.average == pytest.approx((0.5 + 1.0 + 1.0) / 3, rel=1e-6)


# claims -----------------------------------------------------------------------------------------------------------


def judged(claim: Claim, sets: list[list[str]], **more: Any) -> tuple[Any, ...]:
    rows = rows_of(sets, age=list(range(len(sets))), sex=[str(i) for i in range(len(sets))])
    (one,) = judge(manifest_of(claim, rows=len(sets), **more), {"microdata": rows})
    return one.holds, one.measured, one.promised, one.top_share, one.witness, one.note


@pytest.mark.parametrize(
    ("sets", "holds"),
    [
        ((30, 30, 30), True),
        ((600, 300, 300), False),  # the sets show it beyond doubt
        ((2, 1, 1), False),  # not beyond doubt, but by more than a quarter
        ((26, 25, 24), True),
    ],
)
def test_of_uniform_sets_1_l_must_be_seen(sets: tuple[int, ...], holds: bool) -> None:
    found_ = judged(BY_WEIGHTS, sets_of(*sets))
    assert (found_[0], found_[2]) == (holds, 0.5)
    assert found_[1] == found_[3]
    assert str(found_[4]).startswith("the set ")
    assert str(found_[5]).startswith("by the shares that the sets show about ")


def test_of_uniform_sets_a_bound_must_be_seen_too() -> None:
    sets = sets_of(26, 25, 24)
    share = judged(BY_WEIGHTS, sets)[1]
    assert 0.5 < share < 0.625
    for bound, holds in ((share, True), (share - 1e-6, False), (None, False)):
        claim = BY_SHARES.model_copy(update={"bound": bound})
        assert judged(claim, sets)[:3] == (holds, share, bound or 0.0)


@pytest.mark.parametrize(("bound", "holds"), [(0.55, True), (0.5499, False), (None, False)])
def test_the_bound_by_the_shares_is_worked_out_from_the_weights(bound: float | None, holds: bool) -> None:
    claim = BY_SHARES.model_copy(update={"bound": bound})
    found_ = judged(claim, sets_of(300, 300, 300), drawn=EVEN)
    assert found_[:3] == (holds, pytest.approx(0.55), bound or 0.0)
    assert str(found_[5]).startswith("by the counts that can have become them; by the shares")


def test_by_the_weights_a_member_is_1_l_unless_the_sets_belie_them() -> None:
    assert judged(BY_WEIGHTS, sets_of(300, 300, 300), drawn=EVEN)[:4] == (True, 0.5, 0.5, 0.5)
    assert str(judged(BY_WEIGHTS, sets_of(300, 300, 300), drawn=EVEN)[5]).startswith("by the weights; ")
    for claim in (BY_WEIGHTS, BY_SHARES):
        found_ = judged(claim, sets_of(600, 300, 300), drawn=EVEN)
        assert (found_[0], found_[1]) == (False, pytest.approx(1.0))
        assert found_[4] == "the set a, c"
    higher = BY_WEIGHTS.model_copy(update={"l": 3})
    assert judged(higher, sets_of(300, 300, 300), drawn=EVEN)[:3] == (True, 1 / 3, 1 / 3)


def test_a_claim_of_sizes_promises_no_more() -> None:
    assert judged(BY_SIZE, sets_of(600, 300, 300))[:4] == (True, 2.0, 2.0, pytest.approx(1.0))


def test_nothing_is_believed_of_several_sets_or_of_who_knows_them() -> None:
    two = {"l": {"ill": 2, "job": 2}, "addition": {"ill": UNIFORM, "job": UNIFORM}}
    rows = rows_of(sets_of(1, 1, 1)).with_columns(job=pl.Series(sets_of(1, 1, 1)))
    described = [*QUASI, column(), column("job")]
    for claim, holds in ((BY_WEIGHTS, False), (BY_SHARES, False), (BY_SIZE, True)):
        (one,) = judge(manifest_of(claim, rows=3, described=described, **two), {"microdata": rows})
        assert one.holds == holds
        if not holds:
            assert (one.measured, one.note) == (None, SEVERAL)
            assert one.promised == (0.5 if claim is BY_WEIGHTS else 0.55)
    knowing = BY_WEIGHTS.model_copy(update={"adversary": ("age", "ill")})
    assert judged(knowing, sets_of(30, 30, 30))[5] == SEVERAL


@pytest.mark.parametrize("change", [{"attribute": None}, {"l": None}, {"model": "frequency"}])
def test_claims_that_sets_cannot_make_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ReleaseError, match="is not one that this kind of release can make"):
        judged(BY_WEIGHTS.model_copy(update=change), sets_of(1, 1, 1))


def test_numbers_in_sets_are_written_as_published() -> None:
    rows = rows_of([[1, 2], [1, 3], [2, 3]], age=[1, 2, 3], sex=list("abc"))
    described = [*QUASI, column(type="number", domain=(1, 3))]
    drawn = UNIFORM | {"values": [1, 2, 3]}
    (one,) = judge(manifest_of(BY_SIZE, rows=3, drawn=drawn, described=described), {"microdata": rows})
    assert one.witness == "the set 1, 2"


# people who are alike ---------------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(candidates, "CELL", 2)  # six rows for three values
    return monkeypatch


def alike(age: list[int], sex: list[str], sets: list[list[str]], described: Any = None) -> list[tuple[Any, ...]]:
    more = {} if described is None else {"described": described}
    rows = rows_of(sets, age=age, sex=sex)
    found_ = judge(manifest_of(rows=len(sets), **more), {"microdata": rows})
    assert not any(one.binding for one in found_)
    return [(one.holds, one.measured, one.promised, one.witness, one.note) for one in found_]


SEEN = sets_of(4, 2, 0) + sets_of(2, 2, 2)  # six people who all can be a, six of whom nothing is seen


def test_the_best_guess_among_people_who_are_alike_is_told(small: pytest.MonkeyPatch) -> None:
    (finding,) = alike([1] * 6 + [2] * 6, ["f"] * 12, SEEN)
    assert finding[:4] == (False, pytest.approx(1.0, abs=1e-3), 0.5, "age = 1")
    assert finding[4] == "the worst of 5 kinds of people with 6 rows or more; not promised"
    (finding,) = alike(list(range(6)) + [9] * 6, ["f"] * 6 + ["m"] * 6, SEEN)
    assert (finding[0], finding[3]) == (False, "sex = f")
    assert finding[4] == "the worst of 4 kinds of people with 6 rows or more; not promised"
    even = sets_of(2, 2, 2) * 2
    (finding,) = alike([1] * 12, ["f"] * 6 + ["m"] * 6, even)
    assert finding[:3] == (True, pytest.approx(0.5, abs=1e-3), 0.5)


def test_too_few_people_who_are_alike_tell_nothing(small: pytest.MonkeyPatch) -> None:
    assert alike(list(range(5)) + [9] * 5, [str(i) for i in range(10)], sets_of(4, 2, 4)) == []
    small.setattr(candidates, "CELL", 3)
    assert alike([1] * 6 + [2] * 6, [str(i) for i in range(12)], SEEN) == []


def test_a_single_quasi_attribute_is_looked_at_once(small: pytest.MonkeyPatch) -> None:
    (finding,) = alike([1] * 6 + [2] * 6, ["f"] * 12, SEEN, [QUASI[0], column()])
    assert finding[4] == "the worst of 2 kinds of people with 6 rows or more; not promised"


def test_the_largest_kinds_of_people_are_looked_at_in_some_of_the_rows(small: pytest.MonkeyPatch) -> None:
    small.setattr(candidates, "CELLS", 1)
    (finding,) = alike([1] * 6 + [2] * 7, ["f"] * 13, [*SEEN, ["b", "c"]], [QUASI[0], column()])
    assert finding[4] == "the worst of 1 kinds of people with 6 rows or more; not promised"
    assert finding[3] == "age = 2"
    small.setattr(candidates, "CELLS", 9)
    small.setattr(candidates, "SAMPLE", 12)
    twice = [pair for pair in SEEN for _ in range(2)]
    (finding,) = alike([1] * 12 + [2] * 12, ["f"] * 24, twice, [QUASI[0], column()])
    assert finding[1] == pytest.approx(1.0, abs=1e-3)
    assert finding[4].endswith("not promised; looked at in every 2th row")
    (finding,) = alike([1] * 6 + [2] * 6, ["f"] * 12, SEEN, [QUASI[0], column()])
    assert finding[4].endswith("not promised")


# the original -----------------------------------------------------------------------------------------------------

ORIGINAL = pl.DataFrame({"age": [1, 1, 2, 2], "sex": list("ffmm"), "ill": list("abca")})
SHOWN = rows_of([["a", "b"], ["b", "c"], ["a", "b"], ["b", "c"]], age=[1, 1, 2, 2], sex=list("ffmm"))


def compared(original: pl.DataFrame = ORIGINAL, rows: pl.DataFrame = SHOWN, **more: Any) -> list[tuple[Any, ...]]:
    found_ = compare(manifest_of(**{"rows": rows.height, **more}), {"microdata": rows}, original)
    return [(one.holds, one.measured, one.promised, one.witness) for one in found_]


def test_as_many_sets_hold_a_value_as_people_who_are_alike_have_it() -> None:
    assert compared() == [(True, 4.0, 4.0, None), (True, 0.0, 0.0, None), (True, 0.0, 0.0, None)]
    both = ORIGINAL.with_columns(ill=pl.Series(list("aaca")))
    assert compared(both)[2] == (False, 1.0, 0.0, "age = 1.0, sex = f, ill = a")
    other = ORIGINAL.with_columns(ill=pl.Series(list("aaaa")))
    assert compared(other)[2][:2] == (False, 2.0)
    assert compared(ORIGINAL.with_columns(ill=pl.Series(["A", "b ", "c", "a"])))[2][0]
    later = ORIGINAL.with_columns(ill=pl.Series(list("abcc")))
    assert compared(later)[2] == (False, 1.0, 0.0, "age = 2.0, sex = m, ill = c")


def test_people_of_whom_a_quasi_value_is_missing_are_alike() -> None:
    missing = pl.Series("sex", ["f", "f", None, None])
    assert compared(ORIGINAL.with_columns(missing), SHOWN.with_columns(missing))[2] == (True, 0.0, 0.0, None)


def test_quasi_values_are_those_of_the_original() -> None:
    assert compared(ORIGINAL.with_columns(age=pl.Series([1, 1, 2, 3])))[1][0] is False


def test_for_rows_that_were_left_out_no_set_is_needed() -> None:
    both = ORIGINAL.with_columns(ill=pl.Series(list("aaaa")))
    assert compared(both, suppressed=1)[2][:2] == (False, 1.0)
    assert compared(both, suppressed=2)[2] == (True, 0.0, 0.0, None)
    none = ORIGINAL.with_columns(ill=pl.Series(["a", None, "c", "a"]))
    assert compared(none)[2] == (True, 0.0, 0.0, None)


def test_text_as_codes_and_numbers_are_compared_too() -> None:
    coded = SHOWN.with_columns(pl.col("ill").cast(pl.List(pl.Enum(["a", "b", "c"]))))
    assert compared(rows=coded)[2][0]
    numbers = rows_of([[1, 2], [2, 3]], age=[1, 2], sex=list("fm"))
    original = pl.DataFrame({"age": [1, 2], "sex": list("fm"), "ill": [1, 3]})
    described = [*QUASI, column(type="number", domain=(1, 3))]
    assert compared(original, numbers, described=described)[2] == (True, 0.0, 0.0, None)
    wrong = original.with_columns(ill=pl.Series([3, 3]))
    assert compared(wrong, numbers, described=described)[2][:2] == (False, 1.0)
