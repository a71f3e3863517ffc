"""Newton's steps where the function is not concave."""

from __future__ import annotations

import warnings

import numpy as np

from ldpstats.estimators.regression.newton import maximise


def test_a_start_where_the_function_is_convex_overflows_nothing() -> None:
    """exp(-x^2) - y^2 from beyond its inflection, in units that make curvature large."""

    def value(theta: np.ndarray) -> float:
        return float(np.exp(-(theta[0] ** 2)) - theta[1] ** 2)

    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        bell = np.exp(-(theta[0] ** 2))
        score = np.array([-2 * theta[0] * bell, -2 * theta[1]])
        return value(theta), score, np.diag([(4 * theta[0] ** 2 - 2) * bell, -2.0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = maximise(evaluate, value, np.array([1.2, 3.0]), units=1e8 * np.eye(2))
    assert found.converged
    assert np.abs(found.theta).max() < 1e-6
