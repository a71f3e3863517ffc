"""Posteriors of frequencies against quadrature and certified maxima, and at the extremes."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import InvalidArgument, MisfitWarning, NotAvailable, PosteriorWarning
from ldpstats.inference.chains import ess_mean
from ldpstats.models.posterior.densities import FrequencyDensity
from ldpstats.priors import Dirichlet, DirichletLaw, LogisticNormal, LogisticNormalLaw, LogitLaw

Array = npt.NDArray[Any]


def prior_log_density(prior: LogitLaw, eta: Array) -> Array:
    """Log density of log ratios, written down again."""
    logp = eta - np.log(np.exp(eta - eta.max(-1, keepdims=True)).sum(-1, keepdims=True))
    logp -= eta.max(-1, keepdims=True)
    if isinstance(prior, DirichletLaw):
        return np.asarray(logp @ prior.alpha)
    assert isinstance(prior, LogisticNormalLaw)
    k = eta.shape[-1]
    D = np.hstack([np.eye(k - 1), -np.ones((k - 1, 1))])
    gap = eta @ D.T - D @ prior.mean
    inverse = np.linalg.inv(D @ prior.covariance @ D.T)
    return np.asarray(-0.5 * np.einsum("...i,ij,...j->...", gap, inverse, gap))


def quadrature(
    groups: list[tuple[Array, Array]], prior: LogitLaw, points: int = 400
) -> tuple[Array, Array]:
    """Points p, (g, k), and their weights, (g,), of the posterior given channels and counts."""
    k = prior.k

    # ratios to the first category: to a rare one, all of them move together, between grid points
    def log_density(z: list[Array]) -> tuple[Array, Array]:
        grid = np.meshgrid(*z, indexing="ij")
        eta = np.stack([np.zeros(grid[0].size), *(g.ravel() for g in grid)], axis=-1)
        shifted = np.exp(eta - eta.max(-1, keepdims=True))
        p = shifted / shifted.sum(-1, keepdims=True)
        value = prior_log_density(prior, eta)
        for Q, n in groups:
            value = value + np.log(p @ Q[:, n > 0]) @ n[n > 0]
        return p, value

    ends = [(-90.0, 90.0)] * (k - 1)
    for _ in range(5):  # zoom in on where the posterior is
        z = [np.linspace(low, high, 161 if k == 3 else 2001) for low, high in ends]
        value = log_density(z)[1].reshape([axis.size for axis in z])
        near = np.argwhere(value > value.max() - 35.0)
        step = [axis[1] - axis[0] for axis in z]
        ends = [
            (z[i][near[:, i].min()] - step[i], z[i][near[:, i].max()] + step[i])
            for i in range(k - 1)
        ]
    z = [np.linspace(low, high, points if k == 3 else 20_001) for low, high in ends]
    p, value = log_density(z)
    weights = np.exp(value - value.max())
    return p, weights / weights.sum()


WIDE = ldp.CustomMechanism(
    [[0.5, 0.2, 0.2, 0.1], [0.1, 0.5, 0.2, 0.2], [0.2, 0.2, 0.1, 0.5]], categories=("a", "b", "c")
)
NARROW = ldp.CustomMechanism([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], categories=("a", "b"))

QUICK: list[tuple[Any, list[int], Any]] = [
    (ldp.KRR(2, 1.0), [30, 0], Dirichlet(0.3)),
    (WIDE, [100, 120, 60, 90], Dirichlet([2.0, 1.0, 0.5])),
]
SLOW: list[tuple[Any, list[int], Any]] = [
    (ldp.KRR(3, 0.2), [120, 100, 110], None),
    (ldp.KRR(2, 8.0), [990, 10], None),
    (ldp.KRR(2, 1.0), [1, 0], None),
    (NARROW, [40, 50, 90], LogisticNormal(mean=[1.0, 0.0])),
    (ldp.KRR(3, 20.0), [400, 90, 0], Dirichlet([0.5, 1.0, 3.0])),
]


def standardised_gaps(samples: Array, p: Array, weights: Array) -> Array:
    """Errors of means, of means of squares and of tail shares, in Monte Carlo standard errors."""
    gaps = []
    for j in range(p.shape[1]):
        ordered = np.argsort(p[:, j])
        tail = p[ordered[np.searchsorted(np.cumsum(weights[ordered]), 0.05)], j]
        x, truth = samples[:, :, j], p[:, j]
        for drawn, exact in ((x, truth), (x**2, truth**2), (x < tail, truth < tail)):
            values = np.asarray(drawn, dtype=np.float64)
            se = values.std() / np.sqrt(ess_mean(values))
            gaps.append((values.mean() - weights @ exact) / se)
    return np.array(gaps)


def check_against_quadrature(mechanism: Any, n: list[int], prior: Any) -> None:
    model = ldp.FrequencyModel(mechanism.counts(n))
    found = model.fit_posterior(np.random.default_rng(5), prior=prior)
    law = (Dirichlet() if prior is None else prior).law(model.categories)
    p, weights = quadrature([(mechanism.channel().matrix(), np.array(n))], law)
    gaps = standardised_gaps(found.samples, p, weights)
    assert np.abs(gaps).max() < 4.0, gaps
    # the same draws are not those of another prior: the comparison can fail
    more = weights * p[:, 0] ** 20.0
    x = found.samples[:, :, 0]
    wrong = (x.mean() - more @ p[:, 0] / more.sum()) / (x.std() / np.sqrt(ess_mean(x)))
    assert abs(wrong) > 4.0


@pytest.mark.parametrize(("mechanism", "n", "prior"), QUICK, ids=str)
def test_draws_agree_with_quadrature(mechanism, n, prior):
    """Means, squares and 5 % tails to 4 Monte Carlo standard errors."""
    check_against_quadrature(mechanism, n, prior)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "n", "prior"), SLOW, ids=str)
def test_draws_agree_with_quadrature_elsewhere(mechanism, n, prior):
    check_against_quadrature(mechanism, n, prior)


@pytest.mark.slow
def test_groups_of_two_mechanisms_enter_one_posterior():
    groups = [ldp.KRR(3, 1.0).counts([60, 40, 20]), ldp.KRR(3, 3.0).counts([30, 10, 2])]
    model = ldp.FrequencyModel(groups)
    found = model.fit_posterior(np.random.default_rng(6))
    tables = [(one.mechanism.channel().matrix(), one.vector()) for one in groups]
    p, weights = quadrature(tables, Dirichlet().law(model.categories))
    assert np.abs(standardised_gaps(found.samples, p, weights)).max() < 4.0
    assert found.sources == ("KRR(k=3, epsilon=1)", "KRR(k=3, epsilon=3)")


MODELS = {
    "k-RR": ldp.KRR(4, 1.0).counts([50, 30, 12, 8]),
    "more outputs": WIDE.counts([10, 30, 20, 40]),
    "two groups": [ldp.KRR(3, 1.0).counts([6, 4, 0]), ldp.KRR(3, 3.0).counts([3, 1, 0])],
    "uRR": ldp.URR(("a", "b", "c"), {"a"}, 1.0).privatize(
        list("aabbbcccc") * 9, np.random.default_rng(1)
    ),
    "bits": ldp.KRAPPOR(4, 1.0).privatize([0, 0, 1, 1, 2, 3] * 20, np.random.default_rng(1)),
}


@pytest.mark.parametrize("data", MODELS.values(), ids=MODELS)
def test_mode_under_a_flat_prior_is_the_certified_maximum(data):
    model = ldp.FrequencyModel(data)
    found = posterior_quietly(model)
    maximum = model.fit("mle")
    assert maximum.gap_nats < 1e-3
    np.testing.assert_allclose(found.mode, maximum.params, atol=1e-6)
    assert found.mode.index.equals(model.categories)


def posterior_quietly(model: Any, draws: int = 480, **how: Any) -> Any:
    """A posterior of few draws, without the warning that they are few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PosteriorWarning)
        return model.fit_posterior(np.random.default_rng(2), draws=draws, **how)


@pytest.mark.parametrize(
    "prior", [Dirichlet([3.0, 1.0, 2.0]), LogisticNormal(mean=[0.0, 1.0, 0.5], sd=0.4)], ids=str
)
def test_mode_under_other_priors_is_that_of_quadrature(prior):
    counts = ldp.KRR(3, 1.0).counts([120, 100, 90])
    model = ldp.FrequencyModel(counts)
    found = posterior_quietly(model, prior=prior).mode.to_numpy()
    law, Q = prior.law(model.categories), counts.mechanism.channel().matrix()
    n = counts.vector()

    def log_density(p: Array) -> Any:
        eta = np.log(p)
        own = law.evaluate(eta)[0] - eta.sum(axis=-1)  # of p: the Jacobian taken out
        return np.log(p @ Q) @ n + own

    steps = 1e-3 * np.array([[1, -1, 0], [0, 1, -1], [1, 0, -1]])
    around = np.concatenate([found + steps, found - steps])
    assert (log_density(around) < log_density(found[None])).all()
    slope = (log_density(found + 1e-2 * steps) - log_density(found - 1e-2 * steps)) / 2e-5
    np.testing.assert_allclose(slope, 0.0, atol=2e-2)  # per unit of p, of 310 reports


def test_concentrations_below_one_have_no_mode():
    found = posterior_quietly(
        ldp.FrequencyModel(ldp.KRR(3, 1.0).counts([5, 4, 3])), prior=Dirichlet(0.5)
    )
    with pytest.raises(NotAvailable, match="below 1"):
        _ = found.mode
    again = type(found).from_json(found.to_json())
    with pytest.raises(NotAvailable, match="below 1"):
        _ = again.mode


def test_one_report_of_tiny_epsilon_leaves_the_prior():
    prior = Dirichlet([1.0, 2.0, 3.0])
    model = ldp.FrequencyModel(ldp.KRR(3, 1e-6).counts([1, 0, 0]))
    found = model.fit_posterior(np.random.default_rng(1), prior=prior)
    expected = np.array([1.0, 2.0, 3.0]) / 6.0
    se = found.bse / np.sqrt(ess_mean(found.samples))
    assert (np.abs(found.params - expected) < 4.0 * se).all()
    np.testing.assert_allclose(found.bse, np.sqrt(expected * (1 - expected) / 7.0), rtol=0.06)


def test_huge_epsilon_is_the_posterior_of_direct_answers():
    counts = ldp.KRR(3, 50.0).counts([70, 30, 0])
    found = ldp.FrequencyModel(counts).fit_posterior(np.random.default_rng(1))
    expected = np.array([71.0, 31.0, 1.0]) / 103.0
    se = found.bse / np.sqrt(ess_mean(found.samples))
    assert (np.abs(found.params - expected) < 4.0 * se).all()


def test_a_thousand_categories():
    """The gradient of a structured channel agrees with differences, for several chains."""
    k = 1000
    counts = ldp.KRR(k, 6.0).draw(np.full(k, 1.0 / k), 100_000, np.random.default_rng(3))
    model = ldp.FrequencyModel(counts)
    density = FrequencyDensity.of(model.likelihood(), Dirichlet().law(model.categories))
    z = density.mode()[None] + 0.1
    values, slopes = density.evaluate(z)
    step = np.zeros((1, k - 1))
    step[0, ::7] = 1e-4
    rise = density.evaluate(z + step)[0] - density.evaluate(z - step)[0]
    assert rise[0] == pytest.approx(2.0 * (slopes @ step.T)[0, 0], rel=1e-4)
    assert np.isfinite(values).all()


def test_labels_follow_the_prior_not_its_order():
    counts = ldp.KRR(("a", "b", "c"), 1.0).counts([50, 30, 20])
    model = ldp.FrequencyModel(counts)
    series = pd.Series({"c": 9.0, "a": 1.0, "b": 4.0})
    by_label = posterior_quietly(model, prior=Dirichlet(series))
    by_order = posterior_quietly(model, prior=Dirichlet([1.0, 4.0, 9.0]))
    np.testing.assert_array_equal(by_label.samples, by_order.samples)
    with pytest.raises(InvalidArgument, match="labels"):
        model.fit_posterior(np.random.default_rng(1), prior=Dirichlet(series.rename({"c": "d"})))


def test_bit_sums_and_bad_arguments_are_refused():
    sums = ldp.KRAPPOR(3, 1.0).draw([0.5, 0.3, 0.2], 100, np.random.default_rng(1))
    with pytest.raises(NotAvailable, match=r"reports\.tally"):
        ldp.FrequencyModel(sums).fit_posterior(np.random.default_rng(1))
    model, rng = ldp.FrequencyModel(ldp.KRR(2, 1.0).counts([3, 2])), np.random.default_rng(1)
    for bad in ({"prior": 1.0}, {"draws": 10}, {"draws": True}, {"engine": "stan"}):
        with pytest.raises(InvalidArgument):
            model.fit_posterior(rng, **bad)
    with pytest.raises(InvalidArgument, match="rng"):
        model.fit_posterior(1)


def test_a_wrong_epsilon_fails_the_predictive_check():
    right, wrong = ldp.KRR(3, 3.0), ldp.KRR(3, 0.5)
    n = right.draw([0.8, 0.15, 0.05], 2000, np.random.default_rng(1)).vector()
    assert posterior_quietly(ldp.FrequencyModel(right.counts(n))).check.pvalue > 0.05
    assert posterior_quietly(ldp.FrequencyModel(wrong.counts(n))).check.pvalue < 0.01


def test_answers_that_are_not_listed_are_not_shared_out_in_silence():
    """The likelihood takes the candidates for all answers: 50 % of others would be theirs."""
    rng = np.random.default_rng(1)
    mechanism = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)
    reports = mechanism.privatize(rng.choice(list("xyuv"), 4000, p=[0.3, 0.2, 0.3, 0.2]), rng)
    with pytest.raises(NotAvailable, match="incomplete list"):
        ldp.FrequencyModel(reports, ["x", "y"], incomplete=True).fit_posterior(rng)
    with pytest.warns(MisfitWarning, match="list more candidates"):
        ldp.FrequencyModel(reports, ["x", "y"]).fit_posterior(rng, draws=480)
    whole = ldp.FrequencyModel(reports, list("xyuv")).fit_posterior(rng)  # no warning
    assert np.abs(whole.params - [0.3, 0.2, 0.3, 0.2]).max() < 0.06
