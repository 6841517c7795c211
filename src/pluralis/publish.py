"""From a table and a policy to an audited release.

`publish` decides and builds in memory; `Publication.save` stages the files, audits the staged bytes and only then lets
them become visible (THREATS, promise 1). Nothing else in Pluralis writes a release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from pluralis.audit import Verdict, audit
from pluralis.errors import AuditFailed, OutputError
from pluralis.folder import Stage, check_target, one_at_a_time, staging
from pluralis.generalise import microdata
from pluralis.io import read_table, write_csv_bytes, write_parquet_bytes
from pluralis.methods import Method, method_for
from pluralis.metrics import Loss, measure
from pluralis.plan import LEFT_OUT, Plan
from pluralis.policy import FileHierarchy, MissingAs, Policy
from pluralis.present.readme import release_readme
from pluralis.present.report import render_report
from pluralis.progress import stage
from pluralis.randomness import Draw, Key
from pluralis.release import MANIFEST, README, Claim, ColumnInfo, Manifest, Release, TableInfo, canonical_order
from pluralis.table import Column, Table, encode

Format = Literal["parquet", "csv"]
PRIVATE = ".private"


@dataclass(frozen=True, repr=False)
class Publication(Release):
    """A release in memory, with what only its publisher has. `save` makes it visible, after the audit."""

    policy: Policy
    key: Key
    original: pl.DataFrame
    notes: tuple[str, ...] = ()

    def save(
        self, folder: str | Path, *, replace: bool = False, format: Format = "parquet", allow_test: bool = False
    ) -> Verdict:
        """Write `folder` and `folder.private`; raises AuditFailed, and writes nothing, where a claim does not hold."""
        target = Path(folder).absolute()
        private = target.with_name(target.name + PRIVATE)
        check_target(target, replace=replace, mark=MANIFEST)
        check_target(private, replace=True, mark="key")
        _require_same_key(private, self.key)
        with staging(target, private) as (public_stage, private_stage):
            with stage("writing"):
                manifest = self._write_public(public_stage, format)
            with stage("auditing the staged files"):
                verdict = audit(public_stage.folder, allow_test=allow_test)
            if not verdict.holds:
                raise AuditFailed(verdict)
            with stage("measuring what was lost"):
                loss = measure(self, self.original)
            self._write_private(private_stage, manifest, verdict, loss)
            with one_at_a_time(target.parent):
                check_target(target, replace=replace, mark=MANIFEST)
                _require_same_key(private, self.key)
                private_stage.show(replace=True, mode=0o700)
                public_stage.show(replace=replace, mode=0o755)
        return verdict

    def _write_public(self, to: Stage, format: Format) -> Manifest:
        tables = []
        for info in self.manifest.tables:
            frame = self.tables[info.name]
            data = write_csv_bytes(frame) if format == "csv" else write_parquet_bytes(frame)
            file = f"{info.name}.{format}"
            to.write(file, data)
            tables.append(info.model_copy(update={"file": file, "sha256": hashlib.sha256(data).hexdigest()}))
        parameters = dict(self.manifest.parameters)
        if format == "csv":
            parameters["csv_escape"] = "a text cell that starts with = + - @ ' tab or CR has a ' before it"
        manifest = self.manifest.model_copy(update={"tables": tuple(tables), "parameters": parameters})
        to.write(MANIFEST, manifest.to_json().encode())
        to.write(README, release_readme(manifest).encode())
        return manifest

    def _write_private(self, to: Stage, manifest: Manifest, verdict: Verdict, loss: Loss) -> None:
        self.key.write(to.folder / "key")
        sha256 = hashlib.sha256(manifest.to_json().encode()).hexdigest()
        report = render_report(self.policy, manifest, verdict, loss, self.notes)
        for name, text in {
            "policy.yaml": self.policy.to_yaml(),
            "audit.json": json.dumps({"manifest_sha256": sha256, **verdict.to_dict()}, indent=1, ensure_ascii=False)
            + "\n",
            "utility.json": json.dumps(loss.to_dict(), indent=1, ensure_ascii=False) + "\n",
            "report.html": report,
        }.items():
            to.write(name, text.encode(), mode=0o600)


def _require_same_key(private: Path, key: Key) -> None:
    """A second key for the same private folder would make two releases of the same people: refuse it."""
    file = private / "key"
    if file.exists() and Key.read(file) != key:
        folder = private.with_name(private.name.removesuffix(PRIVATE))
        raise OutputError(
            f"{private.name} holds another key, of an earlier release. Publish with that key (the command line does so "
            f"by itself, in Python pass key=pluralis.key_for('{folder}')), or choose another name: two releases of the "
            "same people under two keys can be intersected."
        )


def key_for(folder: str | Path) -> Key:
    """The key to publish to a folder with: its private folder's, or a new one."""
    file = Path(folder).absolute().with_name(Path(folder).absolute().name + PRIVATE) / "key"
    return Key.read(file) if file.exists() else Key.new()


def publish(source: object, policy: Policy, *, key: Key | None = None) -> Publication:
    """Decide and build a release of a table (a path, or a pandas, Polars or Arrow frame) under a policy, in memory.

    Raises Infeasible where no such release exists. Nothing is visible until `save`.
    """
    method = method_for(policy)
    key = key or Key.new()
    notes: list[str] = []
    with stage("reading"):
        original = read_table(source, notes=notes)
    with stage("encoding"):
        table = encode(original, policy)
    plan = method.plan(table, policy, Draw(key))
    with stage("generalising"):
        release = assemble(plan, table, policy, method, Draw(key))
    return Publication(release.manifest, release.tables, policy, key, original, (*notes, *table.notes, *plan.notes))


def assemble(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The in-memory release that a plan describes."""
    rows = canonical_order(microdata(plan, table, draw))
    kept = plan.group_of != LEFT_OUT
    columns = [_info(column, kept, policy) for role in ("quasi", "plain", "sensitive") for column in table.named(role)]
    info = TableInfo(
        name="microdata",
        file="microdata.parquet",
        columns=(*columns, ColumnInfo(name="group", role="group", type="number")),
    )
    weights = {column.name: column.weight for column in table.quasi if column.weight != 1.0}
    instead = {name: a.if_missing.as_ for name, a in policy.columns.items() if isinstance(a.if_missing, MissingAs)}
    exact = [name for name, a in policy.columns.items() if a.case == "keep" and a.role != "identifier"]
    parameters: dict[str, object] = {
        "linked": plan.linked,
        "l": {name: policy.l(name) for name in policy.sensitive},
        "options": method.model_dump(exclude={"variant"}),
        **({"weights": weights} if weights else {}),
        **({"missing": policy.missing} if policy.missing != [""] else {}),
        **({"missing_as": instead} if instead else {}),
        **({"case": exact} if exact else {}),
    }
    manifest = Manifest(
        method=method.name,
        variant=method.variant,
        kind=plan.kind,
        rows=rows.height,
        suppressed=plan.left_out + table.dropped,
        claims=tuple(claims(policy)),
        breaks=(*method.breaks, *_breaks_of(plan, table)),
        parameters=parameters,
        tables=(info,),
        test=draw.key.is_test,
    )
    return Release(manifest, {"microdata": rows.select([column.name for column in info.columns])})


def claims(policy: Policy) -> Iterator[Claim]:
    """What a release under this policy promises: each rule, against each adversary."""
    if policy.k is not None:
        yield Claim(
            rule=f"every group has at least {policy.k} rows",
            model="k-anonymity",
            adversary=tuple(policy.quasi),
            k=policy.k,
        )
    for known, name in policy.promises:
        attribute, l = policy.columns[name], policy.l(name)
        promise = {
            "frequency": f"at most 1/{l}",
            "distinct": f"at least {l} different values",
            "entropy": f"entropy at least log {l}",
            "recursive": f"recursive ({attribute.c or 0:g},{l})-diversity",
            "unique-distinct": f"{l} values, each once",
        }[attribute.model]
        yield Claim(
            rule=f"knowing {', '.join(sorted(known)) or 'nothing'}: {name} {promise}",
            model=attribute.model,
            adversary=tuple(sorted(known)),
            attribute=name,
            l=l,
            c=attribute.c,
        )


def _info(column: Column, kept: np.ndarray, policy: Policy) -> ColumnInfo:
    """A column as the manifest describes it: its domain and tree, from published rows only."""
    codes = np.unique(column.codes[kept])
    codes = codes[codes < len(column.values)]
    missing = bool(column.has_missing and (column.codes[kept] == len(column.values)).any())
    values = [column.values[code] for code in codes]
    hierarchy = None
    if column.is_number:
        domain: tuple[str | int | float | None, ...] = (values[0], values[-1]) if values else ()
    else:
        domain = (*values, *([None] if missing else []))
        if column.hierarchy is not None and column.leaf_of is not None:
            spec = policy.columns[column.name].hierarchy
            whole = isinstance(spec, FileHierarchy)
            leaves = (
                range(len(column.hierarchy.leaves) - column.has_missing) if whole else column.leaf_of[codes].tolist()
            )
            hierarchy = tuple(tuple(level[leaf] for level in column.hierarchy.labels) for leaf in leaves)
    return ColumnInfo(
        name=column.name,
        role=column.role,
        type="number" if column.is_number else "text",
        attribute=column.name,
        domain=domain,
        hierarchy=hierarchy,
    )


def _breaks_of(plan: Plan, table: Table) -> Iterator[str]:
    """What this plan, whatever its method, does not stop."""
    yield "membership: that a person is in the table is not hidden"
    if table.person is not None:
        yield (
            "several rows of one person: each is protected on its own; whoever finds several can intersect their groups"
        )
    if plan.left_out + table.dropped:
        yield "left-out rows: a person known to be in the table whom no group covers was left out"
    if plan.linked and len(table.sensitive) > 1:
        yield "sensitive background knowledge: whoever knows one sensitive value of a person may learn the others"
