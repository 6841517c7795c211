"""Minimality, or knowledge of the algorithm: which originals would have made this very release.

Definition  The adversary knows everybody's quasi-identifiers, the method and its options, and not the key. Each
            original that fits the published tables is weighed by how likely the method, under a key drawn at random,
            makes of it this release, group numbers and shuffles aside. A value's posterior is the weight of the
            originals that give it to a person. Before the release all originals are equally likely.
Sampling    Above 8 rows, or where more than 1,000 originals fit, for whoever knows in which group everybody is:
            originals are drawn (adversary/sampled_originals.py: the values of every group are dealt anew to its
            people), the method is run on each under a key of its own, and whoever is in a published group is believed
            to have what they had in the draws of which that very group was made again, whatever became of the others.
            So this estimates P(value | the method makes this group), which uses less than the whole release.
Reference   Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007; B4 in
            docs/methods/bsgi.md.
Exposed     every method that looks at quasi-identifiers and sensitive values when it groups; here generalized,
            bucketized and decomposed releases. One that groups by sensitive values alone (anatomy, msb, decomposition's
            primary one) cannot tell people of a group apart: two of them changed places make the same release as
            likely.
Exact       up to 8 rows the originals that fit are all of them, and weights are exact for methods that draw nothing;
            else they are counted over drawn keys, until these made the release 400 times or the method ran 6,000
            times. Where anything is counted over draws, `worst` is the highest posterior beyond doubt: the lower end of
            its interval at 4.5 standard errors. `success` is that of the likeliest value; its interval is that of
            people, of all whose group was made again at least once. The note says how many draws there were. Up to
            2,000 rows. With rows suppressed, or where the policy cannot be told from the manifest (a hierarchy from a
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

from pluralis.attacks.adversary.enumerated_originals import DoesNotApply, People, SensitiveValues, TooMany, originals
from pluralis.attacks.adversary.knowledge import prior_guess
from pluralis.attacks.adversary.posterior import chance_of_right
from pluralis.attacks.adversary.sampled_originals import Dealt
from pluralis.attacks.base import Attack, Options, Result, interval
from pluralis.errors import PluralisError
from pluralis.grouping.plan import DecomposedPlan
from pluralis.policy.attributes import BOUNDS
from pluralis.policy.policy import Policy
from pluralis.randomness import KEY_BYTES, Draw, Key
from pluralis.release.attributes import attributes_of, holds_bins, ordered_domain
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.table.bins import break_labels
from pluralis.table.dictionaries import decode
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
    headline: ClassVar[str] = "people's {attribute} guessed right by whoever knows the method"
    quick: ClassVar[bool] = False

    def applies(self, release: Release) -> bool:
        return release.traits.has_one_grouping and release.manifest.rows <= MOST

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        people = People.from_original(release, original)
        try:
            posteriors = attribute_posteriors(release, original, options.seed)
        except DoesNotApply as why:
            return [_result(release, original, people.quasi, name, None, str(why)) for name in people.sensitive]
        return [
            _result(release, original, people.quasi, name, posteriors[name], posteriors[name].note)
            for name in people.sensitive
        ]


@dataclass(frozen=True)
class CountedPosterior:
    """[person, value] how often a value was had where the release, or the person's group, was made."""

    times: npt.NDArray[np.float64]
    true: npt.NDArray[np.int64]
    note: str
    exact: bool = False
    sampled: bool = False

    @property
    def right(self) -> npt.NDArray[np.float64]:
        """For each person of whom anything is known, the chance that the likeliest value is the true one."""
        known = self.times.any(axis=1)
        times = self.times[known]
        return chance_of_right(times / times.sum(axis=1, keepdims=True), self.true[known])

    @property
    def sure(self) -> npt.NDArray[np.float64]:
        """Everybody's highest posterior, as far as it is beyond doubt; 0 where nothing is known."""
        total, top = self.times.sum(axis=1), self.times.max(axis=1)
        if self.exact:
            return np.asarray(top / np.maximum(total, 1))
        return np.array([interval(t / n, int(n), DOUBT)[0] if n else 0.0 for t, n in zip(top, total, strict=True)])


def _result(
    release: Release,
    original: pl.DataFrame,
    known: Sequence[str],
    name: str,
    posterior: CountedPosterior | None,
    note: str,
) -> Result:
    right = posterior.right if posterior is not None else np.empty(0)
    success = float(right.mean()) if right.size else 0.0
    sampled = posterior is None or posterior.sampled or not right.size
    low, high = interval(success, right.size) if sampled else (success, success)
    return Result(
        attack=Minimality.name,
        question=f"{name}, knowing {', '.join(known) or 'nothing'}, and the method {release.manifest.method}",
        attribute=name,
        adversary=tuple(known),
        targets=right.size,
        sampled=sampled and bool(right.size),
        success=success,
        low=low,
        high=high,
        prior=prior_guess(release, original, name),
        worst=float(posterior.sure.max()) if posterior is not None and right.size else None,
        note=note,
    )


def attribute_posteriors(release: Release, original: pl.DataFrame, seed: int) -> dict[str, CountedPosterior]:
    """The posterior of each sensitive attribute."""
    manifest = release.manifest
    if manifest.rows > MOST:
        raise DoesNotApply(f"it draws originals of up to {MOST:,} rows, and these are {manifest.rows:,}")
    if manifest.suppressed or original.height != manifest.rows:
        raise DoesNotApply("it weighs originals of all rows, and some rows were suppressed")
    policy, people, rng = _own_policy(release), People.from_original(release, original), np.random.default_rng(seed)
    if policy is None:
        policy, original = _policy(release, original), _as_published(release, original)
    try:
        table = encode(original, policy)
    except PluralisError as error:
        raise DoesNotApply(f"the manifest does not tell how the original was read: {error}") from None
    if manifest.rows <= FEW:
        with suppress(TooMany):
            return _by_every_original(release, policy, original, people, rng)
    return _by_drawn_originals(release, policy, table, rng)


def _by_every_original(
    release: Release, policy: Policy, original: pl.DataFrame, people: People, rng: np.random.Generator
) -> dict[str, CountedPosterior]:
    """Every original that fits, by how often it makes the release."""
    from pluralis.method import method_for

    fits = originals(release, people)
    tries = [_Tried(release, policy, _original(original, people, assigned)) for assigned in fits]
    weights, keys = np.zeros(len(fits)), 0
    while not keys or (weights.sum() < HITS and (keys + KEYS) * len(fits) <= RUNS):
        weights += [one.times([Key(rng.bytes(KEY_BYTES)) for _ in range(KEYS)]) for one in tries]
        keys += KEYS
    note = f"{len(fits):,} originals fit, each under {keys} keys, of which {int(weights.sum()):,} made this release"
    exact = not method_for(policy).draws
    if not weights.any():
        weights, note = np.ones(len(fits)), f"{note}: all count alike"
    posteriors = {}
    for i, name in enumerate(people.sensitive):
        true = people.values[name].to_list()
        place = {value: code for code, value in enumerate(dict.fromkeys(v[i] for assigned in fits for v in assigned))}
        times = np.zeros((len(true), len(place) + 1))  # the last for a true value that no original has
        for assigned, weight in zip(fits, weights, strict=True):
            times[np.arange(len(true)), [place[values[i]] for values in assigned]] += weight
        codes = np.array([place.get(value, len(place)) for value in true])
        posteriors[name] = CountedPosterior(times, codes, note, exact)
    return posteriors


def _by_drawn_originals(
    release: Release, policy: Policy, table: Table, rng: np.random.Generator
) -> dict[str, CountedPosterior]:
    """Drawn originals, by the groups that the method makes of them again."""
    from pluralis.method import method_for

    method = method_for(policy)
    dealt = Dealt.from_release(release, table)
    runs = min(DRAWS, ROWS // table.rows)
    times = {column.name: np.zeros((table.rows, column.size)) for column in table.sensitive}
    made = np.zeros(dealt.seen.size, np.int64)
    for codes_of in islice(dealt.draws(rng), runs):
        drawn = dealt.tabled(codes_of)
        try:
            again = dealt.made(method.plan(drawn, policy, Draw(Key(rng.bytes(KEY_BYTES)))), drawn)
        except PluralisError:
            continue
        made += again
        whose = np.flatnonzero(again[dealt.group_of])
        for name, codes in codes_of.items():
            times[name][whose, codes[whose]] += 1
    note = (
        f"{runs:,} originals drawn; {int((made > 0).sum()):,} of {made.size:,} groups were made again, "
        f"half of these {int(np.median(made[made > 0])) if made.any() else 0:,} times or more"
    )
    return {
        name: CountedPosterior(counts, table[name].codes.astype(np.int64), note, sampled=True)
        for name, counts in times.items()
    }


def _original(original: pl.DataFrame, people: People, assigned: SensitiveValues) -> pl.DataFrame:
    """The original with other sensitive values."""
    columns = zip(*assigned, strict=True)
    return original.with_columns(
        pl.Series(name, list(values), people.values[name].dtype)
        for name, values in zip(people.sensitive, columns, strict=True)
    )


# how likely each makes this release -----------------------------------------------------------------------------


class _Tried:
    """An original on which the method is run again, to see whether it makes this release."""

    def __init__(self, release: Release, policy: Policy, original: pl.DataFrame) -> None:
        from pluralis.assembling.assembly import assemble
        from pluralis.method import method_for  # this attack alone runs the method again

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
        more = plan.added if isinstance(plan, DecomposedPlan) else {}
        added = frozenset((name, members[int(g)], int(v)) for name, pairs in more.items() for g, v in pairs)
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
        for (g,), members in rows.partition_by(GROUP, as_dict=True, include_key=False).items():
            groups.setdefault(int(g), []).append((info.name, _contents(release, info, members)))
    return sorted(map(repr, whole)), sorted(repr(sorted(parts, key=repr)) for parts in groups.values())


def _contents(release: Release, info: TableInfo, rows: pl.DataFrame) -> Any:
    sensitive = info.names("sensitive")
    if info.named("count") or release.manifest.parameters.linked or not sensitive:
        return sorted(map(repr, rows.rows()))
    apart = [sorted(map(repr, rows[name])) for name in sensitive]
    return sorted(map(repr, rows.drop(sensitive).rows())), apart


# the policy -----------------------------------------------------------------------------------------------------


def _own_policy(release: Release) -> Policy | None:
    """What the method was told, which a publication has and a folder does not."""
    own = getattr(release, "policy", None)
    return own if isinstance(own, Policy) else None


def _as_published(release: Release, original: pl.DataFrame) -> pl.DataFrame:
    """The original after its recoding: numbers in bins, marks of what is missing gone or replaced, in one spelling.

    What was recoded is not recoded again by the policy that the manifest tells, which knows published values only.
    """
    infos = attributes_of(release)
    return pl.DataFrame(
        {name: decode(original_values(original, info, release.manifest)) for name, info in infos.items()}
    )


def _policy(release: Release, original: pl.DataFrame) -> Policy:
    """What the method was told, as far as the manifest tells it."""
    manifest = release.manifest
    if manifest.parameters.persons:
        raise DoesNotApply("the manifest does not tell which rows are of one person")
    weights, kept = manifest.parameters.weights, manifest.parameters.case
    attributes: dict[str, dict[str, Any]] = {}
    for name, info in attributes_of(release).items():
        attribute: dict[str, Any] = {"role": info.role, "type": info.type}
        if info.role == "quasi" and info.hierarchy is not None:
            attribute["hierarchy"] = {"mask": _mask(name, info.hierarchy)}
        if info.ordered:
            attribute |= _ordered(name, info, original, manifest)
        if name in weights:
            attribute["weight"] = weights[name]
        recoding = manifest.parameters.recodings.get(name)
        if recoding is not None and recoding.missing is not None:
            attribute["missing"] = list(recoding.missing)
        if name in kept:
            attribute["case"] = "keep"
        if info.role == "sensitive":
            claim = next(claim for claim in manifest.claims if claim.attribute == name)
            bounds_of_values = {key: getattr(manifest.parameters, key).get(name) for key in BOUNDS}
            attribute |= {key: bound for key, bound in bounds_of_values.items() if bound is not None}
            if manifest.parameters.l[name] > 1:
                attribute["l"] = manifest.parameters.l[name]
            if claim.model in ("distinct", "entropy", "recursive", "unique-distinct"):
                attribute |= {"model": claim.model} | ({"c": claim.c} if claim.c else {})
        attributes[name] = attribute
    if any(holds_bins(info) and not _holds_bins(original[name]) for name, info in attributes_of(release).items()):
        raise DoesNotApply("the manifest does not tell how numbers were put in bins")
    options = dict(manifest.parameters.options)
    known = dict.fromkeys(tuple(sorted(claim.adversary)) for claim in manifest.claims if claim.attribute)
    policy: dict[str, Any] = {
        "version": 1,
        "attributes": attributes,
        "others": "drop",
        "adversaries": [{"knows": list(names)} for names in known if names],
        "missing": list(manifest.parameters.missing),
        "publish": {"method": manifest.method, "variant": manifest.variant, "options": options},
    }
    if k := next((claim.k for claim in manifest.claims if claim.k is not None), None):
        policy["k"] = k
    try:
        return Policy.from_dict(policy)
    except PluralisError as error:
        raise DoesNotApply(f"the manifest does not tell the policy: {error}") from None


def _ordered(name: str, info: ColumnInfo, original: pl.DataFrame, manifest: Manifest) -> dict[str, Any]:
    """In what order, or in what bins, the values of an attribute were published."""
    recoding = manifest.parameters.recodings.get(name)
    if recoding is not None and recoding.breaks is not None:
        return {"order": break_labels(recoding.breaks)}
    domain = ordered_domain(info)
    values = original_values(original, info, manifest).unique().drop_nulls()
    if domain is None or not values.is_in(list(domain.values)).all():
        raise DoesNotApply(f"the manifest does not tell where all values of {name!r} stand in their order")
    return {"order": list(domain.values)}


def _holds_bins(values: pl.Series) -> bool:
    """Whether values of the original are intervals themselves."""
    return values.dtype == pl.String and bool(values.str.contains(r"^\s*\[").any())


def _mask(name: str, lines: Sequence[Sequence[str]]) -> str:
    """Which side a mask hides, if these lines are one."""
    hidden = [(line[0], h, node.strip("*")) for line in lines for h, node in enumerate(line[:-1]) if h]
    if all(text[:-h] == node for text, h, node in hidden):
        return "right"
    if all(text[h:] == node for text, h, node in hidden):
        return "left"
    raise DoesNotApply(f"the manifest does not tell the file of the hierarchy of {name!r}")


ATTACK = Minimality()
