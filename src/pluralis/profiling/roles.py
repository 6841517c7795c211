"""The role that a column seems to have, guessed from its name, the shape of its values and their counts.

A column is an identifier, quasi-identifier, sensitive or plain where something speaks for it, and said; else it is for
a person to decide. Nothing becomes plain that tells anything of anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

from pluralis.profiling.shapes import Shape
from pluralis.profiling.vocabulary import (
    identifies_people,
    meaning_of,
    names_a_person,
    names_an_identifier,
    other_words,
    words_of,
)
from pluralis.table.encoding import MANY_ROWS

_NO_IDENTIFIER = ("flag", "bands", "date", "money", "doses", "ordinal")
_CODES = ("icd-9", "icd-10")  # whose patterns many ids fit, too
_FEW_ROWS = 2  # of each value, on average: codes that repeat no more may be ids
_NUMBERING = {"id", "ids", "nbr", "number", "nr", "num", "no", "key", "guid", "uuid"}


def role_of(
    name: str, shape: Shape, counts: Mapping[str, int], known: int, rows: int, distinct: int
) -> tuple[str, str]:
    """The role of a column, and what speaks for it: a guess, to be corrected by a person.

    `counts` are those of its values, `known` its rows with a value, of so many rows.

    >>> role_of("disease", Shape(""), {}, 1000, 1000, 10)
    ('sensitive', 'its name speaks of health (disease)')
    >>> role_of("height", Shape("", number=True), {}, 1000, 1000, 90)[0]
    'quasi'
    >>> role_of("steps", Shape("", number=True), {}, 1000, 1000, 90)[0]
    'decide'
    >>> role_of("patient_nbr", Shape("", number=True), {}, 1000, 1000, 700)[0]
    'identifier'
    >>> [role_of(name, Shape("icd-10"), {}, 1000, 1000, 700)[0] for name in ("Person ID", "dx", "third")]
    ['identifier', 'sensitive', 'decide']
    """
    meaning = meaning_of(name)
    about = f"its name speaks of {meaning.topic} ({meaning.term})" if meaning is not None else ""
    sensitive = meaning is not None and meaning.role == "sensitive"
    if distinct == 0:
        return "identifier", "it holds no value, so it is not published"
    if identifies_people(name) and shape.word not in _NO_IDENTIFIER:
        return "identifier", "its name says who somebody is, or how to reach them"
    if distinct == 1 and known == rows and not sensitive and rows > 1:
        return "plain", "every row holds the same value: it decides nothing and identifies nobody"
    few_rows = known <= MANY_ROWS * distinct and distinct > 1
    nearly_each = distinct > 0.9 * known
    no_identifier = shape.word in _NO_IDENTIFIER or (sensitive and shape.word in _CODES)
    if names_an_identifier(name) and few_rows and not no_identifier:
        last = words_of(name)[-1:]
        if meaning is None or names_a_person(name) or (nearly_each and set(last) & _NUMBERING):
            return "identifier", "many values with few rows each, and its name says who or which row it is"
    if not shape.number and rows > 20 and nearly_each and not no_identifier:
        return "identifier", "nearly every row has a text of its own"
    if meaning is not None and meaning.role == "quasi" and (others := other_words(name)):
        about += f" and of something else ({', '.join(others)}), which may be the point"
        return "decide", f"{about}: {_question(shape, counts, known, distinct)}"
    if meaning is not None:
        return meaning.role, about
    if shape.word in _CODES and known <= _FEW_ROWS * distinct and rows > 20:
        asked = f"its values look like {shape.word.upper()} codes, but hardly repeat, as ids do"
        return "decide", f"{asked}: {_question(shape, counts, known, distinct)}, else an identifier"
    if shape.word in _CODES:
        return "sensitive", f"its values look like {shape.word.upper()} codes"
    if shape.word == "doses":
        return "sensitive", "its values look like changes of a dose"
    if shape.word == "money":
        return "sensitive", "its values look like amounts of money"
    return "decide", _question(shape, counts, known, distinct)


def _question(shape: Shape, counts: Mapping[str, int], known: int, distinct: int) -> str:
    """What speaks for each role of a column of which nothing is known."""
    quasi = "quasi if somebody else could know it of a person"
    sensitive = "sensitive if nobody should learn it"
    if shape.word == "flag" and counts:
        value, count = min(counts.items(), key=lambda pair: (pair[1], pair[0]))
        share = f"{value!r} stands in {count / known:.0%} of the rows"
        return f"{sensitive} ({share}), {quasi}, plain if it tells of no person"
    if shape.number and known <= MANY_ROWS * distinct:
        return (
            f"many different numbers, so that whoever knows one finds the row: {quasi}; {sensitive}; else an identifier"
        )
    return f"{quasi}, {sensitive}, plain if it is neither"
