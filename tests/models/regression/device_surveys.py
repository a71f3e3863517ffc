"""Surveys by devices with an unknown share of cheaters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldpstats.devices import flip, truth, unknown

CHEATS = flip(unknown("cheating"))


def detection(q, categories=("no", "yes")):
    """Cheating detection: some say the first category whatever they are told."""
    forced = flip(q).when({"heads": categories[-1]}, otherwise=truth)
    return CHEATS.when({"heads": categories[0], "tails": forced}).mechanism(categories)


FIRST, SECOND = detection(0.25), detection(0.6)


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def survey(seed, n=1500, cheating=0.15, slope=0.8):
    """Two groups of reports on a logistic answer, and covariates."""
    rng = np.random.default_rng(seed)
    age = rng.integers(-2, 3, n).astype(float)
    ill = np.where(rng.random(n) < logistic(-0.5 + slope * age), "yes", "no")
    half = n // 2
    reports = [
        FIRST.simulate(ill[:half], rng, cheating=cheating),
        SECOND.simulate(ill[half:], rng, cheating=cheating),
    ]
    return reports, pd.DataFrame({"const": 1.0, "age": age})
