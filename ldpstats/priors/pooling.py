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
from ldpstats.priors.base import LogitLaw, SimplexPrior, check_draw, softmax_log
from ldpstats.priors.dirichlet import Dirichlet

__all__ = ["Pooling"]

Array = npt.NDArray[Any]

_SD = (1e-3, 100.0)
_DF = (1.0, 1e6)
_MOST = 1e150  # of a draw of the standard deviation, whose effects are still numbers


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
        If a number is out of range, or `common` is not a prior of frequencies.

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
    >>> sd, common, groups = prior.draw(3, ("no", "yes"), np.random.default_rng(1), draws=100)
    >>> sd.shape, common.shape, groups.shape
    ((100,), (100, 2), (100, 3, 2))
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

    def __repr__(self) -> str:
        df = "" if self.df is None else f"df={self.df!r}, "
        return f"Pooling(sd={self.sd!r}, {df}common={self.common!r})"

    def law(self, labels: pd.Index[Any]) -> LogitLaw:
        """The law of the common distribution over these categories."""
        assert self.common is not None
        return self.common.law(labels)

    def log_density(self, sd: Array) -> tuple[Array, Array]:
        """Log density of the standard deviation, (c,), up to a constant, and slope by log(sd)."""
        square = (np.asarray(sd) / self.sd) ** 2
        if self.df is None:
            return -0.5 * square, -square
        ratio = square / self.df
        return -0.5 * (self.df + 1.0) * np.log1p(ratio), -(self.df + 1.0) * ratio / (1.0 + ratio)

    def draw(
        self, n_groups: int, categories: Any, rng: np.random.Generator, draws: int = 1
    ) -> tuple[Array, Array, Array]:
        """Draws from the prior.

        Parameters
        ----------
        n_groups : int
        categories : number of categories, or list of labels
        rng : numpy.random.Generator
        draws : int

        Returns
        -------
        sd : array, shape (draws,)
            Standard deviation between groups.
        common : array, shape (draws, k)
            The common distribution.
        groups : array, shape (draws, n_groups, k)
        """
        n_groups = positive_integer("n_groups", n_groups)
        labels: pd.Index[Any] = as_labels("categories", categories)
        draws = check_draw(rng, draws, n_groups * len(labels))
        sd = self.sd * np.abs(rng.standard_normal(draws))
        if self.df is not None:
            sd = sd / np.sqrt(rng.chisquare(self.df, draws) / self.df)
        common = self.law(labels).draw(rng, draws)
        effects = rng.standard_normal((draws, n_groups, len(labels)))
        effects *= np.minimum(sd, _MOST)[:, None, None] / np.sqrt(2.0)
        logs = np.log(np.maximum(common, np.finfo(float).tiny))[:, None]
        return sd, common, np.exp(softmax_log(logs + effects))
