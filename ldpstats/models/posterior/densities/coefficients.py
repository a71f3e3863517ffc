"""Priors of the parameters of a regression: normal laws of combinations, and even levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.priors import Normal as NormalPrior
from ldpstats.problems.regression.even import EvenLevel
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Categorical, Multinomial, Normal
from ldpstats.problems.regression.predictors import Parallel, Predictors, Scaled
from ldpstats.problems.regression.standard import constant_column

__all__ = ["LEVEL", "SLOPE", "SPREAD", "CoefficientPrior", "coefficient_prior"]

Array = npt.NDArray[Any]

SLOPE = 2.5  # standard deviation of the slope of a standardised covariate
LEVEL = 10.0  # and of the level of numbers at the means of the covariates
_RANGE = 1e-9, 1e9  # of a standard deviation, in units of a standardised covariate
_WIDEST = 100.0  # the same, of a slope of log odds
SPREAD = 1.0  # and of the logarithm of the standard deviation of a number


@dataclass(frozen=True, eq=False)
class CoefficientPrior:
    """A prior of the parameters theta of a regression, shape (d,).

    Parameters
    ----------
    rows : array, shape (r, d)
        Combinations of parameters that are normal and independent.
    mean, sd : array, shape (r,)
    even : tuple of (int, EvenLevel)
        Levels with uniform probabilities, each with the place of the first parameter of its design.
    """

    rows: Array
    mean: Array
    sd: Array
    even: tuple[tuple[int, EvenLevel], ...] = ()

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

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
        found = -scaled.T @ scaled
        for at, level in self.even:
            inside = slice(at, at + level.design.size)
            found[inside, inside] += level.hessian(theta[inside])
        return np.asarray(found)

    @cached_property
    def log_scale(self) -> float:
        """What `evaluate` leaves out of the logarithm of the density."""
        linear, total = [self.rows], float(-np.log(self.sd * np.sqrt(2.0 * np.pi)).sum())
        for at, level in self.even:
            place = np.zeros((level.design.q, self.size))
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
        return np.asarray(theta)


def coefficient_prior(
    likelihood: RegressionLikelihood,
    names: Sequence[str],
    own: Mapping[int, tuple[float, float]],
    scale: tuple[float, float] | None = None,
) -> CoefficientPrior:
    """The default prior of a regression, with normal laws of one's own for some parameters.

    Slopes are normal with mean 0 and standard deviation 2.5 over that of the covariate; category
    probabilities at the means of the covariates are uniform. Slopes of a number are in standard
    deviations of the response; its mean has a standard deviation of 10 such, and the logarithm of
    sigma one of 1.

    Parameters
    ----------
    likelihood : RegressionLikelihood
    names : sequence of str
        Of all parameters.
    own : mapping of int to (mean, sd)
        Of parameters, by place. Those of the constants of one design are all given or none.
    scale : (float, float), optional
        Unit of a numeric response, and its expected level; by default its standard deviation and
        its mean.

    Raises
    ------
    ValueError
        Naming the constants, where some of one design are given and some are not.
    """
    rows, mean, sd = [], [], []
    even: list[tuple[int, EvenLevel]] = []
    d = likelihood.size
    scale = _scale(likelihood) if scale is None else scale
    parts = [(0, likelihood.outcome, [*likelihood.designs])]
    if likelihood.marginal is not None:
        several = Multinomial(len(likelihood.designs))
        parts.append((likelihood.n_outcome, several, [likelihood.marginal]))
    for at, outcome, designs in parts:
        laws, level = _part(likelihood, outcome, designs, at, own, names, scale)
        for row, m, s in laws:
            whole = np.zeros(d)
            whole[at : at + row.size] = row
            rows.append(whole)
            mean.append(m)
            sd.append(s)
        if level is not None:
            even.append((at, level))
    matrix = np.array(rows).reshape(len(rows), d)
    return CoefficientPrior(matrix, np.array(mean), np.array(sd), tuple(even))


_Law = tuple[Array, float, float]


def _part(
    likelihood: RegressionLikelihood,
    outcome: Any,
    designs: Sequence[Predictors],
    at: int,
    own: Mapping[int, tuple[float, float]],
    names: Sequence[str],
    scale: tuple[float, float],
) -> tuple[list[_Law], EvenLevel | None]:
    """Normal laws of combinations of the parameters of one kind of predictors, and its level."""
    design, w = designs[0], likelihood.weights
    centre, spread = _moments([one.X for one in designs], w)
    unit, middle = scale if isinstance(outcome, Normal) else (1.0, 0.0)
    p, size = design.p, design.size
    ordered = isinstance(design, Parallel)
    constant = None if ordered or not p else constant_column([one.X for one in designs])
    levels = [] if constant is None else [constant + p * e for e in range(_equations(design))]
    given = [j for j in levels if at + j in own]
    if given and len(given) < len(levels):
        raise ValueError(" and ".join(names[at + j] for j in levels))
    laws: list[_Law] = []
    basis = np.eye(size)
    for j in range(p * _equations(design)):
        if at + j in own:
            bounded = isinstance(outcome, Categorical) and j not in levels
            _check_range(names[at + j], *own[at + j], spread[j % p] / unit, bounded)
            laws.append((basis[j], *own[at + j]))
        elif j not in levels:
            laws.append((basis[j], 0.0, SLOPE * unit / spread[j % p]))
        elif not isinstance(outcome, Categorical):
            row = np.zeros(size)
            row[:p] = centre
            laws.append((row, middle, LEVEL * unit))
    if isinstance(design, Scaled):
        law = own.get(at + p, (float(np.log(unit)), SPREAD))
        laws.append((basis[p], *law))
    if not isinstance(outcome, Categorical) or given or not (ordered or levels):
        return laws, None
    place = type(design)(centre[None], design.q)
    return laws, EvenLevel(outcome, place, constant)


def _check_range(name: str, mean: float, sd: float, unit: float, bounded: bool) -> None:
    """Refuse a law of a coefficient that is not on the scale of its covariate.

    Under a very wide law of slopes the reports do not matter: their likelihood does not vanish
    where probabilities are zero and one.
    """
    low, most = _RANGE
    high = _WIDEST if bounded else most
    if low <= sd * unit <= high and abs(mean) * unit <= most:
        return
    remedy = (
        f"must have an sd from {low / unit:.3g} to {high / unit:.3g} and a mean up to "
        f"{most / unit:.3g}, on the scale of this covariate"
    )
    raise InvalidArgument(f"prior[{name!r}]", NormalPrior(mean, sd), remedy)


def _equations(design: Predictors) -> int:
    return 1 if isinstance(design, Parallel | Scaled) else design.q


def _moments(each: Sequence[Array], weights: Array) -> tuple[Array, Array]:
    """Means and standard deviations of covariates; of a constant the size."""
    total = float(weights.sum()) * len(each)
    mean = np.asarray(sum(weights @ X for X in each)) / total
    square = np.asarray(sum(weights @ (X - mean) ** 2 for X in each)) / total
    size = np.asarray(sum(weights @ X**2 for X in each)) / total
    return mean, np.sqrt(np.where(square > 1e-20 * size, square, np.where(size > 0.0, size, 1.0)))


def _scale(likelihood: RegressionLikelihood) -> tuple[float, float]:
    """The unit of a numeric response, and where its level is expected."""
    if not isinstance(likelihood.outcome, Normal):
        return 1.0, 0.0
    w, y = likelihood.weights, likelihood.seen
    offset = likelihood.designs[0].offset
    y = y if offset is None else y - offset
    mean = float(w @ y / w.sum())
    return float(np.sqrt(w @ (y - mean) ** 2 / w.sum())) or 1.0, mean
