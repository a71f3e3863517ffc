"""What a fit returns: estimates, their covariance, and everything that can be asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of, positive_integer
from ldpstats.arguments.labels import labels_from_json, labels_to_json, position
from ldpstats.errors import (
    BoundaryWarning,
    IncompleteListWarning,
    InvalidArgument,
    NotAvailable,
)
from ldpstats.inference import intervals, multiplicity
from ldpstats.inference import tests as tests_
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.results import FittedResults
from ldpstats.problems.estimates import (
    ExactForm,
    ReportLaw,
    Tallies,
    Uncertain,
    Unexplained,
    number_from_json,
    number_to_json,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from ldpstats.models.shared.contrasts import ContrastLaw

__all__ = ["FrequencyResults"]

Array = npt.NDArray[Any]

_FORMAT, _VERSION = "ldpstats-frequency-results", 1
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
    "fitted": Uncertain,
    "linear": Uncertain,
    "exact": ExactForm,
    "tally": Tallies,
    "law": ReportLaw,
    "goodness_of_fit": TestResult,
    "unexplained": Unexplained,
}
_FIELDS = {"categories", *_PLAIN, *_NUMBERS, *_PARTS}
COMPLETE = ("mle", "em", "cvxpy", "projected", "normalized", "thresholded")
"""Estimators whose frequencies sum to one: over candidates, as if there were no other answers."""
_FEW = 50  # reports: a count of that mean is about as skewed as a normal interval can bear
_INTERVALS = ("default", "exact", "wilson", "wald", "wald-mle", "profile", "bootstrap")


@dataclass(frozen=True, eq=False)
class FrequencyResults(FittedResults):
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
    n_missing: int
    mechanisms: tuple[dict[str, Any], ...]
    sources: tuple[str, ...]
    epsilon: float
    exact: ExactForm | None = None
    tally: Tallies | None = None
    law: ReportLaw | None = None
    linear_method: str = "inversion"
    goodness_of_fit: TestResult | None = None
    settings: str = ""
    unexplained: Unexplained | None = None
    dispersion: float = 1.0
    condition: float = 1.0
    caution: str = ""

    def __repr__(self) -> str:
        return f"FrequencyResults({self.method}, k={self.k}, n={self.nobs}; {self.sources[0]})"

    @property
    def index(self) -> pd.Index[Any]:
        return self.categories

    # -- intervals -------------------------------------------------------------------------

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
            simulated surveys (needs ``model=`` and ``rng=``; ``n_boot=`` defaults to 999). The
            last three lean on asymptotics that fail on the boundary, and warn there.
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
        method = one_of("method", method, _INTERVALS)
        if simultaneous is not None:
            simultaneous = one_of("simultaneous", simultaneous, ("bonferroni", "sidak", "scheffe"))
        chosen = "wald" if method == "default" and simultaneous == "scheffe" else method
        if simultaneous == "scheffe":
            if chosen not in ("wald", "wald-mle"):
                raise InvalidArgument("simultaneous", simultaneous, "goes with method='wald'")
        elif simultaneous is not None:
            alpha = intervals.simultaneous_alpha(alpha, self.k, simultaneous)
        if chosen in ("wald-mle", "profile", "bootstrap"):
            self._warn_boundary(chosen)
        bounds = self._bounds(chosen, alpha, simultaneous == "scheffe", how)
        if clip and chosen not in ("profile", "bootstrap"):
            bounds = self._cut(bounds, chosen, alpha)
        return pd.DataFrame(bounds, index=self.categories, columns=["lower", "upper"])

    def _bounds(self, method: str, alpha: float, scheffe: bool, how: dict[str, Any]) -> Array:
        allowed = {"profile": {"model"}, "bootstrap": {"model", "rng", "n_boot", "estimator"}}.get(
            method, set()
        )
        for name, value in how.items():
            if name not in allowed:
                raise InvalidArgument(name, value, f"is no option of method={method!r}")
        if method in ("profile", "bootstrap"):
            model = how.get("model")
            compute_here = getattr(model, f"{method}_intervals", None)
            if not isinstance(getattr(model, "nobs", None), int):
                compute_here = None
            if compute_here is None:
                raise InvalidArgument(
                    "model", model, f"results hold no data: pass the fitted model for {method!r}"
                )
            options = {k: v for k, v in how.items() if k != "model"}
            return np.asarray(compute_here(self, alpha, **options))
        if method in ("exact", "wilson"):
            if self.exact is None or not self.exact.known.all():
                raise NotAvailable(
                    f"no {method} interval: categories do not each have a binomial count of their "
                    "own under this channel; use the default, or method='wald'"
                )
            compute = intervals.exact_binomial if method == "exact" else intervals.wilson
            return self.exact.apply(compute, alpha)
        self.linear.known()
        if method == "default":
            bounds = self._around(self.linear, partial(intervals.wald, alpha=alpha))
            if self.tally is not None:
                at = self.linear.places
                estimate = self.linear.estimate[at]
                if self.tally.everywhere:
                    score = intervals.inverted(estimate, self.tally.law, alpha)
                    within = np.clip(np.column_stack([estimate, score]), 0.0, 1.0).T
                    skewness = [self.tally.law(p)[1] for p in within]
                    few = _FEW * np.square(skewness).max(axis=0) > 1.0  # else it hardly matters
                    bounds[at] = np.where(few[:, None], score, bounds[at])
                else:
                    bounds[at] = intervals.skewed(estimate, *self.tally.law(estimate), alpha)
            own = np.flatnonzero(self.counted)
            if self.exact is not None and own.size:
                bounds[own] = self.exact.take(own).apply(intervals.exact_binomial, alpha)
            return bounds
        which = self.fitted if method == "wald-mle" else self.linear
        if which.covariance is None:
            raise NotAvailable(f"no covariance of params was computed: {self.cov_type}")
        if scheffe:
            return self._around(which, partial(intervals.scheffe, alpha=alpha, df=self.k - 1))
        return self._around(which, partial(intervals.wald, alpha=alpha))

    @property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Categories, shape (k,), whose default interval and tests rest on a binomial count."""
        if self.exact is None or self.linear_method != "inversion":
            return np.zeros(self.k, dtype=bool)
        return self.exact.known

    def _cut(self, bounds: Array, method: str, alpha: float) -> Array:
        """Intersect intervals with [0, 1]; what lies outside gets a limit of its own."""
        at = np.zeros(self.k, dtype=bool)
        at[self.linear.places] = True
        own = {"default": self.counted, "exact": at, "wilson": at}.get(method, np.zeros_like(at))
        if self.exact is not None and own.any():
            form = self.exact.take(np.flatnonzero(own))
            counts = form.tally, form.nobs, form.offset, form.scale
            bounds[own] = intervals.edge_binomial(bounds[own], *counts, alpha)
        which = self.fitted if method == "wald-mle" else self.linear
        se = which.bse()
        if method == "default" and self.tally is not None:
            inside = np.clip(which.estimate[which.places], 0.0, 1.0)
            se[which.places] = self.tally.law(inside)[0]
        at &= ~own
        bounds[at] = intervals.edge_normal(bounds[at], which.estimate[at], se[at], alpha)
        return bounds

    def _around(self, which: Uncertain, compute: Any) -> Array:
        """Intervals around the estimates that have a standard error; nan for the others."""
        at, bounds = which.places, np.full((self.k, 2), np.nan)
        bounds[at] = compute(which.estimate[at], which.bse()[at])
        return bounds

    @property
    def assumes_complete(self) -> bool:
        """Whether the estimate takes candidates for all answers: its frequencies sum to one."""
        return self.unexplained is not None and self.method in COMPLETE

    @property
    def is_incomplete(self) -> bool:
        """Whether the estimate takes candidates for all answers, and the reports differ.

        They do where the unexplained share exceeds two standard errors, or the goodness of fit is
        below .01.
        """
        share, fit = self.unexplained, self.goodness_of_fit
        if share is None or not self.assumes_complete:
            return False
        return share.estimate > 2.0 * share.bse or (fit is not None and fit.pvalue < 0.01)

    def _warn_boundary(self, method: str) -> None:
        import warnings

        if self.is_incomplete:
            warnings.warn(
                f"method={method!r} takes the candidates for all answers, and the reports say that "
                "they are not; the default interval does not",
                IncompleteListWarning,
                stacklevel=3,
            )
        if self.on_boundary:
            warnings.warn(
                f"method={method!r} with an estimate of zero: its coverage is not the nominal one "
                "on the boundary; the default interval keeps its coverage",
                BoundaryWarning,
                stacklevel=3,
            )

    # -- tests -----------------------------------------------------------------------------

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of p = 0 for each category, exact where the channel allows.

        A candidate that was not selected has the p-value 1.
        """
        p, own = self._z_pvalues("two-sided"), np.flatnonzero(self.counted)
        if self.exact is not None and own.size:
            form = self.exact.take(own)
            tails = form.apply(tests_.binomial_excess), form.apply(tests_.binomial_deficit)
            p[own] = np.minimum(2.0 * np.minimum(*tails), 1.0)
        return self._series(p, "pvalues")

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
        rejected = multiplicity.reject(self.presence_pvalues().to_numpy(), alpha, method)
        return self.categories[np.asarray(rejected)]

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of p = 0 against p > 0, not adjusted for multiplicity.

        A candidate that was not selected has the p-value 1, and counts among the tests.
        """
        p, own = self._z_pvalues("larger"), np.flatnonzero(self.counted)
        if self.exact is not None and own.size:
            p[own] = self.exact.take(own).apply(tests_.binomial_excess)
        return self._series(p, "presence_pvalues")

    def _z_pvalues(self, alternative: str) -> Array:
        self.linear.known()
        at, se = self.linear.places, self.linear.bse()
        p = np.ones(self.k)
        estimate = self.linear.estimate[at]
        if self.tally is None:
            p[at] = tests_.z_test(estimate, se[at], 0.0, alternative)[1]
            return p
        se, skewness = self.tally.absent(estimate.size)
        z = tests_.z_test(estimate, se)[0]
        step = continuity(skewness) if self.tally.everywhere else 0.0
        larger, smaller = (skewed_pvalue(s * z - step, s * skewness) for s in (1.0, -1.0))
        p[at] = larger
        if alternative == "two-sided":
            p[at] = np.minimum(2.0 * np.minimum(larger, smaller), 1.0)
        return p

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        from ldpstats.models.shared.contrasts import ContrastLaw

        span, entries = (float(row.min()), float(row.max())), np.flatnonzero(row)
        if self.law is not None and self.linear.at is None:
            return ContrastLaw(partial(self._moved_law, row), *span)
        if self.tally is not None and entries.size == 1:
            place = np.searchsorted(np.arange(self.k)[self.linear.places], entries[0])
            return ContrastLaw(partial(self._tally_law, row[entries[0]], place), *span)
        return None

    def _moved_law(self, row: Array, value: Array) -> tuple[Array, Array]:
        """Standard error and skewness of a contrast if it is `value`, from the law of reports."""
        assert self.law is not None
        R = row[None]
        law = self.law.moved(self._restriction(R, R @ self.linear.estimate - value))
        variance = np.diagonal(law.covariance(R))
        cumulant = law.third_cumulants(R)
        return np.sqrt(variance), cumulant / np.where(variance > 0.0, variance, 1.0) ** 1.5

    def _tally_law(self, factor: float, place: int, value: Array) -> tuple[Array, Array]:
        """The same of a multiple of one frequency, from its tally."""
        assert self.tally is not None
        p = np.clip(self.linear.estimate[self.linear.places], 0.0, 1.0)
        p[place] = value[0] / factor
        se, skewness, _ = self.tally.law(p)
        return abs(factor) * se[[place]], np.sign(factor) * skewness[[place]]

    def _null_covariance(self, R: Array, gap: Array) -> Array | None:
        if self.linear.at is not None:
            return None
        change = self._restriction(R, gap)
        if self.law is not None:
            return self.law.moved(change).covariance(R)
        if self.tally is None or not self.tally.everywhere:
            return None
        inside = np.clip(self.linear.estimate, 0.0, 1.0)
        there, here = (self.tally.law(p)[0] for p in (inside + change, inside))
        return np.asarray(self.linear.known().transform(R) + (R * (there**2 - here**2)) @ R.T)

    def _restriction(self, R: Array, gap: Array) -> Array:
        """What takes the estimate, whose contrasts R are off by `gap`, to the null: shape (k,)."""
        V = self.linear.known()
        weights = np.linalg.lstsq(V.transform(R), gap, rcond=None)[0]
        return np.asarray(-V.times(R.T @ weights))

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
        R = np.zeros((1, self.k))
        i, j = self._position("first", first), self._position("second", second)
        if i == j:
            raise InvalidArgument("second", second, "is the first category: name two")
        R[0, i], R[0, j] = 1.0, -1.0
        test = self.t_test(R)
        lower, upper = test.conf_int(level(alpha))[0]
        values = [test.effect[0], test.sd.ravel()[0], lower, upper, float(np.ravel(test.pvalue)[0])]
        index = ["estimate", "se", "lower", "upper", "pvalue"]
        return pd.Series(values, index=index, name=f"{first} - {second}")

    def ratio(self, first: Any, second: Any, alpha: float = 0.05) -> FiellerInterval:
        """Fieller's interval of the ratio of two frequencies; it may be unbounded, and says so.

        Raises
        ------
        InvalidArgument
            For a label that is no category.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> print(results.ratio("a", "b"))
        [1.254, 2.581]
        """
        R = np.zeros((2, self.k))
        R[[0, 1], [self._position("first", first), self._position("second", second)]] = 1.0
        R, estimate, covariance = self.linear.restricted(R)
        num, den = R @ estimate
        V = covariance.transform(R)
        return fieller(num, den, V[0, 0], V[1, 1], V[0, 1], level(alpha))

    def _position(self, name: str, label: Any) -> int:
        return position(name, label, self.categories, "is not a category of these results")

    # -- presentation ----------------------------------------------------------------------

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, one row per category; nan where no standard errors were computed
            "params", "bse", "linear", "linear_se", "lower", "upper" (default interval) and
            "presence_pvalue" (one-sided, p = 0 against p > 0, not adjusted).
        """
        frame = self._estimates_frame(alpha)
        computed = self.linear.covariance is not None
        frame["presence_pvalue"] = self.presence_pvalues() if computed else np.nan
        return frame

    def summary(self, alpha: float = 0.05, max_rows: int = 40) -> Summary:
        """The fit as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Categories to show; the largest estimates come first where there are more.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> summary = ldp.FrequencyModel(counts).fit().summary()
        >>> summary.as_text().splitlines()[0].strip()
        'Frequencies of a privatised variable'
        """
        from ldpstats.models.frequency.summary import frequency_summary

        return frequency_summary(self, level(alpha), positive_integer("max_rows", max_rows))

    def plot(self, ax: Axes | None = None, alpha: float = 0.05, truth: Any = None) -> Axes:
        """Draw the estimates with their intervals, and the truth where the caller has it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        truth : Series or array, shape (k,), optional
            True frequencies to mark.

        Raises
        ------
        InvalidArgument
            For a truth that does not fit the categories, or an `ax` that is no Axes.
        """
        from ldpstats.models.frequency.plots import plot_frequencies

        return plot_frequencies(self, ax, level(alpha), truth)

    # -- storage ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The results as plain JSON types; no report is in them."""
        document = {name: getattr(self, name) for name in _PLAIN}
        numbers = (*_NUMBERS, "condition")
        document |= {name: number_to_json(getattr(self, name)) for name in numbers}
        document |= {
            name: None if getattr(self, name) is None else getattr(self, name).to_dict()
            for name in _PARTS
        }
        document["categories"] = labels_to_json(self.categories)
        document |= {name: list(getattr(self, name)) for name in _LISTS}
        return {"format": _FORMAT, "version": _VERSION} | document

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> FrequencyResults:
        d = cls._checked(document, _FORMAT, _VERSION, _FIELDS)
        given = {name: d[name] for name in _PLAIN}
        given |= {name: number_from_json(d[name]) for name in _NUMBERS}
        given["condition"] = number_from_json(d.get("condition", 1.0))  # 0.1.0 wrote none
        given |= {
            name: None if d[name] is None else part.from_dict(d[name])
            for name, part in _PARTS.items()
        }
        given["categories"] = labels_from_json("categories", d["categories"])
        given |= {name: tuple(d[name]) for name in _LISTS}
        return cls(**given)
