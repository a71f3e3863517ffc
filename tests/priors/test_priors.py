"""Priors of frequencies: densities, gradients, draws, labels, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats.errors import InvalidArgument
from ldpstats.priors import Dirichlet, LogisticNormal
from ldpstats.priors.base import softmax_log

LABELS = pd.Index(["a", "b", "c"])
COVARIANCE = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, -0.3], [0.0, -0.3, 0.7]])
PRIORS: list[Any] = [
    Dirichlet(0.4),
    Dirichlet([1.0, 2.0, 30.0]),
    LogisticNormal(sd=2.0),
    LogisticNormal(mean=[0.0, 1.0, -1.0], covariance=COVARIANCE),
]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_gradients_and_curvatures_agree_with_differences(prior: Any) -> None:
    law, h = prior.law(LABELS), 1e-5
    eta = np.array([0.3, -1.2, 0.7])
    points = softmax_log(eta + h * np.concatenate([np.eye(3), -np.eye(3)]))
    values, slopes = law.evaluate(points)
    value, slope = law.evaluate(softmax_log(eta)[None])
    np.testing.assert_allclose((values[:3] - values[3:]) / (2 * h), slope[0], rtol=1e-5, atol=1e-6)
    H = law.curvature(softmax_log(eta))
    np.testing.assert_allclose((slopes[3:] - slopes[:3]) / (2 * h), H, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        slope.sum(), 0.0, atol=1e-12
    )  # a number added to all changes nothing
    assert np.isfinite(value).all()


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_draws_have_the_density(prior: Any) -> None:
    """E of the gradient is zero and E of its square is E of the curvature, for log ratios."""
    law = prior.law(LABELS)
    p = law.draw(np.random.default_rng(1), 20_000)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    p = p[(p > 0.0).all(axis=1)]
    slope = law.evaluate(np.log(p))[1][:, :2]
    mean, se = slope.mean(axis=0), slope.std(axis=0) / np.sqrt(len(p))
    assert (np.abs(mean) < 4.0 * se + 1e-3).all()
    curvature = np.mean([law.curvature(np.log(q))[:2, :2] for q in p[:4000]], axis=0)
    np.testing.assert_allclose(np.cov(slope.T), curvature, rtol=0.1, atol=0.03 * curvature.max())


def test_logistic_normal_treats_categories_alike() -> None:
    p = LogisticNormal(sd=1.5).law(LABELS).draw(np.random.default_rng(1), 40_000)
    np.testing.assert_allclose(p.mean(axis=0), 1 / 3, atol=0.006)
    ratio = np.log(p[:, 0] / p[:, 2])
    assert ratio.std() == pytest.approx(1.5 * np.sqrt(2.0), rel=0.02)


def test_series_and_frames_are_matched_by_label() -> None:
    alpha = Dirichlet(pd.Series({"c": 3.0, "a": 1.0, "b": 2.0})).law(LABELS).alpha
    np.testing.assert_array_equal(alpha, [1.0, 2.0, 3.0])
    frame = pd.DataFrame(COVARIANCE, LABELS, LABELS).loc[["c", "a", "b"], ["b", "c", "a"]]
    mean = pd.Series({"b": 1.0, "c": -1.0, "a": 0.0})
    law = LogisticNormal(mean=mean, covariance=frame).law(LABELS)
    np.testing.assert_allclose(law.covariance, COVARIANCE)
    np.testing.assert_array_equal(law.mean, [0.0, 1.0, -1.0])


def test_reprs_are_read_back() -> None:
    for prior in PRIORS:
        again = eval(repr(prior), {"Dirichlet": Dirichlet, "LogisticNormal": LogisticNormal})
        assert repr(again) == repr(prior)


BAD_NUMBERS = [None, "1", True, np.nan, np.inf, -1.0, 0.0, [], [[1.0]], {1.0, 2.0}, [1.0, np.nan]]


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, 1e10, [True, False], ["a", "b"]], ids=repr)
def test_bad_concentrations_and_sds_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="concentration"):
        Dirichlet(bad)
    if bad is not None:
        with pytest.raises(InvalidArgument, match="sd"):
            LogisticNormal(sd=bad)


@pytest.mark.parametrize(
    "bad",
    [
        np.ones((3, 3)),
        -np.eye(3),
        [[1.0, 2.0], [0.0, 1.0]],
        np.full((2, 2), np.nan),
        np.ones(3),
        "no",
        pd.DataFrame(np.eye(2), ["a", "b"], ["a", "c"]),
    ],
    ids=str,
)
def test_bad_covariances_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="covariance"):
        LogisticNormal(covariance=bad)


def test_other_labels_and_sizes_are_refused() -> None:
    other = pd.Series({"a": 1.0, "b": 1.0, "d": 1.0})
    for prior in (
        Dirichlet([1.0, 2.0]),
        Dirichlet(other),
        LogisticNormal(mean=other),
        LogisticNormal(sd=[1.0, 2.0]),
        LogisticNormal(covariance=np.eye(2)),
        LogisticNormal(covariance=pd.DataFrame(np.eye(3), list("abd"), list("abd"))),
    ):
        with pytest.raises(InvalidArgument):
            prior.law(LABELS)
    with pytest.raises(InvalidArgument, match="one of them"):
        LogisticNormal(sd=1.0, covariance=np.eye(3))
