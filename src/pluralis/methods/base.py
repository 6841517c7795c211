"""The contract of a method, in one place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from pluralis.grouping.plan import LEFT_OUT, Level, Plan, numbered
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Table


class Method(BaseModel):
    """Decides which rows are published together. Reads and writes no files, changes no input.

    Its fields are its options; what it promises and what it does not stop stand in the class variables, from which
    `pluralis methods`, the manifest and the report are made.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    kind: ClassVar[str]
    guarantee: ClassVar[str]
    breaks: ClassVar[tuple[str, ...]]
    draws: ClassVar[bool] = True  # False: of rows that all stay, every key makes the same groups
    keeps: ClassVar[bool] = False  # True: under one key a row gets the same again, while it or its person is the same

    variant: Literal["hardened", "paper"] = "hardened"

    @abstractmethod
    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        """Group the rows of a table so that the policy's rules hold, or raise Infeasible."""

    def _plan_of(
        self,
        table: Table,
        policy: Policy,
        rows: npt.NDArray[np.int64],
        group_of: npt.NDArray[np.int64],
        levels: Mapping[str, Level] | None = None,
    ) -> Plan:
        """The plan in which row `rows[i]` of the table is in group `group_of[i]`, and all other rows are left out."""
        whole = np.full(table.rows, LEFT_OUT, np.int64)
        whole[rows] = group_of
        linked = self.variant == "paper" or not policy.links_are_known
        return Plan(kind=self.kind, group_of=numbered(whole), linked=linked, levels=levels or {})
