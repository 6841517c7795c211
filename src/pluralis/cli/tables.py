"""Verdicts, losses, estimates, profiles and methods as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from rich.text import Text

from pluralis.auditing.verdict import Finding, Verdict
from pluralis.cli.terminal import Grid, Terminal, styled
from pluralis.estimate.language import Query
from pluralis.estimate.result import Basis, Estimate
from pluralis.methods import Method
from pluralis.metrics import Loss
from pluralis.metrics.workloads import Answers
from pluralis.policy.rules import Dependency, Rule
from pluralis.profiling.explaining import Explanation, said_of
from pluralis.profiling.profiles import Profile

BASES: dict[Basis, str] = {
    "exact": "nothing was changed that the query asks about: this is the count",
    "sampling": "chance alone separates this from the count, and the interval covers the count as often as it says",
    "uniform-within-group": "values that were published together are taken to be spread evenly over their rows; where "
    "they are not, the interval may miss the count",
    "independent-across-tables": "values of different tables are taken to go together only by what the tables share; "
    "where more ties them, the interval may miss the count",
}


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _holds(finding: Finding) -> Text:
    if not finding.binding:
        return styled("yes, not promised" if finding.holds else "no, not promised", "")
    return styled("holds", "green") if finding.holds else styled("DOES NOT HOLD", "bold red")


def show_verdict(console: Terminal, verdict: Verdict) -> None:
    grid = Grid("claim", "", "promised", "measured", "top share", "weakest", right=(2, 3, 4))
    for finding in verdict.findings:
        top = "" if finding.top_share is None else f"{finding.top_share:.1%}"
        weakest = finding.witness or finding.note or ""
        grid.line(finding.claim, _holds(finding), _figure(finding.promised), _figure(finding.measured), top, weakest)
    console.print(grid)
    if verdict.holds:
        console.say("\n[green]Every claim holds[/] ({} checked).", sum(f.binding for f in verdict.findings))
    else:
        console.say("\n[bold red]{} of {} claims do not hold.[/]", len(verdict.failures), len(verdict.findings))
    if verdict.breaks:
        console.say("Not stopped by this release:")
        for item in verdict.breaks:
            console.say("  - {}", item)


def show_loss(console: Terminal, loss: Loss) -> None:
    console.say("rows published      {:,}", loss.rows)
    gone = loss.suppressed / max(1, loss.rows + loss.suppressed)
    console.say("rows left out       {:,} ({:.2%})", loss.suppressed, gone)
    if loss.marked:
        console.say(
            "without a group     {:,} in some slice; {:.2%} with rows left out", loss.marked, loss.suppressed_share
        )
    if loss.groups:
        console.say("groups              {:,}, {:.2f} rows each on average", loss.groups, loss.average_group)
    generalised = loss.distortion is not None
    if generalised or loss.kl is None:  # values as they are would say that nothing was lost
        console.say(
            "information loss    {:.4f} NCP; {:.4f} counting left-out rows as lost", loss.ncp, loss.ncp_with_suppressed
        )
    console.say("discernibility      {:,}", loss.discernibility)
    if loss.kl is not None:
        console.say("KL divergence       {:.4f} nats", loss.kl)
    if loss.distortion is not None:
        console.say("distortion          {:,.1f}", loss.distortion)
    if loss.additional_loss is not None:
        console.say("additional loss     {:.2%}", loss.additional_loss)
    if loss.added_values is not None:
        console.say("values added        {:,}", loss.added_values)
    if not generalised:
        return
    grid = Grid("attribute", "loss", "before ↔ after", right=(1, 2))
    distances = {d.attribute: d.distance for d in loss.distributions}
    for name, value in loss.ncp_by_attribute.items():
        grid.line(name, f"{value:.4f}", f"{distances[name]:.3f}" if name in distances else "")
    console.print(grid)


def show_estimate(console: Terminal, query: Query, estimate: Estimate) -> None:
    console.say("[dim]{}[/]", str(query), wrap=False)
    if estimate.basis == "exact":
        console.say("[bold]{:,.0f}[/] rows", estimate.value)
    else:
        console.say("about [bold]{:,.1f}[/] rows", estimate.value)
        console.say("interval  {:,.1f} to {:,.1f} at {:.4g}%", estimate.low, estimate.high, 100 * estimate.confidence)
        if not estimate.low <= estimate.value <= estimate.high:
            console.say(
                "note      the value is right on average and can fall outside what is possible; few rows tell little"
            )
    console.say("basis     {}: {}", estimate.basis, BASES[estimate.basis], wrap=False)
    console.say("certain   at least {:,} and at most {:,} rows, whatever is assumed", estimate.least, estimate.most)


def show_estimates(console: Terminal, query: Query, counts: pl.DataFrame, confidence: float) -> None:
    """A row for each combination: what it is of, then value, low, high and basis."""
    console.say("[dim]{}[/]\n", str(query), wrap=False)
    by = len(query.by)
    grid = Grid(*query.by, "rows", "low", "high", "basis", right=(by, by + 1, by + 2))
    for row in counts.iter_rows():
        *of, value, low, high, basis = row
        names = [styled("missing", "dim") if part is None else str(part) for part in of]
        digits = 0 if basis == "exact" else 1
        grid.line(*names, *(f"{figure:,.{digits}f}" for figure in (value, low, high)), basis)
    console.print(grid)
    console.say("\nIntervals are at {:.4g}%.", 100 * confidence)
    for basis in counts["basis"].unique(maintain_order=True):
        console.say("{}: {}", basis, BASES[basis], wrap=False)


def show_rows(console: Terminal, rows: pl.DataFrame) -> None:
    """The answer to a query in SQL."""
    grid = Grid(*rows.columns, right=(i for i, kind in enumerate(rows.dtypes) if kind.is_numeric()))
    for row in rows.iter_rows():
        grid.line(*(_figure(cell) if isinstance(cell, float) else str(cell) for cell in row))
    console.print(grid)
    console.say("\nExpected counts, without intervals; without --sql, query gives them.")


def show_answers(console: Terminal, answered: Mapping[str, Answers]) -> None:
    """How a release answered random counts."""
    grid = Grid("attribute", "queries", "mean error", "median error", "intervals hold", right=(1,))
    for name, found in answered.items():
        held = f"{found.coverage:.1%} at {found.confidence:.0%}"
        grid.line(name, f"{found.queries:,}", f"{found.mean_error:.1%}", f"{found.median_error:.1%}", held)
    console.print()
    console.print(grid)


def show_profile(console: Terminal, look: Profile) -> None:
    console.say("{:,} rows, {} columns\n", look.rows, len(look.columns))
    grid = Grid(
        "column", "type", "distinct", "missing", "top value", "share", "largest l", "perhaps", right=(2, 3, 5, 6)
    )
    for c in look.columns:
        grid.line(
            c.name, c.type, f"{c.distinct:,}", f"{c.missing:,}" if c.missing else "", c.top_value[:28],
            f"{c.top_share:.1%}", str(c.largest_l), c.role,
        )  # fmt: skip
    console.print(grid)
    alone = [dependency for dependency in look.dependencies if len(dependency.knows) == 1]
    together = [dependency for dependency in look.dependencies if len(dependency.knows) > 1]
    _show_dependencies(console, "One column decides another (whoever knows the first knows the second):", alone)
    _show_dependencies(console, "Two columns together decide a third, and neither does alone:", together)
    if look.correlations:
        console.say("\nCorrelation between columns that may be sensitive (Cramér's V, 0 none, 1 complete):")
        for a, b, v in look.correlations:
            console.say("  {} ~ {}  {:.2f}", a, b, v)


def _show_dependencies(console: Terminal, title: str, dependencies: Sequence[Dependency]) -> None:
    if dependencies:
        console.say("\n{}", title)
    for dependency in dependencies[:20]:
        console.say("  {}", _decides(dependency))
    if len(dependencies) > 20:
        console.say("  … and {} more (--json has all)", len(dependencies) - 20)


def show_rules(console: Terminal, explanation: Explanation) -> None:
    """A rule set explained; rules have the numbers that the picture of them has."""
    number = {said.rule: str(i) for i, said in enumerate(explanation.rules, 1)}
    if not explanation.rules:
        console.say("No rule is in force: nothing is protected. Give an attribute role: sensitive, or write rules.")
    else:
        console.say("{} in force: whoever knows the left must not guess the right\n", _counted(len(number), "rule"))
        grid = Grid("", "known", "", "protected", "l", "from", right=(0, 2, 4))
        for said in explanation.rules:
            grid.line(number[said.rule], *_arrow(said.rule), ", ".join(said.origins))
        console.print(grid)
    if explanation.redundant:
        console.say("\nImplied by another rule, which knows as much and asks for as much\n")
        grid = Grid("", "known", "", "protected", "l", "from", "implied by", right=(4,))
        for more in explanation.redundant:
            grid.line("", *_arrow(more.rule), ", ".join(more.origins), f"rule {number[more.implied_by]}")
        console.print(grid)
    _show_remarks(console, explanation, number)
    console.say("\nAttributes: what each must not reveal, and must not follow from\n")
    grid = Grid("attribute", "role", "─▶", "◀─")
    for vertex in explanation.attributes:
        grid.line(vertex.name, vertex.role, said_of(vertex.must_not_reveal), said_of(vertex.must_not_follow_from))
    console.print(grid)


def _show_remarks(console: Terminal, explanation: Explanation, number: Mapping[Rule, str]) -> None:
    """Dependencies, cycles and gaps, and what makes a rule impossible."""

    def say(title: str, lines: list[str], style: str = "bold") -> None:
        if lines:
            console.say("\n{}", title, style=style)
        for line in lines:
            console.say("  {}", line, wrap=False)

    def of(rules: Sequence[Rule]) -> str:
        numbers = [number[rule] for rule in rules if rule in number]
        return f"rule{'s' * (len(numbers) > 1)} {', '.join(numbers)}" if numbers else ""

    say("Known dependencies: both sides are published together; to protect the right one, the left one is protected", [
        f"{_decides(known.dependency)}  ({'declared' if known.declared else 'found in the table'})  "
        + (f"adds {added}" if (added := of(known.adds)) else "adds no rule")
        for known in explanation.dependencies
    ])  # fmt: skip
    say("Dependencies that matter to no rule", [_decides(d) for d in explanation.unimportant])
    say("Coincidences, which nobody is taken to know", [_decides(d) for d in explanation.coincidences])
    say("Said of the table, and not so in it", [
        f"{_decides(d)}: rows agree on the left and differ on the right. Remove it." for d in explanation.contradicted
    ], "bold yellow")  # fmt: skip
    say("Cycles: method gd uses the split of uad here", [
        f"{said_of(cycle.attributes)}: {of(cycle.rules)}" for cycle in explanation.cycles
    ])  # fmt: skip
    say("Gaps: no rule speaks of whoever knows all of this; if somebody might, add them to adversaries", [
        f"{gap.attribute} from {{knows: [{said_of(gap.knows)}]}}" for gap in explanation.gaps
    ])  # fmt: skip
    say("Open holes: what is known decides what is protected", [
        f"rule {number[hole.rule]}: {_decides(hole.because)}" for hole in explanation.holes
    ], "bold red")  # fmt: skip
    say("Torn: what a dependency ties together is kept apart", [
        f"rule {number[torn.rule]}: knowing one side rules out most values of the other" for torn in explanation.torn
    ], "bold red")  # fmt: skip
    say("Too common: a guess without knowing anything is better than 1/l", [
        f"rule {number[skew.rule]}, 1/l is {1 / skew.rule.l:.1%}: {skew}" for skew in explanation.skewed
    ], "bold red")  # fmt: skip


def _arrow(rule: Rule) -> tuple[str, str, str, str]:
    return said_of(rule.knows), "─▶", said_of((rule.protects,)), str(rule.l)


def _decides(dependency: Dependency) -> str:
    return f"{said_of(dependency.knows)} → {said_of((dependency.decides,))}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def show_methods(console: Terminal, methods: Mapping[str, type[Method]]) -> None:
    for name, method in methods.items():
        console.say("[bold]{}[/]  {}  [dim]({}; kind {})[/]", name, method.title, method.paper, method.kind)
        console.say("  guarantees  {}", method.guarantee)
        for item in method.breaks:
            console.say("  [dim]not stopped[/] {}", item)
        for option, field in method.model_fields.items():
            if option != "variant":
                said = f": {field.description}" if field.description else ""
                console.say("  [dim]option[/]      {} = {}{}", option, str(field.default), said)
