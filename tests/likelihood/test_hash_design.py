"""Products with hashed candidates, their least squares, and identification."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.hashed_cells import hashed, incidence

from ldpstats.likelihood import hashed as designs
from ldpstats.likelihood.hashed import HashDesign, least_squares, undetermined

Array = npt.NDArray[Any]


# ---- products


@pytest.mark.parametrize(
    ("C", "m", "S", "h"),
    [(1, 5, 7, 1), (6, 4, 300, 1), (3, 64, 150, 2), (5, 3, 40, 4), (2, 9, 1, 2)],
)
@pytest.mark.parametrize(
    ("slope", "background", "dtype"), [(1.0, 0.0, np.uint16), (-1.5, 0.1, np.uint32)]
)
@pytest.mark.usefixtures("path")
def test_products_equal_those_of_the_matrix(C, m, S, h, slope, background, dtype):
    cells = hashed(C, m, S, h, dtype=dtype)
    design = HashDesign(cells, m, slope, background)
    H = incidence(cells, m)
    A = slope * (H - background)
    rng = np.random.default_rng(1)
    p, v, w = rng.normal(size=S), rng.normal(size=C * m), rng.random(C * m)
    assert design.shape == A.shape and design.n_cohorts == C
    expected = {
        "matrix": (design.matrix(), A),
        "owned": (design.owned(p), (H @ p).reshape(C, m)),
        "owners": (design.owners(v), H.T @ v),
        "times": (design.times(p), A @ p),
        "adjoint": (design.adjoint(v), A.T @ v),
        "by_cohort": (design.by_cohort(v), (v[:, None] * A).reshape(C, m, S).sum(axis=1)),
        "normal": (design.normal(w, p), A.T @ (w * (A @ p))),
        "normal_diagonal": (design.normal_diagonal(w), np.diag((A.T * w) @ A)),
        "gram": (design.gram(w), (A.T * w) @ A),
        "incidence": (design.incidence(C - 1), H[-m:]),
        "block": (design.block(C - 1), A[-m:]),
    }  # fmt: skip
    for name, (found, wanted) in expected.items():
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=name)
    assert np.array_equal(design.gram(w), design.gram(w).T)
    index = np.arange(S)[::-2]
    np.testing.assert_array_equal(design.take(index).matrix(), design.matrix()[:, index])
    keep = np.arange(S) % 3 == 0
    np.testing.assert_array_equal(design.take(keep).matrix(), design.matrix()[:, keep])


def test_cohorts_are_taken_in_parts(monkeypatch):
    C, m, S, h = 5, 9, 40, 2
    monkeypatch.setattr(designs, "_LOOKED_UP", 2 * S * h)
    monkeypatch.setattr(designs, "_BLOCK", 2 * m * S)
    design, v = HashDesign(hashed(C, m, S, h), m), np.random.default_rng(3).random(C * m)
    A = design.matrix()
    by_cohort = (v[:, None] * A).reshape(C, m, S).sum(axis=1)
    np.testing.assert_allclose(design.by_cohort(v), by_cohort, rtol=1e-12)
    np.testing.assert_allclose(design.gram(v), (A.T * v) @ A, rtol=1e-12)


@pytest.mark.parametrize("few", [0.0, np.inf])  # one block of rows after the other; all at once
def test_gram_by_pairs_in_both_orders(few, monkeypatch):
    for name, value in (("_DENSE", 0), ("_PAIR", 0.0), ("_FEW", few)):
        monkeypatch.setattr(designs, name, value)
    design = HashDesign(hashed(4, 8, 300, 2), 8, background=0.2)
    A, w = design.matrix(), np.random.default_rng(0).normal(size=32)
    np.testing.assert_allclose(design.gram(w), (A.T * w) @ A, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(("C", "m", "S", "h"), [(9, 12, 150, 3), (3, 8, 1, 2), (2, 5, 40, 4)])
@pytest.mark.parametrize("is_compiled", [False, True])  # five seconds where no loop is on the disk
def test_pairs_of_cells_with_a_common_owner(C, m, S, h, is_compiled, monkeypatch):
    if is_compiled:
        for name, value in (("_DENSE", 0), ("_ADDED", 0.0), ("_LARGE", 0)):
            monkeypatch.setattr(designs, name, value)
    design = HashDesign(hashed(C, m, S, h), m, slope=0.7, background=0.2)
    A = design.matrix()
    rng = np.random.default_rng(2)
    p, scale = rng.random(S) * (rng.random(S) < 0.6), rng.random(C) * (np.arange(C) != 1)
    rows, diagonal = rng.normal(size=(2, C, m)), rng.normal(size=(C, m)) * (scale > 0)[:, None]
    total, forms = np.zeros((S, S)), np.zeros((3, C))
    for c in range(C):
        B = (design.incidence(c) * p) @ design.incidence(c).T
        np.fill_diagonal(B, 0.0)
        block = A[c * m : (c + 1) * m]
        total += block.T @ (np.diag(diagonal[c]) + scale[c] * B) @ block
        forms[:, c] = [*(v @ B @ v for v in rows[:, c]), (B**2).sum()]
    found = design.gram_of_pairs(diagonal, scale, p)
    np.testing.assert_allclose(found, total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.pair_forms(p, rows), forms, rtol=1e-12, atol=1e-12)


# ---- least squares and identification


@pytest.mark.parametrize(("C", "m", "S", "h"), [(8, 16, 60, 1), (6, 32, 100, 2), (4, 8, 1, 1)])
@pytest.mark.usefixtures("path")
def test_least_squares_equals_that_of_the_matrix(C, m, S, h):
    design = HashDesign(hashed(C, m, S, h), m, slope=0.6, background=h / m)
    rng = np.random.default_rng(2)
    w, rhs = rng.random(C * m), rng.normal(size=C * m)
    w[:m] = 0.0  # a cohort without reports
    p, steps, left = least_squares(design, w, rhs)
    wanted = np.linalg.lstsq(np.sqrt(w)[:, None] * design.matrix(), np.sqrt(w) * rhs, rcond=None)[0]
    np.testing.assert_allclose(p, wanted, rtol=1e-8, atol=1e-9)
    assert left <= 1e-12 and steps <= 2 * S
    A = design.matrix()
    gradient, first = A.T @ (w * (rhs - A @ p)), A.T @ (w * rhs)
    scale = 1.0 / np.diag((A.T * w) @ A)
    assert gradient @ (scale * gradient) <= (2e-12) ** 2 * (first @ (scale * first))


def test_least_squares_says_when_it_was_stopped():
    design = HashDesign(hashed(8, 16, 60, 1), 16, background=1 / 16)
    rhs = np.random.default_rng(3).normal(size=128)
    _, steps, left = least_squares(design, np.ones(128), rhs, max_iter=3)
    assert steps == 3 and left > 1e-12
    p, steps, left = least_squares(design, np.ones(128), np.zeros(128))
    assert left == 0.0 and steps == 0 and not p.any()


@pytest.mark.parametrize(("C", "m", "S"), [(4, 8, 60), (64, 64, 2000)])
@pytest.mark.usefixtures("path")
def test_candidates_with_the_same_cells_are_not_determined(C, m, S):
    cells = hashed(C, m, min(S, C * (m - 1) // 2), 1)
    w = np.random.default_rng(4).random(C * m)
    assert not undetermined(HashDesign(cells, m, background=1 / m), w).size
    cells[:, 9] = cells[:, 3]
    cells[:, 11] = cells[:, 5]
    design = HashDesign(cells, m, background=1 / m)
    assert undetermined(design, w).tolist() == [3, 5, 9, 11]


def test_other_deficiencies():
    corners = np.array([[[0], [0], [1], [1]], [[0], [1], [0], [1]]], dtype=np.uint16)
    square = HashDesign(corners, 2)  # 0 and 3 own the same cells as 1 and 2 together
    assert undetermined(square, np.ones(4)).tolist() == [0, 1, 2, 3]
    assert not undetermined(square.take(np.arange(3)), np.ones(4)).size
    # the rank is at most C (m - 1) + 1, less than C m
    many = HashDesign(hashed(4, 8, 30, 1), 8)
    assert np.linalg.matrix_rank(many.matrix()) <= 4 * 7 + 1
    assert undetermined(many, np.ones(32)).size
    # nor is anything known of a candidate whose only cohorts gave no reports
    absent = np.array([[[0], [2]], [[2], [0]]], dtype=np.uint16)
    weights = np.array([1.0, 1.0, 0.0, 0.0])
    assert undetermined(HashDesign(absent, 2), weights).tolist() == [1]
