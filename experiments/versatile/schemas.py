"""What the paper says of schemas: its running example (Tables 1-4), and the two algorithms on random sets of rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
import polars as pl

from experiments.reproduce import Experiment, Lab, Point
from experiments.reproduce.paper import Value
from experiments.versatile.releases import text, whole
from pluralis import Key, Policy
from pluralis.assembling.assembly import assemble
from pluralis.attacks.adversary.consistent_worlds import candidates, piles_of, propagated
from pluralis.attacks.base import Options
from pluralis.attacks.intersection import ATTACK
from pluralis.auditing.normal_form import Part, normal_form
from pluralis.grouping.plan import BucketizedPlan, MultiPlan, Subplan
from pluralis.grouping.subtable_divergence import hanging
from pluralis.grouping.subtable_schema import Schema, Subtable, keeps
from pluralis.method import method_for
from pluralis.method.gd import starts
from pluralis.method.uad import split
from pluralis.policy.rules import Rule, irreducible
from pluralis.randomness import Draw
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode

# the running example ------------------------------------------------------------------------------------------------

TABLE_1 = pl.DataFrame(
    [
        ("111111", "37", "F", "71000", "asian", "HIV"),
        ("111111", "71", "M", "72000", "white", "diabetes"),
        ("222222", "55", "F", "73000", "black", "diabetes"),
        ("222222", "37", "F", "74000", "white", "alcoholism"),
        ("333333", "23", "M", "71000", "black", "flu"),
        ("333333", "37", "M", "72000", "white", "HIV"),
    ],
    schema=["hospital", "age", "gender", "zipcode", "race", "icd9cm"],
    orient="row",
)
RULES = ("age, icd9cm -> race : l=2", "gender, icd9cm -> zipcode : l=2", "hospital, race -> zipcode : l=2")


class Bucketized(NamedTuple):
    """A table as the paper prints it: what it shows, what it protects, and the bucket of each row of the original."""

    knows: tuple[str, ...]
    protects: str
    bucket: tuple[int, ...]


TABLES_2 = (
    Bucketized(("age", "icd9cm"), "race", (0, 2, 2, 1, 1, 0)),
    Bucketized(("gender", "icd9cm"), "zipcode", (0, 2, 2, 1, 1, 0)),
    Bucketized(("hospital", "race"), "zipcode", (0, 1, 0, 1, 2, 2)),
)
V3_PEOPLE = pl.DataFrame({"q": ["q1", "q2", "q3", "q4"], "z": ["z1", "z2", "z3", "z4"], "s": ["a", "b", "c", "d"]})
V3_TABLES = (Bucketized(("q",), "s", (0, 0, 1, 1)), Bucketized(("z",), "s", (0, 1, 1, 0)))


def part(name: str, attributes: str, protects: str = "", enforced: str | None = None) -> Part:
    left = None if enforced is None else frozenset(enforced.split())
    return Part(name, frozenset(attributes.split()), frozenset(protects.split()), left)


TABLES_3 = [part("a", "gender icd9cm hospital age"), part("b", "race zipcode", "zipcode", "race")]
TABLES_4 = [
    part("t1", "gender icd9cm hospital", "hospital"),
    part("t2", "age hospital zipcode", "zipcode", enforced="hospital"),
    part("t3", "age hospital gender race", "race"),
    part("t4", "age zipcode"),
]


def released(people: pl.DataFrame, tables: Sequence[Bucketized], rules: Sequence[str]) -> Release:
    """What these tables publish together. No two people of a table agree in all of its attributes."""
    policy = Policy.from_dict({"version": 1, "rules": list(rules), "publish": {"method": "uad"}})
    coded = encode(people, policy)
    plan = MultiPlan(
        group_of=np.zeros(coded.rows, np.int64),
        subplans=tuple(_subplan(people, coded, policy, table) for table in tables),
        rules=tuple(map(Rule.parse, rules)),
    )
    return assemble(plan, coded, policy, method_for(policy), Draw(Key.test()))


def _subplan(people: pl.DataFrame, coded: Table, policy: Policy, table: Bucketized) -> Subplan:
    own = coded.projected(table.knows, [table.protects])
    names = [*table.knows, table.protects]
    bucket = dict(zip(people.select(names).rows(), table.bucket, strict=True))
    shown = pl.DataFrame([own[name].published(np.arange(own.rows)) for name in names])
    groups = np.array([bucket[row] for row in shown.rows()], np.int64)
    return Subplan(own, policy.of_part(table.knows, {table.protects: 2}, "anatomy"), BucketizedPlan(groups))


def revealed(release: Release, original: pl.DataFrame, knows: Sequence[str], protected: str) -> set[tuple[str, ...]]:
    """Of whom all tables together leave one value of the protected attribute possible."""
    piles = piles_of(release)
    assert piles is not None
    asked = original.select(knows).unique(maintain_order=True)
    known = {name: piles.code(name, asked[name]) for name in knows}
    may = candidates(piles, propagated(piles), known, protected)
    return {(*asked.row(i), piles.domains[protected][int(row.argmax())]) for i, row in enumerate(may) if sum(row) == 1}


def _attack(release: Release, original: pl.DataFrame) -> tuple[int, float]:
    """How many rules an attacker breaks who joins all tables, and the maximum posterior."""
    results = ATTACK.run(release, original, Options())
    return sum(result.breach for result in results), max(result.worst or 0.0 for result in results)


def measure_example(point: Point, _: Lab) -> Iterator[Mapping[str, Value]]:
    """One part of the example: a number for each thing that the paper says of it."""
    examples: dict[str, Callable[[], dict[str, float]]] = {
        "Tables 2": _tables_2,
        "Table 3": lambda: _kept(TABLES_3, RULES),
        "Table 4": lambda: _kept(TABLES_4, RULES),
        "two rules, one adversary": _v3,
        "four tables in a ring": _ring,
        "section 3": _reduced,
    }
    for what, value in examples[text(point, "example")]().items():
        yield {"what": what, "value": float(value)}


def _tables_2() -> dict[str, float]:
    release = released(TABLE_1, TABLES_2, RULES)
    people = revealed(release, TABLE_1, ("hospital", "race"), "zipcode")
    as_printed = {("111111", "asian", "71000"), ("222222", "black", "73000"), ("333333", "black", "72000"),
            ("333333", "white", "71000")}  # fmt: skip
    alone = [
        _attack(released(TABLE_1.select(*t.knows, t.protects), [t], [r]), TABLE_1)[0]
        for t, r in zip(TABLES_2, RULES, strict=True)
    ]
    broken, posterior = _attack(release, TABLE_1)
    true = set(TABLE_1.select("hospital", "race", "zipcode").rows())
    return {
        "tuples revealed": len(people),
        "revealed tuples that the original has": len(people & true),
        "printed tuples that the original has": len(as_printed & true),
        "rules broken by one table alone": sum(alone),
        "rules broken by all tables": broken,
        "the maximum posterior": posterior,
    }


def _kept(tables: Sequence[Part], rules: Sequence[str]) -> dict[str, float]:
    standings = normal_form([Rule.parse(rule) for rule in rules], tables)
    return {f"rule {i}": standing.holds for i, standing in enumerate(standings, 1)}


def _v3() -> dict[str, float]:
    each = ["q -> s : l=2", "z -> s : l=2"]
    tables = [part("t1", "q s", "s"), part("t2", "z s", "s")]
    alone = _attack(released(V3_PEOPLE, V3_TABLES, each), V3_PEOPLE)
    both = _attack(released(V3_PEOPLE, V3_TABLES, ["q, z -> s : l=2"]), V3_PEOPLE)
    return {
        "rules in normal form": sum(_kept(tables, each).values()),
        "the maximum posterior, knowing q or z": alone[1],
        "the maximum posterior, knowing q and z": both[1],
    }


def _ring() -> dict[str, float]:
    """{a, b}, {b, c}, {c, d}, {d, a}, and a rule about e and f, which stand alone."""
    tables = [part(f"t{i}", names) for i, names in enumerate(("a b", "b c", "c d", "d a", "e", "f"), 1)]
    bits = [Subtable(shows) for shows in (0b000011, 0b000110, 0b001100, 0b001001, 0b010000, 0b100000)]
    kept = _kept(tables, ["e -> f : l=2"])
    return {"rules in normal form": sum(kept.values()), "decomposable": hanging(bits) is not None}


def _reduced() -> dict[str, float]:
    rules = [Rule.parse("a1 -> a3 : l=2"), Rule.parse("a1, a2 -> a3 : l=2")]
    return {"rules left of two": len(irreducible(rules))}


_EXAMPLES: list[Point] = [
    {"example": name}
    for name in ("Tables 2", "Table 3", "Table 4", "two rules, one adversary", "four tables in a ring", "section 3")
]
EXAMPLE = Experiment(
    "example", "the running example (Tables 1-4) and three small ones", _EXAMPLES, _EXAMPLES, measure_example
)


# random sets of rules -----------------------------------------------------------------------------------------------

BLOCK, BLOCKS, LOOPS, STEPS = 2_000, 10, 168, 300


def drawn_schema(rng: random.Random) -> Schema:
    """1 to 9 rules over 3 to 9 attributes, with 1 to 4 of them on the left."""
    names = [chr(ord("a") + i) for i in range(rng.randint(3, 9))]
    rules = []
    for _ in range(rng.randint(1, 9)):
        protected = rng.choice(names)
        others = [name for name in names if name != protected]
        left = rng.sample(others, rng.randint(1, min(4, len(others))))
        rules.append(Rule(knows=tuple(sorted(left)), protects=protected, l=2))
    return Schema.from_rules(names, irreducible(rules))


def goes_in_circles(schema: Schema) -> bool:
    """Whether edges from what is known to what is protected lead back to where they started."""
    edges = ((name, rule.protects) for rule in schema.rules for name in rule.knows)
    return not nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def loop_ends(schema: Schema) -> bool:
    """Whether Algorithm 1, steps 1-4, ends as printed, the first rule that offends being mended first.

    The tables are a set. Where they come back to what they were, the loop never ends; STEPS is for those that do not.
    """
    rules = schema.arrows
    tables, seen = frozenset({Subtable(schema.whole, rules[0].protects)}), set()
    for _ in range(STEPS):
        broken = next((rule for rule in rules if not keeps(rule, list(tables))), None)
        if broken is None:
            return True
        if tables in seen:
            return False
        seen.add(tables)
        bit = broken.protects
        left = {Subtable(t.shows & ~bit, t.protects & ~bit) for t in tables}
        tables = frozenset({t for t in left if t.shows} | {Subtable(broken.knows | bit, bit)})
    return False


def measure_sets(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """How many of a block of random sets end in normal form, by the definitions that the audit has."""
    rng = random.Random(whole(point, "block"))
    counts = dict.fromkeys(("sets", "uad", "gd", "circular", "loops", "ended", "loops_circular", "ended_circular"), 0)
    for i in range(BLOCK // 4 if lab.quick else BLOCK):
        schema = drawn_schema(rng)
        circular = goes_in_circles(schema)
        counts["sets"] += 1
        counts["circular"] += circular
        counts["uad"] += _in_form(schema, split(schema.whole, schema.arrows))
        counts["gd"] += all(_in_form(schema, tables) for tables in starts(schema))
        if i < LOOPS:
            kind = "_circular" if circular else ""
            counts[f"loops{kind}"] += 1
            counts[f"ended{kind}"] += loop_ends(schema)
    yield counts


def _in_form(schema: Schema, tables: Sequence[Subtable]) -> bool:
    parts = [
        Part(f"t{i}", frozenset(schema.names(t.shows)), frozenset(schema.names(t.protects) if t.open else ()))
        for i, t in enumerate(tables)
    ]
    return all(standing.holds for standing in normal_form(schema.rules, parts))


SCHEMAS = Experiment(
    "schemas",
    "random sets of rules",
    [{"block": i} for i in range(BLOCKS)],
    [{"block": 0}],
    measure_sets,
)
