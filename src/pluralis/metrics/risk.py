"""Re-identification risk in the terms of officers: prosecutor, journalist and marketer risk, and uniqueness.

Classes    rows that agree in every published quasi-identifier: f of the table. In the population F people agree so.
Prosecutor whoever knows that a person is in the table finds the person's row with 1/f. Highest and average over rows;
           the average is the number of classes over the number of rows (El Emam and Dankar 2008).
Journalist whoever does not know it finds somebody with 1/F. F is not known: where the number of people in the
           population is given, the expected 1/F of a class of f rows, by Pitman's model (Pitman 1995) of how classes
           grow. Where it is not, or no model fits, the table is taken for the population, and journalist risk is
           prosecutor risk: it is no higher.
Marketer   the share of all rows that whoever wants many of them finds, on average: the average of journalist risk.
Uniqueness the share of rows that are alone in their class, in the original and in the release; and an estimate of the
           share of the population who are alone in theirs, where its size is given: Pitman's model (Hoshino 2001) where
           a tenth of the population or less is in the table, Zayatz' (1991) else, as Dankar et al. (2012) choose. Their
           other candidate, the slide negative binomial model, is not among them. Where the size is not given, the share
           is estimated for populations SAMPLED times as large as the table.
Several    of a release of several tables that with the highest prosecutor risk, on average.
Parts      of a release in parts classes are counted in each part (`risk_of_parts`). Where no row of one part looks like
           a row of another, as where quasi-identifiers decide the part and are published as they are, that is exact;
           else a class is cut into several, and every risk is at most what is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.optimize import minimize
from scipy.special import betaln, gammaln

from pluralis.display.objects import Columns, Shown
from pluralis.errors import InputError
from pluralis.release.manifest import ColumnInfo, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import Release
from pluralis.threads import in_threads

NEAR, STEPS = 2_000, 400  # other people of a class that are counted one by one, and in steps
FEW = 0.1  # share of the population up to which Pitman's model is taken
SAMPLED = (10, 100)  # how many times the table a population may be whose size is not given

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Classes(NamedTuple):
    """How many classes have each size, the smallest first.

    >>> Classes.of_sizes(np.array([2, 1, 1])).rows
    4
    """

    sizes: Ints
    counts: Ints

    @classmethod
    def of_sizes(cls, sizes: Ints) -> Classes:
        """Of classes of which each one's size is given."""
        return cls(*(part.astype(np.int64) for part in np.unique(sizes, return_counts=True)))

    @classmethod
    def of_many(cls, several: Iterable[Mapping[int, int]]) -> Classes:
        """Of those of several tables together, which have no class in common."""
        together = Counter[int]()
        for sizes in several:
            together.update(sizes)
        return cls(*(np.array(part, np.int64) for part in zip(*sorted(together.items()), strict=True)))

    @property
    def rows(self) -> int:
        """Rows in all classes."""
        return int((self.sizes * self.counts).sum())

    @property
    def number(self) -> int:
        """How many classes there are."""
        return int(self.counts.sum())

    @property
    def alone(self) -> int:
        """How many rows are alone in their class."""
        return int(self.counts[self.sizes == 1].sum())


@dataclass(frozen=True, repr=False)
class ClassRisk(Shown):
    """The risks of one table, by the sizes of its classes.

    Parameters
    ----------
    rows, classes : int
        Rows, and classes of rows that look alike.
    prosecutor_highest, prosecutor_average : float
        The chance that a person known to be in the table is found.
    journalist_highest, journalist_average : float
        The chance that a person of the population is found; the average is marketer risk.
    unique : float
        The share of rows that are alone in their class.
    population_unique : float, optional
        An estimate of the share of the population who are.
    sizes : dict
        How many classes have each size.

    Examples
    --------
    >>> risk_of_classes(Classes.of_sizes(np.array([1, 1, 2])))
    Risk of re-identification: 4 rows in 3 classes
      risk                  highest  average
      prosecutor             100.0%    75.0%
      journalist, marketer   100.0%    75.0%
      alone in their class             50.0%
    """

    rows: int
    classes: int
    prosecutor_highest: float
    prosecutor_average: float
    journalist_highest: float
    journalist_average: float
    unique: float
    population_unique: float | None = None
    sizes: Mapping[int, int] = field(default_factory=dict, compare=False)

    def _parts(self) -> Iterator[str | Columns]:
        yield f"Risk of re-identification: {self.rows:,} rows in {self.classes:,} classes"
        lines = [
            ["prosecutor", f"{self.prosecutor_highest:.1%}", f"{self.prosecutor_average:.1%}"],
            ["journalist, marketer", f"{self.journalist_highest:.1%}", f"{self.journalist_average:.1%}"],
            ["alone in their class", "", f"{self.unique:.1%}"],
        ]
        if self.population_unique is not None:
            lines.append(["alone in the population", "", f"{self.population_unique:.1%}"])
        yield Columns(("risk", "highest", "average"), lines, right=(1, 2))


@dataclass(frozen=True)
class ReidentificationRisk:
    """The risks of a release and of its original, by the quasi-identifiers that the release publishes.

    Parameters
    ----------
    quasi : tuple of str
        The quasi-identifiers.
    original, release : ClassRisk
        Before and after.
    population : int, optional
        People in the population, where that was given.
    model : str, optional
        Whose estimate of population uniqueness it is.
    if_sampled : tuple, optional
        Where the population was not given: how many times as large it may be, and the share of it that would be alone,
        by the original and by the release.

    Examples
    --------
    >>> one = risk_of_classes(Classes.of_sizes(np.array([2, 2])))
    >>> ReidentificationRisk(("age",), one, one).release.prosecutor_highest
    0.5
    """

    quasi: tuple[str, ...]
    original: ClassRisk
    release: ClassRisk
    population: int | None = None
    model: str | None = None
    if_sampled: tuple[tuple[int, float, float], ...] = ()


def risk_table(risk: ReidentificationRisk) -> Columns:
    """The risks before and after, for whoever signs.

    >>> one = risk_of_classes(Classes.of_sizes(np.array([2, 2])))
    >>> risk_table(ReidentificationRisk(("age",), one, one)).rows[0]
    ['prosecutor, highest', '50.0%', '50.0%']
    """
    before, after = risk.original, risk.release
    figures = [
        ("prosecutor, highest", before.prosecutor_highest, after.prosecutor_highest),
        ("prosecutor, average", before.prosecutor_average, after.prosecutor_average),
        ("journalist, highest", before.journalist_highest, after.journalist_highest),
        ("journalist, average: marketer", before.journalist_average, after.journalist_average),
        ("alone in the table", before.unique, after.unique),
        (f"alone in the population ({risk.model})", before.population_unique, after.population_unique),
        *((f"alone in a population {times} times as large", a, b) for times, a, b in risk.if_sampled),
    ]
    rows = [[name, f"{a:.1%}", f"{b:.1%}"] for name, a, b in figures if a is not None and b is not None]
    return Columns(("re-identification", "original", "release"), rows, right=(1, 2))


def reidentification_risk(
    release: Release, original: pl.DataFrame, *, population: int | None = None
) -> ReidentificationRisk | None:
    """The risks of a release and of its original; None where no quasi-identifier is published."""
    require_population(population, original.height)
    tables = [(info, quasi) for info in release.manifest.tables if (quasi := _quasi_columns(info, release))]
    if not tables or not release.manifest.rows:
        return None

    def published(place: tuple[TableInfo, Sequence[ColumnInfo]]) -> Ints:
        info, quasi = place
        return class_sizes(release.tables[info.name].select(column.name for column in quasi))

    worst = zip(in_threads(published, tables, release.manifest.rows), (quasi for _, quasi in tables), strict=True)
    after, quasi = max(worst, key=lambda one: one[0].size / one[0].sum())

    def values_of(column: ColumnInfo) -> pl.Series:
        return original_values(original, column, release.manifest, in_codes=True).alias(column.name)

    before = class_sizes(pl.DataFrame(in_threads(values_of, quasi, original.height)))
    names = tuple(sorted(column.attribute or column.name for column in quasi))
    return _risk_of(names, Classes.of_sizes(before), Classes.of_sizes(after), population)


def risk_of_parts(
    risks: Sequence[ReidentificationRisk | None], population: int | None = None
) -> ReidentificationRisk | None:
    """The risks of a release in parts, from those of its parts; None where one has none.

    >>> one, two = (risk_of_classes(Classes.of_sizes(np.array(sizes))) for sizes in ([1, 3], [2]))
    >>> both = [ReidentificationRisk(("age",), own, own) for own in (one, two)]
    >>> risk_of_parts(both).release.prosecutor_average
    0.5
    """
    known = [risk for risk in risks if risk is not None]
    if len(known) < len(risks) or not known:
        return None
    before, after = (Classes.of_many(risk.sizes for risk in own) for own in zip(*map(_both, known), strict=True))
    require_population(population, before.rows)
    return _risk_of(known[0].quasi, before, after, population)


def _both(risk: ReidentificationRisk) -> tuple[ClassRisk, ClassRisk]:
    return risk.original, risk.release


def require_population(population: int | None, rows: int) -> None:
    """Refuse a population that is smaller than the table."""
    if population is not None and population < rows:
        raise InputError(
            f"A population of {population:,} people is smaller than the table, which has {rows:,} rows. "
            "Give the number of all people from whom those of the table come."
        )


def _risk_of(names: tuple[str, ...], before: Classes, after: Classes, population: int | None) -> ReidentificationRisk:
    risks = risk_of_classes(before, population), risk_of_classes(after, population)
    if population is not None:
        return ReidentificationRisk(names, *risks, population, model_for(before.rows, population))
    shares = zip(SAMPLED, uniqueness_if_sampled(before), uniqueness_if_sampled(after), strict=True)
    return ReidentificationRisk(names, *risks, if_sampled=tuple(shares))


def _quasi_columns(info: TableInfo, release: Release) -> Sequence[ColumnInfo]:
    protected = release.manifest.parameters.l
    return [column for column in info.named("quasi") if (column.attribute or column.name) not in protected]


def class_sizes(rows: pl.DataFrame) -> Ints:
    """How many rows each class of equal rows has.

    >>> class_sizes(pl.DataFrame({"age": [20, 20, 30, None], "sex": ["f", "f", "f", "f"]})).tolist()
    [1, 1, 2]
    """
    hashes = np.sort(rows.hash_rows(seed=0).to_numpy())
    first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    return np.sort(np.diff(first, append=hashes.size)).astype(np.int64)


def risk_of_classes(classes: Classes, population: int | None = None) -> ClassRisk:
    """The risks of a table that has these classes.

    >>> one = risk_of_classes(Classes.of_sizes(np.array([1, 3])), 4)  # the table is the population
    >>> one.journalist_highest, one.journalist_average, one.population_unique
    (1.0, 0.5, 0.25)
    """
    rows, number, most = classes.rows, classes.number, 1 / float(classes.sizes.min())
    average, unique = number / rows, classes.alone / rows
    sizes = dict(zip(classes.sizes.tolist(), classes.counts.tolist(), strict=True))
    if population is None or population == rows:
        whole = None if population is None else unique
        return ClassRisk(rows, number, most, average, most, average, unique, whole, sizes)
    model = fitted(classes)
    expected = 1 / classes.sizes if model is None else expected_share(classes.sizes, rows, population, model)
    journalist = float((expected * classes.sizes * classes.counts).sum() / rows)
    alone = population_uniqueness(classes, population, model)
    return ClassRisk(rows, number, most, average, float(expected.max()), journalist, unique, alone, sizes)


class Pitman(NamedTuple):
    """Pitman's model of the sizes of classes; alpha from 0 to 1, and theta above -alpha."""

    alpha: float
    theta: float


def expected_share(sizes: Ints, rows: int, population: int, model: Pitman) -> Reals:
    """The expected 1/F of classes of which so many people are in the table.

    A class of f rows gets the next person with the probability (f - alpha) / (n + theta), and so on, so that F - f is
    beta-binomial. Beyond NEAR people the sum goes by steps.

    >>> expected_share(np.array([1, 4]), 5, 5, Pitman(0.5, 1.0)).tolist()  # the table is the population
    [1.0, 0.25]
    """
    more = population - rows
    if not more:
        return np.asarray(1 / sizes)
    near = np.arange(min(more, NEAR) + 1, dtype=np.float64)
    far = np.unique(np.geomspace(NEAR + 1, more, STEPS).round()) if more > NEAR else np.empty(0)
    others = np.append(near, far)
    weight = np.append(np.ones(near.size), np.gradient(far) if far.size > 1 else np.ones(far.size))
    choose = gammaln(more + 1) - gammaln(others + 1) - gammaln(more - others + 1)
    shares = []
    for f in sizes.tolist():
        a, b = f - model.alpha, rows - f + model.theta + model.alpha
        likely = weight * np.exp(choose + betaln(others + a, more - others + b) - betaln(a, b))
        shares.append(float((likely / (f + others)).sum() / likely.sum()))
    return np.asarray(np.minimum(np.array(shares), 1 / sizes), np.float64)


def model_for(rows: int, population: int) -> str:
    """Whose estimate of population uniqueness is taken.

    >>> model_for(100, 1_000), model_for(101, 1_000)
    ('Pitman', 'Zayatz')
    """
    return "Pitman" if rows <= FEW * population else "Zayatz"


def uniqueness_if_sampled(classes: Classes) -> list[float]:
    """The estimated share of the population who are alone, were it SAMPLED times as large as the table.

    >>> uniqueness_if_sampled(Classes.of_sizes(np.array([2, 2, 3])))  # nobody is alone in the table
    [0.0, 0.0]
    """
    model = fitted(classes) if classes.alone else None
    return [population_uniqueness(classes, times * classes.rows, model) for times in SAMPLED]


def population_uniqueness(classes: Classes, population: int, model: Pitman | None) -> float:
    """An estimate of the share of the population who are alone in their class."""
    if not classes.alone:
        return 0.0
    if model_for(classes.rows, population) == "Pitman" and model is not None:
        return pitman(model, population)
    return zayatz(classes, population)


def zayatz(classes: Classes, population: int) -> float:
    """Zayatz' estimate: classes of the population are as large, as often, as those of the table.

    A class of F people shows one row with the probability C(F, 1) C(N - F, n - 1) / C(N, n).

    >>> zayatz(Classes.of_sizes(np.array([1, 1, 2])), 4)  # the table is the population
    0.5
    """
    rows, different = classes.rows, classes.sizes

    def choose(many: Ints | int, some: Ints | int) -> Reals:
        return np.asarray(gammaln(np.add(many, 1)) - gammaln(np.add(some, 1)) - gammaln(np.subtract(many, some) + 1))

    possible = population - different >= rows - 1
    seen = np.zeros(different.size)
    inside = different[possible]
    logs = np.log(inside) + choose(population - inside, rows - 1) - choose(population, rows)
    seen[possible] = np.exp(logs)
    single = seen * classes.counts
    alone = float(single[different == 1].sum() / single.sum())
    return alone * classes.alone / rows


def fitted(classes: Classes) -> Pitman | None:
    """Pitman's model by maximum likelihood; None where no class, or every class, has one row, so that nothing fits.

    >>> fitted(Classes.of_sizes(np.array([1, 1, 1]))) is None
    True
    """
    rows, number = classes.rows, classes.number
    if number in (1, rows):
        return None

    def unlikely(parameters: Reals) -> float:
        """Minus the log likelihood; theta = exp(t) - alpha is above -alpha, and alpha between 0 and 1."""
        alpha = 1 / (1 + np.exp(-parameters[0]))
        theta = np.exp(parameters[1]) - alpha
        grown = log_new_classes(Pitman(alpha, theta), number) - gammaln(theta + rows) + gammaln(theta + 1)
        return -float(grown + (classes.counts * (gammaln(classes.sizes - alpha) - gammaln(1 - alpha))).sum())

    best = minimize(unlikely, np.array([0.0, np.log(number)]), method="Nelder-Mead", options={"maxiter": 2_000})
    alpha = float(1 / (1 + np.exp(-best.x[0])))
    return Pitman(alpha, float(np.exp(best.x[1])) - alpha)


def log_new_classes(model: Pitman, classes: int) -> float:
    """The log of the product of theta + i alpha, i from 1 to classes - 1, without going through them.

    It is alpha^m Gamma(m) / B(theta / alpha + 1, m), m = classes - 1.
    """
    alpha, theta = model
    more = classes - 1
    return float(more * np.log(alpha) + gammaln(more) - betaln(theta / alpha + 1, more))


def pitman(model: Pitman, population: int) -> float:
    """The share of the population who are alone in their class, expected by the model.

    N (theta + alpha)(theta + alpha + 1)… / ((theta + 1)(theta + 2)…) are, N - 1 factors each.

    >>> round(pitman(Pitman(0.5, 1.0), 2), 3)  # the second is unlike the first with (theta + alpha) / (theta + 1)
    0.75
    """
    alpha, theta = model
    grown = gammaln(theta + alpha + population - 1) - gammaln(theta + alpha)
    return float(np.exp(grown - gammaln(theta + population) + gammaln(theta + 1)))
