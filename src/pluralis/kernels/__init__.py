"""Compiled loops over arrays.

When Numba first loads one it asks whether there is a BLAS, by loading scipy.linalg: 12 MiB, and a tenth of a second at
every start. No kernel here needs it, so the answer, yes, is given at once; what does need it still loads it.
"""

from numba.np import linalg

if hasattr(linalg, "ensure_blas"):
    _ask, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath  # asks as it is loaded
    finally:
        linalg.ensure_blas = _ask
    vars(arraymath)["ensure_blas"] = _ask
