"""The posterior of frequencies and parameters: quadrature, gradients, modes, calibration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.parameters.designs import cheating, protective
from scipy.stats import beta as beta_law
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats.inference.chains import ess_mean
from ldpstats.models.parameters import DeviceGroups
from ldpstats.models.posterior.densities import ParametersDensity
from ldpstats.priors import Beta, Dirichlet

A, B = cheating(0.25), cheating(0.6)
MODEL = ldp.FrequencyModel([A.counts([84, 36]), B.counts([56, 64])])


def by_quadrature(a: float, b: float, alpha: float) -> dict[str, float]:
    """Posterior means and second moments of "yes" and cheating, on a grid of midpoints."""
    at = (np.arange(400) + 0.5) / 400
    p, c = np.meshgrid(at, at, indexing="ij")
    log = (alpha - 1) * (np.log(p) + np.log1p(-p)) + beta_law.logpdf(c, a, b)
    for q, (no, yes) in ((0.25, (84, 36)), (0.6, (56, 64))):
        law = (1 - c) * (p + (1 - p) * q)
        log = log + yes * np.log(law) + no * np.log1p(-law)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    found = {"yes": p, "cheating": c}
    return {
        f"{name}^{i}": float((weight * v**i).sum()) for name, v in found.items() for i in (1, 2)
    }


def test_moments_are_those_of_quadrature() -> None:
    a, b, alpha = 2.0, 18.0, 0.5
    given = {"cheating": Beta(a, b), "frequencies": Dirichlet(alpha)}
    results = MODEL.fit_posterior(np.random.default_rng(1), given, draws=2000)
    true = by_quadrature(a, b, alpha)
    place = {"yes": 1, "cheating": 2}
    for name, j in place.items():
        for power in (1, 2):
            values = results.samples[:, :, j] ** power
            error = values.std() / np.sqrt(float(ess_mean(values[:, :, None])[0]))
            assert abs(values.mean() - true[f"{name}^{power}"]) < 4 * error


@pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws
def test_a_flat_prior_has_its_mode_at_the_estimate() -> None:
    posterior = MODEL.fit_posterior(np.random.default_rng(1), draws=160)
    np.testing.assert_allclose(posterior.mode, MODEL.fit().params, atol=1e-9)
    assert posterior.simplex.tolist() == [0, 0, -1]
    again = MODEL.fit_posterior(np.random.default_rng(1), draws=160)
    assert np.array_equal(again.samples, posterior.samples)
    stored = ldp.PosteriorResults.from_json(posterior.to_json())
    pd.testing.assert_series_equal(stored.params, posterior.params)


@pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws
def test_a_mode_counts_the_prior_as_answers() -> None:
    given = {"cheating": Beta(3, 9), "frequencies": Dirichlet(2.0)}
    mode = MODEL.fit_posterior(np.random.default_rng(1), given, draws=160).mode

    def density(p: Any, c: Any) -> Any:
        log = np.log(p) + np.log1p(-p) + beta_law.logpdf(c, 3, 9)
        for q, (no, yes) in ((0.25, (84, 36)), (0.6, (56, 64))):
            law = (1 - c) * (p + (1 - p) * q)
            log = log + yes * np.log(law) + no * np.log1p(-law)
        return log

    near = density(mode["yes"], mode["cheating"])
    for step in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3), (1e-3, 1e-3), (-1e-3, 1e-3)):
        assert density(mode["yes"] + step[0], mode["cheating"] + step[1]) < near


def test_gradients_are_differences() -> None:
    rng = np.random.default_rng(0)
    first, second = protective(1, 1, 1), protective(1, 3, 2)
    groups = DeviceGroups((first.counts([50, 18, 12]), second.counts([33, 29, 18])))
    prior = Dirichlet([0.5, 1.0, 3.0]).law(first.categories)
    own = np.array([2.0]), np.array([5.0])
    density = ParametersDensity(groups.law, groups.reports, prior, *own)
    z = rng.normal(size=(1, 3))
    gradient = density.evaluate(z)[1][0]
    steps = 1e-6 * np.eye(3)
    slopes = (density.evaluate(z + steps)[0] - density.evaluate(z - steps)[0]) / 2e-6
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)
    at = density.mode()
    assert np.abs(density.evaluate(at[None])[1]).max() < 1e-4
    assert np.linalg.eigvalsh(density.curvature(at)).min() > 0.0
    x = density.constrained(z)
    assert x.shape == (1, 4) and x[0, :3].sum() == pytest.approx(1.0)


def test_one_group_needs_a_prior_of_what_it_leaves_open() -> None:
    alone = ldp.FrequencyModel(A.counts([84, 36]))
    with pytest.raises(ldp.NotIdentified, match=r"prior=\{'cheating': Beta"):
        alone.fit_posterior(np.random.default_rng(1))
    with pytest.raises(ldp.NotIdentified):
        alone.fit_posterior(np.random.default_rng(1), Dirichlet(2.0))
    found = alone.fit_posterior(np.random.default_rng(1), {"cheating": Beta(200, 1800)}, draws=1600)
    assert found.params["cheating"] == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize(
    "prior",
    [3, "flat", Beta(1, 1), [1, 1], {"cheatin": Beta(1, 1)}, {"cheating": 0.1}, {"cheating": None},
     {"frequencies": Beta(1, 1)}, {"frequencies": Dirichlet([1, 2, 3])}, {1: Beta(1, 1)}],
)  # fmt: skip
def test_priors_of_another_kind_are_refused(prior: Any) -> None:
    with pytest.raises(ldp.InvalidArgument):
        MODEL.fit_posterior(np.random.default_rng(1), prior, draws=160)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, None, "1", True, 1e10, [1]])
def test_a_beta_prior_checks_itself(value: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="a="):
        Beta(value, 1.0)
    with pytest.raises(ldp.InvalidArgument, match="b="):
        Beta(1.0, value)


@pytest.mark.slow
def test_posteriors_are_calibrated(replications: Callable[..., int]) -> None:
    """Ranks of the truth among draws, for truths from the prior: flat but for luck."""
    R = replications(400, 48)
    rng = np.random.default_rng(8)
    ranks: dict[str, list[float]] = {"yes": [], "cheating": []}
    for _ in range(R):
        truth = {"yes": rng.uniform(), "cheating": rng.beta(2, 5)}
        p = np.array([1 - truth["yes"], truth["yes"]])
        laws = [p @ m.matrix_at(cheating=truth["cheating"]) for m in (A, B)]
        pairs = zip((A, B), laws, strict=True)
        groups = [m.counts(rng.multinomial(150, law / law.sum())) for m, law in pairs]
        model = ldp.FrequencyModel(groups)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.PosteriorWarning)  # few draws
            found = model.fit_posterior(rng, {"cheating": Beta(2, 5)}, draws=160)
        for name, own in ranks.items():
            draws = found.draws[name].to_numpy()
            own.append(float((draws < truth[name]).mean()))
    for own in ranks.values():
        seen = np.histogram(own, bins=8, range=(0, 1))[0]
        assert chi2.sf(np.sum((seen - R / 8) ** 2 / (R / 8)), 7) > 1e-4
    shifted = np.histogram(np.clip(np.array(ranks["cheating"]) + 0.5, 0, 1), 8, (0, 1))[0]
    assert chi2.sf(np.sum((shifted - R / 8) ** 2 / (R / 8)), 7) < 1e-4  # a control
