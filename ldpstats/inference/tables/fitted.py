"""Effects in a table of nonnegative frequencies, such as a maximum likelihood estimate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables.estimated import axis_number
from ldpstats.problems.covariance import finite_array

__all__ = ["fitted_conditionals", "fitted_cramers_v"]

Array = npt.NDArray[Any]

_NOTHING = 1e-10  # share below which a condition is empty


def fitted_conditionals(P: npt.ArrayLike, axis: int = 0) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Conditional distributions of a table of nonnegative frequencies.

    Parameters
    ----------
    P : array_like, shape (k1, k2)
        Nonnegative frequencies.
    axis : {0, 1}
        The variable in the condition: 0 gives P(Y | X), 1 gives P(X | Y).

    Returns
    -------
    estimate : ndarray, shape (k1, k2)
        In [0, 1]; the marginal distribution of the other variable if the condition is empty.
    empty : ndarray of bool, shape (k1, k2)
        Whether the condition is empty.

    Examples
    --------
    >>> fitted_conditionals([[0.3, 0.1], [0.0, 0.0]])[0]
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    p = finite_array("P", P, 2)
    if axis_number("axis", axis):
        estimate, empty = fitted_conditionals(p.T)
        return estimate.T, empty.T
    total = p.sum(axis=1, keepdims=True)
    empty = np.broadcast_to(total <= _NOTHING * p.sum(), p.shape)
    others = np.broadcast_to(p.sum(axis=0) / p.sum(), p.shape)
    return np.divide(p, total, out=np.array(others), where=~empty), empty


def fitted_cramers_v(P: npt.ArrayLike) -> float:
    """Cramer's V of a table of nonnegative frequencies, without empty rows and columns.

    Examples
    --------
    >>> round(fitted_cramers_v([[0.3, 0.2], [0.1, 0.4]]), 4)
    0.4082
    """
    p = finite_array("P", P, 2)
    r, c = p.sum(axis=1), p.sum(axis=0)
    rows, columns = r > _NOTHING * p.sum(), c > _NOTHING * p.sum()
    expected = np.outer(r[rows], c[columns]) / p.sum()
    phi2 = float(np.sum((p[np.ix_(rows, columns)] - expected) ** 2 / expected)) / p.sum()
    return math.sqrt(min(phi2 / (min(p.shape) - 1), 1.0))
