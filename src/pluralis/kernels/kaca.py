"""Merging classes of equal rows with their nearest, until every class passes a test (KACA).

A *point* is a combination of quasi-identifiers that some row holds; at first every point is a class. A class lies at
one level of each attribute's tree: that of the lowest node that covers its points. Costs are whole numbers, so that
equal distances are equal. A class has the number of its first point in drawn order.

The nearest class is found with a tree over the points, in which every class is found at its first point only. A node
knows the box of those points, how far up their classes are and how small they may be, apart for classes of one point.
What it would cost at least to merge with any of them is a bound: a class covers its first point.

There are as many points as rows, so numbers are as narrow as they can be, and the leaves of a point stand packed in as
few words as hold them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.models import diverse, within
from pluralis.kernels.quickselect import quickselect

LEAF = 32
NONE = -1
STACK = 1024
FAR = np.iinfo(np.int64).max
NEVER = np.iinfo(np.int32).max  # no class is as large, and none is drawn as late
SINGLE, MERGED = 0, 1
LOW, HIGH = 0, 1


class Climb(NamedTuple):
    """Points, the trees over their attributes, and what it costs to climb them."""

    points: np.ndarray  # int64[point, word]: leaves, packed
    drawn: np.ndarray  # int32[point]: its place in the drawn order
    word: np.ndarray  # int64[attribute]: the word that has its leaf
    shift: np.ndarray  # int64[attribute]: and where it begins there
    mask: np.ndarray  # int64[attribute]: the bits of a leaf
    first: np.ndarray  # int64[attribute]: where its leaves begin in `parent`
    parent: np.ndarray  # int32[leaf of any attribute]: its place in `upper`
    upper: np.ndarray  # int32[parent, level - 1]: it and its ancestors, numbered in leaf order within a level
    cost: np.ndarray  # int64[attribute, level]: from the leaves up to a level


class GrowingClasses(NamedTuple):
    """Classes under construction, each under the number of its first point."""

    size: np.ndarray  # int32[class]: rows; 0 once it is in another
    level: np.ndarray  # int8[class, attribute], or int16 where a tree has more levels
    link: np.ndarray  # int32[point]: the next of its class; from the first the last, from that the second (`_after`)


class Tree(NamedTuple):
    """Node i is over the points begin[i] to end[i]; left[i] and left[i] + 1 stand below it, NONE below a leaf."""

    begin: np.ndarray  # int32[node], as the next three
    end: np.ndarray
    left: np.ndarray
    parent: np.ndarray
    cut: np.ndarray  # int16[node]: the attribute in which it was cut from the one beside it
    box: np.ndarray  # int64[node, LOW or HIGH, word]: the leaves that the box of its points begins and ends with
    first: np.ndarray  # int32[node]: no class was drawn before this
    least: np.ndarray  # int32[node, SINGLE or MERGED]: no class is smaller; NEVER where there is none
    rungs: np.ndarray  # as levels[node, LOW or HIGH, attribute]: no merged class lies lower, none higher
    stack: np.ndarray
    bounds: np.ndarray


class Growing(NamedTuple):
    """The class that is being merged: how often it holds each sensitive value and each person."""

    counts: np.ndarray  # int64[attribute, value]
    codes: np.ndarray  # int64[attribute, value]: the values it holds
    used: np.ndarray  # int64[attribute]: how many
    people: np.ndarray  # int64[person]


def classes_of(climb, size):
    """Every point a class."""
    count, (attributes, depth) = climb.drawn.size, climb.cost.shape
    return GrowingClasses(
        size=size,
        level=_levels((count, attributes), depth),
        link=np.arange(count, dtype=np.int32),
    )


def _levels(shape, depth):
    """Room for levels of trees with so many, all of them 0."""
    return np.zeros(shape, np.int8 if depth <= np.iinfo(np.int8).max else np.int16)


def growing_for(models):
    """Room for one class."""
    attributes = models.ls.size
    values = int(models.sensitive.max(initial=0)) + 1
    return Growing(
        counts=np.zeros((attributes, values), np.int64),
        codes=np.empty((attributes, values), np.int64),
        used=np.zeros(attributes, np.int64),
        people=np.zeros(int(models.person.max(initial=0)) + 1, np.int64),
    )


# points ------------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _leaf(climb, words, j):
    """The leaf of an attribute that stands packed in words."""
    return (words[climb.word[j]] >> climb.shift[j]) & climb.mask[j]


@njit(cache=True)
def _node(climb, j, leaf, level):
    """The ancestor of a leaf at a level."""
    return leaf if level == 0 else np.int64(climb.upper[climb.parent[climb.first[j] + leaf], level - 1])


@njit(cache=True)
def _meet(climb, j, a, b, level):
    """The lowest level from `level` up at which two leaves have the same ancestor."""
    if a == b:
        return level
    one, other = climb.parent[climb.first[j] + a], climb.parent[climb.first[j] + b]
    level = max(level, 1)
    while climb.upper[one, level - 1] != climb.upper[other, level - 1]:
        level += 1
    return level


# the tree ----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _measure(climb, points, box):
    """The box of some points."""
    box[:] = 0
    for j in range(climb.word.size):
        low = high = _leaf(climb, climb.points[points[0]], j)
        for point in points:
            leaf = _leaf(climb, climb.points[point], j)
            low, high = min(low, leaf), max(high, leaf)
        _put(climb, box, j, low, high)


@njit(cache=True)
def _put(climb, box, j, low, high):
    """The leaves of an attribute that a box begins and ends with."""
    box[LOW, climb.word[j]] |= low << climb.shift[j]
    box[HIGH, climb.word[j]] |= high << climb.shift[j]


@njit(cache=True)
def _cut(climb, points, box, keys, places):
    """Put points in two parts, between two children of the widest attribute's common ancestor.

    Returns how many come first, and the attribute.
    """
    widest, best, level = 0, np.int64(-1), 0
    for j in range(climb.word.size):
        low, high = _leaf(climb, box[LOW], j), _leaf(climb, box[HIGH], j)
        if low < high:
            meet = _meet(climb, j, low, high, 0)
            if climb.cost[j, meet] > best:
                widest, best, level = j, climb.cost[j, meet], meet
    size = points.size
    for i in range(size):
        keys[i] = _node(climb, widest, _leaf(climb, climb.points[points[i]], widest), level - 1)
        places[i] = i
    quickselect(places, keys, 0, size, size // 2)
    middle = keys[places[size // 2]]
    below, equal = 0, 0
    for i in range(size):
        below += keys[i] < middle
        equal += keys[i] == middle
    if below == 0 or (below + equal < size and size - 2 * below > 2 * (below + equal) - size):
        middle += 1
    low, high = 0, size - 1
    places[:size] = points
    for i in range(size):
        if keys[i] < middle:
            points[low] = places[i]
            low += 1
        else:
            points[high] = places[i]
            high -= 1
    return low, widest


def plant(climb):
    """A tree over all points, and the order in which points must be numbered for it; `survey` fills its nodes."""
    *nodes, order = _grown(climb, LEAF)
    count, words = nodes[0].size, climb.points.shape[1]
    attributes, depth = climb.cost.shape
    tree = Tree(
        *nodes,
        box=np.empty((count, 2, words), np.int64),
        first=np.full(count, NEVER, np.int32),
        least=np.full((count, 2), NEVER, np.int32),
        rungs=_levels((count, 2, attributes), depth),
        stack=np.empty(STACK, np.int64),
        bounds=np.empty(STACK, np.int64),
    )
    return tree, order


@njit(cache=True)
def _grown(climb, most_points):
    """(begin, end, left, parent and cut of each node, the order of the points); a leaf has so many at most."""
    count, words = climb.points.shape
    order = np.arange(count).astype(np.int32)
    most = 2 * count
    begin, end = np.empty(most, np.int32), np.empty(most, np.int32)
    left, parent, by = np.empty(most, np.int32), np.empty(most, np.int32), np.zeros(most, np.int16)
    keys, places, box = np.empty(count, np.int32), np.empty(count, np.int32), np.empty((2, words), np.int64)
    begin[0], end[0], parent[0] = 0, count, NONE
    used, top, stack = 1, 0, np.zeros(STACK, np.int64)
    while top >= 0:  # nodes near each other in the tree get near numbers
        node = stack[top]
        top -= 1
        left[node] = NONE
        points = order[begin[node] : end[node]]
        if points.size > most_points:
            _measure(climb, points, box)
            cut, attribute = _cut(climb, points, box, keys, places)
            cut += begin[node]
            by[used], by[used + 1] = attribute, attribute
            left[node] = used
            begin[used], end[used], parent[used] = begin[node], cut, node
            begin[used + 1], end[used + 1], parent[used + 1] = cut, end[node], node
            stack[top + 1], stack[top + 2] = used + 1, used
            used += 2
            top += 2
    return begin[:used].copy(), end[:used].copy(), left[:used].copy(), parent[:used].copy(), by[:used].copy(), order


@njit(cache=True)
def survey(climb, classes, tree):
    """Let every node know its box and the classes below it."""
    for node in range(tree.left.size - 1, -1, -1):
        left = tree.left[node]
        if left == NONE:
            _measure(climb, np.arange(tree.begin[node], tree.end[node]), tree.box[node])
        else:
            tree.box[node] = 0
            for j in range(climb.word.size):
                low = min(_leaf(climb, tree.box[left, LOW], j), _leaf(climb, tree.box[left + 1, LOW], j))
                high = max(_leaf(climb, tree.box[left, HIGH], j), _leaf(climb, tree.box[left + 1, HIGH], j))
                _put(climb, tree.box[node], j, low, high)
        _summarize(climb, tree, classes, node)


@njit(cache=True)
def _above(tree, point):
    """The leaf of the tree that a point is below."""
    node = 0
    while tree.left[node] != NONE:
        left = tree.left[node]
        node = left + (point >= tree.begin[left + 1])
    return node


@njit(cache=True)
def _stands(classes, group):
    """Whether a class is one still, and not in another."""
    return classes.size[group] > 0


@njit(cache=True)
def _alone(classes, group):
    """Whether a class has one point."""
    return classes.link[group] == group


@njit(cache=True)
def _after(classes, group, point):
    """The point of a class that comes after another one; NONE after the last."""
    last = classes.link[group]
    if point == last:
        return NONE
    return np.int64(classes.link[last if point == group else point])


@njit(cache=True)
def _append(classes, one, other):
    """Let the points of another class come after those of the first."""
    link = classes.link
    last, end = link[one], link[other]
    second = other if _alone(classes, one) else link[last]
    link[last] = other
    link[other], link[end] = link[end], second
    link[one] = end


@njit(cache=True)
def _summarize(climb, tree, classes, node):
    """What a node knows of the classes that begin below it; whether those above it must know.

    They need not know that the first class is another, later one: searches that pass by will see it.
    """
    left = tree.left[node]
    single, merged, first = NEVER, NEVER, NEVER
    if left != NONE:
        for child in range(left, left + 2):
            single, merged = min(single, tree.least[child, SINGLE]), min(merged, tree.least[child, MERGED])
            first = min(first, tree.first[child])
    else:
        for group in range(tree.begin[node], tree.end[node]):
            if _stands(classes, group):
                first = min(first, climb.drawn[group])
                if _alone(classes, group):
                    single = min(single, classes.size[group])
                else:
                    merged = min(merged, classes.size[group])
    changed = first < tree.first[node] or single != tree.least[node, SINGLE] or merged != tree.least[node, MERGED]
    tree.first[node], tree.least[node, SINGLE], tree.least[node, MERGED] = first, single, merged
    if merged == NEVER:
        return changed
    for j in range(tree.rungs.shape[2]):
        bottom, top = climb.cost.shape[1], 0
        if left != NONE:
            for child in range(left, left + 2):
                if tree.least[child, MERGED] != NEVER:
                    bottom, top = min(bottom, tree.rungs[child, LOW, j]), max(top, tree.rungs[child, HIGH, j])
        else:
            for group in range(tree.begin[node], tree.end[node]):
                if _stands(classes, group) and not _alone(classes, group):
                    bottom, top = min(bottom, classes.level[group, j]), max(top, classes.level[group, j])
        changed |= bottom != tree.rungs[node, LOW, j] or top != tree.rungs[node, HIGH, j]
        tree.rungs[node, LOW, j], tree.rungs[node, HIGH, j] = bottom, top
    return changed


@njit(cache=True)
def _update_nodes_above(climb, tree, classes, group):
    """Let the nodes above a class know what it has become."""
    node = _above(tree, group)
    while node != NONE and _summarize(climb, tree, classes, node):
        node = tree.parent[node]


# the nearest class -------------------------------------------------------------------------------------------------


@njit(cache=True)
def _bound(climb, classes, tree, group, node, best):
    """No class that begins below a node is nearer than this; FAR where that is beyond `best`."""
    size, singles, others = classes.size[group], tree.least[node, SINGLE], tree.least[node, MERGED]
    if singles == NEVER and others == NEVER:
        return FAR
    single, merged = np.int64(0), np.int64(0)
    attributes = climb.cost.shape[0]
    j = tree.cut[node]  # where a node differs from the one beside it, most can be seen
    for _ in range(attributes):
        level, leaf = np.int64(classes.level[group, j]), _leaf(climb, climb.points[group], j)
        low, high = _leaf(climb, tree.box[node, LOW], j), _leaf(climb, tree.box[node, HIGH], j)
        meet = level
        if leaf < low:  # where both have the same ancestor at this level already, they meet there
            meet = _meet(climb, j, leaf, low, level)
        elif leaf > high:
            meet = _meet(climb, j, leaf, high, level)
        if singles != NEVER:
            single += size * (climb.cost[j, meet] - climb.cost[j, level]) + singles * climb.cost[j, meet]
        if others != NEVER:
            meet = max(meet, tree.rungs[node, LOW, j])
            merged += size * (climb.cost[j, meet] - climb.cost[j, level])
            merged += others * max(np.int64(0), climb.cost[j, meet] - climb.cost[j, tree.rungs[node, HIGH, j]])
        if (singles == NEVER or single > best) and (others == NEVER or merged > best):
            return FAR
        j = j + 1 if j + 1 < attributes else 0
    if singles == NEVER:
        return merged
    return single if others == NEVER else min(single, merged)


@njit(cache=True)
def distance(climb, classes, one, other, best):
    """Equation 7: what the rows of two classes lose if both are published under what covers them.

    Where that is beyond `best`, something that is beyond it too.
    """
    total = np.int64(0)
    for j in range(climb.cost.shape[0]):
        low, high = classes.level[one, j], classes.level[other, j]
        a, b = _leaf(climb, climb.points[one], j), _leaf(climb, climb.points[other], j)
        meet = climb.cost[j, _meet(climb, j, a, b, np.int64(max(low, high)))]
        total += classes.size[one] * (meet - climb.cost[j, low]) + classes.size[other] * (meet - climb.cost[j, high])
        if total > best:
            break
    return total


@njit(cache=True)
def _search_leaf(climb, classes, tree, group, leaf, best, closest):
    """(distance, class) of the nearest class that begins in a leaf, if it comes before (best, closest)."""
    for other in range(tree.begin[leaf], tree.end[leaf]):
        if _stands(classes, other) and other != group:
            far = distance(climb, classes, group, other, best)
            if far < best or (far == best and climb.drawn[other] < climb.drawn[closest]):
                best, closest = far, other
    return best, closest


@njit(cache=True)
def _search_below(climb, classes, tree, group, root, best, closest):
    """(distance, class) of the nearest class that begins below a node, if it comes before (best, closest)."""
    stack, bounds, top = tree.stack, tree.bounds, 0
    stack[0], bounds[0] = root, _bound(climb, classes, tree, group, root, best)
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        if bound > best or bound == FAR or (bound == best and tree.first[node] > climb.drawn[closest]):
            continue
        left = tree.left[node]
        if left == NONE:
            best, closest = _search_leaf(climb, classes, tree, group, node, best, closest)
            continue
        tree.first[node] = min(tree.first[left], tree.first[left + 1])
        one = _bound(climb, classes, tree, group, left, best)
        other = _bound(climb, classes, tree, group, left + 1, best)
        near = left + (other < one or (other == one and tree.first[left + 1] < tree.first[left]))
        stack[top + 1], bounds[top + 1] = 2 * left + 1 - near, max(one, other)
        stack[top + 2], bounds[top + 2] = near, min(one, other)
        top += 2
    return best, closest


@njit(cache=True)
def nearest(climb, classes, tree, group):
    """The class nearest to this one, the first in drawn order where several are; NONE where there is no other.

    The search begins where the class itself does and goes up from there: what is near is found early.
    """
    node = _above(tree, group)
    best, closest = _search_leaf(climb, classes, tree, group, node, FAR, NONE)
    while tree.parent[node] != NONE:
        above = tree.parent[node]
        left = tree.left[above]
        tree.first[above] = min(tree.first[left], tree.first[left + 1])
        best, closest = _search_below(climb, classes, tree, group, 2 * left + 1 - node, best, closest)
        node = above
    return closest


# merging -----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _merge(climb, classes, one, other):
    """Put two classes together, under the number of the first; (that number, the other one)."""
    if climb.drawn[other] < climb.drawn[one]:
        one, other = other, one
    for j in range(climb.cost.shape[0]):
        a, b = _leaf(climb, climb.points[one], j), _leaf(climb, climb.points[other], j)
        level = np.int64(max(classes.level[one, j], classes.level[other, j]))
        classes.level[one, j] = _meet(climb, j, a, b, level)
    _append(classes, one, other)
    classes.size[one] += classes.size[other]
    classes.size[other] = 0
    return one, other


@njit(cache=True)
def _count(models, growing, classes, rows, starts, group, most):
    """Count the rows of a class in; the most rows of one person so far."""
    point = group if models.ls.size > 0 or models.person.size > 0 else NONE
    while point != NONE:
        for i in range(starts[point], starts[point + 1]):
            for a in range(models.ls.size):
                value = models.sensitive[a, rows[i]]
                if growing.counts[a, value] == 0:
                    growing.codes[a, growing.used[a]] = value
                    growing.used[a] += 1
                growing.counts[a, value] += 1
            if models.person.size > 0:
                growing.people[models.person[rows[i]]] += 1
                most = max(most, growing.people[models.person[rows[i]]])
        point = _after(classes, group, point)
    return most


@njit(cache=True)
def _passes(models, growing, size, parts):
    """Whether the class that is being merged passes, even if it is split once for each row of one person."""
    if size < models.least * parts:
        return False
    for a in range(models.ls.size):
        codes = growing.codes[a, : growing.used[a]]
        if not diverse(models.model[a], models.ls[a], models.c[a], growing.counts[a], codes, parts):
            return False
        if not within(models.bounds, a, growing.counts[a], codes, parts):
            return False
    return True


@njit(cache=True)
def _clear(models, growing, classes, rows, starts, group):
    """Nothing is being merged."""
    for a in range(models.ls.size):
        for i in range(growing.used[a]):
            growing.counts[a, growing.codes[a, i]] = 0
        growing.used[a] = 0
    point = group if models.person.size > 0 else NONE
    while point != NONE:
        for i in range(starts[point], starts[point + 1]):
            growing.people[models.person[rows[i]]] = 0
        point = _after(classes, group, point)


@njit(cache=True)
def merge_classes(climb, models, classes, tree, growing, rows, starts, points, done):
    """Go through the classes that begin at these points, merging each with its nearest until it passes.

    The rows of point p are rows[starts[p]:starts[p + 1]], which are looked at only where the models ask for more than
    a size. Points may be repeated; the first `done` in drawn order are over. Returns how many then are.
    """
    for point in points:
        if climb.drawn[point] < done:
            continue
        done += 1
        if not _stands(classes, point):
            continue
        group, most = np.int64(point), _count(models, growing, classes, rows, starts, point, 1)
        merged = False
        while not _passes(models, growing, classes.size[group], most):
            other = nearest(climb, classes, tree, group)
            if other == NONE:
                break
            most = _count(models, growing, classes, rows, starts, other, most)
            group, gone = _merge(climb, classes, group, other)
            _update_nodes_above(climb, tree, classes, gone)
            merged = True
        _clear(models, growing, classes, rows, starts, group)
        if merged:
            _update_nodes_above(climb, tree, classes, group)
    return done


@njit(cache=True)
def numbers(classes):
    """The class of each point."""
    class_of = np.empty(classes.link.size, np.int32)
    for group in range(class_of.size):
        point = group if _stands(classes, group) else NONE
        while point != NONE:
            class_of[point] = group
            point = _after(classes, group, point)
    return class_of
