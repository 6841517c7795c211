"""Release folders of every kind, changed and sealed again, before the audit and before the slow judge.

A folder that the judge calls broken, or in which a change hid something, must not pass. Whatever the audit raises is a
ReleaseError. It works for less than five seconds, in less than 1 GiB.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from pathlib import Path
from random import Random

import polars as pl

from fuzz.draft import MANIFEST, Draft
from fuzz.harness import Case, Fault, Outcome, raised_at, scratch, watched
from fuzz.judge import Judgment, judge
from fuzz.mutations import every
from fuzz.seeds import SEEDS, bytes_of, publish_all
from pluralis import audit
from pluralis.auditing import Verdict
from pluralis.errors import ReleaseError

CERTIFICATE = "what the manifest says was measured is what its tables give"
WORST = ("claim", "uncovered", "order", "name", "form")  # first


class Folders:
    """The fuzzer. A case is a seed's name and changes, each with the number that its generator starts from."""

    name = "folders"

    @cached_property
    def place(self) -> Path:
        return scratch()

    @cached_property
    def files(self) -> dict[str, dict[str, bytes]]:
        return {name: bytes_of(folder) for name, folder in publish_all(self.place).items()}

    @cached_property
    def known_parameters(self) -> frozenset[str]:
        """What some release has under `parameters`; `case` and others that no seed happens to have are added."""
        parameters = (json.loads(files[MANIFEST])["parameters"] for files in self.files.values())
        return frozenset({"case", "dependencies", "persons", "weights"}.union(*parameters))

    @cached_property
    def _numbers(self) -> Iterator[int]:
        return count()

    def case(self, random: Random) -> Case:
        steps = random.choice([1, 1, 2, 2, 3, 4])
        names = list(every())
        return {
            "seed": random.choice(SEEDS).name,
            "steps": [[random.choice(names), random.randrange(2**32)] for _ in range(steps)],
        }

    def draft(self, case: Case) -> Draft:
        """The folder of a case."""
        draft = Draft.from_files(self.files[case["seed"]])
        for name, number in case["steps"]:
            every()[name](draft, Random(number))
        return draft

    def check(self, case: Case) -> Fault | None:
        try:
            draft = self.draft(case)
            draft.sealed()
        except (pl.exceptions.PolarsError, RecursionError):
            return None  # no file can hold it: a column twice, for example
        folder = self.place / f"case-{next(self._numbers)}"
        try:
            draft.write(folder)
            outcome = watched(lambda: audit(folder, allow_test=True))
            if _only_the_certificate(outcome):
                _certify(draft, outcome.value)
                shutil.rmtree(folder)
                draft.write(folder)
                outcome = watched(lambda: audit(folder, allow_test=True))
            return self._fault(draft, folder, outcome)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _fault(self, draft: Draft, folder: Path, outcome: Outcome) -> Fault | None:
        if outcome.fault is not None:
            return outcome.fault
        if outcome.error is not None:
            expected = isinstance(outcome.error, ReleaseError)
            return None if expected else Fault("error", raised_at(outcome.error), str(outcome.error))
        if not outcome.value.holds:
            return None
        judgment: Judgment = judge(folder, self.known_parameters)
        kind = draft.manifest.get("kind")
        if judgment.broken:
            # a false claim is worse than a strange form: it names the fault
            worst = min(judgment.broken, key=lambda why: (WORST.index(why.partition(":")[0]), why))
            place = f"{kind} {worst}" if worst.startswith(("claim", "uncovered")) else worst
            return Fault("passed", place, f"{kind}; {'; '.join(judgment.broken)}")
        hidden = [*draft.hidden, *filter(None, draft.hidden_in.values())]
        return Fault("passed", f"hidden: {hidden[0]}", str(kind)) if hidden else None

    def smaller(self, case: Case) -> Iterator[Case]:
        for left_out in range(len(case["steps"])):
            yield {**case, "steps": [step for i, step in enumerate(case["steps"]) if i != left_out]}


def _only_the_certificate(outcome: Outcome) -> bool:
    if not isinstance(outcome.value, Verdict):
        return False
    return {finding.claim for finding in outcome.value.failures} == {CERTIFICATE}


def _certify(draft: Draft, verdict: Verdict) -> None:
    """Write what the audit measured into the manifest: a forger can do that, too."""
    measured = {finding.claim: finding.measured for finding in verdict.findings}
    for claim in draft.manifest["claims"]:
        if measured.get(claim["rule"]) is not None:
            claim["measured"] = measured[claim["rule"]]


FUZZER = Folders()
