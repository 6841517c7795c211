"""The kinds of release: a file for each in every package that has them, and each is asked, not compared by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pluralis
from pluralis.release.kinds import KINDS

SOURCES = Path(pluralis.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))


@pytest.mark.parametrize("package", ["assembling", "auditing", "estimate", "release"])
def test_every_package_calls_the_files_of_kinds_alike(package: str) -> None:
    files = {file.stem for file in (SOURCES / package / "kinds").glob("*.py")}
    assert files - {"__init__", "base"} == set(KINDS)


def compared_by_name(code: str) -> Iterator[int]:
    """The lines in which what is called a kind is compared with the name of one."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = {side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "") for side in sides}
            words = {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
            if "kind" in names and words & set(KINDS):
                yield node.lineno


def test_a_kind_is_asked_and_not_compared_by_name() -> None:
    places = [(file, line) for file in FILES for line in compared_by_name(file.read_text(encoding="utf-8"))]
    assert [f"{file.relative_to(SOURCES)}:{line}" for file, line in places] == []


@pytest.mark.parametrize(
    "code",
    ["release.kind == 'multi'", "'sliced' != kind", "plan.kind in ('multi', 'other')", "x < 1 or kind == 'multi'"],
)
def test_a_comparison_by_name_is_seen(code: str) -> None:
    assert list(compared_by_name(code)) == [1]


@pytest.mark.parametrize("code", ["kind == pl.String", "token.kind == 'name'", "manifest.kind in KINDS", "x = 'multi'"])
def test_what_is_no_comparison_by_name_is_not_taken_for_one(code: str) -> None:
    assert list(compared_by_name(code)) == []
