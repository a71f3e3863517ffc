"""What results of a posterior say, at the edges too."""

import json
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.inference.chains import Chains
from ldpstats.models.posterior.evidence import bayes_factor
from ldpstats.models.posterior.results import (
    POSITIVE,
    REAL,
    Origin,
    PosteriorResults,
    Run,
    contrast_range,
    highest_density,
)

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


JOBS = ("nurse", "cook", "driver")


def made(samples: Any, labels: Any, simplex: int = 0, **how: Any) -> PosteriorResults:
    """Results of draws (c, n, m) that a test chooses."""
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels)
    origin = Origin(100, 0, 1.0, ("KRR(k=3, epsilon=1)",), "Dirichlet(1.0)")
    groups = np.full(len(index), simplex)
    return PosteriorResults(samples, index, origin, Run("hmc", 0.8, 0, 1.0, 150), groups, **how)


def dirichlet(alpha: Any, labels: Any = JOBS, n: int = 1000) -> PosteriorResults:
    """Independent draws from a Dirichlet posterior under a flat prior."""
    rng, k = np.random.default_rng(1), len(alpha)
    samples = rng.dirichlet(alpha, (4, n))
    prior = rng.dirichlet(np.ones(k), 4 * n)
    return made(samples, labels, prior_draws=prior, concentration=np.ones(k))


@pytest.fixture(scope="module")
def fitted():
    counts = ldp.KRR(JOBS, epsilon=1.0).counts([420, 330, 250])
    model = ldp.FrequencyModel(counts, name="job")
    return model.fit_posterior(np.random.default_rng(1))


def test_means_deviations_and_intervals_are_those_of_the_draws(fitted):
    draws = fitted.draws
    assert draws.index.names == ["chain", "draw"] and len(draws) == 4000
    np.testing.assert_allclose(fitted.params, draws.mean())
    np.testing.assert_allclose(fitted.bse, draws.std())
    ends = fitted.conf_int(alpha=0.1)
    np.testing.assert_allclose(ends["lower"], draws.quantile(0.05))
    inside = (draws > ends["lower"]) & (draws < ends["upper"])
    np.testing.assert_allclose(inside.mean(), 0.9, atol=1e-3)
    assert fitted.rhat.max() < 1.01 and fitted.ess.min().min() > 400


def test_the_highest_density_interval_is_the_shortest():
    x = np.random.default_rng(1).exponential(size=(20_000, 1))
    low, high = highest_density(x, 0.1)[0]
    assert low == pytest.approx(0.0, abs=0.01) and high == pytest.approx(-np.log(0.1), abs=0.08)
    results = dirichlet([1.0, 10.0, 10.0])
    short = results.conf_int(method="hdi")
    widths = short["upper"] - short["lower"]
    equal = results.conf_int()
    assert (widths <= equal["upper"] - equal["lower"] + 1e-12).all()
    assert short.loc["nurse", "lower"] < 0.01


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("nurse > cook", lambda p: p[:, 0] > p[:, 1]),
        ("nurse < cook", lambda p: p[:, 0] < p[:, 1]),
        ("nurse >= .3", lambda p: p[:, 0] > 0.3),
        (".3 < nurse", lambda p: p[:, 0] > 0.3),
        ("nurse + cook > driver", lambda p: p[:, 0] + p[:, 1] > p[:, 2]),
        ("nurse > cook > driver", lambda p: (p[:, 0] > p[:, 1]) & (p[:, 1] > p[:, 2])),
        (".2 < nurse < .4", lambda p: (p[:, 0] > 0.2) & (p[:, 0] < 0.4)),
        ("nurse > cook, nurse > driver", lambda p: p[:, 0] >= p.max(axis=1)),
        ("2 * nurse > cook + .1", lambda p: 2 * p[:, 0] > p[:, 1] + 0.1),
        ("p[nurse] > p[cook]", lambda p: p[:, 0] > p[:, 1]),
    ],
)
def test_probabilities_are_shares_of_the_draws(claim, holds):
    results = dirichlet([3.0, 3.0, 2.0])
    assert results.prob(claim) == holds(results.flat).mean()


def test_labels_with_signs_numbers_and_several_variables():
    signs = dirichlet([3.0, 3.0, 2.0], ["<20", "20-40", ">=40"])
    assert signs.prob("p[<20] > p[>=40]") == (signs.flat[:, 0] > signs.flat[:, 2]).mean()
    numbered = dirichlet([3.0, 3.0, 2.0], pd.RangeIndex(3))
    assert numbered.prob("p[0] > p[2]") == (numbered.flat[:, 0] > numbered.flat[:, 2]).mean()
    cells = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")], names=["u", "v"])
    table = dirichlet([3.0, 3.0, 2.0], cells)
    assert table.prob("p[a:x] > p[b:x]") == (table.flat[:, 0] > table.flat[:, 2]).mean()
    assert table.params.index.equals(cells)


def test_claims_that_read_in_two_ways_are_refused():
    """Labels that look like claims about other labels."""
    pairs = dirichlet([3.0, 3.0, 2.0, 1.0], ["a", "b", "c", "b,b"])
    with pytest.raises(InvalidArgument, match=r"ambiguous: 'b,b'"):
        pairs.prob("a > b,b > c")
    p = pairs.flat
    assert pairs.prob("p[a] > p[b,b] > p[c]") == ((p[:, 0] > p[:, 3]) & (p[:, 3] > p[:, 2])).mean()
    assert pairs.prob("p[a] > p[b], p[b] > p[c]") == pairs.prob("a > b > c")
    signs = dirichlet([3.0, 3.0, 2.0], ["x", "y", "x>y"])
    with pytest.raises(InvalidArgument, match=r"ambiguous: 'x>y'.*p\[\.\.\.\]"):
        signs.prob("x>y > .2")
    assert signs.prob("p[x>y] > .2") == (signs.flat[:, 2] > 0.2).mean()


@pytest.mark.parametrize(
    "bad",
    ["", " ", None, 3, "nurse", "nurse = cook", "nurse > ", "> .3", "nurse > baker", "nurse >> .3",
     "nurse > .3,", b"nurse > .3", "nurse > cook = .2", ["nurse > .3"]],
)  # fmt: skip
def test_claims_that_are_none_are_refused(bad):
    with pytest.raises(InvalidArgument, match="claim"):
        dirichlet([3.0, 3.0, 2.0]).prob(bad)


def test_a_bayes_factor_is_the_ratio_of_densities():
    """Known Dirichlet laws: to 4 Monte Carlo standard errors and 3 % of smoothing."""
    results = dirichlet([20.0, 12.0, 9.0], n=5000)
    cases = {
        "nurse = .5": stats.beta(20, 21).pdf(0.5) / stats.beta(1, 2).pdf(0.5),
        "nurse + cook = .7": stats.beta(32, 9).pdf(0.7) / stats.beta(2, 1).pdf(0.7),
    }
    for null, exact in cases.items():
        found = results.bayes_factor(null)
        assert abs(np.log(found.value / exact)) < 4.0 * found.error + 0.03, null
        assert float(found) == found.value == 1.0 / found.against
    # a flat law of three: the difference of two frequencies has density 1 - |d|
    x = results.bayes_factor("cook = driver")
    law = np.random.default_rng(2).dirichlet([20.0, 12.0, 9.0], 400_000)
    density = (np.abs(law[:, 1] - law[:, 2]) < 0.005).mean() / 0.01
    assert abs(np.log(x.value / density)) < 4.0 * x.error + 0.06
    wrong = results.bayes_factor("nurse = .4").value
    assert abs(np.log(wrong / cases["nurse = .5"])) > 0.3  # another null has another factor


def test_a_null_beyond_the_draws_says_so():
    found = dirichlet([200.0, 120.0, 90.0]).bayes_factor("nurse = .1")
    assert found.value < 1e-6 and np.isnan(found.error) and "beyond" in str(found)


def test_the_density_beyond_the_draws_has_the_shape_of_a_share():
    """A normal law of log ratios is wrong there: by 110 orders of magnitude, and in its sign."""
    for alpha, value in (([1.0, 401.0], 0.5), ([4.0, 1.0], 0.9999)):
        found = dirichlet(alpha, ["a", "b"]).bayes_factor(f"a = {value}")
        exact = stats.beta(*alpha).logpdf(value)  # under a flat prior
        assert np.isnan(found.error)
        assert np.log(found.value) == pytest.approx(exact, rel=0.1, abs=0.1)


def test_real_parameters_have_bayes_factors_too():
    rng = np.random.default_rng(1)
    samples = rng.normal(1.0, 0.5, (4, 4000, 1))
    results = made(samples, ["age"], simplex=REAL, prior_draws=rng.normal(0.0, 2.0, (16_000, 1)))
    exact = stats.norm(1.0, 0.5).pdf(0.0) / stats.norm(0.0, 2.0).pdf(0.0)
    found = results.bayes_factor("age = 0")
    assert abs(np.log(found.value / exact)) < 4.0 * found.error + 0.05


@pytest.mark.parametrize(
    "bad", ["nurse > .3", "nurse = 0", "nurse = 1.2", "nurse = .1, cook = .2", "", None, "x = .1",
            "nurse + cook + driver = 1"],
)  # fmt: skip
def test_nulls_that_are_none_are_refused(bad):
    with pytest.raises(InvalidArgument, match="hypothesis"):
        dirichlet([3.0, 3.0, 2.0]).bayes_factor(bad)


def test_what_was_not_computed_is_refused_by_name():
    bare = made(dirichlet([3.0, 3.0, 2.0]).samples, JOBS)
    with pytest.raises(NotAvailable, match="mode"):
        _ = bare.mode
    with pytest.raises(NotAvailable, match="predictive"):
        _ = bare.check
    with pytest.raises(NotAvailable, match="prior"):
        bare.bayes_factor("nurse = .25")


def test_details_say_how_the_chains_ran(fitted):
    assert "Step size" in str(fitted.summary(details=True))
    assert "Step size" not in str(fitted.summary())


def test_json_gives_back_every_draw(fitted):
    text = fitted.to_json()
    again = PosteriorResults.from_json(text)
    assert again.to_json() == text and str(again.summary()) == str(fitted.summary())
    np.testing.assert_array_equal(again.samples, fitted.samples)
    assert again.mode.equals(fitted.mode) and again.check == fitted.check
    found = [r.bayes_factor("nurse = .5").value for r in (fitted, again)]
    assert found[0] == found[1]
    cells = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["u", "v"])
    table = dirichlet([3.0, 3.0, 2.0], cells)
    assert PosteriorResults.from_json(table.to_json()).index.equals(cells)
    document = json.loads(text)
    for field in ("samples", "index", "origin", "run", "simplex"):
        with pytest.raises(InvalidArgument):
            PosteriorResults.from_dict({**document, field: "damaged"})


def test_the_plot_has_a_line_for_each(fitted):
    axes = fitted.plot(title="Jobs", most=2)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["nurse", "cook", "and 1 more"] and axes.get_title() == "Jobs"


def test_bad_chains_are_warned_of():
    class Same:
        size = 2

        def constrained(self, z: Any) -> Any:
            return z

    z = np.random.default_rng(1).normal(size=(16, 250, 2))
    z[0] += 3.0
    origin = Origin(1, 0, 1.0, ("x",))
    doubts = {"R-hat": Chains(z, 0.8, 0, 1.0, 0), "diverged": Chains(z, 0.8, 7, 1.0, 0)}
    for words, chains in doubts.items():
        with pytest.warns(PosteriorWarning, match=words):
            results = PosteriorResults.of(chains, Same(), pd.Index(["a", "b"]), origin)
        assert "WARNING: chains do not agree" in str(results.summary())


def test_a_null_beyond_all_numbers_is_not_supported():
    """Both densities are zero in this arithmetic, but not their logarithms."""
    rng = np.random.default_rng(1)
    posterior, prior = rng.normal(0.0, 0.1, (4, 500)), rng.normal(size=500)
    found = bayes_factor("x = 1e6", posterior, prior, 1e6, (-float("inf"), float("inf")))
    assert found.value == 0.0 and found.note


def test_a_standard_deviation_is_above_zero():
    krr = ldp.KRR(("no", "yes"), 1.0)
    counts = {str(g): krr.counts([60, 40 + 10 * g]) for g in range(3)}
    found = ldp.GroupedModel(counts).fit_posterior(np.random.default_rng(1), draws=1600)
    with pytest.raises(InvalidArgument, match=r"inside \(0, inf\)"):
        found.between.bayes_factor("sd = 0")
    read = type(found.between).from_json(found.between.to_json())
    assert read.bayes_factor("sd = .5").value == found.between.bayes_factor("sd = .5").value
    R, simplex = np.array([-2.0, 0.0]), np.array([POSITIVE, REAL])
    assert contrast_range(R, simplex) == (-float("inf"), 0.0)
    assert contrast_range(np.ones(2), simplex) == (-float("inf"), float("inf"))


@pytest.mark.parametrize("at", [0.05, 0.5, 1.5])
def test_densities_above_zero_are_those_of_their_law(at):
    """Of gamma draws: without the logarithmic scale that at .05 is too large by two thirds."""
    rng = np.random.default_rng(2)
    posterior, prior = rng.gamma(2.0, 0.5, (4, 20_000)), rng.exponential(1.0, 80_000)
    found = bayes_factor("sd", posterior, prior, at, (0.0, float("inf")))
    exact = log(4.0 * at) - at
    assert log(found.value) == pytest.approx(exact, abs=0.08)
