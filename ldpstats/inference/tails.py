"""Tail probabilities and critical values without cancellation, and intervals from skewed laws.

p-values are upper tails and critical values inverse upper tails, so both stay accurate however
small they are. They call the kernels of scipy.special, which load much faster than scipy.stats.

A linear estimate is a mean of features of the reports, whose moments are linear in the distribution
p. Along ``p(theta) = theta e + (1 - theta) q``, with q the law of the other categories, the
variance of the estimate is therefore quadratic in the frequency theta, and its third cumulant cubic
(`path_cumulants`). At each theta the estimate is compared with Pearson's type III law with these
cumulants (`CellLaw`); beyond [0, 1] with the law at the nearer end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import floats, level, one_of, positive_integer, record
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.solvers import root
from ldpstats.likelihood.covariance import finite_array

Array = npt.NDArray[np.float64]

_SLIGHT = 2e-3  # skewness below which gamma tails lose digits; expansions give 1e-4 at z = 5


def normal_critical(alpha: float) -> float:
    """Two-sided standard normal critical value, the point with upper tail alpha/2.

    Examples
    --------
    >>> round(normal_critical(0.05), 6)
    1.959964
    """
    from scipy.special import ndtri

    # the lower quantile, negated: accurate for every alpha, unlike that of 1 - alpha/2
    return -float(ndtri(level(alpha) / 2))


def chi2_critical(alpha: float, df: int) -> float:
    """Critical value of the chi-square law: the point with upper tail alpha.

    Raises
    ------
    InvalidArgument
        If alpha is outside (0, 1) or df < 1.

    Examples
    --------
    >>> round(chi2_critical(0.05, 1), 6)
    3.841459
    """
    from scipy.special import chdtri

    return float(chdtri(positive_integer("df", df), level(alpha)))


def normal_pvalue(z: npt.ArrayLike, alternative: str = "two-sided") -> Array:
    """p-value of a standard normal statistic.

    Parameters
    ----------
    z : array_like
        Statistics, any shape, which is that of the p-values.
    alternative : {"two-sided", "larger", "smaller"}
        The parameter under the alternative, compared with the null.

    Examples
    --------
    >>> normal_pvalue([1.959964, -8.0]).round(4)
    array([0.05, 0.  ])
    >>> print(f"{normal_pvalue(10.0, 'larger'):.6e}")
    7.619853e-24
    """
    from scipy.special import ndtr

    z = floats(z)
    side = one_of("alternative", alternative, ("two-sided", "larger", "smaller"))
    if side == "two-sided":
        return floats(2 * ndtr(-np.abs(z)))
    return floats(ndtr(-z if side == "larger" else z))


def skewed_pvalue(z: npt.ArrayLike, skewness: npt.ArrayLike) -> Array:
    """Upper tail of a standardised statistic whose skewness is known.

    Pearson's type III law is a gamma law shifted and scaled to mean 0, variance 1 and skewness g:
    with a = 4/g^2, P(Z > z) = P(Gamma(a) > a + 2 z/g) for g > 0, mirrored for g < 0. It includes
    the chi-square laws, and approximates sums of binomial counts far into the tail: at g = 0.1 and
    z = 3.7 its tail is twice the normal one. The lower tail is ``skewed_pvalue(-z, -skewness)``.
    Below ``|g| = 0.002`` the Cornish-Fisher expansion replaces gamma tails.

    Parameters
    ----------
    z : array_like
        Statistics of mean 0 and variance 1 under the null.
    skewness : array_like
        Their skewness under the null; it broadcasts. 0 gives the normal tail.

    Raises
    ------
    InvalidArgument
        If an argument is NaN, or a skewness is infinite.

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions 1, chapter 17.

    Examples
    --------
    >>> skewed_pvalue(3.7, [0.0, 0.1, -0.1]).round(6)
    array([1.08e-04, 2.24e-04, 4.10e-05])
    """
    from scipy.special import gammainc, gammaincc, ndtr

    z, g = np.broadcast_arrays(floats(z), floats(skewness))
    if np.isnan(z).any() or not np.all(np.isfinite(g)):
        raise InvalidArgument("z", z, "and skewness must be numbers, not NaN")
    size = np.maximum(np.abs(g), _SLIGHT)
    shape = 4.0 / size**2
    at = np.maximum(shape + np.copysign(2.0 / size, g) * z, 0.0)
    w = np.clip(z, -100.0, 100.0)  # the tails are 0 and 1 beyond
    normal = w - g * (w**2 - 1.0) / 6.0 + g**2 * (4.0 * w**3 - 7.0 * w) / 36.0
    tail = np.array(ndtr(-normal))
    for beyond, law in ((g > _SLIGHT, gammaincc), (g < -_SLIGHT, gammainc)):
        tail[beyond] = law(shape[beyond], at[beyond])
    return floats(np.clip(tail, 0.0, 1.0))  # rounding at extreme skewness


def continuity(skewness: npt.ArrayLike) -> Array:
    """Correction for continuity, in standard errors, of a statistic of skewness g.

    A count of mean 1/g^2 moves in steps of g standard errors. The correction is a quarter of a
    step, and less where steps are small: ``|g|/4 / (1 + 1/(40 g^2))``. With `skewed_pvalue`, 95%
    intervals of Poisson counts of mean 12 to 60 cover at least .941, and .953 on average; without
    it at least .914.

    Examples
    --------
    >>> continuity([0.0, 0.1, 1.0]).round(4)
    array([0.    , 0.0071, 0.2439])
    """
    g = np.abs(floats(skewness))
    return floats(g / 4.0 * (40.0 * g**2 / (1.0 + 40.0 * g**2)))


def two_sided(excess: npt.ArrayLike, se: npt.ArrayLike, skewness: npt.ArrayLike) -> Array:
    """Two-sided p-values of estimates that exceed their null by `excess`: twice the smaller tail.

    The tails are those of `skewed_pvalue`, after the correction of `continuity`, as in the
    intervals of `ldpstats.inference.intervals.inverted`.

    Parameters
    ----------
    excess : array_like
        Estimates minus their values under the null.
    se, skewness : array_like
        Standard errors and skewness under the null. With a standard error of 0 the p-value is 1
        for no excess, and 0 otherwise.

    Examples
    --------
    >>> two_sided([1.959964, 0.0], [1.0, 0.0], 0.0).round(4)
    array([0.05, 1.  ])
    """
    tails = (one_sided(excess, se, skewness, upper) for upper in (True, False))
    return np.minimum(2.0 * np.minimum(*tails), 1.0)


def one_sided(
    excess: npt.ArrayLike, se: npt.ArrayLike, skewness: npt.ArrayLike, upper: bool
) -> Array:
    """P(excess or more) if `upper`, else P(excess or less): the tails of `two_sided`.

    Examples
    --------
    >>> one_sided([1.644854], 1.0, 0.0, upper=True).round(4)
    array([0.05])
    """
    sign = 1.0 if upper else -1.0
    z = sign * standardised(excess, se)
    return skewed_pvalue(z - continuity(skewness), sign * floats(skewness))


def standardised(excess: npt.ArrayLike, se: npt.ArrayLike) -> Array:
    """excess/se; if se = 0, zero for no excess and infinite otherwise."""
    beyond, spread = floats(excess), floats(se)
    if np.isnan(beyond).any():
        raise InvalidArgument("estimate", excess, "and value must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    certain = np.where(beyond == 0, 0.0, np.copysign(np.inf, beyond))
    return np.where(spread > 0, beyond / np.where(spread > 0, spread, 1.0), certain)


def chi2_pvalue(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Array:
    """Upper tail of the chi-square law at `statistic`.

    Parameters
    ----------
    statistic : array_like
        Statistics >= 0, possibly inf (p-value 0), not NaN.
    df : array_like
        Degrees of freedom >= 0; it broadcasts. With df = 0 the p-value is 1 at 0, and 0 beyond.

    Examples
    --------
    >>> chi2_pvalue([3.841459, float("inf")], 1).round(4)
    array([0.05, 0.  ])
    """
    from scipy.special import chdtrc

    x, nu = np.broadcast_arrays(floats(statistic), floats(df))
    if not (np.all(x >= 0) and np.all(nu >= 0)):
        raise InvalidArgument("statistic", x, "and df must be >= 0, not NaN")
    return np.where(nu > 0, chdtrc(np.maximum(nu, 1), x), np.where(x > 0, 0.0, 1.0))


# -- The largest of several normal, or t, statistics -----------------------------------------------


_DRAWS = 1 << 12


def largest_pvalue(x: npt.ArrayLike, R: Array, df: float = np.inf) -> Array:
    """Chance that the largest of m absolute normal statistics, or t on df, reaches x; shape of x.

    With N the number of statistics that reach x it is ``sum_i P(|z_i| >= x) E[1 / N | |z_i| >= x]``
    (Naiman, D. Q. and Priebe, C. E. (2001), Journal of Computational and Graphical Statistics 10,
    296-328): the mean is simulated, by the same numbers at each call, and has a relative error
    of about a percent however small the chance is.

    Parameters
    ----------
    x : array_like
        Values above 0.
    R : array, shape (m, m)
        Correlations of the statistics; it may be singular.
    df : float
        Degrees of freedom of a common variance.

    Examples
    --------
    >>> largest_pvalue([1.96, 4.0], np.eye(2)).round(3)
    array([0.098, 0.   ])
    """
    reached = _largest_law(R, df)
    values = floats(x)
    return np.array([reached(one) for one in values.ravel()]).reshape(values.shape)


def largest_critical(alpha: float, R: Array, df: float = np.inf) -> float:
    """The value that the largest of m absolute statistics reaches with chance alpha.

    Parameters are those of `largest_pvalue`.

    Examples
    --------
    >>> round(largest_critical(0.05, np.eye(2)), 2)
    2.24
    """
    from scipy.special import stdtrit

    alone, all_apart = -stdtrit(df, alpha / 2.0), -stdtrit(df, alpha / (2.0 * len(R)))
    ends = 0.999 * alone, 1.001 * all_apart
    reached = _largest_law(R, df)
    return float(root(lambda x: reached(float(x)) - alpha, *ends, xtol=1e-4))


def _largest_law(R: Array, df: float) -> Callable[[float], float]:
    """The chance that the largest statistic reaches a value, as a function of it."""
    from scipy.special import chdtri, ndtr, ndtri

    m, every = len(R), np.arange(_DRAWS)
    rng = np.random.default_rng(2026)  # so that the same survey has the same p-value
    values, vectors = np.linalg.eigh(R)
    draws = rng.normal(size=(_DRAWS, m)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    own = every % m  # the statistic that is given to reach the value, in turn
    loads, u = R[own], (rng.permutation(_DRAWS) + 0.5) / _DRAWS
    draws -= draws[every, own][:, None] * loads  # what it does not determine
    scale = np.sqrt(chdtri(df, rng.permutation(u)) / df) if np.isfinite(df) else np.ones(_DRAWS)

    def reached(x: float) -> float:
        tail = ndtr(-x * scale)
        z = -ndtri(u * tail)  # beyond x; below -x it would be alike
        number = (np.abs(draws + z[:, None] * loads) >= (x * scale - 1e-9)[:, None]).sum(axis=1)
        return min(2.0 * m * float(np.mean(tail / number)), 1.0)

    return reached


# -- Score intervals of linear estimates whose variance and skewness depend on the frequency ------


_WIDEST = 1e3  # factor by which Student's law may reach farther
_HALVINGS = 30  # of the reach of the search
_KNOWN = 1e-12  # variance, relative to the largest coefficient, that counts as zero
_LEAST_DF = 1.0  # degrees of freedom
_MOST = 1e3  # skewness beyond which nearly all of a gamma law lies at its lower end


@record
class CellLaw(Document):
    """Cumulants of estimates as polynomials in the frequency, lowest coefficient first.

    Parameters
    ----------
    variance : array, shape (k, 3)
        Variance of each estimate.
    third : array, shape (k, 4)
        Its third cumulant.
    step : array, shape (k,)
        Correction for continuity, a part of the distance between neighbouring values of a discrete
        estimate; otherwise zero.
    doubt : array, shape (k,)
        Variance of the estimated variance at theta = 0. Positive values give the estimate degrees
        of freedom, as in a t test.

    Raises
    ------
    InvalidArgument
        If shapes disagree or an entry is not finite.

    Examples
    --------
    Twenty of a thousand, counted without noise; the exact interval is [.0123, .0307]:

    >>> cumulants = path_cumulants(np.ones((3, 1)), np.zeros((3, 1)), 1000.0)
    >>> law = CellLaw(*cumulants, step=np.zeros(1), doubt=np.zeros(1))
    >>> law.interval(np.array([0.02])).round(4)
    array([[0.0126, 0.0301]])
    """

    variance: Array
    third: Array
    step: Array
    doubt: Array

    def __post_init__(self) -> None:
        for name, axes in (("variance", 2), ("third", 2), ("step", 1), ("doubt", 1)):
            object.__setattr__(self, name, finite_array(name, getattr(self, name), axes))
        k = self.step.size
        shapes = [self.variance.shape, self.third.shape, self.doubt.shape]
        if shapes != [(k, 3), (k, 4), (k,)]:
            raise InvalidArgument("step", self.step.shape, f"must match the others' {shapes}")

    def at(self, theta: npt.ArrayLike) -> tuple[Array, Array]:
        """Standard deviation and skewness of each estimate if its frequency is theta, (k,)."""
        from numpy.polynomial.polynomial import polyval

        t = np.clip(floats(theta), 0.0, 1.0)
        variance = polyval(t, self.variance.T, tensor=False)
        third = polyval(t, self.third.T, tensor=False)
        least = _KNOWN * np.abs(self.variance).max(axis=1, initial=0.0)
        known = variance <= least
        variance = np.where(known, least, variance)
        scale = np.where(variance > 0.0, variance, 1.0) ** 1.5
        skewness = np.where(known, 0.0, third) / scale
        return np.sqrt(variance), np.clip(skewness, -_MOST, _MOST)

    def tail(self, estimate: Array, theta: npt.ArrayLike, upper: bool) -> Array:
        """P(T >= estimate) if `upper`, else P(T <= estimate), at frequencies theta."""
        side = 1.0 if upper else -1.0
        sd, skewness = self.at(theta)
        gap = side * (estimate - np.asarray(theta)) - self.step
        # an estimate without variance is at its mean, or impossible
        certain = np.where(gap > 0.0, np.inf, -np.inf)
        z = np.divide(gap, sd, out=certain, where=sd > 0.0)
        # Student's t to normal scores by Wallace's formula, with Satterthwaite's df
        t = np.clip(floats(theta), 0.0, 1.0)
        doubt = (1.0 - t) ** 2 * self.doubt
        known = ~np.isfinite(z) | (doubt <= 0.0)
        df = 2.0 * sd**4 / np.where(known, 1.0, doubt)
        df = np.where(known, 1.0, np.maximum(df, _LEAST_DF))
        w = np.where(known, 0.0, z)
        normal = (8.0 * df + 1.0) / (8.0 * df + 3.0) * np.sqrt(df * np.log1p(w**2 / df))
        z = np.where(known, z, np.copysign(normal, z))
        return skewed_pvalue(z, side * skewness)

    def interval(self, estimate: Array, alpha: float = 0.05) -> Array:
        """All theta that neither one-sided test of level alpha/2 rejects, shape (k, 2)."""
        half = level(alpha) / 2.0
        # Cantelli: beyond this many standard deviations every tail is below alpha/2
        reach = (_WIDEST if self.doubt.any() else 1.0) * half**-0.5 * np.sqrt(
            np.abs(self.variance).sum(axis=1)
        ) + self.step
        start, ends = floats(estimate), []
        for upper, side in ((True, -1.0), (False, 1.0)):

            def excess(far: Array, upper: bool = upper, side: float = side) -> Array:
                return self.tail(start, start + side * far, upper) - half

            # accepted theta may lie apart from the estimate, whose variance may grow with theta:
            # look for the outermost one
            inside = np.zeros(start.size)
            for halvings in range(_HALVINGS, 0, -1):
                far = reach * 0.5**halvings
                inside = np.where(excess(far) > 0.0, far, inside)
            outside = np.where(inside > 0.0, 2.0 * inside, reach * 0.5**_HALVINGS)
            ends.append(start + side * root(excess, inside, outside))
        return np.stack(ends, axis=-1)

    def pvalues(self, estimate: Array, value: float = 0.0, two_sided: bool = True) -> Array:
        """p-values of the null that the frequency is `value`: two-sided, or against larger ones."""
        larger = self.tail(estimate, np.full(estimate.shape, value), True)
        if not two_sided:
            return larger
        smaller = self.tail(estimate, np.full(estimate.shape, value), False)
        return np.minimum(2.0 * np.minimum(larger, smaller), 1.0)

    def effective(self, theta: npt.ArrayLike) -> Array:
        """Effective count behind each estimate, skewness^-2 at theta; infinite without skewness."""
        skewness = self.at(theta)[1]
        counts = np.full(skewness.shape, np.inf)
        return np.asarray(np.divide(1.0, skewness**2, out=counts, where=skewness != 0.0))


def path_cumulants(own: Array, rest: Array, nobs: float) -> tuple[Array, Array]:
    """Cumulants of a mean of features along the path, as polynomials in theta.

    Parameters
    ----------
    own : array, shape (3, k)
        First three moments of each feature for respondents in its category.
    rest : array, shape (3, k)
        The same for other respondents, drawn from q.
    nobs : float
        Number of respondents.

    Returns
    -------
    variance : array, shape (k, 3)
    third : array, shape (k, 4)
        Coefficients, lowest first.

    Examples
    --------
    A binomial share has the variance theta (1 - theta)/n:

    >>> path_cumulants(np.ones((3, 1)), np.zeros((3, 1)), 100.0)[0]
    array([[ 0.  ,  0.01, -0.01]])
    """
    (m1, a1), (m2, a2), (m3, a3) = zip(rest, own - rest, strict=True)
    variance = [m2 - m1**2, a2 - 2.0 * m1 * a1, -(a1**2)]
    third = [
        m3 - 3.0 * m1 * m2 + 2.0 * m1**3,
        a3 - 3.0 * (m1 * a2 + a1 * m2) + 6.0 * m1**2 * a1,
        -3.0 * a1 * a2 + 6.0 * m1 * a1**2,
        2.0 * a1**3,
    ]
    return np.stack(variance, axis=1) / nobs, np.stack(third, axis=1) / nobs**2
