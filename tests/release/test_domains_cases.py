"""Domains and spellings, one fault at a time: tiny folders in which a cell, a domain or a spelling is another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.release.domains import told_apart
from pluralis.release.reading import inspect_folder
from support.small_releases import KINDS, TREE, Cases, Change, SmallRelease

case = Cases()

NOT_OF_WARD = "quasi: the domain of 'ward' is not that of its cells."
NOT_OF_AGE = "microdata: the domain of 'age' is not that of its cells."
NOT_OF_TOWN = "microdata: the domain of 'town' is not that of its cells."
NOT_OF_WORK = "microdata: the domain of 'work' is not that of its cells."
NOT_DRAWN = "microdata: the domain of {!r} is not the values that its sets were drawn from."
NOT_OF_VALUES = "the domain of {!r} is not that of its values."


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed_is_sound_before(kind: str, tmp_path: Path) -> None:
    assert KINDS[kind]().problems(tmp_path / "release") == []


# values as they are -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "domain", "fits"),
    [
        (["a", "b", "a", None], ["a", "b", None], True),
        (["a", "b", "a", "b"], ["a", "b"], True),
        (["a", "b", "a", None], ["a", "b"], False),
        (["a", "b", "a", "b"], ["a", "b", None], False),
        (["a", "b", "a", None], [None, "a", "b"], False),
        (["a", "b", "a", None], ["a", None, "b"], False),
        (["a", "b", "a", None], ["a", "b", "b", None], False),
        (["a", "b", "a", None], ["a", "c", None], False),
        (["a", "b", "a", None], ["a", None], False),
        (["a", "b", "a", None], None, False),
        ([1, 5, 3, 3], [1, 5], True),
        ([1, 5, 3, None], [1, 5], True),
        ([1, 5, 3, 3], [1, 4], False),
        ([1, 5, 3, 3], [2, 5], False),
        ([1, 5, 3, 3], [1.0, 5.0], False),
        ([1, 5, 3, 3], [], False),
        ([1.5, 5.0, 3.0, 3.0], [1.5, 5.0], True),
        ([1.5, 5.0, 3.0, 3.0], [1.5, 6.0], False),
    ],
)
def test_a_domain_is_that_of_the_cells(cells: list[Any], domain: list[Any] | None, fits: bool, tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.drop_column("quasi", "ward")
    release.add_column("quasi", "ward", cells, "plain", **({} if domain is None else {"domain": domain}))
    assert release.problems(tmp_path / "release") == ([] if fits else [NOT_OF_WARD])


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
@pytest.mark.parametrize(("domain", "messages"), [([], []), ([1, 1], [NOT_OF_WARD])])
def test_a_column_without_numbers_has_none_in_its_domain(
    kind: type[pl.DataType], domain: list[int], messages: list[str], tmp_path: Path
) -> None:
    release = KINDS["bucketized"]()
    frame = release.tables["quasi"].with_columns(pl.Series("ward", [None] * 4, kind))
    release.tables["quasi"] = frame
    release.column("quasi", "ward").update(type="number", domain=domain)
    assert release.problems(tmp_path / "release") == messages


# labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "domain", "fits"),
    [
        (["[20, 30]", "[40, 50]"], [20, 50], True),
        (["*", "*"], [20, 50], True),
        (["[20, 30]", "*"], [20, 50], True),
        (["[10, 20]", "[50, 60]"], [20, 50], True),  # wider than what is there
        (["30", "30"], [30, 30], True),
        (["[20, 50]", None], [20, 50], True),
        ([None, None], [], True),
        (["30", "30"], [], False),
        (["[20, 50]", "[51, 60]"], [20, 50], False),  # nothing of the domain is in it
        (["[20, 50]", "[10, 19]"], [20, 50], False),
        (["[20, 30]", "[30, 40]"], [20, 50], False),  # one end is nowhere
        (["[30, 40]", "[40, 50]"], [20, 50], False),
        (["[20, 50]", "[20, 50]"], [50, 20], False),
        (["[20, 50]", "[20, 50]"], [20, 30, 50], False),
        (["20", "20"], [20], False),
    ],
)
def test_intervals_cover_their_domain(labels: list[str | None], domain: list[int], fits: bool, tmp_path: Path) -> None:
    release = KINDS["generalized"]()
    one, two = labels
    cells = pl.Series("age", [one, one, two, two], pl.String)
    release.tables["microdata"] = release.tables["microdata"].with_columns(cells)
    release.column("microdata", "age")["domain"] = domain
    assert release.problems(tmp_path / "release") == ([] if fits else [NOT_OF_AGE])


TOWNS = ["a", "b", "c, d", "null", None]


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        (["{a, b}", '{"c, d", "null", null}'], True),
        (["*", "*"], True),
        (["{a, b}", "*"], True),
        (["{a, null}", '{b, "c, d", "null"}'], True),
        (['{a, b, "c, d"}', '{"null", null}'], True),
        (["{b, a}", '{"c, d", "null", null}'], False),  # not in the order of the domain
        (["{a, a}", "*"], False),
        (["{a, b}", '{"null", "c, d", null}'], False),
        (["{a, x}", "*"], False),  # not of the domain
        (["x", "*"], False),
        (['{a, "x, y"}', "*"], False),
        (["{a, b}", '{"c, d", null}'], False),  # something of the domain is nowhere
        (["{a, b}", "{a, b}"], False),
        ([None, '{a, b, "c, d", "null"}'], True),
    ],
)
def test_sets_cover_their_domain(labels: list[str | None], fits: bool, tmp_path: Path) -> None:
    release = KINDS["generalized"]()
    one, two = labels
    cells = pl.Series("town", [one, one, two, two], pl.String)
    release.tables["microdata"] = release.tables["microdata"].with_columns(cells)
    release.column("microdata", "town")["domain"] = TOWNS
    assert release.problems(tmp_path / "release") == ([] if fits else [NOT_OF_TOWN])


@case("generalized", NOT_OF_TOWN)
def a_missing_value_that_the_domain_does_not_have(release: SmallRelease) -> None:
    release.cells("microdata", "town", ["{x, y}", "{x, y, z}", None, None])


@case("generalized", NOT_OF_TOWN)
def a_set_of_a_missing_value_that_the_domain_does_not_have(release: SmallRelease) -> None:
    release.cells("microdata", "town", ["{x, null}", "{x, null}", "*", "*"])


@case("generalized", NOT_OF_TOWN)
def a_value_that_is_written_like_a_missing_one(release: SmallRelease) -> None:
    release.cells("microdata", "town", ["{x, null}", "{x, null}", "*", "*"], domain=["x", "null"])


@case("generalized", "microdata: The set '{x, y' is not closed.")
def a_set_that_is_none(release: SmallRelease) -> None:
    release.cells("microdata", "town", ["{x, y", "{x, y", "*", "*"])


@case("generalized")
def leaves_of_a_hierarchy(release: SmallRelease) -> None:
    release.cells("microdata", "work", ["cook", "cook", "nurse", "nurse"], domain=["cook", "nurse"])


@case("generalized")
def the_root_of_a_hierarchy(release: SmallRelease) -> None:
    release.cells("microdata", "work", ["*", "*", "*", "*"])


@case("generalized", NOT_OF_WORK)
def a_node_that_covers_nothing_of_the_domain(release: SmallRelease) -> None:
    release.cells("microdata", "work", ["doctor", "doctor", "*", "*"])


@case("generalized", NOT_OF_WORK)
def nodes_that_do_not_cover_the_domain(release: SmallRelease) -> None:
    release.cells("microdata", "work", ["kitchen", "kitchen", "kitchen", "kitchen"])


@case("generalized", NOT_OF_TOWN, "microdata: 'work' holds 'pilot', which is not in its hierarchy.")
def a_node_that_is_not_in_the_hierarchy(release: SmallRelease) -> None:
    release.column("microdata", "town")["domain"] = ["x"]
    release.cells("microdata", "work", ["pilot", "pilot", "*", "*"])


@case("generalized", NOT_OF_WORK)
def a_domain_that_the_hierarchy_does_not_have(release: SmallRelease) -> None:
    release.column("microdata", "work").update(domain=["cook", "baker", "pilot", "nurse"], hierarchy=TREE)


# sets of candidates -----------------------------------------------------------------------------------------------


@case("candidates", NOT_DRAWN.format("disease"))
def sets_of_a_larger_domain(release: SmallRelease) -> None:
    release.column("microdata", "disease")["domain"] = ["flu", "gout", "hiv", "tbc"]


@case("candidates", NOT_DRAWN.format("stay"))
def sets_of_a_larger_domain_of_numbers(release: SmallRelease) -> None:
    release.column("microdata", "stay")["domain"] = [1, 5]


@case("candidates", NOT_DRAWN.format("stay"))
def sets_of_a_domain_in_full(release: SmallRelease) -> None:
    release.column("microdata", "stay")["domain"] = [1, 2, 4]


@case("candidates", NOT_DRAWN.format("disease"))
def sets_that_were_drawn_from_nothing(release: SmallRelease) -> None:
    release.parameters["addition"]["disease"]["values"] = []
    release.column("microdata", "disease")["domain"] = []


@case("candidates", NOT_DRAWN.format("stay"))
def sets_of_which_nothing_is_said(release: SmallRelease) -> None:
    del release.parameters["addition"]["stay"]


# values beside the name of their attribute ------------------------------------------------------------------------


@case("bucketized", "parameters: 'disease' has a domain, and no table tells of it.")
def a_domain_that_stands_with_its_column_already(release: SmallRelease) -> None:
    release.say(domains={"disease": KINDS["unlinked"]().parameters["domains"]["disease"]})


@case("unlinked")
def a_domain_that_is_not_said(release: SmallRelease) -> None:
    del release.parameters["domains"]["disease"]


@case("unlinked")
def no_domain_that_is_said(release: SmallRelease) -> None:
    release.say(domains=None)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "ward"},
        {"attribute": "ward"},
        {"sets": True},
        {"domain": ["flu", "gout"]},
        {"domain": ["flu", "gout", "hiv", "tbc"]},
        {"domain": ["flu", "gout", "tbc"]},
        {"type": "number"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["unlinked", "decomposed"])
def test_the_domain_of_values_is_that_of_its_attribute(kind: str, change: dict[str, Any], tmp_path: Path) -> None:
    release = KINDS[kind]()
    order = ("name", "role", "type", "attribute", "sets", "domain")
    described = {**release.parameters["domains"]["disease"], **change}
    release.parameters["domains"]["disease"] = {key: described[key] for key in order if key in described}
    expected = [NOT_OF_VALUES.format("disease")]
    if "type" in change:
        expected.insert(0, "disease: a number is not written as releases write them.")
    assert release.problems(tmp_path / "release") == expected


@case("unlinked", NOT_OF_VALUES.format("stay"))
def the_domain_of_numbers_is_larger(release: SmallRelease) -> None:
    release.parameters["domains"]["stay"]["domain"] = [1, 5]


@case("unlinked", "stay: a number is not written as releases write them.", NOT_OF_VALUES.format("stay"))
def a_word_among_numbers(release: SmallRelease) -> None:
    release.cells("sensitive", "value", ["flu", "hiv", "1", "2", "flu", "gout", "3", "many"])


# spelling ---------------------------------------------------------------------------------------------------------

FLU = ["FLU", "flu", "gout", "hiv"]
ONE_VALUE = "disease: 'FLU' and 'flu' are one value, or overlap, and count as two."
BLANKS = "disease: a value has blanks or invisible characters that releases do not have."


def spelled(release: SmallRelease, texts: list[str]) -> None:
    """Four values of disease, wherever it stands as text in a column of its own."""
    for info in release.manifest["tables"]:
        for column in info["columns"]:
            if column["name"] == "disease":
                release.cells(info["name"], "disease", texts, domain=sorted({*texts}))


@case("generalized", ONE_VALUE)
@case("bucketized", ONE_VALUE)
@case("sliced", ONE_VALUE)
@case("multi", ONE_VALUE)
def two_spellings_of_a_secret(release: SmallRelease) -> None:
    spelled(release, FLU)


@case("bucketized")
def two_spellings_that_are_said_to_differ(release: SmallRelease) -> None:
    spelled(release, FLU)
    release.say(case=["disease"])


@case("bucketized", ONE_VALUE)
def two_spellings_where_those_of_another_secret_differ(release: SmallRelease) -> None:
    spelled(release, FLU)
    release.say(case=["stay"])


@case("bucketized")
def capitals(release: SmallRelease) -> None:
    spelled(release, ["Flu", "HIV", "gout", "gout"])


@case("bucketized", "disease: 'asthma' and '\u0430sthma' are one value, or overlap, and count as two.")
def a_secret_in_letters_of_another_alphabet(release: SmallRelease) -> None:
    spelled(release, ["asthma", "\u0430sthma", "gout", "hiv"])


@case("bucketized", "disease: '[0, 10]' and '[5, 15]' are one value, or overlap, and count as two.")
def intervals_of_a_secret_that_overlap(release: SmallRelease) -> None:
    spelled(release, ["[0, 10]", "[5, 15]", "[16, 20]", "[16, 20]"])


@pytest.mark.parametrize("texts", [["asthma", "\u0430sthma"], ["[0, 10]", "[5, 15]"], ["FLU", "flu"]])
@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "multi"])
def test_a_secret_that_does_not_say_its_attribute_is_spelled_in_one_way_too(
    kind: str, texts: list[str], tmp_path: Path
) -> None:
    release = KINDS[kind]()
    spelled(release, texts * 2)
    for info in release.manifest["tables"]:
        for column in info["columns"]:
            if column["name"] == "disease":
                del column["attribute"]
    assert release.problems(tmp_path / "release") != []


@case("bucketized", BLANKS)
def a_blank_before_a_secret(release: SmallRelease) -> None:
    spelled(release, [" flu", "gout", "hiv", "hiv"])


@case("bucketized")
def two_spellings_of_what_is_not_protected(release: SmallRelease) -> None:
    release.cells("quasi", "ward", ["A", "a", "a", "a"], domain=["A", "a"])
    release.cells("quasi", "sex", ["F", "f", "m", "m"], domain=["F", "f", "m"])


@case("multi", ONE_VALUE)
def two_spellings_of_a_secret_that_is_shown(release: SmallRelease) -> None:
    release.add_column("t1", "disease", FLU, "quasi", exact=True, domain=FLU)


@case("multi")
def labels_of_a_secret(release: SmallRelease) -> None:
    labels = ["{flu, gout}", "{flu, hiv}", "*", "*"]
    release.add_column("t3", "disease", labels, "quasi", domain=["flu", "gout", "hiv"])


@case("multi")
def labels_of_a_secret_that_overlap(release: SmallRelease) -> None:
    spelled(release, ["5", "7", "9", "9"])
    labels = ["{5, 7}", "{7, 9}", "*", "*"]
    release.add_column("t3", "disease", labels, "quasi", domain=["5", "7", "9"])


SETS = [["FLU", "flu"], ["FLU", "gout"], ["FLU", "flu"], ["flu", "gout"]]


def spelled_sets(release: SmallRelease) -> None:
    values = ["FLU", "flu", "gout"]
    cells = pl.Series("disease", SETS, pl.List(pl.Enum(values)))
    release.tables["microdata"] = release.tables["microdata"].with_columns(cells)
    release.column("microdata", "disease")["domain"] = values
    release.parameters["addition"]["disease"]["values"] = values


@case("candidates", ONE_VALUE)
def two_spellings_in_sets(release: SmallRelease) -> None:
    spelled_sets(release)


PAIRS = ["FLU", "flu", "1", "2", "FLU", "gout", "3", "4"]


def spelled_apart(release: SmallRelease, table: str, values: list[str]) -> None:
    release.cells(table, "value", values)
    disease = sorted(value for value in {*values} if not value[0].isdigit())
    release.parameters["domains"]["disease"]["domain"] = disease


@case("decomposed", ONE_VALUE)
def two_spellings_in_totals(release: SmallRelease) -> None:
    release.cells("sensitive_disease", "value", ["FLU", "flu", "hiv"], domain=["FLU", "flu", "hiv"])


@case("unlinked", ONE_VALUE)
def two_spellings_beside_the_name_of_their_attribute(release: SmallRelease) -> None:
    spelled_apart(release, "sensitive", PAIRS)


@case("unlinked")
def two_spellings_beside_their_attribute_that_are_said_to_differ(release: SmallRelease) -> None:
    spelled_apart(release, "sensitive", PAIRS)
    release.say(case=["disease"])


@case("unlinked", BLANKS)
def a_blank_before_a_value(release: SmallRelease) -> None:
    spelled_apart(release, "sensitive", [" flu", "hiv", "1", "2", " flu", "gout", "3", "4"])


NOT_WRITTEN = "stay: a number is not written as releases write them."


def stays(release: SmallRelease, *texts: str) -> None:
    one, two, three, four = texts
    release.cells("sensitive", "value", ["flu", "hiv", one, two, "flu", "gout", three, four])


@case("unlinked", NOT_WRITTEN)
def a_whole_number_with_a_point(release: SmallRelease) -> None:
    stays(release, "1.0", "2", "3", "4")


@case("unlinked", NOT_WRITTEN)
def a_number_with_a_zero_before_it(release: SmallRelease) -> None:
    stays(release, "01", "2", "3", "4")


@case("unlinked")
def numbers_with_fractions(release: SmallRelease) -> None:
    stays(release, "1.5", "2", "3", "4.25")
    release.parameters["domains"]["stay"]["domain"] = [1.5, 4.25]


@case("decomposed")
def numbers_of_many_digits_that_only_their_total_says_to_be_numbers(release: SmallRelease) -> None:
    whole = 2**53 + 1
    del release.parameters["domains"]["stay"]
    release.cells("values", "value", ["flu", "hiv", "1", "2", "flu", "gout", "3", str(whole)])
    totals_of_stay(release, [1, 2, 3, whole])


@case("decomposed", NOT_WRITTEN)
def a_number_that_only_its_total_says_to_be_one(release: SmallRelease) -> None:
    del release.parameters["domains"]["stay"]
    release.cells("values", "value", ["flu", "hiv", "1", "2", "flu", "gout", "3", "4.0"])
    totals_of_stay(release, [1, 2, 3, 4])


@case("decomposed")
def text_beside_totals_of_numbers(release: SmallRelease) -> None:
    del release.parameters["domains"]["disease"]
    totals_of_stay(release, [1, 2, 3, 4])


def totals_of_stay(release: SmallRelease, stays: list[int]) -> None:
    release.manifest["tables"].append({"name": "sensitive_stay", "file": "sensitive_stay.parquet", "columns": []})
    release.tables["sensitive_stay"] = pl.DataFrame()
    domain = [min(stays), max(stays)]
    release.add_column("sensitive_stay", "value", stays, "sensitive", attribute="stay", domain=domain)
    release.add_column("sensitive_stay", "count", [1, 1, 1, 1], "count")


@pytest.mark.parametrize(("kind", "change", "messages"), case.params)
def test_a_domain_or_spelling_of_another_kind_is_refused(
    kind: str, change: Change, messages: list[str], tmp_path: Path
) -> None:
    release = KINDS[kind]()
    change(release)
    assert release.problems(tmp_path / "release") == messages


# what an honest publisher tells apart -----------------------------------------------------------------------------


def two_spellings(release: SmallRelease, folder: Path) -> list[tuple[str, str, str]]:
    manifest, tables, problems = inspect_folder(release.write(folder))
    assert problems == []
    return [*told_apart(manifest, tables)]


def test_two_spellings_that_are_said_to_differ_are_told(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    spelled(release, FLU)
    release.say(case=["disease"])
    assert two_spellings(release, tmp_path / "release") == [("disease", "FLU", "flu")]


def test_two_spellings_apart_are_told(tmp_path: Path) -> None:
    release = KINDS["unlinked"]()
    spelled_apart(release, "sensitive", PAIRS)
    release.say(case=["disease"])
    assert two_spellings(release, tmp_path / "release") == [("disease", "FLU", "flu")]


def test_two_spellings_in_totals_are_told(tmp_path: Path) -> None:
    release = KINDS["decomposed"]()
    two_spellings_in_totals(release)
    release.say(case=["disease"])
    assert two_spellings(release, tmp_path / "release") == [("disease", "FLU", "flu")]


def test_two_spellings_in_sets_are_told(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    spelled_sets(release)
    release.say(case=["disease"])
    assert two_spellings(release, tmp_path / "release") == [("disease", "FLU", "flu")]


def test_values_that_differ_are_not_told(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.say(case=["disease", "stay"])
    assert two_spellings(release, tmp_path / "release") == []


def test_nothing_is_told_where_nothing_is_said_to_differ(tmp_path: Path) -> None:
    assert two_spellings(KINDS["bucketized"](), tmp_path / "release") == []


def test_what_is_not_protected_may_be_spelled_in_two_ways(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    two_spellings_of_what_is_not_protected(release)
    release.say(case=["ward"])
    assert two_spellings(release, tmp_path / "release") == []


def test_the_spellings_of_one_secret_are_not_told_of_another(tmp_path: Path) -> None:
    """`1.0` is a disease, `1` a stay, and `FLU` a ward."""
    release = KINDS["unlinked"]()
    release.cells("sensitive", "value", ["flu", "1.0", "1", "2", "flu", "1.0", "3", "4"])
    release.parameters["domains"]["disease"]["domain"] = ["1.0", "flu"]
    release.cells("quasi", "ward", ["FLU", "b", "b", "b"], domain=["FLU", "b"])
    release.say(case=["disease"])
    assert two_spellings(release, tmp_path / "release") == []
