"""Parameters of a regression: where iterations start, and in which units they are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Normal, Ordered, Poisson
from ldpstats.problems.regression.predictors import Parallel, Predictors, Scaled

__all__ = ["constant_column", "constant_combination", "start", "units"]

Array = npt.NDArray[Any]

_PART = 1e-6  # of the length of a constant, what is none of it


def constant_column(designs: Sequence[Array]) -> int | None:
    """The first column that is the same for all, and not zero, if there is one."""
    first = designs[0][0]
    for j in np.flatnonzero(first):
        if all(np.all(X[:, j] == first[j]) for X in designs):
            return int(j)
    return None


def constant_combination(designs: Sequence[Array]) -> Array | None:
    """Coefficients of the covariates whose sum is one for all, (p,), if there are such.

    As of a constant, or of dummies of all levels of a factor.
    """
    at, p = constant_column(designs), designs[0].shape[1]
    if at is not None:
        return np.asarray(np.eye(p)[at] / designs[0][0, at])
    size = np.sqrt(sum((X**2).sum(axis=0) for X in designs))
    size = np.where(size > 0.0, size, 1.0)
    gram = np.asarray(sum(X.T @ X for X in designs)) / np.outer(size, size)
    total = np.asarray(sum(X.sum(axis=0) for X in designs)) / size
    found = np.linalg.lstsq(gram, total, rcond=1e-12)[0]
    length = np.sqrt(sum(len(X) for X in designs))
    found = np.where(np.abs(found) > _PART * length, found, 0.0) / size
    off = max(float(np.abs(X @ found - 1.0).max()) for X in designs)
    return found if off < _PART else None


def start(likelihood: RegressionLikelihood) -> Array:
    """No effects: thresholds, means and spreads as in the whole."""
    theta = np.zeros(likelihood.size)
    design, outcome, w = likelihood.designs[0], likelihood.outcome, likelihood.weights
    p = design.p
    if isinstance(outcome, Ordered):
        cuts = np.log(np.arange(1, outcome.k) / (outcome.k - np.arange(1, outcome.k)))
        theta[p : p + outcome.q] = np.append(cuts[0], np.log(np.diff(cuts)))
    elif isinstance(outcome, Normal):
        y = likelihood.seen
        off = 0.0 if design.offset is None else design.offset
        X = sum(one.X for one in likelihood.designs) / len(likelihood.designs)
        root = np.sqrt(w)[:, None]
        slopes = np.linalg.lstsq(X * root, (y - off) * root[:, 0], rcond=None)[0]
        theta[:p] = slopes
        spread = float(w @ (y - off - X @ slopes) ** 2 / w.sum())
        theta[p] = 0.5 * np.log(max(spread, 1e-300))
    elif isinstance(outcome, Poisson):
        at = constant_column([one.X for one in likelihood.designs])
        if at is not None:
            mean = float(w @ likelihood.seen / w.sum())
            theta[at] = np.log(max(mean, 1e-3)) / design.X[0, at]
    return theta


def units(likelihood: RegressionLikelihood) -> Array:
    """Parameters from standardised ones, (size, size): slopes of standardised covariates."""
    found = np.zeros((likelihood.size, likelihood.size))
    m = likelihood.n_outcome
    found[:m, :m] = _of(likelihood.designs[0], [one.X for one in likelihood.designs])
    if isinstance(likelihood.outcome, Normal):
        found[: m - 1, : m - 1] *= float(np.std(likelihood.seen)) or 1.0
    if likelihood.marginal is not None:
        found[m:, m:] = _of(likelihood.marginal, [likelihood.marginal.X])
    return found


def _of(design: Predictors, each: Sequence[Array]) -> Array:
    """Units of the parameters of one kind of predictors."""
    n = sum(len(X) for X in each)
    mean = sum(X.sum(axis=0) for X in each) / n
    spread = np.sqrt(sum(((X - mean) ** 2).sum(axis=0) for X in each) / n)
    size = np.sqrt(sum((X**2).sum(axis=0) for X in each) / n)
    varies = spread > 1e-12 * size
    constant = constant_combination(each) if design.p else None
    ordered = isinstance(design, Parallel)
    own = np.diag(1.0 / np.where(size > 0.0, size, 1.0))
    if ordered:
        own = np.diag(1.0 / np.where(varies, spread, np.where(size > 0.0, size, 1.0)))
    elif constant is not None:  # covariates that it is not made of are centred by it
        others = np.flatnonzero(varies & (constant == 0.0))
        own[:, others] = -np.outer(constant, mean[others] / spread[others])
        own[others, others] = 1.0 / spread[others]
    if not ordered:
        whole = np.kron(np.eye(1 if isinstance(design, Scaled) else design.q), own)
        if isinstance(design, Scaled):
            return np.block(
                [[whole, np.zeros((design.p, 1))], [np.zeros((1, design.p)), np.ones((1, 1))]]
            )
        return whole
    whole = np.eye(design.size)
    whole[: design.p, : design.p] = own
    whole[design.p, : design.p] = np.where(varies, mean / np.where(varies, spread, 1.0), 0.0)
    return whole
