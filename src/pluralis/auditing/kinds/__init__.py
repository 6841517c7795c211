"""Judges, one file for each kind of release: whether its tables are well formed, and whether its claims hold."""
