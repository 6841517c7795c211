"""Random conditions over the attributes of a release."""

from __future__ import annotations

import random

from pluralis.estimate.conditions import All, Check, Condition, Not, Some
from pluralis.release.attributes import attributes_of
from pluralis.release.release import Release
from pluralis.table.labels import is_binned


def random_check(release: Release, rng: random.Random, labels: bool) -> Check:
    """One attribute compared with values that are, or nearly are, in it; with `labels`, bins by these, too."""
    infos = attributes_of(release)
    name = rng.choice(list(infos))
    info = infos[name]
    domain = [value for value in info.domain or () if value is not None]
    if rng.random() < 0.1 or not domain:
        return Check(name, "IS NULL")
    bins = info.role == "sensitive" and is_binned(info.domain)
    if info.type == "number" or (bins and (not labels or rng.random() < 0.6)):
        ends = (0, 19) if bins else (domain[0], domain[-1])
        some = [rng.choice([rng.randint(int(ends[0]), int(ends[1]) + 1), rng.uniform(*ends)]) for _ in range(3)]
        comparison = rng.choice(["=", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN"])
        if comparison == "BETWEEN":
            return Check(name, "BETWEEN", tuple(sorted(some[:2])))
        return Check(name, comparison, tuple(some if comparison == "IN" else some[:1]))
    comparison = rng.choice(["=", "!=", "IN"])
    chosen = rng.sample(domain, min(len(domain), rng.randint(1, 3)))
    return Check(name, comparison, tuple(chosen if comparison == "IN" else chosen[:1]))


def random_condition(release: Release, rng: random.Random, depth: int = 2, *, labels: bool = True) -> Condition:
    """Comparisons joined by AND, OR and NOT, at most `depth` deep."""
    what = rng.random()
    if depth == 0 or what < 0.25:
        return random_check(release, rng, labels)
    if what < 0.35:
        return Not(random_condition(release, rng, depth - 1, labels=labels))
    kind = All if what < 0.8 else Some
    return kind(tuple(random_condition(release, rng, depth - 1, labels=labels) for _ in range(rng.randint(2, 3))))
