"""What a fit returns: estimates, their covariance, and everything that can be asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of
from ldpstats.arguments.labels import position, positions
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import intervals
from ldpstats.inference.tables.ratio import FiellerInterval
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency import absence, contrasts, pairs
from ldpstats.models.frequency import intervals as own_intervals
from ldpstats.models.frequency.answers import Answers, known_answers
from ldpstats.models.frequency.document import REQUIRED, from_document, to_document
from ldpstats.models.frequency.ordered import OrderedAnswers
from ldpstats.models.frequency.record import Checks, Laws
from ldpstats.models.shared.boundary import warn_of_method
from ldpstats.models.shared.categories import CategoryResults
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import SummaryTable
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Unexplained
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.report_law import ReportLaw
from ldpstats.problems.simplex import project_simplex
from ldpstats.problems.tallies import Tallies

if TYPE_CHECKING:
    from ldpstats.inference.quadratic import ReportSums
    from ldpstats.models.shared.contrasts import ContrastLaw

__all__ = ["FrequencyResults"]

Array = npt.NDArray[Any]

_NOISY = 30.0  # condition of a channel above which zeros of the likeliest frequencies mislead


@dataclass(frozen=True, eq=False)
class FrequencyResults(CategoryResults):
    """Estimated frequencies of the categories of one privatised variable.

    `params`, `bse` and `cov_params` describe the estimator that was asked for. `conf_int`,
    `pvalues`, `detected`, `t_test` and `wald_test` rest on the unconstrained linear estimate
    (`linear_params`, `linear_cov`) whatever the estimator was, because it stays calibrated where
    a frequency is at or near zero; an interval need not be centred on `params`.

    Attributes
    ----------
    params : Series, shape (k,)
        Estimated frequencies by category.
    bse : Series, shape (k,)
        Standard errors of `params`.
    linear_params : Series, shape (k,)
        The unconstrained, unbiased estimate; it may leave [0, 1].
    linear_method : {"inversion", "one step"}
        How it was computed: by linear equations of the counts; or, for bits whose patterns are
        known, by one Newton step of their likelihood, which has the variance of the maximum.
    nobs, n_missing : int
        Reports, and respondents who gave no answer.
    llf : float
        Log-likelihood at `params` in nats; nan where only bit sums are known.
    gap, gap_nats : float
        Certificate of a likelihood estimate: no other p gains more than `gap_nats` nats, or `gap`
        per report; nan for estimates that maximise no likelihood.
    aic, bic : float
        ``2 d - 2 llf`` and ``log(nobs) d - 2 llf`` with d = `df_model`, for comparisons of fits to
        the same reports; nan where `params` do not maximise the likelihood, or under constraints.
        On the boundary fewer than d frequencies vary freely, so that they are too large there.
    df_model, df_resid : int
        Frequencies that vary freely (one fewer than there are where they sum to one), and `nobs`
        less that.
    tvalues : Series, shape (k,)
        `linear_params` over their standard errors. p-values rest on more, see `pvalues`.
    converged : bool
    message : str
        How the estimator ended.
    goodness_of_fit : TestResult or None
        Whether the reports look as the mechanism's channel says they must; of candidates, whether
        their list fits the reports.
    unexplained : Unexplained or None
        Over an open alphabet, the share of answers that are not among the candidates.
    dispersion : float
        How much larger the variances are, on average, than those of the reports alone, because of
        answers that are not among the candidates; one where the candidates fit the reports.
    condition : float
        Condition number of the channel.
    caution : str
        Why tests of an incomplete list may not keep their level; empty where they do.

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    detected, presence_pvalues, t_test, wald_test, difference, ratio
        Which frequencies are above zero; tests and intervals of contrasts.
    mean, cumulative, quantile
        Of ordered answers, with intervals.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
    >>> results = ldp.FrequencyModel(counts).fit()
    >>> results
    FrequencyResults(mle, k=3, n=1000; KRR(k=3, epsilon=1))
    >>> results.bse.round(3).to_dict()
    {'a': 0.043, 'b': 0.041, 'c': 0.038}
    """

    categories: pd.Index[Any]
    mechanisms: Sequence[dict[str, Any]]
    laws: Laws
    checks: Checks

    exact = Part[ExactForm | None]("laws", "Binomial counts of the categories that have one.")
    tally = Part[Tallies | None]("laws", "Variance and skewness of each frequency, as it varies.")
    law = Part[ReportLaw | None]("laws", "The law of the reports, for contrasts.")
    linear_method = Part[str]("laws", "How the linear estimate was computed.")
    goodness_of_fit = Part[TestResult | None]("checks", "Whether the model fits the reports.")
    unexplained = Part[Unexplained | None]("checks", "Share of answers that are not candidates.")
    dispersion = Part[float]("checks", "How far answers beyond the candidates inflate variance.")
    condition = Part[float]("checks", "Condition number of the channel.")
    caution = Part[str]("checks", "Why tests of an incomplete list may not keep their level.")

    _format = "ldpstats-frequency-results"
    _required = REQUIRED

    def __repr__(self) -> str:
        return f"FrequencyResults({self.method}, k={self.k}, n={self.nobs}; {self.sources[0]})"

    @property
    def index(self) -> pd.Index[Any]:
        return self.categories

    # -- intervals -------------------------------------------------------------------------

    @names_alpha
    def conf_int(
        self,
        alpha: float = 0.05,
        method: str = "default",
        clip: bool = True,
        simultaneous: str | None = None,
        **how: Any,
    ) -> pd.DataFrame:
        """Confidence intervals of the frequencies.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval (of all together, if `simultaneous`).
        method : str
            "default": "exact" for the categories that have a binomial count of their own (all of
            them under k-RR, binary designs and sums of unary bits); else a score interval that
            allows for the skewness of few reports (of unary reports whose patterns are known,
            other channels, hashed candidates, and several mechanisms together); "wald" where too
            little is known for that.
            "exact": Clopper-Pearson on the tallied report or bit, mapped to the frequency.
            "wilson": the score interval, mapped likewise. "wald": linear estimate plus or minus
            normal quantile times its standard error. "wald-mle": the same around `params`.
            "profile": likelihood ratio (needs ``model=``). "bootstrap": percentiles of refits of
            simulated surveys (needs ``model=`` and ``rng=``; ``n_boot=`` defaults to 999). Both fit
            again and again: ``progress=True`` shows a bar. The last three lean on asymptotics that
            fail on the boundary, and warn there.
        clip : bool
            Intersect with [0, 1]. An interval that lies outside gets a limit of its own there, at
            which the estimate is alpha/2 times as likely as at the edge: never one of width zero.
            Not for "profile" and "bootstrap", which stay inside by themselves.
        simultaneous : {None, "bonferroni", "sidak", "scheffe"}
            Cover all k frequencies together; "scheffe" (Wald intervals only) covers every
            contrast too.

        Returns
        -------
        DataFrame, shape (k, 2)
            Columns "lower" and "upper".

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().conf_int().round(3)
           lower  upper
        a  0.487  0.657
        b  0.244  0.407
        c  0.032  0.182
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, own_intervals.METHODS)
        if simultaneous is not None:
            simultaneous = one_of("simultaneous", simultaneous, ("bonferroni", "sidak", "scheffe"))
        chosen = "wald" if method == "default" and simultaneous == "scheffe" else method
        if simultaneous == "scheffe":
            if chosen not in ("wald", "wald-mle"):
                raise InvalidArgument("simultaneous", simultaneous, "goes with method='wald'")
        elif simultaneous is not None:
            alpha = intervals.simultaneous_alpha(alpha, self.k, simultaneous)
        if chosen in ("wald-mle", "profile", "bootstrap"):
            warn_of_method(chosen, self.on_boundary, self.is_incomplete)
        own_intervals.check_options(chosen, how)
        if chosen in ("profile", "bootstrap"):
            bounds = own_intervals.by_model(self, chosen, alpha, **how)
        else:
            scheffe = simultaneous == "scheffe"
            bounds = own_intervals.by_method(self.fit, self.laws, chosen, alpha, scheffe)
        if clip and chosen not in ("profile", "bootstrap"):
            which = self.fitted if chosen == "wald-mle" else self.linear
            bounds = own_intervals.cut(bounds, chosen, which, self.laws, alpha)
        return pd.DataFrame(bounds, index=self.categories, columns=["lower", "upper"])

    @property
    def assumes_complete(self) -> bool:
        """Whether the estimate assumes that there are no answers but the candidates."""
        return self.checks.assume_complete(self.method)

    @property
    def is_incomplete(self) -> bool:
        """Whether the estimate assumes that, and the reports contradict it."""
        return self.checks.contradict(self.method)

    # -- tests -----------------------------------------------------------------------------

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of p = 0 for each category, exact where the channel allows.

        A candidate that was not selected has the p-value 1.
        """
        return self._series(absence.two_sided(self.linear, self.laws), "pvalues")

    @names_alpha
    def detected(
        self, alpha: float = 0.05, method: str = "bonferroni", *, force: bool = False
    ) -> pd.Index[Any]:
        """Categories whose frequency is above zero, with control of the errors made over all.

        Tests p = 0 against p > 0, exactly (binomial) where the channel allows, else by the normal
        law of the linear estimate; of hashed candidates with the variance and the skewness that it
        has at p = 0 (`OwnTally`).

        Parameters
        ----------
        alpha : float
            Family-wise error rate ("bonferroni", "holm") or false discovery rate ("bh").
        method : {"bonferroni", "holm", "bh"}
        force : bool
            Detect even where the errors are not controlled, see `caution`.

        Returns
        -------
        Index
            Labels of the detected categories, in category order.

        Raises
        ------
        NotAvailable
            Where an incomplete list meets too few cohorts, or too many candidates (`caution`),
            unless forced.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> list(results.detected(alpha=0.001))
        ['a', 'b']
        """
        alpha = level(alpha)
        if self.caution and not boolean("force", force):
            raise NotAvailable(
                f"the list of candidates is not complete, and {self.caution}: the errors of "
                "detection are not controlled; collect reports in more cohorts, or pass force=True"
            )
        return super().detected(alpha, method)

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of p = 0 against p > 0, not adjusted for multiplicity.

        A candidate that was not selected has the p-value 1, and counts among the tests.
        """
        return self._series(absence.one_sided(self.linear, self.laws), "presence_pvalues")

    @cached_property
    def answers(self) -> Answers | None:
        """The law of the reports of each answer, for contrasts; None where it is not known.

        Nor where noise tells answers apart too badly: the likeliest frequencies then lack answers
        that are held, and the law of the reports along the covariance of the estimate is right.
        """
        if self.condition > _NOISY:
            return None
        return known_answers(self.linear, self.laws, self.mechanisms)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        return contrasts.contrast_law(self.linear, self.laws, row, self.answers)

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        return contrasts.null_law(self.linear, self.laws, R, gap, self.answers)

    def _testing_covariance(self, estimated: Covariance) -> Covariance:
        least = 0.5 / self.nobs**2  # that nobody was seen is not certain: half a report was
        unseen = estimated.variances() < 1e-3 * least
        if not unseen.any() or self.answers is None:
            return estimated
        k = self.k
        more = Covariance(np.where(unseen, least, 0.0), np.zeros((0, 0)), np.zeros((k, 0)))
        return (estimated + more).without_excess(project_simplex(self.linear.estimate))

    @names_alpha
    def difference(self, first: Any, second: Any, alpha: float = 0.05) -> pd.Series[float]:
        """Difference of two frequencies with its standard error, interval and p-value.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper", "pvalue".

        Raises
        ------
        InvalidArgument
            For a label that is no category.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> results.difference("a", "b").round(3).to_dict()
        {'estimate': 0.247, 'se': 0.075, 'lower': 0.1, 'upper': 0.393, 'pvalue': 0.001}
        """
        places = self._position("first", first), self._position("second", second)
        return pairs.difference((first, second), places, self.k, self.t_test, level(alpha))

    @names_alpha
    def ratio(self, first: Any, second: Any, alpha: float = 0.05) -> FiellerInterval:
        """Score interval of the ratio of two frequencies; it may be unbounded, and says so.

        All ratios from zero on that a score test does not reject, with the law of the reports at
        each ratio; Fieller's set where that law is not known (hashed candidates).

        Parameters
        ----------
        first, second : label, or list of labels
            The frequencies of a list are added up: ``ratio("no", ["no", "yes"])`` is the share of
            "no" among those who said either.
        alpha : float
            One minus the coverage.

        Raises
        ------
        InvalidArgument
            For a label that is no category, or a list with none or the same twice.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> print(results.ratio("a", "b"))
        [1.252, 2.569]
        >>> print(results.ratio("a", ["a", "b"]))
        [0.5559, 0.7198]
        """
        above = positions("first", first, self.categories)
        below = positions("second", second, self.categories)

        def law_of(one: Array, other: Array) -> Any:
            return contrasts.laws_between(self.linear, self.laws, one, other, self.answers)

        return pairs.ratio(self.linear, above, below, law_of, level(alpha))

    def _position(self, name: str, label: Any) -> int:
        return position(name, label, self.categories, "is not a category of these results")

    # -- ordered answers -------------------------------------------------------------------

    @names_alpha
    def mean(self, scores: Any = None, alpha: float = 0.05) -> pd.Series[float]:
        """Mean of the scores of the answers, with a score interval.

        Parameters
        ----------
        scores : mapping, Series or array, shape (k,), optional
            A number for each category; a mapping or Series is matched by label. By default the
            labels, where they are numbers, or their midpoints, where they are intervals such as
            "[0, 10)".
        alpha : float
            One minus the coverage of the interval.

        Returns
        -------
        Series
            "estimate" (from the unconstrained estimate), "se", "lower", "upper", in the units of
            the scores. The interval is cut to their range.

        Raises
        ------
        InvalidArgument
            If the labels are not numbers and no scores are given, or the scores do not fit.
        NotAvailable
            Over an open alphabet, where the candidates need not be all answers.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("low", "middle", "high"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> results.mean({"low": 0, "middle": 1, "high": 2}).round(3).to_dict()
        {'estimate': 0.533, 'se': 0.07, 'lower': 0.396, 'upper': 0.67}
        """
        return self._ordered.mean(scores, level(alpha))

    @names_alpha
    def cumulative(self, alpha: float = 0.05) -> pd.DataFrame:
        """Cumulative frequencies in the order of the categories, with score intervals.

        The order is the mechanism's: that of the categories it was made with, as of an ordered
        pandas categorical. Answers without an order have no cumulative frequencies, whatever order
        they are listed in; numbers must be listed from the smallest to the largest.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.

        Returns
        -------
        DataFrame, one row per category
            "estimate" (from the unconstrained estimate, so that it may fall), "se", "lower",
            "upper". The last row is exactly one.

        Raises
        ------
        NotAvailable
            Over an open alphabet, where the candidates need not be all answers.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("low", "middle", "high"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().cumulative().round(3)
                estimate     se  lower  upper
        low        0.571  0.043  0.488  0.656
        middle     0.895  0.038  0.820  0.967
        high       1.000  0.000  1.000  1.000
        """
        return self._ordered.cumulative(level(alpha))

    @names_alpha
    def quantile(self, q: Any, alpha: float = 0.05) -> pd.Series[Any] | pd.DataFrame:
        """Quantiles of ordered answers: the first category whose cumulative frequency reaches q.

        The interval goes from the first category of which a one-sided score test of level alpha/2
        does not reject that its cumulative frequency is at least q, to the one behind the last of
        which a test does not reject that it is below. Its coverage is at least 1 - alpha.

        Parameters
        ----------
        q : float or list of float
            Probabilities, for example 0.5 for the median.
        alpha : float
            One minus the coverage of the interval.

        Returns
        -------
        Series, or DataFrame with a row for each q
            "estimate", "lower", "upper": labels of categories. The estimate is the first category
            whose `cumulative` estimate is at least q.

        Raises
        ------
        InvalidArgument
            If q is not strictly between 0 and 1.
        NotAvailable
            Over an open alphabet, where the candidates need not be all answers.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("low", "middle", "high"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().quantile([0.5, 0.75])
             estimate   lower   upper
        q
        0.50      low     low  middle
        0.75   middle  middle  middle
        """
        return self._ordered.quantile(q, level(alpha))

    @property
    def _ordered(self) -> OrderedAnswers:
        is_open = self.unexplained is not None
        given = self.linear, self.laws, self.categories, self.name, is_open
        return OrderedAnswers(*given, lambda: self.answers)

    # -- presentation ----------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        test = self.goodness_of_fit
        return super()._facts() | {"goodness_pvalue": np.nan if test is None else test.pvalue}

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, one row per category; nan where no standard errors were computed
            "params", "bse", "linear", "linear_se", "lower", "upper" (default interval) and
            "presence_pvalue" (one-sided, p = 0 against p > 0, not adjusted).
        """
        return self._table(alpha, self._uncut(alpha))

    def _uncut(self, alpha: float) -> pd.DataFrame | None:
        """Default intervals before they are cut to [0, 1]; None where there are none."""
        return self.conf_int(alpha, clip=False) if self.linear.has_errors else None

    def _table(self, alpha: float, uncut: pd.DataFrame | None) -> pd.DataFrame:
        """`summary_frame` with these intervals, cut."""
        bounds = None
        if uncut is not None:
            cut = own_intervals.cut(
                uncut.to_numpy(copy=True), "default", self.linear, self.laws, alpha
            )
            bounds = pd.DataFrame(cut, index=self.categories, columns=["lower", "upper"])
        frame = self._estimates_frame(alpha, bounds)
        computed = self.linear.has_errors
        frame["presence_pvalue"] = self.presence_pvalues() if computed else np.nan
        return frame

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        from ldpstats.models.frequency.summary import frequency_summary

        uncut = self._uncut(alpha)
        return frequency_summary(
            self.fit,
            self.laws,
            self.checks,
            frame=self._table(alpha, uncut),
            uncut=uncut,
            alpha=alpha,
            max_rows=max_rows,
            details=details,
        )

    # -- storage ---------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return to_document(self.fit, self.categories, self.mechanisms, self.laws, self.checks)

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> FrequencyResults:
        return cls(*from_document(document))
