"""Fits of regressions: the highest maximum, EM, Newton, least squares, corrected scores, bounds.

Corrected scores need no law of the private predictors: ``sum_i w_i sum_c phi_ic s(y_i, c, z_i;
theta)`` has mean zero at the true parameters, as phi_ic is an unbiased indicator of configuration
c. It is the derivative of a corrected log-likelihood (`CompletedLikelihood`) that may have several
local maxima, or none. Let the indicators be shrunk to their means by a factor t: given the true
answers the mean of that likelihood is concave for every t in [0, 1], and its maximum moves smoothly
from that without any news of the predictors to the true parameters. So the path of local maxima
that begins at t = 0 ends in the consistent root, with probability tending to one; all other roots
run to infinity. Small samples may have no root: of a logit on three categories under k-RR at
epsilon 1, none in 0 of 1,000 surveys of 3,000 respondents, 1.2% of 800 and 7.5% of 300. Intervals
of 95% from the sandwich covered .95 to .97, .95 to .99 and .98 to 1, given that there is a root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Protocol

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.labels import Mask
from ldpstats.likelihood.regression import (
    CompletedLikelihood,
    Expansion,
    ExpectedInformation,
    Multinomial,
    Normal,
    Outcome,
    RegressionLikelihood,
    Seen,
    predictors_of,
    scaled,
)

_SAME_VALUE = 1e-6  # log-likelihood by which one maximum may differ from itself
_SAME_PLACE = 0.05  # distance of two maxima, in standard errors, that are one
_FAR = 60.0  # standardised parameter beyond which nothing changes any more
_SUSPECT = 6.0  # standardised parameter that may be on its way to infinity
_OUT = 10.0  # how much further out it is looked for a fall of the likelihood
_CURVED = 0.05  # curvature below which a direction may be flat
_FALL = 0.5  # a fall below this leaves infinity within half a standard error
_ABOUT = 1e-7  # Newton decrement that tells which maximum it is
_VAGUE = 0.35  # largest standard error, of standardised parameters, of a maximum that may be low
_MORE = 8  # steep starts that are tried then, beside some for each parameter
_STEEP = 6.0  # spread of their standardised parameters
_TRIED = 30  # iterations from other starts
_PLAIN = 12  # steps without second derivatives of a penalty,
_BENT = 6  # and with those of one place
_SPREAD = 2.0  # of standardised parameters in random starts


class Objective(Protocol):
    """What is maximised: its value, and with gradient and Hessian."""

    def value(self, theta: Array) -> float: ...
    def evaluate(self, theta: Array) -> Expansion: ...


@record
class Found:
    """The highest maximum, and what else was met.

    `n_maxima` counts the distinct local maxima that starts led to. `flat`, (2, p), is of directions
    in which the likelihood does not fall, None where the maximum is finite: the part that each
    standardised parameter has in them, less what leaves the parameter itself as it is; then how far
    the parameter itself goes along, as a constant with covariates that are not centred.
    """

    maximum: Maximum
    n_maxima: int = 1
    flat: Array | None = None


def search(
    objective: Objective,
    start: Array,
    units: Array,
    others: Sequence[Array] = (),
    maxiter: int = 100,
    concave: bool = False,
    smaller: Objective | None = None,
    n_random: int = 4,
    enough: float = 0.0,
) -> Found:
    """Maximise from several starts.

    `units`, (p, p), make parameters of standardised ones, which have no unit: ``theta = units @
    z``. `others` are other starts; random ones are added about the first maximum. `concave` tells
    whether there is one maximum at most. On `smaller`, the objective of some rows, other starts are
    tried where rows are many; they are not tried if the standard error of every standardised
    parameter is below `enough`.
    """

    def far(theta: Array) -> bool:
        return _size(theta, units) > _FAR

    def about(target: Objective, starts: Sequence[Array]) -> list[Maximum]:
        """About the maxima that starts lead to, of those at which the likelihood is not zero."""
        how = None, min(maxiter, _TRIED), _ABOUT, far, units
        return [maximise(target, one, *how) for one in starts if np.isfinite(target.value(one))]

    best = maximise(objective, start, None, maxiter, 0.0, far, units)
    error = np.inf  # the largest standard error of a standardised parameter
    if not concave and best.converged and _size(best.theta, units) < _SUSPECT:
        size, axes = np.linalg.eigh(-units.T @ best.hessian @ units)
        if size.size and size[0] > 0.0:
            error = float(np.sqrt(((axes**2) / size).sum(axis=1).max()))
    tried: list[Array] = []
    if not concave and error >= enough:
        # about the first maximum, or about the first start if that is far out
        centre = best.theta if _size(best.theta, units) < _SUSPECT else start
        tried = [*others, *_random_starts(centre, _SPREAD, n_random, units)]
        if n_random and error > _VAGUE:
            # covariates nearly determine the outcome there, as at maxima of little information
            tried += _random_starts(start, _STEEP, _MORE + 2 * start.size, units, 2025)
    if smaller is None or not tried:
        met = [best, *about(objective, tried)]
    else:  # what other starts lead to on some rows is climbed on with all
        own = maximise(smaller, best.theta, None, maxiter, 0.0, far, units)
        elsewhere = _distinct([own, *about(smaller, tried)])[1:]
        met = [best, *about(objective, [one.theta for one in elsewhere])]
    distinct = [one for one in _distinct(met) if one.converged]
    top = max(met, key=attrgetter("value"))
    same = [one for one in distinct if one.value >= top.value - _SAME_VALUE]
    top = same[0] if same else top
    if top is not best and abs(top.value - best.value) > _SAME_VALUE:
        top = maximise(objective, top.theta, None, maxiter, 0.0, far, units)
    elif best.converged:
        top = best
    if isinstance(objective, Penalised):
        top = replace(top, hessian=objective.bent_at(top.theta).evaluate(top.theta)[2])
    flat = None if error < enough else flat_direction(objective, top, units)
    return Found(top, max(1, len(distinct)), flat)


def _size(theta: Array, units: Array) -> float:
    """The largest standardised parameter."""
    return float(np.abs(np.linalg.solve(units, theta)).max(initial=0.0))


def _random_starts(
    about: Array, spread: float, count: int, units: Array, seed: int = 2024
) -> list[Array]:
    """Random starts, the same in every call; `spread` is that of their standardised parameters."""
    moves = (np.random.default_rng(seed).normal(size=(count, len(about))) * spread) @ units.T
    return list(about + moves)


def _distinct(met: Sequence[Maximum]) -> list[Maximum]:
    """One of each maximum, the highest first."""
    kept: list[Maximum] = []
    for one in sorted(met, key=attrgetter("value"), reverse=True):
        for other in kept:
            off = one.theta - other.theta
            distance = float(off @ -other.hessian @ off)
            if abs(one.value - other.value) < _SAME_VALUE and distance < _SAME_PLACE**2:
                break
        else:
            kept.append(one)
    return kept


def flat_direction(
    objective: Objective, maximum: Maximum, units: Array, free: Mask | None = None
) -> Array | None:
    """How much each parameter takes part in maxima at infinity, see `Found`; None if it is finite.

    Directions in which the objective is nearly flat, and that of an estimate that is far out, are
    followed further out: it does not fall where the maximum is at infinity.
    """
    free = np.ones(maximum.theta.shape, dtype=bool) if free is None else free
    if not free.any():
        return None
    own = units[np.ix_(free, free)]
    toward = np.linalg.solve(own, maximum.theta[free])
    curved = -own.T @ maximum.hessian[np.ix_(free, free)] @ own
    is_far = _size(maximum.theta, units) >= _SUSPECT
    axes = [toward] if is_far else []
    if np.isfinite(curved).all():
        size, vectors = np.linalg.eigh(curved)
        # of a rare covariate, one unit is many standardised ones: nothing may look far out
        if not is_far and (size[0] >= _CURVED or not maximum.converged):
            return None
        axes += list(vectors[:, (size < _CURVED) | (size == size[0])].T)
    flat = np.zeros((2, int(free.sum())))
    for axis in axes:
        axis = axis / np.linalg.norm(axis)
        for side in (1.0, -1.0) if axis @ toward >= 0.0 else (-1.0, 1.0):
            move = np.zeros(maximum.theta.shape)
            move[free] = own @ axis * side
            if objective.value(maximum.theta + _OUT * move) > maximum.value - _FALL:
                goes = np.abs(own @ axis) / np.abs(np.diagonal(own))
                flat = np.maximum(flat, [np.minimum(np.abs(axis), goes), goes])
                break
    if not flat.any():
        return None
    whole = np.zeros((2, len(maximum.theta)))
    whole[:, free] = flat
    return whole


# -- Data augmentation: the likelihood's maximum by weighted fits to completed data ---------------


_TOLERANCE = 1e-19  # of the Newton decrement, per unit of the log-likelihood
_NO_GAIN = 1e-9  # of the log-likelihood, from which on the decrement is looked at


def expectation_maximisation(
    likelihood: RegressionLikelihood, start: Array, maxiter: int = 10_000
) -> Maximum:
    """Maximise by EM (Dempster, Laird and Rubin 1977), accelerated by SQUAREM.

    Each step completes every respondent by all true answers that she may have, weighted by their
    posterior probability, and fits the outcome and the law of the predictors to them (Varadhan and
    Roland 2008 for the acceleration). `maxiter` counts fits to completed data.
    """
    theta, value, n_iter = np.array(start), likelihood.value(start), 0
    while n_iter < maxiter:
        first = _em_step(likelihood, theta)
        second = _em_step(likelihood, first)
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
            met = maximise(likelihood, theta, maxiter=1)
            if met.decrement <= _TOLERANCE * (1.0 + abs(value)):
                return replace(met, n_iter=n_iter)
    return replace(maximise(likelihood, theta, maxiter=1), converged=False, n_iter=n_iter)


def _em_step(likelihood: RegressionLikelihood, theta: Array) -> Array:
    """The fit to data completed under theta."""
    m, n, answers = likelihood.n_outcome, likelihood.n, likelihood.seen
    posterior = likelihood.posterior(theta)  # (n, C)
    if isinstance(answers, Seen):
        means = [likelihood.outcome.mean(one.eta(theta[:m])) for one in likelihood.designs]
        joint = np.stack([answers[:] * mean for mean in means], axis=1)  # (n, C, k)
        answers = joint / joint.sum(axis=2, keepdims=True)
    how = likelihood.outcome, likelihood.designs, posterior, answers, likelihood.weights
    whole = CompletedLikelihood(*how)
    beta = maximise(whole, theta[:m]).theta
    if likelihood.marginal is None:
        return beta
    every = Multinomial(len(likelihood.designs)), (likelihood.marginal,)
    law = CompletedLikelihood(*every, np.ones((n, 1)), posterior, likelihood.weights)
    return np.append(beta, maximise(law, theta[m:]).theta)


# -- Newton's method for smooth functions that need not be concave --------------------------------


_FLOOR = 1e-7  # of the scaled curvature: flatter directions are taken to be of this curvature
_LONGEST = 20.0  # times what parameters are, and one more, that a step may be long
_ENOUGH = 1e-4  # of the predicted gain, that a step must reach
_HALVINGS = 40
_ROUNDING = 1e-18  # decrement relative to the value, far below any standard error
_INWARD = 1e-9  # slope that leads away from a bound


@record
class Maximum:
    """Where an iteration ended.

    `decrement` is ``s' (-H)^-1 s`` over the free parameters: twice the gain that a quadratic would
    still have. `held`, (p,), is what a bound holds, or the caller.
    """

    theta: Array  # (p,)
    value: float
    score: Array  # (p,)
    hessian: Array  # (p, p)
    decrement: float
    converged: bool
    n_iter: int
    held: Mask  # (p,)


def maximise(
    objective: Objective,
    start: Array,
    free: Mask | None = None,
    maxiter: int = 100,
    tolerance: float = 0.0,
    stop: Callable[[Array], bool] | None = None,
    units: Array | None = None,
    bounded: Mask | None = None,
    reach: Callable[[Array, Array], float] | None = None,
) -> Maximum:
    """Maximise a function by damped Newton steps.

    Directions in which the function is convex or flat are climbed by the gradient: their curvature
    is taken by its absolute value. `free`, (p,), tells which parameters may change. A Newton
    decrement of `tolerance`, twice the gain that is left, is small enough; by default what rounding
    leaves. `stop` ends the iteration early where it is true of theta, and `reach` is the largest
    part of a step from theta that may be taken, or more. `units` make parameters of standardised
    ones, ``theta = units @ z``: in these the curvature of a covariate is told from rounding whose
    mean is very many of its standard deviations. Parameters that are `bounded` stay in [0, 1]: a
    step ends at the first bound, and what a bound holds is let go where the slope leads inside.
    """
    theta = np.array(start, dtype=np.float64)
    free = np.ones(theta.shape, dtype=bool) if free is None else free
    bounded = np.zeros(theta.shape, dtype=bool) if bounded is None else bounded & free
    held = ~free | (bounded & ((theta <= 0.0) | (theta >= 1.0)))
    there, score, hessian = objective.evaluate(theta)
    decrement, n_iter, settled, refreshed = np.inf, 0, False, _PLAIN
    while n_iter < maxiter:
        # where a penalty slows it down its second derivatives are taken too
        if isinstance(objective, Penalised) and n_iter >= refreshed:
            objective, refreshed = objective.bent_at(theta), n_iter + _BENT
            there, score, hessian = objective.evaluate(theta)
        n_iter += 1
        moves = np.ix_(~held, ~held)
        own, step = None if units is None else units[moves], np.zeros(theta.shape)
        step[~held], decrement, is_peak = _newton_step(
            score[~held], hessian[moves], theta[~held], own
        )
        rounding = _ROUNDING * (1.0 + abs(there))
        if decrement <= (max(tolerance, rounding) if is_peak else rounding):
            inward = bounded & held & (np.where(theta <= 0.0, score, -score) > _INWARD)
            if inward.any():
                held = held & ~inward
                continue
            moved, settled = False, is_peak  # else it is flat
        else:
            room = np.full(theta.shape, np.inf)
            falls, grows = bounded & (step < 0.0), bounded & (step > 0.0)
            room[falls] = theta[falls] / -step[falls]
            room[grows] = (1.0 - theta[grows]) / step[grows]
            most = np.inf if reach is None else reach(theta, step)
            length, unit = min(1.0, float(room.min()), most), 1.0 + abs(there)
            for _ in range(_HALVINGS):
                tried, met = theta + length * step, room <= length
                tried[met] = step[met] > 0.0
                at = objective.value(tried)
                moved = at >= there + _ENOUGH * length * decrement
                moved = moved or (decrement < 1e-9 * unit and at >= there - 1e-13 * unit)
                if moved:
                    break
                length *= 0.5
            settled = not moved and is_peak and decrement <= 1e-10 * unit  # by rounding
        if not moved:
            if settled or not isinstance(objective, Penalised):
                break
            refreshed = n_iter
            continue
        theta, held = tried, held | met
        there, score, hessian = objective.evaluate(theta)
        if stop is not None and stop(theta):
            break
    return Maximum(theta, there, score, hessian, float(decrement), settled, n_iter, held)


def search_bounded(
    objective: Objective, starts: Sequence[Array], units: Array, m: int, apart: float = 1e-2
) -> tuple[Maximum, list[Maximum]]:
    """The highest maximum with the last m parameters in [0, 1], and others as high so far `apart`.

    Of maxima that are alike it is that of the first start.
    """
    bounded = np.arange(starts[0].size) >= starts[0].size - m
    met = [
        maximise(objective, start, None, 200, 0.0, None, units, bounded)
        for start in starts
        if np.isfinite(objective.value(start))
    ]
    top = max(one.value for one in met)
    best = next(one for one in met if one.value >= top - 1e-12 * (1.0 + abs(top)))
    rivals = [
        one
        for one in met
        if one.converged
        and best.value - one.value < _SAME_VALUE
        and np.abs(np.linalg.solve(units, one.theta - best.theta)).max() > apart
    ]
    return best, rivals


def _newton_step(
    score: Array, hessian: Array, theta: Array, units: Array | None
) -> tuple[Array, float, bool]:
    """The step, the gain that it promises, and whether the function is concave here."""
    if not score.size:
        return score, 0.0, True
    curved, scale = scaled(-hessian)
    if not (np.isfinite(curved).all() and np.isfinite(score).all()):
        return np.zeros(score.shape), np.inf, False
    g = score / scale
    direction = _uphill(curved, g)
    if direction is None and units is not None:
        inner = -units.T @ hessian @ units
        if (np.diagonal(inner) > 0.0).all():  # else it is not positive definite
            own = units / np.sqrt(np.diagonal(inner))
            step = _uphill(-own.T @ hessian @ own, own.T @ score)
            direction = None if step is None else scale * (own @ step)
    is_peak = direction is not None
    if direction is None:
        size, axes = np.linalg.eigh(curved)
        direction = axes @ ((axes.T @ g) / np.maximum(np.abs(size), _FLOOR))
    # parameters of small covariates are large, and grow as fast
    longest = float(np.abs(direction / scale / (1.0 + np.abs(theta))).max(initial=0.0))
    if longest > _LONGEST:
        direction = direction * (_LONGEST / longest)
    return direction / scale, float(g @ direction), is_peak


def _uphill(curved: Array, g: Array) -> Array | None:
    """Newton's step where the curvature is positive definite beyond rounding, else None."""
    try:
        np.linalg.cholesky(curved - _FLOOR * np.eye(len(g)))
    except np.linalg.LinAlgError:
        return None
    return np.linalg.solve(curved, g)


# -- Least squares, and covariances of it that hold whatever the variances of the rows ------------


COVARIANCES = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster")
_ALONE = 1e-10  # one minus the leverage of a row that alone determines a coefficient


@record
class LeastSquares:
    """A fit by (weighted) least squares.

    `times`, (n,), are how many respondents each row stands for, `weights` those of a respondent;
    `y` is without the offset, and `inverse`, (p, p), that of the weighted cross products of X.
    """

    beta: Array
    X: Array
    y: Array
    times: Array
    weights: Array
    inverse: Array

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return int(self.beta.size)

    @cached_property
    def nobs(self) -> float:
        """Number of respondents."""
        return float(self.times.sum())

    @cached_property
    def resid(self) -> Array:
        """Residuals, shape (n,)."""
        return np.asarray(self.y - self.X @ self.beta)

    @cached_property
    def ssr(self) -> float:
        """Weighted sum of the squared residuals."""
        return float(np.sum(self.times * self.weights * self.resid**2))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return self.nobs - self.p

    @cached_property
    def scale(self) -> float:
        """Residual variance; nan where no degree of freedom is left."""
        return self.ssr / self.df_resid if self.df_resid > 0.0 else float("nan")

    def scores(self) -> Array:
        """The weighted terms of the normal equations, one respondent of each row; shape (n, p)."""
        return np.asarray(self.X * (self.weights * self.resid)[:, None])

    def covariance(self, kind: str) -> Array:
        """Covariance of the coefficients, (p, p); `kind` is one of `COVARIANCES` but "cluster"."""
        if kind in ("nonrobust", "HC1"):
            self.refuse_saturated()
        if kind == "nonrobust":
            return self.scale * self.inverse
        factor: Array | float = 1.0
        if kind == "HC1":
            factor = self.nobs / self.df_resid
        elif kind in ("HC2", "HC3"):
            leverages = self.weights * np.einsum("ij,jk,ik->i", self.X, self.inverse, self.X)
            left = 1.0 - leverages
            alone = (left <= _ALONE) & (self.times * self.weights > 0.0)
            if alone.any():
                raise NotAvailable(
                    f"row {int(np.argmax(alone)) + 1} alone determines a coefficient, and {kind} "
                    "is not defined: use cov_type='HC1', or leave out the column"
                )
            factor = left ** (-1 if kind == "HC2" else -2)
        rows = self.scores()
        meat = np.asarray((rows * (self.times * factor)[:, None]).T @ rows)
        sandwich = self.inverse @ meat @ self.inverse
        return (sandwich + sandwich.T) / 2.0

    def refuse_saturated(self) -> None:
        """Refuse a factor for the degrees of freedom where there are none."""
        if self.df_resid <= 0.0:
            raise NotAvailable(
                f"{self.nobs:g} respondents and {self.p} coefficients leave no degree of "
                "freedom for a variance: leave out columns of X"
            )


def least_squares(X: Array, y: Array, times: Array, weights: Array) -> LeastSquares:
    """Fit y, shape (n,), by X of full column rank, shape (n, p)."""
    root = np.sqrt(times * weights)
    Q, R = np.linalg.qr(X * root[:, None])
    beta = np.linalg.solve(R, Q.T @ (y * root))
    half = np.linalg.inv(R)
    return LeastSquares(beta, X, y, times, weights, half @ half.T)


# -- Regression on private predictors by corrected scores, which need no law of the predictors ----


_REMEDY = (
    "use method='mle', which adds what the other predictors say of the private ones, or collect "
    "more reports, or reports with a larger epsilon"
)
_LONGEST_CHANGE = 1.0  # root mean square change of the linear predictors in a step
_FAR_SPREAD = 40.0  # of their spread, beyond which there is nothing to be found
_FLAT = 1e-9  # curvature that counts as none, as a share of the smoothed information
_FIRST, _LEAST = 0.5, 1.0 / 128.0  # steps of the path
_ITERATIONS = 40
_SAME = 1e-4  # change of the linear predictors between two roots that are one


@record
class Corrected:
    """A root of the corrected score.

    Its covariance is ``bread^-1 M bread^-1``, M that of the weighted sum of influences.
    """

    theta: Array  # (P,): parameters of the outcome; of a number the coefficients alone
    influence: Array  # (n, P): the corrected score of each respondent, without her weight
    bread: Array  # (P, P): minus the derivative of the weighted sum of the scores
    value: float  # the corrected log-likelihood; nan for a number
    scale: float  # residual variance of a number, which may be negative; nan for others
    n_iter: int
    n_roots: int  # local maxima that were met
    on_path: bool  # to the consistent root; else the linear predictors of this one spread least


def corrected(
    designs: Sequence[Array],
    phi: Array,
    response: Array,
    outcome: Outcome,
    weights: Array | None = None,
    offset: Array | None = None,
    starts: Sequence[Array] = (),
) -> Corrected:
    """Solve the corrected score equations.

    `designs`, (n, p) each, are those of the outcome in each of C configurations of the private
    predictors; `phi`, (n, C), unbiased indicators of these: products of those of single
    predictors that were randomised independently. `response` are numbers, (n,), or indicators of
    the categories, (n, k); those of a private response are unbiased ones. The `offset`, (n,), is
    added to the linear predictors. Further `starts` tell how many roots there are. `NotIdentified`
    if the score has no root at which its derivative is negative definite.
    """
    w = np.ones(len(phi)) if weights is None else weights
    if isinstance(outcome, Normal):
        y = response if offset is None else response - offset
        return _corrected_least_squares(designs, phi, y, w)
    made = tuple(predictors_of(outcome, X, offset) for X in designs)
    target = CompletedLikelihood(outcome, made, phi, response, w)
    zero = np.zeros(target.size)
    begin, n_first = _local_maximum(target.smoothed(0.0), zero)  # concave: no news of x yet
    if begin is None:
        raise NotIdentified(
            "the outcome determines no coefficients even if the private predictors are left to "
            "their means: columns of X are linear combinations of others, or the public ones "
            "separate the outcome; leave columns out, or use method='mle' with penalty='jeffreys'"
        )
    # along the path of maxima from smoothed indicators to those of the reports
    at, t, step, total = begin, 0.0, _FIRST, n_first
    while t < 1.0 and step >= _LEAST:
        ahead = min(1.0, t + step)
        maximum, n_iter = _local_maximum(target.smoothed(ahead) if ahead < 1.0 else target, at)
        total += n_iter
        if maximum is None or target.moved(at, maximum) > 8.0 * _LONGEST_CHANGE * step / _FIRST:
            step /= 2.0
        else:
            at, t, step = maximum, ahead, 2.0 * step
    met = [at] if t == 1.0 else []
    last = at if met else None
    for start in (*starts, zero, begin):
        other, n_other = _local_maximum(target, start)
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
    rest = value, float("nan"), total, len(met), last is not None
    return Corrected(theta, target.score_rows(theta), -hessian, *rest)


def _corrected_least_squares(designs: Sequence[Array], phi: Array, y: Array, w: Array) -> Corrected:
    """Corrected least squares."""
    weighted = [X * (w * u)[:, None] for X, u in zip(designs, phi.T, strict=True)]
    bread = np.asarray(sum(W.T @ X for W, X in zip(weighted, designs, strict=True)))
    means = np.abs(w @ phi) / w.sum()
    smooth = sum(mean * (w @ X**2) for mean, X in zip(means, designs, strict=True))
    size = np.sqrt(np.asarray(smooth))  # units of the information
    least = np.linalg.eigvalsh(bread / np.outer(size, size))[0] if np.all(size > 0.0) else 0.0
    if not least > _FLAT:
        raise NotIdentified(
            "the corrected cross products of the covariates are not positive definite: the "
            f"randomisation outweighs what these reports say of the private predictors; {_REMEDY}"
        )
    beta = np.linalg.solve(bread, np.asarray(sum(W.T @ y for W in weighted)))
    resid = [y - X @ beta for X in designs]
    each = zip(designs, phi.T, resid, strict=True)
    influence = np.asarray(sum(X * (u * left)[:, None] for X, u, left in each))
    scale = float(w @ (phi * np.square(resid).T).sum(axis=1) / w.sum())
    return Corrected(beta, influence, bread, float("nan"), scale, 1, 1, True)


def _local_maximum(target: CompletedLikelihood, start: Array) -> tuple[Array | None, int]:
    """The local maximum that short steps uphill lead to, None if there is none; and the steps."""

    def reach(theta: Array, step: Array) -> float:
        return _LONGEST_CHANGE / max(target.moved(theta, theta + step), 1e-300)

    def far(theta: Array) -> bool:
        return target.spread(theta) > _FAR_SPREAD

    met = maximise(target, start, None, _ITERATIONS, stop=far, reach=reach)
    return (met.theta if met.converged else None), met.n_iter - 1


# -- A log-likelihood, and half the log determinant of its information added to it ----------------


_STEP = 1e-5  # of the differences of the penalty's derivatives, in standard errors
_LONGEST_DIFFERENCE = 1e-3  # such a difference, where the likelihood is flat
_MOST = 3  # parameters up to which the penalty's second derivatives are taken at every step


@record
class Penalised:
    """The objective ``l(theta) + log det I(theta) / 2``.

    The information is of the first m parameters, those of the outcome. `bend`, (m, m), are second
    derivatives of the penalty that do for all theta: they steer steps only.
    """

    likelihood: RegressionLikelihood
    information: ExpectedInformation
    bend: Array | None = None

    def bent_at(self, theta: Array) -> Penalised:
        """This objective with second derivatives of the penalty that were taken at theta."""
        m = self.likelihood.n_outcome
        if m <= _MOST:
            return self
        hessian = self.likelihood.evaluate(theta)[2]
        _, slope = self.information.penalty(theta[:m])
        return replace(self, bend=self._differences(theta, slope, hessian))

    def _differences(self, theta: Array, slope: Array, hessian: Array) -> Array | None:
        """Second derivatives of the penalty; None where they are not finite."""
        m = self.likelihood.n_outcome
        scale = np.sqrt(np.abs(np.diagonal(hessian)[:m]))
        steps = _STEP / np.where(scale > 0.0, scale, 1.0)
        steps = np.minimum(steps, _LONGEST_DIFFERENCE * (1.0 + np.abs(theta[:m])))
        bend = np.empty((m, m))
        for j in range(m):
            beside = theta[:m].copy()
            beside[j] += steps[j]
            bend[j] = (self.information.penalty(beside)[1] - slope) / steps[j]
        return (bend + bend.T) / 2.0 if np.isfinite(bend).all() else None

    def value(self, theta: Array) -> float:
        """The objective; minus infinity where it is not defined."""
        beta = theta[: self.likelihood.n_outcome]
        return self.likelihood.value(theta) + self.information.penalty(beta, False)[0]

    def evaluate(self, theta: Array) -> Expansion:
        """Value, gradient and Hessian, that of the penalty by differences."""
        m = self.likelihood.n_outcome
        value, score, hessian = self.likelihood.evaluate(theta)
        penalty, slope = self.information.penalty(theta[:m])
        score[:m] += slope
        bend = self.bend
        if m <= _MOST and np.isfinite(penalty):
            bend = self._differences(theta, slope, hessian)
        if bend is not None:
            hessian[:m, :m] += bend
        return value + penalty, score, hessian
