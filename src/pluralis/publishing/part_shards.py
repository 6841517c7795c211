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

from pluralis.engines.base import Block
from pluralis.errors import InputError
from pluralis.release.parts import MOST_PARTS

FILE = "parts.json"


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
            data = json.loads(path.read_text(encoding="utf-8"))
            own = cls(int(data["shards"]), tuple(int(first) for first in data["first"]))
            possible = all(a < b for a, b in pairwise([*own.first, own.shards, MOST_PARTS + 1]))
            if (data["manifest_sha256"], len(own.first), own.first[0], possible) != (manifest_sha256, parts, 0, True):
                raise ValueError(data)
        except (ValueError, KeyError, TypeError, IndexError):
            raise InputError(
                f"{path} does not say which shards the parts of this release have: it is damaged, or of another "
                "release. Restore the private folder from a backup."
            ) from None
        return own

    def blocks(self, rows: Mapping[int, int]) -> list[Block]:
        """The shards of each part as a block, by how many rows are in each shard."""
        ends = [*self.first[1:], self.shards]
        ranges = list(zip(self.first, ends, strict=True))
        return [Block(first, last, sum(rows.get(i, 0) for i in range(first, last))) for first, last in ranges]

    def to_json(self, manifest_sha256: str) -> str:
        """What the file says, of a release that has this manifest."""
        return json.dumps({"manifest_sha256": manifest_sha256, **self._asdict()}) + "\n"
