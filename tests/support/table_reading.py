"""Tables that are refused as they are read, and small ones encoded."""

from __future__ import annotations

import polars as pl
import pytest

from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.table.encoding import Table, encode
from pluralis.table.sources import read_table


def refused(source: object, *parts: str, **options: str) -> None:
    """Reading is refused, and the message holds every part."""
    with pytest.raises(InputError) as caught:
        read_table(source, **options)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def encoded(frame: pl.DataFrame, **attributes: dict) -> Table:
    """Encode two columns, `age` quasi and `disease` sensitive unless told otherwise."""
    roles = {"age": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    known = {name: {**role, **attributes.get(name, {})} for name, role in roles.items()}
    return encode(frame, Policy.from_dict({"version": 1, "attributes": known}))
