"""Weights that are cut at bounds while their sum stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotConverged

__all__ = ["trimmed"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-12
_MOST_PASSES = 1000


def trimmed(weights: Array, n: Array, lower: float, upper: float, strict: bool) -> Array:
    """Weights cut at bounds, what was cut being given to the others in equal shares, (c,).

    Parameters
    ----------
    weights : array, shape (c,)
        Of one respondent of each cell.
    n : array, shape (c,)
        Respondents of each cell.
    lower, upper : float
    strict : bool
        Whether this is repeated until no weight is outside; else others may leave the bounds.

    Raises
    ------
    InvalidArgument
        If the mean weight is outside of the bounds, no weight is inside, or one falls to zero.
    NotConverged
        If weights are still outside after 1,000 passes.
    """
    mean = float(weights @ n / n.sum())
    if not lower < mean:
        raise InvalidArgument("lower", lower, f"must be below the mean weight, {mean:.6g}")
    if not mean < upper:
        raise InvalidArgument("upper", upper, f"must be above the mean weight, {mean:.6g}")
    found = weights
    for _ in range(_MOST_PASSES if strict else 1):
        outside = (found < lower * (1.0 - _ROUNDING)) | (found > upper * (1.0 + _ROUNDING))
        if not outside.any():
            break
        if outside.all():
            remedy = (
                f"no weight is between {lower:g} and {upper:g}, to take what is cut: widen these"
            )
            raise InvalidArgument("upper", upper, remedy)
        cut = np.clip(found, lower, upper)
        excess = float((found - cut)[outside] @ n[outside])
        found = np.where(outside, cut, found + excess / float(n[~outside].sum()))
    else:
        if strict:
            raise NotConverged(f"trimming left weights outside after {_MOST_PASSES} passes")
    if np.any(found <= 0.0):
        remedy = "takes so much from the other weights that some fall to zero: choose a smaller one"
        raise InvalidArgument("lower", lower, remedy)
    return np.asarray(found)
