"""What every fuzzer is, and how one call is watched: what it raises, how long it works, how much memory it takes."""

from __future__ import annotations

import atexit
import json
import os
import resource
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol

CPU_SECONDS = 5.0  # of one call on a tiny input: work, not waiting, so that a busy machine makes no faults
WALL_SECONDS = 60.0  # after which a worker that says nothing is ended
KIB = 1 << 20  # of memory at most: 1 GiB
SCRATCH = "PLURALIS_FUZZ_SCRATCH"  # where workers make their folders; who started them removes it
ON_DISK = "PLURALIS_FUZZ_ON_DISK"  # the same, on a disk
CORPUS = Path(__file__).parent / "corpus"

Case = dict[str, Any]  # as JSON; the whole input of one check


@dataclass(frozen=True)
class Fault:
    """Something that must not be: of what kind, where, and in words."""

    kind: str
    place: str
    detail: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} | {self.place}"


class Fuzzer(Protocol):
    """Makes cases and checks them. A case depends on the generator alone, a verdict on the case alone."""

    name: str

    def case(self, random: Random) -> Case: ...

    def check(self, case: Case) -> Fault | None: ...

    def smaller(self, case: Case) -> Iterator[Case]:
        """Cases with something less, most worth trying first."""


@dataclass(frozen=True)
class Outcome:
    """What a call gave."""

    value: Any = None
    error: BaseException | None = None
    fault: Fault | None = None  # too slow, or too large


def watched(call: Callable[[], Any]) -> Outcome:
    """Call, and watch. Memory is the most that this process ever had: a worker whose memory rose is replaced."""
    before, start = _peak(), time.process_time()
    value, error = None, None
    try:
        value = call()
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # noqa: BLE001  panics of Rust code are no Exception
        error = raised
    seconds, peak = time.process_time() - start, _peak()
    fault = None
    if seconds > CPU_SECONDS:
        fault = Fault("slow", "over 5 s", f"{seconds:.1f} s of work")
    elif peak > KIB > before:
        fault = Fault("memory", "over 1 GiB", f"{peak >> 10:,} MiB")
    return Outcome(value, error, fault)


def grown() -> bool:
    """Whether this process once took too much memory, so that it cannot see the next case that does."""
    return _peak() > KIB


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def raised_at(error: BaseException) -> str:
    """Where in Pluralis an error came from: module and function, which stay when lines move."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/pluralis/" in f.filename]
    where = f"{frames[-1].filename.rpartition('/pluralis/')[2]} {frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {where}"


def in_memory() -> Path | None:
    """A file system in memory, where there is one."""
    place = Path("/dev/shm")
    return place if os.access(place, os.W_OK) else None


def scratch() -> Path:
    """A new folder of this process, removed at its end, or by whoever started it and named the place."""
    place = os.environ.get(SCRATCH)
    folder = Path(tempfile.mkdtemp(prefix="pluralis-fuzz-", dir=place or in_memory()))
    if not place:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def minimized(fuzzer: Fuzzer, case: Case, fault: Fault, seconds: float = 20.0) -> Case:
    """A case with as little as possible that shows the same fault."""
    end = time.monotonic() + seconds
    shrinking = True
    while shrinking:
        shrinking = False
        for less in fuzzer.smaller(case):
            if time.monotonic() > end:
                return case
            again = fuzzer.check(less)
            if again is not None and again.key == fault.key:
                case, shrinking = less, True
                break
    return case


def write_case(folder: Path, fuzzer: str, case: Case, fault: Fault) -> Path:
    """Keep a case; one file for each distinct fault."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "".join(c if c.isalnum() else "-" for c in f"{fault.kind} {fault.place}".lower())
    path = folder / f"{fuzzer}-{'-'.join(filter(None, words.split('-')))[:90]}.json"
    content = {"fuzzer": fuzzer, "fault": fault.key, "detail": fault.detail[:400], "case": case}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    return path
