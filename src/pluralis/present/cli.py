"""The command line: parse, call one library function, show. Heavy imports happen inside the commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pluralis.errors import AuditFailed, Breached, Infeasible, OutputError, PluralisError, PolicyError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish tables that hold several secrets per person, under rules that an audit proves.",
)

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (.csv, .tsv, .txt, also .gz) or Parquet file.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Encoding = Annotated[str, typer.Option(help="Character set of a CSV file that is not UTF-8.")]
Separator = Annotated[str | None, typer.Option(help="Separator of a CSV file; found from its header if not given.")]


def _version(asked: bool) -> None:
    if asked:
        from pluralis import __version__

        print(f"pluralis {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the demo folder goes.")] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """The whole story on an embedded table of hospital discharges."""
    from pluralis.datasets.demo import POLICY
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.io import write_csv_bytes
    from pluralis.policy import Policy
    from pluralis.present.show import show_loss, show_verdict
    from pluralis.publish import key_for
    from pluralis.publish import publish as publish_table

    console = _console()
    if out.exists() and not (out / "release" / "manifest.json").is_file():
        raise OutputError(f"{out} exists and holds no demo. Choose another folder with --out.")
    if (out / "policy.yaml").exists() and (out / "policy.yaml").read_text(encoding="utf-8") != POLICY:
        raise OutputError(f"{out / 'policy.yaml'} was changed; the demo would overwrite it. Choose another --out.")
    with _progress():
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
        _print_json({"folder": str(out), "verdict": verdict.to_dict(), "loss": loss.to_dict()})
        return
    console.print(
        f"[bold]A table[/]     {table.height:,} hospital discharges of {table['patient'].n_unique():,} people"
    )
    console.print(
        "[bold]A policy[/]    age, gender, zipcode, race may be known; diagnosis, insurer, charges must not be learnt"
    )
    console.print(f"[bold]A release[/]   {publication.manifest.rows:,} rows in {loss.groups:,} groups\n")
    show_verdict(console, verdict)
    console.print()
    show_loss(console, loss)
    console.print("\n[bold]Where to look[/]")
    for place, what in {
        out / "release.private" / "report.html": "the report a data protection officer reads (yours alone)",
        out / "release" / "microdata.parquet": "what an analyst gets, with README.md and manifest.json beside it",
        out / "policy.yaml": "what was asked; change it and publish again:",
    }.items():
        console.print(f"  {place}  [dim]{what}[/]", soft_wrap=True)
    console.print(
        f"  pluralis publish {out / 'discharges.csv'} --policy {out / 'policy.yaml'} --out {out / 'release'} --replace",
        soft_wrap=True,
    )


@app.command()
def profile(
    table: TableFile, encoding: Encoding = "utf-8", separator: Separator = None, as_json: AsJson = False
) -> None:
    """Per column: type, distinct, missing, top value, largest l; dependencies and correlations."""
    from pluralis.profile import profile as look_at

    look = look_at(_read(table, encoding, separator))
    if as_json:
        _print_json(look.to_dict())
        return
    from pluralis.present.show import show_profile

    show_profile(_console(), look)


@app.command()
def init(
    table: TableFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The policy file to write.")] = Path("policy.yaml"),
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Write a first policy with comments, to edit."""
    from pluralis.policy import Policy
    from pluralis.profile import first_policy
    from pluralis.profile import profile as look_at

    text = first_policy(look_at(_read(table, encoding, separator)))
    Policy.parse(text)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{out} exists already. Choose another name with -o, or remove it.") from None
    except OSError as error:
        raise OutputError(f"Cannot write {out}: {error.strerror}.") from None
    if as_json:
        _print_json({"policy": str(out)})
    else:
        _console().print(
            f"Wrote {out}. Read every line, then: pluralis publish {table} --policy {out} --out release", soft_wrap=True
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
    from pluralis.explain import explain
    from pluralis.policy import Policy
    from pluralis.table import encode

    asked = Policy.read(policy)
    with _progress():
        encoded = None if table is None else encode(_read(table, encoding, separator), asked)
        explanation = explain(asked, encoded)
    if graph is not None:
        from pluralis.present.graph import write_graph

        write_graph(explanation, graph)
    if as_json:
        _print_json(explanation.to_dict())
    else:
        from pluralis.present.show import show_rules

        show_rules(_console(), explanation)
        if graph is not None:
            _console().print(f"\nDrew the rules in {graph}.", soft_wrap=True)
    if explanation.impossible:
        raise Infeasible("\n".join(explanation.impossible))


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
    from pluralis.folder import check_target
    from pluralis.policy import Policy
    from pluralis.publish import key_for
    from pluralis.publish import publish as publish_table
    from pluralis.randomness import Key
    from pluralis.release import MANIFEST

    check_target(out.absolute(), replace=replace, mark=MANIFEST)
    rules = Policy.read(policy).override(method=method, options=_settings(set_ or []))
    key = Key.test() if test_key else key_for(out)
    with _progress():
        publication = publish_table(table, rules, key=key, encoding=encoding, separator=separator, attacks=attack)
        verdict = publication.save(out, replace=replace, format=format, allow_test=test_key)
    manifest = publication.manifest
    if as_json:
        _print_json(
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
    from pluralis.present.show import show_verdict

    console = _console()
    for note in publication.notes:
        console.print(f"[yellow]note[/] {note}", highlight=False)
    show_verdict(console, verdict)
    console.print(
        f"\nPublished {manifest.rows:,} rows to {out} ({manifest.suppressed:,} left out). The report and the "
        "key are in "
        f"{out}.private: keep that folder to yourself.",
        soft_wrap=True,
    )


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
    from pluralis.compare import compare as try_methods
    from pluralis.compare import range_of
    from pluralis.policy import Policy
    from pluralis.present.comparison import check_folder, show_comparison, write_comparison

    if out is not None:
        check_folder(out)
    with _progress():
        compared = try_methods(
            table, Policy.read(policy), methods=_listed(methods), ls=range_of(l), target=target,
            attacks=_listed(attacks), cache=cache, limit=limit, encoding=encoding, separator=separator,
        )  # fmt: skip
    if out is not None:
        write_comparison(compared, out)
    if as_json:
        _print_json(compared.to_dict())
    else:
        show_comparison(_console(), compared)
        if out is not None:
            _console().print(
                f"\nThe page is {out / 'compare.html'}, its picture {out / 'frontier.png'}.", soft_wrap=True
            )


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@app.command()
def audit(
    folder: ReleaseFolder,
    original: Annotated[
        Path | None, typer.Option(help="The original table: also check that rows are covered and none invented.")
    ] = None,
    allow_test: Annotated[bool, typer.Option("--allow-test", help="Accept a release made with the test key.")] = False,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """The verdict on a release, claim by claim, from its own bytes."""
    from pluralis.audit import audit as judge

    with _progress():
        frame = None if original is None else _read(original, encoding, separator)
        verdict = judge(folder, original=frame, allow_test=allow_test)
    if as_json:
        _print_json(verdict.to_dict())
    else:
        from pluralis.present.show import show_verdict

        show_verdict(_console(), verdict)
    if not verdict.holds:
        raise typer.Exit(1)


@app.command()
def measure(
    folder: ReleaseFolder,
    original: Annotated[Path, typer.Option(help="The original table.")],
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    queries: Annotated[int, typer.Option(min=0, help="Ask so many random counts for each sensitive attribute.")] = 0,
    dimensions: Annotated[int, typer.Option(min=1, help="Quasi attributes that each of them asks about.")] = 3,
    selectivity: Annotated[float, typer.Option(help="The share of rows that each should pass.")] = 0.07,
    as_json: AsJson = False,
) -> None:
    """What a release lost, against its original."""
    from pluralis.metrics import measure as measure_loss
    from pluralis.metrics.queries import answers_of
    from pluralis.release import read_release

    with _progress():
        release, table = read_release(folder), _read(original, encoding, separator)
        loss = measure_loss(release, table)
        asked = {"queries": queries, "dimensions": dimensions, "selectivity": selectivity}
        answered = answers_of(release, table, **asked) if queries else {}  # type: ignore[arg-type]
    if as_json:
        _print_json(loss.to_dict() | ({"queries": {n: a.to_dict() for n, a in answered.items()}} if queries else {}))
        return
    from pluralis.present.show import show_answers, show_loss

    show_loss(_console(), loss)
    if queries:
        show_answers(_console(), answered)


@app.command()
def query(
    folder: ReleaseFolder,
    text: Annotated[
        str, typer.Argument(metavar="QUERY", help="Such as: COUNT WHERE age > 30 AND disease IN ('flu', 'hiv') BY sex")
    ],
    confidence: Annotated[float, typer.Option(help="How often an interval covers the count.")] = 0.95,
    sql: Annotated[
        bool, typer.Option("--sql", help="QUERY is SQL on the view `expected`: the attributes it names, and `count`.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate a count from a release alone, with an interval and what it rests on."""
    if sql:
        _query_in_sql(folder, text, as_json)
        return
    from pluralis.estimate import count
    from pluralis.estimate import table as count_by
    from pluralis.estimate.language import parse, resolve
    from pluralis.present.show import show_estimate, show_estimates
    from pluralis.release import read_release

    asked = parse(text)
    with _progress():
        release = read_release(folder)
        asked = resolve(asked, release)
        if asked.by:
            counts = count_by(release, asked, confidence=confidence)
        else:
            estimate = count(release, asked.where, confidence=confidence)
    if as_json and asked.by:
        _print_json({"query": str(asked), "confidence": confidence, "rows": counts.to_dicts()})
    elif as_json:
        _print_json({"query": str(asked), **estimate.to_dict()})
    elif asked.by:
        show_estimates(_console(), asked, counts, confidence)
    else:
        show_estimate(_console(), asked, estimate)


def _query_in_sql(folder: Path, text: str, as_json: bool) -> None:
    from pluralis.estimate.sql import ask
    from pluralis.present.show import show_rows
    from pluralis.release import read_release

    with _progress():
        rows = ask(read_release(folder), text)
    if as_json:
        _print_json({"query": text, "rows": rows.to_dicts()})
    else:
        show_rows(_console(), rows)


@app.command()
def attack(
    folder: ReleaseFolder,
    original: Annotated[Path | None, typer.Option(help="The original table, to score guesses.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--attack", metavar="NAME", help="Run this attack; repeatable.")
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Another release of the same people, to intersect; repeatable."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="People attacked, where all would take too long.")] = 20_000,
    explain: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Walk through one group in words: 118, t1:118 or slice_1:118.")
    ] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """What adversaries get from a release, beside what was promised and the best blind guess."""
    from pluralis.attacks import Options
    from pluralis.attacks import attack as run_attacks
    from pluralis.attacks.walk import walk
    from pluralis.present.attacked import show_results
    from pluralis.publish import keep_results
    from pluralis.release import read_release

    if explain is not None:
        if original is not None or only or other:
            raise PolicyError(
                "--explain walks through one group without the original. Leave out --original, --attack and --other, "
                "or leave out --explain."
            )
        steps = walk(read_release(folder), explain)
        _print_json({"group": explain, "steps": steps}) if as_json else print("\n".join(steps))
        return
    if original is None:
        raise PolicyError("Attacks are scored against the original. Give it with --original TABLE.")
    with _progress():
        release, table = read_release(folder), _read(original, encoding, separator)
        others = tuple(read_release(path) for path in other or ())
        options = Options(sample=sample, folder=folder, others=others)
        results = run_attacks(release, table, only=only or (), options=options)
        keep_results(folder, results)
    if as_json:
        _print_json({"results": [result.to_dict() for result in results]})
    else:
        show_results(_console(), results, release, only or (), len(others))
    if any(result.breach for result in results):
        raise typer.Exit(1)


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]…", help="bsgi, decomposition, …; `all`, or none for all.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer points: minutes. Written to reproduction-quick.")] = False,
    data: Annotated[Path | None, typer.Option(help="The folder of data files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results and pages go; this checkout if not given.")] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Only write pages and figures from results.")] = False,
    as_json: AsJson = False,
) -> None:
    """The papers' tables and figures, theirs beside ours. An interrupted run goes on where it stopped."""
    from pluralis.present.reproduced import show_claims
    from pluralis.reproduce import CHECKOUT, PAPERS, Lab, write_pages, write_summary
    from pluralis.reproduce import reproduce as run_paper

    root = out or (Path("reproduction-quick") if quick else CHECKOUT)
    names = list(PAPERS) if not papers or papers == ["all"] else papers
    found = {}
    try:
        with _progress():
            for name in names:
                found[name] = write_pages(name, root) if pages else run_paper(name, Lab(quick, data), root)
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on where it stopped.", file=sys.stderr)
        raise
    summary = write_summary(root)
    if as_json:
        _print_json({name: [claim.to_dict() for claim in claims] for name, claims in found.items()})
        return
    show_claims(_console(), found)
    _console().print(f"\nThe pages are in {summary.parent}.", soft_wrap=True)


@app.command()
def methods(as_json: AsJson = False) -> None:
    """What there is, with each method's guarantee and known breaks."""
    from pluralis.methods import methods as known_methods

    if as_json:
        described = {
            name: {
                "title": m.title, "paper": m.paper, "kind": m.kind, "guarantee": m.guarantee, "breaks": list(m.breaks),
                "options": {o: f.default for o, f in m.model_fields.items()},
            }
            for name, m in known_methods().items()
        }  # fmt: skip
        _print_json(described)
        return
    from pluralis.present.show import show_methods

    show_methods(_console(), known_methods())


def _read(path: Path, encoding: str, separator: str | None) -> Any:
    from pluralis.io import read_table
    from pluralis.progress import stage

    with stage("reading"):
        return read_table(path, encoding=encoding, separator=separator)


def _settings(pairs: list[str]) -> dict[str, Any]:
    """`--set key=value` as options; values are read as the policy reads them."""
    from pluralis.strict import parse_document

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise PolicyError(f"--set {pair!r}: write --set key=value.")
        settings[key.strip()] = parse_document(value, "--set").data
    return settings


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def _progress() -> Any:
    from rich.console import Console

    from pluralis.present.bars import progress_bars
    from pluralis.warm import announce_compilation

    console = Console(stderr=True)
    announce_compilation(lambda text: console.print(text, style="dim"))
    return progress_bars(console)


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False, default=str))


def run(command: Callable[[], Any]) -> int:
    """Run a command; a refusal becomes a message on standard error and an exit code."""
    try:
        command()
    except AuditFailed as refusal:
        if "--json" in sys.argv:
            _print_json(refusal.verdict.to_dict())
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except Breached as refusal:
        if "--json" in sys.argv:
            _print_json({"results": [result.to_dict() for result in refusal.results]})
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except PluralisError as refusal:
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except OSError as error:
        print(f"pluralis: {error.strerror or error}: {error.filename or ''}. Check the path.", file=sys.stderr)
        return PluralisError.exit_code
    except MemoryError:
        print("pluralis: Not enough memory for this table. Use a machine with more of it.", file=sys.stderr)
        return PluralisError.exit_code
    return 0


def main() -> None:
    """The entry point of the `pluralis` command."""
    sys.exit(run(app))
