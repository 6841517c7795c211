"""The README of a release: how to read these tables."""

from __future__ import annotations

from pluralis.release import Manifest

_HOW_TO_READ = """\
- A quasi column holds labels: `[25, 40]` is a number from 25 to 40, both included; `{a, b}` is one of these values;
  a node of a hierarchy stands for the leaves under it (manifest.json has the tree); `*` is any value of the domain;
  an empty cell is a missing value. Rows of one `group` share their labels.
- Sensitive and plain columns hold the values themselves.
- `group` numbers are random and rows are sorted; neither tells anything.
"""


def release_readme(manifest: Manifest) -> str:
    """How to read the tables of a release, as Markdown."""
    lines = [
        "# How to read these tables",
        "",
        f"{manifest.rows:,} rows, made by the method `{manifest.method}` ({manifest.variant}); "
        f"{manifest.suppressed:,} rows "
        "were left out. `manifest.json` describes every column.",
        "",
        _HOW_TO_READ,
    ]
    if not manifest.parameters.get("linked", True):
        lines.append(
            "- Sensitive columns are shuffled within each group, each on its own: values that stand in one "
            "row need not belong "
            "to one person. Their counts within a group are exact.\n"
        )
    if "csv_escape" in manifest.parameters:
        lines.append(f"- In the CSV files {manifest.parameters['csv_escape']}; remove it when you read them.\n")
    lines += ["## What is promised", "", *(f"- {claim.rule}" for claim in manifest.claims), ""]
    lines += ["## What is not stopped", "", *(f"- {item}" for item in manifest.breaks), ""]
    if manifest.test:
        lines += ["This release was made with the test key. It protects nobody.", ""]
    return "\n".join(lines)
