"""What a method decides, and nothing more: which rows and columns are published together, and what is suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pluralis.grouping.addition import Design
from pluralis.kernels.order import by_first
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule
from pluralis.table.encoding import Table
from pluralis.table.hierarchies import Hierarchy

SUPPRESSED = -1


@dataclass(frozen=True)
class Level:
    """A column published at one level of a hierarchy, every row alike (full-domain generalization)."""

    hierarchy: Hierarchy
    leaf_of: npt.NDArray[np.int32]
    level: int


@dataclass(frozen=True)
class Slice:
    """Sensitive attributes that are published together, in groups of their own.

    A row with SUPPRESSED here is published without a group in this slice ("NA" in the SLOMS paper).
    """

    attributes: tuple[str, ...]
    group_of: npt.NDArray[np.int64] | npt.NDArray[np.int32]
    linked: bool = True


@dataclass(frozen=True)
class Plan:
    """Rows in groups; what else a kind of release needs is in the plan of that kind. Equal plans are equal releases.

    group_of   a number from 0 for each row, or SUPPRESSED; numbering carries nothing
    breaks     what this plan does not stop, beside what its method and its kind do not
    notes      what the publisher should know of it
    """

    kind: ClassVar[str]

    group_of: npt.NDArray[np.int64]
    breaks: tuple[str, ...] = field(default=(), kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def groups(self) -> int:
        return int(self.group_of.max(initial=SUPPRESSED)) + 1

    @property
    def suppressed(self) -> int:
        return int((self.group_of == SUPPRESSED).sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.group_of[self.group_of >= 0], minlength=self.groups)


@dataclass(frozen=True)
class GeneralizedPlan(Plan):
    """Groups that are published under what covers all of their rows.

    linked   whether the sensitive values of a row stay side by side; if not, each attribute is shuffled in its group
    levels   columns published at one level instead of as tightly as each group allows
    """

    kind: ClassVar[str] = "generalized"

    linked: bool = True
    levels: Mapping[str, Level] = field(default_factory=dict)


@dataclass(frozen=True)
class BucketizedPlan(Plan):
    """Groups whose rows keep their quasi-identifiers; `linked`: their sensitive values are counted side by side."""

    kind: ClassVar[str] = "bucketized"

    linked: bool = True


@dataclass(frozen=True)
class DecomposedPlan(Plan):
    """Groups of which each sensitive attribute is published as a set of values.

    primary          the attribute of which every group holds each value once
    added            per attribute, (group, code) pairs: values added to what the rows of a group hold
    sensitive_table  how the sensitive columns are published beside the groups; `auto` leaves it to the audit
    """

    kind: ClassVar[str] = "decomposed"

    primary: str = ""
    added: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    sensitive_table: Literal["joint", "marginals", "none", "auto"] = "joint"


@dataclass(frozen=True)
class SlicedPlan(Plan):
    """Groups that are published under what covers their rows, and which sensitive attributes are published together."""

    kind: ClassVar[str] = "sliced"

    slices: tuple[Slice, ...] = ()


@dataclass(frozen=True)
class CandidatesPlan(Plan):
    """A set of values in the place of each sensitive value.

    sets      per attribute, the codes of the set that stands for each row's value, in order
    designs   per attribute, how those sets were drawn
    claim     what is promised of them
    """

    kind: ClassVar[str] = "candidates"

    sets: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    designs: Mapping[str, Design] = field(default_factory=dict)
    claim: Literal["posterior", "set-size"] = "posterior"


@dataclass(frozen=True)
class Subplan:
    """Some columns of the published rows as a table of its own, and how it is published; `plan` tells of its rows.

    Without a plan nothing in it needs hiding, and its rows are published as they are.
    """

    table: Table
    policy: Policy
    plan: Plan | None = None


@dataclass(frozen=True)
class MultiPlan(Plan):
    """Subtables that are published side by side, each on its own; every one has all rows with a group here.

    rules         what all of them together keep
    dependencies  what an adversary is taken to know of how attributes go together
    """

    kind: ClassVar[str] = "multi"

    subplans: tuple[Subplan, ...] = ()
    rules: tuple[Rule, ...] = ()
    dependencies: tuple[Dependency, ...] = ()


def numbered(group_of: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The same groups numbered from 0 without gaps, in order of their first row; SUPPRESSED stays.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    >>> numbered(np.array([10**12, -1, 3])).tolist()
    [0, -1, 1]
    """
    most = int(group_of.max(initial=SUPPRESSED)) + 1
    if most > 8 * group_of.size + 1024:  # so far apart that a table of all numbers would be large
        different, group_of = np.unique(group_of, return_inverse=True)
        group_of -= different[0] == SUPPRESSED
        most = different.size
    numbers: npt.NDArray[np.int64] = by_first(group_of, most)
    return numbers
