"""Estimators by a likelihood: exact, by EM, by cones, penalised for roughness, and composite."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ldpstats.arguments import Array, floats, positive_integer, positive_number
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.base import LikelihoodEstimator, MomentsEstimator
from ldpstats.estimators.constrained import Penalised, interior_newton, penalised_maximum
from ldpstats.estimators.solvers import (
    LAST_STEP,
    STALE,
    STEP,
    Ascent,
    DenseModel,
    LowRankModel,
    Model,
    certified_gap,
    check_tol,
    gap_target,
    has_few_reports,
    maximise_reduced,
    newton,
    observed,
    possible,
    proximal_newton,
    report,
    require_possible,
    root,
    sampled,
    starting_point,
    tell,
)
from ldpstats.labels import checked_edges
from ldpstats.likelihood.moments import Equations, Moments
from ldpstats.likelihood.rows import DenseRows, Likelihood, Rows, Solution, UniformRows

if TYPE_CHECKING:
    import cvxpy

Constraints = Callable[["cvxpy.Expression"], list[Any]]

_POLISH_K = 64  # dense problems up to this size are taken to a gap of 1e-12
_DENSE_K = 2500  # largest k for which a k x k Hessian is formed after the structured solver
_TABLE_K = 400  # largest k for which that Hessian is formed where products are quick without it
_PROXIMAL = 50  # iterations after which Newton takes over, where it can


@dataclass(frozen=True)
class MLE(LikelihoodEstimator):
    """Maximum likelihood over the simplex, certified by its duality gap.

    The rows of the problem choose the solver: water-filling in closed form for a I + b 11' (k-RR;
    KBR16 Proposition 6), proximal Newton for unary and hashed reports, Newton for a dense matrix
    and for joint reports, with the Hessian of a sample where they are many, or without one by an
    interior point method where cells are many and reports make a table. With `constraints`,
    sequential quadratic programming over the constrained set.

    Parameters
    ----------
    constraints : callable or None
        Takes the (k,) cvxpy expression of p and returns a list of cvxpy constraints that define a
        convex set; p >= 0 and sum(p) = 1 are added. See `ldpstats.estimators.constraints`.
    tol : float or None
        Gap per report to reach. None for 1e-3 nats over all reports, and an estimated Newton step
        below 1e-3 standard errors; then dense problems of up to 64 categories go on to 1e-12.
    max_iter : int
        Largest number of iterations of each solver.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive, `max_iter` is below 1, or no p meets the constraints.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> solution = MLE().solve(problem)
    >>> solution.p.round(6), solution.gap < 1e-12
    (array([0.7, 0.3]), True)
    """

    constraints: Constraints | None = None
    tol: float | None = None
    max_iter: int = 200
    name: ClassVar[str] = "mle"

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)
        if self.constraints is not None and not callable(self.constraints):
            remedy = "must be a function of p that returns cvxpy constraints, or None"
            raise InvalidArgument("constraints", self.constraints, remedy)

    @property
    def without_errors(self) -> str:  # type: ignore[override]
        return "" if self.constraints is None else "none (constrained)"

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood.

        Where W p is the same for several p the maximum is not unique, and one of them is returned.

        Warns
        -----
        ConvergenceWarning
            Where the gap was not reached.
        """
        W, n = observed(problem)
        target = gap_target(problem.nobs, self.tol)
        if self.constraints is None:
            ascent, how = maximise(W, n, target, self.tol is None, self.max_iter)
        else:
            from ldpstats.estimators.constrained import constrained_maximum

            ascent = constrained_maximum(W.prepared(), n, self.constraints, target, self.max_iter)
            how = f"sequential quadratic programming, {ascent.n_iter} iterations"
        return report(ascent, problem.nobs, how, target)


def refitted(W: Rows, n: Array, start: Array | None, model: DenseModel | None = None) -> Solution:
    """What ``MLE().solve`` finds for counts n > 0, from a point that is near the maximum.

    A `model` of the Hessian there, of other reports with the same law, spares forming one; small
    problems are then not polished, since what their reports leave to chance is far more.
    """
    nobs = int(n.sum())
    target = gap_target(nobs, None)
    if start is not None and model is not None:
        rows, shared = W.prepared(), lambda *_: model
        ascent = proximal_newton(rows, n, start, target, STEP, _PROXIMAL, shared, np.inf)
        if ascent.converged:
            how = f"Newton with the Hessian of other reports, {ascent.n_iter} iterations"
            return report(ascent, nobs, how, target)
        start = ascent.p
    ascent, how = maximise(W, n, target, True, start=start)
    return report(ascent, nobs, how, target)


def model_of_refits(W: Rows, n: Array, p: Array) -> DenseModel | None:
    """The Hessian at p that `refitted` shares between surveys; None where its own is as quick."""
    if not W.is_structured or W.shape[1] > _POLISH_K:
        return None
    W = W.prepared()
    return DenseModel(W.gram(n / (float(n.sum()) * W.mix(p) ** 2)))


def maximise(
    W: Rows,
    n: Array,
    target: float,
    by_step: bool,
    max_iter: int = 200,
    start: Array | None = None,
) -> tuple[Ascent, str]:
    """Maximise ``sum_i n_i log(W p)_i`` over the simplex, for counts n > 0, and say how.

    It stops at a gap of `target` per report; with `by_step` the next step must also be below 1e-3
    standard errors, and small problems are polished. From `start`, (k,), if given; closed forms
    are then not used. Products go first where W has structure; Newton takes over where k is small
    enough for its Hessian: to close the gap, and to polish.
    """

    def solve(W: Rows, n: Array) -> tuple[Ascent, str]:
        k = W.shape[1]
        small = by_step and k <= _POLISH_K
        last = LAST_STEP if by_step else np.inf
        goal = min(target, 1e-12) if small else target
        if not W.is_structured or (_is_sampled(W) and has_few_reports(W)):
            ascent = newton(W, n, goal, start, last, max_iter)
            how = f"Newton, {ascent.n_iter} iterations"
            return replace(ascent, converged=ascent.gap <= target), how
        W = W.prepared()
        first, how = _by_products(W, n, target, by_step, max_iter, start)
        if (first.converged and not small) or k > _DENSE_K:
            return first, how
        ascent = newton(W, n, goal, first.p, last, max_iter)
        how += f"; Newton, {ascent.n_iter} iterations"
        return Ascent(ascent.p, ascent.gap, first.n_iter + ascent.n_iter, ascent.gap <= target), how

    if start is not None:
        return solve(W, n)
    known = W.closed_form(n)
    if known is not None:
        how = "water-filling in closed form"
        return Ascent(known, certified_gap(W, n, known), 0, True), how
    return maximise_reduced(W, n, target, solve)


def _by_products(
    W: Rows, n: Array, target: float, by_step: bool, max_iter: int, begin: Array | None
) -> tuple[Ascent, str]:
    """Proximal Newton with the model of the Hessian that suits the rows, without forming it."""
    table, joint = _is_large_table(W), _is_sampled(W)
    tries = max_iter if W.shape[1] > _DENSE_K and not table else min(max_iter, _PROXIMAL)
    last = STEP if by_step else np.inf
    model_at: Callable[[Rows, Array], Model] = LowRankModel.at
    if joint:
        model_at = sampled(W, n)
    elif len(W.groups(n)) > 1 and not table:
        model_at = LowRankModel.by_groups
    stale = np.inf if joint or table else STALE  # models of joint reports are costly
    begin = starting_point(W, n) if begin is None else begin
    ascent = proximal_newton(W, n, begin, target, last, tries, model_at, stale)
    name = "Newton with a sampled Hessian" if joint else "proximal Newton"
    how = f"{name}, {ascent.n_iter} iterations"
    if not table or ascent.converged:
        return ascent, how
    inner = interior_newton(W, n, ascent.p, target, last, max_iter)
    how += f"; interior point method, {inner.n_iter} iterations"
    return replace(inner, n_iter=ascent.n_iter + inner.n_iter), how


def _is_large_table(W: Rows) -> bool:
    """Whether cells are many and products quick, so that no k x k Hessian is worth forming."""
    return W.shape[1] > _TABLE_K and W.is_table


def _is_sampled(W: Rows) -> bool:
    """Whether a sample of the reports may give the Hessian: of joint reports on few cells."""
    return W.shape[1] <= _DENSE_K and W.is_joint and not _is_large_table(W)


# -- Expectation maximisation, accelerated and certified ------------------------------------------


_TINY = 1e-30  # subnormal numbers are slow; the certificate guards what is flushed


def em_step(problem: Likelihood, p: Array) -> Array:
    """One plain EM step, ``p_x <- p_x score_x / n`` (FPE16 section III-A, MK19 section 2.5)."""
    return p * problem.score(p) / problem.nobs


@dataclass(frozen=True)
class EM(LikelihoodEstimator):
    """Maximum likelihood by EM with squared extrapolation (SQUAREM), stopped on the duality gap.

    Two EM steps r, r + v from p are extrapolated to ``p - 2 s r + s^2 v``, ``s = -|r|/|v|``; a step
    that would lower the log-likelihood is halved towards plain EM (Varadhan & Roland 2008).

    Parameters
    ----------
    tol : float or None
        Gap per report to reach; None for 1e-3 nats over all reports and an estimated Newton step
        below 1e-3 standard errors.
    max_iter : int
        Largest number of EM steps.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive or `max_iter` is below 1.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> EM(tol=1e-9).solve(problem).p.round(6)
    array([0.7, 0.3])
    """

    tol: float | None = None
    max_iter: int = 100_000
    name: ClassVar[str] = "em"

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood; `n_iter` counts EM steps.

        Warns
        -----
        ConvergenceWarning
            Where `max_iter` steps did not reach the gap.
        """
        W, n = observed(problem)
        target = gap_target(problem.nobs, self.tol)
        last = STEP if self.tol is None else np.inf

        def solve(rows: Rows, counts: Array) -> tuple[Ascent, str]:
            ascent = squarem(rows.prepared(), counts, target, self.max_iter, last)
            return ascent, f"EM, {ascent.n_iter} steps"

        ascent, how = maximise_reduced(W, n, target, solve)
        return report(ascent, problem.nobs, how, target)


def squarem(W: Rows, n: Array, target: float, max_iter: int, max_step: float = np.inf) -> Ascent:
    """Accelerated EM on rows W, shape (u, k), with counts n > 0; see `EM`.

    `max_step` bounds the estimated Newton step that is left, in standard errors.
    """
    total, k = float(n.sum()), W.shape[1]
    p, d = possible(W, np.full(k, 1.0 / k))
    steps, done = 0, False
    while True:
        score = W.adjoint(n / (d * total))
        tell(float(score.max()) - 1.0, target)
        if score.max() - 1.0 <= target:
            model = LowRankModel.at(W, n / (d * d * total))
            done = np.sqrt(total) * model.size(model.step(p, 1.0 - score)) <= max_step
        if done or steps >= max_iter:
            break
        p1 = _flush(p * score, score)
        score1 = W.adjoint(n / (W.mix(p1) * total))
        p2 = _flush(p1 * score1, score1)
        p2 /= p2.sum()
        steps += 2
        p, d = _extrapolate(W, n, p, p1, p2, W.mix(p2))
    gap = certified_gap(W, n, p)
    return Ascent(p, gap, steps, done and gap <= target)


def _extrapolate(
    W: Rows, n: Array, p: Array, p1: Array, p2: Array, d2: Array
) -> tuple[Array, Array]:
    """The extrapolated point and its W p; never less likely than p2."""
    r = p1 - p
    v = (p2 - p1) - r
    norm = float(np.linalg.norm(v))
    s = float(np.linalg.norm(r)) / norm if norm > 0.0 else 1.0
    least = float(n @ np.log(d2))
    while s > 1.0:
        q = p + 2.0 * s * r + s * s * v
        q = np.where(q > 0.0, q, 0.1 * p2)  # entries on their way to zero stay ahead of it
        q /= q.sum()
        d = W.mix(q)
        if d.min() > 0.0 and float(n @ np.log(d)) >= least:
            return q, d
        s = (s + 1.0) / 2.0 if s > 1.1 else 1.0
    return p2, d2


def _flush(p: Array, score: Array) -> Array:
    """p with negligible entries that are still falling set to zero."""
    return np.where((p < _TINY) & (score < 1.0), 0.0, p)


# -- The dual of the likelihood of several variables: one pass from the marginal fits -------------


@dataclass(frozen=True)
class OneStep(MomentsEstimator):
    """Joint distribution in one pass over the reports, from the two marginal fits.

    ``P = JX^-1 mean(a b') JY^-1`` with the scores a and b of each report at the marginal fits, and
    their information JX and JY. It is unbiased to first order whatever P is, and near independence
    as good as the maximum likelihood estimate in the interior; sums over chunks are all it needs.

    Parameters
    ----------
    newton : int
        Newton steps of the joint likelihood that `AssociationModel.fit` takes from there, without
        the constraint p >= 0; one makes it as good as the maximum likelihood estimate under any
        association, in the interior.

    Raises
    ------
    InvalidArgument
        Where `newton` is negative.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> model = ldp.AssociationModel(counts)
    >>> OneStep().solve(model.dual_moments()).p.round(3)
    array([0.488, 0.078, 0.078, 0.357])
    """

    newton: int = 0
    name: ClassVar[str] = "one_step"

    def __post_init__(self) -> None:
        positive_integer("newton", self.newton, 0)

    def solve(self, problem: Moments) -> Solution:
        """Solve the moments of the scores (`AssociationModel.dual_moments`)."""
        p, how = problem.estimate()
        return Solution(p, np.nan, 0, True, f"dual of the likelihood: {how}")


# -- Maximum likelihood by a general convex solver, with its certificate checked ------------------


_LARGEST = 1 << 24  # entries of a dense W that are handed to the solver


@dataclass(frozen=True)
class CvxpyMLE(LikelihoodEstimator):
    """Maximum likelihood by cvxpy and CLARABEL (exponential cones), polished where needed.

    It exists as an independent check of `MLE`, which is faster. An interior-point solver stops on
    its own tolerances; where its gap is above the target, Newton steps from its answer close it,
    and `message` gives the gap before them.

    Parameters
    ----------
    tol : float or None
        Gap per report to reach; None for 1e-3 nats over all reports, with an estimated Newton step
        below 1e-3 standard errors.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> CvxpyMLE().solve(problem).p.round(6)
    array([0.7, 0.3])
    """

    tol: float | None = None
    name: ClassVar[str] = "cvxpy"

    def __post_init__(self) -> None:
        check_tol(self.tol)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood.

        Raises
        ------
        NotAvailable
            Where W has more than 1.7e7 entries and no structure that the solver can use.

        Warns
        -----
        ConvergenceWarning
            Where the gap was not reached.
        """
        W, n = observed(problem)
        require_possible(W)
        target = gap_target(problem.nobs, self.tol)
        p, status, n_iter = _by_cones(W, n)
        gap = certified_gap(W, n, p) if W.mix(p).min() > 0.0 else np.inf
        how = f"CLARABEL, {status}, gap {gap:.1e}"
        ascent = Ascent(p, gap, n_iter, gap <= target)
        if self.tol is None or not ascent.converged:
            polished, steps = maximise(W, n, target, self.tol is None, start=p)
            ascent = Ascent(polished.p, polished.gap, n_iter + polished.n_iter, polished.converged)
            how += f"; polished by {steps}"
        return report(ascent, problem.nobs, how, target)


def _by_cones(W: Rows, n: Array) -> tuple[Array, str, int]:
    """The solver's p, made to lie on the simplex, its own status and its iterations."""
    import cvxpy

    cp: Any = cvxpy  # its annotations are incomplete
    u, k = W.shape
    p = cp.Variable(k, nonneg=True)
    if isinstance(W, UniformRows):  # sparse for cvxpy, of which rows know nothing
        mixed = W.a * p[W.codes] + W.background
    elif u * k <= _LARGEST:
        mixed = W.dense() @ p
    else:
        raise NotAvailable(
            f"{u} distinct reports of {k} categories are too many for cvxpy; use method 'mle'"
        )
    problem = cp.Problem(cp.Maximize((n / n.sum()) @ cp.log(mixed)), [cp.sum(p) == 1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # status tells
        try:
            problem.solve(solver=cp.CLARABEL)
            status = str(problem.status)
        except cp.SolverError:
            status = "failed"
    iterations = problem.solver_stats.num_iters if problem.solver_stats is not None else None
    # CLARABEL leaves entries of about -1e-10, and sums that are one only to its tolerance.
    value = np.full(k, 1.0) if p.value is None else np.maximum(p.value, 0.0)
    return value / value.sum(), status, int(iterations or 0)


# -- Maximum likelihood of ordered categories with a penalty for roughness ------------------------


_PENALTIES = (0.0, *(10.0**power for power in range(-15, 0)))  # from which one is chosen
_COARSE = 64  # bins on which it is chosen, at most
_COST = 2.0  # nats for each effective parameter: twice AIC's
_MOST_BINS = 2500  # bins for which k x k matrices are formed


@dataclass(frozen=True)
class Smoothed(LikelihoodEstimator):
    """Penalised maximum likelihood for ordered categories: neighbours have similar densities.

    It maximises ``sum_i n_i log(W p)_i / n - penalty / 2 * integral of f''(u)^2 du`` over the
    simplex, where f is the density of the answers on their range, taken as [0, 1]: p over the
    widths of the bins (even ones, unless `edges` are given), its second derivative by divided
    differences of neighbours (`roughness`). The objective is concave, and `gap` is that of the
    penalised objective: no p reaches more by more than the gap.

    The penalty is in units that depend neither on n nor on the number of bins. Unless it is given
    it is chosen among 0 and 1e-15, 1e-14, ..., 0.1: the one with the largest log-likelihood less 2
    nats for each effective parameter, that is the trace of ``(J + K)^-1 J`` with J the information
    and K the penalty's Hessian. AIC, with 1 nat, chose too small penalties in simulations. If bins
    are many the choice is made on at most 64 merged ones. `message` says what was chosen.

    The estimate is biased towards smooth frequencies, by design: it has no standard errors, and
    intervals and tests rest on the unconstrained estimate, as for every method. Categories must be
    in order; no estimator can know whether they are.

    Parameters
    ----------
    penalty : float or None
        Weight of the roughness, 0 (which is `MLE`) or more; None to have it chosen.
    edges : array-like of float, shape (k + 1,), or None
        Edges of the bins, such as those of `SquareWave`; None if bins are of the same width.
    tol : float or None
        Gap per report to reach; None for 1e-3 nats over all reports.
    max_iter : int
        Largest number of Newton steps for a penalty.

    References
    ----------
    Good and Gaskins (1971), Biometrika 58, 255-277, penalised likelihood; Li et al. (2020) smooth
    within EM instead (EMS), which maximises no objective.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ages = ldp.SquareWave(range(0, 101, 5), epsilon=1.0)
    >>> p = np.exp(-0.5 * ((np.arange(20) - 8) / 3.0) ** 2)
    >>> counts = ages.draw(p / p.sum(), 10_000, np.random.default_rng(1))
    >>> model = ldp.FrequencyModel(counts)
    >>> smooth, plain = model.fit(Smoothed()).params, model.fit("mle").params
    >>> p /= p.sum()
    >>> float(round(abs(smooth - p).sum(), 2)), float(round(abs(plain - p).sum(), 2))
    (0.16, 0.41)
    """

    penalty: float | None = None
    edges: Any = None
    tol: float | None = None
    max_iter: int = 200
    name: ClassVar[str] = "smoothed"
    without_errors = "none (penalised)"

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)
        if self.penalty is not None:
            positive_number("penalty", self.penalty, (0.0, 1e6))
        if self.edges is not None:  # a tuple, so that estimators can be compared
            edges = tuple(checked_edges(self.edges).tolist())
            object.__setattr__(self, "edges", edges)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the penalised likelihood; `n_iter` counts Newton steps at the penalty used.

        Raises
        ------
        NotAvailable
            For joint reports, and for more than 2500 bins.
        InvalidArgument
            If `edges` do not belong to as many bins as there are categories.

        Warns
        -----
        ConvergenceWarning
            Where the gap was not reached.
        """
        W, n = observed(problem)
        k = W.shape[1]
        if W.is_joint:
            raise NotAvailable("joint frequencies have no single order: smooth one variable alone")
        if k > _MOST_BINS:
            raise NotAvailable(
                f"{k} bins are too many to smooth; merge them to {_MOST_BINS} or less"
            )
        edges = np.linspace(0.0, 1.0, k + 1) if self.edges is None else np.array(self.edges)
        if edges.size != k + 1:
            remedy = f"must be {k + 1} edges, for the {k} categories"
            raise InvalidArgument("edges", self.edges, remedy)
        W = W.prepared()
        penalty = self._chosen(W, n, edges) if self.penalty is None else float(self.penalty)
        ascent, df, target = self._at(W, n, edges, penalty)
        how = f"penalty {penalty:.3g}" + (" (chosen)" if self.penalty is None else "")
        how = f"likelihood with {how}, {df:.1f} effective parameters, {ascent.n_iter} Newton steps"
        return report(ascent, problem.nobs, how, target)

    def _at(self, W: Rows, n: Array, edges: Array, penalty: float) -> tuple[Ascent, float, float]:
        f = Penalised(Likelihood(W, n), penalty * roughness(edges))
        target = max(gap_target(f.likelihood.nobs, self.tol), f.rounding)
        return *penalised_maximum(f, target, self.max_iter), target

    def _chosen(self, W: Rows, n: Array, edges: Array) -> float:
        """The penalty with the best criterion, on merged bins if they are many."""
        k = W.shape[1]
        if k > _COARSE:
            starts = np.unique(np.linspace(0, k, _COARSE + 1).astype(np.int64))
            merged = np.add.reduceat(W.dense() * np.diff(edges), starts[:-1], axis=1)
            W, edges = DenseRows(merged / np.diff(edges[starts]), W.log_scale), edges[starts]
        best, chosen = -np.inf, 0.0
        for penalty in _PENALTIES:
            ascent, df, _ = self._at(W, n, edges, penalty)
            value = float(n @ np.log(W.mix(ascent.p))) - _COST * df
            if ascent.converged and value >= best:
                best, chosen = value, penalty
        return chosen


def roughness(edges: Array) -> Array:
    """The K, shape (k, k), of the quadratic form ``p'K p``: the integral of f''(u)^2 du.

    The density f is p over the widths of the bins, on the range of the edges taken as [0, 1]. At
    bin x its second derivative is the difference of the slopes to the bins beside it, over the mean
    distance of the midpoints, which is also its weight in the integral.
    """
    u = (edges - edges[0]) / (edges[-1] - edges[0])
    step = np.diff((u[1:] + u[:-1]) / 2.0)
    slopes = np.diff(np.diag(1.0 / np.diff(u)), axis=0) / step[:, None]
    D = np.diff(slopes, axis=0) / np.sqrt((step[1:] + step[:-1]) / 2.0)[:, None]
    return np.asarray(D.T @ D)


# -- KBR16's Proposition 7, as the composite likelihood that it is --------------------------------


@dataclass(frozen=True)
class Composite(MomentsEstimator):
    """Maximise ``sum_j T_j log m_j + (n - T_j) log(1 - m_j)`` over the simplex (KBR16 Prop. 7).

    Here T_j = n t_j reports have bit j set and ``m_j = offset + A p_j``. It treats the bits of a
    report as independent given p, which they are not: it is a composite likelihood, built from the
    k marginal ones, and not the likelihood, which `MLE` maximises.

    For a multiplier nu the conditions ``(t - m)/(m (1 - m)) <= nu``, with equality where p > 0, are
    k quadratics, and the sum of their solutions falls in nu: a one-dimensional root gives p.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rappor = ldp.KRAPPOR(3, epsilon=2.0)
    >>> problem = rappor.moments(rappor.counts([600, 400, 260], nobs=1000))
    >>> Composite().solve(problem).p.round(4)
    array([0.7164, 0.2836, 0.    ])
    """

    name: ClassVar[str] = "composite"

    def solve(self, problem: Moments) -> Solution:
        """Return the maximum; `message` holds how far the optimality conditions are from holding.

        Raises
        ------
        NotAvailable
            Where the reports are not unary: one independent bit per category.
        """
        t, A, offset = _bits(problem)

        def excess(nu: Any) -> float:
            return float(_root(float(nu), t, A, offset).sum()) - 1.0

        sign = 1.0 if excess(0.0) > 0.0 else -1.0
        edge = sign
        while sign * excess(edge) > 0.0:
            edge *= 2.0
        nu = float(root(excess, min(0.0, edge), max(0.0, edge), xtol=1e-15))
        p = _root(nu, t, A, offset)
        total = float(p.sum())
        p = p / total
        m = offset + A * p
        slack = t - m - nu * m * (1.0 - m)  # at most zero, and zero where p > 0
        violation = float(np.max(np.where(p > 0.0, np.abs(slack), np.maximum(slack, 0.0))))
        message = (
            f"KKT conditions of the composite likelihood solved for their multiplier {nu:.6g}: "
            f"residual {violation:.1e}"
        )
        return Solution(p, np.nan, 0, True, message)

    def excess(self, problem: Moments, p: Array) -> Array:
        """In proportion to the variances m (1 - m) of the bits, the inverse weights of the fit."""
        _, A, offset = _bits(problem)
        m = offset + A * p
        return np.asarray(m * (1.0 - m) / (m * (1.0 - m)).sum())


def _bits(problem: Moments) -> tuple[Array, float, Array]:
    """t, A and offset of ``E[t_j] = offset_j + A p_j``, one bit a category."""
    # only these moments are such equations: of others the composite likelihood is not known
    if (
        not isinstance(problem, Equations)
        or problem.kind != "bits"
        or not isinstance(problem.A, float)
    ):
        raise NotAvailable(
            "the composite likelihood needs unary reports, with one bit per category "
            "(KRAPPOR and its relatives); use method 'mle'"
        )
    return problem.t, problem.A, floats(problem.offset)


def _root(nu: float, t: Array, A: float, offset: Array) -> Array:
    """p for the multiplier nu: the root m in [0, 1] of ``t - m = nu m (1 - m)``, then p >= 0."""
    half = 1.0 + nu
    root = np.sqrt(np.maximum(half * half - 4.0 * nu * t, 0.0))
    # the two forms of the same root, each where it does not cancel
    m = 2.0 * t / (half + root) if half > 0.0 else (half - root) / (2.0 * nu)
    return np.maximum(np.asarray((m - offset) / A), 0.0)
