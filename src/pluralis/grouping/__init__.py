"""What methods share when they decide which rows are published together.

The Plan they return; how diverse a table can be; what every equivalence class must pass; quasi-identifiers as points;
rows of one person in different groups; bucketizing; dependencies and correlation; schemas of subtables; sets that are
drawn for values.
"""
