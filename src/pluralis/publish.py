"""From a table and a policy to an audited release.

`publish` decides, builds in memory and attacks what it built; `Publication.save` stages the files, audits the staged
bytes and only then lets them become visible (THREATS, promise 1). Nothing else in Pluralis writes a release.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Literal

import numpy as np

from pluralis.attacks import Result
from pluralis.attacks.exposure import Exposure, exposures
from pluralis.attacks.publication import MOST_ROWS, SEVERAL, measured, not_stopped
from pluralis.attribute import Attribute, MissingAs
from pluralis.audit import Verdict, audit
from pluralis.dependencies import assumed
from pluralis.errors import AuditFailed, Breached, Infeasible, OutputError
from pluralis.folder import Stage, check_target, one_at_a_time, staging
from pluralis.identity import identity_of
from pluralis.io import Packed, open_table, write_csv_bytes
from pluralis.kinds import KINDS
from pluralis.kinds.parts import column_info, infos, refuse_names
from pluralis.memory import give_back, keep_little
from pluralis.methods import Method, method_for
from pluralis.metrics import Loss, measure
from pluralis.plan import LEFT_OUT, Plan
from pluralis.policy import Policy
from pluralis.present.learnt import with_results
from pluralis.present.report import render_report
from pluralis.progress import stage
from pluralis.randomness import Draw, Key
from pluralis.reading import require_sealed
from pluralis.readme import release_readme
from pluralis.release import CSV_ESCAPE, MANIFEST, README, Manifest, Release, with_set_labels
from pluralis.republish import PRIVATE, Known, before, key_after, key_for, made_of, require_key, said_of
from pluralis.table import Table, clean, encode_clean

__all__ = ["PRIVATE", "Format", "Publication", "assemble", "built", "keep_results", "key_for", "publish"]

Format = Literal["parquet", "csv"]
ATTACKED = "attack.json"  # in the private folder, as is
REPORT = "report.html"
AUTO = "auto"  # in the place of a method's name: the best of all that apply
WHOLE = 100_000
_OWN_MODELS = ("candidates", "decomposed")  # kinds that promise something else than the policy's model


@dataclass(frozen=True, repr=False)
class Publication(Release):
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
            give_back(manifest.rows)
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
            self._write_private(private_stage, manifest, verdict, key_after(found, self.key, made_of(self)))
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

    def _write_private(self, to: Stage, manifest: Manifest, verdict: Verdict, key: Key) -> None:
        key.write(to.folder / "key")
        sha256 = hashlib.sha256(manifest.to_json().encode()).hexdigest()
        report = render_report(self.policy, manifest, verdict, self.loss, self.notes, self.attacked, self.exposures)
        attacked = {} if self.attacked is None else {ATTACKED: _results_json(sha256, self.attacked)}
        for name, text in {
            "policy.yaml": self.policy.to_yaml(),
            "audit.json": json.dumps({"manifest_sha256": sha256, **verdict.to_dict()}, indent=1, ensure_ascii=False)
            + "\n",
            "utility.json": json.dumps(self.loss.to_dict(), indent=1, ensure_ascii=False) + "\n",
            REPORT: report,
            **attacked,
        }.items():
            to.write(name, text.encode(), mode=0o600)


def keep_results(folder: str | Path, results: Sequence[Result]) -> None:
    """Write what attacks got into the private folder of a release, if it is there, and show it in the report.

    What was got from the same release before is kept, but for questions that are answered anew of as many people, or
    more.
    """
    private = Path(folder).absolute().with_name(Path(folder).absolute().name + PRIVATE)
    if not (private / "key").is_file():
        return
    sha256 = hashlib.sha256((Path(folder) / MANIFEST).read_bytes()).hexdigest()
    kept = _joined(_kept_results(private / ATTACKED, sha256), results)
    _rewrite(private / ATTACKED, _results_json(sha256, kept))
    report = private / REPORT
    if report.is_file():
        _rewrite(report, with_results(report.read_text(encoding="utf-8"), kept))


def _joined(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Of each question the result of more people, else the new one; new ones first."""
    before, now = ({(one.attack, one.question, one.attribute, one.adversary): one for one in of} for of in (old, new))
    best = {asked: one if asked not in before or one.targets >= before[asked].targets else before[asked]
            for asked, one in now.items()}  # fmt: skip
    return [*best.values(), *(one for asked, one in before.items() if asked not in now)]


def _kept_results(path: Path, manifest_sha256: str) -> list[Result]:
    """What is kept of this release; of another, nothing."""
    if not path.is_file():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return [Result.from_dict(one) for one in data["results"]] if data["manifest_sha256"] == manifest_sha256 else []
    except (ValueError, KeyError, TypeError):
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


def _results_json(manifest_sha256: str, results: Sequence[Result]) -> str:
    """What attacks got from the release that has this manifest."""
    data = {"manifest_sha256": manifest_sha256, "results": [result.to_dict() for result in results]}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


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
    notes: list[str] = []
    asked = policy
    if policy.publish.method == AUTO:
        from pluralis.compare import choose

        policy, why = choose(source, policy, encoding=encoding, separator=separator)
        notes.append(why)
    method = method_for(policy)
    refuse_names(policy, method.kind)
    key = key or Key.new()
    with stage("reading"):
        only = policy.needed if policy.others == "drop" else None
        frame = open_table(source, encoding=encoding, separator=separator, notes=notes, only=only)
        keep_little(frame.height)
        read = clean(frame, policy)
        del frame, source  # from here on its clean columns are enough
    with stage("encoding"):
        table, original = encode_clean(read, policy), read.small()
        to_attack = table.rows <= MOST_ROWS if attacks is None else attacks
        person = read.person if to_attack else None
        del read
    if method.kind != "multi":
        notes += _ties(table, policy, method)
    plan = method.plan(table, policy, Draw(key))
    give_back(table.rows)
    identity = identity_of(table, policy.person)
    key = key.with_designs({n: key.designs.get(n) or design.for_key(identity) for n, design in plan.designs.items()})
    with stage("building the tables"):
        release = built(plan, table, policy, method, Draw(key))
    said = (*notes, *table.notes, *plan.notes, *_told(release, chosen=plan.sensitive_table == "auto"))
    added = sum(len(pairs) for pairs in plan.added.values()) if plan.kind == "decomposed" else None
    rows, people = table.rows, _people(plan, table)
    del table, plan
    give_back(rows)
    with stage("measuring what was lost"):
        loss = changed(measure(release, original), added_values=added)
    attacked, exposed = None, tuple[Exposure, ...]()
    if to_attack:
        release = release.spelled_out()
        attacked, exposed = measured(release, original, person), exposures(release)
    manifest = release.manifest.model_copy(update={"breaks": _breaks(release, attacked, people)})
    known = Known.of(original, people, in_order=bool(key.made) or asked.republish is not None)
    del original, person
    give_back(rows)
    with stage("packing the tables"):
        return Publication(manifest, release.tables, asked, key, loss, said, attacked, exposed, known)


def _breaks(release: Release, attacked: Sequence[Result] | None, people: int) -> tuple[str, ...]:
    """What a release does not stop; what was measured of several rows takes the place of the sentence without it."""
    found = tuple(not_stopped(release, attacked, people))
    said = any(sentence.startswith(SEVERAL) for sentence in found)
    kept = (sentence for sentence in release.manifest.breaks if not (said and sentence.startswith(SEVERAL)))
    return tuple(dict.fromkeys((*kept, *found)))


def _people(plan: Plan, table: Table) -> int:
    """How many people have a row in the release: as many as rows, where the policy names no person column."""
    kept = plan.group_of != LEFT_OUT
    return int(np.unique(table.person[kept]).size if table.person is not None else kept.sum())


def _ties(table: Table, policy: Policy, method: Method) -> Iterator[str]:
    """What dependencies give away in one table: refused where the policy says that they are known, else told.

    Whoever finds a row sees its other columns. One that decides a protected attribute, or follows from it, tells of it.
    """
    protected = set(policy.sensitive)
    for dependency in policy.dependencies:
        if dependency.attributes & protected:
            raise Infeasible(
                f"`{dependency}` is known, and {method.name} publishes both beside each other, so that one tells of "
                "the other. Use method: gd or uad, which publish them together or not at all, or make one of them an "
                "identifier, which is not published."
            )
    for dependency in assumed(table, policy):
        if dependency.attributes & protected:
            yield (
                f"{', '.join(dependency.knows)} decides {dependency.decides} in this table. Whoever knows that learns "
                f"more than is promised. Use method: gd or uad, or, if nobody could know it, add `{dependency}` to "
                "`coincidences`."
            )


def _told(release: Release, *, chosen: bool) -> Iterator[str]:
    """What the publisher of a decomposed release should know of it; its sensitive table may be `chosen` for them."""
    if release.kind != "decomposed":
        return
    others = [claim.attribute for claim in release.manifest.claims if claim.model == "candidates" and claim.attribute]
    if others:
        names = ", ".join(dict.fromkeys(others))
        yield f"{names}: l counts the values that remain possible here. It does not bound a guess by 1/l."
    if chosen and "sensitive" not in release.tables:
        kept = "by attribute" if len(release.tables) > 2 else "not at all"
        yield f"The sensitive table is published {kept}: jointly it would tell too much, or is too large to judge."


def assemble(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The in-memory release that a plan describes."""
    return built(plan, table, policy, method, draw).spelled_out()


def built(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    """The same, text as codes.

    A plan that leaves the sensitive table open (`auto`) gets the one that tells most among those that the audit passes.
    Above WHOLE rows the joint table is not tried: what it leaves possible takes too long to work out.
    """
    if plan.sensitive_table != "auto":
        return _release_of(plan, table, policy, method, draw)
    if table.rows > WHOLE:
        return _release_of(changed(plan, sensitive_table="marginals"), table, policy, method, draw)
    for choice in ("joint", "marginals", "none"):
        release = _release_of(changed(plan, sensitive_table=choice), table, policy, method, draw)
        verdict = audit(release, allow_test=True)
        if verdict.holds or not verdict.findings[0].holds:  # tables that do not agree are a mistake, not a choice
            break
    return release


def _release_of(plan: Plan, table: Table, policy: Policy, method: Method, draw: Draw) -> Release:
    kind = KINDS[plan.kind]
    parts = kind.tables(plan, table, policy, draw)
    kept = np.flatnonzero(plan.group_of != LEFT_OUT)
    weights = {column.name: column.weight for column in table.quasi if column.weight != 1.0 and not plan.subplans}
    instead = {name: a.if_missing.as_ for name, a in policy.columns.items() if isinstance(a.if_missing, MissingAs)}
    exact = [name for name, a in policy.columns.items() if a.case == "keep" and a.role != "identifier"]
    shown = {column.attribute for part in parts for column in part.columns}
    domains = {
        column.name: column_info(column, kept, policy).model_dump(mode="json", exclude_none=True)
        for column in table.sensitive
        if column.name not in shown
    }
    rules = plan.rules or [rule for rule in policy.rules if not set(policy.quasi).issuperset(rule.knows)]
    adversaries = [] if plan.rules else sorted(sorted(known) for known in policy.knowledge[1:])
    models = {name: _model(policy.columns[name]) for name in policy.sensitive} if plan.kind not in _OWN_MODELS else {}
    models = {name: model for name, model in models.items() if model != "frequency"}
    parameters: dict[str, object] = {
        **({} if plan.slices or plan.subplans else {"linked": plan.linked}),
        "l": _ls(plan, policy),
        "options": method.model_dump(exclude={"variant"}),
        **({"adversaries": adversaries} if adversaries else {}),
        **({"models": models} if models else {}),
        **({"k": policy.k} if policy.k is not None and not plan.rules else {}),
        **({"primary": plan.primary} if plan.primary else {}),
        **({"domains": domains} if domains else {}),
        **({"addition": {name: d.to_dict() for name, d in plan.designs.items()}} if plan.designs else {}),
        **({"rules": [str(rule) for rule in rules]} if rules else {}),
        **({"dependencies": [str(dependency) for dependency in plan.dependencies]} if plan.dependencies else {}),
        **({"weights": weights} if weights else {}),
        **({"missing": policy.missing} if policy.missing != [""] else {}),
        **({"missing_as": instead} if instead else {}),
        **({"case": exact} if exact else {}),
        **({"persons": True} if table.person is not None else {}),
    }
    manifest = Manifest(
        method=method.name,
        variant=method.variant,
        kind=plan.kind,
        rows=kept.size,
        suppressed=plan.left_out + table.dropped,
        claims=tuple(kind.claims(plan, policy)),
        breaks=tuple(dict.fromkeys((*method.breaks, *plan.breaks, *kind.breaks(plan, table)))),
        parameters=parameters,
        tables=infos(parts),
        test=draw.key.is_test,
    )
    return Release(manifest, {part.name: part.rows.select([c.name for c in part.columns]) for part in parts})


def _model(attribute: Attribute) -> str:
    """How diverse an attribute is asked to be, beside its l."""
    return attribute.model if attribute.c is None else f"{attribute.model} {attribute.c}"


def _ls(plan: Plan, policy: Policy) -> dict[str, int]:
    """How diverse each protected attribute is to be, by the rules of the plan where it has its own."""
    if not plan.rules:
        return {name: policy.l(name) for name in policy.sensitive}
    names = sorted({rule.protects for rule in plan.rules})
    return {name: max(rule.l for rule in plan.rules if rule.protects == name) for name in names}
