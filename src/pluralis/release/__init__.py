"""A release: its manifest and tables, and the one strict reader of release folders.

The manifest is typed; reading accepts exactly one spelling of a folder; form, parameters and domains resolve every
name and value. What readers share of a release (its attributes, subtables, the original's values) is here, too. It
imports no method.
"""
