"""The query language: what it reads, what it refuses and where it points, and what a release can be asked."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import polars as pl
import pytest

from pluralis.errors import QueryError
from pluralis.estimate.conditions import All, Check, Condition, Not, Some, col
from pluralis.estimate.language import MAX_OPEN, Query, parse, resolve
from pluralis.estimate.tokens import MAX_LENGTH
from pluralis.publishing.pipeline import publish
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.release.release import Release
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

A, B, C = Check("a", "=", (1,)), Check("b", "=", (2,)), Check("c", "=", (3,))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("age = 30", Check("age", "=", (30,))),
        ("age != 30", Check("age", "!=", (30,))),
        ("age <> 30", Check("age", "!=", (30,))),
        ("age<30", Check("age", "<", (30,))),
        ("age<=30", Check("age", "<=", (30,))),
        ("age>30", Check("age", ">", (30,))),
        ("age>=-30", Check("age", ">=", (-30,))),
        ("age > .5", Check("age", ">", (0.5,))),
        ("age > -1.5e3", Check("age", ">", (-1500.0,))),
        ("n = 9007199254740993", Check("n", "=", (9007199254740993,))),
        ("age between 30 and 40", Check("age", "BETWEEN", (30, 40))),
        ("age NOT BETWEEN 30 AND 30", Not(Check("age", "BETWEEN", (30, 30)))),
        ("sex IN ('f')", Check("sex", "IN", ("f",))),
        ("sex Not In ('f', 'm', 3)", Not(Check("sex", "IN", ("f", "m", 3)))),
        ("sex IS NULL", Check("sex", "IS NULL")),
        ("sex is not null", Not(Check("sex", "IS NULL"))),
        ("name = 'O''Brien, \"Pat\"'", Check("name", "=", ('O\'Brien, "Pat"',))),
        ("name = ''", Check("name", "=", ("",))),
        ("education-num > 9", Check("education-num", ">", (9,))),
        ("été.1_x = 1", Check("été.1_x", "=", (1,))),
        ("年齢 = 1", Check("年齢", "=", (1,))),
        ("हिन्दी = 1", Check("हिन्दी", "=", (1,))),
        ("\"blood group\" = '0'", Check("blood group", "=", ("0",))),
        ('"a""b" = 1', Check('a"b', "=", (1,))),
        ('"where" = 1', Check("where", "=", (1,))),
        ("android = 1", Check("android", "=", (1,))),
        ("select = 1", Check("select", "=", (1,))),
        ("select\tis null", Check("select", "IS NULL")),
        ("select-x = 1", Check("select-x", "=", (1,))),
        ("selecté = 1", Check("selecté", "=", (1,))),
        ("a = 1 AND b = 2 OR c = 3", Some((All((A, B)), C))),
        ("a = 1 OR b = 2 AND c = 3", Some((A, All((B, C))))),
        ("a = 1 AND (b = 2 OR c = 3)", All((A, Some((B, C))))),
        ("NOT a = 1 AND b = 2", All((Not(A), B))),
        ("NOT (a = 1 AND b = 2)", Not(All((A, B)))),
        ("NOT NOT a = 1", Not(Not(A))),
        ("(a = 1 AND b = 2) AND c = 3", All((A, B, C))),
        ("a=1\n\tAND b=2", All((A, B))),
    ],
)
def test_conditions(text: str, where: Condition) -> None:
    assert parse(text) == parse(f"WHERE {text}") == parse(f"count where {text}") == Query(where)
    assert parse(f'{text} BY sex, "by"') == Query(where, ("sex", "by"))


def test_whole_numbers_stay_whole() -> None:
    check = parse("n IN (9007199254740993, 1.0)").where
    assert isinstance(check, Check)
    assert [type(value) for value in check.values] == [int, float]


def test_queries_without_a_condition() -> None:
    assert parse("COUNT") == Query(None)
    assert parse("count BY sex") == parse("by sex") == Query(None, ("sex",))
    assert str(Query(None)) == "COUNT"


def test_a_query_writes_itself() -> None:
    query = Query((col("blood group") == "O'") & (col("age") > 3.5) | ~col("in").is_null(), ("count", "sex"))
    assert str(query) == 'COUNT WHERE ("blood group" = \'O\'\'\' AND age > 3.5) OR NOT ("in" IS NULL) BY "count", sex'
    assert parse(str(query)) == query


# what is refused ------------------------------------------------------------------------------------------------


def refused(text: str) -> tuple[str, str]:
    """What is said of a query, and what is marked in it."""
    with pytest.raises(QueryError) as refusal:
        parse(text)
    message, line, marks = str(refusal.value).split("\n")
    assert refusal.value.exit_code == 2
    assert line.startswith("  ")
    assert set(marks) <= {" ", "^"}
    return message, line[marks.index("^") : len(marks)]


@pytest.mark.parametrize(
    ("text", "marked", "expected"),
    [
        ("", "", "empty"),
        ("   ", "", "empty"),
        ("age", "", "Expected a comparison"),
        ("age 30", "30", "Expected a comparison"),
        ("age >", "", "Expected a value"),
        ("age > > 30", ">", "Expected a value"),
        ("age > AND sex = 'f'", "AND", "Expected a value"),
        ("disease = flu", "flu", "quote it: 'flu'"),
        ("country = United States AND a = 1", "United States", "quote it: 'United States'"),
        ('disease = "flu"', '"flu"', "Double quotes are for names; quote it: 'flu'"),
        ("disease IN ('flu', hiv)", "hiv", "quote it: 'hiv'"),
        ("disease = NULL", "NULL", "IS NULL"),
        ("40 > age", "40", "Write age < 40."),
        ("40 = age", "40", "Write age = 40."),
        ("'flu'", "'flu'", "The attribute comes first"),
        ("a = 1 AND 3 <= b", "3", "Write b >= 3."),
        ("age BETWEEN 40 AND 30", "40 AND 30", "wrong way round"),
        ("age BETWEEN 40", "", "Expected AND"),
        ("age BETWEEN 30, 40", ",", "Expected AND"),
        ("sex IN ()", ")", "IN () holds no value"),
        ("sex IN 'f'", "'f'", "list in parentheses"),
        ("sex IN ('f' 'm')", "'m'", "Expected a comma"),
        ("sex IN ('f',)", ")", "Expected a value"),
        ("sex IN ('f'", "", "Expected a comma"),
        ("sex IS 'f'", "'f'", "Expected NULL"),
        ("sex NOT 'f'", "'f'", "Expected BETWEEN or IN"),
        ("sex NOT NULL", "NULL", "Expected BETWEEN or IN"),
        ("(a = 1", "(", "not closed"),
        ("(a = 1 b = 2)", "b", "to close"),
        ("a = 1)", ")", "not opened"),
        ("a = 1 b = 2", "b", "Expected AND, OR, BY"),
        ("a = 1 AND", "", "Expected the name"),
        ("a = 1 AND OR b = 2", "OR", "OR is a word of the language"),
        ("NOT", "", "Expected the name"),
        ("count = 3", "=", "Expected WHERE"),
        ("COUNT age > 3", "age", "Expected WHERE"),
        ("COUNT(*) WHERE a = 1", "*", "not part of the language"),
        ("a = 1 AND count = 3", "count", 'written "count"'),
        ("SELECT gender, sum(count) FROM expected", "SELECT", "This is SQL. Ask with --sql"),
        ("  select * from expected;", "select", "This is SQL. Ask with --sql"),
        ("select", "select", "This is SQL. Ask with --sql"),
        ("COUNT WHERE", "", "Expected the name"),
        ("COUNT WHERE BY sex", "BY", "BY is a word"),
        ("COUNT BY", "", "Expected the name"),
        ("COUNT BY sex,", "", "Expected the name"),
        ("COUNT BY sex age", "age", "Expected a comma"),
        ("COUNT BY sex, age, sex", "sex", "twice"),
        ("COUNT BY sex WHERE a = 1", "WHERE", "WHERE comes before BY"),
        ("COUNT BY 'sex'", "'sex'", "Expected the name"),
        ("a == 1", "==", "Write =."),
        ("a = 1 && b = 2", "&", "Write AND."),
        ("a = 1;", ";", "Leave it out."),
        ("a = “flu”", "“", "single quotes"),
        ("a = 'flu", "'", "not closed"),
        ("a = 'O'Brien'", "'", "inside quotes write ''"),
        ('"a = 1', '"', "not closed"),
        ("1st = 2", "1st", "stands in double quotes"),
        ("a = 1.2.3", "1.2.3", "is no number"),
        ("a = 1988/04/17", "/", "not part of the language"),
        ("a = 1e999", "1e999", "too large"),
        ("a = +3", "+", "not part of the language"),
        ("a = --3", "-", "not part of the language"),
        ("ıs = 1 ıs NULL", "ıs", "Expected AND"),
    ],
)  # fmt: skip
def test_errors_point_at_the_place(text: str, marked: str, expected: str) -> None:
    sentence, pointed = refused(text)
    assert expected in sentence
    assert pointed == marked


def test_the_second_of_two_is_marked() -> None:
    with pytest.raises(QueryError) as refusal:
        parse("COUNT BY sex, age, sex")
    assert str(refusal.value).split("\n")[1:] == ["  COUNT BY sex, age, sex", "                     ^^^"]


def test_control_characters_are_shown_as_blanks() -> None:
    with pytest.raises(QueryError) as refusal:
        parse("a\n=\t1\r\nAND\u2028b\x85=\u00a0flu \u001b[31m")
    assert str(refusal.value).split("\n")[0].startswith("'\\x1b' is not part")
    with pytest.raises(QueryError) as refusal:
        parse("a\n=\t'\u001b[31m\u202e'\r\nAND\u2028b\x85=\u00a0flu")
    _, line, marks = str(refusal.value).split("\n")
    assert line == "  a = ' [31m '  AND b = flu"
    assert line[marks.index("^") :] == "flu"


def test_marks_stand_below_wide_and_combining_characters() -> None:
    with pytest.raises(QueryError) as refusal:
        parse("年齢 = 1 AND e\u0301 = 病気")
    _, line, marks = str(refusal.value).split("\n")
    assert line == "  年齢 = 1 AND e\u0301 = 病気"
    assert marks == " " * (len("  年齢 = 1 AND e = ") + 2) + "^" * 4


def test_a_long_query_is_shown_in_part() -> None:
    some = " OR ".join(f"a = {i}" for i in range(500))
    assert refused(f"{some} OR b = flu OR {some[:1000]}")[1] == "flu"
    with pytest.raises(QueryError) as refusal:
        parse(f"{some} OR b = flu OR {some[:1000]}")
    assert max(map(len, str(refusal.value).split("\n"))) < 110
    assert refused("a = " + "b" * 5000)[1].startswith("bbb")


def test_length_and_depth_are_bounded() -> None:
    assert "at most 10,000" in refused("a" * (MAX_LENGTH + 1))[0]
    for opened, closed in (("(", ")"), ("NOT ", ""), ("NOT (", ")")):
        message, marked = (
            refused(opened * 2000 + "a = 1" + closed * 2000) if len(opened) < 5 else refused(opened * 1000)
        )
        assert f"more than {MAX_OPEN} deep" in message
        assert marked in ("(", "NOT")
    deep = parse("(" * MAX_OPEN + "a = 1" + ")" * MAX_OPEN)
    assert deep == Query(A)
    ladder = "a = 1 OR b = 2 AND (" * 25 + "a = 1" + ")" * 25
    assert parse(str(parse(ladder))) == parse(ladder)
    assert "50 deep" in refused("a = 1 OR b = 2 AND (" * 30 + "a = 1" + ")" * 30)[0]
    assert "too large" in refused("a = " + "9" * 5000)[0]
    assert refused("a = " + "0" * 5000)[1].startswith("000")


def test_bytes_that_are_no_text_are_refused() -> None:
    assert refused("a = '\udcff'")[1] == "' '"
    assert refused("a\udcff = 1")[1] == " "


# what a release can be asked ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients() -> Release:
    return publish(PATIENTS, patients_policy(method="bsgi"), key=KEY)


WORK = pl.DataFrame(
    {
        "age": [20, 25, 30, 35, 40, 45],
        "job": ["Cook", "cook", "Nurse", "nurse", "Clerk", "clerk"],
        "code": ["a", "A", "b", "B", "c", "C"],
        "salary": [120, 180, 260, 350, 470, 580],
    }
)
WORK_POLICY: dict[str, Any] = {
    "age": {"role": "quasi", "type": "number"},
    "job": {"role": "plain"},
    "code": {"role": "sensitive", "l": 2, "case": "keep"},
    "salary": {"role": "sensitive", "l": 2, "type": "number", "bin": 100},
}


RELEASES: dict[str, dict[str, Any]] = {
    "generalized": {"method": "bsgi"},
    "generalized, unlinked": {"method": "bsgi", "adversaries": [["age", "code"]]},
    "bucketized": {"method": "msb"},
    "bucketized, unlinked": {"method": "msb", "adversaries": [["age", "code"]]},
    "decomposed, joint": {"method": "decomposition", "options": {"sensitive_table": "joint"}},
    "decomposed, marginals": {"method": "decomposition", "options": {"sensitive_table": "marginals"}},
    "decomposed, none": {"method": "decomposition", "options": {"sensitive_table": "none"}},
    "sliced": {"method": "sloms", "options": {"slices": 2}},
    "sliced, unlinked": {"method": "sloms", "adversaries": [["age", "code"]], "options": {"slices": 1}},
}


@pytest.fixture(scope="module", params=list(RELEASES))
def work(request: pytest.FixtureRequest) -> Release:
    return publish(WORK, policy_of(WORK_POLICY, **RELEASES[request.param]), key=KEY)


def test_attributes_of_every_kind(work: Release) -> None:
    infos = attributes_of(work)
    assert set(infos) == {"age", "job", "code", "salary"}
    assert all(info.name == info.attribute == name for name, info in infos.items())
    assert infos["code"].domain == ("A", "B", "C", "a", "b", "c")
    assert infos["salary"].domain == ("[100, 199]", "[200, 299]", "[300, 399]", "[400, 499]", "[500, 599]")
    assert infos["age"].domain == (20, 45)
    assert {info.role for info in infos.values()} == {"quasi", "plain", "sensitive"}


def test_attributes_that_stand_in_rows() -> None:
    info = ColumnInfo(name="disease", role="sensitive", type="text", attribute="disease", domain=("flu", "hiv"))
    rows = [ColumnInfo(name=n, role=n, type="text") for n in ("group", "attribute", "value", "count")]  # type: ignore[arg-type]
    assert attributes_of(bare(rows, {"domains": {"disease": info.model_dump(mode="json", exclude_none=True)}})) == {
        "disease": info
    }


def bare(columns: list[ColumnInfo], parameters: dict[str, Any]) -> Release:
    table = TableInfo(name="sensitive", file="sensitive.parquet", columns=tuple(columns))
    manifest = Manifest(method="anatomy", variant="hardened", kind="bucketized", rows=2, suppressed=0, claims=(),
                        breaks=(), tables=(table,),
                        parameters={"linked": True, "l": {}, "options": {}, **parameters})  # fmt: skip
    return Release(manifest, {})


def asked(release: Release, text: str) -> str:
    return str(resolve(parse(text), release))


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("disease = ' cancer'", "COUNT WHERE disease = 'Cancer'"),
        ("disease != 'FLU' BY gender, age", "COUNT WHERE disease != 'Flu' BY gender, age"),
        ("disease IN ('flu', 'FLU', 'obesity')", "COUNT WHERE disease IN ('Flu', 'Obesity')"),
        ("postcode = '10075' AND age < 4.5", "COUNT WHERE postcode = '10075' AND age < 4.5"),
        ("age > 1000 OR NOT disease IS NULL", "COUNT WHERE age > 1000 OR NOT (disease IS NULL)"),
        ("COUNT", "COUNT"),
    ],
)
def test_values_get_their_published_spelling(patients: Release, text: str, resolved: str) -> None:
    assert asked(patients, text) == asked(patients, resolved) == resolved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("diseas = 'Flu'", "no attribute 'diseas'. Did you mean 'disease'?"),
        (
            "name = 'Alice'",
            "no attribute 'name': if the table had one, it was not published. Known: age, gender, postcode, disease.",
        ),
        (
            "charges = 5",
            "no attribute 'charges': if the table had one, it was not published. Known: age, gender, postcode",
        ),
        ("desease = 'Flu'", "no attribute 'desease'. Did you mean 'disease'?"),
        ("COUNT BY gendr", "no attribute 'gendr'. Did you mean 'gender'?"),
        ("group = 1", "'group' is a column of the published tables, not an attribute of people. Known: age"),
        ("disease = 'Fluu'", "'disease' has no value 'Fluu'. Did you mean 'Flu'?"),
        ("NOT (disease IN ('Flu', 'Cancr'))", "Did you mean 'Cancer'?"),
        ("disease != 'malaria'", "'disease' has no value 'malaria'. Known: Cancer, Flu, Obesity."),
        ("postcode = '1007*'", "'postcode' has no value '1007*'. Did you mean '1007"),
        ("postcode = 10075", "'postcode' holds text. Put the value in single quotes: '10075'."),
        ("disease > 'Flu'", "'disease' holds text, which has no order for >."),
        ("postcode BETWEEN 1 AND 2", "'postcode' holds text, which has no order for BETWEEN."),
        ("age = '30'", "'age' holds numbers, '30' is text. Write 30 without quotes."),
        ("age IN (30, 'old')", "'age' holds numbers, 'old' is text. Compare it with a number."),
        ("age BETWEEN 30 AND 'x'", "'age' holds numbers, 'x' is text."),
    ],
)
def test_what_a_release_cannot_be_asked(patients: Release, text: str, expected: str) -> None:
    with pytest.raises(QueryError) as refusal:
        asked(patients, text)
    assert expected in str(refusal.value)


def test_case_is_kept_where_the_policy_keeps_it(work: Release) -> None:
    assert asked(work, "code = 'a' AND job = 'COOK'").startswith("COUNT WHERE code = 'a' AND job = ")
    assert asked(work, "code IN ('a', 'A')") == "COUNT WHERE code IN ('a', 'A')"
    with pytest.raises(QueryError, match="'code' has no value 'd'"):
        asked(work, "code = 'd'")


def test_bins_are_asked_with_numbers_and_with_their_labels(work: Release) -> None:
    text = (
        "COUNT WHERE salary > 250 AND salary BETWEEN 1 AND 2 AND salary = '[100, 199]' AND salary IN ('[300, 399]', 7)"
    )
    assert asked(work, text) == text
    for wrong, expected in {
        "salary > '[100, 199]'": "published in intervals; > needs a number",
        "salary BETWEEN '1' AND '2'": "published in intervals; BETWEEN needs a number",
        "salary = '[100, 198]'": "Did you mean '[100, 199]'?",
    }.items():
        with pytest.raises(QueryError) as refusal:
            asked(work, wrong)
        assert expected in str(refusal.value)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (col("age").between(40, 30), "wrong way round"),
        (col("age").is_in([]), "holds no value"),
        (col("age") > float("nan"), "no number"),
        (col("age") > float("inf"), "infinite"),
        (col("age") > 10**400, "infinite"),
        ("age > 30", "is no condition"),
        (reduce(lambda a, i: ~a, range(60), A), "50 deep"),
    ],
)
def test_conditions_built_in_python_are_held_to_the_same(patients: Release, where: Any, expected: str) -> None:
    with pytest.raises(QueryError) as refusal:
        resolve(Query(where), patients)
    assert expected in str(refusal.value)


def test_a_long_chain_built_in_python_is_flattened(patients: Release) -> None:
    where = resolve(Query(reduce(or_, [col("age") == i for i in range(5000)])), patients).where
    assert isinstance(where, Some)
    assert len(where.parts) == 5000


def test_a_query_names_no_attribute_twice() -> None:
    with pytest.raises(QueryError, match="'sex' twice"):
        Query(None, ("sex", "age", "sex"))
