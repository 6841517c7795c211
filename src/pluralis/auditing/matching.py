"""A one-to-one matching of published rows to original rows, without listing the pairs that fit.

Words    published rows with the same labels and key are one *box*, which asks for as many points as it has rows;
         original rows are *points*, each with a key. A box may take points of its key that lie in it.
Auction  a box takes its cheapest point and raises its price to one above that of its second cheapest; whoever had the
         point bids again (Bertsekas, Annals of Operations Research 14, 1988). So a point that was taken costs at most
         one more than any other point of its box.
Short    once no point of a key costs exactly p, the boxes that have points above p cover only such points, all of them
         taken: these are *closed*, no other box can have one. A box that covers only closed points is short, and
         from it a set of boxes is found that ask for more points than they cover (Hall): nobody can serve them all.
Cost     the points of a key stand in a k-d tree that knows the lowest price below each node, so memory grows with rows
         and not with pairs. Bids have no useful bound, though a few for each row are the rule: steps are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.auditing.label_boxes import Boxes, Numbers, Points

LEAF = 8
CLOSED = 2**30


class Matched(NamedTuple):
    """A matching of `placed` rows, the largest there is unless steps ran out before `untried` rows were served.

    Each of these covers some point. `short` are boxes that ask for more than the `shared` points that they cover; there
    are none if every row can be placed, or may be.
    """

    placed: int
    untried: int
    short: Numbers
    shared: int


class _Tree(NamedTuple):
    """k-d trees, one for each key, over points in their order; nodes in preorder, `skip` the next one not below."""

    codes: np.ndarray
    leaf: np.ndarray  # of each point
    first: np.ndarray
    last: np.ndarray
    skip: np.ndarray
    parent: np.ndarray
    low: np.ndarray
    high: np.ndarray
    roots: np.ndarray  # nodes roots[k] to roots[k + 1] are the tree of key k


class _Market(NamedTuple):
    """The price of each point, the lowest below each node, and the box that has the point."""

    price: np.ndarray
    lowest: np.ndarray
    owner: np.ndarray


def match(boxes: Boxes, points: Points, steps: int) -> Matched:
    """The largest matching, or as much of it as about so many visits of nodes allow."""
    if not boxes.rows.size:
        return Matched(0, 0, np.empty(0, np.int64), 0)
    keys = 1 + max(boxes.key.max(), points.key.max(initial=-1))
    width = (boxes.high - boxes.low + 1.0).clip(1)
    tree = _plant(points.codes, points.key, keys, 1 / width.mean(axis=0))
    order = np.argsort(boxes.key, kind="stable")
    count, nodes = points.key.size, tree.first.size
    market = _Market(np.zeros(count, np.int32), np.zeros(nodes, np.int32), np.full(count, -1, np.int64))
    short, untried = _bid(tree, boxes, order, market, steps)
    empty = _empty(tree, market, boxes, short | (untried > 0))
    untried[empty] = 0
    proof = np.empty(0, np.int64), 0
    if short.any() or empty.any():  # an empty one is the plainest witness
        proof = _shortage(tree, market, boxes, np.argmax(short + 2 * empty))
    return Matched(int((market.owner >= 0).sum()), int(untried.sum()), *proof)


@njit(cache=True)
def _plant(codes, key, keys, weight):
    """The trees of all points, split in the middle of the column that is widest beside the boxes."""
    order = np.argsort(key, kind="mergesort")
    ends = np.cumsum(np.bincount(key, minlength=keys))
    most, columns = 2 * (key.size // (LEAF // 2) + keys), codes.shape[1]
    first, last, roots = np.empty(most, np.int64), np.empty(most, np.int64), np.zeros(keys + 1, np.int64)
    low, high = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    leaf = np.empty(key.size, np.int64)
    nodes, begin = 0, 0
    for k in range(keys):
        todo = [(begin, ends[k])]
        while len(todo) > 0:
            a, b = todo.pop()
            if a == b:
                continue
            first[nodes], last[nodes] = a, b
            widest = _bound(codes, order[a:b], weight, low[nodes], high[nodes])
            if b - a <= LEAF:
                leaf[a:b] = nodes
            else:
                order[a:b] = _sorted(codes, order[a:b], widest)
                todo.append(((a + b) // 2, b))
                todo.append((a, (a + b) // 2))
            nodes += 1
        roots[k + 1], begin = nodes, ends[k]
    skip, parent = np.arange(1, nodes + 1), np.full(nodes, -1, np.int64)
    for node in range(nodes - 1, -1, -1):
        if last[node] - first[node] > LEAF:
            right = skip[node + 1]
            parent[node + 1] = parent[right] = node
            skip[node] = skip[right]
    return _Tree(codes[order], leaf, first[:nodes], last[:nodes], skip, parent, low[:nodes], high[:nodes], roots)


@njit(cache=True)
def _bound(codes, rows, weight, low, high):
    """Fill the range of some rows in each column; returns the column of the widest, weighted."""
    widest, spread = 0, -1.0
    for c in range(weight.size):
        low[c] = high[c] = codes[rows[0], c]
        for row in rows:
            low[c], high[c] = min(low[c], codes[row, c]), max(high[c], codes[row, c])
        if (high[c] - low[c]) * weight[c] > spread:
            widest, spread = c, (high[c] - low[c]) * weight[c]
    return widest


@njit(cache=True)
def _sorted(codes, rows, column):
    """Rows in the order of one column, if there is any."""
    if codes.shape[1] == 0:
        return rows
    values = np.empty(rows.size, np.int32)
    for i in range(rows.size):
        values[i] = codes[rows[i], column]
    return rows[np.argsort(values, kind="mergesort")]


@njit(cache=True)
def _meets(tree, node, boxes, box):
    """Whether the ranges of a node and of a box have something in common."""
    for c in range(tree.codes.shape[1]):
        if tree.low[node, c] > boxes.high[box, c] or tree.high[node, c] < boxes.low[box, c]:
            return False
    return True


@njit(cache=True)
def _covers(tree, point, boxes, box):
    """Whether a box covers a point."""
    for c in range(tree.codes.shape[1]):
        code = tree.codes[point, c]
        if code < boxes.low[box, c] or code > boxes.high[box, c]:
            return False
        held = boxes.sets[box, c]
        if held >= 0:
            a, b = boxes.starts[held], boxes.starts[held + 1] - 1
            while a < b:
                middle = (a + b) // 2
                if boxes.members[middle] < code:
                    a = middle + 1
                else:
                    b = middle
            if boxes.members[a] != code:
                return False
    return True


@njit(cache=True)
def _cheapest(tree, market, boxes, box):
    """The cheapest open point of a box or -1, the price of the second or CLOSED, and how many nodes were visited."""
    node, stop = tree.roots[boxes.key[box]], tree.roots[boxes.key[box] + 1]
    best, first, second, visited = -1, CLOSED, CLOSED, 0
    while node < stop:
        visited += 1
        if market.lowest[node] >= second or not _meets(tree, node, boxes, box):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for point in range(tree.first[node], tree.last[node]):
                price = market.price[point]
                if price < second and _covers(tree, point, boxes, box):
                    if price < first:
                        best, first, second = point, price, first
                    else:
                        second = price
        node += 1
    return best, second, visited


@njit(cache=True)
def _set_price(tree, market, point, price):
    """Change a price, and the lowest ones above it."""
    market.price[point] = price
    node = tree.leaf[point]
    lowest = market.price[tree.first[node] : tree.last[node]].min()
    while market.lowest[node] != lowest:
        market.lowest[node] = lowest
        node = tree.parent[node]
        if node < 0:
            return
        lowest = min(market.lowest[node + 1], market.lowest[tree.skip[node + 1]])


@njit(cache=True)
def _bid(tree, boxes, order, market, steps):
    """Let boxes bid in order, key by key. Returns which boxes are short, and how many rows of each are untried."""
    short, untried = np.zeros(order.size, np.bool_), np.zeros(order.size, np.int64)
    key, first, last, spent = -1, 0, 0, 0
    costing = np.zeros(1, np.int64)  # how many open points of this key have each price
    for start in order:
        if boxes.key[start] != key:
            key = boxes.key[start]
            first = last
            if tree.roots[key] < tree.roots[key + 1]:
                first, last = tree.first[tree.roots[key]], tree.last[tree.roots[key]]
            costing = np.zeros(last - first + 2, np.int64)
            costing[0] = last - first
        for _ in range(boxes.rows[start]):
            box = start
            while box >= 0:
                if spent >= steps:
                    untried[box] += 1
                    break
                point, second, visited = _cheapest(tree, market, boxes, box)
                spent += visited
                if point < 0:
                    short[box] = True
                    break
                old, new = market.price[point], second + 1 if second < CLOSED else CLOSED
                market.owner[point], box = box, market.owner[point]
                _set_price(tree, market, point, new)
                costing[old] -= 1
                if new < CLOSED:
                    costing[new] += 1
                if costing[old] == 0:
                    spent += (last - first) // LEAF
                    for other in range(first, last):
                        if old < market.price[other] < CLOSED:
                            costing[market.price[other]] -= 1
                            _set_price(tree, market, other, CLOSED)
    return short, untried


@njit(cache=True)
def _open(market):
    """Forget all prices."""
    market.price[:] = 0
    market.lowest[:] = 0


@njit(cache=True)
def _empty(tree, market, boxes, asked):
    """Which of the boxes asked for cover no point. Prices are forgotten."""
    _open(market)
    empty = np.zeros(asked.size, np.bool_)
    for box in np.flatnonzero(asked):
        empty[box] = _cheapest(tree, market, boxes, box)[0] < 0
    return empty


@njit(cache=True)
def _shortage(tree, market, boxes, box):
    """From a box that is short: boxes whose points all belong to one of them, and how many points. Prices go."""
    _open(market)
    found, met = np.empty(boxes.rows.size, np.int64), np.zeros(boxes.rows.size, np.bool_)
    found[0], met[box] = box, True
    head, tail, points = 0, 1, 0
    while head < tail:
        point = _cheapest(tree, market, boxes, found[head])[0]
        if point < 0:
            head += 1
            continue
        _set_price(tree, market, point, CLOSED)
        points += 1
        owner = market.owner[point]
        if not met[owner]:
            found[tail], met[owner] = owner, True
            tail += 1
    return found[:tail], points
