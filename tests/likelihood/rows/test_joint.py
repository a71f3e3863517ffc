"""Joint rows against dense Kronecker products, and the certified maximum over them."""

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ldpstats import InvalidArgument
from ldpstats.estimators import EM, MLE
from ldpstats.estimators import likelihood as mle_module
from ldpstats.estimators import solvers as sampled_module
from ldpstats.likelihood import joint as module
from ldpstats.likelihood.joint import Factor, JointRows
from ldpstats.likelihood.rows import Likelihood, StackedRows

Array = npt.NDArray[Any]


def kronecker(factors: tuple[Factor, ...]) -> Array:
    """The rows in full, one np.kron after the other."""
    parts = [f.W if f.index is None else f.W[f.index] for f in factors]
    parts = [np.asarray(part, dtype=np.float64) for part in parts]
    return np.array([reduce(np.kron, rows) for rows in zip(*parts, strict=True)])


def factor(rng: np.random.Generator, u: int, k: int, kind: str) -> Factor:
    """A factor of u joint reports: "own" rows, or an "index" into few or into "many" rows."""
    rows = {"own": u, "index": k + 1, "many": 40 * u}[kind]
    W = rng.random((rows, k)) + 0.01
    index = None if kind == "own" else rng.integers(rows, size=u)
    return Factor(W, index, scale=rng.normal(size=rows))


CASES = {
    "two": ("own", "own"),
    "table": ("index", "index"),
    "mixed": ("index", "own"),
    "sparse": ("many", "many"),
    "three": ("own", "own", "own"),
    "three, table": ("index", "index", "index"),
    "three, mixed": ("own", "index", "many"),
}


def example(case: str, u: int = 60) -> JointRows:
    rng = np.random.default_rng(3)
    return JointRows(
        tuple(factor(rng, u, k, kind) for k, kind in zip((3, 4, 2), CASES[case], strict=False))
    )


def check_products(rows: JointRows, dense: Array) -> None:
    u, k = dense.shape
    rng = np.random.default_rng(4)
    p, v = rng.normal(size=k), rng.random(u)
    v[::7] = 0.0
    assert rows.shape == (u, k)
    close = {"rtol": 1e-12, "atol": 1e-12 * max(1.0, np.abs(dense).max() ** 2 * u)}
    np.testing.assert_allclose(rows.dense(), dense, rtol=1e-14)
    np.testing.assert_allclose(rows.take(5, 9), dense[5:9], rtol=1e-14)
    np.testing.assert_allclose(rows.mix(p), dense @ p, **close)
    np.testing.assert_allclose(rows.adjoint(v), v @ dense, **close)
    first, second = rows.adjoints(v)
    np.testing.assert_allclose(first, v @ dense, **close)
    np.testing.assert_allclose(second, v @ dense**2, **close)
    gram = rows.gram(v)
    np.testing.assert_allclose(gram, (dense * v[:, None]).T @ dense, **close)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("block", [None, 50])
@pytest.mark.parametrize("case", CASES)
def test_products_are_those_of_kronecker_rows(case, block, monkeypatch):
    if block is not None:  # a few reports at a time
        monkeypatch.setattr(module, "_BLOCK", block)
    rows = example(case)
    check_products(rows, kronecker(rows.factors))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tabled", [True, False])
def test_table_and_blocks_agree(case, tabled, monkeypatch):
    if not tabled:
        monkeypatch.setattr(module, "_TABLE", 0)
    rows = example(case, u=400)
    indexed = all(kind == "index" for kind in CASES[case])
    assert rows.is_table == (indexed and tabled)
    check_products(rows, kronecker(rows.factors))


@pytest.mark.parametrize("case", CASES)
def test_a_part_of_the_rows(case):
    rows = example(case)
    dense = kronecker(rows.factors)
    keep = np.random.default_rng(5).random(len(dense)) < 0.4
    check_products(rows.select(keep), dense[keep])
    check_products(rows.select(slice(3, 50, 4)), dense[3:50:4])
    np.testing.assert_array_equal(rows.select(keep).log_scale, rows.log_scale[keep])
    assert rows.select(np.zeros(len(dense), bool)).mix(np.ones(dense.shape[1])).shape == (0,)


def test_scales_add_up():
    rows = example("three, mixed")
    scales = [f.scale if f.index is None else f.scale[f.index] for f in rows.factors]
    np.testing.assert_allclose(rows.log_scale, np.sum(scales, axis=0), rtol=1e-14)
    bare = JointRows(tuple(Factor(f.W, f.index) for f in rows.factors))
    np.testing.assert_array_equal(bare.log_scale, np.zeros(60))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
@pytest.mark.parametrize("indexed", [True, False])
def test_sums_are_in_float64(dtype, indexed):
    """Small integers, negative ones included, neither wrap round nor round off."""
    rng = np.random.default_rng(6)
    tables = [rng.integers(-120, 121, size=(300, k)).astype(dtype) for k in (3, 5)]
    indices = [rng.integers(300, size=300) if indexed else None for _ in tables]
    rows = JointRows(tuple(Factor(W, i) for W, i in zip(tables, indices, strict=True)))
    dense = kronecker(rows.factors)
    check_products(rows, dense)
    n = rng.integers(9, size=300)
    np.testing.assert_array_equal(rows.adjoint(n), n @ dense)  # integers, so exact
    np.testing.assert_array_equal(rows.gram(n), (dense * n[:, None]).T @ dense)


def test_a_large_table_is_cheap():
    """1000 x 1000 categories, one count per pair of labels: never a row of a million entries."""
    k = 1000
    W = np.full((k, k), 0.25) + np.eye(k)
    y = np.indices((k, k)).reshape(2, -1)
    rows = JointRows((Factor(W, y[0]), Factor(W, y[1])))
    P = np.random.default_rng(8).random((k, k))
    np.testing.assert_allclose(rows.mix(P.reshape(-1)).reshape(k, k), W @ P @ W.T, rtol=1e-12)
    np.testing.assert_allclose(rows.adjoint(P.reshape(-1)).reshape(k, k), W @ P @ W, rtol=1e-12)


# ---- the certified maximum


def krr(k: int, epsilon: float) -> Array:
    Q = np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)
    return Q / Q.sum(axis=1)


def bits(rng: np.random.Generator, codes: Array, k: int, epsilon: float) -> Array:
    """Likelihoods, up to a factor per row, of unary reports on codes 0 to k - 1, shape (u, k)."""
    p1 = 1.0 / (1.0 + np.exp(-epsilon / 2.0))
    y = rng.random((codes.size, k)) < np.where(codes[:, None] == np.arange(k), p1, 1.0 - p1)
    ratio = p1 / (1.0 - p1)
    return np.where(y, ratio, 1.0 / ratio)


TRUTHS = {
    "independent": np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1]),
    "dependent": np.array(
        [[0.3, 0.02, 0.02, 0.01], [0.01, 0.3, 0.01, 0.1], [0.05, 0.05, 0.1, 0.03]]
    ),
    "zeros": np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0], [0.0, 0.0, 0.2, 0.0]]),
    "point": np.eye(1, 12).reshape(3, 4),
}


def survey(
    truth: Array, u: int, kinds: str, epsilon: float = 1.5, seed: int = 0
) -> tuple[JointRows, Array]:
    """Rows and counts of u respondents, a variable per letter: k for k-RR, b for bits."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(truth.size, size=u, p=truth.reshape(-1))
    factors = []
    for kind, codes, k in zip(
        kinds, np.unravel_index(cells, truth.shape), truth.shape, strict=True
    ):
        if kind == "b":
            factors.append(Factor(bits(rng, codes, k, epsilon)))
        else:
            Q = krr(k, epsilon)
            y = (rng.random((u, 1)) > np.cumsum(Q, axis=1)[codes]).sum(axis=1)
            factors.append(Factor(Q.T, y))
    return JointRows(tuple(factors)), np.ones(u)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("kinds", ["kk", "kb"])
@pytest.mark.parametrize("truth", ["dependent", "zeros"])
def test_the_maximum_is_that_of_the_dense_rows(truth, kinds, few, monkeypatch):
    if not few:  # the Hessian comes from a sample of 400 among 3000
        monkeypatch.setattr(sampled_module, "SAMPLE", 400)
        monkeypatch.setattr(mle_module, "_POLISH_K", 0)
    W, n = survey(TRUTHS[truth], 3000, kinds)
    problem = Likelihood(W, n)
    solution = MLE(tol=1e-10).solve(problem)
    sampled_is_used = not few and kinds != "kk"  # k-RR pairs make a table, however many
    assert ("sampled" in solution.message) == sampled_is_used
    dense = Likelihood(kronecker(W.factors), n)
    assert solution.converged and dense.gap(solution.p) < 1e-9
    assert solution.p.min() >= 0.0 and abs(solution.p.sum() - 1.0) < 1e-12
    best = MLE(tol=1e-12).solve(dense).p
    assert abs(dense.loglike(solution.p) - dense.loglike(best)) < 1e-6
    by_default = MLE().solve(problem)  # 1e-3 nats, and 1e-3 standard errors
    assert by_default.converged and problem.gap_nats(by_default.p) <= 1e-3
    change = dense.W.mix(by_default.p - best) / dense.W.mix(best)
    assert np.sqrt(n @ change**2) < 1e-3
    assert EM(tol=1e-7).solve(problem).gap <= 1e-7


def test_a_bad_sample_costs_time_only(monkeypatch):
    """Twelve cells' curvature from five reports: the exact Hessian takes over."""
    monkeypatch.setattr(sampled_module, "SAMPLE", 5)
    W, n = survey(TRUTHS["dependent"], 3000, "bb")
    solution = MLE(tol=1e-11).solve(Likelihood(W, n))
    assert solution.converged and solution.message.count("Newton") == 2


def test_many_cells_go_without_a_hessian(monkeypatch):
    monkeypatch.setattr(mle_module, "_DENSE_K", 11)
    W, n = survey(TRUTHS["zeros"], 2000, "bb", epsilon=3.0)
    solution = MLE(tol=1e-8).solve(Likelihood(W, n))
    assert solution.converged and solution.message.startswith("proximal Newton")


@pytest.mark.parametrize(("truth", "epsilon"), [("zeros", 0.5), ("independent", 1.5)])
def test_tables_of_many_cells_go_without_a_hessian(truth, epsilon, monkeypatch):
    monkeypatch.setattr(mle_module, "_TABLE_K", 0)
    monkeypatch.setattr(mle_module, "_POLISH_K", 0)
    monkeypatch.setattr(mle_module, "_PROXIMAL", 2)
    W, n = survey(TRUTHS[truth], 3000, "kk", epsilon)
    dense = Likelihood(kronecker(W.factors), n)
    best = MLE(tol=1e-12).solve(dense).p
    for tol, left in ((None, 1e-3 / 3000), (1e-6, 1e-6), (1e-12, 1e-12)):
        solution = MLE(tol=tol).solve(Likelihood(W, n))
        assert solution.converged and solution.gap <= left
        if truth != "independent":  # there the start may be all that was asked for
            assert "interior point method" in solution.message
        change = dense.W.mix(solution.p - best) / dense.W.mix(best)
        # a gap of g nats leaves at most sqrt(2 g) standard errors; the default asks for 1e-3
        assert np.sqrt(n @ change**2) < (1e-3 if tol is None else np.sqrt(2.0 * 3000 * left) + 1e-6)
        np.testing.assert_array_equal(solution.p == 0.0, best == 0.0)
    parts = [survey(TRUTHS[truth], 1500, "kk", e, seed=i) for i, e in enumerate((1.0, 2.0))]
    stacked = StackedRows(tuple(rows for rows, _ in parts))
    solution = MLE(tol=1e-10).solve(Likelihood(stacked, np.ones(3000)))
    whole = np.concatenate([kronecker(rows.factors) for rows, _ in parts])
    assert solution.converged and Likelihood(whole, np.ones(3000)).gap(solution.p) < 1e-9


def test_three_variables_of_twenty_categories():
    """8,000 cells, most of them at zero, where a diagonal Hessian alone stops short."""
    rng = np.random.default_rng(10)
    cells = rng.choice(8000, size=100_000, p=rng.dirichlet(np.full(8000, 0.2)))
    Q, factors = krr(20, 2.0), []
    for codes in np.unravel_index(cells, (20, 20, 20)):
        factors.append(Factor(Q.T, (rng.random((codes.size, 1)) > Q.cumsum(axis=1)[codes]).sum(1)))
    problem = Likelihood(JointRows(tuple(factors)), np.ones(cells.size))
    solution = MLE().solve(problem)
    assert solution.converged and problem.gap_nats(solution.p) <= 1e-3
    assert "interior point method" in solution.message and np.mean(solution.p == 0.0) > 0.5
    assert MLE(tol=1e-12).solve(problem).converged


def test_an_impossible_report_is_named():
    W = JointRows((Factor(np.array([[1.0, 2.0], [0.0, 0.0]])), Factor(np.ones((2, 2)))))
    with pytest.raises(InvalidArgument, match="impossible under every category"):
        MLE().solve(Likelihood(W, np.ones(2)))


# ---- its pieces
