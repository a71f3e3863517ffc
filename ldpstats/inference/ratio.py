"""Fieller's confidence set of a ratio of two estimates, for example p_i / p_j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tails import normal_critical

__all__ = ["FiellerInterval", "fieller"]


@dataclass(frozen=True, slots=True)
class FiellerInterval:
    """A confidence set of a ratio.

    Parameters
    ----------
    low, high : float
        Ends of the set, in the units of numerator over denominator.
    kind : {"bounded", "unbounded", "complement"}
        "bounded": [low, high]. "unbounded": [low, high] where at least one end is infinite.
        "complement": everything outside the open interval (low, high); it occurs where the
        denominator is not distinguishable from 0, but the numerator is.

    Examples
    --------
    >>> 0.3 in FiellerInterval(0.1, 0.4, "bounded"), 0.3 in FiellerInterval(0.1, 0.4, "complement")
    (True, False)
    """

    low: float
    high: float
    kind: Literal["bounded", "unbounded", "complement"]

    def __str__(self) -> str:
        if self.kind == "complement":
            return f"below {self.low:.4g} or above {self.high:.4g}"
        return f"[{self.low:.4g}, {self.high:.4g}]" + (
            "" if self.kind == "bounded" else " (unbounded)"
        )

    def __contains__(self, ratio: float) -> bool:
        """Whether `ratio` is in the set."""
        if self.kind == "complement":
            return ratio <= self.low or ratio >= self.high
        return self.low <= ratio <= self.high


def fieller(
    num: float, den: float, var_num: float, var_den: float, cov: float, alpha: float = 0.05
) -> FiellerInterval:
    """Fieller's confidence set of a ratio of two normal means.

    It holds every r for which num - r den is not significantly different from 0, and is exact for
    normal estimates with known covariance, however small the denominator.

    Parameters
    ----------
    num, den : float
        Estimates of numerator and denominator.
    var_num, var_den, cov : float
        Their variances and covariance.
    alpha : float
        One minus the confidence level.

    Raises
    ------
    InvalidArgument
        Where an argument is not finite, the three do not form a covariance matrix, or numerator and
        denominator are both 0 without variance.

    References
    ----------
    Fieller, E. C. (1954), Journal of the Royal Statistical Society B 16, 175-185.

    Examples
    --------
    >>> fieller(0.2, 0.4, 0.0004, 0.0004, 0.0).kind
    'bounded'
    >>> fieller(0.2, 0.01, 0.0004, 0.0004, 0.0).kind
    'complement'
    >>> fieller(0.02, 0.01, 0.0004, 0.0004, 0.0).kind
    'unbounded'
    """
    z2 = normal_critical(alpha) ** 2
    if not np.all(np.isfinite([num, den, var_num, var_den, cov])):
        raise InvalidArgument("num, den", (num, den), "and their covariances must be finite")
    # rounding leaves values that do not vary a variance of either sign, and a covariance
    tiny = 1e-12 * max(var_num, var_den, 0.0)
    if -tiny <= min(var_num, var_den) < 0:
        var_num, var_den = max(var_num, 0.0), max(var_den, 0.0)
    if var_num < 0 or var_den < 0 or cov**2 > var_num * var_den * (1 + 1e-9) + tiny**2:
        raise InvalidArgument("cov", cov, "with var_num and var_den must be a covariance matrix")
    # The set is A r^2 - 2 B r + C <= 0.
    A, B, C = den**2 - z2 * var_den, num * den - z2 * cov, num**2 - z2 * var_num
    if A == 0:
        return _fieller_half_line(B, C)
    discriminant = B**2 - A * C
    if discriminant <= 0 and A < 0:
        return FiellerInterval(-np.inf, np.inf, "unbounded")
    # With A > 0 the set holds num/den, so that a negative discriminant is rounding. The root of
    # larger size first, then the other from the product of roots C/A: no cancellation.
    far = B + np.copysign(np.sqrt(max(discriminant, 0.0)), B)
    roots = (far / A, C / far) if far != 0 else (0.0, 0.0)
    kind: Literal["bounded", "complement"] = "bounded" if A > 0 else "complement"
    return FiellerInterval(float(min(roots)), float(max(roots)), kind)


def _fieller_half_line(B: float, C: float) -> FiellerInterval:
    """The set C <= 2 B r, where the quadratic term is exactly zero."""
    if B == 0:
        if C > 0:
            raise InvalidArgument("den", 0.0, "is 0 without variance: the ratio is undefined")
        return FiellerInterval(-np.inf, np.inf, "unbounded")
    end = C / (2 * B)
    low, high = (end, np.inf) if B > 0 else (-np.inf, end)
    return FiellerInterval(low, high, "unbounded")
