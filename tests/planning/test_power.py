"""Power of the package's own tests: exact where counts decide, against formulas elsewhere."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats import planning

JOBS = ("nurse", "cook", "driver")
P3 = (0.5, 0.3, 0.2)
WARNER = ldp.Warner(epsilon=1.0)
X = pd.DataFrame({"const": 1.0, "age": np.linspace(-1.5, 1.5, 13)})
T22 = [[0.3, 0.2], [0.2, 0.3]]
GOALS: dict[str, tuple[Any, Any, Any]] = {  # mechanism, goal, and the same goal at its null
    "value": (
        ldp.KRAPPOR(JOBS, 2.0),
        planning.ValueTest(P3, "cook", 0.25),
        planning.ValueTest(P3, "cook", 0.3),
    ),
    "presence": (
        ldp.KRAPPOR(JOBS, 2.0),
        planning.PresenceTest(P3, "driver"),
        planning.PresenceTest([0.6, 0.4, 0.0], "driver"),
    ),
    "groups": (
        ldp.KRR(JOBS, 1.0),
        planning.GroupsTest([P3, (0.4, 0.3, 0.3)], [0.3, 0.7]),
        planning.GroupsTest([P3, P3], [0.3, 0.7]),
    ),
    "groups of bits": (
        ldp.URAP(JOBS, ["cook"], 1.0),
        planning.GroupsTest([P3, (0.4, 0.3, 0.3), (0.4, 0.4, 0.2)]),
        planning.GroupsTest([P3, P3, P3]),
    ),
    "category": (
        ldp.KRR(JOBS, 1.0),
        planning.GroupsTest([P3, (0.4, 0.3, 0.3)], category="driver"),
        planning.GroupsTest([P3, (0.4, 0.4, 0.2)], category="driver"),
    ),
    "independence": (
        (ldp.KRR(2, 2.0), ldp.Observed(2)),
        planning.IndependenceTest(T22),
        planning.IndependenceTest([[0.25, 0.25], [0.25, 0.25]]),
    ),
    "coefficient": (
        WARNER,
        planning.CoefficientTest([-0.5, 0.5], X, "age"),
        planning.CoefficientTest([-0.5, 0.0], X, "age"),
    ),
}


def inverted(counts: Any) -> ldp.FrequencyResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most tallies are far from likely
        return ldp.FrequencyModel(counts).fit(method="inversion")


# ---- tests of counts: every tally goes through the package's own results


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [(WARNER, 40), (ldp.Observed(("yes", "no")), 40), (ldp.KRR(("yes", "no"), 0.05), 30)],
)
def test_power_of_a_value_is_summed_over_all_tallies(mechanism: Any, n: int) -> None:
    label = mechanism.categories[0]
    goal = planning.ValueTest([0.55, 0.45], label, 0.4)
    rejected = []
    for t in range(n + 1):
        results = inverted(mechanism.counts([t, n - t]))
        try:
            p = results.t_test(([[1.0, 0.0]], 0.4)).pvalue
        except ldp.errors.InvalidArgument:  # all answers alike and no noise: nothing varies
            p = 1.0
        rejected.append(float(np.ravel(p)[0]) < 0.05)
    m = float(np.array([0.55, 0.45]) @ mechanism.channel().matrix()[:, 0])
    expected = float(stats.binom.pmf(np.arange(n + 1), n, m) @ np.array(rejected))
    assert planning.power(mechanism, goal, n) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mechanism", [ldp.KRR(JOBS, 1.0), ldp.URR(JOBS, ["nurse"], 1.0)])
def test_power_of_presence_is_summed_over_all_tallies(mechanism: Any) -> None:
    n, p = 50, np.array([0.2, 0.5, 0.3])
    goal = planning.PresenceTest(p, "nurse")
    m = float(p @ mechanism.channel().matrix()[:, 0])
    found = 0.0
    for t in range(n + 1):
        counts = np.zeros(mechanism.n_outputs, dtype=int)
        counts[0], counts[1] = t, n - t
        results = inverted(mechanism.counts(counts))
        found += stats.binom.pmf(t, n, m) * ("nurse" in results.detected(0.05))
    assert planning.power(mechanism, goal, n) == pytest.approx(found, abs=1e-9)


# ---- references


def test_two_shares_without_privacy_are_as_in_statsmodels() -> None:
    from statsmodels.stats.power import NormalIndPower, normal_power_het

    p1, p2, n = 0.4, 0.3, 600  # of both groups together
    goal = planning.GroupsTest([[p1, 1.0 - p1], [p2, 1.0 - p2]])
    mean = (p1 + p2) / 2.0
    se0, se1 = np.sqrt(4.0 * mean * (1.0 - mean)), np.sqrt(2.0 * (p1 * (1 - p1) + p2 * (1 - p2)))
    expected = normal_power_het(p1 - p2, n, 0.05, std_null=se0, std_alternative=se1)
    power = planning.power(ldp.Observed(2), goal, n)
    assert power == pytest.approx(expected, abs=1e-10)
    arcsine = 2.0 * (np.arcsin(np.sqrt(p1)) - np.arcsin(np.sqrt(p2)))
    assert power == pytest.approx(NormalIndPower().power(arcsine, n // 2, 0.05), abs=2e-3)
    single = planning.GroupsTest([[p1, 1.0 - p1], [p2, 1.0 - p2]], category=0)
    assert planning.power(ldp.Observed(2), single, n) == pytest.approx(expected, abs=0.01)


def test_quadratic_forms_against_draws() -> None:
    rng, n, R = np.random.default_rng(5), 80, 100_000
    groups, shares = np.array([(0.8, 0.1, 0.1), (0.5, 0.3, 0.2)]), np.array([0.2, 0.8])
    asked, d = ldp.Observed(3), np.sqrt(n) * (groups[1] - groups[0])[1:]
    laws = [*groups, shares @ groups]
    V = [planning.one_report_covariance(asked, p).matrix()[1:, 1:] for p in laws]
    null, truth = V[2] / 0.2 + V[2] / 0.8, V[0] / 0.2 + V[1] / 0.8
    power = planning.power(asked, planning.GroupsTest(groups, shares), n)

    def rejected(S: Any) -> float:
        draws = d + rng.normal(size=(R, 2)) @ np.linalg.cholesky(S).T
        form = np.einsum("ri,ij,rj->r", draws, np.linalg.inv(null), draws)
        return float(np.mean(form > stats.chi2.isf(0.05, 2)))

    assert power == pytest.approx(rejected(truth), abs=6e-3)
    assert abs(power - rejected(null)) > 0.02  # the variance of the null is not that of the truth


def test_coefficients_use_the_information_of_the_model() -> None:
    rng = np.random.default_rng(2)
    rows = pd.concat([X] * 20, ignore_index=True)
    reports = WARNER.privatize(rng.choice(np.array(WARNER.categories), len(rows)), rng)
    information = ldp.PrivatizedLogit(reports, rows).information([-0.4, 0.0], X) / len(X)
    efficient = information[1, 1] - information[0, 1] ** 2 / information[0, 0]
    slope, n = 0.01, 10**6
    goal = planning.CoefficientTest([-0.4, slope], X, "age")
    noncentrality = n * slope**2 * efficient
    expected = stats.ncx2.sf(stats.chi2.isf(0.05, 1), 1, noncentrality)
    assert planning.power(WARNER, goal, n) == pytest.approx(expected, abs=2e-3)


# ---- what holds for every goal


@pytest.mark.parametrize("name", GOALS)
def test_the_size_is_alpha(name: str) -> None:
    mechanism, _, null = GOALS[name]
    for alpha in (0.05, 0.001):
        size = alpha / null.tests if isinstance(null, planning.PresenceTest) else alpha
        assert planning.power(mechanism, null, 3000, alpha) == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize("name", GOALS)
def test_respondents_are_the_inverse_of_power(name: str) -> None:
    mechanism, goal, null = GOALS[name]
    for asked, alpha, effect in ((0.8, 0.05, 1.0), (0.9, 0.01, 1.7)):
        given: Any = {"goal": goal, "alpha": alpha, "design_effect": effect}
        n = planning.sample_size(mechanism, power=asked, **given)
        assert planning.power(mechanism, goal, n, alpha, effect) >= asked
        assert planning.power(mechanism, goal, n - 1, alpha, effect) < asked
    with pytest.raises(ldp.errors.InvalidArgument, match="goal="):
        planning.sample_size(mechanism, goal=null)


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("effect", [1.0, 1.3])
def test_no_smaller_number_has_the_power_of_a_zigzag(presence: bool, effect: float) -> None:
    krr = ldp.KRR(JOBS, 2.0)
    goal: Any = planning.ValueTest(P3, "cook", 0.22)
    if presence:
        goal = planning.PresenceTest([0.6, 0.35, 0.05], "driver")
    n = planning.sample_size(krr, goal=goal, power=0.7, design_effect=effect)
    test = goal.ray(krr).test(1.0, 0.05)
    every = test.power(np.arange(1, n + 1) / effect)
    assert int(np.argmax(every >= 0.7)) + 1 == n
    assert np.any(np.diff(every) < 0.0)  # it is a zigzag


@pytest.mark.parametrize("name", GOALS)
def test_a_design_effect_divides_the_respondents(name: str) -> None:
    mechanism, goal, _ = GOALS[name]
    assert planning.power(mechanism, goal, 1500, design_effect=3.0) == pytest.approx(
        planning.power(mechanism, goal, 500), abs=1e-12
    )


def test_labels_decide_and_not_their_order() -> None:
    krr = ldp.KRR(JOBS, 1.0)
    series = pd.Series(dict(zip(JOBS, P3, strict=True)))
    for given in (series, series[::-1]):
        goal = planning.ValueTest(given, "cook", 0.2)
        plain = planning.ValueTest(P3, "cook", 0.2)
        assert planning.power(krr, goal, 900) == planning.power(krr, plain, 900)
    frame = pd.DataFrame([P3, P3[::-1]], columns=JOBS)
    groups = [planning.GroupsTest(f) for f in (frame, frame[list(JOBS[::-1])], frame.to_numpy())]
    assert len({round(planning.power(krr, goal, 500), 12) for goal in groups}) == 1
    table = pd.DataFrame(np.diag(P3), index=JOBS, columns=JOBS) * 0.5 + np.outer(P3, P3) * 0.5
    tables = [planning.IndependenceTest(t) for t in (table, table.iloc[::-1, ::-1])]
    assert len({round(planning.power((krr, krr), goal, 200), 12) for goal in tables}) == 1


def test_hashed_candidates_are_the_labels_of_a_series() -> None:
    orr = ldp.ORR(8, 64, epsilon=2.0)
    p = pd.Series({"a": 0.6, "b": 0.35, "c": 0.05})
    found = planning.power(orr, planning.PresenceTest(p, "c"), 2000)
    assert 0.3 < found < planning.power(orr, planning.PresenceTest(p, "c"), 4000)
    with pytest.raises(ldp.errors.InvalidArgument, match="candidates"):
        planning.power(orr, planning.PresenceTest([0.6, 0.35, 0.05], "c"), 2000)
