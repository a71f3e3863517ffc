"""Size of tests at level 0.05 in simulated surveys whose null hypothesis is true.

10,000 surveys a setting give a Monte Carlo standard error of .0022; a size may differ from .05 by
four of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, at_most, error, near, size
from surveys import (
    BASE,
    MECHANISMS,
    as_counts,
    covariance,
    draw,
    estimates,
    frequencies,
    moments,
    null_covariances,
    observed_covariances,
    projected,
    quadratic_forms,
    score_forms,
)

import ldpstats as ldp
from ldpstats.inference import goodness, tests
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.joint import pool

# of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")

Array = npt.NDArray[Any]

FULL = 10_000

GRID = [
    ("krr", 5, 1.0, 2000),
    ("krr", 20, 3.0, 20_000),
    ("rappor", 5, 3.0, 2000),
    ("rappor", 20, 1.0, 100_000),
    ("oue", 5, 1.0, 20_000),
    ("oue", 20, 3.0, 2000),
    ("rectangular", 5, 3.0, 2000),
    ("rectangular", 20, 1.0, 20_000),
]
PAIRS = [  # one mechanism for both, different epsilons, different mechanisms
    ((("krr", 1.0), ("krr", 1.0)), 5, 2000),
    ((("krr", 1.0), ("krr", 3.0)), 20, 20_000),
    ((("rappor", 3.0), ("rappor", 3.0)), 20, 2000),
    ((("oue", 1.0), ("oue", 3.0)), 5, 100_000),
    ((("rectangular", 3.0), ("rectangular", 3.0)), 20, 20_000),
    ((("krr", 1.0), ("oue", 3.0)), 5, 2000),
    ((("rappor", 3.0), ("rectangular", 1.0)), 20, 100_000),
]


class Size(NamedTuple):
    """Rejection rate of a test in one setting."""

    test: str
    design: str
    k: int
    n: int
    rate: float


def generator(*key: int) -> np.random.Generator:
    return np.random.default_rng([77, *key])


def settings() -> Iterator[tuple[int, str, ldp.Mechanism, Array, int]]:
    """Number, design, mechanism, interior frequencies and reports of each setting."""
    for i, (name, k, epsilon, n) in enumerate(GRID):
        yield i, f"{name} {epsilon:g}", MECHANISMS[name](k, epsilon), BASE[k] / BASE[k].sum(), n


def same(test: ldp.TestResult, statistic: float) -> None:
    """What `FrequencyModel` computes from a survey is what was simulated."""
    assert test.statistic == pytest.approx(statistic, rel=1e-7)


# ---- the tests, each on many surveys at once; the first `fits` surveys go through the models too


def given_distribution(R: int, fits: int) -> Iterator[Size]:
    for i, design, mechanism, p, n in settings():
        counts = draw(mechanism, p, n, R, generator(1, i))
        estimate, _ = estimates(mechanism, counts, n)
        statistic, df = goodness.given_distribution(estimate, covariance(mechanism, p, n), p)
        yield Size("given distribution", design, mechanism.k, n, size(chi2_pvalue(statistic, df)))
        for survey, value in zip(counts[:fits], statistic, strict=False):
            same(ldp.FrequencyModel(as_counts(mechanism, survey, n)).test_distribution(p), value)
        if design.startswith("krr"):  # control: n times an estimate is no count
            naive = np.sum(n * (estimate - p) ** 2 / p, axis=1)
            assert size(chi2_pvalue(naive, mechanism.k - 1)) > 0.1


def two_samples(R: int, fits: int) -> Iterator[Size]:
    """Samples of n and 2 n."""
    for i, (pair, k, n) in enumerate(PAIRS):
        mechanisms = [MECHANISMS[name](k, epsilon) for name, epsilon in pair]
        design = " and ".join(f"{name} {epsilon:g}" for name, epsilon in pair)
        p, rng, nobs = BASE[k] / BASE[k].sum(), generator(3, i), (n, 2 * n)
        surveys = [draw(m, p, size, R, rng) for m, size in zip(mechanisms, nobs, strict=True)]
        statistic = pooled_wald(mechanisms, surveys, nobs)
        found = {"wald": (statistic, k - 1)}
        if pair[0] == pair[1] and not mechanisms[0].n_bits:
            found["pearson"] = goodness.two_sample_pearson(*surveys)
        for method, (values, df) in found.items():
            yield Size(f"two samples, {method}", design, k, n, size(chi2_pvalue(values, df)))
            for a, b, value in zip(surveys[0][:fits], surveys[1], values, strict=False):
                first = as_counts(mechanisms[0], a, nobs[0])
                second = as_counts(mechanisms[1], b, nobs[1])
                test = ldp.two_sample_test(first, second, method)
                # dense covariances are those at the maximum, which is near the projection here
                dense = any(isinstance(m, ldp.CustomMechanism) for m in mechanisms)
                assert test.statistic == pytest.approx(value, rel=0.1 if dense else 1e-3)
        if pair == (("krr", 1.0), ("krr", 3.0)):  # control: Pearson's test needs one channel
            assert size(chi2_pvalue(*goodness.two_sample_pearson(*surveys))) > 0.9


def channel_fits(R: int, fits: int) -> Iterator[Size]:
    """Do the reports come from this channel? At p with zeros, which the tests do not mind."""
    for i, design, mechanism, _, n in settings():
        p = frequencies("zeros", mechanism, n)
        counts, k = draw(mechanism, p, n, R, generator(4, i)), mechanism.k
        statistic: Array
        if isinstance(mechanism, ldp.CustomMechanism):
            statistic, df = goodness.channel_fit(counts, mechanism.Q)
            yield Size("channel fit", design, k, n, size(chi2_pvalue(statistic, df)))
        elif isinstance(mechanism, ldp.KRAPPOR):
            p1, p0 = mechanism.p1, mechanism.p0
            statistic, pvalue = goodness.bit_total_fit(counts.sum(axis=1), n, k, p1, p0)
            yield Size("total of ones", design, k, n, size(pvalue))
            # Ones of a report: one bit at p1, the others at p0.
            law = reduce(np.convolve, [[1 - p1, p1], *[[1 - p0, p0]] * (k - 1)])
            histogram = generator(5, i).multinomial(n, law, size=R)
            found, df = goodness.popcount_fit(histogram, p1, p0)
            yield Size("number of ones", design, k, n, size(chi2_pvalue(found, df)))
        else:
            continue  # a square channel has no law to depart from
        for survey, value in zip(counts[:fits], statistic, strict=False):
            fit = ldp.FrequencyModel(as_counts(mechanism, survey, n)).fit("inversion")
            assert fit.goodness_of_fit is not None
            # the distance from a dense channel's laws is X^2 to the first order
            dense = isinstance(mechanism, ldp.CustomMechanism)
            tolerance = 0.03 if dense else 1e-7
            assert fit.goodness_of_fit.statistic == pytest.approx(value, rel=tolerance)


def pooled_wald(mechanisms: list[ldp.Mechanism], surveys: list[Array], nobs: Any) -> Array:
    """Equality of two samples, with covariances at the projection of the pooled estimate."""
    problems = [moments(m, n) for m, n in zip(mechanisms, nobs, strict=True)]
    t = [counts / n for counts, n in zip(surveys, nobs, strict=True)]
    if all(isinstance(problem.A, float) for problem in problems):
        together = pool([replace(q, t=seen) for q, seen in zip(problems, t, strict=True)]).t
    else:
        whole = pool(problems)
        together = (np.hstack(t) - whole.offset) @ np.asarray(whole.inverse).T
    p = projected(together)
    V = sum(null_covariances(m, p, n) for m, n in zip(mechanisms, nobs, strict=True))
    a, b = (estimates(*each)[0] for each in zip(mechanisms, surveys, nobs, strict=True))
    return quadratic_forms(a - b, np.asarray(V), np.diff(np.eye(p.shape[1]), axis=0))


# ---- sizes


FAMILIES = (given_distribution, two_samples, channel_fits)


def check(found: pd.DataFrame, R: int) -> None:
    """Each size within four standard errors of .05, all together within .003 or four of theirs."""
    se = error(ALPHA, R)
    wrong = found[np.abs(found.rate - ALPHA) > 4 * se]
    assert wrong.empty, f"\n{wrong}"
    for name, rates in found.groupby("test").rate:
        assert abs(rates.mean() - ALPHA) < max(0.003, 4 * se / np.sqrt(len(rates))), name


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_sizes(family, replications):
    R = replications(FULL)
    check(pd.DataFrame(family(R, 3)), R)


def test_sizes_of_a_few():
    R, n, p = 2000, 2000, BASE[5]
    krr = ldp.KRR(5, 1.0)
    counts = draw(krr, p, n, R, generator(0))
    by_counts = goodness.pearson_given(counts, krr.channel().forward(p))
    contrast = quadratic_forms(
        estimates(krr, counts, n)[0] - p, observed_covariances(krr, counts, n), np.eye(5)[:2]
    )
    other = draw(ldp.KRR(5, 3.0), p, n, R, generator(1))
    wald = pooled_wald([krr, ldp.KRR(5, 3.0)], [counts, other], (n, n))
    found = {"pearson": by_counts, "contrasts": (contrast, 2), "two samples": (wald, 4)}
    sizes = [Size(name, "krr", 5, n, size(chi2_pvalue(*s))) for name, s in found.items()]
    check(pd.DataFrame(sizes), R)
    a, b = krr.counts(counts[0]), ldp.KRR(5, 3.0).counts(other[0])
    same(ldp.FrequencyModel(a).test_distribution(p), by_counts[0][0])
    same(ldp.two_sample_test(a, b, "wald"), wald[0])
    # The tests of fit of a user's own reports, privatised one by one.
    oue = ldp.KRAPPOR(5, 1.0, theta=0.5)
    reports = oue.privatize(generator(2).choice(5, n, p=p), generator(3))
    ones = np.unpackbits(reports.y, axis=1).sum(axis=1, dtype=np.int64)
    histogram = np.bincount(ones, minlength=6)
    fit = ldp.FrequencyModel(reports).fit("inversion").goodness_of_fit
    same(fit, float(goodness.popcount_fit(histogram, oue.p1, oue.p0)[0]))


@pytest.mark.slow
def test_many_restrictions_need_the_covariance_under_the_null(replications):
    """All 19 at once, n = 2,000: with the covariance at the estimate .06 to .07 would be rejected.

    It is small where a frequency happens to be small. `wald_test` has it under the null.
    """
    R, n, p = replications(FULL), 2000, frequencies("interior", ldp.KRR(20, 3.0), 2000)
    band = 4 * error(ALPHA, R)
    krr = ldp.KRR(20, 3.0)
    counts = draw(krr, p, n, R, generator(6))
    d = estimates(krr, counts, n)[0] - p
    rows = np.diff(np.eye(20), axis=0)
    wald = quadratic_forms(d, observed_covariances(krr, counts, n), rows)
    score = score_forms(krr, counts, n, rows, rows @ p)
    assert abs(size(chi2_pvalue(score, 19)) - 0.05) < band + 0.003
    null = goodness.given_distribution(d + p, covariance(krr, p, n), p)
    assert near(size(chi2_pvalue(*null)), ALPHA, R)
    assert 0.05 < size(chi2_pvalue(wald, 19)) < 0.08 + band


# ---- detection of categories


def presence(mechanism: ldp.Mechanism, counts: Array, n: int) -> Array:
    """`presence_pvalues()` of each survey, shape (R, k)."""
    problem = moments(mechanism, n)
    if isinstance(problem.A, float):
        return np.asarray(tests.binomial_excess(counts, n, problem.offset, problem.A))
    fits = (ldp.FrequencyModel(as_counts(mechanism, row, n)).fit() for row in counts)
    return np.array([fit.presence_pvalues() for fit in fits])


def detection(R: int, fits: int) -> pd.DataFrame:
    """Error rates of `detected` where 2 of 5 or 10 of 20 categories are absent."""
    rows = []
    for i, design, mechanism, _, n in settings():
        p = frequencies("zeros", mechanism, n)
        surveys = min(R // 10, 500) if isinstance(mechanism, ldp.CustomMechanism) else R
        counts = draw(mechanism, p, n, surveys, generator(8, i))
        row: dict[str, Any] = {"design": design, "k": mechanism.k, "n": n, "surveys": surveys}
        pvalues = presence(mechanism, counts, n)
        for method in tests.METHODS:
            found = tests.reject(pvalues, 0.05, method)
            false = found[:, p == 0].sum(axis=1)
            row[f"{method} any"] = np.mean(false > 0)
            row[f"{method} share"] = np.mean(false / np.maximum(found.sum(axis=1), 1))
            for survey, expected in zip(counts[:fits], found, strict=False):
                model = ldp.FrequencyModel(as_counts(mechanism, survey, n))
                names = model.fit("inversion").detected(0.05, method)
                assert names.tolist() == np.flatnonzero(expected).tolist()
        rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.slow
def test_errors_of_detection(replications):
    R = replications(FULL)
    found = detection(R, 3)
    assert np.all(found["bonferroni any"] <= found["holm any"])  # Holm rejects whatever it rejects
    assert at_most(found["holm any"], ALPHA, found["surveys"])
    assert at_most(found["bh share"], ALPHA, found["surveys"])
    # Control: BH lets more false discoveries pass than a family-wise level would.
    assert not at_most(found["bh any"], ALPHA, found["surveys"])
