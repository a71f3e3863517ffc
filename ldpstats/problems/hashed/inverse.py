"""The inverse of normal equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.hash_design import mirrored

__all__ = ["inverted"]

_RANK = 1e-10  # pivots of the scaled normal equations below which candidates are not separated


def inverted(M: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Inverse by Cholesky of M, shape (S, S), which is overwritten; None where it is singular."""
    from scipy.linalg import lapack

    diagonal = np.diag(M).copy()
    if not diagonal.min() > 0.0:
        return None
    root = 1.0 / np.sqrt(diagonal)
    M *= root[:, None]
    M *= root
    # LAPACK counts in columns: the upper triangle of the transpose is the lower one of M
    factor, fault = lapack.dpotrf(M.T, lower=0, overwrite_a=1)
    if fault or np.diag(factor).min() ** 2 < _RANK:
        return None
    inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
    inverse = mirrored(inverse.T)
    inverse *= root[:, None]
    inverse *= root
    return np.asarray(inverse)
