"""Order and metadata: what files tell by how they are written, whatever their cells hold.

Reference  Files leak more than algorithms: two tables stably sorted by group re-link 99.9 % of rows.
Definition positions  the i-th row of a group is guessed to have the group's i-th value, or, in another try, the i-th
                      from the end; the i-th rows of two tables without groups to be one person's. Chance is how often
                      a value of the group, drawn at random, is right.
           numbers    of two groups the one with the smaller number is guessed to come first in the original, or to have
                      the smaller number in another slice, whichever way round is better. Chance is 1/2.
           sets       the true value is guessed to stand at one place of its set, the best one.
           index      a column that holds 0, 1, 2, … is guessed to be the row's place in the original.
           names      texts of the original that no table shows, but a dictionary, a statistic, the footer of a Parquet
                      file or a domain of the manifest does.
Exposed    all files. `names` needs a folder, but for the manifest.
Promised   that order and numbers say nothing, and that nothing is named that is not published (docs/release.md). Where
           rows are in canonical order (`release.canonical_order`) and sets in domain order, order follows from what is
           published anyway, and being right more often than chance comes from values that go together. So positions and
           places in sets break the promise only where tables are not in that order; and only beyond six standard
           errors, as numbers do.
Exact      all but positions and numbers, whose people are a sample where there are many.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import BOX, CLASS, CandidateRows
from pluralis.attacks.adversary.group_values import value_series
from pluralis.attacks.adversary.parquet_footers import named_in, words_in
from pluralis.attacks.adversary.posterior import PAIRS, Guesses, Posterior, guess_likeliest
from pluralis.attacks.adversary.published_values import PublishedValues, RowShares, published_values
from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.errors import PluralisError
from pluralis.estimate.group_counts import CodedColumns
from pluralis.kernels.expect import HANDED_OUT
from pluralis.kernels.order import stable_order
from pluralis.release.manifest import MANIFEST, ColumnInfo, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import Release, in_canonical_order
from pluralis.release.subtables import Subtable, subtables
from pluralis.table.spelling import cores

SURE = 6.0  # standard errors
FEW = 20  # groups or rows of which no order is told
ENDS = 2_000  # people whose groups are looked for

Ints = npt.NDArray[np.int64]


class Files(Attack):
    """Read what was not meant to be said."""

    name = "files"
    title = "order and metadata of the files"
    reference = "what an algorithm hides, the order of a file may tell"
    quick = False

    def applies(self, release: Release) -> bool:
        return bool(release.tables)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        return [
            *_positions(release, original, options),
            *_numbers(release, original, options),
            *_sets(release, original),
            *_indices(release, original, options),
            *_names(release, original, options),
        ]


def _result(question: str, right: float, chance: float, targets: int, leaks: bool, **more: object) -> Result:
    """A score that is above chance by so much that it is none, where order could tell anything (`leaks`)."""
    error = math.sqrt(max(chance * (1 - chance), 1e-12) / max(1, targets))
    breach = leaks and right > chance + SURE * error
    sampled = bool(more.pop("sampled", False))
    return Result(
        attack=ATTACK.name,
        question=question,
        **score(right, targets, sampled),
        prior=chance,
        promised=chance if breach else None,
        worst=right if breach else None,
        **more,  # type: ignore[arg-type]
    )


# positions ----------------------------------------------------------------------------------------------------------


def _positions(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Rows of one table linked with values of another by where they stand in their group."""
    if release.traits.lists_values or release.traits.sensitive_in_rows:
        return  # there rows and values stand in one table
    unordered = {info.name for info in release.manifest.tables if not in_canonical_order(release.tables[info.name])}
    targets = options.targets(original.height)
    for published in [*published_values(release, sets=False, merged=False), *_side_by_side(release)]:
        true = published.true_codes(original)[targets]
        ways = [shares_by_position(published, backwards=backwards) for backwards in (False, True)]
        if not bool((ways[0].end > ways[0].begin).any()):
            continue
        every = [Posterior(published, published.quasi, shares).of_people(original, targets) for shares in ways]
        best = max((guess_likeliest(way, true) for way in every), key=_success_first)
        chance = published.group_rows * published.squares
        tables = published.table.split(" and ")
        own = sorted(name for name in unordered if not published.table or name.split("_")[0] in tables)
        where = f" in {published.table}" if published.table else ""
        yield _result(
            f"{published.attribute}, by the place of rows and values{where}",
            best.success,
            float(chance.sum() / max(1, published.group_of.size)),
            best.targets,
            bool(own),
            attribute=published.attribute,
            adversary=tuple(published.quasi),
            sampled=targets.size < original.height,
            witness=own[0] if own else None,
            note=None if own else "rows are in canonical order: what is right beyond chance comes from values alone",
        )


def _success_first(guesses: Guesses) -> tuple[float, int]:
    return guesses.success, guesses.targets


def _side_by_side(release: Release) -> Iterator[PublishedValues]:
    """Two tables of a `multi` release as if their rows stood side by side: one shows a protected attribute."""
    parts = subtables(release) if release.traits.has_subtables else []
    for one, other in permutations(parts, 2):
        for name in _protected_as_they_are(other):
            rows = one.release.tables[one.rows.name]
            infos = {column.name: column for column in one.rows.named("quasi")}
            if name in one.attributes or not infos or not all(info.exact for info in infos.values()):
                continue
            (info,) = (c for c in other.rows.columns if c.name == name)
            values = CodedColumns.from_series({name: other.release.tables[other.rows.name][name]}, {name: info})
            yield PublishedValues(
                table=f"{one.name} and {other.name}",
                info=info,
                manifest=release.manifest,
                shown=rows.select(*infos),
                infos=infos,
                group_of=np.zeros(rows.height, np.int32),
                starts=np.array([0, rows.height]),
                code=values.codes[0],
                count=np.ones(rows.height),
                handing=np.full(1, HANDED_OUT, np.uint8),
                values=value_series(values.columns[name], info),
            )


def _protected_as_they_are(part: Subtable) -> list[str]:
    """The protected attributes that a table has as they are, row by row."""
    exact = [column.name for column in part.rows.columns if column.exact]
    return [name for name in part.release.manifest.parameters.l if name in exact]


def shares_by_position(published: PublishedValues, *, backwards: bool) -> RowShares:
    """Each row says the value that stands where it stands in its group; nothing where numbers differ."""
    groups, rows = published.starts.size - 1, published.group_of.size
    whole = np.rint(published.count).astype(np.int64)
    sizes = published.group_rows
    values = np.bincount(published.entry_group, whole, groups).astype(np.int64)
    whole[(values != sizes)[published.entry_group]] = 0  # weights, not numbers of rows
    slots = np.repeat(np.arange(published.code.size), whole)  # an entry for each value, in their order
    if not slots.size:
        nothing = np.zeros(1, np.int64)
        return RowShares.unshifted(np.zeros(rows, np.int32), nothing, nothing, published.code, published.count)
    values = np.where(values == sizes, values, 0)
    order = stable_order(published.group_of, groups)
    group = published.group_of[order]
    place = np.arange(order.size) - (np.cumsum(sizes) - sizes)[group]
    place = sizes[group] - 1 - place if backwards else place
    same = values[group] == sizes[group]
    slot = np.minimum((np.cumsum(values) - values)[group] + place, max(0, slots.size - 1))
    begin, end = np.zeros(order.size, np.int64), np.zeros(order.size, np.int64)
    begin[order] = slots[slot]
    end[order] = slots[slot] + same
    return RowShares.unshifted(np.arange(rows), begin, end, published.code, np.ones(published.code.size))


# numbers ------------------------------------------------------------------------------------------------------------


def _numbers(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Numbers of groups compared with the order of the original, and with those of another slice."""
    quasi = [info for info in release.manifest.tables if info.named("group") and info.named("quasi")]
    for info in quasi:
        rows, columns = release.tables[info.name], info.names("group")
        for name in columns:
            place, number = _groups_of_people(release, info, name, original, options)
            yield from _concordance(f"{name} of {info.name}, by the order of the original", place, number)
        for name in columns[1:]:
            both = rows.select(columns[0], name).drop_nulls()
            yield from _concordance(f"{name} by {columns[0]}", both[name].to_numpy(), both[columns[0]].to_numpy())


def _groups_of_people(
    release: Release, info: TableInfo, group: str, original: pl.DataFrame, options: Options
) -> tuple[Ints, Ints]:
    """(places in the original, numbers of the group) of some people whose rows are all in one group."""
    rows = release.tables[info.name].drop_nulls(group)
    if rows[group].n_unique() < FEW:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    targets = replace(options, sample=min(options.sample, ENDS)).targets(original.height)
    candidates = CandidateRows.by_columns(rows, info.named("quasi"), original[targets], release.manifest)
    groups = pl.DataFrame({BOX: candidates.box_of, "number": rows[group]}).unique()
    coverings = candidates.coverings(PAIRS)
    possible = pl.concat([part.pairs.join(groups, on=BOX).unique([CLASS, "number"]) for part in coverings])
    people = pl.DataFrame({CLASS: candidates.class_of, "place": targets})
    one = people.join(possible.filter(pl.col(CLASS).is_unique()), on=CLASS, maintain_order="left")
    return one["place"].to_numpy(), one["number"].to_numpy()


def _concordance(question: str, place: Ints, number: Ints) -> Iterator[Result]:
    """How often the smaller of two numbers comes first, groups taken at their mean place."""
    people = pl.DataFrame({"number": number, "place": place})
    groups = people.group_by("number").agg(pl.col("place").mean()).sort("number")
    if groups.height < FEW or groups["place"].n_unique() < 2:
        return
    ranks = groups["place"].rank().to_numpy()
    rho = float(np.corrcoef(np.arange(ranks.size), ranks)[0, 1])
    agree = 0.5 + abs(math.asin(rho)) / math.pi  # of normal places; exact at 0 and 1
    result = _result(question, agree, 0.5, groups.height, False)
    if abs(rho) * math.sqrt(groups.height - 1) > SURE:
        result = replace(result, promised=0.5, worst=agree, witness="group numbers")
    yield result


# sets ---------------------------------------------------------------------------------------------------------------


def _sets(release: Release, original: pl.DataFrame) -> Iterator[Result]:
    """The true value guessed by its place in a set."""
    if not release.traits.lists_values:
        return
    info = next(iter(release.manifest.tables))
    rows, columns = release.tables[info.name], [c for c in info.named("quasi") if c.exact]
    place = _places(rows, columns, original, release)
    known = np.flatnonzero(place >= 0)
    for column in info.named("sensitive"):
        sets = rows[column.name].gather(known)
        if not known.size or sets.list.len().n_unique() != 1 or column.domain is None:
            continue
        true = _text(original_values(original, column, release.manifest).gather(place[known]))
        size = int(sets.list.len()[0])
        right = [float((_text(sets.list.get(i)) == true).mean() or 0.0) for i in range(size)]  # type: ignore[arg-type]
        drawn = release.manifest.parameters.addition.get(column.name)
        in_order = _in_order(rows[column.name], drawn.values if drawn else ())
        yield _result(
            f"{column.name}, by its place in the set",
            max(right),
            1 / size,
            known.size,
            not in_order,
            attribute=column.name,
            adversary=tuple(c.name for c in columns),
            witness=None if in_order else f"place {int(np.argmax(right)) + 1} of the sets",
            note="sets are in domain order: what is right beyond chance comes from values alone" if in_order else None,
        )


def _in_order(sets: pl.Series, values: Sequence[object]) -> bool:
    """Whether the members of every set stand in the order of these values."""
    place = pl.DataFrame({"value": _text(pl.Series(list(values))), "at": np.arange(len(values))})
    members = _text(sets.explode()).to_frame("value").join(place, on="value", how="left", maintain_order="left")
    lists = members["at"].fill_null(-1).to_numpy().reshape(sets.len(), -1)
    return bool((np.diff(lists, axis=1) > 0).all())


def _text(values: pl.Series) -> pl.Series:
    """Values to be compared: numbers of any type as one, text in one spelling."""
    if values.dtype.is_numeric():
        return values.cast(pl.Float64).cast(pl.String)
    texts = values.cast(pl.String)
    every = texts.unique().drop_nulls()
    return texts.replace_strict(every, cores(every), return_dtype=pl.String) if every.len() else texts


def _places(rows: pl.DataFrame, columns: Sequence[ColumnInfo], original: pl.DataFrame, release: Release) -> Ints:
    """Where in the original each row stands whose values no other row has; -1 for others."""
    if not columns:
        return np.full(rows.height, -1, np.int64)
    names = [f"{i}" for i in range(len(columns))]
    published = pl.DataFrame({n: _text(rows[c.name]) for n, c in zip(names, columns, strict=True)})
    true = [original_values(original, c, release.manifest) for c in columns]
    people = pl.DataFrame({n: _text(values) for n, values in zip(names, true, strict=True)}).with_row_index("at")
    alone = people.filter(pl.struct(names).is_unique())
    published = published.with_columns(pl.struct(names).is_unique().alias("alone"))
    placed = published.join(alone, on=names, how="left", nulls_equal=True, maintain_order="left")
    return placed.select(pl.when("alone").then("at").cast(pl.Int64).fill_null(-1)).to_series().to_numpy()


# index --------------------------------------------------------------------------------------------------------------


def _indices(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Columns that number the rows, and are none of the original's."""
    for info in release.manifest.tables:
        rows = _raw(info, release, options.folder)
        columns = [c for c in info.named("quasi") if c.exact and c.name in rows.columns]
        known = {"group", "count", *info.names("group"), *info.names("count"), *original.columns}
        for name in (name for name in rows.columns if name not in known):
            numbers = rows[name].cast(pl.Int64, strict=False) if _maybe_number(rows[name]) else None
            if numbers is None or numbers.null_count() or rows.height < 2 or not _counts_up(numbers):
                continue
            place = _places(rows, columns, original, release)
            if not (place >= 0).any():  # no quasi-identifiers to check it by; those that are there are
                place = _places(rows, [c for c in info.columns if c.name in original.columns], original, release)
            sure = np.flatnonzero(place >= 0)
            hits = [float((numbers.to_numpy()[sure] - base == place[sure]).sum()) for base in (0, 1)]
            right, chance = max(hits) / max(1, sure.size), 1 / max(2, original.height)
            if right > chance:
                question = f"the row of the original, by {name} of {info.name}"
                yield _result(question, right, chance, sure.size, True, witness=f"column {name}")


def _raw(info: TableInfo, release: Release, folder: Path | None) -> pl.DataFrame:
    """The table as its file has it, columns that the manifest does not name included."""
    if folder is None or not (folder / info.file).is_file():
        return release.tables[info.name]
    if info.file.endswith(".parquet"):
        return pl.read_parquet(folder / info.file, glob=False)
    return pl.read_csv(folder / info.file, infer_schema=False, glob=False)


def _maybe_number(values: pl.Series) -> bool:
    return values.dtype.is_integer() or values.dtype == pl.String


def _counts_up(numbers: pl.Series) -> bool:
    """Whether these are different numbers without wide gaps, as places in a table are: some rows may be suppressed."""
    return numbers.n_unique() == numbers.len() and int(numbers.max()) - int(numbers.min()) < 2 * numbers.len()  # type: ignore[arg-type]


# names --------------------------------------------------------------------------------------------------------------


def _names(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Texts of the original that are named somewhere, and published nowhere."""
    shown = _published(release)
    domains = _domain_texts(release)
    texts = pl.concat([_texts(original[name]) for name in original.columns]).unique()
    hidden = texts.filter(~texts.is_in(shown.implode()))
    named = domains.filter(domains.is_in(hidden.implode()))
    if named.len():
        yield _leak(f"{MANIFEST}: domains", named.len(), hidden.len())
    everything = pl.concat([shown, _manifest_texts(release)])
    hidden = hidden.filter(~hidden.is_in(everything.implode()))
    for info in release.manifest.tables:
        path = None if options.folder is None else options.folder / info.file
        if path is None or not path.is_file() or path.suffix != ".parquet":
            continue
        try:
            rows = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise PluralisError(f"{path.name} cannot be read: {error}. Ask for the release again.") from None
        for where, entries in named_in(path, rows):
            texts = _texts(entries)
            leaked = texts.filter(texts.is_in(hidden.implode()))
            if leaked.len():
                yield _leak(f"{path.name}: {where}", leaked.len(), hidden.len())
        words = _inside(words_in(path), hidden)
        if words:
            yield _leak(f"{path.name}: metadata", words, hidden.len())


def _leak(where: str, named: int, hidden: int) -> Result:
    share = named / hidden
    return Result(
        attack=ATTACK.name,
        question=f"values that are not published, named in {where}",
        targets=hidden,
        sampled=False,
        success=share,
        low=share,
        high=share,
        prior=0.0,
        promised=0.0,
        worst=1.0,
        witness=where,
        note=f"{named:,} values of the original are named that no table shows",
    )


def _texts(values: pl.Series) -> pl.Series:
    """The different texts of a column, in one spelling; numbers are none."""
    if values.dtype.is_numeric() or values.dtype == pl.Boolean or values.dtype.is_temporal():
        return pl.Series([], dtype=pl.String)
    texts = (values.explode() if isinstance(values.dtype, pl.List) else values).cast(pl.String).unique().drop_nulls()
    return cores(texts).unique() if texts.len() else texts


def _published(release: Release) -> pl.Series:
    """Every text that a cell holds, and the members of sets."""
    texts = pl.concat([_texts(frame[name]) for frame in release.tables.values() for name in frame.columns])
    members = texts.filter(texts.str.starts_with("{")).str.strip_chars("{}").str.split(", ").explode()
    return pl.concat([texts, members.str.strip_chars('"').drop_nulls()]).unique()


def _domain_texts(release: Release) -> pl.Series:
    """Texts of domains of columns whose cells show values as they are, of which the table must hold every one."""
    columns = [c for info in release.manifest.tables for c in info.columns if not c.sets]
    shown = [c for c in columns if c.role in ("sensitive", "plain") or (c.role == "quasi" and c.exact)]
    texts = [value for c in shown if c.type == "text" for value in c.domain or () if isinstance(value, str)]
    return _texts(pl.Series(texts, dtype=pl.String))


def _manifest_texts(release: Release) -> pl.Series:
    """Every text of the manifest: what is named there is published."""
    texts: list[str] = []

    def walk(part: object) -> None:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            for key, value in part.items():
                texts.append(str(key))
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(json.loads(release.manifest.to_json()))
    return _texts(pl.Series(texts, dtype=pl.String))


_WORD = re.compile(r"\w+")
PHRASE = 8  # words of a text that is looked for


def _inside(text: str, hidden: pl.Series) -> int:
    """How many of some texts stand in another as words: those of three or more characters, letters among them."""
    words = [(word.start(), word.end()) for word in _WORD.finditer(text)]
    spans = {text[begin:end] for i, (begin, _) in enumerate(words) for _, end in words[i : i + PHRASE]}
    phrases = _texts(pl.Series(sorted(spans), dtype=pl.String))
    phrases = phrases.filter((phrases.str.len_chars() >= 3) & phrases.str.contains(r"\p{L}"))
    return int(phrases.is_in(hidden.implode()).sum())


ATTACK = Files()
