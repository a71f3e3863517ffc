"""Priors of coefficients: given once, on the scale of the covariate, and not too wide."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, PosteriorWarning
from ldpstats.models.posterior.densities.coefficients import coefficient_prior
from ldpstats.priors import Normal


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


def test_a_summary_says_what_thresholds_are():
    rng = np.random.default_rng(3)
    reports = ldp.KRR(tuple("abc"), 2.0).privatize(rng.choice(list("abc"), 300), rng)
    model = ldp.PrivatizedOrderedModel(reports, pd.DataFrame({"age": rng.normal(size=300)}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PosteriorWarning)
        found = model.fit_posterior(rng, draws=160)
    assert "logarithms of the steps" in str(found.summary())
