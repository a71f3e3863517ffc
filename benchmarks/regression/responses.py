"""A private response: sizes of tests of a slope, coverage of intervals, divergence; margins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import ldpstats as ldp
from benchmarks.regression.surveys import (
    ALPHA,
    FAR,
    Cell,
    Said,
    covered,
    estimates,
    fitted,
    flat,
    intervals,
    share,
)

__all__ = ["CELLS", "Categories", "Margins", "Slope"]

Array = npt.NDArray[Any]

SIZES = ((500, 1.0), (2000, 1.0), (2000, 0.5), (10_000, 1.0))
INTERCEPT = -1.735  # P(yes) is .15 where the slope is zero
COVARIATES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Bernoulli(.4)": lambda rng, n: (rng.random(n) < 0.4) + 0.0,
}
MECHANISMS = {"k-RR": ldp.KRR, "RAPPOR": ldp.KRAPPOR}


def drawn(pi: Array, rng: np.random.Generator) -> Array:
    """A category of each row of probabilities, (n,)."""
    u = rng.random((len(pi), 1)) * (1.0 - 1e-12)
    return np.asarray((u > np.cumsum(pi, axis=1)[:, :-1]).sum(axis=1))


def logits(eta: Array) -> Array:
    """Probabilities of k categories from predictors of all but the first, (n, k - 1)."""
    odds = np.exp(np.column_stack([np.zeros(len(eta)), eta]))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def two_sided(z: Array) -> Array:
    """p-values of normal statistics; nan where there is none."""
    from scipy.stats import norm

    return np.asarray(2.0 * norm.sf(np.abs(z)))


def tail(statistic: float, df: int) -> float:
    """Upper tail of a chi-square variable."""
    from scipy.stats import chi2

    return float(chi2.sf(max(0.0, statistic), df))


@dataclass(frozen=True)
class Slope(Cell):
    """A logit of one covariate whose slope is tested.

    The true slope goes into the offset, so that every test is of a hypothesis that holds, and an
    interval holds the truth where it holds zero.
    """

    n: int
    epsilon: float
    slope: float = 0.0
    covariate: str = "normal"
    mechanism: str = "k-RR"

    @property
    def name(self) -> str:
        said = f"logit, {self.mechanism}, z {self.covariate}, slope {self.slope:g}"
        return f"{said}, n {self.n}, epsilon {self.epsilon:g}"

    @cached_property
    def _asked(self) -> Any:
        return MECHANISMS[self.mechanism](2, self.epsilon)

    def survey(self, rng: np.random.Generator) -> Said:
        z = COVARIATES[self.covariate](rng, self.n)
        pi = 1.0 / (1.0 + np.exp(-INTERCEPT - self.slope * z))
        reports = self._asked.privatize((rng.random(self.n) < pi) + 0, rng)
        X, offset = pd.DataFrame({"const": 1.0, "z": z}), self.slope * z
        model = ldp.PrivatizedLogit(reports, X, offset=offset)
        results, warned = fitted(model)
        null, _ = fitted(ldp.PrivatizedLogit(reports, X[["const"]], offset=offset))
        penalised, _ = fitted(model, penalty="jeffreys")
        b, se = results.params["z"], results.bse["z"]
        c = penalised.params["z"]
        return {
            "Wald": two_sided(b / se),
            "LR": tail(2.0 * (results.llf - null.llf), 1),
            "score": self.score_test(reports, X, offset, float(null.params.iloc[0])),
            "default": results.pvalues["z"],
            "Jeffreys Wald": two_sided(c / penalised.bse["z"]),
            "interval": intervals(results)[1],
            "interval, Wald": intervals(results, "wald")[1],
            "far": not abs(b + self.slope) <= FAR,
            "far, Jeffreys": not abs(c + self.slope) <= FAR,
            "warned": warned,
        }

    def score_test(self, reports: Any, X: pd.DataFrame, offset: Array, a: float) -> float:
        """p-value of the score test with expected information, written out for one slope."""
        Q, D = self._asked.channel().matrix(), X.to_numpy()
        pi = 1.0 / (1.0 + np.exp(-a - offset))
        slope = pi * (1.0 - pi)
        m = Q[0] + pi[:, None] * (Q[1] - Q[0])  # of all reports
        each = slope[:, None] * (Q[1] - Q[0]) / m  # their scores
        y = np.asarray(reports.y, dtype=np.int64).reshape(len(pi), -1)[:, 0]
        U = D.T @ each[np.arange(len(pi)), y]
        information = (D.T * (m * each**2).sum(axis=1)) @ D
        return tail(float(U @ np.linalg.solve(information, U)), 1)

    def row(self, said: Said) -> dict[str, Any]:
        tests = ("Wald", "LR", "score", "default", "Jeffreys Wald")
        found = {f"size {name}": share(said[name] < ALPHA) for name in tests}
        zero = np.zeros(1)
        found["coverage"] = covered(said["interval"], zero[0])
        found["coverage, Wald"] = covered(said["interval, Wald"], zero[0])
        width = np.diff(said["interval"], axis=-1)[:, 0]
        found["infinite intervals"] = share(~np.isfinite(width))
        found["median width"] = np.round(np.median(width), 3)
        found["|b| > 8"] = share(said["far"])
        found["|b| > 8, Jeffreys"] = share(said["far, Jeffreys"])
        found["warned"] = share(said["warned"])
        found["|b| > 8, not warned"] = share(said["far"] & ~said["warned"])
        return found


@dataclass(frozen=True)
class Categories(Cell):
    """A multinomial logit of five categories and one covariate."""

    n: int
    epsilon: float
    mechanism: str = "k-RR"
    slopes: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    intercepts: tuple[float, ...] = (0.2, -0.2, -0.4, 0.0)

    @property
    def name(self) -> str:
        slopes = ", ".join(f"{b:g}" for b in self.slopes)
        said = f"multinomial, {self.mechanism}, slopes {slopes}"
        return f"{said}, n {self.n}, epsilon {self.epsilon:g}"

    @property
    def _truth(self) -> Array:
        return np.column_stack([self.intercepts, self.slopes])

    @cached_property
    def _asked(self) -> Any:
        return MECHANISMS[self.mechanism](len(self.slopes) + 1, self.epsilon)

    def survey(self, rng: np.random.Generator) -> Said:
        X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=self.n)})
        pi = logits(X.to_numpy() @ self._truth.T)
        reports = self._asked.privatize(drawn(pi, rng), rng)
        results, warned = fitted(ldp.PrivatizedMNLogit(reports, X))
        null, _ = fitted(ldp.PrivatizedMNLogit(reports, X[["const"]]))
        b, se = flat(results.params), flat(results.bse)
        return {
            "estimate": b,
            "truth": self._truth.reshape(-1),
            "Wald": two_sided((b - self._truth.reshape(-1)) / se),
            "default": flat(results.pvalues),
            "LR of the term": tail(2.0 * (results.llf - null.llf), len(self.slopes)),
            "interval": intervals(results),
            "interval, Wald": intervals(results, "wald"),
            "far": not np.abs(b).max() <= FAR,
            "warned": warned,
        }

    def row(self, said: Said) -> dict[str, Any]:
        found: dict[str, Any] = {"size Wald": share(said["Wald"] < ALPHA)[1::2]}
        if not any(self.slopes):
            found["size default"] = share(said["default"] < ALPHA)[1::2]
            found["size LR of the term"] = share(said["LR of the term"] < ALPHA)
        for name in ("interval", "interval, Wald"):
            cover = covered(said[name], said["truth"])[1::2]
            found["coverage" + name.removeprefix("interval")] = cover
        found["|b| > 8"] = share(said["far"])
        found["warned"] = share(said["warned"])
        found["|b| > 8, not warned"] = share(said["far"] & ~said["warned"])
        return found


@dataclass(frozen=True)
class Margins(Cell):
    """Average marginal effects, and average predictions by group, of a private response.

    They are those of the persons in the survey, whose covariates are known. Naive ones are those of
    the reports.
    """

    n: int
    epsilon: float
    k: int = 2

    @property
    def name(self) -> str:
        return f"margins, k {self.k}, n {self.n}, epsilon {self.epsilon:g}"

    def survey(self, rng: np.random.Generator) -> Said:
        from statsmodels.discrete.discrete_model import MNLogit

        z, group = rng.normal(size=self.n), rng.integers(0, 3, self.n)
        data = pd.DataFrame({"z": z, "group": np.array(["a", "b", "c"])[group]})
        D = np.column_stack([np.ones(self.n), z, group == 1, group == 2]) + 0.0
        truth = np.array([[-0.5, 0.8, 0.5, -0.7], [0.3, -0.4, 0.6, 0.2]])[: self.k - 1]
        pi = logits(D @ truth.T)
        reports = ldp.KRR([f"y{a}" for a in range(self.k)], self.epsilon).privatize(
            np.array([f"y{a}" for a in range(self.k)])[drawn(pi, rng)], rng
        )
        model = ldp.regression("y ~ z + C(group)", data, reports={"y": reports}, model=self._model)
        results, _ = fitted(model)
        effects, predictions = results.get_margeff(), results.predictions(by="group")
        naive = MNLogit(reports.y.astype(int), D).fit(disp=0)
        told = naive.predict(D)
        return {
            "truth": self._figures(pi, truth, group),
            "estimate": np.append(self._slopes(effects.margeff), _column(predictions, "mean")),
            "bse": np.append(self._slopes(effects.margeff_se), _column(predictions, "se")),
            "interval": np.vstack(
                [self._ends(effects.conf_int()), _column(predictions, ["lower", "upper"])]
            ),
            "naive": self._figures(told, naive.params.T, group),
        }

    @property
    def _model(self) -> str:
        return "logit" if self.k == 2 else "multinomial"

    def _figures(self, pi: Array, b: Array, group: Array) -> Array:
        """Average derivative in z of each category (of the second if there are two), and by group.

        Predictions are those of all categories (of the second if there are two).
        """
        every = np.vstack([np.zeros(b.shape[1]), b])[:, 1]
        slopes = (pi * (every - (pi @ every)[:, None])).mean(axis=0)
        means = np.array([pi[group == g].mean(axis=0) for g in range(3)])
        shown = slice(1, None) if self.k == 2 else slice(None)
        return np.append(slopes[shown], means[:, shown].reshape(-1))

    def _slopes(self, table: Any) -> Array:
        """Effects of z, which is the last covariate, of each category."""
        table = np.asarray(table, dtype=float)
        return np.atleast_1d(table[-1])

    def _ends(self, table: Any) -> Array:
        """Intervals of the effects of z, (k or 1, 2)."""
        table = np.asarray(table, dtype=float)
        return table[-1:] if self.k == 2 else table[-1].T

    def row(self, said: Said) -> dict[str, Any]:
        return estimates(said)


def _column(table: Any, name: Any) -> Array:
    """Columns of a table of predictions."""
    frame = table if isinstance(table, pd.DataFrame) else table.summary_frame()
    return frame[name].to_numpy(dtype=float)


CELLS: list[Cell] = [
    *(
        Slope(n, epsilon, slope, covariate)
        for covariate in COVARIATES
        for slope in (0.0, 0.8)
        for n, epsilon in SIZES
    ),
    *(Slope(n, epsilon, mechanism="RAPPOR") for n, epsilon in SIZES),
    *(
        Categories(n, epsilon, mechanism, slopes)
        for mechanism in MECHANISMS
        for slopes in ((0.0,) * 4, (0.6, -0.6, 0.3, 0.0))
        for n, epsilon in SIZES
    ),
    *(Margins(n, epsilon, k) for k in (2, 3) for n in (3000, 20_000) for epsilon in (1.0, 2.0)),
]
