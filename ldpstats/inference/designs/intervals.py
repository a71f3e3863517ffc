"""Intervals of weighted shares, by t and by the score of a counted report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.decoding import Decoding, LinearDecoding

__all__ = ["Counted", "score_bounds", "t_bounds"]

Array = npt.NDArray[Any]

_FEW = 20.0  # reports, of effective respondents


@dataclass(frozen=True, eq=False)
class Counted:
    """What share of the respondents makes the report that a category is counted by.

    ``q_j = offset_j + scale_j p_j``, shape (k,) both; nan where a category has no report, or bit,
    of its own.
    """

    offset: Array
    scale: Array

    @classmethod
    def by(cls, decoding: Decoding) -> Counted:
        """The reports that categories are counted by."""
        form = decoding.equations.exact_form() if isinstance(decoding, LinearDecoding) else None
        if form is None:
            return cls(np.full(decoding.k, np.nan), np.full(decoding.k, np.nan))
        return cls(form.offset, form.scale)

    def crossed(self, other: Counted, rows: Array, columns: Array) -> Counted:
        """The pairs of reports that cells of two variables are counted by, row-major, (a b,).

        Others who make a pair depend on the shares of `rows`, (a,), and `columns`, (b,), which are
        taken as known; the variance of a cell holds what they add to it.
        """
        first, second = (np.clip(margin, 0.0, 1.0) for margin in (rows, columns))
        mixed = np.outer(self.offset, other.offset + other.scale * second)
        offset = mixed + np.outer(self.scale * first, other.offset)
        scale = np.outer(self.scale, other.scale)
        return Counted(offset.reshape(-1), scale.reshape(-1))


def t_bounds(estimate: Array, se: Array, df: Array, alpha: float) -> Array:
    """Estimates plus or minus t quantiles times standard errors, (q, 2)."""
    reach = _critical(df, alpha) * se
    return np.stack([estimate - reach, estimate + reach], axis=-1)


def score_bounds(
    estimate: Array, se: Array, df: Array, alpha: float, counted: Counted, n: Array
) -> Array:
    """Score intervals of shares (Wilson's, with an effective sample size and t quantiles), (q, 2).

    The share q of the reports that a category is counted by has the variance q (1 - q) / m of m
    respondents of a simple random sample, so that its variance is known at every value, as that of
    a rare category must be: the interval is all values that the estimate does not reject. Where
    nobody, or everybody, made the report m is `n`, the respondents less what weights cost, and it
    is `n` at most where the report is rare. As `t_bounds` where a category has no such report.

    References
    ----------
    Korn, E. L. and Graubard, B. I. (1998), Survey Methodology 24, 193-201, for the effective
    sample size.
    """
    t2 = _critical(df, alpha) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        q = counted.offset + counted.scale * estimate
        spread = q * (1.0 - q)
        variance = (counted.scale * se) ** 2
        seen = (spread > 0.0) & (variance > 0.0)
        m = np.where(seen, spread / variance, n)
        # few reports show no variance of their own: what they seem to gain is chance
        m = np.where(m * spread < _FEW, np.minimum(m, n), m)
        c = t2 / m
        spread = np.clip(spread, 0.0, None)
        centre = (np.clip(q, 0.0, 1.0) + c / 2.0) / (1.0 + c)
        reach = np.sqrt(c * spread + c**2 / 4.0) / (1.0 + c)
        ends = (np.stack([centre - reach, centre + reach], axis=-1).T - counted.offset).T
        ends = np.sort((ends.T / counted.scale).T, axis=-1)
    plain = np.isnan(ends).any(axis=-1) | ((q < 0.0) | (q > 1.0))
    return np.where(plain[:, None], t_bounds(estimate, se, df, alpha), ends)


def _critical(df: Array, alpha: float) -> Array:
    """Upper quantile of the t law; a single degree of freedom at least."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(df, 1.0), 1.0 - alpha / 2.0))
