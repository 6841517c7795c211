"""Numbers in sentences."""

from __future__ import annotations

import re

MOST_NAMED = 200  # values that a message in a terminal names
_QUOTED = re.compile(r"""(?:'[^']*'|"[^"]*")""")


def counted(count: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "row"), counted(20_000, "row")
    ('1 row', '20,000 rows')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def percent(share: float) -> str:
    """Whole percent; never nothing for something, nor all for less.

    >>> percent(0.634), percent(0.001), percent(0.9999), percent(1.0)
    ('63 %', 'under 1 %', 'over 99 %', '100 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def folded(message: str, most: int = MOST_NAMED) -> str:
    """A message that names very many values, with the first of them and how the others are seen.

    >>> folded("'a', 'b', 'c', 'd' are rare", most=2)
    "'a', 'b' and 2 more (`pluralis check --json` names all) are rare"
    """

    def fold(run: re.Match[str]) -> str:
        names = _QUOTED.findall(run[0])
        return f"{', '.join(names[:most])} and {len(names) - most:,} more (`pluralis check --json` names all)"

    return re.sub(rf"{_QUOTED.pattern}(?:, {_QUOTED.pattern}){{{most},}}", fold, message)
