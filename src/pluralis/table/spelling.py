"""One spelling for each value: what counts as the same text.

`flu`, `flu ` and `Ｆｌｕ` are one disease. If they were counted as three, a group that holds all of them would
look 3-diverse while everybody in it has the flu. So before anything is counted, text is trimmed, inner runs of
blanks become one, invisible characters go, Unicode is folded to NFKC, and case is folded unless the policy says
`case: keep`. Values that then agree are published under their commonest spelling.

`canonical_values` goes further, for whoever counts the values of a release from a stranger: `5`, `5.0` and `5.00` are
one number, too. Not `05`, which is a code; and nothing is where the policy says `case: keep`.
"""

from __future__ import annotations

import re
import unicodedata

import polars as pl

from pluralis.table.dictionaries import dictionary_encode

_BLANK = r"[\s\x{2800}]+"
_INVISIBLE = r"[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\x{2D7F}\x{1D159}]"

_NUMBER = r"^[+-]?(?:\p{Nd}+\.?\p{Nd}*|\.\p{Nd}+)(?:[eE][+-]?\p{Nd}+)?$"
_WORD = "^[a-z]"  # no number or interval of numbers begins like that
_CODE = r"^[+-]?0\p{Nd}"
_PLAIN = r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,17})\.[0-9]{0,17}[1-9])$"
_INTERVAL = r"^[\[(] ?([-+]?[.0-9]+(?:e[-+]?[0-9]+)?) ?[,;-] ?([-+]?[.0-9]+(?:e[-+]?[0-9]+)?) ?[\])]$"
_PARTS = re.compile(r"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?)0*(\d+))?")
_DIGITS = 18  # before or behind the point, up to which a number is written without an exponent


def skeleton(text: pl.Expr, *, fold_case: bool) -> pl.Expr:
    """What two spellings of one value have in common.

    >>> frame = pl.DataFrame({"disease": ["flu ", "Flu", "ＦＬＵ"]})
    >>> frame.select(skeleton(pl.col("disease"), fold_case=True).n_unique()).item()
    1
    """
    plain = text.str.normalize("NFKC").str.replace_all(_BLANK, " ").str.replace_all(_INVISIBLE, "").str.strip_chars(" ")
    # upper case first: it is what makes ß and ss, or ς and σ, the same
    return plain.str.to_uppercase().str.to_lowercase().str.normalize("NFKC") if fold_case else plain


def hides_characters(text: str) -> bool:
    """Whether a text holds characters that cannot be seen, or that move the cursor or the text around them.

    >>> hides_characters("flu"), hides_characters("f\u200blu"), hides_characters("\x1b[2J")
    (False, True, True)
    """
    return bool(pl.Series([text]).str.contains(_INVISIBLE + r"|[\x{2028}\x{2029}\x{2800}]").item())


# letters of Cyrillic, Greek, Armenian and phonetic alphabets that look like Latin ones, once case is folded; all dashes
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнαβεηικνορτυχɑɡıɩᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢօսհոզցյ‐‑‒–—―−﹣⁃˗’ʼ",
    "aeopcyxijshdqwkmtbhabehikvoptuxagiiabcdeghijklmnoprtuvwyzouhnqgj----------''",
)


def look_alike(name: str) -> str:
    """What names have in common that a reader would take for one another: case, blanks, letters of other alphabets.

    >>> look_alike("Age") == look_alike("\u0430ge "), look_alike("age") == look_alike("wage")
    (True, False)
    """
    (core,) = cores(pl.Series([name]))
    return _drawn_alike(str(core)).replace(" ", "")


# Greek letters whose capitals look like other Latin letters than they do themselves
_CAPITALS = _LOOK_ALIKES | str.maketrans("μνζ", "mnz")


def _drawn_alike(text: str, letters: dict[int, int] = _LOOK_ALIKES) -> str:
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in text.translate(letters))


def cores(texts: pl.Series, *, fold_case: bool = True) -> pl.Series:
    """The skeleton of each text.

    >>> cores(pl.Series(["flu ", "Flu"])).to_list()
    ['flu', 'flu']
    """
    return texts.to_frame("text").select(skeleton(pl.col("text"), fold_case=fold_case)).to_series()


def same_text(values: pl.Series, *, fold_case: bool) -> pl.Series:
    """A number for each text, the same for spellings of one value; cheap where few texts are different.

    >>> same_text(pl.Series(["flu ", "hiv", "Flu"]), fold_case=True).to_list()
    [1, 2, 1]
    """
    values = dictionary_encode(values)
    assert isinstance(values.dtype, pl.Enum)
    places = cores(values.dtype.categories, fold_case=fold_case).rank("dense")
    return places.cast(pl.UInt32).gather(values.to_physical()).alias(values.name)


def canonical_spellings(values: pl.Series, *, fold_case: bool, rows: pl.Series | None = None) -> pl.DataFrame:
    """One row for each distinct text in `values`: `text`, and the `spelling` it is published under.

    `rows` is how many rows hold each of `values`; if not given, one.

    The spelling is the commonest one of its skeleton, blanks and Unicode already tidied; ties go to the first in
    code-point order, so the answer does not depend on the order of the rows. Missing stays missing.

    >>> canonical_spellings(pl.Series(["Flu", "flu ", "flu"]), fold_case=True)["spelling"].to_list()
    ['flu', 'flu', 'flu']
    """
    name = "text"
    counted = values.rename(name).to_frame().with_columns(rows=pl.lit(1) if rows is None else rows)
    seen = counted.drop_nulls(name).group_by(name).agg(pl.col("rows").sum())
    seen = seen.with_columns(
        skeleton(pl.col(name), fold_case=False).alias("tidy"), skeleton(pl.col(name), fold_case=fold_case).alias("core")
    )
    spelled = seen.group_by("core", "tidy").agg(pl.col("rows").sum())
    chosen = spelled.sort(["rows", "tidy"], descending=[True, False]).group_by("core", maintain_order=True).first()
    return (
        seen.join(chosen.select("core", pl.col("tidy").alias("spelling")), on="core")
        .select(name, "spelling")
        .sort(name)
    )


def canonical_values(values: pl.Series, *, fold_case: bool) -> pl.Series:
    """The text that all spellings of a value have in common, numbers included: what counts as one value in a release.

    Text that reads as a decimal number is that number, whatever its sign, exponent, script or zeros at its end; one
    that begins with a zero is a code. All other text is its skeleton, and so are numbers where spelling matters
    (`fold_case` is false). Numbers are compared exactly: those of twenty digits stay apart. Missing stays missing.

    >>> canonical_values(pl.Series(["5", "5.00", "+5", "٥", "50e-1", "05", "Flu", "flu "]), fold_case=True).to_list()
    ['5', '5', '5', '5', '5', '05', 'flu', 'flu']
    >>> canonical_values(pl.Series([5.0, 0.1, None]), fold_case=True).to_list()
    ['5', '0.1', None]
    """
    texts = values.cast(pl.String)
    texts = texts if values.dtype.is_numeric() else cores(texts, fold_case=fold_case)
    if not fold_case or bool(texts.str.contains(_WORD).all()):
        return texts.alias(values.name)
    # NFKC knows other digits, not other signs
    texts = texts.str.replace(r"^[\x{2212}\x{FE63}\x{2010}\x{2011}](\p{Nd}|\.)", "-$1").alias(values.name)
    odd = texts.filter(texts.str.contains(_NUMBER) & ~texts.str.contains(_CODE) & ~texts.str.contains(_PLAIN)).unique()
    if odd.is_empty():
        return texts
    return texts.replace(odd, pl.Series([_number_core(text) for text in odd.to_list()], dtype=pl.String))


def said_twice(values: pl.Series, *, fold_case: bool) -> tuple[str, str] | None:
    """Two of these different texts that stand for one value: that read alike, or numbers and intervals that overlap.

    Where spelling matters (`fold_case` is false) only skeletons are compared.

    Intervals may touch where one ends and the next begins: whoever made them decided to which of them the end belongs.

    >>> said_twice(pl.Series(["5", "7", "5.0"]), fold_case=True)
    ('5', '5.0')
    >>> said_twice(pl.Series(["[0, 5]", "[5, 10]", "flu"]), fold_case=True)
    >>> said_twice(pl.Series(["[0, 10]", "[5, 15)"]), fold_case=True)
    ('[0, 10]', '[5, 15)')
    >>> said_twice(pl.Series(["asthma", "\u0430sthma"]), fold_case=True) is not None
    True
    """
    frame = pl.DataFrame({"text": values.cast(pl.String), "core": canonical_values(values, fold_case=fold_case)})
    if fold_case:
        other = frame["core"].filter(~frame["core"].str.contains(r"^[\x00-\x7f]*$")).unique()
        for letters in (_CAPITALS, _LOOK_ALIKES) if other.len() else ():
            alike = pl.Series([_drawn_alike(text, letters) for text in other.to_list()], dtype=pl.String)
            seen = frame.with_columns(pl.col("core").replace(other, alike))
            if (twice := seen.filter(pl.col("core").is_duplicated()).sort("core", "text")).height:
                return str(twice["text"][0]), str(twice["text"][1])
        frame = seen if other.len() else frame
    twice = frame.filter(pl.col("core").is_duplicated()).sort("core", "text")
    if twice.height:
        return str(twice["text"][0]), str(twice["text"][1])
    frame = frame.filter(~pl.col("core").str.contains(_WORD))
    if not fold_case or frame.is_empty():
        return None
    ends = pl.col("core").str.extract_groups(_INTERVAL).struct.field("1", "2")
    ranges = frame.select("text", "core", ends).with_columns(_real("1"), _real("2"))
    ranges = ranges.with_columns(low=pl.min_horizontal("1", "2"), high=pl.max_horizontal("1", "2"))
    ranges = ranges.drop_nulls(["1", "2"]).sort("low", "high", "text")
    point, before = pl.col("low") == pl.col("high"), pl.col("high").cum_max().shift(1)
    after_point = point.shift(1, fill_value=False) & (pl.col("low") == before)
    overlaps = (pl.col("low") < before) | ((pl.col("low") == before) & point) | after_point
    wrong = ranges.with_row_index("at").filter(overlaps)
    if not wrong.height:
        return None
    place = int(wrong["at"][0])
    return str(ranges["text"][int(ranges["high"].head(place).arg_max() or 0)]), str(ranges["text"][place])


def _real(end: str) -> pl.Expr:
    """An end of an interval as a number, or the text itself where it is no interval but a number."""
    number = pl.when(pl.col("core").str.contains(_NUMBER) & ~pl.col("core").str.contains(_CODE)).then("core")
    return pl.coalesce(pl.col(end), number).cast(pl.Float64, strict=False).alias(end)


def _number_core(text: str) -> str:
    """A decimal number in one spelling; without an exponent where that is short.

    >>> [_number_core(text) for text in ("-0", "1e2", "1e-2", "1e400", "0.5e-30", "0.0")]
    ['0', '100', '0.01', '1e400', '5e-31', '0']
    """
    match = _PARTS.fullmatch("".join(str(unicodedata.decimal(character, character)) for character in text))
    assert match is not None
    sign, whole, fraction, below, power = match.groups()
    if power is not None and len(power) > _DIGITS:
        return text  # no number that anybody means
    digits = (whole + fraction).lstrip("0")
    exponent = (int(power or 0) if below != "-" else -int(power or 0)) - len(fraction)
    coefficient = digits.rstrip("0")
    if not coefficient:
        return "0"
    exponent += len(digits) - len(coefficient)
    minus, size = "-" if sign == "-" else "", len(coefficient) + exponent  # digits before the point
    if size > _DIGITS or -exponent > _DIGITS:
        return f"{minus}{coefficient}e{exponent}"
    if exponent >= 0:
        return f"{minus}{coefficient}{'0' * exponent}"
    padded = coefficient.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"
