"""Roots of functions, and maximisers of a likelihood over the simplex: Newton, proximal Newton.

The maximisers minimise ``f(p) = -sum_i n_i log(W p)_i / N + sum(p)`` over p >= 0, whose solution
sums to one by itself: the penalty leaves the maximum where it is, and p >= 0 is the only
constraint. Each iteration minimises a quadratic model of f exactly, of a dense Hessian, of diagonal
plus low rank, or from a sample of the reports, and searches the line to there.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import reduce
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, real_number, record
from ldpstats.errors import ConvergenceWarning, InvalidArgument
from ldpstats.likelihood.rows import DenseRows, Likelihood, Rows, Solution, nats_to_gain

GAP_NATS = 1e-3  # default tolerance: log-likelihood that may be left to gain, in nats
STEP = 5e-4  # length of the next step, in standard errors; its model is good to a factor of two
LAST_STEP = 0.02  # a Newton step below this leaves one below STEP: (s / (1 - s))^2
_TOL = "must be a positive gap per report, for example 1e-9"
_FLOOR = 1e-13  # no gap per report is asked for below what float64 sums resolve


@record
class Ascent:
    """Where a maximiser stopped: p, its gap per report, iterations, and whether that is enough."""

    p: Array
    gap: float
    n_iter: int
    converged: bool


def gap_target(nobs: int, tol: float | None) -> float:
    """Gap per report to reach: `tol`, or 1e-3 nats over all `nobs` reports where it is None."""
    return max(GAP_NATS / nobs, _FLOOR) if tol is None else tol


def check_tol(tol: float | None) -> None:
    """Raise `InvalidArgument` unless `tol` is None or positive."""
    if tol is not None and not real_number("tol", tol, _TOL) > 0.0:
        raise InvalidArgument("tol", tol, _TOL)


def observed(problem: Likelihood) -> tuple[Rows, Array]:
    """The rows and counts (float64) of the reports that were seen at all."""
    seen = problem.n > 0
    if not seen.any():
        raise InvalidArgument("n", problem.n.tolist(), "must count at least one report")
    W = problem.W if seen.all() else problem.W.select(seen)
    return W, problem.n[seen].astype(np.float64)


def possible(W: Rows, p: Array) -> tuple[Array, Array]:
    """p, or the mean of it and the uniform one where p rules out a report; and W p."""
    d = W.mix(p)
    if not d.min() > 0.0:
        require_possible(W)
        p = 0.5 * p + 0.5 / p.size
        d = W.mix(p)
    return p, d


def require_possible(W: Rows) -> None:
    """Raise `InvalidArgument` where a report has probability zero under every category."""
    impossible = np.flatnonzero(W.mix(np.ones(W.shape[1])) <= 0.0)
    if impossible.size:
        raise InvalidArgument(
            f"W[{impossible[0]}]",
            0.0,
            "this report was seen but is impossible under every category; check that the "
            "mechanism is the one that made the reports",
        )


def certified_gap(W: Rows, n: Array, p: Array) -> float:
    """``max_x score_x / N - 1`` at p, computed afresh in float64."""
    return max(float(W.adjoint(n / (W.mix(p) * float(n.sum()))).max()) - 1.0, 0.0)


def maximise_reduced(
    W: Rows, n: Array, target: float, solve: Callable[[Rows, Array], tuple[Ascent, str]]
) -> tuple[Ascent, str]:
    """Maximise by `solve`, in fewer categories where `Rows.reduced` has a smaller problem."""
    small = W.reduced(n)
    if small is None:
        return solve(W, n)
    if small.W.shape[1] == 1:
        p = small.expanded(np.ones(1))
        return Ascent(p, certified_gap(small.whole, n, p), 0, True), "counts of revealed answers"
    ascent, how = solve(small.W, small.n)
    p = small.expanded(ascent.p)
    gap = certified_gap(small.whole, n, p)
    return replace(ascent, p=p, gap=gap, converged=ascent.converged and gap <= target), how


def line_search(d: Array, change: Array, n: Array, cost: float, longest: float) -> float:
    """Maximiser over 0 <= t <= longest of ``sum_i n_i log(d_i + t change_i) / N - t cost``.

    d, all positive, and its change per unit of t have shape (u,); `cost` is the change of the sum
    of p. It stops where the derivative, which falls in t, is a hundredth of what it was at 0. A
    full step that does is t = 1 exactly, so that an entry which it sends to zero becomes an exact
    zero.
    """
    total = float(n.sum())

    def steep(t: float) -> tuple[float, float]:
        at = d + t * change
        if not at.min() > 0.0:
            return -np.inf, np.nan
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = change / at
            return float(n @ ratio) / total - cost, -float(n @ (ratio * ratio)) / total

    enough = 1e-2 * abs(float(n @ (change / d)) / total - cost)
    return newton_root(steep, 0.0, longest, min(1.0, longest), enough)


def search(W: Rows, n: Array, p: Array, d: Array, step: Array) -> tuple[float, Array]:
    """`line_search` along `step` from p, with d = W p, as far as p >= 0; and the change W step."""
    change = W.mix(step)
    shrinking = step < 0.0
    longest = float(np.min(p[shrinking] / -step[shrinking], initial=100.0))
    return line_search(d, change, n, float(step.sum()), longest), change


_MOST_TRIED = 200  # arguments of a function, of which a root needs about ten
_MOST_STEEP = 60  # the same with slopes, of three or four


def root(
    f: Callable[[Array], Any], inside: npt.ArrayLike, outside: npt.ArrayLike, xtol: float = 0.0
) -> Array:
    """Where f ceases to be positive on the way from `inside`, where it is, `outside`; elementwise.

    An end where it is otherwise is returned. By inverse quadratic steps in a bracket, or to its
    middle, to `xtol` or rounding (Chandrupatla 1997, Adv. Eng. Softw. 28, 145-149).

    Examples
    --------
    >>> root(lambda x: [2.0, 9.0] - x**2, [0.0, 0.0], 9.0)
    array([1.41421356, 3.        ])
    """
    a, b = np.broadcast_arrays(floats(inside), floats(outside))
    least = xtol or np.maximum(2.0**-55 * np.abs(b - a), 1e-300)
    with np.errstate(all="ignore"):
        one, two = (np.array([end, f(end)]) for end in (a, b))  # arguments, and values of f
        two = np.where(one[1] > 0.0, two, one)
        one = np.where(two[1] > 0.0, two, one)
        t: Any = 0.5
        for _ in range(_MOST_TRIED):
            (a, fa), (b, fb) = one, two
            best = np.where(np.abs(fa) < np.abs(fb), a, b)
            width = b - a
            room = (least + 4e-16 * np.abs(best)) / np.abs(width)
            done = (room > 0.5) | (fb == 0.0)
            if done.all():
                break
            x = a + np.where(done, 0.0, np.minimum(np.maximum(t, room), 1.0 - room)) * width
            new = np.array([x, f(x)])
            same = (new[1] > 0.0) == (fa > 0.0)
            (c, fc), two = np.where(same, one, two), np.where(same, two, one)
            one, (a, fa), (b, fb) = new, new, two
            away, rise = c - b, fc - fb
            xi, phi = (a - b) / away, (fa - fb) / rise
            smooth = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
            way = (c - a) / (b - a) * fb / (fc - fa) - fc / (fb - fa)
            t = np.where(smooth, way * fa / rise, 0.5)
    return np.asarray(best)


def newton_root(
    steep: Callable[[float], tuple[float, float]],
    inside: float,
    outside: float,
    first: float,
    enough: float = 0.0,
    xtol: float = 0.0,
) -> float:
    """`root` of a function that falls, or rises, nearly straight, by its slopes: `steep` has both.

    Newton's method in a bracket from `first`, until values are below `enough`, or steps below
    `xtol`. The far end is tried only if a step leads there, and returned if f is positive there.
    """
    limit, seen, t = outside, False, first
    for _ in range(_MOST_STEEP):
        value, slope = steep(t)
        if abs(value) <= enough or (t == limit and value >= 0.0):
            break
        if value > 0.0:
            inside = t
        else:
            outside, seen = t, True
        step = -value / slope if slope != 0.0 else np.nan
        low, high = min(inside, outside), max(inside, outside)
        if high - low <= xtol or abs(step) <= xtol:
            return min(max(t + step, low), high) if abs(step) <= xtol else t
        t += step
        if not low < t < high:  # or nan
            t = (inside + outside) / 2.0 if seen else limit
    else:
        return inside
    return t


def report(ascent: Ascent, nobs: int, how: str, wanted: float) -> Solution:
    """Turn an `Ascent` into a `Solution`; warn where its gap was not reached."""
    nats = nats_to_gain(nobs, ascent.gap)
    message = f"{how}: gap {ascent.gap:.1e} per report, {nats:.1e} nats in all"
    if not ascent.converged:
        message += f"; not converged, {wanted:.1e} per report was wanted"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return Solution(ascent.p, ascent.gap, ascent.n_iter, ascent.converged, message)


# -- Quadratic models of a likelihood, minimised exactly over p >= 0 -----------------------------


_PIVOTS = 3  # exchanges of many entries that may fail to reduce the number of wrong ones
_MOST_PIVOTS = 60
_PASSES = 100  # far more than a piecewise linear equation needs


class Model(ABC):
    """A positive definite model H of the Hessian of ``-sum_i n_i log(W p)_i / N``."""

    @abstractmethod
    def times(self, x: Array) -> Array:
        """H x."""

    @abstractmethod
    def step(self, p: Array, g: Array) -> Array:
        """The x >= -p that minimises ``g.x + x'H x / 2``."""

    def size(self, x: Array) -> float:
        """The length ``sqrt(x'H x)`` of a step; times sqrt(N) it counts standard errors."""
        return float(np.sqrt(x @ self.times(x)))


class DenseModel(Model):
    """A dense model H, shape (k, k), of the Hessian of ``-sum_i n_i log(W p)_i / N``.

    Where H is singular, because columns of W coincide or nearly do, a ridge far below any curvature
    that the data can show makes it definite; it slows the last digits, and moves no solution. From
    step to step the same entries tend to be free: their Cholesky factor is kept.
    """

    def __init__(self, H: Array) -> None:
        self.H, self._factor = _definite(H)
        self._free = np.ones(len(H), dtype=bool)

    def times(self, x: Array) -> Array:
        return self.H @ x

    def step(self, p: Array, g: Array) -> Array:
        """`Model.step` by principal pivoting (Judice & Pires 1994), unless rounding makes it cycle.

        Entries that violate their sign change sides, one by one if their number does not fall.
        """
        free, fewest, patience = (p > 0.0) | (g < 0.0), p.size + 1, _PIVOTS
        for _ in range(_MOST_PIVOTS):
            x = self._solved(p, g, free)
            slope = g + self.H @ x
            wrong = np.where(free, x < -p, slope < -1e-12 * np.abs(g).max())
            n_wrong = int(wrong.sum())
            if n_wrong == 0:
                return x
            if n_wrong < fewest:
                fewest, patience = n_wrong, _PIVOTS
            else:
                patience -= 1
            if patience < 0:  # the last of them alone
                wrong = np.arange(wrong.size) == np.flatnonzero(wrong)[-1]
            free = free ^ wrong
        return self.least_squares(p, g)

    def least_squares(self, p: Array, g: Array) -> Array:
        """`step` as non-negative least squares; slower and harder to upset.

        With H = R'R, q = p + x minimises ``|R q - R p + R'^-1 g|`` over q >= 0.
        """
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        lower = _definite(self.H)[1]
        right = lower.T @ p - solve_triangular(lower, g, lower=True)
        try:
            q, _ = nnls(lower.T, right, maxiter=30 * p.size)
        except RuntimeError:  # it may cycle where columns nearly coincide; keep the positive
            q = p
        # q - p would lose the digits of a small step; on positive entries it solves an equation.
        free, x = q > 0.0, -p
        while free.any():
            x = self._solved(p, g, free)
            if np.all(x >= -p):
                break
            free &= x > -p
        return x if g @ x < 0.0 else np.asarray(q - p)

    def _solved(self, p: Array, g: Array, free: Array) -> Array:
        """The x that is -p off the free entries and has slope ``g + H x = 0`` on them."""
        from scipy.linalg import lapack

        x, rest = -p, ~free
        if free.any():
            if not np.array_equal(free, self._free):
                self._free, self._factor = free.copy(), _definite(self.H[np.ix_(free, free)])[1]
            right = self.H[np.ix_(free, rest)] @ p[rest] - g[free]
            x[free] = lapack.dpotrs(self._factor, right, lower=1)[0]
        return x


def _definite(H: Array) -> tuple[Array, Array]:
    """H with the smallest ridge, from 1e-14 of its largest diagonal entry, that has a factor."""
    scale = float(H.diagonal().max())
    for exponent in range(-14, 1):
        definite = H.copy()
        definite[np.diag_indices_from(H)] += 10.0**exponent * scale
        try:
            return definite, np.asfortranarray(np.linalg.cholesky(definite))
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("the Hessian of the log-likelihood is not finite")


@record
class LowRankModel(Model):
    """Hessian model H = diag(D) + U U' of ``-sum_i n_i log(W p)_i / N``; D (k,), U (k, G).

    With v = n / (W p)^2 / N the Hessian is W' diag(v) W. Its part u u', u = W'v / sqrt(1'v), comes
    from the means of the columns under the weights v; D holds their variances. What is left out are
    the covariances of different columns, which are small where the outputs that different
    categories produce are nearly independent, as with bits, or mutually exclusive, as with k-RR.
    Reports that reveal their category have an entry in one column only, which adds to D: where
    there are such, means are over the other, protected ones.
    """

    D: Array
    U: Array

    @classmethod
    def at(cls, W: Rows, v: Array) -> LowRankModel:
        """Of all reports together, G = 1."""
        first, second = W.adjoints(v)
        first, total = W.noise(v, first)
        # The floors keep the step finite for a category that all reports are equally likely under.
        D = np.maximum(second - first**2 / total, 1e-8 * second.max())
        u = np.maximum(first, 1e-8 * first.max()) / np.sqrt(total)
        return cls(D, u[:, None])

    @classmethod
    def by_groups(cls, W: Rows, v: Array) -> LowRankModel:
        """The sum of the models of the G groups of reports (`Rows.groups`).

        One for all of them would miss how they differ: where a mechanism protects some categories
        only, a noisy report raises the likelihood of all of these together.
        """
        models = [cls.at(part, w) for part, w in W.groups(v)]
        D = np.sum([model.D for model in models], axis=0)
        return cls(D, np.hstack([model.U for model in models]))

    def times(self, x: Array) -> Array:
        return np.asarray(self.D * x + self.U @ (x @ self.U))

    def step(self, p: Array, g: Array) -> Array:
        """`Model.step`, a piecewise linear equation of G unknowns.

        Stationarity is ``x(s) = max(-p, -(g + U s)/D)`` with s = U'x(s): G equations, piecewise
        linear, whose left side s - U'x(s) is the gradient of a convex function of s. Newton's
        method solves them once it knows which entries of x are above -p.
        """
        s = np.zeros(self.U.shape[1])
        x, left = self._at(s, p, g)
        for _ in range(_PASSES):
            free = x > -p
            U = self.U[free]
            curvature = np.eye(s.size) + U.T @ (U / self.D[free, None])
            move = -np.linalg.solve(curvature, left)

            def fall(t: Any, s: Array = s, move: Array = move) -> float:
                return -float(move @ self._at(s + t * move, p, g)[1])

            # all the way, or to where it is flat
            t = 1.0 if abs(fall(1.0)) <= 0.9 * fall(0.0) else float(root(fall, 0.0, 1.0))
            s = s + t * move
            x, left = self._at(s, p, g)
            if t == 1.0 and np.array_equal(free, x > -p):
                break
        return x

    def _at(self, s: Array, p: Array, g: Array) -> tuple[Array, Array]:
        x = np.maximum(-(g + self.U @ s) / self.D, -p)
        return x, s - x @ self.U


# -- Newton's method for a likelihood with an explicit matrix W -----------------------------------


_WARM_UP = 10  # EM steps before the first quadratic model
_PATIENCE = 20  # iterations without a smaller gap before giving up
_TINY = 1e-30  # EM sends probabilities here on their way to zero


def newton(
    W: Rows,
    n: Array,
    target: float,
    start: Array | None = None,
    max_step: float = np.inf,
    max_iter: int = 100,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, with the k x k Hessian (`DenseModel`).

    From `start`, or after a few EM steps, to a gap of `target` after a step below `max_step`
    standard errors: as f is self-concordant, a step s < 1 leaves at most ``(s / (1 - s))^2``.
    """
    total, k = float(n.sum()), W.shape[1]
    p, d = possible(W, np.full(k, 1.0 / k) if start is None else start)
    for _ in range(_WARM_UP if start is None else 0):
        p = p * W.adjoint(n / (d * total))
        d = W.mix(p)
    p = np.where(p < _TINY, 0.0, p)
    best, step_size = Ascent(p, np.inf, 0, False), np.inf
    for i in range(max_iter + 1):
        p = p / p.sum()
        d = W.mix(p)
        score = W.adjoint(n / (d * total))
        gap = max(float(score.max()) - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best = Ascent(p, gap, i, False)
        if (gap <= target and step_size <= max_step) or i - best.n_iter >= _PATIENCE:
            break
        v, g = n / (d * d * total), 1.0 - score
        step = DenseModel(W.gram(v)).step(p, g)
        t, change = search(W, n, p, d, step)
        if t == 0.0:  # columns so alike that rounding hides the way up; a diagonal model finds it
            step = LowRankModel.at(W, v).step(p, g)
            t, change = search(W, n, p, d, step)
        step_size = float(np.sqrt(n @ (change / d) ** 2))
        if t == 0.0:
            break
        p = np.maximum(p + t * step, 0.0)
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, i, fresh <= target and step_size <= max_step)


# -- The Hessian of a likelihood of very many reports, and where to start, from a sample of them ---


SAMPLE = 20_000  # draws of reports for a Hessian; gradient and likelihood are of all reports
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_LEAST_CURVATURE = 1e-8  # least curvature, relative to the largest, that counts
_EVEN = 0.5  # share of the sample that is spread evenly over the respondents
_ROUGH = 1e-3  # gap per report at which a start is good enough


def has_few_reports(W: Rows) -> bool:
    """Whether the exact Hessian of joint reports is about as quick as one from a sample."""
    one_group = len(W.groups(np.empty(W.shape[0]))) == 1
    return (one_group and W.is_table) or W.shape[0] <= 2 * SAMPLE


def sampled(W: Rows, n: Array) -> Callable[[Rows, Array], DenseModel]:
    """How to model the Hessian W' diag(v) W from a sample of reports, for counts n, shape (u,).

    Half of the sample is spread evenly over the respondents, the other half goes to the reports
    that say most: those with a large ``sum_x v_i W_ix^2 / D_x``, their share in the diagonal D of
    the Hessian. Without them, what identifies a rare category would be left to chance. Each drawn
    report is weighted by the inverse of its probability, and the matrix scaled to the diagonal D.
    Positions are spread out by a fixed sequence.
    """

    def at(_: Rows, v: Array) -> DenseModel:
        D = W.adjoints(v)[1]
        D = np.maximum(D, _LEAST_CURVATURE * D.max())
        share = v * W.mix_squares(1.0 / D)
        chance = _EVEN * n / n.sum() + (1.0 - _EVEN) * share / share.sum()
        drawn, times = np.unique(spread_out(chance, SAMPLE), return_counts=True)
        keep = np.zeros(n.size, dtype=bool)
        keep[drawn] = True
        H = W.select(keep).rough_gram(times * v[drawn] / (SAMPLE * chance[drawn]))
        H[np.diag_indices_from(H)] += _LEAST_CURVATURE * D
        scale = np.sqrt(D / H.diagonal())
        H *= scale
        H *= scale[:, None]
        return DenseModel(H)

    return at


def spread_out(weights: Array, m: int) -> Array:
    """m positions, ascending, each drawn about ``m weights / sum(weights)`` times.

    One of each of m equal parts of the total, at a place within it that has no period.
    """
    ends = np.cumsum(weights)
    place = np.arange(m) + np.modf(np.arange(m) * _GOLDEN)[0]
    places = np.searchsorted(ends, place * (ends[-1] / m), side="right")
    return np.asarray(np.minimum(places, weights.size - 1))


def starting_point(W: Rows, n: Array) -> Array:
    """Where to start, shape (k,): `Rows.start`, but for joint reports the variables independent."""
    starts = []
    for part, m in W.groups(n):
        margins = [_rough(*margin) for margin in part.margins(m)]
        start = reduce(np.kron, margins) if margins else part.start(m)
        starts.append(start * (m.sum() / n.sum()))
    return np.asarray(np.sum(starts, axis=0))


def _rough(W: Array, n: Array) -> Array:
    """About the maximum of the likelihood of one variable, from a sample of its reports."""
    seen, times = np.unique(spread_out(n, SAMPLE), return_counts=True)
    rows, k = DenseRows(W[seen].astype(np.float64)), W.shape[1]
    uniform = np.full(k, 1.0 / k)
    return proximal_newton(rows, times.astype(np.float64), uniform, _ROUGH, max_iter=50).p


# -- How far a maximiser has come, for whoever watches it -----------------------------------------


_watch: ContextVar[Callable[[float, float], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched(advance: Callable[[float], None]) -> Iterator[None]:
    """Maximisers that run meanwhile tell `advance` the fraction that is done, which never falls.

    Gaps fall by factors: the fraction is that of the way from the logarithm of the largest gap that
    was seen to that of the gap to reach.
    """
    largest, done = 0.0, 0.0

    def heard(gap: float, target: float) -> None:
        nonlocal largest, done
        largest = max(largest, gap)
        if largest > target:
            way = log(largest / max(gap, target)) / log(largest / target)
            done = max(done, way)
            advance(done)

    token = _watch.set(heard)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(gap: float, target: float) -> None:
    """Say which gap was reached, and which is the target."""
    heard = _watch.get()
    if heard is not None:
        heard(gap, target)


# -- Maximise a likelihood through products with W alone: proximal Newton with a cheap Hessian ----


STALE = 0.1  # relative change of an entry of W p beyond which curvature is recomputed
_REFRESH = 1e-2  # root mean square relative change beyond which it is
_PATIENCE_PROXIMAL = 25  # iterations without a smaller gap before giving up


def proximal_newton(
    W: Rows,
    n: Array,
    start: Array,
    target: float,
    max_step: float = np.inf,
    max_iter: int = 200,
    model_at: Callable[[Rows, Array], Model] = LowRankModel.at,
    stale: float = STALE,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, from `start`, shape (k,).

    With the penalty -N sum(p), which leaves the maximum where it is, p >= 0 is the only constraint.
    Each iteration minimises a model of the likelihood exactly, of diagonal plus rank one unless
    `model_at` gives another, adds a multiple of the last step as conjugate gradients do, and
    searches the line exactly. Every product with W is one pass over the reports: three an
    iteration, two once the curvature has settled. The model, of the weights ``n / (W p)^2 / N``, is
    made anew once an entry of W p has changed by more than `stale`, relatively, or by more than
    1e-2 in the root mean square. It stops at a gap of `target` with a step below `max_step`
    standard errors left.
    """
    total = float(n.sum())
    p, d = possible(W, start)
    best = Ascent(p, np.inf, 0, False)
    moved, last = np.inf, None
    model: Model | None = None
    for i in range(max_iter + 1):
        weight = n / (d * total)
        score = W.adjoint(weight)
        g, gap = 1.0 - score, max(float(score.max()) - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best = Ascent(p, gap, i, False)
        if model is None or moved > 1.0:
            model = model_at(W, weight / d)
        x = model.step(p, g)
        if gap <= target and np.sqrt(total) * model.size(x) <= max_step:
            q = np.where(x <= -p, 0.0, p)  # the model sends these to zero; they are nearly there
            q /= q.sum()
            fresh = certified_gap(W, n, q)
            if fresh <= target:
                return Ascent(q, fresh, i, True)
        if i - best.n_iter > _PATIENCE_PROXIMAL:
            break
        step = _conjugate(model, p, g, x, last)
        t, change = search(W, n, p, d, step)
        relative = t * np.abs(change) / d
        moved = max(np.sqrt(n @ relative**2 / total) / _REFRESH, relative.max() / stale)
        last = (t * step, x, model.size(x) ** 2)
        p, d = np.maximum(p + t * step, 0.0), d + t * change
        size = p.sum()
        p, d = p / size, d / size
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, best.n_iter, fresh <= target and not np.isfinite(max_step))


def _conjugate(
    model: Model, p: Array, g: Array, x: Array, last: tuple[Array, Array, float] | None
) -> Array:
    """The model's step x plus momentum (Polak and Ribiere), still within p >= 0."""
    if last is None:
        return x
    previous, previous_x, size = last
    beta = float(model.times(x) @ (x - previous_x)) / max(size, 1e-300)
    if not 0.0 < beta < 1.0:
        return x
    step = model.step(p, g - beta * model.times(previous))
    return step if g @ step < 0.0 else x
