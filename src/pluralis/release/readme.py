"""The README of a release: how to read these tables. What comes from the manifest is text in it, never markup."""

from __future__ import annotations

from pluralis.escaping import code, markdown
from pluralis.release.manifest import Manifest

_LABELS = """\
- A quasi column holds labels: `[25, 40]` is a number from 25 to 40, both included; `{a, b}` is one of these values;
  a node of a hierarchy stands for the leaves under it (manifest.json has the tree); `*` is any value of the domain;
  an empty cell is a missing value."""
_EXACT = "- Quasi and plain columns hold the values themselves; an empty cell is a missing value."
_UNLINKED = """\
- A table with the columns `attribute` and `value` tells of each sensitive attribute on its own: which of its values
  occur in a group, and in how many rows (`count`). Which values belong to one person is not published."""
_HOW_TO_READ = {
    "generalized": f"""\
{_LABELS} Rows of one `group` share their labels.
- Sensitive and plain columns hold the values themselves.
""",
    "bucketized": f"""\
{_EXACT}
- `quasi` has a row for each person. `sensitive` says which sensitive values the rows of a `group` have, and how many
  rows have them (`count`). Which row has which value is not published: within a group every way to hand them out is
  equally likely.
{_UNLINKED}
""",
    "candidates": f"""\
{_EXACT}
- A sensitive column holds a set of values: the true one, and others that were drawn. `manifest.json` says how, under
  `addition`. Do not count members of sets: `pluralis query` estimates how often each value occurs, with error bars.
""",
    "decomposed": f"""\
{_EXACT}
- `quasi` has a row for each person. `values` lists, for every `group` and sensitive attribute, the values that its rows
  may have: all that occur, and some that do not. It does not say how often.
- `sensitive`, or the tables `sensitive_…`, say how often values occur in the whole table (`count`).
""",
    "multi": f"""\
- The tables `t1`, `t2`, … tell of the same people, each of some attributes; which row of one belongs to which of
  another is not published, beyond what the columns say that they share.
- A table without a `group` column holds the values themselves. `t1_quasi` has a row for each person; `t1_sensitive`
  says which values the rows of a `group` have, and how many rows have them (`count`), in any order.
{_LABELS}
""",
    "sliced": f"""\
{_LABELS}
- `quasi` has a row for each person, with a group in each slice. The table `slice_1` says which sensitive values the
  rows of each `group_1` have, and how many rows have them (`count`); `slice_2` and `group_2` likewise.
{_UNLINKED}
""",
}
_SORTED = "- Rows are sorted; their order tells nothing.\n"
_ORDER = "- Group numbers are random and rows are sorted; neither tells anything.\n"


def release_readme(manifest: Manifest) -> str:
    """How to read the tables of a release, as Markdown."""
    lines = [
        "# How to read these tables",
        "",
        f"{manifest.rows:,} rows, made by the method {code(manifest.method)} ({markdown(manifest.variant)}); "
        f"{manifest.suppressed:,} rows "
        "were left out. `manifest.json` describes every column.",
        "",
        _HOW_TO_READ[manifest.kind] + (_SORTED if manifest.kind == "candidates" else _ORDER),
    ]
    if manifest.kind == "generalized" and not manifest.parameters.get("linked", True):
        lines.append(
            "- Sensitive columns are shuffled within each group, each on its own: values that stand in one "
            "row need not belong "
            "to one person. Their counts within a group are exact.\n"
        )
    if "csv_escape" in manifest.parameters:
        lines.append(
            f"- In the CSV files {markdown(str(manifest.parameters['csv_escape']))}; remove it when you read them.\n"
        )
    measured = (f" (measured {claim.measured:.4g})" if claim.measured is not None else "" for claim in manifest.claims)
    promised = (f"- {markdown(claim.rule)}{found}" for claim, found in zip(manifest.claims, measured, strict=True))
    lines += ["## What is promised", "", *promised, ""]
    lines += ["## What is not stopped", "", *(f"- {markdown(item)}" for item in manifest.breaks), ""]
    if manifest.test:
        lines += ["This release was made with the test key. It protects nobody.", ""]
    return "\n".join(lines)
