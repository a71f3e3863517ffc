"""Ends of spectra, and inverses of large channels, against all singular values."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.likelihood import moments as equations
from ldpstats.likelihood.covariance import spectral_norm
from ldpstats.likelihood.moments import Equations


@pytest.mark.parametrize(
    "M",
    [
        np.diag([3.0, -5.0, 1.0]),
        np.zeros((4, 4)),
        np.eye(30) + 0.2,
        np.eye(30) - 1.0 / 30.0,
        np.random.default_rng(1).random((70, 50)),
        np.random.default_rng(2).normal(size=(40, 90)),
        np.diag(np.r_[np.full(99, 1.0), 1.0 + 1e-7]),
        np.array([[2.0]]),
    ],
)
def test_largest_singular_value(M: np.ndarray) -> None:
    assert spectral_norm(M) == pytest.approx(np.linalg.norm(M, 2), rel=1e-13, abs=1e-300)


def channel(condition: float, k: int = 60) -> np.ndarray:
    """A stochastic matrix whose smallest singular value is about 1/condition."""
    rng = np.random.default_rng(4)
    Q = rng.dirichlet(np.ones(k), size=k) * 0.2 + 0.8 * np.eye(k)
    Q[1] = Q[0] + (Q[1] - Q[0]) / condition
    return Q


def problems(Q: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[Equations]:
    """The equations of a channel, as if it were large and as it is."""
    made = []
    for least in (1, 512):
        monkeypatch.setattr(equations, "_LARGE", least)
        mechanism = ldp.CustomMechanism(Q)
        problem = mechanism.moments(mechanism.counts(np.arange(1, len(Q) + 1)))
        assert isinstance(problem, Equations)
        assert problem.condition > 1.0 and np.shape(problem.inverse) == Q.shape  # now, and kept
        made.append(problem)
    return made


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e8, 1e12])
def test_large_channels_are_inverted_like_small_ones(
    condition: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = problems(channel(condition), monkeypatch)
    if condition < 1e6:  # beyond that all singular values are computed for both
        assert not np.array_equal(large.inverse, small.inverse)
    assert large.condition == pytest.approx(small.condition, rel=max(1e-12, 1e-14 * condition))
    np.testing.assert_allclose(
        large.inverse, small.inverse, atol=1e-14 * condition * np.abs(small.inverse).max()
    )


@pytest.mark.parametrize("twin", [0, 59])
def test_singular_channels_are_refused_whatever_their_size(
    twin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Q = channel(1.0)
    Q[7] = Q[twin]
    for least in (1, 512):
        monkeypatch.setattr(equations, "_LARGE", least)
        mechanism = ldp.CustomMechanism(Q)
        problem = mechanism.moments(mechanism.counts(np.arange(1, 61)))
        with pytest.raises(ldp.NotIdentified, match="rank 59"):
            problem.estimate()
