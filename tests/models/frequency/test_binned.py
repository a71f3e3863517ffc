"""Numbers in bins: coverage of means, distribution functions, quantiles; gains by smoothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from simulate import at_least, near, repeat

import ldpstats as ldp
from ldpstats.models.frequency import answers as ordered

Array = Any
N = 5000
AT = (0.1, 0.5, 0.9)  # the distribution function is tested where it has these values


def smooth(k: int) -> Array:
    p = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, k + 1)))
    return p / p.sum()


def spiked(k: int) -> Array:
    """Two humps, a tenth of all in one bin, and bins that nobody is in."""
    u = np.linspace(0, 1, k + 1)
    p = 0.7 * np.diff(stats.norm(0.25, 0.05).cdf(u)) + 0.3 * np.diff(stats.norm(0.8, 0.04).cdf(u))
    p[k // 2] += 0.1
    p[p < 1e-4] = 0.0
    return p / p.sum()


MECHANISMS: dict[str, Callable[[int, float], ldp.Mechanism]] = {
    "square": lambda k, epsilon: ldp.SquareWave(np.arange(k + 1) / k, epsilon),
    "geometric": ldp.GeometricResponse,
}


def scores(mechanism: ldp.Mechanism) -> Array:
    return (np.arange(mechanism.k) + 0.5) / mechanism.k


def survey(mechanism: ldp.Mechanism, p: Array, seed: int) -> dict[str, Any]:
    """Whether intervals hold the truth, and the mean with its standard error."""
    rng, F = np.random.default_rng(seed), np.cumsum(p)
    results = ldp.FrequencyModel(mechanism.draw(p, N, rng)).fit_quietly("inversion")
    mean, truth = results.mean(scores(mechanism)), scores(mechanism) @ p
    sums = ordered.cumulative_sums(results, results.answers)
    inside = []
    for q in AT:
        x = int(np.searchsorted(F, q))
        low, high = sums[x].interval(0.05)
        inside.append(low <= F[x] <= high)
    median = int(np.searchsorted(F, 0.5))
    _, low, high = ordered.quantile_bounds(sums, 0.5, 0.05)
    narrow = mean["estimate"] + 0.5 * np.array([-1.96, 1.96]) * mean["se"]  # the control
    return {
        "mean": mean["lower"] <= truth <= mean["upper"],
        "control": narrow[0] <= truth <= narrow[1],
        "function": inside,
        "median": low <= median <= high,
        "estimate": mean["estimate"],
        "se": mean["se"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "epsilon", "k", "truth"),
    [("square", 1.0, 16, smooth), ("square", 2.0, 64, spiked), ("geometric", 1.0, 16, spiked)],
)
def test_coverage(
    kind: str,
    epsilon: float,
    k: int,
    truth: Callable[[int], Array],
    replications: Callable[..., int],
) -> None:
    """Means and functions cover 95 %, medians at least; 4 Monte Carlo standard errors.

    Under geometric noise single values of the function are estimated with errors beyond one, so
    that their intervals are [0, 1] or nearly, and cover more often.
    """
    R, p = replications(400, least=60), truth(k)  # .1 CPU seconds each
    mechanism = MECHANISMS[kind](k, epsilon)
    said = repeat(R, lambda r: survey(mechanism, p, r))
    assert near(said["mean"].mean(), 0.95, R)
    assert at_least(said["function"].mean(axis=0), 0.95, R)
    if kind == "square":  # whose errors are smaller than one: intervals are rarely cut
        assert near(said["function"].mean(axis=0), 0.95, R)
    assert at_least(said["median"].mean(), 0.95, R)
    assert not near(said["control"].mean(), 0.95, R)  # half as wide: 67 %
    error = said["estimate"].mean() - scores(mechanism) @ p
    assert abs(error) < 4 * said["se"].mean() / np.sqrt(R)
    assert abs(said["estimate"].std() / said["se"].mean() - 1) < 4 / np.sqrt(2 * R)


def mean_error(mechanism: ldp.Mechanism, p: Array) -> float:
    """Standard error of the mean of one respondent's score, exact."""
    V = mechanism.moments(mechanism.specimen()).covariance(p)
    return float(np.sqrt(V.transform(scores(mechanism)[None])[0, 0]))


@pytest.mark.parametrize(("k", "epsilon", "factor"), [(16, 2.0, 2.0), (64, 1.0, 10.0)])
def test_means_are_much_better_than_those_of_krr(k: int, epsilon: float, factor: float) -> None:
    p = smooth(k)
    square, krr = MECHANISMS["square"](k, epsilon), ldp.KRR(k, epsilon)
    assert mean_error(krr, p) > factor * mean_error(square, p)
    geometric = mean_error(ldp.GeometricResponse(k, epsilon), p)
    assert mean_error(square, p) < geometric < 1.35 * mean_error(square, p)


@pytest.mark.parametrize(("truth", "gain"), [(smooth, 3.0), (spiked, 1.5)])
def test_smoothing_brings_estimates_nearer(truth: Callable[[int], Array], gain: float) -> None:
    # total variation of three surveys; the measured gains are 11 and 2.2
    p, mechanism = truth(64), MECHANISMS["square"](64, 1.0)
    far: dict[str, list[float]] = {"smoothed": [], "mle": []}
    for seed in range(3):
        counts = mechanism.draw(p, 20_000, np.random.default_rng(seed))
        for method, distances in far.items():
            params = ldp.FrequencyModel(counts).fit_quietly(method).params
            distances.append(0.5 * float(np.abs(params - p).sum()))
    assert np.mean(far["mle"]) > gain * np.mean(far["smoothed"])


def test_bins_are_drawn_in_their_order() -> None:
    rng = np.random.default_rng(8)
    square = ldp.SquareWave([0, 10, 20, 30], 1.0)
    results = ldp.FrequencyModel(square.draw([0.2, 0.7, 0.1], 20_000, rng)).fit()
    drawn = [[t.get_text() for t in results.plot(sort=s).get_yticklabels()] for s in (None, True)]
    assert drawn[0] == list(square.categories) and drawn[1][0] == "[10, 20)"
