"""Mutants: each differs from its module in one place, and is Python; what is to be tested exists, as do its tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fuzz.mutants import SOURCE, TESTS, Finder, mutants

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", sorted(TESTS))
def test_what_is_named_is_there(module: str) -> None:
    assert (SOURCE / f"{module}.py").is_file()
    assert [test for test in TESTS[module] if not (ROOT / test).is_file()] == []


def test_every_mutant_is_another_module() -> None:
    whole = ast.unparse(ast.parse((SOURCE / "auditing" / "diversity_models.py").read_text(encoding="utf-8")))
    all_mutants = mutants("auditing/diversity_models")
    assert len(all_mutants) > 60
    assert len({mutant.source for mutant in all_mutants}) == len(all_mutants)
    for mutant in all_mutants:
        assert mutant.source != whole
        compile(mutant.source, "mutant", "exec")
    assert any("<=" in mutant.what and ">=" not in mutant.what for mutant in all_mutants)


def test_a_module_is_imported_from_another_source(tmp_path: Path) -> None:
    finder = Finder("somewhere.made_up", tmp_path / "made_up.py", "ANSWER = 42")
    assert finder.find_spec("somewhere.else_", None) is None
    spec = finder.find_spec("somewhere.made_up", None)
    module = type(ast)("made_up")
    spec.loader.exec_module(module)
    assert module.ANSWER == 42
