"""Whether any weights reach population totals, and which totals are in the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument

__all__ = ["refuse_unreachable"]

Array = npt.NDArray[Any]

_NEGLIGIBLE = 1e-9  # relative deviation that rounding explains
_SHOWN = 5  # categories that an error names


def refuse_unreachable(
    X: Any, weights: Array, targets: Array, words: Sequence[str], bounds: tuple[float, float]
) -> None:
    """Raise an error that names categories, if no factors within bounds reach all targets.

    The nearest weights, by the sum of relative deviations, solve a linear programme.

    Parameters
    ----------
    X : sparse array, shape (M, q)
        Indicators of the categories of each cell.
    weights : array, shape (M,)
    targets : array, shape (q,)
    words : sequence of str
        The categories.
    bounds : tuple of float
        What factors of the weights lie between.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    q, size = len(targets), float(targets.max())
    counts = weights > 0.0
    X, d, t = X[counts], weights[counts] / size, targets / size
    low, high = (d * bound for bound in bounds)
    slack = eye_array(q)
    solved = linprog(
        np.concatenate([np.zeros(len(d)), 1.0 / t, 1.0 / t]),
        A_eq=hstack([X.T, slack, -slack]),
        b_eq=t,
        bounds=np.column_stack(
            [np.concatenate([low, np.zeros(2 * q)]), np.concatenate([high, np.full(2 * q, np.inf)])]
        ),
    )
    if solved.x is None:  # nothing was shown, and the iteration's own words stand
        return
    reached = X.T @ solved.x[: len(d)]
    off = np.flatnonzero(np.abs(reached - t) > _NEGLIGIBLE * t)
    if not off.size:
        return
    worst = off[np.argsort(-np.abs(reached - t)[off] / t[off], kind="stable")][:_SHOWN]
    nearest = "; ".join(
        f"{words[j]} {size * reached[j]:.6g} instead of {targets[j]:.6g}" for j in worst
    )
    lower, upper = bounds
    bounded = upper < np.inf or lower > 0.0
    limits = f"no weights between {lower:g} and {upper:g} times their own reach all targets at once"
    why = limits if bounded else "no weights reach all targets at once, which contradict each other"
    advice = "widen the bounds" if bounded else "correct the totals, or join categories"
    raise InvalidArgument(
        "bounds" if bounded else "margins",
        bounds if bounded else words[worst[0]],
        f"{why} in this sample; nearest: {nearest}: {advice}",
    )
