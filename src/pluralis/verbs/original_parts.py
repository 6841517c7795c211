"""The original of a release in parts, routed again: to each part the rows that it was made of.

Needed are the key, `policy.yaml` and `parts.json` of its private folder: a keyed hash decided which rows are in which
part. Rows are cleaned and routed by the functions that did so at publication, in two passes, some rows at
a time, to a hidden folder beside the private one, mode 0700, which is removed at the end. Then one part is worked on
after the other, or one on each core where the table is large, each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from pluralis.engines.base import Block
from pluralis.engines.local import LocalEngine, local_engine
from pluralis.engines.sizes import sizes_for
from pluralis.errors import InputError, ReleaseError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.atomic_folders import SPILL, staging
from pluralis.publishing.part_requirements import opened, rows_of
from pluralis.publishing.part_shards import FILE as PART_SHARDS
from pluralis.publishing.part_shards import PartShards
from pluralis.publishing.republishing import private_of
from pluralis.randomness import Draw, Key, Made
from pluralis.release.original import OtherRows, require_rows
from pluralis.release.parts import PartInfo, Parts, PartsManifest, of_a_part
from pluralis.release.reading import parts_of

MANY = 1_000_000  # rows of a release from which its parts are worked on by processes of their own

Outcome = TypeVar("Outcome")
Task = Callable[[PartInfo, pl.DataFrame], Outcome]


@dataclass(frozen=True)
class OriginalParts:
    """The rows of each part of a release, on disk."""

    manifest: PartsManifest
    engine: LocalEngine
    blocks: tuple[Block, ...]

    def require_rows(self) -> None:
        """Refuse an original of which some part has not as many rows as were published and suppressed."""
        for info, block in zip(self.manifest.parts, self.blocks, strict=True):
            if block.rows != info.rows + info.suppressed:
                raise OtherRows(
                    f"{info.folder} has {info.rows:,} rows and {info.suppressed:,} suppressed, and of this table, by "
                    f"the key, {block.rows:,} are its own: it is not the original of this release, or not as it was. "
                    "Give the table that was published."
                )

    def each(self, task: Task[Outcome], doing: str) -> list[Outcome]:
        """What a task gives for every part and its rows, in the order of parts; it goes to other processes."""
        infos = {block.first: info for block, info in zip(self.blocks, self.manifest.parts, strict=True)}
        for block, info in zip(self.blocks, self.manifest.parts, strict=True):
            if not block.rows:
                raise OtherRows(f"No row of this table is in {info.folder}: it is not the original of this release.")
        outcomes: dict[int, Outcome] = {}
        with stage(doing) as done:
            for i, outcome in self.engine.each(self.blocks, partial(_for_part, task, infos)):
                outcomes[i] = outcome
                done(len(outcomes) / len(self.blocks))
        return [outcomes[i] for i in range(len(self.blocks))]


def _for_part(task: Task[Outcome], infos: Mapping[int, PartInfo], block: Block, rows: pl.DataFrame) -> Outcome:
    return task(infos[block.first], rows)


@contextmanager
def original_parts(
    folder: Path,
    parts: Parts,
    original: object,
    private: str | Path | None,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    as_many: bool = True,
) -> Iterator[OriginalParts]:
    """The rows of each part, as long as they are needed. ReleaseError where the release changed meanwhile.

    `as_many` refuses an original that has not as many rows, in all and in each part, as were published and suppressed.
    """
    own = private_of(folder.absolute()) if private is None else Path(private).absolute()
    policy, key, shards = _of_private(own, parts.manifest)
    stated, rows = parts.manifest, opened(original, policy, encoding, separator)
    if not rows.height:
        raise OtherRows("The original has no rows. Give the table that was published.")
    if as_many:
        require_rows(rows.height, stated.rows, stated.suppressed)
    part = max(info.rows + info.suppressed for info in stated.parts)
    workers = 0 if stated.rows < MANY else None
    sizes = sizes_for(rows_of(rows, policy), memory=None, part=part, workers=workers, attacks=False)
    with (
        staging(own.with_name(folder.absolute().name + SPILL)) as (spilled,),
        local_engine(rows, spilled.folder, sizes) as engine,
    ):
        of_shards = engine.route(engine.learned(policy), Draw(key), shards.shards)
        routed = OriginalParts(stated, engine, tuple(shards.blocks(of_shards)))
        if as_many:
            routed.require_rows()
        yield routed
    if parts_of(folder) != parts:
        raise ReleaseError(f"{folder} changed while it was read. Read it again.")


@contextmanager
def telling_of_a_part(release: object) -> Iterator[None]:
    """Say, where a table is refused for its rows, that the folder is one part of a release in parts."""
    try:
        yield
    except OtherRows as refusal:
        about = of_a_part(Path(release)) if isinstance(release, (str, Path)) else None
        if about is None:
            raise
        counts, _, _ = str(refusal).partition(":")
        raise InputError(f"{counts}. {about}") from None


def _of_private(private: Path, manifest: PartsManifest) -> tuple[Policy, Key, PartShards]:
    """What the private folder of this release has to route its original again."""
    files = [private / name for name in ("key", "policy.yaml", PART_SHARDS)]
    try:
        there = {path.name for path in private.iterdir()} if private.is_dir() else set()
    except OSError as error:
        raise InputError(f"{private} cannot be read: {error.strerror}. Do it as its owner.") from None
    if missing := [path.name for path in files if path.name not in there]:
        raise InputError(
            f"A release in parts is compared with its original part by part, and it takes the key to say which rows "
            f"are in which part. {private} has no {' and no '.join(missing)}. Do it where the private folder is, or "
            "name it with --private (in Python private=)."
        )
    key = Key.read(files[0])
    if Made(manifest.method, manifest.sha256) not in key.made:
        raise InputError(
            f"{private} is the private folder of another release: its key did not make this one. Name the right one "
            "with --private (in Python private=)."
        )
    return Policy.read(files[1]), key, PartShards.read(files[2], manifest.sha256, len(manifest.parts))
