"""Decomposed and sliced releases of people with an age, made by hand for the tests of several attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import polars as pl

from oracles.worlds_of_decomposed import Mode, Tiny
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.release import Release

ROLES = {"age": "quasi", "attribute": "attribute", "value": "value", "count": "count"}
ROLES |= dict.fromkeys(("group", "group_1", "group_2"), "group")


def handmade(
    kind: str, tables: Mapping[str, pl.DataFrame], claims: Sequence[Claim], sensitive: Sequence[str], **parameters: Any
) -> Release:
    """Tables as a release. Columns that ROLES does not name are secrets."""
    infos = [
        {"name": name, "file": f"{name}.parquet",
         "columns": [_column(kind, name, column, dtype) for column, dtype in table.schema.items()]}
        for name, table in tables.items()
    ]  # fmt: skip
    domains = {name: {"name": name, "role": "sensitive", "type": "text"} for name in sensitive}
    manifest = Manifest.model_validate(
        {"method": "by hand", "variant": "none", "kind": kind, "rows": tables["quasi"].height, "suppressed": 0,
         "claims": claims, "breaks": (), "tables": infos,
         "parameters": {"l": dict.fromkeys(sensitive, 2), "options": {}, "domains": domains,
                        **({} if kind == "sliced" else {"linked": True}),
                        **({"primary": sensitive[0]} if kind == "decomposed" else {})}}
    )  # fmt: skip
    stated = manifest.parameters.model_copy(update=parameters)  # a kind may say what it never says
    manifest = manifest.model_copy(update={"parameters": stated})
    return Release(manifest, tables)


def _column(kind: str, table: str, name: str, dtype: pl.DataType) -> dict[str, Any]:
    about = table.removeprefix("sensitive_") if name == "value" and table.startswith("sensitive_") else name
    role = ROLES.get(about, "sensitive")
    return {
        "name": name,
        "role": role,
        "type": "number" if dtype.is_numeric() or name == "age" else "text",
        "attribute": about if role in ("quasi", "sensitive") else None,
        "exact": True if kind == "decomposed" and role == "quasi" else None,
    }


def people_of(tiny: Tiny) -> pl.DataFrame:
    return pl.DataFrame(list(tiny.rows), schema=tiny.names, orient="row").with_columns(age=pl.int_range(pl.len()))


def decomposed(tiny: Tiny, mode: Mode, claim: tuple[tuple[str, ...], str, int], **parameters: Any) -> Release:
    """Tables of sets, and a claim of candidates: who knows, what, l."""
    known, attribute, l = claim
    stated = Claim(rule="", model="candidates", adversary=known, attribute=attribute, l=l)
    return handmade("decomposed", tiny.tables(mode), [stated], tiny.names, primary="s0", **parameters)


def sliced(random: Random, linked: bool = False) -> tuple[Release, pl.DataFrame]:
    """Two classes of three rows, two slices at random: (s0, s1) and (s2)."""
    names = ("s0", "s1", "s2")
    values_of = {name: [random.choice("abc") for _ in range(6)] for name in names}
    people = pl.DataFrame({"age": [10] * 3 + [50] * 3, **values_of})
    whole = people.with_columns(pl.Series(f"group_{i}", random.sample([1, 1, 1, 2, 2, 2], 6)) for i in (1, 2))
    tables = {"quasi": whole.select(pl.col("age").cast(pl.String), "group_1", "group_2").sort(pl.all())}
    for i, own in ((1, ["s0", "s1"]), (2, ["s2"])):
        values = whole.select(pl.col(f"group_{i}").alias("group"), *own)
        if not linked and len(own) > 1:
            values = values.unpivot(index="group", variable_name="attribute")
        tables[f"slice_{i}"] = values.group_by(pl.all()).len("count").cast({"count": pl.Int64}).sort(pl.all())
    claims = [
        Claim(rule="", model="frequency", adversary=("age", *known), attribute=attribute, l=2)
        for attribute, known in (("s2", ()), ("s2", ("s0",)), ("s1", ("s0",)), ("s0", ("s1", "s2")))
    ]
    return handmade("sliced", tables, claims, names), people
