"""The change between two waves and the test that there is none, from the joint distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.pooling import group_sums, rare_groups
from ldpstats.inference.tests import TestResult, wald
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.change.law import ChangeLaw, PairFeatures
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain

__all__ = ["change_fit", "homogeneity"]

Array = npt.NDArray[Any]


def change_fit(joint: AssociationResults, law: ChangeLaw | None, name: str) -> Fit:
    """The fit of the change: second margin less the first, of both estimates."""
    R = _contrasts(joint.sizes[0])
    fitted, linear = (_changed(R, part) for part in (joint.fitted, joint.linear))
    if linear.covariance is None and law is not None:  # of too many cells for one matrix
        linear = replace(linear, variances=law.at(linear.estimate)[0] ** 2)
    return replace(joint.fit, fitted=fitted, linear=linear, name=name)


def _contrasts(k: int) -> Array:
    """What takes the cells, row-major, to the second margin less the first: shape (k, k k)."""
    one = np.eye(k)
    return np.asarray(np.kron(np.ones((1, k)), one) - np.kron(one, np.ones((1, k))))


def _changed(R: Array, part: Uncertain) -> Uncertain:
    V = None if part.covariance is None else Covariance.dense(part.covariance.transform(R))
    return Uncertain(R @ part.estimate, V)


def homogeneity(
    fit: Fit, waves: tuple[str, ...], pairs: PairFeatures | None, law: ChangeLaw | None
) -> TestResult | None:
    """Test that both waves have the same distribution; None without a covariance.

    The covariance is that under the null, n^-1 E f f', where E f = 0 (see `change.law`): without
    noise these are McNemar's and the Stuart-Maxwell test.

    References
    ----------
    Stuart, A. (1955), Biometrika 42, 412-416. Maxwell, A. E. (1970), British Journal of Psychiatry
    116, 651-655.
    """
    d, n = fit.linear.estimate, fit.nobs
    group, note = np.arange(d.size), ""
    if pairs is not None and law is not None:
        V = Covariance.dense(pairs.outer() / n)
        fourth = pairs.mean(4)
        effective = n * np.divide(law.second**2, fourth, out=np.zeros(d.size), where=fourth > 0.0)
        group = rare_groups(effective)
    elif fit.linear.covariance is None:
        return None
    else:
        V = fit.linear.covariance + Covariance.dense(np.outer(d, d) / n)
    k = int(group.max()) + 1
    null = f"{waves[0]} and {waves[1]} have the same distribution"
    method = "McNemar test" if k == 2 else "Stuart-Maxwell test"
    method += " on the unconstrained estimate, covariance under the null"
    if k < d.size:
        note = f"{d.size - k + 1} categories with fewer than five changes are tested together"
    try:
        statistic, df = wald(np.eye(k), np.zeros(k), group_sums(d, group), V.merged(group))
    except InvalidArgument:  # nothing varies
        return TestResult(null, 0.0, float(k - 1), 1.0, method, "no pair of reports differs")
    return TestResult.chi_square(null, statistic, df, method, note)
