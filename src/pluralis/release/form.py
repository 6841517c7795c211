"""The form of a release: which columns its tables have, what they are called, and that every claim is there.

A release that says less than it shows, or shows more than it says, is not judged: a claim that is not there would hold.
Names are where a forger begins: an adversary who knows `Age` where the column is `age` knows nothing, and a plain
column `disease` beside a sensitive one of another name shows what is claimed to be hidden. So every name is resolved,
to exactly one attribute, or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import polars as pl

from pluralis.errors import ReleaseError
from pluralis.policy.rules import Dependency, Rule
from pluralis.release.bounds import FIELDS, Promise, bound_problems, field_problems, promise_of, promises_of
from pluralis.release.domains import spelling_problems
from pluralis.release.kinds.base import NAMED
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo, claim_words, file_names
from pluralis.release.parameter_form import attributes_named, parameter_problems
from pluralis.release.recodings import too_rare
from pluralis.table.spelling import hides_characters, look_alike

_MODELS = ("frequency", "distinct", "entropy", "recursive", "unique-distinct")
_SENTENCES, _LETTERS = 200, 600  # of what is not stopped

SEVERAL = "several rows of one person"
WORST = "worst measured guess"
UNMEASURED = "not measured at publication"
NOT_ATTACKED = "attacks: what they get was not measured at publication; `pluralis attack` measures it"
GIVEN_AWAY = "given away by a plain column"
MEMBERSHIP = "membership: that a person is in the table is not hidden"
LINKED = "sensitive background knowledge: whoever knows one sensitive value of a person may learn the others"
EXACT = (
    "linkage: quasi-identifiers are published as they are, so that a person's row, though not its sensitive values, "
    "can be found"
)

Tables = Mapping[str, pl.DataFrame]
_R = TypeVar("_R", Rule, Dependency)


def form_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """In what ways tables, parameters and claims do not fit each other."""
    ls, kind = manifest.parameters.l, manifest.traits
    if manifest.rows < 1:
        yield "a release has rows, and the manifest says that this one has none."
        return
    if len({info.name for info in manifest.tables}) < len(manifest.tables):
        yield "two tables have the same name, and only one of them would be judged."
        return
    for info in manifest.tables:
        roles = frozenset(column.role for column in info.columns)
        if roles not in kind.roles(info.name):
            yield f"{info.name}: its columns are not those of this table in a {kind.name} release."
            return
    attributes = {column.attribute or column.name for column in _shown(manifest)}
    listed = {name for info in manifest.tables for name in _attributes(info, tables[info.name])}
    if not {*ls} <= attributes | listed:
        yield "the parameters protect an attribute that no table tells of."
        return
    wrong = [*_names(manifest), *_columns(manifest), *parameter_problems(manifest)]
    if not wrong:
        wrong += bound_problems(manifest, tables)
    if wrong:
        yield from wrong
        return
    shown = [name for info in manifest.tables for name in _attributes(info, tables[info.name])]
    if not _rules_fit(manifest, set(ls)) if kind.has_subtables else set(shown) != set(ls):
        yield "the tables and parameters do not protect the same attributes."
    if not kind.repeats and len(shown) != len(set(shown)):
        yield "an attribute stands in several tables."
    yield from _numbers(manifest, tables)
    yield from _claims(manifest, ls)
    yield from spelling_problems(manifest, tables)
    yield from too_rare(manifest.parameters.recodings, manifest.tables, tables, manifest.suppressed)


# names ------------------------------------------------------------------------------------------------------------


def _names(manifest: Manifest) -> Iterator[str]:
    """Columns that are not called what they are, and attributes whose names read the same."""
    stems = [info.file.rpartition(".")[0] for info in manifest.tables]
    if stems != file_names([info.name for info in manifest.tables]):
        yield "files are not called like their tables."
    yield from manifest.traits.table_problems(manifest.tables)
    for info in manifest.tables:
        names = [column.name for column in info.columns]
        if len(set(names)) < len(names):
            yield f"{info.name}: two columns have the same name."
        for column in info.columns:
            if not manifest.traits.is_called(column, info):
                yield f"{info.name}: the column {column.name!r} is not called what it holds."
    roles: dict[str, set[str]] = {}
    for column in _shown(manifest):
        roles.setdefault(column.attribute or column.name, set()).add(column.role)
    for name in manifest.parameters.l:
        roles.setdefault(name, set())
    for name, several in roles.items():
        if not name.strip() or hides_characters(name):
            yield f"{name!r} cannot be the name of an attribute."
        if len(several) > 1 and not manifest.traits.has_subtables:
            yield f"{name!r} is {' and '.join(sorted(several))} at once."
    alike: dict[str, str] = {}
    for name in roles:
        first = alike.setdefault(look_alike(name), name)
        if first != name:
            yield f"the attributes {first!r} and {name!r} read the same."


def _shown(manifest: Manifest) -> Iterator[ColumnInfo]:
    """The columns that hold values of one attribute."""
    for info in manifest.tables:
        yield from (column for column in info.columns if column.role in NAMED)


def _columns(manifest: Manifest) -> Iterator[str]:
    """Columns that hold labels where values are wanted, or sets, or the other way round."""
    for info in manifest.tables:
        for column in info.columns:
            sets = manifest.traits.lists_values and column.role == "sensitive"
            if bool(column.sets) != sets or bool(column.exact) != manifest.traits.is_exact(column):
                yield f"{info.name}: the column {column.name!r} is not of the form that this kind of release has."
            if column.hierarchy is not None and (column.role != "quasi" or not _is_tree(column.hierarchy)):
                yield f"{info.name}: {column.name!r} has a hierarchy that is not a tree, or has no use for one."
            if column.ordered and not _may_be_ordered(column):
                yield f"{info.name}: {column.name!r} is said to be ordered, and is no text with each value listed once."
            if column.domain is not None and column.role not in NAMED:
                yield f"{info.name}: the column {column.name!r} has no domain of its own."


def _may_be_ordered(column: ColumnInfo) -> bool:
    """Whether a column is text without a hierarchy whose domain lists its values once, a missing one last."""
    domain = column.domain or ()
    text = column.type == "text" and column.hierarchy is None and column.role in NAMED
    return text and bool(domain) and None not in domain[:-1] and len(set(domain)) == len(domain)


def _is_tree(lines: Sequence[Sequence[str]]) -> bool:
    """Whether lines from leaf to root are as long as each other, and have different leaves and one root."""
    even = bool(lines) and bool(lines[0]) and all(len(line) == len(lines[0]) for line in lines)
    return even and len({line[0] for line in lines}) == len(lines) and len({line[-1] for line in lines}) == 1


def _attributes(info: TableInfo, rows: pl.DataFrame) -> list[str]:
    """The sensitive attributes that a table tells of."""
    if info.named("attribute"):
        return sorted(rows["attribute"].unique().drop_nulls())
    return [column.attribute or column.name for column in info.named("sensitive")]


def _rules_fit(manifest: Manifest, protected: set[str]) -> bool:
    """Whether what rules protect stands somewhere, and each table that hides something hides something of theirs.

    One table may show openly what another hides, and hide beside it what goes with it and no rule speaks of.
    """
    shown = {name for info in manifest.tables for role in ("quasi", "sensitive") for name in info.names(role)}
    hidden = [info.names("sensitive") for info in manifest.tables if info.named("sensitive")]
    return protected <= shown and not any(protected.isdisjoint(names) for names in hidden)


def _numbers(manifest: Manifest, tables: Tables) -> Iterator[str]:
    for info in manifest.tables:
        rows = tables[info.name]
        for column in info.columns:
            if column.role == "group" and (rows[column.name] < 1).any():
                yield f"{info.name}: a group has a number below 1."
            if column.role == "group" and (rows[column.name] > manifest.rows).any():
                yield f"{info.name}: a group has a number above the number of rows."
            elif column.role == "group" and rows[column.name].max() != rows[column.name].drop_nulls().n_unique():
                yield f"{info.name}: groups are not numbered from 1 without gaps."
            if column.role == "count" and not rows[column.name].is_between(1, manifest.rows).all():
                yield f"{info.name}: a count is below 1 or above the number of rows."


def unsaid(manifest: Manifest) -> Iterator[str]:
    """What a release of such tables never stops, and this one does not say in `breaks`.

    What attacks got is the publisher's word; these follow from what is published.
    """
    stated = {item.partition(":")[0] for item in manifest.breaks}
    several = len(manifest.parameters.l) > 1
    side_by_side = any(len(info.named("sensitive")) > 1 for info in manifest.tables)
    linked = side_by_side and manifest.parameters.linked and manifest.traits.links_rows
    follows = {
        "membership": True,
        "linkage": any(column.exact for column in _shown(manifest)),
        "suppressed rows": manifest.suppressed > 0,
        "several rows of one person": manifest.parameters.persons,
        "sensitive background knowledge": several and linked,
        "several sensitive attributes": several and manifest.traits.lists_values,
    }
    words = {_about(sentence): sentence for sentence in (MEMBERSHIP, EXACT, LINKED)}
    for name, must in follows.items():
        if must and (name not in stated or words.get(name, manifest.breaks[0]) not in manifest.breaks):
            yield f"it does not say that it does not stop: {name}."
    if sum(_about(item) == WORST for item in manifest.breaks) > 1:
        yield "it names more than one worst measured guess."
    if sum(_about(item) == GIVEN_AWAY for item in manifest.breaks) > 1:
        yield "it names more than one plain column that gives most away."
    if any(_about(item) == _about(MEMBERSHIP) and item != MEMBERSHIP for item in manifest.breaks):
        yield "of membership it says something else than that it is not hidden."
    if len(manifest.breaks) > _SENTENCES or any(len(item) > _LETTERS for item in manifest.breaks):
        yield f"breaks are more than {_SENTENCES} sentences, or one has more than {_LETTERS} letters."


def worst_and_others(breaks: Sequence[str]) -> tuple[str | None, list[str]]:
    """The sentence on the worst measured guess, which stands beside the verdict, if there is one; and the others.

    >>> worst_and_others(["worst measured guess: job, 31 % of people, prior 7 % (plain)", "membership: is not hidden"])
    ('Worst measured guess: job, 31 % of people, prior 7 % (plain).', ['membership: is not hidden'])
    """
    others = [item for item in breaks if _about(item) not in (WORST, GIVEN_AWAY)]
    worst = next((f"{item[:1].upper()}{item[1:]}." for item in breaks if _about(item) == WORST), None)
    return worst, others


def is_unmeasured(sentence: str) -> bool:
    """Whether a sentence says no more than that nothing was attacked.

    >>> is_unmeasured("worst measured guess: not measured at publication"), is_unmeasured("membership: is not hidden")
    (True, False)
    """
    return sentence in (NOT_ATTACKED, f"{WORST}: {UNMEASURED}")


def told_by_plain_column(breaks: Sequence[str]) -> str | None:
    """What a plain column gives away, though every claim holds: that stands beside the verdict, too.

    >>> told_by_plain_column(["given away by a plain column: ward, a plain column, gives disease away"])
    'ward, a plain column, gives disease away'
    """
    return next((item.partition(": ")[2] for item in breaks if _about(item) == GIVEN_AWAY), None)


def _about(sentence: str) -> str:
    return sentence.partition(":")[0]


# claims -----------------------------------------------------------------------------------------------------------


def _claims(manifest: Manifest, ls: dict[str, int]) -> Iterator[str]:
    known = attributes_named(manifest)
    for claim in manifest.claims:
        if claim.model not in (
            *_MODELS,
            *FIELDS,
            "candidates",
            "posterior",
            "posterior-shares",
            "set-size",
            "k-anonymity",
        ):
            raise ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that any release can make.")
        if claim.rule != claim_words(claim, manifest.kind):
            yield f"the claim {claim.rule!r} is not what its fields say."
        wants_l = claim.k is None and claim.model not in FIELDS
        if (claim.k is None) == (claim.attribute is None) or wants_l == (claim.l is None):
            yield f"the claim {claim.rule!r} is about neither rows nor an attribute."
            return
        yield from field_problems(claim)
        if (claim.bound is not None) != (claim.model == "posterior-shares") or not 0 < (claim.bound or 1) <= 1:
            yield f"the claim {claim.rule!r} has no bound between 0 and 1, or one that it does not speak of."
        if claim.bound is not None and claim.bound != float(f"{claim.bound:.4g}"):
            yield f"the claim {claim.rule!r} has a bound of more digits than it says."
        if (claim.c is not None) != (claim.model == "recursive"):
            yield f"the claim {claim.rule!r} has a c that it does not speak of, or none where it needs one."
        strange = sorted({*claim.adversary, *([claim.attribute] if claim.attribute else [])} - known)
        if strange:
            yield f"the claim {claim.rule!r} speaks of {strange[0]!r}, which is no attribute of the release."
        if list(claim.adversary) != sorted({*claim.adversary} - {claim.attribute}):
            yield f"the claim {claim.rule!r} does not say once, in order, what is known."
        if claim.l is not None and not _same_l(claim, ls, at_most=manifest.traits.has_subtables):
            yield f"the claim {claim.rule!r} has another l than the parameters."
    if len({claim.rule for claim in manifest.claims}) < len(manifest.claims):
        yield "a claim is made twice."
    yield from (_rules_claimed if manifest.traits.has_subtables else _policy_claimed)(manifest, ls)


def _rules_claimed(manifest: Manifest, ls: dict[str, int]) -> Iterator[str]:
    for name in ls:
        if not any(claim.attribute == name for claim in manifest.claims):
            yield f"nothing is claimed of {name}."
    known = attributes_named(manifest)
    for dependency in _parsed(Dependency, manifest.parameters.dependencies):
        if isinstance(dependency, str):
            yield dependency
        elif not dependency.attributes <= known:
            yield f"the dependency {str(dependency)!r} speaks of something that is no attribute of the release."
    for rule in _parsed(Rule, manifest.parameters.rules):
        if isinstance(rule, str):
            yield rule
        elif not known.issuperset({*rule.knows, rule.protects}):
            yield f"the rule {str(rule)!r} speaks of something that is no attribute of the release."


def _policy_claimed(manifest: Manifest, ls: dict[str, int]) -> Iterator[str]:
    """Whether the claims are those that follow from the policy, as the parameters tell of it: no fewer, no others.

    Whoever knows every quasi-identifier is always among the adversaries.
    """
    parameters = manifest.parameters
    quasi = {column.name for info in manifest.tables for column in info.named("quasi")}
    adversaries = [quasi, *({*names} for names in parameters.adversaries)]
    promises = {name: promises_of(parameters, name) for name in ls}
    every = sum(map(len, promises.values()))
    fewest = sum(
        every - sum(len(promises.get(name, ())) for name in known) for known in adversaries[1:]
    )  # all different
    if fewest > len(manifest.claims):
        yield f"there are {len(manifest.claims):,} claims, fewer than there are adversaries and attributes to protect."
        return
    pairs = {(frozenset(known), name) for known in adversaries for name in ls if name not in known}
    parsed = list(_parsed(Rule, parameters.rules))
    yield from (rule for rule in parsed if isinstance(rule, str))
    rules = [rule for rule in parsed if isinstance(rule, Rule)]
    attributes = attributes_named(manifest)
    for rule in rules:
        if not attributes.issuperset({*rule.knows, rule.protects}) or quasi.issuperset(rule.knows):
            yield f"the rule {str(rule)!r} is about no attribute of the release, or says nothing that is not said."
    pairs |= {(frozenset(rule.knows), rule.protects) for rule in rules if not quasi.issuperset(rule.knows)}
    expected = {(known, name, promise) for known, name in pairs for promise in promises.get(name, {Promise("l")})}
    made = {
        (frozenset(claim.adversary), claim.attribute, promise_of(claim))
        for claim in manifest.claims
        if claim.attribute is not None
    }
    for known, name, promise in sorted(expected - made, key=lambda one: (sorted(one[0]), one[1], str(one[2]))):
        who = ", ".join(sorted(known)) or "nothing"
        yield f"nothing is claimed of {_what(name, promise)} against whoever knows {who}."
    for known, name, promise in made - expected:
        who = ", ".join(sorted(known))
        yield f"a claim about {_what(name, promise)} against whoever knows {who} is not in the parameters."
    sizes = [claim.k for claim in manifest.claims if claim.k is not None]
    if sizes != ([parameters.k] if parameters.k is not None else []):
        yield "the size of groups that is claimed is not that of the parameters."
    for claim in manifest.claims:
        if claim.model in _MODELS and "models" not in parameters.never:
            asked = parameters.models.get(claim.attribute or "", "frequency")
            if asked != f"recursive {claim.c}" if claim.model == "recursive" else asked != claim.model:
                yield f"the claim {claim.rule!r} has another model than the parameters."


def _what(name: str, promise: Promise) -> str:
    """An attribute, and what is promised of it beside l."""
    value = "" if promise.value is None else f" = {promise.value}"
    return name if promise.key == "l" else f"{name}{value} by {promise.key}"


def _parsed(kind: type[_R], texts: Iterable[str]) -> Iterator[_R | str]:
    """Rules or dependencies of the parameters; a sentence for what is none."""
    for text in texts:
        try:
            yield kind.parse(text)
        except (ValueError, TypeError):
            yield f"parameters: {text!r} is neither a rule nor a dependency."


def _same_l(claim: Claim, ls: dict[str, int], *, at_most: bool) -> bool:
    """Whether l is that of the parameters; one of several rules may ask for less."""
    l = ls.get(claim.attribute or "")
    if at_most and l is not None and claim.l is not None:
        return 2 <= claim.l <= l
    return l == claim.l
