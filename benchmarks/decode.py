"""Decoding hashed reports over many candidates: least squares, its Gram matrix, and the MLE."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from timing import Row, Scale, measure, zipf

from ldpstats.estimators import MLE
from ldpstats.likelihood.hashed import HashDesign, least_squares
from ldpstats.likelihood.hashed_rows import LabelRows
from ldpstats.likelihood.rows import Likelihood

__all__ = ["decode"]


def decode(scale: Scale) -> list[Row]:
    """O-RR labels in cohorts, from counts of n = 1e8: linear algebra and the MLE."""
    C, m, n = scale.size(1_024, 64), scale.size(4_096, 256), scale.size(10**8, 10**6)
    few, many = scale.size(4_096, 512), scale.size(100_000, 5_000)
    return [*_linear(C, m, few, n, scale), _maximum(C, m, few, n), _maximum(C, m, many, n)]


def _reports(C: int, m: int, S: int, n: int) -> tuple[LabelRows, np.ndarray]:
    """All labels of all cohorts, and how often each was reported at epsilon = ln m."""
    rng = np.random.default_rng(6)
    cells = rng.integers(0, m, (C, S, 1), dtype=np.uint16)
    b = 1.0 / (2 * m - 1)
    law = (m - 1) * b * HashDesign(cells, m).owned(zipf(S)) + b
    sizes = rng.multinomial(n, np.full(C, 1.0 / C))
    counts = np.stack([rng.multinomial(size, q) for size, q in zip(sizes, law, strict=True)])
    cohort, y = np.divmod(np.arange(C * m), m)
    return LabelRows(cells, cohort, y, (m - 1) * b, b), counts.reshape(-1)


def _linear(C: int, m: int, S: int, n: int, scale: Scale) -> list[Row]:
    W, counts = _reports(C, m, S, n)
    design = HashDesign(W.cells, m, slope=W.a)
    sizes = np.repeat(counts.reshape(C, m).sum(axis=1), m).astype(np.float64)
    rhs = counts / sizes - W.b
    jobs: dict[str, Any] = {
        "ours": lambda: least_squares(design, sizes, rhs)[0],
        "scipy": partial(_by_scipy, design, sizes, rhs),
        "gram": partial(design.gram, sizes),
    }
    spent = measure(jobs, scale.size(5, 1))
    ours, theirs = (_left(design, sizes, rhs, jobs[name]()) for name in ("ours", "scipy"))
    ratio = spent["scipy"] / spent["ours"]
    figure = (
        f"{ratio:.3g} x the speed ({spent['ours']:.3f} s, gradient {ours:.0e}, "
        f"not {spent['scipy']:.3f} s, {theirs:.0e})"
    )
    what = f"S = {S:,}, C = {C:,}, k = {m:,}"
    return [
        Row(f"least squares, {what}", "scipy's lsmr and its matrix", figure, ">= 4", ratio >= 4.0),
        Row(f"normal equations, {what}", "", f"{spent['gram']:.3f} s"),
    ]


def _by_scipy(design: HashDesign, weights: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The same least squares with a sparse matrix."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsmr

    (d, S), C = design.shape, design.n_cohorts
    rows = (design.cells[:, :, 0] + design.n_cells * np.arange(C)[:, None]).reshape(-1)
    root = np.sqrt(weights)
    columns = np.tile(np.arange(S), C)
    A = csr_array((design.slope * root[rows], (rows, columns)), shape=(d, S))
    return lsmr(A, root * rhs, atol=1e-12, btol=1e-12)[0]


def _left(design: HashDesign, weights: np.ndarray, rhs: np.ndarray, p: np.ndarray) -> float:
    """Length of the gradient at p, relative to that at 0."""
    first = np.linalg.norm(design.adjoint(weights * rhs))
    return float(np.linalg.norm(design.adjoint(weights * (rhs - design.times(p)))) / first)


def _maximum(C: int, m: int, S: int, n: int) -> Row:
    W, counts = _reports(C, m, S, n)
    problem = Likelihood(W, counts)
    spent = measure({"fit": partial(MLE().solve, problem)}, 1)["fit"]
    found = MLE().solve(problem)
    left = problem.gap_nats(found.p)
    figure = f"{spent:.2f} s, {found.n_iter} iterations, {left:.0e} nats to gain at most"
    met = spent < 15.0 and found.converged
    return Row(f"MLE, S = {S:,}, C = {C:,}, k = {m:,}", "", figure, "< 15 s, certified", met)
