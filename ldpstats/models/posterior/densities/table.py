"""The prior of a joint table, whose cells are the categories of all variables together.

The density of the cells is a `FrequencyDensity`: its rows are Kronecker products.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import LogitLaw, SimplexPrior
from ldpstats.priors.dirichlet import Dirichlet, DirichletLaw
from ldpstats.priors.margins import Margins

__all__ = ["cells_law"]

Array = npt.NDArray[Any]


def cells_law(prior: Any, labels: Sequence[pd.Index[Any]]) -> LogitLaw:
    """The law of the cells, row-major, of a table over these categories.

    A concentration by cell is a Series with a level a variable, in any order of the cells, or an
    array in row-major order.

    Raises
    ------
    InvalidArgument
        If the prior is not one of a table, or has other cells.

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
