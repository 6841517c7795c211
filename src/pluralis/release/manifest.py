"""The manifest's schema: what published tables are (`columns`), what is promised, how it was made (`parameters`).

`manifest.json` holds what an analyst and an auditor need and nothing about the input: no key, seed, hash of the
input, path, time, host or row number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from pluralis.release.columns import ColumnInfo, Finite, ManifestPart, Rows, TableInfo, file_names
from pluralis.release.kinds import KINDS, Kind, kind_named
from pluralis.release.kinds.multi import Plain
from pluralis.release.parameters import CSV_ESCAPE, LARGEST_L, Diversity, Parameters
from pluralis.table.csv_files import MAX_ROWS
from pluralis.table.labels import number_text

__all__ = [
    "CSV_ESCAPE",
    "FORMAT",
    "LARGEST_L",
    "MANIFEST",
    "README",
    "VERSION",
    "Claim",
    "ColumnInfo",
    "Manifest",
    "Parameters",
    "TableInfo",
    "claim_words",
    "file_names",
]

FORMAT = "pluralis-release"
VERSION = 1
MANIFEST = "manifest.json"
README = "README.md"
PLAIN = Plain()


class Claim(ManifestPart):
    """One promise: against this adversary, this attribute keeps this model; and what was measured for it."""

    rule: str
    model: str
    adversary: tuple[str, ...]
    attribute: str | None = None
    l: Diversity | None = None
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    c: Finite | None = None
    bound: Finite | None = None
    value: str | None = None
    at_most: str | None = None
    gain: Finite | None = None
    t: Finite | None = None
    measured: Finite | None = None


def claim_words(claim: Claim, kind: str) -> str:
    """A claim as a sentence, from its fields: what is promised is what is measured.

    >>> claim_words(Claim(rule="", model="frequency", adversary=("sex", "age"), attribute="disease", l=3), "bucketized")
    'P(disease | age, sex) ≤ 1/3'
    >>> claim_words(Claim(rule="", model="at-most", adversary=(), attribute="ill", value="Yes", at_most="1/4"), "")
    'P(ill = Yes) ≤ 1/4'
    """
    if claim.k is not None:
        return f"{claim.k}-anonymity: every {kind_named(kind).alike} has at least {claim.k} rows"
    l, known = claim.l, ", ".join(map(quoted, sorted(claim.adversary)))
    beside = f" | {known}" if known else ""
    given = quoted(claim.attribute or "") + beside
    return {
        "frequency": f"P({given}) ≤ 1/{l}",
        "distinct": f"distinct {l}-diversity of {given}",
        "entropy": f"entropy {l}-diversity of {given}",
        "recursive": f"recursive ({number_text(claim.c or 0)},{l})-diversity of {given}",
        "unique-distinct": f"unique distinct {l}-diversity of {given}",
        "candidates": f"{l} or more values possible of {given}",
        "posterior": f"P({given}) ≤ 1/{l} by the published weights",
        "posterior-shares": f"P({given}) ≤ {claim.bound or 0:.4g} by the true shares of values",
        "set-size": f"every row lists {l} values of {given}",
        "at-most": f"P({quoted(claim.attribute or '')} = {quoted(claim.value or '')}{beside}) ≤ {claim.at_most}",
        "gain": f"P({given}) ≤ {number_text(claim.gain or 0)} times the share of the value",
        "closeness": f"distance of P({given}) from all rows ≤ {number_text(claim.t or 0)}",
        "ordered-closeness": f"ordered distance of P({given}) from all rows ≤ {number_text(claim.t or 0)}",
    }.get(claim.model, f"{claim.model} {l} of {given}")


def quoted(name: str) -> str:
    """A name or value in a claim; in quotes where it could be read as something else."""
    plain = name == name.strip() and not re.search(r'[,|()≤"]', name)
    return name if plain else '"' + name.replace('"', '""') + '"'


class Manifest(ManifestPart):
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
    parameters: SerializeAsAny[Parameters]
    tables: tuple[TableInfo, ...]
    test: bool = False

    @field_validator("parameters", mode="before")
    @classmethod
    def _of_its_kind(cls, given: Any, info: ValidationInfo) -> Any:
        known = "kind" in info.data and not isinstance(given, Parameters)
        return kind_named(info.data["kind"]).parameters.model_validate(given) if known else given

    @property
    def traits(self) -> Kind:
        """What its kind of release is asked."""
        return KINDS.get(self.kind, PLAIN)

    def certified(self, measured: Mapping[str, float | None]) -> Manifest:
        """The same with what was measured for each claim, by its sentence."""
        claims = (claim.model_copy(update={"measured": measured.get(claim.rule)}) for claim in self.claims)
        return self.model_copy(update={"claims": tuple(claims)})

    def to_json(self) -> str:
        """Deterministic text; what is null is not written."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=1, ensure_ascii=False) + "\n"
