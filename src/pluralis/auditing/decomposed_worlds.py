"""What the tables of a decomposed release leave possible, exactly: feasible candidates and provable shares.

Paper      Ye et al., Decomposition, section 5. It tests the noise value by value (LSV), not jointly; its own Table 6
           admits one world only.
Words      A *world* gives the people of every group rows of the sensitive table T^S, so that T^S is used up, each
           value of a row lies in its group's set, and each value of the primary set is held once. A *candidate* is a
           value that a person of the group, about whom so much is known, holds in some world. A *share* is provable
           if in every world at least that share of those people hold one value.

For each claim "knowing K, at least l candidates for S", over every group and every combination k of values of K that
some world gives to somebody in it: S must have at least l candidates, and no share above 1/l may be provable. The share
is the least posterior that any belief about the worlds leads to, and only candidates have one at all. It is *not* said
that the posterior is at most 1/l where all worlds are taken to be equally likely: there it can be larger.

T^S published jointly. A group holds each value p of the primary set once, so its people are its primary values, and
the worlds split: for each p on its own, the rows of T^S with p go one by one to the groups that hold p. That is a
transport problem between distinct rows, with their counts, and groups; `transport.possible` says which rows are
possible where. Worlds of different p combine freely, and any possible row of (p, group) stands in some world. Let a
group have for p the possible rows F(p). Then
    candidates  the values of S in the rows of the F(p) that agree with k
    share of v  let A count the p with every row of F(p) in (k, v), and B the p with some row in (k, not v). In the
                world that is worst for the share, the first hold v, the second do not, all others are not in k: A of
                A + B. If A + B = 0, somebody in k holds v, for nobody in k can hold anything else: the share is 1.
Groups that hold p and have equal sets otherwise are alike and are one target of the problem.

T^S published by attribute. What the tables say about one attribute does not mention another: a world is any choice of
a world for each attribute on its own. So what is known of one attribute rules out no world of another: candidates
and, all worlds equally likely, posteriors are those without K. The share is taken without K too, since whoever knows K
may leave it aside. For an attribute other than the primary, values with their counts go to groups with their rows: a
transport problem, groups of equal sets together; the share is its most forced one. Of the primary, a group of n rows
holds n values once each.

T^S not published. The sets themselves, a product again. Nothing is provable of a set of two values.

Cost       Close to linear in the edges. By attribute these are the values of distinct sets: 1,000,000 rows of Adult
           with four attributes (143,000 groups) take 1.5 seconds. Jointly a row of T^S meets every class of groups
           whose sets hold it: 30,162 rows with two, three, four attributes make 0.04, 0.45, 1.2 million edges and take
           0.1, 0.7, 2.2 seconds for two adversaries of each attribute. `decomposed_worlds_joint.EDGES` bounds the
           pairs looked at (about 5 seconds, 0.6 GB); beyond it nothing is said to hold, and the note begins with
           NOT_JUDGED.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from pluralis.auditing.decomposed_tables import NotJudged, read_tables
from pluralis.auditing.decomposed_worlds_joint import NOT_JUDGED, JointWorlds
from pluralis.auditing.decomposed_worlds_product import ProductWorlds
from pluralis.auditing.diversity_models import count_values, placed
from pluralis.release.release import GROUP

__all__ = [
    "NOT_JUDGED",
    "Candidates",
    "Claim",
    "NotJudged",
    "d_sa_diverse",
    "d_sa_share",
    "judge",
    "judge_claim",
    "linked_d_sa_diverse",
    "worlds_of",
]

Claim = tuple[frozenset[str], str, int]


@dataclass(frozen=True)
class Candidates:
    """One claim: the fewest candidates, the largest provable share, and where."""

    holds: bool
    measured: int
    share: float
    witness: str
    note: str | None


def judge(
    tables: Mapping[str, pl.DataFrame],
    primary: str,
    attributes: Sequence[str],
    claims: Sequence[Claim],
    keep_case: Collection[str] = (),
) -> list[Candidates]:
    """Judge claims (known sensitive attributes, protected one, l) on the tables of a decomposed release.

    The table `sensitive`, or the tables `sensitive_<attribute>`, say by being there what is published of T^S. Text is
    compared without regard to case, but for attributes in `keep_case`. Where the tables contradict each other, or
    there is too much to look at (then the note begins with NOT_JUDGED), no claim holds.
    """
    try:
        worlds = worlds_of(tables, primary, attributes, keep_case)
        return [judge_claim(worlds, known, protected, l) for known, protected, l in claims]
    except NotJudged as no:
        return [Candidates(False, 0, 1.0, no.witness, no.note) for _ in claims]


def d_sa_diverse(
    tables: Mapping[str, pl.DataFrame],
    primary: str,
    attributes: Sequence[str],
    l: Mapping[str, int],
    keep_case: Collection[str] = (),
) -> float:
    """The share of groups that are d-SA-l-diverse in what is feasible; 0 where nothing can be judged.

    Whoever knows all sensitive attributes but one of a person in such a group still has l candidates for that one,
    whichever it is.
    """
    try:
        return d_sa_share(worlds_of(tables, primary, attributes, keep_case), tables["quasi"][GROUP].n_unique(), l)
    except NotJudged:
        return 0.0


def d_sa_share(worlds: Worlds, groups: int, l: Mapping[str, int]) -> float:
    """The same, of worlds at hand; `l` names all sensitive attributes."""
    failing: list[pl.DataFrame] = []
    for name in l:
        for places in worlds.places(frozenset(l) - {name}, name):
            few = places.filter(pl.col("candidates") < l[name])
            failing.append(worlds.members(name).join(few, on="class", how="semi").select("group"))
    return 1 - pl.concat(failing).n_unique() / groups


def linked_d_sa_diverse(rows: pl.DataFrame, attributes: Sequence[str], l: Mapping[str, int]) -> float:
    """The same of rows whose sensitive values stand side by side: `group` and a column for each attribute.

    In a group that counts, each combination of all attributes but one stands beside l values of that one. Theorem 1
    of the paper says that it then has exactly l values of each attribute and l^d rows. At least is true, by
    induction on d; exactly is not: (1,1), (1,2), (2,2), (2,3), (3,3), (3,1) with l = 2.

    >>> ring = pl.DataFrame({"group": 1, "a": [1, 1, 2, 2, 3, 3], "b": [1, 2, 2, 3, 3, 1]})
    >>> linked_d_sa_diverse(ring, ["a", "b"], {"a": 2, "b": 2})
    1.0
    """
    group = placed(rows[GROUP])
    failing = np.zeros(int(group.max(initial=0)) + 1, np.bool_)
    for name in attributes:
        number, _, row = count_values(rows, [GROUP, *(other for other in attributes if other != name)], name)
        first = np.flatnonzero(np.diff(number, prepend=-1))
        few = np.diff(first, append=number.size) < l[name]
        failing[group[row[first[few]]]] = True
    return 1 - int(failing.sum()) / rows[GROUP].n_unique()


class Worlds(Protocol):
    """All worlds of a release, by classes of groups that are alike."""

    def places(self, known: frozenset[str], protected: str, /) -> Iterator[pl.DataFrame]:
        """For each class and each combination that may be known of somebody in it: `class`, `group` (one of them),
        `known` (a number for the combination), `candidates`, and the provable share: `part` of `among`. A place
        may stand in several rows; its largest share is the one that counts.
        """

    def members(self, protected: str, /) -> pl.DataFrame:
        """`class`, `group`: the groups of each class."""

    def combination(self, known: frozenset[str], code: int, /) -> list[str]:
        """The combination with this number, in words."""

    def note(self, protected: str, /) -> str | None:
        """What has to be said about how an attribute was judged."""


def worlds_of(
    tables: Mapping[str, pl.DataFrame], primary: str, attributes: Sequence[str], keep_case: Collection[str] = ()
) -> Worlds:
    """All worlds that the tables allow; NotJudged where there are none, or too many."""
    coded = read_tables(tables, primary, attributes, keep_case)
    return ProductWorlds(coded, primary) if coded.joint is None else JointWorlds(coded, primary)


def judge_claim(worlds: Worlds, known: frozenset[str], protected: str, l: int) -> Candidates:
    """The weakest place of one claim."""
    known -= {protected}
    few, few_at = 0, (0, 0)
    part, among, part_at = 0, 1, (0, 0)
    for places in worlds.places(known, protected):
        least = places.filter(pl.col("candidates") == pl.col("candidates").min()).sort("group", "known")
        least_row = least.row(0, named=True)
        if not few or least_row["candidates"] < few:
            few, few_at = least_row["candidates"], (least_row["group"], least_row["known"])
        share = pl.col("part") / pl.col("among")
        most_row = places.filter(share == share.max()).sort("group", "known").row(0, named=True)
        if most_row["part"] * among > part * most_row["among"]:
            part, among, part_at = most_row["part"], most_row["among"], (most_row["group"], most_row["known"])
    enough, mixed = few >= l, part * l <= among
    group, code = part_at if enough and not mixed else few_at
    witness = ", ".join([f"group {group}", *worlds.combination(known, code)])
    return Candidates(enough and mixed, few, part / among, witness, worlds.note(protected))
