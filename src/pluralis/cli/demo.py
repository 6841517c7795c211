"""`pluralis demo`: the whole story on an embedded table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.audit import show_verdict
from pluralis.cli.measure import show_loss
from pluralis.cli.options import AsJson
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Terminal, terminal
from pluralis.display.escaping import print_json
from pluralis.errors import OutputError

if TYPE_CHECKING:
    import polars as pl

    from pluralis.auditing.verdict import Verdict
    from pluralis.publishing.saving import Publication


def demo(
    out: Annotated[Path, typer.Option(help="Where the demo folder goes.")] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """The whole story on an embedded table of hospital discharges."""
    _require_no_other_folder(out)
    with progress():
        table, publication, verdict = _publish_discharges(out)
    if as_json:
        print_json({"folder": str(out), "verdict": verdict.to_dict(), "loss": publication.loss.to_dict()})
    else:
        show_story(terminal(), table, publication, verdict, out)


def _require_no_other_folder(out: Path) -> None:
    """Refuse to write where something else than an untouched demo lies."""
    from pluralis.datasets.demo import POLICY

    if out.exists() and not (out / "release" / "manifest.json").is_file():
        raise OutputError(f"{out} exists and holds no demo. Choose another folder with --out.")
    if (out / "policy.yaml").exists() and (out / "policy.yaml").read_text(encoding="utf-8") != POLICY:
        raise OutputError(f"{out / 'policy.yaml'} was changed; the demo would overwrite it. Choose another --out.")


def _publish_discharges(out: Path) -> tuple[pl.DataFrame, Publication, Verdict]:
    """Write the table and its policy to a folder, and publish them there."""
    from pluralis.datasets.demo import POLICY
    from pluralis.datasets.hospital import hospital_discharges
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.publishing.republishing import key_for
    from pluralis.table.sources import write_csv_bytes

    source, policy, target = out / "discharges.csv", out / "policy.yaml", out / "release"
    table = hospital_discharges()
    out.mkdir(parents=True, exist_ok=True)
    source.write_bytes(write_csv_bytes(table))
    policy.write_text(POLICY, encoding="utf-8")
    publication = publish(source, Policy.read(policy), key=key_for(target))
    return table, publication, publication.save(target, replace=True)


def show_story(console: Terminal, table: pl.DataFrame, publication: Publication, verdict: Verdict, out: Path) -> None:
    """The table, the policy, the release with its verdict and its loss, and where to look."""
    loss = publication.loss
    people = table["patient"].n_unique()
    console.say("[bold]A table[/]     {:,} hospital discharges of {:,} people", table.height, people)
    console.say(
        "[bold]A policy[/]    age, gender, zipcode, race may be known; diagnosis, insurer, charges must not be learned"
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
