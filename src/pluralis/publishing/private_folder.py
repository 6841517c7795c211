"""The publisher's own folder beside a release: report, verdict, losses, policy, and what attacks got."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pluralis.attacks import Result
from pluralis.auditing import Verdict
from pluralis.errors import InputError, OutputError
from pluralis.policy.policy import Policy
from pluralis.publishing.atomic_folders import Stage, StagedFolder
from pluralis.publishing.republishing import PRIVATE
from pluralis.randomness import Key
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.manifest import MANIFEST, Manifest
from pluralis.release.reading import manifest_of, parts_of
from pluralis.report.report import render_report
from pluralis.report.risk import of_a_sample, with_results

if TYPE_CHECKING:
    from pluralis.publishing.saving import Publication

ATTACKED = "attack.json"
REPORT = "report.html"
LATER = "after_publication"  # which results of attack.json


def write_private(to: Stage, publication: Publication, manifest: Manifest, verdict: Verdict, key: Key) -> None:
    """Stage everything that only the publisher sees of a release."""
    key.write(to.folder / "key")
    policy, loss, attacked = publication.policy, publication.loss, publication.attacked
    report = render_report(policy, manifest, verdict, loss, publication.notes, attacked, publication.exposures)
    write_beside_key(to, policy, manifest.to_json(), verdict, loss.to_dict(), report, attacked)


def write_beside_key(
    to: StagedFolder,
    policy: Policy,
    manifest: str,
    verdict: Verdict,
    lost: Mapping[str, object],
    report: str,
    attacked: Sequence[Result] | None,
) -> None:
    """The files of a private folder but for the key, of a release that has this manifest."""
    sha256 = hashlib.sha256(manifest.encode()).hexdigest()
    audited = {"manifest_sha256": sha256, **verdict.to_dict()}
    for name, text in {
        "policy.yaml": policy.to_yaml(),
        "audit.json": json.dumps(audited, indent=1, ensure_ascii=False) + "\n",
        "utility.json": json.dumps(lost, indent=1, ensure_ascii=False) + "\n",
        REPORT: report,
        **({} if attacked is None else {ATTACKED: _results_json(sha256, attacked)}),
    }.items():
        to.write(name, text.encode(), mode=0o600)


def keep_results(folder: str | Path, results: Sequence[Result], private: Path | None = None) -> None:
    """Write what attacks got into the private folder of a release, if it is there, and show it in the report.

    What was got from the same release before is kept, but for questions that are answered anew of as many people, or
    more.
    """
    private = private or Path(folder).absolute().with_name(Path(folder).absolute().name + PRIVATE)
    if not (private / "key").is_file():
        return
    sha256 = hashlib.sha256((Path(folder) / MANIFEST).read_bytes()).hexdigest()
    parts = parts_of(folder)
    described = Path(folder) if parts is None else Path(folder) / parts.manifest.parts[0].folder
    lists = AttributeLists.of_manifest(manifest_of(described))
    before, later = _kept_results(private / ATTACKED, sha256)
    kept = _joined(before, results)
    later = frozenset(result for result in kept if result in later or result in results)
    _rewrite(private / ATTACKED, _results_json(sha256, kept, later))
    report = private / REPORT
    if report.is_file():
        sample = of_a_sample(parts.manifest.parts) if parts is not None and later != frozenset(kept) else ""
        _rewrite(report, with_results(report.read_text(encoding="utf-8"), kept, lists, later, sample))


def _joined(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Of each question the result of more people, else the new one; new ones first."""
    before, now = (
        {(one.attack, one.question, one.attribute, one.adversary): one for one in results} for results in (old, new)
    )
    best = {asked: one if asked not in before or one.targets >= before[asked].targets else before[asked]
            for asked, one in now.items()}  # fmt: skip
    return [*best.values(), *(one for asked, one in before.items() if asked not in now)]


def _kept_results(path: Path, manifest_sha256: str) -> tuple[list[Result], frozenset[Result]]:
    """What is kept of this release, and which of it was got after publication; of another, nothing."""
    if not path.is_file():
        return [], frozenset()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["manifest_sha256"] != manifest_sha256:
            return [], frozenset()
        results = [Result.from_dict(one) for one in data["results"]]
        return results, frozenset(results[i] for i in data.get(LATER, ()))
    except (InputError, ValueError, KeyError, TypeError, IndexError):
        raise OutputError(f"{path} is damaged. Remove it, then attack again.") from None


def _rewrite(path: Path, content: str) -> None:
    """Replace a private file, in one step."""
    written = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)


def _results_json(manifest_sha256: str, results: Sequence[Result], later: Collection[Result] = frozenset()) -> str:
    """What attacks got from the release that has this manifest, and which of it after publication."""
    data: dict[str, object] = {"manifest_sha256": manifest_sha256, "results": [result.to_dict() for result in results]}
    if later:
        data[LATER] = [i for i, result in enumerate(results) if result in later]
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
