"""Marginal effects on the true answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.regression.examples import JOBS, answers, fitted, numerical, table

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.answers.margins import margins_of

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("logit", {"at": "mean", "method": "eydx", "dummy": True}),
    ("private", {}),
    ("private", {"dummy": True, "count": True}),
    ("multinomial", {"at": "mean"}),
    ("ordered", {"method": "eydx"}),
    ("poisson", {"dummy": True, "count": True}),
]


@pytest.mark.parametrize(("what", "how"), OPTIONS, ids=str)
def test_standard_errors_are_of_the_delta_method(what: str, how: dict[str, Any]) -> None:
    results = fitted(what)
    asked = {"at": "overall", "method": "dydx", "atexog": None, "dummy": False, "count": False}
    given = tuple((asked | how).values())
    found = results.get_margeff(**how)
    own = numerical(results, lambda law: margins_of(law, *given).found.value)  # type: ignore[union-attr]
    V = own @ results.covariance_all @ own.T
    np.testing.assert_allclose(found.margeff_cov, V, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(found.margeff_se.T.ravel() ** 2, np.diagonal(V), rtol=1e-5)


def test_effects_on_all_categories_sum_to_zero() -> None:
    for what in ("multinomial", "ordered"):
        found = fitted(what).get_margeff()
        assert found.margeff.shape == (2, 4)
        np.testing.assert_allclose(found.margeff.sum(axis=1), 0.0, atol=1e-12)
        frame = found.summary_frame()
        assert frame.index.names == ["endog", "exog"]
        assert frame.index.get_level_values(0).unique().tolist() == list(JOBS)
        assert found.conf_int().shape == (2, 2, 4)


def test_private_factors_have_differences_of_predictions() -> None:
    results = fitted("private")
    found = results.get_margeff()
    assert found.names == ["city[T.b]", "city[T.c]", "age", "use[T.u]", "use[T.v]"]
    frame = results.predictions(by="use", kind="adjusted").differences("no")
    np.testing.assert_allclose(found.margeff[3:], frame["difference"], rtol=1e-10)
    np.testing.assert_allclose(found.margeff_se[3:], frame["se"], rtol=1e-10)


def test_weighted_medians() -> None:
    rng, t = np.random.default_rng(3), table().head(400)
    times = rng.integers(1, 4, 400)
    ill = answers()[1][:400]
    X = t[["age", "kids"]].assign(const=1.0)
    some = ldp.Observed(("no", "yes")).parse("ill", ill)
    every = ldp.Observed(("no", "yes")).parse("ill", np.repeat(ill, times))
    one = ldp.PrivatizedLogit(some, X, freq_weights=times).fit()
    other = ldp.PrivatizedLogit(every, X.loc[X.index.repeat(times)]).fit()
    for at in ("overall", "mean", "median", "zero"):
        found, expected = one.get_margeff(at=at), other.get_margeff(at=at)
        np.testing.assert_allclose(found.margeff, expected.margeff, rtol=1e-7)
        np.testing.assert_allclose(found.margeff_se, expected.margeff_se, rtol=1e-7)


def test_infinite_estimates_have_no_standard_error() -> None:
    X = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    y = np.r_[[0, 1] * 10, np.ones(20, dtype=int)]
    model = ldp.PrivatizedLogit(ldp.Observed([0, 1]).parse("y", y), X)
    with pytest.warns(ldp.ConvergenceWarning, match="at infinity"):
        results = model.fit()
    assert np.isnan(results.get_margeff().margeff_se).all()
    assert np.isnan(results.predictions().frame["se"]).all()


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("logit", {"at": "center"}, "at='center'.*must be one of"),
    ("logit", {"method": "dxdy"}, "method='dxdy'.*must be one of"),
    ("logit", {"method": "eyex", "dummy": True}, "use 'dydx' or 'eydx'"),
    ("logit", {"at": "median", "dummy": True}, "use 'overall' or 'mean'"),
    ("private", {"method": "dyex"}, "use 'dydx' or 'eydx'"),
    ("logit", {"atexog": {"height": 2.0}}, "must be the name or the place of a covariate"),
    ("logit", {"atexog": {"age": "old"}}, "must be a number"),
    ("logit", {"atexog": {"age": [1.0, 2.0]}}, "one for each of the"),
    ("logit", {"atexog": [[1.0, 2.0]]}, "an array of 5 columns"),
    ("private", {"atexog": {"use[T.u]": 1.0}}, "changes with a private predictor"),
    ("private", {"atexog": np.ones((1, 6))}, "must be a dict of public covariates"),
    ("logit", {"dummy": "yes"}, "dummy='yes'"),
]


@pytest.mark.parametrize(("what", "how", "words"), BAD)
def test_bad_options(what: str, how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        fitted(what).get_margeff(**how)


def test_summary_of_margins() -> None:
    found = fitted("multinomial").get_margeff()
    text = str(found.summary())
    assert "Marginal effects on P(job)" in text
    assert "nurse: age" in text
    assert "at='overall'" in repr(found)
    with pytest.raises(InvalidArgument, match=r"alpha=0\.1"):
        found.summary_frame(level=0.9)
