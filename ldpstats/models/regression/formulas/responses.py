"""Responses of a regression, and the families of models that suit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument
from ldpstats.models.frequency.ordered import checked_scores
from ldpstats.models.regression.formulas.formula import Formula
from ldpstats.models.regression.formulas.specs import Spec
from ldpstats.reports.single import Reports

__all__ = ["FAMILIES", "Response", "plain_numbers", "private_response", "public_response"]

Array = npt.NDArray[Any]

BINARY = ("logit", "probit", "cloglog")
FAMILIES = ("linear", "logit", "multinomial", "ordered", "poisson", "probit", "cloglog")
_MOST_VALUES = 100  # distinct whole numbers that may be categories


@dataclass(frozen=True, eq=False)
class Response:
    """What the left side of a formula says about the respondents.

    Attributes
    ----------
    name : str
    values : list of Reports; or array, shape (n,)
        Groups of reports that follow one another; numbers, or codes of public categories, int64.
    labels : pandas.Index or None
        The categories; None for numbers.
    private : bool
    ordered : bool
    """

    name: str
    values: Any
    labels: pd.Index[Any] | None
    private: bool
    ordered: bool = False

    def family(self, model: object) -> str:
        """The family that `model` names, or the one that suits the response.

        Raises
        ------
        InvalidArgument
            For an unknown name, and for a family that does not suit the response.
        """
        if model is None:
            return self._usual()
        family = one_of("model", model, FAMILIES)
        if remedy := self._fault(family):
            raise InvalidArgument("model", family, f"{self.name!r} {remedy}")
        return family

    def seen_by(self, family: str) -> Response:
        """The same as the family needs it: public answers as numbers, or as categories."""
        if family in ("linear", "poisson"):
            if self.labels is None or self.private:
                return self
            return replace(self, values=self.values.astype(np.float64), labels=None)
        if self.labels is not None:
            return self
        distinct, codes = np.unique(self.values, return_inverse=True)
        return _categories(self.name, codes, [int(v) for v in distinct], family == "ordered")

    def _usual(self) -> str:
        if self.labels is None:
            return "logit" if set(np.unique(self.values)) == {0.0, 1.0} else "linear"
        if len(self.labels) == 2:
            return "logit"
        return "ordered" if self.ordered else "multinomial"

    def _fault(self, family: str) -> str:
        """Why a family does not suit the response, and what does; "" where it does."""
        if self.labels is None:
            return self._fault_of_numbers(family)
        k = len(self.labels)
        if family in BINARY and k != 2:
            return f"has {k} categories, and {family} needs two: use 'multinomial' or 'ordered'"
        if family == "poisson":
            suits = "'logit'" if k == 2 else "'multinomial', 'ordered' or 'linear'"
            kind = "private" if self.private else "of categories"
            return f"is {kind}, and poisson needs public counts: use {suits}"
        if family == "linear" and not self.private and k > 2:
            return f"has {k} categories, which are no numbers: make it a column of numbers"
        return ""

    def _fault_of_numbers(self, family: str) -> str:
        distinct = np.unique(self.values)
        whole = bool(np.all(distinct == np.floor(distinct)))
        if family in BINARY and not np.isin(distinct, (0.0, 1.0)).all():
            return f"holds other numbers than 0 and 1, and {family} needs two values: use 'linear'"
        if family == "poisson" and (not whole or distinct[0] < 0):
            return "must be whole numbers, none of them negative, for poisson: use 'linear'"
        many = not whole or distinct.size > _MOST_VALUES
        if family in ("multinomial", "ordered") and many:
            return "holds numbers that are no categories: use 'linear', or make bands of it first"
        return ""

    def scores(self, given: object, family: str) -> Array | None:
        """A number for each category of a private response of a linear model; None of others."""
        if self.private and self.labels is not None and family == "linear":
            if given is None and len(self.labels) == 2 and not plain_numbers(self.labels):
                return np.array([0.0, 1.0])
            try:
                return checked_scores(given, self.labels)
            except InvalidArgument as error:
                remedy = f"of {self.name!r}: {error.remedy}, as scores={{{self.name!r}: ...}}"
                raise InvalidArgument("scores", given, remedy) from None
        if given is not None:
            remedy = f"{self.name!r} is a private response only of model='linear': leave it out"
            raise InvalidArgument("scores", {self.name: given}, remedy)
        return None


def private_response(name: str, groups: list[Reports], labels: pd.Index[Any]) -> Response:
    """A question as a response, from groups of reports on the same categories."""
    dtype: Any = labels.dtype
    ordered = isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)
    return Response(name, groups, pd.Index(labels.tolist(), dtype=object), True, ordered)


def public_response(formula: Formula, frame: pd.DataFrame, names: Mapping[str, Any]) -> Response:
    """The left side of a formula of public columns."""
    if not formula.response.is_name:
        return _computed(formula, frame, names)
    (name,) = formula.response.names
    column = frame[name]
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        some = column.cat.remove_unused_categories().cat
        return _categories(
            name, some.codes.to_numpy(), some.categories.tolist(), bool(dtype.ordered)
        )
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return _numbers(name, column.to_numpy())
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return _numbers(name, column.to_numpy())
    if kind not in ("string", "boolean"):
        remedy = f"holds {kind} values: a response is of numbers, booleans, text or categories"
        raise InvalidArgument("formula", formula.text, f"{name!r} {remedy}")
    labels = sorted(set(column.tolist()))
    codes = pd.Categorical(column, categories=labels).codes
    return _categories(name, codes, labels, False)


def plain_numbers(labels: pd.Index[Any]) -> bool:
    """Whether all labels are numbers, none of them a truth value."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels.tolist())


def _computed(formula: Formula, frame: pd.DataFrame, names: Mapping[str, Any]) -> Response:
    """A response that the formula engine computes: numbers, or indicators of categories."""
    how = frame, formula.engine, names, formula.text
    spec, matrix = Spec.of("formula", f"0 + {formula.left}", *how)
    if matrix.shape[1] == 1:
        return _numbers(formula.left, matrix[:, 0])
    labels = [column.rpartition("[")[2].rstrip("]").removeprefix("T.") for column in spec.columns]
    if not np.isin(matrix, (0.0, 1.0)).all() or (matrix.sum(axis=1) != 1.0).any():
        remedy = f"has {matrix.shape[1]} responses in {formula.left!r}: it must have one"
        raise InvalidArgument("formula", formula.text, remedy)
    return _categories(formula.left, matrix.argmax(axis=1), labels, False)


def _numbers(name: str, values: Array) -> Response:
    found = values.astype(np.float64)
    if not np.isfinite(found).all():
        raise InvalidArgument("response", name, "has infinite values: leave those rows out")
    if found.min() == found.max():
        remedy = f"is {found[0]:g} in all rows: there is nothing to explain"
        raise InvalidArgument("response", name, remedy)
    return Response(name, found, None, False)


def _categories(name: str, codes: Array, labels: Sequence[Any], ordered: bool) -> Response:
    """Public categories."""
    if len(labels) < 2:
        remedy = f"is {labels[0]!r} in all rows: there is nothing to explain"
        raise InvalidArgument("response", name, remedy)
    index: pd.Index[Any] = pd.Index(list(labels), dtype=object)
    return Response(name, np.asarray(codes).astype(np.int64), index, False, ordered)
