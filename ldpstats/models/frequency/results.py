"""What a fit returns: estimates, their covariance, and everything that can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    boolean,
    level,
    number_from_json,
    number_to_json,
    numbers,
    one_of,
    probability,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import intervals
from ldpstats.inference.boundary import ReportSums, edge_range
from ldpstats.inference.intervals import Difference, inverted
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import CellLaw, one_sided
from ldpstats.inference.tests import TestResult, adjusted_differences
from ldpstats.labels import align, labels_from_json, labels_to_json, midpoints, position, positions
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.tallies import (
    ExactForm,
    ReportLaw,
    Tallies,
    Uncertain,
    Unexplained,
    project_simplex,
)
from ldpstats.models.frequency import estimates as absence
from ldpstats.models.frequency import estimates as own_intervals
from ldpstats.models.frequency.answers import Answers, known_answers
from ldpstats.models.frequency.estimates import Checks, Laws
from ldpstats.models.layout import Fit, Part, SummaryTable, is_partial, names_alpha
from ldpstats.models.results import CategoryResults, warn_of_method
from ldpstats.models.storage import (
    estimates_from_dict,
    estimates_to_dict,
    maybe_from_dict,
    maybe_to_dict,
    record,
)

if TYPE_CHECKING:
    from ldpstats.models.results import ContrastLaw

__all__ = ["FrequencyResults", "cell_law", "checked_scores", "difference_rows", "differences_table"]


# -- Results of one variable as plain JSON types, and back ----------------------------------------


Mechanisms = Sequence[dict[str, Any]]

# the fields as JSON has them: as they are, numbers that may be nan or infinite, parts
_LISTS = ("mechanisms", "sources")
_PLAIN = (
    "method",
    "settings",
    "cov_type",
    "nobs",
    "n_missing",
    "n_iter",
    "converged",
    "message",
    "linear_method",
    "caution",
    *_LISTS,
)
_NUMBERS = ("llf", "gap", "epsilon", "dispersion")
_PARTS: dict[str, Any] = {
    "exact": ExactForm,
    "tally": Tallies,
    "law": ReportLaw,
    "goodness_of_fit": TestResult,
    "unexplained": Unexplained,
}
REQUIRED = frozenset(
    {"categories", "condition", "name", "source_nobs", *_PLAIN, *_NUMBERS, *_PARTS}
)


def to_document(
    fit: Fit, categories: pd.Index[Any], mechanisms: Mechanisms, laws: Laws, checks: Checks
) -> dict[str, Any]:
    """The records of results as plain JSON types; no report is in them."""
    held = vars(fit) | vars(laws) | vars(checks) | {"mechanisms": mechanisms}
    document = {name: held[name] for name in _PLAIN}
    document |= {name: number_to_json(held[name]) for name in (*_NUMBERS, "condition")}
    document |= {name: maybe_to_dict(held[name]) for name in _PARTS}
    document |= estimates_to_dict(fit.fitted, fit.linear)
    document["categories"] = labels_to_json(categories)
    document |= {"name": fit.name, "source_nobs": list(fit.source_nobs)}
    return document | {name: list(held[name]) for name in _LISTS}


def from_document(
    document: dict[str, Any],
) -> tuple[Fit, pd.Index[Any], Mechanisms, Laws, Checks]:
    """Inverse of `to_document`; what is damaged may raise any error."""
    d = {name: document[name] for name in _PLAIN}
    d |= {name: number_from_json(document[name]) for name in _NUMBERS}
    d["condition"] = number_from_json(document["condition"])
    d |= {name: maybe_from_dict(part, document[name]) for name, part in _PARTS.items()}
    d |= estimates_from_dict(document)
    d |= {name: tuple(document[name]) for name in _LISTS}
    d["is_partial"] = is_partial(d["mechanisms"])
    d["name"] = str(document["name"])
    d["source_nobs"] = tuple(document["source_nobs"])
    categories = labels_from_json("categories", document["categories"])
    return record(Fit, d), categories, d["mechanisms"], record(Laws, d), record(Checks, d)


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
        return contrast_law(self.linear, self.laws, row, self.answers)

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        return null_law(self.linear, self.laws, R, gap, self.answers)

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
        return difference((first, second), places, self.k, self.t_test, level(alpha))

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
            return laws_between(self.linear, self.laws, one, other, self.answers)

        return ratio(self.linear, above, below, law_of, level(alpha))

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


# -- Difference and ratio of the frequencies of two categories ------------------------------------


def difference(
    labels: tuple[Any, Any],
    places: tuple[int, int],
    k: int,
    t_test: Callable[[Any], Any],
    alpha: float,
) -> pd.Series[float]:
    """Estimate, standard error, interval and p-value by the `t_test` of k frequencies."""
    (first, second), (i, j) = labels, places
    if i == j:
        raise InvalidArgument("second", second, "is the first category: name two")
    R = np.zeros((1, k))
    R[0, i], R[0, j] = 1.0, -1.0
    try:
        test = t_test(R)
    except InvalidArgument:  # which names another argument
        remedy = f"and {first!r} were never reported, of which conf_int() tells more"
        raise InvalidArgument("second", second, remedy) from None
    lower, upper = test.conf_int(alpha)[0]
    values = [test.effect[0], test.sd.ravel()[0], lower, upper, float(np.ravel(test.pvalue)[0])]
    index = ["estimate", "se", "lower", "upper", "pvalue"]
    return pd.Series(values, index=index, name=f"{first} - {second}")


def ratio(
    linear: Uncertain,
    first: Sequence[int],
    second: Sequence[int],
    law_of: Callable[[Array, Array], Callable[[float], Any] | None],
    alpha: float,
) -> FiellerInterval:
    """All ratios of the frequencies at some places over those at others that are not rejected.

    The ratio is r where ``(1 - v) sum first - v sum second`` is zero, with ``v = r / (1 + r)``. Its
    estimate is tested with the law that it has there, ``law_of(a, b)(v)`` for the indicators a and
    b of the places; where that is not known Fieller's set takes the law at the estimate.
    """
    R = np.zeros((2, linear.estimate.size))
    R[0, first] = R[1, second] = 1.0
    law = law_of(*R)
    rows, estimate, V = linear.restricted(R)
    num, den = (float(x) for x in rows @ estimate)
    if law is None:
        spread = V.transform(rows)
        return fieller(num, den, spread[0, 0], spread[1, 1], spread[0, 1], alpha)
    # what is in both sums alone, in the first alone or in the second alone: ratios 1, inf and 0
    low = 0.0 if np.any(R[1] > R[0]) else 0.5
    high = 1.0 if np.any(R[0] > R[1]) else 0.5
    if low < high and max(num, den) > 0.0:
        centre = min(max(max(num, 0.0) / (max(num, 0.0) + max(den, 0.0)), low), high)

        def tail(v: float, upper: bool) -> float:
            se, skewness = law(v).at(np.zeros(1))
            gap = np.array([(1.0 - v) * num - v * den])
            return float(one_sided(gap, se, skewness, upper)[0])

        low, high = _limit(tail, centre, low, True, alpha), _limit(tail, centre, high, False, alpha)
    least, most = (v / (1.0 - v) if v < 1.0 else np.inf for v in (low, high))
    return FiellerInterval(least, most, "bounded" if most < np.inf else "unbounded")


def _limit(
    tail: Callable[[float, bool], float], centre: float, end: float, upper: bool, alpha: float
) -> float:
    """The last value on the way from the centre to an end of the range that is not rejected.

    If the centre is itself rejected, because an estimate is negative, that at which the estimate is
    alpha/2 times as probable as there (a CLs limit).
    """
    from scipy.optimize import brentq

    half = alpha / 2.0
    at_centre = tail(centre, upper)
    least = half if at_centre > half else half * at_centre
    if end == centre or tail(end, upper) >= least:
        return end
    return float(brentq(lambda v: tail(v, upper) - least, centre, end, xtol=1e-14))


# -- Differences of the frequencies of two independent groups of respondents ----------------------


_COLUMNS = ("estimate", "se", "lower", "upper", "pvalue")

_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_rows(
    first: FrequencyResults, second: FrequencyResults, alpha: float
) -> pd.DataFrame:
    """Each frequency of the first group minus that of the second, a row a category."""
    return _rows([(first, second)], alpha).set_axis(first.categories)


def differences_table(
    fits: Sequence[FrequencyResults], pairs: Sequence[tuple[int, int]], alpha: float
) -> pd.DataFrame:
    """The same of several pairs of groups, pair by pair, with p-values adjusted for all rows."""
    table = _rows([(fits[i], fits[j]) for i, j in pairs], alpha)
    p, k = table["pvalue"].to_numpy(), len(fits[0].categories)
    table["pvalue_holm"] = adjusted_differences(table["estimate"].to_numpy(), p, k)
    return table


def _rows(pairs: Sequence[tuple[FrequencyResults, FrequencyResults]], alpha: float) -> pd.DataFrame:
    """Differences of all pairs at once, a row for each pair and category."""
    laws = {id(fit): _comparable_law(fit) for pair in pairs for fit in pair}
    sides = list(zip(*pairs, strict=True))
    first, second = (np.concatenate([fit.linear.estimate for fit in side]) for side in sides)
    stacked = [_stacked([laws[id(fit)] for fit in side]) for side in sides]
    all_pairs = Difference(first, second, *stacked)
    se = np.hypot(*(np.concatenate([fit.linear.bse() for fit in side]) for side in sides))
    bounds = all_pairs.interval(alpha)
    columns = all_pairs.estimate, se, bounds[:, 0], bounds[:, 1], all_pairs.pvalues()
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _comparable_law(results: FrequencyResults) -> CellLaw:
    if results.linear.at is not None:
        raise NotAvailable(
            "differences of frequencies after a selection of candidates are not known: fit the "
            "groups with method='inversion'"
        )
    return cell_law(results.linear, results.laws)


def _stacked(laws: Sequence[CellLaw]) -> CellLaw:
    parts = ([getattr(law, f.name) for law in laws] for f in fields(CellLaw))
    return CellLaw(*(np.concatenate(part) for part in parts))


def cell_law(linear: Uncertain, laws: Laws) -> CellLaw:
    """Variance and third cumulant of each linear estimate, whatever its frequency is.

    By the binomial count of the category where it has one, else by what the estimate rests on
    (`Tallies`); without either the variance is that at the estimate.
    """
    k = linear.estimate.size
    variance, third = np.repeat(np.square(linear.every_bse())[None], 4, axis=0), np.zeros((4, k))
    if laws.tally is not None:
        found = [laws.tally.law(np.full(k, p)) for p in _AT]
        variance = np.array([se**2 for se, _, _ in found])
        third = np.array([skewness * se**3 for se, skewness, _ in found])
    own = laws.counted(k)
    if laws.exact is not None and own.any():
        counted = [laws.exact.cumulants(np.full(k, p)) for p in _AT]
        variance = np.where(own, [v for v, _ in counted], variance)
        third = np.where(own, [c for _, c in counted], third)
    none = np.zeros(k)
    coefficients = _TO_COEFFICIENTS @ variance, _TO_COEFFICIENTS @ third
    return CellLaw(coefficients[0][:3].T, coefficients[1].T, none, none)


# -- Laws of contrasts of frequencies under a null hypothesis, where that of the reports is known --


def contrast_law(
    linear: Uncertain, laws: Laws, row: Array, known: Answers | None = None
) -> ContrastLaw | None:
    """The law of the contrast `row`, shape (k,); None where it is not known.

    Where the law of each answer is `known`, at the likeliest frequencies of every value.
    """
    from ldpstats.models.results import ContrastLaw

    if known is not None and np.ptp(row) > 0.0:
        return ContrastLaw(known.law(row).at, float(row.min()), float(row.max()), is_fixed=False)
    span = float(row.min()), float(row.max())
    if laws.law is not None and linear.at is None:
        return ContrastLaw(partial(_moved_law, linear, laws.law, row), *span)
    if laws.tally is not None and np.count_nonzero(row) == 1:
        entries = np.flatnonzero(row)
        places = np.arange(linear.estimate.size)[linear.places]
        place = np.searchsorted(places, entries[0])
        p = np.clip(linear.estimate[linear.places], 0.0, 1.0)
        return ContrastLaw(partial(_tally_law, laws.tally, p, row[entries[0]], place), *span)
    return None


def laws_between(
    linear: Uncertain, laws: Laws, first: Array, second: Array, known: Answers | None = None
) -> Callable[[float], Any] | None:
    """The laws of ``(1 - v) first - v second`` for all v; None where they are not known."""
    if known is not None:
        return known.between(first, second)
    if laws.law is None or linear.at is not None:
        return None

    def law(v: float) -> ContrastLaw:
        found = contrast_law(linear, laws, (1.0 - v) * first - v * second)
        assert found is not None  # the law of the reports is known
        return found

    return law


def null_law(
    linear: Uncertain, laws: Laws, R: Array, gap: Array, known: Answers | None = None
) -> ReportSums | None:
    """The law of independent contrasts R, (q, k), under the null that `gap` is noise.

    At the likeliest frequencies of the null, if the law of each answer is `known`; but of labels
    where a short step along the covariance of the estimate leads there. None where nothing is known
    but the covariance of the estimate.
    """
    change = _restriction(linear, R, gap)
    if laws.law is not None:
        led = np.allclose(R @ change, -gap, rtol=1e-6, atol=1e-12)
        near = led and all(part.can_move(change) for part in laws.law.parts)
        if known is None or near:
            moved = laws.law.moved(change)
            parts = [(part.contrasts(R), part.law, part.nobs) for part in moved.parts]
            return ReportSums(moved.covariance(R), parts)
    law = None if known is None else known.null_law(R, R @ linear.estimate - gap)
    if law is not None:
        return law
    if laws.tally is None or not laws.tally.everywhere:
        return None
    inside = np.clip(linear.estimate, 0.0, 1.0)
    there, here = (laws.tally.law(p)[0] for p in (inside + change, inside))
    return ReportSums(linear.known().transform(R) + (R * (there**2 - here**2)) @ R.T)


def _moved_law(linear: Uncertain, law: ReportLaw, row: Array, value: Array) -> tuple[Array, Array]:
    """Standard error and skewness of a contrast if it is `value`, from the law of reports."""
    R, covariances = row[None], linear.known().times(row)
    scale = float(row @ covariances)
    gap = float(row @ linear.estimate - value[0])
    moved = law.moved(covariances * (-gap / scale if scale else 0.0))
    variance = np.diagonal(moved.covariance(R))
    cumulant = moved.third_cumulants(R)
    return np.sqrt(variance), cumulant / np.where(variance > 0.0, variance, 1.0) ** 1.5


def _tally_law(
    tally: Tallies, inside: Array, factor: float, place: int, value: Array
) -> tuple[Array, Array]:
    """The same of a multiple of one frequency, from its tally, the others as in `inside`."""
    p = inside.copy()
    p[place] = value[0] / factor
    se, skewness, _ = tally.law(p)
    return abs(factor) * se[[place]], np.sign(factor) * skewness[[place]]


def _restriction(linear: Uncertain, R: Array, gap: Array) -> Array:
    """What takes the estimate, whose contrasts R are off by `gap`, to the null: shape (k,)."""
    V = linear.known()
    weights = np.linalg.lstsq(V.transform(R), gap, rcond=None)[0]
    return np.asarray(-V.times(R.T @ weights))


# -- Means, cumulative frequencies and quantiles of ordered answers, from the unconstrained estimate
# Each is a weighted sum of the frequencies, or is found by testing such sums.


_COLUMNS_ordered = ["estimate", "se", "lower", "upper"]
_WIDEST = 1e100  # of which the square is still a number
_FIXED = 1e-10  # variance of the sum of the estimates, relative to their own, that counts as zero


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """An estimate of ``sum_x s_x p_x``, with its standard error and skewness at any value.

    `at` gives both, of shape (1,), at a value of shape (1,) from `least` to `most`.
    """

    estimate: float
    se: float
    at: Callable[[Array], tuple[Array, Array]]
    least: float
    most: float

    def interval(self, alpha: float) -> Array:
        """All values that neither one-sided score test rejects, cut to those possible."""
        bounds = inverted([self.estimate], self.at, alpha, (self.least, self.most))
        reach = (self.least, self.most)
        return np.asarray(edge_range(bounds, [self.estimate], [self.se], reach, alpha)[0])

    def pvalue(self, value: float, upper: bool) -> float:
        """P(estimate or more) if `upper`, else P(estimate or less), if the sum is `value`."""
        se, skewness = self.at(np.array([value]))
        return float(one_sided(np.array([self.estimate - value]), se, skewness, upper)[0])


def weighted_sum(
    linear: Uncertain, laws: Laws, scores: Array, shift: float, known: Answers | None
) -> WeightedSum:
    """The sum of all frequencies is one: scores may be shifted, and the sum moves with them.

    Where the estimates need not sum to one they are shifted by what makes the variance smallest;
    else by `shift`, which matters for rounding alone.
    """
    V = linear.known()
    c = _best_shift(V, scores, shift)
    row = scores - c
    estimate = float(row @ linear.estimate) + c
    se = float(np.sqrt(max(V.transform(row[None])[0, 0], 0.0)))
    law = contrast_law(linear, laws, row, known) if np.any(row) else None

    def at(value: Array) -> tuple[Array, Array]:
        if law is None:
            return np.full(1, se), np.zeros(1)
        return law.at(value - c)

    return WeightedSum(estimate, se, at, float(scores.min()), float(scores.max()))


def _best_shift(V: Covariance, scores: Array, shift: float) -> float:
    ones = V.times(np.ones(scores.size))
    variance = float(ones.sum())
    if variance <= _FIXED * float(V.variances().sum()):
        return shift
    return float(scores @ ones) / variance


def mean_score(linear: Uncertain, laws: Laws, scores: Array, known: Answers | None) -> WeightedSum:
    """The mean of the scores of the answers, from that of scores between 0 and 1."""
    least, most = float(scores.min()), float(scores.max())
    width = most - least
    unit = (scores - least) / width
    one = weighted_sum(linear, laws, unit, float(unit.mean()), known)

    def at(value: Array) -> tuple[Array, Array]:
        se, skewness = one.at((value - least) / width)
        return width * se, skewness

    return WeightedSum(least + width * one.estimate, width * one.se, at, least, most)


def cumulative_sums(linear: Uncertain, laws: Laws, known: Answers | None) -> list[WeightedSum]:
    """The frequency of each category and those before it; that of the last is one."""
    k = linear.estimate.size
    tails = [(np.arange(k) <= x).astype(float) for x in range(k - 1)]
    sums = [weighted_sum(linear, laws, tail, 0.0, known) for tail in tails]
    certain = np.zeros(1)
    return [*sums, WeightedSum(1.0, 0.0, lambda value: (certain, certain), 1.0, 1.0)]


def quantile_bounds(sums: list[WeightedSum], q: float, alpha: float) -> tuple[int, int, int]:
    """Positions of the q quantile and of the ends of its interval.

    The quantile is the first category whose cumulative frequency is at least q. The interval begins
    with the first of which a test of level alpha/2 does not reject that, and ends behind the last
    of which a test does not reject the contrary.
    """
    inner = range(len(sums) - 1)  # the last cumulative frequency is one
    last = len(sums) - 1
    estimate = next((x for x in inner if sums[x].estimate >= q), last)
    low = next((x for x in inner if sums[x].pvalue(q, upper=False) >= alpha / 2), last)
    below = [x for x in inner if sums[x].pvalue(q, upper=True) >= alpha / 2]
    return estimate, low, max(below) + 1 if below else 0


def checked_scores(scores: Any, labels: pd.Index[Any]) -> Array:
    """A number for each category; by default the labels, if they are numbers, or their midpoints.

    Midpoints are those of labels that are all intervals, such as "[0, 10)".
    """
    k = len(labels)
    if scores is None and (scores := midpoints(labels)) is None:
        scores = labels.to_numpy()
        plain = [isinstance(v, int | float) and not isinstance(v, bool) for v in labels.tolist()]
        if not all(plain):
            example = f"{{{labels[0]!r}: 1, {labels[min(1, k - 1)]!r}: 2, ...}}"
            remedy = f"the labels are not numbers: pass a score for each, for example {example}"
            raise InvalidArgument("scores", None, remedy)
    given = pd.Series(dict(scores), dtype=object) if isinstance(scores, Mapping) else scores
    remedy = f"must be {k} finite numbers, one for each category, at most {_WIDEST:g} apart"
    values = numbers("scores", align("scores", given, labels), remedy, (k,))
    if not np.isfinite(values).all() or values.max() - values.min() > _WIDEST:
        raise InvalidArgument("scores", scores, remedy)
    if values.min() == values.max():
        raise InvalidArgument("scores", scores, "are all the same: their mean is known")
    return values


def checked_quantiles(q: Any) -> tuple[list[float], bool]:
    """Probabilities strictly between 0 and 1, and whether one was given alone."""
    alone = isinstance(q, int | float | np.number)
    given = [q] if alone else numbers("q", q, "must be a probability, or a list of them").tolist()
    if not isinstance(given, list) or not given or any(isinstance(v, list) for v in given):
        raise InvalidArgument("q", q, "must be a probability, or a list of them")
    return [probability("q", value, zero=False, one=False) for value in given], alone


def refuse_unordered(labels: pd.Index[Any]) -> None:
    """Refuse numbers that do not ascend: cumulative frequencies of them mean nothing."""
    numeric = isinstance(labels, pd.RangeIndex) or pd.api.types.is_numeric_dtype(labels.dtype)
    if numeric and not labels.is_monotonic_increasing:
        raise InvalidArgument(
            "categories",
            labels[:5].tolist(),
            "are numbers that do not ascend, and cumulative frequencies go by their order: list "
            "the categories of the mechanism from the smallest to the largest",
        )


def refuse_open(linear: Uncertain, is_open: bool) -> None:
    """Refuse lists of candidates, whose frequencies need not sum to one."""
    if is_open or linear.at is not None:
        raise NotAvailable(
            "ordered answers need all categories: candidates over an open alphabet have no mean, "
            "cumulative frequencies or quantiles"
        )


@dataclass(frozen=True, eq=False)
class OrderedAnswers:
    """Tables of ordered answers, from the linear estimate and what is known of its law.

    `is_open` says that the categories need not be all answers; `known` gives the law of the reports
    of each answer, None where it is not known.
    """

    linear: Uncertain
    laws: Laws
    categories: pd.Index[Any]
    name: str
    is_open: bool
    known: Callable[[], Answers | None]

    def mean(self, scores: Any, alpha: float) -> pd.Series[float]:
        """See `FrequencyResults.mean`, as for the others."""
        refuse_open(self.linear, self.is_open)
        values = checked_scores(scores, self.categories)
        found = mean_score(self.linear, self.laws, values, self.known())
        name = f"mean of {self.name}" if self.name else "mean"
        entries = [found.estimate, found.se, *found.interval(alpha)]
        return pd.Series(entries, index=_COLUMNS_ordered, name=name)

    def cumulative(self, alpha: float) -> pd.DataFrame:
        rows = [[one.estimate, one.se, *one.interval(alpha)] for one in self._sums()]
        return pd.DataFrame(rows, index=self.categories, columns=_COLUMNS_ordered)

    def quantile(self, q: Any, alpha: float) -> pd.Series[Any] | pd.DataFrame:
        wanted, alone = checked_quantiles(q)
        sums = self._sums()
        rows = [self.categories.take(quantile_bounds(sums, v, alpha)) for v in wanted]
        columns = ["estimate", "lower", "upper"]
        if alone:
            name = f"{wanted[0]:g} quantile" + (f" of {self.name}" if self.name else "")
            return pd.Series(rows[0], index=columns, name=name)
        index = pd.Index(wanted, name="q")
        return pd.DataFrame([row.tolist() for row in rows], index=index, columns=columns)

    def _sums(self) -> list[WeightedSum]:
        refuse_open(self.linear, self.is_open)
        refuse_unordered(self.categories)
        return cumulative_sums(self.linear, self.laws, self.known())
