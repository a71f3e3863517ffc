"""What results of a change hold beside the fit: laws and the test."""

from __future__ import annotations

from dataclasses import dataclass

from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tests import TestResult
from ldpstats.models.change.law import ChangeLaw

__all__ = ["Changes"]


@dataclass(frozen=True, eq=False)
class Changes:
    """The law of the change of each category and of the turnover, None where they are not known.

    `homogeneity` tests that both waves have the same distribution; None where no covariance was
    computed. `lost` are the persons who were in the first wave only, and in the second only, where
    the waves were matched before.
    """

    law: ChangeLaw | None = None
    turnover_law: CellLaw | None = None
    homogeneity: TestResult | None = None
    lost: tuple[int, int] = (0, 0)
