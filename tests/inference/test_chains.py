"""Chains: known laws, the same for the same seed; R-hat and effective sizes; ArviZ."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ldpstats import InvalidArgument
from ldpstats.inference.chains import (
    LogDensity,
    ess_bulk,
    ess_mean,
    ess_tail,
    maximum,
    rhat,
    sample,
)

Array = npt.NDArray[Any]


class Normal(LogDensity):
    """A normal law."""

    def __init__(self, mean: Array, covariance: Array) -> None:
        self.mean, self.precision = mean, np.linalg.inv(covariance)
        self.size = mean.size

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        slope = (self.mean - z) @ self.precision
        return 0.5 * ((z - self.mean) * slope).sum(axis=1), slope

    def mode(self) -> Array:
        return maximum(self, np.zeros(self.size))

    def curvature(self, z: Array) -> Array:
        return self.precision

    def constrained(self, z: Array) -> Array:
        return z


class LogGamma(LogDensity):
    """log x of a gamma law: steep on one side, a long tail on the other."""

    def __init__(self, shape: float) -> None:
        self.size, self.shape = 1, shape

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        return (self.shape * z - np.exp(z))[:, 0], self.shape - np.exp(z)

    def mode(self) -> Array:
        return maximum(self, np.array([-3.0]))

    def curvature(self, z: Array) -> Array:
        return np.diag(np.exp(z))

    def constrained(self, z: Array) -> Array:
        return np.exp(z)


class Cliff(LogGamma):
    """The same beyond a cliff that its mode does not show."""

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        value, slope = super().evaluate(z)
        beyond = z[:, 0] > 0.5
        return np.where(beyond, value - 1e5 * (z[:, 0] - 0.5), value), slope


COVARIANCE = np.array([[1.0, 0.95, 0.0], [0.95, 1.0, 0.3], [0.0, 0.3, 25.0]])


def test_a_correlated_normal_law():
    law = Normal(np.array([1.0, -2.0, 100.0]), COVARIANCE)
    z = sample(law, np.random.default_rng(1), 4000).z
    assert z.shape == (16, 250, 3)
    se = np.sqrt(np.diag(COVARIANCE) / ess_mean(z))
    assert (np.abs(z.mean(axis=(0, 1)) - law.mean) < 4.0 * se).all()
    np.testing.assert_allclose(np.cov(z.reshape(-1, 3).T), COVARIANCE, atol=0.1, rtol=0.12)


@pytest.mark.parametrize("shape", [0.5, 5.0])
def test_a_skew_law(shape):
    chains = sample(LogGamma(shape), np.random.default_rng(2), 4000)
    x = np.exp(chains.z[:, :, 0])
    for values, mean in ((x, shape), (x * x, shape * (shape + 1.0))):
        assert abs(values.mean() - mean) < 4.0 * values.std() / np.sqrt(ess_mean(values))
    assert chains.divergent == 0 and 0.6 < chains.accepted < 1.0


def test_the_same_seed_gives_the_same_draws_byte_for_byte():
    law = LogGamma(2.0)
    first, again, other = (sample(law, np.random.default_rng(seed), 160).z for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_dependent_draws_are_thinned_up_to_the_longest():
    skew = LogGamma(0.02)  # a tail of 50 standard deviations
    assert sample(skew, np.random.default_rng(1), 320, longest=1).thin == 1
    assert sample(skew, np.random.default_rng(1), 320, longest=4).thin == 4


def test_divergences_are_counted_where_smaller_steps_do_not_help():
    chains = sample(Cliff(2.0), np.random.default_rng(1), 320, longest=1)
    assert chains.divergent > 0
    assert np.isfinite(chains.z).all()


def test_points_without_a_density_are_rejected():
    class Half(LogGamma):
        def evaluate(self, z: Array) -> tuple[Array, Array]:
            value, slope = super().evaluate(z)
            return np.where(z[:, 0] > 0.0, np.nan, value), slope

    chains = sample(Half(0.5), np.random.default_rng(1), 320, longest=1)
    assert np.isfinite(chains.z).all() and (chains.z <= 0.0).all()
    assert np.ptp(chains.z) > 3.0


def test_maximum_from_where_the_density_is_not_concave():
    class Cauchy(Normal):
        def evaluate(self, z: Array) -> tuple[Array, Array]:
            square = 1.0 + (z * z).sum(axis=1)
            return -np.log(square), -2.0 * z / square[:, None]

        def curvature(self, z: Array) -> Array:
            square = 1.0 + z @ z
            return 2.0 * np.eye(2) / square - 4.0 * np.outer(z, z) / square**2

    found = maximum(Cauchy(np.zeros(2), np.eye(2)), np.array([30.0, -7.0]))
    np.testing.assert_allclose(found, 0.0, atol=1e-4)


# -- diagnostics -----------------------------------------------------------------------------------


def autoregressive(phi: float, chains: int, n: int, seed: int = 1) -> Array:
    """Stationary AR(1) chains, shape (chains, n)."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((chains, n))
    x = np.empty((chains, n))
    x[:, 0] = noise[:, 0] / np.sqrt(1.0 - phi * phi)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.3, 0.8])
def test_effective_size_of_known_autocorrelation(phi):
    """The size is n (1 - phi) / (1 + phi); estimates of 16 chains have errors of some percent."""
    x = np.stack([autoregressive(phi, 16, 1000, seed) for seed in range(4)], axis=2)
    expected = 16_000 * (1.0 - phi) / (1.0 + phi)
    assert ess_mean(x).mean() == pytest.approx(expected, rel=0.1)
    assert ess_bulk(x).mean() == pytest.approx(expected, rel=0.1)
    assert not ess_mean(x).mean() == pytest.approx(expected * 1.3, rel=0.1)


def test_monotone_maps_leave_bulk_size_and_rhat():
    x = autoregressive(0.5, 4, 400)
    np.testing.assert_allclose(ess_bulk(np.exp(3.0 * x)), ess_bulk(x), rtol=1e-12)
    np.testing.assert_allclose(ess_tail(np.exp(3.0 * x)), ess_tail(x), rtol=1e-12)


def test_rhat_finds_chains_of_other_location_and_of_other_spread():
    x = np.random.default_rng(1).normal(size=(4, 500))
    assert rhat(x) < 1.01
    moved, wide = x.copy(), x.copy()
    moved[0] += 1.0
    wide[0] *= 4.0
    assert rhat(moved) > 1.05 and rhat(wide) > 1.05
    trend = x + np.linspace(0.0, 3.0, 500)  # every chain alike: only its halves differ
    assert rhat(trend) > 1.2


def test_many_quantities_at_once_are_those_alone():
    x = np.stack([autoregressive(phi, 4, 300) for phi in (0.0, 0.5, 0.9)], axis=2)
    for measure in (rhat, ess_bulk, ess_tail, ess_mean):
        alone = [float(measure(x[:, :, j])) for j in range(3)]
        np.testing.assert_allclose(measure(x), alone, rtol=1e-12)


def test_a_constant_is_worth_all_its_draws():
    x = np.ones((4, 100))
    assert ess_bulk(x) == ess_tail(x) == 400.0
    assert np.isnan(rhat(x))


@pytest.mark.parametrize(
    "bad", [None, "text", [1.0, 2.0], np.ones((4, 3)), np.full((4, 9), np.nan), np.ones((0, 9))]
)
def test_bad_draws_are_refused(bad):
    for measure in (rhat, ess_bulk, ess_tail, ess_mean):
        with pytest.raises(InvalidArgument, match="draws"):
            measure(bad)


@pytest.mark.parametrize(("chains", "n"), [(4, 500), (16, 250), (3, 101)])
def test_diagnostics_are_those_of_arviz(chains, n):
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    for phi in (-0.4, 0.0, 0.6, 0.95):
        x = np.exp(autoregressive(phi, chains, n))
        ours = [float(f(x)) for f in (rhat, ess_bulk, ess_tail, ess_mean)]
        theirs = [float(arviz.rhat(x))]
        theirs += [float(arviz.ess(x, method=how)) for how in ("bulk", "tail", "mean")]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
