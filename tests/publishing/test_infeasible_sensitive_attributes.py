"""What several sensitive attributes can ask for in vain: a clear error with the remedy, and nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import Infeasible, PluralisError, PolicyError
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.sample_tables import policy_of

AGE = {"role": "quasi", "type": "number"}
EVEN = {"age": list(range(12)), "job": list("abcd" * 3), "pay": list("wxyz" * 3), "ward": list("ppqqrrppqqrr")}


def secrets(**ls: int) -> dict[str, dict[str, Any]]:
    return {"age": AGE, **{name: {"role": "sensitive", "l": l} for name, l in ls.items()}}


def refused(
    tmp_path: Path,
    table: dict[str, list[Any]],
    attributes: dict[str, Any],
    *messages: str,
    error: type = Infeasible,
    **how: Any,
) -> None:
    frame = pl.DataFrame(table).select(list(attributes))
    with pytest.raises(error) as caught:
        publish(frame, policy_of(attributes, **how), key=Key.test()).save(tmp_path / "release", allow_test=True)
    for words in messages:
        assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_an_ineligible_primary(tmp_path: Path) -> None:
    table = {**EVEN, "job": list("aaaaaaaabcde")}
    refused(tmp_path, table, secrets(job=3, pay=2), "'job'", "'a' fills 8 of 12", "suppress", method="decomposition")


def test_an_l_above_what_another_attribute_allows(tmp_path: Path) -> None:
    table = {**EVEN, "pay": list("wwwwwwwwwxyz")}
    refused(tmp_path, table, secrets(job=4, pay=2), "'pay'", "'w' fills 9 of 12", method="decomposition")


def test_fewer_linkable_values_than_l(tmp_path: Path) -> None:
    """D3: every group of two holds one value of pay, and no other stands beside its jobs. It ends, with an error."""
    table = {"age": [1, 2, 3, 4], "job": list("abcd"), "pay": list("xxyy")}
    attributes = secrets(job=2, pay=2)
    frame = pl.DataFrame(table)
    policy = policy_of(attributes, method="decomposition", variant="paper")
    refusals = {i: message for i in range(20) if (message := _refusal(frame, policy, Key(bytes([i] * 32))))}
    assert refusals  # two jobs of equal pay came together
    assert all("pay" in message for message in refusals.values())
    for i in refusals:
        mended = publish(frame, policy.override(options={"variant": "hardened"}), key=Key(bytes([i] * 32)))
        assert mended.manifest.rows == 4


def _refusal(frame: pl.DataFrame, policy: Policy, key: Key) -> str | None:
    try:
        publish(frame, policy, key=key)
    except Infeasible as error:
        return str(error)
    return None


@pytest.mark.parametrize("method", ["decomposition", "msb", "sloms"])
def test_a_constant_attribute(tmp_path: Path, method: str) -> None:
    table = {**EVEN, "pay": ["w"] * 12}
    more = {"k": 2} if method == "sloms" else {}
    refused(tmp_path, table, secrets(job=2, pay=2), "'pay'", method=method, **more)


def test_a_primary_that_is_not_sensitive(tmp_path: Path) -> None:
    how = {"method": "decomposition", "options": {"primary": "jobs"}}
    refused(tmp_path, EVEN, secrets(job=2, pay=2), "jobs", "job", error=PluralisError, **how)


def test_anatomy_protects_one_attribute(tmp_path: Path) -> None:
    refused(tmp_path, EVEN, secrets(job=2, pay=2), "decomposition", method="anatomy")


def test_one_attribute_is_nothing_to_slice(tmp_path: Path) -> None:
    refused(tmp_path, EVEN, secrets(job=2), "anatomy", method="sloms", k=2)


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ([["job", "pay"], ["job", "ward"]], "job"),
        ([["job", "job"], ["pay", "ward"]], "job"),
        ([["job", "pay"]], "ward"),
        ([["job", "pay"], ["ward", "salary"]], "salary"),
        ([["job", "pay", "ward"], []], "slice"),
        (0, "slices"),
        (9, "slices"),
    ],
)
def test_slices_that_make_no_sense(tmp_path: Path, slices: Any, message: str) -> None:
    how = {"method": "sloms", "k": 2, "options": {"slices": slices}}
    refused(tmp_path, EVEN, secrets(job=2, pay=2, ward=2), message, error=PluralisError, **how)


@pytest.mark.parametrize("slices", [["job", "pay"], [[1], [2]], [["job", None], ["pay"]], "job;pay", "2", 2.0, True])
def test_slices_of_another_form_are_told_what_to_write(tmp_path: Path, slices: Any) -> None:
    messages = (f"slices: {slices!r} is neither", "slices: 2", "slices: [[disease], [job, salary]]")
    how = {"method": "sloms", "options": {"slices": slices}}
    refused(tmp_path, EVEN, secrets(job=2, pay=2), *messages, error=PolicyError, **how)


@pytest.mark.parametrize("method", ["kaca", "sloms"])
def test_a_k_above_the_number_of_rows(tmp_path: Path, method: str) -> None:
    refused(tmp_path, EVEN, secrets(job=2, pay=2), "k: 30", "12 rows", "Set k: 12 or less", method=method, k=30)


@pytest.mark.parametrize("method", ["kaca", "sloms"])
def test_a_k_above_the_number_of_people(tmp_path: Path, method: str) -> None:
    table = {**EVEN, "who": [f"p{i % 4}" for i in range(12)]}
    attributes = {**secrets(job=2, pay=2), "who": {"role": "identifier"}}
    messages = ("k: 5", "4 people", "Set k: 4 or less")
    refused(tmp_path, table, attributes, *messages, method=method, k=5, person="who", suppress=0.9)


@pytest.mark.parametrize(("method", "name"), [("msb", "count"), ("sloms", "count"), ("sloms", "group_1")])
def test_names_that_a_release_has_of_its_own(tmp_path: Path, method: str, name: str) -> None:
    quasi = name.startswith("group")
    attributes = {**secrets(job=2, pay=2), name: {"role": "quasi"} if quasi else {"role": "sensitive", "l": 2}}
    table = {**EVEN, name: list("klmn" * 3)}
    refused(tmp_path, table, attributes, "Rename", name, error=PolicyError, method=method)
