"""KL divergence between the original and what a release lets an analyst believe (Decomposition paper, section 6).

A point is a row of all quasi and sensitive attributes. The original gives it the share p1 of its rows. A release gives
it p2 = (1/n) times the sum, over the published rows that could be it, of how likely each is to be it. KL = sum of
p1 log(p1 / p2), in nats: 0 where nothing was lost.

How likely a published row is to be the point: it has the quasi values or not; its sensitive values have the shares of
its group; those that do not stand side by side are independent, and the values of a set are equally likely.

For d attributes in sets of l_1 … l_d values, and people who all differ in their quasi values, KL is log of the product
of the l_i: each person's own values are one combination of so many.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.labels import number_text
from pluralis.original import original_values
from pluralis.release import GROUP, ColumnInfo, Manifest, Release

MOST = 300_000  # rows for which it is worked out


def kl_divergence(release: Release, original: pl.DataFrame) -> float | None:
    """KL divergence in nats; None where rows were left out, quasi values are generalised, or the table is large."""
    manifest = release.manifest
    quasi = next(info for info in manifest.tables if info.named("quasi") or info.named("group"))
    exact = all(column.exact for column in quasi.named("quasi"))
    if not exact or original.height > MOST or original.height != manifest.rows:
        return None
    columns = quasi.named("quasi")
    names = [f"q{i}" for i in range(len(columns))]
    true = pl.DataFrame(
        [_core(original_values(original, c, manifest)).alias(name) for c, name in zip(columns, names, strict=True)]
    )
    rows = release.tables[quasi.name]
    group = pl.Series(np.arange(rows.height)) if release.kind == "candidates" else rows[GROUP]
    shown = pl.DataFrame(
        [_core(rows[c.name]).alias(name) for c, name in zip(columns, names, strict=True)] + [group.alias("g")]
    )
    hidden = [_column(name, manifest) for name in _sensitive(manifest)]
    secrets = {column.name: _core(original_values(original, column, manifest)) for column in hidden}
    parts = _shares(release)
    for i, name in enumerate(secrets):
        true = true.with_columns(secrets[name].alias(f"s{i}"))
    places = {name: f"s{i}" for i, name in enumerate(secrets)}
    points = true.group_by(true.columns).agg(pl.len().alias("rows"))
    shown = shown.group_by(shown.columns).agg(pl.len().alias("here"))
    points = points.with_row_index("point")
    both = points.join(shown, on=names, nulls_equal=True)
    for frame, attributes in parts:
        renamed = frame.rename({name: places[name] for name in attributes})
        both = both.join(renamed.rename({GROUP: "g"}), on=["g", *(places[name] for name in attributes)])
    shares = [f"share{i}" for i in range(len(parts))]
    likely = reduce(lambda a, b: a * b, (pl.col(name) for name in shares), pl.col("here"))
    believed = both.group_by("point").agg(likely.sum().alias("believed"), pl.col("rows").first())
    if believed.height != points.height:
        raise ReleaseError("The release does not allow for some rows of the original: it is not its original.")
    n, p1 = original.height, believed["rows"].to_numpy()
    return float((p1 / n * np.log(p1 / believed["believed"].to_numpy())).sum())


def _shares(release: Release) -> list[tuple[pl.DataFrame, list[str]]]:
    """For every table of groups and values: (group, values, how likely a row of the group has them), the attributes."""
    parts: list[tuple[pl.DataFrame, list[str]]] = []
    for info in release.manifest.tables:
        rows = release.tables[info.name]
        for name in (column.name for column in info.columns if column.sets):  # each row is a group of its own
            own = rows.select(name).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64)).explode(name)
            members = own[name] if own[name].dtype.is_numeric() else own[name].cast(pl.String)
            own = own.select(GROUP, _core(members).alias(name), pl.lit(1).alias("\0weight"))
            parts.append((_shared(own, len(parts)), [name]))
        if not info.named("group") or info.named("quasi"):
            continue
        if info.named("attribute"):
            for (name,), part in rows.partition_by("attribute", as_dict=True).items():
                weight = pl.col("count") if info.named("count") else pl.lit(1)
                values = part.select(GROUP, _core(part["value"]).alias(str(name)), weight.alias("\0weight"))
                parts.append((_shared(values, len(parts)), [str(name)]))
        else:
            names = info.names("sensitive")
            texts = [_core(rows[name]).alias(name) for name in names]
            values = rows.select(GROUP, *texts, pl.col("count").alias("\0weight"))
            parts.append((_shared(values, len(parts)), names))
    return parts


def _shared(values: pl.DataFrame, i: int) -> pl.DataFrame:
    share = (pl.col("\0weight") / pl.col("\0weight").sum().over(GROUP)).alias(f"share{i}")
    return values.with_columns(share).drop("\0weight")


def _sensitive(manifest: Manifest) -> list[str]:
    return sorted(manifest.parameters.get("l", {}))


def _column(name: str, manifest: Manifest) -> ColumnInfo:
    """A sensitive attribute as the manifest describes it."""
    for info in manifest.tables:
        for column in info.named("sensitive"):
            if column.attribute == name:
                return column.model_copy(update={"name": name})
    return ColumnInfo.model_validate(manifest.parameters["domains"][name])


def _core(series: pl.Series) -> pl.Series:
    """Values as text, so that a number and its spelling agree."""
    if series.dtype == pl.String:
        return series
    values = series.unique().drop_nulls()
    return series.replace_strict(values, pl.Series([number_text(v) for v in values.to_list()]), return_dtype=pl.String)
