"""The fitted joint distribution of several privatised variables.

A test rests on the first of these that is there: a test that the fit made, the unconstrained
estimate, the reports of a model that is passed, tallies of the reports.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, level, listed, numbers, one_of, record
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference import intervals
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tables import effects
from ldpstats.inference.tables import independence as tables
from ldpstats.inference.tables.permutation import permutation_pvalue
from ldpstats.inference.tables.ratio import Effect, beside
from ldpstats.inference.tails import CellLaw
from ldpstats.inference.tests import TestResult, pvalue_text, z_test
from ldpstats.labels import Labels, position, two_positions
from ldpstats.likelihood.covariance import Covariance, Uncertain, project_simplex
from ldpstats.likelihood.rows import Solution
from ldpstats.mechanisms.base import joint_epsilon
from ldpstats.models.association.evidence import (
    MOST_TALLIES,
    Evidence,
    Tallies,
    cell_law,
    check_options,
    covariance_of,
    dispersion,
    likelihood_ratio,
    likelihood_ratio_test,
    maximum,
    mutual_df,
    null_hypothesis,
    pearson_test,
    rests_on,
    score_test,
    simulated,
    smallest_expected,
    trend_test,
    unconstrained,
    wald_test,
    z_values,
)
from ldpstats.models.association.groups import JointGroup
from ldpstats.models.frequency.intervals import LARGEST_INFORMATION
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.layout import (
    DOUBTFUL,
    LONGEST_LABEL,
    Body,
    Frame,
    Heading,
    Pair,
    closing_notes,
    distinct_lines,
    estimator_text,
    in_turn,
    one_line,
    outcome_notes,
    resolution_notes,
)
from ldpstats.models.plots import maybe_bar, title_text
from ldpstats.models.results import JointTable, Results, missing_notes, warn_of_method
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-9  # of frequencies
_FEW = 10.0  # reports of a cell or combination below which normal laws are doubtful
_FEW_UNDER_NULL = 2.0  # the same for covariances under the hypothesis
_ROOM = 60  # characters of the labels of a cell together
_NAMED = 3  # cells that a note names
_SURVEYS = 199  # that a bootstrap simulates
_LEVELS = 1e-300, 1.0 - 1e-9  # least and largest level of a test


@record
class TableResults(JointTable, Results):
    """Estimated joint distribution of several variables: its cells, effects of two, and plots."""

    names: tuple[str, ...]
    labels: tuple[pd.Index[Any], ...]
    lacking: tuple[int, ...]
    unprotected: tuple[str, ...]

    @cached_property
    def index(self) -> Labels:
        """One entry per cell, row-major."""
        return pd.MultiIndex.from_product(self.labels, names=self.names)

    @property
    def table(self) -> Any:
        """Estimated frequencies of the cells."""
        return self._table(self.fitted.estimate, "params")

    @property
    def linear_table(self) -> Any:
        """Unconstrained estimate of the cells."""
        return self._table(self.linear.estimate, "linear_params")

    # -- effects -----------------------------------------------------------------------------

    def odds_ratio(
        self, rows: Sequence[Any], columns: Sequence[Any], alpha: float = 0.05
    ) -> Effect:
        """Odds of the first of two `columns` against the second, in the first row over the second.

        Where each of the four cells exceeds four standard errors it has a Wald interval, elsewhere
        a profile set, which may be [x, inf] or [0, x].

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
        >>> results = ldp.AssociationModel(counts).fit()
        >>> effect = results.odds_ratio(("no", "yes"), ("no", "yes"))
        >>> round(effect.estimate, 2), round(effect.lower, 2), round(effect.upper, 2)
        (28.92, 13.68, 61.12)
        """
        self._refuse_more_than_two()
        i, j = self._places("rows", 0, rows), self._places("columns", 1, columns)
        V, normal = self._spread(alpha), self._normal(alpha)
        effect = replace(effects.odds_ratio(self.linear_table, V, i, j, normal), alpha=alpha)
        p = self._maximum
        return beside(effect, _quotient(p[i, j].prod(), p[i, j[::-1]].prod()))

    def risk_difference(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) - P(column | second row), with Fieller's set."""
        effect, (first, second) = self._risk(effects.risk_difference, rows, column, alpha)
        return beside(effect, first - second)

    def risk_ratio(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) / P(column | second row), with Fieller's set."""
        effect, risks = self._risk(effects.risk_ratio, rows, column, alpha)
        return beside(effect, _quotient(*risks))

    def cramers_v(self, alpha: float = 0.05) -> Effect:
        """Cramer's V, freed of the bias that the noise gives it.

        The lower end of its interval is above 0 exactly where `test_independence()` rejects at
        level `alpha`. Where a margin of a table larger than 2 x 2 does not exceed four standard
        errors, the upper end is a bound by the table in which weak categories are merged: see
        `inference.tables.cramer.cramers_v`.
        """
        self._refuse_more_than_two()
        small = self.sizes == (2, 2)  # no table of larger ones gains by unseen cells
        V = self._spread(alpha) if small else self.linear.known()
        test: TestResult | None = self.independence  # type: ignore[attr-defined]  # of both kinds
        p = None if test is None else self._normal(float(np.clip(test.pvalue, *_LEVELS)))
        normal = self._normal(alpha)
        effect = replace(effects.cramers_v(self.linear_table, V, normal, p), alpha=alpha)
        return beside(effect, tables.fitted_cramers_v(self._maximum)) if self.is_maximum else effect

    def departures(self) -> Any:
        """Departures from independence, p_ij - r_i c_j, in standard errors: a table of z values."""
        self._refuse_more_than_two()
        z = z_values(*effects.departures(self.linear_table, self.linear.known()))
        return self._table(z.reshape(-1), "z")

    def _chosen(self, names: Any, more: Sequence[str]) -> list[int]:
        """Places of some of three or more variables, in the order that is asked for."""
        asked: Any = [names, *more] if isinstance(names, str) or more else names
        known = self.names
        remedy = f"must be two or more of {list(known)}, fewer than all, each once"
        chosen = listed("names", asked, remedy)
        chosen = [str.__str__(name) if isinstance(name, str) else name for name in chosen]
        good = all(isinstance(name, str) and name in known for name in chosen)
        if not good or len(set(chosen)) < len(chosen) or not 1 < len(chosen) < len(known):
            if good and len(chosen) == 1:
                remedy += "; margins() has the distribution of one"
            raise InvalidArgument("names", asked, remedy)
        return list(map(known.index, chosen))

    def _of_some(self, keep: Sequence[int]) -> dict[str, Any]:
        """What tables of some of the variables have of these."""
        names = tuple([self.names[v] for v in keep])
        return {
            "names": names,
            "labels": tuple([self.labels[v] for v in keep]),
            "sources": tuple([self.sources[v] for v in keep]),
            "unprotected": tuple([name for name in names if name in self.unprotected]),
            "lacking": (),  # of respondents who lacked a variable that is no longer there, too
        }

    def _given(self, name: str, variable: object) -> int:
        """The place of one of three variables."""
        if len(self.sizes) != 3:
            raise NotAvailable(f"the test is for three variables; there are {len(self.sizes)}")
        return self.names.index(one_of(name, variable, self.names))

    def _refuse_more_than_two(self) -> None:
        """Refuse effects, which are of two variables."""
        if len(self.names) != 2:
            raise NotAvailable(
                f"this is for two variables; there are {len(self.names)}: fit a model of two, or "
                f"take two of these by collapse({list(self.names[:2])})"
            )

    def _spread(self, alpha: float) -> Covariance:
        """Covariance for effects, where cells that were never seen may exist."""
        return self.linear.known()

    def _normal(self, alpha: float) -> float:
        """The level whose normal quantile intervals of level alpha take."""
        return alpha

    @abstractmethod
    def conditional(self, on: str | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one."""

    @property
    def _maximum(self) -> Array:
        """The maximum likelihood table, (k1, k2), nan where it was not fitted."""
        estimate = self.fitted.estimate
        return (estimate if self.is_maximum else np.full(estimate.size, np.nan)).reshape(self.sizes)

    def _places(self, name: str, axis: int, labels: Any) -> Any:
        """Places of two `rows` or `columns`, or of one label, among those of the variable."""
        known = self.labels[axis]
        remedy = f"is no category of {self.names[axis]}: {list(known)}"
        find = two_positions if name in ("rows", "columns") else position
        return find(name, labels, known, remedy)

    def _risk(
        self, compare: Callable[..., Effect], rows: Any, column: Any, alpha: float
    ) -> tuple[Effect, tuple[float, float]]:
        """A comparison of P(column | row) in two rows, with its maximum likelihood estimates."""
        self._refuse_more_than_two()
        (i, i2), j = self._places("rows", 0, rows), self._places("column", 1, column)
        V, normal = self._spread(alpha), self._normal(alpha)
        effect = replace(compare(self.linear_table, V, i, i2, j, normal), alpha=alpha)
        p = self._maximum
        return effect, (_quotient(p[i, j], p[i].sum()), _quotient(p[i2, j], p[i2].sum()))

    def _axis(self, on: str | None) -> int:
        """The place of the variable in a condition; the first by default."""
        return 0 if on is None else self.names.index(one_of("on", on, self.names))

    # -- presentation ------------------------------------------------------------------------

    def __repr__(self) -> str:
        kind, sizes = type(self).__name__, " x ".join(map(str, self.sizes))
        return f"{kind}({self.method}, {self._subject}: {sizes}, n={self.nobs})"

    @property
    def _subject(self) -> str:
        return " x ".join(self.names)

    def _heading(self) -> Heading:
        sources = zip(self.names, self.sources, strict=True)
        left: list[Pair] = [(f"{one_line(name, 20)}:", source) for name, source in sources]
        left.append(("Estimator:", estimator_text(self)))
        right: list[Pair] = [("No. Respondents:", self.nobs), ("Missing:", self.n_missing)]
        right.append(("Epsilon, all (nats):", self.epsilon))
        return f"Joint distribution of {names_in_turn(self.names)}", left, right

    def _not_protected(self) -> list[Pair]:
        names = one_line(", ".join(self.unprotected), 40)
        return [("Not protected:", names)] * bool(self.unprotected)

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self.name or self._subject}

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        """Names of the cells, of which no two are alike."""
        heads, _, cells = super()._body(shown, heads, cells)
        levels, longest, columns = [], [], []
        for v in range(shown.index.nlevels):
            levels.append(list(dict.fromkeys(shown.index.get_level_values(v))))
            longest.append(max(map(len, map(str, levels[-1]))))
        for own, width in zip(levels, longest, strict=True):
            # short labels of the other variables leave more room
            room = max(_ROOM // len(levels), _ROOM - (sum(longest) - width))
            columns.append(dict(zip(own, distinct_lines(own, room), strict=True)))
        stubs = [" : ".join(map(dict.__getitem__, columns, cell)) for cell in shown.index]
        return heads, stubs, cells

    def _interval_notes(self, *of: Any) -> list[str]:
        missing = missing_notes(self.nobs, self.n_missing, self.names, self.lacking)
        return [*missing, *super()._interval_notes(*of)]

    def plot(  # type: ignore[override]  # another kind of plot
        self,
        kind: str = "heatmap",
        ax: Axes | None = None,
        alpha: float = 0.05,
        title: str | None = None,
        *,
        on: str | None = None,
        panels: bool = False,
    ) -> Any:
        """Draw the table with its uncertainty.

        Parameters
        ----------
        kind : {"heatmap", "departures", "mosaic", "conditional"}
            Cells with their intervals; departures from independence in standard errors; tiles whose
            area is the frequency, coloured by these departures; or the shares of `conditional` as
            bars with their intervals, of two answers those of the second alone. A mosaic draws
            categories that would be too thin to read together, as "other (n)". Of three variables
            there are heat maps alone, of the first two for each category of the third.
        ax : matplotlib Axes, optional
        alpha, title
            As for `FrequencyResults.plot`.
        on : str, optional
            For "conditional", the variable in the condition; the first by default.
        panels : bool
            For "conditional", whether each condition has axes of its own.

        Returns
        -------
        matplotlib Axes; with `panels`, and of three variables, an array of them

        Raises
        ------
        InvalidArgument
            If `kind`, `ax`, `alpha` or `title` is invalid.
        NotAvailable
            For more variables, other plots of three, and a mosaic of negative estimates.
        """
        from ldpstats.models.association.plots import (
            merging,
            plot_conditional,
            plot_heat_map,
            plot_mosaic,
        )

        kind = one_of("kind", kind, ("heatmap", "departures", "mosaic", "conditional"))
        for name, value in (("on", on), ("panels", boolean("panels", panels) or None)):
            if value is not None and kind != "conditional":
                raise InvalidArgument(name, value, 'goes with kind="conditional"')
        if kind == "heatmap" and len(self.names) == 3:
            return self._heat_maps(ax, level(alpha), title)
        self._refuse_more_than_two()
        if kind == "conditional":
            if panels and ax is not None:
                raise InvalidArgument("ax", ax, "is for one plot: leave it out with panels=True")
            given = self._axis(on)
            names = f"{self.names[1 - given]} given {self.names[given]}, n = {self.nobs:,}"
            frame = self.conditional(on, level(alpha)).rename(columns={"estimate": "params"})
            return plot_conditional(frame, alpha, ax, title_text(title, names), panels)
        bounds = self.conf_int(level(alpha))
        words = title_text(title, f"{self.names[0]} and {self.names[1]}, n = {self.nobs:,}")
        if kind != "mosaic":
            low, high = bounds.to_numpy().T.reshape(2, *self.sizes)
            z = self.departures() if kind == "departures" else None
            return plot_heat_map(self.table, low, high, ax, words, z)
        # categories that are too thin to read are merged, with the intervals of their sums
        if np.any(self.fitted.estimate < 0.0):
            raise NotAvailable(
                f"a mosaic has no tiles for negative estimates of {self.method!r}: fit 'mle'"
            )
        merged = merging(self.table)
        linear, V = merged.sums(self.linear.estimate), self.linear.known().merged(merged.cells)
        size = self._normal(alpha)
        normal = intervals.wald(linear.to_numpy().ravel(), np.sqrt(V.variances()), size)
        low = merged.chosen(bounds["lower"].to_numpy(), normal[:, 0]).reshape(linear.shape)
        _, lower, upper, _ = effects.conditionals(linear, V, 0, size, cumulative=True)
        z, bars = z_values(*effects.departures(linear, V)), (lower[:, :-1], upper[:, :-1])
        return plot_mosaic(merged.sums(self.fitted.estimate), low, z, bars, ax, words)

    def _heat_maps(self, ax: Axes | None, alpha: float, title: str | None) -> Any:
        """Cells of the first two variables, a panel for each category of the third."""
        from ldpstats.models.association.plots import plot_heat_maps

        if ax is not None:
            raise InvalidArgument("ax", ax, "is for two variables: leave it out")
        bounds = self.conf_int(alpha).to_numpy().T.reshape(2, *self.sizes)
        (x, y, z), p = self.names, self.fitted.estimate.reshape(self.sizes)
        axes = [pd.Index(own, name=name) for own, name in zip(self.labels, self.names, strict=True)]
        tables = {
            f"{z} = {label}": (pd.DataFrame(p[..., i], *axes[:2]), *bounds[..., i])
            for i, label in enumerate(axes[2])
        }
        return plot_heat_maps(tables, title_text(title, f"{x}, {y} and {z}, n = {self.nobs:,}"))


@dataclass(frozen=True, eq=False, repr=False)
class AssociationResults(TableResults):
    """Estimated joint distribution of two or more privatised variables.

    `params`, `table`, `bse` and `cov_params` describe the estimator that was asked for. Intervals,
    p-values, effects and Wald tests rest on an unconstrained estimate (`linear_params`,
    `linear_table`, `linear_cov`), because it stays calibrated where a cell is at or near zero; an
    interval need not be centred on `table`. It is "moments-gls", which is "inversion" for labels;
    over candidates, where answers may be missing, it is "inversion"; where reports are bits of
    which all patterns can be listed, up to 16 a variable, it is "one_step", which is more precise,
    unless moments were asked for by name.

    Attributes
    ----------
    names, labels : tuple of str, tuple of Index
        Of the variables, and of the categories of each.
    nobs, n_missing : int
        Respondents whose reports the estimate rests on, and those who were left out because a
        report was missing.
    answered : tuple of pairs (tuple of str, int), or None
        Where some were not asked all of the questions: sets of variables, each with the number of
        respondents who answered exactly these; those who answered all come first.
    lacking : tuple of int
        How many respondents lacked each variable; empty where nobody did or that is not known.
    epsilon : float
        Privacy of all reports of one respondent together, in nats; those on `unprotected` variables
        do not enter it. Infinite if no variable is protected.
    unprotected : tuple of str
        Names of the variables that some respondents answered without privacy (`Observed`).
    dispersion : float
        What the variances of `linear_params` were multiplied by because answers that are not among
        the candidates hash to the same cells; one where there are none.
    smallest_expected : float
        Smallest count of a pair of reports that is expected under independence.
    llf, gap, gap_nats : float
        As of `FrequencyResults`.
    independence : TestResult or None
        The score test of independence; None where a variable does not vary.
    law : CellLaw or None
        Variance and skewness of `linear_params` as polynomials in the frequency of each cell, which
        intervals and p-values rest on; None over candidates and with cohorts.
    trend : TestResult or None
        The test for a trend over categories 1, 2, 3, ..., where `evidence` is None.
    null_llf : float
        Log-likelihood under independence of a maximum likelihood fit, where `evidence` is None.
    evidence : Evidence or None
        Tallies of the reports, where at most 16,384 combinations are possible: the other tests rest
        on them. No more of the reports is kept; `to_dict` has them where all categories are known.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> results = ldp.AssociationModel(counts, names=("smokes", "coughs")).fit()
    >>> results
    AssociationResults(mle, smokes x coughs: 2 x 2, n=1000)
    >>> print(results.test_independence())
    score test on the marginal fits, p-value by the moments of permutations
      H0: smokes and coughs are independent
      statistic 155.2, df 1, p-value 1.175e-35
    """

    others: tuple[str, ...]  # how answers that are not listed are treated
    margin_fits: tuple[FrequencyResults, ...]
    is_complete: bool  # all answers are among the categories
    n_strata: int  # of respondents, within which tests compare them
    dispersion: float
    smallest_expected: float
    digest: str  # of the reports, by which a model is recognised
    law: CellLaw | None = None
    independence: TestResult | None = None
    trend: TestResult | None = None
    null_llf: float = float("nan")
    evidence: Evidence | None = field(default=None, repr=False)
    answered: tuple[tuple[tuple[str, ...], int], ...] | None = field(
        default=None, metadata={"later": True}
    )

    _format = "ldpstats-association-results"
    _document = (
        *("method", "settings", "cov_type", "nobs", "n_iter", "converged", "message"),
        *("is_complete", "n_strata", "n_missing", "digest", "names", "others", "sources"),
        *("llf", "gap", "epsilon", "dispersion", "smallest_expected", "fitted", "linear"),
        *("labels", "margin_fits", "independence", "trend", "law", "null_llf"),
        *("lacking", "unprotected", "tallies", "answered"),
    )

    # -- estimates -------------------------------------------------------------------------

    @property
    def condition(self) -> float:
        """Condition number of the channels of all variables together, the product of theirs."""
        return float(prod(map(attrgetter("condition"), self.margin_fits)))

    @property
    def is_doubtful(self) -> bool:
        """Whether the reports of a variable say that answers are missing from its categories."""
        if self.is_complete:
            return False
        shares = [fit.unexplained for fit in self.margin_fits]
        open_lists = any(s is not None and s.estimate > 2.0 * s.bse for s in shares)
        # of lumped categories the margin has one row more than the table
        pairs = zip(self.margin_fits, self.labels, strict=True)
        rests = [fit.linear for fit, labels in pairs if len(fit.categories) > len(labels)]
        return open_lists or any(rest.estimate[-1] > 2.0 * rest.bse()[-1] for rest in rests)

    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the cells.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald", "wald-mle"}
            "default": all frequencies that the unconstrained estimate does not reject, with the
            variance and the skewness that it has at each (see `law`); where these are not known,
            over candidates and with cohorts, as "wald". "wald": unconstrained estimate plus or
            minus normal quantile times its standard error, which cover too seldom where few reports
            carry a cell. "wald-mle": the same around `params`, which fails at the boundary, and
            warns there.
        clip : bool
            Intersect with [0, 1]. Where nothing or a single point is left, the other end is a limit
            of the CLs kind, so that no interval has the width zero.

        Returns
        -------
        DataFrame, shape (cells, 2)
            Columns "lower" and "upper".
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, ("default", "wald", "wald-mle"))
        if method == "wald-mle":
            warn_of_method(method, self.on_boundary)
        which = self.fitted if method == "wald-mle" else self.linear
        se = which.every_bse()
        if method == "default" and self.law is not None:
            bounds = self.law.interval(which.estimate, alpha)
            se = self.law.at(which.estimate)[0]  # beyond [0, 1] that at the nearer end
        else:
            bounds = intervals.wald(which.estimate, se, alpha)
        if clip:
            bounds = edge_normal(bounds, which.estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of a frequency of zero, cell by cell."""
        self.linear.every_bse()
        return self._series(self._zero_pvalues(two_sided=True), "pvalues")

    def _zero_pvalues(self, two_sided: bool) -> Array:
        """p-values of frequencies of zero, from the law that intervals rest on, shape (k,)."""
        if self.law is not None:
            return self.law.pvalues(self.linear.estimate, 0.0, two_sided)
        side = "two-sided" if two_sided else "larger"
        return z_test(self.linear.estimate, self.linear.bse(), 0.0, side)[1]

    @property
    def effective_reports(self) -> pd.Series[float]:
        """Reports that the estimate of each cell rests on; infinite where it is not skewed.

        A count of so many is as skewed as the estimate is at the cell's own frequency: for labels
        about the number of reports of its combination, true ones and noise.
        """
        if self.law is None:
            raise NotAvailable(
                "the skewness of these estimates is not known: see smallest_expected"
            )
        return self._series(self.law.effective(self.linear.estimate), "effective_reports")

    # -- margins and conditionals ------------------------------------------------------------

    def margins(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """The distribution of each variable alone.

        Returns
        -------
        dict of DataFrame, one row per category
            "params" (sums of the joint estimate), "linear", "linear_se" and the interval "lower",
            "upper" of the variable's own reports: exact where they allow, see
            `FrequencyResults.conf_int`.
        """
        frames, joint = {}, self.fitted.estimate.reshape(self.sizes)
        columns = zip(self.names, self.labels, self.margin_fits, strict=True)
        for v, (name, labels, fit) in enumerate(columns):
            frame = fit.summary_frame(alpha)[["linear", "linear_se", "lower", "upper"]]
            if len(labels) == len(frame) + 1:  # answers that are not among the candidates
                rest = fit.unexplained
                assert rest is not None
                frame.loc["Other"] = [rest.estimate, rest.bse, *rest.conf_int(alpha)]
            frame = frame.iloc[: len(labels)].set_axis(labels.rename(name))
            others = tuple(axis for axis in range(joint.ndim) if axis != v)
            frame.insert(0, "params", joint.sum(axis=others))
            frames[name] = frame
        return frames

    def conditional(self, on: str | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one.

        Where answers are not listed they are conditional on being listed, too.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        alpha : float
            One minus the coverage of the sets.

        Returns
        -------
        DataFrame, one row per cell
            "estimate" of the fitted table, which is the maximum likelihood one unless another was
            asked for (it is projected onto the distributions where it is none); "unconstrained", of
            the unconstrained table, which may leave [0, 1] and is nan where the condition has no
            positive share; "lower" and "upper" of Fieller's set around the latter, cut to [0, 1],
            which covers less than it should where answers are rare (see the summary's warning), or,
            given an `Observed` variable, of each group's own frequencies, which do not;
            "unbounded", which says that the condition is too rare to bound it; and "outside", which
            says that the set does not hold "estimate": the two estimates contradict each other.
            Where the fitted share of the condition is zero, "estimate" is the other variable's own
            distribution, and "unbounded" is True.
        """
        self._refuse_more_than_two()
        axis = self._axis(on)
        unconstrained, lower, upper, unbounded = effects.conditionals(
            self.linear_table, self._spread(alpha), axis, alpha
        )
        evidence = self.evidence
        groups = () if evidence is None else evidence.whole.groups
        if evidence is not None and evidence.is_stored and evidence.is_exact:
            if all(group.counts.mechanisms[axis].unprotected for group in groups):
                # a variable without noise: each group's own frequencies; [0, 1] if nobody is in it
                lower, upper = bounds = np.zeros((2, *self.sizes))
                upper[:] = 1.0
                for category, ends in enumerate(np.moveaxis(bounds, axis + 1, 0)):
                    parts = []
                    for group in groups:
                        given, other = (group.counts.reports[v] for v in (axis, 1 - axis))
                        rows = given.y == category
                        cohort = None if other.cohort is None else other.cohort[rows]
                        n = group.counts.n[rows]
                        parts.append(Counts(other.y[rows], n, other.mechanism, 0, cohort))
                    if any(counts.nobs for counts in parts):
                        fit = FrequencyModel([one for one in parts if one.nobs]).fit_quietly()
                        ends[:] = fit.conf_int(alpha).to_numpy().T
        fitted, sizes = self.fitted.estimate, self.sizes
        if np.any(fitted < 0.0) or abs(fitted.sum() - 1.0) > _ROUNDING:
            fitted = project_simplex(fitted)
        estimate, empty = tables.fitted_conditionals(fitted.reshape(sizes), axis)
        columns = {
            "estimate": estimate,
            "unconstrained": unconstrained,
            "lower": lower,
            "upper": upper,
            "unbounded": unbounded | empty,
            "outside": (estimate < lower - _ROUNDING) | (estimate > upper + _ROUNDING),
        }
        frame = pd.DataFrame({k: v.reshape(-1) for k, v in columns.items()}, index=self.index)
        if axis == 0:
            return frame
        return frame.swaplevel().iloc[np.arange(len(frame)).reshape(sizes).T.reshape(-1)]

    def collapse(self, names: str | Sequence[str], *more: str) -> AssociationResults:
        """The joint distribution of some of three or more variables.

        Cells are summed over the other variables. Intervals and tests are those of a model of these
        variables alone where the results carry tallies of the reports (see `evidence`), over all
        respondents of this fit; otherwise intervals are Wald's, and independence can be tested by
        ``method="wald"`` only.

        Parameters
        ----------
        names, *more : sequence of str, or several str
            Two or more variables, fewer than all, in the order that the table is to have: a list,
            or one by one.

        Raises
        ------
        InvalidArgument
            For names that are no such subset.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> table = [[[90, 50], [40, 60]], [[50, 60], [70, 80]]]
        >>> results = ldp.AssociationModel(ldp.JointCounts.from_table(table, [krr] * 3)).fit()
        >>> results.collapse(["x", "z"]).table.round(3).to_numpy()
        array([[0.271, 0.202],
               [0.229, 0.298]])
        """
        keep, known = self._chosen(names, more), self.names
        chosen = [known[v] for v in keep]

        def some(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple([values[v] for v in keep])

        def summed(estimate: Uncertain) -> Uncertain:
            V = None if estimate.covariance is None else estimate.covariance.merged(group)
            return Uncertain(np.bincount(group, estimate.estimate), V)

        at = np.indices(self.sizes).reshape(len(known), -1)[keep]
        group: Array = np.ravel_multi_index(tuple(at), some(self.sizes))
        linear, margin_fits = summed(self.linear), some(self.margin_fits)
        if self.evidence is None:  # smallest_expected of all variables is smaller
            pairs = zip(chosen, margin_fits, strict=True)
            private = [margin.epsilon for name, margin in pairs if name not in self.unprotected]
            epsilon = float(sum(private)) if private else float("inf")  # at most
            words = f"{self.digest} {tuple(chosen)}".encode()
            digest = hashlib.blake2b(words, digest_size=8).hexdigest()
            made: dict[str, Any] = {"digest": digest, "independence": None}
            made, law = made | {"trend": None, "null_llf": np.nan}, None
        else:
            specs, groups, law = some(self.evidence.specs), [], None
            for own in self.evidence.groups:
                if {*keep} & {*own.asked}:
                    parts = [replace(own.counts.reports[v], n_missing=0) for v in keep]
                    groups.append(JointGroup(JointCounts(parts, own.counts.n).tally(), specs))
            evidence = Evidence(tuple(groups), specs, tuple(chosen))
            if (problem := rests_on(evidence, linear)) is not None:
                V = covariance_of(problem)
                law = cell_law(evidence, problem, V)
                if V is not None:
                    linear = Uncertain(linear.estimate, V.scaled(dispersion(evidence)))
            epsilon = max(joint_epsilon(own.counts.mechanisms) for own in evidence.groups)
            made = made_of(evidence)
        return replace(
            self,
            fitted=summed(self.fitted),
            linear=linear,
            settings="; ".join(
                filter(None, (self.settings, f"summed over {len(known)} variables"))
            ),
            epsilon=epsilon,
            is_partial=any(margin.is_partial for margin in margin_fits),
            llf=float("nan"),
            others=some(self.others),
            margin_fits=margin_fits,
            law=law,
            **self._of_some(keep),
            **made,
        )

    def _spread(self, alpha: float) -> Covariance:
        """Covariance for conditionals and effects, where cells that were never seen may exist."""
        asked_all = self.answered[0][1] if self.answered else self.nobs
        return tables.allow_for_unseen(self.linear.known(), asked_all, alpha)

    # -- tests -------------------------------------------------------------------------------

    def detected(self, alpha: float = 0.05, method: str = "bonferroni") -> pd.Index[Any]:
        """Cells whose frequency is above zero, with control of the errors made over all cells.

        Parameters
        ----------
        alpha : float
            Family-wise error rate ("bonferroni", "holm") or false discovery rate ("bh").
        method : {"bonferroni", "holm", "bh"}
        """
        if np.isnan(self.linear.bse()).any():
            self.linear.known()
        return self._above_zero(self._zero_pvalues(two_sided=False), alpha, method)

    def test_independence(
        self,
        method: str = "score",
        model: Any = None,
        rng: np.random.Generator | None = None,
        n_permutations: int | None = None,
        n_boot: int | None = None,
        progress: bool = False,
    ) -> TestResult:
        """Test that the variables are independent.

        Parameters
        ----------
        method : str
            "score": are the scores of the reports at the marginal fits correlated? It needs no
            joint fit and knows no boundary; for k-RR it is Pearson's chi-square of the privatised
            table. The p-value comes from the exact mean, variance and skewness of the statistic
            when reports are permuted: the chi-square law where counts are large, and calibrated
            on sparse tables, where that law is not. Where the smallest expected count is below 5,
            the p-value is exact if few tables have the margins seen, and by permutation with
            ``rng=`` (``n_permutations=`` asks for permutations anywhere; 999).
            "wald": on the unconstrained joint estimate, over candidates the "one_step" one, where
            it rejects too often if cells with few reports are many. "pearson": on the table of
            reports, for labels without shared cohorts; p-values as for "score". "lr": likelihood
            ratio, conservative at the boundary.
            "bootstrap": its p-value from surveys simulated under independence (``rng=``,
            ``n_boot=199``); the most powerful where the boundary binds. "fpe16": the statistic of
            FPE16 III-D as printed, which loses size and power at the boundary.
        model : AssociationModel, optional
            The fitted model, which has the reports that `rng=` permutes or redraws.
        rng : numpy.random.Generator, optional
            For permutations and simulated surveys.
        n_permutations, n_boot : int, optional
            How many of them.
        progress : bool
            Whether to show how many of them are done, in a bar on standard error.

        Returns
        -------
        TestResult
            For three or more variables, of their mutual independence ("score", "lr", "bootstrap").

        Raises
        ------
        NotAvailable
            Where the method does not apply, and says which does; and where it needs the reports,
            and no model is given.
        """
        method = check_options(method, rng, n_permutations, n_boot)
        progress = boolean("progress", progress)
        asked = model is not None or rng is not None
        if rng is not None and model is None:
            raise NotAvailable(
                "rng= permutes or redraws reports, and results hold none: use "
                "model.test_independence(results, rng=...), or pass model=model"
            )
        if method == "score" and not asked and self.independence is not None:
            return self.independence  # made by the fit
        sizes, names, smallest = self.sizes, self.names, self.smallest_expected
        plain = self.is_maximum and self.converged and not self.settings
        with maybe_bar(f"{method} test", progress) as advance:
            evidence = self._evidence_of(model)
            P = self.linear.estimate
            if method == "wald" and len(sizes) == 2 and abs(P.sum() - 1.0) <= _ROUNDING:
                how = "Wald test on the unconstrained joint estimate"
                return wald_test(names, P.reshape(sizes), self.linear.known, smallest, how)
            if evidence is None and method == "lr" and plain and not np.isnan(self.null_llf):
                gain = max(2.0 * (self.llf - self.null_llf), 0.0)
                return likelihood_ratio_test(names, sizes, gain, self.on_boundary)
            if evidence is None:
                raise _without_reports("use method='score'")
            fitted = self.fitted.estimate if plain else None
            if method == "score":
                return score_test(evidence, rng, n_permutations, advance)
            if method == "lr":
                gain = likelihood_ratio(evidence, fitted)
                return likelihood_ratio_test(names, sizes, gain, self.on_boundary)
            null = null_hypothesis(names)
            if method == "bootstrap" and rng is not None:
                draws = np.empty(_SURVEYS if n_boot is None else int(n_boot))
                gain, independent = likelihood_ratio(evidence, fitted), evidence.null
                for b in range(draws.size):
                    draws[b] = likelihood_ratio(simulated(evidence, independent, rng))
                    advance((b + 1) / draws.size)
                p, df = permutation_pvalue(gain, draws), float(mutual_df(sizes))
                how = "likelihood ratio, p-value by {} surveys simulated under independence"
                return TestResult(null, gain, df, p, how.format(draws.size))
            if len(sizes) != 2:
                raise NotAvailable(
                    f"the test compares two variables, the model has {len(sizes)}: use "
                    "method='score', or a model of two of them"
                )
            if method == "pearson":
                return pearson_test(evidence, rng, n_permutations, advance)
            if method == "fpe16":  # at the maximum likelihood estimate
                if self.k > LARGEST_INFORMATION:
                    raise NotAvailable(
                        f"T of FPE16 needs the information matrix of {self.k} cells: use "
                        "method='score'"
                    )
                best = maximum(evidence).p if fitted is None else fitted
                T = tables.fpe16(best.reshape(sizes), evidence.likelihood.information(best))
                return TestResult.chi_square(null, *T, "statistic T of FPE16 III-D, as printed")
            # over candidates on the dual estimate: the delta method of p - r c' fails for noisy
            # totals
            dual, smallest = evidence.dual_moments, smallest_expected(evidence)
            P, how = dual.estimate()[0].reshape(sizes), "Wald test on the one-step joint estimate"
            return wald_test(names, P, dual.covariance, smallest, how)

    def test_conditional_independence(self, given: str, model: Any = None) -> TestResult:
        """Test that two variables are independent given the third (on three-way tables).

        The functions ``p_ijk p_..k - p_i.k p_.jk`` of the unconstrained estimate are compared with
        their covariance under the hypothesis. For bits, and for labels of which more than 16,384
        combinations are possible unless `model` is given, it is the covariance of the reports as
        seen, which is too small where these are few.

        Parameters
        ----------
        given : str
            Name of the variable in the condition.
        model : AssociationModel, optional
            The fitted model, which has the reports.
        """
        p, V, names, axis, cells = self._three_way("given", given)
        evidence = self._evidence_of(model)
        method, enough = "Wald test on the unconstrained estimate", _FEW
        problem = None if evidence is None else unconstrained(evidence, by_name=True)
        # but of reports that cannot be listed, as of bits
        if problem is not None and all(stratum.listed is not None for stratum in problem.strata):
            P = project_simplex(problem.estimate()[0]).reshape(self.sizes)
            under_null = problem.covariance(tables.independent_given(P, axis).reshape(-1))
            V = under_null.scaled(self.dispersion).take(cells.reshape(-1))
            method, enough = "score test on the unconstrained estimate", _FEW_UNDER_NULL
        statistic, df, note = tables.conditional_independence(p, V)
        if self.smallest_expected < enough:
            few = (
                f"the smallest expected count of a combination is {self.smallest_expected:.2g}: "
                f"below about {enough:g} the test rejects too often"
            )
            note = "; ".join(filter(None, (note, few)))
        null = f"{names[0]} and {names[1]} are independent given {names[2]}"
        return TestResult.chi_square(null, statistic, df, method, note)

    def _three_way(
        self, name: str, variable: object
    ) -> tuple[Array, Covariance, tuple[str, str, str], int, Array]:
        """The unconstrained estimate of three variables, the one that `name` says on the last axis.

        That is: estimate, covariance, names, place of this variable, cells in the order of all.
        """
        axis, sizes = self._given(name, variable), self.sizes
        cells = np.moveaxis(np.arange(np.prod(sizes)).reshape(sizes), axis, -1)
        first, second = (other for v, other in enumerate(self.names) if v != axis)
        V = self.linear.known().take(cells.reshape(-1))
        return self.linear.estimate[cells], V, (first, second, self.names[axis]), axis, cells

    def test_homogeneity(self, by: str) -> TestResult:
        """Test that the odds ratios of two variables are the same at every level of the third.

        Parameters
        ----------
        by : str
            Name of the variable whose levels are compared.

        Raises
        ------
        NotAvailable
            Where cells are too weak for odds ratios.
        """
        p, V, names, _, _ = self._three_way("by", by)
        statistic, df = tables.homogeneity(p, V)
        null = f"the odds ratios of {names[0]} and {names[1]} are the same for every {names[2]}"
        return TestResult.chi_square(null, statistic, df, "Wald test of log odds ratios")

    def test_trend(
        self, row_scores: Any = None, column_scores: Any = None, model: Any = None
    ) -> TestResult:
        """Test for a linear-by-linear trend of ordered categories; one degree of freedom.

        The p-value, two-sided, is that of z^2, with the exact mean, variance and skewness that it
        has when reports are permuted (see `test_independence`).

        Parameters
        ----------
        row_scores, column_scores : array-like, optional
            Scores of the categories of the first and of the second variable; 1, 2, 3, ... in the
            order of their labels by default.
        model : AssociationModel, optional
            The fitted model, which has the reports. It is needed for other scores than 1, 2, 3, ...
            where results carry no tallies: over candidates, or for bits of many patterns.
        """
        self._refuse_more_than_two()
        evidence = self._evidence_of(model)
        u = _scores("row_scores", row_scores, self.sizes[0])
        v = _scores("column_scores", column_scores, self.sizes[1])
        if evidence is not None:
            return trend_test(evidence, u, v)
        usual = all(np.array_equal(own, _scores("", None, own.size)) for own in (u, v))
        if self.trend is None or not usual:
            raise _without_reports("leave out the scores")
        return self.trend

    def _evidence_of(self, model: Any) -> Evidence | None:
        """The reports of the model that is given, else the tallies that the results carry."""
        if model is None:
            return self.evidence
        evidence = getattr(model, "evidence", None)
        if not isinstance(evidence, Evidence):  # what a caller passes may be anything
            raise InvalidArgument("model", model, "must be the AssociationModel that was fitted")
        if (evidence.digest, evidence.names) != (self.digest, self.names):
            raise InvalidArgument("model", model, "has other data than the results")
        return evidence

    # -- presentation ------------------------------------------------------------------------

    def _tidy(self, alpha: float) -> pd.DataFrame:
        computed = not np.isnan(self.linear.bse()).any()
        p = self._zero_pvalues(two_sided=False) if computed else np.nan
        return super()._tidy(alpha).assign(p_value=p)

    def _heading(self) -> Heading:
        name, left, right = super()._heading()
        left += [("Cells:", self.k), *[("Strata:", self.n_strata)] * (self.n_strata > 1)]
        sizes = [("Categories:", size) for size in self.sizes]
        if self.answered:
            right.insert(2, ("Answered all:", self.answered[0][1]))
        return name, left, [*sizes, *right, *self._not_protected()]

    def _interval_words(self) -> tuple[str, str]:
        return "Wald" if self.law is None else "score intervals with skewness", ""

    def _interval_notes(self, *of: Any) -> list[str]:
        notes = super()._interval_notes(*of)
        if not self._has_intervals:
            notes[-1] = (
                f"Standard errors of {self.k} cells at once were not computed: list fewer "
                "categories, with other=True."
            )
        if self.answered:
            (_, n), *rest = self.answered
            fewer = ", ".join(f"{names_in_turn(names)} ({size})" for names, size in rest)
            notes.append(
                f"NOTE: {n} respondents answered all of the questions. Others, whom the design "
                f"asked fewer, answered only {fewer}. Estimates use these answers, too; tests of "
                "independence compare those who answered all."
            )
        return notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        # which cells rest on few reports, at their own frequencies; which exclude the estimate
        notes: list[str] = []
        if self.law is None and self.smallest_expected < _FEW:
            notes.append(
                "WARNING: fewer than ten reports of some combination are expected; intervals "
                "of rare cells cover less often than stated."
            )
        reports = None if self.law is None else self.effective_reports
        if reports is not None and not (few := reports[reports < _FEW]).empty:
            notes.append(
                f"WARNING: {len(few)} of {self.k} cells rest on fewer than ten reports "
                f"({_named(few.sort_values(kind='stable'), '{:.1f}')}). Their intervals allow for "
                "it; conditionals, effects and Wald tests, which rest on normal laws, do not."
            )
        p = frame["params"]
        below, above = frame["lower"] - p, p - frame["upper"]
        outside = p[((below > _ROUNDING) | (above > _ROUNDING)) & p.between(0.0, 1.0)]
        if not outside.empty:
            what = "maximum likelihood estimate" if self.is_maximum else "estimate"
            notes.append(
                f"NOTE: {len(outside)} of {self.k} intervals do not contain the {what} beside them "
                f"({_named(outside, '{:.4g}')}): it obeys bounds that the unconstrained one does "
                "not, and is biased near them."
            )
        # what is assumed of mechanisms, answers that are not listed and strata; independence
        for name, margin in zip(self.names, self.margin_fits, strict=True):
            fine = margin.goodness_of_fit
            if margin.unexplained is None and fine is not None and fine.pvalue < DOUBTFUL:
                notes.append(
                    f"WARNING: the reports of {name} contradict the hypothesis that {fine.null} "
                    f"({fine.method}): {pvalue_text(fine.pvalue, 'p')}."
                )
        if self.dispersion > 1.0:
            notes.append(
                "NOTE: standard errors of the unconstrained estimate are "
                f"{np.sqrt(self.dispersion):.3g} times those from the reports alone, to allow for "
                "answers that are not among the candidates."
            )
        if (test := self.independence) is None:
            notes.append("Independence of all variables was not tested: test pairs of them.")
        else:
            notes += outcome_notes("Independence", test)
        if not self.is_complete:
            words = "are ignored by the estimate, but not by the unconstrained one."
            if not (self.is_maximum or self.method == "one_step"):
                words = "are in no cell, so that the cells need not sum to one."
            notes.append(f"NOTE: answers that are not among the candidates {words}")
        if self.is_doubtful:
            notes.append("WARNING: the reports indicate that such answers exist; use other=True.")
        for name, other in zip(self.names, self.others, strict=True):
            if other in ("product", "fpe16"):
                notes.append(
                    f"NOTE: other answers of {name} are modelled ({other}) as one category, whose "
                    "reports follow one law whatever the values of the other variables."
                )
        if self.n_strata > 1:
            notes.append(
                f"Respondents are in {self.n_strata} strata (shared cohorts, or groups of "
                "mechanisms); tests compare respondents within them."
            )
        if self.on_boundary and self.is_maximum:
            notes.append(
                "NOTE: the estimate is on the boundary (a cell of zero); the intervals do not rest "
                "on it."
            )
        notes += resolution_notes(self, what="cells")
        return notes + closing_notes(self, self.condition)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        tallies = Tallies.of(self.evidence)
        return super()._stored() | {"tallies": None if tallies is None else tallies.to_dict()}

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> AssociationResults:
        made: dict[str, Any] = {"is_partial": any(fit.is_partial for fit in values["margin_fits"])}
        if values["tallies"] is not None:
            own = [values[name] for name in ("names", "labels", "others", "digest")]
            made["evidence"] = Tallies.from_dict(values["tallies"]).evidence(*own)
        return super()._restored(values | made)


# -- Names of cells ------------------------------------------------------------------------------


def names_in_turn(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return in_turn(list(map(one_line, names, repeat(LONGEST_LABEL))), len(names))


def _named(values: pd.Series[float], form: str) -> str:
    """The first few cells and their values, in words."""
    first = values.iloc[:_NAMED]
    cells = [" : ".join(one_line(label, 20) for label in cell) for cell in first.index]
    named = [f"{cell}: {form.format(value)}" for cell, value in zip(cells, first, strict=True)]
    return ", ".join([*named, "..."] if len(values) > _NAMED else named)


# -- How they are found -------------------------------------------------------------------------


def _without_reports(otherwise: str) -> NotAvailable:
    """The error of a test that needs reports which the results do not carry."""
    return NotAvailable(
        "results hold no reports, and carry tallies only where at most "
        f"{MOST_TALLIES:,} combinations are possible (read from JSON, not over candidates): pass "
        f"model=model, the fitted model, or {otherwise}"
    )


def _quotient(numerator: float, denominator: float) -> float:
    """Ratio of two frequencies: infinite over zero, and nan for nothing over nothing."""
    if denominator > 0.0:
        return float(numerator / denominator)
    return float("inf") if numerator > 0.0 else float("nan")


def _scores(name: str, given: Any, size: int) -> Array:
    """Scores of the categories of a variable: those given, else 1, 2, 3, ..."""
    if given is None:
        return np.arange(1.0, size + 1.0)
    scores = numbers(name, given, f"must be {size} scores, one number a category", (size,))
    if not np.isfinite(scores).all() or np.ptp(scores) == 0.0:
        raise InvalidArgument(
            name, given, f"must be {size} finite scores that differ, such as 1, 2, 3"
        )
    return scores


# -- What results hold, made of the evidence, or of results of more variables ---------------------


def made_of(evidence: Evidence, solution: Solution | None = None) -> dict[str, Any]:
    """What results hold of the reports, and the tests that a fit makes.

    Where the tallies are not kept these are those that need them. Without a `solution` they are
    kept, as of results that were collapsed.
    """
    fields: dict[str, Any] = {
        "n_strata": len(evidence.moments.strata),
        "dispersion": dispersion(evidence),
        "smallest_expected": smallest_expected(evidence),
        "digest": evidence.digest,
        "answered": evidence.answered,
        "evidence": evidence if evidence.is_table else None,
    }
    try:
        fields["independence"] = score_test(evidence)
    except (NotIdentified, NotAvailable):  # a variable does not vary
        fields["independence"] = None
    if solution is None or evidence.is_stored:
        return fields | {"trend": None, "null_llf": float("nan")}
    if len(evidence.sizes) == 2:
        with suppress(NotIdentified, NotAvailable):
            fields["trend"] = trend_test(
                evidence, *map(_scores, ("", ""), (None,) * 2, evidence.sizes)
            )
    if not np.isnan(solution.gap):
        fields["null_llf"] = evidence.likelihood.loglike(evidence.null)
    return fields
