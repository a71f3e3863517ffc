"""Information of a likelihood, up to a million categories."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ldpstats import InvalidArgument, NotIdentified
from ldpstats.inference.information import (
    checked_inverse,
    expected_information,
    fpe16,
    observed_tangent_inverse,
    tangent_inverse,
)
from ldpstats.likelihood.covariance import uniformised

Array = npt.NDArray[np.float64]


def krr(k: int, epsilon: float) -> tuple[Array, float, float]:
    """Q, a and b of k-RR, Q = a I + b 11'."""
    a, b = np.expm1(epsilon) / (np.exp(epsilon) + k - 1), 1 / (np.exp(epsilon) + k - 1)
    return a * np.eye(k) + b, float(a), float(b)


def channels() -> list[Array]:
    rng = np.random.default_rng(1)
    return [krr(4, 1.0)[0], *(rng.dirichlet(np.ones(width), size=4) for width in (4, 7, 16))]


def tangent_basis(k: int) -> Array:
    """An orthonormal basis of the directions that sum to zero, by QR."""
    return np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]


@pytest.mark.parametrize("Q", channels(), ids=lambda Q: f"{Q.shape[0]}x{Q.shape[1]}")
def test_inverse_on_the_tangent_space(Q: Array) -> None:
    p, n, k = np.array([0.4, 0.3, 0.2, 0.1]), 50.0, 4
    J = expected_information(Q, p, n)
    np.testing.assert_allclose(J @ p, n * np.ones(k), rtol=1e-12)
    inverse = np.linalg.inv(J)
    assert inverse.sum() == pytest.approx(1 / n, rel=1e-9)
    B = tangent_basis(k)
    by_basis = B @ np.linalg.inv(B.T @ J @ B) @ B.T
    scale = float(np.abs(inverse).max())
    np.testing.assert_allclose(inverse - np.outer(p, p) / n, by_basis, atol=1e-10 * scale)
    for V in (tangent_inverse(J, p, n), observed_tangent_inverse(J)):
        np.testing.assert_allclose(V.matrix(), by_basis, atol=1e-11 * scale)
        np.testing.assert_allclose(V.matrix().sum(axis=0), 0, atol=1e-13 * scale)
    np.testing.assert_allclose(fpe16(J).matrix(), inverse, atol=1e-11 * scale)


def test_fpe16_overstates_by_the_outer_product_of_p() -> None:
    Q, _, _ = krr(5, 4.0)
    p, n = np.array([0.9, 0.04, 0.03, 0.02, 0.01]), 10_000.0
    J = expected_information(Q, p, n)
    right, printed = tangent_inverse(J, p, n), fpe16(J)
    difference = printed.matrix() - right.matrix()
    np.testing.assert_allclose(difference, np.outer(p, p) / n, rtol=1e-8)
    # A sum that is certain has variance 0; the printed form claims 1/n.
    ones = np.ones((1, 5))
    assert right.transform(ones)[0, 0] == pytest.approx(0, abs=1e-18)
    assert printed.transform(ones)[0, 0] == pytest.approx(1 / n, rel=1e-9)
    # The ratio for the large cell that a simulation of 4000 surveys found to be 6.0.
    assert printed.variances()[0] / right.variances()[0] == pytest.approx(6.0, abs=0.3)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (5, 1.0), (20, 3.0), (50, 0.01), (300, 8.0)])
def test_uniformised_equals_the_dense_information(k: int, epsilon: float) -> None:
    Q, a, b = krr(k, epsilon)
    p = 0.8 ** np.arange(k)
    p /= p.sum()
    J = expected_information(Q, p, n=1000)
    # J holds n (1 + a^2 ...): what rounding leaves of its tangent part is about eps / a^2.
    rtol = max(1e-10, 100 * 2.2e-16 / a**2)
    np.testing.assert_allclose(
        tangent_inverse(J, p, 1000).variances(), uniformised(p, a, b, 1000).variances(), rtol=rtol
    )
    # J as a whole is worse conditioned than its tangent part, by a factor up to k
    expected = uniformised(p, a, b, 1000, fpe16=True).matrix()
    bound = 10 * k * rtol * float(np.abs(expected).max())
    np.testing.assert_allclose(fpe16(J).matrix(), expected, atol=bound)


def test_an_estimate_near_zero_does_not_spoil_the_others() -> None:
    p = np.array([1e-13, 0.5, 0.3, 0.2])
    p /= p.sum()
    V = observed_tangent_inverse(np.diag(100 / p)).matrix()
    expected = (np.diag(p) - np.outer(p, p)) / 100
    np.testing.assert_allclose(V[1:, 1:], expected[1:, 1:], rtol=1e-12)
    np.testing.assert_allclose(V[0, 0], expected[0, 0], rtol=1e-3)


def test_singular_off_the_tangent_space_only() -> None:
    B = tangent_basis(4)
    J = np.asarray(B @ B.T)  # no information about the sum, which needs none
    with pytest.raises(NotIdentified):
        fpe16(J)
    np.testing.assert_allclose(observed_tangent_inverse(J).matrix(), B @ B.T, atol=1e-14)


@pytest.mark.parametrize("k", [2, 5, 40, 300])
@pytest.mark.parametrize("deficiency", ["equal rows", "few outputs", "row is a mixture"])
def test_unidentified_channels_are_refused(k: int, deficiency: str) -> None:
    rng = np.random.default_rng(k)
    Q = rng.dirichlet(np.ones(k), size=k)
    if deficiency == "equal rows":
        Q[-1] = Q[0]
    elif deficiency == "few outputs":
        Q = rng.dirichlet(np.ones(max(1, k // 2)), size=k)
    else:
        Q[-1] = rng.dirichlet(np.ones(k - 1)) @ Q[:-1]
    p = rng.dirichlet(np.ones(k))
    J = expected_information(Q, p, n=1e5)
    with pytest.raises(NotIdentified, match="singular"):
        tangent_inverse(J, p, 1e5)
    with pytest.raises(NotIdentified, match="singular"):
        observed_tangent_inverse(J)
    with pytest.raises(NotIdentified, match="singular"):
        fpe16(J)


@pytest.mark.parametrize("k", [2, 20, 500])
def test_the_rank_rule_accepts_the_least_informative_channels(k: int) -> None:
    Q, a, b = krr(k, 0.1)  # a^2 = 1.1e-2/k^2, far below anything collected in practice
    p = np.full(k, 1 / k)
    V = tangent_inverse(expected_information(Q, p, 1.0), p, 1.0)
    np.testing.assert_allclose(V.variances(), uniformised(p, a, b, 1.0).variances(), rtol=1e-5)


def test_information_refusals() -> None:
    Q = np.array([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidArgument, match="information is infinite"):
        expected_information(Q, [1.0, 0.0], n=10)
    with pytest.raises(InvalidArgument, match="2 rows"):
        expected_information(np.eye(3), [0.5, 0.5], n=10)
    with pytest.raises(InvalidArgument, match="J p = n 1"):
        tangent_inverse(np.eye(2), [0.5, 0.5], n=10)
    with pytest.raises(InvalidArgument, match="must have the shape"):
        tangent_inverse(np.eye(3), [0.5, 0.5], n=10)
    with pytest.raises(NotIdentified):
        uniformised([0.5, 0.5], a=0.0, b=0.5, n=10)
    with pytest.raises(NotIdentified):
        checked_inverse(np.array([[1.0, 2.0], [2.0, 1.0]]), "of a test")
