"""Estimates and tests of joint tables, against dense Kronecker channels and by hand."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from grid import all_reports, report_codes
from scipy import stats
from shared.refusals import refuses, said
from shared.variable_products import (
    ABC,
    LABELS,
    VARIABLES,
    WORDS,
    Array,
    Variable,
    cells_of,
    channels,
    dense,
    drawn,
    every_product,
    expected,
    krr_table,
    law_of,
    model_of,
    random_law,
    shared_counts,
    survey,
    taken,
    three,
    tight,
    variables,
)

import ldpstats as ldp
from ldpstats.estimators import EM, MLE
from ldpstats.inference.tables.independence import CrossMoments, linear_trend, score
from ldpstats.likelihood.rows import Likelihood


# -- linear estimates --------------------------------------------------------------------------
@every_product
@pytest.mark.parametrize("method", ["inversion", "one_step", "mle"])
def test_expected_counts_give_back_the_truth(names, method):
    pairs = variables(names)
    P = random_law(pairs)
    results = expected(pairs, P).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(results.linear.estimate, P.reshape(-1), rtol=0, atol=1e-9)


def brute_features(pair: Variable) -> Array:
    """Linear estimate of each single report, shape (k, l), written out for equal cohorts."""
    mechanism, candidates = pair
    Q = mechanism.channel(candidates).matrix()
    C = max(mechanism.n_cohorts, 1)
    if mechanism.n_bits:
        codes = np.arange(2**mechanism.n_bits)
        shown = ((codes[:, None] >> np.arange(mechanism.n_bits)) & 1).astype(float)
    else:
        shown = np.eye(mechanism.n_outputs)
    blocks = np.split(Q * C, C, axis=1)
    if not mechanism.n_cohorts:
        if mechanism.n_bits:
            A = blocks[0] @ shown  # E[bit | category]
            low = A.min()
            return np.asarray(((shown - low) / (A.max() - low)).T)
        weights = 1.0 / Q.mean(axis=0)
        return np.asarray(np.linalg.solve((Q * weights) @ Q.T, Q * weights))
    means = [block @ shown for block in blocks]
    low, high = min(m.min() for m in means), max(m.max() for m in means)
    if mechanism.is_open:  # answers that are not listed own a cell at random: that is the origin
        low += (high - low) / len(shown.T)
    designs = [block @ shown - low for block in blocks]  # (k, cells)
    R = sum(A @ A.T for A in designs) / C
    return np.hstack([np.linalg.solve(R, A @ (shown - low).T) for A in designs])


def brute_covariance(pairs: Sequence[Variable], P: Array, nobs: float) -> Array:
    """Multinomial covariance of the mean of products of single-report estimates."""
    G = reduce(np.kron, [brute_features(pair) for pair in pairs])
    m = law_of(pairs, P).reshape(-1)
    return np.asarray((G * m) @ G.T - np.outer(G @ m, G @ m)) / nobs


@pytest.mark.parametrize("names", LABELS, ids="-".join)
def test_linear_covariance_of_labels_is_multinomial(names):
    pairs = variables(names)
    n = drawn(pairs, nobs=20_000)
    model = model_of(pairs, n)
    moments = model.moments()
    # by default the law of the reports as seen; all are seen often here
    sizes = [mechanism.n_outputs for mechanism, _ in pairs]
    assert n.min() >= 10 and n.size == np.prod(sizes)
    channels = [mechanism.channel().matrix() for mechanism, _ in pairs]
    if all(len(Q) == len(Q.T) for Q in channels):
        G, law = reduce(np.kron, [np.linalg.inv(Q.T) for Q in channels]), n.reshape(-1) / n.sum()
        brute = G @ (np.diag(law) - np.outer(law, law)) @ G.T / n.sum()
        np.testing.assert_allclose(moments.covariance().matrix(), brute, rtol=1e-9, atol=1e-15)
    given = random_law(pairs, 9)
    brute = brute_covariance(pairs, given, n.sum())
    V = moments.covariance(given.reshape(-1)).matrix()
    np.testing.assert_allclose(V, brute, rtol=1e-9, atol=1e-15)


@every_product
def test_linear_covariance_at_the_expected_counts(names):
    # the observed spread of the products of features, at counts that equal their expectation,
    # is their expected spread; cohorts enter through the shares seen, which are equal here
    pairs = variables(names)
    P = random_law(pairs)
    model = expected(pairs, P, nobs=1e10)
    V = model.moments().covariance().matrix()
    np.testing.assert_allclose(V, brute_covariance(pairs, P, model.nobs), rtol=1e-6, atol=1e-16)


def test_large_tables_have_standard_errors_without_covariances():
    # the limit on covariances is 2,048 cells; below it both are computed and agree
    rng = np.random.default_rng(4)
    reports = [ldp.KRR(k, 3.0).privatize(rng.integers(k, size=4000), rng) for k in (7, 46, 46)]
    small = ldp.AssociationModel(*reports[:2]).moments()
    np.testing.assert_allclose(
        small.variances(), small.covariance().variances(), rtol=1e-9, atol=1e-16
    )
    bits = ldp.KRAPPOR(5, 3.0).privatize(rng.integers(5, size=4000), rng)
    mixed = ldp.AssociationModel(reports[0], bits).moments()
    np.testing.assert_allclose(mixed.variances(), mixed.covariance().variances(), rtol=1e-9)
    dense = ldp.CustomMechanism(ldp.KRR(46, 3.0).channel().matrix(), range(46), range(46))
    pair = (ldp.Reports(part.y, dense) for part in reports[1:])  # nothing is known of its structure
    results = ldp.AssociationModel(*pair).fit("inversion")
    again = ldp.AssociationResults.from_json(results.to_json())
    assert results.linear.covariance is None and not again.linear_bse.isna().any()
    pd.testing.assert_frame_equal(results.conf_int(), again.conf_int())
    with pytest.raises(ldp.NotAvailable, match="other=True"):
        again.cramers_v()


# -- a constant variable -----------------------------------------------------------------------
@pytest.mark.parametrize("names", [("krr", "wide"), ("krr", "krappor"), ("warner", "krappor")])
def test_margins_of_the_linear_estimate_are_those_of_one_variable(names):
    pairs = variables(names)
    results = model_of(pairs, drawn(pairs)).fit("inversion")
    counts = cells_of(pairs, drawn(pairs))
    mechanism = pairs[0][0]
    n = np.bincount(report_codes(counts.reports[0]), weights=counts.n)
    alone = ldp.FrequencyModel(mechanism.counts(n.astype(np.int64))).fit("inversion")
    # summed over a variable whose features sum to one: labels; unary bits need not
    if pairs[1][0].n_bits == 0:
        np.testing.assert_allclose(results.table.sum(axis=1), alone.params, atol=1e-12)
    margin = results.margins()["x"]
    np.testing.assert_allclose(margin["params"], results.table.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(margin["linear"], alone.linear_params, atol=1e-12)
    np.testing.assert_allclose(margin[["lower", "upper"]], alone.conf_int(), atol=1e-12)


def test_product_tables_keep_their_margins():
    # reports that are exactly independent: the joint maximum is the product of the marginal ones
    x, y = np.array([50, 30, 20]), np.array([40, 25, 20, 15])
    mechanisms = ldp.KRR(ABC, epsilon=2.0), ldp.KRR(("k", "l", "m", "n"), epsilon=3.0)
    counts = ldp.JointCounts.from_table(np.outer(x, y), mechanisms)
    results = ldp.AssociationModel(counts).fit(MLE(tol=1e-12))
    margins = [
        ldp.FrequencyModel(m.counts(n * k)).fit().params.to_numpy()
        for m, n, k in zip(mechanisms, (x, y), (100, 100), strict=True)
    ]
    np.testing.assert_allclose(results.table, np.outer(*margins), atol=1e-9)
    assert results.test_independence().statistic == pytest.approx(0.0, abs=1e-9)
    assert results.test_independence("lr").statistic == pytest.approx(0.0, abs=1e-6)


# -- likelihood estimates ----------------------------------------------------------------------
@every_product
def test_likelihood_is_that_of_the_dense_channel(names):
    pairs = variables(names)
    n = drawn(pairs)
    ours, brute = model_of(pairs, n).likelihood(), dense(pairs, n)
    p = random_law(pairs, 5).reshape(-1)
    assert ours.loglike(p) == pytest.approx(brute.loglike(p), rel=1e-12)
    np.testing.assert_allclose(ours.score(p), brute.score(p), rtol=1e-10)
    np.testing.assert_allclose(ours.information(p), brute.information(p), rtol=1e-9)


@every_product
def test_mle_and_em_reach_the_dense_maximum(names):
    pairs = variables(names)
    n = drawn(pairs)
    model, brute = model_of(pairs, n), dense(pairs, n)
    best = MLE(tol=1e-10).solve(brute)
    default = model.fit()  # which keeps its certificate
    assert brute.gap_nats(default.fitted.estimate) == pytest.approx(default.gap_nats, abs=1e-6)
    assert default.method == "mle" and default.gap_nats <= 1e-3
    for method in (MLE(tol=1e-9), EM(tol=1e-9)):
        results = model.fit(method)
        assert results.converged
        assert brute.gap(results.fitted.estimate) <= 1.1e-9
        assert results.gap <= 1e-9
        # a gap of 1e-9 per report bounds the difference by 1e-9 n nats
        assert abs(results.llf - brute.loglike(best.p)) <= 1e-9 * n.sum() + 1e-8


def test_one_step_is_refused_where_small_strata_bias_it():
    # by 1.8 standard deviations in 64 strata of ten, by .7 in 64 of a hundred
    rng, words = np.random.default_rng(1), ["a", "b", "c"]
    rappor = ldp.RAPPOR(16, 2, 64, f=0.0, p=0.1, q=0.9)
    x = rappor.privatize(rng.choice(words, 640), rng)
    y = rappor.privatize(rng.choice(words, 640), rng, cohort=x.cohort)
    model = ldp.AssociationModel(x, y, candidates=(words, words))
    with pytest.raises(ldp.NotAvailable, match="64 strata"):
        model.fit("one_step")
    assert model.fit("mle").converged


def test_one_step_is_inversion_for_square_channels():
    # and so is its covariance, with its floor for combinations that were seen seldom
    krr, binary = ldp.KRR(3, 3.0), ldp.KRR(2, 1.0)
    table = [[500, 3], [40, 200], [0, 12]]
    model = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, binary)))
    with pytest.warns(ldp.MisfitWarning):
        one, linear = model.fit("one_step"), model.fit("inversion")
    np.testing.assert_allclose(one.params, linear.params, atol=1e-12)
    np.testing.assert_allclose(one.bse, linear.bse, rtol=1e-9)


def test_constrained_fits_have_no_covariance_and_do_not_enter_tests():
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    free = model.fit()
    held = model.fit(MLE(constraints=lambda p: [p[0] == 0.2]))
    assert held.fitted.estimate[0] == pytest.approx(0.2, abs=1e-6)
    for method in ("lr", "fpe16"):  # the joint maximum is meant, not the constrained one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statistics = [r.test_independence(method).statistic for r in (held, free)]
        assert statistics[0] == pytest.approx(statistics[1], abs=0.01)
    # as for one variable: a frequency that is held has no standard error of the free one
    assert held.cov_type == "none (constrained)"
    for errors in ("bse", "bse_table"):
        with pytest.warns(ldp.LDPWarning, match="a constrained estimate has no standard errors"):
            assert np.isnan(np.asarray(getattr(held, errors))).all()
    assert "NOTE: a constrained estimate has no standard errors" in held.summary().as_text()


# -- information -------------------------------------------------------------------------------
@pytest.mark.parametrize("names", LABELS, ids="-".join)
def test_expected_information_is_that_of_the_kronecker_channel(names):
    pairs = variables(names)
    n = drawn(pairs, nobs=20_000)
    results = model_of(pairs, n).fit(MLE(tol=1e-12))
    p = results.fitted.estimate
    Q = reduce(np.kron, channels(pairs))
    J = n.sum() * (Q / (p @ Q)) @ Q.T
    V = np.linalg.inv(J)
    assert results.cov_type == "expected"
    np.testing.assert_allclose(results.cov_params(), V - np.outer(p, p) / n.sum(), atol=1e-14)
    # (I1): J p = n, so that rows of the tangent covariance sum to zero
    np.testing.assert_allclose(J @ p, n.sum(), rtol=1e-9)
    np.testing.assert_allclose(results.cov_params().sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(results.cov_params("fpe16"), V, rtol=1e-8, atol=1e-14)
    refit = model_of(pairs, n).fit(MLE(tol=1e-12), cov_type="fpe16")
    assert refit.cov_type == "fpe16"
    np.testing.assert_allclose(refit.cov_params(), V, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("names", [("krappor", "krr"), ("orr-closed", "rappor-closed")])
def test_observed_information_on_the_tangent_space(names):
    pairs = variables(names)
    P = random_law(pairs)
    law = law_of(pairs, P)
    n = np.random.default_rng(4).multinomial(100_000, law.reshape(-1)).reshape(law.shape)
    results = model_of(pairs, n).fit(MLE(tol=1e-12))
    assert results.cov_type == "observed"
    p, J = results.fitted.estimate, dense(pairs, n).information(results.fitted.estimate)
    assert p.min() > 0.0
    B = np.linalg.svd(np.ones((1, p.size)))[2][1:].T
    V = B @ np.linalg.inv(B.T @ J @ B) @ B.T
    np.testing.assert_allclose(results.cov_params(), V, rtol=1e-6, atol=1e-12)
    # (I1) at an interior maximum: the tangent covariance is J^-1 - p p' / n
    np.testing.assert_allclose(V, np.linalg.inv(J) - np.outer(p, p) / n.sum(), atol=1e-10)
    np.testing.assert_allclose(results.cov_params().sum(axis=0), 0.0, atol=1e-12)
    fpe16 = model_of(pairs, n).fit(MLE(tol=1e-12), cov_type="fpe16").cov_params()
    np.testing.assert_allclose(fpe16, np.linalg.inv(J), rtol=1e-6, atol=1e-12)


# -- tests -------------------------------------------------------------------------------------
def test_score_and_pearson_are_the_chi_square_of_the_table():
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


@pytest.mark.parametrize("epsilon", [0.01, 6.0])
def test_score_is_pearson_where_a_margin_is_at_a_vertex(epsilon):
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


def test_score_by_hand_for_bits():
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


def test_likelihood_ratio_by_hand():
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


def test_wald_by_hand():
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


def test_fpe16_by_hand():
    results = ldp.AssociationModel(krr_table()).fit(MLE(tol=1e-12))
    assert not results.on_boundary
    p = results.fitted.estimate
    table = results.table.to_numpy()
    d = (table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
    pairs: list[Variable] = [(m, None) for m in krr_table().mechanisms]
    by_hand = d @ dense(pairs, krr_table().table()).information(p) @ d
    assert results.test_independence("fpe16").statistic == pytest.approx(by_hand, rel=1e-8)


def test_trend_is_the_correlation_of_unbiased_scores():
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


# -- shared cohorts ----------------------------------------------------------------------------
def test_shared_cohorts_have_the_independence_test_within():
    # independent within cohorts exactly: the statistic vanishes
    P = np.outer([0.7, 0.3], [0.4, 0.6])
    counts, _, _ = shared_counts(P, 1e9)
    results = ldp.AssociationModel(counts, candidates=[WORDS, WORDS]).fit("inversion")
    test = results.test_independence()
    assert test.statistic < 1e-6
    assert "3 strata" in test.method


def test_three_way_tables_are_series():
    results = three()
    for table in (results.table, results.linear_table, results.bse_table):
        assert isinstance(table, pd.Series)
        assert isinstance(table.index, pd.MultiIndex)
        assert list(table.index.names) == ["u", "v", "w"]
        assert len(table) == 12
    assert results.sizes == (2, 3, 2)
    assert set(results.margins()) == {"u", "v", "w"}
    np.testing.assert_allclose(results.margins()["w"]["params"], [0.55, 0.45], atol=1e-3)


def test_three_way_tests_tell_the_hypotheses_apart():
    results = three()
    conditional = results.test_conditional_independence("w")
    assert conditional.statistic < 0.01
    assert conditional.df == 4
    assert results.test_conditional_independence("u").pvalue < 1e-6
    same = results.test_homogeneity("w")
    assert same.statistic < 0.01
    assert same.df == 2
    for method in ("score", "lr"):
        mutual = results.test_independence(method)
        assert mutual.pvalue < 1e-6
        assert mutual.df == 12 - 1 - (1 + 2 + 1)
        assert "u, v and w are independent" in mutual.null


def test_mutual_score_test_is_the_chi_square_of_the_three_way_table():
    table = np.random.default_rng(2).integers(40, 80, size=(2, 3, 2))
    mechanisms = [ldp.KRR(k, epsilon=1.5) for k in (2, 3, 2)]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms)).fit()
    chi = stats.chi2_contingency(table, correction=False)
    test = results.test_independence()
    assert test.statistic == pytest.approx(chi.statistic, rel=1e-9)
    assert test.df == chi.dof


def test_three_variables_of_which_two_share_cohorts():
    P = random_law([VARIABLES["rappor"], VARIABLES["rappor"], VARIABLES["warner"]])
    mechanism, candidates = ldp.RAPPOR(3, 1, 2, f=0.0, p=0.25, q=0.75), WORDS
    Q = np.split(mechanism.channel(candidates).matrix() * 2, 2, axis=1)
    warner = VARIABLES["warner"][0]
    every, parts, n = all_reports(mechanism), [], []
    for c in range(2):
        law = np.einsum("ijk,ia,jb,kd->abd", P, Q[c], Q[c], warner.channel().matrix())
        at = np.indices(law.shape).reshape(3, -1)
        at[:2] += 8 * c
        parts.append(at)
        n.append(np.rint(5e11 * law).astype(np.int64).reshape(-1))
    at = np.hstack(parts)
    reports = [ldp.Reports(every.y[i], mechanism, cohort=every.cohort[i]) for i in at[:2]]
    counts = ldp.JointCounts([*reports, ldp.Reports(at[2], warner)], np.concatenate(n))
    for method in ("inversion", "one_step", "mle"):
        model = ldp.AssociationModel(counts, candidates=[WORDS, WORDS, None])
        found = model.fit(method)
        assert found.n_strata == 2
        np.testing.assert_allclose(found.fitted.estimate, P.reshape(-1), atol=1e-8)


# -- invariances -------------------------------------------------------------------------------
METHODS = ["mle", "em", "inversion"]


@pytest.mark.parametrize("method", METHODS)
def test_chunks_and_order_do_not_matter(method):
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


def test_mixed_groups_are_one_likelihood():
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
    with pytest.raises(ldp.NotAvailable, match="one product channel"):
        results.test_independence("pearson")


@pytest.mark.parametrize("method", ["one_step", "mle", "moments-gls"])
def test_mixed_groups_give_back_the_truth(method):
    P = random_law(variables(("krr", "krappor")))
    groups = []
    for ex, ey, nobs in ((0.5, 1.0, 1e12), (3.0, 2.0, 3e12)):
        pairs: list[Variable] = [(ldp.KRR(3, ex), None), (ldp.KRAPPOR(3, ey), None)]
        groups.append(cells_of(pairs, np.rint(nobs * law_of(pairs, P)).astype(np.int64)))
    results = ldp.AssociationModel(groups).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), atol=1e-8)


def test_epsilon_and_missing_answers_of_groups():
    rng = np.random.default_rng(2)
    one, three = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    made = [m.privatize(rng.integers(2, size=50), rng) for m in (one, three, three, one)]
    results = ldp.AssociationModel(made[:2], made[2:]).fit()
    assert results.epsilon == pytest.approx(4.0)  # not 6: nobody answers with 3 twice
    assert results.n_missing == 0


# -- shared cohorts ----------------------------------------------------------------------------
def test_shared_cohorts_are_strata():
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
    with pytest.raises(ldp.NotAvailable, match="score"):
        results.test_independence("pearson")


# Joint tables of some of the variables, from that of all.

ArrayCollapse = npt.NDArray[Any]

ABC_COLLAPSE = ("a", "b", "c")

KRR, UNARY = ldp.KRR(ABC_COLLAPSE, epsilon=2.0), ldp.KRAPPOR(ABC_COLLAPSE, epsilon=2.0)

NAMES = ("u", "v", "w", "x", "y")


def survey_collapse(mechanism: Any, d: int, n: int = 3000) -> list[ldp.Reports]:
    rng = np.random.default_rng(d)
    base = rng.choice(ABC_COLLAPSE, size=n, p=[0.5, 0.3, 0.2])
    columns = [np.where(rng.random(n) < 0.4, base, rng.choice(ABC_COLLAPSE, n)) for _ in range(d)]
    return [mechanism.privatize(column, rng) for column in columns]


@pytest.mark.parametrize(
    ("mechanism", "d", "method"), [(KRR, 3, "mle"), (KRR, 5, "inversion"), (UNARY, 3, "projected")]
)
def test_it_is_the_model_of_these_variables(mechanism, d, method):
    parts = survey_collapse(mechanism, d)
    whole = ldp.AssociationModel(*parts, names=NAMES[:d]).fit(method)
    part = whole.collapse(["w", "u"])
    own = ldp.AssociationModel(parts[2], parts[0], names=("w", "u")).fit(method)
    assert (part.names, part.digest, part.epsilon) == (("w", "u"), own.digest, own.epsilon)
    np.testing.assert_allclose(part.linear_params, own.linear_params, atol=1e-12)
    np.testing.assert_allclose(part.linear_cov, own.linear_cov, atol=1e-15)
    np.testing.assert_allclose(part.conf_int(), own.conf_int(), atol=1e-9)
    assert part.test_independence() == own.test_independence()
    assert part.test_trend() == own.test_trend()
    assert part.cramers_v().lower == pytest.approx(own.cramers_v().lower)
    for name, frame in part.margins().items():
        columns = ["linear", "lower", "upper"]
        pd.testing.assert_frame_equal(frame[columns], own.margins()[name][columns])


def test_cells_are_summed():
    whole = ldp.AssociationModel(*survey_collapse(KRR, 4), names=NAMES[:4]).fit()
    part = whole.collapse(("x", "v", "u"))
    assert whole.collapse("x", "v", "u").to_dict() == part.to_dict()  # one by one
    summed = whole.table.groupby(level=["x", "v", "u"], sort=False).sum()
    expected = summed.reindex(part.table.index)
    np.testing.assert_allclose(part.table, expected, atol=1e-14)
    R = np.array(
        [
            [float((c[3], c[1], c[0]) == cell) for c in whole.table.index]
            for cell in part.table.index
        ]
    )
    np.testing.assert_allclose(part.linear_cov, R @ whole.linear_cov @ R.T, atol=1e-12)
    np.testing.assert_allclose(part.cov_params(), R @ whole.cov_params() @ R.T, atol=1e-12)
    again = part.collapse(["v", "x"])
    direct = whole.collapse(["v", "x"])
    np.testing.assert_allclose(again.table, direct.table, atol=1e-14)
    np.testing.assert_allclose(again.conf_int(), direct.conf_int(), atol=1e-12)


def test_the_likelihood_ratio_is_that_of_its_own_fit():
    parts = survey_collapse(KRR, 3)
    whole = ldp.AssociationModel(*parts, names=NAMES[:3]).fit()
    own = ldp.AssociationModel(parts[0], parts[1], names=("u", "v")).fit()
    expected = own.test_independence("lr").statistic
    part = whole.collapse(["u", "v"])
    assert part.test_independence("lr").statistic == pytest.approx(expected, rel=1e-5)
    assert np.isnan(part.llf)


def test_without_tallies_intervals_are_walds():
    wide = ldp.KRAPPOR(8, epsilon=3.0)  # 2**24 combinations of reports
    rng = np.random.default_rng(1)
    parts = [wide.privatize(rng.integers(0, 8, 4000) % size, rng) for size in (3, 2, 4)]
    whole = ldp.AssociationModel(*parts).fit("inversion")
    assert whole.evidence is None
    part = whole.collapse(["z", "x"])
    assert part.law is None
    assert part.independence is None
    text = str(part.summary())
    assert "95% Wald" in text
    assert "not tested" in text
    np.testing.assert_allclose(part.params.sum(), whole.params.sum(), atol=1e-12)
    own = ldp.AssociationModel(parts[2], parts[0], names=("z", "x")).fit("inversion")
    np.testing.assert_allclose(part.linear_params, own.linear_params, atol=1e-9)
    np.testing.assert_allclose(part.linear_bse, own.linear_bse, rtol=0.02)
    assert part.test_independence("wald").pvalue == pytest.approx(
        own.test_independence("wald").pvalue, abs=0.02
    )


def test_candidates_and_groups():
    parts, others = (
        survey_collapse(KRR, 3),
        survey_collapse(ldp.KRR(ABC_COLLAPSE, epsilon=1.0), 3, 1000),
    )
    lists = [["a", "b"], None, None]
    model = ldp.AssociationModel(*parts, candidates=lists, other=[True, False, False])
    part = model.fit().collapse(["x", "z"])
    assert list(part.table.index) == ["a", "b", "Other"]
    grouped = [list(pair) for pair in zip(parts, others, strict=True)]
    part = ldp.AssociationModel(*grouped).fit().collapse(["x", "z"])
    assert (part.n_strata, part.nobs, part.epsilon) == (2, 4000, 4.0)
    own = ldp.AssociationModel(grouped[0], grouped[2], names=("x", "z")).fit()
    assert part.test_independence() == own.test_independence()


def test_storage_keeps_what_collapses():
    whole = ldp.AssociationModel(*survey_collapse(KRR, 3), names=NAMES[:3]).fit()
    part = whole.collapse(["w", "u"])
    again = ldp.AssociationResults.from_json(whole.to_json()).collapse(["w", "u"])
    assert again.to_json() == part.to_json()
    assert ldp.AssociationResults.from_json(part.to_json()).to_json() == part.to_json()
    assert part.plot().get_title().startswith("w and u")
    assert "summed over" in part.settings


WHOLE = ldp.AssociationModel(*survey_collapse(KRR, 3, 300), names=NAMES[:3]).fit("inversion")

PAIR = WHOLE.collapse(["u", "v"])


@pytest.mark.parametrize(
    "refusal",
    [
        *refuses(
            "names=",
            WHOLE.collapse,
            {
                "one": said(["u"], "margins()"),
                "all": said(["u", "v", "w"], "fewer than all"),
                "none": said([], "two or more"),
                "unknown": said(["u", "q"], "'u', 'v', 'w'"),
                "twice": said(["u", "u"], "each once"),
                "text": said("uv", "must be"),
                "number": said(3, "must be"),
                "numbers": said([0, 1], "must be"),
                "missing": said([None, "u"], "must be"),
                "set": said({"u", "v"}, "must be"),
            },
        ),
        *refuses("names=", PAIR.collapse, {"of two": said(["u", "v"], "fewer than all")}),
    ],
)
def test_bad_names(refusal):
    refusal.check()


# Tests and effects of fitted tables against R, where reports are answers but for e^-30.

FOLDER = Path(__file__).parents[2] / "reference"

R = pd.read_csv(FOLDER / "contingency.csv", index_col="quantity")["value"]

near = pytest.approx


def table_of(name: str) -> tuple[np.ndarray, list[pd.Index]]:
    """Counts by the three variables of the file, and their categories in its order."""
    frame = pd.read_csv(FOLDER / name)
    codes = [pd.factorize(frame[column]) for column in frame.columns[:3]]
    counts = np.zeros([len(labels) for _, labels in codes], dtype=np.int64)
    counts[tuple(code for code, _ in codes)] = frame["Freq"]
    return counts, [labels for _, labels in codes]


def fit_of(counts: np.ndarray, labels: list[pd.Index]) -> ldp.AssociationResults:
    mechanisms = [ldp.KRR(categories, epsilon=30.0) for categories in labels]
    return ldp.AssociationModel(ldp.JointCounts.from_table(counts, mechanisms)).fit()


def strata(counts: np.ndarray) -> list[CrossMoments]:
    """The levels of the third variable."""
    rows, columns, levels = counts.shape
    bases = np.eye(rows), np.eye(columns)
    return [CrossMoments.of_table(counts[..., level], *bases) for level in range(levels)]


HAIR, HAIR_LABELS = table_of("hair_eye_color.csv")

UCB, _ = table_of("ucb_admissions.csv")


def test_two_variables():
    results = fit_of(HAIR.sum(axis=2), HAIR_LABELS[:2])
    for method in ("score", "pearson"):
        test = results.test_independence(method)
        assert test.statistic == near(R["pearson"], rel=1e-9) and test.df == R["pearson_df"]
        assert test.pvalue == near(R["pearson_pvalue"], rel=1e-6)
    assert results.test_independence("lr").statistic == near(R["lr"], abs=1e-3)  # certified to that


def test_three_variables():
    test = fit_of(HAIR, HAIR_LABELS).test_independence()
    assert test.statistic == near(R["mutual_pearson"], rel=1e-9) and test.df == R["mutual_df"]


@pytest.mark.parametrize("name", ["two_by_two", "general"])
def test_strata_are_cochran_mantel_haenszel(name):
    counts = {"two_by_two": UCB, "general": HAIR}[name]
    test, n = score(strata(counts)), counts.sum()
    assert test.statistic * (n - 1) / n == near(R[name], rel=1e-9)
    assert test.df == R.get(f"{name}_df", 1)


def test_trend():
    admitted = UCB.sum(axis=1)
    moments = CrossMoments.of_table(admitted, np.eye(2), np.eye(6))
    z, _, correlation = linear_trend([moments], [1, 0], range(6))
    assert admitted.sum() * correlation**2 == near(R["trend"], rel=1e-9)
    assert z**2 == near(R["trend"], rel=1e-3)


def test_odds_ratio():
    results = fit_of(HAIR.sum(axis=2), HAIR_LABELS[:2])
    odds = results.odds_ratio(("Brown", "Black"), ("Blue", "Brown"))
    found = [odds.estimate, odds.lower, odds.upper]
    assert found == near(R[["odds", "odds_lower", "odds_upper"]].tolist(), rel=1e-6)


def test_exact_interval():
    warner = ldp.Warner(epsilon=1.0)
    bounds = ldp.FrequencyModel(warner.counts([588, 412])).fit().conf_int(method="exact")
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    mapped = (R[["exact_lower", "exact_upper"]] - (1 - truth)) / (2 * truth - 1)
    assert bounds.loc["yes"].tolist() == near(mapped.tolist(), rel=1e-9)
