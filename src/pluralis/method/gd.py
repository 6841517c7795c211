"""GD: rules that do not hold get a table of their own; then attributes are added back where most is gained.

Paper      Versatile Publishing, section 5.3, Algorithm 1.
Departs    rules are looked at so that what others know comes last: then each is mended at most once. Where rules go in
           circles ({a -> b, b -> a}) the paper's loop does not end. Attributes are added back to UAD's
           split there, and to a table for each protected attribute; what loses less is taken. Attributes are added
           only while the tables keep a junction tree: the paper takes that for granted, yet {a,b}, {b,c}, {c,d},
           {d,a} break no rule and have none. Both variants are the same.

Theorem: the result is in normal form (`schema.in_normal_form`), since steps 1-4 end only then and step 5 adds nothing
that would leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from pluralis.errors import optional
from pluralis.grouping.subtable_divergence import Codes, Groups, Likelihood, hanging
from pluralis.grouping.subtable_schema import Arrow, Schema, Subtable, keeps
from pluralis.kernels.classes import refined
from pluralis.method.subtables import Guarded, Task, grouping
from pluralis.method.uad import split
from pluralis.progress import stage
from pluralis.table.encoding import Table

SAME = 1e-12  # gains that differ by less are equal


class Gd(Guarded):
    """Split for each rule that does not hold, then add attributes back by KL divergence."""

    name: ClassVar[str] = "gd"
    title: ClassVar[str] = "a table for each rule that needs one, filled up with what tells most"
    paper: ClassVar[str] = "Jin, Zhang, Zhang, Das, Versatile Publishing, Algorithm 1"
    breaks: ClassVar[tuple[str, ...]] = (
        *Guarded.breaks,
        "algorithm: which attributes stand together was decided by what they tell of each other",
    )

    def decompose(self, task: Task) -> Sequence[Subtable]:
        likelihood = self._likelihood(task)
        with stage("adding attributes back"):
            filled = [filled_up(tables, task.schema, likelihood) for tables in starts(task.schema)]
        lost = [likelihood.kl(tables) for tables in filled]
        return min(zip(filled, lost, strict=True), key=lambda pair: np.inf if pair[1] is None else pair[1])[0]

    def remarks(self, schema: Schema) -> Iterator[str]:
        if _known_last(schema.arrows) is None:
            yield (
                "Rules go in circles: what one protects, another knows, and the other way round. The paper's loop does "
                "not end on them. gd starts from the tables of uad, or from a table for each protected attribute, "
                "whichever loses less."
            )

    def _likelihood(self, task: Task) -> Likelihood:
        """KL divergence if protected attributes stand in Anatomy's groups, which depend on nothing else."""
        schema, table, kept, policy, draw = task
        whole = table.projected(table.columns, (), kept)
        ls: dict[int, dict[str, int]] = {}
        for rule in schema.rules:
            asked = ls.setdefault(schema.bit[rule.protects], {})
            asked[rule.protects] = max(rule.l, asked.get(rule.protects, 2))
        columns = [_joint(whole, names) for names in schema.tied]
        groups = {}
        for bit, asked in ls.items():
            name, l = next(iter(self.looked_at(asked, schema.dependencies).items()))
            beside = next(other for other in whole.columns if other != name)
            part = replace(whole, columns={beside: whole[beside], name: whole[name].as_role("sensitive")})
            plan = grouping(
                "anatomy", part, policy.of_part([beside], {name: l}, "anatomy"), draw.for_part(f"kl {name}")
            )
            groups[bit] = Groups.from_rows(plan.group_of, *columns[bit.bit_length() - 1])
        return Likelihood(columns, groups)


def starts(schema: Schema) -> list[list[Subtable]]:
    """What attributes are added to: tables in normal form."""
    order = _known_last(schema.arrows)
    if order is not None:
        return [mended(schema, order)]
    return [split(schema.whole, schema.arrows), separate_tables(schema)]


def separate_tables(schema: Schema) -> list[Subtable]:
    """A table for each protected attribute, beside all that no rule protects: always in normal form."""
    protected = {arrow.protects for arrow in schema.arrows}
    others = schema.whole & ~sum(protected)
    return [Subtable(others | bit, bit if others else 0) for bit in sorted(protected)]


def mended(schema: Schema, order: Sequence[Arrow]) -> list[Subtable]:
    """Steps 1-4: one table, then one for each rule that it would break, in an order in which each is mended once."""
    first = order[0].protects
    tables = [Subtable(schema.whole, first if schema.whole != first else 0)]
    for rule in order:
        if not keeps(rule, tables):
            left = [Subtable(t.shows & ~rule.protects, t.protects & ~rule.protects) for t in tables]
            tables = [t for t in left if t.shows] + [Subtable(rule.knows | rule.protects, rule.protects)]
    return _needed(tables)


def _known_last(rules: Sequence[Arrow]) -> list[Arrow] | None:
    """Rules in such an order that what one protects is known only to rules before it; None if they go in circles.

    A table for Q -> S shows Q. So rules that know S come before those that protect it: then S is taken out of all
    tables but its own, and no later rule brings it back.
    """
    nx = optional("networkx", "The method gd", "publish")
    graph = nx.DiGraph()
    for rule in rules:
        graph.add_node(rule.protects)
        graph.add_edges_from((rule.protects, 1 << i) for i in range(rule.knows.bit_length()) if rule.knows >> i & 1)
    try:
        place = {bit: i for i, bit in enumerate(nx.lexicographical_topological_sort(graph))}
    except nx.NetworkXUnfeasible:
        return None
    return sorted(rules, key=lambda rule: (place[rule.protects], rule.knows))


def _needed(tables: Sequence[Subtable]) -> list[Subtable]:
    """The tables without those that show nothing that another does not show as openly."""
    kept = list(tables)
    for table in tables:
        others = list(kept)
        others.remove(table)
        if not table.protects and any(table.shows & ~other.open == 0 for other in others):
            kept = others
    return kept


def filled_up(tables: Sequence[Subtable], schema: Schema, likelihood: Likelihood) -> list[Subtable]:
    """Steps 5-8: add the attribute to the table where KL divergence falls most, as long as all rules are kept."""
    tables = list(tables)
    while True:
        best, least = None, np.inf
        for i, table in enumerate(tables):
            for bit in (1 << j for j in range(len(schema.tied))):
                if table.shows & bit:
                    continue
                tried = [*tables[:i], Subtable(table.shows | bit, table.protects), *tables[i + 1 :]]
                if hanging(tried) is None or not schema.in_normal_form(tried):
                    continue
                kl = likelihood.kl(tried)
                if kl is not None and kl < least - SAME:
                    best, least = tried, kl
        if best is None:
            return _needed(tables)
        tables = best


def _joint(table: Table, names: Sequence[str]) -> tuple[Codes, int]:
    """Tied attributes as one column."""
    first, *others = (table[name] for name in names)
    codes, size = first.codes, first.size
    for column in others:
        codes, size = refined(codes, size, column.codes, column.size)
    return codes, size


METHOD = Gd
