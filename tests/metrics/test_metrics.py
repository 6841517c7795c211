"""KL divergence, distortion, additional loss and suppression ratio, on tables small enough to work them out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.assembly import assemble
from pluralis.cli.measure import show_loss
from pluralis.cli.terminal import Terminal
from pluralis.grouping.hierarchical_distance import whd
from pluralis.grouping.plan import BucketizedPlan, DecomposedPlan, GeneralizedPlan, Plan, Slice, SlicedPlan
from pluralis.method import method_for
from pluralis.metrics import Loss, measure
from pluralis.metrics.distributions import distribution
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.table.encoding import encode
from support.sample_tables import policy_of, sources

DRAW = Draw(Key.test())
SENSITIVE = {"role": "sensitive", "l": 2}


def measured(table: pl.DataFrame, attributes: dict[str, Any], plan: Callable[..., Plan], **how: Any) -> Any:
    """What a release loses whose groups are those of the column `g`, by the order of the table."""
    policy = policy_of(attributes, **how)
    encoded = encode(table.drop("g"), policy)
    group_of = table["g"].to_numpy()[sources(table, encoded)].astype(np.int64)
    release = assemble(plan(group_of), encoded, policy, method_for(policy), DRAW)
    return measure(release, table.drop("g"))


def test_kl_counts_what_a_group_allows() -> None:
    """Six people, all different, in groups of 2 and 4: each one's own value is one of 2, or of 4."""
    table = pl.DataFrame({"age": range(6), "s": list("ababcd"), "g": [0, 0, 1, 1, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SENSITIVE}
    loss = measured(table, attributes, BucketizedPlan, method="anatomy")
    assert loss.kl == pytest.approx((2 * math.log(2) + 4 * math.log(4)) / 6)
    assert loss.additional_loss == pytest.approx((0 + (4 - 2) / 2) / 2)


def test_kl_is_less_where_people_are_alike() -> None:
    """Two people of equal age in two groups: what one group takes from a value the other gives."""
    table = pl.DataFrame({"age": [1, 2, 1, 3], "s": list("abba"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SENSITIVE}
    loss = measured(table, attributes, BucketizedPlan, method="anatomy")
    assert loss.kl == pytest.approx(2 * math.log(2) / 4)  # age 1 is believed exactly; ages 2 and 3 are one of two


def test_kl_of_sets_is_the_logarithm_of_their_combinations() -> None:
    table = pl.DataFrame({"age": range(4), "s": list("abcd"), "t": list("xxyz"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SENSITIVE, "t": SENSITIVE}
    added = {"t": np.array([[0, 1], [0, 2]])}
    plan = partial(DecomposedPlan, primary="s", added=added, sensitive_table="none")
    loss = measured(table, attributes, plan, method="decomposition")
    assert loss.kl == pytest.approx((2 * math.log(2 * 3) + 2 * math.log(2 * 2)) / 4)


def test_distortion_is_the_way_up_of_every_row() -> None:
    """11323, 11324 and 11999 become 11***, from level 6 of 6 to level 3; 20000 and 20001 become 2000*."""
    table = pl.DataFrame({"z": ["11323", "11324", "11999", "20000", "20001"], "s": list("abcab"), "g": [0, 0, 0, 1, 1]})
    attributes: dict[str, Any] = {"z": {"role": "quasi", "hierarchy": {"mask": "right"}}, "s": SENSITIVE}
    loss = measured(table, attributes, GeneralizedPlan, method="bsgi")
    assert loss.distortion == pytest.approx(3 * whd(6, 3, 6) + 2 * whd(6, 5, 6))
    assert loss.kl is None


def test_distortion_without_trees() -> None:
    """A set is the root of two levels; an interval lies where one step of the ladder covers it, a single value at 0."""
    table = pl.DataFrame({"age": [0, 100, 50, 50], "sex": list("fmff"), "s": list("abab"), "g": [0, 0, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}, "s": SENSITIVE}
    assert measured(table, attributes, GeneralizedPlan, method="bsgi").distortion == pytest.approx(2 * 1 + 2 * 1)


def shown(loss: Loss) -> str:
    console = Terminal(width=120)
    with console.capture() as captured:
        show_loss(console, loss)
    return captured.get()


def test_values_as_they_are_are_not_shown_as_no_loss() -> None:
    """NCP of exact columns is 0 whatever was lost; KL says what was."""
    table = pl.DataFrame({"age": range(6), "s": list("ababcd"), "g": [0, 0, 1, 1, 1, 1]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": SENSITIVE}
    exact = measured(table, attributes, BucketizedPlan, method="anatomy")
    assert exact.to_dict()["ncp_by_attribute"] == {"age": 0.0}
    text = shown(exact)
    assert "KL divergence       1.1552 nats" in text
    assert "additional loss     50.00%" in text
    assert "NCP" not in text
    assert "attribute" not in text
    labels = shown(measured(table, attributes, GeneralizedPlan, method="bsgi"))
    assert "NCP" in labels
    assert "age" in labels
    left_out = shown(
        measured(
            table.with_columns(g=pl.Series([0, 0, -1, -1, -1, -1])),
            attributes,
            BucketizedPlan,
            method="anatomy",
        )
    )
    assert "0.6667 counting suppressed rows as lost" in left_out  # nothing else does


# the suppression ratio (SLOMS, equation 9) --------------------------------------------------------------------------

AGED: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "job": SENSITIVE, "pay": SENSITIVE}
SKEWED = pl.DataFrame({"age": range(12), "job": list("aaaaaaaabcde"), "pay": list("wxyzwxyzwxyz")})
SLICED: dict[str, Any] = {"method": "sloms", "k": 2, "suppress": 0.9, "options": {"slices": [["job"], ["pay"]]}}


def ratio_by_hand(release: Release, original: pl.DataFrame) -> float:
    """Equation 9: "a suppressed tuple when it has at least one suppressed value"."""
    whole = sum(all(row[f"group_{i}"] is not None for i in (1, 2)) for row in release.tables["quasi"].to_dicts())
    return (original.height - whole) / original.height


@pytest.mark.parametrize(("variant", "published", "marked"), [("paper", 12, 4), ("hardened", 8, 0)])
def test_rows_without_a_group_count_as_suppressed(variant: str, published: int, marked: int) -> None:
    """Eight of twelve share a job, so at l = 2 four of them find no partner: NA in the paper, suppressed by us."""
    release = publish(SKEWED, policy_of(AGED, variant=variant, **SLICED), key=Key.test(), attacks=False)
    loss = release.loss
    assert (loss.rows, loss.without_group, loss.suppressed) == (published, marked, 12 - published)
    assert loss.suppressed == release.manifest.suppressed
    assert loss.suppressed_share == ratio_by_hand(release, SKEWED) == 4 / 12


@pytest.mark.parametrize("variant", ["paper", "hardened"])
@pytest.mark.parametrize("seed", range(5))
def test_the_ratio_is_what_one_counts_on_the_tables(variant: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    jobs, pays = (draw.choice(list("abcde"), 60, p=[0.6, 0.1, 0.1, 0.1, 0.1]) for _ in range(2))
    table = pl.DataFrame({"age": draw.integers(20, 60, 60), "job": jobs, "pay": pays})
    release = publish(table, policy_of(AGED, variant=variant, **SLICED), key=Key.test(), attacks=False)
    assert release.loss.suppressed_share == pytest.approx(ratio_by_hand(release, table))
    assert release.loss.suppressed_share > 0
    assert (release.loss.without_group > 0) == (variant == "paper")


def test_a_row_that_misses_two_groups_counts_once() -> None:
    """Of ten rows one is suppressed; one misses its first group, one its second, one both; six have all."""
    table = pl.DataFrame({"age": range(10), "job": list("ababababab"), "pay": list("xyxyxyxyxy")})
    policy = policy_of(AGED, **SLICED)
    encoded = encode(table, policy)
    of_row = {
        "rows": [0] * 9 + [-1],
        "job": [0, 0, 1, 1, 2, 2, -1, 2, -1, -1],
        "pay": [0, 0, 1, 1, 2, 2, 2, -1, -1, -1],
    }
    place = sources(table, encoded)
    rows, job, pay = (np.array(groups, np.int64)[place] for groups in of_row.values())
    plan = SlicedPlan(rows, slices=(Slice(("job",), job), Slice(("pay",), pay)))
    release = assemble(plan, encoded, policy, method_for(policy), DRAW)
    loss = measure(release, table)
    assert (loss.rows, loss.without_group, loss.suppressed) == (9, 3, 1)
    assert loss.suppressed_share == ratio_by_hand(release, table) == 4 / 10
    assert loss.to_dict()["without_group"] == 3
    text = shown(loss)
    assert "rows suppressed     1 (10.00%)" in text
    assert "without a group     3 in some slice; 40.00% with suppressed rows" in text


def test_bands_stand_in_their_order_and_other_texts_by_how_common_they_are() -> None:
    column = ColumnInfo(name="stay", role="sensitive", type="text")
    bands = pl.Series("stay", ["7-13"] * 5 + ["<1 day"] * 3 + ["14+"] * 2 + ["1-6"])
    assert distribution(bands, column, bands).values == ("<1 day", "1-6", "7-13", "14+")
    words = pl.Series("stay", ["short"] * 5 + ["long"] * 3 + ["1-6"])
    assert distribution(words, column, words).values == ("short", "long", "1-6")
