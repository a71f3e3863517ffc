"""Kinds of answers in joint tables: not listed, sensitive, missing."""

import json
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from grid import packed, patterns
from scipy import stats
from shared.sensitive_surveys import dense, every_report
from shared.variable_products import WORDS, Variable, cells_of, law_of, random_law
from simulate import at_least, coverage, repeat
from surveys import multinomial

import ldpstats as ldp
from ldpstats.inference.tables import effects
from ldpstats.inference.tables.independence import allow_for_unseen
from ldpstats.mechanisms import lump


def test_lumping_is_exact():
    pairs: list[Variable] = [(ldp.KRR(5, 2.0), None), (ldp.KRAPPOR(4, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    lumped = np.vstack([P[[3, 1]], P[[0, 2, 4]].sum(axis=0)])
    lumped = np.column_stack([lumped[:, [0, 2]], lumped[:, [1, 3]].sum(axis=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ldp.AssociationModel(counts, candidates=[(3, 1), (0, 2)], other=True)
    for method in ("inversion", "one_step", "mle"):
        results = model.fit(method)
        np.testing.assert_allclose(results.table, lumped, atol=1e-8)
        assert results.table.index.tolist() == [3, 1, "Other"]
        assert results.is_complete
        assert results.others == ("lump", "lump")


def test_modelled_other_warns_and_is_right_for_independent_variables():
    # O-RR reports labels, whose law within Other needs no product of bits
    mechanism, everything = ldp.ORR(4, 16, epsilon=2.0), ("apple", "pear", *map(str, range(60)))
    pairs: list[Variable] = [(mechanism, everything), (ldp.KRR(2, 1.0), None)]
    P = np.outer([0.4, 0.3, *[0.005] * 60], [0.3, 0.7])
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(ldp.IncompleteListWarning, match="independent of Y"):
        model = ldp.AssociationModel(counts, candidates=[WORDS, None], other=True)
    results = model.fit("mle")
    truth = np.vstack([P[:2], P[2:].sum(axis=0)])
    assert results.table.index.tolist() == ["apple", "pear", "Other"]
    np.testing.assert_allclose(results.table, truth, atol=0.02)
    np.testing.assert_allclose(results.linear_table, truth, atol=0.02)


def test_ignoring_other_warns_and_biases():
    pairs: list[Variable] = [(ldp.KRR(4, 2.0), None), (ldp.KRR(2, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e10 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(ldp.IncompleteListWarning, match="other=True"):
        model = ldp.AssociationModel(counts, candidates=[(0, 1), None])
    results = model.fit("inversion")
    np.testing.assert_allclose(results.table, P[:2], atol=1e-8)  # still unbiased
    assert not results.is_complete
    biased = model.fit("mle")
    assert biased.fitted.estimate.sum() == pytest.approx(1.0)
    assert np.abs(biased.table.to_numpy() - P[:2]).max() > 0.05


def test_intervals_allow_for_answers_that_are_not_listed():
    # four frequent strings that nobody listed hash to the same cells in all reports; without the
    # dispersion of the margins cells covered .71 (a negative control: it is above 3 here)
    flag, rng = ldp.KRR(("a", "b"), 2.0), np.random.default_rng(0)
    orr, words = ldp.ORR(n_outputs=16, n_cohorts=64, epsilon=3.0), ["w0", "w1", "w2"]
    found = []
    for _ in range(10):
        unlisted = rng.random(20_000) < 0.5
        said = np.where(unlisted, rng.choice(["u0", "u1", "u2", "u3"], 20_000), "")
        said = np.where(unlisted, said, rng.choice(words, 20_000))
        x = flag.privatize(rng.choice(["a", "b"], 20_000), rng)
        model = ldp.AssociationModel(x, orr.privatize(said, rng), candidates=(None, words))
        results = model.fit("inversion")
        assert results.dispersion > 3.0 and results.is_doubtful
        bounds = results.conf_int()
        found.append(((bounds.lower <= 1 / 12) & (1 / 12 <= bounds.upper)).mean())
    assert np.mean(found) > 0.93
    text = str(results.summary())
    assert "WARNING: the reports indicate" in text and "times those" in text


def joint_survey(first: Any, second: Any, n: int, seed: int) -> tuple[ldp.Reports, ldp.Reports]:
    """Reports on two variables of which the second follows the first half of the time."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, first.k, n)
    y = np.where(rng.random(n) < 0.5, x % second.k, rng.integers(0, second.k, n))
    return (
        first.privatize(np.asarray(first.categories)[x], rng),
        second.privatize(np.asarray(second.categories)[y], rng),
    )


ABC = ("a", "b", "c")

JOINT = {
    "urr": ldp.URR(ABC, ["b", "c"], 1.5),
    "urr-levels": ldp.URR(ABC, epsilon={"b": 1.0, "c": 2.0}),
    "urap": ldp.URAP(ABC, ["a", "c"], 1.5),
    "urap-none": ldp.URAP(ABC, [], 1.5),
    "krr": ldp.KRR(4, 1.5),
    "krappor": ldp.KRAPPOR(4, 1.5),
}

PAIRS = [
    ("urr", "krr"),
    ("urr", "urr-levels"),
    ("urap", "krr"),
    ("urap", "krappor"),
    ("urap", "urap"),
    ("urap-none", "urap"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_likelihood_is_that_of_the_matrices(a, b):
    pair = joint_survey(JOINT[a], JOINT[b], 1500, seed=15)
    one, two = ldp.AssociationModel(*pair), ldp.AssociationModel(*map(dense, pair))
    for name in ("mle", "em"):
        x, y = one.fit(name), two.fit(name)
        np.testing.assert_allclose(x.params, y.params, atol=1e-3 if name == "em" else 1e-6)
    x, y = one.fit(), two.fit()
    for method in ("score", "lr"):
        p, q = (m.test_independence(r, method) for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-5)
        assert p.df == q.df == 2 * (pair[1].mechanism.k - 1) and p.pvalue < 1e-3
    labels = not (JOINT[a].n_bits or JOINT[b].n_bits)
    for name in ("inversion", "moments-gls", "one_step", "projected"):
        # bits are used one by one in linear estimates, so that only labels give the same ones
        found, want = one.fit(name).params, two.fit(name).params
        np.testing.assert_allclose(found, want, atol=1e-9 if labels else 0.12)
    if labels:
        p, q = (m.test_independence(r, "pearson") for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-12)
    else:
        with pytest.raises(ldp.NotAvailable, match="score"):
            one.test_independence(x, "pearson")
    margins = x.margins()
    assert [len(frame) for frame in margins.values()] == [JOINT[a].k, JOINT[b].k]
    again = type(x).from_dict(json.loads(json.dumps(x.to_dict())))
    np.testing.assert_array_equal(again.params, x.params)
    assert "URR" in str(x.summary()) or "URAP" in str(x.summary())


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_linear_estimates_are_unbiased(a, b):
    # of every pair of reports, weighted by its law: exact
    first, second = JOINT[a], JOINT[b]
    laws = []
    for m in (first, second):
        if isinstance(m, ldp.URAP):
            laws.append(every_report(m))
        elif m.n_bits:
            laws.append((ldp.Reports(packed(patterns(m.n_bits)), m), m.channel().matrix()))
        else:
            laws.append((ldp.Reports(np.arange(m.n_outputs), m), m.channel().matrix()))
    rng = np.random.default_rng(16)
    P = rng.dirichlet(np.ones(first.k * second.k)).reshape(first.k, second.k)
    n = np.rint(1e12 * (laws[0][1].T @ P @ laws[1][1])).astype(np.int64)
    at = np.indices(n.shape).reshape(2, -1)
    parts = [ldp.Reports(law[0].y[i], law[0].mechanism) for law, i in zip(laws, at, strict=True)]
    counts = ldp.JointCounts(parts, n.reshape(-1))
    for name in ("inversion", "moments-gls", "one_step", "mle"):
        found = ldp.AssociationModel(counts).fit(name).params
        np.testing.assert_allclose(np.asarray(found).reshape(P.shape), P, atol=2e-5)


def test_other_in_a_joint_table():
    urr, krr = JOINT["urr"], JOINT["krr"]
    pair = joint_survey(urr, krr, 1500, seed=18)
    exact = ldp.AssociationModel(*pair, candidates=[["a"], None], other=True).fit()
    lumped = lump(pair[0], ["a"])
    same = ldp.AssociationModel(lumped, pair[1]).fit()
    np.testing.assert_allclose(exact.params, same.params, atol=1e-12)
    with pytest.raises(ldp.InvalidArgument, match="lumps exactly"):
        ldp.AssociationModel(*pair, candidates=[["a"], None], other="product")
    bits = joint_survey(JOINT["urap"], krr, 100, seed=18)
    with pytest.raises(ldp.NotAvailable, match="lump"):
        ldp.AssociationModel(*bits, candidates=[["a"], None], other=True)


Array = npt.NDArray[Any]

X, Y = ldp.KRR(ABC, epsilon=2.0), ldp.KRR(("no", "yes"), epsilon=1.0)

N = 1000


def columns(seed: int = 1, n: int = N) -> tuple[ldp.Reports, ldp.Reports, Array, Array, Any]:
    """Full reports, who answered each question, and the generator."""
    rng = np.random.default_rng(seed)
    x = X.privatize(rng.choice(ABC, n), rng)
    y = Y.privatize(rng.choice(["no", "yes"], n), rng)
    return x, y, rng.random(n) < 0.8, rng.random(n) < 0.8, rng


def with_ids(reports: ldp.Reports, has: Array, order: Any, name: str) -> ldp.Reports:
    ids = np.array([f"person {i}" for i in range(len(has))], dtype=object)[has][order]
    missing = int((~has).sum())
    return ldp.Reports(reports.y[has][order], reports.mechanism, missing, ids=ids, name=name)


def test_rows_and_identifiers_say_the_same():
    x, y, has_x, has_y, rng = columns()
    rows = [(x[has_x], has_x), (y, has_y)]  # reports of those who answered, or of all rows
    by_rows = ldp.AssociationModel(ldp.JointCounts.of_rows(rows).tally(), names=("job", "late"))
    first = with_ids(x, has_x, slice(None), "job")
    second = with_ids(y, has_y, rng.permutation(has_y.sum()), "late")
    by_ids = ldp.AssociationModel(first, second)
    assert by_ids.names == ("job", "late")  # of the reports
    both = has_x & has_y
    alone = ldp.AssociationModel(x[both], y[both], names=("job", "late")).fit()
    for results in (by_rows.fit(), by_ids.fit()):
        pd.testing.assert_frame_equal(results.summary_frame(), alone.summary_frame())
        assert results.test_independence() == alone.test_independence()
        assert (results.nobs, results.n_missing) == (both.sum(), N - both.sum())
        assert results.lacking == ((~has_x).sum(), (~has_y).sum())
        assert results.lacking == ldp.AssociationResults.from_json(results.to_json()).lacking
    text = " ".join(str(by_ids.fit().summary()).split())
    words = f"{N - both.sum()} of {N} respondents were left out"
    assert f"{words}, because a report was missing: {(~has_x).sum()} lacked job, " in text


def test_identifiers_of_strangers_count_as_missing():
    x, y, *_ = columns(n=10)
    first = ldp.Reports(x.y, X, ids=range(10))
    second = ldp.Reports(y.y[:8], Y, ids=range(4, 12))
    joint = ldp.JointCounts([first, second])
    assert (joint.nobs, joint.n_missing, joint.lacking) == (6, 6, (2, 4))
    np.testing.assert_array_equal(joint.reports[0].y, x.y[4:])
    np.testing.assert_array_equal(joint.reports[1].y, y.y[:6])
    assert all(part.ids is None for part in joint.reports)  # no result keeps them


def test_counts_of_chunks_add_up():
    x, y, has_x, has_y, _ = columns()
    parts = [slice(0, 300), slice(300, N)]
    chunks = [ldp.JointCounts.of_rows([(x[p], has_x[p]), (y[p], has_y[p])]) for p in parts]
    total, whole = chunks[0] + chunks[1], ldp.JointCounts.of_rows([(x, has_x), (y, has_y)]).tally()
    assert (total.nobs, total.n_missing, total.lacking) == (
        whole.nobs,
        whole.n_missing,
        whole.lacking,
    )
    np.testing.assert_array_equal(total.table(), whole.table())
    full = ldp.JointCounts([x, y])
    assert (full + whole).lacking == whole.lacking
    assert (full + full).lacking == ()


# -- missing at random ------------------------------------------------------------------------
P = np.array([[0.25, 0.15], [0.12, 0.18], [0.08, 0.22]])

INDEPENDENT = np.outer(P.sum(axis=1), P.sum(axis=0))


def cramers_v(table: Array) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sqrt(np.sum((table - expected) ** 2 / expected)))


def surveys(R: int, n: int) -> dict[str, Array]:
    """Intervals and p-values of R surveys in which 20% of the answers to each question are missing.

    Whether one is missing does not depend on the answers.
    """
    rng = np.random.default_rng([7, n])
    strong, clear = ldp.KRR(ABC, epsilon=3.0), ldp.KRR(("no", "yes"), epsilon=3.0)

    def fit(law: Array) -> Any:
        cells = rng.choice(6, size=n, p=law.reshape(-1))
        x = strong.privatize(np.array(ABC, dtype=object)[cells // 2], rng)
        y = clear.privatize(np.array(["no", "yes"], dtype=object)[cells % 2], rng)
        has = [rng.random(n) < 0.8 for _ in range(2)]
        counts = ldp.JointCounts.of_rows(list(zip((x, y), has, strict=True)))
        return ldp.AssociationModel(counts.tally()).fit("inversion")

    def survey(_: int) -> dict[str, Any]:
        results = fit(P)
        effect = results.cramers_v()
        return {
            "cells": results.conf_int(clip=False),
            "conditionals": results.conditional()[["lower", "upper"]],
            "V": [effect.lower, effect.upper],
            "pvalue": fit(INDEPENDENT).test_independence().pvalue,
        }

    return repeat(R, survey)


# Unprotected variables in joint models: two of them are an ordinary contingency table.

TABLE = np.array([[40, 12, 8], [15, 30, 20], [9, 11, 35]])

JOBS, REGIONS = ("nurse", "cook", "driver"), ("n", "s", "w")

JOB, REGION = ldp.Observed(JOBS), ldp.Observed(REGIONS)

near = pytest.approx


def fit(table: Any, *mechanisms: ldp.Mechanism, **how: Any) -> ldp.AssociationResults:
    return ldp.AssociationModel(ldp.JointCounts.from_table(table, mechanisms), **how).fit()


# -- two of them -----------------------------------------------------------------------------------
def test_estimates_are_shares():
    results, n = fit(TABLE, JOB, REGION), TABLE.sum()
    share = TABLE / n
    assert results.table.to_numpy() == near(share)
    V = (np.diag(share.ravel()) - np.outer(share, share)) / n
    assert results.cov_params().to_numpy() == near(V, abs=1e-9)
    assert results.llf == near(float((TABLE * np.log(share)).sum()))
    assert results.conditional()["estimate"].to_numpy() == near(
        (TABLE / TABLE.sum(axis=1, keepdims=True)).ravel()
    )


def test_independence_is_that_of_a_contingency_table():
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
def test_the_law_of_permutations_by_enumeration(table):
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


def test_odds_ratio_and_risks_by_hand():
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
def test_beside_a_private_variable(name, first):
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


def test_epsilon_of_sums_over_variables():
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
def test_intervals_allow_for_cells_never_seen(table):
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


def test_the_exact_limit_of_an_odds_ratio_with_an_empty_cell():
    """Fisher's limit is near, which the plug-in variance of zero missed by a factor of 10,000."""
    table = [[10, 5], [0, 10]]
    odds = fit(table, ldp.Observed(2), ldp.Observed(2)).odds_ratio((0, 1), (0, 1))
    exact = stats.contingency.odds_ratio(table).confidence_interval(0.95)
    assert odds.upper == exact.high == np.inf
    assert 0.5 * exact.low < odds.lower < 2.0 * exact.low


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "n"), [(0.02, 40), (0.005, 200)])
def test_coverage_with_rare_cells(cell, n, replications):
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
