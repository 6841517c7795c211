"""A plan, a table and a policy become a release in memory: tables of the plan's kind, and their manifest."""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from pluralis.assembling.columns import column_info, infos
from pluralis.assembling.kinds import KINDS
from pluralis.auditing import audit
from pluralis.grouping.plan import LEFT_OUT, Plan
from pluralis.methods import Method
from pluralis.policy.attributes import Attribute, MissingAs
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.manifest import Manifest
from pluralis.release.release import Release
from pluralis.table.encoding import Table

WHOLE = 100_000
_OWN_MODELS = ("candidates", "decomposed")  # kinds that promise something else than the policy's model


def assemble(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The in-memory release that a plan describes."""
    return built(plan, table, policy, method, draw).spelled_out()


def built(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The same, text as codes.

    A plan that leaves the sensitive table open (`auto`) gets the one that tells most among those that the audit passes.
    Above WHOLE rows the joint table is not tried: what it leaves possible takes too long to work out.
    """
    if plan.sensitive_table != "auto":
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
    parts = kind.tables(plan, table, policy, draw)
    kept = np.flatnonzero(plan.group_of != LEFT_OUT)
    weights = {column.name: column.weight for column in table.quasi if column.weight != 1.0 and not plan.subplans}
    instead = {name: a.if_missing.as_ for name, a in policy.columns.items() if isinstance(a.if_missing, MissingAs)}
    exact = [name for name, a in policy.columns.items() if a.case == "keep" and a.role != "identifier"]
    shown = {column.attribute for part in parts for column in part.columns}
    domains = {
        column.name: column_info(column, kept, policy).model_dump(mode="json", exclude_none=True)
        for column in table.sensitive
        if column.name not in shown
    }
    rules = plan.rules or [rule for rule in policy.rules if not set(policy.quasi).issuperset(rule.knows)]
    adversaries = [] if plan.rules else sorted(sorted(known) for known in policy.knowledge[1:])
    models = {name: _model(policy.columns[name]) for name in policy.sensitive} if plan.kind not in _OWN_MODELS else {}
    models = {name: model for name, model in models.items() if model != "frequency"}
    parameters: dict[str, object] = {
        **({} if plan.slices or plan.subplans else {"linked": plan.linked}),
        "l": _ls(plan, policy),
        "options": method.model_dump(exclude={"variant"}),
        **({"adversaries": adversaries} if adversaries else {}),
        **({"models": models} if models else {}),
        **({"k": policy.k} if policy.k is not None and not plan.rules else {}),
        **({"primary": plan.primary} if plan.primary else {}),
        **({"domains": domains} if domains else {}),
        **({"addition": {name: d.to_dict() for name, d in plan.designs.items()}} if plan.designs else {}),
        **({"rules": [str(rule) for rule in rules]} if rules else {}),
        **({"dependencies": [str(dependency) for dependency in plan.dependencies]} if plan.dependencies else {}),
        **({"weights": weights} if weights else {}),
        **({"missing": policy.missing} if policy.missing != [""] else {}),
        **({"missing_as": instead} if instead else {}),
        **({"case": exact} if exact else {}),
        **({"persons": True} if table.person is not None else {}),
    }
    manifest = Manifest(
        method=method.name,
        variant=method.variant,
        kind=plan.kind,
        rows=kept.size,
        suppressed=plan.left_out + table.dropped,
        claims=tuple(kind.claims(plan, policy)),
        breaks=tuple(dict.fromkeys((*method.breaks, *plan.breaks, *kind.breaks(plan, table)))),
        parameters=parameters,
        tables=infos(parts),
        test=draw.key.is_test,
    )
    return Release(manifest, {part.name: part.rows.select([c.name for c in part.columns]) for part in parts})


def _model(attribute: Attribute) -> str:
    """How diverse an attribute is asked to be, beside its l."""
    return attribute.model if attribute.c is None else f"{attribute.model} {attribute.c}"


def _ls(plan: Plan, policy: Policy) -> dict[str, int]:
    """How diverse each protected attribute is to be, by the rules of the plan where it has its own."""
    if not plan.rules:
        return {name: policy.l(name) for name in policy.sensitive}
    names = sorted({rule.protects for rule in plan.rules})
    return {name: max(rule.l for rule in plan.rules if rule.protects == name) for name in names}
