"""What is wrong with a policy, all at once, and what would mend it.

A problem is noted, mended in a copy of the policy, and the copy is looked at again, so that one problem does not hide
the next. First what the policy says by itself, then its columns beside the table's, then the values of each column,
then whether what is asked can be had, and last the whole, built in memory as publishing does it.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from pluralis.errors import PolicyError
from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import Period
from pluralis.policy.policy import Policy
from pluralis.policy.refusals import explained, known_keys
from pluralis.policy.rules import Dependency, Rule
from pluralis.policy.settings import Fault
from pluralis.policy.strict_yaml import Document, Place, parse_document, read_text
from pluralis.profiling.drafting import flow
from pluralis.profiling.patching import without_doubles

GROUPS = {
    "policy": "The policy by itself",
    "columns": "Columns",
    "values": "Values",
    "feasibility": "What cannot be had",
    "rules": "Rules",
    "misleading": "What could mislead",
}
MOST = 300  # problems that are looked for


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: in which group, what it is and what to do, and where.

    `code` is the exit code that publishing would have, 0 where it would not refuse. `change` says what a mended policy
    has instead.
    """

    group: str
    message: str
    where: str
    code: int = 2
    change: str = ""

    def __str__(self) -> str:
        return (
            self.message if self.message.startswith(self.where) or not self.where else f"{self.where}: {self.message}"
        )


@dataclass
class Examined:
    """A policy that is looked at: what it says, what is wrong, and the copy in which that is mended."""

    name: str
    text: str | None
    document: Document
    folder: Path
    data: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)
    policy: Policy | None = None  # as it stands, if it is well formed
    mended: Policy | None = None
    tried: int | None = None  # rows that were planned last

    def note(self, group: str, message: str, place: Place = (), code: int = 2, change: str = "") -> None:
        """One more problem. One that was noted already was not mended by its change: the new change takes its place."""
        problem = Problem(group, message, self.document.where(place), code, change)
        same = (i for i, one in enumerate(self.problems) if replace(one, code=code, change=change) == problem)
        if (i := next(same, None)) is None:
            self.problems.append(problem)
        else:
            self.problems[i] = problem

    @property
    def code(self) -> int:
        return max((problem.code for problem in self.problems), default=0)

    @property
    def published(self) -> list[str]:
        """The attributes that have a role with which they are published."""
        attributes = self.data.get("attributes", {})
        roles = ("quasi", "quasi-identifier", "sensitive", "plain")
        return [name for name, keys in attributes.items() if isinstance(keys, dict) and keys.get("role") in roles]

    def keys(self, name: str) -> dict[str, Any]:
        """The keys of an attribute, which may not have had any."""
        attributes = self.data.setdefault("attributes", {})
        if not isinstance(attributes.get(name), dict):
            attributes[name] = {}
        keys: dict[str, Any] = attributes[name]
        return keys

    def drop_column(self, name: str) -> None:
        """Take a column out of the policy, wherever it stands."""
        self.data.get("attributes", {}).pop(name, None)
        if self.data.get("person") == name:
            del self.data["person"]
        self._each_name(lambda other: None if other == name else other)

    def rename_column(self, old: str, new: str) -> None:
        """Call a column by another name, wherever it stands."""
        attributes = self.data.get("attributes", {})
        self.data["attributes"] = {new if name == old else name: keys for name, keys in attributes.items()}
        for columns in map(_hierarchy_columns, self.data["attributes"].values()):
            columns[:] = [new if name == old else name for name in columns]
        if self.data.get("person") == old:
            self.data["person"] = new
        self._each_name(lambda other: new if other == old else other)

    def repair_names(self, columns: Sequence[str]) -> None:
        """Attributes that are no columns of the table get the name of the nearest column of which nothing is said.

        Those columns come first of which the policy speaks elsewhere. It is done before anything else is looked at, for
        whatever speaks of the column would seem wrong without it.
        """
        attributes = self.data.get("attributes")
        if not isinstance(attributes, dict):
            return
        free = [name for name in columns if name not in attributes and name != self.data.get("person")]
        spoken_of = self._spoken_of()
        for name in [name for name in attributes if isinstance(name, str) and name not in columns]:
            close = [one for one in free if one.casefold() == name.casefold()]
            close += difflib.get_close_matches(name, [one for one in free if one in spoken_of], n=1, cutoff=0.6)
            close += difflib.get_close_matches(name, free, n=1, cutoff=0.6)
            if close:
                message = f"The policy names {name!r}, the table has no such column. Did you mean {close[0]!r}?"
                self.note("columns", message, ("attributes", name), change=f"{name!r} becomes {close[0]!r}")
                self.rename_column(name, close[0])
                free.remove(close[0])

    def _spoken_of(self) -> set[str]:
        """The columns that adversaries, rules and dependencies name."""
        names: list[str] = []

        def heard(name: str) -> str:
            names.append(name)
            return name

        replace(self, data=copy.deepcopy(self.data))._each_name(heard)
        return {*names}

    def _each_name(self, changed: Any) -> None:
        """Change each name outside `attributes`. What is malformed stays as it is: it is noted when it is read."""
        for key in ("rules", "dependencies", "coincidences"):
            if isinstance(self.data.get(key), list):
                self.data[key] = [line for item in self.data[key] if (line := _respelled(item, key, changed))]
        if isinstance(self.data.get("adversaries"), list):
            known = [_known_names(one, changed) for one in self.data["adversaries"]]
            self.data["adversaries"] = [one for one in known if one != {"knows": []}]
        for key in ("rules", "dependencies", "coincidences", "adversaries"):
            if self.data.get(key) == []:
                del self.data[key]


def _hierarchy_columns(keys: Any) -> list[Any]:
    """The columns by which an attribute is generalized or its rare values joined; none where there are none."""
    for path in (("hierarchy", "columns"), ("rare", "along", "columns")):
        inner = keys
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, list):
            return inner
    return []


def _known_names(adversary: Any, changed: Any) -> Any:
    """An adversary who knows other names; itself where it is malformed."""
    names = adversary.get("knows") if isinstance(adversary, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return adversary
    return {"knows": [name for other in names if (name := changed(other))]}


def _respelled(item: Any, key: str, changed: Any) -> Any:
    """A rule or dependency with other names, or None where one of them is gone; itself where none is changed."""
    text = item
    if not isinstance(item, str | dict):
        return item
    if isinstance(item, dict) and len(item) == 1:
        ((left, right),) = item.items()
        text = f"{left} : {right}"
    try:
        line = (Rule if key == "rules" else Dependency).parse(str(text))
    except ValueError:
        return item  # it is noted when it is read
    target = "protects" if isinstance(line, Rule) else "decides"
    knows = tuple(name for other in line.knows if (name := changed(other)))
    right_side = changed(getattr(line, target))
    if right_side is None or len(knows) < len(line.knows):
        return None
    if knows == tuple(line.knows) and right_side == getattr(line, target):
        return item
    return str(line.model_copy(update={"knows": knows, target: right_side}))


def opened(policy: Policy | str | Path) -> Examined:
    """A policy, or a policy file, to be looked at. A text that is no YAML at all is refused."""
    if isinstance(policy, Policy):
        data = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
        document = Document(data, policy.lines, policy.lines.name)
        return Examined(document.name, None, document, policy.folder, copy.deepcopy(data))
    path = Path(policy)
    original = read_text(path)
    text, twice = (original, []) if path.suffix == ".json" else without_doubles(original)
    document = parse_document(text, path.name)
    if not isinstance(document.data, dict):
        raise PolicyError(f"{path.name} holds no policy. Run `pluralis init TABLE -o policy.yaml` for a first one.")
    examined = Examined(path.name, text, document, path.resolve().parent, copy.deepcopy(document.data))
    for double in twice:
        examined.problems.append(Problem(
            "policy", f"the key {double.key!r} stands twice. Keep one of them.", f"{path.name} line {double.line}",
            change=f"the second {double.key!r} is gone",
        ))  # fmt: skip
    return examined


def read_settings(examined: Examined) -> None:
    """Note everything that a policy says and must not, mend it, and keep the policy that is left."""
    for _ in range(MOST):
        try:
            Policy.model_validate(copy.deepcopy(examined.data))
        except ValidationError as error:
            if not _mend_faults(examined, error):
                return
        else:
            examined.mended = Policy.from_dict(copy.deepcopy(examined.data), folder=examined.folder)
            examined.policy = examined.policy or (None if examined.problems else examined.mended)
            return


def _mend_faults(examined: Examined, error: ValidationError) -> bool:
    """Note what pydantic found and mend it; False where nothing can be mended."""
    before = copy.deepcopy(examined.data)
    misspelt = [fault for fault in error.errors() if _respelling(examined.data, _place(examined.data, fault), fault)]
    for fault in misspelt or error.errors():  # what a misspelt word leaves open is no fault once it is respelled
        reason = fault.get("ctx", {}).get("error")
        place = _place(examined.data, fault)
        document = Document(examined.data, examined.document.lines, examined.name)
        group = (
            "rules" if place[:1] in (("rules",), ("adversaries",), ("dependencies",), ("coincidences",)) else "policy"
        )
        message = "\n".join(explained(document, fault))
        change = _mend(examined, place, fault, str(reason) if isinstance(reason, ValueError) else "")
        examined.note(group, message, place, change=change)
    return examined.data != before


def _place(data: Any, fault: Mapping[str, Any]) -> Place:
    reason = fault.get("ctx", {}).get("error")
    return _standing(data, reason.place if isinstance(reason, Fault) else tuple(fault["loc"]))


def _respelling(data: Any, place: Place, fault: Mapping[str, Any]) -> str:
    """The key or word that was probably meant by one that is not known; nothing where none is close."""
    if not place or fault["type"] not in ("extra_forbidden", "literal_error"):
        return ""
    parent, key = _parent(data, place)
    if not isinstance(parent, dict) or key not in parent:
        return ""
    known = known_keys(place) if fault["type"] == "extra_forbidden" else re.findall(r"'(.+?)'", fault["msg"])
    close = difflib.get_close_matches(str(key if fault["type"] == "extra_forbidden" else parent[key]), known, n=1)
    return close[0] if close and close[0] not in parent else ""


def _standing(data: Any, place: Place) -> Place:
    """A place without the parts that stand in no policy, such as the form in which a hierarchy was read."""
    standing: list[str | int] = []
    for i, part in enumerate(place):
        if isinstance(data, dict) and (part in data or i == len(place) - 1):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            continue
        standing.append(part)
    return tuple(standing)


def _mend(examined: Examined, place: Place, fault: Mapping[str, Any], reason: str) -> str:
    """Change the copy so that a fault is gone, and say what was changed."""
    data, kind = examined.data, fault["type"]
    if not place:
        return ""
    parent, key = _parent(data, place)
    shown = ".".join(map(str, place))
    if place == ("version",):
        data["version"] = 1
        return "version: 1"
    if meant := _respelling(data, place, fault):
        if kind == "literal_error":
            parent[key] = meant
            return f"{key}: {meant}"
        _rename_key(parent, key, meant)
        return f"{key} becomes {meant}"
    if key == "l" and isinstance(parent, dict) and kind in ("greater_than_equal", "int_type", "int_from_float"):
        parent["l"] = 2
        return "l: 2"
    if key == "role" and kind == "literal_error":
        parent["role"] = "identifier"
        return "role: identifier"
    change = _mend_contradiction(examined, place, reason)
    if change:
        return change
    _take_out(data, place)
    return f"{shown} is gone"


def _mend_contradiction(examined: Examined, place: Place, reason: str) -> str:
    """What contradicts itself, mended so that no more is published than before."""
    data = examined.data
    of_an_attribute = place[0] == "attributes" and len(place) > 1 and isinstance(place[1], str)
    if of_an_attribute and (change := _mend_hierarchy(examined.keys(str(place[1])), reason, str(place[1]))):
        return change
    if place[0] == "attributes" and len(place) == 2 and isinstance(place[1], str):
        keys = examined.keys(place[1])
        if "needs l" in reason:
            keys["l"] = 2
            return f"l: 2 for {place[1]!r}"
        if "needs a role" in reason:
            keys["role"] = "identifier"
            return f"{place[1]!r} becomes an identifier, which is not published"
    if place == ("person",):
        examined.keys(str(data["person"])).clear()
        examined.keys(str(data["person"]))["role"] = "identifier"
        return f"{data['person']!r} becomes an identifier, which is not published"
    if place[0] == "rules" and "protected by this rule and" in reason and isinstance(place[1], int):
        name = reason.split("'")[1]
        examined.keys(name).clear()
        return f"the role of {name!r} is gone: the rule says what it is"
    if place[0] == "adversaries" and "not a published attribute" in reason and isinstance(place[1], int):
        name = next(other for other in data["adversaries"][place[1]]["knows"] if repr(other) in reason)
        names = [other for other in data["adversaries"][place[1]]["knows"] if other != name]
        close = difflib.get_close_matches(name, [one for one in examined.published if one not in names], n=1)
        if close:
            knows = data["adversaries"][place[1]]["knows"]
            data["adversaries"][place[1]]["knows"] = [close[0] if other == name else other for other in knows]
            return f"{name!r} becomes {close[0]!r} in what the adversary knows"
        if names:
            data["adversaries"][place[1]]["knows"] = names
            return f"{name!r} is taken out of what the adversary knows"
    return ""


def _mend_hierarchy(keys: dict[str, Any], reason: str, name: str) -> str:
    """A hierarchy that stays, with periods in their order, or of text where it masks characters."""
    if "hides characters" in reason and "type" in keys:
        keys["type"] = "text"
        return f"type: text for {name!r}, whose mask stays"
    rare = keys.get("rare")
    trees = (keys.get("hierarchy"), rare.get("along") if isinstance(rare, dict) else None)
    for tree in trees if "the shortest first" in reason else ():
        if isinstance(tree, dict) and isinstance(tree.get("date"), list):
            tree["date"] = [period for period in get_args(Period) if period in tree["date"]]
            return f"date: {flow(tree['date'])} for {name!r}"
    return ""


def _parent(data: Any, place: Place) -> tuple[Any, Any]:
    for part in place[:-1]:
        data = data[part]
    return data, place[-1]


def _rename_key(mapping: dict[str, Any], old: str | int, new: str) -> None:
    items = list(mapping.items())
    mapping.clear()
    mapping.update({new if key == old else key: value for key, value in items})


def _take_out(data: dict[str, Any], place: Place) -> None:
    """Remove what stands at a place, and lists and mappings that are empty then, but for attributes."""
    parent, key = _parent(data, place)
    if key in (range(len(parent)) if isinstance(parent, list) else parent):
        del parent[key]
    elif len(place) > 1:
        _take_out(data, place[:-1])
        return
    if not parent and len(place) > 1 and place[0] != "attributes":
        _take_out(data, place[:-1])


def attribute_keys(policy: Policy, name: str) -> dict[str, Any]:
    """The keys of an attribute, its role among them, also where only rules name it."""
    attribute: Attribute = policy.columns[name]
    keys = attribute.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"role": str(attribute.role)}
    if keys["role"] == "sensitive" and keys.get("l") is None and any(rule.protects == name for rule in policy.rules):
        keys["l"] = policy.l(name)
    return keys


def every(problems: Sequence[Problem]) -> Iterator[tuple[str, list[Problem]]]:
    """The problems by group, in the order of GROUPS."""
    for group, title in GROUPS.items():
        own = [problem for problem in problems if problem.group == group]
        if own:
            yield title, own
