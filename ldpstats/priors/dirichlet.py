"""The Dirichlet prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import LogitLaw, SimplexPrior

__all__ = ["Dirichlet", "DirichletLaw"]

Array = npt.NDArray[Any]

_RANGE = (1e-3, 1e9)
_LEAST = 1e-150  # of a draw: products of two are still numbers


@dataclass(frozen=True, eq=False)
class DirichletLaw(LogitLaw):
    """A Dirichlet law of concentrations alpha, shape (k,)."""

    alpha: Array

    @property
    def k(self) -> int:
        return int(self.alpha.size)

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        return logp @ self.alpha, self.alpha - self.alpha.sum() * np.exp(logp)

    def curvature(self, logp: Array) -> Array:
        p = np.exp(logp)
        return np.asarray(self.alpha.sum() * (np.diag(p) - np.outer(p, p)))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return np.maximum(rng.dirichlet(self.alpha, size), _LEAST)

    def start(self) -> Array:
        return np.asarray(np.log(self.alpha / self.alpha.sum()))


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(SimplexPrior):
    """The Dirichlet prior of frequencies: ``density(p)`` proportional to ``prod p_j^(a_j - 1)``.

    Parameters
    ----------
    concentration : float, or array_like of shape (k,), or Series by category
        a_j, from 0.001 to 1e9; one number is that of every category. 1 is the flat prior, under
        which every p is as likely as any other; 1/2 is Jeffreys' prior of answers that are not
        privatised. Their sum counts as the answers of so many respondents asked directly.

    Raises
    ------
    InvalidArgument
        For concentrations out of range; when it is used, for other labels than the categories.

    Examples
    --------
    >>> Dirichlet(0.5)
    Dirichlet(0.5)
    >>> Dirichlet(pd.Series({"b": 2.0, "a": 1.0})).law(pd.Index(["a", "b"])).alpha
    array([1., 2.])
    """

    concentration: Any = 1.0

    def __post_init__(self) -> None:
        given = self.concentration
        remedy = (
            f"must be a number from {_RANGE[0]:g} to {_RANGE[1]:g}, or one for each category, such "
            "as 1.0, the flat prior"
        )
        values = given.to_numpy() if isinstance(given, pd.Series) else given
        array = numbers("concentration", values, remedy)
        if np.asarray(values).dtype == bool or isinstance(values, bool):
            raise InvalidArgument("concentration", given, remedy)
        if array.ndim > 1 or not array.size:
            raise InvalidArgument("concentration", f"array of shape {array.shape}", remedy)
        if not np.all((array >= _RANGE[0]) & (array <= _RANGE[1])):  # nor nan
            raise InvalidArgument("concentration", given, remedy)
        kept = given.copy() if isinstance(given, pd.Series) else array
        object.__setattr__(self, "concentration", float(array) if array.ndim == 0 else kept)

    def __repr__(self) -> str:
        shown = self.concentration
        if isinstance(shown, pd.Series):
            shown = shown.to_dict()
        return f"Dirichlet({shown if isinstance(shown, float | dict) else shown.tolist()})"

    def law(self, labels: pd.Index[Any]) -> DirichletLaw:
        k = len(labels)
        if isinstance(self.concentration, float):
            return DirichletLaw(np.full(k, self.concentration))
        values = align("concentration", self.concentration, labels)
        return DirichletLaw(
            numbers("concentration", values, f"must be a number for each of {k} categories", (k,))
        )
