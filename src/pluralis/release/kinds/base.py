"""What a kind of release is asked, instead of being compared by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pluralis.release.columns import ColumnInfo, TableInfo
from pluralis.release.parameters import Parameters

NAMED = ("quasi", "plain", "sensitive")  # roles of columns that are called like their attribute
QUASI = frozenset({"quasi", "plain", "group"})
LINKED = frozenset({"group", "sensitive", "count"})
UNLINKED = frozenset({"group", "attribute", "value", "count"})

LABELS = """\
- A quasi-identifier holds labels: `[25, 40]` is a number from 25 to 40, both included; `{a, b}` is one of these values;
  a node of a hierarchy stands for the leaves under it (manifest.json has the tree); `*` is any value of the domain;
  an empty cell is a missing value."""
EXACT = "- Quasi-identifiers and plain columns hold the values themselves; an empty cell is a missing value."
APART = """\
- A table with the columns `attribute` and `value` tells of each sensitive attribute on its own: which of its values
  occur in a group, and in how many rows (`count`). Which values belong to one person is not published."""
ORDER = "- Group numbers are random and rows are sorted; neither tells anything.\n"


class Kind(ABC):
    """How the tables of one kind of release look, and how they are read.

    name               as the manifest says it
    parameters         what its manifest says
    how_to_read        the lines of its README
    generalizes        quasi-identifiers are labels of equivalence classes; else they are published as they are
    lists_values       a sensitive cell is a set of values
    lists_of_groups    the values of a group are listed, not counted
    has_groups         rows stand in groups
    has_slices         rows stand in several groups, one for each slice of the sensitive attributes
    has_subtables      its tables are releases of some of the attributes
    links_rows         the sensitive values of a row can stand side by side
    sensitive_in_rows  sensitive values stand in the rows; not linked, they are shuffled in each group
    counts_groups      tables of their own count the sensitive values of each group
    repeats            an attribute may stand in several tables
    alike              what rows are called that k-anonymity counts together
    weakest            what a list of its claims calls the weakest place
    sensitive_as       how it publishes a sensitive attribute, where not simply as it is
    """

    name: ClassVar[str]
    parameters: ClassVar[type[Parameters]]
    how_to_read: ClassVar[str]
    order: ClassVar[str] = ORDER
    generalizes: ClassVar[bool] = False
    lists_values: ClassVar[bool] = False
    lists_of_groups: ClassVar[bool] = False
    has_groups: ClassVar[bool] = True
    has_slices: ClassVar[bool] = False
    has_subtables: ClassVar[bool] = False
    links_rows: ClassVar[bool] = False
    sensitive_in_rows: ClassVar[bool] = False
    counts_groups: ClassVar[bool] = False
    repeats: ClassVar[bool] = False
    alike: ClassVar[str] = "group"
    weakest: ClassVar[str] = "Weakest group"
    sensitive_as: ClassVar[str] = ""

    @property
    def shows_quasi(self) -> bool:
        """Whether all quasi-identifiers are published as they are."""
        return not (self.generalizes or self.has_subtables)

    @property
    def has_one_grouping(self) -> bool:
        """Whether every row is in one group, the same in all tables."""
        return self.has_groups and not (self.has_slices or self.has_subtables)

    @property
    def has_counts(self) -> bool:
        """Whether a column `count` stands beside the sensitive ones."""
        return self.counts_groups or self.lists_of_groups or self.has_subtables

    @abstractmethod
    def roles(self, table: str) -> set[frozenset[str]]:
        """The sets of roles that the columns of a table of this name may have."""

    def is_called(self, column: ColumnInfo, info: TableInfo) -> bool:
        """Whether a column has the name that its role has in this table."""
        if column.role not in NAMED:
            return column.attribute is None and column.name == column.role
        return column.attribute == column.name

    def is_exact(self, column: ColumnInfo) -> bool:
        """Whether a column has to hold the values of a quasi-identifier themselves."""
        return column.role == "quasi" and not self.generalizes

    def table_problems(self, tables: Sequence[TableInfo]) -> Iterator[str]:
        """What is wrong with the names of the tables."""
        return iter(())


def with_or_without(roles: frozenset[str], *optional: str) -> set[frozenset[str]]:
    """The roles, with any of the optional ones or without.

    >>> sorted(map(sorted, with_or_without(frozenset({"quasi", "plain"}), "plain")))
    [['plain', 'quasi'], ['quasi']]
    """
    several = {roles}
    for role in optional:
        several |= {some - {role} for some in several}
    return several
