"""gd, uad, single-attribute and multi-sa as a publisher meets them: rules in, audited tables out, or a refusal."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.true_breaks import CASES
from pluralis.auditing import audit
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import Infeasible, PolicyError
from pluralis.estimate.analyst_release import read_release
from pluralis.method import methods
from pluralis.method.multi_sa import NODES, PROGRAMS, Stock
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from support.sample_tables import KEY

FAMILY = ("gd", "uad", "single-attribute", "multi-sa")


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return hospital_discharges(rows=1_500)


def policy(*rules: str, method: str = "uad", **more: Any) -> Policy:
    publishing = {key: more.pop(key) for key in ("options", "suppress", "variant") if key in more}
    return Policy.from_dict(
        {"version": 1, "rules": list(rules), "others": "drop", "publish": {"method": method, **publishing}, **more}
    )


def published(people: pl.DataFrame, rules: Policy) -> Publication:
    release = publish(people, rules, key=Key.test())
    verdict = audit(release, original=people, allow_test=True)
    assert verdict.holds, verdict.failures
    return release


def shows(release: Publication) -> list[set[str]]:
    """The attributes of each subtable, protected ones in capitals."""
    shown: dict[str, set[str]] = {}
    for info in release.manifest.tables:
        names = shown.setdefault(info.name.split("_")[0], set())
        names |= {c.name.upper() if c.role == "sensitive" else c.name for c in info.columns if c.attribute}
    return sorted(shown.values(), key=sorted)


def test_37_rules_that_go_in_circles_are_kept_and_said(people: pl.DataFrame) -> None:
    circle = ("age, diagnosis -> insurer : l=2", "age, insurer -> diagnosis : l=3")
    assert any("Rules go in circles" in note for note in published(people, policy(*circle, method="gd")).notes)
    assert not any("circles" in note for note in published(people, policy(circle[0], method="gd")).notes)


# what is published ------------------------------------------------------------------------------------------------

RULES = ("age, diagnosis -> zipcode : l=4", "gender, hospital -> diagnosis : l=3", "zipcode, insurer -> age : l=5")


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute"])
def test_rules_over_any_attributes_are_kept_together(method: str, people: pl.DataFrame) -> None:
    release = published(people, policy(*RULES, method=method))
    assert {claim.rule for claim in release.manifest.claims} == {
        "P(zipcode | age, diagnosis) ≤ 1/4",
        "P(diagnosis | gender, hospital) ≤ 1/3",
        "P(age | insurer, zipcode) ≤ 1/5",
    }
    assert release.manifest.parameters.l == {"age": 5, "diagnosis": 3, "zipcode": 4}
    assert {name.lower() for table in shows(release) for name in table} == {
        "age", "diagnosis", "gender", "hospital", "insurer", "zipcode"
    }  # fmt: skip


@pytest.mark.parametrize("anonymizer", ["anatomy", "msb", "bsgi", "mondrian", "tp"])
def test_a_subtable_may_be_protected_by_any_method_for_one_rule(anonymizer: str, people: pl.DataFrame) -> None:
    rules = policy("age, gender -> diagnosis : l=3", options={"anonymizer": anonymizer})
    release = published(people, rules)
    assert ("t1_quasi" in release.tables) == (anonymizer in ("anatomy", "msb"))


def test_a_release_of_several_tables_can_be_saved_and_read_back(people: pl.DataFrame, tmp_path: Any) -> None:
    for form in ("parquet", "csv"):
        release = publish(people, policy(*RULES, method="gd"), key=KEY)
        assert release.save(tmp_path / form, format=form).holds  # type: ignore[arg-type]
        again = read_release(tmp_path / form)
        assert all(table.equals(again.tables[name]) for name, table in release.tables.items())


def test_roles_are_shorthand_for_rules(people: pl.DataFrame) -> None:
    attributes = {"age": {"role": "quasi"}, "gender": {"role": "quasi"}, "diagnosis": {"role": "sensitive", "l": 3}}
    by_role = publish(people, policy(attributes=attributes), key=Key.test())
    by_rule = publish(people, policy("age, gender -> diagnosis : l=3"), key=Key.test())
    assert by_role.manifest == by_rule.manifest
    assert all(table.equals(by_rule.tables[name]) for name, table in by_role.tables.items())


def test_a_rule_that_another_implies_changes_nothing(people: pl.DataFrame) -> None:
    one = publish(people, policy("age, gender -> diagnosis : l=3"), key=Key.test())
    two = publish(people, policy("age -> diagnosis : l=2", "age, gender -> diagnosis : l=3"), key=Key.test())
    assert one.manifest == two.manifest


def test_every_rule_has_its_own_l(people: pl.DataFrame) -> None:
    rules = policy("gender -> diagnosis : l=5", "age, hospital -> diagnosis : l=2")
    release = published(people, rules)
    assert {claim.l for claim in release.manifest.claims} == {2, 5}


def test_who_knows_both_left_sides_is_kept_out_where_the_policy_names_them(people: pl.DataFrame) -> None:
    """V3 of docs/methods/uad.md."""
    rules = ("age -> diagnosis : l=3", "zipcode -> diagnosis : l=3")
    together = {"knows": ["age", "zipcode"]}
    release = published(people, policy(*rules, adversaries=[together], method="gd"))
    assert "P(diagnosis | age, zipcode) ≤ 1/3" in {claim.rule for claim in release.manifest.claims}


# dependencies -----------------------------------------------------------------------------------------------------


def test_what_the_table_ties_together_is_published_together(people: pl.DataFrame) -> None:
    """zipcode decides county: groups are diverse in counties, and so in zipcodes."""
    for method in ("gd", "uad"):
        release = published(people, policy("age, gender -> county : l=3", "age -> zipcode : l=2", method=method))
        assert release.manifest.parameters.dependencies == ("zipcode -> county",)
        assert {"COUNTY", "ZIPCODE"} <= shows(release)[0]
        assert "P(zipcode | age, gender) ≤ 1/3" in {claim.rule for claim in release.manifest.claims}
        assert any("zipcode decides county" in note for note in release.notes)


def test_a_coincidence_ties_nothing(people: pl.DataFrame) -> None:
    rules = policy("age, gender -> county : l=3", "age -> zipcode : l=2", coincidences=["zipcode -> county"])
    assert not published(people, rules).manifest.parameters.dependencies


@pytest.mark.parametrize("rule", ["age, zipcode -> county : l=2", "county -> zipcode : l=2"])
def test_a_rule_that_a_dependency_opens_is_refused(rule: str, people: pl.DataFrame) -> None:
    with pytest.raises(Infeasible, match=r"cannot be kept.*`coincidences`"):
        publish(people, policy(rule), key=Key.test())


def test_a_declared_dependency_that_opens_a_rule_is_refused_before_any_table() -> None:
    with pytest.raises(PolicyError, match="cannot be kept: dependencies say"):
        policy("age, zipcode -> county : l=2", dependencies=["zipcode -> county"])


@pytest.mark.parametrize("method", ["multi-sa", "anatomy", "bsgi"])
def test_a_method_of_one_table_refuses_a_known_dependency_and_tells_of_a_found_one(
    method: str, people: pl.DataFrame
) -> None:
    """Beside each other in a row, one of the two tells of the other."""
    attributes = {"zipcode": {"role": "quasi"}}
    with pytest.raises(Infeasible, match="`zipcode -> county` is known"):
        publish(
            people,
            policy("age -> county : l=3", attributes=attributes, dependencies=["zipcode -> county"], method=method),
            key=Key.test(),
        )
    release = publish(people, policy("age -> county : l=3", attributes=attributes, method=method), key=Key.test())
    assert any("zipcode decides county in this table. Whoever knows that" in note for note in release.notes)


def test_images_that_do_not_follow_from_each_other_need_msb() -> None:
    rng = np.random.default_rng(3)
    place = rng.integers(0, 60, 900)
    people = pl.DataFrame(
        {
            "place": [f"p{i}" for i in place],
            "north": [f"n{i % 6}" for i in place],
            "coast": [f"c{i // 10}" for i in place],
            "age": rng.integers(20, 30, 900),
        }
    )
    rules, place_too = ("age -> north : l=2", "age -> coast : l=2"), {"place": {"role": "plain"}}
    with pytest.raises(Infeasible, match="set anonymizer: msb"):
        publish(people, policy(*rules, attributes=place_too), key=Key.test())
    published(people, policy(*rules, attributes=place_too, options={"anonymizer": "msb"}))


# refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FAMILY)
def test_a_rule_that_its_column_alone_breaks_is_refused(method: str, people: pl.DataFrame) -> None:
    """No grouping helps against whoever guesses the commonest value of the whole column."""
    with pytest.raises(Infeasible, match=r"'gender' cannot be 2-diverse: 'F' fills .* do not publish it"):
        publish(people, policy("age, zipcode -> gender : l=2", method=method), key=Key.test())


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute"])
def test_a_policy_without_rules_is_refused(method: str, people: pl.DataFrame) -> None:
    with pytest.raises(Infeasible, match=r"the policy has none. Write rules, such as"):
        publish(people, policy(method=method, attributes={"age": {"role": "quasi"}}), key=Key.test())


def test_rows_may_be_left_out_of_all_tables(people: pl.DataFrame) -> None:
    release = published(people, policy("age, zipcode -> gender : l=2", method="gd", suppress=0.3))
    assert 0 < release.manifest.suppressed < 450
    assert {table.height for name, table in release.tables.items() if not name.endswith("sensitive")} == {
        1_500 - release.manifest.suppressed
    }


def test_a_secret_that_nobody_is_kept_from_is_refused(people: pl.DataFrame) -> None:
    rules = ("hospital -> zipcode : l=2", "zipcode -> hospital : l=2")
    with pytest.raises(Infeasible, match="l of 'diagnosis' protects it from nobody"):
        publish(people, policy(*rules, attributes={"diagnosis": {"role": "sensitive", "l": 4}}), key=Key.test())


def test_models_that_no_table_of_several_keeps_are_refused(people: pl.DataFrame) -> None:
    attributes = {"diagnosis": {"model": "unique-distinct"}}
    with pytest.raises(Infeasible, match="keeps model: frequency, distinct or entropy, not unique-distinct"):
        publish(people, policy("age -> diagnosis : l=3", attributes=attributes), key=Key.test())


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute"])
def test_bins_and_a_column_called_count(method: str, people: pl.DataFrame) -> None:
    attributes = {"charges": {"type": "number", "bin": 5000}}
    published(
        people,
        policy("age, charges -> diagnosis : l=3", "gender -> charges : l=3", method=method, attributes=attributes),
    )
    called = people.rename({"diagnosis": "count"})
    with pytest.raises(PolicyError, match="has a column 'count' of its own"):
        publish(called, policy("age -> count : l=3", method=method), key=Key.test())


@pytest.mark.parametrize("anonymizer", ["bsgi", "mondrian", "tp"])
def test_what_is_widened_in_one_table_is_also_shown_alone_and_breaks_are_told(
    anonymizer: str, people: pl.DataFrame
) -> None:
    rules = ("age, gender -> diagnosis : l=3", "insurer -> zipcode : l=3")
    release = published(people, policy(*rules, options={"anonymizer": anonymizer}))
    starts = tuple(CASES)  # true of some releases only: here all columns are text, and no model is distinct
    always = {sentence for sentence in methods()[anonymizer].breaks if not sentence.startswith(starts)}
    assert always
    assert always <= set(release.manifest.breaks)
    assert not any(item.startswith(("tight intervals", "homogeneity under")) for item in release.manifest.breaks)


def test_k_and_missing_secrets_are_refused(people: pl.DataFrame) -> None:
    with pytest.raises(Infeasible, match="as they are, so that k: 3 cannot be promised"):
        publish(people, policy(*RULES, k=3), key=Key.test())
    gaps = people.with_columns(zipcode=pl.when(pl.col("age") > 90).then(None).otherwise(pl.col("zipcode")))
    rules = policy(
        "age, gender -> county : l=3", attributes={"zipcode": {"role": "quasi"}}, dependencies=["zipcode -> county"]
    )
    with pytest.raises(Infeasible, match="'zipcode' has to be protected, and is missing in"):
        publish(gaps, rules, key=Key.test())


# multi-sa ---------------------------------------------------------------------------------------------------------

GRID = np.array([[a, b] for a in range(3) for b in range(3)], np.int32)


def test_groups_of_multi_sa_are_the_smallest_and_the_largest() -> None:
    left = np.array([5, 4, 1, 4, 4, 1, 0, 0, 1])
    stock = Stock(GRID, left, np.array([2, 2]))
    for group in (stock.grid(0), stock.smallest(0)):
        assert group is not None
        assert group.sum() == 4  # two values of each attribute, in all combinations
        assert group[0] == 1
    most = stock.largest()
    assert most is not None
    assert most.sum() == max(int(x.sum()) for x in good_groups(left))


@pytest.mark.parametrize("shape", [(4,), (4, 5), (3, 4, 5)])
def test_grids_of_multi_sa_are_as_small_as_what_the_program_finds(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    values = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1).astype(np.int32)
    grids = larger = 0
    for _ in range(30):
        ls = rng.integers(2, 4, len(shape))
        stock = Stock(values, rng.integers(0, 4, len(values)) * (rng.random(len(values)) < 0.8), ls)
        vector = int(stock.possible().argmax())
        if not stock.left.any():
            continue
        grid, solved = stock.grid(vector), stock.smallest(vector)
        for group in (grid, solved):
            assert group is None or (stock.is_good(group) and (group <= stock.left).all() and group[vector])
        if grid is not None:
            assert solved is not None
            assert grid.sum() == solved.sum() == ls.prod()
            grids += 1
        elif solved is not None:
            assert solved.sum() >= ls.prod()
            larger += solved.sum() > ls.prod()
    assert grids > 3
    assert larger or len(shape) != 2  # the program finds groups that are no grids


def test_vectors_that_multi_sa_drops_are_in_no_group() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        left = rng.integers(0, 2, 9)
        stock = Stock(GRID, left, np.array([2, 2]))
        used = np.any(good_groups(left), axis=0)
        assert not (used & (stock.possible() == 0)).any()


def test_programs_of_multi_sa_say_what_a_good_group_is() -> None:
    """With y(r) = x(·, r), the rows of the program hold exactly for good groups."""
    left = np.array([2, 2, 1, 2, 1, 1, 1, 0, 1])
    stock = Stock(GRID, left, np.array([2, 2]))
    there = np.flatnonzero(left)
    constraint, rests = stock._diverse(there)
    assert constraint.A.nnz <= 4 * 2 * there.size  # and not a row of all values for each
    good = {tuple(x) for x in good_groups(left)}
    sums = np.concatenate([np.eye(3)[GRID[:, 1]], np.eye(3)[GRID[:, 0]]], axis=1)  # attribute 0 varies, then 1
    assert rests == 6
    for x in np.stack(np.meshgrid(*[np.arange(n + 1) for n in left], indexing="ij"), axis=-1).reshape(-1, 9)[::5]:
        sides = constraint.A @ np.concatenate([x[there], x @ sums])
        holds = bool((sides <= constraint.ub).all() and (sides >= constraint.lb).all())
        assert holds == (tuple(x) in good) == stock.is_good(x)


THREE = ("age, gender -> diagnosis : l=3", "race -> insurer : l=2", "hospital -> admission : l=2")


def test_multi_sa_counts_its_programs_and_never_looks_at_the_clock(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    module = importlib.import_module("pluralis.method.multi_sa")
    solve = module.milp

    def counted(*arguments: Any, **how: Any) -> Any:
        asked.append(dict(how["options"]))
        return solve(*arguments, **how)

    monkeypatch.setattr(module, "milp", counted)
    with pytest.raises(Infeasible, match=r"rows fit no group.*lower l, or use method: gd or uad"):
        publish(people, policy(*THREE, method="multi-sa"), key=Key.test())
    assert 0 < len(asked) <= PROGRAMS
    assert all(options == {"node_limit": NODES, "mip_rel_gap": 0.01} for options in asked)
    limited = policy(*THREE, method="multi-sa", suppress=0.9)
    most = publish(people, limited, key=Key.test()).manifest.suppressed
    monkeypatch.setattr(module, "PROGRAMS", 0)
    asked.clear()
    assert published(people, limited).manifest.suppressed >= most  # what needs a program is left out
    assert not asked


def test_multi_sa_refuses_too_many_combinations(monkeypatch: pytest.MonkeyPatch, people: pl.DataFrame) -> None:
    monkeypatch.setattr(importlib.import_module("pluralis.method.multi_sa"), "VECTORS", 50)
    with pytest.raises(Infeasible, match=r"combinations of values; multi-sa takes at most 50\. .*take gd or uad"):
        publish(people, policy(*THREE, method="multi-sa"), key=Key.test())


def good_groups(left: np.ndarray) -> list[np.ndarray]:
    """Every group in which each value fills at most half of the rows that agree in the other attribute."""
    places = np.stack(np.meshgrid(*[np.arange(n + 1) for n in left], indexing="ij"), axis=-1).reshape(-1, left.size)
    grids = places.reshape(-1, 3, 3)
    good = (2 * grids <= grids.sum(axis=1, keepdims=True)).all(axis=(1, 2))
    good &= (2 * grids <= grids.sum(axis=2, keepdims=True)).all(axis=(1, 2))
    return list(places[good])


@pytest.mark.parametrize("variant", ["hardened", "paper"])
def test_multi_sa_keeps_rules_against_whoever_knows_the_other_secrets(variant: str, people: pl.DataFrame) -> None:
    rules = policy(
        "age, insurer -> admission : l=2", "gender, admission -> insurer : l=2", method="multi-sa", variant=variant,
        suppress=0.5,
    )  # fmt: skip
    release = publish(people, rules, key=Key.test())
    values = release.tables["sensitive"]
    for one, other in (("admission", "insurer"), ("insurer", "admission")):
        shares = values.with_columns(share=pl.col("count") / pl.col("count").sum().over("group", other))
        assert shares["share"].max() <= 0.5  # type: ignore[operator]
        assert values[one].n_unique() > 2
