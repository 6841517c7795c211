"""Small tables and policies that many tests use."""

from __future__ import annotations

from typing import Any

import polars as pl

from pluralis.policy import Policy
from pluralis.randomness import Key

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


def patients_policy(l: int = 2, **publish: Any) -> Policy:
    """A policy for PATIENTS, the first table of the BSGI paper."""
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
              rules: list[str] | None = None, **publish: Any) -> Policy:  # fmt: skip
    """A policy from a few words."""
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
    return Policy.of(data)


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
    """Adult as in the BSGI paper: seven quasi attributes, occupation sensitive."""
    return policy_of({**ADULT_QUASI, "occupation": {"role": "sensitive", "l": l}}, others="drop", **publish)
