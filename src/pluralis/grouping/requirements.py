"""What a policy demands of every group, for methods that make groups of any size and test them.

The demands are k rows, and each sensitive attribute's model and l; kernels/models.py tests them. Here they are taken
from the policy, and what no grouping could meet is refused.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.grouping.caps import caps_of
from pluralis.grouping.eligibility import fixed_caps, require_eligible, require_k, require_quasi
from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.models import (
    DISTINCT,
    ENTROPY,
    FREQUENCY,
    NO_BOUNDS,
    RECURSIVE,
    UNIQUE,
    Bounds,
    Models,
    Room,
    diverse,
    holds,
    room_for,
)
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer]
KINDS = {
    "frequency": FREQUENCY,
    "distinct": DISTINCT,
    "entropy": ENTROPY,
    "recursive": RECURSIVE,
    "unique-distinct": UNIQUE,
}
SHARES_CHANGED = (
    "the rows that fit no group change the shares that gain and t are compared with, and some group then exceeds "
    "them. Set suppress: 0, raise gain or t, or use method: mondrian."
)
FOR_PEOPLE = "lower l, or use method: bsgi, which forms groups around people"


def rows_that_can_pass(table: Table, policy: Policy, draw: Draw, method: str) -> Rows:
    """The rows to publish: all, or, within the policy's allowance, all but a drawn surplus of common values.

    Raises Infeasible where the whole table, as one group, fails the test: then every finer one does too.
    """
    require_quasi(table, method)
    if policy.k is None and not table.sensitive:
        raise Infeasible(
            f"{method} needs to know how large or diverse a group must be. Give a column role: sensitive, or set k: 5."
        )
    require_k(table, policy)
    rows = np.arange(table.rows)
    _refuse_closeness_of_people(table, policy, method)
    failing = [column for column in table.sensitive if not _passes(column, column.counts, policy)]
    above = [column for column in table.sensitive if column not in failing and not _keeps_caps(column, policy)]
    for column in failing:
        # a table of which no value fills more than 1/l has entropy log l; and r1 <= r_l + …, enough for any c above 1
        attribute = policy.columns[column.name]
        cured = attribute.model in ("frequency", "entropy") or (attribute.c or 0) > 1
        if attribute.model != "frequency" and not (cured and policy.publish.suppress):
            raise Infeasible(_why(column, column.counts, policy))
    if failing or above:  # rows that one attribute gives up may be those that another needs: all are asked together
        asked = {column.name for column in failing}
        asked |= {name for name in policy.sensitive if policy.columns[name].model == "frequency"}
        ls = {column.name: policy.l(column.name) if column.name in asked else 1 for column in table.sensitive}
        rows = require_eligible(table, policy, draw, ls)
    for column in table.sensitive:
        counts = np.bincount(column.codes[rows], minlength=column.size)
        if not _passes(column, counts, policy):
            raise Infeasible(_why(column, counts, policy) + " (Rows were already suppressed for another attribute.)")
    if policy.k is not None and rows.size < policy.k:
        raise Infeasible(f"{rows.size:,} rows remain, too few for a group of {policy.k}. Lower k or l.")
    return rows


def models_of(table: Table, policy: Policy, rows: Numbers) -> Models:
    """The policy's test on these rows, the most demanding attribute first."""
    columns = sorted(table.sensitive, key=lambda column: (-policy.l(column.name), column.name))
    ls = [policy.l(column.name) for column in columns]
    attributes = [policy.columns[column.name] for column in columns]
    sensitive = np.stack([column.codes[rows] for column in columns]) if columns else np.zeros((0, rows.size), np.int32)
    return Models(
        sensitive=np.ascontiguousarray(sensitive, np.int32),
        model=np.array(
            [KINDS[attribute.model] if l > 1 else DISTINCT for attribute, l in zip(attributes, ls, strict=True)],
            np.int8,
        ),
        ls=np.array(ls, np.int64),
        c=np.array([attribute.c or 0.0 for attribute in attributes]),
        least=max([policy.k or 1, *ls]),
        person=table.person[rows] if table.person is not None else np.empty(0, np.int32),
        bounds=_bounds_of(columns, policy, rows),
    )


def _bounds_of(columns: list[Column], policy: Policy, rows: Numbers) -> Bounds:
    """The caps of values, and the distributions that groups must be close to."""
    attributes = [policy.columns[column.name] for column in columns]
    if not any(attribute.bounds for attribute in attributes):
        return NO_BOUNDS
    size = max(column.size for column in columns)
    cap, share = np.ones((len(columns), size)), np.zeros((len(columns), size))
    for i, column in enumerate(columns):
        counts = np.bincount(column.codes[rows], minlength=column.size).astype(np.int64)
        share[i, : column.size] = counts / rows.size
        if attributes[i].bounds:
            cap[i, : column.size] = [min(float(one), 1.0) for one in caps_of(column, policy, counts, 1)]
    ts = np.array([attribute.t or 1.0 for attribute in attributes])
    return Bounds(cap, share, ts, np.array([attribute.is_ordered for attribute in attributes]))


def still_within_bounds(table: Table, policy: Policy, rows: Numbers, group_of: Numbers) -> bool:
    """Whether groups keep `gain` and `t` once some of these rows are suppressed: shares are then other ones."""
    kept = group_of != SUPPRESSED
    asked = {key for column in table.sensitive for key in policy.columns[column.name].bounds}
    if kept.all() or not asked & {"gain", "t"}:
        return True
    models = splitting(models_of(table, policy, rows[kept]))
    return not failing_groups(group_of[kept], models._replace(least=1), room_for(models)).size


def require_bounds(table: Table, policy: Policy, group_of: Numbers) -> None:
    """Refuse groups of a whole table that no longer keep `gain`, because rows that fit none were suppressed."""
    if not still_within_bounds(table, policy, np.arange(table.rows), group_of):
        raise Infeasible(SHARES_CHANGED)


def _refuse_closeness_of_people(table: Table, policy: Policy, method: str) -> None:
    """A group that is close to the table, split for people with several rows, may not be in all of its parts."""
    for column in table.sensitive:
        if table.person is not None and policy.columns[column.name].t is not None:
            raise Infeasible(
                f"{column.name!r} asks for t, and {method} splits groups to keep the rows of one person apart, which "
                "can take a part away from the table. Use at_most or gain, or remove person where nobody has two rows."
            )


def _keeps_caps(column: Column, policy: Policy) -> bool:
    """Whether the whole table, as one group, keeps the bounds of named values."""
    caps = fixed_caps(column, policy, 1)
    return policy.columns[column.name].at_most is None or all(
        count <= cap * column.codes.size for count, cap in zip(column.counts.tolist(), caps, strict=True)
    )


def splitting(models: Models) -> Models:
    """The test while groups are made: a part of a group with too many values may have the right number of them."""
    return models._replace(model=np.where(models.model == UNIQUE, DISTINCT, models.model).astype(np.int8))


def require_unique(group_of: Numbers, models: Models, room: Room, method: str) -> None:
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


def failing_groups(group_of: Numbers, models: Models, room: Room) -> Rows:
    """The groups that fail the test."""
    kept = np.flatnonzero(group_of != SUPPRESSED)
    order = kept[np.argsort(group_of[kept], kind="stable")]
    ends = np.cumsum(np.bincount(group_of[kept]))
    parts = np.split(order, ends[:-1]) if kept.size else []
    return np.array([i for i, rows in enumerate(parts) if not holds(models, room, rows, 1)], np.int64)


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
    reason = (
        f"{column.name!r} cannot be {l}-diverse ({attribute.model}): it has {values} values, and "
        f"{column.text(top)!r} fills "
        f"{counts[top]:,} of {counts.sum():,} rows. "
    )
    if best >= 2:
        return reason + f"The largest l it allows is {best}; set l: {best}."
    return reason + "No l of 2 or more is possible; use a weaker model, or do not publish this attribute."
