"""Regressions whose devices have unknown parameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import simulate
from models.regression.device_surveys import detection, logistic, survey

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable, NotIdentified
from ldpstats.inference.regression.bounded_profiles import drop_at
from ldpstats.problems.regression.likelihood import Seen


def test_without_covariates_it_is_the_frequency_model():
    reports, X = survey(1)
    found = ldp.PrivatizedLogit(reports, X[["const"]]).fit()
    plain = ldp.FrequencyModel(reports).fit()
    share = logistic(found.params["const"])
    assert share == pytest.approx(plain.params["yes"], abs=1e-7)
    assert found.params["cheating"] == pytest.approx(plain.params["cheating"], abs=1e-7)
    assert found.llf == pytest.approx(plain.llf, abs=1e-7)
    assert found.bse["const"] * share * (1.0 - share) == pytest.approx(plain.bse["yes"], rel=1e-4)
    ends, other = found.conf_int(), plain.conf_int()
    np.testing.assert_allclose(ends.loc["cheating"], other.loc["cheating"], atol=1e-4)
    np.testing.assert_allclose(logistic(ends.loc["const"]), other.loc["yes"], atol=1e-4)


def test_three_categories_are_those_of_the_frequency_model_too():
    rng = np.random.default_rng(2)
    colors = ("red", "green", "blue")
    devices = [detection(q, colors) for q in (0.2, 0.6)]
    answers = rng.choice(colors, p=[0.5, 0.3, 0.2], size=(2, 800))
    reports = [d.simulate(a, rng, cheating=0.2) for d, a in zip(devices, answers, strict=True)]
    X = pd.DataFrame({"const": np.ones(1600)})
    found = ldp.PrivatizedMNLogit(reports, X).fit()
    plain = ldp.FrequencyModel(reports).fit()
    weight = np.exp(np.append(0.0, found.coefficients))
    np.testing.assert_allclose(weight / weight.sum(), plain.frequencies, atol=1e-6)
    assert list(found.index) == ["green: const", "blue: const", "cheating"]
    ordered = ldp.PrivatizedOrderedModel(reports, pd.DataFrame({"x": np.tile([-1.0, 1.0], 800)}))
    assert list(ordered.fit().index) == ["x", "red/green", "green/blue", "cheating"]


@pytest.mark.parametrize("kind", ["logit", "probit", "multinomial", "ordered"])
def test_scores_hessians_and_expected_information(kind):
    rng = np.random.default_rng(3)
    labels = ("a", "b", "c") if kind in ("multinomial", "ordered") else ("a", "b")
    devices = [detection(0.25, labels), detection(0.6, labels)]
    answers = rng.choice(labels, size=(2, 100))
    reports = {
        "y": [d.simulate(a, rng, cheating=0.2) for d, a in zip(devices, answers, strict=True)]
    }
    table = pd.DataFrame({"age": rng.integers(0, 4, 200)})
    found = ldp.regression("y ~ age", table, reports, model=kind).fit()
    likelihood, x = found.likelihood, found.top.x.copy()
    x[-1] = 0.2
    step = 1e-6 * np.eye(x.size)
    value, score, hessian = likelihood.evaluate(x)
    assert value == pytest.approx(likelihood.value(x))
    numeric = [(likelihood.value(x + e) - likelihood.value(x - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(score, numeric, rtol=1e-5, atol=1e-5)
    bent = [(likelihood.evaluate(x + e)[1] - likelihood.evaluate(x - e)[1]) / 2e-6 for e in step]
    np.testing.assert_allclose(hessian, bent, rtol=1e-5, atol=1e-4)
    # the information is the mean of what squared scores are, over all reports of each row
    total = np.zeros(hessian.shape)
    table = found.at_estimate.seen.table
    for g, device in enumerate(devices):
        for y in range(len(device.outputs)):
            for i in np.flatnonzero(likelihood.group == g):
                column = np.array([y + g * len(labels)])
                some = likelihood.base.take([i], np.ones(1))
                some = dataclasses.replace(some, seen=Seen(table, column))
                p, s, _ = dataclasses.replace(likelihood, base=some).evaluate(x)
                total += likelihood.base.weights[i] * np.exp(p) * np.outer(s, s)
    several = np.array([x, x + 0.01])
    values, scores = likelihood.scores_at(several)
    np.testing.assert_allclose(values, [likelihood.value(one) for one in several])
    np.testing.assert_allclose(scores, [likelihood.evaluate(one)[1] for one in several], atol=1e-9)
    np.testing.assert_allclose(likelihood.expected(x), total, rtol=1e-8, atol=1e-8)


def test_intervals_end_where_the_profile_has_fallen():
    reports, X = survey(4)
    found = ldp.PrivatizedLogit(reports, X).fit()
    ends = found.conf_int()
    for j, name in enumerate(found.index):
        for value in ends.loc[name]:
            fall = drop_at(found.likelihood, found.top, found.units, j, value)
            assert fall == pytest.approx(1.9207, abs=1e-3)
    assert np.all(ends["lower"] < found.params) and np.all(found.params < ends["upper"])
    wald = found.conf_int(method="wald")
    np.testing.assert_allclose(ends, wald, atol=0.2)
    assert found.pvalues["age"] < 1e-6
    assert found.t_test("age = 0").pvalue < 1e-6
    np.testing.assert_allclose(found.information(), -found.top.hessian, rtol=0.3, atol=60.0)
    text = " ".join(str(found.summary()).split())
    assert "cheating" in text and "profiles of the likelihood" in text


def test_an_estimate_on_the_boundary():
    found = next(
        fit
        for seed in range(20)
        if (fit := ldp.PrivatizedLogit(*survey(seed, 400, cheating=0.0)).fit()).on_boundary
    )
    assert found.params["cheating"] == 0.0 and found.converged
    assert np.isnan(found.bse["cheating"]) and np.isfinite(found.bse["age"])
    lower, upper = found.conf_int().loc["cheating"]
    assert lower == 0.0 and 0.0 < upper < 0.5
    assert found.pvalues["cheating"] == 1.0
    assert "boundary" in str(found.summary())


def test_what_devices_leave_open_is_refused_by_name():
    reports, X = survey(5)
    one = reports[0]
    with pytest.raises(NotIdentified, match="const and cheating"):
        ldp.PrivatizedLogit(one, X.iloc[: len(one)][["const"]]).fit()
    # a covariate identifies them by the shape of the logit alone
    with pytest.warns(LDPWarning, match="only the shape of the regression"):
        ldp.PrivatizedLogit(one, X.iloc[: len(one)]).fit()
    # a third group that is asked directly determines everything
    direct = ldp.Observed(("no", "yes")).parse("ill", ["no", "yes"] * 50)
    more = pd.concat([X.iloc[: len(one)], X.iloc[:100]], ignore_index=True)
    found = ldp.PrivatizedLogit([one, direct], more[["const"]]).fit()
    assert list(found.index) == ["const", "cheating"]


def test_what_has_no_likelihood_with_unknown_parameters_is_refused():
    reports, X = survey(6, 200)
    model = ldp.PrivatizedLogit(reports, X)
    for asked in ({"method": "em"}, {"penalty": "jeffreys"}, {"cov_type": "HC0"}):
        with pytest.raises(NotAvailable, match=next(iter(asked))):
            model.fit(**asked)
    with pytest.raises(NotAvailable, match="weights"):
        ldp.PrivatizedLogit(reports, X, weights=np.ones(200)).fit()
    table = pd.DataFrame({"ill": [0, 1] * 100, "age": X["age"]})
    with pytest.raises(NotAvailable, match="smokes"):
        ldp.regression("ill ~ age + smokes", table, {"smokes": reports})
    found = model.fit()
    for asked in ({"alpha": 2.0}, {"alpha": "x"}, {"method": "bootstrap"}):
        with pytest.raises(InvalidArgument):
            found.conf_int(**asked)
    with pytest.raises(NotAvailable, match="unknown cheating"):
        ldp.PrivatizedOLS(reports, X)


def test_respondents_of_a_row_count():
    reports, X = survey(7, 400)
    once = ldp.PrivatizedLogit([*reports, *reports], pd.concat([X, X], ignore_index=True)).fit()
    twice = ldp.PrivatizedLogit(reports, X, freq_weights=np.full(400, 2)).fit()
    np.testing.assert_allclose(once.params, twice.params, atol=1e-7)
    np.testing.assert_allclose(once.bse, twice.bse, rtol=1e-5)
    assert twice.nobs == 800


@pytest.mark.slow
def test_intervals_cover(replications):
    R = replications(1000, 20)  # a second each; more are stored, by `unknown_regressions`
    truth_ = np.array([-0.5, 0.8, 0.15])

    def one(r):
        found = ldp.PrivatizedLogit(*survey([r, 3])).fit()
        # the control takes nobody to cheat
        honest = [
            ldp.Reports(one.y, one.mechanism.at(cheating=0), one.n_missing)
            for one in survey([r, 3])[0]
        ]
        naive = ldp.PrivatizedLogit(honest, survey([r, 3])[1]).fit().conf_int(method="wald")
        return {"profile": found.conf_int(), "naive": naive}

    said = simulate.repeat(R, one)
    assert simulate.near(simulate.coverage(said["profile"], truth_), 0.95, R)
    assert not simulate.near(simulate.coverage(said["naive"], truth_[:2]), 0.95, R)
