"""How likely a value under a label is in each class: probability[class, label], and which classes are possible."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def distribute_whole(low, high, first, last, class_of, probability, possible):
    """Labels of whole numbers low to high; run r of numbers, first[r] to last[r], is in class class_of[r]."""
    for label in range(low.size):
        width = high[label] - low[label] + 1
        for run in range(first.size):
            shared = min(high[label], last[run]) - max(low[label], first[run]) + 1
            if shared > 0:
                probability[class_of[run], label] += shared / width
                possible[class_of[run], label] = 1


@njit(cache=True)
def distribute_real(low, high, first, last, closed, class_of, probability, possible):
    """Labels of numbers low to high, evenly spread; closed[r] says whether run r holds its two ends."""
    for label in range(low.size):
        width = high[label] - low[label]
        for run in range(first.size):
            begin, end = max(low[label], first[run]), min(high[label], last[run])
            if begin > end:
                continue
            at_first, at_last = begin == first[run], end == last[run]
            if begin == end and ((at_first and not closed[run, 0]) or (at_last and not closed[run, 1])):
                continue
            possible[class_of[run], label] = 1
            probability[class_of[run], label] += (end - begin) / width if width > 0 else 1.0


@njit(cache=True)
def distribute_members(starts, members, class_of, probability, possible):
    """Labels that stand for some values each, all as likely; members[starts[i]:starts[i + 1]] are those of label i."""
    for label in range(starts.size - 1):
        each = 1.0 / (starts[label + 1] - starts[label])
        for place in range(starts[label], starts[label + 1]):
            value_class = class_of[members[place]]
            probability[value_class, label] += each
            possible[value_class, label] = 1
