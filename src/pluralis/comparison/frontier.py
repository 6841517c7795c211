"""Trials compared: which of them no other one beats, and which to take.

Words      trial = a method at one l (`trials`). target = the measure of utility that decides: `error` of counts, `kl`
           or `ncp`; less is better in all three.
           frontier = trials that no other one beats: none has a smaller guess and loses no more by the target.
Taken      of the trials that keep every promise of the policy as it is written, the one that loses least by the target.
           Where two lose the same, as the table shows it (three digits), the one whose guess is smaller, then the one
           that suppresses fewer rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pluralis.comparison.advice import advice_on
from pluralis.comparison.trials import TARGETS, Measured, Target, Trial
from pluralis.display.objects import Columns, Shown
from pluralis.display.words import counted
from pluralis.policy.policy import Policy


class Point(NamedTuple):
    """A trial by what can still be guessed and what is lost; less is better in both."""

    guess: float
    loss: float
    trial: Trial


def not_beaten(points: Iterable[Point]) -> list[Point]:
    """The points of which no other has a smaller guess and loses no more, the most private first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.guess, point.loss, point.trial.method)):
        least = front[-1].loss if front else float("inf")
        if point.loss < least - 1e-12 or (front and point[:2] == front[-1][:2]):
            front.append(point)
    return front


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Every trial, in the order in which methods and l were named, and what follows from them.

    Parameters
    ----------
    policy : Policy
        What was asked.
    target : {"error", "kl", "ncp"}
        The loss by which to choose.
    trials : tuple of Trial
        Each method at each l: what came of it, or why it was refused.
    rows : int
        Of the table.
    notes : tuple of str
        What was asked and is not possible, and what was tried in its place.

    Examples
    --------
    >>> import pluralis as pls
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> compared = pls.compare(people, policy, methods=["anatomy", "bsgi"], cache=False, workers=0)
    >>> compared.taken.method
    'anatomy'
    """

    policy: Policy
    target: Target
    trials: tuple[Trial, ...]
    rows: int
    notes: tuple[str, ...] = ()

    @property
    def made(self) -> list[tuple[Trial, Measured]]:
        """Trials that gave a release."""
        return [(trial, trial.measured) for trial in self.trials if trial.measured is not None]

    @property
    def refused(self) -> list[Trial]:
        """Trials that gave none, with the reason."""
        return [trial for trial in self.trials if trial.measured is None]

    @property
    def adversaries(self) -> list[tuple[str, ...]]:
        """Whoever the policy protects from."""
        return list(dict.fromkeys(tuple(sorted(known)) for known, _ in self.policy.promises))

    def loss(self, measured: Measured, by: Target | None = None) -> float | None:
        """What a release loses by the target, or another measure.

        Parameters
        ----------
        measured : Measured
            What was measured of a trial.
        by : {"error", "kl", "ncp"}, optional
            The measure; without it the target.

        Returns
        -------
        float or None
            None where its kind does not have this measure.

        Examples
        --------
        >>> from pluralis.comparison.trials import Measured
        >>> measured = Measured("generalized", (), error=0.1, kl=None, ncp=0.2, suppressed=0.0, seconds=1.0)
        >>> comparison = Comparison(Policy(sensitive={"disease": 2}), "error", (Trial("bsgi", None, measured),), 4)
        >>> comparison.loss(measured), comparison.loss(measured, "ncp")
        (0.1, 0.2)
        """
        value: float | None = getattr(measured, by or self.target)
        return value

    @cached_property
    def frontier(self) -> list[Trial]:
        """The trials that keep what they were asked to and that no other beats, the most private first."""
        return self.frontier_by(self.target)

    def frontier_by(self, target: Target) -> list[Trial]:
        """The frontier by any of the measures of utility.

        Where a method gives the same for several l, only the largest of them is on it, which promises most.

        Parameters
        ----------
        target : {"error", "kl", "ncp"}
            The measure.

        Returns
        -------
        list of Trial
            The trials that no other one beats, the most private first.

        Examples
        --------
        >>> policy = Policy(sensitive={"disease": 2})
        >>> Comparison(policy, "error", (Trial("bsgi", None, refused="No."),), 4).frontier_by("kl")
        []
        """
        points = [
            Point(guess, loss, trial)
            for trial, measured in self.made
            if measured.keeps
            and (guess := measured.guess) is not None
            and (loss := self.loss(measured, target)) is not None
        ]
        points = list({(point.guess, point.loss, point.trial.method): point for point in points}.values())
        return [point.trial for point in not_beaten(points)]

    @cached_property
    def ranked(self) -> list[tuple[Trial, Measured]]:
        """The trials that keep every promise of the policy as it is written, the best by the target first.

        Baselines and paper variants are there to be compared with, and none of them is taken.
        """
        able = [(t, m) for t, m in self.made if m.satisfies(self.policy) and self.loss(m) is not None]
        able = [] if self.policy.publish.variant == "paper" else [(t, m) for t, m in able if not t.baseline]

        def order(pair: tuple[Trial, Measured]) -> tuple[float, float, float, str, int]:
            trial, measured = pair
            guess = 1.0 if measured.guess is None else measured.guess
            return (
                round(self.loss(measured) or 0.0, 3),
                round(guess, 6),
                measured.suppressed,
                trial.method,
                -(trial.l or 0),
            )

        return sorted(able, key=order)

    @property
    def taken(self) -> Trial | None:
        """The one to take."""
        return self.ranked[0][0] if self.ranked else None

    def advice(self) -> Iterator[str]:
        """Which to take and why, in sentences.

        Returns
        -------
        iterator of str
            The sentences.

        Examples
        --------
        >>> policy = Policy(sensitive={"disease": 2})
        >>> list(Comparison(policy, "error", (Trial("bsgi", None, refused="No."),), 4).advice())
        ['No method can publish this table under this policy; each says why below.']
        """
        return advice_on(self)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data.

        Returns
        -------
        dict
            As `pluralis compare --json` prints it.

        Examples
        --------
        >>> policy = Policy(sensitive={"disease": 2})
        >>> Comparison(policy, "error", (Trial("bsgi", None, refused="No."),), 4).to_dict()["refused"]
        [{'method': 'bsgi', 'l': None, 'reason': 'No.'}]
        """
        on = {(trial.method, trial.l) for trial in self.frontier}
        return {
            "rows": self.rows,
            "target": self.target,
            "take": None if self.taken is None else {"method": self.taken.method, "l": self.taken.l},
            "advice": list(self.advice()),
            "notes": list(self.notes),
            "trials": [
                {
                    "method": trial.method,
                    "l": trial.l,
                    **asdict(measured),
                    "guess": measured.guess,
                    "keeps": measured.keeps,
                    "satisfies_policy": measured.satisfies(self.policy),
                    "frontier": (trial.method, trial.l) in on,
                    "baseline": trial.baseline,
                }
                for trial, measured in self.made
            ],
            "refused": [{"method": trial.method, "l": trial.l, "reason": trial.refused} for trial in self.refused],
        }

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Comparison of {counted(len(self.trials), 'trial')} on {self.rows:,} rows, by {TARGETS[self.target]}"
        rows = [
            [
                "▶" if trial is self.taken else "●" if trial in self.frontier else "", trial.method,
                "policy" if trial.l is None else str(trial.l), _share(measured.guess), _share(measured.error),
                "" if measured.kl is None else f"{measured.kl:.3g}",
                "" if measured.ncp is None else f"{measured.ncp:.3f}",
                f"{measured.suppressed:.1%}", _remark(trial, measured, self.policy),
            ]
            for trial, measured in self.made
        ]  # fmt: skip
        if rows:
            heads = ("", "method", "l", "guess", "error", "KL", "NCP", "suppressed", "")
            yield Columns(heads, rows, right=(2, 3, 4, 5, 6, 7))
            yield "▶ take this one   ● on the frontier"
        if self.refused:
            yield "Do not apply:"
            yield Columns(("", ""), [[trial.name, trial.refused or ""] for trial in self.refused])
        yield from self.advice()


def _remark(trial: Trial, measured: Measured, policy: Policy) -> str:
    """Why a trial is not taken, whatever it loses."""
    if not measured.satisfies(policy):
        return "less than the policy asks"
    return "a baseline" if trial.baseline else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
