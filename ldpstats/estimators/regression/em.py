"""Data augmentation: the likelihood's maximum by weighted fits to completed data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.newton import Maximum, maximise
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.outcomes import Multinomial

__all__ = ["expectation_maximisation"]

Array = npt.NDArray[Any]

_TOLERANCE = 1e-19  # of the Newton decrement, per unit of the log-likelihood


_NO_GAIN = 1e-9  # of the log-likelihood, from which on the decrement is looked at


def expectation_maximisation(
    likelihood: RegressionLikelihood, start: Array, maxiter: int = 10_000
) -> Maximum:
    """Maximise by EM (Dempster, Laird and Rubin 1977), accelerated by SQUAREM.

    Each step completes every respondent by all true answers that she may have, weighted by their
    posterior probability, and fits the outcome and the law of the predictors to them (Varadhan and
    Roland 2008 for the acceleration).

    Parameters
    ----------
    likelihood : RegressionLikelihood
    start : array, shape (size,)
    maxiter : int
        Of fits to completed data.
    """
    theta, value, n_iter, settled = np.array(start), likelihood.value(start), 0, False
    while n_iter < maxiter:
        first = _step(likelihood, theta)
        second = _step(likelihood, first)
        n_iter += 2
        theta0, r, v = theta, first - theta, second - 2.0 * first + theta
        theta, at = second, likelihood.value(second)
        if np.any(v):
            length = max(1.0, float(np.linalg.norm(r) / np.linalg.norm(v)))
            longer = theta0 + 2.0 * length * r + length**2 * v
            if length > 1.0 and (beyond := likelihood.value(longer)) > at:
                theta, at = longer, beyond
        gain, value = at - value, at
        if gain <= _NO_GAIN * (1.0 + abs(value)):
            _, score, hessian = likelihood.evaluate(theta)
            left = float(score @ np.linalg.lstsq(-hessian, score, rcond=None)[0])
            if 0.0 <= left <= _TOLERANCE * (1.0 + abs(value)):
                settled = True
                break
    there, score, hessian = likelihood.evaluate(theta)
    left = float(score @ np.linalg.lstsq(-hessian, score, rcond=None)[0])
    return Maximum(theta, there, score, hessian, left, settled, n_iter)


def _step(likelihood: RegressionLikelihood, theta: Array) -> Array:
    """The fit to data completed under theta."""
    m = likelihood.n_outcome
    posterior = likelihood.posterior(theta)  # (n, C)
    parts = []
    for c, design in enumerate(likelihood.designs):
        weights = likelihood.weights * posterior[:, c]
        if isinstance(likelihood.seen, Seen):
            joint = likelihood.seen[:] * likelihood.outcome.mean(design.eta(theta[:m]))
            joint /= joint.sum(axis=1, keepdims=True)
            k = joint.shape[1]
            for y in range(k):
                at = np.full(likelihood.n, y)
                parts.append((design, Seen(np.eye(k), at), weights * joint[:, y]))
        else:
            parts.append((design, likelihood.seen, weights))
    complete = [
        RegressionLikelihood(likelihood.outcome, (design,), seen, weights)
        for design, seen, weights in parts
    ]
    beta = _fit(complete, theta[:m])
    if likelihood.marginal is None:
        return beta
    C = len(likelihood.designs)
    marginals = [
        RegressionLikelihood(
            Multinomial(C),
            (likelihood.marginal,),
            Seen(np.eye(C), np.full(likelihood.n, c)),
            likelihood.weights * posterior[:, c],
        )
        for c in range(C)
    ]
    return np.append(beta, _fit(marginals, theta[m:]))


def _fit(parts: list[RegressionLikelihood], start: Array) -> Array:
    """The maximum of the sum of several likelihoods of the same parameters."""

    def value(theta: Array) -> float:
        return sum(part.value(theta) for part in parts)

    def evaluate(theta: Array) -> tuple[float, Array, Array]:
        every = [part.evaluate(theta) for part in parts]
        return (
            sum(one[0] for one in every),
            np.sum([one[1] for one in every], axis=0),
            np.sum([one[2] for one in every], axis=0),
        )

    return maximise(evaluate, value, start).theta
