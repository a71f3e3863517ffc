"""Posteriors of regressions, and priors of their coefficients."""

import warnings

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.models.posterior.densities import RegressionDensity, coefficient_prior
from ldpstats.priors import Normal

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


KRR = ldp.KRR((0, 1), 1.0)


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def survey(n=400, seed=1, mechanism=KRR, slope=0.05):
    """Reports of a logistic answer, and covariates with few values."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 40, n).astype(float)
    ill = (rng.random(n) < logistic(-1.0 + slope * (age - 30.0))).astype(int)
    return mechanism.privatize(ill, rng), pd.DataFrame({"const": 1.0, "age": age})


def near(found, exact, errors=4.0):
    """Whether posterior means and standard deviations are those of quadrature but for luck."""
    mean, sd = exact
    luck = sd / np.sqrt(found.ess["bulk"])
    assert np.all(np.abs(found.params - mean) < errors * luck)
    # of a standard deviation, with tails twice as heavy as a normal law's
    spread = errors * np.sqrt(2.0) / np.sqrt(2.0 * found.ess["tail"])
    assert np.all(np.abs(found.bse / sd - 1.0) < spread)


def quadrature(logarithm, low, high, points=150):
    """Mean and standard deviation of two coordinates, on the middles of a grid."""
    axes = [
        a + (np.arange(points) + 0.5) / points * (b - a) for a, b in zip(low, high, strict=True)
    ]
    grid = np.stack([one.ravel() for one in np.meshgrid(*axes, indexing="ij")], axis=1)
    value = np.concatenate([logarithm(part) for part in np.array_split(grid, 50)])
    weight = np.exp(value - value.max())
    return grid, weight / weight.sum()


def moments(values, weight):
    mean = weight @ values
    return mean, np.sqrt(weight @ (values - mean) ** 2)


@pytest.mark.parametrize(
    ("mechanism", "own"), [(KRR, False), (KRR, True), (ldp.Observed((0, 1)), False)]
)
def test_two_coefficients_are_those_of_quadrature(mechanism, own):
    reports, X = survey(mechanism=mechanism)
    prior = {"const": ldp.priors.Normal(-3.0, 2.0), "age": ldp.priors.Normal(0.1, 0.05)}
    model = ldp.PrivatizedLogit(reports, X)
    found = model.fit_posterior(np.random.default_rng(2), prior if own else None)
    age = X["age"].to_numpy()
    A = np.asarray(mechanism.channel().matrix())[:, np.asarray(reports.y)]

    def logarithm(z):  # the level at the mean age, and the slope by standard deviation
        b = z[:, 1:] / age.std()
        p = logistic(z[:, :1] + b * (age - age.mean()))
        value = np.log(A[0] * (1.0 - p) + A[1] * p).sum(axis=1)
        if own:
            const = z[:, 0] - b[:, 0] * age.mean()
            return value - (const + 3.0) ** 2 / 8.0 - (b[:, 0] - 0.1) ** 2 / 0.005
        level = logistic(z[:, 0])
        return value + np.log(level * (1.0 - level)) - z[:, 1] ** 2 / 12.5

    z, weight = quadrature(logarithm, (-7.0, -6.0), (5.0, 6.0))
    slope = z[:, 1] / age.std()
    raw = np.column_stack([z[:, 0] - slope * age.mean(), slope])
    near(found, moments(raw, weight))
    above = 0.24 / age.std()  # an edge of the grid's cells
    share = float(weight[slope > above].sum())
    luck = 4.0 * np.sqrt(share * (1.0 - share) / found.ess["bulk"]["age"])
    assert found.prob(f"age > {above}") == pytest.approx(share, abs=luck)
    # the control: the posterior of the answers is another than that of the reports
    if mechanism is KRR and not own:
        seen = ldp.PrivatizedLogit(ldp.Observed((0, 1)).parse("ill", reports.y), X)
        naive = seen.fit_posterior(np.random.default_rng(2), draws=1000)
        with pytest.raises(AssertionError):
            near(naive, moments(raw, weight))


def test_at_large_n_the_posterior_is_the_normal_law_of_the_estimate():
    reports, X = survey(60_000)
    model = ldp.PrivatizedLogit(reports, X)
    fit, found = model.fit(), model.fit_posterior(np.random.default_rng(2), draws=2000)
    assert np.abs((found.params - fit.params) / fit.bse).max() < 0.1
    np.testing.assert_allclose(found.bse, fit.bse, rtol=0.07)
    assert list(found.index) == list(fit.params.index)
    np.testing.assert_allclose(found.mode, fit.params, atol=0.01 * float(fit.bse.max()))


@pytest.mark.parametrize("kind", ["logit", "multinomial", "ordered"])
def test_without_covariates_it_is_the_flat_posterior_of_frequencies(kind):
    k = 2 if kind == "logit" else 3
    mechanism = ldp.KRR(tuple("abc"[:k]), 1.0)
    rng = np.random.default_rng(3)
    reports = mechanism.privatize(rng.choice(list("abc"[:k]), 200), rng)
    one = pd.DataFrame({"const": np.ones(200)})
    none = None
    if kind == "ordered":  # which needs a covariate: one without effect
        model = ldp.PrivatizedOrderedModel(reports, pd.DataFrame({"x": np.arange(200) % 2 - 0.5}))
        none = ldp.priors.Normal(0.0, 1e-6)
    else:
        cls = ldp.PrivatizedLogit if kind == "logit" else ldp.PrivatizedMNLogit
        model = cls(reports, one)
    found = model.fit_posterior(np.random.default_rng(4), none)
    flat = ldp.FrequencyModel(reports).fit_posterior(np.random.default_rng(5))
    draws = found.flat[:, -2:]
    if kind == "ordered":
        cuts = np.column_stack([draws[:, 0], draws[:, 0] + np.exp(draws[:, 1])])
        below = np.column_stack([logistic(cuts), np.ones(len(cuts))])
        p = np.diff(below, axis=1, prepend=0.0)
    else:
        weights = np.exp(np.column_stack([np.zeros(len(draws)), draws]))
        p = weights / weights.sum(axis=1, keepdims=True)
    luck = np.hypot(1.0, 1.0) * flat.bse / np.sqrt(1200.0)
    assert np.all(np.abs(p.mean(axis=0) - flat.params) < 4.0 * luck)
    np.testing.assert_allclose(p.std(axis=0), flat.bse, rtol=0.1)


def test_private_predictors_and_sigma():
    rng = np.random.default_rng(6)
    smokes = rng.choice(["no", "yes"], p=[0.7, 0.3], size=600)
    table = pd.DataFrame({"ill": (rng.random(600) < np.where(smokes == "yes", 0.5, 0.2)) * 1})
    reports = {"smokes": ldp.Warner(epsilon=2.0).privatize(smokes, rng)}
    found = ldp.regression("ill ~ smokes", table, reports).fit_posterior(rng, draws=800)
    fit = ldp.regression("ill ~ smokes", table, reports).fit()
    assert np.abs((found.params - fit.params) / fit.bse).max() < 0.5
    # a number with normal errors: sigma is reported beside the coefficients
    table["weight"] = 60.0 + 10.0 * (smokes == "yes") + np.round(rng.normal(0.0, 5.0, 600))
    found = ldp.regression("weight ~ smokes", table, reports).fit_posterior(rng, draws=320)
    assert found.params["sigma"] == pytest.approx(5.0, abs=0.8)
    assert found.params["smokes[T.yes]"] == pytest.approx(10.0, abs=3.0)
    with pytest.raises(NotAvailable, match="predictive check"):
        _ = found.check


def test_least_squares_has_the_normal_posterior_of_its_estimate():
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"const": 1.0, "age": rng.uniform(2, 8, 2000)})
    reports = ldp.KRR([0, 1, 2, 3, 4], 2.0).privatize(rng.binomial(4, X["age"] / 10), rng)
    model, prior = ldp.PrivatizedOLS(reports, X), ldp.priors.Normal(0.2, 0.05)
    found = model.fit_posterior(rng, prior)
    fit = model.fit()
    P = np.linalg.inv(np.asarray(fit.cov_params()))
    V = np.linalg.inv(P + np.eye(2) / 0.05**2)
    mean = V @ (P @ np.asarray(fit.params) + 0.2 / 0.05**2)
    near(found, (mean, np.sqrt(np.diagonal(V))))


def test_the_reports_are_checked():
    reports, X = survey(2000, slope=0.0)
    model = ldp.PrivatizedLogit(reports, X[["const"]])
    assert model.fit_posterior(np.random.default_rng(1), draws=320).check.pvalue > 0.01
    # a strong effect that the model leaves out in part: half the ages have the other sign
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=4000))
    y = (rng.random(4000) < np.where(np.abs(x) > 0.5, 0.9, 0.1)).astype(int)
    X = pd.DataFrame({"const": 1.0, "x": x})
    reports = ldp.KRR((0, 1), 3.0).privatize(y, rng)
    found = ldp.PrivatizedLogit(reports, X).fit_posterior(rng, draws=320)
    assert found.check.pvalue < 0.01


@pytest.mark.parametrize(
    ("kind", "private"), [("logit", True), ("multinomial", False), ("ordered", True)]
)
def test_gradients_and_curvatures_are_derivatives(kind, private):
    rng = np.random.default_rng(3)
    k = 3 if kind in ("multinomial", "ordered") else 2
    table = pd.DataFrame({"age": rng.integers(0, 5, 60)})
    reports = {"y": ldp.KRR(tuple("abc"[:k]), 1.0).privatize(rng.choice(list("abc"[:k]), 60), rng)}
    if private:
        reports["s"] = ldp.KRR(("n", "y"), 1.0).privatize(rng.choice(["n", "y"], 60), rng)
    formula = "y ~ age + s" if private else "y ~ age"
    model = ldp.regression(formula, table, reports, model=kind)
    law = coefficient_prior(model.likelihood, model.all_names, {})
    density = RegressionDensity(model.likelihood, law)
    z = rng.normal(0.0, 0.5, density.size)
    step = 1e-5 * np.eye(density.size)
    value, gradient = density.evaluate(np.vstack([z + step, z - step]))
    _, there = density.evaluate(z[None])
    d = density.size
    np.testing.assert_allclose((value[:d] - value[d:]) / 2e-5, there[0], rtol=1e-5, atol=1e-5)
    numeric = (gradient[:d] - gradient[d:]) / 2e-5
    np.testing.assert_allclose(-numeric, density.curvature(z), rtol=1e-4, atol=1e-4)
    assert np.abs(density.evaluate(density.mode()[None])[1]).max() < 1e-4


# ---- what is refused


def test_weights_and_designs_are_refused_by_name():
    reports, X = survey(100)
    rng = np.random.default_rng(1)
    with pytest.raises(NotAvailable, match="sampling weights"):
        ldp.PrivatizedLogit(reports, X, weights=np.ones(100)).fit_posterior(rng)
    table = pd.DataFrame({"ill": reports.y, "age": X["age"], "w": 1.0})
    survey_ = ldp.Survey(table, {"ill": KRR}, weights="w")
    with pytest.raises(NotAvailable, match="survey with a design"):
        survey_.regression("ill ~ age").fit_posterior(rng)
    plain = ldp.Survey(table, {"ill": KRR}).regression("ill ~ age")
    assert list(plain.fit_posterior(rng, draws=160).params.index) == ["Intercept", "age"]
    numbers = ldp.KRR([0, 1, 2], 1.0).privatize(rng.integers(0, 3, 100), rng)
    with pytest.raises(NotAvailable, match="sampling weights"):
        ldp.PrivatizedOLS(numbers, X, weights=np.ones(100)).fit_posterior(rng)


@pytest.mark.parametrize("kind", [ldp.PrivatizedLogit, ldp.PrivatizedOLS])
def test_other_priors_are_refused(kind):
    reports, X = survey(50)
    normal = ldp.priors.Normal(0, 1)
    for prior in (1.0, "flat", {}, {"agee": normal}, {"age": 1.0}, {1: normal}):
        with pytest.raises(InvalidArgument, match="prior"):
            kind(reports, X).fit_posterior(np.random.default_rng(1), prior)


def test_names_of_thresholds_and_of_one_of_several_constants_are_refused():
    rng = np.random.default_rng(1)
    reports = ldp.KRR(tuple("abc"), 1.0).privatize(rng.choice(list("abc"), 90), rng)
    X = pd.DataFrame({"const": 1.0, "age": np.arange(90.0)})
    normal = ldp.priors.Normal(0, 1)
    ordered = ldp.PrivatizedOrderedModel(reports, X[["age"]])
    with pytest.raises(InvalidArgument, match="threshold"):
        ordered.fit_posterior(rng, {"a/b": normal})
    several = ldp.PrivatizedMNLogit(reports, X)
    with pytest.raises(InvalidArgument, match="b: const and c: const"):
        several.fit_posterior(rng, {"b: const": normal})
    assert several.fit_posterior(rng, {"const": normal}, draws=160).params.shape == (4,)


@pytest.mark.parametrize("argument", [{"rng": 1}, {"draws": 3}, {"draws": 1.5}, {"engine": "stan"}])
def test_other_arguments_are_refused(argument):
    reports, X = survey(50)
    asked = {"rng": np.random.default_rng(1)} | argument
    for model in (ldp.PrivatizedLogit(reports, X), ldp.PrivatizedOLS(reports, X)):
        with pytest.raises(InvalidArgument, match=next(iter(argument))):
            model.fit_posterior(**asked)


def logit(n=400, p=4, epsilon=1.0):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{i}" for i in range(p)])
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-0.5 * X.x0))).astype(int)
    X.insert(0, "const", 1.0)
    return ldp.PrivatizedLogit(ldp.KRR((0, 1), epsilon).privatize(y, rng), X)


def test_a_coefficient_has_one_prior():
    rng, normal = np.random.default_rng(1), Normal(0.0, 1.0)
    twice = pd.Series([normal, Normal(5.0, 0.01)], index=["x0", "x0"])
    with pytest.raises(InvalidArgument, match="is given twice"):
        logit(50, 1).fit_posterior(rng, twice)
    reports = ldp.KRR(tuple("abc"), 1.0).privatize(rng.choice(list("abc"), 90), rng)
    several = ldp.PrivatizedMNLogit(reports, pd.DataFrame({"const": 1.0, "age": np.arange(90.0)}))
    with pytest.raises(InvalidArgument, match="another name"):
        several.fit_posterior(rng, {"age": normal, "b: age": Normal(1.0, 2.0)})


@pytest.mark.parametrize(
    "law", [Normal(0, 1e-300), Normal(1e300, 1.0), Normal(0.0, 1e6), Normal(0.0, 1e300)]
)
def test_priors_beyond_the_scale_of_a_covariate_are_refused(law):
    """Under the third the posterior is all but the prior, and chains do not come there."""
    with pytest.raises(InvalidArgument, match=r"prior\['x0'\].*scale"):
        logit(50, 1).fit_posterior(np.random.default_rng(1), {"x0": law})
    with pytest.raises(InvalidArgument, match=r"prior\['const'\].*scale"):
        logit(50, 1).fit_posterior(np.random.default_rng(1), Normal(0.0, 1e-12))


@pytest.mark.parametrize(("sd", "warned"), [(90.0, True), (2.5, False)])
def test_a_prior_is_said_to_be_so_wide_that_chains_miss_a_part(sd, warned):
    """Chains stay about the mode and agree: R-hat is below 1.02."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        logit(500).fit_posterior(np.random.default_rng(1), Normal(0.0, sd), draws=1008)
    said = [one for one in seen if "farther out" in str(one.message)]
    assert bool(said) == warned
    assert all(one.category is PosteriorWarning and one.filename == __file__ for one in said)


@pytest.mark.parametrize("kind", ["logit", "probit", "cloglog", "multinomial", "ordered"])
def test_the_density_of_a_prior_has_its_scale(kind):
    """The mean of g / prior over draws from the prior is 1 for any density g."""
    rng, k = np.random.default_rng(2), 3 if kind in ("multinomial", "ordered") else 2
    labels = list("abc"[:k])
    reports = ldp.KRR(labels, 1.0).privatize(rng.choice(labels, 80), rng)
    table = pd.DataFrame({"x": rng.normal(3.0, 2.0, 80)})
    model = ldp.regression("y ~ x", table, {"y": reports}, model=kind)
    place = 0 if kind == "ordered" else 1
    law = coefficient_prior(model.likelihood, model.all_names, {place: (0.0, 1.0)})
    theta = law.draw(rng, 40_000)
    middle = np.median(theta, axis=0)
    near = theta[np.abs(theta - middle).max(axis=1) < 4.0]
    root = np.linalg.cholesky(0.4 * np.cov(near.T))
    u = np.linalg.solve(root, (theta - middle).T)
    log_g = -0.5 * (u**2).sum(axis=0) - np.log(np.diagonal(root)).sum()
    log_g -= 0.5 * len(middle) * np.log(2.0 * np.pi)
    ratio = np.exp(log_g - law.evaluate(theta)[0] - law.log_scale)
    assert abs(ratio.mean() - 1.0) < 5.0 * ratio.std() / 200.0
