"""Tests of independence of fitted tables, each by hand."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from grid import report_codes
from scipy import stats
from shared.variable_products import (
    VARIABLES,
    WORDS,
    Array,
    Variable,
    channels,
    dense,
    drawn,
    krr_table,
    model_of,
    shared_counts,
    survey,
    variables,
)

import ldpstats as ldp
from ldpstats.estimators.mle import MLE
from ldpstats.problems.problem import Likelihood

# -- tests -------------------------------------------------------------------------------------


def test_score_and_pearson_are_the_chi_square_of_the_table() -> None:
    counts = krr_table()
    results = ldp.AssociationModel(counts).fit()
    chi = stats.chi2_contingency(counts.table(), correction=False)
    for method in ("score", "pearson"):
        test = results.test_independence(method)
        assert test.statistic == pytest.approx(chi.statistic, rel=1e-9)
        assert test.df == chi.dof
        assert test.pvalue == pytest.approx(chi.pvalue, rel=1e-8)
    assert results.independence is not None
    assert results.independence.statistic == pytest.approx(chi.statistic, rel=1e-9)
    assert "x and y are independent" in str(results.test_independence())


def test_score_is_the_chi_square_at_the_boundary_too() -> None:
    # the marginal fit has a zero; scores still span all functions of the report
    mechanisms = ldp.KRR(3, epsilon=1.0), ldp.KRR(2, epsilon=1.0)
    table = [[120, 80], [70, 90], [20, 13]]
    with pytest.warns(ldp.MisfitWarning, match="^x: goodness of fit"):
        results = ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms)).fit()
    assert results.on_boundary
    chi = stats.chi2_contingency(table, correction=False)
    assert results.test_independence().statistic == pytest.approx(chi.statistic, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 6.0])
def test_score_is_pearson_where_a_margin_is_at_a_vertex(epsilon: float) -> None:
    # a category that the margin takes for the only one has a score of one, up to rounding
    krr, rng = ldp.KRR(2, epsilon), np.random.default_rng(6)
    tables = [rng.multinomial(1000, law) for law in ([0.9, 0.05, 0.04, 0.01], [1, 0, 0, 0])]
    tables += [[767, 125, 95, 13], [50, 0, 0, 0], [500, 500, 0, 0]]
    for table in tables:
        joint = ldp.JointCounts.from_table(np.reshape(table, (2, 2)), (krr, krr))
        n = np.reshape(table, (2, 2))
        least = min(n.sum(axis=0).min(), n.sum(axis=1).min())  # the noise alone makes more
        misfit = 2.0 * stats.binom.cdf(least, n.sum(), krr.channel().b) < 1e-3
        with pytest.warns(ldp.MisfitWarning) if misfit else nullcontext():
            results = ldp.AssociationModel(joint).fit("inversion")
        try:
            pearson = results.test_independence("pearson")
        except ldp.NotIdentified:
            assert results.independence is None
            continue
        assert results.independence is not None and results.independence.df == pearson.df
        assert results.independence.statistic == pytest.approx(pearson.statistic, rel=1e-9)


def test_score_by_hand_for_bits() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    r, c = model.evidence.references
    scores = []
    for reports, p in ((x, r), (y, c)):
        Q = reports.mechanism.channel().matrix()
        W = Q.T[report_codes(reports)]
        scores.append(W / (W @ p)[:, None])
    a, b = (s - s.mean(axis=0) for s in scores)
    n = len(x)
    S = a.T @ b / n
    pinv = [np.linalg.pinv(s.T @ s / n, rcond=1e-8, hermitian=True) for s in (a, b)]
    by_hand = n * np.trace(pinv[0] @ S @ pinv[1] @ S.T)
    test = model.fit("inversion").test_independence()
    assert test.statistic == pytest.approx(by_hand, rel=1e-6)
    assert test.df == 4


def test_likelihood_ratio_by_hand() -> None:
    for names in (("krr", "wide"), ("krappor", "krr"), ("rappor-closed", "warner")):
        pairs = variables(names)
        n = drawn(pairs)
        brute = dense(pairs, n)
        margins = []
        for v, Q in enumerate(channels(pairs)):
            others = tuple(a for a in range(n.ndim) if a != v)
            margins.append(MLE(tol=1e-12).solve(Likelihood(Q.T, n.sum(axis=others))).p)
        null = brute.loglike(np.kron(*margins))
        best = brute.loglike(MLE(tol=1e-12).solve(brute).p)
        test = model_of(pairs, n).fit().test_independence("lr")
        # either maximum is certified to 1e-3 nats
        assert test.statistic == pytest.approx(2.0 * (best - null), abs=5e-3)
        assert test.df == (margins[0].size - 1) * (margins[1].size - 1)
        assert test.pvalue == pytest.approx(stats.chi2.sf(test.statistic, test.df), rel=1e-9)


def test_wald_by_hand() -> None:
    results = ldp.AssociationModel(krr_table()).fit()
    P, V = results.linear_table.to_numpy(), results.linear_cov.to_numpy()

    def departure(cells: Array) -> Array:
        table = cells.reshape(3, 4)
        return np.asarray(
            (table.sum() * table - np.outer(table.sum(axis=1), table.sum(axis=0)))[:-1, :-1].ravel()
        )

    step = 1e-6
    G = np.column_stack(
        [
            (departure(P.ravel() + step * e) - departure(P.ravel() - step * e)) / (2 * step)
            for e in np.eye(12)
        ]
    )
    d = departure(P.ravel())
    by_hand = d @ np.linalg.solve(G @ V @ G.T, d)
    test = results.test_independence("wald")
    assert test.statistic == pytest.approx(by_hand, rel=1e-6)
    assert test.df == 6


def test_fpe16_by_hand() -> None:
    results = ldp.AssociationModel(krr_table()).fit(MLE(tol=1e-12))
    assert not results.on_boundary
    p = results.fitted.estimate
    table = results.table.to_numpy()
    d = (table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
    pairs: list[Variable] = [(m, None) for m in krr_table().mechanisms]
    by_hand = d @ dense(pairs, krr_table().table()).information(p) @ d
    assert results.test_independence("fpe16").statistic == pytest.approx(by_hand, rel=1e-8)


def test_trend_is_the_correlation_of_unbiased_scores() -> None:
    counts = krr_table()
    table = counts.table().astype(float)
    scores = [np.array([1.0, 2.0, 5.0]), np.array([0.0, 1.0, 2.0, 4.0])]
    u, v = (
        np.linalg.inv(m.channel().matrix()) @ s
        for m, s in zip(counts.mechanisms, scores, strict=True)
    )
    N = table.sum()
    u, v = u - table.sum(axis=1) @ u / N, v - table.sum(axis=0) @ v / N
    r = u @ table @ v / np.sqrt((table.sum(axis=1) @ u**2) * (table.sum(axis=0) @ v**2))
    test = ldp.AssociationModel(counts).fit().test_trend(*scores)
    assert test.statistic == pytest.approx(np.sqrt(N) * r, rel=1e-9)
    assert test.pvalue == pytest.approx(2 * stats.norm.sf(abs(test.statistic)), rel=1e-9)
    shifted = ldp.AssociationModel(counts).fit().test_trend(*(3.0 * s - 7.0 for s in scores))
    assert shifted.statistic == pytest.approx(test.statistic, rel=1e-9)


def test_bootstrap_repeats_with_its_seed() -> None:
    x, y = survey(n=200)
    model = ldp.AssociationModel(x, y)
    results = model.fit()
    tests = [
        model.test_independence(results, "bootstrap", rng=np.random.default_rng(1), n_boot=9)
        for _ in range(2)
    ]
    assert tests[0] == tests[1]
    assert tests[0].pvalue in {i / 10 for i in range(1, 11)}


def test_trend_of_reports_that_do_not_span_the_scores_is_no_number() -> None:
    # two patterns of bits: nothing tells three categories apart
    rng = np.random.default_rng(3)
    x = ldp.Reports(rng.integers(1, 3, (300, 1)).astype(np.uint8), VARIABLES["krappor"][0])
    y = ldp.Reports(rng.integers(0, 2, 300), VARIABLES["warner"][0])
    with pytest.warns(ldp.MisfitWarning):  # as many ones in every report
        results = ldp.AssociationModel(x, y).fit()
    with pytest.raises(ldp.errors.NotIdentified):
        results.test_trend()


# -- shared cohorts ----------------------------------------------------------------------------


def test_shared_cohorts_have_the_independence_test_within() -> None:
    # independent within cohorts exactly: the statistic vanishes
    P = np.outer([0.7, 0.3], [0.4, 0.6])
    counts, _, _ = shared_counts(P, 1e9)
    results = ldp.AssociationModel(counts, candidates=[WORDS, WORDS]).fit("inversion")
    test = results.test_independence()
    assert test.statistic < 1e-6
    assert "3 strata" in test.method
