"""Warner's model and the unrelated question in samples without replacement: published formulas.

From a report z of person i (1 for yes) comes r_i, unbiased for the true y_i, and V_i, unbiased for
the variance of r_i over the randomisation. The total is estimated by sum r_i / pi_i, and its
variance by the Horvitz-Thompson formula of the r_i plus sum V_i / pi_i (Chaudhuri, Adhikary and
Dihidar 2000, Metrika 52; Arcos, Rueda and Singh 2015, Quality & Quantity 49). Warner (1965):
r = (z - (1 - p)) / (2p - 1), V = p (1 - p) / (2p - 1)^2. Horvitz, Shah and Simmons (1967),
Greenberg et al. (1969): r = (z - (1 - p) a) / p, V = r (r - 1), a the share of the innocuous yes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import ldpstats as ldp

Array = NDArray[np.float64]
Device = Callable[[Array], tuple[Array, Array]]


def warner(z: Array, p: float) -> tuple[Array, Array]:
    return (z - (1 - p)) / (2 * p - 1), np.full(z.shape, p * (1 - p) / (2 * p - 1) ** 2)


def unrelated(z: Array, p: float, a: float) -> tuple[Array, Array]:
    r = (z - (1 - p) * a) / p
    return r, r * (r - 1)


def horvitz_thompson(r: Array, V: Array, first: Array, joint: Array) -> tuple[float, float]:
    """Total of yes and its variance, with any probabilities of inclusion, as a double sum."""
    expanded = r / first
    differ = 1 - np.outer(first, first) / joint  # on the diagonal 1 - pi_i
    return expanded.sum(), expanded @ differ @ expanded + (V / first).sum()


def stratified(size: NDArray[np.int64], sampled: NDArray[np.int64]) -> tuple[Array, Array]:
    """Probabilities of inclusion, of one person and of two, drawn at random in each stratum."""
    at = np.repeat(np.arange(size.size), sampled)
    first = (sampled / size)[at]
    within = (sampled * (sampled - 1) / (size * (size - 1)))[at]
    joint = np.where(at[:, None] == at, within[:, None], np.outer(first, first))
    np.fill_diagonal(joint, first)
    return first, joint


CASES: list[tuple[ldp.Mechanism, Device]] = [
    (ldp.Warner(epsilon=np.log(0.7 / 0.3)), lambda z: warner(z, 0.7)),
    (ldp.Warner(epsilon=np.log(0.9 / 0.1)), lambda z: warner(z, 0.9)),
    (ldp.UnrelatedQuestion(p=0.6, prevalence=0.25), lambda z: unrelated(z, 0.6, 0.25)),
    (ldp.UnrelatedQuestion(p=0.8, prevalence=0.9), lambda z: unrelated(z, 0.8, 0.9)),
]
BY_NAME = [f"{type(mechanism).__name__}-{mechanism.epsilon:.2f}" for mechanism, _ in CASES]


def reports(n: int) -> Array:
    return (np.random.default_rng(n).random(n) < 0.4).astype(float)


def words(z: Array) -> NDArray[np.str_]:
    return np.where(z == 1, "yes", "no")


@pytest.mark.parametrize(("mechanism", "device"), CASES, ids=BY_NAME)
def test_stratified_samples(mechanism: ldp.Mechanism, device: Device) -> None:
    size, sampled = np.array([50, 200, 31]), np.array([40, 25, 11])
    z = reports(int(sampled.sum()))
    table = pd.DataFrame(
        {
            "ill": words(z),
            "h": np.repeat(["a", "b", "c"], sampled),
            "w": np.repeat(size / sampled, sampled),
            "N": np.repeat(size, sampled),
        }
    )
    survey = ldp.Survey(table, {"ill": mechanism}, weights="w", strata="h", fpc="N")
    found = survey.frequencies("ill")
    total, variance = horvitz_thompson(*device(z), *stratified(size, sampled))
    N = size.sum()
    assert found.params["yes"] == pytest.approx(total / N, rel=1e-10)
    assert found.bse["yes"] ** 2 == pytest.approx(variance / N**2, rel=1e-10)
