"""Verdicts, losses, estimates, profiles and methods as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pluralis.audit.verdict import Finding, Verdict
from pluralis.estimate.language import Query
from pluralis.estimate.result import Basis, Estimate
from pluralis.explain import Explanation, said_of
from pluralis.methods import Method
from pluralis.metrics import Loss
from pluralis.metrics.queries import Answers
from pluralis.profile import Profile
from pluralis.rules import Dependency, Rule

BASES: dict[Basis, str] = {
    "exact": "nothing was changed that the query asks about: this is the count",
    "sampling": "chance alone separates this from the count, and the interval covers the count as often as it says",
    "uniform-within-group": "values that were published together are taken to be spread evenly over their rows; where "
    "they are not, the interval may miss the count",
    "independent-across-tables": "values of different tables are taken to go together only by what the tables share; "
    "where more ties them, the interval may miss the count",
}


def _table(*headers: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _holds(finding: Finding) -> str:
    if not finding.binding:
        return "yes, not promised" if finding.holds else "no, not promised"
    return "[green]holds[/]" if finding.holds else "[bold red]DOES NOT HOLD[/]"


def show_verdict(console: Console, verdict: Verdict) -> None:
    table = _table(
        "claim", "", "promised", "measured", "top share", "weakest", right=("promised", "measured", "top share")
    )
    for finding in verdict.findings:
        top = "" if finding.top_share is None else f"{finding.top_share:.1%}"
        weakest = escape(finding.witness or finding.note or "")
        table.add_row(
            escape(finding.claim), _holds(finding), _figure(finding.promised), _figure(finding.measured), top, weakest
        )
    console.print(table)
    if verdict.holds:
        console.print(f"\n[green]Every claim holds[/] ({sum(f.binding for f in verdict.findings)} checked).")
    else:
        console.print(f"\n[bold red]{len(verdict.failures)} of {len(verdict.findings)} claims do not hold.[/]")
    if verdict.breaks:
        console.print("Not stopped by this release:")
        for item in verdict.breaks:
            console.print(f"  - {escape(item)}")


def show_loss(console: Console, loss: Loss) -> None:
    console.print(f"rows published      {loss.rows:,}")
    gone = loss.suppressed / max(1, loss.rows + loss.suppressed)
    console.print(f"rows left out       {loss.suppressed:,} ({gone:.2%})")
    if loss.marked:
        console.print(
            f"without a group     {loss.marked:,} in some slice; {loss.suppressed_share:.2%} with rows left out"
        )
    if loss.groups:
        console.print(f"groups              {loss.groups:,}, {loss.average_group:.2f} rows each on average")
    generalised = loss.distortion is not None
    if generalised or loss.kl is None:  # values as they are would say that nothing was lost
        console.print(
            f"information loss    {loss.ncp:.4f} NCP; {loss.ncp_with_suppressed:.4f} counting left-out rows as lost"
        )
    console.print(f"discernibility      {loss.discernibility:,}")
    if loss.kl is not None:
        console.print(f"KL divergence       {loss.kl:.4f} nats")
    if loss.distortion is not None:
        console.print(f"distortion          {loss.distortion:,.1f}")
    if loss.additional_loss is not None:
        console.print(f"additional loss     {loss.additional_loss:.2%}")
    if loss.added_values is not None:
        console.print(f"values added        {loss.added_values:,}")
    if not generalised:
        return
    table = _table("attribute", "loss", "before ↔ after", right=("loss", "before ↔ after"))
    distances = {d.attribute: d.distance for d in loss.distributions}
    for name, value in loss.ncp_by_attribute.items():
        table.add_row(escape(name), f"{value:.4f}", f"{distances[name]:.3f}" if name in distances else "")
    console.print(table)


def show_estimate(console: Console, query: Query, estimate: Estimate) -> None:
    console.print(f"[dim]{escape(str(query))}[/]", soft_wrap=True)
    if estimate.basis == "exact":
        console.print(f"[bold]{estimate.value:,.0f}[/] rows")
    else:
        console.print(f"about [bold]{estimate.value:,.1f}[/] rows")
        console.print(f"interval  {estimate.low:,.1f} to {estimate.high:,.1f} at {100 * estimate.confidence:.4g}%")
        if not estimate.low <= estimate.value <= estimate.high:
            console.print(
                "note      the value is right on average and can fall outside what is possible; few rows tell little"
            )
    console.print(f"basis     {estimate.basis}: {BASES[estimate.basis]}", soft_wrap=True)
    console.print(f"certain   at least {estimate.least:,} and at most {estimate.most:,} rows, whatever is assumed")


def show_estimates(console: Console, query: Query, counts: pl.DataFrame, confidence: float) -> None:
    """A row for each combination: what it is of, then value, low, high and basis."""
    console.print(f"[dim]{escape(str(query))}[/]\n", soft_wrap=True)
    table = _table(*map(escape, query.by), "rows", "low", "high", "basis", right=("rows", "low", "high"))
    for row in counts.iter_rows():
        *of, value, low, high, basis = row
        names = ["[dim]missing[/]" if part is None else escape(str(part)) for part in of]
        digits = 0 if basis == "exact" else 1
        table.add_row(*names, *(f"{figure:,.{digits}f}" for figure in (value, low, high)), basis)
    console.print(table)
    console.print(f"\nIntervals are at {100 * confidence:.4g}%.")
    for basis in counts["basis"].unique(maintain_order=True):
        console.print(f"{basis}: {BASES[basis]}", soft_wrap=True)


def show_rows(console: Console, rows: pl.DataFrame) -> None:
    """The answer to a query in SQL."""
    numbers = tuple(name for name, kind in rows.schema.items() if kind.is_numeric())
    table = _table(*map(escape, rows.columns), right=numbers)
    for row in rows.iter_rows():
        table.add_row(*(_figure(cell) if isinstance(cell, float) else escape(str(cell)) for cell in row))
    console.print(table)
    console.print("\nExpected counts, without intervals; without --sql, query gives them.")


def show_answers(console: Console, answered: Mapping[str, Answers]) -> None:
    """How a release answered random counts."""
    table = _table("attribute", "queries", "mean error", "median error", "intervals hold", right=("queries",))
    for name, found in answered.items():
        held = f"{found.coverage:.1%} at {found.confidence:.0%}"
        table.add_row(escape(name), f"{found.queries:,}", f"{found.mean_error:.1%}", f"{found.median_error:.1%}", held)
    console.print()
    console.print(table)


def show_profile(console: Console, look: Profile) -> None:
    console.print(f"{look.rows:,} rows, {len(look.columns)} columns\n")
    table = _table(
        "column", "type", "distinct", "missing", "top value", "share", "largest l", "perhaps",
        right=("distinct", "missing", "share", "largest l"),
    )  # fmt: skip
    for c in look.columns:
        table.add_row(
            escape(c.name), c.type, f"{c.distinct:,}", f"{c.missing:,}" if c.missing else "", escape(c.top_value[:28]),
            f"{c.top_share:.1%}", str(c.largest_l), c.role,
        )  # fmt: skip
    console.print(table)
    alone = [dependency for dependency in look.dependencies if len(dependency.knows) == 1]
    together = [dependency for dependency in look.dependencies if len(dependency.knows) > 1]
    _show_dependencies(console, "One column decides another (whoever knows the first knows the second):", alone)
    _show_dependencies(console, "Two columns together decide a third, and neither does alone:", together)
    if look.correlations:
        console.print("\nCorrelation between columns that may be sensitive (Cramér's V, 0 none, 1 complete):")
        for a, b, v in look.correlations:
            console.print(f"  {escape(a)} ~ {escape(b)}  {v:.2f}")


def _show_dependencies(console: Console, title: str, dependencies: Sequence[Dependency]) -> None:
    if dependencies:
        console.print(f"\n{title}")
    for dependency in dependencies[:20]:
        console.print(f"  {escape(_decides(dependency))}")
    if len(dependencies) > 20:
        console.print(f"  … and {len(dependencies) - 20} more (--json has all)")


def show_rules(console: Console, explanation: Explanation) -> None:
    """A rule set explained; rules have the numbers that the picture of them has."""
    number = {said.rule: str(i) for i, said in enumerate(explanation.rules, 1)}
    if not explanation.rules:
        console.print("No rule is in force: nothing is protected. Give an attribute role: sensitive, or write rules.")
    else:
        console.print(f"{_counted(len(number), 'rule')} in force: whoever knows the left must not guess the right\n")
        table = _table("", "known", "", "protected", "l", "from", right=("", "l"))
        for said in explanation.rules:
            table.add_row(number[said.rule], *_arrow(said.rule), escape(", ".join(said.origins)))
        console.print(table)
    if explanation.redundant:
        console.print("\nImplied by another rule, which knows as much and asks for as much\n")
        table = _table("", "known", "", "protected", "l", "from", "implied by", right=("l",))
        for more in explanation.redundant:
            table.add_row("", *_arrow(more.rule), escape(", ".join(more.origins)), f"rule {number[more.implied_by]}")
        console.print(table)
    _show_remarks(console, explanation, number)
    console.print("\nAttributes: what each must not reveal, and must not follow from\n")
    table = _table("attribute", "role", "─▶", "◀─")
    for vertex in explanation.attributes:
        table.add_row(
            escape(vertex.name), vertex.role, escape(said_of(vertex.must_not_reveal)),
            escape(said_of(vertex.must_not_follow_from)),
        )  # fmt: skip
    console.print(table)


def _show_remarks(console: Console, explanation: Explanation, number: Mapping[Rule, str]) -> None:
    """Dependencies, cycles and gaps, and what makes a rule impossible."""

    def say(title: str, lines: list[str], style: str = "bold") -> None:
        if lines:
            console.print(f"\n[{style}]{title}[/]")
        for line in lines:
            console.print(f"  {escape(line)}", soft_wrap=True)

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
    return escape(said_of(rule.knows)), "─▶", escape(said_of((rule.protects,))), str(rule.l)


def _decides(dependency: Dependency) -> str:
    return f"{said_of(dependency.knows)} → {said_of((dependency.decides,))}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def show_methods(console: Console, methods: Mapping[str, type[Method]]) -> None:
    for name, method in methods.items():
        console.print(f"[bold]{name}[/]  {escape(method.title)}  [dim]({escape(method.paper)}; kind {method.kind})[/]")
        console.print(f"  guarantees  {escape(method.guarantee)}")
        for item in method.breaks:
            console.print(f"  [dim]not stopped[/] {escape(item)}")
        for option, field in method.model_fields.items():
            if option != "variant":
                said = f": {field.description}" if field.description else ""
                console.print(f"  [dim]option[/]      {option} = {field.default}{escape(said)}")
