"""The score test of independence of two privatised variables, under a true joint distribution.

With a(x') and b(y') the scores of the two reports, centred and white, and C = E[a b'], the
statistic is n |C|^2 on average, plus its degrees of freedom. A pair of reports moves the estimate
of |C|^2 by ``2 a'Cb - a'CC'a - b'C'Cb`` (scores are made white by their own covariance, which
varies too): that gives the variance under the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.planning.laws.forms import FormTest, whitening

__all__ = ["association_form", "score_rank"]

Array = npt.NDArray[Any]

_MOST_PAIRS = 1 << 22  # pairs of reports that are listed
_RANK = 1e-10


def association_form(
    channels: tuple[Channel, Channel] | None,
    information: tuple[Array, Array],
    product: Array,
    departure: Array,
    alpha: float,
) -> FormTest:
    """The test where the table is ``product + departure``, shape (k1, k2).

    With the variance of the null hypothesis where the pairs of reports are too many to be listed,
    or `channels` is None.
    """
    JX, JY = information
    df = score_rank(JX) * score_rank(JY)
    noncentrality = max(float(np.sum((JX @ departure @ JY) * departure)), 0.0)
    local = FormTest.local(df, noncentrality, alpha)
    if channels is None or noncentrality <= 0.0:
        return local
    if channels[0].shape[1] * channels[1].shape[1] > _MOST_PAIRS:
        return local
    variance = _variance(channels, product, departure)
    growth = variance / (4.0 * noncentrality) if variance > 0.0 else 1.0
    return FormTest(df, local.spread, noncentrality * growth ** np.arange(4), alpha)


def _variance(channels: tuple[Channel, Channel], product: Array, departure: Array) -> float:
    """Variance of what a pair of reports adds to the estimate of |C|^2."""
    first, second = (np.asarray(channel.matrix()) for channel in channels)
    first, second = first[:, first.any(axis=0)], second[:, second.any(axis=0)]
    A, B = _white(first, product.sum(axis=1)), _white(second, product.sum(axis=0))
    M = first.T @ (product + departure) @ second
    C = A.T @ M @ B
    moves = 2.0 * A @ C @ B.T
    moves -= np.square(A @ C).sum(axis=1)[:, None] + np.square(B @ C.T).sum(axis=1)
    mean = float(np.sum(M * moves))
    return float(np.sum(M * np.square(moves - mean)))


def _white(Q: Array, p: Array) -> Array:
    """Scores of the l reports, centred, uncorrelated and of variance one, shape (l, rank)."""
    m = p @ Q
    scores = (Q / m).T - 1.0
    return np.asarray(scores @ whitening((scores.T * m) @ scores).T)


def score_rank(J: Array) -> int:
    """Rank of the covariance of the scores, J - 1 1'."""
    values = np.linalg.eigvalsh(J - 1.0)
    return max(1, int(np.sum(values > _RANK * max(values[-1], 0.0))))
