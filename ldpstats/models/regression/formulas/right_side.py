"""Design matrices of the right side of a formula that has private predictors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.regression.formulas.formula import Formula
from ldpstats.models.regression.formulas.predictors import PrivateColumn, combinations, held_at
from ldpstats.models.regression.formulas.specs import Spec

__all__ = ["RightSide"]

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]

_MOST_ENTRIES = 1 << 31  # of all design matrices, 16 GB
_INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class RightSide:
    """The right side of a formula, and the public columns of n respondents.

    Parameters
    ----------
    formula : Formula
    names : mapping
        What names mean that are no columns.
    frame : DataFrame, n rows
    private : tuple of PrivateColumn
    times : array, shape (n,), or None
        How many respondents each row stands for.
    """

    formula: Formula
    names: Mapping[str, Any]
    frame: pd.DataFrame
    private: tuple[PrivateColumn, ...]
    times: Array | None = None

    def matrices(self, family: str) -> tuple[Spec, Columns, tuple[Array, ...]]:
        """How design matrices are made, which of their columns a model has, and the matrices.

        There is one of shape (n, p) for each configuration of the private predictors.
        """
        codes = combinations(self.private)
        n, C = len(self.frame), len(codes)
        if n < C:
            remedy = f"has {n} rows, fewer than the {C} combinations of its private predictors"
            raise InvalidArgument("formula", self.formula.text, f"{remedy}: use fewer of these")
        # every category occurs, so that levels and names are those of all
        mixed = {c.name: codes[np.arange(n) % C, j] for j, c in enumerate(self.private)}
        learning = self._repeated(held_at(self.frame, self.private, mixed))
        how = self.formula.engine, self.names, self.formula.text
        spec, first = Spec.of("formula", self.formula.right, learning, *how)
        self._refuse_learned(spec)
        chosen = self._chosen(spec, family)
        if n * C * chosen.size > _MOST_ENTRIES:
            raise NotAvailable(
                f"{C} design matrices of {n:,} rows and {chosen.size} columns take more than 16 "
                "GB: use fewer private predictors, or lump their categories first"
            )
        if not self.private and self.times is None:
            return spec, chosen, (_columns(first, chosen),)
        tables = (held_at(self.frame, self.private, own) for own in codes)
        return spec, chosen, tuple(_columns(spec.matrix(table), chosen) for table in tables)

    def marginal(self, right: str | None) -> tuple[Spec | None, pd.DataFrame | None]:
        """What the distribution of the private predictors depends on, (n, r); None without them.

        `right` is the right side of a formula; by default the public part of this one.
        """
        if not self.private:
            if right is not None:
                remedy = "is for private predictors, and the formula has none: leave it out"
                raise InvalidArgument("marginal", right, remedy)
            return None, None
        if right is None:
            right = self.formula.without(column.name for column in self.private)
        how = self.formula.engine, self.names
        spec, matrix = Spec.of("marginal", right, self._repeated(self.frame), *how)
        if self.times is not None:
            matrix = spec.matrix(self.frame)
        return spec, pd.DataFrame(matrix, index=self.frame.index, columns=list(spec.columns))

    def _repeated(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with a row for each respondent, from which means and knots are learned."""
        if self.times is None:
            return frame
        return frame.iloc[np.repeat(np.arange(len(frame)), self.times.astype(np.int64))]

    def _refuse_learned(self, spec: Spec) -> None:
        """Refuse functions that would learn from answers that nobody knows."""
        private = {column.name for column in self.private}
        for factor in (factor for term in self.formula.terms for factor in term):
            shared = sorted(factor.names & private)
            if shared and spec.learned(factor):
                name = shared[0]
                remedy = (
                    f"{factor.code!r} learns from the answers to {name!r}, which are not known: "
                    f"write {name!r} alone, or pass scores={{{name!r}: ...}}"
                )
                raise InvalidArgument("formula", self.formula.text, remedy)

    def _chosen(self, spec: Spec, family: str) -> Columns:
        """Columns of the matrix that the model has: thresholds take the place of an intercept."""
        text = self.formula.text
        every = np.arange(len(spec.columns))
        if not every.size:
            raise InvalidArgument("formula", text, "has no column on the right: add a predictor")
        if family != "ordered":
            return every
        if not self.formula.intercept:
            remedy = "leaves the intercept out, which ordered models have as thresholds: take 0 + "
            raise InvalidArgument("formula", text, f"{remedy}or - 1 away")
        chosen = every[[name != _INTERCEPT for name in spec.columns]]
        if not chosen.size:
            remedy = "has thresholds alone: add a predictor, or use frequencies() without a model"
            raise InvalidArgument("formula", text, remedy)
        return chosen


def _columns(matrix: Array, chosen: Columns) -> Array:
    """Some columns of a matrix, itself if they are all."""
    return matrix if chosen.size == matrix.shape[1] else np.ascontiguousarray(matrix[:, chosen])
