"""Predicted standard errors: closed forms, sums over all reports, and simulated surveys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.word_laws import geometric, names
from surveys import rectangular

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument, NotAvailable

P4 = np.array([0.4, 0.3, 0.2, 0.1])
LABELS = ("nurse", "cook", "driver", "none")


def laws(k: int) -> dict[str, np.ndarray]:
    zipf = 1.0 / np.arange(1, k + 1)
    return {
        "uniform": np.full(k, 1.0 / k),
        "zipf": zipf / zipf.sum(),
        "one": np.eye(k)[0] * 0.9 + 0.1 / k,
        "zeros": np.append(np.full(k // 2, 1.0 / (k // 2)), np.zeros(k - k // 2)),
    }


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("where", ["uniform", "zipf", "zeros"])
def test_totals_are_those_of_the_papers(where: str, epsilon: float) -> None:
    k, n = 8, 5000
    p, s = laws(k)[where], [0, 1, 2]

    def total(mechanism: ldp.Mechanism) -> float:
        return planning.precision(mechanism, p, n, method="inversion").total

    # KBR16 Propositions 3 and 4, and MK19 Propositions 15 and 18, as functions of the rates
    assert total(ldp.KRR(k, epsilon)) == pytest.approx(planning.krr_l2(p, epsilon, n))
    assert total(ldp.KRAPPOR(k, epsilon)) == pytest.approx(planning.krappor_l2(p, epsilon, n))
    oue = ldp.KRAPPOR(k, epsilon, theta=0.5)
    assert total(oue) == pytest.approx(planning.krappor_l2(p, epsilon, n, theta=0.5))
    assert total(ldp.URR(k, s, epsilon)) == pytest.approx(planning.urr_l2(p, s, epsilon, n))
    assert total(ldp.URAP(k, s, epsilon)) == pytest.approx(planning.urap_l2(p, s, epsilon, n))
    assert total(ldp.Observed(k)) == pytest.approx(planning.nonprivate_l2(p, n))
    se = planning.precision(ldp.KRR(k, epsilon), p, n).se
    assert np.sqrt(2 / np.pi) * se.sum() == pytest.approx(planning.krr_l1(p, epsilon, n))


def test_published_worst_cases() -> None:
    """KBR16 section 4.3 in numbers: k = 100, epsilon = ln k, 10,000 respondents."""
    epsilon, n = float(np.log(100)), 10_000
    krr = planning.precision(ldp.KRR(100, epsilon), None, n)
    assert krr.effective_n == pytest.approx(2475, abs=0.5)
    krappor = planning.precision(ldp.KRAPPOR(100, epsilon), None, n, method="inversion")
    assert krappor.effective_n == pytest.approx(742, abs=0.5)
    # MK19 eq. 12 and Proposition 16 at the worst p of uRR
    p = planning.urr_worst_distribution(100, 10, 1.0)
    urr = planning.precision(ldp.URR(100, list(range(10)), 1.0), p, 20_000)
    assert urr.total == pytest.approx(planning.urr_worst_l2(100, 10, 1.0, 20_000))
    assert urr.total == pytest.approx(0.002156, abs=5e-7)


def test_the_covariance_is_a_sum_over_all_reports() -> None:
    mechanism = rectangular(4, 1.0)
    Q = mechanism.channel().matrix()
    m = P4 @ Q
    problem = mechanism.moments(mechanism.specimen())
    G = problem.inverse
    assert np.allclose(G @ Q.T, np.eye(4))  # unbiased
    found = planning.one_report_covariance(mechanism, P4)
    assert np.allclose(found.matrix(), G @ (np.diag(m) - np.outer(m, m)) @ G.T)


def test_bits_and_blocks_have_the_information_of_their_reports() -> None:
    """n times the summed variance at epsilon 1 and p_i ~ 1/i, by listing all reports."""
    p = 1.0 / np.arange(1, 9)
    p /= p.sum()
    subsets, oue = ldp.SubsetSelection(8, 1.0), ldp.KRAPPOR(8, 1.0, theta=0.5)
    for mechanism, total in ((subsets, 22.21), (ldp.KRR(8, 1.0), 27.91), (oue, 26.45)):
        assert planning.precision(mechanism, p, 1).total == pytest.approx(total, abs=0.005)
        Q = mechanism.channel().matrix()
        Q = Q[:, Q.any(axis=0)]
        V = np.linalg.inv((Q / (p @ Q)) @ Q.T) - np.outer(p, p)
        assert np.allclose(planning.one_report_covariance(mechanism, p).matrix(), V)


FITTED = {
    "subsets": ldp.SubsetSelection(6, 1.0),
    "krappor": ldp.KRAPPOR(6, 1.0),
    "urap": ldp.URAP(6, [0, 2], 1.0),
}


@pytest.mark.parametrize("name", FITTED)
def test_precision_is_that_of_the_default_fit(name: str) -> None:
    """Summed squared errors of fits from whole reports, within 4 Monte Carlo errors (R = 60)."""
    mechanism, R, n = FITTED[name], 60, 2000
    p, rng = geometric(mechanism.k), np.random.default_rng(5)
    truth = np.searchsorted(np.cumsum(p)[:-1], rng.random((R, n)))
    fits = [ldp.FrequencyModel(mechanism.privatize(row, rng)).fit() for row in truth]
    losses = np.array([((fit.linear_params.to_numpy() - p) ** 2).sum() for fit in fits])
    found = planning.precision(mechanism, p, n)
    error = losses.std() / np.sqrt(R)
    assert abs(losses.mean() - found.total) < 4.0 * error < 0.8 * found.total
    se = np.array([np.sqrt(np.diag(fit.linear_cov)) for fit in fits])
    assert np.allclose(se.mean(axis=0), found.se, rtol=0.04)  # those that results report


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.ORR(3, 5, epsilon=1.5),
        ldp.ORAPPOR(4, 2, 5, epsilon=1.5),
        ldp.RAPPOR(5, 3, 4, f=0.3, p=0.2, q=0.7),
    ],
)
def test_cohorts_agree_with_the_expected_loss(mechanism: ldp.Mechanism) -> None:
    p, words = geometric(6), names(6)
    found = planning.precision(mechanism, p, 900, candidates=words)
    assert found.total == pytest.approx(planning.expected_loss(mechanism, p, 900, words, "l2"))
    l1 = planning.expected_loss(mechanism, p, 900, words, "l1")
    assert np.sqrt(2 / np.pi) * found.se.sum() == pytest.approx(l1)


def test_a_design_effect_multiplies_variances() -> None:
    krr = ldp.KRR(LABELS, 1.0)
    one, two = (planning.precision(krr, P4, 1000, deff) for deff in (1.0, 2.5))
    assert np.allclose(two.se, one.se * np.sqrt(2.5))
    assert two.total == pytest.approx(2.5 * one.total)
    assert two.effective_n == pytest.approx(one.effective_n / 2.5)
    assert np.allclose(two.se, planning.precision(krr, P4, 400).se)


def test_a_series_goes_by_label() -> None:
    krr = ldp.URR(LABELS, ["cook"], 1.0)
    found = planning.precision(krr, P4, 1000)
    mixed = planning.precision(krr, pd.Series(P4, LABELS)[::-1], 1000)
    assert mixed.frame().equals(found.frame())
    assert list(found.se.index) == list(LABELS)
    numbered = planning.precision(ldp.KRR((7, 3), 1.0), pd.Series({3: 0.1, 7: 0.9}), 10)
    assert numbered.p.to_dict() == {7: 0.9, 3: 0.1}


def test_the_frame_and_the_summary() -> None:
    found = planning.precision(ldp.KRR(LABELS, 1.0), [0.7, 0.2, 0.1, 0.0], 10**12)
    frame = found.frame(0.1)
    assert np.allclose(frame["width"], 2 * 1.6448536269514722 * frame["se"])
    assert frame["relative"].iloc[-1] == np.inf
    assert np.allclose(frame["relative"].iloc[:-1], (frame["se"] / frame["p"]).iloc[:-1])
    text = found.summary(0.1, max_rows=2).as_text()
    assert "90% width" in text and "the 2 largest of 4" in text and "none" not in text
    assert found.worst == "nurse" and "(nurse)" in text


def test_what_has_no_precision() -> None:
    pum = ldp.PUM(ldp.URR(LABELS, ["cook"], 1.0), tags=("home",))
    with pytest.raises(InvalidArgument, match="common"):
        planning.precision(pum, P4, 10)
    assert planning.precision(pum.common, None, 10).se.size == 5
    with pytest.raises(NotAvailable, match="8192"):
        planning.precision(ldp.ORR(16, 2, epsilon=1.0), None, 10, candidates=names(9000))


BAD: dict[str, list[Any]] = {
    "mechanism": [{"mechanism": None}, {"mechanism": "krr"}, {"mechanism": ldp.KRR}],
    "p": [
        *({"p": [0.5, 0.5]}, {"p": [0.5, 0.3, 0.1]}, {"p": [0.5, 0.6, -0.1]}),
        *({"p": [np.nan, 0.5, 0.5]}, {"p": "abc"}, {"p": [[0.5, 0.3, 0.2]]}),
        *({"p": {0.5, 0.3, 0.2}}, {"p": pd.Series([0.5, 0.3, 0.2], [0, 1, 3])}),
    ],
    "n": [{"n": 0}, {"n": 2.0}, {"n": True}, {"n": None}, {"n": 2**63}, {"n": [10]}],
    "design_effect": [
        *({"design_effect": 0}, {"design_effect": -1.0}, {"design_effect": np.inf}),
        *({"design_effect": "2"}, {"design_effect": None}),
    ],
}


@pytest.mark.parametrize(
    ("given", "name"), [(one, name) for name, several in BAD.items() for one in several]
)
def test_bad_arguments_are_named(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        planning.precision(**({"mechanism": ldp.KRR(3, 1.0), "p": None, "n": 10} | given))
    assert caught.value.name == name


# -- simulation ------------------------------------------------------------------------------


def discrepancy(mechanism: ldp.Mechanism, n: int, R: int, control: float = 1.0) -> float:
    """Largest distance of simulated variances from predicted ones, in Monte Carlo errors."""
    p, rng = laws(mechanism.k)["zipf"], np.random.default_rng(20)
    draws = (mechanism.moments(mechanism.draw(p, n, rng)) for _ in range(R))
    estimates = np.array([problem.estimate()[0] for problem in draws])
    found = planning.precision(mechanism, p, n, method="inversion")
    variances = np.append(found.se**2, found.total) * control
    squares = (estimates - p) ** 2
    squares = np.column_stack([squares, squares.sum(axis=1)])
    error = squares.std(axis=0) / np.sqrt(R)
    return float((np.abs(squares.mean(axis=0) - variances) / error).max())


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (ldp.KRR(5, 1.0), 400),
        (rectangular(5, 1.0), 400),
        (ldp.URAP(8, [0, 7], 1.0), 1000),
        (ldp.ORAPPOR(8, 1, 4, epsilon=2.0, alphabet=12), 20_000),
    ],
    ids=str,
)
def test_variances_of_simulated_surveys(mechanism: ldp.Mechanism, n: int) -> None:
    assert discrepancy(mechanism, n, 400) < 4.0
    assert discrepancy(mechanism, n, 400, control=1.5) > 4.0  # it would see other variances
