"""Releases made by hand, clean or with a violation at a random place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pluralis.errors import AuditFailed, PluralisError
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo, claim_words
from pluralis.release.release import Release, canonical_order
from pluralis.table.labels import read_interval, read_set, set_label
from support.effort import tries
from support.handmade_multi_releases import Sub, multi_release
from support.sample_tables import policy_of

DISEASES = ("asthma", "cancer", "flu", "gout", "hiv", "measles", "ulcer")
JOBS = ("actor", "baker", "clerk", "cook", "nurse", "police", "smith")
QUASI = ("age", "zip")
SENSITIVE = ("disease", "job")
KINDS = ("generalized", "bucketized", "sliced")


class Published(NamedTuple):
    """A release and its original."""

    release: Release
    original: pl.DataFrame


# clean and planted ----------------------------------------------------------------------------------------------


def people_in_groups(rng: np.random.Generator, l: int, groups: int) -> tuple[pl.DataFrame, np.ndarray]:
    """People who are in groups of l or more; all of a group differ in disease and job, and nobody is like another."""
    sizes = rng.integers(l, len(DISEASES) + 1, groups)
    group_of = np.repeat(np.arange(groups), sizes)
    rows = int(sizes.sum())
    ages = np.concatenate([base + rng.permutation(len(DISEASES))[:size] for base, size in zip(
        rng.permutation(groups) * len(DISEASES), sizes, strict=True)])  # fmt: skip
    sensitive = {
        name: [domain[i] for size in sizes for i in rng.permutation(len(domain))[:size]]
        for name, domain in (("disease", DISEASES), ("job", JOBS))
    }
    columns = {"age": ages, "zip": [f"z{i}" for i in rng.integers(0, 4, rows)], **sensitive}
    return pl.DataFrame(columns), group_of


def tiny(seed: int) -> tuple[pl.DataFrame, list[int], list[int]]:
    """Up to 8 people who may be alike, in groups of up to 3 and in others of up to 3."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(3, 9))
    people = pl.DataFrame(
        {
            "age": rng.integers(0, 4, rows),
            "zip": [f"z{i}" for i in rng.integers(0, 2, rows)],
            "disease": rng.choice(DISEASES[:3], rows),
            "job": rng.choice(JOBS[:3], rows),
        }
    )
    return people, *((rng.permutation(rows) // 3).tolist() for _ in range(2))


def by_hand(
    kind: str,
    people: pl.DataFrame,
    group_of: Sequence[int] | np.ndarray,
    claims: Iterable[Claim] = (),
    *,
    linked: bool = True,
    second: Sequence[int] | np.ndarray | None = None,
    l: int = 2,
) -> Release:
    """What a release of a kind says of people in groups (`second` are those of a second slice)."""
    sensitive = [name for name in people.columns if name in SENSITIVE]
    rows = people.with_columns(pl.Series("group", np.asarray(group_of, np.int64) + 1))
    tables: dict[str, pl.DataFrame] = {}
    if kind == "generalized":
        tables["microdata"] = _labeled(rows, "group").select(*QUASI, *sensitive, "group")
    elif kind == "bucketized":
        tables["quasi"] = rows.select(*QUASI, "group")
        tables["sensitive"] = _counted(rows, sensitive, linked)
    else:
        slices = [sensitive] if second is None else [[name] for name in sensitive]
        labeled = _labeled(rows, "group").rename({"group": "group_1"})
        for i, names in enumerate(slices, 1):
            own = rows if i == 1 else rows.with_columns(pl.Series("group", np.asarray(second, np.int64) + 1))
            tables[f"slice_{i}"] = _counted(own, names, linked)
            labeled = labeled.with_columns(own["group"].alias(f"group_{i}"))
        tables = {"quasi": labeled.select(*QUASI, *(f"group_{i + 1}" for i in range(len(slices)))), **tables}
    infos = tuple(
        TableInfo(name=name, file=f"{name}.parquet", columns=tuple(_columns(kind, table)))
        for name, table in tables.items()
    )
    domains = {n: {"name": n, "role": "sensitive", "type": "text", "attribute": n,
                   "domain": sorted(set(people[n]))} for n in sensitive}  # fmt: skip
    parameters = {"l": dict.fromkeys(sensitive, l), "options": {}}
    parameters |= {} if kind == "sliced" else {"linked": linked}
    parameters |= {} if linked or kind == "generalized" else {"domains": domains}
    manifest = Manifest(
        method="by hand", variant="none", kind=kind, rows=people.height, suppressed=0, breaks=(),
        claims=tuple(claims), parameters=parameters, tables=infos,
    )  # fmt: skip
    return Release(manifest, {name: canonical_order(table) for name, table in tables.items()})


def _labeled(rows: pl.DataFrame, group: str) -> pl.DataFrame:
    ages = pl.format("[{}, {}]", pl.col("age").min().over(group), pl.col("age").max().over(group))
    single = pl.col("age").n_unique().over(group) == 1
    labels = {
        key[0]: (set_label(sorted(set(part["zip"]))) if part["zip"].n_unique() > 1 else part["zip"][0])
        for key, part in rows.partition_by(group, as_dict=True).items()
    }
    zips = pl.Series("zip", [labels[number] for number in rows[group]])
    return rows.with_columns(pl.when(single).then(pl.col("age").cast(pl.String)).otherwise(ages).alias("age"), zips)


def _counted(rows: pl.DataFrame, names: Sequence[str], linked: bool) -> pl.DataFrame:
    if linked:
        return rows.group_by("group", *names).agg(pl.len().cast(pl.Int64).alias("count"))
    return pl.concat(
        rows.group_by("group", pl.col(name).alias("value")).agg(pl.len().cast(pl.Int64).alias("count"))
        .select("group", pl.lit(name).alias("attribute"), "value", "count") for name in names
    )  # fmt: skip


def _columns(kind: str, table: pl.DataFrame) -> Iterator[ColumnInfo]:
    for name in table.columns:
        if name in ("attribute", "value", "count") or name.startswith("group"):
            role: Any = "group" if name.startswith("group") else name
            yield ColumnInfo(name=name, role=role, type="number" if role in ("group", "count") else "text")
        elif name in QUASI:
            domain = (0, 99) if name == "age" else tuple(f"z{i}" for i in range(4))
            exact: Any = True if kind == "bucketized" else None
            yield ColumnInfo(name=name, role="quasi", type="number" if name == "age" else "text", attribute=name,
                             domain=domain, exact=exact)  # fmt: skip
        else:
            yield ColumnInfo(name=name, role="sensitive", type="text", attribute=name,
                             domain=tuple(sorted(set(table[name]))))  # fmt: skip


def covers(row: dict[str, Any], person: dict[str, Any]) -> bool:
    """Whether the labels, or the values, of a published row fit a person."""
    age, zipcode = row["age"], row["zip"]
    if isinstance(age, int):
        return (age, zipcode) == (person["age"], person["zip"])
    low, high = read_interval(age) if age.startswith("[") else (int(age), int(age))
    return low <= person["age"] <= high and person["zip"] in read_set(zipcode)


def claim(attribute: str | None, l: int, *knows: str, model: str = "frequency", **fields: Any) -> Claim:
    unnamed = Claim(rule="", model=model, adversary=tuple(sorted(knows)), attribute=attribute,
                 l=None if attribute is None else l, **fields)  # fmt: skip
    return unnamed.model_copy(update={"rule": claim_words(unnamed, "generalized")})


SPELLINGS: tuple[Callable[[str], str], ...] = (str.upper, str.title, lambda text: f" {text}", lambda text: f"{text} ")


def with_values(people: pl.DataFrame, rows: Sequence[int], name: str, values: Sequence[str]) -> pl.DataFrame:
    column = people[name].to_list()
    for row, value in zip(rows, values, strict=True):
        column[row] = value
    return people.with_columns(pl.Series(name, column))


PLANTS = ("homogeneous", "too common", "spelled differently", "linked")


def planted(form: str, kind: str, seed: int) -> Published:
    """A release that claims 1/l of both sensitive attributes, and breaks it in one group.

    homogeneous          everybody of the group has one disease
    too common           a disease has a share above 1/l there
    spelled differently  the same, in spellings that look like different values
    linked               each secret keeps 1/l, but whoever knows the job there knows the disease
    """
    rng = np.random.default_rng(seed)
    l = int(rng.integers(2, 4))
    people, group_of = people_in_groups(rng, l, int(rng.integers(3, 9)))
    group = int(rng.integers(0, group_of.max() + 1))
    members = np.flatnonzero(group_of == group)
    value = str(rng.choice(DISEASES))
    many = members.size if form == "homogeneous" else members.size // l + 1
    knows: list[tuple[str, ...]] = [QUASI]
    if form == "linked":
        knows = [(*QUASI, "job")]
        if members.size < 2 * l:  # two people more, so that the group keeps 1/l of each
            more = people[members].with_columns(
                pl.Series("disease", rng.permutation(DISEASES)[: members.size]),
                pl.Series("job", rng.permutation(JOBS)[: members.size]),
            )
            people, group_of = pl.concat([people, more]), np.concatenate([group_of, np.full(members.size, group)])
            members = np.flatnonzero(group_of == group)
        people = with_values(people, members, "job", [JOBS[i % len(JOBS)] for i in range(members.size)])
        people = with_values(people, members, "disease", [DISEASES[i % len(DISEASES)] for i in range(members.size)])
    else:
        chosen = rng.permutation(members)[:many]
        written = [SPELLINGS[i % 4](value) if form == "spelled differently" else value for i in range(many)]
        people = with_values(people, chosen, "disease", written)
    claims = [claim("disease", l, *known) for known in knows]
    linked = form == "linked" or bool(rng.integers(0, 2)) or kind == "generalized"
    return Published(by_hand(kind, people, group_of, claims, linked=linked, l=l), people)


def planted_multi(form: str, seed: int) -> Published:
    """The same in several tables: in the groups of one of them, or shown openly beside what is known."""
    rng = np.random.default_rng(seed)
    people, group_of = people_in_groups(rng, 2, int(rng.integers(3, 7)))
    other = rng.permutation(np.arange(people.height) % (people.height // 2))
    members = np.flatnonzero(group_of == rng.integers(0, group_of.max() + 1))
    rules = ["age -> disease : l=2"]
    if form == "linked":
        subs = [Sub(["age", "job"]), Sub(["age", "disease"])]
    else:
        people = with_values(people, members, "disease", [str(rng.choice(DISEASES))] * members.size)
        subs = [Sub(["age", "disease"], ["disease"], group_of.tolist()), Sub(["zip", "job"], ["job"], other.tolist())]
    return Published(multi_release(list(people.iter_rows(named=True)), subs, rules), people)


def clean_by_hand(kind: str, seed: int) -> Published:
    """Groups of l or more people, different in disease and job, which stand apart: every claim there is holds."""
    rng = np.random.default_rng(seed)
    l = int(rng.integers(2, 5))
    people, group_of = people_in_groups(rng, l, int(rng.integers(3, 9)))
    claims = [claim("disease", l, *QUASI), claim("disease", l, *QUASI, "job"), claim("job", l, *QUASI, "disease")]
    if kind != "bucketized":
        claims.append(claim(None, 0, *QUASI, model="k-anonymity", k=l))
    return Published(by_hand(kind, people, group_of, claims, linked=False, l=l), people)


# clean ones, published ------------------------------------------------------------------------------------------

METHODS = ("anatomy", "bsgi", "mondrian", "decomposition", "sloms", "randomized-addition", "uad")
SEEDS = tries(34)


@cache
def clean() -> tuple[Published, ...]:
    """Small random tables as the methods publish them, all of which pass their audit."""
    publications = [one for method in METHODS for seed in range(SEEDS) if (one := _published(method, seed)) is not None]
    assert len(publications) >= tries(200)
    return tuple(publications)


def _published(method: str, seed: int) -> Published | None:
    from pluralis.auditing import audit

    rng = np.random.default_rng(seed)
    rows = int(rng.integers(12, 40)) * (8 if method == "randomized-addition" else 1)  # rare values are refused
    columns: dict[str, Any] = {"age": rng.integers(0, 9, rows), "zip": [f"z{i}" for i in rng.integers(0, 3, rows)]}
    many = 1 + (seed % 2 if method != "randomized-addition" else 0)
    for name, domain in [("disease", DISEASES), ("job", JOBS)][:many]:
        columns[name] = rng.permutation([domain[i % 6] for i in range(rows)])
    people = pl.DataFrame(columns)
    key = Key(bytes([seed % 256] * 32))
    try:
        if method == "uad":
            rules = ["age, zip -> disease : l=2", *(["disease -> job : l=2"] if many > 1 else [])]
            release = publish(people, policy_of({}, rules=rules, method="uad"), key=key, attacks=False)
        else:
            attributes = {"age": {"role": "quasi", "type": "number"}, "zip": {"role": "quasi"}}
            attributes |= {name: {"role": "sensitive", "l": 2 + seed % 3 // 2} for name in SENSITIVE[:many]}
            knows = [[*QUASI, "job"]] if many > 1 and seed % 4 == 3 else None
            extra = {"suppress": 0.5} if method == "sloms" else {}
            policy = policy_of(
                attributes, method=method, adversaries=knows, k=2 if method == "sloms" else None, **extra
            )
            release = publish(people, policy, key=key, attacks=False)
    except (PluralisError, AuditFailed):
        return None
    return Published(release, people) if audit(release, original=people, allow_test=True).holds else None
