"""What names of columns say: words of a vocabulary, found as words and not as letters."""

from __future__ import annotations

import pytest

from pluralis.profiling.vocabulary import meaning_of, names_a_person, names_an_identifier

SENSITIVE = (
    "diagnosis diag_1 principalDiagnosis icd9_dx3 admitting_icd9 dx procedure drug_name medication testResult "
    "A1Cresult insulin pregnancy disability_status smoking AlcoholDrinking Stroke diabetes asthma SkinCancer "
    "heart_disease MentalHealth annual-income salary wage_per_hour TotalCharges debt account_balance "
    "credit_limit tax_filer_status religion member_of_labor_union conviction citizenship veterans_benefits "
    "readmitted payer_code medical_specialty sp_copd drg "
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
