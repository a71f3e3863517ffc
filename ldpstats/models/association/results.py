"""The fitted joint distribution of several privatised variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, listed, numbers, one_of, positive_integer
from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.arguments.labels import labels_from_json, labels_to_json, position
from ldpstats.errors import BoundaryWarning, InvalidArgument, NotAvailable
from ldpstats.inference import intervals, multiplicity
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tables import effects
from ldpstats.inference.tables import wald as tables
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tables.estimated import allow_for_unseen
from ldpstats.inference.tests import TestResult, z_test
from ldpstats.models.association import independence as tests_
from ldpstats.models.association.collapse import collapsed, places
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.given import intervals_given
from ldpstats.models.association.merging import merging
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.score import trend_test
from ldpstats.models.association.tallies import (
    MOST_TALLIES,
    tallies_from_dict,
    tallies_to_dict,
)
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.bar import maybe_bar
from ldpstats.models.shared.fit import Fit, Part
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import (
    estimates_from_dict,
    estimates_to_dict,
    maybe_from_dict,
    maybe_to_dict,
    record,
)
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.simplex import project_simplex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["AssociationResults"]

Array = npt.NDArray[Any]

_PLAIN = (
    "method",
    "settings",
    "cov_type",
    "nobs",
    "n_iter",
    "converged",
    "message",
    "is_complete",
    "n_strata",
    "n_missing",
    "digest",
    "names",
    "others",
    "sources",
)
_LISTS = ("names", "others", "sources")
_NUMBERS = ("llf", "gap", "epsilon", "dispersion", "smallest_expected")
_TESTS = ("independence", "trend")
_INTERVALS = ("default", "wald", "wald-mle")
_ROUNDING = 1e-9  # of frequencies
_FEW = 10.0  # expected reports of a combination below which normal laws are doubtful
_FEW_UNDER_NULL = 2.0  # the same for covariances under the hypothesis


@dataclass(frozen=True, eq=False)
class AssociationResults(FittedResults):
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
    _required = frozenset(
        {*_PLAIN, *_NUMBERS, "fitted", "linear", "labels", "margin_fits", "independence"}
    )

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.sizes))
        return (
            f"AssociationResults({self.method}, {' x '.join(self.names)}: {sizes}, n={self.nobs})"
        )

    # -- estimates -------------------------------------------------------------------------

    @cached_property
    def index(self) -> pd.Index[Any]:
        """One entry per cell, row-major."""
        return pd.MultiIndex.from_product(self.labels, names=self.names)

    @cached_property
    def terms(self) -> pd.Index[Any]:
        """Names of the cells in hypotheses: labels joined by colons."""
        return pd.Index([":".join(map(str, cell)) for cell in self.index])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(len(values) for values in self.labels)

    @property
    def condition(self) -> float:
        """Condition number of the channels of all variables together, the product of theirs."""
        return float(np.prod([fit.condition for fit in self.margin_fits]))

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

    def _table(self, values: Array, name: str) -> Any:
        if len(self.sizes) > 2:
            return pd.Series(values, index=self.index, name=name)
        rows, columns = (
            label.rename(name) for label, name in zip(self.labels, self.names, strict=True)
        )
        return pd.DataFrame(values.reshape(self.sizes), index=rows, columns=columns)

    @property
    def table(self) -> Any:
        """Estimated frequencies of the cells."""
        return self._table(self.fitted.estimate, "params")

    @property
    def linear_table(self) -> Any:
        """Unconstrained estimate of the cells."""
        return self._table(self.linear.estimate, "linear_params")

    @property
    def bse_table(self) -> Any:
        """Standard errors of `table`."""
        self._warn_of_no_errors()
        return self._table(self.fitted.bse(), "bse")

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
        method = one_of("method", method, _INTERVALS)
        which = self.linear
        if method == "wald-mle":
            which = self.fitted
            if self.on_boundary:
                self._warn_boundary(method)
        se = which.every_bse()
        if method == "default" and self.law is not None:
            bounds = self.law.interval(which.estimate, alpha)
            se = self.law.at(which.estimate)[0]  # beyond [0, 1] that at the nearer end
        else:
            bounds = intervals.wald(which.estimate, se, alpha)
        if clip:
            bounds = intervals.edge_normal(bounds, which.estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    def _warn_boundary(self, method: str) -> None:
        import warnings

        warnings.warn(
            f"method={method!r} with an estimate of zero: its coverage is not the nominal one on "
            "the boundary; the default interval keeps its coverage",
            BoundaryWarning,
            stacklevel=3,
        )

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of a frequency of zero, cell by cell."""
        self.linear.every_bse()
        return self._series(self._of_zero(True), "pvalues")

    def _of_zero(self, two_sided: bool) -> Array:
        """p-values of frequencies of zero, from the law that intervals rest on."""
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
        found = {}
        for v, (name, labels, fit) in enumerate(
            zip(self.names, self.labels, self.margin_fits, strict=True)
        ):
            axes = tuple(a for a in range(len(self.sizes)) if a != v)
            own = self.fitted.estimate.reshape(self.sizes).sum(axis=axes)
            frame = fit.summary_frame(alpha)[["linear", "linear_se", "lower", "upper"]]
            if len(labels) == len(frame) + 1:
                frame.loc["Other"] = _rest(fit, alpha)
            frame = frame.iloc[: len(labels)].set_axis(labels.rename(name))
            frame.insert(0, "params", own)
            found[name] = frame
        return found

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
        self._two_ways()
        axis = 0 if on is None else self._variable("on", on)
        unconstrained, lower, upper, unbounded = effects.conditionals(
            self.linear_table, self._spread(alpha), axis, alpha
        )
        if (own := intervals_given(self.evidence, axis, alpha)) is not None:
            lower, upper = own
        fitted = self.fitted.estimate
        if np.any(fitted < 0.0) or abs(fitted.sum() - 1.0) > _ROUNDING:
            fitted = project_simplex(fitted)
        estimate, empty = effects.fitted_conditionals(fitted.reshape(self.sizes), axis)
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
        return frame.swaplevel().iloc[np.arange(self.k).reshape(self.sizes).T.reshape(-1)]

    def _spread(self, alpha: float) -> Covariance:
        """Covariance for conditionals and effects, where cells that were never seen may exist."""
        return allow_for_unseen(self.linear.known(), self.nobs, alpha)

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
        i, j = self._places("rows", 0, rows), self._places("columns", 1, columns)
        found = effects.odds_ratio(self.linear_table, self._spread(alpha), i, j, alpha)
        p = self._maximum
        return effects.beside(found, _quotient(p[i, j].prod(), p[i, j[::-1]].prod()))

    @property
    def _maximum(self) -> Array:
        """The maximum likelihood table, nan where it was not fitted."""
        values = self.fitted.estimate if self.is_maximum else np.full(self.k, np.nan)
        return values.reshape(self.sizes)

    def _risks(self, i: int, i2: int, j: int) -> tuple[float, float]:
        """Maximum likelihood estimates of P(column | row) in two rows."""
        p = self._maximum
        first, second = (_quotient(p[row, j], p[row].sum()) for row in (i, i2))
        return first, second

    @names_alpha
    def risk_difference(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) - P(column | second row), with Fieller's set."""
        i, i2 = self._places("rows", 0, rows)
        j = self._place("column", 1, column)
        found = effects.risk_difference(self.linear_table, self._spread(alpha), i, i2, j, alpha)
        first, second = self._risks(i, i2, j)
        return effects.beside(found, first - second)

    @names_alpha
    def risk_ratio(self, rows: Sequence[Any], column: Any, alpha: float = 0.05) -> Effect:
        """P(column | first row) / P(column | second row), with Fieller's set."""
        i, i2 = self._places("rows", 0, rows)
        j = self._place("column", 1, column)
        found = effects.risk_ratio(self.linear_table, self._spread(alpha), i, i2, j, alpha)
        return effects.beside(found, _quotient(*self._risks(i, i2, j)))

    @names_alpha
    def cramers_v(self, alpha: float = 0.05) -> Effect:
        """Cramer's V, freed of the bias that the noise gives it.

        Where a margin does not exceed four standard errors it has bounds only, which hold for the
        table in which weak categories are merged: see `inference.effects.cramers_v`.
        """
        self._two_ways()
        found = effects.cramers_v(self.linear_table, self.linear.known(), alpha)
        if not self.is_maximum:
            return found
        return effects.beside(found, effects.fitted_cramers_v(self._maximum))

    def departures(self) -> Any:
        """Departures from independence, p_ij - r_i c_j, in standard errors: a table of z values."""
        self._two_ways()
        departure, se = effects.departures(self.linear_table, self.linear.known())
        return self._table(_z_values(departure, se).reshape(-1), "z")

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
        p = self._of_zero(False)
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
        method = tests_.check_options(method, rng, n_permutations, n_boot)
        progress = boolean("progress", progress)
        asked = model is not None or rng is not None
        if rng is not None and model is None:
            raise NotAvailable(
                "rng= permutes or redraws reports, and results hold none: use "
                "model.test_independence(results, rng=...), or pass model=model"
            )
        if method == "score" and not asked and self.independence is not None:
            return self.independence  # made by the fit
        evidence = self._evidence(model)
        if method == "wald" and self._sums_to_one and len(self.sizes) == 2:
            return self._wald()
        plain = self.is_maximum and self.converged and not self.settings
        if evidence is None and method == "lr" and plain and not np.isnan(self.null_llf):
            gain = max(2.0 * (self.llf - self.null_llf), 0.0)
            return tests_.likelihood_ratio_test(self.names, self.sizes, gain, self.on_boundary)
        if evidence is None:
            raise _without_reports("use method='score'")
        fitted = self.fitted.estimate if plain else None
        with maybe_bar(f"{method} test", progress) as advance:
            return tests_.test_independence(
                evidence, method, fitted, self.on_boundary, rng, n_permutations, n_boot, advance
            )

    @property
    def _sums_to_one(self) -> bool:
        return bool(abs(self.linear.estimate.sum() - 1.0) <= _ROUNDING)

    def _wald(self) -> TestResult:
        """On the unconstrained estimate, whose total is one."""
        P = self.linear.estimate.reshape(self.sizes)
        how = "Wald test on the unconstrained joint estimate"
        return tests_.wald_test(self.names, P, self.linear.known(), self.smallest_expected, how)

    def test_conditional_independence(self, given: str, model: Any = None) -> TestResult:
        """Test that two variables are independent given the third (on three-way tables).

        The functions p_ijk p_..k - p_i.k p_.jk of the unconstrained estimate are compared with
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
        p, V, (first, second) = self._by_last("given", given)
        method, enough = "Wald test on the unconstrained estimate", _FEW
        evidence = self._evidence(model)
        if evidence is not None:
            under_null = tests_.conditional_covariance(evidence, self.names.index(given))
            if under_null is not None:
                V = under_null.scaled(self.dispersion)
                V = V.take(self._cells_by_last(given).reshape(-1))
                method, enough = "score test on the unconstrained estimate", _FEW_UNDER_NULL
        statistic, df, note = tables.conditional_independence(p, V)
        if self.smallest_expected < enough:
            few = (
                f"the smallest expected count of a combination is {self.smallest_expected:.2g}: "
                f"below about {enough:g} the test rejects too often"
            )
            note = "; ".join(filter(None, (note, few)))
        null = f"{first} and {second} are independent given {given}"
        return TestResult.chi_square(null, statistic, df, method, note)

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
        p, V, (first, second) = self._by_last("by", by)
        statistic, df = tables.homogeneity(p, V)
        null = f"the odds ratios of {first} and {second} are the same for every {by}"
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
        self._two_ways()
        evidence = self._evidence(model)
        given = (("row_scores", row_scores), ("column_scores", column_scores))
        scores = [_scores(*pair, size) for pair, size in zip(given, self.sizes, strict=True)]
        if evidence is not None:
            return trend_test(evidence, *scores)
        usual = all(np.array_equal(own, _scores("", None, own.size)) for own in scores)
        if self.trend is None or not usual:
            raise _without_reports("leave out the scores")
        return self.trend

    def _evidence(self, model: Any) -> Evidence | None:
        """The reports of the model that is given, else the tallies that the results carry."""
        if model is None:
            return self.evidence
        evidence = getattr(model, "evidence", None)
        if not isinstance(evidence, Evidence):  # what a caller passes may be anything
            raise InvalidArgument("model", model, "must be the AssociationModel that was fitted")
        if (evidence.digest, evidence.names) != (self.digest, self.names):
            raise InvalidArgument("model", model, "has other data than the results")
        return evidence

    def _by_last(self, name: str, variable: str) -> tuple[Array, Covariance, list[str]]:
        """The unconstrained three-way estimate with one variable moved to the last axis."""
        if len(self.sizes) != 3:
            raise NotAvailable(f"the test is for three variables; there are {len(self.sizes)}")
        last = self._variable(name, variable)
        others = [other for v, other in enumerate(self.names) if v != last]
        cells = self._cells_by_last(variable)
        V = self.linear.known().take(cells.reshape(-1))
        return self.linear.estimate[cells], V, others

    def _cells_by_last(self, variable: str) -> Array:
        """Numbers of the cells, shape (k1, k2, k3), with one variable moved to the last axis."""
        cells = np.arange(self.k).reshape(self.sizes)
        return np.moveaxis(cells, self.names.index(variable), -1)

    def _two_ways(self) -> None:
        if len(self.sizes) != 2:
            raise NotAvailable(
                f"this is for two variables; there are {len(self.sizes)}: fit a model of two, or "
                f"take two of these by collapse({list(self.names[:2])})"
            )

    def _variable(self, name: str, variable: str) -> int:
        return self.names.index(one_of(name, variable, self.names))

    def _places(self, name: str, axis: int, labels: Any) -> list[int]:
        """The positions of two categories."""
        remedy = "must be two different labels"
        places = [self._place(name, axis, label) for label in listed(name, labels, remedy)]
        if len(places) != 2 or places[0] == places[1]:
            raise InvalidArgument(name, labels, remedy)
        return places

    def _place(self, name: str, axis: int, label: Any) -> int:
        self._two_ways()
        known = self.labels[axis]
        return position(name, label, known, f"is no category of {self.names[axis]}: {list(known)}")

    # -- presentation ------------------------------------------------------------------------

    def _tidy(self, alpha: float) -> pd.DataFrame:
        computed = not np.isnan(self.linear.bse()).any()
        return super()._tidy(alpha).assign(p_value=self._of_zero(False) if computed else np.nan)

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

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The fit as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Cells to show; the largest estimates come first where there are more.
        details : bool
            Whether to show the covariance, the log-likelihood, AIC and BIC, and how the estimator
            ended too, and the unconstrained estimate in any case.
        """
        from ldpstats.models.association.summary import association_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        details = boolean("details", details)
        table = association_summary(
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
        return table.layout()

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
        from ldpstats.models.association.plots import plot_heat_map
        from ldpstats.models.shared.axes import title_text

        kind = one_of("kind", kind, ("heatmap", "departures", "mosaic"))
        self._two_ways()
        bounds = self.conf_int(level(alpha))
        words = title_text(title, f"{self.names[0]} and {self.names[1]}, n = {self.nobs:,}")
        if kind == "mosaic":
            return self._plot_mosaic(bounds, ax, alpha, words)
        low, high = (self._table(bounds[end].to_numpy(), end) for end in ("lower", "upper"))
        z = self.departures() if kind == "departures" else None
        return plot_heat_map(self.table, low, high, ax, words, z)

    def _plot_mosaic(self, bounds: pd.DataFrame, ax: Axes | None, alpha: float, title: str) -> Axes:
        from ldpstats.models.association.plots import plot_mosaic

        merged = merging(self._drawable())
        linear, V = merged.sums(self.linear.estimate), self.linear.known().merged(merged.cells)
        normal = intervals.wald(linear.to_numpy().ravel(), np.sqrt(V.variances()), alpha)
        low, high = (
            merged.chosen(bounds[end].to_numpy(), normal[:, side]).reshape(linear.shape)
            for side, end in enumerate(("lower", "upper"))
        )
        ends = effects.conditionals(linear, V, 0, alpha, cumulative=True)
        cut = [end[:, :-1] for end in ends[1:3]]
        z = _z_values(*effects.departures(linear, V))
        return plot_mosaic(merged.sums(self.fitted.estimate), low, high, ax, title, z, *cut)

    def _drawable(self) -> Any:
        if np.any(self.fitted.estimate < 0.0):
            raise NotAvailable(
                f"a mosaic has no tiles for negative estimates of {self.method!r}: fit 'mle'"
            )
        return self.table

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        document: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        document |= {name: number_to_json(getattr(self, name)) for name in _NUMBERS}
        document |= {name: list(document[name]) for name in _LISTS}
        document |= estimates_to_dict(self.fitted, self.linear)
        document["labels"] = [labels_to_json(values) for values in self.labels]
        document["margin_fits"] = [fit.to_dict() for fit in self.margin_fits]
        for name, test in zip(_TESTS, (self.independence, self.trend), strict=True):
            document[name] = maybe_to_dict(test)
        document["law"] = maybe_to_dict(self.law)
        document["null_llf"] = number_to_json(self.null_llf)
        document["lacking"] = list(self.lacking)
        document["unprotected"] = list(self.unprotected)
        document["tallies"] = tallies_to_dict(self.evidence)
        return document

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> AssociationResults:
        d = document
        given = {name: d[name] for name in _PLAIN}
        given |= {name: tuple(d[name]) for name in _LISTS}
        given |= {name: number_from_json(d[name]) for name in _NUMBERS}
        given |= estimates_from_dict(d)
        given["labels"] = tuple(labels_from_json("labels", values) for values in d["labels"])
        given["margin_fits"] = tuple(FrequencyResults.from_dict(fit) for fit in d["margin_fits"])
        given["is_partial"] = any(fit.fit.is_partial for fit in given["margin_fits"])
        cells = int(np.prod([len(values) for values in given["labels"]]))
        if given["fitted"].estimate.size != cells or given["linear"].estimate.size != cells:
            raise InvalidArgument("labels", d["labels"], "do not match the number of estimates")
        # early documents have no law, trend, null_llf, tallies, lacking and unprotected
        given["unprotected"] = tuple(d.get("unprotected", []))
        if not set(given["unprotected"]) <= set(given["names"]):
            raise InvalidArgument("unprotected", d["unprotected"], "must be names of variables")
        given["lacking"] = _lacking(d.get("lacking", []), given["n_missing"], given["names"])
        law = given["law"] = maybe_from_dict(CellLaw, d.get("law"))
        if law is not None and law.step.size != cells:
            raise InvalidArgument("law", law.step.size, f"must be of {cells} cells")
        given |= {name: maybe_from_dict(TestResult, d.get(name)) for name in _TESTS}
        given["null_llf"] = number_from_json(d.get("null_llf", "nan"))
        kept = (given[name] for name in ("names", "labels", "others", "digest"))
        given["evidence"] = tallies_from_dict(d.get("tallies"), *kept)
        fit, variables = record(Fit, given), record(Variables, given)
        return cls(fit, variables, record(Cells, given), record(Tests, given))


def _without_reports(otherwise: str) -> NotAvailable:
    """The error of a test that needs reports which the results do not carry."""
    return NotAvailable(
        "results hold no reports, and carry tallies only where at most "
        f"{MOST_TALLIES:,} combinations are possible (read from JSON, not over candidates): pass "
        f"model=model, the fitted model, or {otherwise}"
    )


def _z_values(departure: Array, se: Array) -> Array:
    """Departures in standard errors; zero where there is nothing to vary."""
    return np.asarray(np.divide(departure, se, out=np.zeros_like(se), where=se > 0.0))


def _lacking(document: Any, n_missing: int, names: Sequence[str]) -> tuple[int, ...]:
    """How many respondents lacked each variable, as a document says."""
    found = tuple(positive_integer("lacking", size, 0) for size in document)
    if found and not (len(found) == len(names) and max(found) <= n_missing <= sum(found)):
        remedy = f"must be {len(names)} numbers up to n_missing, whose sum is at least that"
        raise InvalidArgument("lacking", document, remedy)
    return found


def _quotient(numerator: float, denominator: float) -> float:
    """Ratio of two frequencies: infinite over zero, and nan for nothing over nothing."""
    if denominator > 0.0:
        return float(numerator / denominator)
    return float("inf") if numerator > 0.0 else float("nan")


def _rest(fit: FrequencyResults, alpha: float) -> list[float]:
    """Estimate, standard error and interval of the answers that are not among the candidates."""
    assert fit.unexplained is not None
    return [fit.unexplained.estimate, fit.unexplained.bse, *fit.unexplained.conf_int(alpha)]


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
