"""Rules, and the methods that publish several tables of each row, in parts: the same tables and knowledge in all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.errors import Infeasible, PolicyError
from pluralis.release.parts import OfAll
from pluralis.release.reading import manifest_of
from support.releases_in_parts import ROWS, digests, people, published, written_in_files

SUBTABLES = ("gd", "uad", "single-attribute")


def patients() -> pl.DataFrame:
    """People with a zip that decides their county, and a pay beside what they have."""
    rng = np.random.default_rng(3)
    zips = rng.integers(0, 60, ROWS)
    return people().with_columns(
        zip=pl.Series([f"z{i}" for i in zips]),
        county=pl.Series([f"c{i // 10}" for i in zips]),
        pay=pl.Series(rng.choice([f"s{i}" for i in range(7)], ROWS)),
    )


def policy(method: str, **more: object) -> pls.Policy:
    quasi = {"age": {"type": "number"}, "sex": {}, "zip": {}}
    keys = {"quasi": quasi, "plain": ["county"], "sensitive": {"ill": 3, "pay": 2}, "others": "drop", "suppress": 0.1}
    return pls.Policy(**{**keys, "method": method, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*SUBTABLES, "multi-sa"])
@pytest.mark.parametrize("person", [None, "person"])
def test_parts_have_the_same_tables_and_keep_every_rule(method: str, person: str | None, tmp_path: Path) -> None:
    made = published(patients(), policy(method, person=person), tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    manifests = [manifest_of(tmp_path / "release" / info.folder) for info in made.manifest.parts]
    shown = [[(info.name, info.names("quasi"), info.names("sensitive")) for info in one.tables] for one in manifests]
    assert shown[0] == shown[1] == shown[2]
    if method != "multi-sa":
        assert {one.parameters.dependencies for one in manifests} == {("zip -> county",)}
        assert any("zip decides county in this table" in note for note in made.notes)
    women = pls.read_parts(tmp_path / "release").count("sex = 'f'")
    assert women.least <= (patients()["sex"] == "f").sum() <= women.most + made.manifest.suppressed


def test_what_holds_in_a_part_alone_is_known_to_nobody(tmp_path: Path) -> None:
    """In one row a zip stands with another county: no part but one has that row, and all are published alike."""
    table = patients().with_columns(county=pl.when(pl.int_range(ROWS) == 5).then(pl.lit("c9")).otherwise("county"))
    published(table, policy("gd"), tmp_path / "release")
    found = {manifest_of(path).parameters.dependencies for path in (tmp_path / "release").glob("part-*")}
    assert len(found) == 1
    rest = table.slice(6).sample(400, seed=1)
    alone = [
        pls.publish(rows, policy("gd"), key=pls.Key.test(), attacks=False) for rows in (rest, rest.vstack(table[5]))
    ]
    assert [one.manifest.parameters.dependencies for one in alone] == [("zip -> county",), ()]


def test_a_shard_that_cannot_be_split_is_no_sample(tmp_path: Path) -> None:
    """In the first shard one value is too common, and in all of them together it is not."""
    table = patients().with_columns(ill=pl.when(pl.int_range(ROWS) % 3 == 0).then(pl.lit("flu")).otherwise("ill"))
    made = published(table, policy("gd", suppress=0.0), tmp_path / "release", part=300)
    assert made.verdict.holds
    with pytest.raises(Infeasible, match="'ill' cannot be 3-diverse"):
        published(table.with_columns(ill=pl.col("ill").str.replace("d[0-4]$", "flu")), policy("gd"), tmp_path / "no")


def test_rules_that_a_hash_would_tear_are_refused(tmp_path: Path) -> None:
    """uad shows age beside ill, and nobody knows both age and sex: who is in one part would tell."""
    attributes = {"age": {"role": "quasi", "type": "number"}}
    keys = {"attributes": attributes, "rules": ["sex -> ill : l=2"], "others": "drop", "method": "uad"}
    with pytest.raises(PolicyError, match="`sex -> ill : l=2` would not be kept in parts"):
        published(patients(), pls.Policy(**keys), tmp_path / "release", workers=1)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    made = published(patients(), pls.Policy(**keys, person="person"), tmp_path / "release")  # type: ignore[arg-type]
    assert made.verdict.holds
    assert pls.read_parts(tmp_path / "release").count("age < 30 AND ill = 'd1'").value > 0


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "msb", *SUBTABLES])
def test_rules_are_kept_in_every_part(method: str, tmp_path: Path) -> None:
    made = published(
        patients(), policy(method, rules=["ill -> pay : l=2", "ill, zip -> pay : l=2"]), tmp_path / "release"
    )
    assert made.verdict.holds
    verdict = pls.audit(tmp_path / "release", allow_test=True)
    assert verdict.holds
    assert any(finding.claim.startswith("P(pay | ill") for finding in verdict.findings)


@pytest.mark.parametrize("method", ["gd", "uad"])
def test_order_of_rows_files_chunks_and_workers_change_no_byte(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(patients(), policy(method), tmp_path / "one")
    monkeypatch.setattr("pluralis.engines.sizes.CHUNK", 97)
    monkeypatch.setattr("pluralis.engines.sizes.PIECE", 300)
    published(written_in_files(patients(), tmp_path / "files"), policy(method), tmp_path / "two", workers=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_parts_of_other_tables_are_no_release(tmp_path: Path) -> None:
    """Neither where attributes stand in other tables, nor where something else is taken to be known."""
    manifests = []
    for name, rows in (("all", patients()), ("other", patients().with_columns(county=pl.col("ill")))):
        published(rows, policy("single-attribute", suppress=0.3), tmp_path / name, part=ROWS)
        manifests.append(manifest_of(tmp_path / name / "part-00001"))
    every = OfAll({})
    assert not list(every.add(manifests[0], "0" * 64))
    assert list(every.add(manifests[1], "0" * 64)) == [
        "part-00002: it is of another form, or promises something else, than the first part."
    ]
    others = manifests[0].parameters.model_copy(update={"dependencies": ()})
    assert list(every.add(manifests[0].model_copy(update={"parameters": others}), "0" * 64)) == [
        "part-00003: it is of another form, or promises something else, than the first part."
    ]
