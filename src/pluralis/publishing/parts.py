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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from pluralis.attacks import Result
from pluralis.attacks.parts import results_of_a_sample
from pluralis.auditing import Verdict, audit
from pluralis.auditing.parts import verdict_of_parts
from pluralis.display.objects import Columns, Shown
from pluralis.engines.base import Engine
from pluralis.engines.local import LocalEngine, local_engine
from pluralis.engines.routing import Cleaning, Source
from pluralis.engines.sizes import MIB, PART, Rows, Sizes, bytes_of, sizes_for
from pluralis.engines.spark import SparkEngine, session
from pluralis.errors import AuditFailed, Infeasible, InputError, OutputError
from pluralis.metrics import Loss
from pluralis.metrics.parts import loss_of_parts
from pluralis.policy.policy import Policy, as_policy
from pluralis.publishing.atomic_folders import SPILL, Stage, StagedFolder, check_target, one_at_a_time, staging
from pluralis.publishing.part_blocks import Asked, PartPublished, published_blocks
from pluralis.publishing.part_method import require_choice, with_method
from pluralis.publishing.part_requirements import (
    number_of_shards,
    of_parts,
    opened,
    parquet_of,
    require_apart,
    require_present,
    require_share,
    require_sizes,
    rows_of,
)
from pluralis.publishing.part_shards import FILE as PART_SHARDS
from pluralis.publishing.part_shards import PartShards
from pluralis.publishing.part_tables import with_tables
from pluralis.publishing.private_folder import write_beside_key
from pluralis.publishing.republishing import private_of
from pluralis.publishing.saving import Format
from pluralis.randomness import Draw, Key, Made
from pluralis.release.manifest import MANIFEST, README, Manifest
from pluralis.release.parts import OfAll, Parts, PartsManifest, part_folder, parts_readme
from pluralis.release.reading import manifest_of, parts_of
from pluralis.report.exposure import exposures_of_parts
from pluralis.report.report import render_report

MOST_NOTES = 20


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
    >>> import polars as pl
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

    @cached_property
    def loss(self) -> Loss:
        """What all parts lost together."""
        return loss_of_parts(self.losses)

    def _parts(self) -> Iterator[str | Columns]:
        stated = self.manifest
        size = f"{stated.rows:,} rows in {len(stated.parts):,} parts, {stated.suppressed:,} suppressed"
        yield f"Published by {stated.method}: {size}, information loss {self.loss.ncp:.4f}"
        yield "Every claim holds." if self.verdict.holds else "Not every claim holds."
        yield from (f"Note: {note}" for note in self.notes)


def publish_in_parts(
    table: object,
    policy: Policy | str | Path,
    folder: str | Path,
    *,
    key: Key | None = None,
    part: int | None = None,
    engine: Literal["local", "spark"] = "local",
    spark: str | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
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
    part : int, optional
        About how many rows a part has; if not given, 250,000, or as many as the memory allows.
    engine : {"local", "spark"}
        On this machine, with files beside the release; or on Spark, where every worker sees table and folder.
    spark : str, optional
        The URL of the cluster, or of a Connect server (``sc://…``); if not given, Spark runs on this machine.
    workers : int, optional
        Processes of the local engine; 0 works in this one. If not given, as many as there are cores and free memory
        for.
    memory : int or str, optional
        Bytes, or a size such as ``"4GiB"``, that all processes together should stay within. It decides on workers and
        on the rows of a part where those are not given, and so on the release; the code of libraries counts once.
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
        If the table cannot be read, if parts or workers cannot be so many, or if the memory is too small.
    PolicyError
        If it asks for what takes all rows at once.
    AuditFailed, Breached
        If a part does not keep what it promises. Nothing is written then.
    OutputError
        If something is there already.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
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
    require_apart(policy)
    require_choice(policy)
    target = Path(folder).absolute()
    _require_free(target)
    require_sizes(part, workers, key)
    room = _room_of(memory, engine, spark)
    if key is not None and key.made:
        raise OutputError("Something was published under this key already. Publish the parts under a new one.")
    key = key or Key.new()
    with ExitStack() as end:
        stages = end.enter_context(staging(target, private_of(target), _spill_of(target)))
        public_stage, private_stage, spilled = stages
        working: Engine
        if engine == "spark":
            files = parquet_of(table, policy)
            working = SparkEngine(end.enter_context(session(spark)), files)
            cleaning, size = working.learned(policy), part or PART
        else:
            source = opened(table, policy, encoding, separator)
            if not source.height:
                raise InputError("The table has no rows. There is nothing to publish.")
            sized = partial(sizes_for, memory=room, part=part, workers=workers, attacks=attacks)
            working, cleaning, size = end.enter_context(_on_this_machine(source, policy, spilled.folder, sized, room))
        require_present(cleaning)
        require_share(cleaning)
        shards = number_of_shards(working, cleaning, Draw(key), size)
        of_shards = working.route(cleaning, Draw(key), shards)
        taken = of_parts(with_method(working, cleaning, of_shards), cleaning)
        asked = Asked(taken, key, format, allow_test, spilled.folder, cleaning.of_whole)
        asked, more = with_tables(working, asked, of_shards)
        cleaning.notes.extend(more)
        blocks = published_blocks(working, asked, of_shards, attacks)
        done = [*blocks.values()]
        parts, published, described = _manifest(public_stage, spilled.folder, done, cleaning)
        if parts_of(public_stage.folder) != parts:
            raise OutputError(f"{public_stage.folder} was changed by somebody else. Nothing was written.")
        if engine == "spark":
            _require_kept(public_stage.folder, allow_test)
        report = _report(policy, published, described, done)
        _write_private(private_stage, policy, key, published, report, PartShards.of_blocks(shards, blocks))
        _show(target, public_stage, private_stage)
    return published


@contextmanager
def _on_this_machine(
    source: Source, policy: Policy, folder: Path, sized: Callable[[Rows], Sizes], memory: int | None
) -> Iterator[tuple[LocalEngine, Cleaning, int]]:
    """The local engine, what it learned, and the rows of a part: sizes are taken again once all texts are known."""
    rows = rows_of(source, policy)
    with local_engine(source, folder, sized(rows)) as working:
        cleaning = working.learned(policy)
        sizes = sized(replace(rows, texts=cleaning.letters))
        working.resize(sizes)
        if memory is not None:
            workers = f"{sizes.workers:,} worker{'s' * (sizes.workers > 1)}" if sizes.workers else "this process alone"
            cleaning.notes.append(f"Within {memory / MIB:,.0f} MiB: {workers}, parts of about {sizes.part:,} rows.")
        yield working, cleaning, sizes.part


def _room_of(memory: int | str | None, engine: str, spark: str | None) -> int | None:
    """The bytes that all processes may hold together, where that is bounded; refuses what another engine is asked."""
    if engine != "spark" and spark is not None:
        raise InputError(f"{spark} is the URL of a Spark cluster, and the engine is {engine}. Say --engine spark.")
    if memory is not None and engine == "spark":
        raise InputError("memory is about this machine. Give Spark's workers theirs with its own settings.")
    return None if memory is None else bytes_of(memory)


def _show(target: Path, public: Stage, private: Stage) -> None:
    """Let both folders take their names, or none."""
    with one_at_a_time(target.parent), ExitStack() as undo:
        check_target(target, replace=False, mark=MANIFEST)
        private.show(undo, replace=False)
        public.show(undo, replace=False, mode=0o755)
        undo.pop_all()


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


def _write_private(
    to: StagedFolder, policy: Policy, key: Key, published: PublishedParts, report: str, shards: PartShards
) -> None:
    """What only the publisher sees; the key knows what was made under it."""
    manifest = published.manifest
    replace(key.with_release(Made(manifest.method, manifest.sha256)), designs={}).write(to.folder / "key")
    lost = {**published.loss.to_dict(), "parts": [loss.to_dict() for loss in published.losses]}
    write_beside_key(to, policy, manifest.to_json(), published.verdict, lost, report, published.attacked)
    to.write(PART_SHARDS, shards.to_json(manifest.sha256).encode(), mode=0o600)


def _manifest(
    to: StagedFolder, written: Path, done: Sequence[PartPublished], cleaning: Cleaning
) -> tuple[Parts, PublishedParts, Manifest]:
    """Give the parts that were written their names, and write what they share.

    Only they are moved here: what a task leaves that was joined, started twice or died has no place in a release.
    Last comes the manifest of the first part with what is true of all of them, for the report.
    """
    every, verdicts, losses = OfAll(cleaning.decided.orders), [], []
    for i, part in enumerate(done, start=1):
        assert part.verdict is not None and part.loss is not None  # noqa: PT018
        (written / part.folder).rename(to.folder / part_folder(i))
        own = manifest_of(to.folder / part_folder(i))
        if hashlib.sha256(own.to_json().encode()).hexdigest() != part.sha256:
            raise OutputError(f"{to.folder} was changed by somebody else. Nothing was written.")
        _require_none(every.add(own, part.sha256))
        verdicts.append(part.verdict)
        losses.append(part.loss)
    _require_none(every.problems())
    manifest = every.manifest()
    to.write(MANIFEST, manifest.to_json().encode())
    to.write(README, parts_readme(manifest).encode())
    notes = tuple(dict.fromkeys((*cleaning.notes, *(note for part in done for note in part.notes))))
    if len(notes) > MOST_NOTES:
        notes = (*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES:,} more notes of other parts, much like these.")
    parts = Parts(manifest, tuple(every.claims))
    verdict = verdict_of_parts(parts, verdicts)
    attacked = done[0].attacked
    if attacked is not None and len(done) > 1:
        attacked = results_of_a_sample(manifest.parts[0].folder, attacked)
    whole = {
        "rows": manifest.rows, "suppressed": manifest.suppressed, "breaks": manifest.breaks, "claims": every.weakest
    }  # fmt: skip
    described = manifest_of(to.folder / part_folder(1)).model_copy(update=whole)
    return parts, PublishedParts(manifest, verdict, tuple(losses), attacked, notes), described


def _require_kept(folder: Path, allow_test: bool) -> None:
    """Audit what other machines wrote, as it is read here; AuditFailed if it does not keep what it promises."""
    verdict = audit(folder, allow_test=allow_test, limit=None)
    if not verdict.holds:
        raise AuditFailed(verdict)


def _require_none(problems: Iterable[str]) -> None:
    """Refuse parts that are not one release together."""
    for problem in problems:
        raise Infeasible(
            f"{problem} Publish with larger parts, which have more of the values (--part-rows), or --engine memory."
        )


def _report(policy: Policy, published: PublishedParts, described: Manifest, done: Sequence[PartPublished]) -> str:
    """The report: claims, losses and groups are those of all parts, attacks those of the first one."""
    infos = published.manifest.parts
    exposed = exposures_of_parts((info.folder, part.exposures) for info, part in zip(infos, done, strict=True))
    return render_report(
        policy, described, published.verdict, published.loss, published.notes, published.attacked, exposed, infos
    )
