"""`pluralis profile`: a first look at a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pluralis.cli.options import AsJson, Encoding, Separator, TableFiles, read
from pluralis.cli.progress_bars import progress
from pluralis.cli.rules import decides
from pluralis.cli.terminal import Grid, Terminal, terminal
from pluralis.display.escaping import print_json

if TYPE_CHECKING:
    from pluralis.policy.rules import Dependency
    from pluralis.profiling.profiles import Profile


def profile(
    table: TableFiles, encoding: Encoding = "utf-8", separator: Separator = None, as_json: AsJson = False
) -> None:
    """Per column: type, distinct, missing, top value, largest l; dependencies and correlations."""
    from pluralis.profiling.profiles import profile as look_at

    with progress():
        look = look_at(read(table, encoding, separator))
    if as_json:
        print_json(look.to_dict())
        return
    show_profile(terminal(), look)


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
    for title, lines in look.remarks():
        console.say("\n{}", title)
        listing = Grid(*[""] * len(lines[0]))
        for line in lines:
            listing.line(f"  {line[0]}", *line[1:])
        listing.show_header = False
        console.print(listing)
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
        console.say("  {}", decides(dependency))
    if len(dependencies) > 20:
        console.say("  … and {} more (--json has all)", len(dependencies) - 20)
