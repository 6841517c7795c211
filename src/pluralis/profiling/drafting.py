"""A first policy for a table: a guess from names, values and counts, tried on the table before it is written.

Every column gets a role with what speaks for it, or `role: decide`. What is sensitive gets the strongest promise that
the table allows: l up to 4, else a bound for the rarer values, else it is not published. The policy is then built in
memory, with undecided columns taken as quasi-identifiers, and made weaker until it can be: a smaller l, then few rows
suppressed, then no bound for the commoner of two values, then as few as possible of the attributes left out, the most
skewed first, and l again as large as can be. Then it is built with every undecided column protected as its line
suggests, and what is suggested is made weaker in the same way.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from pluralis.assembling.building import build
from pluralis.errors import Infeasible, InputError, PolicyError
from pluralis.grouping.eligibility import largest_l
from pluralis.metrics.loss import MUCH, Loss, loss_in_words
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.profiling.bounding import Bounds, bounds_for
from pluralis.profiling.drawn_rows import breaks_of, drawn_rows, keys_for
from pluralis.profiling.profiles import FEW, RARE, ColumnProfile, Profile, profile
from pluralis.profiling.vocabulary import meaning_of, words_of
from pluralis.progress import stage
from pluralis.randomness import Key
from pluralis.table.canonical import as_text
from pluralis.table.encoding import Table, encode
from pluralis.table.labels import number_text

KEYS = tuple(Key(bytes([i]) * 32) for i in range(3))  # which rows meet depends on the key, and so what just fits:
SPARE = 1  # more attributes than must be are left out, so that it fits under another key, too
TRIED = (5_000, 25_000, 300_000)  # rows that a draft is tried on, one after the other; few rows take few seconds
MOST_SUGGESTED = 25_000  # rows on which all undecided columns are tried as sensitive, which takes long on more
MOST_L = 4
MOST_ADVERSARIES = 4
MOST_DROPPED = 0.05  # of the rows, where a sensitive number is missing
K = 5
OLD = 90  # ages above it say who somebody is
OLDEST = 120  # ages above it are nobody's
BEYOND, FAR = 0.005, 0.5  # share of rows at an end of numbers, and how far out, of what the others span, some lie
ONLY_RARER = "Only the rarer of two values is bounded"
NOTICED = 0.05  # of information loss
# terms of which numbers are codes: neither their order nor their distance means anything
CATEGORIES = frozenset(
    {"sex", "gender", "race", "races", "racial", "ethnic", "marital", "married", "hispanic", "relationship",
     "education", "native", "nativity", "nationality", "county", "state", "states", "region", "country",
     "class of worker", "workclass", "worker", "district", "division", "hospital", "facility", "admission"}
)  # fmt: skip
Keys = dict[str, Any]


@dataclass
class Line:
    """One attribute of the draft: its keys, what is said of it, and how skewed it is."""

    column: ColumnProfile
    keys: Keys
    comments: list[str] = field(default_factory=list)
    largest_l: int = 0
    bounds: Bounds | None = None  # where it is too skewed for any l
    opened: Bounds | None = None  # where both of two values were bounded, and only the rarer one is
    left_out: bool = False  # though by itself it could be protected
    if_sensitive: Line | None = None  # of a column to be decided: its line if it is sensitive

    @property
    def role(self) -> str:
        return str(self.keys["role"])

    @property
    def comment(self) -> str:
        """What is said of it, and asked."""
        if self.if_sensitive is None:
            return "; ".join(self.comments)
        able = self.if_sensitive
        suggested = flow(able.keys) if able.role == "sensitive" or able.left_out else "too skewed to be protected"
        why = "; it cannot be protected together with all others" if able.left_out else ""
        question = f"decide: {self.column.reason} (if sensitive: {suggested}){why}"
        return "; ".join([*self.comments[:1], question, *self.comments[1:]])

    def copied(self) -> Line:
        """The same line, to be changed."""
        able = None if self.if_sensitive is None else self.if_sensitive.copied()
        return replace(self, keys=dict(self.keys), comments=[*self.comments], if_sensitive=able)

    def bound(self, bounds: Bounds) -> None:
        """Bound these values, and say so in the place of what was said of other bounds."""
        replaced = [] if self.bounds is None else [self.bounds.words()]
        self.comments = [*(comment for comment in self.comments if comment not in replaced), bounds.words()]
        self.keys, self.bounds = {**self.keys, "at_most": bounds.at_most}, bounds

    def leave_out(self, reason: str) -> None:
        """Do not publish it. Nothing else is said of it then but what it holds."""
        self.keys = {"role": "identifier"}
        self.comments = [*self.comments[:1], f"{reason}, so not published"]


@dataclass
class Drafted:
    """A policy in the making, and what was tried of it."""

    look: Profile
    lines: dict[str, Line]
    missing: list[str]
    method: str = "bsgi"
    k: int | None = None
    suppress: float = 0.0
    remarks: list[str] = field(default_factory=list)
    loss: Loss | None = None  # of the last try that could be published
    breaks: dict[tuple[str, str], list[float]] = field(default_factory=dict)  # of bins, by all rows

    @property
    def left_out(self) -> list[str]:
        """What is not published, because not all can be protected together."""
        return [name for name, line in self.lines.items() if line.left_out]

    def named(self, role: str) -> list[str]:
        return [name for name, line in self.lines.items() if line.role == role]

    @property
    def adversaries(self) -> list[list[str]]:
        """Who knows the quasi-identifiers and one sensitive value, where there are several."""
        sensitive = self.named("sensitive")
        if len(sensitive) < 2:
            return []
        return [[*self.named("quasi"), name] for name in sensitive[:MOST_ADVERSARIES]]

    @property
    def not_suggested(self) -> list[str]:
        """The undecided columns that are not published if all are sensitive."""
        able = {name: line.if_sensitive for name, line in self.lines.items()}
        return [name for name, line in able.items() if line is not None and line.left_out]

    @property
    def suggested(self) -> dict[str, Line]:
        """The lines that undecided columns would have if they are sensitive, of those that can be protected."""
        able = {name: line.if_sensitive for name, line in self.lines.items()}
        return {name: line for name, line in able.items() if line is not None and line.role == "sensitive"}

    def to_dict(self, *, undecided: str = "decide") -> dict[str, Any]:
        """What the policy file would hold; `undecided` is the role of the columns that wait for a decision.

        If it is "sensitive", they have the keys that are suggested, and what cannot be protected is not published.
        """
        attributes = {name: dict(line.keys) for name, line in self.lines.items()}
        for name, keys in attributes.items():
            keys["role"] = undecided if keys["role"] == "decide" else keys["role"]
            if (able := self.lines[name].if_sensitive) is not None and undecided == "sensitive":
                attributes[name] = dict(able.keys) if able.role == "sensitive" else {"role": "identifier"}
        person, publish = self.look.person, {"method": self.method, "suppress": self.suppress}
        data: dict[str, Any] = {"version": 1, "attributes": attributes, "publish": publish}
        data |= {"person": person} if person is not None else {}
        data |= {"missing": ["", *self.missing]} if self.missing else {}
        data |= {"k": self.k} if self.k is not None else {}
        data |= {"adversaries": [{"knows": names} for names in self.adversaries]} if self.adversaries else {}
        return data


def draft_policy(table: object, *, encoding: str = "utf-8", separator: str | None = None) -> Policy:
    """A first policy for a table: a guess from names, values and counts, to be corrected by a person.

    Parameters
    ----------
    table : str, Path, data frame or Profile
        A CSV or Parquet file, a polars, pandas or pyarrow table, or its profile.
    encoding, separator : str
        Of a CSV file, as in `read_table`.

    Returns
    -------
    Policy
        The guess. Columns of which nothing is known have the role "decide", and nothing is published before they have
        another. ``profile(table).draft()`` is the same as text, with comments that say why each line is there.

    Raises
    ------
    InputError
        If the table cannot be read, or has no rows.

    Examples
    --------
    >>> draft_policy(pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]}))
    Policy, method bsgi
      age      quasi      number
      disease  sensitive  l=2
    """
    look = table if isinstance(table, Profile) else profile(table, encoding=encoding, separator=separator)
    return Policy.parse(look.draft())


def first_policy(look: Profile) -> str:
    """A policy to edit, with comments that say why each line is there."""
    return written(drafted(look))


def drafted(look: Profile) -> Drafted:
    """A first policy, tried on the table."""
    draft = Drafted(look, {}, _marks(look))
    for column in look.columns:
        draft.lines[column.name] = _line(column, draft)
    _try_out(draft)
    return draft


def _marks(look: Profile) -> list[str]:
    """The marks for missing values that are texts; they mean the same in every column."""
    return list(dict.fromkeys(mark for c in look.columns for mark in c.marks if not _is_number(mark)))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def understood(role: str, keys: Keys) -> bool:
    """Whether a policy may have these keys in an attribute of this role."""
    try:
        attribute = Attribute.model_validate({"role": role, **keys})
    except ValidationError:
        return False
    return not list(attribute.faults())


# one column ------------------------------------------------------------------------------------------------------


def _line(column: ColumnProfile, draft: Drafted) -> Line:
    comment = f"{column.distinct:,} values"
    if column.missing:
        comment += f", {column.missing:,} missing"
    line = Line(column, {"role": column.role}, [comment])
    if column.role in ("identifier", "plain"):
        line.comments.append(column.reason)
    elif column.role == "quasi":
        _generalize(line, draft.look)
    elif column.role == "sensitive":
        _protect(line, draft)
    else:
        line.keys |= _as_numbers(column)
        if "type" in line.keys and (ends := _ends_of(column, draft.look)):
            line.comments[0] += f", {column.ends}"
            line.comments.append(f"few rows lie far out: if quasi, add {flow(ends)[1:-1]}")
        line.if_sensitive = Line(column, {"role": "sensitive"}, [""])
        _protect(line.if_sensitive, draft)
    if column.odd and column.role in ("quasi", "sensitive", "decide"):
        line.comments.append(f"numbers, but for {', '.join(map(repr, column.odd))}; so text")
    return line


def _as_numbers(column: ColumnProfile) -> Keys:
    own = [mark for mark in column.marks if _is_number(mark)]
    marks = {"missing": ["", *column.marks]} if own and understood("quasi", {"missing": ["", *column.marks]}) else {}
    meaning = meaning_of(column.name)
    category = column.shape == "flag" or (meaning is not None and meaning.term in CATEGORIES and column.distinct <= FEW)
    return {**({"type": "number"} if column.type == "number" and not category else {}), **marks}


def _generalize(line: Line, look: Profile) -> None:
    """How a quasi-identifier is generalized: by what decides what, dates, masks, the order of bands, fewer values."""
    column = line.column
    keys = _as_numbers(column)
    line.keys |= keys
    chain = _decided_by(column, look) if "type" not in keys else []
    if chain and _readable(look, {**keys, "hierarchy": {"columns": chain}}, chain):
        line.keys["hierarchy"] = {"columns": chain}
        wider = ", ".join(chain[1:])
        line.comments.append(f"{wider}: its wider values; as a line of its own, {chain[1]} may tell more of a row")
    elif re.search(r"zip|post", column.name.casefold()) and "type" not in keys:
        line.keys["hierarchy"] = {"mask": "right"}
    elif column.shape == "date" and understood("quasi", {"hierarchy": {"date": ["month", "year"]}}):
        line.keys["hierarchy"] = {"date": ["day", "month", "year"]}
    elif column.order and understood("quasi", {"order": list(column.order)}):
        line.keys["order"] = list(column.order)
    elif "type" not in keys and column.rare and column.distinct > FEW and look.rows >= 50 * RARE:
        line.keys["rare"] = {"below": RARE, "as": "other"}
        line.comments.append(f"{column.rare:,} values that fewer than {RARE} rows hold become one")
    elif "type" in keys and (ends := _ends_of(column, look)):
        line.keys |= ends
        few = " and ".join(f"{'above' if key == 'top' else 'below'} {end}" for key, end in ends.items())
        line.comments.append(f"few rows lie {few}, and are published as that, or beyond")
    if "type" in keys and _is_age(column) and column.largest is not None and column.largest > OLDEST:
        line.comments.append(f"{number_text(column.largest)} is no age: correct it, or declare it in missing")


def _readable(look: Profile, keys: Keys, columns: list[str]) -> bool:
    """Whether the first of some columns can be read as a quasi-identifier with these keys."""
    if look.frame is None or not understood("quasi", keys):
        return False
    attributes = {columns[0]: {"role": "quasi", **keys}}
    missing = ["", *_marks(look)]
    try:
        policy = Policy.from_dict({"version": 1, "attributes": attributes, "others": "drop", "missing": missing})
        encode(look.frame.select(columns), policy)
    except (InputError, PolicyError, Infeasible):
        return False
    return True


def _ends_of(column: ColumnProfile, look: Profile) -> Keys:
    """Where numbers are cut off beyond which few rows lie: ages at 90, others where a few lie far out."""
    assert look.frame is not None
    texts = as_text(look.frame[column.name], []).str.strip_chars()
    numbers = texts.filter(~texts.is_in(list(column.marks))).cast(pl.Float64, strict=False).drop_nulls()
    low, high = numbers.quantile(BEYOND), numbers.quantile(1 - BEYOND)
    if column.distinct <= FEW // 3 or low is None or high is None or high <= low:
        return {}
    smallest, largest = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    if _is_age(column) and 0 < (numbers > OLD).sum() <= MOST_DROPPED * look.rows:
        return {"top": OLD} if smallest >= 0 else {}
    step = float(_round_width((high - low) / 20))
    ends: Keys = {}
    if smallest < low - FAR * (high - low):
        ends["bottom"] = _number(number_text(np.floor(low / step) * step))
    if largest > high + FAR * (high - low):
        ends["top"] = _number(number_text(np.ceil(high / step) * step))
    return ends


def _is_age(column: ColumnProfile) -> bool:
    return bool({"age", "ages"} & set(words_of(column.name)))


def _decided_by(column: ColumnProfile, look: Profile) -> list[str]:
    """The quasi-identifiers that a column decides, each of which decides the next."""
    several = {c.name: c for c in look.columns if c.role == "quasi" and c.distinct > 1}
    edges = {(d.knows[0], d.decides) for d in look.dependencies if len(d.knows) == 1}
    chain = [column.name]
    for name in sorted(several, key=lambda name: -several[name].distinct):
        smaller = several[name].distinct < several[chain[-1]].distinct if chain[-1] in several else False
        if smaller and not several[name].missing and all((before, name) in edges for before in chain):
            chain.append(name)
    return chain if len(chain) > 1 and not column.missing else []


def _protect(line: Line, draft: Drafted) -> None:
    """The strongest promise that the values of a sensitive attribute allow."""
    column = line.column
    line.comments[0] += f", {column.top_value!r} fills {column.top_share:.1%}"
    if column.shape == "money" and column.distinct > FEW:
        line.leave_out(
            f"amounts written as {column.top_value!r} are text, whose closeness nobody sees: write plain numbers"
        )
        return
    skewed, chosen, asked = "too skewed to protect", None, 0
    for keys, remark in _ways(column, draft):
        table = _encoded(column, keys, draft)
        if table is None or not table.rows:
            continue
        counts = table[column.name].counts
        best = largest_l(counts)
        bounds = bounds_for(table, column.name, keys) if best < 2 else None
        promise = {"l": min(best, MOST_L)} if best >= 2 else {"at_most": bounds.at_most} if bounds is not None else None
        if promise is None or not understood("sensitive", {**keys, **promise}):
            top = int(counts.argmax())
            value, share = table[column.name].text(top), counts[top] / table.rows
            skewed = "too skewed to protect" + (f" ({value!r} fills {share:.0%})" if value != column.top_value else "")
        elif min(best, MOST_L) > asked:
            joined = _joined_rows(column, keys, table, draft) if "rare" in keys else ""
            chosen, asked = (promise | keys, remark + joined, best, bounds), min(best, MOST_L)
    if chosen is None:
        line.leave_out(skewed)
        return
    line.keys |= chosen[0]
    line.largest_l = chosen[2]
    if line.largest_l >= 2:
        line.comments[0] += f"; the largest l is {line.largest_l}"
    line.comments += [chosen[1]] * bool(chosen[1])
    line.comments += _left_rare(line, draft)
    if chosen[3] is not None:
        line.bound(chosen[3])


def _left_rare(line: Line, draft: Drafted) -> list[str]:
    """How many values of a sensitive text are rare and published as they are, and what would join them."""
    column, keys = line.column, line.keys
    joined = {"rare", "bin", "bins", "order"} & set(keys) or keys.get("type") == "number"
    if joined or not column.rare or column.distinct <= FEW or draft.look.rows < 50 * RARE:
        return []
    counted = (
        f"{column.rare:,} of {column.distinct:,} values are held by fewer than {RARE} rows, and published as they are"
    )
    along = _along(column)
    if along is None:
        return [counted]
    others = {key: value for key, value in keys.items() if key not in ("role", "l", "at_most")}
    table = _encoded(column, {**others, "rare": along}, draft)
    if table is None or (best := largest_l(table[column.name].counts)) < 2:
        return [counted]
    return [f"{counted}; rare: {flow(along)} joins them along chapters (the largest l is {best} then)"]


def _along(column: ColumnProfile) -> Keys | None:
    """How rare codes of diagnoses are joined along their chapters; procedures have none."""
    if column.shape not in ("icd-9", "icd-10") or {"proc", "procedure", "prcdr"} & set(words_of(column.name)):
        return None
    return {"below": RARE, "along": {"icd": int(column.shape.removeprefix("icd-"))}}


def _ways(column: ColumnProfile, draft: Drafted) -> Iterator[tuple[Keys, str]]:
    """Ways to recode a sensitive attribute before it is protected, the best first, each with a remark."""
    numbers = _as_numbers(column)
    gaps: Keys = {}
    missing = _missing(column, draft)
    if missing and numbers.get("type") == "number" and missing <= MOST_DROPPED * draft.look.rows:
        gaps = {"if_missing": "drop"}
    elif missing:
        numbers.pop("type", None)
        gaps = {"if_missing": {"as": "unknown"}}
    if column.span and column.distinct > FEW and "type" in numbers:
        for width in _widths(column, draft):
            yield {**numbers, "bin": _number(width), **gaps}, "in bins, since close numbers tell as much as equal ones"
        quantiles = {**numbers, "bins": {"quantiles": 10}, **gaps}
        yield quantiles, "in bins of about equally many rows, since close numbers tell as much as equal ones"
        for parts in (8, 4):
            yield {**numbers, "bins": {"quantiles": parts}, **gaps}, "in a few bins of about equally many rows"
    elif "type" in numbers:
        yield {**numbers, **gaps}, ""
    text = {key: value for key, value in numbers.items() if key != "type"}
    if column.rare and column.distinct > FEW and draft.look.rows >= 50 * RARE:
        rare = f"{column.rare:,} values that fewer than {RARE} rows hold become one"
        yield {**text, "rare": {"below": RARE, "as": "other"}, **gaps}, rare
    if column.order:
        yield {**text, "order": list(column.order) + ["unknown"] * bool(gaps), **gaps}, ""
    if not (column.span and column.distinct > FEW and "type" in numbers):
        yield {**text, **gaps}, ""


def _missing(column: ColumnProfile, draft: Drafted) -> int:
    """How many rows have no value once the marks of other columns mean the same in this one."""
    if draft.look.frame is None or not draft.missing:
        return column.missing
    texts = as_text(draft.look.frame[column.name], list(column.marks)).str.strip_chars()
    return max(column.missing, int((texts.is_null() | texts.is_in(["", *draft.missing])).sum()))


def _widths(column: ColumnProfile, draft: Drafted) -> list[str]:
    """Widths of bins: of the whole span, else, where a few numbers lie far out, of what most rows hold."""
    assert column.span
    assert draft.look.frame is not None
    widths = [_round_width(column.span / FEW)]
    numbers = draft.look.frame[column.name].cast(pl.Float64, strict=False).drop_nulls()
    low, high = numbers.quantile(0.05), numbers.quantile(0.95)
    if low is not None and high is not None and high > low:
        widths.append(_round_width((high - low) / FEW))
    return list(dict.fromkeys(widths))


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _encoded(column: ColumnProfile, keys: Keys, draft: Drafted) -> Table | None:
    """One column as it would be published, or None where it cannot be."""
    if draft.look.frame is None or not understood("sensitive", {"l": 2, **keys}):
        return None
    data: dict[str, Any] = {"version": 1, "attributes": {column.name: {"role": "sensitive", "l": 2, **keys}}}
    data |= {"missing": ["", *draft.missing]} if draft.missing else {}
    try:
        return encode(draft.look.frame.select(column.name), Policy.from_dict(data))
    except (InputError, PolicyError, Infeasible):
        return None


def _joined_rows(column: ColumnProfile, keys: Keys, table: Table, draft: Drafted) -> str:
    """How many rows hold a value that is joined, and how codes of diagnoses can keep more of what they say."""
    encoded, into = table[column.name], keys["rare"]["as"]
    rows = next((int(encoded.counts[code]) for code in range(encoded.size) if encoded.text(code) == into), 0)
    words = f", {rows:,} rows ({rows / table.rows:.0%})"
    along = _along(column)
    if along is not None and _encoded(column, {**keys, "rare": along}, draft) is not None:
        words += f"; rare: {flow(along)} joins them along chapters instead"
    return words


def _round_width(width: float) -> str:
    """The next 1, 2 or 5 times a power of ten.

    >>> _round_width(1700), _round_width(0.03)
    ('2000', '0.05')
    """
    power = 10.0 ** np.floor(np.log10(width))
    return number_text(float(f"{next(step * power for step in (1, 2, 5, 10) if step * power >= width):.12g}"))


# all columns -----------------------------------------------------------------------------------------------------


def _try_out(draft: Drafted) -> None:
    """Make the draft weaker until it can be published, and say what was done."""
    if draft.look.frame is None:
        return
    _without_sensitive(draft)
    with stage("trying the policy") as done:
        for i, most in enumerate(TRIED):
            sample = drawn_rows(draft.look.frame, most, "dry run")
            refusal = _refused(draft, sample)
            if refusal is not None and (refusal := _weaken(draft, sample, refusal)) is not None:
                draft.remarks.append(f"It cannot be published as it stands: {refusal}")
                return
            if i == 0:
                _with_less_lost(draft, sample)
            tried = most <= MOST_SUGGESTED and draft.suggested
            if tried and _refused(draft, sample, undecided="sensitive") is not None:
                _weaken_suggestions(draft, sample)
            if sample.height == draft.look.rows:
                break
            done((i + 1) / len(TRIED))
    rows = f"{sample.height:,} of its {draft.look.rows:,} rows" if sample.height < draft.look.rows else "the table"
    undecided = ", undecided columns as quasi" if draft.named("decide") else ""
    if draft.suggested:
        fewer = f" (on {MOST_SUGGESTED:,} rows)" if sample.height > MOST_SUGGESTED else ""
        undecided += f", and as sensitive with the keys suggested{fewer}"
    draft.remarks.insert(0, f"Tried on {rows}{undecided}: it can be published.")
    if draft.loss is not None and (lost := loss_in_words(draft.loss, len(draft.named("sensitive")))):
        draft.remarks.insert(1, lost + _loss_of_rarer(draft, sample))
    if draft.left_out:
        draft.remarks.append(left_out_words(draft.left_out))
    if draft.not_suggested:
        draft.remarks.append(not_suggested_words(draft.not_suggested))


def _with_less_lost(draft: Drafted, sample: pl.DataFrame) -> None:
    """Take mondrian where bsgi loses much and it less, as where both of two values are bounded; in groups of k rows."""
    if draft.loss is None or draft.loss.ncp <= MUCH or draft.method != "bsgi":
        return
    other = replace(draft, method="mondrian", k=K)
    if _refused(other, sample) is None and other.loss is not None and other.loss.ncp < draft.loss.ncp - NOTICED:
        draft.remarks.append(f"Method mondrian, in groups of {K} rows or more: bsgi's information loss is "
                             f"{draft.loss.ncp:.2f} here.")  # fmt: skip
        draft.method, draft.k, draft.loss = other.method, other.k, other.loss


def _loss_of_rarer(draft: Drafted, sample: pl.DataFrame) -> str:
    """What bounding both of two values costs, where much is lost."""
    if draft.loss is None or draft.loss.ncp <= MUCH:
        return ""
    other = replace(draft, lines={name: line.copied() for name, line in draft.lines.items()})
    if not _open_commoner(other) or _refused(other, sample) is not None or other.loss is None:
        return ""
    if other.loss.ncp > draft.loss.ncp - NOTICED:
        return ""
    return f" Where only the rarer of two values is bounded, it is {other.loss.ncp:.2f}."


def _open_commoner(draft: Drafted) -> bool:
    """Bound only the rarer of two values from now on; whether anything was changed."""
    both = [line for line in draft.lines.values() if line.role == "sensitive" and line.bounds and line.bounds.both]
    for line in both:
        assert line.bounds is not None
        line.opened = line.bounds
        line.bound(line.bounds.rarer())
    return bool(both)


def _bound_again(draft: Drafted, sample: pl.DataFrame) -> None:
    """Bound both of two values again of as many columns as can be, the least skewed first, and name the others."""
    lines = [line for line in draft.lines.values() if line.opened is not None and line.role == "sensitive"]
    names = [line.column.name for line in sorted(lines, key=lambda line: line.column.top_share)]
    if not names:
        return
    few = bisect_left(range(len(names)), True, key=lambda n: _refused(
        _with_both(draft, names[: len(names) - n]), sample) is None)  # fmt: skip
    bound, left = names[: len(names) - few], names[len(names) - few :]
    draft.lines = _with_both(draft, bound).lines
    draft.remarks = [remark for remark in draft.remarks if not remark.startswith(ONLY_RARER)]
    if left:
        draft.remarks.append(only_rarer_words(left))


def _with_both(draft: Drafted, names: list[str]) -> Drafted:
    """The draft with both values of these columns bounded."""
    other = replace(draft, lines={name: line.copied() for name, line in draft.lines.items()})
    for name in names:
        line = other.lines[name]
        assert line.opened is not None
        line.bound(line.opened)
    return other


def only_rarer_words(names: Sequence[str]) -> str:
    """Of what only the rarer value is bounded, though the commoner one may be the one to protect.

    >>> only_rarer_words(["sp_chf"])
    'Only the rarer of two values is bounded, because bounding both cannot be published: sp_chf. If the commoner one \
is the one to protect, bound that, or protect fewer columns.'
    """
    return (
        f"{ONLY_RARER}, because bounding both cannot be published: {', '.join(names)}. If "
        "the commoner one is the one to protect, bound that, or protect fewer columns."
    )


def left_out_words(names: Sequence[str]) -> str:
    """What was left out, and why.

    >>> left_out_words(["income", "citizenship"])
    'Left out, because they cannot all be protected together: income, citizenship; choose which to keep.'
    """
    return f"Left out, because they cannot all be protected together: {', '.join(names)}; choose which to keep."


def not_suggested_words(names: Sequence[str]) -> str:
    """What is not published if it is sensitive, and why.

    >>> not_suggested_words(["arm", "wave"])
    'If all that is undecided is sensitive, it cannot be protected together: then arm, wave would not be published. If \
fewer are, try to protect them, too: pluralis check says whether that can be published.'
    """
    return (
        f"If all that is undecided is sensitive, it cannot be protected together: then {', '.join(names)} would not be "
        "published. If fewer are, try to protect them, too: pluralis check says whether that can be published."
    )


def _without_sensitive(draft: Drafted) -> None:
    """Where nothing sensitive is left, groups of k rows are what can be promised."""
    if not draft.named("sensitive") and draft.k is None:
        draft.method, draft.k = "mondrian", min(K, max(2, draft.look.rows // 2))
        draft.remarks.append("No sensitive column is left to protect, so every group has at least k rows.")


def _weaken(draft: Drafted, sample: pl.DataFrame, refusal: str) -> str | None:
    """Make a draft weaker until it can be published, as little as may be; why it cannot, if nothing helps."""
    ls = {name: line.keys["l"] for name, line in draft.lines.items() if "l" in line.keys}
    for most in range(max(ls.values(), default=2) - 1, 1, -1):
        _with_l(draft, ls, most)
        if (still := _refused(draft, sample)) is None:
            return None
        refusal = still
    _allow_suppression(draft)
    if draft.suppress and _refused(draft, sample) is None:
        return None
    if _open_commoner(draft) and _refused(draft, sample) is None:
        _bound_again(draft, sample)
        return None
    names = sorted(draft.named("sensitive"), key=lambda name: (draft.lines[name].largest_l, name))
    few = bisect_left(range(len(names)), True, key=lambda n: _refused(_without(draft, names[:n]), sample) is None)
    left = _without(draft, names[: min(few + SPARE, max(few, len(names) - 1))])
    draft.lines, draft.remarks, draft.method, draft.k = left.lines, left.remarks, left.method, left.k
    draft.suppress = left.suppress
    for most in range(MOST_L, 1, -1):
        _with_l(draft, ls, most)
        if (still := _refused(draft, sample)) is None:
            _bound_again(draft, sample)
            return None
        refusal = still
    return refusal


def _allow_suppression(draft: Drafted) -> None:
    """Let few rows be suppressed; not where values are bounded one by one, which suppressed rows may give away."""
    draft.suppress = 0.0 if any("at_most" in line.keys for line in draft.lines.values()) else MOST_DROPPED


def _with_l(draft: Drafted, ls: dict[str, int], most: int) -> None:
    """Ask of what is protected by l for the largest that its values allow, but no more than this."""
    for name, l in ls.items():
        if "l" in draft.lines[name].keys:
            draft.lines[name].keys["l"] = min(l, most)


def _without(draft: Drafted, names: list[str]) -> Drafted:
    """The draft with these attributes left out."""
    lines = {name: line.copied() for name, line in draft.lines.items()}
    other = replace(draft, lines=lines, remarks=[*draft.remarks])
    for name in names:
        other.lines[name].leave_out("cannot be protected together with the other sensitive columns")
        other.lines[name].left_out = True
    _without_sensitive(other)
    _allow_suppression(other)
    return other


def _weaken_suggestions(draft: Drafted, sample: pl.DataFrame) -> None:
    """Weaken what is suggested of undecided columns until all of it can be protected together with the rest.

    A smaller l, then few rows suppressed, then only the rarer of two values bounded. Then as few as possible are
    suggested not to be published if they are sensitive, the most skewed first, and l is as large as can be again.
    """
    whole, ls = draft.suggested, {name: line.keys["l"] for name, line in draft.suggested.items() if "l" in line.keys}
    for most in range(max(ls.values(), default=2) - 1, 1, -1):
        _suggest_l(whole, ls, most)
        if _refused(draft, sample, undecided="sensitive") is None:
            return
    if not draft.suppress and not any("at_most" in line.keys for line in [*draft.lines.values(), *whole.values()]):
        other = replace(draft, suppress=MOST_DROPPED)
        if _refused(other, sample, undecided="sensitive") is None and _refused(other, sample) is None:
            draft.suppress, draft.loss = other.suppress, other.loss
            return
    both = [line for line in whole.values() if line.bounds is not None and line.bounds.both]
    for line in both:
        assert line.bounds is not None
        line.bound(line.bounds.rarer())
    if both and _refused(draft, sample, undecided="sensitive") is None:
        return
    names = sorted(whole, key=lambda name: (whole[name].largest_l, -_bounded(whole[name]), name))
    few = bisect_left(range(len(names)), True, key=lambda n: _refused(
        _not_suggested(draft, names[:n]), sample, undecided="sensitive") is None)  # fmt: skip
    draft.lines = _not_suggested(draft, names[: few + SPARE]).lines
    for most in range(MOST_L, 2, -1):
        _suggest_l(draft.suggested, ls, most)
        if _refused(draft, sample, undecided="sensitive") is None:
            return
    _suggest_l(draft.suggested, ls, 2)


def _bounded(line: Line) -> int:
    """How many values of a line are bounded."""
    return len(line.keys.get("at_most", ()))


def _suggest_l(lines: dict[str, Line], ls: dict[str, int], most: int) -> None:
    for name, line in lines.items():
        if "l" in line.keys:
            line.keys["l"] = min(ls[name], most)


def _not_suggested(draft: Drafted, names: list[str]) -> Drafted:
    """The draft with these undecided columns not published if they are sensitive."""
    other = replace(draft, lines={name: line.copied() for name, line in draft.lines.items()})
    for name in names:
        line = other.lines[name].if_sensitive
        assert line is not None
        line.keys, line.left_out = {"role": "identifier"}, True
    return other


def _refused(draft: Drafted, sample: pl.DataFrame, *, undecided: str = "quasi") -> str | None:
    """Why a draft cannot be published, or None. On a sample fewer rows hold each value, and rare ones are rarer."""
    data = draft.to_dict(undecided=undecided)
    part = sample.height / draft.look.rows
    if part < 1:
        for name, keys in data["attributes"].items():
            data["attributes"][name] = keys_for(keys, part, _breaks(draft, name, keys))
    try:
        losses = [
            build(sample, Policy.from_dict(data), key).loss
            for key in KEYS[: len(KEYS) if sample.height <= TRIED[0] else 1]
        ]
    except (Infeasible, PolicyError, InputError) as refusal:
        return refusal.lines[0]
    if undecided == "quasi":
        draft.loss = losses[0]
    return None


def _breaks(draft: Drafted, name: str, keys: Keys) -> list[float]:
    """Where bins begin, by all rows."""
    assert draft.look.frame is not None
    wanted = (name, flow(keys.get("bins", {})))
    if wanted not in draft.breaks:
        draft.breaks[wanted] = breaks_of(draft.look.frame, name, keys, ["", *draft.missing])
    return draft.breaks[wanted]


# writing ---------------------------------------------------------------------------------------------------------


def written(draft: Drafted) -> str:
    look, undecided = draft.look, draft.named("decide")
    lines = [
        "# A first policy: read every line, it is a guess from names, values and counts.",
        "# Roles: identifier (never published), quasi (an adversary may know it), sensitive (must not be "
        "learned), plain.",
        "version: 1",
        "attributes:",
    ]
    width = max((len(key_text(name)) for name in draft.lines), default=0) + 1
    for name, line in draft.lines.items():
        lines.append(f"  {key_text(name) + ':':<{width}} {flow(line.keys)}  # {line.comment}")
    if undecided:
        waiting = f"{len(undecided)} columns wait" if len(undecided) > 1 else "One column waits"
        lines.append(
            f"# {waiting} for you: put quasi, sensitive (with l), plain or identifier in the place of decide. "
            "Nothing is published before."
        )
    if draft.missing:
        lines.append(f"missing: {flow(['', *draft.missing])}  # these texts look like marks for what is missing")
    if look.person is not None:
        lines.append(
            f"person: {key_text(look.person)}  # {look.person!r} repeats: no two rows of one person share a group"
        )
    if draft.k is not None:
        lines.append(f"k: {draft.k}")
    lines += _adversary_block(draft)
    lines += _dependency_block(draft)
    lines += ["publish:", f"  method: {draft.method}"]
    lines.append(f"  suppress: {draft.suppress:g}  # share of rows that may be suppressed")
    lines += [f"# {_one_line(remark)}" for remark in draft.remarks]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _adversary_block(draft: Drafted) -> list[str]:
    if not draft.adversaries:
        return []
    others = "besides the one who knows every quasi-identifier: who also knows one sensitive value"
    more = len(draft.named("sensitive")) - len(draft.adversaries)
    others += f" ({more} more sensitive columns could stand here, one in each line)" if more > 0 else ""
    others += "; add to each what you decide is quasi" if draft.named("decide") else ""
    lines = [f"adversaries:  # {others}"]
    return lines + [f"  - {{knows: [{', '.join(map(key_text, names))}]}}" for names in draft.adversaries]


def _dependency_block(draft: Drafted) -> list[str]:
    """What the table shows of how columns go together, for the user to decide."""
    published = {name for name, line in draft.lines.items() if line.role != "identifier"}
    shown = [str(dependency) for dependency in draft.look.dependencies if dependency.attributes <= published]
    if not shown:
        return []
    return [
        "# The table shows that the left side decides the right. Uncomment what an outsider may know:",
        "# dependencies:",
        *(f"#   - {_item(line)}" for line in shown),
    ]


def flow(value: Any) -> str:
    """A value as YAML in one line, which is read back as it is.

    >>> flow({"role": "sensitive", "l": 4, "at_most": {"Yes": "1/4"}, "missing": ["", "?"]})
    '{role: sensitive, l: 4, at_most: {"Yes": 1/4}, missing: ["", "?"]}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(str(key))}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return _word(str(value))


def _word(text: str) -> str:
    """Small letters and shares are written as they are, all else in quotes."""
    plain = re.fullmatch(r"[a-z][a-z_-]*|\d+/\d+", text) and text not in ("null", "true", "false")
    return text if plain else json.dumps(text, ensure_ascii=False)


def _item(line: str) -> str:
    """A line of a YAML list, quoted where it must be."""
    return line if re.fullmatch(r"[A-Za-z_][-\w ,>]*", line) else json.dumps(line, ensure_ascii=False)


def key_text(name: str) -> str:
    """A name as a YAML key, quoted where it must be."""
    plain = re.fullmatch(r"[A-Za-z_][\w -]*\w|[A-Za-z_]", name) and name not in ("null", "true", "false")
    return name if plain else json.dumps(name, ensure_ascii=False)
