"""Priors, posteriors and their diagnostics, with arguments that work."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from hostile.examples import JOBS, RNG, Examples, Site, rng

import ldpstats as ldp
from ldpstats.inference import chains as diagnostics


def posterior_sites(e: Examples) -> Iterator[Site]:
    """What `FrequencyModel.fit_posterior` takes, and what its results answer."""
    priors = ldp.priors
    yield Site("Dirichlet", priors.Dirichlet, {"concentration": [1.0, 2.0, 3.0]})
    normal = {"mean": [0.0, 0.0, 1.0], "sd": 1.0}
    yield Site("LogisticNormal", priors.LogisticNormal, normal)
    correlated = {"mean": 0.0, "covariance": np.eye(3)}
    yield Site("LogisticNormal covariance", priors.LogisticNormal, correlated)
    fit = {"rng": RNG, "prior": priors.Dirichlet(2.0), "draws": 160, "engine": "hmc"}
    yield Site("FrequencyModel.fit_posterior", _quietly(e), fit, slow=True)
    results = _quietly(e)(rng(), draws=160)
    yield Site("PosteriorResults.conf_int", results.conf_int, {"alpha": 0.05, "method": "hdi"})
    yield Site("PosteriorResults.prob", results.prob, {"claim": "nurse > driver"})
    null = {"hypothesis": f"{JOBS[0]} = .4"}
    yield Site("PosteriorResults.bayes_factor", results.bayes_factor, null)
    yield Site("PosteriorResults.summary_frame", results.summary_frame, {"alpha": 0.05})
    shown = {"alpha": 0.05, "max_rows": 40, "details": True}
    yield Site("PosteriorResults.summary", results.summary, shown)
    yield Site("PosteriorResults.to_frame", results.to_frame, {"alpha": 0.05})
    plot = {"ax": None, "alpha": 0.05, "sort": True, "most": 2, "title": "Answers"}
    yield Site("PosteriorResults.plot", results.plot, plot, slow=True)
    draws = {"draws": np.random.default_rng(1).normal(size=(4, 20))}
    for name in ("rhat", "ess_bulk", "ess_tail", "ess_mean"):
        yield Site(f"diagnostics.{name}", getattr(diagnostics, name), draws)


def _quietly(e: Examples):  # type: ignore[no-untyped-def]
    """`fit_posterior` without the warning that so few draws are few."""

    def fit_posterior(rng, prior=None, draws=4000, engine="hmc"):  # type: ignore[no-untyped-def]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.PosteriorWarning)
            return e.frequency.fit_posterior(rng, prior, draws, engine)

    return fit_posterior
