"""The words of a query, and errors that point at them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pluralis.display.escaping import text_width
from pluralis.errors import QueryError
from pluralis.estimate.conditions import Value

MAX_LENGTH = 10_000
MAX_DIGITS = 300
SHOWN = 100

KEYWORDS = frozenset({"COUNT", "WHERE", "BY", "AND", "OR", "NOT", "BETWEEN", "IN", "IS", "NULL"})
NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_TEXT = re.compile(r"'((?:[^']|'')*+)'")
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
_SIGN = re.compile(r"==|<=|>=|<>|!=|[=<>(),]")
_INSTEAD = {"==": "Write =.", "&": "Write AND.", "|": "Write OR.", "!": "Write NOT.", ";": "Leave it out."}


class Token(NamedTuple):
    """A piece of a query: what it stands for, and the characters that it is. A `word` is one of the language."""

    kind: Literal["name", "word", "sign", "text", "number", "end"]
    value: Value
    start: int
    end: int


def brief(text: str) -> str:
    """The beginning of a text, on one line."""
    shown = "".join(c if c.isprintable() else " " for c in text[:41])
    return shown[:40] + "…" if len(text) > 40 else shown


def pointed(text: str, start: int, end: int, message: str) -> QueryError:
    """An error that says so, with the query on a line and marks below the characters from start to end."""
    first = max(0, min(start - SHOWN // 2, len(text) - SHOWN))
    last = min(len(text), first + SHOWN)
    line = "".join(c if c.isprintable() else " " for c in text[first:last])
    before, after = "…" * (first > 0), "…" * (last < len(text))
    blanks = text_width(before + line[: start - first])
    marks = max(1, text_width(line[start - first : end - first]))
    return QueryError(message, f"  {before}{line}{after}", f"  {' ' * blanks}{'^' * marks}")


def scan(text: str) -> Iterator[Token]:
    """The pieces of a query from left to right, the last one its end.

    >>> [token.value for token in scan("age >= 30 and disease = 'flu'")]
    ['age', '>=', 30, 'AND', 'disease', '=', 'flu', '']
    """
    if len(text) > MAX_LENGTH:
        raise pointed(text, MAX_LENGTH, MAX_LENGTH + 1, f"A query has at most {MAX_LENGTH:,} characters; shorten it.")
    position = 0
    while position < len(text):
        character = text[position]
        if character.isspace():
            position += 1
            continue
        if character in "'\"":
            token = _quoted(text, position)
        elif match := NUMBER.match(text, position):
            token = _number(text, position, match.end())
        elif character.isalpha() or character == "_":
            token = _word(text, position)
        elif (match := _SIGN.match(text, position)) and match[0] not in _INSTEAD:
            token = Token("sign", match[0], position, match.end())
        else:
            sign = match[0] if match else character
            instead = _INSTEAD.get(sign, "Text stands in 'single quotes', an unusual name in \"double quotes\".")
            raise pointed(text, position, position + len(sign), f"{sign!r} is not part of the language. {instead}")
        yield token
        position = token.end
    yield Token("end", "", len(text), len(text))


def _quoted(text: str, start: int) -> Token:
    quote = text[start]
    match = (_TEXT if quote == "'" else _QUOTED).match(text, start)
    if match is None:
        raise pointed(
            text, start, start + 1, f"This quote is not closed. Close it with {quote}; inside quotes write {quote * 2}."
        )
    if any(unicodedata.category(c) == "Cs" for c in match[0]):
        raise pointed(text, start, match.end(), "These quotes hold bytes that are no text. Write the query in UTF-8.")
    return Token("text" if quote == "'" else "name", match[1].replace(quote * 2, quote), start, match.end())


def _end_of_word(text: str, position: int) -> int:
    while position < len(text) and _in_names(text[position]):
        position += 1
    return position


def _number(text: str, start: int, end: int) -> Token:
    written = text[start:end]
    beyond = _end_of_word(text, end)
    if beyond > end:
        word = brief(text[start:beyond])
        message = (
            f"{word} is no number. A name that starts with a digit stands in double quotes, text in single quotes."
        )
        raise pointed(text, start, beyond, message)
    if len(written) > MAX_DIGITS or not math.isfinite(float(written)):
        raise pointed(text, start, end, f"This number is too large. Write at most {MAX_DIGITS} digits.")
    whole = written.lstrip("-").isdigit()
    return Token("number", int(written) if whole else float(written), start, end)


def _word(text: str, start: int) -> Token:
    end = _end_of_word(text, start)
    word = text[start:end]
    return Token("word", word.upper(), start, end) if _is_keyword(word) else Token("name", word, start, end)


def written_name(name: str) -> str:
    """A name as it stands in a query: bare, or in double quotes where it must be.

    >>> written_name("hours-per-week"), written_name("blood group"), written_name("count")
    ('hours-per-week', '"blood group"', '"count"')
    """
    bare = name[:1].isalpha() or name[:1] == "_"
    bare = bare and all(map(_in_names, name)) and not _is_keyword(name)
    return name if bare else '"' + name.replace('"', '""') + '"'


def _in_names(character: str) -> bool:
    return character.isalnum() or character in "_.-" or unicodedata.category(character).startswith("M")


def _is_keyword(word: str) -> bool:
    return word.isascii() and word.upper() in KEYWORDS
