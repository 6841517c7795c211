"""What the published sensitive table gives away: Table 6 of the paper, small random tables, and Adult.

A person is exposed if whoever knows their quasi-identifiers, and perhaps their occupation, has fewer than l values of
the other attribute left, or can prove that more than 1/l of such people hold one value (auditing.decomposed_worlds).
"""

from __future__ import annotations

import random
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.decomposition.adult import FILE, KEYS, LITERAL, QUASI, decomposed, people, planned, policy, released
from experiments.decomposition.measures import Row, whole
from experiments.reproduce import Lab, Point
from pluralis.auditing.decomposed_worlds import worlds_of
from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import largest_l
from pluralis.policy.policy import Policy
from pluralis.randomness import Key
from pluralis.release.release import GROUP
from pluralis.table.encoding import encode

TABLE_6 = "Table 6"
DRAWS = 80
BATCH = 199  # six of them are 1,194 tables
LETTERS = ("abcde", "uvwxy")
Tables = Mapping[str, pl.DataFrame]


def joined(point: Point, lab: Lab) -> Iterator[Row]:
    """Who is exposed by Table 6, or on Adult with occupation primary and an l for education."""
    known = frozenset({"occupation"} if point["knows"] == "occupation" else ())
    if point["table"] == TABLE_6:
        tables, other, l = table_6()
        yield {**exposed(tables, other, l, known), "published": "joint"}
        return
    l = whole(point["l of education"])
    frame = people(lab.file(FILE)).sample(whole(point["rows"]), seed=7, shuffle=True)
    asked = policy(len(QUASI), {"occupation": whole(point["l of primary"]), "education": l}, str(point["method"]))
    if point["method"] != LITERAL:
        asked = asked.override(options={"primary": "occupation", "sensitive_table": "auto"})
    adversaries = [{"knows": sorted({*QUASI, *known})}]
    asked = Policy.from_dict({**asked.model_dump(exclude_unset=True), "adversaries": adversaries})
    table = encode(frame, asked)
    release = released(planned(table, asked, KEYS[0]), table, asked, KEYS[0])
    shown = "joint" if "sensitive" in release.tables else "counts" if len(release.tables) > 2 else "none"
    yield {**exposed(release.tables, "education", l, known), "published": shown}


def table_6() -> tuple[Tables, str, int]:
    """The paper's Table 6 as tables of a release, the attribute that is not primary, and its l."""
    printed = _printed()
    rows = pl.DataFrame(printed["rows"], schema=["name", "occupation", "salary"], orient="row")
    group_of = {name: group + 1 for group, names in enumerate(printed["groups"]) for name in names}
    rows = rows.with_columns(pl.col("name").replace_strict(group_of).alias(GROUP))
    jobs = rows.select(GROUP, pl.lit("occupation").alias("attribute"), value="occupation")
    salaries = [(group + 1, "salary", value) for group, values in enumerate(printed["salaries"]) for value in values]
    return (
        {
            "quasi": rows.select("name", GROUP),
            "values": pl.concat([jobs, pl.DataFrame(salaries, schema=jobs.schema, orient="row")]),
            "sensitive": rows.group_by("occupation", "salary").len("count"),
        },
        "salary",
        int(printed["l"]),
    )


def linkable(point: Point, _: Lab) -> Iterator[Row]:
    """Table 5: the salaries that some draw of the method's gives to the paper's first group, held or added."""
    printed = _printed()
    frame = pl.DataFrame(printed["rows"], schema=["name", "occupation", "salary"], orient="row")
    asked = Policy.from_dict(
        {
            "version": 1,
            "accept": ["set-size"],
            "attributes": {
                "name": {"role": "quasi"},
                **{name: {"role": "sensitive", "l": printed["l"]} for name in ("occupation", "salary")},
            },
            "publish": {"method": "decomposition", "variant": "paper", "options": {"primary": "occupation"}},
        }
    )
    table = encode(frame, asked)
    names = table["name"].published(np.arange(table.rows))
    own: set[str] = set()
    noise: set[str] = set()
    for i in range(DRAWS):
        plan = decomposed(table, asked, Key(bytes([i] * 32)))
        for group in range(plan.groups):
            rows = np.flatnonzero(plan.group_of == group)
            if set(names.gather(rows)) == set(printed["groups"][whole(point["group"]) - 1]):
                own |= set(table["salary"].published(rows))
                noise |= {table["salary"].text(code) for where, code in plan.added["salary"].tolist() if where == group}
    yield {"linkable": len(own | noise), "noise": len(noise), "values": " ".join(sorted(own | noise))}


def exposed(tables: Tables, other: str, l: int, known: frozenset[str]) -> Row:
    """The people whose `other` value has fewer than l candidates, those exposed in either way, the weakest place."""
    worlds = worlds_of(tables, "occupation", ["occupation", other])
    places = pl.concat(list(worlds.places(known, other))).with_columns(share=pl.col("part") / pl.col("among"))
    places = places.group_by("class", "known").agg(pl.col("candidates").min(), pl.col("share").max())
    sizes = tables["quasi"].group_by(GROUP).agg(pl.len().alias("people"))
    if known and "sensitive" in tables:  # a group holds each occupation once
        sizes = sizes.with_columns(pl.lit(1).alias("people"))
    places = places.join(worlds.members(other), on="class").join(sizes, on=GROUP)
    few = pl.col("candidates") < l
    return {
        "people": tables["quasi"].height,
        "few": int(places.filter(few)["people"].sum()),
        "exposed": int(places.filter(few | (pl.col("share") * l > 1))["people"].sum()),
        "certain": int(places.filter(pl.col("candidates") == 1)["people"].sum()),
        "candidates": int(places.select(pl.col("candidates").min()).item()),
        "share": float(places.select(pl.col("share").max()).item()),
    }


def small(point: Point, lab: Lab) -> Iterator[Row]:
    """Random tables of 4 to 10 rows: how many let quasi-identifiers alone tell a value beyond 1/l, or prove it."""
    rng = random.Random(whole(point["seed"]))
    tables = proved = guessed = endless = 0
    while tables < (BATCH // 4 if lab.quick else BATCH):
        drawn = [rng.choices(letters[: rng.randint(3, 5)], k=10) for letters in LETTERS]
        rows = rng.randint(4, 10)
        frame = pl.DataFrame({"age": range(rows), "occupation": drawn[0][:rows], "other": drawn[1][:rows]})
        ls = {name: largest_l(frame[name].value_counts()["count"].to_numpy()) for name in ("occupation", "other")}
        if not 2 <= ls["other"] <= ls["occupation"] or rows % ls["occupation"]:
            continue  # residual rows would break the promise in another way
        asked = _asked(ls, str(point["method"]))
        table = encode(frame, asked)
        try:
            plan = planned(table, asked, KEYS[0])
        except Infeasible:
            endless += 1
            continue
        tables += 1
        release = released(plan, table, asked, KEYS[0])
        proved += bool(exposed(release.tables, "other", ls["other"], frozenset())["exposed"])
        guessed += "sensitive" in release.tables and likeliest(release.tables) * ls["other"] > 1
    yield {"tables": tables, "proved": proved, "guessed": guessed, "endless": endless}


def likeliest(tables: Tables) -> Fraction:
    """The largest posterior that anybody's other value has, all worlds equally likely.

    A group holds each occupation once, so worlds split by occupation: its rows of the sensitive table go one by one to
    the groups that hold it, each to one whose set holds its other value.
    """
    sets, jobs = (
        {group: set(part["value"]) for (group,), part in part_of.partition_by(GROUP, as_dict=True).items()}
        for name in ("other", "occupation")
        for part_of in [tables["values"].filter(pl.col("attribute") == name)]
    )
    chances: defaultdict[tuple[int, str], Fraction] = defaultdict(Fraction)
    for (job,), rows in tables["sensitive"].partition_by("occupation", as_dict=True).items():
        takers = [group for group in jobs if job in jobs[group]]
        values = [value for value, count in rows.select("other", "count").rows() for _ in range(count)]
        worlds = [
            world
            for world in set(permutations(values))
            if all(value in sets[group] for group, value in zip(takers, world, strict=True))
        ]
        for world in worlds:
            for group, value in zip(takers, world, strict=True):
                chances[group, value] += Fraction(1, len(worlds) * len(jobs[group]))
    return max(chances.values())


def _printed() -> dict[str, Any]:
    """The paper's running example."""
    example: dict[str, Any] = tomllib.loads(Path(__file__).with_name("expected.toml").read_text("utf-8"))["example"]
    return example


def _asked(ls: Mapping[str, int], method: str) -> Policy:
    literal = method == LITERAL
    options = {"primary": "occupation", **({} if literal else {"sensitive_table": "auto"})}
    attributes = {"age": {"role": "quasi", "type": "number"}}
    return Policy.from_dict(
        {
            "version": 1,
            "accept": ["set-size"],
            "attributes": attributes | {name: {"role": "sensitive", "l": l} for name, l in ls.items()},
            "publish": {
                "method": "decomposition",
                "variant": "paper" if literal else "hardened",
                "options": options,
                "suppress": 0.0 if literal else 0.5,
            },
        }
    )
