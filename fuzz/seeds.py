"""Tiny releases of every kind, published by the library with the test key: what folders are mutated from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key

PEOPLE = pl.DataFrame(
    {
        "age": [20, 25, 30, 35, 40, 50, 60, 70],
        "sex": ["F", "M", "F", "M", "F", "M", "F", "M"],
        "ward": ["w1", "w1", "w2", "w2", "w1", "w1", "w2", "w2"],
        "disease": ["flu", "hiv", "gout", "flu", "hiv", "gout", "acne", "acne"],
        "drug": ["a", "b", "c", "d", "a", "b", "c", "d"],
        "bill": [10, 20, 30, 40, 50, 60, 70, 80],
        "stage": ["<18", "<18", "18-64", "18-64", "65+", "65+", "18-64", "<18"],
        "grade": ["1", "2", "3", "1", "3", "1", "3", "1"],
    }
)

Said = dict[str, Any]
AGE: Said = {"role": "quasi", "type": "number"}
SEX: Said = {"role": "quasi"}
WARD: Said = {"role": "plain"}
DISEASE: Said = {"role": "sensitive", "l": 2}
DRUG: Said = {"role": "sensitive", "l": 2}
BILL: Said = {"role": "sensitive", "l": 2, "type": "number"}
BOUNDED: Said = {"role": "sensitive", "at_most": {"hiv": "1/3"}, "gain": 3}
CLOSE: Said = {"role": "sensitive", "type": "number", "t": 0.4}
STAGE: Said = {"role": "quasi", "order": ["<18", "18-64", "65+"]}
GRADE: Said = {"role": "sensitive", "order": ["2", "1", "3"]}  # codes, whose numbers are not their order
BINS: Said = {"role": "sensitive", "l": 2, "type": "number", "bin": 20}


@dataclass(frozen=True)
class Seed:
    """A release to begin with: which rows of PEOPLE, under which policy, in which format."""

    name: str
    rows: int
    attributes: dict[str, dict[str, Any]]
    method: str
    format: Literal["parquet", "csv"] = "parquet"
    options: dict[str, Any] | None = None
    knows: tuple[str, ...] = ()
    k: int | None = None
    rules: tuple[str, ...] = ()
    times: int = 1  # how often each row stands there

    def policy(self) -> Policy:
        data: dict[str, Any] = {
            "version": 1,
            "accept": ["set-size"],
            "others": "drop",
            "attributes": self.attributes,
            "publish": {"method": self.method, "options": self.options or {}},
        }
        data |= {"k": self.k} if self.k else {}
        data |= {"rules": list(self.rules)} if self.rules else {}
        data |= {"adversaries": [{"knows": list(self.knows)}]} if self.knows else {}
        return Policy.from_dict(data)

    @property
    def people(self) -> pl.DataFrame:
        """The table that is published."""
        return pl.concat([PEOPLE.head(self.rows)] * self.times)

    def publish(self, folder: Path) -> None:
        """Write the release. It is not attacked: that takes most of the time and changes little in the folder."""
        release = publish(self.people, self.policy(), key=Key.test(), attacks=False)
        release.save(folder, format=self.format, allow_test=True)


TWO = {"age": AGE, "sex": SEX, "disease": DISEASE, "drug": DRUG}
RULES = ("age -> disease : l=2", "sex -> drug : l=2")

SEEDS = (
    Seed("generalized", 8, {"age": AGE, "sex": SEX, "ward": WARD, "disease": DISEASE}, "bsgi"),
    Seed("generalized-k", 8, {"age": AGE, "disease": DISEASE, "bill": BINS}, "mondrian", k=2),
    Seed("generalized-unlinked", 8, TWO, "bsgi", knows=("age", "sex", "drug")),
    Seed("generalized-csv", 8, {"age": AGE, "sex": SEX, "ward": WARD, "disease": DISEASE}, "bsgi", "csv"),
    Seed("bucketized", 8, {"age": AGE, "ward": WARD, "disease": DISEASE, "bill": BILL}, "msb"),
    Seed("bucketized-unlinked", 8, {"age": AGE, "disease": DISEASE, "bill": BILL}, "msb", knows=("age", "bill")),
    Seed("bucketized-csv", 8, {"age": AGE, "sex": SEX, "disease": DISEASE}, "anatomy", "csv"),
    Seed("generalized-bounds", 8, {"age": AGE, "sex": SEX, "disease": BOUNDED, "bill": CLOSE}, "mondrian"),
    Seed("bucketized-bounds", 8, {"age": AGE, "disease": BOUNDED}, "anatomy"),
    Seed("decomposed-joint", 6, TWO, "decomposition", options={"sensitive_table": "joint"}),
    Seed("decomposed-marginals", 6, TWO, "decomposition", options={"sensitive_table": "marginals"}),
    Seed(
        "decomposed-none",
        6,
        {"age": AGE, "disease": DISEASE, "bill": BILL},
        "decomposition",
        options={"sensitive_table": "none"},
    ),
    Seed(
        "sliced",
        8,
        {"age": AGE, "sex": SEX, "ward": WARD, "disease": DISEASE, "drug": DRUG},
        "sloms",
        k=2,
        options={"slices": 2},
    ),
    Seed(
        "sliced-csv",
        8,
        {"age": AGE, "disease": DISEASE, "drug": DRUG, "bill": BILL},
        "sloms",
        "csv",
        options={"slices": [["disease", "drug"], ["bill"]]},
    ),
    Seed("candidates", 8, {"age": AGE, "disease": DISEASE}, "randomized-addition", times=20),
    Seed(
        "candidates-number",
        8,
        {"age": AGE, "ward": WARD, "bill": BILL},
        "randomized-addition",
        options={"claim": "set-size"},
    ),
    Seed("candidates-csv", 8, {"age": AGE, "disease": DISEASE}, "randomized-addition", "csv", times=20),
    Seed("multi", 5, {"age": {"type": "number"}}, "gd", rules=RULES),
    Seed("multi-generalized", 5, {"age": {"type": "number"}}, "gd", rules=RULES, options={"anonymizer": "mondrian"}),
    Seed("multi-uad-csv", 5, {"age": {"type": "number"}}, "uad", "csv", rules=RULES),
    Seed("generalized-ordered", 8, {"age": AGE, "stage": STAGE, "grade": {**GRADE, "t": 0.7}}, "mondrian"),
    Seed("bucketized-ordered", 8, {"stage": STAGE, "grade": {**GRADE, "l": 2}}, "anatomy"),
    Seed(
        "bucketized-ordered-unlinked",
        8,
        {"stage": STAGE, "grade": {**GRADE, "l": 2}, "drug": DRUG},
        "msb",
        knows=("stage", "drug"),
    ),
    Seed("multi-single", 5, {"age": {"type": "number"}}, "single-attribute", rules=RULES),
)


def publish_all(place: Path) -> dict[str, Path]:
    """Every seed, each in its folder. What was published there before is taken as it is."""
    folders = {}
    for seed in SEEDS:
        folder = place / seed.name
        if not folder.exists():
            seed.publish(folder)
        folders[seed.name] = folder
    return folders


def bytes_of(folder: Path) -> dict[str, bytes]:
    """What the files of a release hold, by name."""
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}  # noqa: PTH208
