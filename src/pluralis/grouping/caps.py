"""Caps: the largest share that each value of an attribute may have in a group; l, `at_most` and `gain` are all caps.

    l          1/l for every value
    at_most    the share that the policy gives a named value
    gain       so many times the share of the value among the published rows

The least of them holds; a value whose cap would reach 1 has none. Methods that form groups of s different values keep
caps by pretending that a value is several:

Theorem. Let value v have the cap cap_v, let s be a group size with k_v = floor(s cap_v) >= 1 for every v, and let the
rows of v be split into k_v pseudo-values. If no pseudo-value fills more than 1/s of a group of n rows, then v, which is
k_v of them, has at most k_v n/s <= cap_v n rows of it. So s-diversity by frequency over pseudo-values keeps every cap.

The rows of a value are dealt to its pseudo-values evenly and in drawn order: which of them is where depends on nothing
that a row holds, so that rows of one value stay exchangeable, and a method that treats rows of a pseudo-value alike
treats those of a value alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import fixed_caps, require_eligible
from pluralis.grouping.plan import SUPPRESSED
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Counts = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]


def caps_of(column: Column, policy: Policy, counts: Counts, l: int | None = None) -> list[Fraction]:
    """The largest share that each code may have in a group of a table in which so many rows hold each.

    `l` is that of the policy, if it is not given.

    >>> column = Column("ill", "sensitive", "text", np.zeros(1, np.int32), ("No", "Yes"))
    >>> policy = Policy(sensitive={"ill": {"at_most": {"Yes": "1/4"}, "gain": 3}})
    >>> [str(cap) for cap in caps_of(column, policy, np.array([95, 5]))]
    ['1', '3/20']
    """
    caps = fixed_caps(column, policy, l)
    gain = policy.columns[column.name].gain
    if gain is not None:
        rows, times = int(counts.sum()), Fraction(str(gain))
        caps = [
            min(cap, times * count / rows) if count else cap for cap, count in zip(caps, counts.tolist(), strict=True)
        ]
    return caps


def pseudo_values_of(caps: Sequence[Fraction], counts: Counts, least: int = 1) -> tuple[int, list[int]] | None:
    """The smallest group size s that is eligible, and k_v, how many pseudo-values each value then is.

    Eligible: every value that occurs has k_v >= 1, and no pseudo-value holds more than 1/s of the rows. A group of all
    rows is, if any is: where none is, the table itself does not keep the caps.

    >>> pseudo_values_of([Fraction(1), Fraction(1, 4)], np.array([91, 9]))
    (4, [4, 1])
    >>> pseudo_values_of([Fraction(1), Fraction(1, 4)], np.array([7, 3])) is None
    True
    """
    rows = int(counts.sum())
    present: list[int] = np.flatnonzero(counts).tolist()
    if not rows or any(int(counts[code]) > caps[code] * rows for code in present):
        return None
    numerators, denominators = [caps[code].numerator for code in present], [caps[code].denominator for code in present]
    exact: Any = np.int64 if max(numerators) * rows < 2**62 and max(denominators) < 2**62 else object
    tops, bottoms, sizes = (np.array(part, exact) for part in (numerators, denominators, counts[present].tolist()))
    smallest = max(least, *(ceil(1 / caps[code]) for code in present))
    for s in range(smallest, rows + 1):
        k = np.minimum(s * tops // bottoms, s)
        if (-(-sizes // k) * s <= rows).all():
            parts = [1] * counts.size
            for code, number in zip(present, k.tolist(), strict=True):
                parts[code] = int(number)
            return s, parts
    return None


class Reduction(NamedTuple):
    """A table in which capped attributes hold pseudo-values, and a policy that asks for nothing but l of them.

    `rows` are those of the whole table that it holds.
    """

    table: Table
    policy: Policy
    rows: Rows


def is_capped(policy: Policy, name: str) -> bool:
    """Whether values of an attribute have caps beside 1/l."""
    attribute = policy.columns[name]
    return attribute.at_most is not None or attribute.gain is not None


def require_bounds_among_suppressed(table: Table, policy: Policy, group_of: Rows) -> None:
    """Refuse a plan in whose suppressed rows a value is likelier than `at_most` or `gain` lets it be.

    Whoever knows that a person is in the table and finds no row of theirs knows that theirs was suppressed. So the
    rows that are, whatever for, are held to the bounds of a group: together, for nobody can tell one from another.
    """
    gone = group_of == SUPPRESSED
    if not gone.any():
        return
    for column in table.sensitive:
        if not is_capped(policy, column.name):
            continue
        published = np.bincount(column.codes[~gone], minlength=column.size).astype(np.int64)
        suppressed = np.bincount(column.codes[gone], minlength=column.size)
        caps = caps_of(column, policy, published, 1)
        if policy.columns[column.name].gain is not None:  # so many times nothing, of a value that is not published
            caps = [cap if count else Fraction(0) for cap, count in zip(caps, published.tolist(), strict=True)]
        total = int(gone.sum())
        above = [code for code in np.flatnonzero(suppressed).tolist() if int(suppressed[code]) > caps[code] * total]
        if above:
            raise Infeasible(_why_not_suppressed(column, policy, above[0], int(suppressed[above[0]]), total))


def _why_not_suppressed(column: Column, policy: Policy, code: int, number: int, total: int) -> str:
    asked = policy.columns[column.name].asked_in_words(1)
    rows = f"{total:,} rows" if total > 1 else "1 row"
    return (
        f"{column.name!r}: {rows} would be suppressed, of which {number:,} hold {column.text(code)!r}, more than its "
        f"bound allows ({asked}): whoever finds no row of a person could guess it. Raise the bound, set suppress: 0, "
        "or use method: mondrian."
    )


def reduced(table: Table, policy: Policy, draw: Draw) -> Reduction:
    """The table that a method for l different values can take as it is; the same one where l is all that is asked.

    Where there are caps it holds the rows that can be published: all, or, within the policy's allowance, all but a
    drawn surplus of values that are too common. Groups that are l-diverse in it keep the caps.
    """
    capped = [column.name for column in table.sensitive if is_capped(policy, column.name)]
    if not capped:
        return Reduction(table, policy, np.arange(table.rows))
    kept = require_eligible(table, policy, draw)
    columns = {name: replace(column, codes=column.codes[kept]) for name, column in table.columns.items()}
    ls = {}
    for name in capped:
        columns[name], ls[name] = _with_pseudo_values(columns[name], policy, draw)
    person = None if table.person is None else table.person[kept]
    small = replace(table, columns=columns, rows=kept.size, person=person)
    return Reduction(small, policy.with_l_alone(ls), kept)


def _with_pseudo_values(column: Column, policy: Policy, draw: Draw) -> tuple[Column, int]:
    """The column with each value split into pseudo-values, and of how many different ones a group must be."""
    counts = column.counts
    attribute = policy.columns[column.name]
    chosen = pseudo_values_of(caps_of(column, policy, counts), counts, policy.k or 1)
    if chosen is None:
        raise Infeasible(
            f"{column.name!r}: the {counts.sum():,} rows that can be published are too few for groups that keep "
            f"{attribute.asked_in_words(policy.l(column.name))}. Raise the bound, or publish more rows."
        )
    s, parts = chosen
    first = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
    turn = np.empty(column.codes.size, np.int64)
    order = draw.permutation(column.codes.size, f"pseudo-values {column.name}")
    order = order[np.argsort(column.codes[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)])
    turn[order] = np.arange(order.size) - np.repeat(starts[:-1], counts)
    pseudo = first[column.codes] + turn % np.asarray(parts)[column.codes]
    names = tuple(f"{column.text(code)} {i}" for code, number in enumerate(parts) for i in range(number))
    changed = replace(column, codes=pseudo.astype(np.int32), values=names, type="text", has_missing=False)
    return changed, s
