"""What is asked of a row: checks of single attributes, joined by and, or, not. The query language and `col` build them.

>>> condition = col("age").between(30, 40) & (col("disease") == "flu") | ~col("sex").is_in(["f"])
>>> condition.attributes
('age', 'disease', 'sex')
>>> print(condition)
(age BETWEEN 30 AND 40 AND disease = 'flu') OR NOT (sex IN ('f'))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from pluralis.table.labels import number_text

Value = str | int | float
Comparison = Literal["=", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN", "IS NULL"]


class Condition(ABC):
    """Something that is true or false of a row, or neither, where it hangs on a missing value."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it looks at, in the order in which they come."""
        return tuple(dict.fromkeys(check.attribute for check in self.checks))

    @property
    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """The checks it is made of, in the order in which they come."""

    def __and__(self, other: Condition) -> Condition:
        return All((self, other))

    def __or__(self, other: Condition) -> Condition:
        return Some((self, other))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("A condition is neither true nor false by itself. Join conditions with & | ~, in parentheses.")


@dataclass(frozen=True)
class Check(Condition):
    """One attribute compared with one or more values. A missing value passes `IS NULL` and no other check.

    Nor does it pass the opposite of another check: as in SQL, that is neither true nor false of it.
    """

    attribute: str
    comparison: Comparison
    values: tuple[Value, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        return (self,)

    def __str__(self) -> str:
        values = [_written(value) for value in self.values]
        if self.comparison == "BETWEEN":
            return f"{self.attribute} BETWEEN {values[0]} AND {values[1]}"
        if self.comparison == "IN":
            return f"{self.attribute} IN ({', '.join(values)})"
        return " ".join([self.attribute, self.comparison, *values])


@dataclass(frozen=True)
class Joined(Condition):
    """Several conditions as one."""

    parts: tuple[Condition, ...]
    word: ClassVar[str]

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for part in self.parts for check in part.checks)

    def __str__(self) -> str:
        apart = (
            f"({part})" if isinstance(part, Joined) and part.word != self.word else str(part) for part in self.parts
        )
        return f" {self.word} ".join(apart)


class All(Joined):
    """Every part is true."""

    word = "AND"


class Some(Joined):
    """Some part is true."""

    word = "OR"


@dataclass(frozen=True)
class Not(Condition):
    """The part is false; a part that is neither true nor false, for a value is missing, is not."""

    part: Condition

    @property
    def checks(self) -> tuple[Check, ...]:
        return self.part.checks

    def __str__(self) -> str:
        return f"NOT ({self.part})"


@dataclass(frozen=True, eq=False)
class col:  # noqa: N801, for it reads like a function: col("age") > 30
    """An attribute in a condition.

    Compare it by ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=`` or a method, and join conditions, each in parentheses, by
    ``&``, ``|`` and ``~``.

    Parameters
    ----------
    attribute : str
        Its name.

    Examples
    --------
    >>> print(col("age").between(30, 40) & (col("disease") == "flu"))
    age BETWEEN 30 AND 40 AND disease = 'flu'
    """

    attribute: str

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return Check(self.attribute, "=", (_single(value),))

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return Check(self.attribute, "!=", (_single(value),))

    def __lt__(self, value: Value) -> Condition:
        return Check(self.attribute, "<", (_single(value),))

    def __le__(self, value: Value) -> Condition:
        return Check(self.attribute, "<=", (_single(value),))

    def __gt__(self, value: Value) -> Condition:
        return Check(self.attribute, ">", (_single(value),))

    def __ge__(self, value: Value) -> Condition:
        return Check(self.attribute, ">=", (_single(value),))

    def between(self, low: Value, high: Value) -> Condition:
        """Whether it lies between two values, both included.

        Parameters
        ----------
        low, high : str, int or float
            The ends.

        Returns
        -------
        Condition
            To be counted, or joined with others.

        Raises
        ------
        TypeError
            If an end is neither text nor a number.

        Examples
        --------
        >>> print(col("age").between(30, 40))
        age BETWEEN 30 AND 40
        """
        return Check(self.attribute, "BETWEEN", (_single(low), _single(high)))

    def is_in(self, values: Iterable[Value]) -> Condition:
        """Whether it is one of several values.

        Parameters
        ----------
        values : list of str, int or float
            The values.

        Returns
        -------
        Condition
            To be counted, or joined with others.

        Raises
        ------
        TypeError
            If it is one text instead of several values, or one of them is neither text nor a number.

        Examples
        --------
        >>> print(col("disease").is_in(["flu", "hiv"]))
        disease IN ('flu', 'hiv')
        """
        if isinstance(values, str):
            raise TypeError(f"is_in takes a list: is_in([{values!r}]).")
        return Check(self.attribute, "IN", tuple(_single(value) for value in values))

    def is_null(self) -> Condition:
        """Whether it is missing.

        Returns
        -------
        Condition
            To be counted, or joined with others.

        Examples
        --------
        >>> print(~col("disease").is_null())
        NOT (disease IS NULL)
        """
        return Check(self.attribute, "IS NULL")

    __hash__ = None  # type: ignore[assignment]


def _single(value: object) -> Value:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f"{value!r} is no text or number. Compare with those; for a missing value use is_null().")
    return value


def _written(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else number_text(value)
