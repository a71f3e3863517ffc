"""Unbiased indicators of the true category, which estimating equations take for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.decoding import decode
from ldpstats.reports.single import Reports

__all__ = ["Indicators", "crossed_indicators", "stacked_indicators", "unbiased_indicators"]

Array = npt.NDArray[Any]

_FREE = 1e-9  # variance of a sum of indicators, relative to theirs, from which on it is random


@dataclass(frozen=True, eq=False)
class Indicators:
    """Decoded reports of one variable.

    Parameters
    ----------
    phi : array, shape (u, k)
        The estimate that each distinct report is on its own; each row sums to one.
    place : array of int64, shape (n,)
        Row of `phi` of each report.
    noise : array, shape (k, k)
        Estimate of the weighted sum over the reports of the covariances that the randomisation
        gives to their rows.
    is_open : bool
        Whether other answers than those listed are possible. The listed ones are taken to be all.
    unlisted : float
        Estimated weighted share of other answers, over its standard error.
    """

    phi: Array
    place: npt.NDArray[np.int64]
    noise: Array
    is_open: bool
    unlisted: float

    def rows(self) -> Array:
        """The indicators of each report, shape (n, k)."""
        return np.asarray(self.phi[self.place])


def unbiased_indicators(
    reports: Reports, weights: Array | None = None, candidates: Any = None
) -> Indicators:
    """Decode reports of one mechanism.

    Indicators of a true category sum to one, while those of bits do so on average only. What the
    sum lacks of one is handed out by the covariance of the indicators with their sum: this is the
    unbiased estimate of smallest variance that sums to one, for every score of the categories.

    Parameters
    ----------
    reports : Reports
    weights : array, shape (n,), optional
        Weights of the reports, not all zero.
    candidates : sequence of str, optional
        For mechanisms with an open alphabet; they are taken to be all answers.

    Raises
    ------
    NotIdentified
        If the reports do not determine the answers.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> reports = ldp.KRR(("a", "b", "c"), epsilon=1.0).parse("answer", ["b", "a", "b"])
    >>> unbiased_indicators(reports).rows()[0].round(3).tolist()
    [-0.582, 2.164, -0.582]
    """
    given = np.ones(len(reports)) if weights is None else weights
    decoded = decode(reports, given, candidates)
    seen = np.bincount(decoded.place, given, len(decoded.phi))
    spread: Any = sum(law.noise(seen[rows] @ decoded.phi[rows]) for rows, law in decoded.laws)
    lacking = 1.0 - decoded.phi.sum(axis=1)[decoded.place]
    share = float(given @ lacking / given.sum())
    se = float(np.sqrt(given**2 @ (lacking - share) ** 2) / given.sum())
    phi, noise = _summed_to_one(np.asarray(decoded.phi, dtype=np.float64), spread)
    unlisted = share / se if decoded.is_open and se > 0.0 else 0.0
    return Indicators(phi, decoded.place, noise, decoded.is_open, unlisted)


def _summed_to_one(phi: Array, noise: Array) -> tuple[Array, Array]:
    """Indicators whose rows sum to one, and their covariance."""
    with_sum = noise.sum(axis=1)
    size = float(with_sum.sum())
    if size <= _FREE * float(np.trace(noise)):
        return phi, noise  # they do
    share = with_sum / size
    found = phi + np.outer(1.0 - phi.sum(axis=1), share)
    return found, noise - size * np.outer(share, share)


def stacked_indicators(
    groups: Sequence[Reports], weights: Array, candidates: Any = None
) -> tuple[Array, Array, bool]:
    """The indicators of all respondents of several groups, shape (n, k); their noise; is_open.

    Those of a group without weight are zero.
    """
    parts: list[Array] = []
    noise: Array | float = 0.0
    start, is_open = 0, False
    for group in groups:
        own = weights[start : start + len(group)]
        start += len(group)
        if own.any():
            one = unbiased_indicators(group, own, candidates)
            parts.append(one.rows())
            noise, is_open = noise + one.noise, is_open or one.is_open
        else:
            parts.append(np.zeros((len(group), len(group.mechanism.labels(candidates)))))
    return np.concatenate(parts), np.asarray(noise), is_open


def crossed_indicators(each: Sequence[Array]) -> Array:
    """Indicators of the combinations of variables that were randomised independently.

    Parameters
    ----------
    each : sequence of arrays, shape (n, k_v)

    Returns
    -------
    array, shape (n, C)
        Products, the last variable fastest, as `answers.crossed` has them.
    """
    found = each[0]
    for other in each[1:]:
        found = (found[:, :, None] * other[:, None, :]).reshape(len(found), -1)
    return found
