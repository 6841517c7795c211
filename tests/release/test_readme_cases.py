"""The README of a release, word for word."""

from __future__ import annotations

import pytest

from pluralis.release.manifest import Manifest
from pluralis.release.readme import release_readme
from support.small_releases import EXACT, KINDS, LINKED, MEMBERSHIP, SmallRelease, in_csv


def readme(release: SmallRelease) -> str:
    return release_readme(Manifest.model_validate(release.manifest))


GENERALIZED = f"""\
# How to read these tables

4 rows, made by the method `bsgi` (hardened); 0 rows were suppressed. `manifest.json` describes every column.

- A quasi-identifier holds labels: `[25, 40]` is a number from 25 to 40, both included; `{{a, b}}` is one of \
these values;
  a node of a hierarchy stands for the leaves under it (manifest.json has the tree); `*` is any value of the domain;
  an empty cell is a missing value. Rows of one `group` share their labels.
- Sensitive and plain columns hold the values themselves.
- Group numbers are random and rows are sorted; neither tells anything.

## What is promised

- `P(disease | age, town, work) ≤ 1/2`
- `P(stay | age, town, work) ≤ 1/2`

## What is not stopped

- {MEMBERSHIP}
- {LINKED}
"""
CANDIDATES = f"""\
# How to read these tables

1,234 rows, made by the method `randomized-addition` (paper); 56 rows were suppressed. `manifest.json` describes every \
column.

- Quasi-identifiers and plain columns hold the values themselves; an empty cell is a missing value.
- A sensitive column holds a set of values: the true one, and others that were drawn. `manifest.json` says how, under
  `addition`. Do not count members of sets: `pluralis query` estimates how often each value occurs, with error bars.
- Rows are sorted; their order tells nothing.

- In the CSV files a text cell that starts with = + - \\@ ' tab or CR has a ' before it; remove it when you read them.

## What is promised

- `every row lists 2 values of disease | age, sex` (measured 2)
- `every row lists 2 values of stay | age, sex`

## What is not stopped

- {MEMBERSHIP}
- {EXACT}
- several sensitive attributes: \\<b\\>sets\\</b\\>

This release was made with the test key. It protects nobody.
"""
SHUFFLED = (
    "- Sensitive columns are shuffled within each group, each on its own: values that stand in one row need not belong "
    "to one person. Their counts within a group are exact.\n"
)


def test_a_generalized_release() -> None:
    assert readme(KINDS["generalized"]()) == GENERALIZED


def test_a_release_of_sets_in_csv_made_with_the_test_key() -> None:
    release = in_csv(KINDS["candidates"]())
    release.manifest.update(rows=1234, suppressed=56, variant="paper", test=True)
    release.manifest["breaks"][2] = "several sensitive attributes: <b>sets</b>"
    release.claims[0]["measured"] = 2.0
    assert readme(release) == CANDIDATES


def test_shuffled_columns_are_told() -> None:
    release = KINDS["generalized"]()
    release.say(linked=False)
    text = readme(release)
    assert SHUFFLED in text
    assert text.replace(SHUFFLED + "\n", "") == GENERALIZED


@pytest.mark.parametrize("kind", ["unlinked", "bucketized", "decomposed", "sliced", "multi"])
def test_groups_are_told_where_there_are_some(kind: str) -> None:
    text = readme(KINDS[kind]())
    assert "- Group numbers are random and rows are sorted; neither tells anything.\n" in text
    assert "Sensitive columns are shuffled" not in text
    assert "test key" not in text
    assert "CSV" not in text
    for claim in KINDS[kind]().claims:
        assert f"- `{claim['rule']}`\n" in text
