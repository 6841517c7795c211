"""SLOMS on Census-Income (KDD), section V of the paper: how many rows each method must leave out.

10,000 rows of people at work; attributes as in Table VII, slices as in Table VIII (for five, as the text has it).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import data_file
from pluralis.audit import audit
from pluralis.eligibility import most_kept
from pluralis.errors import Infeasible
from pluralis.methods import method_for
from pluralis.plan import LEFT_OUT
from pluralis.publish import publish
from pluralis.randomness import Draw, Key
from pluralis.table import encode
from tables import policy_of

SECRETS = [
    "detailed_occupation_code",
    "detailed_industry_code",
    "class_of_worker",
    "education",
    "major_occupation_code",
    "major_industry_code",
]
SLICES = {3: (2, 3), 4: (2, 4), 5: (3, 5), 6: (3, 6)}  # where the first and the second slice end
QUASI: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
QUASI |= {name: {"role": "quasi"} for name in ("sex", "race", "marital_status", "full_or_part_time_employment_stat")}


@pytest.fixture(scope="module")
def workers() -> pl.DataFrame:
    path: Path = data_file("census_income_kdd_train.parquet")
    return pl.read_parquet(path).filter(pl.col("detailed_occupation_code") != 0).sample(10_000, seed=2013, shuffle=True)


def policy_for(method: str, d: int, l: int, **how: Any) -> Any:
    attributes = {**QUASI, **{name: {"role": "sensitive", "l": l} for name in SECRETS[:d]}}
    if method == "sloms":
        first, second = SLICES[d]
        how |= {"k": l, "options": {"slices": [SECRETS[:first], SECRETS[first:second]]}}
    return policy_of(attributes, others="drop", method=method, suppress=0.999, **how)


def left_out(table: pl.DataFrame, policy: Any) -> float:
    """The suppression ratio (equation 9): a row counts that misses a group in some slice."""
    encoded = encode(table, policy)
    try:
        plan = method_for(policy).plan(encoded, policy, Draw(Key.test()))
    except Infeasible:
        return 1.0
    grouped = [slice.group_of != LEFT_OUT for slice in plan.slices] or [plan.group_of != LEFT_OUT]
    return float(1 - np.all(grouped, axis=0).mean())


def least(table: pl.DataFrame, d: int, l: int) -> float:
    """What the most skewed attribute alone forces every method to leave out."""
    counts = [table[name].value_counts()["count"].to_numpy().astype(np.int64) for name in SECRETS[:d]]
    return max(float(1 - most_kept(count, l).sum() / table.height) for count in counts)


@pytest.mark.parametrize("l", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("d", [3, 4, 6])
def test_slices_leave_out_least(workers: pl.DataFrame, d: int, l: int) -> None:
    sloms = left_out(workers, policy_for("sloms", d, l))
    rivals = [left_out(workers, policy_for("msb", d, l, options={"priority": p})) for p in ("mbf", "msdcf", "mmdcf")]
    bound = least(workers, d, l)
    assert bound <= sloms + 1e-9
    assert sloms <= min(rivals) + 1e-9
    if d >= 4 and l <= 6:  # at 7 every value of class of worker is needed once a group, and nothing helps
        assert sloms < min(rivals) - 0.02
    assert sloms == pytest.approx(bound, abs=0.002)


def test_what_is_left_is_published(workers: pl.DataFrame) -> None:
    release = publish(workers, policy_for("sloms", 6, 4), key=Key.test())
    verdict = audit(release, original=workers, allow_test=True)
    assert verdict.holds, verdict.failures
