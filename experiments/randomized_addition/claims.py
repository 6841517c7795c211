"""What the paper says of its figures, as checks over results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import polars as pl

from experiments.randomized_addition.measure import DEFAULT_QD, DEFAULT_S, SHAPES
from experiments.reproduce.paper import Case, Claim, Printed, Results

NEAR = 0.1  # "almost the same" as a formula
ALIKE = 2.0  # "almost the same" as another method: within this factor; "much fewer": by this factor
NAMES = {"uniform": "uniform", "gaussian": "Gaussian", "poisson": "Poisson"}
DEFAULT_L = {"OCC": 8, "SAL": 10}
PEERS = ("anatomy", "tp")
PAPERS = ("uniform", *PEERS)

Check = Callable[[Results, Printed], Iterable[Case]]


def short(value: float) -> str:
    """A number in two digits.

    >>> short(0.00037377), short(0.25), short(6.3467)
    ('3.7e-04', '0.25', '6.3')
    """
    if abs(value) < 1e-12:
        return "0"
    return f"{value:.1e}" if abs(value) < 0.01 else f"{value:.2g}"


def mse(rows: pl.DataFrame, method: str) -> float | None:
    """The error of a method at one point; None where it refused."""
    errors = rows.filter(method=method)["mse"]
    return errors[0] if errors.len() else None


def steps(name: str, xs: Sequence[float], ys: Sequence[float], *, up: bool, what: str) -> Iterator[Case]:
    """A series that is to rise, or to fall, at each step: one case, with its ends or the first step against it."""
    if len(xs) < 2:
        return
    for (x, y), (next_x, next_y) in pairwise(zip(xs, ys, strict=True)):
        if (next_y > y) != up:
            yield Case(False, f"{name}: {short(y)} at {what} = {x:g}, {short(next_y)} at {next_x:g}")
            return
    yield Case(True, f"{name}: {short(ys[0])} at {what} = {xs[0]:g} to {short(ys[-1])} at {xs[-1]:g}")


# Figure 1 -------------------------------------------------------------------------------------------------------------

PANELS = {
    "a": (pl.col("l") == 5) & (pl.col("rows") == 1_000),
    "b20": (pl.col("m") == 20) & (pl.col("rows") == 1_000),
    "b100": (pl.col("m") == 100) & (pl.col("rows") == 1_000),
    "c": (pl.col("l") == 5) & (pl.col("m") == 20),
}


def panel(results: Results, name: str, by: str, shape: str = "uniform") -> pl.DataFrame:
    """The points of a panel of Figure 1, in order."""
    return results["analysis"].filter(PANELS[name], shape=shape).sort(by)


def trend(name: str, by: str, *, up: bool, what: str, prefix: str = "") -> Check:
    """Eq. 19 and what was simulated along one axis of Figure 1."""

    def check(results: Results, _: Printed) -> Iterator[Case]:
        rows = panel(results, name, by)
        yield from steps(f"{prefix}eq. 19", rows[by].to_list(), rows["eq19"].to_list(), up=up, what=what)
        for shape in SHAPES:
            rows = panel(results, name, by, shape)
            yield from steps(
                f"{prefix}{NAMES[shape]}", rows[by].to_list(), rows["simulated"].to_list(), up=up, what=what
            )

    return check


def _both(*checks: Check) -> Check:
    def check(results: Results, printed: Printed) -> Iterator[Case]:
        for each in checks:
            yield from each(results, printed)

    return check


def steeper(results: Results, _: Printed) -> Iterator[Case]:
    few, many = (panel(results, name, "l") for name in ("b20", "b100"))
    rises = [b / a for a, b in pairwise(few["eq19"].to_list())]
    ls = few["l"].to_list()
    yield Case(rises[-1] > rises[-2], f"20 values, l = {ls[-2]} to {ls[-1]}: times {rises[-1]:.2g}")
    for source in ("eq19", "simulated"):
        small, large = many[source][-1], few[source][-1]
        words = "eq. 19" if source == "eq19" else "simulated"
        yield Case(small < large / 10, f"{words}, l = 18: {short(small)} for 100 values, {short(large)} for 20")


def relative_to_rows(results: Results, _: Printed) -> Iterator[Case]:
    for shape in SHAPES:
        rows = panel(results, "c", "rows", shape)
        times = (rows["rows"] * rows["simulated"]).to_list()
        if times:
            words = f"{NAMES[shape]}: MSE × N between {min(times):.3g} and {max(times):.3g}"
            yield Case(max(times) <= (1 + NEAR) * min(times), words)


def as_analysed(results: Results, _: Printed) -> Iterator[Case]:
    measures = {"simulated": "against the table", "of_population": "against the distribution it is drawn from"}
    for column, against in measures.items():
        for shape in SHAPES:
            rows = results["analysis"].filter(shape=shape).with_columns(off=pl.col(column) / pl.col("eq19") - 1)
            if rows.height:
                worst = rows.sort(pl.col("off").abs()).row(-1, named=True)
                setting = f"|S| = {worst['m']}, l = {worst['l']}, N = {worst['rows']:,}"
                yield Case(
                    abs(worst["off"]) <= NEAR, f"{NAMES[shape]}, {against}: up to {worst['off']:+.0%} ({setting})"
                )


# Figures 2 to 4 -------------------------------------------------------------------------------------------------------


def default(results: Results, *, s: bool = False, l: bool = False) -> pl.DataFrame:
    """Points with seven quasi-identifiers and the defaults but for s or l."""
    rows = results["workers"].filter(d=7, qd=DEFAULT_QD)
    rows = rows if s else rows.filter(pl.col("s") == DEFAULT_S)
    return rows if l else rows.filter(pl.col("l") == pl.col("data").replace_strict(DEFAULT_L, return_dtype=pl.Int64))


def dimensions(results: Results) -> pl.DataFrame:
    """The points of Figure 2."""
    rows = results["workers"].filter(pl.col("s") == DEFAULT_S)
    return rows.filter(pl.col("l") == pl.col("data").replace_strict(DEFAULT_L, return_dtype=pl.Int64))


def like_tp(results: Results, _: Printed) -> Iterator[Case]:
    for (data, qd), rows in dimensions(results).filter(d=3).group_by("data", "qd", maintain_order=True):
        own, tp = mse(rows, "uniform"), mse(rows, "tp")
        if own and tp:
            words = f"{data}-3, qd = {qd}: {short(own)} against tp's {short(tp)}"
            yield Case(max(own, tp) <= ALIKE * min(own, tp), words)


def much_fewer(results: Results, _: Printed) -> Iterator[Case]:
    for (data, d, qd), rows in (
        dimensions(results).filter(pl.col("d") > 3).group_by("data", "d", "qd", maintain_order=True)
    ):
        yield from _smallest(f"{data}-{d}, qd = {qd}", rows, ALIKE)


def smallest_by_l(results: Results, _: Printed) -> Iterator[Case]:
    for (data, l), rows in default(results, l=True).group_by("data", "l", maintain_order=True):
        yield from _smallest(f"{data}-7, l = {l}", rows, 1.0)


def _smallest(where: str, rows: pl.DataFrame, factor: float) -> Iterator[Case]:
    """Whether uniform addition errs so many times less than each of its peers that publishes at all."""
    own, others = mse(rows, "uniform"), {name: mse(rows, name) for name in PEERS}
    known = {name: error for name, error in others.items() if error is not None}
    if own is not None and known:
        words = ", ".join(f"{name} {short(error)}" for name, error in known.items())
        yield Case(own * factor < min(known.values()), f"{where}: {short(own)} against {words}")


def along(which: str, *, up: bool) -> Check:
    """Whether errors rise, or fall, with l or s, for each method."""

    def check(results: Results, _: Printed) -> Iterator[Case]:
        rows = default(results, **{which: True}).filter(pl.col("method").is_in(PAPERS), pl.col("mse").is_not_null())
        for (data, method), own in rows.sort(which).group_by("data", "method", maintain_order=True):
            xs, ys = own[which].to_list(), own["mse"].to_list()
            yield from steps(f"{data}, {method}", xs, ys, up=up, what=which)

    return check


# Figures 5 and 6 ------------------------------------------------------------------------------------------------------


def succeeded(results: Results, _: Printed) -> Iterator[Case]:
    for (l,), rows in results["adult"].group_by("l", maintain_order=True):
        done = {name: int(rows.filter(method=name)["done"].sum()) for name in PAPERS}
        words = (
            f"l = {l}: {done['uniform']} of {rows['sensitive'].n_unique()} against {done['anatomy']} and {done['tp']}"
        )
        yield Case(done["uniform"] > max(done["anatomy"], done["tp"]), words)


def sizes(results: Results) -> dict[str, int]:
    """How many values each attribute of Adult has."""
    return dict(results["tables"].filter(table="Adult").select("attribute", "values").iter_rows())


def any_database(results: Results, _: Printed) -> Iterator[Case]:
    known = sizes(results)
    own = results["adult"].filter(method="uniform")
    fits = [(done, l < known[sensitive]) for sensitive, l, done in own.select("sensitive", "l", "done").iter_rows()]
    asked = sum(fit for _, fit in fits)
    done = sum(done for done, fit in fits if fit)
    yield Case(done == asked, f"Adult: {done} of {asked} pairs of attribute and l < |S|")
    workers = results["workers"].filter(method="uniform")
    where = f"OCC and SAL: {int(workers['done'].sum())} of {workers.height} points"
    yield Case(bool(workers["done"].all()), where)


def near_all_values(results: Results, _: Printed) -> Iterator[Case]:
    for sensitive, size in sizes(results).items():
        rows = results["adult"].filter(sensitive=sensitive, l=size - 1)
        own, even = mse(rows, "uniform"), mse(rows, "even")
        if own is not None and even is not None:
            words = f"{sensitive}, l = {size - 1}: {short(own)}, {short(even)} if all values were taken to be alike"
            yield Case(own < even / 10, words)


def common(results: Results) -> pl.DataFrame:
    """Mean errors by l and method over the attributes that all three methods of the paper publish."""
    rows = results["adult"]
    every = rows.filter(pl.col("method").is_in(PAPERS)).group_by("sensitive", "l").agg(pl.col("done").all())
    kept = rows.join(every.filter("done").select("sensitive", "l"), on=["sensitive", "l"], how="semi")
    return kept.group_by("l", "method").agg(pl.col("mse").mean(), pl.len().alias("attributes")).sort("l", "method")


def fewer_on_adult(results: Results, _: Printed) -> Iterator[Case]:
    for (l,), rows in common(results).group_by("l", maintain_order=True):
        yield from _smallest(f"l = {l}", rows, 1.0)


def precise(results: Results, _: Printed) -> Iterator[Case]:
    for (sex,), rows in results["relationship"].group_by("sex", maintain_order=True):
        error_of = by_sex(rows)
        words = ", ".join(f"{name} {short(error_of[name])}" for name in PEERS)
        yield Case(
            error_of["uniform"] < min(error_of[name] for name in PEERS),
            f"{sex}: {short(error_of['uniform'])} ({words})",
        )


def by_sex(rows: pl.DataFrame) -> dict[str, float]:
    """Eq. 2 by method, mean over keys."""
    squared = rows.with_columns(off=(pl.col("share") - pl.col("true")) ** 2)
    return dict(squared.group_by("method").agg(pl.col("off").mean()).iter_rows())


def confidence(results: Results, _: Printed) -> Iterator[Case]:
    rows = results["privacy"].filter(pl.col("what").is_in(["hit", "uniform posterior"]))
    for what, m, l, measured in rows.select("what", "m", "l", "measured").iter_rows():
        values = "Adult's occupation" if what == "uniform posterior" else f"{m} skewed values"
        yield Case(measured <= 1.05 / l, f"{values}, l = {l}: {measured:.2f} against {1 / l:.2f}")


ANATOMY = (
    "It holds for OCC. On SAL anatomy is as good: bins of incomes are nearly equal in size, equally full ones give to "
    "groups in their order here, and half of the groups hold l neighboring bins. With bins in a drawn order it errs "
    "two to three times as much, and the claim holds on SAL, too (Figures 2 and 3)."
)
CLAIMS = (
    Claim("The MSE tends to decrease with an increase of |S|.", "section 6.1, Figure 1(a)",
          trend("a", "m", up=False, what="|S|")),
    Claim("The MSE of the method increases by increasing l.", "section 6.1, Figure 1(b)",
          _both(trend("b20", "l", up=True, what="l", prefix="20 values, "),
                trend("b100", "l", up=True, what="l", prefix="100 values, "))),
    Claim("With l near |S| the MSE increases exponentially; it keeps a small value if l is much less than |S|.",
          "section 6.1, Figure 1(b)", steeper),
    Claim("The MSE is reduced relative to N.", "section 6.1, Figure 1(c)", relative_to_rows),
    Claim("In all simulations (uniform, Gaussian, Poisson) results are almost the same as the mathematical analysis.",
          "section 6.1, eq. 19", as_analysed,
          why="Eq. 19 also counts the drawing of the table from a distribution; given the table the error is (l − 1)"
              "(m − 1)/(N m (m − l)), which is 0 at l = 1 and comes near eq. 19 for large l."),
    Claim("The method gives a small MSE on real data even if l is |S| − 1 (here: a tenth of the error of a guess that "
          "all values are alike).", "section 6.1", near_all_values,
          why="The error goes with 1/N, and queries about few people make the mean: the median over queries is below a "
              "fiftieth of such a guess's for all four."),
    Claim("With 3 quasi-identifiers the MSEs of the method and of TP are almost the same (here: within a factor of 2).",
          "section 6.2, Figure 2", like_tp,
          why="OCC allows no l above 8: at 8 tp moves 29 % of its rows to the residue, 7 % of SAL's. Divided by tp's "
              "own total, its error on SAL-3 is within that factor for both qd."),
    Claim("With more, the method's MSE is much smaller than those of the others (here: half or less).",
          "section 6.2, Figure 2", much_fewer, why=ANATOMY),
    Claim("Where l is large, the MSEs are also large.", "section 6.2, Figure 3", along("l", up=True),
          why="The exception is by less than 1 %."),
    Claim("The method has the smallest MSE among the three, for l from 5 to 15.", "section 6.2, Figure 3",
          smallest_by_l, why=ANATOMY),
    Claim("The MSEs decrease as s grows.", "section 6.2, Figure 4", along("s", up=False),
          why="Between 0.07 and 0.1 eq. 20 names as many values of most attributes, and which is drawn anew."),
    Claim("TP and Anatomy cannot anonymize several databases made from Adult; the method does more of them.",
          "section 6.2, Figure 5(a)", succeeded),
    Claim("The method can be applied to any database when l is less than the number of different sensitive values.",
          "section 1", any_database),
    Claim("Over all databases made from Adult the method has the smaller average MSE.", "section 6.2, Figure 5(b)",
          fewer_on_adult,
          why="From l = 8 on only age and fnlwgt can be published by all. Half of anatomy's groups of age hold l ages "
              "in a row, so that a group tells the age; fnlwgt has 26,741 values for 45,222 people. At l = 7 "
              "occupation is at the largest l that it allows."),
    Claim("The method estimates the distribution of relationship for men and women with the highest precision.",
          "section 6.2, Figure 6", precise),
    Claim("Adversaries cannot specify a sensitive value with confidence greater than 1/l.", "section 1, Theorem 5.1",
          confidence,
          why="Dummies are equally likely, so that the commonest value of a set is likelier the true one: P(v | R) = "
              "n(v) / Σ n(u) over the set. Theorem 5.1 counts how often values stand in sets. Calibrated addition, "
              "ours, keeps to 1/l (numbers below)."),
)  # fmt: skip
