"""Estimators, one file for each kind of release: how many rows to expect of which a condition is true."""
