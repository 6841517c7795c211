"""One column of a policy: what it is, and how it may be published."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from pluralis.policy.hierarchies import (
    AnyHierarchy,
    ColumnsHierarchy,
    DateHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    Period,
    TextHierarchy,
)
from pluralis.policy.recoding import Breaks, Order, Quantiles, Rare, break_faults, order_faults
from pluralis.policy.shares import LARGEST_WEIGHT, read_distance, read_gain, read_shares
from pluralis.policy.strict import Number, Strict, Whole
from pluralis.policy.strict_yaml import Place

Role = Literal["identifier", "quasi", "sensitive", "plain", "decide"]
_WrittenRole = Literal["identifier", "quasi", "quasi-identifier", "sensitive", "plain", "decide"]
Model = Literal["frequency", "distinct", "entropy", "recursive", "unique-distinct"]


class MissingAs(Strict):
    """The value that stands for a missing one."""

    as_: str = Field(alias="as", min_length=1)


def _read_role(role: Any) -> Any:
    return "quasi" if role == "quasi-identifier" else role


_IfMissing = Annotated[
    Annotated[Literal["refuse", "drop"], Tag("word")] | Annotated[MissingAs, Tag("value")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "value"),
]
_Shares = {"type": "object", "minProperties": 1, "additionalProperties": {"type": ["string", "number"]}}
_AtMost = Annotated[dict[str, str], BeforeValidator(read_shares), WithJsonSchema(_Shares)]
_Gain = Annotated[float, BeforeValidator(read_gain), WithJsonSchema({"type": "number", "exclusiveMinimum": 1})]
_Distance = Annotated[
    float,
    BeforeValidator(read_distance),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
]
BOUNDS = ("at_most", "gain", "t")  # keys of a sensitive attribute that bound its values, beside l


class Attribute(Strict):
    """What one column is, and how it may be published. Without a role it is what the rules make of it."""

    role: Annotated[Role | None, BeforeValidator(_read_role, json_schema_input_type=_WrittenRole | None)] = None
    type: Literal["text", "number"] = "text"
    hierarchy: AnyHierarchy | None = None
    weight: Annotated[float, Field(gt=0, le=LARGEST_WEIGHT)] = 1.0
    l: Annotated[Whole, Field(ge=2)] | None = None
    model: Model = "frequency"
    c: Annotated[float, Field(gt=0)] | None = None
    at_most: _AtMost | None = None
    gain: _Gain | None = None
    t: _Distance | None = None
    bin: Annotated[float, Field(gt=0)] | None = None
    order: Order | None = None
    breaks: Breaks | None = None
    bins: Quantiles | None = None
    case: Literal["fold", "keep"] = "fold"
    missing: list[str] | None = None
    if_missing: _IfMissing = "refuse"
    top: Number | None = None
    bottom: Number | None = None
    rare: Rare | None = None

    @property
    def bounds(self) -> tuple[str, ...]:
        """Which of `at_most`, `gain` and `t` are asked for."""
        return tuple(key for key in BOUNDS if getattr(self, key) is not None)

    @property
    def is_ordered(self) -> bool:
        """Whether its values have an order, by which some are farther from each other than others."""
        return self.type == "number" or self.order is not None

    def asked_in_words(self, l: int) -> str:
        """How certain an adversary may become, in a few words.

        >>> Attribute(role="sensitive", at_most={"Yes": "25%"}, gain=3).asked_in_words(1)
        'Yes at most 1/4, gain 3'
        """
        words = [f"at most 1/{l}"] * (l > 1) + [
            f"{value} at most {share}" for value, share in (self.at_most or {}).items()
        ]
        words += [f"gain {self.gain:g}"] if self.gain is not None else []
        return ", ".join([*words, *([f"t={self.t:g}"] if self.t is not None else [])])

    @property
    def is_banded(self) -> bool:
        """Whether its numbers are published in bins that stand in order."""
        return self.breaks is not None or self.bins is not None

    def brief(self) -> str:
        """What is set beside the role, in a few words.

        >>> Attribute(role="sensitive", l=3, type="number", bin=500).brief()
        'l=3, number, bin 500'
        """
        words = [f"l={self.l}"] * (self.l is not None) + [self.model] * (self.model != "frequency")
        words += [f"c={self.c:g}"] if self.c is not None else []
        words += [self.asked_in_words(1)] * bool(self.bounds)
        words += [self.type] * (self.type != "text") + ([f"bin {self.bin:g}"] if self.bin is not None else [])
        words += [
            f"{end} {value:g}" for end, value in (("bottom", self.bottom), ("top", self.top)) if value is not None
        ]
        words += [f"{len(self.order)} values in order"] if self.order is not None else []
        words += [f"breaks {', '.join(f'{number:g}' for number in self.breaks)}"] if self.breaks is not None else []
        words += [self.bins.brief()] if self.bins is not None else []
        words += [f"hierarchy {self.hierarchy.brief()}"] if self.hierarchy is not None else []
        words += [f"weight {self.weight:g}"] * (self.weight != 1) + ["case kept"] * (self.case == "keep")
        words += [self.rare.brief()] if self.rare is not None else []
        words += ["missing: " + ", ".join(map(repr, self.missing))] if self.missing is not None else []
        if isinstance(self.if_missing, MissingAs):
            words.append(f"missing as {self.if_missing.as_}")
        elif self.if_missing == "drop":
            words.append("missing rows dropped")
        return ", ".join(words)

    def _order_faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts `order`, `breaks` and `bins`."""
        asked = [key for key in ("order", "breaks", "bins", "bin") if getattr(self, key) is not None]
        for key in asked[1:]:
            yield (key,), f"{asked[0]} says already how values stand in order. Keep one of the two."
        for key in asked:
            if key != "bin" and self.role == "identifier":
                yield (key,), f"{key} belongs to what is published, this one is {self.role}. Remove it."
            if key != "bin" and self.hierarchy is not None:
                yield (key,), f"an attribute is generalized along {key} or along a hierarchy, not both. Remove one."
            if key in ("breaks", "bins") and self.type != "number":
                yield (key,), f"{key} divides numbers. Add type: number, or list the values as `order`."
        if self.order is not None:
            if self.type == "number":
                yield ("order",), "numbers have an order of their own. Remove it, or type: number."
            yield from order_faults(self.order)
        if self.breaks is not None:
            yield from break_faults(self.breaks)

    def faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts itself, and what to do about it."""
        quasi, sensitive = self.role == "quasi", self.role == "sensitive"
        if self.hierarchy is not None and not quasi:
            yield ("hierarchy",), f"only quasi-identifiers are generalized, this one is {self.role}. Remove it."
        if "weight" in self.model_fields_set and not quasi:
            yield ("weight",), "only quasi-identifiers have a weight. Remove it."
        for key in ("l", "model", "c", *BOUNDS):
            if key in self.model_fields_set and not sensitive:
                yield (key,), f"{key} belongs to sensitive attributes, this one is {self.role}. Remove it or the role."
        if self.model == "recursive" and self.c is None:
            yield ("model",), "recursive (c,l)-diversity needs c. Add c: 2, for example."
        if self.c is not None and self.model != "recursive":
            yield ("c",), f"c belongs to model: recursive, this one is {self.model}. Remove it."
        if self.model == "unique-distinct" and self.bounds:
            alone = (
                f"unique-distinct wants every value once in a group, and {self.bounds[0]} lets some stand there often"
            )
            yield ("model",), f"{alone}. Remove model, or {self.bounds[0]}."
        yield from self._order_faults()
        if self.bin is not None and not (sensitive and self.type == "number"):
            yield ("bin",), "bin is for sensitive numbers. Add type: number, or use breaks or hierarchy instead."
        if self.if_missing != "refuse" and not sensitive:
            yield ("if_missing",), "only sensitive attributes need it: a missing quasi-identifier is its own category."
        yield from self._faulty_hierarchy()
        yield from self._faulty_recoding()

    def _faulty_hierarchy(self) -> Iterator[tuple[Place, str]]:
        tree = self.hierarchy
        if tree is None:
            return
        if self.type == "number" and isinstance(tree, MaskHierarchy):
            yield ("hierarchy",), "a mask hides characters of text. Remove type: number, or use intervals."
        elif self.type == "number" and not isinstance(tree, FileHierarchy | IntervalHierarchy):
            yield ("hierarchy",), f"{tree.brief()} is for text. Remove type: number, or use intervals or a file."
        if self.type == "text" and isinstance(tree, IntervalHierarchy):
            yield ("hierarchy",), "intervals are for numbers. Add type: number."
        if isinstance(tree, IntervalHierarchy):
            for narrow, wide in pairwise(tree.intervals):
                if wide <= narrow or wide % narrow:
                    yield ("hierarchy",), f"{wide:g} is not a multiple of {narrow:g}: intervals must nest."
        yield from (((("hierarchy",), fault)) for fault in _repeated(tree))

    def _faulty_recoding(self) -> Iterator[tuple[Place, str]]:
        """What `missing`, `top`, `bottom` and `rare` cannot do to this column."""
        given = [key for key in ("missing", "top", "bottom", "rare") if getattr(self, key) is not None]
        if self.role == "identifier":
            yield from (((key,), "an identifier is never published. Remove it.") for key in given)
            return
        for key in ("top", "bottom"):
            if getattr(self, key) is not None and self.type != "number":
                yield (key,), f"{key} is for numbers. Add type: number, or remove it."
            if getattr(self, key) is not None and self.is_banded:
                yield (key,), "the first and the last bin have no other end, so nothing is left to cut off. Remove it."
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            yield ("bottom",), f"{self.bottom:g} is not below top: {self.top:g}. Write a smaller one."
        if self.missing is not None and len(set(self.missing)) < len(self.missing):
            yield ("missing",), "a mark stands twice. Write each once."
        if self.rare is None:
            return
        if self.role == "plain":
            yield ("rare",), "rare values of a plain column are published as they are. Remove it, or the role."
        elif self.type == "number":
            yield (
                ("rare",),
                "rare is for text. For numbers use top, bottom, breaks or bin; codes are text: remove type: number.",
            )
        elif self.order is not None:
            yield ("rare",), "what is joined has no place in an order. Remove it, or order; or join bands in the table."
        along = self.rare.along
        if isinstance(along, IntervalHierarchy):
            yield ("rare",), "intervals are for numbers. Join rare texts along a file, columns, icd, date or mask."
        elif along is not None:
            yield from (((("rare",), fault)) for fault in _repeated(along))


def _repeated(tree: TextHierarchy | IntervalHierarchy) -> Iterator[str]:
    """What stands twice, or in the wrong order, in a hierarchy."""
    if isinstance(tree, ColumnsHierarchy) and len(set(tree.columns)) < len(tree.columns):
        yield "a column stands twice. Name each once, the narrowest first."
    if isinstance(tree, DateHierarchy) and [p for p in get_args(Period) if p in tree.date] != tree.date:
        yield "write the periods once each, the shortest first: [day, month, year] or some of them."
