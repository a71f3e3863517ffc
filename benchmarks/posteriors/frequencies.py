"""Effective draws per second from posteriors of frequencies: the default engine.

    python -m benchmarks.posteriors.frequencies [seconds]

10,000 respondents, k-RR, flat Dirichlet prior, a Zipf truth. Effective sizes are those of means,
the smallest over categories (as in the table that the engine was chosen by), and of 5 % tails.
Seconds are of processor time: of the chains alone, and of everything from the mode on with a
default call of 4,000 draws.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import ldpstats as ldp
from ldpstats.inference.chains import ess_mean, ess_tail, sample
from ldpstats.models.posterior.densities import FrequencyDensity
from ldpstats.priors import Dirichlet

SETTINGS = tuple((k, epsilon) for k in (5, 50) for epsilon in (0.2, 1.0, 4.0))
RESPONDENTS = 10_000


def model_of(k, epsilon):
    """A survey of the setting."""
    truth = 1.0 / np.arange(1, k + 1)
    counts = ldp.KRR(k, epsilon).draw(truth / truth.sum(), RESPONDENTS, np.random.default_rng(1))
    return ldp.FrequencyModel(counts)


def density_of(model):
    law = Dirichlet().law(model.categories)
    return FrequencyDensity.of(model.likelihood(), law)


def long_run(density, seconds):
    """Effective draws of means and tails by second, of chains as long as take so many seconds."""
    draws, spent = 4000, 0.0
    while True:
        start = time.process_time()
        z = sample(density, np.random.default_rng(2), draws, longest=1).z
        spent = time.process_time() - start
        if spent > 0.6 * seconds or draws >= 1 << 20:
            break
        draws = min(1 << 20, int(draws * min(8.0, 1.2 * seconds / spent)))
    p = density.constrained(z)
    return ess_mean(p).min() / spent, ess_tail(p).min() / spent


def default_call(model):
    """Seconds of a default call, and the smallest effective size of its draws."""
    start = time.process_time()
    found = model.fit_posterior(np.random.default_rng(3))
    return time.process_time() - start, float(found.ess.min().min())


def main(seconds):
    print("  k  epsilon   mean/s   tail/s   default call: seconds   smallest ESS")
    for k, epsilon in SETTINGS:
        model = model_of(k, epsilon)
        mean, tail = long_run(density_of(model), seconds)
        spent, least = default_call(model)
        print(
            f"{k:3d} {epsilon:8g} {mean:8.0f} {tail:8.0f} {spent:23.2f} {least:14.0f}", flush=True
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.5)
