"""Nothing partial, nothing unaudited: whatever happens while a release is written, it is whole or not visible."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.attacks import attack
from pluralis.auditing import audit
from pluralis.errors import AuditFailed, OutputError, PolicyError
from pluralis.estimate import col, count
from pluralis.estimate.analyst_release import read_release
from pluralis.publishing import atomic_folders
from pluralis.publishing.atomic_folders import Stage
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Format, Publication
from pluralis.randomness import Key
from support.effort import LONG
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

PRIVATE_FILES = ["attack.json", "audit.json", "key", "policy.yaml", "report.html", "utility.json"]
NOT_ATTACKED = PRIVATE_FILES[1:]


@pytest.fixture(scope="module")
def publication() -> Publication:
    return publish(PATIENTS, patients_policy(), key=KEY)


@pytest.fixture(scope="module")
def another() -> Publication:
    return publish(PATIENTS, patients_policy(method="mondrian", republish="independent"), key=KEY, attacks=False)


class _Killed(BaseException):
    """The process is gone: nothing after this runs."""


def _staged(place: Path) -> list[Path]:
    return [p for p in place.iterdir() if p.name.startswith(".")]


def _steps(monkeypatch: pytest.MonkeyPatch, last: int, fails: OSError | None = None) -> list[str]:
    """Let every step of writing be counted; the one numbered `last` fails, or the process dies before it."""
    seen: list[str] = []

    def counted(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def step(*args: Any, **kwargs: Any) -> Any:
            if len(seen) == last and fails is None:
                monkeypatch.setattr(Stage, "discard", lambda stage: os.close(stage._lock))
                raise _Killed
            seen.append(name)
            if len(seen) == last + 1 and fails is not None:
                raise fails
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, step)

    counted(atomic_folders.secrets, "token_hex")
    counted(atomic_folders.os, "open")
    counted(atomic_folders.os, "fsync")
    counted(atomic_folders.os, "rename")
    counted(atomic_folders, "_rename")
    counted(atomic_folders.fcntl, "flock")
    return seen


def _without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system, or a file system, that cannot exchange two folders in one step."""
    monkeypatch.setattr(atomic_folders.ctypes, "CDLL", lambda *_, **__: object())


def _whole(place: Path) -> bool:
    """Whether a release and its private folder, with every file, are all that is there."""
    files = sorted(file.name for file in (place / "release.private").iterdir())
    alone = sorted(folder.name for folder in place.iterdir()) == ["release", "release.private"]
    return alone and files in (PRIVATE_FILES, NOT_ATTACKED)


_AUDITED: dict[tuple[tuple[str, bytes], ...], bool] = {}


def _passes(release: Path) -> bool:
    """Whether a folder passes its audit, which is run once for each content that a folder can have."""
    content = tuple(sorted((file.name, file.read_bytes()) for file in release.iterdir()))
    if content not in _AUDITED:
        _AUDITED[content] = audit(release).holds
    return _AUDITED[content]


def _matched(place: Path) -> str:
    """The hash of a whole, passing release, whose report, unless the key stands alone, is its own."""
    assert _passes(place / "release")
    sha256 = hashlib.sha256((place / "release" / "manifest.json").read_bytes()).hexdigest()
    private = place / "release.private"
    files = sorted(file.name for file in private.iterdir())
    assert files in (["key"], PRIVATE_FILES, NOT_ATTACKED)
    assert Key.read(private / "key") == KEY
    if files != ["key"]:
        assert json.loads((private / "audit.json").read_text())["manifest_sha256"] == sha256
    return sha256


def test_killed_at_any_step_everything_or_nothing(
    publication: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, finished, visible_at = 0, False, []
    while not finished:
        place = tmp_path / str(step)
        place.mkdir()
        target = place / "release"
        with monkeypatch.context() as patched:
            seen = _steps(patched, step)
            try:
                publication.save(target)
                finished = True
            except _Killed:
                assert len(seen) == step
        if target.exists():
            visible_at.append(step)
            assert _passes(target)
            assert (place / "release.private" / "report.html").exists()
        else:
            assert all(p.name.startswith(".") or p.name == "release.private" for p in place.iterdir())
        publication.save(target, replace=True)  # the next writer removes what the dead one left
        assert sorted(p.name for p in place.iterdir()) == ["release", "release.private"]
        step += 1
    assert step > 20
    assert visible_at == [*range(visible_at[0], step)]


@pytest.mark.parametrize("exchange", [True, False], ids=["one step", "several steps"])
def test_killed_at_any_step_of_a_replacement_the_pair_matches(
    publication: Publication, another: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    stranger = publish(PATIENTS, patients_policy(), key=Key.new())
    (tmp_path / "before").mkdir()
    publication.save(tmp_path / "before" / "release")
    step, finished, seen_after, old, new = 0, False, [], "", ""
    while not finished:
        place = shutil.copytree(tmp_path / "before", tmp_path / str(step))
        target = place / "release"
        old = _matched(place)
        with monkeypatch.context() as patched:
            if not exchange:
                _without_exchange(patched)
            steps = _steps(patched, step)
            try:
                another.save(target, replace=True)
                finished = True
            except _Killed:
                assert len(steps) == step
        if exchange or {"release", "release.private"} <= {p.name for p in place.iterdir()}:
            seen_after.append(_matched(place))
        with pytest.raises(OutputError, match="another key"):  # whatever was lost, it was not the key
            stranger.save(target, replace=True)
        another.save(target, replace=True)
        new = _matched(place)
        assert _whole(place)
        step += 1
    assert step > 30
    assert {*seen_after} == {old, new}
    assert seen_after == sorted(seen_after, key=[old, new].index)


def test_failing_at_any_step_of_a_replacement_the_pair_is_the_old_one_or_the_new_one(
    publication: Publication, another: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "before").mkdir()
    publication.save(tmp_path / "before" / "release")
    step, failed, steps = 0, 0, list[str]()
    while len(steps) >= step:  # until there is no such step
        place = shutil.copytree(tmp_path / "before", tmp_path / str(step))
        old, replaced = _matched(place), False
        with monkeypatch.context() as patched:
            steps = _steps(patched, step, fails=OSError(5, "Input/output error"))
            try:
                another.save(place / "release", replace=True)
                replaced = True
            except OutputError:
                failed += 1
        assert replaced == (_matched(place) != old)
        assert len(list((place / "release.private").iterdir())) == len(NOT_ATTACKED if replaced else PRIVATE_FILES)
        step += 1
    assert failed > 30


_DYING = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from support.sample_tables import KEY, PATIENTS, patients_policy
from pluralis.publishing.pipeline import publish
release = publish(PATIENTS, patients_policy(), key=KEY)
left = int(sys.argv[2])
def hook(event, args):
    global left
    if event in ("open", "os.mkdir", "os.rename", "fcntl.flock", "os.chmod", "ctypes.call_function", "os.remove"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
release.save(sys.argv[1])
"""


@pytest.mark.parametrize("event", [3, 9, 16, 24, 31])
def test_really_killed(tmp_path: Path, event: int) -> None:
    target = tmp_path / "release"
    ran = subprocess.run(
        [sys.executable, "-c", _DYING, str(target), str(event), str(Path(__file__).parents[1])], capture_output=True
    )
    assert ran.returncode == -9, ran.stderr.decode()
    if target.exists():
        assert audit(target).holds
    else:
        assert all(p.name.startswith(".") or p.name == "release.private" for p in tmp_path.iterdir())


_DYING_WHILE_REPLACING = """
import os, pickle, shutil, signal, sys
from pathlib import Path
import pluralis.auditing.kinds.generalized, pluralis.publishing.saving  # once, before the forks
STEPS = ("os.mkdir", "fcntl.flock", "os.chmod", "ctypes.dlsym", "os.rename", "os.remove", "os.rmdir")
places, last, stride, status = Path(sys.argv[1]), 0, int(sys.argv[3]), -1
while status:
    left = last = last + stride
    place = shutil.copytree(places / "before", places / str(last))
    child = os.fork()
    if not child:
        release = pickle.loads(Path(sys.argv[2]).read_bytes())
        def hook(event, args):
            global left
            if event in STEPS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        release.save(place / "release", replace=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
"""


def test_really_killed_at_any_step_of_a_replacement(
    publication: Publication, another: Publication, tmp_path: Path
) -> None:
    """Processes die, each before a later step, until one comes through; in a long run before every step."""
    stride = 1 if LONG else 3
    (tmp_path / "before").mkdir()
    publication.save(tmp_path / "before" / "release")
    (place := tmp_path / "another").write_bytes(pickle.dumps(another))
    command = [sys.executable, "-c", _DYING_WHILE_REPLACING, str(tmp_path), str(place), str(stride)]
    ran = subprocess.run(command, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    place.unlink()
    old = _matched(tmp_path / "before")
    places = sorted((p for p in tmp_path.iterdir() if p.name != "before"), key=lambda place: int(place.name))
    seen_after = [_matched(place) for place in places]
    for place in places:
        another.save(place / "release", replace=True)
        assert _whole(place)
    new = _matched(places[-1])
    assert len(places) > 20 / stride
    assert {*seen_after} == {old, new}
    assert seen_after == sorted(seen_after, key=[old, new].index)


def test_two_writers_give_one_winner(tmp_path: Path, publication: Publication) -> None:
    target = tmp_path / "release"
    outcomes: list[str] = []
    ready = threading.Barrier(4)

    def write() -> None:
        ready.wait()
        try:
            publication.save(target)
            outcomes.append("won")
        except OutputError as error:
            outcomes.append(str(error))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sum(outcome == "won" for outcome in outcomes) == 1
    assert all("exists already" in outcome for outcome in outcomes if outcome != "won")
    assert audit(target).holds
    assert _staged(tmp_path) == []


def _abandon(folder: Path) -> Path:
    """A staged folder whose writer is gone."""
    folder.mkdir()
    (folder / "microdata.parquet").write_text("rows")
    return folder


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("rel[1]", "rel1"),
        ("rel[!x]", "rel1"),
        ("rel*", "release"),
        ("rel?", "rel1"),
        ("**", "release"),
        ("rel", "rel.staging-0123456789abcdef"),
        ("rel", "rel.staging-x"),
        ("rel", "rel.private"),
        ("rel", "REL"),
    ],
)
def test_what_is_staged_for_another_name_is_left_alone(
    tmp_path: Path, publication: Publication, name: str, other: str
) -> None:
    publication.save(tmp_path / name)
    ours = _abandon(tmp_path / f".{name}.staging-0123456789abcdef")
    old = _abandon(tmp_path / f".{name}.staging-fedcba9876543210.old")
    others = [_abandon(tmp_path / f".{other}.staging-{word}") for word in ("0123456789abcdef", "0123456789abcdef.old")]
    publication.save(tmp_path / name, replace=True)
    assert not ours.exists()
    assert not old.exists()
    expected = {name, f"{name}.private", *(f.name for f in others if other != f"{name}.private")}
    assert {p.name for p in tmp_path.iterdir()} == expected
    assert audit(tmp_path / name).holds


def test_existing_output_is_kept_without_replace(tmp_path: Path, publication: Publication) -> None:
    for name, make in {"file": Path.touch, "empty": Path.mkdir}.items():
        target = tmp_path / name
        make(target)
        with pytest.raises(OutputError, match="exists already"):
            publication.save(target)
    publication.save(tmp_path / "release")
    before = (tmp_path / "release" / "manifest.json").stat().st_ino
    with pytest.raises(OutputError, match="--replace"):
        publication.save(tmp_path / "release")
    assert (tmp_path / "release" / "manifest.json").stat().st_ino == before
    publication.save(tmp_path / "release", replace=True)
    assert audit(tmp_path / "release").holds
    with pytest.raises(OutputError, match="is a file"):
        publication.save(tmp_path / "file", replace=True)
    (tmp_path / "empty" / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"holds no manifest.json.*Choose another name"):
        publication.save(tmp_path / "empty", replace=True)
    assert (tmp_path / "empty" / "thesis.txt").read_text() == "years of work"
    assert _staged(tmp_path) == []


def test_symbolic_links_are_refused(tmp_path: Path, publication: Publication) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "release").symlink_to(tmp_path / "elsewhere")
    for replace in (False, True):
        with pytest.raises(OutputError, match="symbolic link"):
            publication.save(tmp_path / "release", replace=replace)
    (tmp_path / "other.private").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="symbolic link"):
        publication.save(tmp_path / "other")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a full disk is tested on a small tmpfs, which only root may mount: run as root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_nothing(small_disk: Path) -> None:
    wide = pl.concat([PATIENTS] * 2000).with_row_index("number").with_columns(pl.col("age") + pl.col("number"))
    policy = patients_policy()
    policy = type(policy).from_dict({**policy.model_dump(by_alias=True, exclude_unset=True), "others": "drop"})
    with pytest.raises(OutputError, match="disk is full"):
        publish(wide, policy, key=KEY).save(small_disk / "release")
    assert list(small_disk.iterdir()) == []


def test_a_read_only_place_leaves_nothing(small_disk: Path, publication: Publication) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OutputError, match="Read-only"):
        publication.save(small_disk / "release")


def test_no_parent_folder(tmp_path: Path, publication: Publication) -> None:
    with pytest.raises(OutputError, match="Create it first"):
        publication.save(tmp_path / "no" / "release")


@pytest.mark.parametrize("name", ["..", ".hidden"])
def test_odd_names_are_refused(tmp_path: Path, publication: Publication, name: str) -> None:
    with pytest.raises(OutputError):
        publication.save(tmp_path / "x" / name)


def test_attribute_names_are_never_part_of_a_path(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "/dev/null", "CON"]
    table = pl.DataFrame({names[0]: [1, 2, 3, 4], names[1]: list("aabb"), names[2]: list("xyxy")})
    policy = policy_of({names[0]: {"role": "quasi", "type": "number"}, names[1]: {"role": "quasi"},
                        names[2]: {"role": "sensitive", "l": 2}})  # fmt: skip
    publish(table, policy, key=KEY).save(tmp_path / "release")
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        "README.md", "attack.json", "audit.json", "key", "manifest.json", "microdata.parquet", "policy.yaml", "release",
        "release.private", "report.html", "utility.json",
    ]  # fmt: skip
    assert audit(tmp_path / "release", original=table).holds


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["marital status", "marital_status"], ["sensitive_marital_status", "sensitive_marital_status_2"]),
        (["工资", "职业"], ["sensitive_", "sensitive_2"]),
        (["A b", "a_b"], ["sensitive_a_b", "sensitive_a_b_2"]),
        (["a b", "a_b", "a_b_2"], ["sensitive_a_b", "sensitive_a_b_3", "sensitive_a_b_2"]),
        (["job", "marital status"], ["sensitive_job", "sensitive_marital_status"]),
    ],
)
def test_tables_of_alike_names_have_files_of_their_own(
    tmp_path: Path, names: list[str], files: list[str], format: Format
) -> None:
    values = ["abcd" * 3, "wxyzxyzwyzwx", "ppqqrrppqqrr"]
    table = pl.DataFrame({"age": range(12), **dict(zip(names, map(list, values), strict=False))})
    attributes = {"age": {"role": "quasi", "type": "number"}, **{name: {"role": "sensitive", "l": 2} for name in names}}
    policy = policy_of(attributes, method="decomposition", options={"sensitive_table": "marginals"})
    publish(table, policy, key=KEY).save(tmp_path / "release", format=format)
    release = read_release(tmp_path / "release")
    written = {info.name: info.file for info in release.manifest.tables if info.name.startswith("sensitive")}
    assert written == {f"sensitive_{n}": f"{f}.{format}" for n, f in zip(names, files, strict=True)}
    for name in names:
        assert set(release.tables[f"sensitive_{name}"]["value"]) == set(table[name])
        assert count(release, col(name) == table[name][0]).value == (table[name] == table[name][0]).sum()
    assert audit(tmp_path / "release", original=table).holds
    assert not [result for result in attack(release, table) if result.breach]


def test_a_column_named_like_ours_is_refused() -> None:
    with pytest.raises(PolicyError, match="Rename the column"):
        policy_of({"group": {"role": "quasi"}, "x": {"role": "sensitive", "l": 2}})


def test_formulas_are_escaped_and_noted(tmp_path: Path) -> None:
    nasty = ["=cmd()", "+1+1", "-x", "@sum", "'quoted", "plain"]
    table = pl.DataFrame({"age": range(6), "disease": nasty})
    policy = policy_of({"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}})
    publish(table, policy, key=KEY).save(tmp_path / "release", format="csv")
    text = (tmp_path / "release" / "microdata.csv").read_text()
    assert not any(cell.startswith(("=", "+", "-", "@")) for line in text.splitlines() for cell in line.split(","))
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert "csv_escape" in manifest["parameters"]
    assert audit(tmp_path / "release", original=table).holds


def test_a_refused_release_is_not_visible_even_for_a_moment(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [20, 21, 22, 23], "a": list("xyxy"), "b": list("pqpq")})
    secret = {"role": "sensitive", "l": 2}
    policy = policy_of({"age": {"role": "quasi", "type": "number"}, "a": secret, "b": secret},
                       adversaries=[["age", "a"]], variant="paper")  # fmt: skip
    with pytest.raises(AuditFailed) as refused:
        publish(table, policy, key=KEY).save(tmp_path / "release")
    assert [f.measured for f in refused.value.verdict.failures] == [1.0]
    assert list(tmp_path.iterdir()) == []


def test_another_key_for_the_same_private_folder_is_refused(tmp_path: Path, publication: Publication) -> None:
    publication.save(tmp_path / "release")
    other = publish(PATIENTS, patients_policy(), key=Key.new())
    with pytest.raises(OutputError, match="another key"):
        other.save(tmp_path / "release", replace=True)
    assert Key.read(tmp_path / "release.private" / "key") == publication.key
