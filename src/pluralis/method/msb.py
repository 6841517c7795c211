"""MSB: groups of l rows that share no sensitive value in any of several attributes; quasi-identifiers stay as they are.

Paper      Yang, Wang, Wang: Privacy Preserving Approaches for Multiple Sensitive Attributes in Data Publishing. Chinese
           Journal of Computers 31(4), 2008, as section IV of SLOMS (Han et al. 2013) describes it, equations 10-12.
Words      bucket = rows that hold the same value of every sensitive attribute; capacity of a value = the rows that hold
           it; priority of a bucket = its size (mbf), or that and its largest capacity (msdcf), or that and the sum of
           its capacities (mmdcf); to shield = to pass over buckets that share a value with the group.
Departs    where no bucket is left before a group has l rows, the last picks are taken back, a few times; then the
           first bucket counts as barren and the next best begins. (The paper does not say what happens then.)
           With attributes of different l, the hardened variant lets a group of g rows hold a value ⌊g/l_i⌋ times; g is
           the size from l to 3 l in which the commonest values find most room, and l where no more groups of g can be
           formed. Values of one row stay side by side only where no declared adversary knows one of them. Left-over
           rows go round the groups, so that these stay about equal. Rows of one person never share a group.

Theorem (both variants): in every group, count x l_i <= size for every value of every sensitive attribute i. While a
group of g rows is formed no value stands in it more than g/l_i times, and a left-over row joins only where it stays
true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pluralis.errors import Infeasible
from pluralis.grouping.bucketizing import bucketized, sensitive_values
from pluralis.grouping.eligibility import refuse_k, require_allowance, require_eligible, require_sensitive
from pluralis.grouping.plan import BucketizedPlan, Plan
from pluralis.method.base import CORRELATION, Method, in_table
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

Rows = npt.NDArray[np.int64]
Priority = Literal["mbf", "msdcf", "mmdcf"]


class Msb(Method):
    """Bucketize, form groups by priority, bring in what is left."""

    name: ClassVar[str] = "msb"
    title: ClassVar[str] = "groups of l rows that share no value of any sensitive attribute"
    paper: ClassVar[str] = "Yang, Wang, Wang, Chinese Journal of Computers 2008"
    kind: ClassVar[str] = "bucketized"
    guarantee: ClassVar[str] = (
        "In every group each value of every sensitive attribute i fills at most 1/l_i of the rows."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        CORRELATION,
        "algorithm: the fullest buckets are grouped first, so which group a row is in tells a little about its values",
    )

    priority: Priority = Field(default="mmdcf", description="which bucket gives the next row: mbf, msdcf or mmdcf")

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        ls = require_reachable(table, policy, draw, self.name)
        order = draw.permutation(table.rows, "rows")
        sensitive = sensitive_values(table.sensitive, order, table.person, ls, once=self.variant == "paper")
        group_of = bucketized(sensitive, self.priority).astype(np.int64)
        plan = BucketizedPlan(in_table(table.rows, order, group_of), self._linked(policy))
        require_groups(plan, table, policy)
        return plan


def require_reachable(table: Table, policy: Policy, draw: Draw, method: str) -> list[int]:
    """How diverse each sensitive attribute must be, in table order; or Infeasible where one alone makes it hopeless."""
    for column in table.sensitive:
        require_eligible(replace(table, columns={column.name: column}), policy, draw)
        attribute = policy.columns[column.name]
        if attribute.model == "unique-distinct":
            raise Infeasible(
                f"{column.name!r} asks for exactly l values a group, and {method} lets groups grow. Use model: "
                "frequency, or method: bsgi."
            )
        if attribute.c is not None and attribute.c <= 1:
            raise Infeasible(
                f"{column.name!r}: {method}'s groups may hold l values once each, so recursive diversity needs c above "
                f"1, not {attribute.c:g}."
            )
    return [policy.l(column.name) for column in table.sensitive]


def require_groups(plan: Plan, table: Table, policy: Policy) -> None:
    """Refuse a plan that publishes nothing, or less than the policy wants published."""
    names = ", ".join(repr(column.name) for column in table.sensitive)
    if not plan.groups:
        raise Infeasible(
            f"No group of rows differs enough in {names} at once. Lower l, protect fewer attributes together, or use "
            "method: sloms, which slices them."
        )
    require_allowance(plan.suppressed, table.rows, policy, "lower l, or use method: sloms")


METHOD = Msb
