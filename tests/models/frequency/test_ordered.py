"""Means, cumulative frequencies and quantiles of ordered answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from simulate import at_least, near, repeat
from surveys import as_counts, draw

import ldpstats as ldp
from ldpstats.models.frequency import answers as ordered

Array = npt.NDArray[Any]

GRADES = ("low", "middle", "high", "top")

SCORES = {"top": 4.0, "low": 1.0, "middle": 2.0, "high": 3.0}


def fitted(epsilon: float = 1.0, seen: Any = (320, 280, 220, 180)) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(ldp.KRR(GRADES, epsilon).counts(list(seen)), name="grade").fit()


def mechanisms() -> dict[str, ldp.Mechanism]:
    return {
        "krr": ldp.KRR(GRADES, 1.0),
        "bits": ldp.KRAPPOR(GRADES, 1.0),
        "urr": ldp.URR(GRADES, {"low", "top"}, 1.0),
        "dense": ldp.CustomMechanism(
            [
                [0.5, 0.3, 0.1, 0.1],
                [0.1, 0.6, 0.2, 0.1],
                [0.2, 0.1, 0.4, 0.3],
                [0.1, 0.1, 0.2, 0.6],
            ],
            GRADES,
        ),
    }


def every_fit() -> dict[str, ldp.FrequencyResults]:
    rng = np.random.default_rng(4)
    fits = {}
    for name, mechanism in mechanisms().items():
        reports = mechanism.privatize(rng.choice(GRADES, 900, p=[0.4, 0.3, 0.2, 0.1]), rng)
        fits[name] = ldp.FrequencyModel(reports).fit()
        if mechanism.n_bits:
            fits["sums"] = ldp.FrequencyModel(reports.tally(bits=True)).fit()
    return fits


FITS = every_fit()


def test_without_noise_it_is_the_textbook_mean():
    n = np.array([42, 33, 15, 10])
    results = fitted(40.0, n)
    p, s = n / 100, np.arange(1.0, 5.0)
    found = results.mean(SCORES)
    assert found.name == "mean of grade"
    assert found["estimate"] == pytest.approx(s @ p)
    se = np.sqrt((s**2 @ p - (s @ p) ** 2) / 100)
    assert found["se"] == pytest.approx(se, rel=1e-9)
    assert found["lower"] == pytest.approx(s @ p - 1.96 * se, abs=0.03 * se + 0.01)
    np.testing.assert_allclose(results.cumulative()["estimate"], np.cumsum(p), rtol=1e-12)


@pytest.mark.parametrize("name", FITS)
def test_mean_moves_with_the_scores(name):
    results = FITS[name]
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    one, other = results.mean(scores), results.mean(2020.0 - 10.0 * scores)
    assert other["estimate"] == pytest.approx(2020.0 - 10.0 * one["estimate"], rel=1e-12)
    assert other["se"] == pytest.approx(10.0 * one["se"], rel=1e-6)
    assert other["lower"] == pytest.approx(2020.0 - 10.0 * one["upper"], rel=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_cumulative_frequencies(name):
    results = FITS[name]
    table = results.cumulative()
    assert table.iloc[-1].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert ((table["lower"] >= 0) & (table["upper"] <= 1)).all()
    assert ((table["lower"] <= table["estimate"]) & (table["estimate"] <= table["upper"])).all()
    # each is the mean of an indicator
    for x in range(3):
        mean = results.mean((np.arange(4) <= x).astype(float))
        np.testing.assert_allclose(mean.iloc[:2], table.iloc[x, :2], rtol=1e-8)
        # the law of bits is known for single frequencies
        np.testing.assert_allclose(mean.iloc[2:], table.iloc[x, 2:], atol=1e-3)


def test_sums_of_bits_use_that_frequencies_sum_to_one():
    """The estimate with the smallest variance among all shifts of the scores."""
    results = FITS["sums"]
    V, scores = results.linear_cov.to_numpy(), np.arange(4.0)
    variances = [(scores - c) @ V @ (scores - c) for c in np.linspace(-3, 6, 901)]
    assert results.mean(scores)["se"] ** 2 == pytest.approx(min(variances), rel=1e-4)


@pytest.mark.parametrize("name", FITS)
def test_quantiles_invert_the_tests(name):
    """The interval against the definition, test by test."""
    results = FITS[name]
    sums = ordered.cumulative_sums(results)[:-1]
    for q, alpha in ((0.05, 0.2), (0.5, 0.01), (0.5, 0.2), (0.95, 0.2)):
        found = results.quantile(q, alpha)
        at = {end: GRADES.index(found[end]) for end in ("lower", "estimate", "upper")}
        assert at["lower"] <= at["estimate"] <= at["upper"]
        reach = [one.pvalue(q, upper=False) >= alpha / 2 for one in sums] + [True]
        below = [one.pvalue(q, upper=True) >= alpha / 2 for one in sums] + [False]
        assert at["lower"] == reach.index(True)
        assert at["upper"] == max([x + 1 for x in range(4) if below[x]], default=0)
        cumulative = results.cumulative()["estimate"].to_numpy()
        assert at["estimate"] == int(np.argmax(cumulative >= q))


def test_several_quantiles_are_a_table():
    table = fitted().quantile([0.1, 0.5])
    assert table.index.name == "q" and list(table.columns) == ["estimate", "lower", "upper"]
    alone = fitted().quantile(0.5)
    assert table.loc[0.5].tolist() == alone.tolist() and alone.name == "0.5 quantile of grade"
    numeric = ldp.FrequencyModel(ldp.KRR(4, 1.0).counts([42, 33, 15, 10])).fit()
    assert numeric.quantile(np.array([0.9]))["estimate"].tolist() == [1]


@pytest.mark.parametrize("factor", [1e-200, 1e90])
def test_the_unit_of_scores_does_not_matter(factor):
    expected = fitted().mean(SCORES)
    found = fitted().mean({label: factor * score for label, score in SCORES.items()})
    np.testing.assert_allclose(found / factor, expected, rtol=1e-9)


def test_contrasts_carry_their_names():
    test = fitted().t_test(
        "low - middle = 0.1, 2*high = top, p[low] = 0.3".replace("p[low]", "low")
    )
    assert test.c_names == ["low - middle = 0.1", "2 high - top", "low = 0.3"]
    assert "low - middle = 0.1" in str(test.summary())
    assert list(test.summary_frame().index) == test.c_names
    assert fitted().t_test([[-1.0, 0.5, 0.0, 0.5]]).c_names == ["-low + 0.5 middle + 0.5 top"]
    numbers = ldp.FrequencyModel(ldp.KRR(3, 1.0).counts([3, 4, 5])).fit()
    assert numbers.t_test("p[0] = p[2]").c_names == ["p[0] - p[2]"]


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("scores=None: the labels are not numbers", lambda: fitted().mean()),
        ("scores=.*all the same", lambda: fitted().mean([2, 2, 2, 2])),
        ("scores=", lambda: fitted().mean([1, 2, 3])),
        ("scores=.*1e\\+100 apart", lambda: fitted().mean([1, 2, 3, 1e101])),
        ("scores=", lambda: fitted().mean([1, 2, 3, np.nan])),
        ("scores=.*indexed by the labels", lambda: fitted().mean(SCORES | {"best": 5})),
        ("scores=", lambda: fitted().mean("1234")),
        ("alpha=", lambda: fitted().mean(SCORES, alpha=0)),
        ("level=0.9: is called alpha", lambda: fitted().mean(SCORES, level=0.9)),
        ("q=0", lambda: fitted().quantile(0)),
        ("q=1", lambda: fitted().quantile([0.5, 1.0])),
        ("q=", lambda: fitted().quantile([])),
        ("q=True", lambda: fitted().quantile(True)),
        ("alpha=", lambda: fitted().cumulative(2)),
    ],
)
def test_bad_input(words, call):
    with pytest.raises(ldp.InvalidArgument, match=words):
        call()


def test_candidates_of_an_open_alphabet_have_no_order():
    counts = ldp.ORR(4, 4, epsilon=1.0).privatize(["a", "b"] * 50, np.random.default_rng(0))
    results = ldp.FrequencyModel(counts, candidates=["a", "b"]).fit()
    for ask in (lambda: results.mean([1, 2]), results.cumulative, lambda: results.quantile(0.5)):
        with pytest.raises(ldp.errors.NotAvailable, match="all categories"):
            ask()


# ---- coverage
P10 = np.array([0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.03, 0.02, 0.01])

SETTINGS: dict[str, tuple[ldp.Mechanism, Array, int]] = {
    "krr, few": (ldp.KRR(5, 0.5), np.array([0.05, 0.2, 0.3, 0.35, 0.1]), 200),
    "krr, skewed": (ldp.KRR(10, 3.0), P10, 200),
    "urr": (ldp.URR(5, {0, 2, 4}, 1.0), np.array([0.05, 0.2, 0.3, 0.35, 0.1]), 500),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_coverage(name, replications):
    """A value is in the interval of the mean where neither tail rejects it."""
    mechanism, p, n = SETTINGS[name]
    R, rng = replications(2000, least=300), np.random.default_rng([9, list(SETTINGS).index(name)])
    scores, steps = np.arange(p.size, dtype=float), p.cumsum()
    qs = (0.25, 0.5, 0.9)
    true = [int(np.argmax(steps >= q - 1e-12)) for q in qs]

    def survey(_: int) -> dict[str, Any]:
        results = ldp.FrequencyModel(mechanism.draw(p, n, rng)).fit_quietly("inversion")
        mean = ordered.mean_score(results, scores)
        tails = [mean.pvalue(float(scores @ p), upper) for upper in (True, False)]
        sums = ordered.cumulative_sums(results)
        ends = [ordered.quantile_bounds(sums, q, 0.05)[1:] for q in qs]
        held = [low <= x <= high for x, (low, high) in zip(true, ends, strict=True)]
        return {"mean": min(tails) >= 0.025, "quantiles": held}

    found = repeat(R, survey)
    assert near(found["mean"].mean(), 0.95, R)
    assert at_least(found["quantiles"].mean(axis=0), 0.95, R)


# ---- where the sum of the estimates is next to certain
OBSERVED = ldp.Observed(("a", "b", "c"))


def observed(*seen: int) -> ldp.FrequencyResults:
    mechanism = OBSERVED if len(seen) == 3 else ldp.Observed(("a", "b", "c", "d"))
    return ldp.FrequencyModel(mechanism.counts(list(seen))).fit()


def test_what_nobody_said_may_be_true():
    """An estimate of 0 or 1 has no variance there, and some at every other value."""
    results = observed(0, 30, 0)
    table, mean = results.cumulative(), results.mean([0, 1, 2])
    reach = table.loc["a", "upper"]
    assert 0.09 < reach < 0.12  # the exact limit is .116
    assert table.loc["b", "lower"] == pytest.approx(1.0 - reach, abs=1e-9)
    assert mean["upper"] == pytest.approx(1.0 + reach, abs=1e-6)
    assert mean["lower"] == pytest.approx(1.0 - reach, abs=1e-6)
    assert results.quantile(0.01).tolist() == ["b", "a", "b"]
    assert results.quantile(0.99).tolist() == ["b", "b", "c"]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [((2, 194, 4, 0), 2.0), ((2, 195, 3, 0), 3**0.5), ((3, 190, 6, 1), 5 / 7**0.5)],
)
def test_a_difference_of_rare_answers_is_a_score_test(seen, expected):
    """Under c = d, c - d counts are a sum of n signs: z = (c - d) / sqrt(c + d)."""
    results = observed(*seen)
    test = results.t_test("c = d")
    assert float(test.statistic[0]) == pytest.approx(expected, rel=1e-9)
    assert results.wald_test("c = d").statistic == pytest.approx(expected**2, rel=1e-9)
    assert results.difference("c", "d")["pvalue"] == pytest.approx(float(test.pvalue), rel=1e-12)


def test_two_answers_that_nobody_gave_can_be_compared():
    found = observed(0, 200, 0, 0).difference("a", "d")
    assert found["estimate"] == 0.0 and found["pvalue"] == 1.0
    assert found["upper"] == pytest.approx(-found["lower"]) and 0.01 < found["upper"] < 0.03


RARE: dict[str, ldp.Mechanism] = {
    "observed": OBSERVED,
    "urr": ldp.URR(("a", "b", "c"), {"a"}, 4.0),
    "bits": ldp.KRAPPOR(("a", "b", "c"), 8.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE)
def test_coverage_of_rare_tails(name, replications):
    p, n, R = np.array([0.02, 0.96, 0.02]), 60, replications(1000, least=200)
    rng = np.random.default_rng([11, list(RARE).index(name)])

    # so few reports of so few kinds repeat: what differs is fitted once
    counts, times = np.unique(draw(RARE[name], p, n, R, rng), axis=0, return_counts=True)

    def survey(i: int) -> dict[str, Any]:
        results = ldp.FrequencyModel(as_counts(RARE[name], counts[i], n)).fit_quietly()
        mean = results.mean([0, 1, 2])
        ends = [*results.cumulative().iloc[:2, 2:].to_numpy(), mean.iloc[2:].to_numpy()]
        difference = results.difference("a", "c")
        return {"ends": [*ends, difference[["lower", "upper"]].to_numpy()]}

    low, high = np.moveaxis(repeat(len(counts), survey)["ends"], -1, 0)
    truth = np.array([0.02, 0.98, 1.0, 0.0])
    inside = (low <= truth) & (truth <= high)
    assert at_least(np.average(inside, axis=0, weights=times), 0.94, R)


def test_wald_tests_of_rare_answers_are_score_tests():
    """Under a = c = d the three counts are all m: the statistic is that of Pearson."""
    test = observed(2, 195, 3, 0).wald_test("c = d, a = c")
    m = 5 / 3
    assert test.statistic == pytest.approx(
        sum((x - m) ** 2 / m for x in (2, 3, 0)), rel=0.2
    )  # a count of none weighs half a report
    alone = observed(100, 96, 4, 0).wald_test("d = 0.01")
    assert alone.statistic == pytest.approx(0.01**2 / (0.01 * 0.99 / 200), rel=1e-9)


REPORTED = ("bits", "urap", "revealing bits", "mixed")


def reported(kind: str) -> tuple[list[ldp.Mechanism], str]:
    four = mechanisms()
    if kind == "mixed":
        return [four["krr"], four["urr"]], "inversion"
    if kind in ("urap", "revealing bits"):
        return [ldp.URAP(GRADES, {"low", "top"}, 1.0)], "mle" if kind == "urap" else "inversion"
    return [four[kind]], "mle" if kind == "bits" else "inversion"


@pytest.mark.slow
@pytest.mark.usefixtures("without_goodness")
@pytest.mark.parametrize("kind", REPORTED)
def test_moments_are_those_of_the_estimate(kind, replications):
    """Variance of the law of a contrast against the simulated one, at the same frequencies."""
    makers, method = reported(kind)
    p, n, R = np.array([0.4, 0.3, 0.2, 0.1]), 1000, replications(1000, least=200)
    rng, row = np.random.default_rng(7), np.array([0.0, 0.5, 1.0, 3.0])
    found, spread = [], []
    for _ in range(R):
        answers = [rng.choice(GRADES, n, p=p) for _ in makers]
        reports = [maker.privatize(a, rng) for maker, a in zip(makers, answers, strict=True)]
        results = ldp.FrequencyModel(reports).fit_quietly(method)
        known = results.answers
        assert known is not None
        se, _ = known.law(row).at(np.array([row @ p]))
        found.append(row @ results.linear.estimate)
        spread.append(float(se[0]))
    error = 4.0 * np.sqrt(0.5 / R)  # relative error of a standard deviation
    assert np.std(found) == pytest.approx(np.mean(spread), rel=error)


def test_numbers_that_do_not_ascend_have_no_quantiles():
    results = ldp.FrequencyModel(ldp.KRR((10, 2, 33), 2.0).counts([50, 60, 70])).fit()
    for call in (results.cumulative, lambda: results.quantile(0.5)):
        with pytest.raises(ldp.InvalidArgument, match="numbers that do not ascend"):
            call()
    assert results.mean()["estimate"] > 0  # which needs no order


# Numbers in bins: coverage of means, distribution functions, quantiles; gains by smoothing.

N = 5000

AT = (0.1, 0.5, 0.9)  # the distribution function is tested where it has these values


def smooth(k: int) -> Array:
    p = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, k + 1)))
    return p / p.sum()


def spiked(k: int) -> Array:
    """Two humps, a tenth of all in one bin, and bins that nobody is in."""
    u = np.linspace(0, 1, k + 1)
    p = 0.7 * np.diff(stats.norm(0.25, 0.05).cdf(u)) + 0.3 * np.diff(stats.norm(0.8, 0.04).cdf(u))
    p[k // 2] += 0.1
    p[p < 1e-4] = 0.0
    return p / p.sum()


MECHANISMS: dict[str, Callable[[int, float], ldp.Mechanism]] = {
    "square": lambda k, epsilon: ldp.SquareWave(np.arange(k + 1) / k, epsilon),
    "geometric": ldp.GeometricResponse,
}


def scores(mechanism: ldp.Mechanism) -> Array:
    return (np.arange(mechanism.k) + 0.5) / mechanism.k


def survey(mechanism: ldp.Mechanism, p: Array, seed: int) -> dict[str, Any]:
    """Whether intervals hold the truth, and the mean with its standard error."""
    rng, F = np.random.default_rng(seed), np.cumsum(p)
    results = ldp.FrequencyModel(mechanism.draw(p, N, rng)).fit_quietly("inversion")
    mean, truth = results.mean(scores(mechanism)), scores(mechanism) @ p
    sums = ordered.cumulative_sums(results)
    inside = []
    for q in AT:
        x = int(np.searchsorted(F, q))
        low, high = sums[x].interval(0.05)
        inside.append(low <= F[x] <= high)
    median = int(np.searchsorted(F, 0.5))
    _, low, high = ordered.quantile_bounds(sums, 0.5, 0.05)
    narrow = mean["estimate"] + 0.5 * np.array([-1.96, 1.96]) * mean["se"]  # the control
    return {
        "mean": mean["lower"] <= truth <= mean["upper"],
        "control": narrow[0] <= truth <= narrow[1],
        "function": inside,
        "median": low <= median <= high,
        "estimate": mean["estimate"],
        "se": mean["se"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "epsilon", "k", "truth"),
    [("square", 1.0, 16, smooth), ("square", 2.0, 64, spiked), ("geometric", 1.0, 16, spiked)],
)
def test_coverage_binned(kind, epsilon, k, truth, replications):
    """Means and functions cover 95 %, medians at least; 4 Monte Carlo standard errors.

    Under geometric noise single values of the function are estimated with errors beyond one, so
    that their intervals are [0, 1] or nearly, and cover more often.
    """
    R, p = replications(400, least=60), truth(k)  # .1 CPU seconds each
    mechanism = MECHANISMS[kind](k, epsilon)
    said = repeat(R, lambda r: survey(mechanism, p, r))
    assert near(said["mean"].mean(), 0.95, R)
    assert at_least(said["function"].mean(axis=0), 0.95, R)
    if kind == "square":  # whose errors are smaller than one: intervals are rarely cut
        assert near(said["function"].mean(axis=0), 0.95, R)
    assert at_least(said["median"].mean(), 0.95, R)
    assert not near(said["control"].mean(), 0.95, R)  # half as wide: 67 %
    error = said["estimate"].mean() - scores(mechanism) @ p
    assert abs(error) < 4 * said["se"].mean() / np.sqrt(R)
    assert abs(said["estimate"].std() / said["se"].mean() - 1) < 4 / np.sqrt(2 * R)


def mean_error(mechanism: ldp.Mechanism, p: Array) -> float:
    """Standard error of the mean of one respondent's score, exact."""
    V = mechanism.moments(mechanism.specimen()).covariance(p)
    return float(np.sqrt(V.transform(scores(mechanism)[None])[0, 0]))


@pytest.mark.parametrize(("k", "epsilon", "factor"), [(16, 2.0, 2.0), (64, 1.0, 10.0)])
def test_means_are_much_better_than_those_of_krr(k, epsilon, factor):
    p = smooth(k)
    square, krr = MECHANISMS["square"](k, epsilon), ldp.KRR(k, epsilon)
    assert mean_error(krr, p) > factor * mean_error(square, p)
    geometric = mean_error(ldp.GeometricResponse(k, epsilon), p)
    assert mean_error(square, p) < geometric < 1.35 * mean_error(square, p)


@pytest.mark.parametrize(("truth", "gain"), [(smooth, 3.0), (spiked, 1.5)])
def test_smoothing_brings_estimates_nearer(truth, gain):
    # total variation of three surveys; the measured gains are 11 and 2.2
    p, mechanism = truth(64), MECHANISMS["square"](64, 1.0)
    far: dict[str, list[float]] = {"smoothed": [], "mle": []}
    for seed in range(3):
        counts = mechanism.draw(p, 20_000, np.random.default_rng(seed))
        for method, distances in far.items():
            params = ldp.FrequencyModel(counts).fit_quietly(method).params
            distances.append(0.5 * float(np.abs(params - p).sum()))
    assert np.mean(far["mle"]) > gain * np.mean(far["smoothed"])


def test_bins_are_drawn_in_their_order():
    rng = np.random.default_rng(8)
    square = ldp.SquareWave([0, 10, 20, 30], 1.0)
    results = ldp.FrequencyModel(square.draw([0.2, 0.7, 0.1], 20_000, rng)).fit()
    drawn = [[t.get_text() for t in results.plot(sort=s).get_yticklabels()] for s in (None, True)]
    assert drawn[0] == list(square.categories) and drawn[1][0] == "[10, 20)"
