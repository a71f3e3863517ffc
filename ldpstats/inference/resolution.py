"""Whether estimated shares say more than that they are shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.inference.multiplicity import reject

__all__ = ["is_fine", "reports_needed", "spread", "stands_out"]

_LEVEL = 0.05  # family-wise, at which a category stands out


def spread(k: int) -> float:
    """Summed variance of k shares that are drawn evenly from the simplex, (k - 1) / (k (k + 1)).

    That of a single share, which leaves the others open, is 1/12.

    Examples
    --------
    >>> round(spread(2), 6), round(spread(100), 6)
    (0.166667, 0.009802)
    """
    return (k - 1.0) / (k * (k + 1.0)) if k > 1 else 1.0 / 12.0


def is_fine(variances: npt.ArrayLike) -> bool:
    """Whether estimates tell more of shares than that they are shares.

    Whether their variances add up to at most the `spread` of shares that are drawn evenly from the
    simplex. Otherwise, on average over such shares, the guess that all are equal has a smaller mean
    square error than the estimates. For two categories the limit is the standard error of a uniform
    guess on [0, 1], .29; for many it is about 1/k, the average share.

    Parameters
    ----------
    variances : array_like, shape (k,)
        Of the unconstrained estimates.

    Examples
    --------
    >>> is_fine([0.08, 0.08]), is_fine([0.1, 0.1])
    (True, False)
    """
    total = np.asarray(variances, dtype=np.float64)
    return bool(total.sum() <= spread(total.size))


def stands_out(pvalues: npt.ArrayLike) -> bool:
    """Whether some category stands out from the noise, by Bonferroni's rule at .05.

    Then the reports say something of shares, large as their variances may be.

    Parameters
    ----------
    pvalues : array_like, shape (k,)
        Of p = 0 against p > 0, not adjusted.

    Examples
    --------
    >>> stands_out([0.3, 0.2]), stands_out([0.3, 0.01])
    (False, True)
    """
    return bool(reject(pvalues, _LEVEL).any())


def reports_needed(variances: npt.ArrayLike, nobs: int) -> float:
    """Reports with which the variances add up to the `spread` of the simplex.

    Parameters
    ----------
    variances : array_like, shape (k,)
        Of the unconstrained estimates from `nobs` reports.
    nobs : int

    Examples
    --------
    >>> round(reports_needed([0.5, 0.5], nobs=20))
    120
    """
    total = np.asarray(variances, dtype=np.float64)
    return float(nobs * total.sum() / spread(total.size))
