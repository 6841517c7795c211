"""From a table and a policy to an audited release.

`publish` decides, builds in memory and attacks what it built; `Publication.save` stages the files, audits the staged
bytes and only then lets them become visible.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.assembling.building import build
from pluralis.attacks import Result
from pluralis.attacks.adversary.exposure import Exposure, exposures
from pluralis.attacks.at_publication import MOST_ROWS, measured, not_stopped
from pluralis.comparison.comparing import choose
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.republishing import Known
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from pluralis.release.form import SEVERAL
from pluralis.release.release import Release

AUTO = "auto"  # in the place of a method's name: the best of all that apply


def publish(
    source: object,
    policy: Policy,
    *,
    key: Key | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    attacks: bool | None = None,
) -> Publication:
    """Decide and build a release of a table (a path, or a pandas, Polars or Arrow frame) under a policy, in memory.

    Raises Infeasible where no such release exists. Nothing is visible until `save`. To publish the same people again,
    pass the `key` of the publication before, or `key_for` its folder: it also holds what must be repeated.
    `encoding` and `separator` are those of a CSV file. `method: auto` compares methods first, and takes the best.
    `attacks` says whether to attack what was built; if not given, tables of up to MOST_ROWS rows are.
    """
    asked, notes = policy, list[str]()
    if policy.publish.method == AUTO:
        policy, why = choose(source, policy, encoding=encoding, separator=separator)
        notes.append(why)
    made = build(source, policy, key or Key.new(), encoding=encoding, separator=separator, notes=notes)
    release, attacked, exposed = made.release, None, tuple[Exposure, ...]()
    if made.original.height <= MOST_ROWS if attacks is None else attacks:
        release = release.spelled_out()
        attacked, exposed = measured(release, made.original, made.person), exposures(release)
    manifest = release.manifest.model_copy(update={"breaks": _breaks(release, attacked, made.people)})
    known = Known.of(made.original, made.people, in_order=bool(made.key.made) or asked.republish is not None)
    with stage("packing the tables"):
        return Publication(manifest, release.tables, asked, made.key, made.loss, made.notes, attacked, exposed, known)


def _breaks(release: Release, attacked: Sequence[Result] | None, people: int) -> tuple[str, ...]:
    """What a release does not stop; what was measured of several rows takes the place of the sentence without it."""
    found = tuple(not_stopped(release, attacked, people))
    said = any(sentence.startswith(SEVERAL) for sentence in found)
    kept = (sentence for sentence in release.manifest.breaks if not (said and sentence.startswith(SEVERAL)))
    return tuple(dict.fromkeys((*kept, *found)))
