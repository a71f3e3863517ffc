"""Estimates of frequencies and unknown parameters: closed forms, other optimisers, boundaries."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from models.parameters.designs import ANSWERS, cheating, lie_detector, protective, unrelated
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats.devices import flip, opposite, parts, truth, unknown

Array = npt.NDArray[Any]


def fitted(*groups: tuple[Any, list[int]]) -> ldp.ParametersResults:
    results = ldp.FrequencyModel([mech.counts(n) for mech, n in groups]).fit()
    assert isinstance(results, ldp.ParametersResults)
    return results


TABLES = [([300, 200], [250, 250]), ([812, 188], [655, 345]), ([37, 13], [29, 26])]


@pytest.mark.parametrize("counts", TABLES)
def test_the_unrelated_question_of_two_groups_is_that_of_greenberg(counts: Any) -> None:
    """Greenberg, Abul-Ela, Simmons and Horvitz (1969), JASA 64, 520-539: estimate and variance."""
    P1, P2 = 0.7, 0.3
    results = fitted((unrelated(P1), counts[0]), (unrelated(P2), counts[1]))
    (n1, l1), (n2, l2) = ((sum(c), c[1] / sum(c)) for c in counts)
    share = (l1 * (1 - P2) - l2 * (1 - P1)) / (P1 - P2)
    other = (P2 * l1 - P1 * l2) / (P2 - P1)
    assert 0 < share < 1 and 0 < other < 1
    np.testing.assert_allclose(results.params, [1 - share, share, other], rtol=0, atol=1e-10)
    spread = l1 * (1 - l1) * (1 - P2) ** 2 / n1 + l2 * (1 - l2) * (1 - P1) ** 2 / n2
    spread /= (P1 - P2) ** 2
    assert results.bse["yes"] ** 2 == pytest.approx(spread, rel=1e-10)
    assert results.bse["no"] == pytest.approx(results.bse["yes"], rel=1e-10)


def test_cheating_detection_is_that_of_clark_and_desharnais() -> None:
    """Psychological Methods 3 (1998) 160-168: honest "yes" pi, honest "no" beta, cheaters gamma."""
    q, n = np.array([0.25, 0.6]), 600
    yes = np.array([180, 320]) / n
    beta = (yes[1] - yes[0]) / (q[1] - q[0])
    pi = (q[1] * yes[0] - q[0] * yes[1]) / (q[1] - q[0])
    results = fitted((cheating(q[0]), [420, 180]), (cheating(q[1]), [280, 320]))
    assert results.parameters["cheating"] == pytest.approx(1 - pi - beta, abs=1e-10)
    assert results.frequencies["yes"] == pytest.approx(pi / (pi + beta), abs=1e-10)
    step = 1 / (q[1] - q[0]) * np.array([1 - q[1], -(1 - q[0])])  # of gamma by the two shares
    spread = np.sum(step**2 * yes * (1 - yes) / n)
    assert results.bse["cheating"] ** 2 == pytest.approx(spread, rel=1e-9)


def test_the_stochastic_lie_detector_solves_its_two_equations() -> None:
    p, yes = np.array([0.75, 0.25]), np.array([0.30, 0.66])
    A = np.column_stack([p, 1 - p])
    admitted, others = np.linalg.solve(A, yes)  # pi t and 1 - pi
    results = fitted((lie_detector(p[0]), [700, 300]), (lie_detector(p[1]), [340, 660]))
    assert results.frequencies["yes"] == pytest.approx(1 - others, abs=1e-10)
    assert results.parameters["honest"] == pytest.approx(admitted / (1 - others), abs=1e-10)


def negative(x: Array, groups: Any) -> float:
    """Minus the log-likelihood of free frequencies and parameters."""
    total = 0.0
    for mech, n in groups:
        k = mech.k
        p = np.r_[x[: k - 1], 1 - x[: k - 1].sum()]
        Q = mech.matrix_at(x[k - 1 :]) if mech.unknown else mech.channel().matrix()
        law = p @ Q
        if np.any(p < 0) or np.any(law <= 0):
            return np.inf
        total -= float(np.array(n) @ np.log(law))
    return total


def test_the_maximum_is_that_of_another_optimiser() -> None:
    rng = np.random.default_rng(0)
    a, b = protective(1, 1, 1), protective(1, 3, 2)
    laws = [rng.dirichlet(np.ones(3) * 3) @ m.matrix_at([rng.uniform(0, 0.5)]) for m in (a, b)]
    groups = [(m, rng.multinomial(400, law)) for m, law in zip((a, b), laws, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frequencies differ between the groups: misfit
        results = fitted(*[(m, n.tolist()) for m, n in groups])
    best = min(
        minimize(
            negative, np.r_[rng.dirichlet(np.ones(3))[:2], rng.uniform()], (groups,), "Nelder-Mead",
            bounds=[(0, 1)] * 3, options={"xatol": 1e-10, "fatol": 1e-11, "maxiter": 4000},
        ).fun
        for _ in range(2)
    )  # fmt: skip
    assert -results.llf <= best + 1e-8
    assert results.gap < 1e-9 and results.converged


FOLDS = [[169, 18, 10, 3], [119, 31, 31, 19]]


@pytest.mark.parametrize("counts", FOLDS, ids=str)
def test_a_maximum_where_the_law_folds_back_is_exact(counts: list[int]) -> None:
    """The question asked twice: more agreement between reports than any share of "yes" can make.

    The share is then .25, where agreement is largest and the laws stand still to first order, so
    that scoring steps shrink and do not arrive.
    """
    honest = flip(0.75).when({"heads": truth, "tails": opposite})
    once = flip(unknown("cheating")).when({"heads": "no", "tails": honest})
    device = parts(once, once).mechanism(ANSWERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.LDPWarning)  # no standard errors at such a point
        warnings.simplefilter("error", ldp.ConvergenceWarning)
        results = fitted((device, counts))
    assert results.converged and results.gap < 1e-12
    assert results.frequencies["yes"] == pytest.approx(0.25, abs=1e-7)

    def loss(cheating: float) -> float:
        law = np.array([0.75, 0.25]) @ device.matrix_at(cheating=cheating)
        return -float(np.array(counts) @ np.log(law))

    best = minimize_scalar(loss, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-9})
    assert results.parameters["cheating"] == pytest.approx(best.x, abs=1e-5)


def test_profile_limits_lie_where_another_optimiser_says() -> None:
    groups = [(cheating(0.25), [420, 180]), (cheating(0.6), [280, 320])]
    results = fitted(*groups)
    low, high = results.conf_int().loc["cheating"]
    for limit in (low, high):
        restricted = minimize(
            lambda x, c: negative(np.r_[x, c], groups), [0.8], (limit,), "Nelder-Mead",
            options={"xatol": 1e-11, "fatol": 1e-11},
        )  # fmt: skip
        fall = 2 * (results.llf + restricted.fun)
        assert fall == pytest.approx(chi2.ppf(0.95, 1), abs=1e-4)


def test_an_estimate_at_zero_has_an_interval_that_is_cut() -> None:
    results = fitted((cheating(0.25), [400, 200]), (cheating(0.6), [210, 390]))
    assert results.params["cheating"] == 0.0 < results.conf_int().loc["cheating", "upper"]
    assert results.linear_params["cheating"] == pytest.approx(-0.0119, abs=1e-4)
    assert results.conf_int().loc["cheating", "lower"] == 0.0
    assert results.gap < 1e-9 and "boundary" in str(results.summary())


def test_an_interval_that_lies_outside_gets_a_limit_inside() -> None:
    with pytest.warns(ldp.errors.MisfitWarning, match="of no and yes is further outside"):
        results = fitted((unrelated(0.7), [480, 20]), (unrelated(0.3), [380, 120]))
    assert "than chance explains" in " ".join(str(results.summary()).split())
    lower, upper = results.conf_int().loc["yes"]
    assert results.params["yes"] == 0.0 == lower and 0.0 < upper < 0.03
    tail = [0.5 * chi2.sf(2 * (top - end), 1) for top, end in _falls(results, [0.0, upper])]
    assert tail[1] / tail[0] == pytest.approx(0.025, rel=1e-3)


def _falls(results: ldp.ParametersResults, values: list[float]) -> list[tuple[float, float]]:
    """The continued likelihood at its top and where "yes" has a value, by closed form."""
    n, seen = 500, np.array([20, 120])
    top = float(np.sum(seen * np.log(seen / n) + (n - seen) * np.log(1 - seen / n)))
    found = []
    for value in values:

        def loss(u: Array, value: float = value) -> float:
            yes = np.array([0.7, 0.3]) * value + np.array([0.3, 0.7]) * u[0]
            return -float(np.sum(seen * np.log(yes) + (n - seen) * np.log(1 - yes)))

        found.append((top, -minimize(loss, [0.3], method="Nelder-Mead", tol=1e-12).fun))
    return found


def test_what_is_open_at_the_estimate_says_so() -> None:
    """No carriers: their honesty may be anything."""
    groups = (lie_detector(0.7), [420, 180]), (lie_detector(0.3), [170, 430])
    with pytest.warns(ldp.LDPWarning, match="leave honest open"):
        results = fitted(*groups)
    assert list(results.undetermined) == ["honest"] and np.isnan(results.bse["honest"])
    assert np.isfinite(results.bse["yes"])
    assert results.conf_int().loc["honest"].tolist() == [0.0, 1.0]
    with pytest.raises(ldp.NotAvailable, match="honest"):
        results.wald_test("honest = 1")
    assert "honest open" in str(results.summary()).replace("\n", " ")


def test_a_report_that_is_impossible_at_the_estimate_leaves_no_standard_errors() -> None:
    """They were 0.4 and 2e-7: its information has no bound."""
    results = fitted((cheating(0.25), [0, 100]), (cheating(0.6), [0, 100]))
    assert np.isnan([results.fitted.bse(), results.linear.bse()]).all()
    assert results.conf_int().loc["yes"].to_numpy() == pytest.approx([0.947, 1.0], abs=1e-3)
    assert "no standard errors" in str(results.summary()) and "0.0000  " in str(results.summary())
    with pytest.warns(ldp.LDPWarning, match="no and yes open"):
        fitted((cheating(0.25), [100, 0]), (cheating(0.6), [100, 0]))


def test_the_covariance_has_the_rank_of_what_varies() -> None:
    a, b = protective(1, 1, 1), protective(1, 3, 2)
    results = fitted((a, [500, 180, 120]), (b, [330, 290, 180]))
    V = results.cov_params()
    assert V.shape == (4, 4) and np.linalg.matrix_rank(V, tol=1e-12) == 3
    np.testing.assert_allclose(V.iloc[:3].sum(), 0.0, atol=1e-12)
    assert results.df_model == 3
    assert results.aic == pytest.approx(6 - 2 * results.llf)


def test_goodness_of_fit_has_the_degrees_of_freedom_that_remain() -> None:
    a, b = protective(1, 1, 1), protective(1, 3, 2)
    results = fitted((a, [500, 180, 120]), (b, [330, 290, 180]))
    test = results.goodness_of_fit
    assert test is not None and test.df == 1
    saturated = fitted((cheating(0.25), [420, 180]), (cheating(0.6), [280, 320]))
    assert saturated.goodness_of_fit is None
    with pytest.warns(ldp.errors.MisfitWarning, match="do not fit"):
        fitted((a, [500, 180, 120]), (b, [100, 290, 410]))
