"""Conditionals and effects of joint tables: what is shown, and what is covered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.joint_tables import fitted, with_zeros

import ldpstats as ldp
from ldpstats.inference.tables import ratio
from ldpstats.inference.tables.effects import Effect

Array = npt.NDArray[Any]


def test_conditional_shows_the_fitted_estimate() -> None:
    krr = ldp.KRR(3, epsilon=1.0)
    results = fitted((krr, krr), with_zeros(3, 3), 500, 1)
    assert np.any(results.linear_params < 0.0)
    for on, axis in (("x", 1), ("y", 0)):
        frame = results.conditional(on)
        columns = ["estimate", "unconstrained", "lower", "upper", "unbounded", "outside"]
        assert list(frame.columns) == columns
        assert frame["estimate"].between(0.0, 1.0).all()
        sums = frame.groupby(level=on)["estimate"].sum()
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
        table = results.table
        margin = table.sum(axis=axis)
        for label in results.labels[0 if on == "x" else 1]:
            rows = frame.xs(label, level=on)
            if margin[label] <= 1e-10:
                own = table.sum(axis=1 - axis)
                np.testing.assert_allclose(rows["estimate"], own, atol=1e-9)
                assert rows["unbounded"].all()
            else:
                cells = table.loc[label] if on == "x" else table[label]
                np.testing.assert_allclose(rows["estimate"], cells / margin[label], atol=1e-9)
        outside = (frame["estimate"] < frame["lower"]) | (frame["estimate"] > frame["upper"])
        np.testing.assert_array_equal(frame["outside"], outside)


def test_a_condition_without_share_shows_the_other_margin() -> None:
    krr = ldp.KRR(3, epsilon=2.0)
    table = [[300, 100, 50], [100, 250, 60], [30, 40, 12]]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    assert results.table.sum(axis=1)[2] < 1e-10
    rows = results.conditional("x").xs(2, level="x")
    np.testing.assert_allclose(rows["estimate"], results.table.sum(axis=0), atol=1e-9)
    assert rows["unbounded"].all() and not rows["estimate"].isna().any()


def test_effects_have_a_set_whatever_the_table() -> None:
    krr = ldp.KRR(3, epsilon=1.0)
    results = fitted((krr, krr), with_zeros(3, 3), 500, 1)
    odds, v = results.odds_ratio((0, 2), (0, 1)), results.cramers_v()
    for effect in (odds, v):
        assert effect.given and "standard errors from 0" in effect.message
        assert 0.0 <= effect.lower < effect.upper
        assert effect.ml is None or effect.ml in effect or "does not hold" in effect.message
        assert Effect.from_dict(json.loads(json.dumps(effect.to_dict()))) == effect
    assert v.estimate == v.ml and 0.0 <= v.estimate <= 1.0  # the unconstrained table has none


def test_effects_name_a_maximum_that_they_exclude() -> None:
    krr = ldp.KRR(2, epsilon=0.7)
    table = [[400, 90], [60, 450]]  # farther from independence than frequencies can be
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    effect = results.risk_ratio((0, 1), 0)
    assert effect.ml is not None
    assert (effect.ml in effect) != ("does not hold the maximum" in effect.message)


@pytest.mark.slow
@pytest.mark.parametrize("weakest", [0.0, 0.7])
def test_profile_sets_cover(weakest: float, replications: Callable[[int], int]) -> None:
    """The odds ratio of cells of which one is so many standard errors from 0."""
    R, se = replications(2000), 0.02
    x = np.array([0.4, 0.2, 0.3, se * weakest])
    truth = x[0] * x[1] / max(x[2] * x[3], 1e-7)
    draws = x + se * np.random.default_rng(9).standard_normal((R, 4))
    held = [in_profile_set(draw, truth, se) for draw in draws]
    assert np.mean(held) > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / R)
    narrow = [in_profile_set(draw, truth, se / 2.0) for draw in draws]
    assert np.mean(narrow) < 0.9  # control


def in_profile_set(draw: Array, odds: float, se: float) -> bool:
    """Whether `odds_profile` holds an odds ratio, from the distance at that one alone."""
    white = np.eye(4) / se
    nearest = np.sum((white @ np.minimum(draw, 0.0)) ** 2)
    (distance,) = ratio._distances(white, white @ draw, np.log([odds]))
    return bool(distance - nearest <= stats.norm.isf(0.025) ** 2)


def test_the_profile_set_holds_what_the_simulation_asks_for() -> None:
    se = 0.02
    for draw in np.array([0.4, 0.2, 0.3, 0.03]) + se * np.random.default_rng(1).normal(size=(5, 4)):
        _, low, high = ratio.odds_profile(draw, se**2 * np.eye(4))
        for end, inwards in ((low, 1.02), (high, 0.98)):
            if 0.0 < end < np.inf:
                assert in_profile_set(draw, end * inwards, se)
                assert not in_profile_set(draw, end / inwards, se)
