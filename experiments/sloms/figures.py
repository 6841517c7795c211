"""The figures of the SLOMS paper in its axes, and its printed numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from experiments.reproduce import Figure, Number, Printed, Results
from experiments.reproduce.line_figures import Line, Panel
from experiments.sloms.census import METHODS, PRINTED
from experiments.sloms.claims import one, rows_with
from experiments.sloms.measures import ALONE, COMPARED, FOUR, GROUPS

BOUND = "least that must be suppressed"
NUMBERS = {name: i for i, name in enumerate((*METHODS, BOUND, PRINTED, FOUR, ALONE, GROUPS))}
LETTERS = "abcd"


def figures(results: Results, _: Printed) -> Iterator[Figure]:
    ratios, rows, times = results["suppression"], results["distortion"], results["time"]
    yield Figure(
        "figure2",
        "Figure 2. Suppression ratio against l, n = 10,000",
        [_figure2(results, d, letter) for d, letter in zip(sorted(ratios["d"].unique()), LETTERS, strict=False)],
        "Our default lies on the least that any method must suppress, so that both lines are one. MSB-KACA is the "
        "paper's algorithm (`variant: paper`). Above l = 7 nobody can publish anything: class of worker has seven "
        "values. In (c) the slices that Table VIII prints do not have class of worker at all, nor its bound.",
    )
    additional = "AddInfoLoss (eq. 8)"
    yield Figure(
        "figure3",
        "Figure 3. Additional information loss",
        [
            Panel(
                "(a) d = 4, n = 10,000",
                "l",
                additional,
                _lines(rows_with(ratios, d=4, n=10_000), "l", "additional_loss"),
            ),
            Panel(
                "(b) d = 4, l = 6", "rows n", additional, _lines(rows_with(ratios, d=4, l=6), "n", "additional_loss")
            ),
        ],
        "0.001 means that groups are on average a thousandth larger than l rows. Lines that are not seen are at 0. "
        "Above l = 7 nothing is published.",
    )
    yield Figure("figure4", "Figure 4. Distortion, l = k = 6, d = 4", list(_figure4(rows)), CAPTION_4)
    yield Figure(
        "figure5",
        "Figure 5. Execution time",
        [
            Panel(
                title,
                axis,
                "processor seconds (logarithmic)",
                _lines(rows_with(times, **fixed), x, "seconds"),
                log=True,
            )
            for title, axis, x, fixed in (
                ("(a) d = 4, l = 6", "rows n", "n", {"d": 4, "l": 6}),
                ("(b) n = 10,000, l = 6", "sensitive attributes d", "d", {"n": 10_000, "l": 6}),
                ("(c) n = 10,000, d = 4", "l", "l", {"n": 10_000, "d": 4}),
            )
        ],
        "The time to plan: which rows go together. Reading, encoding and writing are not in it. Above l = 7 nothing "
        "can be published.",
        across=3,
    )


CAPTION_4 = (
    "Axes are logarithmic. Above, a row that is not published counts as `*` in every attribute; there KACA over four "
    "attributes and MBF's groups are almost one line, near |QI| for each row. MSB-KACA publishes the quasi-identifiers "
    "of rows without a group too; our default suppresses such rows. KACA for occupation alone protects one attribute, "
    "the others four."
)


def _figure4(rows: pl.DataFrame) -> Iterator[Panel]:
    for what, axis_of, more in (
        ("with_suppressed", "distortion (eq. 4)", ""),
        ("of_a_row", "distortion of a row (eq. 3)", ", each published row"),
    ):
        by_quasi, by_rows = rows_with(rows, n=10_000), rows_with(rows, quasi=5)
        title, axis = f"(a) n = 10,000{more}", "quasi-identifiers |QI|"
        yield Panel(title, axis, axis_of, _lines(by_quasi, "quasi", what, COMPARED), log=True)
        yield Panel(f"(b) |QI| = 5{more}", "rows n", axis_of, _lines(by_rows, "n", what, COMPARED), log=True)


def _figure2(results: Results, d: int, letter: str) -> Panel:
    rows, bound = rows_with(results["suppression"], d=d, n=10_000), rows_with(results["least"], people="at work", d=d)
    bound = bound.filter(pl.col("l").is_in(rows["l"].unique().implode()))
    least = Line(BOUND, bound["l"].to_list(), bound["suppressed_share"].to_list(), NUMBERS[BOUND])
    lines = [least, *_lines(rows, "l", "suppressed_share")]
    return Panel(f"({letter}) d = {d}", "l", "suppression ratio (eq. 9)", lines, log=False)


def _lines(rows: pl.DataFrame, x: str, y: str, names: tuple[str, ...] = (*METHODS, PRINTED)) -> list[Line]:
    lines = []
    for name in names:
        own = rows_with(rows, method=name).drop_nulls(y).sort(x)
        if own.height:
            lines.append(Line(name, own[x].to_list(), own[y].to_list(), NUMBERS[name]))
    return lines


def numbers(results: Results, printed: Printed) -> Iterator[Number]:
    worked, expected, known = results["worked"], printed["worked"], printed["known"]

    def ours(what: str) -> float:
        return one(worked, "value", what=what)

    yield Number("WHD(5, 3) of a zip code", "section III.A", expected["whd_5_3"], ours("whd"), 0.01)
    for name, value, place in zip(
        ("t1", "t5", "t6"), expected["priorities"], ("first", "second", "third"), strict=True
    ):
        yield Number(f"priority of {name} in MMDCF", "section IV.A", value, ours(f"{place} priority"))
    yield Number("groups of three rows of Table I that are 3-diverse in all four", "Table II", 1, ours("triples"))
    yield Number(
        "rows of Table I that MSB suppresses", "section I", expected["msb_suppressed"], ours("suppressed by MSB")
    )
    yield Number(
        "rows of Table I that SLOMS suppresses",
        "section II",
        expected["sloms_suppressed"],
        ours("suppressed by SLOMS, paper"),
    )
    yield Number(
        "rows of Table I that generalization keeps",
        "section II.B",
        len(expected["generalized_kept"]),
        ours("kept by generalization"),
        why="All nine rows are one 3-diverse group: no value of any attribute stands in more than three of them.",
    )
    attributes = results["attributes"]
    for row in printed["table7"]:
        distinct = one(attributes, "distinct", attribute=row["column"])
        yield Number(f"values of {row['name']}", "Table VII", row["distinct"], distinct, why=_why(row["name"]))
    yield from _numbers_of_census(attributes, known)
    yield Number(
        "cases of 36 in which a slice gives one attribute for the other",
        "Tables III to VI ([S2](../methods/sloms.md#s2-linked-attributes))",
        known["linked"],
        ours("linked"),
    )
    marks = results["marked"].group_by("attribute").agg(pl.mean("commonest"))
    for name, share in known["marked"].items():
        yield Number(
            f"share of Adult's rows without a group that hold the commonest {name}, l = {known['marked_l'][name]}",
            "[S1](../methods/sloms.md#s1-rows-without-a-group)",
            share,
            one(marks, "commonest", attribute=name),
            0.05,
        )


def _numbers_of_census(attributes: pl.DataFrame, known: Mapping[str, float]) -> Iterator[Number]:
    place = "Census-Income (KDD)"

    def ours(what: str, name: str) -> float:
        return one(attributes, what, attribute=name)

    job, trade, kind = "detailed_occupation_code", "detailed_industry_code", "class_of_worker"
    yield Number("rows of the training part", place, known["rows"], ours("rows", job))
    yield Number("rows with a detailed occupation", place, known["rows_at_work"], ours("rows_at_work", job))
    yield Number("occupations", place, known["occupations"], ours("distinct", job))
    yield Number("occupations of people at work", place, known["occupations_at_work"], ours("distinct_at_work", job))
    yield Number("industries", place, known["industries"], ours("distinct", trade))
    yield Number("largest l of occupation", place, known["largest_l_of_occupation"], ours("largest_l_at_work", job))
    yield Number(
        "classes of worker of people at work", place, known["classes_of_worker_at_work"], ours("distinct_at_work", kind)
    )
    yield Number("share of class of worker Private", place, known["private"], ours("commonest_at_work", kind), 0.01)


def _why(name: str) -> str:
    if name.startswith("Major"):
        return "The paper has the two major codes the wrong way round."
    return "The public file has so many; the paper does not say how it counted."
