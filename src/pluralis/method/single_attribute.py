"""Single-attribute publishing: every attribute in a table of its own. Nothing goes with anything.

Paper      Versatile Publishing, section 1.3: the baseline that keeps every rule and loses every correlation.
Departs    attributes that a known dependency ties together stand in one table, which tells nothing new.

Theorem: no attribute can be reached from another, so whoever knows Q knows of S how often each value occurs in the
whole table; no value fills more than 1/l of it, or the rule is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pluralis.grouping.subtable_schema import Subtable
from pluralis.method.subtables import Task, Versatile


class SingleAttribute(Versatile):
    """A table for each attribute."""

    baseline = True
    name: ClassVar[str] = "single-attribute"
    title: ClassVar[str] = "every attribute in a table of its own"
    paper: ClassVar[str] = "Jin, Zhang, Zhang, Das, Versatile Publishing, section 1.3"
    guarantee: ClassVar[str] = "Whoever knows some attributes learns nothing of others but how common each value is."
    breaks: ClassVar[tuple[str, ...]] = ("skewness: how common each value is in the whole table is published",)

    def decompose(self, task: Task) -> Sequence[Subtable]:
        return [Subtable(1 << i) for i in range(len(task.schema.tied))]


METHOD = SingleAttribute
