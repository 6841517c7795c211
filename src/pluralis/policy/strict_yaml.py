"""YAML and JSON, read strictly: what a policy says is what a person wrote.

Refused: duplicate keys, aliases, tags, several documents, more than 1 MiB, numbers of more than 30 digits.
`NO`, `on` and `12:30` are text; only true, false, null, whole numbers and decimals are anything else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from pluralis.errors import PolicyError

MAX_BYTES = 1 << 20
MAX_DIGITS = 30
MAX_DEPTH = 20

Place = tuple[str | int, ...]

_WHOLE = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")


class Whereabouts(dict[Place, int]):
    """Where the parts of a policy stand. What it says does not depend on that: all are equal."""

    name = "policy"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whereabouts)

    __hash__ = None


class Document:
    """Plain data, and the line on which each part of it stands."""

    def __init__(self, data: Any, lines: dict[Place, int], name: str) -> None:
        self.data = data
        self.lines = lines
        self.name = name

    def where(self, place: Place) -> str:
        """`policy.yaml line 7`, for the innermost part of `place` that has a line."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                return f"{self.name} line {self.lines[place[:length]]}"
        return self.name


def read_document(path: Path) -> Document:
    """Read a file whose ending says JSON or YAML."""
    return parse_document(read_text(path), path.name)


def read_text(path: Path) -> str:
    """The text of a policy file."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"Cannot read {path}: {error.strerror}. `pluralis init` writes a first policy.") from None
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"{path.name} is larger than 1 MiB; a policy is a page. Check that it is the right file.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path.name} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None


def parse_document(text: str, name: str = "policy") -> Document:
    """
    >>> parse_document("answer: NO").data
    {'answer': 'NO'}
    """
    if name.endswith(".json"):
        return Document(_parse_json(text, name), {}, name)
    lines: dict[Place, int] = {}
    return Document(_parse_yaml(text, name, lines), lines, name)


def _parse_json(text: str, name: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                raise PolicyError(f"{name}: the key {key!r} stands twice. Keep one of them.")
            seen[key] = value
        return seen

    def number(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise PolicyError(f"{name}: a number of {len(digits)} digits. Quote it if it is text.")
        return int(digits)

    def constant(word: str) -> None:
        raise PolicyError(f"{name}: {word} is not a value here.")

    try:
        return json.loads(text, object_pairs_hook=once, parse_int=number, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise PolicyError(f"{name} line {error.lineno}: {error.msg}.") from None
    except RecursionError:
        raise PolicyError(f"{name}: nested too deeply.") from None


def _parse_yaml(text: str, name: str, lines: dict[Place, int]) -> Any:
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            mark = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise PolicyError(f"{name} line {mark}: anchors and aliases are not read. Write the value out.")
            if getattr(event, "tag", None):
                raise PolicyError(f"{name} line {mark}: tags such as {event.tag} are not read. Remove it.")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicyError(f"{name} line {line}: {error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        raise PolicyError(f"{name}: {str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise PolicyError(f"{name}: nested too deeply.") from None
    return None if node is None else _plain(node, (), name, lines)


def _plain(node: yaml.Node, place: Place, name: str, lines: dict[Place, int]) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if len(place) > MAX_DEPTH:
        raise PolicyError(f"{name} line {line}: nested too deeply.")
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise PolicyError(f"{name} line {key_line}: a key must be plain text.")
            key = key_node.value
            if key in mapping:
                raise PolicyError(f"{name} line {key_line}: the key {key!r} stands twice. Keep one of them.")
            lines[(*place, key)] = key_line
            mapping[key] = _plain(value_node, (*place, key), name, lines)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*place, i), name, lines) for i, item in enumerate(node.value)]
    if getattr(node, "style", None) in ("'", '"', "|", ">"):
        return node.value
    return _scalar(node.value, name, line)


def _scalar(text: str, name: str, line: int) -> Any:
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise PolicyError(f"{name} line {line}: a number of {len(text)} digits. Quote it if it is text.")
        # a leading zero makes a code, not a count: 01234 stays text
        if re.fullmatch(r"[-+]?0\d+", text):
            return text
        return int(text) if _WHOLE.fullmatch(text) else float(text)
    return text
