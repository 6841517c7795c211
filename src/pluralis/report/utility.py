"""The section of the report that says what was lost: key figures, group sizes, distributions before and after."""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.metrics.distributions import SHOWN, Distribution
from pluralis.metrics.loss import Loss
from pluralis.release.manifest import Manifest
from pluralis.report import charts
from pluralis.report.charts import Html, joined, named, share, tag
from pluralis.report.markup import AS_THEY_ARE, count, defined, figure, subtables

GROUPS_OVER_TABLES = (
    "Of all tables that protect something. Rows of one share its protected values. More keep more detail."
)
BEFORE_AND_AFTER = (
    "How often each value occurs. The outline is the original. The filled bar is what an analyst sees who {how}. "
    "The distance is the share of rows that would have to change their "
    "value to get from one to the other (total variation)."
)


def lost(manifest: Manifest, loss: Loss) -> list[Html]:
    """Key figures, group sizes, and each attribute before and after."""
    tiles = ((name, [tag("dd", value), tag("dd", means)]) for name, (value, means) in _figures(manifest, loss).items())
    by_loss = sorted(loss.ncp_by_attribute.items(), key=lambda item: (-item[1], item[0]))
    pictures = [figure(tag("b", "Group sizes"), charts.group_sizes(loss.group_sizes))] if loss.group_sizes else []
    if any(part for _, part in by_loss):
        bars = charts.bars(by_loss, "detail lost (NCP)")
        pictures.append(figure(tag("b", "Loss of each quasi attribute"), bars))
    parts = [defined("tiles", tiles), *([tag("div", *pictures, class_="figures two")] if pictures else [])]
    if loss.distributions:
        numbers = {c.attribute or c.name for table in manifest.tables for c in table.columns if c.type == "number"}
        several = (_comparison(of, of.attribute in numbers) for of in loss.distributions)
        parts += [
            tag("h3", "Before and after"),
            tag("p", _before_and_after(manifest)),
            tag("div", *several, class_="figures"),
        ]
    return parts


def _before_and_after(manifest: Manifest) -> str:
    sets = "estimates it from the sets" if manifest.kind == "candidates" else ""
    return BEFORE_AND_AFTER.format(how=sets or "spreads every published label evenly over its values")


def _figures(manifest: Manifest, loss: Loss) -> dict[str, tuple[str, str]]:
    """The key figures: value and meaning."""
    total = loss.rows + loss.suppressed
    alike = f"Each row counts the rows it cannot be told from: {loss.discernibility / max(1, total):,.1f} on average."
    figures = {
        "NCP": (
            share(loss.ncp),
            "Detail that quasi values gave up, on average: from 0\xa0% for none to 100\xa0% for all.",
        ),
        "NCP with left-out rows": (share(loss.ncp_with_suppressed), "The same; a left-out row has lost everything."),
        "Rows left out": (share(loss.suppressed_share), f"{loss.suppressed:,} of {count(total, 'row')}."),
        "Groups": (f"{loss.groups:,}", "Rows of one group carry the same quasi values. More groups keep more detail."),
        "Average group size": (f"{loss.average_group:,.2f}", "Rows in a group, on average. Fewer keep more detail."),
        "Discernibility": (f"{loss.discernibility:,}", f"{alike} A left-out row counts them all. Less is better."),
    }
    if manifest.kind in AS_THEY_ARE:
        del figures["NCP"], figures["NCP with left-out rows"]
        figures["Groups"] = (f"{loss.groups:,}", "Rows of one group share its sensitive values. More keep more detail.")
    if manifest.kind == "multi":
        figures["Groups"] = (f"{loss.groups:,}", GROUPS_OVER_TABLES)
        labels = any(
            column.role == "quasi" and not column.exact for of in subtables(manifest).values() for column in of
        )
        unknown = ["Discernibility", *([] if loss.groups else ["Groups", "Average group size"])]
        for name in [*unknown, *([] if labels else ["NCP", "NCP with left-out rows"])]:
            del figures[name]
    if manifest.kind == "candidates":
        figures["Groups"] = (f"{loss.groups:,}", "Different combinations of quasi values.")
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


def _comparison(of: Distribution, is_number: bool) -> Html:
    said = f"{of.attribute}: shares of rows before and after"
    # a column published in bins has no value in common with its original
    comparable = any(of.before) or not any(of.after)
    distance = f"distance {of.distance:.3f}" if comparable else "before: not comparable"
    caption = joined([tag("b", named(of.attribute, 24)), tag("i", of.role), tag("span", distance)])
    edges = _edges(of.values) if is_number else None
    if edges is not None:
        return figure(caption, charts.paired_steps(edges, of.before, of.after, said, of.attribute))
    return figure(caption, charts.paired_bars(of.values, of.before, of.after, said, rest=len(of.values) > SHOWN))


def _edges(starts: Sequence[str]) -> list[float] | None:
    """The edges of bins, from where they start; the last is as wide as the one before."""
    try:
        edges = [float(start) for start in starts]
    except ValueError:
        return None
    return [*edges, 2 * edges[-1] - edges[-2]] if len(edges) > 1 else None
