"""What can be published in parts: which tables and policies, in how many shards; all else is refused at once."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Literal

import polars as pl

from pluralis.engines.base import Engine
from pluralis.engines.routing import Cleaning, Source
from pluralis.engines.sizes import LEAST, Rows
from pluralis.errors import Infeasible, InputError, PolicyError
from pluralis.grouping.eligibility import above_its_bound
from pluralis.method import AUTO, method_for
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.release.parts import MOST_PARTS
from pluralis.table.missing import sensitive_and_missing
from pluralis.table.parquet_files import ParquetFile
from pluralis.table.sources import names_files, open_table, table_files

LEAST_DIFFERENT = 5_000  # different quasi-identifiers, or people, for each shard
SEEN = 10_000  # rows that tell how large rows are
LARGE = 5_000_000  # rows of Parquet from which a table is published in parts, unless whoever publishes says otherwise


def engine_for(table: object) -> Literal["memory", "local"]:
    """How a table is published where nobody says: in parts, if it is Parquet of LARGE rows or more."""
    if names_files(table):
        files = table_files(table)
        if files[0].name.lower().endswith(".parquet"):
            return "local" if ParquetFile(files, whole=False).height >= LARGE else "memory"
    return "memory"


def require_sizes(part: int | None, workers: int | None, key: Key | None) -> None:
    """Refuse parts that are so small that they tell of single people where they are joined, and impossible numbers."""
    part = LEAST if part is None else part
    if part < 1 or (workers or 0) < 0:
        raise InputError(f"There are no parts of {part:,} rows, or no {workers} workers. Take more.")
    if part < LEAST and not (key is not None and key.is_test):
        raise InputError(
            f"Parts of {part:,} rows could tell of single people where they are joined: {LEAST:,} or more."
        )


def require_apart(policy: Policy) -> None:
    """Refuse what is decided with all rows at once."""
    for name, own in policy.columns.items():
        asked = [key for key in ("gain", "t") if getattr(own, key) is not None]
        if asked:
            raise PolicyError(
                f"{asked[0]} of {name!r} compares groups with all rows, and those of a part are others. Bound its "
                "values by at_most, or publish with --engine memory."
            )
        along = own.rare is not None and own.rare.along
        if along and policy.levels_of(name):
            raise PolicyError(
                f"{name!r}: what rare values become along columns of the table is known row by row only. Join and "
                "generalize them along a file, icd, date or mask, or publish with --engine memory."
            )


def require_present(cleaning: Cleaning) -> None:
    """Refuse rows without a sensitive value where the policy does not say what becomes of them, and where all are."""
    for name in cleaning.policy.sensitive:
        if cleaning.gaps[name] and cleaning.policy.columns[name].if_missing == "refuse":
            raise sensitive_and_missing(name, cleaning.gaps[name])
    if not cleaning.published:
        raise InputError("Every row misses a sensitive value. There is nothing to publish.")


def require_share(cleaning: Cleaning) -> None:
    """Refuse at once a value that is too common in the whole table, however its parts are joined.

    Surplus rows may be suppressed for an l, and never for a bound of a single value.
    """
    policy, every = cleaning.policy, cleaning.published
    open_ = policy.publish.method == AUTO
    in_sets = policy.sensitive if open_ else method_for(policy).set_sized(policy)
    for name, values in cleaning.decided.commonest.items():
        for text, rows, bound in values:
            if rows * bound.denominator <= bound.numerator * every:
                continue
            l = policy.l(name)
            if bound != Fraction(1, l):
                raise Infeasible(above_its_bound(name, text, rows, every, bound))
            bounds_guesses = name not in in_sets and policy.columns[name].model == "frequency"
            if bounds_guesses and policy.publish.suppress == 0:
                raise Infeasible(
                    f"{name!r} cannot be {l}-diverse: {text!r} fills {rows:,} of {every:,} rows ({rows / every:.1%}). "
                    f"The largest l it allows is {every // rows}; set l: {every // rows} or allow suppress."
                )


def number_of_shards(engine: Engine, cleaning: Cleaning, draw: Draw, part: int) -> int:
    """How many shards of about `part` rows; fewer where few people, or quasi-identifiers, differ.

    Those who are alike are in one shard. A shard of few who differ would tell of each of them if it is joined.
    """
    if ceil(cleaning.rows / part) > MOST_PARTS:
        raise InputError(f"Parts of {part:,} rows would be more than {MOST_PARTS:,}. Take larger ones: --part-rows.")
    wanted, each = ceil(cleaning.rows / part), LEAST_DIFFERENT if part >= LEAST else 1
    different = engine.different(cleaning, draw, wanted * each)
    allowed = max(1, different // each)
    if allowed < wanted:
        alike = "people" if cleaning.policy.person is not None else "quasi-identifiers"
        cleaning.notes.append(f"Only about {different:,} {alike} differ: {allowed:,} parts instead of {wanted:,}.")
    return min(wanted, allowed)


def parquet_of(table: object, policy: Policy) -> ParquetFile:
    """A table of Parquet files, of which nothing is read yet."""
    files = table_files(table) if names_files(table) else []
    if not files or not files[0].name.lower().endswith(".parquet"):
        raise InputError("Spark reads Parquet. Write the table as Parquet first, or publish with --engine local.")
    policy.require_decided()
    source = ParquetFile(files, whole=False)
    policy.check_columns(source.columns)
    return source


def opened(table: object, policy: Policy, encoding: str, separator: str | None) -> pl.DataFrame | ParquetFile:
    if names_files(table):
        files = table_files(table)
        if files[0].name.lower().endswith(".parquet"):
            source: pl.DataFrame | ParquetFile = ParquetFile(files, whole=False)
            policy.require_decided()
            policy.check_columns(source.columns)
            return source
    source = open_table(table, encoding=encoding, separator=separator)
    policy.require_decided()
    policy.check_columns(source.columns)
    return source


def of_parts(policy: Policy, cleaning: Cleaning) -> Policy:
    """The policy of a part, whose method leaves nothing to be decided by each part alone."""
    policy = read_as_whole(policy, cleaning)
    open_choice = getattr(method_for(policy), "sensitive_table", None) == "auto"
    return policy.override(options={"sensitive_table": "marginals"}) if open_choice else policy


def read_as_whole(policy: Policy, cleaning: Cleaning) -> Policy:
    """The policy for clean rows: without columns that are never published, with bins where those of all rows begin."""
    kept = {name: own for name, own in policy.attributes.items() if name in cleaning.columns}
    for name, breaks in cleaning.decided.breaks.items():
        kept[name] = kept[name].model_copy(update={"bins": None, "breaks": breaks})
    return policy.model_copy(update={"attributes": kept})


def rows_of(source: Source, policy: Policy) -> Rows:
    """What rows of a table take, by the first of them."""
    names = [name for name in source.columns if name in {*policy.needed, *policy.columns}]
    in_memory = 0
    if isinstance(source, ParquetFile):
        first = next(source.chunks(source.pieces(SEEN)[0], names, SEEN))
    else:
        first, in_memory = source.select(names).head(SEEN), int(source.estimated_size())
    texts = first.select(pl.selectors.string() | pl.selectors.categorical() | pl.selectors.enum()).cast(pl.String)
    letters = sum(int(column.str.len_bytes().sum() or 0) for column in texts) / max(1, first.height)
    return Rows(letters + 16 * texts.width + 8 * (first.width - texts.width), first.width, in_memory=in_memory)
