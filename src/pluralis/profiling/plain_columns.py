"""What a plain column would give away: it is not generalized, so it may find rows, or tell what others hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.grouping.correlation import PARTS, mean_square_contingency
from pluralis.policy.policy import Policy
from pluralis.profiling.profiles import RARE, ColumnProfile, Profile
from pluralis.randomness import Draw, Key
from pluralis.table.canonical import as_text
from pluralis.table.spelling import canonical_spellings

FEW_ROWS = 5  # of each value, on average: whoever knows the value finds the row
LEAST_ROWS = 20  # of a table of which this can be said
STRONG = 0.4  # Cramér's V
ROWS = 20_000  # on which it is measured
UNKNOWN = -1


def finds_rows(column: ColumnProfile, rows: int) -> str | None:
    """Why whoever knows a plain column's value finds the row, or None."""
    known = rows - column.missing
    if rows <= LEAST_ROWS or column.distinct < 2 or known > FEW_ROWS * column.distinct:
        return None
    each = f"{column.distinct:,} different values in {known:,} rows: whoever knows its value finds the row"
    return f"{column.name!r} is published as it is, and has {each}. Make it an identifier, or quasi."


def told_by(policy: Policy, frame: pl.DataFrame, look: Profile) -> Iterator[tuple[str, str]]:
    """Each plain column that goes closely with sensitive ones, and what is said of it; the closest first."""
    about = {column.name: column for column in look.columns}
    plain = [name for name, attribute in policy.columns.items() if attribute.role == "plain" and name in about]
    sensitive = [name for name in policy.sensitive if name in about]
    if not plain or not sensitive:
        return
    if frame.height > ROWS:
        frame = frame[np.sort(Draw(Key.test()).permutation(frame.height, "association")[:ROWS])]
    codes = {name: _codes(frame[name], about[name]) for name in {*plain, *sensitive}}
    for name in plain:
        associations = sorted(((_cramers_v(codes[name], codes[other]), other) for other in sensitive), reverse=True)
        strong = [f"{other} ({v:.2f})" for v, other in associations if v >= STRONG]
        if strong:
            yield (
                name,
                (
                    f"{name!r} is published as it is, and goes closely with {', '.join(strong)} (Cramér's V, "
                    "1 is complete): whoever sees it guesses the other. Make it an identifier, quasi or sensitive."
                ),
            )


def _codes(series: pl.Series, column: ColumnProfile) -> npt.NDArray[np.int64]:
    """Codes of values; numbers of many in parts of as many rows, rare texts as one."""
    text = as_text(series, list(column.marks))
    if column.type == "number" and column.distinct > 2 * PARTS:
        numbers = text.cast(pl.Float64, strict=False)
        part = (numbers.rank("min") - 1) * PARTS // max(1, numbers.len() - numbers.null_count())
        return part.cast(pl.Int64).fill_null(UNKNOWN).to_numpy()
    spelled = canonical_spellings(text, fold_case=True)
    text = text.replace_strict(spelled["text"], spelled["spelling"], default=None)
    ranks = text.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    often = np.bincount(ranks) >= RARE
    often[0] = False
    code = np.where(often, np.cumsum(often), 0)
    return np.where(ranks == 0, UNKNOWN, code[ranks])


def _cramers_v(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> float:
    known = (one != UNKNOWN) & (other != UNKNOWN)
    return float(np.sqrt(mean_square_contingency(one[known], other[known]))) if known.any() else 0.0
