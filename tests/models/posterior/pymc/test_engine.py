"""engine="pymc" of fit_posterior, and results as InferenceData."""

import sys
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import NotAvailable
from ldpstats.inference.chains import sample
from ldpstats.models.posterior.densities import FrequencyDensity
from ldpstats.models.posterior.pymc import density_chains, pymc_chains
from ldpstats.priors import Dirichlet

# PyTensor says so of every installation by pip; the models here need no BLAS
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link:UserWarning")

JOBS = ("nurse", "driver", "cook")


def model() -> ldp.FrequencyModel:
    return ldp.FrequencyModel(ldp.KRR(JOBS, epsilon=1.0).counts([420, 330, 250]), name="job")


@pytest.mark.parametrize("module", ["pymc", "arviz"])
def test_what_is_absent_is_named(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    rng = np.random.default_rng(1)
    draws = model().fit_posterior(rng, draws=1600) if module == "arviz" else None
    with pytest.raises(NotAvailable, match=r"is not installed: .*'ldpstats\[bayes\]'"):
        if module == "arviz":
            draws.to_arviz()
        else:
            model().fit_posterior(np.random.default_rng(1), engine="pymc")
    if module == "pymc":
        with pytest.raises(NotAvailable, match=r"observe: PyMC is not .*'ldpstats\[bayes\]'"):
            ldp.pymc.observe("y", [0.5, 0.3, 0.2], ldp.KRR(JOBS, 1.0).counts([1, 2, 3]))


def apart(first: Any, second: Any) -> float:
    """The largest difference of two posterior means, in Monte Carlo standard errors."""
    error = [(r.bse**2 / r.ess["bulk"]) for r in (first, second)]
    return float(((first.params - second.params) / np.sqrt(error[0] + error[1])).abs().max())


@pytest.mark.bayes
@pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")
@pytest.mark.parametrize(
    ("mechanism", "prior"),
    [(ldp.KRR(10, 2.0), Dirichlet(0.5)), (ldp.SubsetSelection(12, 1.0), None)],
)
def test_both_engines_agree(mechanism, prior, pm):
    """Posterior means within 4 Monte Carlo errors, standard deviations within 12 per cent."""
    k = mechanism.k
    p = np.arange(k, 0.0, -1.0) / (k * (k + 1) / 2)
    rng = np.random.default_rng(3)
    values = rng.choice(mechanism.categories, size=3000, p=p)
    fits = ldp.FrequencyModel(mechanism.privatize(values, rng))
    own = fits.fit_posterior(np.random.default_rng(4), prior, draws=4000)
    other = fits.fit_posterior(np.random.default_rng(4), prior, draws=2000, engine="pymc")
    assert apart(own, other) < 4.0
    assert np.abs(other.bse / own.bse - 1.0).max() < 0.12
    assert other.engine == "pymc" and other.samples.shape[0] == 4 and other.rhat.max() < 1.05


@pytest.mark.bayes
def test_any_density_runs_and_a_seed_repeats_it(pm):
    """Value and gradient alone are enough; and the seed determines the draws."""
    counts = ldp.KRR(JOBS, epsilon=1.0).counts([420, 330, 250])
    likelihood = ldp.FrequencyModel(counts).likelihood()
    law = Dirichlet(2.0).law(counts.mechanism.categories)

    density = FrequencyDensity.of(likelihood, law)
    found = density.constrained(density_chains(density, np.random.default_rng(2), 2000).z)
    own = density.constrained(sample(density, np.random.default_rng(2), 4000).z)
    sd = own.std(axis=(0, 1))
    assert np.abs(found.mean(axis=(0, 1)) - own.mean(axis=(0, 1))).max() < 0.12 * sd.max()
    assert np.abs(found.std(axis=(0, 1)) / sd - 1.0).max() < 0.12
    first = pymc_chains(density, np.random.default_rng(5), 64)
    again = pymc_chains(density, np.random.default_rng(5), 64)
    other = pymc_chains(density, np.random.default_rng(6), 64)
    assert np.array_equal(first.z, again.z) and not np.array_equal(first.z, other.z)


@pytest.mark.bayes
def test_results_become_inference_data(az):
    results = model().fit_posterior(np.random.default_rng(1), draws=1600)
    data = results.to_arviz()
    p = data.posterior["p"]
    assert p.dims == ("chain", "draw", "category") and p.shape == (16, 100, 3)
    assert p["category"].values.tolist() == list(JOBS)
    np.testing.assert_allclose(p.mean(("chain", "draw")), results.params)
    assert data.observed_data["nobs"].item() == 1000 and data.prior["p"].shape[-1] == 3
    assert data.sample_stats.attrs["diverging"] == 0
    table = az.summary(data, var_names=["p"])
    np.testing.assert_allclose(table["ess_bulk"], results.ess["bulk"], rtol=0.01)
