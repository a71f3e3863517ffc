"""The distribution behind a personalised utility-optimised mechanism (MK19 section 5).

The intermediate frequencies r are those of k categories and then of kappa bots. A frequency of the
truth is ``p_x = r_x + sum_t r(bot_t) pi_t(x)`` (MK19 eq. 21), where pi_t is the distribution of the
category behind bot t: given, or in proportion to r over the categories that are not sensitive.
Where bots are spread so, with sum B over categories of the sum N, p varies with the contrast
``B - (B/N) sum_N r``, which is zero at r itself.

Intervals are those of sums (`mover`, the method of variance estimates recovery): the lower end of
a sum of q estimates is below it by ``sqrt(sum_ij rho_ij b_i b_j)``, where b_i is how far the lower
end of part i is below its estimate; likewise above. It keeps the skewness and the small-sample
coverage that the intervals of the parts have. Of two parts that are negatively correlated the
shorter sides count in the product: what one loses the other need not make up for where a few
reports decide, and there the product of like sides covers too seldom (.87 in the worst case found).

p-values (`presence`): where all parts of a sum are zero the law of their counts is known. A sum
with one part that noise can imitate has an exact binomial p-value; with several, that of the
weighted sum with its mean, variance and skewness under the null. A report that is impossible under
the null settles it.

In a complex sample r is the weighted estimate of a `WeightedModel`; intervals combine its own, and
p-values are of the t law of the design.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, distribution, level, one_of, record
from ldpstats.documents import read
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.estimators.base import Estimator
from ldpstats.inference.designs.tests import normal_level
from ldpstats.inference.intervals import edge_normal, wald
from ldpstats.inference.tails import skewed_pvalue
from ldpstats.inference.tests import binomial_deficit, binomial_excess, z_test
from ldpstats.labels import Labels, align
from ldpstats.likelihood.covariance import Covariance, Uncertain
from ldpstats.mechanisms import PUM
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tests import warn_of_doubts
from ldpstats.models.layout import (
    Frame,
    Heading,
    Table,
    closing_notes,
    figures,
    one_line,
    title,
)
from ldpstats.models.results import Results, warn_of_method
from ldpstats.models.weighted.model import WeightedModel
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.reports.single import BitCounts, Counts, Reports

if TYPE_CHECKING:
    from ldpstats.inference.goodness import ReportSums
    from ldpstats.models.results import ContrastLaw

Data = Reports | Counts | BitCounts


class PersonalizedModel:
    """Frequencies of categories that respondents sent to a bot where they were sensitive to them.

    Parameters
    ----------
    data : Reports, Counts or BitCounts, or a list of them
        Reports of ``pum.common``, or groups of reports over its categories with another epsilon.
    pum : PUM
        Says which of the categories are true answers and which are tags.
    background : mapping from tag to Series or array of shape (k,), optional
        Distribution of the true category of those who sent it to the tag's bot, such as where
        people live (MK19's case II); a Series is matched by label. A tag without one is spread in
        proportion to the estimates of the categories that are not sensitive for all (case I).
    exact : bool
        Whether the background is known exactly (case III), so that intervals and tests are about
        the frequencies. Every tag then needs one.
    name : str, optional
        Name of the variable, for tables; that of the reports by default.

    Raises
    ------
    InvalidArgument
        If a tag is unknown, a background is not a distribution over the categories, or a background
        is missing although ``exact=True`` or all categories are sensitive.
    MechanismMismatch
        If the data are over other categories than those of ``pum.common``.

    Notes
    -----
    The background says who is behind a bot in the mean over all respondents (MK19 eq. 20), not
    where one of them lives.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, epsilon=1.0), ("home",))
    >>> counts = pum.common.counts([180, 60, 370, 390])
    >>> model = ldp.PersonalizedModel(counts, pum, {"home": [0.25, 0.75, 0.0]})
    >>> model.fit().params.round(3)
    centre    0.455
    park      0.326
    clinic    0.219
    Name: params, dtype: float64
    >>> ldp.PersonalizedModel(counts, pum).fit().params.round(3)
    centre    0.586
    park      0.195
    clinic    0.219
    Name: params, dtype: float64
    """

    def __init__(
        self,
        data: Data | Sequence[Data] | WeightedModel,
        pum: PUM,
        background: Mapping[Any, Any] | None = None,
        exact: bool = False,
        name: str | None = None,
    ) -> None:
        if not isinstance(pum, PUM):
            raise InvalidArgument("pum", pum, "must be the PUM that the reports were made under")
        self.pum, self.exact = pum, boolean("exact", exact)
        self.frequency: FrequencyModel | WeightedModel
        if isinstance(data, WeightedModel):  # of a question of the PUM, as a survey makes it
            self.frequency = data
        else:
            self.frequency = FrequencyModel(data, name=name)
            if not self.frequency.categories.equals(pum.common.categories):
                raise MechanismMismatch(
                    f"{self.frequency.sources[0].mechanism} is not over the categories and then "
                    f"the tags of {pum}: pass reports of its clients, or of pum.privatize"
                )
        categories, tags, k = self.categories, self.pum.tags, len(self.categories)
        if background is not None and not isinstance(background, Mapping):
            raise InvalidArgument(
                "background", background, "must be a dict from tags to distributions, or None"
            )
        given = np.full((len(tags), k), np.nan)
        for tag, law in (background or {}).items():
            if tag not in tags:
                raise InvalidArgument("background", tag, f"is no tag: they are {tags.tolist()}")
            argument = f"background[{tag!r}]"
            law = distribution(argument, align(argument, law, categories), k)
            given[tags.get_loc(tag)] = law / law.sum()
        lacking = tags[np.isnan(given[:, 0])].tolist()
        if lacking and self.exact:
            raise InvalidArgument(
                "exact", True, f"needs a background for every tag, and {lacking} have none"
            )
        others = np.asarray(~categories.isin(pum.mechanism.sensitive))
        if lacking and not others.any():
            raise InvalidArgument(
                "background",
                background,
                f"lacks {lacking}: all categories are sensitive, there is none to spread them over",
            )
        self._assumed = Background(tags, given, others, self.exact)

    def __repr__(self) -> str:
        return f"PersonalizedModel({self.pum}; n={self.nobs})"

    @property
    def categories(self) -> Labels:
        """Labels of the categories of true answers, in order."""
        return self.pum.categories

    @property
    def nobs(self) -> int:
        """Number of reports."""
        if isinstance(self.frequency, WeightedModel):
            return int(self.frequency.sample.n[self.frequency.inside].sum())
        return self.frequency.nobs

    def fit(self, method: str | Estimator[Any] | None = None) -> PersonalizedResults:
        """Estimate the frequencies.

        Parameters
        ----------
        method : str or Estimator, optional
            Of the intermediate frequencies, as in `FrequencyModel.fit`: "mle" by default,
            "inversion" where only bit sums are known, and with weights.

        Returns
        -------
        PersonalizedResults

        Raises
        ------
        NotAvailable
            If a tag has no background and no report was made that it could be spread over.

        Warns
        -----
        ConvergenceWarning
            When the estimator stops before its certificate is reached.
        MisfitWarning
            When the goodness of fit of the reports has a p-value below .001.
        LDPWarning
            When the condition number of the channel is above 1e8.
        """
        intermediate: FrequencyResults | WeightedResults
        if isinstance(self.frequency, WeightedModel):
            intermediate = self.frequency.fit(method)  # type: ignore[arg-type]  # refuses objects
        else:
            intermediate = self.frequency.fit_quietly(method)
            warn_of_doubts(self.frequency.misfit(intermediate), intermediate.condition)
        return _results(intermediate, self.categories, self._assumed)


# -- How frequencies rest on what was reported of categories and bots ----------------------------


@record
class Background:
    """Distribution of the category behind each tag, as far as it is given."""

    tags: pd.Index[Any]  # (kappa,)
    # (kappa, k), rows of nan for tags without one: in documents None
    given: npt.NDArray[np.float64] = field(metadata={"read": list})
    others: npt.NDArray[np.bool_]  # (k,) categories that are not sensitive for all
    exact: bool  # whether the distributions are the truth

    @property
    def is_lacking(self) -> npt.NDArray[np.bool_]:
        """Tags, shape (kappa,), without a distribution."""
        return np.asarray(np.isnan(self.given).any(axis=1))

    def mixture(self, r: npt.NDArray[np.float64]) -> Mixture:
        """How p rests on the intermediate frequencies near r (MK19 eq. 21, end of section 5.3)."""
        given, others, spread = self.given, self.others, self.is_lacking
        kappa, k = given.shape
        at = k + np.flatnonzero(~spread)
        rows, loads, own = np.zeros((at.size, k + kappa)), given[~spread].T, np.ones(k)
        rows[np.arange(at.size), at] = 1.0
        if not spread.any():
            return Mixture(given, own, loads, rows, at)
        total, sum_of_bots = float(r[:k][others].sum()), float(r[k:][spread].sum())
        if not total > 0.0:
            raise NotAvailable(
                f"tags without a background are spread over the {int(others.sum())} categories "
                f"that are not sensitive for all, whose estimates sum to {total:.3g}: give a "
                "background"
            )
        share, ratio = np.where(others, r[:k] / total, 0.0), sum_of_bots / total
        contrast = np.concatenate([np.where(others, -ratio, 0.0), spread.astype(np.float64)])
        return Mixture(
            background=np.where(spread[:, None], share, given),
            own=np.where(others, 1.0 + ratio, 1.0),
            loads=np.column_stack([loads, share]),
            rows=np.vstack([rows, contrast]),
            at=np.append(at, -1),
        )


@record
class Mixture:
    """p by the intermediate frequencies near r: ``own * r_X + loads @ (rows @ r)``."""

    background: Array  # (kappa, k) category behind each bot, given or in proportion to r
    own: Array  # (k,) how often r of a category itself counts: once, more where bots are spread
    loads: Array  # (k, q) weights of the q combinations of r that enter beside it
    rows: Array  # (q, k + kappa) those combinations: bots with a background, then the contrast
    at: npt.NDArray[np.int64]  # (q,) position in r of a combination's bot; -1 for the contrast

    def estimate(self, r: Array) -> Array:
        """MK19 eq. 21, shape (k,), at the r that the mixture is of."""
        k = self.own.size
        return np.asarray(r[:k] + r[k:] @ self.background)

    def blocks(self, V: Covariance) -> tuple[Array, Array]:
        """Covariances of ``own * r_X`` with ``rows @ r``, (k, q), and those among these, (q, q)."""
        k = self.own.size
        if V.factors is None:
            images = V.matrix() @ self.rows.T
        else:
            loaded = V.core @ (V.factors.T @ self.rows.T)
            images = V.diagonal[:, None] * self.rows.T + V.factors @ loaded
        inner = self.rows @ images
        cross = self.own[:, None] * images[:k]
        return cross, (inner + inner.T) / 2

    def intervals(self, r: Array, ends: Array, V: Covariance, alpha: float) -> Array:
        """Intervals of p, (k, 2), from those of the intermediate frequencies, by `mover`."""
        k, q = self.loads.shape
        cross, inner = self.blocks(V)
        values = self.rows @ r
        each = wald(values, np.sqrt(np.maximum(np.diagonal(inner), 0.0)), alpha)
        each[self.at >= 0] = ends[self.at[self.at >= 0]]
        weights = np.column_stack([self.own, self.loads])
        down = np.column_stack([r[:k] - ends[:k, 0], np.broadcast_to(values - each[:, 0], (k, q))])
        up = np.column_stack([ends[:k, 1] - r[:k], np.broadcast_to(each[:, 1] - values, (k, q))])
        down, up = np.maximum(down, 0.0), np.maximum(up, 0.0)  # exact ends may have another centre
        below = np.where(weights >= 0.0, weights * down, -weights * up)
        above = np.where(weights >= 0.0, weights * up, -weights * down)
        C = np.empty((k, 1 + q, 1 + q))
        C[:, 0, 0] = self.own**2 * V.variances()[:k]
        C[:, 0, 1:] = C[:, 1:, 0] = cross * self.loads
        C[:, 1:, 1:] = self.loads[:, :, None] * inner * self.loads[:, None, :]
        places = np.arange(1 + q)  # from covariances to correlations; 0 with what does not vary
        sd = np.sqrt(np.maximum(C[..., places, places], 0.0))
        product = sd[..., :, None] * sd[..., None, :]
        rho = np.divide(C, product, out=np.zeros(C.shape), where=product > 0.0)
        rho[..., places, places] = 1.0
        low, high = mover(below, above, np.clip(rho, -1.0, 1.0))
        p = self.estimate(r)
        return np.stack([p - low, p + high], axis=-1)

    def covariance(self, V: Covariance) -> Covariance:
        """Covariance G V G' of p, where V is that of r and G the derivative of p; O(k) if V is."""
        k = self.own.size
        if V.factors is None:
            G = self.loads @ self.rows
            G[np.arange(k), np.arange(k)] += self.own
            return Covariance.dense(V.transform(G))
        cross, inner = self.blocks(V)
        q, rank = inner.shape[0], V.core.shape[0]
        core = np.zeros((rank + 2 * q, rank + 2 * q))
        core[:rank, :rank], core[rank : rank + q, rank : rank + q] = V.core, inner
        core[rank : rank + q, rank + q :] = core[rank + q :, rank : rank + q] = np.eye(q)
        own = self.own[:, None] * V.factors[:k]
        factors = np.hstack([own, self.loads, cross])
        return Covariance(self.own**2 * V.diagonal[:k], core, factors)


def mover(below: Array, above: Array, rho: Array) -> tuple[Array, Array]:
    """How far the interval of a sum reaches, from the intervals of its parts (see the head).

    `below` and `above`, (..., q), are the sides of the parts, `rho`, (..., q, q), correlations.
    """

    def square(correlation: Array, side: Array) -> Any:
        return np.einsum("...ij,...i,...j->...", correlation, side, side)

    cancelled, added = square(np.minimum(rho, 0.0), np.minimum(below, above)), np.maximum(rho, 0.0)
    low, high = (np.maximum(square(added, d) + cancelled, 0.0) for d in (below, above))
    return np.sqrt(low), np.sqrt(high)


def presence(
    tally: npt.ArrayLike,
    nobs: int,
    offset: npt.ArrayLike,
    scale: npt.ArrayLike,
    weights: npt.ArrayLike,
    exclusive: bool,
) -> tuple[Array, Array]:
    """One-sided p-values, above and below, of sums that are zero only if each part is."""
    t, o, s, w = np.broadcast_arrays(tally, offset, scale, weights)
    noisy = (w > 0.0) & (o > 0.0)
    # the tails of a weighted sum of counts with known law
    g = np.where(noisy, w / s, 0.0)
    first, second, third = (np.sum(o * g**power, axis=-1) for power in (1, 2, 3))
    variance, cumulant = second - first**2, third - 3.0 * first * second + 2.0 * first**3
    if not exclusive:
        spread = o * (1.0 - o)
        variance = np.sum(g**2 * spread, axis=-1)
        cumulant = np.sum(g**3 * spread * (1.0 - 2.0 * o), axis=-1)
    some = variance > 0.0
    # as in an exact test of discrete counts, the tail begins half a report before the sum
    variance = np.where(some, variance, 1.0)
    excess, half = np.sum(g * (t / nobs - o), axis=-1), np.abs(g).max(axis=-1) / (2.0 * nobs)
    skewness = np.where(some, cumulant, 0.0) / variance**1.5 / np.sqrt(nobs)
    larger, smaller = (
        np.where(some, skewed_pvalue(z / np.sqrt(variance / nobs), side * skewness), 1.0)
        for side, z in ((1.0, excess - half), (-1.0, -excess - half))
    )
    one = noisy.sum(axis=-1) == 1
    t1, o1, s1 = (a[one][noisy[one]] for a in (t, o, s))
    larger[one] = binomial_excess(t1, nobs, o1, s1)
    smaller[one] = binomial_deficit(t1, nobs, o1, s1)
    none = ~noisy.any(axis=-1)
    larger[none] = smaller[none] = 1.0
    larger[np.any((w > 0.0) & (o <= 0.0) & (t > 0), axis=-1)] = 0.0
    return larger, smaller


# -- Results --------------------------------------------------------------------------------------


# mechanisms whose reports are counted category by category: of labels one at a time, or bits
_LABELS = {"URR": True, "KRR": True, "URAP": False, "KRAPPOR": False}


@record
class PersonalizedResults(Results):
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
    intermediate : FrequencyResults, or WeightedResults with weights
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
    intermediate: FrequencyResults | WeightedResults = field(
        metadata={"read": lambda document: _intermediate(document)}
    )

    _format = "ldpstats-personalized-results"
    _document = ("categories", "tags", "given", "others", "exact", "intermediate")

    def __repr__(self) -> str:
        tags = ", ".join(f"{tag} ({case})" for tag, case in self.case.items())
        source = self.sources[0]
        return (
            f"PersonalizedResults({self.method}, k={self.k}, tags: {tags}, n={self.nobs}; {source})"
        )

    @property
    def index(self) -> Labels:
        return self.categories

    @property
    def _sampled(self) -> WeightedResults | None:
        """The weighted estimate of r, of a complex sample."""
        return self.intermediate if isinstance(self.intermediate, WeightedResults) else None

    @property
    def _df(self) -> float:
        """Degrees of freedom of the design; infinite without one, 0 in a single sampling unit."""
        if self._sampled is None:
            return np.inf
        domains = self._sampled.domains
        return 0.0 if domains.alone[0] else max(float(domains.df[0]), 1.0)

    @property
    def df_model(self) -> int:
        """Intermediate frequencies that vary freely."""
        return self.intermediate.df_model

    tags = property(attrgetter("assumed.tags"), doc="The tags that reports may name, in order.")
    given = property(
        attrgetter("assumed.given"),
        doc="Distribution behind each tag, (kappa, k); a row of nan where there is none.",
    )
    others = property(
        attrgetter("assumed.others"), doc="Categories, (k,), that are not sensitive for all."
    )
    exact = property(attrgetter("assumed.exact"), doc="Whether the background is the truth.")

    @property
    def case(self) -> pd.Series[Any]:
        """What is known of the distribution behind each tag: "none", "given" or "exact"."""
        known = "exact" if self.exact else "given"
        cases = np.where(self.assumed.is_lacking, "none", known).astype(object)
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
        return Table(pi, index=self.tags, columns=self.categories)

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

    def _se(self, which: Uncertain) -> Array:
        return np.where(self._df > 0.0, which.bse(), np.nan)

    def _frame(self, matrix: Array, at: Any = slice(None)) -> pd.DataFrame:
        return super()._frame(np.where(self._df > 0.0, matrix, np.nan), at)

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
            bot, which are exact, with their covariance (`mover`). "wald":
            linear estimate plus or minus normal quantile times its standard error, too short for
            categories of few reports. "wald-mle": the same around `params`, which fails on the
            boundary, and warns there. With weights they have quantiles of the t law, and the
            intervals of the parts are score intervals (see `WeightedResults.conf_int`).
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
        method = one_of("method", method, ("default", "wald", "wald-mle"))
        size = alpha if self._sampled is None else float(normal_level(np.array(self._df), alpha))
        if self._df == 0.0:
            bounds = np.full((self.k, 2), [-np.inf, np.inf])
        elif method == "default":
            r = self.intermediate.linear
            ends = self.intermediate.conf_int(alpha, clip=False).to_numpy()
            bounds = self._mixtures[1].intervals(r.estimate, ends, r.known(), size)
        else:
            if method == "wald-mle":
                warn_of_method(method, self.intermediate.on_boundary)
            which = self.linear if method == "wald" else self.fitted
            if which.covariance is None:
                raise NotAvailable(f"no covariance of params was computed: {self.cov_type}")
            bounds = wald(which.estimate, which.bse(), size)
        if boolean("clip", clip):
            which = self.fitted if method == "wald-mle" else self.linear
            bounds = edge_normal(bounds, which.estimate, which.bse(), alpha)
        return pd.DataFrame(bounds, index=self.categories, columns=["lower", "upper"])

    # -- tests -----------------------------------------------------------------------------

    def _intermediate_contrasts(self, R: Array) -> Array | None:
        """Contrasts of the intermediate frequencies that are R p, (q, k + kappa).

        None where p is no linear function of these, as bots without a background are spread, and
        where their reports have no known law, as in a complex sample.
        """
        if self.assumed.is_lacking.any() or self._sampled is not None:
            return None
        mix = self._mixtures[1]
        out = (R @ mix.loads) @ mix.rows
        out[:, : self.k] += R * mix.own
        return out

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        given, r = self._intermediate_contrasts(row[None]), self.intermediate
        if given is None or isinstance(r, WeightedResults):
            return None
        return r._contrast_law(given[0])

    def _contrast_df(self, R: Array) -> Array | None:
        if self._df == 0.0:
            raise NotAvailable(
                "a test in a sample of one sampling unit, or of strata of one unit, which does not "
                "show how shares vary"
            )
        return None if self._sampled is None else np.full(len(R), self._df)

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        given, r = self._intermediate_contrasts(R), self.intermediate
        if given is None or isinstance(r, WeightedResults):
            return None
        return r._null_law(given, gap)

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
        mechanisms leave no such law it is that of the normal estimate, and with weights of the t
        law.
        """
        return self._series(self._tails[0], "presence_pvalues")

    def detected(self, alpha: float = 0.05, method: str = "bonferroni") -> pd.Index[Any]:
        """Categories whose frequency is above zero, with control of the errors made over all.

        Parameters
        ----------
        alpha : float
            Family-wise error rate ("bonferroni", "holm") or false discovery rate ("bh").
        method : {"bonferroni", "holm", "bh"}

        Returns
        -------
        Index
            Labels of the detected categories, in category order.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
        >>> counts = pum.common.counts([180, 60, 270, 490])
        >>> homes = {"home": [0.25, 0.75, 0.0]}
        >>> list(ldp.PersonalizedModel(counts, pum, homes, exact=True).fit().detected(0.05))
        ['centre', 'park']
        """
        return self._above_zero(self.presence_pvalues().to_numpy(), alpha, method)

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """p-values against frequencies above zero, and against estimates too negative for zero."""
        self.linear.known()
        p, se = self.linear.estimate, self.linear.bse()
        if isinstance(self.intermediate, WeightedResults):
            from scipy.special import stdtr

            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.where(p == 0.0, 0.0, p / self._se(self.linear))
            return stdtr(self._df, -t), stdtr(self._df, t)
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
        larger[told], smaller[told] = presence(
            tally[told], form.nobs, offset[told], scale[told], weights[told], bool(labels)
        )
        larger[np.any(enters & (offset == 0.0) & (tally > 0), axis=1)] = 0.0
        return larger, smaller

    # -- presentation ----------------------------------------------------------------------

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        frame = self._estimates_frame(level(alpha))
        return frame.assign(presence_pvalue=self.presence_pvalues())

    def _heading(self) -> Heading:
        case, bots = self.case, self.intermediate.fitted
        _, left, right = super()._heading()
        shares = zip(bots.estimate[self.k :], bots.bse()[self.k :], case.index, strict=True)
        for i, (share, error, tag) in enumerate(shares):  # of the reports, that a tag stands for
            (se,) = figures([error], 4)
            words = f"{one_line(tag, 20)} {share:.4f} (std err {se})"
            left.append(("Tags:" if i == 0 else "", words))
        known = [("Background:" if i == 0 else "", words) for i, words in enumerate(case)]
        if self._sampled is not None:
            own = self._sampled._sample_pairs()
            left, right = left + own[0], right + own[1]
        right += [("", "")] * (len(left) - len(right) - len(known)) + known
        what = "Frequencies" if self._sampled is None else "Weighted frequencies"
        return f"{title(self, what, '')} behind a personalised mechanism", left, right

    def _interval_words(self) -> tuple[str, str]:
        parts, law, r = "exact", "", self.intermediate
        if isinstance(r, WeightedResults):
            parts, law = r.intervals, f", t quantiles with {self._df:,.0f} df"
        elif r.exact is None:
            return "Wald", super()._interval_words()[1]
        kind = f"from the {parts} ones of the category and of the tags{law}"
        return kind, super()._interval_words()[1]

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        r, case, bound = self.intermediate, self.case, self.loss_bound()
        source = "the sample and " * (self._sampled is not None) + "the noise of the reports"
        noise = f"Expected l1 error from {source}: {bound['noise']:.3g}"
        lacking, given = (
            ", ".join(one_line(tag, 20) for tag in case.index[case == kind])
            for kind in ("none", "given")
        )
        notes = [] if lacking or given else [f"The background is assumed to be exact. {noise}."]
        if lacking:
            notes.append(
                f"WARNING: no background is given for {lacking}: these reports were discarded, and "
                "their share was spread over the categories that are not sensitive for all, in "
                "proportion to the other estimates."
            )
        if given:
            notes.append(f"NOTE: the background of {given} was used as given, right or wrong.")
        if lacking or given:
            notes += [
                f"NOTE: standard errors, intervals and p-values allow for {source} only, not for "
                "an error of the background.",
                f"{noise}; from an error of the background: {bound['background']:.3g} at worst.",
            ]
        if r.on_boundary and self.is_maximum:
            notes.append(
                "NOTE: the estimate is on the boundary (an intermediate frequency of zero); the "
                "intervals do not rest on it."
            )
        if isinstance(r, WeightedResults):
            condition = r.mechanism.moments(r.mechanism.specimen()).condition
            return [*notes, *closing_notes(self, condition)]
        return [*notes, *closing_notes(self, r.condition, r.goodness_of_fit)]

    # -- storage ---------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        given = zip(self.assumed.given.tolist(), self.assumed.is_lacking, strict=True)
        return super()._stored() | {"given": [None if lacking else row for row, lacking in given]}

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> PersonalizedResults:
        none = [np.nan] * len(values["categories"])
        given = np.array([none if row is None else row for row in values["given"]], dtype=float)
        assumed = Background(**read(Background, values) | {"given": given})
        return _results(values["intermediate"], values["categories"], assumed)


def _intermediate(document: Any) -> FrequencyResults | WeightedResults:
    """The estimate of r, with weights or without."""
    if isinstance(document, dict) and document.get("format") == WeightedResults._format:
        return WeightedResults.from_dict(document)
    return FrequencyResults.from_dict(document)


def _results(
    intermediate: FrequencyResults | WeightedResults, categories: Labels, assumed: Background
) -> PersonalizedResults:
    """Results from those of the intermediate frequencies (MK19 eq. 21)."""
    both = []
    for r in (intermediate.fitted, intermediate.linear):
        mix, V = assumed.mixture(r.estimate), r.covariance
        both.append(Uncertain(mix.estimate(r.estimate), None if V is None else mix.covariance(V)))
    fit = replace(intermediate.fit, fitted=both[0], linear=both[1])
    return PersonalizedResults(categories, assumed, intermediate, **vars(fit))
