"""The posterior mode of frequencies: where the density of p itself is largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.mle import MLE
from ldpstats.inference.chains.density import maximum
from ldpstats.models.posterior.densities.frequency import FrequencyDensity
from ldpstats.priors.base import LogitLaw
from ldpstats.priors.dirichlet import DirichletLaw
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import UniformRows
from ldpstats.problems.rows.combined import StackedRows

__all__ = ["BELOW_ONE", "frequency_mode"]

Array = npt.NDArray[Any]

BELOW_ONE = (
    "with a concentration below 1 the posterior density grows without bound where that frequency "
    "is zero, unless the reports rule it out: use params, or concentrations of at least 1"
)


def frequency_mode(likelihood: Likelihood, law: LogitLaw) -> Array | None:
    """The maximum of the posterior density of p, shape (k,); None if concentrations are below 1.

    A Dirichlet prior adds ``a_j - 1`` answers of category j that were asked directly: their
    likelihood is one of counts, and its maximum is certified. With other priors it is a maximum
    found by Newton's method.
    """
    if isinstance(law, DirichletLaw):
        direct = law.alpha - 1.0
        if direct.min() < 0.0:
            return None
        codes = np.flatnonzero(direct > 0.0)
        if not codes.size:
            return MLE().solve(likelihood).p
        rows = StackedRows((likelihood.W, UniformRows(codes, 1.0, 0.0, law.k)))
        together = Likelihood(rows, np.concatenate([likelihood.n, direct[codes]]))
        return MLE().solve(together).p
    density = FrequencyDensity.of(likelihood, law)
    of_p = FrequencyDensity(density.likelihood, _WithoutJacobian(law))
    return of_p.constrained(maximum(of_p, density.mode()))


@dataclass(frozen=True, eq=False)
class _WithoutJacobian(LogitLaw):
    """The density of p where that of log ratios is given: divided by ``prod p``."""

    law: LogitLaw

    @property
    def k(self) -> int:
        return self.law.k

    @property
    def _divisor(self) -> DirichletLaw:
        return DirichletLaw(np.full(self.k, -1.0))

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        (value, gradient), (less, slope) = self.law.evaluate(logp), self._divisor.evaluate(logp)
        return value + less, gradient + slope

    def curvature(self, logp: Array) -> Array:
        return self.law.curvature(logp) + self._divisor.curvature(logp)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return self.law.draw(rng, size)

    def start(self) -> Array:
        return self.law.start()
