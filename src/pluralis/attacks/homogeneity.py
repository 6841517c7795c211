"""Homogeneity: the commonest value of a person's group is the person's.

Definition  For whoever knows all quasi values, or those that a claim names: `worst` is the largest share that one
            value has in any group (text in one spelling); `success` is how often the likeliest value of the rows that
            a person may be is the person's own, ties counted by their chance. Of a decomposed release, which tells no
            shares, `worst` is the larger of the largest share that the tables prove, and 1 / the values that remain
            possible where they are fewest.
Reference   Machanavajjhala et al.: l-Diversity. ICDE 2006.
Exposed     all kinds with groups. A claim of frequency, unique-distinct or recursive diversity bounds it (1/l, 1/l,
            c/(1+c)); distinct and entropy do not say how common a value may be.
Exact       `worst` always. `success` of all people up to `sample`, of a sample above; how the sets of a decomposed
            release are weighed is an estimate. A multi release is looked at table by table.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from pluralis.attacks.adversary.group_values import secrets_of, views
from pluralis.attacks.adversary.questions import Question, Targets, Weakest, blind_guess, questions, weakest, worlds_of
from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.auditing.decomposed_tables import NotJudged
from pluralis.auditing.worlds import Worlds, judge_claim
from pluralis.release.release import Release


class Homogeneity(Attack):
    name: ClassVar[str] = "homogeneity"
    title: ClassVar[str] = "homogeneity: the commonest value of a group"
    reference: ClassVar[str] = "Machanavajjhala et al. 2006"
    gets: ClassVar[str] = "people's {attribute} guessed right as the commonest value of their group"

    def applies(self, release: Release) -> bool:
        return release.kind != "candidates" and bool(questions(release, of_secrets=False))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        return ask(self.name, release, original, options, questions(release, of_secrets=False))


def ask(attack: str, release: Release, original: pl.DataFrame, options: Options, asked: list[Question]) -> list[Result]:
    """A result for each question: the weakest group of all, and how guessing goes."""
    targets: dict[tuple[str, ...], list[Targets]] = {}
    worlds = _worlds(release) if release.kind == "decomposed" else None
    results = []
    for question in asked:
        knows = question.adversary if release.kind == "multi" else question.quasi
        if knows not in targets:
            targets[knows] = [Targets(view, original, options) for view in views(release, knows)]
        mine = [of for of in targets[knows] if question.attribute in of.view.attributes]
        if not mine:
            continue
        guesses = [of.guess(question) for of in mine]
        best = max(guesses, key=lambda guess: guess.success)
        worst, note = _worst(release, worlds, mine, question)
        blind = blind_guess(release, original, question.attribute)
        results.append(
            Result(
                attack=attack,
                question=str(question),
                attribute=question.attribute,
                adversary=question.adversary,
                targets=best.targets,
                sampled=best.sampled,
                success=best.success,
                **bounds(best.success, best.targets, best.sampled),
                blind=blind,
                promised=question.promised,
                worst=None if worst is None else worst.share,
                witness=None if worst is None else worst.witness,
                note=note,
            )
        )
    return results


def _worst(
    release: Release, worlds: Worlds | NotJudged | None, targets: list[Targets], question: Question
) -> tuple[Weakest | None, str | None]:
    if worlds is not None:
        return weakest_set(release, worlds, question)
    found = [weakest(of.view, question) for of in targets]
    return max((one for one in found if one is not None), key=lambda one: one.share), None


def _worlds(release: Release) -> Worlds | NotJudged:
    try:
        return worlds_of(release)
    except NotJudged as no:
        return no


def weakest_set(release: Release, worlds: Worlds | NotJudged, question: Question) -> tuple[Weakest | None, str | None]:
    """Of a decomposed release: what is proved, and how few values remain possible."""
    if isinstance(worlds, NotJudged):
        return None, worlds.note
    l = round(1 / question.promised) if question.promised else release.manifest.parameters["l"][question.attribute]
    # a plain column stands beside the row, not in the sets: it tells the group, which is taken to be known
    known = [name for name in question.secrets if name in secrets_of(release)]
    try:
        found = judge_claim(worlds, frozenset(known), question.attribute, l)
    except NotJudged as no:
        return None, no.note
    worst = Weakest(max(found.share, 1 / found.measured), found.witness)
    joint = release.tables.get("sensitive")
    if joint is not None and known:
        counts = joint.group_by(*known, question.attribute).agg(pl.col("count").sum())
        of = counts.with_columns((pl.col("count") / pl.col("count").sum().over(known)).alias("\0share"))
        top = of.sort("\0share", *known, descending=True).row(0, named=True)
        said = ", ".join(f"{name} = {top[name]}" for name in known)
        worst = max(worst, Weakest(float(top["\0share"]), f"the sensitive table, {said}"), key=lambda one: one.share)
    return worst, found.note


ATTACK = Homogeneity()
