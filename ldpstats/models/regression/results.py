"""What a fitted regression on privatised answers says: estimates, tests, intervals, predictions.

Default tests and intervals of coefficients are from the profile of the penalised likelihood: the
interval of level 1 - alpha holds all values whose profile falls by less than half the squared
quantile, and the p-value is of the fall at zero, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    level,
    one_of,
    probability,
    real_number,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.regression import Maximum, Objective, maximise, search
from ldpstats.hints import missing_attribute
from ldpstats.inference.profiles import Probed, Profile
from ldpstats.inference.regression import InformationShares
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.likelihood.predictors import start, units
from ldpstats.likelihood.regression import (
    Binary,
    Multinomial,
    Normal,
    Ordered,
    ReportLaw,
    predictors_of,
    scaled,
)
from ldpstats.models.layout import Frame, Heading, Table, in_turn
from ldpstats.models.regression.coefficients import Coefficients, coefficient_labels, model_name
from ldpstats.models.regression.fitted import Devices, FittedLaw
from ldpstats.models.regression.hypotheses import (
    Degrees,
    partial_score,
    t_pvalues,
    t_quantile,
    wald_contrast,
)
from ldpstats.models.regression.structure import conditional_value, distinct_rows

_MOST_PROFILES = 30  # coefficients up to which each is profiled
_MANY = 50_000  # rows from which on profiles are made only if they may differ from Wald,
_SMALL = 0.05  # as where no standardised coefficient is known to this
_DECREMENT = 1e-9  # of restricted maxima
_AT_BOUND, _INSIDE = 0.05, 1e-3  # first step from a bound, and distance from it of starts

_OF_SEEN_ANSWERS = {
    "get_distribution",
    "get_influence",
    "fittedvalues",
    "outlier_test",
    "pred_table",
    "resid",
    "resid_dev",
    "resid_generalized",
    "resid_misclassified",
    "resid_pearson",
    "resid_prob",
    "resid_response",
    "wresid",
}


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResults(Coefficients):
    """A fitted regression on privatised answers.

    `pvalues`, `conf_int` and the columns of `summary` are from one profile of the likelihood with
    half the log determinant of the expected information added, whose intervals always end: a
    coefficient has p < .05 if and only if its 95 % interval does not hold zero, and so at every
    level. The likelihood of numbers is taken without the penalty. `bse`, `tvalues`,
    `wald_test`, `t_test` and ``conf_int(method="wald")`` are of the normal approximation, which
    fails where information is scarce. `why_wald` says why all are Wald, as with robust covariances,
    sampling weights, designs, and more than 30 coefficients. With clusters `df_inference` has the
    degrees of freedom of each coefficient; predictions and margins take the least of them.

    Predictions and margins are of the true answers, not of reports. Averages over private
    predictors use their estimated law given the public covariates.

    The summary says that "the reports know as much as m respondents": m is the number of
    respondents times the p-th root of the ratio of two determinants, those of the information of
    the reports and of the answers themselves on the p coefficients, an average over them.

    `to_json` writes the results without a respondent. What is read (`from_json`) has their
    estimates, tests, default intervals of 95 % and summary, and predicts the same for other tables,
    to the last digit: a formula is written with its levels and with what functions such as
    ``center`` learned. What needs the respondents is refused: averages over them, profiles at other
    levels, tests that fit again. Formulas with a function of your own are not written.

    Attributes
    ----------
    n_maxima : int
        Distinct local maxima that were met from several starts.
    infinite : tuple of str
        Coefficients whose maximum is at infinity.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5_000)})
    >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(0.5 - 0.8 * X["age"])), "yes", "no")
    >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
    >>> results.to_frame().round(3)
        term  estimate  std_error  lower  upper  p_value
    0  const    -0.648      0.078 -0.802 -0.497      0.0
    1    age     0.798      0.091  0.622  0.977      0.0
    >>> results.conf_int().round(2)
           lower  upper
    const  -0.80  -0.50
    age     0.62   0.98
    """

    model: Any
    theta: Array  # all parameters: of the outcome, of private predictors' law, of devices
    covariance_all: Array  # of theta; nan where an estimate is infinite or held by a bound
    value: float  # of what was maximised
    hessian: Array
    method: str
    penalty: str | None
    cov_type: str
    converged: bool
    n_iter: int
    n_maxima: int
    infinite: tuple[str, ...]
    df: float | None = None
    shares: InformationShares | None = None
    _inflation: Array | None = (
        None  # of variances, beside unknown parameters, by robust covariances
    )
    n_clusters: ClassVar[None] = None
    _limits: dict[tuple[float, str], Array] = field(default_factory=dict, init=False)
    _zeros: dict[int, tuple[Profile, Probed]] = field(default_factory=dict, init=False)

    def __getattr__(self, name: str) -> Any:
        # results of statsmodels have these, of answers that were seen
        if name in _OF_SEEN_ANSWERS:
            raise AttributeError(
                f"{name}: it needs the answer of each respondent, which nobody has seen: use "
                "goodness_of_fit(), predictions() and compare_naive()"
            )
        raise AttributeError(missing_attribute(self, name), name=name, obj=self)

    # -- coefficients --------------------------------------------------------------------------

    @property
    def shown(self) -> list[int]:
        """Places in `theta` of what is reported: coefficients, and unknown parameters last."""
        size = len(self.theta)
        return [*range(self.model.n_shown), *range(size - len(self.model.unknown), size)]

    @cached_property
    def index(self) -> pd.Index[Any]:
        return coefficient_labels(self.model)

    @property
    def _estimated(self) -> tuple[Array, Array]:
        return self.theta[self.shown], self.covariance_all[np.ix_(self.shown, self.shown)]

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None or self.shares is not None

    @property
    def degrees(self) -> Degrees:
        if self.shares is None:
            return self.df
        own, most = replace(self.shares, basis=self.shares.basis[self.shown]).degrees, self.df
        return own if most is None else lambda L: float(np.minimum(own(L), most))

    @property
    def _each_df(self) -> Any:
        each = super()._each_df
        if not self.model.unknown or np.ndim(each) == 0:
            return each
        # what a bound holds has none of its own
        held = np.isnan(np.diagonal(self._estimated[1]))
        return np.where(held, np.nanmin(each[~held]), each)

    @property
    def penalises(self) -> bool:
        """Whether profiles are of the penalised likelihood."""
        return not isinstance(self.model.data.outcome, Normal) and not self.model.unknown

    @property
    def _instead(self) -> str:
        """What holds, and what to do, where an estimate is at infinity."""
        remedy = "" if self.penalty else "; fit(penalty='jeffreys') has a finite one"
        if self.model.unknown:
            remedy = "; fit_posterior() has a finite one"
        return f", p-values and intervals are valid{remedy}"

    @cached_property
    def why_wald(self) -> str:
        """Why default tests and intervals are Wald; "" where they are from the likelihood."""
        if self.method == "corrected":
            return "corrected scores have no likelihood"
        if self.model.unknown and np.isin(self.theta[self.model.bounded], (0.0, 1.0)).any():
            return ""  # profiles know bounds, and Wald does not
        if self.cov_type != "nonrobust" and not self.model.unknown:
            kind = "that of the design" if self.cov_type == "design" else self.cov_type
            return f"the likelihood does not know the covariance, which is {kind}"
        if self.use_t and self.model.is_exact:
            return "they are exact for least squares"
        if len(self.shown) > _MOST_PROFILES:
            return f"there are more than {_MOST_PROFILES} coefficients"
        if self.model.likelihood.n > _MANY and not self.infinite:
            # standard errors of the coefficients of standardised covariates
            m = self.model.n_shown
            inverse = np.linalg.inv(self.model.units[:m, :m])
            V = inverse @ self.covariance_all[:m, :m] @ inverse.T
            if float(np.sqrt(np.diagonal(V).max())) < _SMALL:
                return "with so much information the likelihood is quadratic"
        return ""

    @cached_property
    def marginal_params(self) -> pd.DataFrame | None:
        """Coefficients of the law of the private predictors, a column for each configuration."""
        marginal = self.model.data.marginal
        if marginal is None or self.method == "corrected":
            return None
        labels = [
            one[0] if len(one) == 1 else one for one in list(self.model.data.configurations)[1:]
        ]
        whole = self.model.likelihood
        gamma = self.theta[whole.n_outcome : whole.size - whole.m].reshape(len(labels), -1).T
        columns = pd.Index(labels, tupleize_cols=False)
        return Table(gamma, index=list(marginal.columns), columns=columns)

    @property
    def scale(self) -> float:
        """Variance of a numeric outcome about its mean; one for others."""
        if not isinstance(self.model.data.outcome, Normal):
            return 1.0
        n, p = self.model.nobs, len(self.model.data.names)
        sigma = float(np.exp(self.theta[self.model.n_shown]))
        variance: float = sigma**2 * n / (n - p)
        return variance

    # -- likelihood ----------------------------------------------------------------------------

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.model.nobs)

    @property
    def llf(self) -> float:
        """Log-likelihood of the reports of the response, given the public covariates.

        With private predictors it is given their reports too: the log-likelihood of all reports
        given the public covariates, which the fit maximises, less that of the predictors' reports
        alone at the same estimate. `llnull`, `aic` and `bic` are of the same likelihood; `llr` is
        of all reports.
        """
        return conditional_value(self.law.respondents.likelihood, self.law.theta)

    @cached_property
    def _null(self) -> tuple[float, float]:
        """Log-likelihood with constants only: given the predictors' reports, and joint."""
        if self.model.unknown:
            slopes = [j for at in self._terms.values() for j in at]
            fall = self.ratio_without(slopes) / 2.0 if slopes else 0.0
            return self.llf - fall, self.value - fall
        whole = self.model.likelihood
        design, outcome = whole.designs[0], whole.outcome
        columns = 0 if isinstance(outcome, Ordered) else 1
        plain = predictors_of(outcome, np.ones((whole.n, columns)), design.offset)
        null, _ = distinct_rows(replace(whole, designs=(plain,) * len(whole.designs)))
        first = start(null)
        m = null.n_outcome
        first[m:] = self.theta[whole.n_outcome :]
        if not isinstance(outcome, Normal) and whole.marginal is None and columns:
            first[:m] = 0.0
        top = search(null, first, units(null), concave=self.model.is_exact, n_random=2).maximum
        return conditional_value(null, top.theta), top.value

    @property
    def llnull(self) -> float:
        """Log-likelihood of the model without covariates."""
        return self._null[0]

    @property
    def llr(self) -> float:
        """Likelihood ratio statistic of all coefficients but the constant."""
        self._refuse_pseudo("llr")
        joint = self.law.respondents.likelihood.value(self.law.theta)
        return max(0.0, 2.0 * (joint - self._null[1]))

    @property
    def llr_pvalue(self) -> float:
        """Its p-value, chi-square with `df_model` degrees of freedom."""
        return float(chi2_pvalue(self.llr, self.df_model)) if self.df_model else float("nan")

    @property
    def prsquared(self) -> float:
        """McFadden's 1 - llf / llnull, of the reports: noise lowers it."""
        return 1.0 - self.llf / self.llnull

    @property
    def df_model(self) -> float:
        """Number of slopes."""
        model = self.model
        has_constant = not isinstance(model.data.outcome, Ordered) and model.spans_constant
        return float((len(model.data.names) - has_constant) * len(model.equations))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return float(self.nobs - len(self.shown))

    def _refuse_pseudo(self, what: str, robust: bool = True, instead: str = "wald_test") -> None:
        """Refuse what needs a likelihood; unless `robust`, one that knows the covariance."""
        why = ""
        if self.method == "corrected":
            why = f"corrected scores have no likelihood: use {instead}"
        elif not robust and self.cov_type != "nonrobust":
            why = f"the covariance is {self.cov_type}, which the likelihood does not know: use "
            why += instead
        elif robust and self.model.data.weights is not None:
            why = f"weighted likelihoods are not those of the sample: use {instead}, which knows "
            why += "the weights and the design"
        if why:
            raise NotAvailable(f"{what}: {why}")

    # -- tests and intervals of single coefficients --------------------------------------------

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient, by `test_of_coefficients`."""
        from scipy.special import fdtrc

        if self.why_wald:
            return self.wald_pvalues
        model = self.model
        each = np.array([self._at_zero(j)[1].fall ** 2 for j in self.shown])
        if self._inflation is not None:
            each = each / self._inflation[self.shown]
        if isinstance(model.data.outcome, Normal):  # exact for least squares
            n, p = model.nobs, len(model.data.names)
            return self._shaped(fdtrc(1, n - p, np.expm1(each / n) * (n - p)), "pvalues")
        pvalues = np.asarray(chi2_pvalue(each, 1))
        if self.use_t:
            pvalues = t_pvalues(np.sqrt(each), self._each_df)
        inside = model.bounded[self.shown]  # tests of parameters of devices are one-sided
        positive = self.theta[self.shown][inside] > 0.0
        pvalues[inside] = np.where(positive, pvalues[inside] / 2.0, 1.0)
        return self._shaped(pvalues, "pvalues")

    @property
    def test_of_coefficients(self) -> str:
        """Which test `pvalues` are of.

        "penalised likelihood ratio", "likelihood ratio" of numbers and of unknown devices, or
        "Wald".
        """
        if self.why_wald:
            return "Wald"
        return f"{'penalised ' if self.penalises else ''}likelihood ratio"

    @property
    def wald_pvalues(self) -> Any:
        """p-values of `tvalues`."""
        return super().pvalues

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
        method : {"default", "profile", "wald"}
            "default" is the profile of the penalised likelihood where `uses_likelihood`, else Wald.

        Returns
        -------
        DataFrame
            Columns "lower" and "upper"; of a multinomial logit indexed by equation and name.
        """
        method = one_of("method", method, ("default", "profile", "wald"))
        alpha = probability("alpha", alpha)
        if (alpha, method) not in self._limits:  # profiles take time, and a summary repeats them
            z = t_quantile(alpha, self._each_df)
            if method == "profile" and not self.model.unknown:
                self._refuse_pseudo("profile", False, "method='wald'")
            if np.isinf(z).all():
                limits = np.tile([-np.inf, np.inf], (len(self.shown), 1))
            elif method == "profile" or (method == "default" and not self.why_wald):
                limits = np.asarray(self.profiles(z))
            else:
                limits = super()._bounds(alpha)
            self._limits[alpha, method] = limits
        ends = self._limits[alpha, method].copy()
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def _bounds(self, alpha: float) -> Array:
        return self.conf_int(alpha).to_numpy()

    def odds_ratios(self, alpha: float = 0.05, per: Any = None) -> pd.DataFrame:
        """Odds ratios of the true answers, with the intervals of `conf_int`.

        Of a logit they are of success, of a multinomial logit of each category against the
        reference, and of an ordered model of a higher answer. The constant and thresholds have
        none.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        per : mapping of str to float, optional
            How far covariates move, one by default: ``{"age": 10}`` for ten years. Where another
            coefficient is of the same covariate, such as a square, each is still taken alone.

        Returns
        -------
        DataFrame
            "odds_ratio", "lower", "upper" and "p_value", that of `pvalues`; of a multinomial logit
            indexed by equation and name.

        Raises
        ------
        NotAvailable
            If the link is not the logit, or the response is a number.
        InvalidArgument
            If `per` names no coefficient, or a number of units is not positive.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(40, 10, size=5_000)})
        >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(4 - 0.08 * X["age"])), "yes", "no")
        >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
        >>> results.odds_ratios(per={"age": 10}).round(2)
             odds_ratio  lower  upper  p_value
        age        2.46   2.01   3.02      0.0
        """
        alpha = level(alpha)
        model = self.model
        outcome, names = model.data.outcome, model.exog_names
        is_logit = isinstance(outcome, Binary) and outcome.link == "logit"
        if not is_logit and not isinstance(outcome, Multinomial | Ordered):
            raise NotAvailable(
                f"odds_ratios: {model_name(outcome)} regressions have none: use get_margeff(), or "
                "fit model='logit'"
            )
        moves = np.ones(len(names))
        known = [name for j, name in enumerate(names) if j != model.constant]
        if per is not None and not isinstance(per, Mapping):
            example = f"{{{known[0]!r}: 10}}" if known else "{'age': 10}"
            remedy = f"must be a mapping of coefficients to units, such as {example}"
            raise InvalidArgument("per", per, remedy)
        for name, value in ({} if per is None else per).items():
            at = names.index(one_of("per", name, tuple(known)))
            argument, remedy = f"per[{name!r}]", "must be a positive finite number, such as 10"
            moves[at] = real_number(argument, value, remedy)
            if not 0.0 < moves[at] < np.inf:
                raise InvalidArgument(argument, value, remedy)
        p, equations = len(names), len(model.equations)
        slopes = [j for j in range(p) if j != model.constant]
        table = self._tidy(alpha).iloc[[e * p + j for e in range(equations) for j in slopes]]
        by = np.tile(moves[slopes], equations)[:, None]
        with np.errstate(over="ignore"):
            ratios = np.exp(table[["estimate", "lower", "upper"]].to_numpy() * by)
        odds = pd.DataFrame(ratios, index=table.index, columns=["odds_ratio", "lower", "upper"])
        return odds.assign(p_value=table["p_value"])

    # -- profiles ------------------------------------------------------------------------------

    @cached_property
    def profiled(self) -> tuple[Objective, Maximum]:
        """What is profiled, penalised but for numbers, and its maximum."""
        model = self.model
        here = Maximum(
            self.theta,
            self.value,
            self.theta * 0.0,
            self.hessian,
            0.0,
            self.converged,
            self.n_iter,
            np.isnan(np.diagonal(self.covariance_all)) & bool(model.unknown),
        )
        if not self.penalises:
            return model.objective(None), here
        objective, top, first = (
            model.objective("jeffreys", self.theta),
            here,
            start(model.likelihood),
        )
        # the likelihood was searched from many starts: the penalty moves its maximum, or brings it
        # home
        if self.penalty is None and self.infinite:
            top = search(objective, first, model.units, n_random=2).maximum
        elif self.penalty is None:
            top = search(objective, self.theta, model.units, [first], n_random=0).maximum
        return objective.bent_at(top.theta), top

    def _at_zero(self, index: int) -> tuple[Profile, Probed]:
        """A profile, and where the coefficient is zero: p-value and interval both rest on it."""
        known = self._zeros
        if index not in known:
            profile = Profile(*self.profiled, index, self.model.units, self.model.bounded)
            starts = [profile.line(0.0), start(self.model.likelihood)]
            known[index] = profile, profile.at(0.0, starts)
        return known[index]

    def profiles(self, quantile: Any, shown: Sequence[int] | None = None) -> Array:
        """Profile intervals of parameters by place, all by default, (m, 2).

        `quantile` is 1.96 for 95 %. Where the covariance is robust, falls are scaled to it (Kent
        1982).
        """
        model, (_, top) = self.model, self.profiled
        shown = self.shown if shown is None else shown
        if self._inflation is not None:
            quantile = quantile * np.sqrt(self._inflation[shown])
        quantile = np.broadcast_to(quantile, len(shown))
        drop = 0.5 * quantile**2
        if isinstance(model.data.outcome, Normal):  # exact for least squares
            df = model.nobs - len(model.data.names)
            drop = 0.5 * model.nobs * np.log1p(quantile**2 / df)
        # about the variances of the parameters, positive whatever the curvature
        curved, scale = scaled(-top.hessian)
        size, axes = np.linalg.eigh(curved)
        inverse = (axes / np.maximum(np.abs(size), 1e-6)) @ axes.T
        steps = quantile * np.sqrt(np.diagonal(inverse) / scale**2)[shown]
        steps = np.where(top.held[shown], _AT_BOUND, steps)
        limits = np.empty((len(shown), 2))
        for place, j in enumerate(shown):
            profile, zero = self._at_zero(j)
            if np.isnan(drop[place]):  # single clusters determine it
                limits[place] = np.nan
                continue
            limits[place] = profile.interval(float(drop[place]), float(steps[place]), zero)
            if top.held[j] and not model.bounded[j]:  # at infinity: zero alone can be left out
                out = zero.fall**2 > 2.0 * drop[place]
                for side, end in enumerate((-np.inf, np.inf)):
                    if not out or self.theta[j] * end > 0.0:
                        limits[place, side] = end
        return limits

    # -- hypotheses ----------------------------------------------------------------------------

    @property
    def _terms(self) -> dict[str, list[int]]:
        """The coefficients of each term, over all equations; without those of the constant."""
        data = self.model.data
        p, equations = len(data.names), len(self.model.equations)
        if data.formula is not None:
            columns = {name: list(map(int, at)) for name, at in data.formula.terms.items()}
        else:
            columns = {name: [j] for j, name in enumerate(data.names)}
        terms = {name: at for name, at in columns.items() if at != [self.model.constant]}
        return {n: [e * p + j for e in range(equations) for j in at] for n, at in terms.items()}

    def _coefficients_of(self, term: Any) -> tuple[str, list[int]]:
        """A term, a coefficient, or several, in words and as places of coefficients."""
        data, terms = self.model.data, self._terms
        known, p = tuple(dict.fromkeys([*terms, *data.names])), len(data.names)
        if hasattr(term, "cov_params"):
            remedy = (
                "is a fitted model, but takes the term to leave out, and fits the model without it "
                f"to the same reports: {', '.join(terms)}"
            )
            raise InvalidArgument("term", type(term).__name__, remedy)
        names = [term] if isinstance(term, str) else term
        if not isinstance(names, Sequence) or not names:
            remedy = f"must be the name of a term or coefficient, or a list: {', '.join(terms)}"
            raise InvalidArgument("term", term, remedy)
        names = [one_of("term", name, known) for name in names]
        places: list[int] = []
        for name in names:
            of_all = p * len(self.model.equations)
            places += terms[name] if name in terms else range(data.names.index(name), of_all, p)
        return ", ".join(names), sorted(set(places))

    def _without(self, objective: Objective, fixed: Sequence[int]) -> Maximum:
        """The maximum with some coefficients zero, from where the others are and from none."""
        model = self.model
        free = np.ones(self.theta.shape, dtype=bool)
        free[list(fixed)] = False
        inside = np.clip(self.theta, _INSIDE, 1.0 - _INSIDE)
        first = np.where(free, np.where(model.bounded, inside, self.theta), 0.0)
        zero = np.where(free, start(model.likelihood), 0.0)
        starts = [first] if model.is_exact else [first, zero]
        if self.infinite and not model.unknown:
            starts = [zero]
        how = free, 100, _DECREMENT, None, model.units, model.bounded
        starts = [one for one in starts if np.isfinite(objective.value(one))]
        return max((maximise(objective, one, *how) for one in starts), key=attrgetter("value"))

    def ratio_without(self, fixed: Sequence[int]) -> float:
        """Likelihood ratio statistic of coefficients, by place, that are zero."""
        null = self._without(self.model.objective(self.penalty, self.theta), fixed)
        return max(0.0, 2.0 * (self.value - null.value))

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        """Score statistic of the same; None where the information, named then, is singular."""
        data, whole = self.model.data, self.model.likelihood
        null = self._without(whole, fixed)
        free = ~null.held
        free[list(fixed)] = True
        information, how = -null.hessian, "observed information"
        if self.model.unknown:
            information, how = whole.expected(null.theta), "expected information"
        elif data.is_categorical and whole.marginal is None and self.model.lists_reports:
            information = self.model.assembled.expected().matrix(null.theta)
            how = "expected information"
        at = np.flatnonzero(np.isin(np.flatnonzero(free), fixed))
        return partial_score(null.score[free], information[np.ix_(free, free)], at), how

    def lr_test(self, term: Any) -> TestResult:
        """Likelihood ratio test that all coefficients of a term are zero.

        Parameters
        ----------
        term : str or list of str
            Terms of the formula, or names of covariates. Other results are not taken: the model
            without the term is fitted here, to the same reports.
        """
        self._refuse_pseudo("lr_test", False)
        name, at = self._coefficients_of(term)
        how = "Likelihood ratio test" if self.penalty is None else "Penalised likelihood ratio"
        null = f"the coefficients of {name} are zero"
        return TestResult.chi_square(null, self.ratio_without(at), len(at), how)

    def term_tests(self) -> pd.DataFrame:
        """Test of each term: the model without it, likelihood ratio, df and p-value.

        With robust covariances, weights, designs and corrected scores Wald tests.
        """
        terms = self._terms
        index = pd.Index(list(terms), name="term", dtype=object)
        rows: list[tuple[float, ...]] = []
        columns = ["llf_without", "LR", "df", "pvalue"]
        if self.method == "corrected" or self.cov_type != "nonrobust":
            columns = ["Wald", "df", "pvalue"]
        m = self.model.n_shown
        for at in terms.values():
            df = len(at)
            if "LR" in columns:
                ratio = self.ratio_without(at)
                rows.append((self.llf - ratio / 2.0, ratio, df, float(chi2_pvalue(ratio, df))))
                continue
            theta, V = self.theta[:m], self.covariance_all[:m, :m]
            test = wald_contrast(theta, V, np.eye(m)[at], np.zeros(df), self.degrees)
            statistic, pvalue = (float(np.squeeze(v)) for v in (test.statistic, test.pvalue))
            # with a design chi-square is F times df
            rows.append((statistic * (df if self.use_t else 1), df, pvalue))
        return Table(rows, index=index, columns=columns)

    def score_test(self, term: Any) -> TestResult:
        """Score test that all coefficients of a term are zero, from the model without it.

        Parameters
        ----------
        term : str or list of str
            As for `lr_test`.
        """
        self._refuse_pseudo("score_test")
        name, at = self._coefficients_of(term)
        statistic, how = self.score_statistic(at)
        if statistic is None:
            raise NotAvailable(
                f"score_test: under the hypothesis the {how} on {name} is singular: use lr_test"
            )
        null = f"the coefficients of {name} are zero"
        return TestResult.chi_square(null, statistic, len(at), f"Score test with {how}")

    def question_test(self, terms: str = "constant") -> TestResult:
        """Test whether groups that were asked in different ways answer alike.

        For a response in several groups of reports, such as a direct question (`Observed`) and a
        randomised one: a likelihood ratio test against a level, or coefficients, of their own.

        Parameters
        ----------
        terms : {"constant", "all"}
            Whether groups may differ in the constant (the thresholds' level), or in every
            coefficient.
        """
        model, data = self.model, self.model.data
        if not data.is_private or len(data.response) < 2:
            raise NotAvailable(
                "question_test: the response is one group of reports: pass a list of Reports, one "
                "for each way of asking"
            )
        self._refuse_pseudo("question_test")
        if self.penalty is not None:
            raise NotAvailable("question_test: it needs the unpenalised likelihood of the sample")
        terms = one_of("terms", terms, ("constant", "all"))
        sizes, names = [len(group) for group in data.response], list(data.names)
        at = np.repeat(np.arange(len(sizes)), sizes)
        columns = [len(names)]  # a level of its own, behind the covariates
        if terms == "all":
            implied = model.constant is None and model.spans_constant
            slopes = [j for j in range(len(names)) if j != model.constant]
            columns = [*slopes] if implied else [*columns, *slopes]
        used = [g for g, size in enumerate(sizes) if size][1:]
        added = [f"{[*names, 'level'][j]} in group {g + 1}" for g in used for j in columns]
        designs = []
        for X in data.designs:
            some = np.column_stack([X, np.ones(len(X))])[:, columns]
            designs.append(np.hstack([X, *[(at == g)[:, None] * some for g in used]]))
        wider = type(model).of(replace(data, designs=designs, names=[*names, *added], formula=None))
        test: TestResult = wider.fit().lr_test(added)
        what = "level" if terms == "constant" else "law"
        null = f"the {what} of the true answers given the covariates is the same however they "
        return replace(test, null=f"{null}were asked")

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array]:
        if isinstance(hypothesis, str):
            name, terms = hypothesis.strip(), self._terms
            if name in terms and name not in self.names:
                likely = self.method != "corrected" and self.cov_type == "nonrobust"
                test = f"score_test({name!r}), lr_test({name!r}) or " if likely else ""
                names = [self.model.all_names[j] for j in terms[name]]
                remedy = (
                    f"is a term of {len(names)} coefficients: use {test}term_tests(), or name the "
                    f"coefficients, such as '{names[0]} = 0'"
                )
                raise InvalidArgument("hypothesis", hypothesis, remedy)
        return super()._hypothesis(hypothesis)

    # -- the true answers ----------------------------------------------------------------------

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""
        model, whole, likelihood = self.model, self.model.assembled, self.model.likelihood
        p = likelihood.size - likelihood.m
        if self.model.unknown and self.devices is not None:
            channels = tuple(Q[:, Q.any(axis=0)] for Q in self.devices[0])
            law = ReportLaw(channels, likelihood.group)
            whole = replace(whole, likelihood=likelihood.known(self.theta[p:]), law=law)
        df = self.df if self.shares is None else float(np.nanmin(self._each_df))
        return FittedLaw(model.data, whole, self.theta[:p], self.covariance_all[:p, :p], df)

    @property
    def devices(self) -> Devices | None:
        """Channels of devices with unknown parameters, and derivatives by these; None of others."""
        likelihood: Any = self.model.likelihood
        if not likelihood.m:
            return None
        theta = self.theta[-likelihood.m :]
        free = np.isfinite(np.diagonal(self.covariance_all)[-likelihood.m :])
        slopes = [Q.derivatives(theta)[free] for Q in likelihood.matrices]
        return [Q.at(theta) for Q in likelihood.matrices], slopes

    def goodness_of_fit(self, groups: int = 10) -> TestResult:
        """Test whether the reports agree with the fitted law of the true answers.

        Where covariates repeat often enough, Pearson's chi-square of the counts of reports, in
        cells of a pattern of covariates and a report. Else respondents are grouped by their fitted
        probabilities, as Hosmer and Lemeshow do, and the sums of reports in each group are compared
        with what is expected, by the covariance that they have with estimated coefficients. Where a
        report has many values, such as bits, decoded answers take the place of cells.

        Parameters
        ----------
        groups : int
            The largest number of groups; fewer where cells would be too small.

        Returns
        -------
        TestResult

        Raises
        ------
        NotAvailable
            If the outcome is a number, the fit is by corrected scores, at infinity or with
            clusters, the model fits any table, or there are too few reports.
        """
        from ldpstats.models.regression.fitted import goodness_of_fit

        return goodness_of_fit(self, groups)

    # -- presentation --------------------------------------------------------------------------

    def _heading(self) -> Heading:
        name, left, right = super()._heading()
        if self.method != "corrected" and self.model.data.weights is None:
            right += [
                ("Log-likelihood:", f"{self.llf:,.2f}"),
                ("LL-null:", f"{self.llnull:,.2f}"),
            ]
            if self.df_model:
                p = pvalue_text(self.llr_pvalue, "p")
                right.append(("LR test:", f"{self.llr:.2f}, {p}"))
        right.append(("Iterations:", self.n_iter))
        return name, left, right + [("Maxima met:", self.n_maxima)] * (self.method != "corrected")

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        """What may be wrong, and what the randomisation has cost."""
        model = self.model
        notes = []
        if isinstance(model.data.outcome, Ordered):
            notes.append("Thresholds: the first, and logarithms of the steps to the next.")
        if model.unknown:
            notes.append(
                f"Unknown parameters of the devices, in [0, 1]: {in_turn(list(model.unknown))}. "
                "Their p-values are against values above zero: p < .05 where the 90% interval does "
                "not hold zero."
            )
            if self.on_boundary:
                notes.append(
                    f"NOTE: the estimate of {in_turn(list(self.on_boundary))} is on the boundary: "
                    "it has no standard error, and those of the rest are given its value. Rely on "
                    "the intervals."
                )
        if self.infinite:
            notes.append(
                f"WARNING: the maximum is at infinity in {', '.join(self.infinite)}: the estimate "
                f"and its std err say nothing{self._instead}."
            )
        elif not self.converged:
            notes.append(
                "WARNING: the iteration stopped before it reached a maximum: raise maxiter."
            )
        if self.n_maxima > 1 and self.method != "corrected":
            notes.append(
                f"NOTE: {self.n_maxima} local maxima of the likelihood were met; this is the "
                "highest."
            )
        share = self._kept_information()
        if share < 1.0 - 1e-9:
            percent = f"{100.0 * share:.0f}%" if share >= 0.01 else f"{100.0 * share:.2g}%"
            notes.append(
                f"NOTE: the reports know as much of the coefficients as {share * self.nobs:,.0f} "
                f"respondents without randomisation would ({percent} of them)."
            )
        notes += self._naive_notes()
        if model.data.predictors and self.method == "corrected":
            notes.append("Corrected scores assume no law of the private predictors.")
        elif model.data.predictors:
            if model.data.weights is None:
                notes.append(
                    "Log-likelihood: of the response's reports, given public covariates and the "
                    "reports of private predictors; the fit maximises that of all reports."
                )
            notes.append(
                "The law of the private predictors given public ones is in marginal_params."
            )
        if details and model.data.is_categorical:
            with suppress(NotAvailable):
                test = self.goodness_of_fit()
                notes.append(f"Goodness of fit ({test.method}): {pvalue_text(test.pvalue, 'p')}.")
        return notes

    def _kept_information(self) -> float:
        """The share of the information on the coefficients that the randomisation leaves.

        The p-th root of the ratio of two determinants, of the information of the reports and of the
        answers themselves on p coefficients; nan where it is not known.
        """
        model = self.model
        if model.is_exact:
            return 1.0
        if self.infinite or self.method == "corrected":
            return float("nan")
        whole, theta, m = self.law.respondents, self.law.theta, model.likelihood.n_outcome
        clear = expected = whole.expected(theta)
        if (law := whole.law) is not None:
            channel = np.eye(len(law.channels[0]))
            clear = replace(clear, law=ReportLaw((channel,), np.zeros_like(law.at)))
        known: Array
        if model.unknown:
            known = np.linalg.inv(self.covariance_all[:m, :m])
        elif model.data.predictors:
            known = np.linalg.inv(np.linalg.inv(-self.hessian)[:m, :m])
        else:
            known = expected.matrix(theta[:m])
        signs, logs = np.linalg.slogdet(np.array([known, clear.matrix(theta[:m])]))
        return float(np.exp((logs[0] - logs[1]) / m)) if (signs > 0.0).all() else float("nan")

    def _facts(self) -> dict[str, Any]:
        facts = super()._facts()
        return facts | {"n_maxima": self.n_maxima, "converged": facts.pop("converged")}


@dataclass(frozen=True, eq=False, repr=False)
class DeviceRegressionResults(RegressionResults):
    """Coefficients of a regression and unknown parameters of devices, estimated together.

    All that `RegressionResults` has is here too, and standard errors of all of it allow for the
    parameters being unknown. `params` are the coefficients (of a multinomial logit "category:
    name"), then the unknown parameters, in [0, 1]. `bse` is nan for a parameter on the boundary,
    and given its value for the rest. `conf_int` has profiles of the joint likelihood, which end at
    the bounds of parameters; of coefficients at infinity they have no end, or only one that leaves
    out zero. With robust covariances, weights and designs the fall of a profile is scaled to the
    variance that they give the parameter. p-values of unknown parameters are one-sided, and go with
    the 90 % interval.
    """

    @property
    def coefficients(self) -> pd.Series[float]:
        """The coefficients alone."""
        some: pd.Series[float] = self.params.iloc[: self.model.n_shown]
        return some.rename("coefficients")

    @property
    def parameters(self) -> pd.Series[float]:
        """The unknown parameters alone."""
        some: pd.Series[float] = self.params.iloc[self.model.n_shown :]
        return some.rename("parameters")

    @property
    def on_boundary(self) -> tuple[str, ...]:
        """Unknown parameters whose estimate is 0 or 1."""
        values = self.parameters
        return tuple(values.index[(values <= 0.0) | (values >= 1.0)])

    def information(self) -> pd.DataFrame:
        """Expected joint information of the reports at the estimate, (p + m, p + m)."""
        names = self.model.all_names
        information = self.model.likelihood.expected(self.theta)
        return Table(information, index=names, columns=names)

    def __repr__(self) -> str:
        names = ", ".join(self.model.unknown)
        return f"DeviceRegressionResults({self.model.endog_names}, {names}; n={self.nobs})"
