"""The table, from a file or frame to integer codes.

Sources read CSV, Parquet and frames exactly or refuse them; canonical values have one spelling; encoding makes codes
with dictionaries and hierarchies; labels are how generalized values are written. Methods and kernels see only what
encoding made.
"""
