"""Verdicts, losses, profiles and methods as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pluralis.audit.verdict import Finding, Verdict
from pluralis.methods import Method
from pluralis.metrics import Loss
from pluralis.profile import Profile


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
    console.print(f"rows left out       {loss.suppressed:,} ({loss.suppressed_share:.2%})")
    console.print(f"groups              {loss.groups:,}, {loss.average_group:.2f} rows each on average")
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
    table = _table("attribute", "loss", "before ↔ after", right=("loss", "before ↔ after"))
    distances = {d.attribute: d.distance for d in loss.distributions}
    for name, value in loss.ncp_by_attribute.items():
        table.add_row(escape(name), f"{value:.4f}", f"{distances[name]:.3f}" if name in distances else "")
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
    if look.dependencies:
        console.print("\nOne column decides another (whoever knows the first knows the second):")
        for a, b in look.dependencies[:20]:
            console.print(f"  {escape(a)} → {escape(b)}")
        if len(look.dependencies) > 20:
            console.print(f"  … and {len(look.dependencies) - 20} more (--json has all)")
    if look.correlations:
        console.print("\nCorrelation between columns that may be sensitive (Cramér's V, 0 none, 1 complete):")
        for a, b, v in look.correlations:
            console.print(f"  {escape(a)} ~ {escape(b)}  {v:.2f}")


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
