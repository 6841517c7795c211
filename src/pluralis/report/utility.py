"""The section of the report that says what was lost: key figures, group sizes, distributions before and after."""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.metrics.distributions import SHOWN, SHOWN_IN_ORDER, Distribution
from pluralis.metrics.loss import Loss
from pluralis.release.manifest import Manifest
from pluralis.report import charts
from pluralis.report.charts import Html, joined, named, share, tag
from pluralis.report.markup import count, defined, figure, more, subtables

FIRST = 6  # attributes that are drawn before and after, those that changed most; the others behind a line
MOST = 10  # quasi-identifiers whose loss is drawn at first
GROUPS_OVER_TABLES = (
    "Of all tables that protect something. Rows of one share its protected values. More keep more detail."
)
BEFORE_AND_AFTER = (
    "How often each value occurs. The outline is the original. The filled bar is what an analyst sees who {how}. "
    "The distance is the share of rows that would have to change their "
    "value to get from one to the other (total variation)."
)


def utility_section(manifest: Manifest, loss: Loss) -> list[Html]:
    """Key figures, group sizes, and each attribute before and after."""
    tiles = ((name, [tag("dd", value), tag("dd", means)]) for name, (value, means) in _figures(manifest, loss).items())
    by_loss = sorted(loss.ncp_by_attribute.items(), key=lambda item: (-item[1], item[0]))
    pictures = [figure(tag("b", "Group sizes"), charts.group_sizes(loss.group_sizes))] if loss.group_sizes else []
    if any(part for _, part in by_loss):
        bars = charts.bars(by_loss[:MOST], "detail lost (NCP)")
        whose = f"the {MOST} quasi-identifiers that lost most" if len(by_loss) > MOST else "each quasi-identifier"
        pictures.append(figure(tag("b", f"Loss of {whose}"), bars))
    parts = [defined("tiles", tiles), *([tag("div", *pictures, class_="figures two")] if pictures else [])]
    if loss.distributions:
        numbers = {c.attribute or c.name for table in manifest.tables for c in table.columns if c.type == "number"}
        changed = sorted(loss.distributions, key=lambda one: -one.distance)
        ordered = {c.attribute or c.name for table in manifest.tables for c in table.columns if c.ordered}
        drawn = [
            _comparison(d, d.attribute in numbers, SHOWN_IN_ORDER if d.attribute in ordered else SHOWN) for d in changed
        ]
        parts += [
            tag("h3", "Before and after"),
            tag("p", _before_and_after(manifest)),
            tag("div", *drawn[:FIRST], class_="figures"),
        ]
        if rest := drawn[FIRST:]:
            parts.append(
                more(f"{count(len(rest), 'more attribute')}, which changed less", _drawn(rest, by_loss[MOST:]))
            )
    return parts


def _drawn(figures: Sequence[Html], losses: Sequence[tuple[str, float]]) -> Html:
    """The figures that are not shown at first, and the losses that were not drawn."""
    lost_less = [figure(tag("b", "Loss of the others"), charts.bars(losses, "detail lost (NCP)"))] if losses else []
    return tag("div", *figures, *lost_less, class_="figures")


def _before_and_after(manifest: Manifest) -> str:
    sets = "estimates it from the sets" if manifest.traits.lists_values else ""
    return BEFORE_AND_AFTER.format(how=sets or "spreads every published label evenly over its values")


def _figures(manifest: Manifest, loss: Loss) -> dict[str, tuple[str, str]]:
    """The key figures: value and meaning."""
    total = loss.rows + loss.suppressed
    alike = f"Each row counts the rows it cannot be told from: {loss.discernibility / max(1, total):,.1f} on average."
    figures = {
        "NCP": (
            share(loss.ncp),
            "Detail that quasi-identifiers gave up, on average: from 0\xa0% for none to 100\xa0% for all.",
        ),
        "NCP with suppressed rows": (
            share(loss.ncp_with_suppressed),
            "The same; a suppressed row has lost everything.",
        ),
        "Rows suppressed": (share(loss.suppressed_share), f"{loss.suppressed:,} of {count(total, 'row')}."),
        "Groups": (f"{loss.groups:,}", "Rows of one group carry the same labels. More groups keep more detail."),
        "Average group size": (f"{loss.average_group:,.2f}", "Rows in a group, on average. Fewer keep more detail."),
        "Discernibility": (f"{loss.discernibility:,}", f"{alike} A suppressed row counts them all. Less is better."),
    }
    if manifest.traits.shows_quasi:
        del figures["NCP"], figures["NCP with suppressed rows"]
        figures["Groups"] = (f"{loss.groups:,}", "Rows of one group share its sensitive values. More keep more detail.")
    if manifest.traits.has_subtables:
        figures["Groups"] = (f"{loss.groups:,}", GROUPS_OVER_TABLES)
        published = [column for columns in subtables(manifest).values() for column in columns]
        labels = any(column.role == "quasi" and not column.exact for column in published)
        unknown = ["Discernibility", *([] if loss.groups else ["Groups", "Average group size"])]
        for name in [*unknown, *([] if labels else ["NCP", "NCP with suppressed rows"])]:
            del figures[name]
    if manifest.traits.lists_values:
        figures["Groups"] = (f"{loss.groups:,}", "Different combinations of quasi-identifiers.")
    if loss.distortion is not None:
        figures["Distortion"] = (f"{loss.distortion:,.1f}", "How far labels lie above values in their trees, in all.")
    if loss.kl is not None:
        about = "Distance of what an analyst would believe from the truth, in nats; 0 where nothing was lost."
        figures["KL divergence"] = (f"{loss.kl:.3f}", about)
    if loss.additional_loss is not None:
        figures["Additional loss"] = (share(loss.additional_loss), "By how much groups are larger than l, on average.")
    if loss.added_values is not None:
        figures["Values added"] = (
            f"{loss.added_values:,}",
            "Put into sets that held too few. They are not true of them.",
        )
    return figures


def _comparison(distribution: Distribution, is_number: bool, most: int) -> Html:
    label = f"{distribution.attribute}: shares of rows before and after"
    # a column published in bins has no value in common with its original
    comparable = any(distribution.before) or not any(distribution.after)
    distance = f"distance {distribution.distance:.3f}" if comparable else "before: not comparable"
    caption = joined([tag("b", named(distribution.attribute, 400)), tag("i", distribution.role), tag("span", distance)])
    edges = _edges(distribution.values) if is_number else None
    before, after = distribution.before, distribution.after
    if edges is not None:
        return figure(caption, charts.paired_steps(edges, before, after, label, distribution.attribute))
    rest = len(distribution.values) > most
    return figure(caption, charts.paired_bars(distribution.values, before, after, label, rest=rest))


def _edges(starts: Sequence[str]) -> list[float] | None:
    """The edges of bins, from where they start; the last is as wide as the one before."""
    try:
        edges = [float(start) for start in starts]
    except ValueError:
        return None
    return [*edges, 2 * edges[-1] - edges[-2]] if len(edges) > 1 else None
