"""Comparing methods: the frontier and the choice are those of the definitions, and what was worked out is kept."""

from __future__ import annotations

import json
import stat
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pluralis.attacks import Result
from pluralis.auditing import audit
from pluralis.comparison import cache as remembered
from pluralis.comparison.cache import Remembered, cache_folder, digest
from pluralis.comparison.comparing import compare, range_of, with_l
from pluralis.comparison.frontier import Comparison
from pluralis.comparison.trials import Guess, Measured, Trial, _best, attempt, guesses
from pluralis.engines import process_pool as workers
from pluralis.errors import Infeasible, InputError, PolicyError
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.publishing.comparison_folder import write_comparison
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.report.comparison_page import comparison_page
from pluralis.report.drawing import COLORS, loss_axis, png
from pluralis.report.frontier import frontier_svg, guess_axis
from pluralis.table.csv_files import write_csv_bytes

pytestmark = pytest.mark.usefixtures("trials_in_this_process")
PEOPLE = pl.DataFrame(
    {
        "age": [20 + i * 7 % 41 for i in range(240)],
        "sex": ["fm"[i % 2] for i in range(240)],
        "disease": [f"d{i * i % 7}" if i % 3 else f"d{i % 5}" for i in range(240)],
    }
)
POLICY = Policy.from_dict(
    {
        "version": 1,
        "attributes": {
            "age": {"role": "quasi", "type": "number"},
            "sex": {"role": "quasi"},
            "disease": {"role": "sensitive", "l": 2},
        },
    }
)
SOME = ["anatomy", "bsgi", "mondrian", "sloms"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pluralis"


def measured(guess: float | None, error: float | None, *, kept: bool = True, **more: Any) -> Measured:
    promise = Guess(("age", "sex"), "disease", more.pop("l", 2), "frequency", guess, kept)
    return Measured(
        kind="bucketized", guesses=(promise,), error=error, kl=None, ncp=None, suppressed=0.0, seconds=1.0, **more
    )


def comparison(*points: Measured) -> Comparison:
    return Comparison(POLICY, "error", tuple(Trial(f"m{i}", 2, point) for i, point in enumerate(points)), 240)


# the frontier and the choice ---------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6), st.booleans()), max_size=9))
def test_the_frontier_holds_what_nothing_beats(points: list[tuple[int, int, bool]]) -> None:
    compared = comparison(*(measured(guess / 12, error / 10, kept=kept) for guess, error, kept in points))
    able = [(i, guess, error) for i, (guess, error, kept) in enumerate(points) if kept]
    beaten = {
        i
        for (i, guess, error), (_, other, lost) in product(able, able)
        if other <= guess and lost <= error and (other, lost) != (guess, error)
    }
    assert {trial.method for trial in compared.frontier} == {f"m{i}" for i, _, _ in able if i not in beaten}


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6), st.booleans()), max_size=9))
def test_the_one_taken_keeps_the_policy_and_loses_least(points: list[tuple[int, int, bool]]) -> None:
    compared = comparison(*(measured(guess / 12, error / 10, kept=kept, l=12) for guess, error, kept in points))
    able = [error for guess, error, kept in points if kept]
    assert (compared.taken is None) == (not able)
    if compared.taken is not None:
        assert compared.taken.measured is not None
        assert compared.taken.measured.error == min(able) / 10
        assert compared.taken in compared.frontier or any(
            t.measured.error == compared.taken.measured.error for t in compared.frontier
        )  # type: ignore[union-attr]
        first = next(iter(compared.advice()))
        assert compared.taken.name in first


def test_a_trial_for_a_smaller_l_counts_if_its_guess_is_small_enough() -> None:
    strict = POLICY.override()
    strict = with_l(strict, 4, {"disease": 9})
    assert measured(0.25, 0.1, l=2).satisfies(strict)
    assert not measured(0.26, 0.1, l=2).satisfies(strict)
    assert not measured(None, 0.1, l=2).satisfies(strict)


def test_what_is_not_bounded_is_neither_on_the_frontier_nor_taken() -> None:
    compared = comparison(measured(None, 0.01, kept=False), measured(0.5, 0.2))
    assert [trial.method for trial in compared.frontier] == ["m1"]
    assert compared.taken is not None
    assert compared.taken.method == "m1"
    assert any("Not considered" in sentence and "m0" in sentence for sentence in compared.advice())


def test_nothing_to_take_is_said() -> None:
    assert "No method can publish" in " ".join(comparison().advice())
    assert "No trial keeps every promise" in " ".join(comparison(measured(0.9, 0.1, kept=False)).advice())
    assert "Choose another target" in " ".join(comparison(measured(0.5, None)).advice())


def test_a_method_that_an_attack_breaks_is_not_taken() -> None:
    asked = {"targets": 9, "sampled": False, "low": 0.9, "high": 0.9, "prior": 0.3}
    results = [
        Result("linkage", "one", success=0.9, **asked),  # type: ignore[arg-type]
        Result("linkage", "two", success=0.4, promised=0.5, worst=1.0, **asked),  # type: ignore[arg-type]
    ]
    (best,) = _best(results)
    assert best.breach
    compared = comparison(measured(0.5, 0.01, attacks=(best,)), measured(0.5, 0.2))
    assert compared.taken is not None
    assert compared.taken.method == "m1"
    assert "linkage" in comparison_page(compared)


# trials ------------------------------------------------------------------------------------------------------------


def test_all_methods_are_tried_and_none_is_dropped() -> None:
    compared = compare(PEOPLE, POLICY, workers=0, cache=False)
    assert [trial.method for trial in compared.trials] == list(methods())
    assert all((trial.measured is None) == bool(trial.refused) for trial in compared.trials)
    assert compared.taken is not None
    best = min(m.error for _, m in compared.made if m.satisfies(POLICY) and m.error is not None)
    assert compared.taken.measured is not None
    assert compared.taken.measured.error == pytest.approx(best, abs=1e-6)


def test_a_guess_is_what_the_audit_measured() -> None:
    release = publish(PEOPLE, POLICY.override(method="anatomy"), key=Key.test())
    verdict = audit(release, allow_test=True)
    (guess,) = guesses(release.manifest, verdict, POLICY)
    claimed = next(f for f in verdict.findings if f.claim == release.manifest.claims[0].rule)
    assert (guess.measured, guess.kept) == (claimed.measured, True)
    rows = release.tables["sensitive"]
    top = rows.group_by("group").agg(pl.col("count").max() / pl.col("count").sum())["count"].max()
    assert guess.measured == top


def test_a_trial_survives_json() -> None:
    for method in ("anatomy", "sloms"):
        trial = attempt(PEOPLE, POLICY.override(method=method), 3)
        assert TypeAdapter(Trial).validate_python(json.loads(json.dumps(trial.to_dict()))) == trial


def test_times_do_not_count_the_compiling_of_kernels() -> None:
    first = attempt(PEOPLE, POLICY.override(method="mondrian"), None)
    assert first.measured is not None
    assert first.measured.seconds < 5


# l -----------------------------------------------------------------------------------------------------------------


def test_l_is_at_most_what_values_allow() -> None:
    policy = Policy.from_dict(
        {
            "version": 1,
            "attributes": {"age": {"role": "quasi"}, "a": {"role": "sensitive", "l": 2}},
            "rules": ["age -> b : l=3"],
        }
    )
    changed = with_l(policy, 6, {"a": 4, "b": 9})
    assert (changed.l("a"), changed.l("b")) == (4, 6)
    assert [str(rule) for rule in changed.rules] == ["age -> b : l=6"]


def test_an_l_that_changes_nothing_is_not_tried_again() -> None:
    compared = compare(PEOPLE, POLICY, methods=["anatomy"], ls=range(2, 40), workers=0, cache=False)
    largest = PEOPLE.height // PEOPLE["disease"].value_counts()["count"].max()  # type: ignore[operator]
    assert [trial.l for trial in compared.trials] == [*range(2, largest + 1)]


@pytest.mark.parametrize("text", ["7..2", "a", "2...4", "2;3", "-2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"Write --l 2\.\.7"):
        range_of(text)


def test_recoded_attributes_are_asked_as_they_are_published() -> None:
    table = pl.DataFrame(
        {"age": [10 + i % 100 for i in range(300)], "pay": [i * 7 % 90 for i in range(300)],
         "disease": [f"rare{i}" if i % 25 == 0 else "abcd"[i % 4] for i in range(300)]}
    )  # fmt: skip
    policy = Policy(
        quasi={"age": {"type": "number", "top": 90, "bottom": 18}, "pay": {"type": "number", "breaks": [30, 60]}},
        sensitive={"disease": {"l": 2, "rare": {"below": 10}}},
    )
    tried = compare(table, policy, methods=["bsgi", "anatomy"], workers=1).trials
    assert [trial.method for trial in tried] == ["bsgi", "anatomy"]
    for trial in tried:
        assert trial.measured is not None
        assert trial.measured.error is not None


def test_unknown_names_are_refused() -> None:
    with pytest.raises(PolicyError, match="Did you mean 'anatomy'"):
        compare(PEOPLE, POLICY, methods=["anatomi"])
    with pytest.raises(PolicyError, match="target"):
        compare(PEOPLE, POLICY, target="speed")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="l goes from 2"):
        compare(PEOPLE, POLICY, ls=[1])


# processes ---------------------------------------------------------------------------------------------------------


def test_processes_give_what_this_one_gives(own_cache: Path) -> None:
    here = compare(PEOPLE, POLICY, methods=SOME, workers=0, cache=False)
    there = compare(PEOPLE, POLICY, methods=SOME, workers=2, cache=False)

    def figures(compared: Comparison) -> list[dict[str, Any]]:
        return [{k: v for k, v in trial.items() if k != "seconds"} for trial in compared.to_dict()["trials"]]

    assert figures(here) == figures(there)
    assert [t.refused for t in here.refused] == [t.refused for t in there.refused]
    assert not own_cache.exists()


def test_a_worker_that_dies_takes_nothing_with_it() -> None:
    asked = dict(workers.share_out("support.worker_tasks:double", b"xx", [1, 13, 2, 3], 2, 60.0))
    assert asked == {0: 4, 1: workers.Died(3), 2: 6, 3: 8}


def test_a_worker_that_is_late_takes_nothing_with_it() -> None:
    asked = dict(workers.share_out("support.worker_tasks:double", b"xx", [1, 99, 2], 1, 6.0))
    assert (asked[0], asked[1].late, asked[2]) == (4, True, 6)


def test_what_a_worker_raises_is_raised() -> None:
    with pytest.raises(InputError, match="no"):
        list(workers.share_out("support.worker_tasks:double", b"", [-1], 1, 60.0))
    with pytest.raises(RuntimeError, match="oops"):
        list(workers.share_out("support.worker_tasks:double", b"", [77], 1, 60.0))


def test_workers_fit_in_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 8)
    monkeypatch.setattr(workers, "free_memory", lambda: 4 << 30)
    assert workers.how_many(100, 0) == 8
    assert workers.how_many(3, 0) == 3
    assert workers.how_many(100, 300 << 20) == 2
    assert workers.how_many(100, 10 << 30) == 1


# the cache ---------------------------------------------------------------------------------------------------------


def test_a_second_run_works_out_nothing(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(write_csv_bytes(PEOPLE))
    first = compare(path, POLICY, methods=SOME, ls=[2, 3], workers=0)
    assert stat.S_IMODE(own_cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in own_cache.iterdir()} == {0o600}
    with monkeypatch.context() as patch:
        patch.setattr("pluralis.comparison.comparing.attempt", None)
        patch.setattr("pluralis.comparison.comparing.read_table", None)
        assert compare(path, POLICY, methods=SOME, ls=[2, 3], workers=0) == first
        with pytest.raises(TypeError):  # another question
            compare(path, POLICY, methods=[*SOME, "tp"], ls=[2, 3], workers=0)
        with pytest.raises(TypeError):
            compare(path, POLICY, methods=SOME, ls=[2, 3], workers=0, cache=False)
    path.write_bytes(write_csv_bytes(PEOPLE.head(200)))
    assert compare(path, POLICY, methods=SOME, ls=[2, 3], workers=0).rows == 200


def test_a_changed_hierarchy_is_another_question(tmp_path: Path) -> None:
    tree = tmp_path / "sex.csv"
    tree.write_text("f,*\nm,*\n")
    data = POLICY.model_dump(mode="json", exclude_unset=True)
    data["attributes"]["sex"]["hierarchy"] = {"file": "sex.csv"}
    policy = Policy.from_dict(data, folder=tmp_path)
    compare(PEOPLE, policy, methods=["mondrian"], workers=0)
    before = len(list(cache_folder().iterdir()))
    tree.write_text("f,any,*\nm,any,*\n")
    compare(PEOPLE, policy, methods=["mondrian"], workers=0)
    assert len(list(cache_folder().iterdir())) > before


@pytest.mark.parametrize(
    "kept", ["[]", "{}", "3", '"x"', "[1, 2]", '{"method": "anatomy"}', '{"measured": []}', "true"]
)
def test_what_has_another_shape_is_worked_out_again(own_cache: Path, kept: str) -> None:
    first = compare(PEOPLE, POLICY, methods=["anatomy"], ls=[2], workers=0)
    files = sorted(own_cache.iterdir())
    before = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.write_text(kept)
    again = compare(PEOPLE, POLICY, methods=["anatomy"], ls=[2], workers=0)
    assert (again.rows, [t.method for t in again.trials]) == (first.rows, ["anatomy"]) or kept == "3"
    assert again.trials[0].measured is not None
    after = [json.loads(file.read_text()) for file in files]
    assert [type(one) for one in after] == [type(one) for one in before] or kept == "3"


def test_a_trial_of_another_method_is_not_believed(own_cache: Path) -> None:
    compare(PEOPLE, POLICY, methods=["anatomy"], workers=0)
    for file in own_cache.iterdir():
        data = json.loads(file.read_text())
        if isinstance(data, dict) and "method" in data:
            file.write_text(json.dumps(data | {"method": "bsgi"}))
    assert [trial.method for trial in compare(PEOPLE, POLICY, methods=["anatomy"], workers=0).trials] == ["anatomy"]


def test_what_is_damaged_is_worked_out_again(own_cache: Path) -> None:
    first = compare(PEOPLE, POLICY, methods=["anatomy"], workers=0)
    for file in own_cache.iterdir():
        file.write_text("{")
    again = compare(PEOPLE, POLICY, methods=["anatomy"], workers=0)
    assert again.trials[0].measured is not None
    assert first.trials[0].measured is not None
    assert again.trials[0].measured.guesses == first.trials[0].measured.guesses


def test_a_folder_that_is_not_ours_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    kept = Remembered(tmp_path / "file")
    kept.put("a", 1)
    assert kept.get("a") is None
    (tmp_path / "link").symlink_to(tmp_path)
    assert not remembered._own(tmp_path / "link")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "pluralis"
    assert digest("a") != digest("b")


# method: auto ------------------------------------------------------------------------------------------------------


def auto(**options: Any) -> Policy:
    return POLICY.override(method="auto", options=options)


def test_auto_publishes_by_the_method_that_compare_takes(tmp_path: Path) -> None:
    release = publish(PEOPLE, auto(methods=SOME), key=Key.test())
    taken = compare(PEOPLE, POLICY, methods=SOME).taken
    assert taken is not None
    assert release.manifest.method == taken.method
    assert "auto" not in release.manifest.to_json()
    assert any(note.startswith(f"method: auto. Take {taken.method}.") for note in release.notes)
    release.save(tmp_path / "release", allow_test=True)
    assert not any("auto" in path.read_text(errors="replace") for path in (tmp_path / "release").iterdir())
    assert f"auto; {taken.method} was used" in (tmp_path / "release.private" / "report.html").read_text()


def test_auto_follows_its_target() -> None:
    assert publish(PEOPLE, auto(target="ncp", methods=SOME), key=Key.test()).manifest.kind == "generalized"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "kl"}, "no option 'goal'"),
        ({"k": 3}, "no option 'k'.*top level"),
        ({"target": "speed"}, "no target"),
        ({"methods": "bsgi"}, "write a list"),
    ],
)
def test_auto_refuses_what_it_does_not_know(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        publish(PEOPLE, auto(**options))


def test_auto_says_why_there_is_none() -> None:
    impossible = with_l(POLICY, 200, {"disease": 200}).override(method="auto", options={"methods": ["anatomy", "bsgi"]})
    with pytest.raises(Infeasible, match=r"(?s)no method.*anatomy: .*largest l.*bsgi: .*largest l"):
        publish(PEOPLE, impossible)


# the picture -------------------------------------------------------------------------------------------------------


def test_every_method_has_a_look_of_its_own_without_color() -> None:
    points = [measured(0.1 + i / 100, 0.1) for i in range(len(methods()))]
    svg = frontier_svg(comparison(*points))
    for color in COLORS:
        svg = svg.replace(color, "#000")  # type: ignore[assignment]
    legend = svg[svg.index(">Methods<") : svg.index(">Marks<")]
    shapes = [part.split("</")[0] for part in legend.split("<") if part.startswith(("polygon", "circle"))]
    places = [shape.split('"')[1] if shape.startswith("polygon") else "disc" for shape in shapes]

    def moved(points: str) -> str:
        pairs = [tuple(map(float, pair.split(","))) for pair in points.split()]
        low = min(y for _, y in pairs)
        return str(sorted((x, round(y - low, 1)) for x, y in pairs))

    looks = {place if place == "disc" else moved(place) for place in places}
    assert len(looks) == len(points)


def test_the_picture_is_a_png_of_its_size(tmp_path: Path) -> None:
    compared = compare(PEOPLE, POLICY, methods=SOME, ls=[2, 3, 4], workers=0)
    write_comparison(compared, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["compare.html", "compare.json", "frontier.png", "frontier.svg"]
    picture = (tmp_path / "out" / "frontier.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    assert f'width="{width // 2}"' in (tmp_path / "out" / "frontier.svg").read_text()
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "<svg" in page
    assert "Do not apply" in page
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_letters_are_drawn() -> None:
    compared = comparison(measured(0.5, 0.1), measured(0.25, 0.2))
    with_text, without = frontier_svg(compared), frontier_svg(compared).replace(">m0<", "><")
    assert png(with_text) != png(without)


def test_names_never_become_markup() -> None:
    evil = '<script>alert("x")</script>'
    guess = Guess((evil,), evil, 2, "frequency", 0.5, True)
    one = Measured("bucketized", (guess,), 0.1, None, None, 0.0, 1.0)
    policy = Policy.from_dict(
        {"version": 1, "attributes": {evil: {"role": "sensitive", "l": 2}, "q": {"role": "quasi"}}}
    )
    compared = Comparison(policy, "error", (Trial("m", 2, one), Trial(evil, 2, refused=evil)), 9)
    assert "<script" not in comparison_page(compared)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8))
def test_axes_hold_every_value(values: list[float]) -> None:
    for axis in (guess_axis(values), loss_axis(values, log=False)):
        assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value in values)
        assert axis.ticks


@pytest.mark.parametrize(("ls", "tried"), [([4], [3]), ([2, 3, 4], [2, 3]), ([2], [2])])
def test_an_l_that_is_not_possible_is_said_and_what_was_tried_has_its_own(ls: list[int], tried: list[int]) -> None:
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(90)], "ill": [("a", "b", "c")[i % 3] for i in range(90)]})
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2})
    compared = compare(table, policy, methods=["anatomy"], ls=ls, cache=False, workers=0)
    assert [trial.l for trial in compared.trials] == tried
    said = "l = 4 is not possible: the largest l of ill is 3. What was tried instead is l = 3."
    assert (said in list(compared.advice())) is (4 in ls)
    assert (said in compared.to_dict()["notes"]) is (4 in ls)
