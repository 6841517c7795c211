"""Names say what they hold: no binding is called by a word that fits everything, also behind an underscore."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pluralis

EMPTY = {"found", "held", "told", "said", "mine", "of", "at"}
SOURCES = Path(pluralis.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, line) of all that a file gives a name: variables, arguments, functions, classes, fields, imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.alias(name=name, asname=other):
                yield other or name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCES)))
def test_every_binding_has_a_name_that_says_what_it_holds(file: Path) -> None:
    every = list(bindings(ast.parse(file.read_text())))
    assert [f"{file.name}:{line} {name}" for name, line in every if name.strip("_").lower() in EMPTY] == []


def test_every_way_to_bind_a_name_is_seen() -> None:
    code = """
import a as at
def of(mine, *told, **said): held: int = 1
class found: pass
(x := [at for at, [of] in y])
with a as held, b as (told): pass
self.at = 1
try: pass
except E as said: pass
match v:
    case [mine, *held] | {"k": at, **of}: pass
lambda told: 0
"""
    seen = [name for name, _ in bindings(ast.parse(code))]
    assert {name: seen.count(name) for name in sorted(EMPTY)} == {
        "at": 4, "found": 1, "held": 3, "mine": 2, "of": 3, "said": 2, "told": 3,
    }  # fmt: skip
