"""Could the posterior have made these reports? A check by replicated surveys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.outcome import TestResult

__all__ = ["REPLICATES", "predictive_check"]

Array = npt.NDArray[Any]

REPLICATES = 1000  # draws whose surveys are replicated
_LARGEST = 1 << 24  # entries of replicated counts at a time
_NULL = "reports like these come from the model and the prior"


def predictive_check(
    draws: Array,
    laws: Callable[[Array], Sequence[Array]],
    counts: Sequence[Array],
    rng: np.random.Generator,
) -> TestResult:
    """Posterior predictive check by the chi-square discrepancy of the reports.

    The share of draws for which a survey simulated from the law P of a draw has a larger
    ``sum (n_y - N P_y)^2 / (N P_y)`` than the one that was held. It leans towards one half: the
    draws have seen the reports (Gelman, Meng and Stern 1996).

    Parameters
    ----------
    draws : array, shape (s, ...)
        Draws from the posterior.
    laws : callable
        Takes some of the draws, (t, ...), and returns the law of a report, (t, l), in each group
        of respondents.
    counts : sequence of arrays, shape (l,)
        The reports of each group.
    rng : numpy Generator
    """
    observed, replicated = np.zeros(len(draws)), np.zeros(len(draws))
    step = max(1, _LARGEST // max(max(n.size for n in counts), 1))
    for start in range(0, len(draws), step):
        part = slice(start, start + step)
        for law, n in zip(laws(draws[part]), counts, strict=True):
            share = np.maximum(law, 0.0)
            share /= share.sum(axis=1, keepdims=True)
            expected = n.sum() * share
            observed[part] += _discrepancy(n, expected)
            replicated[part] += _discrepancy(rng.multinomial(int(n.sum()), share), expected)
    p = float((replicated >= observed).mean())
    how = f"posterior predictive check, chi-square discrepancy, {len(draws)} replicates"
    return TestResult(_NULL, float(observed.mean()), None, p, how)


def _discrepancy(n: Array, expected: Array) -> Array:
    """Pearson's sum over outputs, of which those that cannot be have none."""
    possible = expected > 0.0
    gaps = np.where(possible, n - expected, 0.0) ** 2
    return np.asarray((gaps / np.where(possible, expected, 1.0)).sum(axis=1))
