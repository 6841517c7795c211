"""The policy: which columns are what, and the rules that a release must keep.

A rule `age, sex -> disease : l=4` says: whoever knows age and sex must not guess disease with more than 1/4.
Roles are shorthand for rules: every sensitive attribute is protected from whoever knows all quasi attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from pluralis.errors import PolicyError, did_you_mean
from pluralis.rules import Rule
from pluralis.strict import Document, Place, parse_document, read_document

RESERVED = {"group"}  # columns that a release adds

Role = Literal["identifier", "quasi", "sensitive", "plain"]
Model = Literal["frequency", "distinct", "entropy", "recursive", "unique-distinct"]
Whole = Annotated[int, Field(strict=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileHierarchy(_Strict):
    """A tree in ARX's format: a line per leaf, the leaf first, its ancestors after it, `;` or `,` between."""

    file: str


class MaskHierarchy(_Strict):
    """One character more is hidden at each level: 10075, 1007*, 100**, … , *."""

    mask: Literal["right", "left"]


class IntervalHierarchy(_Strict):
    """Numbers in ever wider intervals; each width is a multiple of the one before."""

    intervals: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    start: float = 0


class MissingAs(_Strict):
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


class Attribute(_Strict):
    """What one column is, and how it may be published."""

    role: Role
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


class Adversary(_Strict):
    """Someone who knows these attributes of a person, exactly."""

    knows: Annotated[list[str], Field(min_length=1)]


class Publishing(_Strict):
    """Which method, and how."""

    method: str = "bsgi"
    variant: Literal["hardened", "paper"] = "hardened"
    options: dict[str, Any] = {}
    suppress: Annotated[float, Field(ge=0, lt=1)] = 0.0


class _Fault(ValueError):
    """A contradiction, and where it stands."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


def _read_rule(rule: Any) -> Any:
    # YAML takes the ` : ` of an unquoted rule for a mapping of one key
    if isinstance(rule, dict) and len(rule) == 1:
        ((left, right),) = rule.items()
        if isinstance(right, str) and "->" in left:
            rule = f"{left} : {right}"
    return Rule.parse(rule) if isinstance(rule, str) else rule


class Policy(_Strict):
    """What may be published, and what must not be learnt.

    >>> policy = Policy.parse('''
    ... version: 1
    ... attributes:
    ...   age:     {role: quasi, type: number}
    ...   disease: {role: sensitive, l: 3}
    ... ''')
    >>> policy.quasi, policy.sensitive, policy.l("disease")
    (['age'], ['disease'], 3)
    """

    version: Literal[1]
    attributes: dict[str, Attribute] = {}
    others: Literal["drop"] | None = None
    person: str | None = None
    missing: list[str] = [""]
    k: Annotated[Whole, Field(ge=2)] | None = None
    rules: list[Annotated[Rule, WithJsonSchema({"type": ["string", "object"]})]] = []
    adversaries: list[Adversary] = []
    publish: Publishing = Publishing()

    _folder: Path = PrivateAttr(default=Path())

    # reading and writing -------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy file; hierarchies it names are looked for beside it."""
        policy = cls._from(read_document(Path(path)))
        policy._folder = Path(path).resolve().parent
        return policy

    @classmethod
    def parse(cls, text: str, *, folder: str | Path = ".") -> Policy:
        """A policy from YAML text."""
        policy = cls._from(parse_document(text))
        policy._folder = Path(folder)
        return policy

    @classmethod
    def of(cls, data: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """A policy from plain Python data."""
        policy = cls._from(Document(dict(data), {}, "policy"))
        policy._folder = Path(folder)
        return policy

    @classmethod
    def _from(cls, document: Document) -> Policy:
        if not isinstance(document.data, dict):
            raise PolicyError(
                f"{document.name} holds no policy. Run `pluralis init TABLE -o policy.yaml` for a first one."
            )
        try:
            return cls.model_validate(document.data)
        except ValidationError as error:
            raise PolicyError("\n".join(_explain(document, problem) for problem in error.errors()[:5])) from None

    def to_yaml(self) -> str:
        """The policy as text; what is left at its default is not written."""
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        if not self.rules:
            data.pop("rules", None)
        return yaml.safe_dump({"version": self.version, **data}, sort_keys=False, allow_unicode=True)

    def override(self, *, method: str | None = None, options: Mapping[str, Any] | None = None) -> Policy:
        """The same policy with another method, variant, suppression or option (`--method`, `--set`)."""
        data = self.publish.model_dump()
        for key, value in (options or {}).items():
            if key in ("variant", "suppress"):
                data[key] = value
            else:
                data["options"] = {**data["options"], key: value}
        if method is not None:
            data["method"] = method
            if method != self.publish.method:
                data["options"] = dict(options or {})
                for key in ("variant", "suppress"):
                    data["options"].pop(key, None)
        changed = {**self.model_dump(by_alias=True, exclude_unset=True), "publish": data}
        return Policy.of(changed, folder=self._folder)

    # what it says ---------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """Where hierarchy files are looked for."""
        return self._folder

    @property
    def columns(self) -> dict[str, Attribute]:
        """Every attribute with its role, those that only rules name included; sorted by name."""
        columns = dict(self.attributes)
        for rule in self.rules:
            for name in rule.knows:
                columns.setdefault(name, Attribute(role="quasi"))
            columns.setdefault(rule.protects, Attribute(role="sensitive", l=rule.l))
        return dict(sorted(columns.items()))

    def named(self, role: Role) -> list[str]:
        return [name for name, attribute in self.columns.items() if attribute.role == role]

    @property
    def quasi(self) -> list[str]:
        return self.named("quasi")

    @property
    def sensitive(self) -> list[str]:
        return self.named("sensitive")

    def l(self, attribute: str) -> int:
        """How diverse a sensitive attribute must be: the largest l that its role or a rule asks for."""
        asked = [rule.l for rule in self.rules if rule.protects == attribute]
        own = self.columns[attribute].l
        return max([*asked, *([own] if own else [])])

    @property
    def knowledge(self) -> list[frozenset[str]]:
        """What each adversary knows; the one who knows every quasi attribute always comes first."""
        sets = [frozenset(self.quasi), *(frozenset(adversary.knows) for adversary in self.adversaries)]
        return list(dict.fromkeys(sets))

    @property
    def promises(self) -> list[tuple[frozenset[str], str]]:
        """(known, protected) pairs: every sensitive attribute from every adversary, and every rule.

        A rule that knows quasi attributes only says no more than the adversary who knows all of them.
        """
        pairs = [(known, name) for known in self.knowledge for name in self.sensitive if name not in known]
        whole = frozenset(self.quasi)
        pairs += [(frozenset(rule.knows), rule.protects) for rule in self.rules if not whole.issuperset(rule.knows)]
        return list(dict.fromkeys(pairs))

    @property
    def links_are_known(self) -> bool:
        """Whether some promise is about who knows what stands beside the protected value in its row."""
        beside = set(self.sensitive) | set(self.named("plain"))
        return any(known & beside for known, _ in self.promises)

    @field_serializer("rules")
    def _write_rules(self, rules: list[Rule]) -> list[str]:
        return [str(rule) for rule in rules]

    # checking -------------------------------------------------------------------------------------------------

    @field_validator("rules", mode="before")
    @classmethod
    def _read_rules(cls, rules: Any) -> Any:
        return [_read_rule(rule) for rule in rules] if isinstance(rules, list) else rules

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for place, message in self.faults():
            raise _Fault(place, message)
        return self

    def faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts itself, and what to do about it."""
        if not self.attributes and not self.rules:
            yield (), "the policy names no attribute. Run `pluralis init TABLE -o policy.yaml` for a first one."
        for name, attribute in self.attributes.items():
            if name != name.strip() or not name:
                yield ("attributes", name), f"the name {name!r} is empty or has blanks at its ends. Rename the column."
            for place, message in attribute.faults():
                yield ("attributes", name, *place), message
        columns = self.columns
        for name in RESERVED & set(columns):
            yield ("attributes", name), f"a release has a column {name!r} of its own. Rename the column."
        for i, rule in enumerate(self.rules):
            for name in rule.knows:
                if columns[name].role not in ("quasi", "plain"):
                    yield (
                        ("rules", i),
                        (
                            f"{name!r} is known in this rule and {columns[name].role} elsewhere. Methods that "
                            "publish one "
                            "table need one role for each attribute: make it quasi, or drop the rule."
                        ),
                    )
            if columns[rule.protects].role != "sensitive":
                yield (
                    ("rules", i),
                    (
                        f"{rule.protects!r} is protected by this rule and {columns[rule.protects].role} elsewhere. "
                        "Make it sensitive, or drop the rule."
                    ),
                )
        for name in self.named("sensitive"):
            if columns[name].l is None and not any(rule.protects == name for rule in self.rules):
                yield (
                    ("attributes", name),
                    "a sensitive attribute needs l. Add l: 2 or more (`pluralis profile` shows the largest).",
                )
        published = [name for name, attribute in columns.items() if attribute.role != "identifier"]
        for i, adversary in enumerate(self.adversaries):
            for known in adversary.knows:
                if known not in published:
                    yield (
                        ("adversaries", i),
                        f"{known!r} is not a published attribute. {did_you_mean(known, published)}",
                    )
        if self.person is not None and columns.get(self.person, Attribute(role="identifier")).role != "identifier":
            yield ("person",), f"{self.person!r} tells people apart, so it cannot be published. Make it an identifier."

    def check_columns(self, present: list[str]) -> None:
        """Refuse a table whose columns are not the ones this policy speaks of."""
        wanted = [*self.columns, *([self.person] if self.person else [])]
        for name in wanted:
            if name not in present:
                raise PolicyError(
                    f"The policy names {name!r}, the table has no such column. {did_you_mean(name, present)}"
                )
        unnamed = [name for name in present if name not in wanted]
        if unnamed and self.others is None:
            shown = ", ".join(map(repr, unnamed[:8])) + (", …" if len(unnamed) > 8 else "")
            raise PolicyError(
                f"The policy says nothing about {shown}. Give each a role, or write `others: drop` to leave them out."
            )


_REMEDIES = {
    "missing": "It is required; add it.",
    "greater_than_equal": "Write that or more.",
    "less_than": "Give a share from 0 to below 1.",
    "literal_error": "Write one of these.",
    "list_type": "Write a list: [a, b].",
    "int_type": "Write a whole number, 2 or more.",
    "int_from_float": "Write a whole number, 2 or more.",
}


def _explain(document: Document, problem: Any) -> str:
    """One problem as a sentence with its line and remedy."""
    fault = problem.get("ctx", {}).get("error")
    place: Place = fault.place if isinstance(fault, _Fault) else tuple(problem["loc"])
    named = ".".join(str(part) for part in place if part not in _UNION_PARTS)
    where = document.where(place) + (f", {named}" if named else "")
    kind = problem["type"]
    if kind == "extra_forbidden":
        key = str(place[-1])
        return f"{where}: unknown key {key!r}. {did_you_mean(key, _known_keys(place))}"
    if isinstance(fault, ValueError):
        message = str(fault)
    else:
        message = problem["msg"] + ("." if kind == "missing" else f", not {problem['input']!r}.")
    return f"{where}: {message} {_REMEDIES.get(kind, '')}".strip()


_UNION_PARTS = ("word", "value")


def _known_keys(place: Place) -> list[str]:
    parent = place[:-1]
    if not parent:
        return list(Policy.model_fields)
    if parent[0] == "publish":
        return list(Publishing.model_fields)
    if parent[0] == "adversaries":
        return list(Adversary.model_fields)
    if "hierarchy" in parent:
        return ["file", "mask", "intervals", "start"]
    return list(Attribute.model_fields)
