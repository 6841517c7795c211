"""KL divergence between the original and what a release lets an analyst believe (Decomposition paper, section 6).

A point is a row of all quasi-identifiers and sensitive attributes. The original gives it the share p1 of its rows. A
release gives it p2 = (1/n) times the sum, over the published rows that could be it, of how likely each is to be it. KL
= sum of p1 log(p1 / p2), in nats: 0 where nothing was lost.

How likely a published row is to be the point: it has the quasi-identifiers or not; its sensitive values have the shares
of its group; those that do not stand side by side are independent, and the values of a set are equally likely.

For d attributes in sets of l_1 … l_d values, and people who all differ in their quasi-identifiers, KL is log of the
product of the l_i: each person's own values are one combination of so many.

Of several subtables (`multi`) an analyst believes the likeliest table, their product over what they share. Then KL is
the sum of what each subtable gives, less the entropies of what they share and of the original
(`grouping.subtable_divergence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.grouping.subtable_divergence import entropy, hanging
from pluralis.grouping.subtable_schema import Subtable as Bits
from pluralis.kernels.classes import refined
from pluralis.kernels.likelihood import log_likelihood, log_likelihood_of_parts
from pluralis.kernels.order import stable_order
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import Subtable, subtables
from pluralis.table.dictionaries import decode, is_text
from pluralis.table.labels import number_texts

MOST = 300_000  # rows for which it is worked out
MOST_OF_SUBTABLES = 2_000_000
_WEIGHT = "\0weight"
NOT_ITS_ORIGINAL = "The release does not allow for some rows of the original: it is not its original."

Codes = npt.NDArray[np.int32]
Sizes = npt.NDArray[np.int64]


def kl_divergence(release: Release, original: pl.DataFrame) -> float | None:
    """KL divergence in nats; None where rows were suppressed, quasi-identifiers are generalized, or the table is large.

    None, too, where subtables share columns in circles, so that there is no closed form.
    """
    manifest = release.manifest
    if release.traits.has_subtables:
        return _of_subtables(release, original)
    quasi = next(info for info in manifest.tables if info.named("quasi") or info.named("group"))
    exact = all(column.exact for column in quasi.named("quasi"))
    if not exact or original.height > MOST or original.height != manifest.rows:
        return None
    rows = release.tables[quasi.name]
    shown = (
        (original_values(original, column, manifest, in_codes=True), rows[column.name])
        for column in quasi.named("quasi")
    )
    group = pl.Series(np.arange(rows.height)) if release.traits.lists_values else rows[GROUP]

    def hidden(name: str) -> pl.Series:
        return original_values(original, _column(name, manifest), manifest, in_codes=True)

    expected, points = _shares_of_points(rows.height, shown, hidden, group, _shares(release))
    return expected - entropy(points)


def _shares(release: Release) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """For every table of groups and values: (group, values, how likely a row of the group has them), the attributes."""
    for info in release.manifest.tables:
        rows = release.tables[info.name]
        for name in (column.name for column in info.columns if column.sets):  # each row is a group of its own
            own = rows.select(name).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64)).explode(name)
            yield _shared(own.select(GROUP, name, pl.lit(1).alias(_WEIGHT))), [name]
        if not info.named("group") or info.named("quasi"):
            continue
        if info.named("attribute"):
            for (name,), part in rows.partition_by("attribute", as_dict=True).items():
                weight = pl.col("count") if info.named("count") else pl.lit(1)
                values = part.select(GROUP, pl.col("value").alias(str(name)), weight.alias(_WEIGHT))
                yield _shared(values), [str(name)]
        else:
            names = info.names("sensitive")
            yield _shared(rows.select(GROUP, *names, pl.col("count").alias(_WEIGHT))), names


def _shared(values: pl.DataFrame) -> pl.DataFrame:
    """Weights as shares of their group, in the order of groups."""
    values = values if values[GROUP].is_sorted() else values.sort(GROUP)
    groups = values[GROUP].to_numpy()
    of_entry = np.cumsum(np.diff(groups, prepend=groups[:1]) > 0)
    weights = values[_WEIGHT].to_numpy()
    return values.with_columns(pl.Series(_WEIGHT, weights / np.bincount(of_entry, weights)[of_entry]))


def _column(name: str, manifest: Manifest) -> ColumnInfo:
    """A sensitive attribute as the manifest describes it."""
    for info in manifest.tables:
        for column in info.named("sensitive"):
            if column.attribute == name:
                return column.model_copy(update={"name": name})
    return manifest.parameters.domains[name]


# several subtables ------------------------------------------------------------------------------------------------


def _of_subtables(release: Release, original: pl.DataFrame) -> float | None:
    parts = subtables(release)
    if original.height > MOST_OF_SUBTABLES or original.height != release.manifest.rows:
        return None
    if any(part.release.traits.generalizes for part in parts):
        return None
    names = list(dict.fromkeys(name for part in parts for name in part.attributes))
    bit = {name: 1 << i for i, name in enumerate(names)}
    edges = hanging([Bits(_sum(bit, part.attributes), _sum(bit, part.protects)) for part in parts])
    if edges is None:
        return None
    infos = attributes_of(release)
    true = {name: original_values(original, infos[name], release.manifest, in_codes=True) for name in names}
    expected = sum(_of_subtable(part, true) for part in parts)
    shared = (_entropy([true[name] for name in names if edge.shared & bit[name]]) for edge in edges)
    return float(expected - sum(shared) - _entropy(list(true.values())))


def _sum(bit: dict[str, int], names: Sequence[str]) -> int:
    return sum(bit[name] for name in names)


def _of_subtable(part: Subtable, true: dict[str, pl.Series]) -> float:
    rows = part.release.tables[part.rows.name]
    shown = [(true[name], rows[name]) for name in part.attributes if name not in part.protects]
    group, parts = (rows[GROUP], _shares(part.release)) if part.protects else (None, iter(()))
    return _shares_of_points(rows.height, shown, true.__getitem__, group, parts)[0]


# what tables say of the rows of the original ----------------------------------------------------------------------


def _shares_of_points(
    rows: int,
    shown: Iterable[tuple[pl.Series, pl.Series]],
    hidden: Callable[[str], pl.Series],
    group: pl.Series | None,
    parts: Iterable[tuple[pl.DataFrame, list[str]]],
) -> tuple[float, Sizes]:
    """-Σ p log of what is said of each row of the original, and how many rows each different one stands for.

    `shown` are columns of the original and of the release, which has as many rows; `hidden` gives those of the original
    of which groups tell in `parts`, and `group` is that of every row of the release.
    """
    both, count = _classes(2 * rows, shown)
    classes, theirs = both[:rows], both[rows:]
    sizes = np.bincount(classes, minlength=count)
    if not np.array_equal(sizes, np.bincount(theirs, minlength=count)):
        raise ReleaseError(NOT_ITS_ORIGINAL)
    if group is None:
        return entropy(sizes), sizes
    begins = np.concatenate([[0], np.cumsum(sizes)])  # rows of a class stand in the same places in both
    points, codes, tables = classes, [], []
    every = [(frame, names, frame[GROUP].to_numpy()) for frame, names in parts]
    (of_row, *of_entries), groups = _ranks([group.to_numpy(), *(own for _, _, own in every)])
    of_place = of_row[stable_order(theirs, count)]
    for (frame, names, _), of_entry in zip(every, of_entries, strict=True):
        coded, size = _classes(rows + frame.height, ((hidden(name), frame[name]) for name in names))
        points, count = refined(points, count, coded[:rows], size)
        codes.append(coded[:rows])
        starts = np.concatenate([[0], np.cumsum(np.bincount(of_entry, minlength=groups))])
        tables.append((starts, coded[rows:], frame[_WEIGHT].to_numpy()))
    if len(tables) == 1:
        by_class = codes[0][stable_order(classes, begins.size - 1)]
        total = log_likelihood(np.arange(rows), begins, by_class, of_place, *tables[0], np.zeros(size))
    else:
        by_point = np.stack(codes)[:, np.lexsort((points, classes))]
        firsts = np.cumsum([0] + [values.size for _, values, _ in tables[:-1]])
        starts = np.stack([starts + first for (starts, _, _), first in zip(tables, firsts, strict=True)])
        values, shares = (np.concatenate([table[i] for table in tables]) for i in (1, 2))
        total = log_likelihood_of_parts(begins, by_point, of_place, starts, values, shares)
    if not np.isfinite(total):
        raise ReleaseError(NOT_ITS_ORIGINAL)
    return float(np.log(rows) - total / rows), np.bincount(points, minlength=count)


def _entropy(columns: Sequence[pl.Series]) -> float:
    classes, count = _classes(columns[0].len() if columns else 0, [(column,) for column in columns])
    return entropy(np.bincount(classes, minlength=count))


def _classes(rows: int, columns: Iterable[Sequence[pl.Series]]) -> tuple[Codes, int]:
    """Rows that agree in all columns, numbered; a column may come in several pieces."""
    classes: Codes = np.zeros(rows, np.int32)
    count = 1
    for pieces in columns:
        numbers, size = _numbers(pieces)
        classes, count = refined(classes, count, numbers, size)
    return classes, count


def _numbers(pieces: Sequence[pl.Series]) -> tuple[Codes, int]:
    """Values numbered, and how many there are. Where types differ texts count: a number and its spelling agree."""
    whole = all(piece.dtype.is_integer() for piece in pieces)
    alike = whole or (pieces[0].dtype.is_numeric() and len({piece.dtype for piece in pieces}) == 1)
    if alike and not any(piece.null_count() for piece in pieces):
        places, size = _ranks([piece.to_numpy() for piece in pieces])
        return np.concatenate(places), size
    own = [piece.unique().drop_nulls() for piece in pieces]
    texts = [decode(values) if is_text(values.dtype) else number_texts(values) for values in own]
    kind = pl.Enum(pl.concat(texts).unique().sort())
    coded = []
    for piece, values, text in zip(pieces, own, texts, strict=True):
        if is_text(piece.dtype):
            coded.append(piece.cast(kind).to_physical().cast(pl.Int32))
        else:
            codes = piece.replace_strict(values, text.cast(kind).to_physical(), return_dtype=pl.Int32)
            coded.append(codes.cast(pl.Int32))  # also of no values
    size = kind.categories.len()
    return pl.concat(coded).fill_null(size).to_numpy(), size + 1


def _ranks(pieces: Sequence[npt.NDArray[Any]]) -> tuple[list[Codes], int]:
    """The place of each number among the different ones of all pieces, and how many are different."""
    filled = [piece for piece in pieces if piece.size]
    low, high = min(piece.min() for piece in filled), max(piece.max() for piece in filled)
    if low.dtype.kind != "f" and int(high) - int(low) < 2 * sum(piece.size for piece in pieces):
        present = np.zeros(int(high) - int(low) + 1, np.bool_)  # a place for every number between: no need to sort
        for piece in filled:
            present[piece - low] = True
        place = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return [place[piece - low] for piece in pieces], int(present.sum())
    different = np.unique(np.concatenate(pieces))
    return [np.searchsorted(different, piece).astype(np.int32) for piece in pieces], different.size
