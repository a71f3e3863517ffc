"""Priors of frequencies, of tables and of pooling: densities, gradients, draws, refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.priors import Dirichlet, LogisticNormal, Margins, MarginsLaw, Pooling, softmax_log

LABELS = pd.Index(["a", "b", "c"])
COVARIANCE = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, -0.3], [0.0, -0.3, 0.7]])
PRIORS: list[Any] = [
    Dirichlet(0.4),
    Dirichlet([1.0, 2.0, 30.0]),
    LogisticNormal(sd=2.0),
    LogisticNormal(mean=[0.0, 1.0, -1.0], covariance=COVARIANCE),
]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_gradients_and_curvatures_agree_with_differences(prior):
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
def test_draws_have_the_density(prior):
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


def test_logistic_normal_treats_categories_alike():
    p = LogisticNormal(sd=1.5).law(LABELS).draw(np.random.default_rng(1), 40_000)
    np.testing.assert_allclose(p.mean(axis=0), 1 / 3, atol=0.006)
    ratio = np.log(p[:, 0] / p[:, 2])
    assert ratio.std() == pytest.approx(1.5 * np.sqrt(2.0), rel=0.02)


def test_series_and_frames_are_matched_by_label():
    alpha = Dirichlet(pd.Series({"c": 3.0, "a": 1.0, "b": 2.0})).law(LABELS).alpha
    np.testing.assert_array_equal(alpha, [1.0, 2.0, 3.0])
    frame = pd.DataFrame(COVARIANCE, LABELS, LABELS).loc[["c", "a", "b"], ["b", "c", "a"]]
    mean = pd.Series({"b": 1.0, "c": -1.0, "a": 0.0})
    law = LogisticNormal(mean=mean, covariance=frame).law(LABELS)
    np.testing.assert_allclose(law.covariance, COVARIANCE)
    np.testing.assert_array_equal(law.mean, [0.0, 1.0, -1.0])


def test_reprs_are_read_back():
    for prior in PRIORS:
        again = eval(repr(prior), {"Dirichlet": Dirichlet, "LogisticNormal": LogisticNormal})
        assert repr(again) == repr(prior)


BAD_NUMBERS = [None, "1", True, np.nan, np.inf, -1.0, 0.0, [], [[1.0]], {1.0, 2.0}, [1.0, np.nan]]


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, 1e10, [True, False], ["a", "b"]], ids=repr)
def test_bad_concentrations_and_sds_are_refused(bad):
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
def test_bad_covariances_are_refused(bad):
    with pytest.raises(InvalidArgument, match="covariance"):
        LogisticNormal(covariance=bad)


def test_other_labels_and_sizes_are_refused():
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


# -- margins ---------------------------------------------------------------------------------------


def at_ratios(law: MarginsLaw, z: Any) -> tuple[Any, Any]:
    """Density and gradient by log ratios to the last cell."""
    values, slopes = law.evaluate(softmax_log(np.insert(z, z.shape[1], 0.0, axis=1)))
    return values, slopes[:, :-1]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 3, 2)])
def test_gradients_are_those_of_the_density(sizes):
    rng = np.random.default_rng(1)
    law = MarginsLaw(tuple(rng.uniform(0.5, 5.0, size) for size in sizes), 1.3)
    z = rng.normal(size=(3, law.k - 1))
    moves = 1e-6 * np.eye(law.k - 1)
    found = [(at_ratios(law, z + move)[0] - at_ratios(law, z - move)[0]) / 2e-6 for move in moves]
    np.testing.assert_allclose(np.transpose(found), at_ratios(law, z)[1], atol=1e-6)
    slopes = law.evaluate(softmax_log(np.insert(z, law.k - 1, 0.0, axis=1)))[1]
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-9)


def test_margins_have_the_declared_law_by_quadrature():
    """Moments of both margins and of the log odds ratio, and that they are independent."""
    law = MarginsLaw((np.array([3.0, 2.0]), np.array([1.5, 4.0])), 1.5)
    x = np.linspace(-12.0, 12.0, 41)
    z = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    logp = softmax_log(np.insert(z, 3, 0.0, axis=1))
    weights = np.exp(law.evaluate(logp)[0])
    weights /= weights.sum()
    p = np.exp(logp)
    first, second = p[:, 0] + p[:, 1], p[:, 0] + p[:, 2]
    odds = logp[:, 0] - logp[:, 1] - logp[:, 2] + logp[:, 3]
    for values, mean, variance in (
        (first, 0.6, 0.6 * 0.4 / 6.0),
        (second, 1.5 / 5.5, 1.5 * 4.0 / 5.5**2 / 6.5),
        (odds, 0.0, 1.5**2),
    ):
        assert weights @ values == pytest.approx(mean, abs=1e-3)
        assert weights @ (values - mean) ** 2 == pytest.approx(variance, rel=2e-3)
    assert weights @ ((first - 0.6) * odds) == pytest.approx(0.0, abs=1e-4)
    assert weights @ ((first - 0.6) * (second - 1.5 / 5.5)) == pytest.approx(0.0, abs=1e-4)


def test_draws_have_the_declared_law():
    prior = Margins(first=[3.0, 2.0], third=4.0, log_odds_sd=1.0)
    tables = prior.draw((2, 3, 2), np.random.default_rng(2), 4000)
    first = tables.sum(axis=(2, 3))[:, 0]
    assert first.mean() == pytest.approx(0.6, abs=4 * np.sqrt(0.04 / 4000))
    assert tables.sum(axis=(1, 2))[:, 0].var() == pytest.approx(0.25 / 9.0, rel=0.1)
    odds = np.log(tables[:, 0, 0, 0] * tables[:, 1, 1, 0] / tables[:, 0, 1, 0] / tables[:, 1, 0, 0])
    assert odds.std() == pytest.approx(1.0, abs=4 / np.sqrt(8000))


def test_concentrations_are_matched_by_label():
    labels = [pd.Index(["no", "yes"]), pd.Index([0, 1, 2])]
    law = Margins(first=pd.Series({"yes": 7.0, "no": 3.0})).law(labels)
    assert law.concentrations[0].tolist() == [3.0, 7.0]
    assert law.concentrations[1].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "bad", ["x", -1.0, 0.0, np.nan, np.inf, True, [1.0, -2.0], object(), {1, 2}]
)
def test_what_is_no_law_of_a_margin_is_refused(bad):
    with pytest.raises(InvalidArgument):
        Margins(first=bad)


@pytest.mark.parametrize("bad", [None, "x", 0.0, -1.0, np.nan, np.inf, True, [1.0]])
def test_what_is_no_standard_deviation_is_refused(bad):
    with pytest.raises(InvalidArgument, match="log_odds_sd"):
        Margins(log_odds_sd=bad)
    with pytest.raises(InvalidArgument, match="sd"):
        ldp.priors.Pooling(sd=bad)


def test_laws_of_other_margins_than_the_table_has_are_refused():
    two = [pd.RangeIndex(2), pd.RangeIndex(2)]
    with pytest.raises(InvalidArgument, match="third"):
        Margins(third=2.0).law(two)
    with pytest.raises(InvalidArgument, match="4 variables"):
        Margins().law([*two, *two])
    with pytest.raises(InvalidArgument):
        Margins(first=[1.0, 2.0, 3.0]).law(two)


# -- pooling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [None, 3.0])
def test_the_slope_is_that_of_the_density(df):
    prior, logs = Pooling(sd=0.7, df=df), np.array([-3.0, -0.5, 1.0])
    ahead, behind = (prior.log_density(np.exp(logs + move))[0] for move in (1e-6, -1e-6))
    np.testing.assert_allclose(
        (ahead - behind) / 2e-6, prior.log_density(np.exp(logs))[1], atol=1e-6
    )


def test_draws_vary_between_groups_as_declared():
    sd, common, groups = Pooling(sd=0.5, df=4.0).draw(30, 4, np.random.default_rng(1), 4000)
    assert common.shape == (4000, 4) and groups.shape == (4000, 30, 4)
    ratios = np.log(groups[:, :, 0] / groups[:, :, 2])
    spread = ratios.std(axis=1, ddof=1) / sd
    assert (spread**2).mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / 29 / 4000))
    away = (ratios.mean(axis=1) - np.log(common[:, 0] / common[:, 2])) / sd
    assert abs(away.mean()) < 4 / np.sqrt(30 * 4000)
    assert np.median(sd) == pytest.approx(0.5 * 0.741, rel=0.08)  # of a half-t law, 4 df


@pytest.mark.parametrize("bad", [0.5, np.nan, -1.0, "x", True, [3.0]])
def test_what_are_no_degrees_of_freedom_is_refused(bad):
    with pytest.raises(InvalidArgument, match="df"):
        Pooling(df=bad)


@pytest.mark.parametrize("bad", ["flat", 1.0, Pooling(), Dirichlet, [1.0, 2.0]])
def test_what_is_no_prior_of_frequencies_is_refused(bad):
    with pytest.raises(InvalidArgument, match="common"):
        Pooling(common=bad)


def test_its_representation_evaluates_to_it():
    for prior in (Pooling(), Pooling(sd=0.5, df=3.0, common=Dirichlet(2.0))):
        again = eval(repr(prior), {"Pooling": Pooling, "Dirichlet": Dirichlet})
        assert repr(again) == repr(prior)
    assert repr(Pooling()) == "Pooling(sd=1.0, common=Dirichlet(1.0))"
