"""Bayes factors far out and at the end of a range, and priors with all but empty categories."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.models.posterior.evidence import bayes_factor
from ldpstats.models.posterior.ranges import POSITIVE, REAL, contrast_range

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


def test_a_null_beyond_all_numbers_is_not_supported() -> None:
    """Both densities are zero in this arithmetic, but not their logarithms."""
    rng = np.random.default_rng(1)
    posterior, prior = rng.normal(0.0, 0.1, (4, 500)), rng.normal(size=500)
    found = bayes_factor("x = 1e6", posterior, prior, 1e6, (-float("inf"), float("inf")))
    assert found.value == 0.0 and found.note


def test_a_standard_deviation_is_above_zero() -> None:
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
def test_densities_above_zero_are_those_of_their_law(at: float) -> None:
    """Of gamma draws: without the logarithmic scale that at .05 is too large by two thirds."""
    rng = np.random.default_rng(2)
    posterior, prior = rng.gamma(2.0, 0.5, (4, 20_000)), rng.exponential(1.0, 80_000)
    found = bayes_factor("sd", posterior, prior, at, (0.0, float("inf")))
    exact = log(4.0 * at) - at
    assert log(found.value) == pytest.approx(exact, abs=0.08)


def test_margins_that_are_all_but_empty_have_prior_draws() -> None:
    prior = ldp.priors.Margins(first=[0.001, 1.0])
    assert prior.draw((2, 3), np.random.default_rng(1), 200).min() >= 0.0
    late, job = ldp.KRR(("no", "yes"), 2.0), ldp.KRR(("a", "b", "c"), 2.0)
    counts = ldp.JointCounts.from_table([[40, 30, 30], [40, 40, 20]], (late, job))
    model = ldp.AssociationModel(counts, names=("late", "job"))
    found = model.fit_posterior(np.random.default_rng(1), prior, draws=160)
    assert found.margin("late").params.sum() == pytest.approx(1.0)
    assert np.isfinite(found.cramers_v().prior_draws).all()
