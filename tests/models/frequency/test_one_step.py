"""The unconstrained one-step estimate of bits: exact moments, coverage, width and power."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from simulate import coverage
from surveys import assert_cut, frequencies

import ldpstats as ldp
from ldpstats import Counts
from ldpstats.channels import Dense
from ldpstats.likelihood.rows import Likelihood
from ldpstats.mechanisms import LumpedUnary
from ldpstats.models.frequency.intervals import OneStep

# of a thousand simulated surveys one looks as if it did not fit
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")

Array = npt.NDArray[Any]

HEAD = np.array([0.7] + 6 * [0.05] + 3 * [0.0])


def patterns(mechanism: ldp.Mechanism) -> tuple[Array, Array]:
    """All packed reports of few bits, and Q in the same order."""
    k = mechanism.n_bits
    bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    return np.packbits(bits, axis=1, bitorder="little"), mechanism.channel().matrix()


def survey(mechanism: ldp.Mechanism, p: Array, n: int, rng: np.random.Generator) -> Any:
    if isinstance(mechanism, ldp.URAP):
        return mechanism.privatize(rng.choice(p.size, size=n, p=p), rng).tally()
    packed, Q = patterns(mechanism)
    drawn = rng.multinomial(n, (p @ Q) / (p @ Q).sum())
    return Counts(packed[drawn > 0], drawn[drawn > 0], mechanism)


# ---- exact values


SMALL = [
    ldp.KRAPPOR(4, 0.1),
    ldp.KRAPPOR(4, 8.0, theta=0.3),
    LumpedUnary(("a", "b", "Other"), 0.2, 0.6),
    ldp.URAP(6, {1, 4}, 1.0),
    ldp.URAP(4, {0, 1, 2, 3}, 1.0),
]


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_information_and_moments_equal_sums_over_all_patterns(mechanism):
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    p, features = rng.dirichlet(np.ones(mechanism.k)), rng.normal(size=(mechanism.k,) * 2)
    listed = Dense(channel.matrix())
    np.testing.assert_allclose(channel.information(p), listed.information(p), rtol=1e-12)
    for found, summed in zip(
        channel.score_moments(p, features), listed.score_moments(p, features), strict=True
    ):
        np.testing.assert_allclose(found, summed, rtol=1e-11, atol=1e-12 * np.abs(summed).max())


@pytest.mark.parametrize("epsilon", [1e-3, 30.0])
def test_wide_reports(epsilon):
    """300 bits: J p = 1 holds at every p, and no pattern is listed."""
    channel, p = ldp.KRAPPOR(300, epsilon).channel(), 0.98 ** np.arange(300)
    p /= p.sum()
    np.testing.assert_allclose(channel.information(p) @ p, 1.0, rtol=1e-12)


@pytest.mark.parametrize("mechanism", SMALL[:3], ids=str)
def test_expected_counts_give_back_the_frequencies(mechanism):
    """The estimate is unbiased from any reference point, not from the truth alone."""
    packed, Q = patterns(mechanism)
    rng, n = np.random.default_rng(2), 10**6
    p, reference = rng.dirichlet(np.ones(mechanism.k)), rng.dirichlet(np.ones(mechanism.k))
    rows = mechanism.channel().rows(packed)
    likelihood = Likelihood(rows, n * (p @ Q))
    one_step = OneStep((mechanism.channel(),), (n,), likelihood, reference)
    np.testing.assert_allclose(one_step.estimate()[0], p, rtol=0, atol=1e-8)


def test_law_equals_the_sum_over_all_patterns():
    mechanism, n = ldp.KRAPPOR(4, 3.0), 100
    packed, Q = patterns(mechanism)
    likelihood = Likelihood(mechanism.channel().rows(packed), np.ones(len(packed)))
    reference = np.array([0.5, 0.3, 0.2, 0.0])
    one_step = OneStep((mechanism.channel(),), (n,), likelihood, reference)
    p = one_step.start  # a little inside the simplex
    law, V = one_step.law(), one_step.covariance().matrix()
    W = mechanism.channel().rows(packed).dense()
    influence = n * V @ (W / (W @ p)[:, None]).T  # of a report on each estimate
    at = np.array([0.4, 0.1, 0.2, 0.05])  # other frequencies, one at a time
    for i, v in enumerate(at):
        rest = np.where(np.arange(4) == i, 0.0, p)
        m = (v * np.eye(4)[i] + (1 - v) * rest / rest.sum()) @ Q
        u = influence[i] - influence[i] @ m
        se, skewness, _ = (part[i] for part in law.law(at))
        assert se == pytest.approx(np.sqrt(u**2 @ m / n), rel=1e-9)
        assert skewness == pytest.approx((u**3 @ m) / (u**2 @ m) ** 1.5 / np.sqrt(n), rel=1e-9)
    np.testing.assert_allclose(law.law(p)[0], np.sqrt(np.diag(V)), rtol=1e-6)


def test_it_is_inversion_where_that_is_the_maximum():
    """At tiny epsilon both are the same, and where bits tell everything both count."""
    rng = np.random.default_rng(3)
    answers = rng.choice(4, size=3000, p=[0.4, 0.3, 0.2, 0.1])
    for epsilon, tolerance in ((1e-3, 2e-3), (40.0, 1e-6)):
        results = ldp.FrequencyModel(ldp.KRAPPOR(4, epsilon).privatize(answers, rng)).fit()
        inversion = ldp.FrequencyModel(ldp.KRR(4, 40.0).privatize(answers, rng)).fit()
        if epsilon > 1:
            np.testing.assert_allclose(results.linear_params, inversion.linear_params, atol=1e-6)
        assert results.linear_params.sum() == pytest.approx(1.0, abs=tolerance)


def test_which_estimate_inference_rests_on():
    mechanism, rng = ldp.KRAPPOR(5, 3.0), np.random.default_rng(4)
    reports = mechanism.privatize(rng.choice(5, size=4000, p=[0.5, 0.2, 0.2, 0.1, 0.0]), rng)
    model = ldp.FrequencyModel(reports)
    mle, inversion = model.fit(), model.fit("inversion")
    sums = ldp.FrequencyModel(reports.tally(bits=True)).fit()
    assert (mle.linear_method, inversion.linear_method) == ("one step", "inversion")
    assert sums.linear_method == "inversion"
    np.testing.assert_array_equal(inversion.conf_int(), sums.conf_int())  # the old one, by name
    width = mle.conf_int(clip=False).diff(axis=1)["upper"]
    assert (width < 0.95 * inversion.conf_int(clip=False).diff(axis=1)["upper"]).all()
    again = ldp.FrequencyResults.from_json(mle.to_json())
    assert str(again.summary()) == str(mle.summary())
    assert "one Newton step" in mle.summary().as_text()
    np.testing.assert_array_equal(again.conf_int(), mle.conf_int())
    assert_cut(mle.conf_int(), mle.conf_int(clip=False).to_numpy())
    with pytest.raises(ldp.InvalidArgument, match="other data"):
        other = mechanism.privatize([0, 1, 2, 3, 4] * 200, rng)
        ldp.FrequencyModel(other).fit().conf_int(method="profile", model=model)


# ---- simulations


@dataclass(frozen=True)
class Setting:
    mechanism: ldp.Mechanism
    p: tuple[float, ...]
    n: int
    control: float = 1.1  # by how much the bit-by-bit inversion is wider, at least

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.n}"


def in_issue_a(theta: float | None, epsilon: float, where: str) -> Setting:
    mechanism = ldp.KRAPPOR(5, epsilon, theta)
    return Setting(mechanism, tuple(frequencies(where, mechanism, 2000)), 2000, control=1.03)


SETTINGS = [
    Setting(ldp.URAP(5, {0, 1}, 1.0), (0.35, 0.25, 0.2, 0.12, 0.08), 20_000),
    Setting(ldp.KRAPPOR(10, 2.0), tuple(HEAD), 1000),
    Setting(ldp.KRAPPOR(10, 6.0), tuple(HEAD), 2000),
    in_issue_a(0.5, 3.0, "near"),
]


def simulated(setting: Setting, R: int) -> dict[str, Array]:
    """Intervals of R surveys; "cut" has those of surveys in which one lies outside [0, 1]."""
    p, rng = np.array(setting.p), np.random.default_rng([12, SETTINGS.index(setting)])
    found: dict[str, list[Array]] = {"ours": [], "cut": [], "mle": [], "inversion": []}
    for _ in range(R):
        model = ldp.FrequencyModel(survey(setting.mechanism, p, setting.n, rng))
        fit = model.fit()
        uncut = fit.conf_int(clip=False).to_numpy()
        found["ours"].append(uncut)
        if ((uncut[:, 1] <= 0.0) | (uncut[:, 0] >= 1.0)).any():
            found["cut"].append(fit.conf_int().to_numpy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.BoundaryWarning)
            found["mle"].append(fit.conf_int(method="wald-mle", clip=False).to_numpy())
        found["inversion"].append(model.fit("inversion").conf_int(clip=False).to_numpy())
    return {name: np.array(ends) for name, ends in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage_and_width(setting, replications):
    """Coverage .935, less three Monte Carlo standard errors; width as Wald's of the maximum."""
    R, p = replications(2000, least=200), np.array(setting.p)
    ends = simulated(setting, R)
    cut = ends.pop("cut")
    share = coverage(ends["ours"], p)
    assert share.min() > 0.935 - 3 * np.sqrt(0.935 * 0.065 / R), share
    width = {name: np.diff(e, axis=-1)[..., 0].mean(axis=0) for name, e in ends.items()}
    assert np.mean(width["ours"] / width["mle"]) < (1.10 if setting.n >= 10_000 else 1.25)
    assert np.mean(width["inversion"] / width["ours"]) > setting.control  # control: bit by bit
    assert all((np.diff(bounds) > 0).all() for bounds in cut)


@pytest.mark.slow
def test_power_of_the_two_sample_test(replications):
    """k-RAPPOR, epsilon 4, 2,000 each: as the likelihood ratio; bit by bit it is much less."""
    R, mechanism, n = replications(1000, least=200), ldp.KRAPPOR(8, 4.0), 2000
    p = np.array([0.3] + 7 * [0.1])
    q = p + 0.022 * np.array([-1, 1, 1, -1, 1, -1, 1, -1])
    rng, rejected = np.random.default_rng(7), np.zeros(4)
    for _ in range(R):
        a, b, c = (survey(mechanism, law, n, rng) for law in (p, q, p))
        fits = [ldp.FrequencyModel(part).fit().llf for part in (a, b, a + b)]
        # two samples are two groups, whose test leaves their fits out
        rejected[0] += ldp.homogeneity_test([a, b]).pvalue < 0.05
        rejected[1] += stats.chi2.sf(2 * (fits[0] + fits[1] - fits[2]), 7) < 0.05
        rejected[2] += ldp.homogeneity_test([a.bit_counts(), b.bit_counts()]).pvalue < 0.05
        rejected[3] += ldp.homogeneity_test([a, c]).pvalue < 0.05
    ours, likelihood, bits, size = rejected / R
    assert abs(size - 0.05) < 4 * np.sqrt(0.05 * 0.95 / R)
    assert ours > likelihood - 0.03 - 4 * np.sqrt(0.05 / R)  # they differ in a few surveys
    assert bits < ours - 0.1  # control


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "p", "n"),
    [
        (ldp.KRAPPOR(10, 6.0), HEAD, 2000),
        (ldp.URAP(8, {0, 1, 2}, 1.0), np.array([0.3, 0.01, 0, 0.6, 0.05, 0.03, 0.01, 0]), 2000),
    ],
    ids=str,
)
def test_sizes(mechanism, p, n, replications):
    R, rng, rejected = replications(2000, least=200), np.random.default_rng(9), np.zeros(4)
    rows = np.eye(p.size)[1:4]
    for _ in range(R):
        model = ldp.FrequencyModel(survey(mechanism, p, n, rng))
        fit = model.fit()
        rejected += [
            model.test_distribution(p).pvalue < 0.05,
            fit.wald_test((rows, rows @ p)).pvalue < 0.05,
            float(np.ravel(fit.t_test((rows[:1], p[[1]])).pvalue)[0]) < 0.05,
            bool(set(fit.detected(0.05)) & set(np.flatnonzero(p == 0))),
        ]
    assert (rejected / R < 0.05 + 4 * np.sqrt(0.05 * 0.95 / R) + [0.005, 0.01, 0.005, 0]).all()
