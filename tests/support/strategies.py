"""Random tables with their policies, by Hypothesis and by seeds."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from pluralis.policy.policy import Policy
from pluralis.table.encoding import Table, encode

TREE = """\
apple;pome;fruit;*
pear;pome;fruit;*
quince;pome;fruit;*
plum;stone;fruit;*
leek;bulb;vegetable;*
onion;bulb;vegetable;*
kale;leaf;vegetable;*
rice;grain;other;*
"""
QUASI: dict[str, tuple[dict[str, Any], list[Any], Any]] = {
    "number": ({"type": "number"}, [0, 1, 2, 5, 10, 11, 40, 90], pl.Int64),
    "decimal": ({"type": "number"}, [-0.3, 0.1, 0.2, 0.30000000000000004, 7.5], pl.Float64),
    "flat": ({}, list("abcdefg"), pl.String),
    "tree": ({"hierarchy": {"file": "tree.csv"}}, [line.split(";")[0] for line in TREE.split()], pl.String),
    "mask": ({"hierarchy": {"mask": "right"}}, ["10075", "10076", "10077", "10100", "204", "21"], pl.String),
    "intervals": ({"type": "number", "hierarchy": {"intervals": [5, 20]}}, [1, 3, 4, 7, 22, 60], pl.Int64),
}
EXAMPLES = settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))


class Case(NamedTuple):
    """A table and its policy."""

    frame: pl.DataFrame
    policy: Policy

    def table(self) -> Table:
        return encode(self.frame, self.policy)


class Sketch(NamedTuple):
    """A case without the folder in which its hierarchies stand."""

    columns: dict[str, list[Any]]
    kinds: dict[str, Any]
    attributes: dict[str, dict[str, Any]]
    people: bool
    k: int | None = None

    def placed(self, folder: Path, **publish: Any) -> Case:
        policy = {"version": 1, "attributes": self.attributes, "publish": publish}
        if self.people:
            policy["person"] = "who"
        if self.k is not None:
            policy["k"] = self.k
        frame = pl.DataFrame({name: pl.Series(name, v, self.kinds[name]) for name, v in self.columns.items()})
        return Case(frame, Policy.from_dict(policy, folder=folder))


@st.composite
def sketches(draw: st.DrawFn, *, rows: int = 40, secrets: int = 3, people: bool = True) -> Sketch:
    """Small tables that are eligible for every sensitive attribute."""
    n = draw(st.integers(2, rows))
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, Any] = {}
    attributes: dict[str, dict[str, Any]] = {}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(sorted(QUASI)), min_size=1, max_size=4))):
        options, domain, dtype = QUASI[kind]
        values = [*domain, None] if draw(st.booleans()) else domain
        columns[f"q{i}"] = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        kinds[f"q{i}"] = dtype
        attributes[f"q{i}"] = {"role": "quasi", "weight": draw(st.sampled_from([1.0, 0.5, 3.0])), **options}
    for i in range(draw(st.integers(1, secrets))):
        width = draw(st.integers(2, 7))
        values = draw(st.lists(st.sampled_from("klmnopq"[:width]), min_size=n, max_size=n))
        if max(Counter(values).values()) * 2 > n:  # too skewed for any l: spread it evenly
            values = ["klmnopq"[row * width // n if width > 1 else 0] for row in range(n)]
            if max(Counter(values).values()) * 2 > n:
                values = ["klmnopq"[row % 7] for row in range(n)]
        l_per = n // max(Counter(values).values())
        columns[f"s{i}"] = values
        kinds[f"s{i}"] = pl.String
        attributes[f"s{i}"] = {"role": "sensitive", "l": draw(st.integers(2, min(4, l_per)))}
    has_people = people and draw(st.booleans())
    if has_people:
        columns["who"] = draw(st.lists(st.integers(0, 2 * n), min_size=n, max_size=n))
        kinds["who"] = pl.Int64
    ls = {name: attribute["l"] for name, attribute in attributes.items() if "l" in attribute}
    first = min(ls, key=lambda name: (-ls[name], name))
    k = draw(st.integers(1, n // max(Counter(columns[first]).values())))
    return Sketch(columns, kinds, attributes, has_people, k if 1 < k <= 5 and draw(st.booleans()) else None)


def one_secret(values: list[str], l: int, random: random.Random | None = None, **publish: Any) -> Case:
    """One number, in order or random, and one sensitive attribute."""
    policy = {
        "version": 1,
        "attributes": {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": l}},
        "publish": publish,
    }
    ages = [random.randint(0, 5) if random else row for row, _ in enumerate(values)]
    return Case(pl.DataFrame({"age": ages, "disease": values}), Policy.from_dict(policy))


def seeded(rows: int, seed: int, values: int, codes: int, secrets: int = 1) -> Case:
    """A larger table, evenly enough spread for l = 3."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": [None if v == 0 else int(v) for v in rng.integers(0, 60, rows)],
        "code": [f"c{v:03}" for v in rng.integers(0, codes, rows)],
        "pay": rng.exponential(1000.0, rows).round(2).tolist(),
        "zip": [f"{v:04}" for v in rng.integers(0, 300, rows) * 7],
    }
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number", "weight": 2.0},
        "code": {"role": "quasi"},
        "pay": {"role": "quasi", "type": "number"},
        "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    }
    for i in range(secrets):
        columns[f"s{i}"] = [f"v{v:03}" for v in rng.permutation(rows) % values]
        attributes[f"s{i}"] = {"role": "sensitive", "l": 3 - (i > 0)}
    return Case(pl.DataFrame(columns, strict=False), Policy.from_dict({"version": 1, "attributes": attributes}))
