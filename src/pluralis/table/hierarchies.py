"""Generalization trees: which wider value each value may be published as.

A hierarchy is read from a file in ARX's format, or made from a mask (10075, 1007*, 100**, …) or from ever wider
intervals. Every leaf has the same depth; the root is all of the domain and is published as `*`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pluralis.errors import PolicyError
from pluralis.table.labels import ALL, interval_label, number_text

MAX_BYTES = 64 << 20
_AUTOMATIC_LEVELS = 5
_NO_LABEL = "\x00"  # of the missing value, which is published as null: no line of a file can be it


@dataclass(frozen=True)
class Hierarchy:
    """A tree over leaves 0 … n-1, kept so that every node covers consecutive leaves.

    `labels[h][i]` is the label of leaf i's ancestor at level h: level 0 is the leaf, the last level the root.
    `share[i, h]` is the part of the domain that this ancestor covers: 0 at level 0, 1 at the root.

    >>> tree = Hierarchy.from_lines([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]])
    >>> tree.leaves, tree.depth, tree.share[0].tolist()
    (('a', 'b', 'c'), 3, [0.0, 0.6666666666666666, 1.0])
    """

    labels: tuple[tuple[str, ...], ...]
    share: npt.NDArray[np.float64]

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.labels[0]

    @property
    def depth(self) -> int:
        """The number of levels, leaf and root included."""
        return len(self.labels)

    def nodes(self) -> npt.NDArray[np.int32]:
        """`nodes()[i, h]`: the ancestor of leaf i at level h, numbered from 0 within its level in leaf order."""
        out = np.zeros((len(self.leaves), self.depth), dtype=np.int32)
        for h, labels in enumerate(self.labels):
            names = np.array(labels, dtype=object)
            out[1:, h] = np.cumsum(names[1:] != names[:-1])
        return out

    @classmethod
    def from_lines(cls, rows: Sequence[Sequence[str]], where: str = "hierarchy") -> Hierarchy:
        """Check the lines of a tree (leaf first, root last) and put its leaves in order."""
        _check_tree(rows, where)
        # ancestors first, so that the leaves of a node stand together
        lines = sorted(([*row[:-1], ALL] for row in rows), key=lambda line: (*reversed(line),))
        labels = tuple(zip(*lines, strict=True))
        share = np.zeros((len(lines), len(labels)))
        for h in range(1, len(labels)):
            sizes = Counter(labels[h])
            covered = np.array([sizes[label] for label in labels[h]])
            share[:, h] = np.where(covered == 1, 0.0, covered / len(lines))
        share[:, -1] = 1.0
        return cls(labels, share)

    def with_missing(self) -> Hierarchy:
        """The same tree with one more leaf, the missing value, directly below the root."""
        lines = [list(line) for line in zip(*self.labels, strict=True)]
        lines.append([_NO_LABEL] * (self.depth - 1) + [ALL])
        last = np.zeros((1, self.depth))
        last[0, -1] = 1.0
        return Hierarchy(tuple(zip(*lines, strict=True)), np.vstack([self.share, last]))


def _check_tree(rows: Sequence[Sequence[str]], where: str) -> None:
    """Refuse what is not a tree of even depth with one root, naming the first offending line."""
    if not rows:
        raise PolicyError(f"{where} is empty. Write a line per value: the value, its wider values, `*`.")
    depth = len(rows[0])
    if depth < 2:
        raise PolicyError(f"{where} line 1: a value without a wider value. End every line with `*`.")
    parents: list[dict[str, tuple[str, int]]] = [{} for _ in range(depth - 1)]
    leaves: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != depth:
            raise PolicyError(
                f"{where} line {number}: {len(row)} fields where line 1 has {depth}. Give every leaf the same depth."
            )
        if "" in row:
            raise PolicyError(f"{where} line {number}: an empty field. Every level needs a label.")
        if row[0] in leaves:
            raise PolicyError(
                f"{where} line {number}: the leaf {row[0]!r} stands on line {leaves[row[0]]} too. Remove one."
            )
        leaves[row[0]] = number
        if row[-1] != rows[0][-1]:
            raise PolicyError(
                f"{where} line {number}: a second root, {row[-1]!r} beside {rows[0][-1]!r}. End every line with `*`."
            )
        for h, label in enumerate(row[:-1]):
            if label == ALL:
                raise PolicyError(f"{where} line {number}: `*` below the root. Only the last field may be `*`.")
            parent, first = parents[h].setdefault(label, (row[h + 1], number))
            if parent != row[h + 1]:
                raise PolicyError(
                    f"{where} line {number}: {label!r} is below {row[h + 1]!r} here and below {parent!r} on "
                    f"line {first}. "
                    "A node has one parent."
                )
    covered: dict[str, dict[int, set[int]]] = {}
    for number, row in enumerate(rows, start=1):
        for h, label in enumerate(row):
            covered.setdefault(label, {}).setdefault(h, set()).add(number)
    for label, levels in covered.items():
        # one label may repeat up a branch and then means the widest of its nodes; anywhere else it is ambiguous
        nodes = [levels[h] for h in sorted(levels)]
        for narrow, wide in pairwise(nodes):
            if not narrow <= wide:
                raise PolicyError(
                    f"{where} line {min(narrow - wide)}: {label!r} is the name of nodes on different branches "
                    f"(line {min(wide)} "
                    "too): a cycle or an ambiguous label. Rename one."
                )


def read_hierarchy(path: Path, *, numbers: bool = False) -> Hierarchy:
    """A hierarchy file in ARX's format, `;` or `,` between the fields; its leaves may be `numbers`, in any spelling."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(
            f"Cannot read the hierarchy {path.name}: {error.strerror}. It is looked for beside the policy."
        ) from None
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path.name} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    first = text.split("\n", 1)[0]
    try:
        lines = csv.reader(io.StringIO(text), delimiter=";" if ";" in first else ",", strict=True)
        rows = [[field.strip() for field in line] for line in lines if line]
    except csv.Error as error:
        raise PolicyError(f"{path.name}: {error}. Check its quotes.") from None
    if numbers:
        rows = [[_leaf_number(row[0], path.name, number), *row[1:]] for number, row in enumerate(rows, start=1)]
    return Hierarchy.from_lines(rows, path.name)


def _leaf_number(text: str, where: str, line: int) -> str:
    """A leaf as numbers are written: `5.0` is `5`."""
    if not re.fullmatch(r"[-+]?\d{1,15}(\.\d{1,15})?", text):
        raise PolicyError(
            f"{where} line {line}: the leaf {text!r} is no number, and the attribute has type: number. Correct it, "
            "or remove the type."
        )
    return number_text(float(text))


def mask_hierarchy(values: Sequence[str], side: str, where: str) -> Hierarchy:
    """One character more is hidden at each level.

    >>> mask_hierarchy(["10075", "10076"], "right", "zip").labels[1]
    ('1007*', '1007*')
    """
    longest = max(map(len, values), default=1)

    def masked(value: str, hidden: int) -> str:
        hidden = min(hidden, len(value))
        kept = value[: len(value) - hidden] if side == "right" else value[hidden:]
        stars = "*" * hidden
        return kept + stars if side == "right" else stars + kept

    rows = [[value, *(masked(value, hidden) for hidden in range(1, longest)), ALL] for value in values]
    # a value of one character, all hidden, would read as the root: leave it as it is below the root
    rows = [[label if label != ALL or h == len(row) - 1 else row[0] for h, label in enumerate(row)] for row in rows]
    return Hierarchy.from_lines(rows, where)


def interval_hierarchy(values: Sequence[float], widths: Sequence[float], start: float, where: str) -> Hierarchy:
    """Numbers in ever wider intervals that begin at `start`; its leaves are `values`, which are in order.

    Whole numbers get intervals that do not touch, `[20, 24]`; others get `[20, 25)`, whose upper end belongs to the
    next one.

    >>> interval_hierarchy([21, 23, 27], [5, 10], 0, "age").labels[1]
    ('[20, 24]', '[20, 24]', '[25, 29]')
    >>> interval_hierarchy([-0.5, 0.3, 0.7], [0.1], 0, "share").labels[1]
    ('[-0.5, -0.4)', '[0.3, 0.4)', '[0.7, 0.8)')
    """
    whole, begin, steps, places = _grid(values, widths, start)
    shown = int if whole else float
    numbers = np.array(values, dtype=np.float64)
    domain = float(np.ptp(numbers)) if numbers.size else 0.0
    labels: list[tuple[str, ...]] = [tuple(number_text(value) for value in values)]
    share = np.zeros((len(values), len(widths) + 2))
    for h, step in enumerate(steps, start=1):
        times = int(step // steps[0])
        nodes = [place // times for place in places]
        lows = {node: begin + node * step for node in set(nodes)}
        largest = dict(zip(nodes, values, strict=True))  # they are in order
        names = {
            node: interval_label(
                shown(low), high := shown(low + step - whole), half_open=not whole and largest[node] < high
            )  # its end may be rounded to a number that it holds
            for node, low in lows.items()
        }
        labels.append(tuple(names[node] for node in nodes))
        share[:, h] = min(1.0, float(step - whole) / domain) if domain else 0.0
    labels.append((ALL,) * len(values))
    share[:, -1] = 1.0
    if len({*labels[0]}) < len(values):
        raise PolicyError(f"{where}: numbers that differ only beyond the digits shown. Round them, or use type: text.")
    return Hierarchy(tuple(labels), share)


def _grid(values: Sequence[float], widths: Sequence[float], start: float) -> Any:
    """(are all numbers whole, where intervals begin, their widths, in which of the narrowest each value is): exact."""
    whole = all(isinstance(v, int) for v in values) and all(float(w).is_integer() for w in [*widths, start])
    exact = int if whole else _as_written
    begin, steps = exact(start), [exact(width) for width in widths]
    return whole, begin, steps, [(exact(value) - begin) // steps[0] for value in values] if steps else []


def _as_written(value: float) -> Fraction:
    """The number that its digits say: 0.7 is seven tenths."""
    return Fraction(Decimal(str(value)))


def automatic_hierarchy(values: Sequence[str] | Sequence[float], number: bool, where: str) -> Hierarchy:
    """What full-domain methods use where the policy names no hierarchy: up to five intervals, or value and `*`.

    >>> automatic_hierarchy([1, 7, 100], True, "x").labels[1]
    ('[0, 4]', '[5, 9]', '[100, 104]')
    """
    if not number:
        return Hierarchy.from_lines([[str(value), ALL] for value in values], where)
    numbers = [v for v in values if not isinstance(v, str)]
    return interval_hierarchy(numbers, automatic_widths(numbers), 0, where)


def automatic_nodes(numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """The nodes of an automatic hierarchy of numbers, without its labels, which take most of the memory.

    >>> automatic_nodes(np.array([1, 7, 100]))[:, 1].tolist()
    [0, 1, 2]
    >>> automatic_nodes(np.array([0.1, 0.15, 9.0]))[:, 1].tolist()
    [0, 0, 1]
    """
    if np.issubdtype(numbers.dtype, np.integer):
        steps: list[Any] = [int(width) for width in automatic_widths(numbers[[0, -1]].tolist())]
        places = numbers // steps[0] if steps else numbers
    else:
        values = numbers.tolist()
        _, _, steps, exact = _grid(values, automatic_widths(values), 0)
        places = np.array(exact, object)  # numbers of any size
    nodes = np.zeros((numbers.size, len(steps) + 2), np.int32)
    nodes[:, 0] = np.arange(numbers.size)
    for h, step in enumerate(steps, start=1):
        nodes[1:, h] = np.cumsum(np.diff(places // int(step // steps[0])) != 0)
    return nodes


def automatic_widths(numbers: Sequence[float]) -> list[float]:
    """Five widths, each twice the one before; the first is 1, 2 or 5 times a power of ten, at most 1/16 of the range.

    Intervals of these widths begin at 0. So their ends are round numbers, not the smallest and the largest value, which
    may be in a row that is suppressed. The widths tell of the range only its order of magnitude.

    >>> automatic_widths([17, 90]), automatic_widths([1, 16]), automatic_widths([0.5, 7.5])
    ([2.0, 4.0, 8.0, 16.0, 32.0], [2.0, 4.0, 8.0], [0.2, 0.4, 0.8, 1.6, 3.2])
    """
    domain = Decimal(str(numbers[-1])) - Decimal(str(numbers[0]))
    if not domain:
        return []
    whole = all(isinstance(v, int) for v in numbers)
    most = domain / 2 ** (_AUTOMATIC_LEVELS - 1)
    power = Decimal(1).scaleb(most.adjusted())
    narrow = max(digit * power for digit in (1, 2, 5) if digit * power <= most)
    widths = [max(narrow, Decimal(whole)) * 2**h for h in range(_AUTOMATIC_LEVELS)]
    return [float(width) for width in widths if whole < float(width) and width <= domain]
