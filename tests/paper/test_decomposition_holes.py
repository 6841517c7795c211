"""Decomposition's own Table 6 and what it gives away (D1), and what of Table 1 can be published in its stead."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, product

import polars as pl
import pytest

from oracles.worlds_of_decomposed import MODES, Mode, Tiny, seen, seen_of, worlds
from pluralis.auditing.decomposed_worlds import Candidates, d_sa_diverse, judge, linked_d_sa_diverse
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.sample_tables import policy_of

TABLE_1 = {
    "Alice": ("nurse", "1"),
    "Betty": ("nurse", "4"),
    "Carl": ("police", "8"),
    "Diana": ("cook", "9"),
    "Ella": ("actor", "2"),
    "Finch": ("actor", "7"),
    "Gavin": ("clerk", "8"),
    "Helen": ("clerk", "2"),
}
GROUPS = (("Alice", "Ella", "Gavin", "Carl"), ("Betty", "Finch", "Diana", "Helen"))
TABLE_6 = Tiny(
    tuple(TABLE_1[name] for members in GROUPS for name in members),
    (1, 1, 1, 1, 2, 2, 2, 2),
    {
        1: (frozenset({"police", "nurse", "actor", "clerk"}), frozenset("1248")),
        2: (frozenset({"nurse", "actor", "cook", "clerk"}), frozenset("2479")),
    },
)
OCCUPATION, SALARY = 0, 1
ATTRIBUTES = {"s0": "occupation", "s1": "salary"}


def tables(tiny: Tiny, mode: Mode) -> dict[str, pl.DataFrame]:
    """Published as a release would be: named columns, salary a number."""
    out = {}
    for name, table in tiny.tables(mode).items():
        table = table.rename(ATTRIBUTES, strict=False)
        if name == "values":
            table = table.with_columns(pl.col("attribute").replace(ATTRIBUTES))
        if name == "sensitive":
            table = table.with_columns(pl.col("salary").cast(pl.Int64))
        for key, attribute in ATTRIBUTES.items():
            name = name.replace(key, attribute)
        out[name] = table
    return out


def judged(tiny: Tiny, mode: Mode, l: int = 4, knows: str | None = None) -> Candidates:
    known = frozenset({knows} if knows else ())
    return judge(tables(tiny, mode), "occupation", ["occupation", "salary"], [(known, "salary", l)])[0]


def test_table_6_admits_one_world():
    """Up to who in a group is who, which the adversary does not learn, everything is fixed."""
    contents = {(frozenset(world[:4]), frozenset(world[4:])) for world in worlds(TABLE_6, "joint")}
    first = {("police", "8"), ("nurse", "1"), ("actor", "2"), ("clerk", "8")}
    assert contents == {(frozenset(first), frozenset(TABLE_1.values()) - first)}


def test_table_6_is_refused():
    """The noise value 4 is no candidate; 8 is held by half of group 1, where a quarter was promised."""
    assert judged(TABLE_6, "joint") == Candidates(False, 3, 0.5, "group 1", None)
    group_1 = seen(TABLE_6, "joint", (), SALARY)[1, ()]
    assert group_1.candidates == {"1", "2", "8"}
    assert float(group_1.posterior) == 0.5
    # what it does promise truly: the primary
    primary = judge(tables(TABLE_6, "joint"), "occupation", ["occupation", "salary"], [(frozenset(), "occupation", 4)])
    assert primary == [Candidates(True, 4, 0.25, "group 1", None)]


def test_the_occupation_gives_the_salary_of_all_eight():
    assert judged(TABLE_6, "joint", l=2, knows="occupation") == Candidates(
        False, 1, 1.0, "group 1, occupation = actor", None
    )
    places = seen(TABLE_6, "joint", (OCCUPATION,), SALARY)
    people = zip(TABLE_6.group_of, TABLE_6.rows, strict=True)
    assert [len(places[group, (row[OCCUPATION],)].candidates) for group, row in people] == [1] * 8


def test_counts_alone_give_the_half_away_too():
    """8 stands in no other set, so both of its rows are in group 1; 4 is possible again. Without counts it is safe."""
    assert judged(TABLE_6, "marginals") == Candidates(False, 4, 0.5, "group 1", None)
    assert judged(TABLE_6, "none") == Candidates(True, 4, 0.0, "group 1", None)


def every_decomposition() -> list[Tiny]:
    """Table 1 in two groups with four occupations each, and every linkable noise that makes four salaries."""
    by_job = {job: [row for row in TABLE_1.values() if row[0] == job] for job in ("nurse", "actor", "clerk")}
    releases = []
    for picks in product((0, 1), repeat=3):
        groups = [[TABLE_1["Carl"]], [TABLE_1["Diana"]]]
        for rows, pick in zip(by_job.values(), picks, strict=True):
            groups[0].append(rows[pick])
            groups[1].append(rows[1 - pick])
        choices = []
        for group in groups:
            salaries = frozenset(salary for _, salary in group)
            linkable = {salary for job, salary in TABLE_1.values() if job in {job for job, _ in group}}
            choices.append(
                [salaries | set(noise) for noise in combinations(sorted(linkable - salaries), 4 - len(salaries))]
            )
        for first, second in product(*choices):
            jobs = [frozenset(job for job, _ in group) for group in groups]
            sets = {1: (jobs[0], frozenset(first)), 2: (jobs[1], frozenset(second))}
            releases.append(Tiny((*groups[0], *groups[1]), TABLE_6.group_of, sets))
    return releases


def test_what_of_table_1_can_be_published():
    """With counts, exactly where 2 and 8, which two rows hold, are in both sets: two groupings without noise, two with.

    Whoever knows the occupation is stopped by counts there, by a joint table nowhere.
    """
    releases = every_decomposition()
    assert len(releases) == 22
    good = [tiny for tiny in releases if all({"2", "8"} <= sets[SALARY] for sets in tiny.sets.values())]
    assert len(good) == 4
    for mode in ("joint", "marginals"):
        assert [tiny for tiny in releases if judged(tiny, mode).holds] == good
    assert [tiny for tiny in releases if judged(tiny, "marginals", knows="occupation").holds] == good
    assert not any(judged(tiny, "joint", l=2, knows="occupation").holds for tiny in releases)
    assert all(judged(tiny, "none").holds for tiny in releases)
    salaries = [[{row[SALARY] for row in tiny.rows[:4]}, {row[SALARY] for row in tiny.rows[4:]}] for tiny in good]
    noise = [8 - sum(map(len, both)) for both in salaries]
    assert sorted(noise) == [0, 0, 2, 2]


@pytest.mark.parametrize(("mode", "posterior"), [("joint", 0.375), ("marginals", 0.25), ("none", 0.25)])
def test_candidates_are_no_bound_on_posteriors(mode, posterior):
    """Four candidates, a quarter provable; yet with all worlds equally likely, a joint table gives 8 three eighths."""
    good = next(t for t in every_decomposition() if all({"2", "8"} <= sets[SALARY] for sets in t.sets.values()))
    places = seen(good, mode, (), SALARY) if mode == "joint" else seen_of(good, mode, SALARY)
    assert max(float(place.posterior) for place in places.values()) == posterior


def test_a_primary_value_twice_in_a_group_is_refused():
    """D4: {a, b, b, c, c} at l = 2 as the paper's residual rule leaves it, {c, b, b} and {a, c}."""
    tiny = Tiny(
        (("c",), ("b",), ("b",), ("a",), ("c",)), (1, 1, 1, 2, 2), {1: (frozenset("bc"),), 2: (frozenset("ac"),)}
    )
    for mode in MODES:
        (finding,) = judge(tiny.tables(mode), "s0", ["s0"], [(frozenset(), "s0", 2)])
        assert (finding.holds, finding.witness) == (False, "group 1")
        assert finding.note == "group 1 has 3 rows and 2 values of 's0': some value is held twice, or by nobody"


def test_theorem_1():
    """No group of Table 3 is 2-SA-2-diverse, nor of Table 6 in what is feasible; a full square of values is."""
    table_3 = pl.DataFrame(list(TABLE_1.values()), schema=["occupation", "salary"], orient="row")
    table_3 = table_3.with_columns(pl.Series("group", [1, 1, 1, 1, 2, 2, 2, 2]))
    twice = {"occupation": 2, "salary": 2}
    assert linked_d_sa_diverse(table_3, ["occupation", "salary"], twice) == 0.0
    assert d_sa_diverse(tables(TABLE_6, "joint"), "occupation", ["occupation", "salary"], twice) == 0.0
    square = pl.DataFrame(list(product("ab", "xy")), schema=["occupation", "salary"], orient="row")
    both = pl.concat(
        [square.with_columns(pl.lit(3).alias("group")), table_3.select("occupation", "salary", "group")],
        how="vertical_relaxed",
    )
    assert linked_d_sa_diverse(both, ["occupation", "salary"], twice) == pytest.approx(1 / 3)


def test_d2_a_joint_table_makes_a_guess_surer_and_the_release_says_how_sure():
    """b2 brings a1, b0 brings it twice of three times: 5/6 by all worlds, by the release's sentence and by attack.

    Two values remain possible, which is what is promised; counts for each attribute leave it at 1/2.
    """
    rows = (("b0", "a0"), ("b2", "a1"), ("b0", "a1"), ("b0", "a1"), ("b1", "a0"), ("b1", "a0"))
    table = pl.DataFrame({"q": range(6), "b": [b for b, _ in rows], "a": [a for _, a in rows]})
    sensitive = {name: {"role": "sensitive", "l": 2} for name in ("a", "b")}
    worst = {}
    for mode in ("auto", "marginals"):
        attributes = {"q": {"role": "quasi", "type": "number"}, **sensitive}
        policy = policy_of(attributes, method="decomposition", options={"primary": "b", "sensitive_table": mode})
        publication = publish(table, policy, key=Key.test(), attacks=True)
        (skewness,) = (sentence for sentence in publication.manifest.breaks if sentence.startswith("skewness: a set"))
        (skew,) = (one for one in publication.attacked if (one.attack, one.attribute) == ("skewness", "a"))
        worst[mode] = (int(re.search(r"with (\d+) %", skewness)[1]), round(skew.worst, 6))
    assert worst == {"auto": (83, 0.833333), "marginals": (50, 0.5)}
    tiny = Tiny(
        (("b0", "a0"), ("b2", "a1"), ("b0", "a1"), ("b1", "a0"), ("b0", "a1"), ("b1", "a0")),
        (1, 1, 2, 2, 3, 3),
        {1: (frozenset({"b0", "b2"}), frozenset({"a0", "a1"})),
         2: (frozenset({"b0", "b1"}), frozenset({"a0", "a1"})),
         3: (frozenset({"b0", "b1"}), frozenset({"a0", "a1"}))},
    )  # fmt: skip
    assert seen(tiny, "joint", (), 1)[1, ()].posterior == Fraction(5, 6)
    assert seen_of(tiny, "marginals", 1)[1, ()].posterior == Fraction(1, 2)
