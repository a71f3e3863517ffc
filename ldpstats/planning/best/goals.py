"""What a channel is judged by: a loss of the covariance of the estimates, at one prior or several.

The covariance of n efficient estimates is V / n, with V = B (B'JB)^-1 B' on the space of vectors
that sum to zero, J = sum_y q_y q_y' / (p.q_y) the information of one report, and B an orthonormal
basis of that space. A loss is the largest of some quadratic forms tr A'VA, one a prior (the total,
contrasts) or one a prior and category ("worst"), or the geometric mean of V's eigenvalues ("D").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Goal", "loss_of_matrix", "tangent_basis"]

Array = npt.NDArray[Any]

_RANK = 1e-11  # relative to the largest: eigenvalues below count as zero
_SEEN = 1e-7  # by which a contrast may leave the range of J, relatively, and still be estimated


@dataclass(frozen=True, eq=False)
class Goal:
    """A loss.

    Parameters
    ----------
    kind : {"total", "worst", "contrasts", "D"}
    priors : array, shape (M, k)
    contrasts : array, shape (k, r), or None
        Columns whose variances are added; for "contrasts" only.
    """

    kind: str
    priors: Array
    contrasts: Array | None = None

    @property
    def k(self) -> int:
        return int(self.priors.shape[1])


def tangent_basis(root: Array) -> Array:
    """Orthonormal basis, shape (G, G - 1), of what is orthogonal to a positive vector (G,).

    The last columns of the reflection that maps `root` to the first axis.
    """
    G = root.size
    v = root / np.linalg.norm(root)
    v = v + np.eye(G)[0]  # v[0] > 0: no cancellation
    return np.asarray((np.eye(G) - 2.0 * np.outer(v, v) / (v @ v))[:, 1:])


def loss_of_matrix(Q: Array, goal: Goal) -> float:
    """The loss of a channel, shape (k, l), for one respondent; inf where it is not estimated."""
    Q = Q[:, Q.any(axis=0)]
    level = Q.mean(axis=0)
    B = tangent_basis(np.ones(len(Q)))
    T = B.T @ (Q - level)
    return max(_loss_at(T, p @ Q, B, goal) for p in goal.priors)


def _loss_at(T: Array, mass: Array, B: Array, goal: Goal) -> float:
    """The loss at one prior, from the columns on the tangent space, (k - 1, l), and their mass."""
    with np.errstate(divide="ignore"):
        scaled = np.where(mass > 0.0, T / np.sqrt(np.where(mass > 0.0, mass, 1.0)), 0.0)
    U, s, _ = np.linalg.svd(scaled, full_matrices=scaled.shape[1] < len(scaled))
    values = np.zeros(len(T))
    values[: s.size] = s**2
    seen = values > _RANK * max(values[0], 1e-300)
    if goal.kind == "D":
        return float(np.exp(-np.log(values).mean())) if seen.all() else np.inf
    if goal.kind == "contrasts":
        forms = [goal.contrasts]
    elif goal.kind == "worst":
        forms = [np.eye(goal.k)[:, [x]] for x in range(goal.k)]
    else:
        forms = [np.eye(goal.k)]
    if not seen.all() and goal.kind != "contrasts":
        return np.inf
    turned = [U.T @ (B.T @ A) for A in forms]
    if any(np.linalg.norm(a[~seen]) > _SEEN * np.linalg.norm(a) for a in turned):
        return np.inf
    return max(float((a[seen] ** 2 / values[seen, None]).sum()) for a in turned)
