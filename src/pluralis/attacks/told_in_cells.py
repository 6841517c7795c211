"""Where a plain column gives a sensitive value away in a part of the table only, such as in one zip code of thirty.

Measured   on the original, not on the release: of all rows with one value of a quasi-identifier and one of the plain
           column, how many have the same sensitive value. It is what somebody may know who has seen other such rows.
Told       where that is FAR more, beyond doubt (4.5 standard errors), than among the rows of the quasi value alone and
           among those of the plain value alone. Of each pair of a plain and a sensitive column the cell that tells of
           most people more.
Beside     the attack `plain`, which looks at all people of a plain value together: few of many rows do not show there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import polars as pl

from pluralis.attacks.base import DOUBT, interval
from pluralis.attacks.given_away import FAR
from pluralis.display.words import percent

VALUES = 500  # of a column at most: more are hardly found in several rows of one cell
ASKED = 300  # cells of three columns
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
    few = {name for name in {*plain, *quasi, *sensitive} if 1 < frame[name].n_unique() <= VALUES}
    asked = 0
    for column, name in product(plain, sensitive):
        cells: list[TellingCell] = []
        for known in quasi:
            if not {column, name, known} <= few or asked >= ASKED:
                continue
            asked += 1
            cells += _cells(frame.select(pl.col(column, known, name).cast(pl.String)).drop_nulls(), column, known, name)
        if cells:
            yield max(cells, key=lambda one: (one.rows * (one.share - one.without), one.quasi))


def _cells(frame: pl.DataFrame, plain: str, quasi: str, name: str) -> Iterator[TellingCell]:
    """The cells of one quasi-identifier in which the plain column tells of the sensitive one."""

    def share_among(column: str, label: str) -> pl.Expr:
        return (pl.col("rows").sum().over(column, name) / pl.col("rows").sum().over(column)).alias(label)

    counts = frame.group_by(plain, quasi, name).len("rows").with_columns(
        pl.col("rows").sum().over(plain, quasi).alias("of"), share_among(quasi, "known"), share_among(plain, "seen")
    ).with_columns(pl.col("known").max().over(quasi).alias("best"))  # fmt: skip
    able = counts.filter(pl.col("rows") / pl.col("of") > pl.max_horizontal("best", "seen") + FAR)
    for one in able.iter_rows(named=True):
        share, without = one["rows"] / one["of"], max(one["best"], one["seen"])
        if interval(share, one["of"], DOUBT)[0] > without + FAR:
            yield TellingCell((plain, one[plain]), (quasi, one[quasi]), (name, one[name]), one["of"], share, without)
