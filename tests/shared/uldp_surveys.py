"""Mechanisms over five jobs of which two are sensitive, and surveys made with them."""

from typing import Any

import numpy as np

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver", "cook", "judge")
SENSITIVE = ["cook", "teacher"]
AT = [1, 3]  # their positions
URR = ldp.URR(JOBS, SENSITIVE, epsilon=1.2)
URAP = ldp.URAP(JOBS, SENSITIVE, epsilon=0.7)
LEVELS = ldp.URR(JOBS, epsilon={"teacher": 0.4, "cook": 2.0})
KRR = ldp.KRR(JOBS, epsilon=0.9)
P = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(JOBS)[rng.choice(len(P), size=n, p=P)]


def close(first: float, second: float) -> bool:
    return bool(first == second or abs(first - second) < 1e-12)


def random_channel(rng: np.random.Generator, k: int, l: int) -> np.ndarray:  # noqa: E741
    Q = rng.dirichlet(np.ones(l), size=k)
    Q[rng.random(Q.shape) < rng.choice([0.0, 0.3, 0.7])] = 0.0
    Q[:, rng.random(l) < 0.1] = 0.0
    Q[~Q.any(axis=1), 0] = 1.0
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


TYPED = np.array(  # category 0 is sensitive; 2 has two reports of its own, report 5 is impossible
    [
        [0.7, 0.3, 0.0, 0.0, 0.0, 0.0],
        [0.3, 0.2, 0.5, 0.0, 0.0, 0.0],
        [0.4, 0.2, 0.0, 0.3, 0.1, 0.0],
    ]
)


def assert_unbiased(
    estimates: list[Any], errors: list[Any], p: np.ndarray, bias: bool = True
) -> None:
    """Means within 4 standard errors of p, root mean squared errors within 4 of the spread.

    The relative error of a spread over R replications is 1 / sqrt(2 R).
    """
    found, R = np.array(estimates), len(estimates)
    spread = found.std(axis=0, ddof=1)
    assert np.abs((found.mean(axis=0) - p) / (spread / np.sqrt(R))).max() < 4.0
    size = np.sqrt(np.mean(np.square(errors), axis=0)) / spread
    assert np.abs(size - 1.0).max() < 4.0 / np.sqrt(2 * R)
