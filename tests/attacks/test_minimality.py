"""Knowledge of the algorithm: golden, every original of tiny tables, drawn originals of larger ones, clean methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import attack, minimality
from pluralis.attacks.adversary.enumerated_originals import People, originals
from pluralis.attacks.adversary.sampled_originals import Dealt
from pluralis.attacks.base import Options, Result, interval
from pluralis.attacks.minimality import ATTACK, DOUBT, MOST, _Tried, attribute_posteriors
from pluralis.errors import Infeasible, InputError
from pluralis.method import method_for, methods
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release, canonical_order
from pluralis.table.encoding import encode
from pluralis.table.labels import read_interval
from support.effort import tries
from support.sample_tables import policy_of

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

MOVED = [(1, 0), (-3, 200)]  # ages times and plus: which row is nearest stays


def b4(variant: str, times: int = 1, plus: int = 0) -> tuple[Release, list[int]]:
    """The classes that docs/methods/bsgi.md prints, and the ages; moved, or mirrored."""
    ages = [times * age + plus for age in AGES]
    made = publish(table(ages, "bbdaac"), policy("bsgi", variant), key=Key.test(), attacks=False)
    rows = []
    for group, (one, other, values) in enumerate([(8, 19, "bd"), (21, 36, "ac"), (12, 34, "ab")], 1):
        low, high = sorted(times * age + plus for age in (one, other))
        rows += [(f"[{low}, {high}]", value, group) for value in values]
    printed = pl.DataFrame(rows, schema=["age", "ill", "group"], orient="row")
    return Release(made.manifest, {"microdata": canonical_order(printed)}), ages


@pytest.mark.parametrize(("times", "plus"), MOVED)
def test_b4_gives_all_six_away_on_the_default(times: int, plus: int) -> None:
    """Only one of the eight originals can have made it; at 1/2 each somebody who weighs them equally stays."""
    release, ages = b4("hardened", times, plus)
    result = run(release, table(ages, the_one(release, ages)))
    assert (result.targets, result.success) == (6, 1.0)
    assert result.worst is not None
    assert result.worst > 0.7  # 25 fit, so that each is tried with 240 keys
    assert result.above_chance
    assert (result.promised, result.breach) == (None, False)


def the_one(release: Release, ages: list[int]) -> str:
    """The only order of the values of which any of 150 keys makes this release."""
    keys = [Key(bytes([i] * 32)) for i in range(150)]
    (one,) = (
        values
        for values in {"".join(p) for p in permutations("aabbcd")}
        if {values[0], values[2]} == set("bd") and {values[3], values[5]} == set("ac")
        and {values[1], values[4]} == set("ab")
        and _Tried(release, policy("bsgi"), table(ages, values)).times(keys)
    )  # fmt: skip
    return one


def test_b4_on_the_papers_variant() -> None:
    """Never certain, but beyond 1/2."""
    original = table(AGES, "bbdaac")
    result = run(publish(original, policy("bsgi", "paper"), key=Key(bytes(32)), attacks=False), original)
    assert result.worst is not None
    assert 0.5 < result.worst < 0.75
    assert not result.breach


def test_people_who_left_their_group_for_its_diversity() -> None:
    """docs/methods/tp.md: of five who are 30 three were taken out, because they have what most of them have."""
    original = table([30] * 5 + [40] * 3, "aaaabcde")
    result = run(publish(original, policy("tp", "paper"), key=Key.test(), attacks=False), original)
    assert result.worst is not None
    assert result.worst > 0.6  # 4/5


# every original -------------------------------------------------------------------------------------------------


def fitting(release: Release, ages: list[int]) -> set[tuple[str, ...]]:
    """All ways to hand the values out, person by person, so that labels cover."""
    rows = release.tables["microdata"].rows(named=True)
    originals_seen = set()
    for order in permutations(rows):
        ends = [read_interval(row["age"]) for row in order]
        if all(low <= age <= high for age, (low, high) in zip(ages, ends, strict=True)):
            originals_seen.add(tuple(row["ill"] for row in order))
    return originals_seen


def test_originals_are_all_that_fit() -> None:
    random = Random(1)
    for i in range(15):
        ages = [random.randint(1, 9) for _ in range(6)]
        original = table(ages, "".join(random.sample("aabbcc", 6)))
        release = publish(original, policy(["bsgi", "mondrian"][i % 2]), key=Key.test(), attacks=False)
        enumerated = originals(release, People.from_original(release, original))
        assert {tuple(value for (value,) in values) for values in enumerated} == fitting(release, ages)


def all_made(ages: list[int], values: str) -> dict[Any, list[str]]:
    """Every release that mondrian, which draws nothing, makes of some order of the values, and of which orders."""
    made: dict[Any, list[str]] = {}
    asked = policy("mondrian")
    method = method_for(asked)
    for order in sorted(set(permutations(values))):
        encoded = encode(table(ages, "".join(order)), asked)
        try:
            plan = method.plan(encoded, asked, Draw(Key.test()))
        except Infeasible:
            continue
        groups: dict[int, list[tuple[int, int]]] = {}
        for group, age, ill in zip(plan.group_of, encoded["age"].codes, encoded["ill"].codes, strict=True):
            groups.setdefault(int(group), []).append((int(age), int(ill)))
        form = frozenset(
            (tuple(a for a, _ in members), tuple(sorted(v for _, v in members))) for members in groups.values()
        )
        made.setdefault(form, []).append("".join(order))
    return made


def posteriors(orders: list[str]) -> list[float]:
    """The highest posterior of each person, if these orders are all that make a release."""
    return [max(Counter(column).values()) / len(orders) for column in zip(*orders, strict=True)]


def test_planted_minimality_is_found_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mondrian draws nothing: the posterior is that of all orders which make the same release."""
    monkeypatch.setattr(minimality, "KEYS", 1)
    monkeypatch.setattr(minimality, "HITS", 1)
    random, beyond, compared = Random(2), 0, 0
    while beyond < tries(50):
        ages = random.sample(range(1, 40), 5)
        for orders in all_made(ages, random.choice(["aabbc", "aabcd"])).values():
            top = max(posteriors(orders))
            if top <= 0.5 and compared > 10:
                continue
            original = table(ages, orders[0])
            result = run(publish(original, policy("mondrian"), key=Key.test(), attacks=False), original)
            assert result.worst == pytest.approx(top)
            beyond += top > 0.5 + 1e-9
            compared += 1


# drawn originals ------------------------------------------------------------------------------------------------


def test_a_dealt_table_is_the_one_that_its_rows_encode_to() -> None:
    random = Random(5)
    for i in range(20):
        method = ["bsgi", "anatomy", "mondrian", "decomposition"][i % 4]
        original = table([random.randint(1, 9) for _ in range(12)], "".join(random.sample("aabbccddeeff", 12)))
        release = publish(original, policy(method), key=Key(bytes([i] * 32)), attacks=False)
        encoded = encode(original, policy(method))
        dealt = Dealt.from_release(release, encoded)
        codes = next(dealt.draws(np.random.default_rng(i)))
        ages = encoded["age"].published(np.arange(12))
        again = pl.DataFrame({"age": ages, "ill": encoded["ill"].series.gather(codes["ill"])})
        expected, actual = encode(again, policy(method)), dealt.tabled(codes)
        assert all((actual[name].codes == expected[name].codes).all() for name in ("age", "ill"))
        plan = method_for(policy(method)).plan(encoded, policy(method), Draw(Key(bytes([i] * 32))))
        assert dealt.made(plan, encoded).all()  # the key that made it makes it again


def blocks(random: Random, many: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Five people each, blocks far from each other; and what everybody's highest posterior is, by all orders.

    Mondrian cuts between blocks first, so that each is cut, or not, as if it were alone. Every other one is planted.
    """
    known = [(ages, [*all_made(ages, "aabcd").values()]) for ages in ([1, 2, 5, 8, 30], [4, 20, 21, 33, 35])]
    rows, highest = [], []
    for block in range(many):
        ages, every = random.choice(known)
        orders = random.choice([o for o in every if (max(posteriors(o)) > 0.5) == (block % 2 == 0)])
        rows += [(10_000 * block + age, value) for age, value in zip(ages, random.choice(orders), strict=True)]
        highest += posteriors(orders)
    return pl.DataFrame(rows, schema=["age", "ill"], orient="row"), np.array(highest)


def test_planted_groups_of_larger_tables_are_found() -> None:
    """Estimates are those of all orders; exactly people whose posterior is beyond 1/2 are found to be."""
    random, above = Random(6), 0
    for _ in range(2):
        original, highest = blocks(random, 64)
        release = publish(original, policy("mondrian"), key=Key.test(), attacks=False)
        posterior = attribute_posteriors(release, original, 1)["ill"]
        times, top = posterior.times.sum(axis=1), posterior.times.max(axis=1)
        assert (times > 50).all()
        error = np.sqrt(highest * (1 - highest) / times) + 0.5 / times
        assert (np.abs(top / times - highest) < 5 * error).all()
        assert (posterior.sure[highest > 0.5] > 0.5).all()
        assert not (posterior.sure[highest <= 0.5] > 0.5).any()
        above += int((highest > 0.5).sum())
    assert above >= 50


def test_the_result_says_how_much_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimality, "DRAWS", 300)
    original, _ = blocks(Random(8), 4)
    release = publish(original, policy("mondrian"), key=Key.test(), attacks=False)
    result = run(release, original, 1)
    assert (result.targets, result.sampled) == (20, True)
    assert result.low < result.success < result.high
    assert str(result.note).startswith("300 originals drawn; ")
    assert result == run(release, original, 1)


def test_of_few_rows_drawn_originals_tell_what_all_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where labels do not overlap, people know their group anyway: the posteriors are the same."""
    monkeypatch.setattr(minimality, "DRAWS", 400)
    random, compared = Random(7), 0
    while compared < 8:
        ages = sorted(random.sample(range(1, 40), 5))
        orders = random.choice([*all_made(ages, random.choice(["aabbc", "aabcd"])).values()])
        original = table(ages, random.choice(orders))
        release = publish(original, policy("mondrian"), key=Key.test(), attacks=False)
        monkeypatch.setattr(minimality, "FEW", 8)
        monkeypatch.setattr(minimality, "HITS", 1)
        exact = attribute_posteriors(release, original, 1)["ill"]
        assert exact.exact
        monkeypatch.setattr(minimality, "FEW", 0)
        drawn = attribute_posteriors(release, original, 1)["ill"]
        times = drawn.times.sum(axis=1)
        assert (np.abs(drawn.times.max(axis=1) / times - exact.sure) < 5 * np.sqrt(0.25 / times) + 0.5 / times).all()
        assert (drawn.sure <= exact.sure + 1e-9).all()
        compared += 1


@pytest.mark.parametrize("rows", [12, 24])
def test_bsgi_tells_more_than_its_groups_and_anatomy_does_not(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What B4 says of picking by least loss, and of picking at random: on larger tables, too."""
    monkeypatch.setattr(minimality, "DRAWS", 500)
    random, beyond = Random(rows), Counter[str]()
    for i in range(2):
        original = table(random.sample(range(1, 10 * rows), rows), "".join(random.sample("abcd" * (rows // 4), rows)))
        for method, variant in (("bsgi", "hardened"), ("bsgi", "paper"), ("anatomy", "hardened")):
            release = publish(original, policy(method, variant), key=Key(bytes([i] * 32)), attacks=False)
            result = run(release, original)
            assert result.worst is not None
            beyond[f"{method} {variant}"] += result.worst > 0.5
    assert beyond["anatomy hardened"] == 0
    assert beyond["bsgi hardened"] >= 1
    assert beyond["bsgi paper"] >= 1


# clean and refused ----------------------------------------------------------------------------------------------

CLEAN = ("anatomy", "msb", "decomposition")  # they group by sensitive values alone


def clean(many: int, rows: list[int]) -> Iterator[tuple[Release, pl.DataFrame, int]]:
    """Releases of methods that do not look at quasi-identifiers, and l: no group holds a value in more than 1/l."""
    random = Random(many)
    for i in range(many):
        size = random.choice(rows)
        method, l = CLEAN[i % 3], 2 + (i % 4 == 0 and size > 8)
        values = random.sample([f"v{j % (l + 2)}" for j in range(size)], size)
        original = pl.DataFrame({"age": random.sample(range(1, 99), size), "ill": values})
        asked = policy(method, ill={"role": "sensitive", "l": l})
        yield publish(original, asked, key=Key(bytes([i] * 32)), attacks=False), original, l


def test_clean_releases_raise_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's value is beyond 1/l. There was enough to see it by: a certain value would have been seen to be."""
    monkeypatch.setattr(minimality, "HITS", 60)
    monkeypatch.setattr(minimality, "RUNS", 400)
    monkeypatch.setattr(minimality, "DRAWS", 200)
    looked, proven = Counter[str](), 0
    for release, original, l in [*clean(tries(60), [4]), *clean(tries(150), [9, 10, 12])]:
        posterior = attribute_posteriors(Release(release.manifest, dict(release.tables)), original, 0)["ill"]
        assert posterior.sure.max() <= 1 / l + 1e-9, (release.manifest.method, posterior.note)
        looked[f"{release.manifest.method}, {'drawn' if posterior.sampled else 'weighed'}"] += 1
        proven += interval(1.0, int(posterior.times.sum(axis=1).max()), DOUBT)[0] > 1 / l
    assert sum(looked.values()) >= tries(200)
    assert min(looked.values()) >= tries(20) - 1
    assert len(looked) == 6
    assert proven >= tries(180)


def test_no_release_is_said_to_break_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimality, "RUNS", 200)
    random = Random(4)
    for i, method in enumerate(["bsgi", "mondrian", "incognito", "tp", "anatomy", "kaca", "msb"] * 2):
        original = table(random.sample(range(1, 40), 4), "aabb")
        try:
            release = publish(original, policy(method), key=Key(bytes([i] * 32)), attacks=False)
        except Infeasible:
            continue
        result = run(release, original)
        assert (result.promised, result.breach) == (None, False)
        assert result.targets in (0, 4)


@pytest.mark.parametrize("rows", [4, 24])
@pytest.mark.parametrize("shown", ["joint", "marginals", "none"])
def test_decomposed_releases(rows: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimality, "DRAWS", 200)
    original = table(list(range(rows)), "aabb" * (rows // 4)).with_columns(pay=pl.Series(list("xyxy") * (rows // 4)))
    attributes = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("ill", "pay")}
    asked = policy_of(attributes, method="decomposition", options={"sensitive_table": shown})
    release = publish(original, asked, key=Key.test(), attacks=False)
    results = ATTACK.run(Release(release.manifest, dict(release.tables)), original, Options())
    assert [result.attribute for result in results] == ["ill", "pay"]
    for result in results:
        assert result.targets >= rows * 3 // 4, result.note  # a pair of 24 people is seldom made again
        assert result.worst is not None


def test_what_it_does_not_apply_to_is_said() -> None:
    original = table(list(range(10)), "aabbccddee")
    release = publish(original, policy("bsgi"), key=Key.test(), attacks=False)
    gone = Release(release.manifest.model_copy(update={"suppressed": 1}), dict(release.tables))
    result = run(gone, original)
    assert (result.targets, result.worst, result.low, result.high) == (0, None, 0.0, 1.0)
    assert result.note == "it weighs originals of all rows, and some rows were suppressed"
    large = table(list(range(MOST + 2)), "ab" * (MOST // 2 + 1))
    assert not ATTACK.applies(publish(large, policy("anatomy"), key=Key.test(), attacks=False))


AGES_AS = {
    "numbers in bins": ("breaks", lambda i: 20 + i % 30),
    "text in bins": ("breaks", lambda i: str(20 + i % 30)),
    "text with a mark of what is missing": ("missing", lambda i: "-9" if i % 7 == 0 else str(20 + i % 30)),
    "quantiles of text": ("bins", lambda i: str(20 + i % 30)),
}
KEYS_OF: dict[str, Any] = {
    "breaks": {"breaks": [30, 40]},
    "missing": {"breaks": [30, 40], "missing": ["", "-9"]},
    "bins": {"bins": {"quantiles": 4}},
}


@pytest.mark.parametrize("rows", [6, 60])
@pytest.mark.parametrize("case", AGES_AS)
def test_what_was_recoded_is_not_recoded_again(case: str, rows: int) -> None:
    """The true original of a folder is read as the policy read it, whatever its numbers are written as."""
    keys, age = AGES_AS[case]
    original = pl.DataFrame(
        {"age": [age(i) for i in range(rows)], "ill": [["a", "b", "c"][i % 3] for i in range(rows)]}
    )
    attributes = {"age": {"role": "quasi", "type": "number", **KEYS_OF[keys]}, "ill": {"role": "sensitive", "l": 2}}
    release = publish(original, policy_of(attributes, method="bsgi"), key=Key.test(), attacks=False)
    result = run(release, original)
    assert result.targets > 0, result.note
    assert result.judged
    plain = attack(release, original, only=["minimality"])
    assert [one.targets > 0 for one in plain] == [True]


@pytest.mark.parametrize("rows", [8, 60])
def test_a_value_in_the_place_of_what_is_missing_is_a_value(rows: int) -> None:
    ill = [None if i % 4 == 0 else ["a", "b", "c"][i % 3] for i in range(rows)]
    original = pl.DataFrame({"age": [20 + i % 30 for i in range(rows)], "ill": ill})
    sensitive = {"role": "sensitive", "l": 2, "if_missing": {"as": "unknown"}}
    attributes = {"age": {"role": "quasi", "type": "number"}, "ill": sensitive}
    release = publish(original, policy_of(attributes, method="bsgi"), key=Key.test(), attacks=False)
    assert run(release, original).targets > 0


def test_an_attack_that_cannot_read_the_original_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    original = table(list(range(10)), "aabbccddee")
    release = publish(original, policy("bsgi"), key=Key.test(), attacks=False)

    def refused(*_: object) -> list[Result]:
        raise InputError("'age' is not what it was. Give the table that was published.")

    monkeypatch.setattr(type(ATTACK), "run", refused)
    results = attack(release, original)
    assert {"homogeneity", "linkage", "minimality"} <= {one.attack for one in results}
    (result,) = [one for one in results if one.attack == "minimality"]
    assert (result.question, result.standing, result.judged) == ("not run", "not judged", False)
    assert result.note == "it could not be run: 'age' is not what it was. Give the table that was published."


@pytest.mark.parametrize("rows", [6, 20])
def test_a_folder_does_not_tell_which_rows_are_of_one_person(rows: int) -> None:
    original = table(list(range(rows)), "ab" * (rows // 2)).with_columns(patient_no=pl.int_range(rows) // 2)
    attributes = {
        "patient_no": {"role": "identifier"},
        "age": {"role": "quasi", "type": "number"},
        "ill": {"role": "sensitive", "l": 2},
    }
    asked = policy_of(attributes, person="patient_no", method="bsgi")
    release = publish(original, asked, key=Key.test(), attacks=False)
    assert release.manifest.parameters.persons is True
    assert "patient_no" not in release.manifest.to_json()
    result = run(release, original)
    assert (result.targets, result.worst) == (0, None)
    assert result.note == "the manifest does not tell which rows are of one person"
    (own,) = ATTACK.run(release, original, Options())  # whoever published it has the policy
    assert own.targets == rows
    alone = publish(original, policy("bsgi", patient_no={"role": "identifier"}), key=Key.test(), attacks=False)
    assert not alone.manifest.parameters.persons


@pytest.mark.parametrize("method", ["mondrian", "incognito"])
def test_methods_that_are_said_to_draw_nothing_do_not(method: str) -> None:
    """They are given nothing to draw from."""
    original = table([3, 5, 9, 11, 20, 31, 32, 40], "aabbccdd")
    chosen = method_for(policy(method))
    assert not chosen.draws
    assert chosen.plan(encode(original, policy(method)), policy(method), cast(Draw, None)).suppressed == 0


def test_what_is_counted_over_keys_is_never_said_to_be_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under one key every original makes the release always or never, also where the method draws."""
    monkeypatch.setattr(minimality, "KEYS", 1)
    monkeypatch.setattr(minimality, "RUNS", 1)
    original = table(AGES, "bbdaac")
    for method, exact in (("bsgi", False), ("mondrian", True)):
        release = publish(original, policy(method), key=Key.test(), attacks=False)
        assert attribute_posteriors(release, original, 1)["ill"].exact is exact


def test_all_other_methods_are_taken_to_draw() -> None:
    assert {name for name, one in methods().items() if not one.draws} == {"mondrian", "incognito"}
