"""Compiled loops over arrays: arrays in, arrays out, one sentence each. Callers check and allocate."""

from pluralis.errors import optional

optional("numba", "Counting or publishing", "query")  # a word of advice, before a kernel asks for it
