"""The law of permutations by its moments: against all permutations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.permuted_tables import of_table

import ldpstats as ldp
from ldpstats.errors import NotIdentified
from ldpstats.inference.tables import spread as sums
from ldpstats.inference.tables.cross_moments import CrossMoments, Whitening
from ldpstats.inference.tables.independence import score
from ldpstats.inference.tables.permutation import (
    all_table_scores,
    exact_pvalue,
    log_probability,
    permuted_scores,
    permuted_table_scores,
)
from ldpstats.inference.tables.permutation_moments import (
    Cumulants,
    Spread,
    blocks_of,
    moments,
    score_cumulants,
)
from ldpstats.inference.tails import chi2_pvalue

Array = npt.NDArray[Any]


def coordinates(kind: str, n: int, rng: np.random.Generator) -> Array:
    """Centred coordinates, shape (n, r): any, white ones of skew features, or of labels."""
    A = rng.normal(size=(n, 2)) ** 3
    if kind == "labels":
        A = np.eye(3)[np.arange(n) * 3 // (n + 1)]
    A = A - A.mean(axis=0)
    if kind == "any":
        return np.asarray(A)
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, values > 1e-9])


def spread(z: Array) -> Spread:
    return Spread.of(blocks_of(z, np.ones(len(z))), np.zeros(z.shape[1]), np.eye(z.shape[1]))


@pytest.mark.parametrize("kinds", [("any", "white"), ("labels", "any"), ("white", "labels")])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_moments_are_those_of_all_permutations(n: int, kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(n)
    z, y = (coordinates(kind, n, rng) for kind in kinds)
    W, V = z @ z.T, y @ y.T
    orders = np.array(list(itertools.permutations(range(n))))
    values = np.einsum("ij,pij->p", W, V[orders[:, :, None], orders[:, None, :]])
    expected = [np.mean(values**m) for m in (1, 2, 3)]
    assert moments([spread(z), spread(y)]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_moments_of_three_variables_are_those_of_all_permutations() -> None:
    """Of all products of two of them or three."""
    n, rng = 4, np.random.default_rng(1)
    W = [z @ z.T for z in (coordinates(kind, n, rng) for kind in ("any", "white", "labels"))]
    orders = [list(order) for order in itertools.permutations(range(n))]
    values = []
    for p, q in itertools.product(orders, repeat=2):
        a, b, c = W[0], W[1][np.ix_(p, p)], W[2][np.ix_(q, q)]
        values.append(np.sum((1 + a) * (1 + b) * (1 + c) - 1 - a - b - c))
    rng = np.random.default_rng(1)
    spreads = [spread(coordinates(kind, n, rng)) for kind in ("any", "white", "labels")]
    expected = [np.mean(np.power(values, m)) for m in (1, 2, 3)]
    assert moments(spreads) == pytest.approx(expected, rel=1e-9)


def test_labels_have_closed_forms() -> None:
    counts = np.array([40, 7, 0, 2, 1])
    rows = np.eye(5)[np.repeat(np.arange(5), counts)]
    U, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    long, short = spread(U[:, values > 1e-9]), Spread.of_labels(counts)
    for name in ("n", "t1", "t2", "t3", "s2", "s3", "u", "b", "r"):
        assert getattr(short, name) == pytest.approx(getattr(long, name), rel=1e-9)


def test_third_moments_by_pairs_of_rows_by_coordinates_and_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    bits = (rng.random((300, 6)) < 0.1) * 1.0
    z = (bits - bits.mean(axis=0)) / np.sqrt(30)
    cubes = np.sum((z @ z.T) ** 3)
    assert spread(z).u == pytest.approx(cubes, rel=1e-9)  # by coordinates
    few = z[:10] - z[:10].mean(axis=0)
    assert spread(few).u == pytest.approx(np.sum((few @ few.T) ** 3), rel=1e-9)  # by pairs
    monkeypatch.setattr(sums, "_WORK", 1.0)
    in_part = spread(z @ np.linalg.qr(rng.normal(size=(6, 6)))[0])  # in any basis
    assert 0.8 * cubes < in_part.u < cubes
    assert (in_part.t3, in_part.s3) == pytest.approx((spread(z).t3, spread(z).s3))


def strata(sizes: Sequence[int], k: int, seed: int) -> tuple[list[Array], list[Array]]:
    """Skew features of two independent variables, with laws of their own in each stratum."""
    rng = np.random.default_rng(seed)
    x, y = (
        [rng.exponential(size=(n, k)) ** 2 @ rng.normal(size=(k, k)) for n in sizes]
        for _ in range(2)
    )
    return x, y


def law_of(x: Sequence[Array], y: Sequence[Array]) -> Cumulants:
    parts = [CrossMoments.of_reports(a, b) for a, b in zip(x, y, strict=True)]
    rows, columns = ([blocks_of(a, np.ones(len(a))) for a in features] for features in (x, y))
    return score_cumulants(Whitening.of(parts), parts, rows, columns)


def test_cumulants_of_single_features_are_exact_in_strata() -> None:
    x, y = strata([4, 3, 2, 1], 1, seed=3)
    orders = itertools.product(*(itertools.permutations(range(n)) for n in (4, 3, 2, 1)))
    values = [
        score(
            [CrossMoments.of_reports(a, b[list(p)]) for a, b, p in zip(x, y, order, strict=True)]
        ).statistic
        for order in orders
    ]
    m = [np.mean(np.power(values, e)) for e in (1, 2, 3)]
    exact, found = Cumulants.of_moments(*map(float, m)), law_of(x, y)
    for name in ("mean", "variance", "third"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=1e-8)


@pytest.mark.parametrize("sizes", [(60,), (20, 40, 90)], ids=str)
def test_cumulants_in_strata_are_near_those_of_permutations(sizes: tuple[int, ...]) -> None:
    x, y = strata(sizes, 3, seed=5)
    draws = permuted_scores(x, y, 10_000, np.random.default_rng(6))
    found = law_of(x, y)
    assert found.mean == pytest.approx(draws.mean(), rel=0.03)
    assert np.sqrt(found.variance) == pytest.approx(draws.std(), rel=0.05)
    assert found.skewness == pytest.approx(stats.skew(draws), rel=0.15)
    bars = np.quantile(draws, [0.95, 0.99])
    for bar, share in zip(bars, (0.05, 0.01), strict=True):
        assert found.pvalue(bar) == pytest.approx(share, rel=0.3)


@pytest.mark.parametrize("scale", [10**3, 10**9])
def test_dense_tables_have_the_chi_square_law(scale: int) -> None:
    table = scale * np.array([[30, 25, 20], [20, 25, 30], [10, 20, 15]])
    law = of_table(table)
    for df_pvalue in (0.5, 0.05, 1e-3, 1e-6):
        statistic = stats.chi2.isf(df_pvalue, 4)
        assert law.pvalue(statistic) == pytest.approx(df_pvalue, rel=20 / scale + 1e-6)


def test_all_tables_with_the_same_margins() -> None:
    """Two by two: the hypergeometric law. In strata: all pairs of tables."""
    first, second = np.array([[1, 2], [1, 30]]), np.array([[3, 0], [0, 3]])
    labels = np.eye(2)
    every = all_table_scores([first], [labels], [labels], 100)
    assert every is not None
    chances = stats.hypergeom(34, 3, 2).pmf([0, 1, 2])
    assert every[1] == pytest.approx(chances, rel=1e-9)
    observed = score([CrossMoments.of_table(first, labels, labels)]).statistic
    assert exact_pvalue(observed, *every) == pytest.approx(chances[1:].sum())
    pairs = all_table_scores([first, second], [labels] * 2, [labels] * 2, 100)
    assert pairs is not None
    assert len(pairs[0]) == 3 * 4
    assert pairs[1].sum() == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    draws = permuted_table_scores([first, second], [labels] * 2, [labels] * 2, 4000, rng)
    bar = float(np.quantile(draws, 0.9))
    assert exact_pvalue(bar, *pairs) == pytest.approx(np.mean(draws >= bar - 1e-9), abs=0.025)
    assert all_table_scores([first, second], [labels] * 2, [labels] * 2, 11) is None
    assert all_table_scores([np.ones((4, 4))], [np.eye(4)], [np.eye(4)], 10**6) is None


def test_of_six_respondents_all_orders_are_gone_through() -> None:
    table = np.eye(6, dtype=int)
    every = all_table_scores([table], [np.eye(6)], [np.eye(6)], 720)
    assert every is not None
    assert len(every[0]) == 720
    assert every[1] == pytest.approx(np.full(720, 1 / 720))


def krr_pair(table: Any, epsilon: float = 4.0) -> ldp.AssociationModel:
    mechanisms = [ldp.KRR(k, epsilon) for k in np.shape(table)]
    return ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms))


SPARSE = [[129, 29, 9, 8, 2], [8, 5, 0, 0, 0], [3, 2, 0, 2, 0], [1, 0, 2, 0, 0]]


@pytest.mark.parametrize("method", ["score", "pearson"])
def test_sparse_tables_by_default_and_by_permutation(method: str) -> None:
    """The chi-square law rejects at .001 what permutations do not at .02."""
    model = krr_pair(SPARSE)
    results = model.fit()
    found = results.test_independence(method)
    assert chi2_pvalue(found.statistic, found.df) < 1e-3
    rng = np.random.default_rng(1)
    exact = model.test_independence(results, method, rng=rng, n_permutations=20_000)
    assert exact.statistic == found.statistic
    assert found.pvalue == pytest.approx(exact.pvalue, rel=0.35)
    assert found.pvalue > 0.02
    assert "moments of permutations" in found.method
    assert "exact p-value by 20000 permutations" in exact.method
    assert "smallest expected count is 0.03" in found.note
    assert ldp.TestResult.from_dict(found.to_dict()) == found


def test_few_tables_are_exact() -> None:
    found = krr_pair([[95, 2], [2, 1]]).fit().test_independence()
    chances = stats.hypergeom(100, 3, 3).pmf([0, 1, 2, 3])
    assert found.pvalue == pytest.approx(chances[1:].sum())
    assert "over 4 tables" in found.method
    assert found.note == ""


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_very_few_respondents(n: int) -> None:
    table = np.zeros((3, 3), dtype=int)
    table[0, 0], table[1, 1] = n - 1, 1
    found = krr_pair(table).fit().test_independence()
    assert found.pvalue == pytest.approx(1.0 if n == 2 else 1 / n)
    assert "exact" in found.method


def test_a_pvalue_is_at_least_the_probability_of_what_was_seen() -> None:
    """One respondent of 1,000 has a rare label of either variable."""
    table = np.array([[400, 300, 0], [150, 149, 0], [0, 0, 1]])
    found = krr_pair(table, epsilon=8.0).fit().test_independence()
    assert of_table(table).pvalue(found.statistic) < 3e-4
    assert found.pvalue >= np.exp(log_probability(table))
    tiny = np.diag([30, 1, 1])
    found = krr_pair(tiny, epsilon=8.0).fit().test_independence()
    assert found.pvalue >= np.exp(log_probability(tiny)) * (1 - 1e-9)


def test_constant_reports_are_refused() -> None:
    with pytest.raises(NotIdentified, match="do not vary"):
        krr_pair([[5, 6, 7], [0, 0, 0]]).fit().test_independence("pearson")
    assert krr_pair([[5, 6, 7], [0, 0, 0]]).fit().independence is None
