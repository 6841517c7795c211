"""Minimality, or knowledge of the algorithm: which originals would have made this very release.

Definition  The adversary knows everybody's quasi values, the method and its options, and not the key. Each original
            that fits the published tables is weighed by how likely the method, under a key drawn at random, makes of it
            this release, group numbers and shuffles aside. A value's posterior is the weight of the originals that
            give it to a person. Before the release all originals are equally likely.
Sampling    Above 8 rows, or where more than 1,000 originals fit, for whoever knows in which group everybody is:
            originals are drawn (adversary/sampled_originals.py: the values of every group are dealt anew to its
            people), the method is run on each under a key of its own, and whoever is in a published group is believed
            to have what they had in the draws of which that very group was made again, whatever became of the others.
            So this estimates P(value | the method makes this group), which uses less than the whole release.
Reference   Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007; B4 of bsgi
            (docs/methods/bsgi.md).
Exposed     every method that looks at quasi values and secrets when it groups; here generalized, bucketized and
            decomposed releases. One that groups by secrets alone (anatomy, msb, the primary attribute of decomposition)
            cannot tell people of a group apart: two of them changed places make the same release as likely.
Exact       up to 8 rows the originals that fit are all of them, and weights are exact for methods that draw nothing;
            else they are counted over drawn keys, until these made the release 400 times or the method ran 6,000
            times. Where anything is counted over draws, `worst` is the highest posterior beyond doubt: the lower end of
            its interval at 4.5 standard errors. `success` is that of the likeliest value; its interval is that of
            people, of all whose group was made again at least once. The note says how many draws there were. Up to
            2,000 rows. With rows left out, or where the policy cannot be told from the manifest (a hierarchy from a
            file, a column that says whose a row is), the attack does not apply, and its result says so.
Promise     none: no release claims anything about whoever knows the algorithm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.enumerated_originals import DoesNotApply, People, Secrets, TooMany, originals
from pluralis.attacks.adversary.sampled_originals import Dealt
from pluralis.attacks.base import Attack, Options, Result, bounds, interval
from pluralis.errors import PluralisError
from pluralis.policy.policy import Policy
from pluralis.randomness import KEY_BYTES, Draw, Key
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import TableInfo
from pluralis.release.release import GROUP, Release
from pluralis.table.encoding import Table, encode

FEW, MOST = 8, 2_000  # rows of which every original is weighed, of which some are
KEYS = 20  # that each original is tried with at a time,
HITS, RUNS = 400, 6_000  # until the release was made so often, or the method was run so often
DRAWS, ROWS = 1_000, 500_000  # originals drawn at most, and rows of all of them together
DOUBT = 4.5  # standard errors


class Minimality(Attack):
    name: ClassVar[str] = "minimality"
    title: ClassVar[str] = "knowing how the method decides"
    reference: ClassVar[str] = "Wong, Fu, Wang, Pei 2007"
    gets: ClassVar[str] = "people's {attribute} guessed right by whoever knows the method"
    quick: ClassVar[bool] = False

    def applies(self, release: Release) -> bool:
        return release.kind in ("generalized", "bucketized", "decomposed") and release.manifest.rows <= MOST

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        people = People.of(release, original)
        try:
            beliefs = believed(release, original, options.seed)
        except DoesNotApply as why:
            return [_result(release, people, name, None, str(why)) for name in people.secret]
        return [_result(release, people, name, beliefs[name], beliefs[name].note) for name in people.secret]


@dataclass(frozen=True)
class Belief:
    """[person, value] how often a value was had where the release, or the person's group, was made."""

    times: npt.NDArray[np.float64]
    true: npt.NDArray[np.int64]
    note: str
    exact: bool = False
    sampled: bool = False

    @property
    def right(self) -> npt.NDArray[np.float64]:
        """For each person of whom anything is known, the chance that the likeliest value is the true one."""
        best = self.times >= self.times.max(axis=1, keepdims=True) * (1 - 1e-9)
        chance = best[np.arange(self.true.size), self.true] / best.sum(axis=1)
        return np.asarray(chance[self.times.any(axis=1)])

    @property
    def sure(self) -> npt.NDArray[np.float64]:
        """Everybody's highest posterior, as far as it is beyond doubt; 0 where nothing is known."""
        of, top = self.times.sum(axis=1), self.times.max(axis=1)
        if self.exact:
            return np.asarray(top / np.maximum(of, 1))
        return np.array([interval(t / n, int(n), DOUBT)[0] if n else 0.0 for t, n in zip(top, of, strict=True)])


def _result(release: Release, people: People, name: str, belief: Belief | None, note: str) -> Result:
    true = people.secrets[name].to_list()
    right = belief.right if belief is not None else np.empty(0)
    success = float(right.mean()) if right.size else 0.0
    sampled = belief is None or belief.sampled or not right.size
    ends = bounds(success, right.size, sampled)
    return Result(
        attack=Minimality.name,
        question=f"{name}, knowing {', '.join(people.quasi) or 'nothing'}, and the method {release.manifest.method}",
        attribute=name,
        adversary=tuple(people.quasi),
        targets=right.size,
        sampled=sampled and bool(right.size),
        success=success,
        low=ends["low"],
        high=ends["high"],
        blind=max(Counter(true).values()) / len(true) if true else 0.0,
        worst=float(belief.sure.max()) if belief is not None and right.size else None,
        note=note,
    )


def believed(release: Release, original: pl.DataFrame, seed: int) -> dict[str, Belief]:
    """What is believed of each attribute."""
    manifest = release.manifest
    if manifest.rows > MOST:
        raise DoesNotApply(f"it draws originals of up to {MOST:,} rows, and these are {manifest.rows:,}")
    if manifest.suppressed or original.height != manifest.rows:
        raise DoesNotApply("it weighs originals of all rows, and some rows were left out")
    policy, people, rng = _policy(release, original), People.of(release, original), np.random.default_rng(seed)
    if manifest.rows <= FEW:
        with suppress(TooMany):
            return _weighed(release, policy, original, people, rng)
    return _drawn(release, policy, original, rng)


def _weighed(
    release: Release, policy: Policy, original: pl.DataFrame, people: People, rng: np.random.Generator
) -> dict[str, Belief]:
    """Every original that fits, by how often it makes the release."""
    from pluralis.methods import method_for

    fits = originals(release, people)
    tries = [_Tried(release, policy, _original(original, people, secrets)) for secrets in fits]
    weights, keys = np.zeros(len(fits)), 0
    while not keys or (weights.sum() < HITS and (keys + KEYS) * len(fits) <= RUNS):
        weights += [one.times([Key(rng.bytes(KEY_BYTES)) for _ in range(KEYS)]) for one in tries]
        keys += KEYS
    note = f"{len(fits):,} originals fit, each under {keys} keys, of which {int(weights.sum()):,} made this release"
    exact = not method_for(policy).draws
    if not weights.any():
        weights, note = np.ones(len(fits)), f"{note}: all count alike"
    found = {}
    for at, name in enumerate(people.secret):
        true = people.secrets[name].to_list()
        place = {value: i for i, value in enumerate(dict.fromkeys(v[at] for secrets in fits for v in secrets))}
        times = np.zeros((len(true), len(place) + 1))  # the last for a true value that no original has
        for secrets, weight in zip(fits, weights, strict=True):
            times[np.arange(len(true)), [place[values[at]] for values in secrets]] += weight
        codes = np.array([place.get(value, len(place)) for value in true])
        found[name] = Belief(times, codes, note, exact)
    return found


def _drawn(release: Release, policy: Policy, original: pl.DataFrame, rng: np.random.Generator) -> dict[str, Belief]:
    """Drawn originals, by the groups that the method makes of them again."""
    from pluralis.methods import method_for

    table, method = encode(original, policy), method_for(policy)
    dealt = Dealt.of(release, table)
    runs = min(DRAWS, ROWS // table.rows)
    times = {column.name: np.zeros((table.rows, column.size)) for column in table.sensitive}
    made = np.zeros(dealt.seen.size, np.int64)
    for secrets in islice(dealt.draws(rng), runs):
        drawn = dealt.tabled(secrets)
        try:
            again = dealt.made(method.plan(drawn, policy, Draw(Key(rng.bytes(KEY_BYTES)))), drawn)
        except PluralisError:
            continue
        made += again
        whose = np.flatnonzero(again[dealt.group_of])
        for name, codes in secrets.items():
            times[name][whose, codes[whose]] += 1
    note = (
        f"{runs:,} originals drawn; {int((made > 0).sum()):,} of {made.size:,} groups were made again, "
        f"half of these {int(np.median(made[made > 0])) if made.any() else 0:,} times or more"
    )
    return {name: Belief(of, table[name].codes.astype(np.int64), note, sampled=True) for name, of in times.items()}


def _original(original: pl.DataFrame, people: People, secrets: Secrets) -> pl.DataFrame:
    """The original with other secrets."""
    columns = zip(*secrets, strict=True)
    return original.with_columns(
        pl.Series(name, list(values), people.secrets[name].dtype)
        for name, values in zip(people.secret, columns, strict=True)
    )


# how likely each makes this release -----------------------------------------------------------------------------


class _Tried:
    """An original on which the method is run again, to see whether it makes this release."""

    def __init__(self, release: Release, policy: Policy, original: pl.DataFrame) -> None:
        from pluralis.assembling.assembly import assemble
        from pluralis.methods import method_for  # this attack alone runs the method again

        self.assemble = assemble
        self.method = method_for(policy)
        self.policy = policy
        self.form = _form(release)
        self.seen: dict[Any, bool] = {}
        self.table: Table | None = None
        with suppress(PluralisError):
            self.table = encode(original, policy)

    def times(self, keys: Sequence[Key]) -> int:
        """How many of these keys make the release."""
        return 0 if self.table is None else sum(self._makes(self.table, key) for key in keys)

    def _makes(self, table: Table, key: Key) -> bool:
        draw = Draw(key)
        try:
            plan = self.method.plan(table, self.policy, draw)
        except PluralisError:
            return False
        members = {int(g): tuple(np.flatnonzero(plan.group_of == g).tolist()) for g in np.unique(plan.group_of)}
        added = frozenset((name, members[int(g)], int(v)) for name, pairs in plan.added.items() for g, v in pairs)
        decided = frozenset(members.values()), added
        if decided not in self.seen:
            self.seen[decided] = _form(self.assemble(plan, table, self.policy, self.method, draw)) == self.form
        return self.seen[decided]


def _form(release: Release) -> Any:
    """What a release says, whatever its group numbers, and its shuffles."""
    groups: dict[int, list[Any]] = {}
    whole = []
    for info in release.manifest.tables:
        rows = release.tables[info.name]
        if not info.named("group"):
            whole.append((info.name, Counter(rows.rows())))
            continue
        for (g,), mine in rows.partition_by(GROUP, as_dict=True, include_key=False).items():
            groups.setdefault(int(g), []).append((info.name, _contents(release, info, mine)))
    return sorted(map(repr, whole)), sorted(repr(sorted(parts, key=repr)) for parts in groups.values())


def _contents(release: Release, info: TableInfo, rows: pl.DataFrame) -> Any:
    secret = info.names("sensitive")
    if info.named("count") or release.manifest.parameters.get("linked", True) or not secret:
        return sorted(map(repr, rows.rows()))
    apart = [sorted(map(repr, rows[name])) for name in secret]
    return sorted(map(repr, rows.drop(secret).rows())), apart


# the policy -----------------------------------------------------------------------------------------------------


def _policy(release: Release, original: pl.DataFrame) -> Policy:
    """What the method was told: a publication has it, of a folder it is told from the manifest."""
    own = getattr(release, "policy", None)
    if isinstance(own, Policy):
        return own
    manifest = release.manifest
    if manifest.parameters.get("persons"):
        raise DoesNotApply("the manifest does not tell which rows are of one person")
    weights, kept = manifest.parameters.get("weights", {}), manifest.parameters.get("case", [])
    attributes: dict[str, dict[str, Any]] = {}
    for name, info in attributes_of(release).items():
        of: dict[str, Any] = {"role": info.role, "type": info.type}
        if info.role == "quasi" and info.hierarchy is not None:
            of["hierarchy"] = {"mask": _mask(name, info.hierarchy)}
        if name in weights:
            of["weight"] = weights[name]
        if name in kept:
            of["case"] = "keep"
        if info.role == "sensitive":
            claim = next(claim for claim in manifest.claims if claim.attribute == name)
            of["l"] = manifest.parameters["l"][name]
            if claim.model in ("distinct", "entropy", "recursive", "unique-distinct"):
                of |= {"model": claim.model} | ({"c": claim.c} if claim.c else {})
        attributes[name] = of
    if any(info.get("type") == "text" and original[name].dtype.is_numeric() and info["role"] == "sensitive"
           for name, info in attributes.items()):  # fmt: skip
        raise DoesNotApply("the manifest does not tell how numbers were put in bins")
    options = dict(manifest.parameters.get("options", {}))
    known = dict.fromkeys(tuple(sorted(claim.adversary)) for claim in manifest.claims if claim.attribute)
    policy: dict[str, Any] = {
        "version": 1,
        "attributes": attributes,
        "others": "drop",
        "adversaries": [{"knows": list(names)} for names in known if names],
        "missing": manifest.parameters.get("missing", [""]),
        "publish": {"method": manifest.method, "variant": manifest.variant, "options": options},
    }
    if k := next((claim.k for claim in manifest.claims if claim.k is not None), None):
        policy["k"] = k
    try:
        return Policy.of(policy)
    except PluralisError as error:
        raise DoesNotApply(f"the manifest does not tell the policy: {error}") from None


def _mask(name: str, lines: Sequence[Sequence[str]]) -> str:
    """Which side a mask hides, if these lines are one."""
    hidden = [(line[0], h, node.strip("*")) for line in lines for h, node in enumerate(line[:-1]) if h]
    if all(text[:-h] == node for text, h, node in hidden):
        return "right"
    if all(text[h:] == node for text, h, node in hidden):
        return "left"
    raise DoesNotApply(f"the manifest does not tell the file of the hierarchy of {name!r}")


ATTACK = Minimality()
