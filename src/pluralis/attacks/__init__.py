"""The attacks, one file each. A file in this folder that defines ATTACK is an attack; nothing else registers it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping
from functools import cache

import polars as pl

from pluralis.attacks.adversary.original_check import require_original
from pluralis.attacks.base import Attack, Options, Result
from pluralis.errors import PluralisError, did_you_mean
from pluralis.progress import stage
from pluralis.release.release import Release

__all__ = ["Attack", "Options", "Result", "attack", "attacks"]


@cache
def attacks() -> Mapping[str, Attack]:
    """Every attack by its name."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.ATTACK for module in modules if hasattr(module, "ATTACK")]
    return {attack.name: attack for attack in sorted(found, key=lambda attack: attack.name)}


def attack(
    release: Release, original: pl.DataFrame, *, only: Collection[str] = (), options: Options | None = None
) -> list[Result]:
    """Attack a release by every attack that applies to it, or by some; its original is for scoring.

    Raises InputError where the table cannot be its original.
    """
    for name in only:
        if name not in attacks():
            raise PluralisError(f"There is no attack {name!r}. {did_you_mean(name, attacks(), len(attacks()))}")
    require_original(release, original)
    results: list[Result] = []
    for name, one in attacks().items():
        if (not only or name in only) and one.applies(release):
            with stage(one.title):
                results += one.run(release, original, options or Options())
    return results
