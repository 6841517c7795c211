"""Tables as piles of cards: what they leave possible once all of them must tell of the same people.

A table is a pile with a card for each person, on which the person's values stand; the group of a part is a value too,
which its two tables share. Cards that say the same are one kind, with a number. A world gives everybody a card of every
pile, so that no two cards of a person contradict each other and every pile is used up.

propagated  which two kinds of cards of two piles one person can hold. Ruled out are kinds that contradict each other;
            those that no way to pair the whole of both piles uses (`transport.possible`); those that no card of a
            third pile goes with. Again until nothing changes. What is ruled out is impossible; more may be.
world_counts of a few cards, exactly: the number of worlds that give a person a value, for each combination that may be
            known of that person; None where there are too many to count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.decomposed_tables import NotJudged
from pluralis.auditing.transport import Transport, flow_of, possible
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import subtables
from pluralis.table.dictionaries import decode

KINDS = 300  # of cards that a pile may have to be looked at pair by pair
ROUNDS = 20
STATES = 50_000  # of half dealt piles that may be counted
STEPS = 1_000_000  # from one of them to another: about a second
COUNT = "count"

Flags = npt.NDArray[np.bool_]
Pairs = dict[tuple[int, int], Flags]


@dataclass(frozen=True)
class Pile:
    """The kinds of cards of one table: a line of codes for each attribute, and how many cards there are of each."""

    codes: Mapping[str, npt.NDArray[np.int64]]
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Piles:
    """The tables of a release; `domains` has the value of each code."""

    piles: list[Pile]
    domains: Mapping[str, pl.Series]

    @property
    def people(self) -> int:
        return int(self.piles[0].counts.sum())

    def code(self, name: str, values: pl.Series) -> npt.NDArray[np.int64]:
        """Values as codes, -1 for one that no card has."""
        domain = self.domains[name]
        codes = pl.DataFrame({"value": domain, "code": np.arange(domain.len())})
        coded = comparable(values).to_frame("value").join(codes, on="value", how="left", nulls_equal=True,
                                                          maintain_order="left")  # fmt: skip
        return coded["code"].fill_null(-1).to_numpy()

    def with_value(self, name: str) -> int:
        """A pile on whose cards an attribute stands."""
        return next(i for i, pile in enumerate(self.piles) if name in pile.codes)


def comparable(values: pl.Series) -> pl.Series:
    """Numbers of any type as one type, text spelled out."""
    return values.cast(pl.Float64) if values.dtype.is_numeric() else decode(values)


def piles_of(release: Release) -> Piles | None:
    """The tables of a `multi` release, None if one has too many kinds of cards.

    Columns of labels are left out, which rules out less.
    """
    frames: list[pl.DataFrame] = []
    for part in subtables(release):
        for info in part.release.manifest.tables:
            rows = part.release.tables[info.name]
            exact = [c.name for c in info.columns if c.exact or c.role == "sensitive"]
            columns = [comparable(rows[name]) for name in exact]
            columns += [comparable(rows[GROUP]).rename(f"{GROUP} of {part.name}")] if info.named("group") else []
            if not columns:
                continue
            people = pl.col(COUNT).sum() if info.named("count") else pl.len()
            with_counts = pl.DataFrame(columns).with_columns(rows[COUNT] if info.named("count") else [])
            names = [series.name for series in columns]
            kinds = with_counts.group_by(names).agg(people.cast(pl.Int64).alias("\0people"))
            if kinds.height > KINDS:
                return None
            frames.append(kinds.sort(names))
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns if name != "\0people"))
    domains = {name: pl.concat([f[name] for f in frames if name in f.columns]).unique().sort() for name in names}
    empty = Piles([], domains)
    piles = [
        Pile({n: empty.code(n, frame[n]) for n in frame.columns if n != "\0people"}, frame["\0people"].to_numpy())
        for frame in frames
    ]
    return Piles(piles, domains)


def agreeing(piles: Piles) -> Pairs:
    """Pairs of kinds of two piles that do not contradict each other."""
    pairs: Pairs = {}
    for p, q in combinations(range(len(piles.piles)), 2):
        one, other = piles.piles[p], piles.piles[q]
        flags = np.ones((one.counts.size, other.counts.size), np.bool_)
        for name in one.codes.keys() & other.codes.keys():
            flags &= one.codes[name][:, None] == other.codes[name]
        pairs[p, q] = flags
    return pairs


def propagated(piles: Piles) -> Pairs:
    """Pairs of kinds that one person may hold, both ways round; NotJudged where the tables contradict each other."""
    pairs = agreeing(piles)
    numbers = range(len(piles.piles))
    for _ in range(ROUNDS):
        before = sum(int(flags.sum()) for flags in pairs.values())
        for p, q in pairs:
            source, target = np.nonzero(pairs[p, q])
            problem = Transport(piles.piles[p].counts, piles.piles[q].counts, source, target)
            flow = flow_of(problem) if source.size else None
            if flow is None:
                raise NotJudged("", "the tables contradict each other")
            kept = possible(problem, flow)
            pairs[p, q][source[~kept], target[~kept]] = False
        for p, q, r in permutations(numbers, 3):
            if p < q:
                through = _way(pairs, p, r).astype(np.float32) @ _way(pairs, r, q).astype(np.float32)
                pairs[p, q] &= through > 0
        if sum(int(flags.sum()) for flags in pairs.values()) == before:
            break
    return pairs | {(q, p): flags.T for (p, q), flags in pairs.items()}


def _way(pairs: Pairs, p: int, q: int) -> Flags:
    return pairs[p, q] if p < q else pairs[q, p].T


def candidates(piles: Piles, pairs: Pairs, known: Mapping[str, npt.NDArray[np.int64]], sensitive: str) -> Flags:
    """[target, value]: whether a target of these known codes may have each value of the sensitive attribute."""
    count = next(iter(known.values())).size if known else 1
    may: list[npt.NDArray[np.float32]] = []
    for pile in piles.piles:
        flags = np.ones((count, pile.counts.size), np.bool_)
        for name in pile.codes.keys() & known.keys():
            flags &= known[name][:, None] == pile.codes[name]
        may.append(flags.astype(np.float32))
    for _ in range(ROUNDS):
        before = sum(float(flags.sum()) for flags in may)
        for (p, q), flags in pairs.items():
            may[q] *= (may[p] @ flags.astype(np.float32)) > 0
        if sum(float(flags.sum()) for flags in may) == before:
            break
    shows = piles.with_value(sensitive)
    has_value = piles.piles[shows].codes[sensitive][:, None] == np.arange(piles.domains[sensitive].len())
    return np.asarray(may[shows] @ has_value.astype(np.float32) > 0)


WorldCounts = dict[tuple[int, ...], Counter[int]]


Law = tuple[list[str], set[tuple[int, ...]]]  # attributes, and the combinations of codes that people may have


def world_counts(
    piles: Piles, pairs: Pairs, known: Sequence[str], sensitive: str, laws: Sequence[Law] = ()
) -> WorldCounts | None:
    """For each combination of known codes, the number of worlds in which a person who holds it has each code.

    Only worlds count in which people obey the laws.
    """
    hands = _hands(piles, pairs)
    if hands is None:
        return None
    for names, allowed in laws:
        places = _piles_with(piles, names)
        hands = [
            [hand for hand in some if tuple(int(piles.piles[p].codes[n][hand[p]]) for n, p in places) in allowed]
            for some in hands
        ]
    start = tuple(int(n) for pile in piles.piles[1:] for n in pile.counts)
    first = np.repeat(np.arange(piles.piles[0].counts.size), piles.piles[0].counts)
    moves = [
        [(hand, tuple(i + j for i, j in zip(_starts(piles), hand[1:], strict=True))) for hand in hands[int(kind)]]
        for kind in first
    ]
    reached: list[dict[tuple[int, ...], int]] = [{start: 1}]
    steps = 0
    for options in moves:
        steps += len(reached[-1]) * len(options)
        if steps > STEPS:
            return None
        here: dict[tuple[int, ...], int] = {}
        for state, ways in reached[-1].items():
            for _, cards in options:
                if all(state[card] for card in cards):
                    after = _less(state, cards)
                    here[after] = here.get(after, 0) + ways
        if len(here) > STATES:
            return None
        reached.append(here)
    places = _piles_with(piles, [*known, sensitive])
    counts: WorldCounts = {}
    onward = dict.fromkeys(reached[-1], 1)
    for options, states in zip(reversed(moves), reversed(reached[:-1]), strict=True):
        back: dict[tuple[int, ...], int] = {}
        for state, ways in states.items():
            for hand, cards in options:
                rest = onward.get(_less(state, cards), 0) if all(state[card] for card in cards) else 0
                if rest:
                    back[state] = back.get(state, 0) + rest
                    *key, value = (int(piles.piles[p].codes[name][hand[p]]) for name, p in places)
                    counts.setdefault(tuple(key), Counter())[value] += ways * rest
        onward = back
    return counts


def _hands(piles: Piles, pairs: Pairs) -> list[list[tuple[int, ...]]] | None:
    """For each kind of the first pile, every choice of a card of each pile that one person may hold."""
    hands: list[list[tuple[int, ...]]] = []
    for kind in range(piles.piles[0].counts.size):
        some: list[tuple[int, ...]] = [(kind,)]
        for q in range(1, len(piles.piles)):
            fits = [[np.flatnonzero(pairs[p, q][card]) for p, card in enumerate(hand)] for hand in some]
            some = [
                (*hand, int(card))
                for hand, each in zip(some, fits, strict=True)
                for card in set.intersection(*(set(one.tolist()) for one in each))
            ]
            if len(some) > STATES // 10:
                return None
        hands.append(some)
    return hands


def _starts(piles: Piles) -> list[int]:
    sizes = [pile.counts.size for pile in piles.piles[1:]]
    return [sum(sizes[:i]) for i in range(len(sizes))]


def _less(state: tuple[int, ...], cards: tuple[int, ...]) -> tuple[int, ...]:
    left = list(state)
    for card in cards:
        left[card] -= 1
    return tuple(left)


def _piles_with(piles: Piles, names: Sequence[str]) -> list[tuple[str, int]]:
    return [(name, piles.with_value(name)) for name in names]
