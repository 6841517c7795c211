"""A first look at a table: what each column is like, and what it could be in a policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from pluralis.display.objects import Columns, Shown, filled_in
from pluralis.errors import InputError
from pluralis.grouping.correlation import mean_square_contingency
from pluralis.grouping.dependencies import CodedColumn, pairs, singles
from pluralis.grouping.eligibility import largest_l
from pluralis.policy.rules import Dependency
from pluralis.profiling.roles import role_of
from pluralis.profiling.shapes import shape_of
from pluralis.profiling.vocabulary import is_id_of_people, names_a_person, words_of
from pluralis.progress import stage
from pluralis.table.canonical import as_text
from pluralis.table.encoding import MANY_ROWS
from pluralis.table.labels import number_text
from pluralis.table.sources import read_table
from pluralis.table.spelling import canonical_spellings

FEW = 60  # values: a column with at most so many is a category
RARE = 20  # rows: a value that fewer hold says who they are
MOST_VALUES = 100_000  # of which the shape is looked at

_SURE = r"^-?(0|[1-9]\d*)(\.\d+)?$"
_SHAPES_SHOWN = ("date", "money", "icd-9", "icd-10", "doses", "flag")
_STAFF = {
    "physician",
    "doctor",
    "provider",
    "attending",
    "operating",
    "npi",
    "employer",
    "surgeon",
    "hospital",
    "facility",
}


@dataclass(frozen=True, repr=False)
class ColumnProfile(Shown):
    """One column: what it holds, and the largest l it could have as a sensitive attribute.

    Parameters
    ----------
    name, type : str
        Its name, and "number" or "text".
    distinct, missing : int
        Different values, and rows without one.
    top_value, top_share : str and float
        The commonest value, and the share of rows that have it.
    largest_l : int
        The best that any method can promise for it.
    role : str
        A guess, to be corrected by a person; "decide" where nothing says what it is.
    span : float, optional
        Of numbers: the largest less the smallest.
    reason : str
        What speaks for the role.
    shape : str
        What the values look like: "flag", "bands", "ordinal", "date", "money", "code", "icd-9", "icd-10", "zip",
        "doses", or nothing.
    marks : tuple of str
        Values that look like marks for a missing one. They are counted as missing here.
    order : tuple of str
        Bands or words in their order.
    rare : int
        How many values are held by fewer than 20 rows.
    odd : tuple of str
        The few values that are no numbers, in a column of numbers.
    smallest, largest : float, optional
        Of numbers.

    Examples
    --------
    >>> profile(pl.DataFrame({"disease": ["flu", "hiv", "flu", "gout"]})).columns[0]
    Column disease, perhaps sensitive
      type          text
      distinct      3
      missing       0
      top value     flu, 50.0%
      largest l     2
      role because  its name speaks of health (disease)
      rare values   3
    """

    name: str
    type: str
    distinct: int
    missing: int
    top_value: str
    top_share: float
    largest_l: int
    role: str
    span: float | None = None  # of numbers: the largest less the smallest
    reason: str = ""
    shape: str = ""
    marks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    rare: int = 0
    odd: tuple[str, ...] = ()
    smallest: float | None = None
    largest: float | None = None

    @property
    def ends(self) -> str | None:
        """Of numbers: the smallest and the largest."""
        if self.smallest is None or self.largest is None:
            return None
        return f"{number_text(self.smallest)} to {number_text(self.largest)}"

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Column {self.name}, perhaps {self.role}"
        yield from filled_in({
            "type": self.type,
            "distinct": f"{self.distinct:,}",
            "missing": f"{self.missing:,}",
            "top value": f"{self.top_value}, {self.top_share:.1%}",
            "largest l": str(self.largest_l),
            "numbers": self.ends,
            "looks like": self.shape,
            "role because": self.reason,
            "marks": ", ".join(self.marks),
            "order": " < ".join(_ends(self.order)),
            "rare values": f"{self.rare:,}" if self.rare else None,
            "no numbers": ", ".join(self.odd),
        })  # fmt: skip


@dataclass(frozen=True, repr=False)
class Profile(Shown):
    """What a table is like, column by column.

    Parameters
    ----------
    rows : int
        Of the table.
    columns : tuple of ColumnProfile
        Type, values, the commonest one, the largest l, and the role that it may have.
    dependencies : tuple of Dependency
        What decides what: by one column, then by two of which neither is enough.
    correlations : tuple of (str, str, float)
        Cramér's V between columns that may be sensitive, the strongest first.
    frame : polars.DataFrame, optional
        The table, on which a draft is tried.

    Examples
    --------
    >>> profile(pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]}))
    Profile: 4 rows, 2 columns
      column   type    distinct  missing  top value  share  largest l  perhaps
      age      number         4           20         25.0%          4  quasi
      disease  text           3           flu        50.0%          2  sensitive
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    dependencies: tuple[Dependency, ...]  # by one column, then by two of which neither is enough
    correlations: tuple[tuple[str, str, float], ...]
    frame: pl.DataFrame | None = field(default=None, repr=False, compare=False)  # the table, to try a draft on

    @property
    def person(self) -> str | None:
        """The column that seems to tell people apart, where they have several rows."""
        able = [c for c in self.columns if c.role == "identifier" and not c.missing and c.distinct < self.rows]
        ids = [c.name for c in able if is_id_of_people(c.name) and c.distinct > MANY_ROWS]  # of however many rows each
        several = [c.name for c in able if self.rows <= MANY_ROWS * c.distinct]
        named = [name for name in several if names_a_person(name)]
        others = [name for name in several if not (_STAFF | {"address"}) & set(words_of(name))]
        return next(iter([*ids, *named, *others]), None)

    def draft(self) -> str:
        """A first policy as YAML, to edit, with comments that say why each line is there.

        It is tried on the table before it is written: what cannot be published is changed until it can.

        Returns
        -------
        str
            What `pluralis init` writes.

        Examples
        --------
        >>> text = profile(pl.DataFrame({"age": [20, 30], "disease": ["flu", "hiv"]})).draft()
        >>> print(text.splitlines()[4])
          age:     {role: quasi, type: number}  # 2 values
        """
        from pluralis.profiling.drafting import first_policy

        return first_policy(self)

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data.

        Returns
        -------
        dict
            As `pluralis profile --json` prints it.

        Examples
        --------
        >>> profile(pl.DataFrame({"age": [20, 30]})).to_dict()["rows"]
        2
        """
        return {
            "rows": self.rows,
            "columns": [asdict(column) for column in self.columns],
            "dependencies": [dependency.model_dump() for dependency in self.dependencies],
            "correlations": [list(correlation) for correlation in self.correlations],
        }

    def remarks(self) -> Iterator[tuple[str, list[list[str]]]]:
        """What the values look like, and the key of a policy that is for it.

        Returns
        -------
        iterator of (str, list of list of str)
            A title, and a line for each column.

        Examples
        --------
        >>> ages = pl.DataFrame({"age": ["[0-10)", "[10-20)", "[10-20)", "?"]})
        >>> [title for title, _ in profile(ages).remarks()][-1]
        'Values that stand in an order (order):'
        """
        shown = [column for column in self.columns if column.role != "identifier"]
        marks = [
            [c.name, ", ".join(map(repr, c.marks)), f"{c.missing:,} rows without a value"] for c in shown if c.marks
        ]
        bands = [[c.name, " < ".join(_ends(c.order))] for c in shown if c.order]
        joined = [c for c in shown if c.rare and c.type == "text" and self.rows >= 50 * RARE]
        rare = [[c.name, f"{c.rare:,} of {c.distinct:,}"] for c in joined]
        seen = [[c.name, c.shape] for c in shown if c.shape in _SHAPES_SHOWN]
        odd = [[c.name, ", ".join(map(repr, c.odd))] for c in shown if c.odd]
        numbers = [[c.name, c.ends] for c in shown if c.ends is not None and c.distinct > FEW // 3]
        for title, lines in (
            ("Texts that look like marks for a missing value, and are counted as such here (missing):", marks),
            ("Values that stand in an order (order):", bands),
            ("Looks like:", seen),
            ("Numbers, but for these:", odd),
            (f"Values that fewer than {RARE} rows hold (rare):", rare),
            ("Numbers, from the smallest to the largest (top and bottom hide those far out):", numbers),
        ):
            if lines:
                yield title, lines

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Profile: {self.rows:,} rows, {len(self.columns):,} columns"
        heads = ("column", "type", "distinct", "missing", "top value", "share", "largest l", "perhaps")
        yield Columns(heads, [
            [c.name, c.type, f"{c.distinct:,}", f"{c.missing:,}" if c.missing else "", c.top_value[:28],
             f"{c.top_share:.1%}", f"{c.largest_l:,}", c.role]
            for c in self.columns
        ], right=(2, 3, 5, 6))  # fmt: skip
        for title, lines in self.remarks():
            yield title
            yield Columns(("",) * len(lines[0]), lines)
        if self.dependencies:
            yield "The left side decides the right:"
            yield Columns(("",), [[str(dependency)] for dependency in self.dependencies])
        if self.correlations:
            yield "Correlation between columns that may be sensitive (Cramér's V):"
            yield Columns(("", "", ""), [[a, b, f"{v:.2f}"] for a, b, v in self.correlations], right=(2,))


def profile(table: object, *, encoding: str = "utf-8", separator: str | None = None) -> Profile:
    """Look at a table column by column: type, values, the largest l, and what decides what.

    Parameters
    ----------
    table : str, Path or data frame
        A CSV or Parquet file, or a polars, pandas or pyarrow table.
    encoding, separator : str
        Of a CSV file, as in `read_table`.

    Returns
    -------
    Profile
        What each column is like, and what it could be in a policy.

    Raises
    ------
    InputError
        If the table cannot be read, or has no rows.

    Examples
    --------
    >>> look = profile(pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]}))
    >>> [(column.name, column.role, column.largest_l) for column in look.columns]
    [('age', 'quasi', 4), ('disease', 'sensitive', 2)]
    """
    frame = read_table(table, encoding=encoding, separator=separator)
    if not frame.height:
        raise InputError("The table has no rows. There is nothing to look at.")
    text, seen = {}, []
    with stage("looking at each column") as done:
        for i, name in enumerate(frame.columns):
            text[name] = _tidy(frame[name])
            seen.append(_profile_column(name, text[name]))
            done((i + 1) / frame.width)
    columns, tidy = tuple(seen), pl.DataFrame(text)
    with stage("looking for what goes together"):
        dependencies, correlations = tuple(_dependencies(tidy, columns)), tuple(_correlations(tidy, columns))
    return Profile(frame.height, columns, dependencies, correlations, frame)


def _tidy(series: pl.Series) -> pl.Series:
    text = as_text(series, [])
    spelled = canonical_spellings(text, fold_case=True)
    text = text.replace_strict(spelled["text"], spelled["spelling"], default=None)
    return text.set(text == "", None).rename(series.name)


def _profile_column(name: str, series: pl.Series) -> ColumnProfile:
    counts = series.drop_nulls().value_counts(name="\0rows").sort(["\0rows", series.name], descending=[True, False])
    rows_of = dict(counts.head(MOST_VALUES).iter_rows())
    shape = shape_of(rows_of, words_of(name))
    if shape.marks:
        counts = counts.filter(~pl.col(series.name).is_in(list(shape.marks)))
        rows_of = {value: rows for value, rows in rows_of.items() if value not in shape.marks}
    values = counts["\0rows"].to_numpy().astype(np.int64)
    top = counts.row(0) if counts.height else ("", 0)
    numbers = shape.number and counts.height > 0
    if counts.height > MOST_VALUES:
        numbers = numbers and bool(counts[series.name].str.contains(_SURE).all())
    known = counts[series.name].cast(pl.Float64).to_numpy() if numbers else None
    role, reason = role_of(name, shape, rows_of, int(values.sum()), series.len(), counts.height)
    return ColumnProfile(
        name=name,
        type="number" if numbers else "text",
        distinct=counts.height,
        missing=series.len() - int(values.sum()),
        top_value=str(top[0]),
        top_share=top[1] / series.len() if series.len() else 0.0,
        largest_l=largest_l(values) if counts.height else 0,
        role=role,
        span=None if known is None else float(np.ptp(known)),
        reason=reason,
        shape=shape.word,
        marks=shape.marks,
        order=shape.order,
        rare=int((values < RARE).sum()),
        odd=shape.odd,
        smallest=None if known is None else float(known.min()),
        largest=None if known is None else float(known.max()),
    )


def _ends(order: tuple[str, ...]) -> tuple[str, ...]:
    return order if len(order) <= 4 else (*order[:2], "…", order[-1])


def _dependencies(frame: pl.DataFrame, columns: tuple[ColumnProfile, ...]) -> list[Dependency]:
    """What decides what, without coincidences, and without identifiers, which are never published."""
    coded = [CodedColumn.from_series(frame[column.name]) for column in columns if column.role != "identifier"]
    return [*singles(coded), *pairs(coded)]


def _correlations(frame: pl.DataFrame, columns: tuple[ColumnProfile, ...]) -> list[tuple[str, str, float]]:
    """Cramér's V between categories that could be sensitive, the strongest first."""
    names = [c.name for c in columns if c.role == "sensitive" and 1 < c.distinct <= FEW]
    pairs = [(a, b, _cramers_v(frame, a, b)) for a, b in combinations(names, 2)]
    return sorted(pairs, key=lambda pair: -pair[2])[:20]


def _cramers_v(frame: pl.DataFrame, a: str, b: str) -> float:
    codes = [frame[name].cast(pl.Enum(frame[name].drop_nulls().unique().sort())).to_physical() for name in (a, b)]
    both = pl.DataFrame({"a": codes[0], "b": codes[1]}).drop_nulls()
    return float(np.sqrt(mean_square_contingency(both["a"].to_numpy(), both["b"].to_numpy())))
