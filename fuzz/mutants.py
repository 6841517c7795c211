"""Mutation testing of what must not be wrong: `python -m fuzz.mutants [MODULE …] [--sample N] [--workers W]`.

A mutant is a module with one small thing changed: a comparison, a sign, a number, a condition, a statement that is
gone. The tests of the module must fail on it. Those on which they pass have survived: each is a test that is missing,
or a change that changes nothing, and is listed with its line.

mutmut and cosmic-ray do not fit here. The first forks processes that ran tests, and Polars hangs in them; the second
makes 6,258 mutants of these modules and starts Python anew for each. Here a process that has imported all that does not
import the module, and has computed nothing, is forked for each.

What cannot matter is not changed: messages, decorators, limits of work, what is imported for types alone. A mutant
whose tests take ten times as long as those of the module as it is counts as noticed: somebody would. `survivors.md`
says of those that are known to survive why they may.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing as mp
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "pluralis"
CPU_SECONDS = 600  # of work for the tests of a module as it is
TIMES, SPARE = 10, 5  # how often as much those of a mutant may take, and so many seconds more
AS_IT_IS = "as it is"
MUCH = 100  # nobody notices one more of so many: these are limits of work

# Quick ones first: the first test that fails ends it.
TESTS: dict[str, tuple[str, ...]] = {
    "auditing/__init__": (
        "tests/auditing/test_audit_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/release/test_misleading_files.py",
        "tests/table/test_released_bytes.py",
    ),
    "auditing/assignment": (
        "tests/auditing/test_assignment_cases.py",
        "tests/auditing/test_belonging.py",
        "tests/auditing/test_coverage.py",
    ),
    "auditing/belonging": (
        "tests/auditing/test_belonging_cases.py",
        "tests/auditing/test_belonging.py",
        "tests/auditing/test_coverage.py",
    ),
    "auditing/closeness_and_gain": (
        "tests/auditing/test_closeness_and_gain_cases.py",
        "tests/release/test_forged_bounds.py",
        "tests/auditing/test_posteriors_of_bounds.py",
    ),
    "auditing/coverage": (
        "tests/auditing/test_coverage_cases.py",
        "tests/auditing/test_coverage.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
    ),
    "auditing/decomposed_tables": (
        "tests/auditing/test_decomposed_tables_cases.py",
        "tests/auditing/test_edited_tables.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "auditing/diversity_models": (
        "tests/auditing/test_diversity_models_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/auditing/test_posteriors_of_generalized.py",
    ),
    "auditing/drawn_sets": (
        "tests/auditing/test_drawn_sets_cases.py",
        "tests/auditing/test_drawn_sets.py",
        "tests/auditing/kinds/test_candidates_cases.py",
    ),
    "auditing/decomposed_worlds_joint": (
        "tests/auditing/test_decomposed_worlds_joint_cases.py",
        "tests/auditing/test_edited_tables.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "auditing/judging": (
        "tests/auditing/test_judging_cases.py",
        "tests/auditing/test_closeness_and_gain_cases.py",
        "tests/release/test_forged_bounds.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/auditing/test_posteriors_of_bucketized.py",
    ),
    "auditing/kinds/bucketized": (
        "tests/auditing/kinds/test_bucketized_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
    ),
    "auditing/kinds/candidates": (
        "tests/auditing/kinds/test_candidates_cases.py",
        "tests/method/test_randomized_addition.py",
        "tests/method/test_randomized_addition_promise.py",
        "tests/grouping/test_addition.py",
    ),
    "auditing/kinds/decomposed": (
        "tests/auditing/kinds/test_decomposed_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "auditing/kinds/generalized": (
        "tests/auditing/kinds/test_generalized_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/auditing/test_posteriors_of_generalized.py",
    ),
    "auditing/kinds/multi": (
        "tests/auditing/kinds/test_multi_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_normal_form.py",
        "tests/auditing/test_audit.py",
    ),
    "auditing/kinds/sliced": (
        "tests/auditing/kinds/test_sliced_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
        "tests/auditing/test_posteriors_of_bucketized.py",
    ),
    "auditing/label_boxes": (
        "tests/auditing/test_label_boxes_cases.py",
        "tests/auditing/test_coverage.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
    ),
    "auditing/normal_form": (
        "tests/auditing/test_normal_form_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_normal_form.py",
    ),
    "auditing/decomposed_worlds_product": (
        "tests/auditing/test_decomposed_worlds_product_cases.py",
        "tests/auditing/test_edited_tables.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "auditing/projection": (
        "tests/auditing/test_projection_cases.py",
        "tests/auditing/test_coverage.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
    ),
    "auditing/share_bound": (
        "tests/auditing/test_share_bound_cases.py",
        "tests/method/test_randomized_addition_promise.py",
    ),
    "auditing/transport": (
        "tests/auditing/test_transport_cases.py",
        "tests/auditing/test_edited_tables.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "auditing/verdict": (
        "tests/auditing/test_verdict_cases.py",
        "tests/auditing/kinds/test_multi.py",
        "tests/auditing/test_audit.py",
        "tests/auditing/test_edited_tables.py",
        "tests/publishing/test_certificate.py",
    ),
    "auditing/decomposed_worlds": (
        "tests/auditing/test_decomposed_worlds_cases.py",
        "tests/auditing/test_edited_tables.py",
        "tests/auditing/test_decomposed_worlds.py",
    ),
    "randomness": (
        "tests/test_randomness.py",
        "tests/publishing/test_key_files.py",
    ),
    "release/domains": (
        "tests/release/test_domains_cases.py",
        "tests/release/test_domains.py",
    ),
    "release/form": (
        "tests/release/test_form_cases.py",
        "tests/release/test_forged_names.py",
    ),
    "release/manifest": (
        "tests/release/test_manifest_cases.py",
        "tests/release/test_form_cases.py",
    ),
    "release/parameter_form": (
        "tests/release/test_parameter_form_cases.py",
        "tests/release/test_form_cases.py",
        "tests/release/test_domains.py",
        "tests/release/test_forged_names.py",
        "tests/release/test_forged_words.py",
        "tests/release/test_forged_bytes.py",
        "tests/release/test_misleading_files.py",
        "tests/auditing/test_audit.py",
    ),
    "release/strict_parquet": (
        "tests/release/test_strict_parquet_cases.py",
        "tests/release/test_misleading_files.py",
    ),
    "release/reading": (
        "tests/release/test_reading_cases.py",
        "tests/release/test_misleading_files.py",
        "tests/table/test_released_bytes.py",
    ),
    "release/readme": (
        "tests/release/test_readme_cases.py",
        "tests/release/test_reading_cases.py",
    ),
    "table/csv_files": (
        "tests/table/test_csv_files_cases.py",
        "tests/release/test_reading_cases.py",
    ),
    "table/parquet_files": (
        "tests/table/test_parquet_files_cases.py",
        "tests/release/test_reading_cases.py",
    ),
}  # auditing/matching is compiled, which takes long; tests/auditing/test_coverage.py runs it against a naive version
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
# What takes long to import
LIBRARIES = ("numpy", "polars", "numba", "pydantic", "yaml", "pytest", "rich", "typer", "hypothesis",
             "hypothesis.strategies", "scipy.stats", "scipy.optimize", "scipy.sparse.csgraph")  # fmt: skip
GONE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """A module with one thing changed."""

    module: str
    line: int
    what: str
    source: str


Outcome = tuple[Mutant, str, float]


def mutants(module: str) -> list[Mutant]:
    """Every mutant of a module, in order."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text(encoding="utf-8"))
    every = []
    for node, field, new in list(_places(tree)):
        before, old = ast.unparse(node), _put(node, field, new)
        source, after = ast.unparse(ast.fix_missing_locations(tree)), ast.unparse(node)
        _put(node, field, old)
        line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
        every.append(Mutant(module, line, _difference(before, after), source))
    return every


def _put(node: ast.AST, field: str, new: Any) -> Any:
    """Put something into a field, or a place of a list; returns what was there."""
    name, _, place = field.partition(".")
    if place:
        old = getattr(node, name)[int(place)]
        getattr(node, name)[int(place)] = new
    else:
        old = getattr(node, name)
        setattr(node, name, new)
    return old


def _difference(before: str, after: str) -> str:
    """The first line that differs, as it was and as it is."""
    pairs = zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    old, new = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return f"{old.strip()[:90]}  =>  {new.strip()[:90]}"


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """What can be changed: the node, its field, and what to put there."""
    for node in _walk(tree):
        if isinstance(node, ast.Compare):
            for place, op in enumerate(node.ops):
                if type(op) in SWAPPED:
                    yield node, f"ops.{place}", SWAPPED[type(op)]()
        elif (
            isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED and not _is_type(node)
        ):
            yield node, "op", SWAPPED[type(node.op)]()
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float) and node.value < MUCH:
            yield node, "value", not node.value if isinstance(node.value, bool) else node.value + 1
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, "test", ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.comprehension):
            for place in range(len(node.ifs)):
                yield node, f"ifs.{place}", ast.Constant(True)
        for name in ("body", "orelse"):
            for place, child in enumerate(
                getattr(node, name, None) or [] if not isinstance(node, ast.IfExp | ast.Lambda) else []
            ):
                if isinstance(child, GONE) and not _is_doc(child):
                    yield node, f"{name}.{place}", ast.Pass()


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that can matter."""
    yield node
    for field, value in ast.iter_fields(node):
        if field != "decorator_list" and not (isinstance(node, ast.Raise) and field == "exc"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_idle(node, child):
                    yield from _walk(child)


def _is_idle(parent: ast.AST, node: ast.AST) -> bool:
    """A message; what is imported for types alone; that a `zip` is `strict`, which says what is known anyway."""
    types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    of_zip = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "zip"
    return isinstance(node, ast.JoinedStr) or types or (of_zip and isinstance(node, ast.keyword))


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


class _NotYet(ImportError):
    """What leads to the module that mutants replace is not imported before the fork."""


class _Barrier(importlib.abc.MetaPathFinder):
    """Refuses one module."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == self.name:
            raise _NotYet(fullname)


def _import_all_but(name: str) -> None:
    """Import the modules that do not import this one, so that they are there in every child."""
    barrier = _Barrier(name)
    sys.meta_path.insert(0, barrier)
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        if module.endswith("__main__"):
            continue
        with contextlib.suppress(_NotYet):
            importlib.import_module(module)
        for orphan in [name for name in sys.modules if any(parent not in sys.modules for parent in _packages(name))]:
            del sys.modules[orphan]
    sys.meta_path.remove(barrier)


def _packages(module: str) -> list[str]:
    """Those of ours that a module is in."""
    parts = module.split(".") if module.startswith("pluralis.") else []
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _name(module: str) -> str:
    return "pluralis." + module.replace("/", ".").removesuffix(".__init__")


def outcome_of(mutant: Mutant, tests: Sequence[str], limit: int) -> tuple[str, float]:
    """Whether these tests notice a mutant, killed, timeout or survived; their work in seconds. A process of its own."""
    pid = os.fork()
    if pid == 0:
        _test(mutant, tests, limit)
    _, status, used = os.wait4(pid, 0)
    ends = {0: "survived", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}
    return ends.get(os.waitstatus_to_exitcode(status), "killed"), used.ru_utime + used.ru_stime


def _test(mutant: Mutant, tests: Sequence[str], limit: int) -> None:
    """Run the tests with the mutant in the module's place, silently; the exit code is pytest's."""
    code: int = 1
    try:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.meta_path.insert(0, Finder(_name(mutant.module), SOURCE / f"{mutant.module}.py", mutant.source))
        code = int(pytest.main(["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    except BaseException:  # noqa: BLE001  a mutant that cannot even be imported is killed
        code = 1
    finally:
        os._exit(code)


def _work(module: str, tests: Sequence[str], tasks: Any, results: Any) -> None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src")]
    for name in LIBRARIES:
        importlib.import_module(name)  # nothing computes before the fork
    _import_all_but(_name(module))
    gc.freeze()  # no child looks through all this for what is garbage
    while (task := tasks.get()) is not None:
        mutant, limit = task
        results.put((mutant, *outcome_of(mutant, tests, limit)))


def _tried(module: str, some: Sequence[Mutant], tests: Sequence[str], workers: int) -> tuple[float, list[Outcome]]:
    """The work of the tests on the module as it is, 0 where they fail, and what became of the mutants."""
    context = mp.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    team = [context.Process(target=_work, args=(module, tests, tasks, results)) for _ in range(workers)]
    for process in team:
        process.start()
    source = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    tasks.put((Mutant(module, 0, AS_IT_IS, source), CPU_SECONDS))
    _, end, unchanged = results.get()
    healthy = end == "survived"
    for mutant in some if healthy else ():
        tasks.put((mutant, int(TIMES * unchanged + SPARE)))
    outcomes = [results.get() for _ in some] if healthy else []
    for _ in team:
        tasks.put(None)
    for process in team:
        process.join()
    return unchanged if healthy else 0.0, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=sorted(TESTS), metavar="MODULE")
    parser.add_argument("--sample", type=int, help="so many of each module, drawn")
    parser.add_argument("--own", action="store_true", help="with the first of a module's test files only")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    total, killed = 0, 0
    for module in options.modules:
        every = mutants(module)
        some = Random(module).sample(every, min(options.sample, len(every))) if options.sample else every
        unchanged, outcomes = _tried(module, some, TESTS[module][: 1 if options.own else None], options.workers)
        if not unchanged:
            print(f"{module}: its tests fail without a change, so they tell nothing", flush=True)
            continue
        ends = [end for _, end, _ in outcomes]
        alive = [mutant for mutant, end, _ in outcomes if end == "survived"]
        total, killed = total + len(some), killed + len(some) - len(alive)
        print(f"{module:<27} {len(every):>4} mutants, {len(some):>4} tried, {ends.count('killed'):>4} killed, "
              f"{ends.count('timeout'):>3} too slow, {len(alive):>3} survived; {unchanged:.1f} s unchanged, "
              f"{sum(seconds for *_, seconds in outcomes) / max(1, len(outcomes)):.1f} s each", flush=True)  # fmt: skip
        for mutant in sorted(alive, key=lambda mutant: mutant.line):
            print(f"  {mutant.module}.py:{mutant.line}  {mutant.what}", flush=True)
    print(f"{killed} of {total} killed ({killed / max(1, total):.1%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
