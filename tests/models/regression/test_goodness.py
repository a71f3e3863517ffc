"""Whether reports agree with the fitted law."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.regression.examples import answers, fitted, reports, table
from simulate import near, size

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable


def survey(
    rng: np.random.Generator, bend: float, few: bool, mechanism: Any = None, n: int = 1000
) -> tuple[Any, pd.DataFrame]:
    """A logit survey, with a square in the truth that the model leaves out."""
    z = rng.integers(0, 4, n) - 1.5 if few else rng.normal(size=n)
    X = pd.DataFrame({"const": 1.0, "z": z, "d": rng.integers(0, 2, n) + 0.0})
    eta = -0.3 + 0.6 * z + 0.4 * X.d + bend * (z**2 - 1.0)
    yes = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    asked = ldp.KRR(("no", "yes"), 1.0) if mechanism is None else mechanism
    return asked.privatize(yes, rng), X


def test_patterns_of_covariates() -> None:
    some, X = survey(np.random.default_rng(1), 0.0, True)
    results = ldp.PrivatizedLogit(some, X).fit()
    found = results.goodness_of_fit()
    law = np.asarray(results.predict())
    Q = some.mechanism.channel().matrix()
    seen = pd.DataFrame({"z": X.z, "d": X.d, "yes": np.asarray(some.y) == 1, "law": law})
    each = seen.groupby(["z", "d"]).agg(n=("yes", "size"), o=("yes", "sum"), p=("law", "mean"))
    e = each.n * (Q[0, 1] + (Q[1, 1] - Q[0, 1]) * each.p)
    statistic = ((each.o - e) ** 2 / e + (each.o - e) ** 2 / (each.n - e)).sum()
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.df == 8 - 3
    assert found.method == "Pearson chi-square of the reports, 8 patterns of covariates"
    assert found.null == "the true answers to y follow the model in const, z, d"


@pytest.mark.parametrize("few", [False, True])
def test_power(few: bool) -> None:
    some, X = survey(np.random.default_rng(2), 0.8, few, ldp.KRR(("no", "yes"), 3.0))
    assert ldp.PrivatizedLogit(some, X).fit().goodness_of_fit().pvalue < 1e-6
    right = X.assign(square=X.z**2)
    assert ldp.PrivatizedLogit(some, right).fit().goodness_of_fit().pvalue > 0.01


@pytest.mark.parametrize("what", ["private", "multinomial"])
def test_true_models_are_not_rejected(what: str) -> None:
    found = fitted(what).goodness_of_fit()
    assert found.pvalue > 0.01
    assert "groups of fitted probability" in found.method


def test_several_mechanisms_and_robust_covariances() -> None:
    rng, (_, ill, _), t = np.random.default_rng(4), answers(), table()
    X = t[["age", "kids"]].assign(const=1.0)
    half = len(t) // 2
    groups = [
        ldp.KRR(("no", "yes"), 2.0).privatize(ill[:half], rng),
        ldp.Observed(("no", "yes")).parse("ill", ill[half:]),
    ]
    model = ldp.PrivatizedLogit(groups, X)
    plain, robust = model.fit().goodness_of_fit(), model.fit(cov_type="HC0").goodness_of_fit()
    assert plain.pvalue > 0.01 and robust.pvalue > 0.01
    assert robust.statistic == pytest.approx(plain.statistic, rel=0.3)
    w = rng.uniform(0.5, 1.5, len(t))
    assert ldp.PrivatizedLogit(groups, X, weights=w).fit().goodness_of_fit().pvalue > 0.01


def test_bits_are_decoded() -> None:
    rng, (_, _, job), t = np.random.default_rng(4), answers(), table()
    labels = tuple(np.unique(job))
    bits = ldp.KRAPPOR(labels, 4.0).privatize(job, rng)
    X = t[["age", "kids"]].assign(const=1.0)
    found = ldp.PrivatizedMNLogit(bits, X).fit().goodness_of_fit()
    assert "decoded answers" in found.method and found.pvalue > 0.01


def test_what_has_no_test() -> None:
    with pytest.raises(NotAvailable, match="the outcome is a number"):
        fitted("poisson").goodness_of_fit()
    model = fitted("private").model
    with pytest.raises(NotAvailable, match="corrected scores"):
        model.fit(method="corrected").goodness_of_fit()
    model = fitted("arrays").model
    clusters = {"groups": np.arange(model.data.n) // 4}
    with pytest.raises(NotAvailable, match="cov_type='cluster'"):
        model.fit(cov_type="cluster", cov_kwds=clusters).goodness_of_fit()
    X = pd.DataFrame({"const": 1.0, "d": table().kids > 1.0}).astype(float)
    with pytest.raises(NotAvailable, match="fits any"):
        ldp.PrivatizedLogit(reports("ill"), X).fit().goodness_of_fit()
    with pytest.raises(InvalidArgument, match="groups=1"):
        fitted("logit").goodness_of_fit(1)
    y = ldp.Observed([0, 1]).parse("y", np.r_[[0, 1] * 10, np.ones(20, dtype=int)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        infinite = ldp.PrivatizedLogit(y, np.repeat([[1.0, 0.0], [1.0, 1.0]], 20, axis=0)).fit()
    with pytest.raises(NotAvailable, match="penalty='jeffreys'"):
        infinite.goodness_of_fit()
    few, X = survey(np.random.default_rng(3), 0.0, False, n=12)
    with pytest.raises(NotAvailable, match="fewer than two groups"):
        ldp.PrivatizedLogit(few, X[["const"]].assign(z=X.z)).fit(
            penalty="jeffreys"
        ).goodness_of_fit()


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True])
def test_size(few: bool, replications: Any) -> None:
    R, rng, found = replications(600, 150), np.random.default_rng(8), []
    for _ in range(R):
        some, X = survey(rng, 0.0, few)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(ldp.PrivatizedLogit(some, X).fit().goodness_of_fit().pvalue)
    assert near(size(found), 0.05, R, errors=3.0)
