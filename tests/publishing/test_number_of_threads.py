"""A release is the same bytes however many threads made it: by every method, of tables of several row groups.

The number of threads is read when Polars and Numba are imported, so each number has a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest

import pluralis as pls
from pluralis.release.strict_parquet import layout_of
from pluralis.table.parquet_files import write_parquet_bytes

QUICK, SLOW = 60_000, 9_000  # those of few rows are attacked as well
QUASI = {
    "age": {"role": "quasi", "type": "number"},
    "gender": {"role": "quasi"},
    "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "race": {"role": "plain"},
}
ONE = {**QUASI, "diagnosis": {"role": "sensitive", "l": 3}}
TWO = {**ONE, "procedure": {"role": "sensitive", "l": 2}}
RULES = ["age, gender -> diagnosis : l=2", "zipcode -> admission : l=2"]
RULED = {"attributes": {"age": {"type": "number"}}, "rules": RULES}
NAMED = ["age", "gender", "diagnosis", "zipcode", "admission"]
CASES = {
    "anatomy": (QUICK, {"attributes": ONE}),
    "decomposition": (40_000, {"attributes": TWO}),
    "mondrian": (40_000, {"attributes": TWO}),
    "randomized-addition": (QUICK, {"attributes": ONE}),
    "bsgi": (SLOW, {"attributes": TWO}),
    "gd": (SLOW, RULED),
    "incognito": (SLOW, {"attributes": ONE}),
    "kaca": (SLOW, {"attributes": ONE, "k": 5}),
    "msb": (SLOW, {"attributes": TWO}),
    "multi-sa": (SLOW, {**RULED, "rules": RULES[:1]}),
    "single-attribute": (SLOW, RULED),
    "sloms": (SLOW, {"attributes": TWO, "k": 5}),
    "tp": (SLOW, {"attributes": ONE}),
    "uad": (SLOW, RULED),
}
PROGRAM = """
import hashlib, json, sys
from pathlib import Path
import polars as pl
import pluralis as pls

people, cases = pl.read_parquet(sys.argv[1]), json.loads(sys.argv[2])
digests = {"threads": str(pl.thread_pool_size())}
for method, (rows, names, policy) in cases.items():
    table, format = people.head(rows).select(names or pl.all()), "csv" if method == "tp" else "parquet"
    folder = Path(sys.argv[3], method)
    release = pls.publish(table, pls.Policy(**policy), key=pls.Key.test(), attacks=rows < 10_000)
    release.save(folder, format=format, allow_test=True)
    for file in folder.iterdir():
        digests[f"{method}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
print(json.dumps(digests))
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The digest of every file of every release, by the number of threads."""
    place = tmp_path_factory.mktemp("threads")
    people = place / "people.parquet"
    pls.hospital_discharges(rows=QUICK).write_parquet(people)
    cases = {}
    for method, (rows, asked) in CASES.items():
        policy = {"version": 1, "accept": "set-size", "publish": {"method": method, "suppress": 0.9}, **asked}
        names = NAMED[: 3 if len(asked["rules"]) == 1 else 5] if "rules" in asked else []
        cases[method] = rows, names, policy if names else {**policy, "others": "drop"}
    digests = {}
    for threads in ("1", "2", "4"):
        (folder := place / threads).mkdir()
        environment = {**os.environ, "POLARS_MAX_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        command = [sys.executable, "-c", PROGRAM, str(people), json.dumps(cases), str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        digests[threads] = json.loads(done.stdout)
    assert [own.pop("threads") for own in digests.values()] == ["1", "2", "4"]
    return digests


def test_every_method_is_tried() -> None:
    assert {*CASES} == {*pls.methods()}


@pytest.mark.parametrize("method", CASES)
def test_the_number_of_threads_changes_no_file(method: str, released: dict[str, dict[str, str]]) -> None:
    one, two, four = (
        {name: digest for name, digest in own.items() if name.startswith(f"{method}/")} for own in released.values()
    )
    assert len(one) >= 3  # manifest, README and tables
    assert one == two
    assert one == four


@pytest.mark.parametrize("rows", [QUICK, SLOW])
def test_tables_of_that_size_have_several_row_groups(rows: int) -> None:
    data = write_parquet_bytes(pl.DataFrame({"age": pl.repeat(1, rows, eager=True)}))
    assert len(layout_of(data).groups) > 1
