"""A policy's text changed line by line: what did not change keeps its lines, its order and its comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from pluralis.errors import PolicyError
from pluralis.policy.strict_yaml import parse_document
from pluralis.profiling.drafting import flow, key_text


class Span(NamedTuple):
    """Lines from `first` up to but not including `last`, and what stands there instead."""

    first: int
    last: int
    lines: list[str]


class Twice(NamedTuple):
    """A key that stands twice in one mapping, and the line of the second."""

    key: str
    line: int


def patched(text: str, name: str, new: dict[str, Any]) -> str:
    """The text of a policy that says something else, with as few lines changed as possible.

    >>> print(patched("version: 1\\nattributes:\\n  pay: {role: sensitive, l: 9}  # wages\\n", "p.yaml",
    ...               {"version": 1, "attributes": {"pay": {"role": "sensitive", "l": 4}}}), end="")
    version: 1
    attributes:
      pay: {role: sensitive, l: 4}  # wages
    """
    if name.endswith(".json"):
        return json.dumps(new, indent=2, ensure_ascii=False) + "\n"
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    old = parse_document(text, name).data
    lines = text.split("\n")
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        for span in sorted(_changes(node, old, new, lines), reverse=True, key=lambda span: (span.first, span.last)):
            lines[span.first : span.last] = span.lines
        changed = "\n".join(lines)
        if _reads_as(changed, name, new):
            return changed
    return yaml.safe_dump(new, sort_keys=False, allow_unicode=True)


def without_doubles(text: str) -> tuple[str, list[Twice]]:
    """The text without the second of two equal keys, on as many lines as before, and those keys.

    >>> without_doubles("a: 1\\nb: {c: 1, c: 2}\\n")
    ('a: 1\\nb: {c: 1}\\n', [Twice(key='c', line=2)])
    """
    twice: list[Twice] = []
    while True:
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, RecursionError):
            return text, twice  # what is wrong is said when it is read
        double = next(_doubles(node), None)
        if double is None:
            return text, twice
        key, value = double
        twice.append(Twice(key.value, key.start_mark.line + 1))
        start, end = key.start_mark.index, value.end_mark.index
        before = text[:start].rstrip(" ")
        start = len(before) - 1 if before.endswith(",") else start
        gone = text[start:end]
        alone = not text[:start].rpartition("\n")[2].strip()
        note = f"# the second {' '.join(key.value.split())} stood here" if alone else ""
        ending = gone.rpartition("\n")[2] if "\n" in gone else ""  # the margin of what follows
        text = text[:start] + note + "\n" * gone.count("\n") + (ending if not ending.strip() else "") + text[end:]


def _doubles(node: yaml.Node | None) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        known = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in known:
                yield key, value
            known.add(key.value if isinstance(key, yaml.ScalarNode) else None)
            yield from _doubles(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _doubles(item)


def _reads_as(text: str, name: str, data: dict[str, Any]) -> bool:
    try:
        return bool(parse_document(text, name).data == data)
    except PolicyError:
        return False


def _changes(node: yaml.MappingNode, old: Any, new: Any, lines: list[str]) -> Iterator[Span]:
    """What to change in a mapping that stands in lines of its own."""
    indent, last = 0, 0
    renamed = _renamed(list(old), list(new))
    for key, value in node.value:
        name, indent = renamed.get(key.value, key.value), key.start_mark.column
        first, last = key.start_mark.line, _end(key, value, lines)
        if name not in new:
            yield Span(first, last, [])
        elif name == key.value and old[name] == new[name]:
            continue
        elif name == key.value and _in_lines(value, yaml.MappingNode, new[name]):
            yield from _changes(value, old[name], new[name], lines)
        elif name == key.value and _in_lines(value, yaml.SequenceNode, new[name]):
            yield from _items(value, old[name], new[name], lines)
        else:
            gap = " " * max(1, value.start_mark.column - key.end_mark.column - 1 + len(key.value) - len(name))
            gap = gap if value.start_mark.line == first and isinstance(value, yaml.MappingNode) else " "
            yield Span(first, last, _entry(indent, name, new[name], _comment(lines, value, last), gap))
    added = [name for name in new if name not in old and name not in renamed.values()]
    if added:
        yield Span(last, last, [line for name in added for line in _entry(indent, name, new[name])])


def _renamed(old: list[str], new: list[str]) -> dict[str, str]:
    """The keys that stand where others stood."""
    if len(old) != len(new):
        return {}
    return {one: other for one, other in zip(old, new, strict=True) if one not in new and other not in old}


def _in_lines(node: yaml.Node, kind: type[yaml.CollectionNode], value: Any) -> bool:
    """Whether both what stands there and what shall stand there are of one kind, in lines of their own."""
    shape = dict if kind is yaml.MappingNode else list
    return isinstance(node, kind) and not node.flow_style and isinstance(value, shape) and bool(value)


def _items(node: yaml.SequenceNode, old: list[Any], new: list[Any], lines: list[str]) -> Iterator[Span]:
    """What to change in a list whose items have lines of their own: those that went, those that came."""
    gone = [i for i, item in enumerate(old) if item not in new]
    came = [item for item in new if item not in old]
    instead = dict(zip(gone, came, strict=False)) if len(old) == len(new) else {}
    last, dash = node.start_mark.line, " " * node.start_mark.column
    for i, item_node in enumerate(node.value):
        first, last = item_node.start_mark.line, _end(item_node, item_node, lines)
        if i in instead:
            yield Span(first, last, [f"{dash}- {flow(instead[i])}{_comment(lines, item_node, last)}"])
        elif i in gone:
            yield Span(first, last, [])
    if not instead:
        yield Span(last, last, [f"{dash}- {flow(item)}" for item in came])


def _end(key: yaml.Node, value: yaml.Node, lines: list[str]) -> int:
    """The line after an entry; lines without anything but a comment belong to what follows."""
    end = value.end_mark.line + (value.end_mark.column > 0)
    end = max(end, key.start_mark.line + 1)
    while end - 1 > key.start_mark.line and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _comment(lines: list[str], value: yaml.Node, last: int) -> str:
    """The comment at the end of an entry of one line."""
    if value.end_mark.line != last - 1:
        return ""
    rest = lines[last - 1][value.end_mark.column :].strip()
    return f"  {rest}" if rest.startswith("#") else ""


def _entry(indent: int, name: str, value: Any, comment: str = "", gap: str = " ") -> list[str]:
    """A key with its value in one line; a mapping of mappings at the left margin in several."""
    if isinstance(value, dict) and indent == 0 and value and all(isinstance(inner, dict) for inner in value.values()):
        inside = [f"  {key_text(key)}: {flow(inner)}" for key, inner in value.items()]
        return [f"{key_text(name)}:{comment}", *inside]
    return [" " * indent + f"{key_text(name)}:{gap}{flow(value)}{comment}"]
