"""Simulated surveys, many at once: the settings and draws that coverage and size tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp
from ldpstats.covariances import Covariance
from ldpstats.problems import Equations

Array = npt.NDArray[Any]


def rectangular(k: int, epsilon: float) -> ldp.CustomMechanism:
    """k + 2 reports: k-RR for seven in ten, Warner's "is it an even one?" for the others.

    In every column the entries differ by a factor of 1 or exp(epsilon), as in its two parts.
    """
    fine = ldp.KRR(k, epsilon).channel().matrix()
    coarse = ldp.Warner(epsilon).channel().matrix()[np.arange(k) % 2]
    return ldp.CustomMechanism(np.hstack([0.7 * fine, 0.3 * coarse]))


MECHANISMS: dict[str, Callable[[int, float], ldp.Mechanism]] = {
    "krr": ldp.KRR,
    "rappor": ldp.KRAPPOR,
    "oue": lambda k, epsilon: ldp.KRAPPOR(k, epsilon, theta=0.5),
    "rectangular": rectangular,
}
BASE = {5: np.array([0.35, 0.25, 0.2, 0.12, 0.08]), 20: 0.85 ** np.arange(20)}


def moments(mechanism: ldp.Mechanism, n: int) -> Equations:
    """The linear equations of a survey of n; its counts are arbitrary and must not be used."""
    p = np.full(mechanism.k, 1 / mechanism.k)
    return mechanism.moments(mechanism.draw(p, n, np.random.default_rng(0)))


def covariance(mechanism: ldp.Mechanism, p: Array, n: int) -> Covariance:
    """Covariance of the linear estimate where the frequencies are p."""
    problem = moments(mechanism, n)
    return problem.covariance(p)


def frequencies(where: str, mechanism: ldp.Mechanism, n: int) -> Array:
    """Interior frequencies; or the last 2 of 5, 10 of 20, zero, or one standard error from it."""
    k = mechanism.k
    base = BASE[k] / BASE[k].sum()
    if where == "interior":
        return base
    last = np.arange(k) >= {5: 3, 20: 10}[k]
    base = np.where(last, 0.0, base) / base[~last].sum()
    p = base
    for _ in range(50 if where == "near" else 0):  # a standard error depends on p, but little
        small = np.sqrt(covariance(mechanism, p, n).variances())
        p = np.where(last, small, base * (1 - small[last].sum()))
    return p


def draw(mechanism: ldp.Mechanism, p: Array, n: int, R: int, rng: np.random.Generator) -> Array:
    """Counts of reports, or of bits set, in R surveys of n respondents: shape (R, l).

    They have the law of `Mechanism.draw`.
    """
    if isinstance(mechanism, ldp.KRAPPOR):
        having = rng.multinomial(n, p, size=R)
        return rng.binomial(having, mechanism.p1) + rng.binomial(n - having, mechanism.p0)
    return rng.multinomial(n, mechanism.channel().forward(p), size=R)


def projected(estimate: Array) -> Array:
    """Each row's nearest point of the simplex, as `project_simplex` finds it for one."""
    ordered = np.sort(estimate, axis=1)[:, ::-1]
    shift = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, ordered.shape[1] + 1)
    last = np.sum(ordered > shift, axis=1, keepdims=True) - 1
    return np.maximum(estimate - np.take_along_axis(shift, last, axis=1), 0.0)


def estimates(mechanism: ldp.Mechanism, counts: Array, n: int) -> tuple[Array, Array]:
    """Linear estimates of R surveys and their plug-in variances, shape (R, k) both."""
    problem, t = moments(mechanism, n), counts / n
    G = problem.inverse
    if isinstance(G, float):
        estimate = G * (t - problem.offset)
        m = problem.offset + problem.A * projected(estimate)
        return estimate, G**2 * m * (1 - m) / n
    estimate = (t - problem.offset) @ G.T
    m = projected(estimate) @ mechanism.channel().matrix()
    # G (diag(m) - m m') G' / n
    return estimate, (m @ (G**2).T - (m @ G.T) ** 2) / n


def as_counts(mechanism: ldp.Mechanism, counts: Array, n: int) -> ldp.Counts | ldp.BitCounts:
    """The counts of one survey as `FrequencyModel` takes them."""
    return mechanism.counts(counts, n if mechanism.n_bits else None)
