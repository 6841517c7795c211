"""What a release says of people: which published rows somebody may be, and how likely each secret is then.

An adversary knows of a person that the person is published, some quasi values, and perhaps some secrets. Every
published row whose cells cover these quasi values is equally likely to be the person's. A row says which group it is
in, and a group says how many of its rows hold each value; which of them holds which is not said, so every way to hand
them out is equally likely. Where the values of two attributes do not stand side by side they are handed out
independently. Hence

    P(v | quasi values q, secrets k)  =  sum of P(k, v | row)  /  sum of P(k | row),   over rows that cover q.

That is what an enumeration of all worlds gives for this adversary, exactly, for every kind but one: a `decomposed`
release tells sets and not shares, which are weighed as `estimate.decomposed` weighs them (what remains possible,
exactly, is in `worlds_of`). A `multi` release is looked at table by table; whoever joins several of its tables is the
business of another attack. How a release of each kind is read is in `holdings`, which rows cover q in `beliefs`.

Nobody's belief exceeds the share of a value in one of the groups. So `weakest` looks at groups, all of them, and
needs no original; `Targets` looks at people, of whom a sample is enough. Text is compared in one spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import AT, PEOPLE, SHARE, Held, View, secrets_of
from pluralis.attacks.adversary.posterior import BOX, CLASS, Cover
from pluralis.attacks.base import Options
from pluralis.auditing.decomposed_tables import NotJudged, read_tables
from pluralis.auditing.joint_worlds import JointWorlds
from pluralis.auditing.product_worlds import ProductWorlds
from pluralis.auditing.worlds import Worlds
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release

VALUE = "\0value"
PAIRS = 4_000_000  # of a person and rows that it may be, at one time: beyond, fewer people are looked at
SUBSETS = 64  # of known secrets that are tried for one attribute


# who asks what --------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """Somebody who knows quasi values and secrets of a person asks for another secret; `promised` is the bound."""

    attribute: str
    quasi: tuple[str, ...]
    secrets: tuple[str, ...]
    promised: float | None

    @property
    def adversary(self) -> tuple[str, ...]:
        return (*self.quasi, *self.secrets)

    def __str__(self) -> str:
        return f"{self.attribute}, knowing {', '.join(self.adversary) or 'nothing'}"


def quasi_of(release: Release) -> list[str]:
    """The attributes by which a person may be found: all that are published and not protected."""
    columns = (column for table in release.manifest.tables for column in table.named("quasi"))
    return sorted({column.attribute or column.name for column in columns} - {*secrets_of(release)})


def questions(release: Release, *, of_secrets: bool) -> list[Question]:
    """What whoever knows all quasi values, and whoever a claim names, asks: with known secrets, or without."""
    secrets, quasi = secrets_of(release), quasi_of(release)
    found: dict[tuple[str, tuple[str, ...], tuple[str, ...]], None] = {}
    for name in secrets:
        others = [other for other in secrets if other != name]
        for known in _subsets(others) if of_secrets else [()]:
            found[name, tuple(quasi), known] = None
    for claim in release.manifest.claims:
        if claim.attribute is None:
            continue
        named = tuple(sorted({*claim.adversary} & {*quasi}))
        beside = tuple(sorted({*claim.adversary} - {*quasi, claim.attribute}))
        if bool(beside) == of_secrets:
            found[claim.attribute, named, beside] = None
    return [Question(*key, promised(release.manifest.claims, *key)) for key in found]


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All subsets but the empty one; of many names the small ones and the largest."""
    every = (known for size in range(1, len(names) + 1) for known in combinations(names, size))
    for i, known in enumerate(every):
        if i == SUBSETS - 1:
            yield tuple(names)
            return
        yield known


def promised(
    claims: Iterable[Claim], attribute: str, quasi: Iterable[str], secrets: Iterable[str] = ()
) -> float | None:
    """The least bound that claims put on a guess of somebody who knows no more than they allow for."""
    knows = {*quasi, *secrets}
    bounds = [bound_of(claim) for claim in claims if claim.attribute == attribute and knows <= {*claim.adversary}]
    return min((bound for bound in bounds if bound is not None), default=None)


def row_bound(claims: Iterable[Claim], attribute: str, knows: Iterable[str]) -> tuple[float | None, bool]:
    """The bound on a guess that also uses other rows or attributes, and whether a claim about drawn sets puts it."""
    mine = [claim for claim in claims if claim.attribute == attribute and {*knows} <= {*claim.adversary}]
    drawn = [1 / claim.l for claim in mine if claim.model == "posterior" and claim.l]
    return (min(drawn), True) if drawn else (promised(mine, attribute, knows), False)


def bound_of(claim: Claim) -> float | None:
    """How likely a value may be by a claim; None where the claim does not say.

    >>> bound_of(Claim(rule="", model="recursive", adversary=(), attribute="x", l=2, c=3.0))
    0.75
    """
    if claim.model in ("frequency", "unique-distinct", "candidates") and claim.l is not None:
        return 1 / claim.l
    if claim.model == "recursive" and claim.c is not None:
        return claim.c / (1 + claim.c)
    return None


# the weakest group ----------------------------------------------------------------------------------------------


class Weakest(NamedTuple):
    """The largest share that one value has among people whom the adversary cannot tell apart, and where."""

    share: float
    witness: str


def weakest(view: View, question: Question) -> Weakest | None:
    """The weakest group for a question, by the group and what is known beside the secret; None if it is not told of."""
    if question.attribute not in view.attributes:
        return None
    names = (question.attribute, *(name for name in question.secrets if name in view.attributes))
    held = next(held for held in view.holding(names, None) if question.attribute in held.attributes)
    known = [name for name in question.secrets if name in held.attributes]
    tops = shares(held, question.attribute, known)
    if not tops.height:
        return None
    top = tops.filter(pl.col(SHARE) == pl.col(SHARE).max()).sort(AT, *known).row(0, named=True)
    said = [*([view.name] if view.name else []), *view.told(held.group, top[AT])]
    said += [f"{name} = {view.domain(name).texts[top[name]]}" for name in known]
    return Weakest(float(top[SHARE]), ", ".join(said))


def shares(held: Held, attribute: str, known: Sequence[str] = ()) -> pl.DataFrame:
    """AT, what is known, the attribute and SHARE: how common its value is among those of the group who have that."""
    counts = held.rows.group_by(AT, *known, attribute).agg(pl.col(PEOPLE).sum())
    of = counts.group_by(AT, *known).agg(pl.col(PEOPLE).sum().alias("\0of"))
    joined = counts.join(of, on=[AT, *known])
    return joined.select(AT, *known, attribute, PEOPLE, (pl.col(PEOPLE) / pl.col("\0of")).alias(SHARE))


def worlds_of(release: Release) -> Worlds:
    """What the tables of a decomposed release leave possible, exactly; NotJudged where that cannot be told.

    Where a group holds a value of the primary attribute twice (its set then has fewer values than the group has rows),
    that each is held once is not taken for granted, and attributes are looked at one by one.
    """
    primary, names = release.manifest.parameters.get("primary", ""), secrets_of(release)
    keep = release.manifest.parameters.get("case", [])
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


# people ---------------------------------------------------------------------------------------------------------


class Guessed(NamedTuple):
    """How a guess of the likeliest value went: people asked about, the share that was right, the highest belief."""

    targets: int
    sampled: bool
    success: float
    highest: float


class Targets:
    """Some people of the original, in classes of equal quasi values, and the published rows that each may be.

    `of_row` are the rows of the original, `number` the class of each. Published rows that look alike are a box:
    `around` has CLASS and BOX for every box that covers a class; `boxes` has BOX, the groups, and PEOPLE.
    """

    def __init__(self, view: View, original: pl.DataFrame, options: Options) -> None:
        self.view, self.manifest = view, view.release.manifest
        self.of_row = options.targets(original.height)
        self.people = original if self.of_row.size == original.height else original[self.of_row]
        cover = Cover.of(view.rows, view.columns, self.people, self.manifest)
        near = next(cover.around(PAIRS, options.seed))
        self.number, self.around = cover.number, near.pairs
        looked = np.isin(self.number, near.classes)
        if not looked.all():
            self.of_row, self.number = self.of_row[looked], self.number[looked]
            self.people = original[self.of_row]
        self.sampled = self.of_row.size < original.height
        boxes = view.rows.select(view.groups).with_columns(pl.Series(BOX, cover.box_of))
        wanted = self.around[BOX].unique()
        boxes = boxes.filter(pl.col(BOX).is_in(wanted.implode()))
        self.boxes = boxes.group_by(BOX, *view.groups).agg(pl.len().cast(pl.Float64).alias(PEOPLE))

    @cached_property
    def candidates(self) -> npt.NDArray[np.float64]:
        """How many published rows each of the people may be."""
        rows = self.boxes.group_by(BOX).agg(pl.col(PEOPLE).sum())
        of = self.around.join(rows, on=BOX).group_by(CLASS).agg(pl.col(PEOPLE).sum())
        found = np.zeros(int(self.number.max(initial=-1)) + 1)
        found[of[CLASS].to_numpy()] = of[PEOPLE].to_numpy()
        return found[self.number]

    def true(self, name: str) -> npt.NDArray[np.int32]:
        """The code of a secret of each of the people."""
        return self.view.true(self.people, name).to_numpy()

    def believed(self, question: Question) -> pl.DataFrame:
        """CLASS, what somebody of it has of the known secrets, VALUE and its SHARE, wherever any row fits."""
        attribute, known = question.attribute, self._told(question)
        groups = self.boxes[GROUP].unique() if self.view.groups == [GROUP] else None
        helds = self.view.holding((attribute, *known), groups)
        mine = next(held for held in helds if attribute in held.attributes)
        beside = [name for name in known if name in mine.attributes]
        of_group = mine.counts([*beside, attribute]).select(AT, *beside, attribute, SHARE)
        people = pl.DataFrame({CLASS: self.number, **{name: self.true(name) for name in known}}).unique()
        if len(helds) == 1:
            weighed = self.boxes.join(of_group, left_on=mine.group, right_on=AT)
            weighed = weighed.group_by(BOX, *beside, attribute).agg((pl.col(PEOPLE) * pl.col(SHARE)).sum().alias(SHARE))
            found = people.join(self.around, on=CLASS).join(weighed, on=[BOX, *beside])
        else:
            found = self._few(people).join(self.around, on=CLASS).join(self.boxes, on=BOX)
            for held in helds:
                told = [name for name in known if name in held.attributes]
                if held is not mine:
                    share = held.counts(told).select(AT, *told, pl.col(SHARE).alias("\0by"))
                    found = found.join(share, left_on=[held.group, *told], right_on=[AT, *told])
                    found = found.with_columns(pl.col(PEOPLE) * pl.col("\0by")).drop("\0by")
            found = found.group_by(CLASS, *known, mine.group).agg(pl.col(PEOPLE).sum())
            found = found.join(of_group, left_on=[mine.group, *beside], right_on=[AT, *beside])
            found = found.with_columns((pl.col(PEOPLE) * pl.col(SHARE)).alias(SHARE))
        found = found.group_by(CLASS, *known, attribute).agg(pl.col(SHARE).sum())
        total = pl.col(SHARE).sum().over(CLASS, *known)
        return found.with_columns(pl.col(SHARE) / total).rename({attribute: VALUE})

    def _told(self, question: Question) -> list[str]:
        return [name for name in question.secrets if name in self.view.attributes]

    def _few(self, people: pl.DataFrame) -> pl.DataFrame:
        """As many of those that are asked about as can be looked at."""
        rows = self.around.join(self.boxes.group_by(BOX).len("\0rows"), on=BOX)
        sizes = people.join(rows.group_by(CLASS).agg(pl.col("\0rows").sum().cast(pl.Int64)), on=CLASS)
        order = sizes.sample(fraction=1.0, shuffle=True, seed=0).with_columns(pl.col("\0rows").cum_sum())
        most = max(PAIRS, int(order["\0rows"][0]) if order.height else 0)
        return order.filter(pl.col("\0rows") <= most).select(people.columns)

    def guess(self, question: Question) -> Guessed:
        """How often the likeliest value is right, ties counted by their chance; whom no row fits is not asked about."""
        return self.scored(question, self.believed(question))

    def scored(self, question: Question, beliefs: pl.DataFrame) -> Guessed:
        """The same by beliefs that come from elsewhere, in the form of `believed`."""
        known = self._told(question)
        same = [CLASS, *known]
        best = beliefs.filter(pl.col(SHARE) >= pl.col(SHARE).max().over(same) - 1e-12)
        best = best.with_columns((1 / pl.len().over(same)).alias("\0chance"))
        columns = {name: self.true(name) for name in known}
        people = pl.DataFrame({CLASS: self.number, **columns, VALUE: self.true(question.attribute)})
        people = people.group_by(*same, VALUE).agg(pl.len().cast(pl.Float64).alias(PEOPLE))
        reached = people.join(beliefs.select(same).unique(), on=same, how="semi")
        hits = reached.join(best, on=[*same, VALUE])
        targets, right = float(reached[PEOPLE].sum()), float((hits[PEOPLE] * hits["\0chance"]).sum())
        fewer = people.join(self.around, on=CLASS, how="semi").height > reached.height
        highest = float(beliefs[SHARE].max()) if beliefs.height else 0.0  # type: ignore[arg-type]
        sampled = self.sampled or (fewer and not self.manifest.suppressed)
        return Guessed(int(targets), sampled, right / targets if targets else 0.0, highest)


def blind_guess(release: Release, original: pl.DataFrame, attribute: str) -> float:
    """The share of the commonest value: the best guess of somebody who has no release and knows nothing of a person."""
    values = original_values(original, attributes_of(release)[attribute], release.manifest)
    return float(values.alias("\0value").value_counts()["count"].max() or 0) / max(1, values.len())  # type: ignore[arg-type]
