"""Unprotected variables in joint models: two of them are an ordinary contingency table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from simulate import at_least, coverage, repeat

import ldpstats as ldp
from ldpstats.inference.tables import effects
from ldpstats.inference.tables.independence import allow_for_unseen
from ldpstats.likelihood.covariance import multinomial

TABLE = np.array([[40, 12, 8], [15, 30, 20], [9, 11, 35]])
JOBS, REGIONS = ("nurse", "cook", "driver"), ("n", "s", "w")
JOB, REGION = ldp.Observed(JOBS), ldp.Observed(REGIONS)
near = pytest.approx


def fit(table: Any, *mechanisms: ldp.Mechanism, **how: Any) -> ldp.AssociationResults:
    return ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms), **how).fit()


# -- two of them -----------------------------------------------------------------------------------


def test_estimates_are_shares() -> None:
    results, n = fit(TABLE, JOB, REGION), TABLE.sum()
    share = TABLE / n
    assert results.table.to_numpy() == near(share)
    V = (np.diag(share.ravel()) - np.outer(share, share)) / n
    assert results.cov_params().to_numpy() == near(V, abs=1e-9)
    assert results.llf == near(float((TABLE * np.log(share)).sum()))
    assert results.conditional()["estimate"].to_numpy() == near(
        (TABLE / TABLE.sum(axis=1, keepdims=True)).ravel()
    )


def test_independence_is_that_of_a_contingency_table() -> None:
    results, plain = fit(TABLE, JOB, REGION), stats.chi2_contingency(TABLE, correction=False)
    ratio = stats.chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    for method in ("score", "pearson"):
        test = results.test_independence(method)
        assert (test.statistic, test.df) == near((plain.statistic, plain.dof))
        assert np.log(test.pvalue) == near(
            np.log(plain.pvalue), rel=0.02
        )  # moments of permutations
    assert results.test_independence("lr").statistic == near(ratio.statistic, abs=1e-6)
    assert results.test_independence("wald").df == plain.dof


@pytest.mark.parametrize("table", [[[3, 2], [1, 4]], [[30, 2], [1, 4]], [[5, 0], [1, 4]]], ids=str)
def test_the_law_of_permutations_by_enumeration(table: list[list[int]]) -> None:
    """Chi-square over all tables with these margins, each as often as permutations give it."""
    counts = np.array(table)
    (row, other), (column, _), n = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    cell = np.arange(max(0, column - other), min(row, column) + 1)
    chance = stats.hypergeom(n, row, column).pmf(cell)
    square = (cell * n - row * column) ** 2  # chi-square but for a factor
    exact = chance[square >= square[cell == counts[0, 0]] - 1e-9].sum()
    test = fit(table, ldp.Observed(2), ldp.Observed(2)).test_independence()
    assert test.statistic == near(stats.chi2_contingency(counts, correction=False).statistic)
    assert test.pvalue == near(exact, abs=1e-9)


def test_odds_ratio_and_risks_by_hand() -> None:
    results = fit([[60, 40], [30, 70]], ldp.Observed(2), ldp.Observed(2))
    odds = results.odds_ratio((0, 1), (0, 1))
    half = 1.959963984540054 * np.sqrt(1 / 60 + 1 / 40 + 1 / 30 + 1 / 70)
    middle = np.log(60 * 70 / (40 * 30))
    assert np.log([odds.estimate, odds.lower, odds.upper]) == near(
        [middle, middle - half, middle + half]
    )
    assert results.risk_difference((0, 1), 0).estimate == near(0.3)
    assert results.risk_ratio((0, 1), 0).estimate == near(2.0)
    assert results.cramers_v().lower > 0.1


# -- one of them -----------------------------------------------------------------------------------

PRIVATE: dict[str, ldp.Mechanism] = {
    "krr": ldp.KRR(REGIONS, 2.0),
    "krappor": ldp.KRAPPOR(REGIONS, 3.0),
    "urr": ldp.URR(REGIONS, ["n"], 2.0),
    "urap": ldp.URAP(REGIONS, ["n"], 2.0),
    "orr": ldp.ORR(8, 16, epsilon=4.0),
    "rappor": ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75),
}


@pytest.mark.parametrize(("name", "first"), [(name, i % 2 == 0) for i, name in enumerate(PRIVATE)])
def test_beside_a_private_variable(name: str, first: bool) -> None:
    """In either place; the truth is within five standard errors."""
    rng, private = np.random.default_rng(11), PRIVATE[name]
    cells = rng.choice(9, 6000, p=(TABLE / TABLE.sum()).ravel())
    reports = [
        JOB.privatize(np.array(JOBS)[cells // 3], rng),
        private.privatize(np.array(REGIONS)[cells % 3], rng),
    ]
    listed = [None, REGIONS if private.is_open else None]
    step = 1 if first else -1
    model = ldp.AssociationModel(*reports[::step], candidates=listed[::step], names=("a", "b"))
    results = model.fit()
    found = results.linear_table.to_numpy() if first else results.linear_table.to_numpy().T
    se = results.linear.bse().reshape(3, 3)
    assert np.abs((found - TABLE / TABLE.sum()) / (se if first else se.T)).max() < 5
    assert results.epsilon == private.epsilon and results.unprotected == ("ab"[not first],)
    assert results.converged and results.test_independence().pvalue < 1e-6
    assert results.test_independence("lr").pvalue < 1e-6
    text = results.summary().as_text()
    assert "Not protected:" in text and "infinite" not in text
    rows = tuple(results.labels[0][:2])
    assert np.isfinite(results.risk_difference(rows, results.labels[1][0]).estimate)
    assert results.cramers_v().lower > 0.1 and not results.conditional()["outside"].any()


def test_epsilon_of_sums_over_variables() -> None:
    krr = ldp.KRR(2, 1.5)
    results = fit(np.arange(12).reshape(3, 2, 2) + 5, JOB, krr, krr, names=("job", "a", "b"))
    assert results.epsilon == 3.0
    for names, epsilon, unprotected in ((("job", "a"), 1.5, ("job",)), (("a", "b"), 3.0, ())):
        part = results.collapse(names)
        assert part.epsilon == epsilon and part.unprotected == unprotected


# -- cells that nobody was seen in -----------------------------------------------------------------

EMPTY = [
    [[10, 0], [0, 10]],
    [[1000, 0], [0, 1000]],
    [[100, 0], [50, 0]],
    [[1, 0], [0, 0]],
    [[10**7, 0], [0, 10**7]],
]


@pytest.mark.parametrize("table", EMPTY, ids=str)
def test_intervals_allow_for_cells_never_seen(table: list[list[int]]) -> None:
    """No interval has no width, and a conditional's is about the score interval of its row."""
    results, labels = fit(table, ldp.Observed(2), ldp.Observed(2)), (0, 1)
    frame = results.conditional()
    assert (frame["upper"] - frame["lower"] > 0).all()
    for row, counts in enumerate(table):
        n = sum(counts)
        for column, count in enumerate(counts):
            if 0 in counts and n > 9:
                wilson = stats.binomtest(count, n).proportion_ci(method="wilson")
                ends = frame.loc[(row, column), ["lower", "upper"]].to_numpy(float)
                assert ends == near([wilson.low, wilson.high], abs=1.0 / n)
    for effect in (
        results.odds_ratio(labels, labels),
        results.risk_difference(labels, 1),
        results.risk_ratio(labels, 1),
    ):
        assert effect.lower < effect.upper


def test_the_exact_limit_of_an_odds_ratio_with_an_empty_cell() -> None:
    """Fisher's limit is near, which the plug-in variance of zero missed by a factor of 10,000."""
    table = [[10, 5], [0, 10]]
    odds = fit(table, ldp.Observed(2), ldp.Observed(2)).odds_ratio((0, 1), (0, 1))
    exact = stats.contingency.odds_ratio(table).confidence_interval(0.95)
    assert odds.upper == exact.high == np.inf
    assert 0.5 * exact.low < odds.lower < 2.0 * exact.low


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "n"), [(0.02, 40), (0.005, 200)])
def test_coverage_with_rare_cells(cell: float, n: int, replications: Callable[..., int]) -> None:
    P = np.array([[0.5 - cell, cell], [0.3, 0.2]])
    within = P / P.sum(axis=1, keepdims=True)
    R, rng = replications(2000, 500), np.random.default_rng(13)

    def survey(r: int) -> dict[str, Any]:
        T = rng.multinomial(n, P.ravel()) / n
        plain, T = multinomial(T.ravel(), n), T.reshape(2, 2)
        V = allow_for_unseen(plain, n, 0.05)
        _, low, high, _ = effects.conditionals(T, V)
        _, plain_low, plain_high, _ = effects.conditionals(T, plain)
        difference = effects.risk_difference(T, V, 0, 1, 1)
        return {
            "conditional": (low[0, 1], high[0, 1]),
            "difference": (difference.lower, difference.upper),
            "plug-in": (plain_low[0, 1], plain_high[0, 1]),
        }

    found = repeat(R, survey)
    rare = {name: coverage(found[name], within[0, 1], 1e-12) for name in ("conditional", "plug-in")}
    assert at_least(rare["conditional"], 0.95, R)
    assert at_least(coverage(found["difference"], within[0, 1] - within[1, 1]), 0.93, R)
    # the control: where the cell is empty the plug-in interval is a point
    assert rare["plug-in"] < 0.7
