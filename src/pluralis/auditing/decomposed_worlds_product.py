"""The worlds of a decomposed release whose sensitive table is published attribute by attribute, or not at all.

What the tables say about one attribute does not mention another, so the worlds are a product, and what is known of
other attributes tells nothing (see `decomposed_worlds`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.decomposed_tables import CodedTables, NotJudged, classes
from pluralis.auditing.transport import Transport, flow_of, most_forced, possible


class ProductWorlds:
    """For each attribute with counts, a transport problem of its own: values to classes of groups with equal sets."""

    def __init__(self, coded: CodedTables, primary: str) -> None:
        self.coded, self.primary = coded, primary
        self.of_group = {name: classes(sets).join(coded.groups, on="at") for name, sets in coded.sets.items()}
        self.problems: dict[str, tuple[Transport, npt.NDArray[np.int64]]] = {}
        self.judged: dict[str, pl.DataFrame] = {}
        self.notes: dict[str, str] = {}
        for name in coded.counts:
            problem = self._problem(name)
            flow = flow_of(problem)
            if flow is None:
                raise NotJudged("", f"the sets of {name!r} and its counts contradict each other")
            self.problems[name] = problem, flow

    def _problem(self, name: str) -> Transport:
        counts = self.coded.counts[name]
        supply = np.zeros(len(self.coded.domains[name]), np.int64)
        supply[counts["code"].to_numpy()] = counts["count"].to_numpy()
        if name == self.primary:  # each value once to each group that holds it
            demand = np.bincount(self.coded.sets[name]["code"].to_numpy(), minlength=supply.size)
            return Transport(supply, demand, np.arange(supply.size), np.arange(supply.size))
        edges = self._edges(name)
        ends = edges["code"].to_numpy(), edges["class"].to_numpy()
        return Transport(supply, self._classes(name)["rows"].to_numpy(), *ends)

    def _edges(self, name: str) -> pl.DataFrame:
        """`code`, `class`: the values of each class's set."""
        one_of = self.of_group[name].unique("class", keep="first", maintain_order=True)
        return one_of.join(self.coded.sets[name], on="at").select("code", "class").sort("code", "class")

    def _classes(self, name: str) -> pl.DataFrame:
        """For each class: the rows of its groups, the first of them, and the largest with its rows."""
        by_size = self.of_group[name].sort(["rows", "group"], descending=[True, False])
        largest = pl.col("group").first().alias("largest"), pl.col("rows").first().alias("most")
        return (
            by_size.group_by("class", maintain_order=True)
            .agg(pl.col("rows").sum(), pl.col("group").min(), *largest)
            .sort("class")
        )

    def _judged(self, name: str) -> pl.DataFrame:
        groups, edges = self._classes(name), self._edges(name)
        if name != self.primary and name in self.problems:
            edges = edges.filter(pl.Series(possible(*self.problems[name])))
        counts = edges.group_by("class").agg(pl.len().cast(pl.Int64).alias("candidates"))
        places = groups.join(counts, on="class").with_columns(pl.lit(0, pl.Int64).alias("known"))
        columns = ["class", "group", "known", "candidates", "part", "among"]
        if name == self.primary:
            return places.with_columns(pl.lit(1, pl.Int64).alias("part"), pl.col("most").alias("among")).select(columns)
        single = (pl.col("candidates") == 1).cast(pl.Int64).alias("part")
        every = places.with_columns(single, pl.lit(1, pl.Int64).alias("among")).select(columns)
        if name not in self.problems:
            return every
        forced = most_forced(*self.problems[name], groups["most"].to_numpy())
        if not forced.exact:
            self.notes[name] = "the share is an upper bound: there was too much to look at"
        worst = places.filter(pl.col("class") == forced.target).with_columns(pl.col("largest").alias("group"))
        part, among = pl.lit(forced.units, pl.Int64).alias("part"), pl.lit(forced.among, pl.Int64).alias("among")
        return pl.concat([every, worst.with_columns(part, among).select(columns)])

    def places(self, _: frozenset[str], protected: str) -> Iterator[pl.DataFrame]:
        """See `candidates.Worlds`; the largest share only, on a row of its own."""
        if protected not in self.judged:
            self.judged[protected] = self._judged(protected)
        yield self.judged[protected]

    def members(self, protected: str) -> pl.DataFrame:
        return self.of_group[protected].select("class", "group")

    def combination(self, _: frozenset[str], __: int) -> list[str]:
        return []

    def note(self, protected: str) -> str | None:
        return self.notes.get(protected)
