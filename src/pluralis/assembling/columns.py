"""What all kinds of release share: columns as the manifest describes them, values, groups and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import Infeasible, PolicyError
from pluralis.grouping.generalization import PendingColumn
from pluralis.grouping.plan import SUPPRESSED, Plan
from pluralis.kernels.order import gathered, sort_if_nearly, sorted_by, stable_order, take_digit
from pluralis.policy.attributes import BOUNDS, MissingAs
from pluralis.policy.hierarchies import FileHierarchy
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import MEMBERSHIP, SEVERAL
from pluralis.release.kinds import Kind
from pluralis.release.manifest import Claim, ColumnInfo, TableInfo, claim_words, file_names
from pluralis.release.parameter_form import LETTERS, MARKS
from pluralis.release.release import sorting
from pluralis.table.dictionaries import dictionary_encode
from pluralis.table.encoding import Codes, Column, Table
from pluralis.table.named_values import bounds_by_code
from pluralis.table.spelling import hides_characters, look_alike
from pluralis.threads import by_rows, in_threads

Rows = npt.NDArray[np.int64]
_LONGEST = 200  # letters of a name

GROUP_COLUMN = ColumnInfo(name="group", role="group", type="number")
ATTRIBUTE_COLUMN = ColumnInfo(name="attribute", role="attribute", type="text")
VALUE_COLUMN = ColumnInfo(name="value", role="value", type="text")
COUNT_COLUMN = ColumnInfo(name="count", role="count", type="number")


class Part(NamedTuple):
    """One table of a release, its rows in canonical order, text as codes."""

    name: str
    columns: tuple[ColumnInfo, ...]
    rows: pl.DataFrame


def infos(parts: Sequence[Part]) -> tuple[TableInfo, ...]:
    """The tables of a release as its manifest describes them."""
    files = file_names([part.name for part in parts])
    return tuple(
        TableInfo(name=part.name, file=f"{file}.parquet", columns=part.columns)
        for part, file in zip(parts, files, strict=True)
    )


class TablesModule(Protocol):
    """A module of this package."""

    def tables(self, plan: Any, table: Table, policy: Policy, draw: Draw) -> list[Part]:
        """The published tables of a plan of this kind."""

    def parameters(self, plan: Any, policy: Policy) -> dict[str, object]:
        """What the manifest says of this plan that other kinds do not have."""

    def claims(self, plan: Any, policy: Policy) -> Iterator[Claim]:
        """What they promise: each rule, against each adversary."""

    def breaks(self, plan: Any, table: Table) -> Iterator[str]:
        """What they do not stop, whatever the method."""


class Kept(NamedTuple):
    """The published rows of a grouping: `rows[i]` is in group `number[i]`."""

    rows: Rows
    number: Codes


def numbered_rows(group_of: Rows | Codes, draw: Draw, purpose: str = "group ids") -> Kept:
    """The rows that have a group, under random group numbers from 1, in canonical order."""
    groups = int(group_of.max(initial=SUPPRESSED)) + 1
    drawn = (draw.permutation(groups, purpose) + 1).astype(np.int32)
    rows = np.flatnonzero(group_of != SUPPRESSED)
    return Kept(rows, drawn[group_of[rows]])


def kept_rows(group_of: Rows, draw: Draw) -> Kept:
    """The same, ordered by group."""
    rows, number = numbered_rows(group_of, draw)
    order = stable_order(number, int(number.max(initial=0)) + 1)
    rows = rows[order]
    return Kept(rows, number[order])


def in_order(columns: Mapping[str, PendingColumn]) -> pl.DataFrame:
    """The columns, made, with their rows in canonical order.

    The order is found on the places of values, the last column first: text takes several times as much memory.
    """
    order = np.arange(next(iter(columns.values())).codes.size, dtype=np.int32)
    for name in reversed(sorting(columns)):
        values, place = columns[name]
        places = values.rank("dense").fill_null(values.len() + 1).cast(pl.Int32).to_numpy()
        order = sorted_by(order, place, places, values.len() + 2)
    return pl.DataFrame({name: values.gather(place[order]) for name, (values, place) in columns.items()})


def quasi_rows(table: Table, policy: Policy, kept: Kept) -> Part:
    """The table `quasi` with its columns as they are: quasi-identifiers and plain columns, `group`."""
    infos, series = shown_as_they_are(table, policy, kept.rows)
    frame = pl.DataFrame(series)
    return Part("quasi", (*infos, GROUP_COLUMN), frame.with_columns(group=pl.Series(kept.number)))


def shown_as_they_are(table: Table, policy: Policy, rows: Rows) -> tuple[list[ColumnInfo], list[pl.Series]]:
    """Quasi-identifiers and plain columns of some rows, and what the manifest says of them."""

    def shown(column: Column) -> tuple[ColumnInfo, pl.Series]:
        info = column_info(column, rows, policy)
        exact = info.model_copy(update={"exact": True}) if info.role == "quasi" else info
        return exact, column.published(rows)

    both = in_threads(shown, [*table.quasi, *table.named("plain")], rows.size)
    return [info for info, _ in both], [series for _, series in both]


def count_combinations(sizes: Sequence[int], keys: Iterable[npt.NDArray]) -> tuple[list[Codes], Codes]:
    """The different combinations of keys, in order, and how often each occurs; keys are below `sizes`, one by one.

    >>> [key.tolist() for key in count_combinations([2, 4], [np.array([1, 0, 1]), np.array([3, 3, 3])])[0]]
    [[0, 1], [3, 3]]
    """
    if prod(sizes) < 2**63:
        packed = _packed(sizes, iter(keys))
        if not sort_if_nearly(packed, 16 * packed.size):  # rows come group by group
            packed.sort()
        counts = gathered(packed)
        packed = packed[: counts.size]
        columns: list[Codes] = [np.empty(packed.size, np.int32) for _ in sizes]

        def unpack(some: slice) -> None:
            for column, size in zip(reversed(columns), reversed(sizes), strict=True):
                take_digit(packed[some], size, column[some])

        by_rows(unpack, packed.size)
        return columns, counts
    frame = pl.DataFrame({str(i): key for i, key in enumerate(keys)})
    names = frame.columns
    frame = frame.group_by(names).len("rows").sort(names)
    return [frame[name].to_numpy().astype(np.int32) for name in names], frame["rows"].to_numpy().astype(np.int32)


def _packed(sizes: Sequence[int], keys: Iterator[npt.NDArray]) -> Rows:
    """Each combination of keys as one number."""
    packed = next(keys).astype(np.int64)
    for key, size in zip(keys, sizes[1:], strict=True):
        packed *= size
        packed += key
    return packed


class TextOrder(NamedTuple):
    """The values of a column in the order in which they are published, and the place there of each code.

    That is the order of codes, but for bins: as numbers [500, 999] comes before [1000, 1499], as text after it.
    """

    values: pl.Series
    place: Codes | None  # None: it is the order of codes

    @classmethod
    def from_column(cls, column: Column) -> TextOrder:
        values = column.dictionary
        if values.is_sorted(nulls_last=True):
            return cls(values, None)
        order = values.arg_sort(nulls_last=True).to_numpy()
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size)
        return cls(values.gather(order), place)

    def codes(self, column: Column, rows: Rows) -> Codes:
        """The places of some rows."""
        codes = column.codes[rows]
        return codes if self.place is None else self.place[codes]


def _keys(kept: Kept, shown: Sequence[TextOrder], columns: Sequence[Column]) -> Iterator[Codes]:
    yield kept.number
    for order, column in zip(shown, columns, strict=True):
        yield order.codes(column, kept.rows)


def linked_counts(name: str, columns: Sequence[Column], policy: Policy, kept: Kept) -> Part:
    """`group`, the sensitive columns side by side, `count`."""
    infos = (GROUP_COLUMN, *(column_info(column, kept.rows, policy) for column in columns), COUNT_COLUMN)
    shown = [TextOrder.from_column(column) for column in columns]
    sizes = [int(kept.number.max(initial=0)) + 1, *(order.values.len() for order in shown)]
    wanted = _keys(kept, shown, columns)
    del kept  # so that it is free once they are read
    keys, counts = count_combinations(sizes, wanted)
    series = [order.values.gather(key) for order, key in zip(shown, keys[1:], strict=True)]
    return Part(name, infos, pl.DataFrame([pl.Series("group", keys[0]), *series, pl.Series("count", counts)]))


def unlinked_counts(name: str, columns: Sequence[Column], kept: Kept) -> Part:
    """`group`, `attribute`, `value`, `count`: each sensitive column on its own."""
    return Part(
        name,
        (GROUP_COLUMN, ATTRIBUTE_COLUMN, VALUE_COLUMN, COUNT_COLUMN),
        value_rows([(column, kept) for column in columns]),
    )


def value_rows(columns: Sequence[tuple[Column, Kept]]) -> pl.DataFrame:
    """How often each attribute has each value in each group, in order of group, attribute and value (as text)."""
    columns = sorted(columns, key=lambda pair: pair[0].name)
    texts = [pl.Series([column.text(code) for code in range(column.size)], dtype=pl.String) for column, _ in columns]
    before = np.concatenate([[0], np.cumsum([text.len() for text in texts])])

    def entries(i: int) -> tuple[Codes, Codes, Codes]:
        column, kept = columns[i]
        place = texts[i].rank("ordinal").to_numpy().astype(np.int64) - 1
        size = int(kept.number.max(initial=0)) + 1
        (number, spot), count = count_combinations([size, column.size], [kept.number, place[column.codes[kept.rows]]])
        spot += np.int32(before[i])
        return number, spot, count

    parts = in_threads(entries, range(len(columns)), max(kept.rows.size for _, kept in columns))
    number, spot, count = (np.concatenate(part) for part in zip(*parts, strict=True))
    del parts
    order = stable_order(number, int(number.max(initial=0)) + 1)
    number, spot, count = number[order], spot[order], count[order]
    del order
    names = dictionary_encode(pl.concat([pl.repeat(column.name, column.size, eager=True) for column, _ in columns]))
    values = dictionary_encode(pl.concat([text.sort() for text in texts]))
    return pl.DataFrame(
        {
            "group": number,
            "attribute": names.gather(spot),
            "value": values.gather(spot),
            "count": count,
        }
    )


def column_info(column: Column, rows: Rows, policy: Policy) -> ColumnInfo:
    """A column as the manifest describes it: its domain and tree, from published rows only."""
    whole = rows.size == column.codes.size
    present = np.flatnonzero(column.counts if whole else np.bincount(column.codes[rows], minlength=column.size))
    codes = present[present < len(column.values)]
    missing = bool(codes.size < present.size)
    hierarchy = None
    if column.is_number:
        domain: tuple[str | int | float | None, ...] = tuple(column.values[codes[i]] for i in (0, -1) if codes.size)
    else:
        domain = (*(column.values[code] for code in codes), *([None] if missing else []))
        if column.hierarchy is not None and column.leaf_of is not None:
            asked = policy.columns[column.name]
            from_file = isinstance(asked.hierarchy, FileHierarchy) and asked.rare is None  # no joined value is named
            every = range(len(column.hierarchy.leaves) - column.has_missing)
            leaves = every if from_file else column.leaf_of[codes].tolist()
            hierarchy = tuple(tuple(level[leaf] for level in column.hierarchy.labels) for leaf in leaves)
    return ColumnInfo(
        name=column.name,
        role=column.role,
        type="number" if column.is_number else "text",
        attribute=column.name,
        domain=domain,
        hierarchy=hierarchy,
        ordered=True if column.is_ordered else None,
    )


def refuse_names(policy: Policy, kind: Kind) -> None:
    """Refuse columns that no reader would accept: called like one that such a release has of its own, or unreadable."""
    alike: dict[str, str] = {}
    for name in (*policy.quasi, *policy.named("plain"), *policy.sensitive):
        if hides_characters(name) or len(name) > _LONGEST:
            raise PolicyError(
                f"attributes.{name[:_LONGEST]!r}: the name holds characters that cannot be seen, such as an end of "
                f"line, or is longer than {_LONGEST} letters. Rename the column."
            )
        if (first := alike.setdefault(look_alike(name), name)) != name:
            raise PolicyError(
                f"attributes.{name}: it reads like {first!r}, and a reader would mix them up. Rename one."
            )
    instead = [a.if_missing.as_ for a in policy.columns.values() if isinstance(a.if_missing, MissingAs)]
    if len(policy.missing) > MARKS or any(len(mark) > LETTERS or hides_characters(mark) for mark in policy.missing):
        raise PolicyError(
            f"missing: at most {MARKS} marks, of up to {LETTERS} letters that can be seen. Blank cells need '' alone."
        )
    if any(len(text) > LETTERS or hides_characters(text) for text in instead):
        raise PolicyError(f"if_missing: what stands for a missing value has up to {LETTERS} letters that can be seen.")
    countable = policy.columns if kind.has_subtables else policy.sensitive  # any may be protected in some subtable
    taken = [name for name in countable if kind.has_counts and name == COUNT_COLUMN.name]
    if kind.has_slices:
        taken += [name for name in (*policy.quasi, *policy.named("plain")) if re.fullmatch(r"group_\d+", name)]
    if taken:
        fault = f"a {kind.name} release has a column {taken[0]!r} of its own. Rename the column."
        raise PolicyError(f"attributes.{taken[0]}: {fault}")


def refuse_vanished(policy: Policy, table: Table, kept: npt.NDArray[np.bool_]) -> None:
    """Refuse a release in which a value that it bounds is in no row: nobody could check what is said of it."""
    for column in table.sensitive:
        present = np.bincount(column.codes[kept], minlength=column.size)
        for code in bounds_by_code(column, policy.columns[column.name]):
            if not present[code]:
                raise Infeasible(
                    f"{column.name!r}: every row that holds {column.text(code)!r} was suppressed. Set suppress: 0, or "
                    "raise its bound."
                )


def asked_of(policy: Policy) -> dict[str, object]:
    """What a policy asks for, as the manifest of one table, or of tables of the same groups, tells of it."""
    quasi = set(policy.quasi)
    return {
        "l": {name: policy.l(name) for name in policy.sensitive},
        "adversaries": sorted(sorted(known) for known in policy.knowledge[1:]),
        "k": policy.k,
        "rules": [str(rule) for rule in policy.rules if not quasi.issuperset(rule.knows)],
        "weights": {name: weight for name in policy.quasi if (weight := policy.columns[name].weight) != 1.0},
    }


def asked_of_groups(policy: Policy) -> dict[str, object]:
    """The same for kinds whose groups keep the model of diversity that the policy names, and bounds of values."""
    bounds = {
        key: {name: bound for name in policy.sensitive if (bound := getattr(policy.columns[name], key)) is not None}
        for key in BOUNDS
    }
    return {**asked_of(policy), "models": models_of(policy), **{key: asked for key, asked in bounds.items() if asked}}


def models_of(policy: Policy) -> dict[str, str]:
    """How diverse attributes are asked to be, beside their l, where that is not `frequency`."""
    models = {
        name: (attribute.model, attribute.c) for name, attribute in policy.columns.items() if name in policy.sensitive
    }
    return {n: model if c is None else f"{model} {c}" for n, (model, c) in models.items() if model != "frequency"}


def promised(policy: Policy, kind: str) -> Iterator[Claim]:
    """Every promise of a policy by the model that it names."""
    for known, name in policy.promises:
        attribute = policy.columns[name]
        if policy.l(name) > 1:
            yield stated(known, kind, model=attribute.model, attribute=name, l=policy.l(name), c=attribute.c)
        for value, share in (attribute.at_most or {}).items():
            yield stated(known, kind, model="at-most", attribute=name, value=value, at_most=share)
        if attribute.gain is not None:
            yield stated(known, kind, model="gain", attribute=name, gain=attribute.gain)
        if attribute.t is not None:
            model = "ordered-closeness" if attribute.is_ordered else "closeness"
            yield stated(known, kind, model=model, attribute=name, t=attribute.t)


def large_groups(policy: Policy, kind: str) -> Iterator[Claim]:
    """The promise of k-anonymity, where the policy asks for it."""
    if policy.k is not None:
        yield stated(policy.quasi, kind, model="k-anonymity", k=policy.k)


def stated(known: Iterable[str], kind: str, **fields: Any) -> Claim:
    """A claim with its sentence."""
    claim = Claim(rule="", adversary=tuple(sorted(known)), **fields)
    return claim.model_copy(update={"rule": claim_words(claim, kind)})


def common_breaks(plan: Plan, table: Table) -> Iterator[str]:
    """What no kind of release stops."""
    yield MEMBERSHIP
    if table.person is not None:
        yield f"{SEVERAL}: each is protected on its own; whoever finds several can intersect their groups"
    if plan.suppressed + table.dropped:
        why = _why(plan, table)
        yield f"suppressed rows: a person known to be in the table whom no row covers was suppressed, {why}"


def _why(plan: Plan, table: Table) -> str:
    """What being suppressed tells: that a value is missing, that it is common, or one of both."""
    common = _mostly_common(plan, table)
    if not table.dropped:
        if not common:
            return "because the row fits no group, which may tell something of its values"
        *some, last = common
        names = f"{', '.join(some)} and {last}" if some else last
        return f"and what is suppressed are mostly the commonest values of {names}"
    shown = [*table.gaps[:3], f"{len(table.gaps) - 3} others"] if len(table.gaps) > 4 else table.gaps
    *some, last = shown
    missing = f"has no {', '.join(some)} or no {last}" if some else f"has no {last}"
    if not plan.suppressed:
        return f"and {missing}: rows in which it is missing were dropped, and no others"
    others = f"whose values of {', '.join(common)} are mostly the commonest" if common else "which fit no group"
    return f"and either {missing} or is one of the others, {others}"


def _mostly_common(plan: Plan, table: Table) -> list[str]:
    """The sensitive attributes of which most suppressed rows hold a value that no published one is more common than."""
    gone, names = plan.group_of == SUPPRESSED, []
    for column in table.sensitive:
        published = np.bincount(column.codes[~gone], minlength=column.size)
        commonest = np.flatnonzero(column.counts >= published.max())
        if 2 * int(np.isin(column.codes[gone], commonest).sum()) > int(gone.sum()) > 0:
            names.append(column.name)
    return names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} others"]
