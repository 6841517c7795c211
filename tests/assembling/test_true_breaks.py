"""No sentence of a release is false for its case: what is not stopped, and how to read it, kind by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pluralis.errors import Infeasible
from pluralis.method import methods
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.kinds.base import APART, LABELS
from pluralis.release.readme import release_readme
from pluralis.release.release import Release
from support.sample_tables import policy_of

ROWS = 40
PEOPLE = pl.DataFrame(
    {
        "who": [f"p{i % 20}" for i in range(ROWS)],
        "age": [20 + i % 10 for i in range(ROWS)],
        "town": [f"t{i % 5}" for i in range(ROWS)],
        "ward": [f"w{i % 3}" for i in range(ROWS)],
        "disease": [f"d{i % 4}" for i in range(ROWS - 5)] + ["d0"] * 5,
        "job": [f"j{i * 3 // 4 % 5}" for i in range(ROWS)],
    }
)
CASES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "a plain column": {"plain": True},
    "two sensitive attributes": {"job": True},
    "persons": {"person": "who"},
    "some suppressed": {"suppress": 0.3, "l": 4},
    "text alone": {"number": False},
    "intervals that are given": {"intervals": True},
    "k": {"k": 4},
    "distinct": {"model": "distinct"},
    "sets alone": {"job": True, "table": "none"},
    "whoever knows the ward": {"plain": True, "knows": True},
}

ALONE = ("anatomy", "multi-sa", "tp")  # they take one attribute, or no two whose values are so few
WITH_K = ("incognito", "kaca", "mondrian", "sloms", "tp")
REFUSED = {
    *((method, case) for method in ALONE for case in ("two sensitive attributes", "sets alone")),
    *((method, "k") for method in methods() if method not in WITH_K),
    *(("randomized-addition", case) for case in ("some suppressed", "distinct")),
}


def made(method: str, case: str) -> tuple[Release, dict[str, Any]] | None:
    """A release of a method, and what was asked; None where it refuses."""
    asked = CASES[case]
    attributes: dict[str, dict[str, Any]] = {"town": {"role": "quasi"}}
    if asked.get("number", True):
        attributes["age"] = {"role": "quasi", "type": "number"}
    if asked.get("intervals"):
        attributes["age"]["hierarchy"] = {"intervals": [5, 10]}
    if asked.get("plain"):
        attributes["ward"] = {"role": "plain"}
    attributes["disease"] = {"role": "sensitive", "l": asked.get("l", 2)}
    if "model" in asked:
        attributes["disease"]["model"] = asked["model"]
    if asked.get("job") or method == "sloms":
        attributes["job"] = {"role": "sensitive", "l": 2}
    more = {key: asked[key] for key in ("k", "person", "suppress") if key in asked}
    options: dict[str, Any] = {"claim": "set-size"} if method == "randomized-addition" else {}
    if method == "decomposition" and "table" in asked:
        options["sensitive_table"] = asked["table"]
    known = [["age", "town", "ward"]] if asked.get("knows") else None
    policy = policy_of(attributes, others="drop", method=method, options=options, adversaries=known,
                       accept=["set-size"], **more)  # fmt: skip
    try:
        return publish(PEOPLE, policy, key=Key.test(), attacks=False), asked
    except Infeasible:
        return None


def columns_of(release: Release, role: str) -> list[Any]:
    return [column for info in release.manifest.tables for column in info.named(role)]


def cells_of(release: Release, name: str) -> list[str]:
    """All that tables publish of a quasi-identifier."""
    return [
        str(value)
        for info in release.manifest.tables
        for column in info.named("quasi")
        if column.name == name
        for value in release.tables[info.name][name]
    ]


def any_label(release: Release) -> bool:
    return any(cell[0] in "[{*" for name in ("age", "town") for cell in cells_of(release, name))


def exact_rows(release: Release) -> bool:
    """Whether the rows of some group agree as they are published, and none is a label."""
    rows = release.tables["microdata"]
    names = [column.name for column in columns_of(release, "quasi")]
    labels = rows.select(pl.any_horizontal(pl.col(name).str.contains(r"^[\[{*]") for name in names))
    return not labels.to_series().all()


# the start of a sentence, and when it is true of a release
TRUE: dict[str, Callable[[Release, dict[str, Any]], bool]] = {
    "tight intervals:": lambda r, asked: not asked.get("intervals") and any(c[0] == "[" for c in cells_of(r, "age")),
    "downcoding:": lambda r, asked: any_label(r),
    "homogeneity under distinct:": lambda r, asked: asked.get("model") == "distinct",
    "linkage: quasi-identifiers are published as they are": lambda r, asked: (
        any(column.exact for column in columns_of(r, "quasi")) or not any_label(r)
    ),
    "linkage: quasi-identifiers of groups that stayed": lambda r, asked: exact_rows(r),
    "suppressed rows:": lambda r, asked: r.manifest.suppressed > 0,
    "several rows of one person:": lambda r, asked: r.manifest.parameters.persons,
    "several rows:": lambda r, asked: not r.manifest.parameters.persons,
    "sensitive background knowledge:": lambda r, asked: len(r.manifest.parameters.l) > 1,
    "several sensitive attributes:": lambda r, asked: len(r.manifest.parameters.l) > 1,
    "membership:": lambda r, asked: True,
    "combined knowledge:": lambda r, asked: any(len(info.columns) > 1 for info in r.manifest.tables),
    "worst measured guess: not measured": lambda r, asked: True,
    "attacks: what they get was not measured": lambda r, asked: True,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", sorted(methods()))
def test_every_sentence_is_true_of_the_release_it_stands_in(method: str, case: str) -> None:
    release = made(method, case)
    if release is None:
        assert (method, case) in REFUSED
        return
    assert (method, case) not in REFUSED
    for sentence in release[0].manifest.breaks:
        for start, true in TRUE.items():
            if sentence.startswith(start):
                assert true(*release), sentence
    for start in ("tight intervals:", "downcoding:", "homogeneity under distinct:"):
        if start in " ".join(methods()[method].breaks) and TRUE[start](*release):
            assert any(sentence.startswith(start) for sentence in release[0].manifest.breaks), start


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", sorted(methods()))
def test_the_readme_speaks_of_what_is_there(method: str, case: str) -> None:
    one = made(method, case)
    if one is None:
        assert (method, case) in REFUSED
        return
    release, _ = one
    text = release_readme(release.manifest)
    tables = {info.name for info in release.manifest.tables}
    assert ("plain columns hold" in text.lower()) <= bool(columns_of(release, "plain"))
    assert ("ensitive columns hold" in text or "Sensitive and plain" in text) <= bool(columns_of(release, "sensitive"))
    assert (APART in text) <= any("attribute" in release.tables[name].columns for name in tables)
    if release.traits.has_subtables:
        assert (LABELS in text) == any(not column.exact for column in columns_of(release, "quasi"))
    if release.traits.has_slices:
        exact = release.manifest.parameters.k is None
        assert (LABELS in text, "hold the values themselves" in text) == (not exact, exact)
        assert ("`group_2` likewise" in text) == ("slice_2" in tables)
    if release.traits.lists_of_groups:
        assert ("`sensitive`, or the tables" in text) == any(name.startswith("sensitive") for name in tables)
