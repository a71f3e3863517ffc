"""Estimates from a complex sample: what frequencies and tables have in common.

All that is shown of an unconstrained estimate is a function of weighted totals of decoded reports,
whose covariance holds the design and the randomisation. `DesignResults` has standard errors,
design effects, intervals and tests; below are the parts that models make results of.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, level, one_of, record
from ldpstats.documents import Document, read
from ldpstats.errors import LDPWarning, NotAvailable
from ldpstats.inference.designs.linearisation import Ratios, Totals, checked
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
from ldpstats.inference.intervals import edge_normal, edge_range
from ldpstats.labels import Codes
from ldpstats.likelihood.covariance import Uncertain
from ldpstats.models.layout import (
    ESTIMATES,
    Body,
    Fit,
    Frame,
    Pair,
    Table,
    count_of,
    figures,
    interval_note,
)
from ldpstats.models.results import Results, group_label, several_worded

Limits = Callable[[Codes, Array], Array]  # of the estimates at some places, at critical values


# -- Results: errors, degrees of freedom, design effects, intervals and tests ---------------------


@record
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
    def _counted(self) -> Counted:
        """The reports that estimates are counted by, (q,)."""

    @property
    def shares(self) -> Ratios:
        """The unconstrained estimates as functions of the totals, (q,)."""
        g = len(self.domains.labels)
        return cell_shares(self.linear.estimate.size // g, len(self.totals_law.estimate) // g, g)

    @property
    def _domain_of(self) -> Codes:
        """The domain of each estimate, (q,)."""
        g = len(self.domains.labels)
        return np.repeat(np.arange(g), self.linear.estimate.size // g)

    def _sums(self, weights: Array) -> Array:
        """Weighted sums of the totals of cells in each domain as linear forms, (..., cells)."""
        g, rows = len(self.domains.labels), np.atleast_2d(weights)
        lacking = len(self.totals_law.estimate) // g - rows.shape[1]
        return np.kron(np.eye(g), np.pad(rows, [(0, 0), (0, lacking)]))

    @property
    def _persons(self) -> Array:
        """The number of persons of each domain as linear forms, (g, totals)."""
        m = len(self.totals_law.estimate) // len(self.domains.labels)
        return self._sums(np.eye(m)[-1])

    # -- errors ------------------------------------------------------------------------------

    @property
    def df(self) -> pd.Series[float]:
        """Degrees of freedom of each estimate: units less strata that hold its domain."""
        return self._series(self.domains.df[self._domain_of], "df")

    @property
    def _unknown(self) -> Array:
        """Estimates of domains in one sampling unit, (q,)."""
        return self.domains.alone[self._domain_of]

    def _se(self, which: Uncertain) -> Array:
        return np.where(self._unknown, np.nan, which.bse())

    def _frame(self, matrix: Array, at: Any = slice(None)) -> pd.DataFrame:
        return Table(super()._frame(matrix, at).mask(self._unknown[:, None] | self._unknown))

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

    # -- design effects ----------------------------------------------------------------------

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
        shares, n = self.totals_law.of(self.shares), self.domains.sizes[self._domain_of]
        p, noise = shares.value, np.diagonal(shares.noise)
        variance = np.where(self._unknown, np.nan, np.diagonal(shares.covariance))
        simple = p * (1.0 - p) / np.maximum(n - 1.0, 1.0)
        simple = np.where((simple > 0.0) & (n > 1), simple, np.nan)
        sampled = np.where(variance > np.maximum(noise, 0.0), variance - noise, np.nan)
        deff = variance / simple
        columns = {
            "deff_design": sampled / simple,
            "deff_privacy": np.where(simple > 0.0, variance / sampled, np.nan),
            "deff": deff,
            "effective_n": n / np.where(deff > 0.0, deff, np.nan),
            "channel": self.domains.channel,
        }
        return Table(columns, index=self.index)

    @property
    def effective_n(self) -> pd.Series[float]:
        """Respondents of a simple random sample of true answers that tell as much."""
        return self._series(self.deff()["effective_n"].to_numpy(), "effective_n")

    # -- presentation ------------------------------------------------------------------------

    def _sample_pairs(self) -> tuple[list[Pair], list[Pair]]:
        """How the sample was drawn, and what is estimated from it: left and right of a header."""
        facts = self.sample
        left: list[Pair] = [("Design:", facts.design), ("Variance:", facts.variance)]
        if facts.n_units:
            strata = "strata" if facts.n_strata > 1 else "stratum"
            left.append(("Units:", f"{facts.n_units} in {facts.n_strata} {strata}"))
        weights = ("Sum of weights:", f"{facts.weight_sum:,.6g}")
        return left, [weights, ("Df of design:", f"{facts.df:g}")]

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        deff = figures(shown["deff_design"], 2), figures(shown["deff_privacy"], 2)
        for row, *both in zip(cells, *deff, strict=True):
            row += both
        return super()._body(shown, [*heads, "deff design", "deff privacy"], cells)

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        df = self.df.to_numpy()
        law = f"{self.intervals}, t quantiles with {_range(np.maximum(df, 1.0))} df"
        law += " of each domain" * bool(self.domains.by)
        notes = [
            interval_note(alpha, law, frame, source),
            "deff design: variance without noise over that of a simple random sample; deff "
            "privacy: variance over that without noise.",
        ]
        inner = (frame["lower"] > 0.0) & (frame["upper"] < 1.0)  # of others it is mostly chance
        known = frame["effective_n"][inner].dropna()
        if len(known):
            notes.append(
                f"Effective sample size: {_range(known)} true answers of a simple random sample."
            )
        # a variance on so many degrees of freedom has a relative standard error of sqrt(2 / df)
        spread = frame["deff_privacy"] * np.sqrt(2.0 / np.maximum(frame["df"], 1.0))
        doubtful = int(((frame["deff_privacy"] > 2.0) & (spread > 0.5)).sum())
        if frame["deff_design"].isna().any():
            notes.append(
                "NOTE: -: not estimable, as the noise leaves no variance for the design, or the "
                "estimate is not between 0 and 1."
            )
        if doubtful:
            some = f"those of {count_of(doubtful, 'estimate')}"
            notes.append(
                "NOTE: where the noise has most of the variance, deff design and deff privacy are "
                f"rough, here {some if doubtful < len(frame) else 'both'}; their product is not."
            )
        if np.any(df < 1.0):
            notes.append(
                "WARNING: a domain lies in a single unit of each stratum, which shows little or "
                "nothing of its variance: its intervals are for one df."
            )
        return notes

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: "params", "bse", "linear", "linear_se", "lower", "upper", "df" and
        the columns of `deff`.
        """
        return pd.concat([self._estimates_frame(level(alpha)), self.df, self.deff()], axis=1)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        from scipy.special import stdtr

        df = np.maximum(self.df.to_numpy(), 1.0)  # as for intervals
        p = 2.0 * stdtr(df, -np.abs(self.tvalues.to_numpy()))
        return super()._tidy(alpha).assign(p_value=p)

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
        return super()._restored(values)

    # -- intervals ---------------------------------------------------------------------------

    @property
    def intervals(self) -> str:
        """The kind of the default intervals, in words."""
        without = np.isnan(self._counted.scale)
        if without.all():
            return "Wald"
        return "score (some Wald)" if without.any() else "score"

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

    def _of_totals(self, functions: Ratios, df: Any, alpha: float, index: Any) -> pd.DataFrame:
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
        return pd.DataFrame(np.column_stack([value, se, bounds]), index, ESTIMATES)

    def totals(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimated numbers of persons (Horvitz-Thompson), with t intervals.

        Of the persons whom those with a report stand for: who did not answer is in no total. The
        summary has the sum of their weights, besides that of all. For numbers of the whole
        population multiply the shares by its size, if those who did not answer are like the others.

        Returns
        -------
        DataFrame, one row per estimate
            "estimate", "se", "lower", "upper", in persons of the population.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no", "no"] * 25, "w": [10.0] * 100})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.frequencies("ill").totals()["estimate"].to_dict()
        {'no': 750.0, 'yes': 250.0}
        """
        shares = self.shares
        table = self._of_totals(Ratios(shares.A), self.df.to_numpy(), level(alpha), self.index)
        # who was not seen may be there: what the interval of the share says, in persons
        persons = (shares.B @ self.totals_law.estimate)[:, None]
        unseen = (table["se"] == 0.0).to_numpy()[:, None]
        ends = np.where(unseen, self.conf_int(alpha) * persons, table[["lower", "upper"]])
        table[["lower", "upper"]] = ends
        return table

    def _ratio(
        self, sets: Array, disjoint: bool, alpha: float, method: str, index: Any
    ) -> pd.DataFrame:
        """Ratios of two sets of cells, (2, cells) of zeros and ones, in each domain.

        `disjoint` is whether a respondent's reports count for one cell at most.
        """
        method = one_of("method", method, ("default", "wald"))
        A, B, persons = *map(self._sums, sets), self._persons
        df, size = self.domains.df, sets.shape[1]
        table = self._of_totals(Ratios(A, B), df, alpha, index)
        if method == "wald":
            return table
        shares = self.totals_law.of(Ratios(np.vstack([A, B]), np.vstack([persons, persons])))
        above = np.flatnonzero(table["se"].notna())
        V = paired(checked(shares.covariance).matrix(), above, len(A) + above)
        t, n = critical(df[above], alpha), (self.domains.sizes / self.domains.spread)[above]
        p, q = shares.value[above], shares.value[len(A) + above]
        counted = self._counted.some(slice(size))
        limits, limits_below = (
            self._score(one, np.sqrt(v), t, counted.joined(own, disjoint), n)
            for one, v, own in zip((p, q), V[:2], sets[:, None], strict=True)
        )
        low, high = ratio_bounds(p, q, V, limits, limits_below).T
        most = edge_normal(limits, p, np.sqrt(V[0]), alpha)[:, 1]
        high = np.where(high <= 0.0, most / q, high)  # a limit of its own, as of a share
        one = (table["se"].to_numpy()[above] == 0.0) & (V[:2] > 0.0).all(axis=0)  # alike sets
        low, high = np.where(one, p / q, low), np.where(one, p / q, high)
        table[["lower", "upper"]] = np.nan
        table.iloc[above, 2:4] = np.column_stack([np.maximum(low, 0.0), high])
        return table

    # -- tests -------------------------------------------------------------------------------

    def _contrast_df(self, R: Array) -> Array:
        """Degrees of freedom of contrasts, (r, q) -> (r,), by Satterthwaite's rule over domains."""
        if R[:, self._unknown].any():
            raise NotAvailable(
                "a test of a domain that lies in one sampling unit, or in strata of one unit, "
                "which does not show how its shares vary: join domains"
            )
        parts, V = [], self.linear.known().matrix()
        for g in range(len(self.domains.df)):
            at = np.flatnonzero(self._domain_of == g)
            squares = ((R[:, at] @ V[np.ix_(at, at)]) * R[:, at]).sum(axis=1)
            parts.append(np.maximum(squares, 0.0))
        return satterthwaite(np.array(parts), self.domains.df[:, None], self.sample.df)


def _range(values: Any) -> str:
    """The smallest and the largest number without decimals, or one if they are alike."""
    return " to ".join(dict.fromkeys([f"{values.min():,.0f}", f"{values.max():,.0f}"]))


def cell_shares(q: int, m: int, g: int) -> Ratios:
    """Shares of q cells in g domains of m totals each: those of the cells first, of persons last.

    Both are linear forms of the totals, (g q, g m).
    """
    own = np.eye(g)
    return Ratios(np.kron(own, np.eye(m)[:q]), np.kron(own, np.eye(m)[-1:]).repeat(q, axis=0))


# -- Differences of shares, with intervals and p-values -------------------------------------------


def satterthwaite(v: Array, df: Array, most: float) -> Array:
    """Degrees of freedom of sums of variances v on df each, (g, r) and (g, 1 or r) -> (r,).

    At most those of the whole sample, whose units the parts share; one at least, as for intervals.
    """
    # a domain with one unit in each of its strata has none of its own
    with np.errstate(divide="ignore", invalid="ignore"):
        df = v.sum(axis=0) ** 2 / (v**2 / np.maximum(df, 1.0)).sum(axis=0)
    return np.maximum(np.where(np.isnan(df), most, np.minimum(df, most)), 1.0)


def difference_rows(
    pairs: Sequence[tuple[int, int]],
    k: int,
    law: tuple[Array, Array, Limits],
    df_of: Callable[[Codes], Array],
    alpha: float,
) -> pd.DataFrame:
    """Shares of k categories in some of g groups less those in others, with their p-values.

    `law` are the shares, (g k,), their covariance, nan where unknown, and limits; `df_of` pairs of
    places, (2, r), are degrees of freedom.
    """
    # p-values are of the intervals: below alpha where these do not hold zero
    value, V, limits = law
    at = np.array(pairs, dtype=np.int64).reshape(-1, 2, 1) * k + np.arange(k)
    places = at.transpose(1, 0, 2).reshape(2, -1)
    df, parts = df_of(places), paired(V, *places)
    known = ~np.isnan(parts).any(axis=0)
    one, other = places[:, known]
    apart = Differences(
        value[one], value[other], parts[:, known], lambda t: (limits(one, t), limits(other, t))
    )
    found = np.full((places.shape[1], 5), np.nan)
    found[:, 0] = value[places[0]] - value[places[1]]
    if known.any():
        bounds = apart.bounds(critical(df[known], alpha))
        found[known, 1] = apart.se
        found[known, 2:4] = edge_range(bounds, apart.estimate, apart.se, (-1.0, 1.0), alpha)
        found[known, 4] = apart.pvalues(df[known])
    return pd.DataFrame(found, columns=[*ESTIMATES, "pvalue"])


# -- What results hold beside the fit -------------------------------------------------------------


@record
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


@record
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
    # of three variables what is tested of two given each, and whether their odds ratios are alike
    given: tuple[RaoScott | None, ...] | None = field(default=None, metadata={"later": True})
    alike: RaoScott | None = field(default=None, metadata={"later": True})


@record
class Part(Document):
    """Some of the variables of a table, and what its totals do not tell of them."""

    names: tuple[str, ...]
    dependence: Dependence
    epsilon: float
    is_partial: bool
    channel: Array  # as that of `Domains`
