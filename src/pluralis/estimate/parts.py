"""Counting in a release in parts: the sum of what its parts give, which are of different people.

Parts are read one after the other, and those that fit into `keep` bytes stay in memory for the next question; of more,
one at a time is read beside them. Their draws are independent: variances add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from pluralis.display.objects import Columns, Shown
from pluralis.errors import QueryError, ReleaseError
from pluralis.estimate import asked_of, combinations_of, condition_of, estimator_of, table_of
from pluralis.estimate.conditions import Condition
from pluralis.estimate.language import Query
from pluralis.estimate.result import Estimate, summed
from pluralis.progress import stage
from pluralis.release.attributes import attributes_of
from pluralis.release.columns import ColumnInfo
from pluralis.release.manifest import Manifest
from pluralis.release.parts import PartInfo, PartsManifest
from pluralis.release.reading import LIMIT, manifest_of, parts_of, read_release
from pluralis.release.release import Release

KEEP = 1 << 29  # bytes of tables that stay in memory between questions, unless the caller says otherwise

Orders = Mapping[str, Sequence[str]]


def read_parts(folder: str | Path, *, limit: int | None = LIMIT, keep: int = KEEP) -> ReleaseInParts:
    """Read a release in parts: what its parts share, and the hash of each. They are read when something is asked.

    Parameters
    ----------
    folder : str or Path
        The folder that `publish_in_parts` wrote.
    limit : int or None
        Bytes that the tables of one part may unfold to; None for as many as they do.
    keep : int
        Bytes of tables that stay in memory between questions: those of the first parts that fit. 0 keeps none.

    Returns
    -------
    ReleaseInParts
        It counts by itself.

    Raises
    ------
    ReleaseError
        If the folder is not exactly one release in parts.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
    >>> with TemporaryDirectory() as parent:
    ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
    ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
    ...     print(pls.read_parts(f"{parent}/release").count("age < 30"))
    100 (exact)
    """
    parts = parts_of(folder)
    if parts is None:
        raise ReleaseError(f"{folder} is a release that is not in parts. Read it with read_release.")
    return ReleaseInParts(Path(folder), parts.manifest, limit, keep)


@dataclass(frozen=True, repr=False)
class ReleaseInParts(Shown):
    """A release in parts, which counts. `read_parts` returns one.

    Parameters
    ----------
    folder : Path
        Where its parts are.
    manifest : PartsManifest
        What they share, and which there are.
    limit : int, optional
        Bytes that the tables of a part may unfold to.
    keep : int
        Bytes of tables that stay in memory between questions. What is prepared for counting comes on top, one or
        two times as much.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
    >>> with TemporaryDirectory() as parent:
    ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
    ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
    ...     release = pls.read_parts(f"{parent}/release")
    ...     print(release.manifest.rows, release.count("ill = 'd1'").value)
    400 57.0
    """

    folder: Path
    manifest: PartsManifest
    limit: int | None = LIMIT
    keep: int = KEEP
    _kept: dict[str, Release] = field(default_factory=dict, init=False, repr=False, compare=False)

    def parts(self) -> Iterator[Release]:
        """The parts as releases, one after the other.

        Returns
        -------
        iterator of Release
            Each part, read when it is its turn if it was not kept.

        Raises
        ------
        ReleaseError
            If a part is not exactly one release.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
        >>> with TemporaryDirectory() as parent:
        ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
        ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
        ...     release = pls.read_parts(f"{parent}/release")
        ...     sum(part.manifest.rows for part in release.parts())
        400
        """
        with stage("reading the parts") as done:
            for i, info in enumerate(self.manifest.parts):
                yield self._part(info)
                done((i + 1) / len(self.manifest.parts))

    def _part(self, info: PartInfo) -> Release:
        """A part, kept while there is room: as many parts as fit, the first ones, since all are asked in order."""
        if (part := self._kept.get(info.folder)) is None:
            part = read_part(self.folder, info, limit=self.limit)
            if sum(map(_size, (*self._kept.values(), part))) <= self.keep:
                self._kept[info.folder] = part
        return part

    def described(self) -> Release:
        """A release without rows that has the attributes and values of all parts: a query is read with it.

        Returns
        -------
        Release
            The manifest of the first part with the domains of all, and no tables.

        Raises
        ------
        ReleaseError
            If the manifest of a part cannot be read.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
        >>> with TemporaryDirectory() as parent:
        ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
        ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
        ...     release = pls.read_parts(f"{parent}/release")
        ...     release.described().manifest.rows
        400
        """
        return self._described

    @cached_property
    def _described(self) -> Release:
        manifests = [manifest_of(self.folder / info.folder) for info in self.manifest.parts]
        return Release(_of_all(manifests, self.manifest.orders), {})

    def count(self, where: Condition | Query | str | None = None, *, confidence: float = 0.95) -> Estimate:
        """How many published rows pass a condition, with an interval.

        Parameters
        ----------
        where : condition or str, optional
            As for a release that is not in parts.
        confidence : float
            How often the interval covers the count.

        Returns
        -------
        Estimate
            The count, its interval, and what the interval rests on.

        Raises
        ------
        QueryError
            If the condition cannot be read, or names what the release does not hold.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
        >>> with TemporaryDirectory() as parent:
        ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
        ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
        ...     release = pls.read_parts(f"{parent}/release")
        ...     print(release.count("age < 30"))
        100 (exact)
        """
        asked = asked_of(self.described(), where, confidence)
        if asked.by:
            raise QueryError("A count is one number. For BY use `table`, or leave it out.")
        return summed([estimator_of(part).count(asked.where, confidence) for part in self.parts()])

    def table(self, query: Query | str, *, confidence: float = 0.95) -> pl.DataFrame:
        """A count for each combination of values of the attributes after BY.

        Parameters
        ----------
        query : str
            As for a release that is not in parts.
        confidence : float
            How often an interval covers its count.

        Returns
        -------
        polars.DataFrame
            Those attributes, then `value`, `low`, `high` and `basis`.

        Raises
        ------
        QueryError
            If the query cannot be read, or names what the release does not hold.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": [f"d{i % 7}" for i in range(400)]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="anatomy")
        >>> with TemporaryDirectory() as parent:
        ...     settings = {"part": 200, "workers": 0, "key": pls.Key.test(), "allow_test": True}
        ...     _ = pls.publish_in_parts(people, policy, f"{parent}/release", **settings)
        ...     release = pls.read_parts(f"{parent}/release")
        ...     release.table("COUNT WHERE age < 22 BY age").select("age", "value").rows()[:2]
        [(20, 10.0), (21, 10.0)]
        """
        described = self.described()
        asked, infos = asked_of(described, query, confidence), attributes_of(described)
        missing = {name for name in asked.by if None in (infos[name].domain or ())}
        missing |= {name for part in self.parts() for name in asked.by if estimator_of(part).missing(name)}
        combinations = combinations_of(asked, infos, lambda name: name in missing)
        conditions = [condition_of(asked, values) for values in combinations]
        of_parts = []
        for part in self.parts():
            estimator = estimator_of(part)
            of_parts.append([estimator.count(condition, confidence) for condition in conditions])
        return table_of(asked, infos, combinations, [summed(each) for each in zip(*of_parts, strict=True)])

    def _parts(self) -> Iterator[str | Columns]:
        stated = self.manifest
        size = f"{stated.rows:,} rows in {len(stated.parts):,} parts, {stated.suppressed:,} suppressed"
        yield f"Release by {stated.method}, {stated.kind}: {size}{', made with the test key' if stated.test else ''}"
        yield "Promised:"
        yield Columns(("",), [[claim] for claim in stated.claims])


def read_part(folder: Path, info: PartInfo, *, limit: int | None = LIMIT) -> Release:
    """One part of a release, which its manifest describes so."""
    part = read_release(folder / info.folder, limit=limit)
    if hashlib.sha256(part.manifest.to_json().encode()).hexdigest() != info.sha256:
        raise ReleaseError(f"{info.folder} changed while it was read. Read the release again.")
    return part


def _size(part: Release) -> int:
    """Bytes of its tables."""
    return sum(int(table.estimated_size()) for table in part.tables.values())


def _of_all(manifests: Sequence[Manifest], orders: Orders) -> Manifest:
    """The manifest of the first part with the domains of all."""
    first = manifests[0]
    tables = tuple(
        info.model_copy(
            update={
                "columns": tuple(
                    _with_domain(column, [one.tables[i].columns[j] for one in manifests], orders)
                    for j, column in enumerate(info.columns)
                )
            }
        )
        for i, info in enumerate(first.tables)
    )
    names = dict.fromkeys(name for one in manifests for name in one.parameters.domains)
    domains = {}
    for name in names:
        described = [own for one in manifests if (own := one.parameters.domains.get(name)) is not None]
        domains[name] = _with_domain(described[0], described, orders)
    parameters = first.parameters.model_copy(update={"domains": domains})
    rows = sum(one.rows for one in manifests)
    return first.model_copy(update={"tables": tables, "parameters": parameters, "rows": rows})


def _with_domain(column: ColumnInfo, alike: Sequence[ColumnInfo], orders: Orders) -> ColumnInfo:
    """A column with the domain, and the hierarchy, of this column in all parts."""
    if column.domain is None:
        return column
    every = {value for own in alike for value in own.domain or ()}
    if column.type == "number":
        numbers = [value for value in every if isinstance(value, (int, float))]
        return column.model_copy(update={"domain": (min(numbers), max(numbers)) if numbers else ()})
    texts = orders[column.attribute or column.name] if column.ordered else sorted(every - {None}, key=str)
    lines = {line[0]: line for own in alike for line in own.hierarchy or ()}
    return column.model_copy(
        update={
            "domain": (*(value for value in texts if value in every), *([None] if None in every else [])),
            "hierarchy": tuple(lines[leaf] for leaf in sorted(lines)) if lines else column.hierarchy,
        }
    )
