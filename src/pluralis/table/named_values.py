"""The values that a policy names, `at_most: {"Yes": 1/4}`, in the table: which codes they are, how they are spelled."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl

from pluralis.errors import PolicyError, did_you_mean
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.policy.shares import share_text
from pluralis.table.encoding import Column, Table
from pluralis.table.spelling import cores


class NoSuchValue(PolicyError):
    """A policy names a value that no row holds."""


def bounds_by_code(column: Column, attribute: Attribute) -> dict[int, Fraction]:
    """The largest share that each named value may have.

    Raises PolicyError with what was meant, where no row holds a value, or two spellings name one.

    >>> column = Column("ill", "sensitive", "text", np.zeros(1, np.int32), ("No", "Yes"))
    >>> bounds_by_code(column, Attribute(role="sensitive", at_most={"yes": "1/4"}))
    {1: Fraction(1, 4)}
    """
    bounds: dict[int, Fraction] = {}
    for text, share in (attribute.at_most or {}).items():
        code = code_of(column, text, fold_case=attribute.case == "fold")
        if code is None:
            hint = did_you_mean(text, column.value_texts())
            raise NoSuchValue(f"attributes.{column.name}.at_most: no row holds {text!r}. {hint}")
        if code in bounds:
            raise PolicyError(f"attributes.{column.name}.at_most: {column.text(code)!r} is bounded twice. Keep one.")
        bounds[code] = Fraction(share)
    return bounds


def code_of(column: Column, text: str, *, fold_case: bool) -> int | None:
    """The code of a value as a policy names it; None where no row holds it."""
    if column.is_number:
        try:
            number = float(text)
        except ValueError:
            return None
        places = np.flatnonzero(np.asarray(column.values, np.float64) == number)
        return int(places[0]) if places.size else None
    values = pl.Series([str(value) for value in column.values], dtype=pl.String)
    if (same := (values == text).arg_true()).len():
        return int(same[0])
    core = cores(pl.Series([text]), fold_case=fold_case)[0]
    same = (cores(values, fold_case=fold_case) == core).arg_true()
    return int(same[0]) if same.len() else None


def spelled_as_published(policy: Policy, table: Table) -> Policy:
    """The same policy, its named values spelled as the table has them."""
    spelled = {
        column.name: {column.text(code): share_text(share) for code, share in bounds_by_code(column, attribute).items()}
        for column in table.sensitive
        if (attribute := policy.columns[column.name]).at_most is not None
    }
    return policy.with_bounds(spelled) if spelled else policy
