"""A group, step by step: what an adversary knows, what remains possible, and how sure that makes them.

It says nothing that is not in the release: no row of the original is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pluralis.errors import InputError
from pluralis.release.manifest import Claim
from pluralis.release.reading import LIMIT, read_release
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import subtables
from pluralis.table.labels import number_text

PEOPLE = "\0people"  # how many; a column may be called people
SHOWN = 6  # labels or values of one kind


def explain_group(release: Release | str | Path, group: str | int, *, limit: int | None = LIMIT) -> list[str]:
    """What an adversary can tell of the people of one group, step by step, in words.

    Parameters
    ----------
    release : str, Path or Release
        A release folder, or a release in memory.
    group : str or int
        Its number, or, where tables have groups of their own, the table and the number: ``"t1:118"``.
    limit : int or None
        Bytes that the tables of a folder may unfold to; None for as many as they do.

    Returns
    -------
    list of str
        The steps. Names and values in them are those of the release: escape them before you show them.

    Raises
    ------
    InputError
        If there is no such group.
    ReleaseError
        If the folder is not exactly one release.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
    >>> print(pls.explain_group(release, 1)[0])
    Somebody looks for a person of whom age are known, and finds group 1:
    """
    read = release if isinstance(release, Release) else read_release(release, limit=limit)
    return explanation_of(read, str(group))


def explanation_of(release: Release, place: str) -> list[str]:
    """The steps for a group: `118`, or, where tables have groups of their own, `t1:118` or `slice_2:118`."""
    table, _, number = place.rpartition(":")
    if not number.isdigit():
        raise InputError(f"{place!r} names no group. Write its number, or the table and the number: t1:118.")
    if release.traits.lists_values:
        raise InputError("Rows of this release stand in no groups: each lists the values that it may have.")
    if release.traits.has_subtables:
        parts = {part.name: part.release for part in subtables(release) if part.protects}
        if table not in parts:
            raise InputError(
                f"Groups stand in {', '.join(parts) or 'no table'} here. Write {next(iter(parts), 't1')}:{number}."
            )
        return list(_steps(parts[table], "", int(number), release.manifest.claims))
    return list(_steps(release, table, int(number), release.manifest.claims))


def _steps(release: Release, table: str, number: int, claims: tuple[Claim, ...]) -> Iterator[str]:
    rows, column = _rows(release, table)
    members = rows.filter(pl.col(column) == number)
    if not members.height:
        groups = rows[column].drop_nulls().to_list()
        raise InputError(f"There is no group {number}. Groups are {min(groups)} to {max(groups)}.")
    info = next(info for info in release.manifest.tables if column in info.names("group") and info.named("quasi"))
    known = info.names("quasi")
    yield f"Somebody looks for a person of whom {', '.join(known)} are known, and finds group {number}:"
    for name in known:
        yield f"  {name} is {_listed(members[name].unique().sort())}"
    if all(column.exact for column in info.named("quasi")):
        which = "The person's own can be found, not which sensitive values are theirs."
    else:
        which = "Nothing says which of them is the person."
    yield f"{members.height:,} published rows are in it. {which}"
    for name, counts in _sensitive_counts(release, column, number, members):
        total = float(counts[PEOPLE].sum())
        top = counts.sort(PEOPLE, descending=True).row(0)
        exact = "people" if not release.traits.lists_of_groups else "values, of which nothing says how common they are"
        yield f"{name} of these {exact}: {_counts_in_words(name, counts)}."
        if not release.traits.lists_of_groups:
            chance = f"{top[1]:,} of {total:,.0f}, {top[1] / total:.1%}"
            yield f"  So the best guess, {_text(top[0])}, is right with {chance}."
        for claim in claims:
            if claim.attribute == name and set(claim.adversary) <= {*known, name}:
                promise = f"  Promised: {claim.rule}"
                yield promise + (f"; the worst group has {claim.measured:.4g}." if claim.measured is not None else ".")


def _rows(release: Release, table: str) -> tuple[pl.DataFrame, str]:
    """The table whose rows are people, and its column of groups."""
    name = "microdata" if "microdata" in release.tables else "quasi"
    columns = release.info(name).names("group")
    column = GROUP if GROUP in columns else table.replace("slice", "group")
    if column not in columns:
        slices = ", ".join(name.replace("group", "slice") for name in columns)
        raise InputError(f"Every slice has groups of its own. Write one of {slices} before the number: slice_1:118.")
    return release.tables[name], column


def _sensitive_counts(
    release: Release, column: str, number: int, members: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each sensitive attribute of a group, with its values and how many people have each."""
    for info in release.manifest.tables:
        rows = release.tables[info.name]
        if info.named("quasi"):
            for name in info.names("sensitive"):
                yield name, members[name].value_counts(name=PEOPLE).sort(name)
            continue
        if not info.named("group") or (column != GROUP and info.name != column.replace("group", "slice")):
            continue
        values = rows.filter(pl.col(GROUP) == number)
        people = pl.col("count").sum() if info.named("count") else pl.len()
        if info.named("attribute"):
            for (name,), part in values.partition_by("attribute", as_dict=True).items():
                yield (
                    str(name),
                    part.group_by(pl.col("value").alias(str(name))).agg(people.alias(PEOPLE)).sort(str(name)),
                )
        for name in info.names("sensitive"):
            yield name, values.group_by(name).agg(people.alias(PEOPLE)).sort(name)


def _counts_in_words(name: str, counts: pl.DataFrame) -> str:
    shown = [f"{_text(value)} {people:,}" for value, people in counts.select(name, PEOPLE).head(SHOWN).iter_rows()]
    return ", ".join(shown) + (f" and {counts.height - SHOWN} more" if counts.height > SHOWN else "")


def _listed(values: pl.Series) -> str:
    shown = [_text(value) for value in values.head(SHOWN)]
    return ", ".join(shown) + (f" and {values.len() - SHOWN} more" if values.len() > SHOWN else "")


def _text(value: object) -> str:
    if value is None:
        return "missing"
    return value if isinstance(value, str) else number_text(value)  # type: ignore[arg-type]
