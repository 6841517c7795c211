"""The pages are true: commands run, Python runs, links lead somewhere, and what is pasted is fresh."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel

from pluralis.cli.main import app, run
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import PluralisError
from pluralis.method import methods
from pluralis.method.bsgi import Bsgi
from pluralis.metrics import measure
from pluralis.policy import attributes as attribute_module
from pluralis.policy import hierarchies as hierarchy_module
from pluralis.policy import recoding as recoding_module
from pluralis.policy import settings as settings_module
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.table.csv_files import write_csv_bytes
from pluralis.table.encoding import encode
from support.sample_tables import PATIENTS, adult_policy, policy_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\(exit code (\d)\)")


class Command(NamedTuple):
    """One `$ pluralis …` of a console block, and what the page says about it."""

    words: list[str]
    output: list[str]
    code: int
    exact: bool


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match["info"].strip(), match["body"]


def commands(info: str, body: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        first, *rest = part.rstrip("\n").split("\n")
        words = first.split()
        if words[0] == "pluralis":
            code = next((int(match[1]) for line in rest if (match := EXIT.fullmatch(line))), 0)
            yield Command(words[1:], [line for line in rest if not EXIT.fullmatch(line)], code, info.endswith("exact"))


def named(pages: list[Path]) -> Any:
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(scope="module")
def discharges() -> bytes:
    """The table of the demo, as `pluralis demo` writes it."""
    return write_csv_bytes(hospital_discharges())


@pytest.fixture
def here(discharges: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "discharges.csv").write_bytes(discharges)
    (tmp_path / "patients.csv").write_bytes(write_csv_bytes(PATIENTS))
    example = next(body for info, body in blocks(ROOT / "docs" / "policy.md") if info == "yaml")
    (tmp_path / "three.yaml").write_text(example.replace("l: 2", "l: 3"))
    (tmp_path / "bounded.yaml").write_text(example.replace("l: 2", "at_most: {Flu: 1/3}"))
    (tmp_path / "rarer.yaml").write_text(example.replace("l: 2", "at_most: {Flu: 1/5}"))
    (tmp_path / "policy.yaml").write_text(example)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WITH_COMMANDS = [page for page in PAGES if any(list(commands(*block)) for block in blocks(page))]


@named(WITH_COMMANDS)
def test_commands_do_what_the_page_shows(
    page: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "README.md":
        (here / "policy.yaml").unlink()
    for info, body in blocks(page):
        if info == "yaml" and body.startswith("version:"):
            (here / "policy.yaml").write_text(body)
        for command in commands(info, body) if info.startswith("console") else ():
            monkeypatch.setattr(sys, "argv", ["pluralis", *command.words])
            try:
                code = run(app)
            except SystemExit as stop:
                code = int(stop.code or 0)
            out, err = capsys.readouterr()
            assert code == command.code, (command.words, err)
            if command.exact:
                assert [line.rstrip() for line in out.splitlines()] == command.output
            for line in command.output if command.code else ():
                assert line in err


def test_every_page_that_shows_a_command_is_tested() -> None:
    assert {"README.md", "policy.md", "bsgi.md", "mondrian.md", "incognito.md"} <= {page.name for page in WITH_COMMANDS}
    for page in PAGES:
        shown = page.read_text(encoding="utf-8").count("\n$ pluralis ")
        assert shown == sum(len(list(commands(*block))) for block in blocks(page) if block[0].startswith("console"))


KEY_OF_THE_PAGES = Key(bytes.fromhex("690b9aacc39daceac5335a7677ca5118299ca7e4f3aa1932d98246b5ce943f6a"))


def test_what_publish_prints_is_what_the_pages_show(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but the number of the weakest group, which is drawn; what attacks get hangs on the key too."""
    monkeypatch.setattr(Key, "new", lambda: KEY_OF_THE_PAGES)
    shown = [
        command
        for page in WITH_COMMANDS
        for block in blocks(page)
        for command in commands(*block)
        if command.words[0] == "publish" and len(command.output) > 1
    ]
    assert len(shown) == 4
    readme = next(body for info, body in blocks(ROOT / "README.md") if info == "yaml")
    for command in shown:
        if "demo/discharges.csv" in command.words:
            (here / "policy.yaml").write_text(readme)
        monkeypatch.setattr(sys, "argv", ["pluralis", *command.words])
        assert run(app_alone) == 0
        out = capsys.readouterr().out
        if "demo/discharges.csv" in command.words:
            (here / "policy.yaml").write_text(next(b for i, b in blocks(ROOT / "docs" / "policy.md") if i == "yaml"))
        drawn = re.compile(r"group \d+")
        target = command.words[command.words.index("--out") + 1]
        assert (here / target / "manifest.json").is_file()
        assert [drawn.sub("group", line.rstrip()) for line in out.splitlines()] == [
            drawn.sub("group", line) for line in command.output
        ]
        for folder in (here / target, here / f"{target}.private"):
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


def app_alone() -> None:
    """The command line without its exit."""
    app(standalone_mode=False)


@named([ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "docs" / "python.md"])
def test_python_runs(page: Path, here: Path) -> None:
    readme = next(body for info, body in blocks(ROOT / "README.md") if info == "yaml")
    (here / "policy.yaml").write_text(readme)
    names: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for info, body in blocks(page):
        if info == "python":
            exec(compile(body, page.name, "exec"), names)
            ran += 1
    assert ran


def test_the_policies_of_the_pages_are_policies() -> None:
    policies = 0
    for page in PAGES:
        for info, body in blocks(page):
            if info == "yaml" and body.startswith("version:"):
                Policy.parse(body)
                policies += 1
    assert policies >= 2


# links and words ------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@named(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


CODE = re.compile(r"\b[BDSRVA]\d\b")
EXPLAINED = re.compile(r"^#+ ([BDSRVA]\d): .*$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def prose(page: Path) -> str:
    """A page without what is code."""
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))


def test_every_code_is_explained_once() -> None:
    explained = [code for page in PAGES for code in EXPLAINED.findall(prose(page))]
    linked = {code for page in PAGES for text, _ in LINK.findall(prose(page)) for code in CODE.findall(text)}
    assert len(explained) == len(set(explained))
    assert linked <= set(explained)


@named(PAGES)
def test_every_code_leads_to_its_explanation(page: Path) -> None:
    """B4 and the like number weaknesses of methods: each is a link to its explanation, or the heading over it."""
    text = prose(page)
    for words, target in LINK.findall(text):
        assert all(f"#{code.lower()}-" in target for code in CODE.findall(words)), (words, target)
    assert CODE.findall(EXPLAINED.sub("", LINK.sub("", text))) == []


def tracked() -> list[Path]:
    """The text files of the repository, those that are about to be added included."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, check=True,
        ).stdout.decode()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("which files are committed is asked of git: run the tests in a git clone")
    files = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in files if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def test_no_machine_path_and_no_package_host() -> None:
    folders = "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me"])
    wrong = re.compile(
        rf"(?<![\w.*)~])/({folders})/(?!eve/)|pypi\.o[r]g|pythonhosted\.o[r]g|anaconda\.o[r]g", re.IGNORECASE
    )
    places = []  # eve is nobody: a path that a test invents
    for path in tracked():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if wrong.search(line):
                places.append(f"{path.relative_to(ROOT)}:{number}")
    assert places == []


@named([page for page in PAGES if page.name != "LIMITATIONS.md"])
def test_words_that_are_never_used(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").lower().split())
    for words in ("anonymous", "safe against any attack", "hides membership"):
        assert words not in text


# what the pages cover -------------------------------------------------------------------------------------------


def test_every_policy_key_is_described() -> None:
    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    models = [
        model
        for module in (settings_module, attribute_module, hierarchy_module, recoding_module)
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == module.__name__
    ]
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()}
    assert {"attributes", "role", "if_missing", "as", "knows", "suppress", "intervals", "start", "icd", "below"} <= keys
    missing = sorted(key for key in keys if not re.search(rf"`[^`\n]*\b{re.escape(key)}\b[^`\n]*`", text))
    assert missing == []


@pytest.mark.parametrize("name", list(methods()))
def test_every_method_has_a_page(name: str) -> None:
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    for heading in ("Idea", "Guarantee", "Known breaks", "Options", "Example", "Differences from the paper"):
        assert f"\n## {heading}\n" in text
    for option in methods()[name].model_fields:
        assert option == "variant" or f"| `{option}` |" in text
    for item in methods()[name].breaks:
        assert item.split(":")[0].split()[0].lower() in text.lower()


def test_every_room_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "pluralis"
    modules = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    modules += [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    assert [name for name in sorted(modules) if f"`{name}`" not in text] == []


def paste() -> Any:
    spec = importlib.util.spec_from_file_location("paste", ROOT / "docs" / "paste.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pasted_output_is_fresh() -> None:
    assert [str(path.relative_to(ROOT)) for path, _ in paste().stale()] == []


def test_every_command_is_pasted() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert len(names) >= 7
    for name in names:
        assert f"<!-- paste: pluralis {name} --help -->" in text


def test_stale_output_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = paste()
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("a\n<!-- paste: pluralis init --help -->\nold\n<!-- end -->\nb\n")
    (tmp_path / "ARCHITECTURE.md").write_text("Nothing is pasted here.\n")
    monkeypatch.setattr(module, "DOCS", page.parent)
    assert module.main(check=True) == 1
    assert module.main(check=False) == 0
    assert module.main(check=True) == 0
    assert "--encoding" in page.read_text()


def test_the_schema_is_that_of_the_policy() -> None:
    text = (ROOT / "src" / "pluralis" / "policy" / "policy.schema.json").read_text(encoding="utf-8")
    assert text == json.dumps(Policy.model_json_schema(), indent=1) + "\n"


# claims that a page makes in words ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("version: 1", "version: 2"), "version: Input should be 1, not 2."),
        (("  name:     {role: identifier}\n", ""), "The policy says nothing about 'name'. Give each a role"),
        (("  age: ", "  agee:"), "The policy names 'agee', the table has no such column. Did you mean 'age'?"),
        (("age:      {role: quasi", "gender2: {role: quasi"), "no such column"),
        (("gender:   {role: quasi}", "gender:   {role: quasi, type: number}"), "Correct it, declare it in `missing`"),
        (("type: number}", "type: number, hierarchy: {intervals: [10, 25]}}"), "intervals must nest"),
        (("l: 2}", "l: 2, model: recursive}"), "needs c"),
        (("l: 2}", "l: 2, bin: 5}"), "bin is for sensitive numbers"),
        (("publish:", "rules: [age -> disease]\npublish:"), "end the rule with `: l=2` or a larger whole number"),
        (("publish:", "rules: ['age, gender -> postcode : l=2']\npublish:"), "quasi elsewhere"),
        (("publish:", "version: 1\npublish:"), "stands twice"),
        (("publish: {", "publish: &x {"), "anchors and aliases"),
    ],
)
def test_errors_that_the_policy_page_names(here: Path, change: tuple[str, str], message: str) -> None:
    text = (here / "policy.yaml").read_text()
    assert change[0] in text
    with pytest.raises(PluralisError) as refusal:
        publish(PATIENTS, Policy.parse(text.replace(*change)), key=Key.test())
    assert message in str(refusal.value)


def test_defaults_that_the_policy_page_names() -> None:
    policy = Policy.parse("version: 1\nattributes: {age: {role: quasi}, disease: {role: sensitive, l: 2}}")
    disease = policy.attributes["disease"]
    assert (policy.others, policy.person, policy.missing, policy.k) == (None, None, [""], None)
    assert (policy.publish.method, policy.publish.variant, policy.publish.options) == ("bsgi", "hardened", {})
    assert (policy.publish.suppress, disease.model, disease.type, disease.case) == (0, "frequency", "text", "fold")
    assert (disease.if_missing, disease.weight, disease.c, disease.bin) == ("refuse", 1, None, None)


@pytest.mark.parametrize(
    ("diversity", "groups_of", "lost"),
    [({}, 4.0, 0.045), ({"insurer": 2}, 4.0, 0.109), ({"insurer": 3}, 6.0, 0.198)],
    ids=["diagnosis", "and insurer, 2", "and insurer, 3"],
)
def test_groups_grow_as_limitations_says(diversity: dict[str, int], groups_of: float, lost: float) -> None:
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number"},
        "gender": {"role": "quasi"},
        "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "diagnosis": {"role": "sensitive", "l": 4},
        **{name: {"role": "sensitive", "l": l} for name, l in diversity.items()},
    }
    table = hospital_discharges()
    release = publish(table, policy_of(attributes, others="drop", person="patient"), key=Key.test())
    loss = measure(release, table)
    assert round(loss.average_group, 1) == groups_of
    assert loss.ncp == pytest.approx(lost, abs=0.003)


@pytest.mark.parametrize(("l", "groups", "lost"), [(2, 40, 0.632), (5, 5, 0.857), (7, 1, 1.0)])
def test_incognito_loses_on_adult_what_its_page_says(adult: Path, l: int, groups: int, lost: float) -> None:
    release = publish(adult, adult_policy(l, method="incognito"), key=Key.test())
    assert (release.loss.groups, round(release.loss.ncp, 3)) == (groups, lost)


class InThisOrder(Draw):
    """A draw whose rows come in a given order."""

    def permutation(self, count: int, purpose: str) -> Any:
        return np.array(ORDER) if purpose == "rows" else super().permutation(count, purpose)


ORDER: tuple[int, ...] = ()


def test_six_rows_whose_values_the_algorithm_gives_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/methods/bsgi.md: of eight tables that fit the release, one alone can have produced it."""
    ages = [8, 12, 19, 21, 34, 36]
    published = {(8, 19): "bd", (21, 36): "ac", (12, 34): "ab"}
    policy = policy_of({"age": {"role": "quasi", "type": "number"}, "s": {"role": "sensitive", "l": 2}})
    produced: Counter[str] = Counter()
    for choice in itertools.product((1, -1), repeat=3):
        value_of = {
            age: value
            for (pair, values), step in zip(published.items(), choice, strict=True)
            for age, value in zip(pair, values[::step], strict=True)
        }
        table = encode(pl.DataFrame({"age": ages, "s": [value_of[age] for age in ages]}), policy)
        for order in itertools.permutations(range(6)):
            monkeypatch.setattr(sys.modules[__name__], "ORDER", order)
            group_of = Bsgi().plan(table, policy, InThisOrder(Key.test())).group_of.tolist()
            groups = {tuple(age for age, g in zip(ages, group_of, strict=True) if g == group) for group in range(3)}
            produced["".join(value_of[age] for age in ages)] += groups == set(published)
    assert {world for world, times in produced.items() if times} == {"bbdcaa"}
    assert len(produced) == 8
