"""Hospital discharges of an invented region: the embedded table that examples and demos start from.

World      a city and the counties along the road out of it, watched for two years. People fall ill by age and
           gender, are treated nearby, and come back, often for the same disease.
Words      stay = a row; history = the stays of a person; body = gender and age; odds = weights, not shares.
Departs    no person, place or price is real, and unlike real discharges no cell is missing or miscoded.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng
from numpy.typing import NDArray

from pluralis.errors import InputError

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Mix = Mapping[str, float]

COUNTIES = {  # along the road: the first digits of its zipcodes, how many of them, how many hospitals
    "Harbor": ("112", 44, 4),
    "Milton": ("113", 34, 3),
    "Ashby": ("115", 28, 3),
    "Kings": ("117", 24, 2),
    "Perry": ("109", 20, 2),
    "Linden": ("125", 18, 2),
    "Marlow": ("120", 16, 1),
    "Carver": ("121", 14, 1),
    "Pine": ("122", 13, 1),
    "Granby": ("012", 6, 1),
    "Stowe": ("013", 5, 1),
    "Rowan": ("128", 12, 1),
    "Elmore": ("129", 11, 1),
    "Fulton": ("130", 10, 1),
    "Cedar": ("132", 10, 1),
    "Tamar": ("134", 9, 1),
    "Wolcott": ("136", 8, 1),
    "Norton": ("138", 7, 1),
    "Upland": ("140", 6, 1),
    "Lake": ("147", 5, 1),
}
RACES = {  # weight in the city, weight at the far end of the road
    "White": (40, 80),
    "Black": (24, 6),
    "Latino": (21, 7),
    "Asian": (9, 2),
    "Native": (1, 3),
    "Other": (5, 2),
}
INSURERS = {  # from this age on
    0: {"Medicaid": 40, "HMO": 30, "private": 24, "self-pay": 6},
    18: {"Medicaid": 25, "HMO": 32, "private": 25, "self-pay": 12, "military": 3, "workers' comp": 3},
    45: {"Medicaid": 19, "HMO": 34, "private": 29, "self-pay": 8, "military": 4, "workers' comp": 6},
    65: {"Medicaid": 2, "HMO": 8, "private": 4, "military": 2, "Medicare": 84},
}
# fmt: off
PROCEDURES = {  # dollars it adds to the bill
    "none": 0, "vaccination": 300, "phototherapy": 1_500, "chest imaging": 1_500, "oxygen therapy": 3_000,
    "ventilation": 48_000, "echocardiogram": 2_500, "heart catheter": 20_000, "coronary stent": 42_000,
    "coronary bypass": 95_000, "pacemaker": 46_000, "brain scan": 3_000, "hip replacement": 38_000,
    "knee replacement": 35_000, "fracture fixation": 26_000, "spinal fusion": 62_000, "appendectomy": 14_000,
    "gallbladder removal": 17_000, "bowel resection": 36_000, "endoscopy": 4_500, "transfusion": 3_500,
    "dialysis": 11_000, "chemotherapy": 19_000, "mastectomy": 22_000, "prostatectomy": 20_000,
    "vaginal delivery": 4_000, "cesarean section": 12_000, "detoxification": 3_500, "psychotherapy": 2_500,
    "wound care": 5_000, "antibiotic infusion": 4_000,
}
# fmt: on

# How people arrive.
BORN = {"newborn": 1}
IN_LABOR = {"urgent": 45, "elective": 35, "emergency": 15, "transfer": 5}
SUDDEN = {"emergency": 72, "urgent": 20, "elective": 3, "transfer": 5}
WORSENING = {"emergency": 45, "urgent": 38, "elective": 12, "transfer": 5}
PLANNED = {"elective": 70, "urgent": 20, "emergency": 8, "transfer": 2}
INJURED = {"trauma": 42, "emergency": 46, "urgent": 8, "transfer": 4}

STAYS = {  # odds of 1, 2, ... 8 stays, by the course of the first disease
    "once": (86, 10, 3, 1, 0, 0, 0, 0),
    "acute": (77, 14, 5, 2, 1, 0.6, 0.3, 0.1),
    "chronic": (60, 20, 10, 5, 2.5, 1.3, 0.8, 0.4),
}
RETURN = {"once": 0.0, "acute": 0.15, "chronic": 2.0}  # odds of the first disease again, against 1 for any
KINSHIP = 4.0  # a disease is so much likelier when the first one was of its family
LOYALTY = 0.85  # share of stays spent in the hospital a person calls their own


class Diagnosis(NamedTuple):
    """One disease: whom it strikes, how they arrive, what it costs and what is done."""

    name: str
    family: str
    course: str  # what happens "once" opens a history and never continues one
    rate: float  # how often it opens a history, against the others
    ages: tuple[int, int, int]  # from, most often, to
    women: float  # their share
    arrival: Mix
    charge: float  # median dollars, before any procedure
    procedures: Mix


# fmt: off
DIAGNOSES = (
    Diagnosis("normal birth", "birth", "once", 100, (0, 0, 0), 0.49, BORN, 3_000,
              {"vaccination": 70, "none": 25, "phototherapy": 5}),
    Diagnosis("premature birth", "birth", "once", 12, (0, 0, 0), 0.46, BORN, 48_000,
              {"ventilation": 35, "phototherapy": 35, "oxygen therapy": 30}),
    Diagnosis("bronchiolitis", "lung", "acute", 14, (0, 0, 4), 0.42, SUDDEN, 8_000,
              {"oxygen therapy": 50, "none": 35, "chest imaging": 15}),
    Diagnosis("normal delivery", "pregnancy", "once", 66, (15, 28, 45), 1, IN_LABOR, 6_000,
              {"vaginal delivery": 94, "none": 6}),
    Diagnosis("difficult delivery", "pregnancy", "once", 38, (15, 31, 45), 1, IN_LABOR, 9_000,
              {"cesarean section": 78, "vaginal delivery": 22}),
    Diagnosis("pregnancy complication", "pregnancy", "acute", 13, (15, 27, 45), 1, WORSENING, 7_000,
              {"none": 75, "transfusion": 15, "antibiotic infusion": 10}),
    Diagnosis("pneumonia", "lung", "acute", 46, (0, 80, 99), 0.50, SUDDEN, 19_000,
              {"antibiotic infusion": 42, "chest imaging": 28, "none": 22, "ventilation": 8}),
    Diagnosis("asthma", "lung", "chronic", 21, (1, 8, 85), 0.55, SUDDEN, 10_000,
              {"oxygen therapy": 45, "none": 45, "chest imaging": 10}),
    Diagnosis("emphysema", "lung", "chronic", 22, (40, 74, 99), 0.52, WORSENING, 17_000,
              {"oxygen therapy": 55, "none": 25, "chest imaging": 12, "ventilation": 8}),
    Diagnosis("heart failure", "heart", "chronic", 32, (35, 84, 99), 0.50, WORSENING, 21_000,
              {"echocardiogram": 45, "none": 30, "pacemaker": 12, "heart catheter": 13}),
    Diagnosis("heart attack", "heart", "acute", 26, (30, 70, 99), 0.38, SUDDEN, 26_000,
              {"coronary stent": 45, "heart catheter": 25, "coronary bypass": 12, "echocardiogram": 18}),
    Diagnosis("coronary disease", "heart", "chronic", 28, (35, 68, 99), 0.36, PLANNED, 18_000,
              {"coronary stent": 40, "heart catheter": 35, "coronary bypass": 20, "none": 5}),
    Diagnosis("irregular heartbeat", "heart", "chronic", 24, (25, 78, 99), 0.49, WORSENING, 14_000,
              {"none": 40, "echocardiogram": 30, "pacemaker": 30}),
    Diagnosis("stroke", "brain", "acute", 27, (25, 80, 99), 0.52, SUDDEN, 28_000,
              {"brain scan": 75, "none": 15, "ventilation": 10}),
    Diagnosis("epilepsy", "brain", "chronic", 11, (0, 30, 90), 0.48, SUDDEN, 15_000,
              {"brain scan": 55, "none": 45}),
    Diagnosis("head injury", "injury", "acute", 13, (0, 24, 99), 0.36, INJURED, 27_000,
              {"brain scan": 65, "none": 20, "ventilation": 15}),
    Diagnosis("hip fracture", "injury", "acute", 19, (45, 86, 99), 0.71, INJURED, 24_000,
              {"fracture fixation": 60, "hip replacement": 36, "none": 4}),
    Diagnosis("limb fracture", "injury", "acute", 25, (2, 30, 99), 0.47, INJURED, 16_000,
              {"fracture fixation": 78, "none": 12, "wound care": 10}),
    Diagnosis("arthritis", "bone", "chronic", 36, (35, 69, 95), 0.60, PLANNED, 16_000,
              {"knee replacement": 58, "hip replacement": 36, "none": 6}),
    Diagnosis("spinal disc disease", "bone", "chronic", 20, (22, 52, 90), 0.49, PLANNED, 19_000,
              {"spinal fusion": 62, "none": 38}),
    Diagnosis("appendicitis", "gut", "once", 20, (3, 17, 75), 0.45, SUDDEN, 14_000,
              {"appendectomy": 93, "antibiotic infusion": 7}),
    Diagnosis("gallstones", "gut", "once", 23, (16, 48, 95), 0.66, WORSENING, 16_000,
              {"gallbladder removal": 84, "endoscopy": 8, "none": 8}),
    Diagnosis("gastroenteritis", "gut", "acute", 19, (0, 3, 95), 0.54, SUDDEN, 9_000,
              {"none": 70, "endoscopy": 20, "antibiotic infusion": 10}),
    Diagnosis("alcohol dependence", "mind", "chronic", 17, (17, 44, 80), 0.27, WORSENING, 7_000,
              {"detoxification": 78, "psychotherapy": 14, "none": 8}),
    Diagnosis("depression", "mind", "chronic", 23, (11, 36, 90), 0.59, WORSENING, 10_000,
              {"psychotherapy": 72, "none": 28}),
    Diagnosis("schizophrenia", "mind", "chronic", 11, (16, 33, 80), 0.42, WORSENING, 16_000,
              {"psychotherapy": 60, "none": 40}),
    Diagnosis("diabetes", "kidney", "chronic", 23, (4, 58, 95), 0.48, WORSENING, 14_000,
              {"none": 66, "wound care": 24, "dialysis": 10}),
    Diagnosis("kidney failure", "kidney", "chronic", 18, (20, 74, 99), 0.48, WORSENING, 20_000,
              {"dialysis": 62, "none": 28, "transfusion": 10}),
    Diagnosis("urinary infection", "kidney", "acute", 22, (0, 82, 99), 0.68, SUDDEN, 12_000,
              {"antibiotic infusion": 62, "none": 38}),
    Diagnosis("sepsis", "infection", "acute", 30, (0, 80, 99), 0.51, SUDDEN, 34_000,
              {"antibiotic infusion": 60, "ventilation": 24, "transfusion": 16}),
    Diagnosis("skin infection", "infection", "acute", 21, (1, 52, 99), 0.46, WORSENING, 11_000,
              {"wound care": 52, "antibiotic infusion": 36, "none": 12}),
    Diagnosis("HIV", "infection", "chronic", 6, (16, 42, 80), 0.30, WORSENING, 27_000,
              {"antibiotic infusion": 50, "none": 38, "transfusion": 12}),
    Diagnosis("breast cancer", "cancer", "chronic", 10, (28, 60, 95), 0.99, PLANNED, 15_000,
              {"mastectomy": 66, "chemotherapy": 34}),
    Diagnosis("prostate disease", "cancer", "chronic", 13, (50, 68, 95), 0, PLANNED, 13_000,
              {"prostatectomy": 72, "none": 20, "chemotherapy": 8}),
    Diagnosis("colon cancer", "cancer", "chronic", 9, (35, 72, 99), 0.48, PLANNED, 24_000,
              {"bowel resection": 68, "chemotherapy": 32}),
    Diagnosis("lung cancer", "cancer", "chronic", 8, (40, 70, 95), 0.45, PLANNED, 26_000,
              {"chemotherapy": 64, "none": 22, "chest imaging": 14}),
)
# fmt: on

AGES = np.arange(100)
NAMES, FAMILIES, COURSES, RATES, SPANS, WOMEN, ARRIVALS, CHARGES, TREATMENTS = zip(*DIAGNOSES, strict=True)
ADMISSIONS = list(dict.fromkeys(chain(*ARRIVALS)))
COVERS = list(dict.fromkeys(chain(*INSURERS.values())))
ZIPCODES = [f"{prefix}{2 * rank + 1:02}" for prefix, towns, _ in COUNTIES.values() for rank in range(towns)]
TOWNS = np.array([(county, rank) for county, (_, towns, _) in enumerate(COUNTIES.values()) for rank in range(towns)])
WARDS = np.array([(county, rank) for county, (*_, wards) in enumerate(COUNTIES.values()) for rank in range(wards)])


def hospital_discharges(rows: int = 20_000, seed: int = 2008) -> pl.DataFrame:
    """Invented hospital discharges: several sensitive attributes, and people with several stays.

    Stays are in order of discharge; a person keeps gender, race and zipcode, and ages two years at most.

    Parameters
    ----------
    rows : int
        How many stays.
    seed : int
        Another seed gives other people.

    Returns
    -------
    polars.DataFrame
        patient, hospital, age, gender, zipcode, county, race, admission, diagnosis, procedure, insurer, charges.

    Raises
    ------
    InputError
        If `rows` is below 1.

    Examples
    --------
    >>> hospital_discharges(rows=1000).select("patient", "age", "zipcode", "diagnosis").dtypes
    [String, Int64, String, String]
    """
    if rows < 1:
        raise InputError(f"A table of {rows:,} discharges has nothing to show; ask for rows=1 or more.")
    rng = default_rng(seed)

    def luck() -> Floats:
        return rng.random(rows)

    # People. One for each row is enough, as everyone stays at least once; those past the last row go unused.
    strikes = _strikes()
    illness, body = np.divmod(_pick(strikes.reshape(1, -1), 0, luck()), strikes.shape[1])
    gender, entry_age = np.divmod(body, AGES.size)
    zipcode = _pick(1 / ((TOWNS[:, 0] + 4) * (TOWNS[:, 1] + 1))[None], 0, luck())
    county = TOWNS[zipcode, 0]
    city, far_end = np.array(list(RACES.values())).T
    race = _pick(np.linspace(city, far_end, len(COUNTIES)), county, luck())
    stays = 1 + _pick(np.array([STAYS[course] for course in COURSES]), illness, luck())
    birthday, means, habit = luck(), luck(), luck()

    # Stays. Sorting person + date puts each history in order and leaves the people where they are.
    person = np.repeat(np.arange(rows), stays)[:rows]
    date = np.sort(person + luck()) - person
    opening = np.searchsorted(person, person)
    birthdays_since = np.floor(2 * (date - date[opening]) + birthday[person]).astype(np.int64)
    age = np.minimum(entry_age[person] + birthdays_since, AGES[-1])
    body = gender[person] * AGES.size + age
    relapse = _pick(_relapses(strikes), illness[person] * strikes.shape[1] + body, luck())
    diagnosis = np.where(opening == np.arange(rows), illness[person], relapse)
    admission = _pick(_odds(ARRIVALS, ADMISSIONS), diagnosis, luck())
    procedure = _pick(_odds(TREATMENTS, PROCEDURES), diagnosis, luck())
    miles = np.abs(np.arange(len(COUNTIES))[:, None] - WARDS[:, 0])
    beds = 1 / (WARDS[:, 1] + 1)
    choice = np.where(luck() < LOYALTY, habit[person], luck())
    hospital = _pick(beds * np.exp(-2 * miles), county[person], choice)
    bracket = np.searchsorted(list(INSURERS), age, side="right") - 1
    insurer = _pick(_odds(INSURERS.values(), COVERS), bracket, means[person])
    usual = np.array(CHARGES)[diagnosis] + np.array(list(PROCEDURES.values()))[procedure]
    charges = usual * (1 + age / 250) * rng.lognormal(0, 0.4, rows)

    return pl.DataFrame(
        {
            "patient": "P" + pl.Series(person + 1).cast(pl.String).str.zfill(6),
            "hospital": pl.Series([f"H{ward:02}" for ward in range(1, len(WARDS) + 1)]).gather(hospital),
            "age": age,
            "gender": pl.Series(["F", "M"]).gather(gender[person]),
            "zipcode": pl.Series(ZIPCODES).gather(zipcode[person]),
            "county": pl.Series(list(COUNTIES)).gather(county[person]),
            "race": pl.Series(list(RACES)).gather(race[person]),
            "admission": pl.Series(ADMISSIONS).gather(admission),
            "diagnosis": pl.Series(NAMES).gather(diagnosis),
            "procedure": pl.Series(list(PROCEDURES)).gather(procedure),
            "insurer": pl.Series(COVERS).gather(insurer),
            "charges": 100 * np.rint(charges / 100).astype(np.int64),
        }
    )[np.argsort(date, kind="stable")]


def _strikes() -> Floats:
    """strikes[disease, body]: its rate, spread as a triangle over its ages; women's bodies come first."""
    start, peak, end = np.array(SPANS).T[:, :, None]
    density = np.minimum((AGES - start + 1) / (peak - start + 1), (end + 1 - AGES) / (end + 1 - peak)).clip(0)
    density *= np.array(RATES)[:, None] / density.sum(axis=1, keepdims=True)
    women = np.array(WOMEN)[:, None]
    return np.hstack([women * density, (1 - women) * density])


def _relapses(strikes: Floats) -> Floats:
    """One line of odds for each first disease and body: any disease, its family more, itself most."""
    again = strikes.T * (np.array(COURSES) != "once")
    again /= again.sum(axis=1, keepdims=True)
    kin = np.where(np.array(FAMILIES)[:, None] == FAMILIES, KINSHIP, 1)[:, None]
    same = np.diag([RETURN[course] for course in COURSES])[:, None]
    return np.reshape(kin * again + same * (again > 0), (-1, len(DIAGNOSES)))


def _odds(mixes: Iterable[Mix], names: Iterable[str]) -> Floats:
    """odds[i, j] = weight of the j-th name in the i-th mix."""
    return np.array([[mix.get(name, 0.0) for name in names] for mix in mixes])


def _pick(odds: Floats, line: Codes | int, luck: Floats) -> Codes:
    """For each row a column of its line of odds; equal line and luck, equal pick."""
    reach = np.cumsum(odds, axis=1)
    reach = reach / reach[:, -1:] + np.arange(len(odds))[:, None]
    # The luckiest stay just under 1, where rounding cannot carry them into the next line.
    return np.searchsorted(reach.ravel(), line + luck * (1 - 1e-9), side="right") - line * len(odds[0])
