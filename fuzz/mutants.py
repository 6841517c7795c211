"""Mutation testing of what must not be wrong: `python -m fuzz.mutants [MODULE …] [--sample N] [--workers W]`.

A mutant is a module with one small thing changed: a comparison, a sign, a number, a condition, a statement that is
gone. The tests of the module must fail on it. Those on which they pass have survived: each is a test that is missing,
or a change that changes nothing, and is listed with its line.

mutmut and cosmic-ray do not fit here. The first forks processes that ran tests, and Polars hangs in them; the second
makes 6,258 mutants of these modules and starts Python anew for each. Here there are 1,392, and a process that has
imported the libraries, and has computed nothing, is forked for each.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing as mp
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "pluralis"
CPU_SECONDS = 240  # of work for the tests of one mutant: an endless loop is killed, and so counts

# Quick ones first: the first test that fails ends it.
AUDIT = ("tests/test_audit_multi.py", "tests/test_audit.py", "tests/test_audit_tables.py", "tests/test_certificate.py")
READING = ("tests/fault/test_misleading_files.py", "tests/fault/test_released_bytes.py")
MULTI = ("tests/test_audit_multi.py", "tests/property/test_normal_form.py")
FORGED = (
    "tests/fault/test_domains.py",
    "tests/fault/test_forged_names.py",
    "tests/fault/test_forged_words.py",
    "tests/fault/test_forged_bytes.py",
    "tests/fault/test_misleading_files.py",
    "tests/test_audit.py",
)
BELONGING = ("tests/property/test_belonging.py", "tests/test_coverage.py")
SETS = ("tests/test_audit_tables.py", "tests/property/test_candidates.py")
TESTS: dict[str, tuple[str, ...]] = {
    "audit/__init__": (*AUDIT, *READING),
    "audit/assignment": BELONGING,
    "audit/belonging": BELONGING,
    "audit/bucketized": AUDIT,
    "audit/candidates": SETS,
    "audit/coded": SETS,
    "audit/coverage": ("tests/test_coverage.py", *AUDIT),
    "audit/boxes": ("tests/test_coverage.py", *AUDIT),
    "audit/decomposed": (*AUDIT, "tests/property/test_candidates.py"),
    "audit/definitions": (*AUDIT, "tests/property/test_worlds.py"),
    "audit/generalized": (*AUDIT, "tests/property/test_worlds.py"),
    "audit/joint_worlds": SETS,
    "audit/judging": (*AUDIT, "tests/property/test_worlds_tables.py"),
    "audit/multi": (*MULTI, "tests/test_audit.py"),
    "audit/normal_form": MULTI,
    "audit/product_worlds": SETS,
    "audit/projection": ("tests/test_coverage.py", *AUDIT),
    "audit/sets": (
        "tests/fault/test_addition.py",
        "tests/fault/test_addition_promise.py",
        "tests/property/test_addition.py",
    ),
    "audit/shares": ("tests/fault/test_addition_promise.py",),
    "audit/sliced": (*AUDIT, "tests/property/test_worlds_tables.py"),
    "audit/transport": SETS,
    "audit/verdict": AUDIT,
    "domains": FORGED,
    "form": (*FORGED, *MULTI),
    "parameters": FORGED,
    "parquet_layout": FORGED,
    "reading": FORGED,
    "release": (*FORGED, *READING, *AUDIT, "tests/fault/test_reading.py", "tests/property/test_reading.py"),
    "randomness": ("tests/fault/test_keys.py", "tests/fault/test_writing.py", "tests/fault/test_files_and_frames.py"),
}  # audit/auction is compiled, which takes long, and is run against a naive version by tests/test_coverage.py
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
# What takes long to import. Not what pytest rewrites as it imports it, such as hypothesis.
LIBRARIES = ("numpy", "polars", "numba", "pydantic", "yaml", "pytest", "rich", "typer", "scipy.stats")
GONE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """A module with one thing changed."""

    module: str
    line: int
    what: str
    source: str


def mutants(module: str) -> list[Mutant]:
    """Every mutant of a module, in order."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text(encoding="utf-8"))
    places = list(_places(tree))
    found = []
    for number in range(len(places)):
        changed = copy.deepcopy(tree)
        node, field, new = list(_places(changed))[number]
        old = ast.unparse(node)
        _put(node, field, new)
        source = ast.unparse(ast.fix_missing_locations(changed))
        found.append(Mutant(module, getattr(node, "lineno", 0), f"{old[:90]}  =>  {ast.unparse(node)[:90]}", source))
    return found


def _put(node: ast.AST, field: str, new: Any) -> None:
    name, _, at = field.partition(".")
    if at:
        getattr(node, name)[int(at)] = new
    else:
        setattr(node, name, new)


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """What can be changed: the node, its field, and what to put there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for at, op in enumerate(node.ops):
                if type(op) in SWAPPED:
                    yield node, f"ops.{at}", SWAPPED[type(op)]()
        elif (
            isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED and not _is_type(node)
        ):
            yield node, "op", SWAPPED[type(node.op)]()
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            yield node, "value", not node.value if isinstance(node.value, bool) else node.value + 1
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, "test", ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.comprehension):
            for at in range(len(node.ifs)):
                yield node, f"ifs.{at}", ast.Constant(True)
        for name in ("body", "orelse"):
            for at, child in enumerate(
                getattr(node, name, None) or [] if not isinstance(node, ast.IfExp | ast.Lambda) else []
            ):
                if isinstance(child, GONE) and not _is_doc(child):
                    yield node, f"{name}.{at}", ast.Pass()


def _is_type(node: ast.AST) -> bool:
    """`int | None` is no sum."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitOr):
        return False
    sides = (node.left, node.right)
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    nothing = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return nothing or any(name[:1].isupper() or name in ("str", "int", "float", "bool") for name in names)


def _is_doc(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets one module be imported from another source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        package = self.path.name == "__init__.py"
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def outcome_of(mutant: Mutant) -> str:
    """Whether the tests of a mutant's module notice it: killed, timeout or survived. In a process of its own."""
    pid = os.fork()
    if pid == 0:
        _test(mutant)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {0: "survived", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}.get(code, "killed")


def _test(mutant: Mutant) -> None:
    """Run the tests with the mutant in the module's place, silently; the exit code is pytest's."""
    code: int = 1
    try:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        name = "pluralis." + mutant.module.replace("/", ".").removesuffix(".__init__")
        sys.meta_path.insert(0, Finder(name, SOURCE / f"{mutant.module}.py", mutant.source))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS[mutant.module]]))
    except BaseException:  # noqa: BLE001  a mutant that cannot even be imported is killed
        code = 1
    finally:
        os._exit(code)


def _work(tasks: Any, results: Any) -> None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src")]
    for name in LIBRARIES:
        importlib.import_module(name)  # nothing computes before the fork
    while (mutant := tasks.get()) is not None:
        start = time.monotonic()
        results.put((mutant, outcome_of(mutant), time.monotonic() - start))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=sorted(TESTS), metavar="MODULE")
    parser.add_argument("--sample", type=int, help="so many of each module, drawn")
    parser.add_argument("--workers", type=int, default=2)
    of = parser.parse_args()
    context = mp.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    team = [context.Process(target=_work, args=(tasks, results)) for _ in range(of.workers)]
    for process in team:
        process.start()
    survived: list[Mutant] = []
    total, killed = 0, 0
    for module in of.modules:
        every = mutants(module)
        some = Random(module).sample(every, min(of.sample, len(every))) if of.sample else every
        for mutant in [Mutant(module, 0, "as it is", (SOURCE / f"{module}.py").read_text(encoding="utf-8")), *some]:
            tasks.put(mutant)
        found = [results.get() for _ in range(len(some) + 1)]
        healthy = [seconds for mutant, end, seconds in found if mutant.what == "as it is" and end == "survived"]
        if not healthy:
            print(f"{module}: its tests fail without a change, so they tell nothing", flush=True)
            continue
        ends = [end for mutant, end, _ in found if mutant.what != "as it is"]
        seconds = sum(seconds for _, _, seconds in found)
        alive = [mutant for mutant, end, _ in found if end == "survived" and mutant.what != "as it is"]
        total, killed, survived = total + len(some), killed + len(some) - len(alive), survived + alive
        print(f"{module:<24} {len(every):>5} mutants, {len(some):>5} tried, {ends.count('killed'):>5} killed, "
              f"{ends.count('timeout'):>3} too slow, {len(alive):>4} survived; {healthy[0]:.1f} s unchanged, "
              f"{seconds / len(found):.1f} s each", flush=True)  # fmt: skip
    for _ in team:
        tasks.put(None)
    for mutant in sorted(survived, key=lambda mutant: (mutant.module, mutant.line)):
        print(f"  {mutant.module}.py:{mutant.line}  {mutant.what}")
    print(f"{killed} of {total} killed ({killed / max(1, total):.1%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
