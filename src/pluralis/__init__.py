"""Pluralis: publish tables with several sensitive attributes per person, audited, and let analysts still count.

Whoever publishes: `profile` a table, `draft_policy`, `check_policy`, `compare` methods, `publish`, ``save`` what it
returns. Whoever has a release: `audit` it, `read_release` and count, `measure` it against the original, `attack` it. A
table is a path or any data frame, and a release a folder or one in memory, everywhere. docs/python.md tells it as one
story.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pluralis.attacks import AttackResults, Result
    from pluralis.auditing import Finding, Verdict
    from pluralis.comparison.comparing import compare
    from pluralis.comparison.frontier import Comparison
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.errors import (
        AuditFailed,
        Breached,
        Infeasible,
        InputError,
        MissingExtra,
        OutputError,
        PluralisError,
        PolicyError,
        QueryError,
        ReleaseError,
    )
    from pluralis.estimate import Estimate, col
    from pluralis.estimate.analyst_release import AnalystRelease, read_release
    from pluralis.estimate.parts import ReleaseInParts, read_parts
    from pluralis.method import Method, methods
    from pluralis.metrics import Loss
    from pluralis.policy.policy import Policy
    from pluralis.profiling.checking import PolicyCheck, check_policy
    from pluralis.profiling.drafting import draft_policy
    from pluralis.profiling.profiles import ColumnProfile, Profile, profile
    from pluralis.publishing.parts import PublishedParts, publish_in_parts
    from pluralis.publishing.pipeline import publish
    from pluralis.publishing.republishing import key_for
    from pluralis.publishing.saving import Publication
    from pluralis.randomness import Key
    from pluralis.release.release import Release
    from pluralis.report.explain_group import explain_group
    from pluralis.table.sources import read_table
    from pluralis.verbs.attack import attack
    from pluralis.verbs.audit import audit
    from pluralis.verbs.measure import measure

__version__ = "0.1.0"

# Loaded when first used, so that `pluralis --help` does not wait for numba and polars.
_HOMES = {
    "AnalystRelease": "estimate.analyst_release",
    "AttackResults": "attacks",
    "AuditFailed": "errors",
    "Breached": "errors",
    "ColumnProfile": "profiling.profiles",
    "Comparison": "comparison.frontier",
    "Estimate": "estimate",
    "Finding": "auditing",
    "Infeasible": "errors",
    "InputError": "errors",
    "Key": "randomness",
    "Loss": "metrics",
    "Method": "method",
    "MissingExtra": "errors",
    "OutputError": "errors",
    "PluralisError": "errors",
    "Policy": "policy.policy",
    "PolicyCheck": "profiling.checking",
    "PolicyError": "errors",
    "Profile": "profiling.profiles",
    "Publication": "publishing.saving",
    "PublishedParts": "publishing.parts",
    "QueryError": "errors",
    "Release": "release.release",
    "ReleaseError": "errors",
    "ReleaseInParts": "estimate.parts",
    "Result": "attacks",
    "Verdict": "auditing",
    "attack": "verbs.attack",
    "audit": "verbs.audit",
    "check_policy": "profiling.checking",
    "col": "estimate",
    "compare": "comparison.comparing",
    "draft_policy": "profiling.drafting",
    "explain_group": "report.explain_group",
    "hospital_discharges": "datasets.hospital",
    "key_for": "publishing.republishing",
    "measure": "verbs.measure",
    "methods": "method",
    "profile": "profiling.profiles",
    "publish": "publishing.pipeline",
    "publish_in_parts": "publishing.parts",
    "read_parts": "estimate.parts",
    "read_release": "estimate.analyst_release",
    "read_table": "table.sources",
}

__all__ = [
    "AnalystRelease",
    "AttackResults",
    "AuditFailed",
    "Breached",
    "ColumnProfile",
    "Comparison",
    "Estimate",
    "Finding",
    "Infeasible",
    "InputError",
    "Key",
    "Loss",
    "Method",
    "MissingExtra",
    "OutputError",
    "PluralisError",
    "Policy",
    "PolicyCheck",
    "PolicyError",
    "Profile",
    "Publication",
    "PublishedParts",
    "QueryError",
    "Release",
    "ReleaseError",
    "ReleaseInParts",
    "Result",
    "Verdict",
    "__version__",
    "attack",
    "audit",
    "check_policy",
    "col",
    "compare",
    "draft_policy",
    "explain_group",
    "hospital_discharges",
    "key_for",
    "measure",
    "methods",
    "profile",
    "publish",
    "publish_in_parts",
    "read_parts",
    "read_release",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pluralis' has no attribute {name!r}")
    return getattr(import_module(f"pluralis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
