"""The maximum of a likelihood with unknown parameters, from several starts.

The likelihood is not concave in frequencies and parameters together, and may have several maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.likelihood.parametric import ParametricLikelihood

__all__ = ["Maximum", "climb", "continued", "maximum", "wide_bounds"]


Array = npt.NDArray[Any]

_ACTIVE = 1e-6  # of a bound: closer entries are tried at the bound
_SAME = 1e-3  # by which two maxima differ at least
_MANY = 60  # frequencies and parameters from which fewer starts are tried
WIDTH = 1.0  # by which the continued likelihood leaves [0, 1] on either side


@dataclass(frozen=True, eq=False)
class Maximum:
    """The largest maximum x, (k + m,), of all `starts`, and `inner`: x strictly within its bounds.

    `rivals`, (r, k + m), are as large, `rounds` the steps of the longest climb.
    """

    x: Array
    inner: Array
    rivals: Array
    rounds: int
    starts: int


def maximum(likelihood: ParametricLikelihood) -> Maximum:
    """Maximise a likelihood over frequencies on the simplex and parameters in [0, 1]."""
    k, m = likelihood.k, likelihood.m
    lower, upper = np.zeros(k + m), np.r_[np.full(k, 2.0), np.ones(m)]
    begun = starting_points(k, m)
    center = climb(likelihood, begun[:1], lower, upper)
    others = climb(likelihood, begun[1:], lower, upper, barrier=1e-3)
    ends = np.concatenate([center.x, others.x])
    values = likelihood.loglike(ends)
    best = int(np.argmax(values))
    near = values[best] - values <= 1e-6 + 1e-9 * float(likelihood.nobs)
    apart = np.abs(ends - ends[best]).max(axis=1) > _SAME
    return Maximum(
        x=_polish(likelihood, ends[best]),
        inner=ends[best],
        rivals=ends[near & apart],
        rounds=max(center.rounds, others.rounds),
        starts=len(begun),
    )


def starting_points(k: int, m: int) -> Array:
    """Points from which maxima are looked for, shape (s, k + m); the first is the centre."""
    uniform = np.full(k, 1.0 / k)
    tilted = [0.8 * np.eye(k)[x] + 0.2 * uniform for x in range(min(k, 3))]
    values = [np.full(m, 0.5)]  # all over (0, 1)^m
    if m:
        count = min(4 + 4 * m, 20)
        grid = (np.arange(count) + 0.5) / count
        step = [1, 3, 7, 9, 11, 13, 17, 19]  # another order of the same values for each parameter
        at = np.array([(np.arange(count) * step[j % 8] + j) % count for j in range(m)])
        values += [*grid[at].T]
    values = values if k + m <= _MANY else values[:3]
    pairs = [np.r_[p, theta] for theta in values for p in (uniform, *tilted)]
    return np.array(pairs)


def _polish(likelihood: ParametricLikelihood, x: Array) -> Array:
    """x to rounding: what its bounds hold is set to them, the rest by Newton."""
    k, total = likelihood.k, float(likelihood.nobs)
    upper = np.r_[np.full(k, np.inf), np.ones(likelihood.m)]
    point = np.where(x < _ACTIVE, 0.0, np.where(upper - x < _ACTIVE, upper, x))
    held = point != x
    point[:k] = np.where(held[:k], point[:k], point[:k] / point[:k][~held[:k]].sum())
    for _ in range(30):
        step = _free_step(likelihood, point, held)
        if step is None:
            return x
        point = point + step
        if np.any((point < 0.0) | (point > upper)) or not np.isfinite(likelihood.loglike(point)):
            return x
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    point[:k] /= point[:k].sum()
    worse = likelihood.loglike(point) < likelihood.loglike(x) - 1e-9 * max(1.0, total)
    return x if worse else point


def _free_step(likelihood: ParametricLikelihood, point: Array, held: Array) -> Array | None:
    """A Newton step of what is not held; None where a report that was seen is impossible.

    A step by the expected or the outer product's information would converge slowly, or not at all,
    where the reports contradict the device or tell next to nothing of a parameter.
    """
    k, d = likelihood.k, likelihood.size
    free = np.flatnonzero(~held)
    outer: Any = 0.0
    ratios = []
    pairs = zip(likelihood.counts, likelihood.laws(point), likelihood.jacobians(point), strict=True)
    for n, law, J in pairs:
        if np.any((n > 0) & (law <= 0.0)):
            return None
        ratio = np.where(n > 0, n / np.where(law > 0.0, law, 1.0), 0.0)
        own = J[free] * np.where(n > 0, ratio / np.sqrt(np.where(n > 0, n, 1.0)), 0.0)
        outer = outer + own @ own.T
        ratios.append(ratio)
    curvature = outer - likelihood.bends(point, ratios)[np.ix_(free, free)]
    sums = (free < k).astype(float)[None]
    total = float(likelihood.nobs)
    M = np.block([[curvature / total, sums.T], [sums, np.zeros((1, 1))]])
    if not sums.any():
        M[-1, -1] = 1.0
    right = np.r_[likelihood.score(point)[free] / total, 0.0]
    step = np.zeros(d)
    # what is open at this point stays where it is
    step[free] = np.linalg.lstsq(M, right, rcond=1e-13)[0][:-1]
    return step


def wide_bounds(k: int, m: int) -> tuple[Array, Array]:
    """Bounds of the continued likelihood: frequencies and parameters from -1 to 2."""
    return np.full(k + m, -WIDTH), np.full(k + m, 1.0 + WIDTH)


def continued(likelihood: ParametricLikelihood, x: Array) -> tuple[Array, bool]:
    """The maximum nearest to x where all may leave [0, 1], and whether it is within -1 and 2.

    The likelihood is continued as far as every report stays possible. Where the maximum is inside,
    it is the same; beyond, its distances keep the law that they have inside.
    """
    lower, upper = wide_bounds(likelihood.k, likelihood.m)
    x_max = climb(likelihood, x[None], lower, upper, barrier=1e-6).x[0]
    inside = bool(np.all((x_max > lower + 1e-3) & (x_max < upper - 1e-3)))
    return x_max, inside


# -- An interior-point method for many small likelihoods at once, with bounds and fixed entries ---


_LAST = 1e-13  # of the barrier, per report
_ROUNDS = 150
_EXACT = 1e-11  # residual of a maximum
_NOTHING = 1e-15  # nats per report that no step is worth
_REACH = 0.99  # of the way to a bound that a step may go
_HALVINGS = 40
_FLAT = 1e-9  # least curvature of a Newton step, relative to the largest


@dataclass(frozen=True, eq=False)
class Climb:
    """Where B climbs ended, x of shape (B, k + m), and the Newton steps of the longest.

    `residual`, (B,), is the largest entry of the gradient per report that no bound holds back.
    """

    x: Array
    residual: Array
    rounds: int


@dataclass
class _State:
    """Points of many climbs, with the slopes of their bounds."""

    x: Array
    below: Array  # multipliers of the lower bounds
    above: Array
    barrier: Array  # (B,)

    def rows(self, which: Any) -> _State:
        return _State(self.x[which], self.below[which], self.above[which], self.barrier[which])


def climb(
    likelihood: ParametricLikelihood,
    start: Array,
    lower: Array,
    upper: Array,
    fixed: Array | None = None,
    barrier: float = 0.1,
) -> Climb:
    """Maximise likelihoods, the frequencies summing to one, from within their bounds.

    Newton steps on the likelihood with a logarithmic barrier before each bound, which falls to
    1e-13 a report (a primal-dual method); scoring steps where it is not concave. A report that
    nobody made counts as one that is seen so often. Counts of shape (l_g,) are those of every
    climb, of shape (B, l_g) one survey a climb. The `start`, (B, k + m), is strictly between the
    bounds, where every report is possible; what is `fixed` stays there, and may lie on a bound.
    `barrier` is where the barrier begins: small where the start is close to the maximum.
    """
    B, d = start.shape
    held = np.zeros((B, d), dtype=bool) if fixed is None else fixed
    total = np.asarray(likelihood.nobs, dtype=np.float64)[..., None]
    weights = [np.broadcast_to(n / total, (B, n.shape[-1])) for n in likelihood.counts]
    below = np.where(held, 0.0, barrier / np.where(held, 1.0, start - lower))
    above = np.where(held, 0.0, barrier / np.where(held, 1.0, upper - start))
    state = _State(start.copy(), below, above, np.full(B, barrier))
    final, left, rounds = state.rows(slice(None)), np.full(B, np.inf), 0
    active = np.arange(B)
    while rounds < _ROUNDS:
        rounds += 1
        own = [w[active] for w in weights]
        state, residual, finished = _round(likelihood, own, state, lower, upper, held[active])
        final.x[active], left[active] = state.x, residual
        if finished.all():
            break
        active, state = active[~finished], state.rows(~finished)
    return Climb(final.x, left, rounds)


def _round(
    likelihood: ParametricLikelihood,
    weights: list[Array],
    state: _State,
    lower: Array,
    upper: Array,
    held: Array,
) -> tuple[_State, Array, Array]:
    """One step of every climb; the residuals before it, and which climbs had ended."""
    x, free, k = state.x, ~held, likelihood.k
    low, high = np.where(held, 1.0, x - lower), np.where(held, 1.0, upper - x)
    gradient, scoring, newton = _derivatives(likelihood, weights, x, state.barrier)
    # what is left of the gradient, and with it how far bounds are from complementary
    total = np.where(held, 0.0, gradient + state.below - state.above)
    mean = (total[:, :k] * free[:, :k]).sum(axis=1) / np.maximum(free[:, :k].sum(axis=1), 1)
    total[:, :k] -= np.where(free[:, :k], mean[:, None], 0.0)
    residual = np.abs(total).max(axis=1)
    apart = np.where(held, 0.0, np.maximum(state.below * low, state.above * high))
    error = np.maximum(residual, apart.max(axis=1))
    finished = (state.barrier <= _LAST) & (error < _EXACT)
    barrier = np.where(error < 10.0 * state.barrier, _lower_barrier(state.barrier), state.barrier)
    push = np.where(free, gradient + barrier[:, None] * (1.0 / low - 1.0 / high), 0.0)
    hold = np.where(free, state.below / low + state.above / high, 0.0)
    concave = _is_concave(newton, hold, held, k)
    curvature = np.where(concave[:, None, None], newton, scoring)
    step = _barrier_step(curvature, hold, push, held, k)
    gain = np.einsum("bd,bd->b", push, step)  # twice what the step promises
    length = np.minimum(_share_of_step(low, step), _share_of_step(high, -step))
    bounds = lower, upper, barrier, gain, held
    length = _step_lengths(likelihood, weights, x, step, length, bounds)
    moved = x + length[:, None] * step
    below = np.where(free, barrier[:, None] / low - state.below - state.below / low * step, 0.0)
    above = np.where(free, barrier[:, None] / high - state.above + state.above / high * step, 0.0)
    dual = np.minimum(_share_of_step(state.below, below), _share_of_step(state.above, above))
    low, high = np.where(held, 1.0, moved - lower), np.where(held, 1.0, upper - moved)
    new = _State(
        moved,
        _near_central(state.below + dual[:, None] * below, barrier, low, held),
        _near_central(state.above + dual[:, None] * above, barrier, high, held),
        np.where(gain < 0.1 * barrier, _lower_barrier(barrier), barrier),
    )
    return new, residual, finished | ((barrier <= _LAST) & (gain < _NOTHING))


def _lower_barrier(barrier: Array) -> Array:
    return np.maximum(_LAST, np.minimum(0.1 * barrier, barrier**1.5))


def _derivatives(
    likelihood: ParametricLikelihood, weights: list[Array], x: Array, barrier: Array
) -> tuple[Array, Array, Array]:
    """Gradient, (B, d), and curvature as scoring and as Newton have it, (B, d, d), per report."""
    gradient: Any = 0.0
    curvature: Any = 0.0
    ratios = []
    laws, jacobians = likelihood.laws(x), likelihood.jacobians(x)
    for w, law, J in zip(weights, laws, jacobians, strict=True):
        w = np.where(w > 0.0, w, np.minimum(barrier, 1e-3)[:, None])
        gradient = gradient + np.einsum("bdl,bl->bd", J, w / law)
        rooted = J * (np.sqrt(w) / law)[:, None]
        curvature = curvature + rooted @ np.swapaxes(rooted, 1, 2)
        ratios.append(w / law)
    scoring = np.asarray(curvature)
    return np.asarray(gradient), scoring, scoring - likelihood.bends(x, ratios)


def _is_concave(curvature: Array, hold: Array, held: Array, k: int) -> npt.NDArray[np.bool_]:
    """Where the likelihood with its barrier bends down in all directions that a step can take."""
    free = ~held
    M = curvature * (free[:, :, None] & free[:, None, :])
    at = np.arange(M.shape[1])
    M[:, at, at] = np.where(free, M[:, at, at] + hold, 1.0)
    size = np.abs(M[:, at, at]).max(axis=1)
    sums = free & (at < k)  # no step goes along the sum of the frequencies
    M += size[:, None, None] * (sums[:, :, None] & sums[:, None, :])
    return np.asarray(np.linalg.eigvalsh(M)[:, 0] > _FLAT * size)


def _barrier_step(curvature: Array, hold: Array, push: Array, held: Array, k: int) -> Array:
    """Steps, (B, d), that keep the sum of the frequencies and what is held."""
    B, d = push.shape
    free = ~held
    M = np.zeros((B, d + 1, d + 1))
    M[:, :d, :d] = curvature * (free[:, :, None] & free[:, None, :])
    at = np.arange(d)
    diagonal = M[:, at, at]
    small = 1e-14 * diagonal.max(axis=1, keepdims=True) + 1e-300
    M[:, at, at] = np.where(free, diagonal + hold + small, 1.0)
    sums = np.zeros((B, d))
    sums[:, :k] = free[:, :k]
    M[:, :d, d] = M[:, d, :d] = sums
    M[:, d, d] = np.where(sums.any(axis=1), 0.0, 1.0)
    right = np.concatenate([push, np.zeros((B, 1))], axis=1)
    return np.asarray(np.linalg.solve(M, right[..., None])[:, :d, 0])


def _share_of_step(room: Array, step: Array) -> Array:
    """Share of a step, at most 1, after which room is left, shape (B,)."""
    shrinks = step < 0.0
    share = np.where(shrinks, -_REACH * room / np.where(shrinks, step, 1.0), 1.0)
    return np.asarray(np.minimum(1.0, share.min(axis=1)))


def _step_lengths(
    likelihood: ParametricLikelihood,
    weights: list[Array],
    x: Array,
    step: Array,
    length: Array,
    bounds: tuple[Array, Array, Array, Array, Array],
) -> Array:
    """Lengths of the steps, halved until the likelihood with its barrier rises."""
    lower, upper, barrier, slope, held = bounds
    before = _value(likelihood, weights, x, lower, upper, barrier, held)
    length, open_ = length.copy(), np.arange(len(x))
    for _ in range(_HALVINGS):
        tried = x[open_] + length[open_, None] * step[open_]
        own = [w[open_] for w in weights]
        value = _value(likelihood, own, tried, lower, upper, barrier[open_], held[open_])
        wanted = before[open_] + 1e-4 * length[open_] * slope[open_] - 1e-14
        open_ = open_[~(value >= wanted)]
        if not open_.size:
            break
        length[open_] /= 2.0
    length[open_] = 0.0
    return length


def _value(
    likelihood: ParametricLikelihood,
    weights: list[Array],
    x: Array,
    lower: Array,
    upper: Array,
    barrier: Array,
    held: Array,
) -> Array:
    """The log-likelihood per report with its barrier; -inf where a report is impossible."""
    low, high = np.where(held, 1.0, x - lower), np.where(held, 1.0, upper - x)
    total = barrier * (np.log(low) + np.log(high)).sum(axis=1)
    for w, law in zip(weights, likelihood.laws(x), strict=True):
        w = np.where(w > 0.0, w, np.minimum(barrier, 1e-3)[:, None])
        good = law > 0.0
        terms = (w * np.log(np.where(good, law, 1.0))).sum(axis=1)
        total = total + np.where(good.all(axis=1), terms, -np.inf)
    return np.asarray(total)


def _near_central(multiplier: Array, barrier: Array, room: Array, held: Array) -> Array:
    """Multipliers kept within a factor of what the barrier asks for."""
    central = barrier[:, None] / room
    return np.where(held, 0.0, np.clip(multiplier, 1e-10 * central, 1e10 * central))
