"""Likelihood rows that noise sensitive categories only, and their maximum, against dense ones."""

from dataclasses import replace

import numpy as np
import pytest
from grid import hidden
from scipy import optimize

import ldpstats as ldp
from ldpstats.channels import Uniformised
from ldpstats.estimators import MLE
from ldpstats.likelihood.covariance import Covariance, water_filling
from ldpstats.likelihood.joint import pool
from ldpstats.likelihood.moments import Equations
from ldpstats.likelihood.rows import (
    DenseRows,
    FixedEntry,
    Likelihood,
    SensitiveRows,
    StackedRows,
    UniformRows,
)

# how many categories, which are sensitive
SHAPES = {
    "some": (6, (1, 4, 5)),
    "one": (4, (2,)),
    "none": (3, ()),
    "all": (3, (0, 1, 2)),
    "bytes": (14, (0, 1, 3, 4, 6, 7, 9, 10, 12, 13)),
}
every_shape = pytest.mark.parametrize(("k", "sensitive"), SHAPES.values(), ids=SHAPES.keys())


def random_reports(urap: ldp.URAP, n: int, seed: int) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(urap.k))
    return urap.privatize(rng.choice(urap.k, size=n, p=p), rng)


def dense_rows(urap: ldp.URAP, reports: ldp.Reports) -> np.ndarray:
    """P(report as it is counted | category) of each report, from MK19 eq. 8 to 10, shape (n, k)."""
    bits, S = urap.format.unpack(reports.y), hidden(urap)
    e, theta = np.exp(urap.epsilon), urap.p1
    d1 = theta / ((1 - theta) * e + theta)
    d2 = ((1 - theta) * e + theta) / e if S.any() else 0.0
    told = bits[:, ~S].any(axis=1)
    W = np.empty(bits.shape)
    for x in range(urap.k):
        own = np.where(np.arange(urap.k) == x, theta, d1)
        noise = np.where(bits, own, 1 - own)[:, S].prod(axis=1)
        if S[x]:
            W[:, x] = np.where(told, 0.0, noise)
        else:
            W[:, x] = np.where(told, (1 - d2) * bits[:, x], d2 * noise)
    return W


@every_shape
@pytest.mark.parametrize("theta", [None, 0.3])
def test_rows_are_those_of_the_definition(k, sensitive, theta):
    urap = ldp.URAP(k, sensitive, epsilon=1.3, theta=theta)
    reports = random_reports(urap, 300, seed=1)
    W = urap.channel().rows(reports.y)
    assert isinstance(W, SensitiveRows)
    want, scale = dense_rows(urap, reports), np.exp(W.log_scale)
    assert W.shape == want.shape
    np.testing.assert_allclose(W.dense() * scale[:, None], want, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(urap.channel().likelihood(reports.y), want, rtol=1e-12, atol=1e-16)


@every_shape
@pytest.mark.parametrize("ready", [False, True])
def test_products_are_those_of_the_dense_rows(k, sensitive, ready):
    urap = ldp.URAP(k, sensitive, epsilon=0.9)
    W = urap.channel().rows(random_reports(urap, 200, seed=2).y)
    D = W.dense()
    W = W.prepared() if ready else W
    rng = np.random.default_rng(3)
    p, v = rng.dirichlet(np.ones(k)), rng.exponential(size=len(D))
    np.testing.assert_allclose(W.mix(p), D @ p, rtol=1e-12)
    np.testing.assert_allclose(W.adjoint(v), D.T @ v, rtol=1e-10, atol=1e-10)
    first, second = W.adjoints(v)
    np.testing.assert_allclose(first, D.T @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(second, (D * D).T @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(W.gram(v), (D.T * v) @ D, rtol=1e-10, atol=1e-9)
    for start, stop in ((0, 0), (0, 1), (3, 17), (50, 200), (0, 200)):
        np.testing.assert_allclose(W.take(start, stop), D[start:stop], rtol=1e-14)
    keep = rng.random(len(D)) < 0.4
    np.testing.assert_allclose(W.select(keep).dense(), D[keep], rtol=1e-14)
    np.testing.assert_allclose(W.select(keep).log_scale, W.log_scale[keep])
    none = W.select(np.zeros(len(D), dtype=bool))
    assert none.shape == (0, k) and none.mix(p).shape == (0,) and not none.adjoint(v[:0]).any()
    fixed = FixedEntry(W, k - 1, 0.25)  # of the profile likelihood
    q = p[:-1] / p[:-1].sum()
    np.testing.assert_allclose(fixed.mix(q), D @ np.append(0.75 * q, 0.25), rtol=1e-12)


@every_shape
def test_others_taken_together_keep_the_likelihood(k, sensitive):
    # up to a constant: that of who was revealed, whose shares are known
    urap = ldp.URAP(k, sensitive, epsilon=1.0)
    counts = random_reports(urap, 500, seed=4).tally()
    W, n, S = urap.channel().rows(counts.y), counts.n.astype(float), hidden(urap)
    small = W.reduced(n)
    rows, m = small.W, small.n
    assert m.sum() == n.sum() and rows.shape[1] == S.sum() + (not S.all())
    rng, differences = np.random.default_rng(5), []
    for _ in range(4):
        q = rng.dirichlet(np.ones(rows.shape[1]))
        p = small.expanded(q)
        np.testing.assert_array_equal(p[S], q[: S.sum()])
        assert p.sum() == pytest.approx(1.0)
        differences.append(n @ np.log(W.mix(p)) - m @ np.log(rows.mix(q)))
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-9)


def brute_maximum(W: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, float]:
    """Maximum over the simplex by a general optimiser from several starts, and its value."""
    k = W.shape[1]

    def loss(z: np.ndarray) -> float:
        return -float(n @ np.log(W @ (z**2 / (z @ z))))

    rng = np.random.default_rng(0)
    found = [
        optimize.minimize(loss, np.sqrt(rng.dirichlet(np.full(k, 3.0))), options={"gtol": 1e-9})
        for _ in range(3)
    ]
    best = min(found, key=lambda f: f.fun)
    return best.x**2 / (best.x @ best.x), -float(best.fun)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "theta"), [("some", None), ("some", 0.6), ("one", 0.6)])
def test_mle_is_the_brute_force_maximum(name, theta, seed):
    k, sensitive = SHAPES[name]
    urap = ldp.URAP(k, sensitive, epsilon=0.8, theta=theta)
    counts = random_reports(urap, 60, seed=seed).tally()  # few: zeros in the estimate
    problem = urap.likelihood(counts)
    solution = MLE(tol=1e-12).solve(problem)
    D = dense_rows(urap, ldp.Reports(counts.y, urap))
    p, best = brute_maximum(D, counts.n)
    assert solution.converged and solution.gap <= 1e-12
    # concave: what is within 1e-8 nats of the maximum; the optimiser itself is good to about 1e-7
    assert problem.loglike(solution.p) >= best - 1e-8
    np.testing.assert_allclose(solution.p, p, rtol=0, atol=2e-3)
    assert problem.loglike(solution.p) == pytest.approx(counts.n @ np.log(D @ solution.p))


@every_shape
def test_certificate_is_that_of_all_rows(k, sensitive):
    urap = ldp.URAP(k, sensitive, epsilon=1.0)
    counts = random_reports(urap, 400, seed=6).tally()
    D = dense_rows(urap, ldp.Reports(counts.y, urap))
    for tol in (1e-3, 1e-12):
        solution = MLE(tol=tol).solve(urap.likelihood(counts))
        score = D.T @ (counts.n / (D @ solution.p)) / counts.nobs
        assert solution.gap == pytest.approx(max(score.max() - 1.0, 0.0), abs=1e-12)
        assert solution.gap <= tol and solution.p.sum() == pytest.approx(1.0, abs=1e-12)


def parsed(urap: ldp.URAP, *groups: tuple[str, int]) -> ldp.Counts:
    return urap.parse("report", [text for text, n in groups for _ in range(n)]).tally()


def test_all_reports_protected():
    urap = ldp.URAP(4, (0, 2), epsilon=1.0)
    counts = parsed(urap, ("1000", 5), ("0010", 3), ("1010", 2))
    p = MLE(tol=1e-12).solve(urap.likelihood(counts)).p
    # no report reveals 1 or 3: these are unary reports of 0 and 2 alone
    unary = ldp.KRAPPOR(2, epsilon=1.0).parse("report", ["10"] * 5 + ["01"] * 3 + ["11"] * 2)
    krappor = MLE(tol=1e-12).solve(unary.mechanism.likelihood(unary.tally())).p
    np.testing.assert_allclose(p, [krappor[0], 0, krappor[1], 0], atol=1e-9)


def test_reports_that_tell_nothing_apart():
    # no bit set: (1 - theta) / (1 - d1) = d2, so that every p is a maximum
    urap = ldp.URAP(4, (0, 2), epsilon=1.0)
    problem = urap.likelihood(parsed(urap, ("0000", 9)))
    for p in (np.eye(4)[1], np.eye(4)[2], np.full(4, 0.25)):
        assert problem.gap(p) == pytest.approx(0.0, abs=1e-15)
    assert MLE().solve(problem).converged


# -- Q = a I + 1 b' ----------------------------------------------------------------------------


def test_rows_of_a_vector_background():
    b = np.array([0.1, 0.0, 0.25, 0.0, 0.05])
    channel = Uniformised(5, 0.6, b)
    Q = channel.matrix()
    np.testing.assert_allclose(Q, 0.6 * np.eye(5) + b, atol=1e-15)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-15)
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(5)), rng.integers(0, 5, 40)
    np.testing.assert_allclose(channel.forward(p), p @ Q, atol=1e-15)
    W, D, v = channel.rows(y), Q[:, y].T, rng.exponential(size=40)
    assert isinstance(W, UniformRows)
    np.testing.assert_allclose(W.dense(), D, atol=1e-15)
    np.testing.assert_allclose(W.take(7, 20), D[7:20], atol=1e-15)
    np.testing.assert_allclose(W.mix(p), D @ p, atol=1e-15)
    np.testing.assert_allclose(W.adjoint(v), D.T @ v, atol=1e-13)
    np.testing.assert_allclose(W.adjoints(v)[1], (D * D).T @ v, atol=1e-13)
    np.testing.assert_allclose(W.gram(v), (D.T * v) @ D, atol=1e-13)
    keep = y > 1
    np.testing.assert_allclose(W.select(keep).mix(p), D[keep] @ p, atol=1e-15)
    stacked = StackedRows((W, DenseRows(D)))
    np.testing.assert_allclose(stacked.mix(p), np.tile(D @ p, 2), atol=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_water_filling_is_the_maximum(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    b = rng.uniform(0.01, 1.0, k) * (rng.random(k) < 0.6)
    a = float(rng.uniform(0.05, 2.0))
    a, b = a / (a + b.sum()), b / (a + b.sum())
    c = rng.multinomial(int(rng.integers(1, 40)), rng.dirichlet(np.full(k, 0.3)))
    p = water_filling(c, a, b)
    assert p.min() >= 0.0 and p.sum() == pytest.approx(1.0, abs=1e-14)
    seen = c > 0
    W = (a * np.eye(k) + b).T[seen]
    score = W.T @ (c[seen] / (W @ p)) / c.sum()
    assert score.max() <= 1.0 + 1e-12  # the certificate, by hand
    assert Likelihood(DenseRows(W), c[seen]).gap(p) <= 1e-12


# -- linear equations with a diagonal ----------------------------------------------------------


def diagonal_and_dense(seed: int) -> tuple[Equations, Equations]:
    rng = np.random.default_rng(seed)
    k = 4
    A, offset, t = rng.uniform(0.2, 0.9, k), rng.uniform(0, 0.3, k), rng.uniform(0.3, 0.6, k)
    V = rng.normal(size=(k, k))

    def spread(p: np.ndarray) -> Covariance:
        return Covariance.dense(V @ V.T / 100 + np.diag(p) / 50)

    weights = rng.uniform(50, 200, k)
    common = {"offset": offset, "t": t, "V": spread, "weights": weights, "nobs": 100}
    return Equations(A, **common), Equations(np.diag(A), **common)


def test_pooled_diagonals_are_pooled_dense_ones():
    pairs = [diagonal_and_dense(seed) for seed in (1, 2, 3)]
    krr = ldp.KRR(4, epsilon=1.0)
    number = krr.moments(krr.counts([20, 30, 40, 10]))
    one = pool([*(pair[0] for pair in pairs), number])
    two = pool([*(pair[1] for pair in pairs), number])
    np.testing.assert_allclose(one.estimate()[0], two.estimate()[0], atol=1e-13)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(one.covariance(p).matrix(), two.covariance(p).matrix(), atol=1e-13)


def test_a_zero_on_the_diagonal_is_refused():
    one, _ = diagonal_and_dense(1)
    with pytest.raises(ldp.NotIdentified):
        replace(one, A=np.array([0.5, 0.0, 0.2, 0.1])).estimate()
