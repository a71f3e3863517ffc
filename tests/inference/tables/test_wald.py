"""Wald tests of tables, and the statistic of FPE16: Jacobians, references, size, and controls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats
from shared.association_laws import (
    COLUMNS,
    REPS,
    ROWS,
    Array,
    estimate,
    krr,
    near,
    one_hot,
    rejects,
    surveys,
)

from ldpstats import BoundaryWarning, InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.information import tangent_inverse
from ldpstats.inference.tables import independence as tables
from ldpstats.likelihood.covariance import Covariance, multinomial

WIDE = np.arange(1, 31) ** -0.7 / np.sum(np.arange(1, 31) ** -0.7)


# ---- Wald tests


def jacobian(f: Callable[[Array], Array], p: Array) -> Array:
    """By central differences; the functions are polynomials or smooth, the error is about 1e-9."""
    h = 1e-5
    steps = h * np.eye(p.size).reshape(p.size, *p.shape)
    return np.column_stack([(f(p + s) - f(p - s)) / (2 * h) for s in steps])


def delta(f: Callable[[Array], Array], p: Array, V: Covariance) -> float:
    g, G = f(p), jacobian(f, p)
    return float(g @ np.linalg.solve(V.transform(G), g))


def any_covariance(size: int, seed: int) -> Covariance:
    A = np.random.default_rng(seed).normal(size=(size, size))
    return Covariance.dense(A @ A.T / size**3)


def product_gap(p: Array) -> Array:
    """t P - r c' of every layer of a table, without the last row and column."""
    r, c, t = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True), p.sum(axis=(0, 1))
    return np.moveaxis(t * p - r * c, -1, 0)[:, :-1, :-1].ravel()


def log_odds_differences(p: Array) -> Array:
    logs = np.log(p)
    odds = logs[:-1, :-1] + logs[-1:, -1:] - logs[:-1, -1:] - logs[-1:, :-1]
    return np.asarray(odds[..., :-1] - odds[..., -1:]).ravel()


def test_wald_statistics_match_brute_force() -> None:
    rng = np.random.default_rng(15)
    P = rng.normal(0.1, 0.1, size=(3, 4))  # neither positive nor of sum one
    V = any_covariance(12, 1)
    statistic, df = tables.wald_independence(P, V)
    assert df == 6
    assert statistic == pytest.approx(delta(lambda x: product_gap(x[..., None]), P, V), rel=1e-6)
    p = rng.normal(0.1, 0.1, size=(3, 2, 4))
    V = any_covariance(24, 2)
    statistic, df, _ = tables.conditional_independence(p, V)
    assert df == 8
    assert statistic == pytest.approx(delta(product_gap, p, V), rel=1e-6)
    p = rng.uniform(0.03, 0.06, size=(3, 2, 4))
    V = any_covariance(24, 2).scaled(1e-4)
    statistic, df = tables.homogeneity(p, V)
    assert df == 6
    assert statistic == pytest.approx(delta(log_odds_differences, p, V), rel=1e-5)


def conditional_law(rows: Array, columns: Array, levels: Array, tilt: float) -> Array:
    """X and Y given Z with one log odds ratio, `tilt` per step, at every level of Z."""
    steps = np.outer(np.arange(rows.shape[1]), np.arange(columns.shape[1]))
    law = np.einsum("ki,kj,ij->kij", rows, columns, np.exp(tilt * steps))
    law /= law.sum(axis=(1, 2), keepdims=True)
    return np.asarray(np.einsum("kij,k->ijk", law, levels))


ROWS_Z = np.array([[0.4, 0.35, 0.25], [0.25, 0.35, 0.4]])
COLUMNS_Z = np.array([[0.3, 0.4, 0.3], [0.4, 0.35, 0.25]])
LEVELS = np.array([0.55, 0.45])


def test_size_of_wald_independence_and_of_a_wrong_covariance() -> None:
    channels = [krr(3, 0.5), krr(4, 0.5)]
    found = [
        estimate(t, channels)
        for t in surveys(np.outer(ROWS, COLUMNS), channels, 10_000, REPS, seed=8)
    ]
    assert near(rejects(tables.wald_independence(P, V) for P, V in found))
    naive = multinomial(np.outer(ROWS, COLUMNS).ravel(), 10_000)  # as if nothing were privatised
    assert rejects(tables.wald_independence(P, naive) for P, _ in found) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_size_of_linear_wald_in_a_wide_table(
    epsilon: float, replications: Callable[[int], int]
) -> None:
    """Within .0125 of .05, with three Monte Carlo standard errors; at epsilon 4 it is .056."""
    R, margins = replications(5000), (WIDE, np.array([0.8, 0.2]))
    channels = [krr(len(m), epsilon) for m in margins]
    drawn = surveys(np.outer(*margins), channels, 10_000, R, seed=9)
    found = (estimate(t, channels) for t in drawn)
    size = rejects(tables.wald_independence(P, V) for P, V in found)
    assert abs(size - 0.05) < 0.0125 + (3 * np.sqrt(0.05 * 0.95 / R) if R < 5000 else 0)


def test_size_of_conditional_independence_and_its_controls() -> None:
    channels = [krr(3, 1.0), krr(3, 1.0), krr(2, 1.0)]
    steep = np.array([[0.8, 0.15, 0.05], [0.05, 0.15, 0.8]])
    P = conditional_law(steep, steep, LEVELS, 0.0)
    pvalues, noisy = [], []
    for t in surveys(P, channels, 20_000, 500, seed=10):
        statistic, df, note = tables.conditional_independence(*estimate(t, channels))
        assert (df, note) == (8, "")
        pvalues.append(stats.chi2.sf(statistic, df))
        noisy.append(tables.score([one_hot(t[..., k]) for k in range(2)]).pvalue)
    assert near(np.mean(np.less(pvalues, 0.05)), 500)
    # given the report of Z, reports of X and Y are dependent: Z' says little of Z
    assert np.mean(np.less(noisy, 0.05)) > 0.9


def test_levels_without_mass_are_noted() -> None:
    channels = [krr(2, 1.0), krr(2, 1.0), krr(3, 1.0)]
    P = conditional_law(np.full((3, 2), 0.5), np.full((3, 2), 0.5), np.array([0.6, 0.4, 0.0]), 0.0)
    results = [
        tables.conditional_independence(*estimate(t, channels))
        for t in surveys(P, channels, 10_000, 500, seed=11)
    ]
    # P(z > 4) of a standard normal is 3e-5
    assert all(note.startswith("1 of 3 levels") for _, _, note in results)
    assert rejects((statistic, df) for statistic, df, _ in results) < 0.05


def test_size_of_homogeneity_and_its_controls() -> None:
    channels = [krr(3, 2.0), krr(3, 3.0), krr(2, 2.0)]
    P = conditional_law(ROWS_Z, COLUMNS_Z, LEVELS, 0.2)
    found = [estimate(t, channels) for t in surveys(P, channels, 50_000, 500, seed=12)]
    assert near(rejects(tables.homogeneity(p, V) for p, V in found), 500)
    # X and Y are associated at each level, and that is no violation of homogeneity
    assert rejects(tables.conditional_independence(p, V)[:2] for p, V in found[:200]) > 0.9
    naive = multinomial(P.ravel(), 50_000)
    assert rejects(tables.homogeneity(p, naive) for p, _ in found) > 0.5
    other = np.stack(
        [
            conditional_law(ROWS_Z, COLUMNS_Z, LEVELS, tilt)[..., k]
            for k, tilt in enumerate((0, 0.5))
        ],
        axis=-1,
    )
    power = [estimate(t, channels) for t in surveys(other, channels, 50_000, 200, seed=13)]
    assert rejects(tables.homogeneity(p, V) for p, V in power) > 0.9


def test_homogeneity_needs_cells_that_stand_out_of_the_noise() -> None:
    p = np.full((2, 2, 2), 0.125)
    V = multinomial(p.ravel(), 1000)
    assert tables.homogeneity(p, V)[0] == pytest.approx(0, abs=1e-20)
    p[0, 0, 1] = 4.1 * np.sqrt(V.variances()[0])
    tables.homogeneity(p, V)
    p[0, 0, 1] = 3.9 * np.sqrt(V.variances()[0])
    with pytest.raises(NotAvailable, match="1 of 8 cells are below 4 standard errors"):
        tables.homogeneity(p, V)


def test_bad_tables_are_refused() -> None:
    V = multinomial(np.full(8, 0.125), 100)
    for call, remedy in (
        (lambda: tables.wald_independence(np.ones((1, 8)) / 8, V), "two rows"),
        (lambda: tables.wald_independence(np.ones((2, 3)) / 6, V), "as its covariance"),
        (lambda: tables.wald_independence(np.full((2, 4), np.nan), V), "finite"),
        (lambda: tables.conditional_independence(np.ones((2, 4)) / 8, V), "3 axes"),
        (lambda: tables.homogeneity(np.ones((4, 2, 1)) / 8, V), "two levels"),
        (lambda: tables.fpe16(np.ones((2, 4)) / 8, np.eye(4)), "as its covariance"),
        (lambda: tables.wald_nonlinear([1.0], np.ones((2, 8)), V), "G="),
    ):
        with pytest.raises(InvalidArgument, match=remedy):
            call()
    # nothing is known to vary in the last category, so that d has a lower rank
    known = np.array([[0.3, 0.2, 0.0], [0.2, 0.3, 0.0]])
    with pytest.raises(NotIdentified, match="Merge"):
        tables.wald_independence(known, multinomial(known.ravel(), 100))


# ---- the statistic of FPE16


def joint_information(table: Array, channels: Sequence[Array], p: Array) -> Array:
    """Observed information, without the constraint, of reports in a table."""
    Q = np.kron(*channels)
    return np.asarray((Q * (table.ravel() / (p.ravel() @ Q) ** 2)) @ Q.T)


def test_fpe16_uses_either_generalised_inverse() -> None:
    """At an MLE in the interior, J and a pseudo-inverse of J^-1 - p p'/n give the same T."""
    channels = [krr(3, 2.0), krr(4, 2.0)]
    table = next(surveys(np.outer(ROWS, COLUMNS), channels, 20_000, 1, seed=14))
    p, _ = estimate(table, channels)
    assert p.min() > 0  # and is then the MLE
    J = joint_information(table, channels, p)
    statistic, df = tables.fpe16(p, J)
    gap = (p - np.outer(p.sum(axis=1), p.sum(axis=0))).ravel()
    pseudo = np.linalg.pinv(tangent_inverse(J, p.ravel(), table.sum()).matrix(), hermitian=True)
    assert statistic == pytest.approx(gap @ pseudo @ gap, rel=1e-8)
    assert df == 6
    # it rests on the covariance of the alternative, Pearson's on that of the null
    assert statistic == pytest.approx(tables.pearson(table)[0], rel=0.1)


def test_fpe16_warns_of_zeros_and_refuses_singular_information() -> None:
    p = np.array([[0.5, 0.0], [0.2, 0.3]])
    with pytest.warns(BoundaryWarning, match="1 of 4 cells are zero.*score"):
        tables.fpe16(p, np.eye(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables.fpe16(np.full((2, 2), 0.25), np.eye(4))
    with pytest.raises(NotIdentified, match="singular"):
        tables.fpe16(np.full((2, 2), 0.25), np.ones((4, 4)))
