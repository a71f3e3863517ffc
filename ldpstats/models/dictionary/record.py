"""The records that results of a search for strings hold beside the fit itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.inference import multiplicity
from ldpstats.inference.tests import TestResult

__all__ = ["CANDIDATE_COLUMNS", "Searched", "Tested", "candidates_table"]

Array = npt.NDArray[Any]

CANDIDATE_COLUMNS = ("estimate", "se", "pvalue", "evidence", "edges")
_EVEN = 20  # candidates that get about the same share of alpha


@dataclass(frozen=True, eq=False)
class Searched:
    """What the grams gave: those that were kept, the edges between them, and what was left out.

    `n_edges` counts all edges; `left_out` the significant grams of each position that were not
    kept; `pair_se` is the standard error of a pair's frequency; `critical` the z from which a gram
    is kept.
    """

    grams: pd.DataFrame
    edges: pd.DataFrame
    n_edges: int
    left_out: tuple[int, ...]
    n_excluded: int
    n_untested: int
    n_cut: int
    pair_se: float
    critical: float

    @property
    def is_bounded(self) -> bool:
        """Whether a limit of the search may have left strings out."""
        return bool(self.n_untested or self.n_cut or sum(self.left_out))


@dataclass(frozen=True, eq=False)
class Tested:
    """The candidates in the order in which the grams proposed them, and their tests.

    `test_se` is the standard error of the frequency of a string that nobody holds.
    """

    candidates: pd.DataFrame
    alpha: float
    goodness_of_fit: TestResult | None
    test_se: float
    caution: str = ""

    @property
    def n_tested(self) -> int:
        """Number of candidates that were tested."""
        return len(self.candidates)

    @cached_property
    def shares(self) -> Array:
        """Shares of alpha of the candidates, in the order in which the grams proposed them.

        The reports of whole strings have no part in the order: any shares that add up to one keep
        the family-wise error. So a long list of candidates costs those at its beginning little.
        """
        share = 1.0 / (_EVEN + np.arange(self.n_tested))
        return np.asarray(share / share.sum())

    @cached_property
    def accepted(self) -> npt.NDArray[np.int64]:
        """Positions of the candidates that the test accepts, the most frequent first."""
        if self.candidates.empty:
            return np.empty(0, dtype=np.int64)
        p = self.candidates["pvalue"].to_numpy()
        found = np.flatnonzero(multiplicity.reject(p, self.alpha, shares=self.shares))
        estimate = self.candidates["estimate"].to_numpy()[found]
        return found[np.argsort(-estimate, kind="stable")]

    def least(self, estimate: Array) -> Array:
        """From which estimate on each accepted string, of this `estimate`, would be accepted."""
        from scipy.special import ndtri

        p = self.candidates["pvalue"].to_numpy()[self.accepted]
        bound = -ndtri(self.alpha * self.shares[self.accepted])
        # the estimate over the z that has its p-value, which knows the skewness, is its noise
        with np.errstate(divide="ignore"):
            return np.asarray(estimate * bound / np.maximum(-ndtri(p), bound))


def candidates_table(strings: pd.Index[Any], *columns: Any) -> pd.DataFrame:
    """The strings that were tested; the last of the columns counts, the others measure."""
    kinds = [np.float64] * 4 + [np.int64]
    values = [np.asarray(v, dtype=kind) for v, kind in zip(columns, kinds, strict=True)]
    return pd.DataFrame(dict(zip(CANDIDATE_COLUMNS, values, strict=True)), index=strings)
