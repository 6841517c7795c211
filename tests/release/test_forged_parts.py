"""Folders of releases in parts that were forged: whatever does not follow from the parts is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis import auditing
from pluralis.errors import InputError, ReleaseError
from pluralis.publishing.parts import publish_in_parts
from pluralis.release.parts import OfAll, PartsManifest, parts_readme
from pluralis.release.reading import parse_manifest, parts_of
from pluralis.release.readme import release_readme
from pluralis.table.parquet_files import write_parquet_bytes


def people(rows: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({"age": rng.integers(20, 60, rows), "ill": rng.choice([f"d{i}" for i in range(9)], rows)})


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases in parts, of which the first promises 1/3 and the second 1/2."""
    folder = tmp_path_factory.mktemp("genuine")
    for name, l in (("release", 3), ("weaker", 2)):
        policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": l}, method="anatomy")
        settings: dict[str, Any] = {"part": 200, "workers": 0, "attacks": False, "key": pls.Key.test()}
        publish_in_parts(people(), policy, folder / name, allow_test=True, **settings)
    return folder


@pytest.fixture
def forged(genuine: Path, tmp_path: Path) -> Path:
    shutil.copytree(genuine / "release", tmp_path / "release")
    return tmp_path / "release"


def seal(folder: Path, **changes: Any) -> None:
    """Write the manifest anew, with true hashes of the parts' manifests, and the README that follows from it."""
    plain = json.loads((folder / "manifest.json").read_text(encoding="utf-8")) | changes
    for part in plain["parts"]:
        own = folder / part["folder"] / "manifest.json"
        if own.is_file():
            part["sha256"] = hashlib.sha256(own.read_bytes()).hexdigest()
    manifest = PartsManifest.model_validate(plain)
    (folder / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    (folder / "README.md").write_text(parts_readme(manifest), encoding="utf-8")


def stated(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return plain


def extra_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("hiv: all of them")


def linked_part(folder: Path) -> None:
    shutil.move(folder / "part-00002", folder.parent / "elsewhere")
    (folder / "part-00002").symlink_to(folder.parent / "elsewhere")


def missing_part(folder: Path) -> None:
    shutil.rmtree(folder / "part-00003")


def part_that_is_not_listed(folder: Path) -> None:
    shutil.copytree(folder / "part-00003", folder / "part-00004")


def fewer_listed(folder: Path) -> None:
    plain = stated(folder)
    seal(folder, parts=plain["parts"][:-1], rows=sum(part["rows"] for part in plain["parts"][:-1]))


def gap_in_numbers(folder: Path) -> None:
    (folder / "part-00003").rename(folder / "part-00007")
    parts = stated(folder)["parts"]
    parts[2]["folder"] = "part-00007"
    seal(folder, parts=parts)


def other_rows(folder: Path) -> None:
    seal(folder, rows=6_000)


def other_rows_of_a_part(folder: Path) -> None:
    parts = stated(folder)["parts"]
    parts[0]["rows"] += 10
    parts[1]["rows"] -= 10
    seal(folder, parts=parts)


def stronger_claim(folder: Path) -> None:
    seal(folder, claims=["P(ill | age) ≤ 1/9"])


def a_claim_more(folder: Path) -> None:
    seal(folder, claims=[*stated(folder)["claims"], "nobody can be found"])


def no_breaks(folder: Path) -> None:
    seal(folder, breaks=[])


def another_sentence(folder: Path) -> None:
    seal(folder, breaks=[*stated(folder)["breaks"], "everything else is safe"])


def another_method(folder: Path) -> None:
    seal(folder, method="mondrian")


def no_test(folder: Path) -> None:
    seal(folder, test=False)


def other_hash(folder: Path) -> None:
    plain = stated(folder)
    plain["parts"][1]["sha256"] = "0" * 64
    (folder / "manifest.json").write_text(PartsManifest.model_validate(plain).to_json(), encoding="utf-8")


def readme_of_ones_own(folder: Path) -> None:
    (folder / "README.md").write_text("# Safe against any attack\n", encoding="utf-8")


def another_spelling(folder: Path) -> None:
    (folder / "manifest.json").write_text(json.dumps(stated(folder)), encoding="utf-8")


def part_within_a_part(folder: Path) -> None:
    inside = folder / "part-00001"
    shutil.copytree(folder, folder.parent / "copy")
    shutil.rmtree(inside)
    shutil.move(folder.parent / "copy", inside)
    seal(folder)


def weaker_part(folder: Path, genuine: Path) -> None:
    shutil.rmtree(folder / "part-00002")
    shutil.copytree(genuine / "weaker" / "part-00002", folder / "part-00002")
    seal(folder)


FORGERIES: tuple[Callable[[Path], None], ...] = (
    extra_file, linked_part, missing_part, part_that_is_not_listed, fewer_listed, gap_in_numbers, other_rows,
    other_rows_of_a_part, stronger_claim, a_claim_more, no_breaks, another_sentence, another_method, no_test,
    other_hash, readme_of_ones_own, another_spelling, part_within_a_part,
)  # fmt: skip


def test_the_genuine_one_is_read(genuine: Path, forged: Path) -> None:
    assert pls.audit(genuine / "release", allow_test=True).holds
    seal(forged)
    assert pls.audit(forged, allow_test=True).holds


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_what_does_not_follow_from_the_parts_is_refused(forge: Callable[[Path], None], forged: Path) -> None:
    forge(forged)
    with pytest.raises(ReleaseError):
        pls.audit(forged, allow_test=True)
    with pytest.raises(ReleaseError):
        pls.read_parts(forged)


def test_a_part_that_promises_less_is_refused(forged: Path, genuine: Path) -> None:
    weaker_part(forged, genuine)
    with pytest.raises(ReleaseError, match="part-00002: it is of another form, or promises something else"):
        pls.audit(forged, allow_test=True)


def test_cells_of_a_part_are_judged(forged: Path) -> None:
    """The hashes are right, and one group holds one value only: where a part does not hold, the whole does not."""
    place = forged / "part-00002"
    values = pl.read_parquet(place / "sensitive.parquet")
    first = values.filter(pl.col("group") == 1)
    merged = first.head(1).with_columns(count=pl.lit(first["count"].sum(), pl.Int64))
    table = pl.concat([merged.cast(dict(values.schema)), values.filter(pl.col("group") != 1)])
    data = write_parquet_bytes(table)
    (place / "sensitive.parquet").write_bytes(data)
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    info = next(one for one in manifest["tables"] if one["name"] == "sensitive")
    info |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "rows": table.height}
    (place / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seal(forged)
    verdict = pls.audit(forged, allow_test=True)
    assert not verdict.holds
    failed = next(finding for finding in verdict.failures if finding.claim == "P(ill | age) ≤ 1/3")
    assert (failed.measured, failed.witness) == (1.0, "part-00002, group 1")


def parts_by_hand(
    folder: Path, tables: list[pl.DataFrame], *policies: pls.Policy, orders: dict[str, list[str]] | None = None
) -> Path:
    """Releases that were published on their own, put together as the parts of one."""
    every = OfAll(orders or {})
    folder.mkdir()
    for i, table in enumerate(tables, start=1):
        place = folder.parent / f"{folder.name}-{i}"
        pls.publish(table, policies[(i - 1) % len(policies)], key=pls.Key.test(), attacks=False).save(
            place, allow_test=True
        )
        shutil.move(place, folder / f"part-{i:05}")
        data = (folder / f"part-{i:05}" / "manifest.json").read_bytes()
        list(every.add(parse_manifest(data), hashlib.sha256(data).hexdigest()))
    manifest = every.manifest()
    (folder / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    (folder / "README.md").write_text(parts_readme(manifest), encoding="utf-8")
    return folder


def of_values(*values: str, rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {"age": [20 + i % 10 for i in range(rows)], "ill": [values[i % len(values)] for i in range(rows)]}
    )


def anatomy(**ill: Any) -> pls.Policy:
    return pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": ill}, method=ill.pop("method", "anatomy"))


def test_what_compares_with_all_rows_is_not_kept_by_keeping_it_in_each_part(tmp_path: Path) -> None:
    """Every value is as common in a part as among its rows, and twice as common as among all."""
    for name, promise in (("gain", {"gain": 1.5, "method": "mondrian"}), ("t", {"t": 0.05, "method": "mondrian"})):
        policy = anatomy(**promise)
        folder = parts_by_hand(tmp_path / name, [of_values("flu", "cold"), of_values("hiv", "aids")], policy)
        with pytest.raises(ReleaseError, match="compares with all rows, and a part has not all"):
            pls.audit(folder, allow_test=True)


def test_two_spellings_in_two_parts_are_one_value(tmp_path: Path) -> None:
    tables = [of_values("flu", "cold"), of_values("FLU", "gout")]
    with pytest.raises(ReleaseError, match=r"ill: .* are one value, and stand in two parts"):
        pls.audit(parts_by_hand(tmp_path / "release", tables, anatomy(l=2)), allow_test=True)


def test_two_orders_in_two_parts_are_none(tmp_path: Path) -> None:
    tables = [of_values("low", "mid", "high")] * 2
    orders = (["low", "mid", "high"], ["high", "mid", "low"])
    policies = [anatomy(l=2, order=order) for order in orders]
    folder = parts_by_hand(tmp_path / "release", tables, *policies, orders={"ill": orders[0]})
    with pytest.raises(
        ReleaseError, match="ill: its values in part-00002 do not stand in the order that is said of all parts"
    ):
        pls.read_parts(folder)


@pytest.mark.parametrize(
    "order",
    [["low", "high", "mid"], ["low", "mid"], ["low", "mid", "high", "never"], ["low", "mid", "high", "low"], []],
)
def test_the_order_of_all_parts_is_that_of_their_values(order: list[str], tmp_path: Path) -> None:
    """Not another one, not of fewer values, not of values that no part holds."""
    listed = ["low", "mid", "high"]
    tables, policy = [of_values("low", "mid"), of_values("mid", "high")], anatomy(l=2, order=listed)
    folder = parts_by_hand(tmp_path / "release", tables, policy, orders={"ill": listed})
    assert pls.audit(folder, allow_test=True).holds
    assert pls.read_parts(folder).count("ill > 'low'").value == 60
    seal(folder, orders={"ill": order} if order else {})
    with pytest.raises(ReleaseError):
        pls.read_parts(folder)


def of_rare(folder: Path, below: int, *texts: str, all_parts: bool = True) -> Path:
    """Two parts of which each holds such a value twice, that fewer than `below` rows of all parts are said to hold."""
    tables = [of_values("flu", "cold").vstack(of_values(text, rows=2)) for text in texts]
    folder = parts_by_hand(folder, tables, anatomy(l=2))
    for place in folder.glob("part-*/manifest.json"):
        plain = json.loads(place.read_text(encoding="utf-8"))
        plain["parameters"]["recodings"] = {"ill": {"rare": {"below": below, "into": "other"}}}
        if all_parts:
            plain["parameters"]["recodings"]["ill"]["rare"]["all_parts"] = True
        manifest = parse_manifest(json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n")
        place.write_text(manifest.to_json(), encoding="utf-8")
        (place.parent / "README.md").write_text(release_readme(manifest), encoding="utf-8")
    seal(folder)
    return folder


def test_rare_values_are_joined_alike_in_all_parts(tmp_path: Path) -> None:
    """gout has 4 rows in all parts; where one of them has aches instead, both have 2."""
    assert pls.audit(of_rare(tmp_path / "alike", 4, "gout", "gout"), allow_test=True).holds
    with pytest.raises(ReleaseError, match="rare values of 'ill' are said to be joined, and it has one of fewer rows"):
        pls.audit(of_rare(tmp_path / "fewer", 5, "gout", "gout"), allow_test=True)
    with pytest.raises(ReleaseError, match="rare values of 'ill' are said to be joined"):
        pls.audit(of_rare(tmp_path / "others", 4, "gout", "aches"), allow_test=True)
    verdict = pls.audit(of_rare(tmp_path / "alone", 4, "gout", "gout", all_parts=False), allow_test=True)
    assert "rare values of 'ill' are said to be joined" in (verdict.failures[0].note or "")


@pytest.mark.parametrize(
    "recodings",
    [{}, {"ill": {"rare": {"below": 9, "into": "other", "all_parts": True}}},
     {"ill": {"rare": {"below": 4, "into": "others", "all_parts": True}}}],
)  # fmt: skip
def test_parts_that_were_recoded_in_other_ways_are_refused(recodings: Any, tmp_path: Path) -> None:
    folder = of_rare(tmp_path / "release", 4, "gout", "gout")
    place = folder / "part-00002" / "manifest.json"
    plain = json.loads(place.read_text(encoding="utf-8"))
    plain["parameters"]["recodings"] = recodings
    if not recodings:
        del plain["parameters"]["recodings"]
    place.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seal(folder)
    with pytest.raises(ReleaseError, match="part-00002: it is of another form, or promises something else"):
        pls.read_parts(folder)


def test_bins_begin_at_the_same_numbers_in_all_parts(tmp_path: Path) -> None:
    tables = [of_values("flu", "cold")] * 2
    policies = [
        pls.Policy(quasi={"age": {"type": "number", "breaks": breaks}}, sensitive={"ill": 2}, method="anatomy")
        for breaks in ([25], [24, 26])
    ]
    orders = {"age": ["<24", "<25", "[24, 26)", ">=25", ">=26"]}
    folder = parts_by_hand(tmp_path / "release", tables, *policies, orders=orders)
    with pytest.raises(ReleaseError, match="part-00002: it is of another form, or promises something else"):
        pls.read_parts(folder)


def test_a_value_is_generalized_to_the_same_in_all_parts(tmp_path: Path) -> None:
    """In the first part code a is of chapter 1, in the second one of chapter 2."""
    policy = pls.Policy(quasi={"code": {"hierarchy": {"columns": ["code", "chapter"]}}}, sensitive={"ill": 2},
                        others="drop", method="mondrian")  # fmt: skip
    tables = [
        pl.DataFrame({"code": ["a", "a", "b", "b"], "chapter": [one, one, two, two], "ill": ["flu", "cold"] * 2})
        for one, two in (("1", "2"), ("2", "1"))
    ]
    assert pls.audit(parts_by_hand(tmp_path / "alike", [tables[0]] * 2, policy), allow_test=True).holds
    folder = parts_by_hand(tmp_path / "other", tables, policy)
    with pytest.raises(ReleaseError, match="code: what is wider than 'a' is something else in part-00002"):
        pls.read_parts(folder)


def test_several_worst_guesses_are_none(forged: Path) -> None:
    for i in (1, 2):
        place = forged / f"part-0000{i}" / "manifest.json"
        manifest = parse_manifest(place.read_bytes())
        others = [sentence for sentence in manifest.breaks if not sentence.startswith("worst")]
        told = (*others, f"worst measured guess: ill, {i} % of people, prior 1 % (plain)")
        place.write_text(manifest.model_copy(update={"breaks": told}).to_json(), encoding="utf-8")
    plain = stated(forged)
    seal(forged, breaks=[sentence for sentence in plain["breaks"] if "worst" not in sentence])
    with pytest.raises(ReleaseError, match="several parts name each their own worst measured guess"):
        pls.read_parts(forged)


def test_claims_are_what_their_fields_say(forged: Path) -> None:
    for place in forged.glob("part-*/manifest.json"):
        manifest = parse_manifest(place.read_bytes())
        claims = [claim.model_copy(update={"rule": "Nobody can be found"}) for claim in manifest.claims]
        place.write_text(manifest.model_copy(update={"claims": tuple(claims)}).to_json(), encoding="utf-8")
    seal(forged, claims=["Nobody can be found"])
    with pytest.raises(ReleaseError, match="is not what its fields say"):
        pls.read_parts(forged)


def test_a_part_that_changes_after_it_was_listed_is_refused(forged: Path, genuine: Path) -> None:
    release = pls.read_parts(forged)
    weaker_part(forged, genuine)
    with pytest.raises(ReleaseError, match="part-00002 changed while it was read"):
        list(release.parts())


def test_a_folder_that_changes_meanwhile_is_refused(forged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = auditing._each_part

    def changing(*given: Any) -> Any:
        yield from once(*given)
        seal(forged, breaks=[])

    monkeypatch.setattr(auditing, "_each_part", changing)
    with pytest.raises(ReleaseError):
        pls.audit(forged, allow_test=True)


def test_the_original_is_compared_where_the_key_is(genuine: Path) -> None:
    """Which rows are in which part is asked of the private folder, not of the release."""
    assert pls.audit(genuine / "release", people(), allow_test=True).holds
    with pytest.raises(InputError, match="which part is not known here"):
        auditing.audit(genuine / "release", people(), allow_test=True)


def test_other_folders_are_not_in_parts(forged: Path, tmp_path: Path) -> None:
    assert parts_of(forged / "part-00001") is None
    with pytest.raises(ReleaseError, match=r"manifest\.json is missing"):
        parts_of(tmp_path)
