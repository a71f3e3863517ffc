"""Every mechanism and every estimator, one line each: the contract tests cross them."""

from math import comb

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import devices
from ldpstats.mechanisms import LumpedUnary

_KEPT = devices.flip("1/3")  # heads for the truth
_RED = devices.cards({"red": 1, "black": 3})
_BLACK = devices.cards({"red": 2, "black": 1})
_NOISE = devices.flip(0.8).when({"heads": devices.truth, "tails": devices.opposite})

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
    "subsets": ldp.SubsetSelection(("nurse", "teacher", "driver", "cook"), epsilon=1.0, size=2),
    "subsets-2": ldp.SubsetSelection(2, epsilon=0.5),
    "subsets-9": ldp.SubsetSelection(9, epsilon=2.0, size=8),
    "hadamard": ldp.HadamardResponse(("nurse", "teacher", "driver", "cook", "clerk"), epsilon=0.6),
    "hadamard-2": ldp.HadamardResponse(2, epsilon=0.3),
    "hadamard-parts": ldp.HadamardResponse(8, epsilon=2.0),
    "projective": ldp.ProjectiveGeometryResponse(tuple("abcdef"), epsilon=0.3),
    "projective-11": ldp.ProjectiveGeometryResponse(11, epsilon=1.0),
    "projective-weak": ldp.ProjectiveGeometryResponse(5, epsilon=9.0),
    "custom-square": ldp.CustomMechanism(
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]], ("a", "b", "c")
    ),
    "custom-wide": ldp.CustomMechanism(
        [[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0], [0.2, 0.1, 0.1, 0.1, 0.5]],
        outputs=("v", "w", "x", "y", "z"),
    ),
    "custom-tiny": ldp.CustomMechanism([[1 - 1e-18, 1e-18, 0.0], [0.5, 0.25, 0.25]]),
    "device-die": devices.roll(6)
    .when({1: "yes", 6: "no"}, otherwise=devices.truth)
    .mechanism(("no", "yes")),
    "device-krr": _KEPT.when({"heads": devices.truth}, otherwise=devices.another).mechanism(5),
    "device-uneven": _KEPT.when(
        {"heads": devices.truth}, otherwise=devices.cards({"a": 3, "b": 1, "c": 2})
    ).mechanism(("a", "b", "c")),
    "device-others": _KEPT.when(
        {"heads": devices.another}, otherwise=devices.spin({0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25})
    ).mechanism(4),
    "device-cards": devices.truth.when(
        {"no": devices.parts(_RED, _RED), "yes": devices.parts(_BLACK, _BLACK)}
    ).mechanism(("no", "yes")),
    "device-cohorts": devices.cohorts([devices.hashed(2, c) >> _NOISE for c in (0, 2)]).mechanism(
        ("a", "b", "c")
    ),
    "processed": ldp.KRR(("a", "b", "c"), epsilon=1.5)
    >> pd.DataFrame(
        [[0.2, 0.8, 0, 0], [0.9, 0.1, 0, 0], [0, 0, 0.3, 0.7]], ["b", "a", "c"], list("uvwx")
    ),
    "mixture": ldp.mixture(
        {
            ldp.KRR(("a", "b", "c"), 2.0): 0.7,
            ldp.KRR(("c", "a", "b"), 0.5) >> {"a": "c", "b": "b", "c": "z"}: 0.3,
        }
    ),
    "by-column": ldp.by_column(
        ["design", "p"],
        {
            ("krr", 1): ldp.KRR(("a", "b", "c"), 2.0),
            ("other", 0.5): ldp.KRR(("a", "b", "c"), 0.5) >> {"a": "u", "b": "v", "c": "w"},
        },
    ),
    "repeated": ldp.repeated(ldp.KRR(("a", "b", "c"), 0.5), ldp.KRR(("c", "b", "a"), 1.0)),
    "product": ldp.product({"job": ldp.KRR((1, 2, 3), 0.7), "late": ldp.Mangat(p=0.6)}),
    "panel": (ldp.KRR((1, 2), 1.0) >> ldp.KRR((1, 2), 1.5)).joint_law(2),
    "product-wide": ldp.product(
        {
            "a": ldp.KRR(2, 1.0) >> {0: "u", 1: "v"},
            "b": ldp.KRR(3, 0.5),
            "c": ldp.Warner(epsilon=0.4),
        }
    ),
    "observed": ldp.Observed(("north", "south", "west")),
    "observed-2": ldp.Observed(2),
    "square-wave": ldp.SquareWave([0, 10, 20.5, 30, 50], epsilon=0.5),
    "square-wave-broad": ldp.SquareWave([-3, -1, 1e6], epsilon=3.0, half_width=1),
    "geometric": ldp.GeometricResponse(("low", "middle", "high"), epsilon=1.0),
    "geometric-2": ldp.GeometricResponse(2, epsilon=0.3),
    "orr": ldp.ORR(4, 3, epsilon=1.0),
    "orr-closed": ldp.ORR(3, 4, epsilon=2.0, alphabet=("a", "b", "c", "d", "e")),
    "orr-as-krr": ldp.ORR(5, 1, epsilon=0.5, alphabet=5),
    "orappor": ldp.ORAPPOR(5, 1, 3, epsilon=1.0),
    "orappor-2": ldp.ORAPPOR(6, 2, 3, epsilon=3.0),
    "orappor-overlap": ldp.ORAPPOR(3, 2, 4, epsilon=2.0),
    "orappor-closed": ldp.ORAPPOR(4, 2, 3, epsilon=2.0, alphabet=("w", "x", "y", "z")),
    "orappor-as-krappor": ldp.ORAPPOR(4, 1, 1, epsilon=1.0, alphabet=4),
    "urr": ldp.URR(("nurse", "teacher", "driver", "cook"), {"nurse", "cook"}, epsilon=1.0),
    "urr-one": ldp.URR(("yes", "no"), ["yes"], epsilon=np.log(5)),
    "urr-none": ldp.URR(3, (), epsilon=0.4),
    "urr-all": ldp.URR(4, range(4), epsilon=0.2),
    "urr-20": ldp.URR(20, range(1, 20, 3), epsilon=3.0),
    "urr-levels": ldp.URR(("d", "c", "b", "a"), epsilon={"a": 0.5, "d": 3.0, "b": 1.0}),
    "urr-levels-all": ldp.URR(3, epsilon={0: 0.7, 1: 2.0, 2: 0.7}),
    "urr-levels-weak": ldp.URR((0.5, 2.5, 3.5), epsilon={0.5: 0.1, 3.5: 9.0}),
    "urap": ldp.URAP(("nurse", "teacher", "driver", "cook"), {"nurse", "cook"}, epsilon=1.0),
    "urap-one": ldp.URAP((True, False), [True], epsilon=np.log(5)),
    "urap-none": ldp.URAP(3, (), epsilon=0.4),
    "urap-all": ldp.URAP(4, range(4), epsilon=0.6),
    "urap-bytes": ldp.URAP(11, (10, 8, 7, 6, 5, 4, 2, 1, 0), epsilon=2.0),
    "urap-theta": ldp.URAP(5, (1, 4), epsilon=1.5, theta=0.4),
    "urap-theta-one": ldp.URAP(("a", "b", "c"), ("b",), epsilon=3.0, theta=0.95),
    "urap-levels": ldp.URAP(("d", "c", "b", "a"), epsilon={"a": 0.5, "d": 3.0, "b": 1.0}),
    "urap-levels-theta": ldp.URAP((0.5, 2.5, 3.5), epsilon={0.5: 0.4, 3.5: 6.0}, theta=0.7),
    "urap-theta-all": ldp.URAP(3, (0, 1, 2), epsilon=2.0, theta=0.5),
    "rappor": ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75),
    "rappor-lifetime": ldp.RAPPOR(5, 2, 4, f=0.5, p=0.4, q=0.9),
    "rappor-inverted": ldp.RAPPOR(5, 1, 3, f=0.1, p=0.8, q=0.3),
    "rappor-certain": ldp.RAPPOR(5, 1, 3, f=0.0, p=0.2, q=1.0),
    "rappor-closed": ldp.RAPPOR(4, 1, 2, f=0.2, p=0.2, q=0.7, alphabet=("w", "x", "y", "z")),
    "rappor-boolean": ldp.RAPPOR(1, 1, 1, f=0.2, p=0.25, q=0.75),
    "rappor-google": ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google"),
}
WORDS = ("apple", "pear", "plüm")  # candidates of the open alphabets

EVERY_KIND = {"labels", "bits", "subsets", "blocks", "lumped", "sensitive", "cohorts", "pooled"}

# every name that fit() knows, with the kinds of equations it is defined for
ESTIMATORS = {
    "mle": EVERY_KIND,
    "em": EVERY_KIND,
    "cvxpy": EVERY_KIND,
    "inversion": EVERY_KIND,
    "normalized": EVERY_KIND,
    "projected": EVERY_KIND,
    "thresholded": EVERY_KIND,
    "nnls": EVERY_KIND,
    "composite": {"bits"},
    "lasso": {"cohorts"},
    "smoothed": EVERY_KIND,
    "em-fpe16": EVERY_KIND,
    "unweighted": {"cohorts"},
    "minimax": EVERY_KIND - {"cohorts"},
}


def distribution(k: int) -> np.ndarray:
    """An interior distribution with all frequencies different."""
    p = np.arange(k, 0, -1) + 0.5
    return p / p.sum()


def candidates(mechanism: ldp.Mechanism) -> tuple[str, ...] | None:
    """What to look for: nothing where the categories are known."""
    return WORDS if mechanism.is_open else None


def channel(mechanism: ldp.Mechanism) -> ldp.channels.Channel:
    """The channel of the categories or candidates."""
    return mechanism.channel(candidates(mechanism))


def patterns(n_bits: int) -> np.ndarray:
    """All reports of so many bits, bool of shape (2^b, b), in the order of `matrix()`."""
    return ((np.arange(2**n_bits)[:, None] >> np.arange(n_bits)) & 1).astype(bool)


def packed(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits, axis=1, bitorder="little")


def hidden(mechanism: ldp.Mechanism) -> np.ndarray:
    """Which categories are sensitive, bool of shape (k,)."""
    return np.isin(np.arange(mechanism.k), mechanism.categories.get_indexer(mechanism.sensitive))


def per_cohort(mechanism: ldp.Mechanism) -> int:
    """Number of reports, columns of ``channel().matrix()``, in each cohort."""
    if isinstance(mechanism, ldp.URAP):
        S = int(hidden(mechanism).sum())
        return (2**S if S else 0) + mechanism.k - S
    if isinstance(mechanism, ldp.SubsetSelection):
        return comb(mechanism.k, mechanism.size)
    return mechanism.n_outputs or 2**mechanism.n_bits


def all_reports(mechanism: ldp.Mechanism) -> ldp.Reports:
    """Every possible report, in the order of the columns of ``channel().matrix()``.

    Reports of uRAP that differ only by the noise around a revealed answer share a column: of these,
    the one without.
    """
    if isinstance(mechanism, ldp.URAP):
        told = np.flatnonzero(~hidden(mechanism))
        bits = np.zeros((per_cohort(mechanism), mechanism.k), dtype=bool)
        noised = len(bits) - told.size
        bits[:noised, hidden(mechanism)] = patterns(mechanism.k - told.size)[:noised]
        bits[noised + np.arange(told.size), told] = True
        return mechanism.parse("bits", ["".join("01"[b] for b in row.astype(int)) for row in bits])
    if isinstance(mechanism, ldp.SubsetSelection):
        return ldp.Reports(packed(mechanism.channel().patterns()), mechanism)
    y = packed(patterns(mechanism.n_bits)) if mechanism.n_bits else np.arange(mechanism.n_outputs)
    C = mechanism.n_cohorts
    if not C:
        return ldp.Reports(y, mechanism)
    return ldp.Reports(np.concatenate([y] * C), mechanism, cohort=np.repeat(np.arange(C), len(y)))


def report_codes(reports: ldp.Reports) -> np.ndarray:
    """Column number of each report in ``channel().matrix()``."""
    mechanism, y = reports.mechanism, reports.y
    if isinstance(mechanism, ldp.URAP):
        bits, sensitive = mechanism.format.unpack(y), hidden(mechanism)
        noise, told = bits[:, sensitive], bits[:, ~sensitive]
        number = noise @ (1 << np.arange(noise.shape[1]))
        first = per_cohort(mechanism) - told.shape[1]
        return np.where(told.any(axis=1), first + told @ np.arange(told.shape[1]), number)
    if mechanism.n_bits:
        bits = np.unpackbits(y, axis=1, count=mechanism.n_bits, bitorder="little").astype(np.int64)
        y = bits @ (1 << np.arange(mechanism.n_bits))
    if isinstance(mechanism, ldp.SubsetSelection):
        listed = mechanism.channel().patterns() @ (1 << np.arange(mechanism.n_bits))
        return np.searchsorted(listed, y)
    return y if reports.cohort is None else reports.cohort * per_cohort(mechanism) + y


def bit_means(mechanism: ldp.Mechanism, p: np.ndarray) -> np.ndarray:
    """P(bit = 1) under p by enumeration, in one cohort after another."""
    C, law = max(mechanism.n_cohorts, 1), channel(mechanism).forward(p)
    bits = mechanism.format.unpack(all_reports(mechanism).y).astype(float)
    if isinstance(mechanism, ldp.URAP):  # the noise around what is revealed is in no column
        told = bits[:, ~hidden(mechanism)].any(axis=1)
        bits[np.ix_(told, hidden(mechanism))] = mechanism.d1
    law, bits = law.reshape(C, -1), bits.reshape(C, law.size // C, -1)
    return np.einsum("cy,cyj->cj", law, bits).reshape(-1)


def expected_counts(mechanism: ldp.Mechanism, p: np.ndarray, nobs: float) -> ldp.Counts:
    """Counts that equal their expectation under p, to rounding."""
    n = np.rint(nobs * (p @ channel(mechanism).matrix())).astype(np.int64)
    reports, noise = all_reports(mechanism), None
    if isinstance(mechanism, ldp.URAP):
        told = mechanism.format.unpack(reports.y)[:, ~hidden(mechanism)].any(axis=1)
        noise = np.zeros(mechanism.k, dtype=np.int64)
        noise[hidden(mechanism)] = np.rint(n[told].sum() * mechanism.d1)
    return ldp.Counts(reports.y, n, mechanism, cohort=reports.cohort, noise=noise)
