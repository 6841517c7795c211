"""The contract of a method, in one place."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from pluralis.plan import Plan
from pluralis.policy import Policy
from pluralis.randomness import Draw
from pluralis.table import Table


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

    variant: Literal["hardened", "paper"] = "hardened"

    @abstractmethod
    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        """Group the rows of a table so that the policy's rules hold, or raise Infeasible."""
