"""Draws of labelled parameters: what is computed from the draws alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.inference.chains.diagnostics import ess_bulk, ess_tail, rhat
from ldpstats.models.posterior.comparisons import inequalities
from ldpstats.models.posterior.intervals import equal_tailed, highest_density
from ldpstats.models.shared.spelling import names_alpha

__all__ = ["Draws"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of m labelled parameters from a posterior.

    Parameters
    ----------
    samples : array, shape (c, n, m)
        n draws from each of c chains.
    index : Index, length m
        Labels of the parameters; a MultiIndex for tables and groups.
    """

    samples: Array
    index: pd.Index[Any]

    @property
    def flat(self) -> Array:
        """All draws, shape (c n, m), chain after chain."""
        return self.samples.reshape(-1, self.samples.shape[2])

    @property
    def draws(self) -> pd.DataFrame:
        """The draws: a row for each, by "chain" and "draw"; a column for each parameter."""
        chains, n, _ = self.samples.shape
        rows = pd.MultiIndex.from_product([range(chains), range(n)], names=["chain", "draw"])
        return pd.DataFrame(self.flat, index=rows, columns=self.index)

    @property
    def k(self) -> int:
        """Number of parameters."""
        return len(self.index)

    @property
    def terms(self) -> pd.Index[Any]:
        """Names of the parameters in hypotheses; labels of several variables joined by colons."""
        if not isinstance(self.index, pd.MultiIndex):
            return self.index
        return pd.Index([":".join(map(str, labels)) for labels in self.index])

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.index, name=name)

    @property
    def params(self) -> pd.Series[float]:
        """Posterior means."""
        return self._series(self.flat.mean(axis=0), "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Posterior standard deviations."""
        return self._series(self.flat.std(axis=0, ddof=1), "bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """Posterior means over standard deviations."""
        return (self.params / self.bse).rename("tvalues")

    @names_alpha
    def conf_int(self, alpha: float = 0.05, method: str = "equal-tailed") -> pd.DataFrame:
        """Intervals that hold each parameter with posterior probability 1 - alpha.

        Parameters
        ----------
        alpha : float
        method : {"equal-tailed", "hdi"}
            "equal-tailed" leaves out alpha/2 on either side; "hdi", highest density, is the
            shortest interval of the draws.

        Returns
        -------
        DataFrame, shape (m, 2)
            "lower" and "upper".
        """
        method = one_of("method", method, ("equal-tailed", "hdi"))
        ends = (equal_tailed if method == "equal-tailed" else highest_density)(
            self.flat, level(alpha)
        )
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def prob(self, claim: str) -> float:
        """The posterior probability of an inequality: the share of draws for which it holds.

        Parameters
        ----------
        claim : str
            "nurse > cook", "nurse > .3", "nurse + cook > driver", "nurse > cook > driver"; several
            claims joined by commas must all hold. Labels that are not text, or hold signs, are
            written ``p[label]``, all of them; cells of several variables as "yes:no".

        Raises
        ------
        InvalidArgument
            If the text is not an inequality.
        """
        R, value = inequalities(claim, self.terms)
        return float((self.flat @ R.T > value).all(axis=1).mean())

    # -- whether to trust the draws ------------------------------------------------------------

    @cached_property
    def rhat(self) -> pd.Series[float]:
        """Rank-normalised split R-hat of every parameter; above 1.01 chains do not agree."""
        return self._series(rhat(self.samples), "rhat")

    @cached_property
    def ess(self) -> pd.DataFrame:
        """Effective numbers of draws, columns "bulk" (of the centre) and "tail" (5 and 95 %)."""
        sizes = {"bulk": ess_bulk(self.samples), "tail": ess_tail(self.samples)}
        return pd.DataFrame(sizes, index=self.index)
