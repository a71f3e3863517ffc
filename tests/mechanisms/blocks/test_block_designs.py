"""Designs of blocks against their incidence matrix, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.likelihood.blocks import BlockDesign, HadamardDesign, ProjectiveDesign, SingleDesign

DESIGNS = (
    HadamardDesign(3, 1, 4),
    HadamardDesign(5, 1, 8),
    HadamardDesign(2, 2, 2),
    HadamardDesign(5, 2, 4),
    HadamardDesign(20, 3, 8),
    ProjectiveDesign(7, 2, 3),
    ProjectiveDesign(11, 3, 3),
    ProjectiveDesign(40, 3, 4),
    ProjectiveDesign(30, 5, 3),
    ProjectiveDesign(100, 2, 7),
    SingleDesign(4),
)

every_design = pytest.mark.parametrize("design", DESIGNS, ids=str)


def incidence(design: BlockDesign) -> np.ndarray:
    return design.holds(np.arange(design.n_labels))


def by_hand(design: BlockDesign) -> np.ndarray:
    """The definitions, without the arithmetic of the package."""
    k, l = design.k, design.n_labels  # noqa: E741
    if isinstance(design, SingleDesign):
        return np.eye(k, dtype=bool)
    if isinstance(design, HadamardDesign):
        H = np.ones((1, 1), dtype=int)
        while len(H) < design.order:
            H = np.block([[H, H], [H, -H]])
        whole = np.kron(np.eye(design.parts, dtype=int), H[1:])
        return whole[:k].T == 1
    assert isinstance(design, ProjectiveDesign)
    points = [
        np.array([*u, 1, *[0] * (design.t - 1 - j)])
        for j in range(design.t)
        for u in (np.array(np.unravel_index(i, (design.q,) * j)[::-1]) for i in range(design.q**j))
    ]
    X = np.array(points)
    assert len(X) == l
    return (X @ X[:k].T) % design.q == 0


@every_design
def test_blocks_are_those_of_the_definition(design: BlockDesign) -> None:
    np.testing.assert_array_equal(incidence(design), by_hand(design))


@every_design
def test_transforms_are_sums_over_blocks(design: BlockDesign) -> None:
    rng, S = np.random.default_rng(1), incidence(design)
    p, c = rng.random(design.k), rng.integers(0, 1000, design.n_labels)
    np.testing.assert_allclose(design.masses(p), S @ p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.tallies(c), c @ S, rtol=0, atol=1e-9)


@every_design
def test_categories_are_alike(design: BlockDesign) -> None:
    S = incidence(design).astype(int)
    assert np.all(S.sum(axis=0) == design.size)
    common = S.T @ S
    apart = common[~np.eye(design.k, dtype=bool)]
    if design.common is None:
        assert set(apart) <= {0, design.size // 2}
    else:
        assert np.all(apart == design.common)


@every_design
def test_labels_are_numbered_once(design: BlockDesign) -> None:
    S = incidence(design)
    for x in range(design.k):
        own, other = np.arange(design.size), np.arange(design.n_labels - design.size)
        mine = design.own_label(np.full(own.size, x), own)
        np.testing.assert_array_equal(np.sort(mine), np.flatnonzero(S[:, x]))
        rest = design.other_label(np.full(other.size, x), other)
        np.testing.assert_array_equal(np.sort(rest), np.flatnonzero(~S[:, x]))


def test_the_projective_design_has_the_smallest_variance() -> None:
    def summed_variance(q: int | None = None, t: int | None = None) -> float:
        response = ldp.ProjectiveGeometryResponse(100, 2.0, q, t)
        return float(ldp.planning.one_report_covariance(response).variances().sum())

    for q, t in ((2, 7), (3, 5), (5, 4), (7, 4), (11, 3), (13, 3), (17, 3)):
        assert summed_variance() <= 1.01 * summed_variance(q, t)
    assert isinstance(ldp.ProjectiveGeometryResponse(100, 2.0).design, ProjectiveDesign)
    for k, epsilon in ((100, 6.0), (2, 0.1)):  # k-RR where e^eps exceeds k
        assert ldp.ProjectiveGeometryResponse(k, epsilon).design == SingleDesign(k)
