"""Change between two waves: values of other programs, enumeration, and what results say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from shared.waves import observed, of_table, reports_law
from statsmodels.stats.contingency_tables import SquareTable, mcnemar

import ldpstats as ldp
from ldpstats.inference.intervals import inverted

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")

KRR = ldp.KRR(ABC, epsilon=1.0)

CLEAR = ldp.KRR(ABC, epsilon=3.0)

UNARY = ldp.KRAPPOR(ABC, epsilon=2.0)

P = np.array([[0.40, 0.08, 0.02], [0.03, 0.25, 0.02], [0.01, 0.04, 0.15]])


def answers(n: int = 2000, seed: int = 1) -> tuple[Array, Array, np.random.Generator]:
    rng = np.random.default_rng(seed)
    cells = rng.choice(9, size=n, p=P.reshape(-1))
    return cells // 3, cells % 3, rng


def survey(first: Any, second: Any, n: int = 2000, **how: Any) -> ldp.ChangeResults:
    x, z, rng = answers(n)
    named = (np.array(ABC, dtype=object)[codes] for codes in (x, z))
    waves = (m.privatize(own, rng) for m, own in zip((first, second), named, strict=True))
    return ldp.change(*waves, **how)


# -- without noise ---------------------------------------------------------------------------
@pytest.mark.parametrize("table", [[[60, 25], [15, 50]], [[1000, 6], [0, 200]], [[9, 12], [12, 0]]])
def test_two_categories_without_noise_are_mcnemars_test(table):
    results = ldp.change(*of_table(table, observed(2)))
    expected, test = mcnemar(table, exact=False, correction=False), results.test_homogeneity()
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert test.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert test.method.startswith("McNemar")


def test_more_categories_without_noise_are_the_stuart_maxwell_test():
    for seed in range(3):
        table = np.random.default_rng(seed).integers(5, 60, (4, 4))
        expected = SquareTable(table, shift_zeros=False).homogeneity()
        test = ldp.change(*of_table(table, observed(4))).test_homogeneity()
        assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert (test.df, test.pvalue) == (3, pytest.approx(expected.pvalue, rel=1e-8))


def test_estimates_without_noise_are_shares():
    table = np.array([[60, 25], [15, 50]])
    results = ldp.change(*of_table(table, observed(2)))
    np.testing.assert_allclose(results.params, [-10 / 150, 10 / 150], atol=1e-12)
    np.testing.assert_allclose(results.flows, table / 150, atol=1e-9)
    d, moved = 10 / 150, 40 / 150
    np.testing.assert_allclose(results.linear_bse, np.sqrt((moved - d**2) / 150), rtol=1e-9)
    effect = results.turnover()
    assert effect.estimate == pytest.approx(moved)
    assert effect.ml == pytest.approx(moved)
    law = results.turnover_law
    assert law is not None
    for share in (0.05, 0.5):  # a binomial share
        sd, skewness = law.at([share])
        assert sd[0] == pytest.approx(np.sqrt(share * (1 - share) / 150))
        assert skewness[0] == pytest.approx((1 - 2 * share) / np.sqrt(150 * share * (1 - share)))


def tangos_variance(gained: int, lost: int, n: int, change: float) -> float:
    """n times the variance at this change, the turnover by a search (Tango 1998)."""

    def minus_llf(q: float) -> float:
        p = np.array([q + change, q, 1.0 - 2.0 * q - change])
        return -float(xlogy([gained, lost, n - gained - lost], p).sum())

    ends = max(0.0, -change), (1.0 - change) / 2.0
    q = minimize_scalar(minus_llf, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    return float(2.0 * q + change - change**2)


@pytest.mark.parametrize(("gained", "lost", "n"), [(9, 1, 100), (5, 5, 100)])
def test_the_law_without_noise_is_tangos(gained, lost, n):
    table = [[n - 30 - gained - lost, gained], [lost, 30]]
    law = ldp.change(*of_table(table, observed(2))).law
    assert law is not None
    for change in (-0.15, 0.0, 0.05, 0.5):
        variance = tangos_variance(gained, lost, n, change)
        sd, skewness = (part[1] for part in law.at(np.array([-change, change])))
        assert sd == pytest.approx(np.sqrt(variance / n), rel=1e-4)
        turnover = variance + change**2
        third = change - 3.0 * change * turnover + 2.0 * change**3
        assert skewness == pytest.approx(third / variance**1.5 / np.sqrt(n), rel=1e-3, abs=1e-9)


def test_nobody_moves():
    results = ldp.change(*of_table(np.diag([20, 20, 20]), observed(3)))
    assert results.test_homogeneity().pvalue == 1.0
    assert "no pair of reports differs" in str(results.summary())
    low, high = results.conf_int().to_numpy().T
    z2 = 1.96**2  # Wilson's limit of no successes
    np.testing.assert_allclose(high, -low, atol=1e-12)
    assert np.all(high < z2 / (60 + z2))
    assert np.all(high > 0.5 * z2 / (60 + z2))
    np.testing.assert_allclose(results.pvalues, 1.0)


# -- through the channels --------------------------------------------------------------------
@pytest.mark.parametrize(("first", "second"), [(KRR, KRR), (KRR, CLEAR), (UNARY, UNARY)])
def test_estimate_is_the_difference_of_the_joint_margins(first, second):
    results = survey(first, second)
    margins = results.joint.linear_table
    expected = margins.sum(axis=0).to_numpy() - margins.sum(axis=1).to_numpy()
    np.testing.assert_allclose(results.linear_params, expected, atol=1e-12)
    assert results.law is not None
    np.testing.assert_allclose(results.law.mean, expected, atol=1e-12)
    np.testing.assert_allclose(results.law.at(expected)[0], results.linear_bse, rtol=0.02)
    P = results.joint.table.to_numpy()
    np.testing.assert_allclose(results.params, P.sum(axis=0) - P.sum(axis=1), atol=1e-12)
    assert abs(results.params.sum()) < 1e-9


def test_margins_of_labels_are_those_of_their_own_reports():
    x, z, rng = answers()
    first, second = CLEAR.privatize(np.array(ABC)[x], rng), KRR.privatize(np.array(ABC)[z], rng)
    own = [ldp.FrequencyModel(part).fit().linear_params for part in (first, second)]
    results = ldp.change(first, second)
    np.testing.assert_allclose(results.linear_params, own[1] - own[0], atol=1e-12)


def test_the_law_is_that_of_all_pairs_of_reports():
    """Moments of f by enumeration of all pairs of reports, at the truth and at other changes."""
    n = 10**7
    seen = np.rint(n * reports_law(P, KRR, CLEAR)).astype(int)
    joint = ldp.JointCounts.from_table(seen, (KRR, CLEAR))
    # a hundred respondents stand for each: the law is of shares
    parts = of_table(np.rint(seen / 100).astype(int), KRR, CLEAR)
    law = ldp.change(*parts).law
    assert law is not None and joint.nobs > 0
    G, H = (np.linalg.inv(m.channel().matrix()) for m in (KRR, CLEAR))
    f = H[None, :, :] - G[:, None, :]  # of a pair of reports, for each category
    truth = reports_law(P, KRR, CLEAR)
    for r, moment in enumerate((law.mean, law.second, law.third), start=1):
        np.testing.assert_allclose(
            moment, np.einsum("ab,abj->j", truth, f**r), rtol=2e-3, atol=2e-3
        )
    stay = reports_law(np.diag(P.sum(axis=1)), KRR, KRR)
    g = G[None, :, :] - G[:, None, :]
    alone = np.einsum("ab,abj->j", stay, g**2)
    again = ldp.change(*of_table(np.rint(1e5 * stay).astype(int), KRR, KRR)).law
    assert again is not None
    np.testing.assert_allclose(again.noise, alone, rtol=2e-3)  # nobody changed: it is all noise


def test_rates_of_the_law_by_enumeration():
    """Two categories: moving half a percent more in and less out changes the moments so."""
    first, second = ldp.KRR(2, 1.0), ldp.CustomMechanism([[0.7, 0.3], [0.1, 0.9]])
    P2 = np.array([[0.5, 0.1], [0.06, 0.34]])
    law = ldp.change(
        *of_table(np.rint(1e5 * reports_law(P2, first, second)).astype(int), first, second)
    ).law
    assert law is not None
    G, H = (np.linalg.inv(m.channel().matrix()) for m in (first, second))
    f = H[None, :, 1] - G[:, None, 1]
    more = P2 + np.array([[0.0, 0.005], [-0.005, 0.0]])
    for rate, r in ((law.second_rate[1], 2), (law.third_rate[1], 3)):
        rise = np.sum((reports_law(more, first, second) - reports_law(P2, first, second)) * f**r)
        assert rate == pytest.approx(rise / 0.01, rel=1e-9)


def test_score_intervals_hold_what_the_tests_do_not_reject():
    results = survey(KRR, CLEAR)
    bounds = results.conf_int(clip=False)
    assert results.law is not None
    expected = inverted(results.linear.estimate, results.law.at, 0.05, (-1.0, 1.0))
    np.testing.assert_array_equal(bounds, expected)
    for j, label in enumerate(ABC):
        own = results.t_test(f"{label} = 0")
        np.testing.assert_allclose(own.conf_int()[0], bounds.iloc[j], atol=1e-9)
        assert float(own.pvalue) == pytest.approx(results.pvalues.iloc[j])
        p = float(results.t_test((np.eye(3)[j], bounds.iloc[j, 0])).pvalue)
        assert p == pytest.approx(0.05, abs=1e-6)
    twice = results.t_test((-2.0 * np.eye(3)[:1], 0.0))
    np.testing.assert_allclose(twice.conf_int()[0], -2.0 * bounds.iloc[0, ::-1], atol=1e-9)


def test_rare_categories_are_tested_together():
    table = np.diag([200, 150, 100, 50]) + np.array(
        [[0, 9, 1, 0], [4, 0, 0, 1], [1, 1, 0, 1], [0] * 4]
    )
    test = ldp.change(*of_table(table, observed(4))).test_homogeneity()
    assert test.df < 3
    assert "tested together" in test.note


@pytest.mark.filterwarnings("ignore::ldpstats.errors.LDPWarning")
def test_mechanisms_of_every_kind():
    hashed = ldp.ORR(8, 4, epsilon=2.0, alphabet=ABC)
    urr = ldp.URR(ABC, {"a"}, epsilon=1.0)
    for mechanism, known in ((hashed, False), (urr, True), (UNARY, True)):
        results = survey(mechanism, mechanism, 3000)
        assert (results.law is not None) == known
        assert ("Wald, from" in str(results.summary())) != known
        assert results.conf_int().notna().all(axis=None)
    x, z, rng = answers(3000)
    rappor = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    cohort, names = rng.integers(0, 4, 3000), np.array(("a", "b", "other"))
    waves = [rappor.privatize(names[own], rng, cohort=cohort) for own in (x, z)]
    results = ldp.change(*waves, candidates=["a", "b"])
    assert list(results.params.index) == ["a", "b", "Other"]
    assert results.joint.n_strata == 4
    assert np.all(np.abs(results.linear_params - (P.sum(axis=0) - P.sum(axis=1))) < 0.15)


def test_candidates_lump_the_other_categories():
    results = survey(CLEAR, CLEAR, candidates=["b"])
    whole = survey(CLEAR, CLEAR)
    assert list(results.params.index) == ["b", "Other"]
    assert results.linear_params["b"] == pytest.approx(whole.linear_params["b"])


# -- matching --------------------------------------------------------------------------------
def test_waves_are_matched_by_identifiers_or_rows():
    x, z, rng = answers()
    first, second = CLEAR.privatize(np.array(ABC)[x], rng), KRR.privatize(np.array(ABC)[z], rng)
    has = [rng.random(len(x)) < 0.8 for _ in range(2)]
    by_rows = ldp.change((first, has[0]), (second[has[1]], has[1]))
    ids = np.arange(len(x))
    order = rng.permutation(int(has[1].sum()))
    kept = [
        ldp.Reports(r.y[m][o], r.mechanism, int((~m).sum()), ids=ids[m][o])
        for r, m, o in zip((first, second), has, (slice(None), order), strict=True)
    ]
    by_ids = ldp.change(*kept)
    assert by_ids.to_json() == by_rows.to_json()
    both = has[0] & has[1]
    assert (by_ids.nobs, by_ids.n_missing) == (both.sum(), (~both).sum())
    alone = ldp.change(first[both], second[both])
    pd.testing.assert_frame_equal(alone.summary_frame(), by_ids.summary_frame())
    lacked = f"{(~has[0]).sum()} lacked first, {(~has[1]).sum()} lacked second"
    assert lacked in " ".join(str(by_ids.summary()).split())


def test_names_of_the_variable_and_of_the_waves():
    x, z, rng = answers(200)
    first, second = (KRR.privatize(np.array(ABC)[own], rng) for own in (x, z))

    def named(a: str, b: str, **how: Any) -> tuple[str, tuple[str, ...]]:
        parts = [ldp.Reports(r.y, KRR, name=n) for r, n in ((first, a), (second, b))]
        results = ldp.change(*parts, **how)
        return results.name, results.waves

    assert named("", "") == ("", ("first", "second"))
    assert named("job", "job") == ("job", ("first", "second"))
    assert named("job23", "job24") == ("", ("job23", "job24"))
    assert named("job23", "job24", name="job") == ("job", ("job23", "job24"))
    assert named("job", "job", waves=("2023", "2024")) == ("job", ("2023", "2024"))


# -- presentation and storage ----------------------------------------------------------------
@pytest.mark.parametrize("mechanism", [KRR, ldp.ORR(8, 4, epsilon=2.0, alphabet=ABC)])
def test_json_keeps_everything(mechanism):
    results = survey(mechanism, mechanism, name="job")
    again = ldp.ChangeResults.from_json(results.to_json())
    assert again.to_json() == results.to_json()
    assert str(again.summary()) == str(results.summary())
    assert again.turnover() == results.turnover()
    assert again.test_homogeneity() == results.test_homogeneity()
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame())


def test_summary_and_plots():
    results = survey(CLEAR, CLEAR, name="job", waves=("2023", "2024"))
    text = str(results.summary())
    for words in ("Change of job from 2023 to 2024", "Stuart-Maxwell", "Turnover", "Missing"):
        assert words in text
    ax = results.plot()
    ax.figure.canvas.draw()
    assert "percentage points" in ax.get_xlabel()
    assert results.glance().loc[0, "name"] == "job"
    unnamed = survey(CLEAR, CLEAR)
    assert unnamed.glance().loc[0, "name"] == " to ".join(unnamed.waves)
    assert not any("%" in tick.get_text() for tick in ax.get_xticklabels())
    assert ax.get_title() == "job: from 2023 to 2024, n = 2,000"
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ABC)
    best = results.params.sort_values(ascending=False).index
    labels = [label.get_text() for label in results.plot(sort=True).get_yticklabels()]
    assert labels[: len(best)] == list(best)
    with pytest.raises(ldp.InvalidArgument, match="sort"):
        results.plot(sort="up")
    assert results.plot("flows").get_xlabel().startswith("2024")
    assert list(results.summary_frame())[:2] == ["2023", "2024"]
    assert "Shown: the 1 largest of 3" in str(results.summary(max_rows=1))


# Two reports of one person that may come from one permanent response.

NO_YES = ("no", "yes")

FIRST = ldp.KRR(NO_YES, epsilon=2.0)

TWICE = FIRST >> FIRST

WORDS = ["a", "b", "c", "d"]


def kept_twice(n: int, law: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two reports under `TWICE` by devices that keep the first response to an answer.

    `law`, (2, 2), is that of the answers in both waves.
    """
    answers = np.divmod(rng.choice(4, size=n, p=law.reshape(-1)), 2)
    truth = FIRST.channel().matrix()[0, 0]
    kept = np.where(rng.random((n, 2)) < truth, [0, 1], [1, 0])  # the response to each answer
    shown = [kept[np.arange(n), own] for own in answers]
    first, second = (np.where(rng.random(n) < truth, own, 1 - own) for own in shown)
    return first, second


def of_devices(rappor: Any, kept: float, n: int = 400) -> tuple[ldp.Reports, ldp.Reports]:
    """Reports of one answer in two waves; a share of the devices keeps cohort and response."""
    rng = np.random.default_rng(3)
    answers, bits = rng.integers(len(WORDS), size=n), np.arange(rappor.n_bits)
    waves, cohort, response = [], np.zeros(n, int), np.zeros((n, rappor.n_bits), bool)
    anew = np.full(n, True)
    for _ in range(2):
        cohort = np.where(anew, rng.integers(rappor.n_cohorts, size=n), cohort)
        owned = rappor.cells(WORDS)[cohort, answers, 0, None] == bits
        drawn = rng.random(owned.shape) < np.where(owned, 1.0 - rappor.f / 2.0, rappor.f / 2.0)
        response = np.where(anew[:, None], drawn, response)
        y = rng.random(owned.shape) < np.where(response, rappor.q, rappor.p)
        packed = np.packbits(y, axis=1, bitorder="little")
        waves.append(ldp.Reports(packed, rappor, cohort=cohort, name="page"))
        anew = rng.random(n) >= kept
    return waves[0], waves[1]


def regress(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    table = pd.DataFrame({"age": np.arange(len(first)) % 50})
    candidates = {"x": WORDS, "y": WORDS} if first.mechanism.is_open else None
    reports = {"x": first, "y": second}
    return ldp.regression("y ~ x + age", table, reports, candidates=candidates, **how)


def associate(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = [WORDS, WORDS] if first.mechanism.is_open else None
    return ldp.AssociationModel(first, second, candidates=candidates, names=("x", "y"), **how)


def matrix(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = {"x": WORDS, "y": WORDS} if first.mechanism.is_open else None
    return ldp.associations({"x": first, "y": second}, candidates=candidates, **how)


def change(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = WORDS if first.mechanism.is_open else None
    return ldp.change(first, second, candidates=candidates, **how)


JOINING: dict[str, Callable[..., Any]] = {
    "change": change,
    "association": associate,
    "matrix": matrix,
    "regression": regress,
}

joining = pytest.mark.parametrize("analysis", JOINING.values(), ids=JOINING)


# -- who is refused --------------------------------------------------------------------------------
@joining
@pytest.mark.parametrize(("cohorts", "kept"), [(1, 1.0), (8, 0.5)])
@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
def test_reports_of_one_rappor_client_are_refused(analysis, cohorts, kept):
    waves = of_devices(ldp.RAPPOR(16, 1, cohorts, f=0.25, p=0.25, q=0.75), kept)
    with pytest.raises(ldp.NotAvailable, match=r"one permanent response.*memoised=False"):
        analysis(*waves)
    assert analysis(*waves, memoised=False) is not None


@joining
@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
def test_other_responses_are_not_refused(analysis):
    lasting = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    assert analysis(*of_devices(lasting, 0.0)) is not None  # whose cohorts differ: new secrets
    rng, answers = np.random.default_rng(1), np.array(WORDS)[np.arange(400) % 4]
    others = [lasting, ldp.RAPPOR(16, 1, 8, f=0.5, p=0.25, q=0.75)]
    cohort = np.arange(400) % 8
    assert analysis(*(m.privatize(answers, rng, cohort=cohort) for m in others)) is not None
    once = ldp.RAPPOR(16, 1, 1, f=0.0, p=0.25, q=0.75)  # nothing is kept
    assert analysis(*(once.privatize(answers, rng) for _ in range(2))) is not None


def test_clients_share_what_their_secret_says():
    same = [ldp.RAPPOR(16, 1, 8, f=0.25, p=p, q=0.75) for p in (0.25, 0.35)]
    for others, refused in ((0, True), (1, False)):
        waves = [
            mechanism.parse("page", [mechanism.client(secret=bytes([i + others * wave] * 32))
                                     .report("a") for i in range(6)])
            for wave, mechanism in enumerate(same)
        ]  # fmt: skip
        assert (waves[0].cohort.tolist() == waves[1].cohort.tolist()) == refused
        if refused:
            with pytest.raises(ldp.NotAvailable, match="permanent response"):
                ldp.change(*waves, candidates=WORDS)


def test_only_p_and_q_may_differ():
    same = [ldp.RAPPOR(16, 1, 8, f=0.25, p=p, q=0.75) for p in (0.25, 0.35)]
    other = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75, alphabet=WORDS)
    assert same[0].permanent == same[1].permanent != other.permanent


def test_a_kept_first_step_is_refused_where_the_question_is_one():
    codes = np.arange(200) % 2, np.arange(200) // 2 % 2
    waves = [ldp.Reports(y, TWICE) for y in codes]
    with pytest.raises(ldp.NotAvailable, match=r"change of 'first' and 'second'.*memoised=True"):
        ldp.change(*waves)
    assert ldp.change(*waves, memoised=False).nobs == 200
    assert ldp.AssociationModel(*waves).fit().nobs == 200  # of two questions, each kept alone
    with pytest.raises(ldp.NotAvailable, match="association of 'x' and 'y'"):
        ldp.AssociationModel(*(ldp.Reports(y, TWICE, name="ill") for y in codes), names=("x", "y"))
    with pytest.raises(ldp.NotAvailable, match="memoised=True says"):
        ldp.AssociationModel(*(ldp.Reports(y, FIRST) for y in codes), memoised=True)
    for other in (FIRST >> {"no": "n", "yes": "y"}, ldp.Observed(NO_YES) >> FIRST, FIRST):
        assert other.permanent is None
        ldp.change(*(ldp.Reports(y, other) for y in codes))


@pytest.mark.parametrize("memoised", ["no", 1])
def test_memoised_is_a_truth_value(memoised):
    waves = [ldp.Reports(np.arange(40) % 2, FIRST) for _ in range(2)]
    with pytest.raises(ldp.InvalidArgument, match="memoised"):
        ldp.change(*waves, memoised=memoised)


def survey_memoised() -> ldp.Survey:
    """Two matched waves of two questions, both of two steps."""
    waves = []
    for start in (0, 30):
        columns = {name: np.array(NO_YES)[np.arange(start, 120 + start) * k // 60 % 2]
                   for name, k in (("ill", 1), ("late", 3))}  # fmt: skip
        table = pd.DataFrame({"who": np.arange(120), "one": 1.0, "age": np.arange(120) % 7})
        waves.append(ldp.Survey(table.assign(**columns), {"ill": TWICE, "late": TWICE}))
    return waves[0].matched(waves[1], id="who")


def test_surveys_know_which_questions_are_one():
    both = survey_memoised()
    for analysis in (
        lambda **how: both.change("ill_1", "ill_2", **how),
        lambda **how: both.association("ill_1", "ill_2", **how),
        lambda **how: both.associations(["ill_1", "ill_2"], **how),
        lambda **how: both.regression("ill_2 ~ ill_1", **how),
        lambda **how: ldp.Survey(both.data, both.questionnaire).association(
            "ill_1", "ill_2", **how
        ),
    ):
        with pytest.raises(ldp.NotAvailable, match="'ill_1' and 'ill_2'"):
            analysis()
        assert analysis(memoised=False) is not None
    assert both.association("ill_1", "late_1").nobs == 120
    assert both.regression("ill_1 ~ late_1").nobs == 120
    found = both.associations(["ill_1", "ill_2", "late_1"])
    assert found.failed[0][:2] == ("ill_1", "ill_2")
    assert both.change("ill_1", "ill_2", memoised=True).index.tolist() == list(NO_YES)


def test_weighted_tables_refuse_too():
    rappor = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    texts = [wave.mechanism.report_labels(wave) for wave in of_devices(rappor, 1.0)]
    table = pd.DataFrame({"x": texts[0], "y": texts[1], "w": 1.0})
    survey = ldp.Survey(table, {"x": rappor, "y": rappor}, weights="w")
    with pytest.raises(ldp.NotAvailable, match="'x' and 'y': with RAPPOR"):
        survey.association("x", "y", candidates=[WORDS, WORDS])
    with pytest.raises(ldp.NotAvailable, match="'x' and 'y': with RAPPOR"):
        survey.regression("y ~ x", candidates={"x": WORDS, "y": WORDS})


# -- the change of the margins ---------------------------------------------------------------------
def test_margins_are_those_of_pairs():
    law = np.array([[0.49, 0.21], [0.09, 0.21]])
    y = kept_twice(3000, law, np.random.default_rng(5))
    waves = [ldp.Reports(codes, TWICE, name="ill") for codes in y]
    found = ldp.change(*waves, memoised=True)
    p0, p1 = TWICE.channel().matrix()[:, 1]
    f = (y[1] - y[0].astype(float)) / (p1 - p0)
    assert found.linear_params["yes"] == pytest.approx(f.mean(), abs=1e-12)
    assert found.linear_bse["yes"] == pytest.approx(f.std() / np.sqrt(len(f)), rel=0.02)
    afresh = ldp.change(*waves, memoised=False)
    assert afresh.linear_params["yes"] == pytest.approx(f.mean(), abs=1e-9)
    assert abs(afresh.turnover().estimate - 0.3) > 0.1  # what independence makes of it


def test_memoised_waves_know_candidates_and_missing_reports():
    rappor = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    first, second = of_devices(rappor, 1.0)
    found = ldp.change(
        (first, np.full(400, True)),
        (second[:300], np.arange(400) < 300),
        waves=("may", "june"),
        candidates=WORDS,
        memoised=True,
    )
    assert found.waves == ("may", "june")
    assert (found.nobs, found.n_missing) == (300, 100)
    assert str(found.summary()) == str(ldp.ChangeResults.from_json(found.to_json()).summary())
    three = ldp.KRR(3, 2.0)
    codes = np.arange(90) % 3, np.arange(90) // 2 % 3
    waves = [ldp.Reports(y, three >> three) for y in codes]
    rest = ldp.change(*waves, candidates=[1], memoised=True).differences().loc["second"]
    assert rest.index.tolist() == [1, "Other"]
    with pytest.warns(ldp.MisfitWarning, match="goodness of fit"):  # no devices that keep
        every = ldp.change(*waves, memoised=True).linear_params
    assert rest.loc[1, "estimate"] == pytest.approx(every[1])
    with pytest.raises(ldp.MechanismMismatch, match="one mechanism"):
        ldp.change(
            *(ldp.Reports(np.arange(40) % 2, m) for m in (TWICE, FIRST >> ldp.KRR(NO_YES, 1.0))),
            candidates=["no"],
            memoised=True,
        )


def test_the_margins_alone_of_reports_that_cannot_be_listed():
    rappor = ldp.RAPPOR(64, 1, 8, f=0.25, p=0.25, q=0.75)
    first, second = of_devices(rappor, 1.0)
    words = [*WORDS, *"efghij"]
    found = ldp.change(first, second, candidates=words, memoised=True)
    assert "second (n = 400)" in str(found.summary())
    assert found.differences()["estimate"].abs().max() < 0.3  # nobody changed
    with pytest.raises(ldp.InvalidArgument, match="both reports=9: must be at least 10"):
        ldp.change(first[:9], second[:9], candidates=words, memoised=True)
    with pytest.raises(ldp.InvalidArgument, match="method"):
        ldp.change(first, second, candidates=words, memoised=True, method="mle")
    other = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    with pytest.raises(ldp.InvalidArgument, match=r"cohort.*kept nothing"):
        ldp.change(*of_devices(other, 0.5), candidates=WORDS, memoised=True)


# -- the joint law of both reports -----------------------------------------------------------------
def test_two_ways_to_one_likelihood():
    """Change, and a joint model of cells; with persons in one wave only, and two epsilons."""
    y = kept_twice(4000, np.array([[0.49, 0.21], [0.09, 0.21]]), np.random.default_rng(5))
    ids, there = np.arange(4000), np.arange(4000) % 3 > 0
    second = FIRST >> ldp.KRR(NO_YES, 2.0)
    for mask in (np.full(4000, True), there):
        waves = (
            ldp.Reports(y[0], TWICE, ids=ids, name="a"),
            ldp.Reports(y[1][mask], second, ids=ids[mask], name="b"),
        )
        found = ldp.change(*waves, memoised=True, partial=True)
        cells = ldp.CellModel(
            {"a": waves[0], "b": (waves[1], mask)}, ldp.cells.saturated(), memoised=True
        ).fit()
        assert found.flows.to_numpy() == pytest.approx(
            cells.table.to_numpy().reshape(2, 2), abs=1e-8
        )
        assert found.joint.llf == pytest.approx(cells.llf, abs=1e-8)
        assert found.nobs == cells.nobs == 4000
        assert found.n_missing == 0
        assert found.epsilon == cells.epsilon == pytest.approx(TWICE.joint_law(2).epsilon)
        assert ldp.CellResults.from_json(cells.to_json()).llf == cells.llf
    for structure in (ldp.cells.latent_class(2), ldp.cells.rasch()):
        with pytest.raises(ldp.NotAvailable, match="independent given the answers"):
            ldp.CellModel(list(waves)[:1] * 2, structure, names=["a", "b"], memoised=True)


def test_without_noise_symmetry_is_bowker():
    from statsmodels.stats.contingency_tables import SquareTable

    table = np.array([[40, 10, 5], [14, 30, 6], [3, 0, 20]])
    answers = ldp.Observed(("a", "b", "c"))
    codes = np.repeat(np.indices((3, 3)).reshape(2, -1), table.ravel(), axis=1)
    waves = [ldp.Reports(y, answers) for y in codes]
    published = SquareTable(table, shift_zeros=False)
    for found in (ldp.change(*waves), ldp.change(*waves, memoised=True)):
        test = found.test_symmetry()
        assert (test.statistic, test.df) == (pytest.approx(published.symmetry().statistic), 3)
        test = found.test_homogeneity()
        assert test.statistic == pytest.approx(published.homogeneity().statistic)
        shares = found.transitions()["estimate"].to_numpy().reshape(3, 3)
        assert shares == pytest.approx(table / table.sum(axis=1, keepdims=True), abs=1e-9)


def test_persons_in_one_wave_count_for_its_frequencies():
    """Fresh devices: as a margin of more persons; the change of those in both is less precise."""
    rng, krr = np.random.default_rng(8), ldp.KRR(NO_YES, 1.0)
    answers = rng.integers(2, size=(2, 3000))
    masks = np.arange(3000) < 2000, np.arange(3000) >= 1000
    waves = [(krr.privatize(np.array(NO_YES)[a[m]], rng), m)
             for a, m in zip(answers, masks, strict=True)]  # fmt: skip
    both, every = ldp.change(*waves), ldp.change(*waves, partial=True)
    assert (every.nobs, every.n_missing, both.n_missing) == (3000, 0, 2000)
    assert every.bse["yes"] < 0.85 * both.bse["yes"]
    assert "In both waves:" in str(every.summary())
    kept = ldp.change(*waves, partial=True, memoised=True)  # which they do not: the same law
    assert kept.flows.to_numpy() == pytest.approx(every.flows.to_numpy(), abs=1e-6)
    for wrong in ({"candidates": ["no"]}, {}):
        with pytest.raises((ldp.NotAvailable, ldp.InvalidArgument), match="partial"):
            ldp.change(*(part for part, _ in waves), partial=True, **wrong)


def test_persons_in_one_wave_alone_are_no_panel():
    answers = ldp.Observed(NO_YES)
    one = [ldp.Reports([0, 1], answers, ids=ids) for ids in ([0, 1], [1, 2])]
    results = ldp.change(*one, partial=True, memoised=True)  # of variances that are zero
    assert 0.0 <= results.turnover().lower <= results.turnover().estimate
    none = [ldp.Reports([0, 1], answers, ids=[0, 1]), ldp.Reports([], answers, ids=[])]
    with pytest.raises(ldp.InvalidArgument, match="nobody has both"):
        ldp.change(*none, partial=True)


def test_what_keeps_no_response_is_fresh():
    """memoised=True says nothing of devices that share no permanent response."""
    rng = np.random.default_rng(4)
    answers = rng.choice(NO_YES, 400)
    one, two = (ldp.RAPPOR(16, 1, 8, f=f, p=0.25, q=0.75, alphabet=NO_YES) for f in (0.0, 0.25))
    krr, cohort = ldp.KRR(NO_YES, 1.0), np.arange(400) % 8
    for first, second in ((krr, krr), (one, one), (two, krr), (one, two)):
        waves = [m.privatize(answers, rng, **{"cohort": cohort} if m.n_cohorts else {})
                 for m in (first, second)]  # fmt: skip
        fresh, kept = (ldp.change(*waves, memoised=memoised) for memoised in (False, True))
        assert str(kept.summary()) == str(fresh.summary())


def test_a_survey_changes_by_groups_and_with_persons_in_one_wave():
    both = survey_memoised()
    waves = [ldp.Survey(survey_rows(start), {"ill": TWICE}) for start in (0, 30)]
    found = waves[0].change(waves[1], "ill", id="who", memoised=True)
    same = waves[0].matched(waves[1], "who").change("ill_1", "ill_2", "ill", memoised=True)
    assert str(found.summary()) == str(same.summary())
    groups = waves[0].change(waves[1], "ill", id="who", memoised=True, by="sex")
    assert list(groups) == ["f", "m"]
    assert sum(one.nobs for one in groups.values()) == found.nobs == 90
    every = waves[0].change(waves[1], "ill", id="who", memoised=True, partial=True)
    assert every.nobs == 150
    model = both.cells(["ill_1", "ill_2"], ldp.cells.saturated(), memoised=True)
    assert model.fit().nobs == 120
    asked = ["ill_1", "ill_2", "late_1", "late_2"]  # two questions, each with responses of its own
    four = both.cells(asked, ldp.cells.saturated(), memoised=True).fit()
    assert four.epsilon == pytest.approx(2.0 * TWICE.joint_law(2).epsilon)
    with pytest.raises(ldp.InvalidArgument, match="one after the other"):
        both.cells(sorted(asked, key=lambda name: name[-1]), ldp.cells.saturated(), memoised=True)
    weighted = waves[0].matched(waves[1], "who", weights="w_1")
    margins = weighted.change("ill_1", "ill_2", memoised=True).differences()["estimate"]
    assert margins.to_numpy() == pytest.approx(found.linear_params.to_numpy(), abs=1e-9)
    with pytest.raises(ldp.InvalidArgument, match="is needed"):
        waves[0].change(waves[1], "ill")
    for how, problem in (({"partial": "yes"}, "partial='yes'"), ({"wave": 1}, "no option")):
        with pytest.raises(ldp.InvalidArgument, match=problem):
            waves[0].change(waves[1], "ill", id="who", **how)
    with pytest.raises(ldp.InvalidArgument, match="no such column"):
        waves[0].change(waves[1], "sick", id="who")
    silent = survey_rows(0).assign(ill=lambda rows: rows.ill.where(rows.sex == "f"))
    with pytest.raises(ldp.InvalidArgument, match="nobody in 'm' answered both"):
        waves[0].change(
            ldp.Survey(silent, {"ill": TWICE}), "ill", id="who", memoised=True, by="sex"
        )
    with pytest.raises(ldp.InvalidArgument, match="no person is in both"):
        waves[0].change(ldp.Survey(silent[:0], {"ill": TWICE}), "ill", id="who")
    with pytest.raises(ldp.NotAvailable, match="without groups"):
        waves[0].change(waves[1], "ill", id="who", partial=True, by="sex")


def survey_rows(start: int) -> pd.DataFrame:
    who = np.arange(start, start + 120)
    return pd.DataFrame({"who": who, "ill": np.array(NO_YES)[who // (1 + start // 15) % 2],
                         "sex": np.array(["f", "m"])[who % 2], "w": 1.0})  # fmt: skip


LAWS = {
    "two, .30": (np.array([[0.49, 0.21], [0.09, 0.21]]), 20_000, False),
    "two, .10": (np.array([[0.65, 0.06], [0.04, 0.25]]), 20_000, False),
    "two, half of them twice": (np.array([[0.49, 0.21], [0.09, 0.21]]), 8_000, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LAWS)
def test_kept_responses_are_allowed_for(case, replications):
    """Coverage of turnover, change and cells; taken as fresh, the turnover is never covered."""
    law, n, partly = LAWS[case]
    rng, runs = np.random.default_rng(11), replications(1000, least=100)
    change, turnover = float(law.sum(axis=0)[1] - law.sum(axis=1)[1]), law[0, 1] + law[1, 0]
    covered, afresh, estimates = np.zeros(6), 0, []
    for _ in range(runs):
        y = kept_twice(n, law, rng)
        masks = [np.full(n, True), np.arange(n) < n // 2 if partly else np.full(n, True)]
        waves = [
            (ldp.Reports(codes[mask], TWICE), mask) for codes, mask in zip(y, masks, strict=True)
        ]
        found = ldp.change(*waves, memoised=True, partial=partly)
        effect, row = found.turnover(), found.conf_int().loc["yes"]
        ends, cells = found.joint.conf_int().to_numpy(), law.reshape(-1)
        covered[:2] += effect.lower <= turnover <= effect.upper, row.lower <= change <= row.upper
        covered[2:] += (ends[:, 0] <= cells) & (cells <= ends[:, 1])
        estimates.append((effect.estimate - turnover, found.linear_params["yes"] - change))
        effect = ldp.change(*waves, memoised=False).turnover()
        afresh += effect.lower <= turnover <= effect.upper
    assert np.abs(covered / runs - 0.95).max() < 4.0 * np.sqrt(0.95 * 0.05 / runs)
    bias = np.mean(estimates, axis=0) / (np.std(estimates, axis=0) / np.sqrt(runs))
    assert np.abs(bias).max() < 4.0
    assert afresh / runs < 0.5
