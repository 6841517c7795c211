"""Forged bounds: whatever is said of `at_most`, `gain` and `t` is what was asked, of a value that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.release.manifest import Claim, Parameters
from support.forged_folders import Change, forged, published, refused, reworded
from support.sample_tables import KEY

PEOPLE = pl.DataFrame(
    {"age": list(range(20, 32)), "ill": ["Yes", "No", "No", "No", "Perhaps", "No"] * 2, "pay": [1, 2, 3, 4, 5, 6] * 2}
)
ASKED: dict[str, Any] = {"at_most": {"Yes": "1/4", "Perhaps": "1/2"}, "gain": 3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sensitive = {"ill": {**ASKED, "t": 0.5}, "pay": {"l": 2, "t": 0.7, "type": "number"}}
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, method="mondrian")
    publish(PEOPLE, policy, key=KEY).save(tmp_path / "release")
    assert audit(tmp_path / "release", PEOPLE).holds
    return tmp_path / "release"


@pytest.fixture
def bucketized(tmp_path: Path) -> Path:
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": ASKED}, others="drop", method="anatomy")
    publish(PEOPLE, policy, key=KEY).save(tmp_path / "bucketized")
    return tmp_path / "bucketized"


def saying(**changed: Any) -> Change:
    """Parameters that say something else; nothing where it is None."""

    def change(manifest: dict[str, Any]) -> None:
        parameters = {**manifest["parameters"], **changed}
        order = [name for name in Parameters.model_fields if parameters.get(name) is not None]
        manifest["parameters"] = {name: parameters[name] for name in order}

    return change


def claiming(of_model: str, /, **changed: Any) -> Change:
    """The same, and every claim of a model, too."""

    def change(manifest: dict[str, Any]) -> None:
        for claim in manifest["claims"]:
            if claim["model"] == of_model:
                fields = {**claim, **changed}
                claim.clear()
                claim.update({name: fields[name] for name in Claim.model_fields if fields.get(name) is not None})
        reworded(manifest)

    return change


def both(*changes: Change) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        for one in changes:
            one(manifest)

    return change


def without(*models: str) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        manifest["claims"] = [claim for claim in manifest["claims"] if claim["model"] not in models]

    return change


YES = {"Yes": "1/4", "Perhaps": "1/2"}
FORGED: dict[str, tuple[Change, str]] = {
    "a claim left out": (
        without("at-most"),
        "nothing is claimed of ill = Perhaps by at_most against whoever knows age",
    ),
    "a gain left out": (without("gain"), "nothing is claimed of ill by gain"),
    "a distance left out": (without("closeness"), "nothing is claimed of ill by t"),
    "bounds left out with their claims": (
        both(without("at-most", "gain", "closeness"), saying(at_most=None, gain=None, t={"pay": 0.7})),
        "l is 1 for 'ill', and nothing else bounds it",
    ),
    "a larger share": (claiming("at-most", at_most="1/1"), "nothing is claimed of ill = Perhaps by at_most"),
    "a larger gain": (claiming("gain", gain=9.0), "nothing is claimed of ill by gain"),
    "a larger distance": (claiming("closeness", t=0.9), "nothing is claimed of ill by t"),
    "a value that nobody has": (saying(at_most={"ill": {"Maybe": "1/4"}}), "names 'Maybe', which is no value of 'ill'"),
    "a value in another spelling": (saying(at_most={"ill": {**YES, "yes": "1/5"}}), "names 'yes', which is no value"),
    "a value that looks alike": (saying(at_most={"ill": {"\u0443es": "1/4"}}), "which is no value of 'ill'"),
    "a share that is no fraction": (
        saying(at_most={"ill": {**YES, "No": "0.5"}}),
        "'0.5' is not a share between 0 and 1",
    ),
    "a share not in lowest terms": (
        saying(at_most={"ill": {**YES, "No": "2/4"}}),
        "'2/4' is not a share between 0 and 1",
    ),
    "a share of 1": (saying(at_most={"ill": {**YES, "No": "1/1"}}), "'1/1' is not a share between 0 and 1"),
    "a share above 1": (saying(at_most={"ill": {**YES, "No": "7/4"}}), "'7/4' is not a share between 0 and 1"),
    "no values": (saying(at_most={"ill": {}}), "at least 1 item"),
    "a gain of 1": (saying(gain={"ill": 1.0}), "greater than 1"),
    "a huge gain": (saying(gain={"ill": 1e300}), "less than or equal to 1000000"),
    "a gain of many digits": (saying(gain={"ill": 3.00000000001}), "more than six digits"),
    "a distance of 1": (saying(t={"ill": 1.0, "pay": 0.7}), "less than 1"),
    "a distance of 0": (saying(t={"ill": 0.0, "pay": 0.7}), "greater than or equal to 0.000001"),
    "another attribute's bound": (saying(gain={"ill": 3.0, "age": 3.0}), "gain speaks of 'age'"),
    "an attribute that is not there": (
        saying(at_most={"ill": YES, "Alice": {"x": "1/2"}}),
        "at_most speaks of 'Alice'",
    ),
    "an order that text does not have": (
        claiming("closeness", model="ordered-closeness"),
        "an order that 'ill' does not",
    ),
    "a value in a claim of l": (claiming("frequency", value="Yes"), "has a value that it does not speak of"),
    "an l in a claim of a value": (claiming("at-most", l=2), "is about neither rows nor an attribute"),
    "a claim of a value without one": (claiming("at-most", value=None), "or none where it needs one"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_bound_is_refused(name: str, folder: Path) -> None:
    change, words = FORGED[name]
    assert words in refused(forged(folder, change))


def test_a_claim_twice_is_refused(folder: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["claims"] += [claim for claim in manifest["claims"] if claim["model"] == "gain"]

    assert "a claim is made twice" in refused(forged(folder, change))


def test_a_stricter_bound_than_the_tables_keep_does_not_hold(folder: Path) -> None:
    stricter = both(saying(at_most={"ill": {"Yes": "1/20", "Perhaps": "1/2"}}), claiming_yes("1/20"))
    assert "P(ill = Yes | age) ≤ 1/20: does not hold" in refused(forged(folder, stricter))


def claiming_yes(share: str) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        for claim in manifest["claims"]:
            claim.update({"at_most": share} if claim.get("value") == "Yes" else {})
        reworded(manifest)

    return change


def test_rows_moved_to_another_group_are_noticed(bucketized: Path) -> None:
    """Every Yes into one group, and as many others out of it."""
    assert audit(bucketized, PEOPLE).holds
    counts = pl.read_parquet(bucketized / "sensitive.parquet")
    first = counts["group"].min()
    moved = pl.concat(
        [
            pl.DataFrame({"group": [first], "ill": ["Yes"], "count": [int(counts.filter(group=first)["count"].sum())]}),
            counts.filter(pl.col("group") != first).cast({"ill": pl.String}),
        ],
        how="vertical_relaxed",
    )
    assert "P(ill = Yes | age) ≤ 1/4: does not hold, measured 1" in refused(
        forged(bucketized, lambda manifest: None, {"sensitive.parquet": moved})
    )


@pytest.mark.parametrize("method", ["decomposition", "sloms", "randomized-addition", "gd"])
def test_other_kinds_have_no_bounds(method: str, tmp_path: Path) -> None:
    folder = published(tmp_path / "release", method)
    assert "a release of this kind has no 'gain'" in refused(forged(folder, saying(gain={"disease": 3.0})))
