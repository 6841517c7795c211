"""The attacks, one file each. A file in this folder that defines ATTACK is an attack; nothing else registers it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.base import NOT_RUN, SAMPLE, Attack, Options, Result
from pluralis.attacks.results import AttackResults
from pluralis.display.words import counted
from pluralis.errors import InputError, PolicyError, did_you_mean
from pluralis.progress import stage
from pluralis.release.original import recoded
from pluralis.release.original_check import require_original
from pluralis.release.reading import LIMIT, read_release
from pluralis.release.release import Release
from pluralis.table.sources import read_table

__all__ = ["Attack", "AttackResults", "Options", "Result", "attack", "attacks"]


@cache
def attacks() -> Mapping[str, Attack]:
    """Every attack by its name."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    every = [module.ATTACK for module in modules if hasattr(module, "ATTACK")]
    return {attack.name: attack for attack in sorted(every, key=lambda attack: attack.name)}


def attack(
    release: Release | str | Path,
    original: object,
    *,
    only: str | Collection[str] = (),
    others: Release | str | Path | Sequence[Release | str | Path] = (),
    person: str | None = None,
    sample: int = SAMPLE,
    options: Options | None = None,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> AttackResults:
    """Attack a release by every attack that applies to it, or by some; its original is for scoring.

    `options` are all settings at once, in the place of `others`, `person` and `sample`. Of a release in parts see
    `verbs.attack`.
    """
    only = [only] if isinstance(only, str) else only
    others = [others] if isinstance(others, str | Path | Release) else others
    require_attacks(only, sample)
    read = _read(release, limit)
    table = recoded(read_table(original, encoding=encoding, separator=separator), read.manifest)
    if options is None:
        options = Options(
            sample=sample,
            folder=None if isinstance(release, Release) else Path(release),
            others=tuple(_read(other, limit) for other in others),
            persons=None if person is None else _persons(table, person, read),
        )
    require_original(read, table)
    results = AttackResults()
    asked = [one for name, one in attacks().items() if (not only or name in only) and one.applies(read)]
    with stage(counted(len(asked), "attack")) as done:
        for i, one in enumerate(asked):
            with stage(one.title):
                results += _run(one, read, table, options)
            done((i + 1) / len(asked))
    return results


def require_attacks(only: Collection[str], sample: int) -> None:
    """Refuse attacks that are not there, and a sample of nobody."""
    if sample < 1:
        raise InputError(f"A sample of {sample} people is none. Let it be 1 or more.")
    for name in only:
        if name not in attacks():
            raise InputError(f"There is no attack {name!r}. {did_you_mean(name, attacks(), len(attacks()))}")


def _run(one: Attack, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
    """What an attack got; where it cannot read this original, a result that says so, so that others are still run."""
    try:
        return one.run(release, original, options)
    except (InputError, PolicyError) as why:
        note = f"it could not be run: {why}"
        return [Result(one.name, NOT_RUN, 0, False, 0.0, 0.0, 0.0, 0.0, note=note)]


def _read(release: Release | str | Path, limit: int | None) -> Release:
    return release if isinstance(release, Release) else read_release(release, limit=limit)


def _persons(original: pl.DataFrame, column: str, release: Release) -> npt.NDArray[np.int64]:
    from pluralis.attacks.persons import persons_of

    return persons_of(original, column, release)
