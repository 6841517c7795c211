"""SipHash-2-4 (Aumasson, Bernstein 2012): a keyed function from a few 64-bit words, or bytes, to one word."""

from __future__ import annotations

import numpy as np
from numba import njit

_U = np.uint64
_C0, _C1 = _U(0x736F6D6570736575), _U(0x646F72616E646F6D)
_C2, _C3 = _U(0x6C7967656E657261), _U(0x7465646279746573)
_FINISH = _U(0xFF)


@njit(cache=True, inline="always")
def _turn(word, by):
    return (word << by) | (word >> (_U(64) - by))


@njit(cache=True, nogil=True)
def _round(a, b, c, d):
    a += b
    c += d
    b = _turn(b, _U(13)) ^ a
    d = _turn(d, _U(16)) ^ c
    a = _turn(a, _U(32))
    c += b
    a += d
    b = _turn(b, _U(17)) ^ c
    d = _turn(d, _U(21)) ^ a
    c = _turn(c, _U(32))
    return a, b, c, d


@njit(cache=True, nogil=True)
def _begin(k0, k1):
    return k0 ^ _C0, k1 ^ _C1, k0 ^ _C2, k1 ^ _C3


@njit(cache=True, nogil=True)
def _take(a, b, c, d, word):
    d ^= word
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ word, b, c, d


@njit(cache=True, nogil=True)
def _end(a, b, c, d, length):
    a, b, c, d = _take(a, b, c, d, length << _U(56))
    c ^= _FINISH
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@njit(cache=True, nogil=True)
def word_of(k0, k1, first, second):
    """One word for two words."""
    a, b, c, d = _begin(k0, k1)
    a, b, c, d = _take(a, b, c, d, first)
    a, b, c, d = _take(a, b, c, d, second)
    return _end(a, b, c, d, _U(16))


@njit(cache=True, nogil=True)
def words_of(k0, k1, first, second):
    """One word for each pair of words."""
    out = np.empty(first.size, np.uint64)
    for i in range(first.size):
        out[i] = word_of(k0, k1, first[i], second[i])
    return out


@njit(cache=True, nogil=True)
def add_column(k0, k1, words, codes, of_code):
    """Fold the word of each row's value into the word of the row."""
    for i in range(words.size):
        words[i] = word_of(k0, k1, words[i], of_code[codes[i]])


@njit(cache=True, nogil=True)
def words_of_texts(k0, k1, data, ends):
    """One word for each text; text i is data[ends[i - 1] : ends[i]]."""
    out = np.empty(ends.size, np.uint64)
    begin = 0
    for i in range(ends.size):
        a, b, c, d = _begin(k0, k1)
        word, filled = _U(0), _U(0)
        for position in range(begin, ends[i]):
            word |= _U(data[position]) << filled
            filled += _U(8)
            if filled == _U(64):
                a, b, c, d = _take(a, b, c, d, word)
                word, filled = _U(0), _U(0)
        length = _U(ends[i] - begin)
        a, b, c, d = _take(a, b, c, d, word | ((length & _U(255)) << _U(56)))
        c ^= _FINISH
        for _ in range(4):
            a, b, c, d = _round(a, b, c, d)
        out[i] = a ^ b ^ c ^ d
        begin = ends[i]
    return out
