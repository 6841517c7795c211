"""Minimality, or knowledge of the algorithm: which originals would have made this very release.

Definition  The adversary knows everybody's quasi values, the method and its options, and not the key. Each original
            that fits the published tables is weighed by how likely the method, under a key drawn at random, makes of it
            this release, group numbers and shuffles aside. A value's posterior is the weight of the originals that
            give it to a person. Before the release all originals are equally likely.
Reference   Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007; B4 of bsgi
            (docs/methods/bsgi.md).
Exposed     every method that looks at what it groups; here generalized, bucketized and decomposed releases.
Exact       the originals that fit are all of them, up to 1,000. Their weights are exact for methods that draw nothing;
            else they are counted over drawn keys, until these made the release 200 times or the method ran 6,000
            times, so a posterior is uncertain by some hundredths. Above 8 rows, with rows left out, or where the
            policy cannot be told from the manifest (a hierarchy from a file), the attack does not apply, and its
            result says so.
Promise     none: no release claims anything about whoever knows the algorithm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.audit.boxes import coded
from pluralis.errors import PluralisError
from pluralis.estimate.attributes import attributes_of
from pluralis.labels import number_text
from pluralis.original import original_values
from pluralis.policy import Policy
from pluralis.randomness import KEY_BYTES, Draw, Key
from pluralis.release import GROUP, Release, TableInfo
from pluralis.table import Table, encode

FEW = 8  # rows
ORIGINALS = 1_000
STEPS = 200_000
KEYS = 20  # that each original is tried with at a time,
HITS, RUNS = 200, 6_000  # until the release was made so often, or the method was run so often

Values = tuple[Any, ...]
Secrets = tuple[Values, ...]  # of each person


class DoesNotApply(Exception):
    """Why the attack says nothing of this release."""


class Minimality(Attack):
    name: ClassVar[str] = "minimality"
    title: ClassVar[str] = "knowing how the method decides"
    reference: ClassVar[str] = "Wong, Fu, Wang, Pei 2007"

    def applies(self, release: Release) -> bool:
        return release.kind in ("generalized", "bucketized", "decomposed") and release.manifest.rows <= FEW

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        people = _People.of(release, original)
        try:
            belief, note = posterior(release, original, options.seed)
        except DoesNotApply as why:
            return [_result(release, people, name, None, str(why)) for name in people.secret]
        return [_result(release, people, name, belief[name], note) for name in people.secret]


def _result(
    release: Release, people: _People, name: str, belief: list[dict[Any, float]] | None, note: str | None
) -> Result:
    true = people.secrets[name].to_list()
    top, right = [], []
    for value, of in zip(true, belief or [], strict=False):
        most = max(of.values())
        best = [v for v, p in of.items() if p >= most * (1 - 1e-9)]
        top.append(most)
        right.append((value in best) / len(best))
    success = sum(right) / len(right) if right else 0.0
    ends = bounds(success, len(right), sampled=not right)
    knows = ", ".join(people.quasi)
    return Result(
        attack=Minimality.name,
        question=f"{name}, knowing {knows or 'nothing'}, and the method {release.manifest.method}",
        attribute=name,
        adversary=tuple(people.quasi),
        targets=len(right),
        sampled=False,
        success=success,
        low=ends["low"],
        high=ends["high"],
        blind=max(Counter(true).values()) / len(true) if true else 0.0,
        worst=max(top, default=None),
        note=note,
    )


@dataclass(frozen=True)
class _People:
    """The original's people: what is known of them, and their secrets, as the release spells both."""

    quasi: list[str]
    known: pl.DataFrame
    secret: list[str]
    secrets: pl.DataFrame

    @classmethod
    def of(cls, release: Release, original: pl.DataFrame) -> _People:
        infos = attributes_of(release)
        secret = sorted(release.manifest.parameters["l"])
        quasi = [name for name, info in infos.items() if info.role in ("quasi", "plain") and name not in secret]
        columns = {name: original_values(original, infos[name], release.manifest) for name in (*quasi, *secret)}
        return cls(
            quasi,
            pl.DataFrame({name: columns[name] for name in quasi}),
            secret,
            pl.DataFrame({name: columns[name] for name in secret}),
        )


def posterior(release: Release, original: pl.DataFrame, seed: int) -> tuple[dict[str, list[dict[Any, float]]], str]:
    """For each attribute and person the probability of each value, and how it was found."""
    manifest = release.manifest
    if manifest.rows > FEW:
        raise DoesNotApply(f"it weighs every original: up to {FEW} rows, and these are {manifest.rows:,}")
    if manifest.suppressed or original.height != manifest.rows:
        raise DoesNotApply("it weighs every original, and some rows were left out")
    policy, people = _policy(release, original), _People.of(release, original)
    fits = originals(release, people)
    rng = np.random.default_rng(seed)
    tries = [_Tried(release, policy, _original(original, people, secrets)) for secrets in fits]
    weights, keys = [0] * len(fits), 0
    while not keys or (sum(weights) < HITS and (keys + KEYS) * len(fits) <= RUNS):
        some = [Key(rng.bytes(KEY_BYTES)) for _ in range(KEYS)]
        weights = [weight + one.times(some) for weight, one in zip(weights, tries, strict=True)]
        keys += KEYS
    note = f"{len(fits):,} originals fit, each under {keys} keys, of which {sum(weights):,} made this release"
    if not any(weights):
        weights, note = [1] * len(fits), f"{note}: all count alike"
    total = sum(weights)
    belief: dict[str, list[dict[Any, float]]] = {}
    for at, name in enumerate(people.secret):
        each: list[dict[Any, float]] = [{} for _ in range(original.height)]
        for secrets, weight in zip(fits, weights, strict=True):
            for of, values in zip(each, secrets, strict=True):
                of[values[at]] = of.get(values[at], 0.0) + weight / total
        belief[name] = each
    return belief, note


def _original(original: pl.DataFrame, people: _People, secrets: Secrets) -> pl.DataFrame:
    """The original with other secrets."""
    columns = zip(*secrets, strict=True)
    return original.with_columns(
        pl.Series(name, list(values), people.secrets[name].dtype)
        for name, values in zip(people.secret, columns, strict=True)
    )


# which originals fit --------------------------------------------------------------------------------------------


@dataclass
class _Places:
    """What a person may be given: (group, secrets) and what that uses up of `left`."""

    options: list[list[tuple[Values, list[Any]]]]  # for each person
    left: Counter[Any]


def originals(release: Release, people: _People) -> list[Secrets]:
    """Every way to give people secrets that the tables allow."""
    places = _generalized(release, people) if release.kind == "generalized" else _exact(release, people)
    found: dict[Secrets, None] = {}
    for steps, secrets in enumerate(_given(places, [])):
        found[secrets] = None
        if len(found) > ORIGINALS or steps > STEPS:
            raise DoesNotApply(f"it weighs every original, and more than {ORIGINALS:,} fit")
    if not found:
        raise DoesNotApply("no original fits the tables")
    return list(found)


def _given(places: _Places, given: list[Values]) -> Iterator[Secrets]:
    if len(given) == len(places.options):
        yield tuple(given)
        return
    for secrets, uses in places.options[len(given)]:
        need = Counter(uses)
        if all(places.left[item] >= n for item, n in need.items()):
            places.left.subtract(need)
            yield from _given(places, [*given, secrets])
            places.left.update(need)


def _generalized(release: Release, people: _People) -> _Places:
    info, rows = release.info("microdata"), release.tables["microdata"]
    linked = release.manifest.parameters.get("linked", True)
    numbers = rows[GROUP].unique().sort()
    one_of = rows.unique(GROUP, keep="first").sort(GROUP)
    covers = np.ones((numbers.len(), people.known.height), np.bool_)
    for column in info.named("quasi"):
        code = coded(one_of[column.name], people.known[column.name], column)
        low, high = code.low[code.label][:, None], code.high[code.label][:, None]
        covers &= (low <= code.value) & (code.value <= high)
        for g in np.flatnonzero(code.gaps[code.label]):
            label = code.label[g]
            members = code.members[code.starts[label] : code.starts[label + 1]]
            covers[g] &= np.isin(code.value, members)
    left: Counter[Any] = Counter((GROUP, g) for g in rows[GROUP])
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in numbers:
        mine = rows.filter(pl.col(GROUP) == g)
        dealt[g] = _dealt(g, [mine[name].to_list() for name in people.secret], linked, left)
    options = []
    for person in range(people.known.height):
        plain = [(name, people.known[name][person]) for name in info.names("plain")]
        if plain:
            raise DoesNotApply("it does not weigh plain columns")
        of = [g for i, g in enumerate(numbers) if covers[i, person]]
        options.append([(secrets, [*uses, (GROUP, g)]) for g in of for secrets, uses in dealt[g]])
    return _Places(options, left)


def _dealt(group: int, columns: list[list[Any]], linked: bool, left: Counter[Any]) -> list[tuple[Values, list[Any]]]:
    """The secrets that a member of a group may have, and what each uses; `left` gets what there is."""
    if linked:
        tuples = list(zip(*columns, strict=True))
        left.update((group, values) for values in tuples)
        return [(values, [(group, values)]) for values in dict.fromkeys(tuples)]
    found: list[tuple[Values, list[Any]]] = [((), [])]
    for at, column in enumerate(columns):
        left.update((group, at, value) for value in column)
        found = [
            ((*values, value), [*uses, (group, at, value)]) for values, uses in found for value in dict.fromkeys(column)
        ]
    return found


def _exact(release: Release, people: _People) -> _Places:
    """Where quasi values stand as they are: a person is a row of equal values."""
    quasi = release.tables["quasi"]
    rows = quasi.select(GROUP, *people.quasi).rows()
    left: Counter[Any] = Counter(("row", *row) for row in rows)
    if release.kind == "bucketized":
        dealt = _bucketized(release, people, left)
    else:
        dealt = _decomposed(release, people, left)
    options = []
    for known in people.known.rows():
        of = sorted({group for group, *values in rows if tuple(values) == known})
        options.append([(secrets, [*uses, ("row", g, *known)]) for g in of for secrets, uses in dealt[g]])
    return _Places(options, left)


def _bucketized(release: Release, people: _People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    values, dealt = release.tables["sensitive"], {}
    linked = not release.info("sensitive").named("attribute")
    for g in values[GROUP].unique():
        mine = values.filter(pl.col(GROUP) == g)
        mine = mine.select(pl.exclude("count").repeat_by("count").explode())
        if linked:
            columns = [mine[name].to_list() for name in people.secret]
        else:
            texts = [mine.filter(pl.col("attribute") == name)["value"].to_list() for name in people.secret]
            columns = [_read(people.secrets[name], text) for name, text in zip(people.secret, texts, strict=True)]
        dealt[g] = _dealt(g, columns, linked, left)
    return dealt


def _decomposed(release: Release, people: _People, left: Counter[Any]) -> dict[int, list[tuple[Values, list[Any]]]]:
    tables, primary = release.tables, people.secret.index(release.manifest.parameters["primary"])
    values = tables["values"]
    joint = tables.get("sensitive")
    if joint is not None:
        left.update({("joint", *row[:-1]): row[-1] for row in joint.select(*people.secret, "count").rows()})
    for at, name in enumerate(people.secret):
        alone = tables.get(f"sensitive_{name}")
        if alone is not None:
            texts = _read(people.secrets[name], alone["value"].cast(pl.String).to_list())
            left.update({(at, value): n for value, n in zip(texts, alone["count"], strict=True)})
    dealt: dict[int, list[tuple[Values, list[Any]]]] = {}
    for g in values[GROUP].unique():
        found: list[tuple[Values, list[Any]]] = [((), [])]
        for at, name in enumerate(people.secret):
            mine = values.filter((pl.col(GROUP) == g) & (pl.col("attribute") == name))["value"].to_list()
            counted = f"sensitive_{name}" in tables
            found = [
                (
                    (*before, value),
                    [*uses, *([(at, value)] if counted else []), *([(g, "primary", value)] if at == primary else [])],
                )
                for before, uses in found
                for value in _read(people.secrets[name], mine)
            ]
        left.update((g, "primary", value) for value in {of[primary] for of, _ in found})
        if joint is not None:
            found = [(of, [*uses, ("joint", *of)]) for of, uses in found if left[("joint", *of)]]
        dealt[g] = found
    return dealt


def _read(column: pl.Series, texts: list[str]) -> list[Any]:
    """Values that a release writes as text, as the column has them."""
    if column.dtype == pl.String:
        return list(texts)
    by_text = {number_text(value): value for value in column.unique().drop_nulls()}
    return [by_text.get(text, text) for text in texts]


# how likely each makes this release -----------------------------------------------------------------------------


class _Tried:
    """An original on which the method is run again, to see whether it makes this release."""

    def __init__(self, release: Release, policy: Policy, original: pl.DataFrame) -> None:
        from pluralis.methods import method_for  # rooms above this one: this attack alone runs the method again
        from pluralis.publish import assemble

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
