"""Log posterior densities, each in coordinates in which chains move well.

Of the frequencies of one variable or of the cells of a table; of the parameters of a regression, of
the coefficients behind a least squares estimate (which takes the place of the data and needs no law
of the responses; in standard errors, rotated), of a regression whose devices have unknown
parameters; of frequencies and unknown parameters together; and of several groups with partial
pooling. Beta priors of parameters add ``a log theta + b log(1 - theta)``, which is the beta density
with the Jacobian of the logit.

Pooled groups: group g has the distribution ``softmax(H e_g)``, with H an orthonormal basis of the
vectors of k numbers that sum to zero, and ``e_g ~ N(m, t^2 / 2)`` in every direction, so that the
logarithm of the ratio of any two frequencies varies between groups with standard deviation t.
Sampling (m, log t, e) is slow where groups are small, and (m, log t, (e - m) / t) where they are
large. Here a group's coordinates are what is left of e_g when the normal approximation of its law
given m, t and its reports is taken off: for reports as good as normal they are standard normal,
whatever m and t are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.cells import CellReports, Plain
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.parametric import maximum as best_of_starts
from ldpstats.estimators.regression import Maximum, search, search_bounded
from ldpstats.inference.chains import LogDensity, maximum
from ldpstats.labels import Labels
from ldpstats.likelihood.parametric import PolynomialMatrix
from ldpstats.likelihood.predictors import (
    EvenLevel,
    constant_column,
    start,
    starts,
    units,
)
from ldpstats.likelihood.regression import (
    Categorical,
    Multinomial,
    Normal,
    Parallel,
    Predictors,
    RegressionLikelihood,
    Scaled,
)
from ldpstats.likelihood.rows import Likelihood
from ldpstats.priors import (
    Dirichlet,
    DirichletLaw,
    LogitLaw,
    Margins,
    Pooling,
    SimplexPrior,
    softmax_log,
)
from ldpstats.priors import Normal as NormalPrior


@record
class FrequencyDensity(LogDensity):
    """Log posterior of p by additive log ratios ``z_j = log p_j - log p_r``, shape (k - 1,)."""

    likelihood: Likelihood  # rows as `Likelihood.prepared` has them
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
        """The category with the largest frequency at the start."""
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
        reference = logp[..., self._reference, None]
        return np.delete(logp - reference, self._reference, axis=-1)

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


# -- a joint table: a `FrequencyDensity` of the cells, whose rows are Kronecker products -----------


def cells_law(prior: Any, labels: Sequence[Labels]) -> LogitLaw:
    """The law of the cells of a table, row-major, whatever the order of a Series by cell."""
    if prior is None:
        return DirichletLaw(np.ones(prod(map(len, labels))))
    if isinstance(prior, Margins):
        return prior.law(labels)
    if not isinstance(prior, SimplexPrior):
        remedy = (
            "must be a prior of a table, such as ldpstats.priors.Dirichlet(1.0) or Margins(...), "
            "or None for the flat one"
        )
        raise InvalidArgument("prior", prior, remedy)
    cells = pd.MultiIndex.from_product(labels)
    if isinstance(prior, Dirichlet) and isinstance(prior.concentration, pd.Series):
        concentration, index = prior.concentration, prior.concentration.index
        places = np.array([-1])
        if isinstance(index, pd.MultiIndex) and index.nlevels == cells.nlevels:
            if len(index) == len(cells) and index.is_unique:
                places = index.get_indexer(cells)
        if np.any(places < 0):
            remedy = (
                f"as a Series must be indexed by the {len(cells)} cells, with a level for each of "
                f"{cells.nlevels} variables"
            )
            raise InvalidArgument("concentration", list(index[:5]), remedy)
        prior = Dirichlet(concentration.to_numpy()[places])
    law: LogitLaw = prior.law(pd.RangeIndex(len(cells)))
    return law


# -- priors of the parameters of a regression: normal laws of combinations, and even levels --------


SLOPE = 2.5  # standard deviation of the slope of a standardised covariate
LEVEL = 10.0  # and of the level of numbers at the means of the covariates
_RANGE = 1e-9, 1e9  # of a standard deviation, in units of a standardised covariate
_WIDEST = 100.0  # the same, of a slope of log odds
SPREAD = 1.0  # and of the logarithm of the standard deviation of a number


@record
class CoefficientPrior:
    """A prior of the parameters theta of a regression, (d,): normal combinations, even levels."""

    rows: Array  # combinations of parameters that are normal and independent, (r, d)
    mean: Array  # (r,)
    sd: Array  # (r,)
    # levels whose probabilities are uniform, each with the place of its design among parameters
    even: tuple[tuple[int, EvenLevel], ...] = ()

    def evaluate(self, thetas: Array) -> tuple[Array, Array]:
        """Log densities, (c,), up to a constant, and gradients, (c, d), at points (c, d)."""
        off = (thetas @ self.rows.T - self.mean) / self.sd
        values, gradients = -0.5 * (off * off).sum(axis=1), -(off / self.sd) @ self.rows
        for at, level in self.even:
            inside = slice(at, at + level.design.size)
            value, gradient = level.evaluate(thetas[:, inside])
            values += value
            gradients[:, inside] += gradient
        return values, gradients

    def hessian(self, theta: Array) -> Array:
        """Second derivatives of the log density, (d, d)."""
        scaled = self.rows / self.sd[:, None]
        H = -scaled.T @ scaled
        for at, level in self.even:
            inside = slice(at, at + level.design.size)
            H[inside, inside] += level.hessian(theta[inside])
        return H

    @cached_property
    def log_scale(self) -> float:
        """What `evaluate` leaves out of the logarithm of the density."""
        linear, total = [self.rows], float(-np.log(self.sd * np.sqrt(2.0 * np.pi)).sum())
        for at, level in self.even:
            place = np.zeros((level.design.q, self.rows.shape[1]))
            place[:, at : at + level.design.size] = level.linear
            linear.append(place)
            total += level.log_scale
        return total + float(np.linalg.slogdet(np.vstack(linear))[1])

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of the parameters, shape (size, d)."""
        normal = self.mean + self.sd * rng.standard_normal((size, len(self.mean)))
        theta = normal @ np.linalg.pinv(self.rows).T  # the levels are found below
        for at, level in self.even:
            inside = slice(at, at + level.design.size)
            eta = level.draw(rng, size)
            theta[:, inside] = level.parameters(theta[:, inside], eta)
        return theta


def coefficient_prior(
    likelihood: RegressionLikelihood,
    names: Sequence[str],
    own: Mapping[int, tuple[float, float]],
    scale: tuple[float, float] | None = None,
) -> CoefficientPrior:
    """The default prior of a regression, with normal laws of one's own, (mean, sd), by place."""
    # Slopes are normal with mean 0 and standard deviation 2.5 over that of the covariate; category
    # probabilities at the means of the covariates are uniform. Slopes of a number are in `scale`,
    # its standard deviation, about its mean, which has a standard deviation of 10 such; the
    # logarithm of sigma has one of 1. A ValueError names constants that are given in part.
    laws: list[tuple[Array, float, float]] = []
    even: list[tuple[int, EvenLevel]] = []
    basis, w = np.eye(likelihood.size - likelihood.m), likelihood.weights
    if scale is None and isinstance(likelihood.outcome, Normal):
        y, offset = likelihood.seen, likelihood.designs[0].offset
        y = y if offset is None else y - offset
        middle = float(w @ y / w.sum())
        scale = float(np.sqrt(w @ (y - middle) ** 2 / w.sum())) or 1.0, middle
    predictors: list[tuple[int, Any, list[Predictors]]]
    predictors = [(0, likelihood.outcome, [*likelihood.designs])]
    if likelihood.marginal is not None:
        several = Multinomial(len(likelihood.designs))
        predictors.append((likelihood.n_outcome, several, [likelihood.marginal]))
    for at, outcome, designs in predictors:
        design, covariates = designs[0], [one.X for one in designs]
        # their means and standard deviations; of a constant the size
        total = float(w.sum()) * len(covariates)
        centre = np.asarray(sum(w @ X for X in covariates)) / total
        square = np.asarray(sum(w @ (X - centre) ** 2 for X in covariates)) / total
        size = np.asarray(sum(w @ X**2 for X in covariates)) / total
        spread = np.sqrt(np.where(square > 1e-20 * size, square, np.where(size > 0.0, size, 1.0)))
        unit, middle = scale if scale and isinstance(outcome, Normal) else (1.0, 0.0)
        p, ordered = design.p, isinstance(design, Parallel)
        n_equations = 1 if isinstance(design, Parallel | Scaled) else design.q
        constant = None if ordered or not p else constant_column(covariates)
        levels = [] if constant is None else [at + constant + p * e for e in range(n_equations)]
        given = [j for j in levels if j in own]
        if given and len(given) < len(levels):
            raise ValueError(" and ".join(names[j] for j in levels))
        for e, c in product(range(n_equations), range(p)):
            j = at + c + p * e
            if j in own:
                # Under a very wide law of slopes the reports do not matter: their likelihood does
                # not vanish where probabilities are zero and one.
                (mean, sd), per_sd = own[j], spread[c] / unit
                low, most = _RANGE
                high = _WIDEST if isinstance(outcome, Categorical) and j not in levels else most
                if not (low <= sd * per_sd <= high and abs(mean) * per_sd <= most):
                    remedy = (
                        f"must have an sd from {low / per_sd:.3g} to {high / per_sd:.3g} and a "
                        f"mean up to {most / per_sd:.3g}, on the scale of this covariate"
                    )
                    raise InvalidArgument(f"prior[{names[j]!r}]", NormalPrior(mean, sd), remedy)
                laws.append((basis[j], mean, sd))
            elif j not in levels:
                laws.append((basis[j], 0.0, SLOPE * unit / spread[c]))
            elif not isinstance(outcome, Categorical):
                laws.append((centre @ basis[at : at + p], middle, LEVEL * unit))
        if isinstance(design, Scaled):
            laws.append((basis[at + p], *own.get(at + p, (float(np.log(unit)), SPREAD))))
        if isinstance(outcome, Categorical) and not given and (ordered or levels):
            even.append((at, EvenLevel(outcome, type(design)(centre[None], design.q), constant)))
    matrix = np.array([row for row, _, _ in laws]).reshape(len(laws), len(basis))
    means, sds = np.array([law for _, *law in laws]).reshape(-1, 2).T
    return CoefficientPrior(matrix, means, sds, tuple(even))


# -- a regression on privatised answers, whose devices may have unknown parameters -----------------


_CONCAVE_ENOUGH = 0.5  # coefficients of standardised covariates known to this: one maximum
_none = partial(np.empty, 0)


@record
class RegressionDensity(LogDensity):
    """Log posterior of slopes of standardised covariates, and of logits of unknown parameters.

    Reported are the coefficients of the outcome, with sigma and not its logarithm, then the unknown
    parameters of devices.
    """

    likelihood: RegressionLikelihood
    prior: CoefficientPrior
    a: Array = field(default_factory=_none)  # (m,), with b: the exponents of beta priors
    b: Array = field(default_factory=_none)

    @property
    def p(self) -> int:
        """Number of parameters of the regression."""
        return self.likelihood.size - self.likelihood.m

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.likelihood.size

    @cached_property
    def units(self) -> Array:
        """Coefficients from coordinates, (p, p)."""
        return units(self.likelihood)[: self.p, : self.p]

    def parameters(self, z: Array) -> Array:
        """Coefficients and parameters at coordinates, (..., p + m)."""
        from scipy.special import expit

        p = self.p
        return np.concatenate([z[..., :p] @ self.units.T, expit(z[..., p:])], axis=-1)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        from scipy.special import log_expit

        p, x = self.p, self.parameters(z)
        logits, theta = z[:, p:], x[:, p:]
        with np.errstate(all="ignore"):  # what is not finite is refused by the sampler
            values, scores = self.likelihood.scores_at(x)
        there, slopes = self.prior.evaluate(x[:, :p])
        values = values + there + log_expit(logits) @ self.a + log_expit(-logits) @ self.b
        by_beta = (scores[:, :p] + slopes) @ self.units
        by_theta = theta * (1.0 - theta) * scores[:, p:] + self.a - (self.a + self.b) * theta
        return values, np.concatenate([by_beta, by_theta], axis=1)

    def curvature(self, z: Array) -> Array:
        p, x = self.p, self.parameters(z)
        theta, diagonal = x[p:], range(p, self.size)
        spread = theta * (1.0 - theta)
        _, score, hessian = self.likelihood.evaluate(x)
        hessian[:p, :p] += self.prior.hessian(x[:p])
        scale = np.eye(self.size)
        scale[:p, :p] = self.units
        scale[diagonal, diagonal] = spread
        H = scale.T @ hessian @ scale
        H[diagonal, diagonal] += spread * ((1.0 - 2.0 * theta) * score[p:] - (self.a + self.b))
        return -H

    @cached_property
    def peaks(self) -> tuple[Maximum, list[Maximum]]:
        """With unknown parameters: the highest maximum of z, and others that are as high."""
        return self.highest(self.a, self.b)

    def highest(self, a: Array, b: Array) -> tuple[Maximum, list[Maximum]]:
        """The maximum where priors of parameters have these exponents, and others as high."""
        likelihood = self.likelihood
        objective = _Objective(likelihood, self.prior, a, b)
        return search_bounded(objective, starts(likelihood), units(likelihood), a.size)

    def mode(self) -> Array:
        return self._mode

    @cached_property
    def _mode(self) -> Array:
        likelihood, p = self.likelihood, self.p
        if likelihood.m:
            x = self.peaks[0].theta
        else:
            objective = _Objective(likelihood, self.prior, self.a, self.b)
            how: dict[str, Any] = {"n_random": 2, "enough": _CONCAVE_ENOUGH}
            x = search(objective, start(likelihood), self.units, **how).maximum.theta
        theta = np.clip(x[p:], 1e-12, 1.0 - 1e-12)
        return np.append(np.linalg.solve(self.units, x[:p]), np.log(theta) - np.log1p(-theta))

    def constrained(self, z: Array) -> Array:
        return self.shown(self.parameters(z))

    def shown(self, x: Array) -> Array:
        """What is reported, (..., m), of coefficients and parameters."""
        n_outcome, p = self.likelihood.n_outcome, self.p
        values = np.concatenate([x[..., :n_outcome], x[..., p:]], axis=-1)
        if isinstance(self.likelihood.outcome, Normal):
            values[..., n_outcome - 1] = np.exp(values[..., n_outcome - 1])
        return values


@record
class _Objective:
    """The log posterior of x = (beta, theta), to be climbed."""

    likelihood: RegressionLikelihood
    prior: CoefficientPrior
    a: Array
    b: Array

    def value(self, x: Array) -> float:
        from scipy.special import xlog1py, xlogy

        p = x.size - self.a.size
        theta = x[p:]
        if np.any((theta < 0.0) | (theta > 1.0)):
            return -np.inf
        with np.errstate(all="ignore"):
            value = self.likelihood.value(x) + float(self.prior.evaluate(x[None, :p])[0][0])
            value += float((xlogy(self.a, theta) + xlog1py(self.b, -theta)).sum())
        return value if np.isfinite(value) else -np.inf

    def evaluate(self, x: Array) -> tuple[float, Array, Array]:
        p = x.size - self.a.size
        theta, at = x[p:], range(p, x.size)
        _, score, hessian = self.likelihood.evaluate(x)
        score[:p] += self.prior.evaluate(x[None, :p])[1][0]
        hessian[:p, :p] += self.prior.hessian(x[:p])

        def over(exponents: Array, chances: Array) -> Array:
            safe = np.where(exponents != 0.0, chances, 1.0)
            return exponents / safe

        low, high = over(self.a, theta), over(self.b, 1.0 - theta)
        score[p:] += low - high
        hessian[at, at] -= over(low, theta) + over(high, 1.0 - theta)
        return self.value(x), score, hessian


# -- coefficients whose least squares estimate is nearly normal ------------------------------------


@record
class EstimateDensity(LogDensity):
    """Log posterior of coefficients given their estimate, which is normal about them."""

    estimate: Array  # (p,)
    covariance: Array  # (p, p), positive definite
    prior: CoefficientPrior

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of coefficients."""
        return len(self.estimate)

    @cached_property
    def root(self) -> Array:
        """Square root of the covariance: coefficients less the estimate from coordinates."""
        return np.linalg.cholesky(self.covariance)

    def constrained(self, z: Array) -> Array:
        return np.asarray(self.estimate + z @ self.root.T)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        value, gradient = self.prior.evaluate(self.constrained(z))
        return value - 0.5 * (z * z).sum(axis=1), gradient @ self.root - z

    def curvature(self, z: Array) -> Array:
        theta = self.constrained(z)
        return np.asarray(np.eye(self.size) - self.root.T @ self.prior.hessian(theta) @ self.root)

    def mode(self) -> Array:
        start = np.zeros(self.size)  # the density is quadratic
        slope = self.evaluate(start[None])[1][0]
        return np.linalg.solve(self.curvature(start), slope)


# -- frequencies and unknown parameters of devices, without constraints ----------------------------


_STEP = 1e-5  # of log ratios and logits, for second derivatives


@record
class ParametersDensity(LogDensity):
    """Log posterior of log ratios of p, shape (k - 1,), and then of logits of theta, shape (m,)."""

    law: Plain
    reports: CellReports
    prior: LogitLaw  # of the frequencies
    a: Array  # (m,), with b: the beta priors
    b: Array

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.law.size - 1

    @cached_property
    def _start(self) -> Array:
        """The posterior mode of log ratios and logits by a Dirichlet prior, as (p, theta)."""
        own, k = self.prior, self.law.k
        alpha = own.alpha if isinstance(own, DirichletLaw) else np.ones(k)
        return best_of_starts(self.law, with_answers(self.reports, alpha, self.a, self.b))[0]

    @cached_property
    def _reference(self) -> int:
        return int(np.argmax(self._start[: self.law.k]))

    def _log_p_theta(self, z: Array) -> tuple[Array, Array]:
        """log p, (..., k), and theta, (..., m)."""
        from scipy.special import expit

        ratios = np.insert(z[..., : self.law.k - 1], self._reference, 0.0, axis=-1)
        return softmax_log(ratios), np.asarray(expit(z[..., self.law.k - 1 :]))

    def constrained(self, z: Array) -> Array:
        logp, theta = self._log_p_theta(z)
        return np.concatenate([np.exp(logp), theta], axis=-1)

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        from scipy.special import log_expit

        logp, theta = self._log_p_theta(z)
        k, n = self.law.k, self.reports.n
        logits, p = z[..., k - 1 :], np.exp(logp)
        value, gradient = self.prior.evaluate(logp)
        m, pull = self.law.at(self.reports, np.concatenate([p, theta], axis=-1))
        value = value + self.reports.loglike(m)
        value = value + log_expit(logits) @ self.a + log_expit(-logits) @ self.b
        with np.errstate(divide="ignore", invalid="ignore"):
            score = pull(np.where(n > 0.0, n / m, 0.0))
        by_p = p * (score[..., :k] - np.einsum("...k,...k->...", p, score[..., :k])[..., None])
        by_theta = theta * (1.0 - theta) * score[..., k:] + self.a - (self.a + self.b) * theta
        ratios = np.delete(gradient + by_p, self._reference, axis=-1)
        return value, np.concatenate([ratios, by_theta], axis=-1)

    def curvature(self, z: Array) -> Array:
        steps = _STEP * np.eye(self.size)
        up, down = (self.evaluate(z + sign * steps)[1] for sign in (1.0, -1.0))
        return (down - up) / (2.0 * _STEP)

    def mode(self) -> Array:
        p, theta = np.split(self._start, [self.law.k])
        logp = np.log(np.maximum(p, 1e-12))
        ratios = np.delete(logp - logp[self._reference], self._reference)
        theta = np.clip(theta, 1e-12, 1.0 - 1e-12)
        return maximum(self, np.concatenate([ratios, np.log(theta) - np.log1p(-theta)]))


def with_answers(reports: CellReports, alpha: Array, a: Array, b: Array) -> CellReports:
    """The reports with direct answers alpha, (k,), and trials of theta: a of 1, b of 0, (m,)."""
    k, m = alpha.size, a.size
    matrices, counts = [reports.devices[0]], [reports.n]
    if alpha.any():
        matrices.append(PolynomialMatrix.constant(np.eye(k), m))
        counts.append(alpha)
    for j in range(m):
        if a[j] or b[j]:
            exponents = np.array([np.zeros(m), np.eye(m)[j]], dtype=np.int64)
            rows = [np.tile([0.0, 1.0], (k, 1)), np.tile([1.0, -1.0], (k, 1))]
            matrices.append(PolynomialMatrix(exponents, np.array(rows)))
            counts.append(np.array([a[j], b[j]]))
    Q, n = PolynomialMatrix.beside(matrices), np.concatenate(counts)
    return replace(reports, n=n, devices={0: Q})


# -- several groups with partial pooling: see the head of this module ------------------------------


_WIDER = 4  # times the rows of the largest group up to which all groups share one matrix
_ROUNDS = 50
_POOLED_STEP = 1e-4  # of finite differences, in standard deviations


@record
class GroupReports:
    """The log-likelihood of each group's reports at a distribution of its own."""

    # numbers of groups, (b,), likelihoods, (u, k), and counts, (b, u); a group is in one at most
    parts: tuple[tuple[Array, Array, Array], ...]
    n_groups: int
    k: int

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood | None], k: int) -> GroupReports:
        """The likelihoods of groups, None without reports; rows that they share are kept once."""
        reporting = [(g, one) for g, one in enumerate(likelihoods) if one is not None]
        if not reporting:
            return cls((), len(likelihoods), k)
        groups = [g for g, _ in reporting]
        rows = [np.asarray(one.W.dense(), float) for _, one in reporting]
        counts = [np.asarray(one.n, float) for _, one in reporting]
        shared, place = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        if len(shared) > _WIDER * max(map(len, rows)):
            single = zip(groups, rows, counts, strict=True)
            parts = tuple((np.array([g]), W, n[None]) for g, W, n in single)
            return cls(parts, len(likelihoods), k)
        table = np.zeros((len(groups), len(shared)))
        owner = np.repeat(range(len(groups)), [*map(len, rows)])
        np.add.at(table, (owner, place.reshape(-1)), np.concatenate(counts))
        return cls(((np.array(groups), shared, table),), len(likelihoods), k)

    def evaluate(self, p: Array) -> tuple[Array, Array]:
        """Values, (c,), and gradients with respect to p, at p of shape (c, g, k)."""
        values, slopes = np.zeros(len(p)), np.zeros(p.shape)
        for groups, W, n in self.parts:
            m = p[:, groups] @ W.T
            possible = np.all((m > 0.0) | (n == 0), axis=(1, 2))
            safe = np.where(m > 0.0, m, 1.0)
            values += np.where(possible, (n * np.log(safe)).sum(axis=(1, 2)), -np.inf)
            slopes[:, groups] = np.where(possible[:, None, None], n / safe, 0.0) @ W
        return values, slopes


def _by_logs(p: Array, slopes: Array) -> Array:
    """Gradients with respect to the logarithms whose softmax is p."""
    return np.asarray(p * (slopes - (p * slopes).sum(axis=-1, keepdims=True)))


@record
class Frames:
    """``s' (e - e0) - (e - e0)' U L U' (e - e0) / 2``, which is nearly each group's likelihood."""

    centre: Array  # e0, (g, k - 1)
    directions: Array  # U, in columns, (g, k - 1, k - 1)
    precision: Array  # the diagonal of L, from 0 on, (g, k - 1)
    score: Array  # U' s, (g, k - 1)

    @classmethod
    def at(cls, reports: GroupReports, centre: Array, basis: Array) -> Frames:
        """The approximation at `centre`."""
        p = np.exp(softmax_log(centre @ basis.T))
        slopes = _by_logs(p, reports.evaluate(p[None])[1][0]) @ basis
        J = (p[:, :, None] * basis) - p[:, :, None] * (p @ basis)[:, None, :]
        # with expected counts in place of those observed it is never indefinite in log ratios
        by_p = np.zeros((reports.n_groups, reports.k, reports.k))
        for groups, W, n in reports.parts:
            m = p[groups] @ W.T
            weights = np.where(m > 0.0, n / np.maximum(m, 1e-300) ** 2, 0.0)
            by_p[groups] = np.einsum("gu,ui,uj->gij", weights, W, W, optimize=True)
        information = np.einsum("gia,gij,gjb->gab", J, by_p, J, optimize=True)
        values, U = np.linalg.eigh(information)
        return cls(centre, U, np.maximum(values, 0.0), np.einsum("gab,ga->gb", U, slopes))


@record
class PooledDensity(LogDensity):
    """Log posterior of pooled groups: of m, (k - 1,), log t, and (g, k - 1) row by row.

    Reported are the groups' distributions, (g, k), softmax(H m) of a group without effect, and t.
    """

    reports: GroupReports
    common: LogitLaw  # the prior of softmax(H m)
    scale: Pooling  # the prior of t

    @property
    def size(self) -> int:  # type: ignore[override]
        return (self.reports.k - 1) * (self.reports.n_groups + 1) + 1

    @cached_property
    def basis(self) -> Array:
        """H, an orthonormal basis of the vectors whose k entries sum to zero, (k, k - 1)."""
        steps = np.arange(1, self.reports.k)
        H = np.triu(np.ones((steps.size + 1, steps.size)))
        H[steps, steps - 1] = -steps
        return H / np.sqrt(steps * (steps + 1.0))

    def evaluate(self, z: Array) -> tuple[Array, Array]:
        e, m, t, h, shrink, spread, w, keeps = self._effects(z)
        f = self._fit[0]  # the normal approximations that coordinates rest on
        p = np.exp(softmax_log(e @ self.basis.T))
        values, slopes = self.reports.evaluate(p)
        by_e = _by_logs(p, slopes) @ self.basis
        half = 0.5 * t[:, None, None] ** 2  # t^2 / 2, the variance in each direction
        turned = np.einsum("gab,cga->cgb", f.directions, by_e) - w / half
        width = (self.reports.k - 1) * self.reports.n_groups
        values = values - (w**2 / half).sum(axis=(1, 2)) / 2.0 - width * np.log(t)
        values = values + np.log(spread).sum(axis=(1, 2))
        by_m = by_e - np.einsum("gab,cgb->cga", f.directions, f.precision * shrink * turned)
        by_t = turned * (2.0 * shrink * keeps * h + spread * keeps * self._of_groups(z))
        by_t = by_t.sum(axis=(1, 2))
        by_t += (w**2 / half).sum(axis=(1, 2)) - width + keeps.sum(axis=(1, 2))
        prior, prior_slopes = self.common.evaluate(softmax_log(m @ self.basis.T))
        scale, scale_slope = self.scale.log_density(t)
        gradient = np.concatenate(
            [
                by_m.sum(axis=1) + prior_slopes @ self.basis,
                (by_t + scale_slope + 1.0)[:, None],
                (turned * spread).reshape(len(z), -1),
            ],
            axis=1,
        )
        return values + prior + scale + np.log(t), gradient

    def mode(self) -> Array:
        start = np.concatenate([self._fit[1], np.zeros(self.size - self.reports.k)])
        return maximum(self, start)

    def curvature(self, z: Array) -> Array:
        """By differences of gradients; groups have no curvature in common but through m and t."""
        d, g = self.reports.k - 1, self.reports.n_groups
        moves = np.zeros((2 * d + 1, self.size))
        moves[np.arange(d + 1), np.arange(d + 1)] = _POOLED_STEP
        for a in range(d):
            moves[d + 1 + a, d + 1 + a :: d] = _POOLED_STEP
        ahead = self.evaluate(z + moves)[1]
        change = (self.evaluate(z - moves)[1] - ahead) / (2.0 * _POOLED_STEP)
        H = np.zeros((self.size, self.size))
        H[: d + 1] = change[: d + 1]
        H[:, : d + 1] = change[: d + 1].T
        H[: d + 1, : d + 1] = (change[: d + 1, : d + 1] + change[: d + 1, : d + 1].T) / 2.0
        blocks = change[d + 1 :, d + 1 :].reshape(d, g, d)
        for group in range(g):
            at = slice(d + 1 + group * d, d + 1 + (group + 1) * d)
            H[at, at] = (blocks[:, group] + blocks[:, group].T) / 2.0
        return H

    def constrained(self, z: Array) -> Array:
        flat = z.reshape(-1, self.size)
        e, m, t, *_ = self._effects(flat)
        groups = np.exp(softmax_log(e @ self.basis.T)).reshape(len(flat), -1)
        common = np.exp(softmax_log(m @ self.basis.T))
        values = np.concatenate([groups, common, t[:, None]], axis=1)
        return values.reshape(*z.shape[:-1], -1)

    def _of_groups(self, z: Array) -> Array:
        """The coordinates of each group, (c, g, k - 1)."""
        return z[:, self.reports.k :].reshape(len(z), self.reports.n_groups, self.reports.k - 1)

    def _effects(self, z: Array) -> tuple[Array, ...]:
        """The e of all groups, (c, g, k - 1), and what they are made of, from m, t to w."""
        d, f = self.reports.k - 1, self._fit[0]
        m, t = z[:, :d], np.exp(np.clip(z[:, d], -300.0, 300.0))
        half = 0.5 * t[:, None, None] ** 2
        keeps = 1.0 / (1.0 + half * f.precision)
        shrink, spread = half * keeps, np.sqrt(half * keeps)
        away = np.einsum("gab,cga->cgb", f.directions, f.centre - m[:, None, :])
        h = f.precision * away + f.score
        w = shrink * h + spread * self._of_groups(z)
        e = m[:, None, :] + np.einsum("gab,cgb->cga", f.directions, w)
        return e, m, t, h, shrink, spread, w, keeps

    @cached_property
    def _fit(self) -> tuple[Frames, Array]:
        """Frames, and a start (m, log t), by alternating between groups and what they share."""
        d, g = self.reports.k - 1, self.reports.n_groups
        e, m, variance = np.zeros((g, d)), np.zeros(d), 0.5
        for _ in range(_ROUNDS):
            before = e
            frames = Frames.at(self.reports, e, self.basis)
            gains = variance / (1.0 + variance * frames.precision)
            away = np.einsum("gab,ga->gb", frames.directions, frames.centre - m)
            w = gains * (frames.precision * away + frames.score)
            step = m + np.einsum("gab,gb->ga", frames.directions, w) - e
            e = e + np.clip(step, -2.0, 2.0)
            m = e.mean(axis=0)
            variance = float(np.clip(((e - m) ** 2 + gains).mean(), 1e-4, 4.0))
            if np.abs(e - before).max() < 1e-6:
                break
        frames = Frames.at(self.reports, e, self.basis)
        return frames, np.append(m, 0.5 * np.log(2.0 * variance))
