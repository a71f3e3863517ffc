"""Laws of the tests of a planned survey: what each rejects with n respondents, and how often.

A test is of a binomial count, of a quadratic form of normal variables, or of one estimate with a
variance and a skewness. The functions below make the test of a difference, of homogeneity, of
independence and of a coefficient.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.channels.structured import Channel
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.intervals import Difference
from ldpstats.inference.tails import CellLaw, continuity, one_sided, skewed_pvalue
from ldpstats.likelihood.covariance import OwnTally, PathLaw, Uncertain, multinomial
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.regression import (
    ExpectedInformation,
    Outcome,
    RegressionLikelihood,
    ReportLaw,
    Seen,
    predictors_of,
)
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.expected_precision import (
    has_scores,
    one_report_covariance,
    one_report_variances,
    score_covariance,
)

Array = npt.NDArray[Any]


class PlannedTest(ABC):
    """A test of one level, for a mechanism, a null hypothesis and a truth."""

    @property
    @abstractmethod
    def differs(self) -> bool:
        """Whether more respondents lead to a rejection: the truth is not the null hypothesis."""

    @abstractmethod
    def power(self, n: Array) -> Array:
        """Probability of a rejection with n respondents; n of shape (s,), not always whole."""

    def zigzag(self, n: float) -> float:
        """Respondents below n among which the power may already have been larger; 0 if it grows."""
        return 0.0


# -- Tests that rest on a binomial count of reports -----------------------------------------------


_TEETH = 6.0  # of the zigzag, to be sure


@dataclass(frozen=True)
class CountTest(PlannedTest):
    """A test of a count that is Binomial(n, null) under the null, Binomial(n, truth) in truth."""

    null: float
    truth: float
    alpha: float
    exact: bool

    @property
    def differs(self) -> bool:
        return self.truth > self.null if self.exact else self.truth != self.null

    def power(self, n: Array) -> Array:
        """All tallies that the test rejects, and their probability, summed exactly."""
        from scipy.special import betainc

        whole = np.maximum(np.floor(n + 1e-9 * n), 1.0)
        sides = ((self.null, self.truth), (1.0 - self.null, 1.0 - self.truth))
        powers = []
        for m0, m1 in sides[:1] if self.exact else sides:
            spread = m0 * (1.0 - m0)

            def binomial(t: Array, n: Array, m0: float = m0) -> Array:
                above = betainc(np.maximum(t, 1.0), np.maximum(n - t + 1.0, 1.0), m0)
                return np.where(t <= 0.0, 1.0, above)

            def score(t: Array, n: Array, m0: float = m0, spread: float = spread) -> Array:
                se, skewness = np.sqrt(spread / n), np.zeros(n.shape)
                if spread > 0.0:
                    skewness = (1.0 - 2.0 * m0) / np.sqrt(n * spread)
                return one_sided(t / n - m0, se, skewness, upper=True)

            pvalue, alpha = (binomial, self.alpha) if self.exact else (score, self.alpha / 2.0)
            # The smallest tally that is rejected, n + 1 where none is: it grows with n
            ends = np.array([whole.min(), whole.max()])
            low, high = _halve(ends, np.full(2, -1.0), ends + 1.0, pvalue, alpha)
            first, last = np.full(whole.shape, low[0] - 1.0), np.minimum(high[1], whole + 1.0)
            least = _halve(whole, first, last, pvalue, alpha)[1]
            above = betainc(np.maximum(least, 1.0), np.maximum(whole - least + 1.0, 1.0), m1)
            powers.append(np.where(least <= 0.0, 1.0, np.where(least > whole, 0.0, above)))
        return powers[0] if self.exact else np.asarray(np.minimum(powers[0] + powers[1], 1.0))

    def zigzag(self, n: float) -> float:
        spread = max(self.truth * (1.0 - self.truth), 1e-12)
        return float(_TEETH * (np.sqrt(n / spread) + 1.0 / max(self.null, 1.0 / n)))


def _halve(
    n: Array, low: Array, high: Array, pvalue: Callable[[Array, Array], Array], alpha: float
) -> tuple[Array, Array]:
    """Bisection between tallies that are not rejected, and rejected or impossible."""
    low = np.maximum(low, -1.0)
    while np.any(inside := high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        inside &= (middle > low) & (middle < high)  # beyond 2**53 some are no numbers
        if not inside.any():
            break
        rejected = pvalue(np.clip(middle, 0.0, n), n) <= alpha
        high = np.where(inside & rejected, middle, high)
        low = np.where(inside & ~rejected, middle, low)
    return low, high


# -- Tests whose statistic is a quadratic form of normal variables --------------------------------
# With the null covariance S0/n the statistic is T = n d' S0^- d; the estimate d has the mean delta
# and the covariance S1/n. In coordinates in which S0 is the identity, with M = S1 there, its
# cumulants are 2^(j-1) (j-1)! (tr M^j + j n delta' M^(j-1) delta).


_RANK = 1e-10  # eigenvalue, relative to the largest, that counts as zero
_LARGEST = 4096  # order of the largest covariance matrix
_NOTHING = 1e-24  # noncentrality of one respondent that rounding leaves
_STRAIGHT = 5e-3  # skewness, over sqrt(8), below which the law is normal
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class FormTest(PlannedTest):
    """A chi-square test of estimates whose covariance is not that of the null hypothesis."""

    df: int
    spread: Array  # tr M^j, j = 1 .. 4
    pull: Array  # delta' M^(j-1) delta
    alpha: float

    @classmethod
    def of(cls, delta: Array, null: Array, truth: Array, alpha: float) -> FormTest:
        """From the mean, (d,), and the covariances of one respondent's estimate, (d, d)."""
        W = whitening(null)
        M, mean = W @ truth @ W.T, W @ delta
        power, spread, pull = np.eye(len(W)), [], []
        for _ in range(4):
            pull.append(float(mean @ power @ mean))
            power = power @ M
            spread.append(float(np.trace(power)))
        return cls(len(W), np.array(spread), np.array(pull), alpha)

    @property
    def differs(self) -> bool:
        return bool(self.pull[0] > _NOTHING)

    def power(self, n: Array) -> Array:
        from scipy.special import chdtrc, chdtri, chndtr, ndtr

        critical = float(chdtri(self.df, self.alpha))
        j = np.arange(1, 5)[:, None]
        c1, c2, c3, c4 = self.spread[:, None] + j * n * self.pull[:, None]
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


def whitening(S: Array) -> Array:
    """W of shape (rank, d) with W S W' = I."""
    if len(S) > _LARGEST:
        raise NotAvailable(
            f"the power of a test of {len(S)} frequencies at once needs a matrix of that order; "
            f"the largest is {_LARGEST}: name one category, or merge categories"
        )
    size = np.sqrt(np.maximum(np.diagonal(S), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(S / np.outer(size, size))
    kept = values > _RANK * values[-1]
    if not kept.any() or values[-1] <= 0.0:
        raise NotIdentified("the reports do not vary under the null hypothesis: nothing is tested")
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T / size)


# -- Tests that rest on one estimate whose variance and skewness are known ------------------------


_SLIGHT = 2e-3  # skewness below which gamma laws lose digits
_ROUNDS = 6


@dataclass(frozen=True)
class EstimateTest(PlannedTest):
    """A score test of one estimate, by Pearson's type III law with its cumulants."""

    shift: float
    null: tuple[float, float]
    truth: tuple[float, float]
    alpha: float
    larger: bool = False
    continuous: bool = False

    @property
    def differs(self) -> bool:
        return self.shift > 0.0 if self.larger else self.shift != 0.0

    def power(self, n: Array) -> Array:
        if self.larger:
            return self._tail(n, 1.0, self.alpha)
        both = self._tail(n, 1.0, self.alpha / 2.0) + self._tail(n, -1.0, self.alpha / 2.0)
        return np.asarray(np.minimum(both, 1.0))

    def _tail(self, n: Array, sign: float, alpha: float) -> Array:
        """Probability of a rejection on the side of `sign`."""
        scaled = []  # standard error and skewness with n respondents
        for variance, third in (self.null, self.truth):
            skewness = third / variance**1.5 if variance > 0.0 else 0.0
            scaled.append((np.sqrt(max(variance, 0.0) / n), skewness / np.sqrt(n)))
        (se0, g0), (se1, g1) = scaled
        beyond = _critical(sign * g0, alpha)
        if not self.continuous:
            beyond = beyond + continuity(g0)
        excess = np.where(se0 > 0.0, beyond * se0, 0.0) - sign * self.shift
        certain = np.where(excess < 0.0, -np.inf, np.inf)  # an estimate that does not vary
        z = np.where(se1 > 0.0, excess / np.where(se1 > 0.0, se1, 1.0), certain)
        return skewed_pvalue(z, sign * g1)


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


@dataclass(frozen=True)
class FrequencyLaw:
    """Law of an unbiased estimate of one frequency."""

    cumulants: Callable[[float], tuple[float, float]]
    count: tuple[float, float] | None = None
    continuous: bool = False


def frequency_law(mechanism: Mechanism, p: Array, x: int, candidates: Any = None) -> FrequencyLaw:
    """Law of estimate x of `FrequencyResults.linear_params`, the distribution being p, (k,)."""
    if has_scores(mechanism):  # the estimate is one step of the likelihood, else the inversion
        try:
            start, V = score_covariance(mechanism, p)
            moments = mechanism.channel().score_moments(start, V.core)
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            pass
        else:
            return FrequencyLaw(_on_path(PathLaw.around(start, (1,), [moments]), x, 1.0))
    problem = mechanism.moments(mechanism.specimen(), candidates)
    form = problem.exact_form()
    if form is not None and form.known[x]:
        offset, scale = float(form.offset[x]), float(form.scale[x])
        if scale < 0.0:  # count the other reports
            offset, scale = 1.0 - offset, -scale

        def cumulants(v: float) -> tuple[float, float]:
            m = min(max(offset + scale * v, 0.0), 1.0)
            spread = m * (1.0 - m)
            return spread / scale**2, spread * (1.0 - 2.0 * m) / scale**3

        return FrequencyLaw(cumulants, (offset, scale))
    if isinstance(problem, CohortMoments):
        return _hashed_law(mechanism, problem, p, x, candidates)
    tally = problem.tally(None, p)  # type: ignore[arg-type]  # only hashes look at an estimate
    if isinstance(tally, PathLaw):
        return FrequencyLaw(_on_path(tally, x, float(problem.nobs)))
    variance = float(one_report_variances(mechanism, p, candidates)[x])
    return FrequencyLaw(lambda v: (variance, 0.0), continuous=True)


def _on_path(law: PathLaw, x: int, n: float) -> Callable[[float], tuple[float, float]]:
    """Cumulants of entry x, of a law of n respondents."""
    return _cumulants(PathLaw(law.nobs / n, law.own[..., [x]], law.others[..., [x]]), 1.0)


def _cumulants(tally: PathLaw | OwnTally, n: float) -> Callable[[float], tuple[float, float]]:
    """Variance and third cumulant of one respondent, from the law of a single entry with n."""

    def cumulants(v: float) -> tuple[float, float]:
        se, skewness, _ = tally.law(np.array([v]))
        return float(se[0]) ** 2 * n, float(skewness[0] * se[0] ** 3) * n**2

    return cumulants


def _hashed_law(
    mechanism: Mechanism, problem: CohortMoments, p: Array, x: int, candidates: Any
) -> FrequencyLaw:
    """Law of a hashed candidate, by the tally of its own cells where reports are as expected."""
    cells = problem.single("power").cell_means(p)
    ones = np.rint(cells * _COHORT).astype(np.int64)
    sizes = np.full(len(ones), _COHORT) if mechanism.n_bits else None
    expected: Moments = mechanism.moments(mechanism.counts(ones, sizes), candidates)
    if not isinstance(expected, CohortMoments):
        raise InvalidArgument("mechanism", str(mechanism), "has reports that cannot be planned")
    tally = expected.tally(Uncertain(p, expected.covariance(p)))
    assert tally is not None
    one = OwnTally(*(getattr(tally, f.name)[[x]] for f in fields(tally)))
    return FrequencyLaw(_cumulants(one, float(expected.nobs)), continuous=True)


# -- Test of the difference of one frequency in two groups ----------------------------------------


_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_test(
    mechanisms: Sequence[Mechanism], p: Array, shares: Array, x: int, candidates: Any, alpha: float
) -> EstimateTest:
    """The score test of `TwoSampleResult.differences` for category x; p of shape (2, k)."""
    pairs = zip(mechanisms, p, strict=True)
    laws = [frequency_law(made_by, row, x, candidates) for made_by, row in pairs]
    cells = []  # cumulants as polynomials in the frequency, for one respondent of both groups
    for law, w in zip(laws, shares, strict=True):
        of_variance, of_third = np.array([law.cumulants(v) for v in _AT]).T
        of_variance = _TO_COEFFICIENTS[:3] @ of_variance / float(w)
        of_third = _TO_COEFFICIENTS @ of_third / float(w) ** 2
        cells.append(CellLaw(of_variance[None], of_third[None], np.zeros(1), np.zeros(1)))
    ends = [np.array([float(row[x])]) for row in p]
    se, skewness = Difference(ends[0], ends[1], cells[0], cells[1]).law(np.zeros(1))
    variance, third = 0.0, 0.0
    for law, row, w, sign in zip(laws, p, shares, (1.0, -1.0), strict=True):
        own = law.cumulants(float(row[x]))
        variance, third = variance + own[0] / w, third + sign * own[1] / w**2
    null = float(se[0]) ** 2, float(skewness[0] * se[0] ** 3)
    return EstimateTest(float(ends[0][0] - ends[1][0]), null, (variance, third), alpha)


# -- Test that groups have the same distribution --------------------------------------------------


def homogeneity_form(
    mechanisms: Sequence[Mechanism], p: Array, shares: Array, candidates: Any, alpha: float
) -> FormTest:
    """The default test of `homogeneity_test`, for groups of distributions p, shape (g, k)."""
    # Pearson's of the table of labels if one mechanism without cohorts makes them, else Wald's,
    # which the score test of whole reports equals where groups are large.
    first, pooled = mechanisms[0], shares @ p
    alike = all(one == first for one in mechanisms)
    if alike and not first.n_bits and not first.n_cohorts:
        Q = np.asarray(first.channel().matrix())
        means = p @ Q
        null = [multinomial(pooled @ Q, 1).matrix()] * len(p)
        truth = [multinomial(m, 1).matrix() for m in means]
        return _compare_groups(means, shares, null, truth, alpha)
    scores = all(has_scores(one) for one in mechanisms)

    def covariance(mechanism: Mechanism, p: Array) -> Array:
        """Of one respondent's unconstrained estimate, (k, k)."""
        if scores:
            return score_covariance(mechanism, p)[1].matrix()
        return one_report_covariance(mechanism, p, candidates, "inversion").matrix()

    null = [covariance(one, pooled) for one in mechanisms]
    truth = [covariance(one, row) for one, row in zip(mechanisms, p, strict=True)]
    return _compare_groups(p, shares, null, truth, alpha)


def _compare_groups(
    means: Array, shares: Array, null: Sequence[Array], truth: Sequence[Array], alpha: float
) -> FormTest:
    """All groups with the first: covariances of one respondent of each, (d, d)."""
    delta = (means[1:] - means[0]).ravel()
    pair = []  # covariances of the differences from the first group
    for each in (null, truth):
        d, others = len(each[0]), len(each) - 1
        S = np.kron(np.ones((others, others)), each[0] / shares[0])
        for i in range(others):
            block = slice(i * d, (i + 1) * d)
            S[block, block] += each[i + 1] / shares[i + 1]
        pair.append(S)
    return FormTest.of(delta, pair[0], pair[1], alpha)


# -- The score test of independence of two privatised variables, under a true joint distribution ---
# With a(x') and b(y') the scores of the two reports, centred and white, and C = E[a b'], the
# statistic is n |C|^2 on average, plus its degrees of freedom. A pair of reports moves the estimate
# of |C|^2 by ``2 a'Cb - a'CC'a - b'C'Cb`` (scores are made white by their own covariance, which
# varies too): that gives the variance under the truth.


_MOST_PAIRS = 1 << 22  # pairs of reports that are listed


def association_form(
    channels: tuple[Channel, Channel] | None,
    information: tuple[Array, Array],
    product: Array,
    departure: Array,
    alpha: float,
) -> FormTest:
    """The test where the table is ``product + departure``, shape (k1, k2)."""
    JX, JY = information
    df = score_rank(JX) * score_rank(JY)
    noncentrality = max(float(np.sum((JX @ departure @ JY) * departure)), 0.0)
    # with the covariance of the null; the noncentrality is that of one respondent
    local = FormTest(df, np.full(4, float(df)), np.full(4, noncentrality), alpha)
    if channels is None or noncentrality <= 0.0:
        return local
    # Too many pairs of reports to be listed have the variance of the null hypothesis
    if channels[0].shape[1] * channels[1].shape[1] > _MOST_PAIRS:
        return local
    # Variance of what a pair of reports adds to the estimate of |C|^2
    first, second = (np.asarray(channel.matrix()) for channel in channels)
    first, second = first[:, first.any(axis=0)], second[:, second.any(axis=0)]
    A, B = _white(first, product.sum(axis=1)), _white(second, product.sum(axis=0))
    M = first.T @ (product + departure) @ second
    C = A.T @ M @ B
    moves = 2.0 * A @ C @ B.T
    moves -= np.square(A @ C).sum(axis=1)[:, None] + np.square(B @ C.T).sum(axis=1)
    mean = float(np.sum(M * moves))
    variance = float(np.sum(M * np.square(moves - mean)))
    growth = variance / (4.0 * noncentrality) if variance > 0.0 else 1.0
    return FormTest(df, local.spread, noncentrality * growth ** np.arange(4), alpha)


def _white(Q: Array, p: Array) -> Array:
    """Scores of the l reports, centred, uncorrelated and of variance one, shape (l, rank)."""
    m = p @ Q
    scores = (Q / m).T - 1.0
    return np.asarray(scores @ whitening((scores.T * m) @ scores).T)


def score_rank(J: Array) -> int:
    """Rank of the covariance of the scores, J - 1 1'."""
    values = np.linalg.eigvalsh(J - 1.0)
    return max(1, int(np.sum(values > _RANK * max(values[-1], 0.0))))


# -- Score test of a coefficient of a regression on reports, with the expected law of the reports --
# In a long survey the restricted maximum is where the expected log-likelihood of the truth is the
# largest with the coefficient at zero. The score of the coefficient there, less what the others
# explain of it, has a mean and a variance under the truth; the test divides it by the expected
# information at the restricted maximum.


_MOST_OUTPUTS = 4096  # reports that are gone through one by one
_STEPS = 100  # of Newton
_CLOSE = 1e-12  # decrement, in nats per respondent
_SINGULAR = 1e-10  # information on the coefficient, relative to that without the others


def coefficient_test(
    outcome: Outcome, X: Array, Q: Array, theta: Array, j: int, alpha: float
) -> FormTest:
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
    restricted = np.where(free, theta, 0.0)
    for _ in range(_STEPS if free.any() and theta[j] != 0.0 else 0):
        value, g, _ = expected.evaluate(restricted)
        J, step = information.matrix(restricted), np.zeros(theta.size)
        step[free] = np.linalg.lstsq(J[np.ix_(free, free)], g[free], rcond=1e-12)[0]
        if g @ step < _CLOSE:
            break
        size = 1.0
        while not expected.value(restricted + size * step) >= value and size > 1e-10:
            size /= 2.0
        restricted = restricted + size * step
    _, g, H = expected.evaluate(restricted)
    scores, J = expected.score_obs(restricted), information.matrix(restricted)
    S = (scores.T * expected.weights) @ scores  # mean square of the score

    def efficient(S: Array, H: Array) -> tuple[float, Array]:
        """Mean square of the score of j less what the others explain of it, and its weights."""
        a = np.eye(len(S))[j]
        if free.any():
            a[free] = -np.linalg.lstsq(H[np.ix_(free, free)], H[free, j], rcond=1e-12)[0]
        return float(a @ S @ a), a

    information_j, _ = efficient(J, J)
    if not information_j > _SINGULAR * J[j, j]:
        raise NotIdentified(
            "the reports and the rows of exog do not determine the coefficient: it needs a "
            "covariate that is no combination of others, and reports that depend on the answer"
        )
    variance, a = efficient(S, -H if theta[j] != 0.0 else J)
    mean = float(a @ g)
    M = max(variance - mean**2, 0.0) / information_j
    powers = np.arange(4)
    return FormTest(1, M ** (powers + 1), mean**2 / information_j * M**powers, alpha)


def response_channel(mechanism: Mechanism) -> tuple[Array, pd.Index[Any]]:
    """Channel of the response, (k, l), without reports that never occur, and the categories."""
    if mechanism.n_cohorts or mechanism.channel().shape[1] > _MOST_OUTPUTS:
        raise NotAvailable(
            f"the reports of {mechanism} are too many to be listed, which a plan of a regression "
            "needs: plan with k-ary randomised response of the same epsilon"
        )
    Q = np.asarray(mechanism.channel().matrix())
    return Q[:, Q.any(axis=0)], mechanism.categories
