"""What is loaded before anything is done."""

from __future__ import annotations

import subprocess
import sys

KERNELS_ALONE = """
import sys
from pluralis.kernels.order import stable_order
import numpy as np
assert stable_order(np.array([1, 0, 1]), 2).tolist() == [1, 0, 2]
assert "scipy.linalg" not in sys.modules, "loaded, and not needed"
"""
MATRICES_TOO = """
import sys
import pluralis.kernels
import numpy as np
from numba import njit
from numba.np import arraymath, linalg
assert arraymath.ensure_blas is linalg.ensure_blas
square = np.array([[2.0, 1.0], [1.0, 3.0]])
product, inverse = njit(lambda a: (a @ a, np.linalg.inv(a)))(square)
assert np.allclose(product, square @ square) and np.allclose(inverse @ square, np.eye(2))
assert "scipy.linalg" in sys.modules
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr


def test_kernels_do_not_load_what_multiplies_matrices() -> None:
    assert run(KERNELS_ALONE) == ""


def test_whoever_multiplies_matrices_beside_them_still_can() -> None:
    assert run(MATRICES_TOO) == ""
