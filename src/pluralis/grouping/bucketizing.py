"""Groups that are diverse in several sensitive attributes at once: what MSB and SLOMS share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.msb import (
    FINISHED,
    GROUPS,
    LEFT,
    SensitiveValues,
    enter,
    first_rows,
    form_groups,
    keep_first,
    plant,
    waiting_rows,
)
from pluralis.kernels.order import stable_order
from pluralis.kernels.rejoin import form_new_groups, mark_all, masks_for, members_of, rejoin, still_diverse, take_places
from pluralis.kernels.trim import trim
from pluralis.kernels.vectors import kinds_of
from pluralis.progress import stage
from pluralis.table.encoding import Column

Rows = npt.NDArray[np.integer]
PRIORITIES = ("mbf", "msdcf", "mmdcf")
BATCH = 2_000


def sensitive_values(
    columns: Sequence[Column], order: Rows, person: npt.NDArray[np.int32] | None, ls: Sequence[int], once: bool = False
) -> SensitiveValues:
    """The sensitive values of the rows `order`, which are numbered from 0 here; column i must be ls[i]-diverse.

    `once`: no value stands twice in a group that is being formed, even where its own l_i would allow it. Attributes are
    put in order, the most uneven first, so that a value that a group has closes a large part of the tree over buckets.
    """
    tops = [np.bincount(column.codes[order]).max(initial=0) for column in columns]
    places = sorted(range(len(columns)), key=lambda i: (-int(tops[i]), columns[i].name))
    sizes = [columns[i].size for i in places]
    bucket_of, values = kinds_of([columns[i].codes[order] for i in places], sizes)
    bucket_of = bucket_of.astype(np.int32)
    asked = np.array([ls[i] for i in places], np.int64)
    size = int(asked.max()) if once else _roomy(order.size, [int(tops[i]) for i in places], asked)
    return SensitiveValues(
        values=values.astype(np.int64) + np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        bucket_of=bucket_of,
        attribute_of=np.repeat(np.arange(len(places)), sizes),
        ls=asked,
        size=size,
        most=np.ones_like(asked) if once else size // asked,
        person=np.empty(0, np.int32) if person is None else person[order],
    )


def _roomy(rows: int, tops: Sequence[int], ls: Rows) -> int:
    """The size of groups, from l to 3 l, in which the commonest values find most room.

    A group of four takes one row of a value that may fill a third of it, a quarter; groups of six take two, a third.
    """

    def beyond(size: int) -> int:
        return sum(max(0, top - size // int(l) * (rows // size)) for top, l in zip(tops, ls, strict=True))

    return min(range(int(ls.max()), 3 * int(ls.max()) + 1), key=lambda size: (beyond(size), size))


def of_size(sensitive: SensitiveValues, size: int) -> SensitiveValues:
    """The same for groups of another size."""
    return sensitive._replace(size=size, most=np.minimum(sensitive.most, size // sensitive.ls))


def part_of(sensitive: SensitiveValues, rows: Rows) -> SensitiveValues:
    """The same for some of the rows, which are in rising order."""
    if rows.size == sensitive.bucket_of.size:
        return sensitive
    person = sensitive.person[rows] if sensitive.person.size else sensitive.person
    return sensitive._replace(bucket_of=sensitive.bucket_of[rows], person=person)


def eligible_rows(sensitive: SensitiveValues) -> Rows:
    """Rows to keep so that every attribute can be diverse at once: as many as can be, in drawn order."""
    if not sensitive.bucket_of.size:
        return np.empty(0, np.int64)
    buckets, attributes = sensitive.values.shape
    size = np.bincount(sensitive.bucket_of, minlength=buckets)
    drawn = np.argsort(first_rows(sensitive.bucket_of, buckets), kind="stable")
    values = sensitive.values[drawn].ravel()
    holders = np.repeat(drawn, attributes)[stable_order(values, sensitive.attribute_of.size)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=sensitive.attribute_of.size))])
    trim(sensitive.values, size, sensitive.ls[sensitive.attribute_of], starts, holders)
    return np.flatnonzero(keep_first(sensitive.bucket_of, size))


def formed_groups(sensitive: SensitiveValues, priority: str) -> Rows:
    """Groups of l rows, by priority: `formed[g]` are the rows of group g."""
    rows, l = sensitive.bucket_of.size, sensitive.size
    kind = PRIORITIES.index(priority)
    waiting = waiting_rows(sensitive)
    tree = plant(sensitive, waiting, kind)
    formed = np.empty((rows // l, l), np.int32)
    counts = np.zeros(sensitive.attribute_of.size, np.int64)
    counters = np.array([0, rows, 0])
    with stage("forming groups") as done:
        while not counters[FINISHED]:
            form_groups(sensitive, waiting, tree, formed, counts, counters, kind, counters[GROUPS] + BATCH)
            done(1 - counters[LEFT] / rows)
    return formed[: counters[GROUPS]]


def bucketized(sensitive: SensitiveValues, priority: str) -> npt.NDArray[np.int32]:
    """The group of every row, or SUPPRESSED: groups of l, then the rows that may join them."""
    group_of = np.full(sensitive.bucket_of.size, SUPPRESSED, np.int32)
    settle(sensitive, group_of, np.arange(group_of.size), priority, exchange=False)
    return group_of


def settle(sensitive: SensitiveValues, group_of: Rows, loose: Rows, priority: str, exchange: bool = True) -> None:
    """Bring loose rows into groups, new or old, all of which stay diverse; rows for which that fails stay SUPPRESSED.

    Where no more groups can be formed of the size that suits the table, smaller ones are, of l rows. With `exchange`, a
    row may take the place of another that finds one elsewhere.
    """
    groups, left = int(group_of.max(initial=SUPPRESSED)) + 1, loose
    for size in sorted({sensitive.size, int(sensitive.ls.max())}, reverse=True):
        if left.size:
            formed = formed_groups(of_size(part_of(sensitive, left), size), priority)
            enter(group_of, left, formed, groups)
            groups += formed.shape[0]
            left = left[group_of[left] == SUPPRESSED]
    if not (groups and left.size):
        return
    most = groups + left.size // sensitive.size
    members = members_of(group_of, most)
    masks = masks_for(sensitive, group_of, groups, most)
    with stage("placing rows that are left"):
        mark_all(sensitive, members, masks)
        if exchange:
            left = np.sort(form_new_groups(sensitive, members, masks, group_of, left))
        rejoin(sensitive, members, masks, group_of, left)
        if exchange:
            take_places(sensitive, members, masks, group_of, left)


def settle_slices(
    whole: SensitiveValues,
    slices: Sequence[SensitiveValues],
    group_of: Sequence[Rows],
    priority: str,
    without: Rows | None = None,
) -> None:
    """Place rows in the groups of every slice, or of none: `group_of[i]` is corrected until slices agree on the rows.

    `whole` holds all attributes, each slice its own, of the same rows. Rows are suppressed first until every attribute
    can be diverse; then each slice makes its groups. What was suppressed is tried once more on its own, as long as that
    helps: groups of two tries share no row, so what holds of each try holds of both together. Rows `without` are taken
    out of groups that are there and stay out; then nothing is tried again.
    """
    kept = group_of[0] != SUPPRESSED
    if without is not None:
        kept[without] = False
        _agree(whole, slices, group_of, kept, priority)
        return
    left = np.flatnonzero(~kept)
    while left.size:
        trial = [np.full(left.size, SUPPRESSED, groups.dtype) for groups in group_of]
        parts = [part_of(sensitive, left) for sensitive in slices]
        _agree(part_of(whole, left), parts, trial, np.ones(left.size, np.bool_), priority)
        placed = trial[0] != SUPPRESSED
        for groups, new in zip(group_of, trial, strict=True):
            groups[left[placed]] = new[placed] + groups.max() + 1
        if not placed.any():
            break
        left = left[~placed]


def _agree(
    whole: SensitiveValues,
    slices: Sequence[SensitiveValues],
    group_of: Sequence[Rows],
    kept: npt.NDArray[np.bool_],
    priority: str,
) -> None:
    """Place all kept rows in every slice, suppressing more of them until that succeeds."""
    while True:
        now = np.flatnonzero(kept)
        eligible = now[eligible_rows(part_of(whole, now))]
        kept[:] = False
        kept[eligible] = True
        del now, eligible
        for sensitive, groups in zip(slices, group_of, strict=True):
            leave(sensitive, groups, kept)
            _settle_best(sensitive, groups, np.flatnonzero(kept & (groups == SUPPRESSED)), priority)
        placed = np.all([groups != SUPPRESSED for groups in group_of], axis=0)
        if placed[kept].all():
            return
        kept &= placed


def _settle_best(sensitive: SensitiveValues, group_of: Rows, loose: Rows, priority: str) -> None:
    """Settle loose rows by the priority asked for; where that leaves some, by the others, if they leave fewer."""
    best, fewest = group_of, loose.size + 1
    for kind in sorted(PRIORITIES, key=lambda kind: kind != priority):
        trial = group_of.copy()
        settle(sensitive, trial, loose, kind)
        left = int((trial[loose] == SUPPRESSED).sum())
        if left < fewest:
            best, fewest = trial, left
        if not left:
            break
    group_of[:] = best


def leave(sensitive: SensitiveValues, group_of: Rows, kept: npt.NDArray[np.bool_]) -> None:
    """Take rows that are not kept from their groups, and all rows from groups that are not diverse without them."""
    hit = np.unique(group_of[~kept & (group_of != SUPPRESSED)])
    group_of[~kept] = SUPPRESSED
    if hit.size:
        broken = np.zeros(group_of.max(initial=0) + 1, np.bool_)
        broken[hit[hit < broken.size]] = True
        still_diverse(sensitive, members_of(group_of, broken.size), broken)
        group_of[kept & broken[group_of]] = SUPPRESSED
