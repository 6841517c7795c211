"""A release in memory becomes a folder: staged, audited as bytes, then visible whole or not at all.

Nothing else in Pluralis writes a release.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pluralis.attacks import Result
from pluralis.attacks.adversary.exposure import Exposure
from pluralis.auditing import Verdict, audit
from pluralis.errors import AuditFailed, Breached, OutputError
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.metrics import Loss
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.private_folder import write_private
from pluralis.publishing.republishing import PRIVATE, Known, before, key_after, made_of, require_key, said_of
from pluralis.publishing.staging import Stage, check_target, one_at_a_time, staging
from pluralis.randomness import Key
from pluralis.release.manifest import CSV_ESCAPE, MANIFEST, README, Manifest
from pluralis.release.reading import require_sealed
from pluralis.release.readme import release_readme
from pluralis.release.release import with_set_labels
from pluralis.table.sources import Packed, write_csv_bytes

Format = Literal["parquet", "csv"]


@dataclass(frozen=True, repr=False)
class Publication(AnalystRelease):
    """A release in memory, with what only its publisher has. `save` makes it visible, after the audit.

    Its tables are packed: the audit of the staged files then needs no memory beside theirs. `attacked` is what attacks
    got, None where none was run; `exposures` are how sure guesses are, group by group; `known` are some people of the
    original, to tell what it gives away beside an earlier release.
    """

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
        """Write `folder` and `folder.private`; raises AuditFailed, and writes nothing, where a claim does not hold, and
        Breached where an attack got more than a claim allows.

        What the audit measured for each claim is then written into the manifest: the certificate of the release.
        """
        target = Path(folder).absolute()
        private = target.with_name(target.name + PRIVATE)
        check_target(target, replace=replace, mark=MANIFEST)
        check_target(private, replace=True, mark="key")
        with staging(target, private, private) as (public_stage, private_stage, key_stage):
            found = before(target)  # now: what a killed writer left is put in order
            independent = self.policy.republish == "independent"
            said = said_of(target, found, self, self.key, self.known, independent)
            with stage("writing"):
                manifest = self._write_public(public_stage, format, () if said is None else (said,))
            with stage("auditing the staged files"):
                verdict = audit(public_stage.folder, allow_test=allow_test, limit=None)
            if not verdict.holds:
                raise AuditFailed(verdict)
            if breaches := [result for result in self.attacked or () if result.breach]:
                raise Breached(breaches)
            manifest = manifest.certified({finding.claim: finding.measured for finding in verdict.findings})
            public_stage.rewrite(MANIFEST, manifest.to_json().encode())
            public_stage.rewrite(README, release_readme(manifest).encode())
            require_sealed(public_stage.folder, manifest)
            write_private(private_stage, self, manifest, verdict, key_after(found, self.key, made_of(self)))
            key_after(found, self.key).write(key_stage.folder / "key")
            with one_at_a_time(target.parent), ExitStack() as undo:
                check_target(target, replace=replace, mark=MANIFEST)
                if before(target) != found:
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

    def _write_public(self, to: Stage, format: Format, said: tuple[str, ...]) -> Manifest:
        tables = []
        assert isinstance(self.tables, Packed)
        for info in self.manifest.tables:
            if format == "csv":
                data = write_csv_bytes(with_set_labels(self.tables[info.name]))
            else:
                data = self.tables.packed[info.name]
            file = f"{info.file.removesuffix('.parquet')}.{format}"
            to.write(file, data)
            about = {"file": file, "rows": self.tables.rows[info.name], "bytes": len(data)}
            tables.append(info.model_copy(update={**about, "sha256": hashlib.sha256(data).hexdigest()}))
        parameters = dict(self.manifest.parameters)
        if format == "csv":
            parameters["csv_escape"] = CSV_ESCAPE
        breaks = (*self.manifest.breaks, *said)
        manifest = self.manifest.model_copy(
            update={"tables": tuple(tables), "parameters": parameters, "breaks": breaks}
        )
        to.write(MANIFEST, manifest.to_json().encode())
        to.write(README, release_readme(manifest).encode())
        return manifest
