"""The likelihood of a regression and its score at many parameter vectors at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Multinomial

__all__ = ["scores_at"]

Array = npt.NDArray[Any]

_BLOCK = 1 << 17  # numbers of the largest array that is made at a time: it stays in the cache


def scores_at(likelihood: RegressionLikelihood, thetas: Array) -> tuple[Array, Array]:
    """Log-likelihood and score at c parameter vectors.

    Parameters
    ----------
    likelihood : RegressionLikelihood
    thetas : array, shape (c, size)

    Returns
    -------
    values : array, shape (c,)
        Minus infinity, or nan, where the likelihood is not defined.
    scores : array, shape (c, size)

    Examples
    --------
    >>> from ldpstats.problems.regression.likelihood import Seen
    >>> from ldpstats.problems.regression.outcomes import Binary
    >>> from ldpstats.problems.regression.predictors import Separate
    >>> warner = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> seen = Seen(warner, np.array([0, 1, 1]))
    >>> plain = RegressionLikelihood(Binary(), (Separate(np.ones((3, 1)), 1),), seen, np.ones(3))
    >>> values, scores = scores_at(plain, np.array([[0.0], [1.0]]))
    >>> values.round(3)
    array([-2.079, -1.926])
    """
    values = np.full(len(thetas), likelihood.constant)
    scores = np.zeros((len(thetas), likelihood.size))
    mixed = likelihood.marginal is not None
    for part in _blocks(likelihood, len(thetas)):
        value, score = (_mixed if mixed else _plain)(part, thetas)
        values += value
        scores += score
    return values, scores


def _blocks(likelihood: RegressionLikelihood, chains: int) -> Iterator[RegressionLikelihood]:
    """Parts of the rows that fit in the cache."""
    width = chains * len(likelihood.designs) * (likelihood.outcome.q + 1)
    step = max(256, _BLOCK // width)
    if step >= likelihood.n:
        yield likelihood
        return
    for start in range(0, likelihood.n, step):
        yield likelihood.take(slice(start, start + step))


def _plain(likelihood: RegressionLikelihood, thetas: Array) -> tuple[Array, Array]:
    """Values (c,) and scores (c, size) where no predictor is private."""
    design, w = likelihood.designs[0], likelihood.weights
    value, first = likelihood.outcome.slopes(design.etas(thetas), likelihood.seen[:])
    return value @ w, design.adjoints(thetas, first * w[:, None])


def _mixed(likelihood: RegressionLikelihood, thetas: Array) -> tuple[Array, Array]:
    """The same, summed over the configurations of private predictors."""
    marginal, w, m = likelihood.marginal, likelihood.weights, likelihood.n_outcome
    assert marginal is not None
    assert likelihood.B is not None
    betas, gammas, seen = thetas[:, :m], thetas[:, m:], likelihood.seen[:]
    each = [likelihood.outcome.slopes(one.etas(betas), seen) for one in likelihood.designs]
    logarithms = np.stack([value for value, _ in each], axis=2)  # (c, n, C)
    top = np.nan_to_num(logarithms.max(axis=2), neginf=0.0)
    law = Multinomial(len(each)).mean(marginal.etas(gammas))
    joint = likelihood.B[:] * law * np.exp(logarithms - top[:, :, None])
    total = joint.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        posterior = joint / total[:, :, None]
        values = (np.log(total) + top) @ w
    scores = np.zeros(thetas.shape)
    for c, (design, (_, first)) in enumerate(zip(likelihood.designs, each, strict=True)):
        weighted = first * (posterior[:, :, c] * w)[:, :, None]
        scores[:, :m] += design.adjoints(betas, weighted)
    away = (posterior[:, :, 1:] - law[:, :, 1:]) * w[:, None]
    scores[:, m:] = marginal.adjoints(gammas, away)
    return values, scores
