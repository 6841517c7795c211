"""The contract of a method, in one place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan, Level, Plan, numbered
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

# of every method that publishes quasi-identifiers beside groups of sensitive values
CORRELATION = (
    "correlation: how quasi-identifiers and sensitive values go together can be learned from all groups and used on one"
)


class Method(BaseModel):
    """Decides which rows are published together. Reads and writes no files, changes no input.

    A subclass in a file of `pluralis/method` that says ``METHOD = ItsName`` is a method; ARCHITECTURE.md has a whole
    one. Its fields are its options; what it promises and what it does not stop stand in the class variables `name`,
    `title`, `paper`, `kind`, `guarantee` and `breaks`, from which `pluralis methods`, the manifest and the report are
    made.

    Parameters
    ----------
    variant : {"hardened", "paper"}
        The method as it should be used, or as its paper prints it.
    **options
        The fields of the subclass.

    Examples
    --------
    >>> import pluralis as pls
    >>> class OneGroup(pls.Method):
    ...     name = "one-group"
    ...     def plan(self, table, policy, draw):
    ...         everybody = np.arange(table.rows)
    ...         return self._generalized(table, policy, everybody, np.zeros(table.rows, np.int64))
    >>> OneGroup().variant
    'hardened'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    kind: ClassVar[str]
    guarantee: ClassVar[str]
    breaks: ClassVar[tuple[str, ...]]
    draws: ClassVar[bool] = True  # False: of rows that all stay, every key makes the same groups
    bounds: ClassVar[tuple[str, ...]] = ()  # what it can aim at beside l: at_most, gain, t
    baseline: ClassVar[bool] = False  # True: to compare others with, and never taken by itself
    ways: ClassVar[tuple[Literal["hash", "cuts"], ...]] = ()  # how a large table may be cut into shards, if it may
    keeps: ClassVar[bool] = False  # True: under one key a row gets the same again, while it or its person is the same

    variant: Literal["hardened", "paper"] = "hardened"

    @abstractmethod
    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        """Group the rows of a table so that the policy's rules hold.

        Parameters
        ----------
        table : Table
            The table as codes, its rows in canonical order.
        policy : Policy
            What is asked.
        draw : Draw
            Everything random that it may use.

        Returns
        -------
        Plan
            Which rows and columns stand together, and what is suppressed or added.

        Raises
        ------
        Infeasible
            If it cannot be done, with what would work.

        Examples
        --------
        >>> import polars as pl
        >>> import pluralis as pls
        >>> from pluralis.table.encoding import encode
        >>> policy = pls.Policy(quasi=["sex"], sensitive={"disease": 2})
        >>> table = encode(pl.DataFrame({"sex": ["f", "m"], "disease": ["flu", "hiv"]}), policy)
        >>> pls.methods()["bsgi"]().plan(table, policy, Draw(pls.Key.test())).group_of.tolist()
        [0, 0]
        """

    def set_sized(self, policy: Policy) -> list[str]:  # noqa: ARG002
        """The sensitive attributes of which only sets of l values are promised, where the policy asks for more.

        Parameters
        ----------
        policy : Policy
            What is asked.

        Returns
        -------
        list of str
            Their names, sorted; none of a method that bounds every guess.

        Examples
        --------
        >>> import pluralis as pls
        >>> policy = pls.Policy(quasi=["age"], sensitive={"disease": 3, "stay": 2})
        >>> pls.methods()["decomposition"]().set_sized(policy), pls.methods()["bsgi"]().set_sized(policy)
        (['stay'], [])
        """
        return []

    def _linked(self, policy: Policy) -> bool:
        """Whether the sensitive values of a row may stay side by side: not where an adversary knows some of them."""
        return self.variant == "paper" or not policy.links_are_known

    def _generalized(
        self,
        table: Table,
        policy: Policy,
        rows: npt.NDArray[np.int64],
        group_of: npt.NDArray[np.int64],
        levels: Mapping[str, Level] | None = None,
    ) -> GeneralizedPlan:
        """The plan in which row `rows[i]` of the table is in group `group_of[i]`, and all other rows are suppressed."""
        return GeneralizedPlan(in_table(table.rows, rows, group_of), self._linked(policy), levels or {})


def in_table(size: int, rows: npt.NDArray[np.int64], group_of: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The group of every row of a table of which some are in these groups, numbered from 0; others are suppressed."""
    whole = np.full(size, SUPPRESSED, np.int64)
    whole[rows] = group_of
    return numbered(whole)
