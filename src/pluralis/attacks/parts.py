"""What attacks got from a release in parts: of each question, what they got from all its parts.

Right      the share of all people who were attacked, whichever part they are in; so is the prior, the best guess of
           somebody who knows how common values are in a part. Its interval is that of so many people.
Worst      the posterior of the part in which it is nearest to what is promised, or furthest beyond it; where nothing is
           promised, the highest. So a breach in one part is one of the whole.
Learned    what an attack learns from all rows it learns from those of one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pluralis.attacks.base import Result, score
from pluralis.attacks.results import AttackResults

Named = tuple[str, Result]  # of a part, by its folder


def sample_of_parts(rows: Sequence[int], people: int) -> list[int]:
    """How many people to attack in each part, by its rows; at least one.

    >>> sample_of_parts([100, 300, 1], 40)
    [10, 30, 1]
    """
    return [max(1, round(people * own / sum(rows))) for own in rows]


def results_of_a_sample(folder: str, results: Sequence[Result]) -> tuple[Result, ...]:
    """The results of one part as those of a sample of all people.

    >>> one = Result("homogeneity", "ill", 100, False, 0.5, 0.5, 0.5, 0.2, worst=0.5, witness="group 7")
    >>> [(own.sampled, round(own.low, 2), own.witness) for own in results_of_a_sample("part-00001", [one])]
    [(True, 0.4, 'part-00001, group 7')]
    """
    return tuple(
        replace(own, **score(own.success, own.targets, own.targets > 0), witness=_placed(folder, own))
        for own in results
    )


def results_of_parts(parts: Iterable[tuple[str, Sequence[Result]]]) -> AttackResults:
    """The results of all parts, which come with their folders, question by question.

    >>> one, two = (Result("homogeneity", "ill", 50, True, right, 0.0, 1.0, 0.2, worst=right) for right in (0.2, 0.6))
    >>> both = results_of_parts([("part-00001", [one]), ("part-00002", [two])])
    >>> both[0].targets, both[0].success, both[0].worst, both[0].witness
    (100, 0.4, 0.6, 'part-00002')
    """
    asked: dict[tuple[object, ...], list[Named]] = {}
    for folder, results in parts:
        for own in results:
            question = (own.attack, own.question, own.attribute, own.adversary, own.value, own.whom)
            asked.setdefault(question, []).append((folder, own))
    return AttackResults(_together(same) for same in asked.values())


def _together(same: Sequence[Named]) -> Result:
    """One result of those of the same question."""
    results = [own for _, own in same]
    targets = sum(own.targets for own in results)
    folder, worst = max(same, key=lambda one: _beyond(one[1]))
    return replace(
        worst,
        **score(_mean(results, lambda own: own.success), targets, any(own.sampled for own in results)),
        prior=_mean(results, lambda own: own.prior),
        certain=_mean_if_known(results, lambda own: own.certain),
        share=_mean_if_known(results, lambda own: own.share),
        witness=_placed(folder, worst),
        note=_note(same, (folder, worst)),
    )


def _beyond(own: Result) -> tuple[bool, float]:
    """How far the worst guess is beyond what is promised."""
    worst = -1.0 if own.worst is None else own.worst
    return own.breach, worst - (own.promised or 0.0)


def _placed(folder: str, own: Result) -> str | None:
    if own.witness is not None:
        return f"{folder}, {own.witness}"
    return None if own.worst is None else folder


def _note(same: Sequence[Named], worst: Named) -> str | None:
    """What is said of all parts, or else of one: that in which a guess was surest."""
    notes = {own.note for _, own in same}
    folder, own = worst
    return own.note if len(notes) == 1 or own.note is None else f"{folder}: {own.note}"


def _mean(results: Sequence[Result], figure: Callable[[Result], float]) -> float:
    """By how many people each result is about."""
    targets = [own.targets if any(one.targets for one in results) else 1 for own in results]
    return sum(figure(own) * many for own, many in zip(results, targets, strict=True)) / sum(targets)


def _mean_if_known(results: Sequence[Result], figure: Callable[[Result], float | None]) -> float | None:
    known = [own for own in results if figure(own) is not None]
    return _mean(known, lambda own: figure(own) or 0.0) if known else None
