"""Knowledge of the algorithm: B4 on both variants, every original of tiny tables, and Anatomy, which draws."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random
from typing import Any

import polars as pl
import pytest

from pluralis.attacks import minimality
from pluralis.attacks.base import Options, Result
from pluralis.attacks.minimality import ATTACK, _form, _People, originals
from pluralis.errors import Infeasible
from pluralis.labels import read_interval
from pluralis.publish import publish
from pluralis.randomness import Key
from pluralis.release import Release, canonical_order
from tables import policy_of

AGES = [8, 12, 19, 21, 34, 36]


def policy(method: str, variant: str = "hardened", **more: Any) -> Any:
    attributes = {"age": {"role": "quasi", "type": "number"}, "ill": {"role": "sensitive", "l": 2}}
    return policy_of({**attributes, **more}, method=method, variant=variant)


def table(ages: list[int], values: str) -> pl.DataFrame:
    return pl.DataFrame({"age": ages, "ill": list(values)})


def run(release: Release, original: pl.DataFrame, seed: int = 0) -> Result:
    """As read from a folder: without the policy."""
    (result,) = ATTACK.run(Release(release.manifest, dict(release.tables)), original, Options(seed=seed))
    return result


# golden: B4 -----------------------------------------------------------------------------------------------------


def b4(variant: str) -> Release:
    """The classes that docs/methods/bsgi.md prints."""
    made = publish(table(AGES, "bbdaac"), policy("bsgi", variant), key=Key.test())
    rows = [("[8, 19]", "b", 1), ("[8, 19]", "d", 1), ("[21, 36]", "a", 2), ("[21, 36]", "c", 2)]
    rows += [("[12, 34]", "a", 3), ("[12, 34]", "b", 3)]
    printed = pl.DataFrame(rows, schema=["age", "ill", "group"], orient="row")
    return Release(made.manifest, {"microdata": canonical_order(printed)})


def test_b4_gives_all_six_away_on_the_default() -> None:
    """Only one of the eight originals can have made it; at 1/2 each somebody who weighs them equally stays."""
    (one,) = (
        values
        for values in {"".join(p) for p in permutations("aabbcd")}
        if {values[0], values[2]} == set("bd") and {values[3], values[5]} == set("ac")
        and {values[1], values[4]} == set("ab") and makes(b4("hardened"), values)
    )  # fmt: skip
    result = run(b4("hardened"), table(AGES, one))
    assert (result.targets, result.worst, result.success) == (6, 1.0, 1.0)
    assert result.above_chance
    assert (result.promised, result.breach) == (None, False)


def makes(release: Release, values: str) -> bool:
    """Whether some of 150 keys makes this release of these values."""
    return any(
        _form(publish(table(AGES, values), policy("bsgi"), key=Key(bytes([i] * 32)))) == _form(release)
        for i in range(150)
    )


def test_b4_on_the_papers_variant() -> None:
    """Never certain, but beyond 1/2."""
    original = table(AGES, "bbdaac")
    result = run(publish(original, policy("bsgi", "paper"), key=Key(bytes(32))), original)
    assert result.worst is not None
    assert 0.55 < result.worst < 0.75
    assert not result.breach


# every original -------------------------------------------------------------------------------------------------


def fitting(release: Release, ages: list[int]) -> set[tuple[str, ...]]:
    """All ways to hand the values out, person by person, so that labels cover."""
    rows = release.tables["microdata"].rows(named=True)
    found = set()
    for order in permutations(rows):
        ends = [read_interval(row["age"]) for row in order]
        if all(low <= age <= high for age, (low, high) in zip(ages, ends, strict=True)):
            found.add(tuple(row["ill"] for row in order))
    return found


def test_originals_are_all_that_fit() -> None:
    random = Random(1)
    for i in range(15):
        ages = [random.randint(1, 9) for _ in range(6)]
        original = table(ages, "".join(random.sample("aabbcc", 6)))
        release = publish(original, policy(["bsgi", "mondrian"][i % 2]), key=Key.test())
        found = originals(release, _People.of(release, original))
        assert {tuple(value for (value,) in secrets) for secrets in found} == fitting(release, ages)


def all_made(ages: list[int], values: str, method: str) -> dict[str, list[str]]:
    """Every release that a method without draws makes of some order of the values, and of which orders."""
    made: dict[str, list[str]] = {}
    for order in sorted(set(permutations(values))):
        try:
            release = publish(table(ages, "".join(order)), policy(method), key=Key.test())
        except Infeasible:
            continue
        made.setdefault(repr(_form(release)), []).append("".join(order))
    return made


def test_planted_minimality_is_found_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mondrian draws nothing: the posterior is that of all orders which make the same release."""
    monkeypatch.setattr(minimality, "KEYS", 1)
    monkeypatch.setattr(minimality, "HITS", 1)
    random, beyond, compared = Random(2), 0, 0
    while beyond < 50:
        ages = random.sample(range(1, 40), random.choice([5, 5, 6]))
        for orders in all_made(ages, "aabbc"[: len(ages)] + "d" * (len(ages) - 5), "mondrian").values():
            tops = [max(Counter(column).values()) / len(orders) for column in zip(*orders, strict=True)]
            if max(tops) <= 0.5 and compared > 10:
                continue
            original = table(ages, orders[0])
            result = run(publish(original, policy("mondrian"), key=Key.test()), original)
            assert result.worst == pytest.approx(max(tops))
            beyond += max(tops) > 0.5 + 1e-9
            compared += 1


# clean and refused ----------------------------------------------------------------------------------------------


def test_anatomy_draws_and_stays_at_one_half() -> None:
    random = Random(3)
    for i in range(6):
        original = table(random.sample(range(1, 40), 6), "aabbcd")
        result = run(publish(original, policy("anatomy"), key=Key(bytes([i] * 32))), original)
        assert result.worst is not None
        assert result.worst < 0.62  # 200 keys: 1/2 give or take some hundredths


def test_no_release_is_said_to_break_a_promise() -> None:
    random = Random(4)
    for i, method in enumerate(["bsgi", "mondrian", "incognito", "tp", "anatomy", "kaca", "msb"] * 3):
        original = table(random.sample(range(1, 40), 4), "aabb")
        try:
            release = publish(original, policy(method), key=Key(bytes([i] * 32)))
        except Infeasible:
            continue
        result = run(release, original)
        assert (result.promised, result.breach) == (None, False)
        assert result.targets in (0, 4)


def test_decomposed_releases() -> None:
    original = table([1, 2, 3, 4], "aabb").with_columns(pay=pl.Series(list("xyxy")))
    asked = policy("decomposition", pay={"role": "sensitive", "l": 2})
    release = publish(original, asked, key=Key.test())
    results = ATTACK.run(Release(release.manifest, dict(release.tables)), original, Options())
    assert [result.attribute for result in results] == ["ill", "pay"]
    for result in results:
        assert result.targets == 4, result.note
        assert result.worst is not None
        assert result.worst >= 0.5


def test_what_it_does_not_apply_to_is_said() -> None:
    original = table(list(range(10)), "aabbccddee")
    result = run(publish(original, policy("bsgi"), key=Key.test()), original)
    assert (result.targets, result.worst, result.low, result.high) == (0, None, 0.0, 1.0)
    assert result.note == "it weighs every original: up to 8 rows, and these are 10"
    gone = publish(original.head(6), policy_of(policy("bsgi").model_dump(exclude_defaults=True)["attributes"],
                                               method="bsgi", suppress=0.5), key=Key.test())  # fmt: skip
    result = run(Release(gone.manifest.model_copy(update={"suppressed": 1}), dict(gone.tables)), original.head(6))
    assert result.note == "it weighs every original, and some rows were left out"
