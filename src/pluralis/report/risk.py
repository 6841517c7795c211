"""The sections of the report that say who learns what, who can be found, and which groups are weakest.

The first can be put in the place of an older one: `pluralis attack` does so, on a page that is there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pluralis.attacks import Result
from pluralis.attacks.base import ABOVE_PROMISED_RATE, NOT_JUDGED
from pluralis.attacks.worst_guess import worst_in_words
from pluralis.metrics.risk import ReidentificationRisk, risk_table
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.parts import PartInfo
from pluralis.report.attack_charts import legend, strip, sureness
from pluralis.report.charts import NOTHING, Html, joined, named, share, table, tag
from pluralis.report.exposure import WEAKEST, Exposure
from pluralis.report.markup import count, figure, more, section, were

WHO = "Who learns what"
LEARNED = "learned"  # the id of its section
EVERY = "Every claim holds"
BREACHED = "An attack exceeds a promise"
BESIDE = "worst"  # the id of what stands beside the verdict
ATTACKS = "Attack by attack"
DRAWN = 6  # attributes of which the groups are drawn at once; the others behind a line
FIRST = 10  # results that are shown at once; the others behind a line
BAD = ("breach", ABOVE_PROMISED_RATE)
LATER = "{results} got after publication, and marked so: the release itself does not speak of that."
STANDING = ("breach", ABOVE_PROMISED_RATE, "above chance", "within the promise", "no better than the prior", NOT_JUDGED)
HOW = (
    "Adversaries were played against this release. A dot is the share of people they guessed right, with its 95\xa0% "
    "interval where the people are a sample; the diamond is the prior (the best guess without the release). A promise "
    "bounds the maximum posterior, the cross: it must not lie beyond the tick. Where there is no tick, nothing is "
    "promised. A promise takes the rows of a group to be equally likely. Where sensitive values go with what is known, "
    "they are not, and a dot may lie beyond the tick: more often than promised."
)
SURE = (
    "The maximum posterior of a group is the highest probability that any value gets for any of its rows. By the group "
    "alone it is the share of the commonest value. Where only some values are bounded, it is that of the one which "
    "comes nearest to its bound. Whoever learns from all groups how values go together (deFinetti) is often surer, and "
    "not always right."
)
ALONE = "Groups are those of all parts, each by itself. What all groups of a part teach is what definetti got, above."
IDENTIFIABLE = "Who can be found"
FINDS = (
    "Whose row, or group of rows, can be told by {names}. Prosecutor risk is "
    "that of somebody known to be in the table, journalist risk of somebody of the population, and marketer risk the "
    "share of all rows that can be found. Whoever finds a row reads its plain columns; of sensitive attributes they "
    "learn what the claims allow."
)
WITHOUT_POPULATION = (
    "The table is taken for the population here, which makes journalist risk as high as prosecutor risk. If the table "
    "is a sample of a larger population, fewer of its people are alone there: the last lines estimate how many "
    "(Pitman's model). For a population of known size, use `pluralis measure --population N`."
)
BY_PART = (
    "Rows that look alike are counted in each part. Those of two parts are taken to differ, as they do to whoever can "
    "tell in which part a person is; to others every risk is at most this."
)
SAMPLE = (
    "What was measured at publication is about the people of {folder}, which has {rows} of {total} rows: a keyed hash "
    "decides who is in it. `pluralis attack` measures people of all parts."
)
NOBODY = "No quasi-identifier is published, so that no row can be told from another by them."
NOTHING_APPLIES = "No attack applies to this release. This does not prove that none works."
NOT_MEASURED = "This was not measured at publication. `pluralis attack` measures it and completes this page."


def heading(title: str, *, good: bool = True, but: bool = False) -> Html:
    """The verdict in a few words; `but` says that it is good, and not all clear."""
    mark = tag("span", ("!" if but else "✓") if good else "✗", class_="mark", aria_hidden="true")
    return tag("h1", mark, title, class_="bad" if but or not good else None)


def beside_verdict(results: Sequence[Result] | None) -> Html:
    """What stands beside the verdict of what attacks got: the worst measured guess, and that one exceeds a promise."""
    parts = [tag("p", f"Worst measured guess: {worst_in_words(results)}.", class_="lead")]
    if breaches := [result for result in results or () if result.breach]:
        exceed = (
            f"{count(len(breaches), 'result')} of attacks {'exceeds' if len(breaches) == 1 else 'exceed'} a promise."
        )
        parts.append(
            tag("p", tag("b", exceed), " Do not hand this release out; if it is out, take it back.", class_="warning")
        )
    return tag("div", *parts, id=BESIDE)


def who_learns_what(
    results: Sequence[Result] | None,
    lists: AttributeLists,
    later: Collection[Result] = frozenset(),
    sample: str = "",
) -> Html:
    """The section with a line for each result; breaches first, then what no promise bounds.

    Those in `later` were got after publication. What is least bad stands behind a line that opens it. `sample` says
    whose rows were attacked, where these are not all.
    """
    if not results:
        return section(WHO, tag("p", NOT_MEASURED if results is None else NOTHING_APPLIES), id_=LEARNED)
    ordered = sorted(results, key=lambda one: (STANDING.index(one.standing), -one.success, one.attack, one.question))
    parts = [tag("p", HOW), *([tag("p", sample)] if sample else [])]
    if later:
        parts.append(tag("p", LATER.format(results=f"{count(len(later), 'result')} {were(len(later))}")))
    rows = [_row(result, lists, result in later) for result in ordered]
    first = max(FIRST, sum(result.standing in BAD for result in ordered))
    parts += [legend(), _table_of(ATTACKS, rows[:first])]
    if rest := rows[first:]:
        parts.append(more(f"{count(len(rest), 'more result')}, less bad", _table_of("The others", rest)))
    return section(WHO, *parts, id_=LEARNED)


def of_a_sample(parts: Sequence[PartInfo]) -> str:
    """Whose rows were attacked when a release in parts was made, which are not all."""
    if len(parts) < 2:
        return ""
    rows = [info.rows + info.suppressed for info in parts]
    return SAMPLE.format(folder=parts[0].folder, rows=f"{rows[0]:,}", total=f"{sum(rows):,}")


def _table_of(caption: str, rows: Sequence[Sequence[str]]) -> Html:
    head = ["Attack and question", "0 to 100\xa0%", "Right", "Prior", "Posterior", "Promised", "That is"]
    return table(caption, head, rows, 2, 3, 4, 5, class_="scroll results")


def with_results(
    page: str,
    results: Sequence[Result],
    lists: AttributeLists,
    later: Collection[Result] = frozenset(),
    sample: str = "",
) -> str:
    """The same page with these results in the place of those it shows; those in `later` were got after publication."""
    old = re.compile(rf'<section id="{LEARNED}">.*?</section>', re.DOTALL)
    page = old.sub(lambda _: who_learns_what(results, lists, later, sample), page, count=1)
    if any(result.breach for result in results):
        every = re.compile(rf"<h1[^>]*>(?:(?!</h1>).)*{EVERY}.*?</h1>", re.DOTALL)
        page = every.sub(lambda _: heading(BREACHED, good=False), page, count=1)
    return re.sub(rf'<div id="{BESIDE}">.*?</div>', lambda _: beside_verdict(results), page, count=1, flags=re.DOTALL)


def _row(result: Result, lists: AttributeLists, later: bool) -> list[str]:
    name = result.attack if result.attribute is None else f"{result.attack}: {result.guessed}"
    about = result.attribute if result.value is None else f"{result.attribute} = {result.value}"
    question = lists.in_question(result.question, result.adversary).removeprefix(f"{about}, ")
    notes = [tag("span", "measured after publication", class_="note later")] if later else []
    notes += [tag("span", result.note, class_="note")] if result.note else []
    notes += [tag("span", f"Weakest: {result.witness}", class_="note")] if result.witness else []
    people = f"{share(result.low)} to {share(result.high)}" if result.sampled else "all"
    whom = tag("span", f"{people} of {result.targets:,}" if not result.sampled else people, class_="note")
    return [
        joined([named(name, 400), tag("span", named(question, 1_000), class_="question"), *notes]),
        strip(result),
        joined([share(result.success), whom]),
        share(result.prior),
        NOTHING if result.worst is None else share(result.worst),
        NOTHING if result.promised is None else share(result.promised),
        tag("b", f"✗ {result.standing}", class_="no") if result.standing in BAD else tag("span", result.standing),
    ]


def who_can_be_found(risk: ReidentificationRisk | None, lists: AttributeLists, *, in_parts: bool = False) -> Html:
    """The section with re-identification risk in the terms of officers, before and after."""
    if risk is None:
        return section(IDENTIFIABLE, tag("p", NOBODY), id_="found")
    figures = risk_table(risk)
    before, after = FINDS.split("{names}")
    every = tuple(sorted(risk.quasi)) == lists.quasi and lists.defined
    names = tag("b", next(iter(lists.defined))) if every else _each(risk.quasi)
    whole = [tag("p", WITHOUT_POPULATION)] * (risk.population is None) + [tag("p", BY_PART)] * in_parts
    measured = table("Re-identification risk", ["Risk", "Original", "Release"], figures.rows, 1, 2)
    return section(IDENTIFIABLE, tag("p", before, names, after), *whole, measured, id_="found")


def _each(names: Sequence[str]) -> Html:
    """All of them, whole."""
    return joined(part for i, name in enumerate(names) for part in (", " * bool(i), named(name, 400)))


def weakest_groups(exposures: Sequence[Exposure], measured: bool, *, in_parts: bool = False) -> Html:
    """The section with a picture for each attribute, and the weakest groups by name."""
    title = "Which groups are weakest"
    if not exposures:
        return section(title, tag("p", "This release has no groups." if measured else NOT_MEASURED.split(".")[0] + "."))
    nearest = sorted(exposures, key=lambda one: -_nearness(one))
    pictures = [figure(_caption(exposure), sureness(exposure)) for exposure in nearest]
    drawn = [tag("div", *pictures[:DRAWN], class_="figures two")]
    if rest := pictures[DRAWN:]:
        about = f"{count(len(rest), 'more attribute')}, no nearer to what is promised"
        drawn.append(more(about, tag("div", *rest, class_="figures two")))
    each = max(1, WEAKEST // len(exposures))
    rows = [row for exposure in exposures for row in _weakest(exposure)[:each]]
    head = ["Where", "Attribute", "Rows", "Alone", "Learned", "At most"]
    least = table("The weakest of them, for your eyes alone", head, rows, 2, 3, 4, 5)
    alone = [tag("p", ALONE)] * in_parts
    return section(title, tag("p", SURE), *alone, *drawn, least, id_="weakest")


def _nearness(exposure: Exposure) -> float:
    """How near the weakest group comes to what is promised, by its own values."""
    highest = max((weak.alone for weak in exposure.weakest), default=0.0)
    return highest / exposure.limit if exposure.limit else 0.0


def _caption(exposure: Exposure) -> Html:
    groups = tag("span", f"{sum(exposure.alone):,} {exposure.unit}")
    table = [tag("i", exposure.table)] if exposure.table else []
    return joined([tag("b", named(exposure.attribute, 400)), *table, groups])


def _weakest(exposure: Exposure) -> list[list[str]]:
    return [
        [
            weak.name,
            named(exposure.attribute, 400),
            f"{weak.rows:,}",
            share(weak.alone),
            NOTHING if weak.learned is None else share(weak.learned),
            NOTHING if exposure.limit is None else share(exposure.limit),
        ]
        for weak in exposure.weakest
    ]
