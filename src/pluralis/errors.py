"""What can go wrong, as one small tree. Every message says what to do next.

The exit codes are those of the command line: 1 the audit found a claim that does not hold, or an attack exceeded one,
2 bad usage or bad input, 3 the policy cannot be met by this table.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pluralis.attacks.base import Result
    from pluralis.auditing.verdict import Verdict


class PluralisError(Exception):
    """Anything Pluralis refuses to do: what is said, and lines that go with it.

    Only those begin lines: the end of a line within one of them, as a name may hold it, is shown as what it is.
    """

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines or ("",)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class InputError(PluralisError):
    """The table cannot be read as it stands."""


class PolicyError(PluralisError):
    """The policy, or a hierarchy it names, is not well formed."""


class ReleaseError(PluralisError):
    """A release folder is damaged, edited, or not a release."""


class QueryError(PluralisError):
    """A query cannot be read, or asks for what the release does not hold."""


class OutputError(PluralisError):
    """The release cannot be written there."""


class Infeasible(PluralisError):
    """No release of this table by this method meets the policy."""

    exit_code = 3


class AuditFailed(PluralisError):
    """The audit of the staged release found a claim that does not hold; nothing was published."""

    exit_code = 1

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        broken = "; ".join(str(finding) for finding in verdict.failures)
        super().__init__(
            f"The audit refused this release, so nothing was published. {broken}. "
            "Lower the claim, declare fewer adversaries, or choose another method or variant."
        )


class Breached(PluralisError):
    """An attack on the release got more than a claim allows; nothing was published."""

    exit_code = 1

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = tuple(results)
        got = "; ".join(
            f"{one.attack} ({one.question}) is sure of a guess with {one.worst:.4g}, where at most {one.promised:.4g} "
            f"is promised{'' if one.witness is None else f', at {one.witness}'}"
            for one in self.results
        )
        super().__init__(
            f"An attack exceeded a promise of this release, so nothing was published. {got}. "
            "Lower the claim, declare fewer adversaries, or choose another method or variant."
        )


def did_you_mean(word: str, known: Iterable[str], most: int = 12) -> str:
    """A closing hint for an unknown name: the closest, or `most` of those that are known.

    >>> did_you_mean("ocupation", ["age", "occupation"])
    "Did you mean 'occupation'?"
    >>> did_you_mean("zzz", ["age", "sex"])
    'Known: age, sex.'
    """
    names = list(known)
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {folded[close[0]]!r}?"
    shown = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    return f"Known: {shown}." if names else "There are none."
