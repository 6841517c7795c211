"""The same people published again: what is not the same release is refused, or says what both tell together."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.errors import InputError, OutputError, PolicyError
from pluralis.estimate.analyst_release import read_release
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.publishing import saving
from pluralis.publishing.pipeline import publish
from pluralis.publishing.republishing import key_for
from pluralis.publishing.saving import Publication
from pluralis.randomness import KEY_BYTES, Key
from pluralis.release.release import Release
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

QUASI: dict[str, dict[str, Any]] = {"age": {"role": "quasi", "type": "number"}, "zip": {"role": "quasi"}}
ONE_MORE = pl.DataFrame({"age": [44], "zip": ["10007"], "disease": ["flu"], "job": ["cook"]})
KEEPS = {"randomized-addition"}


def people(rows: int) -> pl.DataFrame:
    drawn = random.Random(2)
    return pl.DataFrame(
        {
            "age": [drawn.randrange(18, 90) for _ in range(rows)],
            "zip": [str(10000 + drawn.randrange(400)) for _ in range(rows)],
            "disease": [drawn.choice(["flu", "gout", "hiv", "asthma", "ulcer", "cold"]) for _ in range(rows)],
            "job": [drawn.choice(["cook", "clerk", "nurse", "actor", "police"]) for _ in range(rows)],
        }
    )


MANY, FEW = people(3000), people(120)


def policy(method: str = "anatomy", l: int = 3, **more: Any) -> Policy:
    attributes = {**QUASI, "disease": {"role": "sensitive", "l": l}}
    if method == "sloms":
        attributes["job"] = {"role": "sensitive", "l": 2}
    if method in ("kaca", "sloms"):
        more["k"] = 2
    return policy_of(attributes, others="drop", method=method, suppress=0.2, **more)


def independent(method: str = "anatomy", l: int = 3) -> Policy:
    return policy(method, l, republish="independent")


def made(table: pl.DataFrame, rules: Policy, folder: Path) -> Publication:
    """As the command line does it: with the key that belongs to the folder."""
    return publish(table, rules, key=key_for(folder), attacks=False)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def successive(folder: Path) -> list[str]:
    """What a release says of earlier ones."""
    return [sentence for sentence in read_release(folder).manifest.breaks if sentence.startswith("successive: ")]


def certain(first: Release, second: Release, table: pl.DataFrame) -> float:
    """The share of people of whom two anatomy releases leave one value, with sets and loops."""
    possible: list[dict[tuple[Any, ...], set[str]]] = []
    for release in (first, second):
        values = defaultdict(set)
        for group, disease, _ in release.tables["sensitive"].select("group", "disease", "count").rows():
            values[group].add(disease)
        candidates: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for age, place, group in release.tables["quasi"].select("age", "zip", "group").rows():
            candidates[age, place] |= values[group]
        possible.append(candidates)
    one, two = possible
    return sum(len(one[who] & two[who]) == 1 for who in table.select("age", "zip").rows()) / table.height


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "release"


def test_one_row_more_is_refused_and_its_price_is_named(folder: Path) -> None:
    publish(MANY, policy(), key=KEY, attacks=False).save(folder)
    before, first = files(folder), read_release(folder)
    longer = pl.concat([MANY, ONE_MORE])
    with pytest.raises(OutputError, match="republish: independent") as refused:
        made(longer, policy(), folder).save(folder, replace=True)
    assert files(folder) == before
    share = certain(first, made(longer, policy(), folder), longer)
    assert round(share, 2) == 0.30  # docs/policy.md, LIMITATIONS.md
    assert "only one value of disease for 30 % of people, and fewer than 3 for 91 %" in str(refused.value)
    verdict = made(longer, independent(), folder).save(folder, replace=True)
    assert verdict.holds
    (sentence,) = successive(folder)
    assert sentence.endswith("only one value of disease for 30 % of people, and fewer than 3 for 91 %")
    assert sentence in (folder / "README.md").read_text()
    assert audit(folder, original=longer.drop("job")).holds


@pytest.mark.parametrize("method", sorted(methods()))
def test_only_methods_that_keep_what_rows_were_given_may_go_on(folder: Path, method: str) -> None:
    made(FEW, policy(method, 2), folder).save(folder)
    before = files(folder)
    other = "flu" if FEW["disease"][0] != "flu" else "hiv"
    corrected = pl.concat([FEW.head(1).with_columns(disease=pl.lit(other)), FEW.tail(119)])
    for table in (pl.concat([FEW, ONE_MORE]), FEW.head(119), corrected):
        again = made(table, policy(method, 2), folder)
        if method in KEEPS:
            if table.height < 121:  # rows are known by all that they hold: one that is gone may come back as another
                with pytest.raises(OutputError, match="some of its rows are no longer there"):
                    again.save(folder, replace=True)
                continue
            again.save(folder, replace=True)
            assert successive(folder) == []
            continue
        with pytest.raises(OutputError, match="the table, the policy or the method changed"):
            again.save(folder, replace=True)
        assert files(folder) == before
        assert made(table, independent(method, 2), folder).save(folder, replace=True).holds
        assert len(successive(folder)) == 1
        shutil.rmtree(folder)
        shutil.rmtree(f"{folder}.private")
        publish(FEW, policy(method, 2), key=key_for(folder), attacks=False).save(folder)
        before = files(folder)


@pytest.mark.parametrize("method", sorted(methods()))
def test_the_same_table_is_the_same_release_in_any_order_and_format(folder: Path, method: str) -> None:
    made(FEW, policy(method, 2), folder).save(folder)
    before = files(folder)
    shuffled = FEW.sample(fraction=1.0, shuffle=True, seed=1).select(reversed(FEW.columns))
    made(shuffled, policy(method, 2), folder).save(folder, replace=True)
    assert files(folder) == before
    made(shuffled, policy(method, 2), folder).save(folder, replace=True, format="csv")
    assert not list(folder.glob("*.parquet"))
    made(FEW, policy(method, 2), folder).save(folder, replace=True)
    assert files(folder) == before


@pytest.mark.parametrize(
    "other",
    [policy(l=2), policy("mondrian"), policy("randomized-addition", 2), policy("bsgi"), policy("decomposition")],
)
def test_the_same_people_by_another_policy_are_refused(folder: Path, other: Policy) -> None:
    made(FEW, policy(), folder).save(folder)
    with pytest.raises(OutputError, match="the table, the policy or the method changed"):
        made(FEW, other, folder).save(folder, replace=True)


def test_leaving_a_method_that_keeps_is_refused_and_so_is_coming_to_one(folder: Path) -> None:
    made(FEW, policy("randomized-addition", 2), folder).save(folder)
    with pytest.raises(OutputError, match="changed"):
        made(FEW, policy(l=2), folder).save(folder, replace=True)
    made(FEW, independent(l=2), folder).save(folder, replace=True)
    with pytest.raises(OutputError, match="changed"):  # the list of releases holds one that was dealt
        made(pl.concat([FEW, ONE_MORE]), policy("randomized-addition", 2), folder).save(folder, replace=True)


def test_of_few_people_the_release_says_so_in_words(folder: Path) -> None:
    made(FEW, policy(), folder).save(folder)
    longer = pl.concat([FEW, ONE_MORE])
    with pytest.raises(OutputError, match=r"for \d+ % of people"):  # its publisher is told the number
        made(longer, policy(), folder).save(folder, replace=True)
    made(longer, independent(), folder).save(folder, replace=True)
    (sentence,) = successive(folder)
    assert sentence.endswith("is left fewer values of disease than either leaves possible, of some people only one")
    assert not re.search(r"\d", sentence)


def test_independent_releases_are_the_same_bytes_each_time(folder: Path) -> None:
    made(MANY, policy(), folder).save(folder)
    longer = pl.concat([MANY, ONE_MORE])
    made(longer, independent(), folder).save(folder, replace=True)
    second = files(folder)
    made(longer.sample(fraction=1.0, shuffle=True, seed=4), independent(), folder).save(folder, replace=True)
    assert files(folder) == second
    made(longer, policy(), folder).save(folder, replace=True)  # it is there already, and says what it said
    assert files(folder) == second
    made(MANY, policy(), folder).save(folder, replace=True)  # whoever has it has it: nothing new
    assert len(successive(folder)) == 1


def test_a_first_release_that_may_be_independent_says_nothing(folder: Path) -> None:
    made(FEW, independent(), folder).save(folder)
    made(FEW, independent(), folder).save(folder, replace=True)
    assert successive(folder) == []


def test_more_rows_than_are_asked_about(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pluralis.publishing.republishing.TARGETS", 1500)
    longer = pl.concat([MANY, ONE_MORE])
    sentences = []
    for order in (longer, longer.reverse()):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(f"{folder}.private", ignore_errors=True)
        publish(MANY, policy(), key=KEY, attacks=False).save(folder)
        made(order, independent(), folder).save(folder, replace=True)
        sentences += successive(folder)
    assert sentences[0] == sentences[1]
    share = re.search(r"for (\d+) % of people", sentences[0])
    assert share is not None
    assert 25 < int(share[1]) < 35


# where the folder or its key is not there -----------------------------------------------------------------------


def test_without_the_private_folder_no_second_key_is_drawn(folder: Path) -> None:
    first = made(FEW, policy(), folder)
    first.save(folder)
    before = files(folder)
    private = folder.with_name("release.private")
    private.rename(folder.with_name("backup"))
    with pytest.raises(OutputError, match=r"Restore the private folder from a backup.*can be intersected"):
        key_for(folder)
    for key in (Key.new(), KEY):
        with pytest.raises(OutputError, match=r"release\.private, with its key, is gone"):
            publish(FEW, policy(), key=key, attacks=False).save(folder, replace=True)
    for rules in (policy(), independent()):  # independent releases are of one key
        with pytest.raises(OutputError, match="A new key would make a second release"):
            publish(FEW, rules, key=Key.new(), attacks=False).save(folder, replace=True)
    assert files(folder) == before
    assert not private.exists()
    folder.with_name("backup").rename(private)
    made(FEW, policy(), folder).save(folder, replace=True)
    assert files(folder) == before


@pytest.mark.parametrize("emptied", [True, False])
def test_a_private_folder_without_a_key_is_as_good_as_none(folder: Path, emptied: bool) -> None:
    made(FEW, policy(), folder).save(folder)
    private = folder.with_name("release.private")
    for file in list(private.iterdir()) if emptied else [private / "key"]:
        file.unlink()
    with pytest.raises(OutputError, match="is gone"):
        key_for(folder)
    with pytest.raises(OutputError, match="is gone" if emptied else "holds no key"):
        publish(FEW, policy(), key=Key.new(), attacks=False).save(folder, replace=True)


def test_whoever_has_the_key_and_the_table_gets_the_private_folder_back(folder: Path) -> None:
    first = made(FEW, policy(), folder)
    first.save(folder)
    before = files(folder)
    shutil.rmtree(folder.with_name("release.private"))
    publish(FEW, policy(), key=first.key, attacks=False).save(folder, replace=True)
    assert files(folder) == before
    assert key_for(folder) == first.key


@pytest.mark.parametrize("replace", [True, False])
def test_a_release_that_was_moved_away_is_remembered(folder: Path, replace: bool) -> None:
    made(FEW, policy(), folder).save(folder)
    before = files(folder)
    folder.rename(folder.with_name("sent to a friend"))
    with pytest.raises(OutputError, match=r"made before under this key.*was not measured"):
        made(pl.concat([FEW, ONE_MORE]), policy(), folder).save(folder, replace=replace)
    assert not folder.exists()
    made(FEW, policy(), folder).save(folder, replace=replace)
    assert files(folder) == before
    shutil.rmtree(folder)
    made(FEW.head(119), independent(), folder).save(folder, replace=replace)
    (sentence,) = successive(folder)
    assert "not measured" in sentence


def test_a_key_of_another_folder_brings_its_releases_along(tmp_path: Path) -> None:
    made(FEW, policy(), tmp_path / "one").save(tmp_path / "one")
    key = key_for(tmp_path / "one")
    publish(FEW, policy(), key=key, attacks=False).save(tmp_path / "two")
    with pytest.raises(OutputError, match="made before under this key"):
        publish(FEW.head(119), policy(), key=key, attacks=False).save(tmp_path / "three")


def _as_before(folder: Path) -> None:
    """The key file as it was written when it did not list releases."""
    file = folder.with_name("release.private") / "key"
    first = file.read_text().splitlines()[0]
    file.write_text(first + "\n")


def test_a_key_that_lists_no_releases(folder: Path) -> None:
    made(FEW, policy(), folder).save(folder)
    before, longer = files(folder), pl.concat([FEW, ONE_MORE])
    _as_before(folder)
    with pytest.raises(OutputError, match=r"for \d+ % of people"):
        made(longer, policy(), folder).save(folder, replace=True)
    made(FEW, policy(), folder).save(folder, replace=True)
    assert files(folder) == before
    _as_before(folder)
    folder.rename(folder.with_name("moved"))
    for table in (FEW, longer):  # nothing tells that it is the same
        with pytest.raises(OutputError, match="made before under this key"):
            made(table, policy(), folder).save(folder)
    folder.with_name("moved").rename(folder)
    made(FEW, policy(), folder).save(folder, replace=True)
    assert files(folder) == before


def test_a_damaged_release_is_replaced_by_the_same_one_only(folder: Path) -> None:
    made(FEW, policy(), folder).save(folder)
    before = files(folder)
    (folder / "quasi.parquet").write_bytes(b"damaged")
    with pytest.raises(OutputError, match="changed"):
        made(FEW.head(119), policy(), folder).save(folder, replace=True)
    made(FEW, policy(), folder).save(folder, replace=True)
    assert files(folder) == before
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="was not measured"):
        made(FEW.head(119), policy(), folder).save(folder, replace=True)
    made(FEW, policy(), folder).save(folder, replace=True)
    assert read_release(folder).tables["quasi"].height == FEW.height


def test_a_writer_killed_in_the_middle_of_an_exchange_has_not_lost_the_key(folder: Path) -> None:
    """Where a system cannot exchange two folders in one step, the private one has no name for a moment."""
    first = made(FEW, policy(), folder)
    first.save(folder)
    private = folder.with_name("release.private")
    private.rename(folder.with_name(".release.private.staging-0123456789abcdef.old"))
    assert key_for(folder) == first.key
    assert (private / "key").is_file()


def test_what_another_writer_did_meanwhile_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(FEW, policy(), folder).save(folder)
    ours, theirs = (made(table, independent(), folder) for table in (FEW.head(118), FEW.head(119)))
    real = saving.write_private
    turns = []

    def slow(to: Any, publication: Publication, *args: Any) -> None:
        turns.append(publication)
        real(to, publication, *args)
        if len(turns) == 1:
            theirs.save(folder, replace=True)

    monkeypatch.setattr(saving, "write_private", slow)
    with pytest.raises(OutputError, match="another writer"):
        ours.save(folder, replace=True)
    assert read_release(folder).manifest.rows == 119


# the key file and the policy --------------------------------------------------------------------------------------


def test_the_key_file_lists_releases_and_the_release_does_not(folder: Path) -> None:
    made(FEW, policy(), folder).save(folder)
    made(FEW.head(119), independent(), folder).save(folder, replace=True)
    key = Key.read(folder.with_name("release.private") / "key")
    assert [one.method for one in key.made] == ["anatomy", "anatomy"]
    assert len({one.tables for one in key.made}) == 2
    for content in files(folder).values():
        assert not any(one.tables.encode() in content for one in key.made)
        assert key.key_bytes.hex().encode() not in content


@pytest.mark.parametrize(
    "rest", ["[]\n[]", "{}\n{}", '{}\n[{"method": "x"}]', "{}\n[]\n[]", '{"a": 1}', "{}\n[3]", "{}\nx", "x"]
)
def test_a_key_file_that_pluralis_did_not_write(tmp_path: Path, rest: str) -> None:
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(hashlib.sha256(b"").hexdigest()[: 2 * KEY_BYTES] + "\n" + rest)
    with pytest.raises(InputError, match="holds no key"):
        Key.read(file)


@pytest.mark.parametrize("word", ["dependent", "true", "[independent]", "''"])
def test_republish_is_one_word(word: str) -> None:
    with pytest.raises(PolicyError, match="republish"):
        Policy.parse(patients_policy().to_yaml() + f"republish: {word}\n")


def test_republish_is_written_and_read_again() -> None:
    rules = patients_policy(republish="independent")
    assert Policy.parse(rules.to_yaml()).republish == "independent"
    assert "republish" not in patients_policy().to_yaml()
    assert publish(PATIENTS, rules, key=KEY).policy.republish == "independent"


def test_rows_that_may_have_been_corrected_are_refused_without_a_person(folder: Path) -> None:
    """Everybody is one year older, has other draws, and would be known from both releases."""
    table = FEW.with_columns(id=pl.int_range(pl.len()))
    attributes = {
        "id": {"role": "quasi", "type": "number"},
        "age": {"role": "quasi", "type": "number"},
        "disease": {"role": "sensitive", "l": 2},
    }
    asked = policy_of(attributes, others="drop", method="randomized-addition")
    older = table.with_columns(pl.col("age") + 1)
    made(table, asked, folder).save(folder)
    with pytest.raises(OutputError, match="The policy names no `person`"):
        made(older, asked, folder).save(folder, replace=True)
    known = policy_of(
        {**attributes, "id": {"role": "identifier"}}, person="id", others="drop", method=asked.publish.method
    )
    other = folder.with_name("known")
    made(table, known, other).save(other)
    made(older, known, other).save(other, replace=True)
    assert successive(other) == []


def test_rows_do_not_come_back_corrected_in_two_steps(folder: Path) -> None:
    """First they are suppressed, then they come as other rows: by the first release and the last they were known."""
    asked = policy("randomized-addition", 2)
    publish(FEW, asked, key=KEY, attacks=False).save(folder)  # under some keys, fewer rows no longer fit the design
    before = files(folder)
    with pytest.raises(OutputError, match="some of its rows are no longer there"):
        made(FEW.tail(118), asked, folder).save(folder, replace=True)
    corrected = pl.concat([FEW.head(2).with_columns(pl.col("age") + 100), FEW.tail(118)])
    with pytest.raises(OutputError, match="some of its rows are no longer there"):
        made(corrected, asked, folder).save(folder, replace=True)
    assert files(folder) == before
