"""R-hat and effective sizes: known autocorrelations, ArviZ, and what must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ldpstats.errors import InvalidArgument
from ldpstats.inference.chains.diagnostics import ess_bulk, ess_mean, ess_tail, rhat

Array = npt.NDArray[Any]


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
def test_effective_size_of_known_autocorrelation(phi: float) -> None:
    """The size is n (1 - phi) / (1 + phi); estimates of 16 chains have errors of some percent."""
    x = np.stack([autoregressive(phi, 16, 1000, seed) for seed in range(4)], axis=2)
    expected = 16_000 * (1.0 - phi) / (1.0 + phi)
    assert ess_mean(x).mean() == pytest.approx(expected, rel=0.1)
    assert ess_bulk(x).mean() == pytest.approx(expected, rel=0.1)
    assert not ess_mean(x).mean() == pytest.approx(expected * 1.3, rel=0.1)


def test_monotone_maps_leave_bulk_size_and_rhat() -> None:
    x = autoregressive(0.5, 4, 400)
    np.testing.assert_allclose(ess_bulk(np.exp(3.0 * x)), ess_bulk(x), rtol=1e-12)
    np.testing.assert_allclose(ess_tail(np.exp(3.0 * x)), ess_tail(x), rtol=1e-12)


def test_rhat_finds_chains_of_other_location_and_of_other_spread() -> None:
    x = np.random.default_rng(1).normal(size=(4, 500))
    assert rhat(x) < 1.01
    moved, wide = x.copy(), x.copy()
    moved[0] += 1.0
    wide[0] *= 4.0
    assert rhat(moved) > 1.05 and rhat(wide) > 1.05
    trend = x + np.linspace(0.0, 3.0, 500)  # every chain alike: only its halves differ
    assert rhat(trend) > 1.2


def test_many_quantities_at_once_are_those_alone() -> None:
    x = np.stack([autoregressive(phi, 4, 300) for phi in (0.0, 0.5, 0.9)], axis=2)
    for measure in (rhat, ess_bulk, ess_tail, ess_mean):
        alone = [float(measure(x[:, :, j])) for j in range(3)]
        np.testing.assert_allclose(measure(x), alone, rtol=1e-12)


def test_a_constant_is_worth_all_its_draws() -> None:
    x = np.ones((4, 100))
    assert ess_bulk(x) == ess_tail(x) == 400.0
    assert np.isnan(rhat(x))


@pytest.mark.parametrize(
    "bad", [None, "text", [1.0, 2.0], np.ones((4, 3)), np.full((4, 9), np.nan), np.ones((0, 9))]
)
def test_bad_draws_are_refused(bad: Any) -> None:
    for measure in (rhat, ess_bulk, ess_tail, ess_mean):
        with pytest.raises(InvalidArgument, match="draws"):
            measure(bad)


@pytest.mark.parametrize(("chains", "n"), [(4, 500), (16, 250), (3, 101)])
def test_diagnostics_are_those_of_arviz(chains: int, n: int) -> None:
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    for phi in (-0.4, 0.0, 0.6, 0.95):
        x = np.exp(autoregressive(phi, chains, n))
        ours = [float(f(x)) for f in (rhat, ess_bulk, ess_tail, ess_mean)]
        theirs = [float(arviz.rhat(x))]
        theirs += [float(arviz.ess(x, method=how)) for how in ("bulk", "tail", "mean")]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
