"""A first look at a table: what each column is like, and what it could be in a policy."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from pluralis.errors import InputError
from pluralis.grouping.correlation import mean_square_contingency
from pluralis.grouping.dependencies import Coded, pairs, singles
from pluralis.grouping.eligibility import largest_l
from pluralis.policy.rules import Dependency
from pluralis.table.labels import number_text
from pluralis.table.sources import read_table
from pluralis.table.spelling import canonical_spellings

_FEW = 60  # values: a column with at most so many is a category
_SURE = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")

_NAMES = {
    "identifier": r"(^|[^a-z])(id|name|ssn|email|e-mail|phone|mrn|patient|person|passport|account|record)([^a-z]|$)",
    "sensitive": r"disease|diagnos|illness|salary|income|wage|occupation|religion|procedure|drug|icd|insurer|charges|"
    r"payment|hiv|party|orient|crime|debt|score|grade|drg",
    "quasi": r"age|birth|sex|gender|zip|post|county|city|state|country|race|ethnic|marital|educat|region|nation|"
    r"hours|admission|hospital|relationship|workclass",
}


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it holds, and the largest l it could have as a sensitive attribute."""

    name: str
    type: str
    distinct: int
    missing: int
    top_value: str
    top_share: float
    largest_l: int
    role: str
    span: float | None = None  # of numbers: the largest less the smallest


@dataclass(frozen=True)
class Profile:
    """What `pluralis profile` shows."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    dependencies: tuple[Dependency, ...]  # by one column, then by two of which neither is enough
    correlations: tuple[tuple[str, str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"dependencies": [dependency.model_dump() for dependency in self.dependencies]}


def profile(source: object) -> Profile:
    """Look at a table (a path or a frame) column by column."""
    frame = read_table(source)
    if not frame.height:
        raise InputError("The table has no rows. There is nothing to look at.")
    text = {name: _tidy(frame[name]) for name in frame.columns}
    columns = tuple(_profile_column(name, series) for name, series in text.items())
    tidy = pl.DataFrame(text)
    return Profile(frame.height, columns, tuple(_dependencies(tidy, columns)), tuple(_correlations(tidy, columns)))


def _tidy(series: pl.Series) -> pl.Series:
    text = series.cast(pl.String)
    spelled = canonical_spellings(text, fold_case=True)
    text = text.replace_strict(spelled["text"], spelled["spelling"], default=None)
    return text.set(text == "", None).rename(series.name)


def _profile_column(name: str, series: pl.Series) -> ColumnProfile:
    counts = series.drop_nulls().value_counts(name="\0rows").sort(["\0rows", series.name], descending=[True, False])
    numbers = counts.height > 0 and bool(counts[series.name].str.contains(f"^{_SURE.pattern}$").all())
    top = counts.row(0) if counts.height else ("", 0)
    best = largest_l(counts["\0rows"].to_numpy().astype(np.int64)) if counts.height else 0
    return ColumnProfile(
        name=name,
        type="number" if numbers else "text",
        distinct=counts.height,
        missing=series.null_count(),
        top_value=str(top[0]),
        top_share=top[1] / series.len() if series.len() else 0.0,
        largest_l=best,
        role=suggest_role(name, counts.height, series.len(), numbers),
        span=float(np.ptp(counts[series.name].cast(pl.Float64).to_numpy())) if numbers else None,
    )


def suggest_role(name: str, distinct: int, rows: int, number: bool) -> str:
    """A guess, to be corrected by a person; what is not recognised is treated as known to an adversary.

    >>> suggest_role("disease", 10, 1000, False), suggest_role("height", 90, 1000, True)
    ('sensitive', 'quasi')
    """
    lower = name.lower()
    if re.search(_NAMES["identifier"], lower) or (not number and rows > 20 and distinct > 0.9 * rows):
        return "identifier"
    if re.search(_NAMES["sensitive"], lower):
        return "sensitive"
    return "quasi"


def _dependencies(frame: pl.DataFrame, columns: tuple[ColumnProfile, ...]) -> list[Dependency]:
    """What decides what, coincidences left out; identifiers, which are never published, are left out too."""
    coded = [_coded(frame[column.name]) for column in columns if column.role != "identifier"]
    return [*singles(coded), *pairs(coded)]


def _coded(series: pl.Series) -> Coded:
    values = series.drop_nulls().unique()
    codes = series.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(values.len()).to_numpy()
    return Coded(series.name, codes, values.len() + (series.null_count() > 0))


def _correlations(frame: pl.DataFrame, columns: tuple[ColumnProfile, ...]) -> list[tuple[str, str, float]]:
    """Cramér's V between categories that could be sensitive, the strongest first."""
    names = [c.name for c in columns if c.role == "sensitive" and 1 < c.distinct <= _FEW]
    pairs = [(a, b, _cramers_v(frame, a, b)) for a, b in combinations(names, 2)]
    return sorted(pairs, key=lambda pair: -pair[2])[:20]


def _cramers_v(frame: pl.DataFrame, a: str, b: str) -> float:
    codes = [frame[name].cast(pl.Enum(frame[name].drop_nulls().unique().sort())).to_physical() for name in (a, b)]
    both = pl.DataFrame({"a": codes[0], "b": codes[1]}).drop_nulls()
    return float(np.sqrt(mean_square_contingency(both["a"].to_numpy(), both["b"].to_numpy())))


def first_policy(look: Profile) -> str:
    """A policy to edit, with comments that say why each line is there."""
    lines = [
        "# A first policy: read every line, it is a guess from names and counts.",
        "# Roles: identifier (never published), quasi (an adversary may know it), sensitive (must not be "
        "learnt), plain.",
        "version: 1",
        "attributes:",
    ]
    width = max((len(_key(column.name)) for column in look.columns), default=0) + 1
    person = None
    for column in look.columns:
        parts = [f"role: {column.role}"]
        said = f"{column.distinct:,} values"
        if column.missing:
            said += f", {column.missing:,} missing"
        if column.role == "identifier" and column.distinct < look.rows - column.missing and person is None:
            person = column.name
        if column.role == "quasi" and column.type == "number":
            parts.append("type: number")
        if column.role == "quasi" and re.search(r"zip|post", column.name.lower()):
            parts = ["role: quasi", "hierarchy: {mask: right}"]
        if column.role == "sensitive":
            if column.largest_l < 2:
                parts = ["role: identifier"]
                said += f"; {column.top_value!r} fills {column.top_share:.0%}: too skewed to protect, so not published"
            else:
                parts.append(f"l: {min(column.largest_l, 4)}")
                said += f", {column.top_value!r} fills {column.top_share:.1%}; the largest l is {column.largest_l}"
                if column.span and column.distinct > _FEW:
                    parts += ["type: number", f"bin: {_round_width(column.span / _FEW)}"]
                    said += "; in bins, since close numbers tell as much as equal ones"
        lines.append(f"  {_key(column.name) + ':':<{width}} {{{', '.join(parts)}}}  # {said}")
    if person is not None:
        lines.append(f"person: {_key(person)}  # {person!r} repeats: no two rows of one person share a group")
    secrets = [c.name for c in look.columns if c.role == "sensitive" and c.largest_l >= 2]
    quasi = [c.name for c in look.columns if c.role == "quasi"]
    if len(secrets) > 1:
        lines.append("adversaries:  # besides the one who knows every quasi attribute: who also knows one secret")
        lines += [f"  - {{knows: [{', '.join(map(_key, [*quasi, secret]))}]}}" for secret in secrets]
    lines += _dependency_block(look)
    lines += ["publish:", "  method: bsgi", "  suppress: 0  # share of rows that may be left out"]
    return "\n".join(lines) + "\n"


def _dependency_block(look: Profile) -> list[str]:
    """What the table shows of how columns go together, for the user to decide."""
    published = {c.name for c in look.columns if not (c.role == "sensitive" and c.largest_l < 2)}
    shown = [str(dependency) for dependency in look.dependencies if dependency.attributes <= published]
    if not shown:
        return []
    return [
        "# The table shows that the left side decides the right. Uncomment what an outsider may know:",
        "# dependencies:",
        *(f"#   - {_item(line)}" for line in shown),
    ]


def _round_width(width: float) -> str:
    """The next 1, 2 or 5 times a power of ten.

    >>> _round_width(1700), _round_width(0.03)
    ('2000', '0.05')
    """
    power = 10.0 ** np.floor(np.log10(width))
    return number_text(float(f"{next(step * power for step in (1, 2, 5, 10) if step * power >= width):.12g}"))


def _item(line: str) -> str:
    """A line of a YAML list, quoted where it must be."""
    return line if re.fullmatch(r"[A-Za-z_][-\w ,>]*", line) else json.dumps(line, ensure_ascii=False)


def _key(name: str) -> str:
    """A name as a YAML key, quoted where it must be."""
    plain = re.fullmatch(r"[A-Za-z_][\w -]*\w|[A-Za-z_]", name) and name not in ("null", "true", "false")
    return name if plain else json.dumps(name, ensure_ascii=False)
