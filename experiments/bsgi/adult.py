"""Adult as the BSGI paper has it: what each method loses at each l, how long it takes, and how that grows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from experiments.reproduce import Lab, Point
from experiments.reproduce.paper import Value
from pluralis.assembling.assembly import assemble
from pluralis.auditing import audit
from pluralis.grouping.plan import Plan
from pluralis.method import Method, method_for
from pluralis.metrics import Loss, measure
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode
from pluralis.table.sources import read_table

ADULT = "adult_clean_30162.csv.gz"
SENSITIVE = "occupation"
LS = range(2, 8)
NUMBERS = ("age", "fnlwgt", "education-num", "hours-per-week")
CATEGORIES = ("marital-status", "race", "sex")
QUASI = (*NUMBERS, *CATEGORIES)
MODELS: tuple[dict[str, Any], ...] = (
    {"model": "distinct"},
    {"model": "entropy"},
    {"model": "recursive", "c": 1.01},
    {"model": "unique-distinct"},
    {"model": "frequency"},
)
KEYS = 3
TREES = Path(__file__).resolve().parent / "trees"
SETS, STAR, LIGHT = "sets", "value or *", "sets of weight 1/10"


class Way(NamedTuple):
    """A method and how it is set: the test on sensitive values, the paper's variant or the default, options."""

    method: str
    model: str = "frequency"
    variant: str = "hardened"
    drawn: bool = False  # whether its result depends on the key
    options: Mapping[str, Any] = {}


MAX_L, SLACK, DEFAULT, PASSES = "BSGI", "BSGI, slack", "BSGI, default", "BSGI, 5 passes"
RELAXED, STRICT, FREQUENCY, INCOGNITO = "Mondrian", "Mondrian, strict", "Mondrian, 1/l", "Incognito"
WAYS = {
    MAX_L: Way("bsgi", variant="paper", drawn=True),
    SLACK: Way("bsgi", drawn=True, options={"refine": 0}),
    DEFAULT: Way("bsgi", drawn=True),
    PASSES: Way("bsgi", drawn=True, options={"refine": 5}),
    RELAXED: Way("mondrian", "distinct", "paper", options={"mode": "relaxed"}),
    STRICT: Way("mondrian", "distinct", "paper", options={"mode": "strict"}),
    FREQUENCY: Way("mondrian", "frequency", "paper", options={"mode": "relaxed"}),
    INCOGNITO: Way("incognito", "distinct"),
}


@cache
def adult(path: Path) -> pl.DataFrame:
    """Its eight attributes, and workclass."""
    return read_table(path).select(*QUASI, SENSITIVE, "workclass").with_columns(pl.col(NUMBERS).cast(pl.Int64))


def keys(count: int) -> list[Key]:
    """The test key, and others that are the same in every run."""
    return [Key.test(), *(Key(bytes([i] * 32)) for i in range(1, count))]


def policy_for(way: Way, l: int, categories: str = SETS, **sensitive: Any) -> Policy:
    """Seven quasi-identifiers, one sensitive. Categories are published as sets of values, or as a value or `*`."""
    attributes: dict[str, Any] = {name: {"role": "quasi", "type": "number"} for name in NUMBERS}
    for name in CATEGORIES:
        tree = {"hierarchy": {"file": f"{name}.csv"}} if categories == STAR else {}
        attributes[name] = {"role": "quasi", "weight": 0.1 if categories == LIGHT else 1.0, **tree}
    attributes[SENSITIVE] = {"role": "sensitive", "l": l, "model": way.model, **sensitive}
    publish = {"method": way.method, "variant": way.variant, "options": dict(way.options)}
    data = {"version": 1, "attributes": attributes, "others": "drop", "publish": publish}
    return Policy.from_dict(data, folder=TREES)


def released(frame: pl.DataFrame, policy: Policy, key: Key) -> Release:
    """The release in memory, neither attacked nor written."""
    table, method = encode(frame, policy), method_for(policy)
    plan = method.plan(table, policy, Draw(key))
    return assemble(plan, table, policy, method, Draw(key))


# what is lost: Figures 5 and 6, Table 5 -----------------------------------------------------------------------------


def quality(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """Losses of one method at one l; where it draws, the mean over keys."""
    frame, way, l = adult(lab.file(ADULT)), WAYS[str(point["method"])], _l(point)
    count = KEYS if way.drawn and not lab.quick else 1
    losses = [_lost(released(frame, policy_for(way, l), key), frame, l) for key in keys(count)]
    yield {"keys": count, **{name: float(np.mean([one[name] for one in losses])) for name in losses[0]}}


def _lost(release: Release, frame: pl.DataFrame, l: int) -> dict[str, float]:
    loss: Loss = measure(release, frame)
    worst, mean = top_shares(release)
    return {
        "groups": loss.groups,
        "average_group": loss.average_group,
        "largest_group": max(loss.group_sizes),
        "above_l": sum(n for size, n in loss.group_sizes.items() if size > l),
        "dm": loss.discernibility,
        "ncp": loss.ncp,
        "il": loss.ncp * len(QUASI) * frame.height,
        "worst_share": worst,
        "mean_share": mean,
        **{f"ncp_{name}": loss.ncp_by_attribute[name] for name in QUASI},
    }


def top_shares(release: Release) -> tuple[float, float]:
    """The share of a group's commonest value: in the worst group, and for a person on average."""
    rows = release.tables["microdata"]
    counts = rows.group_by("group", SENSITIVE).len()
    groups = counts.group_by("group").agg(pl.col("len").max().alias("top"), pl.col("len").sum().alias("rows"))
    share = groups["top"] / groups["rows"]
    return float(share.max()), float((share * groups["rows"]).sum() / rows.height)  # type: ignore[arg-type]


def _l(point: Point) -> int:
    assert isinstance(point["l"], int)
    return point["l"]


# what the paper leaves open -----------------------------------------------------------------------------------------


def ratio(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """BSGI's IL as a share of Mondrian's, for one reading of what the paper does not say."""
    frame, l = adult(lab.file(ADULT)), _l(point)
    way = Way("mondrian", str(point["test"]), "paper", options={"mode": point["cut"]})
    categories = str(point["categories"])
    mondrian = measure(released(frame, policy_for(way, l, categories), Key.test()), frame)
    bsgi = _bsgi(lab.file(ADULT), l, categories)
    yield {
        "bsgi": bsgi.ncp,
        "mondrian": mondrian.ncp,
        "ratio": bsgi.ncp / mondrian.ncp,
        "average_group": mondrian.average_group,
        "lower_attributes": sum(bsgi.ncp_by_attribute[name] < mondrian.ncp_by_attribute[name] for name in QUASI),
    }


@cache
def _bsgi(path: Path, l: int, categories: str) -> Loss:
    return measure(released(adult(path), policy_for(WAYS[MAX_L], l, categories), Key.test()), adult(path))


# models: Observation 1 ----------------------------------------------------------------------------------------------


def models(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """Whether what is published keeps a model of diversity, by the audit, and the share of a value in some group.

    Mondrian cannot aim at unique-distinct diversity.
    """
    frame, l = adult(lab.file(ADULT)), _l(point)
    sensitive = next(dict(model) for model in MODELS if model["model"] == point["model"])
    for method in (MAX_L, DEFAULT, RELAXED):
        if (method, point["model"]) != (RELAXED, "unique-distinct"):
            policy = policy_for(WAYS[method], l, **sensitive)
            verdict = audit(released(frame, policy, Key.test()), allow_test=True)
            yield {"method": method, "holds": verdict.holds, "top_share": verdict.findings[-1].top_share}


# time: Figure 4 -----------------------------------------------------------------------------------------------------


def seconds(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """Seconds to plan at one l: the fastest and the mean of three runs."""
    taken = _timed(adult(lab.file(ADULT)), WAYS[str(point["method"])], _l(point), 3)
    yield {"seconds": min(taken), "mean_seconds": float(np.mean(taken))}


def growth(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """Seconds to plan for a table of some size: Adult drawn with replacement, fnlwgt moved by up to 500."""
    frame, rows = adult(lab.file(ADULT)), point["rows"]
    assert isinstance(rows, int)
    if rows < frame.height:
        frame = frame.sample(rows, seed=2008)
    elif rows > frame.height:
        rng = np.random.default_rng(2008)
        moved = pl.col("fnlwgt") + pl.Series(rng.integers(-500, 501, rows))
        frame = frame[rng.integers(0, frame.height, rows)].with_columns(moved)
    taken = _timed(frame, WAYS[str(point["method"])], _l(point), 3 if rows < 100_000 else 1)
    yield {"seconds": min(taken)}


def _timed(frame: pl.DataFrame, way: Way, l: int, runs: int) -> list[float]:
    policy = policy_for(way, l)
    method = method_for(policy)
    _plan(method, encode(frame.head(1_000), policy), policy)  # what is compiled at the first call is not measured
    table = encode(frame, policy)
    return [_plan(method, table, policy)[1] for _ in range(runs)]


def _plan(method: Method, table: Table, policy: Policy) -> tuple[Plan, float]:
    begin = time.process_time()
    plan = method.plan(table, policy, Draw(Key.test()))
    return plan, time.process_time() - begin
