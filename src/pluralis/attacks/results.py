"""What attacks got from one release, as a list that shows itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pluralis.attacks.base import Result
from pluralis.display.objects import Columns, Shown


def worst_first(results: Iterable[Result]) -> list[Result]:
    """Breaches, then what came true more often than promised, then by how far a guess is beyond the prior.

    >>> mild = Result("linkage", "a row", 100, False, 0.4, 0.4, 0.4, 0.3)
    >>> breach = Result("homogeneity", "disease", 100, False, 0.3, 0.3, 0.3, 0.3, promised=0.5, worst=1.0)
    >>> [result.attack for result in worst_first([mild, breach])]
    ['homogeneity', 'linkage']
    """
    return sorted(
        results,
        key=lambda one: (
            not one.breach, not one.above_promised_rate, not one.above_chance, round(one.prior - one.success, 9),
            one.attack, one.question,
        ),
    )  # fmt: skip


def worst_of_each(results: Iterable[Result]) -> list[Result]:
    """The same order, but first the worst result of each attribute or value, then all others.

    >>> asked = [("disease", 0.9), ("disease", 0.8), ("pay", 0.7)]
    >>> results = [Result("homogeneity", name, 100, False, right, right, right, 0.1, name) for name, right in asked]
    >>> [result.success for result in worst_of_each(results)]
    [0.9, 0.7, 0.8]
    """
    first: dict[tuple[str | None, ...], Result] = {}
    ordered = worst_first(results)
    for one in ordered:
        first.setdefault((one.attribute, one.value) if one.attribute is not None else (one.attack, one.question), one)
    chosen = {id(one) for one in first.values()}
    return [*first.values(), *(one for one in ordered if id(one) not in chosen)]


class AttackResults(Shown, list[Result]):
    """A list of what attacks got, a result for each question that one asked.

    Examples
    --------
    >>> result = Result("homogeneity", "disease", 100, False, 0.4, 0.4, 0.4, 0.3, promised=0.5, worst=0.5)
    >>> results = AttackResults([result])
    >>> results
    Attack results: 1 question asked, no promise is exceeded
      attack       question  right  prior  worst  promised
      homogeneity  disease   40.0%  30.0%    0.5       0.5  within the promise
    >>> results.breaches
    []
    """

    @property
    def breaches(self) -> list[Result]:
        """Results that exceed what was promised."""
        return [result for result in self if result.breach]

    def to_dict(self) -> dict[str, Any]:
        """The results as plain data.

        Returns
        -------
        dict
            As `pluralis attack --json` prints them.

        Examples
        --------
        >>> AttackResults().to_dict()
        {'results': []}
        """
        return {"results": [result.to_dict() for result in self]}

    def _parts(self) -> Iterator[str | Columns]:
        asked = f"{len(self):,} question{'' if len(self) == 1 else 's'} asked"
        breaches = len(self.breaches)
        exceeded = (
            f"{breaches:,} exceed{'s' if breaches == 1 else ''} a promise" if breaches else "no promise is exceeded"
        )
        yield f"Attack results: {asked}, {exceeded}" if self else "Attack results: nothing here to attack in this way"
        rows = [
            [one.attack, one.question, f"{one.success:.1%}", f"{one.prior:.1%}", _figure(one.worst),
             _figure(one.promised), one.standing]
            for one in worst_first(self)
        ]  # fmt: skip
        if rows:
            heads = ("attack", "question", "right", "prior", "worst", "promised", "")
            yield Columns(heads, rows, right=(2, 3, 4, 5))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
