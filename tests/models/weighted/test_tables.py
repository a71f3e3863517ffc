"""Weighted tables: against frequencies in domains, their own parts, and simulated tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm, t

import ldpstats as ldp

JOBS = ("cook", "driver", "nurse")
KINDS = {
    "labels": (ldp.KRR(JOBS, 2.0), ldp.Warner(epsilon=1.5)),
    "bits": (ldp.KRAPPOR(JOBS, 2.0), ldp.Warner(epsilon=1.5)),
    "observed": (ldp.KRR(JOBS, 2.0), ldp.Observed(("no", "yes"))),
    "hashes": (ldp.ORR(3, 4, epsilon=2.0, alphabet=JOBS), ldp.Warner(epsilon=1.5)),
}


def survey(kind="labels", seed=7, **design):
    """Six hundred persons in thirty units of three strata; some lack an answer."""
    rng, n = np.random.default_rng(seed), 600
    job, unit = rng.choice(JOBS, n, p=[0.5, 0.3, 0.2]), np.arange(n) // 20
    ill = np.where(rng.random(n) < 0.3 + 0.3 * (job == "cook"), "yes", "no")
    people = {"w": rng.uniform(1, 4, n), "unit": unit, "stratum": unit // 10, "N": 40}
    sheet = ldp.Questionnaire(dict(zip(("job", "ill"), KINDS[kind], strict=True)))
    table = sheet.privatize(pd.DataFrame({"job": job, "ill": ill, **people}), rng)
    table.loc[5:14, "job"], table.loc[10:29, "ill"] = None, None
    given = {"weights": "w", "strata": "stratum", "clusters": "unit"} | design
    return ldp.Survey(table, sheet, **given)


@pytest.fixture(scope="module")
def results():
    return survey().association("job", "ill")


def test_who_lacks_an_answer_is_outside(results):
    assert (results.nobs, results.n_missing, results.lacking) == (575, 25, (10, 20))
    assert results.domains.df.tolist() == [27.0]
    assert results.epsilon == pytest.approx(3.5)
    text = " ".join(results.summary().as_text().split())
    assert "10 lacked job, 20 lacked ill" in text


def test_given_an_observed_answer_shares_are_those_of_the_domain():
    made = survey("observed", fpc="N")
    found = made.association("job", "ill").conditional("ill")
    expected = made.frequencies("job", by="ill")
    np.testing.assert_allclose(found["estimate"], expected.params, rtol=1e-10)
    np.testing.assert_allclose(found["se"], expected.bse, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_table_agree(kind):
    results = survey(kind).association("job", "ill")
    totals, T = results.totals()["estimate"], results.totals_law.estimate
    np.testing.assert_allclose(totals / T[-1], results.params, rtol=1e-12)
    given = results.conditional("job")["estimate"]
    margin = results.margins()["job"]["estimate"]
    np.testing.assert_allclose(given * np.repeat(margin, 2).to_numpy(), results.params, rtol=1e-10)
    differ = results.differences("job", reference="nurse")
    assert differ.index.names == ["job", "ill"]
    assert differ.loc[("cook", "yes"), "estimate"] == pytest.approx(
        given["cook", "yes"] - given["nurse", "yes"]
    )
    ratio = results.ratio(("cook", "yes"), [("cook", "no"), ("nurse", "no")])
    p = results.params
    assert ratio["estimate"] == pytest.approx(
        p["cook", "yes"] / (p["cook", "no"] + p["nurse", "no"])
    )
    if kind in ("labels", "observed"):
        np.testing.assert_allclose(p.groupby("job").sum(), margin, rtol=1e-10)


def test_all_pairs_are_compared(results):
    every = results.differences("job", all_pairs=True)
    assert every.index.names == ["job", "job (reference)", "ill"]
    assert len(every) == 6
    one = results.differences("job").loc[("nurse", "yes")]
    both = every.loc[("nurse", "cook", "yes")]
    assert both[["estimate", "se", "pvalue"]].equals(one[["estimate", "se", "pvalue"]])


def test_effects_have_t_quantiles(results):
    odds = results.odds_ratio(("cook", "nurse"), ("yes", "no"))
    p = results.table
    expected = p.loc["cook", "yes"] * p.loc["nurse", "no"] / p.loc["cook", "no"]
    assert odds.estimate == pytest.approx(expected / p.loc["nurse", "yes"])
    assert (odds.alpha, results.cramers_v().alpha) == (0.05, 0.05)
    wide = results.cramers_v(alpha=2 * norm.sf(1.0))
    assert wide.lower >= results.cramers_v().lower


def test_a_correction_does_not_change_tests_of_a_superpopulation():
    with_fpc, without = (survey(**more).association("job", "ill") for more in ({"fpc": "N"}, {}))
    assert with_fpc.bse.max() < without.bse.max()
    assert with_fpc.test_independence() == without.test_independence()
    assert with_fpc.test_independence("wald") == without.test_independence("wald")


def test_tests_say_what_they_are(results):
    test = results.test_independence()
    assert test.null == "job and ill are independent"
    assert test.df == (2.0, 54.0)
    assert test.pvalue < 0.01
    assert results.test_independence(effects="observed").statistic != test.statistic
    bits = survey("bits").association("job", "ill")
    assert bits.test_independence("second").df[0] < 2.0
    with pytest.raises(ldp.NotAvailable, match="not labels"):
        bits.test_independence(effects="observed")
    with pytest.raises(ldp.InvalidArgument, match="method"):
        results.test_independence("pearson")


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("job",), {}, "two different questions"),
        (("job", "ill"), {"method": "mle"}, "inversion"),
        (("job", "ill"), {"candidates": {"job": ["cook", "nurse"]}}, "must be True for job"),
        (("job", "ill"), {"candidates": [["cook"]]}, "one element for each"),
    ],
)
def test_what_has_no_weighted_table_says_why(names, options, words):
    with pytest.raises((ldp.InvalidArgument, ldp.NotAvailable), match=words):
        survey().association(*names, **options)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.conditional("sex"), "on="),
        (lambda t: t.ratio(("cook", "maybe"), ("cook", "no")), "no category of ill"),
        (lambda t: t.ratio([], ("cook", "no")), "must be a cell"),
        (lambda t: t.ratio("cook", ("cook", "no")), "must be a cell"),
        (lambda t: t.ratio([("cook", "no")] * 2, ("cook", "no")), "must be a cell"),
        (lambda t: t.differences("job", "cook", all_pairs=True), "all_pairs"),
        (lambda t: t.odds_ratio(("cook", "cook"), ("yes", "no")), "two different labels"),
        (lambda t: t.test_independence(effects="both"), "effects"),
        (lambda t: t.plot("pie"), "kind"),
    ],
)
def test_bad_input_is_named(results, call, words):
    with pytest.raises(ldp.InvalidArgument, match=words):
        call(results)


def test_lumped_categories_are_sums_of_cells(results):
    lumped = survey().association("job", "ill", candidates={"job": ["cook"]}, other=True)
    assert lumped.table.index.tolist() == ["cook", "Other"]
    expected = results.table.loc[["driver", "nurse"]].sum()
    np.testing.assert_allclose(lumped.table.loc["Other"], expected, rtol=1e-10)
    se = results.t_test("driver:no + nurse:no = 0").sd.item()
    assert lumped.bse["Other", "no"] == pytest.approx(se, rel=1e-10)


def test_lists_of_candidates_must_hold_all_answers():
    rng, n = np.random.default_rng(2), 3000
    word = rng.choice(["apple", "pear", "plum"], n, p=[0.5, 0.3, 0.2])
    people = pd.DataFrame({"word": word, "sex": rng.choice(["f", "m"], n), "w": 1.0})
    orr = ldp.ORR(16, 8, epsilon=3.0)
    table = ldp.Questionnaire({"word": orr}).privatize(people, rng)
    made = ldp.Survey(table, {"word": orr}, weights="w")
    found = made.association("word", "sex", candidates={"word": ["apple", "pear", "plum"]})
    assert found.listed == ("word",)
    assert "candidates of word are taken for all answers" in found.summary().as_text()
    assert found.test_independence().df[0] == 3.0  # and the share of other answers
    shares = found.margins()["word"]
    assert np.all(np.abs(shares["estimate"] - [0.5, 0.3, 0.2]) < 4 * shares["se"])
    with pytest.raises(ldp.NotAvailable, match="answers to 'word' are not among its candidates"):
        made.association("word", "sex", candidates={"word": ["pear", "plum"]})
    with pytest.raises(ldp.InvalidArgument, match="taken to be complete"):
        made.association("word", "sex", candidates={"word": ["pear", "plum"]}, other=True)


def test_nobody_with_both_answers_and_tables_that_are_too_large():
    neither = (np.arange(600) > 9) & (np.arange(600) < 15)
    with pytest.raises(ldp.InvalidArgument, match="nobody of 5 answered both"):
        survey()[neither].association("job", "ill")
    many = tuple(map(str, range(50)))
    table = pd.DataFrame({"a": many * 2, "b": many * 2, "w": 1.0})
    large = ldp.Survey(table, {"a": ldp.KRR(many, 1.0), "b": ldp.KRR(many, 1.0)}, weights="w")
    with pytest.raises(ldp.NotAvailable, match="50 x 50 cells"):
        large.association("a", "b")


# -- simulated size -----------------------------------------------------------------------------


def one_survey(rng, mechanisms, strata, units, P=None):
    """The table of two questions in clusters, with weights that depend on both answers.

    By default the answers are independent; else P, (a, b), is their law in the population.
    """
    a, b = (one.k for one in mechanisms)
    if P is None:
        P = np.outer(*(np.arange(k, 0, -1) / (k * (k + 1) / 2) for k in (a, b)))
    laws = rng.dirichlet(P.ravel() * 27.0, size=strata * units)
    unit = np.repeat(np.arange(strata * units), rng.poisson(28, strata * units) + 2)
    cell = (rng.random((unit.size, 1)) > laws.cumsum(axis=1)[unit]).sum(axis=1)
    cell = np.minimum(cell, a * b - 1)
    accepted = 0.25 + 0.75 * (np.arange(a * b) % 5) / 4
    kept = rng.random(unit.size) < accepted[cell]
    unit, cell = unit[kept], cell[kept]
    people = pd.DataFrame({"x": cell // b, "y": cell % b, "unit": unit, "stratum": unit // units})
    people["w"] = np.exp(1.6 * people["stratum"] / strata) / accepted[cell]
    sheet = ldp.Questionnaire({"x": mechanisms[0], "y": mechanisms[1]})
    how = {"weights": "w", "strata": "stratum", "clusters": "unit"}
    return ldp.Survey(sheet.privatize(people, rng), sheet, **how).association("x", "y")


SETTINGS = [
    (5, 4, (ldp.KRR(3, 2.0), ldp.Observed(4))),
    (10, 2, (ldp.KRAPPOR(3, 2.0), ldp.KRR(4, 2.0))),
]


@pytest.mark.slow
@pytest.mark.parametrize(("strata", "units", "mechanisms"), SETTINGS)
def test_the_default_test_keeps_its_size_and_pearsons_does_not(
    strata, units, mechanisms, replications
):
    rng, R = np.random.default_rng(11), replications(2000, 200)
    first = naive = 0
    for _ in range(R):
        found = one_survey(rng, mechanisms, strata, units).dependence.null
        first += found.test("H0").pvalue < 0.05
        naive += chi2.sf(found.pearson, found.d) < 0.05
    # .05 to .08 over many settings of few units; three Monte Carlo standard errors
    band = 3.0 * np.sqrt(0.06 * 0.94 / R)
    assert 0.035 - band < first / R < 0.075 + band
    assert naive / R > 0.1


RISKS = [
    (10, 8, (ldp.KRR(3, 2.0), ldp.Observed(2)), [[0.2, 0.1], [0.1, 0.2], [0.1, 0.3]]),
    (4, 20, (ldp.Observed(2), ldp.KRR(2, 1.5)), [[0.35, 0.15], [0.2, 0.3]]),
    (6, 12, (ldp.KRR(2, 2.5), ldp.KRAPPOR(3, 3.0)), [[0.2, 0.15, 0.15], [0.1, 0.25, 0.15]]),
    (5, 40, (ldp.KRR(2, 1.5), ldp.KRR(2, 1.5)), [[0.3, 0.2], [0.15, 0.35]]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("strata", "units", "mechanisms", "P"), RISKS)
def test_comparisons_of_risks_cover(strata, units, mechanisms, P, replications):
    rng, R, P = np.random.default_rng(12), replications(600, 150), np.array(P)
    risk = P[:2, 0] / P[:2].sum(axis=1)
    held = np.zeros(3)
    for _ in range(R):
        found = one_survey(rng, mechanisms, strata, units, P)
        held += [
            risk[0] - risk[1] in found.risk_difference((0, 1), 0),
            risk[0] / risk[1] in found.risk_ratio((0, 1), 0),
            P[0, 0] * P[1, 1] / (P[0, 1] * P[1, 0]) in found.odds_ratio((0, 1), (0, 1)),
        ]
    error = 3.0 * np.sqrt(0.05 * 0.95 / R)
    assert np.all((held / R > 0.93 - error) & (held / R < 0.97 + error)), held / R


def test_answers_that_nobody_gave_may_be_there() -> None:
    n = 120
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"job": rng.choice(["cook", "nurse"], n), "w": rng.uniform(1, 3, n)})
    table["sex"] = np.where(table.job == "cook", rng.choice(["f", "m"], n), "f")
    jobs = ldp.URR(["cook", "nurse", "thief"], ["thief"], epsilon=1.0)
    sheet = ldp.Questionnaire({"job": jobs, "sex": ldp.Observed(["f", "m", "x"])})
    reports = sheet.privatize(table, rng)
    found = ldp.Survey(reports, sheet, weights="w").association("job", "sex")
    m = 120 / found.sample.spread
    t2 = t.ppf(0.975, 119) ** 2
    ends = found.conf_int()
    # a nurse who reports herself, as 1 - exp(-1) of them do, reveals both answers; none is a man
    upper = t2 / m / (1 + t2 / m) / (1 - np.exp(-1))
    assert ends.loc[("nurse", "m"), "upper"] == pytest.approx(upper, rel=1e-9)
    assert ends.loc[("thief", "x"), "upper"] == pytest.approx(upper, rel=1e-9)
    assert found.margins()["sex"].loc["x", "upper"] == pytest.approx(t2 / m / (1 + t2 / m))
    m *= found.margins()["sex"].loc["m", "estimate"]
    upper = found.conditional("sex").loc[("m", "nurse"), "upper"]
    assert upper == pytest.approx(t2 / m / (1 + t2 / m) / (1 - np.exp(-1)), rel=1e-9)
