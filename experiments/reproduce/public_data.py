"""Public data sets: found in a folder, or downloaded from where they are published and verified by checksum.

Verified   files in folders too, where their content does not depend on who made them.
Folders    the one that is asked for, the one that PLURALIS_DATA names, `shared/data` beside the checkout, and the cache
           of downloads, in this order.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from pluralis.errors import InputError
from pluralis.progress import stage

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
RAW = "https://raw.githubusercontent.com/"
ADULT = RAW + "ryan112358/hd-datasets/8e69757cec2ba8d430f7c915509163c708497f58/raw/adult/"
NAMES = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
)


class Part(NamedTuple):
    """A file on the network."""

    address: str
    sha256: str


class Source(NamedTuple):
    """Where a data set comes from: parts to download, and what to make of their bytes; or only a word about it.

    `sha256` is that of its content, unpacked; empty where that depends on who made the file.
    """

    what: str
    sha256: str = ""
    parts: Sequence[Part] = ()
    make: Callable[[Sequence[bytes]], bytes] = b"".join


def cleaned(text: str, split: str | None = None) -> Iterator[str]:
    """Lines of Adult without blanks, without rows that miss a value, and without the dot after a label.

    >>> list(cleaned("39, State-gov, <=50K.\\n50, ?, >50K\\n|1x3 Cross validator\\n\\n", "test"))
    ['39,State-gov,<=50K,test']
    """
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) > 1 and "?" not in fields:
            fields[-1] = fields[-1].removesuffix(".")
            yield ",".join([*fields, split] if split else fields)


def _adult(parts: Sequence[bytes]) -> bytes:
    lines = [NAMES, *cleaned(parts[0].decode())]
    if len(parts) == 2:
        lines = [f"{NAMES},split", *cleaned(parts[0].decode(), "train"), *cleaned(parts[1].decode(), "test")]
    return gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)


_TRAIN = Part(f"{ADULT}adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d")
_TEST = Part(f"{ADULT}adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05")
_ACS = Part(
    f"{RAW}mostly-ai/public-demo-data/64020409bdc85b7a04a2e510be00f9f4cf47fd3d/census/acs-income-2018-holdout.parquet",
    "bb782646238f758b32d63992880d223d762d5b632f7008dbe34ca2fbe5e74233",
)
SOURCES: Mapping[str, Source] = {
    "adult_clean_30162.csv.gz": Source(
        "UCI Adult, its training part without missing values",
        "1ee178beba351488009b89f6f8e5649fb69054f40be9b08bdb24d1c4fc53214e",
        [_TRAIN],
        _adult,
    ),
    "adult_clean_45222.csv.gz": Source(
        "UCI Adult, both parts without missing values",
        "4de6ee88ca8752f8eb50f4f41e0074bb0213ec727c865153cd9cb5a9333b1b85",
        [_TRAIN, _TEST],
        _adult,
    ),
    "acs2018_us_workers_295k.parquet": Source(
        "American Community Survey 2018, workers with an income", _ACS.sha256, [_ACS]
    ),
    "census_income_kdd_train.parquet": Source(
        "UCI Census-Income (KDD), its training part (doi 10.24432/C5N30T), a column for each attribute of its list, "
        "named in lower case with underscores, values without blanks"
    ),
    "desynpuf_inpatient_claims.parquet": Source(
        "the inpatient claims of CMS' 2008-2010 DE-SynPUF, segment 1, joined to the beneficiary's record of the year"
    ),
}


def find(name: str, folder: Path | None = None) -> Path:
    """The path of a data file. It is downloaded if it is in no folder; InputError says what to do if that fails."""
    source = SOURCES[name]
    if folder and not folder.is_dir():
        raise InputError(f"{folder} is no folder. Name the folder of data files with --data, or leave it out.")
    asked = [folder] if folder else []
    named = [Path(os.environ["PLURALIS_DATA"])] if os.environ.get("PLURALIS_DATA") else []
    for place in (*asked, *named, BESIDE, _cache()):
        if (place / name).is_file():
            return _checked(place / name, source)
    if not source.parts:
        raise InputError(f"{name} is not there. It is {source.what}. {_ADVICE}")
    with stage(f"downloading {name}"):
        data = source.make([_download(part, name, source.what) for part in source.parts])
    path = _cache() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{name}.{secrets.token_hex(4)}")
    new.write_bytes(data)
    return new.replace(path)


def _checked(path: Path, source: Source) -> Path:
    data = path.read_bytes()
    if (
        source.sha256
        and hashlib.sha256(gzip.decompress(data) if path.suffix == ".gz" else data).hexdigest() != source.sha256
    ):
        raise InputError(
            f"{path} is not {source.what}: its checksum differs. Put the right file in its place, or none."
        )
    return path


_ADVICE = "Put it in a folder, and name that folder with --data or in PLURALIS_DATA."


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pluralis" / "data"


def _download(part: Part, name: str, what: str) -> bytes:
    try:
        with urlopen(part.address, timeout=60) as answer:
            data: bytes = answer.read()
    except (URLError, OSError) as error:
        raise InputError(f"{name} is not there, and {part.address} cannot be reached: {error}. {_ADVICE}") from error
    if hashlib.sha256(data).hexdigest() != part.sha256:
        raise InputError(f"{part.address} is not {what} as it was: its checksum differs. {_ADVICE}")
    return data
