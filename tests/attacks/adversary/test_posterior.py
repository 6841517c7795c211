"""What a release says of people, against an enumeration of all worlds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from oracles import worlds_of_bucketized
from oracles.posteriors import believed
from oracles.worlds_of_decomposed import MODES, Mode, Tiny, seen, seen_of
from oracles.worlds_of_subtables import beliefs as multi_beliefs
from oracles.worlds_of_subtables import worlds as multi_worlds
from pluralis.attacks.adversary import posterior as posteriors
from pluralis.attacks.adversary.candidate_rows import CLASS
from pluralis.attacks.adversary.group_guess import possible_worlds, weakest_in_worlds
from pluralis.attacks.adversary.group_values import SHARE, Domain, table_views
from pluralis.attacks.adversary.knowledge import Question, questions
from pluralis.attacks.adversary.posterior import VALUE, Posterior, Targets, weakest
from pluralis.attacks.adversary.published_values import published_values
from pluralis.attacks.base import Options
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release
from support.planted_releases import QUASI, SENSITIVE, by_hand, claim, covers, people_in_groups, tiny
from support.sample_tables import policy_of

EVERYBODY = Options()


def assert_as_in_all_worlds(release: Release, people: pl.DataFrame, question: Question) -> None:
    (view,) = table_views(release, QUASI)
    targets = Targets(view, people, EVERYBODY)
    posterior = targets.posterior(question)
    texts = {name: view.domain(name).texts.to_list() for name in SENSITIVE}
    for i, person in enumerate(people.iter_rows(named=True)):
        known = {name: person[name] for name in question.sensitive}
        rows = posterior.filter(pl.col(CLASS) == int(targets.class_of[i]))
        for name, value in known.items():
            rows = rows.filter(pl.col(name) == texts[name].index(value))
        shares = {texts[question.attribute][code]: share for code, share in rows.select(VALUE, SHARE).iter_rows()}
        expected = believed(release, lambda row, person=person: covers(row, person), question.attribute, known)
        assert shares == pytest.approx({value: float(share) for value, share in expected.items()})


@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "two slices"])
@pytest.mark.parametrize("seed", range(6))
def test_posteriors_are_those_of_all_worlds(kind: str, seed: int) -> None:
    people, groups, others = tiny(seed)
    if kind in ("sliced", "two slices"):  # each attribute is handed out on its own: fewer people, as many worlds
        people, groups, others = people.head(6), groups[:6], others[:6]
    for linked, known in product([True, False], [(), ("job",)]):
        second = others if kind == "two slices" else None
        release = by_hand(kind.replace("two slices", "sliced"), people, groups, linked=linked, second=second)
        assert_as_in_all_worlds(release, people, Question("disease", QUASI, known, None))


@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "two slices", "decomposition", "anatomy"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_and_groups_give_the_same_posterior(kind: str, seed: int) -> None:
    """What every row says by its group, and what groups hold, joined: one formula, for dense arrays and for tables."""
    people, groups, others = tiny(seed)
    if kind in ("decomposition", "anatomy"):
        people, _ = people_in_groups(np.random.default_rng(seed), 3, 20)
        roles: dict[str, dict[str, Any]] = {"age": {"role": "quasi", "type": "number"}, "zip": {"role": "quasi"}}
        roles |= {"disease": {"role": "sensitive", "l": 2}}
        roles |= {"job": {"role": "sensitive", "l": 2}} if kind == "decomposition" else {}
        policy = policy_of(roles, method=kind)
        release: Release = publish(people.select(list(roles)), policy, key=Key.test(), attacks=False)
    else:
        second = others if kind == "two slices" else None
        release = by_hand(kind.replace("two slices", "sliced"), people, groups, second=second)
    (view,) = table_views(release, QUASI)
    targets = Targets(view, people, EVERYBODY)
    by_groups = targets.posterior(Question("disease", QUASI, (), None))
    disease = next(values for values in published_values(release) if values.attribute == "disease")
    texts = view.domain("disease").texts
    for part in Posterior.by_groups(disease, QUASI).of_people(people, np.arange(people.height)):
        for person, by_rows in zip(part.targets, part.probability, strict=True):
            own = by_groups.filter(pl.col(CLASS) == int(targets.class_of[person]))
            expected = {str(texts[code]): share for code, share in own.select(VALUE, SHARE).iter_rows()}
            likely = {str(disease.values[int(code)]): by_rows[code] for code in np.flatnonzero(by_rows)}
            assert likely == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_the_weakest_group_is_the_highest_posterior_where_people_differ(seed: int) -> None:
    people, groups, _ = tiny(seed)
    people = people.head(6).with_columns(pl.int_range(0, pl.len(), dtype=pl.Int64).alias("age"))
    groups = [g % 3 for g in groups[: people.height]]
    for linked, known in product([True, False], [[], ["job"]]):
        release = by_hand("bucketized", people, groups, linked=linked)
        (view,) = table_views(release, QUASI)
        weakest_group = weakest(view, Question("disease", QUASI, tuple(known), None))
        assert weakest_group is not None
        all_people = list(people.iter_rows(named=True))
        # whoever is asked about has known values that are true; in another world of the group they may be others
        highest = worlds_of_bucketized.highest_posterior(all_people, release, covers, "disease", known)
        assert weakest_group.share == pytest.approx(highest)


@pytest.mark.parametrize("seed", range(8))
def test_tables_of_a_multi_release(seed: int) -> None:
    """One table that protects and one that shows; known are the quasi-identifiers of either."""
    people, groups, _ = tiny(seed)
    people = people.head(5)
    cards = list(people.iter_rows(named=True))
    release = multi_release(
        cards, [Sub(["age", "zip", "disease"], ["disease"], groups[:5])], ["age, zip -> disease : l=2"]
    )
    question = Question("disease", QUASI, (), None)
    view = next(view for view in table_views(release, QUASI) if "disease" in view.attributes)
    targets = Targets(view, people, EVERYBODY)
    posterior = targets.posterior(question)
    expected = multi_beliefs(list(multi_worlds(release)), QUASI, "disease")
    for i, person in enumerate(cards):
        rows = posterior.filter(pl.col(CLASS) == int(targets.class_of[i]))
        shares = {view.domain("disease").texts[code]: share for code, share in rows.select(VALUE, SHARE).iter_rows()}
        counter = expected[person["age"], person["zip"]]
        assert shares == pytest.approx({value: count / counter.total() for value, count in counter.items()})


def test_many_boxes_are_found_as_one_by_one() -> None:
    """More boxes than a word has bits, more codes than there are bins, sets with gaps."""
    rng = np.random.default_rng(5)
    people, _ = people_in_groups(rng, 2, 90)
    group_of = rng.permutation(people.height) // 3
    release = by_hand("generalized", people, group_of)
    (view,) = table_views(release, QUASI)
    targets = Targets(view, people, EVERYBODY)
    rows = list(release.tables["microdata"].iter_rows(named=True))
    expected = [sum(covers(row, person) for row in rows) for person in people.iter_rows(named=True)]
    assert targets.candidates.tolist() == expected
    few = Targets(view, people, Options(sample=50))
    assert few.sampled
    assert few.candidates.tolist() == [expected[row] for row in few.rows]


def test_values_are_compared_in_one_spelling() -> None:
    info = ColumnInfo(name="x", role="sensitive", type="text")
    domain = Domain.published([pl.Series(["Flu", "hiv"]), pl.Series([" flu"])], info, keep_case=False)
    assert domain.codes(pl.Series(["FLU", "hiv ", None, "gout"]), info).to_list() == [0, 1, -1, -1]
    number = ColumnInfo(name="x", role="sensitive", type="number")
    numbers = Domain.published([pl.Series(["8", "10.5"])], number, keep_case=False)
    assert numbers.codes(pl.Series([8.0, 10.5, 9.0]), number).to_list() == [1, 0, -1]


def decomposed(tiny: Tiny, mode: Mode) -> Release:
    """The tables of a tiny decomposed release with a manifest."""
    tables = tiny.tables(mode)
    domains = {
        name: {"name": name, "role": "sensitive", "type": "text", "attribute": name, "domain": sorted(set(column))}
        for name, column in zip(tiny.names, zip(*tiny.rows, strict=True), strict=True)
    }
    roles: dict[str, Any] = {"age": "quasi", "group": "group", "attribute": "attribute", "count": "count"}
    infos = []
    for table, rows in tables.items():
        columns = []
        for name, kind in rows.schema.items():
            role = roles.get(name, "value" if table == "values" else "sensitive")
            attribute = table.removeprefix("sensitive_") if name == "value" and role == "sensitive" else None
            exact: Any = True if role == "quasi" else None
            column_type: Any = "number" if kind.is_numeric() else "text"
            columns.append(ColumnInfo(name=name, role=role, type=column_type, attribute=attribute, exact=exact))
        infos.append(TableInfo(name=table, file=f"{table}.parquet", columns=tuple(columns)))
    parameters = {"l": dict.fromkeys(tiny.names, 2), "options": {}, "linked": True, "primary": "s0", "domains": domains}
    manifest = Manifest(
        method="by hand", variant="none", kind="decomposed", rows=len(tiny.rows), suppressed=0, claims=(), breaks=(),
        parameters=parameters, tables=tuple(infos),
    )  # fmt: skip
    return Release(manifest, tables)


def random_tiny(seed: int) -> Tiny:
    """Groups of two or three different primary values; sets hold what occurs and some more."""
    rng = np.random.default_rng(seed)
    groups = [rng.permutation(list("abc"))[: rng.integers(2, 4)].tolist() for _ in range(2)]
    rows = tuple((first, str(rng.choice(list("xyz")))) for group in groups for first in group)
    group_of = tuple(g for g, group in enumerate(groups, 1) for _ in group)
    sets = {}
    for g in (1, 2):
        members = [row for row, group in zip(rows, group_of, strict=True) if group == g]
        sets[g] = frozenset(r[0] for r in members), frozenset([*(r[1] for r in members), str(rng.choice(list("xyz")))])
    return Tiny(rows, group_of, sets)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_what_a_decomposed_release_leaves_possible(mode: Mode, seed: int) -> None:
    """The fewest candidates and the largest share that can be proved, over all worlds."""
    tiny = random_tiny(seed)
    release = decomposed(tiny, mode)
    for known in [(), (0,)] if mode == "joint" else [()]:
        places = seen(tiny, mode, known, 1) if mode == "joint" else seen_of(tiny, mode, 1)
        expected = max(float(max(place.share, Fraction(1, len(place.candidates)))) for place in places.values())
        weakest_group, _ = weakest_in_worlds(
            release, possible_worlds(release), Question("s1", ("age",), tuple(f"s{k}" for k in known), None)
        )
        assert weakest_group is not None
        if not known:
            assert weakest_group.share == pytest.approx(expected)
        else:  # or it is the joint table that says more, without groups
            tops = [Counter(r[1] for r in tiny.rows if r[0] == first) for first in "abc"]
            whole = max(max(top.values()) / top.total() for top in tops if top)
            assert weakest_group.share == pytest.approx(max(expected, whole))


def test_posteriors_of_sets() -> None:
    """Two people who are alike and one who is not: the mean of what their sets say."""
    people = pl.DataFrame({"age": [1, 1, *range(2, 40)], "x": [f"v{i % 4}" for i in range(40)]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "x": {"role": "sensitive", "l": 2}}
    release = publish(people, policy_of(attributes, method="randomized-addition"), key=Key.test(), attacks=False)
    (view,) = table_views(release, ["age"])
    targets = Targets(view, people, EVERYBODY)
    posterior = targets.posterior(Question("x", ("age",), (), None))
    rows = release.tables["microdata"]
    for i, age in enumerate(people["age"].to_list()):
        sets = rows.filter(pl.col("age") == age)["x"].cast(pl.List(pl.String)).to_list()
        expected = Counter(value for values in sets for value in values)
        entries = posterior.filter(pl.col(CLASS) == int(targets.class_of[i]))
        shares = {view.domain("x").texts[code]: share for code, share in entries.select(VALUE, SHARE).iter_rows()}
        assert shares == pytest.approx({value: count / expected.total() for value, count in expected.items()})


def test_what_is_promised_to_whom() -> None:
    """A claim against whoever knows more bounds whoever knows less, and not the other way round."""
    people, group_of = people_in_groups(np.random.default_rng(0), 3, 4)
    claims = [claim("disease", 3, "age"), claim("disease", 2, *QUASI, "job")]
    release = by_hand("bucketized", people, group_of, claims)
    alone = {(q.attribute, q.adversary): q.promised for q in questions(release, knowing_sensitive=False)}
    assert alone == {
        ("disease", QUASI): 0.5,  # by the claim against whoever knows the job too
        ("disease", ("age",)): 1 / 3,
        ("job", QUASI): None,
    }
    beside = {(q.attribute, q.adversary): q.promised for q in questions(release, knowing_sensitive=True)}
    assert beside == {("disease", (*QUASI, "job")): 0.5, ("job", (*QUASI, "disease")): None}


def test_fewer_people_where_each_may_be_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that cover nearly everybody: what was looked at is a sample, and says so."""
    rng = np.random.default_rng(2)
    people, _ = people_in_groups(rng, 3, 40)
    group_of, second = (rng.permutation(people.height) // 3 for _ in range(2))
    release = by_hand("sliced", people, group_of, second=second)
    (view,) = table_views(release, QUASI)
    question = Question("disease", QUASI, ("job",), None)
    everybody = Targets(view, people, EVERYBODY).guess(question)
    assert (everybody.targets, everybody.sampled) == (people.height, False)
    whole = Targets(view, people, EVERYBODY)
    monkeypatch.setattr(posteriors, "ALL_PAIRS", 300)
    some = Targets(view, people, EVERYBODY)
    assert some.sampled
    assert 0 < some.rows.size < people.height
    assert some.candidates.tolist() == whole.candidates[some.rows].tolist()
    fewer = whole.guess(question)
    assert fewer.sampled
    assert 0 < fewer.targets < people.height
