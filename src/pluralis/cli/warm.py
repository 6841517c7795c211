"""Compile the kernels once, so that the first publication does not wait. `python -m pluralis.cli.warm`."""

from __future__ import annotations

import sys
import tempfile
from itertools import product
from pathlib import Path


def warm(*names: str) -> None:
    """Publish small tables by these methods, or by every one, which compiles every kernel that they need."""
    import polars as pl

    from pluralis.attacks import Options, attack
    from pluralis.auditing import audit
    from pluralis.errors import Infeasible
    from pluralis.method import methods
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key
    from pluralis.table.sources import read_table, write_csv_bytes

    rows = 60
    table = pl.DataFrame(
        {
            "person": [f"p{i % 50}" for i in range(rows)],
            "age": [20 + i % 37 for i in range(rows)],
            "zipcode": [f"10{i % 7}{i % 3}5" for i in range(rows)],
            "sex": ["fm"[i % 2] for i in range(rows)],
            "disease": [f"d{i % 6}" for i in range(rows)],
            "insurer": [f"i{i % 5}" for i in range(rows)],
        }
    )
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive", "l": 3},
        "insurer": {"role": "sensitive", "l": 2},
    }
    one = {name: attribute for name, attribute in attributes.items() if name != "insurer"}
    policies = [
        Policy.from_dict(
            {"version": 1, "attributes": some, "others": "drop", "person": "person", "publish": {"suppress": 0.5}}
        )
        for some in (attributes, one)
    ]
    for name, variant, policy in product(names or methods(), ("hardened", "paper"), policies):
        try:
            release = publish(table, policy.override(method=name, options={"variant": variant}), key=Key.test())
        except Infeasible:
            continue  # this small table need not suit every method; its kernels are compiled all the same
        for word in ("AND", "OR"):
            release.count(f"age > 30 {word} disease = 'd1'")
            if "insurer" in policy.sensitive:
                release.count(f"age > 30 {word} disease = 'd1' {word} insurer != 'i1'")
        if variant == "hardened" and not names:  # nobody waits for attacks before a demo
            attack(release, table, options=Options(persons=table["person"].rank("dense").cast(pl.Int64).to_numpy()))
        if release.traits.sensitive_in_rows:  # its audit compiles too, the search for a witness included
            audit(release, original=table.with_columns(pl.col("age") + 100), allow_test=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(write_csv_bytes(table))
        read_table(path)


if __name__ == "__main__":
    warm(*sys.argv[1:])
