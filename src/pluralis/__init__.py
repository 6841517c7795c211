"""Pluralis: publish tables that hold several secrets per person, audited, and let analysts still count."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pluralis.api import audit, measure
    from pluralis.auditing import Finding, Verdict
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.errors import AuditFailed, Infeasible, PluralisError
    from pluralis.estimate import Estimate, col
    from pluralis.methods import methods
    from pluralis.metrics import Loss
    from pluralis.policy.policy import Policy
    from pluralis.profiling.profiles import profile
    from pluralis.publishing.pipeline import publish
    from pluralis.publishing.republishing import key_for
    from pluralis.publishing.saving import Publication
    from pluralis.randomness import Key
    from pluralis.release.reading import read_release
    from pluralis.release.release import Release
    from pluralis.table.sources import read_table

__version__ = "0.1.0"

# Loaded when first used, so that `pluralis --help` does not wait for numba and polars.
_HOMES = {
    "AuditFailed": "errors",
    "Estimate": "estimate",
    "Finding": "auditing",
    "Infeasible": "errors",
    "Key": "randomness",
    "Loss": "metrics",
    "PluralisError": "errors",
    "Policy": "policy.policy",
    "Publication": "publishing.saving",
    "Release": "release.release",
    "Verdict": "auditing",
    "audit": "api",
    "col": "estimate",
    "hospital_discharges": "datasets.hospital",
    "key_for": "publishing.republishing",
    "measure": "api",
    "methods": "methods",
    "profile": "profiling.profiles",
    "publish": "publishing.pipeline",
    "read_release": "estimate.analyst_release",
    "read_table": "table.sources",
}

__all__ = [
    "AuditFailed",
    "Estimate",
    "Finding",
    "Infeasible",
    "Key",
    "Loss",
    "PluralisError",
    "Policy",
    "Publication",
    "Release",
    "Verdict",
    "audit",
    "col",
    "hospital_discharges",
    "key_for",
    "measure",
    "methods",
    "profile",
    "publish",
    "read_release",
    "read_table",
]


class _Package(ModuleType):
    """`pluralis.methods` is the function, although there is a subpackage of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pluralis' has no attribute {name!r}")
    return getattr(import_module(f"pluralis.{_HOMES[name]}"), name)
