"""What a policy file holds: the columns and what they are, the rules, and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, WithJsonSchema, field_serializer, field_validator, model_validator

from pluralis.errors import PolicyError, did_you_mean
from pluralis.policy.attributes import Attribute, Role
from pluralis.policy.hierarchies import ColumnsHierarchy
from pluralis.policy.rules import Dependency, Pointed, Rule, closure, expanded, irreducible
from pluralis.policy.strict import Strict, Whole
from pluralis.policy.strict_yaml import Place

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


class Fault(ValueError):
    """A contradiction, and where it stands."""

    def __init__(self, place: Place, message: str, *, pointed: bool = False) -> None:
        super().__init__(message)
        self.place, self.pointed = place, pointed


class Stated(NamedTuple):
    """A rule, and where it comes from: `rules`, a role, an adversary or a dependency."""

    rule: Rule
    origin: str


_ACCEPT = {"anyOf": [{"const": "set-size"}, {"type": "array", "items": {"const": "set-size"}}]}
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
    parsed = []
    for i, line in enumerate(lines):
        try:
            parsed.append(read(line))
        except ValueError as error:
            raise Fault((key, i), str(error), pointed=isinstance(error, Pointed)) from None
    return parsed


Word = Literal["set-size"]  # a guarantee weaker than 1/l that a policy may accept


class Settings(Strict):
    """The keys of a policy file, and the roles and rules that they state. What contradicts itself is refused."""

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
    # guarantees that are weaker than what is asked: sets of l values, any of which may be the true one
    accept: Annotated[list[Word], WithJsonSchema(_ACCEPT)] = Field(default_factory=list)

    # what they say ---------------------------------------------------------------------------------------------

    @property
    def columns(self) -> dict[str, Attribute]:
        """Every attribute with its role, sorted by name. What has none, or only rules name, is what rules make of it.

        An attribute that some rule protects is sensitive, also where others say that it is known.
        """
        known = {name: "quasi" for rule in self.rules for name in rule.knows}
        made = known | {rule.protects: "sensitive" for rule in self.rules}
        columns = {name: self.attributes.get(name) or Attribute() for name in sorted({*self.attributes, *made})}
        return {
            name: attribute if attribute.role else attribute.model_copy(update={"role": made.get(name)})
            for name, attribute in columns.items()
        }

    @property
    def needed(self) -> list[str]:
        """The columns that a table must have."""
        columns = self.columns
        levels = [level for name, column in columns.items() for level in _wider(name, column)]
        return list(dict.fromkeys([*columns, *levels, *([self.person] if self.person else [])]))

    def levels_of(self, attribute: str) -> list[str]:
        """The columns that are wider values of an attribute, for its hierarchy or for rare values of it.

        Parameters
        ----------
        attribute : str
            Its name.

        Returns
        -------
        list of str
            Columns of the table, which need not be published.

        Examples
        --------
        >>> from pluralis import Policy
        >>> tree = {"columns": ["zip", "county", "region"]}
        >>> Policy(quasi={"zip": {"hierarchy": tree}}, sensitive={"disease": 2}).levels_of("zip")
        ['county', 'region']
        """
        return _wider(attribute, self.columns[attribute])

    def missing_in(self, attribute: str) -> list[str]:
        """The texts that mean "missing" in a column: its own list, or that of the table.

        Parameters
        ----------
        attribute : str
            The name of the column.

        Returns
        -------
        list of str
            The texts.

        Examples
        --------
        >>> from pluralis import Policy
        >>> Policy(quasi={"age": {"missing": ["?"]}}, sensitive={"disease": 2}).missing_in("age")
        ['?']
        """
        own = self.columns[attribute].missing if attribute in self.columns else None
        return self.missing if own is None else own

    def named(self, role: Role) -> list[str]:
        """The columns that have a role, sorted by name.

        Parameters
        ----------
        role : {"identifier", "quasi", "sensitive", "plain", "decide"}
            The role.

        Returns
        -------
        list of str
            Their names.

        Examples
        --------
        >>> from pluralis import Policy
        >>> Policy(quasi=["zip", "age"], sensitive={"disease": 2}).named("quasi")
        ['age', 'zip']
        """
        return [name for name, attribute in self.columns.items() if attribute.role == role]

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers, sorted by name."""
        return self.named("quasi")

    @property
    def sensitive(self) -> list[str]:
        """The sensitive attributes, sorted by name."""
        return self.named("sensitive")

    def l(self, attribute: str) -> int:
        """How diverse a sensitive attribute must be: the largest l that its role or a rule asks for.

        It is 1, which bounds nothing, where only `at_most`, `gain` or `t` say how certain somebody may become.

        Parameters
        ----------
        attribute : str
            A sensitive attribute.

        Returns
        -------
        int
            The l of the bound: no posterior of a value of it may exceed 1/l.

        Raises
        ------
        PolicyError
            If the policy does not name it.

        Examples
        --------
        >>> from pluralis import Policy
        >>> Policy(sensitive={"disease": 2}, rules=["age -> disease : l=3"]).l("disease")
        3
        """
        asked = [rule.l for rule in self.rules if rule.protects == attribute]
        columns = self.columns
        if attribute not in columns:
            raise PolicyError(f"The policy names no attribute {attribute!r}. {did_you_mean(attribute, columns)}")
        own = columns[attribute].l
        return max([*asked, own or 1])

    @property
    def knowledge(self) -> list[frozenset[str]]:
        """What each adversary knows; the one who knows every quasi-identifier always comes first."""
        sets = [frozenset(self.quasi), *(frozenset(adversary.knows) for adversary in self.adversaries)]
        return list(dict.fromkeys(sets))

    @property
    def promises(self) -> list[tuple[frozenset[str], str]]:
        """(known, protected) pairs: every sensitive attribute from every adversary, and every rule.

        A rule that knows quasi-identifiers only says no more than the adversary who knows all of them.
        """
        pairs = [(known, name) for known in self.knowledge for name in self.sensitive if name not in known]
        whole = frozenset(self.quasi)
        pairs += [(frozenset(rule.knows), rule.protects) for rule in self.rules if not whole.issuperset(rule.knows)]
        return list(dict.fromkeys(pairs))

    def stated(self, dependencies: Iterable[Dependency] = ()) -> list[Stated]:
        """Every rule that this policy states in one way or another.

        Parameters
        ----------
        dependencies : iterable of Dependency
            Dependencies that the table shows.

        Returns
        -------
        list of Stated
            Each rule with where it comes from.

        Examples
        --------
        >>> from pluralis import Policy
        >>> [(str(one.rule), one.origin) for one in Policy(quasi=["age"], sensitive={"disease": 2}).stated()]
        [('age -> disease : l=2', 'the role of disease')]
        """
        rules = [Stated(rule, "rules") for rule in self.rules]
        quasi = tuple(self.quasi)
        for name, attribute in sorted(self.attributes.items()):
            if attribute.role == "sensitive" and attribute.l is not None and quasi:
                rules.append(Stated(Rule(knows=quasi, protects=name, l=attribute.l), f"the role of {name}"))
        for i, adversary in enumerate(self.adversaries, 1):
            known = tuple(sorted(set(adversary.knows)))
            for name in self.sensitive:
                if name not in known and self.l(name) > 1:
                    rules.append(Stated(Rule(knows=known, protects=name, l=self.l(name)), f"adversary {i}"))
        added = expanded((stated.rule for stated in rules), [*self.dependencies, *dependencies])
        return [*rules, *(Stated(rule, f"the dependency {reason}") for rule, reason in added)]

    def in_force(self, dependencies: Iterable[Dependency] = ()) -> list[Rule]:
        """The irreducible set of all rules that this policy states, whatever says them.

        Parameters
        ----------
        dependencies : iterable of Dependency
            Dependencies that the table shows.

        Returns
        -------
        list of Rule
            The rules that no other one implies.

        Examples
        --------
        >>> from pluralis import Policy
        >>> rules = ["age -> disease : l=2", "age, sex -> disease : l=2"]
        >>> [str(rule) for rule in Policy(rules=rules).in_force()]
        ['age, sex -> disease : l=2']
        """
        return irreducible(stated.rule for stated in self.stated(dependencies))

    @property
    def links_are_known(self) -> bool:
        """Whether some promise is about who knows what stands beside the protected value in its row."""
        beside = set(self.sensitive) | set(self.named("plain"))
        return any(known & beside for known, _ in self.promises)

    @field_serializer("rules", "dependencies", "coincidences")
    def _write_rules(self, rules: list[Rule | Dependency]) -> list[str]:
        return [str(rule) for rule in rules]

    # checking -------------------------------------------------------------------------------------------------

    @field_validator("accept", mode="before")
    @classmethod
    def _read_words(cls, words: Any) -> Any:
        return [words] if isinstance(words, str) else words

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
            raise Fault(place, message)
        return self

    def faults(self) -> Iterator[tuple[Place, str]]:
        """What contradicts itself, and what to do about it. A policy that was made has none.

        Returns
        -------
        iterator of (tuple, str)
            The place of each, and a sentence.

        Examples
        --------
        >>> from pluralis import Policy
        >>> list(Policy(sensitive={"disease": 2}).faults())
        []
        """
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
            for place, message in (*columns[name].faults(), *self._faulty_levels(name)):
                yield ("attributes", name, *place), message
        for name in RESERVED & set(columns):
            yield ("attributes", name), f"a release has a column {name!r} of its own. Rename the column."
        yield from self._faulty_rules(columns)
        for name in self.named("sensitive"):
            if columns[name].l is not None or any(rule.protects == name for rule in self.rules):
                continue
            if not columns[name].bounds:
                yield (
                    ("attributes", name),
                    "a sensitive attribute needs l. Add l: 2 or more (`pluralis profile` shows the largest), or, where "
                    "one value is far too common, bound the others: at_most, gain or t.",
                )
            elif columns[name].model != "frequency":
                yield (
                    ("attributes", name, "model"),
                    "model says how l is counted, and there is no l. Add l: 2, or remove model.",
                )
        published = [name for name, attribute in columns.items() if attribute.role != "identifier"]
        for i, adversary in enumerate(self.adversaries):
            for known in adversary.knows:
                if known not in published:
                    yield (
                        ("adversaries", i),
                        f"{known!r} is not a published attribute. {did_you_mean(known, published)}",
                    )
            sensitive = self.sensitive
            if sensitive and set(sensitive) <= set(adversary.knows):
                yield (
                    ("adversaries", i),
                    f"it knows every sensitive attribute ({', '.join(sensitive)}), so nothing is left to protect from "
                    "it. Take one that it shall not learn out of `knows`, or remove the adversary.",
                )
        if self.person is not None and columns.get(self.person, Attribute(role="identifier")).role != "identifier":
            yield ("person",), f"{self.person!r} tells people apart, so it cannot be published. Make it an identifier."

    def _faulty_levels(self, name: str) -> Iterator[tuple[Place, str]]:
        """Columns that cannot be the wider values of an attribute: their values would be published."""
        column = self.columns[name]
        trees = {"hierarchy": column.hierarchy, "rare": None if column.rare is None else column.rare.along}
        for key, tree in trees.items():
            if not isinstance(tree, ColumnsHierarchy):
                continue
            if not tree.wider(name) or name in tree.wider(name):
                yield (key,), f"columns: name those that {name!r} decides, the narrowest first: [county, region]."
            for level in tree.wider(name):
                role = self.columns[level].role if level in self.columns else None
                if level != name and (role in ("identifier", "sensitive") or level == self.person):
                    what = "tells people apart" if level == self.person else f"is {role}"
                    yield (key,), f"columns: {level!r} {what}, and would be published as a wider value. Leave it out."

    def _faulty_rules(self, columns: Mapping[str, Attribute]) -> Iterator[tuple[Place, str]]:
        for i, rule in enumerate(self.rules):
            role = columns[rule.protects].role
            if role != "sensitive":
                fault = f"{rule.protects!r} is protected by this rule and {role} elsewhere."
                yield ("rules", i), f"{fault} Leave its role out, or drop the rule."
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
                fault = f"`{rule}` ({origin}) cannot be kept: dependencies say that the left side decides the right."
                yield place, f"{fault} Drop the rule, or make an attribute of it an identifier, which is not published."


def _wider(name: str, column: Attribute) -> list[str]:
    """The columns of the table that a column's trees are made of."""
    trees = [column.hierarchy, None if column.rare is None else column.rare.along]
    named = [tree.wider(name) for tree in trees if isinstance(tree, ColumnsHierarchy)]
    return list(dict.fromkeys(level for levels in named for level in levels))
