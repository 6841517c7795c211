"""Non-uniform prior: weighing the values of a published set by how common they are.

Definition  A row publishes a set R that was drawn with a probability P(R | v), known by the design. Whoever takes
            s(v) for how common values are believes v with s(v) P(R | v) / sum over R of the same. Three questions: with
            the shares of the whole table, as a calibrated design states them or as all sets together show them; with
            the shares among people who are alike (`cell`: each quasi-identifier that enough rows share, the largest
            kinds of people first), learned from their sets alone by expectation and maximization; and, where something
            is promised of it and no row was suppressed, with the true shares of the original. `success` is how often
            the likeliest value is right, over the rows that a person may be. `worst` of the first is the claim's own
            measure: by stated shares exactly 1/l; where nothing is stated, what is likely beyond doubt (4.5 standard
            errors). `worst` of the second is the best guess, on average, in the most telling kind of people; of the
            third, the largest posterior in any published set.
Reference   Sei, Ohsuga: Randomized Addition of Sensitive Attributes for l-diversity. SECRYPT 2014, and its hole.
Exposed     randomized-addition: `variant: paper` on skewed data. A claim of `posterior` promises 1/l by the published
            weights and a bound by the true shares; `set-size` promises neither, and nothing bounds the second question.
Exact       the first `worst` over all sets. Kinds of people are looked for in at most ROWS rows; `success` of a
            sample of people above `sample`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import row_numbers, shared_codes
from pluralis.attacks.adversary.group_values import GroupValues, TableView, set_shares, set_values, table_views
from pluralis.attacks.adversary.knowledge import Question, prior_guess, quasi_identifiers, sensitive_attributes
from pluralis.attacks.adversary.posterior import Guesses, Targets
from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.auditing.drawn_sets import DrawnSets
from pluralis.auditing.kinds.candidates import best_guess
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.grouping.addition import Design, different, likeliest, posteriors
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import number_text

ROWS = 50_000  # in which people who are alike are looked for
CELL = 20  # rows for each value that there is, or the shares of a cell are chance
CELLS = 100  # of each column, the largest
STEPS = 60

Sets = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """People who are alike, and the shares of values that their sets make likeliest.

    `places` are those of their rows among the rows that are asked about.
    """

    words: str
    places: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    average: float  # how often the best guess is right, if the shares are


class Prior(Attack):
    name: ClassVar[str] = "prior"
    title: ClassVar[str] = "non-uniform prior: how common the values of a set are"
    reference: ClassVar[str] = "Sei and Ohsuga 2014"
    headline: ClassVar[str] = "people's {attribute} guessed right by what people who are alike have"

    def applies(self, release: Release) -> bool:
        return release.traits.lists_values

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        estimator = estimator_of(release)
        assert isinstance(estimator, Candidates)
        (view,) = table_views(release, quasi_identifiers(release))
        targets = Targets(view, original, options)
        results = []
        for name in sensitive_attributes(release):
            drawn = estimator.drawn[name]
            results.append(self._overall(targets, name, drawn.sets, drawn.design, original))
            asked = _asked(targets)
            cells = list(_cells(view, drawn.sets, drawn.design, asked))
            if cells:
                shares = set_shares(drawn.sets, drawn.design)
                results.append(self._alike(targets, name, drawn.sets[asked], shares, drawn.design, original, cells))
            if _promised(release, name) is not None and not release.manifest.suppressed:
                results.append(self._known(targets, name, drawn.sets, drawn.design, original))
        return results

    def _overall(self, targets: Targets, name: str, sets: Sets, design: Design, original: pl.DataFrame) -> Result:
        release = targets.view.release
        question = Question(name, tuple(quasi_identifiers(release)), (), _promised(release, name))
        guess = targets.guess(question)
        best = best_guess(sets, DrawnSets.stated(release.manifest.parameters.addition[name], design.l))
        stated = design.counts is not None and best.least <= design.bound
        if stated:
            worst, note = 1 / design.l, "by the stated shares"
        else:
            worst = best.least if question.promised is not None else best.share
            note = f"by the shares that the sets show about {best.share:.3g}, no less than {best.least:.3g}"
        members = ", ".join(_text(design, member) for member in best.members)
        words = f"{question}, and how common each value is"
        measured = {"worst": worst, "witness": f"the set {members}", "note": note}
        return self._result(words, question, guess, prior_guess(release, original, name), **measured)

    def _alike(
        self,
        targets: Targets,
        name: str,
        sets: Sets,
        shares: Reals,
        design: Design,
        original: pl.DataFrame,
        cells: list[Cell],
    ) -> Result:
        """Everybody by the most telling kind of people that the person is of; `sets` are those that are asked about."""
        release = targets.view.release
        likely = posteriors(sets, shares, design.weight)
        sure = np.zeros(len(sets))
        for cell in sorted(cells, key=lambda cell: cell.average):
            better = cell.places[sure[cell.places] < cell.average]
            likely[better] = posteriors(sets[better], cell.shares, design.weight)
            sure[better] = cell.average
        top = max(cells, key=lambda cell: cell.average)
        question = Question(name, tuple(quasi_identifiers(release)), (), None)
        guess = targets.guess(question, _values_by(targets, name, sets, likely, design))
        words = f"{question}, and what people who are alike have"
        note = f"learned from the sets of {len(cells):,} kinds of people; `worst` is the average of one kind"
        measured = {"worst": top.average, "witness": top.words, "note": note}
        return self._result(words, question, guess, prior_guess(release, original, name), **measured)

    def _known(self, targets: Targets, name: str, sets: Sets, design: Design, original: pl.DataFrame) -> Result:
        """Everybody by how many rows of the original hold each value."""
        release = targets.view.release
        info, domain = attributes_of(release)[name], targets.view.domain(name)
        true = domain.codes(original_values(original, info, release.manifest), info).to_numpy()
        places = domain.codes(design.series, info).to_numpy()
        shares = np.bincount(true, minlength=int(places.max()) + 1)[places] / max(1, true.size)
        every, _ = different(sets, design.m)
        likely = posteriors(every, shares, design.weight)
        row, _ = np.unravel_index(int(likely.argmax()), likely.shape)
        bounds_of = [c.bound for c in release.manifest.claims if c.attribute == name and c.bound is not None]
        question = Question(name, tuple(quasi_identifiers(release)), (), min(bounds_of, default=None))
        asked = sets[_asked(targets)]
        by_row = posteriors(asked, shares, design.weight)
        guess = targets.guess(question, _values_by(targets, name, asked, by_row, design))
        witness = f"the set {', '.join(_text(design, member) for member in every[row].tolist())}"
        measured = {"worst": float(likely.max()), "witness": witness, "note": "by the shares of the original"}
        words = f"{question}, and how many rows hold each value"
        return self._result(words, question, guess, prior_guess(release, original, name), **measured)

    def _result(self, words: str, question: Question, guess: Guesses, prior: float, **measured: Any) -> Result:
        return Result(
            attack=self.name,
            question=words,
            attribute=question.attribute,
            adversary=question.adversary,
            **score(guess.success, guess.targets, guess.sampled),
            prior=prior,
            promised=question.promised,
            **measured,
        )


def _promised(release: Release, name: str) -> float | None:
    bounds_of = [1 / c.l for c in release.manifest.claims if c.attribute == name and c.model == "posterior" and c.l]
    return min(bounds_of, default=None)


def _asked(targets: Targets) -> Ints:
    """The rows of the release that targets may be, which are groups of their own."""
    return targets.boxes[GROUP].unique().sort().to_numpy()


def _cells(view: TableView, sets: Sets, design: Design, asked: Ints) -> Iterator[Cell]:
    """Kinds of people by each quasi-identifier, and by all, that have rows enough."""
    step = -(-len(sets) // ROWS)
    each = [[column.name] for column in view.columns]
    for names in [*each, *([[name for (name,) in each]] if len(each) > 1 else [])]:
        codes = (shared_codes([view.rows[name]])[0] for name in names)
        kind_of = row_numbers(codes, len(sets))
        sizes, of_asked = np.bincount(kind_of), kind_of[asked]
        large = np.flatnonzero(sizes >= CELL * design.m * step)
        for kind in large[np.lexsort((large, sizes[large]))][::-1][:CELLS]:
            rows = np.flatnonzero(kind_of == kind)
            some = sets[rows[::step]]
            shares = likeliest(some, design.weight, np.full(design.m, 1 / design.m), steps=STEPS)
            every, count = different(some, design.m)
            average = float((posteriors(every, shares, design.weight).max(axis=1) * count).sum() / count.sum())
            words = ", ".join(f"{name} = {view.rows[name][int(rows[0])]}" for name in names)
            yield Cell(words, np.flatnonzero(of_asked == kind), np.asarray(shares), average)


def _values_by(targets: Targets, name: str, sets: Sets, likely: Reals, design: Design) -> GroupValues:
    """The sets of the rows that are asked about, their members as likely as said."""
    view = targets.view
    codes = view.domain(name).codes(design.series, attributes_of(view.release)[name])
    return set_values(name, _asked(targets), sets, likely, codes)


def _text(design: Design, code: int) -> str:
    value = design.values[code]
    return value if isinstance(value, str) else number_text(value)


ATTACK = Prior()
