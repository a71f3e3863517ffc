"""Smooth distributions from square waves: plain and penalised likelihood, and EMS of the paper.

Total variation and Wasserstein distance (of answers on [0, 1]) from the truth, averages over
surveys. Run as ``python benchmarks/studies/smoothing.py [surveys]``; it prints a table.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import stats

import ldpstats as ldp

Array = Any
SETTINGS = ((16, 1.0, 5_000), (64, 1.0, 5_000), (64, 2.0, 5_000), (64, 1.0, 100_000))


def truths(k: int) -> dict[str, Array]:
    u = np.linspace(0.0, 1.0, k + 1)
    humps = 0.6 * np.diff(stats.norm(0.3, 0.09).cdf(u))
    humps += 0.4 * np.diff(stats.norm(0.75, 0.06).cdf(u))
    found = {"beta(5, 2)": np.diff(stats.beta(5, 2).cdf(u)), "two humps": humps}
    return {name: p / p.sum() for name, p in found.items()}


def ems(Q: Array, n: Array, tolerance: float = 1e-3, most: int = 10_000) -> Array:
    """EM with a (1, 2, 1) / 4 average after every step (Li et al. 2020, algorithm 1)."""
    k = len(Q)
    S = 2.0 * np.eye(k) + np.eye(k, k=1) + np.eye(k, k=-1)
    S /= S.sum(axis=1, keepdims=True)
    p, last = np.full(k, 1.0 / k), -np.inf
    for _ in range(most):
        p = S @ (p * (Q @ (n / (p @ Q))))
        p /= p.sum()
        value = float(n @ np.log(p @ Q))
        if abs(value - last) < tolerance:
            break
        last = value
    return p


def main(surveys: int) -> None:
    print(f"{surveys} surveys; total variation / Wasserstein distance\n")
    print(f"{'':30s}{'MLE':>16s}{'EMS':>16s}{'smoothed':>16s}")
    for k, epsilon, n in SETTINGS:
        mechanism = ldp.SquareWave(np.linspace(0.0, 1.0, k + 1), epsilon)
        Q = mechanism.channel().matrix()
        for name, p in truths(k).items():
            rng, sums = np.random.default_rng(1), np.zeros((3, 2))
            for _ in range(surveys):
                counts = mechanism.draw(p, n, rng)
                model = ldp.FrequencyModel(counts)
                fits = [
                    model.fit("mle").params,
                    ems(Q, counts.vector()),
                    model.fit("smoothed").params,
                ]
                for row, q in zip(sums, fits, strict=True):
                    gap = np.asarray(q) - p
                    row += 0.5 * np.abs(gap).sum(), np.abs(np.cumsum(gap)).sum() / k
            cells = "".join(f"{tv:9.3f} /{w:.4f}" for tv, w in sums / surveys)
            print(f"{name:12s} k={k:<3d} e={epsilon:g} n={n:<7d}{cells}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
