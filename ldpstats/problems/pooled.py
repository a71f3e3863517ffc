"""Several independent sources of reports about the same p, as one problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ldpstats.problems.covariance import Covariance, block_diagonal
from ldpstats.problems.equations import Equations
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.moments import Array, Moments, OwnCounts
from ldpstats.problems.tallies import PooledTallies, Tallies

__all__ = ["PooledEquations", "joined", "pool"]


def joined(problems: Sequence[Moments]) -> Moments:
    """The equations of all sources together."""
    first, *others = problems
    if not others:
        return first
    return first.merged(others) or pool(problems)


@dataclass(frozen=True, eq=False)
class PooledEquations(Equations):
    """The equations of several sources, which remember what they were pooled from.

    Parameters
    ----------
    given : tuple of Moments
        The sources as they were.
    equations : tuple of Equations
        The same as equations that can be stacked, or averaged.
    """

    given: tuple[Moments, ...] = ()
    equations: tuple[Equations, ...] = ()

    @property
    def parts(self) -> tuple[Moments, ...]:
        return self.given

    @property
    def sources(self) -> tuple[Equations, ...]:
        return self.equations

    @property
    def condition(self) -> float:
        """That of the best source, or of all together, whichever is smaller."""
        best = min(problem.condition for problem in self.given)
        return min(best, super().condition) if self.is_dense else best

    def own_counts(self) -> OwnCounts | None:
        return None  # sums of counts from several laws are no binomial counts

    def rules_out(self, p: Array) -> bool:
        return any(problem.rules_out(p) for problem in self.given)

    def exact_form(self) -> ExactForm | None:
        """The exact form of categories that are reported only where they are true.

        The sum of their counts is Poisson binomial, not binomial where sources differ, but its
        tails are the lighter ones (Hoeffding 1956), so that what is exact for a binomial count of
        the same mean is valid, and nearly exact for the few reports where it matters.
        """
        forms = [form for q in self.given if (form := q.exact_form()) is not None]
        noiseless = np.all([form.offset == 0.0 for form in forms], axis=0)
        if len(forms) < len(self.given) or not noiseless.any():
            return None
        nobs = sum(form.nobs for form in forms)
        scale = sum(form.nobs * form.scale for form in forms) / nobs
        tally = np.sum([form.tally for form in forms], axis=0)
        return ExactForm(
            tally, nobs, np.where(noiseless, 0.0, np.nan), np.where(noiseless, scale, np.nan)
        )

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """The counts of several sources, if categories have a count of their own in each."""
        counts = [own for q in self.given if (own := q.own_counts()) is not None]
        if len(counts) < len(self.given):
            return super().tally(linear, p)
        precision = np.array([own.precision for own in counts])
        return PooledTallies(
            nobs=np.array([[float(own.nobs)] for own in counts]),
            offset=np.array([own.offset for own in counts], dtype=float),
            scale=np.array([own.slope for own in counts], dtype=np.float64),
            share=precision / precision.sum(axis=0),
        )

    def _weights(self) -> list[Array]:
        if not self.is_dense:
            slopes, precision = precisions(self.equations)
            return list(precision / precision.sum(axis=0) / slopes)
        ends = np.cumsum([q.t.size for q in self.equations])[:-1]
        return np.split(np.asarray(self.inverse), ends, axis=1)


def _reduced(problem: Moments) -> Equations:
    """One equation a category: its linear estimate, to be pooled with other mechanisms."""
    if isinstance(problem, Equations):  # nothing is lost, and they may leave p open
        return problem
    estimate = problem.estimate()[0]
    variances = problem.covariance(np.full(problem.k, 1.0 / problem.k)).variances()
    return Equations(
        1.0, 0.0, estimate, problem.covariance, 1.0 / variances, problem.nobs, kind="pooled"
    )


def pool(problems: Sequence[Moments]) -> PooledEquations:
    """One problem from several independent sources about the same p.

    Sources that each have their own equation per category are averaged, weighted by their
    precision at the uniform p; otherwise all equations are stacked.
    """
    parts = [_reduced(problem) for problem in problems]
    system = _stacked(parts) if any(part.is_dense for part in parts) else _averaged(parts)
    return PooledEquations(
        **system,
        nobs=sum(problem.nobs for problem in problems),
        kind="pooled",
        given=tuple(problems),
        equations=tuple(parts),
    )


def _stacked(parts: Sequence[Equations]) -> dict[str, Any]:
    """All equations, one under the other: the A, offset, t, V and weights of `Equations`."""
    return {
        "A": np.vstack([part.dense_slopes().T for part in parts]),
        "offset": np.concatenate([np.broadcast_to(q.offset, q.t.shape) for q in parts]),
        "t": np.concatenate([part.t for part in parts]),
        "V": lambda p: block_diagonal([part.V(p) for part in parts]),
        "weights": np.concatenate([part.weights for part in parts]),
    }


def precisions(problems: Sequence[Equations]) -> tuple[Array, Array]:
    """Slopes of the equations of several sources, and precision of their estimates at uniform p.

    Both of shape (sources, k); for sources that each have their own equation per category.
    """
    k = problems[0].weights.size
    slopes = np.array([np.broadcast_to(problem.A, k) for problem in problems], dtype=np.float64)
    return slopes, slopes**2 * [problem.weights for problem in problems]


def _averaged(parts: Sequence[Equations]) -> dict[str, Any]:
    """The mean of the estimates, weighted by their precision, in the terms of `Equations`."""
    slopes, precision = precisions(parts)
    factor = precision / precision.sum(axis=0) / slopes  # of each source's t in the average

    def combined(covariances: Sequence[Covariance]) -> Covariance:
        pairs = zip(covariances, factor, strict=True)
        return reduce(Covariance.__add__, [v.stretched(c) for v, c in pairs])

    return {
        "A": 1.0,
        "offset": 0.0,
        "t": np.sum([c * (q.t - q.offset) for c, q in zip(factor, parts, strict=True)], axis=0),
        "V": lambda p: combined([part.V(p) for part in parts]),
        "weights": precision.sum(axis=0),
    }
