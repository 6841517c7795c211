"""A release in parts: rows that were cut into parts, each of them a release of its own in a folder of its own.

    release/manifest.json   what all parts share, and the hash of each part's manifest
    release/README.md
    release/part-00001/     manifest.json, README.md and tables, as in a release that is not in parts
    release/part-00002/ …

Groups never straddle parts, and no part refers to another.

Theorem: what every part promises of a group or a set, the release in parts promises, where the rows of a person stand
in one part. Parts are drawn independently, so the worlds that all parts leave possible are every way to take one of
each: whoever knows in which part a person is learns from the others nothing. Whoever does not know it weighs the
parts, and a mean of posteriors is no larger than the largest of them.

Of kinds in which more than sensitive values is exchanged among rows (multi) it is true where rows were cut by what
stays in its place, or moves together (`grouping.subtable_schema`, the theorem of parts). A bound of a single value
(`at_most`) holds among the suppressed rows of each part, and so among those of all.

It is about whoever takes worlds to be equally likely: which shards were joined tells somebody who knows the method more
(docs/scale.md). What compares groups with all rows (gain, t) does not follow, and is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import polars as pl
from pydantic import Field

from pluralis.display.escaping import code, markdown
from pluralis.release.bounds import DISTANCES
from pluralis.release.columns import ColumnInfo, ManifestPart, Rows
from pluralis.release.form import GIVEN_AWAY, WORST, is_unmeasured, told_by_plain_column, unsaid, worst_and_others
from pluralis.release.kinds.base import NAMED
from pluralis.release.manifest import Claim, Manifest, claim_words
from pluralis.table.bands import bands_out_of_order
from pluralis.table.labels import shortened
from pluralis.table.spelling import said_twice

PARTS_FORMAT: Literal["pluralis-release-in-parts"] = "pluralis-release-in-parts"
MOST_PARTS = 99_999
BEGINNING = 1_000  # bytes of a manifest, in which its format stands
OF_COLUMNS = {"domain", "hierarchy"}  # what columns of the same name may differ in from part to part
OF_THE_WHOLE = ("gain", *DISTANCES)  # models that compare a group with all rows
JOINED = (
    "parts: rows are cut into parts by a keyed hash, and parts in which a value is too common are joined, which tells "
    "somebody who knows the method a little of how common it was there"
)
OF_CLAIMS = {"rule", "bound", "measured"}  # what the same claim may differ in
OWN = {"domains", "addition"}  # parameters that are of a part alone

Many = Annotated[int, Field(ge=0, lt=2**63)]


class PartInfo(ManifestPart):
    """One part: its folder, its rows, and the hash of its manifest, which has those of its tables."""

    folder: str = Field(pattern=r"^part-[0-9]{5}$")
    rows: Rows
    suppressed: Rows
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class PartsManifest(ManifestPart):
    """What the parts of a release share, and which there are; the values in order that any part holds."""

    format: Literal["pluralis-release-in-parts"] = PARTS_FORMAT
    version: Literal[1] = 1
    method: str
    variant: str
    kind: str
    rows: Many
    suppressed: Many
    claims: tuple[str, ...]
    breaks: tuple[str, ...]
    orders: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    parts: Annotated[tuple[PartInfo, ...], Field(min_length=1, max_length=MOST_PARTS)]
    test: bool = False

    def to_json(self) -> str:
        """Deterministic text."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"

    @property
    def sha256(self) -> str:
        """What files beside the key know the release by."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


class Parts(NamedTuple):
    """The manifest of a release in parts, and the claims of each part, which are those of the whole, in their order."""

    manifest: PartsManifest
    claims: tuple[tuple[str, ...], ...]


def part_folder(number: int) -> str:
    """The folder of a part; the first is 1.

    >>> part_folder(12)
    'part-00012'
    """
    return f"part-{number:05}"


def of_a_part(folder: Path) -> str | None:
    """What is said of the original where a folder is one part of a release in parts; None where it is none."""
    folder = folder.resolve()
    if re.fullmatch(r"part-[0-9]{5}", folder.name) is None:
        return None
    try:
        with (folder.parent / "manifest.json").open("rb") as file:
            start = file.read(BEGINNING)
    except OSError:
        return None
    if PARTS_FORMAT.encode() not in start:
        return None
    return (
        f"{folder.name} is one part of the release in parts {folder.parent.name}, and is compared with its own rows "
        f"only. Name {folder.parent.name} itself: with the key of its private folder, every part is compared with the "
        "rows of the original that are its own."
    )


class OfAll:
    """What the manifests of all parts come to, which are read one after the other.

    `orders` are values in their order, those of each part among them: a part has too few of them to tell it.
    """

    def __init__(self, orders: Mapping[str, Sequence[str]]) -> None:
        self._given = orders
        self._shared: dict[str, Any] | None = None
        self._infos: list[PartInfo] = []
        self._worst: list[Claim] = []
        self._breaks: dict[str, None] = {}
        self._measured = False
        self._texts: dict[str, set[str]] = {}  # of protected attributes
        self._ordered: dict[str, set[str]] = {}  # values of attributes that stand in order
        self._turned: dict[str, str] = {}  # those whose order is another, and where
        self._lines: dict[str, dict[str, tuple[str, ...]]] = {}  # of each value, and what is wider
        self._replaced: dict[str, tuple[str, str]] = {}  # a value that stands in another place, and where
        self._first: Manifest | None = None
        self.claims: list[tuple[str, ...]] = []

    def add(self, manifest: Manifest, sha256: str) -> Iterator[str]:
        """Take the manifest of the next part, and say in what it does not belong to the others."""
        info = PartInfo(
            folder=part_folder(len(self._infos) + 1), rows=manifest.rows, suppressed=manifest.suppressed, sha256=sha256
        )
        self._infos.append(info)
        self.claims.append(tuple(claim.rule for claim in manifest.claims))
        shared = _shared(manifest)
        if self._shared is None or self._first is None:
            self._shared, self._first, self._worst = shared, manifest, list(manifest.claims)
        if shared != self._shared:
            yield f"{info.folder}: it is of another form, or promises something else, than the first part."
            return
        yield from (f"{info.folder}: {fault}" for fault in _faults(manifest))
        self._worst = [max(pair, key=_bound) for pair in zip(self._worst, manifest.claims, strict=True)]
        self._breaks.update(dict.fromkeys(manifest.breaks))
        self._measured |= not any(map(is_unmeasured, manifest.breaks))
        for name, column in _described(manifest):
            self._add_lines(name, column, info.folder)
            texts = tuple(value for value in column.domain or () if isinstance(value, str))
            if column.ordered:
                self._ordered.setdefault(name, set()).update(texts)
                if not _stands_in(texts, self._given.get(name, ())):
                    self._turned.setdefault(name, info.folder)
            elif name in manifest.parameters.l and column.type == "text":
                self._texts.setdefault(name, set()).update(texts)

    def _add_lines(self, name: str, column: ColumnInfo, folder: str) -> None:
        """Take the hierarchy of an attribute. A mask has as many levels as the longest value of the part is long."""
        known = self._lines.setdefault(name, {})
        for line in column.hierarchy or ():
            before = known.setdefault(line[0], line)
            if before != line and not _agree(before, line):
                self._replaced.setdefault(name, (line[0], folder))

    def problems(self) -> Iterator[str]:
        """In what ways all parts together are not one release."""
        assert self._first is not None
        keep = self._first.parameters.case
        for name, texts in self._texts.items():
            if twice := said_twice(pl.Series(sorted(texts), dtype=pl.String), fold_case=name not in keep):
                yield f"{name}: {shortened(twice[0])} and {shortened(twice[1])} are one value, and stand in two parts."
        for name, (value, folder) in self._replaced.items():
            yield f"{name}: what is wider than {shortened(value)} is something else in {folder} than in a part before."
        for name, folder in self._turned.items():
            yield f"{name}: its values in {folder} do not stand in the order that is said of all parts."
        for name, values in self._orders().items():
            if len(set(values)) < len(values):
                yield f"{name}: a value stands twice in the order that is said of all parts."
            elif turned := bands_out_of_order(values):
                yield f"{name}: {shortened(turned[0])} and {shortened(turned[1])} do not stand in order, or overlap."
        for about in (WORST, GIVEN_AWAY):
            if sum(sentence.startswith(f"{about}:") for sentence in self._sentences()) > 1:
                yield f"several parts name each their own {about}."

    def manifest(self) -> PartsManifest:
        """The manifest that follows from those of the parts."""
        assert self._first is not None
        first = self._first
        return PartsManifest(
            method=first.method,
            variant=first.variant,
            kind=first.kind,
            rows=sum(info.rows for info in self._infos),
            suppressed=sum(info.suppressed for info in self._infos),
            claims=tuple(claim.rule for claim in self.weakest),
            breaks=(*self._sentences(), JOINED),
            orders=self._orders(),
            parts=tuple(self._infos),
            test=first.test,
        )

    @property
    def weakest(self) -> tuple[Claim, ...]:
        """Each claim as the part makes it that promises least."""
        return tuple(self._worst)

    def _orders(self) -> dict[str, tuple[str, ...]]:
        """The values that any part holds in their order, sorted by attribute."""
        return {
            name: tuple(value for value in self._given.get(name, ()) if value in values)
            for name, values in sorted(self._ordered.items())
        }

    def _sentences(self) -> list[str]:
        return [sentence for sentence in self._breaks if not (self._measured and is_unmeasured(sentence))]


def _shared(manifest: Manifest) -> dict[str, Any]:
    """What the manifest of every part of a release says alike."""
    return {
        "method": (manifest.method, manifest.variant, manifest.kind, manifest.test),
        "claims": [claim.model_dump(exclude=OF_CLAIMS) for claim in manifest.claims],
        "parameters": manifest.parameters.model_dump(exclude=OWN),
        "tables": [
            (info.name, info.file, [column.model_dump(exclude=OF_COLUMNS) for column in info.columns])
            for info in manifest.tables
        ],
    }


def _faults(manifest: Manifest) -> Iterator[str]:
    """What no part of a release may be or claim: what is about all rows is not kept by keeping it in each part."""
    for claim in manifest.claims:
        if claim.model in OF_THE_WHOLE:
            yield f"the claim {claim.rule!r} compares with all rows, and a part has not all."
        if claim.rule != claim_words(claim, manifest.kind):
            yield f"the claim {claim.rule!r} is not what its fields say."
    yield from unsaid(manifest)


def _described(manifest: Manifest) -> Iterator[tuple[str, ColumnInfo]]:
    """The columns of one attribute each, and those that are described beside the tables."""
    columns = [column for info in manifest.tables for column in info.columns if column.role in NAMED]
    yield from ((column.attribute or column.name, column) for column in columns)
    yield from manifest.parameters.domains.items()


def _stands_in(texts: Sequence[str], order: Sequence[str]) -> bool:
    """Whether texts stand in an order, among others or alone."""
    place = {value: i for i, value in enumerate(order)}
    places = [place.get(text, -1) for text in texts]
    return -1 not in places and all(one < two for one, two in pairwise(places))


def _agree(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether two lines of a hierarchy say the same of a value, one of them perhaps in more steps."""
    few, many = sorted((tuple(dict.fromkeys(one)), tuple(dict.fromkeys(two))), key=len)
    rest = iter(many)
    return all(label in rest for label in few)


def _bound(claim: Claim) -> float:
    return claim.bound or 0.0


def parts_readme(manifest: PartsManifest) -> str:
    """How to read a release in parts, as Markdown."""
    worst, others = worst_and_others(manifest.breaks)
    given_away = told_by_plain_column(manifest.breaks)
    warned = [f"**No promise speaks of plain columns: {markdown(given_away)}.**", ""] if given_away else []
    test = ["This release was made with the test key. It protects nobody.", ""] if manifest.test else []
    return "\n".join(
        [
            "# How to read this release",
            "",
            f"{manifest.rows:,} rows in {len(manifest.parts):,} parts, made by the method {code(manifest.method)} "
            f"({markdown(manifest.variant)}); {manifest.suppressed:,} rows were suppressed.",
            "",
            "- Every folder `part-…` is a release of its own, with a README that says how to read its tables. The "
            "publisher says that each person is in one part.",
            "- Tables of one name have the same columns in all parts, so that they can be read as one: "
            "`part-*/NAME.parquet`.",
            "- Groups are numbered in each part. A `group` of one part has nothing to do with that of another: join "
            "tables part by part.",
            "",
            "## What is promised",
            "",
            *warned,
            *(f"- {code(claim)}" for claim in manifest.claims),
            "",
            *([f"{markdown(worst)} It was measured on one part, a sample.", ""] if worst else []),
            "## What is not stopped",
            "",
            *(f"- {markdown(item)}" for item in others),
            "",
            *test,
        ]
    )
