"""Releases in parts beside their original: clean ones are quiet, and whatever is not as it was is found."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.attacks.base import Result
from pluralis.attacks.parts import results_of_parts
from pluralis.errors import InputError, ReleaseError
from pluralis.metrics.parts import loss_of_parts
from pluralis.publishing.part_shards import PartShards
from pluralis.randomness import Made
from pluralis.release.parts import OfAll, PartsManifest, parts_readme
from pluralis.release.reading import manifest_of, parse_manifest, read_release
from pluralis.release.readme import release_readme
from pluralis.table.sources import write_parquet_bytes
from pluralis.verbs import original_parts
from support.releases_in_parts import ROWS, people, policy_of, published

COUNT = "published and suppressed rows are the rows of the original"


@pytest.fixture(scope="module", params=["anatomy", "bsgi", "decomposition", "randomized-addition", "mondrian"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "release"
    published(people(), policy_of(request.param), folder)
    return folder


@pytest.fixture(scope="module")
def anatomy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "release"
    published(people(), policy_of("anatomy"), folder)
    return folder


def audited(folder: Path, original: object, **more: object) -> pls.Verdict:
    return pls.audit(folder, original, allow_test=True, **more)  # type: ignore[arg-type]


# clean releases -----------------------------------------------------------------------------------------------------


def test_a_clean_release_covers_its_original(release: Path) -> None:
    verdict = audited(release, people().sample(fraction=1.0, shuffle=True, seed=3))
    assert verdict.holds, verdict.failures
    claims = {finding.claim for finding in verdict.findings}
    assert COUNT in claims
    assert {finding.claim for finding in audited(release, None).findings} < claims
    assert not list(release.parent.glob(".*"))


def test_the_loss_of_parts_is_that_of_each_with_its_rows(release: Path) -> None:
    """Beside the original the same is measured as at publication, by rows; no row is counted twice."""
    loss = pls.measure(release, people())
    kept = json.loads((release.with_name("release.private") / "utility.json").read_text())["parts"]
    assert (loss.rows + loss.suppressed, loss.rows) == (ROWS, sum(own["rows"] for own in kept))
    assert loss.ncp == pytest.approx(sum(own["ncp"] * own["rows"] for own in kept) / loss.rows)
    assert loss.groups == sum(loss.group_sizes.values()) == sum(own["groups"] for own in kept)
    if loss.kl is not None:
        assert loss.kl == pytest.approx(sum(own["kl"] * own["rows"] for own in kept) / loss.rows)
    assert loss.risk is not None
    assert loss.risk.original.rows == ROWS
    assert not list(release.parent.glob(".*"))


def test_random_counts_are_asked_of_all_parts(release: Path) -> None:
    answers = pls.measure(release, people(), queries=30, dimensions=1).queries["ill"]
    assert answers.queries == 30
    assert answers.mean_error < 0.25
    assert answers.coverage > 0.7


def test_attacks_are_on_people_of_all_parts(release: Path) -> None:
    results = pls.attack(release, people(), only=["homogeneity", "linkage", "prior"], sample=300)
    assert not results.breaches
    about = next(one for one in results if one.attack == "linkage")
    assert about.targets == 300
    assert about.sampled
    assert about.witness is None or about.witness.startswith("part-0000")
    everybody = pls.attack(release, people(), only="linkage")[0]
    parts = [read_release(path) for path in sorted(release.glob("part-*"))]
    assert everybody.targets == sum(part.manifest.rows for part in parts)
    assert not everybody.sampled


def test_classes_of_quasi_identifiers_are_those_of_the_whole_table(anatomy: Path) -> None:
    """Quasi-identifiers decide the part, so no class is cut."""
    risk = pls.measure(anatomy, people(), population=10 * ROWS).risk
    sizes = people().group_by("age", "sex").len()["len"]
    assert risk is not None
    assert (risk.original.classes, risk.release.classes) == (sizes.len(), sizes.len())
    assert risk.original.prosecutor_highest == 1 / sizes.min()  # type: ignore[operator]
    assert (risk.population, risk.model) == (10 * ROWS, "Pitman")
    with pytest.raises(InputError, match="A population of 10 people is smaller than the table"):
        pls.measure(anatomy, people(), population=10)


def test_persons_joined_shards_and_several_files(tmp_path: Path) -> None:
    table = people().with_columns(ill=pl.when(pl.int_range(pl.len()) % 10 < 3).then(pl.lit("flu")).otherwise("ill"))
    policy = policy_of("anatomy", person="person", publish={"method": "anatomy"})
    made = published(table, policy, tmp_path / "release", part=100)
    kept = json.loads((tmp_path / "release.private" / "parts.json").read_text())
    assert len(made.manifest.parts) < kept["shards"]  # some were joined
    (tmp_path / "files").mkdir()
    for i in range(3):
        table.slice(i * 400, 400).write_parquet(tmp_path / "files" / f"{i}.parquet", row_group_size=90)
    assert audited(tmp_path / "release", tmp_path / "files").holds
    assert pls.measure(tmp_path / "release", tmp_path / "files").rows == made.manifest.rows
    results = pls.attack(tmp_path / "release", tmp_path / "files", person="person", sample=400)
    assert any(one.attack == "persons" and one.whom == "people with several rows" for one in results)


CLEANED = """
version: 1
missing: ["?"]
attributes:
  age: {role: quasi, type: number, missing: ["-9"], top: 90}
  weight: {role: quasi, type: number}
  town: {role: quasi}
  zip: {role: quasi, hierarchy: {file: zip.csv}}
  ill: {role: sensitive, l: 3, if_missing: drop}
  cost: {role: sensitive, l: 2, type: number, bin: 1000}
publish: {method: bsgi, suppress: 0.3}
"""


def test_a_raw_original_is_cleaned_again_as_it_was(tmp_path: Path) -> None:
    """Marks of missing values, spellings, numbers cut off, bins; and a hierarchy file, which is no longer needed."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({
        "age": [str(age) if age % 9 else "-9" for age in rng.integers(18, 110, ROWS)],
        "weight": rng.normal(70, 10, ROWS).round(1),
        "town": rng.choice(["Oslo", "OSLO ", "Bergen", "bergen", "?", "Rome"], ROWS),
        "zip": rng.choice(["10115", "10117", "20095", "20097"], ROWS),
        "ill": rng.choice([*(f"d{i}" for i in range(9)), None], ROWS),
        "cost": rng.integers(0, 9_000, ROWS),
    })  # fmt: skip
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "zip.csv").write_text("10115;101;*\n10117;101;*\n20095;200;*\n20097;200;*\n", encoding="utf-8")
    policy = pls.Policy.parse(CLEANED, folder=tmp_path)
    made = published(tmp_path / "people.csv", policy, tmp_path / "release")
    (tmp_path / "zip.csv").unlink()
    assert audited(tmp_path / "release", tmp_path / "people.csv").holds
    loss = pls.measure(tmp_path / "release", tmp_path / "people.csv", queries=5, dimensions=1)
    assert (loss.rows, loss.suppressed, len(made.manifest.parts)) == (made.manifest.rows, made.manifest.suppressed, 3)
    assert loss.ncp == pytest.approx(made.loss.ncp)
    ill = next(own for own in loss.distributions if own.attribute == "ill")
    assert ill.before[ill.values.index("(missing)")] == pytest.approx(table["ill"].null_count() / ROWS)
    assert {name: own.queries for name, own in loss.queries.items()} == {"cost": 5, "ill": 5}
    assert not pls.attack(tmp_path / "release", tmp_path / "people.csv", sample=100, only="homogeneity").breaches


def test_processes_give_what_one_process_gives(anatomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = audited(anatomy, people()), pls.measure(anatomy, people()), pls.attack(anatomy, people(), only="linkage")
    monkeypatch.setattr(original_parts, "MANY", 1)
    assert alone[0] == audited(anatomy, people())
    assert alone[1] == pls.measure(anatomy, people())
    assert alone[2] == pls.attack(anatomy, people(), only="linkage")


# planted faults -----------------------------------------------------------------------------------------------------


def test_a_row_that_the_original_lacks_is_found(release: Path) -> None:
    fewer = people().head(-1)
    verdict = audited(release, fewer)
    assert COUNT in {finding.claim for finding in verdict.failures}
    for verb in (pls.measure, pls.attack):
        with pytest.raises(InputError, match="The original has 1,199 rows"):
            verb(release, fewer)


@pytest.mark.parametrize("column", ["age", "ill"])
def test_a_value_that_changed_is_found(column: str, release: Path) -> None:
    """A quasi-identifier sends the row to another part, or misses there; a sensitive one is not where it was."""
    new = pl.lit(99) if column == "age" else pl.lit("another")
    first = pl.int_range(pl.len()) == 0
    changed = people().with_columns(pl.when(first).then(new).otherwise(column).alias(column))
    assert not audited(release, changed).holds


def test_rows_that_change_places_between_parts_are_found(anatomy: Path, tmp_path: Path) -> None:
    """One person of each of two parts is published in the other, and the key is made to say that all is as it was."""
    folder = copied(anatomy, tmp_path)
    files = [folder / f"part-0000{i}" / "quasi.parquet" for i in (1, 2)]
    names = ["age", "sex", "ward"]
    tables = [pl.read_parquet(file) for file in files]
    swapped = [table.row(0, named=True) for table in reversed(tables)]
    for i, (table, row) in enumerate(zip(tables, swapped, strict=True)):
        new = table.with_columns(
            pl.when(pl.int_range(pl.len()) == 0)
            .then(pl.lit(row[name]))
            .otherwise(name)
            .alias(name)
            .cast(table[name].dtype)
            for name in names
        )
        rewrite(folder / f"part-0000{i + 1}", new.select(table.columns))
    seal(folder)
    assert audited(folder, None).holds
    failures = audited(folder, people()).failures
    assert {finding.claim for finding in failures} >= {
        "every published row has the quasi-identifiers of a row of its own in the original"
    }
    assert all((finding.witness or "").startswith("part-0000") for finding in failures)


def test_values_that_are_too_rare_in_all_parts_are_found_beside_the_original_too(anatomy: Path, tmp_path: Path) -> None:
    """Each part says that values of fewer than 500 rows of all parts were joined; none was, and it is refused."""
    folder = copied(anatomy, tmp_path)
    for part in folder.glob("part-*"):
        plain = json.loads((part / "manifest.json").read_text(encoding="utf-8"))
        plain["parameters"]["recodings"] = {"ill": {"rare": {"below": 500, "into": "other", "all_parts": True}}}
        manifest = parse_manifest(json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n")
        (part / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
        (part / "README.md").write_text(release_readme(manifest), encoding="utf-8")
    seal(folder)
    for original in (None, people()):
        with pytest.raises(ReleaseError, match="rare values of 'ill' are said to be joined, and it has one of fewer"):
            audited(folder, original)


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to / "release")
    shutil.copytree(folder.with_name("release.private"), to / "release.private")
    (to / "release.private").chmod(0o700)
    return to / "release"


def rewrite(part: Path, quasi: pl.DataFrame) -> None:
    """Other rows for a part, sorted as they must be, with a manifest that says so."""
    manifest = manifest_of(part)
    order = ["group", *(name for name in quasi.columns if name != "group")]
    data = write_parquet_bytes(quasi.sort(order, nulls_last=True))
    (part / "quasi.parquet").write_bytes(data)
    tables = tuple(
        info.model_copy(update={"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        if info.name == "quasi"
        else info
        for info in manifest.tables
    )
    manifest = manifest.model_copy(update={"tables": tables})
    (part / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    (part / "README.md").write_text(release_readme(manifest), encoding="utf-8")


def seal(folder: Path) -> PartsManifest:
    """Write what follows from the parts, and a key that knows it."""
    every = OfAll({})
    for part in sorted(folder.glob("part-*")):
        own = manifest_of(part)
        assert list(every.add(own, hashlib.sha256(own.to_json().encode()).hexdigest())) == []
    manifest = every.manifest()
    (folder / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    (folder / "README.md").write_text(parts_readme(manifest), encoding="utf-8")
    private = folder.with_name("release.private")
    key = pls.Key.read(private / "key")
    (private / "key").unlink()
    replace(key, made=(Made(manifest.method, manifest.sha256),)).write(private / "key")
    kept = json.loads((private / "parts.json").read_text())
    (private / "parts.json").write_text(
        PartShards(kept["shards"], tuple(kept["first"])).to_json(manifest.sha256), encoding="utf-8"
    )
    return manifest


# what is not its original, or not its private folder -------------------------------------------------------------


VERBS: list[Callable[..., object]] = [audited, pls.measure, pls.attack]


def test_another_table_is_no_original(anatomy: Path) -> None:
    other = people(seed=1)
    counted = next(own for own in audited(anatomy, other).failures if own.claim == COUNT)
    assert re.fullmatch("part-0000., and 2 more parts", counted.witness or "")
    for verb in (pls.measure, pls.attack):
        with pytest.raises(InputError, match=r"part-0000. has .* it is not the original of this release"):
            verb(anatomy, other)
    with pytest.raises(InputError, match="No row of this table is in part-0000"):
        audited(anatomy, other.head(1))
    assert not list(anatomy.parent.glob(".*"))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["key", "policy.yaml", "parts.json"])
def test_a_stranger_is_told_what_is_needed(
    name: str, verb: Callable[..., object], anatomy: Path, tmp_path: Path
) -> None:
    folder = copied(anatomy, tmp_path)
    (tmp_path / "release.private" / name).unlink()
    with pytest.raises(InputError, match=rf"it takes the key to say.*release.private has no {name}"):
        verb(folder, people())
    shutil.rmtree(tmp_path / "release.private")
    with pytest.raises(InputError, match=r"no key and no policy.yaml and no parts.json"):
        verb(folder, people())
    assert verb(folder, people(), private=anatomy.with_name("release.private"))


@pytest.mark.parametrize("verb", VERBS)
def test_the_private_folder_of_another_release_is_refused(
    verb: Callable[..., object], anatomy: Path, tmp_path: Path
) -> None:
    published(people(seed=2), policy_of("anatomy"), tmp_path / "other", key=pls.Key.new(), part=10_000)
    other = tmp_path / "other.private"
    with pytest.raises(InputError, match="is the private folder of another release"):
        verb(anatomy, people(), private=other)
    mixed = copied(anatomy, tmp_path).with_name("release.private")
    shutil.copy(other / "parts.json", mixed)
    with pytest.raises(InputError, match="does not say which shards the parts of this release have"):
        verb(mixed.with_name("release"), people())


@pytest.mark.parametrize(
    "kept",
    [
        {"shards": 3, "first": [0, 1]},
        {"shards": 3, "first": [0, 2, 1]},
        {"shards": 2, "first": [0, 1, 2]},
        {"shards": 3, "first": [1, 2, 3]},
        {"shards": 10**12, "first": [0, 1, 2]},
        {"shards": float("inf"), "first": [0, 1, 2]},
        {"shards": "3", "first": [0, 1, 2]},
        {"shards": 3, "first": "012"},
        {"shards": 3},
        [],
    ],
)
def test_damaged_shards_are_refused(kept: object, anatomy: Path, tmp_path: Path) -> None:
    folder = copied(anatomy, tmp_path)
    path = tmp_path / "release.private" / "parts.json"
    own = json.loads(path.read_text(encoding="utf-8"))
    damaged = {"manifest_sha256": own["manifest_sha256"], **kept} if isinstance(kept, dict) else kept
    path.write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(InputError, match="does not say which shards"):
        pls.measure(folder, people())
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(InputError, match="does not say which shards"):
        pls.measure(folder, people())
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"parts\.json cannot be read"):
        pls.measure(folder, people())


@pytest.mark.parametrize("verb", VERBS)
def test_an_original_without_rows_is_none(verb: Callable[..., object], anatomy: Path) -> None:
    with pytest.raises(InputError, match="The original has no rows"):
        verb(anatomy, people().head(0))
    assert not list(anatomy.parent.glob(".*"))


def test_another_key_routes_to_other_parts(anatomy: Path, tmp_path: Path) -> None:
    folder = copied(anatomy, tmp_path)
    path = tmp_path / "release.private" / "key"
    key = pls.Key.read(path)
    path.unlink()
    replace(pls.Key.new(), made=key.made).write(path)
    assert COUNT in {finding.claim for finding in audited(folder, people()).failures}
    with pytest.raises(InputError, match="by the key"):
        pls.measure(folder, people())


def test_a_part_alone_is_told_to_name_the_whole(anatomy: Path) -> None:
    part = anatomy / "part-00001"
    for verb in VERBS:
        with pytest.raises(InputError, match=r"part-00001 is one part of the release in parts release.*Name release"):
            verb(part, people())


def test_what_is_not_measured_of_parts_is_refused(anatomy: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out the others"):
        pls.attack(anatomy, people(), others=[anatomy / "part-00001"])
    with pytest.raises(InputError, match="names no person"):
        pls.attack(anatomy, people(), person="person")
    whole = pls.publish(people(), policy_of("anatomy"), key=pls.Key.test(), attacks=False)
    for verb in VERBS:
        with pytest.raises(InputError, match="this is no release in parts"):
            verb(whole, people(), private=tmp_path)


# putting together ---------------------------------------------------------------------------------------------------


def test_a_breach_in_one_part_is_one_of_the_whole() -> None:
    """Also where another part may promise more than that part got."""
    kept = Result("prior", "ill", 900, True, 0.3, 0.2, 0.4, 0.1, promised=0.6, worst=0.59)
    broken = Result("prior", "ill", 100, True, 0.5, 0.4, 0.6, 0.1, promised=0.5, worst=0.55, witness="group 3")
    both = results_of_parts([("part-00001", [kept]), ("part-00002", [broken])])
    assert (both[0].breach, both[0].witness, both[0].targets) == (True, "part-00002, group 3", 1_000)
    assert both[0].success == pytest.approx(0.32)
    assert both[0].low < 0.32 < both[0].high


def test_distributions_are_put_together(tmp_path: Path) -> None:
    """Of names exactly; of numbers whose bins differ, none is lost."""
    table = people().with_columns(age=pl.when(pl.int_range(pl.len()) == 5).then(300).otherwise("age"))
    made = published(table, policy_of("bsgi"), tmp_path / "release")
    ill = next(own for own in made.loss.distributions if own.attribute == "ill")
    shares = dict(table["ill"].value_counts(name="rows").iter_rows())
    assert ill.distance == pytest.approx(0.0)
    for value, before, after in zip(ill.values, ill.before, ill.after, strict=True):
        assert before == pytest.approx(shares[value] / ROWS) == pytest.approx(after)
    age = next(own for own in made.loss.distributions if own.attribute == "age")
    assert sum(age.before) == pytest.approx(1.0) == pytest.approx(sum(age.after))
    assert float(age.values[0]) == 20
    assert age.before[0] > 0.1
    assert made.loss.to_dict() == loss_of_parts(made.losses).to_dict()
