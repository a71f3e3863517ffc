"""Maximum likelihood where the answers that are not sensitive are noised alike (uRAP)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.ascent import Ascent, certified_gap
from ldpstats.estimators.solvers.structured import prepared
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.sensitive import SensitiveRows

__all__ = ["maximise_merged"]

Array = npt.NDArray[Any]


def maximise_merged(
    W: SensitiveRows,
    n: Array,
    target: float,
    solve: Callable[[Rows, Array], tuple[Ascent, str]],
) -> tuple[Ascent, str]:
    """Maximise over the sensitive categories and the total of the others: its shares are known.

    Parameters
    ----------
    W : SensitiveRows, shape (u, k)
    n : array of float, shape (u,)
        Counts, all positive.
    target : float
        Gap per report to reach.
    solve : callable
        Takes the rows of the smaller problem and their counts, and returns its maximum and how it
        was found.
    """
    W = replace(W, bits=prepared(W.bits))
    rows, counts, shares = W.merged(n)
    n_sensitive = rows.shape[1] - 1
    p = np.zeros(W.shape[1])
    if not rows.bits.shape[0]:  # nobody made a protected report
        p[~W.sensitive] = shares
        return Ascent(p, certified_gap(W, n, p), 0, True), "counts of revealed answers"
    if not shares.size:  # all categories are sensitive
        return solve(rows.bits, counts)
    found, how = solve(rows, counts)
    p[W.sensitive], p[~W.sensitive] = found.p[:n_sensitive], found.p[n_sensitive] * shares
    gap = certified_gap(W, n, p)
    return replace(found, p=p, gap=gap, converged=found.converged and gap <= target), how
