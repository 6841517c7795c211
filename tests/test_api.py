"""The public names: what `import pluralis` shows, that all of it is documented, and how objects show themselves."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import pluralis as pls
from pluralis import errors
from pluralis.comparison.trials import Trial
from pluralis.display.escaping import printable
from pluralis.errors import InputError
from pluralis.release.kinds import kind_named
from pluralis.table.sources import write_csv_bytes
from support.sample_tables import PATIENTS

EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e\n| Every claim holds"
PEOPLE = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
POLICY = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})

# names --------------------------------------------------------------------------------------------------------


def test_dir_shows_exactly_the_public_names() -> None:
    assert pls.policy is not None  # submodules that are loaded are attributes, and none of these names
    assert dir(pls) == sorted(pls.__all__)
    assert len(set(pls.__all__)) == len(pls.__all__)
    assert all(getattr(pls, name) is not None for name in pls.__all__)


def test_every_error_is_public() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds <= set(pls.__all__)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'publsh'"):
        pls.publsh  # noqa: B018


def test_importing_loads_no_library() -> None:
    """What `import pluralis` loads beside the standard library is nothing, so that it takes no time."""
    script = "import sys, pluralis; print([m for m in ('numpy', 'polars', 'numba', 'pydantic') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


WITHOUT_EXTRAS = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("networkx", "resvg_py", "pandas", "pyarrow", "duckdb"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import polars as pl
import pluralis as pls
people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
pls.publish(people, policy, attacks=False).save("release")
assert pls.audit("release", people).holds
assert pls.read_release("release").count("age < 100").value == 4
assert pls.measure("release", people).rows == 4
assert len(pls.methods()) > 10
for method in ("gd", "uad"):
    try:
        pls.publish(people, pls.Policy(rules=["age -> disease : l=2"], method=method))
    except pls.MissingExtra as refusal:
        assert str(refusal) == f"The method {method} needs networkx. Install it: pip install 'pluralis[publish]'."
    else:
        raise AssertionError(method)
try:
    pls.read_release("release").sql("SELECT count FROM expected")
except pls.MissingExtra as refusal:
    assert "pip install 'pluralis[sql]'" in str(refusal)
from pluralis.report.drawing import png
try:
    png("<svg/>")
except pls.MissingExtra as refusal:
    assert "pip install 'pluralis[publish]'" in str(refusal)
sys.argv = ["pluralis", "audit", "release"]
from pluralis.cli.main import main
main()
"""


def test_what_works_without_extras_and_what_says_that_it_needs_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert "Every claim holds" in ran.stdout


# documentation --------------------------------------------------------------------------------------------------


def methods_of(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods that Pluralis itself defines."""
    for base in kind.__mro__:
        if base.__module__.startswith("pluralis."):
            for name, member in vars(base).items():
                function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                if not name.startswith(("_", "model_")) and inspect.isfunction(function):
                    yield f"{kind.__name__}.{name}", function


def documented() -> Iterator[tuple[str, Any]]:
    for name in pls.__all__:
        public = getattr(pls, name)
        if callable(public):
            yield name, public
            if isinstance(public, type):
                yield from methods_of(public)


PUBLIC = dict(documented())


def parameters(function: Callable[..., Any]) -> list[str]:
    every = inspect.signature(function).parameters.values()
    return [one.name for one in every if one.name not in ("self", "cls")]


def faults(function: Callable[..., Any]) -> list[str]:
    """What is missing in a docstring."""
    text = inspect.getdoc(function) or ""
    heads = set(re.findall(r"^(\w+)\n-{3,}$", text, re.MULTILINE))
    missing = [] if text.strip() and ("Examples" in heads and ">>>" in text) else ["Examples"]
    if isinstance(function, type):
        inherited = issubclass(function, Exception | list) and "__init__" not in vars(function)
        wanted = [] if inherited else parameters(function)
    else:
        wanted = parameters(function)
        if inspect.signature(function).return_annotation not in (None, "None") and "Returns" not in heads:
            missing.append("Returns")
    if wanted and "Parameters" not in heads:
        missing.append("Parameters")
    elif wanted:
        section = text.split("Parameters\n---")[1].split("\n\n")
        named = " ".join(line for line in "\n".join(section).splitlines() if not line.startswith(" "))
        missing += [name for name in wanted if not re.search(rf"\b{name}\b", named)]
    return missing


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_callable_is_documented(name: str) -> None:
    assert faults(PUBLIC[name]) == []


ERRORS = {name for name in pls.__all__ if isinstance(one := getattr(pls, name), type) and issubclass(one, Exception)}


def raised(function: Callable[..., Any], seen: set[Any]) -> Iterator[tuple[str, bool]]:
    """The errors of Pluralis, and TypeError, that a function raises, and whether it does so itself.

    What functions raise that it calls counts too, as far as they are called by name. What is raised in a `try` is
    taken to be caught.
    """
    seen.add(function)
    source = inspect.getsource(function)
    tree = ast.parse(source if source.startswith(("def", "@")) else f"if True:\n{source}")
    tried = {
        id(node) for one in ast.walk(tree) if isinstance(one, ast.Try) for part in one.body for node in ast.walk(part)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and id(node) not in tried:
            error = ast.unparse(node.exc.func)
            if error in ERRORS | {"TypeError"}:
                yield error, True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = function.__globals__.get(node.func.id)
            if inspect.isfunction(called) and called.__module__.startswith("pluralis.") and called not in seen:
                yield from ((error, False) for error, _ in raised(called, seen) if error in ERRORS)


def unnamed_errors(function: Callable[..., Any]) -> list[str]:
    """What a function raises itself and its docstring does not name; "Raises" where only others raise, unsaid."""
    text = inspect.getdoc(function) or ""
    section = text.split("Raises\n---")[1].split("\n\n")[0] if "\nRaises\n---" in text else ""
    every = list(raised(inspect.unwrap(function), set()))
    missing = sorted({error for error, itself in every if itself and not re.search(rf"\b{error}\b", section)})
    return missing or ["Raises"] * bool(every and not section)


@pytest.mark.parametrize("name", [name for name, public in PUBLIC.items() if inspect.isfunction(public)])
def test_what_a_public_function_raises_is_documented(name: str) -> None:
    assert unnamed_errors(PUBLIC[name]) == []


def test_a_lack_of_documentation_is_seen() -> None:
    def bare(table: object) -> int:
        """Only a sentence."""
        return len(str(table))

    def half(table: object, more: int) -> None:
        """With sections.

        Parameters
        ----------
        table : object
            Something.

        Examples
        --------
        >>> 1
        1
        """

    assert faults(bare) == ["Examples", "Returns", "Parameters"]
    assert faults(half) == ["more"]


def test_an_error_that_is_not_documented_is_seen() -> None:
    def itself() -> None:
        """Nothing."""
        raise InputError("No.")

    def by_another() -> None:
        """Nothing."""
        kind_named("none")

    assert unnamed_errors(itself) == ["InputError"]
    assert unnamed_errors(by_another) == ["Raises"]


# verbs take what the caller has ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a policy and a release."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "people.csv").write_bytes(write_csv_bytes(PEOPLE))
    (folder / "policy.yaml").write_text(POLICY.to_yaml())
    pls.publish(PEOPLE, POLICY, attacks=False).save(folder / "release")
    return folder


TABLES = {
    "path": lambda folder: folder / "people.csv",
    "text": lambda folder: str(folder / "people.csv"),
    "polars": lambda _: PEOPLE,
    "pandas": lambda _: pd.DataFrame(PEOPLE.to_dict(as_series=False)),
    "pyarrow": lambda _: PEOPLE.to_arrow(),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_verb_takes_a_path_or_a_frame(table: Callable[[Path], Any], saved: Path) -> None:
    people, release = table(saved), saved / "release"
    assert pls.profile(people).rows == 4
    assert pls.draft_policy(people).sensitive == ["disease"]
    assert pls.check_policy(people, POLICY).feasible
    assert pls.publish(people, str(saved / "policy.yaml"), attacks=False).manifest.rows == 4
    assert pls.audit(str(release), people).holds
    assert pls.measure(release, people, queries=3, dimensions=1).queries["disease"].queries == 3
    assert not pls.attack(release, people, only=["homogeneity"], person="age", others=[release]).breaches
    assert pls.compare(people, POLICY, methods=["bsgi"], cache=False, workers=0).taken.method == "bsgi"


def test_a_release_in_memory_and_in_a_folder_count_the_same(saved: Path) -> None:
    read = pls.read_release(saved / "release")
    assert isinstance(read, pls.AnalystRelease)
    asked = "disease = 'flu' AND age < 35"
    made = pls.publish(PEOPLE, POLICY, key=pls.key_for(saved / "release"), attacks=False)
    assert read.count(asked) == made.count(asked)
    assert read.table("COUNT BY disease").equals(read.crosstab("disease"))
    assert pls.explain_group(saved / "release", "1") == pls.explain_group(read, 1)


def test_the_draft_is_what_init_writes() -> None:
    look = pls.profile(PATIENTS)
    assert pls.draft_policy(PATIENTS) == pls.Policy.parse(look.draft()) == pls.draft_policy(look)


def test_check_policy_refuses_what_publish_refuses() -> None:
    three = POLICY.override(method="anatomy").model_copy(update={"attributes": pls.Policy(
        quasi=["age"], sensitive={"disease": 3}).attributes})  # fmt: skip
    check = pls.check_policy(PEOPLE, three)
    with pytest.raises(pls.Infeasible) as refusal:
        pls.publish(PEOPLE, three)
    assert check.refusals == refusal.value.lines
    assert not check.feasible
    assert check.refusals[0] in repr(check)
    assert [(one.name, one.l, one.largest_l) for one in check.protected] == [("disease", 3, 2)]


def test_check_policy_without_a_table_explains_the_rules() -> None:
    check = pls.check_policy(None, pls.Policy(rules=["a -> c : l=2", "a, b -> c : l=2"]))
    assert [str(explained.rule) for explained in check.explanation.rules] == ["a, b -> c : l=2"]
    assert check.feasible is None  # no table was looked at
    assert check.rows is None


@pytest.mark.parametrize(
    "policy",
    [pls.Policy(quasi=["age"], sensitive={"diseases": 2}), POLICY.override(method="bsg")],
    ids=["column", "method"],
)
def test_a_policy_that_does_not_fit_is_refused_in_the_words_of_its_check(policy: pls.Policy) -> None:
    with pytest.raises(pls.PolicyError, match=r"Did you mean '(disease|bsgi)'") as refusal:
        pls.publish(PEOPLE, policy)
    check = pls.check_policy(PEOPLE, policy)
    assert refusal.value.lines[0] in check.refusals
    assert check.exit_code == 2


# policies of keywords ------------------------------------------------------------------------------------------------


def test_keywords_and_a_file_make_the_same_policy() -> None:
    made = pls.Policy(
        quasi={"age": {"type": "number"}, "zip": {"hierarchy": {"mask": "right"}}},
        sensitive={"disease": 4, "pay": {"l": 3, "type": "number", "bin": 500}},
        plain=["ward"],
        identifier=["name"],
        method="anatomy",
        suppress=0.1,
        person="name",
        adversaries=[{"knows": ["age", "pay"]}],
    )
    read = pls.Policy.parse("""
version: 1
attributes:
  age: {role: quasi-identifier, type: number}
  zip: {role: quasi, hierarchy: {mask: right}}
  disease: {role: sensitive, l: 4}
  pay: {role: sensitive, l: 3, type: number, bin: 500}
  ward: {role: plain}
  name: {role: identifier}
person: name
adversaries: [{knows: [age, pay]}]
publish: {method: anatomy, suppress: 0.1}
""")
    assert made == read
    assert made.to_yaml() == read.to_yaml()
    assert "quasi-identifier" not in read.to_yaml()


@pytest.mark.parametrize("key", ["quasi", "sensitive", "plain", "identifier", "method", "suppress", "folder"])
def test_a_file_has_no_shorthand(key: str) -> None:
    data = {"version": 1, "attributes": {"disease": {"role": "sensitive", "l": 2}}, key: "age"}
    with pytest.raises(pls.PolicyError, match=f"unknown key '{key}'"):
        pls.Policy.from_dict(data)
    with pytest.raises(pls.PolicyError, match=f"line 3, {key}: unknown key"):
        pls.Policy.parse(f"version: 1\nrules: ['a -> b : l=2']\n{key}: age")


def test_an_attribute_that_the_policy_does_not_name_has_no_l() -> None:
    with pytest.raises(pls.PolicyError, match=r"names no attribute 'diseas'\. Did you mean 'disease'"):
        POLICY.l("diseas")


def test_a_result_that_is_not_whole_is_refused() -> None:
    whole = pls.Result("linkage", "a row", 4, False, 0.5, 0.5, 0.5, 0.5).to_dict()
    del whole["prior"]
    with pytest.raises(pls.InputError, match=r"has prior too\. Pass what `to_dict` made"):
        pls.Result.from_dict(whole)
    with pytest.raises(pls.InputError, match="has attack, question, targets"):
        pls.Result.from_dict({})


def test_a_file_needs_a_version_and_keywords_do_not() -> None:
    with pytest.raises(pls.PolicyError, match="version"):
        pls.Policy.from_dict({"attributes": {"disease": {"role": "sensitive", "l": 2}}})
    assert pls.Policy(sensitive={"disease": 2}).version == 1


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"quasi": "age", "sensitive": {"disease": 2}}, "Write a list: ['age']"),
        ({"quasi": ["disease"], "sensitive": {"disease": 2}}, "'disease' is named twice"),
        ({"quasi": {"age": {"role": "plain"}}}, "'age' is named twice, or has two roles"),
        (
            {"sensitive": {"disease": 2}, "publish": {"method": "tp"}, "method": "bsgi"},
            "publish and method say the same",
        ),
        ({"sensitive": {"disease": {"l": 2, "bn": 3}}}, "Did you mean 'bin'?"),
        ({"sensitive": {"disease": 2.5}}, "Write a whole number"),
        ({}, "names no attribute and no rule"),
    ],
)
def test_keywords_that_are_refused(keywords: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pls.PolicyError) as refusal:
        pls.Policy(**keywords)
    assert sentence in str(refusal.value)


def test_a_keyword_that_is_not_known() -> None:
    with pytest.raises(TypeError, match="methd"):
        pls.Policy(sensitive={"disease": 2}, methd="bsgi")  # type: ignore[call-arg]


# how objects show themselves -------------------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text = set[str](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002, as its parent calls it
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """An object of every class that shows itself; names, values or remarks in it are a stranger's."""
    policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={EVIL: 2})
    made = pls.publish(PEOPLE, POLICY, key=pls.Key.test(), attacks=False)
    claim = made.manifest.claims[0].model_copy(update={"rule": EVIL})
    hostile = made.manifest.model_copy(update={"claims": (claim,), "method": EVIL})
    loss = replace(made.loss, ncp_by_attribute={EVIL: 0.5}, distortion=1.0)
    result = pls.Result(EVIL, EVIL, 4, False, 0.5, 0.5, 0.5, 0.5)
    return {
        "Policy": policy,
        "Profile": pls.profile(PEOPLE.rename({"disease": EVIL})),
        "PolicyCheck": pls.check_policy(None, policy),
        "Publication": replace(made, notes=(EVIL,)),
        "Release": pls.AnalystRelease(hostile, made.tables),
        "Verdict": pls.Verdict((pls.Finding(EVIL, True, witness=EVIL),), (EVIL,)),
        "Loss": loss,
        "AttackResults": pls.AttackResults([result]),
        "Result": result,
        "Finding": pls.Finding(EVIL, True, witness=EVIL, top_share=0.5, top_value=EVIL),
        "ColumnProfile": pls.profile(PEOPLE.rename({"disease": EVIL})).columns[1],
        "Comparison": pls.Comparison(policy, "error", (Trial("bsgi", None, refused=EVIL),), 4),
    }


SHOWN = [
    "Policy", "Profile", "ColumnProfile", "PolicyCheck", "Publication", "Release", "Verdict", "Finding", "Loss",
    "AttackResults", "Result", "Comparison",
]  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_stranger_wrote_is_shown_as_text(name: str, shown: dict[str, Any]) -> None:
    text, page = repr(shown[name]), Page(shown[name]._repr_html_())
    assert text == str(shown[name]) or name == "Finding"  # which is a sentence where it is printed
    assert printable(text, keep="\n") == text
    assert not [line for line in text.splitlines() if line.startswith("| Every")]
    assert page.tags <= {"div", "p", "b", "table", "tr", "th", "td"}
    assert printable(page.text) == page.text
    assert "\\x1b[2J\\u202e\\x0a" in page.text
    assert "\\x1b[2J\\u202e\\x0a" in text


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_begins_with_what_it_is(name: str, shown: dict[str, Any]) -> None:
    words = {"PolicyCheck": "Policy check", "AttackResults": "Attack results", "ColumnProfile": "Column"}
    assert repr(shown[name]).startswith(words.get(name, name))


def test_columns_are_aligned() -> None:
    title, head, *rows = repr(pls.profile(PEOPLE)).splitlines()
    assert title == "Profile: 4 rows, 2 columns"
    assert {line.index("%") for line in rows} == {head.index("share") + len("share") - 1}


def test_an_estimate_shows_itself(saved: Path) -> None:
    estimate = pls.read_release(saved / "release").count("age < 25")
    assert repr(estimate).startswith("Estimate(value=")
    assert "95% interval" in Page(estimate._repr_html_()).text
    assert str(estimate) != repr(estimate)
