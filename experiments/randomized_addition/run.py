"""Randomized Addition of Sensitive Attributes for l-diversity (Sei and Ohsuga, SECRYPT 2014), reproduced."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.randomized_addition.claims import CLAIMS, DEFAULT_L
from experiments.randomized_addition.data import ACS, ADULT, TRAINING
from experiments.randomized_addition.figures import figures, numbers
from experiments.randomized_addition.measure import (
    DEFAULT_QD,
    DEFAULT_S,
    SHAPES,
    analysis,
    mixed,
    on_adult,
    privacy,
    relationship,
    tables,
    workers,
)
from experiments.reproduce.paper import Experiment, Paper, Point

ATTRIBUTES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
LS = {"OCC": (5, 6, 7, 8, 10, 15), "SAL": (5, 7, 10, 12, 15)}
SELECTIVE = (0.04, 0.07, 0.1, 0.4, 0.7, 1.0)


def _synthetic(sizes: tuple[int, ...], ls: tuple[int, ...], rows: tuple[int, ...]) -> list[Point]:
    """The points of Figure 1, panel by panel, each once."""
    settings = [(m, 5, 1_000) for m in sizes]
    settings += [(m, l, 1_000) for m in (20, 100) for l in ls]
    settings += [(20, 5, n) for n in rows]
    return [{"m": m, "l": l, "rows": n, "shape": shape} for m, l, n in dict.fromkeys(settings) for shape in SHAPES]


def _workers() -> Iterator[Point]:
    for data, l in DEFAULT_L.items():
        for d in (3, 5, 7):
            for qd in range(1, d):
                yield _point(data, d, qd, l, DEFAULT_S)
        for s in SELECTIVE:
            yield _point(data, 7, DEFAULT_QD, l, s)
        for other in LS[data]:
            yield _point(data, 7, DEFAULT_QD, other, DEFAULT_S)


def _point(data: str, d: int, qd: int, l: int, s: float) -> Point:
    return {"data": data, "d": d, "qd": qd, "l": l, "s": s}


def _once(points: Iterator[Point]) -> list[Point]:
    return [dict(point) for point in dict.fromkeys(tuple(point.items()) for point in points)]


WORKERS = _once(_workers())
QUICK = [
    _point(data, d, qd, l or default, s)
    for data, default in DEFAULT_L.items()
    for d, qd, l, s in ((3, 1, 0, DEFAULT_S), (7, 3, 0, DEFAULT_S), (7, 3, 0, 0.4), (7, 3, 5, DEFAULT_S))
]
MIXED = [{**point, "data": "SAL"} for point in WORKERS if point["data"] == "SAL" and point["s"] == DEFAULT_S]
PRIVACY: list[Point] = [
    {"what": what, "m": m, "l": l}
    for what, m, l in (
        *(("posterior", 14, l) for l in (2, 4, 7)),
        *(("uniform posterior", 14, l) for l in (2, 4, 7)),
        *(("condition", 14, l) for l in (2, 4, 7)),
        *(("hit", m, l) for m, l in ((3, 2), (10, 5), (50, 10))),
        ("twice", 10, 2),
        ("seeds", 10, 2),
        ("seconds", 6, 2),
    )
]
TABLES: list[Point] = [{"table": "Adult"}, {"table": "ACS"}]
ON_ADULT: list[Point] = [{"sensitive": sensitive, "l": l} for sensitive in ATTRIBUTES for l in range(2, 11)]
QUICK_ON_ADULT: list[Point] = [
    {"sensitive": sensitive, "l": l}
    for sensitive, l in (("occupation", 2), ("occupation", 5), ("relationship", 2), ("relationship", 5), ("race", 5))
]

SETTINGS = """\
- **Synthetic values** (Figure 1): N records, |S| values, uniform, Gaussian (deviation |S|/6) or Poisson (mean |S|/4);
  500 drawn tables for each point, each published once. The paper does not say which |S| and N its curves span, nor
  the Gaussian's and the Poisson's parameters.
- **OCC and SAL** (Figures 2 to 4): their data may not be passed on. The American Community Survey of 2018, 295,243
  workers with an income, stands in for them, with the attributes of Table 6 in its order: age, gender, marital
  status, race, birth place, education, work class. Occupation by its 27 major groups, income in 50 bins of nearly
  equal size. OCC-d and SAL-d have the first d of the seven.
- **l.** The commonest group of occupations has 11.7 % of the people, so that no method that puts 1/l into its groups
  can publish OCC with l above 8. Figures 2 and 4 take l = 8 for OCC, and 10, the paper's, for SAL.
- **Queries**: qd random quasi-identifiers, and of each as many random values as eq. 20 says; s = 0.07 and qd = 3 where
  nothing else is said; 1,000 queries (300 for each table of Figure 5). MSE is eq. 2 over all sensitive values,
  among the N people who pass, averaged over queries that somebody passes. Figures 3 and 4 take d = 7, which the paper
  does not state.
- **Adult**: 45,222 records, each of the 15 attributes in turn as the sensitive one, the other 14 as quasi-identifiers
  (Figure 5); relationship by sex, l = 2, five keys (Figure 6).
- **Methods**: `randomized-addition` with `claim: set-size`, with `variant: paper` (*uniform*) and as it is by
  default (*calibrated*); `anatomy`; `tp` with `variant: paper`, whose residue is one group. All attributes are
  categories. Answers are those of `pluralis.estimate`, unbiased and not cut off at 0. One key, but for Figure 6.
- **Beside them**: *totals alone* answers as if quasi-identifiers and sensitive values had been published apart. *tp, of
  its own total*: eq. 2 divides by the true number of people who pass, which tp's reader does not know; this line
  divides by tp's own. *Anatomy, bins in drawn order* is anatomy on SAL whose bins are named in an order that is not
  that of incomes.
- **What sets give away**: occupation of Adult's 30,162 training records; and tables of 20,000 rows with 3, 10 and 50
  values, one of them in 90, 60 and 50 % of the rows, the others alike. How skewed the prototype's were is not
  known: these shares were chosen because they come near its hit rates, so that agreement there is no evidence.
- **A busy machine.** Other work ran beside this; the seconds may be too long.
"""

DIFFERENCES = """\
**Eq. 19 and the exact error.** Eq. 19 is the error of the estimate against the distribution that a table was drawn
from. Eq. 2, by which the paper measures, is against the table, and its expectation is (l − 1)(m − 1)/(N m (m − l)),
whatever the distribution. Simulations follow that form. The two differ by (m − 1)/(N m²): half of eq. 19 at l = 2,
little of it at large l.

**What is promised.** Equally likely dummies do not give 1/l: of Adult's occupations at l = 7 the commonest value of a
set is right for 27 % of the people, not 14 %. Calibrated addition gives 1/l and errs more, the more the nearer l is
to what the values allow: at OCC-7 and l = 5 a sixth more than uniform addition, at l = 8, the largest possible, three
times as much. On SAL, whose values are even, both are alike.

**Peers.** Eq. 2 divides by the true number of people whom a query is about, which whoever reads tp's tables has to
estimate. Where few people pass, tp may expect many more, and one such query outweighs many others: its mean is about
fifty times its median on OCC-7 and SAL-7. Divided by tp's own total its error is that of *totals alone* wherever the
residue holds nearly everybody (96 % of OCC-7, 94 % of SAL-7). Anatomy lies not far below *totals alone* on OCC: of
what it says of a person one part in l is true and the rest what others of the group have, and that does not become
better with more people. Uniform addition is unbiased, and its error falls with N.

**SAL.** Anatomy is as good as uniform addition on SAL. Bins of nearly equal size give to groups in their order here,
so that half of the groups hold ten neighboring bins, and a group tells the income. With bins in a drawn order its
error is two to three times as large, and what the paper says of Figures 2 and 3 holds on SAL, too. The same goes for
age in Figure 5, where half of anatomy's groups hold l ages in a row.

**Selectivity.** At s = 1 every query asks about everybody. Anatomy, tp and totals are exact then; randomized addition
is not.

**Calibrated design.** Condition numbers at l = 2 and 4 are above those of a prototype, which shuffled values
anew for every row: a design here has 64 orders, fixed and public, so that it can be published.
"""

PAPER = Paper(
    name="randomized-addition",
    title="Randomized Addition of Sensitive Attributes for l-diversity",
    reference="Yuichi Sei, Akihiko Ohsuga. SECRYPT 2014.",
    data=(ADULT, TRAINING, ACS),
    settings=SETTINGS,
    experiments=(
        Experiment("tables", "what the tables hold", TABLES, TABLES, tables),
        Experiment("privacy", "what sets give away", PRIVACY, PRIVACY, privacy),
        Experiment(
            "analysis",
            "Figure 1",
            _synthetic(tuple(range(10, 101, 10)), tuple(range(2, 19, 2)), (200, 500, 1_000, 2_000, 5_000, 10_000)),
            _synthetic((10, 50, 100), (2, 10, 14, 18), (200, 1_000, 2_000)),
            analysis,
        ),
        Experiment("workers", "Figures 2 to 4", WORKERS, QUICK, workers),
        Experiment("mixed", "anatomy by bins in a drawn order", MIXED, MIXED[2:4], mixed),
        Experiment("adult", "Figure 5", ON_ADULT, QUICK_ON_ADULT, on_adult),
        Experiment(
            "relationship",
            "Figure 6",
            [{"l": 2, "key": key} for key in range(5)],
            [{"l": 2, "key": 0}],
            relationship,
        ),
    ),
    claims=CLAIMS,
    numbers=numbers,
    figures=figures,
    differences=DIFFERENCES,
)
