"""A table and a policy become a release in memory, and what it lost is measured. Nothing is attacked or written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

import numpy as np
import polars as pl

from pluralis.assembling.assembly import built
from pluralis.assembling.columns import refuse_names
from pluralis.engines.memory import plan_of
from pluralis.errors import Infeasible
from pluralis.grouping.dependencies import assumed
from pluralis.grouping.plan import SUPPRESSED, CandidatesPlan, DecomposedPlan, Plan
from pluralis.grouping.row_identity import identity_of
from pluralis.method import Method, method_for, require_bounding
from pluralis.method.subtables import Versatile
from pluralis.metrics import Loss, measure
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw, Key
from pluralis.release.kinds import kind_named
from pluralis.release.release import Release
from pluralis.table.encoding import Table, clean, encode_clean
from pluralis.table.sources import open_table
from pluralis.table.whole_table import ITSELF, WholeTable


@dataclass(frozen=True, eq=False)
class Built:
    """A release in memory, text as codes, what it lost, and what its publisher has beside it.

    `key` also holds what must be repeated when the same people are published again. `original` are the clean columns
    of the table, `person` says whose each row is, `people` how many of them have a row in the release.
    """

    release: Release
    loss: Loss
    key: Key
    notes: tuple[str, ...]
    original: pl.DataFrame
    person: pl.Series | None
    people: int


def build(
    source: object,
    policy: Policy,
    key: Key,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    notes: Sequence[str] = (),
    part: str = "",
    whole: WholeTable = ITSELF,
) -> Built:
    """Decide and build a release of a table (a path or a frame) under a policy that names its method.

    What is drawn for a `part` of a larger table is independent of what is drawn for the others; `whole` is what must
    be known of that table.
    """
    draw = Draw(key, part)
    remarks = list(notes)
    method = method_for(policy)
    if isinstance(method, Versatile) and whole.tables:
        method = method.in_tables(whole.tables)
    require_bounding(method, policy)
    kind = kind_named(method.kind)
    refuse_names(policy, kind)
    _refuse_sets(policy, method)
    with stage("reading"):
        only = policy.needed if policy.others == "drop" else None
        frame = open_table(source, encoding=encoding, separator=separator, notes=remarks, only=only)
        read = clean(frame, policy, whole)
        del frame, source  # from here on its clean columns are enough
    with stage("encoding"):
        table, original, person = encode_clean(read, policy), read.small(), read.person
        del read
    if not kind.has_subtables:
        remarks += _ties(table, policy, method)
    plan = plan_of(method, table, policy, draw)
    identity = identity_of(table, policy.person)
    designs = plan.designs if isinstance(plan, CandidatesPlan) else {}
    key = key.with_designs({n: key.designs.get(n) or design.for_key(identity) for n, design in designs.items()})
    with stage("building the tables"):
        release = built(plan, table, policy, method, draw)
    decomposed = plan if isinstance(plan, DecomposedPlan) else None
    chosen = decomposed is not None and decomposed.sensitive_table == "auto"
    remarks += [*table.notes, *plan.notes, *_remarks(release, chosen=chosen)]
    added = sum(len(pairs) for pairs in decomposed.added.values()) if decomposed is not None else None
    people = _people(plan, table)
    del table, plan, decomposed
    with stage("measuring what was lost"):
        loss = changed(measure(release, original), added_values=added)
    return Built(release, loss, key, tuple(remarks), original, person, people)


def _refuse_sets(policy: Policy, method: Method) -> None:
    """Refuse a method that promises sets of l values where a guess is to be bounded, unless the policy accepts it."""
    names = method.set_sized(policy)
    if names and "set-size" not in policy.accept:
        raise Infeasible(
            f"{method.name} does not bound a guess of {', '.join(names)}: it promises that l or more values remain "
            "possible for a person, and one of them may be far likelier than 1/l. bsgi, mondrian, msb and anatomy "
            "bound the guess of every attribute by 1/l. To publish sets all the same, write `accept: set-size` at the "
            "top level of the policy."
        )


def _people(plan: Plan, table: Table) -> int:
    """How many people have a row in the release: as many as rows, where the policy names no person column."""
    kept = plan.group_of != SUPPRESSED
    return int(np.unique(table.person[kept]).size if table.person is not None else kept.sum())


def _ties(table: Table, policy: Policy, method: Method) -> Iterator[str]:
    """What dependencies give away in one table: refused where the policy says that they are known, else told.

    Whoever finds a row sees its other columns. One that decides a protected attribute, or follows from it, tells of it.
    """
    protected = set(policy.sensitive)
    for dependency in policy.dependencies:
        if dependency.attributes & protected:
            raise Infeasible(
                f"`{dependency}` is known, and {method.name} publishes both beside each other, so that one tells of "
                "the other. Use method: gd or uad, which publish them together or not at all, or make one of them an "
                "identifier, which is not published."
            )
    for dependency in assumed(table, policy):
        if dependency.attributes & protected:
            yield (
                f"{', '.join(dependency.knows)} decides {dependency.decides} in this table. Whoever knows that learns "
                f"more than is promised. Use method: gd or uad, or, if nobody could know it, add `{dependency}` to "
                "`coincidences`."
            )


def _remarks(release: Release, *, chosen: bool) -> Iterator[str]:
    """What the publisher of a decomposed release should know of it; its sensitive table may be `chosen` for them."""
    if not release.traits.lists_of_groups:
        return
    others = [claim.attribute for claim in release.manifest.claims if claim.model == "candidates" and claim.attribute]
    if others:
        names = ", ".join(dict.fromkeys(others))
        yield f"{names}: l counts the values that remain possible here. It does not bound a guess by 1/l."
    if chosen and "sensitive" not in release.tables:
        kept = "by attribute" if len(release.tables) > 2 else "not at all"
        yield f"The sensitive table is published {kept}: jointly it would tell too much, or is too large to judge."
