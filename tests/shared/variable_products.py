"""Pairs of variables, their dense channels, and models of what they report."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from grid import all_reports

import ldpstats as ldp
from ldpstats.estimators import EM, MLE
from ldpstats.likelihood.rows import Likelihood

Array = npt.NDArray[Any]
Variable = tuple[Any, Any]  # a mechanism, and candidates

ABC, WORDS = ("a", "b", "c"), ("apple", "pear")
VARIABLES: dict[str, Variable] = {
    "krr": (ldp.KRR(3, epsilon=1.0), None),
    "warner": (ldp.Warner(epsilon=1.2), None),
    "wide": (
        ldp.CustomMechanism([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.5, 0.1]]),
        None,
    ),
    "krappor": (ldp.KRAPPOR(ABC, epsilon=1.0), None),
    "rappor": (ldp.RAPPOR(4, 1, 2, f=0.0, p=0.25, q=0.75), WORDS),
    "rappor-closed": (ldp.RAPPOR(4, 1, 2, f=0.1, p=0.25, q=0.75, alphabet=ABC), None),
    "orappor": (ldp.ORAPPOR(4, 1, 2, epsilon=2.0), WORDS),
    "orr": (ldp.ORR(4, 3, epsilon=2.0), WORDS),
    "orr-closed": (ldp.ORR(3, 3, epsilon=2.0, alphabet=ABC), None),
}
PRODUCTS = [
    ("krr", "warner"),
    ("krr", "wide"),
    ("krr", "krappor"),
    ("krappor", "krappor"),
    ("rappor", "krr"),
    ("rappor", "orr"),
    ("orappor", "wide"),
    ("orr-closed", "rappor-closed"),
    ("krr", "wide", "warner"),
    ("krappor", "rappor", "warner"),
]
LABELS = [("krr", "warner"), ("krr", "wide"), ("warner", "wide"), ("krr", "wide", "warner")]
every_product = pytest.mark.parametrize("names", PRODUCTS, ids="-".join)


def variables(names: Sequence[str]) -> list[Variable]:
    return [VARIABLES[name] for name in names]


def channels(pairs: Sequence[Variable]) -> list[Array]:
    """P(report | category), reports of all cohorts side by side, a share 1/C each."""
    return [mechanism.channel(candidates).matrix() for mechanism, candidates in pairs]


def cells_of(pairs: Sequence[Variable], n: Array) -> ldp.JointCounts:
    """Counts n, shape (l_1, ..., l_d), of all combinations of reports."""
    places = np.indices(n.shape).reshape(n.ndim, -1)
    parts = []
    for (mechanism, _), at in zip(pairs, places, strict=True):
        every = all_reports(mechanism)
        cohort = None if every.cohort is None else every.cohort[at]
        parts.append(ldp.Reports(every.y[at], mechanism, cohort=cohort))
    return ldp.JointCounts(parts, n.reshape(-1))


def law_of(pairs: Sequence[Variable], P: Array) -> Array:
    law = P
    for Q in channels(pairs):  # each takes the first axis and puts its own last
        law = np.tensordot(law, Q, (0, 0))
    return np.asarray(law)


def random_law(pairs: Sequence[Variable], seed: int = 1) -> Array:
    sizes = [Q.shape[0] for Q in channels(pairs)]
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(np.prod(sizes), 3.0)).reshape(sizes)


def model_of(pairs: Sequence[Variable], n: Array) -> ldp.AssociationModel:
    return ldp.AssociationModel(cells_of(pairs, n), candidates=[c for _, c in pairs])


def expected(pairs: Sequence[Variable], P: Array, nobs: float = 1e13) -> ldp.AssociationModel:
    """The model of counts that equal their expectation under P, to rounding."""
    return model_of(pairs, np.rint(nobs * law_of(pairs, P)).astype(np.int64))


def drawn(pairs: Sequence[Variable], nobs: int = 3000, seed: int = 7) -> Array:
    law = law_of(pairs, random_law(pairs))
    draw = np.random.default_rng(seed).multinomial(nobs, law.reshape(-1) / law.sum())
    return np.asarray(draw.reshape(law.shape))


def dense(pairs: Sequence[Variable], n: Array) -> Likelihood:
    """The likelihood with the Kronecker product of the channels written out."""
    # given the cohort: a channel's matrix has the share 1/C in it
    Qs = [
        Q * max(mechanism.n_cohorts, 1)
        for Q, (mechanism, _) in zip(channels(pairs), pairs, strict=True)
    ]
    return Likelihood(reduce(np.kron, [Q.T for Q in Qs]), n.reshape(-1))


def krr_table(seed: int = 3) -> ldp.JointCounts:
    table = np.random.default_rng(seed).integers(80, 300, size=(3, 4))
    return ldp.JointCounts.from_table(
        table, (ldp.KRR(ABC, epsilon=2.0), ldp.KRR(("k", "l", "m", "n"), epsilon=3.0))
    )


def survey(seed: int = 2, n: int = 900) -> tuple[ldp.Reports, ldp.Reports]:
    rng = np.random.default_rng(seed)
    true = rng.choice(9, n, p=random_law(variables(("krr", "krappor"))).reshape(-1))
    x = VARIABLES["krr"][0].privatize(true // 3, rng)
    y = VARIABLES["krappor"][0].privatize(np.array(ABC)[true % 3], rng)
    return x, y


def taken(reports: ldp.Reports, rows: Any) -> ldp.Reports:
    cohort = None if reports.cohort is None else reports.cohort[rows]
    return ldp.Reports(reports.y[rows], reports.mechanism, cohort=cohort)


def tight(method: str) -> Any:
    return {"mle": MLE(tol=1e-11), "em": EM(tol=1e-11)}.get(method, method)


def shared_counts(P: Array, nobs: float) -> tuple[ldp.JointCounts, Array, Array]:
    """Expected counts of two RAPPOR reports whose respondents have one cohort, W and n."""
    mechanism = ldp.RAPPOR(4, 1, 3, f=0.0, p=0.25, q=0.75)  # words collide in a cohort
    Q = np.split(mechanism.channel(WORDS).matrix() * 3, 3, axis=1)
    every = all_reports(mechanism)
    shares, parts, rows = (0.5, 0.3, 0.2), [], []
    for c, share in enumerate(shares):
        law = Q[c].T @ P @ Q[c]
        at = np.indices(law.shape).reshape(2, -1) + 16 * c
        parts.append((at, np.rint(nobs * share * law).astype(np.int64).reshape(-1)))
        rows.append(np.kron(Q[c].T, Q[c].T))
    at = np.hstack([part[0] for part in parts])
    n = np.concatenate([part[1] for part in parts])
    reports = [ldp.Reports(every.y[i], mechanism, cohort=every.cohort[i]) for i in at]
    return ldp.JointCounts(reports, n), np.vstack(rows), n


def three(nobs: int = 30_000, epsilon: float = 3.0) -> ldp.AssociationResults:
    """X and Y independent given Z, with the same odds ratio (one) at either level."""
    P = np.zeros((2, 3, 2))
    P[:, :, 0] = 0.55 * np.outer([0.7, 0.3], [0.5, 0.3, 0.2])
    P[:, :, 1] = 0.45 * np.outer([0.3, 0.7], [0.2, 0.4, 0.4])
    pairs: list[Variable] = [(ldp.KRR(k, epsilon), None) for k in (2, 3, 2)]
    n = np.rint(nobs * law_of(pairs, P)).astype(np.int64)
    return ldp.AssociationModel(cells_of(pairs, n), names=("u", "v", "w")).fit()
