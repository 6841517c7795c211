"""Compiled loops over arrays: arrays in, arrays out, one sentence each. Callers check and allocate."""
