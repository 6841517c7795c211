"""Inpatient discharges with the domains of Texas': a generated table for measuring, not for reading.

The Texas discharge data of the Versatile Publishing paper may not be passed on. Its Table 5b gives 18 attributes and
how many values each has; here are as many rows and values, and columns that go together where real ones would: a
zipcode lies mostly in one county, physicians work mostly in one hospital, diagnoses and groups of them follow each
other.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROWS = 177_148
DOMAINS = {
    "thcic": 323, "gender": 2, "pat_zip": 1581, "county": 241, "pat_age": 22, "race": 5, "ad_diag": 3391,
    "prn_diag": 3488, "diag1": 3881, "diag2": 4193, "diag3": 4251, "p_icd9": 1708, "hcfa_mdc": 24, "hcfa_drg": 396,
    "apr_drg": 297, "rsk_mor": 6, "and_md": 15000, "surgeon": 17432,
}  # fmt: skip
FOLLOWS = {  # which column another one goes with, and how often
    "county": ("pat_zip", 0.95),
    "thcic": ("county", 0.7),
    "and_md": ("thcic", 0.8),
    "surgeon": ("and_md", 0.6),
    "ad_diag": ("prn_diag", 0.5),
    "diag1": ("prn_diag", 0.6),
    "diag2": ("diag1", 0.4),
    "diag3": ("diag2", 0.4),
    "hcfa_drg": ("prn_diag", 0.8),
    "hcfa_mdc": ("hcfa_drg", 0.97),
    "apr_drg": ("hcfa_drg", 0.85),
    "p_icd9": ("hcfa_drg", 0.5),
    "pat_age": ("prn_diag", 0.3),
    "gender": ("prn_diag", 0.3),
    "rsk_mor": ("apr_drg", 0.4),
}


def texas_like(rows: int = ROWS, seed: int = 2010) -> pl.DataFrame:
    """Discharges with the attributes and domains of the paper's Table 5b, as text.

    >>> table = texas_like(1_000)
    >>> table.shape, int(table["gender"].n_unique())
    ((1000, 18), 2)
    """
    usual = {name: _usual(name, default_rng(seed)) for name in FOLLOWS}
    rng = default_rng(seed + 1)
    codes: dict[str, NDArray[np.int64]] = {}
    while len(codes) < len(DOMAINS):
        for name, size in DOMAINS.items():
            if name in codes or (name in FOLLOWS and FOLLOWS[name][0] not in codes):
                continue
            drawn = _drawn(size, rows, rng)
            if name in FOLLOWS:
                other, often = FOLLOWS[name]
                drawn = np.where(rng.random(rows) < often, usual[name][codes[other]], drawn)
            codes[name] = drawn
    return pl.DataFrame({name: _texts(name).gather(codes[name]) for name in DOMAINS})


def _drawn(size: int, rows: int, rng: Generator) -> NDArray[np.int64]:
    """Values of which the commonest is a few times as common as the middle one."""
    chances = 1 / (np.arange(size) + size / 5 + 1)
    return np.searchsorted(np.cumsum(chances / chances.sum()), rng.random(rows)).clip(0, size - 1)


def _usual(name: str, rng: Generator) -> NDArray[np.int64]:
    """What goes with each value of the column that another one follows: all values about equally often."""
    return rng.permutation(DOMAINS[FOLLOWS[name][0]]) % DOMAINS[name]


def _texts(name: str) -> pl.Series:
    return pl.Series(name, [f"{name}{i}" for i in range(DOMAINS[name])])
