"""Mondrian as plain programs have it, and what a partition loses: to compare ours with.

A box is cut across its widest attribute, a number as a part of its range, a category as a part of its values. A number
is cut at its median, what is below it from the rest; a category between two halves of its values. Both sides must keep
every sensitive value at most 1/l of their rows, or the next attribute is tried; where none can be cut, it is a group.
"""

from __future__ import annotations

import numpy as np

from pluralis.policy.policy import Policy
from pluralis.table.encoding import Column, Table

Rows = np.ndarray


def plain_mondrian(table: Table, policy: Policy) -> list[Rows]:
    """The groups of a table of numbers and flat categories, none of them missing."""
    waiting, groups = [np.arange(table.rows)], []
    while waiting:
        rows = waiting.pop()
        for column in sorted(table.quasi, key=lambda column: -width(rows, column)):
            left, right = _sides(rows, column)
            if left.size and right.size and _diverse(left, table, policy) and _diverse(right, table, policy):
                waiting += [left, right]
                break
        else:
            groups.append(rows)
    return groups


def width(rows: Rows, column: Column) -> float:
    """What an attribute loses where rows are published together."""
    codes = column.codes[rows]
    if not column.is_number:
        different = np.unique(codes).size
        return different / column.size if different > 1 else 0.0
    values = column.numbers
    return float(np.ptp(values[codes]) / (values[-1] - values[0]))


def ncp(groups: list[Rows], table: Table) -> float:
    """The loss of a row and attribute, on average."""
    lost = sum(rows.size * sum(width(rows, column) for column in table.quasi) for rows in groups)
    return lost / table.rows / len(table.quasi)


def _sides(rows: Rows, column: Column) -> tuple[Rows, Rows]:
    codes = column.codes[rows]
    if column.is_number:
        numbers = column.numbers[codes]
        below = numbers < np.median(numbers)
    else:
        different = np.unique(codes)
        below = np.isin(codes, different[: different.size // 2])
    return rows[below], rows[~below]


def _diverse(rows: Rows, table: Table, policy: Policy) -> bool:
    return all(np.bincount(own.codes[rows]).max() * policy.l(own.name) <= rows.size for own in table.sensitive)
