"""Changes to release folders, one function each: of names and claims, of the manifest's tree, of cells and columns, of
bytes, of files. A change takes a Draft and a generator and changes the draft, or does nothing where it does not apply.

Changes that put something where no reader of tables and claims would see it say so in `draft.hidden`: a folder that has
such a thing must not pass.
"""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.draft import MANIFEST, README, Draft, Sheet, to_json

Mutation = Callable[[Draft, Random], None]
HOMOGLYPHS = str.maketrans("aeopcxy", "аеорсху")  # Cyrillic
NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53 + 1, 2**62, 2**63, 2**64, 10**30, 0.5, 1.0, 2.0, 1e308, float("nan"),
    float("inf"), "", " ", "x", "2", "null", "*", "{", "[1, 2]", "a" * 5000, "\x1b[2J", "\u202e", "\ud800", [], {}, [[]],
    {"l": 2}, "../../etc/passwd", "group", "count", "attribute", "value", "t1", "^.*$",
)  # fmt: skip
MUTATIONS: dict[str, Mutation] = {}


def mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__] = function
    return function


# names and claims ------------------------------------------------------------------------------------------------------


def respelled(text: str, random: Random) -> str:
    """Another text that looks, or counts, the same."""
    ways: list[Callable[[str], str]] = [
        lambda t: t.translate(HOMOGLYPHS), lambda t: t + " ", lambda t: " " + t, lambda t: t + "\u200b", str.upper,
        str.title, lambda t: t + "\u00ad", lambda t: "\ufeff" + t, lambda t: t.replace("f", "ﬀ"[:1]), str.swapcase,
        lambda t: t + ".0", lambda t: t + ".00", lambda t: "0" + t, lambda t: "+" + t, lambda t: t + "e0",
        lambda t: t + "\n", lambda t: t + "\t", lambda t: t + "\x00", lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t),
    ]  # fmt: skip
    return random.choice(ways)(text)


def _claims(draft: Draft) -> list[dict[str, Any]]:
    claims = draft.manifest.get("claims")
    return [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []


def _attributes(draft: Draft) -> list[str]:
    return sorted({str(c.get("attribute") or c.get("name")) for sheet in draft.sheets for c in draft.columns(sheet)})


@mutation
def adversary(draft: Draft, random: Random) -> None:
    """Somebody who knows another thing, or the same under another name."""
    for claim in random.sample(_claims(draft), min(len(_claims(draft)), random.choice([1, 1, 9]))):
        knows = list(claim.get("adversary") or [])
        way = random.randrange(5)
        if way == 0 and knows:
            at = random.randrange(len(knows))
            knows[at] = respelled(str(knows[at]), random)
        elif way == 1:
            knows.append(random.choice([*_attributes(draft), "weather", ""]))
        elif way == 2 and knows:
            knows.pop(random.randrange(len(knows)))
        elif way == 3:
            knows = sorted({*knows, *_attributes(draft)} - {str(claim.get("attribute"))})
        else:
            knows = [respelled(str(name), random) for name in knows]
        claim["adversary"] = knows


@mutation
def other_l(draft: Draft, random: Random) -> None:
    """Another l, in the parameters and in all claims of the attribute."""
    ls = draft.manifest.get("parameters", {}).get("l")
    if isinstance(ls, dict) and ls:
        name, l = random.choice(sorted(ls)), random.choice([1, 2, 3, 4, 5, 8, 2**31, 2**62, 2**63, 2**64, 1.5, True, "2"])
        ls[name] = l
        for claim in _claims(draft):
            if claim.get("attribute") == name:
                claim["l"] = l
        rules = draft.manifest["parameters"].get("rules")
        if isinstance(rules, list):
            changed = [r.rpartition("=")[0] + f"={l}" if f"-> {name} " in str(r) else r for r in rules]
            draft.manifest["parameters"]["rules"] = changed


@mutation
def other_model(draft: Draft, random: Random) -> None:
    for claim in _claims(draft)[:1] if random.random() < 0.5 else _claims(draft):
        claim["model"] = random.choice(["frequency", "distinct", "entropy", "recursive", "unique-distinct", "candidates",
                                        "posterior", "set-size", "k-anonymity", "none"])  # fmt: skip
        if claim["model"] == "recursive":
            claim["c"] = random.choice([0.5, 2.0, 1e9, -1])


@mutation
def claim_dropped_or_doubled(draft: Draft, random: Random) -> None:
    claims = draft.manifest.get("claims")
    if isinstance(claims, list) and claims:
        at = random.randrange(len(claims))
        if random.random() < 0.6:
            claims.pop(at)
        else:
            claims.insert(at, copy.deepcopy(random.choice(claims)))


@mutation
def claims_swapped(draft: Draft, random: Random) -> None:
    """A field of one claim with that of another."""
    claims = _claims(draft)
    if len(claims) > 1:
        one, other = random.sample(claims, 2)
        key = random.choice(["adversary", "attribute", "l", "model", "k", "measured"])
        one[key], other[key] = other.get(key), one.get(key)


@mutation
def without_certificate(draft: Draft, random: Random) -> None:
    for claim in _claims(draft):
        claim.pop("measured", None)


@mutation
def renamed_everywhere(draft: Draft, random: Random) -> None:
    """An attribute under another name, in claims, parameters, columns or tables, or only some of them."""
    names = _attributes(draft)
    if not names:
        return
    old = random.choice(names)
    new = random.choice([respelled(old, random), random.choice(names), "group", "count", "*", "real"])
    places = random.sample(["claims", "parameters", "name", "attribute", "rules"], random.randint(1, 5))

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {new if key == old else key: put(inner) for key, inner in value.items()}
        return [put(inner) for inner in value] if isinstance(value, list) else new if value == old else value

    for key in ("claims", "parameters"):
        if key in places and key in draft.manifest:
            draft.manifest[key] = put(draft.manifest[key])
    for sheet in draft.sheets:
        for column in draft.columns(sheet):
            if "attribute" in places and column.get("attribute") == old:
                column["attribute"] = new
            if "name" in places and column.get("name") == old:
                column["name"] = new
                if old in sheet.names and new not in sheet.names:
                    sheet.names[sheet.names.index(old)] = new


@mutation
def other_role(draft: Draft, random: Random) -> None:
    columns = [column for sheet in draft.sheets for column in draft.columns(sheet)]
    if columns:
        column = random.choice(columns)
        column["role"] = random.choice(["quasi", "plain", "sensitive", "group", "count", "value", "attribute"])
        if random.random() < 0.3:
            column["exact"] = True


@mutation
def other_parameter(draft: Draft, random: Random) -> None:
    parameters = draft.manifest.get("parameters")
    if not isinstance(parameters, dict):
        return
    key = random.choice([*parameters, "linked", "case", "primary", "dependencies", "persons", "note"])
    name = random.choice([*_attributes(draft), "x"])
    parameters[key] = random.choice([True, False, 0, 1, "no", [], {}, [name], name, None, {name: 2}, ["a -> b"]])


@mutation
def other_kind(draft: Draft, random: Random) -> None:
    kinds = ["generalized", "bucketized", "sliced", "decomposed", "candidates", "multi", "none"]
    draft.manifest["kind"] = random.choice(kinds)


# the manifest as a tree ------------------------------------------------------------------------------------------------


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:
        yield value, key
        yield from _nodes(value[key])


@mutation
def leaf(draft: Draft, random: Random) -> None:
    """Some value of the manifest is another, or gone, or one more."""
    nodes = list(_nodes(draft.manifest))
    if not nodes:
        return
    inside, key = random.choice(nodes)
    way = random.randrange(6)
    if way == 0:
        del inside[key]
    elif way == 1 and isinstance(inside[key], str):
        inside[key] = respelled(inside[key], random)
    elif way == 2:
        other, there = random.choice(nodes)
        try:
            inside[key] = copy.deepcopy(other[there])
        except (KeyError, IndexError):
            return
    elif way == 3 and isinstance(inside[key], int | float):
        inside[key] = random.choice([inside[key] + 1, -inside[key], float(inside[key]), str(inside[key]), 10**5000])
    elif way == 4 and isinstance(inside, dict):
        inside[random.choice(["note", "Kind", "rows ", "__class__", ""])] = random.choice(NASTY)
    else:
        inside[key] = copy.deepcopy(random.choice(NASTY))


@mutation
def deep(draft: Draft, random: Random) -> None:
    nested: Any = "x"
    for _ in range(random.choice([50, 900, 5000])):
        nested = [nested] if random.random() < 0.5 else {"a": nested}
    text = to_json(draft.manifest).decode("utf-8", "surrogatepass")
    shell = "[" * random.choice([60, 100_000])
    draft.spelled = text.replace('"options": {}', f'"options": {shell}', 1).encode("utf-8", "surrogatepass")
    if random.random() < 0.5:
        draft.spelled = None
        parameters = draft.manifest.get("parameters")
        if isinstance(parameters, dict) and len(str(type(nested))) < 50:
            holder: Any = "x"
            for _ in range(random.choice([50, 300])):
                holder = [holder]
            parameters["options"] = holder


@mutation
def spelled_otherwise(draft: Draft, random: Random) -> None:
    """The same manifest in other bytes."""
    try:
        plain = to_json(draft.manifest).decode("utf-8")
        compact = json.dumps(draft.manifest)
    except (UnicodeDecodeError, ValueError):
        return
    first = next(iter(draft.manifest), "kind")
    ways = {
        "compact": compact.encode(), "UTF-16": plain.encode("utf-16"), "a mark": b"\xef\xbb\xbf" + plain.encode(),
        "a key twice": plain.replace("{", '{"rows": 1,', 1).encode(), "escapes": compact.encode() + b"\n",
        "blanks": plain.encode() + b" ", "a comment": plain.encode() + b"// secret\n", "UTF-32": plain.encode("utf-32"),
        "another order": (json.dumps(dict(reversed(draft.manifest.items())), indent=1, ensure_ascii=False) + "\n").encode(),
        "the same key twice": plain.replace("{", f'{{"{first}": "secret",', 1).encode(), "CRLF": plain.replace("\n", "\r\n").encode(),
    }  # fmt: skip
    name = random.choice(sorted(ways))
    draft.spelled = ways[name]
    draft.hidden.append("the manifest in other bytes")


# cells and columns -----------------------------------------------------------------------------------------------------


def _sheet(draft: Draft, random: Random) -> Sheet:
    return random.choice(draft.sheets)


@mutation
def cell(draft: Draft, random: Random) -> None:
    """One cell is another: that of another row, another spelling, missing, or something strange."""
    sheet = _sheet(draft, random)
    if not sheet.rows or not sheet.names:
        return
    for _ in range(random.choice([1, 1, 2, 4])):
        row, at = random.choice(sheet.rows), random.randrange(len(sheet.names))
        held = row[at]
        way = random.randrange(7)
        if way <= 2:
            row[at] = random.choice(sheet.rows)[at]
        elif way == 3 and isinstance(held, str):
            row[at] = respelled(held, random)
        elif way == 3 and isinstance(held, list) and held:
            row[at] = [*held[:-1], random.choice([held[0], None])]
        elif way == 4:
            row[at] = "" if sheet.is_csv else None
        elif way == 5 and isinstance(held, int | float) and not isinstance(held, bool):
            row[at] = random.choice([held + 1, held - 1, 0, -held, 2**62, 2**63 - 1])
        elif way == 5 and isinstance(held, str) and held.isdigit():
            row[at] = str(int(held) + random.choice([-1, 1, 2**31]))
        elif way == 6:
            row[at] = str(random.choice(NASTY[:40])) if sheet.is_csv else held


@mutation
def one_value_for_all(draft: Draft, random: Random) -> None:
    """All rows of a group, or of a column, hold one value, in several spellings."""
    sheet = _sheet(draft, random)
    texts = [at for at in range(len(sheet.names)) if sheet.rows and isinstance(sheet.rows[0][at], str)]
    if not texts or not sheet.rows:
        return
    at = random.choice(texts)
    value = random.choice(sheet.rows)[at]
    spelled = [value, *(respelled(value, random) for _ in range(4))]
    for row in sheet.rows:
        if random.random() < 0.8:
            row[at] = random.choice(spelled)


@mutation
def numbers_spelled_apart(draft: Draft, random: Random) -> None:
    """`5`, `5.0`, `5.00` in the place of numbers, wherever numbers stand as text."""
    for sheet in draft.sheets:
        for at in range(len(sheet.names)):
            digits = [row for row in sheet.rows if isinstance(row[at], str) and row[at].isdigit()]
            if len(digits) > 1:
                value = random.choice(digits)[at]
                for zeros, row in enumerate(digits):
                    row[at] = value + ("." + "0" * zeros if zeros else "")
                parameters = draft.manifest.get("parameters")
                domains = parameters.get("domains") if isinstance(parameters, dict) else None
                for said in domains.values() if isinstance(domains, dict) else []:
                    if isinstance(said, dict) and said.get("type") == "number":
                        said["domain"] = [int(value), int(value)]


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
        mine = [r for r in sheet.rows if r[sheet.names.index("group")] == group]
        if len(mine) > 1:
            sheet.rows.remove(random.choice(mine))
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
            at = sheet.names.index("group")
            for r in sheet.rows:
                if r[at] == one and random.random() < 0.9:
                    r[at] = other


@mutation
def column_more(draft: Draft, random: Random) -> None:
    """One more column: a copy of another, from this table or the next, under a name of its own."""
    sheet = _sheet(draft, random)
    source = random.choice(draft.sheets) if random.random() < 0.5 else sheet
    if not sheet.names or not source.names:
        return
    at = random.randrange(len(source.names))
    cells = [source.rows[i % len(source.rows)][at] if source.rows else None for i in range(len(sheet.rows))]
    name = random.choice(["x", "note", source.names[at] + " ", respelled(source.names[at], random), source.names[at], "real"])
    said = next((copy.deepcopy(c) for c in draft.columns(source) if c.get("name") == source.names[at]), {"type": "text"})
    said |= {"name": name, "role": random.choice(["plain", "plain", "quasi", "sensitive"])}
    said["attribute"] = random.choice([name, said.get("attribute", name)])
    put = random.choice([0, len(sheet.names)])
    if name in sheet.names and not sheet.is_csv:
        return
    sheet.names.insert(put, name)
    sheet.kinds.insert(put, source.kinds[at] if source.is_csv == sheet.is_csv else pl.String)
    for r, value in zip(sheet.rows, cells, strict=True):
        r.insert(put, value)
    if random.random() < 0.8 and isinstance(draft.info(sheet).get("columns"), list):
        draft.info(sheet)["columns"].insert(put, said)


@mutation
def column_renamed_apart(draft: Draft, random: Random) -> None:
    """A secret under the name of a plain column, and something else under the secret's (attribute and name differ)."""
    for sheet in draft.sheets:
        secrets = [c for c in draft.columns(sheet) if c.get("role") == "sensitive"]
        others = [c for c in draft.columns(sheet) if c.get("role") in ("plain", "quasi")]
        if secrets and others:
            secret, other = random.choice(secrets), random.choice(others)
            one, two = secret["name"], other["name"]
            if one in sheet.names and two in sheet.names:
                a, b = sheet.names.index(one), sheet.names.index(two)
                secret["name"], other["name"] = two, one
                sheet.names[a], sheet.names[b] = two, one
            return


@mutation
def other_type(draft: Draft, random: Random) -> None:
    sheet = _sheet(draft, random)
    if not sheet.is_csv and sheet.names:
        at = random.randrange(len(sheet.names))
        sheet.kinds[at] = random.choice([pl.Int32, pl.UInt64, pl.Float64, pl.Float32, pl.String, pl.Boolean, pl.Categorical,
                                         pl.Binary, pl.Date, pl.Object, pl.List(pl.Int64), pl.Decimal(10, 2)])  # fmt: skip
        if sheet.kinds[at] == pl.Object:
            sheet.kinds[at] = pl.Int8


@mutation
def shuffled(draft: Draft, random: Random) -> None:
    random.shuffle(_sheet(draft, random).rows)
    draft.in_order = False


@mutation
def left_as_it_is(draft: Draft, random: Random) -> None:
    """Sentences or domains are not rewritten."""
    draft.sentences, draft.domains = random.random() < 0.5, random.random() < 0.5


# bytes and files -------------------------------------------------------------------------------------------------------


@mutation
def parquet_otherwise(draft: Draft, random: Random) -> None:
    """The same table, written by another program, in another way; or with something hidden in the file."""
    sheets = [sheet for sheet in draft.sheets if not sheet.is_csv]
    if not sheets:
        return
    sheet = random.choice(sheets)
    data = sheet.data(in_order=True)
    table = pq.read_table(io.BytesIO(data))
    way, out, secret = random.randrange(8), io.BytesIO(), b"Ann has hiv"
    if way == 0:
        pq.write_table(table, out, row_group_size=1)
    elif way == 1:
        pq.write_table(table.replace_schema_metadata({b"note": secret}), out)
        draft.hidden.append("Parquet: metadata")
    elif way == 2:
        texts = [name for name in table.column_names if pa.types.is_large_string(table.schema.field(name).type)]
        if not texts or not table.num_rows:
            return
        name = random.choice(texts)
        old = table.column(name).combine_chunks().dictionary_encode()
        longer = pa.concat_arrays([old.dictionary, pa.array([secret.decode()], pa.large_string())])
        coded = pa.DictionaryArray.from_arrays(old.indices, longer)
        pq.write_table(table.set_column(table.column_names.index(name), name, coded), out)
        draft.hidden.append("Parquet: an unused entry of a dictionary")
    elif way == 3:
        size = int.from_bytes(data[-8:-4], "little") + 8
        out.write(data[:-size] + secret + data[-size:])
        draft.hidden.append("Parquet: bytes before the footer")
    elif way == 4:
        fields = [field.with_metadata({b"note": secret}) for field in table.schema]
        pq.write_table(table.cast(pa.schema(fields)), out)
        draft.hidden.append("Parquet: metadata of a column")
    elif way == 5:
        pq.write_table(table, out, compression=random.choice(["none", "gzip", "snappy", "zstd"]), use_dictionary=False,
                       data_page_version=random.choice(["1.0", "2.0"]), write_statistics=False)  # fmt: skip
    elif way == 6:
        out.write(data + secret + data[-8:])
    else:
        place = data.find(b"F" if random.random() < 0.5 else b"a", len(data) // 2)
        out.write(data[:place] + b"Z" + data[place + 1 :] if place > 0 else data)
    draft.raw[sheet.file] = out.getvalue()


@mutation
def bytes_changed(draft: Draft, random: Random) -> None:
    sheet = _sheet(draft, random)
    data = bytearray(draft.raw.get(sheet.file) or sheet.data(in_order=draft.in_order))
    way = random.randrange(4)
    if way == 0 and data:
        for _ in range(random.choice([1, 1, 3, 20])):
            data[random.randrange(len(data))] = random.randrange(256)
    elif way == 1:
        del data[random.randrange(len(data) + 1) :]
    elif way == 2:
        at = random.randrange(len(data) + 1)
        data[at:at] = random.randbytes(random.choice([1, 4, 100]))
    elif data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    draft.raw[sheet.file] = bytes(data)


@mutation
def csv_otherwise(draft: Draft, random: Random) -> None:
    """The same CSV in other bytes."""
    sheets = [sheet for sheet in draft.sheets if sheet.is_csv]
    if sheets:
        sheet = random.choice(sheets)
        data = sheet.data(in_order=True)
        ways = [data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, data + b"\n", data.rstrip(b"\n"), b"# note\n" + data,
                data.replace(b",", b", "), data.decode().encode("utf-16"), data.replace(b"\n", b",\n"), data.replace(b",", b";"),
                b"".join(b'"' + line.replace(b",", b'","') + b'"\n' for line in data.replace(b'"', b"").splitlines()),
                data.replace(b"\n", b"\x00\n", 1), data.replace(b"1", b"01"), data.replace(b"1", b"+1"), data.replace(b"1", b"1.0")]  # fmt: skip
        draft.raw[sheet.file] = random.choice(ways)


@mutation
def file_more(draft: Draft, random: Random) -> None:
    name = random.choice(["secret.txt", ".hidden", "microdata.csv", "key", "manifest.json~", "t9.parquet", "MANIFEST.JSON"])
    way = random.randrange(4)
    if way == 0:
        draft.links[name] = "folder"
    elif way == 1:
        draft.links[name] = random.choice(["/etc/hostname", MANIFEST, "nowhere"])
    elif way == 2:
        draft.links[name] = "fifo"
    else:
        draft.raw[name] = b"Ann has hiv"
    draft.hidden.append("a file that is not listed")


@mutation
def file_otherwise(draft: Draft, random: Random) -> None:
    """One of the files is missing, a pipe, a folder, or a link."""
    name = random.choice([MANIFEST, README, *(sheet.file for sheet in draft.sheets)])
    way = random.randrange(4)
    if way == 0:
        draft.removed.add(name)
    else:
        draft.links[name] = ["fifo", "folder", "/etc/hostname"][way - 1]
    if name == README:
        draft.hidden.append("another README")


@mutation
def other_readme(draft: Draft, random: Random) -> None:
    draft.new_readme = random.choice([b"Every claim holds.\n", b"", draft.readme + b"Ann has hiv\n", b"\xff\xfe", b"x" * 100_000])
    draft.hidden.append("another README")
