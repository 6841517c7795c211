"""The pages of a reproduction, written from results alone: one for each paper, and a summary of all claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.reproduce.line_figures import lines_svg, number
from experiments.reproduce.paper import HOLDS, IN_PART, NOT, UNKNOWN, Claim, Figure, Judged, Number, Paper
from experiments.reproduce.running import about, folder_of, printed, results
from pluralis.report.drawing import png

PAGES = Path("docs") / "reproduction"
SIGNS = {HOLDS: "✓", IN_PART: "◐", NOT: "✗", UNKNOWN: "·"}


def judged(paper: Paper, root: Path) -> list[Judged]:
    """Every claim of a paper held against what was measured."""
    measured, expected = results(paper, root), printed(paper)
    return [claim.judged(measured, expected) for claim in paper.claims]


def claims_in_words(claims: Sequence[Judged]) -> str:
    """How many claims hold."""
    holds, part, none, unknown = (sum(claim.verdict == verdict for claim in claims) for verdict in SIGNS)
    words: tuple[str, ...] = (
        f"{holds} hold",
        f"{part} hold in part",
        f"{none} {'does' if none == 1 else 'do'} not hold here",
    )
    words += (f"{unknown} not measured",) if unknown else ()
    return f"{len(claims)} claims: {', '.join(words)}."


def write_pictures(paper: Paper, root: Path) -> None:
    """Figures as SVG and PNG."""
    figures = list(paper.figures(results(paper, root), printed(paper)))
    folder = folder_of(paper, root) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        picture = lines_svg(figure.title, figure.panels, across=figure.across)
        (folder / f"{figure.name}.svg").write_text(picture + "\n", encoding="utf-8")
        (folder / f"{figure.name}.png").write_bytes(png(picture))


def write_page(paper: Paper, root: Path) -> Path:
    """The page of a paper."""
    path = root / PAGES / f"{paper.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(paper, root), encoding="utf-8")
    return path


def page(paper: Paper, root: Path) -> str:
    """A paper's page: settings, claims, numbers, figures, differences."""
    measured, expected, run = results(paper, root), printed(paper), about(paper, root)
    claims = judged(paper, root)
    quick = " A quick run: fewer points than the paper has." if run["quick"] else ""
    return "\n".join(
        [
            f"# {paper.title}, reproduced",
            "",
            f"{paper.reference}",
            "",
            f"Written by `pluralis reproduce {paper.name}`. {claims_in_words(claims)} Measured on {run['date']} "
            f"({run['machine']}, Python {run['python']}, {run['seconds']:,} s).{quick}",
            "",
            "## Settings",
            "",
            paper.settings.strip(),
            "",
            "## Claims",
            "",
            *_claims(claims),
            "",
            *_numbers(list(paper.numbers(measured, expected))),
            *_figures(list(paper.figures(measured, expected)), paper),
            *(["## Where it differs, and why", "", paper.differences.strip(), ""] if paper.differences else []),
            f"Results: [experiments/{paper.folder}/results](../../experiments/{paper.folder}/results); what the paper "
            f"printed: [expected.toml](../../experiments/{paper.folder}/expected.toml).",
            "",
        ]
    )


def _claims(claims: Sequence[Judged]) -> Iterable[str]:
    yield "| | claim | where | here | numbers |"
    yield "|---|---|---|---|---|"
    for claim in claims:
        why = f" {claim.claim.why}" if claim.claim.why and claim.verdict != HOLDS else ""
        yield (
            f"| {SIGNS[claim.verdict]} | {_cell(claim.claim.statement)} | {_cell(claim.claim.source)} "
            f"| *{claim.verdict}* | {_cell(claim.numbers + '.' + why)} |"
        )


def _numbers(numbers: Sequence[Number]) -> Iterable[str]:
    if not numbers:
        return
    yield from ("## Printed numbers beside ours", "", "| what | where | printed | ours | |", "|---|---|---:|---:|---|")
    for figure in numbers:
        verdict = "the same" if figure.printed == figure.ours else f"within {figure.within:.0%}"
        if not figure.agrees:
            verdict = "differs"
        note = f"{verdict}. {figure.why}" if figure.why and not figure.agrees else verdict
        yield (
            f"| {_cell(figure.what)} | {_cell(figure.source)} | {_digits(figure.printed)} | {_digits(figure.ours)} "
            f"| {_cell(note)} |"
        )
    yield ""


def _figures(figures: Sequence[Figure], paper: Paper) -> Iterable[str]:
    if not figures:
        return
    yield from ("## Figures", "")
    for figure in figures:
        yield f"### {figure.title}"
        yield ""
        yield f"![{figure.title}](../../experiments/{paper.folder}/figures/{figure.name}.png)"
        yield ""
        if figure.caption:
            yield from (figure.caption, "")


def summary(papers: Sequence[Paper], root: Path) -> str:
    """One row for each claim of all papers."""
    lines = [
        "# The papers, reproduced",
        "",
        "Written by `pluralis reproduce`. Each claim is a sentence of a paper, or, where the row says so, one of ours "
        "beside it, held against results of the runs in `experiments/`. A claim that fails is a finding: nothing was "
        "tuned until it held. Where a number is of *a prototype*, somebody programmed the paper before this, apart "
        "from this code, and measured; that program is not kept here.",
        "",
    ]
    rows: list[str] = []
    for paper in papers:
        claims = judged(paper, root)
        quick = " A quick run." if about(paper, root)["quick"] else ""
        lines.append(f"- [{paper.title}]({paper.name}.md): {claims_in_words(claims)}{quick}")
        rows += [_row(paper, claim.claim, claim) for claim in claims]
    lines += ["", "| | paper | claim | where | here |", "|---|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(paper: Paper, claim: Claim, judged: Judged) -> str:
    return (
        f"| {SIGNS[judged.verdict]} | [{paper.name}]({paper.name}.md) | {_cell(claim.statement)} "
        f"| {_cell(claim.source)} | *{judged.verdict}* |"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _digits(value: float) -> str:
    return number(value) if value == round(value) else f"{value:,.4g}"
