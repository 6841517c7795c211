"""What is known of rows that will be published does not depend on how they are cut, and is what memory would count."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pluralis as pls
from pluralis.engines import published_rows
from pluralis.engines.published_rows import PublishedRows
from pluralis.engines.routing import Facts, cleaning_of
from pluralis.errors import InputError
from pluralis.table.encoding import clean
from pluralis.table.missing import rows_with_sensitive_values

TEXTS = st.sampled_from(["flu", "Flu ", "gout", "?", "", " ", "\u200b", "NA", None])
NUMBERS = st.sampled_from([0.5, 1.0, -0.0, 2.0, float("nan"), -9.0, None])
POLICY = pls.Policy(
    quasi={"age": {"type": "number", "bins": {"quantiles": 3}}, "ward": {}},
    sensitive={
        "ill": {"l": 2, "if_missing": "drop"},
        "cost": {"l": 2, "type": "number", "if_missing": "drop"},
        "sex": {"l": 2, "if_missing": {"as": "unknown"}},
    },
    missing=["", "?", "-9"], others="drop",
)  # fmt: skip
NAMED = TEXTS.filter(lambda text: text != "\u200b")  # which is refused where a missing value is to be named
ROWS = st.lists(st.tuples(NUMBERS, TEXTS, TEXTS, NUMBERS, NAMED), min_size=1, max_size=12)


def frame_of(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    kinds = {"age": pl.Float64, "ward": pl.String, "ill": pl.String, "cost": pl.Float64, "sex": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def counted(frames: dict[str, pl.DataFrame]) -> dict[str, list[tuple[object, int]]]:
    """Counts in one order, those of each column that has any."""
    return {
        name: sorted((str(value), rows) for value, rows in counts.cast({"value": pl.Float64}, strict=False).rows())
        if counts["value"].dtype.is_numeric()
        else sorted((repr(value), rows) for value, rows in counts.rows())
        for name, counts in frames.items()
        if counts.height
    }


@given(ROWS, st.lists(st.integers(1, 11), max_size=4), st.randoms(use_true_random=False))
def test_rows_that_are_cut_in_any_way_are_the_same_rows(rows: list, cuts: list[int], shuffled: object) -> None:
    whole = frame_of(rows)
    ends = sorted({0, *(cut for cut in cuts if cut < whole.height), whole.height})
    pieces = [whole.slice(a, b - a) for a, b in pairwise(ends)]
    shuffled.shuffle(pieces)  # type: ignore[attr-defined]
    known = Facts.of_rows(whole, POLICY).published
    together: PublishedRows = reduce(Facts.and_of, [Facts.of_rows(piece, POLICY) for piece in pieces]).published
    assert together.lacking == known.lacking
    assert counted(together.without) == counted(known.without)
    assert counted(together.numbers) == counted(known.numbers)


@given(ROWS)
def test_rows_are_published_that_memory_would_publish(rows: list) -> None:
    whole = frame_of(rows)
    facts, read = Facts.of_rows(whole, POLICY), clean(whole, POLICY).columns
    keep = rows_with_sensitive_values(read, POLICY.columns, [])
    assert facts.published.lacking == whole.height - int(keep.sum())
    for name in ("ward", "ill", "sex"):
        counts = facts.counts[name]
        shown = dict(zip(counts["value"], facts.published.counts(name, counts), strict=True))
        kept = whole[name].filter(keep)
        assert {value: n for value, n in shown.items() if n} == dict(kept.value_counts(name="n").rows())
    numbers = dict(facts.published.numbers["age"].rows())
    assert numbers == dict(read["age"].filter(keep).drop_nulls().value_counts(name="n").rows())


def test_numbers_that_are_too_many_are_refused_as_soon_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_rows, "MOST_NUMBERS", 3)
    one, two = (frame_of([(float(i), "a", f"d{i % 2}", 1.0, "f") for i in range(first, first + 3)]) for first in (0, 2))
    known = Facts.of_rows(one, POLICY)
    assert cleaning_of(known, POLICY).decided.breaks == {"age": [1, 2]}
    with pytest.raises(InputError, match="'age' has more than 3 different numbers"):
        known.and_of(Facts.of_rows(two, POLICY))
