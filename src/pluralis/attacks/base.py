"""What an attack is, and what it reports.

An attack plays an adversary: it reads a release, and the original only to choose whom to attack and to count how often
it was right. A score means nothing alone. So a result stands beside what was promised, and beside the best guess of
somebody without the release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.release.release import Release

SAMPLE = 20_000  # people attacked, where all would take too long
OFTENER = "more often than promised"
DOUBT = 4.5  # standard errors: what is beyond them is beyond doubt
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


@dataclass(frozen=True)
class Result:
    """What one attack got, for one question.

    success   the share of targets that were guessed right, ties counted by their chance; low to high is its 95 %
              interval where the targets are a sample, and both are success where they are all
    promised  what a claim of the release bounds, or None
    blind     the best guess without the release
    worst     the highest probability that any target's value got, or None where the attack has none
    """

    attack: str
    question: str
    targets: int
    sampled: bool
    success: float
    low: float
    high: float
    blind: float
    attribute: str | None = None
    adversary: tuple[str, ...] = ()
    promised: float | None = None
    worst: float | None = None
    witness: str | None = None
    note: str | None = None

    @property
    def breach(self) -> bool:
        """Whether a promise is exceeded."""
        return self.promised is not None and self.worst is not None and self.worst > self.promised + SLACK

    @property
    def oftener(self) -> bool:
        """Whether guesses came true more often than promised, beyond chance, though none was surer.

        A claim takes the rows of a group to be equally likely. Where values go with what is known, they are not.
        """
        sure, _ = interval(self.success, self.targets)
        return self.promised is not None and not self.breach and sure > self.promised + SLACK

    @property
    def above_chance(self) -> bool:
        """Whether it did better than somebody without the release, beyond the chance of the sample."""
        return self.low > self.blind + SLACK

    @property
    def standing(self) -> str:
        """What to make of it, in a few words."""
        if self.breach:
            return "breach"
        if not self.above_chance:
            return "no better than blind"
        if self.oftener:
            return OFTENER
        return "above chance" if self.promised is None else "within the promise"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "breach": self.breach, "above_chance": self.above_chance}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """What `to_dict` made, also after JSON."""
        plain = {one.name: data[one.name] for one in fields(cls)}
        return cls(**{**plain, "adversary": tuple(plain["adversary"])})


class Attack(ABC):
    """One way to learn from a release what it should not tell. Changes nothing and writes nothing.

    `gets` says what it is right about, after "82 % of "; a result fills in its attribute or question. One that is not
    `quick` takes seconds for 30,000 rows, or needs more than the release in memory.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    gets: ClassVar[str] = "people's {attribute} guessed right"
    quick: ClassVar[bool] = True

    def subject(self, result: Result) -> str:
        """What a result is right about, after "82 % of "."""
        return self.gets.format(attribute=result.attribute or "value", question=result.question)

    @abstractmethod
    def applies(self, release: Release) -> bool:
        """Whether there is anything to attack."""

    def at_publication(self, release: Release) -> bool:
        """Whether it is run when a release is made."""
        return self.quick and self.applies(release)

    @abstractmethod
    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        """A result for each question that the attack asks of this release."""


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


def bounds(success: float, targets: int, sampled: bool) -> dict[str, float]:
    """`low` and `high` of a Result."""
    low, high = interval(success, targets) if sampled else (success, success)
    return {"low": low, "high": high}
