"""Whether a prior is so wide that the chains have missed a part of the posterior."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import PosteriorWarning
from ldpstats.models.posterior.densities.regression import RegressionDensity

__all__ = ["share_beyond", "warn_of_wide_priors"]

Array = npt.NDArray[Any]

_DRAWS = 1000  # from the prior
_BLOCK = 100
_MUCH = 0.01
_FAR = 2.0  # times as far from the mode as the farthest draw: no mere tail


def share_beyond(density: RegressionDensity, z: Array, prior_draws: Array) -> float:
    """About the share of a posterior that lies where no draw of the chains is.

    Every report has a positive probability whatever the answer, so that the likelihood of
    privatised answers does not vanish far out: a prior that is wide enough has most of its
    posterior there. The mean likelihood of draws from the prior that are twice as far out as
    all draws of the chains, over its sum with Laplace's approximation of the evidence at the mode.

    Parameters
    ----------
    density : RegressionDensity
    z : array, shape (c, n, d)
        Draws of the chains.
    prior_draws : array, shape (s, d)
        Parameters; at most 1,000 are used.
    """
    mode = density.mode()
    root = np.linalg.cholesky(density.curvature(mode))
    top = float(density.evaluate(mode[None])[0][0]) + density.prior.log_scale
    d = density.size
    near = top + 0.5 * d * np.log(2.0 * np.pi) - float(np.log(np.diagonal(root)).sum())
    near += float(np.linalg.slogdet(density.units)[1])
    some = np.linalg.solve(density.units, prior_draws[:_DRAWS].T).T
    reach = (((z.reshape(-1, d) - mode) @ root) ** 2).sum(axis=1).max()
    far = some[(((some - mode) @ root) ** 2).sum(axis=1) > _FAR**2 * reach]
    if not len(far):
        return 0.0
    values = np.concatenate([_logs(density, part) for part in _blocks(far)])
    there = values[np.isfinite(values)]
    if not there.size:
        return 0.0
    most = float(there.max())
    beyond = most + float(np.log(np.exp(there - most).sum() / len(some)))
    return float(1.0 / (1.0 + np.exp(min(near - beyond, 700.0))))


def _blocks(z: Array) -> list[Array]:
    return [z[i : i + _BLOCK] for i in range(0, len(z), _BLOCK)]


def _logs(density: RegressionDensity, z: Array) -> Array:
    """Log-likelihoods at coordinates (m, d)."""
    with np.errstate(all="ignore"):
        return density.evaluate(z)[0] - density.prior.evaluate(density.parameters(z))[0]


def warn_of_wide_priors(density: RegressionDensity, z: Array, prior_draws: Array) -> None:
    """Warn where chains have missed more than a hundredth of the posterior."""
    share = share_beyond(density, z, prior_draws)
    if share > _MUCH:
        warnings.warn(
            f"about {100 * share:.0f}% of the posterior lie farther out than all draws: the "
            "reports do not rule out coefficients of any size, and the prior is so wide that it "
            "has most of its mass there; choose a smaller standard deviation",
            PosteriorWarning,
            stacklevel=4,
        )
