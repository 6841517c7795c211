"""What all rows of one person tell together: 600 people with two to four rows each, published by every method.

Two tables for each number of rows: one in which every row has a disease of its own, and one in which all rows of a
person have the same (chronic). Results go into `docs/attacks.md`, between the marks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.attacks import PAGE

BEGIN, END = "<!-- persons: begin -->", "<!-- persons: end -->"
PEOPLE = 600
ROWS = (2, 3, 4)
ALONE = ("anatomy", "randomized-addition", "tp")  # with one sensitive attribute
METHODS = (
    "bsgi", "mondrian", "incognito", "kaca", "tp", "anatomy", "msb", "decomposition", "sloms", "randomized-addition",
    "gd", "uad", "multi-sa", "single-attribute",
)  # fmt: skip


class Figures(NamedTuple):
    """Shares of rows guessed right: promised, row by row, and of all rows together; or of people, where they agree."""

    promised: float | None
    together: float
    different: float | None
    one_value: float


def table(rows: int, chronic: bool, seed: int = 1, people: int = PEOPLE) -> pl.DataFrame:
    """People with as many rows each, a disease of six and a job of five."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rows)
    drawn, own = rng.integers(0, 6, person.size), rng.integers(0, 6, people)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in person],
            "age": rng.integers(18, 90, person.size),
            "zip": [f"z{i:03}" for i in rng.integers(0, 600, person.size)],
            "disease": [f"d{i}" for i in (own[person] if chronic else drawn)],
            "job": [f"j{i}" for i in rng.integers(0, 5, person.size)],
        }
    )


def policy(method: str) -> Any:
    from pluralis.policy.policy import Policy

    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "zip": {"role": "quasi"}}
    attributes["disease"] = {"role": "sensitive", "l": 2}
    if method not in ALONE:
        attributes["job"] = {"role": "sensitive", "l": 2}
    publish: dict[str, Any] = {"method": method, "suppress": 0.5}
    if method == "randomized-addition":
        publish["options"] = {"claim": "set-size"}
    asked = {
        "version": 1,
        "attributes": attributes,
        "others": "drop",
        "person": "person",
        "publish": publish,
        "accept": ["set-size"],
    }
    return Policy.from_dict(asked | ({"k": 2} if method in ("kaca", "sloms") else {}))


def figures(method: str, people: pl.DataFrame) -> Figures:
    """What `persons` gets of diseases; of several tables that tell of them, the best."""
    from pluralis.attacks import Options, attack
    from pluralis.attacks.persons import DIFFERENT, EACH, ONE_VALUE, persons_of
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key

    release = publish(people, policy(method), key=Key.test(), attacks=False)
    options = Options(persons=persons_of(people, "person", release))
    results = [r for r in attack(release, people, only=["persons"], options=options) if r.attribute == "disease"]
    best = {
        which: max((r.success for r in results if r.question.endswith(f", {which}")), default=None)
        for which in (EACH, DIFFERENT, ONE_VALUE)
    }
    promised = min((r.promised for r in results if r.promised is not None), default=None)
    return Figures(promised, best[EACH] or 0.0, best[DIFFERENT], best[ONE_VALUE] or 0.0)


def percent(share: float) -> str:
    """Whole percent; never all for less."""
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def page(results: dict[str, dict[tuple[int, bool], Figures]]) -> Iterator[str]:
    yield "| method | promised | each row its own: 2 rows | 3 | 4 | one disease: 2 rows | 3 | 4 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for method, by_rows in results.items():
        promised = next(iter(by_rows.values())).promised
        cells = ["" if promised is None else percent(promised)]
        for rows in ROWS:
            own = by_rows[rows, False]
            cells.append(percent(own.together) + (f" ({percent(own.different)})" if own.different is not None else ""))
        cells += [percent(by_rows[rows, True].together) for rows in ROWS]
        yield f"| {method} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="two cores of an AMD EPYC")
    asked = parser.parse_args()
    results = {}
    for method in METHODS:
        results[method] = {
            (rows, chronic): figures(method, table(rows, chronic)) for rows in ROWS for chronic in (False, True)
        }
        print(method, results[method], flush=True)
    when = f"Measured on {date.today().isoformat()}, {asked.machine}."
    text = PAGE.read_text(encoding="utf-8")
    before, middle, after = text.partition(BEGIN)
    if not middle or END not in after:
        raise SystemExit(f"{PAGE.name} has no marks to write between.")
    lines = "\n".join([*page(results), "", when])
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
