"""Secrets that stand in the wrong groups, against a search through every way to deal the original's rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.auditing.assignment import Dealing, dealt
from pluralis.errors import Infeasible
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import GROUP, Release, canonical_order
from pluralis.table.labels import read_interval, read_set
from support.sample_tables import policy_of

CLAIM = "the sensitive values of every group are those of rows of the original that can be in it"

Row = dict[str, Any]


# every way to deal rows -------------------------------------------------------------------------------------------


def can_be_dealt(rows: list[Row], people: list[Row], fits: Any, holds: dict[tuple[Any, ...], Counter[Any] | set[Any]],
                 keys: Any) -> bool:  # fmt: skip
    """Whether the people can be given rows, one each, so that what `holds` says is used up; a set may be used often.

    `keys(row, person)` are the (place, value) pairs that a person in a row counts to.
    """
    free = list(range(len(people)))

    def search(i: int) -> bool:
        if i == len(rows):
            return all(not +counter for counter in holds.values() if isinstance(counter, Counter))
        for who in list(free):
            if not fits(rows[i], people[who]):
                continue
            pairs = keys(rows[i], people[who])
            if any(
                value not in holds[place] or (isinstance(counter := holds[place], Counter) and counter[value] < 1)
                for place, value in pairs
            ):
                continue
            counters = [(counter, value) for place, value in pairs if isinstance(counter := holds[place], Counter)]
            for counter, value in counters:
                counter[value] -= 1
            free.remove(who)
            if search(i + 1):
                return True
            free.append(who)
            free.sort()
            for counter, value in counters:
                counter[value] += 1
        return False

    return search(0)


def covers(label: Any, value: Any, number: bool) -> bool:
    if label == "*":
        return True
    if label is None or value is None:
        return (label is None and value is None) or (label is not None and str(label).startswith("{") and None in
                                                   read_set(label))  # fmt: skip
    if number:
        low, high = read_interval(str(label))
        return bool(low <= value <= high)
    return str(value) in [str(one) for one in read_set(str(label))]


def group_contents(release: Release, quasi: str, tables: dict[str, str]) -> tuple[dict[Any, Any], Any]:
    """What groups hold, by (table, attribute or None, group), and the pairs that a person in a row counts to."""
    holds: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    sides: list[tuple[str, str, list[str], bool]] = []
    for name, group in tables.items():
        info, rows = release.info(name), release.tables[name]
        if info.named("attribute"):
            for number, attribute, value, count in rows.select(GROUP, "attribute", "value", "count").rows():
                holds[name, attribute, number][str(value)] += count
            sides += [(name, group, [attribute], True) for attribute in rows["attribute"].unique().sort()]
        else:
            sensitive = info.names("sensitive")
            for number, count, *values in rows.select(GROUP, "count", *sensitive).rows():
                holds[name, None, number][tuple(map(str, values))] += count
            sides.append((name, group, sensitive, False))

    def keys(row: Row, person: Row) -> list[tuple[Any, Any]]:
        return [
            ((name, sensitive[0], row[group]), str(person[sensitive[0]]))
            if apart
            else ((name, None, row[group]), tuple(str(person[one]) for one in sensitive))
            for name, group, sensitive, apart in sides
        ]

    return holds, keys


def truly(release: Release, people: pl.DataFrame) -> bool:
    """Whether every part of a release can be dealt; people without a secret are in none."""
    sensitive = sorted(release.manifest.parameters.l)
    rows = people.drop_nulls(sensitive).to_dicts()
    if release.kind == "multi":
        parts = [({"rows": f"t{i}_quasi"}, {f"t{i}_sensitive": GROUP}) for i in range(1, 20)]
        parts = [part for part in parts if part[0]["rows"] in release.tables]
    elif release.kind == "sliced":
        slices = [name for name in release.tables if name.startswith("slice_")]
        parts = [({"rows": "quasi"}, {name: name.replace("slice", "group") for name in slices})]
    else:
        parts = [({"rows": "quasi"}, {"sensitive": GROUP})]
    for name, tables in ((part[0]["rows"], part[1]) for part in parts):
        info, shown = release.info(name), release.tables[name].to_dicts()
        columns = [column for column in info.columns if column.role in ("quasi", "plain")]

        def fits(row: Row, person: Row, columns: Any = columns) -> bool:
            return all(
                row[c.name] == person[c.name]
                if c.role == "plain" or c.exact
                else covers(row[c.name], person[c.name], c.type == "number")
                for c in columns
            )

        holds, keys = sets(release, shown) if release.kind == "decomposed" else group_contents(release, name, tables)
        if not can_be_dealt(shown, rows, fits, holds, keys):
            return False
    return True


def sets(release: Release, shown: list[Row]) -> tuple[dict[Any, Any], Any]:
    """The primary values of a group once each, and of other attributes a set."""
    primary = release.manifest.parameters.primary
    holds: dict[Any, Any] = {}
    for number, attribute, value in release.tables["values"].select(GROUP, "attribute", "value").rows():
        kept = holds.setdefault((attribute, number), Counter() if attribute == primary else set())
        kept.update([value]) if isinstance(kept, Counter) else kept.add(value)
    names = release.tables["values"]["attribute"].unique().sort().to_list()

    def keys(row: Row, person: Row) -> list[tuple[Any, Any]]:
        return [((name, row[GROUP]), str(person[name])) for name in names]

    return holds, keys


# releases, and what is done to them ---------------------------------------------------------------------------------


def people(rng: np.random.Generator, rows: int, alike: int, gaps: bool) -> pl.DataFrame:
    """Some rows of `alike` ages and two sexes: the fewer ages, the less they tell."""
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, alike, rows),
            "sex": rng.choice(["f", "m"][: int(rng.integers(1, 3))], rows),
            "ward": rng.choice(["A", "B"][: int(rng.integers(1, 3))], rows),
            "disease": [f"d{v}" for v in rng.permutation(rows) % int(rng.integers(3, 5))],
            "job": [f"j{v}" for v in rng.permutation(rows) % 3],
        }
    )
    if gaps:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(rows) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("age", "sex", "disease")
        )
    return frame


def policy(method: str, links: bool, gaps: bool, rng: np.random.Generator) -> Policy:
    secret = {"role": "sensitive", "l": 2, **({"if_missing": "drop"} if gaps else {})}
    attributes: dict[str, dict[str, Any]] = {
        "age": {"role": "quasi", "type": "number"},
        "sex": {"role": "quasi"},
        "ward": {"role": "plain"},
        "disease": secret,
        "job": secret,
    }
    if method in ("anatomy", "uad"):
        del attributes["job"]
    if method == "uad":  # it puts next to each other what no rule keeps apart
        del attributes["ward"]
    more: dict[str, Any] = {}
    if method == "sloms":
        more = {"k": 2, "options": {"slices": [["disease"], ["job"]]} if rng.random() < 0.7 else {}}
    if links and method not in ("anatomy", "gd", "uad"):
        more["adversaries"] = [["age", "sex", "job"]]
    return policy_of(attributes, others="drop", method=method, suppress=0.5, **more)


METHODS = ["anatomy", "decomposition", "gd", "msb", "sloms", "uad"]


def swaps(release: Release) -> list[tuple[str, int, int]]:
    """The tables that tell of secrets, and two groups of as many rows."""
    alike = []
    for name, rows in release.tables.items():
        if GROUP in rows.columns and name not in ("quasi",) and not name.endswith("_quasi"):
            column = "count" if "count" in rows.columns else None
            by = rows.filter(attribute=rows["attribute"][0]) if "attribute" in rows.columns else rows
            sizes = by.group_by(GROUP).agg(pl.col(column).sum() if column else pl.len().alias("count")).sort(GROUP)
            pairs = combinations(sizes.rows(), 2)
            alike += [(name, a[0], b[0]) for a, b in pairs if a[1] == b[1]]
    return alike


def swapped(release: Release, table: str, one: int, other: int) -> Release:
    """The release with what two groups hold exchanged."""
    moved = pl.col(GROUP).replace({one: other, other: one})
    rows = canonical_order(release.tables[table].with_columns(moved))
    return Release(release.manifest, {**release.tables, table: rows})


def belongs(release: Release, original: pl.DataFrame) -> bool:
    """What the audit says; each part of a multi release has a finding of its own."""
    findings = [one for one in audit(release, original=original).findings if one.claim.endswith(CLAIM)]
    assert findings
    assert all(one.note == "exactly" for one in findings if one.holds)
    return all(one.holds for one in findings)


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_secrets_in_the_wrong_groups_are_found_exactly_where_the_original_tells(method: str, links: bool) -> None:
    clean = noticed = missed = 0
    for seed in range(24):
        rng = np.random.default_rng([seed, METHODS.index(method), links])
        gaps = seed % 3 == 0
        table = people(rng, int(rng.integers(6, 10)), int(rng.integers(1, 5)) ** 2, gaps)
        try:
            release = publish(table, policy(method, links, gaps, rng), key=Key(rng.bytes(32)), attacks=False)
        except Infeasible:
            continue
        release = release.decoded()
        if release.kind == "multi" and not any(name.endswith("_sensitive") for name in release.tables):
            continue  # nothing stands beside another
        assert belongs(release, table), seed
        clean += 1
        for swap in swaps(release)[:4]:
            other = swapped(release, *swap)
            expected = truly(other, table)
            assert belongs(other, table) == expected, (seed, swap)
            noticed, missed = noticed + (not expected), missed + expected
    assert clean >= 20
    assert noticed >= 30
    assert missed >= 1


@pytest.mark.parametrize("seed", range(300))
def test_dealing_is_what_a_search_finds(seed: int) -> None:
    """Small problems of any form, many of which bounds do not settle."""
    rng = np.random.default_rng(seed)
    rows, quasi, groups, values = (int(rng.integers(low, high)) for low, high in ((2, 8), (1, 4), (1, 4), (1, 4)))
    originals = [(int(rng.integers(quasi)), int(rng.integers(values))) for _ in range(rows + int(rng.integers(0, 2)))]
    chosen = [originals[i] for i in rng.permutation(len(originals))[:rows]]
    group_of = rng.integers(0, groups, rows)
    shown = [(q, int(g)) for (q, _), g in zip(chosen, group_of, strict=True)]
    sensitive = [v for _, v in chosen]
    if rng.random() < 0.8:
        i, j = rng.integers(0, rows, 2)
        sensitive[i], sensitive[j] = sensitive[j], sensitive[i]
    holds = defaultdict(Counter)
    for (_, g), v in zip(shown, sensitive, strict=True):
        holds[g][v] += 1
    expected = can_be_dealt(
        [{"q": q, "g": g} for q, g in shown], [{"q": q, "v": v} for q, v in originals],
        lambda row, who: row["q"] == who["q"], dict(holds), lambda row, who: [(row["g"], who["v"])],
    )  # fmt: skip
    holds = defaultdict(Counter)
    for (_, g), v in zip(shown, sensitive, strict=True):
        holds[g][v] += 1
    kinds, cells = sorted(set(originals)), sorted(set(shown))
    entries = sorted((g, v) for g, counter in holds.items() for v in counter)
    pairs = [
        (k, c, entries.index((g, v)))
        for k, (q, v) in enumerate(kinds)
        for c, (p, g) in enumerate(cells)
        if p == q and (g, v) in entries
    ]
    kind, cell, entry = (np.array([pair[i] for pair in pairs], np.int64) for i in range(3))
    tight = np.array([sum(q == p for q, _ in originals) == sum(q == p for q, _ in shown) for p, _ in kinds])
    problem = Dealing(
        kind, cell, [entry], np.array([originals.count(k) for k in kinds]), tight,
        np.array([shown.count(c) for c in cells]), [np.array([holds[g][v] for g, v in entries])],
    )  # fmt: skip
    answer = dealt(problem)
    assert (answer.holds, answer.open) == (expected, 0)
