"""The commands of whoever publishes: look at a table, write a policy, choose a method, publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pluralis.cli.common import (
    AsJson,
    Encoding,
    Separator,
    TableFile,
    app,
    listed,
    progress,
    read,
    terminal,
)
from pluralis.errors import Infeasible, OutputError, PolicyError
from pluralis.escaping import complain, print_json


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the demo folder goes.")] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """The whole story on an embedded table of hospital discharges."""
    from pluralis.cli.tables import show_loss, show_verdict
    from pluralis.datasets.demo import POLICY
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish as publish_table
    from pluralis.publishing.republishing import key_for
    from pluralis.table.sources import write_csv_bytes

    console = terminal()
    if out.exists() and not (out / "release" / "manifest.json").is_file():
        raise OutputError(f"{out} exists and holds no demo. Choose another folder with --out.")
    if (out / "policy.yaml").exists() and (out / "policy.yaml").read_text(encoding="utf-8") != POLICY:
        raise OutputError(f"{out / 'policy.yaml'} was changed; the demo would overwrite it. Choose another --out.")
    with progress():
        table = hospital_discharges()
        out.mkdir(parents=True, exist_ok=True)
        (out / "discharges.csv").write_bytes(write_csv_bytes(table))
        (out / "policy.yaml").write_text(POLICY, encoding="utf-8")
        publication = publish_table(
            out / "discharges.csv", Policy.read(out / "policy.yaml"), key=key_for(out / "release")
        )
        verdict = publication.save(out / "release", replace=True)
    loss = publication.loss
    if as_json:
        print_json({"folder": str(out), "verdict": verdict.to_dict(), "loss": loss.to_dict()})
        return
    people = table["patient"].n_unique()
    console.say("[bold]A table[/]     {:,} hospital discharges of {:,} people", table.height, people)
    console.say(
        "[bold]A policy[/]    age, gender, zipcode, race may be known; diagnosis, insurer, charges must not be learnt"
    )
    console.say("[bold]A release[/]   {:,} rows in {:,} groups\n", publication.manifest.rows, loss.groups)
    show_verdict(console, verdict)
    console.print()
    show_loss(console, loss)
    console.say("\n[bold]Where to look[/]")
    for place, what in {
        out / "release.private" / "report.html": "the report a data protection officer reads (yours alone)",
        out / "release" / "microdata.parquet": "what an analyst gets, with README.md and manifest.json beside it",
        out / "policy.yaml": "what was asked; change it and publish under another name:",
    }.items():
        console.say("  {}  [dim]{}[/]", place, what, wrap=False)
    console.say(
        "  pluralis publish {} --policy {} --out {}",
        out / "discharges.csv",
        out / "policy.yaml",
        out / "another",
        wrap=False,
    )


@app.command()
def profile(
    table: TableFile, encoding: Encoding = "utf-8", separator: Separator = None, as_json: AsJson = False
) -> None:
    """Per column: type, distinct, missing, top value, largest l; dependencies and correlations."""
    from pluralis.profiling.profiles import profile as look_at

    look = look_at(read(table, encoding, separator))
    if as_json:
        print_json(look.to_dict())
        return
    from pluralis.cli.tables import show_profile

    show_profile(terminal(), look)


@app.command()
def init(
    table: TableFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The policy file to write.")] = Path("policy.yaml"),
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Write a first policy with comments, to edit."""
    from pluralis.policy.policy import Policy
    from pluralis.profiling.profiles import first_policy
    from pluralis.profiling.profiles import profile as look_at

    text = first_policy(look_at(read(table, encoding, separator)))
    Policy.parse(text)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{out} exists already. Choose another name with -o, or remove it.") from None
    except OSError as error:
        raise OutputError(f"Cannot write {out}: {error.strerror}.") from None
    if as_json:
        print_json({"policy": str(out)})
    else:
        terminal().say(
            "Wrote {}. Read every line, then: pluralis publish {} --policy {} --out release",
            out,
            table,
            out,
            wrap=False,
        )


@app.command()
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
        encoded = None if table is None else encode(read(table, encoding, separator), asked)
        explanation = explain(asked, encoded)
    if graph is not None:
        from pluralis.report.rule_graph import write_graph

        write_graph(explanation, graph)
    if as_json:
        print_json(explanation.to_dict())
    else:
        from pluralis.cli.tables import show_rules

        show_rules(terminal(), explanation)
        if graph is not None:
            terminal().say("\nDrew the rules in {}.", graph, wrap=False)
    if explanation.impossible:
        raise Infeasible(*explanation.impossible)


@app.command()
def publish(
    table: TableFile,
    policy: Annotated[Path, typer.Option(help="The policy file (YAML or JSON).")],
    out: Annotated[Path, typer.Option(help="The release folder to write; DIR.private goes beside it.")],
    method: Annotated[str | None, typer.Option(help="A method instead of the policy's.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override an option, variant or suppress.")
    ] = None,
    format: Annotated[Literal["parquet", "csv"], typer.Option(help="Format of the published tables.")] = "parquet",
    replace: Annotated[bool, typer.Option("--replace", help="Replace a release that is there already.")] = False,
    test_key: Annotated[
        bool, typer.Option("--test-key", help="Use the public test key; the release says so and protects nobody.")
    ] = False,
    attack: Annotated[
        bool | None,
        typer.Option("--attack/--no-attack", help="Whether to attack the release; if not given, up to 100,000 rows."),
    ] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Publish a table under a policy, if the audit of the staged files passes and no attack exceeds a promise."""
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish as publish_table
    from pluralis.publishing.republishing import key_for
    from pluralis.publishing.staging import check_target, require_writable
    from pluralis.randomness import Key
    from pluralis.release.manifest import MANIFEST

    check_target(out.absolute(), replace=replace, mark=MANIFEST)
    require_writable(out.absolute().parent)
    rules = Policy.read(policy).override(method=method, options=_settings(set_ or []))
    key = Key.test() if test_key else key_for(out)
    try:
        with progress():
            publication = publish_table(table, rules, key=key, encoding=encoding, separator=separator, attacks=attack)
            verdict = publication.save(out, replace=replace, format=format, allow_test=test_key)
    except KeyboardInterrupt:
        complain("Interrupted. No release was written.")
        raise
    manifest = publication.manifest
    if as_json:
        print_json(
            {
                "release": str(out),
                "rows": manifest.rows,
                "suppressed": manifest.suppressed,
                "verdict": verdict.to_dict(),
                "attacked": None if publication.attacked is None else [one.to_dict() for one in publication.attacked],
                "notes": publication.notes,
            }
        )
        return
    from pluralis.cli.tables import show_verdict

    console = terminal()
    for note in publication.notes:
        console.say("[yellow]note[/] {}", note)
    show_verdict(console, verdict)
    console.say(
        "\nPublished {:,} rows to {} ({:,} left out). The report and the key are in {}.private: keep that folder to "
        "yourself.",
        manifest.rows,
        out,
        manifest.suppressed,
        out,
        wrap=False,
    )


def _settings(pairs: list[str]) -> dict[str, Any]:
    """`--set key=value` as options; values are read as the policy reads them."""
    from pluralis.policy.strict_yaml import parse_document

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise PolicyError(f"--set {pair!r}: write --set key=value.")
        settings[key.strip()] = parse_document(value, "--set").data
    return settings


@app.command()
def compare(
    table: TableFile,
    policy: Annotated[Path, typer.Option(help="The policy file (YAML or JSON).")],
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Only these methods.")] = "",
    l: Annotated[
        str, typer.Option("--l", metavar="2..7", help="Ask for each l of a range, or of a list 2,4; else the policy's.")
    ] = "",
    target: Annotated[Literal["error", "kl", "ncp"], typer.Option(help="The loss by which to choose.")] = "error",
    attacks: Annotated[str, typer.Option(metavar="A,B,…", help="Attack each release too; `all` for all attacks.")] = "",
    out: Annotated[Path | None, typer.Option(help="A folder for the page, the picture and the figures.")] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Whether to reuse what was worked out.")] = True,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which one trial is given up.")] = 300,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Try methods on a table: what each keeps secret, what it loses, and which to take."""
    from pluralis.cli.comparison import check_folder, show_comparison, write_comparison
    from pluralis.comparison.comparing import compare as try_methods
    from pluralis.comparison.comparing import range_of
    from pluralis.policy.policy import Policy

    if out is not None:
        check_folder(out)
    with progress():
        compared = try_methods(
            table, Policy.read(policy), methods=listed(methods), ls=range_of(l), target=target,
            attacks=listed(attacks), cache=cache, limit=limit, encoding=encoding, separator=separator,
        )  # fmt: skip
    if out is not None:
        write_comparison(compared, out)
    if as_json:
        print_json(compared.to_dict())
    else:
        show_comparison(terminal(), compared)
        if out is not None:
            terminal().say("\nThe page is {}, its picture {}.", out / "compare.html", out / "frontier.png", wrap=False)
