"""Confidence intervals and tests of estimates from a complex sample."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import tests as tests_
from ldpstats.inference.designs.intervals import (
    Counted,
    critical,
    paired,
    ratio_bounds,
    score_bounds,
    t_bounds,
)
from ldpstats.inference.designs.totals import Ratios, checked
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.hypotheses import linear_hypothesis
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.comparisons import Limits, satterthwaite
from ldpstats.models.weighted.estimates import DesignEstimates

__all__ = ["DesignResults"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_FIXED = 1e-12  # variance of a contrast, relative to its terms, that is rounding


@dataclass(frozen=True, eq=False)
class DesignResults(DesignEstimates):
    """Estimates from a complex sample with intervals and tests of the design's t and F laws."""

    # -- intervals ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def _counted(self) -> Counted:
        """The reports that estimates are counted by, (q,)."""

    @property
    def intervals(self) -> str:
        """The kind of the default intervals, in words."""
        without = np.isnan(self._counted.scale)
        if without.all():
            return "Wald"
        return "score (some Wald)" if without.any() else "score"

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the frequencies, with t quantiles.

        Of a domain in one sampling unit, whose standard errors are unknown, it is all of [0, 1].

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald", "estimate"}
            "default": the score interval of the report, or bit, that a category is counted by (in
            a table of the pair that a cell is), with the effective sample size of the design; where
            it has none as "wald": unconstrained estimate plus or minus t times standard error.
            "estimate": the same about `params`, with the standard errors `bse`.
        clip : bool
            Intersect with [0, 1]. An interval that lies outside gets a limit of its own there.

        Returns
        -------
        DataFrame, shape (q, 2)
            Columns "lower" and "upper".
        """
        alpha, method = level(alpha), one_of("method", method, ("default", "wald", "estimate"))
        about = self.fitted if method == "estimate" else self.linear
        estimate, se = about.estimate, np.where(self._unknown, 0.0, about.every_bse())
        t = critical(self.df.to_numpy(), alpha)
        if method == "default":
            bounds = self._limits(np.arange(estimate.size), t)
        else:
            bounds = t_bounds(estimate, se, t)
        bounds = np.where(self._unknown[:, None], [-np.inf, np.inf], bounds)
        if boolean("clip", clip):
            bounds = edge_normal(bounds, estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    def _limits(self, at: Codes, t: Array) -> Array:
        """Default limits of the unconstrained estimates at some places, (r,) -> (r, 2), not cut."""
        p = self.linear.estimate[at]
        se = np.where(self._unknown, 0.0, self.linear.every_bse())[at]
        n = (self.domains.sizes / self.domains.spread)[self._domain_of[at]]
        return self._score(p, se, t, self._counted.some(at), n)

    def _score(self, p: Array, se: Array, t: Array, counted: Counted, n: Array) -> Array:
        """`score_bounds` of shares that may be known without error, (q, 2)."""
        fixed = se == 0.0  # nobody was seen there, or everybody: who was not asked may differ
        plain = fixed & np.isnan(counted.scale)
        counted = Counted(np.where(plain, 0.0, counted.offset), np.where(plain, 1.0, counted.scale))
        exact = self.sample.calibrated & fixed & (p > 0.0) & (p < 1.0)  # by population totals
        return np.where(exact[:, None], p[:, None], score_bounds(p, se, t, counted, n))

    def _limits_by(self, method: str) -> Limits:
        """The limits that `conf_int` has, by default or Wald's."""
        if one_of("method", method, ("default", "wald")) == "default":
            return self._limits
        p, se = self.linear.estimate, self.linear.every_bse()
        return lambda at, t: t_bounds(p[at], se[at], t)

    def _table(self, functions: Ratios, df: Any, alpha: float, index: Any) -> pd.DataFrame:
        """Functions of the totals: "estimate", "se", "lower", "upper".

        Ratios to a total of zero are nan, and so are standard errors that nothing is known of.
        """
        T = self.totals_law.estimate
        rows, defined = functions.defined(T)
        found = self.totals_law.of(defined)
        value, se = np.full((2, len(rows)), np.nan)
        value[rows], se[rows] = found.value, np.sqrt(checked(found.covariance).variances())
        alone = self.domains.alone
        if defined.B is not None and alone.any():  # a total, unlike a ratio, varies all the same
            own = np.repeat(alone, T.size // alone.size)
            se[np.flatnonzero(rows)[defined.jacobian(T)[:, own].any(axis=1)]] = np.nan
        bounds = t_bounds(value, se, critical(np.broadcast_to(df, value.shape), alpha))
        columns = {"estimate": value, "se": se, "lower": bounds[:, 0], "upper": bounds[:, 1]}
        return pd.DataFrame(columns, index=index)

    def _ratios(
        self,
        forms: tuple[Array, Array, Array],
        counted: tuple[Counted, Counted],
        df: Any,
        alpha: float,
        index: Any,
    ) -> pd.DataFrame:
        """Ratios of two sets of categories in each domain, of which the ratio is not negative.

        `forms` are the totals of both and of all persons, `counted` the reports they are counted
        by, (1,).
        """
        A, B, persons = forms
        table = self._table(Ratios(A, B), df, alpha, index)
        shares = self.totals_law.of(Ratios(np.vstack([A, B]), np.vstack([persons, persons])))
        above = np.flatnonzero(table["se"].notna())
        below = len(A) + above
        V = paired(checked(shares.covariance).matrix(), above, below)
        t = critical(np.broadcast_to(df, len(A))[above], alpha)
        n = (self.domains.sizes / self.domains.spread)[above]
        p, q = shares.value[above], shares.value[below]
        limits, limits_below = (
            self._score(one, np.sqrt(v), t, by, n)
            for one, v, by in zip((p, q), V[:2], counted, strict=True)
        )
        low, high = ratio_bounds(p, q, V, limits, limits_below).T
        most = edge_normal(limits, p, np.sqrt(V[0]), alpha)[:, 1]
        high = np.where(high <= 0.0, most / q, high)  # a limit of its own, as of a share
        one = (table["se"].to_numpy()[above] == 0.0) & (V[:2] > 0.0).all(axis=0)  # alike sets
        low, high = np.where(one, p / q, low), np.where(one, p / q, high)
        ends = np.full((len(A), 2), np.nan)
        ends[above] = np.stack([np.maximum(low, 0.0), high], axis=-1)
        return table.assign(lower=ends[:, 0], upper=ends[:, 1])

    # -- tests -------------------------------------------------------------------------------

    def t_test(self, hypothesis: Any) -> Any:
        """Test linear combinations of the frequencies one by one, two-sided, by t.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            As in `FrequencyResults.t_test`; in domains the terms are "north:nurse".

        Returns
        -------
        statsmodels ContrastResults
            With `effect`, `sd`, `tvalue`, `pvalue`, `df_denom`, `conf_int()`.

        Raises
        ------
        InvalidArgument
            For a hypothesis that cannot be read, or whose estimate has no sampling variance.
        """
        from statsmodels.stats.contrast import ContrastResults

        from ldpstats.models.shared.contrasts import contrast_names

        R, value = linear_hypothesis(hypothesis, self.terms)
        self._refuse_alone(R)
        V = self.linear.known()
        variance, terms = _quadratic(R, V.matrix()), R**2 @ V.variances()
        fixed = np.flatnonzero(variance <= _FIXED * terms)
        if fixed.size:
            remedy = "has no sampling variance: there is nothing to test"
            raise InvalidArgument("hypothesis", R[fixed[0]].tolist(), remedy)
        effect, sd, df = R @ self.linear.estimate, np.sqrt(variance), self._contrast_df(R)
        t = (effect - value) / sd
        results = ContrastResults(
            effect=effect,
            t=t,
            sd=sd,
            df_denom=float(df[0]) if len(set(df.tolist())) == 1 else df,
            value=value,
            distribution="t",
        )
        results.c_names = contrast_names(R, value, self.terms)
        return results

    def wald_test(self, hypothesis: Any) -> TestResult:
        """Test several linear restrictions together: Wald's statistic with an F law.

        ``W (d - q + 1) / (d q)`` on q and d - q + 1 degrees of freedom, d those of the design. With
        few units rather use the Rao-Scott tests, which keep their size.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            As in `t_test`.

        Raises
        ------
        InvalidArgument
            For restrictions that contradict each other or sum(p) = 1.
        NotAvailable
            For as many restrictions as the design has degrees of freedom.
        """
        from scipy.special import fdtrc

        R, value = linear_hypothesis(hypothesis, self.terms)
        self._refuse_alone(R)
        try:
            W, q = tests_.wald(R, value, self.linear.estimate, self.linear.known())
        except InvalidArgument as error:  # which calls it by the name of an array
            raise InvalidArgument("hypothesis", hypothesis, error.remedy) from None
        df = float(self._contrast_df(R).min())
        below = df - q + 1.0
        if below <= 0.0:
            raise NotAvailable(
                f"a Wald test of {q} restrictions: the design has {df:g} degrees of freedom; test "
                "fewer at once, or use a Rao-Scott test"
            )
        F = float(W) * below / (df * q)
        words = hypothesis if isinstance(hypothesis, str) else f"R p = q, {len(R)} restriction(s)"
        method = "adjusted Wald F test on the unconstrained estimate"
        return TestResult(words, F, (float(q), below), float(fdtrc(q, below, F)), method)

    def _contrast_df(self, R: Array) -> Array:
        """Degrees of freedom of contrasts, (r, q) -> (r,), by Satterthwaite's rule over domains."""
        parts, V = [], self.linear.known().matrix()
        for g in range(len(self.domains.df)):
            at = np.flatnonzero(self._domain_of == g)
            parts.append(_quadratic(R[:, at], V[np.ix_(at, at)]))
        return satterthwaite(np.array(parts), self.domains.df[:, None], self.sample.df)


def _quadratic(R: Array, V: Array) -> Array:
    """The variances ``r' V r`` of rows r, (r,)."""
    return np.asarray(np.maximum(((R @ V) * R).sum(axis=1), 0.0))
