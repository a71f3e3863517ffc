"""A private response of clustered respondents: what intervals by the clustered sandwich cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import ldpstats as ldp
from benchmarks.regression.surveys import Cell, Said, estimates, fitted, intervals

__all__ = ["CELLS", "Clustered"]

Array = npt.NDArray[Any]

CORRELATION = 0.1  # of two persons of a cluster, in what lies behind their answers
TRUTH = np.array([-0.5, 0.8])


@dataclass(frozen=True)
class Clustered(Cell):
    """A binary response with effects of clusters in its latent variable, and in its covariate.

    The latent error is a normal variable with these correlations, moved to the law of the link: the
    model holds for each person, and her cluster matters to the covariance alone.
    """

    clusters: int
    persons: int
    epsilon: float
    link: str = "logit"
    shared: float = CORRELATION  # of the covariate

    @property
    def name(self) -> str:
        said = f"clusters, {self.link}, {self.clusters} x {self.persons}"
        return f"{said}, correlation of z {self.shared:g}, epsilon {self.epsilon:g}"

    def survey(self, rng: np.random.Generator) -> Said:
        from scipy.special import ndtr

        unit = np.repeat(np.arange(self.clusters), self.persons)
        z = self._correlated(unit, self.shared, rng)
        latent = self._correlated(unit, CORRELATION, rng)
        if self.link == "logit":
            u = ndtr(latent)
            latent = np.log(u / (1.0 - u))
        answer = (TRUTH[0] + TRUTH[1] * z + latent > 0.0) + 0
        reports = ldp.KRR(2, self.epsilon).privatize(answer, rng)
        X = pd.DataFrame({"const": 1.0, "z": z})
        model = ldp.PrivatizedLogit(reports, X, link=self.link)
        results, _ = fitted(model, cov_type="cluster", cov_kwds={"groups": unit})
        plain, _ = fitted(model)
        return {
            "estimate": results.params.to_numpy(),
            "truth": TRUTH,
            "bse": results.bse.to_numpy(),
            "interval": intervals(results),
            "interval, Wald": intervals(results, "wald"),
            "interval, not clustered": intervals(plain, "wald"),
        }

    def _correlated(self, unit: Array, share: float, rng: np.random.Generator) -> Array:
        """Normal variables with this correlation within clusters, (n,)."""
        between, within = rng.normal(size=self.clusters)[unit], rng.normal(size=unit.size)
        return np.asarray(np.sqrt(share) * between + np.sqrt(1.0 - share) * within)

    def row(self, said: Said) -> dict[str, Any]:
        return estimates(said)


CELLS: list[Cell] = [
    Clustered(clusters, persons, epsilon, link, shared)
    for link in ("logit", "probit")
    for shared in (CORRELATION, 1.0)
    for clusters, persons in ((100, 20), (200, 50))
    for epsilon in (1.0, 2.0)
]
