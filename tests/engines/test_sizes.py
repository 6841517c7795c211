"""Sizes of a release in parts: what is asked, what fits in memory, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.engines import sizes
from pluralis.engines.sizes import FAVORED, LEAST, MIB, PART, Rows, Sizes, bytes_of, need, sizes_for
from pluralis.errors import InputError

SMALL = Rows(spelled=160.0, columns=8)


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "cores", lambda: 4)
    monkeypatch.setattr(sizes, "free_memory", lambda: 64 << 30)


def sized(memory: int | None, rows: Rows = SMALL, part: int | None = None, workers: int | None = None) -> Sizes:
    return sizes_for(rows, memory=memory, part=part, workers=workers, attacks=True)


@pytest.mark.parametrize(
    ("text", "size"), [("4GiB", 4 << 30), ("512 mib", 512 << 20), ("1.5GB", 1_500_000_000), (7, 7)]
)
def test_sizes_of_memory_are_read(text: str | int, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["4 gigabytes", "-1GiB", "GiB", "", "1e9", "four"])
def test_what_is_no_size_of_memory(text: str) -> None:
    with pytest.raises(InputError, match="is no size of memory"):
        bytes_of(text)


def test_without_a_limit_nothing_is_refused_and_the_machine_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (sized(None).part, sized(None).workers) == (PART, 4)
    assert (sized(None, part=70, workers=0).part, sized(None, part=70, workers=0).workers) == (70, 0)
    monkeypatch.setattr(sizes, "free_memory", lambda: 1 << 30)
    assert sized(None).workers == 1
    monkeypatch.setattr(sizes, "free_memory", lambda: 0)
    assert sized(None).workers == 1


@given(
    memory=st.integers(0, 8 << 30), spelled=st.floats(8, 2_000), columns=st.integers(1, 60),
    texts=st.integers(0, 1 << 30), in_memory=st.integers(0, 1 << 30),
    part=st.none() | st.integers(LEAST, 10**6), workers=st.none() | st.integers(0, 6),
)  # fmt: skip
def test_what_is_chosen_fits_or_what_is_needed_is_said(
    memory: int, spelled: float, columns: int, texts: int, in_memory: int, part: int | None, workers: int | None
) -> None:
    rows = Rows(spelled, columns, texts, in_memory)
    fewest = need(rows, 1 if workers is None else max(1, workers), part or LEAST, attacks=True)
    if fewest > memory:
        with pytest.raises(InputError, match=f"need {fewest / MIB:,.0f} MiB"):
            sized(memory, rows, part, workers)
        return
    chosen = sized(memory, rows, part, workers)
    assert need(rows, max(1, chosen.workers), chosen.part, attacks=True) <= memory
    assert chosen.part == part or (part is None and LEAST <= chosen.part <= PART)
    assert chosen.workers == workers or (workers is None and 1 <= chosen.workers <= 4)
    if chosen.workers > 1 and part is None and workers is None:
        assert chosen.part >= FAVORED


def test_more_memory_never_gives_fewer_workers_and_at_last_full_parts() -> None:
    chosen = [sized(size * MIB) for size in range(1_000, 6_000, 100)]
    assert [own.workers for own in chosen] == sorted(own.workers for own in chosen)
    assert (chosen[-1].part, chosen[-1].workers, chosen[-1].chunk, chosen[-1].piece) == (
        PART, 4, sizes.CHUNK, sizes.PIECE,
    )  # fmt: skip
    assert chosen[0].piece < sizes.PIECE
