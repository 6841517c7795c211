"""BSGI draws another order of rows where few of them fit no group."""

from __future__ import annotations

import pytest

import pluralis as pls
from pluralis.method import bsgi
from support.health_tables import AGENTS, MADE

CODES = ("diag_1", "diag_2", "diag_3")
POLICY = pls.Policy(
    quasi=["race", "gender", "age"],
    sensitive={
        **{name: {"l": 4} for name in CODES},
        **{name: {"at_most": {"more": "1/4", "less": "1/4", "same": "1/4"}} for name in AGENTS[12:]},
    },
    person="patient_nbr",
    others="drop",
)


def refusals(keys: int) -> list[str]:
    said, table = [], MADE["trial"](2_500)
    for i in range(keys):
        try:
            pls.publish(table, POLICY, key=pls.Key(bytes([i]) * 32), attacks=False)
        except pls.Infeasible as refusal:
            said.append(str(refusal))
    return said


def test_few_rows_that_fit_no_group_are_tried_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals(6) == []
    monkeypatch.setattr(bsgi, "ATTEMPTS", 1)
    assert any("fit no group" in one for one in refusals(6))
