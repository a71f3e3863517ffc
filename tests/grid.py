"""Every mechanism and every estimator, one line each: the contract tests cross them."""

from __future__ import annotations

import numpy as np

import ldpstats as ldp

MECHANISMS = {
    "warner": ldp.Warner(epsilon=0.7),
    "warner-weak": ldp.Warner(epsilon=9.0),
    "forced-response": ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6),
    "forced-yes": ldp.ForcedResponse(p_truth=0.7, p_yes=0.3),
    "unrelated-question": ldp.UnrelatedQuestion(p=0.7, prevalence=0.25),
    "mangat": ldp.Mangat(p=0.6),
    "krr-2": ldp.KRR(2, epsilon=0.1),
    "krr-labels": ldp.KRR(("nurse", "teacher", "driver", "cook"), epsilon=1.0),
    "krr-20": ldp.KRR(20, epsilon=3.0),
    "krappor": ldp.KRAPPOR(4, epsilon=1.0),
    "krappor-strong": ldp.KRAPPOR(("a", "b", "c"), epsilon=0.2),
    "oue": ldp.KRAPPOR(5, epsilon=2.0, theta=0.5),
    "generalised-rappor": ldp.KRAPPOR(4, epsilon=1.5, theta=0.8),
    "custom-square": ldp.CustomMechanism(
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]], ("a", "b", "c")
    ),
    "custom-wide": ldp.CustomMechanism(
        [[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0], [0.2, 0.1, 0.1, 0.1, 0.5]],
        outputs=("v", "w", "x", "y", "z"),
    ),
    "custom-tiny": ldp.CustomMechanism([[1 - 1e-18, 1e-18, 0.0], [0.5, 0.25, 0.25]]),
}

# every name that fit() knows, with the kinds of equations it is defined for
ESTIMATORS = {
    "mle": {"labels", "bits"},
    "em": {"labels", "bits"},
    "cvxpy": {"labels", "bits"},
    "inversion": {"labels", "bits"},
    "normalized": {"labels", "bits"},
    "projected": {"labels", "bits"},
    "thresholded": {"labels", "bits"},
    "nnls": {"labels", "bits"},
    "composite": {"bits"},
}


def distribution(k: int) -> np.ndarray:
    """An interior distribution with all frequencies different."""
    p = np.arange(k, 0, -1) + 0.5
    return p / p.sum()


def all_reports(mechanism: ldp.Mechanism) -> np.ndarray:
    """Every possible report, in the order of the columns of ``channel().matrix()``."""
    if not mechanism.n_bits:
        return np.arange(mechanism.n_outputs)
    patterns = np.arange(2**mechanism.n_bits)
    bits = (patterns[:, None] >> np.arange(mechanism.n_bits)) & 1
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")


def report_codes(mechanism: ldp.Mechanism, y: np.ndarray) -> np.ndarray:
    """Column number of each report in ``channel().matrix()``."""
    if not mechanism.n_bits:
        return y
    bits = np.unpackbits(y, axis=1, count=mechanism.n_bits, bitorder="little").astype(np.int64)
    return bits @ (1 << np.arange(mechanism.n_bits))


def expected_counts(mechanism: ldp.Mechanism, p: np.ndarray, nobs: float) -> ldp.Counts:
    """Counts that equal their expectation under p, to rounding."""
    n = np.rint(nobs * (p @ mechanism.channel().matrix())).astype(np.int64)
    return ldp.Counts(all_reports(mechanism), n, mechanism)
