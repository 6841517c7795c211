"""Originals that fit a release: every way to give people secrets that the published tables allow, counted out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.label_boxes import coded
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import number_text

ORIGINALS = 1_000
STEPS = 200_000

Values = tuple[Any, ...]
Secrets = tuple[Values, ...]  # of each person


class DoesNotApply(Exception):
    """Why the attack says nothing of this release."""


class TooMany(Exception):
    """More originals fit than can be counted out."""


@dataclass(frozen=True)
class People:
    """The original's people: what is known of them, and their secrets, as the release spells both."""

    quasi: list[str]
    known: pl.DataFrame
    secret: list[str]
    secrets: pl.DataFrame

    @classmethod
    def of(cls, release: Release, original: pl.DataFrame) -> People:
        infos = attributes_of(release)
        secret = sorted(release.manifest.parameters["l"])
        quasi = [name for name, info in infos.items() if info.role in ("quasi", "plain") and name not in secret]
        columns = {name: original_values(original, infos[name], release.manifest) for name in (*quasi, *secret)}
        return cls(
            quasi,
            pl.DataFrame({name: columns[name] for name in quasi}),
            secret,
            pl.DataFrame({name: columns[name] for name in secret}),
        )


@dataclass
class _Places:
    """What a person may be given: (group, secrets) and what that uses up of `left`."""

    options: list[list[tuple[Values, list[Any]]]]  # for each person
    left: Counter[Any]


def originals(release: Release, people: People) -> list[Secrets]:
    """Every way to give people secrets that the tables allow."""
    places = _generalized(release, people) if release.kind == "generalized" else _exact(release, people)
    found: dict[Secrets, None] = {}
    for steps, secrets in enumerate(_given(places, [])):
        found[secrets] = None
        if len(found) > ORIGINALS or steps > STEPS:
            raise TooMany
    if not found:
        raise DoesNotApply("no original fits the tables")
    return list(found)


def _given(places: _Places, given: list[Values]) -> Iterator[Secrets]:
    if len(given) == len(places.options):
        yield tuple(given)
        return
    for secrets, uses in places.options[len(given)]:
        need = Counter(uses)
        if all(places.left[item] >= n for item, n in need.items()):
            places.left.subtract(need)
            yield from _given(places, [*given, secrets])
            places.left.update(need)


def _generalized(release: Release, people: People) -> _Places:
    info, rows = release.info("microdata"), release.tables["microdata"]
    linked = release.manifest.parameters.get("linked", True)
    numbers = rows[GROUP].unique().sort()
    covers = covered(release, people.known)
    left: Counter[Any] = Counter((GROUP, g) for g in rows[GROUP])
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in numbers:
        mine = rows.filter(pl.col(GROUP) == g)
        dealt[g] = _dealt(g, [mine[name].to_list() for name in people.secret], linked, left)
    options = []
    for person in range(people.known.height):
        plain = [(name, people.known[name][person]) for name in info.names("plain")]
        if plain:
            raise DoesNotApply("it does not weigh plain columns")
        of = [g for i, g in enumerate(numbers) if covers[i, person]]
        options.append([(secrets, [*uses, (GROUP, g)]) for g in of for secrets, uses in dealt[g]])
    return _Places(options, left)


def covered(release: Release, known: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """[group, person] whether the labels of a group, in the order of their numbers, cover what is known."""
    info, rows = release.info("microdata"), release.tables["microdata"]
    one_of = rows.unique(GROUP, keep="first").sort(GROUP)
    covers = np.ones((one_of.height, known.height), np.bool_)
    for column in info.named("quasi"):
        code = coded(one_of[column.name], known[column.name], column)
        low, high = code.low[code.label][:, None], code.high[code.label][:, None]
        covers &= (low <= code.value) & (code.value <= high)
        for g in np.flatnonzero(code.gaps[code.label]):
            label = code.label[g]
            members = code.members[code.starts[label] : code.starts[label + 1]]
            covers[g] &= np.isin(code.value, members)
    return covers


def _dealt(group: int, columns: list[list[Any]], linked: bool, left: Counter[Any]) -> list[tuple[Values, list[Any]]]:
    """The secrets that a member of a group may have, and what each uses; `left` gets what there is."""
    if linked:
        tuples = list(zip(*columns, strict=True))
        left.update((group, values) for values in tuples)
        return [(values, [(group, values)]) for values in dict.fromkeys(tuples)]
    found: list[tuple[Values, list[Any]]] = [((), [])]
    for at, column in enumerate(columns):
        left.update((group, at, value) for value in column)
        found = [
            ((*values, value), [*uses, (group, at, value)]) for values, uses in found for value in dict.fromkeys(column)
        ]
    return found


def _exact(release: Release, people: People) -> _Places:
    """Where quasi values stand as they are: a person is a row of equal values."""
    quasi = release.tables["quasi"]
    rows = quasi.select(GROUP, *people.quasi).rows()
    left: Counter[Any] = Counter(("row", *row) for row in rows)
    if release.kind == "bucketized":
        dealt = _bucketized(release, people, left)
    else:
        dealt = _decomposed(release, people, left)
    options = []
    for known in people.known.rows():
        of = sorted({group for group, *values in rows if tuple(values) == known})
        options.append([(secrets, [*uses, ("row", g, *known)]) for g in of for secrets, uses in dealt[g]])
    return _Places(options, left)


def _bucketized(release: Release, people: People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    values, dealt = release.tables["sensitive"], {}
    linked = not release.info("sensitive").named("attribute")
    for g in values[GROUP].unique():
        mine = values.filter(pl.col(GROUP) == g)
        mine = mine.select(pl.exclude("count").repeat_by("count").explode())
        if linked:
            columns = [mine[name].to_list() for name in people.secret]
        else:
            texts = [mine.filter(pl.col("attribute") == name)["value"].to_list() for name in people.secret]
            columns = [_read(people.secrets[name], text) for name, text in zip(people.secret, texts, strict=True)]
        dealt[g] = _dealt(g, columns, linked, left)
    return dealt


def _decomposed(release: Release, people: People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    tables, primary = release.tables, people.secret.index(release.manifest.parameters["primary"])
    values = tables["values"]
    joint = tables.get("sensitive")
    if joint is not None:
        left.update({("joint", *row[:-1]): row[-1] for row in joint.select(*people.secret, "count").rows()})
    for at, name in enumerate(people.secret):
        alone = tables.get(f"sensitive_{name}")
        if alone is not None:
            texts = _read(people.secrets[name], alone["value"].cast(pl.String).to_list())
            left.update({(at, value): n for value, n in zip(texts, alone["count"], strict=True)})
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in values[GROUP].unique():
        found: list[tuple[Values, list[Any]]] = [((), [])]
        for at, name in enumerate(people.secret):
            mine = values.filter((pl.col(GROUP) == g) & (pl.col("attribute") == name))["value"].to_list()
            counted = f"sensitive_{name}" in tables
            found = [
                (
                    (*before, value),
                    [*uses, *([(at, value)] if counted else []), *([(g, "primary", value)] if at == primary else [])],
                )
                for before, uses in found
                for value in _read(people.secrets[name], mine)
            ]
        left.update((g, "primary", value) for value in {of[primary] for of, _ in found})
        if joint is not None:
            found = [(of, [*uses, ("joint", *of)]) for of, uses in found if left[("joint", *of)]]
        dealt[g] = found
    return dealt


def _read(column: pl.Series, texts: list[str]) -> list[Any]:
    """Values that a release writes as text, as the column has them."""
    if column.dtype == pl.String:
        return list(texts)
    by_text = {number_text(value): value for value in column.unique().drop_nulls()}
    return [by_text.get(text, text) for text in texts]
