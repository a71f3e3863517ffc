"""The arrays of a regression that a formula makes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.formulas.formula import Formula
from ldpstats.models.regression.formulas.predictors import PrivateColumn, combinations, held_at
from ldpstats.models.regression.formulas.specs import Spec
from ldpstats.models.regression.formulas.tables import as_frame, columns_of
from ldpstats.reports.single import Reports

__all__ = ["Design"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """What a regression needs of n respondents, made by a formula.

    Attributes
    ----------
    formula : Formula
    family : str
        One of `FAMILIES`: the model.
    response : list of Reports; or array, shape (n,)
        Groups of reports that follow one another. Of a public response codes of its categories,
        int64, or float64 numbers for the families "linear" and "poisson".
    categories : pandas.Index or None
        Of the response; None for numbers.
    response_name : str
    names : tuple of str
        Names of the p columns.
    designs : tuple of array, shape (n, p)
        The design matrix at each configuration of the private predictors: each combination of
        their categories, the last predictor changing first. One without private predictors.
    predictors : mapping from str to list of Reports
        Groups of reports of the private predictors.
    private : tuple of PrivateColumn
        The same predictors: their categories and scores.
    index : pandas.Index, length n
        Labels of the rows in the table.
    kept : array of bool, shape (N,)
        Which rows of the table are used.
    n_missing : int
        Respondents who are left out, because a report or a public value is missing.
    marginal_exog : DataFrame or None
        What the distribution of the private predictors depends on; None without such predictors.
    marginal_formula : str or None
    offset, weights, freq_weights : array, shape (n,), or None
    scores : array or None
        Of the categories of a private response of a linear model.
    candidates : mapping from str to candidates
        Of questions over an open alphabet.
    sample : Sample or None
        The cells of a complex sample, c of them; `weights` are the means of their weights, and
        `freq_weights` their respondents, where a cell is not one.
    inside : array of bool, shape (c,), or None
        Which of the cells are the rows, in order.
    facts : SampleFacts or None
        The sample in words and numbers.
    public : DataFrame or None
        The public columns of the formula, of the n respondents.
    """

    formula: Formula
    family: str
    response: Any
    categories: pd.Index[Any] | None
    response_name: str
    names: tuple[str, ...]
    designs: tuple[Array, ...]
    predictors: Mapping[str, list[Reports]]
    private: tuple[PrivateColumn, ...]
    index: pd.Index[Any]
    kept: Mask
    n_missing: int
    marginal_exog: pd.DataFrame | None
    marginal_formula: str | None
    offset: Array | None
    weights: Array | None
    freq_weights: Array | None
    scores: Array | None
    candidates: Mapping[str, Any]
    spec: Spec = field(repr=False)
    marginal_spec: Spec | None = field(repr=False)
    chosen: npt.NDArray[np.int64] = field(repr=False)  # columns of the spec's matrix that are used
    sample: Any = None
    inside: Mask | None = None
    facts: Any = None
    public: pd.DataFrame | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        n, p = self.designs[0].shape
        return f"Design({self.formula.text!r}, {self.family}; {n} rows, {p} columns)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Public columns that the right side needs."""
        return tuple(sorted(self.spec.needs - {column.name for column in self.private}))

    @property
    def exog_frame(self) -> pd.DataFrame:
        """The design matrix as a table, of a model without private predictors."""
        return pd.DataFrame(self.designs[0], index=self.index, columns=list(self.names))

    @property
    def configurations(self) -> pd.DataFrame:
        """The categories of the private predictors in each configuration, one row each."""
        codes = combinations(self.private)
        columns = {c.name: c.labels.take(codes[:, j]) for j, c in enumerate(self.private)}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(codes)))

    @cached_property
    def terms(self) -> dict[str, npt.NDArray[np.int64]]:
        """Which columns each term of the formula has, by the name of the term."""
        place = {int(old): new for new, old in enumerate(self.chosen)}
        found = {}
        for name, old in self.spec.slices.items():
            columns = [place[j] for j in range(old.start, old.stop) if j in place]
            if columns:
                found[name] = np.array(columns, dtype=np.int64)
        return found

    def exog(self, newdata: object) -> list[Array]:
        """The design matrices of other respondents, such as those to predict for.

        Parameters
        ----------
        newdata : table
            The public columns of the formula. If it has columns of all private predictors too, they
            are the true answers of these respondents.

        Returns
        -------
        list of array, shape (n, p)
            One matrix for each configuration; or one alone, where the answers are given. Rows with
            a missing value are NaN.

        Raises
        ------
        InvalidArgument
            If a column is missing, holds a level that the model does not know, or answers are given
            for some private predictors only.
        """
        there = columns_of("exog", newdata)[1]
        given = [column.name for column in self.private if column.name in there]
        if given and len(given) < len(self.private):
            lacking = [c.name for c in self.private if c.name not in given]
            remedy = f"is there, but {lacking} not: give the answers to all private predictors, or "
            raise InvalidArgument("exog, column", given[0], f"{remedy}to none")
        frame = as_frame("exog", newdata, [*self.columns, *given])
        for name in self.columns:
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                frame[name] = frame[name].astype(object)
        whole = ~frame.isna().any(axis=1).to_numpy()
        some = frame.loc[whole]
        found: list[Array] = []
        if given:
            codes = {c.name: c.codes(f"exog, {c.name}", some[c.name]) for c in self.private}
            found.append(self._matrix(held_at(some, self.private, codes), whole))
            return found
        for own in combinations(self.private):
            found.append(self._matrix(held_at(some, self.private, own), whole))
        return found

    def marginal(self, newdata: object) -> Array:
        """What the distribution of the private predictors depends on, of other respondents."""
        if self.marginal_spec is None:
            raise InvalidArgument("newdata", type(newdata).__name__, "the model has no such part")
        frame = as_frame("exog", newdata, sorted(self.marginal_spec.needs))
        whole = ~frame.isna().any(axis=1).to_numpy()
        matrix = np.full((len(frame), len(self.marginal_spec.columns)), np.nan)
        if whole.any():
            matrix[whole] = self.marginal_spec.matrix(frame.loc[whole])
        return matrix

    def _matrix(self, frame: pd.DataFrame, whole: Mask) -> Array:
        """The design matrix of some rows of a table, NaN in the others."""
        matrix = np.full((whole.size, len(self.names)), np.nan)
        if whole.any():
            matrix[whole] = self.spec.matrix(frame)[:, self.chosen]
        return matrix
