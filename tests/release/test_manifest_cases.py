"""Manifests: the sentence of each claim, names of files, the bounds of every number, and the bytes that are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest, claim_words, file_names
from pluralis.release.reading import parse_manifest
from support.small_releases import KINDS, SmallRelease


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ({"model": "frequency"}, "P(disease | age, sex) ≤ 1/3"),
        ({"model": "distinct"}, "distinct 3-diversity of disease | age, sex"),
        ({"model": "entropy"}, "entropy 3-diversity of disease | age, sex"),
        ({"model": "recursive", "c": 2.5}, "recursive (2.5,3)-diversity of disease | age, sex"),
        ({"model": "recursive", "c": 2.0}, "recursive (2,3)-diversity of disease | age, sex"),
        ({"model": "recursive"}, "recursive (0,3)-diversity of disease | age, sex"),
        ({"model": "unique-distinct"}, "unique distinct 3-diversity of disease | age, sex"),
        ({"model": "candidates"}, "3 or more values possible of disease | age, sex"),
        ({"model": "posterior"}, "P(disease | age, sex) ≤ 1/3 by the published weights"),
        (
            {"model": "posterior-shares", "bound": 0.25},
            "P(disease | age, sex) ≤ 0.25 by the true shares of values",
        ),
        ({"model": "posterior-shares"}, "P(disease | age, sex) ≤ 0 by the true shares of values"),
        ({"model": "set-size"}, "every row lists 3 values of disease | age, sex"),
        ({"model": "other"}, "other 3 of disease | age, sex"),
        ({"model": "frequency", "adversary": ()}, "P(disease) ≤ 1/3"),
    ],
)
def test_a_claim_is_a_sentence(claim: dict[str, Any], sentence: str) -> None:
    fields = {"rule": "", "adversary": ("sex", "age"), "attribute": "disease", "l": 3, **claim}
    assert claim_words(Claim(**fields), "generalized") == sentence


def test_a_claim_about_rows_is_a_sentence() -> None:
    claim = Claim(rule="", model="k-anonymity", adversary=("age",), k=5)
    assert claim_words(claim, "generalized") == "5-anonymity: every group has at least 5 rows"
    words = "5-anonymity: every combination of quasi-identifier labels has at least 5 rows"
    assert claim_words(claim, "sliced") == words


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["quasi", "sensitive"], ["quasi", "sensitive"]),
        (["Große Liste", "a--b"], ["gro_e_liste", "a_b"]),
        (["a b", "a_b", "a-b"], ["a_b", "a_b_2", "a_b_3"]),
        (["a b", "a_b", "a_b_2"], ["a_b", "a_b_3", "a_b_2"]),
        (["a_", "a-"], ["a_", "a_2"]),
        (["x y", "x_y", "x_y_2", "x-y"], ["x_y", "x_y_3", "x_y_2", "x_y_4"]),
    ],
)
def test_files_have_names_of_their_own(names: list[str], files: list[str]) -> None:
    assert file_names(names) == files


# numbers ----------------------------------------------------------------------------------------------------------


def read(change: Callable[[SmallRelease], Any], kind: str, folder: Path) -> str | None:
    """Why the manifest is refused before its tables are looked at; None if it is not."""
    release = KINDS[kind]()
    change(release)
    folder = release.write(folder)
    try:
        parse_manifest((folder / "manifest.json").read_bytes())
    except ReleaseError as error:
        return str(error)
    return None


MAX_ROWS = 2**32 - 2
PLACES: dict[str, Callable[[SmallRelease, Any], Any]] = {
    "rows": lambda r, n: r.manifest.update(rows=n),
    "suppressed": lambda r, n: r.manifest.update(suppressed=n),
    "tables.0.rows": lambda r, n: r.info("microdata").update(rows=n),
    "claims.0.k": lambda r, n: r.claims[0].update(k=n),
    "claims.0.l": lambda r, n: r.claims[0].update(l=n),
    "claims.0.measured": lambda r, n: r.claims[0].update(measured=n),
    "l.disease": lambda r, n: r.parameters["l"].update(disease=n),
    "k": lambda r, n: r.say(k=n),
    "weights.age": lambda r, n: r.say(weights={"age": n}),
    "addition.disease.effect": lambda r, n: r.parameters["addition"]["disease"].update(effect=n),
    "addition.disease.weights.0": lambda r, n: r.parameters["addition"]["disease"].update(weights=[n]),
}


@pytest.mark.parametrize(
    ("where", "number", "wrong"),
    [
        ("rows", 0, None),
        ("rows", -1, "greater than or equal to 0"),
        ("rows", MAX_ROWS, None),
        ("rows", MAX_ROWS + 1, f"less than or equal to {MAX_ROWS}"),
        ("suppressed", 0, None),
        ("suppressed", -1, "greater than or equal to 0"),
        ("tables.0.rows", MAX_ROWS + 1, f"less than or equal to {MAX_ROWS}"),
        ("claims.0.k", 2, None),
        ("claims.0.k", 1, "greater than or equal to 2"),
        ("claims.0.k", MAX_ROWS + 1, f"less than or equal to {MAX_ROWS}"),
        ("claims.0.l", 2, None),
        ("claims.0.l", 1, "greater than or equal to 2"),
        ("claims.0.l", 2**30, None),
        ("claims.0.l", 2**30 + 1, "less than or equal to 1073741824"),
        ("claims.0.measured", 0.5, None),
        ("l.disease", 0, "greater than or equal to 1"),
        ("l.disease", 2**30 + 1, "less than or equal to 1073741824"),
        ("k", 2, None),
        ("k", 1, "greater than or equal to 2"),
        ("k", MAX_ROWS + 1, f"less than or equal to {MAX_ROWS}"),
        ("weights.age", 0.5, None),
        ("weights.age", 0.0, "greater than 0"),
        ("weights.age", -1.0, "greater than 0"),
        ("addition.disease.effect", 1.0, None),
        ("addition.disease.effect", 0.5, "greater than or equal to 1"),
        ("addition.disease.weights.0", 1, None),
        ("addition.disease.weights.0", 0, "greater than or equal to 1"),
        ("addition.disease.weights.0", 2**63 - 1, None),
        ("addition.disease.weights.0", 2**63, "less than 9223372036854775808"),
    ],
)
def test_numbers_are_bounded(where: str, number: Any, wrong: str | None, tmp_path: Path) -> None:
    message = read(lambda release: PLACES[where](release, number), "candidates", tmp_path / "release")
    if wrong is None:
        assert message is None
    else:
        assert message is not None
        assert f"{where}: Input should be {wrong}." in message.replace("parameters.", "")


def test_what_was_measured_is_finite(tmp_path: Path) -> None:
    """`1e400` is a number in JSON, and more than one here."""
    path = KINDS["candidates"]().write(tmp_path / "release") / "manifest.json"
    text = path.read_text()
    line = '   "l": 2\n'
    assert line in text
    other = text.replace(line, '   "l": 2,\n   "measured": 1e400\n', 1)
    with pytest.raises(ReleaseError, match=r"claims\.0\.measured: Input should be a finite number"):
        parse_manifest(other.encode())


def test_weights_are_finite(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    release.say(weights={"age": 2.5})
    path = release.write(tmp_path / "release") / "manifest.json"
    other = path.read_text().replace('"age": 2.5', '"age": 1e400')
    with pytest.raises(ReleaseError, match=r"weights\.age: Input should be less than or equal to"):
        parse_manifest(other.encode())


@pytest.mark.parametrize(
    ("number", "fits"), [(2**63 - 1, True), (-(2**63), True), (2**63, False), (-(2**63) - 1, False)]
)
def test_whole_numbers_of_domains_have_64_bits(number: int, fits: bool, tmp_path: Path) -> None:
    def change(release: SmallRelease) -> None:
        release.column("microdata", "age")["domain"] = [number, number]

    assert (read(change, "candidates", tmp_path / "release") is None) == fits


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("bytes", 2**63 - 1, True),
        ("bytes", 2**63, False),
        ("bytes", 0, True),
        ("bytes", -1, False),
        ("sha256", "0" * 64, True),
        ("sha256", "0" * 63, False),
        ("sha256", "G" * 64, False),
        ("file", "a" * 247 + ".parquet", True),
        ("file", "a" * 248 + ".parquet", False),
        ("file", "../x.parquet", False),
        ("file", "x.txt", False),
    ],
)
def test_what_a_manifest_says_of_a_file(key: str, value: Any, fits: bool, tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    release.write(tmp_path / "release")
    release.info("microdata")[key] = value
    data = (json.dumps(release.manifest, indent=1, ensure_ascii=False) + "\n").encode()
    if fits:
        parse_manifest(data)
    else:
        with pytest.raises(ReleaseError, match=rf"^manifest\.json, tables\.0\.{key}: "):
            parse_manifest(data)


# as it is written -------------------------------------------------------------------------------------------------


def whole(kind: str = "bucketized") -> Manifest:
    return Manifest.model_validate(KINDS[kind]().manifest)


def test_what_a_manifest_is_if_nothing_is_said() -> None:
    fields = {**KINDS["bucketized"]().manifest, "breaks": ["größe"]}
    del fields["format"], fields["version"], fields["test"]
    manifest = Manifest.model_validate(fields)
    assert (manifest.format, manifest.version, manifest.test) == ("pluralis-release", 1, False)
    text = manifest.to_json()
    assert text.startswith('{\n "format": "pluralis-release",\n "version": 1,\n "method": "anatomy",\n')
    assert '\n "breaks": [\n  "größe"\n ],\n' in text
    assert text.endswith('\n ],\n "test": false\n}\n')


def test_what_is_null_is_not_written() -> None:
    assert "null" not in whole("sliced").to_json().replace('"b",\n      null', "")


def test_a_table_before_it_is_written() -> None:
    info = whole().tables[0]
    assert (info.rows, info.bytes, info.sha256) == (0, 0, "")


def test_columns_by_their_role() -> None:
    quasi, sensitive = whole().tables
    assert quasi.names("quasi") == ["age", "sex"]
    assert quasi.names("plain") == ["ward"]
    assert quasi.names("sensitive") == []
    assert [column.name for column in sensitive.named("sensitive")] == ["disease", "stay"]


def test_what_was_measured_stands_with_its_claim() -> None:
    manifest = whole()
    rule = "P(stay | age, sex) ≤ 1/2"
    certified = manifest.certified({rule: 0.25})
    assert [(claim.rule, claim.measured) for claim in certified.claims] == [
        ("P(disease | age, sex) ≤ 1/2", None),
        (rule, 0.25),
    ]
    assert certified.model_copy(update={"claims": manifest.claims}) == manifest


def test_a_manifest_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        whole().rows = 5  # type: ignore[misc]
