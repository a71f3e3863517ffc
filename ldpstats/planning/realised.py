"""How far estimates are from a truth that is known, as in simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument
from ldpstats.planning.rates import rectangular

__all__ = ["realised_losses"]

_WHOLE = 1e-9  # by which the sum of a distribution may differ from one


def realised_losses(
    estimate: npt.ArrayLike | pd.Series[Any], truth: npt.ArrayLike | pd.Series[Any]
) -> pd.Series[Any]:
    """Losses of one estimate, where the truth is known.

    Parameters
    ----------
    estimate : array-like, shape (k,), or Series
        Estimated frequencies, such as ``results.params`` or ``results.linear``. If both arguments
        are Series they are matched by label, otherwise by position.
    truth : array-like, shape (k,), or Series
        The true frequencies, at least zero; of a list of candidates they may sum to less than one.

    Returns
    -------
    Series
        "total_variation", half of "l1"; "l1", the sum of absolute errors; "l2", the root of
        "squared_l2", the sum of squared errors, whose expectation is `Precision.total` for the
        linear estimate; "hellinger", the distance ``sqrt(1 - sum_x sqrt(p_x q_x))``, from 0 to 1.
        The Hellinger distance is nan unless both are distributions: nonnegative, with sum one to
        1e-9. An unconstrained estimate is none as a rule.

    Raises
    ------
    InvalidArgument
        If the arguments have different shapes or labels, an estimate is not a finite number, or the
        truth is not a distribution.

    Examples
    --------
    >>> realised_losses([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]).round(4)
    total_variation    0.1000
    l1                 0.2000
    l2                 0.1414
    squared_l2         0.0200
    hellinger          0.0799
    Name: loss, dtype: float64
    """
    if isinstance(truth, pd.Series) and isinstance(estimate, pd.Series):
        if truth.index.has_duplicates or isinstance(truth.index, pd.MultiIndex):
            raise InvalidArgument("truth", truth.index.tolist(), "must be indexed by labels, once")
        estimate = align("estimate", estimate, truth.index)
    k = rectangular("truth", truth).size
    if not k:
        raise InvalidArgument("truth", truth, "must hold at least one frequency")
    p = distribution("truth", truth, k, partial=True)
    remedy = f"must be {k} finite numbers, one for each entry of the truth"
    q = numbers("estimate", estimate, remedy, (k,))
    if not np.all(np.abs(q) < 1e150):
        raise InvalidArgument("estimate", q.tolist(), remedy)
    l1, squared = float(np.abs(q - p).sum()), float(np.square(q - p).sum())
    found = {"total_variation": l1 / 2.0, "l1": l1, "l2": np.sqrt(squared), "squared_l2": squared}
    return pd.Series(found | {"hellinger": _hellinger(q, p)}, name="loss")


def _hellinger(q: npt.NDArray[Any], p: npt.NDArray[Any]) -> float:
    """The distance of two distributions; nan where one is none."""
    if q.min() < 0.0 or max(abs(q.sum() - 1.0), abs(p.sum() - 1.0)) > _WHOLE:
        return np.nan
    # half the squared distance of the roots, which does not cancel where they are close
    return float(np.sqrt(np.square(np.sqrt(q) - np.sqrt(p)).sum() / 2.0))
