"""KL divergence between the original and what a release lets an analyst believe (Decomposition paper, section 6).

A point is a row of all quasi and sensitive attributes. The original gives it the share p1 of its rows. A release gives
it p2 = (1/n) times the sum, over the published rows that could be it, of how likely each is to be it. KL = sum of
p1 log(p1 / p2), in nats: 0 where nothing was lost.

How likely a published row is to be the point: it has the quasi values or not; its sensitive values have the shares of
its group; those that do not stand side by side are independent, and the values of a set are equally likely.

For d attributes in sets of l_1 … l_d values, and people who all differ in their quasi values, KL is log of the product
of the l_i: each person's own values are one combination of so many.

Of several subtables (`multi`) an analyst believes the likeliest table, their product over what they share. Then KL is
the sum of what each subtable gives, less the entropies of what they share and of the original (decomposable.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.decomposable import entropy, hanging
from pluralis.errors import ReleaseError
from pluralis.estimate.attributes import attributes_of
from pluralis.estimate.subtables import Subtable, subtables
from pluralis.kernels.classes import refined
from pluralis.kernels.likelihood import log_likelihood
from pluralis.labels import number_text
from pluralis.original import original_values
from pluralis.release import GROUP, ColumnInfo, Manifest, Release
from pluralis.schema import Subtable as Bits

MOST = 300_000  # rows for which it is worked out
MOST_OF_SUBTABLES = 2_000_000
NOT_ITS_ORIGINAL = "The release does not allow for some rows of the original: it is not its original."

Codes = npt.NDArray[np.int32]


def kl_divergence(release: Release, original: pl.DataFrame) -> float | None:
    """KL divergence in nats; None where rows were left out, quasi values are generalised, or the table is large.

    None, too, where subtables share columns in circles, so that there is no closed form.
    """
    manifest = release.manifest
    if release.kind == "multi":
        return _of_subtables(release, original)
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
        raise ReleaseError(NOT_ITS_ORIGINAL)
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


# several subtables ------------------------------------------------------------------------------------------------


def _of_subtables(release: Release, original: pl.DataFrame) -> float | None:
    parts = subtables(release)
    if original.height > MOST_OF_SUBTABLES or original.height != release.manifest.rows:
        return None
    if any(part.kind == "generalized" for part in parts):
        return None
    names = list(dict.fromkeys(name for part in parts for name in part.attributes))
    bit = {name: 1 << i for i, name in enumerate(names)}
    edges = hanging([Bits(_sum(bit, part.attributes), _sum(bit, part.protects)) for part in parts])
    if edges is None:
        return None
    infos = attributes_of(release)
    true = {name: _core(original_values(original, infos[name], release.manifest)) for name in names}
    shared = [[name for name in names if edge.shared & bit[name]] for edge in edges]
    told = sum(_told(part, true) for part in parts)
    return float(told - sum(_entropy(true, some) for some in shared) - _entropy(true, names))


def _sum(bit: dict[str, int], names: Sequence[str]) -> int:
    return sum(bit[name] for name in names)


def _entropy(true: dict[str, pl.Series], names: Sequence[str]) -> float:
    classes, count = _classes([[true[name]] for name in names])
    return entropy(np.bincount(classes, minlength=count))


def _told(part: Subtable, true: dict[str, pl.Series]) -> float:
    """-Σ p log of what a subtable says of each row of the original."""
    rows = part.release.tables[part.rows.name]
    shown = [name for name in part.attributes if name not in part.protects]
    both, count = _classes([[true[name], _core(rows[name])] for name in shown])
    mine, theirs = both[: -rows.height], both[-rows.height :]
    if not np.array_equal(np.bincount(mine, minlength=count), np.bincount(theirs, minlength=count)):
        raise ReleaseError(NOT_ITS_ORIGINAL)
    if not part.protects:
        return entropy(np.bincount(mine, minlength=count))
    held = part.release.tables["sensitive"]
    codes, size = _classes([[true[name], _core(held[name])] for name in part.protects])
    groups, of_row = np.unique(rows[GROUP].to_numpy(), return_inverse=True)
    of_entry = np.searchsorted(groups, held[GROUP].to_numpy())
    starts = np.searchsorted(of_entry, np.arange(groups.size + 1))
    shares = held["count"].to_numpy() / np.bincount(of_row, minlength=groups.size)[of_entry]
    by_class, other = np.argsort(mine, kind="stable"), np.argsort(theirs, kind="stable")
    values = codes[rows.height :].astype(np.int64)
    total = log_likelihood(
        np.arange(rows.height),  # rows of a class stand in the same places in both
        np.concatenate([[0], np.cumsum(np.bincount(mine, minlength=count))]),
        codes[: rows.height][by_class],
        of_row[other],
        starts,
        values,
        shares,
        np.zeros(size),
    )
    if not np.isfinite(total):
        raise ReleaseError(NOT_ITS_ORIGINAL)
    return float(np.log(rows.height) - total / rows.height)


def _classes(columns: Sequence[Sequence[pl.Series]]) -> tuple[Codes, int]:
    """Rows that agree in all columns, numbered; a column may come in several pieces."""
    pieces = columns[0]
    classes: Codes = np.zeros(sum(piece.len() for piece in pieces), np.int32)
    count = 1
    for pieces in columns:
        values = pl.concat([piece.unique() for piece in pieces]).unique().drop_nulls().sort()
        kind = pl.Enum(values)
        codes = pl.concat([piece.cast(kind).to_physical() for piece in pieces]).cast(pl.Int32)
        numbers = codes.fill_null(values.len()).to_numpy().astype(np.int32)
        classes, count = refined(classes, count, numbers, values.len() + 1)
    return classes, count
