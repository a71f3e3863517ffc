"""Corrected scores: those of the answers where these are seen, unbiased where they are not."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import simulate
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

import ldpstats as ldp
from ldpstats.estimators.regression import corrected, maximise
from ldpstats.likelihood.predictors import unbiased_indicators
from ldpstats.likelihood.regression import (
    Binary,
    CompletedLikelihood,
    Multinomial,
    Normal,
    Ordered,
    Poisson,
    Predictors,
    predictors_of,
)
from ldpstats.models.regression.hypotheses import naive_params, reported_codes

Array = npt.NDArray[Any]

EXACT = 1e-8
OUTCOMES: dict[str, Any] = {
    "logit": Binary(),
    "probit": Binary("probit"),
    "cloglog": Binary("cloglog"),
    "multinomial": Multinomial(3),
    "ordered": Ordered(3),
    "poisson": Poisson(),
    "linear": Normal(),
}
BETA = np.array([-0.5, 0.5, 0.7, -0.6])


def designs(z: Array) -> list[Array]:
    """A constant, the public z, and dummies of the second and third private category."""
    ones = np.ones(len(z))
    return [np.column_stack([ones, z, (c == 1) * ones, (c == 2) * ones]) for c in range(3)]


def private(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A public z, and a private x of three categories that depends on it."""
    z = rng.normal(size=n)
    eta = np.column_stack([np.zeros(n), 0.2 + 0.6 * z, -0.2 - 0.5 * z])
    p = np.exp(eta)
    p /= p.sum(axis=1, keepdims=True)
    return z, np.sum(rng.random(n)[:, None] > p.cumsum(axis=1), axis=1)


def seen_design(z: Array, x: Array) -> Array:
    return np.stack(designs(z))[x, np.arange(len(z))]


def outcomes(name: str, eta: Array, rng: np.random.Generator) -> Array:
    """Codes, counts or numbers of an outcome with one effective linear predictor."""
    u = rng.random(len(eta))
    if name == "linear":
        return eta + rng.normal(size=len(eta))
    if name == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    if name == "ordered":
        return np.sum(np.log(u / (1.0 - u))[:, None] > np.array([-0.5, 1.0]) - eta[:, None], axis=1)
    if name == "multinomial":
        p = np.exp(np.column_stack([0.0 * eta, eta, -0.5 * eta]))
        return np.sum(u[:, None] > (p / p.sum(axis=1, keepdims=True)).cumsum(axis=1), axis=1)
    return (u < Binary(name).mean(eta[:, None])[:, 1]).astype(int)


def as_response(name: str, y: Array) -> Array:
    return y if name in ("linear", "poisson") else np.eye(OUTCOMES[name].k)[y]


def sandwich(found: Any) -> Array:
    """The covariance of independent respondents."""
    half = np.linalg.solve(found.bread, found.influence.T)
    return np.asarray(half @ half.T)


def theirs(name: str, y: Array, X: Array) -> Any:
    """The model of statsmodels on the answers."""
    if name == "multinomial":
        return sm.MNLogit(y, X).fit(disp=0, tol=1e-12, cov_type="HC0")
    if name == "linear":
        return sm.OLS(y, X).fit(cov_type="HC0")
    if name == "ordered":
        return OrderedModel(y, X[:, 1:], distr="logit").fit(method="newton", disp=0)
    family = {
        "poisson": sm.families.Poisson(),
        "cloglog": sm.families.Binomial(sm.families.links.CLogLog()),
        "logit": sm.families.Binomial(),
        "probit": sm.families.Binomial(sm.families.links.Probit()),
    }[name]
    if name in ("logit", "probit"):
        kind = sm.Logit if name == "logit" else sm.Probit
        return kind(y, X).fit(disp=0, tol=1e-12, cov_type="HC0", method="newton")
    return sm.GLM(y, X, family=family).fit(tol=1e-14, maxiter=200, cov_type="HC0")


@pytest.mark.parametrize("name", OUTCOMES)
def test_equals_statsmodels_without_noise(name):
    rng = np.random.default_rng(3)
    z, x = private(600, rng)
    X = seen_design(z, x)
    y = outcomes(name, X @ BETA, rng)
    D = [one[:, 1:] for one in designs(z)] if name == "ordered" else designs(z)
    found = corrected(D, np.eye(3)[x], as_response(name, y), OUTCOMES[name])
    naive = naive_params(OUTCOMES[name], D, y, x)
    np.testing.assert_allclose(naive, found.theta, 1e-7, 1e-9)
    result = theirs(name, y, X)
    params = np.asarray(result.params).ravel(order="F")
    if name == "ordered":  # whose Newton stops early
        np.testing.assert_allclose(found.theta, params, 1e-4)
        assert found.value == pytest.approx(result.llf, abs=1e-7)
        return
    np.testing.assert_allclose(found.theta, params, EXACT, EXACT)
    if name != "cloglog":  # statsmodels' is that of the expected information
        bse = np.sqrt(np.diag(sandwich(found)))
        np.testing.assert_allclose(bse, np.asarray(result.bse).ravel(order="F"), EXACT)


@pytest.mark.parametrize("name", [name for name in OUTCOMES if name != "linear"])
def test_scores_are_derivatives(name):
    """Of the corrected log-likelihood, by central differences, with negative indicators."""
    rng = np.random.default_rng(4)
    z, x = private(80, rng)
    krr = ldp.KRR(3, 1.0)
    phi = unbiased_indicators(krr.privatize(x, rng)).rows()
    y = outcomes(name, seen_design(z, x) @ BETA, rng)
    response = as_response(name, y)
    if name != "poisson":
        k = OUTCOMES[name].k
        response = unbiased_indicators(ldp.KRR(k, 2.0).privatize(y, rng)).rows()
    made = tuple(made_predictors(name, X) for X in designs(z))
    target = CompletedLikelihood(OUTCOMES[name], made, phi, response, rng.uniform(1, 2, 80))
    theta = rng.normal(size=target.size) * 0.3
    value, score, hessian = target.evaluate(theta)
    assert target.value(theta) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(target.weights @ target.score_rows(theta), score, 1e-9, 1e-9)
    for j, h in enumerate(1e-5 * np.eye(target.size)):
        up, down = target.evaluate(theta + h), target.evaluate(theta - h)
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(score[j], rel=1e-6, abs=1e-5)
        np.testing.assert_allclose((up[1] - down[1]) / 2e-5, hessian[j], 1e-6, 1e-4)


def made_predictors(name: str, X: Array) -> Predictors:
    return predictors_of(OUTCOMES[name], X)


def test_linear_is_solved_by_the_moments():
    """The closed form is that of the moments, by hand; weights and offsets enter."""
    rng = np.random.default_rng(5)
    z, x = private(2000, rng)
    phi = unbiased_indicators(ldp.KRR(3, 1.0).privatize(x, rng)).rows()
    y, w, offset = rng.normal(size=2000) + x, rng.uniform(1, 2, 2000), rng.normal(size=2000)
    found = corrected(designs(z), phi, y, Normal(), w, offset)
    D = np.stack(designs(z))
    bread = np.einsum("n,nc,cnp,cnq->pq", w, phi, D, D)
    right = np.einsum("n,nc,cnp,n->p", w, phi, D, y - offset)
    np.testing.assert_allclose(found.theta, np.linalg.solve(bread, right), 1e-9)
    np.testing.assert_allclose(w @ found.influence, 0.0, atol=1e-9)
    assert found.scale == pytest.approx(1.0 + 1.0, abs=0.6)  # of y less offset


@pytest.mark.parametrize("kind", ["krr", "bits", "closed cohorts"])
def test_indicators_are_unbiased_and_sum_to_one(kind):
    rng = np.random.default_rng(6)
    made: Any = {
        "krr": ldp.KRR(("a", "b", "c"), 1.0),
        "bits": ldp.KRAPPOR(("a", "b", "c"), 1.0),
        "closed cohorts": ldp.ORAPPOR(6, 1, 3, epsilon=2.0, alphabet=("a", "b", "c")),
    }[kind]
    n = 40_000
    reports = made.privatize(np.repeat(["b", "c"], [n // 4, n - n // 4]), rng)
    found = unbiased_indicators(reports)
    rows = found.rows()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-8)
    sd = rows.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(rows.mean(axis=0) - [0.0, 0.25, 0.75]) <= 4.0 * sd)
    # the noise is the variance of the indicators less that of the truth
    V = np.cov(rows.T) - (np.diag([0, 0.25, 0.75]) - np.outer([0, 0.25, 0.75], [0, 0.25, 0.75]))
    np.testing.assert_allclose(found.noise / n, V, atol=0.05 * np.abs(V).max())


def test_no_root_is_an_error_with_a_remedy():
    rng = np.random.default_rng(7)
    z, x = private(60, rng)
    y = outcomes("logit", seen_design(z, x) @ BETA, rng)
    krr, refused = ldp.KRR(3, 0.3), 0
    for _ in range(3):
        phi = unbiased_indicators(krr.privatize(x, rng)).rows()
        try:
            corrected(designs(z), phi, np.eye(2)[y], Binary())
        except ldp.NotIdentified as error:
            assert "method='mle'" in str(error)
            refused += 1
    assert refused
    with pytest.raises(ldp.NotIdentified, match="separate"):
        corrected(designs(z), np.eye(3)[x], np.eye(2)[(z > 0).astype(int)], Binary())


def test_naive_estimates_need_reports_named_like_answers():
    labels = ldp.KRR(("a", "b"), 1.0).categories
    assert reported_codes([ldp.KRR(("a", "b"), 1.0).parse("q", ["b", "a"])], labels).tolist() == [
        1,
        0,
    ]
    bits = ldp.KRAPPOR(("a", "b"), 1.0).privatize(["a"], np.random.default_rng(1))
    with pytest.raises(ldp.NotAvailable, match="bits"):
        reported_codes([bits], labels)
    with pytest.raises(ldp.NotAvailable, match="infinity"):
        naive_params(Binary(), [np.array([[1.0, -1], [1, 1]])], np.array([0, 1]))


# ---- simulations


def surveys(
    name: str, n: int, R: int, noisy_response: float | None = None, made: Any = None
) -> tuple[Array, Array, Array]:
    """Estimates, variances and naive estimates of R surveys at epsilon 1.

    Of 2 % of them there may be no root: with counts the corrected log-likelihood grows without
    bound where a negative indicator meets a large mean.
    """
    rng, krr = np.random.default_rng(n), ldp.KRR(3, 1.0) if made is None else made
    estimates, variances, naives, refused = [], [], [], 0
    for _ in range(R):
        z, x = private(n, rng)
        y = outcomes(name, seen_design(z, x) @ BETA, rng)
        reports = krr.privatize(x, rng)
        response, reported = as_response(name, y), y
        if noisy_response is not None:
            answers = ldp.KRR(2, noisy_response).privatize(y, rng)
            response, reported = unbiased_indicators(answers).rows(), answers.y
        phi = unbiased_indicators(reports).rows()
        try:
            found = corrected(designs(z), phi, response, OUTCOMES[name])
        except ldp.NotIdentified:
            refused += 1
            continue
        estimates.append(found.theta)
        variances.append(np.diag(sandwich(found)))
        if made is None:
            codes = reported_codes([reports], krr.categories)
            naives.append(naive_params(OUTCOMES[name], designs(z), reported, codes))
    assert refused <= (0.02 * R if n < 10_000 else 0)
    return np.array(estimates), np.array(variances), np.array(naives)


def check(estimates: Array, variances: Array, low: float = 0.93) -> None:
    """Medians, as tails are heavy, within .1 SD and 4 Monte Carlo errors; coverage near .95."""
    R = len(estimates)
    sd = np.subtract(*np.quantile(estimates, [0.75, 0.25], axis=0)) / 1.349
    error = np.median(estimates, axis=0) - BETA
    assert np.all(np.abs(error) <= 0.1 * sd + 4.0 * 1.2533 * sd / np.sqrt(R)), error / sd
    ends = estimates[..., None] + 1.96 * np.sqrt(variances)[..., None] * np.array([-1.0, 1.0])
    covered = simulate.coverage(ends, BETA)
    assert simulate.at_least(covered, low, R, 2.0), covered
    assert simulate.at_most(covered, 0.97, R, 2.0), covered


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logit", "poisson", "linear"])
def test_private_predictor(name, replications):
    R = replications(400, 60)
    estimates, variances, naives = surveys(name, 3000, R)
    check(estimates, variances)
    if name == "logit":  # the control: naive use is off by .4 whatever n
        off = naives.mean(axis=0)[2:] - BETA[2:]
        assert np.all(np.abs(off) > 0.35), off


@pytest.mark.slow
def test_private_predictor_of_a_private_response(replications):
    R = replications(400, 60)
    estimates, variances, _ = surveys("logit", 3000, R, noisy_response=2.0)
    check(estimates, variances)


@pytest.mark.slow
def test_a_predictor_reported_in_bits(replications):
    R = replications(200, 60)
    estimates, variances, _ = surveys("logit", 10_000, R, made=ldp.KRAPPOR(3, 1.0))
    check(estimates, variances)


def test_a_start_where_the_function_is_convex_overflows_nothing():
    """exp(-x^2) - y^2 from beyond its inflection, in units that make curvature large."""

    def value(theta: np.ndarray) -> float:
        return float(np.exp(-(theta[0] ** 2)) - theta[1] ** 2)

    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        bell = np.exp(-(theta[0] ** 2))
        score = np.array([-2 * theta[0] * bell, -2 * theta[1]])
        return value(theta), score, np.diag([(4 * theta[0] ** 2 - 2) * bell, -2.0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bell = SimpleNamespace(evaluate=evaluate, value=value)
        found = maximise(bell, np.array([1.2, 3.0]), units=1e8 * np.eye(2))
    assert found.converged
    assert np.abs(found.theta).max() < 1e-6
