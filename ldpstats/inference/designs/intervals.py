"""Intervals of weighted shares, their ratios and differences.

Each is of all values that an estimate does not reject at a critical value t, one for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json
from ldpstats.errors import InvalidArgument
from ldpstats.problems.decoding import Decoding, LinearDecoding

__all__ = [
    "Counted",
    "Differences",
    "critical",
    "normal_level",
    "paired",
    "ratio_bounds",
    "score_bounds",
    "t_bounds",
]

Array = npt.NDArray[Any]

_ALIKE = 1e-12  # scales of different categories
_FEW = 20.0  # reports, of effective respondents
_LEAST, _MOST = 1e-6, 1e9  # critical values
_ROUNDING = 1e-13  # of a variance, relative to its terms
_GRID = np.geomspace(0.05, 500.0, 40)  # between which limits move one way
_STEPS = 48  # of bisection of logarithms between two of these


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

    def to_json(self) -> list[Any]:
        """Plain JSON types."""
        return [array_to_json(self.offset), array_to_json(self.scale)]

    @classmethod
    def from_json(cls, document: list[Any]) -> Counted:
        """Inverse of `to_json`."""
        offset, scale = map(array_from_json, document)
        if np.isinf(offset).any() or np.isinf(scale).any() or (scale == 0.0).any():
            remedy = "is damaged: scales must be numbers other than zero"
            raise InvalidArgument("document", document, remedy)
        return cls(offset, scale)

    def some(self, at: Any) -> Counted:
        """Those of some categories."""
        return Counted(self.offset[at], self.scale[at])

    def joined(self, members: Array, disjoint: bool) -> Counted:
        """The reports that sets of categories are counted by, (r, k) of zeros and ones -> (r,).

        Of several categories there are such where reports are `disjoint`, so that each respondent
        makes that of one category at most, and alike. Reports that are sets, which hold more than
        one category on average, are not.
        """
        offset, scale = np.full((2, len(members)), np.nan)
        for i, own in enumerate(members > 0.0):
            one = self.some(own)
            single = self.offset.sum() + one.scale[0] <= 1.0 + _ALIKE * self.offset.size
            alike = disjoint and single and np.ptp(one.scale) <= _ALIKE
            if own.sum() == 1 or alike:
                offset[i], scale[i] = one.offset.sum(), one.scale[0]
        return Counted(offset, scale)

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


def critical(df: Array, alpha: float) -> Array:
    """Upper quantiles alpha / 2 of t laws; on a single degree of freedom at least."""
    from scipy.special import stdtrit

    # the lower quantile: 1 - alpha / 2 is 1 of a small alpha; far out scipy loses its sign
    return np.asarray(np.abs(stdtrit(np.maximum(df, 1.0), alpha / 2.0)))


def normal_level(df: Array, alpha: float) -> Array:
    """The levels whose normal quantiles are the t quantiles of `alpha`."""
    from scipy.special import ndtr

    return np.asarray(2.0 * ndtr(-critical(df, alpha)))


def paired(V: Array, first: Array, second: Array) -> Array:
    """Variances at the `first` places and at the `second`, and their covariances, (3, r)."""
    return np.stack([V[first, first], V[second, second], V[first, second]])


def t_bounds(estimate: Array, se: Array, t: Array) -> Array:
    """Estimates plus or minus t times standard errors, (q, 2)."""
    return np.stack([estimate - t * se, estimate + t * se], axis=-1)


def score_bounds(estimate: Array, se: Array, t: Array, counted: Counted, n: Array) -> Array:
    """Score intervals of shares (Wilson's, with an effective sample size), (q, 2).

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
    with np.errstate(divide="ignore", invalid="ignore"):
        q = counted.offset + counted.scale * estimate
        spread = q * (1.0 - q)
        variance = (counted.scale * se) ** 2
        seen = (spread > 0.0) & (variance > 0.0)
        m = np.where(seen, spread / variance, n)
        # few reports show no variance of their own: what they seem to gain is chance
        m = np.where(m * spread < _FEW, np.minimum(m, n), m)
        c = t**2 / m
        spread = np.clip(spread, 0.0, None)
        centre = (np.clip(q, 0.0, 1.0) + c / 2.0) / (1.0 + c)
        reach = np.sqrt(c * spread + c**2 / 4.0) / (1.0 + c)
        ends = (np.stack([centre - reach, centre + reach], axis=-1).T - counted.offset).T
        ends = np.sort((ends.T / counted.scale).T, axis=-1)
    plain = np.isnan(ends).any(axis=-1) | ((q < 0.0) | (q > 1.0))
    return np.where(plain[:, None], t_bounds(estimate, se, t), ends)


def ratio_bounds(
    above: Array, below: Array, covariance: Array, limits: Array, limits_below: Array
) -> Array:
    """Limits of ratios of shares from the limits of both, (q, 2) each; they may be infinite.

    All ratios r at which ``above - r below`` does not differ from zero, its limits being those of
    `Differences`; Fieller's set (1954) where limits are symmetric. `covariance` holds variances of
    `above` and `below`, and their covariance, (3, q).

    References
    ----------
    Donner, A. and Zou, G. Y. (2012), Closed-form confidence intervals for functions of the normal
    mean and standard deviation, Statistical Methods in Medical Research 21, 347-359.
    """
    r, ratio = _correlation(covariance), np.full((len(above), 2), [-np.inf, np.inf])
    reach, reach_below = np.abs(limits - above[:, None]), np.abs(limits_below - below[:, None])
    for side, sign in enumerate((-1.0, 1.0)):
        a = reach[:, side]
        beyond = sign * above < -a  # zero: this limit has the sign of the estimate
        b = np.where(beyond, reach_below[:, 1], reach_below[:, 0])
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite limits, see the last line
            # the limit is a root of A x^2 - 2 B x + C
            A, B, C = below**2 - b**2, above * below - r * a * b, above**2 - a**2
            root = np.sqrt(np.maximum(B**2 - A * C, 0.0))
            near = beyond | ((side == 0) & (B > 0.0) & (B**2 >= A * C))
            near = np.where(near, C / (B - sign * root), sign * np.inf)
            end = np.where(A > 0.0, (B + sign * root) / A, near)
            end = sign * np.maximum(sign * end, sign * above / below)  # less rounding
        known = (below > 0.0) & np.isfinite(a) & np.isfinite(b)
        ratio[known, side] = end[known]
    return ratio


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of estimates, first minus second, from the limits of each.

    Limits of both are combined as if each lay its own quantile from the estimate, towards the other
    side for the second, so that they keep their skewness; where both are symmetric they are those
    of the t law with the standard error of the difference.

    Parameters
    ----------
    first, second : array, shape (r,)
    covariance : array, shape (3, r)
        Variances of first and second, and their covariance.
    limits : callable
        Limits of first and of second at critical values t, (r,) -> (r, 2) both.

    References
    ----------
    Zou, G. Y. (2007), Toward using confidence intervals to compare correlations, Psychological
    Methods 12, 399-413, for limits of estimates that depend on each other.
    """

    first: Array
    second: Array
    covariance: Array
    limits: Callable[[Array], tuple[Array, Array]]

    @property
    def estimate(self) -> Array:
        """The differences, (r,)."""
        return self.first - self.second

    @cached_property
    def _r(self) -> Array:
        return _correlation(self.covariance)

    @property
    def se(self) -> Array:
        """Their standard errors, (r,); zero where only rounding is left."""
        first, second, both = self.covariance
        variance = first + second - 2.0 * both
        return np.sqrt(np.where(variance <= _ROUNDING * (first + second), 0.0, variance))

    def bounds(self, t: Array) -> Array:
        """Limits of the differences, (r, 2); infinite where those of one are.

        They are the farthest up to t: of estimates that go together those of a difference draw in
        again where the limits of one have come to their end, and those of the other have not.
        """
        found = self._reaches(t)
        for least in _GRID[_GRID < t.max(initial=0.0)]:
            found = np.maximum(found, self._reaches(np.minimum(t, least)))
        return np.asarray(self.estimate[:, None] + found * [-1.0, 1.0])

    def pvalues(self, df: Array) -> Array:
        """Two-sided p-values, (r,), of differences of zero: at the least t whose limits hold it."""
        from scipy.special import stdtr

        low, high = np.full(df.shape, _LEAST), np.full(df.shape, _MOST)
        for t in _GRID[::-1]:
            rejected = self._rejected(np.full(df.shape, t))
            low = np.where(rejected, np.maximum(low, t), _LEAST)
            high = np.where(rejected, high, t)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            rejected = self._rejected(middle)
            low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
        p = 2.0 * stdtr(np.maximum(df, 1.0), -low)
        return np.asarray(np.where(self.estimate == 0.0, 1.0, p))

    def _rejected(self, t: Array) -> npt.NDArray[np.bool_]:
        """Whether zero is beyond the limits, (r,)."""
        down, up = self._reaches(t).T
        return np.asarray((self.estimate > down) | (self.estimate < -up))

    def _reaches(self, t: Array) -> Array:
        """How far limits lie below the estimates and above, (r, 2)."""
        ends = (end for one in self.limits(t) for end in np.moveaxis(one, -1, 0))
        low, high, other_low, other_high = ends
        with np.errstate(invalid="ignore"):  # infinity less infinity
            down = _combined(self.first - low, other_high - self.second, self._r)
            up = _combined(high - self.first, self.second - other_low, self._r)
        return np.stack([down, up], axis=-1)


def _correlation(covariance: Array) -> Array:
    """Of variances and covariances, (3, q) -> (q,); zero where nothing varies."""
    first, second, both = covariance
    scale = np.sqrt(first * second)
    r: Array = np.divide(both, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return np.asarray(np.clip(r, -1.0, 1.0))


def _combined(first: Array, second: Array, r: Array) -> Array:
    """Length of the sum of two sides with the correlation -r; infinite where one is."""
    square = first**2 + second**2 - 2.0 * r * first * second
    endless = np.isinf(first) | np.isinf(second)
    return np.where(endless, np.inf, np.sqrt(np.maximum(square, 0.0)))
