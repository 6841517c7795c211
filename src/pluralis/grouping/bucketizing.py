"""Groups that are diverse in several sensitive attributes at once: what MSB and SLOMS share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import LEFT_OUT
from pluralis.kernels.msb import (
    FINISHED,
    GROUPS,
    LEFT,
    Secrets,
    enter,
    first_rows,
    form_groups,
    keep_first,
    plant,
    waiting_rows,
)
from pluralis.kernels.order import stable_order
from pluralis.kernels.rejoin import found_groups, mark_all, masks_for, members_of, rejoin, still_diverse, take_places
from pluralis.kernels.trim import trim
from pluralis.kernels.vectors import kinds_of
from pluralis.progress import stage
from pluralis.table.encoding import Column

Rows = npt.NDArray[np.integer]
PRIORITIES = ("mbf", "msdcf", "mmdcf")
BATCH = 2_000


def secrets_of(
    columns: Sequence[Column], order: Rows, person: npt.NDArray[np.int32] | None, ls: Sequence[int], once: bool = False
) -> Secrets:
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
    return Secrets(
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


def of_size(secrets: Secrets, size: int) -> Secrets:
    """The same for groups of another size."""
    return secrets._replace(size=size, most=np.minimum(secrets.most, size // secrets.ls))


def part_of(secrets: Secrets, rows: Rows) -> Secrets:
    """The same for some of the rows, which are in rising order."""
    if rows.size == secrets.bucket_of.size:
        return secrets
    person = secrets.person[rows] if secrets.person.size else secrets.person
    return secrets._replace(bucket_of=secrets.bucket_of[rows], person=person)


def eligible_rows(secrets: Secrets) -> Rows:
    """Rows to keep so that every attribute can be diverse at once: as many as can be, in drawn order."""
    if not secrets.bucket_of.size:
        return np.empty(0, np.int64)
    buckets, attributes = secrets.values.shape
    size = np.bincount(secrets.bucket_of, minlength=buckets)
    drawn = np.argsort(first_rows(secrets.bucket_of, buckets), kind="stable")
    values = secrets.values[drawn].ravel()
    holders = np.repeat(drawn, attributes)[stable_order(values, secrets.attribute_of.size)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=secrets.attribute_of.size))])
    trim(secrets.values, size, secrets.ls[secrets.attribute_of], starts, holders)
    return np.flatnonzero(keep_first(secrets.bucket_of, size))


def formed_groups(secrets: Secrets, priority: str) -> Rows:
    """Groups of l rows, by priority: `formed[g]` are the rows of group g."""
    rows, l = secrets.bucket_of.size, secrets.size
    kind = PRIORITIES.index(priority)
    waiting = waiting_rows(secrets)
    tree = plant(secrets, waiting, kind)
    formed = np.empty((rows // l, l), np.int32)
    held = np.zeros(secrets.attribute_of.size, np.int64)
    counters = np.array([0, rows, 0])
    with stage("forming groups") as done:
        while not counters[FINISHED]:
            form_groups(secrets, waiting, tree, formed, held, counters, kind, counters[GROUPS] + BATCH)
            done(1 - counters[LEFT] / rows)
    return formed[: counters[GROUPS]]


def bucketized(secrets: Secrets, priority: str) -> npt.NDArray[np.int32]:
    """The group of every row, or LEFT_OUT: groups of l, then the rows that may join them."""
    group_of = np.full(secrets.bucket_of.size, LEFT_OUT, np.int32)
    settle(secrets, group_of, np.arange(group_of.size), priority, exchange=False)
    return group_of


def settle(secrets: Secrets, group_of: Rows, loose: Rows, priority: str, exchange: bool = True) -> None:
    """Bring loose rows into groups, new or old, all of which stay diverse; rows for which that fails stay LEFT_OUT.

    Where no more groups can be formed of the size that suits the table, smaller ones are, of l rows. With `exchange`, a
    row may take the place of another that finds one elsewhere.
    """
    groups, left = int(group_of.max(initial=LEFT_OUT)) + 1, loose
    for size in sorted({secrets.size, int(secrets.ls.max())}, reverse=True):
        if left.size:
            formed = formed_groups(of_size(part_of(secrets, left), size), priority)
            enter(group_of, left, formed, groups)
            groups += formed.shape[0]
            left = left[group_of[left] == LEFT_OUT]
    if not (groups and left.size):
        return
    most = groups + left.size // secrets.size
    members = members_of(group_of, most)
    masks = masks_for(secrets, group_of, groups, most)
    with stage("placing rows that are left"):
        mark_all(secrets, members, masks)
        if exchange:
            left = np.sort(found_groups(secrets, members, masks, group_of, left))
        rejoin(secrets, members, masks, group_of, left)
        if exchange:
            take_places(secrets, members, masks, group_of, left)


def settle_slices(
    whole: Secrets, slices: Sequence[Secrets], group_of: Sequence[Rows], priority: str, without: Rows | None = None
) -> None:
    """Place rows in the groups of every slice, or of none: `group_of[i]` is corrected until slices agree on the rows.

    `whole` holds all attributes, each slice its own, of the same rows. Rows are left out first until every attribute
    can be diverse; then each slice makes its groups. What was left out is tried once more on its own, as long as that
    helps: groups of two tries share no row, so what holds of each try holds of both together. Rows `without` are taken
    out of groups that are there and stay out; then nothing is tried again.
    """
    kept = group_of[0] != LEFT_OUT
    if without is not None:
        kept[without] = False
        _agree(whole, slices, group_of, kept, priority)
        return
    left = np.flatnonzero(~kept)
    while left.size:
        found = [np.full(left.size, LEFT_OUT, mine.dtype) for mine in group_of]
        parts = [part_of(secrets, left) for secrets in slices]
        _agree(part_of(whole, left), parts, found, np.ones(left.size, np.bool_), priority)
        placed = found[0] != LEFT_OUT
        for mine, new in zip(group_of, found, strict=True):
            mine[left[placed]] = new[placed] + mine.max() + 1
        if not placed.any():
            break
        left = left[~placed]


def _agree(
    whole: Secrets, slices: Sequence[Secrets], group_of: Sequence[Rows], kept: npt.NDArray[np.bool_], priority: str
) -> None:
    """Place all kept rows in every slice, leaving out more of them until that succeeds."""
    while True:
        now = np.flatnonzero(kept)
        eligible = now[eligible_rows(part_of(whole, now))]
        kept[:] = False
        kept[eligible] = True
        del now, eligible
        for secrets, mine in zip(slices, group_of, strict=True):
            leave(secrets, mine, kept)
            _settle_best(secrets, mine, np.flatnonzero(kept & (mine == LEFT_OUT)), priority)
        placed = np.all([mine != LEFT_OUT for mine in group_of], axis=0)
        if placed[kept].all():
            return
        kept &= placed


def _settle_best(secrets: Secrets, group_of: Rows, loose: Rows, priority: str) -> None:
    """Settle loose rows by the priority asked for; where that leaves some, by the others, if they leave fewer."""
    best, fewest = group_of, loose.size + 1
    for kind in sorted(PRIORITIES, key=lambda kind: kind != priority):
        trial = group_of.copy()
        settle(secrets, trial, loose, kind)
        left = int((trial[loose] == LEFT_OUT).sum())
        if left < fewest:
            best, fewest = trial, left
        if not left:
            break
    group_of[:] = best


def leave(secrets: Secrets, group_of: Rows, kept: npt.NDArray[np.bool_]) -> None:
    """Take rows that are not kept from their groups, and all rows from groups that are not diverse without them."""
    hit = np.unique(group_of[~kept & (group_of != LEFT_OUT)])
    group_of[~kept] = LEFT_OUT
    if hit.size:
        broken = np.zeros(group_of.max(initial=0) + 1, np.bool_)
        broken[hit[hit < broken.size]] = True
        still_diverse(secrets, members_of(group_of, broken.size), broken)
        group_of[kept & broken[group_of]] = LEFT_OUT
