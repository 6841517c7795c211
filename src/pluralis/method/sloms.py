"""SLOMS: sensitive attributes in slices, each slice in groups of its own; quasi-identifiers generalized to k rows.

Paper      Han, Luo, Lu, Peng: SLOMS: A Privacy Preserving Data Publishing Method for Multiple Sensitive Attributes
           Microdata. Journal of Software 8(12), 2013. Algorithm 1 (MSB-KACA); equation 1 for the slices.
Words      slice = sensitive attributes that are published together; NA = a row without a group in some slice.
Departs    `variant: hardened` suppresses a whole row where some slice cannot place it, instead of marking it NA: what
           no group could take is one of the commonest values (S1 in docs/methods/sloms.md). Rows are suppressed first,
           until every attribute can be diverse at once; then MSB places nearly all others, and rows that fit nowhere
           may take the place of others that do. The attributes of a slice stay linked row by row only where no declared
           adversary knows one of them (S2, there). `variant: paper` is algorithm 1: every slice by MSB alone, NA where
           it leaves a row.

Theorem (hardened): every published row is in one group of every slice; in each group of a slice, count x l_i <= size
for every value of each of its attributes i; every combination of quasi-identifier labels that is published has k rows
or more. Groups are formed, joined and exchanged only so that the second holds; a row that leaves takes its group with
it where it would not hold any more; and that is repeated until every slice has placed the same rows. The third is
KACA's, on those rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from pluralis.errors import Infeasible, PolicyError, did_you_mean
from pluralis.grouping.bucketizing import bucketized, sensitive_values, settle_slices
from pluralis.grouping.correlation import Slicing, sliced_by_correlation
from pluralis.grouping.eligibility import require_allowance, require_k, require_sensitive
from pluralis.grouping.plan import SUPPRESSED, Plan, Slice, SlicedPlan, numbered
from pluralis.kernels.msb import SensitiveValues
from pluralis.method.base import CORRELATION, Method
from pluralis.method.kaca import classes_of_k
from pluralis.method.msb import Priority, require_reachable
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]  # of rows, groups and classes

WITHOUT_K = (
    "Without k sloms publishes quasi-identifiers as they are, so that a person's row can be found. Write `k: 5`, or "
    "another number of rows that shall look alike, and they are generalized."
)


class Sloms(Method):
    """Slice, bucketize every slice, generalize."""

    name: ClassVar[str] = "sloms"
    title: ClassVar[str] = "sensitive attributes in slices with groups of their own, quasi-identifiers generalized"
    paper: ClassVar[str] = "Han, Luo, Lu, Peng, Journal of Software 2013"
    kind: ClassVar[str] = "sliced"
    guarantee: ClassVar[str] = (
        "In every group of a slice each value of each of its attributes i fills at most 1/l_i of the rows; every "
        "combination of quasi-identifier labels has k rows, where the policy sets k."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        CORRELATION,
        "tight intervals: the ends of a published interval are values of rows that carry it",
    )

    slices: int | list[list[str]] | None = Field(
        default=None, description="which attributes go together, or how many slices; chosen by correlation if not given"
    )
    priority: Priority = Field(default="mmdcf", description="which bucket gives the next row: mbf, msdcf or mmdcf")

    @field_validator("slices", mode="before")
    @classmethod
    def _number_or_names(cls, slices: Any) -> Any:
        lists = isinstance(slices, list) and all(isinstance(names, list) for names in slices)
        if lists and all(isinstance(name, str) for names in slices for name in names):
            return slices
        if slices is None or type(slices) is int:
            return slices
        raise ValueError(
            f"{slices!r} is neither a number nor a list of lists of attribute names. Write how many there shall be, "
            "as in slices: 2, or which, as in slices: [[disease], [job, salary]]."
        )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        if len(table.sensitive) == 1:
            raise Infeasible("sloms slices several sensitive attributes and the policy names one. Use method: anatomy.")
        require_k(table, policy)
        asked = require_reachable(table, policy, draw, self.name)
        slicing = slices_of(table.sensitive, self.slices)
        ls = dict(zip((column.name for column in table.sensitive), asked, strict=True))
        order = draw.permutation(table.rows, "rows").astype(np.int32)
        literal = self.variant == "paper"
        made = self._as_printed if literal else self._settled
        groups, classes = made(table, policy, order, slicing, ls)
        placed = np.all([group_of != SUPPRESSED for group_of in groups], axis=0)
        _require_rows(int(placed.sum()), table, policy)
        return SlicedPlan(
            group_of=_in_table_order(classes, order),
            slices=tuple(
                Slice(
                    attributes=tuple(column.name for column in columns),
                    group_of=_in_table_order(group_of, order).astype(np.int32),
                    linked=literal or not _known_within(columns, policy),
                )
                for columns, group_of in zip(slicing.slices, groups, strict=True)
            ),
            notes=(_slicing_note(slicing), *([WITHOUT_K] if policy.k is None else [])),
        )

    def _as_printed(
        self, table: Table, policy: Policy, order: Numbers, slicing: Slicing, ls: Mapping[str, int]
    ) -> tuple[list[Numbers], Numbers]:
        """Algorithm 1: the groups of every slice, of as many rows as it can place, and the classes of equal labels."""
        groups = [
            bucketized(_sensitive_values(table, columns, order, ls, once=True), self.priority)
            for columns in slicing.slices
        ]
        classes = _classes(table, policy, order)
        for group_of in groups:
            group_of[classes == SUPPRESSED] = SUPPRESSED
        return groups, classes

    def _settled(
        self, table: Table, policy: Policy, order: Numbers, slicing: Slicing, ls: Mapping[str, int]
    ) -> tuple[list[Numbers], Numbers]:
        """The groups of every slice and the classes of equal labels, all over the same rows."""
        groups = [np.full(order.size, SUPPRESSED, np.int32) for _ in slicing.slices]
        lost = None
        while True:
            self._settle(table, order, slicing, ls, groups, lost)
            kept = groups[0] != SUPPRESSED
            _require_rows(int(kept.sum()), table, policy)
            class_of = _classes(table, policy, order if kept.all() else order[kept])
            classes = np.full(order.size, SUPPRESSED, np.int32)
            classes[kept] = class_of
            lost = np.flatnonzero(kept & (classes == SUPPRESSED))
            if not lost.size:
                return groups, classes

    def _settle(
        self,
        table: Table,
        order: Numbers,
        slicing: Slicing,
        ls: Mapping[str, int],
        groups: list[Numbers],
        without: Rows | None,
    ) -> None:
        """Correct the groups of every slice; what rows hold is not kept, for classes take the room of it."""
        sensitive = [_sensitive_values(table, columns, order, ls) for columns in slicing.slices]
        whole = _sensitive_values(table, table.sensitive, order, ls)
        settle_slices(whole, sensitive, groups, self.priority, without)


def slices_of(columns: Sequence[Column], asked: int | list[list[str]] | None) -> Slicing:
    """Which columns are published together: as asked for, or by their correlation."""
    names = [column.name for column in columns]
    if isinstance(asked, list):
        flat = [name for slice in asked for name in slice]
        for name in flat:
            if name not in names:
                raise PolicyError(
                    f"publish.options.slices: {name!r} is not a sensitive attribute. {did_you_mean(name, names)}"
                )
            if flat.count(name) > 1:
                raise PolicyError(
                    f"publish.options.slices: {name!r} is named {flat.count(name)} times. Every sensitive attribute "
                    "belongs to one slice; name it once."
                )
        missing = [name for name in names if name not in flat]
        if missing or not all(asked):
            what = f"{missing[0]!r} is in no slice" if missing else "a slice is empty"
            raise PolicyError(
                f"publish.options.slices: {what}. Name every sensitive attribute once, or leave `slices` out to have "
                "them chosen."
            )
        place = dict(zip(names, columns, strict=True))
        return Slicing([[place[name] for name in slice] for slice in asked], "the policy names them")
    if asked is not None and not 1 <= asked <= len(columns):
        raise PolicyError(
            f"publish.options.slices: {asked} slices of {len(columns)} sensitive attributes. Ask for 1 to "
            f"{len(columns)}."
        )
    return sliced_by_correlation(columns, asked)


def _sensitive_values(
    table: Table, columns: Sequence[Column], order: Numbers, ls: Mapping[str, int], once: bool = False
) -> SensitiveValues:
    """The values that rows hold in some of the sensitive columns."""
    return sensitive_values(columns, order, table.person, [ls[column.name] for column in columns], once=once)


def _classes(table: Table, policy: Policy, rows: Numbers) -> Numbers:
    """Rows that are published under the same labels: k or more of them, or, without k, those with equal values."""
    return classes_of_k(table, rows, policy.k or 1)


def _known_within(columns: Sequence[Column], policy: Policy) -> bool:
    """Whether a declared adversary knows one attribute of a slice while another of it is protected."""
    names = {column.name for column in columns}
    return any(protected in names and known & (names - {protected}) for known, protected in policy.promises)


def _in_table_order(group_of: Numbers, order: Numbers) -> Rows:
    whole = np.empty(order.size, np.int32)
    whole[order] = group_of
    return numbered(whole)


def _require_rows(placed: int, table: Table, policy: Policy) -> None:
    """Refuse where nothing, less than a class, or less than the policy wants would be published."""
    if placed < max(1, policy.k or 1):
        names = ", ".join(repr(column.name) for column in table.sensitive)
        raise Infeasible(
            f"{placed:,} of {table.rows:,} rows can be placed so that {names} are diverse, too few to publish. Lower "
            "l or k, or protect fewer attributes."
        )
    require_allowance(table.rows - placed, table.rows, policy, "lower l, or protect fewer attributes")


def _slicing_note(slicing: Slicing) -> str:
    shown = "; ".join(", ".join(column.name for column in slice) for slice in slicing.slices)
    return f"slices: {shown} ({slicing.how})."


METHOD = Sloms
