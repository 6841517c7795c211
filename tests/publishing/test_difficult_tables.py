"""Tables that cannot be published as asked, and mistakes of today's tools, each with a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pluralis.auditing import audit
from pluralis.auditing.diversity_models import diversity
from pluralis.errors import Infeasible, InputError, PluralisError, PolicyError
from pluralis.method import methods
from pluralis.metrics import measure
from pluralis.metrics.distortion import label_distances
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import ColumnInfo
from pluralis.table.sources import read_table
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

AGE = {"role": "quasi", "type": "number"}


def secret(l: int = 2, **more: Any) -> dict[str, Any]:
    return {"role": "sensitive", "l": l, **more}


def table_of(diseases: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"age": range(len(diseases)), "disease": diseases})


@pytest.fixture(params=[name for name in methods() if name != "sloms"])  # one attribute: nothing to slice
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def refused(method: str, diseases: list[str], l: int, *messages: str) -> None:
    with pytest.raises(PluralisError) as caught:
        publish(table_of(diseases), policy_of({"age": AGE, "disease": secret(l)}, method=method), key=Key.test())
    for words in messages:
        assert words in str(caught.value)


def test_25_no_rows(method: str) -> None:
    with pytest.raises(InputError, match="no rows"):
        publish(table_of([]), policy_of({"age": AGE, "disease": secret()}, method=method), key=Key.test())


def test_26_one_row(method: str) -> None:
    refused(method, ["flu"], 2, "disease")


def test_27_a_constant_sensitive_column(method: str) -> None:
    refused(method, ["flu"] * 10, 2, "'flu'", "nothing to protect" if method == "decomposition" else "too skewed")


def test_28_l_above_the_distinct_values(method: str) -> None:
    refused(method, ["flu", "hiv"] * 10, 3, "largest l", "2")


def test_29_l_above_what_the_top_value_allows(method: str) -> None:
    refused(method, ["flu"] * 4 + ["hiv", "cold", "gout", "mumps"], 3, "'flu'", "4 of 8", "l: 2")


def test_b2_nine_flu_and_one_hiv(method: str) -> None:
    refused(method, ["flu"] * 9 + ["hiv"], 2, "too skewed")


def test_suppression_makes_room_and_is_counted(method: str) -> None:
    policy = policy_of({"age": AGE, "disease": secret()}, method=method, suppress=0.9)
    table = table_of(["flu"] * 9 + ["hiv", "hiv", "gout"])
    if method == "randomized-addition":  # flu is then half of all: in every set, and its count could not be estimated
        with pytest.raises(Infeasible, match="'flu' would stand in every set"):
            publish(table, policy, key=Key.test())
        return
    release = publish(table, policy, key=Key.test())
    assert release.manifest.rows + release.manifest.suppressed == 12
    assert release.manifest.suppressed >= 6
    assert audit(release, allow_test=True).holds
    assert any("suppressed rows" in item for item in release.manifest.breaks)


def test_32_duplicate_rows_are_fine(method: str) -> None:
    table = pl.concat([PATIENTS] * 3)
    release = publish(table, patients_policy(method=method), key=Key.test())
    assert audit(release, original=table, allow_test=True).holds


def test_33_one_person_twice_without_a_person_column() -> None:
    table = pl.concat([PATIENTS, PATIENTS.head(2)])
    release = publish(table, patients_policy(), key=Key.test())
    assert any("2 rows repeat an earlier identifier" in note and "person: name" in note for note in release.notes)


def test_33_a_column_of_few_values_names_nobody() -> None:
    table = pl.DataFrame({"age": range(400), "disease": ["flu", "hiv"] * 200, "income": ["high", "low"] * 200})
    attributes = {"age": AGE, "disease": secret(), "income": {"role": "identifier"}}
    release = publish(table, policy_of(attributes, method="mondrian"), key=Key.test(), attacks=False)
    assert not any("repeat an earlier identifier" in note for note in release.notes)


def test_33_amounts_that_are_mostly_nothing_name_nobody() -> None:
    gains = [0] * 300 + list(range(100))
    table = pl.DataFrame({"age": range(400), "disease": ["flu", "hiv"] * 200, "gains": gains})
    attributes = {"age": AGE, "disease": secret(), "gains": {"role": "identifier"}}
    release = publish(table, policy_of(attributes, method="mondrian"), key=Key.test(), attacks=False)
    assert not any("repeat an earlier identifier" in note for note in release.notes)


@pytest.mark.parametrize("method", ["anatomy", "bsgi", "decomposition", "kaca", "msb", "randomized-addition", "sloms"])
def test_no_quasi_column(method: str) -> None:
    table = pl.DataFrame({"disease": ["flu", "hiv"] * 4})
    message = f"{method} publishes rows by their quasi-identifiers.*Give a column role: quasi, at least one"
    with pytest.raises(Infeasible, match=message):
        publish(table, policy_of({"disease": secret()}, method=method), key=Key.test())


def test_bins_finer_than_digits_are_refused() -> None:
    table = pl.DataFrame({"age": range(4), "salary": [1.5, 2.5, 3.5, 24.0]})
    policy = policy_of({"age": AGE, "salary": secret(type="number", bin=1e-300)})
    with pytest.raises(PolicyError, match=r"attributes\.salary\.bin: 1e-300 is finer than the digits of 24"):
        publish(table, policy, key=Key.test())


def test_recursive_diversity_counts_from_the_most_frequent() -> None:
    """{10, 1, 1}, c = 5, l = 2: 10 < 5 (1 + 1) fails; with the counts the wrong way round it would hold."""
    rows = pl.DataFrame({"group": [1] * 12, "s": ["a"] * 10 + ["b", "c"]})
    assert diversity(rows, ["group"], "s", "recursive", 2, c=6.0).holds
    assert not diversity(rows, ["group"], "s", "recursive", 2, c=5.0).holds
    assert not diversity(rows, ["group"], "s", "recursive", 3, c=9.0).holds


def test_the_top_share_stands_beside_every_l() -> None:
    rows = pl.DataFrame({"group": [1] * 50, "s": ["a"] * 47 + ["b", "c", "d"]})
    finding = diversity(rows, ["group"], "s", "distinct", 4)
    assert finding.holds
    assert finding.top_share == 0.94


def test_missing_quasi_values_are_neither_lost_nor_ignored(method: str) -> None:
    table = pl.DataFrame(
        {"age": [None, 20, None, 30, 31, None], "sex": [None, "f", "m", None, "f", "m"], "s": list("abcabc")}
    )
    options = {"claim": "set-size"} if method == "randomized-addition" else {}  # two rows of each value: no 1/l
    policy = policy_of({"age": AGE, "sex": {"role": "quasi"}, "s": secret()}, method=method, options=options)
    release = publish(table, policy, key=Key.test())
    assert release.manifest.rows == 6
    assert audit(release, original=table, allow_test=True).holds


def test_a_quasi_column_without_any_value(method: str) -> None:
    table = pl.DataFrame({"age": pl.Series([None] * 6, dtype=pl.Int64), "sex": list("fmffmm"), "s": list("abcabc")})
    options = {"claim": "set-size"} if method == "randomized-addition" else {}
    policy = policy_of({"age": AGE, "sex": {"role": "quasi"}, "s": secret()}, method=method, options=options)
    release = publish(table, policy, key=Key.test())
    assert release.manifest.rows == 6
    assert audit(release, original=table, allow_test=True).holds


@pytest.mark.parametrize("kind", ["pandas", "shuffled index", "arrow", "polars"])
def test_results_do_not_depend_on_the_frame(kind: str) -> None:
    expected = publish(PATIENTS, patients_policy(), key=Key.test())
    frame: Any = PATIENTS
    if kind != "polars":
        frame = pd.DataFrame(PATIENTS.to_dict(as_series=False))
    if kind == "shuffled index":
        frame = frame.sample(frac=1, random_state=2).set_index(pd.Index([5, 5, 1, 0, 9, 9, 2]))
    if kind == "arrow":
        frame = pa.table(PATIENTS.to_dict(as_series=False))
    release = publish(frame, patients_policy(), key=Key.test())
    assert release.manifest == expected.manifest
    assert release.tables["microdata"].equals(expected.tables["microdata"])


def test_k_without_sensitive_attributes_is_for_partitions_only() -> None:
    policy = policy_of({"age": AGE, "name": {"role": "plain"}}, k=2, method="mondrian")
    table = pl.DataFrame({"age": [1, 2, 3, 4, 5], "name": list("abcde")})
    release = publish(table, policy, key=Key.test())
    assert audit(release, allow_test=True).holds
    with pytest.raises(Infeasible, match="role: sensitive"):
        publish(table, policy.override(method="bsgi"), key=Key.test())


def test_bsgi_honours_k_beyond_l() -> None:
    policy = policy_of({"age": AGE, "disease": secret(2)}, k=4)
    release = publish(table_of(list("abcdefgh") * 3), policy, key=Key.test())
    assert audit(release, allow_test=True).holds
    with pytest.raises(Infeasible, match="k: 4 asks for groups of 4"):
        publish(table_of(list("abc") * 4), policy, key=Key.test())


def test_sensitive_numbers_in_bins() -> None:
    table = pl.DataFrame({"age": range(8), "charges": [100, 900, 1500, 2500, 3500, 12000, 600, 1999]})
    policy = policy_of({"age": AGE, "charges": secret(2, type="number", bin=1000)})
    release = publish(table, policy, key=Key.test())
    assert release.tables["microdata"]["charges"].unique().sort().to_list()[:2] == ["[0, 999]", "[1000, 1999]"]
    assert release.info("microdata").named("sensitive")[0].domain[-1] == "[12000, 12999]"  # type: ignore[index]
    assert audit(release, original=table, allow_test=True).holds


def test_missing_secrets() -> None:
    table = pl.DataFrame({"age": range(5), "disease": ["flu", None, "hiv", "flu", "hiv"]})
    with pytest.raises(InputError, match=r"missing, 1 times \(first: row 2\)"):
        publish(table, policy_of({"age": AGE, "disease": secret()}), key=Key.test())
    dropped = publish(table, policy_of({"age": AGE, "disease": secret(if_missing="drop")}), key=Key.test())
    assert (dropped.manifest.rows, dropped.manifest.suppressed) == (4, 1)
    named = publish(table, policy_of({"age": AGE, "disease": secret(if_missing={"as": "unknown"})}), key=Key.test())
    assert "unknown" in named.tables["microdata"]["disease"].to_list()


def test_what_stands_for_missing_is_no_second_spelling() -> None:
    """`unknown` for a missing value and `Unknown` in the table are one value: a group of both is homogeneous."""
    table = pl.DataFrame({"age": range(4), "disease": ["Unknown", None, "Unknown", None]})
    with pytest.raises(Infeasible, match="too skewed"):
        publish(table, policy_of({"age": AGE, "disease": secret(if_missing={"as": "unknown"})}), key=Key.test())


@pytest.mark.parametrize("mark", "\u200b\u200e\u202a\ufe0f\u034f\u180e\u3164\u2800\x01\x7f\u00ad")
def test_invisible_characters_make_no_diversity(mark: str) -> None:
    with pytest.raises(Infeasible, match="too skewed"):
        publish(table_of(["flu", "flu" + mark] * 3), policy_of({"age": AGE, "disease": secret()}), key=Key.test())


def test_the_audit_counts_spellings_as_one() -> None:
    release = publish(table_of(["flu", "hiv"] * 3), policy_of({"age": AGE, "disease": secret()}), key=Key.test())
    rows = release.tables["microdata"].with_columns(pl.col("disease").replace("hiv", "Flu\u200b"))
    verdict = audit(type(release)(**{**vars(release), "tables": {"microdata": rows}}), allow_test=True)
    (failure,) = verdict.failures
    assert "'Flu\\u200b' and 'flu' are one value" in (failure.note or "")


def test_decimal_bins_hold_their_numbers() -> None:
    table = pl.DataFrame({"age": range(6), "fee": [0.7, 2.3, 1.1, 0.3, 0.65, 1.15]})
    policy = policy_of({"age": AGE, "fee": secret(type="number", bin=0.1)})
    release = publish(table, policy, key=Key.test())
    assert "[0.7, 0.8)" in release.tables["microdata"]["fee"].to_list()
    assert audit(release, original=table, allow_test=True).holds


def test_a_left_out_value_does_not_show_in_labels() -> None:
    """`c` is suppressed; what is left of the domain is published as all of it."""
    table = pl.DataFrame({"sex": list("abab") + ["c"] * 1, "disease": ["flu", "hiv", "hiv", "flu", None]})
    policy = policy_of({"sex": {"role": "quasi"}, "disease": secret(if_missing="drop")})
    labels = publish(table, policy, key=Key.test()).tables["microdata"]["sex"].unique().to_list()
    assert not any("{" in label for label in labels)


@pytest.mark.parametrize("age", [3, 47])
def test_a_left_out_extreme_does_not_show_in_levels(age: int) -> None:
    """Somebody younger or older is suppressed: the others are published as if nobody else had been there."""
    table = pl.DataFrame({"age": range(20, 40), "disease": ["flu", "hiv"] * 10})
    alone = pl.DataFrame({"age": [age], "disease": ["gout"]})
    policy = policy_of({"age": AGE, "disease": secret()}, method="incognito", suppress=0.1)
    release = publish(pl.concat([table, alone]), policy, key=Key.test())
    assert release.manifest.suppressed == 1
    assert release.tables["microdata"]["age"].unique().sort().to_list()[:2] == ["[20, 21]", "[22, 23]"]
    assert release.tables["microdata"].equals(publish(table, policy, key=Key.test()).tables["microdata"])


def test_case_kept_is_measured_as_it_is() -> None:
    table = pl.DataFrame({"q": list("AaBb"), "disease": list("xyxy")})
    policy = policy_of({"q": {"role": "quasi", "case": "keep"}, "disease": secret()})
    release = publish(table, policy, key=Key.test())
    assert measure(release, table).ncp <= 1.0
    assert audit(release, original=table, allow_test=True).holds


def test_several_rows_of_a_person_are_a_known_break() -> None:
    table = pl.DataFrame({"who": list("aabbccdd"), "age": range(8), "disease": list("xyxyxyxy")})
    release = publish(table, policy_of({"age": AGE, "disease": secret()}, person="who"), key=Key.test())
    assert any(item.startswith("several rows of one person") for item in release.manifest.breaks)


def test_two_left_over_rows_of_one_person_are_no_reason_to_refuse() -> None:
    """Groups of two can be made of these people whatever the draw, though often not from what is left at the end."""
    table = pl.DataFrame({"who": list("aabbccdd"), "age": range(8), "disease": list("xyxyxyxy")})
    policy = policy_of({"age": AGE, "disease": secret()}, person="who")
    for i in range(60):
        release = publish(table, policy, key=Key(bytes([i] * 32)))
        assert release.manifest.suppressed == 0
        assert audit(release, allow_test=True).holds


@pytest.mark.parametrize("name", ["*", "^.*$", "^age$", "\0row", "a\0b"])
def test_a_name_that_is_a_pattern_is_refused(name: str, tmp_path: Path) -> None:
    """Polars takes such a name for other columns, too."""
    frame = PATIENTS.rename({"gender": name})
    with pytest.raises(InputError, match=r"pattern of names\. Rename it"):
        read_table(frame)
    frame.write_parquet(tmp_path / "people.parquet")
    with pytest.raises(InputError, match="Rename it"):
        read_table(tmp_path / "people.parquet")
    if "\0" not in name:
        (tmp_path / "people.csv").write_text(f"{name},disease\na,flu\n")
        with pytest.raises(InputError, match="Rename it"):
            read_table(tmp_path / "people.csv")


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition"])
def test_texts_that_look_like_intervals_are_texts(method: str) -> None:
    """Of values that begin with a bracket, none need be an interval; attacks take them for text."""
    frame = PATIENTS.with_columns(("[" + pl.col("disease")).alias("disease"))
    release = publish(frame, patients_policy(method=method), key=KEY, attacks=True)
    assert audit(release, original=frame).holds
    assert "skewness" in {result.attack for result in release.attacked or ()}


def test_a_ragged_hierarchy_is_measured() -> None:
    """Leaves at different depths: the first line of the tree need not be its longest."""
    lines = (("a", "*"), ("b1", "b", "letters", "*"), ("b2", "b", "letters", "*"))
    column = ColumnInfo(name="x", role="quasi", type="text", domain=("a", "b1", "b2"), hierarchy=lines)
    labels = pl.Series(["a", "b1", "b", "letters", "*", None])
    distances = label_distances(labels, column, labels)
    assert distances[:2] == [0.0, 0.0]
    assert distances[-2:] == [1.0, 0.0]
    assert 0 < distances[2] < distances[3] < 1


@pytest.mark.parametrize("name", ["count", "n", "share", "rows", "value", "attribute", 'a"b', "a\nb"])
@pytest.mark.parametrize("role", ["quasi", "plain", "sensitive"])
@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition"])
def test_a_column_may_be_called_anything_else(method: str, role: str, name: str) -> None:
    """Or it is refused by name, where a table of this kind has such a column of its own."""
    old = {"quasi": "age", "plain": "gender", "sensitive": "disease"}[role]
    frame = PATIENTS.rename({old: name})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "gender": {"role": "plain"}}
    attributes |= {"postcode": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    attributes[name] = attributes.pop(old)
    policy = policy_of(attributes, others="drop", method=method)
    if name == "a\nb":
        with pytest.raises(PolicyError, match=r"cannot be seen.*Rename the column"):
            publish(frame, policy, key=KEY)
        return
    if (method, role, name) in {("anatomy", "sensitive", "count"), ("decomposition", "sensitive", "count")}:
        with pytest.raises(PolicyError, match=r"of its own\. Rename"):
            publish(frame, policy, key=KEY)
        return
    release = publish(frame, policy, key=KEY, attacks=True)
    assert audit(release, original=frame).holds
    assert release.loss.rows == 7
    quoted = '"' + name.replace('"', '""') + '"'
    assert release.count(f"{quoted} IS NOT NULL").value == 7


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition"])
def test_texts_that_are_intervals_are_published_as_texts(method: str) -> None:
    """Bands that a table already has are no numbers in bins: the original holds them as they are."""
    bands = {name: f"[{10 * i}, {10 * i + 9}]" for i, name in enumerate(PATIENTS["disease"].unique().sort())}
    frame = PATIENTS.with_columns(pl.col("disease").replace_strict(bands))
    release = publish(frame, patients_policy(method=method), key=KEY, attacks=True)
    assert audit(release, original=frame).holds
    assert release.loss.rows == 7
