"""Every mechanism and every estimator, one line each: the contract tests cross them."""

from __future__ import annotations

import numpy as np

import ldpstats as ldp
from ldpstats.mechanisms import LumpedUnary

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
    "lumped": LumpedUnary(("b", "a", "Other"), p1=0.7, p0=0.2),
    "lumped-one": LumpedUnary(("a", "Other"), p1=0.6, p0=0.4),
    "lumped-byte": LumpedUnary(9, p1=0.25, p0=0.75),
    "lumped-certain": LumpedUnary(4, p1=1.0, p0=0.2),
    "custom-square": ldp.CustomMechanism(
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]], ("a", "b", "c")
    ),
    "custom-wide": ldp.CustomMechanism(
        [[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0], [0.2, 0.1, 0.1, 0.1, 0.5]],
        outputs=("v", "w", "x", "y", "z"),
    ),
    "custom-tiny": ldp.CustomMechanism([[1 - 1e-18, 1e-18, 0.0], [0.5, 0.25, 0.25]]),
    "orr": ldp.ORR(4, 3, epsilon=1.0),
    "orr-closed": ldp.ORR(3, 4, epsilon=2.0, alphabet=("a", "b", "c", "d", "e")),
    "orr-as-krr": ldp.ORR(5, 1, epsilon=0.5, alphabet=5),
    "orappor": ldp.ORAPPOR(5, 1, 3, epsilon=1.0),
    "orappor-2": ldp.ORAPPOR(6, 2, 3, epsilon=3.0),
    "orappor-overlap": ldp.ORAPPOR(3, 2, 4, epsilon=2.0),
    "orappor-closed": ldp.ORAPPOR(4, 2, 3, epsilon=2.0, alphabet=("w", "x", "y", "z")),
    "orappor-as-krappor": ldp.ORAPPOR(4, 1, 1, epsilon=1.0, alphabet=4),
    "rappor": ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75),
    "rappor-lifetime": ldp.RAPPOR(5, 2, 4, f=0.5, p=0.4, q=0.9),
    "rappor-inverted": ldp.RAPPOR(5, 1, 3, f=0.1, p=0.8, q=0.3),
    "rappor-certain": ldp.RAPPOR(5, 1, 3, f=0.0, p=0.2, q=1.0),
    "rappor-closed": ldp.RAPPOR(4, 1, 2, f=0.2, p=0.2, q=0.7, alphabet=("w", "x", "y", "z")),
    "rappor-google": ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google"),
}
WORDS = ("apple", "pear", "plüm")  # candidates of the open alphabets

# every name that fit() knows, with the kinds of equations it is defined for
ESTIMATORS = {
    "mle": {"labels", "bits", "lumped", "cohorts"},
    "em": {"labels", "bits", "lumped", "cohorts"},
    "cvxpy": {"labels", "bits", "lumped", "cohorts"},
    "inversion": {"labels", "bits", "lumped", "cohorts"},
    "normalized": {"labels", "bits", "lumped", "cohorts"},
    "projected": {"labels", "bits", "lumped", "cohorts"},
    "thresholded": {"labels", "bits", "lumped", "cohorts"},
    "nnls": {"labels", "bits", "lumped", "cohorts"},
    "composite": {"bits"},
    "lasso": {"cohorts"},
}


def distribution(k: int) -> np.ndarray:
    """An interior distribution with all frequencies different."""
    p = np.arange(k, 0, -1) + 0.5
    return p / p.sum()


def candidates(mechanism: ldp.Mechanism) -> tuple[str, ...] | None:
    """What to look for: nothing where the categories are known."""
    return WORDS if mechanism.is_open else None


def channel(mechanism: ldp.Mechanism) -> ldp.Channel:
    """The channel of the categories or candidates."""
    return mechanism.channel(candidates(mechanism))


def all_reports(mechanism: ldp.Mechanism) -> ldp.Reports:
    """Every possible report, in the order of the columns of ``channel().matrix()``."""
    if mechanism.n_bits:
        patterns = np.arange(2**mechanism.n_bits)
        bits = (patterns[:, None] >> np.arange(mechanism.n_bits)) & 1
        y = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    else:
        y = np.arange(mechanism.n_outputs)
    C = mechanism.n_cohorts
    if not C:
        return ldp.Reports(y, mechanism)
    return ldp.Reports(np.concatenate([y] * C), mechanism, cohort=np.repeat(np.arange(C), len(y)))


def report_codes(reports: ldp.Reports) -> np.ndarray:
    """Column number of each report in ``channel().matrix()``."""
    mechanism, y, l = reports.mechanism, reports.y, reports.mechanism.n_outputs  # noqa: E741
    if mechanism.n_bits:
        bits = np.unpackbits(y, axis=1, count=mechanism.n_bits, bitorder="little").astype(np.int64)
        y, l = bits @ (1 << np.arange(mechanism.n_bits)), 1 << mechanism.n_bits  # noqa: E741
    return y if reports.cohort is None else reports.cohort * l + y


def expected_counts(mechanism: ldp.Mechanism, p: np.ndarray, nobs: float) -> ldp.Counts:
    """Counts that equal their expectation under p, to rounding."""
    n = np.rint(nobs * (p @ channel(mechanism).matrix())).astype(np.int64)
    reports = all_reports(mechanism)
    return ldp.Counts(reports.y, n, mechanism, cohort=reports.cohort)
