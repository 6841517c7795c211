"""`bucketized`: quasi-identifiers as they are in one table, the sensitive values of each group in another.

`quasi` holds quasi-identifiers and plain columns and `group`; `sensitive` holds `group`, the sensitive columns and
`count`, or, where values of one row must not stand together, `group`, `attribute`, `value`, `count`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pluralis.assembling.columns import (
    Part,
    asked_of_groups,
    common_breaks,
    kept_rows,
    linked_counts,
    promised,
    quasi_rows,
    unlinked_counts,
)
from pluralis.grouping.plan import BucketizedPlan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT, LINKED
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table
from pluralis.threads import at_once


def tables(plan: BucketizedPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    kept = kept_rows(plan.group_of, draw)

    def sensitive() -> Part:
        if plan.linked:
            return linked_counts("sensitive", table.sensitive, policy, kept)
        return unlinked_counts("sensitive", table.sensitive, kept)

    return at_once(lambda: quasi_rows(table, policy, kept), sensitive, rows=table.rows)


def parameters(plan: BucketizedPlan, policy: Policy) -> dict[str, object]:
    return {"linked": plan.linked, **asked_of_groups(policy)}


def claims(plan: BucketizedPlan, policy: Policy) -> Iterator[Claim]:
    yield from promised(policy, "bucketized")


def breaks(plan: BucketizedPlan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    yield EXACT
    if plan.linked and len(table.sensitive) > 1:
        yield LINKED
