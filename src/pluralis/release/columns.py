"""What a manifest says of published tables: their files, and the columns in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pluralis.table.csv_files import MAX_ROWS

Rows = Annotated[int, Field(ge=0, le=MAX_ROWS)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class ManifestPart(BaseModel):
    """A part of a manifest: nothing in it is unknown, and it does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnInfo(ManifestPart):
    """One column of a table. A quasi-identifier holds labels, unless it is `exact`; all others hold values, or `sets`
    of them in domain order. Labels of an `ordered` one are intervals of the values in its domain, which stand in order.

    A `value` column holds values of several attributes as text, the attribute beside it. `domain` lists the values of
    text in order (null for a missing one) or the two ends of numbers; `hierarchy` has a line for each leaf, the leaf
    first and the root last.
    """

    name: str
    role: Literal["quasi", "sensitive", "plain", "group", "attribute", "value", "count"]
    type: Literal["text", "number"]
    attribute: str | None = None
    exact: Literal[True] | None = None
    sets: Literal[True] | None = None
    ordered: Literal[True] | None = None
    domain: tuple[str | Whole | Finite | None, ...] | None = None
    hierarchy: tuple[tuple[str, ...], ...] | None = None


class TableInfo(ManifestPart):
    """One file of the release: its size and hash, and how many rows it unfolds to, once it is written."""

    name: str
    file: str = Field(pattern=r"^[a-z0-9_]+\.(parquet|csv)$", max_length=255)
    rows: Rows = 0
    bytes: Annotated[int, Field(ge=0, lt=2**63)] = 0
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    columns: tuple[ColumnInfo, ...]

    def named(self, role: str) -> list[ColumnInfo]:
        return [column for column in self.columns if column.role == role]

    def names(self, role: str) -> list[str]:
        return [column.name for column in self.named(role)]


def file_names(names: Sequence[str]) -> list[str]:
    """For each table the name of its file, of small letters, digits and `_`; where names become alike, with a number.

    >>> file_names(["quasi", "sensitive_marital status", "sensitive_marital_status"])
    ['quasi', 'sensitive_marital_status', 'sensitive_marital_status_2']
    """
    plain = [re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in names]
    files: list[str] = []
    for name in plain:
        others = (f"{name.rstrip('_')}_{i}" for i in count(2))
        files.append(name if name not in files else next(file for file in others if file not in (*plain, *files)))
    return files
