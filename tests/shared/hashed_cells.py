"""Cells of hashed candidates, and the 0-1 matrix that they stand for."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def hashed(C: int, m: int, S: int, h: int, seed: int = 0, dtype: Any = np.uint16) -> Array:
    """Random cells of each candidate, with m in place of a repeated one."""
    cells = np.random.default_rng(seed).integers(0, m, (C, S, h)).astype(dtype)
    for i, j in itertools.combinations(range(h), 2):
        cells[:, :, j][cells[:, :, j] == cells[:, :, i]] = m
    return cells


def incidence(cells: Array, m: int) -> Array:
    """H from its definition, shape (C m, S)."""
    C, S, _ = cells.shape
    H = np.zeros((C, m, S))
    for c, x in np.ndindex(C, S):
        for y in set(cells[c, x].tolist()) - {m}:
            H[c, y, x] = 1.0
    return H.reshape(C * m, S)
