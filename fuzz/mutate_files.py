"""Changes of bytes and files: other encodings, things hidden, files more, missing, or no files."""

from __future__ import annotations

import io
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.draft import MANIFEST, README, Draft
from fuzz.mutations import mutation


@mutation
def parquet_otherwise(draft: Draft, random: Random) -> None:
    """The same table, written by another program, in another way; or with something hidden in the file."""
    sheets = [sheet for sheet in draft.sheets if not sheet.is_csv]
    if not sheets:
        return
    sheet = random.choice(sheets)
    data = sheet.data(in_order=True)
    table = pq.read_table(io.BytesIO(data))
    way, out, leak, hidden = random.randrange(9), io.BytesIO(), b"Ann has hiv", ""
    if way == 0:
        pq.write_table(table, out, row_group_size=1)
    elif way == 1:
        pq.write_table(table.replace_schema_metadata({b"note": leak}), out)
        hidden = "Parquet: metadata"
    elif way == 2:
        texts = [name for name in table.column_names if pa.types.is_large_string(table.schema.field(name).type)]
        if not texts or not table.num_rows:
            return
        name = random.choice(texts)
        old = table.column(name).combine_chunks().dictionary_encode()
        longer = pa.concat_arrays([old.dictionary, pa.array([leak.decode()], pa.large_string())])
        coded = pa.DictionaryArray.from_arrays(old.indices, longer)
        pq.write_table(table.set_column(table.column_names.index(name), name, coded), out)
        hidden = "Parquet: an unused entry of a dictionary"
    elif way == 3:
        size = int.from_bytes(data[-8:-4], "little") + 8
        out.write(data[:-size] + leak + data[-size:])
        hidden = "Parquet: bytes before the footer"
    elif way == 4:
        fields = [field.with_metadata({b"note": leak}) for field in table.schema]
        pq.write_table(table.cast(pa.schema(fields)), out)
        hidden = "Parquet: metadata of a column"
    elif way == 5:
        pq.write_table(
            table,
            out,
            compression=random.choice(["none", "gzip", "snappy", "zstd"]),
            use_dictionary=False,
            data_page_version=random.choice(["1.0", "2.0"]),
            write_statistics=False,
        )
    elif way == 6:
        out.write(data + leak + data[-8:])
    elif way == 7:
        writer = b"Polars (python)"
        if writer not in data:
            return
        out.write(data.replace(writer, leak.ljust(len(writer))))
        hidden = "Parquet: the name of the writer"
    else:
        place = data.find(b"F" if random.random() < 0.5 else b"a", len(data) // 2)
        out.write(data[:place] + b"Z" + data[place + 1 :] if place > 0 else data)
    draft.raw[sheet.file] = out.getvalue()
    draft.hidden_in[sheet.file] = hidden  # what was hidden in the file before is gone


@mutation
def bytes_changed(draft: Draft, random: Random) -> None:
    sheet = random.choice(draft.sheets)
    data = bytearray(draft.raw.get(sheet.file) or sheet.data(in_order=draft.in_order))
    way = random.randrange(4)
    if way == 0 and data:
        for _ in range(random.choice([1, 1, 3, 20])):
            data[random.randrange(len(data))] = random.randrange(256)
    elif way == 1:
        del data[random.randrange(len(data) + 1) :]
    elif way == 2:
        position = random.randrange(len(data) + 1)
        data[position:position] = random.randbytes(random.choice([1, 4, 100]))
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
        ways = [
            data.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + data,
            data + b"\n",
            data.rstrip(b"\n"),
            b"# note\n" + data,
            data.replace(b",", b", "),
            data.decode("utf-8", "replace").encode("utf-16"),
            data.replace(b"\n", b",\n"),
            data.replace(b",", b";"),
            b"".join(b'"' + line.replace(b",", b'","') + b'"\n' for line in data.replace(b'"', b"").splitlines()),
            data.replace(b"\n", b"\x00\n", 1),
            data.replace(b"1", b"01"),
            data.replace(b"1", b"+1"),
            data.replace(b"1", b"1.0"),
        ]
        draft.raw[sheet.file] = random.choice(ways)


@mutation
def file_more(draft: Draft, random: Random) -> None:
    name = random.choice(
        ["secret.txt", ".hidden", "microdata.csv", "key", "manifest.json~", "t9.parquet", "MANIFEST.JSON"]
    )
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
    draft.new_readme = random.choice(
        [b"Every claim holds.\n", b"", draft.readme + b"Ann has hiv\n", b"\xff\xfe", b"x" * 100_000]
    )
    draft.hidden.append("another README")
