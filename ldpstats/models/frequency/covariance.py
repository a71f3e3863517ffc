"""Covariance of the maximum likelihood estimate of one variable, from Fisher's information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.inference import information
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.moments import Moments
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import Rows, UniformRows
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["LARGEST_INFORMATION", "information_covariance"]

Array = npt.NDArray[Any]

LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
_MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def information_covariance(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
    fpe16: bool,
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    Expected information where the outputs of every source can be enumerated, observed information
    on the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    if p.size > LARGEST_INFORMATION or _work(sources, likelihoods, p.size) > _MOST_OPERATIONS:
        return None, "none (too large)"
    J, free = _information(sources, problems, likelihoods, p)
    try:
        inverse = information.fpe16(J) if fpe16 else information.observed_tangent_inverse(J)
    except NotIdentified:  # fewer different reports than categories
        return None, "none (singular information)"
    listed = all(c.mechanism.n_outputs for c in sources)
    kind = "fpe16" if fpe16 else "expected" if listed else "observed"
    if free.all():
        return inverse, kind
    full = np.zeros((p.size, p.size))
    full[np.ix_(free, free)] = inverse.matrix()
    return Covariance.dense(full), kind


def _work(sources: Sequence[Counts | BitCounts], likelihoods: Sequence[Likelihood], k: int) -> int:
    """Multiplications that an observed information takes; none where labels of cohorts give all."""
    if all(c.mechanism.n_outputs and c.mechanism.n_cohorts for c in sources):
        return 0
    rows = [part.W for part in likelihoods if not isinstance(part.W, UniformRows)]  # these are O(k)
    return int(sum(W.shape[0] for W in rows) * k**2)


def _information(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Information of all sources about the categories whose estimate can vary, and which these are.

    Expected where the reports can be listed, else observed.
    """
    matrices = [_matrix(c) for c in sources]
    free = _finite_information(matrices, [part.W for part in likelihoods], p)
    for problem in problems:
        free &= ~problem.pinned(p)
    law = p[free] / p[free].sum()  # where EM stops, what is absent beyond doubt has a little left
    J = np.zeros((int(free.sum()), int(free.sum())))
    for Q, c, problem, likelihood in zip(matrices, sources, problems, likelihoods, strict=True):
        if Q is not None:
            J += information.expected_information(_kept(Q[free]), law, c.nobs)
        else:
            expected = problem.information(p)
            found = likelihood.information(p) if expected is None else expected
            J += found[np.ix_(free, free)]
    return J, free


def _matrix(counts: Counts | BitCounts) -> Array | None:
    """Q of reports that are labels of one cohort, shape (k, l); None of others."""
    mechanism = counts.mechanism
    if mechanism.n_cohorts or not mechanism.n_outputs:
        return None
    return np.asarray(mechanism.channel().matrix())


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
