"""Score, Pearson and trend tests of independence: identities, references, size, controls."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import statsmodels.api as sm
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
    random_table,
    rejects,
    surveys,
)

from ldpstats import BoundaryWarning, InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.information import tangent_inverse
from ldpstats.inference.tables import independence as tables
from ldpstats.inference.tables.independence import (
    CrossMoments,
    linear_trend,
    pearson,
    score,
    smallest_expected,
)
from ldpstats.likelihood.covariance import Covariance, multinomial


def likelihoods(counts: Array, Q: Array) -> Array:
    """Score features of each output, at the marginal fit that reproduces the frequencies."""
    return np.asarray((Q / (counts / counts.sum())).T)


# ---- score and Pearson
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0])
def test_score_of_krr_is_pearson_of_reports(epsilon):
    table = random_table(1, (3, 4))
    ax = likelihoods(table.sum(axis=1), krr(3, epsilon))
    by = likelihoods(table.sum(axis=0), krr(4, epsilon))
    reference = stats.chi2_contingency(table, correction=False)
    for features in ((np.eye(3), np.eye(4)), (ax - 1, by - 1), (ax, by)):
        result = score([CrossMoments.of_table(table, *features)], expected_ranks=(2, 3))
        # epsilon .01 has variances 1e-4 of the mean squares of likelihood ratios
        assert result.statistic == pytest.approx(reference.statistic, rel=1e-9)
        assert (result.df, result.ranks, result.note) == (reference.dof, (2, 3), "")
        assert result.pvalue == pytest.approx(reference.pvalue, rel=1e-9)
    statistic, df, note = pearson(table)
    assert statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert (df, note) == (6, "")
    assert statistic == pytest.approx(sm.stats.Table(table).test_nominal_association().statistic)


def bloom(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Features of n dependent reports: correlated, of full rank 4 and of rank 3 of 5."""
    a = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + 1
    b = (rng.normal(size=(n, 3)) + 0.1 * a[:, :3]) @ rng.normal(size=(3, 5))
    return a, b


def test_score_does_not_depend_on_the_basis_or_the_units_of_features():
    rng = np.random.default_rng(3)
    a, b = bloom(rng, 300)
    first = score([CrossMoments.of_reports(a, b)])
    assert first.df == 4 * 3
    units = 10.0 ** np.array([-6, 0, 3, 6])
    for x, y in (
        (a * units, b),
        (a @ rng.normal(size=(4, 4)), b @ rng.normal(size=(5, 5)) + 2),
        (np.column_stack([a, a[:, 0] - a[:, 2], np.ones(300)]), b),
    ):
        other = score([CrossMoments.of_reports(x, y)])
        assert other.df == first.df
        assert other.statistic == pytest.approx(first.statistic, rel=1e-7)


def brute_force(parts: Sequence[CrossMoments], corrected: bool = True) -> float:
    """T as `score` defines it, with numpy's pseudo-inverse."""
    n = sum(part.n for part in parts)
    S, V = 0.0, 0.0
    for part in parts:
        pi = part.n / n
        S = S + pi * part.covariance().ravel()
        w = pi * part.n / (part.n - 1) * (n - 1) / n if corrected else pi
        V = V + w * np.kron(part.covariance_x(), part.covariance_y())
    return float(n * S @ np.linalg.pinv(V, rcond=1e-9, hermitian=True) @ S)


def test_score_is_its_formula_in_one_and_in_several_strata():
    rng = np.random.default_rng(4)
    parts = [CrossMoments.of_reports(*bloom(rng, n)) for n in (40, 90, 300)]
    for some in (parts, parts[:1], parts[1:]):
        result = score(some)
        assert result.statistic == pytest.approx(brute_force(some), rel=1e-8)
    # in strata of many respondents the correction of the weights is nothing
    large = [CrossMoments.of_reports(*bloom(rng, n)) for n in (20_000, 30_000)]
    assert score(large).statistic == pytest.approx(brute_force(large, corrected=False), rel=1e-4)


def test_strata_of_two_by_two_tables_are_cochran_mantel_haenszel():
    strata = random_table(5, (6, 2, 2))
    reference = sm.stats.StratifiedTable([t.astype(float) for t in strata])
    cmh = reference.test_null_odds(correction=False)
    result = score([one_hot(t) for t in strata])
    n = strata.sum()
    assert result.statistic * (n - 1) / n == pytest.approx(cmh.statistic, rel=1e-10)
    assert result.df == 1
    # a respondent alone in a stratum says nothing but that N is larger by one
    alone = one_hot(np.array([[1, 0], [0, 0]]))
    more = score([*(one_hot(t) for t in strata), alone])
    assert more.statistic * n / (n + 1) == pytest.approx(cmh.statistic, rel=1e-10)


def test_directions_that_vary_in_different_strata_only_are_not_counted():
    full = random_table(6, (3, 3))
    no_row, no_column = full.copy(), full.copy()
    no_row[2], no_column[:, 2] = 0, 0
    result = score([one_hot(no_row), one_hot(no_column)], expected_ranks=(2, 2))
    assert (result.ranks, result.df) == ((2, 2), 3)
    assert "df 3 instead of 4" in result.note
    with pytest.raises(NotIdentified, match="wherever the second does"):
        score([one_hot(np.array([[5, 5], [0, 0]])), one_hot(np.array([[5, 0], [5, 0]]))])


def test_outputs_never_seen_lower_the_degrees_of_freedom():
    table = random_table(7, (4, 4))
    table[1], table[:, 3] = 0, 0
    seen = np.delete(np.delete(table, 1, axis=0), 3, axis=1)
    reference = stats.chi2_contingency(seen, correction=False)
    statistic, df, note = pearson(table)
    assert (df, note) == (4, "1 rows and 1 columns were never seen: df 4 instead of 9")
    assert statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert smallest_expected(table) == pytest.approx(reference.expected_freq.min(), rel=1e-12)
    shares = [(table.sum(axis=axis) + 1) / (table.sum() + 4) for axis in (1, 0)]
    ax, by = ((krr(4, 1.0) / (m @ krr(4, 1.0))).T for m in shares)
    for features in ((np.eye(4), np.eye(4)), (ax, by)):
        result = score([CrossMoments.of_table(table, *features)], expected_ranks=(3, 3))
        assert result.statistic == pytest.approx(reference.statistic, rel=1e-9)
        assert (result.df, result.ranks) == (4, (2, 2))
        assert "df 4 instead of 9" in result.note


@pytest.mark.parametrize("table", [[[5, 6], [0, 0]], [[5, 0], [6, 0]], [[5]]])
def test_a_constant_variable_is_refused(table):
    counts = np.array(table)
    with pytest.raises(NotIdentified, match="do not vary"):
        pearson(counts)
    # 1/3 is no binary fraction: the variance is rounding, not 0
    part = CrossMoments.of_table(
        counts, np.eye(len(counts)) / 3 + 0.1, np.eye(counts.shape[1]) / 3 + 0.1
    )
    with pytest.raises(NotIdentified, match="do not vary"):
        score([part])


def test_more_products_of_features_than_can_be_whitened_are_refused():
    labels = np.eye(80)[np.repeat(np.arange(80), 2)]
    part = CrossMoments.of_reports(labels, labels[::-1])
    assert score([part]).df == 79**2
    with pytest.raises(NotAvailable, match="merge categories"):
        score([part, part])


def test_size_of_score_and_a_naive_test():
    channels = [krr(3, 1.0), krr(4, 1.0)]
    P = np.outer(ROWS, COLUMNS)
    drawn = list(surveys(P, channels, 10_000, REPS, seed=1))
    assert near(np.mean([score([one_hot(t)]).pvalue < 0.05 for t in drawn]))

    def naive(table: Array) -> tuple[float, int]:
        """Pearson's formula on n times the estimate, as if those were counts."""
        counts = 10_000 * estimate(table, channels)[0]
        gap = counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 10_000
        return float(np.sum(gap**2 / (10_000 * P))), 6

    assert rejects(naive(t) for t in drawn) > 0.9


def test_size_in_shared_strata_and_of_ignoring_them():
    """One half answers with epsilon .5, the other with epsilon 3: both variables, the same half."""
    groups = [(krr(3, e), krr(4, e)) for e in (0.5, 3.0)]
    P = np.outer(ROWS, COLUMNS)
    drawn = zip(*(surveys(P, g, 5000, 500, seed=s) for s, g in enumerate(groups)), strict=True)
    within, ignoring, shared = [], [], []
    for pair in drawn:
        parts = [
            CrossMoments.of_table(t, (g[0] / (ROWS @ g[0])).T - 1, (g[1] / (COLUMNS @ g[1])).T - 1)
            for t, g in zip(pair, groups, strict=True)
        ]
        within.append(score(parts, expected_ranks=(2, 3)).pvalue)
        ignoring.append(score([one_hot(pair[0] + pair[1])]).pvalue)
        shared.append(score([one_hot(t) for t in pair]).pvalue)
    assert near(np.mean(np.less(within, 0.05)), 500)
    assert near(np.mean(np.less(shared, 0.05)), 500)
    assert np.mean(np.less(ignoring, 0.05)) > 0.2


@pytest.mark.slow
def test_size_in_many_small_strata(replications):
    """64 cohorts of 10; without the correction of the weights the size is about .065."""
    R = replications(2000)
    rng = np.random.default_rng(9)
    p = rng.dirichlet(np.full(3, 3.0), size=64)
    q = rng.dirichlet(np.full(4, 3.0), size=64)
    law = np.einsum("ci,cj->cij", p, q).reshape(64, 12)
    pvalues = [
        score([one_hot(t) for t in rng.multinomial(10, law).reshape(64, 3, 4)]).pvalue
        for _ in range(R)
    ]
    assert near(np.mean(np.less(pvalues, 0.05)), R)


# -- trend -----------------------------------------------------------------------------------------
def test_trend_of_exact_answers_is_their_correlation():
    table = random_table(12, (3, 4))
    u, v = np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0, 3.0])
    i, j = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    z, covariance, correlation = linear_trend([one_hot(table)], u, v)
    assert correlation == pytest.approx(np.corrcoef(u[i], v[j])[0, 1], rel=1e-12)
    assert covariance == pytest.approx(np.cov(u[i], v[j], ddof=0)[0, 1], rel=1e-12)
    reference = sm.stats.Table(table).test_ordinal_association(u, v)
    n = table.sum()
    assert z == pytest.approx(reference.zscore * np.sqrt(n / (n - 1)), rel=1e-10)
    assert linear_trend([one_hot(table)], -u, v)[0] == pytest.approx(-z, rel=1e-12)


def test_trend_does_not_depend_on_where_scores_start():
    """The features of single bits do not sum to one, so that this takes centring."""
    rng = np.random.default_rng(13)
    parts = [
        CrossMoments.of_reports(
            (rng.integers(0, 2, size=(n, 3)) - 0.3) / 0.4,
            (rng.integers(0, 2, size=(n, 4)) - 0.3) / 0.4,
        )
        for n in (300, 500)
    ]
    first = linear_trend(parts, [1, 2, 3], [1, 2, 3, 4])
    years = linear_trend(parts, [2021, 2022, 2023], [10, 20, 30, 40])
    assert years[0] == pytest.approx(first[0], rel=1e-8)
    assert years[1] == pytest.approx(10 * first[1], rel=1e-8)


def test_size_and_bias_of_trend():
    channels = [krr(3, 1.0), krr(4, 1.0)]
    ax, by = (np.linalg.inv(Q) for Q in channels)
    u, v = np.arange(3.0), np.arange(4.0)
    independent = np.outer(ROWS, COLUMNS)
    z = [
        linear_trend([CrossMoments.of_table(t, ax, by)], u, v)[0]
        for t in surveys(independent, channels, 10_000, 600, seed=5)
    ]
    assert near(np.mean(2.0 * stats.norm.sf(np.abs(z)) < 0.05), 600)
    tilt = np.outer(u - ROWS @ u, v - COLUMNS @ v)
    P = independent * (1 + 0.35 * tilt)
    truth = 0.35 * (ROWS @ (u - ROWS @ u) ** 2) * (COLUMNS @ (v - COLUMNS @ v) ** 2)
    found = [
        linear_trend([CrossMoments.of_table(t, ax, by)], u, v)
        for t in surveys(P, channels, 10_000, 600, seed=6)
    ]
    estimates = np.array([covariance for _, covariance, _ in found])
    assert estimates.mean() == pytest.approx(truth, abs=4 * estimates.std() / np.sqrt(600))
    wide = [score([one_hot(t)]).pvalue for t in surveys(P, channels, 10_000, 600, seed=6)]
    power = np.mean(2.0 * stats.norm.sf(np.abs([z for z, _, _ in found])) < 0.05)
    assert power > np.mean(np.less(wide, 0.05)) + 0.1  # that is what it is for


def test_bad_scores_are_refused():
    part = one_hot(random_table(14, (2, 3)))
    for u, v, name in (
        ([1, 2, 3], [1, 2, 3], "u"),
        ([1, 2], [1, 2], "v"),
        ([1, 2], [1, 1, 1], "v"),
        ([1, np.nan], [1, 2, 3], "u"),
    ):
        with pytest.raises(InvalidArgument, match=name):
            linear_trend([part], u, v)
    with pytest.raises(InvalidArgument, match="parts"):
        linear_trend([], [1, 2], [1, 2])
    # an estimated variance below 0: there is no correlation
    noisy = CrossMoments(
        9, part.cross, np.array([1.1, -0.1]), part.mean_y, 4 * np.eye(2), part.gram_y
    )
    assert np.isnan(linear_trend([noisy], [0, 1], [1, 2, 3])[2])


# Wald tests of tables, and the statistic of FPE16: Jacobians, references, size, and controls.

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


def test_wald_statistics_match_brute_force():
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


def test_size_of_wald_independence_and_of_a_wrong_covariance():
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
def test_size_of_linear_wald_in_a_wide_table(epsilon, replications):
    """Within .0125 of .05, with three Monte Carlo standard errors; at epsilon 4 it is .056."""
    R, margins = replications(5000), (WIDE, np.array([0.8, 0.2]))
    channels = [krr(len(m), epsilon) for m in margins]
    drawn = surveys(np.outer(*margins), channels, 10_000, R, seed=9)
    found = (estimate(t, channels) for t in drawn)
    size = rejects(tables.wald_independence(P, V) for P, V in found)
    assert abs(size - 0.05) < 0.0125 + (3 * np.sqrt(0.05 * 0.95 / R) if R < 5000 else 0)


def test_size_of_conditional_independence_and_its_controls():
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


def test_levels_without_mass_are_noted():
    channels = [krr(2, 1.0), krr(2, 1.0), krr(3, 1.0)]
    P = conditional_law(np.full((3, 2), 0.5), np.full((3, 2), 0.5), np.array([0.6, 0.4, 0.0]), 0.0)
    results = [
        tables.conditional_independence(*estimate(t, channels))
        for t in surveys(P, channels, 10_000, 500, seed=11)
    ]
    # P(z > 4) of a standard normal is 3e-5
    assert all(note.startswith("1 of 3 levels") for _, _, note in results)
    assert rejects((statistic, df) for statistic, df, _ in results) < 0.05


def test_size_of_homogeneity_and_its_controls():
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


def test_homogeneity_needs_cells_that_stand_out_of_the_noise():
    p = np.full((2, 2, 2), 0.125)
    V = multinomial(p.ravel(), 1000)
    assert tables.homogeneity(p, V)[0] == pytest.approx(0, abs=1e-20)
    p[0, 0, 1] = 4.1 * np.sqrt(V.variances()[0])
    tables.homogeneity(p, V)
    p[0, 0, 1] = 3.9 * np.sqrt(V.variances()[0])
    with pytest.raises(NotAvailable, match="1 of 8 cells are below 4 standard errors"):
        tables.homogeneity(p, V)


def test_bad_tables_are_refused():
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


def test_fpe16_uses_either_generalised_inverse():
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


def test_fpe16_warns_of_zeros_and_refuses_singular_information():
    p = np.array([[0.5, 0.0], [0.2, 0.3]])
    with pytest.warns(BoundaryWarning, match="1 of 4 cells are zero.*score"):
        tables.fpe16(p, np.eye(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables.fpe16(np.full((2, 2), 0.25), np.eye(4))
    with pytest.raises(NotIdentified, match="singular"):
        tables.fpe16(np.full((2, 2), 0.25), np.ones((4, 4)))
