"""Pluralis: publish tables that hold several secrets per person, audited, and let analysts still count."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pluralis.api import audit, measure
    from pluralis.audit import Finding, Verdict
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.errors import AuditFailed, Infeasible, PluralisError
    from pluralis.estimate import Estimate, col
    from pluralis.io import read_table
    from pluralis.methods import methods
    from pluralis.metrics import Loss
    from pluralis.policy import Policy
    from pluralis.profile import profile
    from pluralis.publish import Publication, key_for, publish
    from pluralis.randomness import Key
    from pluralis.reading import read_release
    from pluralis.release import Release

__version__ = "0.1.0"

# Read when Polars is loaded: its allocator gives back what is freed after 50 ms, not after half a second or never.
os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0")

# Loaded when first used, so that `pluralis --help` does not wait for numba and polars.
_HOMES = {
    "AuditFailed": "errors",
    "Estimate": "estimate",
    "Finding": "audit",
    "Infeasible": "errors",
    "Key": "randomness",
    "Loss": "metrics",
    "PluralisError": "errors",
    "Policy": "policy",
    "Publication": "publish",
    "Release": "release",
    "Verdict": "audit",
    "audit": "api",
    "col": "estimate",
    "hospital_discharges": "datasets.hospital",
    "key_for": "publish",
    "measure": "api",
    "methods": "methods",
    "profile": "profile",
    "publish": "publish",
    "read_release": "reading",
    "read_table": "io",
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
    """`pluralis.audit` is the function, although there is a subpackage of that name; `publish` and others likewise."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pluralis' has no attribute {name!r}")
    return getattr(import_module(f"pluralis.{_HOMES[name]}"), name)
