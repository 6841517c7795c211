"""`method: auto` of a release in parts: the method that a comparison on the first shard has one take.

A keyed hash drew the shard, so that it is a sample. The choice is noted; a release says which method made it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pluralis.comparison.choice import choose
from pluralis.engines.base import Block, Engine
from pluralis.engines.routing import Cleaning
from pluralis.errors import PolicyError
from pluralis.method import AUTO
from pluralis.policy.policy import Policy
from pluralis.publishing.part_requirements import read_as_whole


def with_method(engine: Engine, cleaning: Cleaning, shards: Mapping[int, int]) -> Policy:
    """The policy with its method decided; why it was taken is noted."""
    policy = cleaning.policy
    if policy.publish.method != AUTO:
        return policy
    first = min(shards)
    ((_, rows),) = engine.each([Block(first, first + 1, shards[first])], as_they_are)
    attributes = {name: own.model_copy(update={"rare": None}) for name, own in policy.attributes.items()}
    sample = read_as_whole(policy.model_copy(update={"attributes": attributes}), cleaning)
    taken, why = choose(rows, sample)
    cleaning.notes.append(f"{why} It was tried on {rows.height:,} rows, which a keyed hash drew.")
    return policy.override(method=taken.publish.method, options={})


def as_they_are(_: Block, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a block themselves."""
    return rows


def require_choice(policy: Policy) -> None:
    """Refuse to choose a method where joined values have a tree, which only all rows make."""
    if policy.publish.method != AUTO:
        return
    for name, own in policy.columns.items():
        if own.rare is not None and own.hierarchy is not None:
            raise PolicyError(
                f"method: auto tries methods on some rows, and what the hierarchy of {name!r} becomes once rare values "
                "are joined follows from all of them. Name a method, or publish with --engine memory."
            )
