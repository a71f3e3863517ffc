"""Could the posterior have made these reports? A check by replicated surveys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.outcome import TestResult

__all__ = ["REPLICATES", "predictive_check", "predictive_check_of"]

Array = npt.NDArray[Any]

REPLICATES = 1000  # draws whose surveys are replicated
_LARGEST = 1 << 24  # entries of replicated counts at a time
_NULL = "reports like these come from the model and the prior"


def predictive_check(
    frequencies: Array,
    groups: Sequence[tuple[Array, Array]],
    rng: np.random.Generator,
) -> TestResult:
    """Posterior predictive check by the chi-square discrepancy of the reports.

    The share of draws p for which a survey simulated from p has a larger
    ``sum (n_y - N (p Q)_y)^2 / (N (p Q)_y)`` than the one that was held. It leans towards one half:
    the draws have seen the reports (Gelman, Meng and Stern 1996).

    Parameters
    ----------
    frequencies : array, shape (s, k); or (s, g, k), of each group
        Draws from the posterior.
    groups : sequence of (Q, n)
        The channel, (k, l), and the counts, (l,), of each group of respondents.
    rng : numpy Generator
    """
    observed, replicated = np.zeros(len(frequencies)), np.zeros(len(frequencies))
    for g, (Q, n) in enumerate(groups):
        law_of = frequencies if frequencies.ndim == 2 else frequencies[:, g]
        step = max(1, _LARGEST // max(n.size, 1))
        for start in range(0, len(frequencies), step):
            part = slice(start, start + step)
            law = np.maximum(law_of[part] @ Q, 0.0)
            law /= law.sum(axis=1, keepdims=True)
            expected = n.sum() * law
            again = rng.multinomial(int(n.sum()), law)
            observed[part] += _discrepancy(n, expected)
            replicated[part] += _discrepancy(again, expected)
    p = float((replicated >= observed).mean())
    how = f"posterior predictive check, chi-square discrepancy, {len(frequencies)} replicates"
    return TestResult(_NULL, float(observed.mean()), None, p, how)


def _discrepancy(n: Array, expected: Array) -> Array:
    """Pearson's sum over outputs, of which those that cannot be have none."""
    possible = expected > 0.0
    gaps = np.where(possible, n - expected, 0.0) ** 2
    return np.asarray((gaps / np.where(possible, expected, 1.0)).sum(axis=1))


def predictive_check_of(
    laws: Sequence[Array], counts: Sequence[Array], rng: np.random.Generator
) -> TestResult:
    """`predictive_check` from the law of a report in each group, by draw.

    Parameters
    ----------
    laws : sequence of arrays, shape (s, l)
        One for each group.
    counts : sequence of arrays, shape (l,)
    rng : numpy Generator
    """
    observed, replicated = np.zeros(len(laws[0])), np.zeros(len(laws[0]))
    for law, n in zip(laws, counts, strict=True):
        share = np.maximum(law, 0.0)
        share = share / share.sum(axis=1, keepdims=True)
        observed += _discrepancy(n, n.sum() * share)
        replicated += _discrepancy(rng.multinomial(int(n.sum()), share), n.sum() * share)
    p = float((replicated >= observed).mean())
    how = f"posterior predictive check, chi-square discrepancy, {len(laws[0])} replicates"
    return TestResult(_NULL, float(observed.mean()), None, p, how)
