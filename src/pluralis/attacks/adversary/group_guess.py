"""The likeliest value of a person's group: what whoever knows some values of a person guesses, question by question.

`worst` is the weakest group of all, which needs no original; `success` is how often the likeliest value is right. Of a
decomposed release, which tells no shares, `worst` is what its tables prove in all worlds that they leave possible.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pluralis.attacks.adversary.bounded_values import bounds_on, guess_value, nearest_its_bound
from pluralis.attacks.adversary.group_values import table_views
from pluralis.attacks.adversary.knowledge import Question, prior_guess, sensitive_attributes
from pluralis.attacks.adversary.posterior import Targets, Weakest, weakest
from pluralis.attacks.base import Options, Result, score
from pluralis.auditing.decomposed_tables import NotJudged, read_tables
from pluralis.auditing.decomposed_worlds import Worlds, judge_claim
from pluralis.auditing.decomposed_worlds_joint import JointWorlds
from pluralis.auditing.decomposed_worlds_product import ProductWorlds
from pluralis.display.words import percent
from pluralis.release.release import Release


def guess_results(
    attack: str, release: Release, original: pl.DataFrame, options: Options, questions: Sequence[Question]
) -> list[Result]:
    """A result for each question: the weakest group of all, and how guessing goes."""
    targets: dict[tuple[str, ...], list[Targets]] = {}
    worlds = _worlds_or_why_not(release) if release.traits.lists_of_groups else None
    results = []
    for question in questions:
        known = question.adversary if release.traits.has_subtables else question.quasi
        if known not in targets:
            targets[known] = [Targets(view, original, options) for view in table_views(release, known)]
        asked = [some for some in targets[known] if question.attribute in some.view.attributes]
        if not asked:
            continue
        best = max((some.guess(question) for some in asked), key=lambda guesses: guesses.success)
        worst, note = _worst(release, worlds, asked, question)
        results.append(
            Result(
                attack=attack,
                question=str(question),
                attribute=question.attribute,
                adversary=question.adversary,
                **score(best.success, best.targets, best.sampled),
                prior=prior_guess(release, original, question.attribute),
                promised=question.promised,
                worst=None if worst is None else worst.share,
                witness=None if worst is None else worst.witness,
                note=note,
            )
        )
        bounded = _of_bounded_value(attack, release, original, asked[0], question)
        results += [bounded] if bounded is not None else []
    return results


def _of_bounded_value(
    attack: str, release: Release, original: pl.DataFrame, targets: Targets, question: Question
) -> Result | None:
    """The same for the value that comes nearest to a bound of its own, where claims bound values one by one."""
    bounds_of_values = bounds_on(targets.view, question, release.manifest.claims)
    value = nearest_its_bound(targets.view, question, bounds_of_values) if bounds_of_values else None
    if value is None:
        return None
    guesses = guess_value(targets, question, value.code)
    true = targets.view.true_codes(original, question.attribute)
    share = guesses.targets / max(1, targets.class_of.size)
    return Result(
        attack=attack,
        question=f"{question.attribute} = {value.text}, knowing {', '.join(question.adversary) or 'nothing'}",
        attribute=question.attribute,
        adversary=question.adversary,
        **score(guesses.success, guesses.targets, guesses.sampled),
        prior=float((true == value.code).sum()) / max(1, true.len()),
        promised=value.bound,
        worst=value.weakest.share,
        witness=value.weakest.witness,
        note=f"of the {percent(share)} of people of whom it is likeliest",
        share=share,
        value=value.text,
        whom="people of whom it is likeliest",
    )


def _worst(
    release: Release, worlds: Worlds | NotJudged | None, targets: list[Targets], question: Question
) -> tuple[Weakest | None, str | None]:
    if worlds is not None:
        return weakest_in_worlds(release, worlds, question)
    groups = [weakest(some.view, question) for some in targets]
    return max((group for group in groups if group is not None), key=lambda group: group.share), None


# worlds of a decomposed release ---------------------------------------------------------------------------------


def possible_worlds(release: Release) -> Worlds:
    """What the tables of a decomposed release leave possible, exactly; NotJudged where that cannot be told.

    Where a group holds a value of the primary attribute twice (its set then has fewer values than the group has rows),
    that each is held once is not taken for granted, and attributes are looked at one by one.
    """
    primary, names = release.manifest.parameters.primary, sensitive_attributes(release)
    keep = release.manifest.parameters.case
    try:
        tables = read_tables(release.tables, primary, names, keep)
        return ProductWorlds(tables, primary) if tables.joint is None else JointWorlds(tables, primary)
    except NotJudged as no:
        if not no.witness:  # there was too much to look at, or tables contradict each other
            raise
        apart = {name: table for name, table in release.tables.items() if name != "sensitive"}
        joint = release.tables.get("sensitive")
        for name in names if joint is not None else ():
            assert joint is not None
            counts = joint.group_by(pl.col(name).alias("value")).agg(pl.col("count").sum()).sort("value")
            apart[f"sensitive_{name}"] = counts
        return ProductWorlds(read_tables(apart, "", names, keep), "")


def _worlds_or_why_not(release: Release) -> Worlds | NotJudged:
    try:
        return possible_worlds(release)
    except NotJudged as no:
        return no


def weakest_in_worlds(
    release: Release, worlds: Worlds | NotJudged, question: Question
) -> tuple[Weakest | None, str | None]:
    """Of a decomposed release: what is proved, and how few values remain possible."""
    if isinstance(worlds, NotJudged):
        return None, worlds.note
    l = round(1 / question.promised) if question.promised else release.manifest.parameters.l[question.attribute]
    # a plain column stands beside the row, not in the sets: it tells the group, which is taken to be known
    known = [name for name in question.sensitive if name in sensitive_attributes(release)]
    try:
        judged = judge_claim(worlds, frozenset(known), question.attribute, l)
    except NotJudged as no:
        return None, no.note
    worst = Weakest(max(judged.share, 1 / judged.measured), judged.witness)
    joint = release.tables.get("sensitive")
    if joint is not None and known:
        worst = max(worst, weakest_in_joint_table(joint, known, question.attribute), key=lambda one: one.share)
    return worst, judged.note


def weakest_in_joint_table(joint: pl.DataFrame, known: Sequence[str], attribute: str) -> Weakest:
    """The largest share of a value among the rows of the joint sensitive table that agree in what is known."""
    counts = joint.group_by(*known, attribute).agg(pl.col("count").sum())
    shares = counts.with_columns((pl.col("count") / pl.col("count").sum().over(known)).alias("\0share"))
    top = shares.sort("\0share", *known, descending=True).row(0, named=True)
    values = ", ".join(f"{name} = {top[name]}" for name in known)
    return Weakest(float(top["\0share"]), f"the sensitive table, {values}")
