"""Publishing the same people again: what may take the place of an earlier release, and what it tells beside it.

Same      The same table, policy and key give the same tables, and whoever holds both releases has one. Any other
          tables under the same key tell of the same people a second time, be it that a row was added, or that a method
          or an option is another. People then have the values that both leave possible (`attacks.successive`): of 3,000
          people by anatomy at l = 3, one row more leaves only one value to 30 %.
Refused   such a second release, unless every method so far gives a row the same each time (`Method.keeps`) and nobody
          can have become another row, or the policy says `republish: independent`. Rows are known by their person, or,
          where the policy names none, by all that they hold: then one in which anything is corrected is another row,
          with another draw, and both releases tell of it. So rows may be added, and none may go. What a second release
          costs is measured on the spot, with the earlier release, and said: in the refusal, or in `breaks` of what is
          published.
Known by  the key file, which lists the releases made under its key (`Key.made`), so that a release that was moved away
          or sent to somebody is remembered; and by the release that is to be replaced, for keys without a list.
Two keys  Where the private folder of a release is gone, a new key would make a second release by itself: refused, too.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pluralis.attacks.adversary.several_releases import Remaining, remaining
from pluralis.attacks.base import Options
from pluralis.display.words import percent
from pluralis.errors import InputError, OutputError, PolicyError, ReleaseError
from pluralis.method import method_named
from pluralis.publishing.atomic_folders import restore
from pluralis.publishing.attack_scores import PEOPLE, TARGETS
from pluralis.randomness import Key, Made
from pluralis.release.manifest import MANIFEST, Manifest
from pluralis.release.reading import parse_manifest, read_release
from pluralis.release.release import Release
from pluralis.table.parquet_files import Packed

PRIVATE = ".private"
SUCCESSIVE = "successive: an earlier release of the same people was made independently of this one; "


@dataclass(frozen=True, eq=False)
class Known:
    """Some people of the original, of whom it is asked what two releases tell, and how many people there are."""

    rows: pl.DataFrame
    people: int

    @classmethod
    def sampled(cls, original: pl.DataFrame, people: int, *, in_order: bool) -> Known:
        """Drawn from the rows as they stand, or, if figures are to be published, from their canonical order."""
        if original.height <= TARGETS:
            return cls(original, people)
        if in_order:
            original = original.select(sorted(original.columns)).sort(pl.all(), nulls_last=True)
        return cls(original[Options(sample=TARGETS).targets(original.height)], people)


class Before(NamedTuple):
    """What lies where a release is to go: the bytes of a manifest, and the key of the private folder."""

    manifest: bytes | None
    key: Key | None
    made: tuple[Made, ...]


def private_of(target: Path) -> Path:
    return target.with_name(target.name + PRIVATE)


def key_for(folder: str | Path) -> Key:
    """The key to publish to a folder with: its private folder's, or a new one if nothing was published there yet.

    Parameters
    ----------
    folder : str or Path
        The release folder, there or not.

    Returns
    -------
    Key
        What to pass to `publish`.

    Raises
    ------
    OutputError
        If a release is there and its private folder is gone: a new key would make a second release of the same people.
    InputError
        If the key cannot be read, or others can read it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30], "disease": ["flu", "hiv"]})
    >>> policy = pls.Policy(quasi=["age"], sensitive={"disease": 2})
    >>> with TemporaryDirectory() as folder:
    ...     first = pls.publish(people, policy, key=key_for(f"{folder}/release"), attacks=False)
    ...     _ = first.save(f"{folder}/release")
    ...     key_for(f"{folder}/release").key_bytes == first.key.key_bytes
    True
    """
    target = Path(folder).absolute()
    try:
        restore(private_of(target))
        key = _key_in(private_of(target))
    except OSError as error:
        raise InputError(f"{private_of(target)} cannot be read: {error.strerror}. Publish as its owner.") from None
    if key is None and (target / MANIFEST).exists():
        raise _second_key(target)
    return key or Key.new()


def _key_in(private: Path) -> Key | None:
    """The key of a private folder; None where there is no such file, not even one that cannot be used."""
    try:
        os.lstat(private / "key")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Key.read(private / "key")


def before(target: Path) -> Before:
    """What lies there now."""
    manifest = target / MANIFEST
    key = _key_in(private_of(target))
    return Before(manifest.read_bytes() if manifest.is_file() else None, key, () if key is None else key.made)


def made_of(release: Release) -> Made:
    """A release as the key file remembers it: by what its tables hold, whatever format they are written in."""
    assert isinstance(release.tables, Packed)
    packed = release.tables.packed
    return Made(release.manifest.method, _digest({name: hashlib.sha256(packed[name]).hexdigest() for name in packed}))


def _digest(tables: dict[str, str]) -> str:
    text = "".join(f"{name}\0{sha256}\0" for name, sha256 in sorted(tables.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def key_after(earlier: Before, key: Key, made: Made | None = None) -> Key:
    """The key to keep, with all releases made under it, and this one."""
    whole = changed(key, made=tuple(dict.fromkeys((*earlier.made, *key.made))))
    return whole if made is None else whole.with_release(made)


def require_key(target: Path, earlier: Before, key: Key) -> None:
    """Refuse a second key for the same private folder: it would make two releases of the same people."""
    if earlier.key is not None and not key.repeats(earlier.key):
        raise OutputError(
            f"{private_of(target).name} holds another key, of an earlier release. Publish with that key (the command "
            f"line does so by itself, in Python pass key=pluralis.key_for('{target}')), or choose another name: two "
            "releases of the same people under two keys can be intersected."
        )


def said_of(target: Path, earlier: Before, release: Release, key: Key, known: Known | None,
            independent: bool) -> str | None:  # fmt: skip
    """What a release tells beside earlier ones of the same people, as a sentence for `breaks`; None if nothing.

    Raises OutputError where that was not asked for.
    """
    require_key(target, earlier, key)
    own = made_of(release)
    there = None if earlier.manifest is None else _manifest(earlier.manifest)
    same = there is not None and _same_tables(target, there, release, own)
    if earlier.manifest is not None and earlier.key is None and not same:
        raise _second_key(target)
    made = key_after(earlier, key).made
    others = [one.method for one in made if one.tables != own.tables]
    if earlier.manifest is not None and not same:
        others.append("" if there is None else there.method)
    if earlier.key is not None and earlier.manifest is None and not made:
        others.append("")  # the key of an earlier version: what was made under it is not known
    if not others or (all(map(_keeps, (own.method, *others))) and _are_known(target, there, release)):
        return None
    if same:
        assert there is not None
        sentences = (sentence for sentence in there.breaks if sentence.startswith(SUCCESSIVE))
        return next(sentences, SUCCESSIVE + _NOT_MEASURED)
    costs = _measured(target, release, known) if there is not None else None
    if independent or any(one.tables == own.tables for one in made):
        return SUCCESSIVE + _consequence(costs, known, publicly=True)
    where = f"the one in {target}" if earlier.manifest is not None else "the one that was made before under this key"
    why = f"the table, the policy or the method changed, and {own.method} then groups people anew"
    if all(map(_keeps, (own.method, *others))):
        why = (
            "some of its rows are no longer there. The policy names no `person`, so that a row in which anything was "
            "corrected, now or later, is another row, with values drawn anew"
        )
    raise OutputError(
        f"This release is not {where}: {why}. W{_consequence(costs, known, publicly=False)[1:]}. Publish the same "
        "table under the same policy, or write `republish: independent` in the policy if that may be known of "
        "these people: the release then says so. If nobody has the earlier release, remove it and "
        f"{private_of(target).name}, and publish afresh."
    )


_NOT_MEASURED = "whoever holds both can intersect them, and what that tells was not measured"


def _second_key(target: Path) -> OutputError:
    return OutputError(
        f"{target} holds a release and {private_of(target).name}, with its key, is gone. A new key would make a second "
        "release of the same people, independent of the first, and whoever holds both keeps only the values that both "
        "leave possible: often one. Restore the private folder from a backup, or publish under another name, knowing "
        "that the two releases can be intersected."
    )


def _manifest(data: bytes) -> Manifest | None:
    try:
        return parse_manifest(data)
    except ReleaseError:
        return None


def _same_tables(target: Path, there: Manifest, release: Release, own: Made) -> bool:
    """Whether a folder holds the same tables: the same files, or, in another format, the same rows."""
    if [info.name for info in there.tables] != [info.name for info in release.manifest.tables]:
        return False
    if _digest({info.name: info.sha256 for info in there.tables}) == own.tables:
        return True
    old = _read(target)
    return old is not None and all(table.equals(release.tables[name]) for name, table in old.tables.items())


def _read(target: Path) -> Release | None:
    try:
        return read_release(target)
    except ReleaseError:
        return None


def _keeps(method: str) -> bool:
    """Whether a method gives a row the same each time; of one that is not known, no."""
    try:
        return bool(method) and method_named(method).keeps
    except PolicyError:
        return False


def _are_known(target: Path, there: Manifest | None, release: Release) -> bool:
    """Whether all rows that were published before are still there, so that none can have become another row.

    Each release under a key then has all rows of those before it, whichever of them somebody holds.
    """
    if release.manifest.parameters.persons:
        return True
    old = None if there is None else _read(target)
    if old is None:
        return False
    return not _without(old, release)


def _without(one: Release, other: Release) -> bool:
    """Whether a release has rows, as published, that another one has not as often."""
    for name, rows in one.decoded().tables.items():
        others = other.decoded().tables.get(name)
        if others is None or others.columns != rows.columns:
            return True
        counts, other_counts = (
            table.group_by(pl.all()).agg(pl.len().alias("\0rows")) for table in (_flat(rows), _flat(others))
        )
        both = counts.join(other_counts, on=rows.columns, how="left", nulls_equal=True, suffix="\0other")
        if (both["\0rows"] > both["\0rows\0other"].fill_null(0)).any():
            return True
    return False


def _flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with sets as text, so that they can be compared."""
    return rows.with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join("\0")
        for name, kind in rows.schema.items()
        if isinstance(kind, pl.List)
    )


def _measured(target: Path, release: Release, known: Known | None) -> Remaining | None:
    """What the release in a folder and a new one leave possible together, where that is least; None if not known."""
    old = _read(target)
    if old is None or known is None:
        return None
    options = Options(sample=max(1, known.rows.height))
    try:
        results = [*remaining(release.decoded(), [old.decoded()], known.rows, options)]
    except InputError:  # the earlier release has columns that this one does not know
        return None
    return max(results, key=lambda left: (left.certain, left.short, left.gained), default=None)


def _consequence(costs: Remaining | None, known: Known | None, *, publicly: bool) -> str:
    """What two releases tell together; in numbers to the publisher, in public only of many people."""
    if costs is None or known is None:
        return _NOT_MEASURED
    name, l = costs.claim.attribute, costs.claim.l or 0
    if not costs.gained:
        return f"whoever holds both is left no fewer values of {name} by it, as far as was measured"
    if publicly and min(costs.targets, known.people) < PEOPLE:
        one = ", of some people only one" if costs.certain else ""
        return f"whoever holds both is left fewer values of {name} than either leaves possible{one}"
    short, certain = (percent(count / costs.targets) for count in (costs.short, costs.certain))
    fewer = f", and fewer than {l} for {short}" if l > 2 else ""
    return f"whoever holds both is left only one value of {name} for {certain} of people{fewer}"
