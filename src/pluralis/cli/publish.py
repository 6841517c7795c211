"""`pluralis publish`: from a table and a policy to an audited release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from pluralis.cli.audit import show_verdict
from pluralis.cli.check import with_every_problem
from pluralis.cli.options import AsJson, Encoding, Separator, TableFiles
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Terminal, terminal
from pluralis.display.escaping import complain, print_json
from pluralis.errors import Infeasible, InputError, OutputError, PolicyError

if TYPE_CHECKING:
    from pluralis.auditing.verdict import Verdict
    from pluralis.publishing.parts import PublishedParts
    from pluralis.publishing.saving import Publication

_Published = TypeVar("_Published")

Engine = Annotated[
    Literal["memory", "local", "spark"] | None,
    typer.Option(
        help="Hold the table in memory, or publish a release in parts: routed to shards on disk, or by Apache Spark. "
        "If not given, local from 5,000,000 rows of Parquet on."
    ),
]
Spark = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The Spark cluster or Connect server (sc://…); if not given, on this machine."),
]
TestKey = Annotated[
    bool, typer.Option("--test-key", help="Use the public test key; the release says so and protects nobody.")
]
Attack = Annotated[
    bool | None,
    typer.Option("--attack/--no-attack", help="Whether to attack the release before it is shown; it is, if not given."),
]
PartRows = Annotated[
    int | None,
    typer.Option(min=1, help="About how many rows a part of a release in parts has; 250,000, or what fits in memory."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="What all processes together stay within, such as 4GiB: a release in parts, in sizes that fit.",
    ),
]


def publish(
    table: TableFiles,
    policy: Annotated[Path, typer.Option(help="The policy file (YAML or JSON).")],
    out: Annotated[Path, typer.Option(help="The release folder to write; DIR.private goes beside it.")],
    method: Annotated[str | None, typer.Option(help="A method instead of the policy's.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override an option, variant or suppress.")
    ] = None,
    format: Annotated[Literal["parquet", "csv"], typer.Option(help="Format of the published tables.")] = "parquet",
    replace: Annotated[bool, typer.Option("--replace", help="Replace a release that is there already.")] = False,
    test_key: TestKey = False,
    attack: Attack = None,
    engine: Engine = None,
    part_rows: PartRows = None,
    memory: Memory = None,
    spark: Spark = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Publish a table under a policy, if the audit of the staged files passes and no attack exceeds a promise."""
    from pluralis.policy.policy import Policy
    from pluralis.publishing.atomic_folders import check_target, require_writable
    from pluralis.publishing.part_requirements import LARGE, engine_for
    from pluralis.publishing.parts import publish_in_parts
    from pluralis.publishing.pipeline import publish as publish_table
    from pluralis.publishing.republishing import key_for
    from pluralis.randomness import Key
    from pluralis.release.manifest import MANIFEST

    check_target(out.absolute(), replace=replace, mark=MANIFEST)
    require_writable(out.absolute().parent)
    try:
        rules = Policy.read(policy).override(method=method, options=_settings(set_ or []))
    except PolicyError as refusal:
        raise with_every_problem(refusal, table, policy, None, encoding, separator) from None
    chosen = engine or ("local" if memory is not None else engine_for(table))
    if chosen != "memory":
        _refuse_replacing(replace)
        in_parts = partial(publish_in_parts, table, rules, out, key=Key.test() if test_key else None, part=part_rows,
            engine=chosen, spark=spark, memory=memory, format=format, attacks=attack is not False, allow_test=test_key,
            encoding=encoding, separator=separator)  # fmt: skip
        _say_why(memory, LARGE, asked=engine is not None or as_json)
        show_parts(terminal(), _uninterrupted(in_parts), out, as_json=as_json)
        return
    _refuse_without_parts(part_rows, memory, spark)
    key = Key.test() if test_key else key_for(out)

    def in_memory() -> tuple[Publication, Verdict]:
        publication = publish_table(table, rules, key=key, encoding=encoding, separator=separator, attacks=attack)
        return publication, publication.save(out, replace=replace, format=format, allow_test=test_key)

    try:
        publication, verdict = _uninterrupted(in_memory)
    except (InputError, PolicyError, Infeasible) as refusal:
        raise with_every_problem(refusal, table, policy, rules, encoding, separator) from None
    if as_json:
        print_json(_as_dict(publication, verdict, out))
    else:
        show_publication(terminal(), publication, verdict, out)


def _refuse_without_parts(*asked: object) -> None:
    """Refuse what is about releases in parts, where there is none."""
    if any(one is not None for one in asked):
        raise PolicyError(
            "--part-rows, --memory and --spark are about a release in parts: say --engine local or --engine spark."
        )


def _refuse_replacing(replace: bool) -> None:
    if replace:
        raise OutputError("A release in parts is not replaced: publish under another name, or --engine memory.")


def _say_why(memory: str | None, large: int, *, asked: bool) -> None:
    """Why a table is published in parts, where nobody asked for it."""
    if asked:
        return
    why = "to stay within --memory" if memory is not None else f"as it has {large:,} rows or more"
    terminal().say("[yellow]note[/] {}", f"The table is published in parts, {why} (--engine local).")


def _uninterrupted(publishing: Callable[[], _Published]) -> _Published:
    """What is published, with its progress shown; whoever interrupts it is told that nothing was."""
    try:
        with progress():
            return publishing()
    except KeyboardInterrupt:
        complain("Interrupted. No release was written.")
        raise


def _as_dict(publication: Publication, verdict: Verdict, out: Path) -> dict[str, Any]:
    attacked = publication.attacked
    return {
        "release": str(out),
        "rows": publication.manifest.rows,
        "suppressed": publication.manifest.suppressed,
        "verdict": verdict.to_dict(),
        "attacked": None if attacked is None else [result.to_dict() for result in attacked],
        "information_loss": publication.loss.ncp,
        "notes": publication.notes,
    }


def _parts_as_dict(published: PublishedParts, out: Path) -> dict[str, Any]:
    attacked = published.attacked
    return {
        "release": str(out),
        "rows": published.manifest.rows,
        "suppressed": published.manifest.suppressed,
        "parts": len(published.manifest.parts),
        "verdict": published.verdict.to_dict(),
        "attacked": None if attacked is None else [result.to_dict() for result in attacked],
        "information_loss": published.loss.ncp,
        "notes": published.notes,
    }


def show_parts(console: Terminal, published: PublishedParts, out: Path, *, as_json: bool = False) -> None:
    """What was published in parts, and where it lies."""
    from pluralis.attacks.worst_guess import worst_in_words

    if as_json:
        print_json(_parts_as_dict(published, out))
        return
    for note in published.notes:
        console.say("[yellow]note[/] {}", note)
    worst = None
    if published.attacked is not None:
        worst = f"Worst measured guess, in one part: {worst_in_words(published.attacked)}."
    show_verdict(console, published.verdict, worst)
    manifest = published.manifest
    console.say(
        "\nPublished {:,} rows in {:,} parts to {} ({:,} suppressed). The report and the key are in {}.private: keep "
        "that folder to yourself.",
        manifest.rows,
        len(manifest.parts),
        out,
        manifest.suppressed,
        out,
        wrap=False,
    )


def show_publication(console: Terminal, publication: Publication, verdict: Verdict, out: Path) -> None:
    """What was published, and where it lies."""
    from pluralis.attacks.worst_guess import worst_in_words
    from pluralis.metrics.loss import loss_in_words

    manifest = publication.manifest
    for note in publication.notes:
        console.say("[yellow]note[/] {}", note)
    show_verdict(console, verdict, f"Worst measured guess: {worst_in_words(publication.attacked)}.")
    console.say("")
    if lost := loss_in_words(publication.loss, len(publication.policy.sensitive)):
        console.say("{}", lost)
    console.say(
        "Published {:,} rows to {} ({:,} suppressed). The report and the key are in {}.private: keep that folder to "
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
