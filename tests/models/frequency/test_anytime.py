"""Peeking: intervals that hold at all looks at a collection together."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

import ldpstats as ldp
from ldpstats.inference.intervals import confidence_sequence, exact_binomial

ABC = ("a", "b", "c")
LOOKS = 1_000
SURVEYS = 500


def average_ratio(t: float, n: int, a: float, b: float, p: float) -> float:
    """Likelihoods of all frequencies, averaged, over that of p: by incomplete beta functions."""
    low, high = sorted((a, a + b))
    between = special.betainc(t + 1, n - t + 1, high) - special.betainc(t + 1, n - t + 1, low)
    whole = special.betaln(t + 1, n - t + 1) + np.log(between / abs(b))
    return float(np.exp(whole - special.xlogy(t, a + b * p) - special.xlog1py(n - t, -a - b * p)))


@pytest.mark.parametrize(
    ("t", "n", "a", "b"),
    [(350, 1000, 0.27, 0.46), (700, 1000, 0.73, -0.46), (5, 20, 0.0, 1.0), (12, 400, 0.02, 0.3)],
)
def test_ends_are_where_the_average_reaches_its_bound(t, n, a, b):
    for alpha in (0.05, 0.001):
        ends = confidence_sequence(t, n, a, b, alpha)
        ratios = [average_ratio(t, n, a, b, p) for p in ends]
        np.testing.assert_allclose(ratios, 1.0 / alpha, rtol=1e-8)


def test_something_is_left_whatever_the_estimate():
    """An estimate far below zero leaves zero and what is beside it."""
    t = np.arange(150, 280, 10)
    ends = confidence_sequence(t, 1000, 0.27, 0.46)
    assert np.all(ends[:, 0] < 0.0) and np.all(ends[:, 1] > 0.0) and np.all(np.diff(ends[:, 1]) > 0)
    np.testing.assert_array_equal(confidence_sequence([0, 10], 10)[[0, 1], [0, 1]], [0.0, 1.0])
    low = ldp.Warner(epsilon=1.0).counts([750, 250])
    kept = ldp.FrequencyModel(low).fit().conf_int(anytime=True)
    assert kept.loc["yes", "lower"] == 0.0 and 0.0 < kept.loc["yes", "upper"] < 0.1
    assert (ldp.FrequencyModel(low).fit().conf_int(anytime=True, clip=False)["lower"] < 0.0).any()


# -- promises -------------------------------------------------------------------------------------


def always(bounds: np.ndarray, p: float) -> float:
    """Share of surveys, rows of bounds (R, looks, 2), whose interval holds p at every look."""
    inside = (bounds[..., 0] <= p) & (p <= bounds[..., 1])
    return float(inside.all(axis=1).mean())


@pytest.mark.parametrize(
    ("mechanism", "p"),
    [
        (ldp.Warner(epsilon=1.0), 0.1),
        (ldp.KRR(4, epsilon=1.0), 0.0),
        (ldp.KRAPPOR(4, epsilon=2.0), 0.5),
        (ldp.Observed(("no", "yes")), 0.3),
    ],
)
def test_coverage_over_a_thousand_looks(mechanism, p):
    values = np.asarray(mechanism.categories)[:1].repeat(2)
    form = ldp.FrequencyModel(mechanism.privatize(values, np.random.default_rng(1))).fit().exact
    a, b = form.offset[0], form.scale[0]
    rng = np.random.default_rng(10)
    tally = (rng.random((SURVEYS, LOOKS)) < a + b * p).cumsum(axis=1)
    n = np.broadcast_to(np.arange(1, LOOKS + 1), tally.shape)
    (t, m), of = np.unique([tally.ravel(), n.ravel()], axis=1, return_inverse=True)
    sequence, once = (
        compute(t, m, a, b, 0.05)[of].reshape(*tally.shape, 2)
        for compute in (confidence_sequence, exact_binomial)
    )
    assert always(sequence, p) >= 0.95
    assert always(once, p) < 0.75  # the control: what holds at one look
    assert always(once[:, -1:], p) >= 0.93


@pytest.mark.slow
def test_coverage_of_scores_over_a_thousand_looks():
    """Reports that count for a category with more than two scores."""
    mechanism = ldp.SquareWave([0, 1, 2, 3, 4], epsilon=1.0)
    Q, rng, truth = mechanism.channel().matrix(), np.random.default_rng(12), [0.1, 0.2, 0.3, 0.4]
    y = rng.choice(Q.shape[1], (SURVEYS, LOOKS), p=truth @ Q)
    results = ldp.FrequencyModel(mechanism.counts(np.bincount(y[0], minlength=Q.shape[1]))).fit()
    (part,) = results.law.parts
    np.testing.assert_allclose(Q @ part.weights.T, np.eye(4), atol=1e-9)  # unbiased
    scores = part.weights[0]
    scale = 1.0 / np.ptp(scores)
    units = ((scores - scores.min()) * scale)[y].cumsum(axis=1)
    n = np.arange(1, LOOKS + 1)
    bounds = confidence_sequence(np.minimum(units, n), n, -scores.min() * scale, scale)
    assert always(bounds, truth[0]) >= 0.95
    last = results.conf_int(anytime=True).to_numpy()[0]
    np.testing.assert_allclose(last, np.clip(bounds[0, -1], 0.0, 1.0), atol=1e-9)


def test_width_beside_one_look():
    counts = ldp.KRR(ABC, epsilon=1.0).counts([42_000, 33_000, 25_000])
    results = ldp.FrequencyModel(counts).fit()
    once, sequence = (np.ptp(results.conf_int(anytime=any_), axis=1) for any_ in (False, True))
    assert np.all(sequence / once > 1.9) and np.all(sequence / once < 2.1)


# -- results --------------------------------------------------------------------------------------


def test_results_have_the_sequence_of_their_counts():
    krr = ldp.KRR(ABC, epsilon=1.0)
    results = ldp.FrequencyModel(krr.counts([420, 330, 250])).fit()
    form = results.exact
    ours = results.conf_int(0.1, anytime=True)
    theirs = confidence_sequence([420, 330, 250], 1000, form.offset, form.scale, 0.1)
    np.testing.assert_allclose(ours, np.clip(theirs, 0.0, 1.0))
    together = results.conf_int(0.1, anytime=True, simultaneous="bonferroni")
    pd.testing.assert_frame_equal(together, results.conf_int(0.1 / 3, anytime=True))
    again = ldp.FrequencyResults.from_json(results.to_json())
    pd.testing.assert_frame_equal(again.conf_int(0.1, anytime=True), ours)
    grouped = ldp.GroupedModel({"x": krr.counts([420, 330, 250])}).fit().conf_int(0.1, anytime=True)
    np.testing.assert_allclose(grouped, ours)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_bits_and_dense_channels(epsilon):
    rng = np.random.default_rng(3)
    mixed = ldp.CustomMechanism([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]], ABC)
    for mechanism in (ldp.KRAPPOR(ABC, epsilon), ldp.SubsetSelection(ABC, epsilon), mixed):
        reports = mechanism.privatize(rng.choice(ABC, 5_000, p=[0.5, 0.3, 0.2]), rng)
        fit = ldp.FrequencyModel(reports).fit()
        once, sequence = fit.conf_int(), fit.conf_int(anytime=True)
        assert np.all(np.ptp(sequence, axis=1) > np.ptp(once, axis=1))
        assert np.all((sequence["lower"] < [0.5, 0.3, 0.2]) & (sequence["upper"] > [0.5, 0.3, 0.2]))


def test_where_there_is_no_sequence():
    rng = np.random.default_rng(4)
    krr, olh = ldp.KRR(ABC, epsilon=1.0), ldp.OLH(ABC, epsilon=1.0)
    one = krr.counts([40, 30, 30])
    several = ldp.FrequencyModel([one, ldp.KRR(ABC, epsilon=2.0).counts([40, 30, 30])]).fit()
    hashed = ldp.FrequencyModel(olh.privatize(rng.choice(ABC, 500), rng)).fit()
    for results in (several, hashed):
        with pytest.raises(ldp.NotAvailable, match="known beforehand"):
            results.conf_int(anytime=True)
    table = pd.DataFrame({"ill": ["no", "yes"] * 50, "w": [1.0, 2.0] * 50})
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
    joint = ldp.AssociationModel(*(krr.privatize(rng.choice(ABC, 300), rng) for _ in "ab")).fit()
    for results in (survey.frequencies("ill"), joint):
        with pytest.raises(ldp.NotAvailable, match="for the frequencies of one question"):
            results.conf_int(anytime=True)
    with pytest.raises(ldp.InvalidArgument, match="leave method= out"):
        ldp.FrequencyModel(one).fit().conf_int(method="wald", anytime=True)
