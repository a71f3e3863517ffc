"""The posterior of the frequencies of one variable, in log ratios."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity, maximum
from ldpstats.priors.base import LogitLaw, softmax_log
from ldpstats.problems.problem import Likelihood

__all__ = ["FrequencyDensity"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FrequencyDensity(LogDensity):
    """Log posterior of p by additive log ratios ``z_j = log p_j - log p_r``, shape (k - 1,).

    ``sum_i n_i log (W p)_i`` and the prior's log density of log ratios. The reference r is the
    category with the largest frequency at `start`.

    Parameters
    ----------
    likelihood : Likelihood
        Of all reports; rows in the form whose products are fastest (`Likelihood.prepared`).
    prior : LogitLaw
    """

    likelihood: Likelihood
    prior: LogitLaw

    @classmethod
    def of(cls, likelihood: Likelihood, prior: LogitLaw) -> FrequencyDensity:
        """The density of reports that were seen: others have no weight."""
        seen = likelihood.n > 0
        rows = likelihood.W if seen.all() else likelihood.W.select(seen)
        return cls(Likelihood(rows, likelihood.n[seen].astype(np.float64)).prepared(), prior)

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.likelihood.k - 1

    @cached_property
    def _start(self) -> Array:
        """log p near the maximum of the likelihood, but away from zero."""
        W, n = self.likelihood.W, self.likelihood.n
        k, prior = W.shape[1], np.exp(self.prior.start())
        known = W.closed_form(n)
        first = np.maximum(W.start(n) if known is None else known, 0.0)
        first = first / first.sum() if first.sum() > 0.0 else prior
        weight = 1.0 / (1.0 + n.sum() / (10.0 * k))
        return np.asarray(np.log((1.0 - weight) * first + weight * (prior + 1.0 / k) / 2.0))

    @cached_property
    def _reference(self) -> int:
        return int(np.argmax(self._start))

    def log_frequencies(self, z: Array) -> Array:
        """log p, shape (..., k)."""
        return softmax_log(np.insert(z, self._reference, 0.0, axis=-1))

    def constrained(self, z: Array) -> Array:
        return np.exp(self.log_frequencies(z))

    def coordinates(self, p: Array) -> Array:
        """The z, shape (..., k - 1), of frequencies p, shape (..., k)."""
        with np.errstate(divide="ignore"):
            logp = np.log(p)
        own = logp[..., self._reference, None]
        return np.delete(logp - own, self._reference, axis=-1)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        logp = self.log_frequencies(z)
        p = np.exp(logp)
        value, gradient = self.prior.evaluate(logp)
        W, n = self.likelihood.W, self.likelihood.n
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mixed = W.mix_each(p)
            value = value + np.log(mixed) @ n
            answers = p * W.adjoint_each(n / mixed)  # expected answers behind the reports
            gradient = gradient + answers - n.sum() * p
        return value, np.delete(gradient, self._reference, axis=-1)

    def curvature(self, z: Array) -> Array:
        logp = self.log_frequencies(z)
        p = np.exp(logp)
        W, n = self.likelihood.W, self.likelihood.n
        mixed = W.mix(p)
        H = p[:, None] * W.gram(n / mixed**2) * p - n.sum() * np.outer(p, p)
        H[np.diag_indices(p.size)] -= p * W.adjoint(n / mixed) - n.sum() * p
        H += self.prior.curvature(logp)
        return np.delete(np.delete(H, self._reference, 0), self._reference, 1)

    def mode(self) -> Array:
        start = np.delete(self._start - self._start[self._reference], self._reference)
        return maximum(self, start)
