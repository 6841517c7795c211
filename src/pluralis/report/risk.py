"""The sections of the report that say who learns what, and which groups are weakest.

The first can be put in the place of an older one: `pluralis attack` does so, on a page that is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pluralis.attacks import Result
from pluralis.attacks.adversary.exposure import WEAKEST, Exposure
from pluralis.attacks.base import OFTENER
from pluralis.report.attack_charts import MOST, dots, sureness
from pluralis.report.charts import NOTHING, Html, joined, named, share, table, tag
from pluralis.report.markup import figure, section

WHO = "Who learns what"
LEARNT = "learnt"  # the id of its section
STANDING = ("breach", OFTENER, "above chance", "within the promise", "no better than blind")  # in this order
HOW = (
    "Adversaries were played against this release. A dot is the share of people they guessed right, with its 95\xa0% "
    "interval where the people are a sample; the diamond is the best guess without the release. A promise bounds the "
    "surest guess of all, the cross: it must not lie beyond the tick. Where there is no tick, nothing is promised. "
    "A promise takes the rows of a group to be equally likely. Where secrets go with what is known, they are not, and "
    "a dot may lie beyond the tick: more often than promised."
)
SURE = (
    "The surest guess of a group is the highest probability that any value gets for any of its rows. By the group "
    "alone it is the share of the commonest value. Whoever learns from all groups how values go together (deFinetti) "
    "is often surer, and not always right."
)
NOTHING_APPLIES = "No attack applies to this release. This does not prove that none works."
NOT_MEASURED = "This was not measured at publication. `pluralis attack` measures it and completes this page."


def who_learns_what(results: Sequence[Result] | None) -> Html:
    """The section with a line for each result; breaches first, then what no promise bounds."""
    if not results:
        return section(WHO, tag("p", NOT_MEASURED if results is None else NOTHING_APPLIES), id_=LEARNT)
    ordered = sorted(results, key=lambda one: (STANDING.index(one.standing), -one.success, one.attack, one.question))
    head = ["Attack", "Question", "People", "Right", "95\xa0% interval", "Blind", "Surest", "Promised", "That is"]
    parts = [tag("p", HOW), _scrolled(dots(ordered))]
    if len(ordered) > MOST:
        left = f"The picture shows {MOST} of {len(ordered)} results; the table has them all."
        parts.append(tag("p", left, class_="small"))
    rows = [_row(result) for result in ordered]
    return section(WHO, *parts, table("Attack by attack", head, rows, 2, 3, 4, 5, 6, 7), id_=LEARNT)


def with_results(page: str, results: Sequence[Result]) -> str:
    """The same page with these results in the place of those it shows."""
    old = re.compile(rf'<section id="{LEARNT}">.*?</section>', re.DOTALL)
    return old.sub(lambda _: who_learns_what(results), page, count=1)


def _row(result: Result) -> list[str]:
    note = [tag("span", result.note, class_="note")] if result.note else []
    where = [tag("span", f"Weakest: {result.witness}", class_="note")] if result.witness else []
    interval = f"{share(result.low)} to {share(result.high)}" if result.sampled else "all people"
    bad = result.standing in ("breach", OFTENER)
    return [
        tag("span", result.attack, class_="whole"),
        joined([named(result.question, 160), *note, *where]),
        f"{result.targets:,}",
        share(result.success),
        interval,
        share(result.blind),
        NOTHING if result.worst is None else share(result.worst),
        NOTHING if result.promised is None else share(result.promised),
        tag("b", f"✗ {result.standing}", class_="no") if bad else tag("span", result.standing),
    ]


def weakest_groups(exposures: Sequence[Exposure], measured: bool) -> Html:
    """The section with a picture for each attribute, and the weakest groups by name."""
    title = "Which groups are weakest"
    if not exposures:
        return section(title, tag("p", "This release has no groups." if measured else NOT_MEASURED.split(".")[0] + "."))
    pictures = [figure(_caption(of), sureness(of)) for of in exposures]
    each = max(1, WEAKEST // len(exposures))
    rows = [row for of in exposures for row in _weakest(of)[:each]]
    head = ["Where", "Attribute", "Rows", "Alone", "Learnt", "1/l"]
    least = table("The weakest of them, for your eyes alone", head, rows, 2, 3, 4, 5)
    return section(title, tag("p", SURE), tag("div", *pictures, class_="figures two"), least)


def _caption(of: Exposure) -> Html:
    groups = tag("span", f"{sum(of.alone):,} {of.unit}")
    return joined([tag("b", named(of.attribute, 24)), *([tag("i", of.table)] if of.table else []), groups])


def _weakest(of: Exposure) -> list[list[str]]:
    return [
        [
            weak.name,
            named(of.attribute, 40),
            f"{weak.rows:,}",
            share(weak.alone),
            NOTHING if weak.learnt is None else share(weak.learnt),
            share(of.limit),
        ]
        for weak in of.weakest
    ]


def _scrolled(picture: Html) -> Html:
    return tag("div", picture, class_="scroll", tabindex=0, role="region", aria_label=WHO)
