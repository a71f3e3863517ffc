"""Maximum likelihood and least squares over convex sets of p.

Maximum likelihood under a user's constraints by sequential quadratic programming; non-negative
least squares and the non-negative Lasso on a hashed design; a likelihood less a quadratic penalty;
and the likelihood through products with W alone, where its Hessian is far from diagonal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.arguments import Array, floats, record
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable
from ldpstats.estimators.solvers import (
    LAST_STEP,
    STEP,
    Ascent,
    DenseModel,
    LowRankModel,
    certified_gap,
    line_search,
    possible,
    require_possible,
    tell,
)
from ldpstats.likelihood.hashed import HashDesign, conjugate_gradients
from ldpstats.likelihood.rows import Likelihood, Rows

if TYPE_CHECKING:
    import cvxpy

Constraints = Callable[["cvxpy.Expression"], list[Any]]

_LARGEST_K = 3000  # the quadratic model is a dense k x k matrix
_PATIENCE = 5  # iterations without a smaller gap before giving up
_ZERO = 1e-13  # the solver's zeros
_FINITE = "must hold finite numbers, and no parameters without a value"


def constrained_maximum(
    W: Rows, n: Array, constraints: Constraints, target: float, max_iter: int
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex and the user's constraints.

    Each iteration minimises the quadratic model over the set, in coordinates scaled by the size of
    the last step, so that the solver's tolerances are relative to it, and searches the line to
    there exactly. Beyond a gap of `target`, the step must leave one below 1e-3 standard errors.
    """
    total, k = float(n.sum()), W.shape[1]
    if k > _LARGEST_K:
        raise NotAvailable(
            f"constraints are handled up to {_LARGEST_K} categories, not {k}; merge categories"
        )
    require_possible(W)
    p = _feasible_point(W, lambda q: _check_convex(constraints, q))
    best, scale, step_size = Ascent(p, np.inf, 0, False), 1.0, np.inf
    for i in range(max_iter + 1):
        d = W.mix(p)
        score = W.adjoint(n / (d * total))
        gap = _gap(score, constraints)
        if gap < best.gap:
            best = Ascent(p, gap, i, gap <= target)
        if best.converged and (step_size <= LAST_STEP or gap * total <= STEP**2 / 2.0):
            break
        if i - best.n_iter >= _PATIENCE:
            break
        step = _model_step(W.gram(n / (d * d * total)), 1.0 - score, p, scale, constraints)
        change = W.mix(step)
        step_size = float(np.sqrt(n @ (change / d) ** 2))
        t = line_search(d, change, n, float(step.sum()), 1.0)
        p = np.maximum(p + t * step, 0.0)
        p = np.where(p < _ZERO, 0.0, p)
        scale = max(float(np.abs(step).max()), 1e-12)
    return best


def _feasible_point(W: Rows, constraints: Constraints) -> Array:
    """A point of the set where every observed report is possible."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    k = W.shape[1]
    for share in (0.1, 1e-3, 1e-5):
        # as many entries as the set allows are at least share / k
        p, floor = cp.Variable(k, nonneg=True), cp.Variable(k)
        problem = cp.Problem(
            cp.Maximize(cp.sum(floor) * k),
            [cp.sum(p) == 1, floor <= p, floor <= share / k, *constraints(p)],
        )
        try:
            _optimise(problem)
        except (ValueError, cp.error.ParameterError) as error:  # a parameter without value
            raise InvalidArgument("constraints", str(error), _FINITE) from error
        if p.value is None:
            raise InvalidArgument(  # or, by its status, the solver failed
                "constraints",
                problem.status,
                "no distribution meets them all, with p >= 0 and sum(p) = 1; relax or remove some",
            )
        point = np.maximum(p.value, 0.0)
        if W.mix(point).min() > 0.0:
            return np.asarray(point)
    raise InvalidArgument(
        "constraints",
        "too tight",
        "every distribution that meets them gives probability zero to a report that was seen; "
        "relax or remove some",
    )


def _check_convex(constraints: Constraints, p: Any) -> list[Any]:
    """The user's constraints on p, once they are known to define a convex set."""
    import cvxpy

    try:
        built = constraints(p)
    except LDPError:
        raise
    except Exception as error:  # cvxpy raises many kinds, Exception itself for 0 <= p <= 1
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidArgument(
            "constraints",
            constraints,
            f"failed for p of shape {p.shape} ({reason}); return a list such as [p[0] >= p[1]]",
        ) from error
    if not isinstance(built, list | tuple):
        raise InvalidArgument(
            "constraints",
            built,
            "is what the function returns; it must be a list, such as [p[0] >= p[1]]",
        )
    for item in built:
        if not isinstance(item, cvxpy.Constraint) or not item.is_dcp():
            raise InvalidArgument(
                "constraints",
                item,
                "is no convex cvxpy constraint on p; return a list such as [p[0] >= p[1]]",
            )
        # cvxpy before 1.6 hands NaN to the solver; the sum is one of a sparse matrix too
        if any(np.isnan(abs(constant.value).sum()) for constant in item.constants()):
            raise InvalidArgument("constraints", str(item), _FINITE)
    return list(built)


def _gap(score: Array, constraints: Constraints) -> float:
    """``max_q score.q - 1`` over the set, at least zero."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    q = cp.Variable(score.size, nonneg=True)
    # Large coefficients make the solver's absolute tolerances small compared with the gap.
    problem = cp.Problem(cp.Maximize(1e4 * (score - 1.0) @ q), [cp.sum(q) == 1, *constraints(q)])
    _optimise(problem)
    if q.value is None:
        return np.inf
    return max(float((score - 1.0) @ q.value), 0.0)


def _model_step(H: Array, g: Array, p: Array, scale: float, constraints: Constraints) -> Array:
    """The step x, p + x in the set, that minimises ``g.x + x'H x / 2``."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    k = p.size
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-14 * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])).T
    z = cp.Variable(k)
    q = p + scale * z
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(root @ z) / 2 + (g / scale) @ z),
        [q >= 0, cp.sum(z) == (1.0 - p.sum()) / scale, *constraints(q)],
    )
    _optimise(problem)
    if z.value is None:
        return np.zeros(k)
    return np.asarray(scale * z.value)


def _optimise(problem: Any) -> None:
    """Solve to tighter tolerances than usual, linear problems by HiGHS, others by CLARABEL.

    A best point that does not reach them is judged by our own gap, so warnings say nothing.
    """
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    cones = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    names = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
    tight: dict[str, Any] = dict.fromkeys(names, 1e-10)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            # `Problem.is_lp` needs a newer cvxpy than we do
            if not (problem.is_qp() and problem.objective.expr.is_pwl()):
                problem.solve(solver="CLARABEL", **cones)
            elif "HIGHS" in cp.installed_solvers():
                problem.solve(solver="HIGHS", **tight)
            else:
                try:  # scipy has HiGHS too, but refuses infinite bounds
                    problem.solve(solver="SCIPY", scipy_options=tight | {"method": "highs"})
                except ValueError:
                    problem.solve(solver="CLARABEL", **cones)
        except cp.SolverError:
            return


# -- Non-negative least squares and the non-negative Lasso on a hashed design ---------------------
# EPK14 first select the candidates that the reports support with a Lasso. Here it is solved to a
# certificate, on the candidates that are, or tend to be, above zero: at once where they are few,
# else by coordinate descent. A coordinate reads one cell per cohort and hash, and the dense
# background of the design is carried by two sums. Where coordinates are too correlated for that,
# conjugate gradients on the positive coordinates take over. Candidates out of play are looked at in
# passes over all of them.


_AT_ONCE = 512  # candidates in play up to which a dense problem is solved exactly
_SWEEPS = 20  # of coordinate descent, before conjugate gradients are tried
_DIRECTIONS = 200  # of conjugate gradients, before coordinate descent returns
_NEWCOMERS = 200  # candidates that enter at a time, where no more are in play


def nonnegative_lasso(
    design: HashDesign,
    weights: Array,
    rhs: Array,
    penalty: Array | float = 0.0,
    *,
    tol: float = 1e-9,
    max_iter: int = 20_000,
    start: Array | None = None,
) -> Ascent:
    """Minimise ``1/2 (A p - rhs)' D (A p - rhs) + penalty' p`` over p >= 0 (EPK14 section 4).

    `gap` is ``max_x |t_x| ||A_x|| / ||rhs||``, in the norm ``||v||^2 = v' D v``, where t_x is the
    change of p_x that minimises over this coordinate alone: no candidate can improve the fit by
    more than this share of the data. `n_iter` counts sweeps, and problems solved at once.

    A is the design, (C m, S); D weighs every cell of cohort c by ``weights[c] >= 0``. The penalty,
    a number or (S,), is in the units of the gradient A' D rhs; see `penalty_level`. Let the
    background be near the mean of H, as for mass that no candidate explains: a penalty shrinks the
    sum of p, and without a background the mass that it takes away lifts every cell, and so presses
    all absent candidates to join. Coordinate descent: Friedman, Hastie and Tibshirani (2010), J.
    Stat. Softw. 33(1); conjugate gradients on a face: More and Toraldo (1991), SIAM J. Optim. 1.
    """
    D = np.repeat(floats(weights), design.n_cells)
    charge = np.broadcast_to(floats(penalty), design.shape[1:])
    squares = design.normal_diagonal(D)
    scale = math.sqrt(float(D @ np.square(rhs))) or 1.0  # nothing to fit: any scale will do
    p = np.zeros(design.shape[1]) if start is None else np.array(start, dtype=np.float64)
    n_iter, last = 0, np.inf
    while True:
        descent = design.adjoint(D * (rhs - design.times(p))) - charge
        # a column of zeros has nothing to say
        step = np.divide(descent, squares, out=np.zeros(p.size), where=squares > 0.0)
        moves = np.abs(np.maximum(step, -p)) * np.sqrt(squares) / scale
        gap = float(moves.max(initial=0.0))
        if gap <= tol or n_iter >= max_iter:
            return Ascent(p, gap, n_iter, gap <= tol)
        # As many may join as are above zero, so that few visit in vain and few passes are needed.
        positive = p > 0.0
        joining = np.flatnonzero(~positive & (moves > tol))
        most = max(_NEWCOMERS, int(np.count_nonzero(positive)))
        if joining.size > most:
            joining = joining[np.argpartition(-moves[joining], most)[:most]]
        chosen = np.sort(np.concatenate([np.flatnonzero(positive), joining]))
        inner, values = design.take(chosen), p[chosen]
        if chosen.size <= _AT_ONCE and gap < last:
            values += DenseModel(inner.gram(D)).step(values, -descent[chosen])
            n_iter, last = n_iter + 1, gap
        else:
            # The others wait, so the chosen need not be settled much better than these.
            enough = max(0.3 * tol, 0.05 * gap) * scale
            n_iter += _descend(inner, D, squares[chosen], rhs, charge[chosen], values, enough)
        p[chosen] = values


def _descend(
    design: HashDesign,
    D: Array,
    squares: Array,
    rhs: Array,
    penalty: Array,
    p: Array,
    enough: float,
) -> int:
    """Coordinate descent from p, in place, until ``|change of p_x| ||A_x||`` is `enough`; sweeps.

    After too many, p > 0 goes towards the minimum with no bounds, as far as clipping at zero
    allows. That step is halved until the objective falls, so that p never ends worse.
    """
    from ldpstats.kernels.cells import sweep

    weights, total = D.reshape(design.n_cohorts, -1), float(p.sum())
    pull = np.zeros((len(weights), design.n_cells + 1))
    flat = rhs - design.times(p) - design.slope * design.background * total
    pull[:, :-1] = flat.reshape(weights.shape) * weights
    sums, each = np.array([total, pull.sum()]), weights[:, 0].copy()
    cells = np.ascontiguousarray(design.cells.transpose(1, 0, 2))
    columns = np.stack([design.owners(D), squares, penalty], axis=1)
    shared = float(design.slope), float(design.background), float(D.sum())
    for n in range(1, _SWEEPS + 1):
        if sweep(cells, each, columns, shared, pull, sums, p) <= enough:
            return n
    face = np.flatnonzero(p)
    own, start, t = design.take(face), p[face], 1.0
    descent = own.adjoint(D * (rhs - own.times(start))) - penalty[face]
    scaled = (1.0 / squares[face]).__mul__  # by the diagonal
    goal = 1e-2 * math.sqrt(float(descent @ scaled(descent)))
    product = partial(own.normal, D)
    step, _ = conjugate_gradients(product, scaled, descent, _DIRECTIONS, goal)
    while t > 1e-6:
        reached = np.maximum(start + t * step, 0.0)
        change = reached - start
        if 0.5 * float(change @ product(change)) < float(descent @ change):
            p[face] = reached
            break
        t *= 0.5
    return _SWEEPS


# -- Maximise a likelihood less a quadratic penalty over the simplex, with its certificate --------


_SHRINK = 0.1  # of the barrier from one step to the next
_STAY = 0.99  # share of the way to the boundary that a step may take
_LEAST_STEP = 1e-8
_NEVER = 1e-9  # frequency, times the number of categories, below which an entry may be zero
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


@record
class Penalised:
    """``f(p) = -sum_i n_i log(W p)_i / N + p'K p / 2``, minimised over the simplex; convex.

    The `likelihood` is that of W and n, `K`, (k, k), is positive semidefinite.
    """

    likelihood: Likelihood
    K: Array

    def gradient(self, p: Array) -> Array:
        """Gradient of f, shape (k,)."""
        return self.K @ p - self.likelihood.score(p) / self.likelihood.nobs

    def information(self, p: Array) -> Array:
        """Hessian of the first term, shape (k, k)."""
        return self.likelihood.information(p) / self.likelihood.nobs

    def gap(self, p: Array) -> float:
        """``p.g - min g`` for the gradient g: f(p) exceeds its minimum by no more, as f is convex.

        It is never negative, and zero only at the minimum.
        """
        g = self.gradient(p)
        return max(float(p @ g - g.min()), 0.0)

    @property
    def rounding(self) -> float:
        """Gap that float64 cannot tell from zero."""
        scale = 1.0 + float(np.abs(self.K).max(initial=0.0)) / len(self.K)
        return _ROUNDING * scale


def penalised_maximum(f: Penalised, target: float, max_iter: int) -> tuple[Ascent, float]:
    """The minimum of f by a primal-dual interior point method, and its effective parameters.

    Every step solves ``(H + diag(z / p)) dp + dy 1 = tau / p - g - y 1`` with ``1'dp = 0`` for the
    multipliers z of p >= 0 and y of the sum (Boyd and Vandenberghe 2004, section 11.7), from the
    uniform p. The effective parameters are the trace of ``(J + K + diag(z / p))^-1 J`` with J the
    information, restricted to changes that sum to zero.
    """
    from scipy.linalg import cho_factor, cho_solve

    solved: Any = partial(cho_solve, check_finite=False)
    k = len(f.K)
    p, _ = possible(f.likelihood.W, np.full(k, 1.0 / k))
    goal = max(target, f.rounding)
    g = f.gradient(p)
    y = -float(p @ g)
    z = np.maximum(g + y, 0.1)
    for i in range(max_iter + 1):
        gap = max(float(p @ g - g.min()), 0.0)
        tell(gap, goal)
        if gap <= 0.1 * goal or i == max_iter:
            break
        tau = _SHRINK * float(p @ z) / k
        factor = cho_factor(f.information(p) + f.K + np.diag(z / p), lower=True, check_finite=False)
        step, ones = solved(factor, np.column_stack([tau / p - (g + y), np.ones(k)])).T
        dy = float(step.sum() / ones.sum())
        dp = step - dy * ones
        dz = tau / p - z - z / p * dp
        t = min(1.0, _STAY * _longest(p, dp), _STAY * _longest(z, dz))
        least = _residual(p, z, g + y, tau)
        while t > _LEAST_STEP:
            at = p + t * dp
            slope = f.gradient(at)
            new = _residual(at, z + t * dz, slope + y + t * dy, tau)
            if new <= (1.0 - 0.01 * t) * least:
                break
            t /= 2.0
        else:
            break
        p, z, y = at / at.sum(), z + t * dz, y + t * dy
        g = f.gradient(p)
    J = f.information(p)
    factor = cho_factor(J + f.K + np.diag(z / p), lower=True, check_finite=False)
    ones = solved(factor, np.ones(k))
    df = float(np.trace(solved(factor, J)) - ones @ J @ ones / ones.sum())
    # entries that the barrier alone keeps from zero are set to zero, if the gap stays small
    kept = np.where(p * k < _NEVER, 0.0, p)
    kept /= kept.sum()
    p = kept if f.gap(kept) <= max(goal, f.gap(p)) else p
    gap = f.gap(p)
    return Ascent(p, gap, i, gap <= goal), df


def _longest(x: Array, change: Array) -> float:
    """The largest t for which x + t change >= 0, for positive x."""
    falls = change < 0.0
    return float(np.min(-x[falls] / change[falls], initial=np.inf))


def _residual(p: Array, z: Array, slope: Array, tau: float) -> float:
    """Distance from the conditions for the barrier tau."""
    return float(np.sqrt(((slope - z) ** 2).sum() + ((p * z - tau) ** 2).sum()))


# -- Maximise a likelihood through products with W alone, where its Hessian is far from diagonal ---


_STAY_NEWTON = 0.995  # share of the way to the boundary that a step may take
_FORCING = 1e-2  # relative error of a Newton step, in its own norm
_MOST_PRODUCTS = 2000  # of the Hessian with a vector, for one step
_PATIENCE_NEWTON = 8  # iterations without a smaller gap before giving up


def interior_newton(
    W: Rows,
    n: Array,
    start: Array,
    target: float,
    max_step: float = np.inf,
    max_iter: int = 100,
) -> Ascent:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex by a primal-dual interior point method.

    The penalty -N sum(p) makes p >= 0 the only constraint, as in `proximal_newton`. Each Newton
    step of ``-sum_i n_i log(W p)_i / N + sum(p) - mu sum_x log(p_x)`` is solved by conjugate
    gradients: two products with W for each, and no matrix of k x k. The preconditioner is the
    diagonal plus rank one Hessian of `LowRankModel`, exact where p_x is on its way to zero. It
    stops at a gap of `target` after a step below `max_step` standard errors: as the barrier falls
    tenfold from step to step, what is left is shorter. All reports must be possible under `start`.
    """
    total, k = float(n.sum()), W.shape[1]
    p = 0.9 * start + 0.1 / k
    d = W.mix(p)
    weight = n / (d * total)
    g = 1.0 - W.adjoint(weight)
    mu = max(-float(g.min()), target) / k
    z = np.maximum(g, mu / p)
    best, size = Ascent(p, np.inf, 0, False), np.inf
    for i in range(max_iter + 1):
        mass = float(p.sum())
        gap = max((1.0 - float(g.min())) * mass - 1.0, 0.0)
        tell(gap, target)
        if gap < best.gap:
            best = Ascent(p / mass, gap, i, size <= max_step)
        if gap <= target and size <= max_step:
            # what is nearer to its bound than its slope, in the units of the curvature, is zero
            q = np.where(p * W.adjoints(weight / d)[1] < z, 0.0, p)
            q /= q.sum()
            fresh = certified_gap(W, n, q) if W.mix(q).min() > 0.0 else np.inf
            if fresh <= target:
                return Ascent(q, fresh, i, True)
        if i - best.n_iter > _PATIENCE_NEWTON:
            break
        mu = _SHRINK * float(p @ z) / k
        x, change = _newton_step(W, weight / d, z / p, g - mu / p)
        dz = mu / p - z - z / p * x
        # the whole step, unless it leaves p > 0 or raises the objective
        t = min(1.0, _STAY_NEWTON * _longest(p, x), _STAY_NEWTON * _longest(d, change))
        for _ in range(30):
            rise = n / total @ np.log1p(t * change / d)
            if rise - t * x.sum() + mu * np.log1p(t * x / p).sum() >= -1e-14:
                break
            t /= 2.0
        size = np.sqrt(total * float((weight / d) @ change**2)) if t == 1.0 else np.inf
        z = z + min(1.0, _STAY_NEWTON * _longest(z, dz)) * dz
        p, d = p + t * x, d + t * change
        weight = n / (d * total)
        g = 1.0 - W.adjoint(weight)
    fresh = certified_gap(W, n, best.p)
    return Ascent(best.p, fresh, i, fresh <= target and best.converged)


def _newton_step(W: Rows, v: Array, barrier: Array, g: Array) -> tuple[Array, Array]:
    """The x that solves ``(W' diag(v) W + diag(barrier)) x = -g``, and W x."""
    model = LowRankModel.at(W, v)
    D, u = model.D + barrier, model.U[:, 0]
    across = u / D
    across /= np.sqrt(1.0 + u @ across)

    x, _ = conjugate_gradients(
        lambda step: W.adjoint(v * W.mix(step)) + barrier * step,
        lambda r: r / D - across * (across @ r),
        -g,
        _MOST_PRODUCTS,
        relative=_FORCING,
    )
    return x, W.mix(x)
