"""Sets of which each holds a value of its own: how likely each member is, over all ways to pick different ones."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def pick_different(starts, sets, weight, most, out):
    """out[i, j]: how likely member j of set i is the true one, if the true values of a person's sets all differ.

    Person p has the sets from starts[p] to starts[p + 1], of which the first `most` are looked at together. A member is
    weight[i, j] likely by itself.
    """
    size = sets.shape[1]
    choice = np.zeros(most, np.int64)
    for p in range(starts.size - 1):
        first, many = starts[p], min(most, starts[p + 1] - starts[p])
        for i in range(starts[p], starts[p + 1]):
            for j in range(size):
                out[i, j] = 0.0 if i < first + many else weight[i, j]
        total, choice[:] = 0.0, 0
        while True:
            likely = 1.0
            for i in range(many):
                value = sets[first + i, choice[i]]
                likely *= weight[first + i, choice[i]]
                for k in range(i):
                    if sets[first + k, choice[k]] == value:
                        likely = 0.0
            if likely > 0.0:
                total += likely
                for i in range(many):
                    out[first + i, choice[i]] += likely
            i = 0
            while i < many and choice[i] == size - 1:
                choice[i] = 0
                i += 1
            if i == many:
                break
            choice[i] += 1
        for i in range(first, first + many):
            for j in range(size):
                out[i, j] = out[i, j] / total if total > 0.0 else weight[i, j]
