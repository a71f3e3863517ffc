"""Predicted standard errors: closed forms, sums over all reports, and simulated surveys."""

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
def test_totals_are_those_of_the_papers(where, epsilon):
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


def test_published_worst_cases():
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


def test_the_covariance_is_a_sum_over_all_reports():
    mechanism = rectangular(4, 1.0)
    Q = mechanism.channel().matrix()
    m = P4 @ Q
    problem = mechanism.moments(mechanism.specimen())
    G = problem.inverse
    assert np.allclose(G @ Q.T, np.eye(4))  # unbiased
    found = planning.one_report_covariance(mechanism, P4)
    assert np.allclose(found.matrix(), G @ (np.diag(m) - np.outer(m, m)) @ G.T)


def test_bits_and_blocks_have_the_information_of_their_reports():
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
def test_precision_is_that_of_the_default_fit(name):
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
def test_cohorts_agree_with_the_expected_loss(mechanism):
    p, words = geometric(6), names(6)
    found = planning.precision(mechanism, p, 900, candidates=words)
    assert found.total == pytest.approx(planning.expected_loss(mechanism, p, 900, words, "l2"))
    l1 = planning.expected_loss(mechanism, p, 900, words, "l1")
    assert np.sqrt(2 / np.pi) * found.se.sum() == pytest.approx(l1)


def test_a_design_effect_multiplies_variances():
    krr = ldp.KRR(LABELS, 1.0)
    one, two = (planning.precision(krr, P4, 1000, deff) for deff in (1.0, 2.5))
    assert np.allclose(two.se, one.se * np.sqrt(2.5))
    assert two.total == pytest.approx(2.5 * one.total)
    assert two.effective_n == pytest.approx(one.effective_n / 2.5)
    assert np.allclose(two.se, planning.precision(krr, P4, 400).se)


def test_a_series_goes_by_label():
    krr = ldp.URR(LABELS, ["cook"], 1.0)
    found = planning.precision(krr, P4, 1000)
    mixed = planning.precision(krr, pd.Series(P4, LABELS)[::-1], 1000)
    assert mixed.frame().equals(found.frame())
    assert list(found.se.index) == list(LABELS)
    numbered = planning.precision(ldp.KRR((7, 3), 1.0), pd.Series({3: 0.1, 7: 0.9}), 10)
    assert numbered.p.to_dict() == {7: 0.9, 3: 0.1}


def test_the_frame_and_the_summary():
    found = planning.precision(ldp.KRR(LABELS, 1.0), [0.7, 0.2, 0.1, 0.0], 10**12)
    frame = found.frame(0.1)
    assert np.allclose(frame["width"], 2 * 1.6448536269514722 * frame["se"])
    assert frame["relative"].iloc[-1] == np.inf
    assert np.allclose(frame["relative"].iloc[:-1], (frame["se"] / frame["p"]).iloc[:-1])
    text = found.summary(0.1, max_rows=2).as_text()
    assert "90% width" in text and "the 2 largest of 4" in text and "none" not in text
    assert found.worst == "nurse" and "(nurse)" in text


def test_what_has_no_precision():
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
def test_bad_arguments_are_named(given, name):
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
def test_variances_of_simulated_surveys(mechanism, n):
    assert discrepancy(mechanism, n, 400) < 4.0
    assert discrepancy(mechanism, n, 400, control=1.5) > 4.0  # it would see other variances


# Losses of one estimate.


def test_the_losses_by_hand():
    q, p = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.75, 0.0])
    found = planning.realised_losses(q, p)
    assert found["l1"] == 1.0 and found["total_variation"] == 0.5
    assert found["squared_l2"] == 0.375 and found["l2"] == pytest.approx(np.sqrt(0.375))
    assert found["hellinger"] == pytest.approx(np.sqrt(1 - np.sqrt(q * p).sum()))
    assert planning.realised_losses([1.0, 0.0], [0.0, 1.0])["hellinger"] == 1.0
    assert planning.realised_losses(p, p).max() == 0.0
    close = planning.realised_losses([0.5 + 1e-9, 0.5 - 1e-9], [0.5, 0.5])["hellinger"]
    assert close == pytest.approx(np.sqrt(0.5) * 1e-9, rel=1e-4)


def test_series_go_by_label_and_others_by_position():
    truth = pd.Series({"a": 0.7, "b": 0.3})
    estimate = pd.Series({"b": 0.4, "a": 0.6})
    assert planning.realised_losses(estimate, truth)["l1"] == pytest.approx(0.2)
    assert planning.realised_losses(estimate.to_numpy(), truth)["l1"] == pytest.approx(0.6)


def test_estimates_outside_the_simplex_have_no_hellinger_distance():
    for estimate in ([1.1, -0.1], [0.5, 0.4]):
        found = planning.realised_losses(estimate, [0.5, 0.5])
        assert np.isnan(found["hellinger"]) and found.drop("hellinger").notna().all()
    assert np.isnan(planning.realised_losses([0.5, 0.5], [0.5, 0.4])["hellinger"])


def test_the_mean_of_the_squared_loss_is_the_total():
    krr, p, rng = ldp.KRR(4, 1.0), [0.4, 0.3, 0.2, 0.1], np.random.default_rng(3)
    problems = (krr.moments(krr.draw(p, 300, rng)) for _ in range(400))
    losses = [planning.realised_losses(q.estimate()[0], p)["squared_l2"] for q in problems]
    total = planning.precision(krr, p, 300).total
    assert abs(np.mean(losses) - total) < 4 * np.std(losses) / 20
    assert abs(np.mean(losses) - 1.4 * total) > 4 * np.std(losses) / 20  # it would be seen


@pytest.mark.parametrize(
    ("estimate", "truth", "name"),
    [
        ([0.5, 0.5], [0.5, 0.4, 0.1], "estimate"),
        ([0.5, np.nan], [0.5, 0.5], "estimate"),
        ([0.5, np.inf], [0.5, 0.5], "estimate"),
        (["a", "b"], [0.5, 0.5], "estimate"),
        (None, [0.5, 0.5], "estimate"),
        ({0.5, 0.4}, [0.5, 0.5], "estimate"),
        ([0.5, 0.5], [0.7, 0.7], "truth"),
        ([0.5, 0.5], [1.5, -0.5], "truth"),
        ([0.5, 0.5], None, "truth"),
        ([], [], "truth"),
        ([0.5, 0.5], "ab", "truth"),
        ([[0.5, 0.5]], [[0.5, 0.5]], "truth"),
        (pd.Series({"a": 0.5, "b": 0.5}), pd.Series({"a": 0.5, "c": 0.5}), "estimate"),
        (pd.Series({"a": 0.5}), pd.Series([0.5, 0.5], ["a", "a"]), "truth"),
    ],
)
def test_bad_arguments_are_named_realised(estimate, truth, name):
    with pytest.raises(InvalidArgument) as caught:
        planning.realised_losses(estimate, truth)
    assert caught.value.name == name


# Sample sizes: the inverse of the precision, to the last respondent.

MOST = 2**63 - 1

MECHANISMS: dict[str, ldp.Mechanism] = {
    "krr": ldp.KRR(5, 1.0),
    "private": ldp.KRAPPOR(5, 0.01),
    "oue": ldp.KRAPPOR(5, 3.0, theta=0.5),
    "urr": ldp.URR(5, [1, 3], 0.7),
    "rectangular": rectangular(5, 2.0),
    "orr": ldp.ORR(4, 6, epsilon=1.5),
    "observed": ldp.Observed(5),
}


def value(found: planning.Precision, kind: str, category: Any, alpha: float) -> float:
    values = {"se": found.se, "width": found.width(alpha), "relative": found.relative}[kind]
    return float(values.max() if category is None else values[category])


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_the_inverse_of_precision(name):
    mechanism, rng = MECHANISMS[name], np.random.default_rng(5)
    among = names(5) if mechanism.is_open else None
    for i in range(30):
        p = rng.dirichlet(np.ones(5))
        kind = ("se", "width", "relative")[i % 3]
        category = None if i % 2 else mechanism.labels(among)[i % 5]
        most = 0.5 if kind == "relative" else -0.31
        target, deff = 10 ** rng.uniform(-6, most), 10 ** rng.uniform(-1, 1)
        alpha = rng.uniform(0.001, 0.5)
        how: dict[str, Any] = {"design_effect": deff, "candidates": among}
        given: dict[str, Any] = {kind: target, "category": category, "alpha": alpha}
        n = planning.sample_size(mechanism, p, **given, **how)
        assert isinstance(n, int) and n >= 1
        found = planning.precision(mechanism, p, n, **how)
        assert value(found, kind, category, alpha) <= target
        if n > 1:
            fewer = planning.precision(mechanism, p, n - 1, **how)
            assert value(fewer, kind, category, alpha) > target
        # what n respondents reach needs no more than n
        given[kind] = value(found, kind, category, alpha)
        assert planning.sample_size(mechanism, p, **given, **how) <= n


@pytest.mark.parametrize("se", [1e-3, 2.2e-9, 1.1e-9])
def test_huge_numbers_are_exact_too(se):
    """Beyond 2**53 neighbouring numbers of respondents round to one standard error."""
    krr = ldp.KRR(3, 1.0)
    n = planning.sample_size(krr, se=se)
    assert planning.precision(krr, None, n).se.max() <= se
    assert planning.precision(krr, None, n - 1).se.max() > se
    assert n < MOST


def test_simple_cases_by_hand():
    asked = ldp.Observed(("no", "yes"))
    assert planning.sample_size(asked, [0.5, 0.5], se=0.05) == 100
    assert planning.sample_size(asked, [0.5, 0.5], se=0.05, design_effect=1.5) == 150
    assert planning.sample_size(asked, [0.9, 0.1], relative=0.1, category="yes") == 900
    assert planning.sample_size(asked, [0.5, 0.5], width=0.1) == 385  # 1.96^2 / (4 .05^2) = 384.1
    assert planning.sample_size(asked, [0.9, 0.1], se=0.4) == 1
    assert planning.sample_size(asked, [1.0, 0.0], se=1e-9) == 1  # nothing varies
    by_label = pd.Series({"yes": 0.1, "no": 0.9})
    assert planning.sample_size(asked, by_label, relative=0.1, category="yes") == 900
    assert planning.sample_size(asked, by_label, relative=0.1, category="no") == 12


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"se": 1.5}, "below 0.5: .*1.5 percentage points are se=0.015$"),
        ({"se": 0.5}, "below 0.5: .*se=0.005$"),
        ({"width": 3}, "below 1: .*3 percentage points are width=0.03$"),
        ({"width": 1e9}, r"below 1: shares lie in \[0, 1\]$"),
    ],
)
def test_percentage_points_are_no_shares(given, remedy):
    with pytest.raises(InvalidArgument, match=remedy):
        planning.sample_size(ldp.KRR(3, 1.0), **given)


def test_a_mapping_is_a_series_by_label():
    warner, law = ldp.Warner(epsilon=1.0), {"yes": 0.05, "no": 0.95}
    in_order, series = [0.95, 0.05], pd.Series(law)
    channel = planning.design_channel(warner.categories, 1.0, prior=in_order)
    for given in (law, series):
        found = planning.precision(warner, given, 1000)
        assert found.p.to_dict() == {"no": 0.95, "yes": 0.05}
        for ask in (
            lambda p: planning.sample_size(warner, p, relative=0.1, category="yes"),
            lambda p: planning.compare([warner], p, 1000)["effective_share"].iloc[0],
            lambda p: planning.recommend(warner.categories, 1.0, {"yes": 1}, p).table["loss"][0],
        ):
            assert ask(given) == ask(in_order)
        other = planning.design_channel(warner.categories, 1.0, prior=given)
        assert other.loss == channel.loss
        goal = planning.ValueTest(given, "yes", 0.1)
        same = planning.ValueTest(in_order, "yes", 0.1)
        assert planning.power(warner, goal, 900) == planning.power(warner, same, 900)
    for bad in ({"yes": 0.05, "nope": 0.95}, {}, {"yes": 1.0}, {("yes", 1): 0.05, "no": 0.95}):
        with pytest.raises(InvalidArgument, match=r"^p=.*as a mapping.*'no', 'yes'"):
            planning.precision(warner, bad, 1000)
    with pytest.raises(InvalidArgument, match=r"^p="):
        planning.precision(warner, {"yes": "x", "no": 0.5}, 1000)


def test_the_worst_category_decides():
    urr, p = ldp.URR(("nurse", "cook", "none"), ["nurse"], 1.0), [0.2, 0.3, 0.5]
    each = [planning.sample_size(urr, p, se=0.01, category=c) for c in urr.categories]
    assert planning.sample_size(urr, p, se=0.01) == max(each) > min(each)
    uniform = planning.sample_size(urr, se=0.01)
    assert uniform == planning.sample_size(urr, [1 / 3] * 3, se=0.01)


def test_it_is_the_inverse_of_power_too():
    goal = planning.ValueTest([0.3, 0.7], category=0, value=0.25)
    krr = ldp.KRR(2, 2.0)
    how: dict[str, Any] = {"alpha": 0.01, "design_effect": 1.5}
    n = planning.sample_size(krr, goal=goal, power=0.9, **how)
    assert planning.power(krr, goal, n, **how) >= 0.9 > planning.power(krr, goal, n - 1, **how)
    assert planning.sample_size(krr, goal=goal) == planning.sample_size(krr, goal=goal, power=0.8)


BAD_SIZES: dict[str, list[Any]] = {
    "goal": [{"goal": "total"}],
    "se": [
        *({"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "se": 0.1}, {}),
        *({"se": 0.1, "width": 0.1}, {"se": 0.0}, {"se": -0.1}, {"se": True}, {"se": "0.1"}),
    ],
    "p": [
        {"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "p": [0.3, 0.4, 0.3]},
        *({"relative": 0.1, "p": [1, 0, 0]}, {"se": 0.1, "p": {0.5, 0.3, 0.2}}),
        {"se": 0.1, "p": pd.Series({"a": 0.5, "b": 0.3, "c": 0.2})},
    ],
    "power": [
        {"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "power": 2},
        {"se": 0.1, "power": 0.8},
    ],
    "width": [{"width": np.nan}],
    "relative": [{"relative": np.inf}],
    "category": [{"se": 0.1, "category": "x"}, {"se": 0.1, "category": 1.5}],
    "alpha": [{"se": 0.1, "alpha": 0}],
    "design_effect": [{"se": 0.1, "design_effect": 0}],
}


@pytest.mark.parametrize(
    ("given", "name"), [(one, name) for name, several in BAD_SIZES.items() for one in several]
)
def test_bad_arguments_are_named_sizes(given, name):
    with pytest.raises(InvalidArgument) as caught:
        planning.sample_size(ldp.KRR(3, 1.0), **given)
    assert caught.value.name == name
