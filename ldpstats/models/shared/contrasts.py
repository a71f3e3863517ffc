"""Contrasts of frequencies as statsmodels shows them, with p-values that know small counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from statsmodels.stats.contrast import ContrastResults

from ldpstats.inference.intervals import inverted
from ldpstats.inference.tails import two_sided
from ldpstats.inference.tests import z_test

__all__ = ["ContrastLaw", "contrast_results"]

Array = npt.NDArray[Any]


class _ScoreContrasts(ContrastResults):  # type: ignore[misc]  # statsmodels ships no types
    """`ContrastResults` whose intervals are the values that the tests do not reject."""

    def __init__(self, laws: Sequence[ContrastLaw | None], **given: Any) -> None:
        super().__init__(**given)
        self._laws = laws

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Score intervals, shape (q, 2); Wald's for contrasts whose law is not known."""
        bounds = np.array(super().conf_int(alpha))
        for row, (law, effect) in enumerate(zip(self._laws, self.effect, strict=True)):
            if law is not None:
                bounds[row] = inverted([effect], law.at, alpha, (law.least, law.most))[0]
        return bounds


@dataclass(frozen=True, eq=False)
class ContrastLaw:
    """The law of the estimate of a contrast, whatever the contrast is.

    Parameters
    ----------
    at : callable
        ``at(v)`` gives standard error and skewness, shape (1,) both, if the contrast is v, of
        shape (1,).
    least, most : float
        Range of the contrast over all distributions.
    """

    at: Callable[[Array], tuple[Array, Array]]
    least: float
    most: float


def contrast_results(
    effect: Array, sd: Array, value: Array, laws: Sequence[ContrastLaw | None]
) -> ContrastResults:
    """Tests of contrasts, two-sided, one by one."""
    se, skewness = np.array(sd, dtype=np.float64), np.zeros(len(sd))
    for row, law in enumerate(laws):
        if law is not None:
            (se[row],), (skewness[row],) = law.at(np.clip(value[[row]], law.least, law.most))
    z = np.array(z_test(effect, se, value)[0])
    results = _ScoreContrasts(
        laws, effect=effect, sd=sd, statistic=z, value=value, distribution="norm"
    )
    pvalue = two_sided(effect - value, se, skewness)
    results.pvalue = pvalue.reshape(np.shape(results.pvalue))
    return results
