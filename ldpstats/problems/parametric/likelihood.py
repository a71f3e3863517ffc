"""The likelihood of groups of reports whose channels share unknown parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.parametric.matrices import PolynomialMatrix

__all__ = ["ParametricLikelihood"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ParametricLikelihood:
    """Reports of several groups: ``sum_g sum_y n_gy log (p Q_g(theta))_y``.

    A point x, shape (k + m,), is the frequencies p followed by the parameters theta. Functions take
    many points at once, shape (..., k + m), as where many surveys are fitted together: counts may
    then have leading axes too.

    Parameters
    ----------
    matrices : tuple of PolynomialMatrix
        The channel of each group, shape (k, l_g), in the same m parameters.
    counts : tuple of arrays, shape (..., l_g)
        How often each report was seen.

    Examples
    --------
    >>> known = PolynomialMatrix.constant(np.array([[.8, .2], [.3, .7]]), m=0)
    >>> survey = ParametricLikelihood((known,), (np.array([60., 40.]),))
    >>> survey.laws([.6, .4])[0]
    array([0.6, 0.4])
    >>> survey.score([.6, .4])
    array([100., 100.])
    """

    matrices: tuple[PolynomialMatrix, ...]
    counts: tuple[Array, ...]

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.matrices[0].shape[1]

    @property
    def m(self) -> int:
        """Number of unknown parameters."""
        return self.matrices[0].shape[0]

    @property
    def size(self) -> int:
        """k + m."""
        return self.k + self.m

    @cached_property
    def nobs(self) -> Array:
        """Reports of all groups together, shape (...)."""
        return np.asarray(sum(n.sum(axis=-1) for n in self.counts))

    def take(self, rows: Any) -> ParametricLikelihood:
        """The likelihood of some of many surveys."""
        return ParametricLikelihood(self.matrices, tuple(n[rows] for n in self.counts))

    def laws(self, x: npt.ArrayLike) -> list[Array]:
        """Laws of a report in each group, each of shape (..., l_g)."""
        p, theta = self._parts(x)
        return [np.einsum("...k,...kl->...l", p, Q.at(theta)) for Q in self.matrices]

    def jacobians(self, x: npt.ArrayLike) -> list[Array]:
        """Derivatives of the laws by p and theta, each of shape (..., k + m, l_g)."""
        p, theta = self._parts(x)
        found = []
        for Q in self.matrices:
            by_theta = np.einsum("...k,...jkl->...jl", p, Q.derivatives(theta))
            found.append(np.concatenate([Q.at(theta), by_theta], axis=-2))
        return found

    def bends(self, x: npt.ArrayLike, weights: Sequence[Array]) -> Array:
        """Second derivatives of the laws, weighted and summed over reports: (..., k + m, k + m).

        A law is linear in the frequencies, and not in frequencies and parameters together.

        Parameters
        ----------
        x : array_like, shape (..., k + m)
        weights : sequence of array, shape (..., l_g)
            Of the reports of each group.
        """
        p, theta = self._parts(x)
        found, k = np.zeros((*p.shape[:-1], self.size, self.size)), self.k
        for w, Q in zip(weights, self.matrices, strict=True):
            mixed = np.einsum("...jkl,...l->...kj", Q.derivatives(theta), w)
            found[..., :k, k:] += mixed
            found[..., k:, :k] += np.swapaxes(mixed, -1, -2)
            twice = Q.second_derivatives(theta)
            found[..., k:, k:] += np.einsum("...ijkl,...k,...l->...ij", twice, p, w)
        return found

    def loglike(self, x: npt.ArrayLike) -> Array:
        """Log-likelihood in nats, shape (...); -inf where a report that was seen is impossible."""
        total: Any = 0.0
        for n, law in zip(self.counts, self.laws(x), strict=True):
            log = np.log(np.where(law > 0.0, law, 1.0))
            terms = np.where(n > 0.0, n * log, 0.0).sum(axis=-1)
            total = total + np.where(np.any((n > 0.0) & (law <= 0.0), axis=-1), -np.inf, terms)
        return np.asarray(total)

    def score(self, x: npt.ArrayLike) -> Array:
        """Derivatives of the log-likelihood, shape (..., k + m)."""
        pairs = zip(self.counts, self.laws(x), self.jacobians(x), strict=True)
        total: Any = 0.0
        for n, law, J in pairs:
            ratio = np.where(n > 0.0, n / np.where(n > 0.0, law, 1.0), 0.0)
            total = total + np.einsum("...dl,...l->...d", J, ratio)
        return np.asarray(total)

    def evaluate(self, x: npt.ArrayLike) -> tuple[Array, Array]:
        """`loglike` and `score` of one survey in one pass, at points of shape (c, k + m)."""
        p, theta = self._parts(x)
        value: Any = 0.0
        by_p: Any = 0.0
        by_theta: Any = 0.0
        for n, Q in zip(self.counts, self.matrices, strict=True):
            terms, slopes = Q.terms(theta)
            parts = np.tensordot(p, Q.coefficients, axes=(1, 1))  # (c, T, l)
            law = np.einsum("ct,ctl->cl", terms, parts)
            seen = n > 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                value = value + np.log(law[:, seen]) @ n[seen]
                ratio = np.where(seen, n / law, 0.0)
            each = np.tensordot(ratio, Q.coefficients, axes=(1, 2))  # (c, T, k)
            by_p = by_p + np.einsum("ct,ctk->ck", terms, each)
            by_theta = by_theta + np.einsum("cjt,ctl,cl->cj", slopes, parts, ratio)
        return np.asarray(value), np.concatenate([by_p, by_theta], axis=1)

    def information(self, x: npt.ArrayLike) -> Array:
        """Expected information of all reports, shape (..., k + m, k + m)."""
        pairs = zip(self.counts, self.laws(x), self.jacobians(x), strict=True)
        total: Any = 0.0
        for n, law, J in pairs:
            nobs = np.asarray(n.sum(axis=-1))[..., None]
            weight = np.where(law > 0.0, nobs / np.where(law > 0.0, law, 1.0), 0.0)
            total = total + np.einsum("...dl,...l,...el->...de", J, weight, J)
        return np.asarray(total)

    def slope(self, x: npt.ArrayLike) -> Array:
        """What a first step could gain at most, per report: zero only where no step gains.

        The largest ``score . (z - x) / nobs`` over all frequencies and parameters z in [0, 1]. The
        likelihood is not concave, so that this certifies a stationary point and no global maximum.
        """
        point, score = np.asarray(x, dtype=np.float64), self.score(x)
        by_p, by_theta = score[..., : self.k], score[..., self.k :]
        p, theta = point[..., : self.k], point[..., self.k :]
        gain = by_p.max(axis=-1) - np.einsum("...k,...k->...", by_p, p)
        gain = gain + np.maximum(by_theta * (1.0 - theta), -by_theta * theta).sum(axis=-1)
        return np.asarray(gain / self.nobs)

    def _parts(self, x: npt.ArrayLike) -> tuple[Array, Array]:
        point = np.asarray(x, dtype=np.float64)
        return point[..., : self.k], point[..., self.k :]
