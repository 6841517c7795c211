"""`method: auto` of a release in parts: decided once, on a sample, and taken in every part."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import pluralis as pls
from pluralis.errors import Infeasible, PolicyError
from pluralis.release.reading import manifest_of
from support.releases_in_parts import ROWS, digests, people, policy_of, published, written_in_files


def policy(**more: object) -> pls.Policy:
    publish = {"method": "auto", "suppress": 0.2, "options": {"target": "ncp", "methods": ["mondrian", "bsgi"]}}
    return policy_of("auto", publish=publish, **more)


def test_one_method_is_taken_for_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = published(people(), policy(), tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts), made.manifest.method) == (True, 3, "bsgi")
    manifests = [manifest_of(tmp_path / "release" / info.folder) for info in made.manifest.parts]
    assert {one.method for one in manifests} == {"bsgi"}
    assert "target" not in manifests[0].parameters.options
    note = next(note for note in made.notes if note.startswith("method: auto."))
    assert note.endswith("It was tried on 353 rows, which a keyed hash drew.")
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    assert "method: auto" in (tmp_path / "release.private" / "policy.yaml").read_text(encoding="utf-8")
    published(written_in_files(people(), tmp_path / "files"), policy(), tmp_path / "again", workers=2)
    assert digests(tmp_path / "release") == digests(tmp_path / "again")


def test_values_that_all_rows_decide_are_those_of_the_sample(tmp_path: Path) -> None:
    """Counted again in the sample, every value would be rare, and no method could publish what is left."""
    table = people().with_columns(ill=pl.when(pl.int_range(ROWS) < 5).then(pl.lit("gout")).otherwise("ill"))
    attributes = {"age": {"role": "quasi", "type": "number", "bins": {"quantiles": 4}}, "sex": {"role": "quasi"},
                  "ill": {"role": "sensitive", "l": 3, "rare": {"below": 60}}}  # fmt: skip
    made = published(table, policy(attributes=attributes), tmp_path / "release")
    assert made.verdict.holds
    assert sum("rare values, in" in note for note in made.notes) == 1


def test_what_cannot_be_chosen_is_refused(tmp_path: Path) -> None:
    tree = {"role": "quasi", "hierarchy": {"mask": "right"}, "rare": {"below": 20}}
    with pytest.raises(PolicyError, match="what the hierarchy of 'ward' becomes"):
        published(
            people(), policy(attributes={"ward": tree, "ill": {"role": "sensitive", "l": 3}}), tmp_path / "release"
        )
    common = people().with_columns(ill=pl.when(pl.int_range(ROWS) % 2 == 0).then(pl.lit("flu")).otherwise("ill"))
    asked = policy().override(options={"suppress": 0.0})
    with pytest.raises(Infeasible, match="'ill' cannot be 3-diverse"):
        published(common, asked, tmp_path / "release")
    assert list(tmp_path.iterdir()) == []
