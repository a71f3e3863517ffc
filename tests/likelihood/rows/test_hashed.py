"""Likelihood rows of hashed reports, and their maximum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.hashed_cells import hashed, incidence

from ldpstats.estimators import EM, MLE
from ldpstats.estimators.solvers import STEP
from ldpstats.likelihood import rows as base
from ldpstats.likelihood.hashed import HashDesign
from ldpstats.likelihood.hashed_rows import BloomRows, LabelRows
from ldpstats.likelihood.rows import (
    DenseRows,
    FixedEntry,
    Likelihood,
    Rows,
    StackedRows,
    UniformRows,
)

Array = npt.NDArray[Any]


# ---- likelihood rows


def label_rows(
    C: int, m: int, S: int, n: int, epsilon: float = 2.0, seed: int = 0
) -> tuple[LabelRows, Array]:
    """Simulated reports of Zipf frequencies: distinct (cohort, label) pairs and their counts."""
    cells, rng = hashed(C, m, S, 1, seed), np.random.default_rng(seed)
    b = 1.0 / (np.exp(epsilon) + m - 1)
    a = np.expm1(epsilon) * b
    law = a * HashDesign(cells, m).owned(zipf(S)) + b
    sizes = rng.multinomial(n, np.full(C, 1.0 / C))
    counts = np.stack([rng.multinomial(size, q) for size, q in zip(sizes, law, strict=True)])
    cohort, y = np.nonzero(counts)
    return LabelRows(cells, cohort, y, a, b), counts[cohort, y]


def bloom_rows(
    C: int, m: int, S: int, h: int, n: int, p1: float = 0.8, p0: float = 0.3, seed: int = 0
) -> tuple[BloomRows, Array]:
    """Simulated Bloom filters of Zipf frequencies."""
    cells, rng = hashed(C, m, S, h, seed), np.random.default_rng(seed)
    cohort, x = rng.integers(0, C, n), rng.choice(S, size=n, p=zipf(S))
    bits = incidence(cells, m).reshape(C, m, S)[cohort, :, x]
    y = rng.random((n, m)) < np.where(bits > 0.0, p1, p0)
    packed = np.packbits(y, axis=1, bitorder="little")
    return BloomRows(packed, cohort, cells, m, p1, p0), np.ones(n, dtype=np.int64)


def zipf(S: int) -> Array:
    weights = 1.0 / np.arange(1, S + 1)
    return np.asarray(weights / weights.sum())


def from_definition(W: LabelRows | BloomRows) -> Array:
    """Probabilities of the reports, shape (u, S), one by one."""
    out = np.ones(W.shape)
    for i, x in np.ndindex(W.shape):
        own = set(W.cells[W.cohort[i], x].tolist())
        if isinstance(W, LabelRows):
            out[i, x] = W.b + W.a * (W.y[i] in own)
            continue
        for j in range(W.n_bits):
            probability = W.p1 if j in own else W.p0
            bit = W.packed[i, j // 8] >> (j % 8) & 1
            out[i, x] *= probability if bit else 1.0 - probability
    return out


ROWS = {
    "labels": lambda: label_rows(5, 6, 9, 60),
    "complete labels": lambda: label_rows(3, 4, 9, 10_000),
    "bloom": lambda: bloom_rows(4, 11, 9, 2, 50),
    "bloom, one hash": lambda: bloom_rows(4, 16, 9, 1, 50),
    "bloom, four hashes": lambda: bloom_rows(4, 7, 9, 4, 50),
    "bloom, inverted": lambda: bloom_rows(4, 11, 9, 2, 50, p1=0.2, p0=0.7),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.usefixtures("path")
def test_rows_equal_their_definition(kind: str) -> None:
    W, _ = ROWS[kind]()
    rng = np.random.default_rng(5)
    u, k = W.shape
    order = rng.permutation(u) if kind != "complete labels" else np.arange(u)
    W = W.select(order)
    P = from_definition(W)
    np.testing.assert_allclose(W.dense() * np.exp(W.log_scale)[:, None], P, rtol=1e-12)
    D = P / np.exp(W.log_scale)[:, None]
    p, v = rng.normal(size=k), rng.normal(size=u)
    some = rng.random(u) < 0.5
    check = {
        "mix": (W.mix(p), D @ p),
        "adjoint": (W.adjoint(v), v @ D),
        "adjoints": (np.array(W.adjoints(v)), np.array([v @ D, v @ D**2])),
        "gram": (W.gram(v**2), (D.T * v**2) @ D),
        "take": (W.take(2, 7), D[2:7]),
        "select": (W.select(some).dense(), D[some]),
        "selected mix": (W.select(some).mix(p), D[some] @ p),
    }
    for name, (found, wanted) in check.items():
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=name)


# ---- maximum likelihood


def step_left(W: Rows, n: Array, p: Array, q: Array) -> float:
    """Length of q - p in standard errors, ``sqrt(sum_i n_i (W(q - p))_i^2 / (W p)_i^2)``."""
    return float(np.sqrt(n @ (W.mix(q - p) / W.mix(p)) ** 2))


def check_maximum(W: Rows, n: Array) -> None:
    """The MLE on structured rows is certified and equals the one on the dense matrix."""
    problem, dense = Likelihood(W, n), Likelihood(DenseRows(W.dense(), W.log_scale), n)
    found, wanted = MLE().solve(problem), MLE().solve(dense)
    assert found.converged and "proximal" in found.message
    assert problem.gap_nats(found.p) <= 1.1e-3 and dense.gap_nats(found.p) <= 1.1e-3
    assert problem.loglike(found.p) == pytest.approx(dense.loglike(found.p), rel=1e-12)
    assert step_left(W, n, wanted.p, found.p) <= 4 * STEP  # each within about STEP of the maximum


@pytest.mark.parametrize("kind", ["labels", "bloom"])
def test_maximum_of_many_reports(kind: str) -> None:
    if kind == "labels":
        W, n = label_rows(300, 64, 120, 10**6)
    else:
        W, n = bloom_rows(16, 32, 70, 2, 32_000)  # type: ignore[assignment]
    assert W.shape[0] * W.shape[1] > base._SMALL and W.prepared() is W
    check_maximum(W, n)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.usefixtures("path")
def test_maximum_on_both_paths(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    W, n = ROWS[kind]()
    assert isinstance(W.prepared(), DenseRows)
    expected = MLE().solve(Likelihood(W, n)).p
    monkeypatch.setattr(base, "_SMALL", 0)
    assert W.prepared() is W and W.is_structured
    found = MLE().solve(Likelihood(W, n))
    assert found.gap <= 1e-12 and step_left(W, n, expected, found.p) <= 4 * STEP
    by_em = EM(tol=1e-7).solve(Likelihood(W, n))
    assert by_em.converged and Likelihood(W, n).gap(by_em.p) <= 1e-7


def test_groups_of_both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_SMALL", 0)
    S = 40
    parts = [label_rows(20, 16, S, 10**5), bloom_rows(4, 32, S, 2, 3000)]
    parts.append((UniformRows(np.arange(S), 0.5, 0.5 / S, S), np.arange(S) + 1))  # type: ignore[arg-type]
    W, n = StackedRows(tuple(w for w, _ in parts)), np.concatenate([n for _, n in parts])
    check_maximum(W, n)


@pytest.mark.parametrize("kind", ["labels", "bloom"])
def test_the_start_is_nearly_as_likely_as_the_truth(kind: str) -> None:
    if kind == "labels":
        W, n = label_rows(64, 64, 500, 10**6)
    else:
        W, n = bloom_rows(8, 64, 100, 2, 30_000)  # type: ignore[assignment]
    k, start = W.shape[1], W.start(n)
    assert start.min() >= 0.0 and start.sum() == pytest.approx(1.0)
    reached, uniform, truth = (
        Likelihood(W, n).loglike(p) for p in (start, np.full(k, 1 / k), zipf(k))
    )
    assert reached > uniform + 0.9 * (truth - uniform)
    others = FixedEntry(W, 0, 0.5).start(n)
    np.testing.assert_allclose(others, np.delete(start, 0) / (1.0 - start[0]))
    both = StackedRows((W, DenseRows(np.ones((1, k))))).start(np.append(n, n.sum()))
    np.testing.assert_allclose(both, (start + 1.0 / k) / 2.0)
