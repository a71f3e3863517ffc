"""Intervals of joint cells in rare cells and between bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.joint_tables import fitted, surveys, with_zeros

import ldpstats as ldp
from ldpstats.inference.skewness import CellLaw, path_cumulants
from ldpstats.models.association.estimates import cell_law, unconstrained
from ldpstats.models.association.model import AssociationModel

Array = npt.NDArray[Any]


def rare(k: int, p: float) -> Array:
    """A k x k table whose first cell has the frequency p; the others are equal."""
    P = np.full((k, k), (1.0 - p) / (k * k - 1))
    P[0, 0] = p
    return P


def dominant(k1: int, k2: int) -> Array:
    P = np.full((k1, k2), 0.05 / (k1 * k2 - 1))
    P[0, 0] = 0.95
    return P


RARE = [  # epsilon, categories, p of the rare cell, and its coverage by Wald intervals before
    (6.0, 3, 0.002, 0.792),
    (8.0, 3, 0.003, 0.818),
    (8.0, 2, 0.002, 0.883),
]


def unfitted(model: AssociationModel, by_name: bool = False) -> tuple[Array, CellLaw | None, Any]:
    """What intervals rest on, without a fit: estimate, law and covariance."""
    problem = unconstrained(model.evidence, by_name)
    V = problem.covariance()
    return problem.estimate()[0], cell_law(model.evidence, problem, V), V


def simulated(
    mechanisms: Sequence[Any], P: Array, n: int, R: int, seed: int
) -> tuple[Array, Array, Array]:
    """Coverage of default and of Wald intervals, and mean width of the former, of each cell.

    Whether p is in an interval is asked of the tails at p. The ends are found of a hundred surveys,
    and agree but for cells that rest on next to nothing, whose tails are not monotone.
    """
    p, held, walds, ends, differ = P.ravel(), [], [], [], []
    for model in surveys(mechanisms, P, n, R, seed):
        estimate, law, V = unfitted(model)
        assert law is not None
        tails = [law.tail(estimate, p, upper) for upper in (True, False)]
        held.append(np.minimum(*tails) > 0.025)
        walds.append(np.abs(estimate - p) <= stats.norm.isf(0.025) * np.sqrt(V.variances()))
        if len(ends) < 100:
            ends.append(law.interval(estimate))
            differ.append(held[-1] != (ends[-1][:, 0] < p) & (p < ends[-1][:, 1]))
    assert np.mean(differ) < 0.005
    return np.mean(held, axis=0), np.mean(walds, axis=0), np.diff(ends)[..., 0].mean(axis=0)


# ---- the law of an estimate along its path


def test_path_cumulants_are_those_of_the_reports() -> None:
    krr, wide = ldp.KRR(3, epsilon=2.0), ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    P = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(3, 2)
    (model,) = surveys((krr, wide), P, 5000, 1, 2)
    problem = unconstrained(model.evidence, False)
    estimate, law, _ = unfitted(model)
    q = problem.in_errors
    Q = np.kron(krr.channel().matrix(), wide.channel().matrix())
    features = [a.features for a in problem.strata[0].alphabets or ()]
    G = reduce(np.kron, [F @ M.T for F, M in zip(features, problem.inverses, strict=True)])
    np.testing.assert_allclose(Q @ G, np.eye(6), atol=1e-9)  # unbiased
    assert law is not None and law.step.size == estimate.size
    for cell in range(6):
        for theta in (0.0, 0.03, 0.4, 1.0):
            rest = np.delete(q, cell) / np.delete(q, cell).sum()
            p = np.insert((1.0 - theta) * rest, cell, theta)
            m = p @ Q
            centred = G[:, cell] - m @ G[:, cell]
            variance, third = m @ centred**2 / 5000, m @ centred**3 / 5000**2
            sd, skewness = law.at(np.full(6, theta))
            assert sd[cell] ** 2 == pytest.approx(variance, rel=1e-9)
            assert skewness[cell] == pytest.approx(third / variance**1.5, rel=1e-7, abs=1e-12)


def count_law(n: float, k: int, step: float = 0.0) -> CellLaw:
    """Of shares that are counted without noise."""
    cumulants = path_cumulants(np.ones((3, k)), np.zeros((3, k)), n)
    return CellLaw(*cumulants, step=np.full(k, step), doubt=np.zeros(k))


def test_an_interval_need_not_hold_the_estimate() -> None:
    # -.001 is impossible at 0, where the standard deviation is .0001, but likely at .004
    law = CellLaw(np.array([[1e-8, 1e-2, 0.0]]), np.zeros((1, 4)), np.zeros(1), np.zeros(1))
    low, high = law.interval(np.array([-0.001]))[0]
    for end in (low, high):
        theta = np.array([max(end, 0.0)])
        z = (theta + 0.001) / law.at(theta)[0]
        assert low < 0.0 or abs(z[0]) == pytest.approx(stats.norm.isf(0.025), rel=1e-6)
    assert high == pytest.approx(0.0365, abs=0.001)


def test_intervals_of_a_count_cover_at_every_frequency() -> None:
    """Exactly, by summation: at least .942; without any correction as little as .91."""
    n = 2000
    tally = np.arange(0, 200)
    least = {}
    for part in (0.25, 0.0):
        ends = count_law(n, tally.size, part / n).interval(tally / n)
        p = np.linspace(2e-4, 0.03, 600)
        inside = (ends[:, :1] <= p) & (p <= ends[:, 1:])
        least[part] = np.sum(inside * stats.binom.pmf(tally[:, None], n, p), axis=0).min()
    assert least[0.25] > 0.94
    assert least[0.0] < 0.92  # control


def test_no_interval_of_a_noisy_table_has_width_zero() -> None:
    krr = ldp.KRR(6, epsilon=0.5)
    for seed in range(20):
        results = fitted((krr, krr), dominant(6, 6), 300, seed)
        widths = np.diff(results.conf_int().to_numpy())
        assert widths.min() > 1e-3
        uncut = results.conf_int(clip=False).to_numpy()
        if np.any(uncut[:, 1] < 0.0):
            break
    else:
        pytest.fail("no interval lay below 0")


def test_pvalues_agree_with_intervals() -> None:
    results = fitted((ldp.KRR(3, epsilon=4.0),) * 2, with_zeros(3, 3), 800, 5)
    p = results.pvalues.to_numpy()
    for alpha in (0.01, 0.05, 0.3):
        ends = results.conf_int(alpha, clip=False).to_numpy()
        np.testing.assert_array_equal(p > alpha, (ends[:, 0] <= 0.0) & (0.0 <= ends[:, 1]))
    one_sided = results.detected(0.05)
    assert set(one_sided) <= set(results.index[p < 0.1 / 9])


# ---- rare cells


@pytest.mark.parametrize(("epsilon", "k", "p", "before"), RARE)
def test_a_rare_cell_has_a_skewed_interval(epsilon: float, k: int, p: float, before: float) -> None:
    krr = ldp.KRR(k, epsilon)
    (model,) = surveys((krr, krr), rare(k, p), 1000, 1, 1)
    results = model.fit()
    low, high = results.conf_int(clip=False).iloc[0]
    estimate = results.linear_params.iloc[0]
    assert high - estimate > 1.3 * (estimate - low)  # a Wald interval is symmetric
    assert "WARNING: 1 of" in str(results.summary())
    assert "(0 : 0:" in str(results.summary())
    assert results.smallest_expected > 10.0  # under independence there are many
    np.testing.assert_allclose(
        results.conf_int(clip=False), unfitted(model)[1].interval(unfitted(model)[0]), rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "k", "p", "before"), RARE[::2])
def test_rare_cells_are_covered(
    epsilon: float, k: int, p: float, before: float, replications: Callable[..., int]
) -> None:
    """At least .93 in the rare cell, .94 to .965 in the others; Wald intervals as audited."""
    R = replications(2000)
    krr = ldp.KRR(k, epsilon)
    held, wald, _ = simulated((krr, krr), rare(k, p), 1000, R, int(10 * epsilon) + k)
    se = np.sqrt(0.05 * 0.95 / R)
    assert held[0] > 0.93 - se
    assert 0.94 < held[1:].mean() < 0.965
    assert held[1:].min() > 0.94 - 3 * se and held[1:].max() < 0.965 + 3 * se
    assert wald[0] < min(before + 4 * np.sqrt(before * (1 - before) / R), 0.93)  # control


# ---- bits


BITS = {
    "krappor": (ldp.KRAPPOR(3, epsilon=4.0),) * 2,
    "mixed": (ldp.KRR(3, epsilon=2.0), ldp.KRAPPOR(4, epsilon=4.0)),
    "urap": (ldp.URAP(4, sensitive=[0, 1], epsilon=2.0), ldp.URAP(3, sensitive=[0], epsilon=1.0)),
    "three": (ldp.KRR(2, epsilon=3.0), ldp.KRAPPOR(3, epsilon=3.0), ldp.KRAPPOR(2, epsilon=2.0)),
}


def sizes(mechanisms: Sequence[Any]) -> tuple[int, ...]:
    return tuple(m.k for m in mechanisms)


@pytest.mark.parametrize("name", BITS)
def test_bits_rest_on_their_scores(name: str) -> None:
    mechanisms = BITS[name]
    P = np.random.default_rng(2).dirichlet(np.full(np.prod(sizes(mechanisms)), 5.0))
    (model,) = surveys(mechanisms, P.reshape(sizes(mechanisms)), 3000, 1, 1)
    results = model.fit()
    np.testing.assert_allclose(results.linear_params, model.fit("one_step").params)
    assert results.linear_params.sum() == pytest.approx(1.0, abs=1e-9)
    # the moments that are asked for by name are as they were
    moments = model.fit("moments-gls")
    assert np.abs(moments.linear_params - results.linear_params).max() > 1e-6
    np.testing.assert_allclose(moments.linear_params, moments.params, atol=1e-12)
    assert results.linear_bse.mean() < moments.linear_bse.mean()


def best_widths(mechanisms: Sequence[Any], P: Array, n: int) -> Array:
    """Widths of Wald intervals by the information of all reports at the truth."""
    Q = reduce(np.kron, [m.channel().matrix() for m in mechanisms])
    p = P.ravel()
    m = p @ Q
    some = m > 0.0
    V = np.linalg.inv((Q[:, some] / m[some]) @ Q[:, some].T) - np.outer(p, p)
    return np.asarray(2 * stats.norm.isf(0.025) * np.sqrt(np.diagonal(V) / n))


# mechanisms, law, n, and the mean width of positive cells over that of the information
EFFICIENT = [
    ((ldp.KRAPPOR(4, epsilon=4.0),) * 2, with_zeros, 1000, 1.25),
    ((ldp.URAP(4, sensitive=[0, 1], epsilon=1.0), ldp.KRR(3, epsilon=4.0)), with_zeros, 5000, 1.25),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanisms", "law", "n", "width"), EFFICIENT)
def test_cells_of_bits_are_covered_by_short_intervals(
    mechanisms: Any, law: Any, n: int, width: float, replications: Callable[..., int]
) -> None:
    """At least .935, positive and empty cells."""
    R = replications(1000, least=300)
    P = law(*sizes(mechanisms))
    held, _, widths = simulated(mechanisms, P, n, R, 17)
    se, positive = np.sqrt(0.05 * 0.95 / R), P.ravel() > 0.0
    for part in (positive, ~positive):
        assert held[part].mean() > 0.94
        assert held[part].min() > 0.935 - 3 * se
    assert np.mean(widths[positive] / best_widths(mechanisms, P, n)[positive]) < width


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanisms", "n", "law"),
    [
        ((ldp.URAP(4, [0, 1], epsilon=1.0), ldp.KRR(3, epsilon=1.0)), 1000, dominant),
        ((ldp.KRAPPOR(3, epsilon=10.0), ldp.KRR(3, epsilon=4.0)), 500, with_zeros),
    ],
)
def test_cells_of_unlike_pairs_are_covered(
    mechanisms: Any, n: int, law: Any, replications: Callable[..., int]
) -> None:
    R = replications(500, least=300)
    P = law(*sizes(mechanisms))
    held = simulated(mechanisms, P, n, R, 23)[0]
    se = np.sqrt(0.05 * 0.95 / R)
    assert held.mean() > 0.94
    assert held.min() > 0.93 - 3.5 * se
