"""Maximum likelihood of ordered categories with a penalty for roughness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer, positive_number
from ldpstats.arguments.intervals import checked_edges
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.base import LikelihoodEstimator
from ldpstats.estimators.solvers.ascent import Ascent, check_tol, gap_target, observed, report
from ldpstats.estimators.solvers.barrier import Penalised, penalised_maximum
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import DenseRows, Rows

__all__ = ["Smoothed", "roughness"]

Array = npt.NDArray[Any]

_PENALTIES = (0.0, *(10.0**power for power in range(-15, 0)))  # from which one is chosen
_COARSE = 64  # bins on which it is chosen, at most
_COST = 2.0  # nats for each effective parameter: twice AIC's
_LARGEST = 2500  # bins for which k x k matrices are formed


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

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)
        if self.penalty is not None:
            positive_number("penalty", self.penalty, (0.0, 1e6))
        if self.edges is not None:  # a tuple, so that estimators can be compared
            edges = tuple(checked_edges("edges", self.edges).tolist())
            object.__setattr__(self, "edges", edges)

    @property
    def without_errors(self) -> str:
        return "none (penalised)"

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
        if k > _LARGEST:
            raise NotAvailable(f"{k} bins are too many to smooth; merge them to {_LARGEST} or less")
        edges = np.linspace(0.0, 1.0, k + 1) if self.edges is None else np.array(self.edges)
        if edges.size != k + 1:
            remedy = f"must be {k + 1} edges, for the {k} categories"
            raise InvalidArgument("edges", self.edges, remedy)
        W = W.prepared()
        penalty = self._chosen(W, n, edges) if self.penalty is None else float(self.penalty)
        found, df, target = self._at(W, n, edges, penalty)
        how = f"penalty {penalty:.3g}" + (" (chosen)" if self.penalty is None else "")
        how = f"likelihood with {how}, {df:.1f} effective parameters, {found.n_iter} Newton steps"
        return report(found, problem.nobs, how, target)

    def _at(self, W: Rows, n: Array, edges: Array, penalty: float) -> tuple[Ascent, float, float]:
        f = Penalised(W, n, penalty * roughness(edges))
        target = max(gap_target(round(f.nobs), self.tol), f.rounding)
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
            found, df, _ = self._at(W, n, edges, penalty)
            value = float(n @ np.log(W.mix(found.p))) - _COST * df
            if found.converged and value >= best:
                best, chosen = value, penalty
        return chosen


def roughness(edges: Array) -> Array:
    """The K, shape (k, k), of the quadratic form ``p'K p``: the integral of f''(u)^2 du.

    The density f is p over the widths of the bins, on the range of the edges taken as [0, 1]. At
    bin x its second derivative is the difference of the slopes to the bins beside it, over the mean
    distance of the midpoints, which is also its weight in the integral. Linear densities have none
    if bins are even.

    Examples
    --------
    >>> K = roughness(np.linspace(0, 1, 4))
    >>> p = np.array([1.0, 2.0, 4.0]) / 7            # one second difference, 3 (1 - 4 + 4) / 7
    >>> bool(np.isclose(p @ K @ p, (9 * 3 / 7) ** 2 / 3))
    True
    """
    u = (edges - edges[0]) / (edges[-1] - edges[0])
    k, width, middle = u.size - 1, np.diff(u), (u[1:] + u[:-1]) / 2.0
    step = np.diff(middle)
    D = np.zeros((max(k - 2, 0), k))
    for i in range(1, k - 1):
        left, right = step[i - 1], step[i]
        mean = (left + right) / 2.0
        slopes = np.array([1.0 / left, -1.0 / left - 1.0 / right, 1.0 / right])
        D[i - 1, i - 1 : i + 2] = slopes / mean * np.sqrt(mean)
    D /= width
    return np.asarray(D.T @ D)
