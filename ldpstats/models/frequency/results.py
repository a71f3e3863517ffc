"""What a fit returns: estimates, their covariance, and everything that can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, level, numbers, one_of, probability
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.solvers import root
from ldpstats.inference import intervals
from ldpstats.inference.goodness import ReportSums
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import one_sided
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Labels, align, midpoints, position, positions
from ldpstats.likelihood.covariance import Covariance, Unexplained, project_simplex
from ldpstats.mechanisms import Mechanism, Product, mechanism_from_dict
from ldpstats.models.frequency.answers import (
    Answers,
    WeightedSum,
    cumulative_sums,
    known_answers,
    mean_score,
    quantile_bounds,
)
from ldpstats.models.frequency.intervals import METHODS, Laws
from ldpstats.models.layout import (
    ESTIMATES,
    LONGEST_LABEL,
    PRESENCE,
    Frame,
    Heading,
    Table,
    closing_notes,
    figures,
    interval_note,
    is_partial,
    one_line,
    resolution_notes,
)
from ldpstats.models.results import ContrastLaw, Results, warn_of_method

_REFITS = {"model", "progress"}
_OPTIONS = {"profile": _REFITS, "bootstrap": _REFITS | {"rng", "n_boot", "estimator"}}
_COMPLETE = (
    *("mle", "em", "em-fpe16", "cvxpy", "smoothed"),
    *("projected", "normalized", "thresholded", "minimax"),
)
_SUSPECT = 0.01  # p-value of the goodness of fit below which a list is taken to be incomplete
_WIDEST = 1e100  # range of scores of which the square is still a number
_NOISY = 30.0  # condition of a channel above which zeros of the likeliest frequencies mislead


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResults(Results, Laws):
    """Estimated frequencies of the categories of one privatised variable.

    `params`, `bse` and `cov_params` describe the estimator that was asked for. `conf_int`,
    `pvalues`, `detected`, `t_test` and `wald_test` rest on the unconstrained linear estimate
    (`linear_params`, `linear_cov`) whatever the estimator was, because it stays calibrated where
    a frequency is at or near zero; an interval need not be centred on `params`.

    Attributes
    ----------
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
    turnover, transitions
        Of paths of waves (`Survey.paths`): who changed the answer, and to which.

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
    goodness_of_fit: TestResult | None = None
    unexplained: Unexplained | None = None
    dispersion: float = 1.0
    condition: float = 1.0
    caution: str = ""

    _format = "ldpstats-frequency-results"
    _document = (
        *("method", "settings", "cov_type", "nobs", "n_missing", "n_iter", "converged", "message"),
        *("linear_method", "caution", "mechanisms", "sources"),
        *("llf", "gap", "epsilon", "dispersion", "condition"),
        *("exact", "tally", "law", "goodness_of_fit", "unexplained"),
        *("fitted", "linear", "categories", "name", "source_nobs"),
    )

    @property
    def index(self) -> Labels:
        return self.categories

    # -- intervals -------------------------------------------------------------------------

    def conf_int(
        self,
        alpha: float = 0.05,
        method: str = "default",
        clip: bool = True,
        simultaneous: str | None = None,
        anytime: bool = False,
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
        anytime : bool
            For a collection that goes on: an interval (a confidence sequence) that holds the
            frequency at all looks together, at whatever numbers of reports, and whenever one stops.
            It takes respondents to be drawn from a population that stays as it is, and is 1.6 to
            2.3 times as wide as that for one look; where reports of a category have more than two
            scores up to 1.7 times that. See `inference.intervals.confidence_sequence`.

        Returns
        -------
        DataFrame, shape (k, 2)
            Columns "lower" and "upper".

        Raises
        ------
        NotAvailable
            For `anytime` of hashed candidates, or of several mechanisms together.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> results.conf_int().round(3)
           lower  upper
        a  0.487  0.657
        b  0.244  0.407
        c  0.032  0.182
        >>> results.conf_int(anytime=True).round(3)
           lower  upper
        a  0.435  0.711
        b  0.195  0.460
        c  0.000  0.232
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, METHODS)
        if simultaneous is not None:
            simultaneous = one_of("simultaneous", simultaneous, ("bonferroni", "sidak", "scheffe"))
        chosen = "wald" if method == "default" and simultaneous == "scheffe" else method
        if simultaneous == "scheffe":
            if chosen not in ("wald", "wald-mle"):
                raise InvalidArgument("simultaneous", simultaneous, "goes with method='wald'")
        elif simultaneous is not None:
            alpha = intervals.simultaneous_alpha(alpha, self.k, simultaneous)
        if boolean("anytime", anytime) and chosen != "default":
            raise InvalidArgument("anytime", anytime, "has a method of its own: leave method= out")
        if chosen in ("wald-mle", "profile", "bootstrap"):
            warn_of_method(chosen, self.on_boundary, self.is_incomplete)
        for name, value in how.items():
            if name not in _OPTIONS.get(chosen, set()):
                raise InvalidArgument(name, value, f"is no option of method={chosen!r}")
        if anytime:
            bounds = self._sequence(alpha)
            bounds = intervals.clip_unit(bounds) if clip else bounds
        elif chosen in ("profile", "bootstrap"):
            model = how.pop("model", None)
            compute = getattr(model, f"{chosen}_intervals", None)
            if compute is None or not isinstance(getattr(model, "nobs", None), int):
                remedy = f"results hold no data: pass the fitted model for {chosen!r}"
                raise InvalidArgument("model", model, remedy)
            bounds = np.asarray(compute(self, alpha, **how))
        else:
            bounds = self._by_method(chosen, alpha, simultaneous == "scheffe")
            if clip:
                which = self.fitted if chosen == "wald-mle" else self.linear
                bounds = self._cut(bounds, chosen, which, alpha)
        return pd.DataFrame(bounds, index=self.categories, columns=["lower", "upper"])

    @property
    def assumes_complete(self) -> bool:
        """Whether the estimate assumes that there are no answers but the candidates."""
        return self.unexplained is not None and self.method in _COMPLETE

    @property
    def is_incomplete(self) -> bool:
        """Whether the estimate assumes that, and the reports contradict it."""
        share, test = self.unexplained, self.goodness_of_fit
        if share is None or not self.assumes_complete:
            return False
        return share.estimate > 2.0 * share.bse or (test is not None and test.pvalue < _SUSPECT)

    # -- tests -----------------------------------------------------------------------------

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of p = 0 for each category, exact where the channel allows.

        A candidate that was not selected has the p-value 1.
        """
        return self._series(self._zero_pvalues("two-sided"), "pvalues")

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
        return self._above_zero(self.presence_pvalues().to_numpy(), alpha, method)

    def _detected(self, alpha: float) -> Array | None:
        if self.unexplained is None or self.caution or not self._has_intervals:
            return None  # all categories are known, or what is held is not
        return self.categories.isin(self.detected(alpha))

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of p = 0 against p > 0, not adjusted for multiplicity.

        A candidate that was not selected has the p-value 1, and counts among the tests.
        """
        p = self._zero_pvalues("larger")
        return self._series(p, "presence_pvalues")

    @cached_property
    def answers(self) -> Answers | None:
        """The law of the reports of each answer, for contrasts; None where it is not known.

        Nor where noise tells answers apart too badly: the likeliest frequencies then lack answers
        that are held, and the law of the reports along the covariance of the estimate is right.
        """
        if self.condition > _NOISY:
            return None
        return known_answers(self, self.mechanisms)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        """By the laws of answers at the likeliest frequencies of every value, else of reports."""
        span, linear = (float(row.min()), float(row.max())), self.linear
        if self.answers is not None and np.ptp(row) > 0.0:
            return ContrastLaw(self.answers.law(row).at, *span, is_fixed=False)
        if self.law is not None and linear.at is None:
            reports, covariances = self.law, linear.known().times(row)
            scale = float(row @ covariances)

            def moved_law(value: Array) -> tuple[Array, Array]:
                gap = float(row @ linear.estimate - value[0])
                moved = reports.moved(covariances * (-gap / scale if scale else 0.0))
                variance = np.diagonal(moved.covariance(row[None]))
                cumulant = moved.third_cumulants(row[None])
                return np.sqrt(variance), cumulant / np.where(variance > 0.0, variance, 1.0) ** 1.5

            return ContrastLaw(moved_law, *span)
        if self.tally is None or np.count_nonzero(row) != 1:
            return None
        # a multiple of one frequency
        tally, entry, places = self.tally, np.flatnonzero(row)[0], np.arange(self.k)[linear.places]
        place, factor = np.searchsorted(places, entry), row[entry]
        inside = np.clip(linear.estimate[places], 0.0, 1.0)

        def tally_law(value: Array) -> tuple[Array, Array]:
            p = inside.copy()
            p[place] = value[0] / factor
            se, skewness, _ = tally.law(p)
            return abs(factor) * se[[place]], np.sign(factor) * skewness[[place]]

        return ContrastLaw(tally_law, *span)

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        """At the likeliest frequencies of the null, if the law of each answer is known.

        But of labels where a short step along the covariance of the estimate leads there.
        """
        V, estimate = self.linear.known(), self.linear.estimate
        weights = np.linalg.lstsq(V.transform(R), gap, rcond=None)[0]
        change = np.asarray(-V.times(R.T @ weights))  # takes the estimate to the null
        if self.law is not None:
            led = np.allclose(R @ change, -gap, rtol=1e-6, atol=1e-12)
            near = led and all(part.can_move(change) for part in self.law.parts)
            if self.answers is None or near:
                moved = self.law.moved(change)
                parts = [(part.contrasts(R), part.law, part.nobs) for part in moved.parts]
                return ReportSums(moved.covariance(R), parts)
        law = None if self.answers is None else self.answers.null_law(R, R @ estimate - gap)
        if law is not None or self.tally is None or not self.tally.everywhere:
            return law
        inside = np.clip(estimate, 0.0, 1.0)
        there, here = (self.tally.law(p)[0] for p in (inside + change, inside))
        return ReportSums(V.transform(R) + (R * (there**2 - here**2)) @ R.T)

    def _testing_covariance(self, estimated: Covariance) -> Covariance:
        least = 0.5 / self.nobs**2  # that nobody was seen is not certain: half a report was
        unseen = estimated.variances() < 1e-3 * least
        if not unseen.any() or self.answers is None:
            return estimated
        k = self.k
        more = Covariance(np.where(unseen, least, 0.0), np.zeros((0, 0)), np.zeros((k, 0)))
        return (estimated + more).without_excess(project_simplex(self.linear.estimate))

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
        remedy = "is not a category of these results"
        i = position("first", first, self.categories, remedy)
        j = position("second", second, self.categories, remedy)
        alpha = level(alpha)
        if i == j:
            raise InvalidArgument("second", second, "is the first category: name two")
        R = np.zeros((1, self.k))
        R[0, i], R[0, j] = 1.0, -1.0
        try:
            test = self.t_test(R)
        except InvalidArgument:  # which names another argument
            remedy = f"and {first!r} were never reported, of which conf_int() tells more"
            raise InvalidArgument("second", second, remedy) from None
        sd, ends, p = np.ravel(test.sd), test.conf_int(alpha)[0], np.ravel(test.pvalue)
        values: list[float] = [*test.effect, *sd, *ends, *p]
        return pd.Series(values, index=[*ESTIMATES, "pvalue"], name=f"{first} - {second}")

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
        alpha = level(alpha)
        # the ratio is r where (1 - v) sum first - v sum second is zero, with v = r / (1 + r)
        R = np.zeros((2, self.linear.estimate.size))
        R[0, above] = R[1, below] = 1.0
        rows, estimate, V = self.linear.restricted(R)
        num, den = (float(x) for x in rows @ estimate)
        between = None if self.answers is None else self.answers.between(*R)
        if between is None and (self.law is None or self.linear.at is not None):
            spread = V.transform(rows)
            return fieller(num, den, spread[0, 0], spread[1, 1], spread[0, 1], alpha)
        # what is in both sums alone, in the first alone or in the second alone: ratios 1, inf and 0
        low = 0.0 if np.any(R[1] > R[0]) else 0.5
        high = 1.0 if np.any(R[0] > R[1]) else 0.5
        if low < high and max(num, den) > 0.0:
            centre = min(max(max(num, 0.0) / (max(num, 0.0) + max(den, 0.0)), low), high)

            def tail(v: float, upper: bool) -> float:
                row = (1.0 - v) * R[0] - v * R[1]
                law: Any = self._contrast_law(row) if between is None else between(v)
                se, skewness = law.at(np.zeros(1))
                gap = np.array([(1.0 - v) * num - v * den])
                return float(one_sided(gap, se, skewness, upper)[0])

            low = _limit(tail, centre, low, True, alpha)
            high = _limit(tail, centre, high, False, alpha)
        least, most = (v / (1.0 - v) if v < 1.0 else np.inf for v in (low, high))
        return FiellerInterval(least, most, "bounded" if most < np.inf else "unbounded")

    # -- ordered answers -------------------------------------------------------------------

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
        alpha = level(alpha)
        self._refuse_open()
        values = checked_scores(scores, self.categories)
        mean = mean_score(self, values)
        name = f"mean of {self.name}" if self.name else "mean"
        return pd.Series([mean.estimate, mean.se, *mean.interval(alpha)], ESTIMATES, name=name)

    def turnover(self, alpha: float = 0.05) -> pd.Series[float]:
        """Share of the persons whose answer was not the same in all waves, of `Survey.paths`.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper", as of `mean`.

        Raises
        ------
        NotAvailable
            If the categories are no paths.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "no", "yes", "no"] * 25,
        ...                       "ill_2": ["no", "yes", "yes", "no"] * 25})
        >>> asked = dict.fromkeys(("ill_1", "ill_2"), ldp.Warner(epsilon=4.0))
        >>> paths = ldp.Survey(table, asked).paths(["ill_1", "ill_2"], "ill")
        >>> paths.frequencies("ill").turnover().round(3).to_dict()
        {'estimate': 0.231, 'se': 0.047, 'lower': 0.147, 'upper': 0.33}
        """
        _, paths = self._paths()
        moved = (paths != paths[:, :1]).any(axis=1).astype(float)
        return self.mean(moved, alpha).rename("turnover")

    def transitions(self, alpha: float = 0.05) -> pd.DataFrame:
        """Shares of the answers in the last wave among those of each in the first, of paths.

        Returns
        -------
        DataFrame, a row for each answer before and answer after
            "estimate", "se", and "lower" and "upper" of `ratio`; nan where nobody is estimated to
            begin.
        """
        (waves, paths), alpha = self._paths(), level(alpha)
        labels, rows = waves[0][1].categories, []
        index = pd.MultiIndex.from_product([labels, labels], names=[waves[0][0], waves[-1][0]])
        for i, j in np.ndindex(len(labels), len(labels)):
            begun = paths[:, 0] == i
            both = begun & (paths[:, -1] == j)
            R, p, V = self.linear.restricted(np.array([both, begun], dtype=float))
            above, below = R @ p
            rows.append([np.nan] * 4)
            if below > 0.0:
                se = np.sqrt(V.forms([R[0] - above / below * R[1]])[0]) / below
                of_both, of_begun = (self.categories[one].tolist() for one in (both, begun))
                within = self.ratio(of_both, of_begun, alpha)
                rows[-1] = [above / below, se, within.low, within.high]
        columns = ["estimate", "se", "lower", "upper"]
        return Table(rows, index=index, columns=columns)

    def _paths(self) -> tuple[list[tuple[str, Mechanism]], Array]:
        return paths_of(mechanism_from_dict(self.mechanisms[0]))

    def cumulative(self, alpha: float = 0.05) -> pd.DataFrame:
        """Cumulative frequencies in the order of the categories, with score intervals.

        The order is the mechanism's: that of the categories it was made with, as of an ordered
        pandas categorical. Answers without an order have no cumulative frequencies, whatever order
        they are listed in; numbers must be listed from the smallest to the largest.

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
        alpha = level(alpha)
        rows = [[one.estimate, one.se, *one.interval(alpha)] for one in self._cumulative_sums()]
        return pd.DataFrame(rows, self.categories, ESTIMATES)

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
        ===========================================
        q            estimate      lower      upper
        -------------------------------------------
        0.5               low        low     middle
        0.75           middle     middle     middle
        ===========================================
        """
        alpha, sums = level(alpha), self._cumulative_sums()
        places = lambda one: quantile_bounds(sums, one, alpha)  # noqa: E731
        return quantile_table(q, places, self.categories, self.name)

    def _cumulative_sums(self) -> list[WeightedSum]:
        """The sums of frequencies up to each category; refused of numbers that do not ascend."""
        self._refuse_open()
        check_order(self.categories)
        return cumulative_sums(self)

    def _refuse_open(self) -> None:
        """Refuse lists of candidates, whose frequencies need not sum to one."""
        if self.unexplained is not None or self.linear.at is not None:
            raise NotAvailable(NOT_ORDERED)

    # -- presentation ----------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        test = self.goodness_of_fit
        return super()._facts() | {"goodness_pvalue": np.nan if test is None else test.pvalue}

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        return self._rows(level(alpha))[0]

    def _rows(self, alpha: float, max_rows: int = 0) -> tuple[Frame, Frame]:
        if not self.linear.has_errors:
            frame = self._estimates_frame(alpha).assign(presence_pvalue=np.nan)
            return frame, frame
        bounds, ends = self._by_method("default", alpha), ["lower", "upper"]
        uncut = pd.DataFrame(bounds.copy(), self.categories, ends)
        cut = self._cut(bounds, "default", self.linear, alpha)
        frame = self._estimates_frame(alpha, pd.DataFrame(cut, self.categories, ends))
        return frame.assign(presence_pvalue=self._zero_pvalues("larger")), uncut

    def _heading(self) -> Heading:
        name, left, right = super()._heading()
        if (rest := self.unexplained) is not None:
            (error,), at = figures([rest.bse], 4), self.linear.at
            looked = self.k if at is None else f"{self.k}, {at.size} selected"
            share = f"{rest.estimate:.4f} (std err {error})"
            left[-1:] = [("Candidates:", looked), ("Not among them:", share)]
        return name, left, right

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        if not self.linear.has_errors:
            return [
                f"Standard errors of {len(frame)} candidates at once were not computed: use method "
                "'lasso', or fewer candidates."
            ]
        is_cut = bool((uncut["lower"] < 0.0).any() or (uncut["upper"] > 1.0).any())
        notes = [interval_note(alpha, interval_kind(self), uncut if is_cut else None, source)]
        if source and self.linear_method == "one step":
            notes.append("Unconstrained estimate: one Newton step of the likelihood.")
        for beyond, where, end in (
            (uncut["upper"] <= 0.0, "below 0", "upper"),
            (uncut["lower"] >= 1.0, "above 1", "lower"),
        ):
            if beyond.any():
                s = "s" * int(beyond.sum() > 1)
                notes.append(
                    f"NOTE: before the cut the interval{s} of "
                    f"{_first_labels(frame.index[beyond])} lay wholly {where}; the {end} "
                    f"limit{s} shown instead: where the estimate would be "
                    f"{alpha / 2:g} times as likely as at {where[-1]} (see conf_int)."
                )
        missed = (frame["params"] < frame["lower"]) | (frame["params"] > frame["upper"])
        if missed.any() and self.is_maximum:
            words = "interval of {} does" if missed.sum() == 1 else "intervals of {} do"
            notes.append(
                f"NOTE: the {words.format(_first_labels(frame.index[missed]))} not contain the "
                "estimate, which is constrained: intervals belong to the unconstrained one."
            )
        return [*notes, f"p-value: {PRESENCE}."]

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        notes: list[str] = []
        if self.unexplained is not None and self.assumes_complete:
            notes.append(
                "The estimate assumes that the candidates are the only possible answers: it sums "
                "to one."
            )
            if self.is_incomplete:
                notes.append(
                    "WARNING: the reports indicate that other answers exist; use the unconstrained "
                    "estimate."
                )
        if self.caution:
            notes.append(
                f"WARNING: the list of candidates is not complete, and {self.caution}: tests and "
                "intervals do not keep their level."
            )
        if self.linear.at is not None:
            notes.append(
                "NOTE: intervals and the share that is not among the candidates are computed as if "
                f"the {self.linear.at.size} selected candidates had been chosen in advance, and "
                f"cover less often than stated; tests are adjusted for all {self.k} candidates."
            )
        if self.method == "smoothed":
            how = self.message.partition(", ")[0].removeprefix("likelihood with ")
            notes.append(
                "NOTE: the estimate is penalised for roughness "
                f"({how.replace(' (chosen)', ', chosen')}), which biases it towards smooth "
                "frequencies; intervals and p-values rest on the unconstrained estimate."
            )
        if self.on_boundary and self.method not in ("inversion", "lasso"):  # which know no boundary
            notes.append(
                "NOTE: the estimate is on the boundary (a frequency of zero); the intervals keep "
                "their coverage there."
            )
            if self.method not in ("mle", "em", "cvxpy", "smoothed"):
                notes.append("NOTE: the standard errors of the estimate hold in the interior only.")
        notes += resolution_notes(self, frame["presence_pvalue"].to_numpy)
        notes += closing_notes(self, self.condition, self.goodness_of_fit)
        if self.goodness_of_fit is not None and self.dispersion > 1.0:
            which = "the candidates" if self.linear.at is None else "the selected"
            notes.append(
                "NOTE: standard errors of the unconstrained estimate are "
                f"{np.sqrt(self.dispersion):.3g} times those from the reports alone, to allow "
                f"for answers that are not among {which}; cohorts are weighted accordingly."
            )
        return notes

    # -- storage ---------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> FrequencyResults:
        return super()._restored(values | {"is_partial": is_partial(values["mechanisms"])})


def _limit(
    tail: Callable[[float, bool], float], centre: float, end: float, upper: bool, alpha: float
) -> float:
    """The last value on the way from the centre to an end of the range that is not rejected.

    If the centre is itself rejected, because an estimate is negative, that at which the estimate is
    alpha/2 times as probable as there (a CLs limit).
    """
    half = alpha / 2.0
    at_centre = tail(centre, upper)
    least = half if at_centre > half else half * at_centre
    if end == centre or tail(end, upper) >= least:
        return end
    return float(root(lambda v: tail(float(v), upper) - least, centre, end))


NOT_ORDERED = (
    "ordered answers need all categories: candidates over an open alphabet have no mean, "
    "cumulative frequencies or quantiles"
)


def check_order(labels: Labels) -> None:
    """Refuse cumulative frequencies of numbers that do not ascend."""
    numeric = isinstance(labels, pd.RangeIndex) or pd.api.types.is_numeric_dtype(labels.dtype)
    if numeric and not labels.is_monotonic_increasing:
        raise InvalidArgument(
            "categories",
            labels[:5].tolist(),
            "are numbers that do not ascend, and cumulative frequencies go by their order: list "
            "the categories of the mechanism from the smallest to the largest",
        )


def quantile_table(
    q: Any, places: Callable[[float], Any], categories: Labels, name: str
) -> pd.Series[Any] | pd.DataFrame:
    """The categories at the `places` of a quantile and its interval, or of several quantiles."""
    remedy = "must be a probability, or a list of them"
    alone = isinstance(q, int | float | np.number)
    wanted = [q] if alone else numbers("q", q, remedy).tolist()
    if not isinstance(wanted, list) or not wanted or any(isinstance(v, list) for v in wanted):
        raise InvalidArgument("q", q, remedy)
    wanted = [probability("q", value, zero=False, one=False) for value in wanted]
    rows, columns = [categories.take(places(v)) for v in wanted], ["estimate", "lower", "upper"]
    if alone:
        called = f"{wanted[0]:g} quantile" + (f" of {name}" if name else "")
        return pd.Series(rows[0], index=columns, name=called)
    index = pd.Index(wanted, name="q")
    return pd.DataFrame([row.tolist() for row in rows], index=index, columns=columns)


def paths_of(mechanism: Mechanism) -> tuple[list[tuple[str, Mechanism]], Array]:
    """The waves of a mechanism of paths, and the numbers of the answers of each path, (k, T)."""
    waves = list(mechanism.questions.items()) if isinstance(mechanism, Product) else []
    if not waves or not all(one.categories.equals(waves[0][1].categories) for _, one in waves):
        words = 'paths of answers: survey.paths([...], "ill").frequencies("ill") has them'
        raise NotAvailable(f"the categories of {mechanism} are no {words}")
    sizes = [one.k for _, one in waves]
    return waves, np.column_stack(np.unravel_index(np.arange(np.prod(sizes)), sizes))


def checked_scores(scores: Any, labels: Labels) -> Array:
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


def interval_kind(fit: FrequencyResults) -> str:
    """How the default intervals are computed, in words."""
    own = fit._counted[fit.linear.places]
    kind = "Wald" if fit.tally is None else "score, with the skewness of the reports"
    if own.all():
        return "exact (Clopper-Pearson)"
    if own.any():
        return f"exact (where a category has a count of its own) or {kind}"
    return kind


def _first_labels(labels: Any) -> str:
    """The first labels, and how many more there are."""
    shown = [one_line(label, LONGEST_LABEL) for label in labels[:3]]
    *first, last = [*shown, f"{len(labels) - 3} more"] if len(labels) > 3 else shown
    return f"{', '.join(first)} and {last}" if first else last
