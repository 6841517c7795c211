"""The words of a query, and errors that point at them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rich.cells import cell_len

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


def pointed(text: str, start: int, end: int, said: str) -> QueryError:
    """An error that says so, with the query on a line and marks below the characters from start to end."""
    first = max(0, min(start - SHOWN // 2, len(text) - SHOWN))
    last = min(len(text), first + SHOWN)
    line = "".join(c if c.isprintable() else " " for c in text[first:last])
    before, after = "…" * (first > 0), "…" * (last < len(text))
    blanks = cell_len(before + line[: start - first])
    marks = max(1, cell_len(line[start - first : end - first]))
    return QueryError(said, f"  {before}{line}{after}", f"  {' ' * blanks}{'^' * marks}")


def scan(text: str) -> Iterator[Token]:
    """The pieces of a query from left to right, the last one its end.

    >>> [token.value for token in scan("age >= 30 and disease = 'flu'")]
    ['age', '>=', 30, 'AND', 'disease', '=', 'flu', '']
    """
    if len(text) > MAX_LENGTH:
        raise pointed(text, MAX_LENGTH, MAX_LENGTH + 1, f"A query has at most {MAX_LENGTH:,} characters; shorten it.")
    at = 0
    while at < len(text):
        character = text[at]
        if character.isspace():
            at += 1
            continue
        if character in "'\"":
            token = _quoted(text, at)
        elif found := NUMBER.match(text, at):
            token = _number(text, at, found.end())
        elif character.isalpha() or character == "_":
            token = _word(text, at)
        elif (found := _SIGN.match(text, at)) and found[0] not in _INSTEAD:
            token = Token("sign", found[0], at, found.end())
        else:
            sign = found[0] if found else character
            instead = _INSTEAD.get(sign, "Text stands in 'single quotes', an unusual name in \"double quotes\".")
            raise pointed(text, at, at + len(sign), f"{sign!r} is not part of the language. {instead}")
        yield token
        at = token.end
    yield Token("end", "", len(text), len(text))


def _quoted(text: str, at: int) -> Token:
    quote = text[at]
    found = (_TEXT if quote == "'" else _QUOTED).match(text, at)
    if found is None:
        raise pointed(
            text, at, at + 1, f"This quote is not closed. Close it with {quote}; inside quotes write {quote * 2}."
        )
    if any(unicodedata.category(c) == "Cs" for c in found[0]):
        raise pointed(text, at, found.end(), "These quotes hold bytes that are no text. Write the query in UTF-8.")
    return Token("text" if quote == "'" else "name", found[1].replace(quote * 2, quote), at, found.end())


def _end_of_word(text: str, at: int) -> int:
    while at < len(text) and _in_names(text[at]):
        at += 1
    return at


def _number(text: str, at: int, end: int) -> Token:
    written = text[at:end]
    beyond = _end_of_word(text, end)
    if beyond > end:
        word = brief(text[at:beyond])
        said = f"{word} is no number. A name that starts with a digit stands in double quotes, text in single quotes."
        raise pointed(text, at, beyond, said)
    if len(written) > MAX_DIGITS or not math.isfinite(float(written)):
        raise pointed(text, at, end, f"This number is too large. Write at most {MAX_DIGITS} digits.")
    whole = written.lstrip("-").isdigit()
    return Token("number", int(written) if whole else float(written), at, end)


def _word(text: str, at: int) -> Token:
    end = _end_of_word(text, at)
    word = text[at:end]
    return Token("word", word.upper(), at, end) if _is_keyword(word) else Token("name", word, at, end)


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
