"""Channels without a count for each category: intervals where reports are few, tests, recognition.

Rare categories in channels nearly without noise are what normal intervals miss, and ill-conditioned
channels what a variance at the projected estimate gets wrong.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import coverage
from surveys import assert_cut

import ldpstats as ldp
from ldpstats.inference import tests as tests_
from ldpstats.inference.intervals import clip_unit

# of a thousand simulated surveys one looks as if it did not fit
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")

Array = npt.NDArray[Any]

P = np.array([0.9, 0.06, 0.03, 0.007, 0.003])


def revealing(noise: float = 0.0) -> Array:
    """Most reports name their category, the others one of two labels that all share."""
    Q = np.zeros((5, 10))
    for i in range(4):
        Q[i, [2 * i, 2 * i + 1, 8, 9]] = 0.5, 0.2, 0.2, 0.1
    Q[4, [8, 9]] = 0.6, 0.4
    return (1 - noise) * Q + noise / 10


def split(epsilon: float, k: int = 5) -> Array:
    """k-RR with each output in two: .7/.3 of the true category, .5/.5 of another."""
    Q = ldp.KRR(k, epsilon).channel().matrix()
    share = np.where(np.eye(k, dtype=bool), 0.7, 0.5)
    return np.stack([Q * share, Q * (1 - share)], axis=-1).reshape(k, -1)


def moved(epsilon: float, k: int = 5) -> Array:
    """k-RR, off by up to 1e-4."""
    Q = ldp.KRR(k, epsilon).channel().matrix()
    Q = Q + np.random.default_rng(5).uniform(-1e-4, 1e-4, Q.shape)
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def ill_conditioned(seed: int, l: int = 5) -> tuple[Array, Array]:  # noqa: E741
    """A sparse random channel of condition 115 to 140, and frequencies."""
    rng = np.random.default_rng(seed)
    while True:
        Q = rng.dirichlet(np.full(l, 0.3), size=5)
        if 115 < np.linalg.cond(Q) < 140:
            return Q, rng.dirichlet(np.full(5, 0.7))


CHANNELS = {
    "revealing": revealing(),
    "finite epsilon": revealing(0.02),
    "split k-RR": split(5.0),
    "nearly k-RR": moved(5.0),
}


def surveys(
    mechanisms: list[ldp.Mechanism], p: Array, n: int, R: int, seed: int
) -> Iterator[ldp.FrequencyModel]:
    """Models of surveys of n respondents, shared among the mechanisms."""
    rng = np.random.default_rng([seed, n])
    sizes = np.diff(np.linspace(0, n, len(mechanisms) + 1).astype(int))
    for _ in range(R):
        yield ldp.FrequencyModel(
            [m.draw(p, int(size), rng) for m, size in zip(mechanisms, sizes, strict=True)]
        )


def test_few_reports_widen_intervals():
    """A category that nobody reported, and one that three reported, of 200."""
    counts = np.array([60, 30, 9, 4, 2, 1, 0, 0, 60, 34])
    results = ldp.FrequencyModel(ldp.CustomMechanism(revealing()).counts(counts)).fit()
    ends, wald = results.conf_int(clip=False), results.conf_int(method="wald", clip=False)
    assert (ends.lower < ends.upper).all()
    # nothing was seen of category 3: 3.3 reports of 200 that would reveal it with probability .7
    assert ends.upper[3] == pytest.approx(3.3 / 140, abs=0.004)
    assert wald.upper[3] < 0.6 * ends.upper[3]
    assert ends.upper[2] > wald.upper[2]
    assert_cut(results.conf_int(), ends.to_numpy())
    again = ldp.FrequencyResults.from_json(results.to_json())
    pd.testing.assert_frame_equal(again.conf_int(), results.conf_int())
    assert "skewness" in results.summary().as_text()


def test_cumulants_equal_sums_over_reports():
    Q, n = revealing(0.1), 50
    results = ldp.FrequencyModel(ldp.CustomMechanism(Q).counts([9, 5, 4, 3, 3, 2, 2, 2, 12, 8]))
    problem, fit = results.moments(), results.fit()
    G, p = np.asarray(problem.inverse), fit.params.to_numpy()
    at = np.array([0.3, 0.05, 0.2, 0.01, 0.4])
    for i, v in enumerate(at):
        rest = np.where(np.arange(5) == i, 0.0, p)
        m = (v * np.eye(5)[i] + (1 - v) * rest / rest.sum()) @ Q
        u = G[i] - G[i] @ m
        se, skewness, _ = (part[i] for part in fit.tally.law(at))
        assert se == pytest.approx(np.sqrt(u**2 @ m / n), rel=1e-9)
        assert skewness == pytest.approx((u**3 @ m) / (u**2 @ m) ** 1.5 / np.sqrt(n), rel=1e-8)


def test_outputs_that_no_category_makes_are_dropped():
    krr, counts = ldp.KRR(3, 1.0), np.array([300, 250, 150])
    Q = np.insert(krr.channel().matrix(), [0, 2], 0.0, axis=1)
    more = ldp.FrequencyModel(ldp.CustomMechanism(Q).counts([0, 300, 250, 0, 150]))
    plain = ldp.FrequencyModel(krr.counts(counts))
    np.testing.assert_allclose(more.fit().conf_int(), plain.fit().conf_int(), rtol=1e-12)
    p0 = [0.5, 0.3, 0.2]
    assert more.test_distribution(p0).pvalue == pytest.approx(plain.test_distribution(p0).pvalue)


def test_redundant_restrictions_are_removed():
    """A row of zeros, a repeated row and sum p = 1, in many data sets."""
    rng = np.random.default_rng(3)
    row, ones = np.array([1.0, -1, 0, 0]), np.ones(4)
    for mechanism in (ldp.KRR(4, 0.5), ldp.KRR(4, 3.0), ldp.CustomMechanism(split(1.0, 4))):
        for _ in range(8):
            fit = ldp.FrequencyModel(mechanism.draw([0.4, 0.3, 0.2, 0.1], 500, rng)).fit()
            alone = fit.wald_test((row, [0.1]))
            R = np.array([row, 0 * row, row, 3 * row, ones])
            more = fit.wald_test((R, [0.1, 0.0, 0.1, 0.3, 1.0]))
            assert more.df == alone.df == 1
            assert more.statistic == pytest.approx(alone.statistic, rel=1e-6)
    with pytest.raises(ldp.InvalidArgument, match="contradicts"):
        fit.wald_test((np.array([row, 0 * row]), [0.1, 0.2]))
    with pytest.raises(ldp.InvalidArgument, match="contradict"):
        fit.wald_test((np.array([row, row]), [0.1, 0.2]))
    with pytest.raises(ldp.InvalidArgument, match="nothing to test"):
        fit.wald_test((np.zeros((1, 4)), [0.0]))


def test_tests_and_intervals_of_contrasts_agree():
    """Zero is an end of the interval whose level is the p-value."""
    counts = [61, 33, 9, 4, 2, 1, 2, 0, 55, 33]
    fit = ldp.FrequencyModel(ldp.CustomMechanism(revealing()).counts(counts)).fit()
    for row in (np.array([[0, 0, 0, 1.0, 0]]), np.array([[0, 1.0, -1, 0, 0]]), -np.eye(5)[[2]]):
        value = 0.4 * float((row @ fit.linear_params)[0])
        test = fit.t_test((row, [value]))
        lower, upper = test.conf_int(alpha=float(np.ravel(test.pvalue)[0]))[0]
        assert min(abs(lower - value), abs(upper - value)) < 1e-9


def test_no_interval_is_a_point():
    """A tally far below what noise alone gives: the limit of the method of CLs, not [0, 0]."""
    krr, n = ldp.KRR(10, 0.5), 500
    noise = float(krr.channel().b)
    counts = np.full(10, 52)
    counts[0], counts[1] = 22, 62
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel(krr.counts(counts)).fit()
    uncut, ends = fit.conf_int(clip=False), fit.conf_int()
    assert uncut.upper[0] < 0 and ends.lower[0] == 0 < ends.upper[0]
    m = noise + krr.channel().a * ends.upper[0]
    ratio = stats.binom.cdf(22, n, m) / stats.binom.cdf(22, n, noise)
    assert ratio == pytest.approx(0.025, rel=1e-9)
    inside = uncut.upper > 0
    np.testing.assert_allclose(ends[inside], clip_unit(uncut[inside].to_numpy()), rtol=1e-12)
    for method in ("wald", "wilson", "exact"):
        for simultaneous in (None, "bonferroni"):
            found = fit.conf_int(method=method, simultaneous=simultaneous)
            assert (found.lower < found.upper).all()


# ---- simulations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"),
    [("revealing", 50), ("finite epsilon", 200), ("split k-RR", 1000), ("nearly k-RR", 50)],
)
def test_coverage(name, n, replications):
    """The worst positive cell: .935, or .92 at n = 50, less three Monte Carlo standard errors."""
    R, ends, wald = replications(2000, least=250), [], []
    for model in surveys([ldp.CustomMechanism(CHANNELS[name])], P, n, R, seed=1):
        fit = model.fit()
        ends.append(fit.conf_int().to_numpy())
        wald.append(fit.conf_int(method="wald").to_numpy())
    least = 0.92 if n == 50 else 0.935
    share = coverage(np.array(ends), P)
    assert share.min() > least - 3 * np.sqrt(least * (1 - least) / R), share
    assert (np.diff(np.array(ends), axis=-1) > 0).all()
    if n == 50:  # control
        assert coverage(np.array(wald), P).min() < least - 3 * np.sqrt(least * (1 - least) / R)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "n"),
    [(ldp.KRR(5, 1.0), 50), (ldp.CustomMechanism(split(3.0)), 200), (ldp.KRAPPOR(5, 2.0), 50)],
    ids=str,
)
def test_coverage_in_mixtures(other, n, replications):
    R, ends = replications(1500, least=150), []
    rng = np.random.default_rng([2, n])
    part = ldp.CustomMechanism(revealing())
    for _ in range(R):
        own = part.draw(P, n - n // 2, rng)
        rest: Any = other.draw(P, n // 2, rng)
        if other.n_bits:
            rest = other.privatize(rng.choice(5, size=n // 2, p=P), rng)
        ends.append(ldp.FrequencyModel([own, rest]).fit().conf_int().to_numpy())
    least = 0.92 if n == 50 else 0.935
    share = coverage(np.array(ends), P)
    assert share.min() > least - 3 * np.sqrt(least * (1 - least) / R), share


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "l", "n"), [(0, 5, 200), (2, 5, 200), (1, 7, 2000)])
def test_size_of_wald_tests(
    seed: int,
    l: int,  # noqa: E741
    n: int,
    replications: Callable[..., int],
) -> None:
    """Condition 115 to 140: at most .065, and three standard errors."""
    Q, p = ill_conditioned(seed, l)
    R, rejected = replications(2000, least=250), np.zeros(3)
    one, three = np.array([[1.0, -1, 0, 0, 0]]), np.eye(5)[:3]
    for model in surveys([ldp.CustomMechanism(Q)], p, n, R, seed=3):
        fit = model.fit()
        rejected[0] += fit.wald_test((one, one @ p)).pvalue < 0.05
        rejected[1] += fit.wald_test((three, three @ p)).pvalue < 0.05
        V = model.moments().covariance()
        old, df = tests_.wald(three, three @ p, fit.linear_params, V)
        rejected[2] += stats.chi2.sf(old, df) < 0.05
    assert (rejected[:2] / R < 0.065 + 3 * np.sqrt(0.065 * 0.935 / R)).all(), rejected / R
    if n == 200:
        assert rejected[2] / R > 0.3  # control: the variance at the projected estimate


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_size_of_t_tests_of_revealed_categories(epsilon, replications):
    """uRR, a category that is not sensitive and expected in 19 reports of 10,000."""
    R, n = replications(5000), 10_000
    urr = ldp.URR(8, {0, 1}, epsilon)
    told = urr.channel().matrix()[4, 4]
    p = np.array([0.3, 0.1, 0.2, 0.2, 19 / (n * told), 0.1, 0.05, 0.0])
    p[7] = 1 - p.sum()
    single, pair = np.eye(8)[[4]], np.eye(8)[[4]] - 0.02 * np.eye(8)[[5]]
    rejected = np.zeros(2)
    for model in surveys([urr], p, n, R, seed=4):
        fit = model.fit()
        for i, row in enumerate((single, pair)):
            rejected[i] += float(np.ravel(fit.t_test((row, row @ p)).pvalue)[0]) < 0.05
    assert (rejected / R < 0.065 + 3 * np.sqrt(0.065 * 0.935 / R)).all(), rejected / R
    assert (rejected / R > 0.025).all()
