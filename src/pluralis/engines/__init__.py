"""How the work on a table is carried out: whole, or cut into shards in which rows are grouped on their own.

Which shard a row is in does not depend on who does the work, nor in which order or on how many cores.
"""
