"""Mondrian: the table is cut in two again and again, at the median of its widest attribute.

Paper      LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity. ICDE 2006. Section 3 (strict and
           relaxed partitionings), section 4 (the greedy algorithm). Its test is k rows; the tests on sensitive
           values are those of Machanavajjhala et al., l-Diversity, ICDE 2006, used as BSGI's authors use them.
Words      cut = two sides of a group, below and above the median of an attribute; it is allowed if both sides pass the
           test; strict = a cut stands between two values; relaxed = rows on the median may go to either side.
Departs    the width of an attribute is its loss (NCP, weighted), so that numbers, codes and trees compare; codes are
           cut in domain order and trees between the children of the lowest common ancestor. Where the cut nearest the
           median is not allowed, the one on the other side of the median value is tried, then the next attribute
           (the paper's chooser tries one cut an attribute). An attribute in which all rows are equal is not cut:
           it would win nothing. Rows on the median are dealt evenly, in table order. A missing number comes before
           all others. Where a person has several rows, a side must be large and diverse enough to be split once
           more for each of them (persons.py).

Every group passes the policy's test (k, and each sensitive attribute's model and l), because the whole table does and a
cut that would break it is not made.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pluralis.eligibility import require_eligible
from pluralis.errors import Infeasible
from pluralis.kernels.forest import plant
from pluralis.kernels.mondrian import (
    DISTINCT,
    DONE,
    ENTROPY,
    FREQUENCY,
    RECURSIVE,
    STACK,
    TOP,
    UNIQUE,
    Cuts,
    Models,
    Room,
    boxes_of,
    chains,
    diverse,
    holds,
    near_groups,
    partition,
    place_row,
)
from pluralis.kernels.space import Space
from pluralis.methods.base import Method
from pluralis.persons import room_for, separate_persons
from pluralis.plan import LEFT_OUT, Plan, numbered
from pluralis.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.space import space_of
from pluralis.table import Column, Table

Rows = npt.NDArray[np.int64]
KINDS = {
    "frequency": FREQUENCY,
    "distinct": DISTINCT,
    "entropy": ENTROPY,
    "recursive": RECURSIVE,
    "unique-distinct": UNIQUE,
}
STEPS = 50


class Mondrian(Method):
    """Cut until no cut is allowed; then keep the rows of one person apart."""

    name: ClassVar[str] = "mondrian"
    title: ClassVar[str] = "the table cut at medians as long as both sides pass the test"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan, ICDE 2006"
    kind: ClassVar[str] = "generalized"
    guarantee: ClassVar[str] = (
        "Every group has k rows and is l-diverse in every sensitive attribute, by the model the policy names."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "minimality: a group was not cut further because its halves would fail, which tells about the values in them",
        "tight intervals: the ends of a published interval are values of members of the group",
        "homogeneity under distinct: with model distinct (or k alone) one value may fill most of a group; "
        "frequency bounds it",
    )

    mode: Literal["strict", "relaxed"] = "strict"

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        kept = rows_that_can_pass(table, policy, draw, self.name)
        models = models_of(table, policy, kept)
        space = space_of(table.quasi, kept)
        flats = [column.size for column in table.quasi if column.hierarchy is None and not column.is_number]
        room = room_for(models, max(flats, default=0), len(table.quasi))
        group_of = self._cut(space, splitting(models), room)
        group_of = self._without_repeated_people(space, splitting(models), room, group_of, table, policy)
        require_unique(group_of, models, room, self.name)
        whole = np.full(table.rows, LEFT_OUT, np.int64)
        whole[kept] = group_of
        linked = self.variant == "paper" or not policy.links_are_known
        return Plan(kind=self.kind, group_of=numbered(whole), linked=linked)

    def _cut(self, space: Space, models: Models, room: Room) -> Rows:
        rows = space.points.shape[0]
        cuts = Cuts(
            order=np.arange(rows),
            group_of=np.empty(rows, np.int64),
            stack=np.zeros((STACK, 2), np.int64),
            counters=np.array([1, 0, 0]),
        )
        cuts.stack[0] = 0, rows
        with stage("cutting the table") as done:
            while cuts.counters[TOP]:
                until = cuts.counters[DONE] + rows // STEPS + 1
                partition(space, models, room, cuts, self.mode == "relaxed", until)
                done(cuts.counters[DONE] / rows)
        return cuts.group_of

    def _without_repeated_people(
        self, space: Space, models: Models, room: Room, group_of: Rows, table: Table, policy: Policy
    ) -> Rows:
        """Split groups that hold a person twice, and place what is left over where it costs least.

        The groups of the nearest rows are tried first, all others only where none of those may take the row.
        """
        group_of, surplus = separate_persons(group_of, models, room)
        if not surplus.size:
            return group_of
        group_of = group_of.copy()
        members = chains(group_of, group_of.max() + 1)
        boxes = boxes_of(space, room, members)
        everywhere = np.arange(group_of.max() + 1)
        forest = plant(space, np.arange(group_of.size), np.array([0, group_of.size]), np.zeros(group_of.size, np.int32))
        with stage("placing rows of people with several") as done:
            for i, row in enumerate(surplus):
                near = near_groups(space, forest, group_of, row)
                group_of[row] = place_row(space, models, room, members, boxes, near, row)
                if group_of[row] == LEFT_OUT:
                    group_of[row] = place_row(space, models, room, members, boxes, everywhere, row)
                done(i / surplus.size)
        unplaced = int((group_of == LEFT_OUT).sum())
        require_allowance(table, policy, table.rows - group_of.size + unplaced, unplaced, self.name)
        return group_of


def rows_that_can_pass(table: Table, policy: Policy, draw: Draw, method: str) -> Rows:
    """The rows to publish: all, or, within the policy's allowance, all but a drawn surplus of common values.

    Raises Infeasible where the whole table, as one group, fails the test: then every finer one does too.
    """
    if not table.quasi:
        raise Infeasible(f"{method} generalises quasi attributes and the policy names none. Give a column role: quasi.")
    if policy.k is None and not table.sensitive:
        raise Infeasible(
            f"{method} needs to know how large or diverse a group must be. Give a column role: sensitive, or set k: 5."
        )
    if policy.k is not None and table.rows < policy.k:
        raise Infeasible(
            f"The table has {table.rows:,} rows, too few for a group of {policy.k}. Set k: {table.rows} or less."
        )
    rows = np.arange(table.rows)
    failing = [column for column in table.sensitive if not _passes(column, column.counts, policy)]
    for column in failing:
        # a table of which no value fills more than 1/l has entropy log l; and r1 <= r_l + …, enough for any c above 1
        attribute = policy.columns[column.name]
        cured = attribute.model in ("frequency", "entropy") or (attribute.c or 0) > 1
        if attribute.model != "frequency" and not (cured and policy.publish.suppress):
            raise Infeasible(_why(column, column.counts, policy))
    if failing:
        rows = require_eligible(replace(table, columns={column.name: column for column in failing}), policy, draw)
    for column in table.sensitive:
        counts = np.bincount(column.codes[rows], minlength=column.size)
        if not _passes(column, counts, policy):
            raise Infeasible(_why(column, counts, policy) + " (Rows were already left out for another attribute.)")
    if policy.k is not None and rows.size < policy.k:
        raise Infeasible(f"{rows.size:,} rows remain, too few for a group of {policy.k}. Lower k or l.")
    return rows


def models_of(table: Table, policy: Policy, rows: Rows) -> Models:
    """The policy's test on these rows, the most demanding attribute first."""
    columns = sorted(table.sensitive, key=lambda column: (-policy.l(column.name), column.name))
    ls = [policy.l(column.name) for column in columns]
    attributes = [policy.columns[column.name] for column in columns]
    secrets = np.stack([column.codes[rows] for column in columns]) if columns else np.zeros((0, rows.size), np.int32)
    return Models(
        secrets=np.ascontiguousarray(secrets, np.int32),
        model=np.array([KINDS[attribute.model] for attribute in attributes], np.int8),
        ls=np.array(ls, np.int64),
        c=np.array([attribute.c or 0.0 for attribute in attributes]),
        least=max([policy.k or 1, *ls]),
        person=table.person[rows] if table.person is not None else np.empty(0, np.int32),
    )


def splitting(models: Models) -> Models:
    """The test while groups are made: a part of a group with too many values may have the right number of them."""
    return models._replace(model=np.where(models.model == UNIQUE, DISTINCT, models.model).astype(np.int8))


def require_unique(group_of: Rows, models: Models, room: Room, method: str) -> None:
    """Refuse groups that are not what unique-distinct asks for: l or l + 1 rows, all of different value."""
    if UNIQUE not in models.model:
        return
    bad = failing_groups(group_of, models, room)
    if bad.size:
        raise Infeasible(
            f"{bad.size:,} of {group_of.max() + 1:,} groups do not hold exactly l different values, each once: "
            f"{method} cannot "
            "aim at unique-distinct diversity. Use method: bsgi, or model: distinct or frequency."
        )


def failing_groups(group_of: Rows, models: Models, room: Room) -> Rows:
    """The groups that fail the test."""
    kept = np.flatnonzero(group_of != LEFT_OUT)
    order = kept[np.argsort(group_of[kept], kind="stable")]
    ends = np.cumsum(np.bincount(group_of[kept]))
    parts = np.split(order, ends[:-1]) if kept.size else []
    return np.array([i for i, rows in enumerate(parts) if not holds(models, room, rows, 1)], np.int64)


def require_allowance(table: Table, policy: Policy, left_out: int, unplaced: int, method: str) -> None:
    """Refuse to leave out more rows than the policy allows, because of people with several rows."""
    if left_out <= policy.publish.suppress * table.rows:
        return
    share = np.ceil(1000 * left_out / table.rows) / 1000
    allow = f"Allow suppress: {share:g}, or use" if share < 1 else "Use"
    raise Infeasible(
        f"{method} finds no group for {unplaced:,} of {table.rows:,} rows whose person has other rows: every "
        "group that could "
        f"take them holds the same people, or would no longer be diverse. {allow} method: bsgi, which forms "
        "groups around people."
    )


def _passes(column: Column, counts: Rows, policy: Policy, l: int | None = None) -> bool:
    """Whether a histogram could be that of one group."""
    attribute = policy.columns[column.name]
    kind = KINDS[attribute.model] if attribute.model != "unique-distinct" else DISTINCT
    return bool(diverse(kind, l or policy.l(column.name), attribute.c or 0.0, counts, np.flatnonzero(counts), 1))


def _why(column: Column, counts: Rows, policy: Policy) -> str:
    """Why an attribute cannot be diverse under a model other than frequency, and what would work."""
    attribute, l = policy.columns[column.name], policy.l(column.name)
    values, top = int((counts > 0).sum()), int(counts.argmax())
    best = bisect_left(range(1, values + 1), True, key=lambda l: not _passes(column, counts, policy, l))
    said = (
        f"{column.name!r} cannot be {l}-diverse ({attribute.model}): it has {values} values, and "
        f"{column.text(top)!r} fills "
        f"{counts[top]:,} of {counts.sum():,} rows. "
    )
    if best >= 2:
        return said + f"The largest l it allows is {best}; set l: {best}."
    return said + "No l of 2 or more is possible; use a weaker model, or do not publish this attribute."


METHOD = Mondrian
