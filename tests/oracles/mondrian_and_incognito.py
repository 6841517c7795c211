"""Slow, literal versions of Mondrian and Incognito, and of the tests that a group must pass: the oracles.

Nothing here uses a kernel. Rows are Python lists, groups are recursion, a lattice is tried node by node.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import log
from statistics import median

from pluralis.kernels.mondrian import PART, TRIES
from pluralis.policy.policy import Policy
from pluralis.table.encoding import Column, Table

# the definitions ----------------------------------------------------------------------------------------------


def is_diverse(values, model, l, c=None):
    """One sensitive attribute of one group, straight from the definitions."""
    counts = sorted(Counter(values).values(), reverse=True)
    size = len(values)
    if model == "frequency":
        return all(Fraction(count, size) <= Fraction(1, l) for count in counts)
    if model == "distinct":
        return len(counts) >= l
    if model == "entropy":
        return -sum(count / size * log(count / size) for count in counts) >= log(l) - 1e-9
    if model == "recursive":
        return counts[0] < c * sum(counts[l - 1 :])
    assert model == "unique-distinct"
    return counts[0] == 1 and len(counts) in (l, l + 1)


def passes(rows, table: Table, policy: Policy, splitting=False):
    """Whether rows may be a group."""
    if len(rows) < (policy.k or 1):
        return False
    for column in table.sensitive:
        attribute = policy.columns[column.name]
        model = "distinct" if splitting and attribute.model == "unique-distinct" else attribute.model
        if not is_diverse([int(column.codes[row]) for row in rows], model, policy.l(column.name), attribute.c):
            return False
    return True


# Mondrian -----------------------------------------------------------------------------------------------------


def mondrian(table: Table, policy: Policy, relaxed=False, elsewhere=True):
    """The groups, as a set of sets of rows: cut at medians, then, if wanted, elsewhere."""
    columns = sorted(table.quasi, key=_kind)  # flat, tree, number: the order in which equal widths are tried
    return set(_cut(list(range(table.rows)), columns, table, policy, relaxed, elsewhere))


def _cut(rows, columns, table, policy, relaxed, elsewhere):
    widths = [_width(rows, column) for column in columns]
    widest_first = [j for j in sorted(range(len(columns)), key=lambda j: (-widths[j], j)) if widths[j] > 0]
    cuts = [cut for j in widest_first for cut in _sides(rows, columns[j], relaxed)]
    if elsewhere:
        cuts += [cut for j in widest_first for cut in _other_sides(rows, columns[j], table, policy)]
    for left, right in cuts:
        if left and right and passes(left, table, policy, True) and passes(right, table, policy, True):
            yield from _cut(left, columns, table, policy, relaxed, elsewhere)
            yield from _cut(right, columns, table, policy, relaxed, elsewhere)
            return
    yield frozenset(rows)


def _kind(column: Column):
    return 1 if column.hierarchy is not None else 2 if column.is_number else 0


def _width(rows, column: Column):
    """The loss of an attribute if the rows are published together."""
    codes = {int(column.codes[row]) for row in rows}
    if len(codes) == 1:
        return 0.0
    if column.hierarchy is not None:
        leaf, level = _ancestor(codes, column)
        return column.weight * float(column.hierarchy.share[leaf, level])
    if not column.is_number:
        return column.weight / column.size * len(codes)
    values = column.values
    if column.has_missing and len(values) in codes:
        return column.weight
    places = [(values[code] - values[0]) / (values[-1] - values[0]) for code in codes]
    return column.weight * (max(places) - min(places))


def _ancestor(codes, column: Column):
    """A leaf, and the level at which all the codes have one ancestor."""
    leaves = [int(column.leaf_of[code]) for code in codes]
    level = 0
    while len({column.hierarchy.labels[level][leaf] for leaf in leaves}) > 1:
        level += 1
    return leaves[0], level


def _keys(rows, column: Column):
    """What the rows are cut by."""
    codes = {row: int(column.codes[row]) for row in rows}
    if column.hierarchy is not None:
        _, level = _ancestor(set(codes.values()), column)
        children = list(dict.fromkeys(column.hierarchy.labels[level - 1]))  # in leaf order
        return {row: children.index(column.hierarchy.labels[level - 1][column.leaf_of[codes[row]]]) for row in rows}
    if column.is_number and column.has_missing:
        return {row: -1 if codes[row] == len(column.values) else codes[row] for row in rows}
    return codes


def _other_sides(rows, column: Column, table, policy):
    """Cuts between any two values, or TRIES of them, the most even first; a side has one row in PART or more."""
    key = _keys(rows, column)
    least = max([policy.k or 1, -(-len(rows) // PART), *(policy.l(one.name) for one in table.sensitive)])
    ends = [sum(key[row] < value for row in rows) for value in sorted(set(key.values()))]
    ends = [end for end in ends if end > 0 and least <= end <= len(rows) - least]
    kept = min(len(ends), TRIES)
    ends = [ends[i * len(ends) // kept] for i in range(kept)]
    for end in sorted(ends, key=lambda end: (abs(2 * end - len(rows)), end)):
        limit = sorted(key.values())[end]
        yield [row for row in rows if key[row] < limit], [row for row in rows if key[row] >= limit]


def _sides(rows, column: Column, relaxed):
    """The cuts at the median to try, in order; rows stay in table order on both sides."""
    key = _keys(rows, column)
    median = sorted(key.values())[len(rows) // 2]
    below = [row for row in rows if key[row] < median]
    on = [row for row in rows if key[row] == median]
    above = [row for row in rows if key[row] > median]
    if relaxed:
        take = len(rows) // 2 - len(below)
        marks = [(i + 1) * take // len(on) > i * take // len(on) for i in range(len(on))]
        left = below + [row for row, mark in zip(on, marks, strict=True) if mark]
        right = above + [row for row, mark in zip(on, marks, strict=True) if not mark]
        yield sorted(left), sorted(right)
    before, after = (below, sorted(on + above)), (sorted(below + on), above)
    middle = Fraction(len(rows), 2)
    if middle - len(before[0]) <= len(after[0]) - middle:
        yield from (before, after)
    else:
        yield from (after, before)


def plain_mondrian(columns, numbers, sensitive, l):
    """The NCP of Mondrian as public libraries write it, with the test 1/l, and nothing of this one.

    The attribute of the widest normalized range first; a number is cut below its median, a category into the halves
    of its values in their order of appearance; the next attribute where a side fails.
    """
    names = [*columns]
    extent = {n: max(columns[n]) - min(columns[n]) if n in numbers else len({*columns[n]}) for n in names}

    def width(rows, name):
        values = [columns[name][row] for row in rows]
        if name in numbers:
            return (max(values) - min(values)) / extent[name]
        return len({*values}) / extent[name] if len({*values}) > 1 else 0.0

    def fine(rows):
        return bool(rows) and max(Counter(sensitive[row] for row in rows).values()) * l <= len(rows)

    loss, todo = 0.0, [list(range(len(sensitive)))]
    while todo:
        rows = todo.pop()
        widths = {name: width(rows, name) for name in names}
        for name in sorted(names, key=lambda name: -widths[name]):
            if widths[name] == 0:
                continue
            if name in numbers:
                middle = median(columns[name][row] for row in rows)
                low = {value for value in {columns[name][row] for row in rows} if value < middle}
            else:
                values = list(dict.fromkeys(columns[name][row] for row in rows))
                low = {*values[: len(values) // 2]}
            left = [row for row in rows if columns[name][row] in low]
            right = [row for row in rows if columns[name][row] not in low]
            if fine(left) and fine(right):
                todo += [left, right]
                break
        else:
            loss += len(rows) * sum(widths.values())
    return loss / len(sensitive) / len(names)


# Incognito ----------------------------------------------------------------------------------------------------


def incognito(table: Table, policy: Policy, hierarchies):
    """(the least loss of any satisfying node, the nodes that have it); `hierarchies[name]` is (tree, leaf_of)."""
    columns = table.quasi
    best, nodes = None, []
    for node in product(*(range(hierarchies[column.name][0].depth) for column in columns)):
        classes = classes_at(table, hierarchies, node)
        if not all(passes(rows, table, policy, True) for rows in classes):
            continue
        loss = loss_at(table, hierarchies, node)
        if best is None or loss < best - 1e-12:
            best, nodes = loss, []
        if loss <= best + 1e-12:
            nodes.append(node)
    return best, nodes


def classes_at(table: Table, hierarchies, node):
    """Rows that carry the same labels."""
    classes = {}
    for row in range(table.rows):
        labels = tuple(
            hierarchies[column.name][0].labels[level][hierarchies[column.name][1][column.codes[row]]]
            for column, level in zip(table.quasi, node, strict=True)
        )
        classes.setdefault(labels, []).append(row)
    return list(classes.values())


def loss_at(table: Table, hierarchies, node):
    """The weighted mean share of a row."""
    total = 0.0
    for column, level in zip(table.quasi, node, strict=True):
        tree, leaf_of = hierarchies[column.name]
        total += column.weight * sum(tree.share[leaf_of[code], level] for code in column.codes) / table.rows
    return total / sum(column.weight for column in table.quasi)
