"""Limits of arithmetic: exact sums, certificates, condition numbers, reports hardly noisy."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from surveys import quiet

import ldpstats as ldp

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")


def exponential(k: int, epsilon: float, seed: int) -> Array:
    Q = np.exp(epsilon * np.random.default_rng(seed).random((k, k)))
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


HALF = 2**52


def one_side() -> ldp.JointCounts:
    warner = ldp.Warner(epsilon=1.0)
    return ldp.JointCounts.from_table([[HALF, 1], [1, 1]], (warner, warner))


@pytest.mark.parametrize(
    "call",
    [
        lambda: sum([ldp.Warner(epsilon=1.0).counts([HALF, 10])] * 2),
        lambda: ldp.KRR(5000, 1.0).counts(np.full(5000, HALF)),  # wraps around at 2**63
        lambda: ldp.ORAPPOR(8, 2, 4000, epsilon=1.0).counts(
            np.ones((4000, 8), int), np.full(4000, HALF)
        ),
        lambda: one_side() + one_side(),
        lambda: ldp.JointCounts.from_table([[HALF, HALF]] * 2, (ldp.Warner(epsilon=1.0),) * 2),
        lambda: ldp.FrequencyModel([ldp.Warner(epsilon=1.0).counts([HALF, 10])] * 2),
        lambda: ldp.Counts.from_frame(
            pd.DataFrame({"report": ["no"] + [None] * 3000, "n": HALF}),
            ldp.Warner(epsilon=1.0),
            count="n",
            missing="count",
        ),
    ],
)
def test_sums_that_are_not_exact_are_refused(call):
    with pytest.raises(ldp.InvalidArgument, match=r"fewer than 2\*\*53 reports in all"):
        call()


def test_sums_below_the_limit_are_exact():
    warner = ldp.Warner(epsilon=1.0)
    assert (warner.counts([HALF, 0]) + warner.counts([HALF - 1, 0])).nobs == 2**53 - 1
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    reports = survey.privatize(["abca"], np.random.default_rng(1))
    many = ldp.DictionaryReports(
        survey, reports.pair, reports.first, reports.second, reports.string, 2**62
    )
    with pytest.raises(ldp.InvalidArgument, match="n_missing"):
        many + many


@pytest.mark.parametrize("n", [10**3, 10**13, 10**15])
def test_certificates_bound_what_exact_arithmetic_finds(n):
    rng, beyond = np.random.default_rng(5), 0
    for _ in range(8):
        Q = rng.dirichlet(np.full(6, 0.5), size=4)
        counts = rng.multinomial(n, rng.dirichlet(np.ones(4)) @ Q)
        seen = counts > 0
        model = ldp.FrequencyModel(ldp.CustomMechanism(Q).counts(counts))
        problem, p = model.likelihood(), model.fit().params.to_numpy()
        exact = exact_gap(Q.T[seen], counts[seen], p)
        assert exact * n <= problem.gap_nats(p)
        beyond += exact > problem.gap(p)  # the gap alone is not a bound
    assert n < 10**12 or beyond > 0
    results = ldp.FrequencyModel(
        ldp.KRR(3, 1.0).counts([n // 2, n // 4, n - n // 2 - n // 4])
    ).fit()
    assert results.gap_nats >= n * np.finfo(float).eps


def exact_gap(W: Array, n: Array, p: Array) -> float:
    """``max_x score_x / n - 1`` at p over its sum, in fractions."""
    weights = [Fraction(float(v)) for v in p]
    rows = [[Fraction(float(v)) for v in row] for row in W]
    law = [sum(w * q for w, q in zip(row, weights, strict=True)) for row in rows]
    scores = [
        sum(Fraction(int(m)) * row[x] / d for m, row, d in zip(n, rows, law, strict=True))
        for x in range(p.size)
    ]
    return float(max(scores) * sum(weights) / int(n.sum()) - 1)


def alike(gap: float) -> ldp.CustomMechanism:
    rows = [[0.5, 0.3, 0.2], [0.5 + gap, 0.3 - gap, 0.2], [0.2, 0.3, 0.5]]
    return ldp.CustomMechanism(rows, ABC)


def test_ill_conditioned_channels_say_so():
    for gap, told in ((1e-9, True), (1e-7, False)):
        mechanism = alike(gap)
        model = ldp.FrequencyModel(mechanism.counts([400, 300, 300]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = model.fit()
        assert results.condition == pytest.approx(np.linalg.cond(mechanism.Q), rel=1e-6)
        assert ["condition number" in str(w.message) for w in caught] == [True] * told
        assert all(w.category is ldp.LDPWarning and w.filename == __file__ for w in caught)
        assert ("WARNING: the channel's condition number" in str(results.summary())) == told
        again = ldp.FrequencyResults.from_json(results.to_json())
        assert again.condition == results.condition


def test_ill_conditioned_mechanisms_say_so():
    rng, many = np.random.default_rng(2), np.full(1000, 1e-3)
    told = [
        ldp.FrequencyModel(ldp.KRR(1000, 1e-6).draw(many, 10**6, rng)),
        ldp.FrequencyModel(ldp.KRAPPOR(1000, 1e-6).counts([500] * 1000, nobs=1000)),
        ldp.FrequencyModel(
            ldp.ORR(1024, 4, epsilon=1e-6).privatize(["a", "b"] * 50, rng), ["a", "b"]
        ),
        ldp.AssociationModel(  # the product of two
            ldp.JointCounts.from_table(
                [[40, 10], [20, 30]], (ldp.Warner(epsilon=1e-4), ldp.Warner(epsilon=1e-4))
            )
        ),
    ]
    for model in told:
        with pytest.warns(ldp.LDPWarning, match="condition number"):
            results = model.fit()
        assert results.condition > 1e8
    # epsilon 1e-6 of few categories is not so bad, and one good source is enough
    quiet(ldp.FrequencyModel(ldp.Warner(epsilon=1e-6).counts([500, 500])).fit)
    good = ldp.KRR(ABC, 1.0).counts([400, 300, 300])
    quiet(ldp.FrequencyModel([alike(1e-9).counts([400, 300, 300]), good]).fit)


@pytest.mark.parametrize(
    "mechanism",
    [ldp.KRR(4, 0.3), ldp.Warner(epsilon=0.2), ldp.CustomMechanism(exponential(4, 3.0, 1))],
)
def test_condition_of_square_channels(mechanism):
    counts = mechanism.counts([10] * mechanism.k)
    exact = np.linalg.cond(mechanism.channel().matrix())
    assert mechanism.moments(counts).condition == pytest.approx(exact, rel=1e-9)


# ---- epsilon 50 over open alphabets


@pytest.mark.parametrize("method", ["inversion", "mle", "thresholded"])
@pytest.mark.parametrize("n_cohorts", [1, 16])
def test_epsilon_50_over_an_open_alphabet(method, n_cohorts):
    # the share of other answers has no variance, which 0.1.0 computed as -1e-20
    orr, rng = ldp.ORR(5, n_cohorts, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(rng.choice(["a", "c"], 1000), rng)
    model = ldp.FrequencyModel(reports, candidates=["a", "c"])
    results = quiet(lambda: model.fit(method))
    assert results.unexplained.estimate == pytest.approx(0.0, abs=1e-9)
    # with few cells others could be held unseen, and the error allows for that
    assert 0.0 <= results.unexplained.bse < (1e-6 if n_cohorts == 1 else 0.02)
    assert np.isfinite(results.linear_bse).all()


def test_a_label_that_nobody_makes_pins_the_candidates_that_own_it():
    orr, rng = ldp.ORR(32, 4, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(["a", "b"] * 300, rng)
    results = ldp.FrequencyModel(reports, candidates=["a", "b", "c"]).fit("mle")
    assert results.bse["c"] == 0.0 and results.bse["a"] == pytest.approx(
        0.5 / np.sqrt(600), rel=0.1
    )


def test_thresholds_of_estimates_that_cannot_vary():
    # all is known from reports without noise, and rounding is all that varies
    first = ldp.URAP(ABC, set(), 0.5).privatize(["a", "a"], np.random.default_rng(0))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Q = np.ones((3, 3)) + 1e-9 * rng.random((3, 3))
        blind = ldp.CustomMechanism(Q / Q.sum(axis=1, keepdims=True), ABC)
        model = ldp.FrequencyModel([first, blind.privatize(["a"], rng)])
        assert quiet(lambda m=model: m.fit("thresholded")).params["a"] == pytest.approx(1.0)
