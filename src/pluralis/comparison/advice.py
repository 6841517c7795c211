"""Which of the trials to take and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pluralis.comparison.trials import TARGETS, Measured, Trial
from pluralis.display.words import counted
from pluralis.grouping.eligibility import bounds_values

if TYPE_CHECKING:
    from pluralis.comparison.frontier import Comparison


def advice_on(compared: Comparison) -> Iterator[str]:
    """Which to take and why, in sentences."""
    if not compared.ranked:
        yield _why_none(compared)
        yield from compared.notes
        return
    taken, best = compared.ranked[0]
    policy = compared.policy
    asked = ", ".join(f"{name} {policy.columns[name].asked_in_words(policy.l(name))}" for name in policy.sensitive)
    runs = counted(len(compared.ranked), "trial")
    methods = counted(len({trial.method for trial, _ in compared.ranked}), "method")
    yield (
        f"Take {taken.name}. It keeps every promise of the policy ({asked}), and of the {runs} of {methods} that "
        f"{'does' if len(compared.ranked) == 1 else 'do'} so it loses least: "
        f"{TARGETS[compared.target]} {_loss_in_words(compared, best)}."
    )
    yield from compared.notes
    yield from _next_best(compared, taken)
    worst = max((g.measured for g in best.guesses if g.measured is not None), default=None)
    if worst is not None:
        by = next(guess for guess in best.guesses if guess.measured == worst)
        known = ", ".join(by.adversary) or "nothing"
        yield f"Its worst guess is {worst:.1%}: {by.attribute}, by who knows {known}."
    if best.suppressed:
        yield f"It suppresses {best.suppressed:.2%} of the rows."
    yield from _best_generalized(compared, best)
    yield from _neighbors(compared, taken, best)
    baselines = sorted({trial.method for trial, _ in compared.made if trial.baseline})
    if baselines:
        yield f"Shown to compare with, and never taken: {', '.join(baselines)}."
    weaker = sorted({trial.method for trial, measured in compared.made if not measured.keeps})
    if weaker:
        yield (
            f"Not considered, because the promises of the policy are not all measured to hold for "
            f"{'it' if len(weaker) == 1 else 'them'}: {', '.join(weaker)}."
        )


def _loss_in_words(compared: Comparison, measured: Measured) -> str:
    loss, by = compared.loss(measured), compared.target
    if loss is None:
        return "none"
    return f"{loss:.1%}" if by == "error" else f"{loss:.3g} nats" if by == "kl" else f"{loss:.3f}"


def _why_none(compared: Comparison) -> str:
    if not compared.made:
        return "No method can publish this table under this policy; each says why below."
    if compared.policy.publish.variant == "paper":
        return "No paper variant is taken: they are there to be compared with. Write variant: hardened."
    able = [t.name for t, measured in compared.made if measured.satisfies(compared.policy) and not t.baseline]
    alone = [trial.name for trial, measured in compared.made if trial.baseline and measured.satisfies(compared.policy)]
    if alone and not able:
        return f"Only baselines keep the policy, and none is taken by itself: {', '.join(alone)}. Try other methods."
    if able:
        has = "has" if len(able) == 1 else "have"
        reason = f"{', '.join(able)} would keep the policy, but {has} no {TARGETS[compared.target]}."
        return f"{reason} Choose another target."
    policy = compared.policy
    columns = ((name, policy.columns[name], policy.l(name)) for name in policy.sensitive)
    asked = ", ".join(f"{name} {one.asked_in_words(l) if one.bounds else l}" for name, one, l in columns)
    remedy = "Lower l, or raise bounds." if bounds_values(policy) else "Lower l, or allow suppression: suppress."
    return f"No trial keeps every promise of the policy (l: {asked}). {remedy}"


def _next_best(compared: Comparison, taken: Trial) -> Iterator[str]:
    others = [(trial, measured) for trial, measured in compared.ranked if trial.method != taken.method]
    if others:
        trial, measured = others[0]
        yield f"The next best method is {trial.name}: {_loss_in_words(compared, measured)}."


def _best_generalized(compared: Comparison, best: Measured) -> Iterator[str]:
    """Where quasi-identifiers are published as they are: the best that generalizes them."""
    if best.ncp is not None:
        return
    advice = (
        "It publishes quasi-identifiers as they are, so that a person's row, though not its sensitive values, can be "
        "found."
    )
    hidden = [(trial, measured) for trial, measured in compared.ranked if measured.ncp is not None]
    if hidden:
        trial, measured = hidden[0]
        advice += f" If that matters, take {trial.name}: {_loss_in_words(compared, measured)}."
    yield advice


def _neighbors(compared: Comparison, taken: Trial, best: Measured) -> Iterator[str]:
    """What more privacy, or less, would cost: the neighbors on the frontier."""
    if taken.l is None or best.guess is None:
        return
    points = [(m.guess, t, m) for t, m in compared.made if t in compared.frontier and m.guess is not None]
    above = [point for point in points if point[0] < best.guess - 1e-9]
    below = [point for point in points if point[0] > best.guess + 1e-9]
    if above:
        guess, trial, measured = max(above, key=lambda point: point[0])
        yield f"One step more private is {trial.name}: a guess of {guess:.1%}, {_loss_in_words(compared, measured)}."
    if below:
        guess, trial, measured = min(below, key=lambda point: point[0])
        lost = _loss_in_words(compared, measured)
        promised = "" if measured.satisfies(compared.policy) else ", which is less than the policy asks for"
        yield f"One step less private is {trial.name}: a guess of {guess:.1%}, {lost}{promised}."
