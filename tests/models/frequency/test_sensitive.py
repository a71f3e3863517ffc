"""Frequencies of sensitive answers: estimates, intervals and tests are those of the matrix."""

from typing import Any

import numpy as np
import pytest
from grid import distribution, expected_counts, report_codes
from shared.sensitive_surveys import JOBS, MECHANISMS, dense, each, survey

import ldpstats as ldp
from ldpstats.estimators import MLE

# -- estimates, intervals and tests --------------------------------------------------------------


@each
def test_likelihood_fits_are_those_of_the_matrix(mechanism):
    reports = survey(mechanism, 800, seed=6)
    one, two = ldp.FrequencyModel(reports), ldp.FrequencyModel(dense(reports))
    for name in (MLE(tol=1e-12), "em", "cvxpy"):
        a, b = one.fit(name), two.fit(name)
        np.testing.assert_allclose(a.params, b.params, atol=1e-3 if name == "em" else 1e-6)
    a, b = one.fit(), two.fit()
    assert a.llf == pytest.approx(b.llf, abs=2e-3)
    p = distribution(5)
    information = [m.likelihood().information(p) for m in (one, two)]
    np.testing.assert_allclose(information[0], information[1], rtol=1e-9)


@each
def test_standard_errors_are_those_of_the_matrix(mechanism):
    # expected information for URR as for the matrix; observed information for URAP: at n = 1e5
    # they differ by about a hundredth
    reports = survey(mechanism, 100_000, seed=7)
    a, b = (ldp.FrequencyModel(r).fit() for r in (reports, dense(reports)))
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6 if mechanism.n_outputs else 0.03)
    np.testing.assert_allclose(a.bse, np.sqrt(np.diag(a.cov_params())), rtol=1e-12)


def interior(mechanism: Any) -> ldp.FrequencyModel:
    model = ldp.FrequencyModel(survey(mechanism, 4000, seed=8, p=np.full(5, 0.2)))
    assert not model.fit().on_boundary
    return model


@each
def test_profile_intervals_are_those_of_the_matrix(mechanism):
    model = interior(mechanism)
    reports = survey(mechanism, 4000, seed=8, p=np.full(5, 0.2))
    other = ldp.FrequencyModel(dense(reports))
    a = model.fit().conf_int(method="profile", model=model)
    b = other.fit().conf_int(method="profile", model=other)
    np.testing.assert_allclose(a, b, atol=2e-3)  # of intervals 0.03 wide at least


@each
def test_presence_is_detected(mechanism):
    p = np.array([0.4, 0.6, 0.0, 0.0, 0.0])
    model = ldp.FrequencyModel(survey(mechanism, 20_000, seed=9, p=p))
    results = model.fit()
    assert set(results.detected()) >= {"nurse", "teacher"}
    assert {"driver", "clerk"}.isdisjoint(results.detected()), "never reported"
    limits = results.conf_int()
    assert limits.lower["driver"] == 0.0 < limits.upper["driver"] < 0.01
    assert np.all(np.abs(results.linear_params - p) <= 5 * results.linear_bse)


def test_thresholded_estimate_of_what_cannot_be_noise_is_kept():
    # one report of a category that is not sensitive proves that it is there
    urr = MECHANISMS["urr"]
    results = ldp.FrequencyModel(urr.counts([500, 499, 0, 480, 1])).fit("thresholded")
    assert results.params["clerk"] > 0.0 and results.params["driver"] == 0.0
    assert results.params.sum() == pytest.approx(1.0)


NEVER = np.array([0.4, 0.3, 0.0, 0.3, 0.0])  # nobody is a driver or a clerk


@pytest.mark.parametrize(("a", "b"), [("urr", "urr"), ("urr", "urr-levels"), ("urap", "urr")])
def test_what_nobody_reports_does_not_stop_a_test(a, b):
    one, two = (survey(MECHANISMS[m], 3000, i, NEVER) for i, m in enumerate((a, b)))
    for method in ("default", "wald"):
        assert ldp.two_sample_test(one, two, method=method).pvalue > 1e-4
    for data in (one, two, [one, two]):
        model = ldp.FrequencyModel(data)
        assert model.test_distribution(NEVER).pvalue > 1e-4
        # p0 rules out what was reported
        wrong = np.array([0.4, 0.0, 0.3, 0.3, 0.0])
        assert model.test_distribution(wrong).pvalue < 1e-12
        assert model.fit().goodness_of_fit.pvalue > 1e-4


def test_what_nobody_reports_has_an_interval_in_several_sources():
    groups = [survey(MECHANISMS[m], 500, 40, NEVER) for m in ("urr", "urap")]
    results = ldp.FrequencyModel(groups).fit()
    limits = results.conf_int()
    # 3 / (n P(revealed)), the rule of three, up to the choice of tails
    revealed = 500 * (groups[0].mechanism.channel().a + groups[1].mechanism.told)
    assert np.all(limits.upper[["driver", "clerk"]] > 2.9 / revealed)
    assert np.all(limits.upper[["driver", "clerk"]] < 4.5 / revealed)
    assert {"driver", "clerk"}.isdisjoint(results.detected())


# -- one likelihood over both sources ------------------------------------------------------------

KRR, KRAPPOR = ldp.KRR(JOBS, epsilon=0.8), ldp.KRAPPOR(JOBS, epsilon=0.8)
SOURCES = {
    "urr-krr": (MECHANISMS["urr"], KRR),
    "urap-krappor": (MECHANISMS["urap"], KRAPPOR),
    "urr-urap": (MECHANISMS["urr-levels"], MECHANISMS["urap"]),
    "urr-urr-krr": (MECHANISMS["urr"], MECHANISMS["urr-levels"], KRR),
    "none-krappor": (ldp.URAP(JOBS, (), 1.0), KRAPPOR),
}


@pytest.mark.parametrize("mechanisms", SOURCES.values(), ids=SOURCES.keys())
def test_several_sources_have_one_likelihood(mechanisms):
    p = distribution(5)
    exact = ldp.FrequencyModel([expected_counts(m, p, 1e12) for m in mechanisms])
    for name in ("inversion", "projected", "nnls", "mle"):
        np.testing.assert_allclose(exact.fit(name).params, p, atol=1e-5)
    groups = [survey(m, 400, seed=20 + i) for i, m in enumerate(mechanisms)]
    one, two = ldp.FrequencyModel(groups), ldp.FrequencyModel([dense(r) for r in groups])
    a, b = (model.fit(MLE(tol=1e-12)) for model in (one, two))
    np.testing.assert_allclose(a.params, b.params, atol=1e-6)
    # and by hand, from the stacked matrix
    W = np.vstack([m.channel().matrix().T for m in mechanisms])
    n = np.concatenate(
        [
            np.bincount(report_codes(r), minlength=m.channel().matrix().shape[1])
            for r, m in zip(groups, mechanisms, strict=True)
        ]
    )
    W, n = W[n > 0], n[n > 0]
    assert (W.T @ (n / (W @ a.params.to_numpy()))).max() / n.sum() - 1 <= 1e-11
    assert one.fit().goodness_of_fit.pvalue > 1e-3


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_bootstrap_intervals_lie_where_the_estimate_is(kind):
    """The surveys are simulated from a law that keeps what is known nearly exactly."""
    mechanism = kind(tuple("abcde"), {"b", "d"}, 1.0)
    p = np.array([0.5, 0.2, 0.25, 0.05, 0.0])
    counts = mechanism.draw(p, 800, np.random.default_rng(6))
    model = ldp.FrequencyModel(counts)
    results = model.fit("inversion")
    rng = np.random.default_rng(0)
    with pytest.warns(ldp.BoundaryWarning):
        bounds = results.conf_int(method="bootstrap", model=model, rng=rng, n_boot=199)
    default = results.conf_int()
    told = ["a", "c", "e"]  # those that are not sensitive
    assert (bounds.loc[told, "lower"] <= results.params[told] + 1e-12).all()
    assert (results.params[told] <= bounds.loc[told, "upper"] + 1e-12).all()
    assert np.abs(bounds.loc[told] - default.loc[told]).to_numpy().max() < 0.03
