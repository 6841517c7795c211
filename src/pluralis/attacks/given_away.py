"""Whether a plain column gives a sensitive attribute away, though every claim holds: no claim speaks of plain columns.

Measured   by the attack `plain`: how often guesses come true of the people of whom the column tells.
Given away where that is FAR above what claims allow a guess of the attribute to whoever does not know the column,
           beyond doubt. Of several the one that tells most people more than that.
Not said   of attributes of which only some values are bounded: how often any value is guessed says little of those.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.attacks.adversary.knowledge import bound_of
from pluralis.attacks.base import DOUBT, Result, interval
from pluralis.display.words import percent
from pluralis.release.manifest import Claim

FAR = 0.1


def given_away(results: Sequence[Result], claims: Sequence[Claim]) -> Result | None:
    """The result in which a plain column gives most away, or None.

    >>> claim = Claim(rule="", model="frequency", adversary=("age",), attribute="job", l=4)
    >>> told = Result("plain", "", 900, True, 0.87, 0.85, 0.89, 0.1, "job", ("age", "town"), share=0.7)
    >>> given_away([told], [claim]) == told, given_away([told], []), given_away([], [claim])
    (True, None, None)
    """
    about = [(result, above) for result in results if (above := _above(result, claims)) > FAR]
    return max(about, key=lambda one: one[1] * (one[0].share or 0.0))[0] if about else None


def _above(result: Result, claims: Sequence[Claim]) -> float:
    """How far guesses through a plain column are above what is claimed of its attribute, beyond doubt."""
    bounds = [bound for claim in claims if claim.attribute == result.attribute and (bound := bound_of(claim))]
    if result.share is None or not bounds:
        return 0.0
    return interval(result.success, result.targets, DOUBT)[0] - min(bounds)


def in_words(result: Result, *, least: int = 0) -> str:
    """What the column gives away, without numbers where that is about fewer than `least` people.

    >>> told = Result("plain", "", 900, True, 0.87, 0.85, 0.89, 0.1, "job", ("age", "town"), share=0.7)
    >>> in_words(told)
    'town, a plain column, gives job away: guessed right for 87 % of the 70 % of people of whom it tells, prior 10 %'
    >>> in_words(told, least=1_000)
    'town, a plain column, gives job away'
    """
    words = f"{result.adversary[-1]}, a plain column, gives {result.attribute} away"
    if result.targets < least:
        return words
    people = f"{percent(result.success)} of the {percent(result.share or 0.0)} of people of whom it tells"
    return f"{words}: guessed right for {people}, prior {percent(result.prior)}"
