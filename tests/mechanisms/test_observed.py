"""An unprotected variable: its reports are the answers, and it says so."""

import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared.uldp_surveys import (
    AT,
    JOBS,
    KRR,
    LEVELS,
    SENSITIVE,
    TYPED,
    URAP,
    URR,
    P,
    answers,
    assert_unbiased,
)

import ldpstats as ldp
from ldpstats.mechanisms import withhold
from ldpstats.privacy import sequential, uldp

REGIONS = ("north", "south", "west")

OBSERVED = ldp.Observed(REGIONS)

COUNTS = np.array([52, 30, 18])


def test_reports_are_answers():
    column = pd.Series(["west", "north", "north"], name="region")
    reports = OBSERVED.privatize(column, np.random.default_rng(1))
    assert reports.y.tolist() == [2, 0, 0] and reports.name == "region"
    assert OBSERVED.collector().privatize(column).y.tolist() == [2, 0, 0]
    assert OBSERVED.client().report("west") == "west"
    codes = np.array([0, 2])
    reports = ldp.Observed(3).privatize(codes, np.random.default_rng(1))
    codes[0] = 1
    assert reports.y.tolist() == [0, 2]  # frozen: not the caller's array


def test_it_says_that_there_is_no_privacy():
    assert repr(OBSERVED) == str(OBSERVED) == "Observed(k=3, no privacy)"
    assert OBSERVED.epsilon == np.inf and not OBSERVED.audit().private and OBSERVED.audit().agrees
    assert ldp.privacy.epsilon(OBSERVED) == np.inf
    assert "infinite" in ldp.FrequencyModel(OBSERVED.counts(COUNTS)).fit().summary().as_text()
    assert ldp.mechanism_from_dict(OBSERVED.to_dict()) == OBSERVED


def test_it_is_its_own_consent_and_nobody_elses():
    for client in (OBSERVED.client(), OBSERVED.client(allow_no_privacy=False)):
        assert client.total_epsilon == np.inf
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        OBSERVED.client(max_epsilon=5.0)  # a device that was told what to allow
    others = (
        ldp.CustomMechanism(np.eye(3)),
        ldp.URR(REGIONS, (), 1.0),
        ldp.URAP(3, (), 1.0),
        ldp.Mangat(p=0.5),
    )
    for mechanism in others:
        with pytest.raises(ldp.InvalidArgument, match="does not protect"):
            mechanism.client()
        with pytest.raises(ldp.InvalidArgument, match="does not protect"):
            mechanism.collector()
    with pytest.raises(ldp.InvalidArgument, match="no finite epsilon"):
        ldp.DictionarySurvey(4, 2, "abc", 6.0, gram_mechanism=ldp.Observed(9))
    with pytest.raises(ldp.InvalidArgument):
        ldp.PUM(OBSERVED, ("home",))


def test_answers_that_are_none():
    for value in ("North", " north", None, 0, True):
        with pytest.raises(ldp.InvalidArgument):
            OBSERVED.privatize([value], np.random.default_rng(1))
    for code in (-1, 3, 2**40):
        with pytest.raises(ldp.UnknownCategory):
            ldp.Observed(3).privatize(np.array([code]), np.random.default_rng(1))
    with pytest.raises(ldp.UnknownCategory) as failure:
        OBSERVED.client().report("a secret")
    assert "a secret" not in str(failure.value)


# -- estimates -------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["mle", "em", "inversion", "projected", "nnls", "cvxpy"])
@pytest.mark.parametrize("counts", [COUNTS, [7, 0, 0], [1, 2, 0], [1, 1, 1]])
def test_estimates_are_the_shares(method, counts):
    results = ldp.FrequencyModel(OBSERVED.counts(counts)).fit(method)
    share = np.array(counts) / sum(counts)
    assert results.params.to_numpy() == pytest.approx(share, abs=1e-6)
    V = (np.diag(share) - np.outer(share, share)) / sum(counts)
    assert results.cov_params().to_numpy() == pytest.approx(V, abs=1e-6)
    assert results.linear_cov.to_numpy() == pytest.approx(V, abs=1e-12)


@pytest.mark.parametrize("counts", [COUNTS, [7, 0, 0], [1, 2, 0]])
def test_intervals_are_those_of_clopper_and_pearson(counts):
    found = ldp.FrequencyModel(OBSERVED.counts(counts)).fit().conf_int()
    for ends, count in zip(found.to_numpy(), counts, strict=True):
        exact = stats.binomtest(int(count), int(sum(counts))).proportion_ci()
        assert ends == pytest.approx([exact.low, exact.high], abs=1e-9)


def test_two_groups_are_a_contingency_table():
    other = [20, 40, 40]
    table = stats.chi2_contingency([COUNTS, other], correction=False)
    for method in ("pearson", "wald"):
        test = ldp.two_sample_test(OBSERVED.counts(COUNTS), OBSERVED.counts(other), method)
        assert (test.statistic, test.df) == pytest.approx((table.statistic, table.dof))
        assert test.pvalue == pytest.approx(table.pvalue)


def test_a_group_that_was_asked_directly():
    """By hand: one multinomial through the channel, the other as it is."""
    krr, rng = ldp.KRR(REGIONS, 1.0), np.random.default_rng(5)
    p = np.array([0.5, 0.3, 0.2])
    groups = krr.draw(p, 4000, rng), OBSERVED.draw(p, 600, rng)
    results = ldp.FrequencyModel(groups).fit()

    def loglike(q: np.ndarray) -> float:
        parts = zip(groups, (krr.channel().forward(q), q), strict=True)
        return sum(float(counts.vector() @ np.log(law)) for counts, law in parts)

    best = loglike(results.params.to_numpy())
    assert results.llf == pytest.approx(best)
    for step in ([1, -1, 0], [0, 1, -1], [-1, 0, 1]):
        assert loglike(results.params.to_numpy() + 1e-4 * np.array(step)) < best
    alone = ldp.FrequencyModel(groups[1]).fit()
    assert (results.bse < alone.bse).all() and results.epsilon == np.inf


def test_epsilon_of_several_variables():
    krr, warner = ldp.KRR(3, 1.5), ldp.Warner(epsilon=0.5)
    assert ldp.Questionnaire({"a": krr, "b": OBSERVED, "c": warner}).epsilon == 2.0
    assert ldp.Questionnaire({"a": ldp.Mangat(p=0.5), "b": krr}).epsilon == np.inf


# Reports that are withheld, and one likelihood with those of other respondents.


def by_em(Q: np.ndarray, n: np.ndarray, rounds: int = 20_000) -> np.ndarray:
    """Plain EM on a dense channel, long enough for the digits that are compared."""
    p = np.full(len(Q), 1.0 / len(Q))
    for _ in range(rounds):
        p = p * (Q @ (n / (p @ Q))) / n.sum()
    return p


@pytest.mark.parametrize("first", [URR, URAP])
@pytest.mark.parametrize("second", [KRR, ldp.KRAPPOR(JOBS, 1.5)])
def test_different_respondents_enter_one_likelihood(first, second):
    """ULDP and LDP reports together have the stacked dense likelihood."""
    rng = np.random.default_rng(4)
    parts = [m.privatize(answers(n, rng), rng) for m, n in ((first, 4000), (second, 3000))]
    model = ldp.FrequencyModel(parts)
    likelihoods = [ldp.FrequencyModel(part).likelihood() for part in parts]
    W = np.vstack([part.mechanism.channel().likelihood(part.tally().y) for part in parts])
    n = np.concatenate([part.tally().n for part in parts])
    for p in (P, rng.dirichlet(np.ones(5))):
        dense = n @ np.log(W @ p)
        assert model.likelihood().loglike(p) == pytest.approx(dense, rel=1e-12)
        assert sum(x.loglike(p) for x in likelihoods) == pytest.approx(dense, rel=1e-12)
    results = model.fit()
    assert results.gap < 1e-9
    np.testing.assert_allclose(results.params, by_em(W.T, n), atol=1e-6)
    assert results.llf >= n @ np.log(W @ P)


@pytest.mark.parametrize("mechanism", [URR, URAP, LEVELS])
def test_withheld_reports_are_those_of_a_known_channel(mechanism):
    rng = np.random.default_rng(5)
    values = [*answers(300, rng), None]
    reports = mechanism.privatize(values, rng, missing="count")
    shared = withhold(reports)
    assert (len(shared), shared.n_missing) == (300, 1)
    new = shared.mechanism
    assert new.categories.equals(mechanism.categories)
    # the channel: protected columns as they were, all others together
    Q = mechanism.channel().matrix()
    protected = uldp(Q, AT).protected
    assert new.n_outputs == protected.size + 1 and new.outputs[-1] == "withheld"
    np.testing.assert_array_equal(new.Q[:, :-1], Q[:, protected])
    np.testing.assert_allclose(new.Q[:, -1], np.delete(Q, protected, axis=1).sum(axis=1))
    assert not new.Q[AT, -1].any()
    # each report: as it was, or withheld
    before, after = mechanism.report_labels(reports), new.report_labels(shared)
    if mechanism is URAP:
        told = np.array([any(b[j] == "1" for j in (0, 2, 4)) for b in before])
    else:
        told = ~np.isin(before, SENSITIVE)
    np.testing.assert_array_equal(after, np.where(told, "withheld", before))
    assert 0 < told.sum() < 300
    # it can be written and read like any other
    assert ldp.mechanism_from_dict(json.loads(json.dumps(new.to_dict()))) == new
    assert new.parse("reports", after).tally().n.tolist() == shared.tally().n.tolist()


def test_what_is_withheld_reveals_that_the_answer_is_not_sensitive():
    Q = withhold(URR.privatize(JOBS, np.random.default_rng(6))).mechanism.Q
    certificate = uldp(Q, AT)
    assert certificate.epsilon == np.inf
    assert certificate.reason == "some categories can make report 2 and others cannot"
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(Q[AT][:, None, :] / Q)
    assert np.nanmax(log) == pytest.approx(URR.epsilon, abs=1e-12)  # one-sided, MK19 Definition 6
    # the protected ones keep their epsilon together with a report under LDP (Proposition 12)
    pairs = sequential(Q, KRR).Q[:, : 2 * 5]
    worst = np.log(pairs.max(axis=0) / pairs.min(axis=0)).max()
    assert worst == pytest.approx(URR.epsilon + KRR.epsilon, abs=1e-12)
    # with one category that is not sensitive it is revealed as before, and all else holds
    most = ldp.URR(3, [0, 1], epsilon=1.0)
    shared = withhold(most.privatize([0, 1, 2], np.random.default_rng(6)))
    assert uldp(shared.mechanism.channel(), [0, 1]).epsilon == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("mechanism", [URR, URAP])
def test_withheld_reports_alone_do_not_identify(mechanism):
    rng = np.random.default_rng(8)
    shared = withhold(mechanism.privatize(answers(2000, rng), rng))
    with pytest.raises(ldp.NotIdentified, match="rank 3: 2 more"):
        ldp.FrequencyModel(shared).fit()


def test_where_nothing_is_revealed_nothing_is_withheld():
    rng = np.random.default_rng(9)
    for mechanism in (
        KRR,
        ldp.KRAPPOR(50, 1.0),
        ldp.URR(JOBS, JOBS, 1.0),
        ldp.URAP(50, range(50), 1.0),
    ):
        reports = mechanism.privatize(mechanism.categories, rng)
        assert withhold(reports) is reports
    # and where nothing is sensitive nothing is left
    shared = withhold(ldp.URR(3, (), 1.0).privatize([0, 1, 2, 2], rng), label="?")
    assert shared.mechanism.outputs.tolist() == ["?"] and shared.tally().n.tolist() == [4]


def test_the_sensitive_categories_of_other_mechanisms():
    rng = np.random.default_rng(10)
    mangat = ldp.Mangat(p=0.6).privatize(["yes", "no"] * 50, rng)
    shared = withhold(mangat, sensitive={"yes"}, label="surely not")
    assert shared.mechanism.outputs.tolist() == ["yes", "surely not"]
    np.testing.assert_array_equal(shared.mechanism.Q, [[0.4, 0.6], [1.0, 0.0]])
    with pytest.raises(ldp.InvalidArgument, match=r"reports=.*'no' alone makes report 0"):
        withhold(mangat, sensitive=["no"])
    with pytest.raises(ldp.UnknownCategory, match="maybe"):
        withhold(mangat, sensitive=["maybe"])
    custom = ldp.CustomMechanism(TYPED[:, :5], ("a", "b", "c"), outputs=list("vwxyz"))
    kept = withhold(custom.privatize(list("aabbcc"), rng), sensitive=["a"])
    assert kept.mechanism.outputs.tolist() == ["v", "w", "withheld"]
    np.testing.assert_allclose(kept.mechanism.Q[:, -1], [0.0, 0.5, 0.4], atol=1e-15)


@pytest.mark.parametrize("label", ["cook", "nurse", None, ["a"], np.nan])
def test_bad_label(label):
    reports = URR.privatize(JOBS, np.random.default_rng(1))
    with pytest.raises(ldp.InvalidArgument, match=r"label="):
        withhold(reports, label=label)


def test_label_that_looks_like_a_category():
    reports = ldp.URR(4, [0], 1.0).privatize([0, 1, 2, 3], np.random.default_rng(1))
    for label in ("3", 3, "0", 0):
        with pytest.raises(ldp.InvalidArgument, match=r"label=.*another name"):
            withhold(reports, label=label)
    assert withhold(reports, label=4).mechanism.outputs.tolist() == [0, 4]


def test_reports_that_cannot_be_withheld():
    rng = np.random.default_rng(1)
    with pytest.raises(ldp.InvalidArgument, match=r"reports=.*before tallying"):
        withhold(URR.privatize(JOBS, rng).tally())
    with pytest.raises(ldp.NotAvailable, match=r"13 noised bits.*URR"):
        withhold(ldp.URAP(20, range(13), 1.0).privatize(range(20), rng))
    with pytest.raises(ldp.NotAvailable, match="hashed"):
        withhold(ldp.ORR(4, 3, epsilon=1.0).privatize(["a"], rng))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "seed"), [(URR, 21), (URAP, 22)])
def test_both_sources_together_are_unbiased(first, seed):
    rng = np.random.default_rng(seed)
    linear, mle, rejected = [], [], 0
    for _ in range(200):
        shared = withhold(first.privatize(answers(2500, rng), rng))
        results = ldp.FrequencyModel([shared, KRR.privatize(answers(2500, rng), rng)]).fit()
        linear.append((results.linear.estimate, np.sqrt(results.linear.covariance.variances())))
        mle.append((results.params, results.bse))
        assert results.goodness_of_fit is not None
        rejected += results.goodness_of_fit.pvalue < 0.05
    for estimates, errors in (zip(*linear, strict=True), zip(*mle, strict=True)):
        assert_unbiased(list(estimates), list(errors), P)
    assert rejected <= 0.05 * 200 + 4.0 * np.sqrt(200 * 0.05 * 0.95)


def test_dropping_instead_of_withholding_is_biased():
    """Negative control: protected reports without the others look like many sensitive answers."""
    rng = np.random.default_rng(23)
    reports = URR.privatize(answers(20_000, rng), rng)
    protected = np.isin(reports.y, AT)
    other = KRR.privatize(answers(20_000, rng), rng)
    for kept, biased in ((withhold(reports), False), (None, True)):
        part = ldp.Reports(reports.y[protected], URR) if kept is None else kept
        with pytest.warns(ldp.MisfitWarning) if biased else nullcontext():
            results = ldp.FrequencyModel([part, other]).fit("inversion")
        gap = float(np.abs((results.params - P) / results.bse).max())
        assert gap > 10.0 if biased else gap < 4.0
