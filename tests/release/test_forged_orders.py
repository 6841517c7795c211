"""Ordered attributes and recodings, one fault at a time: what a forger could say of an order is refused."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl
import pytest

from pluralis.errors import InputError
from pluralis.publishing.pipeline import publish
from pluralis.release.columns import ColumnInfo
from pluralis.release.parameter_form import parameter_problems
from pluralis.release.recodings import Recoding
from support.manifests import manifest
from support.sample_tables import KEY, policy_of
from support.small_releases import SmallRelease, bucketized, generalized, multi, unlinked

BINS = ["<18", "[18, 65)", ">=65"]
NOT_OF_TOWN = "microdata: the domain of 'town' is not that of its cells."


def ordered(cells: list[str | None], domain: list[str | None] | None, **more: Any) -> SmallRelease:
    """A generalized release whose quasi-identifier `town` is ordered."""
    release = generalized()
    release.drop_column("microdata", "town")
    fields = {"ordered": True, **more} | ({} if domain is None else {"domain": domain})
    columns = release.info("microdata")["columns"]
    frame = release.tables["microdata"]
    release.add_column("microdata", "town", cells, "quasi", **fields)
    columns.insert(1, columns.pop())
    release.tables["microdata"] = release.tables["microdata"].select("age", "town", *frame.columns[1:])
    return release


SOUND = ["low \u2026 mid", "low \u2026 mid", "high", "high"]
LOW_TO_HIGH = ["low", "mid", "high"]


@pytest.mark.parametrize(
    ("cells", "domain", "fits"),
    [
        (SOUND, LOW_TO_HIGH, True),
        (["<65", "<65", ">=65", ">=65"], BINS, True),
        (["*", "*", "high", "high"], LOW_TO_HIGH, True),
        (["low", "low", None, None], ["low", None], True),
        (SOUND, ["low", "mid"], False),
        (SOUND, [*LOW_TO_HIGH, "top"], False),
        (["low \u2026 mid", "low \u2026 mid", "top", "top"], [*LOW_TO_HIGH, "top"], False),  # nobody is high
        (SOUND, ["mid", "low", "high"], False),
        (["mid \u2026 low", "mid \u2026 low", "high", "high"], LOW_TO_HIGH, False),
        (["{low, mid}", "{low, mid}", "high", "high"], LOW_TO_HIGH, False),
        (["<60", "<60", ">=65", ">=65"], BINS, False),
        (["[0, 65)", "[0, 65)", ">=65", ">=65"], BINS, False),
        (["<18 \u2026 [18, 65)", "<18 \u2026 [18, 65)", ">=65", ">=65"], BINS, False),  # another spelling
        (["low", "low", None, None], ["low"], False),
    ],
)
def test_labels_are_intervals_of_the_order(
    cells: list[str | None], domain: list[str | None], fits: bool, tmp_path: Path
) -> None:
    problems = ordered(cells, domain).problems(tmp_path / "release")
    assert bool(problems) != fits
    assert all("town" in problem or "in their order" in problem for problem in problems)


@pytest.mark.parametrize(
    ("domain", "more"),
    [
        (["low", "low", "mid", "high"], {}),
        (["low", None, "mid", "high"], {}),
        (None, {}),
        (LOW_TO_HIGH, {"hierarchy": [["low", "*"], ["mid", "*"], ["high", "*"]]}),
    ],
)
def test_what_is_ordered_lists_each_value_once(domain: list[str | None] | None, more: Any, tmp_path: Path) -> None:
    problems = ordered(SOUND, domain, **more).problems(tmp_path / "release")
    assert any("'town' is said to be ordered, and is no text with each value listed once" in p for p in problems)


def test_numbers_and_groups_are_not_ordered(tmp_path: Path) -> None:
    for name in ("age", "group"):
        release = generalized()
        release.column("microdata", name).update(ordered=True)
        assert release.problems(tmp_path / name)


def test_the_flag_is_true_or_not_there(tmp_path: Path) -> None:
    for i, flag in enumerate((False, 1, "yes")):
        release = ordered(SOUND, LOW_TO_HIGH)
        release.column("microdata", "town").update(ordered=flag)
        assert release.problems(tmp_path / str(i))


def protected(domain: list[str], cells: list[str]) -> SmallRelease:
    """A bucketized release whose protected attribute is ordered."""
    release = bucketized()
    release.cells("sensitive", "disease", cells, ordered=True, domain=domain)
    return release


def test_protected_bands_that_overlap_are_refused(tmp_path: Path) -> None:
    sound = protected(["0-9", "10-19", "20+"], ["0-9", "10-19", "0-9", "20+"])
    assert sound.problems(tmp_path / "sound") == []
    forged = protected(["0-9", "5-19", "20+"], ["0-9", "5-19", "0-9", "20+"])
    assert forged.problems(tmp_path / "forged") == ["disease: '0-9' and '5-19' overlap, and count as two."]


def apart(domain: list[str], values: list[str]) -> SmallRelease:
    """The same where each attribute is listed on its own, and the manifest alone describes it."""
    release = unlinked()
    first, second, third, fourth = values
    release.cells("sensitive", "value", [first, second, "1", "2", third, fourth, "3", "4"])
    release.parameters["domains"]["disease"]["domain"] = domain
    described = release.parameters["domains"]["disease"]
    order = ("name", "role", "type", "attribute", "ordered", "domain")
    described["ordered"] = True
    release.parameters["domains"]["disease"] = {key: described[key] for key in order}
    return release


def test_protected_bands_that_overlap_are_refused_where_no_column_holds_them(tmp_path: Path) -> None:
    sound = apart(["0-9", "10-19", "20+"], ["0-9", "10-19", "0-9", "20+"])
    assert sound.problems(tmp_path / "sound") == []
    forged = apart(["0-9", "5-19", "20+"], ["0-9", "5-19", "0-9", "20+"])
    problems = forged.problems(tmp_path / "forged")
    assert any("overlap" in problem for problem in problems)


def test_values_that_were_said_to_be_joined_are_counted_where_no_column_holds_them(tmp_path: Path) -> None:
    release = unlinked()
    release.say(recodings={"disease": {"rare": {"below": 2, "into": "other"}}})
    wrong = "parameters: rare values of 'disease' are said to be joined, and it has one of fewer rows."
    assert release.problems(tmp_path / "forged") == [wrong]
    release.cells("sensitive", "value", ["flu", "hiv", "1", "2", "flu", "hiv", "3", "4"])
    release.parameters["domains"]["disease"]["domain"] = ["flu", "hiv"]
    assert release.problems(tmp_path / "sound") == []


@pytest.mark.parametrize("said", [{"role": "quasi"}, {"exact": True}, {"role": "plain"}])
def test_what_is_listed_on_its_own_is_described_as_what_it_is(said: dict[str, Any], tmp_path: Path) -> None:
    release = unlinked()
    described = {**release.parameters["domains"]["disease"], **said}
    order = ("name", "role", "type", "attribute", "exact", "domain")
    release.parameters["domains"]["disease"] = {key: described[key] for key in order if key in described}
    assert release.problems(tmp_path / "release") == ["the domain of 'disease' is not that of its values."]


BANDS = ["<18", "18-64", "65+"]


@pytest.mark.parametrize(
    "domain",
    [
        ["65+", "<18", "18-64"],
        ["65+", "18-64", "<18"],
        ["<18", "65+", "18-64"],
        ["<65", "18-64", "65+"],
        ["<1 year", "5-9 years", "1-4 years"],
        ["unknown", "65+", "18-64"],
    ],
)
def test_bands_stand_in_order_and_do_not_overlap(domain: list[str], tmp_path: Path) -> None:
    sound = ordered(["<=64", "<=64", "65+", "65+"], BANDS)
    assert sound.problems(tmp_path / "sound") == []
    forged = ordered(["*"] * 4, domain)
    (problem,) = forged.problems(tmp_path / "forged")
    assert "do not stand in order, or overlap" in problem
    people = pl.DataFrame({"town": domain * 4, "ill": list("abc") * 4})
    policy = {"town": {"role": "quasi", "order": domain}, "ill": {"role": "sensitive", "l": 2}}
    with pytest.raises(InputError, match="overlap, or do not stand in order"):
        publish(people, policy_of(policy), key=KEY)


@pytest.mark.parametrize("domain", [["2", "1", "3"], ["0-10", "10-20", "20-30"], ["9 years", "1-2 days", "3 weeks"]])
def test_codes_and_bands_of_several_units_stand_as_they_are_listed(domain: list[str], tmp_path: Path) -> None:
    release = ordered(["*"] * 4, domain)
    assert release.problems(tmp_path / "release") == []


def test_lists_that_agree_two_by_two_may_have_no_order_together() -> None:
    columns = [
        ColumnInfo(name="town", role="quasi", type="text", exact=True, ordered=True, domain=domain)
        for domain in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    described = manifest("multi", {f"t{i}": [column] for i, column in enumerate(columns, 1)}, rows=2)
    problems = [problem for problem in parameter_problems(described) if "different orders" in problem]
    assert problems == ["parameters: the values of 'town' stand in different orders."]
    two = manifest("multi", {f"t{i}": [column] for i, column in enumerate(columns[:2], 1)}, rows=2)
    assert not [problem for problem in parameter_problems(two) if "town" in problem]


def test_long_orders_of_several_tables_are_compared_in_no_more_time_than_they_are_long() -> None:
    values = tuple(f"v{i:06}" for i in range(20_000))
    column = ColumnInfo(name="town", role="quasi", type="text", exact=True, ordered=True, domain=values)
    described = manifest("multi", {f"t{i}": [column] for i in range(1, 4)}, rows=20_000)
    start = perf_counter()
    assert not [problem for problem in parameter_problems(described) if "town" in problem]
    assert perf_counter() - start < 10  # a set of all for each value would be a minute


def with_breaks(breaks: Any, domain: list[str] | None = None, name: str = "town") -> SmallRelease:
    release = ordered(["<65", "<65", ">=65", ">=65"], domain or BINS)
    release.say(recodings={name: {"breaks": breaks}})
    return release


def test_breaks_make_the_bins_that_are_published(tmp_path: Path) -> None:
    assert with_breaks([18, 65]).problems(tmp_path / "release") == []
    assert with_breaks([18, 65, 90], ["<18", "[18, 65)", "[65, 90)"]).problems(tmp_path / "other") != []


@pytest.mark.parametrize(
    "breaks",
    [[65, 18], [18, 18, 65], [], [18, "65"], [18, 66], [18.0, 65], [18, 40, 65], [18, 1e300], None, "18",
     [*range(2000)]],
)  # fmt: skip
def test_other_breaks_are_refused(breaks: Any, tmp_path: Path) -> None:
    assert with_breaks(breaks).problems(tmp_path / "release")


def test_breaks_of_what_is_not_ordered_are_refused(tmp_path: Path) -> None:
    release = with_breaks([18, 65])
    del release.column("microdata", "town")["ordered"]
    assert release.problems(tmp_path / "flag")
    assert with_breaks([18, 65], name="work").problems(tmp_path / "name")
    assert with_breaks([18, 65], name="nobody").problems(tmp_path / "nobody")
    release = with_breaks([18, 65])
    release.say(recodings={"town": {}})
    assert release.problems(tmp_path / "nothing")
    release.say(recodings={"town": {"breaks": [18, 65], "note": "hello"}})
    assert release.problems(tmp_path / "more")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"top": 90}, "cuts off numbers of an attribute that has none"),
        ({"bottom": 1}, "cuts off numbers of an attribute that has none"),
        ({"rare": {"below": 2, "into": "other"}}, "joins values that stand in order"),
        ({"numbers": True}, "numbers are published as text, and they are not"),
        ({"missing": ["?", "?"]}, "has a mark twice"),
    ],
)
def test_breaks_stand_beside_no_other_recoding_but_missing_marks(
    more: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    release = with_breaks([18, 65])
    release.say(recodings={"town": {"missing": ["?"], "breaks": [18, 65]}})
    assert release.problems(tmp_path / "sound") == []
    recoding = {"breaks": [18, 65], **more}
    release.say(recodings={"town": {key: recoding[key] for key in Recoding.model_fields if key in recoding}})
    assert any(fault in problem for problem in release.problems(tmp_path / "forged"))


def test_joined_values_have_no_order(tmp_path: Path) -> None:
    release = ordered(SOUND, LOW_TO_HIGH)
    release.say(recodings={"town": {"rare": {"below": 2, "into": "mid"}}})
    assert any("joins values that stand in order" in problem for problem in release.problems(tmp_path / "release"))


def test_numbers_with_an_order_of_their_own_are_no_leaves_of_a_file(tmp_path: Path) -> None:
    release = ordered(["1 \u2026 2", "1 \u2026 2", "3", "3"], ["1", "2", "3"])
    release.say(recodings={"town": {"numbers": True}})
    assert any("and they are not" in problem for problem in release.problems(tmp_path / "release"))


def test_one_attribute_has_one_order_in_all_tables(tmp_path: Path) -> None:
    release = multi()
    holders = [(info["name"], c["name"]) for info in release.manifest["tables"] for c in info["columns"]
               if c["role"] in ("quasi", "sensitive") and c["type"] == "text"]  # fmt: skip
    shared = next((name for _, name in holders if sum(name == other for _, other in holders) > 1), None)
    assert shared is not None
    for table, name in holders:
        if name == shared:
            cells = release.tables[table][name].str.replace(r"^\{f, m\}$", "f \u2026 m").to_list()
            release.cells(table, name, cells, ordered=True)
    assert release.problems(tmp_path / "sound") == []
    table = next(table for table, name in holders if name == shared)
    release.column(table, shared)["domain"].reverse()
    assert any("stand in different orders" in problem for problem in release.problems(tmp_path / "turned"))
    release.column(table, shared)["domain"].reverse()
    del release.column(table, shared)["ordered"]
    assert any("ordered in one place and not in another" in problem for problem in release.problems(tmp_path / "half"))
