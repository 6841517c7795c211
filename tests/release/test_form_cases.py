"""The form of a release, one fault at a time: tiny folders with one thing wrong, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pluralis.release.form import form_problems
from pluralis.release.manifest import Manifest
from support.small_releases import EXACT, KINDS, LINKED, MEMBERSHIP, Cases, Change, SmallRelease, unlinked

case = Cases()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed_is_sound_before(kind: str, tmp_path: Path) -> None:
    assert KINDS[kind]().problems(tmp_path / "release") == []


# tables and their columns -----------------------------------------------------------------------------------------


@case("bucketized", "a release has rows, and the manifest says that this one has none.")
def no_rows(release: SmallRelease) -> None:
    release.manifest["rows"] = 0


@case("candidates")
def one_row(release: SmallRelease) -> None:
    release.manifest["rows"] = 1
    release.tables["microdata"] = release.tables["microdata"].head(1)
    for name, domain in {"age": [20, 20], "sex": ["f"], "ward": ["a"]}.items():
        release.column("microdata", name)["domain"] = domain


@case("bucketized", "two tables have the same name, and only one of them would be judged.")
def two_tables_of_one_name(release: SmallRelease) -> None:
    release.manifest["tables"].append({**release.info("sensitive"), "file": "sensitive_2.parquet"})


def no(column: str, table: str) -> Change:
    def change(release: SmallRelease) -> None:
        release.drop_column(table, column)

    change.__name__ = f"no_{column}_in_{table}"
    return change


case("generalized")(no("ward", "microdata"))
case("candidates")(no("ward", "microdata"))
case("bucketized")(no("ward", "quasi"))
case("decomposed")(no("ward", "quasi"))
case("sliced")(no("ward", "quasi"))
for kind, table, column in [
    ("generalized", "microdata", "group"),
    ("bucketized", "quasi", "group"),
    ("bucketized", "sensitive", "group"),
    ("bucketized", "sensitive", "count"),
    ("unlinked", "sensitive", "count"),
    ("decomposed", "values", "group"),
    ("decomposed", "sensitive_disease", "count"),
    ("decomposed", "sensitive_disease", "value"),
    ("decomposed", "quasi", "group"),
    ("sliced", "slice_1", "disease"),
    ("sliced", "slice_1", "group"),
    ("multi", "t2_quasi", "group"),
    ("multi", "t2_sensitive", "disease"),
    ("multi", "t3", "group"),
    ("multi", "t3", "stay"),
]:
    released = {"unlinked": "bucketized"}.get(kind, kind)
    case(kind, f"{table}: its columns are not those of this table in a {released} release.")(no(column, table))


case(
    "decomposed",
    "values: its columns are not those of this table in a decomposed release.",
    "parameters: 'disease' has a domain, and no table tells of it.",
    "parameters: 'stay' has a domain, and no table tells of it.",
)(no("attribute", "values"))


@case("generalized")
def nothing_but_secrets_and_groups(release: SmallRelease) -> None:
    for name in ("age", "town", "work", "ward"):
        release.drop_column("microdata", name)
    release.claims.clear()
    release.claim("", "disease", "P({}) ≤ 1/2")
    release.claim("", "stay", "P({}) ≤ 1/2")


@case("generalized")
def nothing_secret(release: SmallRelease) -> None:
    for name in ("disease", "stay"):
        release.drop_column("microdata", name)
    release.claims.clear()
    release.say(l={})


@case("candidates", "microdata: its columns are not those of this table in a candidates release.")
def candidates_without_a_secret(release: SmallRelease) -> None:
    for name in ("disease", "stay"):
        release.drop_column("microdata", name)
    release.claims.clear()
    release.say(l={}, addition={})


@case("candidates", "microdata: its columns are not those of this table in a candidates release.")
def candidates_without_quasi_identifiers(release: SmallRelease) -> None:
    for name in ("age", "sex"):
        release.drop_column("microdata", name)
    release.manifest["breaks"].append("linkage")


@case("candidates", "microdata: its columns are not those of this table in a candidates release.")
def candidates_in_groups(release: SmallRelease) -> None:
    release.add_column("microdata", "group", [1, 1, 2, 2], "group")


@case("bucketized", "quasi: its columns are not those of this table in a bucketized release.")
def a_quasi_table_without_quasi_identifiers(release: SmallRelease) -> None:
    for name in ("age", "sex"):
        release.drop_column("quasi", name)


@case("bucketized", "quasi: its columns are not those of this table in a bucketized release.")
def a_secret_beside_the_quasi_identifiers(release: SmallRelease) -> None:
    release.column("quasi", "ward")["role"] = "sensitive"


@case("multi", "t2_quasi: its columns are not those of this table in a multi release.")
def a_part_that_shows_what_it_hides(release: SmallRelease) -> None:
    release.add_column("t2_quasi", "disease", ["flu", "hiv", "flu", "gout"], "sensitive", domain=["flu", "gout", "hiv"])


@case("multi", "t2_sensitive: its columns are not those of this table in a multi release.")
def a_part_with_quasi_identifiers_beside_what_it_hides(release: SmallRelease) -> None:
    release.add_column("t2_sensitive", "age", [20, 30, 40, 50], "quasi", exact=True, domain=[20, 50])


@case("multi", "t1: its columns are not those of this table in a multi release.")
def a_part_with_a_plain_column(release: SmallRelease) -> None:
    release.add_column("t1", "ward", ["a", "b", "a", "b"], "plain", domain=["a", "b"])


@case("decomposed")
def how_often_both_secrets_go_together(release: SmallRelease) -> None:
    release.drop_column("sensitive_disease", "value")
    release.drop_column("sensitive_disease", "count")
    release.info("sensitive_disease").update(name="sensitive", file="sensitive.parquet")
    release.tables["sensitive"] = pl.DataFrame()
    domain = ["flu", "gout", "hiv"]
    release.add_column("sensitive", "disease", ["flu", "flu", "gout", "hiv"], "sensitive", domain=domain)
    release.add_column("sensitive", "stay", [1, 3, 4, 2], "sensitive", domain=[1, 4])
    release.add_column("sensitive", "count", [1, 1, 1, 1], "count")


@case("sliced")
def a_slice_whose_secrets_stand_apart(release: SmallRelease) -> None:
    other = unlinked()
    slice_2 = {**other.info("sensitive"), "name": "slice_2", "file": "slice_2.parquet"}
    release.manifest["tables"][2] = slice_2
    release.tables["slice_2"] = other.tables["sensitive"].filter(pl.col("attribute") == "stay")
    release.say(domains={"stay": other.parameters["domains"]["stay"]})


# names ------------------------------------------------------------------------------------------------------------


@case("bucketized", "files are not called like their tables.")
def a_file_of_another_name(release: SmallRelease) -> None:
    release.info("quasi")["file"] = "bob.parquet"


NOT_NUMBERED = "slices and their groups are not numbered from 1."


@case("sliced", NOT_NUMBERED)
def a_slice_of_another_number(release: SmallRelease) -> None:
    release.info("slice_2").update(name="slice_3", file="slice_3.parquet")
    release.tables["slice_3"] = release.tables.pop("slice_2")


def renamed(release: SmallRelease, table: str, old: str, new: str) -> None:
    release.tables[table] = release.tables[table].rename({old: new})
    column = release.column(table, old)
    column.update(name=new, **({"attribute": new} if column.get("attribute") == old else {}))


@case("sliced", NOT_NUMBERED)
def groups_of_another_number(release: SmallRelease) -> None:
    renamed(release, "quasi", "group_2", "group_3")


@case("sliced", NOT_NUMBERED)
def groups_out_of_order(release: SmallRelease) -> None:
    columns = release.info("quasi")["columns"]
    columns[2], columns[3] = columns[3], columns[2]
    release.tables["quasi"] = release.tables["quasi"].select(column["name"] for column in columns)


@case("sliced", NOT_NUMBERED, "quasi: the column 'group_x' is not called what it holds.")
def groups_without_a_number(release: SmallRelease) -> None:
    renamed(release, "quasi", "group_2", "group_x")


@case("sliced", NOT_NUMBERED, "quasi: the column 'class_2' is not called what it holds.")
def groups_of_another_word(release: SmallRelease) -> None:
    renamed(release, "quasi", "group_2", "class_2")


@case("sliced", NOT_NUMBERED)
def groups_that_are_not_numbered(release: SmallRelease) -> None:
    renamed(release, "quasi", "group_2", "group")


@case("sliced", "slice_1: the column 'group_1' is not called what it holds.")
def a_number_where_a_slice_has_none(release: SmallRelease) -> None:
    renamed(release, "slice_1", "group", "group_1")


@case("bucketized", "quasi: the column 'group_1' is not called what it holds.")
def a_number_where_there_are_no_slices(release: SmallRelease) -> None:
    renamed(release, "quasi", "group", "group_1")


@case("bucketized", "sensitive: the column 'n' is not called what it holds.")
def counts_of_another_name(release: SmallRelease) -> None:
    renamed(release, "sensitive", "count", "n")


@case("bucketized", "quasi: the column 'group' is not called what it holds.")
def groups_that_are_said_to_be_an_attribute(release: SmallRelease) -> None:
    release.column("quasi", "group")["attribute"] = "group"


@case("bucketized", "quasi: the column 'ward' is not called what it holds.")
def a_column_of_another_attribute(release: SmallRelease) -> None:
    release.column("quasi", "ward")["attribute"] = "floor"


@case("decomposed", "sensitive_disease: the column 'disease' is not called what it holds.")
def a_total_under_the_name_of_its_attribute(release: SmallRelease) -> None:
    renamed(release, "sensitive_disease", "value", "disease")


@case("decomposed", "sensitive_stay: the column 'value' is not called what it holds.")
def a_total_of_another_attribute_than_its_table_says(release: SmallRelease) -> None:
    release.info("sensitive_disease").update(name="sensitive_stay", file="sensitive_stay.parquet")
    release.tables["sensitive_stay"] = release.tables.pop("sensitive_disease")


@case("bucketized", "quasi: the column 'ward' is not called what it holds.")
def a_column_that_does_not_say_its_attribute(release: SmallRelease) -> None:
    del release.column("quasi", "ward")["attribute"]


@case("bucketized", "'disease' is plain and sensitive at once.")
def a_secret_shown_openly(release: SmallRelease) -> None:
    release.add_column("quasi", "disease", ["flu", "hiv", "flu", "gout"], "plain", domain=["flu", "gout", "hiv"])


@case("multi")
def what_one_part_shows_and_another_hides(release: SmallRelease) -> None:
    domain = ["flu", "gout", "hiv"]
    release.add_column("t1", "disease", ["flu", "hiv", "flu", "gout"], "quasi", exact=True, domain=domain)


@case("bucketized")
def a_plain_column_that_is_called_like_counts(release: SmallRelease) -> None:
    renamed(release, "quasi", "ward", "count")


@case("bucketized", "' ' cannot be the name of an attribute.")
def a_column_without_a_name(release: SmallRelease) -> None:
    renamed(release, "quasi", "ward", " ")


@case("bucketized", "the attributes 'age' and 'Age' read the same.")
def two_columns_that_read_the_same(release: SmallRelease) -> None:
    renamed(release, "quasi", "ward", "Age")


@case("unlinked", "the attributes 'Disease' and 'disease' read the same.")
def a_column_that_reads_like_a_secret(release: SmallRelease) -> None:
    renamed(release, "quasi", "ward", "Disease")


def test_names_that_hide_characters_are_refused_in_memory_too() -> None:
    release = KINDS["bucketized"]()
    renamed(release, "quasi", "ward", "wa\u200brd")
    manifest = Manifest.model_validate(release.manifest)
    assert [*form_problems(manifest, release.tables)] == ["'wa\\u200brd' cannot be the name of an attribute."]


def test_two_columns_of_one_name_are_refused_in_memory_too() -> None:
    release = KINDS["bucketized"]()
    columns = release.info("quasi")["columns"]
    columns.append(columns[0])
    manifest = Manifest.model_validate(release.manifest)
    assert [*form_problems(manifest, release.tables)] == ["quasi: two columns have the same name."]


# what columns hold ------------------------------------------------------------------------------------------------

OTHER_FORM = "the column {!r} is not of the form that this kind of release has."


@case("bucketized", f"quasi: {OTHER_FORM.format('sex')}")
@case("candidates", f"microdata: {OTHER_FORM.format('sex')}")
def labels_where_values_are_wanted(release: SmallRelease) -> None:
    release.column(release.manifest["tables"][0]["name"], "sex").pop("exact")


@case("generalized", f"microdata: {OTHER_FORM.format('town')}")
def values_where_labels_are_wanted(release: SmallRelease) -> None:
    release.cells("microdata", "town", ["x", "y", "z", "z"], exact=True)
    release.manifest["breaks"].append(EXACT)


@case("sliced", f"quasi: {OTHER_FORM.format('age')}")
def values_where_slices_have_labels(release: SmallRelease) -> None:
    release.cells("quasi", "age", [20, 30, 40, 50], exact=True)
    release.manifest["breaks"].append(EXACT)


@case("bucketized", f"quasi: {OTHER_FORM.format('ward')}")
def a_plain_column_that_is_said_to_be_exact(release: SmallRelease) -> None:
    release.column("quasi", "ward")["exact"] = True


@case("multi", f"t3: {OTHER_FORM.format('stay')}")
def a_secret_that_is_said_to_be_exact(release: SmallRelease) -> None:
    release.column("t3", "stay")["exact"] = True


@case("candidates", f"microdata: {OTHER_FORM.format('stay')}")
def a_secret_that_is_no_set(release: SmallRelease) -> None:
    release.cells("microdata", "stay", [1, 2, 3, 4], sets=None, domain=[1, 4])
    release.column("microdata", "stay").pop("sets")


@case(
    "generalized",
    f"microdata: {OTHER_FORM.format('stay')}",
    "microdata: the domain of 'stay' is not the values that its sets were drawn from.",
)
def sets_where_values_are_wanted(release: SmallRelease) -> None:
    release.cells("microdata", "stay", [[1, 2], [1, 2], [3, 4], [3, 4]], sets=True)


NO_TREE = "microdata: 'work' has a hierarchy that is not a tree, or has no use for one."
LINES = {
    "ragged": [["cook", "kitchen", "*"], ["baker", "kitchen", "*"], ["nurse", "*"]],
    "a leaf twice": [
        ["cook", "kitchen", "*"],
        ["baker", "kitchen", "*"],
        ["nurse", "ward", "*"],
        ["cook", "ward", "*"],
    ],
    "two roots": [["cook", "kitchen", "*"], ["baker", "kitchen", "*"], ["nurse", "ward", "all"]],
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_a_hierarchy_is_a_tree(lines: list[list[str]], tmp_path: Path) -> None:
    release = KINDS["generalized"]()
    release.column("microdata", "work")["hierarchy"] = lines
    assert release.problems(tmp_path / "release") == [NO_TREE]


@pytest.mark.parametrize("lines", [[], [[]]])
def test_a_hierarchy_has_nodes(lines: list[list[str]], tmp_path: Path) -> None:
    release = KINDS["generalized"]()
    release.column("microdata", "work")["hierarchy"] = lines
    form = [*form_problems(Manifest.model_validate(release.manifest), release.tables)]
    assert form == [NO_TREE]
    assert release.problems(tmp_path / "release") != []


@case("generalized")
def a_hierarchy_of_one_leaf(release: SmallRelease) -> None:
    release.cells("microdata", "work", ["cook"] * 4, domain=["cook"], hierarchy=[["cook", "*"]])


@case("generalized", "microdata: 'ward' has a hierarchy that is not a tree, or has no use for one.")
def the_hierarchy_of_a_plain_column(release: SmallRelease) -> None:
    release.column("microdata", "ward")["hierarchy"] = [["a", "*"], ["b", "*"]]


@case("bucketized", "disease: 'FLU' and 'flu' are one value, or overlap, and count as two.")
def two_spellings_of_a_secret(release: SmallRelease) -> None:
    release.cells("sensitive", "disease", ["FLU", "flu", "hiv", "gout"], domain=["FLU", "flu", "gout", "hiv"])


@case("bucketized", "sensitive: the column 'count' has no domain of its own.")
def the_domain_of_counts(release: SmallRelease) -> None:
    release.column("sensitive", "count")["domain"] = [1, 1]


# what is protected ------------------------------------------------------------------------------------------------

OTHER_ATTRIBUTES = "the tables and parameters do not protect the same attributes."


@case("bucketized", "the parameters protect an attribute that no table tells of.")
@case("multi", "the parameters protect an attribute that no table tells of.")
def a_secret_that_is_nowhere(release: SmallRelease) -> None:
    release.say(l={"disease": 2, "stay": 2, "income": 2})


@case("bucketized", OTHER_ATTRIBUTES)
@case("generalized", OTHER_ATTRIBUTES)
@case("sliced", OTHER_ATTRIBUTES)
def a_secret_that_is_not_protected(release: SmallRelease) -> None:
    release.say(l={"disease": 2})
    release.claims.pop()


@case("multi", OTHER_ATTRIBUTES)
def a_part_that_hides_what_no_rule_protects(release: SmallRelease) -> None:
    release.say(l={"disease": 2}, rules=["age -> disease : l=2"])
    release.claims.pop()


@case("multi")
def a_part_that_hides_more_than_rules_protect(release: SmallRelease) -> None:
    release.add_column("t3", "income", ["low", "high", "low", "high"], "sensitive", domain=["high", "low"])


@case("multi")
def a_rule_about_what_is_shown(release: SmallRelease) -> None:
    release.say(l={"disease": 2, "stay": 2, "sex": 2}, rules=[*release.parameters["rules"], "age -> sex : l=2"])
    release.claim("age", "sex", "P({}) ≤ 1/2")


@case("multi")
def rules_about_all_that_is_shown(release: SmallRelease) -> None:
    rules = [*release.parameters["rules"], "age -> sex : l=2", "sex -> age : l=2"]
    release.say(l={"disease": 2, "stay": 2, "sex": 2, "age": 2}, rules=rules)
    release.claim("age", "sex", "P({}) ≤ 1/2")
    release.claim("sex", "age", "P({}) ≤ 1/2")


@case("sliced", "an attribute stands in several tables.")
def a_secret_in_two_slices(release: SmallRelease) -> None:
    domain = ["flu", "gout", "hiv"]
    release.add_column("slice_2", "disease", ["flu", "hiv", "flu", "gout"], "sensitive", domain=domain)


@case("multi")
def a_secret_in_two_parts(release: SmallRelease) -> None:
    domain = ["flu", "gout", "hiv"]
    release.add_column("t3", "disease", ["flu", "hiv", "flu", "gout"], "sensitive", domain=domain)


# numbers ----------------------------------------------------------------------------------------------------------


@case(
    "bucketized",
    "quasi: a group has a number below 1.",
    "quasi: groups are not numbered from 1 without gaps.",
)
def a_group_below_1(release: SmallRelease) -> None:
    release.cells("quasi", "group", [0, 0, 1, 1])


@case("bucketized", "quasi: a group has a number above the number of rows.")
def a_group_above_the_number_of_rows(release: SmallRelease) -> None:
    release.cells("quasi", "group", [1, 1, 5, 5])


@case("bucketized")
def a_group_for_each_row(release: SmallRelease) -> None:
    for table in ("quasi", "sensitive"):
        release.cells(table, "group", [1, 2, 3, 4])


@case("bucketized", "quasi: groups are not numbered from 1 without gaps.")
def a_gap_between_groups(release: SmallRelease) -> None:
    release.cells("quasi", "group", [1, 1, 3, 3])


@case("bucketized", "sensitive: a count is below 1 or above the number of rows.")
def a_count_of_0(release: SmallRelease) -> None:
    release.cells("sensitive", "count", [0, 1, 1, 1])


@case("bucketized", "sensitive: a count is below 1 or above the number of rows.")
def a_count_above_the_number_of_rows(release: SmallRelease) -> None:
    release.cells("sensitive", "count", [5, 1, 1, 1])


@case("bucketized")
def a_count_of_all_rows(release: SmallRelease) -> None:
    release.cells("sensitive", "count", [4, 1, 1, 1])


# what is not stopped ----------------------------------------------------------------------------------------------


@case("bucketized", *(f"it does not say that it does not stop: {name}." for name in
                      ("membership", "linkage", "sensitive background knowledge")))  # fmt: skip
def nothing_said(release: SmallRelease) -> None:
    release.manifest["breaks"] = []


@case("sliced", "it does not say that it does not stop: membership.")
def membership_not_said(release: SmallRelease) -> None:
    release.manifest["breaks"] = ["correlation: some"]


@case("unlinked", "it does not say that it does not stop: linkage.")
def linkage_in_other_words(release: SmallRelease) -> None:
    release.manifest["breaks"] = [MEMBERSHIP, "linkage: nobody finds a row"]


@case("generalized", "it does not say that it does not stop: sensitive background knowledge.")
def linked_secrets_in_other_words(release: SmallRelease) -> None:
    release.manifest["breaks"] = [MEMBERSHIP, "sensitive background knowledge: none"]


@case("generalized")
def secrets_that_were_shuffled(release: SmallRelease) -> None:
    release.say(linked=False)
    release.manifest["breaks"] = [MEMBERSHIP]


@case("generalized")
@case("bucketized")
def one_secret(release: SmallRelease) -> None:
    table = release.manifest["tables"][-1]["name"]
    release.drop_column(table, "stay")
    release.say(l={"disease": 2})
    release.claims.pop()
    release.manifest["breaks"].remove(LINKED)


@case("bucketized", "it does not say that it does not stop: sensitive background knowledge.")
def links_not_said(release: SmallRelease) -> None:
    release.manifest["breaks"] = [MEMBERSHIP, EXACT]


@case("candidates", "it does not say that it does not stop: several sensitive attributes.")
def several_sets_not_said(release: SmallRelease) -> None:
    release.manifest["breaks"] = [MEMBERSHIP, EXACT]


@case("candidates")
def one_column_of_sets(release: SmallRelease) -> None:
    release.drop_column("microdata", "stay")
    release.say(l={"disease": 2}, addition={"disease": release.parameters["addition"]["disease"]})
    release.claims.pop()
    release.manifest["breaks"] = [MEMBERSHIP, EXACT]


@case("sliced", "it does not say that it does not stop: suppressed rows.")
def left_out_rows_not_said(release: SmallRelease) -> None:
    release.manifest["suppressed"] = 1


@case("sliced")
def left_out_rows_said(release: SmallRelease) -> None:
    release.manifest["suppressed"] = 1
    release.manifest["breaks"].append("suppressed rows: one")


@case("sliced", "it does not say that it does not stop: several rows of one person.")
def persons_not_said(release: SmallRelease) -> None:
    release.say(persons=True)


@case("sliced", "of membership it says something else than that it is not hidden.")
def membership_said_in_two_ways(release: SmallRelease) -> None:
    release.manifest["breaks"].append("membership: nobody can tell")


TOO_MUCH = "breaks are more than 200 sentences, or one has more than 600 letters."


@case("sliced")
def breaks_200(release: SmallRelease) -> None:
    release.manifest["breaks"] += [f"note: {i}" for i in range(199)]


@case("sliced", TOO_MUCH)
def breaks_201(release: SmallRelease) -> None:
    release.manifest["breaks"] += [f"note: {i}" for i in range(200)]


@case("sliced")
def a_break_of_600_letters(release: SmallRelease) -> None:
    release.manifest["breaks"].append("a" * 600)


@case("sliced", TOO_MUCH)
def a_break_of_601_letters(release: SmallRelease) -> None:
    release.manifest["breaks"].append("a" * 601)


# claims -----------------------------------------------------------------------------------------------------------

RULE = "P(disease | age, sex) ≤ 1/2"


@case("bucketized", f"The claim {RULE!r} (safe) is not one that any release can make.")
def a_claim_of_no_model(release: SmallRelease) -> None:
    release.claims[0]["model"] = "safe"


@case("bucketized", "the claim 'P(disease | age, sex) ≤ 1/20' is not what its fields say.")
def a_claim_in_other_words(release: SmallRelease) -> None:
    release.claims[0]["rule"] += "0"


K_RULE = "2-anonymity: every group has at least 2 rows"
K_CLAIM = {"rule": K_RULE, "model": "k-anonymity", "adversary": ["age", "sex"], "k": 2}
NEITHER = f"the claim {K_RULE!r} is about neither rows nor an attribute."


@case("bucketized")
def a_claim_about_rows(release: SmallRelease) -> None:
    release.claims.append({**K_CLAIM})
    release.say(k=2)


@case("bucketized", NEITHER)
def a_claim_about_rows_and_an_attribute(release: SmallRelease) -> None:
    k = K_CLAIM["k"]
    release.claims.append(
        {**{key: K_CLAIM[key] for key in ("rule", "model", "adversary")}, "attribute": "stay", "k": k}
    )
    release.say(k=2)


@case("bucketized", NEITHER)
def a_claim_about_rows_and_an_l(release: SmallRelease) -> None:
    k = K_CLAIM["k"]
    release.claims.append({**{key: K_CLAIM[key] for key in ("rule", "model", "adversary")}, "l": 2, "k": k})
    release.say(k=2)


@case("bucketized", "the claim 'P(disease | age, sex) ≤ 1/None' is about neither rows nor an attribute.")
def a_claim_without_l(release: SmallRelease) -> None:
    del release.claims[0]["l"]
    release.claims[0]["rule"] = "P(disease | age, sex) ≤ 1/None"


@case("bucketized", "the claim 'P( | age, sex) ≤ 1/2' is about neither rows nor an attribute.")
def a_claim_about_nothing(release: SmallRelease) -> None:
    del release.claims[0]["attribute"]
    release.claims[0]["rule"] = "P( | age, sex) ≤ 1/2"


@case(
    "bucketized",
    "the size of groups that is claimed is not that of the parameters.",
)
def a_size_that_is_not_asked_for(release: SmallRelease) -> None:
    release.claims.append({**K_CLAIM})


@case(
    "bucketized",
    "the size of groups that is claimed is not that of the parameters.",
)
def a_size_that_is_not_claimed(release: SmallRelease) -> None:
    release.say(k=2)


@case("bucketized", "the size of groups that is claimed is not that of the parameters.")
def another_size_than_is_asked_for(release: SmallRelease) -> None:
    release.claims.append({**K_CLAIM})
    release.say(k=3)


def shares(release: SmallRelease, bound: float | None, share: str) -> str:
    """Claims by the true shares of values; the sentence of the first."""
    first = release.claims[0]
    first.update(rule=f"P(disease | age, sex) ≤ {share} by the true shares of values", model="posterior-shares")
    first |= {} if bound is None else {"bound": bound}
    return str(first["rule"])


@pytest.mark.parametrize(
    ("bound", "share", "problem"),
    [
        (0.5, "0.5", None),
        (1.0, "1", None),
        (0.1234, "0.1234", None),
        (None, "0", "the claim {!r} has no bound between 0 and 1, or one that it does not speak of."),
        (1.5, "1.5", "the claim {!r} has no bound between 0 and 1, or one that it does not speak of."),
        (-0.5, "-0.5", "the claim {!r} has no bound between 0 and 1, or one that it does not speak of."),
        (0.12345, "0.1235", "the claim {!r} has a bound of more digits than it says."),
    ],
)
def test_a_bound_is_between_0_and_1(bound: float | None, share: str, problem: str | None, tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    rule = shares(release, bound, share)
    assert release.problems(tmp_path / "release") == ([problem.format(rule)] if problem else [])


@case("bucketized", f"the claim {RULE!r} has no bound between 0 and 1, or one that it does not speak of.")
def a_bound_that_is_not_said(release: SmallRelease) -> None:
    release.claims[0]["bound"] = 0.5


@case("bucketized", f"the claim {RULE!r} has a c that it does not speak of, or none where it needs one.")
def a_c_that_is_not_said(release: SmallRelease) -> None:
    release.claims[0]["c"] = 2.0


RECURSIVE = "recursive (2,2)-diversity of disease | age, sex"


def recursive(release: SmallRelease) -> None:
    release.claims[0].update(rule=RECURSIVE, model="recursive", c=2.0)


@case("bucketized")
def a_recursive_claim(release: SmallRelease) -> None:
    recursive(release)
    release.say(models={"disease": "recursive 2.0"})


@case("bucketized", f"the claim {RECURSIVE!r} has another model than the parameters.")
def a_recursive_claim_of_another_c(release: SmallRelease) -> None:
    recursive(release)
    release.say(models={"disease": "recursive 3.0"})


@case(
    "bucketized",
    "the claim 'recursive (0,2)-diversity of disease | age, sex' has a c that it does not speak of, or none where "
    "it needs one.",
    "the claim 'recursive (0,2)-diversity of disease | age, sex' has another model than the parameters.",
)
def a_recursive_claim_without_c(release: SmallRelease) -> None:
    release.claims[0].update(rule="recursive (0,2)-diversity of disease | age, sex", model="recursive")
    release.say(models={"disease": "recursive 2.0"})


def stranger(release: SmallRelease, adversary: str) -> None:
    release.claim(adversary, "disease", "P({}) ≤ 1/2")
    known = sorted(adversary.split(", "))
    release.say(adversaries=[known])
    if "stay" not in known:
        release.claim(adversary, "stay", "P({}) ≤ 1/2")


@case("bucketized")
def an_adversary_who_knows_the_ward_too(release: SmallRelease) -> None:
    stranger(release, "age, sex, ward")


@case("bucketized")
def an_adversary_who_knows_a_secret_too(release: SmallRelease) -> None:
    stranger(release, "age, sex, stay")


@case(
    "bucketized",
    "a claim about disease against whoever knows age, sex, ward is not in the parameters.",
)
def an_adversary_whom_nobody_spoke_of(release: SmallRelease) -> None:
    release.claim("age, sex, ward", "disease", "P({}) ≤ 1/2")


@case("bucketized", "nothing is claimed of stay against whoever knows age, sex, ward.")
def an_adversary_against_whom_something_is_not_claimed(release: SmallRelease) -> None:
    release.claim("age, sex, ward", "disease", "P({}) ≤ 1/2")
    release.say(adversaries=[["age", "sex", "ward"]])


@case("bucketized", "nothing is claimed of stay against whoever knows age, sex, ward.",
      "nothing is claimed of disease against whoever knows ward.")  # fmt: skip
def two_adversaries_against_whom_something_is_not_claimed(release: SmallRelease) -> None:
    release.claim("age, sex, ward", "disease", "P({}) ≤ 1/2")
    release.claim("ward", "stay", "P({}) ≤ 1/2")
    release.say(adversaries=[["age", "sex", "ward"], ["ward"]])


@case("bucketized", "nothing is claimed of disease against whoever knows nothing.",
      "nothing is claimed of stay against whoever knows nothing.")  # fmt: skip
def an_adversary_who_knows_nothing(release: SmallRelease) -> None:
    release.say(adversaries=[[]])


@case("bucketized", "there are 2 claims, fewer than there are adversaries and attributes to protect.")
def more_adversaries_than_claims(release: SmallRelease) -> None:
    release.say(adversaries=[["age"], ["sex"]])


@case("bucketized", "nothing is claimed of disease against whoever knows age, sex, stay.")
def an_adversary_who_knows_all_secrets_but_one(release: SmallRelease) -> None:
    release.say(adversaries=[["age", "disease", "sex", "stay"], ["age", "sex", "stay"]])


SAID_IN_ORDER = "the claim {!r} does not say once, in order, what is known."


@pytest.mark.parametrize(
    ("adversary", "sentence"),
    [
        (["sex", "age"], "P(disease | age, sex) ≤ 1/2"),
        (["age", "age", "sex"], "P(disease | age, age, sex) ≤ 1/2"),
    ],
)
def test_what_is_known_is_said_once_in_order(adversary: list[str], sentence: str, tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.claims[0].update(adversary=adversary, rule=sentence)
    assert release.problems(tmp_path / "release") == [SAID_IN_ORDER.format(sentence)]


@case(
    "bucketized",
    SAID_IN_ORDER.format("P(disease | age, disease, sex) ≤ 1/2"),
    "a claim about disease against whoever knows age, disease, sex is not in the parameters.",
)
def an_adversary_who_knows_what_is_protected(release: SmallRelease) -> None:
    release.claim("age, disease, sex", "disease", "P({}) ≤ 1/2")


@case(
    "bucketized",
    "the claim 'P(disease | age, name, sex) ≤ 1/2' speaks of 'name', which is no attribute of the release.",
    "a claim about disease against whoever knows age, name, sex is not in the parameters.",
)
def an_adversary_who_knows_what_is_not_published(release: SmallRelease) -> None:
    release.claim("age, name, sex", "disease", "P({}) ≤ 1/2")


@case(
    "bucketized",
    "the claim 'P(income | age, sex) ≤ 1/2' speaks of 'income', which is no attribute of the release.",
    "the claim 'P(income | age, sex) ≤ 1/2' has another l than the parameters.",
    "a claim about income against whoever knows age, sex is not in the parameters.",
)
def a_claim_about_what_is_not_published(release: SmallRelease) -> None:
    release.claim("age, sex", "income", "P({}) ≤ 1/2")


@case("bucketized", "the claim 'P(disease | age, sex) ≤ 1/3' has another l than the parameters.")
def a_claim_of_a_larger_l(release: SmallRelease) -> None:
    release.claims[0].update(rule="P(disease | age, sex) ≤ 1/3", l=3)


@case("bucketized", "the claim 'P(disease | age, sex) ≤ 1/2' has another l than the parameters.")
def a_claim_of_a_smaller_l(release: SmallRelease) -> None:
    release.say(l={"disease": 3, "stay": 2})


@case("bucketized")
def a_large_l(release: SmallRelease) -> None:
    release.say(l={"disease": 2**30, "stay": 2})
    release.claims[0].update(rule=f"P(disease | age, sex) ≤ 1/{2**30}", l=2**30)


@case("bucketized", "a claim is made twice.")
def a_claim_made_twice(release: SmallRelease) -> None:
    release.claims.append({**release.claims[0]})


@case("bucketized", "the claim 'distinct 2-diversity of disease | age, sex' has another model than the "
      "parameters.")  # fmt: skip
def a_weaker_model_than_was_asked_for(release: SmallRelease) -> None:
    release.claims[0].update(rule="distinct 2-diversity of disease | age, sex", model="distinct")


@case("bucketized")
def the_model_that_was_asked_for(release: SmallRelease) -> None:
    release.claims[0].update(rule="distinct 2-diversity of disease | age, sex", model="distinct")
    release.say(models={"disease": "distinct"})


@case("decomposed")
def a_model_that_decomposition_chooses(release: SmallRelease) -> None:
    release.claims[0].update(rule="distinct 2-diversity of disease | age, sex", model="distinct")


# rules ------------------------------------------------------------------------------------------------------------


@case("bucketized")
def a_rule_that_is_claimed(release: SmallRelease) -> None:
    release.say(rules=["stay -> disease : l=2"])
    release.claim("stay", "disease", "P({}) ≤ 1/2")


@case("bucketized", "nothing is claimed of disease against whoever knows stay.")
def a_rule_that_is_not_claimed(release: SmallRelease) -> None:
    release.say(rules=["stay -> disease : l=2"])


RULE_OF_NOTHING = "the rule {!r} is about no attribute of the release, or says nothing that is not said."


@case("bucketized", RULE_OF_NOTHING.format("age -> disease : l=2"))
def a_rule_that_follows_from_the_policy(release: SmallRelease) -> None:
    release.say(rules=["age -> disease : l=2"])


@case(
    "bucketized",
    RULE_OF_NOTHING.format("name -> disease : l=2"),
    "nothing is claimed of disease against whoever knows name.",
)
def a_rule_about_what_is_not_published(release: SmallRelease) -> None:
    release.say(rules=["name -> disease : l=2"])


@case(
    "bucketized",
    RULE_OF_NOTHING.format("ward -> income : l=2"),
    "nothing is claimed of income against whoever knows ward.",
)
def a_rule_that_protects_what_is_not_published(release: SmallRelease) -> None:
    release.say(rules=["ward -> income : l=2"])


@case("bucketized", "parameters: 'nobody knows' is neither a rule nor a dependency.")
@case("multi", "parameters: 'nobody knows' is neither a rule nor a dependency.")
def a_rule_that_is_none(release: SmallRelease) -> None:
    release.say(rules=[*release.parameters.get("rules", []), "nobody knows"])


@case("multi", "the rule 'name -> disease : l=2' speaks of something that is no attribute of the release.")
def a_rule_of_parts_about_what_is_not_published(release: SmallRelease) -> None:
    release.say(rules=[*release.parameters["rules"], "name -> disease : l=2"])


@case("multi", "the rule 'age -> income : l=2' speaks of something that is no attribute of the release.")
def a_rule_of_parts_that_protects_what_is_not_published(release: SmallRelease) -> None:
    release.say(rules=[*release.parameters["rules"], "age -> income : l=2"])


@case("multi")
def a_dependency(release: SmallRelease) -> None:
    release.say(dependencies=["age -> sex"])


@case("multi")
def a_dependency_of_all_attributes(release: SmallRelease) -> None:
    release.say(dependencies=["age, disease, sex -> stay"])


@case("multi", "the dependency 'age -> name' speaks of something that is no attribute of the release.")
def a_dependency_of_what_is_not_published(release: SmallRelease) -> None:
    release.say(dependencies=["age -> name"])


@case("multi", "parameters: 'age' is neither a rule nor a dependency.")
def a_dependency_that_is_none(release: SmallRelease) -> None:
    release.say(dependencies=["age"])


@case("multi", "nothing is claimed of stay.")
def a_secret_of_which_nothing_is_claimed(release: SmallRelease) -> None:
    release.claims.pop()


@case("multi")
def a_rule_that_asks_for_less(release: SmallRelease) -> None:
    release.say(l={"disease": 4, "stay": 2})
    release.claims[0].update(rule="P(disease | age) ≤ 1/3", l=3)


@case("multi", "the claim 'P(disease | age) ≤ 1/3' has another l than the parameters.")
def a_rule_that_asks_for_more(release: SmallRelease) -> None:
    release.claims[0].update(rule="P(disease | age) ≤ 1/3", l=3)


@pytest.mark.parametrize(("kind", "change", "messages"), case.params)
def test_a_release_of_another_form_is_refused(kind: str, change: Change, messages: list[str], tmp_path: Path) -> None:
    release = KINDS[kind]()
    change(release)
    assert release.problems(tmp_path / "release") == messages
