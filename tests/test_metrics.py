"""KL divergence, distortion and additional loss, on tables small enough to work them out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from pluralis.methods import method_for
from pluralis.metrics import Loss, measure
from pluralis.plan import Plan
from pluralis.present.show import show_loss
from pluralis.publish import assemble
from pluralis.randomness import Draw, Key
from pluralis.table import encode
from pluralis.whd import whd
from tables import policy_of, sources

DRAW = Draw(Key.test())
SECRET = {"role": "sensitive", "l": 2}


def measured(table: pl.DataFrame, attributes: dict[str, Any], plan: dict[str, Any], **how: Any) -> Any:
    """What a release loses whose groups are those of the column `g`, by the order of the table."""
    policy = policy_of(attributes, **how)
    encoded = encode(table.drop("g"), policy)
    group_of = table["g"].to_numpy()[sources(table, encoded)].astype(np.int64)
    release = assemble(Plan(group_of=group_of, **plan), encoded, policy, method_for(policy), DRAW)
    return measure(release, table.drop("g"))


def test_kl_counts_what_a_group_allows() -> None:
    """Six people, all different, in groups of 2 and 4: each one's own value is one of 2, or of 4."""
    table = pl.DataFrame({"age": range(6), "s": list("ababcd"), "g": [0, 0, 1, 1, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SECRET}
    loss = measured(table, attributes, {"kind": "bucketized"}, method="anatomy")
    assert loss.kl == pytest.approx((2 * math.log(2) + 4 * math.log(4)) / 6)
    assert loss.additional_loss == pytest.approx((0 + (4 - 2) / 2) / 2)


def test_kl_is_less_where_people_are_alike() -> None:
    """Two people of equal age in two groups: what one group takes from a value the other gives."""
    table = pl.DataFrame({"age": [1, 2, 1, 3], "s": list("abba"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SECRET}
    loss = measured(table, attributes, {"kind": "bucketized"}, method="anatomy")
    assert loss.kl == pytest.approx(2 * math.log(2) / 4)  # age 1 is believed exactly; ages 2 and 3 are one of two


def test_kl_of_sets_is_the_logarithm_of_their_combinations() -> None:
    table = pl.DataFrame({"age": range(4), "s": list("abcd"), "t": list("xxyz"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SECRET, "t": SECRET}
    added = {"t": np.array([[0, 1], [0, 2]])}
    plan = {"kind": "decomposed", "primary": "s", "added": added, "sensitive_table": "none"}
    loss = measured(table, attributes, plan, method="decomposition")
    assert loss.kl == pytest.approx((2 * math.log(2 * 3) + 2 * math.log(2 * 2)) / 4)


def test_distortion_is_the_way_up_of_every_row() -> None:
    """11323, 11324 and 11999 become 11***, from level 6 of 6 to level 3; 20000 and 20001 become 2000*."""
    table = pl.DataFrame({"z": ["11323", "11324", "11999", "20000", "20001"], "s": list("abcab"), "g": [0, 0, 0, 1, 1]})
    attributes: dict[str, Any] = {"z": {"role": "quasi", "hierarchy": {"mask": "right"}}, "s": SECRET}
    loss = measured(table, attributes, {"kind": "generalized"}, method="bsgi")
    assert loss.distortion == pytest.approx(3 * whd(6, 3, 6) + 2 * whd(6, 5, 6))
    assert loss.kl is None


def test_distortion_without_trees() -> None:
    """A set is the root of two levels; an interval lies where one step of the ladder covers it, a single value at 0."""
    table = pl.DataFrame({"age": [0, 100, 50, 50], "sex": list("fmff"), "s": list("abab"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}, "s": SECRET}
    assert measured(table, attributes, {"kind": "generalized"}, method="bsgi").distortion == pytest.approx(
        2 * 1 + 2 * 1
    )


def shown(loss: Loss) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        show_loss(console, loss)
    return captured.get()


def test_values_as_they_are_are_not_shown_as_no_loss() -> None:
    """NCP of exact columns is 0 whatever was lost; KL says what was."""
    table = pl.DataFrame({"age": range(6), "s": list("ababcd"), "g": [0, 0, 1, 1, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SECRET}
    exact = measured(table, attributes, {"kind": "bucketized"}, method="anatomy")
    assert exact.to_dict()["ncp_by_attribute"] == {"age": 0.0}
    said = shown(exact)
    assert "KL divergence       1.1552 nats" in said
    assert "additional loss     50.00%" in said
    assert "NCP" not in said
    assert "attribute" not in said
    labels = shown(measured(table, attributes, {"kind": "generalized"}, method="bsgi"))
    assert "NCP" in labels
    assert "age" in labels
    left_out = shown(
        measured(
            table.with_columns(g=pl.Series([0, 0, -1, -1, -1, -1])),
            attributes,
            {"kind": "bucketized"},
            method="anatomy",
        )
    )
    assert "0.6667 counting left-out rows as lost" in left_out  # nothing else does
