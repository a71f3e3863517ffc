"""Estimates of frequencies and parameters, with their covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotIdentified
from ldpstats.estimators.parametric.maximum import Maximum, continued, maximum
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.parameters.groups import DeviceGroups
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.spelling import in_turn
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.parametric.identification import unidentified
from ldpstats.problems.parametric.likelihood import ParametricLikelihood

__all__ = ["ParametersFit", "estimate", "fit_test", "joint_covariance", "outside_pvalue"]

Array = npt.NDArray[Any]

_CONVERGED = 1e-9  # slope per report
_IMPOSSIBLE = 1e-9  # probability of a report below which its information has no bound
_RARE = 5.0  # expected reports below which the chi-square law is rough


class ParametersFit(Fit):
    """A fit of frequencies and parameters: `gap` is the slope that is left (see `slope`)."""

    @property
    def df_model(self) -> int:
        """Frequencies and parameters that vary freely: the frequencies sum to one."""
        return int(self.fitted.estimate.size) - 1

    @property
    def gap_nats(self) -> float:
        """`gap` of all reports."""
        return self.nobs * self.gap


@dataclass(frozen=True, eq=False)
class _Found:
    """Both estimates, and where each leaves something open."""

    top: Maximum
    fitted: Uncertain
    linear: Uncertain
    gap: float


def estimate(groups: DeviceGroups, name: str, n_missing: int) -> ParametersFit:
    """Fit frequencies and parameters by maximum likelihood.

    Raises
    ------
    NotIdentified
        If other values fit the reports as well.
    """
    found = _solved(groups)
    likelihood = groups.likelihood
    converged = found.gap <= _CONVERGED
    words = f"maximum of {found.top.starts} starts, slope {found.gap:.1e} nats per report"
    return ParametersFit(
        fitted=found.fitted,
        linear=found.linear,
        method="mle",
        settings="",
        cov_type="expected",
        nobs=int(likelihood.nobs),
        n_missing=n_missing,
        epsilon=max(mechanism.epsilon for mechanism in groups.mechanisms),
        sources=groups.words,
        llf=float(likelihood.loglike(found.top.x)),
        gap=found.gap,
        n_iter=found.top.rounds,
        converged=converged,
        message=words,
        name=name,
        source_nobs=tuple(counts.nobs for counts in groups.sources),
    )


def _solved(groups: DeviceGroups) -> _Found:
    likelihood = groups.likelihood
    top = maximum(likelihood)
    fitted = joint_covariance(likelihood, top.x)
    if top.rivals.size and fitted.at is None:
        _refuse_rivals(groups, top)
    ahead, inside = continued(likelihood, top.inner)
    linear = joint_covariance(likelihood, ahead) if inside else Uncertain(ahead, None)
    if linear.at is not None:
        linear = Uncertain(ahead, None)
    return _Found(top, fitted, linear, max(0.0, float(likelihood.slope(top.x))))


def _refuse_rivals(groups: DeviceGroups, top: Maximum) -> None:
    """Refuse reports that another point explains as well."""
    rival = top.rivals[0]
    apart = np.flatnonzero(np.abs(rival - top.x) > 1e-3)
    shown = [f"{groups.index[j]} = {top.x[j]:.4g} or {rival[j]:.4g}" for j in apart.tolist()]
    raise NotIdentified(
        f"two answers explain the reports equally well, {in_turn(shown)}: add a group of "
        "respondents with another device, or one whose parameters are known"
    )


def joint_covariance(likelihood: ParametricLikelihood, x: Array) -> Uncertain:
    """An estimate with the inverse of the expected information, of rank k - 1 + m at most.

    Where the laws leave some entries open at this point, the others have a covariance. There is
    none where a report is impossible at this point alone: its information has no bound.
    """
    k, d = likelihood.k, likelihood.size
    open_ = unidentified(likelihood.matrices, x)
    at = np.flatnonzero(~open_)
    pairs = zip(likelihood.laws(x), likelihood.jacobians(x), strict=True)
    if any(J[:, law < _IMPOSSIBLE].any() for law, J in pairs):
        return Uncertain(x, None, None if at.size == d else at)
    information = likelihood.information(x)
    free = np.eye(d)[:, 1:] - np.outer(np.arange(d) == 0, np.arange(1, d) < k)
    inner = free.T @ information @ free
    scale = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
    V = (
        free
        / scale
        @ np.linalg.pinv(inner / np.outer(scale, scale), 1e-12, True)
        @ (free / scale).T
    )
    if at.size == d:
        return Uncertain(x, Covariance.dense((V + V.T) / 2.0))
    own = V[np.ix_(at, at)]
    return Uncertain(x, Covariance.dense((own + own.T) / 2.0), at)


def outside_pvalue(groups: DeviceGroups, fit: Fit) -> float:
    """p-value of an estimate in [0, 1] against the unconstrained one; 1 where they are the same.

    From the likelihood ratio, whose law on the boundary is a mixture of chi-square laws with up to
    k - 1 + m degrees of freedom: that with the most bounds it.
    """
    rise = float(groups.likelihood.loglike(fit.linear.estimate)) - fit.llf
    return float(chi2_pvalue(max(0.0, 2.0 * rise), float(fit.df_model)))


def fit_test(groups: DeviceGroups, x: Array) -> TestResult | None:
    """Pearson's chi-square of the reports of all groups; None where nothing is left to test.

    Parameters
    ----------
    groups : DeviceGroups
    x : array, shape (k + m,)
        The maximum of the continued likelihood, so that the law holds at the boundary too.
    """
    if groups.df <= 0:
        return None
    likelihood = groups.likelihood
    statistic, least = 0.0, np.inf
    for n, law in zip(likelihood.counts, likelihood.laws(x), strict=True):
        expected = n.sum() * law
        gap = np.square(n - expected)
        part = np.where(expected > 0.0, gap / np.where(expected > 0.0, expected, 1.0), 0.0)
        statistic += float(part.sum())
        least = min(least, float(expected.min()))
    note = ""
    if least < _RARE:
        note = f"a report is expected {least:.2g} times only: the chi-square law is rough"
    null = "the devices, with the same frequencies and parameters in all groups, made the reports"
    method = "Pearson chi-square of the reports"
    return TestResult.chi_square(null, statistic, groups.df, method, note)
