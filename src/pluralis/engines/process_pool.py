"""Work shared among processes, as many as there are cores and free memory for.

A worker is a fresh interpreter, not a copy of this one: nothing of the caller's program runs twice, and a worker that
the system ends for want of memory takes nothing with it. What workers need goes to them through a pipe; none of it
touches the disk. Each uses one core, so that times are comparable.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread, Timer
from typing import Any, NamedTuple

from pluralis.errors import PluralisError

BASE = 400 << 20  # bytes that a worker holds without a table
ROOM = 0.8  # the share of free memory to use
ONE_CORE = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Polars reads this when it is loaded: its allocator then gives back what is freed after 50 ms, not much later, and
# all threads share what it keeps
ALLOCATOR = ("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0,narenas:1")
# the same of the allocator of C, from 1 MiB on: after many parts a worker holds no more than after the first
FREEING = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "1048576", "MALLOC_MMAP_THRESHOLD_": "1048576"}
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pluralis.engines.process_pool import serve; serve()"
)
_DONE = object()


class Died(NamedTuple):
    """A worker that ended during a task, by itself or by a signal; or that was ended, because the time was up."""

    code: int
    late: bool = False


class _Failed(NamedTuple):
    """An exception of a task: what can be told through a pipe of it."""

    error: type[PluralisError] | None
    message: str


def how_many(tasks: int, table: int) -> int:
    """How many workers there is room for, each of which holds a table of so many bytes, and at least one."""
    need = BASE + 4 * table
    return max(1, min(tasks, cores(), int(ROOM * free_memory() // need)))


def free_memory() -> int:
    """Bytes that processes can still get: what the system has available, or less if a control group allows less."""
    free = [_available()]
    with suppress(OSError, ValueError):  # no such group, or one without a limit
        group = Path("/sys/fs/cgroup")
        free.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return min(free)


def _available() -> int:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # not Linux: half of what there is


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_out(
    function: str, shared: bytes, tasks: Sequence[Any], workers: int, limit: float
) -> Iterator[tuple[int, Any]]:
    """As `Workers.share_out`, by workers that are started for it."""
    with Workers(workers) as pool:
        yield from pool.share_out(function, shared, tasks, limit)


class Workers:
    """So many processes, which are started when they are needed and stay for further tasks until the end."""

    def __init__(self, number: int) -> None:
        self._idle: list[subprocess.Popen[bytes] | None] = [None] * number

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._idle:
            if worker is not None:
                _end(worker)

    def keep(self, number: int) -> None:
        """End all but so many."""
        for worker in self._idle[number:]:
            if worker is not None:
                _end(worker)
        del self._idle[number:]

    @property
    def number(self) -> int:
        """How many there are at most."""
        return len(self._idle)

    def share_out(self, function: str, shared: bytes, tasks: Sequence[Any], limit: float) -> Iterator[tuple[int, Any]]:
        """The number of each task and what `function(shared, task)` gave, as they are done; a worker that died is Died.

        `function` is `module:name`. Tasks start in order. A task that takes more than `limit` seconds is ended. Who
        does not wait for all results ends the workers.
        """
        lot = _Lot(function, shared, tasks, limit, self._idle)
        threads = [Thread(target=lot.tend, args=(i,), daemon=True) for i in range(min(len(self._idle), len(tasks)))]
        for thread in threads:
            thread.start()
        try:
            left = len(threads)
            while left:
                message = lot.done.get()
                if message is _DONE:
                    left -= 1
                    continue
                i, result = message
                if isinstance(result, _Failed):
                    raise (result.error or RuntimeError)(result.message)
                yield i, result
        finally:
            lot.give_up()
            for thread in threads:
                thread.join()


class _Lot:
    """Tasks of one function, shared out among workers."""

    def __init__(
        self,
        function: str,
        shared: bytes,
        tasks: Sequence[Any],
        limit: float,
        idle: list[subprocess.Popen[bytes] | None],
    ) -> None:
        self._begin, self._tasks, self._limit, self._idle = (function, shared), tasks, limit, idle
        self._waiting: Queue[int] = Queue()
        for i in range(len(tasks)):
            self._waiting.put(i)
        self._busy: set[subprocess.Popen[bytes]] = set()
        self._over = Event()
        self.done: Queue[Any] = Queue()

    def tend(self, place: int) -> None:
        """Feed one worker, and a new one in its place where it dies."""
        worker, self._idle[place] = self._idle[place], None
        knows = False
        try:
            while True:
                i = self._waiting.get_nowait()
                worker = worker or _started()
                self._busy.add(worker)
                if self._over.is_set():
                    worker.kill()
                result = _asked(worker, [*([] if knows else [self._begin]), (self._tasks[i],)], self._limit)
                self._busy.discard(worker)
                knows = not isinstance(result, Died)
                worker = worker if knows else None
                self.done.put((i, result))
        except Empty:
            self._idle[place] = worker
        except Exception:  # noqa: BLE001  # a thread cannot raise: whoever waits for results does
            self.done.put((-1, _Failed(None, traceback.format_exc())))
        finally:
            self.done.put(_DONE)

    def give_up(self) -> None:
        """Start no further task, and end workers that are at one."""
        self._over.set()
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        for process in list(self._busy):
            process.kill()


def _asked(worker: subprocess.Popen[bytes], messages: Sequence[Any], limit: float) -> Any:
    """What a worker answers to the last thing that it is told."""
    late = Event()
    clock = Timer(limit, _give_up, (worker, late))
    clock.start()
    try:
        for message in messages:
            _say(worker.stdin, message)
        return pickle.load(worker.stdout)  # type: ignore[arg-type]  # our own worker wrote it
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        worker.kill()
        _end(worker)
        return Died(worker.returncode, late.is_set())
    finally:
        clock.cancel()


def _give_up(worker: subprocess.Popen[bytes], late: Event) -> None:
    late.set()
    worker.kill()


def _end(worker: subprocess.Popen[bytes]) -> None:
    """End what a worker is told, and so the worker."""
    with suppress(BrokenPipeError):
        worker.communicate()


def _started() -> subprocess.Popen[bytes]:
    env = {**os.environ, **dict.fromkeys(ONE_CORE, "1"), **dict([ALLOCATOR]), **FREEING}
    command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def _say(pipe: Any, what: Any) -> None:
    pickle.dump(what, pipe)
    pipe.flush()


def serve() -> None:
    """What a worker does: tasks from standard input, results to standard output, until the input ends."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is no result
    pipe, call, shared = sys.stdin.buffer, None, b""
    while True:
        try:
            message = pickle.load(pipe)
        except EOFError:
            return
        if len(message) == 2:
            module, _, name = message[0].partition(":")
            call, shared = getattr(importlib.import_module(module), name), message[1]
            continue
        try:
            result = call(shared, *message)  # type: ignore[misc]  # what to call is said before the first task
        except PluralisError as error:
            result = _Failed(type(error), str(error))
        except Exception:  # noqa: BLE001  # whatever it is, the caller raises it again
            result = _Failed(None, traceback.format_exc())
        _say(results, result)
