"""Tails of distributions far out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ldpstats.inference.tails import chi2_critical, chi2_pvalue, normal_pvalue


def test_tails_against_scipy() -> None:
    z = np.array([-40.0, -3.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(normal_pvalue(z, "larger"), stats.norm.sf(z), rtol=1e-12)
    np.testing.assert_allclose(normal_pvalue(z, "smaller"), stats.norm.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(normal_pvalue(z), 2 * stats.norm.sf(np.abs(z)), rtol=1e-12)
    x, df = np.array([0.0, 3.0, 500.0]), np.array([1, 4, 7])
    np.testing.assert_allclose(chi2_pvalue(x, df), stats.chi2.sf(x, df), rtol=1e-12)
    assert chi2_pvalue([0.0, 1.0], 0).tolist() == [1.0, 0.0]
    for alpha in (1e-15, 0.05, 0.9):
        assert chi2_critical(alpha, 3) == pytest.approx(stats.chi2.isf(alpha, 3), rel=1e-12)
