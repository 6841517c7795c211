"""Judging `candidates` releases: rows with their quasi-identifiers, and a set in the place of each sensitive value.

A set R was drawn with a probability P(R | v) that depends on the true value v as the manifest says (`addition`).
Whoever takes shares s(v) for how common values are believes v in R with s(v) P(R | v) / sum over R of the same. Three
shares are tried: the published weights, for which the design was made, by which it is 1/l; all counts that can have
become these weights (`shares`), by which it is the bound that must be stated beside 1/l; and those that the sets
themselves show, which have an error of sampling: a claim is refused if it fails by more than SURE standard errors.

Nothing is believed of a release with several sets in a row. All rows together show how the attributes go together, and
that picks the true values in a row: no bound for one attribute says anything of it.

What people who are alike have in common can be learned from their sets, too. By how much that helps is measured for
every quasi-identifier, and all quasi-identifiers together, that enough rows share; it is told, for it is not promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from pluralis.auditing.drawn_sets import Codes, DrawnSets, different, set_numbers
from pluralis.auditing.judging import Tables, info_of, sensitive_names
from pluralis.auditing.label_boxes import core_columns
from pluralis.auditing.projection import APART, projections
from pluralis.auditing.share_bound import largest_posterior
from pluralis.auditing.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import in_canonical_order
from pluralis.table.labels import number_text, read_interval
from pluralis.table.spelling import said_twice
from pluralis.threads import member_counts

SURE = 4.5
SLACK = 1e-9
POSTERIOR, BY_SHARES = "posterior", "posterior-shares"
SEVERAL = (
    "not judged: the sets of all rows together show how the attributes go together, and that picks the true values in "
    "a row, whatever the weights of each attribute are"
)
FARTHEST = 1.25  # how many times 1/l a guess by the shares that sets show may reach, where no weights are stated
SAMPLE = 50_000  # rows in which people who are alike are looked for
CELL = 20  # rows for each value that there is
CELLS = 300  # of each column, the largest


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    if set(tables) != {"microdata"}:
        yield f"a candidates release has the table microdata, not {', '.join(sorted(tables)) or 'none'}."
        return
    info, rows = info_of(manifest, "microdata"), tables["microdata"]
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, microdata has {rows.height:,}."
    shown = rows.select(column.name for column in info.columns if column.role != "sensitive")
    for name in info.names("sensitive"):
        try:
            design = _design(manifest, name)
            kind = getattr(rows[name].dtype, "inner", None)
            codes = design.codes(rows[name])
            design.require_possible(codes)
            if isinstance(kind, pl.Enum) and len(kind.categories) != np.count_nonzero(member_counts(codes, design.m)):
                raise ReleaseError(f"{name!r} has a dictionary of values that no set holds.")
        except ReleaseError as error:
            yield f"microdata: {error}"
            return
        shown = shown.with_columns(pl.Series(f"{name}\0", set_numbers(codes)))
    yield from _unpaired(manifest)
    if not in_canonical_order(shown):
        yield "microdata: rows are not in canonical order, so their order may tell something."


def _design(manifest: Manifest, name: str) -> DrawnSets:
    """The design that the manifest states, if it is one."""
    drawn = manifest.parameters.addition.get(name)
    try:
        design = DrawnSets.stated(drawn, manifest.parameters.l[name])
    except ReleaseError as error:
        raise ReleaseError(f"{name!r}: {error}") from None
    stated = next((c.domain for c in info_of(manifest, "microdata").columns if c.name == name and c.ordered), None)
    in_order = _in_order(design) if stated is None else tuple(design.values) == stated
    if not in_order:
        raise ReleaseError(f"the values of {name!r} in the manifest are not in order.")
    fold_case = name not in manifest.parameters.case
    if design.values.dtype == pl.String and (twice := said_twice(design.values, fold_case=fold_case)):
        raise ReleaseError(f"{twice[0]!r} and {twice[1]!r} of {name!r} are one value, or overlap, and count as two.")
    return design


def _in_order(design: DrawnSets) -> bool:
    """Whether values stand in the order of text, or of numbers: so do bins, whose width may be that of one number."""
    values = design.values
    if values.is_sorted() and values.n_unique() == design.m:
        return True
    try:
        lows = [read_interval(str(value))[0] for value in design.values]
    except ReleaseError:
        return False
    return values.dtype == pl.String and all(one < two for one, two in pairwise(lows))


def _unpaired(manifest: Manifest) -> Iterator[str]:
    """Every claim of 1/l by the weights says beside it what is true by the shares."""
    paired = {(claim.attribute, claim.adversary) for claim in manifest.claims if claim.model == BY_SHARES}
    for claim in manifest.claims:
        if claim.model == POSTERIOR and (claim.attribute, claim.adversary) not in paired:
            yield f"the claim {claim.rule!r} does not say how likely a value is by the true shares."


class Guess(NamedTuple):
    """The best guess that a published set allows: how likely it is, at least, and in which set.

    `average` is how often the best guess of a row's set is right.
    """

    share: float
    least: float
    members: tuple[int, ...]
    average: float


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    info, rows = info_of(manifest, "microdata"), tables["microdata"]
    designs = {name: _design(manifest, name) for name in sensitive_names(manifest)}
    codes = {name: design.codes(rows[name]) for name, design in designs.items()}
    guesses = {name: best_guess(codes[name], design) for name, design in designs.items()}
    findings = [_judged(claim, designs, guesses) for claim in manifest.claims]
    for name, design in designs.items():
        findings += _by_cell(info, rows, codes[name], design, name)
    return findings


def _judged(claim: Claim, designs: dict[str, DrawnSets], guesses: dict[str, Guess]) -> Finding:
    if claim.attribute is None or claim.l is None or claim.model not in (POSTERIOR, BY_SHARES, "set-size"):
        raise ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that this kind of release can make.")
    design, guess, l = designs[claim.attribute], guesses[claim.attribute], claim.l
    where = f"the set {', '.join(_text(design, member) for member in guess.members)}"
    shown = (
        f"by the shares that the sets show about {guess.share:.3g}, no less than {guess.least:.3g}; the best guess of "
        f"every row is right {guess.average:.1%} of the time"
    )
    if claim.model == "set-size":  # all sets have so many values, or there would have been problems
        return Finding(claim.rule, True, float(design.l), float(l), guess.share, where, shown)
    promised = 1 / l if claim.model == POSTERIOR else claim.bound or 0.0
    if len(designs) > 1 or set(claim.adversary) & set(designs):
        return Finding(claim.rule, False, None, promised, guess.share, note=SEVERAL)
    if design.weights is None:  # nothing is stated: that it holds must be seen
        seen = FARTHEST / l if claim.model == POSTERIOR else promised
        holds = guess.least <= promised and guess.share <= seen + SLACK
        return Finding(claim.rule, holds, guess.share, promised, guess.share, where, shown)
    bound = largest_posterior(design)
    if guess.least > bound:  # the sets belie the weights
        return Finding(claim.rule, False, guess.share, promised, guess.share, where, shown)
    measured, by = (1 / l, "weights") if claim.model == POSTERIOR else (bound, "counts that can have become them")
    holds = measured <= promised + SLACK
    return Finding(claim.rule, holds, measured, promised, measured, where, f"by the {by}; {shown}")


def best_guess(sets: Codes, design: DrawnSets) -> Guess:
    """The member of a published set that is likely beyond doubt, by the shares that the sets themselves show.

    Every share has an error of its own. `least` is how likely the member is if its share is as small, and those of the
    others of its set are as large, as SURE standard errors allow. Where rows are so few that nothing is beyond doubt,
    and no weights are stated, it is the likeliest member: that no guess is better must be seen.
    """
    shares, errors = design.shares(sets), design.share_errors(sets)
    every, rows = different(sets) if design.weights is None else design.possible
    low = np.maximum(0.0, (shares - SURE * errors) * design.likelihood)[every]
    high = np.maximum(0.0, (shares + SURE * errors) * design.likelihood)[every]
    others = high.sum(axis=1, keepdims=True) - high
    least = np.divide(low, low + others, out=np.zeros(low.shape), where=low > 0)
    likely = design.posteriors(every, np.maximum(shares, 0.0))
    certain = likely if design.weights is None and not least.any() else least
    row, place = np.unravel_index(int(certain.argmax()), certain.shape)
    average = float((likely.max(axis=1) * rows).sum() / rows.sum())
    members = tuple(int(member) for member in every[row])
    return Guess(float(likely[row, place]), float(least[row, place]), members, average)


def _by_cell(info: TableInfo, rows: pl.DataFrame, sets: Codes, design: DrawnSets, name: str) -> Iterator[Finding]:
    """How much better a guess is among people who are alike: told, not promised."""
    columns, least = info.names("quasi"), CELL * design.m
    step = -(-rows.height // SAMPLE)
    rows, sets = rows.gather_every(step), sets[::step]
    best, where, looked = 0.0, "", 0
    for names in [*([name] for name in columns), *([columns] if len(columns) > 1 else [])]:
        cells = rows.with_row_index("\0row").group_by(names).agg(pl.col("\0row"), pl.len().alias("\0rows"))
        cells = cells.filter(pl.col("\0rows") >= least).sort("\0rows", *names, descending=True).head(CELLS)
        for cell in cells.iter_rows(named=True):
            own = sets[np.asarray(cell["\0row"])]
            shares = design.likeliest_shares(own, steps=40)
            every, count = different(own)
            share = float((design.posteriors(every, shares).max(axis=1) * count).sum() / count.sum())
            looked += 1
            if share > best:
                best, where = share, ", ".join(f"{n} = {cell[n]}" for n in names)
    if looked:
        claim = f"{name}: the best guess, on average, among people who are alike"
        note = f"the worst of {looked:,} kinds of people with {least:,} rows or more; not promised"
        note += f"; looked at in every {step}th row" if step > 1 else ""
        yield Finding(claim, best * design.l <= 1.1, best, 1 / design.l, best, where, note, binding=False)


def _text(design: DrawnSets, code: int) -> str:
    value = design.values[code]
    return value if isinstance(value, str) else number_text(value)


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    """Quasi-identifiers are those of the original; every row's set holds the value of a row of its own there."""
    info, rows = info_of(manifest, "microdata"), tables["microdata"]
    quasi = TableInfo(**{**info.model_dump(), "columns": tuple(c for c in info.columns if c.role != "sensitive")})
    slim = manifest.model_copy(update={"tables": (quasi,)})
    findings = projections(slim, {"microdata": rows.drop(info.names("sensitive"))}, original)
    for column in info.named("sensitive"):
        findings.append(_sets_hold_the_originals_values(column, rows, manifest, original))
    return findings


def _sets_hold_the_originals_values(
    column: ColumnInfo, rows: pl.DataFrame, manifest: Manifest, original: pl.DataFrame
) -> Finding:
    """Among rows with the same quasi-identifiers, as many sets hold a value as rows have it, suppressed ones aside."""
    quasi = info_of(manifest, "microdata").named("quasi")
    true = pl.DataFrame({c.name: original_values(original, c, manifest) for c in (*quasi, column)})
    keep = manifest.parameters.case
    true = core_columns(true, true.columns, keep).drop_nulls(column.name)
    shown = rows.select(c.name for c in (*quasi, column)).explode(column.name)
    text = shown.with_columns(pl.col(column.name).cast(pl.String) if column.type == "text" else pl.col(column.name))
    text = core_columns(text, text.columns, keep)
    names = true.columns
    both = (
        true.group_by(names)
        .agg(pl.len().cast(pl.Int64).alias("\0true"))
        .join(
            text.group_by(names).agg(pl.len().cast(pl.Int64).alias("\0listed")), on=names, how="left", nulls_equal=True
        )
    )
    lacking = (pl.col("\0true") - pl.col("\0listed").fill_null(0)).alias("\0lacking")
    short = both.with_columns(lacking).filter(pl.col("\0lacking") > 0).sort(names)
    missing = max(0, int(short["\0lacking"].sum()) - manifest.suppressed)
    witness = ", ".join(f"{name} = {short[name][0]}" for name in names) if missing else None
    claim = f"among people who are alike enough sets hold each {column.name} of the original"
    return Finding(claim, not missing, float(missing), 0.0, witness=witness, note=APART)
