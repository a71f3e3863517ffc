"""Variances of block mechanisms: by formula, by enumeration and by simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from grid import all_reports
from simulate import bias, coverage, near, repeat, size

import ldpstats as ldp

ZIPF = 1.0 / np.arange(1, 9) / (1.0 / np.arange(1, 9)).sum()

BLOCKS = {
    "subsets": ldp.SubsetSelection(8, 1.0),
    "hadamard": ldp.HadamardResponse(8, 0.6),
    "hadamard-parts": ldp.HadamardResponse(8, 2.0),
    "projective": ldp.ProjectiveGeometryResponse(8, 0.8),
}
every_mechanism = pytest.mark.parametrize("mechanism", BLOCKS.values(), ids=BLOCKS.keys())


def information_variance(mechanism: ldp.Mechanism, p: np.ndarray) -> float:
    """n times the sum of the variances of the best unbiased estimate."""
    J = mechanism.channel().information(p)
    return float(np.trace(np.linalg.inv(J) - np.outer(p, p)))


def test_subset_selection_beats_the_others_in_the_middle() -> None:
    found = [
        information_variance(m, ZIPF)
        for m in (ldp.SubsetSelection(8, 1.0), ldp.KRR(8, 1.0), ldp.KRAPPOR(8, 1.0, theta=0.5))
    ]
    np.testing.assert_allclose(found, [22.21, 27.91, 26.45], rtol=0, atol=0.005)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.5])
def test_the_default_size_is_the_one_the_information_prefers(k: int, epsilon: float) -> None:
    p = np.full(k, 1.0 / k)
    sums = [information_variance(ldp.SubsetSelection(k, epsilon, d), p) for d in range(1, k)]
    assert sums[ldp.SubsetSelection(k, epsilon).size - 1] <= min(sums) * (1.0 + 1e-9)


@every_mechanism
def test_covariance_of_the_linear_estimate_by_enumeration(mechanism: ldp.Mechanism) -> None:
    Q = mechanism.channel().matrix()
    problem = mechanism.moments(mechanism.specimen())
    singles = [mechanism.moments(one) for one in _each(mechanism)]
    estimates = np.array([one.estimate()[0] for one in singles])  # of every possible report
    np.testing.assert_allclose(Q @ estimates, np.eye(8), rtol=0, atol=1e-12)  # unbiased
    law = ZIPF @ Q
    V = (estimates.T * law) @ estimates - np.outer(ZIPF, ZIPF)
    np.testing.assert_allclose(problem.covariance(ZIPF).matrix(), V, rtol=0, atol=1e-11)
    np.testing.assert_allclose(problem.estimate_variances(ZIPF), np.diag(V), rtol=1e-12)


def _each(mechanism: ldp.Mechanism) -> list[ldp.Counts]:
    """Counts of one report, for every possible report."""
    every = all_reports(mechanism)
    return [ldp.Counts(every.y[i : i + 1], [1], mechanism) for i in range(len(every))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.MisfitWarning")  # one survey in a thousand
@every_mechanism
def test_estimates_and_intervals(
    mechanism: ldp.Mechanism, replications: Callable[..., int]
) -> None:
    """Bias, variance, coverage and size of the default fit, at n = 5000 with a zero frequency."""
    p = np.append(ZIPF[:7] + ZIPF[7] / 7.0, 0.0)
    rng, n, R = np.random.default_rng(17), 5_000, replications(300, 300)
    law = p @ mechanism.channel().matrix()
    law = law / law.sum()
    every = all_reports(mechanism).y

    def survey(_: int) -> dict[str, object]:
        drawn = rng.multinomial(n, law)
        seen = np.flatnonzero(drawn)
        model = ldp.FrequencyModel(ldp.Counts(every[seen], drawn[seen], mechanism))
        fit = model.fit()
        return {
            "estimate": fit.linear_params.to_numpy(),
            "ends": (ends := fit.conf_int(clip=False).to_numpy()),
            "pvalue": model.test_distribution(p).pvalue,
            "absent": fit.presence_pvalues().iloc[-1],
            "fit": fit.goodness_of_fit.pvalue,
            "wrong": 0.9 * ends,  # control
        }

    found = repeat(R, survey)
    assert np.all(np.abs(bias(found["estimate"], p)) < 4.5)
    total = n * found["estimate"].var(axis=0).sum()
    expected = information_variance(mechanism, np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum())
    assert abs(total / expected - 1.0) < 4.0 * np.sqrt(2.0 / (7 * R)) + 0.01
    assert near(coverage(found["ends"], p), 0.95, R)
    assert not near(coverage(found["wrong"], p), 0.95, R)
    for name in ("pvalue", "absent"):
        assert near(size(found[name]), 0.05, R), name
    assert size(found["fit"]) <= 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / R)
