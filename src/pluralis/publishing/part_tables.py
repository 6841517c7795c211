"""Which subtables the parts of a release are published in: those that a sample of its rows is split into.

The sample is the first shard, which a keyed hash has drawn, and more of them where one is not enough to tell. What rows
show of dependencies is learned of them, too. A dependency of all rows is one of the sample, so that none is missed but
what a sample has too few rows of to tell it from chance; one that others would contradict is taken to be known all the
same, which protects no less. What holds in some part alone, nobody could know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import NamedTuple

import polars as pl

from pluralis.engines.base import Block, Engine
from pluralis.errors import Infeasible, PolicyError
from pluralis.method import method_for
from pluralis.method.subtables import Names, Versatile
from pluralis.policy.rules import Dependency
from pluralis.progress import stage
from pluralis.publishing.part_blocks import Asked, missing_throughout
from pluralis.randomness import Draw
from pluralis.table.encoding import clean, encode_clean


class TablesDecided(NamedTuple):
    """The subtables, what each shows and protects, and what is taken to be known; or why these rows tell of none.

    `torn` is why rows that are cut by a hash could not be published in these tables.
    """

    tables: Names = ()
    dependencies: tuple[Dependency, ...] = ()
    notes: tuple[str, ...] = ()
    torn: str = ""
    refused: str = ""


def with_tables(engine: Engine, asked: Asked, shards: Mapping[int, int]) -> tuple[Asked, tuple[str, ...]]:
    """What every worker is told, of a method of subtables with these; and what to tell of them."""
    if not isinstance(method_for(asked.policy), Versatile):
        return asked, ()
    numbers, many = sorted(shards), 1
    with stage("splitting a sample into tables"):
        while True:
            rows = sum(shards[i] for i in numbers[:many])
            block = Block(numbers[0], numbers[min(many, len(numbers)) - 1] + 1, rows)
            ((_, decided),) = engine.each([block], partial(tables_of_rows, asked))
            if not decided.refused or many >= len(numbers):
                break
            many *= 2
    if decided.refused:
        raise Infeasible(*decided.refused.split("\n"))
    if decided.torn:
        raise PolicyError(decided.torn)
    known = {*asked.policy.dependencies, *decided.dependencies}
    names = [name for name, own in asked.policy.columns.items() if own.role != "identifier"]
    unknown = [Dependency(knows=(one,), decides=two) for one, two in permutations(names, 2)]
    changes = {
        "dependencies": sorted(known, key=str),
        "coincidences": [
            *asked.policy.coincidences,
            *(dependency for dependency in unknown if dependency not in known),
        ],
    }
    policy, whole = asked.policy.model_copy(update=changes), replace(asked.whole, tables=decided.tables)
    return asked._replace(policy=policy, whole=whole), decided.notes


def tables_of_rows(asked: Asked, _: Block, rows: pl.DataFrame) -> TablesDecided:
    """What some rows are split into."""
    policy, method = asked.policy, method_for(asked.policy)
    assert isinstance(method, Versatile)
    if gap := missing_throughout(policy, rows):
        return TablesDecided(refused=gap)
    table = encode_clean(clean(rows, policy, asked.whole), policy)
    try:
        task, tables, notes = method.split(table, policy, Draw(asked.key, "tables of all parts/"))
    except Infeasible as refusal:
        return TablesDecided(refused=str(refusal))
    schema = task.schema
    names = tuple((frozenset(schema.names(one.shows)), frozenset(schema.names(one.protects))) for one in tables)
    torn = None if policy.person is not None else schema.split_by(policy.quasi, tables)
    if torn is None:
        return TablesDecided(names, schema.dependencies, notes)
    hashed = ", ".join(policy.quasi)
    return TablesDecided(
        torn=f"`{torn}` would not be kept in parts: rows are cut into parts by a hash of {hashed}, and the tables show "
        "some of these beside what the rule protects and others beside what it knows, so that who is in one part would "
        "tell. Name a person column, by which rows are cut then, or publish with --engine memory."
    )
