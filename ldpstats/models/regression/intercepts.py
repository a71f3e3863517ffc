"""Logits of privatised answers whose groups of respondents have intercepts of their own.

The likelihood of all reports of a group is integrated over its normal intercept (one for each
category but the first, with its own standard deviation); see `ldpstats.likelihood.intercepts`. Its
maximum is a Newton iteration; nodes of quadrature are added until more of them would not move it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, level, one_of, positive_integer, record
from ldpstats.documents import Document
from ldpstats.errors import ConvergenceWarning, InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.regression import (
    Found,
    Maximum,
    Objective,
    flat_direction,
    maximise,
)
from ldpstats.inference.profiles import Probed, Profile
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.likelihood.regression import LINKS, Binary
from ldpstats.models.layout import Frame, Heading, in_turn, one_line
from ldpstats.models.regression.coefficients import KINDS, Coefficients, StoredRegression
from ldpstats.models.regression.fitted import FittedLaw
from ldpstats.models.regression.hypotheses import (
    Degrees,
    reported_codes,
    t_quantile,
    wald_contrast,
)
from ldpstats.models.regression.model import PrivatizedRegression
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import Grouping, RegressionData, outcome_of, response_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NODES = ((11, 17, 25, 41, 65, 101), (7, 11, 17, 25))  # along one or two intercepts
_PROFILED = (41, 11)  # the least for profiles
_MOVED = 1e-3  # standard errors that more nodes may move the estimate,
_GAINED = 1e-2  # and what they may change the log-likelihood
_MOST_CATEGORIES = 3
_SPREADS = (0.7, 0.2, 2.0)  # standard deviations that iterations start from
_NONE = 0.05  # a standard deviation that may be zero
_SAME = 1e-6  # log-likelihood that it may gain then
_TOLERANCE = 1e-5  # of the Newton decrement: the last steps are taken with more nodes
_ONLY = [("method", "mle"), ("cov_type", "nonrobust")]  # options that are taken
_LAST = 2  # steps
_FEWEST = 0.5  # levels that coefficients of groups must leave
_RANK = 1e-10
_LARGEST = 20.0  # standard deviation, beyond which intervals do not end
_VARIANCES = {"logit": np.pi**2 / 3.0, "probit": 1.0, "cloglog": np.pi**2 / 6.0}  # of errors


class PrivatizedMixedLogit(PrivatizedRegression):
    """Logit of a privatised answer with a random intercept for each group of respondents.

    ``logit P(yes) = x'beta + b_g`` for a respondent of group g, whose b_g is normal with mean zero
    and standard deviation "sd(group)". Of three categories each but the first, the reference, has
    an intercept with its own standard deviation, independent of the other: another reference is
    another model. The likelihood of all reports of a group, each through its channel, is integrated
    over the intercept by adaptive Gauss-Hermite quadrature. As a formula it is
    ``ldpstats.regression("late ~ age + (1 | school)", ...)``.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Over two or three categories. Several follow one another in `X`; each may have another
        mechanism, `Observed` too.
    X : DataFrame or array, shape (n, p)
        Covariates. No constant is added.
    groups : array-like, shape (n,)
        The public group of each respondent; a Series gives its name.
    link : {"logit", "probit", "cloglog"}
        Of two categories.
    offset : array-like, shape (n,), optional
        Added to the linear predictor.
    freq_weights : array-like, shape (n,), optional
        How many respondents of the group each row stands for.
    candidates : sequence of str, optional
        The answers, for mechanisms over an open alphabet.

    Raises
    ------
    InvalidArgument
        If the reports have more than three categories, arrays do not fit, there is one group only,
        or a group is missing.
    NotAvailable
        For devices with unknown parameters.
    NotIdentified
        If covariates are linear combinations of others, or the reports say nothing.

    Notes
    -----
    There are no random slopes and no second grouping: `ldpstats.pymc.observe` has the likelihood
    of reports for a model of PyMC that has them. Sampling weights and designs are refused, as a
    weighted likelihood of groups needs weights of groups too.
    ``PrivatizedLogit(...).fit(cov_type="cluster")`` has a covariance by group without a model of
    groups.

    Maximum likelihood takes the variance of G groups for known. By default covariances, tests and
    intervals allow for its being estimated from the G - q levels that q coefficients of groups
    leave, the constant among them: the part of a covariance that is in these levels is larger by
    ``q / (G - q)``, and quantiles are those of t with ``(G - q) / s^2`` degrees of freedom
    (Satterthwaite), of which s is the share of this part in the variance of a contrast. So a
    covariate of whole groups has G - q, as in SAS and nlme, and one that varies within them has
    many. Without noise the same is restricted maximum likelihood of a balanced linear mixed model.
    ``cov_type="nonrobust"`` has the inverse of the information, and normal quantiles, as lme4.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> school = rng.integers(0, 60, 6000)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=6000)})
    >>> eta = 0.8 * X.age - 0.5 + 0.7 * rng.normal(size=60)[school]
    >>> late = np.where(rng.random(6000) < 1 / (1 + np.exp(-eta)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=2.0).privatize(late, rng)
    >>> model = ldp.PrivatizedMixedLogit(reports, X, pd.Series(school, name="school"))
    >>> model.fit().params.round(1)
    const        -0.4
    age           0.7
    sd(school)    0.8
    Name: params, dtype: float64
    """

    def __init__(
        self,
        reports: Any,
        X: Any,
        groups: Any,
        link: str = "logit",
        offset: Any = None,
        freq_weights: Any = None,
        candidates: Any = None,
    ) -> None:
        link = one_of("link", link, tuple(LINKS))
        data = response_data("multinomial", reports, X, offset, freq_weights, None, candidates)
        name = str(groups.name) if getattr(groups, "name", None) is not None else "groups"
        k = len(data.categories) if data.categories is not None else 0
        family = link if k == 2 else "multinomial"
        if k > 2 and link != "logit":
            raise InvalidArgument("link", link, f"is for two categories, of which there are {k}")
        super().__init__(grouped_data(data, family, Grouping.of(name, groups, data.n)))

    @property
    def grouping(self) -> Grouping:
        """The groups that have intercepts."""
        groups = self.data.groups
        assert groups is not None
        return groups

    @property
    def lists_reports(self) -> bool:
        """False: the expected information would be a sum over all reports of a group."""
        return False

    def with_nodes(self, n_nodes: int) -> Self:
        """The same model with so many nodes along each intercept."""
        grouping = replace(self.grouping, n_nodes=n_nodes)
        return type(self).of(replace(self.data, groups=grouping))

    def climb(
        self,
        penalty: str | None = None,
        start_params: Array | None = None,
        maxiter: int = 100,
        theta: Array | None = None,
    ) -> Found:
        """The highest maximum, from the coefficients without groups and a spread of them.

        Where that is lower than without groups, or no maximum, from another spread too.
        """
        likelihood: Any = self.likelihood
        how = None, maxiter, _TOLERANCE, None, self.units
        met: list[Maximum] = []
        if start_params is not None:
            met.append(maximise(likelihood, start_params, *how))
        else:
            data = replace(self.data, outcome=likelihood.outcome.within, groups=None)
            plain = PrivatizedRegression.of(data).climb(maxiter=maxiter).maximum
            for sd in _SPREADS:
                wider = plain.theta * np.sqrt(1.0 + sd**2 / 3.0)
                met.append(maximise(likelihood, np.append(wider, [sd] * likelihood.h), *how))
                if met[-1].converged and met[-1].value > plain.value - _SAME:
                    break
        top = self._without_sign(max(met, key=attrgetter("value")), likelihood)
        return Found(top, 1, flat_direction(likelihood, top, self.units, self._may_move(top.theta)))

    def _without_sign(self, top: Maximum, likelihood: Objective) -> Maximum:
        """The maximum with standard deviations that are positive, or zero where that is as high."""
        size = top.theta.size
        theta, sds = top.theta.copy(), np.arange(size) >= size - len(self.sd_names)
        theta[sds] = np.abs(theta[sds])
        zero = sds & (theta < _NONE)
        if zero.any():
            at = np.where(zero, 0.0, theta)
            none = maximise(likelihood, at, ~zero, 100, _TOLERANCE, None, self.units)
            if none.value >= top.value - _SAME:
                return replace(none, held=np.zeros(theta.shape, dtype=bool))
        return _evaluated(replace(top, theta=theta), likelihood)

    def fit(
        self,
        method: str | None = None,
        penalty: str | None = None,
        cov_type: str | None = None,
        cov_kwds: Any = None,
        start_params: Any = None,
        maxiter: int = 100,
        disp: Any = False,
        n_nodes: int | None = None,
    ) -> MixedRegressionResults:
        """Estimate coefficients and standard deviations of intercepts by maximum likelihood.

        Parameters
        ----------
        method, penalty, cov_kwds
            As for other models: "mle", None and None are all that there is.
        cov_type : {"nonrobust"}, optional
            Standard errors as if the variance of groups were known, with normal quantiles, as lme4
            has them; by default they allow for the number of groups.
        start_params : array-like, optional
            Coefficients, then standard deviations, where iterations start.
        maxiter : int
        disp : bool
            Has no effect: nothing is printed.
        n_nodes : int, optional
            Nodes of quadrature along each intercept. By default as many as it takes: with the next
            smaller number in 11, 17, 25, 41, 65, 101 (7, 11, 17, 25 along two intercepts) the
            estimate is the same to 0.001 standard errors, and the log-likelihood to 0.01.

        Returns
        -------
        MixedRegressionResults

        Raises
        ------
        NotAvailable
            For another method, penalty or covariance.
        NotIdentified
            If the information of the reports is singular, or groups are no more than coefficients
            of groups.

        Warns
        -----
        ConvergenceWarning
            If the maximum is at infinity, the iteration stopped before it, or the largest number of
            nodes was not enough.
        """
        asked = {"method": method, "penalty": penalty, "cov_type": cov_type, "cov_kwds": cov_kwds}
        for option, chosen in asked.items():
            plain = isinstance(chosen, str) and (option, str.__str__(chosen)) in _ONLY
            if chosen is not None and not plain:
                raise NotAvailable(
                    f"{option}: a model with random intercepts is fitted by maximum likelihood "
                    f"with its information alone: leave out {option}=, or fit the model without "
                    "random intercepts"
                )
        maxiter = positive_integer("maxiter", maxiter)
        steps = _NODES[len(self.sd_names) - 1]
        pairs = [*pairwise(steps)]
        if n_nodes is not None:
            pairs = [(positive_integer("n_nodes", n_nodes, 2), n_nodes)]
        first = None if start_params is None else self._first(start_params)
        for nodes, more in pairs:
            found, finer = self.with_nodes(nodes).climb(None, first, maxiter), self.with_nodes(more)
            top = _evaluated(found.maximum, finer.likelihood)
            off, back = top.score - found.maximum.score, self._inverse(top)
            moved = float(np.sqrt(max(0.0, off @ back @ off)))
            enough = moved < _MOVED and abs(top.value - found.maximum.value) < _GAINED
            if enough:
                break
            first = np.where(self._may_move(top.theta), top.theta, 0.1)
        if not np.isfinite(top.hessian).all():
            raise NotIdentified(
                "the likelihood has no maximum at finite values: too few groups or respondents, or "
                "covariates that determine the answers: use fewer covariates, or the model without "
                "random intercepts"
            )
        for _ in range(_LAST if enough and found.flat is None else 0):  # without a search
            theta = top.theta + self._inverse(top) @ top.score
            top = _evaluated(replace(top, theta=theta), finer.likelihood)
        moved = moved if n_nodes is None else np.nan
        return finer._results(replace(found, maximum=top), moved, not enough, cov_type is None)

    def _inverse(self, top: Maximum) -> Array:
        """The inverse of the information, zero of what may not move."""
        free = np.ix_(*[self._may_move(top.theta)] * 2)
        back = np.zeros(top.hessian.shape)
        back[free] = np.linalg.pinv(np.nan_to_num(-top.hessian[free]), 1e-10)
        return back

    def _may_move(self, theta: Array) -> npt.NDArray[np.bool_]:
        """Which parameters are no standard deviations of zero."""
        free = theta != 0.0
        free[: theta.size - len(self.sd_names)] = True
        return np.asarray(free)

    def _results(
        self, found: Found, moved: float, short: bool, few: bool
    ) -> MixedRegressionResults:
        """Results of a maximum, with warnings; `short` of nodes, for `few` groups, or not."""
        top = found.maximum
        zero = ~self._may_move(top.theta)
        fixed, infinite = self._infinite(found)
        words = []
        if infinite:
            words.append(
                "the likelihood has its maximum at infinity, or cannot tell it from there: "
                f"{in_turn(infinite)}. Use fewer covariates, or the model without random intercepts"
            )
        elif not top.converged:
            words.append(
                f"the iteration stopped after {top.n_iter} steps before a maximum was reached: "
                "raise maxiter, or pass start_params"
            )
        if short:
            words.append(
                f"{self.grouping.n_nodes} nodes of quadrature are few: other numbers of them move "
                f"the estimate by {moved:.2g} standard errors; pass a larger n_nodes="
            )
        if words:
            warnings.warn("; ".join(words), ConvergenceWarning, 3)
        V, _ = self._covariance(top, "nonrobust", None, None, fixed | zero)
        # nothing depends on a standard deviation of zero, to first order
        V = np.where(zero[:, None] | zero, 0.0, V)
        known = FewGroups.of(self, top.theta, V) if few else None
        return MixedRegressionResults(
            model=self,
            theta=top.theta,
            covariance_all=V if known is None else known.covariance,
            value=top.value,
            hessian=top.hessian,
            method="mle",
            penalty=None,
            cov_type="nonrobust",
            converged=top.converged and not infinite,
            n_iter=top.n_iter,
            n_maxima=found.n_maxima,
            infinite=infinite,
            quadrature_error=moved,
            few=known,
        )

    def information(self, params: Any, exog: Any = None) -> Array:
        """Refused: the expected information would be a sum over all reports of a group."""
        raise NotAvailable(
            "information: with random intercepts it is a sum over all reports of a group: simulate"
        )

    def fit_posterior(
        self, rng: Any, prior: Any = None, draws: int = 4000, engine: Any = "hmc"
    ) -> Any:
        """Refused: posteriors know no random intercepts."""
        raise NotAvailable(
            "fit_posterior: it knows no random intercepts: use fit(), or a model of PyMC with "
            "ldpstats.pymc.observe, as the guide has one under posteriors"
        )


def _evaluated(top: Maximum, likelihood: Objective) -> Maximum:
    """The same place, with value and derivatives of another likelihood."""
    value, score, hessian = likelihood.evaluate(top.theta)
    return replace(top, value=value, score=score, hessian=hessian)


def grouped_data(data: RegressionData, family: str, grouping: Grouping) -> RegressionData:
    """The data of a model with random intercepts; what it is not for is refused."""
    k = 0 if data.categories is None else len(data.categories)
    bar = f"(1 | {grouping.name})"
    logits = (*LINKS, "multinomial")
    if data.predictors:
        raise NotAvailable(
            f"{bar} with the private predictor {next(iter(data.predictors))!r}: random intercepts "
            "are for public predictors: leave one of them out"
        )
    if data.weights is not None or data.sample is not None:
        raise NotAvailable(
            f"{bar} with weights or the design of a survey: a weighted likelihood of groups needs "
            "weights of groups too: make the survey without weights=, strata= and clusters=, or "
            f"leave out {bar} and name the groups as clusters"
        )
    if family not in logits or not data.is_private:
        raise NotAvailable(
            f"{bar} does not go with model={family!r}: random intercepts are for private answers "
            "of two categories (logit, probit, cloglog) or three (multinomial): use one of these, "
            f"or leave out {bar} and name the groups as clusters, as in fit(cov_type='cluster')"
        )
    if k > _MOST_CATEGORIES:
        raise NotAvailable(
            f"{bar} with {k} categories: integrals over more than two intercepts are too large: "
            "join categories with ldpstats.Lumped"
        )
    sizes = np.bincount(grouping.codes, data.counts)
    if (sizes == 0.0).any():
        label = grouping.labels[int(np.argmin(sizes))]
        raise InvalidArgument("freq_weights", label, "are zero in this group: leave its rows out")
    if sizes.max() < 2.0:
        remedy = "has one respondent in each group, whose intercepts cannot be told from chance"
        raise InvalidArgument(grouping.name, list(grouping.labels[:5]), remedy)
    outcome = outcome_of(family, k, grouped=True)
    for mechanism in data.mechanisms():
        if mechanism.unknown:
            raise NotAvailable(
                f"{bar} with the unknown {mechanism.unknown[0]} of a device: random intercepts "
                "need a known device: use mechanism.at(...) with an estimate from elsewhere"
            )
    return replace(data, outcome=outcome, groups=replace(grouping, n_nodes=_NODES[k - 2][0]))


# -- results -----------------------------------------------------------------------------------


@record
class FewGroups:
    """How variances allow for the number of groups."""

    levels: Array  # (P, P): the part of the covariance that is in the levels of groups
    plain: Array  # (P, P): the covariance as if the variance of groups were known
    left: float  # levels that the coefficients leave
    taken: float  # and that they take
    most: float  # degrees of freedom of what is no matter of groups

    @classmethod
    def of(cls, model: PrivatizedMixedLogit, theta: Array, V: Array) -> FewGroups:
        """Those of a fit."""
        likelihood: Any = model.likelihood
        levels, taken = likelihood.restricted(theta).levels(theta)
        G = len(model.grouping.labels)
        if G - taken < _FEWEST:
            raise NotIdentified(
                f"{G} groups of {model.grouping.name}, and {taken:.3g} coefficients of whole "
                "groups, which leave nothing to estimate their variance from: use fewer covariates "
                "of groups, or fit(cov_type='nonrobust'), whose intervals are too short"
            )
        whole = np.zeros(V.shape)
        whole[: len(levels), : len(levels)] = levels
        return cls(whole, V, G - taken, taken, model.nobs - len(theta))

    @property
    def covariance(self) -> Array:
        """The covariance of all parameters, (P, P)."""
        return self.plain + self.levels * self.taken / self.left

    def degrees(self, R: Array) -> float:
        """Degrees of freedom of contrasts R, (q, P), the least of all in their span."""
        with np.errstate(invalid="ignore"):
            own, V = (R @ of @ R.T for of in (self.levels, self.plain))
            scale = np.sqrt(np.diagonal(V))
            if not (np.isfinite(V).all() and scale.all()):
                return self.most
        size, axes = np.linalg.eigh(V / np.outer(scale, scale))
        axes = axes[:, size > _RANK] / np.sqrt(size[size > _RANK]) / scale[:, None]
        share = min(1.0, float(np.linalg.eigvalsh(axes.T @ own @ axes)[-1]))
        return min(self.most, self.left / max(share, 1e-9) ** 2)


@record
class GroupEstimates(Document):
    """What is estimated of each of G groups given its reports.

    Intercepts, (G, h), and shares of h or two categories, (G, m), with standard errors.
    """

    labels: list[Any]
    sizes: npt.NDArray[np.int64]
    intercepts: npt.NDArray[np.float64]
    intercept_se: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    share_se: npt.NDArray[np.float64]


class MixedCoefficients(Coefficients):
    """What regressions with random intercepts say of their groups, with respondents or without."""

    _format: ClassVar[str] = "ldpstats-mixed-regression-results"

    @property
    def _covariances(self) -> dict[str, str]:  # type: ignore[override]
        return KINDS | ({"nonrobust": "for the number of groups"} if self.use_t else {})

    if TYPE_CHECKING:  # of kinds

        @property
        def groups(self) -> GroupEstimates: ...

    @property
    def tvalues(self) -> Any:
        """Coefficients over their standard errors; nan of standard deviations."""
        each = super().tvalues
        each[self.model.sd_names] = np.nan
        return each

    @property
    def sd(self) -> pd.Series[float]:
        """Standard deviations of the intercepts."""
        some: pd.Series[float] = self.params[self.model.sd_names]
        return some.rename("sd")

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups.sizes)

    def icc(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intraclass correlations of the latent answers: the share of the groups in the variance.

        ``sd^2 / (sd^2 + v)``, where v is the variance of the errors of the link: pi^2/3 of a logit,
        1 of a probit, pi^2/6 of a complementary log-log. Of three categories each is that of the
        category against the reference. Intervals are those of the standard deviations.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.

        Returns
        -------
        DataFrame
            "icc", "lower" and "upper", a row for each standard deviation.
        """
        outcome = self.model.data.outcome
        v = _VARIANCES[outcome.link if isinstance(outcome, Binary) else "logit"]
        names = self.model.sd_names
        ends = pd.DataFrame(self._bounds(level(alpha)), self.index, ["lower", "upper"])
        table: pd.DataFrame = pd.concat([self.sd.rename("icc"), ends.loc[names]], axis=1) ** 2
        return 1.0 - v / (table + v)  # one where the deviation has no end

    def group_intercepts(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intercept of each group given its reports, with intervals.

        Means given the reports of the group (empirical Bayes), which are nearer to zero than an
        estimate from these reports alone would be. Standard errors allow for the estimated
        coefficients and standard deviations.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals: over groups, not for each whatever its
            intercept.

        Returns
        -------
        DataFrame
            "n" respondents, "intercept", "se", "lower" and "upper", a row for each group; of three
            categories for each group and category but the reference.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"school": np.repeat(["A", "B", "C", "D"], [400, 900, 600, 700])})
        >>> chance = table.school.map({"A": 0.2, "B": 0.3, "C": 0.4, "D": 0.6})
        >>> late = np.where(rng.random(2600) < chance, "yes", "no")
        >>> reports = ldp.Warner(epsilon=2.0).privatize(late, rng)
        >>> results = ldp.regression("late ~ (1 | school)", table, {"late": reports}).fit()
        >>> results.group_intercepts().round(1)
                  n  intercept   se  lower  upper
        school
        A       400       -0.6  0.4   -1.8    0.6
        B       900       -0.4  0.4   -1.6    0.8
        C       600        0.0  0.4   -1.2    1.2
        D       700        1.0  0.4   -0.2    2.2
        """
        held = self.groups
        half = self.law.quantile(alpha) * held.intercept_se
        ends = held.intercepts - half, held.intercepts + half
        return self._by_group("intercept", held.intercepts, held.intercept_se, ends)

    def group_shares(self, alpha: float = 0.05) -> pd.DataFrame:
        """Share of true answers in each group given its reports, with intervals.

        Averages over the respondents of the group, with their covariates, given the reports of the
        group (empirical Bayes). Intervals are made on the logit scale.

        Parameters
        ----------
        alpha : float
            As for `group_intercepts`.

        Returns
        -------
        DataFrame
            "n" respondents, "share", "se", "lower" and "upper", a row for each group; of three
            categories for each group and category.
        """
        held = self.groups
        ends = self.law.intervals(held.shares, held.share_se, level(alpha))
        return self._by_group("share", held.shares, held.share_se, ends)

    def _by_group(
        self, name: str, values: Array, se: Array, ends: tuple[Array, Array]
    ) -> pd.DataFrame:
        """A table with a row for each group, or for each group and category."""
        held, data = self.groups, self.model.data
        m = values.shape[1]
        index: pd.Index[Any] = pd.Index(held.labels, name=data.groups.name)
        if m > 1:
            pairs = [held.labels, data.categories[-m:]]
            names = [data.groups.name, data.response_name]
            index = pd.MultiIndex.from_product(pairs, names=names)
        columns = {name: values, "se": se, "lower": ends[0], "upper": ends[1]}
        table = {"n": np.repeat(held.sizes, m)} | {k: v.ravel() for k, v in columns.items()}
        return pd.DataFrame(table, index=index)

    def plot_groups(
        self, alpha: float = 0.05, most: int = 60, ax: Axes | None = None, title: str | None = None
    ) -> Any:
        """Draw the share of each group with its interval, the smallest share first.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        most : int
            Groups that are drawn, those with the smallest shares.
        ax : Axes, optional
            Of two categories.
        title : str, optional

        Returns
        -------
        Axes, or array of Axes for three categories
        """
        from ldpstats.models.plots import title_text
        from ldpstats.models.regression.plots import draw_estimates

        frame = self.group_shares(alpha).rename(columns={"share": "params"})
        if isinstance(frame.index, pd.MultiIndex):
            frame = frame.swaplevel()
        else:
            frame = frame.sort_values("params")
        words = title_text(title, f"{self.law.subject} by {self.model.data.groups.name}")
        return draw_estimates(frame, self.law.unit, alpha, most, ax, words)

    def predictions(self, by: Any = None, *others: Any, **options: Any) -> Any:
        """As of other regressions; shares given the reports of each group are `group_shares`."""
        name = self.model.data.groups.name
        if isinstance(by, str) and str.__str__(by) == name:
            remedy = "are the groups with intercepts of their own: use group_shares()"
            raise InvalidArgument("by", by, remedy)
        return super().predictions(by, *others, **options)

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        return [
            *super()._interval_notes(frame, uncut, alpha, source),
            f"Of standard deviations: profiles of the {'restricted ' * self.use_t}likelihood, and "
            "half the p-value of its ratio, as zero is the least value.",
        ]

    @property
    def _title(self) -> str:
        return f"{super()._title} with random intercepts"

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Any:
        """Read what `to_dict` wrote: all that needs no respondent."""
        return super(Coefficients, StoredMixedRegression).from_dict(document)


@dataclass(frozen=True, eq=False, repr=False)
class MixedRegressionResults(MixedCoefficients, RegressionResults):
    """A fitted regression with random intercepts of groups.

    `params` are the coefficients (of three categories "category: name") and, last, the standard
    deviations of the intercepts. `conf_int` and `pvalues` are Wald for the former, with quantiles
    of t that allow for the number of groups (`df_inference`), and of the likelihood for the latter,
    one-sided and with zero as a possible end. Averages, which take the level of groups, have the
    degrees of freedom of the constant; `lr_test` takes groups for many. Coefficients are those
    within a group; `predict`, `predictions` and `get_margeff` average over the groups of the
    population, and `typical` has the same of a group whose intercept is zero. `group_intercepts`
    and `group_shares` have what the reports of a group say of it.

    Attributes
    ----------
    quadrature_error : float
        How far the next smaller number of nodes moves the estimate, in standard errors: more than
        the nodes that are used leave out. nan where `n_nodes` was passed.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> table = pd.DataFrame({"school": rng.integers(0, 60, 6000), "age": rng.normal(size=6000)})
    >>> eta = 0.8 * table.age - 0.5 + 0.7 * rng.normal(size=60)[table.school]
    >>> late = np.where(rng.random(6000) < 1 / (1 + np.exp(-eta)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=2.0).privatize(late, rng)
    >>> results = ldp.regression("late ~ age + (1 | school)", table, {"late": reports}).fit()
    >>> results.conf_int().loc[["sd(school)"]].round(1)
                lower  upper
    sd(school)    0.6    1.0
    >>> round(results.variance_test().pvalue, 4)
    0.0
    """

    quadrature_error: float = 0.0
    average: bool = True
    few: FewGroups | None = None

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of t distributions."""
        return self.few is not None

    @property
    def degrees(self) -> Degrees:
        return None if self.few is None else self.few.degrees

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together: F with the degrees of freedom of their span."""
        R, value = self._hypothesis(hypothesis)
        df = None if self.few is None else self.few.degrees(R)
        return wald_contrast(*self._estimated, R, value, df)

    @property
    def penalises(self) -> bool:
        """False: the penalty would need the expected information of groups."""
        return False

    @property
    def _instead(self) -> str:
        return ": use fewer covariates, or the model without random intercepts"

    @property
    def _estimated(self) -> tuple[Array, Array]:
        values, V = super()._estimated
        none = ~self.model._may_move(values)
        return values, np.where(none[:, None] | none, np.nan, V)

    @property
    def n_nodes(self) -> int:
        """Nodes of quadrature along each intercept."""
        return int(self.model.grouping.n_nodes)

    @cached_property
    def groups(self) -> GroupEstimates:
        """What is estimated of each group."""
        likelihood, V = self.model.likelihood, self.covariance_all
        grouping: Grouping = self.model.grouping
        weights = self.model.assembled.counts
        each = [likelihood.intercepts(self.theta, V), likelihood.shares(self.theta, V)]
        shown = [slice(None), self.law.shown]
        pairs = [(a[:, at], np.sqrt(v[:, at])) for (a, v), at in zip(each, shown, strict=True)]
        sizes = np.bincount(grouping.codes, weights).astype(np.int64)
        return GroupEstimates(list(grouping.labels), sizes, *pairs[0], *pairs[1])

    @property
    def typical(self) -> MixedRegressionResults:
        """The same results, whose predictions are of a group with an intercept of zero."""
        return replace(self, average=False)

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers: of the population, or of the typical group."""
        law = super().law
        outcome: Any = law.data.outcome
        outcome, whole = replace(outcome, average=self.average), law.respondents
        whole = replace(whole, likelihood=replace(whole.likelihood, outcome=outcome))
        df = None if self.few is None else self.few.left
        return replace(law, data=replace(law.data, outcome=outcome), assembled=whole, df=df)

    @cached_property
    def _null(self) -> tuple[float, float]:
        data = self.model.data
        constant = replace(data, designs=(np.ones((data.n, 1)),), names=("const",), formula=None)
        h = len(self._sds)
        first = np.append(np.zeros(h), np.maximum(self.theta[self._sds], 0.1))
        value = type(self.model).of(constant).climb(None, first).maximum.value
        return value, value

    def _naive(self) -> Array:
        """Estimates of who takes the reports for the answers."""
        data = self.model.data
        codes = reported_codes(data.response, data.categories)
        naive: PrivatizedMixedLogit = type(self.model).of(replace(data, response=codes))
        return naive.with_nodes(_NODES[len(self._sds) - 1][0]).climb().maximum.theta

    def _kept_information(self) -> float:
        return float("nan")

    def goodness_of_fit(self, groups: int = 10) -> TestResult:
        """Refused: respondents of a group are not independent."""
        raise NotAvailable(
            "goodness_of_fit: with random intercepts respondents of a group are not independent: "
            "use the model without them, or variance_test()"
        )

    # -- standard deviations -------------------------------------------------------------------

    @property
    def _sds(self) -> list[int]:
        """Places of the standard deviations."""
        size = len(self.theta)
        return [*range(size - len(self.model.sd_names), size)]

    @cached_property
    def profiled(self) -> tuple[Objective, Maximum]:
        """The likelihood, restricted where groups are few, and its maximum.

        With nodes enough for larger standard deviations too.
        """
        model, least = self.model, _PROFILED[len(self._sds) - 1]
        if self.n_nodes < least:
            model = model.with_nodes(least)
        likelihood: Any = model.likelihood
        top = _evaluated(super().profiled[1], likelihood)
        if self.few is None or self.infinite:
            return likelihood, top
        restricted, first = likelihood.restricted(self.theta), self.theta.copy()
        first[self._sds] = np.maximum(first[self._sds], 0.1)
        higher = maximise(restricted, first, None, 100, _TOLERANCE, None, model.units)
        return restricted, model._without_sign(higher, restricted)

    def _at_zero(self, index: int) -> tuple[Profile, Probed]:
        if index not in self._sds:
            return super()._at_zero(index)
        known = self._zeros
        if index not in known:
            top = self.profiled
            model = self.model
            profile = Profile(*top, index, model.units, model.bounded, 0.0, _LARGEST)
            known[index] = profile, profile.at(0.0, [profile.line(0.0)])
        return known[index]

    why_wald = "profiles of coefficients, conf_int(method='profile'), take longer"

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients, and profile intervals of standard deviations.

        Parameters
        ----------
        alpha : float
        method : {"default", "profile", "wald"}
            "default" is Wald for coefficients, and the profile of the likelihood for standard
            deviations.

        Returns
        -------
        DataFrame
            Columns "lower" and "upper". A standard deviation may be zero: at that its interval of
            95 % holds it in 97.5 % of surveys. Its upper end is infinite where it is beyond 20.
        """
        ends = super().conf_int(alpha, method)
        if method == "wald":
            return ends
        key = float(alpha), "sd"
        if key not in self._limits:
            limits = self.profiles(t_quantile(alpha, None), self._sds)
            self._limits[key] = np.where(limits < _LARGEST, limits, np.inf)
        ends.iloc[self._sds] = self._limits[key]
        return ends

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient, and one-sided ones of standard deviations.

        The latter are half those of the likelihood ratio, whose law under zero is half chi-square
        with one degree of freedom and half zero.
        """
        each = super().pvalues.copy()
        falls = np.array([self._at_zero(j)[1].fall for j in self._sds])
        positive = self.profiled[1].theta[self._sds] > 0.0
        each.iloc[self._sds] = np.where(positive, chi2_pvalue(falls**2, 1) / 2.0, 1.0)
        return each

    def variance_test(self) -> TestResult:
        """Likelihood ratio test that groups do not differ: all standard deviations are zero.

        As zero is the least that a standard deviation can be, the statistic is a mixture of
        chi-square variables: zero or one degree of freedom with probability one half each for one
        intercept (Self and Liang 1987); for two up to two degrees, with weights by the angle
        between the two in the information of the groups.

        The estimate is zero in more than half of the surveys of few groups that do not differ, so
        that the test is cautious: at 5 % it rejected in 3.7 % of 600 surveys of 60 groups. The
        likelihood is the restricted one, whose estimate is not too small on average; with
        ``cov_type="nonrobust"`` it is not, and the test rejected in 2.5 %.

        Returns
        -------
        TestResult

        References
        ----------
        S. G. Self and K.-Y. Liang, Asymptotic properties of maximum likelihood estimators and
        likelihood ratio tests under nonstandard conditions, Journal of the American Statistical
        Association 1987.
        """
        objective, top = self.profiled
        none = self._without(objective, self._sds)
        statistic = max(0.0, 2.0 * (top.value - none.value))
        weights = [0.5]
        if len(self._sds) > 1:
            angle = self.model.likelihood.angle(none.theta)
            weights = [0.5, angle / (2.0 * np.pi)]
        p = sum(w * float(chi2_pvalue(statistic, i + 1)) for i, w in enumerate(weights))
        shares = [1.0 - sum(weights), *weights]
        words = ", ".join(f"{w:.2f} chi2({i})" for i, w in enumerate(shares))
        name = self.model.grouping.name
        return TestResult(
            f"the intercepts of {name} do not differ",
            statistic,
            None,
            p if top.theta[self._sds].any() else 1.0,
            f"{'Likelihood' if self.few is None else 'Restricted likelihood'} ratio test, "
            f"mixture of {words}",
        )

    # -- presentation --------------------------------------------------------------------------

    def __repr__(self) -> str:
        name = self.model.grouping.name
        return (
            f"MixedRegressionResults({self.model.endog_names}, {self.n_groups} groups of {name}; "
            f"n={self.nobs})"
        )

    def _heading(self) -> Heading:
        title, left, right = super()._heading()
        sizes = self.groups.sizes
        name = one_line(self.model.grouping.name, 20)
        left.append(("Groups:", f"{name}, {self.n_groups:,}"))
        right.append(("Group sizes:", f"{sizes.min():,} to {sizes.max():,}"))
        return title, left, right

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        names, ends = self.model.sd_names, self.icc().to_numpy()
        each = [
            f"{one_line(name, 40)} {value:.2f} ({low:.2f} to {high:.2f})"
            for name, (value, low, high) in zip(names, ends, strict=True)
        ]
        zero = self.theta[self._sds] == 0.0
        notes = [
            f"Intraclass correlation on the latent scale, 95% interval: {', '.join(each)}.",
        ]
        if len(names) > 1:
            test = pvalue_text(self.variance_test().pvalue, "p")
            notes.append(f"Test that groups do not differ (variance_test): {test}.")
        if zero.any():
            notes.append(
                "NOTE: a standard deviation is estimated as zero: the reports show no difference "
                "between groups beyond chance. Rely on the interval."
            )
        if details and self.quadrature_error == self.quadrature_error:
            notes.append(
                f"{self.n_nodes} nodes of quadrature along each intercept; the next smaller number "
                f"moves the estimate by {self.quadrature_error:.1g} standard errors."
            )
        return super()._notes(frame, details) + notes

    def _stored(self) -> dict[str, Any]:
        return StoredMixedRegression.of(self)._stored()

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"n_groups": self.n_groups}


@dataclass(frozen=True, eq=False, repr=False)
class StoredMixedRegression(MixedCoefficients, StoredRegression):
    """A regression with random intercepts that was written as a document, and read."""

    groups: GroupEstimates
    of_variance: TestResult

    @classmethod
    def of(cls, results: Any) -> StoredMixedRegression:
        """What is kept of results."""
        whole = StoredRegression.of(results)
        own = {one.name: getattr(whole, one.name) for one in fields(StoredRegression)}
        return cls(**own, groups=results.groups, of_variance=results.variance_test())

    def variance_test(self) -> TestResult:
        """The test of the fit that groups do not differ."""
        return self.of_variance

    @property
    def typical(self) -> StoredMixedRegression:
        """The same results, whose predictions are of a group with an intercept of zero."""
        outcome: Any = self.law.data.outcome
        data = replace(self.law.data, outcome=replace(outcome, average=False))
        return replace(self, law=replace(self.law, data=data))
