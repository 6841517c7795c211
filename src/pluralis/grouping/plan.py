"""What a method decides, and nothing more: which rows and columns are published together, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from pluralis.grouping.addition import Design
from pluralis.kernels.order import by_first
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule
from pluralis.table.encoding import Table
from pluralis.table.hierarchies import Hierarchy

LEFT_OUT = -1


@dataclass(frozen=True)
class Level:
    """A column published at one level of a hierarchy, every row alike (full-domain generalisation)."""

    hierarchy: Hierarchy
    leaf_of: npt.NDArray[np.int32]
    level: int


@dataclass(frozen=True)
class Slice:
    """Sensitive attributes that are published together, in groups of their own.

    A row with LEFT_OUT here is published without a group in this slice ("NA" in the SLOMS paper).
    """

    attributes: tuple[str, ...]
    group_of: npt.NDArray[np.int64] | npt.NDArray[np.int32]
    linked: bool = True


@dataclass(frozen=True)
class Subplan:
    """Some columns of the published rows as a table of its own, and how it is published; `plan` tells of its rows.

    Without a plan nothing in it needs hiding, and its rows are published as they are.
    """

    table: Table
    policy: Policy
    plan: Plan | None = None


@dataclass(frozen=True)
class Plan:
    """Rows in groups, and for each kind of release what else it needs. Equal plans are equal releases.

    kind             one of kinds.KINDS
    group_of         a number from 0 for each row, or LEFT_OUT; numbering carries nothing. Where quasi attributes are
                     generalised (`generalized`, `sliced`), a group is published under what covers all of its rows
    linked           whether the sensitive values of a row stay side by side; if not, each attribute of a group is
                     published on its own
    levels           columns published at one level instead of as tightly as each group allows (`generalized`)
    slices           which sensitive attributes are published together (`sliced`)
    added            per attribute, (group, code) pairs: values added to what the rows of a group hold (`decomposed`)
    primary          the attribute of which every group holds each value once (`decomposed`)
    sets             per attribute, the codes of the set that stands for each row's value, in order (`candidates`)
    designs          per attribute, how those sets were drawn (`candidates`)
    claim            what is promised of them (`candidates`)
    subplans         what is published side by side, each on its own (`multi`); every one has all rows with a group here
    breaks           what the methods of subtables do not stop (`multi`)
    rules            what all of them together keep (`multi`)
    dependencies     what an adversary is taken to know of how attributes go together (`multi`)
    sensitive_table  how the sensitive columns are published beside the groups (`decomposed`);
                     `auto` leaves it to the audit
    """

    kind: str
    group_of: npt.NDArray[np.int64]
    linked: bool = True
    levels: Mapping[str, Level] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    added: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    primary: str | None = None
    sets: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    designs: Mapping[str, Design] = field(default_factory=dict)
    claim: Literal["posterior", "set-size"] = "posterior"
    subplans: tuple[Subplan, ...] = ()
    breaks: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    sensitive_table: Literal["joint", "marginals", "none", "auto"] = "joint"
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        return int(self.group_of.max(initial=LEFT_OUT)) + 1

    @property
    def left_out(self) -> int:
        return int((self.group_of == LEFT_OUT).sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.group_of[self.group_of >= 0], minlength=self.groups)


def numbered(group_of: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The same groups numbered from 0 without gaps, in order of their first row; LEFT_OUT stays.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    >>> numbered(np.array([10**12, -1, 3])).tolist()
    [0, -1, 1]
    """
    most = int(group_of.max(initial=LEFT_OUT)) + 1
    if most > 8 * group_of.size + 1024:  # so far apart that a table of all numbers would be large
        different, group_of = np.unique(group_of, return_inverse=True)
        group_of -= different[0] == LEFT_OUT
        most = different.size
    found: npt.NDArray[np.int64] = by_first(group_of, most)
    return found
