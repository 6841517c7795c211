"""Where a plain column gives a sensitive value away in a part of the table only, such as in one zip code of thirty.

Measured   on the original, not on the release: of all rows with one value of a quasi-identifier and one of the plain
           column, how many have the same sensitive value. It is what somebody may know who has seen other such rows.
Told       where that is FAR more than among the rows of the quasi value alone, and among those of the plain value
           alone: so much that chance alone would do it in one of a thousand tables (the binomial tail, times the cells
           that were looked at). Of each pair of a plain and a sensitive column the cell that tells of most people more.
Looked at  columns of up to VALUES values, cells of LEAST rows or more, and the first ASKED of all triples of columns.
Beside     the attack `plain`, which looks at all people of a plain value together: few of many rows do not show there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import sqrt
from typing import NamedTuple

import polars as pl
from scipy.special import bdtrc

from pluralis.attacks.given_away import FAR
from pluralis.display.words import percent

VALUES = 500  # of a column at most: more are hardly found in several rows of one cell
ASKED = 1_000  # triples of columns
LEAST = 10  # rows of a cell
DOUBTED = 1e-3  # how likely chance alone may tell of any cell
ROWS = 100_000  # of a larger table, spread over all of it


class TellingCell(NamedTuple):
    """Of the rows with one plain and one quasi value the share that has a sensitive value, and without the plain."""

    plain: tuple[str, str]
    quasi: tuple[str, str]
    sensitive: tuple[str, str]
    rows: int
    share: float
    without: float

    def __str__(self) -> str:
        (column, shown), (known, where), (name, value) = self.plain, self.quasi, self.sensitive
        return (
            f"{column}, a plain column, tells of {name} where {known} = {where}: of {self.rows:,} rows there with "
            f"{column} = {shown}, {percent(self.share)} have {value}; {percent(self.without)} without it. Make "
            f"{column} an identifier, which is not published, a quasi-identifier, which is generalized, or sensitive."
        )


def told_in_cells(
    original: pl.DataFrame, plain: Sequence[str], quasi: Sequence[str], sensitive: Sequence[str]
) -> Iterator[TellingCell]:
    """The cell of each plain and sensitive column in which the first tells most of the second; none where it does not.

    >>> zips = ["a"] * 200 + ["b"] * 400
    >>> ill = ["hiv", "flu"] * 100 + ["hiv"] * 40 + ["flu"] * 360
    >>> flag = ["yes", "no"] * 100 + (["yes"] * 10 + ["no"] * 30) * 10
    >>> table = pl.DataFrame({"zip": zips, "ill": ill, "flag": flag})
    >>> [(one.quasi, one.sensitive, one.share) for one in told_in_cells(table, ["flag"], ["zip"], ["ill"])]
    [(('zip', 'a'), ('ill', 'hiv'), 1.0)]
    """
    frame = original.gather_every(max(1, original.height // ROWS))
    few = [name for name in dict.fromkeys([*plain, *quasi, *sensitive]) if 1 < frame[name].n_unique() <= VALUES]
    texts = frame.select(pl.col(few).cast(pl.String).cast(pl.Categorical))
    triples = [one for one in product(plain, quasi, sensitive) if {*one} <= {*few} and len({*one}) == len(one)][:ASKED]
    looked, able = 0, list[tuple[float, TellingCell]]()
    for triple in triples:
        cells, candidates = _cells(texts.select(triple).drop_nulls(), *triple)
        looked += cells
        able += candidates
    telling = [cell for chance, cell in able if chance * looked < DOUBTED]
    for column, name in product(plain, sensitive):
        own = [cell for cell in telling if (cell.plain[0], cell.sensitive[0]) == (column, name)]
        if own:
            yield max(own, key=lambda one: (one.rows * (one.share - one.without), one.quasi, one.plain, one.sensitive))


def _cells(frame: pl.DataFrame, plain: str, quasi: str, name: str) -> tuple[int, list[tuple[float, TellingCell]]]:
    """How many cells of three columns were looked at, and those that tell, with how likely chance alone does it."""
    frame = frame.select(pl.col(plain).alias("plain"), pl.col(quasi).alias("quasi"), pl.col(name).alias("value"))

    def share_among(column: str) -> pl.Expr:
        return pl.col("rows").sum().over(column, "value") / pl.col("rows").sum().over(column)

    counts = frame.group_by("plain", "quasi", "value").len("rows").with_columns(
        of=pl.col("rows").sum().over("plain", "quasi"), known=share_among("quasi"), seen=share_among("plain"),
        near=pl.col("rows").sum().over("quasi"), alike=pl.col("rows").sum().over("plain"),
    ).with_columns(best=pl.col("known").max().over("quasi")).filter(pl.col("of") >= LEAST)  # fmt: skip
    able = counts.with_columns(without=pl.max_horizontal("best", "seen"))
    able = able.filter(pl.col("rows") / pl.col("of") > pl.col("without") + FAR)
    telling = []
    for one in able.sort("plain", "quasi", "value").iter_rows(named=True):
        hits, rows, base = one["rows"], one["of"], one["without"]
        error = 2 * sqrt(base * (1 - base) / min(one["near"], one["alike"]))
        chance = float(bdtrc(hits - 1, rows, min(1.0, base + error)))
        shown = (plain, one["plain"]), (quasi, one["quasi"]), (name, one["value"])
        telling.append((chance, TellingCell(*shown, rows, hits / rows, base)))
    return counts.height, telling
