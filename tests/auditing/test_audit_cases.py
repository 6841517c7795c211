"""What an audit puts together: form, key, claims, certificate, spellings, the original."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis import auditing
from pluralis.auditing import Verdict, audit
from pluralis.errors import InputError, ReleaseError
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release

PEOPLE = pl.DataFrame({"sex": list("fmfm"), "zip": [1, 2, 3, 4]})
RULE = "P(zip | sex) ≤ 1/2"
AGREE = "tables, hashes and manifest agree"
KEY = "made with a secret key"
MEASURED = "what the manifest says was measured is what its tables give"


def release_of(**changes: Any) -> Release:
    made = multi_release(PEOPLE.to_dicts(), [Sub(["sex", "zip"], ["zip"], [1, 1, 2, 2])], ["sex -> zip : l=2"])
    return Release(made.manifest.model_copy(update=changes), made.tables)


RIGHT = release_of()


def claims_of(verdict: Verdict) -> dict[str, bool]:
    return {finding.claim: finding.holds for finding in verdict.findings}


@pytest.fixture
def form(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said to be wrong with the form of a release."""
    wrong: list[str] = []
    monkeypatch.setattr(auditing, "form_problems", lambda *_: iter(wrong))
    return wrong


def test_a_release_is_judged_claim_by_claim_after_its_form() -> None:
    verdict = audit(RIGHT)
    agree, rule, others = verdict.findings
    assert (agree.claim, agree.holds, agree.measured, agree.promised, agree.note) == (AGREE, True, 0.0, 0.0, None)
    assert (rule.claim, rule.holds, rule.measured) == (RULE, True, 0.5)
    assert not others.binding
    assert verdict.holds


def test_a_claim_that_does_not_hold_fails_the_verdict() -> None:
    """Both of a group live in one place."""
    people = PEOPLE.with_columns(zip=pl.Series([1, 1, 2, 2])).to_dicts()
    verdict = audit(multi_release(people, [Sub(["sex", "zip"], ["zip"], [1, 1, 2, 2])], ["sex -> zip : l=2"]))
    assert [(finding.claim, finding.measured) for finding in verdict.failures] == [(RULE, 1.0)]
    assert not verdict.holds


@pytest.mark.parametrize(("many", "note"), [(1, "p0."), (20, "p19."), (21, "p19. 1 more."), (1025, "p19. 1,005 more.")])
def test_where_the_form_is_wrong_nothing_else_is_judged(many: int, note: str, form: list[str]) -> None:
    form += [f"p{i}." for i in range(many)]
    (agree,) = audit(RIGHT).findings
    assert (agree.claim, agree.holds, agree.measured, agree.promised) == (AGREE, False, float(many), 0.0)
    assert str(agree.note).startswith("p0.")
    assert str(agree.note).endswith(note)
    assert str(agree.note).count("p") == min(many, 20)


def test_what_a_judge_finds_wrong_is_said_where_the_form_is_right(form: list[str]) -> None:
    tables = {name: rows.head(3) if name == "t1_quasi" else rows for name, rows in RIGHT.tables.items()}
    (agree,) = audit(Release(RIGHT.manifest, tables)).findings
    assert not agree.holds
    assert "the manifest says 4 rows, t1_quasi has 3." in str(agree.note)
    form.append("its form.")
    (agree,) = audit(Release(RIGHT.manifest, tables)).findings
    assert agree.note == "its form."


@pytest.mark.parametrize("allowed", [False, True])
def test_a_release_of_the_test_key_is_refused_unless_it_is_allowed(allowed: bool) -> None:
    verdict = audit(release_of(test=True), allow_test=allowed)
    assert claims_of(verdict)[KEY] == verdict.holds == allowed
    assert RULE in claims_of(verdict)
    assert KEY not in claims_of(audit(RIGHT, allow_test=allowed))
    assert not audit(release_of(test=True)).holds


def test_a_release_that_claims_nothing_is_refused(form: list[str]) -> None:
    nothing = release_of(claims=(), parameters=RIGHT.manifest.parameters.model_copy(update={"l": {}, "rules": ()}))
    verdict = audit(nothing)
    finding = next(one for one in verdict.findings if one.claim == "the release makes at least one claim")
    assert (finding.holds, finding.measured, finding.promised) == (False, 0.0, 1.0)
    assert not verdict.holds
    assert "the release makes at least one claim" not in claims_of(audit(RIGHT))


@pytest.mark.parametrize(
    ("stated", "holds"), [(0.5, True), (0.5 * (1 + 1e-12), True), (0.5001, False), (0.0, False), (1.0, False)]
)
def test_what_was_measured_is_what_the_tables_give(stated: float, holds: bool) -> None:
    (claim,) = RIGHT.manifest.claims
    verdict = audit(release_of(claims=(claim.model_copy(update={"measured": stated}),)))
    finding = next(one for one in verdict.findings if one.claim == MEASURED)
    assert (finding.holds, finding.measured, finding.promised) == (holds, 0.0 if holds else 1.0, 0.0)
    assert finding.note == (None if holds else RULE)
    assert verdict.holds == holds


def test_a_release_that_states_nothing_measured_is_not_held_to_it() -> None:
    assert MEASURED not in claims_of(audit(RIGHT))


@pytest.mark.parametrize("stated", [0.5, 1.0])
def test_of_what_could_not_be_measured_nothing_may_be_stated(stated: float) -> None:
    """A rule that nothing guards is not measured."""
    open_ = multi_release(PEOPLE.to_dicts(), [Sub(["sex", "zip"])], ["sex -> zip : l=2"])
    claims = tuple(claim.model_copy(update={"measured": stated}) for claim in open_.manifest.claims)
    verdict = audit(Release(open_.manifest.model_copy(update={"claims": claims}), open_.tables))
    assert claims_of(verdict)[MEASURED] is False


def test_values_told_apart_by_spelling_alone_are_told_and_bind_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "told_apart", lambda *_: iter([("zip", "a", "A")]))
    verdict = audit(RIGHT)
    finding = verdict.findings[-1]
    assert (finding.claim, finding.holds, finding.binding) == (
        "zip: no two values differ in spelling alone",
        False,
        False,
    )
    assert finding.note == "'a' and 'A' do; not promised"
    assert verdict.holds


def test_with_the_original_its_rows_are_compared_too() -> None:
    compared = "published and suppressed rows are the rows of the original"
    assert compared not in claims_of(audit(RIGHT))
    verdict = audit(RIGHT, original=PEOPLE)
    assert claims_of(verdict)[compared]
    assert verdict.holds
    assert not audit(RIGHT, original=PEOPLE.head(3)).holds
    with pytest.raises(InputError, match="The original has no rows"):
        audit(RIGHT, original=PEOPLE.head(0))


def test_a_kind_that_nobody_here_can_judge_is_refused(form: list[str]) -> None:
    with pytest.raises(ReleaseError, match="This Pluralis cannot judge a 'woven' release"):
        audit(release_of(kind="woven"))


def test_a_verdict_names_what_breaks_the_release() -> None:
    assert audit(release_of(breaks=("an attack",))).breaks == ("an attack",)


# folders ----------------------------------------------------------------------------------------------------------


class Inspected:
    """A folder as the reader gives it, and what it finds once all of it is read."""

    def __init__(self, problems: list[str], late: list[str]) -> None:
        self.manifest, self.tables = RIGHT.manifest, dict(RIGHT.tables)
        self.problems, self.late = problems, late

    def wait(self) -> list[str]:
        return self.late


@pytest.mark.parametrize(
    ("problems", "late", "note"), [([], [], None), (["early."], ["early."], "early."), ([], ["late."], "late.")]
)
def test_what_the_reader_finds_wrong_early_or_late_fails_the_verdict(
    problems: list[str], late: list[str], note: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def inspecting(folder: Path, *, limit: int | None) -> Iterator[Inspected]:
        asked.append((folder, limit))
        yield Inspected(problems, late)

    monkeypatch.setattr(auditing, "inspecting", inspecting)
    monkeypatch.setattr(auditing, "parts_of", lambda folder: None)
    verdict = audit("somewhere", limit=7)
    assert asked == [(Path("somewhere"), 7)]
    assert (verdict.holds, verdict.findings[0].note) == (note is None, note)
    assert (RULE in claims_of(verdict)) == (note is None)
    assert audit(Path("somewhere"), original=PEOPLE.head(1)).holds is False
