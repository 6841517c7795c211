"""Of what a method does not stop, what is true of this release: a sentence that is false for a case is not printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan, MultiPlan, Plan, SlicedPlan
from pluralis.policy.policy import Policy
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]


class Labeled(NamedTuple):
    """A plan that generalizes, the table that it is about, and its policy."""

    plan: GeneralizedPlan | SlicedPlan
    table: Table
    policy: Policy

    def mixed(self, column: Column) -> npt.NDArray[np.bool_]:
        """Which groups hold several values of a quasi-identifier, so that a label stands for them."""
        rows = np.flatnonzero(self.plan.group_of != SUPPRESSED)
        group, codes = self.plan.group_of[rows], column.codes[rows]
        first = np.zeros(self.plan.groups, codes.dtype)
        first[group] = codes
        mixed = np.zeros(self.plan.groups, np.bool_)
        mixed[group[codes != first[group]]] = True
        return mixed


def labeled_parts(plan: Plan, table: Table, policy: Policy) -> Iterator[Labeled]:
    """The plan itself, or those of its subtables, where quasi-identifiers are published as labels."""
    if isinstance(plan, GeneralizedPlan | SlicedPlan):
        yield Labeled(plan, table, policy)
    elif isinstance(plan, MultiPlan):
        for subplan in plan.subplans:
            if isinstance(subplan.plan, GeneralizedPlan):
                yield Labeled(subplan.plan, subplan.table, subplan.policy)


def generalized(part: Labeled) -> bool:
    """Whether any label stands for several values."""
    return any(bool(part.mixed(column).any()) for column in part.table.quasi)


def tight(part: Labeled) -> bool:
    """Whether an interval ends where its members do: numbers without a hierarchy, whose intervals are given."""
    numbers = (column for column in part.table.quasi if column.type == "number" and column.hierarchy is None)
    return any(bool(part.mixed(column).any()) for column in numbers)


def bounds_no_value(part: Labeled) -> bool:
    """Whether one value may fill a group: an attribute asks for distinct values, or none is protected."""
    models = [part.policy.columns[column.name].model for column in part.table.sensitive]
    return "distinct" in models or not models


def keeps_a_group(part: Labeled) -> bool:
    """Whether all rows of some group agree in every quasi-identifier."""
    mixed = np.zeros(part.plan.groups, np.bool_)
    for column in part.table.quasi:
        mixed |= part.mixed(column)
    return not mixed.all()


CASES: dict[str, Callable[[Labeled], bool]] = {
    "tight intervals: ": tight,
    "downcoding: ": generalized,
    "homogeneity under distinct: ": bounds_no_value,
    "linkage: quasi-identifiers of groups that stayed": keeps_a_group,
}


def true_breaks(breaks: Iterable[str], plan: Plan, table: Table, policy: Policy) -> Iterator[str]:
    """Of these sentences, those that are true of what the plan publishes."""
    parts = list(labeled_parts(plan, table, policy))
    for sentence in breaks:
        case = next((case for start, case in CASES.items() if sentence.startswith(start)), None)
        if case is None or any(case(part) for part in parts):
            yield sentence
