"""k-medoids against every choice of medoids, counted out; the silhouette by its definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluralis.grouping.medoids import clusters, medoids, silhouette


def drawn(seed: int, things: int, digits: int) -> np.ndarray:
    """Distances of things from each other; of few digits, so that some are equal."""
    half = np.random.default_rng(seed).random((things, things)).round(digits)
    distances = np.triu(half, 1)
    return distances + distances.T


def lost(distances: np.ndarray, chosen: tuple[int, ...] | list[int]) -> float:
    return float(distances[list(chosen)].min(axis=0).sum())


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([1, 6]), st.data())
def test_no_exchange_improves_what_was_chosen(seed: int, things: int, digits: int, data: st.DataObject) -> None:
    distances = drawn(seed, things, digits)
    count = data.draw(st.integers(1, things))
    chosen = medoids(distances, count)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == count
    for out in chosen:
        for new in set(range(things)) - {*chosen}:
            assert lost(distances, [new, *(one for one in chosen if one != out)]) >= lost(distances, chosen) - 1e-9


def test_it_is_mostly_the_best_of_all_choices() -> None:
    """PAM climbs, so it may end below the top; over random distances it seldom does."""
    best = 0
    for seed in range(300):
        distances = drawn(seed, 4 + seed % 5, 6)
        count = 2 + seed % 3
        least = min(lost(distances, chosen) for chosen in combinations(range(len(distances)), count))
        best += lost(distances, medoids(distances, count)) <= least + 1e-9
    assert best >= 270


@given(st.integers(0, 10**6), st.integers(3, 8))
def test_the_silhouette_is_that_of_its_definition(seed: int, things: int) -> None:
    distances = drawn(seed, things, 6)
    labels = clusters(distances, medoids(distances, 2))
    widths = []
    for i in range(things):
        own = [distances[i, j] for j in range(things) if labels[j] == labels[i] and j != i]
        others = [distances[i, j] for j in range(things) if labels[j] != labels[i]]
        a, b = (float(np.mean(own)) if own else 0.0), float(np.mean(others))
        widths.append((b - a) / max(a, b) if own and max(a, b) else 0.0)
    assert silhouette(distances, labels) == pytest.approx(float(np.mean(widths)))


def test_medoids_are_in_clusters_of_their_own_whatever_lies_beside_them() -> None:
    distances = np.zeros((4, 4))
    chosen = medoids(distances, 3)
    assert len({*clusters(distances, chosen)[chosen].tolist()}) == 3
