"""The tests themselves: every one can fail, folders are those of the package, and no helper lies loose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import pluralis

TESTS = Path(__file__).resolve().parent
ACROSS = {"contract", "docs", "fuzz", "oracles", "paper", "reproduce", "support"}  # folders that mirror no package
EXPECTING = {"pytest.fail", "pytest.raises", "pytest.warns"}


class Function(NamedTuple):
    """A function, its file, and the folder below which the tests stand that it may import from."""

    file: Path
    root: Path
    node: ast.FunctionDef


def asserts(function: Function, calling: frozenset[int] = frozenset()) -> bool:
    """Whether a function asserts or expects an error, itself or in a function of the tests that it calls.

    A call of what a test is parametrized with counts if every function among the parameters asserts.
    """
    if id(function.node) in calling:
        return False
    calling |= {id(function.node)}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func) in EXPECTING:
            return True
        if isinstance(node.func, ast.Name):
            called = list(functions_named(node.func.id, function))
            if called and all(asserts(one, calling) for one in called):
                return True
    return False


def functions_named(name: str, caller: Function) -> Iterator[Function]:
    """The functions of the tests that a name stands for where it is called."""
    file, root, node = caller
    parameters = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    for candidate in names_in_parameters(name, caller) if name in parameters else [name]:
        yield from functions_defined(candidate, file, root)
        for statement in parsed(file).body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                source = root / f"{statement.module.replace('.', '/')}.py"
                for imported in statement.names:
                    if (imported.asname or imported.name) == candidate and source.is_file():
                        yield from functions_defined(imported.name, source, root)


def names_in_parameters(parameter: str, test: Function) -> Iterator[str]:
    """The names in the list, at the top of the file, with which a test is parametrized."""
    lists = {
        ast.unparse(target): statement.value
        for statement in parsed(test.file).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
    }
    for mark in test.node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.parametrize":
            named, given = mark.args[:2]
            listed = lists.get(ast.unparse(given), given)
            if isinstance(named, ast.Constant) and named.value == parameter and isinstance(listed, ast.List):
                yield from map(ast.unparse, listed.elts)


def functions_defined(name: str, file: Path, root: Path) -> Iterator[Function]:
    for statement in parsed(file).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            yield Function(file, root, statement)


def without_an_assertion(root: Path) -> list[str]:
    """The tests below a folder that cannot fail."""
    return [
        f"{file.relative_to(root)}::{node.name}"
        for file in sorted(root.rglob("test_*.py"))
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if not asserts(Function(file, root, node))
    ]


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_every_test_asserts_something() -> None:
    assert without_an_assertion(TESTS) == []


EMPTY = [
    "def test_it(): print(1)",
    "def test_it(): assert True",
    "def test_it(): helped()",
    "def helped(): helped()\ndef test_it(): helped()",
    "from support.help import quiet\ndef test_it(): quiet()",
    "def one(): assert 1 < 2\ndef two(): pass\nBOTH = [one, two]\n"
    "@pytest.mark.parametrize('check', BOTH)\ndef test_it(check): check()",
]
FULL = [
    "def test_it(): assert 1 < 2",
    "def test_it():\n    with pytest.raises(ValueError): int('x')",
    "def helped(): assert 1 < 2\ndef test_it(): helped()",
    "from support.help import loud as helped\ndef test_it(): helped()",
    "def one(): assert 1 < 2\nBOTH = [one, one]\n@pytest.mark.parametrize('check', BOTH)\ndef test_it(check): check()",
]


@pytest.mark.parametrize(("sources", "expected"), [(EMPTY, ["test_a.py::test_it"]), (FULL, [])], ids=["empty", "full"])
def test_those_that_assert_nothing_are_found(sources: list[str], expected: list[str], tmp_path: Path) -> None:
    helpers = "def quiet(): print(1)\ndef loud(): louder()\ndef louder(): assert 1 < 2\n"
    for i, source in enumerate(sources):
        root = tmp_path / str(i)
        (root / "support").mkdir(parents=True)
        (root / "support" / "help.py").write_text(helpers, encoding="utf-8")
        (root / "test_a.py").write_text(source, encoding="utf-8")
        assert without_an_assertion(root) == expected, source


def test_no_helper_lies_loose() -> None:
    """Oracles stand in oracles/, other helpers in support/."""
    loose = [path.name for path in TESTS.glob("*.py") if not path.name.startswith("test_")]
    assert loose == ["conftest.py"]


def test_folders_are_those_of_the_package() -> None:
    package = Path(pluralis.__file__).parent
    packages = {str(path.parent.relative_to(package)) for path in package.rglob("__init__.py")}
    folders = {str(path.parent.relative_to(TESTS)) for path in TESTS.rglob("*.py")}
    assert folders - packages - ACROSS == set()
