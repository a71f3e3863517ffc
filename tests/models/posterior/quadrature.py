"""Posterior moments of two or three frequencies by numerical integration over log ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.priors.base import LogitLaw
from ldpstats.priors.dirichlet import DirichletLaw
from ldpstats.priors.logistic_normal import LogisticNormalLaw

Array = npt.NDArray[Any]


def prior_log_density(prior: LogitLaw, eta: Array) -> Array:
    """Log density of log ratios, written down again."""
    logp = eta - np.log(np.exp(eta - eta.max(-1, keepdims=True)).sum(-1, keepdims=True))
    logp -= eta.max(-1, keepdims=True)
    if isinstance(prior, DirichletLaw):
        return np.asarray(logp @ prior.alpha)
    assert isinstance(prior, LogisticNormalLaw)
    k = eta.shape[-1]
    D = np.hstack([np.eye(k - 1), -np.ones((k - 1, 1))])
    gap = eta @ D.T - D @ prior.mean
    inverse = np.linalg.inv(D @ prior.covariance @ D.T)
    return np.asarray(-0.5 * np.einsum("...i,ij,...j->...", gap, inverse, gap))


def quadrature(
    groups: list[tuple[Array, Array]], prior: LogitLaw, points: int = 400
) -> tuple[Array, Array]:
    """Points p, (g, k), and their weights, (g,), of the posterior given channels and counts."""
    k = prior.k

    # ratios to the first category: to a rare one, all of them move together, between grid points
    def log_density(z: list[Array]) -> tuple[Array, Array]:
        grid = np.meshgrid(*z, indexing="ij")
        eta = np.stack([np.zeros(grid[0].size), *(g.ravel() for g in grid)], axis=-1)
        shifted = np.exp(eta - eta.max(-1, keepdims=True))
        p = shifted / shifted.sum(-1, keepdims=True)
        value = prior_log_density(prior, eta)
        for Q, n in groups:
            value = value + np.log(p @ Q[:, n > 0]) @ n[n > 0]
        return p, value

    ends = [(-90.0, 90.0)] * (k - 1)
    for _ in range(5):  # zoom in on where the posterior is
        z = [np.linspace(low, high, 161 if k == 3 else 2001) for low, high in ends]
        value = log_density(z)[1].reshape([axis.size for axis in z])
        near = np.argwhere(value > value.max() - 35.0)
        step = [axis[1] - axis[0] for axis in z]
        ends = [
            (z[i][near[:, i].min()] - step[i], z[i][near[:, i].max()] + step[i])
            for i in range(k - 1)
        ]
    z = [np.linspace(low, high, points if k == 3 else 20_001) for low, high in ends]
    p, value = log_density(z)
    weights = np.exp(value - value.max())
    return p, weights / weights.sum()
