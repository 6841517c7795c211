"""Counting again and again in a release in parts: parts that fit stay in memory, others are read each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import pluralis as pls
from pluralis.estimate import parts as reading
from pluralis.release.parts import PartInfo
from pluralis.release.release import Release
from support.cli_runner import caller
from support.releases_in_parts import people, policy_of, published


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "release"
    published(people(), policy_of("anatomy"), folder)
    return folder


def test_parts_that_fit_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def noted(where: Path, info: PartInfo, *, limit: int | None = None) -> Release:
        seen.append(info.folder)
        return read(where, info, limit=limit)

    read = reading.read_part
    monkeypatch.setattr(reading, "read_part", noted)
    size = sum(int(table.estimated_size()) for table in pls.read_release(folder / "part-00001").tables.values())
    for keep, reads in ((0, 6), (size, 5), (reading.KEEP, 3)):
        seen.clear()
        release = pls.read_parts(folder, keep=keep)
        assert release.count("age < 40").value == (people()["age"] < 40).sum()
        assert release.count("age >= 40").value == (people()["age"] >= 40).sum()
        assert len(seen) == reads


def test_sql_is_not_asked_of_parts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = caller(capsys, monkeypatch)
    ran = call("query", str(folder), "SELECT sum(count) FROM expected", "--sql")
    assert (ran.code, "SQL is asked of one release" in ran.err) == (2, True)
    assert call("query", str(folder / "part-00001"), "SELECT sum(count) FROM expected", "--sql").code == 0
    with pytest.raises(pls.ReleaseError, match="read_parts count in all of them"):
        pls.read_release(folder)
