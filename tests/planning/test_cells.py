"""Plans of joint models: information by brute force, closed forms, and simulated surveys."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import cells, planning

Array = npt.NDArray[Any]
YESNO = ("no", "yes")
R = 200  # surveys; their sd has a relative error of 1 / sqrt(2 R) = .05


def classes(J: int) -> Any:
    """Two classes of 60 and 40 %, with the same yes to all of J items: 10 and 80 %."""
    letters = "abcdefgh"[:J]
    laws = ((0.6, [0.9, 0.1]), (0.4, [0.2, 0.8]))
    return sum(w * np.einsum(",".join(letters), *[q] * J) for w, q in laws)


def krr(J: int, epsilon: float) -> dict[str, ldp.KRR]:
    return {name: ldp.KRR(YESNO, epsilon) for name in "abcdefgh"[:J]}


def both(p: Array) -> Any:
    """The share of those who say yes to the first two items."""
    return p[1, 1].sum()


def log_odds(p: Array) -> Any:
    return np.log(p[0, 0] * p[2, 1] / (p[0, 1] * p[2, 0]))


def planned(questions: Any = None, **law: Any) -> planning.CellPlan:
    return planning.CellPlan(questions or krr(4, 1.0), cells.latent_class(2), **law)


OPEN = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)
PAIR = np.array([[0.3, 0.1], [0.2, 0.1], [0.1, 0.2]])
UNEQUAL = {"a": ldp.KRR(3, 2.0), "b": ldp.KRAPPOR(YESNO, 2.0)}
RASCH = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.2]


# -- The information of one respondent -------------------------------------------------------------


@pytest.mark.parametrize("ask", [1, 2, 3])
def test_information_is_the_mean_observed_information_of_all_reports(ask: int) -> None:
    """Minus second differences of the expected log-likelihood, of a law written out by hand."""
    mechanisms = {"a": ldp.KRR(YESNO, 1.5), "b": ldp.KRAPPOR(YESNO, 1.0), "c": ldp.KRR(3, 2.0)}
    Q, t0 = [one.matrix().to_numpy() for one in mechanisms.values()], np.array([0.3, 0.2, 0.6, 0.1])
    sets = list(combinations(range(3), ask))
    parts = [[q.T if j in some else np.ones((1, len(q))) for j, q in enumerate(Q)] for some in sets]
    L = np.concatenate([reduce(np.kron, part) for part in parts])  # (reports, cells)

    def p(t: Array) -> Any:
        a, b = [1.0 - t[0], t[0]], [[1.0 - t[1], t[1]], [1.0 - t[2], t[2]]]
        return np.einsum("a,ab,c->abc", a, b, [0.5 - t[3], 0.3, 0.2 + t[3]]).reshape(-1)

    def twice(u: Array, v: Array) -> float:
        ends = ((1, t0 + u + v), (-1, t0 + u - v), (-1, t0 - u + v), (1, t0 - u - v))
        return sum(sign * float(L @ p(t0) @ np.log(L @ p(t))) for sign, t in ends)

    h = 1e-4 * np.eye(4)
    expected = -np.array([[twice(u, v) for u in h] for v in h]) / 4e-8 / len(sets)
    law = cells.function(p, t0, ["a", "b|no", "b|yes", "c"])
    plan = planning.CellPlan(mechanisms, law, theta=t0, ask=ask)
    assert plan.exact and plan.information == pytest.approx(expected, abs=2e-5)


def test_answers_without_noise_have_multinomial_errors() -> None:
    asked = {"a": ldp.Observed((0, 1, 2)), "b": ldp.Observed(YESNO)}
    plan = planning.CellPlan(asked, cells.saturated(), PAIR)
    found = plan.precision(["a", "b"], n=500)
    assert found["expected"].to_numpy() == pytest.approx(PAIR.reshape(-1))
    assert found["se"].to_numpy() == pytest.approx(np.sqrt(PAIR * (1 - PAIR) / 500).reshape(-1))
    odds = np.sqrt((1.0 / PAIR[[0, 0, 2, 2], [0, 1, 0, 1]]).sum() / 500)
    assert plan.precision(log_odds, 500)["se"].item() == pytest.approx(odds)


def test_a_single_question_is_as_precise_as_its_frequencies() -> None:
    krr3, p = ldp.KRR(3, 1.0), [0.5, 0.3, 0.2]
    plan = planning.CellPlan({"a": krr3}, cells.saturated(), p, design_effect=1.5)
    frame = planning.precision(krr3, p, 1000, design_effect=1.5).frame()[["se", "width"]]
    found = plan.precision("a", 1000)[["se", "width"]]
    assert found.to_numpy() == pytest.approx(frame.to_numpy())
    n = planning.sample_size(krr3, p, se=0.02, design_effect=1.5)
    assert plan.sample_size("a", se=0.02) == n


def test_reports_that_are_too_many_to_list_are_drawn() -> None:
    p = (classes(2)[:, None] / 10).repeat(10, axis=1).reshape(20, 2)
    bits = {"a": ldp.KRAPPOR(20, 3.0), "b": ldp.KRR(YESNO, 1.0)}
    plan = planning.CellPlan(bits, cells.saturated(), p)
    assert not plan.exact and "reports drawn" in repr(plan)
    # with answers b in the open, the margin of a has the errors of its own reports
    opened = planning.CellPlan(bits | {"b": ldp.Observed(YESNO)}, plan.structure, p)
    own = planning.precision(bits["a"], p.sum(axis=1), 1000).se
    assert opened.precision("a", 1000)["se"].to_numpy() == pytest.approx(own.to_numpy(), rel=0.05)


# -- What is planned from it -----------------------------------------------------------------------


def test_an_effect_by_function_mapping_and_margin_is_one() -> None:
    plan = planned(p=classes(4), ask=3)
    cell = plan.precision({"a": "yes", "b": "yes"}, 900)
    assert cell.to_numpy() == pytest.approx(plan.precision(both, 900).to_numpy())
    margin = plan.precision(["a", "b"], 900).loc[[("yes", "yes")]]
    assert cell.to_numpy() == pytest.approx(margin.to_numpy())
    assert cell.index.tolist() == ["a = yes, b = yes"]


def test_sample_sizes_are_the_smallest_that_are_enough() -> None:
    plan = planned(p=classes(4), ask=3)
    n = plan.sample_size(both, value=0.2, power=0.9, alpha=0.01)
    assert plan.power(both, n, 0.2, 0.01) >= 0.9 > plan.power(both, n - 1, 0.2, 0.01)
    assert plan.power(both, 1000, 0.262) == pytest.approx(0.05, abs=1e-6)
    for column in ("se", "width"):
        n = plan.sample_size(both, **{column: 0.03})
        reached = [plan.precision(both, m)[column].item() for m in (n, n - 1)]
        assert reached[0] <= 0.03 < reached[1]


def test_a_questionnaire_and_a_fitted_table_are_read() -> None:
    sheet = ldp.Questionnaire({**krr(3, 1.0), "sex": ldp.Observed(("f", "m"))}, ask=2)
    p = np.multiply.outer(classes(3), [0.5, 0.5])
    index = pd.MultiIndex.from_product([YESNO] * 3 + [("f", "m")], names=sheet.questions)
    plan = planning.CellPlan(sheet, cells.loglinear("a*b*c + sex"), p)
    assert repr(plan).endswith("ask=2, epsilon=2)")
    shuffled = pd.Series(p.reshape(-1), index).sample(frac=1.0, random_state=1)
    again = planning.CellPlan(sheet, plan.structure, shuffled)
    assert again.precision(both, 100).equals(plan.precision(both, 100))
    assert plan.table.to_numpy() == pytest.approx(p.reshape(-1), abs=1e-6)


def test_a_latent_class_model_of_pairs_needs_a_third_of_the_respondents() -> None:
    """Six questions, two of them asked: against a table of those who were asked both."""
    p, n = classes(6), 12_000
    latent = planned(krr(6, 1.0), p=p, ask=2)
    free = planning.CellPlan(krr(6, 1.0), cells.saturated(), p, ask=2)
    table = planning.CellPlan(krr(2, 1.0), cells.saturated(), p.sum(axis=(2, 3, 4, 5)))
    alone = table.precision(both, n // 15)["se"].item()
    assert (alone / free.precision(both, n)["se"].item()) ** 2 == pytest.approx(1.2, abs=0.1)
    assert (alone / latent.precision(both, n)["se"].item()) ** 2 == pytest.approx(2.8, abs=0.2)
    found = latent.compare(both, ask=[1, 2, 3, 6], n=n)
    assert found["se"].iloc[1] == pytest.approx(latent.precision(both, n)["se"].item())
    assert found["epsilon"].tolist() == pytest.approx([2.0, 1.0, 2 / 3, 1 / 3])
    assert found["ratio"].isna().tolist() == [True, False, False, False]
    assert found["ratio"].idxmin() == 2
    assert "a person" in found["note"].iloc[0] and not found["note"].iloc[1:].any()
    needed = latent.compare(both, ask=[2, 3], epsilon=2.0, se=0.02)
    assert needed["ratio"].tolist() == pytest.approx(found["ratio"].iloc[1:3].tolist(), rel=1e-3)


def test_compared_mechanisms_are_those_of_their_kind_at_the_new_epsilon() -> None:
    p = np.full((8, 2), 1 / 16)
    some: Any = {"a": ldp.SubsetSelection(8, 1.0), "b": ldp.URR(YESNO, {"yes"}, 1.0)}
    found = planning.CellPlan(some, cells.saturated(), p).compare("a", [1], epsilon=4.0, n=900)
    made = {"a": ldp.SubsetSelection(8, 4.0), "b": ldp.URR(YESNO, {"yes"}, 4.0)}
    own = planning.CellPlan(made, cells.saturated(), p, ask=1).precision("a", 900)
    assert found["se"].item() == pytest.approx(own["se"].max())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda plan: plan.precision({"a": "yes", "b": "yes"}, 9), "a = yes, b = yes: is not det"),
        (lambda plan: plan.precision(["a", "b"], 9), "the margin of a and b: is not determined"),
        (lambda plan: plan.power(both, 9, 0.2), "the effect: is not determined"),
        (lambda plan: plan.power("a", 9, 0.2), "must be one number"),
        (lambda plan: plan.precision({"a": "maybe"}, 9), "no answer"),
        (lambda plan: plan.precision(3, 9), "must be a function"),
        (lambda plan: plan.sample_size("a"), "exactly one"),
        (lambda plan: plan.sample_size({"a": "yes"}, value=0.38), "too close"),
        (lambda plan: plan.compare("a", [7], n=9), "at most 4"),
        (lambda plan: planned(p=np.eye(4) / 4), "16"),
        (lambda plan: planned(), "exactly one of p="),
        (lambda plan: planned(theta=[0.0]), "coordinates"),
        (lambda plan: planned(p=np.arange(16) / 120), "differs by 0.0"),
        (lambda plan: planned({"a": OPEN}, p=[1.0]), "alphabet="),
        (lambda plan: planning.precision(plan, both, 500), r"its own precision\(\)"),
        (lambda plan: planning.sample_size(plan, both, se=0.02), r"or sample_size\(\)"),
        (lambda plan: planning.power(plan, both, 500), "of several questions"),
    ],
)
def test_refusals_say_what_can_be_done(call: Callable[[Any], Any], words: str) -> None:
    plan = planned(p=classes(4), ask=1)
    with pytest.raises(ValueError, match=words):
        call(plan)


# -- Simulated surveys -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "effect", "n"),
    [
        (lambda: planned(krr(4, 2.5), p=classes(4), ask=2), both, 8000),
        (lambda: planning.CellPlan(UNEQUAL, cells.loglinear("a*b"), PAIR), log_odds, 6000),
        (lambda: planning.CellPlan(krr(5, 2.0), cells.rasch(), theta=RASCH, ask=3), both, 6000),
    ],
    ids=["latent class", "log-linear pair", "rasch"],
)
def test_standard_errors_are_those_of_simulated_surveys(
    plan: Callable[[], planning.CellPlan], effect: Callable[[Array], Any], n: int
) -> None:
    """Within four Monte Carlo standard errors of the sd, of .05 each."""
    made, rng, found = plan(), np.random.default_rng(11), []
    mechanisms, p = list(made.mechanisms.values()), made.table.to_numpy()
    for _ in range(R):
        x = np.unravel_index(rng.choice(p.size, n, p=p), [mech.k for mech in mechanisms])
        asked = rng.random((n, len(x))).argsort(axis=1) < made.ask
        data = [
            (mech.privatize(mech.labels().take(own[who]).to_numpy(), rng), who)
            for mech, own, who in zip(mechanisms, x, asked.T, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ldp.CellModel(data, made.structure, list(made.mechanisms))
            results = model.fit(start=made.theta, unidentified="keep")
        found.append(results.effect(effect, method="delta").estimate)
    expected, se, _ = made.precision(effect, n).iloc[0]
    assert np.std(found, ddof=1) == pytest.approx(se, rel=4.0 / np.sqrt(2.0 * R))
    assert np.mean(found) == pytest.approx(expected, abs=4.0 * se / np.sqrt(R) + 0.1 * se)


def test_margins_of_rare_cells_are_determined_by_pairs() -> None:
    """Pairs of six questions are asked; some cells are rarer than one in a thousand."""
    rare = sum(
        w * np.multiply.outer(*[law] * 2) for w, law in ((0.4, [0.2, 0.8]), (0.6, [0.9, 0.1]))
    )
    whole = np.einsum("ab,cd,ef->abcdef", rare, rare, rare)
    made = planning.CellPlan(krr(6, 2.0), cells.saturated(), whole, ask=2)
    names = list(made.mechanisms)
    pair = {name: "yes" for name in names[:2]}
    assert 0.0 < made.precision(pair, 4000)["se"].item() < 0.05
    with pytest.raises(ldp.NotIdentified, match="not determined"):
        made.precision(names[:3], 4000)
