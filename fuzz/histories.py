"""Random histories of publishing, being killed, replacing, and writing at the same time, on real file systems.

After every step each name shows nothing, or a whole release that the audit passes and that its private folder fits; and
names that nobody wrote to are as they were. After the next publication no staging is left. Writers are processes of
their own, forked from one that has everything imported and has computed nothing, and are killed for good.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import polars as pl

from fuzz.harness import ON_DISK, SCRATCH, Case, Fault, in_memory, scratch
from pluralis import Key, Policy, audit, publish
from pluralis.errors import PluralisError

KEY = Key(bytes(range(32)))
NAMES = ("release", "release[1]", "release.x", "r")
EVENTS = {
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "fcntl.flock",
    "shutil.rmtree",
    "ctypes.dlsym",
}
DONE, REFUSED, BROKEN, KILLED = 0, 3, 4, -signal.SIGKILL
SOON = 0.25  # seconds: a little longer than saving takes
PRIVATE_FILES = {"audit.json", "key", "policy.yaml", "report.html", "utility.json", "attack.json"}


def _publications() -> list[Any]:
    """The same people under several policies."""
    people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    attributes = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}}
    made = []
    for method in ("bsgi", "mondrian", "anatomy"):
        policy = Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": method}})
        made.append(publish(people, policy, key=KEY, attacks=False))
    return made


class Histories:
    """The fuzzer. A case is steps: who writes what where, whether it replaces, and when it is killed."""

    name = "histories"

    @cached_property
    def prepared(self) -> Path:
        """Publications, pickled by another process: one that has computed with threads cannot be forked."""
        path = scratch() / "publications"

        def make() -> int:
            path.write_bytes(pickle.dumps(_publications()))
            return DONE

        if _wait(_forked(make)) != DONE:
            raise RuntimeError("the publications were not made")
        return path

    def case(self, random: Random) -> Case:
        names = random.sample(NAMES, random.choice([1, 1, 2]))
        steps = []
        for _ in range(random.randint(2, 5)):
            writers = []
            for _ in range(random.choice([1, 1, 1, 2, 3])):
                kill = random.choice(
                    [
                        None,
                        {"event": random.randrange(70)},
                        {"event": random.randrange(70)},
                        {"after": SOON * random.random()},
                    ]
                )
                writers.append(
                    {
                        "name": random.choice(names),
                        "which": random.randrange(3),
                        "replace": random.random() < 0.6,
                        "format": random.choice(["parquet", "csv"]),
                        "kill": kill,
                    }
                )
            steps.append(writers)
        return {"disk": random.random() < 0.3, "steps": steps}

    def smaller(self, case: Case) -> Iterator[Case]:
        steps = case["steps"]
        for place in range(len(steps)):
            yield {**case, "steps": [step for i, step in enumerate(steps) if i != place]}
        for place, step in enumerate(steps):
            for out in range(len(step) if len(step) > 1 else 0):
                less = [writer for i, writer in enumerate(step) if i != out]
                yield {**case, "steps": [less if i == place else each for i, each in enumerate(steps)]}

    def check(self, case: Case) -> Fault | None:
        self.prepared  # noqa: B018  made once
        where = os.environ.get(ON_DISK) if case["disk"] else os.environ.get(SCRATCH) or in_memory()
        place = Path(tempfile.mkdtemp(prefix="pluralis-history-", dir=where))
        try:
            for step in case["steps"]:
                fault = self._step(place, step)
                if fault is not None:
                    return fault
            return self._ends_well(place, case)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _step(self, place: Path, writers: list[dict[str, Any]]) -> Fault | None:
        written = {writer["name"] for writer in writers}
        before = {entry.name: _fingerprint(entry) for entry in sorted(place.iterdir())}
        shown = {name for name in written if (place / name).exists()}
        codes = self._write(place, writers)
        for writer, code in zip(writers, codes, strict=True):
            if code not in (DONE, REFUSED, KILLED):
                return Fault("error", "a writer broke", f"exit {code}: {self._said(place)}")
            if code == KILLED and writer["kill"] is None:
                return Fault("error", "a writer was killed by another")
        for name in written:
            results = [code for writer, code in zip(writers, codes, strict=True) if writer["name"] == name]
            first = [w for w in writers if w["name"] == name and not w["replace"]]
            if name in shown and not (place / name).exists():
                return Fault("lost", "a release that was there is gone", name)
            if len(first) == len(results) and results.count(DONE) > 1:
                return Fault("order", "two writers won", name)
            if DONE in results and not (place / name).exists():
                return Fault("lost", "a release that was published is not there", name)
        for name, old in before.items():
            owner = name.lstrip(".").partition(".staging-")[0].removesuffix(".private")
            if owner not in written and _fingerprint(place / name) != old:
                return Fault("untouched", "another release's folder changed", f"{name} by {sorted(written)}")
        return self._looked_at(place)

    def _ends_well(self, place: Path, case: Case) -> Fault | None:
        """Whoever publishes next what is shown, or anything where nothing is, succeeds and tidies up."""
        for name in sorted({writer["name"] for step in case["steps"] for writer in step}):
            writer = {"name": name, "replace": True, "format": "parquet", "kill": None}
            tables = range(len(pickle.loads(self.prepared.read_bytes())))  # what is shown may be any of them
            if not any(self._write(place, [{**writer, "which": which}]) == [DONE] for which in tables):
                return Fault("stuck", "the next publication fails", f"{name}: {self._said(place)}")
            left = [entry.name for entry in place.iterdir() if entry.name.startswith(f".{name}.")]
            left = [entry for entry in left if entry.startswith((f".{name}.staging-", f".{name}.private.staging-"))]
            if left:
                return Fault("staging", "left after the next publication", ", ".join(left))
        return self._looked_at(place)

    def _write(self, place: Path, writers: list[dict[str, Any]]) -> list[int]:
        """Let them write at the same time; how each ended."""
        started = []
        for writer in writers:
            ready, go = os.pipe()
            started.append((_forked(lambda w=writer, g=go: self._save(place, w, g)), ready))  # type: ignore[misc]
            os.close(go)
        for (pid, ready), writer in zip(started, writers, strict=True):
            os.read(ready, 1)  # everything is loaded: what follows is writing
            os.close(ready)
            if writer["kill"] and "after" in writer["kill"]:
                time.sleep(writer["kill"]["after"])
                os.kill(pid, signal.SIGKILL)
        return [_wait(pid) for pid, _ in started]

    def _save(self, place: Path, writer: dict[str, Any], go: int) -> int:
        publication = pickle.loads(self.prepared.read_bytes())[writer["which"]]
        if writer["kill"] and "event" in writer["kill"]:
            _killed_at(place, writer["kill"]["event"])
        os.write(go, b"x")
        try:
            publication.save(place / writer["name"], replace=writer["replace"], format=writer["format"])
        except PluralisError as error:
            (self.prepared.parent / "said").write_text(str(error))
            return REFUSED
        return DONE

    def _said(self, place: Path) -> str:
        path = self.prepared.parent / "said"
        return path.read_text()[:300] if path.exists() else ""

    def _looked_at(self, place: Path) -> Fault | None:
        """What somebody who comes by sees."""
        for name in NAMES:
            if (place / name).exists():
                content = _content(place / name)
                if content not in self.good and (problem := self._audited(place / name)):
                    return Fault("seen", "a release that does not hold", problem)
                self.good.add(content)
                if (wrong := _misfit(place / name)) is not None:
                    return Fault("seen", wrong, name)
        return None

    @cached_property
    def good(self) -> set[str]:
        """What releases hold that the audit passed: there are few different ones, and many looks at them."""
        return set()

    def _audited(self, release: Path) -> str:
        """Why a release does not hold, found by another process; nothing where it does."""
        failure = self.prepared.parent / "failure"

        def look() -> int:
            try:
                verdict = audit(release)
            except PluralisError as error:
                failure.write_text(f"it cannot be read: {error}")
            else:
                failure.write_text("" if verdict.holds else str(verdict.failures[0]))
            return DONE

        failure.unlink(missing_ok=True)
        return failure.read_text() if _wait(_forked(look)) == DONE else "the audit broke"


def _misfit(release: Path) -> str | None:
    """In what way a release and its private folder do not belong together."""
    private = release.with_name(f"{release.name}.private")
    if not (private / "key").is_file():
        return "a release without its key"
    if Key.read(private / "key") != KEY:
        return "another key"
    files = {entry.name for entry in private.iterdir()}
    if files == {"key"}:
        return None  # a replacement was killed in between
    if not files <= PRIVATE_FILES or "audit.json" not in files:
        return "strange files in a private folder"
    reported = json.loads((private / "audit.json").read_text())["manifest_sha256"]
    actual = hashlib.sha256((release / "manifest.json").read_bytes()).hexdigest()
    return None if reported == actual else "a report of another release"


def _content(folder: Path) -> str:
    """What the files of a folder hold, wherever it stands."""
    hashed = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        hashed.update(f"{path.name} {path.lstat().st_mode} {path.lstat().st_size}\n".encode())
        hashed.update(path.read_bytes() if path.is_file() else b"")
    return hashed.hexdigest()


def _fingerprint(entry: Path) -> str:
    """What a file or a folder holds."""
    if not entry.exists():
        return "gone"
    hashed = hashlib.sha256()
    for path in [entry, *sorted(entry.rglob("*"))]:
        hashed.update(f"{path} {path.lstat().st_mode} {path.lstat().st_ino}\n".encode())
        if path.is_file():
            hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _forked(call: Callable[[], int]) -> int:
    """Another process that calls this and ends; its number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _run(call)
    return pid


def _run(call: Callable[[], int]) -> NoReturn:
    code = BROKEN
    try:
        code = call()
    except BaseException:  # noqa: BLE001  whatever it is, this process ends here
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _killed_at(place: Path, number: int) -> None:
    """Kill this process before the file system is asked for something in `place` for the n-th time."""
    seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in EVENTS and (
            event in ("ctypes.dlsym", "fcntl.flock") or any(str(place) in str(arg) for arg in args)
        ):
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    sys.addaudithook(hook)


FUZZER = Histories()
