"""From an unknown table to a release in three commands: init, decide, publish. No sensitive column is left as it is."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pluralis as pls
from pluralis.datasets.hospital import hospital_discharges
from pluralis.policy.strict_yaml import parse_document
from pluralis.profiling import drafting
from pluralis.profiling.drafting import drafted, flow, written
from pluralis.table.icd import icd_line
from support.cli_runner import caller
from support.data_files import data_file
from support.effort import LONG
from support.health_tables import AGENTS, MADE
from support.health_tables import SENSITIVE as MADE_SENSITIVE

ROWS = 1_000_000 if LONG else 2_500  # of each public table at most: of few rows, all are published in a minute
MADE_ROWS = 20_000
ATTACKED = ("demo", "survey", "adult.data.gz", "arx/adult.csv.gz")  # at publication, as whoever publishes has it
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
WORK = ["occupation", "capital-gain", "capital-loss", "income"]
CENSUS = [
    "wage_per_hour", "capital_gains", "capital_losses", "dividends_from_stocks", "income", "tax_filer_status",
    "member_of_labor_union", "reason_for_unemployment", "veterans_benefits", "citizenship", "detailed_occupation_code",
    "major_occupation_code", "fill_inc_questionnaire_veterans_admin", "own_business_or_self_employed",
]  # fmt: skip
CONDITIONS = [f"sp_{one}" for one in ("alzhdmta", "chf", "chrnkidn", "cncr", "copd", "depressn", "diabetes", "ischmcht",
                                      "osteoprs", "ra_oa", "strketia")]  # fmt: skip
MONEY = [f"{kind}_{where}" for kind in ("medreimb", "benres", "pppymt") for where in ("ip", "op", "car")]
CODES = ["admitting_icd9", *(f"icd9_dx{i}" for i in range(1, 10)), *(f"icd9_proc{i}" for i in range(1, 4))]
LIMITS = [
    f"{one} difficulty" for one in ("Self-care", "Hearing", "Vision", "Independent living", "Ambulatory", "Cognitive")
]

SENSITIVE: dict[str, list[str]] = {
    "adult.data.gz": WORK,
    "adult.test.gz": WORK,
    "adult_clean_30162.csv.gz": WORK,
    "adult_clean_45222.csv.gz": WORK,
    "arx/adult.csv.gz": ["occupation", "salary-class"],
    "arx/adult_subset.csv.gz": ["occupation", "salary-class"],
    "census_income_kdd_train.parquet": CENSUS,
    "census_income_kdd_test.parquet": CENSUS,
    "acs2018_us_workers_295k.parquet": [
        "Income", "Occupation", "Citizenship status", *LIMITS, "Gave birth to child within the past 12 months",
        "Military service", "Insurance through a current or former employer or union",
        "Insurance purchased directly from an insurance company", "Employment status of parents",
    ],
    "desynpuf_inpatient_claims.parquet": ["esrd", "payment", "drg", *CODES, *CONDITIONS],
    "desynpuf_beneficiaries_2008.parquet": ["esrd", *CONDITIONS, *MONEY],
    "demo": ["diagnosis", "procedure", "insurer", "charges"],
    **MADE_SENSITIVE,
}  # fmt: skip


def table_of(name: str) -> pl.DataFrame:
    """Some rows of a table, spread over all of it."""
    if name in MADE:
        return MADE[name](min(ROWS, MADE_ROWS))
    if name == "demo":
        return hospital_discharges(min(ROWS, MADE_ROWS))
    path = data_file(name)
    if name in ("adult.data.gz", "adult.test.gz"):  # the raw files have no header
        lines = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        rows = [[value.strip() for value in line] for line in lines if len(line) == len(ADULT)]
        frame = pl.DataFrame(rows, schema=ADULT, orient="row")
    else:
        frame = pls.read_table(path)
    return frame.gather_every(max(1, frame.height // ROWS))


def decided(text: str, sensitive: list[str]) -> str:
    """What a person would answer: what is sensitive, if it can be protected; the rest others may know."""

    def answer(line: str) -> str:
        name = re.match(r'\s*("(?:[^"\\]|\\.)*"|[^:]+?):', line)
        if name is None or "role: decide" not in line:
            return line
        if name[1].strip('"') not in sensitive:
            return line.replace("role: decide", "role: quasi")
        able = re.search(r"\(if sensitive: (\{.*\})\)", line)
        keys, _, comment = line.partition("  # ")
        return f"{keys[: keys.index('{')]}{able[1] if able else '{role: identifier}'}  # {comment}"

    return "\n".join(answer(line) for line in text.split("\n"))


@pytest.fixture
def pluralis(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    return caller(capsys, monkeypatch)


@pytest.mark.parametrize("name", SENSITIVE)
def test_init_decide_publish(name: str, pluralis: Callable[..., Any], tmp_path: Path) -> None:
    table = table_of(name)
    table.write_parquet("table.parquet")
    assert pluralis("init", "table.parquet", "-o", "policy.yaml").code == 0
    first = pls.Policy.read("policy.yaml")
    roles = {column: first.columns[column].role for column in SENSITIVE[name]}
    assert {column: role for column, role in roles.items() if role in ("quasi", "plain")} == {}  # recall of 100 %
    if first.named("decide"):
        refused = pluralis("publish", "table.parquet", "--policy", "policy.yaml", "--out", "release")
        assert refused.code == 2
        assert [column for column in first.named("decide") if column not in refused.err] == []
    quick = [] if name in ATTACKED else ["--no-attack"]
    answered = decided(Path("policy.yaml").read_text(), SENSITIVE[name])
    Path("policy.yaml").write_text(answered)
    ran = pluralis("publish", "table.parquet", "--policy", "policy.yaml", "--out", "release", *quick)
    assert ran.code == 0, ran.err
    assert name not in ATTACKED or "Every claim holds" in ran.out
    published = pls.Policy.parse(answered)
    assert pls.audit(
        "release", None if LONG else table
    ).holds  # whether all rows are covered takes long of large tables
    shown = {column["attribute"] for one in pls.read_release("release").manifest.model_dump()["tables"]
             for column in one["columns"] if column["role"] in ("quasi", "plain")}  # fmt: skip
    assert shown & set(SENSITIVE[name]) == set()
    assert set(published.sensitive) <= set(table.columns)


def test_what_fits_a_few_rows_is_tried_on_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A surplus of one value that a sample does not show makes a policy that the table refuses."""
    rng = random.Random(4)
    rows = 4_000
    ills = [rng.choice("abcdefgh") for _ in range(rows)]
    pays = [rng.choice("pqrstuvw") for _ in range(rows)]
    kept = set(drafting.drawn_rows(pl.DataFrame({"row": range(rows)}), 500, "dry run")["row"])
    for i in range(rows):  # of the others, a third: more than a quarter of the table
        if i not in kept and rng.random() < 0.33:
            ills[i] = "a"
    table = pl.DataFrame({"age": [rng.randrange(80) for _ in range(rows)], "disease": ills, "diagnosis": pays})
    tried: list[tuple[int, bool]] = []
    refused = drafting._refused

    def seen(draft: drafting.Drafted, sample: pl.DataFrame) -> str | None:
        draft.lines["disease"].keys["l"] = min(4, draft.lines["disease"].keys["l"] + (not tried))  # a guess too high
        why = refused(draft, sample)
        tried.append((sample.height, why is None))
        return why

    monkeypatch.setattr(drafting, "TRIED", (500, 10_000))
    monkeypatch.setattr(drafting, "_refused", seen)
    text = pls.profile(table).draft()
    assert tried[0] == (500, True)
    assert (rows, False) in tried
    assert tried[-1] == (rows, True)
    assert "Tried on the table: it can be published." in text
    assert pls.publish(table, pls.Policy.parse(text), key=pls.Key.test(), attacks=False).manifest.rows == rows


def test_the_first_policy_of_encounters() -> None:
    look = pls.profile(MADE["encounters"](2_500))
    policy = pls.Policy.parse(look.draft())
    assert (look.person, policy.person) == ("patient_nbr", "patient_nbr")
    assert policy.columns["encounter_id"].role == "identifier"
    assert policy.columns["admission_type_id"].role == "quasi"  # few values: it names nobody
    assert policy.missing == ["", "?"]
    assert policy.columns["age"].role == "quasi"
    assert policy.l("diag_1") == 4  # though l was lowered before drugs were left out
    assert 7 < len(policy.sensitive) < len(MADE_SENSITIVE["encounters"])  # no row may be suppressed for a bounded value
    assert next(c for c in look.columns if c.name == "age").order[:2] == ("[0-10)", "[10-20)")


@pytest.mark.parametrize("sensitive", [AGENTS, AGENTS[12:], []], ids=["all", "some", "none"])
def test_what_is_suggested_of_undecided_columns_publishes(sensitive: list[str], tmp_path: Path) -> None:
    """Also where they cannot all be protected together, beside people with several rows."""
    table = MADE["trial"](1_500)
    draft = drafted(pls.profile(table))
    assert set(AGENTS) <= set(draft.named("decide"))
    assert 0 < len(draft.not_suggested) < len(AGENTS)
    text = written(draft)
    for name in draft.not_suggested:
        assert "(if sensitive: {role: identifier}); it cannot be protected together with all others" in line_of(
            text, name
        )
    assert f"then {', '.join(draft.not_suggested)} would not be published" in text
    policy = pls.Policy.parse(decided(text, sensitive))
    assert pls.publish(table, policy, key=pls.Key.test(), attacks=False).manifest.rows == 1_500
    assert set(policy.sensitive) & set(AGENTS) == set(sensitive) - set(draft.not_suggested)


def test_an_l_that_undecided_columns_cannot_have_together_is_suggested_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    waves = {f"wave_{j}": draw.choices("pqrs", [6, 5, 5, 5], k=400) for j in range(3)}
    table = pl.DataFrame({"age": [20 + i % 50 for i in range(400)], "illness": draw.choices("abcdef", k=400), **waves})
    refused = drafting._refused

    def crowded(draft: drafting.Drafted, sample: pl.DataFrame, *, undecided: str = "quasi") -> str | None:
        if undecided == "sensitive" and any(line.keys["l"] > 2 for line in draft.suggested.values()):
            return "too much at once"
        return refused(draft, sample, undecided=undecided)

    assert {line.keys["l"] for line in drafted(pls.profile(table)).suggested.values()} == {3}
    monkeypatch.setattr(drafting, "_refused", crowded)
    draft = drafted(pls.profile(table))
    assert {line.keys["l"] for line in draft.suggested.values()} == {2}
    assert (draft.lines["illness"].keys["l"], draft.not_suggested) == (4, [])


def test_a_mark_of_one_column_is_missing_in_all() -> None:
    """Where few rows hold it, it does not look like a mark; but what is missing is said once for the whole table."""
    draw = random.Random(1)
    first = ["?" if i % 4 == 0 else draw.choice("abcd") for i in range(400)]
    second = ["?" if i < 2 else draw.choice("efgh") for i in range(400)]
    table = pl.DataFrame({"age": [20 + i % 50 for i in range(400)], "illness": first, "disease": second})
    draft = drafted(pls.profile(table))
    assert draft.missing == ["?"]
    assert draft.lines["disease"].keys["if_missing"] == {"as": "unknown"}
    assert draft.lines["disease"].role == "sensitive"


def test_nothing_becomes_plain_that_tells_of_anybody() -> None:
    table = pl.DataFrame({"age": range(50), "wave": ["w1"] * 50, "steps": range(50), "illness": ["flu"] * 50})
    roles = {c.name: (c.role, c.reason) for c in pls.profile(table).columns}
    assert roles["wave"] == ("plain", "every row holds the same value: it decides nothing and identifies nobody")
    assert roles["steps"][0] == "decide"
    assert roles["illness"][0] == "sensitive"  # all have it, so that whoever is in the table does


def test_what_cannot_be_known_is_asked_in_a_sentence_and_nothing_is_published(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": list(range(40)), "disease": list("abcd") * 10, "wave_two": ["x", "y"] * 20})
    text = pls.profile(table).draft()
    line = next(line for line in text.splitlines() if "wave_two" in line)
    assert "role: decide" in line
    assert "quasi if somebody else could know it" in line
    (tmp_path / "policy.yaml").write_text(text)
    for refuse in (pls.publish, pls.compare):
        with pytest.raises(pls.PolicyError, match="not decided") as refusal:
            refuse(table, tmp_path / "policy.yaml")
        assert "policy.yaml line 7, 'wave_two'" in str(refusal.value)


def test_adversaries_are_to_be_completed_by_what_is_decided() -> None:
    table = pl.DataFrame(
        {"age": list(range(40)), "disease": list("abcd") * 10, "drug": list("efgh") * 10, "wave_two": ["x", "y"] * 20}
    )
    for columns, said in ((table.columns, True), (["age", "disease", "drug"], False)):
        line = next(line for line in pls.profile(table[columns]).draft().splitlines() if "adversaries:" in line)
        assert ("add to each what you decide is quasi" in line) is said


def test_a_table_without_anything_sensitive_is_published_in_groups_of_k() -> None:
    table = pl.DataFrame({"age": [str(20 + i % 30) for i in range(60)], "sex": ["f", "m"] * 30})
    policy = pls.draft_policy(table)
    assert (policy.k, policy.publish.method) == (5, "mondrian")
    assert pls.publish(table, policy, attacks=False).manifest.rows == 60


def test_amounts_written_with_a_sign_are_not_published() -> None:
    text = pls.profile(MADE["discharges"](500)).draft()
    assert pls.Policy.parse(text).columns["Total Charges"].role == "identifier"
    assert "write plain numbers" in text


@pytest.mark.parametrize("value", [{"role": "sensitive", "at_most": {"Yes": "1/4", "No, maybe": "1/2"}}, ["", "?", "1"],
                                   {"bin": 0.5, "missing": ["null", "true", 'a "b"']}])  # fmt: skip
def test_what_is_written_in_one_line_is_read_back(value: Any) -> None:
    assert parse_document(f"v: {flow(value)}").data == {"v": value}


def flags(rows: int = 400) -> pl.DataFrame:
    """Conditions coded 1 and 2, of which the commoner means yes for one and no for the other."""
    return pl.DataFrame({
        "age": [20 + i % 60 for i in range(rows)],
        "sp_chf": ["2" if i * 277 % 1000 < 277 else "1" for i in range(rows)],
        "hiv_test": ["Yes" if i * 91 % 1000 < 180 else "No" for i in range(rows)],
    })  # fmt: skip


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))


def test_where_nobody_can_know_which_code_means_yes_both_are_bounded() -> None:
    text = pls.profile(flags()).draft()
    assert 'at_most: {"2": 1/3, "1": 9/10}' in line_of(text, "sp_chf")
    assert "'1' (72 % of rows) too, since it may be the one to protect" in line_of(text, "sp_chf")
    assert 'at_most: {"Yes": 1/4}' in line_of(text, "hiv_test")  # a No is no secret
    assert "'No' (82 % of rows) may become certain; if that is the one to protect, use gain or t" in text
    release = pls.publish(flags(), pls.Policy.parse(text), attacks=False)
    assert "P(sp_chf = 1 | age) ≤ 9/10" in {claim.rule for claim in release.manifest.claims}


def test_mondrian_is_taken_where_bsgi_loses_all() -> None:
    draft = drafted(pls.profile(flags()))
    assert (draft.method, draft.k) == ("mondrian", 5)
    assert draft.loss is not None
    assert draft.loss.ncp < 0.1
    assert "Method mondrian, in groups of 5 rows or more: bsgi's information loss is 1.00 here." in draft.remarks


def test_where_both_cannot_be_had_together_the_line_says_which_value_stays_open() -> None:
    draft = drafted(pls.profile(flags()))
    assert set(draft.lines["sp_chf"].keys["at_most"]) == {"1", "2"}
    assert drafting._open_commoner(draft)
    line = draft.lines["sp_chf"]
    assert line.keys["at_most"] == {"2": "1/3"}
    (said,) = (comment for comment in line.comments if "too skewed for any l" in comment)
    assert "'1' (72 % of rows) may become certain; if that is the one to protect, use gain or t" in said


def test_what_is_left_out_is_named_and_its_line_says_one_thing(pluralis: Callable[..., Any]) -> None:
    MADE["encounters"](300).write_csv("table.csv")
    ran = pluralis("init", "table.csv", "-o", "policy.yaml")
    text = Path("policy.yaml").read_text()
    marked = "; cannot be protected together with the other sensitive columns, so not published"
    left = [line.strip().partition(":")[0].strip('"') for line in text.splitlines() if line.endswith(marked)]
    assert "insulin" in left
    said = f"Left out, because they cannot all be protected together: {', '.join(left)}; choose which to keep."
    assert said in " ".join(ran.out.split())
    assert said in text
    assert "role: identifier" in line_of(text, "insulin")
    assert "bounded" not in line_of(text, "insulin")
    assert json.loads(pluralis("init", "table.csv", "-o", "other.yaml", "--json").out)["left_out"] == left


def test_the_draft_says_what_was_lost_and_publishing_does(pluralis: Callable[..., Any]) -> None:
    flags().write_csv("table.csv")
    assert pluralis("init", "table.csv", "-o", "policy.yaml").code == 0
    assert re.search(r"# Information loss [01]\.\d\d: \d+ % of the detail of quasi-id", Path("policy.yaml").read_text())
    ran = pluralis("publish", "table.csv", "--policy", "policy.yaml", "--out", "release", "--no-attack")
    assert re.search(r"Information loss [01]\.\d\d: \d+ % of the detail of quasi-identifiers", ran.out)


def test_where_much_is_lost_the_draft_says_what_would_lower_it_and_what_bounding_both_values_costs() -> None:
    draw = random.Random(5)
    conditions = {f"sp_{i}_diagnosis": ["2" if draw.random() < 0.3 else "1" for _ in range(300)] for i in range(4)}
    text = pls.profile(pl.DataFrame({"age": [20 + i % 60 for i in range(300)], **conditions})).draft()
    (line,) = (line for line in text.splitlines() if line.startswith("# Information loss"))
    assert "4 sensitive columns are protected together: fewer of them in one release, a smaller l" in line
    both, rarer = (float(number) for number in re.findall(r"0\.\d\d|1\.00", line))
    assert both > 0.5
    assert rarer < both


def test_joined_codes_are_counted_in_rows_and_chapters_are_offered() -> None:
    draw = random.Random(2)
    codes = (
        [f"{i}" for i in range(780, 960) if icd_line(str(i), 9)]
        + [f"250.{i}" for i in range(10, 40)]
        + [f"V{i}" for i in range(10, 40)]
    )
    table = pl.DataFrame({"age": [20 + i % 60 for i in range(6_000)],
                          "diag_1": [codes[int(len(codes) * draw.random() ** 1.5)] for _ in range(6_000)]})  # fmt: skip
    rare = {code for code, rows in table["diag_1"].value_counts().iter_rows() if rows < 20}
    rows = table["diag_1"].is_in(list(rare)).sum()
    line = line_of(pls.profile(table).draft(), "diag_1")
    assert f"{len(rare)} values that fewer than 20 rows hold become one, {rows:,} rows (" in line
    assert "; rare: {below: 20, along: {icd: 9}} joins them along chapters instead" in line


def places(rows: int = 3_000) -> pl.DataFrame:
    """People of whom few are old, in zip codes of counties of regions and in many small towns."""
    draw = random.Random(3)
    zips = [str(10_000 + draw.randrange(200)) for _ in range(rows)]
    stays = [str(1 + int(draw.expovariate(0.2))) if draw.random() < 0.99 else "120 +" for _ in range(rows)]
    return pl.DataFrame({
        "age": [draw.randrange(80) if draw.random() < 0.99 else draw.randrange(91, 104) for _ in range(rows)],
        "zipcode": zips,
        "county": [f"c{int(one) % 20}" for one in zips],
        "region": [f"r{int(one) % 4}" for one in zips],
        "city": [f"town {int(300 * draw.random() ** 4)}" for _ in range(rows)],
        "hours": [draw.randrange(1, 60) if draw.random() < 0.998 else draw.randrange(200, 400) for _ in range(rows)],
        "disease": draw.choices("abcdefgh", k=rows),
        "length_of_stay": stays,
    })  # fmt: skip


def test_quasi_identifiers_are_recoded_as_their_values_ask_for() -> None:
    text = pls.profile(places()).draft()
    assert "hierarchy: {columns: [zipcode, county, region]}" in line_of(text, "zipcode")
    assert "county, region: its wider values; as a line of its own, county may tell more" in line_of(text, "zipcode")
    assert "{role: quasi, type: number, top: 90}" in line_of(text, "age")
    assert "few rows lie above 90" in line_of(text, "age")
    assert "{role: quasi, type: number, top: 60}" in line_of(text, "hours")
    assert "rare: {below: 20, as: other}}  # 2" in line_of(text, "city")
    assert "that fewer than 20 rows hold become one" in line_of(text, "city")
    assert 'order: ["1", "2"' in line_of(text, "length_of_stay")
    assert '"120 +"]' in line_of(text, "length_of_stay")
    assert "it can be published" in text
    policy = pls.Policy.parse(text)
    shown = pls.publish(places(), policy, key=pls.Key.test(), attacks=False).tables["microdata"]
    assert not any(re.search(r"9[1-9]|10\d", label) for label in shown["age"])
    assert {*shown["zipcode"]} & {f"c{i}" for i in range(20)}


def test_what_gains_nothing_from_it_is_not_recoded() -> None:
    draw = random.Random(3)
    table = places().with_columns(
        age=pl.Series([draw.randrange(90) for _ in range(3_000)]),
        county=pl.Series([f"c{draw.randrange(20)}" for _ in range(3_000)]),
        region=pl.Series([f"r{draw.randrange(4)}" for _ in range(3_000)]),
        city=pl.Series([f"town {draw.randrange(30)}" for _ in range(3_000)]),
        hours=pl.Series([draw.randrange(60) for _ in range(3_000)]),
    )
    text = pls.profile(table).draft()
    assert "hierarchy: {mask: right}" in line_of(text, "zipcode")
    for name in ("age", "hours"):
        assert "{role: quasi, type: number}" in line_of(text, name)
    assert "{role: quasi}" in line_of(text, "city")


def people(rows: int = 1_200, *, each: int = 2) -> pl.DataFrame:
    """People with several rows each, whose ids look like codes of diagnoses."""
    draw = random.Random(5)
    ids = [f"K{draw.randint(10_000, 99_999)}" for _ in range(rows // each)]
    return pl.DataFrame({
        "Person ID": [ids[i // each] for i in range(rows)],
        "Full Name": [f"{draw.choice(['Ann', 'Bob', 'Eve'])} {draw.choice(['Lee', 'Rossi'])}" for _ in range(rows)],
        "age": [draw.randint(0, 97) if i else 999 for i in range(rows)],
        "disease": [draw.choice(["flu", "gout", "hiv", "acne", "none"]) for _ in range(rows)],
    })  # fmt: skip


@pytest.mark.parametrize("name", ["Person ID", "patient_id", "mrn"])
def test_ids_that_look_like_codes_are_never_published(name: str) -> None:
    policy = pls.draft_policy(people().rename({"Person ID": name}))
    assert {column: str(policy.columns[column].role) for column in (name, "Full Name")} == {
        name: "identifier", "Full Name": "identifier"
    }  # fmt: skip
    assert policy.person == name


def test_whose_rows_are_many_is_a_person_too() -> None:
    assert pls.profile(people(each=40)).person == "Person ID"


def test_codes_that_hardly_repeat_are_asked_about() -> None:
    draw = random.Random(1)
    codes = [f"{draw.choice('ABCDEFGH')}{draw.randint(1000, 9999)}" for _ in range(700)]
    table = pl.DataFrame({"third": codes + codes[:300]})
    (column,) = pls.profile(table).columns
    assert (column.shape, column.role) == ("icd-10", "decide")


def test_an_age_that_nobody_has_is_cut_off_and_the_ends_of_numbers_are_shown(pluralis: Callable[..., Any]) -> None:
    people().write_csv("table.csv")
    line = line_of(pls.profile(people()).draft(), "age")
    assert "{role: quasi, type: number, top: 100}" in line
    assert "999 is no age: correct it, or declare it in missing" in line
    assert "age  0 to 999" in " ".join(pluralis("profile", "table.csv").out.split()).replace("age 0", "age  0")
    steps = pls.profile(people().rename({"age": "steps"})).draft()
    assert "few rows lie far out: if quasi, add top: 100" in line_of(steps, "steps")


def test_rare_values_that_are_published_as_they_are_are_counted() -> None:
    draw = random.Random(7)
    codes = [f"{letter}{number:02}" for letter in "ABCDEFGHIJKLMN" for number in range(0, 99, 3)]
    codes = [code for code in codes if icd_line(code, 10)]
    weights = [1 / (i + 1) ** 0.9 for i in range(len(codes))]
    draw.shuffle(codes)
    table = pl.DataFrame({"age": [20 + i % 60 for i in range(3_000)], "icd10": draw.choices(codes, weights, k=3_000)})
    line = line_of(pls.profile(table).draft(), "icd10")
    assert "rare: {" not in line.partition("#")[0]
    assert re.search(r"\d\d\d of \d\d\d values are held by fewer than 20 rows, and published as they are", line)
    assert "rare: {below: 20, along: {icd: 10}} joins them along chapters" in line


def test_of_several_columns_of_codes_as_many_as_can_be_have_both_values_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(5)
    flags = {f"sp_{i}_diagnosis": ["2" if draw.random() < 0.2 else "1" for _ in range(300)] for i in range(5)}
    table = pl.DataFrame({"age": [20 + i % 60 for i in range(300)], **flags})

    def at_most_two(draft: drafting.Drafted, sample: pl.DataFrame, *, undecided: str = "quasi") -> str | None:
        both = [line for line in draft.lines.values() if len(line.keys.get("at_most", ())) == 2]
        return "too many" if len(both) > 2 else None

    monkeypatch.setattr(drafting, "_refused", at_most_two)
    draft = drafted(pls.profile(table))
    rarer = [name for name in flags if len(draft.lines[name].keys["at_most"]) == 1]
    assert len(rarer) == 3
    (said,) = (remark for remark in draft.remarks if remark.startswith("Only the rarer of two values is bounded"))
    assert all(name in said for name in rarer)
