"""Changes of tables: cells, rows, groups, columns, types."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import polars as pl

from fuzz.draft import Draft, Sheet
from fuzz.mutations import NASTY, mutation, respelled
from fuzz.seeds import PEOPLE


def _sheet(draft: Draft, random: Random) -> Sheet:
    return random.choice(draft.sheets)


@mutation
def cell(draft: Draft, random: Random) -> None:
    """One cell is another: that of another row, another spelling, missing, or something strange."""
    sheet = _sheet(draft, random)
    if not sheet.rows or not sheet.names:
        return
    for _ in range(random.choice([1, 1, 2, 4])):
        row, place = random.choice(sheet.rows), random.randrange(len(sheet.names))
        value = row[place]
        way = random.randrange(7)
        if way <= 2:
            row[place] = random.choice(sheet.rows)[place]
        elif way == 3 and isinstance(value, str):
            row[place] = respelled(value, random)
        elif way == 3 and isinstance(value, list) and value:
            row[place] = [*value[:-1], random.choice([value[0], None])]
        elif way == 4:
            row[place] = "" if sheet.is_csv else None
        elif way == 5 and isinstance(value, int | float) and not isinstance(value, bool):
            row[place] = random.choice([value + 1, value - 1, 0, -value, 2**62, 2**63 - 1])
        elif way == 5 and isinstance(value, str) and value.isdigit():
            row[place] = str(int(value) + random.choice([-1, 1, 2**31]))
        elif way == 6:
            row[place] = str(random.choice(NASTY[:40])) if sheet.is_csv else value


@mutation
def one_value_for_all(draft: Draft, random: Random) -> None:
    """All rows of a group, or of a column, hold one value, in several spellings."""
    sheet = _sheet(draft, random)
    texts = [place for place in range(len(sheet.names)) if sheet.rows and isinstance(sheet.rows[0][place], str)]
    if not texts or not sheet.rows:
        return
    place = random.choice(texts)
    value = random.choice([row[place] for row in sheet.rows if isinstance(row[place], str)])
    spelled = [value, *(respelled(value, random) for _ in range(4))]
    for row in sheet.rows:
        if random.random() < 0.8:
            row[place] = random.choice(spelled)


@mutation
def numbers_spelled_apart(draft: Draft, random: Random) -> None:
    """`5`, `5.0`, `5.00` in the place of numbers, wherever numbers stand as text."""
    for sheet in draft.sheets:
        for place in range(len(sheet.names)):
            digits = [row for row in sheet.rows if isinstance(row[place], str) and row[place].isdigit()]
            if len(digits) > 1:
                value = random.choice(digits)[place]
                for zeros, row in enumerate(digits):
                    row[place] = value + ("." + "0" * zeros if zeros else "")
                parameters = draft.manifest.get("parameters")
                domains = parameters.get("domains") if isinstance(parameters, dict) else None
                for column in domains.values() if isinstance(domains, dict) else []:
                    if isinstance(column, dict) and column.get("type") == "number":
                        column["domain"] = [int(value), int(value)]


@mutation
def row(draft: Draft, random: Random) -> None:
    """A row more or less, in the manifest too."""
    sheet = _sheet(draft, random)
    if not sheet.rows:
        return
    more = random.random() < 0.5
    if more:
        sheet.rows.append(list(random.choice(sheet.rows)))
    elif len(sheet.rows) > 1:
        sheet.rows.pop(random.randrange(len(sheet.rows)))
    if random.random() < 0.5 and type(draft.manifest.get("rows")) is int:
        draft.manifest["rows"] += 1 if more else -1


@mutation
def people(draft: Draft, random: Random) -> None:
    """A person more or less of a group, wherever the group is counted: all numbers agree."""
    groups = [r[s.names.index("group")] for s in draft.sheets if "group" in s.names for r in s.rows]
    if not groups or type(draft.manifest.get("rows")) is not int:
        return
    group, gone = random.choice(groups), False
    for sheet in draft.sheets:
        if "group" not in sheet.names:
            continue
        members = [r for r in sheet.rows if r[sheet.names.index("group")] == group]
        if len(members) > 1:
            sheet.rows.remove(random.choice(members))
            gone = gone or "count" not in sheet.names
    draft.manifest["rows"] -= int(gone)


@mutation
def groups_merged(draft: Draft, random: Random) -> None:
    """Two groups become one, or a row changes its group, in one table or in all."""
    numbers = sorted({r[s.names.index("group")] for s in draft.sheets if "group" in s.names for r in s.rows}, key=str)
    if len(numbers) < 2:
        return
    one, other = random.sample(numbers, 2)
    for sheet in draft.sheets if random.random() < 0.6 else [_sheet(draft, random)]:
        if "group" in sheet.names:
            place = sheet.names.index("group")
            for r in sheet.rows:
                if r[place] == one and random.random() < 0.9:
                    r[place] = other


@mutation
def column_more(draft: Draft, random: Random) -> None:
    """One more column: a copy of another, from this table or the next, under a name of its own."""
    sheet = _sheet(draft, random)
    source = random.choice(draft.sheets) if random.random() < 0.5 else sheet
    if not sheet.names or not source.names:
        return
    place = random.randrange(len(source.names))
    cells = [source.rows[i % len(source.rows)][place] if source.rows else None for i in range(len(sheet.rows))]
    name = random.choice(
        ["x", "note", source.names[place] + " ", respelled(source.names[place], random), source.names[place], "real"]
    )
    described = next(
        (copy.deepcopy(c) for c in draft.columns(source) if c.get("name") == source.names[place]), {"type": "text"}
    )
    described |= {"name": name, "role": random.choice(["plain", "plain", "quasi", "sensitive"])}
    described["attribute"] = random.choice([name, described.get("attribute", name)])
    put = random.choice([0, len(sheet.names)])
    if name in sheet.names and not sheet.is_csv:
        return
    sheet.names.insert(put, name)
    sheet.kinds.insert(put, source.kinds[place] if source.is_csv == sheet.is_csv else pl.String)
    for r, value in zip(sheet.rows, cells, strict=True):
        r.insert(put, value)
    if random.random() < 0.8 and isinstance(draft.info(sheet).get("columns"), list):
        draft.info(sheet)["columns"].insert(put, described)


@mutation
def original_shown(draft: Draft, random: Random) -> None:
    """What people really hold beside who they are: in a table that has a row for each of them, or in one more."""
    people = PEOPLE.head(draft.manifest["rows"] if type(draft.manifest.get("rows")) is int else 8)
    sensitive = random.choice(["disease", "drug", "bill"])
    described: dict[str, Any] = {
        "type": "number" if sensitive == "bill" else "text",
        "role": random.choice(["plain", "quasi"]),
        "exact": True,
    }
    occurring = sorted(people[sensitive].to_list())
    described["domain"] = [occurring[0], occurring[-1]] if sensitive == "bill" else sorted(set(occurring))
    name = random.choice([sensitive, "x", respelled(sensitive, random)])
    sheet = random.choice(draft.sheets)
    if draft.manifest.get("kind") == "multi" and random.random() < 0.6:
        number = 1 + max((int(s.file[1]) for s in draft.sheets if s.file[1:2].isdigit()), default=0)
        file = f"t{number}.{'csv' if sheet.is_csv else 'parquet'}"
        ages = [[str(a), str(v)] if sheet.is_csv else [a, v] for a, v in people.select("age", sensitive).rows()]
        draft.sheets.append(
            Sheet(file, ["age", name], [None, None] if sheet.is_csv else people.select("age", sensitive).dtypes, ages)
        )
        age = {"name": "age", "role": "quasi", "type": "number", "attribute": "age", "exact": True}
        columns = [
            age | {"domain": [20, people["age"].max()]},
            {"name": name, **described, "role": "quasi", "attribute": name},
        ]
        draft.manifest["tables"].append(
            {**copy.deepcopy(draft.info(sheet)), "name": f"t{number}", "file": file, "columns": columns}
        )
    elif "age" in sheet.names and len(sheet.rows) == people.height and name not in sheet.names and not sheet.is_csv:
        values = dict(zip(people["age"].to_list(), people[sensitive].to_list(), strict=True))
        place = sheet.names.index("age")
        for r, other in zip(sheet.rows, values.values(), strict=True):
            r.insert(0, other if isinstance(r[place], list) else values.get(r[place], other))
        sheet.names.insert(0, name)
        sheet.kinds.insert(0, people.schema[sensitive])
        if isinstance(draft.info(sheet).get("columns"), list):
            draft.info(sheet)["columns"].insert(
                0, {"name": name, **described, "attribute": random.choice([name, sensitive])}
            )


@mutation
def column_renamed_apart(draft: Draft, random: Random) -> None:
    """A sensitive column under the name of a plain one, and the other way round (attribute and name differ)."""
    for sheet in draft.sheets:
        sensitive = [c for c in draft.columns(sheet) if c.get("role") == "sensitive"]
        others = [c for c in draft.columns(sheet) if c.get("role") in ("plain", "quasi")]
        if sensitive and others:
            one_column, other_column = random.choice(sensitive), random.choice(others)
            one, two = one_column["name"], other_column["name"]
            if one in sheet.names and two in sheet.names:
                a, b = sheet.names.index(one), sheet.names.index(two)
                one_column["name"], other_column["name"] = two, one
                sheet.names[a], sheet.names[b] = two, one
            return


@mutation
def other_type(draft: Draft, random: Random) -> None:
    sheet = _sheet(draft, random)
    if not sheet.is_csv and sheet.names:
        place = random.randrange(len(sheet.names))
        sheet.kinds[place] = random.choice(
            [
                pl.Int32,
                pl.UInt64,
                pl.Float64,
                pl.Float32,
                pl.String,
                pl.Boolean,
                pl.Categorical,
                pl.Binary,
                pl.Date,
                pl.Object,
                pl.List(pl.Int64),
                pl.Decimal(10, 2),
            ]
        )
        if sheet.kinds[place] == pl.Object:
            sheet.kinds[place] = pl.Int8


@mutation
def shuffled(draft: Draft, random: Random) -> None:
    random.shuffle(_sheet(draft, random).rows)
    draft.in_order = False


@mutation
def left_as_it_is(draft: Draft, random: Random) -> None:
    """Sentences or domains are not rewritten."""
    draft.sentences, draft.domains = random.random() < 0.5, random.random() < 0.5
