"""Routing to shards: by quasi-identifiers, or the person, and nothing else; every row once, in one spelling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pluralis as pls
from pluralis.engines.base import Block
from pluralis.engines.local import LocalEngine
from pluralis.engines.routing import Cleaning, Facts, ShardWords, cleaning_of
from pluralis.engines.sizes import Sizes
from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import clean
from pluralis.table.parquet_files import ParquetFile

QUASI = {"age": {"type": "number"}, "zip": {}}
BY_QUASI = Policy(quasi=QUASI, plain=["ward"], sensitive={"ill": 2}, others="drop")
BY_PERSON = Policy(quasi=QUASI, plain=["ward"], sensitive={"ill": 2}, person="who")
DRAW = Draw(pls.Key.test())

rows = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from(["a", "A", " b", None]), st.sampled_from(["x", "y"]), st.integers(0, 3),
        st.sampled_from(["flu", "Flu", "hiv"]),
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


def learned(table: pl.DataFrame, policy: Policy) -> Cleaning:
    return cleaning_of(Facts.of_rows(table, policy), policy)


def frame(some: list[tuple[object, ...]]) -> pl.DataFrame:
    schema = {"age": pl.Int64, "zip": pl.String, "ward": pl.String, "who": pl.Int64, "ill": pl.String}
    return pl.DataFrame(some, schema=schema, orient="row")


def words(table: pl.DataFrame, policy: Policy) -> np.ndarray:
    cleaning = learned(table, policy)
    return ShardWords(cleaning, DRAW).of_rows(cleaning.cleaned(table))


@given(rows, st.randoms(use_true_random=False))
def test_shards_tell_nothing_that_quasi_identifiers_do_not(some: list[tuple[object, ...]], chance: object) -> None:
    """Whatever sensitive and plain values rows hold, and in whatever order they stand, their shards are the same."""
    table = frame(some)
    once = words(table, BY_QUASI)
    other = table.with_columns(ill=pl.lit("gout"), ward=pl.lit("z"))
    assert (words(other, BY_QUASI) == once).all()
    order = list(range(table.height))
    chance.shuffle(order)  # type: ignore[attr-defined]
    assert (words(table[order], BY_QUASI) == once[order]).all()
    spelled = clean(table, BY_QUASI).columns.select("age", "zip").with_columns(pl.col("zip").cast(pl.String))
    of_quasi = spelled.with_columns(word=pl.Series(once)).unique()
    assert of_quasi.height == spelled.unique().height  # who look alike are in one shard
    assert of_quasi["word"].n_unique() == of_quasi.height


@given(rows)
def test_all_rows_of_a_person_are_in_one_shard(some: list[tuple[object, ...]]) -> None:
    table = frame(some)
    by_person = pl.DataFrame({"who": table["who"], "word": words(table, BY_PERSON)}).unique()
    assert by_person.height == table["who"].n_unique()


@given(rows, st.integers(1, 7))
def test_rows_are_cleaned_in_chunks_as_they_are_at_once(some: list[tuple[object, ...]], size: int) -> None:
    table = frame(some)
    cleaning = learned(table, BY_QUASI)
    chunks = pl.concat([cleaning.cleaned(table.slice(i, size)) for i in range(0, table.height, size)])
    whole = clean(table, BY_QUASI).columns
    text = pl.selectors.by_dtype(pl.Enum, pl.Categorical, pl.String).cast(pl.String)
    assert chunks.select(whole.columns).with_columns(text).equals(whole.with_columns(text))


def test_another_key_gives_other_shards() -> None:
    table = frame([(i % 60, "a", "x", i, "flu") for i in range(60)])
    cleaning = learned(table, BY_QUASI)
    other = ShardWords(cleaning, Draw(pls.Key(b"k" * 32))).of_rows(cleaning.cleaned(table))
    assert not (words(table, BY_QUASI) == other).any()


def test_every_row_is_written_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {"age": rng.integers(0, 99, 5_000), "zip": rng.integers(0, 50, 5_000).astype(str),
         "ward": rng.choice(["x", "y"], 5_000), "ill": rng.choice(["flu", "hiv"], 5_000), "more": 1}
    )  # fmt: skip
    table.write_parquet(tmp_path / "table.parquet", row_group_size=700)
    source = ParquetFile(tmp_path / "table.parquet", whole=False)
    engine = LocalEngine(source, tmp_path, Sizes(part=700, workers=0, chunk=999, piece=2_000), None)
    cleaning = engine.learned(BY_QUASI)
    rows = engine.route(cleaning, DRAW, 7)
    assert sorted(rows) == list(range(7))
    assert sum(rows.values()) == 5_000
    blocks = [Block(i, i + 1, rows[i]) for i in range(7)]
    parts = dict(engine.each(blocks, lambda block, own: (block, own)))
    assert all(parts[i][0] == block and parts[i][1].height == block.rows for i, block in enumerate(blocks))
    together = pl.concat(own for _, own in parts.values()).with_columns(pl.col("zip", "ward", "ill").cast(pl.String))
    names = ["age", "zip", "ward", "ill"]
    assert together.select(names).sort(names).equals(table.select(names).sort(names))
    assert len(list(tmp_path.glob("rows-*.arrow"))) == 3
    ((_, first_three),) = engine.each([Block(0, 3, 0)], lambda _, own: own)
    assert first_three.height == sum(rows[i] for i in range(3))


def test_people_are_named_by_text_or_whole_numbers(tmp_path: Path) -> None:
    table = frame([(1, "a", "x", 1, "flu"), (2, "a", "x", 2, "hiv")])
    for who, about in ((pl.col("who") + 0.5, "holds decimals"), (pl.lit(None, pl.Int64), "is missing in some rows")):
        cleaning = learned(table, BY_PERSON)
        with pytest.raises(InputError, match=about):
            cleaning.cleaned(table.with_columns(who=who))
