"""The parts of a release: each block of shards is built, written and audited by itself, or joined with the next."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pluralis.assembling.building import build
from pluralis.attacks import Result
from pluralis.auditing import Verdict
from pluralis.engines.base import Block, Engine
from pluralis.errors import AuditFailed, Breached, Infeasible, OutputError
from pluralis.metrics import Loss
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.atomic_folders import StagedFolder
from pluralis.publishing.pipeline import publication_of
from pluralis.publishing.saving import Format, staged
from pluralis.randomness import Key
from pluralis.report.exposure import Exposure, exposures
from pluralis.table.named_values import NoSuchValue
from pluralis.table.whole_table import WholeTable


class PartPublished(NamedTuple):
    """What a worker tells of a part that it wrote, to a folder of its own; or why there is none.

    Its manifest stays in the folder: many of them would fill the memory of who waits for all parts.
    """

    folder: str = ""
    sha256: str = ""
    verdict: Verdict | None = None
    loss: Loss | None = None
    attacked: tuple[Result, ...] | None = None
    exposures: tuple[Exposure, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""


class Asked(NamedTuple):
    """What every worker is told."""

    policy: Policy
    key: Key
    format: Format
    allow_test: bool
    folder: Path
    whole: WholeTable


def missing_throughout(policy: Policy, rows: pl.DataFrame) -> str:
    """Why rows of which each lacks a sensitive value cannot be published; nothing where one has all."""
    names = policy.sensitive
    if not names or rows.select(pl.all_horizontal(pl.col(names).is_not_null()).any()).item():
        return ""
    return f"Every row of a part misses {' or '.join(map(repr, names))}. There is nothing to publish."


def publish_rows(asked: Asked, block: Block, rows: pl.DataFrame) -> PartPublished:
    """Build the rows of a block as a release of its own, write it and audit what was written."""
    name = f"part {block.first} to {block.last}/"
    if gap := missing_throughout(asked.policy, rows):
        return PartPublished(refused=gap)
    try:
        made = build(rows, asked.policy, asked.key, part=name, whole=asked.whole)
    except Infeasible as refusal:
        return PartPublished(refused=str(refusal))
    except NoSuchValue as absent:
        raise Infeasible(
            f"{absent} That is so in a part of the table. To join parts until each has the value would tell whether "
            "those who have it are alike. Publish with larger parts (--part-rows), or --engine memory."
        ) from None
    publication = publication_of(made, asked.policy, attacks=block.sample, exposing=False)
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
        hashlib.sha256(manifest.to_json().encode()).hexdigest(),
        verdict,
        publication.loss,
        publication.attacked,
        exposures(made.release.decoded(), learning=False),
        publication.notes,
    )


def published_blocks(
    engine: Engine, asked: Asked, shards: Mapping[int, int], sample: bool
) -> dict[Block, PartPublished]:
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
        waiting = joined_blocks(finished)
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


def joined_blocks(finished: Mapping[Block, PartPublished]) -> list[Block]:
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
