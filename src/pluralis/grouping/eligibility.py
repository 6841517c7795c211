"""How diverse a table can be at all, and what to say when it is not diverse enough."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table
from pluralis.table.named_values import bounds_by_code

Counts = npt.NDArray[np.int64]


def largest_l(counts: Counts) -> int:
    """l_per, the largest l that any method can honor: no value fills more than 1/l of the rows.

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


def most_kept_under(counts: Counts, caps: Sequence[Fraction]) -> Counts:
    """The same where each value has a cap of its own.

    >>> most_kept_under(np.array([9, 2]), [Fraction(1), Fraction(1, 10)]).tolist()
    [9, 1]
    """
    kept = counts.copy()
    while True:
        rows = int(kept.sum())
        fewer = np.array(
            [min(int(count), rows * cap.numerator // cap.denominator) for count, cap in zip(kept, caps, strict=True)]
        )
        if (fewer == kept).all():
            return kept
        kept = fewer.astype(np.int64)


def fixed_caps(column: Column, policy: Policy, l: int | None = None) -> list[Fraction]:
    """The largest share that each code may have in a group, whatever the other rows hold: 1/l, and `at_most`."""
    caps = [Fraction(1, l or policy.l(column.name))] * column.size
    for code, share in bounds_by_code(column, policy.columns[column.name]).items():
        caps[code] = min(caps[code], share)
    return caps


def require_eligible(
    table: Table, policy: Policy, draw: Draw, ls: Mapping[str, int] | None = None
) -> npt.NDArray[np.int64]:
    """The rows to publish: all of them, or, within the policy's allowance, all but a drawn surplus of common values.

    `ls` says how diverse each sensitive attribute must be, where it is not what the policy says. No surplus of a value
    that `at_most` names is suppressed: all that go would hold it, and whoever misses a person would be certain.

    Raises Infeasible with the value that is too common, and the largest l and the allowance, or the bound, that work.
    """
    ls = ls or {column.name: policy.l(column.name) for column in table.sensitive}
    kept = np.ones(table.rows, np.bool_)
    rank = None
    changed = True
    while changed:
        changed = False
        for column in table.sensitive:
            counts = np.bincount(column.codes[kept], minlength=column.size).astype(np.int64)
            if policy.columns[column.name].at_most is None:
                target = most_kept(counts, ls[column.name])
            else:
                target = most_kept_under(counts, fixed_caps(column, policy, ls[column.name]))
            if (target == counts).all():
                continue
            _refuse_surplus_of_bounded_values(table, column, policy, ls[column.name], target < counts)
            changed = True
            rank = draw.permutation(table.rows, "surplus") if rank is None else rank
            for code in np.flatnonzero(target < counts):
                holders = rank[kept[rank] & (column.codes[rank] == code)]
                kept[holders[target[code] :]] = False
            suppressed = int((~kept).sum())
            if suppressed == table.rows or suppressed > allowance(policy.publish.suppress, table.rows):
                raise Infeasible(_too_common(table, column, policy, ls[column.name], suppressed))
    return np.flatnonzero(kept)


def allowance(suppress: float, rows: int) -> int:
    """How many of so many rows may be suppressed.

    >>> allowance(0.58, 100), allowance(0, 100)
    (58, 0)
    """
    return int(suppress * rows + 1e-9 * rows)


def allowing(suppressed: int, rows: int, policy: Policy) -> str | None:
    """The line that lets so many rows be suppressed; None where it would not help.

    It does not where values are bounded one by one: these keep their bounds among suppressed rows, too, of which
    nobody can be sure beforehand.
    """
    share = float(np.ceil(1000 * suppressed / rows) / 1000)
    return f"suppress: {share:g}" if share < 1 and not bounds_values(policy) else None


def bounds_values(policy: Policy) -> bool:
    """Whether values are bounded one by one, by `at_most` or `gain`."""
    asked = [policy.columns[name] for name in policy.sensitive]
    return any(attribute.at_most is not None or attribute.gain is not None for attribute in asked)


def smallest_bound(count: int, rows: int) -> str | None:
    """The smallest bound, in tenths of a percent, of a value that so many rows hold; None where it would be all.

    >>> smallest_bound(549, 6002), smallest_bound(10, 100), smallest_bound(100, 100)
    ('9.2%', '10%', None)
    """
    smallest = -(-1000 * count // rows) / 10
    return f"{smallest:g}%" if smallest < 100 else None


def _refuse_surplus_of_bounded_values(
    table: Table, column: Column, policy: Policy, l: int, surplus: npt.NDArray[np.bool_]
) -> None:
    """Refuse to suppress rows for being of a value that `at_most` names."""
    counts, rows = column.counts, table.rows
    bounds = bounds_by_code(column, policy.columns[column.name])
    named = [code for code in bounds if surplus[code]]
    if not named:
        return
    above = [code for code in named if counts[code] > bounds[code] * rows]
    if not above and l > 1 and counts.max() * l > rows:
        raise Infeasible(_too_common(table, column, policy, l, rows))
    if not above:
        text = column.text(named[0])
        raise Infeasible(
            f"{column.name!r}: {text!r} may have at most {bounds[named[0]]} of any group, and has more of the rows "
            "that remain once surplus rows of other values are suppressed. Raise its bound, or lower l until no "
            "surplus has to be suppressed."
        )
    code = max(above, key=lambda one: (int(counts[one]) / bounds[one], -one))
    raise Infeasible(above_its_bound(column.name, column.text(code), int(counts[code]), rows, bounds[code]))


def above_its_bound(name: str, text: str, count: int, rows: int, bound: Fraction) -> str:
    """Why a value that so many of all rows hold cannot keep its bound, and what would work."""
    smallest = smallest_bound(count, rows)
    line = f"at_most: {{{json.dumps(text, ensure_ascii=False)}: {smallest}}}"
    instead = f"The smallest bound that works is {smallest}; set {line}, or do not publish the attribute."
    instead = "No bound works; do not publish it." if smallest is None else instead
    return (
        f"{name!r}: {text!r} fills {count:,} of {rows:,} rows ({count / rows:.1%}), and may have "
        f"at most {bound} of any group. {instead} "
        f"Suppressing the surplus is no way: every suppressed row would hold {text!r}."
    )


def _too_common(table: Table, column: Column, policy: Policy, l: int, suppressed: int) -> str:
    """Why an attribute cannot be l-diverse, and what would help."""
    counts, rows = column.counts, table.rows
    top = int(counts.argmax())
    value, most, best = column.text(top), int(counts[top]), largest_l(counts)
    reason = f"{column.name!r} cannot be {l}-diverse: {value!r} fills {most:,} of {rows:,} rows ({most / rows:.1%}). "
    if best >= l:
        reason = f"{column.name!r} cannot be {l}-diverse once another attribute's surplus is suppressed. "
        best = l - 1
    if best < 2:
        reason += "It is too skewed for any guarantee better than its own top frequency; do not publish it"
    else:
        reason += f"The largest l it allows is {best}; set l: {best}"
    allowed = allowing(suppressed, rows, policy)
    return reason + (f", or allow {allowed}." if allowed is not None else ".")


def require_allowance(
    suppressed: int, rows: int, policy: Policy, remedy: str = "lower l, or protect fewer attributes"
) -> None:
    """Refuse a plan that suppresses more rows than the policy allows."""
    if suppressed <= allowance(policy.publish.suppress, rows):
        return
    allowed = allowing(suppressed, rows, policy)
    raise Infeasible(
        f"{suppressed:,} of {rows:,} rows fit no group: every group that could take them holds the same people or "
        "values. " + (f"Allow {allowed}, {remedy}." if allowed is not None else f"{remedy[:1].upper()}{remedy[1:]}.")
    )


def require_sensitive(table: Table, method: str) -> None:
    """Grouping by sensitive values needs some, and rows are published by their quasi-identifiers."""
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
    """Rows are published by their quasi-identifiers, as they are or generalized."""
    if not table.quasi:
        raise Infeasible(
            f"{method} publishes rows by their quasi-identifiers and the policy names none. Give a column role: quasi, "
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
    """Where quasi-identifiers are published as they are, no k can be promised."""
    if policy.k is not None:
        raise Infeasible(
            f"{method} publishes quasi-identifiers as they are, so that k: {policy.k} cannot be promised. Remove k, or "
            "use method: sloms or bsgi, which generalize quasi-identifiers."
        )
