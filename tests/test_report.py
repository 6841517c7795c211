"""The report: everything is in it, nothing of the data becomes markup, and it needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl
import pytest

from pluralis.attacks import Result
from pluralis.attacks.adversary.exposure import PARTS, Exposure, Weak, exposures
from pluralis.auditing import audit
from pluralis.auditing.verdict import Finding, Verdict
from pluralis.escaping import printable
from pluralis.metrics.distributions import Distribution
from pluralis.metrics.loss import Loss
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo
from pluralis.release.release import Release
from pluralis.report.attack_charts import MOST
from pluralis.report.charts import MOST_BINS, bars, fit, group_sizes, paired_bars, paired_steps, size_bins
from pluralis.report.claims import SECRET_KEY
from pluralis.report.report import render_report
from pluralis.report.risk import with_results
from tables import KEY, PATIENTS, patients_policy

SECTIONS = ["What was asked", "What holds", "Who learns what", "What was lost", "Which groups are weakest"]
SECTIONS += ["What this method does not stop", "Notes and handling"]
SECTIONS += ["Notes from reading", "Keep secret", "Hand out"]
MARKS = {"got": "circle", "blind": "path", "surest": "path", "promise": "line", "interval": "line"}
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


def inputs(
    quasi: tuple[str, ...] = ("age", "gender"),
    secrets: tuple[str, ...] = ("disease",),
    model: str = "frequency",
    values: tuple[str, ...] = ("flu", "hiv"),
    sizes: dict[int, int] | None = None,
    test: bool = False,
) -> Inputs:
    """A policy with these attributes, and a release that keeps it."""
    sizes = sizes or {4: 90, 5: 8}
    c = {"c": 2} if model == "recursive" else {}
    policy = Policy.of(
        {
            "version": 1,
            "attributes": {
                **{name: {"role": "quasi"} for name in quasi},
                **{name: {"role": "sensitive", "l": 4, "model": model, **c} for name in secrets},
            },
            **({} if secrets else {"k": 4}),
        }
    )
    measured, promised, *_ = MODELS[model]
    claims = [
        Claim(
            rule=f"knowing {', '.join(sorted(quasi))}: {name} keeps its promise",
            model=model,
            adversary=tuple(sorted(quasi)),
            attribute=name,
            l=4,
            c=2.0 if c else None,
        )
        for name in secrets
    ] or [Claim(rule="every group has at least 4 rows", model="k-anonymity", adversary=tuple(sorted(quasi)), k=4)]
    rows = sum(size * count for size, count in sizes.items())
    infos = [ColumnInfo(name=name, role="quasi", type="text", attribute=name) for name in quasi]
    infos += [ColumnInfo(name=name, role="sensitive", type="text", attribute=name) for name in secrets]
    manifest = Manifest(
        method="bsgi",
        variant="hardened",
        kind="generalized",
        rows=rows,
        suppressed=3,
        claims=tuple(claims),
        breaks=("algorithm: someone who knows the method can be certain", "membership: this is not concealed"),
        parameters={"linked": True},
        tables=(TableInfo(name="microdata", file="microdata.parquet", sha256="ab" * 32, columns=tuple(infos)),),
        test=test,
    )
    top = 0.25 if secrets else None
    findings = [Finding("tables, hashes and manifest agree", True, 0.0, 0.0)]
    findings += [
        Finding(claim.rule, True, measured if secrets else 4.0, promised, top, "group 118") for claim in claims
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
                     "blind": 0.2, "attribute": "disease", **ends, **more})  # fmt: skip


def exposed(attribute: str = "disease", learnt: bool = True) -> Exposure:
    """Fifty groups at 1/4, which learning makes sure."""
    alone, sure = [0] * PARTS, [0] * PARTS
    alone[4], sure[19] = 50, 50
    weak = tuple(Weak(f"group {n}", 4, 0.25, 0.99 if learnt else None) for n in (17, 23))
    return Exposure(attribute, "", 0.25, tuple(alone), tuple(sure) if learnt else None, weak)


def attacked(*results: Result, **more: Any) -> Inputs:
    return inputs(**more)._replace(attacked=results, exposures=(exposed(), exposed("second", learnt=False)))


def with_finding(of: Inputs, **changes: object) -> Inputs:
    """The same, with another last finding."""
    *others, last = of.verdict.findings
    return of._replace(verdict=replace(of.verdict, findings=(*others, replace(last, **changes))))  # type: ignore[arg-type]


CASES: dict[str, Callable[[], Inputs]] = {
    "plain": inputs,
    "one quasi attribute": lambda: inputs(quasi=("age",)),
    "forty quasi attributes": lambda: inputs(quasi=tuple(f"attribute {i:02}" for i in range(40))),
    "no sensitive attribute": lambda: inputs(secrets=()),
    "six sensitive attributes": lambda: inputs(secrets=tuple(f"secret {i}" for i in range(6))),
    "one group size": lambda: inputs(sizes={4: 1}),
    "hundreds of group sizes": lambda: inputs(sizes={size: 1000 // size for size in range(2, 700)}),
    "group sizes far apart": lambda: inputs(sizes={2**i: 20 - i for i in range(20)}),
    "failing": lambda: with_finding(inputs(), holds=False, measured=0.5, top_share=0.5),
    "without numbers": lambda: with_finding(inputs(), measured=None, promised=None, top_share=None, witness=None),
    "not finite": lambda: with_finding(inputs(model="recursive"), holds=False, measured=float("inf")),
    "not a number": lambda: with_finding(inputs(model="entropy"), holds=False, measured=float("nan")),
    "markup": lambda: inputs(quasi=(EVIL, "age"), secrets=(EVIL + "2",), values=(EVIL, "</style>")),
    "long names": lambda: inputs(quasi=(LONG,), secrets=(LONG + "2",), values=(LONG, LONG + "3")),
    "not Latin": lambda: inputs(quasi=("年齢", "العمر"), secrets=("疾病",), values=("インフルエンザ", "السكري")),
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
    assert _row_of(inputs(secrets=()), "every group")[1:] == ["at least 4 rows", "4 rows", "—", "group 118", "✓ yes"]


def test_a_high_top_share_is_pointed_at() -> None:
    of = with_finding(inputs(model="distinct"), top_share=0.94)
    assert "one value fills 94.0\xa0% of a group" in _row_of(of, "disease keeps its promise")[0]


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
    of = inputs(quasi=("age",), test=True)
    columns = (*of.manifest.tables[0].columns, ColumnInfo(name="group", role="group", type="number"))
    table = of.manifest.tables[0].model_copy(update={"columns": columns})
    manifest = of.manifest.model_copy(update={"tables": (table,), "rows": 2, "claims": ()})
    verdict = audit(Release(manifest, {"microdata": rows}), allow_test=True)
    assert SECRET_KEY in [finding.claim for finding in verdict.findings]
    tested = of._replace(manifest=manifest, verdict=verdict)
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
    said = Page(case.page).text.lower()
    assert not re.search(r"anonymous|safe against any attack|hides membership", said)


def test_same_input_same_text(case: Inputs) -> None:
    assert case.page == case.page


def test_the_order_of_what_is_known_does_not_show() -> None:
    known = ["age", "gender", "disease"]
    made = inputs(secrets=("disease", "job"))
    data = made.policy.model_dump(exclude_unset=True)
    one, other = (Policy.of({**data, "adversaries": [{"knows": names}]}) for names in (known, known[::-1]))
    assert made._replace(policy=one).page == made._replace(policy=other).page


def test_a_path_of_the_policy_is_not_shown() -> None:
    for file in ("/srv/eve/trees/age.csv", r"C:\eve\age.csv", "trees/age.csv"):
        policy = Policy.of(
            {"version": 1, "attributes": {"age": {"role": "quasi", "hierarchy": {"file": file}}}, "k": 2}
        )
        page = inputs(quasi=("age",), secrets=())._replace(policy=policy).page
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
        "Someone who knows a person’s age and zip, exactly. This is every quasi attribute.",
        "Someone who knows a person’s age and job, exactly.",
        "Rows with the same ssn are one person.",
        "Up to 2.0\xa0% of the rows may be left out.",
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
    assert fit(LONG, 20) in page.text


def test_numbers_get_steps_and_bins_without_original_are_said() -> None:
    info = (of := inputs()).manifest.tables[0]
    columns = tuple(column.model_copy(update={"type": "number"}) for column in info.columns)
    manifest = of.manifest.model_copy(update={"tables": (info.model_copy(update={"columns": columns}),)})
    steps = Distribution("age", "quasi", ("0", "4.95", "9.9"), (0.2, 0.5, 0.3), (0.3, 0.4, 0.3), 0.1)
    binned = Distribution("disease", "sensitive", ("[0, 4]", "[5, 9]"), (0.0, 0.0), (0.5, 0.5), 0.5)
    page = of._replace(manifest=manifest, loss=replace(of.loss, distributions=(steps, binned))).page
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
    (found,) = [part for part in re.findall(r"<section.*?</section>", page, re.DOTALL) if f"<h2>{title}</h2>" in part]
    return found


def test_every_result_stands_beside_blind_guess_and_promise() -> None:
    low = got(0.31, low=0.29, high=0.33, sampled=True, attack="prior", question="pay, knowing nothing", attribute="pay")
    kept = got(0.25, attack="homogeneity", worst=0.25, promised=0.25)
    of = attacked(kept, low)
    shown = [cell.replace("\xa0", " ") for cell in _row_of(of, "pay, knowing nothing")]
    assert shown[:6] == ["prior", "pay, knowing nothing", "400", "31.0 %", "29.0 % to 33.0 %", "20.0 %"]
    assert shown[6:] == ["—", "—", "above chance"]
    page = _section_of(of.page, "Who learns what")
    assert "homogeneity: disease, disease, knowing age: 25.0\xa0%, blind guess 20.0\xa0%" in page
    assert page.index("above chance") < page.index("within the promise")  # what nobody promised comes first


def test_marks_of_attacks_differ_in_shape() -> None:
    page = Page(_section_of(attacked(got(0.25, worst=0.3, promised=0.25)).page, "Who learns what"))
    drawn = {value: tag for tag, name, value in page.attributes if name == "class" and value in MARKS}
    assert drawn == MARKS
    assert {"guessed right, interval", "blind guess", "surest guess", "promised"} <= set(page.words)
    paths = {value for tag, name, value in page.attributes if tag == "path" and name == "d"}
    assert len(paths) == 4  # a diamond and a cross, each in the legend too


def test_a_breach_comes_first_and_says_so() -> None:
    page = _section_of(attacked(got(0.9), got(0.5, worst=0.9, promised=0.25, question="q")).page, "Who learns what")
    first = re.findall(r"<tr>.*?</tr>", page)[1]
    assert "✗ breach" in first
    assert "BREACH: q" in page


def test_many_results_are_all_in_the_table() -> None:
    page = _section_of(CASES["attacked by many"]().page, "Who learns what")
    assert page.count("<tr>") == 81
    assert f"The picture shows {MOST} of 80 results" in page
    assert page.count("<circle") == MOST + 1


def test_results_can_be_put_into_a_page_that_is_there() -> None:
    old, new = attacked(got()), (got(0.7, question="another", note=r"\1 and \g<0>"),)
    assert with_results(old.page, new) == old._replace(attacked=new).page
    unmeasured = _section_of(with_results(inputs().page, new), "Who learns what")
    assert unmeasured == _section_of(inputs()._replace(attacked=new).page, "Who learns what")


def test_the_weakest_groups_are_named() -> None:
    page = _section_of(CASES["attacked"]().page, "Which groups are weakest")
    assert page.count("<svg") == 2
    rows = [[Page(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in page.split("<tr>")[2:]]
    assert rows[0] == ["group 17", "disease", "4", "25.0\xa0%", "99.0\xa0%", "25.0\xa0%"]
    assert rows[2] == ["group 17", "second", "4", "25.0\xa0%", "—", "25.0\xa0%"]
    assert "surest guess up to 100\xa0%: 0 groups alone, 50 learnt from all" in page


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
    (of,) = exposures(release)
    assert of.limit == 1 / l
    if method == "randomized-addition":
        assert sum(of.alone) == release.manifest.rows
        assert {weak.name for weak in of.weakest} == {f"row {i + 1}" for i in range(release.manifest.rows)}
        return
    table = release.tables["microdata" if method == "bsgi" else "quasi"]
    sizes = dict(table["group"].value_counts().iter_rows())
    assert {weak.name: weak.rows for weak in of.weakest} == {f"group {n}": rows for n, rows in sizes.items()}
    assert sum(of.alone) == len(sizes)
    if method == "bsgi":
        top = table.group_by("group", "disease").len().group_by("group").agg(pl.col("len").max())
        shares = {f"group {n}": most / sizes[n] for n, most in top.iter_rows()}
        assert {weak.name: weak.alone for weak in of.weakest} == pytest.approx(shares)
    assert [weak.learnt for weak in of.weakest] == sorted((w.learnt for w in of.weakest), key=lambda x: -(x or 0))


def test_charts_of_nothing_are_charts() -> None:
    for picture in (bars([], "loss"), paired_bars([], [], [], "x"), paired_bars(["a"], [0.0], [0.0], "x")):
        Page(picture)
    Page(paired_steps([0, 1, 2], [0.0, 0.0], [0.0, 0.0], "x", "age"))


def test_before_and_after_differ_without_colour() -> None:
    picture = Page(paired_bars(["a"], [0.5], [0.25], "x"))
    drawn = [value for tag, name, value in picture.attributes if tag == "rect" and name == "class"]
    assert drawn.count("before") == drawn.count("after") == 2  # the bars and the legend
    assert {"before", "after"} <= set(picture.words)


def _title(of: Inputs) -> str:
    heading = re.search(r"<h1.*?</h1>", of.page)
    assert heading
    return Page(heading[0]).text


def _row_of(of: Inputs, words: str) -> list[str]:
    """The cells of the table row that holds these words."""
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", of.page) if words in unescape(row)]
    return [Page(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
