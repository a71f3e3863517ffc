"""The two problems that every estimator solves, and the form of its answer.

`Likelihood` is what the reports say about p exactly; `Moments` is a set of linear equations in p
that the report counts satisfy on average. Both know nothing of the mechanism that made them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.likelihood.rows import DenseRows, Rows

__all__ = ["Likelihood", "Solution", "nats_to_gain"]


Array = npt.NDArray[Any]

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of a gap; 1.3 was seen in exact arithmetic


def nats_to_gain(nobs: int, gap: float) -> float:
    """Upper bound, in nats, of what `nobs` reports may still gain at a gap per report.

    A gap is computed from numbers near one, with an error of a few times the machine epsilon. From
    1e12 reports on that may be a thousandth of a nat in all or more, so it is added.
    """
    return nobs * (gap + _ROUNDING)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Log-likelihood ``sum_i n_i log (W p)_i`` of a distribution p on k categories; concave in p.

    Parameters
    ----------
    W : Rows or array, shape (u, k)
        Likelihood of each distinct report under each category, up to a factor per row.
    n : array, shape (u,)
        How often each distinct report was seen.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> problem.gap(np.array([0.7, 0.3])) < 1e-12   # the maximum: 0.6 = 0.75 * 0.7 + 0.25 * 0.3
    True
    """

    W: Rows
    n: Array

    def __init__(self, W: Rows | Array, n: Array) -> None:
        # what a caller passes may be a plain array
        object.__setattr__(self, "W", W if isinstance(W, Rows) else DenseRows(np.asarray(W)))
        object.__setattr__(self, "n", np.asarray(n))

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.W.shape[1]

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return round(float(self.n.sum()))  # weights sum to a whole number but for rounding

    def prepared(self) -> Likelihood:
        """With the rows in the form whose products are fastest (`Rows.prepared`)."""
        return Likelihood(self.W.prepared(), self.n)

    def loglike(self, p: Array) -> float:
        """Log-likelihood of p in nats, the scale of each row included."""
        seen = self.n > 0  # 0 log 0 = 0
        with np.errstate(divide="ignore"):
            terms = np.log(self.W.mix(p)[seen]) + self.W.log_scale[seen]
        return float(self.n[seen] @ terms)

    def score(self, p: Array) -> Array:
        """Gradient ``sum_i n_i W_i / (W p)_i``, shape (k,)."""
        return self.W.adjoint(self._over(self.W.mix(p)))

    def information(self, p: Array) -> Array:
        """Observed information ``sum_i n_i W_i W_i' / (W p)_i^2``, shape (k, k)."""
        return self.W.gram(self._over(self.W.mix(p) ** 2))

    def _over(self, d: Array) -> Array:
        """n / d; reports that were never seen count for nothing, even where d = 0."""
        with np.errstate(divide="ignore"):
            return np.divide(self.n, d, out=np.zeros(d.shape), where=self.n > 0)

    def gap(self, p: Array) -> float:
        """Certificate per report, ``max_x score_x / n - 1 >= 0``; zero only at the maximum.

        By concavity the log-likelihood still to gain is at most ``nobs * gap(p)`` nats, but for
        rounding: see `gap_nats`.
        """
        return max(float(self.score(p).max()) / self.nobs - 1.0, 0.0)

    def gap_nats(self, p: Array) -> float:
        """Upper bound, in nats, of the log-likelihood that is still to gain at p."""
        return nats_to_gain(self.nobs, self.gap(p))


@dataclass(frozen=True, eq=False)
class Solution:
    """What an estimator found.

    Parameters
    ----------
    p : array, shape (k,)
        The estimate.
    gap : float
        Certificate per report (see `Likelihood.gap`); nan where no likelihood is maximised.
    n_iter : int
        Iterations used; 0 for closed forms.
    converged : bool
        Whether the estimator's own certificate was reached.
    message : str
        How it ended, in words.
    support : array of int, shape (s,), or None
        Positions that the estimator selected, for those that select; None for all.
    """

    p: Array
    gap: float
    n_iter: int
    converged: bool
    message: str
    support: Array | None = None
