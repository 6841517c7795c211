"""The worked example of SLOMS: Tables I to VI, Figure 1's priorities, and the numbers in its text."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from oracles.msb_kaca_and_sloms import Msb
from pluralis.assembling.assembly import assemble
from pluralis.auditing import audit
from pluralis.grouping.hierarchical_distance import whd
from pluralis.grouping.plan import SUPPRESSED, Slice, SlicedPlan
from pluralis.method import method_for
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.paper_tables import SLOMS_1
from support.sample_tables import policy_of, sources

DRAW = Draw(Key.test())
SENSITIVE = ("occupation", "salary", "physician", "disease")
QUASI: dict[str, Any] = {
    "gender": {"role": "quasi"},
    "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "age": {"role": "quasi", "type": "number"},
}
# the groups of Tables III and IV, and the classes of Table V, as numbers of tuples
TABLE_III = [(1, 5, 6), (8, 3, 9), (4, 7, 2)]
TABLE_IV = [(1, 3, 7), (2, 4, 8), (5, 6, 9)]
TABLE_V = [(1, 3, 9), (2, 5, 8), (4, 6, 7)]


def policy_for(method: str, *sensitive: str, **how: Any) -> Any:
    attributes = {**QUASI, **{name: {"role": "sensitive", "l": 3} for name in sensitive}}
    return policy_of(attributes, others="drop", method=method, **how)


def table_for(policy: Any) -> Table:
    return encode(SLOMS_1, policy)


def numbers(table: Table) -> np.ndarray:
    """The rows of the table as the paper numbers its tuples."""
    return np.array(sources(SLOMS_1, table)) + 1


def rows_of(table: Table, groups: list[tuple[int, ...]]) -> np.ndarray:
    """The group of every row of the table, where groups are given as the paper numbers its tuples."""
    number = {place + 1: row for row, place in enumerate(sources(SLOMS_1, table))}
    group_of = np.full(table.rows, SUPPRESSED, np.int64)
    for i, group in enumerate(groups):
        group_of[[number[tuple_] for tuple_ in group]] = i
    return group_of


def test_weighted_distance() -> None:
    assert whd(5, 3, 6) == pytest.approx(0.255, abs=5e-4)


def diverse(rows: tuple[int, ...], l: int = 3) -> bool:
    return all(SLOMS_1[name].gather(list(rows)).value_counts()["count"].max() * l <= len(rows) for name in SENSITIVE)


def test_one_group_is_diverse_in_all_four_attributes() -> None:
    assert [rows for rows in combinations(range(9), 3) if diverse(rows)] == [(4, 5, 6)]  # t5, t6, t7


@pytest.mark.parametrize("variant", ["paper", "hardened"])
def test_msb_over_all_four_keeps_three_of_nine(variant: str) -> None:
    """Table II: t5, t6 and t7 are published, the rest is not."""
    policy = policy_for("msb", *SENSITIVE, variant=variant, suppress=0.7)
    table = table_for(policy)
    plan = method_for(policy).plan(table, policy, DRAW)
    assert sorted((numbers(table)[plan.group_of != SUPPRESSED]).tolist()) == [5, 6, 7]


def test_priorities_of_mmdcf() -> None:
    """7 for t1; 6 for t4, t5 and t9 once clerks and 4000+ are shielded; 5 for t6 where t5 came second."""
    policy = policy_for("msb", "occupation", "salary")
    table = table_for(policy)
    tuple_of = numbers(table).tolist()
    oracle = Msb([table["occupation"], table["salary"]], [3, 3], range(table.rows))
    oracle.first = {oracle.values(row): row for row in reversed(range(table.rows))}
    ranked = {tuple_of[rows[0]]: priority for priority, _, rows in oracle.buckets()}
    assert ranked[1] == max(ranked.values()) == 7
    after_t1 = {t: ranked[t] for t in ranked if t not in (1, 2, 3, 7, 8)}  # what shares no value with t1
    assert {t for t in after_t1 if after_t1[t] == max(after_t1.values())} == {4, 5, 9}
    assert (ranked[5], ranked[6]) == (6, 5)


@pytest.mark.parametrize("i", range(8))
def test_the_first_group_begins_with_the_clerk_of_4000(i: int) -> None:
    policy = policy_for("msb", "occupation", "salary", suppress=0.7)
    table = table_for(policy)
    plan = method_for(policy).plan(table, policy, Draw(Key(bytes([i] * 32))))
    clerk = int(np.flatnonzero(numbers(table) == 1)[0])
    assert plan.group_of[clerk] != SUPPRESSED
    others = numbers(table)[plan.group_of == plan.group_of[clerk]]
    assert set(others.tolist()) & {4, 5, 9}


def published() -> Any:
    """Tables III, IV and VI as a release."""
    policy = policy_for("sloms", *SENSITIVE, k=3)
    table = table_for(policy)
    slices = (
        Slice(("occupation", "salary"), rows_of(table, TABLE_III)),
        Slice(("physician", "disease"), rows_of(table, TABLE_IV)),
    )
    plan = SlicedPlan(rows_of(table, TABLE_V), slices=slices)
    return assemble(plan, table, policy, method_for(policy), DRAW)


def test_tables_iii_to_vi_are_published_as_printed() -> None:
    release = published()
    labels = release.tables["quasi"].select("gender", "zipcode", "age").unique().sort("zipcode")
    assert labels.rows() == [("*", "3120*", "[23, 26]"), ("F", "32***", "[27, 30]"), ("M", "4200*", "[31, 35]")]
    first = {
        frozenset(part.select("occupation", "salary").rows())
        for part in release.tables["slice_1"].partition_by("group")
    }
    expected = {frozenset(SLOMS_1[[t - 1 for t in group]].select("occupation", "salary").rows()) for group in TABLE_III}
    assert first == expected
    assert audit(release, original=SLOMS_1, allow_test=True).holds


@pytest.mark.parametrize("variant", ["paper", "hardened"])
def test_slices_publish_more_than_three_rows(variant: str) -> None:
    """The paper's own slices; with its draw all nine rows are published, with others MSB may leave some."""
    kept = []
    for i in range(10):
        policy = policy_for(
            "sloms",
            *SENSITIVE,
            k=3,
            variant=variant,
            suppress=0.7,
            options={"slices": [list(SENSITIVE[:2]), list(SENSITIVE[2:])]},
        )
        table = table_for(policy)
        plan = method_for(policy).plan(table, policy, Draw(Key(bytes([i] * 32))))
        kept.append(int(np.all([s.group_of != SUPPRESSED for s in plan.slices], axis=0).sum()))
    assert min(kept) > 3
    assert max(kept) == 9


def test_chosen_slices_are_a_partition_by_correlation() -> None:
    policy = policy_for("sloms", *SENSITIVE, k=3, suppress=0.7)
    table = table_for(policy)
    plan = method_for(policy).plan(table, policy, DRAW)
    assert sorted(name for slice in plan.slices for name in slice.attributes) == sorted(SENSITIVE)
    assert any(note.startswith("slices: ") for note in plan.notes)
