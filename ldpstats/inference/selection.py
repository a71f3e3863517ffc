"""Confidence intervals after selection of large estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level

__all__ = ["selected_intervals"]

Array = npt.NDArray[Any]

_STEPS = 80  # of bisection: the width of a double
_CLOSEST = 1e-3  # standard errors above the bound, below which the ends hardly change


def selected_intervals(estimate: Array, se: Array, least: Array, alpha: float) -> Array:
    """Confidence intervals of means whose estimates were selected because they exceed `least`.

    A selected estimate x of mean mu has the law N(mu, se^2) truncated at `least`:
    ``P(X > x | X >= least) = sf((x - mu)/se) / sf((least - mu)/se)``. The interval ends at the mu
    where this is alpha/2 and 1 - alpha/2, so it covers with probability 1 - alpha given selection.
    Far above `least` it is the usual interval. Just above `least` the lower end falls far below,
    because nearly any mean could give such an estimate; very close to it, so does the upper end.

    Parameters
    ----------
    estimate, se, least : array, shape (k,)
        With estimate >= least.
    alpha : float
        Level in (0, 1).

    Returns
    -------
    array, shape (k, 2)

    Examples
    --------
    >>> selected_intervals(np.array([10.0, 4.1]), np.ones(2), np.full(2, 4.0), 0.05).round(2)
    array([[  8.04,  11.96],
           [-32.81,   5.15]])
    """
    from scipy.special import log_ndtr, ndtri

    alpha = level(alpha)
    x, s, c = (np.asarray(v, dtype=np.float64) for v in (estimate, se, least))
    bounds, usual = np.empty((x.size, 2)), -float(ndtri(alpha / 2.0))
    # the lower end is far down where the estimate is just above the bound
    far = np.log(2.0 / alpha) / np.maximum((x - c) / s, _CLOSEST)
    for side, tail in enumerate((alpha / 2.0, 1.0 - alpha / 2.0)):
        low, high = x - s * (usual + 1.0 + far), x + s * (usual + 1.0)
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            log = log_ndtr((middle - x) / s) - log_ndtr((middle - c) / s)
            above = log > np.log(tail)
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        bounds[:, side] = 0.5 * (low + high)
    return bounds
