"""What joint estimates do not depend on: order, names, groups, and how cohorts are shared."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import pytest
from shared.variable_products import (
    WORDS,
    Variable,
    cells_of,
    channels,
    dense,
    law_of,
    random_law,
    shared_counts,
    survey,
    taken,
    tight,
    variables,
)

import ldpstats as ldp
from ldpstats.errors import NotAvailable
from ldpstats.estimators.em import EM
from ldpstats.estimators.mle import MLE
from ldpstats.problems.problem import Likelihood

# -- invariances -------------------------------------------------------------------------------

METHODS = ["mle", "em", "inversion"]


@pytest.mark.parametrize("method", METHODS)
def test_chunks_and_order_do_not_matter(method: str) -> None:
    x, y = survey()
    whole = ldp.AssociationModel(x, y).fit(tight(method))
    order = np.random.default_rng(5).permutation(len(x))
    mixed = ldp.AssociationModel(taken(x, order), taken(y, order)).fit(tight(method))
    parts = [slice(0, 100), slice(100, 101), slice(101, 900)]
    chunks = sum(ldp.JointCounts((taken(x, s), taken(y, s))).tally() for s in parts)
    assert isinstance(chunks, ldp.JointCounts)
    summed = ldp.AssociationModel(chunks).fit(tight(method))
    for other in (mixed, summed):
        np.testing.assert_allclose(other.table, whole.table, atol=1e-6 if method == "em" else 1e-9)
        np.testing.assert_allclose(other.linear_bse, whole.linear_bse, rtol=1e-9)
        assert other.independence is not None and whole.independence is not None
        assert other.independence.statistic == pytest.approx(whole.independence.statistic, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_swapping_the_variables_transposes_the_table(method: str) -> None:
    x, y = survey()
    one = ldp.AssociationModel(x, y, names=("p", "q")).fit(tight(method))
    two = ldp.AssociationModel(y, x, names=("q", "p")).fit(tight(method))
    close = {"atol": 1e-6 if method == "em" else 1e-9, "rtol": 0}
    np.testing.assert_allclose(two.table.T, one.table, **close)
    np.testing.assert_allclose(two.bse_table.T, one.bse_table, **close)
    np.testing.assert_allclose(two.linear_table.T, one.linear_table, **close)
    for test in ("score", "wald", "lr"):
        assert two.test_independence(test).pvalue == pytest.approx(
            one.test_independence(test).pvalue, rel=1e-4
        )
    pd.testing.assert_frame_equal(two.conditional("p"), one.conditional("p"), atol=1e-8, rtol=0)


def test_names_of_the_categories_do_not_matter() -> None:
    table = np.random.default_rng(1).integers(50, 90, size=(3, 2))
    plain = (ldp.KRR(3, epsilon=1.0), ldp.KRR(2, epsilon=1.0))
    odd = (ldp.KRR(("Other", "a:b", " "), epsilon=1.0), ldp.KRR((True, False), epsilon=1.0))
    fits = [
        ldp.AssociationModel(ldp.JointCounts.from_table(table, pair)).fit() for pair in (plain, odd)
    ]
    np.testing.assert_array_equal(fits[0].table, fits[1].table)
    assert fits[1].table.index.tolist() == ["Other", "a:b", " "]
    assert fits[1].table.columns.tolist() == [True, False]


def test_mixed_groups_are_one_likelihood() -> None:
    rng = np.random.default_rng(6)
    P = random_law(variables(("krr", "warner")))
    groups = []
    for ex, ey, nobs in ((0.5, 1.0, 700), (3.0, 2.0, 400), (1.0, 0.3, 900)):
        pairs: list[Variable] = [(ldp.KRR(3, epsilon=ex), None), (ldp.Warner(epsilon=ey), None)]
        law = law_of(pairs, P)
        groups.append((pairs, rng.multinomial(nobs, law.reshape(-1)).reshape(law.shape)))
    model = ldp.AssociationModel([cells_of(pairs, n) for pairs, n in groups])
    W = np.vstack([np.asarray(dense(pairs, n).W.dense()) for pairs, n in groups])
    brute = Likelihood(W, np.concatenate([n.reshape(-1) for _, n in groups]))
    for method in (MLE(tol=1e-9), EM(tol=1e-9)):
        results = model.fit(method)
        assert brute.gap(results.fitted.estimate) <= 1.1e-9
        assert results.llf == pytest.approx(brute.loglike(results.fitted.estimate), abs=1e-8)
    assert results.nobs == 2000
    # the expected information adds up over groups
    p = results.fitted.estimate
    J = np.zeros((6, 6))
    for pairs, n in groups:
        Q = reduce(np.kron, channels(pairs))
        J += n.sum() * (Q / (p @ Q)) @ Q.T
    V = np.linalg.inv(J) - np.outer(p, p) / 2000
    np.testing.assert_allclose(results.cov_params(), V, atol=1e-12)
    with pytest.raises(NotAvailable, match="one product channel"):
        results.test_independence("pearson")


@pytest.mark.parametrize("method", ["one_step", "mle", "moments-gls"])
def test_mixed_groups_give_back_the_truth(method: str) -> None:
    P = random_law(variables(("krr", "krappor")))
    groups = []
    for ex, ey, nobs in ((0.5, 1.0, 1e12), (3.0, 2.0, 3e12)):
        pairs: list[Variable] = [(ldp.KRR(3, ex), None), (ldp.KRAPPOR(3, ey), None)]
        groups.append(cells_of(pairs, np.rint(nobs * law_of(pairs, P)).astype(np.int64)))
    results = ldp.AssociationModel(groups).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), atol=1e-8)


def test_epsilon_and_missing_answers_of_groups() -> None:
    rng = np.random.default_rng(2)
    one, three = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    made = [m.privatize(rng.integers(2, size=50), rng) for m in (one, three, three, one)]
    results = ldp.AssociationModel(made[:2], made[2:]).fit()
    assert results.epsilon == pytest.approx(4.0)  # not 6: nobody answers with 3 twice
    assert results.n_missing == 0


# -- shared cohorts ----------------------------------------------------------------------------


def test_shared_cohorts_are_strata() -> None:
    P = np.array([[0.45, 0.05], [0.1, 0.4]])
    counts, W, n = shared_counts(P, 1e12)
    assert counts.shared_cohorts
    model = ldp.AssociationModel(counts, candidates=[WORDS, WORDS])
    assert model.shared_cohorts
    for method in ("inversion", "one_step", "mle", EM(tol=1e-9)):
        results = model.fit(method)
        np.testing.assert_allclose(
            results.fitted.estimate, P.reshape(-1), atol=1e-6 if isinstance(method, EM) else 1e-9
        )
        assert results.n_strata == 3
    p = np.array([0.3, 0.2, 0.1, 0.4])
    assert model.likelihood().loglike(p) == pytest.approx(Likelihood(W, n).loglike(p), rel=1e-12)
    with pytest.raises(NotAvailable, match="score"):
        results.test_independence("pearson")


def test_cohorts_taken_for_independent_would_be_wrong() -> None:
    # the control: the inverse of the product of mean responses is biased under shared cohorts
    P = np.array([[0.45, 0.05], [0.1, 0.4]])
    counts, _, _ = shared_counts(P, 1e12)
    strata = ldp.AssociationModel(counts, candidates=[WORDS, WORDS]).moments().strata
    sums = sum(s.sums for s in strata).reshape(2, 2) / counts.nobs
    mean = [sum(s.nobs * s.responses[v] for s in strata) / counts.nobs for v in range(2)]
    naive = np.linalg.solve(mean[0], np.linalg.solve(mean[1], sums.T).T)
    assert np.abs(naive - P).max() > 1e-3
