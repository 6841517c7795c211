"""Small tables and policies that many tests use."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl

from pluralis.policy.policy import Policy
from pluralis.randomness import Key
from pluralis.table.encoding import Table
from pluralis.table.labels import number_text

KEY = Key(bytes(range(32)))  # always the same, and not the test key: what is made with it can be saved

PATIENTS = pl.DataFrame(
    {
        "name": ["Alice", "Bob", "Carl", "Diana", "Ella", "Fiona", "Gavin"],
        "gender": ["F", "M", "M", "F", "F", "F", "M"],
        "postcode": ["10075", "10075", "10076", "10075", "10077", "10077", "10076"],
        "age": [50, 50, 30, 40, 20, 25, 25],
        "disease": ["Cancer", "Obesity", "Flu", "Cancer", "Flu", "Obesity", "Obesity"],
    }
)


PATIENTS_YAML = """\
version: 1
attributes:
  name:     {role: identifier}
  gender:   {role: quasi}
  postcode: {role: quasi, hierarchy: {mask: right}}
  age:      {role: quasi, type: number}
  disease:  {role: sensitive, l: 2}
publish: {method: bsgi}
"""


def patients_policy(l: int = 2, **publish: Any) -> Policy:
    """A policy for PATIENTS, the first table of the BSGI paper."""
    if publish.get("method") == "randomized-addition":  # values are too rare for 1/l
        publish.setdefault("options", {"claim": "set-size"})
    return policy_of(
        {
            "name": {"role": "identifier"},
            "gender": {"role": "quasi"},
            "postcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
            "age": {"role": "quasi", "type": "number"},
            "disease": {"role": "sensitive", "l": l},
        },
        **publish,
    )


def policy_of(attributes: dict[str, dict[str, Any]], *, k: int | None = None, person: str | None = None,
              adversaries: list[list[str]] | None = None, missing: list[str] | None = None, others: str | None = None,
              rules: list[str] | None = None, republish: str | None = None, accept: list[str] | None = None,
              **publish: Any) -> Policy:  # fmt: skip
    """A policy from a few words; one that asks for sets of values accepts them, unless it says what it accepts."""
    data: dict[str, Any] = {"version": 1, "attributes": attributes, "publish": publish}
    if k is not None:
        data["k"] = k
    if person is not None:
        data["person"] = person
    if adversaries is not None:
        data["adversaries"] = [{"knows": known} for known in adversaries]
    if missing is not None:
        data["missing"] = missing
    if others is not None:
        data["others"] = others
    if rules is not None:
        data["rules"] = rules
    if republish is not None:
        data["republish"] = republish
    asks_for_sets = publish.get("method") == "decomposition" or "set-size" in publish.get("options", {}).values()
    if accept is not None or asks_for_sets:
        data["accept"] = ["set-size"] if accept is None else accept
    return Policy.from_dict(data)


ADULT_QUASI = {
    "age": {"role": "quasi", "type": "number"},
    "fnlwgt": {"role": "quasi", "type": "number"},
    "education-num": {"role": "quasi", "type": "number"},
    "hours-per-week": {"role": "quasi", "type": "number"},
    "marital-status": {"role": "quasi"},
    "race": {"role": "quasi"},
    "sex": {"role": "quasi"},
}


def adult_policy(l: int, **publish: Any) -> Policy:
    """Adult as in the BSGI paper: seven quasi-identifiers, occupation sensitive."""
    return policy_of({**ADULT_QUASI, "occupation": {"role": "sensitive", "l": l}}, others="drop", **publish)


def sources(frame: pl.DataFrame, table: Table, person: str | None = None) -> list[int]:
    """Where each row of an encoded table stood in the frame; equal rows are interchangeable."""
    people = sorted(set(frame[person].cast(pl.String))) if person else []
    places = defaultdict(list)
    for place, row in enumerate(frame.iter_rows(named=True)):
        who = people.index(str(row[person])) if person else None
        places[*(_word(row[name]) for name in table.columns), who].append(place)
    return [
        places[
            *(column.text(int(column.codes[row])) for column in table.columns.values()),
            None if table.person is None else int(table.person[row]),
        ].pop()
        for row in range(table.rows)
    ]


def _word(value: object) -> str:
    if value is None:
        return "(missing)"
    return value if isinstance(value, str) else number_text(value)
