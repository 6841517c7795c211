"""Candidate rows: which published rows somebody may be.

Whoever knows a person's values finds the rows that show them, or labels that cover them. Text is compared in one
spelling, in labels without regard to case, as in the audit. One of these rows is the person's; without more to go by
each is as likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing import label_boxes as boxes
from pluralis.kernels.cover import boxes_around, fill_bins
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.original import original_values
from pluralis.table.spelling import cores

BOX, CLASS = "\0box", "\0class"
BINS = 128  # of codes, for finding the boxes around a point

Ints = npt.NDArray[np.int64]


class Covering(NamedTuple):
    """Some classes of people with the boxes that cover them: boxes[starts[i] : starts[i + 1]] are those of class i."""

    classes: Ints
    starts: Ints
    boxes: Ints

    @property
    def pairs(self) -> pl.DataFrame:
        """CLASS and BOX."""
        return pl.DataFrame({CLASS: np.repeat(self.classes, np.diff(self.starts)), BOX: self.boxes})


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """People in classes of equal values, and published rows that look alike in boxes.

    `class_of` is the class of each person, `box_of` the box of each row. Where values are published as they are
    (`labels` is None), a class and the box that covers it have the same number.
    """

    class_of: Ints
    box_of: Ints
    labels: Sequence[boxes.CodedLabels] | None

    @classmethod
    def by_columns(
        cls, rows: pl.DataFrame, columns: Sequence[ColumnInfo], people: pl.DataFrame, manifest: Manifest
    ) -> CandidateRows:
        """By some columns of the rows, for some rows of the original."""
        keep = manifest.parameters.case
        both = [(rows[column.name], original_values(people, column, manifest)) for column in columns]
        if all(column.exact or column.role != "quasi" for column in columns):
            pairs = zip(both, (column.name not in keep for column in columns), strict=True)
            codes = [shared_codes([one_spelling(values, fold_case=fold) for values in pair]) for pair, fold in pairs]
            every = row_numbers([*map(np.concatenate, codes)] or [np.zeros(rows.height + people.height, np.int64)])
            return cls(every[rows.height :], every[: rows.height], None)
        labels = [_coded_labels(*pair, column) for pair, column in zip(both, columns, strict=True)]
        class_of = row_numbers([column.value.astype(np.int64) for column in labels])
        return cls(class_of, row_numbers([column.label.astype(np.int64) for column in labels]), labels)

    def coverings(self, limit: int, seed: int = 0) -> Iterator[Covering]:
        """The boxes around all classes; where there are more than `limit`, around a random part of them at a time."""
        classes, first = np.unique(self.class_of, return_index=True)
        if self.labels is None:
            published = np.isin(classes, self.box_of)
            yield Covering(classes, np.concatenate([[0], np.cumsum(published)]), classes[published])
            return
        _, row_of_box = np.unique(self.box_of, return_index=True)
        shown = [column._replace(label=column.label[row_of_box]) for column in self.labels]
        every, _ = boxes.join_boxes(shown, np.zeros(row_of_box.size, np.int64))
        sizes = [int(max(codes.max(initial=0) for codes in (c.value, c.high, c.low))) + 1 for c in self.labels]
        bins = [min(BINS, size) for size in sizes]
        bin_of = np.concatenate([np.arange(size) * many // size for size, many in zip(sizes, bins, strict=True)])
        first_code, first_bin = (np.cumsum([0, *parts])[:-1].astype(np.int64) for parts in (sizes, bins))
        bits = np.zeros((sum(bins), -(-row_of_box.size // 64)), np.uint64)
        fill_bins(every.low, every.high, bin_of, first_code, first_bin, bits)
        order = np.random.default_rng(seed).permutation(classes.size)
        codes = np.stack([column.value[first[order]] for column in self.labels], axis=1)
        begin, end = 0, -1
        while end < order.size:
            starts, around = boxes_around(every, codes[begin:], bin_of, first_code, first_bin, bits, limit)
            end = begin + starts.size - 1
            yield Covering(order[begin:end], starts, around)
            begin = end


def _coded_labels(labels: pl.Series, values: pl.Series, column: ColumnInfo) -> boxes.CodedLabels:
    """Labels and values as codes; each different value is read once."""
    different = values.unique()
    coded = boxes.coded_labels(labels, different, column)
    return coded._replace(value=coded.value[boxes.places_among(values.to_frame("x"), different.to_frame("x"))])


# columns as codes -----------------------------------------------------------------------------------------------


def one_spelling(values: pl.Series, *, fold_case: bool = True) -> pl.Series:
    """Numbers as they are, text in one spelling; quick where few texts are different."""
    if values.dtype != pl.String:
        return values.cast(pl.Float64)
    texts = values.unique().drop_nulls()
    places = values.cast(pl.Enum(texts)).to_physical()
    return cores(texts, fold_case=fold_case).gather(places) if texts.len() else values


def shared_codes(columns: Sequence[pl.Series]) -> list[Ints]:
    """The values of several columns as places among all of them; missing is one of them.

    >>> [codes.tolist() for codes in shared_codes([pl.Series(["b", None]), pl.Series(["a", "b"])])]
    [[1, 2], [0, 1]]
    """
    every = pl.concat([column.unique() for column in columns]).unique().drop_nulls().sort()
    out = []
    for column in columns:
        if column.dtype == pl.String:
            places = column.cast(pl.Enum(every)).to_physical().cast(pl.Int64)
        else:
            places = every.search_sorted(column.fill_null(0.0)).cast(pl.Int64).set(column.is_null(), None)
        out.append(places.fill_null(every.len()).to_numpy().astype(np.int64))
    return out


def row_numbers(columns: Sequence[Ints]) -> Ints:
    """A number from 0 for each row, the same for rows that agree in all columns.

    >>> row_numbers([np.array([5, 5, 7]), np.array([1, 2, 1])]).tolist()
    [0, 1, 2]
    """
    packed = np.zeros(columns[0].size, np.int64)
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if int(packed.max(initial=0)) >= 2**62 // size:
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
        packed = packed * size + column
    return np.unique(packed, return_inverse=True)[1].astype(np.int64)


def ranges(begin: Ints, width: Ints) -> Ints:
    """The numbers from each beginning on, as many as its width.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(width)
    return np.repeat(begin - (ends - width), width) + np.arange(int(width.sum()))
