"""The parameters of a manifest: what an analyst and an auditor need to know of how a release was made."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from pluralis.policy.shares import LARGEST_GAIN, LARGEST_WEIGHT, SMALLEST_DISTANCE
from pluralis.release.columns import ColumnInfo, Finite, ManifestPart, Whole
from pluralis.release.recodings import Recoding
from pluralis.table.csv_files import MAX_ROWS

LARGEST_L = 1 << 30  # times the number of rows it still fits in 64 bits

Diversity = Annotated[int, Field(ge=2, le=LARGEST_L)]
AnyDiversity = Annotated[int, Field(ge=1, le=LARGEST_L)]  # 1 bounds nothing
CsvEscape = Literal["a text cell that starts with = + - @ ' tab or CR has a ' before it"]
CSV_ESCAPE: CsvEscape = "a text cell that starts with = + - @ ' tab or CR has a ' before it"


class Drawn(ManifestPart):
    """How the sets of an attribute were drawn (see `grouping.addition`)."""

    design: Literal["uniform", "calibrated"]
    values: tuple[str | Whole | Finite, ...]
    effect: Annotated[float, Field(ge=1, le=MAX_ROWS)] | None = None
    weights: tuple[Annotated[int, Field(ge=1, lt=2**63)], ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As the manifest holds it."""
        return self.model_dump(mode="json", exclude_none=True)


class Parameters(ManifestPart):
    """What any reader may ask of any release. Each kind has a class of its own (`kinds`), with what it must say.

    Where a release does not say something, the default is what holds; where its kind has no such thing (`never`), it
    may not say it. `adversaries`, `models`, `at_most`, `gain`, `t`, `k` and, of kinds other than multi, `rules` are
    what the policy asked for beside the l of each attribute: whatever is claimed follows from them, so that a claim
    that is missing is noticed. An attribute that only these bound has an l of 1.
    """

    never: ClassVar[frozenset[str]] = frozenset()

    linked: bool = True
    l: dict[str, AnyDiversity]
    options: dict[str, Any]
    adversaries: tuple[tuple[str, ...], ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    at_most: dict[str, Annotated[dict[str, str], Field(min_length=1)]] = Field(default_factory=dict)
    gain: dict[str, Annotated[float, Field(gt=1, le=LARGEST_GAIN)]] = Field(default_factory=dict)
    t: dict[str, Annotated[float, Field(ge=SMALLEST_DISTANCE, lt=1)]] = Field(default_factory=dict)
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    primary: str = ""
    domains: dict[str, ColumnInfo] = Field(default_factory=dict)
    addition: dict[str, Drawn] = Field(default_factory=dict)
    rules: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    weights: dict[str, Annotated[float, Field(gt=0, le=LARGEST_WEIGHT)]] = Field(default_factory=dict)
    missing: tuple[str, ...] = ("",)
    missing_as: dict[str, str] = Field(default_factory=dict)
    recodings: dict[str, Recoding] = Field(default_factory=dict)
    case: tuple[str, ...] = ()
    persons: bool = False
    csv_escape: CsvEscape | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_its_kind(cls, given: Any) -> Any:
        for name in sorted(cls.never.intersection(given)) if isinstance(given, dict) else ():
            raise ValueError(f"a release of this kind has no {name!r}")
        return given

    @model_validator(mode="after")
    def _bounds_each(self) -> Self:
        for name, l in self.l.items():
            if l == 1 and not any(name in bounded for bounded in (self.at_most, self.gain, self.t)):
                raise ValueError(f"l is 1 for {name[:40]!r}, and nothing else bounds it")
        return self

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What must be said, and what is not as it is by default."""
        fields = type(self).model_fields
        return {
            name: value
            for name, value in handler(self).items()
            if fields[name].is_required() or getattr(self, name) != fields[name].get_default(call_default_factory=True)
        }
