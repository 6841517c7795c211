"""How diverse a table can be at all, and what to say when it is not diverse enough."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Counts = npt.NDArray[np.int64]


def largest_l(counts: Counts) -> int:
    """l_per, the largest l that any method can honour: no value fills more than 1/l of the rows.

    >>> largest_l(np.array([9, 1])), largest_l(np.array([3, 3, 3]))
    (1, 3)
    """
    return int(counts.sum() // counts.max()) if counts.size else 0


def most_kept(counts: Counts, l: int) -> Counts:
    """How many rows of each value to keep so that no value fills more than 1/l of what is kept; as many as possible.

    >>> most_kept(np.array([9, 2, 1]), 2).tolist(), most_kept(np.array([5, 0]), 2).tolist()
    ([3, 2, 1], [0, 0])
    """
    kept = counts.copy()
    while kept.sum() and kept.max() * l > kept.sum():
        kept = np.minimum(kept, kept.sum() // l)
    return kept


def require_eligible(
    table: Table, policy: Policy, draw: Draw, ls: Mapping[str, int] | None = None
) -> npt.NDArray[np.int64]:
    """The rows to publish: all of them, or, within the policy's allowance, all but a drawn surplus of common values.

    `ls` says how diverse each sensitive attribute must be, where it is not what the policy says.

    Raises Infeasible with the value that is too common, the largest l that works and the allowance it would take.
    """
    ls = ls or {column.name: policy.l(column.name) for column in table.sensitive}
    kept = np.ones(table.rows, np.bool_)
    rank = None
    changed = True
    while changed:
        changed = False
        for column in table.sensitive:
            counts = np.bincount(column.codes[kept], minlength=column.size).astype(np.int64)
            target = most_kept(counts, ls[column.name])
            if (target == counts).all():
                continue
            changed = True
            rank = draw.permutation(table.rows, "surplus") if rank is None else rank
            for code in np.flatnonzero(target < counts):
                holders = rank[kept[rank] & (column.codes[rank] == code)]
                kept[holders[target[code] :]] = False
            left_out = int((~kept).sum())
            if left_out == table.rows or left_out > allowance(policy.publish.suppress, table.rows):
                raise Infeasible(_too_common(table, column, ls[column.name], left_out))
    return np.flatnonzero(kept)


def allowance(suppress: float, rows: int) -> int:
    """How many of so many rows may be left out.

    >>> allowance(0.58, 100), allowance(0, 100)
    (58, 0)
    """
    return int(suppress * rows + 1e-9 * rows)


def _enough(left_out: int, rows: int) -> float:
    """A suppress, in thousandths, that allows it."""
    return float(np.ceil(1000 * left_out / rows) / 1000)


def _too_common(table: Table, column: Column, l: int, left_out: int) -> str:
    """Why an attribute cannot be l-diverse, and what would help."""
    counts, rows = column.counts, table.rows
    top = int(counts.argmax())
    value, most, best = column.text(top), int(counts[top]), largest_l(counts)
    said = f"{column.name!r} cannot be {l}-diverse: {value!r} fills {most:,} of {rows:,} rows ({most / rows:.1%}). "
    if best >= l:
        said = f"{column.name!r} cannot be {l}-diverse once another attribute's surplus is left out. "
        best = l - 1
    if best < 2:
        said += "It is too skewed for any guarantee better than its own top frequency; do not publish it"
    else:
        said += f"The largest l it allows is {best}; set l: {best}"
    share = _enough(left_out, rows)
    return said + (f", or allow suppress: {share:g}." if share < 1 else ".")


def require_allowance(
    left_out: int, rows: int, suppress: float, remedy: str = "lower l, or protect fewer attributes"
) -> None:
    """Refuse a plan that leaves out more rows than the policy allows."""
    if left_out <= allowance(suppress, rows):
        return
    share = _enough(left_out, rows)
    raise Infeasible(
        f"{left_out:,} of {rows:,} rows fit no group: every group that could take them holds the same people or "
        "values. " + (f"Allow suppress: {share:g}, {remedy}." if share < 1 else f"{remedy.capitalize()}.")
    )


def require_sensitive(table: Table, method: str) -> None:
    """Grouping by sensitive values needs some, and rows are published by their quasi attributes."""
    if not table.sensitive:
        raise Infeasible(
            f"{method} groups rows by sensitive values and the policy names none. Give a column role: sensitive."
        )
    require_quasi(table, method)


def the_only(table: Table, method: str, others: str) -> Column:
    """The sensitive attribute, for a method that protects one."""
    if len(table.sensitive) > 1:
        names = ", ".join(column.name for column in table.sensitive)
        raise Infeasible(
            f"{method} protects one sensitive attribute and the policy names {len(table.sensitive)}: {names}. Use "
            f"method: {others}, or make all but one of them identifiers, which are not published."
        )
    return table.sensitive[0]


def refuse_small_c(column: Column, policy: Policy, method: str) -> None:
    """Where a group may hold l values equally often, recursive (c,l)-diversity needs c above 1."""
    c = policy.columns[column.name].c
    if c is not None and c <= 1:
        raise Infeasible(
            f"{column.name!r}: groups of {method} may hold {policy.l(column.name)} values equally often, so recursive "
            f"diversity needs c above 1, not {c:g}. Raise c, or use method: mondrian."
        )


def require_quasi(table: Table, method: str) -> None:
    """Rows are published by their quasi attributes, as they are or generalised."""
    if not table.quasi:
        raise Infeasible(
            f"{method} publishes rows by their quasi attributes and the policy names none. Give a column role: quasi, "
            "at least one."
        )


def require_k(table: Table, policy: Policy) -> None:
    """Refuse a k that the whole table, as one group, does not reach."""
    if table.person is None:
        most, has = table.rows, f"{table.rows:,} rows"
    else:
        most = int(table.person.max(initial=-1)) + 1
        has = f"rows of {most:,} people; a group holds nobody twice"
    if policy.k is not None and policy.k > most:
        remedy = f"Set k: {most} or less" if most >= 2 else "Publish a larger table"
        raise Infeasible(f"k: {policy.k} is larger than the table, which has {has}. {remedy}.")


def refuse_k(policy: Policy, method: str) -> None:
    """Where quasi values are published as they are, no k can be promised."""
    if policy.k is not None:
        raise Infeasible(
            f"{method} publishes quasi values as they are, so that k: {policy.k} cannot be promised. Remove k, or use "
            "method: sloms or bsgi, which generalise quasi attributes."
        )
