"""Small random tables, releases of them, and what a clean one gives, for the tests of several attacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from pluralis import Key, Policy, publish
from pluralis.attacks import Attack, Options, Result
from pluralis.errors import Infeasible
from pluralis.publishing.saving import Publication
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release
from support.planted_releases import Published
from support.sample_tables import policy_of

SHARES = [0.21, 0.2, 0.18, 0.16, 0.14, 0.11]
FORMS = ("anatomy", "msb", "decomposition", "sloms", "randomized-addition", "bsgi", "mondrian", "uad", "gd")
BY_ANATOMY = policy_of({"job": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}, method="anatomy")


def people(seed: int, rows: int) -> pl.DataFrame:
    """Names, ages, jobs and towns, with a disease and an insurer that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    return pl.DataFrame(
        {
            "name": pl.Series([f"Person{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}x" for i in order]),
            "age": pl.Series([20 + int(a) for a in rng.integers(0, 60, rows)]),
            "job": pl.Series([f"job {j}" for j in rng.integers(0, 5, rows)]),
            "town": pl.Series([f"town {t}" for t in rng.permutation(rows)]),
            "disease": pl.Series([f"illness{'abcdef'[d]}" for d in _spread(rng, rows)]),
            "insurer": pl.Series([f"insurer{'abcd'[i]}" for i in rng.permutation(rows) % 4]),
        }
    )


def _spread(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Values of which none is more than a quarter of the rows."""
    counts = np.floor(np.array(SHARES) * rows).astype(int)
    rest = rng.permutation(6)[: rows - counts.sum()]
    return rng.permutation(np.concatenate([np.repeat(np.arange(6), counts), rest]))


def policy(form: str, l: int, **more: Any) -> Policy:
    if form in ("uad", "gd"):
        rules = [f"age, job, town -> disease : l={l}", "disease -> insurer : l=2"]
        data: dict[str, Any] = {"version": 1, "rules": rules, "attributes": {"age": {"type": "number"}}}
        return Policy.from_dict(data | {"others": "drop", "publish": {"method": form}})
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number"},
        "job": {"role": "quasi"},
        "town": {"role": "quasi"},
        "disease": {"role": "sensitive", "l": l},
    }
    if form == "sloms":
        attributes |= {"insurer": {"role": "sensitive", "l": 2}, "town": {"role": "plain"}}
    if form == "randomized-addition":  # values are too rare here for more
        more.setdefault("options", {"claim": "set-size"})
    data = {"version": 1, "attributes": attributes, "others": "drop", "accept": ["set-size"]}
    data["publish"] = {"method": form, **({"suppress": 0.9} if form in ("sloms", "msb") else {}), **more}
    return Policy.from_dict(data | ({"k": 2} if form == "sloms" else {}))


def released(table: pl.DataFrame, form: str, l: int, key: int = 1, **more: Any) -> Publication:
    return publish(table, policy(form, l, **more), key=Key(bytes([key] * 32)), attacks=False)


def with_others(attack: Attack, release: Release, others: Sequence[Release], table: pl.DataFrame) -> Result:
    """What an attack gets of diseases by means of other releases."""
    results = attack.run(release, table, Options(others=tuple(others)))
    return next(result for result in results if result.attribute == "disease")


def beyond(result: Result, l: int) -> bool:
    """Whether fewer than l values remain of somebody. That breaks no promise: they are about a release alone."""
    assert (result.promised, result.breach) == (None, False)
    return result.worst is not None and result.worst > 1 / l


def dealt(table: pl.DataFrame, l: int, seed: int) -> np.ndarray:
    """Groups from 1 of l or more rows, of different diseases where there are enough, numbered at random."""
    rng = np.random.default_rng(seed)
    groups = table.height // l
    shuffled = rng.permutation(table.height)
    order = shuffled[np.argsort(table["disease"].to_numpy()[shuffled], kind="stable")]
    group_of = np.empty(table.height, np.int64)
    group_of[order] = rng.permutation(groups)[np.arange(table.height) % groups] + 1
    return group_of


def dealt_multi(table: pl.DataFrame, l: int, seed: int) -> Release:
    sub = Sub(["age", "job", "town", "disease"], ["disease"], dealt(table, l, seed).tolist())
    return multi_release(table.to_dicts(), [sub, Sub(["insurer"])], [f"age, job, town -> disease : l={l}"])


def published(asked: Iterable[tuple[pl.DataFrame, Policy]]) -> Iterator[Published]:
    """Those tables that can be published, each under a key of its own."""
    for i, (table, how) in enumerate(asked):
        with suppress(Infeasible):
            yield Published(publish(table, how, key=Key(bytes([i] * 32)), attacks=False), table)


def breached(results: Iterable[Result]) -> list[str]:
    return [result.question for result in results if result.breach]


def check_quiet(attack: Attack, clean: Iterable[Published], least: int) -> None:
    """Something is promised and measured of each, and nothing is broken; there are at least so many."""
    made = 0
    for one in clean:
        results = attack.run(one.release, one.original, Options())
        assert any(result.promised is not None and result.worst is not None for result in results)
        assert not breached(results)
        made += 1
    assert made >= least
