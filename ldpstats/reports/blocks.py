"""The form of reports that are labels of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.reports.formats import NumberFormat

__all__ = ["BlockFormat"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class BlockFormat(NumberFormat):
    """Numbers of labels, of which `design` knows what each adds to the tallies of categories."""

    design: Any  # a BlockDesign

    def features(self, y: Array) -> Array:
        return np.asarray(self.design.features(y))
