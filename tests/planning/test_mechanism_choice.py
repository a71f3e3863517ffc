"""Mechanisms side by side, and the one that is recommended."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.word_laws import names

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified

JOBS = ("nurse", "cook", "driver")
P = [0.5, 0.3, 0.2]


# -- side by side ----------------------------------------------------------------------------


def test_the_table_holds_the_precisions():
    given = {
        "short": ldp.KRR(JOBS, 1.0),
        "long": ldp.KRAPPOR(JOBS, 2.0),
        "cohorts": ldp.ORR(4, 8, epsilon=1.5, alphabet=JOBS),
        "direct": ldp.Observed(JOBS),
    }
    table = planning.compare(given, P, 2000, design_effect=1.3)
    assert list(table.index) == list(given)
    for name, mechanism in given.items():
        found = planning.precision(mechanism, P, 2000, 1.3)
        row = table.loc[name]
        assert row["worst_se"] == found.se.max() and row["worst_category"] == found.worst
        assert row["total_se"] == pytest.approx(np.sqrt(found.total))
        assert row["effective_share"] == found.effective_share
        assert row["epsilon"] == mechanism.epsilon
    assert table["bits"].to_dict() == {"short": 2, "long": 3, "cohorts": 5, "direct": 2}
    assert table["total_ratio"].min() == table["worst_ratio"].min() == 1.0
    needed = [planning.sample_size(m, P, se=0.001) for m in given.values()]
    assert np.allclose(table["worst_ratio"], np.array(needed) / min(needed), rtol=1e-4)


def test_a_list_is_named_by_its_mechanisms_and_labels_may_be_mixed():
    first, mixed = ldp.KRR(JOBS, 1.0), ldp.URR(JOBS[::-1], ["cook"], 1.0)
    table = planning.compare([first, mixed], P, 100)
    assert list(table.index) == [str(first), str(mixed)]
    own = planning.precision(mixed, pd.Series(P, JOBS), 100)
    assert table["worst_se"].iloc[1] == own.se.max()


INCOMPARABLE: dict[str, list[Any]] = {
    "mechanisms": [[], {}, None, "krr", ldp.KRR(3, 1.0), {ldp.KRR(3, 1.0)}, {1: ldp.KRR(3, 1.0)}],
    "mechanisms[0]": [["krr"]],
    "mechanisms['a']": [{"a": 1}],
    "mechanisms[1]": [[ldp.KRR(3, 1.0), ldp.KRR(3, 1.0)]],
    "mechanisms['b']": [
        {"a": ldp.KRR(3, 1.0), "b": ldp.KRR(4, 1.0)},
        {"a": ldp.KRR(3, 1.0), "b": ldp.KRR(JOBS, 1.0)},
    ],
}


@pytest.mark.parametrize(
    ("mechanisms", "name"),
    [(one, name) for name, several in INCOMPARABLE.items() for one in several],
)
def test_what_cannot_be_compared(mechanisms, name):
    with pytest.raises(InvalidArgument) as caught:
        planning.compare(mechanisms, P, 10)
    assert caught.value.name == name


# -- the recommended one ---------------------------------------------------------------------


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (20, 1.0), (3, 10.0)])
def test_the_best_is_the_best(k, epsilon):
    p = 1.0 / np.arange(1, k + 1)
    p /= p.sum()
    kinds = (
        *(ldp.KRR, ldp.KRAPPOR, lambda k, e: ldp.KRAPPOR(k, e, theta=0.5), ldp.SubsetSelection),
        *(ldp.HadamardResponse, ldp.ProjectiveGeometryResponse, ldp.OLH),
    )
    every = [kind(k, epsilon) for kind in kinds]
    weights = {0: 1.0, k - 1: -0.5}
    r = np.zeros(k)
    r[list(weights)] = list(weights.values())
    losses = {
        "total": lambda V: V.variances().sum(),
        "worst": lambda V: V.variances().max(),
        "contrast": lambda V: r @ V.matrix() @ r,
    }
    for goal, loss in losses.items():
        found = planning.recommend(k, epsilon, weights if goal == "contrast" else goal, p)
        each = [loss(planning.one_report_covariance(m, p)) for m in every]
        own = loss(planning.one_report_covariance(found.best, p))
        second = loss(planning.one_report_covariance(found.runner_up, p))
        assert own == pytest.approx(min(each))
        assert found.cost == pytest.approx(second / own)
        worse = [loss for loss in each if loss > own * (1 + 1e-9)]
        assert second == pytest.approx(min(worse) if worse else own)
        assert np.all(np.diff(found.table["ratio"]) >= -1e-8)
        assert str(found.best) in str(found)


def test_one_category_may_be_written_in_two_ways():
    first = planning.recommend(JOBS, 1.0, {"cook": 1}, P)
    second = planning.recommend(JOBS, 1.0, {"category": "cook"}, P)
    assert first.table.equals(second.table)
    assert "share of cook" in first.reason
    own = planning.precision(first.best, P, 1).variances[1]
    assert first.table["loss"].iloc[0] == pytest.approx(own)
    labelled = planning.recommend(("category", "cook"), 1.0, {"category": 1})
    assert "share of category" in labelled.reason


def test_ties_go_to_the_shorter_report():
    found = planning.recommend(("no", "yes"), 1.0)
    assert found.table["name"].iloc[:2].tolist() == ["k-RR", "Warner"]
    tied = found.table[found.table["ratio"] == 1.0]
    assert tied["bits"].is_monotonic_increasing and len(tied) > 2
    assert "As good, with reports that are no shorter: Warner" in found.reason
    assert found.cost > 1.0 and str(found.runner_up) not in set(tied["mechanism"])


def test_reasons_say_what_the_runner_up_costs():
    found = planning.recommend(64, 1.0)
    assert found.best == ldp.SubsetSelection(64, 1.0)
    more = 100 * (found.cost - 1)
    assert f"{more:.2g}% more respondents" in found.reason
    contrast = planning.recommend(JOBS, 1.0, {"nurse": 1, "cook": -0.5})
    assert "variance of nurse - 0.5 cook" in contrast.reason


def test_short_reports_are_named_where_they_cost_little():
    found = planning.recommend(5000, 1.0)
    row = found.table[found.table["name"] == "Projective geometry"].iloc[0]
    assert row["ratio"] < 1.1 and f"with {row['bits']} bits" in found.reason


BAD: dict[str, list[Any]] = {
    "categories": [
        *({"categories": 1}, {"categories": None}, {"categories": {"a", "b"}}),
        *({"categories": ["a", "a"]}, {"categories": 2**62}),
    ],
    "epsilon": [{"epsilon": 0}, {"epsilon": [1.0, 2.0]}],
    "goal": [
        *({"goal": "best"}, {"goal": None}, {"goal": {}}, {"goal": {"pilot": 1}}),
        *({"goal": {"nurse": 0.0}}, {"goal": {"nurse": 1, "cook": 1, "driver": 1}}),
        *({"goal": {"category": "pilot"}}, {"goal": {"category": ["nurse"]}}, {"goal": ["total"]}),
    ],
    "goal['nurse']": [{"goal": {"nurse": "1"}}, {"goal": {"nurse": np.inf}}],
    "p": [{"p": [0.5, 0.5]}, {"p": pd.Series({"nurse": 1.0})}],
}


@pytest.mark.parametrize(
    ("given", "name"), [(one, name) for name, several in BAD.items() for one in several]
)
def test_bad_arguments_are_named(given, name):
    with pytest.raises(InvalidArgument) as caught:
        planning.recommend(**({"categories": JOBS, "epsilon": 1.0} | given))
    assert caught.value.name == name


def test_candidates_of_closed_alphabets_are_refused():
    with pytest.raises(ldp.errors.NotAvailable, match="candidates"):
        planning.precision(ldp.KRR(3, 1.0), None, 10, candidates=names(3))


def test_large_block_designs_have_standard_errors_but_no_covariance():
    design = ldp.ProjectiveGeometryResponse(10_000, 1.0)
    found = planning.precision(design, None, 1000)
    assert np.all(np.isfinite(found.se))
    with pytest.raises(ldp.errors.NotAvailable, match="precision"):
        planning.one_report_covariance(design)
    small = ldp.ProjectiveGeometryResponse(20, 1.0)
    p = np.linspace(0.01, 0.09, 20)
    p /= p.sum()
    V = planning.one_report_covariance(small, p)
    assert np.allclose(planning.precision(small, p, 1).variances, V.variances())


# -- a test as the goal ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "goal",
    [
        planning.ValueTest(pd.Series([0.2, 0.3, 0.5], JOBS[::-1]), "cook", 0.25),
        planning.GroupsTest([P, [0.4, 0.3, 0.3]], shares=[0.8, 0.2]),
        planning.PresenceTest(pd.Series([0.6, 0.37, 0.03], JOBS), "driver"),
        planning.CoefficientTest([[0.2, 0.1], [0.4, 0.0]], np.eye(2) + 1.0, (0, "cook"), "mnlogit"),
    ],
    ids=["value", "groups", "presence", "coefficient"],
)
def test_a_test_is_a_goal(goal):
    found = planning.recommend(JOBS, 1.0, goal)
    needed = {m: planning.sample_size(m, goal=goal) for m in (found.best, found.runner_up)}
    losses = found.table.set_index("mechanism")["loss"]
    assert all(losses[str(m)] == n for m, n in needed.items())
    assert needed[found.best] == losses.min() < needed[found.runner_up]
    direct = planning.sample_size(ldp.Observed(JOBS), goal=goal)
    assert found.table["effective_share"].iloc[0] == pytest.approx(direct / losses.min())
    assert f"respondents for power 0.8 {goal.words}" in str(found).replace("\n", " ")
    assert found.shares == goal.truth


def test_tests_that_are_no_goal():
    goal = planning.ValueTest(P, 0, 0.4)
    with pytest.raises(InvalidArgument, match="of two variables"):
        planning.recommend(2, 1.0, planning.IndependenceTest([[0.3, 0.2], [0.2, 0.3]]))
    with pytest.raises(InvalidArgument, match="which has its own truth"):
        planning.recommend(3, 1.0, goal, p=P)
    with pytest.raises(InvalidArgument, match="null hypothesis for its truth"):
        planning.recommend(3, 1.0, planning.ValueTest(P, 0, 0.5))
    with pytest.raises(NotAvailable, match="no number of respondents"):
        planning.recommend(3, 1.0, planning.ValueTest(P, 0, 0.5 + 1e-9))


# -- asking and protecting less --------------------------------------------------------------

SIX = np.array([[0.19] * 5 + [0.05], [0.184] * 5 + [0.08]])
ONE = [
    (
        planning.GroupsTest(SIX, category=5),
        planning.GroupsTest([[0.95, 0.05], [0.92, 0.08]], category=1),
    ),
    (planning.ValueTest(SIX[1], 5, 0.05), planning.ValueTest([0.92, 0.08], 1, 0.05)),
]


@pytest.mark.parametrize(("goal", "of_two"), ONE)
def test_less_is_what_the_smaller_question_needs(goal, of_two):
    """One category of six, asked by itself or protected alone; what is known of others is not."""
    found = planning.recommend(6, 1.0, goal)
    needed = found.less.set_index("name")["loss"]
    warner, urr = ldp.Warner(epsilon=1.0, categories=(0, 1)), ldp.URR(6, {5}, epsilon=1.0)
    assert needed["Asking only whether 5"] == planning.sample_size(warner, goal=of_two)
    assert needed["URR that protects 5 alone"] == planning.sample_size(urr, goal=goal)
    assert (found.less["ratio"] < 1.0).all() and found.less["loss"].is_monotonic_increasing
    assert found.less["ratio"].to_numpy() * found.table["loss"][0] == pytest.approx(
        found.less["loss"]
    )
    assert "gives up the shares of the other 5 answers" in found.reason
    assert "Asking or protecting less" in str(found)
    # the channel that is made for this category, of which the reports leave the others open
    best = planning.design_channel(6, 1.0, loss={5: 1.0}).mechanism
    assert planning.sample_size(best, goal=goal) == needed["Asking only whether 5"]
    assert planning.power(best, goal, 20_000) == pytest.approx(
        planning.power(warner, of_two, 20_000)
    )


def test_asking_some_of_several_questions():
    """Each question has its share of the respondents, at a larger epsilon."""
    found = planning.recommend(JOBS, 1.0, questions=4)
    assert found.best.epsilon == pytest.approx(0.25) and "with epsilon 0.25" in str(found)
    apart = {a: planning.recommend(JOBS, 1.0 / a).table["loss"][0] * 4 / a for a in (1, 2, 4)}
    assert found.table["loss"][0] == pytest.approx(apart[4])
    assert found.less["loss"].to_numpy() == pytest.approx([apart[1], apart[2]])
    assert found.less["name"].tolist() == [f"Asking {a} of 4 questions" for a in (1, 2)]
    assert planning.recommend(JOBS, 1.0).less.empty

    # what the questionnaire gives that asks one
    rng, p, n = np.random.default_rng(3), np.full(3, 1 / 3), 1_200
    name = found.less["mechanism"][0]
    assert name == str(planning.recommend(JOBS, 1.0).best)
    best = planning.recommend(JOBS, 1.0).best
    sheet = ldp.Questionnaire(dict.fromkeys("abcd", best), ask=1)
    squares = []
    for _ in range(150):
        people = pd.DataFrame({q: rng.choice(best.categories, n) for q in "abcd"})
        survey = ldp.Survey(sheet.privatize(people, rng), sheet)
        linear = [survey.frequencies(q).linear_params.to_numpy() - p for q in "abcd"]
        squares.append(n * np.square(linear).sum() / 4.0)
    se = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - apart[1]) < 4.0 * se


def test_the_power_that_is_asked_for():
    goal = planning.ValueTest(SIX[1], 5, 0.05)
    found = planning.recommend(6, 1.0, goal, power=0.9)
    best = found.table["loss"][0]
    assert best == planning.sample_size(found.best, goal=goal, power=0.9)
    assert best > planning.recommend(6, 1.0, goal).table["loss"][0] and "power 0.9" in found.goal
    with pytest.raises(InvalidArgument, match="goes with a test as goal="):
        planning.recommend(6, 1.0, power=0.9)
    with pytest.raises(InvalidArgument, match="must be above alpha"):
        planning.recommend(6, 1.0, goal, power=0.01)


def test_the_number_of_the_guide_and_the_precision_of_one_share():
    goal = ONE[0][0]
    assert planning.sample_size(ldp.KRR(6, 1.0), goal=goal) == 86_774
    assert planning.sample_size(ldp.URR(6, {4, 5}, 1.0), goal=goal) == 34_235
    best = planning.design_channel(6, 1.0, loss={5: 1.0}).mechanism
    how = {"se": 0.01, "category": 5}
    warner = planning.sample_size(ldp.Warner(epsilon=1.0), [0.92, 0.08], se=0.01, category="yes")
    assert planning.sample_size(best, SIX[1], **how) == warner
    contrast = planning.recommend(6, 1.0, {5: 2.0}, SIX[1])
    variance = planning.precision(ldp.Warner(epsilon=1.0), [0.92, 0.08], 1).variances[1]
    assert contrast.less["loss"].iloc[-1] == pytest.approx(4.0 * variance)
    for other in ({"category": 4}, {}):
        with pytest.raises(NotIdentified):
            planning.sample_size(best, SIX[1], se=0.01, **other)
    for several in ("total", {5: 1, 4: -1}, planning.GroupsTest(SIX)):
        assert planning.recommend(6, 1.0, several).less.empty


def test_shares_by_column_are_recognised():
    for given in (SIX.T, pd.DataFrame(SIX.T, columns=["a", "b"])):
        with pytest.raises(InvalidArgument, match="transpose"):
            planning.GroupsTest(given)
