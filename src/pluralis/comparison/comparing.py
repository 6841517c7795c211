"""Methods tried on one table under one policy, each at each l; what was worked out before is looked up."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import polars as pl
from pydantic import TypeAdapter, ValidationError

from pluralis import __version__
from pluralis.comparison.cache import Remembered, digest, program
from pluralis.comparison.frontier import Comparison
from pluralis.comparison.trials import Target, Trial, attempt
from pluralis.engines.process_pool import Died, how_many, share_out
from pluralis.errors import InputError, PolicyError, did_you_mean
from pluralis.grouping.eligibility import largest_l
from pluralis.method import methods as known_methods
from pluralis.policy.hierarchies import FileHierarchy
from pluralis.policy.policy import Policy, as_policy
from pluralis.progress import stage
from pluralis.table.encoding import encode
from pluralis.table.sources import names_files, read_table, table_files

MOST_L = 1_000
LIMIT = 300.0  # seconds that one trial may take


def compare(
    table: object,
    policy: Policy | str | Path,
    *,
    methods: str | Collection[str] = (),
    ls: Sequence[int] = (),
    target: Target = "error",
    attacks: str | Collection[str] = (),
    cache: bool = True,
    limit: float = LIMIT,
    workers: int | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Comparison:
    """Try methods on a table under a policy, and compare what they protect and what they lose.

    Parameters
    ----------
    table : str, Path or data frame
        A CSV or Parquet file, or a polars, pandas or pyarrow table.
    policy : Policy, str or Path
        A policy, or a policy file. Its method does not matter.
    methods : str or list of str
        Their names; without any, all.
    ls : list of int
        Ask for each of these l in turn, for every protected attribute or rule, or for the largest that its values
        allow if that is less; `Comparison.notes` says where. Without any, for what the policy says.
    target : {"error", "kl", "ncp"}
        The measure of utility by which to choose: the error of counts, KL divergence, or information loss.
    attacks : str or list of str
        Names of attacks to run on each release, or "all"; a method that an attack breaks is not taken.
    cache : bool
        Whether to look up, and keep, what was worked out before.
    limit : float
        Seconds after which a trial is given up.
    workers : int, optional
        How many processes; without it as many as there are cores and memory for, and 0 for none but this one.
    encoding, separator : str
        Of a CSV file, as in `read_table`.

    Returns
    -------
    Comparison
        Trials in order, those that were refused with their reason; which one to take, and why.

    Raises
    ------
    InputError, PolicyError
        If the table or the policy cannot be read, or do not fit, or a method is not known.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> compared = pls.compare(people, policy, methods=["anatomy", "bsgi"], cache=False, workers=0)
    >>> [(trial.method, round(measured.guess, 2)) for trial, measured in compared.made]
    [('anatomy', 0.5), ('bsgi', 0.5)]
    """
    policy = as_policy(policy)
    policy.require_decided()
    if workers is not None and workers < 0:
        raise InputError(f"There are no {workers} workers. Let workers be 0 or more.")
    chosen = _checked([methods] if isinstance(methods, str) else methods, ls, target)
    source = _Table(table, policy, encoding, separator)
    kept = Remembered() if cache else None
    asked, notes = _policies_by_l(source, policy, ls, kept) if ls else ([(None, policy)], ())
    rows = _recalled(kept, source.key("rows", policy), int, lambda: source.frame.height)
    some = [attacks] if isinstance(attacks, str) else sorted(attacks)
    tasks = [_task(source, l, base.override(method=method), some, limit) for method in chosen for l, base in asked]
    trials = _recalled_trials(kept, tasks)
    missing = [i for i in range(len(tasks)) if i not in trials]
    with stage("trying methods") as done:
        for position, trial in _tried(source, [tasks[i] for i in missing], some, workers, limit):
            trials[missing[position]] = trial
            _keep(kept, tasks[missing[position]], trial)
            done(len(trials) / len(tasks))
    return Comparison(policy, target, tuple(trials[i] for i in range(len(tasks))), rows, notes)


class _Task(NamedTuple):
    """A trial to be made, and the keys under which what comes of it is kept."""

    l: int | None
    policy: Policy
    key: str
    key_if_late: str


def _task(table: _Table, l: int | None, policy: Policy, attacks: Sequence[str], limit: float) -> _Task:
    key = table.key("trial", policy, *attacks)
    return _Task(l, policy, key, digest(key, f"within {limit:g} s"))


def _policies_by_l(
    table: _Table, policy: Policy, ls: Sequence[int], kept: Remembered | None
) -> tuple[list[tuple[int | None, Policy]], tuple[str, ...]]:
    """The policy with each l that values allow, once, and what is said of each l that they do not."""
    largest = _recalled(kept, table.key("largest l", policy), dict[str, int], table.largest)
    largest = largest if set(policy.sensitive) <= set(largest) else table.largest()  # what was kept is damaged
    able = {name: max(2, largest[name]) for name in _with_an_l(policy)}
    most = max(able.values(), default=0)
    asked: dict[str, tuple[int | None, Policy]] = {}
    notes = []
    for l in dict.fromkeys(ls):
        changed = with_l(policy, l, largest)
        asked.setdefault(changed.to_yaml(), (min(l, most) if most else l, changed))
        if lower := {name: best for name, best in able.items() if best < l}:
            notes.append(not_possible(l, lower, min(l, most)))
    return list(asked.values()), tuple(notes)


def _with_an_l(policy: Policy) -> list[str]:
    """What is protected by an l, which can be another one."""
    ruled = {rule.protects for rule in policy.rules}
    return [name for name in policy.sensitive if name in ruled or policy.columns[name].l is not None]


def not_possible(l: int, lower: Mapping[str, int], tried: int) -> str:
    """What is said of an l that some attributes do not allow, and what was tried in its place.

    >>> print(not_possible(4, {"disease": 3}, 3))
    l = 4 is not possible: the largest l of disease is 3. What was tried instead is l = 3.
    >>> print(not_possible(4, {"disease": 3, "drug": 2}, 4))
    l = 4 is not possible for all: the largest l of disease is 3, of drug is 2. At l = 4 these have their largest.
    """
    best = ", ".join(f"of {name} is {most}" for name, most in lower.items())
    if tried < l:
        return f"l = {l} is not possible: the largest l {best}. What was tried instead is l = {tried}."
    have = "these have their largest" if len(lower) > 1 else "it has its largest"
    return f"l = {l} is not possible for all: the largest l {best}. At l = {l} {have}."


class _Died(str):
    """A reason that may not be there the next time, so that it is not remembered."""

    __slots__ = ()


class _Late(str):
    """A reason that depends on how long one waits, and is remembered with that."""

    __slots__ = ()


T = TypeVar("T")


def _recalled(kept: Remembered | None, key: str, shape: type[T], work_out: Callable[[], T]) -> T:
    if kept is None:
        return work_out()
    figure = _shaped(shape, kept.get(key))
    if figure is None:
        figure = work_out()
        kept.put(key, figure)
    return figure


def _recalled_trials(kept: Remembered | None, tasks: Sequence[_Task]) -> dict[int, Trial]:
    """What is kept of earlier trials, by the place of its task."""
    trials: dict[int, Trial] = {}
    if kept is None:
        return trials
    for i, task in enumerate(tasks):
        for key in (task.key, task.key_if_late):
            old = _shaped(Trial, kept.get(key))
            if old is not None and (old.method, old.l) == (task.policy.publish.method, task.l):
                trials.setdefault(i, old)
    return trials


def _keep(kept: Remembered | None, task: _Task, trial: Trial) -> None:
    if kept is not None and not isinstance(trial.refused, _Died):
        kept.put(task.key_if_late if isinstance(trial.refused, _Late) else task.key, trial.to_dict())


def _shaped(shape: type[T], kept: object) -> T | None:
    """What is kept, if it has the shape that it was kept in. Else it is damaged, and worked out again."""
    try:
        return None if kept is None else TypeAdapter(shape).validate_json(json.dumps(kept), strict=True)
    except ValidationError:
        return None


def _checked(methods: Collection[str], ls: Sequence[int], target: str) -> list[str]:
    for name in methods:
        if name not in known_methods():
            raise PolicyError(f"There is no method {name!r}. {did_you_mean(name, known_methods())}")
    if any(not 2 <= l <= MOST_L for l in ls):
        raise InputError(f"l goes from 2 to {MOST_L}. Write --l 2..7, or --l 2,4.")
    if target not in get_args(Target):
        raise PolicyError(f"There is no target {target!r}. {did_you_mean(target, get_args(Target))}")
    return list(dict.fromkeys(methods or known_methods()))


def range_of(text: str) -> list[int]:
    """The numbers of a range or a list.

    >>> range_of("2..4"), range_of("2, 5"), range_of("")
    ([2, 3, 4], [2, 5], [])
    """
    numbers: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d{1,4})(?:\s*\.\.\s*(\d{1,4}))?", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise InputError(f"--l {text}: {part!r} is no range of numbers. Write --l 2..7, or --l 2,4.")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers


def with_l(policy: Policy, l: int, largest: Mapping[str, int]) -> Policy:
    """The policy with another l for all that it protects: l, or the largest that an attribute's values allow."""

    def new(name: str) -> int:
        return max(2, min(l, largest[name]))

    data = policy.model_dump(by_alias=True, exclude_unset=True)
    attributes = {name: dict(attribute) for name, attribute in data.get("attributes", {}).items()}
    for name, attribute in attributes.items():
        if attribute.get("l") is not None:
            attribute["l"] = new(name)
    rules = [str(rule.model_copy(update={"l": new(rule.protects)})) for rule in policy.rules]
    return Policy.from_dict(
        {**data, "attributes": attributes, **({"rules": rules} if rules else {})}, folder=policy.folder
    )


class _Table:
    """A table that is read when somebody needs its rows; its hash needs none of them where it is in files."""

    def __init__(self, source: object, policy: Policy, encoding: str, separator: str | None) -> None:
        self._source, self._policy = source, policy
        self._reading: dict[str, Any] = {"encoding": encoding, "separator": separator}

    @cached_property
    def frame(self) -> pl.DataFrame:
        only = self._policy.needed if self._policy.others == "drop" else None
        with stage("reading"):
            return read_table(self._source, only=only, **self._reading)

    def key(self, what: str, policy: Policy, *more: str) -> str:
        """A hash of all that a figure depends on: table, policy, the files that it names, and the program."""
        files = [
            (policy.folder / tree.file).read_bytes()
            for _, attribute in sorted(policy.columns.items())
            for tree in (attribute.hierarchy, attribute.rare.along if attribute.rare is not None else None)
            if isinstance(tree, FileHierarchy) and (policy.folder / tree.file).is_file()
        ]
        return digest(__version__, program(), self._hash, what, policy.to_yaml(), *more, *files)

    @cached_property
    def _hash(self) -> str:
        if not names_files(self._source):
            return digest("frame", self.packed)
        hashes: list[str] = []
        for path in table_files(self._source):
            with path.open("rb") as file:
                hashes += [path.name, hashlib.file_digest(file, "sha256").hexdigest()]
        return digest(*hashes, repr(self._reading))

    @cached_property
    def packed(self) -> bytes:
        """The frame as bytes, for a hash and for other processes."""
        written = io.BytesIO()
        self.frame.write_ipc(written)
        return written.getvalue()

    def largest(self) -> dict[str, int]:
        """The largest l that each protected attribute allows."""
        table = encode(self.frame, self._policy)
        return {column.name: largest_l(column.counts) for column in table.sensitive}


def _tried(
    table: _Table,
    tasks: Sequence[_Task],
    attacks: Sequence[str],
    workers: int | None,
    limit: float,
) -> Iterator[tuple[int, Trial]]:
    if not tasks:
        return
    if workers == 0:
        for i, task in enumerate(tasks):
            yield i, attempt(table.frame, task.policy, task.l, attacks)
        return
    frame = table.frame
    table_bytes = (
        int(frame.estimated_size()) + 16 * frame.width * frame.height
    )  # a cell of text takes 16 bytes beside its letters
    requests = [(task.policy.to_yaml(), str(task.policy.folder), task.l, list(attacks)) for task in tasks]
    number = workers or how_many(len(tasks), table_bytes)
    for i, result in share_out("pluralis.comparison.comparing:try_in_worker", table.packed, requests, number, limit):
        if isinstance(result, Died):
            died = f"Its process ended (code {result.code}), most likely for want of memory. Use a machine with more."
            why = _Late(f"It took more than {limit:g} s and was given up.") if result.late else _Died(died)
            yield i, Trial(tasks[i].policy.publish.method, tasks[i].l, refused=why)
        else:
            yield i, result


@lru_cache(maxsize=1)
def _unpacked(table: bytes) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(table))


def try_in_worker(shared: bytes, task: tuple[str, str, int | None, list[str]]) -> Trial:
    """One trial in a process of its own; `shared` is the table."""
    text, folder, l, attacks = task
    return attempt(_unpacked(shared), Policy.parse(text, folder=folder), l, attacks)
