"""A release in parts: rows that were cut into parts, each of them a release of its own in a folder of its own.

    release/manifest.json   what all parts share, and the hash of each part's manifest
    release/README.md
    release/part-00001/     manifest.json, README.md and tables, as in a release that is not in parts
    release/part-00002/ …

Groups never straddle parts, and no part refers to another.

Theorem: what every part promises, the release in parts promises. The rows of a person whom the policy names, or the
one row, stand in one part. Parts are drawn independently, so the worlds that all parts leave possible are every way to
take one of each: whoever knows in which part a person is learns from the others nothing. Whoever does not know it
weighs the parts, and a mean of posteriors is no larger than the largest of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from pluralis.display.escaping import code, markdown
from pluralis.release.columns import ColumnInfo, ManifestPart, Rows
from pluralis.release.form import is_unmeasured, told_by_plain_column, worst_and_others
from pluralis.release.manifest import Claim, Manifest

PARTS_FORMAT: Literal["pluralis-release-in-parts"] = "pluralis-release-in-parts"
MOST_PARTS = 99_999
BEGINNING = 1_000  # bytes of a manifest, in which its format stands
OF_EACH = ("domain", "hierarchy")  # what columns of the same name may differ in from part to part
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
    """What the parts of a release share, and which there are."""

    format: Literal["pluralis-release-in-parts"] = PARTS_FORMAT
    version: Literal[1] = 1
    method: str
    variant: str
    kind: str
    rows: Many
    suppressed: Many
    claims: tuple[str, ...]
    breaks: tuple[str, ...]
    parts: Annotated[tuple[PartInfo, ...], Field(min_length=1, max_length=MOST_PARTS)]
    test: bool = False

    def to_json(self) -> str:
        """Deterministic text."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


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
        f"{folder.name} is one part of the release in parts {folder.parent.name}. A part is compared with its own rows "
        "only, and which rows of the original these are, only its publisher could tell."
    )


def parts_manifest(manifests: Sequence[Manifest], hashes: Sequence[str]) -> PartsManifest:
    """The manifest of the parts that have these manifests, with these hashes, in order."""
    first = manifests[0]
    sentences = dict.fromkeys(sentence for one in manifests for sentence in one.breaks)
    measured = any(not any(map(is_unmeasured, one.breaks)) for one in manifests)
    return PartsManifest(
        method=first.method,
        variant=first.variant,
        kind=first.kind,
        rows=sum(one.rows for one in manifests),
        suppressed=sum(one.suppressed for one in manifests),
        claims=tuple(max(alike, key=_bound).rule for alike in zip(*(one.claims for one in manifests), strict=True)),
        breaks=tuple(sentence for sentence in sentences if not (measured and is_unmeasured(sentence))),
        parts=tuple(
            PartInfo(folder=part_folder(i), rows=one.rows, suppressed=one.suppressed, sha256=own)
            for i, (one, own) in enumerate(zip(manifests, hashes, strict=True), start=1)
        ),
        test=first.test,
    )


def parts_problems(stated: PartsManifest, manifests: Sequence[Manifest]) -> Iterator[str]:
    """In what ways the manifest of a release in parts is not the one that its parts' manifests give."""
    first = _shared(manifests[0])
    for info, manifest in zip(stated.parts, manifests, strict=True):
        if _shared(manifest) != first:
            yield f"{info.folder}: it is of another form, or promises something else, than the first part."
            return
    if stated != parts_manifest(manifests, [info.sha256 for info in stated.parts]):
        yield "what the manifest says of all parts is not what their manifests say."


def _shared(manifest: Manifest) -> dict[str, Any]:
    """What the manifest of every part of a release says alike."""
    return {
        "method": (manifest.method, manifest.variant, manifest.kind, manifest.test),
        "claims": [claim.model_dump(exclude=OF_CLAIMS) for claim in manifest.claims],
        "parameters": manifest.parameters.model_dump(exclude=OWN),
        "tables": [(info.name, info.file, [_form(column) for column in info.columns]) for info in manifest.tables],
    }


def _bound(claim: Claim) -> float:
    return claim.bound or 0.0


def _form(column: ColumnInfo) -> dict[str, Any]:
    return column.model_dump(exclude={*OF_EACH})


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
            "- Every folder `part-…` is a release of its own, with a README that says how to read its tables. Each "
            "person is in one part.",
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
            *([markdown(worst), ""] if worst else []),
            "## What is not stopped",
            "",
            *(f"- {markdown(item)}" for item in others),
            "",
            *test,
        ]
    )
