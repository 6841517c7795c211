"""What an attack is, and what it reports.

An attack plays an adversary: it reads a release, and the original only to choose whom to attack and to count how often
it was right. A score means nothing alone. So a result stands beside what was promised, and beside the best guess of
somebody without the release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.display.objects import Columns, Shown, filled_in
from pluralis.errors import InputError
from pluralis.release.manifest import quoted
from pluralis.release.release import Release

SAMPLE = 20_000  # people attacked, where all would take too long
PEOPLE = "people"  # whoever was attacked, where nobody was picked
ABOVE_PROMISED_RATE = "more often than promised"
DOUBT = 4.5  # standard errors: what is beyond them is beyond doubt
NOT_JUDGED = "not judged"
NOT_RUN = "not run"
SLACK = 1e-9  # by which a share may exceed what was promised: rounding


@dataclass(frozen=True)
class Options:
    """How many people to attack where not all, and which ones: `seed` decides no privacy.

    `folder` is where the release lies, for attacks on its files; `others` are other releases of the same people, the
    earliest first. `persons` are numbers that say whose each row of the original is, where that is known.
    """

    sample: int = SAMPLE
    seed: int = 0
    folder: Path | None = None
    others: tuple[Release, ...] = ()
    persons: npt.NDArray[np.int64] | None = field(default=None, compare=False, repr=False)

    def targets(self, rows: int) -> npt.NDArray[np.int64]:
        """The rows to attack: all, or a drawn sample, in order."""
        if rows <= self.sample:
            return np.arange(rows)
        return np.sort(np.random.default_rng(self.seed).choice(rows, self.sample, replace=False))


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """What one attack got, for one question.

    Parameters
    ----------
    attack, question : str
        The attack, and what it asked.
    targets : int
        How many people were attacked.
    sampled : bool
        Whether they are a sample.
    success, low, high : float
        The share of targets that were guessed right, ties counted by their chance, and its 95 % interval where the
        targets are a sample; both ends are success where they are all.
    prior : float
        The prior (the best guess without the release).
    attribute, adversary : str and tuple of str, optional
        What was guessed, and what the adversary knows.
    promised : float, optional
        What a claim of the release bounds.
    worst : float, optional
        The highest probability that any target's value got.
    witness, note : str, optional
        Where that was, and what else there is to say.
    certain : float, optional
        The share of targets of whom the release leaves one value only, where that is asked.
    share : float, optional
        The share of all people that the targets stand for, where they were picked because much is learned of them.
    value : str, optional
        The value that was asked about, where it was one of an attribute's; `prior` is its share then.
    whom : str
        Who the targets are, in words.

    Examples
    --------
    >>> result = Result("homogeneity", "disease", 100, False, 0.4, 0.4, 0.4, 0.3, promised=0.5, worst=0.5)
    >>> result.breach, result.above_chance, result.standing
    (False, True, 'within the promise')
    """

    attack: str
    question: str
    targets: int
    sampled: bool
    success: float
    low: float
    high: float
    prior: float
    attribute: str | None = None
    adversary: tuple[str, ...] = ()
    promised: float | None = None
    worst: float | None = None
    witness: str | None = None
    note: str | None = None
    certain: float | None = None
    share: float | None = None
    value: str | None = None
    whom: str = PEOPLE

    @property
    def guessed(self) -> str:
        """What was guessed: the attribute, or one value of it.

        >>> Result("homogeneity", "", 9, False, 0.3, 0.3, 0.3, 0.1, attribute="ill", value="Yes").guessed
        'ill = Yes'
        """
        name = quoted(self.attribute or "")
        return name if self.value is None else f"{name} = {quoted(self.value)}"

    @property
    def judged(self) -> bool:
        """Whether anything was measured; `note` says why not."""
        return self.targets > 0 or self.worst is not None

    @property
    def breach(self) -> bool:
        """Whether a promise is exceeded."""
        return self.promised is not None and self.worst is not None and self.worst > self.promised + SLACK

    @property
    def above_promised_rate(self) -> bool:
        """Whether guesses came true more often than promised, beyond chance, though none was surer.

        A claim takes the rows of a group to be equally likely. Where values go with what is known, they are not.
        """
        sure, _ = interval(self.success, self.targets, SURELY)
        return self.promised is not None and not self.breach and sure > self.promised + SLACK

    @property
    def above_chance(self) -> bool:
        """Whether it did better than somebody without the release, beyond the chance of the sample."""
        return self.low > self.prior + SLACK

    @property
    def standing(self) -> str:
        """What to make of it, in a few words."""
        if self.breach:
            return "breach"
        if not self.judged:
            return NOT_JUDGED
        if not self.above_chance:
            return "no better than the prior"
        if self.above_promised_rate:
            return ABOVE_PROMISED_RATE
        return "above chance" if self.promised is None else "within the promise"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data.

        Returns
        -------
        dict
            Its fields, `breach` and `above_chance`.

        Examples
        --------
        >>> Result("homogeneity", "disease", 100, False, 0.4, 0.4, 0.4, 0.3).to_dict()["breach"]
        False
        """
        return {**asdict(self), "breach": self.breach, "above_chance": self.above_chance}

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Result: {self.attack}, {self.question}"
        interval = f", interval {self.low:.1%} to {self.high:.1%}" if self.sampled else ""
        yield from filled_in({
            "right": f"{self.success:.1%} of {self.targets:,}{interval}" if self.targets else None,
            "prior": f"{self.prior:.1%}",
            "worst": None if self.worst is None else f"{self.worst:.4g}",
            "promised": None if self.promised is None else f"{self.promised:.4g}",
            "that is": self.standing,
            "weakest": self.witness,
            "note": self.note,
        })  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """What `to_dict` made, also after JSON.

        Parameters
        ----------
        data : dict
            Plain data.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        InputError
            If fields are missing.

        Examples
        --------
        >>> result = Result("homogeneity", "disease", 100, False, 0.4, 0.4, 0.4, 0.3)
        >>> Result.from_dict(result.to_dict()) == result
        True
        """
        later = {"certain": None, "share": None, "value": None, "whom": PEOPLE}  # which an older file does not have
        needed = [one.name for one in fields(cls) if one.name not in later]
        if missing := [name for name in needed if name not in data]:
            raise InputError(f"A result of an attack has {', '.join(missing)} too. Pass what `to_dict` made.")
        plain: dict[str, Any] = {name: data[name] for name in needed}
        plain |= {name: data.get(name, default) for name, default in later.items()}
        return cls(**{**plain, "adversary": tuple(plain["adversary"])})


class Attack(ABC):
    """One way to learn from a release what it should not tell. Changes nothing and writes nothing.

    `headline` says what it is right about, after "82 % of "; a result fills in its attribute or question. One that is
    not `quick` takes seconds for 30,000 rows, or needs more than the release in memory.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    headline: ClassVar[str] = "people's {attribute} guessed right"
    quick: ClassVar[bool] = True

    def subject(self, result: Result) -> str:
        """What a result is right about, after "82 % of "."""
        if result.value is not None:
            return f"{result.whom} rightly taken to have {result.guessed}"
        return self.headline.format(attribute=result.attribute or "value", question=result.question)

    @abstractmethod
    def applies(self, release: Release) -> bool:
        """Whether there is anything to attack."""

    def at_publication(self, release: Release) -> bool:
        """Whether it is run when a release is made."""
        return self.quick and self.applies(release)

    @abstractmethod
    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        """A result for each question that the attack asks of this release."""


SURELY = 3.3  # standard errors: many are asked about, and none should seem above what is promised by chance


def interval(success: float, targets: int, confidence: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share.

    >>> [round(end, 3) for end in interval(0.5, 100)]
    [0.404, 0.596]
    """
    if not targets:
        return 0.0, 1.0
    square = confidence**2 / targets
    middle, half = (
        success + square / 2,
        confidence * math.sqrt(success * (1 - success) / targets + square / targets / 4),
    )
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def beyond_doubt(success: float, alone: float, targets: int, bound: float) -> float:
    """How often guesses came true beyond doubt, where that is more than `alone`, row by row; else at most the bound.

    >>> round(beyond_doubt(0.74, 0.26, 5_000, 0.25), 2)
    0.71
    >>> beyond_doubt(0.35, 0.34, 5_000, 0.25)  # people who are alike have the same: that rows tell by themselves
    0.25
    """
    sure, _ = interval(success, targets, DOUBT)
    _, by_row = interval(alone, targets, DOUBT)
    return sure if sure > by_row else min(sure, bound)


class Score(TypedDict):
    """How often guesses were right, as fields of a Result."""

    targets: int
    sampled: bool
    success: float
    low: float
    high: float


def score(success: float, targets: int, sampled: bool) -> Score:
    """Those fields; the interval is a point where all people are targets.

    >>> score(0.5, 100, False)
    {'targets': 100, 'sampled': False, 'success': 0.5, 'low': 0.5, 'high': 0.5}
    """
    low, high = interval(success, targets) if sampled else (success, success)
    return {"targets": targets, "sampled": sampled, "success": success, "low": low, "high": high}
