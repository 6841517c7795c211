"""A plan, a table and a policy become a release in memory: tables of the plan's kind, and their manifest."""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from pluralis.assembling.columns import column_info, infos, refuse_vanished
from pluralis.assembling.kinds import KINDS
from pluralis.assembling.true_breaks import true_breaks
from pluralis.auditing import audit
from pluralis.grouping.plan import SUPPRESSED, DecomposedPlan, Plan
from pluralis.method import Method
from pluralis.policy.attributes import MissingAs
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.kinds import kind_named
from pluralis.release.manifest import Manifest
from pluralis.release.recodings import recodings_of
from pluralis.release.release import Release
from pluralis.table.encoding import Table
from pluralis.table.named_values import spelled_as_published

WHOLE = 100_000


def assemble(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The in-memory release that a plan describes."""
    return built(plan, table, policy, method, draw).decoded()


def built(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The same, text as codes.

    A plan that leaves the sensitive table open (`auto`) gets the one that tells most among those that the audit passes.
    Above WHOLE rows the joint table is not tried: what it leaves possible takes too long to work out.
    """
    if not isinstance(plan, DecomposedPlan) or plan.sensitive_table != "auto":
        return _release_of(plan, table, policy, method, draw)
    if table.rows > WHOLE:
        return _release_of(changed(plan, sensitive_table="marginals"), table, policy, method, draw)
    for choice in ("joint", "marginals", "none"):
        release = _release_of(changed(plan, sensitive_table=choice), table, policy, method, draw)
        verdict = audit(release, allow_test=True)
        if verdict.holds or not verdict.findings[0].holds:  # tables that do not agree are a mistake, not a choice
            break
    return release


def _release_of(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    kind = KINDS[plan.kind]
    policy = spelled_as_published(policy, table)
    refuse_vanished(policy, table, plan.group_of != SUPPRESSED)
    parts = kind.tables(plan, table, policy, draw)
    kept = np.flatnonzero(plan.group_of != SUPPRESSED)
    shown = {column.attribute for part in parts for column in part.columns}
    unseen = [column for column in table.sensitive if column.name not in shown]
    recodings = recodings_of(policy, {c.name: c.breaks for c in table.columns.values() if c.breaks}, table.joined)
    parameters = {
        **kind.parameters(plan, policy),
        "options": method.model_dump(exclude={"variant"}),
        **({"domains": {c.name: column_info(c, kept, policy) for c in unseen}} if unseen else {}),
        "missing": policy.missing,
        "missing_as": {n: a.if_missing.as_ for n, a in policy.columns.items() if isinstance(a.if_missing, MissingAs)},
        "recodings": {n: r for n, r in recodings.items() if n in shown or policy.columns[n].role == "sensitive"},
        "case": [name for name, a in policy.columns.items() if a.case == "keep" and a.role != "identifier"],
        "persons": table.person is not None,
    }
    manifest = Manifest(
        method=method.name,
        variant=method.variant,
        kind=plan.kind,
        rows=kept.size,
        suppressed=plan.suppressed + table.dropped,
        claims=tuple(kind.claims(plan, policy)),
        breaks=tuple(
            dict.fromkeys(
                (*true_breaks((*method.breaks, *plan.breaks), plan, table, policy), *kind.breaks(plan, table))
            )
        ),
        parameters=kind_named(plan.kind).parameters.model_validate(parameters),
        tables=infos(parts),
        test=draw.key.is_test,
    )
    return Release(manifest, {part.name: part.rows.select([c.name for c in part.columns]) for part in parts})
