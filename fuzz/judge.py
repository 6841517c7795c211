"""An independent, slow judge of tiny release folders: what is false in them, worked out from their bytes.

It shares nothing with the audit but the definitions (docs/release.md, docs/policy.md): it reads with `slow_reader`,
counts with dictionaries, and enumerates worlds. What it calls broken *is* broken; it may leave things undecided. So a
folder that it calls broken and the audit passes is a fault of the audit.

    form       the folder is not the one spelling of a release: something in it is neither read nor hashed
    name       an adversary, an attribute or a column is not what it is called
    uncovered  a protected attribute is shown where no claim speaks of it, or has no claim
    claim      a claim is false: a posterior above 1/l or a bound of its own, a group below k, fewer than l candidates,
               a group unlike all rows
    order      bands that are said to stand in order do not
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz.decomposed_worlds import places
from fuzz.regions import common, obeys, region
from fuzz.slow_reader import (
    Column,
    Folder,
    Row,
    Table,
    Unreadable,
    Value,
    canonical,
    described,
    interval,
    read_folder,
)
from fuzz.worlds import Cell, Partial, TooMany, highest_posterior, worlds

GROUPED = ("generalized", "bucketized", "sliced")
EPSILON = 1e-9
BOUNDING = {  # claims that say something else than l
    "at-most": ("value", "at_most"),
    "gain": ("gain",),
    "closeness": ("t",),
    "ordered-closeness": ("t",),
}


@dataclass(frozen=True)
class Judgment:
    """Everything that is broken, by kind and place, and what could not be decided."""

    broken: tuple[str, ...]
    undecided: tuple[str, ...] = ()


def judge(folder: Path, known_parameters: Iterable[str]) -> Judgment:
    """What is broken in a folder."""
    try:
        read = read_folder(folder, known_parameters)
        return Judge(read).judgment()
    except Unreadable as why:
        return Judgment((f"form: {why}",))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return Judgment((f"form: something is not of its type ({type(error).__name__})",))


class Judge:
    """One folder under judgment."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.undecided = folder, list[str]()
        manifest = folder.manifest
        self.kind: str = manifest.get("kind", "")
        self.parameters: dict[str, Any] = manifest["parameters"]
        self.rows: int = manifest.get("rows", 0)
        self.claims: list[dict[str, Any]] = manifest.get("claims", [])
        self.l: dict[str, int] = self.parameters.get("l", {})
        self.linked = self.parameters.get("linked", True)
        if self.kind not in (*GROUPED, "decomposed", "candidates", "multi"):
            raise Unreadable("a kind that there is not")
        if type(self.rows) is not int or self.rows < 1 or not isinstance(self.claims, list) or not self.claims:
            raise Unreadable("no rows, or no claims")
        if not isinstance(self.l, dict) or any(type(l) is not int or l < 1 for l in self.l.values()):
            raise Unreadable("l is not a number for each attribute")
        if type(self.linked) is not bool:
            raise Unreadable("linked is neither true nor false")
        for claim in self.claims:
            self._check(claim)
        bounded = {claim.get("attribute") for claim in self.claims if claim.get("model") in BOUNDING}
        if any(l < 2 and name not in bounded for name, l in self.l.items()):
            raise Unreadable("l bounds nothing, and no claim does")
        self.keep_case = set(self.parameters.get("case") or [])
        self.numbers = {c.attribute for c in self._columns() if c.type == "number" and c.role in ("sensitive", "quasi")}
        domains = self.parameters.get("domains") or {}
        self.numbers |= {name for name, domain in domains.items() if domain.get("type") == "number"}
        self.same_bins = self._overlapping()
        self.order_of = {
            column.attribute: [self.canonical(value, column.attribute) for value in column.domain if value is not None]
            for column in [*self._columns(), *map(described, domains.values())]
            if column.ordered and column.attribute in self.l
        }

    @staticmethod
    def _check(claim: Any) -> None:
        knows = claim.get("adversary") if isinstance(claim, dict) else None
        if not isinstance(knows, list) or not all(isinstance(name, str) for name in knows):
            raise Unreadable("a claim without an adversary")
        for key in ("l", "k"):
            if claim.get(key) is not None and (type(claim[key]) is not int or claim[key] < 2):
                raise Unreadable(f"a claim with a strange {key}")
        if (claim.get("attribute") is None) == (claim.get("k") is None):
            raise Unreadable("a claim of nothing")
        fields = BOUNDING.get(str(claim.get("model")), ("l",))
        if claim.get("attribute") is not None and any(claim.get(field) is None for field in fields):
            raise Unreadable(f"a claim without {fields[0]}")

    def judgment(self) -> Judgment:
        broken_claims: Callable[[], Iterator[str]] = {
            "decomposed": self._decomposed,
            "candidates": self._candidates,
            "multi": self._multi,
        }.get(self.kind, self._grouped)
        broken = [f"form: {odd}" for odd in self.folder.odd]
        broken += [f"name: {why}" for why in self._names()]
        broken += [f"uncovered: {why}" for why in self._uncovered()]
        broken += [f"order: {why}" for why in self._orders()]
        try:
            broken += [f"claim: {why}" for why in broken_claims()]
        except TooMany:
            self.undecided.append("too many worlds")
        return Judgment(tuple(dict.fromkeys(broken)), tuple(self.undecided))

    # names ------------------------------------------------------------------------------------------------------------

    def _columns(self) -> Iterator[Column]:
        return (column for table in self.folder.tables for column in table.columns)

    def _names(self) -> Iterator[str]:
        shown = {c.attribute for c in self._columns() if c.role in ("quasi", "plain", "sensitive")}
        known = shown | set(self.l)
        for claim in self.claims:
            if not set(claim["adversary"]) <= known:
                yield "an adversary knows what is no attribute"
            if claim.get("attribute") is not None and claim["attribute"] not in known:
                yield "a claim of what is no attribute"
        if not set(self.l) <= known:
            yield "l of what is no attribute"
        for table in self.folder.tables:
            names = [column.name for column in table.columns]
            if len(set(names)) < len(names):
                yield "a column stands twice"
            for column in table.role("quasi", "plain", "sensitive"):
                if column.name != column.attribute and not (self.kind == "decomposed" and column.name == "value"):
                    yield "a column is called like another attribute"
        alike = Counter(canonical(name, number=False, keep_case=False) for name in known)
        if alike and max(alike.values()) > 1:
            yield "two attributes are called alike"

    def _uncovered(self) -> Iterator[str]:
        """Protected attributes that stand openly, or that nobody speaks of."""
        alike = {canonical(name, number=False, keep_case=False) for name in self.l}
        if self.kind != "multi":
            for column in self._columns():
                called = {canonical(n, number=False, keep_case=False) for n in (column.name, column.attribute)}
                if column.role in ("quasi", "plain") and called & alike:
                    yield "a protected attribute stands openly"
        hidden = {c.attribute for c in self._columns() if c.role == "sensitive"} if self.kind != "multi" else set[str]()
        for table in self.folder.tables:
            if table.role("attribute"):
                hidden |= {str(row["attribute"]) for row in table.rows}
        quasi = {column.attribute for column in self._columns() if column.role == "quasi"}
        if self.kind != "multi" and hidden != set(self.l):
            yield "other attributes are protected than are shown"
        for name in self.l:
            about = [set(claim["adversary"]) for claim in self.claims if claim.get("attribute") == name]
            if not about or (self.kind != "multi" and not any(quasi <= knows for knows in about)):
                yield "a protected attribute without a claim"

    def _orders(self) -> Iterator[str]:
        """Bands that stand in an order that is not theirs."""
        for column in [*self._columns(), *map(described, (self.parameters.get("domains") or {}).values())]:
            ends = [_band(value) for value in column.domain if value is not None] if column.ordered else []
            bands = [pair for pair in ends if pair is not None]
            if len(bands) < len(ends) or all(low == high for low, high in bands):
                continue
            if any(high > low for (_, high), (low, _) in pairwise(bands)):
                yield "bands of an ordered attribute that do not stand in order, or overlap"

    # values -----------------------------------------------------------------------------------------------------------

    def canonical(self, value: Value, attribute: str) -> Value:
        """A value as it is counted."""
        one = canonical(value, number=attribute in self.numbers, keep_case=attribute in self.keep_case)
        return self.same_bins.get((attribute, str(value)), one)

    def _overlapping(self) -> dict[tuple[str, str], Value]:
        """Bins of numbers that have something in common are one value; only where all values are bins."""
        same: dict[tuple[str, str], Value] = {}
        for attribute in self.l:
            values = {str(value) for value in self._held(attribute)}
            bins = {value: ends for value in values if value.startswith("[") and (ends := interval(value)) is not None}
            if len(bins) < len(values) or len(bins) < 2:
                continue
            first, high = "", None
            for value in sorted(bins, key=lambda value: bins[value]):
                if high is None or bins[value][0] > high:
                    first, high = value, bins[value][1]
                high = max(high, bins[value][1])
                same[attribute, value] = first
        return same

    def _held(self, attribute: str) -> Iterator[Value]:
        for table in self.folder.tables:
            for row in table.rows:
                if table.role("attribute") and row.get("attribute") == attribute:
                    yield row.get("value")
            for column in table.role("sensitive"):
                if column.attribute == attribute:
                    for row in table.rows:
                        cell = row[column.name]
                        yield from cell if isinstance(cell, tuple) else (cell,)

    def people(self, table: Table) -> list[Row]:
        """A row for each person, sensitive values in canonical form; those of `value` under their attribute."""
        counted = bool(table.role("count"))
        rows: list[Row] = []
        for row in table.rows:
            times = row["count"] if counted else 1
            if type(times) is not int or not 1 <= times <= self.rows:
                raise Unreadable("a count that is none")
            values = {c.attribute: self.canonical(row[c.name], c.attribute) for c in table.role("sensitive")}
            if table.role("attribute"):
                name = str(row["attribute"])
                values = {name: self.canonical(row["value"], name)}
            rest = {c.name: row[c.name] for c in table.role("quasi", "plain", "group")}
            rows += [{**rest, **values}] * times
        return rows

    # generalized, bucketized, sliced ------------------------------------------------------------------------------

    def _grouped(self) -> Iterator[str]:
        holders = [table for table in self.folder.tables if table.role("sensitive", "attribute")]
        quasi = self.folder.table("microdata" if self.kind == "generalized" else "quasi")
        if len(quasi.rows) != self.rows:
            yield "another number of rows"
        labels = [column.name for column in quasi.role("quasi")]
        group_columns = [column.name for column in quasi.role("group")]
        if any(row[name] is None for row in quasi.rows for name in group_columns):
            yield "a row without a group"
        for table in holders if quasi not in holders else []:
            column = "group" if self.kind == "bucketized" else f"group_{table.name.removeprefix('slice_')}"
            if column not in group_columns:
                raise Unreadable("no group for a table")
            sizes = Counter(row[column] for row in quasi.rows)
            rows = self.people(table)
            for name in {name for row in rows for name in row if name in self.l}:
                if Counter(row["group"] for row in rows if name in row) != sizes:
                    yield "counts that are not those of the groups"
        if self.kind == "generalized":
            for group in self._classes(quasi.rows, ["group"]).values():
                if len({tuple(row[name] for name in labels) for row in group}) > 1:
                    yield "one group under several labels"
        for claim in self.claims:
            if claim.get("k") is not None:
                by = ["group"] if self.kind == "generalized" else labels
                if min(map(len, self._classes(quasi.rows, by).values())) < claim["k"]:
                    yield "a group below k"
                continue
            name = claim["attribute"]
            rows = [row for table in holders for row in self.people(table) if name in row]
            beside = [other for other in claim["adversary"] if other != name and rows and other in rows[0]]
            if self.kind == "generalized":
                beside = [other for other in beside if other not in labels] if self.linked else []
            elif not all(table.role("sensitive") for table in holders if self._tells(table, name)):
                beside = []
            yield from self._diverse(claim, self._classes(rows, ["group", *beside]))
        if self.kind == "sliced":
            yield from self._across_slices(quasi, holders)

    @staticmethod
    def _tells(table: Table, attribute: str) -> bool:
        return any(column.attribute == attribute for column in table.role("sensitive")) or bool(table.role("attribute"))

    @staticmethod
    def _classes(rows: list[Row], by: list[str]) -> dict[tuple[Value, ...], list[Row]]:
        classes: dict[tuple[Value, ...], list[Row]] = {}
        for row in rows:
            classes.setdefault(tuple(row[name] for name in by), []).append(row)
        return classes

    def _diverse(self, claim: dict[str, Any], classes: dict[tuple[Value, ...], list[Row]]) -> Iterator[str]:
        """The models of docs/policy.md, on what people of one class hold."""
        if claim.get("model") in BOUNDING:
            yield from self._bounded(claim, classes)
            return
        l, c, model, name = claim["l"], claim.get("c") or 0, claim.get("model"), claim["attribute"]
        for rows in classes.values():
            frequencies = sorted(Counter(row[name] for row in rows).values(), reverse=True)
            size = sum(frequencies)
            entropy = -sum(n / size * math.log(n / size) for n in frequencies)
            kept = {
                "frequency": frequencies[0] * l <= size,
                "distinct": len(frequencies) >= l,
                "entropy": entropy >= math.log(l) - 1e-6,
                "recursive": frequencies[0] < c * sum(frequencies[l - 1 :]),
                "unique-distinct": frequencies[0] == 1 and l <= len(frequencies) <= l + 1,
            }.get(str(model))
            if kept is None:
                yield f"a model that this kind does not have ({model})"
                return
            if not kept:
                yield f"{model} of {'everybody in a group' if len(claim['adversary']) else 'all'} does not hold"
                return

    def _bounded(self, claim: dict[str, Any], classes: dict[tuple[Value, ...], list[Row]]) -> Iterator[str]:
        """Bounds of values: shares in classes beside those of all rows, as fractions."""
        name, model = claim["attribute"], claim["model"]
        overall = _shares(Counter(row[name] for rows in classes.values() for row in rows))
        held_in_classes = [_shares(Counter(row[name] for row in rows)) for rows in classes.values()]
        named = self.canonical(claim.get("value"), name)
        if model == "at-most" and named not in overall:
            yield "a bound of a value that nobody has"
            return
        for shares in held_in_classes:
            if model == "at-most":
                kept = shares.get(named, Fraction(0)) <= Fraction(str(claim["at_most"]))
            elif model == "gain":
                kept = all(share <= Fraction(claim["gain"]) * overall[v] + EPSILON for v, share in shares.items())
            else:
                order = self._order(name, overall) if model == "ordered-closeness" else [*overall]
                ordered = model == "ordered-closeness"
                kept = order is not None and _distance(shares, overall, order, ordered=ordered) <= claim["t"] + EPSILON
            if not kept:
                yield f"{model} does not hold in a group"
                return

    def _order(self, attribute: str, values: Iterable[Value]) -> list[Value] | None:
        """Values as their domain lists them, where it is said to be in order; else by the numbers that they say."""
        listed = self.order_of.get(attribute)
        if listed is not None:
            places = {value: i for i, value in reversed([*enumerate(listed)])}
            return sorted(values, key=lambda value: places[value]) if {*values} <= {*places} else None
        ends = {value: interval(str(value).removeprefix("number ")) for value in values}
        return None if None in ends.values() else sorted(ends, key=lambda value: ends[value] or ())

    def _across_slices(self, quasi: Table, holders: list[Table]) -> Iterator[str]:
        """Whoever knows a value of another slice, by all worlds; people of equal labels are not told apart."""
        table_of = {c.attribute: table for table in holders for c in table.role("sensitive")}
        labels = [column.name for column in quasi.role("quasi")]
        for claim in self.claims:
            name: str = claim.get("attribute", "")
            known = [
                other for other in claim["adversary"] if other in table_of and table_of[other] is not table_of.get(name)
            ]
            if (
                claim.get("model") != "frequency"
                or not known
                or name not in table_of
                or not set(labels) <= set(claim["adversary"])
            ):
                continue
            tables: list[list[Partial]] = [
                [{k: v for k, v in row.items() if k not in ("count",)} for row in quasi.rows]
            ]
            for table in dict.fromkeys(table_of[other] for other in (*known, name)):
                column = f"group_{table.name.removeprefix('slice_')}"
                wanted = [column, *(c.attribute for c in table.role("sensitive"))]
                rows = [{**row, column: row["group"]} for row in self.people(table)]
                tables.append([{key: row[key] for key in wanted} for row in rows])
            posterior, count = highest_posterior(worlds(tables), [*labels, *known], str(name))
            if count and posterior > 1 / claim["l"] + EPSILON:
                yield "a posterior across slices"

    # decomposed -------------------------------------------------------------------------------------------------------

    def _decomposed(self) -> Iterator[str]:
        quasi, values = self.folder.table("quasi"), self.folder.table("values")
        primary: str = self.parameters.get("primary", "")
        if len(quasi.rows) != self.rows:
            yield "another number of rows"
        if primary not in self.l:
            raise Unreadable("no primary attribute")
        sizes = Counter(row["group"] for row in quasi.rows)
        sets: dict[tuple[Value, str], list[Value]] = {}
        for row in values.rows:
            name = str(row["attribute"])
            sets.setdefault((row["group"], name), []).append(self.canonical(row["value"], name))
        if {group for group, _ in sets} != set(sizes) or len(sets) != len(sizes) * len(self.l):
            yield "sets of other groups or attributes"
            return
        for group, size in sizes.items():
            if len(sets[group, primary]) < size:
                yield "fewer primary values than rows"
                return
        joint = [table for table in self.folder.tables if table.name == "sensitive"]
        marginal = {
            c.attribute: t for t in self.folder.tables if t.name.startswith("sensitive_") for c in t.role("sensitive")
        }
        for claim in self.claims:
            name, l = claim["attribute"], claim["l"]
            known = sorted(set(claim["adversary"]) & set(self.l) - {name})
            names = sorted(self.l) if joint else [name]
            supply = self.people(joint[0]) if joint else self.people(marginal[name]) if marginal else None
            if not joint:
                known = []  # what is said of one attribute does not mention another
            tallies = places(sizes, sets, names, supply, primary, known, name)
            if not tallies:
                yield "no world fits the tables"
            for held_in_worlds in tallies.values():
                candidates = {value for world in held_in_worlds for value in world}
                if len(candidates) < l:
                    yield "fewer candidates than l"
                    break
                total = sum((Counter(world) for world in held_in_worlds), Counter[Value]())
                provable = max(min(Fraction(world.count(v), len(world)) for world in held_in_worlds) for v in total)
                if provable * l > 1:
                    yield "a share above 1/l in every world"
                    break
                if claim.get("model") == "frequency" and max(total.values()) * l > total.total():
                    yield "a posterior of the primary attribute"
                    break

    # candidates -------------------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[str]:
        table = self.folder.table("microdata")
        if len(table.rows) != self.rows:
            yield "another number of rows"
        for column in table.role("sensitive"):
            l = self.l.get(column.attribute)
            for row in table.rows:
                members = row[column.name]
                if not isinstance(members, tuple):
                    raise Unreadable("a sensitive cell that is no set")
                counts = Counter(self.canonical(value, column.attribute) for value in members)
                if l is not None and (len(counts) < l or max(counts.values()) * l > len(members)):
                    yield "a set of fewer than l values"
                    return
        for claim in self.claims:
            if claim.get("model") in ("posterior", "posterior-shares"):
                yield from self._by_shares(claim, table)

    def _by_shares(self, claim: dict[str, Any], table: Any) -> Iterator[str]:
        """Whether a member of a published set can be likelier than is said, by counts that may have become weights."""
        columns = table.role("sensitive")
        if len(columns) > 1:
            yield "a posterior of several sensitive attributes in a row"
            return
        design = (self.parameters.get("addition") or {}).get(claim["attribute"]) or {}
        pair = [c for c in self.claims if c.get("model") == "posterior-shares" and c["attribute"] == claim["attribute"]]
        if not pair:
            yield "a posterior by weights alone"
            return
        if "weights" not in design:
            return  # nothing is stated: what the sets show is a matter of chance
        counts = dict(zip(design["values"], (_counts_of(weight) for weight in design["weights"]), strict=False))
        for row in table.rows:
            ends = [counts[value] for value in row[columns[0].name] if value in counts]
            low = sum(least for least, _ in ends)
            worst = max((most / (most + low - least) for least, most in ends), default=0.0)
            if worst > pair[0].get("bound", 0.0) + 1e-4:
                yield "a posterior by the true shares"
                return

    # multi ------------------------------------------------------------------------------------------------------------

    def _multi(self) -> Iterator[str]:
        tables = [self._partial_rows(table) for table in self.folder.tables]
        if any(len(rows) != self.rows for rows in tables):
            yield "another number of rows"
            return
        fixed = [
            tuple(map(str.strip, dependency.rpartition("->")[::2]))
            for dependency in self.parameters.get("dependencies") or []
        ]
        consistent = [
            world for world in worlds(tables, agree=common) if all(obeys(world, *dependency) for dependency in fixed)
        ]
        if not consistent:
            self.undecided.append("no world")
        every = set(consistent[0][0]) if consistent else set()
        for claim in self.claims:
            if claim.get("model") != "frequency":
                self.undecided.append(f"model {claim.get('model')}")
                continue
            if claim["attribute"] in every and set(claim["adversary"]) <= every:
                posterior, _ = highest_posterior(iter(consistent), claim["adversary"], claim["attribute"])
                if posterior > 1 / claim["l"] + EPSILON:
                    yield "a posterior over all tables"

    def _partial_rows(self, table: Table) -> list[Partial]:
        part = table.name.removesuffix("_quasi").removesuffix("_sensitive")
        rows: list[Partial] = []
        for row in self.people(table):
            cells: dict[str, Cell] = {}
            for column in table.columns:
                if column.role == "group":
                    cells[f"{part} group"] = row[column.name]
                elif column.role == "sensitive":
                    cells[column.attribute] = frozenset({row[column.attribute]})
                elif column.role in ("quasi", "plain"):
                    cells[column.attribute] = region(row[column.name], column, self.canonical)
            rows.append(cells)
        return rows


def _distance(
    shares: dict[Value, Fraction], overall: dict[Value, Fraction], order: list[Value], *, ordered: bool
) -> Fraction:
    """What must be carried, and how far: every value 1 from the others, or a step from the next."""
    apart = {value: shares.get(value, Fraction(0)) - overall[value] for value in order}
    if not ordered:
        return sum((abs(one) for one in apart.values()), Fraction(0)) / 2
    carried, total = Fraction(0), Fraction(0)
    for one in apart.values():
        carried += one
        total += abs(carried)
    return total / max(1, len(apart) - 1)


def _band(value: Value) -> tuple[float, float] | None:
    """The ends of `<18`, `>=65`, `65+`, `18-64`, `[18, 65)` or a number; None of other texts."""
    text = str(value)
    number = r"(\d+(?:\.\d+)?)"
    if match := re.fullmatch(rf"<=?{number}", text):
        return -math.inf, float(match[1])
    if match := re.fullmatch(rf">=?{number}|{number}\+", text):
        return float(match[1] or match[2]), math.inf
    if match := re.fullmatch(rf"{number}-{number}|[\[(]{number}, {number}[\])]", text):
        low, high = (float(end) for end in match.groups() if end is not None)
        return (low, high) if low <= high else None
    return (float(text), float(text)) if re.fullmatch(number, text) else None


def _shares(counts: Counter[Value]) -> dict[Value, Fraction]:
    return {value: Fraction(many, counts.total()) for value, many in counts.items()}


def _counts_of(weight: int) -> tuple[float, float]:
    """The fewest and the most rows that can have become a weight, over it, by trying: 2 √n in steps from some start."""
    counts = []
    for count in range(max(1, weight - 2 * int(weight**0.5) - 3), weight + 2 * int(weight**0.5) + 4):
        for i in range(65):
            step = (int(2 * count**0.5 + i / 64) + 0.5 - i / 64) / 2
            if max(1, round(step**2)) == weight:
                counts.append(count)
    return (min(counts) / weight, max(counts) / weight) if counts else (1.0, 1.0)
