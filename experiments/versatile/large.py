"""Figures 4-10: gd, uad and single-attribute on tables of 18 attributes, and how uad grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import polars as pl

from experiments.reproduce import Experiment, Lab, Point
from experiments.reproduce.paper import Value
from experiments.versatile.releases import GD, MULTI, MULTI_PAPER, SINGLE, UAD, digest, planned, schema_of, text, whole
from experiments.versatile.tables import rule_set, table_of, texas, values_of
from pluralis.errors import Infeasible
from pluralis.metrics.kl import kl_divergence
from pluralis.metrics.workloads import answers, workload
from pluralis.policy.rules import Rule
from pluralis.release.release import Release

TABLES = ("Texas", "claims")
SETS, QUERIES, QUICK_QUERIES = 3, 25, 8
COUNT, LHS, L, DIMENSIONS, PART = 5, 3, 10, 4, 0.4
COUNTS, LEFTS, LS = (1, 3, 5, 7, 9), (1, 3, 5, 7, 9), (5, 10, 15, 20)
GROWTH = (30_000, 100_000, 300_000, 1_000_000)
ASKED = [(d, PART) for d in (1, 2, 4, 6, 8, 10)] + [(DIMENSIONS, p) for p in (0.3, 0.5, 0.6, 0.7)]


@lru_cache(maxsize=64)
def rules_for(table: str, lab: Lab, count: int, lhs: int, set_: int) -> tuple[Rule, ...]:
    """The rules of a set, for the largest l that is measured, so that every l is asked of the same rules.

    Where a column decides another one (a county its state), Pluralis refuses a rule that keeps them apart; the paper
    has no such case, and such a set is drawn again.
    """
    frame = table_of(table, lab)
    for seed in range(1000 * count + 100 * lhs + set_, 10**9, 17):
        rules = rule_set(frame, count, lhs, max(LS), seed)
        try:
            planned(frame, rules, UAD)
        except Infeasible:
            continue
        return rules
    raise AssertionError


def with_l(rules: tuple[Rule, ...], l: int) -> tuple[Rule, ...]:
    return tuple(rule.model_copy(update={"l": l}) for rule in rules)


@lru_cache(maxsize=2)
def _released(table: str, lab: Lab, method: str, rules: tuple[Rule, ...]) -> tuple[Release, str, float]:
    """A release, what tells it from others, and the seconds of its plan."""
    done = planned(table_of(table, lab), rules, method)
    return done.release(), f"{method} l={rules[0].l} {schema_of(done.plan, done.policy)}", done.seconds


_kl: dict[tuple[str, Lab, str], float] = {}
_error: dict[tuple[str, Lab, str, int, int, float], float] = {}


def measure(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """One release: KL divergence, the mean error of queries, seconds of the plan, and which columns stand together."""
    setting = {"rules": COUNT, "lhs": LHS, "l": L, "dimensions": DIMENSIONS, "part": PART, **point}
    table, set_, part = text(setting, "table"), whole(setting, "set"), setting["part"]
    assert isinstance(part, float)
    rules = with_l(rules_for(table, lab, whole(setting, "rules"), whole(setting, "lhs"), set_), whole(setting, "l"))
    release, identity, seconds = _released(table, lab, text(setting, "method"), rules)
    if identity.startswith(SINGLE):
        identity = SINGLE  # the same whatever the rules are
    schema = digest(identity.partition(" l=")[2].partition(" ")[2] or identity)
    yield {
        "kl": _kl_of(table, lab, identity, release),
        "error": _error_of(table, lab, identity, release, (set_, whole(setting, "dimensions"), part)),
        "seconds": seconds,
        "tables": len(release.manifest.tables),
        "schema": schema,
    }


def _kl_of(table: str, lab: Lab, identity: str, release: Release) -> float:
    if (table, lab, identity) not in _kl:
        kl = kl_divergence(release, table_of(table, lab))
        assert kl is not None
        _kl[table, lab, identity] = kl
    return _kl[table, lab, identity]


def _error_of(table: str, lab: Lab, identity: str, release: Release, asked: tuple[int, int, float]) -> float:
    key = (table, lab, identity, *asked)
    if key not in _error:
        seed, dimensions, part = asked
        queries = workload(
            values_of(table, lab),
            None,
            queries=QUICK_QUERIES if lab.quick else QUERIES,
            dimensions=dimensions,
            part=part,
            seed=seed,
        )
        _error[key] = answers(release, table_of(table, lab), queries).mean_error
    return _error[key]


def _varied(
    setting: str, title: str, methods: tuple[str, ...], values: tuple[int, ...], quick: tuple[int, ...]
) -> Experiment:
    """One setting takes several values, the others stay."""

    def points(sets: int, some: tuple[int, ...]) -> list[Point]:
        return [
            {"table": table, "set": set_, setting: value, "method": method}
            for table in TABLES
            for set_ in range(sets)
            for value in some
            for method in methods
        ]

    return Experiment(setting, f"Texas and claims, {title}", points(SETS, values), points(1, quick), measure)


def _asked(sets: int, asked: list[tuple[int, float]]) -> list[Point]:
    return [
        {"table": table, "set": set_, "method": method, "dimensions": dimensions, "part": part}
        for table in TABLES
        for set_ in range(sets)
        for method in (UAD, SINGLE)
        for dimensions, part in asked
    ]


RULES = _varied("rules", "1 to 9 rules (Figures 5, 6)", (UAD, GD, SINGLE), COUNTS, quick=(1, 5))
QUERIED = Experiment(
    "queries",
    "Texas and claims, 1 to 10 attributes in a query, 30 to 70 % of values (Figures 7, 8)",
    _asked(SETS, ASKED),
    _asked(1, [(1, PART), (4, PART), (4, 0.6)]),
    measure,
)
LEFT = _varied("lhs", "1 to 9 attributes on the left (Figure 9)", (UAD, SINGLE), LEFTS, quick=(3, 9))
DIVERSE = _varied("l", "l from 5 to 20 (Figure 10)", (UAD, SINGLE), LS, quick=(5, 20))


# seconds ----------------------------------------------------------------------------------------------------------


def measure_seconds(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """Seconds to plan on the generated table, the best of two; none, and why, where the method refuses."""
    rules = with_l(rules_for("Texas", lab, whole(point, "rules"), LHS, whole(point, "set")), L)
    try:
        seconds = _best(table_of("Texas", lab), rules, text(point, "method"))
    except Infeasible as refusal:
        yield {"seconds": None, "refused": str(refusal)}
        return
    yield {"seconds": seconds, "refused": None}


def measure_growth(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """Seconds to plan nine rules as tables like Texas' grow, the best of two."""
    rules = with_l(rules_for("Texas", lab, 9, LHS, 0), L)
    yield {"seconds": _best(texas(whole(point, "rows")), rules, text(point, "method"))}


def _best(table: pl.DataFrame, rules: tuple[Rule, ...], method: str) -> float:
    return min(planned(table, rules, method).seconds for _ in range(2))


def _timed(counts: Iterable[int], methods: tuple[str, ...], sets: int) -> list[Point]:
    return [{"rules": c, "set": set_, "method": m} for c in counts for set_ in range(sets) for m in methods]


SECONDS = Experiment(
    "seconds",
    "generated table, seconds to plan (Figure 4)",
    _timed(range(1, 10), (UAD, GD, SINGLE), SETS) + _timed((1, 2, 5), (MULTI, MULTI_PAPER), 1),
    _timed((1, 5), (UAD, GD, SINGLE), 1) + _timed((5,), (MULTI, MULTI_PAPER), 1),
    measure_seconds,
)
GROWN = Experiment(
    "growth",
    "generated tables of 30,000 to a million rows",
    [{"rows": rows, "method": method} for rows in GROWTH for method in (UAD, GD)],
    [{"rows": rows, "method": method} for rows in (10_000, 40_000) for method in (UAD, GD)],
    measure_growth,
)
