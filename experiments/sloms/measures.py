"""The experiments of the SLOMS paper's section V, and beside them the least that must be suppressed, and the slices.

Points are few settings each. Rows of results hold means over keys; `keys` says how many.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import combinations
from statistics import mean, median
from typing import Any

import numpy as np
import polars as pl

from experiments.reproduce import Experiment, Lab, Point
from experiments.sloms.census import (
    KACA,
    MBF,
    METHODS,
    MSB,
    PRINTED,
    QUASI,
    SENSITIVE,
    SLICES,
    SLOMS,
    Made,
    everybody,
    generalizing,
    keys,
    made,
    policy_for,
    required,
    workers,
)
from experiments.sloms.worked import WORKED, marked, worked
from pluralis.attacks.base import Options
from pluralis.attacks.dependency import ATTACK as DEPENDENCY
from pluralis.auditing import audit
from pluralis.grouping.correlation import correlations
from pluralis.grouping.eligibility import largest_l, most_kept
from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan
from pluralis.method import method_for
from pluralis.method.sloms import slices_of
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import encode

Row = Mapping[str, Any]
FOUR, ALONE, GROUPS = "KACA, four attributes", "KACA, occupation alone", "MBF's groups generalized"
TIMES = 3  # a plan is timed so often, after a first time that is not


# figures 2 and 3 ----------------------------------------------------------------------------------------------------


def suppressed(point: Point, lab: Lab) -> Iterator[Row]:
    """The suppression ratio and the additional information loss of a method: means over keys."""
    n, d, l = (int(str(point[name])) for name in ("n", "d", "l"))
    table, policy = workers(lab, n), policy_for(str(point["method"]), d, l)
    releases = [made(table, policy, key) for key in keys(lab)]
    ratios = [one.suppressed_share if one else 1.0 for one in releases]
    losses = [one.loss(table).additional_loss for one in releases if one]
    yield {
        "suppressed_share": mean(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "additional_loss": mean(loss or 0.0 for loss in losses) if losses else None,
        "groups": mean(one.groups if one else 0 for one in releases),
        "keys": len(releases),
    }


def by_slice(point: Point, lab: Lab) -> Iterator[Row]:
    """What MSB-KACA suppresses with each of MSB's priorities, which the paper leaves open, and of it each slice."""
    table, asked = workers(lab), policy_for(KACA, int(str(point["d"])), int(str(point["l"])))
    policy = _with(asked, options={**asked.publish.options, "priority": str(point["priority"]).lower()})
    one = required(made(table, policy, Key.test()))
    first, second = (float((slice.group_of == SUPPRESSED).mean()) for slice in one.slices)
    yield {"suppressed_share": one.suppressed_share, "first_slice": first, "second_slice": second}


def least(point: Point, lab: Lab) -> Iterator[Row]:
    """What the most skewed attribute alone forces every method to suppress."""
    d, l = int(str(point["d"])), int(str(point["l"]))
    table = workers(lab) if point["people"] == "at work" else everybody(lab)
    forced = {name: 1 - most_kept(_counts(table[name]), l).sum() / table.height for name in SENSITIVE[:d]}
    worst = max(forced, key=lambda name: forced[name])
    yield {"suppressed_share": float(forced[worst]), "attribute": worst}


def _counts(values: pl.Series) -> np.ndarray:
    return values.value_counts()["count"].to_numpy().astype(np.int64)


# figure 4 -----------------------------------------------------------------------------------------------------------


def distorted(point: Point, lab: Lab) -> Iterator[Row]:
    """Distortion (equation 4) over published rows, and if a row that is suppressed counts as `*` in every attribute."""
    quasi, n, method = int(str(point["quasi"])), int(str(point["n"])), str(point["method"])
    table = workers(lab, n)
    releases = [_generalized(table, method, quasi, key) for key in keys(lab)]
    rows = [int((one.plan.group_of != SUPPRESSED).sum()) if one else 0 for one in releases]
    totals = [one.loss(table).distortion or 0.0 if one else 0.0 for one in releases]
    of_rows = [total / kept for total, kept in zip(totals, rows, strict=True) if kept]
    yield {
        "distortion": mean(totals),
        "with_suppressed": mean(total + (n - kept) * quasi for total, kept in zip(totals, rows, strict=True)),
        "of_a_row": mean(of_rows) if of_rows else None,
        "published": mean(rows) / n,
        "suppressed_share": mean(one.suppressed_share if one else 1.0 for one in releases),
        "classes": mean(one.plan.groups if one else 0 for one in releases),
        "keys": len(releases),
    }


def _generalized(table: pl.DataFrame, method: str, quasi: int, key: Key) -> Made | None:
    if method in SLOMS:
        return made(table, policy_for(method, 4, 6, quasi), key)
    policy = generalizing(1 if method == ALONE else 4, 6, quasi)
    if method != GROUPS:
        return made(table, policy, key)
    groups = made(table, policy_for(MBF, 4, 6, quasi), key)
    return groups and groups._replace(plan=GeneralizedPlan(groups.plan.group_of), policy=policy)


# figure 5 -----------------------------------------------------------------------------------------------------------


def timed(point: Point, lab: Lab) -> Iterator[Row]:
    """Processor seconds of a method's plan, the median of a few times, compiled before."""
    n, d, l = (int(str(point[name])) for name in ("n", "d", "l"))
    policy = policy_for(str(point["method"]), d, l)
    table = encode(workers(lab, n), policy)
    took = []
    for _ in range(1 + TIMES):
        begin = time.process_time()
        method_for(policy).plan(table, policy, Draw(Key.test()))
        took.append(time.process_time() - begin)
    yield {"seconds": median(took[1:]), "times": TIMES}


# slices, data, what is promised -------------------------------------------------------------------------------------


def sliced(point: Point, lab: Lab) -> Iterator[Row]:
    """The slice of each attribute: of Table VIII (for five, of the text), and as correlation has it."""
    d = int(str(point["d"]))
    columns = [encode(workers(lab), policy_for(KACA, d, 3))[name] for name in SENSITIVE[:d]]
    by_correlation = [[column.name for column in slice] for slice in slices_of(columns, 2).slices]
    first = next(i for i, slice in enumerate(by_correlation) if SENSITIVE[0] in slice)
    for i, name in enumerate(SENSITIVE[:d]):
        yield {
            "number": 6 + i,
            "attribute": name,
            "paper": 1 if i < SLICES[d][0] else 2,
            "by_correlation": 1 if name in by_correlation[first] else 2,
        }


def correlated(_: Point, lab: Lab) -> Iterator[Row]:
    """Φ² of every two sensitive attributes (equation 1)."""
    table = encode(workers(lab), policy_for(KACA, 6, 3))
    phi2 = correlations([table[name] for name in SENSITIVE])
    for i, j in combinations(range(len(SENSITIVE)), 2):
        yield {"one": 6 + i, "other": 6 + j, "phi2": float(phi2[i, j])}


def described(point: Point, lab: Lab) -> Iterator[Row]:
    """How many values an attribute has, and how common the commonest is."""
    name, whole = str(point["attribute"]), everybody(lab)
    working = whole.filter(pl.col(SENSITIVE[0]) != 0)
    counts = _counts(working[name])
    yield {
        "rows": whole.height,
        "distinct": whole[name].n_unique(),
        "rows_at_work": working.height,
        "distinct_at_work": counts.size,
        "commonest_at_work": float(counts.max() / working.height),
        "largest_l_at_work": largest_l(counts),
    }


def degraded(point: Point, lab: Lab) -> Iterator[Row]:
    """Whether SLOMS with one slice and without k forms MSB's groups, and whether MSB's default forms the paper's."""
    table, asked = workers(lab), policy_for(str(point["method"]), 4, int(str(point["l"])))
    how = {"slices": 1, "priority": str(point["method"]).lower()}
    as_sloms = _with(asked, method="sloms", variant="paper", options=how)
    by_msb, by_sloms, by_default = (
        required(made(table, policy, Key.test())) for policy in (asked, as_sloms, _with(asked, variant="hardened"))
    )
    yield {
        "groups": by_msb.groups,
        "one_slice_the_same": int(np.array_equal(by_msb.plan.group_of, by_sloms.slices[0].group_of)),
        "default_the_same": int(np.array_equal(by_msb.plan.group_of, by_default.plan.group_of)),
    }


def _with(policy: Policy, **how: Any) -> Policy:
    return policy.model_copy(update={"publish": policy.publish.model_copy(update=how)})


def audited(point: Point, lab: Lab) -> Iterator[Row]:
    """Whether a release of MSB-KACA keeps what it promises, and the first finding against it."""
    table = workers(lab)
    policy = policy_for(str(point["method"]), int(str(point["d"])), int(str(point["l"])))
    one = required(made(table, policy, Key.test()))
    verdict = audit(one.release(), original=table, allow_test=True)
    broken = verdict.failures[0].claim if verdict.failures else ""
    yield {"holds": int(verdict.holds), "without_group": int((~one.placed).sum()) if broken else 0, "broken": broken}


def joined(point: Point, lab: Lab) -> Iterator[Row]:
    """How often slices give an attribute away to whoever knows what decides it (detailed codes decide major ones)."""
    table = workers(lab)
    policy = policy_for(str(point["method"]), int(str(point["d"])), int(str(point["l"])))
    one = required(made(table, policy, Key.test()))
    for result in DEPENDENCY.run(one.release(), table, Options()):
        yield {
            "attribute": result.attribute,
            "success": result.success,
            "rows": result.targets,
            "promised": 1 / int(str(point["l"])),
        }


# settings -----------------------------------------------------------------------------------------------------------

LS, DS, NS = range(3, 10), range(3, 7), range(2_000, 10_001, 2_000)
COMPARED = (*SLOMS, FOUR, ALONE, GROUPS)
IN_FIGURES_2_AND_3: list[Point] = [
    {"n": n, "d": d, "l": l, "method": method}
    for n, d, l, methods in [
        *((10_000, d, l, (*METHODS, PRINTED) if d == 5 else METHODS) for d in DS for l in LS),
        *((n, 4, 6, METHODS) for n in NS[:-1]),
    ]
    for method in methods
]
IN_FIGURE_4: list[Point] = [
    {"quasi": quasi, "n": n, "method": m}
    for quasi, n in [*((quasi, 10_000) for quasi in range(2, 6)), *((5, n) for n in NS[:-1])]
    for m in COMPARED
]
IN_FIGURE_5: list[Point] = [
    {"n": n, "d": d, "l": l, "method": m}
    for n, d, l in dict.fromkeys(
        [*((n, 4, 6) for n in NS), *((10_000, d, 6) for d in DS), *((10_000, 4, l) for l in range(3, 8))]
    )
    for m in METHODS
]
QUICK = ((2_000, 4, 6), (10_000, 4, 6), (10_000, 3, 6), (10_000, 4, 3))
LEAST: list[Point] = [{"people": people, "d": d, "l": l} for people in ("at work", "everybody") for d in DS for l in LS]
PRIORITIES: list[Point] = [{"d": d, "l": l, "priority": p} for d in DS for l in LS[:5] for p in MSB]
EXAMPLE: list[Point] = [{"what": what} for what in WORKED]
ATTRIBUTES: list[Point] = [{"attribute": name} for name in (*QUASI, *SENSITIVE)]
DRAWN: list[Point] = [{"draw": i} for i in range(10)]
ONE_SLICE: list[Point] = [{"method": method, "l": 3} for method in MSB]
JOINED: list[Point] = [{"method": method, "d": d, "l": 4} for d in (5, 6) for method in SLOMS]
AUDITED: list[Point] = [{"method": method, "d": d, "l": 4} for d in (4, 6) for method in SLOMS]

EXPERIMENTS = (
    Experiment("worked", "the worked example", EXAMPLE, EXAMPLE, worked),
    Experiment("attributes", "attributes (Table VII)", ATTRIBUTES, ATTRIBUTES, described),
    Experiment("correlation", "correlation of attributes", [{}], [{}], correlated),
    Experiment("slices", "slices (Table VIII)", [{"d": d} for d in DS], [{"d": d} for d in DS], sliced),
    Experiment("least", "the least that must be suppressed", LEAST, LEAST, least),
    Experiment(
        "suppression",
        "suppression ratio and additional loss (Figures 2 and 3)",
        IN_FIGURES_2_AND_3,
        [p for p in IN_FIGURES_2_AND_3 if p["l"] in (3, 6, 9) and p["d"] in (3, 4) and p["n"] in (6_000, 10_000)],
        suppressed,
    ),
    Experiment(
        "priorities",
        "MSB-KACA by priority and slice",
        PRIORITIES,
        [p for p in PRIORITIES if p["d"] == 4 and p["l"] in (3, 6)],
        by_slice,
    ),
    Experiment(
        "distortion",
        "distortion (Figure 4)",
        IN_FIGURE_4,
        [p for p in IN_FIGURE_4 if (p["quasi"], p["n"]) in ((2, 10_000), (5, 10_000), (5, 4_000))],
        distorted,
    ),
    Experiment(
        "time",
        "time (Figure 5)",
        IN_FIGURE_5,
        [p for p in IN_FIGURE_5 if (p["n"], p["d"], p["l"]) in QUICK],
        timed,
    ),
    Experiment("one_slice", "one slice", ONE_SLICE, ONE_SLICE[:1], degraded),
    Experiment("audit", "audits", AUDITED, AUDITED[:2], audited),
    Experiment("joined", "slices joined by what decides what", JOINED, JOINED[:2], joined),
    Experiment("marked", "rows without a group", DRAWN, DRAWN, marked),
)
