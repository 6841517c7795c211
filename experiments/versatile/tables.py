"""The tables of Versatile Publishing's experiments, and random sets of rules over them.

Adult is read as in the paper's Table 5a. Texas' discharges may not be passed on: `Texas` is a generated table with its
attributes and domains (Table 5b), and `claims` are real inpatient claims, DE-SynPUF's, in as many attributes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import polars as pl

from experiments.reproduce import Experiment, Lab, Point
from experiments.reproduce.paper import Value
from experiments.versatile.texas import ROWS, texas_like
from pluralis import Policy
from pluralis.policy.rules import Rule, irreducible

ADULT_FILE, CLAIMS_FILE = "adult_clean_45222.csv.gz", "desynpuf_inpatient_claims.parquet"
QUICK_ROWS = 20_000  # of Texas and claims in a quick run
PERSON = "person"
SCHOOL = {
    "Preschool": "preschool", "1st-4th": "elementary", "5th-6th": "elementary", "7th-8th": "elementary",
    "9th": "secondary", "10th": "secondary", "11th": "secondary", "12th": "secondary", "HS-grad": "secondary",
    "Some-college": "some college", "Assoc-voc": "associate degree", "Assoc-acdm": "associate degree",
    "Bachelors": "university", "Masters": "post-graduate", "Prof-school": "post-graduate", "Doctorate": "post-graduate",
}  # fmt: skip
WHITE = ("Exec-managerial", "Prof-specialty", "Tech-support", "Adm-clerical", "Sales")
BLUE = ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing")
CLAIMS = (
    "admission_month", "age", "sex", "race", "esrd", "state", "state_county", "hospital", "attending_physician", "days",
    "drg", "admitting_icd9", "icd9_dx1", "icd9_dx2", "icd9_dx3", "sp_chf", "sp_copd", "sp_diabetes",
)  # fmt: skip


@lru_cache(maxsize=3)
def table_of(name: str, lab: Lab) -> pl.DataFrame:
    """A table by the name that it has here."""
    if name == "Adult":
        return adult(lab)
    if name == "Texas":
        return texas(QUICK_ROWS if lab.quick else ROWS)
    return claims(lab).head(QUICK_ROWS) if lab.quick else claims(lab)


@lru_cache(maxsize=1)
def texas(rows: int) -> pl.DataFrame:
    return texas_like(rows)


def adult(lab: Lab, rows: int | None = 10_000) -> pl.DataFrame:
    """Adult in the seven attributes of the paper's Table 5a, some rows drawn without replacement."""
    table = pl.read_csv(lab.file(ADULT_FILE), infer_schema_length=None)
    age = pl.col("age")
    ends = pl.when(age < 25).then(pl.lit("17-24")).when(age > 64).then(pl.lit("65-90"))
    decade = ends.otherwise(pl.format("{}-{}", (age - 25) // 10 * 10 + 25, (age - 25) // 10 * 10 + 34))
    job = pl.col("occupation")
    collar = pl.when(job.is_in(WHITE)).then(pl.lit("white collar")).when(job.is_in(BLUE)).then(pl.lit("blue collar"))
    native = pl.col("native-country") == "United-States"
    table = table.select(
        age=decade,
        country=pl.when(native).then(pl.lit("US")).otherwise(pl.lit("other")),
        education=pl.col("education").replace_strict(SCHOOL),
        marital_status=pl.col("marital-status"),
        occupation=collar.otherwise(pl.lit("others")),
        income=pl.col("income"),
        sex=pl.col("sex"),
    )
    return table if rows is None else table.sample(rows, seed=2010)


def claims(lab: Lab) -> pl.DataFrame:
    """DE-SynPUF inpatient claims in 18 attributes, rows without a missing value."""
    table = pl.read_parquet(lab.file(CLAIMS_FILE))
    return table.select(PERSON, *CLAIMS).drop_nulls().cast(pl.String)


@lru_cache(maxsize=3)
def values_of(name: str, lab: Lab) -> Mapping[str, Sequence[str]]:
    """The different values of each attribute that is published."""
    table = table_of(name, lab)
    return {column: table[column].unique().sort().to_list() for column in table.columns if column != PERSON}


def rule_set(table: pl.DataFrame, count: int, known: int, l: int, seed: int) -> tuple[Rule, ...]:
    """An irreducible set of so many random rules that each column alone keeps."""
    rng = random.Random(seed)
    names = [name for name in table.columns if name != PERSON]
    tops = {name: int(table[name].value_counts()["count"].max()) for name in names}  # type: ignore[arg-type]
    eligible = [name for name in names if tops[name] * l <= table.height]
    rules: list[Rule] = []
    while len(rules) < count:
        protected = rng.choice(eligible)
        left = rng.sample([name for name in names if name != protected], known)
        rules = irreducible([*rules, Rule(knows=tuple(sorted(left)), protects=protected, l=l)])
    return tuple(rules)


def policy_for(table: pl.DataFrame, rules: Sequence[Rule], method: str) -> Policy:
    """Rules for a method, written as its name and, after a comma, its variant."""
    named = {name for rule in rules for name in (*rule.knows, rule.protects)}
    name, _, variant = method.partition(", ")
    suppress = 0.99 if name == "multi-sa" else 0.0
    return Policy.from_dict(
        {
            "version": 1,
            "attributes": {n: {"role": "quasi"} for n in table.columns if n not in named and n != PERSON},
            "rules": [str(rule) for rule in rules],
            "person": PERSON if PERSON in table.columns else None,
            "publish": {"method": name, "variant": variant or "hardened", "suppress": suppress},
        }
    )


def measure(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """How many rows a whole table has, and how many values each attribute."""
    whole = {"Adult": lambda: adult(lab, None), "Texas": lambda: texas(ROWS), "claims": lambda: claims(lab)}
    table = whole[str(point["table"])]()
    yield {"what": "rows", "value": table.height}
    if point["table"] == "Adult":
        yield {"what": "rows drawn", "value": adult(lab).height}
    names = [name for name in table.columns if name != PERSON]
    yield {"what": "attributes", "value": len(names)}
    for name in names:
        yield {"what": name, "value": table[name].n_unique()}


_TABLES: list[Point] = [{"table": name} for name in ("Adult", "Texas", "claims")]
DATA = Experiment("data", "the tables", _TABLES, _TABLES, measure)
