"""Regressions whose devices have unknown parameters: fit, and results.

Coefficients and parameters are estimated together by maximum likelihood, with parameters held
between 0 and 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import (
    InvalidArgument,
    LDPWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.regression import (
    Maximum,
    flat_direction,
    maximise,
    search_bounded,
)
from ldpstats.inference.profiles import bounded_profile, drop_at
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.parametric import generic_point, unidentified
from ldpstats.likelihood.predictors import ParametricRegression
from ldpstats.likelihood.regression import RegressionLikelihood, ReportLaw
from ldpstats.models.layout import in_turn
from ldpstats.models.parameters import polynomial_matrix
from ldpstats.models.regression.fitted import Devices, FittedLaw
from ldpstats.models.regression.fitting import infinite_parameters, warn_of_the_end
from ldpstats.models.regression.hypotheses import partial_score
from ldpstats.models.regression.results import RegressionResults

__all__ = ["check_identified", "fit_with_devices", "parametric_likelihood", "refuse_devices"]


Array = npt.NDArray[Any]

_SINGULAR = 1e-8  # eigenvalue of a correlation matrix, that counts as zero
_APART = 0.01  # unknown parameters that are not the same
_PART = 0.1  # in a direction without information, from which on a parameter is named
_REMEDY = "add a group of respondents with another device, or one whose parameters are known"


def fit_with_devices(model: Any, options: dict[str, Any]) -> DeviceRegressionResults:
    """Maximum likelihood of coefficients and parameters; see `PrivatizedRegression.fit`."""
    usual = {"method": (None, "mle"), "maxiter": (100,), "disp": (False,)}
    for option, value in options.items():
        if not any(value is one or value == one for one in usual.get(option, (None,))):
            raise NotAvailable(
                f"the unknown {in_turn(list(model.unknown))} and the coefficients are estimated by "
                f"maximum likelihood alone: leave out {option}="
            )
    refuse_devices(model)
    likelihood = parametric_likelihood(model)
    names = model.all_names
    check_identified(likelihood, names)
    top, rivals = search_bounded(likelihood, likelihood.m, likelihood.start, likelihood.units)
    p, m = likelihood.p, likelihood.m
    here = replace(top, theta=top.theta[:p], score=top.score[:p], hessian=top.hessian[:p, :p])
    flat = flat_direction(likelihood.known(top.theta[p:]), here, model.units)
    infinite, fixed = infinite_parameters(names, flat, top)
    if infinite:  # places there are many, of the same coefficients
        rivals = [one for one in rivals if np.abs(one.theta[-m:] - top.theta[-m:]).max() > _APART]
    top = replace(top, held=top.held | fixed)
    if rivals:
        apart = np.flatnonzero(np.abs(top.theta - rivals[0].theta) > 1e-3)[:4]
        shown = ", ".join(f"{names[j]} = {float(rivals[0].theta[j]):.4g}" for j in apart)
        raise NotIdentified(f"other values fit the reports as well, such as {shown}: {_REMEDY}")
    instead = "Their intervals have no end, and fit_posterior() has finite estimates"
    warn_of_the_end(top, infinite, instead)
    V = _covariance(likelihood, top, names)
    return DeviceRegressionResults(
        model=model,
        theta=top.theta,
        covariance_all=V,
        value=top.value,
        hessian=top.hessian,
        method="mle",
        penalty=None,
        cov_type="nonrobust",
        converged=top.converged and not infinite,
        n_iter=top.n_iter,
        n_maxima=1,
        infinite=infinite,
        joint=likelihood,
        top=top,
    )


def parametric_likelihood(model: Any) -> ParametricRegression:
    """The likelihood of a model over distinct rows."""
    matrices = [polynomial_matrix(one.mechanism, model.unknown) for one in model.data.response]
    return ParametricRegression(model.likelihood, tuple(matrices))


def refuse_devices(model: Any) -> None:
    """Refuse weights, designs, reports of bits, and parameters named like a coefficient."""
    names, data = in_turn(list(model.unknown)), model.data
    others = {*model.exog_names, *model.all_names[: -len(model.unknown)]}
    for name in model.unknown:
        if name in others:
            remedy = "is a coefficient too: give the unknown parameter another name"
            raise InvalidArgument("unknown", name, remedy)
    if data.sample is not None or data.weights is not None:
        raise NotAvailable(
            f"sampling weights beside a device with the unknown {names} have no likelihood: leave "
            "them out (numbers of respondents are freq_weights=)"
        )
    for one in data.response:
        mechanism = one.mechanism
        if mechanism.n_bits or mechanism.n_cohorts or mechanism.is_open:
            raise NotAvailable(
                f"{mechanism} reports bits or cohorts: beside unknown parameters only devices "
                "whose reports are labels can be fitted"
            )


def check_identified(
    likelihood: ParametricRegression,
    names: list[str],
    known: Sequence[str] = (),
    remedy: str = "",
) -> None:
    """Refuse devices that leave something open whatever the coefficients, unless a prior is known.

    `known` are parameters with a prior, and `remedy` is a further one.
    """
    scale, p, m = likelihood.units, likelihood.p, likelihood.m
    drawn = np.random.default_rng(2024).normal(0.0, 0.7, p)
    point = likelihood.start + scale @ np.append(drawn, np.zeros(m))
    point[p:] = [float(v) for v in generic_point(1, m)[1]]
    open_ = _open(scale.T @ likelihood.expected(point) @ scale)
    left = [names[j] for j in np.flatnonzero(open_)]
    if set(left) & set(known):
        return
    if left:
        words = in_turn(left)
        raise NotIdentified(
            f"{words} cannot be estimated from these reports: other values give them the same law; "
            f"{_REMEDY}{remedy}"
        )
    if not known and unidentified(likelihood.matrices).any():
        warnings.warn(
            "these devices alone do not determine the frequencies and the unknown parameters: only "
            f"the shape of the regression does, which data can hardly check. Better {_REMEDY}",
            LDPWarning,
            stacklevel=4,
        )


def _open(information: Array) -> npt.NDArray[np.bool_]:
    """Parameters on which there is no information."""
    scale = np.sqrt(np.maximum(np.diagonal(information), 0.0))
    none = scale <= 1e-12 * scale.max(initial=0.0)
    scale = np.where(none, 1.0, scale)
    size, axes = np.linalg.eigh(information / np.outer(scale, scale))
    flat = axes[:, size <= _SINGULAR]
    return np.asarray(none | (np.abs(flat) > _PART).any(axis=1))


def _covariance(likelihood: ParametricRegression, top: Maximum, names: list[str]) -> Array:
    """Inverse of the observed information of what no bound holds; nan for the rest."""
    free = ~top.held
    units_ = likelihood.units[np.ix_(free, free)]
    information = -units_.T @ top.hessian[np.ix_(free, free)] @ units_
    open_ = _open(information)
    if open_.any() or np.linalg.eigvalsh(information)[0] <= 0.0:
        some = np.array(names)[free][open_] if open_.any() else np.array(names)[free]
        raise NotIdentified(
            f"the information of the reports on {in_turn(list(some))} is singular at the estimate: "
            f"{_REMEDY}"
        )
    V = np.full((likelihood.size, likelihood.size), np.nan)
    inverse = units_ @ np.linalg.inv(information) @ units_.T
    V[np.ix_(free, free)] = (inverse + inverse.T) / 2.0
    return V


# -- results -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class DeviceRegressionResults(RegressionResults):
    """Coefficients of a regression and unknown parameters of devices, estimated together.

    All that `RegressionResults` has is here too: predictions, margins, tests of terms, plots.
    Standard errors of all of it allow for the parameters being unknown.

    Attributes
    ----------
    params : Series, shape (p + m,)
        The coefficients, named as in other fits (those of a multinomial logit "category: name"),
        then the unknown parameters, which lie in [0, 1].
    bse : Series
        Standard errors, from the observed information; nan for a parameter on the boundary, and
        given its value for the rest.
    pvalues : Series
        Likelihood ratio tests of zero; of an unknown parameter against values above zero.
    coefficients, parameters : Series
        The two parts of `params`.

    Notes
    -----
    `conf_int` has profiles of the joint likelihood, which end at the bounds of parameters. Of
    coefficients whose maximum is at infinity intervals have no end, or only one that leaves out
    zero. p-values of coefficients are below .05 if and only if the 95 % interval does not hold
    zero; those of unknown parameters are one-sided, and go with the 90 % interval.
    """

    joint: ParametricRegression = field(kw_only=True)
    top: Maximum = field(kw_only=True)

    @property
    def likelihood(self) -> ParametricRegression:
        """The likelihood of coefficients and parameters together."""
        return self.joint

    @property
    def units(self) -> Array:
        """Parameters from standardised ones, (size, size)."""
        return self.joint.units

    @property
    def coefficients(self) -> pd.Series[float]:
        """The coefficients alone."""
        coefficients: pd.Series[float] = self.params.iloc[: self.model.n_shown].rename(
            "coefficients"
        )
        return coefficients

    @property
    def parameters(self) -> pd.Series[float]:
        """The unknown parameters alone."""
        parameters: pd.Series[float] = self.params.iloc[self.model.n_shown :].rename("parameters")
        return parameters

    @property
    def on_boundary(self) -> tuple[str, ...]:
        """Unknown parameters whose estimate is 0 or 1."""
        values = self.parameters
        return tuple(values.index[(values <= 0.0) | (values >= 1.0)])

    # -- the likelihood ------------------------------------------------------------------------

    @cached_property
    def at_estimate(self) -> RegressionLikelihood:
        return self.joint.known(self.theta[self.joint.p :])

    @cached_property
    def _null(self) -> tuple[float, float]:
        slopes = [j for at in self._terms.values() for j in at]
        fall = self.ratio_without(slopes) / 2.0 if slopes else 0.0
        return self.llf - fall, self.value - fall

    @property
    def penalises(self) -> bool:
        return False

    @cached_property
    def why_wald(self) -> str:
        return "" if self.on_boundary else super().why_wald

    @property
    def test_of_coefficients(self) -> str:
        return "Wald" if self.why_wald else "likelihood ratio"

    def information(self) -> pd.DataFrame:
        """Expected joint information of the reports at the estimate, (p + m, p + m)."""
        information = self.joint.expected(self.theta)
        names = self.model.all_names
        return pd.DataFrame(information, index=names, columns=names)

    def _likelihood_pvalues(self) -> Array:
        pvalues = []
        for j in self.shown:
            fall = self._fall_at_zero(j)
            p = float(chi2_pvalue(2.0 * fall, 1.0)) if np.isfinite(fall) else 0.0
            if j >= self.joint.p:  # one-sided, of a parameter
                p = p / 2.0 if self.theta[j] > 0.0 else 1.0
            pvalues.append(p)
        return np.array(pvalues)

    def _fall_at_zero(self, j: int) -> float:
        """Fall of the profile where a coefficient or parameter is zero."""
        return drop_at(self.joint, self.top, self.units, j, 0.0) if self.theta[j] else 0.0

    def profiles(self, quantile: float) -> Array:
        errors, drop = np.sqrt(np.diagonal(self.covariance_all)), 0.5 * quantile**2
        steps = np.where(np.isfinite(errors), quantile * errors, 0.05)
        lost = self.top.held & (np.arange(errors.size) < self.joint.p)  # maxima at infinity
        limits = []
        for j in self.shown:
            fall = self._fall_at_zero(j)
            lower, upper = bounded_profile(
                self.joint, self.top, self.units, j, drop, steps[j], fall
            )
            if lost[j]:  # zero alone can be left out
                lower = lower if fall > drop and self.theta[j] > 0.0 else -np.inf
                upper = upper if fall > drop and self.theta[j] < 0.0 else np.inf
            limits.append((lower, upper))
        return np.array(limits)

    def ratio_without(self, fixed: Sequence[int]) -> float:
        return max(0.0, 2.0 * (self.value - self._restricted(fixed).value))

    def _restricted(self, fixed: Sequence[int]) -> Maximum:
        """The maximum with some coefficients zero, from here and from other parameters."""
        still = np.zeros(self.theta.shape, dtype=bool)
        still[list(fixed)] = True
        first = np.where(still, 0.0, self.theta)
        starts = []
        for edge in (1e-3, 0.4):
            inside = np.clip(first[self.joint.p :], edge, 1.0 - edge)
            starts.append(np.append(first[: self.joint.p], inside))
        how: dict[str, Any] = {
            "units": self.units,
            "bounded": np.arange(still.size) >= self.joint.p,
        }
        met = [
            maximise(self.joint.evaluate, self.joint.value, one, ~still, **how)
            for one in starts
            if np.isfinite(self.joint.value(one))
        ]
        return max(met, key=lambda one: one.value)

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        null = self._restricted(fixed)
        free = ~null.held
        free[list(fixed)] = True
        at = np.flatnonzero(np.isin(np.flatnonzero(free), list(fixed)))
        information = self.joint.expected(null.theta)[np.ix_(free, free)]
        return partial_score(null.score[free], information, at), "expected information"

    # -- the true answers ----------------------------------------------------------------------

    @cached_property
    def law(self) -> FittedLaw:
        p, parameters = self.joint.p, self.theta[self.joint.p :]
        channels = tuple(Q.at(parameters) for Q in self.joint.matrices)
        kept = tuple(Q[:, Q.any(axis=0)] for Q in channels)
        whole = replace(
            self.model.assembled,
            likelihood=self.at_estimate,
            law=ReportLaw(kept, self.joint.group),
        )
        V = self.covariance_all[:p, :p]
        return FittedLaw(self.model.data, whole, self.theta[:p], V, self.df)

    @property
    def devices(self) -> Devices:
        parameters = self.theta[self.joint.p :]
        free = np.isfinite(np.diagonal(self.covariance_all)[self.joint.p :])
        matrices = self.joint.matrices
        return (
            [Q.at(parameters) for Q in matrices],
            [Q.derivatives(parameters)[free] for Q in matrices],
        )

    # -- presentation --------------------------------------------------------------------------

    def parameter_notes(self) -> list[str]:
        names = in_turn(list(self.model.unknown))
        notes = [
            f"Unknown parameters of the devices, in [0, 1]: {names}. Their p-values are against "
            "values above zero: p < .05 where the 90% interval does not hold zero."
        ]
        if self.on_boundary:
            at = in_turn(list(self.on_boundary))
            notes.append(
                f"NOTE: the estimate of {at} is on the boundary: it has no standard error, and "
                "those of the rest are given its value. Rely on the intervals."
            )
        return notes

    def __repr__(self) -> str:
        names = ", ".join(self.model.unknown)
        return f"DeviceRegressionResults({self.model.endog_names}, {names}; n={self.nobs})"
