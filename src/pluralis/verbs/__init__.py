"""The verbs of whoever has a release, whole or in parts: `audit`, `measure`, `attack`.

Each works on one release in a room of its own, which knows nothing of keys. Here a release in parts is taken too: the
rows of its original are routed again, and every part is audited, measured or attacked beside its own.
"""
