"""What the names of columns say: words of health, finance and civil life, of who somebody is, and of where they live.

Names are split into words at blanks, signs, digits and capitals: `admitting_icd9`, `HeartDisease` and `weekly-wage`
hold `icd`, `heart` and `wage`. A term matches whole words, so that `test` is not in `latest`. `diagnos*` matches every
word that begins so, `*formin` every word that ends so, and a term of several words only these, one after the other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Meaning(NamedTuple):
    """What a name speaks of: the role that this suggests, the topic, and the term that says so."""

    role: str
    topic: str
    term: str


# In the order in which they are asked. What is sensitive goes before what an outsider may know: `age at diagnosis`
_TERMS: tuple[tuple[str, str, str], ...] = (
    (
        "sensitive",
        "health",
        "*cillin, *formin, *glinide, *gliptin, *glitazone, *sartan, *statin, *tolbutamide, *zide, a1c*, abortion, "
        "acarbose, aids, alcohol*, allerg*, alzh*, ambulatory difficulty, anaemia, anemia, angina, anxiety, "
        "apgar, apr, apr drg, apr severity, arthrit*, asthma*, autis*, biopsy, blood, bmi, cancer*, cardi*, ccs, "
        "cd4, chf, chlorpropamide, cholesterol, chrnkidn, chronic, citoglipton, cncr, cognitive, comorbid*, "
        "condition, copd, covid*, dementia, depress*, diab*, diag, diagnos*, diags, dialysis, diff walk*, diff "
        "walking, difficulty, disab*, disease*, disorder*, dose*, drg*, drinking, drug*, dx*, epilep*, esrd, "
        "examide, fertil*, gave birth, gen health, gen hlth, genetic*, genhealth, genhlth, glu, glucose, "
        "glyburide, handicap*, hba1c, hdl, health, heart, hepat*, hiv, hospice, hypertens*, icd*, illness*, "
        "immun*, impair*, infect*, injur*, insulin, ischm*, kidney, lab, labs, ldl, length of stay, los, "
        "maternity, medical, medication*, meds, ment hlth, mental*, miglitol, miscarr*, morbid*, mortality, "
        "neoplas*, number emergency, number inpatient, number outpatient, oa, obes*, osteop*, outcome, overdose, "
        "pathology, phys hlth, physhlth, physical health, pregnan*, prescri*, proc, procedure*, procs, psych*, "
        "ra, ra oa, readmi*, risk of mortality, schizo*, serum, severity, sex* orient*, sleep time, smok*, std, "
        "strketia, stroke, suicid*, surger*, surgical, symptom*, syndrome*, test, test result*, tests, therap*, "
        "tobacco, transgender, treatment*, tumor*, tumour*, vaccin*",
    ),
    (
        "sensitive",
        "finance",
        "account balance, assets, balance*, bankrupt*, bene res, benefit*, benres, bonus*, capital gain*, capital "
        "loss*, charge*, claim amount, coinsur*, compensation, copay*, cost*, credit*, debt*, deductible, "
        "default*, dividend*, earning*, expen*, fare, fine, fines, income*, insur*, interest, invest*, loan*, "
        "medreimb*, money, mortgage, net worth, paid, pay, payer*, payment*, payor*, payout*, payroll, pension*, "
        "pppymt, premium*, price, purchase*, reimburs*, rent, revenue, salaries, salary*, saving*, spend*, spent, "
        "tax*, wage*, wealth, welfare",
    ),
    (
        "sensitive",
        "civil life",
        "abuse*, adopt*, arrest*, asylum, belief*, children born, citizen*, complain*, conduct, convict*, court, "
        "crime*, criminal, disciplin*, drg code, faith, felon*, gender identity, gpa, grade, grades, immigra*, "
        "jail, lgbt*, member of union, military, occupation*, offen?e*, orient*, parole, party, penalt*, police, "
        "political*, politics, prison*, probation, rating*, religio*, score*, sentence, unemploy*, union, "
        "veteran*, victim*, violation*, visa, vote*, voting",
    ),
    (
        "quasi",
        "who somebody is",
        "age, ages, ancestry, birth*, born, class of worker, dob, education*, ethnic*, family, gender, hair, "
        "height, hispanic, household, husband, language, marital*, married, mother tongue, nationality, native, "
        "nativity, origin, race, races, racial, relationship, school, schooling, sex, sexe, spouse, workclass, "
        "worker",
    ),
    (
        "quasi",
        "where somebody lives, works or stayed",
        "address, admission*, admit*, area, block, borough, city, community, commute, country*, county*, "
        "departure, dept, discharge*, district, division, employer*, facility, hospital*, hours, industry, lat, "
        "latitude, live in, location, lon, longitude, migration*, municipal*, nation, neighbo*, post, postal*, "
        "postcode*, province, region*, residence, state, states, street, suburb, town, tract, transportation, "
        "travel, village, ward, work place, workplace, zip*",
    ),
    (
        "quasi",
        "when something happened",
        "date*, day, days, month*, quarter, time, timestamp, week, weeks, year*",
    ),
)
_PEOPLE = (
    "applicant, bene, beneficiar*, client*, customer*, employee*, enrollee*, insured, member*, mrn, nhs, nino, "
    "participant*, passport, patient*, people, person*, pesel, pid, policyholder, resident*, respondent*, sin, "
    "ssn, student*, subject*, user*"
)
_OTHER_IDS = (
    "accession, account*, attending, barcode, case, claim*, doctor*, e mail, email*, encounter*, episode, fax, "
    "guid, hadm, hash, iban, id, identifier*, ids, index, key, licence*, license*, mobile, name*, nbr, no, npi, "
    "nr, num, number, operating, phone*, physician*, plate, provider*, record*, row, seqno, serial, surname, "
    "telephone, token, url, uuid, vin, visit*"
)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters.

    >>> words_of("admitting_icd9"), words_of("HeartDisease"), words_of("A1Cresult"), words_of("hours-per-week")
    (('admitting', 'icd9', 'icd'), ('heart', 'disease', 'heartdisease'), ('a1cresult', 'a', 'cresult'), \
('hours', 'per', 'week'))
    """
    words: list[str] = []
    for piece in re.findall(r"[^\W_]+", name):
        parts = [part.casefold() for part in re.findall(r"[^\W\d_](?:[^\W\d_A-Z]+)|[A-Z]+(?![a-z])|[^\W\d_]+", piece)]
        whole = piece.casefold()
        if any(letter.isdigit() for letter in piece):
            words += [whole, *parts]
        else:
            words += parts if len(parts) == 1 else [*parts, whole]
    return tuple(dict.fromkeys(words))


def meaning_of(name: str) -> Meaning | None:
    """What a column's name speaks of, or None where it says nothing.

    >>> meaning_of("diag_1"), meaning_of("latest")
    (Meaning(role='sensitive', topic='health', term='diag'), None)
    """
    words = words_of(name)
    for role, topic, terms in _TERMS:
        term = _matching(words, terms)
        if term is not None:
            return Meaning(role, topic, term)
    return None


def names_a_person(name: str) -> bool:
    """Whether a name says that its values tell people apart.

    >>> names_a_person("patient_nbr"), names_a_person("encounter_id"), names_a_person("PhysicalHealth")
    (True, False, False)
    """
    return _matching(words_of(name), _PEOPLE) is not None


def names_an_identifier(name: str) -> bool:
    """Whether a name says that its values tell rows or people apart. Only if they are many can that be so.

    >>> names_an_identifier("encounter_id"), names_an_identifier("discharge_disposition_id"), names_an_identifier("age")
    (True, True, False)
    """
    return names_a_person(name) or _matching(words_of(name), _OTHER_IDS) is not None


def _matching(words: tuple[str, ...], terms: str) -> str | None:
    """The first of the terms that is among the words."""
    line = " ".join(words)
    for term, pattern in _patterns(terms):
        if pattern.search(line):
            return term
    return None


@cache
def _patterns(terms: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    split = dict.fromkeys(term.strip() for term in terms.split(","))
    return tuple((term.replace("*", ""), re.compile(rf"(?:^|(?<= )){_regular(term)}(?= |$)")) for term in split)


def _regular(term: str) -> str:
    """A term as a regular expression; a word of it may be a plural.

    >>> _regular("gave birth"), _regular("diagnos*")
    ('gaves? births?', 'diagnos[^ ]*')
    """
    return " ".join(
        re.escape(word).replace(r"\*", "[^ ]*").replace(r"\?", ".") + ("" if "*" in word else "s?")
        for word in term.split()
    )
