"""Who can read what was published does not hang on the umask of whoever published it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluralis.attacks import attack
from pluralis.publishing.atomic_folders import staging
from pluralis.publishing.pipeline import publish
from pluralis.publishing.private_folder import keep_results
from support.sample_tables import KEY, PATIENTS, patients_policy


@pytest.fixture(params=[0o077, 0o027, 0o022, 0o000], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_folder_and_files_agree_whatever_the_umask(umask: int, tmp_path: Path, format: str) -> None:
    target, private = tmp_path / "release", tmp_path / "release.private"
    for replace in (False, True):
        publication = publish(PATIENTS, patients_policy(method="anatomy"), key=KEY, attacks=False)
        publication.save(target, replace=replace, format=format)  # type: ignore[arg-type]
        keep_results(target, attack(publication, PATIENTS, only=["homogeneity"]))
        public = modes(target)
        assert public.pop("release") == 0o755
        assert set(public.values()) == {0o644}
        assert {"manifest.json", "README.md", f"quasi.{format}", f"sensitive.{format}"} == set(public)
        hidden = modes(private)
        assert hidden.pop("release.private") == 0o700
        assert set(hidden.values()) == {0o600}
        assert {"key", "report.html", "audit.json", "attack.json"} <= set(hidden)


def test_what_is_staged_is_nobody_elses(umask: int, tmp_path: Path) -> None:
    with staging(tmp_path / "release") as (stage,):
        stage.write("a", b"a")
        stage.write("b", b"b", mode=0o600)
        assert stat.S_IMODE(stage.folder.stat().st_mode) == 0o700
        assert modes(stage.folder) | {stage.folder.name: 0} == {stage.folder.name: 0, "a": 0o644, "b": 0o600}
