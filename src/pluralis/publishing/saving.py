"""A release in memory becomes a folder: staged, audited as bytes, then visible whole or not at all.

Nothing else in Pluralis writes a release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args

from pluralis.attacks import Result
from pluralis.auditing import Verdict, audit
from pluralis.display.objects import Columns
from pluralis.errors import AuditFailed, Breached, OutputError
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.metrics import Loss
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.atomic_folders import StagedFolder, check_target, one_at_a_time, staging
from pluralis.publishing.private_folder import write_private
from pluralis.publishing.republishing import PRIVATE, Known, before, key_after, made_of, require_key, said_of
from pluralis.randomness import Key
from pluralis.release.manifest import CSV_ESCAPE, MANIFEST, README, Manifest
from pluralis.release.reading import require_sealed
from pluralis.release.readme import release_readme
from pluralis.release.release import with_set_labels
from pluralis.report.exposure import Exposure
from pluralis.table.sources import Packed, write_csv_bytes

Format = Literal["parquet", "csv"]


@dataclass(frozen=True, repr=False)
class Publication(AnalystRelease):
    """A release in memory, with what only its publisher has. `publish` returns one; `save` makes it visible.

    Its tables are packed: the audit of the staged files then needs no memory beside theirs.

    Parameters
    ----------
    manifest, tables
        Those of the release.
    policy : Policy
        What was asked.
    key : Key
        What it was drawn with. Publish the same people again with it.
    loss : Loss
        What was lost against the original.
    notes : tuple of str
        What whoever publishes should know.
    attacked : tuple of Result, optional
        What attacks got; None where none was run.
    exposures : tuple of Exposure
        How sure guesses are, group by group.
    known : Known, optional
        Some people of the original, to tell what it gives away beside an earlier release.

    Examples
    --------
    >>> import polars as pl
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> pls.publish(people, policy, attacks=False)
    Publication by bsgi, generalized: 4 rows, 0 suppressed
      table      rows  columns
      microdata     4  age, disease, group
    Promised:
      P(disease | age) ≤ 1/2
    In memory: save it to publish it.
    """

    TITLE: ClassVar[str] = "Publication"

    policy: Policy
    key: Key
    loss: Loss
    notes: tuple[str, ...] = ()
    attacked: tuple[Result, ...] | None = None
    exposures: tuple[Exposure, ...] = ()
    known: Known | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Packed):
            object.__setattr__(self, "tables", Packed(self.tables))

    def save(
        self, folder: str | Path, *, replace: bool = False, format: Format = "parquet", allow_test: bool = False
    ) -> Verdict:
        """Write the release to a folder, and what is the publisher's alone to `folder.private`, after the audit.

        What the audit measured for each claim is written into the manifest: the certificate of the release.

        Parameters
        ----------
        folder : str or Path
            Where the release goes.
        replace : bool
            Replace a release that is there already.
        format : {"parquet", "csv"}
            Of the published tables.
        allow_test : bool
            Accept the fixed test key, which protects nobody.

        Returns
        -------
        Verdict
            What the audit found in the staged files.

        Raises
        ------
        AuditFailed
            If a claim does not hold. Nothing is written then.
        Breached
            If an attack got more than a claim allows. Nothing is written then.
        OutputError
            If something else is there, or a release that this one must not stand beside.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import polars as pl
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
        >>> with TemporaryDirectory() as folder:
        ...     verdict = pls.publish(people, policy, attacks=False).save(f"{folder}/release", format="csv")
        ...     sorted(path.name for path in Path(folder, "release").iterdir())
        ['README.md', 'manifest.json', 'microdata.csv']
        >>> verdict.holds
        True
        """
        if format not in get_args(Format):
            raise OutputError(f"A release is written as {' or '.join(get_args(Format))}, not as {format!r}.")
        target = Path(folder).absolute()
        private = target.with_name(target.name + PRIVATE)
        check_target(target, replace=replace, mark=MANIFEST)
        check_target(private, replace=True, mark="key")
        with staging(target, private, private) as (public_stage, private_stage, key_stage):
            earlier = before(target)  # now: what a killed writer left is put in order
            independent = self.policy.republish == "independent"
            successive = said_of(target, earlier, self, self.key, self.known, independent)
            more_breaks = () if successive is None else (successive,)
            manifest, verdict = staged(self, public_stage, format, allow_test, more_breaks)
            write_private(private_stage, self, manifest, verdict, key_after(earlier, self.key, made_of(self)))
            key_after(earlier, self.key).write(key_stage.folder / "key")
            with one_at_a_time(target.parent), ExitStack() as undo:
                check_target(target, replace=replace, mark=MANIFEST)
                if before(target) != earlier:
                    require_key(target, before(target), self.key)
                    raise OutputError(f"{target} was changed by another writer meanwhile. Nothing was written.")
                if target.exists():  # the key alone in between: a report never stands beside another release
                    key_stage.show(undo, replace=True)
                    public_stage.show(undo, replace=True, mode=0o755)
                    private_stage.show(undo, replace=True)
                else:
                    private_stage.show(undo, replace=True)
                    public_stage.show(undo, replace=False, mode=0o755)
                undo.pop_all()
        return verdict

    def _parts(self) -> Iterator[str | Columns]:
        yield from super()._parts()
        if self.attacked is not None:
            breaches = sum(result.breach for result in self.attacked)
            exceeded = f"{breaches:,} exceed a promise" if breaches else "none exceeds a promise"
            yield f"Attacked: {len(self.attacked):,} questions asked, {exceeded}."
        yield from (f"Note: {note}" for note in self.notes)
        yield "In memory: save it to publish it."


def staged(
    publication: Publication, to: StagedFolder, format: Format, allow_test: bool, more_breaks: tuple[str, ...] = ()
) -> tuple[Manifest, Verdict]:
    """Write the files that may be published to a folder that nobody sees yet, and audit them there."""
    with stage("writing"):
        manifest = _written(publication, to, format, more_breaks)
    with stage("auditing the staged files"):
        verdict = audit(to.folder, allow_test=allow_test, limit=None)
    if not verdict.holds:
        raise AuditFailed(verdict)
    if breaches := [result for result in publication.attacked or () if result.breach]:
        raise Breached(breaches)
    manifest = manifest.certified({finding.claim: finding.measured for finding in verdict.findings})
    to.rewrite(MANIFEST, manifest.to_json().encode())
    to.rewrite(README, release_readme(manifest).encode())
    require_sealed(to.folder, manifest)
    return manifest, verdict


def _written(publication: Publication, to: StagedFolder, format: Format, more_breaks: tuple[str, ...]) -> Manifest:
    """The files of a release before the audit, and their manifest."""
    tables = []
    assert isinstance(publication.tables, Packed)
    for info in publication.manifest.tables:
        if format == "csv":
            data = write_csv_bytes(with_set_labels(publication.tables[info.name]))
        else:
            data = publication.tables.packed[info.name]
        file = f"{info.file.removesuffix('.parquet')}.{format}"
        to.write(file, data)
        about = {"file": file, "rows": publication.tables.rows[info.name], "bytes": len(data)}
        tables.append(info.model_copy(update={**about, "sha256": hashlib.sha256(data).hexdigest()}))
    escape = CSV_ESCAPE if format == "csv" else None
    parameters = publication.manifest.parameters.model_copy(update={"csv_escape": escape})
    breaks = (*publication.manifest.breaks, *more_breaks)
    manifest = publication.manifest.model_copy(
        update={"tables": tuple(tables), "parameters": parameters, "breaks": breaks}
    )
    to.write(MANIFEST, manifest.to_json().encode())
    to.write(README, release_readme(manifest).encode())
    return manifest
