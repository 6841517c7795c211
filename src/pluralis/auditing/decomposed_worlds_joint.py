"""The worlds of a decomposed release whose sensitive table is published jointly (see `decomposed_worlds`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.decomposed_tables import CodedTables, NotJudged, classes, number
from pluralis.auditing.transport import Transport, flow_of, possible

EDGES = 4_000_000  # pairs of a row of T^S and like groups that may be looked at
PLACES = 32_000_000  # values in places that may be counted for one claim
PIECE = 4_000_000  # and so many at one time
NOT_JUDGED = "not judged in full"

Numbers = npt.NDArray[np.int64]

# In frames, the column of an attribute is named by its place among the attributes.


class JointWorlds:
    """One transport problem: rows of T^S to *takers*, a taker being the like groups that hold a primary value."""

    def __init__(self, coded: CodedTables, primary: str) -> None:
        assert coded.joint is not None
        self.coded = coded
        self.names = list(coded.domains)
        self.first = str(self.names.index(primary))
        self.others = [str(i) for i, name in enumerate(self.names) if name != primary]
        self.rows = coded.joint.select(pl.int_range(pl.len()).alias("row"), pl.all())
        self.groups = self._classes()
        primary_sets = coded.sets[primary].rename({"code": self.first}).join(self.groups, on="at")
        takers = primary_sets.group_by("like", self.first).agg(pl.len().cast(pl.Int64).alias("groups"))
        takers = takers.sort("like", self.first).with_columns(pl.int_range(pl.len()).alias("taker"))
        self._require_totals(takers)
        of_class = primary_sets.unique(["class", self.first]).join(takers, on=["like", self.first])
        self.takers_of = of_class.select("class", "taker").sort("class", "taker")
        edges = self._edges(takers)
        ends = edges["row"].to_numpy(), edges["taker"].to_numpy()
        problem = Transport(self.rows["count"].to_numpy(), takers["groups"].to_numpy(), *ends)
        flow = flow_of(problem)
        if flow is None:
            raise NotJudged("", "the sets of the groups and the sensitive table contradict each other")
        kept = possible(problem, flow)
        self.row, self.taker = ends[0][kept], ends[1][kept]

    def _classes(self) -> pl.DataFrame:
        """Each group, with what groups of equal sets share: `like` but for the primary, `class` altogether."""
        sets = {i: classes(self.coded.sets[self.names[int(i)]])["class"].alias(i) for i in [*self.others, self.first]}
        like, alike = number(self.others).alias("like"), number([*self.others, self.first]).alias("class")
        return self.coded.groups.with_columns(**sets).with_columns(like, alike).select("at", "group", "like", "class")

    def _require_totals(self, takers: pl.DataFrame) -> None:
        """Each primary value stands in as many rows of T^S as there are groups that hold it."""
        counts = self.rows.group_by(self.first).agg(pl.col("count").sum())
        demand = takers.group_by(self.first).agg(pl.col("groups").sum())
        both = counts.join(demand, on=self.first, how="full", coalesce=True).fill_null(0)
        wrong = both.filter(pl.col("count") != pl.col("groups")).sort(self.first)
        if wrong.height:
            code, count, groups = wrong.row(0)
            value = self._in_words(self.first, code)
            raise NotJudged(value, f"{value} stands in {count:,} sensitive rows, and {groups:,} groups hold it")

    def _edges(self, takers: pl.DataFrame) -> pl.DataFrame:
        """`row`, `taker`: the rows of T^S whose values lie in the sets of those who may take them."""
        one_of = self.groups.unique("like", keep="first", maintain_order=True).select("like", "at")
        pairs = one_of.select("like", pl.lit(0, pl.Int64).alias("tail"))
        rows = self.rows.with_columns(pl.lit(0, pl.Int64).alias("tail"))
        for other in self.others:  # tails of rows grow by an attribute, and only such as T^S holds
            sets = self.coded.sets[self.names[int(other)]].rename({"code": other})
            members = one_of.join(sets, on="at").select("like", other)
            _require_few(pairs, members, "like")
            rows = rows.with_columns(number(["tail", other]).alias("next"))
            tails = rows.select("tail", other, "next").unique()
            pairs = pairs.join(members, on="like").join(tails, on=["tail", other]).select("like", tail="next")
            rows = rows.drop("tail").rename({"next": "tail"})
        _require_few(pairs, rows, "tail")
        edges = pairs.join(rows.select("tail", "row", self.first), on="tail")
        return edges.join(takers, on=["like", self.first]).select("row", "taker").sort("row", "taker")

    def places(self, known: frozenset[str], protected: str) -> Iterator[pl.DataFrame]:
        """See `candidates.Worlds`. A and B are those of its module."""
        # a cell is a combination with a value; cells of one combination are neighbors
        beside = self._beside(known)
        about = self.rows.select(
            number(beside).alias("known"), number([*beside, str(self.names.index(protected))]).alias("cell")
        )
        known_of = about.unique().sort("cell")["known"].to_numpy()
        key = np.sort(self.taker * known_of.size + about["cell"].to_numpy()[self.row])
        taker, cell = np.divmod(key[_runs(key)[0]], known_of.size)
        starts, lengths = _runs(taker, known_of[cell])
        only = np.repeat(lengths == 1, lengths).astype(np.int64)
        several = np.zeros(taker.size, np.int64)
        several[starts] = lengths > 1
        starts, lengths = _runs(taker)
        sure = np.repeat(lengths == 1, lengths).astype(np.int64)
        of_class, takers = self.takers_of["class"].to_numpy(), self.takers_of["taker"].to_numpy()
        sizes = lengths[takers]
        if sizes.sum() > PLACES:
            raise NotJudged("", f"{NOT_JUDGED}: {sizes.sum():,} values in places, of {PLACES:,} allowed")
        witness = self.groups.group_by("class").agg(pl.col("group").min()).sort("class")["group"].to_numpy()
        pieces = np.cumsum(np.bincount(of_class, sizes))[of_class] // PIECE
        for piece in np.unique(pieces):
            here = np.flatnonzero(pieces == piece)
            edge = np.repeat(starts[takers[here]] - np.cumsum(sizes[here]) + sizes[here], sizes[here])
            edge += np.arange(edge.size)
            key = np.repeat(of_class[here], sizes[here]) * known_of.size + cell[edge]
            order = np.argsort(key, kind="stable")
            begin, _ = _runs(key[order])
            group, which = np.divmod(key[order][begin], known_of.size)
            A, ones, more = (np.add.reduceat(some[edge][order], begin) for some in (sure, only, several))
            begin, candidates = _runs(group, known_of[which])
            B = np.repeat(np.add.reduceat(ones + more, begin), candidates) - ones
            candidates = np.repeat(candidates, candidates)
            yield pl.DataFrame(
                {
                    "class": group,
                    "group": witness[group],
                    "known": known_of[which],
                    "candidates": candidates,
                    "part": np.where(candidates == 1, 1, A),
                    "among": np.where(candidates == 1, 1, A + B),
                }
            )

    def members(self, _: str) -> pl.DataFrame:
        return self.groups.select("class", "group")

    def combination(self, known: frozenset[str], code: int) -> list[str]:
        beside = self._beside(known)
        if not beside:
            return []
        row = self.rows.filter(number(beside) == code).row(0, named=True)
        return [self._in_words(i, row[i]) for i in beside]

    def note(self, _: str) -> str | None:
        return None

    def _beside(self, known: frozenset[str]) -> list[str]:
        return [str(i) for i, name in enumerate(self.names) if name in known]

    def _in_words(self, attribute: str, code: int) -> str:
        name = self.names[int(attribute)]
        return f"{name} = {self.coded.domains[name][code]}"


def _runs(*columns: Numbers) -> tuple[Numbers, Numbers]:
    """Where runs of equal rows begin, and how long they are."""
    changes = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return starts, np.diff(np.append(starts, columns[0].size))


def _require_few(pairs: pl.DataFrame, more: pl.DataFrame, on: str) -> None:
    """That a join is not too large."""
    sizes = more.group_by(on).agg(pl.len().cast(pl.Int64).alias("size"))
    size = int(pairs.join(sizes, on=on)["size"].sum())
    if size > EDGES:
        raise NotJudged("", f"{NOT_JUDGED}: {size:,} pairs of a sensitive row and like groups, of {EDGES:,} allowed")
