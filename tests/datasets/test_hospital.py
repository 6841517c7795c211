"""The invented hospitals keep their promises: the shape of the table, the laws of its world, its bounds."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pluralis.datasets.hospital import ADMISSIONS, DIAGNOSES, PROCEDURES, STAYS, hospital_discharges
from pluralis.errors import InputError

SCHEMA = {
    "patient": pl.String,
    "hospital": pl.String,
    "age": pl.Int64,
    "gender": pl.String,
    "zipcode": pl.String,
    "county": pl.String,
    "race": pl.String,
    "admission": pl.String,
    "diagnosis": pl.String,
    "procedure": pl.String,
    "insurer": pl.String,
    "charges": pl.Int64,
}
MOST_COMMON_AT_MOST = {"diagnosis": 0.11, "procedure": 0.30, "insurer": 0.42}
BIRTHS = ["normal birth", "premature birth"]
DELIVERIES = ["normal delivery", "difficult delivery"]


@pytest.fixture(scope="module")
def stays() -> pl.DataFrame:
    return hospital_discharges()


def top_share(table: pl.DataFrame, column: str) -> float:
    return table[column].value_counts()["count"].max() / table.height


def eta_squared(table: pl.DataFrame, value: pl.Expr, by: str) -> float:
    """Share of the variance of `value` that lies between the groups of `by`."""
    total, between = table.select(value.var(), between=value.mean().over(by).var()).row(0)
    return between / total


# The table.


@pytest.mark.parametrize("rows", [1, 2, 1000, 100_000])
def test_as_many_rows_as_asked_and_always_the_same_columns(rows):
    table = hospital_discharges(rows)
    assert table.height == rows
    assert dict(table.schema) == SCHEMA
    assert list(table.columns) == list(SCHEMA)


def test_the_default_is_twenty_thousand_rows_without_a_missing_cell(stays):
    assert stays.height == 20_000
    assert sum(stays.null_count().row(0)) == 0


@pytest.mark.parametrize("rows", [0, -5])
def test_no_rows_is_an_error_that_says_what_to_ask(rows):
    with pytest.raises(InputError, match="rows=1 or more"):
        hospital_discharges(rows)


def test_same_rows_and_seed_same_bytes(stays):
    assert hospital_discharges().write_csv() == stays.write_csv()


def test_another_seed_is_another_population(stays):
    other = hospital_discharges(seed=2009)
    with pytest.raises(AssertionError):
        assert_frame_equal(other, stays)


def test_cells_look_as_documented(stays):
    looks = {"patient": r"^P\d{6}$", "hospital": r"^H\d{2}$", "zipcode": r"^\d{5}$", "gender": r"^[FM]$"}
    for column, pattern in looks.items():
        assert stays[column].str.contains(pattern).all(), column
    assert stays["age"].is_between(0, 99).all()
    assert ((stays["charges"] > 0) & (stays["charges"] % 100 == 0)).all()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("hospital", 30),
        ("gender", 2),
        ("zipcode", 300),
        ("county", 20),
        ("race", 6),
        ("insurer", 7),
        ("admission", len(ADMISSIONS)),
        ("diagnosis", len(DIAGNOSES)),
        ("procedure", len(PROCEDURES)),
    ],
)
def test_every_value_of_the_world_occurs(stays, column, values):
    assert stays[column].n_unique() == values


@pytest.mark.parametrize("rows", [1000, 20_000, 100_000])
@pytest.mark.parametrize("seed", [1, 2008])
@pytest.mark.parametrize(("column", "bound"), MOST_COMMON_AT_MOST.items())
def test_no_value_is_too_common_for_the_demo_policy(rows, seed, column, bound):
    assert top_share(hospital_discharges(rows, seed), column) <= bound


# Its people.


def test_a_person_keeps_gender_race_and_zipcode_and_ages_two_years_at_most(stays):
    people = stays.group_by("patient").agg(
        pl.col("gender", "race", "zipcode").n_unique(),
        grows=pl.col("age").diff().min().fill_null(0),
        span=pl.col("age").max() - pl.col("age").min(),
    )
    assert people.select(pl.col("gender", "race", "zipcode").max()).row(0) == (1, 1, 1)
    assert people["grows"].min() == 0
    assert people["span"].max() == 2


def test_some_people_come_back_but_nobody_too_often(stays):
    histories = stays.group_by("patient").len()["len"]
    assert 0.15 < (histories > 1).mean() < 0.40
    assert histories.max() <= 8 == max(map(len, STAYS.values()))


def test_the_chronically_ill_come_back_for_the_same_disease(stays):
    chronic = [disease.name for disease in DIAGNOSES if disease.course == "chronic"]
    later = stays.with_columns(first=pl.col("diagnosis").first().over("patient")).filter(
        pl.col("patient").is_first_distinct().not_()
    )
    lasting, same = pl.col("first").is_in(chronic), pl.col("first") == pl.col("diagnosis")
    assert later.filter(lasting).select(same.mean()).item() > 0.50
    assert later.filter(~lasting).select(same.mean()).item() < 0.25


def test_county_is_a_function_of_zipcode_and_zeros_lead(stays):
    assert stays.group_by("zipcode").agg(pl.col("county").n_unique())["county"].max() == 1
    assert 0 < stays["zipcode"].str.starts_with("0").mean() < 0.10


def test_people_are_treated_nearby(stays):
    """Half of the stays of a county at least are in its two most visited hospitals, of thirty."""
    visits = stays.group_by("county", "hospital").len()
    top_two = visits.group_by("county").agg(pl.col("len").top_k(2).sum() / pl.col("len").sum())
    assert top_two["len"].min() > 0.5


# Their diseases.


def test_every_procedure_of_a_disease_has_a_price():
    """A misspelt procedure would otherwise have weight zero and go unnoticed."""
    assert {name for disease in DIAGNOSES for name in disease.procedures} == set(PROCEDURES)


def test_a_birth_is_a_first_stay_of_a_newborn_aged_zero(stays):
    born = stays["diagnosis"].is_in(BIRTHS)
    assert stays.filter(born)["age"].max() == 0
    assert (born == (stays["admission"] == "newborn")).all()
    assert stays.filter(born)["patient"].is_unique().all()
    assert stays["patient"].is_first_distinct().filter(born).all()


def test_only_women_of_fifteen_to_forty_five_deliver(stays):
    mothers = stays.filter(pl.col("diagnosis").is_in(DELIVERIES))
    assert mothers["gender"].unique().to_list() == ["F"]
    assert mothers["age"].is_between(15, 45).all()


def test_only_men_past_fifty_have_prostate_disease(stays):
    patients = stays.filter(pl.col("diagnosis") == "prostate disease")
    assert patients["gender"].unique().to_list() == ["M"]
    assert patients["age"].min() >= 50


def test_every_stay_is_one_the_table_of_diseases_allows(stays):
    allowed = pl.DataFrame(
        [
            (disease.name, *disease.ages[::2], how, what)
            for disease in DIAGNOSES
            for how in disease.arrival
            for what in disease.procedures
        ],
        schema=["diagnosis", "youngest", "oldest", "admission", "procedure"],
        orient="row",
    )
    joined = stays.join(allowed, on=["diagnosis", "admission", "procedure"])
    assert joined.height == stays.height
    assert joined["age"].is_between(joined["youngest"], joined["oldest"]).all()


def test_hearts_fail_late_and_appendices_early(stays):
    median_age = dict(stays.group_by("diagnosis").agg(pl.col("age").median()).iter_rows())
    assert median_age["appendicitis"] < 35 < 65 < median_age["heart failure"] < median_age["hip fracture"]


def test_medicare_is_for_the_old(stays):
    assert stays.filter(pl.col("insurer") == "Medicare")["age"].min() == 65
    assert stays.filter(pl.col("age") >= 65).select((pl.col("insurer") == "Medicare").mean()).item() > 0.75


def test_charges_follow_procedure_and_diagnosis(stays):
    """Measured 0.68 and 0.74 on the logarithm, 0.65 on the dollars by procedure."""
    assert eta_squared(stays, pl.col("charges").log(), by="procedure") > 0.60
    assert eta_squared(stays, pl.col("charges").log(), by="diagnosis") > 0.65
    assert eta_squared(stays, pl.col("charges"), by="procedure") > 0.55


def test_charges_grow_a_bit_with_age(stays):
    pneumonia = stays.filter((pl.col("diagnosis") == "pneumonia") & (pl.col("procedure") == "none"))
    young = pneumonia.filter(pl.col("age") < 60)["charges"].median()
    old = pneumonia.filter(pl.col("age") >= 60)["charges"].median()
    assert 1.0 < old / young < 1.6
