"""Numbers that were cut off: what can still be asked of them.

Where `top` is 90, a published 90 means 90 or more. So rows can be told apart below 90 only: `age >= 90` can be
answered, `age > 90` and `age > 95` cannot. A value itself may be asked for: `age = 90` are those rows.
"""

from __future__ import annotations

from pluralis.errors import QueryError
from pluralis.estimate.conditions import Check, Value
from pluralis.release.recodings import Recoding
from pluralis.table.labels import number_text


def require_told_apart(check: Check, recoding: Recoding) -> None:
    """Refuse a check that divides what was cut off.

    >>> require_told_apart(Check("age", ">=", (90,)), Recoding(top=90))
    >>> try:
    ...     require_told_apart(Check("age", ">", (95,)), Recoding(top=90))
    ... except QueryError as error:
    ...     print(error)
    'age' > 95 cannot be answered: numbers above 90 were published as 90, which means 90 or more. Ask 'age' >= 90.
    """
    name = check.attribute
    for value in check.values:
        if isinstance(value, str):
            continue
        if recoding.top is not None and _divides_above(check, value, recoding.top):
            top = number_text(recoding.top)
            raise QueryError(
                f"{_asked(check)} cannot be answered: numbers above {top} were published as {top}, which means {top} "
                f"or more. Ask {name!r} >= {top}."
            )
        if recoding.bottom is not None and _divides_below(check, value, recoding.bottom):
            bottom = number_text(recoding.bottom)
            raise QueryError(
                f"{_asked(check)} cannot be answered: numbers below {bottom} were published as {bottom}, which means "
                f"{bottom} or less. Ask {name!r} <= {bottom}."
            )


def _divides_above(check: Check, value: float, top: float) -> bool:
    """Whether a check tells the numbers from `top` on apart."""
    after = check.comparison in (">", "<=") or (check.comparison == "BETWEEN" and value == check.values[1])
    return value > top or (value == top and after)


def _divides_below(check: Check, value: float, bottom: float) -> bool:
    """Whether a check tells the numbers up to `bottom` apart."""
    before = check.comparison in ("<", ">=") or (check.comparison == "BETWEEN" and value == check.values[0])
    return value < bottom or (value == bottom and before)


def _asked(check: Check) -> str:
    values: list[Value] = list(check.values)
    shown = [number_text(value) if not isinstance(value, str) else repr(value) for value in values]
    if check.comparison == "BETWEEN":
        return f"{check.attribute!r} BETWEEN {shown[0]} AND {shown[1]}"
    return f"{check.attribute!r} {check.comparison} {', '.join(shown[:3])}"
