"""Effective draws per second: the default engine beside PyMC's sampler, in one run.

    python -m benchmarks.posteriors.beside_pymc [seconds]

It needs the extra `bayes`. The settings are those of `benchmarks.posteriors.frequencies`. PyMC
draws the same posterior in two forms: as a model of its own Dirichlet and our likelihood, which is
what ``engine="pymc"`` makes of frequencies, and as any log density of the package, in the
coordinates of its Laplace approximation. 4 chains of 1,000 iterations of warm-up and 1,000 draws;
warm-ups count in all columns. Compiling is apart: what a run of two iterations takes. Seconds are
of processor time. The last columns are the largest differences of posterior means, in Monte Carlo
errors.
"""

from __future__ import annotations

import logging
import sys
import time

import numpy as np

from benchmarks.posteriors.frequencies import SETTINGS, density_of, long_run, model_of
from ldpstats.inference.chains import ess_mean, sample
from ldpstats.models.posterior.evidence import package
from ldpstats.models.posterior.pymc import density_model, frequency_model, laplace


def drawn(model, name, draws, tune):
    """Draws (c, n, d) of a vector, the seconds that they took, and divergences."""
    how = {"draws": draws, "tune": tune, "chains": 4, "cores": 1, "random_seed": 3}
    how |= {"progressbar": False, "return_inferencedata": False}
    start = time.process_time()
    trace = package("pymc", "benchmark").sample(
        model=model, compute_convergence_checks=False, **how
    )
    spent = time.process_time() - start
    values = np.stack(trace.get_values(name, combine=False))
    return values, spent, int(np.sum(trace.get_sampler_stats("diverging")))


def measured(model, name, constrained):
    """Draws of p, effective draws of means by second, seconds of compiling, and divergences."""
    drawn(model, name, 1, 1)  # C code is compiled once for good
    _, compiling, _ = drawn(model, name, 1, 1)
    z, spent, divergent = drawn(model, name, 1000, 1000)
    p = constrained(z)
    return p, ess_mean(p).min() / (spent - compiling), compiling, divergent


def whitened(density):
    """`measured` of any log density."""
    centre, scale = laplace(density)
    model = density_model(density, centre, scale)
    return measured(model, "u", lambda u: density.constrained(u @ scale.T + centre))


def apart(first, second):
    """The largest difference of means in Monte Carlo errors."""
    var = [(p.reshape(-1, p.shape[-1]).var(axis=0) / ess_mean(p)) for p in (first, second)]
    gap = first.mean(axis=(0, 1)) - second.mean(axis=(0, 1))
    return np.abs(gap / np.sqrt(var[0] + var[1])).max()


def main(seconds):
    logging.getLogger("pymc").setLevel(logging.ERROR)
    print("  k  epsilon     hmc/s  pymc/s compile diverge  density/s compile diverge  apart")
    for k, epsilon in SETTINGS:
        density = density_of(model_of(k, epsilon))
        rate, _ = long_run(density, seconds)
        p = density.constrained(sample(density, np.random.default_rng(4), 8000).z)
        own = measured(frequency_model(density), "p", lambda values: values)
        other = whitened(density)
        gaps = f"{apart(p, own[0]):.1f} {apart(p, other[0]):.1f}"
        parts = [f"{one[1]:7.0f} {one[2]:7.1f} {one[3]:7d}" for one in (own, other)]
        print(f"{k:3d} {epsilon:8g} {rate:9.0f} {parts[0]}   {parts[1]}  {gaps}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.5)
