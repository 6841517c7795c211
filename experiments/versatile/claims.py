"""What the paper says, held against results. What words such as "nearly" mean was fixed before the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import polars as pl

from experiments.reproduce import Case, Printed, Results
from experiments.versatile.releases import GD, MULTI, MULTI_PAPER, SINGLE, UAD
from experiments.versatile.seen import LABELS, TABLES, mean, rows, settings, short

NEARLY = 0.10  # "nearly identical"
CLEARLY = 0.75  # "significantly outperforms": at most so much of the other one
TWICE = 2.0  # "deteriorates significantly"
MAGNITUDE = 10.0  # "orders of magnitude": one at least
BARELY = 0.20  # "barely any influence", "not significantly affected"
LINEAR = 1.15  # the exponent up to which seconds grow linearly
WEEK = 7 * 24 * 3600.0

Check = Callable[[Results, Printed], Iterable[Case]]


def value(results: Results, example: str, what: str) -> float:
    """A number of the running example."""
    return float(rows(results, "example", example=example, what=what)["value"].item())


# schemas ----------------------------------------------------------------------------------------------------------


def intersection(results: Results, printed: Printed) -> Iterator[Case]:
    measured = {
        what: value(results, "Tables 2", what) for what in ("tuples revealed", "rules broken by one table alone")
    }
    people = printed["example"]["tuples_revealed"]
    yield Case(
        measured["tuples revealed"] == people, f"{measured['tuples revealed']:.0f} tuples of one possible zipcode"
    )
    yield Case(measured["rules broken by one table alone"] == 0, "no table breaks its rule alone")


def example(results: Results, _: Printed) -> Iterator[Case]:
    kept = [value(results, "Table 3", f"rule {i}") for i in (1, 2, 3)]
    yield Case(all(kept), f"Table 3: {sum(kept):.0f} of 3 rules kept")
    yield Case(value(results, "Table 4", "rule 1") == 1, "Table 4: rule 1 is guarded")
    yield Case(value(results, "Table 4", "rule 2") == 0, "rule 2 is not")


def uad_in_form(results: Results, _: Printed) -> Iterator[Case]:
    totals = results["schemas"].sum().row(0, named=True)
    yield Case(totals["uad"] == totals["sets"], f"{totals['uad']:,} of {totals['sets']:,} random sets of rules")


def loop_ends(results: Results, _: Printed) -> Iterator[Case]:
    totals = results["schemas"].sum().row(0, named=True)
    for kind, which in (("", "without circles"), ("_circular", "with circles")):
        loops, ended = totals[f"loops{kind}"], totals[f"ended{kind}"]
        yield Case(ended == loops, f"it ends for {ended:,} of {loops:,} sets of rules {which}")


def decomposable(results: Results, _: Printed) -> Iterator[Case]:
    ring = "four tables in a ring"
    form, tree = value(results, ring, "rules in normal form"), value(results, ring, "decomposable")
    yield Case(not form or bool(tree), "{a,b}, {b,c}, {c,d}, {d,a} with the rule e -> f: in GNF, and a circle")


def rules_kept(results: Results, _: Printed) -> Iterator[Case]:
    for method in (GD, UAD):
        chosen = rows(results, "adult", method=method)
        kept, sets = int(chosen["kept"].sum()), int(chosen["sets"].sum())
        yield Case(kept == sets, f"{LABELS[method]}: the audit finds all rules kept in {kept:,} of {sets:,} releases")


# Adult ------------------------------------------------------------------------------------------------------------


def _adult(results: Results, measure: str, method: str, count: int) -> float:
    return mean(results, "adult", measure, method=method, rules=count)


def one_rule(results: Results, _: Printed) -> Iterator[Case]:
    kls = {method: _adult(results, "kl", method, 1) for method in (GD, UAD, MULTI_PAPER, MULTI)}
    yield Case(math.isclose(kls[GD], kls[UAD], rel_tol=1e-3), f"KL of GD {short(kls[GD])}, of UAD {short(kls[UAD])}")
    for method in (MULTI_PAPER, MULTI):
        same = math.isclose(kls[GD], kls[method], rel_tol=1e-3)
        yield Case(same, f"of {LABELS[method]} {short(kls[method])}")


def nearly_identical(measure: str) -> Check:
    def check(results: Results, _: Printed) -> Iterator[Case]:
        for count in _several(results):
            gd, uad = (_adult(results, measure, method, count) for method in (GD, UAD))
            yield Case(math.isclose(gd, uad, rel_tol=NEARLY), f"c = {count}: {short(gd)} and {short(uad)}")

    return check


def outperform(measure: str, baselines: tuple[str, ...]) -> Check:
    def check(results: Results, _: Printed) -> Iterator[Case]:
        for count in _several(results):
            ours = [_adult(results, measure, method, count) for method in (GD, UAD)]
            theirs = [_adult(results, measure, method, count) for method in baselines]
            words = " and ".join(map(short, ours)) + " against " + " and ".join(map(short, theirs))
            yield Case(max(ours) < min(theirs), f"c = {count}: {words}")

    return check


def _several(results: Results) -> list[int]:
    """The numbers of rules that are larger than one."""
    return [count for count in settings(results, "adult", "rules") if count > 1]


def deteriorates(results: Results, _: Printed) -> Iterator[Case]:
    counts = settings(results, "adult", "rules")
    for measure, title in (("kl", "KL"), ("error", "error")):
        few, many = (_adult(results, measure, MULTI_PAPER, count) for count in (counts[0], counts[-1]))
        yield Case(many >= TWICE * few, f"{title} {short(few)} at c = {counts[0]}, {short(many)} at c = {counts[-1]}")


def least_group(results: Results, _: Printed) -> Iterator[Case]:
    for method in (MULTI_PAPER, MULTI):
        least = float(rows(results, "adult", method=method)["groups_over_least"].min())  # type: ignore[arg-type]
        yield Case(least >= 1 - 1e-9, f"{LABELS[method]}: the smallest has {short(least)} times as many")


def large_buckets(results: Results, _: Printed) -> Iterator[Case]:
    counts = settings(results, "adult", "rules")
    for method in (MULTI_PAPER, MULTI):
        few, many = (_adult(results, "group", method, count) for count in (counts[0], counts[-1]))
        words = f"{LABELS[method]}: {short(few)} rows at c = {counts[0]}, {short(many)} at c = {counts[-1]}"
        yield Case(many > few, words)


def slow_multi(results: Results, _: Printed) -> Iterator[Case]:
    for count in _several(results):
        multi, gd, uad = (_adult(results, "seconds", method, count) for method in (MULTI_PAPER, GD, UAD))
        words = f"c = {count}: {_ms(multi)} against {_ms(gd)} and {_ms(uad)}"
        yield Case(multi >= MAGNITUDE * max(gd, uad), words)


def uad_faster(results: Results, _: Printed) -> Iterator[Case]:
    for count in _several(results):
        gd, uad = (_adult(results, "seconds", method, count) for method in (GD, UAD))
        yield Case(uad < gd, f"c = {count}: {_ms(uad)} against {_ms(gd)}")


def no_overhead(results: Results, _: Printed) -> Iterator[Case]:
    for method in (UAD, GD, MULTI_PAPER):
        single, other = (mean(results, "adult", "seconds", method=m) for m in (SINGLE, method))
        yield Case(single < other, f"{_ms(single)} against {LABELS[method]}'s {_ms(other)}")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.1f} s"


# large tables -----------------------------------------------------------------------------------------------------


def weeks(results: Results, _: Printed) -> Iterator[Case]:
    gd = float(rows(results, "seconds", method=GD)["seconds"].max())  # type: ignore[arg-type]
    yield Case(gd >= WEEK, f"at most {short(gd)} s for {_said(settings(results, 'seconds', 'rules', method=GD))} rules")


def _said(counts: list[int]) -> str:
    return f"{counts[0]} to {counts[-1]}"


def clearly_below(measure: str) -> Check:
    def check(results: Results, _: Printed) -> Iterator[Case]:
        for table, title in TABLES.items():
            for count in settings(results, "rules", "rules", table=table):
                uad, single = (
                    mean(results, "rules", measure, table=table, rules=count, method=m) for m in (UAD, SINGLE)
                )
                yield Case(uad <= CLEARLY * single, f"{title}, c = {count}: {short(uad)} against {short(single)}")

    return check


def exact_alone(results: Results, _: Printed) -> Iterator[Case]:
    for table, title in TABLES.items():
        errors = [mean(results, "queries", "error", table=table, dimensions=1, method=m) for m in (UAD, SINGLE)]
        yield Case(max(errors) < 1e-9, f"{title}: errors of {short(errors[0])} and {short(errors[1])}")


def below_asked(results: Results, _: Printed) -> Iterator[Case]:
    for table, title in TABLES.items():
        chosen = rows(results, "queries", table=table).filter(pl.col("dimensions") > 1)
        for dimensions, part in sorted(set(chosen.select("dimensions", "part").rows())):
            uad, single = (
                mean(results, "queries", "error", table=table, dimensions=dimensions, part=part, method=method)
                for method in (UAD, SINGLE)
            )
            asked = f"qd = {dimensions}" if part == 0.4 else f"p = {part}"
            yield Case(uad < single, f"{title}, {asked}: {short(uad)} against {short(single)}")


def hardly_changes(name: str, base: int) -> Check:
    """Whether UAD's error stays where it was as a setting grows."""

    def check(results: Results, _: Printed) -> Iterator[Case]:
        for table, title in TABLES.items():
            values = [v for v in settings(results, name, name, table=table) if v >= base]
            errors = [mean(results, name, "error", table=table, method=UAD, **{name: v}) for v in values]
            for v, error in list(zip(values, errors, strict=True))[1:]:
                same = math.isclose(error, errors[0], rel_tol=BARELY)
                yield Case(same, f"{title}, {name} = {v}: {short(error)}, with {values[0]} {short(errors[0])}")

    return check


def same_schema(results: Results, _: Printed) -> Iterator[Case]:
    schemas = rows(results, "l", method=UAD).group_by("table", "set").agg(pl.col("schema").n_unique())
    yield Case(
        schemas["schema"].max() == 1, f"one schema for every l in {schemas.height} of {schemas.height} sets of rules"
    )


def linear(results: Results, _: Printed) -> Iterator[Case]:
    growth = rows(results, "growth", method=UAD).sort("rows")
    (first, low), (last, high) = (growth.select("rows", "seconds").row(i) for i in (0, -1))
    power = math.log(high / low) / math.log(last / first)
    words = f"n^{power:.2f} from {short(first)} to {short(last)} rows, {_ms(low)} to {_ms(high)}"
    yield Case(power <= LINEAR, words)


def axes(results: Results, printed: Printed) -> Iterator[Case]:
    """The largest value of each figure, of the methods that the paper shows, beside where its axis ends."""
    drawn = (GD, UAD, MULTI_PAPER, SINGLE)
    largest = {f"figure{i}": _most(results, "adult", m, drawn) for i, m in enumerate(("kl", "error", "seconds"), 1)}
    largest["figure4"] = _most(results, "seconds", "seconds", (UAD,))
    large = {
        "figure5": ("rules", "kl"),
        "figure6": ("rules", "error"),
        "figure9": ("lhs", "error"),
        "figure10": ("l", "error"),
    }
    largest |= {name: _most(results, *columns, (UAD, SINGLE)) for name, columns in large.items()}
    asked = results["queries"]
    largest["figure7"] = _most({"queries": asked.filter(pl.col("part") == 0.4)}, "queries", "error", (UAD, SINGLE))
    largest["figure8"] = _most({"queries": asked.filter(pl.col("dimensions") == 4)}, "queries", "error", (UAD, SINGLE))
    for name, ticks in printed["axes"].items():
        within = ticks[-2] < largest[name] <= ticks[-1]
        yield Case(within, f"Figure {name[6:]}: {short(largest[name])}, axis {short(ticks[-2])} to {short(ticks[-1])}")


def _most(results: Results, experiment: str, measure: str, methods: tuple[str, ...]) -> float:
    """The largest mean over sets."""
    table = results[experiment].filter(pl.col("method").is_in(methods))
    beside = [n for n in ("table", "rules", "method", "dimensions", "part", "lhs", "l") if n in table.columns]
    largest = table.group_by(beside).agg(pl.col(measure).mean())[measure].max()
    assert isinstance(largest, float)
    return largest
