"""Which method to take for a table: all that apply, tried, measured and weighed.

Words      trial = a method at one l (trial.py). target = the measure of utility that decides: `error` of counts, `kl`
           or `ncp`; less is better in all three.
           frontier = trials that no other one beats: none has a smaller guess and loses no more by the target.
Taken      of the trials that keep every promise of the policy as it is written, the one that loses least by the target.
           Where two lose the same, as the table shows it (three digits), the one whose guess is smaller, then the one
           that leaves out fewer rows.
Auto       `method: auto` takes it too. Times do not matter to the choice, and the trials use the test key, so that the
           same table and policy always give the same method, whoever publishes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import polars as pl
from pydantic import TypeAdapter, ValidationError

from pluralis import __version__
from pluralis.comparison.cache import Remembered, digest, program
from pluralis.comparison.process_pool import Died, how_many, share_out
from pluralis.comparison.trials import Measured, Trial, attempt
from pluralis.errors import Infeasible, InputError, PolicyError, did_you_mean
from pluralis.grouping.eligibility import largest_l
from pluralis.methods import methods as known_methods
from pluralis.methods import no_option
from pluralis.policy.attributes import FileHierarchy
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.table.encoding import encode
from pluralis.table.sources import read_table

Target = Literal["error", "kl", "ncp"]
TARGETS: dict[Target, str] = {
    "error": "median error of counts",
    "kl": "KL divergence",
    "ncp": "information loss (NCP)",
}
MOST_L = 1_000
LIMIT = 300.0  # seconds that one trial may take


@dataclass(frozen=True)
class Comparison:
    """Every trial, in the order in which methods and l were named, and what follows from them."""

    policy: Policy
    target: Target
    trials: tuple[Trial, ...]
    rows: int

    @property
    def made(self) -> list[tuple[Trial, Measured]]:
        """Trials that gave a release."""
        return [(trial, trial.measured) for trial in self.trials if trial.measured is not None]

    @property
    def refused(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.measured is None]

    @property
    def adversaries(self) -> list[tuple[str, ...]]:
        """Whoever the policy protects from."""
        return list(dict.fromkeys(tuple(sorted(known)) for known, _ in self.policy.promises))

    def loss(self, measured: Measured, by: Target | None = None) -> float | None:
        """What a release loses by the target, or another measure."""
        value: float | None = getattr(measured, by or self.target)
        return value

    @cached_property
    def frontier(self) -> list[Trial]:
        """The trials that keep what they were asked to and that no other beats, the most private first."""
        return self.frontier_by(self.target)

    def frontier_by(self, target: Target) -> list[Trial]:
        """The frontier by any of the measures of utility.

        Where a method gives the same for several l, only the largest of them is on it, which promises most.
        """
        points = [
            (guess, loss, trial)
            for trial, measured in self.made
            if measured.keeps
            and (guess := measured.guess) is not None
            and (loss := self.loss(measured, target)) is not None
        ]
        points = list({(guess, loss, trial.method): (guess, loss, trial) for guess, loss, trial in points}.values())
        found: list[tuple[float, float, Trial]] = []
        for guess, loss, trial in sorted(points, key=lambda point: (point[0], point[1], point[2].method)):
            best = found[-1][1] if found else float("inf")
            if loss < best - 1e-12 or (found and (guess, loss) == found[-1][:2]):
                found.append((guess, loss, trial))
        return [trial for _, _, trial in found]

    @cached_property
    def ranked(self) -> list[tuple[Trial, Measured]]:
        """The trials that keep every promise of the policy as it is written, the best by the target first."""
        able = [(t, m) for t, m in self.made if m.satisfies(self.policy) and self.loss(m) is not None]

        def order(pair: tuple[Trial, Measured]) -> tuple[float, float, float, str, int]:
            trial, measured = pair
            guess = 1.0 if measured.guess is None else measured.guess
            return (
                round(self.loss(measured) or 0.0, 3),
                round(guess, 6),
                measured.left_out,
                trial.method,
                -(trial.l or 0),
            )

        return sorted(able, key=order)

    @property
    def taken(self) -> Trial | None:
        """The one to take."""
        return self.ranked[0][0] if self.ranked else None

    def to_dict(self) -> dict[str, Any]:
        on = {(trial.method, trial.l) for trial in self.frontier}
        return {
            "rows": self.rows,
            "target": self.target,
            "take": None if self.taken is None else {"method": self.taken.method, "l": self.taken.l},
            "advice": list(self.advice()),
            "trials": [
                {
                    "method": trial.method,
                    "l": trial.l,
                    **asdict(measured),
                    "guess": measured.guess,
                    "keeps": measured.keeps,
                    "satisfies_policy": measured.satisfies(self.policy),
                    "frontier": (trial.method, trial.l) in on,
                }
                for trial, measured in self.made
            ],
            "refused": [{"method": trial.method, "l": trial.l, "reason": trial.refused} for trial in self.refused],
        }

    # in words ------------------------------------------------------------------------------------------------------

    def advice(self) -> Iterator[str]:
        """Which to take and why, in sentences."""
        measure = TARGETS[self.target]
        if not self.ranked:
            yield self._nothing()
            return
        taken, best = self.ranked[0]
        asked = ", ".join(f"{name} at most 1/{self.policy.l(name)}" for name in self.policy.sensitive)
        runs = _counted(len(self.ranked), "trial")
        methods = _counted(len({trial.method for trial, _ in self.ranked}), "method")
        yield (
            f"Take {taken.name}. It keeps every promise of the policy ({asked}), and of the {runs} of {methods} that "
            f"{'does' if len(self.ranked) == 1 else 'do'} so it loses least: {measure} {self.said(best)}."
        )
        yield from self._next_best(taken)
        worst = max((g.measured for g in best.guesses if g.measured is not None), default=None)
        if worst is not None:
            by = next(guess for guess in best.guesses if guess.measured == worst)
            known = ", ".join(by.adversary) or "nothing"
            yield f"Its worst guess is {worst:.1%}: {by.attribute}, by who knows {known}."
        if best.left_out:
            yield f"It leaves out {best.left_out:.2%} of the rows."
        yield from self._otherwise(best)
        yield from self._steps(taken, best)
        weaker = sorted({trial.method for trial, measured in self.made if not measured.keeps})
        if weaker:
            yield (
                f"Not considered, because the promises of the policy are not all measured to hold for "
                f"{'it' if len(weaker) == 1 else 'them'}: {', '.join(weaker)}."
            )

    def said(self, measured: Measured, by: Target | None = None) -> str:
        """A loss in words."""
        loss, by = self.loss(measured, by), by or self.target
        if loss is None:
            return "none"
        return f"{loss:.1%}" if by == "error" else f"{loss:.3g} nats" if by == "kl" else f"{loss:.3f}"

    def _nothing(self) -> str:
        if not self.made:
            return "No method can publish this table under this policy; each says why below."
        able = [trial.name for trial, measured in self.made if measured.satisfies(self.policy)]
        if able:
            has = "has" if len(able) == 1 else "have"
            said = f"{', '.join(able)} would keep the policy, but {has} no {TARGETS[self.target]}."
            return f"{said} Choose another target."
        asked = ", ".join(f"{name} {self.policy.l(name)}" for name in self.policy.sensitive)
        return (
            f"No trial keeps every promise of the policy (l: {asked}). Lower l, or allow rows to be left out: suppress."
        )

    def _next_best(self, taken: Trial) -> Iterator[str]:
        others = [(trial, measured) for trial, measured in self.ranked if trial.method != taken.method]
        if others:
            trial, measured = others[0]
            yield f"The next best method is {trial.name}: {self.said(measured)}."

    def _otherwise(self, best: Measured) -> Iterator[str]:
        """Where quasi values are published as they are: the best that generalises them."""
        if best.ncp is not None:
            return
        said = "It publishes quasi values as they are, so that a person's row, though not its secret, can be found."
        hidden = [(trial, measured) for trial, measured in self.ranked if measured.ncp is not None]
        if hidden:
            trial, measured = hidden[0]
            said += f" If that matters, take {trial.name}: {self.said(measured)}."
        yield said

    def _steps(self, taken: Trial, best: Measured) -> Iterator[str]:
        """What more privacy, or less, would cost: the neighbours on the frontier."""
        if taken.l is None or best.guess is None:
            return
        points = [(m.guess, t, m) for t, m in self.made if t in self.frontier and m.guess is not None]
        above = [point for point in points if point[0] < best.guess - 1e-9]
        below = [point for point in points if point[0] > best.guess + 1e-9]
        if above:
            guess, trial, measured = max(above, key=lambda point: point[0])
            yield f"One step more private is {trial.name}: a guess of {guess:.1%}, {self.said(measured)}."
        if below:
            guess, trial, measured = min(below, key=lambda point: point[0])
            promised = "" if measured.satisfies(self.policy) else ", which is less than the policy asks for"
            yield f"One step less private is {trial.name}: a guess of {guess:.1%}, {self.said(measured)}{promised}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


# running -----------------------------------------------------------------------------------------------------------


def compare(
    source: object,
    policy: Policy,
    *,
    methods: Collection[str] = (),
    ls: Sequence[int] = (),
    target: Target = "error",
    attacks: Collection[str] = (),
    cache: bool = True,
    limit: float = LIMIT,
    workers: int | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Comparison:
    """Try methods on a table (a path or a frame) under a policy, and compare what they keep secret and what they lose.

    Parameters
    ----------
    methods
        Their names; without any, all.
    ls
        Ask for each of these l in turn, for every protected attribute or rule, or for the largest that its values
        allow if that is less. Without any, for what the policy says.
    target
        The measure of utility by which to choose: `error`, `kl` or `ncp`.
    attacks
        Names of attacks to run on each release, or "all"; a method that an attack breaks is not taken.
    cache
        Whether to look up, and keep, what was worked out before.
    limit
        Seconds after which a trial is given up.
    workers
        How many processes; without it as many as there are cores and memory for, and 0 for none but this one.

    Returns
    -------
    Trials in order, those that were refused with their reason.
    """
    chosen = _checked(methods, ls, target)
    table = _Table(source, policy, encoding, separator)
    kept = Remembered() if cache else None
    largest: Mapping[str, int] = {}
    if ls:
        largest = _recalled(kept, table.key("largest l", policy), dict[str, int], table.largest)
        largest = largest if set(policy.sensitive) <= set(largest) else table.largest()  # what was kept is damaged
    rows = _recalled(kept, table.key("rows", policy), int, lambda: table.frame.height)
    asked: list[tuple[int | None, Policy]] = []
    for l in dict.fromkeys(ls):
        changed = with_l(policy, l, largest)
        if changed.to_yaml() not in (other.to_yaml() for _, other in asked):  # values allow no more than before
            asked.append((l, changed))
    asked = asked or [(None, policy)]
    some = sorted(attacks)
    tasks = [(l, base.override(method=method)) for method in chosen for l, base in asked]
    keys = [table.key("trial", one, *some) for _, one in tasks]
    late = [digest(key, f"within {limit:g} s") for key in keys]
    found: dict[int, Trial] = {}
    for i, (level, one) in enumerate(tasks):
        for key in (keys[i], late[i]) if kept is not None else ():
            old = _shaped(Trial, kept.get(key)) if kept is not None else None
            if old is not None and (old.method, old.l) == (one.publish.method, level):
                found.setdefault(i, old)
    missing = [i for i in range(len(tasks)) if i not in found]
    with stage("trying methods") as done:
        for at, trial in _tried(table, [tasks[i] for i in missing], some, workers, limit):
            i = missing[at]
            found[i] = trial
            if kept is not None and not isinstance(trial.refused, _Died):
                kept.put(late[i] if isinstance(trial.refused, _Late) else keys[i], trial.to_dict())
            done(len(found) / len(tasks))
    return Comparison(policy, target, tuple(found[i] for i in range(len(tasks))), rows)


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
    found = _shaped(shape, kept.get(key))
    if found is None:
        found = work_out()
        kept.put(key, found)
    return found


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
    found: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d{1,4})(?:\s*\.\.\s*(\d{1,4}))?", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise InputError(f"--l {text}: {part!r} is no range of numbers. Write --l 2..7, or --l 2,4.")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def with_l(policy: Policy, l: int, largest: Mapping[str, int]) -> Policy:
    """The policy with another l for all that it protects: l, or the largest that an attribute's values allow."""

    def new(name: str) -> int:
        return max(2, min(l, largest[name]))

    data = policy.model_dump(by_alias=True, exclude_unset=True)
    attributes = {name: dict(said) for name, said in data.get("attributes", {}).items()}
    for name, said in attributes.items():
        if said.get("l") is not None:
            said["l"] = new(name)
    rules = [str(rule.model_copy(update={"l": new(rule.protects)})) for rule in policy.rules]
    return Policy.of({**data, "attributes": attributes, **({"rules": rules} if rules else {})}, folder=policy.folder)


class _Table:
    """A table that is read when somebody needs its rows; its hash needs none of them where it is a file."""

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
            (policy.folder / attribute.hierarchy.file).read_bytes()
            for _, attribute in sorted(policy.columns.items())
            if isinstance(attribute.hierarchy, FileHierarchy) and (policy.folder / attribute.hierarchy.file).is_file()
        ]
        return digest(__version__, program(), self._hash, what, policy.to_yaml(), *more, *files)

    @cached_property
    def _hash(self) -> str:
        if isinstance(self._source, str | Path) and Path(self._source).is_file():
            with Path(self._source).open("rb") as file:
                whole = hashlib.file_digest(file, "sha256").hexdigest()
            return digest(Path(self._source).name, whole, repr(self._reading))
        return digest("frame", self.packed)

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
    tasks: Sequence[tuple[int | None, Policy]],
    attacks: Sequence[str],
    workers: int | None,
    limit: float,
) -> Iterator[tuple[int, Trial]]:
    if not tasks:
        return
    if workers == 0:
        for i, (l, policy) in enumerate(tasks):
            yield i, attempt(table.frame, policy, l, attacks)
        return
    frame = table.frame
    held = (
        int(frame.estimated_size()) + 16 * frame.width * frame.height
    )  # a cell of text takes 16 bytes beside its letters
    told = [(policy.to_yaml(), str(policy.folder), l, list(attacks)) for l, policy in tasks]
    number = workers or how_many(len(tasks), held)
    for i, result in share_out("pluralis.comparison.comparing:try_in_worker", table.packed, told, number, limit):
        if isinstance(result, Died):
            died = f"Its process ended (code {result.code}), most likely for want of memory. Use a machine with more."
            why = _Late(f"It took more than {limit:g} s and was given up.") if result.late else _Died(died)
            yield i, Trial(tasks[i][1].publish.method, tasks[i][0], refused=why)
        else:
            yield i, result


@lru_cache(maxsize=1)
def _unpacked(table: bytes) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(table))


def try_in_worker(shared: bytes, task: tuple[str, str, int | None, list[str]]) -> Trial:
    """One trial in a process of its own; `shared` is the table."""
    text, folder, l, attacks = task
    return attempt(_unpacked(shared), Policy.parse(text, folder=folder), l, attacks)


# choosing ----------------------------------------------------------------------------------------------------------


def choose(
    source: object, policy: Policy, *, encoding: str = "utf-8", separator: str | None = None
) -> tuple[Policy, str]:
    """The policy with the method that `method: auto` stands for, and a note on why it was taken.

    `publish.options` may name the `target` (error, kl or ncp) and the `methods` to choose from.
    """
    options = dict(policy.publish.options)
    target, names = options.pop("target", "error"), options.pop("methods", [])
    for name in options:
        raise no_option("auto", name, ("target", "methods"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PolicyError("publish.options.methods: write a list of names: [bsgi, mondrian].")
    found = compare(source, policy, methods=names, target=target, encoding=encoding, separator=separator)
    advice = " ".join(found.advice())
    if found.taken is None:
        reasons = [f"{trial.method}: {trial.refused}" for trial in found.refused]
        raise Infeasible(f"method: auto found no method. {advice}", *reasons)
    return policy.override(method=found.taken.method), f"method: auto. {advice}"
