"""The verified holes of the papers, at the level of releases: the paper's variant is refused, the default is not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.assembling.assembly import assemble
from pluralis.auditing import audit
from pluralis.errors import AuditFailed
from pluralis.method import method_for
from pluralis.metrics import measure
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.table.sources import read_table
from support.paper_tables import DECOMPOSITION_1, SLOMS_1, SLOMS_SLICES, decomposition_table_6
from support.paper_tables import DECOMPOSITION_ROLES as STAFF
from support.paper_tables import SLOMS_ROLES as PEOPLE
from support.sample_tables import policy_of

DRAW = Draw(Key.test())


# Decomposition -------------------------------------------------------------------------------------------------


def test_d1_table_6_is_refused() -> None:
    """One world is left: salary 8 fills half of group 1 where a quarter is promised."""
    plan, table, policy = decomposition_table_6()
    release = assemble(plan, table, policy, method_for(policy), DRAW)
    verdict = audit(release, allow_test=True)
    (salary,) = verdict.failures
    assert "salary" in salary.claim
    assert (salary.measured, salary.promised, salary.top_share) == (3, 4, 0.5)


@pytest.mark.parametrize("knows", [None, "occupation", "salary"])
def test_d1_the_default_passes_on_the_same_table(knows: str | None, tmp_path: Path) -> None:
    adversaries = [["gender", "zipcode", "birthday", knows]] if knows else None
    table = DECOMPOSITION_1.select(list(STAFF)).cast(pl.String)
    for i in range(10):
        release = publish(
            table, policy_of(STAFF, method="decomposition", adversaries=adversaries), key=Key(bytes([i] * 32))
        )
        assert release.save(tmp_path / f"release{i}").holds


def test_d4_a_residual_row_may_not_double_the_primary_value(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": range(5), "job": list("abbcc"), "pay": list("vwxyz")})
    attributes = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    for i in range(10):
        key = Key(bytes([i] * 32))
        with pytest.raises(AuditFailed):
            publish(table, policy_of(attributes, method="decomposition", variant="paper"), key=key).save(
                tmp_path / "no"
            )
        assert publish(table, policy_of(attributes, method="decomposition"), key=key).save(tmp_path / f"yes{i}").holds
    assert not (tmp_path / "no").exists()


SENSITIVE = {"occupation": 7, "education": 3, "hours-per-week": 2, "relationship": 2}


def test_adult_with_four_secrets(adult: Path) -> None:
    """Published and audited; KL is near log ∏ l_i, as the paper's section 6.2 says.

    Sets hold l_i values or more, so KL is at least log ∏ l_i = 4.43 where all people differ; people with equal quasi
    values bring it down. fnlwgt in 100 bins, as in the paper's Table 7.
    """
    table = read_table(adult).with_columns(pl.col("fnlwgt").cast(pl.Int64))
    low, high = table["fnlwgt"].min(), table["fnlwgt"].max()
    table = table.with_columns((pl.col("fnlwgt") - low) * 100 // (high - low + 1))
    attributes: dict[str, Any] = {name: {"role": "quasi", "type": "number"} for name in ("age", "fnlwgt")}
    attributes |= {name: {"role": "quasi"} for name in ("marital-status", "race", "sex")}
    attributes |= {name: {"role": "sensitive", "l": l} for name, l in SENSITIVE.items()}
    release = publish(table, policy_of(attributes, others="drop", method="decomposition"), key=Key.test())
    verdict = audit(release, allow_test=True)
    assert verdict.holds, verdict.failures
    assert release.manifest.suppressed == 0
    kl = measure(release, table).kl
    assert kl is not None
    assert kl == pytest.approx(math.log(math.prod(SENSITIVE.values())), rel=0.05)


# SLOMS ---------------------------------------------------------------------------------------------------------


def test_s1_rows_without_a_group_are_refused(tmp_path: Path) -> None:
    """The paper marks what it cannot place with NA. The default leaves such rows out whole and counts them."""
    skewed = pl.DataFrame({"age": range(12), "job": list("aaaaaaaabcde"), "pay": list("wxyzwxyzwxyz")})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    how: dict[str, Any] = {"method": "sloms", "k": 2, "suppress": 0.8, "options": {"slices": [["job"], ["pay"]]}}
    paper = publish(skewed, policy_of(attributes, variant="paper", **how), key=Key.test())
    assert paper.tables["quasi"]["group_1"].null_count() > 0
    failure = audit(paper, allow_test=True).failures[0]
    assert failure.claim == "every row has a group in every slice"
    with pytest.raises(AuditFailed):
        paper.save(tmp_path / "paper", allow_test=True)
    default = publish(skewed, policy_of(attributes, **how), key=Key.test())
    assert default.manifest.suppressed > 0
    assert default.save(tmp_path / "default", allow_test=True).holds


def test_s2_whoever_knows_an_occupation_learns_the_salary(tmp_path: Path) -> None:
    """Police earns 4000+ in the paper's own Table III."""
    table = SLOMS_1
    knows = [["gender", "zipcode", "age", "occupation"]]
    how: dict[str, Any] = {"method": "sloms", "k": 3, "adversaries": knows, "suppress": 0.7, "options": SLOMS_SLICES}
    paper = audit(publish(table, policy_of(PEOPLE, variant="paper", **how), key=Key.test()), allow_test=True)
    assert any(f.measured == 1.0 and "salary" in f.claim for f in paper.failures)
    assert publish(table, policy_of(PEOPLE, **how), key=Key.test()).save(tmp_path / "release", allow_test=True).holds
