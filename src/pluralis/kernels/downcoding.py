"""Counting people under labels that have certain values."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def count_guesses(codes, low, high, sets, starts, members, first, column, code, inside, counts):
    """inside[b] = rows in box b; counts[g] = those of them with the code of guess g, one of first[b]:first[b + 1]."""
    for box in range(low.shape[0]):
        for row in range(codes.shape[0]):
            covered = True
            for c in range(codes.shape[1]):
                row_code = codes[row, c]
                if row_code < low[box, c] or row_code > high[box, c]:
                    covered = False
                    break
                s = sets[box, c]
                if s >= 0:
                    a, b = starts[s], starts[s + 1]
                    while a < b:
                        m = (a + b) // 2
                        if members[m] < row_code:
                            a = m + 1
                        else:
                            b = m
                    if a == starts[s + 1] or members[a] != row_code:
                        covered = False
                        break
            if covered:
                inside[box] += 1
                for g in range(first[box], first[box + 1]):
                    if codes[row, column[g]] == code[g]:
                        counts[g] += 1
