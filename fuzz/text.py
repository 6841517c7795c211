"""Policies, rules, queries, CSV and hierarchies as strangers might write them: accepted, or refused with words.

Whatever is refused is refused by a PluralisError that says something; nothing takes five seconds. What is accepted is
checked: a rule reads back as it was; the certain bounds of a count hold the true count; a CSV file has the cells that
Python's csv module reads.
"""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from fuzz.grammar import CSV, ODD, POLICY, RULE, TREE, damaged, derived
from fuzz.harness import Case, Fault, raised_at, scratch, watched
from fuzz.queries import condition
from fuzz.seeds import SEEDS, publish_all
from pluralis.errors import PluralisError
from pluralis.estimate import count
from pluralis.estimate import table as count_by
from pluralis.estimate.language import parse
from pluralis.method import method_for
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Rule
from pluralis.release.reading import read_release
from pluralis.release.release import Release
from pluralis.table.hierarchies import read_hierarchy
from pluralis.table.sources import read_table

TARGETS = ("policy", "rule", "query", "csv", "tree")
SLACK = 1e-6


class Text:
    """The fuzzer. A case is a target and bytes; of a query also the release, and the true count where it is known."""

    name = "text"

    @cached_property
    def place(self) -> Path:
        return scratch()

    @cached_property
    def releases(self) -> dict[str, Release]:
        return {name: read_release(folder) for name, folder in publish_all(self.place).items()}

    def case(self, random: Random) -> Case:
        target = random.choice(TARGETS)
        case: Case = {"target": target}
        if target == "query":
            seed = random.choice(SEEDS)
            people = seed.people.to_dicts()
            names = [name for name in (*seed.attributes, "sex", "disease", "drug") if not seed.rules or name != "bill"]
            shown = sorted({name for name in names if name in seed.attributes or seed.rules})
            asked = condition(random, people, shown)
            by = f" BY {', '.join(random.sample(shown, random.choice([1, 2])))}" if random.random() < 0.2 else ""
            case |= {"seed": seed.name, "true": None if by else sum(asked.passes(row) for row in people)}
            data = (random.choice(["", "COUNT WHERE "]) + asked.text() + by).encode()
        else:
            grammar, symbol = {
                "policy": (POLICY, "policy"),
                "rule": (RULE, "rule"),
                "csv": (CSV, "table"),
                "tree": (TREE, "tree"),
            }[target]
            data = derived(grammar, symbol, random).encode("utf-8", "surrogatepass")
        if random.random() < 0.4:
            data = damaged(data, random, ODD)
            case |= {"true": None} if target == "query" else {}
        return case | {"data": base64.b64encode(data).decode()}

    def check(self, case: Case) -> Fault | None:
        data = base64.b64decode(case["data"])
        check_target: Callable[[bytes, Case], str | None] = getattr(self, f"_{case['target']}")
        outcome = watched(lambda: check_target(data, case))
        target = case["target"]
        if outcome.fault is not None:
            return Fault(outcome.fault.kind, f"{target}: {outcome.fault.place}", outcome.fault.detail)
        if isinstance(outcome.error, PluralisError):
            message = str(outcome.error)
            return None if len(message) > 15 else Fault("no words", raised_at(outcome.error), message)
        if outcome.error is not None:
            return Fault("error", f"{target}: {raised_at(outcome.error)}", str(outcome.error))
        return Fault("wrong", f"{target}: {outcome.value.partition(':')[0]}", outcome.value) if outcome.value else None

    def smaller(self, case: Case) -> Iterator[Case]:
        data = base64.b64decode(case["data"])
        for size in (len(data) // 2, len(data) // 4, 8, 3, 1):
            for start in range(0, len(data), max(1, size)) if size else []:
                less = data[:start] + data[start + size :]
                true = {"true": None} if "true" in case else {}
                if case.get("true") is None:
                    yield {**case, **true, "data": base64.b64encode(less).decode()}

    # what is accepted, and what is wrong with it ----------------------------------------------------------------------

    def _policy(self, data: bytes, case: Case) -> str | None:
        path = self.place / "policy.yaml"
        path.write_bytes(data)
        policy = Policy.read(path)
        if policy.publish.method != "auto":
            method_for(policy)
        again = Policy.parse(policy.to_yaml(), folder=self.place)
        return (
            None
            if again.model_dump() == policy.model_dump()
            else "not the same when written again: " + policy.to_yaml()
        )

    def _rule(self, data: bytes, case: Case) -> str | None:
        text = data.decode("utf-8", "replace")
        policy = Policy.from_dict({"version": 1, "rules": [text]})
        rule = policy.rules[0]
        parsed = rule if isinstance(rule, Rule) else Rule.parse(rule)
        again = Rule.parse(str(parsed))
        return None if again == parsed else f"not the same when written again: {parsed!r}"

    def _query(self, data: bytes, case: Case) -> str | None:
        text = data.decode("utf-8", "surrogateescape")
        release = self.releases[case["seed"]]
        rows = release.manifest.rows
        if parse(text).by:
            counts = count_by(release, text)
            return None if counts.height else "an empty table"
        estimate = count(release, text)
        if not 0 <= estimate.least <= estimate.most <= rows:
            return f"bounds: {estimate.least} to {estimate.most} of {rows}"
        if not estimate.least - SLACK <= estimate.low <= estimate.high <= estimate.most + SLACK:
            return f"interval: {estimate}"
        true = case.get("true")
        if true is not None and not estimate.least <= true <= estimate.most:
            why = f"{true} is not in {estimate.least} to {estimate.most}: {text}"
            return f"certain bounds that do not hold ({release.kind}): {why}"
        return None

    def _csv(self, data: bytes, case: Case) -> str | None:
        path = self.place / "table.csv"
        path.write_bytes(data)
        read_table(path)  # whatever the separator is
        frame = read_table(path, separator=",")
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
        while lines and not lines[-1]:
            lines.pop()
        header, rows = lines[0], lines[1:]
        if frame.columns != header:
            return f"header: {frame.columns} is not {header}"
        wide = len(header) == 1
        expected = [tuple(cell or None for cell in row) or ((None,) if wide else ()) for row in rows]
        return None if frame.rows() == expected else f"cells: {frame.rows()} is not {expected}"

    def _tree(self, data: bytes, case: Case) -> str | None:
        path = self.place / "tree.csv"
        path.write_bytes(data)
        tree = read_hierarchy(path)
        leaves = tree.leaves
        if not leaves:
            return "no leaves"
        people = pl.DataFrame({"x": [*leaves, *leaves], "s": [f"v{i}" for i in range(2 * len(leaves))]})
        policy: dict[str, Any] = {
            "version": 1,
            "attributes": {
                "x": {"role": "quasi", "hierarchy": {"file": "tree.csv"}},
                "s": {"role": "sensitive", "l": 2},
            },
            "publish": {"method": "mondrian"},
        }
        from pluralis import Key, audit, publish

        release = publish(people, Policy.from_dict(policy, folder=self.place), key=Key.test(), attacks=False)
        verdict = audit(release, people, allow_test=True)
        return None if verdict.holds else f"does not hold: {verdict.failures[0]}"


FUZZER = Text()
