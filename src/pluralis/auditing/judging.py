"""What the judges of all kinds share: whether a table is well formed, and a claim about values and their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from pluralis.auditing.closeness_and_gain import BoundedValues, closeness, gain, value_share
from pluralis.auditing.diversity_models import MODELS, CountedValues, diversity_of, smallest_class, starts_of
from pluralis.auditing.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.release.bounds import DISTANCES, FIELDS, in_order
from pluralis.release.manifest import Claim, Manifest, TableInfo
from pluralis.release.release import GROUP, in_canonical_order
from pluralis.table.dictionaries import is_text
from pluralis.table.spelling import same_text

Tables = dict[str, pl.DataFrame]  # text as codes

# d-SA-l-diversity (Decomposition paper, Theorem 1), which is almost never met and never promised
D_SA = "whoever knows all sensitive attributes but one has l candidates for it, in this share of groups"


class Judge(Protocol):
    """A module of this package that judges one kind of release."""

    def problems(self, manifest: Manifest, tables: Tables) -> Iterator[str]:
        """In what ways the tables are not what the manifest says."""

    def judge(self, manifest: Manifest, tables: Tables) -> list[Finding]:
        """The claims of the manifest, measured."""

    def compare(self, manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
        """Whether the tables tell of the original's rows and of no others."""


class SensitiveValues(NamedTuple):
    """The sensitive values of groups: a row for each value (or combination, `beside` being the other columns)."""

    rows: pl.DataFrame
    beside: list[str]
    people: str | None = None  # the column that says how many have them


def info_of(manifest: Manifest, name: str) -> TableInfo:
    return next(info for info in manifest.tables if info.name == name)


def sensitive_names(manifest: Manifest) -> list[str]:
    """The attributes that the release protects."""
    return sorted(manifest.parameters.l)


def table_problems(manifest: Manifest, tables: Tables, expected: Iterable[str]) -> Iterator[str]:
    """Tables that should be there, cells that should not be empty, rows that are out of order."""
    names = list(expected)
    if sorted(tables) != sorted(names):
        expectation = f"a {manifest.kind} release has the tables {', '.join(names)}"
        yield f"{expectation}, not {', '.join(sorted(tables)) or 'none'}."
        return
    for name, rows in tables.items():
        info = info_of(manifest, name)
        for column in info.columns:
            if column.role not in ("quasi", "plain", "group") and rows[column.name].null_count():
                yield f"{name}: some rows have no {column.name}."
        values = bool(info.named("count") or info.named("attribute"))
        if not in_canonical_order(rows, once=values):
            twice = ", or one stands there twice" if values else ""
            yield f"{name}: rows are not in canonical order, so their order may tell something{twice}."


def value_problems(manifest: Manifest, name: str, rows: pl.DataFrame, sizes: pl.DataFrame) -> Iterator[str]:
    """Whether the counts of values are those of the groups; `sizes` has `group` and `rows`, in order of groups."""
    info = info_of(manifest, name)
    if not info.named("sensitive") and not info.named("attribute"):
        yield f"{name} has no sensitive column."
        return
    parts = rows.partition_by("attribute", include_key=False) if info.named("attribute") else [rows]
    if any(not _totals(part[GROUP], part["count"]).equals(sizes) for part in parts):
        yield f"{name}: its counts are not the numbers of rows of the groups."


def alike_in_groups(rows: pl.DataFrame, names: list[str]) -> bool:
    """Whether the rows of each group agree in these columns."""
    if not rows[GROUP].is_sorted():
        return rows.select(GROUP, *names).n_unique() == rows[GROUP].n_unique()
    among = rows[GROUP].head(-1) == rows[GROUP].tail(-1)
    return not any((among & rows[name].head(-1).ne_missing(rows[name].tail(-1))).any() for name in names)


def group_sizes(rows: pl.DataFrame, group: str) -> pl.DataFrame:
    """How many rows each group has, in order of groups, rows without a group aside."""
    groups = rows[group].drop_nulls()
    numbers = groups.to_numpy() if groups.is_sorted() else np.sort(groups.to_numpy())
    first = starts_of(numbers)
    return pl.DataFrame({GROUP: numbers[first], "rows": np.diff(first, append=numbers.size)})


def _totals(groups: pl.Series, counts: pl.Series) -> pl.DataFrame:
    """`group` and `rows`: the sum of the counts of each group; groups come in order."""
    first = starts_of(groups.to_numpy())
    rows = np.add.reduceat(counts.to_numpy(), first) if first.size else np.empty(0, np.int64)
    return pl.DataFrame({GROUP: groups.gather(first), "rows": rows})


def sensitive_values(info: TableInfo, rows: pl.DataFrame) -> Callable[[str], SensitiveValues | None]:
    """The values of each attribute in a table of groups and counts, if it has them. The table is read once for all."""
    if info.named("attribute"):
        parts = rows.partition_by("attribute", as_dict=True, include_key=False, maintain_order=True)
        listed = {str(name): part for (name,), part in parts.items()}

        def of_list(attribute: str) -> SensitiveValues | None:
            part = listed.get(attribute)
            own = (
                None if part is None else part.select(GROUP, pl.col("value").cast(pl.String).alias(attribute), "count")
            )
            return None if own is None else SensitiveValues(own, [], "count")

        return of_list
    names = info.names("sensitive")
    shown = set(names)

    def of_columns(attribute: str) -> SensitiveValues | None:
        beside = [name for name in names if name != attribute]
        return SensitiveValues(rows, beside, "count") if attribute in shown else None

    return of_columns


def judge_diversity(claim: Claim, manifest: Manifest, values: SensitiveValues | None) -> Finding:
    """A claim about how common a value may be among the rows of a group that look alike to the adversary."""
    return judge_together([claim], manifest, lambda _: values)[0]


def judge_together(
    claims: Sequence[Claim], manifest: Manifest, values_of: Callable[[str], SensitiveValues | None]
) -> list[Finding]:
    """Several such claims, in their order. What is claimed of the same attribute and classes is counted once."""
    alike: dict[str, dict[tuple[str, ...], list[int]]] = {}
    holders: dict[str, SensitiveValues] = {}
    for i, claim in enumerate(claims):
        name = claim.attribute or ""
        if name not in holders:
            values = values_of(name)
            possible = claim.attribute is not None and values is not None
            if not possible or values is None:
                raise _impossible(claim)
            holders[name] = values
        if claim.model not in FIELDS and (claim.model not in MODELS or claim.l is None):
            raise _impossible(claim)
        known = tuple(sorted({*holders[name].beside} & {*claim.adversary}))
        alike.setdefault(name, {}).setdefault(known, []).append(i)
    findings: dict[int, Finding] = {}
    for name, by_classes in alike.items():
        for known, places in by_classes.items():
            counts = _Counts(name, [GROUP, *known], manifest, holders[name])
            findings |= {i: _judged(claims[i], counts) for i in places}
    return [findings[i] for i in range(len(claims))]


def _impossible(claim: Claim) -> ReleaseError:
    return ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that this kind of release can make.")


@dataclass(frozen=True, eq=False)
class _Counts:
    """How many people of some classes hold each value of an attribute, counted when it is first asked."""

    name: str
    classes: list[str]
    manifest: Manifest
    values: SensitiveValues

    @property
    def _fold_case(self) -> bool:
        return self.name not in self.manifest.parameters.case

    @cached_property
    def by_spelling(self) -> CountedValues:
        """Each text as what is left of it in any spelling."""
        rows = self.values.rows
        if is_text(rows[self.name].dtype):
            rows = rows.with_columns(same_text(rows[self.name], fold_case=self._fold_case))
        return CountedValues.from_rows(rows, self.classes, self.name, self.values.people)

    @cached_property
    def by_number(self) -> BoundedValues:
        """Values by number, in the order that is published for them, if there is one."""
        rows, order = self.values.rows, None
        if is_text(rows[self.name].dtype):
            order = in_order(self.name, self.manifest, rows[self.name].unique().drop_nulls().cast(pl.String).to_list())
        return BoundedValues.from_rows(
            rows, self.classes, self.name, self.values.people, order=order, fold_case=self._fold_case
        )


def _judged(claim: Claim, counts: _Counts) -> Finding:
    """A claim of l, one that bounds a named value, or how much likelier values are than among all, or how unlike."""
    promised: float
    if claim.model == "at-most":
        bound = Fraction(claim.at_most or 0)
        measured, promised = value_share(counts.by_number, claim.value or "", bound), float(bound)
    elif claim.model == "gain":
        promised = claim.gain or 0.0
        measured = gain(counts.by_number, promised)
    elif claim.model in DISTANCES:
        promised = claim.t or 0.0
        measured = closeness(counts.by_number, promised, ordered=claim.model == "ordered-closeness")
    else:
        l, c = claim.l or 1, claim.c or 0.0
        measured = diversity_of(counts.by_spelling, claim.model, l, c)
        promised = MODELS[claim.model].promised(l, c)
    where = place(measured.witness)
    return Finding(
        claim.rule, measured.holds, measured.measured, promised, measured.top_share, where, top_value=claim.value
    )


def judge_size(claim: Claim, rows: pl.DataFrame, classes: list[str]) -> Finding:
    """A claim of k-anonymity: rows that look alike are at least k."""
    assert claim.k is not None
    size, where = smallest_class(rows, classes)
    return Finding(claim.rule, size >= claim.k, float(size), float(claim.k), witness=place(where))


def place(where: dict[str, object]) -> str:
    """A class in words.

    >>> place({"group": 7, "sex": "f"})
    'group 7, sex = f'
    """
    return ", ".join(f"{name} {value}" if name == GROUP else f"{name} = {value}" for name, value in where.items())
