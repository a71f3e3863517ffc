"""An unprotected variable: its reports are the answers, and it says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp

REGIONS = ("north", "south", "west")
OBSERVED = ldp.Observed(REGIONS)
COUNTS = np.array([52, 30, 18])


def test_reports_are_answers() -> None:
    column = pd.Series(["west", "north", "north"], name="region")
    reports = OBSERVED.privatize(column, np.random.default_rng(1))
    assert reports.y.tolist() == [2, 0, 0] and reports.name == "region"
    assert OBSERVED.collector().privatize(column).y.tolist() == [2, 0, 0]
    assert OBSERVED.client().report("west") == "west"
    codes = np.array([0, 2])
    reports = ldp.Observed(3).privatize(codes, np.random.default_rng(1))
    codes[0] = 1
    assert reports.y.tolist() == [0, 2]  # frozen: not the caller's array


def test_it_says_that_there_is_no_privacy() -> None:
    assert repr(OBSERVED) == str(OBSERVED) == "Observed(k=3, no privacy)"
    assert OBSERVED.epsilon == np.inf and not OBSERVED.audit().private and OBSERVED.audit().agrees
    assert ldp.privacy.epsilon(OBSERVED) == np.inf
    assert "infinite" in ldp.FrequencyModel(OBSERVED.counts(COUNTS)).fit().summary().as_text()
    assert ldp.mechanism_from_dict(OBSERVED.to_dict()) == OBSERVED


def test_it_is_its_own_consent_and_nobody_elses() -> None:
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
        ldp.PUM(OBSERVED, ("home",))  # type: ignore[arg-type]


def test_answers_that_are_none() -> None:
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
def test_estimates_are_the_shares(method: str, counts: list[int]) -> None:
    results = ldp.FrequencyModel(OBSERVED.counts(counts)).fit(method)
    share = np.array(counts) / sum(counts)
    assert results.params.to_numpy() == pytest.approx(share, abs=1e-6)
    V = (np.diag(share) - np.outer(share, share)) / sum(counts)
    assert results.cov_params().to_numpy() == pytest.approx(V, abs=1e-6)
    assert results.linear_cov.to_numpy() == pytest.approx(V, abs=1e-12)


@pytest.mark.parametrize("counts", [COUNTS, [7, 0, 0], [1, 2, 0]])
def test_intervals_are_those_of_clopper_and_pearson(counts: list[int]) -> None:
    found = ldp.FrequencyModel(OBSERVED.counts(counts)).fit().conf_int()
    for ends, count in zip(found.to_numpy(), counts, strict=True):
        exact = stats.binomtest(int(count), int(sum(counts))).proportion_ci()
        assert ends == pytest.approx([exact.low, exact.high], abs=1e-9)


def test_two_groups_are_a_contingency_table() -> None:
    other = [20, 40, 40]
    table = stats.chi2_contingency([COUNTS, other], correction=False)
    for method in ("pearson", "wald"):
        test = ldp.two_sample_test(OBSERVED.counts(COUNTS), OBSERVED.counts(other), method)
        assert (test.statistic, test.df) == pytest.approx((table.statistic, table.dof))
        assert test.pvalue == pytest.approx(table.pvalue)


def test_a_group_that_was_asked_directly() -> None:
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


def test_epsilon_of_several_variables() -> None:
    krr, warner = ldp.KRR(3, 1.5), ldp.Warner(epsilon=0.5)
    assert ldp.Questionnaire({"a": krr, "b": OBSERVED, "c": warner}).epsilon == 2.0
    assert ldp.Questionnaire({"a": ldp.Mangat(p=0.5), "b": krr}).epsilon == np.inf


# -- the command line ------------------------------------------------------------------------------
