"""A release: published tables and the manifest that says what they are. `reading` reads it back from its folder.

`manifest.json` holds what an analyst and an auditor need and nothing about the input: no key, seed, hash of the
input, path, time, host or row number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pluralis.table.csv_files import MAX_ROWS
from pluralis.table.labels import number_text

FORMAT = "pluralis-release"
VERSION = 1
MANIFEST = "manifest.json"
README = "README.md"
CSV_ESCAPE = "a text cell that starts with = + - @ ' tab or CR has a ' before it"
LARGEST_L = 1 << 30  # times the number of rows it still fits in 64 bits

Rows = Annotated[int, Field(ge=0, le=MAX_ROWS)]
Diversity = Annotated[int, Field(ge=2, le=LARGEST_L)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Part):
    """One promise: against this adversary, this attribute keeps this model; and what was measured for it."""

    rule: str
    model: str
    adversary: tuple[str, ...]
    attribute: str | None = None
    l: Diversity | None = None
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    c: Finite | None = None
    bound: Finite | None = None
    measured: Finite | None = None


def claim_words(claim: Claim, kind: str) -> str:
    """A claim as a sentence, from its fields: what is promised is what is measured."""
    if claim.k is not None:
        what = "combination of quasi labels" if kind == "sliced" else "group"
        return f"every {what} has at least {claim.k} rows"
    l, name = claim.l, claim.attribute
    promise = {
        "frequency": f"{name} at most 1/{l}",
        "distinct": f"{name} at least {l} different values",
        "entropy": f"{name} entropy at least log {l}",
        "recursive": f"{name} recursive ({number_text(claim.c or 0)},{l})-diversity",
        "unique-distinct": f"{name} {l} values, each once",
        "candidates": f"at least {l} values of {name} remain possible",
        "posterior": f"{name} at most 1/{l} by the published weights",
        "posterior-shares": f"{name} at most {claim.bound or 0:.4g} by the true shares of values",
        "set-size": f"every row lists {l} values of {name}",
    }.get(claim.model, f"{name} {claim.model} {l}")
    return f"knowing {', '.join(sorted(claim.adversary)) or 'nothing'}: {promise}"


class ColumnInfo(_Part):
    """One column of a table. A quasi column holds labels, unless it is `exact`; all others hold values, or `sets` of
    them in domain order.

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
    domain: tuple[str | Whole | Finite | None, ...] | None = None
    hierarchy: tuple[tuple[str, ...], ...] | None = None


class TableInfo(_Part):
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


class Drawn(_Part):
    """How the sets of an attribute were drawn (see `addition`)."""

    design: Literal["uniform", "calibrated"]
    values: tuple[str | Whole | Finite, ...]
    effect: Annotated[float, Field(ge=1, le=MAX_ROWS)] | None = None
    weights: tuple[Annotated[int, Field(ge=1, lt=2**63)], ...] | None = None


class Parameters(_Part):
    """What an analyst and an auditor need to know of how a release was made. Kinds have some of these.

    `adversaries`, `models`, `k` and, of kinds other than multi, `rules` are what the policy asked for beside the l of
    each attribute: whatever is claimed follows from them, so that a claim that is missing is noticed.
    """

    linked: bool | None = None
    l: dict[str, Diversity]
    options: dict[str, Any] = Field(default_factory=dict)
    adversaries: tuple[tuple[str, ...], ...] | None = None
    models: dict[str, str] | None = None
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    primary: str | None = None
    domains: dict[str, ColumnInfo] | None = None
    addition: dict[str, Drawn] | None = None
    rules: tuple[str, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    missing: tuple[str, ...] | None = None
    missing_as: dict[str, str] | None = None
    case: tuple[str, ...] | None = None
    persons: Literal[True] | None = None
    csv_escape: Literal["a text cell that starts with = + - @ ' tab or CR has a ' before it"] | None = None


class Manifest(_Part):
    """What the tables are, what is promised, and what is not."""

    format: Literal["pluralis-release"] = "pluralis-release"
    version: Literal[1] = 1
    method: str
    variant: str
    kind: str
    rows: Rows
    suppressed: Rows
    claims: tuple[Claim, ...]
    breaks: tuple[str, ...]
    parameters: dict[str, Any]
    tables: tuple[TableInfo, ...]
    test: bool = False

    def certified(self, measured: Mapping[str, float | None]) -> Manifest:
        """The same with what was measured for each claim, by its sentence."""
        claims = (claim.model_copy(update={"measured": measured.get(claim.rule)}) for claim in self.claims)
        return self.model_copy(update={"claims": tuple(claims)})

    def to_json(self) -> str:
        """Deterministic text; what is null is not written."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=1, ensure_ascii=False) + "\n"


def file_names(names: Sequence[str]) -> list[str]:
    """For each table the name of its file, of small letters, digits and `_`; where names become alike, with a number.

    >>> file_names(["quasi", "sensitive_marital status", "sensitive_marital_status"])
    ['quasi', 'sensitive_marital_status', 'sensitive_marital_status_2']
    """
    plain = [re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in names]
    files: list[str] = []
    for name in plain:
        numbered = (f"{name.rstrip('_')}_{i}" for i in count(2))
        files.append(name if name not in files else next(file for file in numbered if file not in (*plain, *files)))
    return files
