"""Printed numbers beside ours: the tables, the running example, and what was counted of rule sets."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.reproduce import Number, Printed, Results
from experiments.versatile.claims import value
from experiments.versatile.seen import rows

UNDRAWN = "The generator has {:,} values; {:,.0f} of them stand in no row."
CIRCLES = 0.05  # by how much the share of loops that do not end may differ: other random sets


def numbers(results: Results, printed: Printed) -> Iterator[Number]:
    example, counted, sets = printed["example"], printed["methods"], results["schemas"].sum().row(0, named=True)

    def count_of(name: str, what: str) -> float:
        return float(rows(results, "data", table=name, what=what)["value"].item())

    adult, texas = printed["adult"], printed["texas"]
    yield Number(
        "Adult: rows without missing values", "section 6.1", adult["rows_without_missing"], count_of("Adult", "rows")
    )
    yield Number("Adult: rows drawn", "section 6.1", adult["rows_drawn"], count_of("Adult", "rows drawn"))
    yield Number("Adult: attributes", "section 6.1", adult["attributes"], count_of("Adult", "attributes"))
    for name, size in adult["domains"].items():
        yield Number(f"Adult: values of {name}", "Table 5a", size, count_of("Adult", name))
    yield Number("Texas: rows", "section 6.1", texas["rows"], count_of("Texas", "rows"))
    yield Number("Texas: attributes", "section 6.1", texas["attributes"], count_of("Texas", "attributes"))
    for name, size in texas["domains"].items():
        ours = count_of("Texas", name)
        yield Number(f"Texas: values of {name}", "Table 5b", size, ours, why=UNDRAWN.format(size, size - ours))
    revealed = value(results, "Tables 2", "tuples revealed")
    yield Number("tuples that Tables 2 reveal", "section 1.3", example["tuples_revealed"], revealed)
    yield Number(
        "of those as printed, in Table 1",
        "section 1.3",
        len(example["revealed"]),
        value(results, "Tables 2", "printed tuples that the original has"),
        why="Two are misprinted: Table 1 has (333333, black, 71000) and (333333, white, 72000).",
    )
    kept = sum(value(results, "Table 3", f"rule {i}") for i in (1, 2, 3))
    yield Number("rules that Table 3 keeps", "section 4.2", example["table_3_rules_kept"], kept)
    for i in (1, 2):
        guardians = float(example[f"table_4_rule_{i}_has_a_guardian"])
        yield Number(
            f"Table 4, guardians of rule {i}", "section 4.1", guardians, value(results, "Table 4", f"rule {i}")
        )
    left = value(results, "section 3", "rules left of two")
    yield Number("rules left of `{A1 -> A3, {A1, A2} -> A3}`", "section 3", example["rules_left_of_two"], left)
    share = counted["rule_sets_uad_in_normal_form"] / counted["rule_sets"]
    yield Number("share of rule sets that UAD puts in GNF", "a prototype", share, sets["uad"] / sets["sets"])
    for kind, name in (("_circular", "circular"), ("", "other")):
        stuck = counted[f"{name}_sets_that_do_not_end"] / counted[f"{name}_sets"]
        ours = 1 - sets[f"ended{kind}"] / sets[f"loops{kind}"]
        what = f"share of {name} rule sets on which GD's loop does not end"
        yield Number(what, "a prototype", stuck, ours, within=CIRCLES if stuck else 0.0)
    both = value(results, "two rules, one adversary", "the maximum posterior, knowing q and z")
    yield Number(
        "maximum posterior of whoever knows Q and Z", "a prototype", counted["maximum_posterior_of_both"], both
    )
