"""Which shards each part of a release has: kept in the private folder, so that the rows of a part are found again.

With the key and the policy beside it, whoever has the original routes its rows to the same shards. The file says
nothing of a person that the release does not, but which shards were joined, and stays with the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from pluralis.engines.base import Block
from pluralis.errors import InputError
from pluralis.release.parts import MOST_PARTS

FILE = "parts.json"


class _Kept(BaseModel):
    """What the file holds, and nothing beside it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    manifest_sha256: str
    shards: int
    first: tuple[int, ...]

    @field_validator("first")
    @classmethod
    def _begins(cls, first: tuple[int, ...]) -> tuple[int, ...]:
        if first[:1] != (0,):
            raise ValueError("the first part has the first shard")
        return first


class PartShards(NamedTuple):
    """How many shards there are, and the first one of each part, which has those up to the next part's first.

    >>> PartShards.of_blocks(5, [Block(1, 3, 40), Block(3, 4, 20)])
    PartShards(shards=5, first=(0, 3))
    >>> PartShards(5, (0, 3)).blocks({1: 30, 2: 10, 4: 20})
    [Block(first=0, last=3, rows=40, sample=False), Block(first=3, last=5, rows=20, sample=False)]
    """

    shards: int
    first: tuple[int, ...]

    @classmethod
    def of_blocks(cls, shards: int, blocks: Iterable[Block]) -> PartShards:
        """Of the blocks that became parts, in their order. Shards without a row belong to the part before them."""
        _, *others = (block.first for block in blocks)
        return cls(shards, (0, *others))

    @classmethod
    def read(cls, path: Path, manifest_sha256: str, parts: int) -> PartShards:
        """What was kept of a release that has this manifest and so many parts."""
        try:
            kept = _Kept.model_validate_json(path.read_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}. Do it as its owner.") from None
        except ValidationError:
            kept = None
        possible = kept is not None and all(a < b for a, b in pairwise([*kept.first, kept.shards, MOST_PARTS + 1]))
        if kept is None or not possible or (kept.manifest_sha256, len(kept.first)) != (manifest_sha256, parts):
            raise InputError(
                f"{path} does not say which shards the parts of this release have: it is damaged, or of another "
                "release. Restore the private folder from a backup."
            )
        return cls(kept.shards, kept.first)

    def blocks(self, rows: Mapping[int, int]) -> list[Block]:
        """The shards of each part as a block, by how many rows are in each shard."""
        ends = [*self.first[1:], self.shards]
        ranges = list(zip(self.first, ends, strict=True))
        return [Block(first, last, sum(rows.get(i, 0) for i in range(first, last))) for first, last in ranges]

    def to_json(self, manifest_sha256: str) -> str:
        """What the file says, of a release that has this manifest."""
        return json.dumps({"manifest_sha256": manifest_sha256, **self._asdict()}) + "\n"
