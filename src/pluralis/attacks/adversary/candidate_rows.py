"""Candidate rows: which published rows somebody may be.

Whoever knows a person's values finds the rows that show them, or labels that cover them. Text is compared in one
spelling, in labels without regard to case, as in the audit. One of these rows is the person's; without more to go by
each is as likely.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing import label_boxes as boxes
from pluralis.kernels.cover import boxes_around, fill_bins
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.original import original_values
from pluralis.table.dictionaries import dictionary_encode, different_numbers, is_text
from pluralis.table.spelling import cores

BOX, CLASS = "\0box", "\0class"
BINS = 128  # of codes, for finding the boxes around a point

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


class Covering(NamedTuple):
    """Some classes of people with the boxes that cover them: boxes[starts[i] : starts[i + 1]] are those of class i."""

    classes: Ints
    starts: Ints
    boxes: Codes

    @property
    def pairs(self) -> pl.DataFrame:
        """CLASS and BOX."""
        classes = np.repeat(self.classes.astype(np.int32), np.diff(self.starts))
        return pl.DataFrame({CLASS: classes, BOX: self.boxes})

    def parts(self, pairs: int) -> Iterator[Covering]:
        """The same in parts of whole classes, of about so many pairs each."""
        cuts = np.flatnonzero(np.diff(self.starts[1:] // pairs)) + 1
        for begin, end in pairwise([0, *cuts.tolist(), self.classes.size]):
            first, last = self.starts[begin], self.starts[end]
            starts = self.starts[begin : end + 1] - first
            yield Covering(self.classes[begin:end], starts, self.boxes[first:last])


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """People in classes of equal values, and published rows that look alike in boxes.

    `class_of` is the class of each person, `box_of` the box of each row. Where values are published as they are
    (`labels` is None), a class and the box that covers it have the same number.
    """

    class_of: Ints
    box_of: Codes
    labels: Sequence[boxes.CodedLabels] | None

    @classmethod
    def by_columns(
        cls, rows: pl.DataFrame, columns: Sequence[ColumnInfo], people: pl.DataFrame, manifest: Manifest
    ) -> CandidateRows:
        """By some columns of the rows, for some rows of the original."""
        keep, labels = manifest.parameters.case, list[boxes.CodedLabels]()
        exact = all(column.exact or column.role != "quasi" for column in columns)

        def one_by_one() -> Iterator[npt.NDArray[np.integer]]:
            for column in columns:
                both = rows[column.name], original_values(people, column, manifest)
                if exact:
                    yield np.concatenate(shared_codes(both, fold_case=column.name not in keep))
                else:
                    labels.append(boxes.coded_labels(*both, column))
                    yield labels[-1].label

        if exact:
            every = row_numbers(one_by_one(), rows.height + people.height)
            return cls(every[rows.height :].astype(np.int64), every[: rows.height], None)
        box_of = row_numbers(one_by_one(), rows.height)
        class_of = row_numbers((column.value for column in labels), people.height)
        return cls(class_of.astype(np.int64), box_of, labels)

    def coverings(self, limit: int, seed: int = 0) -> Iterator[Covering]:
        """The boxes around all classes; where there are more than `limit`, around a random part of them at a time."""
        classes, first = np.unique(self.class_of, return_index=True)
        if self.labels is None:
            published = np.isin(classes, self.box_of)
            boxes_of = classes[published].astype(np.int32)
            yield Covering(classes, np.concatenate([[0], np.cumsum(published)]), boxes_of)
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


# columns as codes -----------------------------------------------------------------------------------------------


def shared_codes(columns: Sequence[pl.Series], *, fold_case: bool = True) -> list[Codes]:
    """The values of several columns, text in one spelling, in the order of all of them; missing is one of them.

    >>> [codes.tolist() for codes in shared_codes([pl.Series(["b", None]), pl.Series(["A", "b "])])]
    [[1, 2], [0, 1]]
    """
    if not all(is_text(column.dtype) for column in columns):
        return _shared_numbers([column.cast(pl.Float64) for column in columns])
    coded = [dictionary_encode(column) for column in columns]
    spelled = [cores(column.dtype.categories, fold_case=fold_case) for column in coded]  # type: ignore[attr-defined]
    every = pl.concat(spelled).unique().sort()
    out = []
    for column, cores_of in zip(coded, spelled, strict=True):
        place = every.search_sorted(cores_of).cast(pl.Int32)
        out.append(place.gather(column.to_physical()).fill_null(every.len()).to_numpy())
    return out


def _shared_numbers(columns: Sequence[pl.Series]) -> list[Codes]:
    every = pl.concat([column.unique() for column in columns]).unique().drop_nulls().sort()
    out = []
    for column in columns:
        places = every.search_sorted(column).cast(pl.Int32)
        out.append(places.set(column.is_null(), every.len()).to_numpy())
    return out


def row_numbers(columns: Iterable[npt.NDArray[np.integer]], rows: int) -> Codes:
    """A number from 0 for each row, the same for rows that agree in all columns. Each column is needed once.

    >>> row_numbers([np.array([5, 5, 7]), np.array([1, 2, 1])], 3).tolist()
    [0, 1, 2]
    """
    packed, most = np.zeros(rows, np.int64), 0
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if most >= 2**62 // size:
            packed = different_numbers(packed)[1].astype(np.int64)
            most = int(packed.max(initial=0))
        packed *= size
        packed += column
        most = int(packed.max(initial=0))
    return different_numbers(packed)[1]


def ranges(begin: Ints, width: Ints) -> Ints:
    """The numbers from each beginning on, as many as its width.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(width)
    return np.repeat(begin - (ends - width), width) + np.arange(int(width.sum()))
