"""`generalized`: one table, `microdata`: generalized quasi-identifiers, plain and sensitive columns, `group`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pluralis.assembling.columns import (
    GROUP_COLUMN,
    Part,
    asked_of_groups,
    column_info,
    common_breaks,
    in_order,
    large_groups,
    promised,
)
from pluralis.grouping.generalization import microdata
from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import LINKED
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table


def tables(plan: GeneralizedPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    rows = in_order(microdata(plan, table, draw))
    kept = np.flatnonzero(plan.group_of != SUPPRESSED)
    columns = (column_info(column, kept, policy) for role in ROLES for column in table.named(role))
    return [Part("microdata", (*columns, GROUP_COLUMN), rows)]


def parameters(plan: GeneralizedPlan, policy: Policy) -> dict[str, object]:
    return {"linked": plan.linked, **asked_of_groups(policy)}


def claims(plan: GeneralizedPlan, policy: Policy) -> Iterator[Claim]:
    yield from large_groups(policy, "generalized")
    yield from promised(policy, "generalized")


def breaks(plan: GeneralizedPlan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    if plan.linked and len(table.sensitive) > 1:
        yield LINKED


ROLES = ("quasi", "plain", "sensitive")
