"""How large parts are and how many workers publish them, so that all processes together stay within some memory.

What is counted is what processes hold, the code of libraries once: all of them share it. The figures are bounds of what
was measured (docs/scale.md), for columns of text and numbers; a policy with many sensitive attributes may take more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pluralis.engines.process_pool import ROOM, cores, free_memory
from pluralis.errors import InputError

MIB = 1 << 20
PART = 250_000  # rows of a part, about
LEAST = 10_000  # rows of a part at least; a test key may have less
FAVORED = 50_000  # rows from which more workers are worth more than larger parts
CHUNK = 1 << 17  # rows that are read at a time
PIECE = 1 << 20  # rows that are learned of, or routed, as one task

ALONE = 200 * MIB  # this process, and the code of libraries
WORKER = 140 * MIB  # each worker, before it has any rows
ATTACKS = 350 * MIB  # more, for the worker that attacks its part
PUBLISHED = 6  # times the rows of a part, spelled out, that a worker holds while it publishes them
READ = 4  # times the rows of a chunk, spelled out, while they are cleaned
ROUTED = 24  # bytes for each cell of a piece while it is routed
SPELLED = 4  # times the different texts of a table, in each process

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True)
class Rows:
    """What rows of a table take: bytes of one, spelled out; how many columns; bytes of all different texts.

    `in_memory` are those of a table that this process has in memory.
    """

    spelled: float
    columns: int
    texts: int = 0
    in_memory: int = 0


@dataclass(frozen=True)
class Sizes:
    """Rows of a part, of what is read at a time and of what is routed as one task; workers, 0 for none beside us."""

    part: int
    workers: int
    chunk: int
    piece: int


def bytes_of(size: int | str) -> int:
    """A size in bytes, from a number or as people write it.

    >>> bytes_of("4GiB"), bytes_of("1.5 MiB"), bytes_of(1000)
    (4294967296, 1572864, 1000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    units = {name.lower(): factor for name, factor in _UNITS.items()}
    if match is None or match[2].lower() not in units:
        raise InputError(f"{str(size)!r} is no size of memory. Write it as 4GiB or 500MiB.")
    return int(float(match[1]) * units[match[2].lower()])


def sizes_for(rows: Rows, *, memory: int | None, part: int | None, workers: int | None, attacks: bool) -> Sizes:
    """The sizes that are asked, and for those that are not, the best that stay within the memory.

    Where no memory is given, what is free is used, and nothing is refused.
    """
    most = cores() if workers is None else max(1, workers)
    if memory is None:
        wanted = part or PART
        free = ROOM * free_memory()
        fitting = [number for number in range(1, most + 1) if need(rows, number, wanted, attacks) <= free]
        number = max(fitting, default=1) if workers is None else workers
        return Sizes(wanted, number, CHUNK, PIECE)
    for number in range(most, 0, -1):
        room = _room(rows, memory, number, attacks)
        fitting_part = int(room / (PUBLISHED * rows.spelled))
        least = part or (FAVORED if number > 1 else LEAST)
        if fitting_part >= least and (workers is None or number == most):
            piece = int(room / (ROUTED * (rows.columns + 1)))
            return Sizes(
                part or min(PART, fitting_part),
                number if workers is None else workers,
                max(1 << 12, min(CHUNK, int(room / (READ * rows.spelled)))),
                max(1 << 12, min(PIECE, piece)),
            )
    fewest = most if workers is not None else 1
    needed = need(rows, fewest, part or LEAST, attacks)
    raise InputError(
        f"Within {memory / MIB:,.0f} MiB this table cannot be published: {fewest} worker{'s' * (fewest > 1)} and parts "
        f"of {part or LEAST:,} rows need {needed / MIB:,.0f} MiB"
        f"{', of which attacks take ' + format(ATTACKS // MIB) + ' MiB' if attacks else ''}. Allow that much."
    )


def need(rows: Rows, workers: int, part: int, attacks: bool) -> int:
    """Bytes that all processes hold together."""
    each = WORKER + SPELLED * rows.texts + PUBLISHED * part * rows.spelled
    return int(ALONE + rows.in_memory + SPELLED * rows.texts + workers * each + attacks * ATTACKS)


def _room(rows: Rows, memory: int, workers: int, attacks: bool) -> float:
    """Bytes that are left for the rows of each worker."""
    return (memory - need(rows, workers, 0, attacks)) / workers
