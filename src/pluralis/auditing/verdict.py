"""What an audit says: findings with evidence, not booleans."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One claim, what was measured for it, and where it is weakest.

    A finding that is not `binding` informs: it was not promised, and the verdict does not depend on it.
    """

    claim: str  # "knowing age, sex: disease at most 1/3"
    holds: bool
    measured: float | None = None  # 0.333
    promised: float | None = None
    top_share: float | None = None  # the largest share of one value in a group, beside every l
    witness: str | None = None  # "group 118"
    note: str | None = None
    binding: bool = True

    def __str__(self) -> str:
        said = f"{self.claim}: {'holds' if self.holds else 'does not hold'}"
        if self.measured is not None:
            said += f", measured {self.measured:.4g}"
        if self.witness:
            said += f" in {self.witness}"
        return said + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Verdict:
    """All findings about one release."""

    findings: tuple[Finding, ...]
    breaks: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return any(finding.binding for finding in self.findings) and not self.failures

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.binding and not finding.holds]

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "findings": [asdict(finding) for finding in self.findings],
            "breaks": list(self.breaks),
        }

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{'✓' if f.holds else '✗'}</td><td>{escape(f.claim)}</td>"
            f"<td>{'' if f.measured is None else f'{f.measured:.4g}'}</td><td>{escape(f.witness or '')}</td></tr>"
            for f in self.findings
        )
        return f"<table><tr><th></th><th>claim</th><th>measured</th><th>weakest</th></tr>{rows}</table>"
