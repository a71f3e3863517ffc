"""The distribution behind a personalised mechanism, with everything that can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of
from ldpstats.arguments.labels import labels_from_json, labels_to_json
from ldpstats.errors import NotAvailable
from ldpstats.inference import intervals
from ldpstats.inference.tests import z_test
from ldpstats.models.frequency import contrasts
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.personalized import intervals as personalized
from ldpstats.models.personalized.background import Background
from ldpstats.models.personalized.intervals import Mixture
from ldpstats.models.shared.boundary import warn_of_method
from ldpstats.models.shared.categories import CategoryResults
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import SummaryTable

if TYPE_CHECKING:
    from ldpstats.inference.quadratic import ReportSums
    from ldpstats.models.shared.contrasts import ContrastLaw

__all__ = ["PersonalizedResults", "personalized_results"]

Array = npt.NDArray[Any]

_INTERVALS = ("default", "wald", "wald-mle")
# mechanisms whose reports are counted category by category: of labels one at a time, or bits
_LABELS = {"URR": True, "KRR": True, "URAP": False, "KRAPPOR": False}


@dataclass(frozen=True, eq=False)
class PersonalizedResults(CategoryResults):
    """Estimated frequencies of the categories behind a personalised mechanism (`PUM`).

    The reports determine the frequencies r of the intermediate categories, which are those of the
    mechanism and a bot for each tag. The frequencies of the truth add the bots' shares, spread over
    the categories by the background (MK19 eq. 21). `params`, `bse` and `cov_params` describe the
    estimator that was asked for; intervals, p-values and tests rest on the linear estimate
    (`linear_params`, `linear_cov`).

    With an exact background they are about the frequencies themselves. Otherwise they are about
    what these would be if the background were right: the noise of the reports is allowed for, an
    error of the background is not, and no report can show it; `loss_bound` has its worst case.

    Attributes
    ----------
    params : Series, shape (k,)
        Estimated frequencies by category; a distribution wherever the estimate of r is one.
    linear_params : Series, shape (k,)
        From the unconstrained estimate of r; it may leave [0, 1].
    intermediate : FrequencyResults
        The estimate of r, over k + kappa categories.
    background : DataFrame, shape (kappa, k)
        Distribution of the category behind each tag that `params` rest on.
    case : Series, shape (kappa,)
        What is known of each tag: "none" (it was spread in proportion to the estimates of the
        categories that are not sensitive for all), "given" or "exact"; MK19's I, II and III.
    nobs : int
        Number of reports.
    llf, gap : float
        Log-likelihood of the reports in nats, and its certificate: those of `intermediate`.

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    detected, presence_pvalues, t_test, wald_test
        Which frequencies are above zero; tests of contrasts.
    loss_bound
        The expected l1 error, and what an error of the background adds at most.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, epsilon=1.0), ("home",))
    >>> counts = pum.common.counts([180, 60, 370, 390])
    >>> homes = {"home": [0.25, 0.75, 0.0]}
    >>> results = ldp.PersonalizedModel(counts, pum, homes, exact=True).fit()
    >>> results
    PersonalizedResults(mle, k=3, tags: home (exact), n=1000;
        URR(k=4, sensitive={'clinic', 'home'}, epsilon=1))
    >>> results.conf_int().round(3)
            lower  upper
    centre  0.408  0.506
    park    0.274  0.383
    clinic  0.154  0.285
    """

    categories: pd.Index[Any]
    assumed: Background
    intermediate: FrequencyResults

    tags = Part["pd.Index[Any]"]("assumed", "The tags that reports may name, in order.")
    given = Part["Array"](
        "assumed", "Distribution behind each tag; a row of nan where there is none."
    )
    others = Part["Array"]("assumed", "Categories that are not sensitive for all.")
    exact = Part[bool]("assumed", "Whether the background is the truth.")

    df_model = Part[int]("intermediate", "Intermediate frequencies that vary freely.")
    df_resid = Part[int]("intermediate", "Reports less `df_model`.")
    aic = Part[float]("intermediate", "Akaike's criterion of the intermediate frequencies.")
    bic = Part[float]("intermediate", "Schwarz's criterion of the intermediate frequencies.")

    _format = "ldpstats-personalized-results"
    _required = frozenset({"categories", "tags", "given", "others", "exact", "intermediate"})

    def __repr__(self) -> str:
        tags = ", ".join(f"{tag} ({case})" for tag, case in self.case.items())
        source = self.sources[0]
        return (
            f"PersonalizedResults({self.method}, k={self.k}, tags: {tags}, n={self.nobs}; {source})"
        )

    @property
    def index(self) -> pd.Index[Any]:
        return self.categories

    @property
    def case(self) -> pd.Series[Any]:
        """What is known of the distribution behind each tag: "none", "given" or "exact"."""
        known = "exact" if self.exact else "given"
        cases = ["none" if lacking else known for lacking in self.assumed.is_lacking]
        return pd.Series(cases, index=self.tags, name="case")

    @cached_property
    def _mixtures(self) -> tuple[Mixture, Mixture]:
        """At the estimate that was asked for, and at the linear one."""
        r = self.intermediate
        return self.assumed.mixture(r.fitted.estimate), self.assumed.mixture(r.linear.estimate)

    @property
    def background(self) -> pd.DataFrame:
        """Distribution of the category behind each tag that `params` rest on."""
        pi = self._mixtures[0].background
        return pd.DataFrame(pi, index=self.tags, columns=self.categories)

    def loss_bound(self) -> pd.Series[float]:
        """What the l1 loss of `params` is expected to be at most (MK19 Theorem 1), in two parts.

        Returns
        -------
        Series
            "noise": expected l1 loss of the unconstrained estimate of r, at the estimate (MK19
            Propositions 4 and 7). "background": what errors of the background add at most,
            ``sum_t |r(bot_t)| (1 + |pi_t|_1)`` over the tags, which is twice their share where each
            pi_t is a distribution; none where it is exact. "bound": their sum.

        Notes
        -----
        The paper prints the second part without the absolute value, with which it fails where the
        estimate of a bot is negative. It is the worst case over all backgrounds; what it really is
        no report can show. `planning.personalized_bound` has it for known truth.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
        >>> counts = pum.common.counts([180, 60, 370, 390])
        >>> homes = {"home": [0.25, 0.75, 0.0]}
        >>> ldp.PersonalizedModel(counts, pum, homes).fit().loss_bound().round(3).to_dict()
        {'noise': 0.087, 'background': 0.524, 'bound': 0.611}
        """
        noise = float(np.sqrt(2.0 / np.pi) * self.intermediate.linear_bse.sum())
        bots = np.abs(self.intermediate.fitted.estimate[self.k :])
        most = 1.0 + np.abs(self.background.to_numpy()).sum(axis=1)
        worst = 0.0 if self.exact else float(bots @ most)
        parts = {"noise": noise, "background": worst, "bound": noise + worst}
        return pd.Series(parts, name="l1 loss")

    # -- intervals -------------------------------------------------------------------------

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the frequencies.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald", "wald-mle"}
            "default": from the intervals of the category's own intermediate frequency and of each
            bot, which are exact, with their covariance (`inference.personalized.mover`). "wald":
            linear estimate plus or minus normal quantile times its standard error, too short for
            categories of few reports. "wald-mle": the same around `params`, which fails on the
            boundary, and warns there.
        clip : bool
            Intersect with [0, 1]. An interval that lies outside gets a limit of its own there, see
            `FrequencyResults.conf_int`.

        Returns
        -------
        DataFrame, shape (k, 2)
            Columns "lower" and "upper".

        Notes
        -----
        Under an exact background the default covers .94 to .965 in simulations, cells of few or no
        reports of their own at least .94. Under another it covers what the frequencies would be if
        the background were right.
        """
        alpha = level(alpha)
        method = one_of("method", method, _INTERVALS)
        if method == "default":
            bounds = self._default_bounds(alpha)
        else:
            if method == "wald-mle":
                warn_of_method(method, self.intermediate.on_boundary)
            which = self.linear if method == "wald" else self.fitted
            if which.covariance is None:
                raise NotAvailable(f"no covariance of params was computed: {self.cov_type}")
            bounds = intervals.wald(which.estimate, which.bse(), alpha)
        if boolean("clip", clip):
            which = self.fitted if method == "wald-mle" else self.linear
            bounds = intervals.edge_normal(bounds, which.estimate, which.bse(), alpha)
        return pd.DataFrame(bounds, index=self.categories, columns=["lower", "upper"])

    def _default_bounds(self, alpha: float) -> Array:
        r = self.intermediate.linear
        ends = self.intermediate.conf_int(alpha, clip=False).to_numpy()
        return personalized.intervals(r.estimate, ends, self._mixtures[1], r.known(), alpha)

    # -- tests -----------------------------------------------------------------------------

    def _intermediate_contrasts(self, R: Array) -> Array | None:
        """Contrasts of the intermediate frequencies that are R p, (q, k + kappa).

        None where p is no linear function of these, as bots without a background are spread.
        """
        if self.assumed.is_lacking.any():
            return None
        mix = self._mixtures[1]
        out = (R @ mix.loads) @ mix.rows
        out[:, : self.k] += R * mix.own
        return np.asarray(out)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        given, r = self._intermediate_contrasts(row[None]), self.intermediate
        if given is None:
            return None
        return contrasts.contrast_law(r.linear, r.laws, given[0], r.answers)

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        given, r = self._intermediate_contrasts(R), self.intermediate
        if given is None:
            return None
        return contrasts.null_law(r.linear, r.laws, given, gap, r.answers)

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of p = 0 for each category; see `presence_pvalues`."""
        larger, smaller = self._tails
        return self._series(np.minimum(2.0 * np.minimum(larger, smaller), 1.0), "pvalues")

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of p = 0 against p > 0, not adjusted for multiplicity.

        A frequency is zero only if that of the category's own reports and those of all bots with a
        share in it are. Their counts then have a known law: the p-value is exact where one count is
        left that noise can imitate, and of the weighted sum, with its variance and skewness, where
        several are. A report that reveals the category makes it 0. Where reports of several
        mechanisms leave no such law it is that of the normal estimate.
        """
        return self._series(self._tails[0], "presence_pvalues")

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """p-values against frequencies above zero, and against estimates too negative for zero."""
        self.linear.known()
        p, se = self.linear.estimate, self.linear.bse()
        larger, smaller = (z_test(p, se, 0.0, side)[1] for side in ("larger", "smaller"))
        form, mix, k = self.intermediate.exact, self._mixtures[1], self.k
        if form is None:
            return larger, smaller
        bots = mix.at[mix.at >= 0]
        at = np.column_stack([np.arange(k), np.broadcast_to(bots, (k, bots.size))])
        weights = np.column_stack([np.ones(k), mix.loads[:, mix.at >= 0]])
        tally, enters = form.tally[at], weights > 0.0
        offset, scale = (
            np.where(enters, form.offset[at], 0.0),
            np.where(enters, form.scale[at], 1.0),
        )
        labels = _LABELS.get(self.intermediate.mechanisms[0]["mechanism"])
        told = np.isfinite(scale).all(axis=1)
        if labels is None:  # the joint law of several counts is not known
            told &= np.count_nonzero(offset, axis=1) < 2
        larger[told], smaller[told] = personalized.presence(
            tally[told], form.nobs, offset[told], scale[told], weights[told], bool(labels)
        )
        larger[np.any(enters & (offset == 0.0) & (tally > 0), axis=1)] = 0.0
        return larger, smaller

    # -- presentation ----------------------------------------------------------------------

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, one row per category
            "params", "bse", "linear", "linear_se", "lower", "upper" (default interval) and
            "presence_pvalue" (one-sided, p = 0 against p > 0, not adjusted).
        """
        frame = self._estimates_frame(alpha)
        frame["presence_pvalue"] = self.presence_pvalues()
        return frame

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        from ldpstats.models.personalized.summary import personalized_summary

        return personalized_summary(
            self.fit,
            self.intermediate,
            frame=self.summary_frame(alpha),
            case=self.case,
            bound=self.loss_bound(),
            alpha=alpha,
            max_rows=max_rows,
            details=details,
        )

    # -- storage ---------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        given = zip(self.assumed.given.tolist(), self.assumed.is_lacking, strict=True)
        return {
            "categories": labels_to_json(self.categories),
            "tags": self.tags.tolist(),
            "given": [None if lacking else row for row, lacking in given],
            "others": self.assumed.others.tolist(),
            "exact": self.exact,
            "intermediate": self.intermediate.to_dict(),
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> PersonalizedResults:
        d = document
        categories = labels_from_json("categories", d["categories"])
        none = [np.nan] * len(categories)
        assumed = Background(
            labels_from_json("tags", d["tags"]),
            np.array([none if row is None else row for row in d["given"]], dtype=np.float64),
            np.array(d["others"], dtype=bool),
            d["exact"],
        )
        return personalized_results(
            FrequencyResults.from_dict(d["intermediate"]), categories, assumed
        )


def personalized_results(
    intermediate: FrequencyResults, categories: pd.Index[Any], assumed: Background
) -> PersonalizedResults:
    """Results from those of the intermediate frequencies (MK19 eq. 21).

    `NotAvailable` where a tag has to be spread over estimates that are not positive.
    """
    fit = intermediate.fit
    fit = replace(fit, fitted=assumed.through(fit.fitted), linear=assumed.through(fit.linear))
    return PersonalizedResults(fit, categories, assumed, intermediate)
