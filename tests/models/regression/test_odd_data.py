"""Data that an audit found to be handled wrongly."""

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import ConvergenceWarning, NotIdentified

NO_YES = ("no", "yes")


def logistic(X, beta, rng, epsilon=2.0):
    yes = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-np.asarray(X) @ beta))
    return ldp.KRR(NO_YES, epsilon).privatize(np.where(yes, "yes", "no"), rng)


def test_a_maximum_at_infinity_of_a_rare_covariate_is_named():
    # fewer "yes" than randomisation alone gives: one unit is few of its standard deviations
    rng = np.random.default_rng(1)
    rare = np.arange(300) < 15
    answers = np.where(rare, "no", rng.choice(NO_YES, 300))
    reports = ldp.KRR(NO_YES, 2.0).parse("q", answers)
    X = pd.DataFrame({"const": 1.0, "rare": rare})
    with pytest.warns(ConvergenceWarning, match="rare"):
        found = ldp.PrivatizedLogit(reports, X).fit()
    assert found.infinite == ("rare",)
    assert np.isnan(found.bse["rare"]) and found.bse["const"] > 0.0
    assert found.pvalues["rare"] < 0.01


def test_dummies_of_all_levels_are_a_constant():
    middle = 1e5
    rng = np.random.default_rng(2)
    n = 1500
    z, north = rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
    plain = pd.DataFrame({"const": 1.0, "north": north, "z": z})
    reports = logistic(plain, [-0.5, 0.0, 0.8], rng)
    far = pd.DataFrame({"n": north, "s": 1.0 - north, "year": middle + 5.0 * z})
    expected, found = (
        ldp.PrivatizedLogit(reports, plain).fit(),
        ldp.PrivatizedLogit(reports, far).fit(),
    )
    assert found.infinite == () and found.converged
    assert found.llf == pytest.approx(expected.llf, abs=1e-7)
    assert found.params["year"] == pytest.approx(expected.params["z"] / 5.0, rel=1e-5)
    assert found.bse["year"] == pytest.approx(expected.bse["z"] / 5.0, rel=1e-5)
    assert found.df_model == expected.df_model == 2.0
    assert found.llr_pvalue == pytest.approx(expected.llr_pvalue, rel=1e-5)


def test_penalised_maxima_are_reached_where_reports_say_little():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    model = ldp.PrivatizedLogit(ldp.KRR(2, 0.5).privatize(rng.integers(0, 2, 60), rng), X)
    found = model.fit(penalty="jeffreys")
    assert found.converged and np.isfinite(found.bse).all()
    objective, theta = model.objective("jeffreys"), found.theta
    steps = 1e-4 * np.eye(5)
    slope = [(objective.value(theta + h) - objective.value(theta - h)) / 2e-4 for h in steps]
    assert np.abs(slope).max() < 1e-6
    second = [
        [
            objective.value(theta + 10 * (a + b))
            - objective.value(theta + 10 * (a - b))
            - objective.value(theta - 10 * (a - b))
            + objective.value(theta - 10 * (a + b))
            for b in steps
        ]
        for a in steps
    ]  # standard errors are of the penalised likelihood, however many coefficients there are
    V = np.linalg.inv(-np.array(second) / 4e-6)
    assert found.cov_params().to_numpy() == pytest.approx(V, rel=2e-2, abs=2e-2 * V.max())


def test_an_interval_of_level_one_is_everything():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=200)})
    found = ldp.PrivatizedLogit(logistic(X, [0.0, 0.5], rng), X).fit()
    for method in ("default", "wald"):
        limits = found.conf_int(alpha=0.0, method=method)
        assert (limits["lower"] == -np.inf).all() and (limits["upper"] == np.inf).all()


@pytest.mark.parametrize("names", [("north", "south", "z"), ("constant", "south", "z")])
def test_groups_compared_where_dummies_are_the_constant(names):
    rng = np.random.default_rng(7)
    n = 1200
    first = np.ones(n) if names[0] == "constant" else (rng.random(n) < 0.5).astype(float)
    south = 1.0 - first if names[0] == "north" else (rng.random(n) < 0.5).astype(float)
    X = pd.DataFrame(np.column_stack([first, south, rng.normal(size=n)]), columns=list(names))
    yes = rng.random(n) < 0.4
    answers = np.where(yes, "yes", "no")
    direct = ldp.Observed(NO_YES).privatize(answers[:600], rng)
    masked = ldp.KRR(NO_YES, 2.0).privatize(answers[600:], rng)
    found = ldp.PrivatizedLogit([direct, masked], X).fit()
    assert found.question_test("constant").df == 1
    assert found.question_test("all").df == 3


def test_rows_that_stand_for_nobody():
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"const": 1.0, "z": rng.normal(size=400)})
    reports = logistic(X, [0.0, 0.5], rng)
    times = rng.integers(0, 3, 400)
    rows = np.repeat(np.arange(400), times)
    for how in ({"cov_type": "HC0"}, {"cov_type": "cluster"}, {"method": "corrected"}):
        one, each = dict(how), dict(how)
        if "cluster" in how.values():
            one["cov_kwds"] = {"groups": np.arange(400) % 20}
            each["cov_kwds"] = {"groups": rows % 20}
        found = ldp.PrivatizedLogit(reports, X, freq_weights=times).fit(**one)
        expected = ldp.PrivatizedLogit(reports[rows], X.iloc[rows]).fit(**each)
        assert found.bse.to_numpy() == pytest.approx(expected.bse.to_numpy(), rel=1e-8)
    with pytest.raises(NotIdentified, match="first"):
        first = (np.arange(400) == 0).astype(float)
        ldp.PrivatizedLogit(reports, X.assign(first=first), freq_weights=1 - first)
