"""A one-to-one matching of published rows to original rows, without listing the pairs that fit.

Words    published rows with the same labels and key are one *box*, which asks for as many points as it has rows;
         original rows are *points*, each with a key. A box may take points of its key that lie in it.
Auction  a box takes its cheapest point and raises its price to one above that of its second cheapest; whoever had the
         point bids again (Bertsekas, Annals of Operations Research 14, 1988). So a point that was taken costs at most
         one more than any other point of its box.
Short    once no point of a key costs exactly p, the boxes that have points above p cover only such points, all of them
         taken: these are *closed*, no other box can have one. A box that covers only closed points is short, and
         from it a set of boxes is found that ask for more points than they cover (Hall): nobody can serve them all.
Floor    prices never fall, so no point of a box costs less than its second cheapest did when it last bid. A search
         that has found two points at this price ends; it begins where the last one found its point, since those
         before are dearer by now.
Lists    a box that covers few points has a list of them, and boxes bid in the order of how many they cover: whoever
         has little choice first, so that fewer are outbid.
Cost     the points of a key stand in a k-d tree that knows the lowest price below each node, so memory grows with rows
         and not with pairs. Bids have no useful bound, though a few for each row are the rule: steps are counted.
         Keys have nothing to do with each other: parts of them run side by side, divided by the rows alone, so that
         the answer does not depend on how many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.auditing.label_boxes import Boxes, Codes, Numbers, Points
from pluralis.errors import optional

njit = optional("numba", "Comparing with an original", "query").njit

LEAF = 8
CLOSED = 2**30
FEW = 128  # points of a box that are listed, found by visiting SOME nodes
SOME = 2_000
PART = 50_000  # rows and points of the keys that are matched together; more where one key has more
Flags = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.float64]


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
    order: np.ndarray  # which point stands at each place
    leaf: np.ndarray  # of each point
    first: np.ndarray
    last: np.ndarray
    skip: np.ndarray
    parent: np.ndarray
    low: np.ndarray
    high: np.ndarray
    roots: np.ndarray  # nodes roots[k] to roots[k + 1] are the tree of key k


class _Choice(NamedTuple):
    """The points of boxes that cover few: points[starts[b] : starts[b + 1]] are those of box b, if `few[b]`."""

    few: np.ndarray
    starts: np.ndarray
    points: np.ndarray
    order: Numbers  # of boxes: by key, those that cover fewest points first


class _Market(NamedTuple):
    """The price of each point, the lowest below each node, and the box that has the point."""

    price: np.ndarray
    lowest: np.ndarray
    owner: np.ndarray


class _Part(NamedTuple):
    """Boxes of some keys, with the trees of their points, and which box has which of these."""

    numbers: Numbers  # of the boxes, among all
    boxes: Boxes
    tree: _Tree
    choice: _Choice
    owner: Numbers
    short: np.ndarray  # boxes of which a row cannot be served
    untried: Numbers  # rows of each box that are not served, and perhaps could be
    spent: int


def match(boxes: Boxes, points: Points, steps: int) -> Matched:
    """The largest matching, or as much of it as about so many visits of nodes allow."""
    if not boxes.rows.size:
        return Matched(0, 0, np.empty(0, np.int64), 0)
    width = (boxes.high - boxes.low + 1.0).clip(1)
    weight = 1 / width.mean(axis=0)
    total = int(boxes.rows.sum())

    def serve(part: tuple[Numbers, Numbers]) -> _Part:
        chosen, there = _chosen(boxes, part[0]), points.key[part[1]] - boxes.key[part[0][0]]
        return _served(part[0], chosen, points.codes[part[1]], there, weight, steps * int(chosen.rows.sum()) // total)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        parts = list(threads.map(serve, _parts(boxes, points)))
    left = steps - sum(part.spent for part in parts)
    for i, part in enumerate(parts):  # what some did not need goes to those who need more
        if left > 0 and part.untried.any():
            parts[i] = _settled(part, left)
            left -= parts[i].spent
    return _matched(parts)


def _parts(boxes: Boxes, points: Points) -> Iterator[tuple[Numbers, Numbers]]:
    """Boxes by their keys, and the points of these keys: whole keys together, as many as make a part."""
    box, point = np.argsort(boxes.key, kind="stable"), np.argsort(points.key, kind="stable")
    box_key, point_key = boxes.key[box], points.key[point]
    keys = 1 + max(box_key[-1], point_key.max(initial=-1))
    size = np.bincount(box_key, boxes.rows[box], keys) + np.bincount(point_key, minlength=keys)
    part_of = (np.cumsum(size) - size) // PART
    for some in np.split(box, np.flatnonzero(np.diff(part_of[box_key])) + 1):
        ends = boxes.key[some[[0, -1]]] + (0, 1)
        first, last = np.searchsorted(point_key, ends)
        yield some, point[first:last]


def _chosen(boxes: Boxes, some: Numbers) -> Boxes:
    """Some boxes, the lowest key of which counts as 0."""
    return boxes._replace(
        low=boxes.low[some],
        high=boxes.high[some],
        sets=boxes.sets[some],
        key=boxes.key[some] - boxes.key[some[0]],
        rows=boxes.rows[some],
    )


def _served(numbers: Numbers, boxes: Boxes, codes: Codes, key: Numbers, weight: Weights, steps: int) -> _Part:
    """The matching of a part."""
    tree = _plant(codes, key, int(boxes.key[-1]) + 1, weight)
    few, starts, listed, count = _listed(tree, boxes)
    choice = _Choice(few, starts, listed, np.lexsort((count, boxes.key)))
    owner, short = np.full(key.size, -1, np.int64), np.zeros(boxes.rows.size, np.bool_)
    return _settled(_Part(numbers, boxes, tree, choice, owner, short, boxes.rows, 0), steps)


def _settled(part: _Part, steps: int) -> _Part:
    """Let those bid that are untried, from prices of 0: that keeps what Auction says, whatever the matching is."""
    short, untried, spent = _bid(part.tree, part.boxes, part.choice, part.untried, part.owner, steps)
    return part._replace(short=part.short | short, untried=untried, spent=spent)


def _matched(parts: list[_Part]) -> Matched:
    """What all parts come to, with the plainest witness: a box that covers nothing, or else the first that is short."""
    untried, worst = 0, (0, 0)
    proof = np.empty(0, np.int64), 0
    for part in parts:
        empty = _empty(part.tree, part.boxes, part.short | (part.untried > 0))
        untried += int(part.untried[~empty].sum())
        grade = part.short + 2 * empty
        worst_here = np.flatnonzero(grade == grade.max())
        box = int(worst_here[np.argmin(part.numbers[worst_here])])
        rank = int(grade[box]), -int(part.numbers[box])
        if rank[0] and rank > worst:
            met, shared = _shortage(part.tree, part.boxes, part.owner, box)
            worst, proof = rank, (part.numbers[met], shared)
    return Matched(sum(int((part.owner >= 0).sum()) for part in parts), untried, *proof)


@njit(cache=True, nogil=True)
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
    return _Tree(codes[order], order, leaf, first[:nodes], last[:nodes], skip, parent, low[:nodes], high[:nodes], roots)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _sorted(codes, rows, column):
    """Rows in the order of one column, if there is any."""
    if codes.shape[1] == 0:
        return rows
    values = np.empty(rows.size, np.int32)
    for i in range(rows.size):
        values[i] = codes[rows[i], column]
    return rows[np.argsort(values, kind="mergesort")]


@njit(cache=True, nogil=True)
def _free_market(tree, owner):
    """A market in which nothing costs anything."""
    return _Market(np.zeros(owner.size, np.int32), np.zeros(tree.first.size, np.int32), owner)


@njit(cache=True, nogil=True)
def _meets(tree, node, boxes, box):
    """Whether the ranges of a node and of a box have something in common."""
    for c in range(tree.codes.shape[1]):
        if tree.low[node, c] > boxes.high[box, c] or tree.high[node, c] < boxes.low[box, c]:
            return False
    return True


@njit(cache=True, nogil=True)
def _covers(tree, point, boxes, box):
    """Whether a box covers a point."""
    for c in range(tree.codes.shape[1]):
        code = tree.codes[point, c]
        if code < boxes.low[box, c] or code > boxes.high[box, c]:
            return False
        set_number = boxes.sets[box, c]
        if set_number >= 0:
            a, b = boxes.starts[set_number], boxes.starts[set_number + 1] - 1
            while a < b:
                middle = (a + b) // 2
                if boxes.members[middle] < code:
                    a = middle + 1
                else:
                    b = middle
            if boxes.members[a] != code:
                return False
    return True


@njit(cache=True, nogil=True)
def _listed(tree, boxes):
    """Which boxes cover few points, where their points begin in the list of all, this list, and how many they are."""
    count, few = np.empty(boxes.rows.size, np.int64), np.zeros(boxes.rows.size, np.bool_)
    starts, points, end = np.zeros(boxes.rows.size + 1, np.int64), np.empty(boxes.rows.size + FEW, np.int32), 0
    for box in range(boxes.rows.size):
        node, stop = tree.roots[boxes.key[box]], tree.roots[boxes.key[box] + 1]
        covered, visited = 0, 0
        if end + FEW > points.size:
            points = np.concatenate((points, np.empty(points.size, np.int32)))
        while node < stop and covered <= FEW and visited < SOME:
            visited += 1
            if not _meets(tree, node, boxes, box):
                node = tree.skip[node]
                continue
            if tree.skip[node] == node + 1:
                for point in range(tree.first[node], tree.last[node]):
                    if _covers(tree, point, boxes, box):
                        if covered < FEW:
                            points[end + covered] = point
                        covered += 1
            node += 1
        few[box] = node >= stop and covered <= FEW
        count[box] = covered if few[box] else FEW + 1
        end += covered if few[box] else 0
        starts[box + 1] = end
    return few, starts, points[:end].copy(), count


@njit(cache=True, nogil=True)
def _cheapest_listed(points, price, floor, begin):
    """As `_cheapest`, of listed points, from one of them on; also which of them it is."""
    best, first, second, place = -1, CLOSED, CLOSED, 0
    for looked in range(points.size):
        i = begin + looked
        if i >= points.size:
            i -= points.size
        own = price[points[i]]
        if own < second:
            if own < first:
                best, first, second, place = points[i], own, first, i
            else:
                second = own
            if second <= floor:
                return best, second, looked + 1, place
    return best, second, points.size, place


@njit(cache=True, nogil=True)
def _cheapest(tree, market, boxes, box, floor, begin):
    """The cheapest open point of a box or -1, the price of the second or CLOSED, how many nodes were visited, and where
    the point stands: its leaf. The search begins place a node and ends where it began.

    No point of the box costs less than `floor`.
    """
    root, end = tree.roots[boxes.key[box]], tree.roots[boxes.key[box] + 1]
    begin = max(begin, root)
    best, first, second, visited, place = -1, CLOSED, CLOSED, 0, begin
    for turn in range(2):
        node, stop = (begin, end) if turn == 0 else (root, begin)
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
                            best, first, second, place = point, price, first, node
                        else:
                            second = price
                        if second <= floor:
                            return best, second, visited, place
            node += 1
    return best, second, visited, place


@njit(cache=True, nogil=True)
def _open_point(tree, market, boxes, box):
    """An open point of a box, or -1."""
    node, stop = tree.roots[boxes.key[box]], tree.roots[boxes.key[box] + 1]
    while node < stop:
        if market.lowest[node] == CLOSED or not _meets(tree, node, boxes, box):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for point in range(tree.first[node], tree.last[node]):
                if market.price[point] < CLOSED and _covers(tree, point, boxes, box):
                    return point
        node += 1
    return -1


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _bid(tree, boxes, choice, wanting, owner, steps):
    """Let boxes, key by key, bid for as many more points as they are `wanting`; changes `owner`.

    Returns which boxes are short, how many rows of each are untried, and the visits.
    """
    market = _free_market(tree, owner)
    floor, begin = np.zeros(wanting.size, np.int32), np.zeros(wanting.size, np.int64)
    short, untried = np.zeros(wanting.size, np.bool_), np.zeros(wanting.size, np.int64)
    key, first, last, spent = -1, 0, 0, 0
    costing = np.zeros(1, np.int64)  # how many open points of this key have each price
    for start in choice.order:
        if wanting[start] > 0 and boxes.key[start] != key:
            key = boxes.key[start]
            first = last
            if tree.roots[key] < tree.roots[key + 1]:
                first, last = tree.first[tree.roots[key]], tree.last[tree.roots[key]]
            costing = np.zeros(last - first + 2, np.int64)
            costing[0] = last - first
        for _ in range(wanting[start]):
            box = start
            while box >= 0:
                if spent >= steps:
                    untried[box] += 1
                    break
                if choice.few[box]:
                    listed = choice.points[choice.starts[box] : choice.starts[box + 1]]
                    bid = _cheapest_listed(listed, market.price, floor[box], begin[box])
                else:
                    bid = _cheapest(tree, market, boxes, box, floor[box], begin[box])
                point, second, visited, begin[box] = bid
                floor[box] = second
                spent += visited
                if point < 0:
                    short[box] = True
                    break
                old, new = market.price[point], second + 1 if second < CLOSED else CLOSED
                owner[point], box = box, owner[point]
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
    return short, untried, spent


@njit(cache=True, nogil=True)
def _empty(tree, boxes, asked):
    """Which of the boxes asked for cover no point."""
    market = _free_market(tree, np.empty(tree.leaf.size, np.int64))
    empty = np.zeros(asked.size, np.bool_)
    for box in np.flatnonzero(asked):
        empty[box] = _open_point(tree, market, boxes, box) < 0
    return empty


@njit(cache=True, nogil=True)
def _shortage(tree, boxes, owner, box):
    """From a box that is short: boxes whose points all belong to one of them, and how many points."""
    market = _free_market(tree, owner)
    boxes_met, met = np.empty(boxes.rows.size, np.int64), np.zeros(boxes.rows.size, np.bool_)
    boxes_met[0], met[box] = box, True
    head, tail, points = 0, 1, 0
    while head < tail:
        point = _open_point(tree, market, boxes, boxes_met[head])
        if point < 0:
            head += 1
            continue
        _set_price(tree, market, point, CLOSED)
        points += 1
        holder = owner[point]
        if not met[holder]:
            boxes_met[tail], met[holder] = holder, True
            tail += 1
    return boxes_met[:tail], points
