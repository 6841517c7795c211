"""What a release in parts loses: what its parts lose, put together.

Sums       rows, groups and their sizes, distortion, values added. Discernibility follows from the sizes.
Means      NCP and KL divergence, by rows; additional loss, by groups, which is exact where rows have one group each.
           What a part loses is measured by its own values: a number that spans all of a part has lost everything,
           though another part may hold a larger one. KL is exact where quasi-identifiers decide the part, and at most
           what is said where persons do: it is convex.
Shares     of values before and after, exactly for those that every part shows by name; the others are together. The
           bins of numbers are those of all parts, and those of each part count evenly. The distance of a column is the
           mean of those of the parts.
Counts     are asked of all parts, and each sum is compared with the true count in the whole original.
Risk       by classes of each part (`risk.risk_of_parts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pluralis.metrics.distributions import BINS, OTHERS, Distribution, rows_below
from pluralis.metrics.loss import Loss
from pluralis.metrics.risk import risk_of_parts
from pluralis.table.labels import number_text

Shares = npt.NDArray[np.float64]
Number = TypeVar("Number", int, float)


def loss_of_parts(losses: Sequence[Loss], population: int | None = None) -> Loss:
    """The loss of a release whose parts lost this.

    >>> one = Loss(4, 0, 2, 0.3, 0.3, {"age": 0.3}, 8, 2.0, 0.0, {2: 2})
    >>> other = Loss(6, 2, 2, 0.1, 0.325, {"age": 0.1}, 34, 3.0, 0.25, {3: 2})
    >>> both = loss_of_parts([one, other])
    >>> both.rows, both.suppressed, round(both.ncp, 9), both.average_group, both.discernibility
    (10, 2, 0.18, 2.5, 50)
    """
    rows, suppressed, groups = (
        sum(getattr(loss, name) for loss in losses) for name in ("rows", "suppressed", "groups")
    )
    without_group, total = sum(loss.without_group for loss in losses), rows + suppressed
    sizes = Counter[int]()
    for loss in losses:
        sizes.update(loss.group_sizes)
    ncp = _mean(losses, lambda loss: loss.ncp, _rows)
    return Loss(
        rows=rows,
        suppressed=suppressed,
        groups=groups,
        ncp=ncp,
        ncp_with_suppressed=(ncp * rows + suppressed) / total,
        ncp_by_attribute={name: _mean(losses, _lost_in(name), _rows) for name in losses[0].ncp_by_attribute},
        discernibility=sum(size**2 * count for size, count in sizes.items()) + suppressed * total,
        average_group=sum(size * count for size, count in sizes.items()) / groups if groups else 0.0,
        suppressed_share=(suppressed + without_group) / total,
        group_sizes=dict(sorted(sizes.items())),
        without_group=without_group,
        distributions=_distributions(losses),
        kl=_mean_if_known(losses, lambda loss: loss.kl, _rows),
        distortion=_sum_if_known(losses, lambda loss: loss.distortion),
        additional_loss=_mean_if_known(losses, lambda loss: loss.additional_loss, lambda loss: loss.groups),
        added_values=_sum_if_known(losses, lambda loss: loss.added_values),
        risk=risk_of_parts([loss.risk for loss in losses], population),
    )


def _lost_in(name: str) -> Callable[[Loss], float]:
    return lambda loss: loss.ncp_by_attribute[name]


def _rows(loss: Loss) -> int:
    return loss.rows


def _mean(losses: Sequence[Loss], figure: Callable[[Loss], float], weight: Callable[[Loss], int]) -> float:
    weights = [weight(loss) for loss in losses]
    return sum(figure(loss) * own for loss, own in zip(losses, weights, strict=True)) / max(1, sum(weights))


def _mean_if_known(
    losses: Sequence[Loss], figure: Callable[[Loss], float | None], weight: Callable[[Loss], int]
) -> float | None:
    if any(figure(loss) is None for loss in losses):
        return None
    return _mean(losses, lambda loss: figure(loss) or 0.0, weight)


def _sum_if_known(losses: Sequence[Loss], figure: Callable[[Loss], Number | None]) -> Number | None:
    known = [own for loss in losses if (own := figure(loss)) is not None]
    return sum(known[1:], known[0]) if len(known) == len(losses) else None


def _distributions(losses: Sequence[Loss]) -> tuple[Distribution, ...]:
    """Of each column that all parts compare."""
    of_parts = [{own.attribute: own for own in loss.distributions} for loss in losses]
    shared = [name for name in of_parts[0] if all(name in own for own in of_parts)]
    rows = np.array([[loss.rows + loss.suppressed, loss.rows] for loss in losses], np.float64)
    weights = rows / rows.sum(axis=0)
    return tuple(_together([own[name] for own in of_parts], weights) for name in shared)


def _together(parts: Sequence[Distribution], weights: Shares) -> Distribution:
    """The distribution of one column of parts that have these shares of the rows before and after."""
    together = _by_bins(parts, weights) if parts[0].bins else _by_name(parts, weights)
    return replace(together, distance=float(weights[:, 0] @ np.array([own.distance for own in parts])))


def _by_name(parts: Sequence[Distribution], weights: Shares) -> Distribution:
    """Values that every part names, or would name if it had them; all others together."""
    named = [frozenset(own.values[:-1] if own.cut else own.values) for own in parts]
    every = dict.fromkeys(value for own in parts for value in own.values[: len(own.values) - own.cut])
    shown = [
        value for value in every if all(value in own or not one.cut for own, one in zip(named, parts, strict=True))
    ]
    summed = np.zeros((2, len(shown) + 1))
    place = {value: i for i, value in enumerate(shown)}
    for own, weight in zip(parts, weights, strict=True):
        last = len(own.values) - 1 if own.cut else -1
        places = [place.get(value, -1) if i != last else -1 for i, value in enumerate(own.values)]
        for i, shares in enumerate((own.before, own.after)):
            np.add.at(summed[i], places, weight[i] * np.array(shares))
    cut = len(shown) < len(every) or any(own.cut for own in parts)
    end = len(shown) + cut
    before, after = (tuple(own[:end].tolist()) for own in summed)
    return replace(parts[0], values=(*shown, OTHERS)[:end], before=before, after=after, cut=cut)


def _by_bins(parts: Sequence[Distribution], weights: Shares) -> Distribution:
    """Bins from the least number of all parts to the largest."""
    of_parts = [_edges(own) for own in parts]
    edges = np.linspace(min(own[0] for own in of_parts), max(own[-1] for own in of_parts), BINS + 1)
    below = np.zeros((2, BINS + 1))
    for own, ends, weight in zip(parts, of_parts, weights, strict=True):
        for i, shares in enumerate((own.before, own.after)):
            below[i] += weight[i] * rows_below(edges, ends[:-1], ends[1:], np.array(shares))
    names = tuple(number_text(round(float(edge), 6)) for edge in edges[:-1])
    before, after = (tuple(np.diff(own).tolist()) for own in below)
    return replace(parts[0], values=names, before=before, after=after)


def _edges(own: Distribution) -> Shares:
    """The ends of bins, which are equally wide, from where they begin."""
    first, second = float(own.values[0]), float(own.values[1])
    return np.linspace(first, first + BINS * (second - first), BINS + 1)
