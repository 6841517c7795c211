"""Whether one column decides another, and whether chance alone could have made it so."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def agrees(classes, codes, seen):
    """Whether rows of one class have one code. `seen` has a place for every class, -1 in each."""
    for row in range(classes.size):
        group = classes[row]
        if seen[group] < 0:
            seen[group] = codes[row]
        elif seen[group] != codes[row]:
            return False
    return True


@njit(cache=True)
def could_be_chance(sizes, parents, starts, logs, limit):
    """Whether classes of these sizes each hold one value with a chance above e^limit, drawn from their parent's values.

    The logarithms of the shares of parent p's values are `logs[starts[p] : starts[p + 1]]`. Stops where it is clear.
    """
    total = 0.0
    for i in range(sizes.size):
        if sizes[i] < 2:
            continue
        same = 0.0
        for cell in range(starts[parents[i]], starts[parents[i] + 1]):
            same += math.exp(sizes[i] * logs[cell])
        total += math.log(same) if same > 0 else -np.inf
        if total < limit:
            return False
    return True
