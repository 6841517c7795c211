"""What an audit says: findings with evidence, not booleans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from pluralis.display.objects import Columns, Shown, filled_in
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.form import told_by_plain_column

COUNTED = "published and suppressed rows are the rows of the original"


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """One claim, what was measured for it, and where it is weakest.

    Parameters
    ----------
    claim : str
        What was promised, such as "P(disease | age, sex) ≤ 1/3".
    holds : bool
        Whether the tables keep it.
    measured, promised : float, optional
        What the tables give, and what was promised.
    top_share : float, optional
        The largest share of one value in a group, beside every l.
    top_value : str, optional
        The value that it is the share of, where a claim is about one; else whichever is commonest there.
    witness : str, optional
        Where it is weakest, such as "group 118".
    note : str, optional
        What else there is to say.
    binding : bool
        A finding that is not binding informs: it was not promised, and the verdict does not depend on it.

    Examples
    --------
    >>> finding = Finding("P(disease | age) ≤ 1/3", holds=False, measured=0.5, promised=1 / 3, witness="group 7")
    >>> finding
    Finding: P(disease | age) ≤ 1/3, DOES NOT HOLD
      promised  0.3333
      measured  0.5
      weakest   group 7
    >>> print(finding)
    P(disease | age) ≤ 1/3: does not hold, measured 0.5 in group 7
    """

    claim: str
    holds: bool
    measured: float | None = None
    promised: float | None = None
    top_share: float | None = None
    witness: str | None = None
    note: str | None = None
    binding: bool = True
    top_value: str | None = None

    def __str__(self) -> str:
        text = f"{self.claim}: {'holds' if self.holds else 'does not hold'}"
        if self.measured is not None:
            text += f", measured {self.measured:.4g}"
        if self.witness:
            text += f" in {self.witness}"
        return text + (f" ({self.note})" if self.note else "")

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Finding: {self.claim}, {_standing(self)}"
        top = None if self.top_share is None else f"{self.top_share:.1%}"
        yield from filled_in({
            "promised": _figure(self.promised),
            "measured": _figure(self.measured),
            "top share": top if self.top_value is None else f"{top}: {self.top_value}",
            "weakest": self.witness,
            "note": self.note,
        })  # fmt: skip


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """All findings about one release.

    Parameters
    ----------
    findings : tuple of Finding
        One for each claim, and for what must be true of any release.
    breaks : tuple of str
        What the release says that it does not stop.
    lists : AttributeLists
        Letters for the lists of attributes in its claims, so that each is shown once.

    Examples
    --------
    >>> verdict = Verdict((Finding("P(disease | age) ≤ 1/3", True, 0.25, 1 / 3, witness="group 7"),))
    >>> verdict
    Verdict: every claim holds (1 checked)
      claim                          promised  measured  weakest
      P(disease | age) ≤ 1/3  holds    0.3333      0.25  group 7
    >>> verdict.holds, verdict.failures
    (True, [])
    """

    findings: tuple[Finding, ...]
    breaks: tuple[str, ...] = ()
    lists: AttributeLists = field(default_factory=AttributeLists, compare=False)

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return any(finding.binding for finding in self.findings) and not self.failures

    @property
    def failures(self) -> list[Finding]:
        """The findings of claims that do not hold."""
        return [finding for finding in self.findings if finding.binding and not finding.holds]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data.

        Returns
        -------
        dict
            As `pluralis audit --json` prints it.

        Examples
        --------
        >>> Verdict((Finding("tables agree", True),)).to_dict()["holds"]
        True
        """
        return {
            "holds": self.holds,
            "findings": [asdict(finding) for finding in self.findings],
            "breaks": list(self.breaks),
        }

    def _parts(self) -> Iterator[str | Columns]:
        checked = sum(finding.binding for finding in self.findings)
        if self.holds:
            given_away = told_by_plain_column(self.breaks)
            yield f"Verdict: every claim holds{f', but {given_away}' if given_away else ''} ({checked} checked)"
        else:
            yield f"Verdict: {len(self.failures)} of {checked} claims do not hold"
        yield from (f"{letter}: {names}" for letter, names in self.lists.defined.items())
        rows = [
            [
                self.lists.shortened(f.claim),
                _standing(f),
                _figure(f.promised),
                _figure(f.measured),
                f.witness or f.note or "",
            ]
            for f in self.findings
        ]  # fmt: skip
        yield Columns(("claim", "", "promised", "measured", "weakest"), rows, right=(2, 3))
        if self.breaks:
            yield "Not stopped by this release:"
            yield Columns(("",), [[item] for item in self.breaks])


def _standing(finding: Finding) -> str:
    if not finding.binding:
        return "yes, not promised" if finding.holds else "no, not promised"
    return "holds" if finding.holds else "DOES NOT HOLD"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
