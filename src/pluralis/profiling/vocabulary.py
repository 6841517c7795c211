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
        "*amide, *arbose, *azepam, *azolam, *azole, *barbital, *buride, *caine, *cillin, *codone, *cycline, "
        "*dipine, *dronate, *fibrate, *formin, *gliflozin, *glinide, *glip*, *glitazone, *glitol, *glutide, "
        "*micin, *mycin, *nisone, *olol, *oxacin, *oxetine, *parin, *piride, *pramine, *lapril, *napril, *epril, "
        "*ipril, *opril, *profen, *prost, *sartan, *semide, *setron, *solone, *statin, *tidine, *tinib, "
        "*triptan, *triptyline, *zepam, *zide, a1c*, abortion, aids, albumin, alcohol*, allerg*, alzh*, "
        "ambulatory difficulty, anaemia, anemia, angina, antibiotic*, antibod*, antigen, anxiety, apgar, apr, "
        "apr drg, apr severity, arthrit*, asthma*, autis*, autopsy, bilirubin, biopsy, blood*, bmi, bnp, bp, "
        "bun, calcium, cancer*, cardi*, cause of death, ccs, cd4, chf, chol, cholest*, chrnkidn, chronic, cncr, "
        "cognitive, comorbid*, complication*, condition, copd, covid*, creatinine, crp, dbp, dead, death*, "
        "deceas*, dementia, depress*, diab*, diag, diagnos*, diags, dialysis, diastolic, died, diff walk*, "
        "diff walking, difficulty, disab*, discharge condition, discharge reason, discharge status, disease*, "
        "disorder*, disposition*, dose*, drg*, drinking, drug*, dx*, ecg, egfr, ejection, ekg, epilep*, esrd, "
        "expire*, fatal*, ferritin, fertil*, gave birth, gen health, gen hlth, genetic*, genhealth, genhlth, "
        "gfr, glu, glucose, haemo*, handicap*, hba1c, hdl, health, heart, heart rate, hematocrit, hemo*, hepat*, "
        "hgb, hiv, hospice, hospitali*, hypertens*, icd*, icu, illness*, immun*, impair*, infect*, injur*, "
        "insulin, intubat*, ischm*, kidney, lab, labs, lactate, ldl, length of stay, los, maternity, medical, "
        "medication*, meds, ment hlth, mental*, miscarr*, morbid*, mortal*, neoplas*, number emergency, "
        "number inpatient, number outpatient, oa, obes*, osteop*, outcome*, overdose, oxygen, pathology, "
        "phys hlth, physhlth, physical health, platelet*, plt, potassium, pregnan*, prescri*, proc, procedure*, "
        "procs, prognos*, protein, psa, psych*, pulse, ra, ra oa, rbc, readmi*, rehospi*, relaps*, remission, "
        "resp rate, respirat*, sbp, schizo*, sepsis, serum, severity, sex* orient*, sleep time, smok*, sodium, "
        "spo2, std, still birth, stillb*, strketia, stroke, suicid*, surger*, surgical, surviv*, symptom*, "
        "syndrome*, systolic, temperature, test, test result*, tests, therap*, tobacco, transgender, treatment*, "
        "triglycerid*, troponin, tsh, tumor*, tumour*, urea, urin*, vaccin*, ventilat*, viral*, vital sign*, "
        "vital status, vitals, wbc",
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
        "abuse*, adopt*, arrest*, asylum, attrition, bail, belief*, charge degree, children born, citizen*, "
        "complain*, conduct, convict*, court, crime*, criminal, delinquen*, denial*, denied, disciplin*, "
        "dismiss*, drg code, dropout, dropped out, evict*, expel*, expuls*, faith, fel, felon*, felony, fired, "
        "fraud*, gang*, gender identity, gpa, grade, grades, guilt*, immigra*, incarcerat*, jail, juv*, "
        "laid off, layoff*, lgbt*, member of union, military, occupation*, offen?e*, orient*, parole, party, "
        "penalt*, police, political*, politics, prison*, probation, rating*, recid*, religio*, resign*, score*, "
        "sentence, suspen*, terminat*, truan*, unemploy*, union, verdict, veteran*, victim*, violation*, visa, "
        "vote*, voting, warrant*",
    ),
    (
        "quasi",
        "who somebody is",
        "age, ages, ancestry, birth*, born, class of worker, dob, education*, ethnic*, family, gender, hair, "
        "height, hispanic, household, husband, language, marital status, marital*, married, mother tongue, "
        "nationality, native, nativity, origin, race, races, racial, relationship, school, schooling, sex, sexe, "
        "spouse, workclass, worker",
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
# words that say nothing of their own beside those of what an outsider may know
_NEUTRAL = (
    "a, ago, an, and, at, band, bands, bracket, cat, categories, category, class, code, codes, current, date, "
    "day, desc, description, detailed, digit, digits, father, for, from, full, group, groups, home, house, id, "
    "ids, in, is, level, main, major, minor, mother, msa, my, name, new, no, nr, num, number, numeric, of, old, "
    "on, or, own, per, person, persons, place, prev, previous, primary, range, recode, reg, res, s, self, stat, "
    "sub, summary, the, this, three, to, total, type, types, under, value, with, within, work, worked, working"
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
# names of people and of ways to reach them, and words beside which an id says whose row it is
_DIRECT = (
    "cell phone, clientid, customerid, e mail, email*, family name, fax, first name, firstname, forename, full "
    "name, fullname, given name, home address, iban, insurance number, last name, lastname, maiden name, medical "
    "record, middle name, mobile number, mobile phone, memberid, mrn, national id, nhs, nhs no, nhs number, nhsno, "
    "nino, passport, patientid, personid, pesel, phone*, postal address, social security, ssn, street address, "
    "surname, studentid, subjectid, telephone*, userid, username"
)
_EXACTLY = frozenset({"name", "address", "initials"})
_ID_WORDS = frozenset(
    {"id", "ids", "identifier", "identifiers", "key", "nbr", "no", "nr", "num", "number", "numbers",
     "guid", "uuid", "code", "pseudonym", "ref", "reference"}
)  # fmt: skip
_OF_THINGS = frozenset({"count", "days", "hours", "months", "per", "times", "total", "years", "of"})


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters.

    >>> words_of("admitting_icd9"), words_of("HeartDisease"), words_of("A1Cresult"), words_of("hours-per-week")
    (('admitting', 'icd9', 'icd'), ('heart', 'disease', 'heartdisease'), ('a1cresult', 'a', 'cresult'), \
('hours', 'per', 'week'))
    """
    words: list[str] = []
    for piece in re.findall(r"[^\W_]+", name):
        parts = _parts(piece)
        whole = piece.casefold()
        if any(letter.isdigit() for letter in piece):
            words += [whole, *parts]
        else:
            words += parts if len(parts) == 1 else [*parts, whole]
    return tuple(dict.fromkeys(words))


def _parts(piece: str) -> list[str]:
    """The words of a piece of a name that has neither blanks nor signs."""
    return [part.casefold() for part in re.findall(r"[^\W\d_](?:[^\W\d_A-Z]+)|[A-Z]+(?![a-z])|[^\W\d_]+", piece)]


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


def other_words(name: str) -> list[str]:
    """The words of a name beside those of what an outsider may know, which may speak of something else.

    >>> other_words("admission_type_id"), other_words("hospital_xyz_flag"), other_words("AgeCategory")
    ([], ['xyz', 'flag'], [])
    """
    pieces = re.findall(r"[^\W_]+", name)
    line = " ".join(part for piece in pieces for part in _parts(piece))
    for role, _, terms in _TERMS:
        if role == "quasi":
            for _, pattern in _patterns(terms):
                line = pattern.sub(" ", line)
    neutral = {*_NEUTRAL.split(", ")}
    return [word for word in line.split() if word not in neutral]


def names_a_person(name: str) -> bool:
    """Whether a name says that its values tell people apart.

    >>> names_a_person("patient_nbr"), names_a_person("encounter_id"), names_a_person("PhysicalHealth")
    (True, False, False)
    """
    return _matching(words_of(name), _PEOPLE) is not None


def identifies_people(name: str) -> bool:
    """Whether a name alone says that its values are names, addresses or ids of people, however often each stands.

    >>> [identifies_people(name) for name in ("Person ID", "patient_id", "Full Name", "e-mail", "name", "NHS number")]
    [True, True, True, True, True, True]
    >>> [identifies_people(name) for name in ("hospital name", "patient_age", "number of patients", "insured", "state")]
    [False, False, False, False, False]
    """
    words = words_of(name)
    if _OF_THINGS & set(words):
        return False
    if (len(words) == 1 and words[0] in _EXACTLY) or _matching(words, _DIRECT) is not None:
        return True
    return bool({*_ID_WORDS, "name"} & set(words[-2:])) and names_a_person(name) and meaning_of(name) is None


def is_id_of_people(name: str) -> bool:
    """Whether a name says that its values are ids of people: neither names, which several share, nor addresses.

    >>> [is_id_of_people(name) for name in ("Person ID", "Patient Name", "email")]
    [True, False, False]
    """
    return names_a_person(name) and identifies_people(name) and bool(_ID_WORDS & set(words_of(name)))


def identifying(name: str, role: str) -> str:
    """What is said of an attribute whose name says that it identifies people, and which is published in this role."""
    return (
        f"{name!r} is {role}, and its name says that it identifies people: its values are published. Make it an "
        "identifier, which is not."
    )


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
