"""A table that memory does not hold becomes a release in parts: routed to shards, each published as a release.

Rows      are routed to shards on disk (`engines.routing`), in a hidden folder beside the release, mode 0700, which is
          removed at the end.
Blocks    are shards that are published together. A shard in which a value is too common, or that cannot be grouped,
          is joined with the next one, again and again; that depends on the table, the policy and the key alone.
Parts     each block is built, written to a staged folder and audited there by a worker process of its own, by the
          same functions as any release. Its draws are independent of those of other parts.
Shown     once every part has passed, all of them become visible in one rename.

What joining tells somebody who knows the method is bounded as for shards in memory (docs/scale.md).
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from pluralis.assembling.building import build
from pluralis.attacks import Result
from pluralis.auditing import Verdict
from pluralis.auditing.parts import verdict_of_parts
from pluralis.display.objects import Columns, Shown
from pluralis.engines.base import Block, Engine
from pluralis.engines.local import LocalEngine
from pluralis.engines.routing import Cleaning
from pluralis.engines.spark import SparkEngine, session
from pluralis.errors import AuditFailed, Breached, Infeasible, InputError, OutputError, PolicyError
from pluralis.method import AUTO, method_for
from pluralis.metrics import Loss
from pluralis.policy.policy import Policy, as_policy
from pluralis.progress import stage
from pluralis.publishing.atomic_folders import SPILL, StagedFolder, check_target, one_at_a_time, staging
from pluralis.publishing.pipeline import publication_of
from pluralis.publishing.private_folder import write_beside_key
from pluralis.publishing.republishing import private_of
from pluralis.publishing.saving import Format, staged
from pluralis.randomness import Draw, Key, Made
from pluralis.release.kinds import kind_named
from pluralis.release.manifest import MANIFEST, README, Manifest
from pluralis.release.parts import MOST_PARTS, OfAll, Parts, PartsManifest, part_folder, parts_readme
from pluralis.release.reading import parts_of
from pluralis.report.exposure import Exposure
from pluralis.report.report import render_report
from pluralis.table.parquet_files import ParquetFile
from pluralis.table.sources import names_files, open_table, table_files

PART = 250_000  # rows of a part, about
MOST_NOTES = 20
LEAST = 10_000  # rows of a part at least; a test key may have less
LEAST_DIFFERENT = 5_000  # different quasi-identifiers, or people, for each shard
LARGE = 5_000_000  # rows of Parquet from which a table is published in parts, unless whoever publishes says otherwise
SHOWN = (
    "This release is in {parts} parts. Claims are those of all of them; attacks, losses and groups are those of the "
    "first part, which is a sample: a keyed hash decides who is in it."
)


class PartPublished(NamedTuple):
    """What a worker tells of a part that it wrote, to a folder below the staged one; or why there is none."""

    folder: str = ""
    manifest: Manifest | None = None
    sha256: str = ""
    verdict: Verdict | None = None
    loss: Loss | None = None
    attacked: tuple[Result, ...] | None = None
    exposures: tuple[Exposure, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""


@dataclass(frozen=True, repr=False)
class PublishedParts(Shown):
    """A release in parts that became visible: its manifest, the verdict on all parts, and what was lost in each.

    Parameters
    ----------
    manifest : PartsManifest
        What its parts share, and which there are.
    verdict : Verdict
        Each claim where it is weakest.
    losses : tuple of Loss
        What was lost in each part.
    attacked : tuple of Result, optional
        What attacks got from the first part, which is a sample; None where none was run.
    notes : tuple of str
        What whoever publishes should know.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
    >>> with TemporaryDirectory() as parent:
    ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
    ...     pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
    Published by anatomy: 400 rows in 2 parts, 0 suppressed, information loss 0.0000
    Every claim holds.
    """

    manifest: PartsManifest
    verdict: Verdict
    losses: tuple[Loss, ...]
    attacked: tuple[Result, ...] | None
    notes: tuple[str, ...]

    @property
    def ncp(self) -> float:
        """The information loss of published rows, from 0 to 1, on average over all parts."""
        return sum(loss.ncp * loss.rows for loss in self.losses) / self.manifest.rows

    def _parts(self) -> Iterator[str | Columns]:
        stated = self.manifest
        size = f"{stated.rows:,} rows in {len(stated.parts):,} parts, {stated.suppressed:,} suppressed"
        yield f"Published by {stated.method}: {size}, information loss {self.ncp:.4f}"
        yield "Every claim holds." if self.verdict.holds else "Not every claim holds."
        yield from (f"Note: {note}" for note in self.notes)


def publish_in_parts(
    table: object,
    policy: Policy | str | Path,
    folder: str | Path,
    *,
    key: Key | None = None,
    part: int = PART,
    engine: Literal["local", "spark"] = "local",
    spark: str | None = None,
    workers: int | None = None,
    format: Format = "parquet",
    attacks: bool = True,
    allow_test: bool = False,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> PublishedParts:
    """Publish a table that memory need not hold as a release in parts, audited before any of it becomes visible.

    Parameters
    ----------
    table : str, Path, list of them, or data frame
        Parquet files are read some rows at a time; anything else is read as `read_table` does.
    policy : Policy, str or Path
        A policy, or a policy file.
    folder : str or Path
        Where the release goes; what is the publisher's alone goes to `folder.private`.
    key : Key, optional
        A new one, if it is not given.
    part : int
        About how many rows a part has.
    engine : {"local", "spark"}
        On this machine, with files beside the release; or on Spark, where every worker sees table and folder.
    spark : str, optional
        The URL of the cluster, or of a Connect server (``sc://…``); if not given, Spark runs on this machine.
    workers : int, optional
        Processes of the local engine; 0 works in this one. If not given, as many as there are cores and free memory
        for.
    format : {"parquet", "csv"}
        Of the published tables.
    attacks : bool
        Whether to attack the first part, which is a sample.
    allow_test : bool
        Accept the fixed test key, which protects nobody.
    encoding, separator : str
        Of a CSV file, as in `read_table`.

    Returns
    -------
    PublishedParts
        The manifest, the verdict and the losses.

    Raises
    ------
    Infeasible
        If the policy cannot be met, with what would work.
    InputError
        If the table cannot be read, or parts or workers cannot be so many.
    PolicyError
        If it asks for what takes all rows at once.
    AuditFailed, Breached
        If a part does not keep what it promises. Nothing is written then.
    OutputError
        If something is there already.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
    >>> with TemporaryDirectory() as parent:
    ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
    ...     published = publish_in_parts(people, policy, f"{parent}/release", **settings)
    ...     len(published.manifest.parts), published.verdict.holds
    (2, True)
    """
    policy = as_policy(policy)
    _require_apart(policy)
    target = Path(folder).absolute()
    _require_free(target)
    if part < 1 or (workers or 0) < 0:
        raise InputError(f"There are no parts of {part:,} rows, or no {workers} workers. Take more.")
    if part < LEAST and not (key is not None and key.is_test):
        raise InputError(
            f"Parts of {part:,} rows could tell of single people where they are joined: {LEAST:,} or more."
        )
    if key is not None and key.made:
        raise OutputError("Something was published under this key already. Publish the parts under a new one.")
    key = key or Key.new()
    with ExitStack() as end:
        stages = end.enter_context(staging(target, private_of(target), _spill_of(target)))
        public_stage, private_stage, spilled = stages
        working: Engine
        if engine == "spark":
            files = _parquet(table, policy)
            working = SparkEngine.of_files(end.enter_context(session(spark)), files)
        else:
            working = LocalEngine(_opened(table, policy, encoding, separator), spilled.folder, workers)
        cleaning = working.learned(policy)
        _require_share(cleaning)
        shards = working.route(cleaning, Draw(key), _number_of_shards(working, cleaning, Draw(key), part))
        decimals = tuple(name for name, whole in cleaning.whole.items() if not whole)
        asked = _Asked(_of_parts(policy, cleaning), key, format, allow_test, public_stage.folder, decimals)
        done = [*_published(working, asked, shards, attacks).values()]
        parts, published = _manifest(public_stage, done, cleaning.notes)
        if parts_of(public_stage.folder) != parts:
            raise OutputError(f"{public_stage.folder} was changed by somebody else. Nothing was written.")
        _write_private(private_stage, policy, key, published, done[0])
        with one_at_a_time(target.parent), ExitStack() as undo:
            check_target(target, replace=False, mark=MANIFEST)
            private_stage.show(undo, replace=False)
            public_stage.show(undo, replace=False, mode=0o755)
            undo.pop_all()
    return published


def _spill_of(target: Path) -> Path:
    return target.with_name(target.name + SPILL)


def _require_free(target: Path) -> None:
    """Refuse a name at which something is, or was."""
    private = private_of(target)
    if private.exists() and not target.exists():
        raise OutputError(
            f"{private} is there without its release, which was moved away, or whose publication was interrupted. "
            "Move it away, or choose another name."
        )
    for one in (target, private, _spill_of(target)):
        check_target(one, replace=False, mark=MANIFEST)


def _write_private(to: StagedFolder, policy: Policy, key: Key, published: PublishedParts, first: PartPublished) -> None:
    """What only the publisher sees; the key knows what was made under it."""
    manifest = published.manifest
    replace(key.with_release(Made(manifest.method, _digest(manifest))), designs={}).write(to.folder / "key")
    report = _report(policy, published, first)
    lost = {"parts": [loss.to_dict() for loss in published.losses]}
    write_beside_key(to, policy, manifest.to_json(), published.verdict, lost, report, published.attacked)


def _require_share(cleaning: Cleaning) -> None:
    """Refuse at once a value that is too common in the whole table, however its parts are joined."""
    policy, every = cleaning.policy, cleaning.rows
    for name, (text, rows) in cleaning.commonest.items():
        own = policy.columns[name]
        as_it_is = own.role == "sensitive" and own.if_missing == "refuse" and own.bin is None and not own.is_banded
        if as_it_is and rows * policy.l(name) > every and policy.publish.suppress == 0:
            raise Infeasible(
                f"{name!r} cannot be {policy.l(name)}-diverse: {text!r} fills {rows:,} of {every:,} rows "
                f"({rows / every:.1%}). The largest l it allows is {every // rows}; set l: {every // rows} or allow "
                "suppress."
            )


def _number_of_shards(engine: Engine, cleaning: Cleaning, draw: Draw, part: int) -> int:
    """How many shards of about `part` rows; fewer where few people, or quasi-identifiers, differ.

    Those who are alike are in one shard. A shard of few who differ would tell of each of them if it is joined.
    """
    if ceil(cleaning.rows / part) > MOST_PARTS:
        raise InputError(f"Parts of {part:,} rows would be more than {MOST_PARTS:,}. Take larger ones: --part-rows.")
    wanted, different = ceil(cleaning.rows / part), engine.different(cleaning, draw)
    allowed = max(1, different // (LEAST_DIFFERENT if part >= LEAST else 1))
    if allowed < wanted:
        alike = "people" if cleaning.policy.person is not None else "quasi-identifiers"
        cleaning.notes.append(f"Only about {different:,} {alike} differ: {allowed:,} parts instead of {wanted:,}.")
    return min(wanted, allowed)


def engine_for(table: object) -> Literal["memory", "local"]:
    """How a table is published where nobody says: in parts, if it is Parquet of LARGE rows or more."""
    if names_files(table):
        files = table_files(table)
        if files[0].name.lower().endswith(".parquet"):
            return "local" if ParquetFile(files, whole=False).height >= LARGE else "memory"
    return "memory"


def _require_apart(policy: Policy) -> None:
    """Refuse what is decided with all rows at once."""
    whole = {
        "method: auto": policy.publish.method == AUTO,
        "gain and t": any(own.gain is not None or own.t is not None for own in policy.columns.values()),
        "at_most": any(own.at_most for own in policy.columns.values()),
        "rare values": any(own.rare is not None for own in policy.columns.values()),
        "bins: {quantiles: …}": any(own.bins is not None for own in policy.columns.values()),
        "rules": bool(policy.rules),
    }
    for name in (name for name, asked in whole.items() if asked):
        raise PolicyError(
            f"{name} of a policy needs all rows at once, and a release in parts has them part by part. Publish with "
            "--engine memory, or leave it out."
        )
    if kind_named(method_for(policy).kind).has_subtables:
        raise PolicyError(
            f"{policy.publish.method} decides its tables from all rows at once, and parts would have different ones. "
            "Publish with --engine memory, or use method: decomposition or msb."
        )


def _parquet(table: object, policy: Policy) -> list[Path]:
    """The Parquet files of a table."""
    files = table_files(table) if names_files(table) else []
    if not files or not files[0].name.lower().endswith(".parquet"):
        raise InputError("Spark reads Parquet. Write the table as Parquet first, or publish with --engine local.")
    policy.require_decided()
    policy.check_columns(ParquetFile(files, whole=False).columns)
    return files


def _opened(table: object, policy: Policy, encoding: str, separator: str | None) -> pl.DataFrame | ParquetFile:
    if names_files(table):
        files = table_files(table)
        if files[0].name.lower().endswith(".parquet"):
            source: pl.DataFrame | ParquetFile = ParquetFile(files, whole=False)
            policy.require_decided()
            policy.check_columns(source.columns)
            if not source.height:
                raise InputError("The table has no rows. There is nothing to publish.")
            return source
    source = open_table(table, encoding=encoding, separator=separator)
    policy.require_decided()
    policy.check_columns(source.columns)
    return source


def _of_parts(policy: Policy, cleaning: Cleaning) -> Policy:
    """The policy of a part, in which columns that are never published are no more."""
    kept = {name: own for name, own in policy.attributes.items() if name in cleaning.columns}
    policy = policy.model_copy(update={"attributes": kept})
    open_choice = getattr(method_for(policy), "sensitive_table", None) == "auto"  # which each part would take alone
    return policy.override(options={"sensitive_table": "marginals"}) if open_choice else policy


# parts ------------------------------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """What every worker is told."""

    policy: Policy
    key: Key
    format: Format
    allow_test: bool
    folder: Path
    decimals: tuple[str, ...]


def publish_rows(asked: _Asked, block: Block, rows: pl.DataFrame) -> PartPublished:
    """Build the rows of a block as a release of its own, write it and audit what was written."""
    name = f"part {block.first} to {block.last}/"
    gaps = [one for one in asked.policy.sensitive if rows[one].null_count() == rows.height]
    if gaps:
        return PartPublished(refused=f"{gaps[0]!r} is missing in every row of a part. There is nothing to publish.")
    try:
        made = build(rows, asked.policy, asked.key, part=name, decimals=asked.decimals)
    except Infeasible as refusal:
        return PartPublished(refused=str(refusal))
    publication = publication_of(made, asked.policy, attacks=block.sample)
    try:
        folder = StagedFolder(asked.folder / f"block-{block.first:05}-{secrets.token_hex(8)}", 0o755)
        manifest, verdict = staged(publication, folder, asked.format, asked.allow_test)
        folder.sync()
    except AuditFailed as failed:
        return PartPublished(verdict=failed.verdict)
    except Breached:
        return PartPublished(attacked=publication.attacked)
    except OSError as error:
        raise OutputError(f"Nothing was written: {error.strerror or error}.") from error
    return PartPublished(
        folder.folder.name,
        manifest,
        hashlib.sha256(manifest.to_json().encode()).hexdigest(),
        verdict,
        publication.loss,
        publication.attacked,
        publication.exposures,
        publication.notes,
    )


def _published(engine: Engine, asked: _Asked, shards: Mapping[int, int], sample: bool) -> dict[Block, PartPublished]:
    """Every block with what was published of it, in order; blocks that cannot be are joined with the next ones."""
    waiting = [Block(i, i + 1, shards[i]) for i in sorted(shards)]
    waiting[0] = waiting[0]._replace(sample=sample)
    finished: dict[Block, PartPublished] = {}
    total = sum(block.rows for block in waiting)
    while waiting:
        with stage(f"publishing {len(waiting):,} parts") as done:
            for i, result in engine.each(waiting, partial(publish_rows, asked)):
                finished[waiting[i]] = _passed(result)
                done(sum(block.rows for block in finished) / total)
        waiting = _joined(finished)
        for block in waiting:
            for own in [one for one in finished if block.first <= one.first < block.last]:
                del finished[own]
    return dict(sorted(finished.items()))


def _passed(part: PartPublished) -> PartPublished:
    """A part that passed the audit and the attacks, or that was refused before; AuditFailed or Breached else."""
    if part.verdict is not None and not part.verdict.holds:
        raise AuditFailed(part.verdict)
    if not part.folder and part.attacked is not None:
        raise Breached([result for result in part.attacked if result.breach])
    return part


def _joined(finished: Mapping[Block, PartPublished]) -> list[Block]:
    """Blocks to try next: each that was refused with the next one, or the last with the one before.

    Blocks that were refused one after the other are joined in pairs.
    """
    blocks = sorted(finished)
    again: list[Block] = []
    i = 0
    while i < len(blocks):
        if not finished[blocks[i]].refused:
            i += 1
            continue
        if i + 1 < len(blocks):
            again.append(blocks[i].joined(blocks[i + 1]))
            i += 2
        elif again and again[-1].last == blocks[i].first:
            again[-1] = again[-1].joined(blocks[i])
            i += 1
        elif i:
            again.append(blocks[i - 1].joined(blocks[i]))
            i += 1
        else:
            raise Infeasible(*finished[blocks[0]].refused.split("\n"))
    return again


def _manifest(to: StagedFolder, done: Sequence[PartPublished], before: Sequence[str]) -> tuple[Parts, PublishedParts]:
    """Give the parts their names, remove what no part is, and write what they share; `before` is said of all rows."""
    every, verdicts, losses = OfAll(), [], []
    for i, part in enumerate(done, start=1):
        assert part.manifest is not None and part.verdict is not None and part.loss is not None  # noqa: PT018
        (to.folder / part.folder).rename(to.folder / part_folder(i))
        _require_none(every.add(part.manifest, part.sha256))
        verdicts.append(part.verdict)
        losses.append(part.loss)
    _require_none(every.problems())
    for rest in to.folder.glob("block-*"):  # of blocks that were joined, and of tasks that were started twice
        shutil.rmtree(rest)
    manifest = every.manifest()
    to.write(MANIFEST, manifest.to_json().encode())
    to.write(README, parts_readme(manifest).encode())
    notes = tuple(dict.fromkeys((*before, *(note for part in done for note in part.notes))))
    if len(notes) > MOST_NOTES:
        notes = (*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES:,} more notes of other parts, much like these.")
    parts = Parts(manifest, tuple(every.claims))
    verdict = verdict_of_parts(parts, verdicts)
    attacked = next((part.attacked for part in done if part.attacked is not None), None)
    return parts, PublishedParts(manifest, verdict, tuple(losses), attacked, notes)


def _require_none(problems: Iterable[str]) -> None:
    """Refuse parts that are not one release together."""
    for problem in problems:
        raise Infeasible(
            f"{problem} Publish with larger parts, which have more of the values (--part-rows), or --engine memory."
        )


def _report(policy: Policy, published: PublishedParts, first: PartPublished) -> str:
    """The report: claims of all parts; of attacks, losses and groups those of the first one."""
    assert first.manifest is not None and first.loss is not None  # noqa: PT018
    stated = published.manifest
    whole = {"rows": stated.rows, "suppressed": stated.suppressed, "breaks": stated.breaks}
    notes = (SHOWN.format(parts=f"{len(stated.parts):,}"), *published.notes)
    manifest = first.manifest.model_copy(update=whole)
    return render_report(policy, manifest, published.verdict, first.loss, notes, first.attacked, first.exposures)


def _digest(manifest: PartsManifest) -> str:
    return hashlib.sha256(manifest.to_json().encode()).hexdigest()
