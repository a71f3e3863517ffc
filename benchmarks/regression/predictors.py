"""Private predictors of a public or private outcome: bias, spread and coverage of both methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import ldpstats as ldp
from benchmarks.regression.responses import drawn, logits
from benchmarks.regression.surveys import Cell, Said, estimates, fitted, flat, intervals

__all__ = ["CELLS", "OUTCOMES", "Predictor"]

Array = npt.NDArray[Any]

JOBS = np.array(["cook", "driver", "nurse"])
MARGINAL = np.array([[0.2, 0.8], [-0.3, -0.6]])  # of the second and third job: constant, z
SLOPES = np.array([-0.3, 0.7, -0.6, 0.5])  # constant, second and third job, z
OTHER = np.array([0.2, -0.5, 0.4, -0.3])  # of a third category
OUTCOMES = ("linear", "logit", "poisson", "multinomial", "private logit", "private multinomial")
_ANSWERS = np.array(["never", "once", "often"])


@dataclass(frozen=True)
class Predictor(Cell):
    """A private predictor of three categories, which depend on a public covariate."""

    outcome: str
    method: str
    n: int
    epsilon: float

    @property
    def name(self) -> str:
        said = f"predictor, {self.outcome}, {self.method}"
        return f"{said}, n {self.n}, epsilon {self.epsilon:g}"

    @property
    def model(self) -> str:
        """Which regression it is."""
        return self.outcome.removeprefix("private ")

    @property
    def _truth(self) -> Array:
        return np.vstack([SLOPES, OTHER]) if self.model == "multinomial" else SLOPES[None]

    def survey(self, rng: np.random.Generator) -> Said:
        z = rng.normal(size=self.n)
        job = drawn(logits(np.column_stack([np.ones(self.n), z]) @ MARGINAL.T), rng)
        y = self._outcomes(_design(job, z) @ self._truth.T, rng)
        reports = {"job": ldp.KRR(JOBS, self.epsilon).privatize(JOBS[job], rng)}
        told, data = y, pd.DataFrame({"z": z})
        if self.outcome.startswith("private"):
            answers = _ANSWERS[: len(self._truth) + 1]
            reports["y"] = ldp.KRR(answers, self.epsilon).privatize(answers[y], rng)
            told = reports["y"].y.astype(int)
        elif self.model == "multinomial":
            data["y"] = pd.Categorical(_ANSWERS[y], _ANSWERS)
        else:
            data["y"] = y
        model = ldp.regression("y ~ C(job) + z", data, reports=reports, model=self.model)
        results, warned = fitted(model, method=self.method)
        every = design_names(results.params)
        return {
            "estimate": flat(results.params)[every],
            "truth": self._truth.reshape(-1),
            "bse": flat(results.bse)[every],
            "naive": self._naive(told, _design(reports["job"].y.astype(int), z)),
            "interval": intervals(results)[every],
            "interval, Wald": intervals(results, "wald")[every],
            "warned": warned,
        }

    def _outcomes(self, eta: Array, rng: np.random.Generator) -> Array:
        if self.model == "linear":
            return eta[:, 0] + rng.normal(size=self.n)
        if self.model == "poisson":
            return rng.poisson(np.exp(eta[:, 0]))
        return drawn(logits(eta), rng)

    def _naive(self, y: Array, D: Array) -> Array:
        """Coefficients of the reports taken for answers."""
        import statsmodels.api as sm

        if self.model == "linear":
            return np.asarray(sm.OLS(y, D).fit().params)
        if self.model == "poisson":
            return np.asarray(sm.GLM(y, D, family=sm.families.Poisson()).fit().params)
        return np.asarray(sm.MNLogit(y, D).fit(disp=0).params.T.reshape(-1))

    def row(self, said: Said) -> dict[str, Any]:
        return estimates(said) | {"warned": np.mean(said["warned"])}


def _design(job: Array, z: Array) -> Array:
    return np.column_stack([np.ones(len(z)), job == 1, job == 2, z]) + 0.0


def design_names(params: Any) -> Array:
    """Positions of constant, second and third job and z among the coefficients.

    Raises
    ------
    ValueError
        If coefficients are not called so.
    """
    names = [str(name) for name in params.index]
    wanted = [
        next(place for place, name in enumerate(names) if part in name)
        for part in ("ntercept", JOBS[1], JOBS[2], "z")
    ]
    if len(names) != len(wanted):
        raise ValueError(f"coefficients {names}")
    equations = params.shape[1] if isinstance(params, pd.DataFrame) else 1
    return np.add.outer(len(names) * np.arange(equations), wanted).reshape(-1)


CELLS: list[Cell] = [
    Predictor(outcome, method, n, epsilon)
    for outcome in OUTCOMES
    for method in ("mle", "corrected")
    for n in (3000, 20_000)
    for epsilon in (1.0, 2.0)
]
