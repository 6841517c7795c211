"""The structure of CSV bytes, checked in one pass: every quote closed, every row as wide as the header.

Line numbers are those an editor shows: they count line feeds, also those inside quotes. A record ends with LF
or CRLF.
"""

from __future__ import annotations

import numpy as np

from pluralis.errors import optional

FINE, NUL, FIELDS, BLANK, UNCLOSED, STRAY, AFTER, LONE_CR, LONG = 0, 1, 2, 3, 4, 5, 6, 7, 8
ROWS, END, TRAILING, EMPTY, FAULT, LINE, DETAIL = 0, 1, 2, 3, 4, 5, 6

_DOUBLE_IT = 'Put the field in quotes and double those inside: "a 5"" pipe".'
FAULTS = {
    NUL: "a NUL byte. Remove it; if the file is UTF-16, declare its encoding: `--encoding utf-16-le` "
    "or utf-16-be, in Python encoding=.",
    FIELDS: "{detail:,} fields, the header has {columns:,} (separated by {separator!r}). Correct the "
    "row, quote fields that hold the separator, or declare another one: `--separator ';'`, in Python separator=.",
    BLANK: "a blank line, the header has {columns:,} fields. Blank lines may stand only at the end.",
    UNCLOSED: "the quote that opens field {field:,} is never closed. Close it; double it if it is data.",
    STRAY: "a quote inside field {field:,}, which does not begin with one. " + _DOUBLE_IT,
    AFTER: "text after the closing quote of field {field:,}. " + _DOUBLE_IT,
    LONE_CR: "a carriage return without a line feed. Save the file with LF or CRLF, or quote the field.",
    LONG: "field {field:,} is longer than the limit, {limit:,} KiB. Shorten it; is a quote lost?",
}

_NUL, _LF, _CR, _QUOTE = 0, 10, 13, 34

njit = optional("numba", "Reading a CSV table", "query").njit


@njit(cache=True, nogil=True)
def scan_header(data, begin, counts):
    """counts[c] = how often byte c stands outside quotes in the first record; returns its end."""
    quoted = False
    for i in range(begin, data.size):
        c = data[i]
        if c == _QUOTE:
            quoted = not quoted
        elif not quoted:
            if c == _LF:
                return i
            counts[c] += 1
    return data.size


@njit(cache=True, nogil=True)
def _fault(summary, code, line, detail):
    summary[FAULT] = code
    summary[LINE] = line
    summary[DETAIL] = detail


@njit(cache=True, nogil=True)
def scan_records(data, begin, separator, longest, widths, summary):
    """widths[j] = bytes of text in column j, header apart; summary[ROWS … DETAIL] = the rest, or the fault.

    ROWS counts records, header included. Blank lines at the end are no records: they begin at END and are
    TRAILING many. EMPTY counts quoted fields without text.
    """
    columns, size = widths.size, data.size
    stops = np.zeros(256, np.bool_)  # what ends a run of plain bytes outside quotes
    for c in (_NUL, _LF, _CR, _QUOTE, separator):
        stops[c] = True
    halts = np.zeros(256, np.bool_)  # … and inside them
    for c in (_NUL, _LF, _QUOTE):
        halts[c] = True
    i, line, record_line, field, blanks = begin, 1, 1, 0, 0
    summary[END] = begin
    while i < size:
        if field == 0:
            record_line = line
            after = i + (data[i] == _CR)
            if after < size and data[after] == _LF:
                blanks += 1
                line += 1
                i = after + 1
                continue
            if blanks > 0 and (columns > 1 or summary[ROWS] == 0):
                _fault(summary, BLANK, line - blanks, 0)
                return
            summary[ROWS] += blanks
            blanks = 0
        start = i
        if data[i] == _QUOTE:
            opened, doubled = line, 0
            i += 1
            while True:
                while i < size and not halts[data[i]]:
                    i += 1
                if i == size:
                    _fault(summary, UNCLOSED, opened, field)
                    return
                if data[i] == _LF:
                    line += 1
                    i += 1
                elif data[i] == _NUL:
                    _fault(summary, NUL, line, field)
                    return
                elif i + 1 < size and data[i + 1] == _QUOTE:
                    doubled += 1
                    i += 2
                else:
                    break
            length = i - start - 1 - doubled
            summary[EMPTY] += length == 0
            i += 1
            if i < size and data[i] != separator and data[i] != _LF and data[i] != _CR:
                _fault(summary, NUL if data[i] == _NUL else AFTER, line, field)
                return
        else:
            while i < size and not stops[data[i]]:
                i += 1
            length = i - start
            if i < size and (data[i] == _QUOTE or data[i] == _NUL):
                _fault(summary, NUL if data[i] == _NUL else STRAY, line, field)
                return
        if length > longest:
            _fault(summary, LONG, record_line, field)
            return
        if summary[ROWS] > 0 and field < columns:
            widths[field] += length
        field += 1
        if i < size:
            if data[i] == separator:
                i += 1
                if i < size:
                    continue
                field += 1  # the file ends with a separator: one more field, an empty one
            elif data[i] == _CR and (i + 1 == size or data[i + 1] != _LF):
                _fault(summary, LONE_CR, line, field)
                return
            else:
                i += 1 + (data[i] == _CR)
                line += 1
        if field != columns:
            _fault(summary, FIELDS, record_line, field)
            return
        summary[ROWS] += 1
        summary[END] = i
        field = 0
    summary[TRAILING] = blanks
