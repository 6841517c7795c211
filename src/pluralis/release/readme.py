"""The README of a release: how to read these tables. What comes from the manifest is text in it, never markup."""

from __future__ import annotations

from collections.abc import Iterator

from pluralis.display.escaping import code, markdown
from pluralis.release.form import told_by_plain_column, worst_and_others
from pluralis.release.kinds import kind_named
from pluralis.release.kinds.base import APART, EXACT, LABELS
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.table.labels import is_binned, number_text


def _recoded(manifest: Manifest) -> Iterator[str]:
    """What published values mean that stand for several."""
    columns = [column for info in manifest.tables for column in info.columns]
    described = [*columns, *manifest.parameters.domains.values()]
    labeled = {column.attribute or column.name for column in described if _holds_labels(column)}
    for name, own in manifest.parameters.recodings.items():
        for end, side, above in ((own.bottom, "less", "below"), (own.top, "more", "above")):
            if end is not None:
                number, other = number_text(end), "lower" if above == "below" else "upper"
                wider = f": a label that holds {number} holds every number {above} it, whatever its {other} end"
                yield f"In {code(name)} {code(number)} means {number} or {side}{wider if name in labeled else ''}."
        if own.rare is not None:
            into = code(own.rare.into) + (" or a wider one" if own.rare.along is not None else "")
            where = " of all parts" if own.rare.all_parts else ""
            yield f"In {code(name)} values that fewer than {own.rare.below:,} rows{where} held are published as {into}."


def release_readme(manifest: Manifest) -> str:
    """How to read the tables of a release, as Markdown."""
    kind = kind_named(manifest.kind)
    lines = [
        "# How to read these tables",
        "",
        f"{manifest.rows:,} rows, made by the method {code(manifest.method)} ({markdown(manifest.variant)}); "
        f"{manifest.suppressed:,} rows "
        "were suppressed. `manifest.json` describes every column.",
        "",
        _how_to_read(manifest) + kind.order,
    ]
    columns = [column for table in manifest.tables for column in table.columns]
    if any(_holds_decimals(column) for column in columns):
        lines.append("- `[0.5, 1)` is a number from 0.5 to below 1; `[0.5, 1]` may be 1, too.\n")
    if any(column.ordered and column.role == "quasi" and not column.exact for column in columns):
        lines.append(
            "- Columns that the manifest calls `ordered` hold intervals of the values of their `domain`, which stand "
            "in order: `a … c` is any value from `a` to `c`. Of bands, `[60, 80)` is all from 60 to below 80, `<40` "
            "and `>=65` are all below and all above.\n"
        )
    if kind.sensitive_in_rows and not manifest.parameters.linked:
        lines.append(
            "- Sensitive columns are shuffled within each group, each on its own: values that stand in one "
            "row need not belong "
            "to one person. Their counts within a group are exact.\n"
        )
    lines += [f"- {words}\n" for words in _recoded(manifest)]
    if manifest.parameters.csv_escape is not None:
        lines.append(f"- In the CSV files {markdown(manifest.parameters.csv_escape)}; remove it when you read them.\n")
    measured = (f" (measured {claim.measured:.4g})" if claim.measured is not None else "" for claim in manifest.claims)
    promised = (f"- {code(claim.rule)}{value}" for claim, value in zip(manifest.claims, measured, strict=True))
    worst, others = worst_and_others(manifest.breaks)
    given_away = told_by_plain_column(manifest.breaks)
    warned = [f"**No promise speaks of plain columns: {markdown(given_away)}.**", ""] if given_away else []
    lines += ["## What is promised", "", *warned, *promised, "", *([markdown(worst), ""] if worst else [])]
    lines += ["## What is not stopped", "", *(f"- {markdown(item)}" for item in others), ""]
    if manifest.test:
        lines += ["This release was made with the test key. It protects nobody.", ""]
    return "\n".join(lines)


def _how_to_read(manifest: Manifest) -> str:
    """The lines of its kind that are true of its tables: of columns and tables that are there."""
    text = kind_named(manifest.kind).how_to_read
    columns = [column for info in manifest.tables for column in info.columns]
    roles = {column.role for column in columns}
    if "plain" not in roles:
        text = text.replace("Quasi-identifiers and plain columns hold", "Quasi-identifiers hold")
        text = text.replace("Sensitive and plain columns hold", "Sensitive columns hold")
    if "sensitive" not in roles:
        text = text.replace("Sensitive and plain columns hold", "Plain columns hold")
        if "plain" not in roles:
            text = text.replace("- Sensitive columns hold the values themselves.\n", "")
    if not any(column.name == "attribute" and column.role == "attribute" for column in columns):
        text = text.replace(f"{APART}\n", "")
    if manifest.traits.has_subtables and not any(column.role == "quasi" and not column.exact for column in columns):
        text = text.replace(f"{LABELS}\n", "")
    if manifest.traits.has_slices and manifest.parameters.k is None:
        text = text.replace(LABELS, EXACT if "plain" in roles else EXACT.replace(" and plain columns", ""))
    if manifest.traits.has_slices and len(manifest.tables) == 2:
        text = text.replace("; `slice_2` and `group_2` likewise", "")
    if manifest.traits.lists_of_groups and not any("sensitive" in info.name for info in manifest.tables):
        line = "- `sensitive`, or the tables `sensitive_…`, say how often values occur in the whole table (`count`).\n"
        text = text.replace(line, "")
    return text


def _holds_labels(column: ColumnInfo) -> bool:
    """Whether a column holds wider values in the place of numbers: labels, or bins."""
    return (column.role == "quasi" and not column.exact) or is_binned(column.domain)


def _holds_decimals(column: ColumnInfo) -> bool:
    """Whether a column holds labels of numbers that are not whole."""
    labels = column.role == "quasi" and column.type == "number" and not column.exact
    return labels and any(isinstance(end, float) for end in column.domain or ())
