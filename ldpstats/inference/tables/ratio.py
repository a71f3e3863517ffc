"""Effect sizes with confidence sets of ratios: Fieller's, and a profile set of an odds ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, html_lines, html_table, page_text
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.solvers import root
from ldpstats.inference.tails import normal_critical
from ldpstats.likelihood.covariance import finite_array

Kind = Literal["bounded", "unbounded", "complement", "not given"]


def _holds(kind: Kind, low: float, high: float, value: float) -> bool:
    return low <= value <= high if kind != "complement" else value <= low or value >= high


@dataclass(frozen=True, slots=True)
class Effect(Document):
    """An effect size and its confidence set.

    Parameters
    ----------
    name : str
        The effect in words.
    estimate : float
        From the unconstrained table, so a probability may lie outside [0, 1]; `ml` if a denominator
        is not positive, or nan without it.
    lower, upper : float
        Ends of the set, within the possible values of the effect.
    alpha : float
        One minus the confidence level.
    kind : {"bounded", "unbounded", "complement", "not given"}
        "bounded": [lower, upper]. "unbounded": also [lower, upper], but a denominator does not
        differ significantly from 0, and at most the range of possible values bounds the set.
        "complement": all possible values outside the open interval (lower, upper). "not given":
        only a message, in effects of version 0.1.
    message : str
        Remarks on the set.
    ml : float or None
        The effect in the maximum likelihood estimate of the table; None if that was not fitted or
        does not determine it. The message says so if the set does not hold it.

    Examples
    --------
    >>> effect = Effect("risk ratio", 1.5, 1.1, 2.2)
    >>> print(effect)
    risk ratio: 1.5, 95% interval [1.1, 2.2]
    >>> 1.0 in effect, Effect.from_dict(effect.to_dict()) == effect
    (False, True)
    """

    _lenient: ClassVar[bool] = True  # documents of 0.1.0 lack fields

    name: str
    estimate: float
    lower: float
    upper: float
    alpha: float = 0.05
    kind: Kind = "bounded"
    message: str = ""
    ml: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is a confidence set."""
        return self.kind != "not given"

    def __contains__(self, value: float) -> bool:
        """Whether `value` is in the set."""
        return _holds(self.kind, self.lower, self.upper, value)

    def __str__(self) -> str:
        if not self.given:
            return page_text(f"{self.name}: not given, because {self.message}", 2)
        note = f" ({self.message})" if self.message else ""
        text = f"{self.name}: {self._estimate_text()}, {' '.join(self._set_text())}{note}"
        return page_text(text, 2)

    def _repr_html_(self) -> str:
        """The effect, in a notebook."""
        rows = [("estimate", self._estimate_text()), self._set_text()] if self.given else []
        return html_table(self.name, [*rows, ("note", self.message)] if self.message else rows)

    def _estimate_text(self) -> str:
        estimate = "no estimate" if math.isnan(self.estimate) else f"{self.estimate:.4g}"
        if self.ml is not None and f"{self.ml:.2g}" != f"{self.estimate:.2g}":
            estimate += f" (maximum likelihood {self.ml:.4g})"
        return estimate

    def _set_text(self) -> tuple[str, str]:
        """What the confidence set is, and its ends."""
        what, ends = "interval", f"[{self.lower:.4g}, {self.upper:.4g}]"
        if self.kind == "complement":
            what, ends = "set", f"below {self.lower:.4g} or above {self.upper:.4g}"
        return f"{100 * (1 - self.alpha):.4g}% {what}", ends


def beside(effect: Effect, ml: float) -> Effect:
    """The effect with its value `ml` in the maximum likelihood table, nan if undefined there."""
    if math.isnan(ml):
        return effect
    message = effect.message
    if effect.given and ml not in effect:
        outside = f"the set does not hold the maximum likelihood estimate {ml:.4g}"
        message = f"{message}; {outside}" if message else outside
    estimate = ml if math.isnan(effect.estimate) else effect.estimate
    return replace(effect, estimate=estimate, message=message, ml=ml)


# -- Confidence sets of ratios, and of odds ratios ------------------------------------------------

Within = tuple[float, float, Literal["bounded", "unbounded", "complement"], str]

_LEAST = 1e-300  # smallest alpha
_RIDGE = 1e-9  # relative variance added to a singular covariance
_DECADES = 8.0  # of an odds ratio on either side of 1
_CELLS = 18.0  # decades of the ratio of two cells
_PER_DECADE = 10, 5  # grid points
_ZOOMS = 8  # grids, each of a quarter of the step before


@dataclass(frozen=True, slots=True)
class FiellerInterval:
    """A confidence set of a ratio.

    Parameters
    ----------
    low, high : float
        Ends of the set, in the units of numerator over denominator.
    kind : {"bounded", "unbounded", "complement"}
        "bounded": [low, high]. "unbounded": [low, high] with an infinite end. "complement":
        everything outside the open interval (low, high), if the denominator does not differ
        significantly from 0 but the numerator does.

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
        return f"[{self.low:.4g}, {self.high:.4g}]{' (unbounded)' * (self.kind == 'unbounded')}"

    def _repr_html_(self) -> str:
        """The text as lines of HTML, for a notebook."""
        return html_lines(str(self))

    def __contains__(self, ratio: float) -> bool:
        """Whether `ratio` is in the set."""
        return _holds(self.kind, self.low, self.high, ratio)


def fieller(
    num: float, den: float, var_num: float, var_den: float, cov: float, alpha: float = 0.05
) -> FiellerInterval:
    """Fieller's confidence set of a ratio of two normal means.

    All r for which num - r den does not differ significantly from 0; exact for normal estimates of
    known covariance.

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
        If an argument is not finite, the variances and covariance are inconsistent, or numerator
        and denominator are both 0 without variance.

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
    # rounding can give constants a variance of either sign
    tiny = 1e-12 * max(var_num, var_den, 0.0)
    if -tiny <= min(var_num, var_den) < 0:
        var_num, var_den = max(var_num, 0.0), max(var_den, 0.0)
    if var_num < 0 or var_den < 0 or cov**2 > var_num * var_den * (1 + 1e-9) + tiny**2:
        raise InvalidArgument("cov", cov, "with var_num and var_den must be a covariance matrix")
    # the set is A r^2 - 2 B r + C <= 0
    A, B, C = den**2 - z2 * var_den, num * den - z2 * cov, num**2 - z2 * var_num
    if A == 0 and B == 0 and C > 0:
        raise InvalidArgument("den", 0.0, "is 0 without variance: the ratio is undefined")
    discriminant = B**2 - A * C
    if (A == 0 and B == 0) or (discriminant <= 0 and A < 0):
        return FiellerInterval(-np.inf, np.inf, "unbounded")
    if A == 0:  # C <= 2 B r, a half line
        end = C / (2 * B)
        return FiellerInterval(*((end, np.inf) if B > 0 else (-np.inf, end)), "unbounded")
    # If A > 0 the set holds num/den, so a negative discriminant is rounding. The larger root comes
    # first and the other from the product C/A, without cancellation.
    far = B + np.copysign(np.sqrt(max(discriminant, 0.0)), B)
    roots = (far / A, C / far) if far != 0 else (0.0, 0.0)
    kind: Literal["bounded", "complement"] = "bounded" if A > 0 else "complement"
    return FiellerInterval(float(min(roots)), float(max(roots)), kind)


def fieller_within(
    num: float,
    den: float,
    var_num: float,
    var_den: float,
    cov: float,
    possible: tuple[float, float],
    alpha: float = 0.05,
) -> Within:
    """Fieller's set within the possible ratios: lower, upper, kind and a message.

    If a bounded set contains no possible ratio, the result goes from the nearest possible one, f,
    to the ratio at which an estimate so far out is alpha/2 times as probable as at f (a CLs limit).

    Parameters
    ----------
    num, den, var_num, var_den, cov, alpha : float
        As for `fieller`.
    possible : (float, float)
        Smallest and largest ratio; the denominator is not negative.

    Examples
    --------
    >>> [round(v, 3) for v in fieller_within(-0.03, 0.2, 1e-4, 1e-4, 0.0, (0.0, 1.0))[:2]]
    [0.0, 0.049]
    """
    ratios = fieller(num, den, var_num, var_den, cov, alpha)
    floor, ceiling = possible
    message = "" if ratios.kind == "bounded" else "the denominator is not distinguishable from 0"
    parts = [(ratios.low, ratios.high)]
    if ratios.kind == "complement":
        parts = [(-math.inf, ratios.low), (ratios.high, math.inf)]
    inside = [(max(low, floor), min(high, ceiling)) for low, high in parts]
    inside = [part for part in inside if part[0] < part[1]]
    if len(inside) == 2:
        return inside[0][1], inside[1][0], "complement", message
    if inside:
        kind: Literal["bounded", "unbounded"] = "bounded" if not message else "unbounded"
        return *inside[0], kind, message
    if message or den <= 0.0:  # every possible ratio is contradicted: uninformative
        return floor, ceiling, "unbounded", message or "the denominator is not positive"
    below = ratios.high <= floor
    end, side = (floor, 1.0) if below else (ceiling, -1.0)
    beyond, moved = side * (num - end * den), cov - end * var_den
    square = max(var_num - 2.0 * end * cov + end**2 * var_den, 0.0)
    width = 0.0
    if square > 0.0:
        from scipy.special import log_ndtr, ndtr, ndtri_exp

        z = ndtri_exp(math.log(alpha / 2.0) + log_ndtr(beyond / math.sqrt(square)))
        level = max(2.0 * float(ndtr(z)), _LEAST)
        limit = fieller(beyond, den, square, var_den, side * moved, level)
        width = limit.high if limit.kind == "bounded" else math.inf
    words = f"the interval lay wholly {'below' if below else 'above'} {end:g} before the cut"
    ends = sorted((end, min(max(end + side * width, floor), ceiling)))
    return ends[0], ends[1], "bounded", words


def odds_profile(
    cells: npt.ArrayLike, covariance: npt.ArrayLike, alpha: float = 0.05
) -> tuple[float, float, float]:
    """Profile likelihood set of the odds ratio a d / (b c) of four nonnegative cells.

    It holds the odds ratios of all cells >= 0 that are not significantly farther from the normal
    estimate, in the metric of its covariance, than the nearest cells >= 0. It always holds the odds
    ratio of the nearest cells, ends at 0 or infinity if a cell may be 0, and is close to the Wald
    interval of the logarithm if all cells are far from 0.

    Parameters
    ----------
    cells : array_like, shape (4,)
        Unconstrained estimates of a, d, b, c.
    covariance : array_like, shape (4, 4)
    alpha : float
        One minus the confidence level.

    Returns
    -------
    (float, float, float)
        The odds ratio of the nearest cells >= 0 (nan if undefined), and both ends.

    Examples
    --------
    >>> V = np.eye(4) * 0.02**2
    >>> [round(v, 2) for v in odds_profile([0.4, 0.3, 0.2, 0.01], V)]
    [60.0, 11.73, inf]
    """
    from scipy.optimize import nnls

    x, V = finite_array("cells", cells, 1), finite_array("covariance", covariance, 2)
    if x.shape != (4,) or V.shape != (4, 4):
        raise InvalidArgument("cells", x.shape, "must be four, with a covariance of (4, 4)")
    critical = normal_critical(alpha) ** 2
    spread = float(np.trace(V)) / 4.0
    nearest = np.maximum(x, 0.0)
    if spread > 0.0:
        white = np.linalg.inv(np.linalg.cholesky(V + _RIDGE * spread * np.eye(4)))
        target = white @ x
        nearest, distance = nnls(white, target)
    a, d, b, c = nearest.tolist()
    estimate = a * d / (b * c) if b * c > 0.0 else math.inf if a * d > 0.0 else math.nan
    if spread <= 0.0:  # the cells are known
        return (estimate, 0.0, math.inf) if math.isnan(estimate) else (estimate,) * 3

    def excess(log_odds: Array) -> Array:
        return np.asarray(_distances(white, target, log_odds) - distance**2 - critical)

    reach = _DECADES * math.log(10.0)
    grid = np.linspace(-reach, reach, 2 * int(_DECADES) * _PER_DECADE[0] + 1)
    if 0.0 < estimate < math.inf:
        grid = np.unique(np.append(grid, np.clip(math.log(estimate), -reach, reach)))
    inside_grid = np.flatnonzero(excess(grid) <= 0.0)
    if not inside_grid.size:  # all of the set is beyond the grid
        end = math.exp(reach)
        return (estimate, end, math.inf) if estimate > 1.0 else (estimate, 0.0, 1.0 / end)
    ends = [0.0, math.inf]
    for side, pair in enumerate(((0, 1), (2, 3))):  # a d = 0 at the odds ratio 0; b c at infinity
        without = [nnls(np.delete(white, cell, axis=1), target)[1] for cell in pair]
        at = inside_grid[-side]
        if min(without) ** 2 > distance**2 + critical and at not in (0, grid.size - 1):
            inside, outside = grid[at], grid[at + (1 if side else -1)]
            ends[side] = math.exp(root(lambda v: -excess(v), [inside], [outside])[0])
    return estimate, ends[0], ends[1]


def _distances(white: Array, target: Array, log_odds: Array) -> Array:
    """Squared distance of the estimate from the cells >= 0 of each odds ratio, shape (m,)."""
    # cells (a, d, b, c) = (v1, psi rho v2, v2, rho v1) have the odds ratio psi; the best v >= 0 has
    # a closed form for each rho; ever finer grids find the best
    n, best = int(_CELLS) * _PER_DECADE[1], np.zeros(log_odds.size)
    step, steps = math.log(10.0) / _PER_DECADE[1], np.arange(-n, n + 1)
    for _ in range(_ZOOMS):
        at = best[:, None] + step * steps
        distances = _least_squares(white, target, log_odds[:, None], at)
        best = at[np.arange(len(at)), distances.argmin(axis=1)]
        step, steps = step / 4.0, np.arange(-4, 5)
    return np.asarray(distances.min(axis=1))


def _least_squares(white: Array, target: Array, log_odds: Array, log_rho: Array) -> Array:
    """Squared distances at the best v1, v2 >= 0; arguments broadcast."""
    log_odds, log_rho = np.broadcast_arrays(log_odds, log_rho)
    # each column in units of its larger cell, so exponents stay in range
    first = np.maximum(log_rho, 0.0)
    second = np.maximum(log_odds + log_rho, 0.0)
    one = np.exp(-first)[..., None] * white[:, 0] + np.exp(log_rho - first)[..., None] * white[:, 3]
    two = np.exp(-second)[..., None] * white[:, 2]
    two = two + np.exp(log_odds + log_rho - second)[..., None] * white[:, 1]
    uu, vv, uv = (one**2).sum(-1), (two**2).sum(-1), (one * two).sum(-1)
    ut, vt, tt = one @ target, two @ target, float(target @ target)
    determinant = np.maximum(uu * vv - uv**2, 1e-12 * uu * vv)
    v1, v2 = (vv * ut - uv * vt) / determinant, (uu * vt - uv * ut) / determinant
    both = np.sum((target - v1[..., None] * one - v2[..., None] * two) ** 2, axis=-1)
    alone = tt - np.maximum(np.maximum(ut, 0.0) ** 2 / uu, np.maximum(vt, 0.0) ** 2 / vv)
    return np.asarray(np.where((v1 >= 0.0) & (v2 >= 0.0), both, alone))
