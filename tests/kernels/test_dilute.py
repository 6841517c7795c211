"""Merging groups around a row: the compiled loop makes the groups that its literal version makes."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import merging as naive
from pluralis.grouping.incorporation import merge_until_diverse
from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.select import Rules


@pytest.mark.parametrize("people", [False, True])
def test_groups_are_those_of_the_literal_version(people: bool) -> None:
    merged = failures = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        rows, attributes = int(random.integers(4, 60)), int(random.integers(1, 4))
        values = random.integers(0, 6, (attributes, rows)) * (random.random((attributes, rows)) < 0.8)
        person = random.integers(0, rows, rows).astype(np.int32) if people else np.empty(0, np.int32)
        rules = Rules(values.astype(np.int32), np.ones(attributes), person, np.full(attributes, -1))
        ls = random.integers(2, 4, attributes)
        group_of = np.unique(random.integers(0, rows // 3 + 1, rows), return_inverse=True)[1].astype(np.int64)
        unplaced = np.sort(random.permutation(rows)[: rows // 3])
        group_of[unplaced] = SUPPRESSED
        after, failed = merge_until_diverse(group_of, unplaced, rules, ls)
        expected, refused = naive.merged(group_of, unplaced, rules, ls)
        assert after.tolist() == expected.tolist()
        assert failed.tolist() == refused
        failures += len(refused)
        merged += unplaced.size - len(refused)
    assert min(merged, failures) > 20
