"""AssociationModel against brute force: dense Kronecker channels, exact laws, invariances."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from grid import all_reports, report_codes
from scipy import stats

import ldpstats as ldp
from ldpstats.errors import IncompleteListWarning, NotAvailable
from ldpstats.estimators.em import EM
from ldpstats.estimators.mle import MLE
from ldpstats.models.association.model import JOINT_ESTIMATORS, OneStep
from ldpstats.problems.problem import Likelihood

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


# -- likelihood estimates ----------------------------------------------------------------------


@every_product
def test_likelihood_is_that_of_the_dense_channel(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs)
    ours, brute = model_of(pairs, n).likelihood(), dense(pairs, n)
    p = random_law(pairs, 5).reshape(-1)
    assert ours.loglike(p) == pytest.approx(brute.loglike(p), rel=1e-12)
    np.testing.assert_allclose(ours.score(p), brute.score(p), rtol=1e-10)
    np.testing.assert_allclose(ours.information(p), brute.information(p), rtol=1e-9)


@every_product
def test_mle_and_em_reach_the_dense_maximum(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs)
    model, brute = model_of(pairs, n), dense(pairs, n)
    best = MLE(tol=1e-10).solve(brute)
    for method in (MLE(tol=1e-9), EM(tol=1e-9)):
        results = model.fit(method)
        assert results.converged
        assert brute.gap(results.fitted.estimate) <= 1.1e-9
        assert results.gap <= 1e-9
        # a gap of 1e-9 per report bounds the difference by 1e-9 n nats
        assert abs(results.llf - brute.loglike(best.p)) <= 1e-9 * n.sum() + 1e-8


@every_product
def test_default_mle_keeps_its_certificate(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    n = drawn(pairs)
    results = model_of(pairs, n).fit()
    brute = dense(pairs, n)
    assert results.method == "mle"
    assert results.gap_nats <= 1e-3
    assert brute.gap_nats(results.fitted.estimate) == pytest.approx(results.gap_nats, abs=1e-6)
    assert results.llf == pytest.approx(brute.loglike(results.fitted.estimate), abs=1e-7)


def test_cvxpy_agrees() -> None:
    pairs = variables(("krr", "krappor"))
    model = model_of(pairs, drawn(pairs))
    np.testing.assert_allclose(
        model.fit("cvxpy").fitted.estimate, model.fit(MLE(tol=1e-12)).fitted.estimate, atol=2e-5
    )


def test_newton_steps_of_one_step_reach_the_interior_maximum() -> None:
    pairs = variables(("krappor", "krr"))
    P = random_law(pairs)
    law = law_of(pairs, P)
    n = np.random.default_rng(4).multinomial(200_000, law.reshape(-1)).reshape(law.shape)
    model = model_of(pairs, n)
    best = model.fit(MLE(tol=1e-12))
    assert not best.on_boundary
    newton = model.fit(OneStep(newton=4))
    np.testing.assert_allclose(newton.fitted.estimate, best.fitted.estimate, atol=1e-8)
    np.testing.assert_allclose(newton.bse, best.fitted.bse(), rtol=0.05)


# -- linear estimates --------------------------------------------------------------------------


@every_product
@pytest.mark.parametrize("method", ["inversion", "moments", "one_step", "mle"])
def test_expected_counts_give_back_the_truth(names: tuple[str, ...], method: str) -> None:
    pairs = variables(names)
    P = random_law(pairs)
    results = expected(pairs, P).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(results.linear.estimate, P.reshape(-1), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "names",
    [
        ("krr", "warner"),
        ("krr", "wide"),
        ("krappor", "krr"),
        ("krappor", "krappor"),
        ("orr-closed", "rappor-closed"),
        ("wide", "krappor"),
    ],
    ids="-".join,
)
def test_moments_gls_gives_back_the_truth(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    P = random_law(pairs)
    results = expected(pairs, P).fit("moments-gls")
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("names", [("krr", "warner"), ("krr", "wide"), ("krappor", "krr")])
def test_moments_gls_has_margins_that_sum_to_one(names: tuple[str, ...]) -> None:
    pairs = variables(names)
    estimate = model_of(pairs, drawn(pairs)).fit("moments-gls").fitted.estimate
    assert estimate.sum() == pytest.approx(1.0, abs=1e-12)


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


@every_product
def test_brute_features_are_unbiased(names: tuple[str, ...]) -> None:
    for pair in variables(names):
        Q = pair[0].channel(pair[1]).matrix()
        np.testing.assert_allclose(Q @ brute_features(pair).T, np.eye(len(Q)), atol=1e-12)


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


# -- information -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", LABELS, ids="-".join)
def test_expected_information_is_that_of_the_kronecker_channel(names: tuple[str, ...]) -> None:
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
def test_observed_information_on_the_tangent_space(names: tuple[str, ...]) -> None:
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


def test_covariance_of_departures_factorises_under_independence() -> None:
    # (I3): G (J^-1 - pp') G' = VX (x) VY
    pairs = variables(("krr", "wide"))
    r, c = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.35, 0.4])
    model = expected(pairs, np.outer(r, c), nobs=1e10)
    V = model.fit().cov_params().to_numpy() * model.nobs
    one = np.ones(3)
    G = np.kron(np.eye(3) - np.outer(r, one), np.eye(3) - np.outer(c, one))
    QX, QY = channels(pairs)
    VX, VY = (np.linalg.inv((Q / (p @ Q)) @ Q.T) - np.outer(p, p) for Q, p in ((QX, r), (QY, c)))
    np.testing.assert_allclose(G @ V @ G.T, np.kron(VX, VY), rtol=1e-6, atol=1e-7)


def test_dual_covariance_is_the_inverse_information_under_independence() -> None:
    # where X and Y are independent the dual estimate is as good as the maximum likelihood estimate
    for names in (("krr", "wide"), ("krappor", "krappor"), ("rappor-closed", "krr")):
        pairs = variables(names)
        p = np.outer([0.5, 0.3, 0.2], [0.25, 0.35, 0.4])
        model = expected(pairs, p, nobs=1e10)
        dual = model.fit("one_step").cov_params().to_numpy()
        best = model.fit("mle").cov_params().to_numpy()
        np.testing.assert_allclose(dual, best, rtol=1e-4, atol=1e-4 * np.abs(best).max())


# -- a constant variable -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["krr", "warner", "wide", "krappor", "rappor-closed", "rappor"])
@pytest.mark.parametrize("method", ["inversion", "mle", "em", "one_step", "projected"])
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
    estimator: Any = {"mle": MLE(tol=1e-11), "em": EM(tol=1e-11)}.get(method, method)
    joint = ldp.AssociationModel(x, y, candidates=[candidates, None]).fit(estimator)
    alone = ldp.FrequencyModel(x, candidates).fit(
        {"one_step": MLE(tol=1e-11)}.get(method, estimator)
    )
    if method == "one_step" and alone.on_boundary:
        return  # it is not cut at the boundary
    if method == "projected" and mechanism.n_bits:
        return  # sums of bits differ from one, which the projection shares among all cells
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


# -- invariances -------------------------------------------------------------------------------


def survey(seed: int = 2, n: int = 900) -> tuple[ldp.Reports, ldp.Reports]:
    rng = np.random.default_rng(seed)
    true = rng.choice(9, n, p=random_law(variables(("krr", "krappor"))).reshape(-1))
    x = VARIABLES["krr"][0].privatize(true // 3, rng)
    y = VARIABLES["krappor"][0].privatize(np.array(ABC)[true % 3], rng)
    return x, y


def taken(reports: ldp.Reports, rows: Any) -> ldp.Reports:
    cohort = None if reports.cohort is None else reports.cohort[rows]
    return ldp.Reports(reports.y[rows], reports.mechanism, cohort=cohort)


METHODS = ["mle", "em", "inversion", "one_step", "moments-gls"]


def tight(method: str) -> Any:
    return {"mle": MLE(tol=1e-11), "em": EM(tol=1e-11)}.get(method, method)


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


def test_permuted_categories_permute_the_table() -> None:
    table = np.random.default_rng(1).integers(50, 90, size=(3, 2))
    order = [2, 0, 1]
    one = (ldp.KRR(ABC, epsilon=1.0), ldp.KRR(2, epsilon=1.0))
    two = (ldp.KRR(tuple(ABC[i] for i in order), epsilon=1.0), one[1])
    a = ldp.AssociationModel(ldp.JointCounts.from_table(table, one)).fit(MLE(tol=1e-12))
    b = ldp.AssociationModel(ldp.JointCounts.from_table(table[order], two)).fit(MLE(tol=1e-12))
    pd.testing.assert_frame_equal(b.table.loc[list(ABC)], a.table, atol=1e-9, rtol=0)


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


@pytest.mark.parametrize("method", ["inversion", "one_step", "mle", "moments-gls"])
def test_mixed_groups_give_back_the_truth(method: str) -> None:
    P = random_law(variables(("krr", "krappor")))
    groups = []
    for ex, ey, nobs in ((0.5, 1.0, 1e12), (3.0, 2.0, 3e12)):
        pairs: list[Variable] = [(ldp.KRR(3, ex), None), (ldp.KRAPPOR(3, ey), None)]
        groups.append(cells_of(pairs, np.rint(nobs * law_of(pairs, P)).astype(np.int64)))
    results = ldp.AssociationModel(groups).fit(method)
    np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), atol=1e-8)


def test_group_of_labels_and_group_of_bits() -> None:
    P = random_law(variables(("krr", "krappor")))
    groups = []
    for first in (ldp.KRR(ABC, epsilon=1.0), ldp.KRAPPOR(ABC, epsilon=1.0)):
        pairs: list[Variable] = [(first, None), (ldp.KRR(3, epsilon=2.0), None)]
        groups.append(cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64)))
    for method in ("inversion", "one_step", "mle"):
        results = ldp.AssociationModel(groups).fit(method)
        np.testing.assert_allclose(results.fitted.estimate, P.reshape(-1), atol=1e-8)


# -- shared cohorts ----------------------------------------------------------------------------


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


def test_shared_cohorts_have_the_independence_test_within() -> None:
    # independent within cohorts exactly: the statistic vanishes
    P = np.outer([0.7, 0.3], [0.4, 0.6])
    counts, _, _ = shared_counts(P, 1e9)
    results = ldp.AssociationModel(counts, candidates=[WORDS, WORDS]).fit("inversion")
    test = results.test_independence()
    assert test.statistic < 1e-6
    assert "3 strata" in test.method


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


def test_score_by_hand_for_bits() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    r, c = model.references
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


def test_permutation_pvalue_repeats_with_its_seed() -> None:
    results = ldp.AssociationModel(krr_table()).fit()
    pvalues = [
        results.test_independence(
            "score", rng=np.random.default_rng(seed), n_permutations=199
        ).pvalue
        for seed in (1, 1, 2)
    ]
    assert pvalues[0] == pvalues[1]
    chi = results.test_independence().pvalue
    # binomial error of 199 draws, five standard errors
    assert abs(pvalues[2] - chi) <= 5 * np.sqrt(max(chi * (1 - chi), 1 / 200) / 199)


def test_bootstrap_repeats_with_its_seed() -> None:
    x, y = survey(n=200)
    results = ldp.AssociationModel(x, y).fit()
    tests = [
        results.test_independence("bootstrap", rng=np.random.default_rng(1), n_boot=9)
        for _ in range(2)
    ]
    assert tests[0] == tests[1]
    assert tests[0].pvalue in {i / 10 for i in range(1, 11)}


# -- effects -----------------------------------------------------------------------------------


def test_conditionals_divide_the_linear_table() -> None:
    results = ldp.AssociationModel(krr_table(), names=("job", "late")).fit()
    table = results.linear_table
    rows = results.conditional("job")["estimate"].unstack("late").loc[list(ABC)]
    np.testing.assert_allclose(rows, table.div(table.sum(axis=1), axis=0)[rows.columns], rtol=1e-12)
    columns = results.conditional("late")["estimate"].unstack("job")[list(ABC)]
    np.testing.assert_allclose(
        columns, table.div(table.sum(axis=0), axis=1).T.loc[columns.index], rtol=1e-12
    )
    frame = results.conditional()
    assert (frame["lower"] <= frame["upper"]).all()


def test_conditionals_keep_the_order_of_the_categories() -> None:
    krr = ldp.KRR(("no", "maybe", "yes"), epsilon=2.0)
    other = ldp.KRR((2, 1), epsilon=2.0)
    table = [[90, 40], [30, 50], [20, 60]]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, other))).fit()
    rows = results.conditional("x").index
    assert list(rows.names) == ["x", "y"]
    assert rows.unique("x").tolist() == ["no", "maybe", "yes"]
    columns = results.conditional("y").index
    assert list(columns.names) == ["y", "x"]
    assert columns.unique("y").tolist() == [2, 1]
    assert columns.unique("x").tolist() == ["no", "maybe", "yes"]


def test_conditionals_given_numbers_and_other() -> None:
    rng = np.random.default_rng(1)
    x, y = (ldp.KRR(4, epsilon=3.0).privatize(rng.integers(0, 4, 500), rng) for _ in range(2))
    results = ldp.AssociationModel(x, y, candidates=[(0, 1), (0, 1)], other=True).fit()
    assert results.conditional("y").index.unique("y").tolist() == [0, 1, "Other"]


@pytest.mark.parametrize("table", [[[900, 220], [300, 800]], [[900, 200], [300, 800]]])
def test_effects_are_those_of_the_linear_table(table: list[list[int]]) -> None:
    # in the second table both rows have the same sum: the product of their sums is then stationary
    krr = ldp.KRR(("no", "yes"), epsilon=3.0)
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    P = results.linear_table.to_numpy()
    ends = ("no", "yes")
    assert results.odds_ratio(ends, ends).estimate == pytest.approx(
        P[0, 0] * P[1, 1] / (P[0, 1] * P[1, 0])
    )
    risks = P[:, 1] / P.sum(axis=1)
    assert results.risk_difference(ends, "yes").estimate == pytest.approx(risks[0] - risks[1])
    assert results.risk_ratio(ends, "yes").estimate == pytest.approx(risks[0] / risks[1])
    swapped = results.odds_ratio(("yes", "no"), ends)
    assert swapped.estimate == pytest.approx(1 / results.odds_ratio(ends, ends).estimate)


# -- three and more variables --------------------------------------------------------------------


def three(nobs: int = 30_000, epsilon: float = 3.0) -> ldp.AssociationResults:
    """X and Y independent given Z, with the same odds ratio (one) at either level."""
    P = np.zeros((2, 3, 2))
    P[:, :, 0] = 0.55 * np.outer([0.7, 0.3], [0.5, 0.3, 0.2])
    P[:, :, 1] = 0.45 * np.outer([0.3, 0.7], [0.2, 0.4, 0.4])
    pairs: list[Variable] = [(ldp.KRR(k, epsilon), None) for k in (2, 3, 2)]
    n = np.rint(nobs * law_of(pairs, P)).astype(np.int64)
    return ldp.AssociationModel(cells_of(pairs, n), names=("u", "v", "w")).fit()


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


# -- Other ---------------------------------------------------------------------------------------


def test_lumping_is_exact() -> None:
    pairs: list[Variable] = [(ldp.KRR(5, 2.0), None), (ldp.KRAPPOR(4, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    lumped = np.vstack([P[[3, 1]], P[[0, 2, 4]].sum(axis=0)])
    lumped = np.column_stack([lumped[:, [0, 2]], lumped[:, [1, 3]].sum(axis=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ldp.AssociationModel(counts, candidates=[(3, 1), (0, 2)], other=True)
    for method in ("inversion", "one_step", "mle"):
        results = model.fit(method)
        np.testing.assert_allclose(results.table, lumped, atol=1e-8)
        assert results.table.index.tolist() == [3, 1, "Other"]
        assert results.is_complete
        assert results.others == ("lump", "lump")


def test_modelled_other_warns_and_is_right_for_independent_variables() -> None:
    # O-RR reports labels, whose law within Other needs no product of bits
    mechanism, everything = ldp.ORR(4, 16, epsilon=2.0), ("apple", "pear", *map(str, range(60)))
    pairs: list[Variable] = [(mechanism, everything), (ldp.KRR(2, 1.0), None)]
    P = np.outer([0.4, 0.3, *[0.005] * 60], [0.3, 0.7])
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(IncompleteListWarning, match="independent of Y"):
        model = ldp.AssociationModel(counts, candidates=[WORDS, None], other=True)
    results = model.fit("mle")
    truth = np.vstack([P[:2], P[2:].sum(axis=0)])
    assert results.table.index.tolist() == ["apple", "pear", "Other"]
    np.testing.assert_allclose(results.table, truth, atol=0.02)
    np.testing.assert_allclose(results.linear_table, truth, atol=0.02)


def test_ignoring_other_warns_and_biases() -> None:
    pairs: list[Variable] = [(ldp.KRR(4, 2.0), None), (ldp.KRR(2, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e10 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(IncompleteListWarning, match="other=True"):
        model = ldp.AssociationModel(counts, candidates=[(0, 1), None])
    results = model.fit("inversion")
    np.testing.assert_allclose(results.table, P[:2], atol=1e-8)  # still unbiased
    assert not results.is_complete
    biased = model.fit("mle")
    assert biased.fitted.estimate.sum() == pytest.approx(1.0)
    assert np.abs(biased.table.to_numpy() - P[:2]).max() > 0.05


# -- storage and presentation --------------------------------------------------------------------

STORED = sorted(set(JOINT_ESTIMATORS) - {"cvxpy"})


@pytest.mark.parametrize("method", STORED)
def test_json_keeps_everything(method: str) -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y, names=("p q", "r:s")).fit(method)
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.to_json() == results.to_json()
    assert again.model is None
    pd.testing.assert_frame_equal(again.table, results.table)
    pd.testing.assert_frame_equal(again.linear_table, results.linear_table)
    pd.testing.assert_frame_equal(again.linear_cov, results.linear_cov)
    pd.testing.assert_frame_equal(again.cov_params(), results.cov_params())
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame())
    pd.testing.assert_frame_equal(again.conditional(), results.conditional())
    for name, frame in results.margins().items():
        pd.testing.assert_frame_equal(again.margins()[name], frame)
    assert again.test_independence() == results.test_independence()
    assert again.cramers_v() == results.cramers_v()
    assert str(again.summary()) == str(results.summary())


def test_results_of_a_file_say_what_they_lack() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    results = model.fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    for method in ("lr", "pearson", "bootstrap", "fpe16"):
        with pytest.raises(NotAvailable, match="model="):
            again.test_independence(method)
    with pytest.raises(NotAvailable, match="model="):
        again.test_independence(rng=np.random.default_rng(1), n_permutations=9)
    with pytest.raises(NotAvailable, match="model="):
        again.test_trend()
    for method in ("lr", "wald", "fpe16"):
        assert again.test_independence(method, model=model) == results.test_independence(method)
    assert again.test_trend(model=model) == results.test_trend()


def test_wald_test_of_a_file_needs_no_reports() -> None:
    # of labels the unconstrained estimate and its covariance are all that it takes, and are stored
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.test_independence("wald") == results.test_independence("wald")
    # that of candidates does not sum to one: the test takes better features of the reports
    orr, rng = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=3.0), np.random.default_rng(0)
    words = orr.privatize(rng.choice(["u", "v"], len(x.y)), rng)
    results = ldp.AssociationModel(x, words, candidates=(None, ["u", "v"])).fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    with pytest.raises(ldp.NotAvailable, match="model=model"):
        again.test_independence("wald")
    assert again.test_independence("wald", model=results.model).df == 2


def test_copies_and_pickles_leave_the_reports_behind() -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    assert results.model is not None
    for twin in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert twin.model is None
        assert twin.to_json() == results.to_json()
    assert results.model is not None


def test_same_seed_same_summary() -> None:
    texts = []
    for _ in range(2):
        x, y = survey(seed=11)
        texts.append(str(ldp.AssociationModel(x, y).fit().summary()))
    assert texts[0] == texts[1]
    assert "x : y" in texts[0] or "Joint distribution of x and y" in texts[0]


def test_large_tables_of_one_stratum_keep_their_standard_errors() -> None:
    k = 50  # 2,500 cells
    krr = ldp.KRR(k, epsilon=5.0)
    rng = np.random.default_rng(1)
    v = rng.integers(0, k, 5000)
    model = ldp.AssociationModel(krr.privatize(v, rng), krr.privatize((v * 7) % k, rng))
    results = model.fit("inversion")
    assert results.table.shape == (k, k)
    assert not results.linear_bse.isna().any()
    assert "were not computed" not in str(results.summary())
    test = results.test_independence("pearson")
    assert test.pvalue < 1e-12
    again = ldp.AssociationResults.from_json(results.to_json())
    np.testing.assert_array_equal(again.linear_bse, results.linear_bse)


# -- what must not be taken for something else ---------------------------------------------------


def test_constrained_fits_have_no_covariance_and_do_not_enter_tests() -> None:
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


def test_fits_that_did_not_converge_do_not_enter_the_likelihood_ratio() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    with pytest.warns(ldp.errors.ConvergenceWarning):
        early = model.fit(EM(max_iter=1))
    exact = model.fit().test_independence("lr").statistic
    # both maxima are certified to 1e-3 nats
    assert early.test_independence("lr").statistic == pytest.approx(exact, abs=5e-3)


def test_results_of_a_file_refuse_another_model() -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    other = ldp.AssociationModel(*survey(seed=77, n=300))
    with pytest.raises(ldp.errors.LDPError, match="model"):
        again.test_independence("lr", model=other)
    with pytest.raises(ldp.errors.LDPError, match="model"):
        again.test_independence("lr", model="x")


def test_trend_within_cohorts_in_which_candidates_collide() -> None:
    P = np.array([[0.45, 0.05], [0.1, 0.4]])
    counts, _, _ = shared_counts(P, 5000.0)
    results = ldp.AssociationModel(counts, candidates=[WORDS, WORDS]).fit()
    # 2 x 2: the trend is the association, and its z the root of a chi-square near the score test's
    test = results.test_trend()
    assert test.statistic > 5.0


def test_trend_of_reports_that_do_not_span_the_scores_is_no_number() -> None:
    # two patterns of bits: nothing tells three categories apart
    rng = np.random.default_rng(3)
    x = ldp.Reports(rng.integers(1, 3, (300, 1)).astype(np.uint8), VARIABLES["krappor"][0])
    y = ldp.Reports(rng.integers(0, 2, 300), VARIABLES["warner"][0])
    with pytest.warns(ldp.MisfitWarning):  # as many ones in every report
        results = ldp.AssociationModel(x, y).fit()
    with pytest.raises(ldp.errors.NotIdentified):
        results.test_trend()


def test_outputs_that_cannot_occur_do_no_harm() -> None:
    # as for one variable: a column of zeros in Q
    spare = ldp.CustomMechanism([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], ("a", "b"), ("a", "b", "never"))
    plain = ldp.CustomMechanism([[0.8, 0.2], [0.2, 0.8]], ("a", "b"))
    rng = np.random.default_rng(3)
    codes, y = rng.integers(0, 2, 300), ldp.Reports(rng.integers(0, 2, 300), VARIABLES["warner"][0])
    fits = [ldp.AssociationModel(ldp.Reports(codes, m), y).fit() for m in (plain, spare)]
    np.testing.assert_allclose(fits[1].table, fits[0].table, atol=1e-12)
    np.testing.assert_allclose(fits[1].bse_table, fits[0].bse_table, atol=1e-12)
    np.testing.assert_allclose(fits[1].linear_bse, fits[0].linear_bse, atol=1e-12)
    assert fits[1].cov_type == "expected"


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
    results = ldp.AssociationModel(*reports[1:]).fit("inversion")
    again = ldp.AssociationResults.from_json(results.to_json())
    assert results.linear.covariance is None and not again.linear_bse.isna().any()
    pd.testing.assert_frame_equal(results.conf_int(), again.conf_int())
    with pytest.raises(ldp.NotAvailable, match="other=True"):
        again.cramers_v()


# -- what a review found -------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 2.0, 6.0])
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


def test_intervals_allow_for_answers_that_are_not_listed() -> None:
    # four frequent strings that nobody listed hash to the same cells in all reports; without the
    # dispersion of the margins cells covered .71 (a negative control: it is above 3 here)
    flag, rng = ldp.KRR(("a", "b"), 2.0), np.random.default_rng(0)
    orr, words = ldp.ORR(n_outputs=16, n_cohorts=64, epsilon=3.0), ["w0", "w1", "w2"]
    found = []
    for _ in range(10):
        unlisted = rng.random(20_000) < 0.5
        said = np.where(unlisted, rng.choice(["u0", "u1", "u2", "u3"], 20_000), "")
        said = np.where(unlisted, said, rng.choice(words, 20_000))
        x = flag.privatize(rng.choice(["a", "b"], 20_000), rng)
        model = ldp.AssociationModel(x, orr.privatize(said, rng), candidates=(None, words))
        results = model.fit("inversion")
        assert results.dispersion > 3.0 and results.is_doubtful
        bounds = results.conf_int()
        found.append(((bounds.lower <= 1 / 12) & (1 / 12 <= bounds.upper)).mean())
    assert np.mean(found) > 0.93
    assert "DOUBTFUL" in str(results.summary()) and "times those" in str(results.summary())


def test_one_step_is_refused_where_small_strata_bias_it() -> None:
    # by 1.8 standard deviations in 64 strata of ten, by .7 in 64 of a hundred
    rng, words = np.random.default_rng(1), ["a", "b", "c"]
    rappor = ldp.RAPPOR(16, 2, 64, f=0.0, p=0.1, q=0.9)
    x = rappor.privatize(rng.choice(words, 640), rng)
    y = rappor.privatize(rng.choice(words, 640), rng, cohort=x.cohort)
    model = ldp.AssociationModel(x, y, candidates=(words, words))
    with pytest.raises(ldp.NotAvailable, match="64 strata"):
        model.fit("one_step")
    assert model.fit("mle").converged


def test_a_model_of_other_reports_is_refused_even_with_the_same_margins() -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    other = ldp.AssociationModel(x, taken(y, np.random.default_rng(0).permutation(len(y.y))))
    for method in ("pearson", "lr", "score"):
        with pytest.raises(ldp.InvalidArgument, match="other data"):
            results.test_independence(method, model=other)


def test_epsilon_and_missing_answers_of_groups() -> None:
    rng = np.random.default_rng(2)
    one, three = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    made = [m.privatize(rng.integers(2, size=50), rng) for m in (one, three, three, one)]
    results = ldp.AssociationModel(made[:2], made[2:]).fit()
    assert results.epsilon == pytest.approx(4.0)  # not 6: nobody answers with 3 twice
    assert results.n_missing == 0


def test_a_simulated_model_can_be_fitted() -> None:
    x, y = survey()
    model = ldp.AssociationModel(x, y)
    again = model.simulated(model.null_distribution(), np.random.default_rng(3)).fit()
    assert again.nobs == model.nobs and again.sources == model.sources


def test_detected_cells() -> None:
    krr = ldp.KRR(2, 3.0)
    joint = ldp.JointCounts.from_table([[950, 46], [46, 2]], (krr, krr))  # what (0, 0) alone gives
    found = ldp.AssociationModel(joint).fit().detected()
    assert list(found) == [(0, 0)]


def test_one_step_is_inversion_for_square_channels() -> None:
    # and so is its covariance, with its floor for combinations that were seen seldom
    krr, binary = ldp.KRR(3, 3.0), ldp.KRR(2, 1.0)
    table = [[500, 3], [40, 200], [0, 12]]
    model = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, binary)))
    with pytest.warns(ldp.MisfitWarning):
        one, linear = model.fit("one_step"), model.fit("inversion")
    np.testing.assert_allclose(one.params, linear.params, atol=1e-12)
    np.testing.assert_allclose(one.bse, linear.bse, rtol=1e-9)
