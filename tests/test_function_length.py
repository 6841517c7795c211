"""A function is read at one go: none has more than 60 lines, its docstring apart. Compiled loops may have more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src/pluralis", "tests", "benchmarks", "docs", "experiments", "fuzz")
KERNELS = ROOT / "src" / "pluralis" / "kernels"
MOST = 60


def long_functions(source: str) -> Iterator[str]:
    """The names of functions with too many lines, from `def` to their end, without what documents them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_compiled(node):
            assert node.end_lineno is not None
            first = node.body[0]
            documented = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) and first.end_lineno else 0
            if node.end_lineno - node.lineno + 1 - documented > MOST:
                yield node.name


def is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is decorated by `njit`, with or without options."""
    decorators = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return any(ast.unparse(decorator) in ("njit", "numba.njit") for decorator in decorators)


def test_no_function_is_longer_than_allowed() -> None:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert {(ROOT / folder) for folder in FOLDERS} <= {parent for file in files for parent in file.parents}
    too_long = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        if KERNELS not in file.parents
        for name in long_functions(file.read_text(encoding="utf-8"))
    }
    assert sorted(too_long) == [], f"Split what has more than {MOST} lines where its steps are."


@pytest.mark.parametrize(
    ("before", "lines", "seen"),
    [
        ("", MOST, False),
        ("", MOST + 1, True),
        ("@njit(cache=True)\n", MOST + 1, False),
        ("@njit\n", MOST + 1, False),
        ("@cache\n", MOST + 1, True),
        ("async ", MOST + 1, True),
    ],
)
def test_a_long_function_is_seen(before: str, lines: int, seen: bool) -> None:
    source = f"{before}def f():\n" + "    pass\n" * (lines - 1)
    assert list(long_functions(source)) == ["f"] * seen
    assert list(long_functions("class C:\n" + "".join(f"    {line}\n" for line in source.splitlines()))) == ["f"] * seen
