"""Whether a table is the original of a release, as far as the release shows it.

Rows    the original has as many as were published and suppressed.
Values  where published tables count the values of a sensitive attribute exactly, the original has each at least as
        often, and as often where all rows were counted. Text is compared in one spelling. Sets do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import InputError
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.original import comparable, original_values, require_rows
from pluralis.release.release import Release
from pluralis.table.dictionaries import different_values


def require_original(release: Release, original: pl.DataFrame) -> None:
    """Refuse a table that cannot be the original of a release."""
    manifest = release.manifest
    require_rows(original.height, manifest.rows, manifest.suppressed)
    infos = attributes_of(release)
    for table, name, published in _counted_values(release):
        fold = name not in manifest.parameters.case
        true, of_original = _counted(original_values(original, infos[name], manifest, in_codes=True))
        shown, of_release = _counted(published["value"], published["count"])
        counts = _by_value(comparable(shown.cast(true.dtype), fold_case=fold), of_release, "count")
        originals = _by_value(comparable(true, fold_case=fold), of_original, "original")
        both = counts.join(originals, on="value", how="left", nulls_equal=True)
        other = both.filter(pl.col("count") > pl.col("original").fill_null(0))
        if other.height:
            raise InputError(
                f"{table} has {other.height:,} values of {name!r} more often than the original has them: it is not the "
                "original of this release. Give the table that was published."
            )


def _counted(values: pl.Series, counts: pl.Series | None = None) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    """The different values, and how often each occurs."""
    different, places = different_values(values)
    weights = None if counts is None else counts.to_numpy()
    return different, np.bincount(places, weights, different.len()).astype(np.int64)


def _by_value(values: pl.Series, numbers: npt.NDArray[np.int64], name: str) -> pl.DataFrame:
    """The numbers of all values that are one, added up."""
    return pl.DataFrame({"value": values, name: numbers}).group_by("value").agg(pl.col(name).sum())


def _counted_values(release: Release) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """(table, attribute, `value` and `count`) wherever values of protected attributes are counted."""
    protected = release.manifest.parameters.l
    for info in release.manifest.tables:
        rows = release.tables[info.name]
        count = pl.col("count") if info.named("count") else pl.lit(1, pl.Int64)
        if info.named("attribute"):
            for name in protected if info.named("count") else ():
                values = rows.filter(pl.col("attribute") == name)
                if values.height:
                    yield info.name, name, values.select("value", "count")
        for column in info.columns:
            name = column.attribute or column.name
            if name in protected and _as_it_is(column):
                yield info.name, name, rows.select(pl.col(column.name).alias("value"), count.alias("count"))


def _as_it_is(column: ColumnInfo) -> bool:
    return not column.sets and (column.role == "sensitive" or bool(column.exact))
