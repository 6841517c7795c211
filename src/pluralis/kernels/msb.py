"""Multi-sensitive bucketization: groups of l rows that share no sensitive value, the fullest buckets first.

Rows are numbered in drawn order. A *bucket* is the rows that hold the same sensitive values; "a random row" of it is
its first waiting one. A bucket's priority is fixed while a group is made, and only falls from group to group. So a tree
over the buckets may remember priorities that are out of date: they are bounds. A node is passed over where its bound is
no better than what was found, or where all its buckets hold a value that the group has; what is looked at is
corrected. The bucket found is the one that a scan of all buckets would find.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

MBF, MSDCF, MMDCF = 0, 1, 2
LEAF = 8
MIXED = -1
NOBODY = -1
STACK = 512
STEPS_BACK = 16  # picks that may be taken back before a first bucket counts as barren
GROUPS, LEFT, FINISHED = 0, 1, 2
ANY, SEED = 0, 1


class SensitiveValues(NamedTuple):
    """What the rows hold; values of all attributes are numbered together."""

    values: np.ndarray  # int64[bucket, attribute]; buckets in order of their values
    bucket_of: np.ndarray  # int32[row]
    attribute_of: np.ndarray  # int64[value]
    ls: np.ndarray  # int64[attribute]
    size: int  # of a group when it is formed
    most: np.ndarray  # int64[attribute]: how many rows of one value a group may hold while it is formed
    person: np.ndarray  # int32[row], or empty


class Waiting(NamedTuple):
    """The rows without a group."""

    size: np.ndarray  # int64[bucket]
    capacity: np.ndarray  # int64[value]: the rows that hold it
    room: np.ndarray  # int64[attribute]: the rows of different enough values that a group could take
    head: np.ndarray  # int64[bucket]: its first waiting row
    link: np.ndarray  # int32[row]: the next waiting row of the bucket
    ranking: np.ndarray  # int64[value]: values of each attribute, the fullest first
    place: np.ndarray  # int64[value]: where a value stands in `ranking`
    begin: np.ndarray  # int64[attribute + 1]: where the values of an attribute begin, in `ranking` too
    barren: np.ndarray  # bool[bucket]: no group was found that begins with it


class Tree(NamedTuple):
    """Buckets begin to end are below a node; left[i] and left[i] + 1 stand below node i, -1 below a leaf."""

    begin: np.ndarray
    end: np.ndarray
    left: np.ndarray
    shared: np.ndarray  # int64[node, attribute]: the value that all buckets below hold, or MIXED
    largest: np.ndarray  # int64[node]: no bucket below has more rows
    bound: np.ndarray  # int64[ANY or SEED, node]: no bucket below has a higher priority
    first: np.ndarray  # int64[ANY or SEED, node]: no bucket below with that priority was drawn before this one
    drawn: np.ndarray  # int64[bucket]: its first row, which decides between equal priorities
    seen: np.ndarray  # int64[node]: room for the nodes that a search passed
    stack: np.ndarray  # int64[STACK]: room for those that it has yet to look at


def waiting_rows(sensitive: SensitiveValues) -> Waiting:
    """All rows, waiting."""
    buckets, attributes = sensitive.values.shape
    size = np.bincount(sensitive.bucket_of, minlength=buckets)
    capacity = np.zeros(sensitive.attribute_of.size, np.int64)
    for a in range(attributes):
        capacity += np.bincount(sensitive.values[:, a], weights=size, minlength=capacity.size).astype(np.int64)
    ranking = np.lexsort((-capacity, sensitive.attribute_of))
    place = np.empty_like(ranking)
    place[ranking] = np.arange(ranking.size)
    room = np.bincount(
        sensitive.attribute_of,
        weights=np.minimum(capacity, sensitive.most[sensitive.attribute_of]),
        minlength=attributes,
    )
    head, link = _chained(sensitive.bucket_of, buckets)
    return Waiting(
        size=size,
        capacity=capacity,
        room=room.astype(np.int64),
        head=head,
        link=link,
        ranking=ranking,
        place=place,
        begin=np.searchsorted(sensitive.attribute_of, np.arange(attributes + 1)),
        barren=np.zeros(buckets, np.bool_),
    )


@njit(cache=True)
def _chained(bucket_of, buckets):
    """The first row of each bucket, and the next row of each row's bucket."""
    head = np.full(buckets, NOBODY, np.int64)
    link = np.full(bucket_of.size, NOBODY, np.int32)
    for row in range(bucket_of.size - 1, -1, -1):
        link[row] = head[bucket_of[row]]
        head[bucket_of[row]] = row
    return head, link


@njit(cache=True)
def first_rows(bucket_of, buckets):
    """The first row of each bucket; one beyond all rows where it has none."""
    first = np.full(buckets, bucket_of.size, np.int64)
    for row in range(bucket_of.size - 1, -1, -1):
        first[bucket_of[row]] = row
    return first


@njit(cache=True)
def keep_first(bucket_of, most):
    """Which rows are among the first `most[b]` of their bucket b."""
    kept, seen = np.empty(bucket_of.size, np.bool_), np.zeros(most.size, np.int64)
    for row in range(bucket_of.size):
        bucket = bucket_of[row]
        kept[row] = seen[bucket] < most[bucket]
        seen[bucket] += 1
    return kept


# the tree ----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _cut(values, begin, end):
    """Where to cut buckets in two: between two values of the first attribute in which they differ, near the middle."""
    a = 0
    while values[begin, a] == values[end - 1, a]:
        a += 1
    low = high = (begin + end) // 2
    while low > begin and values[low - 1, a] == values[low, a]:
        low -= 1
    while high < end and values[high, a] == values[low, a]:
        high += 1
    middle = (begin + end) // 2
    if low == begin or (high < end and high - middle < middle - low):
        return high
    return low


@njit(cache=True)
def plant(sensitive, waiting, kind):
    """The tree over all buckets."""
    buckets, attributes = sensitive.values.shape
    most = 2 * buckets + 1
    begin, end, left = np.empty(most, np.int64), np.empty(most, np.int64), np.full(most, NOBODY, np.int64)
    begin[0], end[0] = 0, buckets
    used, node = 1, 0
    while node < used:
        if end[node] - begin[node] > LEAF:
            cut = _cut(sensitive.values, begin[node], end[node])
            left[node] = used
            begin[used], end[used] = begin[node], cut
            begin[used + 1], end[used + 1] = cut, end[node]
            used += 2
        node += 1
    tree = Tree(
        begin[:used].copy(),
        end[:used].copy(),
        left[:used].copy(),
        np.full((used, attributes), MIXED, np.int64),
        np.zeros(used, np.int64),
        np.zeros((2, used), np.int64),
        np.zeros((2, used), np.int64),
        waiting.head.copy(),
        np.empty(used, np.int64),
        np.empty(STACK, np.int64),
    )
    for node in range(used - 1, -1, -1):
        for a in range(attributes):
            value = sensitive.values[tree.begin[node], a]
            child = tree.left[node]
            if child >= 0:
                if tree.shared[child, a] == tree.shared[child + 1, a]:
                    tree.shared[node, a] = tree.shared[child, a]
            else:
                same = True
                for bucket in range(tree.begin[node], tree.end[node]):
                    same &= sensitive.values[bucket, a] == value
                tree.shared[node, a] = value if same else MIXED
        for what in (ANY, SEED):
            if tree.left[node] >= 0:
                _correct(tree, node, what)
            else:
                _correct_leaf(sensitive, waiting, tree, node, kind, what)
    return tree


@njit(cache=True)
def priority(sensitive, waiting, bucket, kind):
    """Equations 10 to 12: the size of a bucket, and the capacity of its values."""
    if kind == MBF:
        return waiting.size[bucket]
    top, total = 0, 0
    for a in range(sensitive.most.size):
        capacity = waiting.capacity[sensitive.values[bucket, a]]
        top = max(top, capacity)
        total += capacity
    return (top if kind == MSDCF else total) + waiting.size[bucket]


@njit(cache=True)
def _correct_leaf(sensitive, waiting, tree, node, kind, what):
    """What a leaf knows about its buckets: all of them, or those that may begin a group."""
    bound, first, largest = 0, 0, 0
    for bucket in range(tree.begin[node], tree.end[node]):
        if waiting.size[bucket] == 0:
            continue
        largest = max(largest, waiting.size[bucket])
        if what == SEED and waiting.barren[bucket]:
            continue
        score = priority(sensitive, waiting, bucket, kind)
        if score > bound or (score == bound and tree.drawn[bucket] < first):
            bound, first = score, tree.drawn[bucket]
    tree.largest[node], tree.bound[what, node], tree.first[what, node] = largest, bound, first


@njit(cache=True)
def _correct(tree, node, what):
    """What a node knows, from the two below it."""
    child = tree.left[node]
    better = child + _before(tree, what, child + 1, child)
    tree.largest[node] = max(tree.largest[child], tree.largest[child + 1])
    tree.bound[what, node], tree.first[what, node] = tree.bound[what, better], tree.first[what, better]


@njit(cache=True)
def _before(tree, what, one, other):
    """Whether what the first node promises is better."""
    if tree.bound[what, one] != tree.bound[what, other]:
        return tree.bound[what, one] > tree.bound[what, other]
    return tree.first[what, one] < tree.first[what, other]


@njit(cache=True)
def _closed(sensitive, counts, value):
    """Whether a group can take no further row that holds this value."""
    return counts[value] >= sensitive.most[sensitive.attribute_of[value]]


@njit(cache=True)
def _ceiling(waiting, tree, tops, node, kind):
    """Another bound: what the values that the buckets below share, and the fullest open ones, would give."""
    if kind == MBF:
        return tree.largest[node]
    top, total = 0, 0
    for a in range(tops.size):
        value = tree.shared[node, a]
        capacity = tops[a] if value == MIXED else min(tops[a], waiting.capacity[value])
        top = max(top, capacity)
        total += capacity
    return (top if kind == MSDCF else total) + tree.largest[node]


@njit(cache=True)
def _fitting(sensitive, waiting, counts, group, size, bucket):
    """The first waiting row of a bucket that may join the group, or NOBODY."""
    if waiting.size[bucket] == 0:
        return NOBODY
    for a in range(sensitive.most.size):
        if _closed(sensitive, counts, sensitive.values[bucket, a]):
            return NOBODY
    row = waiting.head[bucket]
    while row != NOBODY:
        known = False
        for i in range(size):
            known |= group[i] == row
            known |= sensitive.person.size > 0 and sensitive.person[group[i]] == sensitive.person[row]
        if not known:
            break
        row = waiting.link[row]
    return row


@njit(cache=True)
def best(sensitive, waiting, tree, counts, group, size, after, kind, what):
    """(priority, first row, bucket, row) of the best bucket that comes after the pair `after` and fits the group."""
    limit, beyond = after
    top_priority, top_drawn, best_bucket, best_row = 0, 0, NOBODY, NOBODY
    tops = np.empty(sensitive.most.size, np.int64)
    for a in range(tops.size):
        position = waiting.begin[a]
        while position < waiting.begin[a + 1] - 1 and _closed(sensitive, counts, waiting.ranking[position]):
            position += 1
        tops[a] = waiting.capacity[waiting.ranking[position]]
    stack, top, seen = tree.stack, 0, 0
    stack[0] = 0
    while top >= 0:
        node = stack[top]
        top -= 1
        bound = min(limit, tree.bound[what, node])
        if bound == 0 or bound < top_priority:
            continue
        if bound == top_priority and bound == tree.bound[what, node] and tree.first[what, node] >= top_drawn:
            continue
        closed = False
        for a in range(tops.size):
            value = tree.shared[node, a]
            closed |= value != MIXED and _closed(sensitive, counts, value)
        if closed or _ceiling(waiting, tree, tops, node, kind) < top_priority:
            continue
        child = tree.left[node]
        if child >= 0:
            tree.seen[seen] = node
            seen += 1
            near = child + _before(tree, what, child + 1, child)
            stack[top + 1] = 2 * child + 1 - near
            stack[top + 2] = near
            top += 2
            continue
        bound, first, largest = 0, 0, 0
        for bucket in range(tree.begin[node], tree.end[node]):
            largest = max(largest, waiting.size[bucket])
            if waiting.size[bucket] == 0 or (what == SEED and waiting.barren[bucket]):
                continue
            score, drawn = priority(sensitive, waiting, bucket, kind), tree.drawn[bucket]
            if score > bound or (score == bound and drawn < first):
                bound, first = score, drawn
            if score < top_priority or score > limit or (score == limit and drawn <= beyond):
                continue
            if score > top_priority or drawn < top_drawn:
                row = _fitting(sensitive, waiting, counts, group, size, bucket)
                if row != NOBODY:
                    top_priority, top_drawn, best_bucket, best_row = score, drawn, bucket, row
        tree.largest[node], tree.bound[what, node], tree.first[what, node] = largest, bound, first
    while seen > 0:
        seen -= 1
        _correct(tree, tree.seen[seen], what)
    return top_priority, top_drawn, best_bucket, best_row


# forming groups ----------------------------------------------------------------------------------------------------


@njit(cache=True)
def _leave(sensitive, waiting, row):
    """A row waits no longer."""
    bucket = sensitive.bucket_of[row]
    if waiting.head[bucket] == row:
        waiting.head[bucket] = waiting.link[row]
    else:
        before = waiting.head[bucket]
        while waiting.link[before] != row:
            before = waiting.link[before]
        waiting.link[before] = waiting.link[row]
    waiting.size[bucket] -= 1
    for a in range(sensitive.most.size):
        value = sensitive.values[bucket, a]
        _sink(waiting, value, a)
        waiting.room[a] -= waiting.capacity[value] < sensitive.most[a]


@njit(cache=True)
def _sink(waiting, value, a):
    """Take one from a capacity; the last value that was as full changes places with this one."""
    low, high = waiting.place[value], waiting.begin[a + 1]
    full = waiting.capacity[value]
    while high - low > 1:
        middle = (low + high) // 2
        if waiting.capacity[waiting.ranking[middle]] == full:
            low = middle
        else:
            high = middle
    other, place = waiting.ranking[low], waiting.place[value]
    waiting.ranking[low], waiting.ranking[place] = value, other
    waiting.place[value], waiting.place[other] = low, place
    waiting.capacity[value] -= 1


@njit(cache=True)
def _add_bucket(sensitive, counts, bucket, by):
    for a in range(sensitive.most.size):
        counts[sensitive.values[bucket, a]] += by


@njit(cache=True)
def _completed(sensitive, waiting, tree, counts, group, keys, kind):
    """Fill the group that begins with `group[0]`, the best fitting bucket each time; whether that was possible.

    Where no bucket fits, the last pick is taken back and the next best tried, STEPS_BACK times at most.
    """
    last = (np.iinfo(np.int64).max, NOBODY)
    size, steps, after = 1, 0, last
    while size < group.size:
        score, drawn, bucket, row = best(sensitive, waiting, tree, counts, group, size, after, kind, ANY)
        if bucket != NOBODY:
            group[size] = row
            keys[size] = score, drawn
            _add_bucket(sensitive, counts, bucket, 1)
            size += 1
            after = (score, drawn - 1)  # the same bucket may give again, where a group may hold its values twice
            continue
        size -= 1
        if size == 0:
            return False
        _add_bucket(sensitive, counts, sensitive.bucket_of[group[size]], -1)
        steps += 1
        if steps > STEPS_BACK:
            for i in range(1, size):
                _add_bucket(sensitive, counts, sensitive.bucket_of[group[i]], -1)
            return False
        after = (keys[size, 0], keys[size, 1])
    return True


@njit(cache=True)
def form_groups(sensitive, waiting, tree, groups, counts, counters, kind, until):
    """Make groups until there are `until` or no bucket can begin one; groups[g] are the rows of group g."""
    l = groups.shape[1]
    last = (np.iinfo(np.int64).max, NOBODY)
    keys = np.empty((l, 2), np.int64)
    while counters[GROUPS] < until and not counters[FINISHED]:
        if waiting.room.min() < l:  # no group can be made at all
            counters[FINISHED] = 1
            break
        group = groups[counters[GROUPS]]
        _, _, bucket, row = best(sensitive, waiting, tree, counts, group, 0, last, kind, SEED)
        if bucket == NOBODY:
            counters[FINISHED] = 1
            break
        group[0] = row
        _add_bucket(sensitive, counts, bucket, 1)
        done = _completed(sensitive, waiting, tree, counts, group, keys, kind)
        if not done:
            _add_bucket(sensitive, counts, bucket, -1)
            waiting.barren[bucket] = True
            continue
        for i in range(l):
            _add_bucket(sensitive, counts, sensitive.bucket_of[group[i]], -1)
            _leave(sensitive, waiting, group[i])
        counters[GROUPS] += 1
        counters[LEFT] -= l


@njit(cache=True)
def enter(group_of, rows, formed, number):
    """Rows of which `formed` names the places get groups, numbered from `number` on."""
    for group in range(formed.shape[0]):
        for place in formed[group]:
            group_of[rows[place]] = number + group
