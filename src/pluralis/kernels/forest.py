"""k-d trees over rows, for the row that a group loses least by taking.

Every node knows the box of its free rows, the first of them in the drawn order, and the sensitive values they hold
(in 64 bits). A node whose box cannot beat the best row found so far, or none of whose rows can hold values that may
join, is passed over, so the answer is the one a scan of all rows would give, equal losses going to the first in the
drawn order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.quickselect import quickselect
from pluralis.kernels.space import FLAT, NUMBER, bit, loss_with, tree_share

LEAF = 16
ROUNDING = 2.0**-22  # more than a number of at most 2 can move when it is stored in 32 bits
STACK = 4096  # nodes that a search can have waiting; see _cut
NOBODY = np.iinfo(np.int64).max


class Forest(NamedTuple):
    """One tree per root; the children of node i are `left[i]` and `left[i] + 1`, -1 where it is a leaf."""

    order: np.ndarray  # rows, those of a leaf together
    points: np.ndarray  # their points, in the same order
    begin: np.ndarray
    end: np.ndarray
    left: np.ndarray
    parent: np.ndarray
    ends: np.ndarray  # float32[node, tree or number, 2]: just below the lowest and just above the highest point
    seen: np.ndarray  # uint64[node, flat attribute]: mask of the codes
    values: np.ndarray  # mask of the sensitive values of free rows
    fields: np.ndarray  # uint64[sensitive attribute]: the bits of the mask that are its values
    first: np.ndarray  # the first free row in drawn order (rows are numbered in drawn order)
    leaf_of: np.ndarray


@njit(cache=True)
def _summarize_leaf(space, forest, value, node):
    """The box, the values and the first row of a leaf, from its free rows."""
    begin, end = forest.begin[node], forest.end[node]
    first, values = NOBODY, np.uint64(0)
    for position in range(begin, end):
        first = min(first, forest.order[position])
    for a in range(value.shape[0]):
        for position in range(begin, end):
            values |= bit(value[a, forest.order[position]])
    forest.first[node], forest.values[node] = first, values
    for j in range(space.flats):
        seen = np.uint64(0)
        for position in range(begin, end):
            seen |= bit(np.int64(forest.points[position, j]))
        forest.seen[node, j] = seen
    for j in range(space.flats, space.kinds.size):
        low, high = np.inf, -np.inf
        for position in range(begin, end):
            low, high = min(low, forest.points[position, j]), max(high, forest.points[position, j])
        margin = ROUNDING if j >= space.trees else 0.0
        forest.ends[node, j - space.flats, 0] = low - margin
        forest.ends[node, j - space.flats, 1] = high + margin


@njit(cache=True)
def _summarize_parent(space, forest, node):
    """The same for an inner node, from its children; whether its box changed."""
    left = forest.left[node]
    right = left + 1
    changed = False
    forest.first[node] = min(forest.first[left], forest.first[right])
    forest.values[node] = forest.values[left] | forest.values[right]
    for j in range(space.flats):
        seen = forest.seen[left, j] | forest.seen[right, j]
        changed |= seen != forest.seen[node, j]
        forest.seen[node, j] = seen
    for j in range(space.kinds.size - space.flats):
        low = min(forest.ends[left, j, 0], forest.ends[right, j, 0])
        high = max(forest.ends[left, j, 1], forest.ends[right, j, 1])
        changed |= low != forest.ends[node, j, 0] or high != forest.ends[node, j, 1]
        forest.ends[node, j, 0], forest.ends[node, j, 1] = low, high
    return changed


@njit(cache=True)
def _cut(space, order, keys, begin, end):
    """Split rows where they differ most: (the place of the cut), or -1 where all rows are equal.

    Numbers and leaves are cut in the middle. Codes are cut between two values, nearest to the middle: two rows of
    different code cost much more than two that lie on both sides of a number's median. Where that would leave less
    than one part in 128 on one side they are cut in the middle too, so that no tree is deeper than a search has room
    for (log n / log (128/127) levels, 2,300 for a thousand million rows).
    """
    best, widest = 0.0, -1
    for j in range(space.kinds.size):
        low, high, total, squares = np.inf, -np.inf, 0.0, 0.0
        for position in range(begin, end):
            x = space.points[order[position], j]
            low, high = min(low, x), max(high, x)
            total += x
            squares += x * x
        if low == high:
            continue
        if space.kinds[j] == FLAT:
            spread = 4 * space.unit[j]
        elif space.kinds[j] == NUMBER:
            mean = total / (end - begin)
            spread = space.unit[j] * 4 * np.sqrt(max(0.0, squares / (end - begin) - mean * mean))
        else:
            spread = space.unit[j] * tree_share(space, j, low, high)
        if spread > best:
            best, widest = spread, j
    middle = (begin + end) // 2
    if widest < 0:
        return middle
    for position in range(begin, end):
        keys[order[position]] = space.points[order[position], widest]
    quickselect(order, keys, begin, end, middle)
    if space.kinds[widest] != FLAT:
        return middle
    pivot = keys[order[middle]]
    below, equal = 0, 0
    for position in range(begin, end):
        below += keys[order[position]] < pivot
        equal += keys[order[position]] == pivot
    # cut before or after the rows that hold the middle value, whichever is nearer to the middle
    upto = (
        below if below > 0 and (begin + below + equal == end or middle - begin - below <= equal // 2) else below + equal
    )
    if 128 * min(upto, end - begin - upto) < end - begin:
        return middle
    after = upto > below
    place = begin
    for position in range(begin, end):
        if keys[order[position]] < pivot or (after and keys[order[position]] == pivot):
            order[position], order[place] = order[place], order[position]
            place += 1
    return place


@njit(cache=True)
def _grown(array):
    bigger = np.empty(2 * array.size, array.dtype)
    bigger[: array.size] = array
    return bigger


@njit(cache=True, nogil=True)
def plant(space, order, starts, value):
    """One tree over each run of rows in `order`; run i goes from starts[i] to starts[i+1], and its root is node i.

    `value` is a sensitive value of each row, or [attribute, row] for several, which then share no bits.
    """
    value = np.atleast_2d(value)
    rows = order.size
    used = starts.size - 1
    room = max(64, 2 * used + rows // LEAF)
    begin, end = np.empty(room, np.int64), np.empty(room, np.int64)
    left, parent = np.empty(room, np.int64), np.empty(room, np.int64)
    keys = np.empty(space.points.shape[0])
    for root in range(used):
        begin[root], end[root], parent[root] = starts[root], starts[root + 1], -1
    waiting = np.empty(STACK, np.int64)
    top = -1
    for root in range(used):
        top += 1
        waiting = _grown(waiting) if top == waiting.size else waiting
        waiting[top] = used - 1 - root
    while top >= 0:
        node = waiting[top]
        top -= 1
        left[node] = -1
        if end[node] - begin[node] > LEAF:
            middle = _cut(space, order, keys, begin[node], end[node])
            if used + 2 > begin.size:
                begin, end, left, parent = _grown(begin), _grown(end), _grown(left), _grown(parent)
            left[node] = used
            begin[used], end[used], parent[used] = begin[node], middle, node
            begin[used + 1], end[used + 1], parent[used + 1] = middle, end[node], node
            top += 2
            waiting = _grown(waiting) if top >= waiting.size else waiting
            waiting[top], waiting[top - 1] = used, used + 1
            used += 2
    attributes = space.kinds.size
    forest = Forest(
        order,
        space.points[order],
        begin[:used].copy(),
        end[:used].copy(),
        left[:used].copy(),
        parent[:used].copy(),
        np.empty((used, attributes - space.flats, 2), np.float32),
        np.empty((used, space.flats), np.uint64),
        np.empty(used, np.uint64),
        np.zeros(value.shape[0], np.uint64),
        np.empty(used, np.int64),
        np.empty(space.points.shape[0], np.int64),
    )
    for a in range(value.shape[0]):
        for row in order:
            forest.fields[a] |= bit(value[a, row])
    for node in range(used - 1, -1, -1):
        if left[node] < 0:
            for position in range(begin[node], end[node]):
                forest.leaf_of[order[position]] = node
            _summarize_leaf(space, forest, value, node)
        else:
            _summarize_parent(space, forest, node)
    return forest


@njit(cache=True)
def take(space, forest, value, row):
    """Mark a row as taken; boxes and values above it shrink."""
    value = np.atleast_2d(value)
    node = forest.leaf_of[row]
    position = forest.begin[node]
    while forest.order[position] != row:
        position += 1
    forest.end[node] -= 1
    last = forest.end[node]
    forest.order[position], forest.order[last] = forest.order[last], forest.order[position]
    for j in range(space.kinds.size):
        forest.points[position, j], forest.points[last, j] = forest.points[last, j], forest.points[position, j]
    _summarize_leaf(space, forest, value, node)
    changed = True
    node = forest.parent[node]
    while node >= 0:
        if changed:
            changed = _summarize_parent(space, forest, node)
        else:
            left = forest.left[node]
            forest.first[node] = min(forest.first[left], forest.first[left + 1])
            forest.values[node] = forest.values[left] | forest.values[left + 1]
        node = forest.parent[node]


@njit(cache=True)
def replace(forest, row, twin):
    """Put an equal row in the place of a taken one; only who is first changes."""
    node = forest.leaf_of[row]
    forest.leaf_of[twin] = node
    forest.first[node] = twin
    for position in range(forest.begin[node], forest.end[node]):
        if forest.order[position] == row:
            forest.order[position] = twin
        forest.first[node] = min(forest.first[node], forest.order[position])
    node = forest.parent[node]
    while node >= 0:
        left = forest.left[node]
        forest.first[node] = min(forest.first[left], forest.first[left + 1])
        node = forest.parent[node]


@njit(cache=True)
def least_loss(space, forest, node, box):
    """A bound: no row below `node` joins the box for less."""
    total = 0.0
    for j in range(space.kinds.size):
        if j < space.flats:
            count = box.distinct[j]
            if forest.seen[node, j] & box.seen[j] == 0:
                count += 1
            if count > 1:
                total += space.unit[j] * count
            continue
        low = min(box.low[j], forest.ends[node, j - space.flats, 1])
        high = max(box.high[j], forest.ends[node, j - space.flats, 0])
        if j >= space.trees:
            total += space.unit[j] * min(1.0, high - low)
        else:
            total += space.unit[j] * tree_share(space, j, low, high)
    return total


@njit(cache=True)
def allowed(rules, members, size, row):
    """Whether a row may join: it holds what is needed, no person twice, no sensitive value more often than its cap."""
    for a in range(rules.caps.size):
        if rules.needed[a] >= 0 and rules.sensitive[a, row] != rules.needed[a]:
            return False
    if rules.person.size > 0:
        for i in range(size):
            if rules.person[members[i]] == rules.person[row]:
                return False
    for a in range(rules.caps.size):
        count = 0
        for i in range(size):
            if rules.sensitive[a, members[i]] == rules.sensitive[a, row]:
                count += 1
        if count >= rules.caps[a]:
            return False
    return True


@njit(cache=True)
def _may_join(forest, node, open_values):
    """Whether a node holds an open value of every sensitive attribute, if not always in one row."""
    joinable = forest.values[node] & open_values
    for a in range(forest.fields.size):
        if joinable & forest.fields[a] == 0:
            return False
    return True


@njit(cache=True)
def nearest(space, forest, root, group, rules, room, best, best_row):
    """(loss, row) of the free row under `root` that joins the group with least loss, if it beats (best, best_row).

    `group` is (box, members, size, open), where `open` is a mask of the sensitive values that may still join;
    `room` holds two arrays to work in.
    """
    box, members, size, open_values = group
    stack, bounds = room
    top = 0
    stack[0] = root
    bounds[0] = least_loss(space, forest, root, box) if _may_join(forest, root, open_values) else np.inf
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        if bound > best or (bound == best and forest.first[node] > best_row):
            continue
        left = forest.left[node]
        if left < 0:
            for position in range(forest.begin[node], forest.end[node]):
                row = forest.order[position]
                loss = loss_with(space, box, members, size, forest.points, position)
                if (loss < best or (loss == best and row < best_row)) and allowed(rules, members, size, row):
                    best, best_row = loss, row
            continue
        near, far = left, left + 1
        a = least_loss(space, forest, near, box) if _may_join(forest, near, open_values) else np.inf
        b = least_loss(space, forest, far, box) if _may_join(forest, far, open_values) else np.inf
        if b < a or (b == a and forest.first[far] < forest.first[near]):
            near, far, a, b = far, near, b, a
        if b < np.inf and b <= best:
            top += 1
            stack[top] = far
            bounds[top] = b
        if a < np.inf and a <= best:
            top += 1
            stack[top] = near
            bounds[top] = a
    return best, best_row


@njit(cache=True)
def nearest_few(space, forest, root, group, rows, losses, room):
    """Fill `rows` with those that join (box, members, size, limit) with least loss below the limit, best first."""
    box, members, size, limit = group
    stack, bounds = room
    wanted = rows.size
    count = 0
    top = 0
    stack[0] = root
    bounds[0] = least_loss(space, forest, root, box)
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        if bound >= limit:
            continue
        left = forest.left[node]
        if left < 0:
            for position in range(forest.begin[node], forest.end[node]):
                loss = loss_with(space, box, members, size, forest.points, position)
                if loss >= limit:
                    continue
                i = count if count < wanted else wanted - 1
                while i > 0 and losses[i - 1] > loss:
                    losses[i] = losses[i - 1]
                    rows[i] = rows[i - 1]
                    i -= 1
                losses[i] = loss
                rows[i] = forest.order[position]
                count = min(count + 1, wanted)
                if count == wanted:
                    limit = losses[count - 1]
            continue
        near, far = left, left + 1
        a, b = least_loss(space, forest, near, box), least_loss(space, forest, far, box)
        if b < a:
            near, far, a, b = far, near, b, a
        if b < limit:
            top += 1
            stack[top] = far
            bounds[top] = b
        if a < limit:
            top += 1
            stack[top] = near
            bounds[top] = a
    return count
