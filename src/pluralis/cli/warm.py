"""Compile the kernels once, so that the first publication does not wait. `python -m pluralis.cli.warm`.

Releases of the embedded table are published, counted in, attacked and audited. What only rare tables need is compiled
when they come.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from pluralis.publishing.saving import Publication

ROWS = 600
SAMPLE = 50  # people who are attacked
QUASI = {
    "age": {"role": "quasi", "type": "number"},
    "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "gender": {"role": "quasi"},
}
ONE = {"diagnosis": {"role": "sensitive", "l": 3}}
FEW = {"insurer": {"role": "sensitive", "l": 2}}
TWO = {**ONE, **FEW}
BINNED = {"charges": {"role": "sensitive", "l": 2, "type": "number", "bin": 5000}}
FOUR = {**TWO, **BINNED, "procedure": {"role": "sensitive", "l": 2}}
BOUNDED = {"diagnosis": {"role": "sensitive", "at_most": {"normal birth": 0.3}}}
CLOSE = {"diagnosis": {"role": "sensitive", "l": 2, "gain": 8, "t": 0.5}}
PERSON = {"person": "patient"}
KNOWN = {**PERSON, "adversaries": [{"knows": ["age", "gender", "insurer"]}]}
RULES = ["age, gender -> diagnosis : l=2", "zipcode -> insurer : l=2"]
NUMBER = {"attributes": {"age": {"type": "number"}}}
ASKED: tuple[Mapping[str, Any], ...] = (
    {"attributes": {**QUASI, "admission": {"role": "sensitive", "l": 2}}},
    {"attributes": {**QUASI, **ONE}},
    {"attributes": {**QUASI, **FEW}, **PERSON},
    {"attributes": {**QUASI, **TWO}, "k": 5},
    {"attributes": {**QUASI, **TWO}, **KNOWN},
    {"attributes": {**QUASI, **FOUR}, **PERSON},
    {"attributes": {**QUASI, **BOUNDED}},
    {"attributes": {**QUASI, **CLOSE}},
    {**NUMBER, "rules": RULES},
    {**NUMBER, "rules": RULES[:1], **PERSON},
)  # what kernels are compiled for depends on how many sensitive attributes there are, on persons, on models


def warm(*names: str) -> None:
    """Publish small tables by these methods, or by every one, which compiles every kernel that they need.

    What a method does not offer it refuses; each publishes something at both variants, or this ends with an error.
    """
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.method import methods
    from pluralis.table.sources import read_table, write_csv_bytes

    table = hospital_discharges(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "table.parquet", Path(folder) / "table.csv"
        table.write_parquet(files[0])
        files[1].write_bytes(write_csv_bytes(table))
        read_table(files[1])
        for name, variant in product(names or methods(), ("hardened", "paper")):
            releases = list(_published(files[0], name, variant))
            assert releases, f"{name}, {variant}, publishes none of these tables"
            for release in releases:
                _count(release)
            if variant == "hardened" and not names:  # nobody waits for attacks before a demo
                for release in {
                    releases[0].policy.person: releases[0],
                    releases[-1].policy.person: releases[-1],
                }.values():
                    _attack(release, table)


def _published(path: Path, name: str, variant: str) -> Iterator[Publication]:
    """A release by a method for everything that it takes."""
    from pluralis.errors import Infeasible, PolicyError
    from pluralis.method import methods
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key
    from pluralis.release.kinds import kind_named

    draws_sets = kind_named(methods()[name].kind).lists_values
    options = {"claim": "set-size"} if draws_sets and variant == "paper" else {}
    by = {"method": name, "suppress": 0.9, "variant": variant, "options": options}
    for asked in ASKED:
        try:
            policy = Policy.from_dict({"version": 1, "others": "drop", "accept": ["set-size"], **asked, "publish": by})
            yield publish(path, policy, key=Key.test(), attacks=False)
        except (Infeasible, PolicyError):
            continue


def _count(release: Publication) -> None:
    """Count by what is published and by what is protected, alone and together."""
    from pluralis.release.attributes import attributes_of

    infos = attributes_of(release)
    protected = [
        f"{name} != '{(infos[name].domain or ('',))[0]}'" for name in ("diagnosis", "insurer") if name in infos
    ]
    for word in ("AND", "OR"):
        for i in range(len(protected) + 1):
            release.count(f" {word} ".join(["age > 30", *protected[:i]]))


def _attack(release: Publication, table: pl.DataFrame) -> None:
    """Attack a release, and audit it beside rows that are not its own, so that a witness is searched for."""
    from pluralis.attacks import attack
    from pluralis.auditing import audit

    person = release.policy.person
    attack(release, table, person=person, sample=SAMPLE)
    if release.traits.sensitive_in_rows:
        audit(release, original=table.with_columns(age=table["age"] + 100), allow_test=True)


if __name__ == "__main__":
    warm(*sys.argv[1:])
