"""A policy tried on drawn rows of a large table: what the whole table says of values is said of the drawn rows, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import encode


def drawn_rows(frame: pl.DataFrame, rows: int, purpose: str) -> pl.DataFrame:
    """The table, or so many drawn rows of a larger one, in their order."""
    if frame.height <= rows:
        return frame
    return frame[np.sort(Draw(Key.test()).permutation(frame.height, purpose)[:rows])]


def keys_for(keys: dict[str, Any], part: float, breaks: list[float]) -> dict[str, Any]:
    """The keys of an attribute for a part of the rows: fewer hold a rare value, and bins lie where they do in all.

    >>> keys_for({"role": "quasi", "rare": {"below": 20, "as": "other"}}, 0.25, [])
    {'role': 'quasi', 'rare': {'below': 5, 'as': 'other'}}
    >>> keys_for({"role": "quasi", "type": "number", "bins": {"quantiles": 3}}, 0.25, [10, 20])
    {'role': 'quasi', 'type': 'number', 'breaks': [10, 20]}
    """
    if "below" in (keys.get("rare") or {}):
        keys = {**keys, "rare": {**keys["rare"], "below": max(2, round(keys["rare"]["below"] * part))}}
    if "bins" in keys and breaks:
        keys = {**{key: value for key, value in keys.items() if key != "bins"}, "breaks": breaks}
    return keys


def breaks_of(frame: pl.DataFrame, name: str, keys: dict[str, Any], missing: list[str]) -> list[float]:
    """Where the bins of a column begin, by all rows; nothing where it has none."""
    if "bins" not in keys:
        return []
    own = {key: keys[key] for key in ("type", "bins", "missing") if key in keys}
    data: dict[str, Any] = {"version": 1, "attributes": {name: {"role": "quasi", **own}}, "missing": missing}
    return [*encode(frame.select(name), Policy.from_dict(data))[name].breaks]
