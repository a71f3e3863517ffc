"""Linear predictors of n respondents as functions of the parameters.

The parameters are those of each predictor in turn ("separate"), or common slopes and thresholds
("parallel"), or slopes and the logarithm of a standard deviation ("scaled").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.outcomes import Normal, Ordered, Outcome

__all__ = ["Parallel", "Predictors", "Scaled", "Separate", "predictors_of"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Predictors(ABC):
    """Predictors eta, shape (n, q), of parameters theta, shape (size,).

    Parameters
    ----------
    X : array, shape (n, p)
    q : int
        Number of predictors of a respondent.
    offset : array, shape (n,), optional
        Added to the predictors of the slopes.
    """

    X: Array
    q: int
    offset: Array | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def p(self) -> int:
        """Number of covariates."""
        return int(self.X.shape[1])

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of parameters."""

    def take(self, rows: Any) -> Self:
        """The same of some rows."""
        offset = None if self.offset is None else self.offset[rows]
        return replace(self, X=self.X[rows], offset=offset)

    def stretch(self, theta: Array) -> tuple[float, Array]:
        """Log of the volume that a unit of parameters has in linear ones, and its derivative."""
        return 0.0, np.zeros(self.size)

    def _shifted(self, linear: Array) -> Array:
        return linear if self.offset is None else linear + self.offset[:, None]

    @abstractmethod
    def eta(self, theta: Array) -> Array:
        """The predictors, shape (n, q)."""

    @abstractmethod
    def adjoint(self, theta: Array, G: Array) -> Array:
        """Sum over rows of derivative times G, shape (n, q) -> (size,)."""

    @abstractmethod
    def etas(self, thetas: Array) -> Array:
        """The predictors at c parameter vectors, shape (c, size) -> (c, n, q)."""

    @abstractmethod
    def adjoints(self, thetas: Array, G: Array) -> Array:
        """`adjoint` at c parameter vectors, G (c, n, q) -> (c, size)."""

    @abstractmethod
    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        """Second derivative of what has derivatives G, (n, q), and W, (n, q, q), by eta."""

    @abstractmethod
    def rows(self, theta: Array, G: Array) -> Array:
        """Derivative of each row's predictors times G, shape (n, size)."""

    @abstractmethod
    def quadratic(self, theta: Array, V: Array) -> Array:
        """``D_i V D_i'`` for the derivative D_i of each row, (size, size) -> (n, q, q)."""


@dataclass(frozen=True, eq=False)
class Separate(Predictors):
    """Coefficients of their own for each predictor, one predictor after the other."""

    @property
    def size(self) -> int:
        return self.q * self.p

    def eta(self, theta: Array) -> Array:
        return self._shifted(self.X @ theta.reshape(self.q, self.p).T)

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.asarray((G.T @ self.X).ravel())

    def etas(self, thetas: Array) -> Array:
        found = (thetas.reshape(-1, self.p) @ self.X.T).reshape(len(thetas), self.q, self.n)
        found = found.transpose(0, 2, 1)
        return found if self.offset is None else found + self.offset[:, None]

    def adjoints(self, thetas: Array, G: Array) -> Array:
        each = G.transpose(0, 2, 1).reshape(-1, self.n) @ self.X
        return np.asarray(each.reshape(len(thetas), self.size))

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        if self.q == 1:
            return np.asarray((self.X * W[:, 0]).T @ self.X)
        p, found = self.p, np.empty((self.size, self.size))
        for a in range(self.q):
            # the blocks from the diagonal on
            weighted = (W[:, a, a:, None] * self.X[:, None, :]).reshape(self.n, -1)
            found[a * p : (a + 1) * p, a * p :] = self.X.T @ weighted
            found[a * p :, a * p : (a + 1) * p] = found[a * p : (a + 1) * p, a * p :].T
        return found

    def rows(self, theta: Array, G: Array) -> Array:
        return np.asarray((G[:, :, None] * self.X[:, None, :]).reshape(self.n, self.size))

    def quadratic(self, theta: Array, V: Array) -> Array:
        q, p = self.q, self.p
        if q == 1:
            return np.asarray(np.einsum("np,np->n", self.X @ V, self.X)[:, None, None])
        product = (self.X @ V.reshape(q, p, q * p).transpose(1, 0, 2).reshape(p, -1)).reshape(
            self.n, q, q, p
        )
        return np.asarray(np.einsum("nabp,np->nab", product, self.X))


@dataclass(frozen=True, eq=False)
class Parallel(Predictors):
    """Slopes beta and thresholds alpha, ``eta_a = alpha_a - x'beta``.

    The parameters are beta, alpha_1 and log(alpha_a - alpha_(a-1)), which may have any values.
    """

    @property
    def size(self) -> int:
        return self.p + self.q

    def thresholds(self, theta: Array) -> Array:
        """alpha, shape (q,)."""
        with np.errstate(over="ignore"):
            return np.cumsum(np.append(theta[self.p], np.exp(theta[self.p + 1 :])))

    def stretch(self, theta: Array) -> tuple[float, Array]:
        found = np.zeros(self.size)
        found[self.p + 1 :] = 1.0
        return float(theta[self.p + 1 :].sum()), found

    def _growth(self, theta: Array) -> Array:
        """Derivatives of alpha, (q, q)."""
        # larger ones are far beyond all probabilities, and infinite ones have no product with zero
        each = np.append(1.0, np.exp(np.minimum(theta[self.p + 1 :], 300.0)))
        return np.asarray(np.tri(self.q) * each)

    def eta(self, theta: Array) -> Array:
        linear = self.X @ theta[: self.p]
        if self.offset is not None:
            linear = linear + self.offset
        return np.asarray(self.thresholds(theta) - linear[:, None])

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.append(-(self.X.T @ G.sum(axis=1)), G.sum(axis=0) @ self._growth(theta))

    def etas(self, thetas: Array) -> Array:
        linear = thetas[:, : self.p] @ self.X.T
        if self.offset is not None:
            linear = linear + self.offset
        with np.errstate(over="ignore"):
            steps = np.exp(thetas[:, self.p + 1 :])
        cuts = np.cumsum(np.column_stack([thetas[:, self.p], steps]), axis=1)
        return np.asarray(cuts[:, None, :] - linear[:, :, None])

    def adjoints(self, thetas: Array, G: Array) -> Array:
        slopes = -(G.sum(axis=2) @ self.X)
        above = G.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]  # a step raises all cuts above
        above[:, 1:] *= np.exp(np.minimum(thetas[:, self.p + 1 :], 300.0))
        return np.hstack([slopes, above])

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        p, growth = self.p, self._growth(theta)
        found = np.empty((self.size, self.size))
        beside = W.sum(axis=2)
        found[:p, :p] = (self.X * beside.sum(axis=1)[:, None]).T @ self.X
        found[:p, p:] = -(self.X.T @ beside) @ growth
        found[p:, :p] = found[:p, p:].T
        found[p:, p:] = growth.T @ W.sum(axis=0) @ growth
        bend = G.sum(axis=0) @ growth  # each increment is an exponential
        at = np.arange(p + 1, self.size)
        found[at, at] += bend[1:]
        return found

    def rows(self, theta: Array, G: Array) -> Array:
        return np.hstack([-G.sum(axis=1)[:, None] * self.X, G @ self._growth(theta)])

    def quadratic(self, theta: Array, V: Array) -> Array:
        p, growth = self.p, self._growth(theta)
        slopes = np.einsum("np,np->n", self.X @ V[:p, :p], self.X)
        cross = -(self.X @ V[:p, p:]) @ growth.T
        return np.asarray(
            slopes[:, None, None]
            + cross[:, :, None]
            + cross[:, None, :]
            + growth @ V[p:, p:] @ growth.T
        )


@dataclass(frozen=True, eq=False)
class Scaled(Predictors):
    """Slopes of the first predictor; the second is a parameter itself, the last."""

    @property
    def size(self) -> int:
        return self.p + 1

    def eta(self, theta: Array) -> Array:
        linear = self._shifted((self.X @ theta[:-1])[:, None])[:, 0]
        return np.column_stack([linear, np.full(self.n, theta[-1])])

    def adjoint(self, theta: Array, G: Array) -> Array:
        return np.append(self.X.T @ G[:, 0], G[:, 1].sum())

    def etas(self, thetas: Array) -> Array:
        linear = thetas[:, :-1] @ self.X.T
        if self.offset is not None:
            linear = linear + self.offset
        return np.stack(np.broadcast_arrays(linear, thetas[:, -1:]), axis=2)

    def adjoints(self, thetas: Array, G: Array) -> Array:
        return np.column_stack([G[:, :, 0] @ self.X, G[:, :, 1].sum(axis=1)])

    def hessian(self, theta: Array, W: Array, G: Array) -> Array:
        p, found = self.p, np.empty((self.size, self.size))
        found[:p, :p] = (self.X * W[:, 0, 0][:, None]).T @ self.X
        found[:p, p] = found[p, :p] = self.X.T @ W[:, 0, 1]
        found[p, p] = W[:, 1, 1].sum()
        return found

    def rows(self, theta: Array, G: Array) -> Array:
        return np.hstack([G[:, :1] * self.X, G[:, 1:]])

    def quadratic(self, theta: Array, V: Array) -> Array:
        p, found = self.p, np.empty((self.n, 2, 2))
        found[:, 0, 0] = np.einsum("np,np->n", self.X @ V[:p, :p], self.X)
        found[:, 0, 1] = found[:, 1, 0] = self.X @ V[:p, p]
        found[:, 1, 1] = V[p, p]
        return found


def predictors_of(outcome: Outcome, X: Array, offset: Array | None = None) -> Predictors:
    """The linear predictors that an outcome has."""
    if isinstance(outcome, Ordered):
        return Parallel(X, outcome.q, offset)
    if isinstance(outcome, Normal):
        return Scaled(X, outcome.q, offset)
    return Separate(X, outcome.q, offset)
