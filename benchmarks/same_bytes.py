"""Whether two checkouts publish the same bytes: `python -m benchmarks.same_bytes OTHER/src`.

One table by every method, of every kind and with several options, under one key, by this checkout and by another. Data
files must be the same; where manifests differ, the lines that do are printed. Exit code 1 where a data file differs.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
import polars as pl
import pluralis as pls

place = Path(sys.argv[1])
people = pls.hospital_discharges(rows=2000)
hierarchy = {"mask": "right"}
quasi = {"age": {"role": "quasi", "type": "number"}, "gender": {"role": "quasi"},
         "zipcode": {"role": "quasi", "hierarchy": hierarchy}, "race": {"role": "plain"}}
one = {**quasi, "insurer": {"role": "sensitive", "l": 2}}
two = {**one, "admission": {"role": "sensitive", "l": 2}}
bins = {**quasi, "charges": {"role": "sensitive", "l": 3, "type": "number", "bin": 5000}}
frequent = people.filter(pl.col("insurer").count().over("insurer") >= 100)
once = frequent.unique("patient", keep="first", maintain_order=True)
RULES = ["age, gender -> insurer : l=2", "zipcode -> admission : l=2"]
CASES = {
    "bsgi": (two, {}), "bsgi-bins": (bins, {}), "bsgi-paper": (one, {"variant": "paper"}), "mondrian": (two, {}),
    "mondrian-relaxed": (one, {"options": {"mode": "relaxed"}}), "incognito": (one, {}), "kaca": (one, {"k": 5}),
    "tp": (one, {}), "anatomy": (one, {}), "msb": (two, {}), "msb-mbf": (two, {"options": {"priority": "mbf"}}),
    "decomposition": (two, {}), "decomposition-none": (two, {"options": {"sensitive_table": "none"}}),
    "sloms": (two, {"k": 5}), "randomized-addition": (one, {}),
    "randomized-addition-size": (two, {"options": {"claim": "set-size"}}),
    "gd": ({"age": {"type": "number"}}, {"rules": RULES}), "uad": ({"age": {"type": "number"}}, {"rules": RULES}),
    "gd-mondrian": ({"age": {"type": "number"}}, {"rules": RULES, "options": {"anonymizer": "mondrian"}}),
    "multi-sa": ({"age": {"type": "number"}}, {"rules": RULES[:1]}),
    "single-attribute": ({"age": {"type": "number"}}, {"rules": RULES}),
}
for case, (attributes, more) in CASES.items():
    method = next(name for name in sorted(pls.methods(), key=len, reverse=True) if case.startswith(name))
    publish = {"method": method, "suppress": 0.5, **{k: v for k, v in more.items() if k in ("options", "variant")}}
    policy = {"version": 1, "attributes": attributes, "others": "drop", "publish": publish}
    if "accept" in pls.Policy.model_fields:
        policy["accept"] = "set-size"
    policy |= {k: v for k, v in more.items() if k in ("k", "rules")}
    if "rules" in more:
        named = ["age", "gender", "insurer"] + (["zipcode", "admission"] if len(more["rules"]) > 1 else [])
        table = once.select(named).head(400)
        policy.pop("others")
    else:
        table = once if method == "randomized-addition" else frequent
        policy["person"] = "patient"
    for format in ("parquet", "csv"):
        release = pls.publish(table, pls.Policy(**policy), key=pls.Key.test(), attacks=format == "csv")
        release.save(place / f"{case}-{format}", format=format, allow_test=True)
"""


def publish(place: Path, source: str | None) -> None:
    env = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    subprocess.run([sys.executable, "-c", PROGRAM, str(place)], env=env, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", help="the src of another checkout")
    asked = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as theirs:
        publish(Path(own), None)
        publish(Path(theirs), asked.other)
        cases = sorted(entry.name for entry in Path(own).iterdir() if not entry.name.endswith(".private"))
        for case in cases:
            here, there = Path(own) / case, Path(theirs) / case
            names = sorted({entry.name for folder in (here, there) for entry in folder.iterdir()})
            for name in names:
                old, new = ((f / name).read_bytes() if (f / name).exists() else b"" for f in (there, here))
                if old == new:
                    continue
                print(f"{case}/{name} differs")
                different += not name.endswith((".json", ".md"))
                if name.endswith(".json"):
                    lines = difflib.unified_diff(old.decode().splitlines(), new.decode().splitlines(), lineterm="", n=0)
                    print("\n".join(f"  {line[:200]}" for line in list(lines)[2:]))
        print(f"{len(cases)} releases compared, {different} data files differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
