"""The policy: which columns are what, and the rules that a release must keep.

A rule `age, sex -> disease : l=4` says: whoever knows age and sex must not guess disease with more than 1/4.
Roles are shorthand for rules: every sensitive attribute is protected from whoever knows all quasi attributes. So are
adversaries: whoever knows what they know must not learn any protected attribute. `in_force` has them all, as rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import yaml
from pydantic import (
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from pluralis.errors import PolicyError, did_you_mean
from pluralis.policy.attributes import Attribute, Role, Strict, Whole
from pluralis.policy.rules import Dependency, Pointed, Rule, closure, expanded, irreducible
from pluralis.policy.strict_yaml import Document, Place, parse_document, read_document

RESERVED = {"group"}  # columns that a release adds


class Adversary(Strict):
    """Someone who knows these attributes of a person, exactly."""

    knows: Annotated[list[str], Field(min_length=1)]


class Publishing(Strict):
    """Which method, and how."""

    method: str = "bsgi"
    variant: Literal["hardened", "paper"] = "hardened"
    options: dict[str, Any] = Field(default_factory=dict)
    suppress: Annotated[float, Field(ge=0, lt=1)] = 0.0


class _Fault(ValueError):
    """A contradiction, and where it stands."""

    def __init__(self, place: Place, message: str, *, pointed: bool = False) -> None:
        super().__init__(message)
        self.place, self.pointed = place, pointed


class Stated(NamedTuple):
    """A rule, and where it comes from: `rules`, a role, an adversary or a dependency."""

    rule: Rule
    origin: str


_AsText = WithJsonSchema({"type": ["string", "object"]})


def _read_rule(rule: Any) -> Any:
    # YAML takes the ` : ` of an unquoted rule for a mapping of one key
    if isinstance(rule, dict) and len(rule) == 1:
        ((left, right),) = rule.items()
        if isinstance(right, str) and "->" in left:
            rule = f"{left} : {right}"
    return Rule.parse(rule) if isinstance(rule, str) else rule


def _read_dependency(line: Any) -> Any:
    return Dependency.parse(line) if isinstance(line, str) else line


def _each(lines: Any, read: Callable[[Any], Any], key: str) -> Any:
    """Every line read; what cannot be read is a fault of its own line."""
    if not isinstance(lines, list):
        return lines
    found = []
    for i, line in enumerate(lines):
        try:
            found.append(read(line))
        except ValueError as error:
            raise _Fault((key, i), str(error), pointed=isinstance(error, Pointed)) from None
    return found


class Policy(Strict):
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
    attributes: dict[str, Attribute] = Field(default_factory=dict)
    others: Literal["drop"] | None = None
    person: str | None = None
    missing: list[str] = Field(default_factory=lambda: [""])
    k: Annotated[Whole, Field(ge=2)] | None = None
    rules: list[Annotated[Rule, _AsText]] = Field(default_factory=list)
    adversaries: list[Adversary] = Field(default_factory=list)
    # what an adversary may know of how columns go together; and what the table shows, but nobody could know
    dependencies: list[Annotated[Dependency, _AsText]] = Field(default_factory=list)
    coincidences: list[Annotated[Dependency, _AsText]] = Field(default_factory=list)
    publish: Publishing = Publishing()
    # releases of a table that changes may be made anew each time, though whoever holds two can intersect them
    republish: Literal["independent"] | None = None

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
            raise PolicyError(
                *(line for problem in error.errors()[:5] for line in _explain(document, problem))
            ) from None

    def to_yaml(self) -> str:
        """The policy as text; what is left at its default is not written."""
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        data = {key: value for key, value in data.items() if value != [] or key == "missing"}
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
        """Every attribute with its role, sorted by name. What has none, or only rules name, is what rules make of it.

        An attribute that some rule protects is sensitive, also where others say that it is known.
        """
        known = {name: "quasi" for rule in self.rules for name in rule.knows}
        made = known | {rule.protects: "sensitive" for rule in self.rules}
        columns = {name: self.attributes.get(name, Attribute()) for name in sorted({*self.attributes, *made})}
        return {
            name: attribute if attribute.role else attribute.model_copy(update={"role": made.get(name)})
            for name, attribute in columns.items()
        }

    @property
    def needed(self) -> list[str]:
        """The columns that a table must have."""
        return [*self.columns, *([self.person] if self.person else [])]

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

    def stated(self, found: Iterable[Dependency] = ()) -> list[Stated]:
        """Every rule that this policy states in one way or another; `found` are dependencies that the table shows."""
        rules = [Stated(rule, "rules") for rule in self.rules]
        quasi = tuple(self.quasi)
        for name, attribute in sorted(self.attributes.items()):
            if attribute.role == "sensitive" and attribute.l is not None and quasi:
                rules.append(Stated(Rule(knows=quasi, protects=name, l=attribute.l), f"the role of {name}"))
        for i, adversary in enumerate(self.adversaries, 1):
            known = tuple(sorted(set(adversary.knows)))
            for name in self.sensitive:
                if name not in known:
                    rules.append(Stated(Rule(knows=known, protects=name, l=self.l(name)), f"adversary {i}"))
        added = expanded((stated.rule for stated in rules), [*self.dependencies, *found])
        return [*rules, *(Stated(rule, f"the dependency {reason}") for rule, reason in added)]

    def in_force(self, found: Iterable[Dependency] = ()) -> list[Rule]:
        """The irreducible set of all rules that this policy states, whatever says them."""
        return irreducible(stated.rule for stated in self.stated(found))

    def of_part(self, known: Iterable[str], asked: Mapping[str, int], method: str) -> Policy:
        """The policy of a table of its own that shows `known` and protects others from them, each by its l."""
        attributes: dict[str, Attribute] = {}
        for name in known:
            column = self.columns[name]
            kind: Literal["text", "number"] = "text" if column.bin else column.type
            tree = column.hierarchy if column.role == "quasi" else None
            attributes[name] = Attribute(
                role="quasi", type=kind, hierarchy=tree, weight=column.weight, case=column.case
            )
        for name, l in asked.items():
            column = self.columns[name]
            attributes[name] = Attribute(
                role="sensitive",
                type=column.type,
                l=l,
                model=column.model,
                c=column.c,
                bin=column.bin,
                case=column.case,
            )
        part = Policy(version=1, attributes=attributes, person=self.person, publish=Publishing(method=method))
        part._folder = self._folder
        return part

    @property
    def links_are_known(self) -> bool:
        """Whether some promise is about who knows what stands beside the protected value in its row."""
        beside = set(self.sensitive) | set(self.named("plain"))
        return any(known & beside for known, _ in self.promises)

    @field_serializer("rules", "dependencies", "coincidences")
    def _write_rules(self, rules: list[Rule | Dependency]) -> list[str]:
        return [str(rule) for rule in rules]

    # checking -------------------------------------------------------------------------------------------------

    @field_validator("rules", mode="before")
    @classmethod
    def _read_rules(cls, rules: Any) -> Any:
        return _each(rules, _read_rule, "rules")

    @field_validator("dependencies", "coincidences", mode="before")
    @classmethod
    def _read_dependencies(cls, lines: Any, info: ValidationInfo) -> Any:
        return _each(lines, _read_dependency, str(info.field_name))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for place, message in self.faults():
            raise _Fault(place, message)
        return self

    def faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts itself, and what to do about it."""
        if not self.attributes and not self.rules:
            yield (
                (),
                "the policy names no attribute and no rule. Run `pluralis init TABLE -o policy.yaml` for a first one.",
            )
        columns = self.columns
        for name in self.attributes:
            if name != name.strip() or not name:
                yield ("attributes", name), f"the name {name!r} is empty or has blanks at its ends. Rename the column."
            if columns[name].role is None:
                yield (
                    ("attributes", name),
                    "no rule names it, so it needs a role: quasi, sensitive, plain or identifier.",
                )
            for place, message in columns[name].faults():
                yield ("attributes", name, *place), message
        for name in RESERVED & set(columns):
            yield ("attributes", name), f"a release has a column {name!r} of its own. Rename the column."
        yield from self._faulty_rules(columns)
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
            secrets = self.sensitive
            if secrets and set(secrets) <= set(adversary.knows):
                yield (
                    ("adversaries", i),
                    f"it knows every sensitive attribute ({', '.join(secrets)}), so nothing is left to protect from "
                    "it. Take one that it shall not learn out of `knows`, or remove the adversary.",
                )
        if self.person is not None and columns.get(self.person, Attribute(role="identifier")).role != "identifier":
            yield ("person",), f"{self.person!r} tells people apart, so it cannot be published. Make it an identifier."

    def _faulty_rules(self, columns: Mapping[str, Attribute]) -> Iterator[tuple[Place, str]]:
        for i, rule in enumerate(self.rules):
            role = columns[rule.protects].role
            if role != "sensitive":
                said = f"{rule.protects!r} is protected by this rule and {role} elsewhere."
                yield ("rules", i), f"{said} Leave its role out, or drop the rule."
            for name in rule.knows:
                if columns[name].role == "identifier":
                    yield ("rules", i), f"{name!r} is an identifier, which is never published. Take it out of the rule."
        published = [name for name, attribute in columns.items() if attribute.role != "identifier"]
        for key in ("dependencies", "coincidences"):
            for i, dependency in enumerate(getattr(self, key)):
                for name in sorted(dependency.attributes):
                    if name not in published:
                        yield (key, i), f"{name!r} is not a published attribute. {did_you_mean(name, published)}"
        for rule, origin in self.stated():
            if rule.protects in closure(rule.knows, self.dependencies):
                place: Place = ("rules", self.rules.index(rule)) if rule in self.rules else ("dependencies",)
                said = f"`{rule}` ({origin}) cannot be kept: dependencies say that the left side decides the right."
                yield place, f"{said} Drop the rule, or make an attribute of it an identifier, which is not published."

    def check_columns(self, present: list[str]) -> None:
        """Refuse a table whose columns are not the ones this policy speaks of."""
        for name in self.needed:
            if name not in present:
                told = next((rule for rule in self.rules if name in (*rule.knows, rule.protects)), None)
                who = f"The rule `{told}`" if told is not None and name not in self.attributes else "The policy"
                raise PolicyError(f"{who} names {name!r}, the table has no such column. {did_you_mean(name, present)}")
        unnamed = [name for name in present if name not in self.needed]
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


def _explain(document: Document, problem: Any) -> list[str]:
    """One problem as a sentence with its line and remedy; one in a rule, on several lines."""
    fault = problem.get("ctx", {}).get("error")
    place: Place = fault.place if isinstance(fault, _Fault) else tuple(problem["loc"])
    named = ".".join(str(part) for i, part in enumerate(place) if not _is_tag(place, i))
    where = document.where(place) + (f", {named}" if named else "")
    kind = problem["type"]
    if kind == "extra_forbidden":
        key = str(place[-1])
        return [f"{where}: unknown key {key!r}. {did_you_mean(key, _known_keys(place))}"]
    if isinstance(fault, ValueError):
        message = str(fault)
    else:
        message = problem["msg"] + ("." if kind == "missing" else f", not {problem['input']!r}.")
    first, *more = message.split("\n") if getattr(fault, "pointed", False) else [message]
    lines = [f"{where}: {first}", *more]
    return [*lines[:-1], f"{lines[-1]} {_REMEDIES.get(kind, '')}".strip()]


def _is_tag(place: Place, i: int) -> bool:
    """Whether a part of a place stands in no policy: it says which of several forms was read."""
    return place[i] in ("word", "value") or (i > 2 and place[i - 1] == "hierarchy")


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
