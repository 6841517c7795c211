"""What can go wrong, as one small tree. Every message says what to do next.

The exit codes are those of the command line: 1 the audit found a claim that does not hold, or an attack exceeded one,
2 bad usage or bad input, 3 the policy cannot be met by this table.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pluralis.attacks.base import Result
    from pluralis.auditing.verdict import Verdict


class PluralisError(Exception):
    """Anything Pluralis refuses to do: what is said, and lines that go with it.

    Only those begin lines: the end of a line within one of them, as a name may hold it, is shown as what it is. All
    errors of Pluralis are of this class; `exit_code` is what the command line ends with.

    Parameters
    ----------
    *lines : str
        What is wrong and what to do about it.

    Examples
    --------
    >>> print(PluralisError("It cannot be done.", "Do something else."))
    It cannot be done.
    Do something else.
    """

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines or ("",)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class InputError(PluralisError):
    """The table cannot be read as it stands.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     pls.read_table("people.xlsx")
    ... except pls.InputError as refusal:
    ...     print(refusal)
    There is no file people.xlsx. Check the path.
    """


class PolicyError(PluralisError):
    """The policy, or a hierarchy it names, is not well formed.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     pls.Policy(sensitive={"disease": 1})
    ... except pls.PolicyError as refusal:
    ...     print(refusal)
    policy, attributes.disease.l: Input should be greater than or equal to 2, not 1. Write that or more.
    """


class ReleaseError(PluralisError):
    """A release folder is damaged, edited, or not a release.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     pls.read_release("no/such/folder")
    ... except pls.ReleaseError as refusal:
    ...     print(refusal)
    no/such/folder is not a folder. Name the folder that `pluralis publish` wrote.
    """


class QueryError(PluralisError):
    """A query cannot be read, or asks for what the release does not hold.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     raise pls.QueryError("There is no attribute 'agee'. Did you mean 'age'?")
    ... except pls.QueryError as refusal:
    ...     print(refusal)
    There is no attribute 'agee'. Did you mean 'age'?
    """


class OutputError(PluralisError):
    """The release cannot be written there.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     raise pls.OutputError("release exists.", "Choose another name.")
    ... except pls.OutputError as refusal:
    ...     print(refusal)
    release exists.
    Choose another name.
    """


class MissingExtra(PluralisError):
    """A library that is not installed with Pluralis by itself is needed.

    Examples
    --------
    >>> import pluralis as pls
    >>> try:
    ...     optional("no_such_library", "The method gd", "publish")
    ... except pls.MissingExtra as refusal:
    ...     print(refusal)
    The method gd needs no_such_library. Install it: pip install 'pluralis[publish]'.
    """


def optional(module: str, needed_by: str, extra: str) -> Any:
    """A library that only an extra installs."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise MissingExtra(f"{needed_by} needs {module}. Install it: pip install 'pluralis[{extra}]'.") from None


class Infeasible(PluralisError):
    """No release of this table by this method meets the policy.

    Examples
    --------
    >>> import polars as pl
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40], "disease": ["flu", "flu", "hiv"]})
    >>> try:
    ...     pls.publish(people, pls.Policy(quasi=["age"], sensitive={"disease": 2}))
    ... except pls.Infeasible as refusal:
    ...     print(refusal)
    'disease' cannot be 2-diverse: 'flu' fills 2 of 3 rows (66.7%). It is too skewed for any guarantee better than its \
own top frequency; do not publish it, or allow suppress: 0.334.
    """

    exit_code = 3


SECRET_KEY = "made with a secret key"  # what a release of the test key is not


class AuditFailed(PluralisError):
    """The audit of the staged release found a claim that does not hold; nothing was published.

    Parameters
    ----------
    verdict : Verdict
        What the audit found.

    Examples
    --------
    >>> from pluralis import Finding, Verdict
    >>> AuditFailed(Verdict((Finding("P(disease | ", False),))).verdict.holds
    False
    """

    exit_code = 1

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        broken = "; ".join(str(finding) for finding in verdict.failures)
        super().__init__(f"The audit refused this release, so nothing was published. {broken}. {self._remedy()}")

    def _remedy(self) -> str:
        """What to do: a test key is no fault of the policy."""
        if {finding.claim for finding in self.verdict.failures} == {SECRET_KEY}:
            return "Publish without the test key, or allow it: allow_test."
        return "Lower the claim, declare fewer adversaries, or choose another method or variant."


class Breached(PluralisError):
    """An attack on the release got more than a claim allows; nothing was published.

    Parameters
    ----------
    results : list of Result
        What the attacks got.

    Examples
    --------
    >>> from pluralis import Result
    >>> result = Result("homogeneity", "disease", 9, False, 0.9, 0.9, 0.9, 0.3, promised=0.5, worst=1.0)
    >>> Breached([result]).results[0].breach
    True
    """

    exit_code = 1

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = tuple(results)
        got = "; ".join(
            f"{one.attack} ({one.question}) reaches a posterior of {one.worst:.4g}, where at most {one.promised:.4g} "
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


def closest(word: str, known: Iterable[str]) -> str | None:
    """The one name that an unknown one is close to; None where none is, or several are.

    >>> closest("Yess", ["No", "Yes"]), closest("hepatitis", ["hepatitis b", "hepatitis c"]), closest("x", ["yes"])
    ('Yes', None, None)
    """
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=2, cutoff=0.6)
    return folded[close[0]] if len(close) == 1 else None
