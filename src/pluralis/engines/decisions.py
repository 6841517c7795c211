"""What the values of all published rows decide of a large table, once, so that every part is read alike.

Rare texts are joined, quantiles become breaks, the order of values is known, and a value that is too common is seen.
Counts are those of `PublishedRows`, so that each decision is the one that is taken where a table is published whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl

from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.table.bins import break_labels, ordered_values, quantile_breaks_of, whole_breaks
from pluralis.table.encoding import Column
from pluralis.table.named_values import bounds_by_code
from pluralis.table.recoding import grows_with_table, joined, joining_note, joining_of, tree_of
from pluralis.table.text_trees import Lines


class Common(NamedTuple):
    """A value that so many rows hold, and the largest share that it may have of them."""

    text: str
    rows: int
    bound: Fraction


@dataclass(frozen=True)
class Decisions:
    """What was decided, column by column.

    Parameters
    ----------
    joined : dict
        Of columns whose rare texts were joined, the value that joins them.
    trees : dict
        The trees of these.
    breaks : dict
        Where bins begin.
    orders : dict
        The values of columns that have an order.
    commonest : dict
        Of each sensitive column of text, its commonest value, as common as l lets it be, and those that the policy
        bounds one by one.
    """

    joined: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Lines] = field(default_factory=dict)
    breaks: dict[str, list[float]] = field(default_factory=dict)
    orders: dict[str, list[str]] = field(default_factory=dict)
    commonest: dict[str, list[Common]] = field(default_factory=dict)

    def texts(
        self, written: pl.Series, rows: pl.Series, shown: pl.Series, policy: Policy, notes: list[str]
    ) -> pl.Series:
        """What different texts of a column are published as, all `rows` and published ones (`shown`) counted.

        How they are joined and ordered, and which of them are common, is known from then on.
        """
        name, attribute = written.name, policy.columns[written.name]
        if attribute.rare is not None:
            before = written
            joining = joining_of(before, dict(_by_text(before, shown).iter_rows()), attribute, policy.folder, None)
            if joining.becomes:
                gone = before.is_in(pl.Series([*joining.becomes], dtype=pl.String).implode())
                notes.append(joining_note(name, joining.becomes, int(rows.filter(gone).sum())))
                written = joined(before, joining.becomes).cast(pl.String)
            self.joined[name] = joining.into
            if grows_with_table(attribute) and not policy.levels_of(name):
                self.trees[name] = tree_of(
                    written.set(shown == 0, None), before, attribute, joining.into, policy.folder, None
                )
        if attribute.order is not None:
            texts = _by_text(written, shown)["text"].to_list()
            self.orders[name] = ordered_values(texts, attribute.order, name, fold_case=attribute.case == "fold")
        if attribute.role == "sensitive":
            self.commonest[name] = _common(name, _by_text(written, shown), attribute, policy)
        return written

    def bins(self, numbers: Mapping[str, pl.DataFrame], policy: Policy) -> None:
        """Where the bins of columns of numbers begin, of which the different ones are counted."""
        for name, attribute in policy.columns.items():
            breaks = attribute.breaks
            if attribute.bins is not None:
                counts = numbers[name].sort("value")
                breaks = quantile_breaks_of(counts["value"], counts["rows"], attribute.bins.quantiles)
                breaks = self.breaks[name] = whole_breaks(name, breaks)
            if breaks is not None:
                self.orders[name] = break_labels(breaks)


def _by_text(written: pl.Series, rows: pl.Series) -> pl.DataFrame:
    """Each `text` that some row holds, and how many `rows` do, in order of text."""
    counts = pl.DataFrame({"text": written.cast(pl.String), "rows": rows}).drop_nulls("text")
    return counts.group_by("text").agg(pl.col("rows").sum()).filter(pl.col("rows") > 0).sort("text")


def _common(name: str, counts: pl.DataFrame, attribute: Attribute, policy: Policy) -> list[Common]:
    """The commonest value of a column, and those with a bound of their own; PolicyError for one that no row holds."""
    common = [
        Common(text, rows, Fraction(1, policy.l(name)))
        for text, rows in counts.filter(pl.col("rows") == pl.col("rows").max()).head(1).rows()
    ]
    if attribute.at_most is None:
        return common
    texts, rows = counts["text"].to_list(), counts["rows"]
    bounds = bounds_by_code(Column(name, "sensitive", "text", np.zeros(0, np.int32), texts), attribute)
    return [*common, *(Common(texts[code], rows[code], share) for code, share in bounds.items())]
