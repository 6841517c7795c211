"""Queries as an analyst writes them: `COUNT WHERE age BETWEEN 30 AND 40 AND disease IN ('flu', 'hiv') BY sex`.

    query      [COUNT] [WHERE condition] [BY name, name, …]; a condition may also stand alone
    condition  name = value, and so with != <> < <= > >=;  name [NOT] BETWEEN a AND b;  name [NOT] IN (a, b, …);
               name IS [NOT] NULL;  NOT, AND, OR in this order of strength; parentheses
    name       a bare word (letters, digits, _ . -), or anything in "double quotes", where "" is a quote
    value      a number, or text in 'single quotes', where '' is a quote

Words of the language may be written in any case. What cannot be read is a QueryError that points at the place.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from pluralis.errors import QueryError, did_you_mean
from pluralis.estimate.coded_ends import require_told_apart
from pluralis.estimate.conditions import All, Check, Comparison, Condition, Not, Some, Value
from pluralis.estimate.tokens import NUMBER, Token, brief, pointed, scan, written_name
from pluralis.release.attributes import Spellings, attributes_of, holds_bins, ordered_domain, texts_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.recodings import Recoding
from pluralis.release.release import Release
from pluralis.table.bands import Band
from pluralis.table.labels import OrderedDomain

MAX_OPEN = 100
NEARLY = 0.75  # as alike as a slip of the pen leaves two names
MAX_DEPTH = 50  # written out, a condition may open two of those for each step of depth
TOO_DEEP = f"Conditions stand more than {MAX_DEPTH} deep in one another. Ask something simpler; IN takes many values."

SIGNS: dict[str, Comparison] = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
ORDERINGS = ("<", "<=", ">", ">=", "BETWEEN")
_SQL = re.compile(
    r"\s*(?P<select>SELECT)(?=[\s*]|$)(?!\s*(?:[=<>!]|(?:BETWEEN|IN|IS|NOT)\b))", re.IGNORECASE | re.ASCII
)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Query:
    """What is counted: the rows that pass a condition, all of them or for each combination of some attributes.

    >>> print(Query(Check("age", ">", (30,)), by=("sex", "blood group")))
    COUNT WHERE age > 30 BY sex, "blood group"
    """

    where: Condition | None
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        twice = [name for i, name in enumerate(self.by) if name in self.by[:i]]
        if twice:
            raise QueryError(f"BY names {twice[0]!r} twice. Name each attribute once.")

    def __str__(self) -> str:
        words = ["COUNT"]
        if self.where is not None:
            named = _rewritten(self.where, lambda check: replace(check, attribute=written_name(check.attribute)))
            words += ["WHERE", str(named)]
        if self.by:
            words += ["BY", ", ".join(map(written_name, self.by))]
        return " ".join(words)


def parse(text: str) -> Query:
    """The query that a text is.

    >>> parse("sex = 'f' and not age < 30 by disease")
    Query(where=All(parts=(Check(attribute='sex', comparison='=', values=('f',)), Not(part=Check(attribute='age', \
comparison='<', values=(30,))))), by=('disease',))
    >>> try:
    ...     parse("disease = flu")
    ... except QueryError as error:
    ...     print(error)
    Text stands in single quotes; quote it: 'flu'.
      disease = flu
                ^^^
    """
    if sql := _SQL.match(text):
        raise pointed(text, *sql.span("select"), "This is SQL. Ask with --sql, or write COUNT WHERE age > 30 BY sex.")
    return _Parser(text).query()


def resolve(query: Query, release: Release) -> Query:
    """The query in the release's own spelling; what this release cannot be asked is an error."""
    known = attributes_of(release)
    as_written = release.manifest.parameters.case
    recodings = release.manifest.parameters.recodings

    @cache
    def spellings(name: str) -> Spellings:
        return Spellings(known[name], fold_case=name not in as_written)

    def resolved(check: Check) -> Check:
        _require_known(check.attribute, known, release)
        recoding = recodings.get(check.attribute, Recoding())
        info = known[check.attribute]
        require_told_apart(check, recoding)
        if recoding.numbers and not all(isinstance(value, str) for value in check.values):
            numbers = _resolved(check, info.model_copy(update={"type": "number"}), lambda: spellings(info.name))
            return _in_texts(numbers, info)
        return _resolved(check, info, lambda: spellings(check.attribute))

    where = None if query.where is None else _rewritten(query.where, resolved)
    for name in query.by:
        _require_known(name, known, release)
    return Query(where, query.by)


# conditions -----------------------------------------------------------------------------------------------------


def _joined(kind: type[All] | type[Some], parts: list[Condition]) -> Condition:
    """Parts under one AND or one OR; parts that are of this kind themselves are dissolved."""
    if len(parts) == 1:
        return parts[0]
    return kind(tuple(inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))))


def _depth(condition: Condition) -> int:
    """How many conditions stand in one another, above the checks."""
    if isinstance(condition, Not):
        return 1 + _depth(condition.part)
    return 1 + max(map(_depth, condition.parts)) if isinstance(condition, (All, Some)) else 0


def _rewritten(condition: Condition, change: Callable[[Check], Check], depth: int = 0) -> Condition:
    """The same condition with every check changed, and no AND directly in an AND, nor OR in an OR."""
    if depth > MAX_DEPTH:
        raise QueryError(TOO_DEEP)
    if isinstance(condition, Check):
        return change(condition)
    if isinstance(condition, Not):
        return Not(_rewritten(condition.part, change, depth + 1))
    if not isinstance(condition, (All, Some)):
        raise QueryError(f"{condition!r} is no condition. Build it with col, or write it as text.")
    kind, parts = type(condition), []
    waiting: list[Condition] = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            waiting.extend(part.parts[::-1])
        else:
            parts.append(_rewritten(part, change, depth + 1))
    return _joined(kind, parts)


def _require_known(name: str, known: dict[str, ColumnInfo], release: Release) -> None:
    if name in known:
        return
    columns = {column.name for table in release.manifest.tables for column in table.columns}
    hint = f"{name!r} is a column of the published tables, not an attribute of people." if name in columns else ""
    if hint:
        raise QueryError(f"{hint} {did_you_mean(name, known)}")
    close = difflib.get_close_matches(name.casefold(), [one.casefold() for one in known], n=1, cutoff=NEARLY)
    if close:
        raise QueryError(f"The release has no attribute {name!r}. {did_you_mean(name, known)}")
    raise QueryError(
        f"The release has no attribute {name!r}: if the table had one, it was not published. {did_you_mean('', known)}"
    )


def _resolved(check: Check, info: ColumnInfo, spellings: Callable[[], Spellings]) -> Check:
    """The check with its texts spelled as published, if this attribute can be compared like that."""
    name, values = check.attribute, check.values
    if check.comparison == "IS NULL":
        return check
    if not values:
        raise QueryError(f"{name!r} IN () holds no value. Name at least one.")
    texts = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if not isinstance(value, str)]
    if any(not abs(number) <= sys.float_info.max for number in numbers):
        raise QueryError(f"{name!r} is compared with a number that is infinite, or no number. Compare with another.")
    ordered = check.comparison in ORDERINGS
    if info.type == "number":
        if texts:
            plain = f"Write {texts[0]} without quotes." if NUMBER.fullmatch(texts[0]) else "Compare it with a number."
            raise QueryError(f"{name!r} holds numbers, {brief(texts[0])!r} is text. {plain}")
    elif holds_bins(info):
        if ordered and texts:
            raise QueryError(
                f"{name!r} is published in intervals; {check.comparison} needs a number, not {brief(texts[0])!r}. "
                "Write a number without quotes, or use = or IN with an interval as it is published."
            )
    elif (domain := ordered_domain(info)) is not None:
        return _resolved_in_order(check, domain, spellings)
    elif ordered:
        raise QueryError(f"{name!r} holds text, which has no order for {check.comparison}. Use =, != or IN.")
    elif numbers:
        raise QueryError(f"{name!r} holds text. Put the value in single quotes: '{numbers[0]}'.")
    if check.comparison == "BETWEEN" and not _in_order(*values):
        raise QueryError(f"{name!r} BETWEEN {values[0]} AND {values[1]}: the ends are the wrong way round. Swap them.")
    spelled = [_spelled(name, value, spellings()) if isinstance(value, str) else value for value in values]
    return replace(check, values=tuple(dict.fromkeys(spelled) if check.comparison == "IN" else spelled))


def _in_texts(check: Check, info: ColumnInfo) -> Check:
    """A check of numbers that are published as text, for wider ones have names: which of the texts pass."""
    return Check(check.attribute, "IN", tuple(text for text in texts_of(info) if _passes(check, float(text))))


def _passes(check: Check, number: float) -> bool:
    first, *more = (float(value) for value in check.values)
    compared = {"=": number == first, "!=": number != first, "<": number < first, "<=": number <= first,
                ">": number > first, ">=": number >= first}  # fmt: skip
    if check.comparison == "BETWEEN":
        return first <= number <= more[0]
    return number in (first, *more) if check.comparison == "IN" else compared[check.comparison]


def _resolved_in_order(check: Check, domain: OrderedDomain, spellings: Callable[[], Spellings]) -> Check:
    """The check of an ordered attribute: values that it lists by their places, numbers by the bands that hold them."""
    name, values = check.attribute, check.values
    numbers = [value for value in values if not isinstance(value, str)]
    places = {value: i for i, value in enumerate(domain.values)}
    if numbers:
        if domain.bands is None:
            shown = ", ".join(f"'{brief(value)}'" for value in domain.values[:3])
            raise QueryError(
                f"{name!r} holds values in an order that are no bands of numbers. Compare it with one of them in "
                f"single quotes: {shown}{', …' * (len(places) > 3)}"
            )
        if check.comparison == "BETWEEN" and (len(numbers) < 2 or numbers[0] > numbers[1]):
            raise QueryError(f"{check}: give two numbers, or two values as they are listed, the smaller one first.")
        for band, value in zip(domain.bands, domain.values, strict=True):
            if band.is_open_ended and _cuts(check, band):
                ends = [number for number in (band.low, band.high) if abs(number) <= sys.float_info.max]
                raise QueryError(
                    f"{name!r} is published as '{brief(value)}', and no finer: {check} would divide it. "
                    f"Compare with {', '.join(f'{end:g}' for end in ends)} instead."
                )
    spelled = [_spelled(name, value, spellings()) if isinstance(value, str) else value for value in values]
    if numbers or check.comparison not in ORDERINGS:
        return replace(check, values=tuple(dict.fromkeys(spelled) if check.comparison == "IN" else spelled))
    asked = [places[str(value)] for value in spelled]
    if check.comparison == "BETWEEN" and asked[0] > asked[1]:
        raise QueryError(
            f"{name!r} BETWEEN '{values[0]}' AND '{values[1]}': the ends are the wrong way round. Swap them."
        )
    begin, end = {
        "<": (0, asked[0]), "<=": (0, asked[0] + 1), ">": (asked[0] + 1, len(places)), ">=": (asked[0], len(places)),
        "BETWEEN": (asked[0], asked[-1] + 1),
    }[check.comparison]  # fmt: skip
    return Check(name, "IN", domain.values[begin:end])


def _cuts(check: Check, band: Band) -> bool:
    """Whether a comparison with numbers is true of some of the numbers of a band and not of others."""
    numbers = [value for value in check.values if not isinstance(value, str)]
    if check.comparison in ("<", ">="):
        return band.cut_below(numbers[0])
    if check.comparison in ("<=", ">"):
        return band.cut_above(numbers[0])
    if check.comparison == "BETWEEN":
        return band.cut_below(numbers[0]) or band.cut_above(numbers[1])
    return any(map(band.holds, numbers))


def _in_order(low: Value, high: Value) -> bool:
    """Whether two ends of an interval are not the wrong way round; text has no order that can be seen here."""
    return isinstance(low, str) or isinstance(high, str) or low <= high


def _spelled(name: str, text: str, spellings: Spellings) -> str:
    published = spellings.lookup(text)
    if published is None:
        raise QueryError(f"{name!r} has no value {brief(text)!r}. {did_you_mean(text, spellings.texts)}")
    return published


# reading --------------------------------------------------------------------------------------------------------


class _Parser:
    """Reads from left to right; `token` is the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(scan(text))
        self._position = 0
        self._open = 0
        self._most_open, self._deepest = 0, self.token

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    def query(self) -> Query:
        if self._ended():
            raise self._wrong("The query is empty. Write COUNT for all rows, or a condition such as age > 30.")
        counted = self._took("COUNT")
        where = self._any_of() if self._took("WHERE") or not (counted or self._sees("BY")) else None
        by = self._names() if self._took("BY") else ()
        if not self._ended():
            raise self._wrong(self._left_over(where, by))
        if where is not None and _depth(where) > MAX_DEPTH:
            raise self._wrong(TOO_DEEP, self._deepest)
        return Query(where, by)

    def _left_over(self, where: Condition | None, by: tuple[str, ...]) -> str:
        if self._sees(")"):
            return "This parenthesis was not opened. Leave it out, or open it before."
        if by:
            return "WHERE comes before BY." if self._sees("WHERE") else "Expected a comma and a name, or the end."
        if where is None:
            return "Expected WHERE and a condition, BY and names, or the end."
        return "Expected AND, OR, BY, or the end."

    def _names(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            token = self._name()
            if token.value in names:
                raise self._wrong(f"BY names {brief(str(token.value))!r} twice. Name each attribute once.", token)
            names.append(str(token.value))
            if not self._took(","):
                return tuple(names)

    def _any_of(self) -> Condition:
        parts = [self._all_of()]
        while self._took("OR"):
            parts.append(self._all_of())
        return _joined(Some, parts)

    def _all_of(self) -> Condition:
        parts = [self._one()]
        while self._took("AND"):
            parts.append(self._one())
        return _joined(All, parts)

    def _one(self) -> Condition:
        if not (self._sees("NOT") or self._sees("(")):
            return self._check()
        if self._open == MAX_OPEN:
            raise self._wrong(f"Parentheses and NOT are nested more than {MAX_OPEN} deep. Use fewer.")
        self._open += 1
        if self._open > self._most_open:
            self._most_open, self._deepest = self._open, self.token
        condition: Condition
        if self._took("NOT"):
            condition = Not(self._one())
        else:
            opened = self.token
            self._took("(")
            condition = self._any_of()
            if self._ended():
                raise self._wrong("This parenthesis is not closed. Close it with ).", opened)
            self._expect(")", "Expected AND, OR, or ) to close a parenthesis.")
        self._open -= 1
        return condition

    def _check(self) -> Condition:
        if self.token.kind in ("text", "number"):
            raise self._value_first()
        name = str(self._name().value)
        if self.token.kind == "sign" and self.token.value in SIGNS:
            comparison = SIGNS[str(self._next().value)]
            return Check(name, comparison, (self._value(),))
        if self._took("IS"):
            negated = self._took("NOT")
            self._expect("NULL", "Expected NULL or NOT NULL after IS. Compare values with =.")
            check = Check(name, "IS NULL")
        else:
            negated = self._took("NOT")
            if self._took("BETWEEN"):
                check = Check(name, "BETWEEN", self._ends())
            elif self._took("IN"):
                check = Check(name, "IN", self._list())
            elif negated:
                raise self._wrong("Expected BETWEEN or IN after NOT.")
            else:
                raise self._wrong("Expected a comparison: = != < <= > >= BETWEEN, IN or IS NULL.")
        return Not(check) if negated else check

    def _ends(self) -> tuple[Value, Value]:
        first, low = self.token, self._value()
        self._expect("AND", "Expected AND: a range is written BETWEEN 30 AND 40.")
        last, high = self.token, self._value()
        if not _in_order(low, high):
            both = first._replace(end=last.end)
            raise self._wrong("The ends of BETWEEN are the wrong way round. Write the smaller one first.", both)
        return low, high

    def _list(self) -> tuple[Value, ...]:
        self._expect("(", "Expected a list in parentheses: IN ('a', 'b').")
        if self._sees(")"):
            raise self._wrong("IN () holds no value. Name at least one: IN ('a', 'b').")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        self._expect(")", "Expected a comma and a value, or ) to close the list.")
        return tuple(values)

    def _value(self) -> Value:
        token = self.token
        if token.kind in ("text", "number"):
            return self._next().value
        if self._sees("NULL"):
            raise self._wrong("Nothing compares with NULL. Write IS NULL or IS NOT NULL.")
        if token.kind != "name":
            raise self._wrong("Expected a value: a number, or text in single quotes.")
        after = self._position
        while self._tokens[after + 1].kind == "name":
            after += 1
        bare = self._text[token.start] != '"'
        whole = token._replace(end=self._tokens[after].end) if bare else token
        value = brief(self._text[whole.start : whole.end] if bare else str(token.value)).replace("'", "''")
        why = "Text stands in single quotes" if bare else "Double quotes are for names"
        raise self._wrong(f"{why}; quote it: '{value}'.", whole)

    def _name(self) -> Token:
        token = self.token
        if token.kind == "name":
            return self._next()
        message = "Expected the name of an attribute."
        if token.kind == "word":
            word = self._text[token.start : token.end]
            message += f' {word} is a word of the language; an attribute of this name is written "{word}".'
        raise self._wrong(message)

    def _value_first(self) -> QueryError:
        value, sign, name = (*self._tokens[self._position :], self.token, self.token)[:3]
        message = "The attribute comes first, then the value."
        if sign.value in SIGNS and sign.kind == "sign" and name.kind == "name":
            left, right = (brief(self._text[token.start : token.end]) for token in (name, value))
            message += f" Write {left} {_TURNED.get(str(sign.value), sign.value)} {right}."
        return self._wrong(message)

    def _ended(self) -> bool:
        return self.token.kind == "end"

    def _sees(self, word: str) -> bool:
        return self.token.kind in ("word", "sign") and self.token.value == word

    def _took(self, word: str) -> bool:
        seen = self._sees(word)
        self._position += seen
        return seen

    def _next(self) -> Token:
        self._position += 1
        return self._tokens[self._position - 1]

    def _expect(self, word: str, otherwise: str) -> None:
        if not self._took(word):
            raise self._wrong(otherwise)

    def _wrong(self, message: str, token: Token | None = None) -> QueryError:
        token = token or self.token
        return pointed(self._text, token.start, token.end, message)
