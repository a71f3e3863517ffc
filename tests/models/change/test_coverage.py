"""Coverage of intervals of a change, and size of the test that there is none, in simulations.

Intervals of labels do not depend on the estimator; that of inversion is the fastest.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.waves import observed, of_table, reports_law
from simulate import ALPHA, at_least, at_most, error, near, repeat, size

import ldpstats as ldp
from ldpstats.inference.tests import z_test

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]

MARGINS = {2: (0.7, 0.3), 4: (0.5, 0.3, 0.17, 0.03)}


def truth(k: int, shift: float) -> Array:
    """Fifteen percent answer anew; `shift` more move from the first category to the last."""
    p = np.array(MARGINS[k])
    P = 0.85 * np.diag(p) + 0.15 * np.outer(p, p)
    P[0, 0] -= shift
    P[0, -1] += shift
    return np.asarray(P)


def mechanism(k: int, epsilon: float) -> Any:
    return observed(k) if np.isinf(epsilon) else ldp.KRR(k, epsilon)


def surveys(k: int, epsilon: float, n: int, shift: float, R: int) -> dict[str, Array]:
    """p-values of R surveys, of the true changes and turnover and of no change.

    An interval holds the values that are not rejected (see test_change), but takes longer to find.
    """
    m, P = mechanism(k, epsilon), truth(k, shift)
    law = reports_law(P, m, m)
    rng = np.random.default_rng([k, int(10 * min(epsilon, 9)), n, shift > 0.0])
    tables = rng.multinomial(n, law.ravel() / law.sum(), size=R).reshape(R, k, k)
    change, moved = P.sum(axis=0) - P.sum(axis=1), 1.0 - np.trace(P)

    def survey(r: int) -> dict[str, Any]:
        results = ldp.change(*of_table(tables[r], m), method="inversion")
        law, turnover, estimate = results.law, results.turnover_law, results.linear.estimate
        assert law is not None
        assert turnover is not None
        stayed = np.trace(results.joint.linear_table.to_numpy())
        alone = [fit.linear.bse() for fit in results.joint.margin_fits]
        return {
            "change": law.pvalues(estimate, change),
            "turnover": turnover.pvalues(np.array([1.0 - stayed]), moved)[0],
            "none": results.test_homogeneity().pvalue,
            "as two samples": z_test(estimate, np.hypot(*alone), change)[1],
        }

    return repeat(R, survey)


def held(pvalues: Array) -> Array:
    """Share of surveys whose interval holds the truth."""
    return np.asarray(np.mean(pvalues >= ALPHA, axis=0))


def check(k: int, epsilon: float, n: int, shift: float, R: int) -> None:
    P, found = truth(k, shift), surveys(k, epsilon, n, shift, R)
    shares, band = held(found["change"]), 4.0 * error(ALPHA, R)
    assert shares.min() > min(0.93, 0.95 - band)
    # fewer than ten of n respondents change: the interval is that of a few counts
    few = n * (P.sum(axis=0) + P.sum(axis=1) - 2 * np.diag(P)) < 10
    assert shares[~few].max(initial=0.0) < max(0.97, 0.95 + band)
    assert min(0.93, 0.95 - band) < held(found["turnover"]) < max(0.97, 0.95 + band)
    if shift == 0.0:
        assert at_most(size(found["none"]), 0.055, R)
        assert at_least(size(found["none"]), 0.04, R)


def test_coverage_and_size_of_a_few_surveys():
    check(4, 3.0, 1000, 0.0, 60)


SETTINGS = [  # little noise and few respondents, and much of both
    ((4, 0.0), 0.5, 10_000),
    ((4, 0.0), 1.0, 1000),
    ((4, 0.0), 3.0, 200),
    ((4, 0.0), np.inf, 200),
    ((2, 0.06), 0.5, 200),
    ((2, 0.06), np.inf, 10_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "epsilon", "n"), SETTINGS)
def test_coverage_and_size(truth, epsilon, n, replications):
    check(truth[0], epsilon, n, truth[1], replications(2000, least=200))


@pytest.mark.slow
def test_coverage_where_one_wave_reports_bits(replications):
    R, n, P = replications(750, least=150), 1000, truth(4, 0.0)
    rng, change = np.random.default_rng(9), P.sum(axis=0) - P.sum(axis=1)
    labels, bits = ldp.KRR(4, 1.0), ldp.KRAPPOR(4, 2.0)

    def survey(_: int) -> dict[str, Any]:
        cells = rng.choice(16, size=n, p=P.reshape(-1))
        waves = labels.privatize(cells // 4, rng), bits.privatize(cells % 4, rng)
        results = ldp.change(*waves, method="one_step")
        assert results.law is not None
        found = results.law.pvalues(results.linear.estimate, change)
        return {"change": found, "none": results.test_homogeneity().pvalue}

    found = repeat(R, survey)
    assert near(held(found["change"]), 1 - ALPHA, R)
    assert near(size(found["none"]), ALPHA, R)


@pytest.mark.slow
def test_two_samples_in_place_of_pairs_fail(replications):
    """The control: variances of independent samples are too large where answers agree."""
    R = replications(1000, least=200)
    found = surveys(2, np.inf, 1000, 0.06, R)
    assert held(found["as two samples"]).min() > 0.99
    assert near(held(found["change"]), 1 - ALPHA, R)
