"""Errors of detection and coverage over candidates, in simulated surveys.

Bands are three Monte Carlo standard errors for error rates, four for coverages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from simulate import ALPHA, at_most, coverage, error, near, repeat
from simulated.candidates import Decoded, Surveys, check_errors, zipf

import ldpstats as ldp
from ldpstats.inference import intervals

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


SETTINGS: dict[str, tuple[Any, int]] = {
    "rappor": (ldp.RAPPOR(128, 2, 64, f=0.0, p=0.25, q=0.75), 10**6),
    "rappor, permanent": (ldp.RAPPOR(128, 2, 64, f=0.5, p=0.5, q=0.75), 10**6),
    "orappor": (ldp.ORAPPOR(128, 1, 64, epsilon=2.0), 10**6),
    "orr": (ldp.ORR(256, 64, epsilon=2.0), 10**6),
    "orr, nearly full rank": (ldp.ORR(64, 8, epsilon=3.0), 10**5),
    # ever fewer reports of a label: 98, 78, 20 and 5 over all cohorts together
    "orr 98": (ldp.ORR(1024, 64, epsilon=2.0), 10**5),
    "orr 78, small cohorts": (ldp.ORR(256, 256, epsilon=3.0), 2 * 10**4),
    "orr 20": (ldp.ORR(1024, 64, epsilon=6.0), 2 * 10**4),
    "orr 5": (ldp.ORR(1024, 32, epsilon=4.0), 5 * 10**3),
}


def check_coverage(decoded: Decoded, p: Array) -> None:
    R, present = len(decoded.estimate), p > 0
    shares = coverage(decoded.intervals(), p)
    slack = 4 * error(ALPHA, R * present.sum())  # candidates are nearly independent
    assert 0.94 - slack < shares[present].mean() < 0.965 + slack
    assert near(shares[present], 1 - ALPHA, R), shares[present]
    assert 0.94 < shares[~present].mean() < 0.965
    cut = coverage(intervals.clip_unit(decoded.intervals()), p)[~present].mean()
    assert 0.965 < cut < 0.99
    halved = coverage(intervals.wald(decoded.estimate, decoded.se / 2), p)
    assert halved[present].max() < 0.9  # control


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75), 20_000),
        (ldp.ORR(256, 16, epsilon=4.0), 5_000),
    ],
    ids=str,
)
def test_errors_and_coverage_of_small_lists(mechanism: Any, n: int) -> None:
    surveys = Surveys(mechanism, zipf(15, 60), n, [1, n])
    decoded = surveys.simulate(1000)
    check_errors(decoded, surveys.p > 0)
    check_coverage(decoded, surveys.p)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_errors_and_coverage(name: str, replications: Callable[..., int]) -> None:
    """50 present and 450 absent candidates."""
    surveys = Surveys(SETTINGS[name][0], zipf(50, 450), SETTINGS[name][1], [5, len(name)])
    decoded = surveys.simulate(replications(1000))
    check_errors(decoded, surveys.p > 0)
    check_coverage(decoded, surveys.p)


@pytest.mark.parametrize(("reports", "factor"), [(98, 1.4), (20, 2.0)])
def test_normal_tails_are_short_where_labels_are_reported_rarely(
    reports: int, factor: float
) -> None:
    """Control: at one in a thousand, and beyond, absent candidates need the skewness."""
    mechanism, n = ldp.ORR(64, 16, epsilon=3.0), 64 * reports
    surveys = Surveys(mechanism, zipf(10, 50), n, [3, reports])
    decoded, absent = surveys.simulate(4000), surveys.p == 0
    level = 1e-3
    # 200,000 statistics, nearly independent: the standard error is a factor .07
    assert (decoded.normal_pvalues()[:, absent] < level).mean() > factor * level
    assert abs((decoded.pvalues()[:, absent] < level).mean() / level - 1) < 0.3
    skewness = stats.skew(decoded.estimate[:, absent], axis=0).mean()
    # every candidate has a standard error of .04 or less, and they share one law
    assert abs(decoded.null[1][:, absent].mean() / skewness - 1) < 0.1


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75),
        ldp.ORR(64, 16, epsilon=3.0),
        ldp.ORAPPOR(64, 1, 8, epsilon=3.0),
    ],
    ids=str,
)
def test_users_get_what_is_simulated(mechanism: Any) -> None:
    for seed in range(5):
        surveys = Surveys(mechanism, zipf(10, 30), 5000, [4, seed])
        source = surveys.source
        right = source.design.adjoint(source.weights * source.moved)
        ours = surveys.decode(right[None, :])
        results = ldp.FrequencyModel(surveys.counts, candidates=surveys.names).fit()
        if results.dispersion > 1.0:  # one survey in a hundred
            continue
        same = {"rtol": 1e-8, "atol": 1e-12}
        np.testing.assert_allclose(results.params, ours.estimate[0], **same)
        np.testing.assert_allclose(results.linear_bse, ours.se[0], **same)
        np.testing.assert_allclose(results.presence_pvalues(), ours.pvalues()[0], **same)
        np.testing.assert_allclose(results.conf_int(clip=False), ours.intervals()[0], **same)


def fitted_surveys(mechanism: Any, n: int, R: int, seed: int) -> None:
    """Errors and coverage once more, by `Mechanism.draw` and `fit`, with new strings each time."""
    rng, p = np.random.default_rng(seed), zipf(10, 30)

    def survey(r: int) -> dict[str, Any]:
        names = [f"{seed}/{r}/{i}" for i in range(p.size)]
        counts = mechanism.draw(p, n, rng, names)
        results = ldp.FrequencyModel(counts, candidates=names).fit()
        false = results.detected().isin(names[10:]).any()
        return {"false": false, "ends": results.conf_int(clip=False)}

    found = repeat(R, survey)
    assert at_most(found["false"].mean(), ALPHA, R)
    assert near(coverage(found["ends"], p).mean(), 1 - ALPHA, R * p.size)


@pytest.mark.parametrize(
    "mechanism", [ldp.ORR(64, 16, epsilon=3.0), ldp.RAPPOR(32, 2, 8, f=0.0, p=0.2, q=0.8)]
)
def test_fits_one_by_one(mechanism: Any) -> None:
    fitted_surveys(mechanism, 3000, R=150, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", [ldp.ORR(64, 16, epsilon=3.0), ldp.RAPPOR(32, 2, 8, f=0.0, p=0.2, q=0.8)]
)
def test_many_fits_one_by_one(mechanism: Any, replications: Callable[..., int]) -> None:
    fitted_surveys(mechanism, 3000, R=replications(1000), seed=6)
