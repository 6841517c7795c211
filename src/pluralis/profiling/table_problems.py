"""What is wrong with a policy for one table: its columns, their values, what cannot be had, and what could mislead."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import polars as pl

from pluralis.assembling.building import build
from pluralis.attacks.told_in_cells import told_in_cells
from pluralis.errors import Infeasible, InputError, PluralisError, PolicyError, closest, did_you_mean
from pluralis.grouping.eligibility import largest_l, require_eligible, smallest_bound
from pluralis.method import AUTO, method_for, methods
from pluralis.policy.policy import Policy
from pluralis.profiling.bounding import bounds_for
from pluralis.profiling.drafting import TRIED, flow, understood
from pluralis.profiling.drawn_rows import breaks_of, drawn_rows, keys_for
from pluralis.profiling.explaining import Explanation
from pluralis.profiling.plain_columns import finds_rows, told_by
from pluralis.profiling.problems import Examined, attribute_keys, read_settings
from pluralis.profiling.profiles import Profile
from pluralis.profiling.shapes import shape_of
from pluralis.profiling.vocabulary import identifies_people, identifying, meaning_of, names_a_person, words_of
from pluralis.randomness import Draw, Key
from pluralis.release.kinds import kind_named
from pluralis.table.canonical import as_text
from pluralis.table.encoding import Table, encode
from pluralis.table.named_values import bounds_by_code, code_of
from pluralis.table.spelling import cores

MOST_TRIES = 12
LARGE, SAMPLED = 20_000, 10_000  # rows beyond which a table is large, and those of it that are planned
HIGHER = (1.05, 1.1, 1.25, 1.5, 2, 3)  # times the bounds that values keep in the whole table
MOST_FAULTS = 5  # in the values of one column
_REFUSALS = (Infeasible, InputError, PolicyError)


def look_at_columns(examined: Examined, frame: pl.DataFrame) -> None:
    """Columns that the table does not have, columns of which the policy says nothing, roles to be decided."""
    policy = examined.mended
    assert policy is not None
    present = frame.columns
    for name in dict.fromkeys(policy.needed):
        if name in present:
            continue
        if name == policy.person:
            _look_for_the_person(examined, name, present)
            continue
        only_named = name not in policy.columns  # in a hierarchy, where a column of another role may stand, too
        free = [one for one in present if only_named or one not in policy.needed]
        close = [one for one in free if one.casefold() == name.casefold()]
        close += difflib.get_close_matches(name, free, n=1, cutoff=0.6)
        rule = next((rule for rule in policy.rules if name in (*rule.knows, rule.protects)), None)
        who = f"The rule `{rule}`" if rule is not None and name not in policy.attributes else "The policy"
        message = f"{who} names {name!r}, the table has no such column. {did_you_mean(name, present)}"
        if close:
            examined.note("columns", message, _place_of(policy, name), change=f"{name!r} becomes {close[0]!r}")
            examined.rename_column(name, close[0])
        else:
            examined.note("columns", message, _place_of(policy, name), change=f"{name!r} is gone from the policy")
            examined.drop_column(name)
    read_settings(examined)
    if examined.mended is None:
        return
    unnamed = [name for name in present if name not in examined.mended.needed]
    if unnamed and examined.mended.others is None:
        shown = ", ".join(map(repr, unnamed[:8])) + (f" and {len(unnamed) - 8} more" if len(unnamed) > 8 else "")
        message = f"The policy says nothing about {shown}. Give each a role, or write `others: drop` to leave them out."
        examined.note("columns", message, change="others: drop")
        examined.data["others"] = "drop"
    for name in examined.mended.named("decide"):
        message = f"The role of {name!r} is not decided. Write quasi, sensitive, plain or identifier in its place."
        examined.note(
            "columns", message, ("attributes", name), change=f"{name!r} becomes an identifier until you decide"
        )
        examined.data["attributes"][name] = {"role": "identifier"}
    read_settings(examined)
    _look_at_method(examined)


def _look_for_the_person(examined: Examined, name: str, present: list[str]) -> None:
    """A person column that is not there is another one, or cannot be mended: without it nobody is kept apart."""
    alike = [one for one in present if one.casefold() == name.casefold()]
    close = [*alike, *difflib.get_close_matches(name, present, n=1, cutoff=0.6)]
    message = f"The policy names {name!r} as the person, the table has no such column. {did_you_mean(name, present)}"
    examined.note("columns", message, ("person",), change=f"person: {close[0]!r}" if close else "")
    if close:
        examined.data["person"] = close[0]
        if name in examined.data.get("attributes", {}):
            examined.drop_column(name)


def _place_of(policy: Policy, name: str) -> tuple[str | int, ...]:
    """Where a policy names a column."""
    if name in policy.attributes:
        return ("attributes", name)
    number = next((i for i, rule in enumerate(policy.rules) if name in (*rule.knows, rule.protects)), None)
    return () if number is None else ("rules", number)


def _look_at_method(examined: Examined) -> None:
    for _ in range(MOST_FAULTS):
        policy = examined.mended
        if policy is None or policy.publish.method == AUTO:
            return
        try:
            method_for(policy)
        except PolicyError as refusal:
            publish = examined.data.setdefault("publish", {})
            if policy.publish.method not in methods():
                close = difflib.get_close_matches(policy.publish.method, methods(), n=1, cutoff=0.6)
                change = f"method: {close[0] if close else 'bsgi'}"
                publish["method"] = close[0] if close else "bsgi"
            elif (meant := _respelled_option(str(refusal))) is not None:
                publish["options"] = _with_word(publish["options"], *meant)
                change = f"option {meant[0]} becomes {meant[1]}"
            else:
                change = "the method's options are gone"
                publish.pop("options", None)
                publish.pop("variant", None)
            examined.note("policy", str(refusal), ("publish",), change=change)
            read_settings(examined)
        else:
            return


def _respelled_option(refusal: str) -> tuple[str, str] | None:
    """The word in the options of a method that no method knows, and what was meant by it.

    >>> _respelled_option("publish.options: bsgi has no option 'refin'. Did you mean 'refine'?")
    ('refin', 'refine')
    """
    words = re.fullmatch(r"publish\.options[^:]*: [^']*'(.+)'[^']*\. Did you mean '(.+)'\?", refusal)
    return None if words is None else (words[1], words[2])


def _with_word(options: Any, old: str, new: str) -> Any:
    """Options with another word in the place of one, be it a key or a value."""
    if isinstance(options, dict):
        return {_with_word(key, old, new): _with_word(value, old, new) for key, value in options.items()}
    if isinstance(options, list):
        return [_with_word(value, old, new) for value in options]
    return new if options == old else options


def look_at_values(examined: Examined, frame: pl.DataFrame) -> None:
    """Each column read as the policy says: text in numbers, gaps, one value in two spellings, trees without leaves."""
    policy = examined.mended
    assert policy is not None
    if not frame.height:
        raise InputError("The table has no rows. There is nothing to publish.")
    if policy.person is not None and policy.person in frame.columns:
        person = as_text(frame[policy.person], [])
        texts = person.str.strip_chars()
        gaps = int((person.is_null() | texts.is_in(["", *policy.missing])).sum())
        if gaps:
            message = (
                f"The person column {policy.person!r} is missing in {gaps:,} rows. Fill it or leave those rows out."
            )
            examined.note("values", message, ("person",))
    for name, attribute in policy.columns.items():
        if attribute.role == "identifier" or name not in frame.columns:
            continue
        for _ in range(MOST_FAULTS):
            refusal = _refusal(lambda name=name: alone(examined, frame, name))  # type: ignore[misc]
            if refusal is None:
                break
            change = _mend_values(examined, name, refusal, frame)
            examined.note("values", refusal, ("attributes", name), change=change)
            if not change:
                break
            read_settings(examined)


def alone(examined: Examined, frame: pl.DataFrame, name: str) -> Table:
    """One column encoded by itself, as the mended policy says."""
    policy = examined.mended
    assert policy is not None
    table = encode(frame, _only(policy, name))
    if policy.columns[name].role == "sensitive":
        bounds_by_code(table[name], policy.columns[name])  # or a refusal: it names a value that no row holds
    return table


def _only(policy: Policy, name: str, keys: dict[str, Any] | None = None) -> Policy:
    """The policy of one column, with the keys that it has or others."""
    keys = attribute_keys(policy, name) if keys is None else keys
    data: dict[str, Any] = {"version": 1, "attributes": {name: keys}, "others": "drop"}
    data |= {"missing": list(policy.missing), "publish": {"suppress": policy.publish.suppress}}
    return Policy.from_dict(data, folder=policy.folder)


def _refusal(action: Callable[[], Any]) -> str | None:
    """Why something is refused, or None."""
    refusal = _refused(action)
    return None if refusal is None else str(refusal)


def _refused(action: Callable[[], Any]) -> PluralisError | None:
    try:
        action()
    except _REFUSALS as refusal:
        return refusal
    return None


def _mend_bounds(examined: Examined, name: str, frame: pl.DataFrame) -> str:
    """Give the bounds of values that no row holds to those that were meant.

    Where nothing is close it stays as it is: which value was meant is for whoever wrote it, and without its bound it
    would not be protected. Of two bounds of one value the smaller is kept.
    """
    policy = examined.mended
    assert policy is not None
    attribute, column = policy.columns[name], encode(frame, _only(policy, name))[name]
    known = column.value_texts()
    bounds: dict[str, str] = {}
    for text, share in (attribute.at_most or {}).items():
        code = code_of(column, text, fold_case=attribute.case == "fold")
        meant = closest(text, known) if code is None else column.text(code)
        if meant is None:
            return ""
        if meant not in bounds or Fraction(share) < Fraction(bounds[meant]):
            bounds[meant] = share
    examined.keys(name)["at_most"] = bounds
    return f"at_most: {flow(bounds)} for {name!r}"


def _mend_order(examined: Examined, name: str, frame: pl.DataFrame) -> str:
    """Spell what an order lists and no row holds like the value that is close to it and not listed."""
    policy = examined.mended
    assert policy is not None
    keys, fold_case = examined.keys(name), policy.columns[name].case == "fold"
    unordered = {key: value for key, value in attribute_keys(policy, name).items() if key != "order"}
    values = encode(frame, _only(policy, name, unordered))[name].value_texts()
    listed = [str(value) for value in keys["order"]]
    place = {core: i for i, core in enumerate(cores(pl.Series(listed), fold_case=fold_case))}
    held_cores = cores(pl.Series(values, dtype=pl.String), fold_case=fold_case).to_list()
    free = [listed[i] for core, i in place.items() if core not in held_cores]
    for value in (value for value, core in zip(values, held_cores, strict=True) if core not in place):
        meant = closest(value, free)
        if meant is None:
            return ""
        free.remove(meant)
        listed[listed.index(meant)] = value
    keys["order"] = listed
    return f"order: {flow(listed)} for {name!r}"


def _mend_icd(examined: Examined, name: str, frame: pl.DataFrame) -> str:
    """Read codes of diagnoses by the other revision, where they are of that one."""
    assert examined.mended is not None
    keys = examined.keys(name)
    for path in (("hierarchy",), ("rare", "along")):
        changed = copy.deepcopy(keys)
        inner: Any = changed
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or "icd" not in inner:
            continue
        inner["icd"] = 9 if inner["icd"] == 10 else 10
        policy = _only(examined.mended, name, attribute_keys(examined.mended, name) | changed)
        refusal = _refusal(lambda policy=policy: encode(frame, policy))  # type: ignore[misc]
        if refusal is None or "no ICD-" not in refusal:
            keys.update(changed)
            return f"icd: {inner['icd']} for {name!r}"
    return _join_without_chapters(examined, name, frame)


def _join_without_chapters(examined: Examined, name: str, frame: pl.DataFrame) -> str:
    """Join rare codes, some of which belong to no revision, to one value, where what is asked can still be had."""
    assert examined.mended is not None
    keys, policy = examined.keys(name), examined.mended
    rare = keys.get("rare")
    if not isinstance(rare, dict) or "along" not in rare:
        return ""
    joined = {"below": rare["below"], "as": "other"}
    filled = {"if_missing": {"as": "unknown"}} | attribute_keys(policy, name) | {"rare": joined}
    asked = _only(policy, name, filled)
    if _refusal(lambda: require_eligible(encode(frame, asked), asked, Draw(Key.test()))) is not None:
        return ""
    keys["rare"] = joined
    return f"rare: {flow(joined)} for {name!r}"


def _mend_values(examined: Examined, name: str, refusal: str, frame: pl.DataFrame) -> str:
    """Change the keys of a column so that its values can be read, and say how."""
    keys, series = examined.keys(name), frame[name]
    if ".at_most:" in refusal and "at_most" in keys:
        return _mend_bounds(examined, name, frame)
    if "which its `order` does not list" in refusal and (change := _mend_order(examined, name, frame)):
        return change
    if re.search(r"no ICD-(9|10) code", refusal) and (change := _mend_icd(examined, name, frame)):
        return change
    if "is a number in the policy" in refusal:
        texts = as_text(series, []).str.strip_chars()
        counts = dict(texts.drop_nulls().value_counts().iter_rows())
        marks = shape_of(counts, words_of(name)).marks if counts else ()
        known = examined.data.get("missing", [""])
        new = [mark for mark in marks if mark not in known]
        if new:
            examined.data["missing"] = [*known, *new]
            return f"missing: {', '.join(map(repr, new))}"
        for key in ("type", "bin", "hierarchy", "top", "bottom", "breaks", "bins"):
            keys.pop(key, None)
        return f"{name!r} is text"
    if "if_missing" in refusal:
        number = keys.get("type") == "number"
        keys["if_missing"] = "drop" if number else {"as": "unknown"}
        return f"if_missing: {'drop' if number else '{as: unknown}'}"
    if "read alike" in refusal:
        texts = as_text(series, []).drop_nulls().str.strip_chars()
        if texts.str.contains(r"^-?\d+(\.\d+)?$").all():
            keys["type"] = "number"
            return "type: number"
        keys["case"] = "keep"
        return "case: keep"
    if "hierarchy" in keys:
        del keys["hierarchy"]
        return "the hierarchy is gone: sets of values, or intervals, are published"
    for key in ("order", "rare", "breaks", "bins", "bin", "top", "bottom", "at_most", "type"):
        if key in keys:
            del keys[key]
            return f"{key} is gone"
    return ""


def look_at_promises(examined: Examined, frame: pl.DataFrame) -> None:
    """Whether each sensitive attribute can be as diverse as it is asked to be."""
    policy = examined.mended
    assert policy is not None
    for name in policy.sensitive:
        table = _readable(examined, frame, name)
        if table is None:
            continue
        asked = _only(policy, name)
        refusal = _refusal(lambda table=table, asked=asked: require_eligible(table, asked, Draw(Key.test())))  # type: ignore[misc]
        if refusal is not None:
            change = _lower(examined, name, table)
            examined.note("feasibility", refusal, ("attributes", name), 3, change)
    read_settings(examined)


def _readable(examined: Examined, frame: pl.DataFrame, name: str) -> Table | None:
    try:
        return alone(examined, frame, name)
    except _REFUSALS:
        return None  # it is among the problems already


def _lower(examined: Examined, name: str, table: Table) -> str:
    """Bounds that its values keep, the largest l that they allow, a bound for the rarer ones, or not published."""
    best, keys = _largest_eligible(examined, name, table), examined.keys(name)
    if (raised := _raised(examined, name, table)) is not None:
        return f"at_most: {raised} for {name!r}"
    if best >= 2:
        if "l" in keys:
            keys["l"] = best
        for i, rule in enumerate(examined.mended.rules if examined.mended is not None else ()):
            if rule.protects == name and rule.l > best:
                examined.data["rules"][i] = str(rule.model_copy(update={"l": best}))
        return f"l: {best} for {name!r}"
    bounds = bounds_for(table, name, keys)
    others = {key: value for key, value in keys.items() if key not in ("l", "model", "c")}
    if (
        bounds is not None
        and keys.get("role") == "sensitive"
        and understood("sensitive", {**others, "at_most": bounds.at_most})
    ):
        keys.clear()
        keys.update({**others, "at_most": bounds.at_most})
        return f"at_most for {name!r}, {bounds.words()}"
    examined.drop_column(name)
    examined.data.setdefault("attributes", {})[name] = {"role": "identifier"}
    return f"{name!r} becomes an identifier, which is not published"


def _largest_eligible(examined: Examined, name: str, table: Table) -> int:
    """The largest l that an attribute allows, with the rows suppressed that may be."""
    policy, best = examined.mended, largest_l(table[name].counts)
    assert policy is not None
    alone = _only(policy, name)
    if best < 2 or not policy.publish.suppress:
        return best

    def works(l: int) -> bool:
        return _refusal(lambda: require_eligible(table, alone, Draw(Key.test()), {name: l})) is None

    return _largest(best, policy.l(name), works)


def _largest(works_with: int, too_large: int, works: Callable[[int], bool]) -> int:
    """The largest number between two that works, where smaller ones do.

    >>> _largest(1, 100, lambda number: number <= 37)
    37
    """
    while too_large - works_with > 1:
        middle = (works_with + too_large) // 2
        works_with, too_large = (middle, too_large) if works(middle) else (works_with, middle)
    return works_with


def _raised(examined: Examined, name: str, table: Table) -> str | None:
    """Raise the bounds of values that are more common; None where none is, or one could not be below 1."""
    assert examined.mended is not None
    attribute, counts, keys = examined.mended.columns[name], table[name].counts, examined.keys(name)
    texts = {
        code: text for text, code in zip(attribute.at_most or {}, bounds_by_code(table[name], attribute), strict=True)
    }
    above = [
        code for code, share in bounds_by_code(table[name], attribute).items() if counts[code] > share * table.rows
    ]
    shares = {texts[code]: smallest_bound(int(counts[code]), table.rows) for code in above}
    if not above or None in shares.values():
        return None
    keys["at_most"] = {**keys["at_most"], **shares}
    return flow(keys["at_most"])


def look_at_rules(examined: Examined, explanation: Explanation) -> None:
    """Rules that cannot be kept as they are written, and dependencies that the table does not show."""
    policy = examined.mended
    assert policy is not None
    several = policy.publish.method != AUTO and kind_named(method_for(policy).kind).has_subtables
    for hole in explanation.holes:
        message = f"`{hole.rule}` cannot be kept: {hole.because} in this table."
        examined.note("rules", f"{message} Drop the rule, or list that under coincidences if nobody could know it.",
                      ("rules",), 3 * several)  # fmt: skip
    for torn in explanation.torn:
        examined.note("rules", torn.because, ("rules",), 3 * several)
    for dependency in explanation.contradicted:
        key = "dependencies" if dependency in policy.dependencies else "coincidences"
        number = getattr(policy, key).index(dependency)
        message = f"`{dependency}` is not so in this table: rows agree on the left and differ on the right. Remove it."
        examined.note("rules", message, (key, number), 0, f"`{dependency}` is gone")
        lines = [line for i, line in enumerate(examined.data[key]) if i != number]
        examined.data[key] = lines
        if not lines:
            del examined.data[key]
    read_settings(examined)


def look_at_the_whole(examined: Examined, frame: pl.DataFrame) -> None:
    """Build the mended policy as publishing does, and weaken it until that is possible.

    Of a large table drawn rows are planned first. What they refuse counts only if all rows refuse it, too: on fewer
    rows values are rarer, and shares are not quite what they are. What they allow is tried on all rows, up to TRIED.
    """
    whole, frame = frame, drawn_rows(frame, SAMPLED, "check") if frame.height > LARGE else frame
    for _ in range(MOST_TRIES):
        policy = examined.mended
        if policy is None or policy.publish.method == AUTO or any(p.code and not p.change for p in examined.problems):
            return
        examined.tried = frame.height
        refusal = _refused_by(policy, frame, whole)
        if frame.height < whole.height and (refusal is not None or whole.height <= TRIED[-1]):
            fits, examined.tried = refusal is None, whole.height
            refusal = _refused_by(policy, whole, whole)
            frame = whole if fits else frame  # what helps is tried on rows that show what is wrong
        if refusal is None:
            return
        change = _weaken(examined, frame, whole, str(refusal))
        examined.note("feasibility", str(refusal), _place_named(policy, str(refusal)), refusal.exit_code, change)
        if not change:
            return
        read_settings(examined)


def _refused_by(policy: Policy, rows: pl.DataFrame, whole: pl.DataFrame) -> PluralisError | None:
    """Why some rows of a table, or all, cannot be published."""
    return _refused(lambda: build(rows, _for_rows(policy, rows, whole), Key.test()))


def _place_named(policy: Policy, refusal: str) -> tuple[str | int, ...]:
    """The attribute that a refusal begins with, or what is asked of the method."""
    name = next((name for name in policy.attributes if refusal.startswith(repr(name))), None)
    return ("publish",) if name is None else ("attributes", name)


def _for_rows(policy: Policy, drawn: pl.DataFrame, whole: pl.DataFrame) -> Policy:
    """The policy for drawn rows."""
    if drawn.height == whole.height:
        return policy
    data = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    attributes, part = data.get("attributes", {}), drawn.height / whole.height
    for name, keys in attributes.items():
        if name in whole.columns:
            attributes[name] = keys_for(keys, part, breaks_of(whole, name, keys, policy.missing))
    return Policy.from_dict(data, folder=policy.folder)


def _weaken(examined: Examined, frame: pl.DataFrame, whole: pl.DataFrame, refusal: str) -> str:
    """The first change, the mildest first, with which the whole can be published; else one that comes nearer."""

    def works(tried: dict[str, Any]) -> bool:
        policy = Policy.from_dict(tried, folder=examined.folder) if _well_formed(tried) else None
        return policy is not None and _refused_by(policy, frame, whole) is None

    for change, apply in _milder(examined, refusal, works):
        tried = apply()
        if works(tried):
            examined.data = tried
            return change
    return ""


def _well_formed(data: dict[str, Any]) -> bool:
    return _refusal(lambda: Policy.from_dict(data)) is None


def _milder(
    examined: Examined, refusal: str, works: Callable[[dict[str, Any]], bool]
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Changes that may help, each with what the policy is then; `works` tries one."""

    def with_publish(**keys: Any) -> dict[str, Any]:
        data = copy.deepcopy(examined.data)
        data["publish"] = {**data.get("publish", {}), **keys}
        return data

    if (meant := _respelled_option(refusal)) is not None:
        options = _with_word(examined.data["publish"]["options"], *meant)
        yield f"option {meant[0]} becomes {meant[1]}", lambda: with_publish(options=options)
    for share in re.findall(r"suppress: (0\.\d+)", refusal):
        if float(share) <= 0.1:
            yield f"suppress: {share}", lambda share=share: with_publish(suppress=float(share))  # type: ignore[misc]
    rare = re.search(r"rare: \{below: (\d+), as: (\w+)\}", refusal)
    name = next((name for name in examined.data.get("attributes", {}) if repr(name) in refusal), None)
    if rare is not None and name is not None:
        keys = {"rare": {"below": int(rare[1]), "as": rare[2]}}
        yield f"rare: {keys['rare']} for {name!r}", lambda: _with_keys(examined, name, keys)
    for factor in HIGHER if _bounds_raised(examined) else ():
        raised = _with_higher_bounds(examined, factor)
        yield f"bounds {factor:g} times as high", lambda raised=raised: raised  # type: ignore[misc]
    for method in ("bsgi", "mondrian"):
        publish = {key: value for key, value in examined.data.get("publish", {}).items() if key == "suppress"}
        changed = {**examined.data, "publish": {**publish, "method": method}}
        yield f"method: {method}", lambda changed=changed: copy.deepcopy(changed)  # type: ignore[misc]
    most = _largest(1, _asked(examined), lambda l: works(_with_l(examined, l)))
    if most > 1:
        yield f"no l above {most}", lambda: _with_l(examined, most)
    if isinstance(asked := examined.data.get("k"), int):
        k = _largest(1, asked, lambda k: works({**copy.deepcopy(examined.data), "k": k}))
        if k > 1:
            yield f"k: {k}", lambda: {**copy.deepcopy(examined.data), "k": k}
        yield "k is gone", lambda: {key: value for key, value in copy.deepcopy(examined.data).items() if key != "k"}
    if not any(keys.get("role") == "sensitive" for keys in examined.data.get("attributes", {}).values() if keys):
        changed = {**copy.deepcopy(examined.data), "k": 5, "publish": {"method": "mondrian"}}
        yield "k: 5, method: mondrian: no column is left to protect", lambda: changed


def _with_keys(examined: Examined, name: str, keys: dict[str, Any]) -> dict[str, Any]:
    data = copy.deepcopy(examined.data)
    data["attributes"][name] = {**(data["attributes"][name] or {}), **keys}
    return data


def _asked(examined: Examined) -> int:
    """The largest l that anything is asked to have."""
    assert examined.mended is not None
    return max((examined.mended.l(name) for name in examined.mended.sensitive), default=0)


def _with_l(examined: Examined, most: int) -> dict[str, Any]:
    """The policy with no l above this, in attributes and rules."""
    data, policy = copy.deepcopy(examined.data), examined.mended
    assert policy is not None
    for keys in data.get("attributes", {}).values():
        if keys and keys.get("l", 0) > most:
            keys["l"] = most
    for i, rule in enumerate(policy.rules):
        if rule.l > most:
            data["rules"][i] = str(rule.model_copy(update={"l": most}))
    return data


def _bounds_raised(examined: Examined) -> list[str]:
    """The attributes whose bounds were raised to what their values keep in the whole table, if not in each group."""
    names = examined.data.get("attributes", {})
    raised = (problem for problem in examined.problems if problem.group == "feasibility")
    changes = [problem.change for problem in raised if problem.change.startswith("at_most: ")]
    return [name for name in names if any(change.endswith(f" for {name!r}") for change in changes)]


def _with_higher_bounds(examined: Examined, factor: float) -> dict[str, Any]:
    """The policy with higher bounds where they were raised."""
    assert examined.mended is not None
    data = copy.deepcopy(examined.data)
    for name in _bounds_raised(examined):
        bounds: dict[str, Any] = data["attributes"][name]["at_most"]
        before = (examined.document.data["attributes"].get(name) or {}).get("at_most") or {}
        parsed = examined.mended.columns[name].at_most or {}
        for text in [text for text, share in bounds.items() if before.get(text) != share]:
            bounds[text] = f"{min(99.9, round(factor * 100 * float(Fraction(parsed[text])), 1)):g}%"
    return data


def look_at_what_misleads(examined: Examined, look: Profile, frame: pl.DataFrame) -> None:
    """What is no error, and still would not be what a careful person wants."""
    policy = examined.mended
    assert policy is not None
    columns = {column.name: column for column in look.columns}
    for name, attribute in policy.columns.items():
        meaning, column = meaning_of(name), columns.get(name)
        if attribute.role not in ("plain", "quasi", "sensitive") or column is None:
            continue
        place = ("attributes", name)
        if column.role == "identifier" and (identifies_people(name) or names_a_person(name)):
            examined.note("misleading", identifying(name, str(attribute.role)), place, 0)
        elif attribute.role == "sensitive":
            continue
        elif meaning is not None and meaning.role == "sensitive":
            shown = "as it is" if attribute.role == "plain" else "as something that others know"
            about = f"Its name speaks of {meaning.topic} ({meaning.term})"
            message = (
                f"{name!r} is published {shown}. {about}: make it sensitive, if nobody should learn it of a person."
            )
            examined.note("misleading", message, place, 0)
        elif attribute.role == "plain" and column.role == "identifier":
            message = f"{name!r} is published as it is, and {column.reason}. Make it an identifier."
            examined.note("misleading", message, place, 0)
        elif attribute.role == "plain" and (message := finds_rows(column, look.rows) or ""):
            examined.note("misleading", message, place, 0)
    associated = dict(told_by(policy, frame, look))
    for name, message in associated.items():
        examined.note("misleading", message, ("attributes", name), 0)
    named = {role: [name for name in policy.named(role) if name in columns] for role in ("plain", "quasi")}
    plain = [name for name in named["plain"] if name not in associated]
    for cell in told_in_cells(frame, plain, named["quasi"], [name for name in policy.sensitive if name in columns]):
        examined.note("misleading", str(cell), ("attributes", cell.plain[0]), 0)
    if policy.person is None and (person := look.person) is not None and person in policy.columns:
        message = (
            f"{person!r} repeats in several rows: if it names people, add `person: {person}`, or no group is kept "
        )
        examined.note("misleading", f"{message}from holding one of them twice.", ("attributes", person), 0)
    if not policy.sensitive:
        k = "groups of k rows" if policy.k is not None else "nothing"
        examined.note("misleading", f"No column is sensitive: {k} is all that is promised.", ("attributes",), 0)
    if policy.publish.variant == "paper":
        message = "variant: paper publishes what the paper prints, which the audit may refuse. Use hardened."
        examined.note("misleading", message, ("publish", "variant"), 0)
