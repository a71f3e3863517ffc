"""Joint rows against dense Kronecker products, and the certified maximum over them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ldpstats.joint_rows as module
from ldpstats.errors import InvalidArgument
from ldpstats.joint_rows import Factor, JointRows

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
def test_products_are_those_of_kronecker_rows(
    case: str, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block is not None:  # a few reports at a time
        monkeypatch.setattr(module, "_BLOCK", block)
    rows = example(case)
    check_products(rows, kronecker(rows.factors))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tabled", [True, False])
def test_table_and_blocks_agree(case: str, tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not tabled:
        monkeypatch.setattr(module, "_TABLE", 0)
    rows = example(case, u=400)
    indexed = all(kind == "index" for kind in CASES[case])
    assert (rows._table is not None) == (indexed and tabled)
    check_products(rows, kronecker(rows.factors))


@pytest.mark.parametrize("case", CASES)
def test_a_part_of_the_rows(case: str) -> None:
    rows = example(case)
    dense = kronecker(rows.factors)
    keep = np.random.default_rng(5).random(len(dense)) < 0.4
    check_products(rows.select(keep), dense[keep])
    check_products(rows.select(slice(3, 50, 4)), dense[3:50:4])
    np.testing.assert_array_equal(rows.select(keep).log_scale, rows.log_scale[keep])
    assert rows.select(np.zeros(len(dense), bool)).mix(np.ones(dense.shape[1])).shape == (0,)


def test_a_slice_copies_nothing() -> None:
    rows = example("two")
    parts = rows.select(slice(10, 20)).factors
    pairs = zip(parts, rows.factors, strict=True)
    assert all(np.shares_memory(part.W, whole.W) for part, whole in pairs)


def test_scales_add_up() -> None:
    rows = example("three, mixed")
    scales = [f.scale if f.index is None else f.scale[f.index] for f in rows.factors]
    np.testing.assert_allclose(rows.log_scale, np.sum(scales, axis=0), rtol=1e-14)
    bare = JointRows(tuple(Factor(f.W, f.index) for f in rows.factors))
    np.testing.assert_array_equal(bare.log_scale, np.zeros(60))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
@pytest.mark.parametrize("indexed", [True, False])
def test_sums_are_in_float64(dtype: npt.DTypeLike, indexed: bool) -> None:
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


def test_cross_moments_of_features() -> None:
    """adjoint is the sum of vec(a b'), whatever the signs, and gram that of vec vec'."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    rows = JointRows((Factor(a), Factor(b)))
    np.testing.assert_allclose(rows.adjoint(np.ones(50)).reshape(3, 2), a.T @ b, rtol=1e-12)
    vec = np.einsum("ki,kj->kij", a, b).reshape(50, 6)
    np.testing.assert_allclose(rows.gram(np.ones(50)), vec.T @ vec, rtol=1e-12)


def test_a_large_table_is_cheap() -> None:
    """1000 x 1000 categories, one count per pair of labels: never a row of a million entries."""
    k = 1000
    W = np.full((k, k), 0.25) + np.eye(k)
    y = np.indices((k, k)).reshape(2, -1)
    rows = JointRows((Factor(W, y[0]), Factor(W, y[1])))
    P = np.random.default_rng(8).random((k, k))
    np.testing.assert_allclose(rows.mix(P.reshape(-1)).reshape(k, k), W @ P @ W.T, rtol=1e-12)
    np.testing.assert_allclose(rows.adjoint(P.reshape(-1)).reshape(k, k), W @ P @ W, rtol=1e-12)


@pytest.mark.parametrize(
    ("W", "index", "scale", "said"),
    [
        (np.ones(3), None, None, "W"),
        (np.ones((3, 2)), np.array([0, 3]), None, "index"),
        (np.ones((3, 2)), np.array([-1, 0]), None, "index"),
        (np.ones((3, 2)), np.array([0.0, 1.0]), None, "index"),
        (np.ones((3, 2)), np.array([[0, 1]]), None, "index"),
        (np.ones((3, 2)), np.array([0, 1]), np.zeros(2), "scale"),
    ],
)
def test_a_bad_factor_is_refused(W: Array, index: Any, scale: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Factor(W, index, scale)


def test_bad_factors_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="two or more"):
        JointRows((Factor(np.ones((3, 2))),))
    with pytest.raises(InvalidArgument, match="same number"):
        JointRows((Factor(np.ones((3, 2))), Factor(np.ones((4, 2)))))
