"""The table as methods and kernels see it: integer codes with dictionaries and hierarchies.

Codes follow the domain order (numbers by size, text by code point or as the policy lists it, the missing value last),
and rows stand in canonical order, sorted by what they hold, text by code point. So nothing that is decided on a Table
can depend on how the input was ordered.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from pluralis.errors import InputError, PolicyError
from pluralis.kernels.order import take_digit
from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import FileHierarchy, IntervalHierarchy, MaskHierarchy
from pluralis.policy.policy import Policy
from pluralis.table.bands import bands_out_of_order, overlapping_bands
from pluralis.table.bins import bin_places, break_labels, ordered_values, quantile_breaks, whole_breaks
from pluralis.table.canonical import canonical
from pluralis.table.dictionaries import is_text, narrow
from pluralis.table.hierarchies import Hierarchy, interval_hierarchy, mask_hierarchy, read_hierarchy
from pluralis.table.labels import interval_label, number_text
from pluralis.table.missing import rows_with_sensitive_values
from pluralis.table.parquet_files import ParquetFile
from pluralis.table.recoding import leaves_are_numbers, recode
from pluralis.table.spelling import said_twice
from pluralis.table.text_trees import Lines, held_lines, lines_of
from pluralis.table.whole_table import ITSELF, WholeTable
from pluralis.threads import by_rows, in_threads

Codes = npt.NDArray[np.int32]
Values = Sequence[str] | Sequence[int] | Sequence[float]  # numbers as an array, in a quarter of the memory
MANY_ROWS = 20  # of one person, on average: a column with fewer values names no people
MOST_OF_ONE = 100  # rows of one person, or one in a hundred: a value that more hold is nobody's name


@dataclass(frozen=True)
class Column:
    """One attribute: a code per row, and what the codes stand for."""

    name: str
    role: str
    type: str
    codes: Codes
    values: Values
    has_missing: bool = False
    hierarchy: Hierarchy | None = None
    leaf_of: Codes | None = None
    weight: float = 1.0
    is_ordered: bool = False  # text whose values stand in an order that is published
    breaks: tuple[float, ...] = ()  # of the bins that the values are, if they are

    def as_role(self, role: str) -> Column:
        """The same column in another role: what is not quasi is not generalized; bins that are, are text like any."""
        if role != "quasi":
            return replace(self, role=role, hierarchy=None, leaf_of=None)
        if self.has_order or all(str(a) < str(b) for a, b in pairwise(self.values)):
            return replace(self, role=role)
        order = sorted(range(len(self.values)), key=lambda code: str(self.values[code]))
        place = np.empty(self.size, np.int32)
        place[[*order, *range(len(order), self.size)]] = np.arange(self.size)
        return replace(self, role=role, codes=place[self.codes], values=tuple(str(self.values[code]) for code in order))

    @property
    def size(self) -> int:
        """The number of codes, the missing value included."""
        return len(self.values) + self.has_missing

    @property
    def is_number(self) -> bool:
        return self.type == "number"

    @property
    def has_order(self) -> bool:
        """Whether values lie nearer to and farther from each other, and from one to another are an interval."""
        return self.is_number or self.is_ordered

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """What values are, where they are numbers, or their places, where they are in order."""
        return np.arange(len(self.values), dtype=np.float64) if self.is_ordered else np.array(self.values, np.float64)

    @property
    def text_places(self) -> Codes | None:
        """The place of each code in the order of text; None where it is the order of codes."""
        texts = [str(value) for value in self.values] if self.is_ordered else []
        if all(one < two for one, two in pairwise(texts)):
            return None
        place = np.arange(self.size, dtype=np.int32)
        place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        return place

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows hold each code."""
        return np.bincount(self.codes, minlength=self.size).astype(np.int64)

    @cached_property
    def series(self) -> pl.Series:
        """What each code is published as, a missing value as null."""
        kind = pl.String() if not self.is_number else _kind_of(self.values)
        values = pl.Series(self.name, self.values, dtype=kind)
        return values.extend_constant(None, 1) if self.has_missing else values

    @cached_property
    def dictionary(self) -> pl.Series:
        """The same in little memory, text as codes."""
        return narrow(self.series)

    def published(self, rows: npt.NDArray[np.int64]) -> pl.Series:
        """The values of some rows, as they are, text as codes."""
        return self.dictionary.gather(self.codes[rows])

    def text(self, code: int) -> str:
        """A code as a person would write it."""
        if code >= len(self.values):
            return "(missing)"
        value = self.values[code]
        return value if isinstance(value, str) else number_text(value)

    def value_texts(self) -> list[str]:
        """The values as a person would write them, in the order of codes."""
        return [self.text(code) for code in range(len(self.values))]


@dataclass(frozen=True)
class Table:
    """Encoded rows in canonical order."""

    columns: dict[str, Column]
    rows: int
    person: Codes | None = None
    people: pl.Series | None = None  # who each code of `person` is
    dropped: int = 0  # rows without one of the values of `gaps`
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    joined: frozenset[str] = frozenset()  # columns whose rare values were counted in a table of which this is a part

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def named(self, role: str) -> list[Column]:
        return [column for column in self.columns.values() if column.role == role]

    def projected(
        self, known: Iterable[str], sensitive: Iterable[str], rows: npt.NDArray[np.int64] | None = None
    ) -> Table:
        """Some columns of some rows as a table of its own: these quasi, those sensitive, rows in canonical order."""
        names = {**dict.fromkeys(known, "quasi"), **dict.fromkeys(sensitive, "sensitive")}
        columns = {name: self.columns[name].as_role(role) for name, role in names.items()}
        shown = [column if rows is None else replace(column, codes=column.codes[rows]) for column in columns.values()]
        person = None if self.person is None else self.person if rows is None else self.person[rows]
        ordered = _in_canonical_order(shown, person)
        return replace(
            self,
            columns={name: replace(columns[name], codes=line) for name, line in zip(columns, ordered, strict=False)},
            rows=ordered[0].size,
            person=None if self.person is None else ordered[-1],
        )

    @property
    def quasi(self) -> list[Column]:
        return self.named("quasi")

    @property
    def sensitive(self) -> list[Column]:
        return self.named("sensitive")


class Clean(NamedTuple):
    """A frame as its policy reads it: one spelling of each value, gaps as null. Rows stand as they stood."""

    columns: pl.DataFrame
    person: pl.Series | None
    notes: tuple[str, ...]
    trees: Mapping[str, Lines] = {}  # of columns whose wider values stand in the table, or were joined
    joined: frozenset[str] = frozenset()  # columns whose rare values were counted in a table of which this is a part

    def small(self) -> pl.DataFrame:
        """The columns, whole numbers in no more bytes than they need."""
        return self.columns.with_columns(column.shrink_dtype() for column in self.columns.select(cs.integer()))


def encode(frame: pl.DataFrame, policy: Policy) -> Table:
    """Check a frame against its policy and turn it into codes.

    >>> policy = Policy.from_dict({"version": 1, "attributes": {"age": {"role": "quasi", "type": "number"},
    ...                                                  "disease": {"role": "sensitive", "l": 2}}})
    >>> table = encode(pl.DataFrame({"disease": ["flu", "hiv"], "age": [40, 30]}), policy)
    >>> list(table["age"].values), table["age"].codes.tolist(), table["disease"].codes.tolist()
    ([30, 40], [0, 1], [1, 0])
    """
    return encode_clean(clean(frame, policy), policy)


def clean(frame: pl.DataFrame | ParquetFile, policy: Policy, whole: WholeTable = ITSELF) -> Clean:
    """Check a frame against its policy and read its columns as it says, one by one: most take less memory then.

    Of a part of a larger table, `whole` is what must be known of that.
    """
    policy.require_decided()
    policy.check_columns(frame.columns)
    if frame.height == 0:
        raise InputError("The table has no rows. There is nothing to publish.")
    notes: list[str] = []
    used = _used(policy)
    remarks: dict[str, list[str]] = {name: [] for name in used}

    def column_of(name: str) -> pl.Series:
        values = canonical(frame[name], used[name], policy.missing_in(name), remarks[name], in_codes=True)
        return values.cast(pl.Float64) if name in whole.decimals else values

    read = dict(zip(used, in_threads(column_of, used, frame.height), strict=True))
    notes += [note for of_column in remarks.values() for note in of_column]
    recoded = recode(
        read, used, notes, folder=policy.folder, levels=lambda level: _wider(frame[level], policy), whole=whole
    )
    columns = list(recoded.columns.values())
    for column in columns:
        _refuse_one_value_twice(column, policy)
    person = None
    if policy.person is not None:
        person = canonical(frame[policy.person], Attribute(role="identifier", case="keep"), policy.missing, notes)
        if person.null_count():
            raise InputError(
                f"The person column {policy.person!r} is missing in {person.null_count():,} rows. Fill it or "
                "leave those rows out."
            )
    _warn_of_repeated_people(frame, policy, notes)
    return Clean(pl.DataFrame(columns), person, tuple(notes), recoded.trees, frozenset(whole.joined))


def _wider(column: pl.Series, policy: Policy) -> pl.Series:
    """A column of wider values, which need not be published."""
    own = policy.columns.get(column.name, Attribute())
    kind = Attribute(role="plain", case=own.case)
    return canonical(column, kind, policy.missing_in(column.name), [])


def _refuse_overlap(column: Column, policy: Policy) -> None:
    """Refuse bands that overlap, which would count as two values where they are protected, or do not stand in order."""
    texts = [str(value) for value in column.values] if column.is_ordered else []
    protected = column.role == "sensitive" or any(rule.protects == column.name for rule in policy.rules)
    twice = overlapping_bands(texts) if protected else None
    if twice:
        raise InputError(
            f"{column.name!r} holds {twice[0]!r} and {twice[1]!r}, which overlap, and would count as two values. "
            "Correct them, or remove `order`."
        )
    turned = bands_out_of_order(texts)
    if turned:
        raise InputError(
            f"{column.name!r} holds {turned[0]!r} and {turned[1]!r}, which overlap, or do not stand in order. List "
            "bands from the lowest to the highest in `order`, or remove it."
        )


def _refuse_one_value_twice(column: pl.Series, policy: Policy) -> None:
    """Refuse a protected column of text in which one value stands in two ways: they would count as two values."""
    attribute = policy.columns[column.name]
    protected = attribute.role == "sensitive" or any(rule.protects == column.name for rule in policy.rules)
    if not protected or not is_text(column.dtype) or attribute.case == "keep":
        return
    twice = said_twice(column.unique().drop_nulls().cast(pl.String), fold_case=True)
    if twice:
        raise InputError(
            f"{column.name!r} holds {twice[0]!r} and {twice[1]!r}, which read alike, are one number, or overlap, and "
            "would count as two values. Give them one spelling, set type: number if it is one, or case: keep if they "
            "mean different things."
        )


def encode_clean(source: Clean, policy: Policy) -> Table:
    """The codes of a clean frame."""
    frame, person, notes = source.columns, source.person, list(source.notes)
    used = _used(policy)
    keep = rows_with_sensitive_values(frame, used, notes)
    dropped = frame.height - int(keep.sum())
    if dropped == frame.height:
        raise InputError("Every row misses a sensitive value. There is nothing to publish.")

    def column_of(name: str) -> Column:
        values = frame[name].filter(keep) if dropped else frame[name]
        return _encode_column(values, used[name], policy, source.trees.get(name))

    columns = dict(zip(used, in_threads(column_of, used, frame.height), strict=True))
    for column in columns.values():
        _refuse_overlap(column, policy)
    people, names = (None, None) if person is None else _ranks(person.filter(keep) if dropped else person)
    rows = frame.height - dropped
    by_role = sorted(columns.values(), key=lambda column: ("quasi", "plain", "sensitive").index(column.role))
    ordered = _in_canonical_order(by_role, people)
    codes = dict(zip((column.name for column in by_role), ordered, strict=False))
    return Table(
        columns={name: replace(column, codes=codes[name]) for name, column in columns.items()},
        rows=rows,
        person=None if people is None else ordered[-1],
        people=names,
        dropped=dropped,
        gaps=tuple(name for name in used if used[name].role == "sensitive" and frame[name].null_count()),
        notes=tuple(notes),
        joined=source.joined,
    )


def _used(policy: Policy) -> dict[str, Attribute]:
    """The attributes that may be published."""
    return {name: attribute for name, attribute in policy.columns.items() if attribute.role != "identifier"}


def _warn_of_repeated_people(frame: pl.DataFrame | ParquetFile, policy: Policy, notes: list[str]) -> None:
    """Say so where an identifier shows that people have several rows and the policy names no person column."""
    if policy.person is not None:
        return
    for name in policy.named("identifier"):
        different = frame[name].n_unique()
        repeated = frame.height - different
        if repeated and MANY_ROWS * different >= frame.height and _names_people(frame[name]):
            notes.append(
                f"{name}: {repeated:,} rows repeat an earlier identifier. If it names people, add `person: "
                f"{name}` so that "
                "no group holds two rows of one person."
            )


def _names_people(identifier: pl.Series) -> bool:
    """Whether no value fills as many rows as nobody has: a 0 or "none" that most rows hold says who nobody is."""
    most = identifier.drop_nulls().value_counts(name="\0rows")["\0rows"].max()
    return isinstance(most, int) and most <= max(MOST_OF_ONE, identifier.len() // MOST_OF_ONE)


def _encode_column(series: pl.Series, attribute: Attribute, policy: Policy, lines: Lines | None) -> Column:
    name = series.name
    if attribute.is_banded:
        return _encode_bands(series, attribute)
    whole = series.dtype.is_integer() and (attribute.bin is None or float(attribute.bin).is_integer())
    if attribute.bin is not None:
        _require_digits(series, attribute.bin)
        series = _bin_starts(series.cast(pl.Float64), attribute.bin)
    codes, domain = _ranks(series)
    if attribute.order is not None:
        texts = ordered_values(domain.to_list(), attribute.order, name, fold_case=attribute.case == "fold")
        return _ordered(series, attribute, _places(domain.to_list(), texts)[codes], texts)
    has_missing = series.null_count() > 0
    number = attribute.type == "number" and attribute.bin is None and not leaves_are_numbers(attribute)
    values = _values(domain) if attribute.bin is None else _bin_labels(domain.to_list(), attribute.bin, whole)
    tree = _hierarchy_for(name, values, attribute, policy, lines) if values else None
    hierarchy, leaf_of = (None, None) if tree is None else _with_leaves(tree, name, values, has_missing, attribute)
    return Column(
        name=name,
        role=str(attribute.role),
        type="number" if number else "text",
        codes=codes,
        values=values,
        has_missing=has_missing,
        hierarchy=hierarchy,
        leaf_of=leaf_of,
        weight=attribute.weight,
    )


def _encode_bands(series: pl.Series, attribute: Attribute) -> Column:
    """Numbers in the bins of `breaks`, or in quantiles; only bins that hold a number are values."""
    if attribute.bins is not None:
        breaks = whole_breaks(series.name, quantile_breaks(series, attribute.bins.quantiles))
    else:
        breaks = whole_breaks(series.name, attribute.breaks or ())
    present = series.is_not_null().to_numpy()
    places = bin_places(series.drop_nulls(), breaks)
    bins, codes_of = np.unique(places, return_inverse=True)
    codes = np.full(series.len(), bins.size, np.int32)
    codes[present] = codes_of
    labels = break_labels(breaks)
    return replace(_ordered(series, attribute, codes, [labels[place] for place in bins]), breaks=tuple(breaks))


def _ordered(series: pl.Series, attribute: Attribute, codes: Codes, values: list[str]) -> Column:
    """A column of text whose values stand in this order."""
    return Column(
        name=series.name,
        role=str(attribute.role),
        type="text",
        codes=codes,
        values=tuple(values),
        has_missing=series.null_count() > 0,
        weight=attribute.weight,
        is_ordered=True,
    )


def _places(old: list[str], new: list[str]) -> Codes:
    """Where each of the old codes stands in the new order; the missing value stays last."""
    place = {value: i for i, value in enumerate(new)}
    return np.array([*(place[value] for value in old), len(new)], np.int32)


def _kind_of(numbers: Values) -> pl.DataType:
    """What numbers are: an array says it, also where it holds none."""
    if isinstance(numbers, array):
        return pl.Float64() if numbers.typecode == "d" else pl.Int64()
    return pl.Float64() if any(isinstance(number, float) for number in numbers) else pl.Int64()


def _values(domain: pl.Series) -> Values:
    if domain.dtype == pl.String:
        return tuple(domain.to_list())
    return array("q" if domain.dtype.is_integer() else "d", domain.to_numpy().tobytes())


def _ranks(series: pl.Series) -> tuple[Codes, pl.Series]:
    """The place of each value in its sorted domain, nulls last, and the domain."""
    if isinstance(series.dtype, pl.Enum):
        codes = series.to_physical()
        if codes.n_unique() == series.dtype.categories.len():
            return codes.cast(pl.Int32).to_numpy(), series.dtype.categories.rename(series.name)
        series = series.cast(pl.String)  # rows were suppressed, and values with them
    if series.dtype == pl.Int64 and not series.null_count():
        numbers = series.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < 2 * series.len():  # a place for every number between: no need to sort
            offsets = numbers - low
            present = np.zeros(high - low + 1, np.bool_)
            present[offsets] = True
            return (np.cumsum(present, dtype=np.int32) - 1)[offsets], pl.Series(
                series.name, np.flatnonzero(present) + low
            )
    domain = series.unique().drop_nulls().sort()
    if domain.len() >= 2**31 - 1:
        raise InputError(f"{series.name!r} has more than 2^31 different values. Round or bin it.")
    if series.dtype == pl.String:
        ranks = series.cast(pl.Enum(domain)).to_physical()
    else:
        ranks = domain.search_sorted(series.fill_null(domain[0] if domain.len() else 0))
        ranks = ranks.set(series.is_null(), domain.len()) if series.null_count() else ranks
    return ranks.fill_null(domain.len()).cast(pl.Int32).to_numpy().astype(np.int32), domain


def _require_digits(numbers: pl.Series, width: float) -> None:
    """Refuse bins that are finer than the numbers are written."""
    largest = float(numbers.cast(pl.Float64).abs().max() or 0.0)  # type: ignore[arg-type]
    if largest >= 2**53 * width:
        raise PolicyError(
            f"attributes.{numbers.name}.bin: {width:g} is finer than the digits of {largest:g}, which is a value of "
            "the column. Use a wider bin, or none."
        )


def _bin_starts(numbers: pl.Series, width: float) -> pl.Series:
    """Where the bin of each number begins, without the last digits that division leaves.

    >>> _bin_starts(pl.Series([0.7, 2.3, 0.65]), 0.1).to_list()
    [0.7, 2.3, 0.6]
    """
    digits = max(0, -int(Decimal(str(width)).as_tuple().exponent))
    low = ((numbers / width).floor() * width).round(digits)
    low = pl.select(pl.when(low > numbers).then((low - width).round(digits)).otherwise(low)).to_series()
    above = (low + width).round(digits)
    return pl.select(pl.when(above <= numbers).then(above).otherwise(low)).to_series().rename(numbers.name)


def _bin_labels(lows: list[float], width: float, whole: bool) -> tuple[str, ...]:
    """The interval that begins at each of `lows`; whole numbers get intervals that do not touch.

    >>> _bin_labels([0.0, 500.0], 500, True)
    ('[0, 499]', '[500, 999]')
    >>> _bin_labels([0.5, 1.0], 0.5, False)
    ('[0.5, 1)', '[1, 1.5)')
    """
    return tuple(
        interval_label(int(v), int(v + width - 1))
        if whole
        else interval_label(v, float(f"{v + width:.12g}"), half_open=True)
        for v in lows
    )


def _hierarchy_for(
    name: str, values: Values, attribute: Attribute, policy: Policy, lines: Lines | None
) -> Hierarchy | None:
    """The column's tree: of its `lines` where it was made with the table."""
    spec, where = attribute.hierarchy, f"the hierarchy of {name!r}"
    if spec is None:
        return None
    texts = pl.Series(name, [str(value) for value in values] if isinstance(values, tuple) else [], dtype=pl.String)
    if lines is not None:
        present = set(texts)
        return Hierarchy.from_lines([line for text, line in lines.items() if text in present], where)
    if isinstance(spec, FileHierarchy):
        return read_hierarchy(policy.folder / spec.file, numbers=attribute.type == "number")
    if isinstance(spec, MaskHierarchy):
        return mask_hierarchy(texts.to_list(), spec.mask, name)
    if isinstance(spec, IntervalHierarchy):
        return interval_hierarchy([v for v in values if not isinstance(v, str)], spec.intervals, spec.start, name)
    known = lines_of(spec, texts, policy.folder, lambda level: texts)
    return Hierarchy.from_lines(list(held_lines(texts, known, spec, None).values()), where)


def _with_leaves(
    tree: Hierarchy, name: str, values: Values, has_missing: bool, attribute: Attribute
) -> tuple[Hierarchy, Codes]:
    """A tree, with a leaf for the missing value where there is one, and the leaf that each code is."""
    place = {leaf: i for i, leaf in enumerate(tree.leaves)}
    leaf_of = []
    for value in values:
        label = value if isinstance(value, str) else number_text(value)
        if label not in place:
            spec = attribute.hierarchy
            where = spec.file if isinstance(spec, FileHierarchy) else f"the hierarchy of {name!r}"
            raise InputError(f"{where} has no line for {label!r}, which {name!r} holds. Add it.")
        leaf_of.append(place[label])
    if has_missing:
        leaf_of.append(len(tree.leaves))
        tree = tree.with_missing()
    return tree, np.array(leaf_of, dtype=np.int32)


def _in_canonical_order(columns: Sequence[Column], person: Codes | None) -> list[Codes]:
    """The codes of columns, and of people, with their rows in order, first column first; ordered values as text."""
    places = [column.text_places for column in columns]
    codes = [column.codes if p is None else p[column.codes] for column, p in zip(columns, places, strict=True)]
    ordered = _sorted_together([*codes, *([person] if person is not None else [])])
    for i, place in enumerate(places):
        if place is not None:
            ordered[i] = np.argsort(place).astype(np.int32)[ordered[i]]
    return ordered


def _sorted_together(codes: list[Codes]) -> list[Codes]:
    """The columns with their rows in order, first column first.

    Quasi-identifiers come first: rows of a table that shows nothing else are then in order already.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in codes]
    if math.prod(sizes) >= 2**63:  # too many combinations for one number each
        frame = pl.DataFrame({str(i): column for i, column in enumerate(codes)})
        return [column.to_numpy() for column in frame.sort(frame.columns)]
    packed = np.empty(codes[0].size, np.int64)
    ordered = [np.empty(packed.size, np.int32) for _ in codes]

    def pack(some: slice) -> None:
        numbers = packed[some]
        numbers[:] = codes[0][some]
        for column, size in zip(codes[1:], sizes[1:], strict=True):
            numbers *= size
            numbers += column[some]

    def unpack(some: slice) -> None:
        for column, size in zip(reversed(ordered), reversed(sizes), strict=True):
            take_digit(packed[some], size, column[some])

    by_rows(pack, packed.size)
    packed.sort()
    by_rows(unpack, packed.size)
    return ordered
