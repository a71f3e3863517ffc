"""Estimates of frequencies and unknown parameters: closed forms, boundaries, what is open."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from models.parameters.designs import (
    ANSWERS,
    cheating,
    lie_detector,
    mixed,
    protective,
    unrelated,
    warner,
)
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats import NotIdentified, planning, privacy
from ldpstats.devices import flip, opposite, parts, spin, truth, unknown
from ldpstats.likelihood.parametric import (
    exact_jacobian,
    generic_point,
    unidentified,
    unidentified_exactly,
)
from ldpstats.programs.laws import terms_of

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


def test_an_interval_where_a_report_was_never_made() -> None:
    """Nobody says "no" in the second group: the limit of "yes" stopped at zero."""
    with pytest.warns(ldp.errors.MisfitWarning, match="further outside"):
        results = fitted((cheating(0.25), [70, 30]), (cheating(0.6), [0, 100]))
    upper = results.conf_int().loc["yes", "upper"]

    def best(yes: float) -> float:
        """Over the share of "yes" in the second group, up to one."""
        ratio = (0.25 + 0.75 * yes) / (0.6 + 0.4 * yes)

        def loss(s: float) -> float:
            return -float(30 * np.log(s * ratio) + 70 * np.log(1 - s * ratio) + 100 * np.log(s))

        return min(minimize_scalar(loss, bounds=(0.5, 1), method="bounded").fun, loss(1.0))

    top = best(results.linear_params["yes"])
    tail = [0.5 * chi2.sf(2 * (best(v) - top), 1) for v in (0.0, upper)]
    assert results.params["cheating"] == 0.0 and upper == pytest.approx(0.0612, abs=1e-4)
    assert tail[1] / tail[0] == pytest.approx(0.025, rel=1e-3)


def test_what_is_open_at_the_estimate_says_so() -> None:
    """No carriers: their honesty may be anything."""
    groups = (lie_detector(0.7), [420, 180]), (lie_detector(0.3), [170, 430])
    with pytest.warns(ldp.LDPWarning, match="leave honest open"):
        results = fitted(*groups)
    assert list(results.undetermined) == ["honest"] and np.isnan(results.bse["honest"])
    assert results.params["honest"] == 0.5  # in the middle, as any other is as good
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
    with pytest.raises(ldp.NotAvailable, match="no covariance; method='profile'"):
        results.conf_int(method="wald")
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


OPEN = {
    "unrelated question, one group": ([unrelated(0.7)], ["prevalence", "'no'", "'yes'"]),
    "cheating, one group": ([cheating(0.25)], ["cheating", "'no'", "'yes'"]),
    "lie detector, one group": ([lie_detector(0.7)], ["honest", "'yes'"]),
    "the same device twice": ([unrelated(0.7), unrelated("7/10")], ["prevalence"]),
    "own parameters in each group": ([cheating(0.25, "a"), cheating(0.6, "b")], ["a", "b"]),
    "cards of unknown mix, twice": ([warner(unknown("mix")), warner(unknown("mix"))], ["mix"]),
    "an even coin beside cards": ([warner(0.5), warner(unknown("mix"))], ["mix", "'yes'"]),
    "a parameter that is never used": (
        [warner(0.7), flip(unknown("c")).when({"heads": mixed(0.6), "tails": mixed(0.6)})],
        ["c"],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_it_is_refused_by_name_with_the_remedy(name: str) -> None:
    devices, words = OPEN[name]
    made = [d if isinstance(d, ldp.Mechanism) else d.mechanism(ANSWERS) for d in devices]
    model = ldp.FrequencyModel([m.counts([60, 40]) for m in made])
    with pytest.raises(ldp.NotIdentified, match="add a group") as error:
        model.fit()
    for word in words:
        assert word in str(error.value)


def test_only_what_is_open_is_named() -> None:
    """A known device tells the frequencies; the other tells neither of two parameters alone."""
    second = flip(unknown("b")).when({"heads": "yes", "tails": "no"})
    both = flip(unknown("a")).when({"heads": second}, otherwise="no").mechanism(ANSWERS)
    model = ldp.FrequencyModel([warner(0.8).counts([60, 40]), both.counts([60, 40])])
    with pytest.raises(ldp.NotIdentified) as error:
        model.fit()
    assert "unknown a" in str(error.value) and "'yes'" not in str(error.value)


def test_one_group_is_enough_where_reports_are_many() -> None:
    """A report that the truth never gives tells the mix, the others the frequencies."""
    law = {"red": unknown("red"), "truth": 1 - unknown("red")}
    device = spin(law).when({"red": "red", "truth": mixed(0.8)})
    mech = device.mechanism(ANSWERS, outputs=("no", "yes", "red"))
    results = ldp.FrequencyModel(mech.counts([50, 30, 20])).fit()
    assert results.parameters["red"] == pytest.approx(0.2, abs=1e-10)
    assert results.frequencies["yes"] == pytest.approx((0.375 - 0.2) / 0.6, abs=1e-10)


def test_exact_ranks_equal_rounded_ones() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        k, m, groups = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
        names = ("s", "t")[:m]
        categories = tuple("abc"[:k])
        made = []
        for _ in range(groups):
            shares = rng.multinomial(12, np.ones(k + 1) / (k + 1)).tolist()
            labels = (*categories, "own")
            bag = {v: Fraction(s, 12) for v, s in zip(labels, shares, strict=True)}
            inner = spin(bag).when({v: v for v in categories}, otherwise=truth)
            device = flip(unknown(names[int(rng.integers(m))]))
            made.append(device.when({"heads": "a", "tails": inner}).mechanism(categories))
        p, theta = generic_point(k, m)
        exact = [exact_jacobian(*terms_of(mech.exact, names), p, theta) for mech in made]
        rounded = unidentified([mech.polynomials(names) for mech in made])
        assert unidentified_exactly(exact, k).tolist() == rounded.tolist()


def test_two_answers_that_fit_equally_well_are_refused() -> None:
    """Warner's cards shown twice: (p, mix) and (1 - p, 1 - mix) make the same reports."""
    from ldpstats.devices import parts

    twice = parts(mixed(unknown("mix")), mixed(unknown("mix"))).mechanism(ANSWERS)
    third = parts(*[mixed(unknown("mix"))] * 3).mechanism(ANSWERS)
    assert twice.n_outputs == 4 and third.n_outputs == 8
    law = np.array([0.7, 0.3]) @ third.matrix_at(mix=0.8)
    model = ldp.FrequencyModel(third.counts(np.round(1000 * law).astype(int)))
    with pytest.raises(ldp.NotIdentified, match=r"two answers .* mix = 0\.(8|2|79)"):
        model.fit()


def test_two_answers_at_the_bounds_are_refused() -> None:
    """All "no" and nine of ten cheat, or all "yes" and 29 of 30."""
    honest = flip(0.75).when({"heads": truth, "tails": opposite})
    once = flip(unknown("cheating")).when({"heads": "no", "tails": honest})
    model = ldp.FrequencyModel(parts(once, once).mechanism(ANSWERS).counts([285, 5, 10, 0]))
    with pytest.raises(ldp.NotIdentified, match=r"cheating = 0\.9(667)? or 0\.9"):
        model.fit()


def test_a_parameter_that_only_an_empty_group_has_is_refused() -> None:
    known = flip(0.8).when({"heads": truth}, otherwise=opposite).mechanism(ANSWERS)
    empty = flip(unknown("cheating")).when({"heads": "no"}, otherwise=truth).mechanism(ANSWERS)
    with pytest.raises(NotIdentified, match=r"nobody reported .* cheating"):
        ldp.FrequencyModel([known.counts([600, 400]), empty.counts([0, 0])])
    other = empty.counts([700, 300])
    fitted = ldp.FrequencyModel([known.counts([600, 400]), empty.counts([0, 0]), other]).fit()
    assert "cheating" in fitted.params.index


matplotlib.use("Agg")


@pytest.fixture(scope="module")
def results() -> ldp.ParametersResults:
    groups = [cheating(0.25).counts([420, 180]), cheating(0.6).counts([280, 320])]
    found: ldp.ParametersResults = ldp.FrequencyModel(groups, name="drugs").fit()
    return found


def test_categories_come_first_then_parameters(results: ldp.ParametersResults) -> None:
    assert results.params.index.tolist() == ["no", "yes", "cheating"]
    both = [*results.frequencies, *results.parameters]
    assert both == results.params.tolist() and results.parameters.index.tolist() == ["cheating"]
    assert results.frequencies.sum() == pytest.approx(1.0)
    assert results.nobs == 1200 and results.name == "drugs"


def test_tests_of_hypotheses_know_both(results: ldp.ParametersResults) -> None:
    test = results.t_test("cheating = 0.1")
    z = (results.params["cheating"] - 0.1) / results.bse["cheating"]
    assert float(np.ravel(test.statistic)[0]) == pytest.approx(z, rel=1e-9)
    assert results.wald_test("cheating = 0.1, yes = 0.1").df == 2
    assert results.wald_test("yes + no = 1, cheating = 0.1").df == 1
    with pytest.raises(ldp.InvalidArgument, match="hypothesis"):
        results.wald_test("cheatin = 0.1")


def test_the_document_makes_the_same_results(results: ldp.ParametersResults) -> None:
    again = ldp.ParametersResults.from_json(results.to_json())
    assert str(again.summary(details=True)) == str(results.summary(details=True))
    pd.testing.assert_frame_equal(again.conf_int(0.1), results.conf_int(0.1))
    assert repr(again) == repr(results)
    damaged = results.to_dict() | {"groups": {"mechanisms": [], "counts": [[1]], "missing": [0]}}
    with pytest.raises(ldp.InvalidArgument):
        ldp.ParametersResults.from_dict(damaged)


def test_tables_and_figures(results: ldp.ParametersResults) -> None:
    frame = results.to_frame()
    assert frame["term"].tolist() == ["no", "yes", "cheating"]
    assert results.glance()["n_parameters"].tolist() == [1]
    text = str(results.summary())
    assert "cheating" in text and "profile likelihood" in text and "Goodness" not in text
    axes = results.plot(truth=[0.85, 0.15, 0.2])
    assert "cheating" in [label.get_text() for label in axes.get_yticklabels()]
    matplotlib.pyplot.close("all")


def test_missing_answers_are_counted() -> None:
    device = cheating(0.25)
    rng = np.random.default_rng(5)
    values = pd.Series(["no"] * 70 + ["yes"] * 28 + [None] * 2, dtype=object)
    reports = device.simulate(values, rng, missing="count", cheating=0.1)
    assert len(reports) == 98 and reports.n_missing == 2
    groups = [reports, cheating(0.6).counts([30, 60])]
    assert ldp.FrequencyModel(groups).fit().n_missing == 2


A, B = cheating(0.25), cheating(0.6)
PAIR = [A.counts([420, 180]), B.counts([280, 320])]


@pytest.mark.parametrize(
    "how",
    [
        {"method": "em"},
        {"method": "inversion"},
        {"method": 3},
        {"constraints": lambda p: [p[0] == 0.3]},
        {"cov_type": "fpe16"},
    ],
)
def test_only_maximum_likelihood(how: dict[str, Any]) -> None:
    with pytest.raises(ldp.NotAvailable, match=r"unknown cheating.*maximum likelihood"):
        ldp.FrequencyModel(PAIR).fit(**how)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ldp.FrequencyModel(PAIR).likelihood(),
        lambda: ldp.FrequencyModel(PAIR).moments(),
        lambda: ldp.FrequencyModel(PAIR).problems,
        lambda: ldp.FrequencyModel(PAIR).test_distribution([0.5, 0.5]),
        lambda: ldp.GroupedModel({"a": PAIR[0], "b": PAIR[0]}).fit(),
        lambda: ldp.two_sample_test(PAIR[0], PAIR[0]),
        lambda: ldp.homogeneity_test(PAIR),
        lambda: ldp.AssociationModel(_reports(), _reports()).fit(),
        lambda: ldp.change(_reports(), _reports()),
        lambda: ldp.associations({"a": _reports(), "b": _reports()}),
        lambda: _survey().association("ill", "sick"),
        lambda: _survey().frequencies("ill", by="region"),
        lambda: planning.expected_loss(A, [0.8, 0.2], 100),
        lambda: planning.compare([A], [0.8, 0.2], 100),
        lambda: privacy.epsilon(A),
        lambda: privacy.dominates(A, B),
        lambda: A.channel(),
        lambda: A.privatize(["no"], np.random.default_rng(1)),
        lambda: A.draw([0.5, 0.5], 10, np.random.default_rng(1)),
        lambda: A.client(),
        lambda: A.collector(),
        lambda: A.audit(),
    ],
)
def test_other_models_say_what_is_unknown_and_what_to_do(ask: Any) -> None:
    with pytest.raises((ldp.NotAvailable, ldp.InvalidArgument), match=r"unknown|cheating") as error:
        ask()
    remedies = ("at(", "one group at a time", "survey.regression(")
    assert any(remedy in str(error.value) for remedy in remedies)


def _reports() -> ldp.Reports:
    return A.simulate(["no", "yes"] * 10, np.random.default_rng(1), cheating=0.1)


def _survey() -> ldp.Survey:
    table = pd.DataFrame({"ill": ["no", "yes"] * 10, "sick": ["no"] * 20, "age": range(20)})
    table["region"] = ["n", "s"] * 10
    return ldp.Survey(table, {"ill": A, "sick": ldp.Warner(epsilon=1.0)})


def test_one_group_of_a_survey_is_not_identified() -> None:
    with pytest.raises(ldp.NotIdentified, match="cheating"):
        _survey().frequencies("ill")


def test_bits_and_cohorts_cannot_join() -> None:
    unary = ldp.KRAPPOR(ANSWERS, 1.0)
    bits = unary.privatize(["no", "yes"] * 10, np.random.default_rng(1))
    with pytest.raises(ldp.NotAvailable, match="bits or cohorts"):
        ldp.FrequencyModel([*PAIR, bits]).fit()


def test_other_categories_are_refused() -> None:
    with pytest.raises(ldp.MechanismMismatch, match="same labels"):
        ldp.FrequencyModel([PAIR[0], protective(1, 1, 1).counts([3, 2, 1])])


def test_a_report_that_nobody_can_make_is_refused() -> None:
    device = flip(unknown("c")).when({"heads": "no", "tails": truth})
    mech = device.mechanism(ANSWERS, outputs=("no", "yes", "never"))
    groups = [mech.counts([30, 20, 1]), warner(0.8).counts([20, 20])]
    with pytest.raises(ldp.InvalidArgument, match=r"never.*can make"):
        ldp.FrequencyModel(groups).fit()


def test_candidates_are_refused() -> None:
    with pytest.raises(ldp.NotAvailable, match="candidates"):
        ldp.FrequencyModel(PAIR, candidates=["a"])


def forced(answer: str) -> Any:
    return flip(unknown("u")).when({"heads": answer, "tails": truth}).mechanism(ANSWERS)


@pytest.mark.parametrize("counts", [[5, 0], [0, 5], [800, 0]])
def test_that_nobody_made_a_report_does_not_prove_the_answer_that_makes_it(counts: Any) -> None:
    """The likelihood is largest where the share is zero, at which the report is impossible."""
    results = fitted(*((forced(answer), counts) for answer in ANSWERS))
    never = ANSWERS[counts.index(0)]
    assert results.params[never] == pytest.approx(0.0, abs=1e-6)
    assert results.presence_pvalues()[never] == pytest.approx(0.5, abs=0.001)
    assert results.pvalues[never] == pytest.approx(1.0, abs=0.002)
    # but one who made it does
    other = fitted((forced("yes"), [1, 4]), (forced("no"), [1, 4]))
    assert other.presence_pvalues().loc["no"] == 0.0


def test_the_unconstrained_estimate_is_found_along_a_narrow_ridge() -> None:
    with pytest.warns(ldp.MisfitWarning, match="further outside"):
        results = fitted((forced("yes"), [10**6, 2]), (forced("no"), [3, 5]))
    told = (first := 10**6 / (10**6 + 2)) + 5 / 8  # (1 - u) times the shares, which sum to one
    expected = [first / told, 1 - first / told, 1 - told]
    assert results.linear_params.to_numpy() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 10**9])
def test_very_small_and_very_large_surveys(n: int) -> None:
    groups = [A.counts([n, n]), B.counts([n, 2 * n])]
    found = ldp.FrequencyModel(groups).fit()
    ends = found.conf_int()
    assert ((ends["lower"] <= found.params + 1e-6) & (found.params <= ends["upper"] + 1e-6)).all()
    assert ends.to_numpy().min() >= 0.0 and ends.to_numpy().max() <= 1.0
