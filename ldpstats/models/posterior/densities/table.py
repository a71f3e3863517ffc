"""The posterior of a joint table, whose cells are the categories of all variables together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.estimators.mle import MLE
from ldpstats.priors.base import LogitLaw, SimplexPrior
from ldpstats.priors.dirichlet import Dirichlet, DirichletLaw
from ldpstats.priors.margins import Margins
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import DenseRows
from ldpstats.problems.rows.combined import StackedRows

__all__ = ["cells_law", "densest"]

Array = npt.NDArray[Any]


def cells_law(prior: Any, labels: Sequence[pd.Index[Any]]) -> LogitLaw:
    """The law of the cells, row-major, of a table over these categories.

    A concentration by cell is a Series with a level a variable, in any order of the cells, or an
    array in row-major order.

    Raises
    ------
    InvalidArgument
        For what is no prior of a table, and concentrations of other cells.

    Examples
    --------
    >>> labels = [pd.Index(["no", "yes"]), pd.Index(["a", "b"])]
    >>> cells = pd.MultiIndex.from_tuples([("yes", "a"), ("yes", "b"), ("no", "a"), ("no", "b")])
    >>> cells_law(Dirichlet(pd.Series([3.0, 4.0, 1.0, 2.0], index=cells)), labels).alpha
    array([1., 2., 3., 4.])
    """
    if prior is None:
        return DirichletLaw(np.ones(prod(map(len, labels))))
    if isinstance(prior, Margins):
        return prior.law(labels)
    if not isinstance(prior, SimplexPrior):
        remedy = (
            "must be a prior of a table, such as ldpstats.priors.Dirichlet(1.0) or Margins(...), "
            "or None for the flat one"
        )
        raise InvalidArgument("prior", prior, remedy)
    cells = pd.MultiIndex.from_product(labels)
    if isinstance(prior, Dirichlet) and isinstance(prior.concentration, pd.Series):
        return Dirichlet(_by_cell(prior.concentration, cells)).law(pd.RangeIndex(len(cells)))
    return prior.law(pd.RangeIndex(len(cells)))


def _by_cell(given: pd.Series[Any], cells: pd.MultiIndex) -> Array:
    """Numbers by cell in the order of the cells."""
    index = given.index
    known = isinstance(index, pd.MultiIndex) and index.nlevels == cells.nlevels
    if known and len(index) == len(cells) and index.is_unique:
        places = index.get_indexer(cells)
        if np.all(places >= 0):
            return given.to_numpy()[places]
    remedy = (
        f"as a Series must be indexed by the {len(cells)} cells, with a level for each of "
        f"{cells.nlevels} variables"
    )
    raise InvalidArgument("concentration", list(index[:5]), remedy)


def densest(likelihood: Likelihood, law: LogitLaw) -> Array | None:
    """Where the posterior density of p itself is largest, shape (k,).

    Known for Dirichlet laws whose concentrations are all at least 1, which count as respondents
    whose true answers are seen: the flat one leaves the maximum of the likelihood. None for others.
    """
    if not isinstance(law, DirichletLaw) or law.alpha.min() < 1.0:
        return None
    more = law.alpha - 1.0
    if not more.any():
        return MLE().solve(likelihood).p
    W = StackedRows((likelihood.W, DenseRows(np.eye(law.k)[more > 0.0])))
    seen = Likelihood(W, np.concatenate([likelihood.n, more[more > 0.0]]))
    return MLE().solve(seen).p
