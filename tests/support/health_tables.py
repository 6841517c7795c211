"""Invented tables that have the shapes of public health tables: names, values, gaps and shares, and no real row."""

from __future__ import annotations

import numpy as np
import polars as pl

DRUGS = (
    "metformin", "repaglinide", "nateglinide", "chlorpropamide", "glimepiride", "acetohexamide", "glipizide",
    "glyburide", "tolbutamide", "pioglitazone", "rosiglitazone", "acarbose", "miglitol", "troglitazone",
    "tolazamide", "examide", "citoglipton", "insulin", "glyburide-metformin", "glipizide-metformin",
)  # fmt: skip
_ICD = [f"{i}" for i in range(250, 430)] + [f"250.{i:02}" for i in range(1, 60)] + [f"V{i}" for i in range(10, 40)]


def encounters(rows: int = 3_000, seed: int = 1) -> pl.DataFrame:
    """Stays in hospitals: people with several stays, `?` for what is missing, ages in bands, ICD-9 codes, drugs."""
    draw = np.random.default_rng(seed)

    def pick(values: list[str], shares: list[float]) -> list[str]:
        return [str(v) for v in draw.choice(values, rows, p=np.array(shares) / np.sum(shares))]

    ages = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
    weights = np.r_[np.linspace(1, 12, 8), 14, 3]
    codes = 1 / np.arange(1, len(_ICD) + 1) ** 0.9
    columns = {
        "encounter_id": [str(2_278_392 + 17 * i) for i in range(rows)],
        "patient_nbr": [str(8_222_157 + 31 * int(p)) for p in draw.integers(0, int(rows * 0.8), rows)],
        "race": pick(["Caucasian", "AfricanAmerican", "?", "Hispanic", "Other", "Asian"], [75, 19, 2, 2, 1.5, 0.5]),
        "gender": pick(["Female", "Male"], [54, 46]),
        "age": pick(ages, list(weights)),
        "weight": pick(["?", "[75-100)", "[50-75)", "[100-125)"], [97, 1.5, 1, 0.5]),
        "admission_type_id": pick(["1", "2", "3", "5", "6"], [53, 18, 18, 5, 6]),
        "time_in_hospital": [str(v) for v in 1 + draw.poisson(3.4, rows)],
        "payer_code": pick(["?", "MC", "HM", "SP", "BC", "MD", "CP"], [40, 32, 6, 5, 5, 4, 8]),
        "medical_specialty": pick(
            ["?", "InternalMedicine", "Cardiology", "Surgery-General", "Family/GeneralPractice", "Orthopedics"],
            [49, 14, 6, 4, 20, 7],
        ),
        "diag_1": pick(_ICD, list(codes)),
        "diag_2": pick(["?", *_ICD], [0.02, *codes]),
        "diag_3": pick(["?", *_ICD], [0.06, *codes]),
        "number_diagnoses": [str(v) for v in draw.integers(1, 10, rows)],
        "A1Cresult": pick(["None", ">8", "Norm", ">7"], [83, 8, 5, 4]),
        **{drug: pick(["No", "Steady", "Up", "Down"], [80 + i, 15 - 0.7 * i, 1, 1]) for i, drug in enumerate(DRUGS)},
        "readmitted": pick(["NO", ">30", "<30"], [54, 35, 11]),
    }
    return pl.DataFrame(columns)


AGENTS = [f"agent_{letter}" for letter in "abcdefghijklmnopqrst"]


def trial(rows: int = 3_000, seed: int = 4) -> pl.DataFrame:
    """Stays of people with several of them, and twenty columns of which no name says that they are of drugs."""
    draw = np.random.default_rng(seed)
    known = ("encounter_id", "patient_nbr", "race", "gender", "age", "diag_1", "diag_2", "diag_3", "readmitted")
    agents = {}
    for i, name in enumerate(AGENTS):
        shares = np.array([60 + 2 * i, 40.5 - 2 * i, 1, 1]) / 102.5
        agents[name] = pl.Series([str(one) for one in draw.choice(["none", "same", "more", "less"], rows, p=shares)])
    return encounters(rows, seed).select(known).with_columns(**agents)


def survey(rows: int = 3_000, seed: int = 2) -> pl.DataFrame:
    """A health survey: yes or no diseases of which few say yes, days, bands of age."""
    draw = np.random.default_rng(seed)

    def yes(share: float) -> list[str]:
        return ["Yes" if one else "No" for one in draw.random(rows) < share]

    bands = [f"{low}-{low + 4}" for low in range(25, 80, 5)]
    days = np.where(draw.random(rows) < 0.7, 0, draw.integers(1, 31, rows))
    return pl.DataFrame({
        "HeartDisease": yes(0.09),
        "BMI": np.round(draw.normal(28, 6, rows), 2),
        "Smoking": yes(0.41),
        "AlcoholDrinking": yes(0.07),
        "Stroke": yes(0.04),
        "PhysicalHealth": days,
        "DiffWalking": yes(0.14),
        "Sex": draw.choice(["Female", "Male"], rows),
        "AgeCategory": draw.choice(["18-24", *bands, "80 or older"], rows),
        "Race": draw.choice(["White", "Hispanic", "Black", "Other"], rows, p=[0.77, 0.09, 0.08, 0.06]),
        "Diabetic": draw.choice(
            ["No", "Yes", "No, borderline diabetes", "Yes (during pregnancy)"], rows, p=[0.84, 0.13, 0.02, 0.01]
        ),
        "GenHealth": draw.choice(
            ["Very good", "Good", "Excellent", "Fair", "Poor"], rows, p=[0.36, 0.29, 0.21, 0.1, 0.04]
        ),
        "SleepTime": draw.integers(4, 11, rows),
    })  # fmt: skip


def discharges(rows: int = 3_000, seed: int = 3) -> pl.DataFrame:
    """Discharges: charges as text with a dollar sign, three digits of a zip code, long stays as `120 +`."""
    draw = np.random.default_rng(seed)
    charges = draw.lognormal(9.5, 1.0, rows)
    stays = np.minimum(1 + draw.geometric(0.2, rows), 121)
    zips = [f"1{i:02}" for i in range(0, 40)]
    return pl.DataFrame({
        "Hospital County": draw.choice(["Kings", "Queens", "Erie", "Albany", "Monroe"], rows),
        "Age Group": draw.choice(["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"], rows),
        "Zip Code - 3 digits": ["OOS" if one < 0.03 else zips[int(40 * one)] for one in draw.random(rows)],
        "Gender": draw.choice(["F", "M"], rows),
        "Race": draw.choice(["White", "Black/African American", "Other Race"], rows),
        "Length of Stay": ["120 +" if stay > 120 or i < 3 else str(stay) for i, stay in enumerate(stays)],
        "Type of Admission": draw.choice(["Emergency", "Elective", "Newborn", "Urgent"], rows),
        "CCS Diagnosis Description": draw.choice(
            ["Liveborn", "Septicemia", "Pneumonia", "Asthma", "Diabetes", "Heart failure", "Stroke", "Fracture"], rows
        ),
        "APR Severity of Illness Description": draw.choice(
            ["Minor", "Moderate", "Major", "Extreme"], rows, p=[0.34, 0.37, 0.22, 0.07]
        ),
        "Payment Typology 1": draw.choice(
            ["Medicare", "Medicaid", "Blue Cross", "Self-Pay"], rows, p=[0.4, 0.3, 0.2, 0.1]
        ),
        "Total Charges": [f"${charge:,.2f}" for charge in charges],
    })  # fmt: skip


SENSITIVE = {
    "encounters": ["weight", "payer_code", "medical_specialty", "diag_1", "diag_2", "diag_3", "number_diagnoses",
                   "A1Cresult", *DRUGS, "readmitted"],
    "trial": ["diag_1", "diag_2", "diag_3", "readmitted", *AGENTS],
    "survey": ["HeartDisease", "BMI", "Smoking", "AlcoholDrinking", "Stroke", "PhysicalHealth", "DiffWalking",
               "Diabetic", "GenHealth", "SleepTime"],
    "discharges": ["Length of Stay", "CCS Diagnosis Description", "APR Severity of Illness Description",
                   "Payment Typology 1", "Total Charges"],
}  # fmt: skip
MADE = {"encounters": encounters, "trial": trial, "survey": survey, "discharges": discharges}
