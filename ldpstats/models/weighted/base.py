"""What results of a complex sample have in common: functions of totals, t intervals, F tests."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.inference import tests as tests_
from ldpstats.inference.designs.effects import Effects, design_effects
from ldpstats.inference.designs.intervals import (
    Counted,
    critical,
    paired,
    ratio_bounds,
    score_bounds,
    t_bounds,
)
from ldpstats.inference.designs.totals import Ratios, Totals
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.groups import several_worded
from ldpstats.models.shared.hypotheses import linear_hypothesis
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.comparisons import Limits, satterthwaite
from ldpstats.models.weighted.record import Domains, SampleFacts, fit_from_dict, fit_to_dict
from ldpstats.problems.covariance import Covariance

__all__ = ["DesignResults", "checked", "standard_errors"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_FIXED = 1e-12  # variance of a contrast, relative to its terms, that is rounding


@dataclass(frozen=True, eq=False)
class DesignResults(FittedResults):
    """Estimates from a complex sample of privatised reports.

    `totals` are the weighted totals of decoded reports, in an order that a class decides; all that
    is shown of the unconstrained estimate is a function of them.
    """

    totals_law: Totals
    sample: SampleFacts
    domains: Domains

    # -- what a class says -------------------------------------------------------------------

    @property
    @abstractmethod
    def shares(self) -> Ratios:
        """The unconstrained estimates as functions of the totals, (q,)."""

    @property
    @abstractmethod
    def _domain_of(self) -> npt.NDArray[np.int64]:
        """The domain of each estimate, (q,)."""

    @property
    def _counted(self) -> Counted | None:
        """The reports that estimates are counted by, (q,); None without."""
        return None

    @property
    def intervals(self) -> str:
        """The kind of the default intervals, in words."""
        counted = self._counted
        if counted is None or np.isnan(counted.scale).all():
            return "Wald"
        return "score" if not np.isnan(counted.scale).any() else "score (some Wald)"

    # -- degrees of freedom ------------------------------------------------------------------

    @property
    def terms(self) -> pd.Index[Any]:
        """Names of the estimates in hypotheses: labels joined by colons where there are several."""
        if not isinstance(self.index, pd.MultiIndex):
            return self.index
        return pd.Index([":".join(map(str, cell)) for cell in self.index])

    @property
    def df(self) -> pd.Series[float]:
        """Degrees of freedom of each estimate: units less strata that hold its domain."""
        return self._series(self.domains.df[self._domain_of], "df")

    def _contrast_df(self, R: Array) -> Array:
        """Degrees of freedom of contrasts, (r, q) -> (r,), by Satterthwaite's rule over domains."""
        parts, V = [], self.linear.known().matrix()
        for g in range(len(self.domains.df)):
            at = np.flatnonzero(self._domain_of == g)
            parts.append(_forms(R[:, at], V[np.ix_(at, at)]))
        return satterthwaite(np.array(parts), self.domains.df[:, None], self.sample.df)

    def _variances(self, R: Array) -> Array:
        return _forms(R, self.linear.known().matrix())

    # -- intervals and tests -----------------------------------------------------------------

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the frequencies, with t quantiles.

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
        nothing = self._unknown & (bounds[:, 0] == bounds[:, 1])
        bounds = np.where(nothing[:, None], [-np.inf, np.inf], bounds)
        if boolean("clip", clip):
            bounds = edge_normal(bounds, estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    def _limits(self, at: Codes, t: Array) -> Array:
        """Default limits of the unconstrained estimates at some places, (r,) -> (r, 2), not cut."""
        p = self.linear.estimate[at]
        se = np.where(self._unknown, 0.0, self.linear.every_bse())[at]
        if self._counted is None:
            return t_bounds(p, se, t)
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

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan where unknown, as in a domain in one sampling unit."""
        return super().bse.mask(self._unknown)

    @property
    def linear_bse(self) -> pd.Series[float]:
        """Standard errors of `linear_params`; nan where they are unknown."""
        return super().linear_bse.mask(self._unknown)

    @property
    def linear_cov(self) -> pd.DataFrame:
        """Covariance matrix of `linear_params`; nan where it is unknown."""
        return self._known(super().linear_cov)

    def cov_params(self, cov_type: str | None = None) -> pd.DataFrame:
        """Covariance matrix of `params`, between domains too; nan where it is unknown.

        Parameters
        ----------
        cov_type : {None, "default", "linear"}
            "linear" gives that of `linear_params`.
        """
        kind = "default" if cov_type is None else cov_type
        return self._known(super().cov_params(one_of("cov_type", kind, ("default", "linear"))))

    def _known(self, covariance: pd.DataFrame) -> pd.DataFrame:
        """Without the rows and columns of domains in one sampling unit."""
        return covariance.mask(self._unknown[:, None] | self._unknown)

    @property
    def tvalues(self) -> pd.Series[float]:
        """The unconstrained estimates over their standard errors; nan where these are zero."""
        se = self.linear.bse()
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where((se > 0.0) & ~self._unknown, self.linear.estimate / se, np.nan)
        return self._series(t, "tvalues")

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
        variance = self._variances(R)
        terms = np.einsum("ij,ij,j->i", R, R, self.linear.known().variances())
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

    # -- functions of the totals -------------------------------------------------------------

    def _table(self, functions: Ratios, df: Any, alpha: float, index: Any) -> pd.DataFrame:
        """Functions of the totals: "estimate", "se", "lower", "upper".

        Ratios to a total of zero are nan, and so are standard errors that nothing is known of.
        """
        T = self.totals_law.estimate
        rows, defined = functions.defined(T)
        found = self.totals_law.of(defined)
        value, se = np.full((2, len(rows)), np.nan)
        value[rows], se[rows] = found.value, standard_errors(found.covariance)
        if (
            defined.B is not None and self.domains.alone.any()
        ):  # shares of totals; these are by domain
            own = np.repeat(self.domains.alone, T.size // self.domains.alone.size)
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
        V = paired(shares.covariance, above, below)
        checked(np.diag(V[:2].reshape(-1)))
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
        ends = np.full((len(A), 2), np.nan)
        ends[above] = np.stack([np.maximum(low, 0.0), high], axis=-1)
        return table.assign(lower=ends[:, 0], upper=ends[:, 1])

    @property
    def _unknown(self) -> npt.NDArray[np.bool_]:
        """Estimates of these domains, (q,)."""
        return np.asarray(self.domains.alone[self._domain_of])

    def warn_of_unknown(self) -> None:
        """Warn of domains in one sampling unit, by name."""
        if self.domains.alone.any():
            by, labels = self.domains.by, self.domains.labels
            own = [label for label, alone in zip(labels, self.domains.alone, strict=True) if alone]
            which = f"the domain {several_worded(own, by)} is" if by else "all reports are"
            warnings.warn(
                f"{which} in one sampling unit, which does not show how shares vary: there are no "
                "standard errors; join domains",
                LDPWarning,
                stacklevel=5,
            )

    def _refuse_alone(self, R: Array) -> None:
        """Refuse hypotheses R, (r, q), about domains in one sampling unit."""
        if R[:, self._unknown].any():
            raise NotAvailable(
                "a test of a domain that lies in one sampling unit, which does not show how its "
                "shares vary: join domains"
            )

    @cached_property
    def _effects(self) -> Effects:
        found = self.totals_law.of(self.shares)
        n = self.domains.sizes[self._domain_of]
        variance = np.where(self._unknown, np.nan, np.diagonal(found.covariance))
        return design_effects(found.value, variance, np.diagonal(found.noise), n)

    def deff(self) -> pd.DataFrame:
        """Design effects of the unconstrained estimates, in two factors.

        Returns
        -------
        DataFrame, one row per estimate
            "deff_design": what strata, clusters and weights do to the variance of the true answers;
            "deff_privacy": what the randomisation adds to that; "deff": their product, the variance
            over that of a simple random sample of true answers; "effective_n": respondents of such
            a sample who tell as much; "channel": what randomisation alone does in a simple random
            sample, which planning uses. nan where not estimable, as where less variance is left
            than the randomisation has. Without noise "deff" is that of R's survey with
            ``deff="replace"``.
        """
        found = self._effects
        n = self.domains.sizes[self._domain_of]
        columns = {
            "deff_design": found.design,
            "deff_privacy": found.privacy,
            "deff": found.whole,
            "effective_n": n / np.where(found.whole > 0.0, found.whole, np.nan),
            "channel": self.domains.channel,
        }
        return pd.DataFrame(columns, index=self.index)

    @property
    def effective_n(self) -> pd.Series[float]:
        """Respondents of a simple random sample of true answers that tell as much."""
        return self._series(self.deff()["effective_n"].to_numpy(), "effective_n")

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: "params", "bse", "linear", "linear_se", "lower", "upper", "df" and
        the columns of `deff`.
        """
        frame = self._estimates_frame(level(alpha))
        frame.loc[self._unknown, ["bse", "linear_se"]] = np.nan
        return pd.concat([frame, self.df, self.deff()], axis=1)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        from scipy.special import stdtr

        from ldpstats.models.shared.results import tidy_names

        df = np.maximum(self.df.to_numpy(), 1.0)  # as for intervals
        p = 2.0 * stdtr(df, -np.abs(self.tvalues.to_numpy()))
        return tidy_names(self.summary_frame(alpha)).assign(p_value=p)

    def _facts(self) -> dict[str, Any]:
        own = {"nobs": self.nobs, "df_resid": self.sample.df}
        return super()._facts() | asdict(self.sample) | own

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "fit": fit_to_dict(self.fit),
            "totals": self.totals_law.to_dict(),
            "sample": self.sample.to_dict(),
            "domains": self.domains.to_dict(),
            "nobs": self.nobs,
            "n_missing": self.n_missing,
        }

    @staticmethod
    def _common(document: dict[str, Any]) -> dict[str, Any]:
        """The fields that all such results have, from what `_stored` wrote."""
        return {
            "fit": fit_from_dict(document["fit"]),
            "totals_law": Totals.from_dict(document["totals"]),
            "sample": SampleFacts.from_dict(document["sample"]),
            "domains": Domains.from_dict(document["domains"]),
        }


def _forms(R: Array, V: Array) -> Array:
    """The variances ``r' V r`` of rows r, (r,)."""
    return np.asarray(np.maximum(((R @ V) * R).sum(axis=1), 0.0))


def standard_errors(covariance: Array) -> Array:
    """Roots of the variances; refused where one is negative."""
    return np.sqrt(checked(covariance).variances())


def checked(covariance: Array) -> Covariance:
    """A covariance whose variances are not negative; else an error that says why."""
    v = np.diagonal(covariance)
    if np.any(v < 0.0):
        raise NotAvailable(
            f"the variance of {int((v < 0.0).sum())} of {v.size} estimates is estimated to be "
            "negative: the randomisation variance that the correction for a finite population "
            "adds is an unbiased estimate, which in a domain of few respondents may be negative; "
            "leave fpc= out, or join domains"
        )
    return Covariance.dense(covariance)
