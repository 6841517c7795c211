"""Originals that fit a release: every way to give people sensitive values that the tables allow, counted out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.label_boxes import CodedLabels, coded_labels
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import number_text

ORIGINALS = 1_000
STEPS = 200_000

Values = tuple[Any, ...]
SensitiveValues = tuple[Values, ...]  # of each person


class DoesNotApply(Exception):
    """Why the attack says nothing of this release."""


class TooMany(Exception):
    """More originals fit than can be counted out."""


@dataclass(frozen=True)
class People:
    """The original's people: what is known of them, and their sensitive values, as the release spells both."""

    quasi: list[str]
    known: pl.DataFrame
    sensitive: list[str]
    values: pl.DataFrame

    @classmethod
    def from_original(cls, release: Release, original: pl.DataFrame) -> People:
        infos = attributes_of(release)
        sensitive = sorted(release.manifest.parameters.l)
        quasi = [name for name, info in infos.items() if info.role in ("quasi", "plain") and name not in sensitive]
        columns = {name: original_values(original, infos[name], release.manifest) for name in (*quasi, *sensitive)}
        return cls(
            quasi,
            pl.DataFrame({name: columns[name] for name in quasi}),
            sensitive,
            pl.DataFrame({name: columns[name] for name in sensitive}),
        )


@dataclass
class _Places:
    """What a person may be given: (group, values) and what that uses up of `left`."""

    options: list[list[tuple[Values, list[Any]]]]  # for each person
    left: Counter[Any]


def originals(release: Release, people: People) -> list[SensitiveValues]:
    """Every way to give people sensitive values that the tables allow."""
    places = _generalized(release, people) if release.traits.sensitive_in_rows else _exact(release, people)
    fitting: dict[SensitiveValues, None] = {}
    for steps, values in enumerate(_given(places, [])):
        fitting[values] = None
        if len(fitting) > ORIGINALS or steps > STEPS:
            raise TooMany
    if not fitting:
        raise DoesNotApply("no original fits the tables")
    return list(fitting)


def _given(places: _Places, given: list[Values]) -> Iterator[SensitiveValues]:
    if len(given) == len(places.options):
        yield tuple(given)
        return
    for values, uses in places.options[len(given)]:
        need = Counter(uses)
        if all(places.left[item] >= n for item, n in need.items()):
            places.left.subtract(need)
            yield from _given(places, [*given, values])
            places.left.update(need)


def _generalized(release: Release, people: People) -> _Places:
    info, rows = release.info("microdata"), release.tables["microdata"]
    linked = release.manifest.parameters.linked
    numbers = rows[GROUP].unique().sort()
    covers = covered(release, people.known)
    left: Counter[Any] = Counter((GROUP, g) for g in rows[GROUP])
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in numbers:
        members = rows.filter(pl.col(GROUP) == g)
        dealt[g] = _dealt(g, [members[name].to_list() for name in people.sensitive], linked, left)
    options = []
    for person in range(people.known.height):
        plain = [(name, people.known[name][person]) for name in info.names("plain")]
        if plain:
            raise DoesNotApply("it does not weigh plain columns")
        groups = [g for i, g in enumerate(numbers) if covers[i, person]]
        options.append([(values, [*uses, (GROUP, g)]) for g in groups for values, uses in dealt[g]])
    return _Places(options, left)


def labels_of_groups(release: Release, known: pl.DataFrame) -> Iterator[CodedLabels]:
    """For each quasi-identifier the labels of groups, in the order of their numbers, beside what is known of people."""
    one_of = release.tables["microdata"].unique(GROUP, keep="first").sort(GROUP)
    for column in release.info("microdata").named("quasi"):
        yield coded_labels(one_of[column.name], known[column.name], column)


def covered(release: Release, known: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """[group, person] whether the labels of a group, in the order of their numbers, cover what is known."""
    covers = np.ones((release.tables["microdata"][GROUP].n_unique(), known.height), np.bool_)
    for code in labels_of_groups(release, known):
        low, high = code.low[code.label][:, None], code.high[code.label][:, None]
        covers &= (low <= code.value) & (code.value <= high)
        for g in np.flatnonzero(code.gaps[code.label]):
            label = code.label[g]
            members = code.members[code.starts[label] : code.starts[label + 1]]
            covers[g] &= np.isin(code.value, members)
    return covers


def _dealt(group: int, columns: list[list[Any]], linked: bool, left: Counter[Any]) -> list[tuple[Values, list[Any]]]:
    """The sensitive values that a member of a group may have, and what each uses; `left` gets what there is."""
    if linked:
        tuples = list(zip(*columns, strict=True))
        left.update((group, values) for values in tuples)
        return [(values, [(group, values)]) for values in dict.fromkeys(tuples)]
    options: list[tuple[Values, list[Any]]] = [((), [])]
    for i, column in enumerate(columns):
        left.update((group, i, value) for value in column)
        options = [
            ((*values, value), [*uses, (group, i, value)])
            for values, uses in options
            for value in dict.fromkeys(column)
        ]
    return options


def _exact(release: Release, people: People) -> _Places:
    """Where quasi-identifiers stand as they are: a person is a row of equal values."""
    quasi = release.tables["quasi"]
    rows = quasi.select(GROUP, *people.quasi).rows()
    left: Counter[Any] = Counter(("row", *row) for row in rows)
    deal = _decomposed if release.traits.lists_of_groups else _bucketized
    dealt = deal(release, people, left)
    options = []
    for known in people.known.rows():
        groups = sorted({group for group, *values in rows if tuple(values) == known})
        options.append([(hand, [*uses, ("row", g, *known)]) for g in groups for hand, uses in dealt[g]])
    return _Places(options, left)


def _bucketized(release: Release, people: People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    values, dealt = release.tables["sensitive"], {}
    linked = not release.info("sensitive").named("attribute")
    for g in values[GROUP].unique():
        members = values.filter(pl.col(GROUP) == g)
        members = members.select(pl.exclude("count").repeat_by("count").explode())
        if linked:
            columns = [members[name].to_list() for name in people.sensitive]
        else:
            texts = [members.filter(pl.col("attribute") == name)["value"].to_list() for name in people.sensitive]
            columns = [_read(people.values[name], text) for name, text in zip(people.sensitive, texts, strict=True)]
        dealt[g] = _dealt(g, columns, linked, left)
    return dealt


def _decomposed(release: Release, people: People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    tables, primary = release.tables, people.sensitive.index(release.manifest.parameters.primary)
    values = tables["values"]
    joint = tables.get("sensitive")
    if joint is not None:
        left.update({("joint", *row[:-1]): row[-1] for row in joint.select(*people.sensitive, "count").rows()})
    for i, name in enumerate(people.sensitive):
        alone = tables.get(f"sensitive_{name}")
        if alone is not None:
            texts = _read(people.values[name], alone["value"].cast(pl.String).to_list())
            left.update({(i, value): n for value, n in zip(texts, alone["count"], strict=True)})
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in values[GROUP].unique():
        options: list[tuple[Values, list[Any]]] = [((), [])]
        for i, name in enumerate(people.sensitive):
            texts = values.filter((pl.col(GROUP) == g) & (pl.col("attribute") == name))["value"].to_list()
            counted = f"sensitive_{name}" in tables
            options = [
                (
                    (*before, value),
                    [*uses, *([(i, value)] if counted else []), *([(g, "primary", value)] if i == primary else [])],
                )
                for before, uses in options
                for value in _read(people.values[name], texts)
            ]
        left.update((g, "primary", value) for value in {hand[primary] for hand, _ in options})
        if joint is not None:
            options = [(hand, [*uses, ("joint", *hand)]) for hand, uses in options if left[("joint", *hand)]]
        dealt[g] = options
    return dealt


def _read(column: pl.Series, texts: list[str]) -> list[Any]:
    """Values that a release writes as text, as the column has them."""
    if column.dtype == pl.String:
        return list(texts)
    by_text = {number_text(value): value for value in column.unique().drop_nulls()}
    return [by_text.get(text, text) for text in texts]
