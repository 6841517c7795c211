"""A table that is not the original of a release is refused before anything is scored."""

from __future__ import annotations

import polars as pl
import pytest

from pluralis import Key, publish
from pluralis.attacks import attack
from pluralis.errors import InputError
from pluralis.release.original_check import require_original
from pluralis.release.release import Release
from support.random_releases import FORMS, dealt_multi, people, released
from support.sample_tables import policy_of

COUNTED = [form for form in FORMS if form != "randomized-addition"]


def other_values(table: pl.DataFrame) -> pl.DataFrame:
    """As many people, of whom all but a few have one disease."""
    return table.with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then("disease").otherwise(pl.lit("illnessa")).alias("disease")
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_original_passes_in_any_order_and_fewer_rows_do_not(form: str) -> None:
    table = people(3, 48)
    release = released(table, form, 3)
    require_original(release, table)
    require_original(release, table.sample(fraction=1.0, shuffle=True, seed=1))
    with pytest.raises(InputError, match=r"47 rows, .* not the original of this release\. Give the table"):
        attack(release, table.head(47), only=["linkage"])


@pytest.mark.parametrize("form", COUNTED)
def test_other_values_are_refused(form: str) -> None:
    table = people(3, 48)
    release = released(table, form, 3)
    with pytest.raises(InputError, match=r"'disease' more often .* not the original of this release\. Give the table"):
        attack(release, other_values(table), only=["linkage"])


def test_sets_count_nothing_so_that_only_rows_are_compared() -> None:
    table = people(3, 48)
    release = released(table, "randomized-addition", 3)
    require_original(release, other_values(table))
    with pytest.raises(InputError, match="47 rows"):
        require_original(release, other_values(table).head(47))


def test_tables_of_several_are_compared() -> None:
    table = people(4, 24)
    release = dealt_multi(table, 2, 1)
    require_original(release, table)
    with pytest.raises(InputError, match="'disease'"):
        require_original(release, other_values(table))


def test_of_rows_left_out_the_original_has_values_more_often() -> None:
    table = people(5, 30).with_columns(pl.when(pl.int_range(30) < 24).then(pl.lit("x")).otherwise("disease")
                                       .alias("disease"))  # fmt: skip
    release = released(table, "anatomy", 2, suppress=0.9)
    assert release.manifest.suppressed > 0
    require_original(release, table)
    swapped = table.with_columns(pl.col("disease").replace({"x": "y"}))
    with pytest.raises(InputError, match="'disease'"):
        require_original(release, swapped)


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "msb", "decomposition"])
def test_values_are_compared_as_the_policy_read_them(method: str) -> None:
    """Spellings, gaps that stand for a value, numbers among text, and numbers in bins."""
    rows = 36
    table = pl.DataFrame(
        {
            "age": list(range(rows)),
            "job": [["Cook", " cook", "COOK", "baker", "?", "smith"][i % 6] for i in range(rows)],
            "pay": [[1000.5, 2000.0, 3000.25][i % 3] for i in range(rows)],
        }
    )
    pay = {"role": "sensitive", "type": "number", "l": 2}
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "job": {"role": "sensitive", "l": 2, "if_missing": {"as": "unknown"}},
    }
    if method != "anatomy":
        attributes |= {"pay": pay}
    asked = policy_of(attributes, missing=["?"], others="drop", method=method)
    release: Release = publish(table, asked, key=Key(bytes(32)), attacks=False)
    require_original(release, table)
    with pytest.raises(InputError, match="'job'"):
        require_original(release, table.with_columns(job=pl.col("job").replace({"?": "baker"})))
    if "pay" in attributes:
        with pytest.raises(InputError, match="'pay'"):
            require_original(release, table.with_columns(pay=pl.col("pay").replace({2000.0: 3000.25})))
