"""Merging classes of equal rows with their nearest, until every class passes a test (KACA).

A *point* is a combination of quasi values that some row holds; at first every point is a class. A class lies at one
level of each attribute's tree: that of the lowest node that covers its points. Costs are whole numbers, so that equal
distances are equal. A class has the number of its first point in drawn order.

The nearest class is found with a tree over the points, in which every class is found at its first point only. A node
knows the box of those points, how far up their classes are and how small they may be, apart for classes of one point.
What it would cost at least to merge with any of them is a bound: a class covers its first point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.models import diverse
from pluralis.kernels.quickselect import quickselect

LEAF = 8
NONE = -1
STACK = 1024
FAR = np.iinfo(np.int64).max
FAR_UP = np.iinfo(np.int16).max
SINGLE, MERGED = 0, 1
LOW, HIGH = 0, 1


class Climb(NamedTuple):
    """Points, the trees over their attributes, and what it costs to climb them."""

    points: np.ndarray  # int32[point, attribute]: leaves
    drawn: np.ndarray  # int64[point]: its place in the drawn order
    lineage: np.ndarray  # int32[leaf of any attribute, level]: ancestors, numbered in leaf order within a level
    first: np.ndarray  # int64[attribute]: where its leaves begin in `lineage`
    cost: np.ndarray  # int64[attribute, level]: from the leaves up to a level


class Classes(NamedTuple):
    """Classes under construction, each under the number of its first point."""

    stands: np.ndarray  # bool[class]: whether it is one still, and not in another
    size: np.ndarray  # int64[class]: rows
    alone: np.ndarray  # bool[class]: whether it has one point
    level: np.ndarray  # int16[class, attribute]
    tail: np.ndarray  # int64[class]: its last point
    link: np.ndarray  # int64[point]: the next point of its class


class Tree(NamedTuple):
    """Node i is over the points begin[i] to end[i]; left[i] and left[i] + 1 stand below it, NONE below a leaf."""

    begin: np.ndarray
    end: np.ndarray
    left: np.ndarray
    parent: np.ndarray
    cut: np.ndarray  # int64[node]: the attribute in which it was cut from the one beside it
    box: np.ndarray  # int32[node, LOW or HIGH, attribute]: the leaves that the box of its points begins and ends with
    first: np.ndarray  # int64[node]: no class was drawn before this
    least: np.ndarray  # int64[node, SINGLE or MERGED]: no class is smaller; FAR where there is none
    rungs: np.ndarray  # int16[node, LOW or HIGH, attribute]: no merged class lies lower, none higher
    leaf_of: np.ndarray  # int64[point]
    stack: np.ndarray
    bounds: np.ndarray


class Growing(NamedTuple):
    """The class that is being merged: how often it holds each sensitive value and each person."""

    counts: np.ndarray  # int64[attribute, value]
    codes: np.ndarray  # int64[attribute, value]: the values it holds
    used: np.ndarray  # int64[attribute]: how many
    people: np.ndarray  # int64[person]


def classes_of(points, size):
    """Every point a class."""
    count, attributes = points.shape
    return Classes(
        stands=np.ones(count, np.bool_),
        size=size.copy(),
        alone=np.ones(count, np.bool_),
        level=np.zeros((count, attributes), np.int16),
        tail=np.arange(count),
        link=np.full(count, NONE, np.int64),
    )


def growing_for(models):
    """Room for one class."""
    attributes = models.ls.size
    values = int(models.secrets.max(initial=0)) + 1
    return Growing(
        counts=np.zeros((attributes, values), np.int64),
        codes=np.empty((attributes, values), np.int64),
        used=np.zeros(attributes, np.int64),
        people=np.zeros(int(models.person.max(initial=0)) + 1, np.int64),
    )


@njit(cache=True)
def _meet(climb, j, a, b, level):
    """The lowest level from `level` up at which two leaves have the same ancestor."""
    one, other = climb.first[j] + a, climb.first[j] + b
    while climb.lineage[one, level] != climb.lineage[other, level]:
        level += 1
    return level


# the tree ----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _measure(climb, points, box):
    """The box of some points."""
    for j in range(box.shape[1]):
        box[LOW, j], box[HIGH, j] = climb.points[points[0], j], climb.points[points[0], j]
        for point in points:
            box[LOW, j] = min(box[LOW, j], climb.points[point, j])
            box[HIGH, j] = max(box[HIGH, j], climb.points[point, j])


@njit(cache=True)
def _cut(climb, points, box, keys, places):
    """Put points in two parts, between two children of the widest attribute's common ancestor.

    Returns how many come first, and the attribute.
    """
    widest, best, level = 0, np.int64(-1), 0
    for j in range(box.shape[1]):
        if box[LOW, j] < box[HIGH, j]:
            meet = _meet(climb, j, box[LOW, j], box[HIGH, j], 0)
            if climb.cost[j, meet] > best:
                widest, best, level = j, climb.cost[j, meet], meet
    size = points.size
    for i in range(size):
        keys[i] = climb.lineage[climb.first[widest] + climb.points[points[i], widest], level - 1]
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
    old = points.copy()
    for i in range(size):
        if keys[i] < middle:
            points[low] = old[i]
            low += 1
        else:
            points[high] = old[i]
            high -= 1
    return low, widest


@njit(cache=True)
def plant(climb):
    """A tree over all points, and the order in which points must be numbered for it."""
    count, attributes = climb.points.shape
    order = np.arange(count)
    most = 2 * count
    begin, end = np.empty(most, np.int64), np.empty(most, np.int64)
    left, parent, by = np.empty(most, np.int64), np.empty(most, np.int64), np.zeros(most, np.int64)
    keys, places, box = np.empty(count), np.empty(count, np.int64), np.empty((2, attributes), np.int32)
    begin[0], end[0], parent[0] = 0, count, NONE
    used, top, stack = 1, 0, np.zeros(STACK, np.int64)
    while top >= 0:  # nodes near each other in the tree get near numbers
        node = stack[top]
        top -= 1
        left[node] = NONE
        points = order[begin[node] : end[node]]
        if points.size > LEAF:
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
    tree = Tree(
        begin[:used].copy(),
        end[:used].copy(),
        left[:used].copy(),
        parent[:used].copy(),
        by[:used].copy(),
        np.empty((used, 2, attributes), np.int32),
        np.full(used, FAR, np.int64),
        np.full((used, 2), FAR, np.int64),
        np.zeros((used, 2, attributes), np.int16),
        np.empty(count, np.int64),
        stack,
        np.empty(STACK, np.int64),
    )
    return tree, order


@njit(cache=True)
def survey(climb, classes, tree):
    """Let every node know its box and the classes below it."""
    for node in range(tree.left.size - 1, -1, -1):
        left = tree.left[node]
        if left == NONE:
            tree.leaf_of[tree.begin[node] : tree.end[node]] = node
            _measure(climb, np.arange(tree.begin[node], tree.end[node]), tree.box[node])
        else:
            for j in range(tree.box.shape[2]):
                tree.box[node, LOW, j] = min(tree.box[left, LOW, j], tree.box[left + 1, LOW, j])
                tree.box[node, HIGH, j] = max(tree.box[left, HIGH, j], tree.box[left + 1, HIGH, j])
        _summarise(climb, tree, classes, node)


@njit(cache=True)
def _summarise(climb, tree, classes, node):
    """What a node knows of the classes that begin below it; whether those above it must know.

    They need not know that the first class is another, later one: searches that pass by will see it.
    """
    left = tree.left[node]
    single, merged, first = FAR, FAR, FAR
    if left != NONE:
        for child in (left, left + 1):
            single, merged = min(single, tree.least[child, SINGLE]), min(merged, tree.least[child, MERGED])
            first = min(first, tree.first[child])
    else:
        for mine in range(tree.begin[node], tree.end[node]):
            if classes.stands[mine]:
                first = min(first, climb.drawn[mine])
                if classes.alone[mine]:
                    single = min(single, classes.size[mine])
                else:
                    merged = min(merged, classes.size[mine])
    changed = first < tree.first[node] or single != tree.least[node, SINGLE] or merged != tree.least[node, MERGED]
    tree.first[node], tree.least[node, SINGLE], tree.least[node, MERGED] = first, single, merged
    if merged == FAR:
        return changed
    for j in range(tree.rungs.shape[2]):
        bottom, top = np.int16(FAR_UP), np.int16(0)
        if left != NONE:
            for child in (left, left + 1):
                if tree.least[child, MERGED] != FAR:
                    bottom, top = min(bottom, tree.rungs[child, LOW, j]), max(top, tree.rungs[child, HIGH, j])
        else:
            for mine in range(tree.begin[node], tree.end[node]):
                if classes.stands[mine] and not classes.alone[mine]:
                    bottom, top = min(bottom, classes.level[mine, j]), max(top, classes.level[mine, j])
        changed |= bottom != tree.rungs[node, LOW, j] or top != tree.rungs[node, HIGH, j]
        tree.rungs[node, LOW, j], tree.rungs[node, HIGH, j] = bottom, top
    return changed


@njit(cache=True)
def _tell(climb, tree, classes, mine):
    """Let the nodes above a class know what it has become."""
    node = tree.leaf_of[mine]
    while node != NONE and _summarise(climb, tree, classes, node):
        node = tree.parent[node]


# the nearest class -------------------------------------------------------------------------------------------------


@njit(cache=True)
def _bound(climb, classes, tree, mine, node, best):
    """No class that begins below a node is nearer than this; FAR where that is beyond `best`."""
    size, singles, others = classes.size[mine], tree.least[node, SINGLE], tree.least[node, MERGED]
    if singles == FAR and others == FAR:
        return FAR
    single, merged = np.int64(0), np.int64(0)
    attributes = climb.cost.shape[0]
    j = tree.cut[node]  # where a node differs from the one beside it, most can be seen
    for _ in range(attributes):
        level, leaf = classes.level[mine, j], climb.points[mine, j]
        here = climb.lineage[climb.first[j] + leaf, level]
        meet = level
        if here < climb.lineage[climb.first[j] + tree.box[node, LOW, j], level]:
            meet = _meet(climb, j, leaf, tree.box[node, LOW, j], level)
        elif here > climb.lineage[climb.first[j] + tree.box[node, HIGH, j], level]:
            meet = _meet(climb, j, leaf, tree.box[node, HIGH, j], level)
        if singles != FAR:
            single += size * (climb.cost[j, meet] - climb.cost[j, level]) + singles * climb.cost[j, meet]
        if others != FAR:
            meet = max(meet, tree.rungs[node, LOW, j])
            merged += size * (climb.cost[j, meet] - climb.cost[j, level])
            merged += others * max(np.int64(0), climb.cost[j, meet] - climb.cost[j, tree.rungs[node, HIGH, j]])
        if (singles == FAR or single > best) and (others == FAR or merged > best):
            return FAR
        j = j + 1 if j + 1 < attributes else 0
    if singles == FAR:
        return merged
    return single if others == FAR else min(single, merged)


@njit(cache=True)
def distance(climb, classes, one, other):
    """Equation 7: what the rows of two classes lose if both are published under what covers them."""
    mine, theirs = 0, 0
    for j in range(climb.cost.shape[0]):
        low, high = classes.level[one, j], classes.level[other, j]
        meet = climb.cost[j, _meet(climb, j, climb.points[one, j], climb.points[other, j], max(low, high))]
        mine += meet - climb.cost[j, low]
        theirs += meet - climb.cost[j, high]
    return classes.size[one] * mine + classes.size[other] * theirs


@njit(cache=True)
def _look(climb, classes, tree, mine, leaf, best, found):
    """(distance, class) of the nearest class that begins in a leaf, if it comes before (best, found)."""
    for other in range(tree.begin[leaf], tree.end[leaf]):
        if classes.stands[other] and other != mine:
            far = distance(climb, classes, mine, other)
            if far < best or (far == best and climb.drawn[other] < climb.drawn[found]):
                best, found = far, other
    return best, found


@njit(cache=True)
def _descend(climb, classes, tree, mine, root, best, found):
    """(distance, class) of the nearest class that begins below a node, if it comes before (best, found)."""
    stack, bounds, top = tree.stack, tree.bounds, 0
    stack[0], bounds[0] = root, _bound(climb, classes, tree, mine, root, best)
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        if bound > best or bound == FAR or (bound == best and tree.first[node] > climb.drawn[found]):
            continue
        left = tree.left[node]
        if left == NONE:
            best, found = _look(climb, classes, tree, mine, node, best, found)
            continue
        tree.first[node] = min(tree.first[left], tree.first[left + 1])
        one = _bound(climb, classes, tree, mine, left, best)
        other = _bound(climb, classes, tree, mine, left + 1, best)
        near = left + (other < one or (other == one and tree.first[left + 1] < tree.first[left]))
        stack[top + 1], bounds[top + 1] = 2 * left + 1 - near, max(one, other)
        stack[top + 2], bounds[top + 2] = near, min(one, other)
        top += 2
    return best, found


@njit(cache=True)
def nearest(climb, classes, tree, mine):
    """The class nearest to this one, the first in drawn order where several are; NONE where there is no other.

    The search begins where the class itself does and goes up from there: what is near is found early.
    """
    node = tree.leaf_of[mine]
    best, found = _look(climb, classes, tree, mine, node, FAR, NONE)
    while tree.parent[node] != NONE:
        above = tree.parent[node]
        left = tree.left[above]
        tree.first[above] = min(tree.first[left], tree.first[left + 1])
        best, found = _descend(climb, classes, tree, mine, 2 * left + 1 - node, best, found)
        node = above
    return found


# merging -----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _merge(climb, classes, one, other):
    """Put two classes together, under the number of the first; (that number, the other one)."""
    if climb.drawn[other] < climb.drawn[one]:
        one, other = other, one
    for j in range(climb.cost.shape[0]):
        level = max(classes.level[one, j], classes.level[other, j])
        classes.level[one, j] = _meet(climb, j, climb.points[one, j], climb.points[other, j], level)
    classes.link[classes.tail[one]] = other
    classes.tail[one] = classes.tail[other]
    classes.size[one] += classes.size[other]
    classes.alone[one] = False
    classes.stands[other] = False
    return one, other


@njit(cache=True)
def _count(models, growing, classes, rows, starts, mine, most):
    """Count the rows of a class in; the most rows of one person so far."""
    point = mine if models.ls.size > 0 or models.person.size > 0 else NONE
    while point != NONE:
        for i in range(starts[point], starts[point + 1]):
            for a in range(models.ls.size):
                value = models.secrets[a, rows[i]]
                if growing.counts[a, value] == 0:
                    growing.codes[a, growing.used[a]] = value
                    growing.used[a] += 1
                growing.counts[a, value] += 1
            if models.person.size > 0:
                growing.people[models.person[rows[i]]] += 1
                most = max(most, growing.people[models.person[rows[i]]])
        point = classes.link[point]
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
    return True


@njit(cache=True)
def _forget(models, growing, classes, rows, starts, mine):
    """Nothing is being merged."""
    for a in range(models.ls.size):
        for i in range(growing.used[a]):
            growing.counts[a, growing.codes[a, i]] = 0
        growing.used[a] = 0
    point = mine if models.person.size > 0 else NONE
    while point != NONE:
        for i in range(starts[point], starts[point + 1]):
            growing.people[models.person[rows[i]]] = 0
        point = classes.link[point]


@njit(cache=True)
def merge_classes(climb, models, classes, tree, growing, rows, starts, points):
    """Go through the classes that begin at these points, merging each with its nearest until it passes.

    The rows of point p are rows[starts[p]:starts[p + 1]].
    """
    for point in points:
        if not classes.stands[point]:
            continue
        mine, most = point, _count(models, growing, classes, rows, starts, point, 1)
        merged = False
        while not _passes(models, growing, classes.size[mine], most):
            other = nearest(climb, classes, tree, mine)
            if other == NONE:
                break
            most = _count(models, growing, classes, rows, starts, other, most)
            mine, gone = _merge(climb, classes, mine, other)
            _tell(climb, tree, classes, gone)
            merged = True
        _forget(models, growing, classes, rows, starts, mine)
        if merged:
            _tell(climb, tree, classes, mine)


@njit(cache=True)
def numbers(classes):
    """The class of each point."""
    class_of = np.empty(classes.link.size, np.int64)
    for mine in np.flatnonzero(classes.stands):
        point = mine
        while point != NONE:
            class_of[point] = mine
            point = classes.link[point]
    return class_of
