"""Which values can stand in which places, when every value must be used up and every place filled: exactly.

A transport problem has sources with a supply, targets with a demand, and edges along which units may go. A *flow* uses
up every supply and fills every demand; its existence is one maximum flow (Dinic, scipy). From any one flow all others
are reached by pushing units around cycles of its residual graph: an edge can always take one unit more, and gives one
back where it has one. Hence

possible   an edge is used by some flow if this one uses it, or if its ends lie in one strongly connected component of
           the residual graph. One pass of Tarjan's algorithm answers for all edges.
forced     the fewest units that any flow sends along an edge is what this flow sends, less the most units that can be
           led from its source to its target some other way in the residual graph: a second maximum flow.

Cost: the first flow and the components are in practice close to linear in the edges. `most_forced` avoids nearly all
of its flows, see there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # scipy is loaded by what needs it: it takes 17 MiB, and most releases never come here
    from scipy.sparse import csr_array

Numbers = npt.NDArray[np.int64]

STEPS = 100_000_000  # edges that `most_forced` may look at before it settles for an upper bound
ORDERS, FEW = 8, 100  # flows it finds in other orders, as long as more than a few edges are open


class Transport(NamedTuple):
    """Edge i may carry units from `source[i]` to `target[i]`; no edge stands twice."""

    supply: Numbers
    demand: Numbers
    source: Numbers
    target: Numbers


class Forced(NamedTuple):
    """Every flow gives `units` of the `among` units of a place of class `target` to one source.

    Where not `exact`, no flow was found with fewer, but there may be one.
    """

    units: int
    among: int
    target: int
    exact: bool = True


def flow_of(problem: Transport) -> Numbers | None:
    """A flow, as units along each edge; None if there is none.

    >>> two_and_two = Transport(*(np.array(x) for x in ([2, 1], [1, 2], [0, 0, 1], [0, 1, 1])))
    >>> flow_of(two_and_two).tolist()
    [1, 1, 1]
    """
    from scipy.sparse.csgraph import maximum_flow

    supply, demand, source, target = problem
    if supply.sum() != demand.sum():
        return None
    first, last = supply.size + demand.size, supply.size + demand.size + 1
    rows = np.concatenate([source, np.full(supply.size, first), supply.size + np.arange(demand.size)])
    columns = np.concatenate([supply.size + target, np.arange(supply.size), np.full(demand.size, last)])
    most = np.concatenate([np.minimum(supply[source], demand[target]), supply, demand])
    solution = maximum_flow(_matrix(most, rows, columns, last + 1), first, last)
    if solution.flow_value != supply.sum():
        return None
    arcs = solution.flow.tocoo()
    inner = (arcs.data > 0) & (arcs.row < supply.size) & (arcs.col < first)
    keys = source * demand.size + target
    order = np.argsort(keys)
    edge = np.searchsorted(keys[order], arcs.row[inner].astype(np.int64) * demand.size + arcs.col[inner] - supply.size)
    flow = np.zeros(source.size, np.int64)
    flow[order[edge]] = arcs.data[inner]
    return flow


def possible(problem: Transport, flow: Numbers) -> npt.NDArray[np.bool_]:
    """Whether each edge is used by some flow, given one of them.

    >>> chain = Transport(*(np.array(x) for x in ([1, 1], [1, 1], [0, 0, 1], [0, 1, 1])))
    >>> possible(chain, flow_of(chain)).tolist()
    [True, False, True]
    """
    from scipy.sparse.csgraph import connected_components

    sources, source, target = problem.supply.size, problem.source, problem.target + problem.supply.size
    back = flow > 0
    residual = _matrix(
        np.ones(source.size + int(back.sum()), np.int32),
        np.concatenate([source, target[back]]),
        np.concatenate([target, source[back]]),
        sources + problem.demand.size,
    )
    _, part = connected_components(residual, connection="strong")
    return np.asarray(back | (part[source] == part[target]))


def most_forced(problem: Transport, flow: Numbers, largest: Numbers) -> Forced:
    """The largest share of one place that every flow gives to one source.

    A target stands for several places with the same edges; `largest[t]` is what the largest of them holds. If a flow
    sends x units along an edge whose target asks for R, the places other than the largest, of n units, take at most
    R - n of them. So x - (R - n) units are forced at most, and if that is positive, the others hold nothing else.

    Few edges need a flow of their own:
    - For sources u and w let W[u, w] be the units of w that stand in places where u may stand too. Where W[u, w] >= 2N,
      N the largest place of all, N units can be led from u to w without touching a given place. So sources that are
      strongly connected by such pairs replace each other: an edge whose target has a second such source is not forced
      at all, and for all other edges they count as one, since no cut of fewer than N units parts them.
    - A few flows found in other orders are other bounds. What they do not use is not forced.
    - Edges are looked at in order of their bounds, until these are no larger than what was found.
    """
    source, target = problem.source, problem.target
    among = largest[target]
    spare = problem.demand[target] - among
    kind = _replaceable(problem, flow, 2 * int(largest.max()))
    pair = target * (int(kind.max()) + 1) + kind[source]
    distinct, of_pair, alike = np.unique(pair, return_inverse=True, return_counts=True)
    bound = np.where(alike[of_pair] == 1, flow - spare, 0)
    for turn in range(ORDERS):
        if (bound > 0).sum() > FEW:
            bound = np.minimum(bound, _another(problem, turn) - spare)
    order = np.flatnonzero(bound > 0)
    order = order[np.lexsort((target[order], -(bound / among)[order]))]
    kinds_at = np.bincount(distinct // (int(kind.max()) + 1), minlength=problem.demand.size)
    arcs = np.flatnonzero(kinds_at[target] > 1)  # places of one kind lead nowhere
    best, left = Forced(0, 1, int(target[0])), STEPS
    for edge in order:
        n, place = int(among[edge]), int(target[edge])
        if bound[edge] * best.among <= best.units * n:
            break
        if left <= 0:
            return Forced(int(bound[edge]), n, place, exact=False)
        left -= source.size
        most = int(flow[edge] - spare[edge])
        units = most - _led_elsewhere(problem, flow, kind, arcs, int(edge), most)
        if units * best.among > best.units * n:
            best = Forced(units, n, place)
    return best


def _another(problem: Transport, turn: int) -> Numbers:
    """A flow found with sources and targets in another order."""
    sources, targets = (_turned(numbers.size, turn) for numbers in (problem.supply, problem.demand))
    moved = Transport(
        problem.supply[np.argsort(sources)],
        problem.demand[np.argsort(targets)],
        sources[problem.source],
        targets[problem.target],
    )
    flow = flow_of(moved)
    assert flow is not None
    return flow


def _turned(count: int, turn: int) -> Numbers:
    """The numbers below `count`, backwards from another place each turn."""
    return np.roll(np.arange(count)[::-1], turn * count // ORDERS)


def _replaceable(problem: Transport, flow: Numbers, units: int) -> Numbers:
    """A number for each source, the same for those that can take each other's place by `units` units."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    shape = (problem.demand.size, problem.supply.size)
    may = csr_array((np.ones(flow.size, np.int64), (problem.target, problem.source)), shape=shape)
    has = csr_array((flow, (problem.target, problem.source)), shape=shape)
    between = (may.T @ has).tocoo()
    wide = between.data >= units
    pairs = _matrix(np.ones(int(wide.sum()), np.int32), between.row[wide], between.col[wide], problem.supply.size)
    _, kind = connected_components(pairs, connection="strong")
    return np.asarray(kind, dtype=np.int64)


def _led_elsewhere(problem: Transport, flow: Numbers, kind: Numbers, arcs: Numbers, edge: int, most: int) -> int:
    """How many of `most` units of an edge can go another way, the rest of its target's sources taking their place."""
    from scipy.sparse.csgraph import maximum_flow

    source, target = problem.source, problem.target
    kinds, first = int(kind.max()) + 1, int(kind[source[edge]])
    beside = np.unique(kind[source[(target == target[edge]) & (source != source[edge])]])
    if not beside.size:
        return 0
    arcs = arcs[target[arcs] != target[edge]]
    last = kinds + problem.demand.size
    rows = np.concatenate([kind[source[arcs]], kinds + target[arcs], beside])
    columns = np.concatenate([kinds + target[arcs], kind[source[arcs]], np.full(beside.size, last)])
    units = np.concatenate([np.full(arcs.size, most), np.minimum(flow[arcs], most), np.full(beside.size, most)])
    solution = maximum_flow(_matrix(units, rows, columns, last + 1), first, last)
    return min(most, int(solution.flow_value))


def _matrix(data: Any, rows: Any, columns: Any, size: int) -> csr_array:
    """Square and sparse; entries that stand twice are added."""
    from scipy.sparse import csr_array

    return csr_array((data.astype(np.int32), (rows, columns)), shape=(size, size))
