"""The original beside a release: what its values are there, whatever it is made to look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from support.sample_tables import KEY

PAY = pl.DataFrame({"age": [1, 2, 3, 4], "pay": [1, 11, 2, 12]})


def saved(folder: Path, people: pl.DataFrame, sensitive: dict[str, Any], method: str = "bsgi", **more: Any) -> Path:
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, method=method, **more)
    publish(people, policy, key=KEY).save(folder)
    assert audit(folder, people).holds
    return folder


# bins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bsgi", "anatomy"])
@pytest.mark.parametrize("pay", [[1, 99_999, 2, 12], [-1, 11, 2, 12], [1, 11, 2, 20], [1, 11, 9.5, 12]])
def test_numbers_that_no_bin_holds_are_in_none(pay: list[float], method: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "release", PAY, {"pay": {"l": 2, "type": "number", "bin": 10}}, method)
    assert not audit(folder, PAY.with_columns(pay=pl.Series(pay, strict=False))).holds


def test_suppressed_numbers_may_be_in_no_published_bin(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5], "pay": [1, 11, 2, 12, 95]})
    sensitive = {"pay": {"l": 2, "type": "number", "bin": 10, "if_missing": "drop"}}
    gone = people.with_columns(pay=pl.when(pl.col("pay") == 95).then(None).otherwise("pay"))
    folder = saved(tmp_path / "release", gone, sensitive)
    assert audit(folder, people).holds


# marks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["[n/a]", "[", "[0, 9]", "?"])
def test_a_mark_may_begin_as_an_interval_does(mark: str, tmp_path: Path) -> None:
    pay = [mark if i % 12 == 0 else f" {i * 37 % 100}" for i in range(48)]
    people = pl.DataFrame({"age": [18 + i % 40 for i in range(48)], "pay": pay})
    asked = {"type": "number", "bin": 10, "l": 2, "missing": ["", mark], "if_missing": "drop"}
    folder = saved(tmp_path / "release", people, {"pay": asked})
    assert not audit(folder, people.with_columns(pay=pl.Series(["7"] * 48))).holds


def test_an_original_of_intervals_may_have_other_texts_among_suppressed_rows(tmp_path: Path) -> None:
    pay = ["[0, 9]", "[10, 19]"] * 4 + [None]
    people = pl.DataFrame({"age": list(range(9)), "pay": pay})
    folder = saved(tmp_path / "release", people, {"pay": {"l": 2, "if_missing": "drop"}})
    assert audit(folder, people.with_columns(pl.col("pay").fill_null("unknown"))).holds


# case -------------------------------------------------------------------------------------------------------------

CAPITALS = pl.DataFrame({"age": list(range(8)), "d": ["MS", "ms", "MS", "ms", "flu", "hiv", "flu", "hiv"]})


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition", "randomized-addition"])
def test_where_capitals_make_another_value_they_do_so_beside_the_original(method: str, tmp_path: Path) -> None:
    people = pl.concat([CAPITALS] * 10)
    options = {"options": {"claim": "set-size"}} if method == "randomized-addition" else {}
    folder = saved(tmp_path / "keep", people, {"d": {"l": 2, "case": "keep"}}, method, accept="set-size", **options)
    for other in (["MS"] * 4 + ["flu", "hiv"] * 2, ["ms"] * 4 + ["FLU", "HIV"] * 2):
        assert not audit(folder, people.with_columns(d=pl.Series(other * 10))).holds
    alike = people.with_columns(d=pl.col("d").replace("ms", "mS"))
    assert not audit(folder, alike).holds
    fold = saved(tmp_path / "fold", people, {"d": 2}, method, accept="set-size", **options)
    assert audit(fold, alike).holds


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "incognito"])
def test_so_it_is_with_what_is_known(method: str, tmp_path: Path) -> None:
    people = pl.DataFrame({"blood": ["A", "a", "B", "b"] * 4, "d": ["flu"] * 8 + ["hiv"] * 8})
    policy = Policy(quasi={"blood": {"case": "keep"}}, sensitive={"d": 2}, method=method)
    publish(people, policy, key=KEY).save(tmp_path / "release")
    assert audit(tmp_path / "release", people).holds
    other = people.with_columns(pl.col("blood").replace({"a": "A"}))
    assert not audit(tmp_path / "release", other).holds
