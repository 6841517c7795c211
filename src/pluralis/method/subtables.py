"""What methods share that publish several subtables: which rules to keep, and each subtable's own groups.

A method of this family decides the schema, which attributes stand side by side (`grouping/subtable_schema.py`). The
rest is here: rules, adversaries and roles become one set of rules, dependencies that the table shows are found, rows
that would break a rule even alone are refused or suppressed, and every subtable that protects something is given to a
method for one rule.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, PrivateAttr

from pluralis.errors import Infeasible
from pluralis.grouping.dependencies import assumed, open_holes
from pluralis.grouping.eligibility import refuse_k, require_eligible
from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan, MultiPlan, Plan, Subplan
from pluralis.grouping.subtable_schema import Schema, Subtable
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, closure
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

Rows = npt.NDArray[np.int64]
Names = tuple[tuple[frozenset[str], frozenset[str]], ...]
OneRule = Literal["anatomy", "msb", "bsgi", "mondrian", "incognito", "tp"]


class Task(NamedTuple):
    """What there is to split: the rows `kept` of a table, under a schema."""

    schema: Schema
    table: Table
    kept: Rows
    policy: Policy
    draw: Draw


class Versatile(Method):
    """Decide which attributes stand side by side, then protect each subtable on its own.

    The parts of a large table are published in the same subtables: in those that one of them was split into (`split`).
    """

    kind: ClassVar[str] = "multi"
    _tables: Names = PrivateAttr(default=())

    def in_tables(self, tables: Names) -> Self:
        """The same method with its subtables decided: the attributes that each shows, and those it protects."""
        fixed = self.model_copy()
        fixed._tables = tables
        return fixed

    @property
    def one_rule(self) -> str:
        """The method for a subtable that protects something."""
        return "anatomy"

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        task, tables, notes = self.split(table, policy, draw)
        schema, kept = task.schema, task.kept
        subplans = []
        with stage("forming groups") as done:
            for i in range(len(tables)):
                subplans.append(self._subplan(task, tables, i))
                done((i + 1) / len(tables))
        subplans += [_as_it_is([name], task) for name in _only_as_labels(subplans, schema)]
        group_of = np.full(table.rows, SUPPRESSED, np.int64)
        group_of[kept] = 0
        return MultiPlan(
            group_of=group_of,
            subplans=tuple(subplans),
            breaks=_breaks(self.one_rule) if any(subplan.plan for subplan in subplans) else (),
            rules=schema.rules,
            dependencies=schema.dependencies,
            notes=(*notes, *self.remarks(schema)),
        )

    def split(self, table: Table, policy: Policy, draw: Draw) -> tuple[Task, Sequence[Subtable], tuple[str, ...]]:
        """What there is to split, the subtables, and what to tell of them."""
        refuse_k(policy, self.name)
        schema, notes = schema_for(table, policy, self.name)
        task = Task(schema, table, _eligible(schema, table, policy, draw), policy, draw)
        if self._tables:
            return (
                task,
                [Subtable(schema.bits(shows), schema.bits(protects)) for shows, protects in self._tables],
                notes,
            )
        with stage("splitting the table"):
            return task, self.decompose(task), notes

    @abstractmethod
    def decompose(self, task: Task) -> Sequence[Subtable]:
        """Subtables that keep every rule of the schema (`schema.in_normal_form`) and show every attribute."""

    def remarks(self, schema: Schema) -> Iterator[str]:  # noqa: ARG002, for methods that have any
        """What to tell of how rules are kept."""
        yield from ()

    def _subplan(self, task: Task, tables: Sequence[Subtable], i: int) -> Subplan:
        schema, table, kept, policy, draw = task
        asked = schema.asked(tables, i)
        if not asked or not tables[i].open:  # no rule is about what stands in it
            return _as_it_is(schema.names(tables[i].shows), task)
        known, protected = schema.names(tables[i].open), schema.names(tables[i].protects)
        part = table.projected(known, protected, kept)
        rules = policy.of_part(known, self.looked_at(asked, schema.dependencies), self.one_rule)
        try:
            plan = grouping(self.one_rule, part, rules, draw.for_part(f"t{i + 1}"))
        except Infeasible as refusal:
            raise Infeasible(f"The table of {', '.join((*known, *protected))}: {refusal}") from None
        return Subplan(part, rules, plan)

    def looked_at(self, asked: Mapping[str, int], dependencies: Sequence[Dependency]) -> dict[str, int]:
        """What a grouping has to look at. Of tied attributes that is the coarsest: where it differs, all others do."""
        if self.one_rule == "msb" or len(asked) == 1:
            return dict(asked)
        for name in sorted(asked):
            if all(name in closure({other}, dependencies) for other in asked):
                return {name: max(asked.values())}
        raise Infeasible(
            f"{', '.join(sorted(asked))} go together, and none of them follows from each other one, so that groups "
            f"must be diverse in all of them at once. {self.one_rule} cannot; set anonymizer: msb."
        )


class Guarded(Versatile):
    """The same with a choice of method for what is protected."""

    guarantee: ClassVar[str] = (
        "Every rule Q -> S : l holds over all tables together: knowing Q, each S has at most 1/l."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "correlation: how known and protected values go together can be learned from all groups and used on one",
    )

    anonymizer: OneRule = Field(default="anatomy", description="the method for a subtable that protects something")

    @property
    def one_rule(self) -> str:
        return self.anonymizer


def grouping(method: str, table: Table, policy: Policy, draw: Draw) -> Plan:
    """The groups of a subtable, by a method for one rule, which sees those sensitive columns that its policy names."""
    from pluralis.method import method_named

    seen = {name: column for name, column in table.columns.items() if name in policy.columns}
    return method_named(method)().plan(replace(table, columns=seen), policy, draw)


def _as_it_is(names: Sequence[str], task: Task) -> Subplan:
    """A subtable that has nothing to hide."""
    return Subplan(task.table.projected(names, (), task.kept), task.policy.of_part(names, {}, "anatomy"))


def _only_as_labels(subplans: Sequence[Subplan], schema: Schema) -> list[str]:
    """Protected attributes that are nowhere shown as they are: labels do not say how common a value is."""
    shown: set[str] = set()
    for subplan in subplans:
        labels = isinstance(subplan.plan, GeneralizedPlan)
        shown |= {c.name for c in subplan.table.columns.values() if not labels or c.role == "sensitive"}
    return sorted({rule.protects for rule in schema.rules} - shown)


def _breaks(method: str) -> tuple[str, ...]:
    from pluralis.method import method_named

    return method_named(method).breaks


def schema_for(table: Table, policy: Policy, method: str) -> tuple[Schema, tuple[str, ...]]:
    """The attributes and rules of a policy, with what the table shows of dependencies; and what to tell of them."""
    if not policy.in_force():
        raise Infeasible(
            f"{method} splits a table so that rules are kept, and the policy has none. Write rules, such as "
            "`age, sex -> disease : l=3`, or give columns role: sensitive with an l."
        )
    dependencies = assumed(table, policy)
    rules = policy.in_force(dependencies)
    for name, attribute in policy.columns.items():
        if attribute.role == "sensitive" and not any(rule.protects == name for rule in rules):
            raise Infeasible(
                f"l of {name!r} protects it from nobody, for no attribute is quasi. Give those that may be known role: "
                "quasi, or write a rule or an adversary that says who knows what."
            )
        if attribute.model in ("recursive", "unique-distinct"):
            raise Infeasible(
                f"{name!r}: {method} keeps model: frequency, distinct or entropy, not {attribute.model}. Use one of "
                "them."
            )
    for rule, because in open_holes(rules, table, policy.coincidences, (*policy.dependencies, *dependencies)):
        raise Infeasible(
            f"`{rule}` cannot be kept: in this table whoever knows {', '.join(because.knows)} knows {rule.protects}. "
            "Drop the rule, make one of these attributes an identifier, which is not published, or, if nobody could "
            f"know that, add `{because}` to `coincidences`."
        )
    schema = Schema.from_rules(table.columns, rules, (*policy.dependencies, *dependencies))
    notes = tuple(
        f"{', '.join(d.knows)} decides {d.decides} in this table, and that is taken to be known: they are published "
        f"together. If nobody could know it, add `{d}` to `coincidences`."
        for d in dependencies
    )
    return schema, notes


def _eligible(schema: Schema, table: Table, policy: Policy, draw: Draw) -> Rows:
    """The rows to publish: no value of a protected attribute fills more than 1/l of them."""
    ls = {rule.protects: 0 for rule in schema.rules}
    for rule in schema.rules:
        ls[rule.protects] = max(ls[rule.protects], rule.l)
    for name in ls:
        if table[name].has_missing:
            raise Infeasible(
                f"{name!r} has to be protected, and is missing in {table[name].counts[-1]:,} rows. Write a rule that "
                "protects it, and if_missing: drop or if_missing: {as: unknown}."
            )
    sensitive = {name: table[name].as_role("sensitive") for name in ls}
    return require_eligible(replace(table, columns=sensitive), policy, draw, ls)
