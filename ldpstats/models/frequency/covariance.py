"""Covariances and checks of fit for one privatised variable, from its counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.structured import Uniformised
from ldpstats.errors import NotIdentified
from ldpstats.inference import information
from ldpstats.problems.covariance import Covariance, uniformised, uniformised_fpe16
from ldpstats.problems.equations import Equations, Moments, pool
from ldpstats.problems.estimates import Uncertain, Unexplained
from ldpstats.problems.hashed.moments import CohortMoments, merged
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import Rows, UniformRows
from ldpstats.reports.single import Counts

__all__ = ["joined_moments", "mle_covariance", "unexplained_share"]

Array = npt.NDArray[Any]

LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
DOUBT = 0.01  # p-value below which candidates do not fit, and the equations allow for others
CERTAIN = 0.001  # p-value below which others than the candidates are held
FEWEST_COHORTS = 8  # from which tests over incomplete lists keep their level
MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def joined_moments(problems: Sequence[Moments]) -> Moments:
    """The equations of all sources together."""
    if len(problems) == 1:
        return problems[0]
    hashed = [problem for problem in problems if isinstance(problem, CohortMoments)]
    if len(hashed) == len(problems):
        return merged(hashed)
    flat = [q.reduced() if isinstance(q, CohortMoments) else q for q in problems]
    return pool([problem for problem in flat if isinstance(problem, Equations)])


def unexplained_share(problem: Moments, linear: Uncertain) -> Unexplained | None:
    """Share of the answers that are not among the candidates, over an open alphabet."""
    if not isinstance(problem, CohortMoments) or not problem.is_open:
        return None
    p = linear.estimate[linear.places]
    if linear.covariance is None or not p.size:
        return Unexplained(1.0 - float(p.sum()), np.nan)
    variance = linear.covariance.merged(np.zeros(p.size, dtype=np.int64)).variances()[0]
    return Unexplained(1.0 - float(p.sum()), float(np.sqrt(variance)))


def mle_covariance(
    sources: Sequence[Counts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
    fpe16: bool,
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    Expected information where the outputs of every source can be enumerated, observed information
    on the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    first = None if isinstance(problems[0], CohortMoments) else sources[0].mechanism.channel()
    if len(sources) == 1 and isinstance(first, Uniformised):
        form = uniformised_fpe16 if fpe16 else uniformised
        V = form(p, first.a, first.b, sources[0].nobs)
        return V, "fpe16" if fpe16 else "expected"
    patterns = sum(part.W.shape[0] for part in likelihoods if not isinstance(part.W, UniformRows))
    listed = all(c.mechanism.n_outputs for c in sources)
    hashed = all(isinstance(problem, CohortMoments) for problem in problems)
    work = 0 if listed and hashed else patterns * p.size**2
    if p.size > LARGEST_INFORMATION or work > MOST_OPERATIONS:
        return None, "none (too large)"
    kind = "fpe16" if fpe16 else "expected" if listed else "observed"
    matrices = [
        c.mechanism.channel().matrix()
        if c.mechanism.n_outputs and not isinstance(problem, CohortMoments)
        else None
        for c, problem in zip(sources, problems, strict=True)
    ]
    free = _finite_information(matrices, [part.W for part in likelihoods], p)
    for c, problem in zip(sources, problems, strict=True):
        if isinstance(problem, CohortMoments) and c.mechanism.n_outputs:
            free &= ~problem.sources[0].pinned(p)
    law = p[free] / p[free].sum()  # where EM stops, what is absent beyond doubt has a little left
    J = np.zeros((int(free.sum()), int(free.sum())))
    for Q, c, problem, likelihood in zip(matrices, sources, problems, likelihoods, strict=True):
        if Q is not None:
            J += information.expected_information(_kept(Q[free]), law, c.nobs)
        elif isinstance(problem, CohortMoments) and c.mechanism.n_outputs:
            J += problem.sources[0].information(p)[np.ix_(free, free)]
        else:
            J += likelihood.information(p)[np.ix_(free, free)]
    try:
        inverse = information.fpe16(J) if fpe16 else information.observed_tangent_inverse(J)
    except NotIdentified:  # fewer different reports than categories
        return None, "none (singular information)"
    if free.all():
        return inverse, kind
    full = np.zeros((p.size, p.size))
    full[np.ix_(free, free)] = inverse.matrix()
    return Covariance.dense(full), kind


def _finite_information(matrices: Sequence[Array | None], rows: Sequence[Rows], p: Array) -> Array:
    """Categories whose estimate can vary: none of their reports has probability zero under p.

    A category at zero that some never-expected report would reveal is known to first order.
    """
    free = np.ones(p.size, dtype=bool)
    for Q, W in zip(matrices, rows, strict=True):
        free &= ~W.pinned(p)
        if Q is not None:
            never = (p @ Q <= 0.0) & Q.any(axis=0)
            free &= ~Q[:, never].any(axis=1)
    return free


def _kept(Q: Array) -> Array:
    return Q[:, Q.any(axis=0)]
