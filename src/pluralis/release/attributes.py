"""What a release can be asked about: its attributes, and how their values are spelled in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import pairwise

import polars as pl

from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.table.labels import OrderedDomain, in_order_of_numbers, is_binned
from pluralis.table.spelling import cores

ASKED = ("quasi", "plain", "sensitive")


def attributes_of(release: Release) -> dict[str, ColumnInfo]:
    """The quasi, plain and sensitive attributes of all tables, whatever columns hold them.

    A sensitive attribute whose values stand in rows of `attribute` and `value` is described by the manifest's
    `domains`. An attribute that is to be protected is sensitive, though some table may show it openly. Every `name` is
    that of the attribute.

    >>> from pluralis.release.manifest import Manifest, TableInfo
    >>> value = ColumnInfo(name="value", role="sensitive", type="text", attribute="disease", domain=("flu", "hiv"))
    >>> count = ColumnInfo(name="count", role="count", type="number")
    >>> table = TableInfo(name="sensitive_disease", file="sensitive_disease.parquet", columns=(value, count))
    >>> manifest = Manifest(method="decomposition", variant="hardened", kind="decomposed", rows=2, suppressed=0,
    ...                     claims=(), breaks=(), tables=(table,),
    ...                     parameters={"linked": True, "l": {"disease": 2}, "options": {}, "primary": "disease"})
    >>> [(name, info.name, info.domain) for name, info in attributes_of(Release(manifest, {})).items()]
    [('disease', 'disease', ('flu', 'hiv'))]
    """
    manifest = release.manifest
    columns = [column for table in manifest.tables for column in table.columns if column.role in ASKED]
    columns += manifest.parameters.domains.values()
    infos: dict[str, ColumnInfo] = {}
    ordered: dict[str, list[Sequence[object]]] = {}
    for info in columns:
        name = info.attribute or info.name
        if info.ordered:
            ordered.setdefault(name, []).append(info.domain or ())
        if name not in infos or _as_they_are(info) > _as_they_are(infos[name]):
            infos[name] = info.model_copy(update={"name": name, "attribute": name})
    for name, domains in ordered.items():
        if len(domains) > 1:
            infos[name] = infos[name].model_copy(update={"domain": merged(domains)})
    for name in manifest.parameters.l:
        if name in infos:
            domain = infos[name].domain
            if (
                is_binned(domain) and not infos[name].ordered
            ):  # in a table that shows it openly they stand in the order of text
                domain = tuple(in_order_of_numbers([str(label) for label in domain or ()]))
            infos[name] = infos[name].model_copy(update={"role": "sensitive", "domain": domain})
    return infos


def merged(domains: Sequence[Sequence[object]]) -> tuple[str | None, ...]:
    """The values of several domains in an order that is that of each of them, a missing one last.

    >>> merged([("low", "high", None), ("low", "mid"), ("mid", "high")])
    ('low', 'mid', 'high', None)
    """
    after: TopologicalSorter[str] = TopologicalSorter()
    for domain in domains:
        texts = [value for value in domain if isinstance(value, str)]
        for value in texts:
            after.add(value)
        for one, two in pairwise(texts):
            after.add(two, one)
    missing = [None] if any(None in domain for domain in domains) else []
    return (*after.static_order(), *missing)


def ordered_domain(info: ColumnInfo) -> OrderedDomain | None:
    """The values of an ordered attribute in their order; None of another attribute."""
    return OrderedDomain([str(value) for value in info.domain or () if value is not None]) if info.ordered else None


def _as_they_are(info: ColumnInfo) -> bool:
    """Whether a column holds values, not labels."""
    return bool(info.exact) or info.role == "sensitive"


def holds_bins(info: ColumnInfo) -> bool:
    """Whether an attribute is a sensitive number that is published in intervals."""
    return info.role == "sensitive" and not info.ordered and is_binned(info.domain)


def texts_of(info: ColumnInfo) -> list[str]:
    """The values that a text attribute can have: those that were published, then other leaves of its hierarchy."""
    published = [value for value in info.domain or () if isinstance(value, str)]
    return list(dict.fromkeys([*published, *(line[0] for line in info.hierarchy or ())]))


class Spellings:
    """The published spelling of whatever an analyst writes for a value of one attribute.

    >>> info = ColumnInfo(name="disease", role="sensitive", type="text", domain=("Flu", "HIV"))
    >>> spellings = Spellings(info, fold_case=True)
    >>> spellings.lookup(" hiv"), spellings.lookup("flue")
    ('HIV', None)
    """

    def __init__(self, info: ColumnInfo, *, fold_case: bool) -> None:
        self.texts = texts_of(info)
        self._fold_case = fold_case

    @cached_property
    def _published(self) -> frozenset[str]:
        return frozenset(self.texts)

    @cached_property
    def _by_core(self) -> dict[str, str]:
        folded = cores(pl.Series(self.texts, dtype=pl.String), fold_case=self._fold_case)
        return dict(reversed([*zip(folded, self.texts, strict=True)]))

    def lookup(self, text: str) -> str | None:
        """The published spelling, or None where no value is spelled like this."""
        if text in self._published:
            return text
        return self._by_core.get(cores(pl.Series([text]), fold_case=self._fold_case)[0])
