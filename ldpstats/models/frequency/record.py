"""The records that results of one variable hold beside the fit itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms import Mechanism
from ldpstats.problems.estimates import Unexplained
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.report_law import ReportLaw
from ldpstats.problems.tallies import Tallies

__all__ = ["Checks", "Laws", "Specifications"]

_COMPLETE = (
    *("mle", "em", "em-fpe16", "cvxpy", "smoothed"),
    *("projected", "normalized", "thresholded", "minimax"),
)
_SUSPECT = 0.01  # p-value of the goodness of fit below which a list is taken to be incomplete


@dataclass(frozen=True, eq=False)
class Specifications(Sequence[dict[str, Any]]):
    """The specifications of mechanisms, written when they are asked for: Q may be large."""

    mechanisms: tuple[Mechanism, ...]

    @cached_property
    def _written(self) -> tuple[dict[str, Any], ...]:
        return tuple(mechanism.to_dict() for mechanism in self.mechanisms)

    def __getitem__(self, index: Any) -> Any:
        return self._written[index]

    def __len__(self) -> int:
        return len(self.mechanisms)


@dataclass(frozen=True, eq=False)
class Laws:
    """What is known of the law of the linear estimate, beside its covariance.

    `exact` are binomial counts of categories; `tally` gives variance and skewness of each frequency
    as it varies, `law` those of contrasts; each is None where it is not known. `linear_method` is
    how the estimate was computed: "inversion" of equations, or "one step" of the likelihood.
    """

    exact: ExactForm | None = None
    tally: Tallies | None = None
    law: ReportLaw | None = None
    linear_method: str = "inversion"

    def counted(self, k: int) -> npt.NDArray[np.bool_]:
        """Categories, shape (k,), whose default interval and tests rest on a binomial count."""
        if self.exact is None or self.linear_method != "inversion":
            return np.zeros(k, dtype=bool)
        return self.exact.known


@dataclass(frozen=True, eq=False)
class Checks:
    """Signs of a poor fit: misfit, answers beyond the list, an ill-conditioned channel.

    `caution` says in words why tests of an incomplete list may not keep their level.
    """

    goodness_of_fit: TestResult | None = None
    unexplained: Unexplained | None = None
    dispersion: float = 1.0
    condition: float = 1.0
    caution: str = ""

    def assume_complete(self, method: str) -> bool:
        """Whether an estimate assumes that there are no answers but the candidates."""
        return self.unexplained is not None and method in _COMPLETE

    def contradict(self, method: str) -> bool:
        """Whether an estimate assumes that, and the reports contradict it.

        They do where the unexplained share exceeds two standard errors, or the goodness of fit is
        below .01.
        """
        share, fit = self.unexplained, self.goodness_of_fit
        if share is None or not self.assume_complete(method):
            return False
        return share.estimate > 2.0 * share.bse or (fit is not None and fit.pvalue < _SUSPECT)
