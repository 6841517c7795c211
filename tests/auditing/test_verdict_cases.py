"""What a finding and a verdict say."""

from __future__ import annotations

import re

import pytest

from pluralis.auditing.verdict import Finding, Verdict

GOOD, BAD = Finding("good", True), Finding("bad", False)
TOLD = Finding("told", False, binding=False)


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (Finding("a", True), "a: holds"),
        (Finding("a", False), "a: does not hold"),
        (Finding("a", True, 0.0), "a: holds, measured 0"),
        (Finding("a", True, 1 / 3, witness="group 7"), "a: holds, measured 0.3333 in group 7"),
        (Finding("a", False, note="why"), "a: does not hold (why)"),
    ],
)
def test_a_finding_in_words(finding: Finding, sentence: str) -> None:
    assert str(finding) == sentence


@pytest.mark.parametrize(
    ("findings", "holds", "failures"),
    [
        ((GOOD,), True, []),
        ((GOOD, BAD), False, [BAD]),
        ((GOOD, TOLD), True, []),
        ((BAD, TOLD), False, [BAD]),
        ((TOLD,), False, []),
        ((Finding("told", True, binding=False),), False, []),
        ((), False, []),
    ],
)
def test_a_verdict_holds_if_something_was_promised_and_nothing_promised_fails(
    findings: tuple[Finding, ...], holds: bool, failures: list[Finding]
) -> None:
    verdict = Verdict(findings)
    assert (verdict.holds, verdict.failures) == (holds, failures)


def test_a_verdict_as_a_dictionary_names_every_finding_and_what_breaks_it() -> None:
    plain = Verdict((Finding("a", True, 0.5, 1.0), TOLD), ("an attack",)).to_dict()
    assert plain["holds"] is True
    assert [(one["claim"], one["holds"], one["measured"], one["binding"]) for one in plain["findings"]] == [
        ("a", True, 0.5, True),
        ("told", False, None, False),
    ]
    assert plain["breaks"] == ["an attack"]


def test_a_verdict_in_a_notebook_escapes_text_and_leaves_out_what_was_not_measured() -> None:
    page = Verdict((Finding("<a>", True, 0.25, witness="group <1>"), Finding("b", False)))._repr_html_()
    assert "<td>&lt;a&gt;</td><td>holds</td>" in page
    assert ">0.25</td><td>group &lt;1&gt;</td>" in page
    assert "<a>" not in page
    assert re.search(r"<td>b</td><td>DOES NOT HOLD</td>(<td[^>]*></td>){3}", page)
