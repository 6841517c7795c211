"""Labels that a column may hold beside its domain: what covers it, in the one order that sets have."""

from __future__ import annotations

import polars as pl
import pytest

from pluralis.release.domains import _fits
from pluralis.release.manifest import ColumnInfo

DOMAIN = ("a", "b", "c, d", "null", None)


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        (["{a, b}", '{"c, d", "null", null}'], True),
        (["*"], True),
        (["a", "b", '{"c, d", "null"}', None], True),
        (["{a, b}", "{b, null}", '{"c, d", "null"}'], True),
        (["{b, a}", '{"c, d", "null", null}'], False),  # not in domain order
        (["{a, a}", "b", '{"c, d", "null", null}'], False),
        (["{a, b}", '{"null", "c, d", null}'], False),
        (["{a, x}", "*"], False),  # not of the domain
        (["x", "*"], False),
        (["{a, b}"], False),  # something of the domain is nowhere
        (["{a, null}", "*"], True),
    ],
)
def test_sets_cover_their_domain(labels: list[str | None], fits: bool) -> None:
    column = ColumnInfo(name="x", role="quasi", type="text", attribute="x", domain=DOMAIN)
    assert _fits(column, pl.Series(labels, dtype=pl.String)) is fits


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        (["[1, 5]", "9"], True),
        (["*"], True),
        (["[1, 5]", "[7, 9]", None], True),
        (["[0, 10]"], True),  # a label may be wider than what is there
        (["[1, 5]"], False),
        (["[1, 9]", "[20, 30]"], False),
    ],
)
def test_intervals_cover_their_domain(labels: list[str | None], fits: bool) -> None:
    column = ColumnInfo(name="x", role="quasi", type="number", attribute="x", domain=(1, 9))
    assert _fits(column, pl.Series(labels, dtype=pl.String)) is fits


@pytest.mark.parametrize(
    ("cells", "domain", "fits"),
    [
        (["a", "b", None], ("a", "b", None), True),
        (["a", "b"], ("a", "b", None), False),
        (["a", "b"], ("a", "b", "c"), False),
        (["a", "b"], ("a",), False),
        (["a", "b"], ("a", "a"), False),
        (["a", "b"], None, False),
        ([1, 5], (1, 5), True),
        ([1, 5], (1, 6), False),
        ([1, 5], (1.0, 5.0), False),
        ([1.5, 5.0], (1.5, 5.0), True),
        ([1.5, 5.0], (1, 5), False),
        ([1, 5], (1,), False),
    ],
)
def test_a_domain_is_made_of_the_cells(cells: list[object], domain: object, fits: bool) -> None:
    kind = "number" if isinstance(cells[0], (int, float)) else "text"
    column = ColumnInfo.model_validate({"name": "x", "role": "plain", "type": kind, "attribute": "x", "domain": domain})
    assert _fits(column, pl.Series(cells)) is fits
