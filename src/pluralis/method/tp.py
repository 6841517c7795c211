"""TP: rows with equal quasi-identifiers stay together as they are; as few rows as it takes leave them, for a residue.

Paper      Xiao, Yi, Tao: The Hardness and Approximation Algorithms for l-Diversity. EDBT 2010. The three phases (TP),
           and the hybrid that divides the residue by a heuristic (TP+).
Words      QI-group = rows with equal quasi-identifiers; residue = rows that left theirs; l-eligible = no sensitive
           value in more than 1/l of the rows; pillar = a commonest value, height = its count; thin = exactly l x height
           rows, fat = more; dead = thin, with a pillar that is one of the residue's.
Departs    `variant: hardened` is TP+: BSGI divides the residue, where the paper follows a Hilbert curve. `variant:
           paper` is TP: the residue is one group, published under what covers it. Ties, which group gives, and which
           of its rows, go by a drawn order. k and persons are not in the paper: groups below k join the residue whole,
           and so does a person's second row in a QI-group; a person's rows in the residue are then kept apart.

Theorem (no value fills more than 1/l of the table): every QI-group and the residue end l-eligible. Without k and
persons, let R be the residue and OPT the least possible; then |R| = OPT if the first phase is enough,
|R| <= OPT + l - 1 if the second is, and |R| <= (l - 1)(OPT + 1) < l OPT in any case. docs/methods/tp.md proves it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import (
    allowance,
    refuse_small_c,
    require_allowance,
    require_eligible,
    require_sensitive,
    the_only,
)
from pluralis.grouping.plan import SUPPRESSED, Plan, numbered
from pluralis.grouping.points import space_of
from pluralis.grouping.requirements import models_of, require_unique
from pluralis.grouping.separate_persons import kept_apart
from pluralis.kernels.models import room_for
from pluralis.kernels.tp import PHASE, Parts, Wish, lines_for, residue_of, three_phases
from pluralis.method.base import Method
from pluralis.method.bsgi import Bsgi
from pluralis.method.mondrian import Mondrian
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

Rows = npt.NDArray[np.int64]
REMEDY = (
    "lower l, publish fewer rows of the people who have many, or use method: bsgi, which forms groups around people"
)


class Tp(Method):
    """Keep groups of equal rows; give the residue what it takes; divide it."""

    name: ClassVar[str] = "tp"
    title: ClassVar[str] = "equal rows as they are, as few others as it takes in a residue that is generalized"
    paper: ClassVar[str] = "Xiao, Yi, Tao, EDBT 2010"
    kind: ClassVar[str] = "generalized"
    guarantee: ClassVar[str] = (
        "Every group has k rows and is l-diverse by the model the policy names; groups of equal rows are by frequency."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "minimality: rows left their group because a value was too common in it, which tells about those who left",
        "linkage: quasi-identifiers of groups that stayed are exact, so that a person's group can be found",
        "tight intervals: the ends of a published interval are values of members of the group",
    )

    residue: Literal["bsgi", "mondrian"] = Field(
        default="bsgi",
        description="the method that divides the residue; mondrian is faster, and is used for k above l",
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        column = the_only(table, self.name, "bsgi, mondrian or kaca")
        refuse_small_c(column, policy, self.name)
        kept = require_eligible(table, policy, draw)
        _require_k(kept, policy)
        order = kept[draw.permutation(kept.size, "rows that stay")]
        allowed = allowance(policy.publish.suppress, table.rows)
        for spare in _spares(table, order, policy.l(column.name)):
            with stage("taking rows out of groups"):
                group_of = settled(table, order, Wish(policy.l(column.name), policy.k or 1, spare)).group_of
            group_of = self._divided(table, policy, draw, group_of)
            suppressed = int((group_of == SUPPRESSED).sum())
            if suppressed <= allowed:
                break
        require_allowance(suppressed, table.rows, policy, REMEDY)
        models = models_of(table, policy, np.arange(table.rows))
        require_unique(group_of, models, room_for(models), self.name)
        return self._generalized(table, policy, np.arange(table.rows), group_of)

    def _divided(self, table: Table, policy: Policy, draw: Draw, group_of: Rows) -> Rows:
        """The groups with those of the residue, which is group 0 so far; SUPPRESSED for people it cannot part."""
        rows = np.flatnonzero(group_of == 0)
        if not rows.size:
            return numbered(group_of)
        rest = _only(table, rows)
        freely = policy.publish.model_copy(update={"suppress": 1.0})  # what may be suppressed is judged at the end
        policy = policy.model_copy(update={"publish": freely})
        if self.variant == "paper":
            everything = np.arange(rows.size)
            space = space_of(rest.quasi, everything)
            parts = kept_apart(space, models_of(rest, policy, everything), np.zeros(rows.size, np.int64))
        elif self.residue == "mondrian" or (policy.k or 1) > policy.l(table.sensitive[0].name):
            parts = Mondrian().plan(rest, policy, draw).group_of
        else:
            parts = Bsgi().plan(rest, policy, draw).group_of
        whole = group_of.copy()
        whole[rows] = np.where(parts == SUPPRESSED, SUPPRESSED, group_of.max() + 1 + parts)
        return numbered(whole)


class Settled(NamedTuple):
    """The group of each row, 0 for the residue and SUPPRESSED where it is not published; the last phase needed."""

    group_of: Rows
    phase: int


def settled(table: Table, order: Rows, wish: Wish) -> Settled:
    """Which rows stay with their equals. Of the rows of a value in a group, the first in the order stay.

    >>> import polars as pl
    >>> from pluralis.table.encoding import encode
    >>> policy = Policy.from_dict({"version": 1, "attributes": {"age": {"role": "quasi", "type": "number"},
    ...                                                  "ill": {"role": "sensitive", "l": 2}}})
    >>> table = encode(pl.DataFrame({"age": [30, 30, 30, 40], "ill": ["flu", "flu", "hiv", "hiv"]}), policy)
    >>> settled(table, np.arange(4), Wish(2, 1, 0))
    Settled(group_of=array([1, 0, 1, 0]), phase=1)
    """
    sensitive = table.sensitive[0]
    group = numbered(_classes(table)[order])
    stays = _once(group, table.person[order]) if table.person is not None else np.ones(order.size, np.bool_)
    residue = residue_of(np.bincount(sensitive.codes[order[~stays]], minlength=sensitive.size))
    places = np.flatnonzero(stays)
    keys = group[places] * sensitive.size + sensitive.codes[order[places]]
    places = places[np.argsort(keys, kind="stable")]
    entries, first, counts = np.unique(np.sort(keys), return_index=True, return_counts=True)
    parts = _parts(entries // sensitive.size, entries % sensitive.size, counts)
    begin = np.zeros(sensitive.size, np.int64)
    three_phases(parts, residue, lines_for(parts, sensitive.size), begin, wish)
    rank = np.arange(places.size) - np.repeat(first, counts)
    stayed = places[rank < np.repeat(parts.counts, counts)]
    group_of = np.full(table.rows, SUPPRESSED, np.int64)
    group_of[order] = 0
    group_of[order[stayed]] = group[stayed] + 1
    return Settled(group_of, int(residue.sums[PHASE]))


def _classes(table: Table) -> Rows:
    """A number for each row, the same for rows with equal quasi-identifiers, which are neighbors in canonical order."""
    differs = np.zeros(table.rows, np.bool_)
    for column in table.quasi:
        differs[1:] |= column.codes[1:] != column.codes[:-1]
    return np.cumsum(differs)


def _once(group: Rows, person: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Marks the first row of each person in each group."""
    once = np.zeros(group.size, np.bool_)
    once[np.unique(group * (int(person.max()) + 1) + person, return_index=True)[1]] = True
    return once


def _parts(owner: Rows, value: Rows, counts: Rows) -> Parts:
    """Groups as histograms."""
    groups = int(owner.max()) + 1
    nothing = np.zeros(groups, np.int64)
    return Parts(
        starts=np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=groups))]),
        owner=owner,
        value=value.astype(np.int64),
        counts=counts.astype(np.int64),
        size=np.bincount(owner, counts, groups).astype(np.int64),
        height=nothing,
        pillars=nothing.copy(),
        dead=np.zeros(groups, np.bool_),
    )


def _spares(table: Table, order: Rows, l: int) -> list[int]:
    """How many rows beyond l x height the residue must hold: none, where everybody has one row.

    Otherwise enough to be parted for the person with most rows; if people cannot be kept apart then, all rows.
    """
    if table.person is None:
        return [0]
    most = int(np.bincount(table.person[order]).max())
    return [0] if most == 1 else [l * most, order.size]


def _only(table: Table, rows: Rows) -> Table:
    """Some rows of a table."""
    columns = {name: replace(column, codes=column.codes[rows]) for name, column in table.columns.items()}
    person = table.person[rows] if table.person is not None else None
    return replace(table, columns=columns, rows=rows.size, person=person)


def _require_k(kept: Rows, policy: Policy) -> None:
    if kept.size < (policy.k or 1):
        raise Infeasible(
            f"{kept.size:,} rows can be published, too few for a group of {policy.k}. Set k: {kept.size} or less."
        )


METHOD = Tp
