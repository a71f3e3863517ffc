"""Weighted likelihoods: their maximum, its linearised scores, and what they make of a design."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.inference.designs.linearisation import Sample, Scores, Stage, design_covariance
from ldpstats.inference.designs.tests import PseudoLikelihood, maxima, pseudo_likelihood
from tests.grid import MECHANISMS, all_reports, candidates, channel, distribution
from tests.simulate import at_least, bias, coverage, near


@pytest.mark.parametrize("name", MECHANISMS)
def test_at_the_law_of_p_reports_are_unbiased_and_their_noise_is_known(name):
    mechanism = MECHANISMS[name]
    reports, Q = all_reports(mechanism), channel(mechanism).matrix()
    p = distribution(len(Q))
    made = pseudo_likelihood(reports, p @ Q, 1000.0, candidates(mechanism))
    np.testing.assert_allclose(made.solution.p, p, atol=1e-7)
    assert made.solution.gap < 1e-9
    F = made.phi[made.place]
    np.testing.assert_allclose(Q @ F, np.eye(len(Q)), atol=1e-5)
    t = np.random.default_rng(1).normal(size=len(Q))
    expected = (F.T * (t @ Q)) @ F - np.diag(t)
    size = np.abs((F.T * (np.abs(t) @ Q)) @ F).max()
    np.testing.assert_allclose(made.noise(t), expected, rtol=0, atol=1e-6 * size)


def elements(w: np.ndarray) -> Sample:
    """Respondents drawn one by one from a large population."""
    n, zero = w.size, np.zeros(w.size, dtype=np.int64)
    stage = Stage(None, zero, np.array([n]), np.array([np.inf]), np.array([0]), [""])
    return Sample((stage,), np.ones(n), w, w**2)


def covariance(made: PseudoLikelihood, sample: Sample) -> np.ndarray:
    z = (made.phi - made.solution.p) / sample.w.sum()
    return design_covariance(sample, Scores(((made.place, z),)))


@pytest.mark.parametrize(("kind", "name"), [("expected", "orr"), ("observed", "krappor")])
def test_equal_weights_give_the_maximum_and_covariance_without_a_design(kind, name):
    mechanism, rng, n = MECHANISMS[name], np.random.default_rng(4), 4000
    labels = mechanism.labels(candidates(mechanism))
    reports = mechanism.privatize(rng.choice(labels, n, p=distribution(len(labels))), rng)
    made = pseudo_likelihood(reports, np.full(n, 2.5), n, candidates(mechanism))
    fit = ldp.FrequencyModel(reports, candidates=candidates(mechanism)).fit("mle")
    np.testing.assert_allclose(made.solution.p, fit.params, atol=1e-7)
    np.testing.assert_allclose(made.llf, fit.llf, rtol=1e-12)
    assert fit.cov_type == kind
    # where the score of p has minus its outer product for derivative, as here, the sandwich is the
    # inverse of the observed information; the expected one is apart from it by sampling error
    tolerance = 1e-5 if kind == "observed" else 0.1
    found = covariance(made, elements(np.full(n, 2.5)))
    expected = fit.cov_params().to_numpy() * n / (n - 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * expected.max())


def test_weights_are_respondents_who_answer_alike():
    rng = np.random.default_rng(5)
    reports = MECHANISMS["krappor"].privatize(rng.integers(0, 4, 300), rng)
    counts = rng.integers(0, 4, 300)
    made = pseudo_likelihood(reports, counts / 7.0, counts.sum())
    fit = ldp.FrequencyModel(reports[np.repeat(np.arange(300), counts)]).fit("mle")
    np.testing.assert_allclose(made.solution.p, fit.params, atol=1e-8)
    np.testing.assert_allclose(made.llf, fit.llf, rtol=1e-12)
    np.testing.assert_allclose(made.shares @ made.phi, made.solution.p, atol=1e-12)


@pytest.mark.parametrize("name", ["custom-wide", "rappor-closed"])
def test_the_weighted_maximum_is_that_of_cvxpy(name):
    import cvxpy

    mechanism, rng = MECHANISMS[name], np.random.default_rng(6)
    reports = mechanism.privatize(rng.choice(mechanism.categories[:3], 200), rng)
    w = rng.exponential(size=200)
    made = pseudo_likelihood(reports, w, 200.0)
    p = cvxpy.Variable(mechanism.k, nonneg=True)
    rows = made.rows.dense()
    n = 200.0 * made.shares
    problem = cvxpy.Problem(cvxpy.Maximize(n @ cvxpy.log(rows @ p)), [cvxpy.sum(p) == 1])
    best = problem.solve(solver="CLARABEL") + n @ made.rows.log_scale
    assert best <= made.llf + 200.0 * made.solution.gap + 1e-6  # the certificate holds
    np.testing.assert_allclose(made.llf, best, atol=1e-5)
    np.testing.assert_allclose(w @ made.phi[made.place] / w.sum(), made.solution.p, atol=1e-12)


def test_constraints_hold_and_leave_no_scores():
    rng = np.random.default_rng(8)
    reports = MECHANISMS["krr-labels"].privatize(rng.choice(["nurse", "cook"], 300), rng)
    w = rng.uniform(size=300)
    made = pseudo_likelihood(reports, w, 300.0, constraints=lambda p: [p[0] == 0.25])
    assert made.solution.p[0] == pytest.approx(0.25, abs=1e-9)
    assert made.solution.converged and not made.has_errors and np.isnan(made.phi).all()


def clustered(rng: np.random.Generator, n: int, fraction: float) -> Sample:
    """Twelve units of two strata, of which a fraction of the population is drawn."""
    w, unit = rng.uniform(1.0, 3.0, n), np.arange(n) % 12
    sizes = np.array([6.0, 6.0])
    population = sizes / fraction if fraction else np.full(2, np.inf)
    stage = Stage(unit, np.arange(12) % 2, sizes, population, np.zeros(2, int), ["a", "b"])
    return Sample((stage,), np.ones(n), w, w**2)


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_domains_are_fitted_on_their_own_and_vary_together(fraction):
    mechanism, rng, n = MECHANISMS["krappor"], np.random.default_rng(10), 900
    sample = clustered(rng, n, fraction)
    reports = mechanism.privatize(rng.choice(4, n, p=distribution(4)), rng)
    domain = np.append(rng.integers(0, 2, n - 5), np.full(5, -1))
    at = np.where(np.arange(n) < 7, -1, np.arange(n))
    (_, second), both = maxima(sample, reports, at, domain)
    inside = (domain == 1) & (at >= 0)
    (alone,), V = maxima(sample, reports, np.where(inside, at, -1), np.where(inside, 0, -1))
    np.testing.assert_allclose(second.solution.p, alone.solution.p, atol=1e-12)
    np.testing.assert_allclose(both[4:, 4:], V, atol=1e-12)
    assert np.abs(both[:4, 4:]).max() > 0.0  # they share units
    np.testing.assert_allclose(both.sum(axis=1), 0.0, atol=1e-12)
    phi, z = alone.phi[alone.place], np.zeros((n, 4))
    z[inside] = (phi - alone.solution.p) / sample.w[inside].sum()
    X = np.stack([(sample.w[:, None] * z)[np.arange(n) % 12 == j] for j in range(12)]).sum(axis=1)
    expected = sum(6 / 5 * (1 - fraction) * 5 * np.cov(X[h::2].T) for h in range(2))
    v = fraction * sample.w2[inside] / sample.w[inside].sum() ** 2
    expected += alone.noise(v @ phi)
    np.testing.assert_allclose(V, expected, rtol=1e-9, atol=1e-15)


@pytest.fixture(scope="module")
def population() -> np.ndarray:
    """The answers of ten persons in each of 4 x 50 clusters, which are unlike one another."""
    rng = np.random.default_rng(11)
    shares = rng.dirichlet(np.array([3.2, 2.0, 1.6, 0.8, 0.4]), 200)
    return np.array([rng.choice(5, 10, p=p) for p in shares])


SAMPLED = np.array([10, 16, 24, 30])  # clusters of each stratum, of 50


def drawn(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Sample]:
    """A sample of whole clusters without replacement: the answers, and its design."""
    units = [50 * h + rng.choice(50, n, replace=False) for h, n in enumerate(SAMPLED)]
    cells = np.repeat(np.arange(SAMPLED.sum()), 10)
    strata = np.repeat(np.arange(4), SAMPLED)
    w = (50.0 / SAMPLED)[strata[cells]]
    stage = Stage(cells, strata, SAMPLED * 1.0, np.full(4, 50.0), np.zeros(4, int), list("abcd"))
    return x[np.concatenate(units)].ravel(), Sample((stage,), np.ones(cells.size), w, w**2)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [ldp.KRAPPOR(5, 3.0), ldp.URR(5, (0, 1), 1.0)], ids=str)
def test_the_sandwich_is_the_variance_over_samples_and_randomisations(
    mechanism, population, replications
):
    from scipy.special import stdtrit

    R, rng = replications(4000), np.random.default_rng(12)
    truth = np.bincount(population.ravel(), minlength=5) / population.size
    p, V, lacking = np.empty((R, 5)), np.empty((R, 5)), np.empty((R, 5))
    for r in range(R):
        x, sample = drawn(population, rng)
        at = np.arange(x.size)
        (found,), own = maxima(sample, mechanism.privatize(x, rng), at, np.zeros(x.size, int))
        p[r], V[r] = found.solution.p, np.diag(own)
        lacking[r] = np.diag(covariance(found, sample))
    luck = np.sqrt(2.0 / R)  # relative error of a variance from R draws
    assert np.all(np.abs(bias(p, truth)) < 5.0)
    assert np.all(np.abs(V.mean(axis=0) / p.var(axis=0) - 1.0) < 4.0 * luck)
    reach = stdtrit(SAMPLED.sum() - 4, 0.975) * np.sqrt(V)
    held = coverage(np.stack([p - reach, p + reach], axis=-1), truth)
    assert near(held.mean(), 0.945, R) and at_least(held, 0.92, R)  # rare answers are skewed
    # the randomisation that the correction takes away matters
    assert np.mean(lacking.mean(axis=0) / p.var(axis=0)) < 1.0 - 1.5 * luck
