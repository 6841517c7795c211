"""What names of columns say: words of a vocabulary, found as words and not as letters."""

from __future__ import annotations

import pytest

from pluralis.profiling.roles import role_of
from pluralis.profiling.shapes import Shape
from pluralis.profiling.vocabulary import meaning_of, names_a_person, names_an_identifier

SENSITIVE = (
    "diagnosis diag_1 principalDiagnosis icd9_dx3 admitting_icd9 dx procedure drug_name medication testResult "
    "A1Cresult insulin pregnancy disability_status smoking AlcoholDrinking Stroke diabetes asthma SkinCancer "
    "heart_disease MentalHealth annual-income salary wage_per_hour TotalCharges debt account_balance "
    "credit_limit tax_filer_status religion member_of_labor_union conviction citizenship veterans_benefits "
    "readmitted payer_code medical_specialty sp_copd drg viral_load HighBP creatinine lisinopril death_date "
    "discharge_disposition_id hospital_expire_flag two_year_recid discharge_status days_to_relapse still_birth "
    "school_suspension glyburide-metformin chlorpropamide acarbose miglitol examide citoglipton "
)
QUASI = (
    "age AgeCategory sex gender zipcode zip3 county marital-status race birth_year hospital admission_type_id education"
)
NOTHING = "latest package protest fnlwgt contest steps racecourse agency notebook instance_weight change"


@pytest.mark.parametrize(("names", "role"), [(SENSITIVE, "sensitive"), (QUASI, "quasi"), (NOTHING, None)])
def test_names_mean_what_their_words_say(names: str, role: str | None) -> None:
    meanings = {name: meaning_of(name) for name in names.split()}
    assert [name for name, one in meanings.items() if (one.role if one else None) != role] == []


def test_identifiers_name_people_or_rows() -> None:
    assert [name for name in ("patient_nbr", "MRN", "ssn", "person", "MemberID") if not names_a_person(name)] == []
    assert [name for name in ("encounter_id", "claim_no", "email", "rowKey") if not names_an_identifier(name)] == []
    assert [name for name in ("age", "PhysicalHealth", "note") if names_an_identifier(name)] == []


# columns of public tables on stays, arrests, loans, pupils and workers of which outsiders do not know what they say
HELD_OUT = (
    "discharge_disposition_id hospital_expire_flag two_year_recid death_date discharge_status days_to_relapse "
    "still_birth school_suspension viral_load HighBP HighChol creatinine lisinopril losartan atorvastatin metoprolol "
    "omeprazole azithromycin amoxicillin lorazepam ranitidine amlodipine furosemide sitagliptin empagliflozin "
    "fluoxetine prednisone hydrocodone deathtime dod DEATH_EVENT vital_status days_to_death is_violent_recid "
    "c_charge_degree decile_score juv_fel_count priors_count c_jail_in days_b_screening_arrest loan_status int_rate "
    "delinq_2yrs pub_rec_bankruptcies denial_reason_1 emp_length NoDocbcCost MentHlth GenHlth HvyAlcoholConsump "
    "serum_sodium platelets ejection_fraction systolic_bp dbp hemoglobin resting_blood_pressure icu_stay_days "
    "readmit_30d school_absences failures_last_year dropout_date date_of_termination attrition_year fired_month "
    "day_of_overdose state_of_mind city_hospitalised first_admit_psych household_violence county_jail_days "
    "race_of_victim age_at_first_arrest born_out_of_wedlock month_of_last_seizure marital_counselling native_status "
    "street_drug_use family_history_of_suicide time_since_parole zip_of_shelter education_support_flag days_sober"
)
ASKED = Shape("", number=False)


def test_columns_that_were_not_looked_at_are_sensitive_or_asked_about() -> None:
    roles = {name: role_of(name, ASKED, {"a": 900, "b": 100}, 1_000, 1_000, 2)[0] for name in HELD_OUT.split()}
    assert {name: role for name, role in roles.items() if role not in ("sensitive", "decide", "identifier")} == {}


def test_what_is_asked_says_which_word_is_not_known() -> None:
    role, reason = role_of("school_absences", ASKED, {}, 1_000, 1_000, 9)
    assert role == "decide"
    assert "speaks of who somebody is (school) and of something else (absences), which may be the point" in reason


def test_endings_of_drugs_are_no_endings_of_other_words() -> None:
    words = "april side county_side magazine glitch verbose deadline program holiday patrol spartan"
    assert [name for name in words.split() if (one := meaning_of(name)) and one.role == "sensitive"] == []
