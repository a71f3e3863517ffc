"""Laws of the true outcome given its linear predictors, and what is seen of it.

Of a categorical outcome is seen a report with likelihood A[y] = P(report | true = y), (n, k); the
probability of the report is ``f = sum_y A[y] pi_y(eta)``. Of a number, the number itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LINKS",
    "Binary",
    "Categorical",
    "Multinomial",
    "Normal",
    "Ordered",
    "Outcome",
    "Poisson",
    "Terms",
]

Array = npt.NDArray[Any]

_CLEAR = 1e-4  # likelihood of an answer, relative to the other's, below which a report tells it


@dataclass(frozen=True, eq=False)
class Terms:
    """log f of n rows, and its derivatives by their q linear predictors.

    Parameters
    ----------
    value : array, shape (n,)
    first : array, shape (n, q)
    second : array, shape (n, q, q)
    """

    value: Array
    first: Array
    second: Array


class Outcome(ABC):
    """A law with q linear predictors eta, shape (n, q)."""

    @property
    @abstractmethod
    def q(self) -> int:
        """Number of linear predictors."""

    @abstractmethod
    def logarithm(self, eta: Array, seen: Array) -> Array:
        """log f, shape (n,)."""

    @abstractmethod
    def terms(self, eta: Array, seen: Array) -> Terms:
        """log f and its derivatives."""

    @abstractmethod
    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        """log f and its first derivatives, (..., q) -> (...) and (..., q); `seen` is broadcast."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Probabilities of the categories, shape (n, k), or the mean of a number, (n, 1)."""

    @abstractmethod
    def jacobian(self, eta: Array) -> Array:
        """Derivatives of `mean`, shape (n, k, q)."""

    @abstractmethod
    def curvature(self, eta: Array) -> Array:
        """Second derivatives of `mean`, shape (n, k, q, q)."""

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        """`mean` and `jacobian` together."""
        return self.mean(eta), self.jacobian(eta)

    def bent(self, eta: Array, M: Array) -> Array:
        """Sum over a and y of M[a, y] and `curvature` [y, a, c]; M (n, q, k) -> (n, q)."""
        return np.asarray(np.einsum("nak,nkac->nc", M, self.curvature(eta)))


class Categorical(Outcome):
    """A law of one of k categories."""

    k: int

    def logarithm(self, eta: Array, seen: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.einsum("nk,nk->n", seen, self.mean(eta))))


class _Simple(Categorical):
    """One whose probabilities have simpler derivatives than their logarithms."""

    @abstractmethod
    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        """f, its first derivatives and its second, (n,), (n, q), (n, q, q)."""

    def terms(self, eta: Array, seen: Array) -> Terms:
        f, d, h = self.mixed(eta, seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = d / f[:, None]
            second = h / f[:, None, None] - first[:, :, None] * first[:, None, :]
            return Terms(np.log(f), first, second)


def _logit(eta: Array) -> tuple[Array, Array, Array, Array]:
    from scipy.special import expit

    success, failure = expit(eta), expit(-eta)
    slope = success * failure
    return failure, success, slope, slope * (failure - success)


def _probit(eta: Array) -> tuple[Array, Array, Array, Array]:
    from scipy.special import ndtr

    slope = np.exp(-0.5 * eta**2) / np.sqrt(2.0 * np.pi)
    return ndtr(-eta), ndtr(eta), slope, -eta * slope


def _cloglog(eta: Array) -> tuple[Array, Array, Array, Array]:
    rate = np.exp(np.minimum(eta, 700.0))  # beyond, the probability of failure is zero anyway
    failure = np.exp(-rate)
    slope = rate * failure
    return failure, -np.expm1(-rate), slope, slope * (1.0 - rate)


LINKS = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}


def _logarithmic(f: Array, d: Array) -> tuple[Array, Array]:
    """log f and its derivatives, from those of f."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(f), d / f[..., None]


@dataclass(frozen=True)
class Binary(_Simple):
    """Two categories; the probability of the second, success, is a function of one predictor.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}
    """

    link: str = "logit"
    k: int = field(default=2, init=False)

    @property
    def q(self) -> int:
        return 1

    def mean(self, eta: Array) -> Array:
        failure, success, _, _ = LINKS[self.link](eta[:, 0])
        return np.column_stack([failure, success])

    def jacobian(self, eta: Array) -> Array:
        slope = LINKS[self.link](eta[:, 0])[2]
        return np.column_stack([-slope, slope])[:, :, None]

    def curvature(self, eta: Array) -> Array:
        bend = LINKS[self.link](eta[:, 0])[3]
        return np.column_stack([-bend, bend])[:, :, None, None]

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        failure, success, slope, _ = LINKS[self.link](eta[:, 0])
        mean = np.column_stack([failure, success])
        return mean, np.column_stack([-slope, slope])[:, :, None]

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        gain = seen[..., 1] - seen[..., 0]
        if self.link == "logit" and seen.min() > _CLEAR * seen.max():
            from scipy.special import expit

            # no report tells the answer for sure: one tail has all digits that matter
            success = expit(eta[..., 0])
            f = seen[..., 0] + gain * success
            return _logarithmic(f, (gain * success * (1.0 - success))[..., None])
        failure, success, slope, _ = LINKS[self.link](eta[..., 0])
        f = seen[..., 0] * failure + seen[..., 1] * success
        return _logarithmic(f, (gain * slope)[..., None])

    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        failure, success, slope, bend = LINKS[self.link](eta[:, 0])
        gain = seen[:, 1] - seen[:, 0]
        f = seen[:, 0] * failure + seen[:, 1] * success
        return f, (gain * slope)[:, None], (gain * bend)[:, None, None]


@dataclass(frozen=True)
class Multinomial(Categorical):
    """k categories, the first of them the reference: the multinomial logit."""

    k: int

    @property
    def q(self) -> int:
        return self.k - 1

    def mean(self, eta: Array) -> Array:
        whole = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        whole -= whole.max(axis=-1, keepdims=True)
        np.exp(whole, out=whole)
        whole /= whole.sum(axis=-1, keepdims=True)
        return np.asarray(whole)

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        p = self.mean(eta)
        joint = seen * p
        value, posterior = _logarithmic(joint.sum(axis=-1), joint)
        return value, posterior[..., 1:] - p[..., 1:]

    def jacobian(self, eta: Array) -> Array:
        return self.mean_jacobian(eta)[1]

    def mean_jacobian(self, eta: Array) -> tuple[Array, Array]:
        p = self.mean(eta)
        found = -p[:, :, None] * p[:, None, 1:]
        found[:, range(1, self.k), range(self.q)] += p[:, 1:]
        return p, found

    def bent(self, eta: Array, M: Array) -> Array:
        # of p_y ((1[y=a] - p_a)(1[y=c] - p_c) - (1[a=c] p_a - p_a p_c))
        p = self.mean(eta)
        s, weighted = p[:, 1:], M * p[:, None, :]  # (n, q, k)
        own = np.diagonal(weighted[:, :, 1:], axis1=1, axis2=2)  # y = a
        total = weighted.sum(axis=2)  # over y
        alone = own.sum(axis=1) - (s * total).sum(axis=1)  # (1[y=a] - p_a) over a and y
        pairs = own - (s[:, :, None] * weighted[:, :, 1:]).sum(axis=1)  # and where y = c
        spread = s * total - s * (s * total).sum(axis=1, keepdims=True)
        return np.asarray(pairs - s * alone[:, None] - spread)

    def curvature(self, eta: Array) -> Array:
        p = self.mean(eta)
        own = np.eye(self.k)[:, 1:] - p[:, None, 1:]  # (n, k, q)
        spread = self.spread(p)
        return p[:, :, None, None] * (own[..., :, None] * own[..., None, :] - spread[:, None])

    def spread(self, p: Array) -> Array:
        """Covariance of the indicators of all categories but the reference, (n, q, q)."""
        found = -p[:, 1:, None] * p[:, None, 1:]
        found[:, range(self.q), range(self.q)] += p[:, 1:]
        return found

    def terms(self, eta: Array, seen: Array) -> Terms:
        p = self.mean(eta)
        joint = seen * p
        f = joint.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = joint / f[:, None]
            # differences of the moments of posterior and prior
            second = self.spread(posterior) - self.spread(p)
            return Terms(np.log(f), posterior[:, 1:] - p[:, 1:], second)


@dataclass(frozen=True)
class Ordered(_Simple):
    """k ordered categories, ``P(y <= a) = F(eta_a)`` with F logistic and increasing eta."""

    k: int

    @property
    def q(self) -> int:
        return self.k - 1

    def mean(self, eta: Array) -> Array:
        from scipy.special import expit

        below, above = expit(eta), expit(-eta)
        found = np.empty((*eta.shape[:-1], self.k))
        found[..., 0], found[..., -1] = below[..., 0], above[..., -1]
        # the smaller tail keeps the digits of a difference
        up, down = below[..., 1:] - below[..., :-1], above[..., :-1] - above[..., 1:]
        found[..., 1:-1] = np.where(eta[..., 1:] < 0.0, up, down)
        return found

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        gain = seen[..., :-1] - seen[..., 1:]
        f = (seen * self.mean(eta)).sum(axis=-1)
        return _logarithmic(f, gain * _logit(eta)[2])

    def jacobian(self, eta: Array) -> Array:
        return self._steps(_logit(eta)[2])

    def curvature(self, eta: Array) -> Array:
        found = np.zeros((len(eta), self.k, self.q, self.q))
        found[..., range(self.q), range(self.q)] = self._steps(_logit(eta)[3])
        return found

    def _steps(self, slope: Array) -> Array:
        """Derivatives of the k probabilities where those of F(eta) are `slope`, (n, k, q)."""
        found = np.zeros((len(slope), self.k, self.q))
        found[:, range(self.q), range(self.q)] = slope
        found[:, range(1, self.k), range(self.q)] = -slope
        return found

    def mixed(self, eta: Array, seen: Array) -> tuple[Array, Array, Array]:
        _, _, slope, bend = _logit(eta)
        gain = seen[:, :-1] - seen[:, 1:]
        second = np.zeros((len(eta), self.q, self.q))
        second[:, range(self.q), range(self.q)] = gain * bend
        return np.einsum("nk,nk->n", seen, self.mean(eta)), gain * slope, second


@dataclass(frozen=True)
class Normal(Outcome):
    """A number with a normal law: its mean, and the logarithm of its standard deviation."""

    @property
    def q(self) -> int:
        return 2

    def logarithm(self, eta: Array, seen: Array) -> Array:
        return self.slopes(eta, seen)[0]

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        each = np.exp(-eta[..., 1])
        z = (seen - eta[..., 0]) * each
        value = -0.5 * z**2 - eta[..., 1] - 0.5 * np.log(2.0 * np.pi)
        return value, np.stack([z * each, z**2 - 1.0], axis=-1)

    def terms(self, eta: Array, seen: Array) -> Terms:
        precision = np.exp(-2.0 * eta[:, 1])
        off = seen - eta[:, 0]
        square = off**2 * precision
        second = np.empty((len(eta), 2, 2))
        second[:, 0, 0] = -precision
        second[:, 0, 1] = second[:, 1, 0] = -2.0 * off * precision
        second[:, 1, 1] = -2.0 * square
        first = np.column_stack([off * precision, square - 1.0])
        return Terms(self.logarithm(eta, seen), first, second)

    def mean(self, eta: Array) -> Array:
        return eta[:, :1]

    def jacobian(self, eta: Array) -> Array:
        return np.broadcast_to([[1.0, 0.0]], (len(eta), 1, 2))

    def curvature(self, eta: Array) -> Array:
        return np.zeros((len(eta), 1, 2, 2))


@dataclass(frozen=True)
class Poisson(Outcome):
    """A count whose mean is exp(eta)."""

    @property
    def q(self) -> int:
        return 1

    def logarithm(self, eta: Array, seen: Array) -> Array:
        from scipy.special import gammaln

        with np.errstate(over="ignore"):
            return np.asarray(seen * eta[..., 0] - np.exp(eta[..., 0]) - gammaln(seen + 1.0))

    def slopes(self, eta: Array, seen: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            first = seen[..., None] - np.exp(eta)
        return self.logarithm(eta, seen), first

    def terms(self, eta: Array, seen: Array) -> Terms:
        rate = np.exp(eta)
        return Terms(self.logarithm(eta, seen), seen[:, None] - rate, -rate[:, :, None])

    def mean(self, eta: Array) -> Array:
        return np.exp(eta)

    def jacobian(self, eta: Array) -> Array:
        return np.exp(eta)[:, :, None]

    def curvature(self, eta: Array) -> Array:
        return np.exp(eta)[:, :, None, None]
