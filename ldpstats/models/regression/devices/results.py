"""What a regression with unknown parameters of devices says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.estimators.regression.bounded import BoundedMaximum, maximise_bounded
from ldpstats.inference.regression.bounded_profiles import bounded_profile, drop_at
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.answers.reported import Devices
from ldpstats.models.regression.likelihood_tests import partial_score
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.shared.spelling import in_turn, names_alpha
from ldpstats.problems.regression.jeffreys import ReportLaw
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.parametric import ParametricRegression

__all__ = ["DeviceRegressionResults"]

Array = npt.NDArray[Any]


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
    top: BoundedMaximum = field(kw_only=True)

    @property
    def likelihood(self) -> ParametricRegression:
        """The likelihood of coefficients and parameters together."""
        return self.joint

    @property
    def units(self) -> Array:
        """Parameters from standardised ones, (size, size)."""
        return self.joint.units

    @property
    def index(self) -> pd.Index[Any]:
        """Names of the coefficients, then of the unknown parameters."""
        return pd.Index(self._shown_names)

    @property
    def coefficients(self) -> pd.Series[float]:
        """The coefficients alone."""
        found: pd.Series[float] = self.params.iloc[: self._m].rename("coefficients")
        return found

    @property
    def parameters(self) -> pd.Series[float]:
        """The unknown parameters alone."""
        found: pd.Series[float] = self.params.iloc[self._m :].rename("parameters")
        return found

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
    def _terms(self) -> dict[str, list[int]]:
        from ldpstats.models.regression.hypotheses import terms_of

        return terms_of(self)

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
        found = self.joint.expected(self.theta)
        names = self.model.all_names
        return pd.DataFrame(found, index=names, columns=names)

    def _likelihood_pvalues(self) -> Array:
        p, found = self.joint.p, []
        for j in self.shown:
            estimate, fall = self.theta[j], self._fall_at_zero(j)
            one = float(chi2_pvalue(2.0 * fall, 1.0)) if np.isfinite(fall) else 0.0
            found.append(one if j < p else (one / 2.0 if estimate > 0.0 else 1.0))
        return np.array(found)

    def _fall_at_zero(self, j: int) -> float:
        """Fall of the profile where a coefficient or parameter is zero."""
        return drop_at(self.joint, self.top, self.units, j, 0.0) if self.theta[j] else 0.0

    def profiles(self, quantile: float) -> Array:
        errors, drop = np.sqrt(np.diagonal(self.covariance_all)), 0.5 * quantile**2
        steps = np.where(np.isfinite(errors), quantile * errors, 0.05)
        lost = self.top.held & (np.arange(errors.size) < self.joint.p)  # maxima at infinity
        found = []
        for j in self.shown:
            fall = self._fall_at_zero(j)
            lower, upper = bounded_profile(
                self.joint, self.top, self.units, j, drop, steps[j], fall
            )
            if lost[j]:  # zero alone can be left out
                lower = lower if fall > drop and self.theta[j] > 0.0 else -np.inf
                upper = upper if fall > drop and self.theta[j] < 0.0 else np.inf
            found.append((lower, upper))
        return np.array(found)

    def ratio_without(self, fixed: Sequence[int]) -> float:
        return max(0.0, 2.0 * (self.value - self._restricted(fixed).value))

    def _restricted(self, fixed: Sequence[int]) -> BoundedMaximum:
        """The maximum with some coefficients zero, from here and from other parameters."""
        still = np.zeros(self.theta.shape, dtype=bool)
        still[list(fixed)] = True
        first = np.where(still, 0.0, self.theta)
        starts = []
        for edge in (1e-3, 0.4):
            inside = np.clip(first[self.joint.p :], edge, 1.0 - edge)
            starts.append(np.append(first[: self.joint.p], inside))
        met = [
            maximise_bounded(self.joint, one, self.units, still)
            for one in starts
            if np.isfinite(self.joint.value(one))
        ]
        return max(met, key=lambda one: one.value)

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        null = self._restricted(fixed)
        free = ~null.held
        free[list(fixed)] = True
        at = np.flatnonzero(np.isin(np.flatnonzero(free), list(fixed)))
        information = self.joint.expected(null.x)[np.ix_(free, free)]
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

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of "params", "bse", "lower", "upper" and "pvalues"."""
        ends = self.conf_int(level(alpha))
        return pd.DataFrame(
            {"params": self.params, "bse": self.bse, **ends, "pvalues": self.pvalues}
        )

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
