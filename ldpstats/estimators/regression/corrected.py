"""Regression on private predictors by corrected scores, which need no law of the predictors.

The corrected score ``sum_i w_i sum_c phi_ic s(y_i, c, z_i; theta)`` has mean zero at the true
parameters, as phi_ic is an unbiased indicator of the configuration c of the private predictors.
It is the derivative of a corrected log-likelihood (`CorrectedLikelihood`) that may have several
local maxima, or none.

Which root is taken. Let the indicators be shrunk to their means by a factor t. For every t in
[0, 1] their means given the true answers are then a mixture of them with positive weights, so that
the mean of the corrected log-likelihood is concave with one maximum, which moves smoothly from
that without any news of the predictors at t = 0 to the true parameters at t = 1. On bounded sets
the corrected log-likelihood and its derivatives converge to their means uniformly in t. So the
path of local maxima that begins at t = 0 ends in the consistent root, with probability tending to
one, and all other roots run to infinity.

In small samples estimates have heavy tails, and there may be no root. Three categories under k-RR
at epsilon 1 as predictor of a logit: no root in 0 of 1,000 surveys of 3,000 respondents, 1.2% of
800 and 7.5% of 300; of 3,000 at epsilon .5, 2%. Wald intervals of 95% from the sandwich covered
.95 to .97 at 3,000, .95 to .99 at 800, and .98 to 1 at 300, given that there is a root; at epsilon
.5 .93 to .98.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.problems.regression.corrected import CorrectedLikelihood
from ldpstats.problems.regression.outcomes import Normal, Outcome
from ldpstats.problems.regression.predictors import Predictors, predictors_of

__all__ = ["Corrected", "corrected"]

Array = npt.NDArray[Any]

_REMEDY = (
    "use method='mle', which adds what the other predictors say of the private ones, or collect "
    "more reports, or reports with a larger epsilon"
)
_LONGEST = 1.0  # root mean square change of the linear predictors in a step
_FAR = 40.0  # of their spread, beyond which there is nothing to be found
_SETTLED = 1e-15  # Newton decrement, in squared standard errors without noise
_FLAT = 1e-9  # curvature that counts as none, as a share of the smoothed information
_FIRST, _LEAST = 0.5, 1.0 / 128.0  # steps of the path
_ITERATIONS = 40
_HALVINGS = 30
_SAME = 1e-4  # change of the linear predictors between two roots that are one


@dataclass(frozen=True, eq=False)
class Corrected:
    """A root of the corrected score.

    Parameters
    ----------
    theta : array, shape (P,)
        Parameters of the outcome; of a number the coefficients alone.
    influence : array, shape (n, P)
        The corrected score of each respondent, without her weight.
    bread : array, shape (P, P)
        Minus the derivative of the weighted sum of the scores: the covariance is ``bread^-1 M
        bread^-1`` with M that of the sum.
    value : float
        The corrected log-likelihood; nan for a number.
    scale : float
        Estimated residual variance of a number, which may be negative; nan for others.
    converged : bool
    n_iter : int
        Newton steps.
    n_roots : int
        Local maxima of the corrected log-likelihood that were met.
    on_path : bool
        Whether the root ends the path that leads to the consistent one. Where it does not, it is
        the root with the smallest spread of the linear predictors.
    spread : float
        Root mean square of the linear predictors about their mean, over respondents and
        configurations; nan for a number. Above 4 the estimate is far out: the reports say little.
    """

    theta: Array
    influence: Array
    bread: Array
    value: float
    scale: float
    converged: bool
    n_iter: int
    n_roots: int
    on_path: bool
    spread: float

    def covariance(self, weights: Array | None = None) -> Array:
        """The sandwich of independent respondents, shape (P, P)."""
        rows = self.influence if weights is None else self.influence * weights[:, None]
        half = np.linalg.solve(self.bread, rows.T)
        return np.asarray(half @ half.T)


def corrected(
    designs: Sequence[Any],
    phi: Array,
    response: Array,
    outcome: Outcome,
    weights: Array | None = None,
    offset: Array | None = None,
    starts: Sequence[Array] = (),
) -> Corrected:
    """Solve the corrected score equations.

    Parameters
    ----------
    designs : sequence of Predictors, or of arrays of shape (n, p); length C
        The covariates of the outcome if the private predictors are in configuration c.
    phi : array, shape (n, C)
        Unbiased indicators of the configurations: products of those of single predictors that were
        randomised independently.
    response : array, shape (n,) or (n, k)
        Numbers, or indicators of the categories; those of a private response are unbiased ones.
    outcome : Outcome
    weights : array, shape (n,), optional
    offset : array, shape (n,), optional
        Added to the linear predictors, where `designs` are arrays.
    starts : sequence of arrays, shape (P,)
        Further starts, which tell how many roots there are.

    Raises
    ------
    NotIdentified
        If the score has no root at which its derivative is negative definite, as happens in small
        samples and for small epsilon.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.problems.regression.indicators import unbiased_indicators
    >>> rng = np.random.default_rng(1)
    >>> x = rng.integers(0, 2, 5000)
    >>> y = 1.0 + 2.0 * x + rng.normal(size=5000)
    >>> phi = unbiased_indicators(ldp.KRR(2, epsilon=1.0).privatize(x, rng)).rows()
    >>> designs = [np.column_stack([np.ones(5000), np.full(5000, c)]) for c in (0.0, 1.0)]
    >>> corrected(designs, phi, y, Normal()).theta.round(1).tolist()
    [1.0, 2.0]
    """
    made = tuple(
        one if isinstance(one, Predictors) else predictors_of(outcome, one, offset)
        for one in designs
    )
    w = np.ones(len(phi)) if weights is None else weights
    if isinstance(outcome, Normal):
        return _closed(made, phi, response, w)
    target = CorrectedLikelihood(outcome, made, phi, response, w)
    begin, n_first = _first(target)
    last, n_path = _followed(target, begin)
    met = [] if last is None else [last]
    total = n_first + n_path
    for start in (*starts, np.zeros(target.size), begin):
        other, n_other = _climbed(target, start, begin)
        total += n_other
        if other is not None and all(target.moved(one, other) > _SAME for one in met):
            met.append(other)
    if not met:
        raise NotIdentified(
            "the corrected score has no root at which its derivative is negative definite: the "
            f"randomisation outweighs what these reports say of the private predictors; {_REMEDY}"
        )
    theta = last if last is not None else min(met, key=target.spread)
    value, _, hessian = target.evaluate(theta)
    return Corrected(
        theta=theta,
        influence=target.score_rows(theta),
        bread=-hessian,
        value=value,
        scale=float("nan"),
        converged=True,
        n_iter=total,
        n_roots=len(met),
        on_path=last is not None,
        spread=target.spread(theta),
    )


# ---- a number


def _closed(designs: tuple[Predictors, ...], phi: Array, y: Array, w: Array) -> Corrected:
    """Corrected least squares."""
    p = designs[0].p
    bread, right = np.zeros((p, p)), np.zeros(p)
    off = [y if one.offset is None else y - one.offset for one in designs]
    for c, design in enumerate(designs):
        weighted = design.X[:, :p] * (w * phi[:, c])[:, None]
        bread += weighted.T @ design.X
        right += weighted.T @ off[c]
    smooth = sum(
        (design.X * (w * mean)[:, None]).T @ design.X
        for design, mean in zip(designs, np.abs(w @ phi) / w.sum(), strict=True)
    )
    if not _is_peak(-bread, np.asarray(smooth)):
        raise NotIdentified(
            "the corrected cross products of the covariates are not positive definite: the "
            f"randomisation outweighs what these reports say of the private predictors; {_REMEDY}"
        )
    beta = np.linalg.solve(bread, right)
    influence, square = np.zeros((len(y), p)), 0.0
    for c, design in enumerate(designs):
        resid = off[c] - design.X @ beta
        influence += design.X * (phi[:, c] * resid)[:, None]
        square += float((w * phi[:, c]) @ resid**2)
    scale, nan = square / float(w.sum()), float("nan")
    return Corrected(beta, influence, bread, nan, scale, True, 1, 1, True, nan)


# ---- other outcomes


def _first(target: CorrectedLikelihood) -> tuple[Array, int]:
    """The maximum of the concave problem without any news of the predictors."""
    smooth = target.smoothed(0.0)
    start = np.zeros(target.size)
    found, n_iter = _climbed(smooth, start, start)
    if found is None:
        raise NotIdentified(
            "the outcome determines no coefficients even if the private predictors are left to "
            "their means: columns of X are linear combinations of others, or the public ones "
            "separate the outcome; leave columns out, or use method='mle' with penalty='jeffreys'"
        )
    return found, n_iter


def _followed(target: CorrectedLikelihood, begin: Array) -> tuple[Array | None, int]:
    """The end of the path of maxima from smoothed indicators to those of the reports."""
    at, t, step, total = begin, 0.0, _FIRST, 0
    while t < 1.0:
        ahead = min(1.0, t + step)
        found, n_iter = _climbed(target.smoothed(ahead) if ahead < 1.0 else target, at, begin)
        total += n_iter
        if found is None or target.moved(at, found) > 8.0 * _LONGEST * step / _FIRST:
            step /= 2.0
            if step < _LEAST:
                return None, total
            continue
        at, t, step = found, ahead, 2.0 * step
    return at, total


def _climbed(
    target: CorrectedLikelihood, start: Array, reference: Array
) -> tuple[Array | None, int]:
    """The local maximum that short steps uphill lead to, None if there is none; and the steps.

    `reference` has the information that curvature is measured by.
    """
    theta = start
    there, score, hessian = target.evaluate(theta)
    for n_iter in range(_ITERATIONS):
        step, decrement, is_peak = _step(score, hessian)
        if not np.isfinite(decrement):
            return None, n_iter
        if is_peak and decrement <= _SETTLED:
            return theta + step, n_iter
        length = min(1.0, _LONGEST / max(target.moved(theta, theta + step), 1e-300))
        for _ in range(_HALVINGS):
            tried = theta + length * step
            at = target.value(tried)
            if at >= there + 1e-4 * length * decrement - 1e-12 * (1.0 + abs(there)):
                break
            length /= 2.0
        else:
            return None, n_iter
        theta = tried
        if target.spread(theta) > _FAR:
            return None, n_iter
        there, score, hessian = target.evaluate(theta)
    return None, _ITERATIONS


def _step(score: Array, hessian: Array) -> tuple[Array, float, bool]:
    """A step uphill, what it promises, and whether the function is concave here."""
    if not (np.isfinite(score).all() and np.isfinite(hessian).all()):
        return score, float("nan"), False
    size = np.sqrt(np.abs(np.diagonal(hessian)))
    size = np.where(size > 0.0, size, 1.0)
    curvature, axes = np.linalg.eigh(-hessian / np.outer(size, size))
    g = axes.T @ (score / size)
    step = (axes @ (g / np.maximum(np.abs(curvature), 1e-8))) / size
    return step, float(score @ step), bool(curvature[0] > _FLAT)


def _is_peak(hessian: Array, information: Array) -> bool:
    """Whether minus the Hessian is positive definite, in units of an information."""
    size = np.sqrt(np.diagonal(information))
    if not np.all(size > 0.0):
        return False
    return bool(np.linalg.eigvalsh(-hessian / np.outer(size, size))[0] > _FLAT)
