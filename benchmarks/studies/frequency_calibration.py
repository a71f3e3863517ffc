"""Simulation-based calibration of posteriors of frequencies: rank histograms of 1,000 surveys.

    python -m benchmarks.studies.frequency_calibration          compute some surveys, print ranks
    python -m benchmarks.studies.frequency_calibration --full   compute and store all (10 minutes)

Frequencies are drawn from the prior, a survey from them, and the posterior from the survey. The
rank of the true frequency among 63 draws is then uniform on 0, ..., 63 for every category (Talts et
al. 2018, arXiv:1804.06788). Ranks are counted in 16 bins; the chi-square of a category has 15
degrees of freedom. The last setting is a negative control: the analyst believes another epsilon.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import ldpstats as ldp
from benchmarks.studies.stored import renew, wanted
from ldpstats.inference.chains import sample
from ldpstats.models.posterior.densities import FrequencyDensity
from ldpstats.priors import Dirichlet, LogisticNormal

STORED = Path(__file__).with_suffix(".csv")
SURVEYS, RANKS, BINS = 1_000, 63, 16
SUBSETS = np.array([[a, b] for a in range(4) for b in range(a + 1, 4)])
# two of four categories are reported, the true one more often: six outputs
PAIRS = np.array([[3.0 if x in pair else 1.0 for pair in SUBSETS] for x in range(4)]) / 12.0
SETTINGS = {  # what respondents use, what the analyst believes, the prior, respondents
    "k-RR": (ldp.KRR(4, 1.0), ldp.KRR(4, 1.0), Dirichlet(1.0), 200),
    "k-RR, sparse": (ldp.KRR(5, 3.0), ldp.KRR(5, 3.0), Dirichlet(0.5), 100),
    "pairs": (ldp.CustomMechanism(PAIRS), ldp.CustomMechanism(PAIRS), LogisticNormal(sd=1.0), 300),
    "wrong epsilon": (ldp.KRR(4, 1.0), ldp.KRR(4, 1.3), Dirichlet(1.0), 200),
}
CONTROL = "wrong epsilon"


def rank_of(setting, rng):
    """Ranks, shape (k,), of the true frequencies of one survey among draws of their posterior."""
    used, believed, prior, n = SETTINGS[setting]
    law = prior.law(used.categories)
    p = law.draw(rng, 1)[0]
    counts = believed.counts(used.draw(p / p.sum(), n, rng).vector())
    density = FrequencyDensity.of(ldp.FrequencyModel(counts).likelihood(), law)
    # four draws, far apart, of each of 16 chains; one is left out
    chains = sample(density, rng, draws=16 * 60, warmup=100, longest=1)
    drawn = density.constrained(chains.z[:, 14::15]).reshape(-1, used.k)[1:]
    return (drawn < p).sum(axis=0)


def histogram(setting, surveys, seed=1):
    """Numbers of surveys by bin of the rank: shape (k, bins)."""
    rng = np.random.default_rng(seed)
    ranks = np.array([rank_of(setting, rng) for _ in range(surveys)])
    width = (RANKS + 1) // BINS
    return np.array([np.bincount(column // width, minlength=BINS) for column in ranks.T])


def pvalues(counts):
    """p-value of uniform ranks for every category, shape (k,)."""
    expected = counts.sum(axis=1, keepdims=True) / BINS
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(axis=1), BINS - 1)


def table(setting, counts):
    frame = pd.DataFrame(counts, columns=[f"bin{i}" for i in range(BINS)])
    frame.insert(0, "pvalue", pvalues(counts))
    frame.insert(0, "category", range(len(counts)))
    frame.insert(0, "setting", setting)
    return frame


def main():
    full = wanted(__doc__, list(SETTINGS))
    if full:
        made = {setting: table(setting, histogram(setting, SURVEYS)) for setting in full}
        renew(STORED, "setting", list(SETTINGS), made)
        return
    for setting in SETTINGS:
        print(table(setting, histogram(setting, 50)).to_string(index=False))


if __name__ == "__main__":
    main()
