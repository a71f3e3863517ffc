"""What is known of the answers behind the tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.personalized.intervals import Mixture, mixture
from ldpstats.problems.estimates import Uncertain

__all__ = ["Background"]


@dataclass(frozen=True, eq=False)
class Background:
    """Distribution of the category behind each tag, as far as it is given.

    `given`, shape (kappa, k), has a row for each of the kappa `tags`, of nan for a tag without one;
    `others`, shape (k,), are the categories that are not sensitive for all; `exact` says that the
    distributions are the truth.
    """

    tags: pd.Index[Any]
    given: npt.NDArray[np.float64]
    others: npt.NDArray[np.bool_]
    exact: bool

    @property
    def is_lacking(self) -> npt.NDArray[np.bool_]:
        """Tags, shape (kappa,), without a distribution."""
        return np.asarray(np.isnan(self.given).any(axis=1))

    def mixture(self, r: npt.NDArray[np.float64]) -> Mixture:
        """How p rests on the intermediate frequencies near r."""
        return mixture(r, self.given, self.others)

    def through(self, r: Uncertain) -> Uncertain:
        """The estimate of p from that of the intermediate frequencies."""
        mix, V = self.mixture(r.estimate), r.covariance
        return Uncertain(mix.estimate(r.estimate), None if V is None else mix.covariance(V))
