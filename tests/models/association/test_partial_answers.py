"""Respondents who were asked some of the questions only, as by `ask=`: all of their answers count.

`groups` has them as they come from a survey of six questions of which each respondent is asked two:
one in 15 is asked both of a pair, eight in 15 one of them.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from simulate import ALPHA, at_most, coverage, error, near, repeat, size

import ldpstats as ldp

ASKED = (1 / 15, 4 / 15, 4 / 15, 6 / 15)  # both, the first, the second, neither of two of six


def not_asked(k=2):
    """A device of persons who are not asked: it has a single output."""
    return ldp.CustomMechanism(np.ones((k, 1)), outputs=["not asked"])


def groups(P, mechanisms, n, rng, alone=None):
    """Tables of reports of n persons whose cells have law P: of both questions, of one, the other.

    `alone` is the law of the cells of those who were asked one question, if it is another.
    """
    alone = P if alone is None else alone
    first, second = (m.channel().matrix() for m in mechanisms)
    both, one, other, _ = rng.multinomial(n, ASKED)
    laws = first.T @ P @ second, alone.sum(axis=1) @ first, alone.sum(axis=0) @ second
    tables = [
        rng.multinomial(size, law.ravel()).reshape(law.shape)
        for size, law in zip((both, one, other), laws, strict=True)
    ]
    x, y = mechanisms
    silent = [not_asked(m.k) for m in mechanisms]
    return [
        ldp.JointCounts.from_table(tables[0], (x, y)),
        ldp.JointCounts.from_table(tables[1][:, None], (x, silent[1])),
        ldp.JointCounts.from_table(tables[2][None], (silent[0], y)),
    ]


def people(n, rng):
    """Persons whose answers depend on one trait, in two regions."""
    uses = rng.random(n) < 0.4
    answers = {
        name: np.where(rng.random(n) < np.where(uses, 0.7, 0.2), "yes", "no") for name in "abcd"
    }
    answers["job"] = np.where(uses, rng.choice(["cook", "nurse"], n), rng.choice(["nurse", "-"], n))
    answers["region"] = np.where(rng.random(n) < np.where(uses, 0.3, 0.6), "n", "s")
    return pd.DataFrame(answers)


def collected(ask, n=4000, seed=3):
    """The sheets of `people` and their questionnaire, of questions with several mechanisms."""
    rng = np.random.default_rng(seed)
    asked = {name: ldp.Warner(epsilon=2.0) for name in "abc"}
    asked["d"] = ldp.KRAPPOR(("no", "yes"), epsilon=3.0)
    asked["job"] = ldp.KRR(("cook", "nurse", "-"), epsilon=2.5)
    sheet = ldp.Questionnaire(asked, ask=ask)
    return sheet.privatize(people(n, rng), rng), sheet


# ---- the likelihood of all answers


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (2, ("a", "b")),
        (2, ("a", "job")),
        (3, ("job", "d")),
        (1, ("region", "a")),
        (2, ("region", "a", "job")),
        (4, ("a", "b", "job")),
    ],
)
def test_estimates_are_those_of_saturated_cells(ask, names):
    survey = ldp.Survey(*collected(ask))
    results = survey.association(*names)
    cells = survey.cells(names, ldp.cells.saturated()).fit()
    assert np.allclose(results.params, cells.params.to_numpy(), atol=1e-7)
    assert results.llf == pytest.approx(cells.llf, abs=1e-8 * abs(cells.llf))
    assert (results.nobs, results.gap < 1e-8) == (cells.nobs, True)
    if results.params.min() > 1e-3:  # the other's standard errors are those of free cells
        assert np.allclose(results.bse, cells.bse.to_numpy(), rtol=0.1)


def test_likelihood_is_that_of_brute_force():
    krr = ldp.KRR(3, epsilon=2.0), ldp.Warner(epsilon=1.5)
    P = np.array([[0.3, 0.1], [0.1, 0.2], [0.05, 0.25]])
    tables = groups(P, krr, 3000, np.random.default_rng(4))
    results = ldp.AssociationModel(tables).fit()
    first, second = (m.channel().matrix() for m in krr)

    def minus_loglike(z):
        p = np.append(np.exp(z), 1.0)
        p = (p / p.sum()).reshape(3, 2)
        laws = (
            first.T @ p @ second,
            (p.sum(axis=1) @ first)[:, None],
            (p.sum(axis=0) @ second)[None],
        )
        each = zip(tables, laws, strict=True)
        return -sum(float(np.sum(t.table() * np.log(law))) for t, law in each)

    best = optimize.minimize(minus_loglike, np.zeros(5), tol=1e-12)
    p = np.append(np.exp(best.x), 1.0)
    assert results.llf == pytest.approx(-best.fun, abs=1e-6)
    assert np.allclose(results.params, p / p.sum(), atol=1e-5)


def test_unconstrained_estimate_is_that_of_least_squares():
    warner = ldp.Warner(epsilon=2.0)
    P = np.array([[0.4, 0.2], [0.15, 0.25]])
    tables = groups(P, (warner, warner), 12_000, np.random.default_rng(5))
    results = ldp.AssociationModel(tables).fit()
    G = np.linalg.inv(warner.channel().matrix().T)
    estimates, variances = [], []
    for counts, solve in zip(tables, (np.kron(G, G), G, G), strict=True):
        share = counts.table().ravel() / counts.nobs
        estimates.append(solve @ share)
        spread = np.diag(share) - np.outer(share, share)
        variances.append(solve @ spread @ solve.T / counts.nobs)
    sums = [np.eye(4), np.kron(np.eye(2), np.ones((1, 2))), np.kron(np.ones((1, 2)), np.eye(2))]
    # contrasts of the cells that sum to zero, around one of which all estimates are
    basis, centre = np.linalg.svd(np.ones((1, 4)))[2][1:].T, np.full(4, 0.25)
    X = np.concatenate([A @ basis for A in sums])
    y = np.concatenate([t - A @ centre for t, A in zip(estimates, sums, strict=True)])
    W = np.zeros((8, 8))
    for at, V in zip((slice(0, 4), slice(4, 6), slice(6, 8)), variances, strict=True):
        W[at, at] = np.linalg.pinv(V, rcond=1e-9, hermitian=True)
    V = basis @ np.linalg.inv(X.T @ W @ X) @ basis.T
    p = centre + basis @ np.linalg.inv(X.T @ W @ X) @ (X.T @ W @ y)
    # of the parts variances are those at the common estimate, here those seen
    assert np.allclose(results.linear_params, p, atol=0.02 * results.linear.bse().min())
    assert np.allclose(results.linear_cov.to_numpy(), V, atol=0.02 * V.max())
    alone = ldp.AssociationModel(tables[0]).fit()
    assert (results.linear.bse() < 0.85 * alone.linear.bse()).all()


# ---- whose answers count


def test_those_count_whose_sheets_are_full():
    table, sheet = collected(2)
    survey = ldp.Survey(table, sheet)
    there = table[["a", "b"]].notna()
    both, either = int(there.all(axis=1).sum()), int(there.any(axis=1).sum())
    results = survey.association("a", "b")
    words = " ".join(str(results.summary()).split())
    assert results.answered[0] == (("a", "b"), both)
    assert dict(results.answered)[("a",)] == int((there["a"] & ~there["b"]).sum())
    assert (results.nobs, results.n_missing) == (either, len(table) - either)
    assert f"NOTE: {both} respondents answered all of the questions." in words
    # who refused one of two questions may have refused b
    refused = table[there["a"] & ~there["b"]].index[:50]
    other = [name for name in sheet.private if name not in ("a", "b")]
    some = table.copy()
    some.loc[refused, other] = None
    fewer = ldp.Survey(some, sheet).association("a", "b")
    assert dict(fewer.answered)[("a",)] == dict(results.answered)[("a",)] - 50
    assert (fewer.nobs, fewer.n_missing) == (either - 50, len(table) - either + 50)
    assert fewer.lacking == (results.lacking[0], results.lacking[1] + 50)


def test_missing_public_values_are_not_by_design():
    table, sheet = collected(1)
    table.loc[:99, "region"] = None
    results = ldp.Survey(table, sheet).association("a", "region")
    assert results.nobs == len(table) - 100
    assert [names for names, _ in results.answered] == [("a", "region"), ("region",)]


@pytest.mark.parametrize("ask", [2, 3])
def test_an_engine_and_domains_say_the_same(tmp_path, ask):
    table, sheet = collected(ask)
    table.to_parquet(tmp_path / "sheets.parquet")
    memory, engine = ldp.Survey(table, sheet), ldp.Survey(tmp_path / "sheets.parquet", sheet)
    for one, other in [(memory, engine), tuple(s.where("region == 'n'") for s in (memory, engine))]:
        for names in [("a", "job"), ("a", "d"), ("b", "c", "job")][: 2 + (ask == 3)]:
            here, there = one.association(*names), other.association(*names)
            assert (here.answered, here.nobs) == (there.answered, there.nobs)
            assert np.allclose(here.params, there.params, atol=1e-12)


def test_all_pairs_at_once():
    survey = ldp.Survey(*collected(2))
    matrix = survey.associations(["a", "b", "region"])
    for pair in [("a", "b"), ("a", "region"), ("b", "region")]:
        alone = survey.association(*pair)
        assert matrix[pair].answered == alone.answered
        assert np.array_equal(matrix[pair].params, alone.params)
    assert matrix.answered[:2] == tuple(survey.frequencies(name).nobs for name in "ab")
    assert "independence rest on the" in " ".join(str(matrix.summary()).split())


def test_margins_rest_on_all_answers():
    survey = ldp.Survey(*collected(2))
    results = survey.association("a", "b")
    margins = results.margins()
    for name in "ab":
        assert results.margin_fits["ab".index(name)].nobs == survey.frequencies(name).nobs
        ends = survey.frequencies(name).conf_int()
        assert np.allclose(margins[name][["lower", "upper"]], ends, atol=1e-12)


def test_results_are_stored_with_all_answers():
    results = ldp.Survey(*collected(2)).association("a", "job")
    read = ldp.AssociationResults.from_json(results.to_json())
    assert read.answered == results.answered
    assert str(read.summary()) == str(results.summary())
    assert read.test_independence("lr") == results.test_independence("lr")


def test_with_a_design_only_full_pairs_count():
    table, sheet = collected(2)
    weighted = ldp.Survey(table.assign(w=1.0), sheet, weights="w").association("a", "b")
    assert weighted.nobs == int(table[["a", "b"]].notna().all(axis=1).sum())
    assert f"{weighted.n_missing} of {len(table)} respondents were left out" in " ".join(
        str(weighted.summary()).split()
    )


def test_answers_that_may_be_in_no_cell_count_in_pairs_only():
    warner, krr = ldp.Warner(epsilon=2.0), ldp.KRR(("x", "y", "z"), epsilon=2.0)
    P = np.full((2, 3), 1 / 6)
    tables = groups(P, (warner, krr), 6000, np.random.default_rng(6))
    with pytest.warns(ldp.IncompleteListWarning):
        listed = ldp.AssociationModel(tables, candidates=[None, ["x", "y"]])
    assert listed.nobs == tables[0].nobs
    lumped = ldp.AssociationModel(tables, candidates=[None, ["x"]], other=[False, True]).fit()
    assert lumped.nobs == sum(part.nobs for part in tables)
    assert lumped.n_missing == 0


def test_pairs_that_nobody_was_asked_fail_by_name():
    survey = ldp.Survey(*collected(1))
    matrix = survey.associations(["a", "b", "region"])
    assert [pair for *pair, _ in matrix.failed] == [["a", "b"]]
    assert matrix.answered[:2] == tuple(survey.frequencies(name).nobs for name in "ab")


def test_three_questions_that_nobody_was_asked_have_another_model():
    survey = ldp.Survey(*collected(2))
    with pytest.raises(ldp.InvalidArgument, match=r"ask=2: .* survey\.cells\(.*latent_class"):
        survey.association("a", "b", "c")


# ---- simulated surveys

CASES = {
    "weak": (2.0, [[0.4, 0.2], [0.2, 0.2]]),
    "strong": (4.0, [[0.55, 0.05], [0.05, 0.35]]),
    "independent": (2.0, [[0.42, 0.28], [0.18, 0.12]]),
}


def said_of(results):
    """Estimates, ends of intervals and tests of a 2 x 2 table."""
    ratio = results.odds_ratio(results.labels[0], results.labels[1])
    return {
        "cells": results.params,
        "linear": results.linear_params,
        "se": results.linear.bse(),
        "ends": results.conf_int(),
        "ratio": [ratio.lower, ratio.upper],
        "p": [results.independence.pvalue, results.test_independence("wald").pvalue],
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", list(CASES))
def test_all_answers_tell_more_and_intervals_cover(case, replications):
    epsilon, P = CASES[case][0], np.array(CASES[case][1])
    warner, rng, R = ldp.Warner(epsilon=epsilon), np.random.default_rng(8), replications(400, 150)

    def survey(_):
        tables = groups(P, (warner, warner), 12_000, rng)
        found = said_of(ldp.AssociationModel(tables).fit())
        alone = said_of(ldp.AssociationModel(tables[0]).fit())
        return found | {f"{name} of pairs": value for name, value in alone.items()}

    said = repeat(R, survey)
    # at the largest cell half of the variance and less
    sd, sd_of_pairs = (said[name].std(axis=0) for name in ("cells", "cells of pairs"))
    assert sd[0] ** 2 < 0.65 * sd_of_pairs[0] ** 2
    assert (sd < 1.05 * sd_of_pairs).all()
    assert np.allclose(said["linear"].std(axis=0), said["se"].mean(axis=0), rtol=5 / np.sqrt(2 * R))
    assert near(coverage(said["ends"], P.ravel()), 1 - ALPHA, R)
    odds = P[0, 0] * P[1, 1] / (P[0, 1] * P[1, 0])
    assert near(coverage(said["ratio"], odds), 1 - ALPHA, R)
    if case == "independent":
        assert near([size(p) for p in said["p"].T], ALPHA, R)


@pytest.mark.slow
def test_answers_that_depend_on_who_was_asked_mislead():
    # a control: of those who were asked one question others say yes, and intervals miss the truth
    P = np.array(CASES["weak"][1])
    warner, rng, R = ldp.Warner(epsilon=2.0), np.random.default_rng(9), 100
    other = np.array([[0.5, 0.2], [0.2, 0.1]])

    def survey(_):
        tables = groups(P, (warner, warner), 12_000, rng, other)
        return said_of(ldp.AssociationModel(tables).fit())

    covered = coverage(repeat(R, survey)["ends"], P.ravel())
    assert covered[0] < 1 - ALPHA - 10 * error(ALPHA, R)


@pytest.mark.slow
def test_bits_and_rare_categories_of_partial_answers():
    unary, krr = ldp.KRAPPOR(3, epsilon=3.0), ldp.KRR(3, epsilon=3.0)
    P = np.array([[0.45, 0.1, 0.0], [0.15, 0.2, 0.02], [0.05, 0.02, 0.01]])
    rng, R, n = np.random.default_rng(10), 300, 6000
    silent = not_asked(3)

    def survey(_):
        cells = rng.choice(9, size=n, p=P.ravel())
        x, y = np.divmod(cells, 3)
        asked = rng.choice(4, size=n, p=ASKED)
        made = []
        for kind in range(3):
            some = asked == kind
            none = ldp.Reports(np.zeros(int(some.sum()), dtype=np.int64), silent)
            first = none if kind == 2 else unary.privatize(x[some], rng)
            second = none if kind == 1 else krr.privatize(y[some], rng)
            made.append(ldp.JointCounts((first, second)))
        return {"ends": ldp.AssociationModel(made).fit().conf_int()}

    found = coverage(repeat(R, survey)["ends"], P.ravel(), 1e-12)
    assert at_most(1 - found, ALPHA, R)
