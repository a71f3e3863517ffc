"""The hyperprior of partial pooling: how far groups may be from what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_integer, positive_number
from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import SimplexPrior, softmax_log
from ldpstats.priors.dirichlet import Dirichlet

__all__ = ["Pooling"]

Array = npt.NDArray[Any]

_SD = (1e-3, 100.0)
_DF = (1.0, 1e6)


@dataclass(frozen=True, eq=False)
class Pooling:
    """Prior of the frequencies in several groups, with partial pooling.

    The logarithm of the ratio of any two frequencies is normal between groups, around that of the
    common distribution, with one standard deviation for all pairs of categories. That standard
    deviation is unknown: it has a half-normal, or half-t, law.

    Parameters
    ----------
    sd : float
        Scale of that law, from 0.001 to 100. With the half-normal law of scale 1, the default, the
        standard deviation between groups is below 2 with probability .95: of an answer that half of
        the respondents give in a typical group, it is then between 2 % and 98 % in 95 % of groups.
    df : float, optional
        Degrees of freedom of a half-t law, at least 1; None for the half-normal one.
    common : Dirichlet or LogisticNormal, optional
        Prior of the common distribution; None for the flat Dirichlet(1).

    Raises
    ------
    InvalidArgument
        For numbers out of range, or a `common` that is no prior of frequencies.

    Notes
    -----
    Group g has ``log p_g = log p_0 + u_g`` up to a constant, with ``u_g ~ N(0, t^2 / 2)`` in every
    direction of the log ratios: no category is the reference, and none is more variable than
    another. Where a category varies more between groups than the others do, its frequencies are
    pooled too much, and theirs too little.

    References
    ----------
    Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
    Analysis 1, 515-534.

    Examples
    --------
    >>> prior = Pooling(sd=0.5)
    >>> sd, common, groups = prior.draw(3, ("no", "yes"), np.random.default_rng(1))
    >>> common.shape, groups.shape
    ((2,), (3, 2))
    """

    sd: float = 1.0
    df: float | None = None
    common: SimplexPrior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", positive_number("sd", self.sd, _SD))
        if self.df is not None:
            object.__setattr__(self, "df", positive_number("df", self.df, _DF))
        common = Dirichlet(1.0) if self.common is None else self.common
        if not isinstance(common, SimplexPrior):
            remedy = "must be a prior of frequencies, such as Dirichlet(1.0), or None"
            raise InvalidArgument("common", common, remedy)
        object.__setattr__(self, "common", common)

    def log_density(self, sd: Array) -> tuple[Array, Array]:
        """Log density of the standard deviation, (c,), up to a constant, and slope by log(sd)."""
        square = (np.asarray(sd) / self.sd) ** 2
        if self.df is None:
            return -0.5 * square, -square
        ratio = square / self.df
        return -0.5 * (self.df + 1.0) * np.log1p(ratio), -(self.df + 1.0) * ratio / (1.0 + ratio)

    def draw(
        self, n_groups: int, categories: Any, rng: np.random.Generator
    ) -> tuple[float, Array, Array]:
        """One draw: the sd, the common distribution, (k,), and those of the groups, (g, k)."""
        n_groups = positive_integer("n_groups", n_groups)
        labels: pd.Index[Any] = as_labels("categories", categories)
        assert self.common is not None
        sd = self.sd * abs(float(rng.standard_normal()))
        if self.df is not None:
            sd /= float(np.sqrt(rng.chisquare(self.df) / self.df))
        common = self.common.law(labels).draw(rng, 1)[0]
        effects = sd / np.sqrt(2.0) * rng.standard_normal((n_groups, len(labels)))
        return sd, common, np.exp(softmax_log(np.log(common) + effects))
