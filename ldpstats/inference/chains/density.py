"""What a sampler needs to know of a posterior: its logarithm and gradient without constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LogDensity", "floored_eigen", "maximum"]

Array = npt.NDArray[Any]

FLOOR = 1e-3  # of the eigenvalues of a curvature: a floor of .05 halves effective sizes at k = 50
_LARGEST_STEP = 2.0  # of a coordinate
_HALVINGS = np.array([1.0]), 0.5 ** np.arange(1, 30)


class LogDensity(ABC):
    """A log posterior over unconstrained coordinates z of shape (d,), up to a constant.

    Every method is a function of arrays; `evaluate` takes the points of several chains together.
    The density is that of z, so the Jacobian of the map from z to what is reported is included.
    """

    size: int  # number of coordinates d

    @abstractmethod
    def evaluate(self, z: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and gradients, shape (c, d), at the points z of shape (c, d).

        A value may be -inf (or nan) where the density vanishes: the sampler then rejects the point.
        """

    @abstractmethod
    def mode(self) -> Array:
        """A maximum of the density of z, shape (d,): where chains start (see `maximum`)."""

    @abstractmethod
    def curvature(self, z: Array) -> Array:
        """The negative Hessian at z of shape (d,): a (d, d) array, the Laplace metric."""

    @abstractmethod
    def constrained(self, z: Array) -> Array:
        """What is reported, shape (..., m), at points z of shape (..., d)."""


def floored_eigen(curvature: Array) -> tuple[Array, Array]:
    """Eigenvalues, (d,), of at least .001 and eigenvectors, (d, d) in columns, of a curvature."""
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
    return np.maximum(values, FLOOR), vectors


def maximum(density: LogDensity, start: Array, tol: float = 1e-10, max_iter: int = 200) -> Array:
    """Climb to a maximum of a log density by Newton's method, shape (d,).

    Where the curvature is not positive definite its eigenvalues count by their size, at least .001.
    No coordinate moves by more than 2 in a step, and steps are halved until the density rises. It
    ends where a step promises less than `tol` nats, or no step rises any more.

    Parameters
    ----------
    density : LogDensity
    start : array, shape (d,)
    tol : float
        In nats.
    max_iter : int

    Examples
    --------
    >>> class Normal(LogDensity):
    ...     size = 2
    ...     def evaluate(self, z): return -0.5 * ((z - 3.0) ** 2).sum(axis=-1), 3.0 - z
    ...     def mode(self): return maximum(self, np.zeros(2))
    ...     def curvature(self, z): return np.eye(2)
    ...     def constrained(self, z): return z
    >>> Normal().mode()
    array([3., 3.])
    """
    z = np.array(start, dtype=np.float64)
    values, gradients = density.evaluate(z[None])
    for _ in range(max_iter):
        step = _newton_step(density.curvature(z), gradients[0])
        gain = 0.5 * float(step @ gradients[0])
        if gain <= tol:
            break
        step *= min(1.0, _LARGEST_STEP / float(np.abs(step).max()))
        for halvings in _HALVINGS:  # several in one evaluation, and seldom more than the first
            tries = z + step * halvings[:, None]
            found, slopes = density.evaluate(tries)
            rises = found >= values[0] + 2e-4 * halvings * float(step @ gradients[0])
            if rises.any():
                break
        else:
            break
        best = int(np.argmax(rises))
        z, values, gradients = tries[best], found[best : best + 1], slopes[best : best + 1]
    return z


def _newton_step(curvature: Array, gradient: Array) -> Array:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(curvature), gradient))
    except LinAlgError:
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
        curved = np.maximum(np.abs(values), FLOOR)
        return np.asarray(vectors @ ((gradient @ vectors) / curved))
