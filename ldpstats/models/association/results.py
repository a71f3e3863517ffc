"""The fitted joint distribution of several privatised variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of
from ldpstats.errors import NotAvailable
from ldpstats.inference import multiplicity
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tests import TestResult
from ldpstats.models.association import held_tests
from ldpstats.models.association.collapse import collapsed, places
from ldpstats.models.association.document import REQUIRED, from_document, to_document
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.given import conditional_frame
from ldpstats.models.association.independence import check_options
from ldpstats.models.association.intervals import METHODS, cell_intervals, zero_pvalues
from ldpstats.models.association.margins import margin_frames
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.three_way import ThreeWay
from ldpstats.models.association.two_way import TwoWay, z_values
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.bar import maybe_bar
from ldpstats.models.shared.boundary import warn_of_method
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.presentation import Summarised
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import SummaryTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AssociationResults"]


@dataclass(frozen=True, eq=False)
class AssociationResults(Summarised, FittedResults):
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
    table : DataFrame, or Series with a MultiIndex for three or more variables
        Estimated frequencies of the cells; the first variable in rows, no margins.
    linear_table : the same
        The unconstrained estimate, unbiased to first order; it may leave [0, 1].
    names : tuple of str
        Names of the variables.
    labels : tuple of Index
        Categories of each variable.
    nobs, n_missing : int
        Respondents, and those who were left out because a report was missing.
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
        Log-likelihood at `params` in nats, and its certificate: no other p gains more than
        `gap_nats` nats, or `gap` per respondent; nan for estimates that maximise no likelihood.
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

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    margins, collapse, conditional, odds_ratio, risk_difference, risk_ratio, cramers_v
        Margins, tables of some of the variables, conditional frequencies and effects, with their
        intervals.
    test_independence, test_conditional_independence, test_homogeneity, test_trend
        Tests of the whole table; `detected`, `t_test` and `wald_test` are about cells.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

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

    variables: Variables
    cells: Cells
    tests: Tests

    names = Part[tuple[str, ...]]("variables", "Names of the variables.")
    labels = Part[tuple["pd.Index[Any]", ...]]("variables", "Categories of each variable.")
    others = Part[tuple[str, ...]]("variables", "How answers that are not listed are treated.")
    margin_fits = Part[tuple[FrequencyResults, ...]]("variables", "Each variable's own fit.")
    is_complete = Part[bool]("variables", "Whether all answers are among the categories.")
    lacking = Part[tuple[int, ...]]("variables", "How many respondents lacked each variable.")
    unprotected = Part[tuple[str, ...]]("variables", "Variables answered without privacy.")
    n_strata = Part[int]("cells", "Strata of respondents within which tests compare them.")
    dispersion = Part[float]("cells", "How far answers beyond the candidates inflate variance.")
    smallest_expected = Part[float]("cells", "Smallest expected count of a pair of reports.")
    law = Part[CellLaw | None]("cells", "Variance and skewness of each cell, as it varies.")
    digest = Part[str]("tests", "Digest of the reports, by which a model is recognised.")
    independence = Part[TestResult | None]("tests", "The score test of independence.")
    trend = Part[TestResult | None]("tests", "The test for a trend, where `evidence` is None.")
    null_llf = Part[float]("tests", "Log-likelihood under independence, where it is needed.")
    evidence = Part[Evidence | None]("tests", "Tallies of the reports, where they are few.")

    _format = "ldpstats-association-results"
    _required = REQUIRED

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.sizes))
        return (
            f"AssociationResults({self.method}, {' x '.join(self.names)}: {sizes}, n={self.nobs})"
        )

    # -- estimates -------------------------------------------------------------------------

    @cached_property
    def index(self) -> pd.Index[Any]:
        """One entry per cell, row-major."""
        return self.variables.cells

    @cached_property
    def terms(self) -> pd.Index[Any]:
        """Names of the cells in hypotheses: labels joined by colons."""
        return pd.Index([":".join(map(str, cell)) for cell in self.index])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return self.variables.sizes

    @property
    def condition(self) -> float:
        """Condition number of the channels of all variables together, the product of theirs."""
        return float(np.prod([fit.condition for fit in self.margin_fits]))

    @property
    def is_doubtful(self) -> bool:
        """Whether the reports of a variable say that answers are missing from its categories."""
        return self.variables.are_doubtful

    @property
    def table(self) -> Any:
        """Estimated frequencies of the cells."""
        return self.variables.table(self.fitted.estimate, "params")

    @property
    def linear_table(self) -> Any:
        """Unconstrained estimate of the cells."""
        return self.variables.table(self.linear.estimate, "linear_params")

    @property
    def bse_table(self) -> Any:
        """Standard errors of `table`."""
        self._warn_of_no_errors()
        return self.variables.table(self.fitted.bse(), "bse")

    @names_alpha
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
        method = one_of("method", method, METHODS)
        if method == "wald-mle":
            warn_of_method(method, self.on_boundary)
        bounds = cell_intervals(self.fit, self.law, alpha, method, clip)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of a frequency of zero, cell by cell."""
        self.linear.every_bse()
        return self._series(zero_pvalues(self.linear, self.law, True), "pvalues")

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

    @names_alpha
    def margins(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """The distribution of each variable alone.

        Returns
        -------
        dict of DataFrame, one row per category
            "params" (sums of the joint estimate), "linear", "linear_se" and the interval "lower",
            "upper" of the variable's own reports: exact where they allow, see
            `FrequencyResults.conf_int`.
        """
        return margin_frames(self.variables, self.fitted.estimate, alpha)

    @names_alpha
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
        two_way = self._two_way
        axis = 0 if on is None else self.variables.place("on", on)
        return conditional_frame(two_way, self.evidence, axis, alpha)

    @property
    def _two_way(self) -> TwoWay:
        return TwoWay.of(self.fit, self.variables)

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
        keep = places([names, *more] if isinstance(names, str) or more else names, self.names)
        made = collapsed(keep, self.fit, self.variables, self.cells, self.tests)
        return AssociationResults(*made)

    # -- effects -----------------------------------------------------------------------------

    @names_alpha
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
        return self._two_way.odds_ratio(rows, columns, alpha)

    @names_alpha
    def risk_difference(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) - P(column | second row), with Fieller's set."""
        return self._two_way.risk_difference(rows, column, alpha)

    @names_alpha
    def risk_ratio(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) / P(column | second row), with Fieller's set."""
        return self._two_way.risk_ratio(rows, column, alpha)

    @names_alpha
    def cramers_v(self, alpha: float = 0.05) -> Effect:
        """Cramer's V, freed of the bias that the noise gives it.

        The lower end of its interval is above 0 exactly where `test_independence()` rejects at
        level `alpha`. Where a margin of a table larger than 2 x 2 does not exceed four standard
        errors, the upper end is a bound by the table in which weak categories are merged: see
        `inference.tables.cramer.cramers_v`.
        """
        return self._two_way.cramers_v(alpha, self.independence)

    def departures(self) -> Any:
        """Departures from independence, p_ij - r_i c_j, in standard errors: a table of z values."""
        z = z_values(*self._two_way.departures())
        return self.variables.table(z.reshape(-1), "z")

    # -- tests -------------------------------------------------------------------------------

    @names_alpha
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
        p = zero_pvalues(self.linear, self.law, False)
        return self.index[np.asarray(multiplicity.reject(p, level(alpha), method))]

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
        held = self.fit, self.variables, self.cells, self.tests
        with maybe_bar(f"{method} test", progress) as advance:
            return held_tests.independence(
                held, model, method, rng, n_permutations, n_boot, advance
            )

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
        three_way = ThreeWay.of("given", given, self.fit, self.variables)
        evidence = held_tests.evidence_of(model, self.variables, self.tests)
        return three_way.conditional_independence(evidence, self.cells)

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
        return ThreeWay.of("by", by, self.fit, self.variables).homogeneity()

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
        two_way = self._two_way
        scores = ("row_scores", row_scores), ("column_scores", column_scores)
        return held_tests.trend(two_way.variables, self.tests, model, scores)

    # -- presentation ------------------------------------------------------------------------

    def _tidy(self, alpha: float) -> pd.DataFrame:
        computed = not np.isnan(self.linear.bse()).any()
        p = zero_pvalues(self.linear, self.law, False) if computed else np.nan
        return super()._tidy(alpha).assign(p_value=p)

    @property
    def _subject(self) -> str:
        return " x ".join(self.names)

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self.name or self._subject}

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the cells.

        Returns
        -------
        DataFrame, one row per cell
            "params", "bse", "linear", "linear_se", "lower", "upper"; nan where no standard errors
            were computed.
        """
        return self._estimates_frame(alpha)

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        from ldpstats.models.association.summary import association_summary

        return association_summary(
            self.fit,
            self.variables,
            self.cells,
            self.independence,
            frame=self.summary_frame(alpha),
            reports=None if self.law is None else self.effective_reports,
            condition=self.condition,
            is_doubtful=self.is_doubtful,
            alpha=alpha,
            max_rows=max_rows,
            details=details,
        )

    @names_alpha
    def plot(
        self,
        kind: str = "heatmap",
        ax: Axes | None = None,
        alpha: float = 0.05,
        title: str | None = None,
    ) -> Axes:
        """Draw the table with its uncertainty.

        Parameters
        ----------
        kind : {"heatmap", "departures", "mosaic"}
            Cells with their intervals; departures from independence in standard errors; or tiles
            whose area is the frequency, coloured by these departures. A mosaic draws categories
            that would be too thin to read together, as "other (n)".
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        title : str, optional
            "" for none; by default the variables and the number of respondents.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidArgument
            If `kind`, `ax`, `alpha` or `title` is invalid.
        NotAvailable
            For more than two variables, and for a mosaic of negative estimates.
        """
        from ldpstats.models.association.figures import draw

        kind = one_of("kind", kind, ("heatmap", "departures", "mosaic"))
        two_way = self._two_way
        return draw(two_way, kind, self.conf_int(level(alpha)), ax, alpha, title)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return to_document(self.fit, self.variables, self.cells, self.tests)

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> AssociationResults:
        return cls(*from_document(document))
