"""Joint tables of three and four variables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from grid import all_reports
from scipy import stats
from shared.variable_products import (
    VARIABLES,
    WORDS,
    dense,
    drawn,
    expected,
    model_of,
    random_law,
    three,
    tight,
    variables,
)

import ldpstats as ldp


def test_three_way_tables_are_series() -> None:
    results = three()
    for table in (results.table, results.linear_table, results.bse_table):
        assert isinstance(table, pd.Series)
        assert isinstance(table.index, pd.MultiIndex)
        assert list(table.index.names) == ["u", "v", "w"]
        assert len(table) == 12
    assert results.sizes == (2, 3, 2)
    assert set(results.margins()) == {"u", "v", "w"}
    np.testing.assert_allclose(results.margins()["w"]["params"], [0.55, 0.45], atol=1e-3)


def test_three_way_tests_tell_the_hypotheses_apart() -> None:
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


def test_mutual_score_test_is_the_chi_square_of_the_three_way_table() -> None:
    table = np.random.default_rng(2).integers(40, 80, size=(2, 3, 2))
    mechanisms = [ldp.KRR(k, epsilon=1.5) for k in (2, 3, 2)]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms)).fit()
    chi = stats.chi2_contingency(table, correction=False)
    test = results.test_independence()
    assert test.statistic == pytest.approx(chi.statistic, rel=1e-9)
    assert test.df == chi.dof


@pytest.mark.parametrize("method", ["mle", "inversion", "one_step"])
def test_four_variables(method: str) -> None:
    pairs = variables(("krr", "warner", "wide", "warner"))
    P = random_law(pairs)
    results = expected(pairs, P, 1e12).fit(method)
    assert results.names == ("x1", "x2", "x3", "x4")
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), atol=1e-8)
    n = drawn(pairs)
    sampled = model_of(pairs, n).fit(tight(method))
    if method == "mle":
        assert dense(pairs, n).gap(sampled.fitted.estimate) <= 1e-10
    str(sampled.summary())


def test_three_variables_of_which_two_share_cohorts() -> None:
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
