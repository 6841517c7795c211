"""One method tried on a table: published in memory, audited and measured, and nothing written.

Words      guess = the highest probability that somebody gets for a person's value, as the audit measures it on the
           tables; None where the release does not bound it (sets of values whose shares nobody can tell).
           kept = the promise of the policy holds: the guess is at most 1/l, or the model that the policy names is met.
Target     a measure of utility by which releases are compared; less is better in all three.
Error      the same random counts for every method: QUERIES for each protected attribute, on up to three others, of
           which the median relative error counts, the mean over attributes; and PAIR_QUERIES for each pair of a
           protected attribute and another one, of which the error counts in proportion to the true counts, the mean
           over up to PAIRS pairs. The mean of both: a release that loses how attributes go together is not good for
           counting each.
Seconds    to publish in memory, on one core, without compiling kernels; where that is little, the less of two runs.
Key        the test key, so that the same table and policy give the same figures. No row of a trial leaves the process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Literal

import polars as pl
from numba.core import event

from pluralis.assembling.building import Built, build
from pluralis.attacks import Result
from pluralis.attacks import attack as attacked
from pluralis.attacks.base import SLACK
from pluralis.auditing import Verdict, audit
from pluralis.errors import AuditFailed, Infeasible, PolicyError
from pluralis.method import methods
from pluralis.metrics import Loss
from pluralis.metrics.workloads import answers, association_error, workload
from pluralis.policy.policy import Policy
from pluralis.randomness import Key
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.original import original_values, recoded
from pluralis.release.release import Release

Target = Literal["error", "kl", "ncp"]
TARGETS: dict[Target, str] = {
    "error": "error of counts",
    "kl": "KL divergence",
    "ncp": "information loss (NCP)",
}
QUERIES = 200
PAIRS, PAIR_QUERIES, PAIR_SELECTIVITY = 30, 20, 0.02  # narrow: broad counts hardly show how values go together
DIMENSIONS = 3
BRIEF = 10.0  # seconds below which loading libraries would count for much
UNBOUNDED = ("candidates",)  # models of claims that say which values remain possible, not how likely each is
SETS = ("candidates", "set-size")  # those of sets of l values, which a policy may accept
BOUNDING = ("frequency", "posterior")  # those that bound a guess by 1/l


@dataclass(frozen=True)
class Guess:
    """What one adversary of the policy gets of one protected attribute."""

    adversary: tuple[str, ...]
    attribute: str
    l: int
    model: str
    measured: float | None
    kept: bool


@dataclass(frozen=True)
class Attacked:
    """The best that an attack got, beside the prior (the best guess without the release)."""

    attack: str
    question: str
    success: float
    prior: float
    breach: bool


@dataclass(frozen=True)
class Measured:
    """A release that was made, and what it is worth. None stands for a measure that its kind does not have."""

    kind: str
    guesses: tuple[Guess, ...]
    error: float | None
    kl: float | None
    ncp: float | None
    suppressed: float
    seconds: float
    attacks: tuple[Attacked, ...] = ()

    @property
    def keeps(self) -> bool:
        """Whether it keeps every promise that it was asked to, and no attack broke one."""
        return all(guess.kept for guess in self.guesses) and not any(one.breach for one in self.attacks)

    @property
    def guess(self) -> float | None:
        """How private it is, as one number: the worst guess of each attribute, the mean over attributes."""
        worst: dict[str, float] = {}
        for guess in self.guesses:
            if guess.measured is None:
                return None
            worst[guess.attribute] = max(worst.get(guess.attribute, 0.0), guess.measured)
        return fmean(worst.values()) if worst else None

    def worst_of(self, adversary: Sequence[str]) -> float | None:
        """The worst guess of one adversary, whatever it is about."""
        figures = [guess.measured for guess in self.guesses if guess.adversary == tuple(adversary)]
        return max((one for one in figures if one is not None), default=None) if None not in figures else None

    def satisfies(self, policy: Policy) -> bool:
        """Whether it keeps every promise of a policy, which may ask for another l than it was made for."""
        return self.keeps and all(
            guess.l >= policy.l(guess.attribute)
            or (guess.model == "frequency" and (guess.measured or 1.0) <= 1 / policy.l(guess.attribute) + SLACK)
            for guess in self.guesses
        )


@dataclass(frozen=True)
class Trial:
    """A method, the l that it was asked for (None: the policy's own), and what came of it or why nothing did."""

    method: str
    l: int | None
    measured: Measured | None = None
    refused: str | None = None

    @property
    def baseline(self) -> bool:
        """Whether the method is one to compare others with."""
        method = methods().get(self.method)
        return method is not None and method.baseline

    @property
    def name(self) -> str:
        return self.method if self.l is None else f"{self.method} at l = {self.l}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def attempt(frame: pl.DataFrame, policy: Policy, l: int | None, attacks: Sequence[str] = ()) -> Trial:
    """Publish a table in memory under a policy, and measure; a refusal is a result too."""
    method = policy.publish.method
    try:
        made, seconds = _timed(frame, policy)
        if seconds < BRIEF:
            seconds = min(seconds, _timed(frame, policy)[1])
        release = made.release.decoded()
        verdict = audit(release, allow_test=True)
        if not verdict.holds:
            raise AuditFailed(verdict)
    except (Infeasible, PolicyError, AuditFailed) as refusal:
        return Trial(method, l, refused=str(refusal))
    except MemoryError:
        return Trial(method, l, refused="There was not enough memory.")
    results = attacked(release, frame, only=() if "all" in attacks else attacks) if attacks else []
    return Trial(method, l, measured=_measured(release, made.loss, verdict, frame, policy, seconds, results))


def _timed(frame: pl.DataFrame, policy: Policy) -> tuple[Built, float]:
    """A release in memory, and the seconds that it took."""
    began = time.perf_counter()
    with event.install_timer("numba:compile", lambda _: None) as compiling:
        made = build(frame, policy, Key.test())
    return made, time.perf_counter() - began - (compiling.duration if compiling.done else 0.0)


def _measured(
    release: Release,
    loss: Loss,
    verdict: Verdict,
    frame: pl.DataFrame,
    policy: Policy,
    seconds: float,
    results: Sequence[Result],
) -> Measured:
    return Measured(
        kind=release.kind,
        guesses=tuple(guesses(release.manifest, verdict, policy)),
        error=_rounded(workload_error(release, frame, policy)),
        kl=_rounded(loss.kl),
        ncp=_rounded(loss.ncp_with_suppressed) if loss.ncp else None,  # sloms without k generalizes nothing
        suppressed=loss.suppressed_share,
        seconds=round(seconds, 4),
        attacks=tuple(_best(results)),
    )


def _rounded(figure: float | None) -> float | None:
    """Without the last digits, which depend on the number of cores."""
    return None if figure is None else round(figure, 9)


def guesses(manifest: Manifest, verdict: Verdict, policy: Policy) -> Iterator[Guess]:
    """What the audit measured for each promise of the policy.

    A release may claim more than was asked: whoever knows less than the adversary of a claim learns no more.
    """
    findings = {finding.claim: finding for finding in verdict.findings}

    def measured(claim: Claim) -> float | None:
        finding = findings.get(claim.rule)
        if finding is None or claim.model in UNBOUNDED:
            return None
        return finding.measured if finding.top_share is None and claim.model in BOUNDING else finding.top_share

    for known, name in policy.promises:
        l, model = policy.l(name), policy.columns[name].model
        bounds = policy.columns[name].bounds
        claims = [c for c in manifest.claims if c.attribute == name and known <= set(c.adversary)]
        figures = [figure for figure in map(measured, claims) if figure is not None]
        worst = min(figures, default=None)
        by_model = any(c.model == model and c.l is not None and c.l >= l and findings[c.rule].holds for c in claims)
        if l == 1:  # nothing but bounds of values was asked
            own = [findings[c.rule].measured for c in claims if c.model == "at-most"]
            worst = max((figure for figure in own if figure is not None), default=worst)
        bounded = worst is not None and worst <= 1 / l + SLACK and any(c.model in BOUNDING for c in claims)
        sets = "set-size" in policy.accept and any(
            c.model in SETS and c.l is not None and c.l >= l and findings[c.rule].holds for c in claims
        )
        kept = bounded if model == "frequency" else by_model or (bounded and model in ("distinct", "entropy"))
        kept = kept or sets or l == 1
        if bounds:  # what is claimed beside l follows from what was asked, and the audit says whether it holds
            beside = [findings[c.rule].holds for c in claims if c.l is None]
            kept = kept and bool(beside) and all(beside)
        yield Guess(tuple(sorted(known)), name, l, model, worst, kept)


def workload_error(release: Release, original: pl.DataFrame, policy: Policy) -> float | None:
    """How far counts estimated from a release are from those of its original; None where nothing can be asked."""
    infos = attributes_of(release)
    shown = [name for name in (*policy.quasi, *policy.named("plain")) if name in infos]
    original = recoded(original, release.manifest)
    errors = []
    for protected in policy.sensitive:
        others = shown or [name for name in policy.sensitive if name in infos and name != protected]
        if protected not in infos or not others:
            return None
        true = {name: original_values(original, infos[name], release.manifest) for name in (*others, protected)}
        values = {name: column.drop_nulls().unique().sort().to_list() for name, column in true.items()}
        values = {name: some for name, some in values.items() if some}
        asked = workload(values, protected, queries=QUERIES, dimensions=min(DIMENSIONS, len(values) - 1))
        errors.append(answers(release, original, asked).median_error)
    if not errors:
        return None
    pairs = [pair for pair in _pairs(policy, shown) if {*pair} <= {*infos}]
    of_pairs = association_error(release, original, pairs, queries=PAIR_QUERIES, selectivity=PAIR_SELECTIVITY)
    return fmean([fmean(errors), of_pairs])


def _pairs(policy: Policy, shown: Sequence[str]) -> list[tuple[str, str]]:
    """Up to PAIRS pairs: of protected attributes first, then each in turn with what stands beside it."""
    pairs = list(combinations(policy.sensitive, 2))
    pairs += [(other, protected) for other in shown for protected in policy.sensitive]
    return pairs[:PAIRS]


def _best(results: Sequence[Result]) -> Iterator[Attacked]:
    """Of each attack, the question in which it got furthest beyond the prior."""
    for name in dict.fromkeys(result.attack for result in results):
        own = [result for result in results if result.attack == name]
        best = max(own, key=lambda result: (result.breach, result.success - result.prior))
        yield Attacked(name, best.question, best.success, best.prior, any(result.breach for result in own))
