"""One column of a policy: what it is, and how it may be published."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pluralis.policy.strict_yaml import Place

Role = Literal["identifier", "quasi", "sensitive", "plain"]
Model = Literal["frequency", "distinct", "entropy", "recursive", "unique-distinct"]
Whole = Annotated[int, Field(strict=True)]


class Strict(BaseModel):
    """Unknown keys are errors, and what was read does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileHierarchy(Strict):
    """A tree in ARX's format: a line per leaf, the leaf first, its ancestors after it, `;` or `,` between."""

    file: str


class MaskHierarchy(Strict):
    """One character more is hidden at each level: 10075, 1007*, 100**, … , *."""

    mask: Literal["right", "left"]


class IntervalHierarchy(Strict):
    """Numbers in ever wider intervals; each width is a multiple of the one before."""

    intervals: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    start: float = 0


class MissingAs(Strict):
    """The value that stands for a missing one."""

    as_: str = Field(alias="as", min_length=1)


def _which_hierarchy(spec: Any) -> str | None:
    if isinstance(spec, dict):
        return next((key for key in ("file", "mask", "intervals") if key in spec), None)
    names = {"FileHierarchy": "file", "MaskHierarchy": "mask", "IntervalHierarchy": "intervals"}
    return names.get(type(spec).__name__)


_AnyHierarchy = Annotated[
    Annotated[FileHierarchy, Tag("file")]
    | Annotated[MaskHierarchy, Tag("mask")]
    | Annotated[IntervalHierarchy, Tag("intervals")],
    Discriminator(
        _which_hierarchy,
        custom_error_type="no_hierarchy",
        custom_error_message="write {file: NAME}, {mask: right}, {mask: left} or {intervals: [5, 10]}",
    ),
]
_IfMissing = Annotated[
    Annotated[Literal["refuse", "drop"], Tag("word")] | Annotated[MissingAs, Tag("value")],
    Discriminator(lambda said: "word" if isinstance(said, str) else "value"),
]


class Attribute(Strict):
    """What one column is, and how it may be published. Without a role it is what the rules make of it."""

    role: Role | None = None
    type: Literal["text", "number"] = "text"
    hierarchy: _AnyHierarchy | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0
    l: Annotated[Whole, Field(ge=2)] | None = None
    model: Model = "frequency"
    c: Annotated[float, Field(gt=0)] | None = None
    bin: Annotated[float, Field(gt=0)] | None = None
    case: Literal["fold", "keep"] = "fold"
    if_missing: _IfMissing = "refuse"

    def faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts itself, and what to do about it."""
        quasi, sensitive = self.role == "quasi", self.role == "sensitive"
        if self.hierarchy is not None and not quasi:
            yield ("hierarchy",), f"only quasi attributes are generalised, this one is {self.role}. Remove it."
        if "weight" in self.model_fields_set and not quasi:
            yield ("weight",), "only quasi attributes have a weight. Remove it."
        for key in ("l", "model", "c"):
            if key in self.model_fields_set and not sensitive:
                yield (key,), f"{key} belongs to sensitive attributes, this one is {self.role}. Remove it or the role."
        if self.model == "recursive" and self.c is None:
            yield ("model",), "recursive (c,l)-diversity needs c. Add c: 2, for example."
        if self.c is not None and self.model != "recursive":
            yield ("c",), f"c belongs to model: recursive, this one is {self.model}. Remove it."
        if self.bin is not None and not (sensitive and self.type == "number"):
            yield ("bin",), "bin is for sensitive numbers. Add type: number, or use hierarchy for a quasi attribute."
        if self.type == "number" and isinstance(self.hierarchy, MaskHierarchy):
            yield ("hierarchy",), "a mask hides characters of text. Remove type: number, or use intervals."
        if self.type == "number" and isinstance(self.hierarchy, FileHierarchy):
            yield ("hierarchy",), "a file names values as text. Remove type: number, or use intervals."
        if self.type == "text" and isinstance(self.hierarchy, IntervalHierarchy):
            yield ("hierarchy",), "intervals are for numbers. Add type: number."
        if self.if_missing != "refuse" and not sensitive:
            yield ("if_missing",), "only sensitive attributes need it: a missing quasi value is its own category."
        if isinstance(self.hierarchy, IntervalHierarchy):
            widths = self.hierarchy.intervals
            for narrow, wide in pairwise(widths):
                if wide <= narrow or wide % narrow:
                    yield ("hierarchy",), f"{wide:g} is not a multiple of {narrow:g}: intervals must nest."
