"""`pluralis rules`: the rules of a policy explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.options import AsJson, Encoding, Separator, read
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, terminal
from pluralis.display.escaping import print_json
from pluralis.display.words import counted
from pluralis.errors import Infeasible

if TYPE_CHECKING:
    from pluralis.policy.rules import Dependency, Rule
    from pluralis.profiling.explaining import Explanation


def rules(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (YAML or JSON).")],
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="The table: also say what it makes impossible.")
    ] = None,
    graph: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw the rules as a graph.")] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Explain the rules of a policy: which are in force and why, what is redundant, what conflicts."""
    from pluralis.policy.policy import Policy
    from pluralis.profiling.explaining import explain
    from pluralis.table.encoding import encode

    asked = Policy.read(policy)
    with progress():
        encoded = None if table is None else encode(read(table, encoding, separator), asked.decided_as("plain"))
        explanation = explain(asked, encoded)
    if graph is not None:
        from pluralis.report.rule_graph import write_graph

        write_graph(explanation, graph)
    if as_json:
        print_json(explanation.to_dict())
    else:
        show_rules(terminal(), explanation)
        if graph is not None:
            terminal().say("\nDrew the rules in {}.", graph, wrap=False)
    if explanation.impossible:
        raise Infeasible(*explanation.impossible)


def show_rules(console: Terminal, explanation: Explanation) -> None:
    """A rule set explained; rules have the numbers that the picture of them has."""
    number = {in_force.rule: str(i) for i, in_force in enumerate(explanation.rules, 1)}
    for bounded in explanation.bounded:
        console.say("Values are bounded, beside rules, against whoever knows all quasi-identifiers: {}", bounded)
    if not explanation.rules and explanation.bounded:
        console.say("No rule is in force.")
    elif not explanation.rules:
        console.say("No rule is in force: nothing is protected. Give an attribute role: sensitive, or write rules.")
    else:
        console.say("{} in force: whoever knows the left must not guess the right\n", counted(len(number), "rule"))
        grid = Grid("", "known", "", "protected", "l", "from", right=(0, 2, 4))
        for in_force in explanation.rules:
            grid.line(number[in_force.rule], *_arrow(in_force.rule), ", ".join(in_force.origins))
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
        grid.line(vertex.name, vertex.role, _names(vertex.must_not_reveal), _names(vertex.must_not_follow_from))
    console.print(grid)


def _show_remarks(console: Terminal, explanation: Explanation, number: Mapping[Rule, str]) -> None:
    """Dependencies, cycles and gaps, and what makes a rule impossible."""

    def say(title: str, lines: list[str], style: str = "bold") -> None:
        if lines:
            console.say("\n{}", title, style=style)
        for line in lines:
            console.say("  {}", line, wrap=False)

    def rule_numbers(rules: Sequence[Rule]) -> str:
        numbers = [number[rule] for rule in rules if rule in number]
        return f"rule{'s' * (len(numbers) > 1)} {', '.join(numbers)}" if numbers else ""

    say("Known dependencies: both sides are published together; to protect the right one, the left one is protected", [
        f"{decides(known.dependency)}  ({'declared' if known.declared else 'found in the table'})  "
        + (f"adds {added}" if (added := rule_numbers(known.adds)) else "adds no rule")
        for known in explanation.dependencies
    ])  # fmt: skip
    say("Dependencies that matter to no rule", [decides(d) for d in explanation.unimportant])
    say("Coincidences, which nobody is taken to know", [decides(d) for d in explanation.coincidences])
    say("Said of the table, and not so in it", [
        f"{decides(d)}: rows agree on the left and differ on the right. Remove it." for d in explanation.contradicted
    ], "bold yellow")  # fmt: skip
    say("Cycles: method gd uses the split of uad here", [
        f"{_names(cycle.attributes)}: {rule_numbers(cycle.rules)}" for cycle in explanation.cycles
    ])  # fmt: skip
    say("Gaps: no rule speaks of whoever knows all of this; if somebody might, add them to adversaries", [
        f"{gap.attribute} from {{knows: [{_names(gap.knows)}]}}" for gap in explanation.gaps
    ])  # fmt: skip
    say("Open holes: what is known decides what is protected", [
        f"rule {number[hole.rule]}: {decides(hole.because)}" for hole in explanation.holes
    ], "bold red")  # fmt: skip
    say("Torn: what a dependency ties together is kept apart", [
        f"rule {number[torn.rule]}: knowing one side rules out most values of the other" for torn in explanation.torn
    ], "bold red")  # fmt: skip
    say("Too common: a guess without knowing anything is better than 1/l", [
        f"rule {number[skew.rule]}, 1/l is {1 / skew.rule.l:.1%}: {skew}" for skew in explanation.skewed
    ], "bold red")  # fmt: skip


def _arrow(rule: Rule) -> tuple[str, str, str, str]:
    return _names(rule.knows), "─▶", _names((rule.protects,)), str(rule.l)


def decides(dependency: Dependency) -> str:
    """A dependency as an arrow."""
    return f"{_names(dependency.knows)} → {_names((dependency.decides,))}"


def _names(names: Sequence[str]) -> str:
    """As a policy writes them."""
    from pluralis.profiling.explaining import said_of

    return said_of(names)
