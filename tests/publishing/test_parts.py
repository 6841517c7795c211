"""Releases in parts: what every part keeps the whole keeps, from the same bytes whatever the order and the workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.auditing.verdict import COUNTED
from pluralis.engines import local
from pluralis.errors import Infeasible, OutputError, PolicyError, ReleaseError
from pluralis.publishing import part_requirements
from pluralis.release.reading import parts_of
from pluralis.report.exposure import Exposure, Weak, exposures_of_parts
from support.cli_runner import caller
from support.releases_in_parts import ROWS, digests, people, policy_of, published, written_in_files

METHODS = (
    "anatomy",
    "bsgi",
    "decomposition",
    "incognito",
    "kaca",
    "mondrian",
    "msb",
    "randomized-addition",
    "tp",
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "release"
    published(people(), policy_of("anatomy"), folder)
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_every_part_is_a_release_and_the_whole_keeps_what_they_keep(method: str, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    made = published(people(), policy_of(method, person="person" if method == "bsgi" else None), folder)
    assert made.verdict.holds
    verdict = pls.audit(folder, allow_test=True)
    assert verdict.holds
    certificate = "what the manifest says was measured is what its tables give"  # written after the first audit
    assert [finding for finding in verdict.findings if finding.claim != certificate] == [*made.verdict.findings]
    stated = made.manifest
    assert (stated.rows + stated.suppressed, len(stated.parts) > 1) == (ROWS, True)
    for info in stated.parts:
        assert pls.audit(folder / info.folder, allow_test=True).holds


@pytest.mark.parametrize("method", ["bsgi", "decomposition", "msb", "sloms"])
def test_several_sensitive_attributes_are_published_in_parts(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    table = people().with_columns(insurer=pl.Series(rng.choice([f"i{i}" for i in range(6)], ROWS)))
    policy = pls.Policy(
        quasi={"age": {"type": "number"}, "sex": {}}, sensitive={"ill": 3, "insurer": 2}, method=method, others="drop",
        accept="set-size", suppress=0.2, k=4 if method == "sloms" else None,
    )  # fmt: skip
    made = published(table, policy, tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    assert pls.audit(tmp_path / "release", allow_test=True).holds


def test_every_row_is_in_one_part(release: Path) -> None:
    names = ["age", "sex", "ward"]
    shown = pl.read_parquet(release / "part-*" / "quasi.parquet").select(names).sort(names)
    assert shown.equals(people().select(names).sort(names).cast(dict(shown.schema)))


@pytest.mark.parametrize("method", ["anatomy", "bsgi", "randomized-addition"])
def test_order_of_rows_files_chunks_and_workers_change_no_byte(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, policy = people(), policy_of(method)
    published(table, policy, tmp_path / "one")
    monkeypatch.setattr("pluralis.engines.sizes.CHUNK", 97)
    monkeypatch.setattr("pluralis.engines.sizes.PIECE", 300)
    written_in_files(table, tmp_path / "files")
    published(tmp_path / "files", policy, tmp_path / "two", workers=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_persons_are_in_one_part_each(tmp_path: Path) -> None:
    table = people().with_columns(mark=pl.col("person"))
    settings = {"person": "person", "method": "anatomy", "others": "drop"}
    policy = pls.Policy(quasi=["age"], plain=["mark"], sensitive={"ill": 2}, **settings)
    published(table, policy, tmp_path / "release")
    parts = [set(pl.read_parquet(path)["mark"]) for path in sorted((tmp_path / "release").glob("part-*/quasi.parquet"))]
    assert len(parts) == 3
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]


def test_spellings_and_numbers_are_those_of_the_whole_table(tmp_path: Path) -> None:
    """One value in two spellings, and one number that is not whole: no part decides that for itself."""
    table = people().with_columns(
        ill=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("ill").str.to_uppercase()).otherwise("ill"),
        age=pl.col("age") + pl.when(pl.int_range(pl.len()) == 0).then(0.5).otherwise(0.0),
    )
    published(table, policy_of("anatomy"), tmp_path / "release")
    release = tmp_path / "release"
    values = pl.read_parquet(release / "part-*" / "sensitive.parquet")["ill"].unique()
    assert len({value.lower() for value in values}) == values.len() == 12
    assert {pl.read_parquet_schema(path)["age"] for path in release.glob("part-*/quasi.parquet")} == {pl.Float64()}


@pytest.mark.parametrize("method", ["anatomy", "decomposition", "mondrian", "randomized-addition"])
def test_decimals_are_decimals_also_where_a_part_has_none(method: str, tmp_path: Path) -> None:
    """All parts have the same types, so that they can be read as one table."""
    gaps = pl.when(pl.int_range(pl.len()) == 5).then(0.25)
    table = people().with_columns(weight=gaps, height=gaps)
    quasi, plain = {"age": {"type": "number"}, "weight": {"type": "number"}}, {"height": {"type": "number"}}
    policy = pls.Policy(quasi=quasi, plain=plain, sensitive={"ill": 2}, others="drop", method=method, suppress=0.2)
    made = published(table, policy, tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    files = "quasi" if method in ("anatomy", "decomposition") else "microdata"
    schemas = [pl.read_parquet_schema(path) for path in (tmp_path / "release").glob(f"part-*/{files}.parquet")]
    assert [schema["height"] for schema in schemas] == [pl.Float64()] * 3
    assert pl.read_parquet(tmp_path / "release" / "part-*" / f"{files}.parquet")["height"].drop_nulls().to_list() == [
        0.25
    ]
    assert pls.read_parts(tmp_path / "release").count("height < 1").value == 1


def test_a_value_at_exactly_one_in_l_still_publishes(tmp_path: Path) -> None:
    """Parts in which it is too common are joined, at worst all of them."""
    table = people().with_columns(ill=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("flu")).otherwise("ill"))
    policy = policy_of("anatomy", publish={"method": "anatomy"})
    made = published(table, policy, tmp_path / "release")
    assert made.verdict.holds
    assert made.manifest.suppressed == 0
    assert len(made.manifest.parts) < 3
    assert not list(tmp_path.glob(".*"))


def test_what_cannot_be_met_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    table = people().with_columns(ill=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("flu")).otherwise("ill"))
    with pytest.raises(Infeasible, match="'ill' cannot be 3-diverse"):
        published(table, policy_of("anatomy", publish={"method": "anatomy"}), tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", [{"gain": 3}, {"t": 0.2}])
def test_what_compares_groups_with_all_rows_is_refused(bound: dict[str, float], tmp_path: Path) -> None:
    policy = pls.Policy(quasi=["sex"], sensitive={"ill": bound}, others="drop", method="mondrian")
    with pytest.raises(PolicyError, match="of 'ill' compares groups with all rows"):
        published(people(), policy, tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_dies_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "TASK", "support.worker_tasks:end")
    with pytest.raises(OutputError, match="A worker ended while it"):
        published(people(), policy_of("anatomy"), tmp_path / "release", workers=1)
    assert list(tmp_path.iterdir()) == []
    people().write_parquet(tmp_path / "people.parquet")
    with pytest.raises(OutputError, match="A worker ended while it learned the values"):
        published(tmp_path / "people.parquet", policy_of("anatomy"), tmp_path / "release", workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_a_second_release_under_one_key_is_refused(release: Path, tmp_path: Path) -> None:
    key = pls.Key.read(release.with_name("release.private") / "key")
    assert len(key.made) == 1
    with pytest.raises(OutputError, match="under this key already"):
        published(people(), policy_of("anatomy"), tmp_path / "again", key=key)
    with pytest.raises(OutputError, match="exists already"):
        published(people(), policy_of("anatomy"), release)


def test_modes_are_those_of_any_release(release: Path) -> None:
    assert release.stat().st_mode & 0o777 == 0o755
    for path in release.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644), path
    private = release.with_name("release.private")
    assert {path.name: path.stat().st_mode & 0o777 for path in private.iterdir()} == dict.fromkeys(
        ("key", "parts.json", "policy.yaml", "audit.json", "utility.json", "report.html"), 0o600
    )


def test_the_report_tells_of_all_parts_and_attacks_of_one(tmp_path: Path) -> None:
    made = published(people(), policy_of("anatomy"), tmp_path / "release", attacks=True)
    assert made.attacked
    assert all(own.sampled for own in made.attacked if own.targets)
    page = (tmp_path / "release.private" / "report.html").read_text(encoding="utf-8")
    one = made.manifest.parts[0]
    assert f"1,200 rows in {made.loss.groups:,} groups, published in 3 parts." in page
    assert f"is about the people of part-00001, which has {one.rows + one.suppressed:,} of 1,200 rows" in page
    assert f"{made.loss.groups:,} groups</span>" in page  # of which all parts' weakest are drawn
    assert "Weakest: part-00001, group" in page
    assert all(info.sha256 in page for info in made.manifest.parts)
    assert "Rows that look alike are counted in each part" in page
    assert sum("not measured at publication" in sentence for sentence in made.manifest.breaks) <= 1  # files


def test_the_weakest_groups_are_those_of_all_parts() -> None:
    """Surest first, whichever part they are in; groups of all parts are counted."""

    def part(share: float, learned: tuple[int, ...] | None) -> tuple[Exposure, ...]:
        weakest = tuple(Weak(f"group {i}", 4, share, None) for i in (1, 2, 10))
        return (Exposure("ill", "", 0.5, (1, 2), learned, weakest),)

    (both,) = exposures_of_parts([("part-00001", part(0.25, (3, 0))), ("part-00002", part(0.5, None))])
    assert (both.alone, both.learned, both.limit) == ((2, 4), None, 0.5)
    names = ["part-00002, group 1", "part-00002, group 2", "part-00002, group 10", "part-00001, group 1"]
    assert [weak.name for weak in both.weakest[:4]] == names


def test_commands_take_a_release_in_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = caller(capsys, monkeypatch)
    table, policy, folder = (str(tmp_path / name) for name in ("people.parquet", "policy.yaml", "release"))
    people().write_parquet(table)
    Path(policy).write_text(policy_of("anatomy").to_yaml(), encoding="utf-8")
    asked = ("publish", table, "--policy", policy, "--out", folder, "--engine", "local", "--part-rows", "400")
    assert call(*asked).code == 2  # a secret key has parts of 10,000 rows or more
    made = call(*asked, "--test-key")
    assert (made.code, "Published 1,200 rows in 3 parts" in made.out) == (0, True)
    assert (tmp_path / "release.private" / "attack.json").is_file()
    assert "Every claim holds" in call("audit", folder, "--allow-test").out
    assert call("query", folder, "age < 30", "--json").json["value"] == (people()["age"] < 30).sum()
    assert call("measure", folder, "--original", table, "--json").json["rows"] == ROWS
    assert "Put together from all parts" in call("measure", folder, "--original", table).out
    beside = call("audit", folder, "--original", table, "--allow-test", "--json").json["findings"]
    assert any(one["claim"] == COUNTED for one in beside)
    report = tmp_path / "release.private" / "report.html"
    for attacks, sampled in ((("--attack", "homogeneity"), True), ((), False)):
        attacked = call("attack", folder, "--original", table, *attacks)
        assert (attacked.code, "People of all 3 parts were attacked" in attacked.out) == (0, True)
        assert ("is about the people of part-00001" in report.read_text(encoding="utf-8")) == sampled
    again = ("publish", table, "--policy", policy, "--out", folder, "--engine", "local")
    assert [call(*again).code, call(*again, "--replace").code] == [2, 2]
    assert call(*again[:-2], "--engine", "memory", "--part-rows", "5", "--replace").code == 2


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"part": 0}, "There are no parts of 0 rows"),
        ({"workers": -1}, "no -1 workers"),
        ({"part": 5_000, "key": None}, "could tell of single people"),
    ],
)
def test_parts_and_workers_that_cannot_be(options: dict[str, object], about: str, tmp_path: Path) -> None:
    with pytest.raises(pls.InputError, match=about):
        published(people(), policy_of("anatomy"), tmp_path / "release", **options)
    assert list(tmp_path.iterdir()) == []


def test_shards_hold_codes_and_no_dictionary(tmp_path: Path) -> None:
    """Of a table with many different texts, each shard would else have all of them."""
    table = people().with_columns(street=pl.Series([f"street {i} of a long name" for i in range(ROWS)]))
    policy = pls.Policy(quasi=["street"], sensitive={"ill": 3}, others="drop", method="anatomy")
    sizes = []

    def noted(self: local.LocalEngine, block: object, _task: object) -> object:
        sizes.append(sum(path.stat().st_size for path in self.folder.glob("rows-*.arrow")))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local.LocalEngine, "each", noted)
        with pytest.raises(KeyboardInterrupt):
            published(table, policy, tmp_path / "release")
    assert 0 < sizes[0] < 30_000


def test_large_tables_are_published_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people().write_parquet(tmp_path / "people.parquet")
    assert part_requirements.engine_for(tmp_path / "people.parquet") == "memory"
    monkeypatch.setattr(part_requirements, "LARGE", ROWS)
    assert part_requirements.engine_for(tmp_path / "people.parquet") == "local"
    assert part_requirements.engine_for(people()) == "memory"


def test_what_a_part_cannot_decide_alone_is_decided_once(tmp_path: Path) -> None:
    """How the sensitive table of a decomposed release is published would be each part's own choice."""
    rng = np.random.default_rng(4)
    table = people().with_columns(cost=pl.Series(rng.integers(0, 5_000, ROWS)))
    policy = pls.Policy(
        quasi={"age": {"type": "number"}}, others="drop", accept="set-size", method="decomposition", suppress=0.3,
        sensitive={"ill": 3, "cost": {"l": 2, "type": "number", "bin": 1000}},
    )  # fmt: skip
    made = published(table, policy, tmp_path / "release", part=300)
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 4)


def test_a_part_without_sensitive_values_is_joined(tmp_path: Path) -> None:
    table = people().with_columns(ill=pl.when(pl.col("age") < 45).then("ill"))
    policy = pls.Policy(
        quasi={"age": {"type": "number"}}, others="drop", method="anatomy",
        sensitive={"ill": {"l": 2, "if_missing": "drop"}},
    )  # fmt: skip
    made = published(table, policy, tmp_path / "release", part=40)
    assert made.verdict.holds
    assert made.manifest.suppressed >= table["ill"].null_count()


def test_numbers_that_would_be_rounded_are_refused(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for i, text in enumerate(("9007199254741107", "1.5")):
        people().with_columns(age=pl.lit(text)).write_parquet(tmp_path / "files" / f"{i}.parquet")
    with pytest.raises(pls.InputError, match="'age' holds whole numbers of more digits"):
        published(tmp_path / "files", policy_of("anatomy"), tmp_path / "release")


def test_a_part_that_fails_the_audit_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pls.AuditFailed, match="Publish without the test key"):
        published(people(), policy_of("anatomy"), tmp_path / "release", allow_test=False, workers=1)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pluralis.publishing.atomic_folders.StagedFolder.sync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        published(people(), policy_of("anatomy"), tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_a_killed_writer_left_are_removed_by_whoever_publishes_next(tmp_path: Path) -> None:
    left = tmp_path / ".another.spill.staging-0123456789abcdef"
    left.mkdir()
    people().write_ipc(left / "rows-000000.arrow")
    pls.publish(people(), policy_of("anatomy"), attacks=False).save(tmp_path / "release")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release", "release.private"]


def test_a_private_folder_alone_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "release.private").mkdir()
    with pytest.raises(OutputError, match="is there without its release"):
        published(people(), policy_of("anatomy"), tmp_path / "release")


def test_few_quasi_identifiers_make_few_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_requirements, "LEAST", 100)
    monkeypatch.setattr(part_requirements, "LEAST_DIFFERENT", 30)
    made = published(people(), policy_of("anatomy"), tmp_path / "release", part=100)
    assert len(made.manifest.parts) == 2
    assert "Only about 80 quasi-identifiers differ: 2 parts instead of 12." in made.notes


@pytest.mark.parametrize("where", ["level >= 'mid'", "level < 'bad'", "level = 'low'"])
def test_values_in_order_are_counted_in_their_order(where: str, tmp_path: Path) -> None:
    order = ["none", "low", "mid", "bad"]
    table = people().with_columns(level=pl.Series(np.random.default_rng(2).choice(order, ROWS)))
    quasi = {"level": {"order": order}, "age": {}}
    policy = pls.Policy(quasi=quasi, sensitive={"ill": 3}, others="drop", method="anatomy")
    published(table, policy, tmp_path / "release", part=400)
    truth = {"level >= 'mid'": ["mid", "bad"], "level < 'bad'": order[:3], "level = 'low'": ["low"]}[where]
    assert pls.read_parts(tmp_path / "release").count(where).value == table["level"].is_in(truth).sum()


def test_parts_that_hold_two_values_each_are_in_the_order_of_all(tmp_path: Path) -> None:
    """No part could say which of the other values are larger: what is said of all parts does."""
    order = [f"step {i:02}" for i in range(40)]
    table = people(120).with_columns(level=pl.Series([order[i // 3] for i in range(120)]))
    attributes = {"level": {"order": [*reversed(order), "never"]}}
    policy = pls.Policy(quasi=attributes, sensitive={"ill": 2}, others="drop", method="anatomy")
    made = published(table, policy, tmp_path / "release", part=15)
    assert made.manifest.orders == {"level": tuple(reversed(order))}  # and nothing of a value that no row holds
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    assert pls.read_parts(tmp_path / "release").count("level > 'step 30'").value == 90


# counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["anatomy", "bsgi", "randomized-addition"])
def test_counts_are_the_sums_of_the_parts(method: str, tmp_path: Path) -> None:
    published(people(), policy_of(method), tmp_path / "release")
    release = pls.read_parts(tmp_path / "release")
    for where in ("age < 30", "ill = 'd3'", "age >= 40 AND NOT ill = 'd1'", "ill IN ('d0', 'd7') OR sex = 'f'"):
        own = [pls.AnalystRelease(part.manifest, part.tables).count(where) for part in release.parts()]
        whole = release.count(where)
        assert whole.value == pytest.approx(sum(part.value for part in own))
        assert (whole.least, whole.most) == (sum(part.least for part in own), sum(part.most for part in own))
        assert whole.least <= whole.low <= whole.high <= whole.most
        assert whole.variance == pytest.approx(sum(part.variance for part in own))
    counts = release.table("COUNT BY ill, sex")
    assert counts.height == 24
    assert counts["value"].sum() == pytest.approx(release.manifest.rows, rel=0.1)


def test_values_that_some_part_lacks_are_counted(tmp_path: Path) -> None:
    table = people().with_columns(ward=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("z")).otherwise("ward"))
    published(table, policy_of("anatomy"), tmp_path / "release")
    release = pls.read_parts(tmp_path / "release")
    assert release.count("ward = 'z'").value == 1
    assert release.count("ward != 'z'").value == ROWS - 1
    assert release.table("COUNT BY ward")["value"].to_list()[-1] == 1
    with pytest.raises(pls.QueryError, match="'zz'"):
        release.count("ward = 'zz'")


def test_a_release_that_is_not_in_parts_is_read_as_one(release: Path) -> None:
    with pytest.raises(ReleaseError, match="not in parts"):
        pls.read_parts(release / "part-00001")
    with pytest.raises(ReleaseError, match="in parts"):
        pls.read_release(release)
    assert parts_of(release / "part-00001") is None
