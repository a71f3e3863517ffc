"""A published latent Markov fit again: job satisfaction in the vignette of R's LMest 3.2.5.

The data are LMest's: `Rscript -e 'write.csv(LMest::RLMSdat, "rlms.csv", row.names = FALSE)'`.

    python -m benchmarks.lmest rlms.csv      100 seconds
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import ldpstats as ldp

# states: log-likelihood, parameters, AIC and BIC as `summary(lmestSearch(...))` prints them
PUBLISHED = {
    2: (-13921.09, 11, 27864.18, 27924.12),
    3: (-13557.20, 20, 27154.41, 27263.39),
    4: (-13392.93, 31, 26847.86, 27016.78),
}
# of four states, in the order of their mean answer: first wave, transitions, answers
FIRST = [0.1717, 0.4400, 0.2020, 0.1863]
MOVES = [
    [0.8809, 0.0676, 0.0249, 0.0266],
    [0.0173, 0.9219, 0.0520, 0.0089],
    [0.0164, 0.0925, 0.8728, 0.0183],
    [0.0145, 0.0642, 0.1567, 0.7646],
]
ANSWERS = [
    [0.5793, 0.3463, 0.0493, 0.0222, 0.0030],
    [0.0694, 0.8413, 0.0636, 0.0248, 0.0009],
    [0.0239, 0.3039, 0.5576, 0.1034, 0.0111],
    [0.0181, 0.1679, 0.1852, 0.4540, 0.1747],
]


def main(path: str) -> None:
    """Fit two to four states to the answers as they are, and compare."""
    waves, plain = pd.read_csv(path), ldp.Observed(range(1, 6))
    reports = {wave: plain.parse(wave, waves[wave]) for wave in waves}
    for states, published in PUBLISHED.items():
        law = ldp.cells.markov(stationary=True, latent=states)
        found = ldp.CellModel(reports, law).fit(n_starts=10)
        ours = found.llf, found.df_model, found.aic, found.bic
        print(states, "states:", *(f"{one:.2f}" for one in ours))
        np.testing.assert_allclose(ours, published, atol=0.006)
    expected = np.concatenate([FIRST, *MOVES, *ANSWERS])
    gap = np.abs(found.params.to_numpy() - expected).max()
    print(f"of four states {len(expected)} probabilities: at most {gap:.5f} apart")
    assert gap < 2e-4  # LMest stops before the last digit that it prints


if __name__ == "__main__":
    main(*sys.argv[1:])
