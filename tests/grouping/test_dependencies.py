"""Dependencies are those of the definition, whatever the table; and coincidences are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import dependencies as naive
from pluralis.grouping.dependencies import (
    CodedColumn,
    Hole,
    assumed,
    contradicted,
    decided_by,
    dependencies_in,
    open_holes,
    pairs,
    singles,
)
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule
from pluralis.table.encoding import Table, encode
from support.sample_tables import policy_of

Columns = dict[str, list[str]]


@st.composite
def tables(draw: st.DrawFn) -> Columns:
    """Columns drawn at random, columns that one or two others decide, and of these some with a row that breaks it."""
    rows = draw(st.integers(1, 70))
    columns: Columns = {}
    for name in "abcde"[: draw(st.integers(2, 5))]:
        values = draw(st.integers(1, 9))
        made_of = draw(st.lists(st.sampled_from(sorted(columns)), max_size=2, unique=True)) if columns else []
        if made_of:
            keys = list(zip(*(columns[other] for other in made_of), strict=True))
            value_of = {key: str(draw(st.integers(0, values))) for key in sorted(set(keys))}
            column = [value_of[key] for key in keys]
            if draw(st.booleans()):
                column[draw(st.integers(0, rows - 1))] = "other"
        else:
            column = draw(st.lists(st.integers(0, values).map(str), min_size=rows, max_size=rows))
        columns[name] = column
    return columns


def coded(columns: Columns) -> list[CodedColumn]:
    coded_columns = []
    for name, values in columns.items():
        different, codes = np.unique(values, return_inverse=True)
        coded_columns.append(CodedColumn(name, codes.astype(np.int32), different.size))
    return coded_columns


def encoded(columns: dict[str, Any], **more: Any) -> Table:
    return encode(pl.DataFrame(columns), policy_of({name: {"role": "plain"} for name in columns}, **more))


@given(tables())
@settings(max_examples=150)
def test_dependencies_in_is_the_double_loop(columns: Columns) -> None:
    dependencies = dependencies_in(encoded(columns))
    assert {(d.knows[0], d.decides) for d in dependencies} == naive.singles(columns)
    assert len(dependencies) == len(set(dependencies))


@given(tables())
@settings(max_examples=100)
def test_pairs_are_those_that_neither_decides_alone(columns: Columns) -> None:
    assert {(d.knows, d.decides) for d in pairs(coded(columns))} == naive.pairs(columns)


@given(tables(), st.data())
@settings(max_examples=100)
def test_what_it_takes_to_decide(columns: Columns, data: st.DataObject) -> None:
    decided = data.draw(st.sampled_from(sorted(columns)))
    known = data.draw(st.sets(st.sampled_from(sorted(columns.keys() - {decided})), min_size=1))
    table = encoded(columns)
    dependency = decided_by(table, known, decided)
    assert (dependency.knows if dependency else None) == naive.decided_by(columns, known, decided)
    whole = Dependency(knows=tuple(sorted(known)), decides=decided)
    assert contradicted(whole, table) != naive.agrees(columns, known, decided)


def test_the_strategy_makes_dependencies_and_coincidences() -> None:
    """Neither side of the tests above is always empty."""
    seen = {"single": 0, "pair": 0, "coincidence": 0}

    @given(tables())
    @settings(max_examples=100, database=None)
    def look(columns: Columns) -> None:
        alone = naive.singles(columns)
        seen["single"] += bool(alone)
        seen["pair"] += bool(naive.pairs(columns))
        seen["coincidence"] += any(
            naive.agrees(columns, [x], s) and (x, s) not in alone for x in columns for s in columns if x != s
        )

    look()
    assert min(seen.values()) > 2, seen


# by hand --------------------------------------------------------------------------------------------------------

TOWNS = {
    "zip": [str(i % 12) for i in range(240)],
    "county": [str(i % 12 // 3) for i in range(240)],
    "state": [str(i % 12 // 6) for i in range(240)],
    "record": [str(i) for i in range(240)],
    "month": [str(i * 7 % 11) for i in range(240)],
    "country": ["one"] * 240,
}


def test_what_follows_is_listed_and_what_is_unique_or_constant_is_not() -> None:
    listed = {str(d) for d in dependencies_in(encoded(TOWNS))}
    assert listed == {"zip -> county", "zip -> state", "county -> state"}


@pytest.mark.parametrize(("rows", "listed"), [(20, False), (21, False), (22, True)])
def test_one_in_a_million(rows: int, listed: bool) -> None:
    """Two values in two classes: the chance is 2^(2-n), below 1e-6 from 22 rows on."""
    halves = [str(i % 2) for i in range(2 * (rows // 2))] + ["0"] * (rows % 2)
    table = encoded({"x": halves, "s": halves})
    assert bool(dependencies_in(table)) == listed == (decided_by(table, {"x"}, "s") is not None)


def test_a_dependency_shines_through_whatever_else_is_known() -> None:
    """All of the left side together is unique, so that it alone would show nothing."""
    table = encoded(TOWNS)
    assert decided_by(table, {"record", "month", "zip"}, "county") == Dependency.parse("zip -> county")
    assert decided_by(table, {"record", "month"}, "county") is None


def test_two_that_decide_together() -> None:
    a, b = [str(i % 5) for i in range(400)], [str(i // 5 % 4) for i in range(400)]
    table = encoded({"a": a, "b": b, "c": [str((int(x) + int(y)) % 3) for x, y in zip(a, b, strict=True)]})
    assert decided_by(table, {"a", "b"}, "c") == Dependency.parse("a, b -> c")
    assert "a, b -> c" in {str(d) for d in pairs([CodedColumn(n, c.codes, c.size) for n, c in table.columns.items()])}


def test_a_column_that_hardly_adds_anything_is_no_part_of_a_pair() -> None:
    """s nearly follows from a; b is so fine that hardly two rows agree in both, and those agree since a says it."""
    rows = 900
    a = [str(i % 6) for i in range(rows)]
    s = ["odd" if i == 300 else value for i, value in enumerate(a)]
    b = [str(i % 250) for i in range(rows)]
    table = {"a": a, "b": b, "s": s}
    assert naive.agrees(table, ["a", "b"], "s")
    assert naive.chance(table, ["a", "b"], [], "s") < 1e-6  # though it would be no coincidence if a said nothing
    assert list(pairs(coded(table))) == []


def test_many_rows_are_refuted_on_a_few_and_decided_on_all() -> None:
    rng = np.random.default_rng(5)
    rows = 100_000
    a, b = rng.integers(0, 40, rows), rng.integers(0, 30, rows)
    exact = (a * 7 + b * 11) % 13
    almost = exact.copy()
    almost[rows // 2 + 1] += 1
    columns = [
        CodedColumn(name, codes.astype(np.int32), int(codes.max()) + 1)
        for name, codes in (("a", a), ("b", b), ("exact", exact), ("almost", almost % 13))
    ]
    assert {str(d) for d in pairs(columns)} == {"a, b -> exact"}
    assert list(singles(columns)) == []


def test_open_holes_and_coincidences() -> None:
    table = encoded(TOWNS)
    hole, kept = Rule.parse("month, zip -> county : l=2"), Rule.parse("month -> county : l=2")
    assert open_holes([kept, hole], table) == [Hole(hole, Dependency.parse("zip -> county"))]
    assert open_holes([hole], table, [Dependency.parse("zip -> county")]) == []
    assert open_holes([hole], table, [Dependency.parse("month, zip -> county")]) == []
    assert open_holes([hole], table, [Dependency.parse("month -> county")]) != []
    chain = [Dependency.parse("month -> zip"), Dependency.parse("zip -> county")]
    assert open_holes([kept], table, (), chain) == [Hole(kept, Dependency.parse("month -> county"))]


def test_assumed_leaves_out_what_the_policy_speaks_of() -> None:
    policy = Policy.from_dict(
        {
            "version": 1,
            "attributes": {name: {"role": "plain"} for name in TOWNS},
            "dependencies": ["zip -> county"],
            "coincidences": ["county -> state"],
        }
    )
    assert [str(d) for d in assumed(encode(pl.DataFrame(TOWNS), policy), policy)] == ["zip -> state"]


def test_missing_is_a_value() -> None:
    x = [str(i % 4) if i % 4 else None for i in range(80)]
    table = encoded({"x": x, "s": [str(i % 4 // 2) for i in range(80)]}, missing=[""])
    assert [str(d) for d in dependencies_in(table)] == ["x -> s"]
