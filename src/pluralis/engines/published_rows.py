"""What is known of the rows of a large table that will be published: those that have every sensitive value.

Which values are rare, where quantiles end and how common a value is, is a matter of these rows, as it is where a table
is published whole. Two of these are put together to what is known of the rows of both, in whatever order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.table.canonical import canonical
from pluralis.table.dictionaries import decode, is_text

MOST_NUMBERS = 5_000_000  # different numbers of a column that is published in quantiles, which stand in memory


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The values of some rows, as frames of `value` and `rows`.

    Parameters
    ----------
    lacking : int
        How many rows miss a sensitive value, and are dropped.
    without : dict of frame
        Which texts these hold, column by column.
    numbers : dict of frame
        Which numbers the others hold, of columns that are published in quantiles.
    """

    lacking: int
    without: dict[str, pl.DataFrame]
    numbers: dict[str, pl.DataFrame]

    @classmethod
    def of_rows(cls, chunk: pl.DataFrame, numbers: Mapping[str, pl.Series], policy: Policy) -> PublishedRows:
        """Of some rows as they are read, and their columns of numbers, clean."""
        gone = _lacking(chunk, numbers, policy)
        texts = [name for name, own in policy.columns.items() if own.role != "identifier" and name not in numbers]
        without = {name: _counted(_as_read(chunk[name]).filter(gone)) for name in texts} if gone is not None else {}
        binned = [name for name in numbers if policy.columns[name].bins is not None]
        shown = {name: numbers[name] if gone is None else numbers[name].filter(~gone) for name in binned}
        counts = {name: _counted(own.drop_nulls()) for name, own in shown.items()}
        return cls(0 if gone is None else int(gone.sum()), without, counts).checked()

    def and_of(self, others: PublishedRows) -> PublishedRows:
        """The same of these rows and others together."""
        return PublishedRows(
            self.lacking + others.lacking,
            _together(self.without, others.without),
            _together(self.numbers, others.numbers),
        ).checked()

    def checked(self) -> PublishedRows:
        """The same, or an error where numbers are too many to be held."""
        for name, counts in self.numbers.items():
            if counts.height > MOST_NUMBERS:
                raise InputError(
                    f"{name!r} has more than {MOST_NUMBERS:,} different numbers, too many to find its quantiles some "
                    "rows at a time. Round them, or write the ends of its bins as `breaks`."
                )
        return self

    def counts(self, name: str, every: pl.DataFrame) -> pl.Series:
        """How many of these rows hold each text of a column, of which `every` one is counted in all rows."""
        if name not in self.without:
            return every["rows"]
        gone = every.join(self.without[name], on="value", how="left", nulls_equal=True, maintain_order="left")
        return every["rows"] - gone["rows_right"].fill_null(0)


def _lacking(chunk: pl.DataFrame, numbers: Mapping[str, pl.Series], policy: Policy) -> pl.Series | None:
    """Which rows lack a sensitive value and are dropped for it; None where none is."""
    lacking: pl.Series | None = None
    for name in policy.sensitive:
        attribute = policy.columns[name]
        if attribute.if_missing != "drop":
            continue
        own = numbers[name].is_null() if name in numbers else _missing(chunk[name], policy)
        lacking = own if lacking is None else lacking | own
    return lacking if lacking is not None and lacking.any() else None


def _missing(values: pl.Series, policy: Policy) -> pl.Series:
    """Which texts of a column count as missing: a matter of each alone."""
    rows = _as_read(values).to_frame("value")
    texts = rows.unique()
    written = canonical(
        texts["value"].rename(values.name), policy.columns[values.name], policy.missing_in(values.name), []
    )
    known = texts.with_columns(gone=written.is_null())
    return rows.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")["gone"]


def _as_read(values: pl.Series) -> pl.Series:
    return decode(values) if is_text(values.dtype) else values


def _counted(values: pl.Series) -> pl.DataFrame:
    return values.rename("value").value_counts(name="rows").cast({"rows": pl.Int64})


def _together(own: Mapping[str, pl.DataFrame], others: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Counts of some rows and of others; whole numbers beside others become numbers."""
    both = {}
    for name in dict.fromkeys((*own, *others)):
        frames = [counts[name] for counts in (own, others) if name in counts]
        if len({frame["value"].dtype for frame in frames}) > 1:
            frames = [frame.cast({"value": pl.Float64}) for frame in frames]
        both[name] = pl.concat(frames).group_by("value").agg(pl.col("rows").sum())
    return both
