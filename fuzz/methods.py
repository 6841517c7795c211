"""Random small tables and policies through every method, before the slow judge.

What comes of them is a release, which the audit passes, alone and beside its original, and in which the judge finds
nothing broken; or a refusal that says why. The judge works from the folder's bytes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from fuzz.harness import Case, Fault, raised_at, scratch, watched
from fuzz.judge import judge
from pluralis import Key, audit, publish
from pluralis.auditing import Verdict
from pluralis.errors import AuditFailed, Breached, Infeasible, InputError, PolicyError
from pluralis.method import methods
from pluralis.policy.policy import Policy

TREE = "apple;pome;*\npear;pome;*\nplum;stone;*\nleek;bulb;*\nonion;bulb;*\n"
QUASI: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "number": ({"type": "number"}, [0, 1, 2, 5, 10, 40, None]),
    "decimal": ({"type": "number"}, [-0.5, 0.1, 0.25, 7.5]),
    "steps": ({"type": "number", "hierarchy": {"intervals": [5, 10]}}, [1, 4, 6, 12, 23]),
    "flat": ({}, ["a", "b", "c", "*", None]),
    "spelled": ({}, ["Ä", "ä ", "B", "{b}", '"', "null"]),
    "tree": ({"hierarchy": {"file": "tree.csv"}}, ["apple", "pear", "plum", "leek", "onion"]),
    "mask": ({"hierarchy": {"mask": "right"}}, ["10075", "10076", "204", "21"]),
}
SENSITIVE: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "text": ({}, ["flu", "hiv", "gout", "acne", "cold"]),
    "spelled": ({}, ["flu", "Flu", " FLU", "hiv", "ＨＩＶ", "gout"]),
    "cased": ({"case": "keep"}, ["flu", "Flu", "hiv", "gout"]),
    "number": ({"type": "number"}, [1, 2, 3, 10, 20]),
    "decimal": ({"type": "number"}, [0.5, 1.5, 2.0, 3.0]),
    "bins": ({"type": "number", "bin": 10}, [1, 5, 12, 19, 33, 34]),
    "odd": ({}, ["[1, 2]", "{a}", "*", "null", "a, b", "=1", "5", "5.0"]),
    "missing": ({"if_missing": "drop"}, ["flu", "hiv", "gout", None]),
    "unknown": ({"if_missing": {"as": "unknown"}}, ["flu", "hiv", "gout", None]),
}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bsgi": [{"refine": 0}, {"refine": 3}],
    "decomposition": [{"sensitive_table": way} for way in ("auto", "joint", "marginals", "none")],
    "gd": [{"anonymizer": way} for way in ("anatomy", "mondrian", "bsgi", "incognito", "kaca", "tp")],
    "uad": [{"anonymizer": way} for way in ("anatomy", "mondrian", "bsgi")],
    "mondrian": [{"mode": "relaxed"}],
    "msb": [{"priority": way} for way in ("mbf", "msdcf")],
    "randomized-addition": [{"claim": "set-size"}, {}],
    "sloms": [{"slices": 1}, {"slices": 2}, {"priority": "mbf"}],
    "tp": [{"residue": "mondrian"}],
}
MULTI = ("gd", "uad", "single-attribute")
BOUNDING = ("bsgi", "anatomy", "mondrian", "incognito", "kaca")
WITH_K = ("bsgi", "mondrian", "incognito", "kaca", "tp", "sloms")
NAMES = ("q", "r", "t", "secret", "other", "third", "note", "group", "count", "value", "n", "*")


class Methods:
    """The fuzzer. A case is columns of cells, a policy, and the format to write."""

    name = "methods"

    @cached_property
    def place(self) -> Path:
        place = scratch()
        (place / "tree.csv").write_text(TREE)
        return place

    @cached_property
    def _numbers(self) -> Iterator[int]:
        return count()

    def case(self, random: Random) -> Case:
        method = random.choice(sorted(methods()))
        rows = random.choice([1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9] if method not in MULTI else [2, 3, 4, 4, 5, 5])
        columns: dict[str, list[Any]] = {}
        attributes: dict[str, dict[str, Any]] = {}
        names = random.sample(NAMES[6:], 6) if random.random() < 0.05 else ["q", "r", "t", "s1", "s2", "s3"]

        def add(name: str, choices: dict[str, tuple[dict[str, Any], list[Any]]], **settings: Any) -> None:
            kind, values = choices[random.choice(sorted(choices))]
            few = random.sample(values, random.randint(min(2, len(values)), len(values)))
            evenly = (
                settings["role"] == "sensitive" and random.random() < 0.75
            )  # or most tables are too skewed for any l
            columns[name] = random.sample((few * rows)[:rows], rows) if evenly else random.choices(few, k=rows)
            attributes[name] = {**kind, **settings}

        for name in names[: random.choice([1, 1, 2, 3])]:
            add(name, QUASI, role="quasi")
        one = method in ("anatomy", "tp")
        for name in names[3 : 4 if one else random.choice([5, 5, 6] if method == "sloms" else [4, 4, 5, 5, 6])]:
            add(name, SENSITIVE, role="sensitive", l=random.choice([2, 2, 2, 3, 4]))
            if random.random() < 0.15 and attributes[name].get("if_missing") is None:
                model = random.choice(["distinct", "entropy", "recursive", "unique-distinct"])
                attributes[name] |= {"model": model} | ({"c": random.choice([1.5, 3])} if model == "recursive" else {})
            if random.random() < (0.4 if method in BOUNDING else 0.02):
                self._bound(random, attributes[name], columns[name])
        if random.random() < 0.2:
            add("p", QUASI, role="plain")
            attributes["p"].pop("hierarchy", None)
        policy: dict[str, Any] = {
            "version": 1,
            "attributes": attributes,
            "publish": {"method": method},
            "accept": ["set-size"],
        }
        self._more(random, policy, columns, rows)
        return {
            "columns": columns,
            "policy": policy,
            "format": random.choice(["parquet", "parquet", "csv"]),
            "attacks": random.random() < 0.1,
        }

    @staticmethod
    def _bound(random: Random, settings: dict[str, Any], cells: list[Any]) -> None:
        """Bounds of values, beside l or instead of it."""
        value = random.choice(cells)
        bounds = {
            "at_most": {str(value): random.choice(["1/2", "1/3", "2/5", "3/4"])},
            "gain": random.choice([1.2, 2, 3, 4.5]),
            "t": random.choice([0.1, 0.3, 0.5, 0.8]),
        }
        chosen = random.sample(sorted(bounds), random.choice([1, 1, 2, 3]))
        settings |= {key: bounds[key] for key in chosen}
        if random.random() < 0.5:
            for key in ("l", "model", "c"):
                settings.pop(key, None)

    def _more(self, random: Random, policy: dict[str, Any], columns: dict[str, list[Any]], rows: int) -> None:
        """Options, k, suppression, persons, adversaries, rules."""
        method = policy["publish"]["method"]
        if random.random() < 0.5 and method in OPTIONS:
            policy["publish"]["options"] = random.choice(OPTIONS[method])
        if random.random() < 0.3:
            policy["publish"]["suppress"] = random.choice([0.1, 0.3, 0.6])
        if random.random() < 0.05:
            policy["publish"]["variant"] = "paper"
        if method in ("kaca", "sloms") or random.random() < (0.3 if method in WITH_K else 0.02):
            policy["k"] = random.choice([2, 2, 3, 4])
        if random.random() < 0.25:
            columns["who"] = [f"P{random.randrange(max(2, rows * 3 // 4))}" for _ in range(rows)]
            policy["person"] = "who"
        named = policy["attributes"]
        sensitive = [name for name, settings in named.items() if settings["role"] == "sensitive"]
        quasi = [name for name, settings in named.items() if settings["role"] == "quasi"]
        if random.random() < 0.25 and len(sensitive) > 1:
            knows = [*quasi, *random.sample(sensitive, random.randint(1, len(sensitive) - 1))]
            policy["adversaries"] = [{"knows": knows + (["p"] if "p" in named and random.random() < 0.5 else [])}]
        if method in MULTI:
            self._rules(random, policy, quasi, sensitive)

    @staticmethod
    def _rules(random: Random, policy: dict[str, Any], quasi: list[str], sensitive: list[str]) -> None:
        """Rules in the place of roles, for methods that keep each as it stands."""
        if random.random() < 0.3:
            return
        named = policy["attributes"]
        plain = [name for name in (*quasi, *sensitive) if all(sign not in name for sign in '*"')]
        if len(plain) < 2:
            return
        rules = []
        for _ in range(random.choice([1, 2, 2, 3])):
            protects = random.choice(plain)
            knows = random.sample([n for n in plain if n != protects], random.randint(1, min(2, len(plain) - 1)))
            rules.append(f"{', '.join(sorted(knows))} -> {protects} : l={random.choice([2, 2, 3])}")
        policy["rules"] = rules
        policy.pop("adversaries", None)
        spoken = {name for name in plain if any(name in rule for rule in rules)}
        policy["attributes"] = {
            n: settings for n, settings in named.items() if n in spoken or settings["role"] == "plain"
        }
        policy["others"] = "drop"
        for settings in policy["attributes"].values():
            if settings["role"] != "plain":
                for key in ("role", "l", "model", "c", "at_most", "gain", "t", "bin", "if_missing", "hierarchy"):
                    settings.pop(key, None)

    def check(self, case: Case) -> Fault | None:
        folder = self.place / f"case-{next(self._numbers)}"
        method = case["policy"]["publish"]["method"]
        outcome = watched(lambda: self._published(case, folder))
        try:
            if outcome.fault is not None:
                return Fault(outcome.fault.kind, f"{method}: {outcome.fault.place}", outcome.fault.detail)
            if outcome.error is not None:
                return self._raised(case, method, outcome.error)
            verdict: Verdict = outcome.value
            if not verdict.holds:
                return Fault("original", f"{method}: {verdict.failures[0].claim[:60]}", str(verdict.failures[0]))
            known = json.loads((folder / "manifest.json").read_text())["parameters"]
            judgment = judge(folder, known)
            return (
                Fault("judge", f"{method}: {judgment.broken[0]}", "; ".join(judgment.broken))
                if judgment.broken
                else None
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(f"{folder}.private", ignore_errors=True)

    def _published(self, case: Case, folder: Path) -> Verdict:
        """Publish, save, and audit what was saved beside the original."""
        people = pl.DataFrame({name: pl.Series(cells, strict=False) for name, cells in case["columns"].items()})
        policy = Policy.from_dict(case["policy"], folder=self.place)
        release = publish(people, policy, key=Key.test(), attacks=case["attacks"])
        release.save(folder, format=case["format"], allow_test=True)
        return audit(folder, people, allow_test=True)

    @staticmethod
    def _raised(case: Case, method: str, error: BaseException) -> Fault | None:
        if isinstance(error, Infeasible | PolicyError | InputError):
            return None
        paper = case["policy"]["publish"].get("variant") == "paper"
        if isinstance(error, AuditFailed | Breached):
            asked = case["policy"]["publish"].get("options", {}).get("sensitive_table") in ("joint", "marginals")
            what = error.verdict.failures[0].claim if isinstance(error, AuditFailed) else error.results[0].attack
            if paper or (asked and "values possible of" in what):
                return None  # its holes are known, and that a sensitive table which somebody insists on can be refused
            return Fault("refused by itself", f"{method}: {type(error).__name__} {_general(what, case)}", str(error))
        return Fault("error", raised_at(error), f"{method}: {error}")

    def smaller(self, case: Case) -> Iterator[Case]:
        columns, policy = case["columns"], case["policy"]
        rows = len(next(iter(columns.values())))
        for place in range(rows if rows > 1 else 0):
            yield {
                **case,
                "columns": {n: [c for i, c in enumerate(cells) if i != place] for n, cells in columns.items()},
            }
        for key in ("adversaries", "k", "person"):
            if key in policy:
                yield {**case, "policy": {k: v for k, v in policy.items() if k != key}}
        for key in ("options", "suppress"):
            if key in policy["publish"]:
                yield {**case, "policy": policy | {"publish": {k: v for k, v in policy["publish"].items() if k != key}}}
        for name in columns:
            if name in policy["attributes"] and not policy.get("rules") and not policy.get("adversaries"):
                fewer = {k: v for k, v in policy["attributes"].items() if k != name}
                yield {
                    **case,
                    "columns": {n: c for n, c in columns.items() if n != name},
                    "policy": policy | {"attributes": fewer},
                }


def _general(claim: str, case: Case) -> str:
    """A claim without the names in it."""
    names = {*case["columns"]}
    return " ".join("…" if word.strip(",:") in names else word for word in claim.split())[:60]


FUZZER = Methods()
