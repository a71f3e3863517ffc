"""The size of tests whose law of permutations is known by its moments.

Sizes must not exceed .060, .018 and .004 at the levels .05, .01 and .001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.permuted_tables import labels, of_table

import ldpstats as ldp
from ldpstats.inference.tables import wald as tables
from ldpstats.inference.tables.independence import pearson
from ldpstats.inference.tables.permutation import (
    permutation_pvalue,
    permuted_table_scores,
)
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue
from ldpstats.models.association.score import score_test, trend_test
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.simplex import project_simplex

Array = npt.NDArray[Any]

# very uneven margins
ROWS = np.array([0.93, 0.05, 0.01, 0.006, 0.004])
COLUMNS = np.array([0.7, 0.2, 0.05, 0.03, 0.01, 0.006, 0.003, 0.001])
LEVELS, MOST = np.array([0.05, 0.01, 0.001]), np.array([0.060, 0.018, 0.004])


def rates(pvalues: Sequence[float]) -> Array:
    return np.asarray(np.mean(np.array(pvalues)[:, None] < LEVELS, axis=0))


def assert_held(pvalues: Sequence[float]) -> None:
    chance = stats.binom.isf(1e-4, len(pvalues), LEVELS) / len(pvalues)
    assert np.all(rates(pvalues) <= np.maximum(MOST, chance)), rates(pvalues)


def krr_law(epsilon: float) -> Array:
    channels = [ldp.KRR(len(p), epsilon).channel().matrix() for p in (ROWS, COLUMNS)]
    return np.outer(ROWS @ channels[0], COLUMNS @ channels[1])


def check_krr(n: int, R: int) -> Array:
    """Sizes with the law of permutations; returned are those of the chi-square law."""
    found, plain = [], []
    for table in labels(krr_law(4.0), n, R, n):
        statistic, df, _ = pearson(table)
        found.append(of_table(table).pvalue(statistic))
        plain.append(float(chi2_pvalue(statistic, df)))
    assert_held(found)
    return rates(plain)


def test_size_on_sparse_tables() -> None:
    """Measured in 20,000: .048, .011, .001; the chi-square law has .156, .095, .051."""
    control = check_krr(200, 1000)
    assert np.all(control > [0.12, 0.06, 0.03])


def answers(p: Array, n: int, rng: np.random.Generator) -> Array:
    return rng.choice(len(p), size=n, p=p)


def pair(made: Callable[[int], Any], n: int, rng: np.random.Generator) -> ldp.AssociationModel:
    x, y = (made(len(p)).privatize(answers(p, n, rng), rng) for p in (ROWS, COLUMNS))
    return ldp.AssociationModel(x, y)


def groups(sizes: Sequence[int], rng: np.random.Generator) -> ldp.AssociationModel:
    """Groups with mechanisms of their own: epsilon 4, 6 and 2."""
    x, y = (
        [
            ldp.KRR(len(p), epsilon).privatize(answers(p, n, rng), rng)
            for n, epsilon in zip(sizes, (4.0, 6.0, 2.0), strict=False)
        ]
        for p in (ROWS, COLUMNS)
    )
    return ldp.AssociationModel(x, y)


def shared(n: int, cohorts: int, rng: np.random.Generator) -> ldp.AssociationModel:
    """Hashed reports whose respondents have one cohort for both variables."""
    mechanism = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=cohorts, f=0.0, p=0.02, q=0.98)
    name = rng.integers(1 << 40)  # new hashes
    lists = [[f"{name}{v}{j}" for j in range(k)] for v, k in (("x", 3), ("y", 4))]
    said = [
        np.array(words)[answers(np.array(p), n, rng)]
        for words, p in zip(lists, ([0.93, 0.05, 0.02], [0.9, 0.06, 0.03, 0.01]), strict=True)
    ]
    x = mechanism.privatize(said[0], rng)
    y = mechanism.privatize(said[1], rng, cohort=x.cohort)
    return ldp.AssociationModel(x, y, candidates=lists)


def pvalues(models: Iterator[ldp.AssociationModel]) -> dict[str, list[float]]:
    """p-values of independence and of trend, and those of the chi-square and the normal law."""
    found: dict[str, list[float]] = {"score": [], "chi-square": [], "trend": [], "normal": []}
    for model in models:
        features = score_test(model.evidence, None)
        found["score"].append(features.pvalue)
        found["chi-square"].append(float(chi2_pvalue(features.statistic, features.df)))
        trend = trend_test(model.evidence, *(np.arange(float(k)) for k in model.sizes))
        found["trend"].append(trend.pvalue)
        found["normal"].append(float(normal_pvalue(trend.statistic)))
    return found


def check_sizes(make: Callable[[np.random.Generator], Any], R: int, seed: int) -> None:
    rng = np.random.default_rng([17, seed])
    found = pvalues(make(rng) for _ in range(R))
    for name in ("score", "trend"):
        assert_held(found[name])
    assert np.all(rates(found["chi-square"]) > MOST)  # control


SURVEYS: dict[str, Callable[[np.random.Generator], ldp.AssociationModel]] = {
    "bits": lambda rng: pair(lambda k: ldp.KRAPPOR(k, 6.0), 200, rng),
    "groups": lambda rng: groups((20, 30, 150), rng),
    "cohorts": lambda rng: shared(200, 4, rng),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bits", "groups", "cohorts"])
def test_sizes(name: str, replications: Callable[[int], int]) -> None:
    check_sizes(SURVEYS[name], replications(2500), 4)


def test_pvalues_are_near_those_of_permutations() -> None:
    rng = np.random.default_rng(9)
    ratios = []
    for table in labels(krr_law(4.0), 200, 200, 5):
        statistic = pearson(table)[0]
        p = of_table(table).pvalue(statistic)
        if p < 0.1:
            each = [np.eye(k) for k in table.shape]
            draws = permuted_table_scores([table], each[:1], each[1:], 1999, rng)
            ratios.append(p / permutation_pvalue(statistic, draws))
    assert len(ratios) > 10
    assert 0.6 < np.quantile(ratios, 0.05) < np.quantile(ratios, 0.95) < 1.6


@pytest.mark.slow
def test_size_of_mutual_independence(replications: Callable[[int], int]) -> None:
    """Of three variables: .049, .011, .003; by the chi-square law .121, .071, .032 (3,000)."""
    laws = (np.array([0.93, 0.05, 0.02]), np.array([0.9, 0.06, 0.03, 0.01]), np.array([0.7, 0.3]))
    rng, found, plain = np.random.default_rng(23), [], []
    for _ in range(replications(2500)):
        reports = [ldp.KRR(len(p), 4.0).privatize(answers(p, 200, rng), rng) for p in laws]
        test = score_test(ldp.AssociationModel(*reports).evidence, None)
        found.append(test.pvalue)
        plain.append(float(chi2_pvalue(test.statistic, test.df)))
    assert_held(found)
    assert np.all(rates(plain) > MOST)


THREE = (np.array([0.8, 0.15, 0.05]), np.array([0.8, 0.15, 0.05]), np.array([0.6, 0.4]))


def joint_channel(epsilon: float) -> Array:
    Q = np.ones((1, 1))
    for p in THREE:
        Q = np.kron(Q, ldp.KRR(len(p), epsilon).channel().matrix())
    return Q


def covariances(Q: Array, shares: Array, n: int) -> tuple[Array, Covariance, Covariance]:
    """Unconstrained estimate; its covariance with the shares as seen, and under the hypothesis."""
    G = np.linalg.inv(Q).T
    estimate = G @ shares
    q = project_simplex(estimate).reshape(3, 3, 2)
    null = np.einsum("ik,jk,k->ijk", q.sum(axis=1), q.sum(axis=0), 1 / q.sum(axis=(0, 1)))
    found = []
    for law in (shares, null.ravel() @ Q):
        p = G @ law
        found.append(Covariance.dense(((G * law) @ G.T - np.outer(p, p)) / n))
    return estimate.reshape(3, 3, 2), found[0], found[1]


def three_way(epsilon: float, n: int, rng: np.random.Generator) -> ldp.AssociationModel:
    law = np.einsum("i,j,k->ijk", *THREE).ravel() @ joint_channel(epsilon)
    mechanisms = [ldp.KRR(len(p), epsilon) for p in THREE]
    counts = ldp.JointCounts.from_table(rng.multinomial(n, law).reshape(3, 3, 2), mechanisms)
    return ldp.AssociationModel(counts)


def test_conditional_independence_uses_the_covariance_under_the_hypothesis() -> None:
    model = three_way(6.0, 1000, np.random.default_rng(3))
    results = model.fit("inversion")
    shares = np.zeros((3, 3, 2))
    (group,) = model.evidence.groups
    np.add.at(shares, tuple(part.y for part in group.counts.reports), group.counts.n / 1000)
    p, _, null = covariances(joint_channel(6.0), shares.ravel(), 1000)
    found = results.test_conditional_independence("z")
    statistic = tables.conditional_independence(p, null)[0]
    assert found.statistic == pytest.approx(statistic, rel=1e-8)
    assert found.method.startswith("score test")
    swapped = results.test_conditional_independence("x")
    assert (swapped.df, swapped.null) == (6.0, "y and z are independent given x")
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.test_conditional_independence("z") == found
    assert again.test_conditional_independence("z", model=model) == found


def check_conditional(epsilon: float, n: int, R: int) -> Array:
    """Sizes with the covariance under the hypothesis; returned are those with that as seen.

    At the most .063 and .022 in 3,000 surveys (300 respondents, smallest expected count .3).
    """
    rng, Q = np.random.default_rng([19, n]), joint_channel(epsilon)
    law = np.einsum("i,j,k->ijk", *THREE).ravel() @ Q
    found: list[list[float]] = [[], []]
    for counts in rng.multinomial(n, law, size=R):
        p, *both = covariances(Q, counts / n, n)
        for pvalues, V in zip(found, both, strict=True):
            statistic, df, _ = tables.conditional_independence(p, V)
            pvalues.append(float(chi2_pvalue(statistic, df)))
    size = rates(found[1])[:2]
    assert np.all(size <= stats.binom.isf(1e-4, R, [0.063, 0.022]) / R), size
    return rates(found[0])


def test_size_of_conditional_independence_with_rare_labels() -> None:
    """.05 and .016 at .05 and .01; with the covariance as seen .41 and .25 (1,000 surveys)."""
    assert check_conditional(8.0, 1000, 300)[0] > 0.2
