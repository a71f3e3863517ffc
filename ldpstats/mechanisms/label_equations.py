"""The linear equations of reports that are labels from a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations

__all__ = ["identity_plus_rank_one", "label_moments"]

Array = npt.NDArray[Any]

_ALIKE = 1e-9  # by which entries of a channel may differ, relatively, that are meant to be alike


def label_moments(Q: Array, n: Array) -> Equations:
    """Equations for output counts n, shape (l,), of a channel Q, shape (k, l).

    Outputs that no category makes say nothing, and are left out.
    """
    nobs, made = int(n.sum()), Q.any(axis=0)
    Q, t = Q[:, made], n[made] / nobs
    reference = np.full(len(Q), 1.0 / len(Q)) @ Q  # law of a report under the uniform p
    simple = identity_plus_rank_one(Q)
    a, b = (Q.T, 0.0) if simple is None else simple
    return Equations(a, b, t, lambda p: multinomial(p @ Q, nobs), nobs / reference, nobs)


def identity_plus_rank_one(Q: Array) -> tuple[float, Array] | None:
    """Write Q as ``a I + 1 b'`` (every binary design, k-RR, forced response), if it is so.

    Each category then answers for itself: ``P(report x) = b_x + a p_x``. Entries may be off by
    1e-9 of a, as where they were typed in or computed in another way.
    """
    k, l = Q.shape  # noqa: E741
    if k != l or k < 2:
        return None
    b = (Q.sum(axis=0) - np.diag(Q)) / (k - 1)  # column x away from its diagonal
    a = float(np.mean(np.diag(Q) - b))
    off = np.abs(Q - a * np.eye(k) - b).max()
    if a == 0.0 or off > max(1e-15, _ALIKE * abs(a)):
        return None
    return a, b
