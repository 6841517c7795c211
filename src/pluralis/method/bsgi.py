"""BSGI: groups of exactly l rows with l different sensitive values, picked to lie close together.

Paper      Ye, Deng, Wang, Lv, Liu, Feng: BSGI: An Effective Algorithm towards Stronger l-Diversity. DEXA 2008.
           Figures 1 (BSGI), 2 (Select), 3 (Incorporate); section 5.2 for persons and several attributes.
Words      bucket = rows that share a sensitive value; residual = rows left when fewer than l buckets remain.
Departs    `variant: hardened` picks buckets by eligibility slack instead of size, places residual rows only where
           every attribute stays l-diverse, and exchanges rows between groups afterwards (docs/methods/bsgi.md says
           why each is sound). `variant: paper` is the figures to the letter. Where few rows fit no group, another
           order of the rows is drawn.

Theorem (both variants, one sensitive attribute, n1/n <= 1/l): every group holds l or more rows, all of different
sensitive value, so no value fills more than 1/l of a group. With several attributes the hardened variant keeps
count x l_i <= size for each attribute i in every group; the paper variant may not, and the audit then refuses it.
With `at_most` or `gain` the buckets are pseudo-values (grouping/caps.py), and every value keeps its cap.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pluralis.errors import Infeasible
from pluralis.grouping.caps import Reduction, reduced
from pluralis.grouping.eligibility import (
    allowance,
    bounds_values,
    largest_l,
    require_allowance,
    require_eligible,
    require_sensitive,
)
from pluralis.grouping.incorporation import merge_until_diverse
from pluralis.grouping.plan import SUPPRESSED, Plan, numbered
from pluralis.grouping.points import space_of
from pluralis.grouping.requirements import require_bounds
from pluralis.kernels.forest import Forest, plant
from pluralis.kernels.incorporate import Terms, incorporate, standing
from pluralis.kernels.marks import Marks, marks_of
from pluralis.kernels.place import losses_of, refine
from pluralis.kernels.select import ASIDE, FINISHED, GROUPS, LEFT, Buckets, Outcome, Rules, select_groups
from pluralis.kernels.space import Space
from pluralis.kernels.twins import NO_TWIN, next_twins
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

BATCH = 2_000
ATTEMPTS = 4  # orders of rows that are tried while few rows fit no group
FEW_LEFT = 0.01  # of all rows: where more are left over, another order does not help


class Bsgi(Method):
    """Bucketize, select, group, incorporate; then refine."""

    name: ClassVar[str] = "bsgi"
    title: ClassVar[str] = "groups of exactly l close rows with l different sensitive values"
    paper: ClassVar[str] = "Ye et al., DEXA 2008"
    kind: ClassVar[str] = "generalized"
    guarantee: ClassVar[str] = (
        "In every group each sensitive value fills at most 1/l of the rows (unique distinct l-diversity)."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "algorithm: rows are picked by least loss, so someone who knows the method can sometimes be certain",
        "tight intervals: the ends of a published interval are values of members of the group",
    )
    bounds: ClassVar[tuple[str, ...]] = ("at_most", "gain")
    ways: ClassVar[tuple[Literal["hash", "cuts"], ...]] = ("cuts", "hash")

    variant: Literal["hardened", "paper"] = "hardened"
    refine: int = Field(default=1, ge=0, le=50, description="passes of row exchanges after selection; 0 for none")

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        part = reduced(table, policy, draw)
        asked = self._asked(part.table, part.policy)
        kept = require_eligible(part.table, part.policy, draw, asked)
        allowed, plans = allowance(policy.publish.suppress, table.rows), list[Plan]()
        for attempt in range(ATTEMPTS if self.variant == "hardened" else 1):
            drawn = draw.permutation(kept.size, "rows" if attempt == 0 else f"rows, attempt {attempt + 1}")
            plans.append(self._attempted(table, policy, part, asked, kept[drawn]))
            plan = min(plans, key=lambda one: one.suppressed)
            if not 0 < plan.suppressed - allowed <= FEW_LEFT * table.rows:
                break
        require_allowance(plan.suppressed, table.rows, policy)
        require_bounds(table, policy, plan.group_of)
        return plan

    def _attempted(
        self, table: Table, policy: Policy, part: Reduction, asked: dict[str, int], order: npt.NDArray[np.int64]
    ) -> Plan:
        """The groups that come of the rows in one order."""
        space = space_of(part.table.quasi, order)
        rules, ls = self._rules(part.table, asked, order)
        groups, aside = self._select(space, rules, int(ls.max()))
        placed = self._incorporate(space, rules, ls, groups, aside)
        _require_small_groups(placed, int(ls.max()), policy)
        group_of = self._refined(space, rules, placed, int(ls.max()))
        return self._generalized(table, policy, part.rows[order], group_of)

    def _asked(self, table: Table, policy: Policy) -> dict[str, int]:
        """How diverse each attribute must be, the one that makes the buckets first: the one of largest l.

        A group holds as many values as rows, so k-anonymity beyond l asks for as many values as k.
        """
        ls = {column.name: policy.l(column.name) for column in table.sensitive}
        first = min(ls, key=lambda name: (-ls[name], name))
        if (policy.k or 0) > max(ls[first], largest_l(table[first].counts)):
            raise Infeasible(
                f"k: {policy.k} asks for groups of {policy.k}. BSGI's groups hold as many different values as "
                "rows, and "
                f"{first!r} allows {largest_l(table[first].counts)}. Lower k, or use method: mondrian."
            )
        ls[first] = max(ls[first], policy.k or 0)
        exact = any(policy.columns[name].model == "unique-distinct" for name in ls)
        if self.variant == "hardened" and not exact:
            ls[first] = _roomy(table, ls, first)
        for name, l in ls.items():
            attribute = policy.columns[name]
            if attribute.model == "unique-distinct" and policy.l(name) < ls[first] and self.variant == "hardened":
                raise Infeasible(
                    f"{name!r} asks for exactly {policy.l(name)} values in groups of {ls[first]}. Give every "
                    "unique-distinct attribute the same l, and k no more than that."
                )
            if attribute.c is not None and attribute.c <= 1:
                raise Infeasible(
                    f"{name!r}: BSGI's groups may hold {l} values once each, so recursive diversity needs c above 1, "
                    f"not {attribute.c:g}."
                )
        return {first: ls.pop(first), **ls}

    def _rules(
        self, table: Table, asked: dict[str, int], order: npt.NDArray[np.int64]
    ) -> tuple[Rules, npt.NDArray[np.int64]]:
        """How often a value may stand in a group: the paper wants every row to differ in every attribute."""
        columns = [table[name] for name in asked]
        ls = np.array(list(asked.values()), np.int64)
        caps = np.ones_like(ls) if self.variant == "paper" else ls.max() // ls
        sensitive = np.ascontiguousarray(np.stack([column.codes[order] for column in columns]))
        person = table.person[order] if table.person is not None else np.empty(0, np.int32)
        return Rules(sensitive, caps, person, np.full(ls.size, -1, np.int64)), ls

    def _select(self, space: Space, rules: Rules, l: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Groups of l rows, and the rows left over, both in drawn order."""
        rows = space.points.shape[0]
        sizes = np.bincount(rules.sensitive[0]).astype(np.int64)
        by_bucket = np.argsort(rules.sensitive[0], kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        slack = self.variant == "hardened"
        buckets = Buckets(
            sizes=sizes.copy(),
            ranking=np.argsort(-sizes, kind="stable"),
            rows=by_bucket,
            cursor=starts[:-1].copy(),
            taken=np.zeros(rows, np.bool_),
            twin=next_twins(space.points, rules),
            holders=np.stack([np.bincount(codes, minlength=rules.sensitive.max() + 1) for codes in rules.sensitive]),
        )
        outcome = Outcome(np.empty((rows // l, l), np.int64), np.empty(rows, np.int64), np.array([0, 0, rows, 0, 0]))
        marks = marks_of(rules.sensitive)
        planted = 2 * rows + 1
        with stage("forming groups") as done:
            while not outcome.counters[FINISHED]:
                if 2 * outcome.counters[LEFT] < planted:
                    planted = outcome.counters[LEFT]
                    forests = self._forests(rules, marks, space, by_bucket[_foremost(buckets)[by_bucket]])
                select_groups(space, forests, rules, marks, buckets, outcome, slack, outcome.counters[GROUPS] + BATCH)
                done(1 - outcome.counters[LEFT] / rows)
        aside = np.concatenate([outcome.aside[: outcome.counters[ASIDE]], np.flatnonzero(~buckets.taken)])
        rules.needed[:] = -1
        return outcome.groups[: outcome.counters[GROUPS]], np.sort(aside)

    def _forests(self, rules: Rules, marks: Marks, space: Space, free: npt.NDArray[np.int64]) -> tuple[Forest, Forest]:
        """Trees over free rows, which come bucket by bucket: one over all, and one for each bucket."""
        sizes = np.bincount(rules.sensitive[0, free], minlength=rules.sensitive[0].max() + 1)
        by_bucket = plant(space, free.copy(), np.concatenate([[0], np.cumsum(sizes)]), marks.of_row)
        whole = free if self.variant == "hardened" else free[:0]
        return plant(space, whole.copy(), np.array([0, whole.size]), marks.of_row), by_bucket

    def _incorporate(
        self,
        space: Space,
        rules: Rules,
        ls: npt.NDArray[np.int64],
        formed: npt.NDArray[np.int64],
        residual: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """The group of every row once the residual ones are placed."""
        group_of = np.full(space.points.shape[0], SUPPRESSED, np.int64)
        group_of[formed] = np.arange(formed.shape[0])[:, None]
        if not residual.size:
            return group_of
        if formed.size:
            terms = Terms(rules, marks_of(rules.sensitive), ls, formed.shape[1], self.variant == "paper")
            known = standing(space, terms, formed)
            with stage("placing residual rows") as done:
                for start in range(0, residual.size, BATCH):
                    incorporate(space, terms, known, residual[start : start + BATCH], group_of)
                    done(start / residual.size)
        unplaced = residual[group_of[residual] == SUPPRESSED]
        group_of, _ = merge_until_diverse(group_of, unplaced, rules, ls)
        return group_of

    def _refined(self, space: Space, rules: Rules, group_of: npt.NDArray[np.int64], l: int) -> npt.NDArray[np.int64]:
        """Exchange rows between groups, the worst first, a few passes; no group's values change.

        Groups of more than 2 l rows were merged, of rows that fit nowhere, and are left as they are: one row more or
        less does not make them narrower, and each look at them takes as long as they are large.
        """
        if self.variant == "paper" or not self.refine:
            return group_of
        group_of = numbered(group_of)
        placed = np.flatnonzero(group_of != SUPPRESSED)
        members = placed[np.argsort(group_of[placed], kind="stable")]
        sizes = np.bincount(group_of[placed])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        small = placed[sizes[group_of[placed]] <= 2 * l]
        by_bucket = small[np.argsort(rules.sensitive[0, small], kind="stable")]
        counts = np.bincount(rules.sensitive[0, small], minlength=int(rules.sensitive[0].max(initial=0)) + 1)
        starts_of_buckets = np.concatenate([[0], np.cumsum(counts)])
        forest = plant(space, by_bucket, starts_of_buckets, marks_of(rules.sensitive[:1]).of_row)
        with stage("refining groups") as done:
            for turn in range(self.refine):
                losses = losses_of(space, starts, members)
                order = np.argsort(-losses, kind="stable")
                order = order[sizes[order] <= 2 * l]
                saved = 0.0
                for start in range(0, order.size, BATCH):
                    saved += refine(space, forest, rules, starts, members, group_of, order[start : start + BATCH])
                    done((turn + start / order.size) / self.refine)
                if saved == 0.0:
                    break
        return group_of


def _foremost(buckets: Buckets) -> npt.NDArray[np.bool_]:
    """The free rows that are not behind a free twin."""
    foremost = ~buckets.taken
    behind = buckets.twin[foremost]
    foremost[behind[behind != NO_TWIN]] = False
    return foremost


def _roomy(table: Table, ls: dict[str, int], first: str) -> int:
    """The smallest size of groups in which the commonest value of every attribute finds room; at least l.

    A group of five takes two rows of a value that may fill half of it, 40 %; where the value fills 41 % of the table, a
    row in fifty would be left over. Groups of six take three.
    """
    for size in range(ls[first], largest_l(table[first].counts) + 1):
        groups = table.rows // size
        if all(size // l * groups >= table[name].counts.max() for name, l in ls.items() if name != first):
            return size
    return ls[first]


def _require_small_groups(group_of: npt.NDArray[np.int64], l: int, policy: Policy) -> None:
    """Refuse groups that were merged, where exactly l values are asked for, or l + 1 where a residual row joined."""
    exact = [name for name in policy.sensitive if policy.columns[name].model == "unique-distinct"]
    largest = int(np.bincount(group_of[group_of != SUPPRESSED]).max(initial=0))
    if exact and largest > l + 1:
        raise Infeasible(
            f"{exact[0]!r} cannot be unique-distinct: rows that fit no group of {l} or {l + 1} make one of {largest}. "
            f"Use model: distinct or frequency{'' if bounds_values(policy) else ', or allow suppress'}."
        )


METHOD = Bsgi
