"""The query language reads what it writes, and whatever else it is given is refused with a mark in the query."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from pluralis.errors import QueryError
from pluralis.estimate.conditions import All, Check, Condition, Not, Some
from pluralis.estimate.language import Query, parse
from pluralis.estimate.tokens import KEYWORDS

LETTERS = st.characters(exclude_categories=["Cs"])
NAMES = (
    st.sampled_from(["age", "education-num", "hours-per-week", "a.b", "_x", "1s", "-", "", "a b", "é", "年齢", 'a"b'])
    | st.sampled_from(sorted(KEYWORDS)).flatmap(lambda word: st.sampled_from([word, word.lower(), word.title()]))
    | st.text(LETTERS, max_size=8)
)  # fmt: skip
NUMBERS = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.sampled_from(["", "flu", "O'Brien", "''", "it''s\n"]) | st.text(LETTERS, max_size=8)
VALUES = NUMBERS | TEXTS


@st.composite
def checks(draw: Any) -> Check:
    comparison = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN", "IS NULL"]))
    values: Any = {
        "BETWEEN": (st.tuples(NUMBERS, NUMBERS) | st.tuples(TEXTS, TEXTS)).map(sorted),
        "IN": st.lists(VALUES, min_size=1, max_size=4),
        "IS NULL": st.just([]),
    }.get(comparison, st.tuples(VALUES))
    return Check(draw(NAMES), comparison, tuple(draw(values)))


def several(parts: Any, kind: type) -> Any:
    """AND or OR of two or more parts, none of which is the same again: it would be dissolved."""
    return st.lists(parts.filter(lambda part: not isinstance(part, kind)), min_size=2, max_size=4).map(
        lambda drawn: kind(tuple(drawn))
    )


CONDITIONS = st.recursive(
    checks(), lambda inner: inner.map(Not) | several(inner, All) | several(inner, Some), max_leaves=12
)
QUERIES = st.builds(
    Query, st.none() | CONDITIONS, st.lists(NAMES, max_size=3, unique=True).map(tuple)
)  # fmt: skip


@settings(max_examples=400)
@given(QUERIES)
def test_what_is_written_is_read_again(query: Query) -> None:
    assert parse(str(query)) == query
    assert str(parse(str(query))) == str(query)


@given(CONDITIONS)
def test_a_condition_may_stand_alone(condition: Condition) -> None:
    text = str(Query(condition))
    assert parse(text.removeprefix("COUNT ")) == parse(text.removeprefix("COUNT WHERE ")) == Query(condition)


NESTED = st.recursive(
    checks(), lambda inner: inner.map(Not) | (st.tuples(inner, inner).map(All) | st.tuples(inner, inner).map(Some)),
    max_leaves=12,
)  # fmt: skip


@given(NESTED)
def test_and_in_and_is_one_and(condition: Condition) -> None:
    """Joined in whatever way, the same checks in the same order come back."""
    again = parse(str(Query(condition)))
    assert again.where is not None
    assert again.where.checks == condition.checks
    assert str(again) == str(Query(condition))


PIECES = st.sampled_from(
    [*sorted(KEYWORDS), "age", "sex", "30", "-1.5e3", "'flu'", '"blood group"', "'", '"', "(", ")", ",", "=", "!=",
     "<>", "<", "<=", ">", ">=", "==", "*", ";", "\n", "\t", "\x00", "\u202e", "年", "e\u0301", "\udcff", "1s", "1e99"]
)  # fmt: skip
GARBAGE = (
    st.text(max_size=40)
    | st.text("()'\"=<>!, ab1.-eNOTINBY\n", max_size=60)
    | st.lists(PIECES, max_size=25).map(" ".join)
    | st.lists(PIECES, max_size=25).map("".join)
)


@settings(max_examples=1500)
@given(GARBAGE)
@example("(" * 9_999)
@example("NOT " * 2_000)
@example("'" * 9_999)
@example("a IN (" + "1," * 4_990)
@example("a=1 AND(" * 1_000)
@example("a" * 20_000)
def test_garbage_is_refused_and_pointed_at(text: str) -> None:
    try:
        query = parse(text)
    except QueryError as error:
        message, line, marks = str(error).split("\n")
        assert message.endswith(".")
        first = marks.index("^")
        assert marks == " " * first + "^" * (len(marks) - first)
        assert first >= 2
        assert len(marks) <= cell_len(line) + 1
        assert len(line) <= 104
    else:
        assert parse(str(query)) == query
