"""Laws of the tests of a planned survey: what each rejects with n respondents, and how often.

A test is of a binomial count, of a quadratic form of normal variables, or of one estimate with a
variance and a skewness. The functions below make the test of a difference, of homogeneity, of
independence and of a coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.regression import maximise
from ldpstats.inference.intervals import Difference
from ldpstats.inference.tables.independence import whiten
from ldpstats.inference.tails import CellLaw, continuity, one_sided, skewed_pvalue
from ldpstats.likelihood.covariance import OwnTally, PathLaw, Tallies, Uncertain, multinomial
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.likelihood.regression import (
    ExpectedInformation,
    Outcome,
    RegressionLikelihood,
    ReportLaw,
    Seen,
    predictors_of,
)
from ldpstats.planning.expected_precision import Setting


@record
class PlannedTest:
    """A test of one level, for a mechanism, a null hypothesis and a truth."""

    differs: bool  # whether more respondents lead to a rejection: the truth is not the null
    power: Callable[[Array], Array]  # P(rejection) with n respondents, (s,), not always whole
    # respondents below n among which the power may already have been larger; 0 if it grows
    zigzag: Callable[[float], float] = lambda n: 0.0


# -- Tests that rest on a binomial count of reports -----------------------------------------------


_TEETH = 6.0  # of the zigzag, to be sure


def count_test(null: float, truth: float, alpha: float, exact: bool) -> PlannedTest:
    """A test of a count that is Binomial(n, null) under the null, Binomial(n, truth) in truth.

    Its power is that of all tallies that it rejects, summed exactly. If `exact` the test is so too,
    and one-sided; else it is the two-sided score test.
    """
    from scipy.special import betainc

    def tail(t: Array, n: Array, m: float) -> Array:
        return np.where(t <= 0.0, 1.0, betainc(np.maximum(t, 1.0), np.maximum(n - t + 1.0, 1.0), m))

    def side(n: Array, m0: float, m1: float) -> Array:
        spread = m0 * (1.0 - m0)

        def rejected(t: Array, n: Array) -> Array:
            if exact:
                return tail(t, n, m0) <= alpha
            se, skewness = np.sqrt(spread / n), np.zeros(n.shape)
            if spread > 0.0:
                skewness = (1.0 - 2.0 * m0) / np.sqrt(n * spread)
            return one_sided(t / n - m0, se, skewness, upper=True) <= alpha / 2.0

        # The smallest tally that is rejected, n + 1 where none is: it grows with n
        ends = np.array([n.min(), n.max()])
        low, high = _halve(ends, np.full(2, -1.0), ends + 1.0, rejected)
        first, last = np.full(n.shape, low[0] - 1.0), np.minimum(high[1], n + 1.0)
        least = _halve(n, first, last, rejected)[1]
        return np.where(least > n, 0.0, tail(least, n, m1))

    def power(n: Array) -> Array:
        whole = np.maximum(np.floor(n + 1e-9 * n), 1.0)
        upper = side(whole, null, truth)
        if exact:
            return upper
        return np.asarray(np.minimum(upper + side(whole, 1.0 - null, 1.0 - truth), 1.0))

    def zigzag(n: float) -> float:
        spread = max(truth * (1.0 - truth), 1e-12)
        return float(_TEETH * (np.sqrt(n / spread) + 1.0 / max(null, 1.0 / n)))

    return PlannedTest(truth > null if exact else truth != null, power, zigzag)


def _halve(
    n: Array, low: Array, high: Array, rejected: Callable[[Array, Array], Array]
) -> tuple[Array, Array]:
    """Bisection between tallies that are not rejected, and rejected or impossible."""
    low = np.maximum(low, -1.0)
    while np.any(inside := high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        inside &= (middle > low) & (middle < high)  # beyond 2**53 some are no numbers
        if not inside.any():
            break
        reached = rejected(np.clip(middle, 0.0, n), n)
        high = np.where(inside & reached, middle, high)
        low = np.where(inside & ~reached, middle, low)
    return low, high


# -- Tests whose statistic is a quadratic form of normal variables --------------------------------
# With the null covariance S0/n the statistic is T = n d' S0^- d; the estimate d has the mean delta
# and the covariance S1/n. In coordinates in which S0 is the identity, with M = S1 there, its
# cumulants are 2^(j-1) (j-1)! (tr M^j + j n delta' M^(j-1) delta).


_LARGEST = 4096  # order of the largest covariance matrix
_NOTHING = 1e-24  # noncentrality of one respondent that rounding leaves
_STRAIGHT = 5e-3  # skewness, over sqrt(8), below which the law is normal
_TINY = 1e-300


def form_test(df: int, spread: Array, pull: Array, alpha: float) -> PlannedTest:
    """A chi-square test, whatever its covariance: tr M^j and delta' M^(j-1) delta, j = 1 .. 4."""
    from scipy.special import chdtrc, chdtri, chndtr, ndtr

    critical, j = float(chdtri(df, alpha)), np.arange(1, 5)[:, None]

    def power(n: Array) -> Array:
        c1, c2, c3, c4 = spread[:, None] + j * n * pull[:, None]
        c2 = np.maximum(c2, _TINY)
        z, skewness = (critical - c1) / np.sqrt(2.0 * c2), c3 / c2**1.5
        normal = skewness < _STRAIGHT
        s1 = np.where(normal, 1.0, skewness)
        s2 = np.where(normal, 1.0, c4 / c2**2)
        bent = s1**2 > s2 * (1.0 + 1e-12)
        root = np.sqrt(np.where(bent, s1**2 - s2, 0.0))
        a = 1.0 / (s1 - root)
        shift = np.where(bent, s1 * a**3 - a**2, 0.0)
        df = np.where(bent, a**2 - 2.0 * shift, a**2)
        x = np.maximum(z * np.sqrt(2.0) * a + df + shift, 0.0)
        near = np.where(shift > 0.0, 1.0 - chndtr(x, df, shift), chdtrc(df, x))
        return np.asarray(np.clip(np.where(normal, ndtr(-z), near), 0.0, 1.0))

    return PlannedTest(bool(pull[0] > _NOTHING), power)


def wald_test(delta: Array, null: Array, truth: Array, alpha: float) -> PlannedTest:
    """From the mean, (d,), and the covariances of one respondent's estimate, (d, d)."""
    W = _whitening(null, null.diagonal())
    M, mean = W @ truth @ W.T, W @ delta
    powers = [np.eye(len(W)), M, M @ M, M @ M @ M]
    pull = np.array([mean @ power @ mean for power in powers])
    spread = np.array([np.trace(power @ M) for power in powers])
    return form_test(len(W), spread, pull, alpha)


def _whitening(S: Array, squares: Array) -> Array:
    """W of shape (rank, d) with W S W' = I; `squares` as in `whiten`."""
    if len(S) > _LARGEST:
        raise NotAvailable(
            f"the power of a test of {len(S)} frequencies at once needs a matrix of that order; "
            f"the largest is {_LARGEST}: name one category, or merge categories"
        )
    W = whiten(S, squares)
    if not len(W):
        raise NotIdentified("the reports do not vary under the null hypothesis: nothing is tested")
    return W


# -- Tests that rest on one estimate whose variance and skewness are known ------------------------


_SLIGHT = 2e-3  # skewness below which gamma laws lose digits
_ROUNDS = 6


def estimate_test(
    shift: float,
    null: tuple[float, float],
    truth: tuple[float, float],
    alpha: float,
    larger: bool = False,
    continuous: bool = False,
) -> PlannedTest:
    """A score test of one estimate, by Pearson's type III law with its cumulants.

    These are the variance and the third cumulant of one respondent, under the null hypothesis and
    in truth; the test is two-sided, or finds a `larger` estimate. `shift` is truth less null.
    """

    def tail(n: Array, sign: float, alpha: float) -> Array:
        """Probability of a rejection on the side of `sign`."""
        scaled = []  # standard error and skewness with n respondents
        for variance, third in (null, truth):
            skewness = third / variance**1.5 if variance > 0.0 else 0.0
            scaled.append((np.sqrt(max(variance, 0.0) / n), skewness / np.sqrt(n)))
        (se0, g0), (se1, g1) = scaled
        beyond = _critical(sign * g0, alpha)
        if not continuous:
            beyond = beyond + continuity(g0)
        excess = np.where(se0 > 0.0, beyond * se0, 0.0) - sign * shift
        certain = np.where(excess < 0.0, -np.inf, np.inf)  # an estimate that does not vary
        z = np.where(se1 > 0.0, excess / np.where(se1 > 0.0, se1, 1.0), certain)
        return skewed_pvalue(z, sign * g1)

    if larger:
        return PlannedTest(shift > 0.0, lambda n: tail(n, 1.0, alpha))
    half = alpha / 2.0
    return PlannedTest(
        shift != 0.0, lambda n: np.minimum(tail(n, 1.0, half) + tail(n, -1.0, half), 1.0)
    )


def _critical(skewness: Array, alpha: float) -> Array:
    """Where the upper tail of a standardised type III law is alpha, see `skewed_pvalue`."""
    from scipy.special import gammainccinv, gammaincinv, ndtri

    normal = -float(ndtri(alpha))
    w = np.full(skewness.shape, normal)
    g = np.clip(skewness, -_SLIGHT, _SLIGHT)
    for _ in range(_ROUNDS):  # of the expansion, which hardly bends
        w = normal + g * (w**2 - 1.0) / 6.0 - g**2 * (4.0 * w**3 - 7.0 * w) / 36.0
    size = np.maximum(np.abs(skewness), _SLIGHT)
    shape = 4.0 / size**2
    right = (gammainccinv(shape, alpha) - shape) * size / 2.0
    left = (shape - gammaincinv(shape, alpha)) * size / 2.0
    beyond = np.where(skewness > 0.0, right, left)
    return np.asarray(np.where(np.abs(skewness) > _SLIGHT, beyond, w))


# -- The law of the estimate of one frequency from one respondent, as tests of results take it ----


_COHORT = 10**7  # reports of each cohort of a survey whose reports are as expected


Cumulants = Callable[[float], tuple[float, float]]  # variance and third cumulant at a frequency


@dataclass(frozen=True)
class FrequencyLaw:
    """Law of an unbiased estimate of one frequency, from one respondent."""

    cumulants: Cumulants
    count: tuple[float, float] | None = None  # a report is counted with P = offset + scale v
    continuous: bool = False


def frequency_law(at: Setting, x: int) -> FrequencyLaw:
    """Law of estimate x of `FrequencyResults.linear_params`, p being the distribution."""
    mechanism, p, problem = at.mechanism, at.p, at.moments
    tally: Tallies | None = None
    n = 1.0
    if at.scores:  # the estimate is one step of the likelihood, else the inversion
        start, V = at.scores
        with suppress(NotAvailable, NotIdentified):  # inversion has the milder demands
            moments = mechanism.channel().score_moments(start, V.core)
            tally = PathLaw.around(start, (1,), [moments])
    form = None if tally else problem.exact_form()
    if form is not None and form.known[x]:
        offset, scale = float(form.offset[x]), float(form.scale[x])
        if scale < 0.0:  # count the other reports
            offset, scale = 1.0 - offset, -scale

        def binomial(v: float) -> tuple[float, float]:
            m = min(max(offset + scale * v, 0.0), 1.0)
            spread = m * (1.0 - m)
            return spread / scale**2, spread * (1.0 - 2.0 * m) / scale**3

        return FrequencyLaw(binomial, (offset, scale))
    if tally is None and isinstance(problem, CohortMoments):
        # the tally of its own cells where reports are as expected
        ones = np.rint(problem.single("power").cell_means(p) * _COHORT).astype(np.int64)
        sizes = np.full(len(ones), _COHORT) if mechanism.n_bits else None
        problem = mechanism.moments(mechanism.counts(ones, sizes), at.candidates)
        tally, n = problem.tally(Uncertain(p, problem.covariance(p))), float(problem.nobs)
    elif tally is None:  # only hashes look at an estimate
        tally, n = problem.tally(None, p), float(problem.nobs)  # type: ignore[arg-type]
    if not isinstance(tally, PathLaw | OwnTally):
        variance = float(at.variances()[x])
        return FrequencyLaw(lambda v: (variance, 0.0), continuous=True)

    def cumulants(v: float) -> tuple[float, float]:
        se, skewness = (float(values[x]) for values in tally.law(np.full(p.size, v))[:2])
        return se**2 * n, skewness * se**3 * n**2

    return FrequencyLaw(cumulants, continuous=isinstance(tally, OwnTally))


# -- Test of the difference of one frequency in two groups ----------------------------------------


_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_test(sides: Sequence[Setting], shares: Array, x: int, alpha: float) -> PlannedTest:
    """The score test of `TwoSampleResult.differences` for category x, in two groups."""
    laws = [frequency_law(side, x) for side in sides]
    cells = []  # cumulants as polynomials in the frequency, for one respondent of both groups
    for law, w in zip(laws, shares, strict=True):
        of_variance, of_third = np.array([law.cumulants(v) for v in _AT]).T
        of_variance = _TO_COEFFICIENTS[:3] @ of_variance / float(w)
        of_third = _TO_COEFFICIENTS @ of_third / float(w) ** 2
        cells.append(CellLaw(of_variance[None], of_third[None], np.zeros(1), np.zeros(1)))
    ends = [side.p[[x]] for side in sides]
    se, skewness = Difference(ends[0], ends[1], cells[0], cells[1]).law(np.zeros(1))
    variance, third = 0.0, 0.0
    for law, end, w, sign in zip(laws, ends, shares, (1.0, -1.0), strict=True):
        own = law.cumulants(float(end[0]))
        variance, third = variance + own[0] / w, third + sign * own[1] / w**2
    null = float(se[0]) ** 2, float(skewness[0] * se[0] ** 3)
    return estimate_test(float(ends[0][0] - ends[1][0]), null, (variance, third), alpha)


# -- Test that groups have the same distribution --------------------------------------------------


def homogeneity_test(sides: Sequence[Setting], shares: Array, alpha: float) -> PlannedTest:
    """The default test of `homogeneity_test`: all groups with the first."""
    from scipy.linalg import block_diag

    # Pearson's of the table of labels if one mechanism without cohorts makes them, else Wald's,
    # which the score test of whole reports equals where groups are large.
    first, means = sides[0].mechanism, np.array([side.p for side in sides])
    labels = not first.n_bits and not first.n_cohorts
    labels = labels and all(side.mechanism == first for side in sides)
    if labels:
        means = means @ np.asarray(first.channel().matrix())
    pooled = shares @ means
    if labels:
        null = [multinomial(pooled, 1).matrix()] * len(sides)
        truth = [multinomial(m, 1).matrix() for m in means]
    else:
        method = "mle" if all(side.scores for side in sides) else "inversion"
        null = [side.at(pooled).covariance(method).matrix() for side in sides]
        truth = [side.covariance(method).matrix() for side in sides]
    pair, others = [], len(sides) - 1  # covariances of the differences from the first group
    for first_of, *rest in (
        [V / w for V, w in zip(Vs, shares, strict=True)] for Vs in (null, truth)
    ):
        pair.append(np.kron(np.ones((others, others)), first_of) + block_diag(*rest))
    return wald_test((means[1:] - means[0]).ravel(), pair[0], pair[1], alpha)


# -- The score test of independence of two privatised variables, under a true joint distribution ---
# With a(x') and b(y') the scores of the two reports, centred and white, and C = E[a b'], the
# statistic is n |C|^2 on average, plus its degrees of freedom. A pair of reports moves the estimate
# of |C|^2 by ``2 a'Cb - a'CC'a - b'C'Cb`` (scores are made white by their own covariance, which
# varies too): that gives the variance under the truth.


_MOST_PAIRS = 1 << 22  # pairs of reports that are listed


def association_test(
    sides: Sequence[Setting], product: Array, departure: Array, alpha: float
) -> PlannedTest:
    """The test where the table is ``product + departure``, shape (k1, k2)."""
    JX, JY = (_information(side) for side in sides)
    X, Y = (_whitening(J - 1.0, J.diagonal()) for J in (JX, JY))
    C = X @ JX @ departure @ JY @ Y.T  # with the covariance of the null
    df, noncentrality, growth = C.size, float(np.sum(C**2)), 1.0  # of one respondent
    cohorts = any(side.mechanism.n_cohorts for side in sides)
    channels = [] if cohorts else [side.mechanism.channel() for side in sides]
    # Too many pairs of reports to be listed have the variance of the null hypothesis
    pairs = np.prod([float(channel.shape[1]) for channel in channels])
    if channels and noncentrality > 0.0 and pairs <= _MOST_PAIRS:
        # Variance of what a pair of reports adds to the estimate of |C|^2
        Qs = [np.asarray(channel.matrix()) for channel in channels]
        Qs = [Q[:, Q.any(axis=0)] for Q in Qs]
        laws = zip(Qs, (product.sum(axis=1), product.sum(axis=0)), (X, Y), strict=True)
        A, B = (((Q / (p @ Q)).T - 1.0) @ W.T for Q, p, W in laws)
        M = Qs[0].T @ (product + departure) @ Qs[1]
        moves = 2.0 * A @ C @ B.T
        moves -= np.square(A @ C).sum(axis=1)[:, None] + np.square(B @ C.T).sum(axis=1)
        mean = float(np.sum(M * moves))
        variance = float(np.sum(M * np.square(moves - mean)))
        growth = variance / (4.0 * noncentrality) if variance > 0.0 else 1.0
    return form_test(df, np.full(4, float(df)), noncentrality * growth ** np.arange(4), alpha)


def _information(side: Setting) -> Array:
    """Expected information of one report about the frequencies, shape (k, k)."""
    mechanism = side.mechanism
    if not mechanism.n_cohorts:
        try:
            return mechanism.channel().information(side.p)
        except InvalidArgument:
            remedy = "gives no one to an answer that would show: leave that category out"
            raise InvalidArgument("table", side.p.tolist(), remedy) from None
    information = side.moments.information(side.p)
    if information is None:
        raise NotAvailable(
            f"the information of reports of {mechanism} is not known: simulate the survey"
        )
    return information / side.moments.nobs


# -- Score test of a coefficient of a regression on reports, with the expected law of the reports --
# In a long survey the restricted maximum is where the expected log-likelihood of the truth is the
# largest with the coefficient at zero. The score of the coefficient there, less what the others
# explain of it, has a mean and a variance under the truth; the test divides it by the expected
# information at the restricted maximum.


_SINGULAR = 1e-10  # information on the coefficient, relative to that without the others


def coefficient_test(
    outcome: Outcome, X: Array, Q: Array, theta: Array, j: int, alpha: float
) -> PlannedTest:
    """The score test of coefficient j, see `partial_score` in `models.regression.hypotheses`."""
    # All reports of all rows that differ, each as frequent as it is expected
    rows, n = np.unique(X, axis=0, return_counts=True)
    shares, design, outputs = n / n.sum(), predictors_of(outcome, rows), Q.shape[1]
    law = outcome.mean(design.eta(theta)) @ Q
    expected = RegressionLikelihood(
        outcome,
        (predictors_of(outcome, np.repeat(rows, outputs, axis=0)),),
        Seen(np.ascontiguousarray(Q.T), np.tile(np.arange(outputs), len(rows))),
        (shares[:, None] * law).ravel(),
    )
    channel = ReportLaw((Q,), np.zeros(len(rows), dtype=np.int64))
    information = ExpectedInformation(outcome, (design,), shares[:, None], channel)
    free = np.arange(theta.size) != j
    met = maximise(expected, np.where(free, theta, 0.0), free)
    scores, J = expected.score_obs(met.theta), information.matrix(met.theta)
    S = (scores.T * expected.weights) @ scores  # mean square of the score

    def efficient(H: Array) -> Array:
        """Weights of the scores in that of j less what the others explain of it."""
        a = np.eye(theta.size)[j]
        if free.any():
            a[free] = -np.linalg.lstsq(H[np.ix_(free, free)], H[free, j], rcond=1e-12)[0]
        return np.asarray(a)

    information_j = float(J[j] @ efficient(J))
    if not information_j > _SINGULAR * J[j, j]:
        raise NotIdentified(
            "the reports and the rows of exog do not determine the coefficient: it needs a "
            "covariate that is no combination of others, and reports that depend on the answer"
        )
    a = efficient(-met.hessian if theta[j] != 0.0 else J)
    mean, variance = float(a @ met.score), float(a @ S @ a)
    M = max(variance - mean**2, 0.0) / information_j
    powers = np.arange(4)
    return form_test(1, M ** (powers + 1), mean**2 / information_j * M**powers, alpha)
