"""Non-negative least squares and the non-negative Lasso on a hashed design.

EPK14 first select the candidates that the reports support with a Lasso. Here it is solved to a
certificate, by coordinate descent on the candidates that are, or want to be, above zero: a
coordinate reads one cell per cohort and hash, and the dense background of the design is carried by
two sums. Where coordinates are too correlated for that, conjugate gradients on the positive
coordinates take over. Candidates out of play are looked at in passes over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.problems.hash_design import HashDesign

__all__ = ["NonnegativeFit", "nonnegative_lasso", "sweep"]

Array = npt.NDArray[Any]

_SMALL = 1 << 16  # cells of a design up to which plain numpy beats importing numba
_SWEEPS = 20  # of coordinate descent, before conjugate gradients are tried
_DIRECTIONS = 200  # of conjugate gradients, before coordinate descent returns
_NEWCOMERS = 200  # candidates that enter at a time, where no more are in play


@dataclass(frozen=True, eq=False)
class NonnegativeFit:
    """A minimiser p, shape (S,), over p >= 0, with the certificate that it is one.

    `gap` is ``max_x |t_x| ||A_x|| / ||rhs||``, in the norm ``||v||^2 = v' D v``, where t_x is the
    change of p_x that minimises over this coordinate alone: zero only at a minimum. So no candidate
    can improve the fit by more than this share of the data. `n_iter` counts sweeps.
    """

    p: Array
    gap: float
    n_iter: int
    converged: bool


def nonnegative_lasso(
    design: HashDesign,
    weights: Array,
    rhs: Array,
    penalty: Array | float = 0.0,
    *,
    tol: float = 1e-9,
    max_iter: int = 20_000,
    start: Array | None = None,
) -> NonnegativeFit:
    """Minimise ``1/2 (A p - rhs)' D (A p - rhs) + penalty' p`` over p >= 0 (EPK14 section 4).

    A is the design, (C m, S); D weighs every cell of cohort c by ``weights[c] >= 0``. The penalty,
    a number or (S,), is in the units of the gradient A' D rhs; see
    `estimators.lasso.penalty_level`. Let the background be near the mean of H, as for mass that no
    candidate explains: a penalty shrinks the sum of p, and without a background the mass that it
    takes away lifts every cell, and so presses all absent candidates to join. Coordinate descent:
    Friedman, Hastie and Tibshirani (2010), J. Stat. Softw. 33(1); conjugate gradients on a face:
    More and Toraldo (1991), SIAM J. Optim. 1.
    """
    problem = _problem(design, weights, rhs, penalty)
    p = _started(problem, start)
    _check_limits(tol, max_iter)
    n_iter = 0
    while True:
        residual = problem.residual(p)
        moves = problem.moves(p, residual)
        gap = float(moves.max(initial=0.0))
        if gap <= tol or n_iter >= max_iter:
            return NonnegativeFit(p, gap, n_iter, gap <= tol)
        chosen = _in_play(p, moves, tol)
        # The others wait, so the chosen need not be settled much better than these.
        target = max(0.3 * tol, 0.05 * gap)
        p[chosen], done = _settled(problem.narrowed(chosen), p[chosen], residual, target)
        n_iter += done


@dataclass(frozen=True, eq=False)
class _Problem:
    """What `nonnegative_lasso` minimises, for all candidates or for those in play.

    ``weights`` is the diagonal of D, (C m,); ``counts``, (S,), the weight of the cells that a
    candidate owns; ``squares``, (S,), its ``A_x' D A_x``; ``scale`` the norm of the data.
    """

    design: HashDesign
    weights: Array
    rhs: Array
    penalty: Array
    counts: Array
    squares: Array
    scale: float

    def narrowed(self, chosen: Array) -> _Problem:
        """The problem in the candidates at the positions `chosen`, all others held at zero."""
        return replace(
            self,
            design=self.design.take(chosen),
            penalty=self.penalty[chosen],
            counts=self.counts[chosen],
            squares=self.squares[chosen],
        )

    def residual(self, p: Array) -> Array:
        """``rhs - A p``, shape (C m,)."""
        return np.asarray(self.rhs - self.design.times(p))

    def descent(self, residual: Array) -> Array:
        """Minus the gradient, shape (S,)."""
        return np.asarray(self.design.adjoint(self.weights * residual) - self.penalty)

    def moves(self, p: Array, residual: Array) -> Array:
        """``|t_x| ||A_x|| / ||rhs||``, shape (S,); see `NonnegativeFit`."""
        seen = self.squares > 0.0  # a column of zeros has nothing to say
        step = np.divide(self.descent(residual), self.squares, out=np.zeros(p.size), where=seen)
        return np.asarray(np.abs(np.maximum(step, -p)) * np.sqrt(self.squares) / self.scale)


def _problem(design: HashDesign, weights: Array, rhs: Array, penalty: Array | float) -> _Problem:
    """Check the arguments and take the norms of the columns."""
    rows, S = design.shape
    w = _checked("weights", weights, (design.n_cohorts,))
    if not w.any():
        raise InvalidArgument("weights", weights, "must be positive for at least one cohort")
    data = _checked("rhs", rhs, (rows,), signed=True)
    level = penalty if np.ndim(penalty) else np.full(S, penalty, dtype=np.float64)
    level = _checked("penalty", level, (S,))
    D = np.repeat(w, design.n_cells)
    scale = math.sqrt(float(D @ np.square(data))) or 1.0  # nothing to fit: any scale will do
    return _Problem(design, D, data, level, design.owners(D), design.normal_diagonal(D), scale)


def _checked(name: str, value: Any, shape: tuple[int], signed: bool = False) -> Array:
    """`value` as float64, if it has that shape, is finite and, unless `signed`, at least zero."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape:
        raise InvalidArgument(name, value, f"must have shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgument(name, value, "must be finite")
    if not signed and (array < 0.0).any():
        raise InvalidArgument(name, value, "must not be negative")
    return array


def _started(problem: _Problem, start: Array | None) -> Array:
    """A copy of the start, or zeros."""
    S = problem.counts.size
    return np.zeros(S) if start is None else _checked("start", start, (S,)).copy()


def _check_limits(tol: float, max_iter: int) -> None:
    if not tol > 0.0:
        raise InvalidArgument("tol", tol, "must be positive, for example 1e-9")
    if not max_iter >= 0:
        raise InvalidArgument("max_iter", max_iter, "must not be negative")


def _in_play(p: Array, moves: Array, tol: float) -> Array:
    """Increasing positions of the candidates above zero and of those that press most to join.

    As many may join as are above zero, so that few visit in vain and few passes are needed.
    """
    positive = p > 0.0
    joining = np.flatnonzero(~positive & (moves > tol))
    most = max(_NEWCOMERS, int(np.count_nonzero(positive)))
    if joining.size > most:
        joining = joining[np.argpartition(-moves[joining], most)[:most]]
    return np.sort(np.concatenate([np.flatnonzero(positive), joining]))


def _settled(problem: _Problem, p: Array, residual: Array, target: float) -> tuple[Array, int]:
    """Lower the objective over the candidates in play: p, shape (S,), and the sweeps it took.

    Coordinate descent until moves are below `target`; else conjugate gradients on the face of the
    positive ones.
    """
    run = _sweeper(problem.design.cells.size)
    arguments = _sweep_arguments(problem, p.copy(), residual)
    p = arguments[-1]
    for done in range(1, _SWEEPS + 1):
        if run(*arguments) <= target * problem.scale:
            return p, done
    face = np.flatnonzero(p)
    p[face] = _face_step(problem.narrowed(face), p[face])
    return p, _SWEEPS


def _sweep_arguments(problem: _Problem, p: Array, residual: Array) -> tuple[Any, ...]:
    """What `sweep` takes, at p with the residual that belongs to it."""
    design = problem.design
    D = problem.weights.reshape(design.n_cohorts, -1)
    total = float(p.sum())
    pull = np.zeros((len(D), design.n_cells + 1))
    flat = residual - design.slope * design.background * total
    pull[:, :-1] = flat.reshape(D.shape) * D
    sums = np.array([total, pull.sum()])
    cells = np.ascontiguousarray(design.cells.transpose(1, 0, 2))
    columns = np.stack([problem.counts, problem.squares, problem.penalty], axis=1)
    shared = float(design.slope), float(design.background), float(D.sum())
    return cells, D[:, 0].copy(), columns, shared, pull, sums, p


def _sweeper(size: int) -> Callable[..., float]:
    """`sweep` for a design of `size` cells: compiled, unless it is too small for that to pay."""
    if size <= _SMALL:
        return sweep
    from ldpstats.kernels import nonnegative as nonnegative_kernels

    return nonnegative_kernels.sweep


def sweep(
    cells: Array,
    weights: Array,
    columns: Array,
    shared: tuple[float, float, float],
    pull: Array,
    sums: Array,
    p: Array,
) -> float:
    """Minimise over one coordinate after another, in place: `pull`, `sums` and `p` are updated.

    The weighted residual is ``pull + slope background sum(p) weights``: the first part, ``D (rhs -
    slope H p)`` with a last column of zeros, (C, m + 1), changes in the cells of a coordinate
    alone; `sums` holds sum(p) and the sum of `pull`. `cells`, (S, C, h), has m for none. `columns`,
    (S, 3), is the weight of a candidate's cells, its ``A_x' D A_x`` and its penalty; `shared` is
    slope, background and the weight of all cells. Returns the largest ``|change of p_x| sqrt(A_x' D
    A_x)``.
    """
    slope, background, weight = shared
    C, width = pull.shape
    flat = pull.reshape(-1)
    places = cells + (width * np.arange(C))[:, None]
    largest = 0.0
    for x, (count, square, penalty) in enumerate(columns):
        if square <= 0.0:
            continue
        dense = slope * background * sums[0]
        own = flat[places[x]].sum() + dense * count
        descent = slope * (own - background * (sums[1] + dense * weight)) - penalty
        step = max(descent / square, -p[x])
        if step != 0.0:
            p[x] += step
            sums += step, -slope * count * step
            flat[places[x]] -= (slope * step * weights)[:, None]
            pull[:, -1] = 0.0
            largest = max(largest, abs(step) * math.sqrt(square))
    return largest


def _face_step(problem: _Problem, p: Array) -> Array:
    """Go from p > 0 towards the minimum with no bounds, as far as clipping at zero allows.

    The step is halved until the objective falls, so what is returned is never worse than p.
    """
    descent = problem.descent(problem.residual(p))
    step, t = _conjugate_gradients(problem, descent), 1.0
    while t > 1e-6:
        reached = np.maximum(p + t * step, 0.0)
        change = reached - p
        bent = problem.design.normal(problem.weights, change)
        if 0.5 * float(change @ bent) < float(descent @ change):
            return np.asarray(reached)
        t *= 0.5
    return p


def _conjugate_gradients(problem: _Problem, descent: Array) -> Array:
    """Solve ``A' D A step = descent`` to about a hundredth, preconditioned by the diagonal.

    Columns that depend on one another may leave no solution; the iteration then ends at the first
    direction along which the objective is a straight line.
    """
    step, left = np.zeros(descent.size), descent
    scaled = left / problem.squares
    along, size = scaled, float(left @ scaled)
    enough = 1e-4 * size
    for _ in range(_DIRECTIONS):
        bent = problem.design.normal(problem.weights, along)
        curvature = float(along @ bent)
        if curvature <= 1e-14 * float(along @ (problem.squares * along)):
            break
        step = step + size / curvature * along
        left = left - size / curvature * bent
        scaled = left / problem.squares
        size, before = float(left @ scaled), size
        if size <= enough:
            break
        along = scaled + size / before * along
    return np.asarray(step)
