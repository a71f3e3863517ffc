"""Linear estimates of joint tables: unbiased, with their covariance, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import report_codes
from shared.variable_products import (
    ABC,
    LABELS,
    VARIABLES,
    Array,
    Variable,
    cells_of,
    drawn,
    every_product,
    expected,
    law_of,
    model_of,
    random_law,
    variables,
)

import ldpstats as ldp
from ldpstats.estimators.mle import MLE
from ldpstats.models.association.model import JOINT_ESTIMATORS

# -- linear estimates --------------------------------------------------------------------------


@every_product
@pytest.mark.parametrize("method", ["inversion", "one_step", "mle"])
def test_expected_counts_give_back_the_truth(names: tuple[str, ...], method: str) -> None:
    pairs = variables(names)
    P = random_law(pairs)
    results = expected(pairs, P).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(results.linear.estimate, P.reshape(-1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", sorted(JOINT_ESTIMATORS))
def test_every_method_runs_on_two_unary_variables(method: str) -> None:
    pairs = variables(("krappor", "krappor"))
    results = model_of(pairs, drawn(pairs)).fit(method)
    assert results.method == method
    assert np.isfinite(results.fitted.estimate).all()
    assert results.fitted.estimate.sum() == pytest.approx(1.0, abs=0.2)
    if method not in ("inversion", "moments", "moments-gls", "one_step", "thresholded"):
        assert results.fitted.estimate.min() >= 0.0
    str(results.summary())


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
def test_linear_covariance_of_labels_is_multinomial(names: tuple[str, ...]) -> None:
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
def test_linear_covariance_at_the_expected_counts(names: tuple[str, ...]) -> None:
    # the observed spread of the products of features, at counts that equal their expectation,
    # is their expected spread; cohorts enter through the shares seen, which are equal here
    pairs = variables(names)
    P = random_law(pairs)
    model = expected(pairs, P, nobs=1e10)
    V = model.moments().covariance().matrix()
    np.testing.assert_allclose(V, brute_covariance(pairs, P, model.nobs), rtol=1e-6, atol=1e-16)


def test_linear_estimate_is_the_brute_force_map_of_any_counts() -> None:
    for names in [*LABELS, ("krappor", "krr"), ("krappor", "krappor")]:
        pairs = variables(names)
        n = drawn(pairs)
        G = reduce(np.kron, [brute_features(pair) for pair in pairs])
        found = model_of(pairs, n).fit("inversion").fitted.estimate
        np.testing.assert_allclose(found, G @ n.reshape(-1) / n.sum(), atol=1e-11)


def test_large_tables_have_standard_errors_without_covariances() -> None:
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


@pytest.mark.parametrize("name", ["krr", "wide", "krappor", "rappor"])
@pytest.mark.parametrize("method", ["inversion", "mle"])
def test_constant_second_variable_leaves_the_model_of_one(name: str, method: str) -> None:
    mechanism, candidates = VARIABLES[name]
    rng = np.random.default_rng(8)
    labels = mechanism.labels(candidates)
    k = len(labels)
    x = mechanism.privatize(
        labels.take(rng.choice(k, 2000, p=np.arange(1, k + 1) / (k * (k + 1) / 2))), rng
    )
    told = ldp.CustomMechanism(np.eye(2), ("no", "yes"))
    y = ldp.Reports(np.ones(2000, dtype=np.int64), told)
    estimator: Any = {"mle": MLE(tol=1e-11)}.get(method, method)
    joint = ldp.AssociationModel(x, y, candidates=[candidates, None]).fit(estimator)
    alone = ldp.FrequencyModel(x, candidates).fit(estimator)
    np.testing.assert_allclose(joint.table["no"], 0.0, atol=1e-9)
    np.testing.assert_allclose(joint.table["yes"], alone.params, atol=2e-6)
    plain = ldp.AssociationModel(x, y, candidates=[candidates, None]).fit("inversion")
    inverted = ldp.FrequencyModel(x, candidates).fit("inversion")
    np.testing.assert_allclose(plain.table["yes"], inverted.linear_params, atol=1e-9)
    if mechanism.n_bits and candidates is None:  # intervals rest on scores, or adjusted bits
        assert joint.linear_params.sum() == pytest.approx(1.0, abs=1e-9)
        assert (joint.linear_bse.xs("yes", level="y") < 1.02 * inverted.linear_bse).all()
        return
    # the joint spread is that observed, the marginal one that of the estimate
    square = not mechanism.n_bits and name != "wide"
    np.testing.assert_allclose(
        joint.linear_bse.xs("yes", level="y"),
        alone.linear_bse,
        rtol=1e-9 if square else 0.1,
    )
    np.testing.assert_allclose(
        joint.bse.xs("yes", level="y"), alone.bse, rtol=0.01 if square else 0.1
    )


@pytest.mark.parametrize("names", [("krr", "wide"), ("krr", "krappor"), ("warner", "krappor")])
def test_margins_of_the_linear_estimate_are_those_of_one_variable(names: tuple[str, ...]) -> None:
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


def test_product_tables_keep_their_margins() -> None:
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
