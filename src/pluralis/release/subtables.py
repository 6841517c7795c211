"""The subtables of a `multi` release, each as a release of its own."""

from __future__ import annotations

import re
from typing import NamedTuple

from pluralis.errors import ReleaseError
from pluralis.release.manifest import Manifest, TableInfo
from pluralis.release.release import Release

PLAIN = "plain"  # a table of exact columns, in which nothing is hidden
ROWS = "rows"  # its name
_NAME = re.compile(r"(t[1-9]\d*)(?:_(quasi|sensitive))?")


class Subtable(NamedTuple):
    """What one subtable shows and which of it it protects, and it as a release.

    The release has the kind `bucketized` (tables `quasi` and `sensitive`), `generalized` (`microdata`), or `plain`
    (`rows`), and promises nothing by itself.
    """

    name: str
    attributes: tuple[str, ...]
    protects: tuple[str, ...]
    release: Release

    @property
    def kind(self) -> str:
        return self.release.kind

    @property
    def rows(self) -> TableInfo:
        """The table that has a row for each person."""
        return self.release.manifest.tables[0]


def subtables(release: Release) -> list[Subtable]:
    """The subtables of a `multi` release, in order.

    >>> from pluralis import Key, Policy, publish
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": list("ffmm"), "zip": list("abab"), "disease": ["flu", "hiv", "flu", "gout"]})
    >>> rules = ["zip -> disease : l=2", "disease -> sex : l=2"]
    >>> policy = Policy.from_dict({"version": 1, "rules": rules, "publish": {"method": "uad"}})
    >>> for part in subtables(publish(people, policy, key=Key.test())):
    ...     print(part.name, part.attributes, part.protects, part.kind)
    t1 ('sex', 'zip') () plain
    t2 ('disease',) () plain
    """
    parts: dict[str, list[TableInfo]] = {}
    for info in release.manifest.tables:
        name = _NAME.fullmatch(info.name)
        if name is None or info.name not in release.tables:
            raise ReleaseError(f"{info.name} is no table of a release of this kind. Ask for the release again.")
        parts.setdefault(name[1], []).append(info)
    ordered = sorted(parts, key=lambda name: int(name[1:]))
    return [_subtable(name, parts[name], release) for name in ordered]


def _subtable(name: str, infos: list[TableInfo], release: Release) -> Subtable:
    called = {info.name.removeprefix(name).removeprefix("_"): info for info in infos}
    if set(called) == {"quasi", "sensitive"}:
        kind, names = "bucketized", {"quasi": called["quasi"], "sensitive": called["sensitive"]}
    elif set(called) != {""}:
        raise ReleaseError(f"{name} is neither one table nor {name}_quasi and {name}_sensitive. Ask for it again.")
    elif called[""].named("group"):
        kind, names = "generalized", {"microdata": called[""]}
    else:
        kind, names = PLAIN, {ROWS: called[""]}
    tables = tuple(info.model_copy(update={"name": new}) for new, info in names.items())
    columns = [column for info in tables for column in info.columns if column.role in ("quasi", "plain", "sensitive")]
    plainly = {column.attribute or column.name for column in columns if column.exact or column.role == "sensitive"}
    parameters = release.manifest.parameters
    own_l = {attribute: l for attribute, l in parameters.l.items() if attribute in plainly}
    manifest: Manifest = release.manifest.model_copy(
        update={"kind": kind, "claims": (), "tables": tables, "parameters": parameters.model_copy(update={"l": own_l})}
    )
    own = Release(manifest, {new: release.tables[info.name] for new, info in names.items()})
    attributes = dict.fromkeys(column.attribute or column.name for column in columns)
    protects = dict.fromkeys(column.attribute or column.name for column in columns if column.role == "sensitive")
    return Subtable(name, tuple(attributes), tuple(protects), own)
