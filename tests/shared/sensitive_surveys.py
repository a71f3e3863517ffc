"""URR and URAP in several settings, and surveys made with them."""

from typing import Any

import numpy as np
import pytest
from grid import distribution, hidden, patterns, report_codes

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver", "cook", "clerk")
LEVELS = {"cook": 0.5, "nurse": 2.0}
MECHANISMS: dict[str, Any] = {
    "urr": ldp.URR(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "urr-levels": ldp.URR(JOBS, epsilon=LEVELS),
    "urap": ldp.URAP(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "urap-theta": ldp.URAP(JOBS, ["cook"], epsilon=1.5, theta=0.4),
    "urap-levels": ldp.URAP(JOBS, epsilon=LEVELS),
}
URAPS: dict[str, ldp.URAP] = {
    "some": ldp.URAP(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "one": ldp.URAP(3, [1], epsilon=0.3),
    "none": ldp.URAP(3, [], epsilon=0.3),
    "all": ldp.URAP(3, range(3), epsilon=0.8),
    "theta": ldp.URAP(4, [3, 0, 2], epsilon=2.0, theta=0.35),
    "strong": ldp.URAP(4, [2, 3], epsilon=1e-3),
    "weak": ldp.URAP(4, [2, 3], epsilon=12.0, theta=0.999),
}
each = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())
each_urap = pytest.mark.parametrize("urap", URAPS.values(), ids=URAPS.keys())


def theta_of(urap: ldp.URAP) -> float:
    """MK19's choice where none is given."""
    half = np.exp(urap.epsilon / 2)
    return float(half / (half + 1)) if urap.theta is None else urap.theta


def bit_laws(urap: ldp.URAP) -> np.ndarray:
    """P(bit j = 1 | x) by MK19 eq. 9 and 10, shape (k, k); rows are categories."""
    e, theta, S = np.exp(urap.epsilon), theta_of(urap), hidden(urap)
    d1 = theta / ((1 - theta) * e + theta)
    d2 = ((1 - theta) * e + theta) / e if S.any() else 0.0
    return np.where(np.eye(urap.k, dtype=bool), np.where(S, theta, 1 - d2), np.where(S, d1, 0.0))


def every_report(urap: ldp.URAP) -> tuple[ldp.Reports, np.ndarray]:
    """All reports with the noise around revealed answers, and their channel by MK19 eq. 8."""
    bits = patterns(urap.k)
    q = bit_laws(urap)[:, None, :]
    Q = np.where(bits, q, 1 - q).prod(axis=2)
    made = Q.any(axis=0)
    text = ["".join("01"[b] for b in row) for row in bits[made].astype(int)]
    return urap.parse("report", text), Q[:, made]


def answers(mechanism: Any, n: int, seed: int, p: np.ndarray | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    law = distribution(mechanism.k) if p is None else p
    return np.asarray(mechanism.categories)[rng.choice(mechanism.k, size=n, p=law)]


def survey(mechanism: Any, n: int, seed: int, p: np.ndarray | None = None) -> ldp.Reports:
    rng = np.random.default_rng(1000 + seed)
    reports: ldp.Reports = mechanism.privatize(answers(mechanism, n, seed, p), rng)
    return reports


def dense(reports: ldp.Reports) -> ldp.Reports:
    """The same reports as those of a mechanism that is just a matrix."""
    mechanism = reports.mechanism
    outputs = tuple(f"report {y}" for y in range(mechanism.channel().matrix().shape[1]))
    custom = ldp.CustomMechanism(mechanism.channel().matrix(), mechanism.categories, outputs)
    return ldp.Reports(report_codes(reports), custom)
