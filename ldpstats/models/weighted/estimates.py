"""Estimates from a complex sample: what frequencies and tables have in common.

All that is shown of an unconstrained estimate is a function of weighted totals of decoded reports,
whose covariance holds the design and the randomisation. `DesignResults` has standard errors,
design effects, intervals and tests; below are the parts that models make results of.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    boolean,
    level,
    one_of,
)
from ldpstats.documents import Document, read
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.inference import tests as tests_
from ldpstats.inference.boundary import edge_normal, edge_range
from ldpstats.inference.designs.linearisation import (
    Effects,
    Estimated,
    LinearTotals,
    Ratios,
    ReplicatedTotals,
    Sample,
    Scores,
    Totals,
    checked,
    degrees_in_domains,
    design_effects,
    estimated_totals,
    in_one_unit,
    missed_noise,
)
from ldpstats.inference.designs.tests import (
    Counted,
    Differences,
    RaoScott,
    critical,
    paired,
    ratio_bounds,
    score_bounds,
    t_bounds,
)
from ldpstats.inference.tests import TestResult, adjusted_differences
from ldpstats.likelihood.tallies import Uncertain
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.krr import joint_epsilon, protect_some
from ldpstats.models.layout import Fit, names_alpha
from ldpstats.models.results import (
    Label,
    Results,
    group_label,
    linear_hypothesis,
    several_worded,
)

__all__ = [
    "Dependence",
    "DesignResults",
    "Domains",
    "Limits",
    "SampleFacts",
    "channel_factor",
    "check_counted",
    "check_estimates",
    "check_shapes",
    "differences_table",
    "domain_shares",
    "domains_of",
    "linear_fit",
    "linear_totals",
    "pair_places",
]


Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Limits = Callable[[Codes, Array], Array]  # of the estimates at some places, at critical values

_FIXED = 1e-12  # variance of a contrast, relative to its terms, that is rounding


# -- Results: errors, degrees of freedom, design effects, intervals and tests ---------------------


@dataclass(frozen=True, eq=False)
class DesignResults(Results):
    """Estimates from a complex sample, with intervals and tests of the design's t and F laws.

    `totals_law` has the weighted totals of decoded reports, in an order that a class decides; all
    that is shown of the unconstrained estimate is a function of them.
    """

    totals_law: Totals = field(metadata={"key": "totals"})
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

    # -- errors ------------------------------------------------------------------------------

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

    # -- domains in one sampling unit --------------------------------------------------------

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
                f"{which} in one sampling unit, or in strata of one unit, which does not show how "
                "shares vary: there are no standard errors; join domains",
                LDPWarning,
                stacklevel=5,
            )

    def _refuse_alone(self, R: Array) -> None:
        """Refuse hypotheses R, (r, q), about domains in one sampling unit."""
        if R[:, self._unknown].any():
            raise NotAvailable(
                "a test of a domain that lies in one sampling unit, or in strata of one unit, "
                "which does not show how its shares vary: join domains"
            )

    # -- design effects ----------------------------------------------------------------------

    @cached_property
    def _effects(self) -> Effects:
        shares = self.totals_law.of(self.shares)
        n = self.domains.sizes[self._domain_of]
        variance = np.where(self._unknown, np.nan, np.diagonal(shares.covariance))
        return design_effects(shares.value, variance, np.diagonal(shares.noise), n)

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
        factors = self._effects
        n = self.domains.sizes[self._domain_of]
        columns = {
            "deff_design": factors.design,
            "deff_privacy": factors.privacy,
            "deff": factors.whole,
            "effective_n": n / np.where(factors.whole > 0.0, factors.whole, np.nan),
            "channel": self.domains.channel,
        }
        return pd.DataFrame(columns, index=self.index)

    @property
    def effective_n(self) -> pd.Series[float]:
        """Respondents of a simple random sample of true answers that tell as much."""
        return self._series(self.deff()["effective_n"].to_numpy(), "effective_n")

    # -- presentation ------------------------------------------------------------------------

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

        from ldpstats.models.results import tidy_names

        df = np.maximum(self.df.to_numpy(), 1.0)  # as for intervals
        p = 2.0 * stdtr(df, -np.abs(self.tvalues.to_numpy()))
        return tidy_names(self.summary_frame(alpha)).assign(p_value=p)

    def _facts(self) -> dict[str, Any]:
        own = {"nobs": self.nobs, "df_resid": self.sample.df}
        return super()._facts() | asdict(self.sample) | own

    # -- storage -----------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> Self:
        values = values | read(Fit, values["fit"])
        domains = values["domains"]
        labels = tuple(group_label(label, domains.by) for label in domains.labels)
        values["domains"] = replace(domains, labels=labels)
        arrays = ("sizes", "df", "df_free", "spread", "alone")
        check_shapes({name: (getattr(domains, name), (len(labels),)) for name in arrays})
        return super()._restored(values)

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

    def _table(self, functions: Ratios, df: Any, alpha: float, index: Any) -> pd.DataFrame:
        """Functions of the totals: "estimate", "se", "lower", "upper".

        Ratios to a total of zero are nan, and so are standard errors that nothing is known of.
        """
        T = self.totals_law.estimate
        rows, defined = functions.defined(T)
        law = self.totals_law.of(defined)
        value, se = np.full((2, len(rows)), np.nan)
        value[rows], se[rows] = law.value, np.sqrt(checked(law.covariance).variances())
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
        """Ratios, not negative, of two sets of categories in each domain, counted by reports."""
        A, B, persons = forms  # the totals of both and of all persons
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

        from ldpstats.models.results import contrast_names

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


# -- From decoded reports: totals, shares, and the record of the fit ------------------------------


def linear_totals(
    sample: Sample, scores: Scores, noise: Callable[[Array], Array], more: Array | float = 0.0
) -> Totals:
    """Totals of decoded reports, with `noise` where respondents count by squared weights."""
    # `more` is a covariance that neither the design nor the reports show
    missed = noise(sample.w2 * missed_noise(sample)) + more
    return estimated_totals(sample, scores, noise(sample.w2) + more, missed)


def linear_fit(
    shares: Estimated, mechanisms: Sequence[Mechanism], nobs: int, n_missing: int, name: str = ""
) -> Fit:
    """The record of unconstrained estimates from reports of some mechanisms."""
    linear = Uncertain(shares.value, checked(shares.covariance))
    return Fit(
        fitted=linear,
        linear=linear,
        method="inversion",
        settings="",
        cov_type="linear",
        nobs=nobs,
        n_missing=n_missing,
        epsilon=joint_epsilon(mechanisms),
        sources=tuple(map(str, mechanisms)),
        is_partial=protect_some(mechanisms),
        name=name,
        source_nobs=(nobs,) * len(mechanisms),
    )


def domains_of(
    sample: Sample,
    domain: npt.NDArray[np.int64],
    shares: Estimated,
    channel: Array,
    groups: tuple[tuple[str, ...], tuple[Label, ...]] = ((), ((),)),
    n_ungrouped: int = 0,
) -> Domains:
    """The domains of a sample, whose `shares` were estimated: that of each cell, -1 outside."""
    by, labels = groups
    g, there = len(labels), np.flatnonzero(domain >= 0)
    n, w, w2 = (np.bincount(domain[there], v[there], g) for v in (sample.n, sample.w, sample.w2))
    varies = np.diagonal(shares.covariance).reshape(g, -1).max(axis=1) > 0.0
    return Domains(
        by=by,
        labels=labels,
        sizes=np.rint(n).astype(np.int64),
        df=degrees_in_domains(sample, domain, g),
        df_free=degrees_in_domains(sample.without_corrections(), domain, g),
        channel=channel,
        spread=n * w2 / w**2,
        alone=in_one_unit(sample, domain, varies),
        n_ungrouped=n_ungrouped,
    )


def domain_shares(k: int, g: int) -> Ratios:
    """Shares of k categories in g domains, whose totals are those of the categories and persons."""
    own, persons = np.eye(g), np.eye(k + 1)[-1:]
    return Ratios(np.kron(own, np.eye(k + 1)[:-1]), np.kron(own, persons).repeat(k, axis=0))


def channel_factor(p: Array, noise: Array) -> Array:
    """The factor of the channel at shares p, ``(p (1 - p) + noise) / (p (1 - p))``."""
    return np.asarray(1.0 + noise / np.where((p > 0.0) & (p < 1.0), p * (1.0 - p), np.nan))


# -- Differences of shares, with intervals and p-values -------------------------------------------


def pair_places(pairs: Sequence[tuple[int, int]], k: int) -> tuple[Codes, Codes]:
    """Places of both sides of k differences for each pair of groups, of k estimates each."""
    at = np.array(pairs, dtype=np.int64).reshape(-1, 2, 1) * k + np.arange(k)
    return at[:, 0].reshape(-1), at[:, 1].reshape(-1)


def satterthwaite(v: Array, df: Array, most: float) -> Array:
    """Degrees of freedom of sums of variances v on df each, (g, r) and (g, 1 or r) -> (r,).

    At most those of the whole sample, whose units the parts share; one at least, as for intervals.
    """
    # a domain with one unit in each of its strata has none of its own
    with np.errstate(divide="ignore", invalid="ignore"):
        df = v.sum(axis=0) ** 2 / (v**2 / np.maximum(df, 1.0)).sum(axis=0)
    return np.maximum(np.where(np.isnan(df), most, np.minimum(df, most)), 1.0)


def differences_table(
    value: Array,
    V: Array,
    places: tuple[Codes, Codes],
    df: Array,
    limits: Limits,
    alpha: float,
    index: Any,
) -> pd.DataFrame:
    """Estimates, (q,), at the first `places` less those at the second; nan where unknown."""
    # p-values are of the intervals: below alpha where these do not hold zero
    first, second = places
    parts = paired(V, first, second)
    known = ~np.isnan(parts).any(axis=0)
    one, other = first[known], second[known]
    apart = Differences(
        value[one], value[other], parts[:, known], lambda t: (limits(one, t), limits(other, t))
    )
    found = np.full((len(first), 6), np.nan)
    found[:, 0] = value[first] - value[second]
    if known.any():
        bounds = apart.bounds(critical(df[known], alpha))
        found[known, 1] = apart.se
        found[known, 2:4] = edge_range(bounds, apart.estimate, apart.se, (-1.0, 1.0), alpha)
        found[known, 4] = p = apart.pvalues(df[known])
        k = index.get_level_values(-1).nunique()
        found[known, 5] = adjusted_differences(apart.estimate, p, k)
    columns = ["estimate", "se", "lower", "upper", "pvalue", "pvalue_holm"]
    return pd.DataFrame(found, index=index, columns=columns)


# -- What results hold beside the fit -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SampleFacts(Document):
    """The sample in which estimates were made."""

    design: str  # how it was drawn, in words
    variance: str  # how variances were estimated, in words
    n_strata: int  # of the first stage, of the whole sample
    n_units: int
    nobs: int  # respondents of the whole sample
    weight_sum: float  # the estimated size of the population
    spread: float  # n sum(w^2) / sum(w)^2, what unequal weights alone do to a variance (Kish 1965)
    df: float  # units less strata of the first stage; of replicates their rank less one
    calibrated: bool = False  # population totals may then determine a share


@dataclass(frozen=True, eq=False)
class Domains(Document):
    """The g domains whose frequencies were estimated, one where all are."""

    by: tuple[str, ...]  # the columns that make them; none where there is one
    labels: tuple[tuple[Any, ...], ...]  # a value for each column
    sizes: npt.NDArray[np.int64]  # (g,) respondents with a report
    df: Array  # (g,) units of the first stage with such respondents, less strata that hold them
    df_free: Array  # (g,) as if no unit had been taken for certain: of a superpopulation
    channel: Array  # (g k,) variance of one report's estimate over that of the true answer
    spread: Array  # (g,) as that of `SampleFacts`
    alone: npt.NDArray[np.bool_]  # (g,) in one unit a stratum: how shares vary is not known
    n_ungrouped: int = 0  # respondents who are in no domain


@dataclass(frozen=True)
class Dependence(Document):
    """Pearson's statistic of independence, with two estimates of the design effects."""

    null: RaoScott | None  # with those under independence
    observed: RaoScott | None  # with those at the table of reports
    why: str = ""  # one of them is not there


# -- Documents: shapes that go together ------------------------------------------------------------


_MOST = 1e150  # squares of it do not overflow; weights are 1e50 at most


def check_shapes(shapes: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Refuse arrays of other shapes than results of this size have, each with its name."""
    for name, (value, shape) in shapes.items():
        if value.shape != shape:
            remedy = f"is damaged: {name} have the shape {value.shape}, not {shape}"
            raise InvalidArgument("document", name, remedy)


def check_counted(counted: Counted, k: int, of: str = "") -> None:
    """Refuse reports that k categories cannot be counted by."""
    offset, scale = counted.offset, counted.scale
    check_shapes({f"offset{of}": (offset, (k,)), f"scale{of}": (scale, (k,))})
    if np.isinf(offset).any() or np.isinf(scale).any() or (scale == 0.0).any():
        remedy = "is damaged: scales must be numbers other than zero"
        raise InvalidArgument("document", f"scale{of}", remedy)


def check_estimates(fit: Fit, totals: Mapping[str, Totals], q: int, m: int, sources: int) -> None:
    """Refuse estimates that are not of q shares, m totals and some sources of reports."""
    if len(fit.sources) != sources or len(fit.source_nobs) not in (0, sources):
        remedy = f"is damaged: reports are of {sources} kinds"
        raise InvalidArgument("document", list(fit.sources), remedy)
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {}
    for name, law in totals.items():
        shapes[f"{name}.estimate"] = law.estimate, (m,)
        shapes[f"{name}.noise"] = law.noise, (m, m)
        if isinstance(law, LinearTotals):
            shapes[f"{name}.covariance"] = law.covariance, (m, m)
        elif isinstance(law, ReplicatedTotals):
            shapes[f"{name}.replicates"] = law.replicates, (len(law.scales), m)
            shapes[f"{name}.scales"] = law.scales, (law.scales.size,)
            shapes[f"{name}.missed"] = law.missed, (m, m)
    for name, one in (("fitted", fit.fitted), ("linear", fit.linear)):
        shapes[f"{name}.estimate"] = one.estimate, (q,)
        other = one.at is not None or one.variances is not None
        if other or (one.covariance is not None and one.covariance.size != q):
            remedy = f"is damaged: its covariance is not of {q} shares"
            raise InvalidArgument("document", name, remedy)
    check_shapes(shapes)
    for name, (value, _) in shapes.items():
        if not np.all(np.abs(value) <= _MOST):  # also where it is nan
            raise InvalidArgument("document", name, "is damaged: it has numbers that cannot be")
