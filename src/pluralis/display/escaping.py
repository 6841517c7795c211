r"""Text from a table, a release or a file name, made fit to be shown: on a terminal, in JSON, in Markdown, on a page.

Whoever wrote a release wrote the names, values and remarks in it. Printed as they are, they could clear a terminal,
begin a line that says that every claim holds, turn the order of letters round or point a link elsewhere. So everything
that does not stand for a visible letter becomes an escape that shows what it is: `\x1b`, `\u202e`. That is done here
and nowhere else.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import unicodedata
from functools import lru_cache
from html import escape
from typing import Any

# control, format (reading order, zero width, tags), surrogates, private use, unassigned, line and paragraph separators
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# letters and marks that show nothing: joiners, fillers, the blank of Braille, variation selectors
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")  # of Hangul: they stand in the syllable before them
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!@])")


@lru_cache(maxsize=4096)
def _seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN and not _BLANK.match(character)


def printable(text: str, keep: str = "") -> str:
    r"""The text with every character that shows nothing written as an escape; those of `keep` stay.

    >>> print(printable("flu\r\x1b[2K\n\u202eEvery claim holds"))
    flu\x0d\x1b[2K\x0a\u202eEvery claim holds
    >>> printable("Größe, 心臓, {a, b}")
    'Größe, 心臓, {a, b}'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _seen(c) or c in keep else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def as_json(data: Any) -> str:
    r"""The data as JSON that can be shown: the same to whoever parses it.

    >>> print(as_json({"disease": "Grippe, größte \x9b\u202e"}))
    {
     "disease": "Grippe, größte \u009b\u202e"
    }
    """
    text = json.dumps(data, indent=1, ensure_ascii=False, default=str)
    return "".join(c if c == "\n" or _seen(c) else json.dumps(c)[1:-1] for c in text)


def markdown(text: str) -> str:
    r"""The text as Markdown that shows it and nothing else: no link, picture, tag, table or heading.

    >>> print(markdown("[x](http://y) <b>, hours_per_week"))
    \[x\](http\://y) \<b\>, hours\_per\_week
    """
    shown = _SPECIAL.sub(r"\\\1", printable(text))
    shown = re.sub(r":(?=//)", r"\\:", shown)  # some readers make links of bare addresses
    shown = re.sub(r"(?i)\b(www)\.", r"\1\\.", shown)
    return re.sub(r"^(\s*)([-+=:]|\d+(?=[.)]))", _mark_as_text, shown)


def _mark_as_text(match: re.Match[str]) -> str:
    """The mark of a list, a rule or a heading at the beginning of a line, as text."""
    mark = match[2]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def html(text: str) -> str:
    r"""The text as HTML that shows it and nothing else.

    >>> html("<b> & \u202e")
    '&lt;b&gt; &amp; \\u202e'
    """
    return escape(printable(text))


def text_width(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide letter, none for a mark on another one.

    >>> text_width("flu"), text_width("心臓"), text_width("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_letter_width, text))


@lru_cache(maxsize=4096)
def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Mc", "Me", "Cf") or _JAMO.match(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def code(text: str) -> str:
    """The text as code in Markdown, if it can be."""
    shown = printable(text)
    return markdown(text) if "`" in shown or not shown.strip() else f"`{shown}`"


def print_lines(*lines: str) -> None:
    """Lines on standard output, each of them one line."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def print_json(data: Any) -> None:
    """Data on standard output."""
    sys.stdout.write(as_json(data) + "\n")


def complain(message: str, *more: str) -> None:
    """A refusal on standard error; lines after the first are set in."""
    lines = [f"pluralis: {message}", *(line if line.startswith("  ") else f"  {line}" for line in more)]
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    sys.stderr.write("".join(f"{part}\n" for line in lines for part in _cut(printable(line), width)))


def _cut(line: str, width: int) -> list[str]:
    """A line that fits a terminal, so that nothing but its beginning stands at the left edge.

    >>> _cut("one two three four", 12)
    ['one two', '    three', '    four']
    """
    if width < 12 or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, drop_whitespace=True) or [line]
