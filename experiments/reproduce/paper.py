"""What the reproduction of a paper consists of. `experiments/<paper>/run.py` defines one PAPER; nothing else does.

Words      point = one setting of an experiment (a method, an l, …), measured on its own; printed = what the paper's
           tables and text say, in `expected.toml`; a claim is a sentence of the paper that results can be held against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from experiments.reproduce.line_figures import Panel
from experiments.reproduce.public_data import find

Value = str | int | float | bool | None
Point = Mapping[str, Value]
Results = Mapping[str, pl.DataFrame]
Printed = Mapping[str, Any]

HOLDS, IN_PART, NOT, UNKNOWN = "holds", "holds in part", "does not hold here", "not measured"
MOST = 8  # instances of a claim that a page lists


@dataclass(frozen=True)
class Lab:
    """Where data lies, and whether the run is a quick one."""

    quick: bool = False
    folder: Path | None = None

    def file(self, name: str) -> Path:
        """A data file, downloaded if need be."""
        return find(name, self.folder)


@dataclass(frozen=True)
class Experiment:
    """Points of one kind. `measure` gives the rows of results of a point, without its settings.

    Every row of an experiment has the same names. `quick` are the points of a quick run, some of them.
    """

    name: str
    title: str
    points: Sequence[Point]
    quick: Sequence[Point]
    measure: Callable[[Point, Lab], Iterable[Mapping[str, Value]]]


class Case(NamedTuple):
    """One instance of a claim, as "l = 5: 0.19 against 0.53"."""

    holds: bool
    words: str


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper. `why` is said where it does not hold, or not always.

    A `timed` one is judged by seconds: on another machine, or a busy one, it may be judged otherwise.
    """

    statement: str
    source: str
    check: Callable[[Results, Printed], Iterable[Case]]
    why: str = ""
    timed: bool = False

    def judged(self, results: Results, printed: Printed) -> Judged:
        cases = tuple(self.check(results, printed))
        kept = sum(case.holds for case in cases)
        if not cases:
            return Judged(self, cases, UNKNOWN)
        return Judged(self, cases, HOLDS if kept == len(cases) else IN_PART if kept else NOT)


class Judged(NamedTuple):
    """A claim beside its instances."""

    claim: Claim
    cases: tuple[Case, ...]
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        cases = [case._asdict() for case in self.cases]
        return {
            "claim": self.claim.statement,
            "source": self.claim.source,
            "verdict": self.verdict,
            "cases": cases,
            "why": self.claim.why if self.verdict != HOLDS else "",
        }

    @property
    def numbers(self) -> str:
        """The instances in one line; where it does not hold everywhere, those first that speak against it."""
        against = _listed([case.words for case in self.cases if not case.holds])
        kept = _listed([case.words for case in self.cases if case.holds])
        if self.verdict == IN_PART:
            share = f"{sum(case.holds for case in self.cases)} of {len(self.cases)}"
            return f"in {share}. Not: {against}. But: {kept}"
        return against or kept


def _listed(sentences: Sequence[str]) -> str:
    """Some, and how many more there are.

    >>> _listed([str(i) for i in range(12)])
    '0; 1; 2; 3; 4; 5; 6; 7; and 4 more'
    """
    more = len(sentences) - MOST
    return "; ".join([*sentences[:MOST], f"and {more} more"] if more > 1 else sentences)


@dataclass(frozen=True)
class Number:
    """A printed number beside ours; `within` is the share by which they may differ, `why` what a difference is from."""

    what: str
    source: str
    printed: float
    ours: float
    within: float = 0.0
    why: str = ""

    @property
    def agrees(self) -> bool:
        return math.isclose(self.printed, self.ours, rel_tol=self.within, abs_tol=1e-9)


@dataclass(frozen=True)
class Figure:
    """A figure in the paper's axes. `caption` says what is to be seen, and what differs from the paper's."""

    name: str
    title: str
    panels: Sequence[Panel]
    caption: str = ""
    across: int = 2


@dataclass(frozen=True)
class Paper:
    """A paper and how it is reproduced. `settings` and `differences` are paragraphs of its page (Markdown)."""

    name: str
    title: str
    reference: str
    data: Sequence[str]
    settings: str
    experiments: Sequence[Experiment]
    claims: Sequence[Claim]
    numbers: Callable[[Results, Printed], Iterable[Number]]
    figures: Callable[[Results, Printed], Iterable[Figure]]
    differences: str = ""

    @property
    def folder(self) -> str:
        """Its folder in `experiments/`."""
        return self.name.replace("-", "_")
