"""The report: everything is in it, nothing of the data becomes markup, and it needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import Result
from pluralis.auditing import audit
from pluralis.auditing.verdict import Finding, Verdict
from pluralis.display.escaping import printable
from pluralis.metrics.distributions import Distribution
from pluralis.metrics.loss import Loss
from pluralis.metrics.risk import Classes, ReidentificationRisk, risk_of_classes
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo
from pluralis.release.release import Release
from pluralis.report.charts import MOST_BINS, bars, fit, fit_apart, group_sizes, paired_bars, paired_steps, size_bins
from pluralis.report.claims import MOST, SECRET_KEY
from pluralis.report.exposure import PARTS, Exposure, Weak, exposures
from pluralis.report.report import render_report
from pluralis.report.risk import FIRST, with_results
from support.sample_tables import KEY, PATIENTS, patients_policy

SECTIONS = ["What was asked", "What holds", "Who learns what", "Who can be found", "What was lost"]
SECTIONS += ["Which groups are weakest"]
SECTIONS += ["What this method does not stop", "Notes and handling"]
SECTIONS += ["Notes from reading", "Keep secret", "Hand out"]
MARKS = {"got": "circle", "prior": "path", "posterior": "path", "promise": "line", "interval": "line"}
EVIL = "<script>alert('x')</script> & \"q\""
LONG = "a-value-with-a-very-long-name-" * 20
MODELS = {
    "frequency": (0.25, 0.25, "at most 25.00\xa0%", "25.00\xa0%"),
    "distinct": (6.0, 4.0, "at least 4 values", "6 values"),
    "entropy": (4.31, 4.0, "at least 4 even values", "4.31 even values"),
    "recursive": (1.5, 2.0, "ratio below 2", "1.5"),
    "unique-distinct": (5.0, 4.0, "4 values, each once", "5 values"),
}


class Inputs(NamedTuple):
    """What a report is made of."""

    policy: Policy
    manifest: Manifest
    verdict: Verdict
    loss: Loss
    notes: tuple[str, ...] = ()
    attacked: tuple[Result, ...] | None = None
    exposures: tuple[Exposure, ...] = ()

    @property
    def page(self) -> str:
        return render_report(*self)


class Page(HTMLParser):
    """Reads a page and complains of tags that do not balance."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    @property
    def titles(self) -> list[str]:
        return [value for _, name, value in self.attributes if name == "title"]


def claims_on(quasi: tuple[str, ...], sensitive: tuple[str, ...], model: str) -> list[Claim]:
    """A claim for each sensitive attribute; where there is none, one of k-anonymity."""
    return [
        Claim(
            rule=f"knowing {', '.join(sorted(quasi))}: {name} keeps its promise",
            model=model,
            adversary=tuple(sorted(quasi)),
            attribute=name,
            l=4,
            c=2.0 if model == "recursive" else None,
        )
        for name in sensitive
    ] or [
        Claim(
            rule="4-anonymity: every group has at least 4 rows",
            model="k-anonymity",
            adversary=tuple(sorted(quasi)),
            k=4,
        )
    ]


def inputs(
    quasi: tuple[str, ...] = ("age", "gender"),
    sensitive: tuple[str, ...] = ("disease",),
    model: str = "frequency",
    values: tuple[str, ...] = ("flu", "hiv"),
    sizes: dict[int, int] | None = None,
    test: bool = False,
) -> Inputs:
    """A policy with these attributes, and a release that keeps it."""
    sizes = sizes or {4: 90, 5: 8}
    c = {"c": 2} if model == "recursive" else {}
    policy = Policy.from_dict(
        {
            "version": 1,
            "attributes": {
                **{name: {"role": "quasi"} for name in quasi},
                **{name: {"role": "sensitive", "l": 4, "model": model, **c} for name in sensitive},
            },
            **({} if sensitive else {"k": 4}),
        }
    )
    measured, promised, *_ = MODELS[model]
    claims = claims_on(quasi, sensitive, model)
    rows = sum(size * count for size, count in sizes.items())
    infos = [ColumnInfo(name=name, role="quasi", type="text", attribute=name) for name in quasi]
    infos += [ColumnInfo(name=name, role="sensitive", type="text", attribute=name) for name in sensitive]
    manifest = Manifest(
        method="bsgi",
        variant="hardened",
        kind="generalized",
        rows=rows,
        suppressed=3,
        claims=tuple(claims),
        breaks=("algorithm: someone who knows the method can be certain", "membership: this is not concealed"),
        parameters={"linked": True, "l": dict.fromkeys(sensitive, 4), "options": {}},
        tables=(TableInfo(name="microdata", file="microdata.parquet", sha256="ab" * 32, columns=tuple(infos)),),
        test=test,
    )
    top = 0.25 if sensitive else None
    findings = [Finding("tables, hashes and manifest agree", True, 0.0, 0.0)]
    findings += [
        Finding(claim.rule, True, measured if sensitive else 4.0, promised, top, "group 118") for claim in claims
    ]
    even = tuple(1 / len(values) for _ in values)
    loss = Loss(
        rows=rows,
        suppressed=3,
        groups=sum(sizes.values()),
        ncp=0.1234,
        ncp_with_suppressed=0.1311,
        ncp_by_attribute={name: i / 50 for i, name in enumerate(quasi)},
        discernibility=98_765,
        average_group=4.0816,
        suppressed_share=3 / (rows + 3),
        group_sizes=sizes,
        distributions=tuple(Distribution(info.name, info.role, values, even, even, 0.0) for info in infos),
    )
    return Inputs(policy, manifest, Verdict(tuple(findings), manifest.breaks), loss, ("disease: read as text.",))


def got(success: float = 0.6, **more: Any) -> Result:
    """What one attack got from everybody."""
    ends = {"success": success, "low": success, "high": success}
    return Result(**{"attack": "definetti", "question": "disease, knowing age", "targets": 400, "sampled": False,
                     "prior": 0.2, "attribute": "disease", **ends, **more})  # fmt: skip


def exposed(attribute: str = "disease", learned: bool = True) -> Exposure:
    """Fifty groups at 1/4, which learning makes sure."""
    alone, sure = [0] * PARTS, [0] * PARTS
    alone[4], sure[19] = 50, 50
    weak = tuple(Weak(f"group {n}", 4, 0.25, 0.99 if learned else None) for n in (17, 23))
    return Exposure(attribute, "", 0.25, tuple(alone), tuple(sure) if learned else None, weak)


def attacked(*results: Result, **more: Any) -> Inputs:
    return inputs(**more)._replace(attacked=results, exposures=(exposed(), exposed("second", learned=False)))


def with_finding(case: Inputs, **changes: object) -> Inputs:
    """The same, with another last finding."""
    *others, last = case.verdict.findings
    return case._replace(verdict=replace(case.verdict, findings=(*others, replace(last, **changes))))  # type: ignore[arg-type]


CASES: dict[str, Callable[[], Inputs]] = {
    "plain": inputs,
    "one quasi-identifier": lambda: inputs(quasi=("age",)),
    "forty quasi-identifiers": lambda: inputs(quasi=tuple(f"attribute {i:02}" for i in range(40))),
    "no sensitive attribute": lambda: inputs(sensitive=()),
    "six sensitive attributes": lambda: inputs(sensitive=tuple(f"secret {i}" for i in range(6))),
    "one group size": lambda: inputs(sizes={4: 1}),
    "hundreds of group sizes": lambda: inputs(sizes={size: 1000 // size for size in range(2, 700)}),
    "group sizes far apart": lambda: inputs(sizes={2**i: 20 - i for i in range(20)}),
    "failing": lambda: with_finding(inputs(), holds=False, measured=0.5, top_share=0.5),
    "without numbers": lambda: with_finding(inputs(), measured=None, promised=None, top_share=None, witness=None),
    "not finite": lambda: with_finding(inputs(model="recursive"), holds=False, measured=float("inf")),
    "not a number": lambda: with_finding(inputs(model="entropy"), holds=False, measured=float("nan")),
    "markup": lambda: inputs(quasi=(EVIL, "age"), sensitive=(EVIL + "2",), values=(EVIL, "</style>")),
    "long names": lambda: inputs(quasi=(LONG,), sensitive=(LONG + "2",), values=(LONG, LONG + "3")),
    "not Latin": lambda: inputs(quasi=("年齢", "العمر"), sensitive=("疾病",), values=("インフルエンザ", "السكري")),
    "not printable": lambda: inputs(quasi=("a\x07b\ud800",), values=("x\ny", "\u202egnp")),
    "test key": lambda: inputs(test=True),
    "nothing judged": lambda: inputs()._replace(verdict=Verdict((Finding("tables agree", False, 2.0, 0.0),))),
    "nothing said": lambda: inputs()._replace(notes=()),
    "attacked": lambda: attacked(got(), got(0.25, attack="homogeneity", worst=0.25, promised=0.25)),
    "nothing to attack": lambda: inputs()._replace(attacked=()),
    "a breach": lambda: attacked(got(0.5, worst=0.9, promised=0.25, witness="group 7", note=EVIL)),
    "attacked by many": lambda: attacked(*(got(i / 80, question=f"question {i}") for i in range(80))),
    "attacked for markup": lambda: attacked(got(attribute=EVIL, question=EVIL), quasi=(EVIL, "age")),
    **{f"model {model}": (lambda model=model: inputs(model=model)) for model in MODELS},
}


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Inputs:
    return CASES[request.param]()


def test_sections_come_in_order_and_tags_balance(case: Inputs) -> None:
    page = Page(case.page)
    places = [page.text.index(title) for title in SECTIONS]
    assert places == sorted(places)
    assert {"h1", "table", "svg", "figure"} <= set(page.tags)


def test_every_claim_is_there(case: Inputs) -> None:
    page = Page(case.page)
    shown = page.text + "\n".join(page.titles)
    for claim in case.manifest.claims:
        assert printable(claim.rule, keep="\n\t")[:300] in shown


def test_every_break_is_there(case: Inputs) -> None:
    text = Page(case.page).text
    for item in case.manifest.breaks:
        for part in item.split(": ", 1):
            assert part in text


@pytest.mark.parametrize("model", MODELS)
def test_promise_measure_and_top_share_stand_side_by_side(model: str) -> None:
    *_, promised, measured = MODELS[model]
    row = _row_of(inputs(model=model), "disease keeps its promise")
    assert row[1:6] == [promised, measured, "25.0\xa0%", "group 118", "✓ yes"]


def test_k_alone_is_a_promise_too() -> None:
    assert _row_of(inputs(sensitive=()), "every group")[1:] == ["at least 4 rows", "4 rows", "—", "group 118", "✓ yes"]


def test_a_high_top_share_is_pointed_at() -> None:
    case = with_finding(inputs(model="distinct"), top_share=0.94)
    assert "one value fills 94.0\xa0% of a group" in _row_of(case, "disease keeps its promise")[0]


def test_a_breach_too_small_for_two_digits_still_shows() -> None:
    row = _row_of(with_finding(inputs(), holds=False, measured=0.250001), "disease keeps its promise")
    assert (row[2], row[-1]) == ("25.0001\xa0%", "✗ no")


def test_headline_follows_the_verdict() -> None:
    assert _title(inputs()) == "✓Every claim holds"
    assert _title(CASES["failing"]()) == "✗1 of 1 claim does not hold"
    assert _title(CASES["nothing judged"]()) == "✗1 of 1 claim was not judged"
    assert _title(inputs(test=True)) == "✗Every claim holds, but the key is not secret"
    checks = replace(inputs().verdict, findings=(*inputs().verdict.findings, Finding("no value is invented", False)))
    assert _title(inputs()._replace(verdict=checks)) == "✗A check failed"


@pytest.mark.parametrize("name", ["failing", "nothing judged", "test key"])
def test_what_must_not_go_out_says_so(name: str) -> None:
    text = Page(CASES[name]().page).text
    assert "Do not hand this release out." in text
    assert "This release must not be handed out." in text


def test_the_test_key_is_not_called_secret() -> None:
    """The audit can be told to allow the test key; the report must not turn that into a yes."""
    rows = pl.DataFrame({"age": ["*"] * 2, "disease": ["flu", "hiv"], "group": [1, 1]})
    case = inputs(quasi=("age",), test=True)
    columns = (*case.manifest.tables[0].columns, ColumnInfo(name="group", role="group", type="number"))
    table = case.manifest.tables[0].model_copy(update={"columns": columns})
    manifest = case.manifest.model_copy(update={"tables": (table,), "rows": 2, "claims": ()})
    verdict = audit(Release(manifest, {"microdata": rows}), allow_test=True)
    assert SECRET_KEY in [finding.claim for finding in verdict.findings]
    tested = case._replace(manifest=manifest, verdict=verdict)
    assert _row_of(tested, SECRET_KEY)[-1] == "✗ no, allowed for a test"
    assert "protects nobody" in Page(tested.page).text


def test_data_never_becomes_markup() -> None:
    page = CASES["markup"]().page
    assert "<script" not in page.lower()
    assert escape("<script>alert(") in page
    assert page.count("</style>") == 1
    assert not {"script", "link", "img", "iframe", "object"} & set(Page(page).tags)
    assert not [name for _, name, _ in Page(page).attributes if name.startswith("on")]


def test_it_needs_nothing_but_itself(case: Inputs) -> None:
    page = case.page
    assert not re.search(r"https?://|url\(|@import|//cdn", page)
    assert all(value.startswith("#") for _, name, value in Page(page).attributes if name in ("href", "src"))
    page.encode("utf-8")


def test_no_word_promises_too_much(case: Inputs) -> None:
    words = Page(case.page).text.lower()
    assert not re.search(r"anonymous|safe against any attack|hides membership", words)


def test_same_input_same_text(case: Inputs) -> None:
    assert case.page == case.page


def test_the_order_of_what_is_known_does_not_show() -> None:
    known = ["age", "gender", "disease"]
    made = inputs(sensitive=("disease", "job"))
    data = made.policy.model_dump(exclude_unset=True)
    one, other = (Policy.from_dict({**data, "adversaries": [{"knows": names}]}) for names in (known, known[::-1]))
    assert made._replace(policy=one).page == made._replace(policy=other).page


def test_a_path_of_the_policy_is_not_shown() -> None:
    for file in ("/srv/eve/trees/age.csv", r"C:\eve\age.csv", "trees/age.csv"):
        policy = Policy.from_dict(
            {"version": 1, "attributes": {"age": {"role": "quasi", "hierarchy": {"file": file}}}, "k": 2}
        )
        page = inputs(quasi=("age",), sensitive=())._replace(policy=policy).page
        assert "by the tree in age.csv" in page
        assert "eve" not in Page(page).text.replace("every", "").replace("even", "")
        assert "trees" not in page


def test_the_policy_is_told_in_words() -> None:
    policy = Policy.parse("""
version: 1
attributes:
  age: {role: quasi, type: number, hierarchy: {intervals: [5, 20]}, weight: 2}
  zip: {role: quasi, hierarchy: {mask: right}}
  job: {role: sensitive, l: 3, if_missing: {as: unknown}}
  pay: {role: sensitive, l: 2, type: number, bin: 500}
  ward: {role: plain}
  name: {role: identifier}
person: ssn
others: drop
adversaries: [{knows: [age, job]}]
publish: {suppress: 0.02, method: auto, options: {refine: 3}}
""")
    text = Page(inputs()._replace(policy=policy).page).text
    for words in (
        "in intervals of 5, 20; weight 2",
        "characters hidden from the right",
        "as it is; missing as unknown",
        "in bins of 500",
        "Someone who knows a person’s age and zip, exactly. This is every quasi-identifier.",
        "Someone who knows a person’s age and job, exactly.",
        "Rows with the same ssn are one person.",
        "Up to 2.0\xa0% of the rows may be suppressed.",
        "Columns not named here are dropped.",
        "auto; bsgi was used; refine 3, hardened variant.",
    ):
        assert words in text


def test_key_figures_and_pictures_are_there() -> None:
    text = Page(inputs().page).text
    for figure in ("12.3\xa0%", "13.1\xa0%", "98,765", "4.08", "98", "0.7\xa0%"):
        assert figure in text
    assert text.count("distance 0.000") == 3
    assert text.count("share of rowsbeforeafter") == 3  # axis and legend of each picture


def test_long_values_are_cut_and_whole_in_a_title() -> None:
    page = Page(CASES["long names"]().page)
    assert LONG in page.titles
    assert fit(LONG, 400) in page.text
    assert len(set(fit_apart([LONG, LONG + "3", "flu"], 20))) == 3


def test_numbers_get_steps_and_bins_without_original_are_said() -> None:
    info = (case := inputs()).manifest.tables[0]
    columns = tuple(column.model_copy(update={"type": "number"}) for column in info.columns)
    manifest = case.manifest.model_copy(update={"tables": (info.model_copy(update={"columns": columns}),)})
    steps = Distribution("age", "quasi", ("0", "4.95", "9.9"), (0.2, 0.5, 0.3), (0.3, 0.4, 0.3), 0.1)
    binned = Distribution("disease", "sensitive", ("[0, 4]", "[5, 9]"), (0.0, 0.0), (0.5, 0.5), 0.5)
    page = case._replace(manifest=manifest, loss=replace(case.loss, distributions=(steps, binned))).page
    assert "4.95 to 9.9: before 50.0\xa0%, after 40.0\xa0%" in page
    assert "distance 0.100" in page
    assert "before: not comparable" in page


def test_bins_hold_every_group_once() -> None:
    for sizes in ({3: 1}, dict.fromkeys(range(2, 400), 2), {2**i: i + 1 for i in range(22)}, {7: 1, 10**6: 2}):
        bins = size_bins(sizes)
        assert 1 <= len(bins) <= MOST_BINS
        assert sum(bin.groups for bin in bins) == sum(sizes.values())
        assert (bins[0].low, bins[-1].high) == (min(sizes), max(sizes))
        assert all(left.high < right.low for left, right in pairwise(bins))
        Page(group_sizes(sizes))


def _section_of(page: str, title: str) -> str:
    (section,) = [part for part in re.findall(r"<section.*?</section>", page, re.DOTALL) if f"<h2>{title}</h2>" in part]
    return section


def test_every_result_stands_beside_prior_and_promise() -> None:
    low = got(0.31, low=0.29, high=0.33, sampled=True, attack="prior", question="pay, knowing nothing", attribute="pay")
    kept = got(0.25, attack="homogeneity", worst=0.25, promised=0.25)
    case = attacked(kept, low)
    shown = [cell.replace("\xa0", " ") for cell in _row_of(case, "prior: pay")]
    words = "prior: pay, pay, knowing nothing: 31.0 %, prior 20.0 %; above chance"
    assert shown == ["prior: payknowing nothing", words, "31.0 %29.0 % to 33.0 %", "20.0 %", "—", "—", "above chance"]
    assert "all of 400" in _row_of(case, "homogeneity: disease")[2]
    page = _section_of(case.page, "Who learns what")
    assert "homogeneity: disease, disease, knowing age: 25.0\xa0%, prior 20.0\xa0%" in page
    assert page.index("above chance") < page.index("within the promise")  # what nobody promised comes first


def test_marks_of_attacks_differ_in_shape() -> None:
    page = Page(_section_of(attacked(got(0.25, worst=0.3, promised=0.25)).page, "Who learns what"))
    drawn = {value: tag for tag, name, value in page.attributes if name == "class" and value in MARKS}
    assert drawn == MARKS
    assert {"guessed right, interval", "prior", "maximum posterior", "promised at most"} <= set(page.words)
    paths = {value for tag, name, value in page.attributes if tag == "path" and name == "d"}
    assert len(paths) == 2  # a diamond and a cross


def test_a_breach_comes_first_and_says_so() -> None:
    page = _section_of(attacked(got(0.9), got(0.5, worst=0.9, promised=0.25, question="q")).page, "Who learns what")
    first = re.findall(r"<tr>.*?</tr>", page)[1]
    assert "✗ breach" in first


def test_many_results_are_all_there_the_least_bad_behind_a_line() -> None:
    page = _section_of(CASES["attacked by many"]().page, "Who learns what")
    assert page.count("<tr>") == 80 + 2
    assert page.partition("<details>")[0].count("<tr>") == FIRST + 1
    assert f"{80 - FIRST} more results, less bad" in page
    assert page.count("<circle") == 81
    bad = attacked(*(got(0.5, worst=0.9, promised=0.25, question=f"question {i}") for i in range(FIRST + 5)))
    assert "<details>" not in _section_of(bad.page, "Who learns what")


def test_what_was_got_after_publication_is_marked() -> None:
    old, later = got(), got(0.7, question="another", attack="files")
    lists = AttributeLists()
    page = with_results(inputs()._replace(attacked=(old,)).page, [old, later], lists, {later})
    assert "1 result of these were got" not in page
    assert "1 result was got after publication" in page
    rows = [row for row in re.findall(r"<tr>.*?</tr>", page) if "measured after publication" in row]
    assert ["files: disease" in row for row in rows] == [True]
    assert "after publication" not in _section_of(with_results(page, [old, later], lists), "Who learns what")


def test_a_breach_found_later_takes_the_place_of_the_verdict() -> None:
    breach = got(0.5, worst=0.9, promised=0.25)
    page = with_results(inputs().page, [breach], AttributeLists(), {breach})
    heading = re.search(r"<h1.*?</h1>", page)
    assert heading
    assert Page(heading[0]).text == "✗An attack exceeds a promise"
    assert "take it back" in page
    assert _title(inputs()._replace(attacked=(breach,))) == "✗An attack exceeds a promise"


def test_results_can_be_put_into_a_page_that_is_there() -> None:
    old, new = attacked(got()), (got(0.7, question="another", note=r"\1 and \g<0>"),)
    lists = AttributeLists.of_manifest(old.manifest)
    assert with_results(old.page, new, lists) == old._replace(attacked=new).page
    unmeasured = _section_of(with_results(inputs().page, new, lists), "Who learns what")
    assert unmeasured == _section_of(inputs()._replace(attacked=new).page, "Who learns what")


def test_the_weakest_groups_are_named() -> None:
    page = _section_of(CASES["attacked"]().page, "Which groups are weakest")
    assert page.count("<svg") == 2
    rows = [[Page(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in page.split("<tr>")[2:]]
    assert rows[0] == ["group 17", "disease", "4", "25.0\xa0%", "99.0\xa0%", "25.0\xa0%"]
    assert rows[2] == ["group 17", "second", "4", "25.0\xa0%", "—", "25.0\xa0%"]
    assert "maximum posterior up to 100\xa0%: 0 groups alone, 50 learned from all" in page


def test_what_was_not_measured_is_not_drawn() -> None:
    page = inputs().page
    assert page.count("was not measured at publication") == 2
    assert "<circle" not in page
    nothing = CASES["nothing to attack"]().page
    assert "No attack applies" in nothing
    assert "not measured" not in nothing


@pytest.mark.parametrize(
    ("method", "l"), [("bsgi", 2), ("anatomy", 2), ("randomized-addition", 2), ("decomposition", 2)]
)
def test_exposures_are_what_groups_hold(method: str, l: int) -> None:
    release = publish(PATIENTS, patients_policy(l, method=method), key=KEY, attacks=False)
    (exposure,) = exposures(release)
    assert exposure.limit == 1 / l
    if method == "randomized-addition":
        assert sum(exposure.alone) == release.manifest.rows
        assert {weak.name for weak in exposure.weakest} == {f"row {i + 1}" for i in range(release.manifest.rows)}
        return
    table = release.tables["microdata" if method == "bsgi" else "quasi"]
    sizes = dict(table["group"].value_counts().iter_rows())
    assert {weak.name: weak.rows for weak in exposure.weakest} == {f"group {n}": rows for n, rows in sizes.items()}
    assert sum(exposure.alone) == len(sizes)
    if method == "bsgi":
        top = table.group_by("group", "disease").len().group_by("group").agg(pl.col("len").max())
        shares = {f"group {n}": most / sizes[n] for n, most in top.iter_rows()}
        assert {weak.name: weak.alone for weak in exposure.weakest} == pytest.approx(shares)
    assert [weak.learned for weak in exposure.weakest] == sorted(
        (w.learned for w in exposure.weakest), key=lambda x: -(x or 0)
    )


def test_exposures_of_bounded_values_are_about_the_value_nearest_its_bound() -> None:
    people = pl.DataFrame({"age": range(40), "ill": (["yes"] + ["no"] * 4 + ["maybe"] + ["no"] * 4) * 4})
    asked = {"ill": {"at_most": {"yes": "1/4", "maybe": "1/2"}}}
    release = publish(people, Policy(quasi={"age": {"type": "number"}}, sensitive=asked), key=KEY, attacks=False)
    (exposure,) = exposures(release)
    rows = release.tables["microdata"].group_by("group").agg((pl.col("ill") == "yes").mean().alias("share"))
    assert (exposure.attribute, exposure.limit) == ("ill = yes", 0.25)
    assert exposure.weakest[0].alone == pytest.approx(rows["share"].max())
    assert 0 < exposure.weakest[0].alone <= 0.25  # the share of no, which may be certain, is not said


def test_of_many_claims_the_nearest_of_each_attribute_and_those_that_fail_are_shown_at_once() -> None:
    case = inputs(sensitive=tuple(f"secret {i:02}" for i in range(MOST - 10)))
    nearest, findings = case.manifest.claims, case.verdict.findings[-(MOST - 10) :]
    again = tuple(claim.model_copy(update={"rule": f"{claim.rule} again"}) for claim in nearest)
    farther = [replace(one, claim=f"{one.claim} again", measured=0.1) for one in findings]
    farther[3] = replace(farther[3], holds=False, measured=0.9)
    manifest = case.manifest.model_copy(update={"claims": (*again, *nearest)})
    page = _section_of(case._replace(manifest=manifest, verdict=Verdict((*farther, *findings), ())).page, "What holds")
    first, _, others = page.partition("<details>")
    at_once = [claim.rule for claim in manifest.claims if f">{escape(claim.rule)}<" in first]
    assert at_once == [again[3].rule, *(claim.rule for claim in nearest)]
    assert f"{len(again) - 1} more claims, which hold" in others
    assert "<details>" not in _section_of(case.page, "What holds")


def test_every_bound_of_a_policy_is_shown_whole() -> None:
    bounds = {f"a value with a rather long name, number {i}": "1/4" for i in range(8)}
    policy = Policy(quasi=["age"], sensitive={"disease": {"at_most": bounds}})
    page = _section_of(inputs()._replace(policy=policy).page, "What was asked")
    assert [value for value in bounds if f"{value} at most 1/4" not in unescape(page)] == []


def test_charts_of_nothing_are_charts() -> None:
    for picture in (
        bars([], "loss"),
        paired_bars([], [], [], "x"),
        paired_bars(["a"], [0.0], [0.0], "x"),
        paired_steps([0, 1, 2], [0.0, 0.0], [0.0, 0.0], "x", "age"),
    ):
        page = Page(picture)
        assert page.tags[0] == "svg"
        assert not [value for _, _, value in page.attributes if re.search(r"\b(nan|inf)\b", value)]


def test_before_and_after_differ_without_color() -> None:
    picture = Page(paired_bars(["a"], [0.5], [0.25], "x"))
    drawn = [value for tag, name, value in picture.attributes if tag == "rect" and name == "class"]
    assert drawn.count("before") == drawn.count("after") == 2  # the bars and the legend
    assert {"before", "after"} <= set(picture.words)


def _title(case: Inputs) -> str:
    heading = re.search(r"<h1.*?</h1>", case.page)
    assert heading
    return Page(heading[0]).text


def _row_of(case: Inputs, words: str) -> list[str]:
    """The cells of the table row that holds these words."""
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", case.page) if words in unescape(row)]
    return [Page(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]


def test_who_can_be_found_is_said_in_the_terms_of_officers() -> None:
    """Of four rows, two alike: the original finds each with 1, the release with 1/2; nothing is estimated."""
    risk = ReidentificationRisk(
        ("age", "<sex>"),
        risk_of_classes(Classes.of_sizes(np.array([1] * 4))),
        risk_of_classes(Classes.of_sizes(np.array([2, 2]))),
    )
    page = inputs()._replace(loss=replace(inputs().loss, risk=risk)).page
    found = _section_of(page, "Who can be found")
    for words in ("prosecutor, highest", "marketer", "alone in the table", "100.0%", "50.0%", "--population N"):
        assert words in found
    assert "age, <sex>" in Page(found).text
    whole = replace(risk, population=4, model="Zayatz")
    estimated = inputs()._replace(loss=replace(inputs().loss, risk=whole)).page
    assert "--population" not in _section_of(estimated, "Who can be found")
    assert "No quasi-identifier is published" in _section_of(inputs().page, "Who can be found")
