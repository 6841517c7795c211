"""`bucketized`: quasi values as they are in one table, the sensitive values of each group in another.

`quasi` holds quasi and plain columns and `group`; `sensitive` holds `group`, the sensitive columns and `count`, or,
where values of one row must not stand together, `group`, `attribute`, `value`, `count`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pluralis.assembling.columns import (
    Part,
    common_breaks,
    kept_rows,
    linked_counts,
    promised,
    quasi_rows,
    unlinked_counts,
)
from pluralis.grouping.plan import Plan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT, LINKED
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table


def tables(plan: Plan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    kept = kept_rows(plan.group_of, draw)
    if plan.linked:
        secrets = linked_counts("sensitive", table.sensitive, policy, kept)
    else:
        secrets = unlinked_counts("sensitive", table.sensitive, kept)
    return [quasi_rows(table, policy, kept), secrets]


def claims(plan: Plan, policy: Policy) -> Iterator[Claim]:
    yield from promised(policy, "bucketized")


def breaks(plan: Plan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    yield EXACT
    if plan.linked and len(table.sensitive) > 1:
        yield LINKED
